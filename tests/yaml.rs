//! Files of YAML that we write, as others read them. Included by path from the tests of the crates
//! that have any.

use saphyr::{LoadableYamlNode, Scalar, Yaml};
use serde_json::{Map, Value};

/// The one document of a text.
pub(crate) fn of_yaml(text: &str) -> Value {
    let mut documents = Yaml::load_from_str(text).unwrap();
    assert_eq!(documents.len(), 1);
    value(documents.remove(0))
}

/// The same as JSON has it.
fn value(yaml: Yaml<'_>) -> Value {
    let text = |key: Yaml<'_>| match value(key) {
        Value::String(text) => text,
        other => other.to_string(),
    };
    match yaml {
        Yaml::Value(Scalar::Null) => Value::Null,
        Yaml::Value(Scalar::Boolean(is)) => Value::from(is),
        Yaml::Value(Scalar::Integer(number)) => Value::from(number),
        Yaml::Value(Scalar::FloatingPoint(number)) => Value::from(*number),
        Yaml::Value(Scalar::String(text)) => Value::from(text.into_owned()),
        Yaml::Sequence(items) => items.into_iter().map(value).collect(),
        Yaml::Mapping(members) => {
            let members = members.into_iter();
            let members = members.map(|(key, one)| (text(key), value(one)));
            Value::Object(members.collect::<Map<_, _>>())
        }
        other => panic!("{other:?} is nothing that files of ours are written with"),
    }
}

//! The record on standard output keeps to the committed schema.

use std::fs;
use std::path::Path;

use regex::Regex;
use serde_json::{Map, Value};

use super::child::{Server, ringside};

#[test]
fn records_of_every_kind_of_run_keep_to_the_schema() {
    let server = Server::start(&[]);
    let schema = schema();
    for (path, more) in [
        ("/", "-n 100 --ipv4"),
        ("/", "-R 500 -d 1s --arrivals poisson --warmup 100ms"),
        ("/echo", "--stages 0:100@500ms,100@500ms -b body -H X-A:b"),
        ("/stall", "-d 300ms --timeout 100ms"),
        (
            "/status/500",
            "-d 300ms --no-keepalive --source-ip 127.0.0.2,127.0.0.3",
        ),
    ] {
        let url = server.at(path);
        let mut words = vec!["run", "-c", "2", "--format", "json"];
        words.extend(more.split_whitespace());
        words.push(&url);
        let ended = ringside(&words);
        let record: Value = serde_json::from_str(&ended.stdout)
            .unwrap_or_else(|error| panic!("{more}: {error}: {}", ended.stderr));
        let faults = faults(&schema, &schema, &record, "record");
        assert_eq!(faults, [""; 0], "{more}");
    }
}

#[test]
fn a_record_that_breaks_the_schema_is_noticed() {
    let server = Server::start(&[]);
    let ended = ringside(&["run", "-n", "10", "--format", "json", &server.at("/")]);
    let schema = schema();
    let sound: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(faults(&schema, &schema, &sound, "record"), [""; 0]);
    let spoil: [fn(&mut Value); 4] = [
        |record| record["achieved_rate"] = Value::from("fast"),
        |record| record["exchanges"]["completed"] = Value::from(-1),
        |record| record["ended_by"] = Value::from("boredom"),
        |record| {
            record.as_object_mut().unwrap().remove("valid");
        },
    ];
    for spoil in spoil {
        let mut record = sound.clone();
        spoil(&mut record);
        assert_ne!(faults(&schema, &schema, &record, "record"), [""; 0]);
    }
}

fn schema() -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../schema/record.schema.json");
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

/// Checks `value` against `schema` and says where it breaks it. Knows the keywords that our schema
/// uses (JSON Schema 2020-12) and refuses any other, so that nothing passes unchecked.
pub(crate) fn faults(root: &Value, schema: &Value, value: &Value, place: &str) -> Vec<String> {
    let rules = match schema {
        Value::Bool(true) => return Vec::new(),
        Value::Object(rules) => rules,
        other => return vec![format!("{place}: {other} is no schema")],
    };
    let mut found = Vec::new();
    for (keyword, rule) in rules {
        match keyword.as_str() {
            "$schema" | "title" | "description" | "format" | "default" | "$defs" => {}
            "$ref" => {
                let path = rule.as_str().unwrap().trim_start_matches('#');
                let target = root.pointer(path).expect("a reference leads somewhere");
                found.extend(faults(root, target, value, place));
            }
            "type" => {
                let types = rule
                    .as_array()
                    .cloned()
                    .unwrap_or_else(|| vec![rule.clone()]);
                if !types
                    .iter()
                    .any(|name| is_of(value, name.as_str().unwrap()))
                {
                    found.push(format!("{place}: {value} is not {rule}"));
                }
            }
            "minimum" | "maximum" => {
                let (number, bound) = (value.as_f64(), rule.as_f64().unwrap());
                let within = |n: f64| {
                    if keyword == "minimum" {
                        n >= bound
                    } else {
                        n <= bound
                    }
                };
                if number.is_some_and(|number| !within(number)) {
                    found.push(format!("{place}: {value} breaks {keyword} {rule}"));
                }
            }
            "const" if rule != value => found.push(format!("{place}: {value} is not {rule}")),
            "enum" if !rule.as_array().unwrap().contains(value) => {
                found.push(format!("{place}: {value} is not one of {rule}"));
            }
            "const" | "enum" => {}
            "pattern" => {
                let pattern = Regex::new(rule.as_str().unwrap()).unwrap();
                if value.as_str().is_some_and(|text| !pattern.is_match(text)) {
                    found.push(format!("{place}: {value} is not like {rule}"));
                }
            }
            "anyOf" | "oneOf" => {
                let branches = rule.as_array().unwrap().iter();
                let fit = branches.filter(|one| faults(root, one, value, place).is_empty());
                let count = fit.count();
                if count == 0 || keyword == "oneOf" && count != 1 {
                    found.push(format!("{place}: {value} fits {count} of {keyword}"));
                }
            }
            _ => found.extend(nested_faults(root, keyword, rule, schema, value, place)),
        }
    }
    found
}

/// The keywords about what is inside an object or an array.
fn nested_faults(
    root: &Value,
    keyword: &str,
    rule: &Value,
    schema: &Value,
    value: &Value,
    place: &str,
) -> Vec<String> {
    match (keyword, value) {
        ("required" | "properties" | "additionalProperties", Value::Object(members)) => {
            faults_of_members(root, keyword, rule, schema, members, place)
        }
        (
            "items" | "prefixItems" | "minItems" | "maxItems" | "uniqueItems",
            Value::Array(elements),
        ) => faults_of_elements(root, keyword, rule, schema, elements, place),
        (
            "uniqueItems"
            | "required"
            | "properties"
            | "additionalProperties"
            | "items"
            | "prefixItems"
            | "minItems"
            | "maxItems",
            _,
        ) => Vec::new(),
        _ => vec![format!(
            "{place}: the keyword {keyword} is not known to this test"
        )],
    }
}

fn faults_of_members(
    root: &Value,
    keyword: &str,
    rule: &Value,
    schema: &Value,
    members: &Map<String, Value>,
    place: &str,
) -> Vec<String> {
    let known = schema["properties"].as_object();
    let mut found = Vec::new();
    match keyword {
        "required" => {
            for name in rule
                .as_array()
                .unwrap()
                .iter()
                .map(|name| name.as_str().unwrap())
            {
                if !members.contains_key(name) {
                    found.push(format!("{place}: {name} is missing"));
                }
            }
        }
        "properties" => {
            for (name, rule) in known.unwrap() {
                if let Some(value) = members.get(name) {
                    found.extend(faults(root, rule, value, &format!("{place}.{name}")));
                }
            }
        }
        _ => {
            for (name, value) in members {
                if known.is_some_and(|known| known.contains_key(name)) {
                    continue;
                }
                match rule {
                    Value::Bool(false) => found.push(format!("{place}: {name} is not known")),
                    rule => found.extend(faults(root, rule, value, &format!("{place}.{name}"))),
                }
            }
        }
    }
    found
}

fn faults_of_elements(
    root: &Value,
    keyword: &str,
    rule: &Value,
    schema: &Value,
    elements: &[Value],
    place: &str,
) -> Vec<String> {
    let length = elements.len() as u64;
    let mut found = Vec::new();
    match keyword {
        "minItems" if length < rule.as_u64().unwrap() => {
            found.push(format!("{place}: fewer than {rule} items"));
        }
        "maxItems" if length > rule.as_u64().unwrap() => {
            found.push(format!("{place}: more than {rule} items"));
        }
        "uniqueItems"
            if (1..elements.len()).any(|at| elements[at..].contains(&elements[at - 1])) =>
        {
            found.push(format!("{place}: an item stands there twice"));
        }
        "items" => {
            let first = schema["prefixItems"].as_array().map_or(0, Vec::len);
            for (index, element) in elements.iter().enumerate().skip(first) {
                found.extend(faults(root, rule, element, &format!("{place}[{index}]")));
            }
        }
        "prefixItems" => {
            let rules = rule.as_array().unwrap();
            for (index, (rule, element)) in rules.iter().zip(elements).enumerate() {
                found.extend(faults(root, rule, element, &format!("{place}[{index}]")));
            }
        }
        _ => {}
    }
    found
}

fn is_of(value: &Value, name: &str) -> bool {
    match name {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        "number" => value.is_number(),
        "integer" => value.is_i64() || value.is_u64(),
        _ => false,
    }
}

//! Whether numbers in a record can be counts.
//!
//! Records come from anywhere. A count beyond what a float holds exactly is no count of ours, and
//! whoever adds up what is left needs to fear no overflow.

use std::fmt;

use measure::foreign::Foreign;
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};

/// The largest number up to which a float holds every whole one.
const COUNT_MAX: u64 = 1 << 53;
/// What is drawn at random and not counted.
const SEED: &str = "seed";

/// Looks at every number in a JSON text. An error names the first that is no count by its field.
pub(super) fn check(json: &str) -> Result<(), String> {
    let mut path = Vec::new();
    let mut reader = serde_json::Deserializer::from_str(json);
    let looked = Looking { path: &mut path }.deserialize(&mut reader);
    looked.map_err(|error| match path.is_empty() {
        true => error.to_string(),
        false => {
            let field: String = path.iter().map(Step::to_string).collect();
            let field = field.trim_start_matches('.');
            format!("{field}: {error}; the file is damaged, or ringside didn't write it")
        }
    })
}

/// A step from a value to one inside it.
enum Step {
    Field(String),
    Item(usize),
}

impl fmt::Display for Step {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Step::Field(name) => write!(out, ".{}", Foreign::new(name.as_str())),
            Step::Item(at) => write!(out, "[{at}]"),
        }
    }
}

/// Looks at one value. Where it fails, the path stays where it failed.
struct Looking<'a> {
    path: &'a mut Vec<Step>,
}

impl<'de> DeserializeSeed<'de> for Looking<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Looking<'_> {
    type Value = ();

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a JSON value")
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<(), E> {
        let is_seed = matches!(self.path.last(), Some(Step::Field(name)) if name == SEED);
        match number <= COUNT_MAX || is_seed {
            true => Ok(()),
            false => Err(E::custom(format!(
                "{number} is above 2^53, which no count reaches"
            ))),
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(name) = map.next_key()? {
            self.path.push(Step::Field(name));
            map.next_value_seed(Looking { path: self.path })?;
            self.path.pop();
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        for at in 0.. {
            self.path.push(Step::Item(at));
            if items
                .next_element_seed(Looking { path: self.path })?
                .is_none()
            {
                break;
            }
            self.path.pop();
        }
        self.path.pop();
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_that_is_no_count_is_named_by_its_field() {
        for (json, field) in [
            (
                r#"{"a": 1, "b": [{"c": 2}, {"c": 9007199254740993}]}"#,
                "b[1].c: ",
            ),
            (
                r#"{"a": {}, "failed": 18446744073709551615}"#,
                "failed: 18446744073709551615 is",
            ),
            ("[[], [1, 9007199254740993]]", "[1][1]: "),
        ] {
            let what = check(json).expect_err(json);
            assert!(
                what.starts_with(field) && what.contains("2^53"),
                "{json}: {what}"
            );
        }
        for json in [
            r#"{"seed": 18446744073709551615, "a": 9007199254740992, "b": -1, "c": 1e300}"#,
            r#"[null, true, "18446744073709551615", 1.5, {}, []]"#,
        ] {
            assert_eq!(check(json), Ok(()), "{json}");
        }
    }
}

//! In what the start of a row's subject differs from what the subject's own file says: rows that
//! differ in one switch are one subject, and not a folder each.

use std::collections::BTreeMap;

use load::Redaction;
use serde::Deserialize;

use crate::subject::{Subject, Template};

/// What a row adds to the start of its subject.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Varied {
    /// More arguments, behind those of the command.
    #[serde(default)]
    arguments: Vec<Template>,
    /// More variables, which go before those of the same name.
    #[serde(default)]
    environment: BTreeMap<String, Template>,
}

impl Varied {
    /// Adds them to the subject, and to what it's described as, without secrets.
    pub fn vary(&self, subject: &mut Subject, redaction: &Redaction) {
        let arguments = self.arguments.iter().map(|word| word.text().to_owned());
        let arguments: Vec<String> = arguments.collect();
        let words = redaction.words(&arguments);
        let variables = self.environment.iter().map(|(name, value)| {
            let value = redaction.value(name, value.text());
            format!("{name}={value}")
        });
        let words: Vec<String> = variables.chain(words).collect();
        if words.is_empty() {
            return;
        }
        let with = format!("{}; with {}", subject.description, words.join(" "));
        subject.description = with;
        for argument in &self.arguments {
            subject.start.command.add(argument.text());
        }
        let variables = self.environment.clone();
        subject.start.environment.extend(variables);
    }
}

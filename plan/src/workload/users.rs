//! Users who go through the steps of a workload, each by itself, as a Hurl file says.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::digest::digest;
use crate::redaction::Redaction;

/// What the figures of whole flows are listed under: no name of a request looks so.
pub const WHOLE: &str = "(flow)";

/// What every user begins with. Each has a connection, cookies and variables of its own.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Users {
    /// Variables by name, but for secrets.
    pub variables: BTreeMap<String, String>,
    /// The names of those whose values are secrets.
    pub secrets: Vec<String>,
    /// The folder that files have to be in which the flow names; null: its own.
    #[serde(default)]
    pub file_root: Option<PathBuf>,
    /// The most redirects that are followed where a request doesn't say; 0: none.
    #[serde(default)]
    pub follow: u32,
    /// What they do.
    #[serde(skip)]
    pub journey: Journey,
}

/// What users do, as it was read. No part of a record: there the file and the steps say it.
#[derive(Clone, Debug, Default)]
pub struct Journey(pub Option<Arc<flow::Flow>>);

impl PartialEq for Journey {
    /// Whether they have as many requests.
    fn eq(&self, other: &Journey) -> bool {
        let count = |journey: &Journey| journey.0.as_ref().map(|flow| flow.len());
        count(self) == count(other)
    }
}

impl Users {
    /// Has `redaction` know the variables whose names are those of secrets. (Those that are said to
    /// be secrets are learned by whoever was told them.)
    pub(super) fn tell_secrets(&self, redaction: &Redaction) {
        let secrets = self.variables.iter();
        for (_, value) in secrets.filter(|(name, _)| redaction.is_secret(name)) {
            redaction.learn_secret(value);
        }
    }

    /// The same, with what goes to the server of their flow going to `origin` instead.
    #[must_use]
    pub fn sent_to(&self, origin: &str) -> Users {
        let moved = self.journey.0.as_ref().map(|flow| flow.sent_to(origin));
        let moved = moved.and_then(Result::ok);
        Users {
            // Every flow that was read names a server.
            journey: Journey(moved.or_else(|| self.journey.0.clone())),
            ..self.clone()
        }
    }

    /// A hash of what they go through, which stands in `file`, and of what they begin with, but for
    /// secrets.
    ///
    /// # Errors
    /// A file that can't be read.
    pub fn contents(&self, file: &Path) -> Result<Vec<u8>, String> {
        let Users {
            variables,
            secrets,
            file_root: _,
            follow,
            journey,
        } = self;
        let mut hash = Sha256::new();
        hash.update(format!("{variables:?} {secrets:?} {follow}"));
        hash.update(digest(file)?);
        let flow = journey.0.as_ref();
        for named in flow.map_or(&[][..], |flow| flow.files()) {
            hash.update(digest(named)?);
        }
        Ok(hash.finalize().to_vec())
    }

    /// Them without secrets, and without what they do.
    pub(super) fn shown(&self, redaction: &Redaction) -> Users {
        let shown = |(name, value): (&String, &String)| {
            let value = redaction.value(name, &redaction.scrub(value));
            (name.clone(), value)
        };
        Users {
            variables: self.variables.iter().map(shown).collect(),
            journey: Journey::default(),
            ..self.clone()
        }
    }
}

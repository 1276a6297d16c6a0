//! A script that says what is sent, as wrk runs them.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::invalid::Invalid;
use crate::protocol::Protocol;
use crate::redaction::Redaction;

/// A script written for wrk. Its `request` makes what is sent; where it has none, that is the
/// plan's own request as the script has changed it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Script {
    /// The file.
    pub file: PathBuf,
    /// What its `init` is given behind the URL.
    #[serde(default)]
    pub args: Vec<String>,
}

impl Script {
    /// It without its secrets.
    pub fn shown(&self, redaction: &Redaction) -> Script {
        let args = self.args.iter();
        Script {
            file: self.file.clone(),
            args: args.map(|word| redaction.word(word).into_owned()).collect(),
        }
    }

    /// Checks that it goes with what else a plan says.
    pub(crate) fn validate(&self, protocol: &Protocol, is_mixed: bool) -> Result<(), Invalid> {
        let why = if *protocol != Protocol::Http1 {
            "scripts send HTTP/1.1: drop --http2, or give an http:// or https:// URL"
        } else if is_mixed {
            "a script says what is sent, and so do --targets, --template and --data: use only one \
             of them"
        } else {
            return Ok(());
        };
        Err(Invalid(format!("-s {}: {why}", self.file.display())))
    }
}

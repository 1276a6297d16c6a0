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
        Script {
            file: self.file.clone(),
            args: redaction.words(&self.args),
        }
    }

    /// Has `redaction` know the secrets that it's given.
    pub fn tell_secrets(&self, redaction: &Redaction) {
        redaction.learn_words(&self.args);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_looks_like_a_secret_among_its_words_is_hidden_and_learned() {
        let given = |words: &[&str]| Script {
            file: "a.lua".into(),
            args: words.iter().map(|word| (*word).to_owned()).collect(),
        };
        for (words, kept) in [
            (&["alice", "--token=canary-1", "bob"][..], &[0, 2][..]),
            (&["--token", "canary-1", "bob"], &[0, 2]),
            (&["-H", "Authorization: Bearer canary-1"], &[0]),
            (&["Bearer canary-1"], &[]),
            (&["Bearer", "canary-1", "x"], &[0, 2]),
            (&["--mine=canary-1", "--mine", "canary-1"], &[1]),
            (
                &["http://me:canary-1@h/", "--password", "--verbose"],
                &[1, 2],
            ),
        ] {
            let redaction = Redaction::default().naming(["mine"]);
            let script = given(words);
            let shown = script.shown(&redaction).args;
            let text = shown.join(" ");
            assert!(
                !text.contains("canary") && text.contains("redacted:"),
                "{text}"
            );
            assert!(kept.iter().all(|at| shown[*at] == words[*at]), "{text}");
            script.tell_secrets(&redaction);
            assert!(
                !redaction.scrub("it said canary-1").contains("canary"),
                "{words:?}"
            );
            let again = Script {
                file: "a.lua".into(),
                args: shown.clone(),
            };
            assert_eq!(again.shown(&redaction).args, shown, "hidden already");
        }
        let plain = given(&["alice", "bob", "--token"]);
        assert_eq!(plain.shown(&Redaction::default()), plain);
    }
}

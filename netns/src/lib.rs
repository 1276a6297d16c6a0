//! In whose network everything is measured: in a private one, which holds a loopback interface and
//! nothing else, or in the host's.
//!
//! A network belongs to a whole process, as the machine does, so what is known of it is kept for
//! the process ([`here`]). Entering a private one is [`namespace::enter`]. What is between both
//! sides in it (a bandwidth, a delay) is a [`link::Link`], which [`laid::lay`] lays.
#![forbid(unsafe_code)]

pub mod laid;
pub mod link;
pub mod namespace;
mod wanted;

pub use wanted::{Wanted, wants_host};

use std::sync::OnceLock;

use serde::{Deserialize, Serialize};

/// A network in which something was measured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Network {
    /// A namespace of its own.
    Private,
    /// The host's, as somebody or something asked for.
    Host {
        /// Who or what asked for it, in a few words.
        why: String,
    },
    /// The host's, since a private one could not be had.
    Refused {
        /// What the kernel refused, and what to do, in sentences.
        why: String,
    },
}

impl Network {
    /// Whether nothing of the host is in it.
    pub fn is_private(&self) -> bool {
        *self == Network::Private
    }

    /// What it was, for a report.
    pub fn words(&self) -> String {
        match self {
            Network::Private => "private: a namespace with a loopback interface only".to_owned(),
            Network::Host { why } => format!("the host's ({why})"),
            Network::Refused { .. } => "the host's (a private one was refused)".to_owned(),
        }
    }

    /// Which it was, within a sentence.
    pub fn phrase(&self) -> &'static str {
        match self {
            Network::Private => "a private network",
            Network::Host { .. } | Network::Refused { .. } => "the host's network",
        }
    }

    /// What a reader must know before the figures, if a private network was refused.
    pub fn caution(&self) -> Option<String> {
        let Network::Refused { why } = self else {
            return None;
        };
        Some(format!(
            "No private network could be made, so everything runs in the host's, whose settings \
             and ports it shares. {why} To measure in the host's network without this caution, \
             pass --host-network."
        ))
    }
}

/// What is known of the network of this process.
static HERE: OnceLock<Network> = OnceLock::new();

/// The network of this process; none if nobody has said which it is.
pub fn here() -> Option<Network> {
    HERE.get().cloned()
}

/// Says which network this process is in. It is in one for as long as it lives, so only the first
/// word counts.
pub fn settle(network: Network) {
    let _ = HERE.set(network);
}

/// What to add where something did not come up, since it may want what is not here: in a private
/// network a few words about that, else nothing.
pub fn hint() -> &'static str {
    match HERE.get() {
        Some(Network::Private) => {
            "(it runs in a private network; if it needs the host's, pass --host-network)"
        }
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_is_kept_as_it_was() {
        let why = || "it was asked for".to_owned();
        for (network, json) in [
            (Network::Private, r#"{"kind":"private"}"#),
            (
                Network::Host { why: why() },
                r#"{"kind":"host","why":"it was asked for"}"#,
            ),
            (
                Network::Refused { why: why() },
                r#"{"kind":"refused","why":"it was asked for"}"#,
            ),
        ] {
            assert_eq!(serde_json::to_string(&network).expect("JSON"), json);
            assert_eq!(
                serde_json::from_str::<Network>(json).expect("a network"),
                network
            );
        }
    }

    #[test]
    fn only_a_network_that_was_refused_is_cautioned_about() {
        let why = || "It was forbidden. Allow it.".to_owned();
        assert_eq!(Network::Private.caution(), None);
        assert_eq!(Network::Host { why: why() }.caution(), None);
        let caution = Network::Refused { why: why() }.caution();
        let caution = caution.expect("it was refused");
        assert!(caution.contains(&why()) && caution.contains("--host-network"));
    }
}

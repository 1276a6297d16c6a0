//! Which network a comparison wants to be measured in. In which one it is measured is decided
//! before anything else, by whoever starts the program, and is known to [`crate::here`].

use std::fs;
use std::path::Path;

use serde::Deserialize;

use crate::link::{Bandwidth, Congestion, Delay, Loss, Written};

/// What a comparison's file says about it.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(from = "Whole")]
pub struct Wanted {
    /// Whether everything runs in a private network, in which the host's services aren't reached.
    pub private: bool,
    /// What is between both sides of every row that says nothing else.
    pub link: Written,
}

/// The section as it stands in the file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Whole {
    #[serde(default = "yes")]
    private: bool,
    congestion: Option<Congestion>,
    bandwidth: Option<Bandwidth>,
    delay: Option<Delay>,
    loss: Option<Loss>,
}

impl From<Whole> for Wanted {
    fn from(whole: Whole) -> Wanted {
        Wanted {
            private: whole.private,
            link: Written {
                congestion: whole.congestion,
                bandwidth: whole.bandwidth,
                delay: whole.delay,
                loss: whole.loss,
            },
        }
    }
}

impl Default for Wanted {
    fn default() -> Wanted {
        Wanted {
            private: yes(),
            link: Written::default(),
        }
    }
}

fn yes() -> bool {
    true
}

/// Whether the file of a comparison asks for the host's network. One that can't be read asks for
/// nothing: what is wrong with it is said by whoever reads it whole.
pub fn wants_host(file: &Path) -> bool {
    #[derive(Deserialize)]
    struct Glance {
        #[serde(default)]
        network: Wanted,
    }
    let text = fs::read_to_string(file).unwrap_or_default();
    toml::from_str::<Glance>(&text).is_ok_and(|glance| !glance.network.private)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asks(text: &str) -> bool {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("a.toml");
        fs::write(&file, text).expect("a file");
        wants_host(&file)
    }

    #[test]
    fn a_file_asks_for_the_hosts_network_by_saying_so() {
        assert!(asks("name = \"a\"\n[network]\nprivate = false\n"));
        assert!(!asks("name = \"a\"\n[network]\nprivate = true\n"));
        assert!(!asks("[network]\nbandwidth = \"100Mbit\"\n"));
        assert!(!asks("[network]\n"));
        assert!(!asks("name = \"a\"\n"));
        // What is wrong is said elsewhere.
        assert!(!asks("[network]\nprivate = 0\n"));
        assert!(!wants_host(Path::new("/nowhere.toml")));
    }
}

//! What runtimes write about collecting garbage: how often, and how long everything stood still.
//!
//! A [`Journal`] takes the lines of a log and counts. It knows no files, and the formats of Java
//! (`-Xlog:gc`, since Java 9, JEP 271), Go (`GODEBUG=gctrace=1`, package runtime) and Node.js
//! (`--trace-gc` of V8). Work that is done beside the program, as most of Go's and ZGC's, isn't a
//! pause.
#![forbid(unsafe_code)]

mod formats;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

/// Whose log it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Runtime {
    /// `java -Xlog:gc`, and for ZGC and Shenandoah `-Xlog:gc,gc+phases`.
    Java,
    /// `GODEBUG=gctrace=1`
    Go,
    /// `node --trace-gc`
    Node,
}

impl Runtime {
    /// What has it write such a log.
    pub fn how_to(self) -> &'static str {
        match self {
            Runtime::Java => "start it with -Xlog:gc,gc+phases (Java 9 or newer)",
            Runtime::Go => "start it with GODEBUG=gctrace=1",
            Runtime::Node => "start it with --trace-gc",
        }
    }
}

/// What was collected in a while.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Collected {
    /// How many collections ended, or had a pause.
    pub collections: u64,
    /// How long the program stood still in all, in nanoseconds.
    pub paused_ns: u64,
    /// The longest time that it stood still at once, in nanoseconds.
    pub longest_ns: u64,
    /// How long that while was, in nanoseconds.
    pub watched_ns: u64,
}

impl Collected {
    /// How much of the while the program stood still, from 0 to 1 if it's one process; none of one
    /// without a length.
    pub fn share_paused(self) -> Option<f64> {
        (self.watched_ns > 0).then(|| self.paused_ns as f64 / self.watched_ns as f64)
    }

    /// Collections per second; none of a while without a length.
    pub fn per_second(self) -> Option<f64> {
        (self.watched_ns > 0).then(|| self.collections as f64 * 1e9 / self.watched_ns as f64)
    }
}

/// One line about a collection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Entry {
    /// The collection's number, where the log has one: it may have several lines.
    number: Option<u64>,
    /// How long the program stood still, in all and at once, in nanoseconds.
    paused_ns: u64,
    longest_ns: u64,
}

/// A log, as it's read.
#[derive(Debug)]
pub struct Journal {
    runtime: Runtime,
    collected: Collected,
    /// The numbers of collections: what is done beside the program goes on while others come.
    seen: BTreeSet<u64>,
    strange: Option<String>,
}

impl Journal {
    /// An empty one.
    pub fn new(runtime: Runtime) -> Journal {
        Journal {
            runtime,
            collected: Collected::default(),
            seen: BTreeSet::new(),
            strange: None,
        }
    }

    /// Takes a line. What isn't about collections is passed over.
    pub fn line(&mut self, line: &str) {
        let read = match self.runtime {
            Runtime::Java => formats::java(line),
            Runtime::Go => formats::go(line),
            Runtime::Node => formats::node(line),
        };
        match read {
            Ok(None) => {}
            Ok(Some(entry)) => {
                let is_new = entry.number.is_none_or(|number| self.seen.insert(number));
                let all = &mut self.collected;
                all.collections += u64::from(is_new);
                all.paused_ns = all.paused_ns.saturating_add(entry.paused_ns);
                all.longest_ns = all.longest_ns.max(entry.longest_ns);
            }
            Err(formats::Strange) => {
                self.strange.get_or_insert_with(|| line.trim().to_owned());
            }
        }
    }

    /// What was collected, by the lines so far.
    ///
    /// # Errors
    ///
    /// A sentence with the first line about a collection that is in another format.
    pub fn collected(&self) -> Result<Collected, String> {
        match &self.strange {
            None => Ok(self.collected),
            Some(line) => Err(format!(
                "its log has collections in a format that isn't read, such as `{line}`: {}",
                self.runtime.how_to()
            )),
        }
    }
}

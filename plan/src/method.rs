//! What the methods of a workload of gRPC calls take: from the JSON of a step to the messages of a
//! call. Who finds that out, and where, isn't known here.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use crate::protocol::CallKind;

/// A described method.
pub trait Encoder: fmt::Debug + Send + Sync {
    /// Which side streams.
    fn kind(&self) -> CallKind;

    /// The messages of a call that `json` says (the JSON mapping of proto3), encoded: one, or for
    /// a method that takes a stream as many as an array has. Nothing is one empty message.
    ///
    /// # Errors
    /// What doesn't fit, for whoever wrote it, without the name of a file. Values are quoted if
    /// that is `shown` only: those that templates have filled in may be secrets.
    fn messages(&self, json: &[u8], shown: bool) -> Result<Vec<Vec<u8>>, String>;

    /// All that describes it, as a `FileDescriptorSet`, for another machine; none if it can't be
    /// told.
    fn described(&self) -> Option<Vec<u8>> {
        None
    }
}

/// The methods that a workload calls, by their paths (`/package.Service/Method`). No part of a
/// record: there the paths say what was called.
#[derive(Clone, Debug, Default)]
pub struct Methods(BTreeMap<String, Arc<dyn Encoder>>);

impl Methods {
    /// Adds one; of two with one path the last counts.
    pub fn add(&mut self, path: &str, method: Arc<dyn Encoder>) {
        self.0.insert(path.to_owned(), method);
    }

    /// What describes all of them, as a `FileDescriptorSet`; none if there are none.
    pub fn described(&self) -> Option<Vec<u8>> {
        let all = self.0.values().filter_map(|method| method.described());
        let all: BTreeSet<Vec<u8>> = all.collect();
        // Sets that stand one behind the other are one set.
        (!all.is_empty()).then(|| all.into_iter().flatten().collect())
    }

    /// That of a path.
    pub fn of(&self, path: &str) -> Option<&Arc<dyn Encoder>> {
        self.0.get(path)
    }
}

impl PartialEq for Methods {
    /// Whether they are methods of the same paths.
    fn eq(&self, other: &Methods) -> bool {
        self.0.keys().eq(other.0.keys())
    }
}

//! The chain of an agent's intervals: each has a digest of itself and of all before it, so that
//! the last one stands for all of them, in their order.

use std::fmt;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::words::{Member, RunId};

/// A SHA-256.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Digest([u8; 32]);

impl Digest {
    /// That of some bytes.
    pub fn of(bytes: &[u8]) -> Digest {
        Digest(Sha256::digest(bytes).into())
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

/// Makes the digest of what comes in parts.
#[derive(Default)]
pub struct Hasher(Sha256);

impl Hasher {
    /// With nothing in it.
    pub fn new() -> Hasher {
        Hasher::default()
    }

    /// Adds the next part.
    pub fn add(&mut self, part: &[u8]) {
        self.0.update(part);
    }

    /// That of all parts.
    pub fn finish(self) -> Digest {
        Digest(self.0.finalize().into())
    }
}

impl fmt::Debug for Hasher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Hasher")
    }
}

/// How far a chain goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chain {
    digest: Digest,
    length: u64,
}

impl Chain {
    /// That of one life of an agent in one run, with nothing in it.
    pub fn new(run: &RunId, member: &Member) -> Chain {
        let mut hash = Sha256::new();
        // Neither name has a line's end.
        hash.update(format!("{run}\n{}\n{}\n", member.agent, member.epoch));
        Chain {
            digest: Digest(hash.finalize().into()),
            length: 0,
        }
    }

    /// The same with one interval more.
    #[must_use]
    pub fn with(&self, payload: &[u8]) -> Chain {
        let mut hash = Sha256::new();
        hash.update(self.digest.0);
        hash.update(self.length.to_be_bytes());
        hash.update(payload);
        Chain {
            digest: Digest(hash.finalize().into()),
            length: self.length + 1,
        }
    }

    /// The digest of all that is in it.
    pub fn digest(&self) -> Digest {
        self.digest
    }

    /// How many intervals are in it, which is the number of the next one.
    pub fn length(&self) -> u64 {
        self.length
    }
}

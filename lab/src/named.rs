//! What a comparison names besides its own file, and what of that makes it the same comparison.

use std::collections::BTreeSet;

use crate::comparison::Comparison;

impl Comparison {
    /// A keyed hash of `file`, which is this comparison's, and of what is in the files that its
    /// rows name: by it a comparison that goes on knows whether it is still the same.
    pub fn hash(&self, file: &[u8]) -> String {
        self.redaction.fingerprint(&[file, &self.named()].concat())
    }

    /// Hashes of what is in the files that its rows name; empty if they name none.
    pub fn named(&self) -> Vec<u8> {
        let rows = self.rows.iter();
        rows.flat_map(|row| row.question.named.clone()).collect()
    }

    /// What the files of targets say that has no meaning here.
    pub fn notes(&self) -> Vec<String> {
        let mixes = self.rows.iter().filter_map(|row| row.question.mix.as_ref());
        let notes: BTreeSet<&String> = mixes.flat_map(|mix| &mix.notes).collect();
        notes.into_iter().cloned().collect()
    }
}

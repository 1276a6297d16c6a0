//! What is known of tokens that were seen before, by the whole token: two tokens never share an
//! entry, whatever they have in common.
//!
//! Each worker has its own, so nothing is locked. It's bounded in entries, and tokens that are too
//! long aren't kept. Two maps take turns: what is used moves to the newer one, and when that is
//! half full the older one is dropped whole. That keeps what is used often, and costs one look-up.

use std::collections::HashMap;
use std::sync::Arc;

/// A token longer than this isn't kept.
const TOKEN_BYTES_MAX: usize = 4096;

/// See the module.
#[derive(Debug)]
pub(crate) struct Cache<V> {
    newer: HashMap<Box<[u8]>, Arc<V>>,
    older: HashMap<Box<[u8]>, Arc<V>>,
    /// Entries of each.
    half: usize,
}

impl<V> Cache<V> {
    /// Room for so many tokens; for none, nothing is kept.
    pub(crate) fn new(entries: usize) -> Cache<V> {
        Cache {
            newer: HashMap::new(),
            older: HashMap::new(),
            half: entries.div_ceil(2),
        }
    }

    /// What is known of a token.
    pub(crate) fn get(&mut self, token: &[u8]) -> Option<Arc<V>> {
        if let Some(value) = self.newer.get(token) {
            return Some(Arc::clone(value));
        }
        let (token, value) = self.older.remove_entry(token)?;
        self.insert(token, Arc::clone(&value));
        Some(value)
    }

    /// Keeps something of a token.
    pub(crate) fn put(&mut self, token: &[u8], value: Arc<V>) {
        if self.half > 0 && token.len() <= TOKEN_BYTES_MAX {
            self.insert(token.into(), value);
        }
    }

    /// Keeps nothing of a token any more.
    pub(crate) fn remove(&mut self, token: &[u8]) {
        self.newer.remove(token);
        self.older.remove(token);
    }

    /// Keeps nothing any more.
    pub(crate) fn clear(&mut self) {
        self.newer.clear();
        self.older.clear();
    }

    fn insert(&mut self, token: Box<[u8]>, value: Arc<V>) {
        if self.newer.len() >= self.half {
            self.older.clear();
            std::mem::swap(&mut self.newer, &mut self.older);
        }
        self.newer.insert(token, value);
    }

    #[cfg(test)]
    fn len(&self) -> usize {
        self.newer.len() + self.older.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_used_stays_and_the_rest_goes() {
        let mut cache = Cache::new(10);
        cache.put(b"mine", Arc::new(0));
        for at in 0..1000u32 {
            cache.put(&at.to_be_bytes(), Arc::new(at));
            assert!(cache.len() <= 10, "{}", cache.len());
            if at % 4 == 0 {
                assert_eq!(cache.get(b"mine").as_deref(), Some(&0), "after {at}");
            }
        }
        assert_eq!(cache.get(&0u32.to_be_bytes()), None);
        cache.remove(b"mine");
        assert_eq!(cache.get(b"mine"), None);
        cache.clear();
        assert_eq!(cache.len(), 0);
    }

    #[test]
    fn tokens_that_begin_alike_are_different_and_long_ones_are_not_kept() {
        let mut cache = Cache::new(4);
        cache.put(b"a.b.c", Arc::new(1));
        assert_eq!((cache.get(b"a.b.c2"), cache.get(b"a.b.")), (None, None));
        let long = vec![b'x'; TOKEN_BYTES_MAX + 1];
        cache.put(&long, Arc::new(2));
        assert_eq!(cache.get(&long), None);
        let mut none = Cache::new(0);
        none.put(b"a", Arc::new(1));
        assert_eq!(none.get(b"a"), None);
    }
}

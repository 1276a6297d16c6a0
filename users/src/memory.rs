//! What is remembered of users, by their whole names, for all threads.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use measure::time::Time;
use quick_cache::sync::Cache;

use crate::record::Record;
use crate::{Lookup, settings};

/// While no store can be asked, what is old is the answer for so long before they're tried again.
const AGAIN: Duration = Duration::from_secs(1);

/// See the module.
#[derive(Debug)]
pub(crate) struct Remembered {
    entries: Option<Cache<Box<str>, Arc<Entry>>>,
    settings: settings::Memory,
}

#[derive(Debug)]
struct Entry {
    /// `None` if there is no such user.
    record: Option<Arc<Record>>,
    /// It's the answer until then, in nanoseconds, …
    fresh_until: AtomicU64,
    /// … and until then while no store can be asked.
    stale_until: Time,
}

impl Entry {
    fn lookup(&self) -> Lookup {
        match &self.record {
            Some(record) => Lookup::Known(Arc::clone(record)),
            None => Lookup::Nobody,
        }
    }
}

impl Remembered {
    pub(crate) fn new(settings: settings::Memory) -> Remembered {
        Remembered {
            entries: (settings.entries > 0).then(|| Cache::new(settings.entries)),
            settings,
        }
    }

    /// What is known of a user.
    #[inline]
    pub(crate) fn find(&self, key: &str, now: Time) -> Lookup {
        let entry = self.entries.as_ref().and_then(|entries| entries.get(key));
        match entry {
            Some(entry) if now.0 < entry.fresh_until.load(Relaxed) => entry.lookup(),
            _ => Lookup::Unknown,
        }
    }

    /// What was known of a user, now that no store can be asked. It's the answer for a while.
    pub(crate) fn find_stale(&self, key: &str, now: Time) -> Lookup {
        let Some(entries) = &self.entries else {
            return Lookup::Unknown;
        };
        match entries.get(key) {
            Some(entry) if now < entry.stale_until => {
                let again = (now + AGAIN).min(entry.stale_until);
                entry.fresh_until.fetch_max(again.0, Relaxed);
                entry.lookup()
            }
            _ => Lookup::Unknown,
        }
    }

    /// A store has said this.
    pub(crate) fn keep(&self, key: &str, record: Option<&Arc<Record>>, now: Time) {
        let Some(entries) = &self.entries else {
            return;
        };
        let (fresh, stale) = match record {
            Some(_) => (self.settings.lifetime, self.settings.stale),
            None => (self.settings.unknown, Duration::ZERO),
        };
        let fresh_until = now + fresh;
        let entry = Entry {
            record: record.cloned(),
            fresh_until: AtomicU64::new(fresh_until.0),
            stale_until: fresh_until + stale,
        };
        entries.insert(key.into(), Arc::new(entry));
    }

    /// Forgets a user.
    pub(crate) fn forget(&self, key: &str) {
        if let Some(entries) = &self.entries {
            entries.remove(key);
        }
    }

    /// Forgets everybody.
    pub(crate) fn forget_all(&self) {
        if let Some(entries) = &self.entries {
            entries.clear();
        }
    }

    /// How many are remembered.
    pub(crate) fn len(&self) -> usize {
        self.entries.as_ref().map_or(0, Cache::len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: u64 = 1_000_000_000;

    fn record(name: &str) -> Arc<Record> {
        let text = format!("{{\"name\":\"{name}\"}}");
        Arc::new(Record::read(text.as_bytes(), &[]).expect("an object"))
    }

    #[test]
    fn an_answer_is_fresh_then_stale_then_gone() {
        let memory = Remembered::new(settings::Memory {
            stale: Duration::from_secs(100),
            ..settings::Memory::default()
        });
        let one = record("one");
        memory.keep("1", Some(&one), Time(0));
        let known = Lookup::Known(one);
        assert_eq!(memory.find("1", Time(60 * S - 1)), known);
        assert_eq!(memory.find("1", Time(60 * S)), Lookup::Unknown);
        assert_eq!(memory.find_stale("1", Time(60 * S)), known);
        assert_eq!(memory.find("1", Time(61 * S - 1)), known);
        assert_eq!(memory.find("1", Time(61 * S)), Lookup::Unknown);
        assert_eq!(memory.find_stale("1", Time(160 * S - 1)), known);
        assert_eq!(memory.find("1", Time(160 * S)), Lookup::Unknown);
        assert_eq!(memory.find_stale("1", Time(160 * S)), Lookup::Unknown);
    }

    #[test]
    fn that_there_is_nobody_is_believed_for_a_shorter_time_and_never_when_stale() {
        let memory = Remembered::new(settings::Memory::default());
        memory.keep("1", None, Time(0));
        assert_eq!(memory.find("1", Time(5 * S - 1)), Lookup::Nobody);
        assert_eq!(memory.find("1", Time(5 * S)), Lookup::Unknown);
        assert_eq!(memory.find_stale("1", Time(5 * S)), Lookup::Unknown);
    }

    #[test]
    fn what_is_forgotten_is_not_even_stale_and_room_is_bounded() {
        let memory = Remembered::new(settings::Memory {
            entries: 100,
            ..settings::Memory::default()
        });
        for at in 0..10_000 {
            memory.keep(&at.to_string(), Some(&record("x")), Time(0));
        }
        assert!(memory.len() <= 100, "{}", memory.len());
        memory.keep("a", Some(&record("a")), Time(0));
        memory.forget("a");
        assert_eq!(memory.find_stale("a", Time(0)), Lookup::Unknown);
        memory.keep("a", Some(&record("a")), Time(0));
        memory.forget_all();
        assert_eq!(
            (memory.find_stale("a", Time(0)), memory.len()),
            (Lookup::Unknown, 0)
        );
        let none = Remembered::new(settings::Memory {
            entries: 0,
            ..settings::Memory::default()
        });
        none.keep("a", Some(&record("a")), Time(0));
        assert_eq!(none.find("a", Time(0)), Lookup::Unknown);
    }
}

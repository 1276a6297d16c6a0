//! The thread that asks the stores: one question for all who ask the same, the stores in their
//! order, and what is remembered of it.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use measure::time::Time;
use redis::cmd;
use tokio::sync::mpsc::Receiver;

use crate::causes::Causes;
use crate::counts::{Counts, Snapshot};
use crate::guard::Guard;
use crate::memory::Remembered;
use crate::record::Record;
use crate::settings::Settings;
use crate::shares::Portion;
use crate::{Answer, Lookup, Tell, database, redis_store};

/// For so long after a user was revoked the database is asked rather than Redis: another gateway
/// may have put there what it had read just before.
pub(crate) const DISTRUST: Duration = Duration::from_secs(10);

/// So many users are distrusted one by one; beyond that, everybody is.
const DISTRUSTED_MAX: usize = 10_000;

/// A user who is revoked again and again while he's being looked up is looked up so often.
const TRIES: u32 = 3;

/// The bucket of a key, shared by all who ask: refilled by the time that passed on Redis's clock,
/// emptied by what is asked for, as far as there is any.
const BUCKET: &str = "
local held = redis.call('HMGET', KEYS[1], 'tokens', 'at')
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local rate, most, wanted = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local tokens = tonumber(held[1]) or most
local passed = math.max(0, now - (tonumber(held[2]) or now))
tokens = math.min(most, tokens + passed * rate / 1000000)
local given = math.min(wanted, math.floor(tokens))
redis.call('HSET', KEYS[1], 'tokens', tostring(tokens - given), 'at', string.format('%.0f', now))
redis.call('PEXPIRE', KEYS[1], math.ceil(most / rate * 1000) + 60000)
return given";

/// What the thread is asked: who a user is.
pub(crate) struct Question {
    pub(crate) key: Box<str>,
    pub(crate) tell: Tell,
}

/// What a store has said.
enum Found {
    OfRedis(Arc<Record>),
    OfDatabase(Arc<Record>),
    Nobody,
    /// Something that says nothing about anybody, though the store is available: what was known
    /// before isn't the answer.
    Nonsense,
    Unavailable,
}

/// Those who wait for a user.
#[derive(Default)]
struct Flight {
    tells: Vec<Tell>,
    /// He was revoked while he was being looked up: what was read may be old.
    revoked: bool,
}

/// Whom Redis isn't believed about.
#[derive(Debug, Default)]
struct Distrust {
    users: HashMap<Box<str>, Time>,
    everybody_until: Time,
}

/// See the module.
pub(crate) struct Finder {
    pub(crate) settings: Settings,
    pub(crate) memory: Remembered,
    pub(crate) counts: Arc<Counts>,
    pub(crate) causes: Arc<Causes>,
    pub(crate) redis: Option<redis_store::Store>,
    database: Option<Arc<database::Store>>,
    flights: Mutex<HashMap<Box<str>, Flight>>,
    distrust: Mutex<Distrust>,
    pub(crate) hears: AtomicBool,
    random: RandomState,
}

/// What is said of a value in Redis that can't be read, …
const NO_OBJECT: &str = "what Redis has of a user is no JSON object, so it's of no use";
/// … and of a row of the database.
const NO_USER: &str = "what the database says of a user can't be read: its columns have to have \
                       names and values that JSON can hold";

impl fmt::Debug for Finder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Finder")
            .field("settings", &self.settings)
            .finish_non_exhaustive()
    }
}

impl Finder {
    pub(crate) fn new(settings: Settings, counts: Arc<Counts>) -> Finder {
        let guard = || Guard::new(settings.breaker);
        let causes = Arc::new(Causes::new(Arc::clone(&counts)));
        let redis = settings.redis.clone();
        let redis = redis.map(|one| redis_store::Store::new(one, guard(), Arc::clone(&causes)));
        let database = settings.database.clone().map(|one| {
            let numeric = settings.numeric;
            Arc::new(database::Store::new(
                one,
                numeric,
                guard(),
                Arc::clone(&causes),
            ))
        });
        Finder {
            memory: Remembered::new(settings.memory.clone()),
            counts,
            causes,
            redis,
            database,
            flights: Mutex::default(),
            distrust: Mutex::default(),
            hears: false.into(),
            random: RandomState::new(),
            settings,
        }
    }

    /// Fetches portions of buckets until nobody can ask for them any more.
    pub(crate) async fn fetch_portions(self: Arc<Self>, mut portions: Receiver<Portion>) {
        while let Some(portion) = portions.recv().await {
            tokio::spawn(fetch(Arc::clone(&self), portion));
        }
    }

    /// Has a connection to Redis for as long as it's polled.
    pub(crate) async fn stay_connected(self: Arc<Self>) {
        if let Some(redis) = &self.redis {
            redis.stay_connected().await;
        }
    }

    /// Answers questions until nobody can ask any more.
    pub(crate) async fn run(self: Arc<Self>, mut questions: Receiver<Question>) {
        while let Some(question) = questions.recv().await {
            self.find(question.key, question.tell);
        }
    }

    /// What was counted, and what is the case.
    pub(crate) fn snapshot(&self, now: Time) -> Snapshot {
        let redis_open = self
            .redis
            .as_ref()
            .is_some_and(|redis| redis.breaker_is_open(now));
        let database_open = self
            .database
            .as_ref()
            .is_some_and(|one| one.breaker_is_open(now));
        Snapshot {
            entries: self.memory.len() as u64,
            redis_open,
            redis_lost: self.redis.as_ref().is_some_and(|redis| redis.is_lost()),
            database_open,
            hears: self.hears.load(Relaxed),
            redis_pool: (self.redis.as_ref())
                .map(|redis| redis.pool())
                .unwrap_or_default(),
            database_pool: (self.database.as_ref())
                .map(|one| one.pool())
                .unwrap_or_default(),
            ..self.counts.read()
        }
    }

    /// Whether no store can be asked now, so that nobody needs to wait for that to be found out.
    pub(crate) fn is_hopeless(&self, now: Time) -> bool {
        let redis = self
            .redis
            .as_ref()
            .is_none_or(|redis| redis.cannot_be_asked(now));
        let database = self
            .database
            .as_ref()
            .is_none_or(|database| database.cannot_be_asked(now));
        redis && database
    }

    /// The answer where no store can be asked.
    pub(crate) fn without_stores(&self, key: &str, now: Time) -> Answer {
        match self.memory.find_stale(key, now) {
            Lookup::Known(record) => {
                self.counts.stale.add();
                Answer::Known(record)
            }
            Lookup::Nobody => Answer::Nobody,
            Lookup::Unknown => {
                self.counts.unavailable.add();
                Answer::Unavailable
            }
        }
    }

    fn find(self: &Arc<Self>, key: Box<str>, tell: Tell) {
        // The answer may have come since it was asked for.
        match self.memory.find(&key, Time::now()) {
            Lookup::Known(record) => return tell(Answer::Known(record)),
            Lookup::Nobody => return tell(Answer::Nobody),
            Lookup::Unknown => {}
        }
        let mut flights = self.flights();
        match flights.entry(key) {
            Entry::Occupied(mut flight) => flight.get_mut().tells.push(tell),
            Entry::Vacant(place) => {
                let key = place.key().clone();
                place.insert(Flight::default()).tells.push(tell);
                drop(flights);
                tokio::spawn(Arc::clone(self).fly(key));
            }
        }
    }

    /// Looks a user up, and tells all who wait for him.
    async fn fly(self: Arc<Self>, key: Box<str>) {
        let mut tries = 0;
        let (found, tells) = loop {
            let found = self.seek(&key).await;
            tries += 1;
            let mut flights = self.flights();
            let Some(flight) = flights.get_mut(&*key) else {
                return;
            };
            let revoked = std::mem::take(&mut flight.revoked);
            if revoked && tries < TRIES {
                continue;
            }
            let tells = flights.remove(&*key).map(|flight| flight.tells);
            let found = if revoked { Found::Unavailable } else { found };
            break (found, tells.unwrap_or_default());
        };
        // Nothing is waited for from here to the last line, and revocations come on this thread:
        // what is remembered isn't older than what was revoked last.
        let now = Time::now();
        let to_redis = match &found {
            Found::OfDatabase(record) => Some(Arc::clone(record)),
            _ => None,
        };
        let answer = match found {
            Found::OfRedis(record) | Found::OfDatabase(record) => {
                self.memory.keep(&key, Some(&record), now);
                Answer::Known(record)
            }
            Found::Nobody => {
                self.memory.keep(&key, None, now);
                self.counts.nobody.add();
                Answer::Nobody
            }
            Found::Nonsense => {
                self.counts.unavailable.add();
                Answer::Unavailable
            }
            Found::Unavailable => self.without_stores(&key, now),
        };
        for tell in tells {
            tell(answer.clone());
        }
        if let (Some(record), Some(redis)) = (to_redis, &self.redis)
            && !self.distrusts(&key, now)
        {
            let lifetime = redis.settings().lifetime;
            let tenth = lifetime / 10;
            // Where in its fifth a user's end falls is drawn by his name.
            let drawn = (self.random.hash_one(&key) % 1024) as u32;
            let lifetime = lifetime - tenth + tenth * 2 / 1024 * drawn;
            redis.set(&key, record.json(), lifetime).await;
        }
    }

    /// Asks the stores, in their order.
    async fn seek(&self, key: &str) -> Found {
        let wanted = &self.settings.fields;
        let trusted = self.database.is_none() || !self.distrusts(key, Time::now());
        if let Some(redis) = self.redis.as_ref().filter(|_| trusted) {
            let got = match redis.get(key).await {
                redis_store::Got::Bytes(bytes) => match Record::read(&bytes, wanted) {
                    Some(record) => {
                        self.counts.redis.add();
                        return Found::OfRedis(Arc::new(record));
                    }
                    None => redis_store::Got::Nonsense,
                },
                other => other,
            };
            match got {
                redis_store::Got::Failed => self.counts.redis_failed.add(),
                redis_store::Got::Nonsense => self.nonsense(NO_OBJECT),
                _ if self.database.is_none() => return Found::Nobody,
                _ => {}
            }
        }
        let Some(database) = &self.database else {
            return Found::Unavailable;
        };
        let got = match database.find(key).await {
            database::Got::Row(row) => match Record::of_row(&row, wanted) {
                Some(record) => {
                    self.counts.database.add();
                    return Found::OfDatabase(Arc::new(record));
                }
                None => database::Got::Nonsense,
            },
            other => other,
        };
        let (count, found) = match got {
            database::Got::Nothing => return Found::Nobody,
            database::Got::Failed => (&self.counts.database_failed, Found::Unavailable),
            database::Got::Refused => (&self.counts.database_failed, Found::Nonsense),
            _ => {
                self.nonsense(NO_USER);
                return Found::Nonsense;
            }
        };
        count.add();
        found
    }

    /// What a store has of a user makes no sense.
    fn nonsense(&self, says: &str) {
        self.counts.nonsense.add();
        self.causes.say(says.into(), || says.into(), Time::now());
    }

    /// The data of users have changed.
    pub(crate) fn revoked(&self, keys: &[&str], now: Time) {
        let mut flights = self.flights();
        for key in keys {
            self.counts.revoked.add();
            self.memory.forget(key);
            if let Some(flight) = flights.get_mut(*key) {
                flight.revoked = true;
            }
        }
        drop(flights);
        // So long it may take until it's known whether Redis has deleted them.
        let timeout = self.redis.as_ref().map(|redis| redis.settings().timeout);
        self.distrust(keys, DISTRUST + timeout.unwrap_or_default(), now);
    }

    /// Redis isn't believed about users for so long.
    pub(crate) fn distrust(&self, keys: &[&str], length: Duration, now: Time) {
        let mut distrust = self.distrusted();
        if distrust.users.len() >= DISTRUSTED_MAX {
            distrust.users.retain(|_, until| now < *until);
        }
        let until = now + length;
        match distrust.users.len() >= DISTRUSTED_MAX {
            true => distrust.everybody_until = distrust.everybody_until.max(until),
            false => {
                for key in keys {
                    let of_one = distrust.users.entry((*key).into()).or_insert(until);
                    *of_one = until.max(*of_one);
                }
            }
        }
    }

    /// Anybody's data may have changed, and Redis isn't believed for so long.
    pub(crate) fn all_revoked(&self, distrust: Duration, now: Time) {
        self.memory.forget_all();
        for flight in self.flights().values_mut() {
            flight.revoked = true;
        }
        let mut distrusted = self.distrusted();
        distrusted.everybody_until = distrusted.everybody_until.max(now + distrust);
    }

    fn distrusts(&self, key: &str, now: Time) -> bool {
        let distrust = self.distrusted();
        let one = distrust.users.get(key).is_some_and(|until| now < *until);
        one || now < distrust.everybody_until
    }

    fn flights(&self) -> MutexGuard<'_, HashMap<Box<str>, Flight>> {
        self.flights.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn distrusted(&self) -> MutexGuard<'_, Distrust> {
        self.distrust.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Fetches a portion of a bucket.
async fn fetch(finder: Arc<Finder>, portion: Portion) {
    let given = match &finder.redis {
        Some(redis) => {
            let mut command = cmd("EVAL");
            command.arg(BUCKET).arg(1).arg(redis.key(&portion.bucket));
            command
                .arg(portion.per_second)
                .arg(portion.burst)
                .arg(portion.wanted);
            redis.ask_beside::<u32>(&command).await.ok()
        }
        None => None,
    };
    portion.gave(given, Time::now());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distrust_ends_no_sooner_because_of_another_revocation() {
        let settings = Settings {
            memory: crate::Memory::default(),
            redis: None,
            database: None,
            numeric: false,
            fields: Vec::new(),
            breaker: admission::breaker::Settings::default(),
        };
        let finder = Finder::new(settings, Arc::default());
        let at = |seconds| Time(0) + Duration::from_secs(seconds);
        finder.revoked(&["a", "b"], at(0));
        finder.distrust(&["a"], Duration::from_secs(142), at(1));
        finder.revoked(&["a", "b"], at(2));
        let distrusted = |key, seconds| finder.distrusts(key, at(seconds));
        assert!(distrusted("a", 11) && distrusted("b", 11) && !distrusted("c", 11));
        assert!(distrusted("a", 142) && !distrusted("b", 142));
        assert!(!distrusted("a", 143));
    }
}

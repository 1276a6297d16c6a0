//! Redis: what it has of a user, and what it's told.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use measure::time::Time;
use redis::aio::MultiplexedConnection;
use redis::{
    Arg, AsyncConnectionConfig, Client, Cmd, ConnectionAddr, FromRedisValue, IntoConnectionInfo,
    RedisError, cmd,
};
use tokio::sync::Notify;
use tokio::time::{sleep, timeout};

use crate::causes::{Cause, Causes, Kind, Of};
use crate::counts::Pool;
use crate::guard::{Guard, Seat};
use crate::settings::{Place, Redis};

/// After a connection that couldn't be made, the next is tried so soon, …
const AGAIN_MIN: Duration = Duration::from_millis(50);

/// … and no later than this.
const AGAIN_MAX: Duration = Duration::from_secs(1);

/// So often an idle connection is asked whether it's still there.
const PING: Duration = Duration::from_secs(1);

/// What was written to a connection that broke may still be executed for so long: Linux sends what
/// a closed socket has left for about 100 s (`tcp_orphan_retries` in tcp(7)).
const ORPHANED: Duration = Duration::from_secs(120);

/// Commands that may wait in the connection for being written.
const PIPELINE: usize = 1024;

/// What is refused where it doesn't let the gateway in.
const LOGIN: &str = "the login";

/// What Redis has.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Got {
    /// This.
    Bytes(Vec<u8>),
    /// Nothing.
    Nothing,
    /// Something that isn't a text.
    Nonsense,
    /// It can't be asked, or didn't answer.
    Failed,
}

/// See the module. All commands share one connection, which is made anew when it breaks.
#[derive(Debug)]
pub(crate) struct Store {
    settings: Redis,
    slot: Mutex<Slot>,
    /// The connection is broken.
    broken: Notify,
    is_connected: AtomicBool,
    /// A connection was made, or couldn't be.
    tried: (Mutex<bool>, Condvar),
    under_way: AtomicUsize,
    guard: Guard,
    causes: Arc<Causes>,
}

/// The connection, and which it is.
#[derive(Clone, Debug, Default)]
struct Slot {
    number: u64,
    made: Time,
    connection: Option<MultiplexedConnection>,
}

impl Slot {
    /// Whether what was written to an earlier connection may come after what is written to this.
    fn may_be_overtaken(&self, now: Time) -> bool {
        self.number > 1 && now < self.made + ORPHANED
    }
}

impl Store {
    pub(crate) fn new(settings: Redis, guard: Guard, causes: Arc<Causes>) -> Store {
        Store {
            settings,
            slot: Mutex::default(),
            broken: Notify::new(),
            is_connected: AtomicBool::new(false),
            tried: Default::default(),
            under_way: AtomicUsize::new(0),
            guard,
            causes,
        }
    }

    /// What it was told.
    pub(crate) fn settings(&self) -> &Redis {
        &self.settings
    }

    /// Whether asking is in vain for now.
    pub(crate) fn cannot_be_asked(&self, now: Time) -> bool {
        self.is_lost() || self.breaker_is_open(now)
    }

    /// How many commands may be under way, and how many are.
    pub(crate) fn pool(&self) -> Pool {
        Pool {
            limit: self.settings.limit as u64,
            in_use: self.under_way.load(Relaxed) as u64,
        }
    }

    /// Whether there is no connection.
    pub(crate) fn is_lost(&self) -> bool {
        !self.is_connected.load(Relaxed)
    }

    /// Whether its breaker is open.
    pub(crate) fn breaker_is_open(&self, now: Time) -> bool {
        self.guard.is_open(now)
    }

    /// Waits until a connection was made or couldn't be, but no longer than this.
    pub(crate) fn wait(&self, patience: Duration) {
        let (tried, news) = &self.tried;
        let tried = tried.lock().unwrap_or_else(PoisonError::into_inner);
        // Whether it was or not, there's nothing more to wait for.
        drop(news.wait_timeout_while(tried, patience, |tried| !*tried));
    }

    /// Has a connection for as long as it's polled.
    pub(crate) async fn stay_connected(&self) {
        let mut wait = AGAIN_MIN;
        loop {
            let connected = self.connect(self.settings.timeout).await;
            let was_made = connected.is_ok();
            if let Ok(connection) = connected {
                let mut slot = self.slot();
                *slot = Slot {
                    number: slot.number + 1,
                    made: Time::now(),
                    connection: Some(connection),
                };
                self.is_connected.store(true, Relaxed);
            }
            *self.tried.0.lock().unwrap_or_else(PoisonError::into_inner) = true;
            self.tried.1.notify_all();
            match was_made {
                true => {
                    wait = AGAIN_MIN;
                    // A host that is gone says nothing, and one that closes says it to nobody who
                    // doesn't ask.
                    while timeout(PING, self.broken.notified()).await.is_err() {
                        self.ping().await;
                    }
                }
                false => {
                    sleep(wait).await;
                    wait = (wait * 2).min(AGAIN_MAX);
                }
            }
        }
    }

    /// A connection of its own, on which an answer may take so long.
    pub(crate) async fn connect(
        &self,
        answer: Duration,
    ) -> Result<MultiplexedConnection, RedisError> {
        let place = match &self.settings.place {
            Place::Tcp(address) => ConnectionAddr::Tcp(address.ip().to_string(), address.port()),
            Place::Unix(path) => ConnectionAddr::Unix(path.clone()),
        };
        let config = AsyncConnectionConfig::new()
            .set_connection_timeout(Some(self.settings.timeout))
            .set_response_timeout(Some(answer))
            .set_pipeline_buffer_size(PIPELINE);
        let client = Client::open(place.into_connection_info()?)?;
        let connecting = client.get_multiplexed_async_connection_with_config(&config);
        let connected = connecting.await;
        let mut connection =
            connected.inspect_err(|error| self.note("the connection", "", error))?;
        // The library would do that, too, and keep to itself why it's refused.
        let Redis { user, password, .. } = &self.settings;
        if user.is_some() || password.is_some() {
            let mut login = cmd("AUTH");
            // A user without one (ACL's `nopass`) takes any.
            let password = password.as_ref().map_or("", |password| &password.0);
            login.arg(user.as_ref()).arg(password);
            let done = login.query_async::<()>(&mut connection).await;
            done.inspect_err(|error| self.note(LOGIN, "", error))?;
        }
        if self.settings.number != 0 {
            let mut select = cmd("SELECT");
            select.arg(self.settings.number);
            let done = select.query_async::<()>(&mut connection).await;
            done.inspect_err(|error| self.note("SELECT", "", error))?;
        }
        Ok(connection)
    }

    /// What it has of a user.
    pub(crate) async fn get(&self, key: &str) -> Got {
        match self
            .ask::<Option<Vec<u8>>>(cmd("GET").arg(self.key(key)))
            .await
        {
            Ok(Some(bytes)) => Got::Bytes(bytes),
            Ok(None) => Got::Nothing,
            Err(Failed::Nonsense) => Got::Nonsense,
            Err(Failed::Store) => Got::Failed,
        }
    }

    /// Has it keep what the database has said, for so long.
    pub(crate) async fn set(&self, key: &str, json: &str, lifetime: Duration) {
        let millis = (lifetime.as_millis() as u64).max(1);
        let mut command = cmd("SET");
        command.arg(self.key(key)).arg(json).arg("PX").arg(millis);
        let _ = self.ask::<()>(&command).await;
    }

    /// Has it delete what it has of users; says whether that's gone for good. It goes the way of
    /// what [`Store::set`] has sent before, which doesn't come after it then.
    pub(crate) async fn delete(&self, keys: &[&str]) -> bool {
        let mut command = cmd("DEL");
        for key in keys {
            command.arg(self.key(key));
        }
        let done = self.ask_beside::<()>(&command).await.is_ok();
        done && !self.slot().may_be_overtaken(Time::now())
    }

    /// Counts why it failed, and has that said.
    pub(crate) fn note(&self, what: &str, asked: &str, error: &RedisError) {
        let shown = error.to_string();
        let (code, words) = match error.code() {
            Some(code) => (code, error.detail().unwrap_or_default()),
            None if error.is_io_error() => ("", &*shown),
            // The library's own words may show what came.
            None => ("", error.category()),
        };
        // Behind that is what an unknown command was given.
        let words = words.split(", with args").next().unwrap_or_default();
        let kind = match code {
            "" if error.is_io_error() || error.is_unrecoverable_error() => Kind::Unreachable,
            _ if what == LOGIN => Kind::Login,
            code => kind_of(code).0,
        };
        let cause = Cause {
            of: Of::Redis,
            kind,
            what,
            code,
            words,
            asked,
        };
        self.causes.note(&cause, Time::now());
    }

    /// Asks whether the connection is there, and breaks it off if it isn't.
    async fn ping(&self) {
        let slot = self.slot().clone();
        let Some(mut connection) = slot.connection else {
            return;
        };
        let answer = cmd("PING").query_async::<()>(&mut connection).await;
        // Redis may answer that it's busy, and has answered then.
        if answer.is_err_and(|error| error.is_io_error() || error.is_unrecoverable_error()) {
            self.break_off(slot.number);
        }
    }

    /// The key of a user, or of whatever else is the gateway's there.
    pub(crate) fn key(&self, key: &str) -> String {
        format!("{}{key}", self.settings.prefix)
    }

    /// Asks, unless the breaker is open or too much is under way.
    async fn ask<T: FromRedisValue>(&self, command: &Cmd) -> Result<T, Failed> {
        let seat = Seat::take(&self.under_way, self.settings.limit).ok_or(Failed::Store)?;
        let answer = self.ask_beside(command).await;
        drop(seat);
        answer
    }

    /// Asks beside what is counted as under way, unless the breaker is open.
    pub(crate) async fn ask_beside<T: FromRedisValue>(&self, command: &Cmd) -> Result<T, Failed> {
        let slot = self.slot().clone();
        let Some(mut connection) = slot.connection else {
            return Err(Failed::Store);
        };
        let begun = Time::now();
        if !self.guard.allows(begun) {
            return Err(Failed::Store);
        }
        let answer = command.query_async(&mut connection).await;
        if let Err(error) = &answer
            && !error.is_timeout()
        {
            let mut words = command.args_iter().map(|arg| match arg {
                Arg::Simple(bytes) => String::from_utf8_lossy(bytes),
                _ => "".into(),
            });
            let name = words.next().unwrap_or_default();
            // Behind a script stands how many keys it has, and then the first.
            let key = words.nth(if name == "EVAL" { 2 } else { 0 });
            self.note(&name, &key.unwrap_or_default(), error);
        }
        let now = Time::now();
        match answer {
            Ok(value) => {
                self.guard.ended(true, begun, now);
                Ok(value)
            }
            Err(error) if is_about_the_value(&error) => {
                self.guard.ended(true, begun, now);
                Err(Failed::Nonsense)
            }
            Err(error) if error.code().is_some_and(|code| !kind_of(code).1) => {
                self.guard.ended(true, begun, now);
                Err(Failed::Store)
            }
            Err(error) => {
                self.guard.ended(false, begun, now);
                // A late answer is thrown away when it comes, and the connection stays good.
                if !error.is_timeout() && (error.is_unrecoverable_error() || error.is_io_error()) {
                    self.break_off(slot.number);
                }
                Err(Failed::Store)
            }
        }
    }

    /// The connection of this number is broken.
    fn break_off(&self, number: u64) {
        let mut slot = self.slot();
        if slot.number == number && slot.connection.take().is_some() {
            self.is_connected.store(false, Relaxed);
            self.broken.notify_one();
        }
    }

    fn slot(&self) -> MutexGuard<'_, Slot> {
        self.slot.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Why there is no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Failed {
    /// What the key has is of another type.
    Nonsense,
    /// Redis failed, or wasn't asked.
    Store,
}

/// What kind of cause an error reply is, by its code, and whether the breaker counts it as a
/// failure. It does where Redis refuses whatever it's asked, whoever's fault that is; one that has
/// no room, or is a replica, refuses writes and still answers who reads.
fn kind_of(code: &str) -> (Kind, bool) {
    match code {
        "LOADING" | "BUSY" | "MASTERDOWN" | "CLUSTERDOWN" => (Kind::Unavailable, true),
        "READONLY" | "OOM" | "MISCONF" | "NOREPLICAS" => (Kind::Unavailable, false),
        // Of several keys at once, while a cluster moves them: one of them can be asked for.
        "TRYAGAIN" => (Kind::Unavailable, false),
        "NOAUTH" | "WRONGPASS" => (Kind::Login, true),
        "NOPERM" => (Kind::Permission, false),
        "ERR" | "WRONGTYPE" => (Kind::Question, false),
        _ => (Kind::Other, false),
    }
}

/// Whether Redis is well, and what it has is wrong.
fn is_about_the_value(error: &RedisError) -> bool {
    error.code() == Some("WRONGTYPE") || error.kind() == redis::ErrorKind::UnexpectedReturnType
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_written_to_an_earlier_connection_comes_late() {
        let at = |seconds| Time(0) + Duration::from_secs(seconds);
        let mut slot = Slot {
            number: 1,
            made: at(1000),
            connection: None,
        };
        assert!(!slot.may_be_overtaken(at(1000)));
        slot.number = 2;
        assert!(slot.may_be_overtaken(at(1119)));
        assert!(!slot.may_be_overtaken(at(1120)));
    }
    #[test]
    fn the_breaker_counts_the_replies_of_a_redis_that_refuses_whatever_it_is_asked() {
        for code in ["LOADING", "BUSY", "MASTERDOWN", "CLUSTERDOWN"] {
            assert_eq!(kind_of(code), (Kind::Unavailable, true), "{code}");
        }
        for code in ["NOAUTH", "WRONGPASS"] {
            assert_eq!(kind_of(code), (Kind::Login, true), "{code}");
        }
        for code in ["READONLY", "OOM", "MISCONF", "NOREPLICAS", "TRYAGAIN"] {
            assert_eq!(kind_of(code), (Kind::Unavailable, false), "{code}");
        }
        assert_eq!(kind_of("NOPERM"), (Kind::Permission, false));
        assert_eq!(kind_of("WRONGTYPE"), (Kind::Question, false));
        assert_eq!(kind_of("NEW"), (Kind::Other, false));
    }
}

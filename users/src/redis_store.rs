//! Redis: what it has of a user, and what it's told.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use measure::time::Time;
use redis::aio::MultiplexedConnection;
use redis::{
    AsyncConnectionConfig, Client, Cmd, ConnectionAddr, FromRedisValue, IntoConnectionInfo,
    RedisConnectionInfo, RedisError, cmd,
};
use tokio::sync::Notify;
use tokio::time::{sleep, timeout};

use crate::guard::{Guard, Seat};
use crate::settings::{Place, Redis};

/// After a connection that couldn't be made, the next is tried so soon, …
const AGAIN_MIN: Duration = Duration::from_millis(50);

/// … and no later than this.
const AGAIN_MAX: Duration = Duration::from_secs(1);

/// So often an idle connection is asked whether it's still there.
const PING: Duration = Duration::from_secs(1);

/// Commands that may wait in the connection for being written.
const PIPELINE: usize = 1024;

/// Error replies of a Redis that can't serve now.
const UNWELL: [&str; 6] = [
    "LOADING",
    "BUSY",
    "MASTERDOWN",
    "CLUSTERDOWN",
    "TRYAGAIN",
    "NOAUTH",
];

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
    /// With its number.
    connection: Mutex<(u64, Option<MultiplexedConnection>)>,
    /// The connection is broken.
    broken: Notify,
    is_connected: AtomicBool,
    under_way: AtomicUsize,
    guard: Guard,
}

impl Store {
    pub(crate) fn new(settings: Redis, guard: Guard) -> Store {
        Store {
            settings,
            connection: Mutex::default(),
            broken: Notify::new(),
            is_connected: AtomicBool::new(false),
            under_way: AtomicUsize::new(0),
            guard,
        }
    }

    /// What it was told.
    pub(crate) fn settings(&self) -> &Redis {
        &self.settings
    }

    /// Whether asking is in vain for now.
    pub(crate) fn is_shut(&self, now: Time) -> bool {
        self.is_lost() || self.guard.is_shut(now)
    }

    /// Whether there is no connection.
    pub(crate) fn is_lost(&self) -> bool {
        !self.is_connected.load(Relaxed)
    }

    /// Whether its breaker is open.
    pub(crate) fn is_open(&self, now: Time) -> bool {
        self.guard.is_shut(now)
    }

    /// Has a connection for as long as it's polled.
    pub(crate) async fn stay_connected(&self) {
        let mut wait = AGAIN_MIN;
        loop {
            match self.connect(self.settings.timeout).await {
                Ok(connection) => {
                    {
                        let mut slot = self.slot();
                        *slot = (slot.0 + 1, Some(connection));
                    }
                    self.is_connected.store(true, Relaxed);
                    wait = AGAIN_MIN;
                    // A host that is gone says nothing, and one that closes says it to nobody who
                    // doesn't ask.
                    while timeout(PING, self.broken.notified()).await.is_err() {
                        self.ping().await;
                    }
                }
                Err(_) => {
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
        let mut session = RedisConnectionInfo::default().set_db(self.settings.number);
        if let Some(user) = &self.settings.user {
            session = session.set_username(user);
        }
        if let Some(password) = &self.settings.password {
            session = session.set_password(&password.0);
        }
        let config = AsyncConnectionConfig::new()
            .set_connection_timeout(Some(self.settings.timeout))
            .set_response_timeout(Some(answer))
            .set_pipeline_buffer_size(PIPELINE);
        let info = place.into_connection_info()?.set_redis_settings(session);
        let client = Client::open(info)?;
        client
            .get_multiplexed_async_connection_with_config(&config)
            .await
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

    /// Asks whether the connection is there, and breaks it off if it isn't.
    async fn ping(&self) {
        let (number, connection) = self.slot().clone();
        let Some(mut connection) = connection else {
            return;
        };
        let answer = cmd("PING").query_async::<()>(&mut connection).await;
        // Redis may answer that it's busy, and has answered then.
        if answer.is_err_and(|error| error.is_io_error() || error.is_unrecoverable_error()) {
            self.break_off(number);
        }
    }

    /// The key of a user.
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
        let (number, connection) = self.slot().clone();
        let Some(mut connection) = connection else {
            return Err(Failed::Store);
        };
        if !self.guard.allows(Time::now()) {
            return Err(Failed::Store);
        }
        let answer = command.query_async(&mut connection).await;
        let now = Time::now();
        match answer {
            Ok(value) => {
                self.guard.ended(true, now);
                Ok(value)
            }
            Err(error) if is_about_the_value(&error) => {
                self.guard.ended(true, now);
                Err(Failed::Nonsense)
            }
            // It's well, and won't: no room, no right, a replica that is only read.
            Err(error) if error.code().is_some_and(|code| !UNWELL.contains(&code)) => {
                self.guard.ended(true, now);
                Err(Failed::Store)
            }
            Err(error) => {
                self.guard.ended(false, now);
                // A late answer is thrown away when it comes, and the connection stays good.
                if !error.is_timeout() && (error.is_unrecoverable_error() || error.is_io_error()) {
                    self.break_off(number);
                }
                Err(Failed::Store)
            }
        }
    }

    /// The connection of this number is broken.
    fn break_off(&self, number: u64) {
        let mut slot = self.slot();
        if slot.0 == number && slot.1.take().is_some() {
            self.is_connected.store(false, Relaxed);
            self.broken.notify_one();
        }
    }

    fn slot(&self) -> MutexGuard<'_, (u64, Option<MultiplexedConnection>)> {
        self.connection
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
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

/// Whether Redis is well, and what it has is wrong.
fn is_about_the_value(error: &RedisError) -> bool {
    error.code() == Some("WRONGTYPE") || error.kind() == redis::ErrorKind::UnexpectedReturnType
}

//! The database: MySQL or MariaDB, asked with one prepared statement.

use std::sync::atomic::AtomicUsize;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use measure::time::Time;
use mysql_async::prelude::Queryable;
use mysql_async::{Conn, Opts, OptsBuilder, Row, Value};
use tokio::sync::Semaphore;
use tokio::time::timeout;

use crate::guard::{Guard, Seat};
use crate::settings::{Database, Place};

/// A connection that was used so recently isn't asked whether it's still there.
const RECENT: Duration = Duration::from_secs(30);

/// How long a connection may take to say good-bye.
const GOOD_BYE: Duration = Duration::from_millis(500);

/// Errors of a server that can't serve now: too many connections or queries, a shutdown, locks, a
/// server that only reads, a connection that was killed (MariaDB, "Error Codes").
const UNWELL: [u16; 12] = [
    1040, 1041, 1053, 1203, 1205, 1213, 1226, 1290, 1317, 1836, 1927, 1969,
];

/// What the database has.
#[derive(Debug, PartialEq)]
pub(crate) enum Got {
    /// One row.
    Row(Vec<(String, serde_json::Value)>),
    /// None.
    Nothing,
    /// More than one, or what isn't text.
    Nonsense,
    /// The server has answered that it can't say: it's well, and the question isn't.
    Refused,
    /// It can't be asked, or didn't answer.
    Failed,
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Store {
    settings: Database,
    numeric: bool,
    opts: Opts,
    /// Connections that nobody uses, with when they were last used; the last comes first.
    idle: Mutex<Vec<(Conn, Time)>>,
    room: Semaphore,
    /// Those who use a connection or wait for one.
    inside: AtomicUsize,
    guard: Guard,
}

impl Store {
    pub(crate) fn new(settings: Database, numeric: bool, guard: Guard) -> Store {
        let builder = OptsBuilder::default()
            .user(Some(&settings.user))
            .pass(settings.password.as_ref().map(|password| &password.0))
            .db_name(settings.name.as_ref())
            .prefer_socket(false)
            .stmt_cache_size(4);
        let builder = match &settings.place {
            Place::Tcp(address) => builder
                .ip_or_hostname(address.ip().to_string())
                .tcp_port(address.port()),
            Place::Unix(path) => builder.socket(Some(path.display().to_string())),
        };
        Store {
            opts: builder.into(),
            room: Semaphore::new(settings.connections),
            idle: Mutex::default(),
            inside: AtomicUsize::new(0),
            numeric,
            settings,
            guard,
        }
    }

    /// Whether asking is in vain for now.
    pub(crate) fn is_shut(&self, now: Time) -> bool {
        self.guard.is_shut(now)
    }

    /// What it has of a user.
    pub(crate) async fn find(&self, key: &str) -> Got {
        let most = self.settings.connections + self.settings.waiting;
        let Some(_seat) = Seat::take(&self.inside, most) else {
            return Got::Failed;
        };
        if !self.guard.allows(Time::now()) {
            return Got::Failed;
        }
        let mut slot = None;
        let asking = timeout(self.settings.timeout, self.find_on(&mut slot, key));
        let got = asking.await.ok().flatten();
        if let Some(conn) = slot {
            // It may be in the middle of something, and the others are no better if it was late.
            throw_away(conn);
            self.throw_idle_away();
        }
        self.guard.ended(got.is_some(), Time::now());
        got.unwrap_or(Got::Failed)
    }

    /// Asks on a connection, which is in the slot for as long as it's used.
    async fn find_on(&self, slot: &mut Option<Conn>, key: &str) -> Option<Got> {
        let _permit = self.room.acquire().await.ok()?;
        if self.take_idle(slot).await {
            let conn = slot.as_mut()?;
            match self.ask(conn, key).await {
                Ok(got) => {
                    self.put_back(slot);
                    return Some(got);
                }
                Err(mysql_async::Error::Server(error)) => return self.refused(&error, slot),
                // The server has closed it meanwhile, and then the others, too.
                Err(_) => {
                    slot.take().into_iter().for_each(throw_away);
                    self.throw_idle_away();
                }
            }
        }
        let conn = slot.insert(Conn::new(self.opts.clone()).await.ok()?);
        match self.ask(conn, key).await {
            Ok(got) => {
                self.put_back(slot);
                Some(got)
            }
            Err(mysql_async::Error::Server(error)) => self.refused(&error, slot),
            Err(_) => None,
        }
    }

    /// The server has answered with an error: one of the question, which says nothing about the
    /// server and leaves the connection as it was, or one of its own.
    fn refused(&self, error: &mysql_async::ServerError, slot: &mut Option<Conn>) -> Option<Got> {
        if UNWELL.contains(&error.code) {
            return None;
        }
        self.put_back(slot);
        Some(Got::Refused)
    }

    fn throw_idle_away(&self) {
        let idle = self.with_idle(std::mem::take).into_iter();
        idle.for_each(|(conn, _)| throw_away(conn));
    }

    /// Puts a connection that is still there into the slot, if there is one.
    async fn take_idle(&self, slot: &mut Option<Conn>) -> bool {
        while let Some((conn, used)) = self.with_idle(Vec::pop) {
            let conn = slot.insert(conn);
            if Time::now() - used < RECENT || conn.ping().await.is_ok() {
                return true;
            }
            slot.take().into_iter().for_each(throw_away);
        }
        false
    }

    fn put_back(&self, slot: &mut Option<Conn>) {
        let conn = slot.take().map(|conn| (conn, Time::now()));
        self.with_idle(|idle| idle.extend(conn));
    }

    fn with_idle<T>(&self, act: impl FnOnce(&mut Vec<(Conn, Time)>) -> T) -> T {
        act(&mut self.idle.lock().unwrap_or_else(PoisonError::into_inner))
    }

    async fn ask(&self, conn: &mut Conn, key: &str) -> Result<Got, mysql_async::Error> {
        let key = match key.parse::<u64>() {
            Ok(number) if self.numeric => Value::UInt(number),
            _ => Value::Bytes(key.into()),
        };
        let mut rows = conn.exec_iter(&*self.settings.query, (key,)).await?;
        let first: Option<Row> = rows.next().await?;
        let second: Option<Row> = match first {
            Some(_) => rows.next().await?,
            None => None,
        };
        rows.drop_result().await?;
        Ok(match (first, second) {
            (None, _) => Got::Nothing,
            (Some(row), None) => columns(row).map_or(Got::Nonsense, Got::Row),
            (Some(_), Some(_)) => Got::Nonsense,
        })
    }
}

/// Ends a connection: whoever used one that is in the middle of something would get what another
/// has asked for.
fn throw_away(conn: Conn) {
    tokio::spawn(async move {
        let _ = timeout(GOOD_BYE, conn.disconnect()).await;
    });
}

/// The columns of a row, in their order; `None` if something in it isn't text.
fn columns(row: Row) -> Option<Vec<(String, serde_json::Value)>> {
    let columns = row.columns();
    // A name that comes twice would mean one thing here and another to who reads the JSON.
    for (at, column) in columns.iter().enumerate() {
        let name = column.name_str();
        let mut before = columns[..at].iter();
        if before.any(|one| one.name_str().eq_ignore_ascii_case(&name)) {
            return None;
        }
    }
    let mut all = Vec::with_capacity(columns.len());
    for (column, value) in columns.iter().zip(row.unwrap()) {
        let value = match value {
            Value::NULL => serde_json::Value::Null,
            Value::Bytes(bytes) => String::from_utf8(bytes).ok()?.into(),
            Value::Int(number) => number.into(),
            Value::UInt(number) => number.into(),
            Value::Float(number) => f64::from(number).into(),
            Value::Double(number) => number.into(),
            // As SQL writes them, without the quotes.
            when @ (Value::Date(..) | Value::Time(..)) => {
                when.as_sql(true).trim_matches('\'').to_owned().into()
            }
        };
        all.push((column.name_str().into_owned(), value));
    }
    Some(all)
}

//! The database: MySQL or MariaDB, asked with one prepared statement.

use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use measure::time::Time;
use mysql_async::prelude::Queryable;
use mysql_async::{Conn, Opts, OptsBuilder, Row, Value};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};
use tokio::time::timeout;

use crate::causes::{Cause, Causes, Kind, Of};
use crate::counts::Pool;
use crate::guard::{Guard, Seat};
use crate::settings::{Database, Place};

/// A connection that was used so recently isn't asked whether it's still there.
const RECENT: Duration = Duration::from_secs(30);

/// How long a connection may take to say good-bye.
const GOOD_BYE: Duration = Duration::from_millis(500);

/// An answer that nobody waits for any more is waited for so long all the same: until it comes, the
/// server is at work, and the connection isn't free.
const LATE: Duration = Duration::from_secs(5);

/// Errors of a server that can't serve now (MariaDB, "Error Codes"; MySQL, "Server Error Message
/// Reference").
const UNAVAILABLE: [u16; 13] = [
    1040, // Too many connections.
    1041, // Out of memory.
    1053, // The server shuts down.
    1203, // Too many connections of this user.
    1205, // A lock was waited for too long.
    1213, // A deadlock.
    1226, // This user has used up what it may: questions or connections an hour, say.
    1290, // An option, such as --read-only, forbids it.
    1317, // The query was interrupted.
    1836, // The server runs in read-only mode.
    1927, // The connection was killed.
    1969, // The query took too long, as MariaDB says it.
    3024, // The query took too long, as MySQL says it.
];

/// What this user may not.
const NOT_PERMITTED: [u16; 5] = [
    1044, // Use this database.
    1142, // Do this to a table.
    1143, // Do this to a column.
    1227, // What takes a privilege that it hasn't.
    1370, // Call or change a routine.
];

/// What the database has.
#[derive(Debug, PartialEq)]
pub(crate) enum Got {
    /// One row.
    Row(Vec<(String, serde_json::Value)>),
    /// None.
    Nothing,
    /// More than one, or one that can't be written as JSON: text that isn't UTF-8, or a name that
    /// two columns have.
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
    room: Arc<Semaphore>,
    /// Those who wait for an answer or for a connection.
    inside: AtomicUsize,
    /// Questions that nobody waits for any more, and that the server is still at.
    late: AtomicUsize,
    guard: Guard,
    causes: Arc<Causes>,
}

impl Store {
    pub(crate) fn new(
        settings: Database,
        numeric: bool,
        guard: Guard,
        causes: Arc<Causes>,
    ) -> Store {
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
            room: Arc::new(Semaphore::new(settings.connections)),
            idle: Mutex::default(),
            inside: AtomicUsize::new(0),
            late: AtomicUsize::new(0),
            numeric,
            settings,
            guard,
            causes,
        }
    }

    /// Whether asking is in vain for now.
    pub(crate) fn cannot_be_asked(&self, now: Time) -> bool {
        self.breaker_is_open(now) || self.late.load(Relaxed) >= self.settings.connections
    }

    /// How many connections there may be, and how many are in use.
    pub(crate) fn pool(&self) -> Pool {
        let limit = self.settings.connections;
        Pool {
            limit: limit as u64,
            in_use: limit.saturating_sub(self.room.available_permits()) as u64,
        }
    }

    /// Whether its breaker is open.
    pub(crate) fn breaker_is_open(&self, now: Time) -> bool {
        self.guard.is_open(now)
    }

    /// What it has of a user.
    pub(crate) async fn find(self: &Arc<Self>, key: &str) -> Got {
        let most = self.settings.connections + self.settings.waiting;
        let Some(_seat) = Seat::take(&self.inside, most) else {
            return Got::Failed;
        };
        if self.cannot_be_asked(Time::now()) {
            return Got::Failed;
        }
        let asking = async {
            // Who waits in vain for a connection hasn't asked the database, which hasn't failed.
            let permit = Arc::clone(&self.room).acquire_owned().await.ok()?;
            let begun = Time::now();
            if !self.guard.allows(begun) {
                return None;
            }
            let (tell, told) = oneshot::channel();
            tokio::spawn(Arc::clone(self).fetch(key.into(), begun, permit, tell));
            told.await.ok()
        };
        let got = timeout(self.settings.timeout, asking).await;
        got.ok().flatten().unwrap_or(Got::Failed)
    }

    /// Asks, and lets the next have the connection once the server is done with this.
    async fn fetch(
        self: Arc<Self>,
        key: Box<str>,
        begun: Time,
        permit: OwnedSemaphorePermit,
        tell: oneshot::Sender<Got>,
    ) {
        let mut slot = None;
        {
            let mut asking = pin!(self.find_on(&mut slot, &key));
            let got = timeout(self.settings.timeout, &mut asking).await;
            let is_late = got.is_err();
            let got = got.ok().flatten();
            self.guard.ended(got.is_some(), begun, Time::now());
            // Whoever has asked may have left.
            let _ = tell.send(got.unwrap_or(Got::Failed));
            if is_late {
                self.throw_stale_away(begun);
                let _late = Seat::take(&self.late, usize::MAX);
                let _ = timeout(LATE, asking).await;
            }
        }
        // It may be in the middle of something.
        slot.into_iter().for_each(throw_away);
        drop(permit);
    }

    /// Asks on a connection, which is in the slot for as long as it's used.
    async fn find_on(&self, slot: &mut Option<Conn>, key: &str) -> Option<Got> {
        if self.take_idle(slot).await {
            let conn = slot.as_mut()?;
            match self.ask(conn, key).await {
                Ok(got) => {
                    self.put_back(slot);
                    return Some(got);
                }
                Err(mysql_async::Error::Server(error)) => return self.refused(&error, key, slot),
                // The server has closed it meanwhile, and then the others, too.
                Err(_) => {
                    slot.take().into_iter().for_each(throw_away);
                    self.throw_idle_away();
                }
            }
        }
        let conn = slot.insert(self.connect().await?);
        match self.ask(conn, key).await {
            Ok(got) => {
                self.put_back(slot);
                Some(got)
            }
            Err(mysql_async::Error::Server(error)) => self.refused(&error, key, slot),
            Err(_) => None,
        }
    }

    async fn connect(&self) -> Option<Conn> {
        let mut conn = match Conn::new(self.opts.clone()).await {
            Ok(conn) => conn,
            Err(mysql_async::Error::Server(error)) => {
                self.note(Kind::Login, "the login", &error, "");
                return None;
            }
            Err(error) => {
                let words = error.to_string();
                let cause = Cause {
                    of: Of::Database,
                    kind: Kind::Unreachable,
                    what: "the connection",
                    code: "",
                    words: &words,
                    asked: "",
                };
                self.causes.note(&cause, Time::now());
                return None;
            }
        };
        // A late query is ended by the server, as far as it can: MariaDB takes the first comment
        // for a part of the statement, and MySQL the second ("Comment Syntax", "Comments").
        let millis = self.settings.timeout.as_millis().max(1);
        let limit = format!(
            "SET @ringside = 1 /*M!100101 , SESSION max_statement_time = {}.{:03} */ \
             /*!50708 , SESSION max_execution_time = {millis} */",
            millis / 1000,
            millis % 1000
        );
        match conn.query_drop(limit).await {
            Ok(()) | Err(mysql_async::Error::Server(_)) => Some(conn),
            Err(_) => None,
        }
    }

    /// Counts what the server refused, and has it said.
    fn note(&self, kind: Kind, what: &str, error: &mysql_async::ServerError, asked: &str) {
        let kind = match error.code {
            code if UNAVAILABLE.contains(&code) => Kind::Unavailable,
            _ if kind == Kind::Login => kind,
            code if NOT_PERMITTED.contains(&code) => Kind::Permission,
            // Syntax, and names that there aren't (SQLSTATE, class 42).
            _ if error.state.starts_with("42") => Kind::Question,
            _ => kind,
        };
        let cause = Cause {
            of: Of::Database,
            kind,
            what,
            code: &error.code.to_string(),
            words: &error.message,
            asked,
        };
        self.causes.note(&cause, Time::now());
    }

    /// The server has answered with an error: one of the question, which says nothing about the
    /// server and leaves the connection as it was, or one of its own.
    fn refused(
        &self,
        error: &mysql_async::ServerError,
        key: &str,
        slot: &mut Option<Conn>,
    ) -> Option<Got> {
        self.note(Kind::Other, "the query", error, key);
        if UNAVAILABLE.contains(&error.code) {
            return None;
        }
        self.put_back(slot);
        Some(Got::Refused)
    }

    fn throw_idle_away(&self) {
        let idle = self.with_idle(std::mem::take).into_iter();
        idle.for_each(|(conn, _)| throw_away(conn));
    }

    /// Those that were last used before then: the server that they led to may be gone without a
    /// word, and each would cost somebody the time limit.
    fn throw_stale_away(&self, begun: Time) {
        let stale = self.with_idle(|idle| {
            let (stale, kept) = std::mem::take(idle)
                .into_iter()
                .partition::<Vec<_>, _>(|(_, used)| *used < begun);
            *idle = kept;
            stale
        });
        stale.into_iter().for_each(|(conn, _)| throw_away(conn));
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

/// The columns of a row, in their order; `None` where text isn't UTF-8, or two columns have one
/// name.
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

//! What there is to be told: where the stores are, and how long what they say is believed.

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use admission::breaker;

/// All of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// How long things are remembered, and how many.
    pub memory: Memory,
    /// Redis, if it's asked.
    pub redis: Option<Redis>,
    /// The database, if it's asked.
    pub database: Option<Database>,
    /// Names are numbers: whole ones without a sign and leading zeros, up to 2^64 - 1. Everything
    /// else is nobody, and the database isn't asked to make a number of it.
    pub numeric: bool,
    /// What of a user is wanted beside the whole, by name.
    pub fields: Vec<String>,
    /// When a store is left alone.
    pub breaker: breaker::Settings,
}

/// What is remembered.
#[derive(Clone, Debug, PartialEq)]
pub struct Memory {
    /// So many users.
    pub entries: usize,
    /// For how long what a store has said is the answer.
    pub lifetime: Duration,
    /// For how long it's the answer that there is no such user.
    pub unknown: Duration,
    /// For how long after that it's still the answer while no store can be asked.
    pub stale: Duration,
}

impl Default for Memory {
    /// 20,000 users for a minute, five seconds where there is none, and ten minutes while no store
    /// can be asked.
    fn default() -> Memory {
        Memory {
            entries: 20_000,
            lifetime: Duration::from_secs(60),
            unknown: Duration::from_secs(5),
            stale: Duration::from_secs(600),
        }
    }
}

/// Where a store is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// At a port.
    Tcp(SocketAddr),
    /// At a Unix socket.
    Unix(PathBuf),
}

/// A password, which no message shows.
#[derive(Clone, PartialEq, Eq)]
pub struct Password(pub String);

impl fmt::Debug for Password {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Password(…)")
    }
}

/// Where Redis is, and what it has.
#[derive(Clone, Debug, PartialEq)]
pub struct Redis {
    /// Where it listens.
    pub place: Place,
    /// The number of its database (SELECT).
    pub number: i64,
    /// Who asks (ACL), if that isn't everybody.
    pub user: Option<String>,
    /// His password.
    pub password: Option<Password>,
    /// What stands before a name in the key of a user, whose value is a JSON object.
    pub prefix: String,
    /// For how long it keeps what the database has said, give or take a tenth, so that not
    /// everything ends at once.
    pub lifetime: Duration,
    /// How long an answer may take, and a connection.
    pub timeout: Duration,
    /// So many questions may be under way at once.
    pub limit: usize,
    /// The stream that says whose data have changed: `XADD revoked * key 42`, or `XADD revoked *
    /// all 1` for everybody. `None` hears nobody.
    pub revocations: Option<String>,
}

/// Where the database is, and what it's asked.
#[derive(Clone, Debug, PartialEq)]
pub struct Database {
    /// Where it listens.
    pub place: Place,
    /// Who asks.
    pub user: String,
    /// His password.
    pub password: Option<Password>,
    /// Its name.
    pub name: Option<String>,
    /// A statement with one `?` for the name of a user. The columns of its one row are the user.
    pub query: String,
    /// How long all of it may take.
    pub timeout: Duration,
    /// Connections at most.
    pub connections: usize,
    /// So many may wait for one of them.
    pub waiting: usize,
}

/// What the names of buckets begin with, which are behind the same prefix in Redis as users.
const BUCKETS: &str = "limit:";

impl Settings {
    /// Whether a user could have this name.
    pub(crate) fn may_exist(&self, key: &str) -> bool {
        // His key would be that of a bucket.
        if self.redis.is_some() && key.starts_with(BUCKETS) {
            return false;
        }
        if !self.numeric {
            return true;
        }
        let digits = key.bytes().all(|byte| byte.is_ascii_digit());
        let canonical = key == "0" || !key.starts_with('0');
        digits && canonical && key.parse::<u64>().is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_one_spelling() {
        let settings = Settings {
            memory: Memory::default(),
            redis: None,
            database: None,
            numeric: true,
            fields: Vec::new(),
            breaker: breaker::Settings::default(),
        };
        let rows = [
            ("0", true),
            ("42", true),
            ("18446744073709551615", true),
            ("18446744073709551616", false),
            ("042", false),
            ("+42", false),
            ("-1", false),
            ("42abc", false),
            (" 42", false),
            ("", false),
        ];
        for (key, expected) in rows {
            assert_eq!(settings.may_exist(key), expected, "{key:?}");
        }
        let texts = Settings {
            numeric: false,
            ..settings
        };
        assert!(texts.may_exist("42abc"));
    }

    #[test]
    fn a_password_is_in_no_message() {
        let password = Password("hunter2".into());
        assert!(!format!("{password:?}").contains("hunter2"));
    }
}

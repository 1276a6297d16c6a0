//! What a file says about users who are looked up: where, by what, and what upstreams are told.

use std::sync::Arc;
use std::time::Duration;

use admission::breaker;
use server::Address;
use toml::Spanned;
use users::settings::{Database, Memory, Password, Place, Redis};

use super::document::BadConfig;
use super::judge::{Judge, is_token};
use super::trust::are_like;
use super::written::or;
use super::{By, Token, Users, written};

/// The most users that are remembered: what they take is memory that nobody else may have.
const ENTRIES_MAX: usize = 10_000_000;

/// More connections than this to a database are a mistake.
const CONNECTIONS_MAX: usize = 1024;

/// More questions than this at once are more than the gateway asks.
const LIMIT_MAX: usize = 100_000;

/// How a statement begins that returns rows.
const READING: [&str; 3] = ["SELECT", "WITH", "CALL"];

/// A statement without what stands in quotes and comments, where `?` is a character like others.
fn without_quotes(query: &str) -> String {
    let mut bare = String::new();
    let mut rest = query;
    while let Some(first) = rest.chars().next() {
        let line = rest.starts_with('#') || rest.starts_with("-- ");
        let behind = match first {
            '\'' | '"' | '`' => after_quote(&rest[1..], first),
            _ if line => rest.split_once('\n').map_or("", |(_, behind)| behind),
            '/' if rest.starts_with("/*") => rest.split_once("*/").map_or("", |(_, behind)| behind),
            _ => {
                bare.push(first);
                rest = &rest[first.len_utf8()..];
                continue;
            }
        };
        bare.push(' ');
        rest = behind;
    }
    bare
}

/// What is behind a quoted text. A quote that is doubled begins another one, which is the same.
fn after_quote(text: &str, quote: char) -> &str {
    let mut escaped = false;
    let end = text.find(|one| {
        let ends = one == quote && !escaped;
        escaped = one == '\\' && !escaped && quote != '`';
        ends
    });
    end.map_or("", |end| &text[end + 1..])
}

impl Judge<'_> {
    /// The place of the users of a route.
    pub(super) fn user_of(
        &self,
        route: &written::Route,
        users: &[Users],
        tokens: &[Arc<Token>],
    ) -> Result<Option<usize>, BadConfig> {
        let Some(name) = &route.user else {
            return Ok(None);
        };
        let at = self.place_of("users", name, users.iter().map(|one| &*one.name))?;
        if let Some(token) = self.token_of(route.token.as_ref(), tokens)?
            && let token = std::slice::from_ref(&tokens[token])
            && let of_token = super::trust::identity_fields(token, &[])
            && let Some(twice) = of_token.iter().find(|one| {
                let mut of_users = users[at].fields.iter();
                of_users.any(|field| are_like(field, one))
            })
        {
            let what = format!(
                "`{twice}` is made of the token and of [users.{}], so an upstream would get it \
                 twice: remove one of them",
                name.get_ref()
            );
            return self.bad(name.span(), what);
        }
        match users[at].by == By::Subject && route.token.is_none() {
            true => {
                let what = format!(
                    "[users.{}] are looked up by `sub`, which needs a `token` on this route",
                    name.get_ref()
                );
                self.bad(name.span(), what)
            }
            false => Ok(Some(at)),
        }
    }

    /// The place of users who have a Redis.
    pub(super) fn with_redis(
        &self,
        name: &Spanned<String>,
        users: &[Users],
    ) -> Result<usize, BadConfig> {
        let at = self.place_of("users", name, users.iter().map(|one| &*one.name))?;
        match &users[at].settings.redis {
            Some(_) => Ok(at),
            None => {
                let what = format!(
                    "[users.{}] have no `redis` to share this in",
                    name.get_ref()
                );
                self.bad(name.span(), what)
            }
        }
    }

    pub(super) fn users_of(
        &self,
        name: String,
        written: Spanned<written::Users>,
        before: &[Users],
    ) -> Result<Users, BadConfig> {
        let span = written.span();
        let one = self.users_alone(name, written)?;
        let keys = |users: &Users| {
            let redis = users.settings.redis.as_ref();
            redis.map(|redis| (redis.place.clone(), redis.number, redis.prefix.clone()))
        };
        let are_mixed = |other: &&Users| match (keys(other), keys(&one)) {
            (Some((place, number, theirs)), Some((own_place, own_number, own))) => {
                let begins = theirs.starts_with(&own) || own.starts_with(&theirs);
                begins && (place, number) == (own_place, own_number)
            }
            _ => false,
        };
        if let Some(other) = before.iter().find(are_mixed) {
            let what = format!(
                "the `prefix` in Redis is that of [users.{}], or one begins with the other, so \
                 each would read the other's",
                other.name
            );
            return self.bad(span, what);
        }
        let redis = one.settings.redis.as_ref();
        let stream = redis.and_then(|redis| Some((redis, redis.revocations.as_ref()?)));
        if let Some((redis, stream)) = stream
            && stream.starts_with(&redis.prefix)
        {
            let what = format!(
                "`revocations` is a stream, and a user's key, too, with this `prefix`: a user \
                 could be called `{}`",
                &stream[redis.prefix.len()..]
            );
            return self.bad(span, what);
        }
        Ok(one)
    }

    fn users_alone(
        &self,
        name: String,
        written: Spanned<written::Users>,
    ) -> Result<Users, BadConfig> {
        let span = written.span();
        let written = written.into_inner();
        let redis = written
            .redis
            .map(|redis| self.redis(&name, redis.into_inner()));
        let database = written.database.map(|one| self.database(one.into_inner()));
        if redis.is_none() && database.is_none() {
            let what = "users are looked up in `redis`, in a `database`, or in both, in this order";
            return self.bad(span, what);
        }
        let (mut fields, mut of_users) = (Vec::new(), Vec::new());
        let names = written.fields.iter();
        self.may_be_written(names.map(|(field, of_user)| (&**field, of_user.span())))?;
        for (field, of_user) in &written.fields {
            fields.push(field.to_ascii_lowercase());
            of_users.push(of_user.get_ref().clone());
        }
        Ok(Users {
            by: self.by(written.by.as_ref())?,
            fields,
            settings: users::Settings {
                memory: self.memory(written.memory)?,
                redis: redis.transpose()?,
                database: database.transpose()?,
                numeric: written.numeric,
                fields: of_users,
                breaker: self.breaker(written.breaker)?,
            },
            name,
        })
    }

    fn by(&self, written: Option<&Spanned<String>>) -> Result<By, BadConfig> {
        let Some(written) = written else {
            return Ok(By::Subject);
        };
        let by = match written.get_ref().split_once(':') {
            None if written.get_ref() == "sub" => Some(By::Subject),
            Some(("segment", at)) => at.parse().ok().filter(|at| *at > 0).map(By::Segment),
            Some(("header", name)) if is_token(name) => Some(By::Field(name.to_ascii_lowercase())),
            _ => None,
        };
        match by {
            Some(by) => Ok(by),
            None => {
                let what = "expected \"sub\", \"segment:N\" of the path, or \"header:NAME\"";
                self.bad(written.span(), what)
            }
        }
    }

    fn memory(&self, written: Option<written::Memory>) -> Result<Memory, BadConfig> {
        let default = Memory::default();
        let Some(written) = written else {
            return Ok(default);
        };
        let entries = self.within(
            written.entries.as_ref(),
            0..=ENTRIES_MAX,
            default.entries,
            format!("expected at most {ENTRIES_MAX} users"),
        )?;
        Ok(Memory {
            entries,
            lifetime: or(written.lifetime, default.lifetime),
            unknown: or(written.unknown, default.unknown),
            stale: or(written.stale, default.stale),
        })
    }

    fn redis(&self, of: &str, written: written::Redis) -> Result<Redis, BadConfig> {
        let what = format!("expected between 1 and {LIMIT_MAX}");
        let limit = self.within(written.limit.as_ref(), 1..=LIMIT_MAX, 1024, what)?;
        Ok(Redis {
            place: self.place(&written.address)?,
            number: written.number.unwrap_or(0).into(),
            user: written.user,
            password: self.password(written.password_file.as_ref())?,
            prefix: written.prefix.unwrap_or_else(|| format!("{of}:")),
            lifetime: or(written.lifetime, Duration::from_secs(120)),
            timeout: or(written.timeout, Duration::from_millis(100)),
            limit,
            revocations: written.revocations,
        })
    }

    fn database(&self, written: written::Database) -> Result<Database, BadConfig> {
        let query = written.query.get_ref();
        let bare = without_quotes(query);
        if bare.matches('?').count() != 1 {
            let what = "expected a statement with one `?`, for the name of a user, which isn't in \
                        quotes";
            return self.bad(written.query.span(), what);
        }
        let word = bare.trim_start_matches(|one: char| one == '(' || one.is_whitespace());
        let word = word.split(|one: char| !one.is_ascii_alphabetic()).next();
        let reads = |word: &str| READING.iter().any(|one| one.eq_ignore_ascii_case(word));
        if !word.is_some_and(reads) {
            let what = "expected a statement that finds a user: SELECT, WITH or CALL";
            return self.bad(written.query.span(), what);
        }
        let what = format!("expected between 1 and {CONNECTIONS_MAX} connections");
        let connections =
            self.within(written.connections.as_ref(), 1..=CONNECTIONS_MAX, 16, what)?;
        Ok(Database {
            place: self.place(&written.address)?,
            user: written.user,
            password: self.password(written.password_file.as_ref())?,
            name: written.name,
            query: query.clone(),
            timeout: or(written.timeout, Duration::from_millis(250)),
            connections,
            waiting: written.waiting.unwrap_or(64),
        })
    }

    fn place(&self, written: &Spanned<String>) -> Result<Place, BadConfig> {
        match self.address(written.get_ref(), written.span())? {
            Address::Tcp(address) if address.port() == 0 => {
                let what = "port 0 isn't a port to connect to: write the one that the store \
                            listens on";
                self.bad(written.span(), what)
            }
            Address::Tcp(address) => Ok(Place::Tcp(address)),
            Address::Unix(path) => Ok(Place::Unix(path)),
        }
    }

    /// What a file has, without the end of its line.
    fn password(
        &self,
        file: Option<&Spanned<std::path::PathBuf>>,
    ) -> Result<Option<Password>, BadConfig> {
        let Some(file) = file else {
            return Ok(None);
        };
        let text = self.text_of(file.get_ref(), file.span())?;
        Ok(Some(Password(
            text.trim_end_matches(['\r', '\n']).to_owned(),
        )))
    }

    fn breaker(
        &self,
        written: Option<Spanned<written::Breaker>>,
    ) -> Result<breaker::Settings, BadConfig> {
        let default = breaker::Settings::default();
        let Some(written) = written else {
            return Ok(default);
        };
        let span = written.span();
        let written = written.into_inner();
        let open = or(written.open, default.open);
        let settings = breaker::Settings {
            window: or(written.window, default.window),
            calls_min: written.calls.unwrap_or(default.calls_min),
            failed_share: written.failed.map_or(default.failed_share, |share| share.0),
            open,
            open_max: or(written.open_max, default.open_max.max(open)),
            successes: written.successes.unwrap_or(default.successes),
        };
        let none = settings.calls_min == 0 || settings.successes == 0;
        match none || settings.failed_share <= 0.0 || settings.open_max < settings.open {
            true => {
                let what = "expected `calls`, `failed` and `successes` above zero, and an \
                            `open_max` no shorter than `open`";
                self.bad(span, what)
            }
            false => Ok(settings),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_is_seen_without_its_quotes() {
        let rows = [
            ("SELECT a FROM b WHERE c = ?", "SELECT a FROM b WHERE c = ?"),
            ("a '?' b", "a   b"),
            ("'it''s ?'?", "  ?"),
            (r"'it\'s ?'?", " ?"),
            (r"`a\`?", " ?"),
            ("\"?", " "),
            ("# why?\n? -- é?\n", " ?  "),
            ("/* ? */? - - /", " ? - - /"),
        ];
        for (query, expected) in rows {
            assert_eq!(without_quotes(query), expected, "{query}");
        }
    }
}

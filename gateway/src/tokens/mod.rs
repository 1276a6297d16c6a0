//! Who asks: the token of a request is checked, and what it says becomes fields for the upstream.
//!
//! Checking takes some microseconds of the worker's own time and never waits. Keys that have to be
//! fetched are asked for on the worker's ring before anybody needs them, and what came last stays
//! until something better comes.

mod cache;

use std::sync::Arc;

use measure::time::Time;
use server::Request;
use server::upstream::Exchange;
use token::{KeySet, Refused};

use crate::config::{self, Source};
use cache::Cache;

/// A bad token is remembered for so many seconds: no longer, since it may become good (`nbf`).
const BAD_S: u64 = 10;

/// Of the entries for good tokens, one in so many is added for bad ones. They have a cache of their
/// own, so that nobody pushes good ones out.
const BAD_PART: usize = 8;

/// Who asks, as far as the upstream is told.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Who {
    /// `sub`, for rates.
    pub(crate) subject: Option<String>,
    /// Fields, with values that can be sent.
    pub(crate) fields: Vec<(String, String)>,
    /// Until when that holds, in seconds since 1970.
    until_s: u64,
}

/// Why a request has nobody behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Nobody {
    /// It has no token.
    Absent,
    /// Its token isn't good.
    Refused(Refused),
    /// The token is good, and its user may not.
    Barred,
    /// The keys haven't come yet.
    NoKeys,
}

/// Checks tokens by one table of the configuration.
#[derive(Debug)]
pub(crate) struct Checker {
    rule: Arc<config::Token>,
    /// The keys of files, with those that were fetched.
    keys: Option<KeySet>,
    /// What was fetched last.
    fetched: Option<KeySet>,
    /// When keys are fetched next, and when that was done last.
    pub(crate) due: Time,
    pub(crate) asked: Time,
    /// What is being fetched.
    pub(crate) coming: Option<Coming>,
    /// What was said last of fetched keys that aren't taken.
    said: Option<String>,
    good: Cache<Who>,
    bad: Cache<(Nobody, u64)>,
}

impl Checker {
    /// One that has remembered nothing. What `before` has fetched is still good, if that was from
    /// the same place. With `moved`, servers behind that place are others now: what was fetched
    /// holds until they have been asked, which is due at once.
    pub(crate) fn new(rule: &Arc<config::Token>, before: Option<&Checker>, moved: bool) -> Checker {
        let remote = |checker: &&Checker| {
            let (one, other) = (&checker.rule.remote, &rule.remote);
            let of = |remote: &Option<config::Remote>| {
                remote.clone().map(|one| (one.name, one.path, one.host))
            };
            of(one) == of(other)
        };
        let before = before.filter(remote);
        let fetched = before.and_then(|before| before.fetched.clone());
        let keys = match &fetched {
            Some(fetched) => fetched.clone().and(rule.keys.clone()).ok(),
            None => rule.remote.is_none().then(|| rule.keys.clone()),
        };
        Checker {
            keys,
            fetched,
            due: before
                .filter(|_| !moved)
                .map_or(Time(0), |before| before.due),
            asked: before.map_or(Time(0), |before| before.asked),
            coming: None,
            said: before.and_then(|before| before.said.clone()),
            good: Cache::new(rule.cache),
            bad: Cache::new(rule.cache / BAD_PART),
            rule: Arc::clone(rule),
        }
    }

    /// The table that it checks by.
    pub(crate) fn rule(&self) -> &Arc<config::Token> {
        &self.rule
    }

    /// Whether nobody can be let in yet, since its keys haven't come.
    pub(crate) fn lacks_keys(&self) -> bool {
        self.keys.is_none()
    }

    /// Whether keys have been asked for, and the asking has come to nothing.
    pub(crate) fn was_let_down(&self) -> bool {
        self.lacks_keys() && self.asked != Time(0) && self.coming.is_none()
    }

    /// Keys were fetched. What was found out by others counts no more. A set without any says that
    /// none is good any more. Returns what is to be said of keys that aren't taken, unless that was
    /// said of those before.
    ///
    /// # Errors
    /// They can't be used, and those before stay.
    pub(crate) fn fetched(&mut self, bytes: &[u8]) -> Result<Option<String>, token::BadKey> {
        let (keys, skipped) = KeySet::from_jwks(bytes, false)?;
        self.keys = Some(keys.clone().and(self.rule.keys.clone())?);
        self.fetched = Some(keys);
        self.good.clear();
        self.bad.clear();
        let left_out = config::left_out(&skipped);
        let is_new = left_out != self.said;
        self.said.clone_from(&left_out);
        Ok(left_out.filter(|_| is_new))
    }

    /// Who asks.
    ///
    /// # Errors
    /// Nobody does.
    pub(crate) fn check(&mut self, request: &Request<'_>, now_s: u64) -> Result<Arc<Who>, Nobody> {
        let token = of_request(request, &self.rule.source)?;
        if let Some(who) = self.good.get(token) {
            if now_s < who.until_s {
                return Ok(who);
            }
            self.good.remove(token);
        }
        if let Some(known) = self.bad.get(token)
            && now_s < known.1
        {
            return Err(known.0);
        }
        let Some(keys) = &self.keys else {
            return Err(Nobody::NoKeys);
        };
        let checked = token::verify(token, keys, &self.rule.rules, now_s)
            .map_err(Nobody::Refused)
            .and_then(|claims| who(&self.rule, claims));
        match checked {
            Ok(who) => {
                let who = Arc::new(who);
                self.good.put(token, Arc::clone(&who));
                Ok(who)
            }
            Err(nobody) => {
                self.bad.put(token, Arc::new((nobody, now_s + BAD_S)));
                Err(nobody)
            }
        }
    }
}

/// Keys that are on their way.
#[derive(Debug)]
pub(crate) struct Coming {
    pub(crate) exchange: Exchange,
    pub(crate) since: Time,
    pub(crate) bytes: Vec<u8>,
}

/// What the upstream is told of a good token.
fn who(rule: &config::Token, claims: token::Claims) -> Result<Who, Nobody> {
    let mut fields = Vec::with_capacity(rule.fields.len());
    for (field, claim) in &rule.fields {
        let value = match &**claim {
            "sub" => claims.subject.as_deref(),
            claim => {
                let mut others = claims.others.iter();
                let other = others.find(|(name, _)| name == claim);
                other.map(|(_, value)| value.as_str())
            }
        };
        if let Some(value) = value {
            fields.push((field.clone(), written(value)));
        }
    }
    if let Some(users) = &rule.users {
        let subject = claims.subject.as_deref();
        let user = subject.and_then(|subject| users.get(subject));
        let Some(user) = user.filter(|user| !user.disabled) else {
            return Err(Nobody::Barred);
        };
        let known = user.fields.iter();
        fields.extend(known.map(|(field, value)| (field.clone(), written(value))));
    }
    Ok(Who {
        subject: claims.subject,
        fields,
        // Leeway is for clocks that differ, and holds for what is remembered, too.
        until_s: claims.expires_at.saturating_add(rule.rules.leeway_s),
    })
}

/// A text as the value of a field: what can't stand there, and `%`, is escaped by `%` and two
/// digits, so that it can be told.
pub(crate) fn written(text: &str) -> String {
    let mut value = String::with_capacity(text.len());
    for (at, byte) in text.bytes().enumerate() {
        let at_an_end = at == 0 || at + 1 == text.len();
        match byte {
            b' ' if !at_an_end => value.push(' '),
            b'!'..=b'~' if byte != b'%' => value.push(char::from(byte)),
            byte => value.push_str(&format!("%{byte:02X}")),
        }
    }
    value
}

/// The token of a request: of `Authorization: Bearer` (RFC 6750 §2.1), or of a cookie.
fn of_request<'a>(request: &Request<'a>, source: &Source) -> Result<&'a [u8], Nobody> {
    let named = |name: &'static [u8]| {
        let fields = request.fields();
        fields.filter(move |(found, _)| found.eq_ignore_ascii_case(name))
    };
    let token = match source {
        Source::Bearer => {
            let mut all = named(b"authorization");
            let Some((_, value)) = all.next() else {
                return Err(Nobody::Absent);
            };
            if all.next().is_some() {
                // Who stands behind this reads either of them.
                return Err(Nobody::Refused(Refused::Malformed));
            }
            let (scheme, token) = value.split_at_checked(7).ok_or(Nobody::Absent)?;
            if !scheme.eq_ignore_ascii_case(b"bearer ") {
                return Err(Nobody::Absent);
            }
            token.trim_ascii()
        }
        Source::Cookie(wanted) => {
            let pairs = named(b"cookie").flat_map(|(_, value)| value.split(|byte| *byte == b';'));
            let mut found = pairs.filter_map(|pair| {
                let pair = pair.trim_ascii();
                let value = pair.strip_prefix(wanted.as_bytes())?;
                value.strip_prefix(b"=")
            });
            let token = found.next().ok_or(Nobody::Absent)?;
            if found.next().is_some() {
                return Err(Nobody::Refused(Refused::Malformed));
            }
            token
        }
    };
    match token.is_empty() {
        true => Err(Nobody::Absent),
        false => Ok(token),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_token_says_can_be_sent_and_read_back() {
        let rows = [
            ("alice", "alice"),
            ("a b", "a b"),
            (" a ", "%20a%20"),
            ("100%", "100%25"),
            ("a\r\nx-admin: 1", "a%0D%0Ax-admin: 1"),
            ("é", "%C3%A9"),
            ("", ""),
        ];
        for (text, expected) in rows {
            assert_eq!(written(text), expected, "{text:?}");
        }
    }
}

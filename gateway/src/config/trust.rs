//! What a file says about tokens: keys out of other files, who may, and what upstreams are told.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use measure::words;
use server::upstream;
use token::{BadKey, Key, KeySet, Rules};
use toml::Spanned;

use super::document::{BadConfig, Document};
use super::judge::{Judge, is_token};
use super::{Remote, Source, Token, Upstream, User, Users, written};
use crate::alike::{is_like, is_reserved};

/// The most tokens that a worker remembers: what they take is memory that nobody else may have.
const CACHE_MAX: usize = 10_000_000;

/// The longest leeway: a clock that is further off is broken.
const LEEWAY_MAX: Duration = Duration::from_secs(3600);

/// So many of the keys that aren't taken are named.
const LEFT_OUT_MAX: usize = 3;

/// Fields that only the gateway writes.
pub(super) fn identity_fields(tokens: &[Arc<Token>], stores: &[Users]) -> Vec<String> {
    let of_claims = tokens.iter().flat_map(|token| &token.fields);
    let users = tokens.iter().filter_map(|token| token.users.as_ref());
    let of_users = users
        .flat_map(HashMap::values)
        .flat_map(|user| &user.fields);
    let mut names: Vec<String> = of_claims
        .chain(of_users)
        .map(|(name, _)| name.clone())
        .chain(stores.iter().flat_map(|users| users.fields.clone()))
        .collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// Whether a server could take one field for the other.
pub(super) fn are_like(one: &str, other: &str) -> bool {
    is_like(one.as_bytes(), other.as_bytes())
}

/// What is said of keys of a set that aren't taken: whoever shows a private one has to hear of it.
pub(crate) fn left_out(skipped: &[BadKey]) -> Option<String> {
    let first: Vec<String> = skipped
        .iter()
        .take(LEFT_OUT_MAX)
        .map(BadKey::to_string)
        .collect();
    let more = match skipped.len().saturating_sub(LEFT_OUT_MAX) {
        0 => String::new(),
        more => format!("; and {more} more"),
    };
    (!first.is_empty()).then(|| format!("not taken: {}{more}", first.join("; ")))
}

impl Judge<'_> {
    pub(super) fn token_of(
        &self,
        written: Option<&Spanned<String>>,
        tokens: &[Arc<Token>],
    ) -> Result<Option<usize>, BadConfig> {
        let names = tokens.iter().map(|token| &*token.name);
        let place = written.map(|name| self.place_of("token", name, names));
        place.transpose()
    }

    pub(super) fn token(
        &self,
        name: String,
        written: Spanned<written::Token>,
        upstreams: &[Upstream],
    ) -> Result<Token, BadConfig> {
        let span = written.span();
        let written = written.into_inner();
        let (keys, left_out) = self.keys(&written)?;
        let remote = match &written.remote {
            Some(remote) => Some(self.remote(remote, upstreams)?),
            None => None,
        };
        if keys.keys().is_empty() && remote.is_none() {
            let what = "a token needs `keys`, a file of `jwks`, or `remote` keys";
            return self.bad(span, what);
        }
        let source = self.source(&written)?;
        let names = written.fields.iter();
        self.may_be_written(names.map(|(field, claim)| (&**field, claim.span())))?;
        let names = written.fields.iter();
        let fields: Vec<(String, String)> = names
            .map(|(field, claim)| (field.to_ascii_lowercase(), claim.get_ref().clone()))
            .collect();
        let users = self.users(&written)?;
        let of_users = users.iter().flat_map(HashMap::values);
        let mut names = of_users.flat_map(|user| &user.fields).map(|(name, _)| name);
        if let Some(twice) =
            names.find(|name| fields.iter().any(|(field, _)| are_like(field, name)))
        {
            let what = format!(
                "`{twice}` is made of a claim and of a user, so an upstream would get it twice: \
                 remove one of them"
            );
            return self.bad(span, what);
        }
        let others = fields.iter().map(|(_, claim)| claim.clone());
        let leeway_s = self.leeway(written.leeway.as_ref())?;
        let default = Rules::default();
        let rules = Rules {
            typ: self.typ(written.typ.as_ref())?,
            issuer: written.issuer.clone(),
            audiences: written.audiences.clone(),
            leeway_s,
            without_expiry: written.without_expiry,
            bytes_max: (written.size).map_or(default.bytes_max, |size| size.0 as usize),
            claims: others.filter(|claim| claim != "sub").collect(),
        };
        let what = format!("expected at most {CACHE_MAX} tokens");
        let cache = self.within(written.cache.as_ref(), 0..=CACHE_MAX, 10_000, what)?;
        Ok(Token {
            users,
            name,
            keys,
            left_out,
            remote,
            rules,
            source,
            fields,
            cache,
            pass_on: written.pass_on.unwrap_or(true),
        })
    }

    fn source(&self, written: &written::Token) -> Result<Source, BadConfig> {
        match &written.cookie {
            Some(cookie) if !is_token(cookie.get_ref()) => {
                self.bad(cookie.span(), "this isn't the name of a cookie")
            }
            Some(cookie) if written.pass_on == Some(false) => {
                let what = "`pass_on = false` takes the field of a bearer token out, and leaves \
                            cookies as they are: remove it, or take the token from `Authorization`";
                self.bad(cookie.span(), what)
            }
            Some(cookie) => Ok(Source::Cookie(cookie.get_ref().clone())),
            None => Ok(Source::Bearer),
        }
    }

    /// A media type, with or without what stands before its slash (RFC 6838 §4.2).
    fn typ(&self, written: Option<&Spanned<String>>) -> Result<Option<String>, BadConfig> {
        let Some(written) = written else {
            return Ok(None);
        };
        let usual = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.+!#$&^".contains(&byte);
        let is_name = |name: &str| !name.is_empty() && name.bytes().all(usual);
        let typ = written.get_ref();
        match typ.splitn(2, '/').all(is_name) {
            true => Ok(Some(typ.clone())),
            false => self.bad(written.span(), "expected a media type, such as \"at+jwt\""),
        }
    }

    fn leeway(&self, written: Option<&Spanned<String>>) -> Result<u64, BadConfig> {
        let Some(written) = written else {
            return Ok(0);
        };
        match words::duration(written.get_ref()) {
            Ok(leeway) if leeway <= LEEWAY_MAX => Ok(leeway.as_secs()),
            Ok(_) => self.bad(written.span(), "expected at most an hour"),
            Err(wrong) => self.bad(written.span(), wrong),
        }
    }

    /// Whether fields of one table can be such that upstreams believe.
    pub(super) fn may_be_written<'a>(
        &self,
        fields: impl Iterator<Item = (&'a str, Range<usize>)>,
    ) -> Result<(), BadConfig> {
        let mut before: Vec<&str> = Vec::new();
        for (name, span) in fields {
            let question = upstream::Request::new("GET", "/", "h").with_field(name, "x");
            if !is_token(name) || is_reserved(name.as_bytes()) || question.check().is_err() {
                let what = format!(
                    "`{name}` can't be a field of the gateway, which writes or reads it itself, or \
                     it's none: take a name of your own, such as `x-user`"
                );
                return self.bad(span, what);
            }
            if let Some(same) = before.iter().find(|same| are_like(same, name)) {
                let what = format!(
                    "servers may take `{name}` for `{same}`, so this field would be there twice: \
                     remove one of them"
                );
                return self.bad(span, what);
            }
            before.push(name);
        }
        Ok(())
    }

    /// The keys of files, and what is to be said of those that aren't taken.
    fn keys(&self, written: &written::Token) -> Result<(KeySet, Option<String>), BadConfig> {
        let mut keys = Vec::with_capacity(written.keys.len());
        for one in &written.keys {
            let (span, key) = (one.span(), one.get_ref());
            let id = key.id.clone();
            let made = match (&key.pem, &key.file, &key.secret_file) {
                (Some(pem), None, None) => Key::from_pem(id, pem),
                (None, Some(file), None) => {
                    let pem = self.text_of(file, span.clone())?;
                    Key::from_pem(id, &pem)
                }
                (None, None, Some(file)) => {
                    let secret = self.text_of(file, span.clone())?;
                    Key::secret(id, secret.trim_end_matches(['\r', '\n']).as_bytes())
                }
                _ => {
                    let what = "a key has one of `pem`, `file` (both public) and `secret_file`";
                    return self.bad(span, what);
                }
            };
            match made {
                Ok(key) => keys.push(key),
                Err(wrong) => return self.bad(span, wrong.to_string()),
            }
        }
        let span = written.keys.first().map_or(0..0, Spanned::span);
        let keys = KeySet::new(keys).or_else(|wrong| self.bad(span, wrong.to_string()))?;
        let Some(file) = &written.jwks else {
            return Ok((keys, None));
        };
        let text = self.text_of(file.get_ref(), file.span())?;
        let shown = self.document.place_of(file.get_ref());
        let shown = shown.display();
        let all = KeySet::from_jwks(text.as_bytes(), true);
        let all = all.and_then(|(of_file, skipped)| {
            let said = left_out(&skipped).map(|what| format!("{shown}: {what}"));
            Ok((of_file.and(keys)?, said))
        });
        all.or_else(|wrong| self.bad(file.span(), format!("{shown}: {wrong}")))
    }

    /// What stands in a file that this one names.
    pub(super) fn text_of(&self, path: &Path, span: Range<usize>) -> Result<String, BadConfig> {
        let path = self.document.place_of(path);
        let read = fs::read_to_string(&path);
        read.or_else(|why| self.bad(span, format!("{} can't be read: {why}", path.display())))
    }

    fn remote(
        &self,
        written: &written::Remote,
        upstreams: &[Upstream],
    ) -> Result<Remote, BadConfig> {
        let upstream = self.named(&written.upstream, upstreams)?;
        let name = written.upstream.get_ref().clone();
        let host = written.host.clone().unwrap_or_else(|| name.clone());
        let path = written.path.get_ref();
        if let Err(wrong) = upstream::Request::new("GET", path, &host).check() {
            let what = format!("keys can't be asked for like this: {wrong}");
            return self.bad(written.path.span(), what);
        }
        let refresh = written
            .refresh
            .map_or(Duration::from_secs(300), |one| one.0);
        Ok(Remote {
            upstream,
            name,
            path: path.clone(),
            host,
            refresh,
        })
    }

    fn users(&self, written: &written::Token) -> Result<Option<HashMap<String, User>>, BadConfig> {
        match (&written.users, &written.users_file) {
            (None, None) => Ok(None),
            (Some(users), None) => self.all_of(users).map(Some),
            (None, Some(file)) => {
                let document = Document::read(&self.document.place_of(file.get_ref()))?;
                let users: BTreeMap<String, Spanned<written::User>> = document.parse()?;
                let of_file = Judge {
                    document: &document,
                };
                of_file.all_of(&users).map(Some)
            }
            (Some(_), Some(file)) => self.bad(
                file.span(),
                "a token has `users` or a `users_file`, not both",
            ),
        }
    }

    fn all_of(
        &self,
        users: &BTreeMap<String, Spanned<written::User>>,
    ) -> Result<HashMap<String, User>, BadConfig> {
        let mut all = HashMap::with_capacity(users.len());
        for (name, written) in users {
            let (span, written) = (written.span(), written.get_ref());
            let names = written.fields.keys();
            self.may_be_written(names.map(|field| (&**field, span.clone())))?;
            let fields = written.fields.iter();
            let fields = fields
                .map(|(field, value)| (field.to_ascii_lowercase(), value.clone()))
                .collect();
            let disabled = written.disabled;
            all.insert(name.clone(), User { disabled, fields });
        }
        Ok(all)
    }
}

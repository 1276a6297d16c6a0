//! What is a secret in a plan, and what stands in its place wherever a plan is written or printed:
//! a short keyed hash, `redacted:ab12cd34`, by which two values can be told to be equal, and not
//! what they are.
//!
//! A [`Plan`](crate::Plan) keeps the values that it sends, and cannot be serialised; what a record
//! holds is its [`Recorded`](crate::Recorded) form, which only a [`Redaction`] makes. Besides
//! that, a redaction knows the secrets that it has seen, so that texts which may quote them (a
//! server that echoes, a message about a file) can be cleaned of them by [`Redaction::scrub`].

mod guess;
mod key;
mod scrub;

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

pub(crate) use guess::is_scheme;
pub use guess::{guessed, guessed_url};
pub use key::KEY_FILE;

use self::key::Key;

/// Headers, metadata and query parameters whose values are secrets without being named, in lower
/// case and with `_` for `-`.
const ALWAYS: [&str; 8] = [
    "authorization",
    "proxy_authorization",
    "cookie",
    "set_cookie",
    "auth",
    "jwt",
    "sig",
    "x_amz_credential",
];
/// The same of names that are also words of other things: texts are not searched for them.
const ALWAYS_AS_NAMES: [&str; 6] = ["code", "key", "pwd", "session", "sessionid", "sid"];
/// Whatever ends so is one, too: `X-Vault-Token`, `client_secret`.
const ENDINGS: [&str; 11] = [
    "token",
    "api_key",
    "apikey",
    "access_key",
    "private_key",
    "secret",
    "password",
    "passwd",
    "passphrase",
    "session_id",
    "signature",
];

/// So begins what stands in the place of a secret.
const MARK: &str = "redacted:";
/// Digits of its hash.
const HASH_DIGITS: usize = 8;

/// What to hide, and the key of the hashes that stand in its place. Clones share the key and the
/// secrets that were seen.
#[derive(Clone, Default)]
pub struct Redaction {
    names: Arc<BTreeSet<String>>,
    bodies: bool,
    key: Arc<OnceLock<Key>>,
    seen: Arc<Mutex<BTreeSet<String>>>,
}

impl fmt::Debug for Redaction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Redaction");
        shown.field("names", &self.names).finish_non_exhaustive()
    }
}

/// How a plan is shown is no part of what it does.
impl PartialEq for Redaction {
    fn eq(&self, _: &Redaction) -> bool {
        true
    }
}

impl Eq for Redaction {}

impl Redaction {
    /// With the user's own key, so that the records of two runs can be compared; with a key of this
    /// process alone where the user has no place for one.
    pub fn of_user() -> Redaction {
        let redaction = Redaction::default();
        if let Some(key) = Key::of_user() {
            let _ = redaction.key.set(key);
        }
        redaction
    }

    /// Uses the key that is kept in `folder`, and makes one where there is none. Without effect if
    /// a key is in use already, as inside a folder whose parent has one.
    ///
    /// # Errors
    /// A sentence: the key cannot be written, or others could have read it.
    pub fn keep_key_in(&self, folder: &Path) -> Result<(), String> {
        if self.key.get().is_some() {
            return Ok(());
        }
        let key = Key::in_folder(folder).map_err(|error: io::Error| {
            let path = folder.join(KEY_FILE);
            format!("{}: {error}", path.display())
        })?;
        let _ = self.key.set(key);
        Ok(())
    }

    /// Whether a key is in use.
    pub fn has_key(&self) -> bool {
        self.key.get().is_some()
    }

    /// Hides the values of these headers, metadata and query parameters, too.
    #[must_use]
    pub fn naming<S: AsRef<str>>(mut self, names: impl IntoIterator<Item = S>) -> Redaction {
        let names = names.into_iter().map(|name| name.as_ref().to_lowercase());
        Arc::make_mut(&mut self.names).extend(names);
        self
    }

    /// What it hides besides what is always hidden.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.names.iter().map(String::as_str)
    }

    /// Shows bodies and messages as they are, if `shown`.
    #[must_use]
    pub fn showing_bodies(mut self, shown: bool) -> Redaction {
        self.bodies |= shown;
        self
    }

    /// The value of a header or parameter as it may be shown.
    pub fn value(&self, name: &str, value: &str) -> String {
        if !self.is_secret(name) || value.is_empty() || is_hidden(value) {
            return value.to_owned();
        }
        self.hide(value)
    }

    /// A path with its query as it may be shown.
    pub fn path(&self, path: &str) -> String {
        let Some((path, query)) = path.split_once('?') else {
            return path.to_owned();
        };
        let parameters = query.split('&').map(|parameter| {
            let Some((name, value)) = parameter.split_once('=') else {
                return parameter.to_owned();
            };
            format!("{name}={}", self.value(name, value))
        });
        format!("{path}?{}", parameters.collect::<Vec<_>>().join("&"))
    }

    /// A body or message as it may be shown: by length and hash, unless bodies may be seen.
    pub fn body(&self, body: &[u8]) -> Vec<u8> {
        match self.bodies || body.is_empty() || is_hidden_body(body) {
            true => body.to_vec(),
            false => self.hidden_body(body).into_bytes(),
        }
    }

    /// Whether bodies and messages may be seen.
    pub fn shows_bodies(&self) -> bool {
        self.bodies
    }

    /// What stands in the place of a body or message.
    pub fn hidden_body(&self, body: &[u8]) -> String {
        format!("{}, {} bytes", self.mark(body), body.len())
    }

    /// What stands in the place of something that isn't told, so that two of it can be compared.
    pub fn mark(&self, bytes: &[u8]) -> String {
        let hash = &self.fingerprint(bytes)[..HASH_DIGITS];
        format!("{MARK}{hash}")
    }

    /// The whole keyed hash of `bytes`, which tells whether they have changed.
    pub fn fingerprint(&self, bytes: &[u8]) -> String {
        self.key.get_or_init(Key::random).hash(bytes)
    }

    /// Remembers the secrets among these headers and in this path, for [`Redaction::scrub`].
    pub fn learn<'a>(&self, fields: impl IntoIterator<Item = (&'a str, &'a str)>, path: &'a str) {
        let query = path.split_once('?').map_or("", |(_, query)| query);
        let parameters = query
            .split('&')
            .filter_map(|parameter| parameter.split_once('='));
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        for (name, value) in fields.into_iter().chain(parameters) {
            // A template is none, and messages name it.
            if self.is_secret(name) && !is_hidden(value) && !value.contains("{{") {
                scrub::learn(&mut seen, value);
            }
        }
    }

    /// Remembers a value that is a secret by itself, for [`Redaction::scrub`].
    pub fn learn_secret(&self, value: &str) {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        scrub::learn(&mut seen, value);
    }

    /// Remembers what another one has seen.
    pub fn learn_from(&self, other: &Redaction) {
        if Arc::ptr_eq(&self.seen, &other.seen) {
            return;
        }
        let learned = other.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let learned = learned.clone();
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.extend(learned);
    }

    /// Remembers the secrets in a word of a command, which are known by the names before them, for
    /// [`Redaction::scrub`].
    pub fn learn_word(&self, word: &str) {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        for (start, end) in guess::named(word, &self.names) {
            let value = &word[start..end];
            // A URL's user has a password behind a colon.
            let password = value.split_once(':').map(|(_, password)| password);
            for value in [value].into_iter().chain(password) {
                if !is_hidden(value) {
                    scrub::learn(&mut seen, value);
                }
            }
        }
    }

    /// A word of a command as it may be shown.
    pub fn word<'t>(&self, word: &'t str) -> Cow<'t, str> {
        let hide = |value: &str| match is_hidden(value) {
            true => value.to_owned(),
            false => self.hide(value),
        };
        guess::replaced(word, guess::named(word, &self.names), hide)
    }

    /// The words of a command as they may be shown. Besides what [`Redaction::word`] hides, a value
    /// may be the word behind its name (`--token abc`), and what follows `Bearer` is one.
    pub fn words(&self, words: &[String]) -> Vec<String> {
        let all = words.iter().zip(self.are_values(words));
        let shown = all.map(|(word, is_value)| match is_value && !is_hidden(word) {
            true => self.hide(word),
            false => match self.value_in(word) {
                Some(at) => format!("{}{}", &word[..at], self.hide(&word[at..])),
                None => self.word(word).into_owned(),
            },
        });
        shown.collect()
    }

    /// Remembers the secrets among the words of a command, for [`Redaction::scrub`].
    pub fn learn_words(&self, words: &[String]) {
        for (word, is_value) in words.iter().zip(self.are_values(words)) {
            match self.value_in(word) {
                _ if is_value && !is_hidden(word) => self.learn_secret(word),
                Some(at) => self.learn_secret(&word[at..]),
                None => self.learn_word(word),
            }
        }
    }

    /// Where a secret begins that is the rest of a word: behind its name (`--token=`), or as a
    /// token by itself (`Bearer TOKEN`, RFC 6750 §2.1).
    fn value_in(&self, word: &str) -> Option<usize> {
        let (name, value) = match word.trim_start().split_once(' ') {
            Some((scheme, token)) if scheme.eq_ignore_ascii_case("bearer") => ("token", token),
            _ => word.trim_start_matches('-').split_once(['=', ':'])?,
        };
        let value = value.trim_start();
        let is_secret = self.is_secret(name) && !value.is_empty() && !is_hidden(value);
        is_secret.then(|| word.len() - value.len())
    }

    /// Which of the words stand behind the name of a secret.
    fn are_values(&self, words: &[String]) -> Vec<bool> {
        let names = |word: &String| {
            let name = word.trim_start_matches('-');
            word.eq_ignore_ascii_case("bearer")
                || name.len() < word.len() && self.is_secret(name.trim_end_matches(':'))
        };
        let behind = words.iter().map(names);
        let behind = std::iter::once(false).chain(behind);
        let all = behind.zip(words);
        // Another option is no value.
        all.map(|(behind, word)| behind && !word.is_empty() && !word.starts_with("--"))
            .collect()
    }

    /// A text without the secrets that this has seen. Of JSON only whole sentences are looked at,
    /// so that no key and no word of a schema is taken for a secret.
    pub fn scrub<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        scrub::scrub(text, &seen, |secret| self.hide(secret))
    }

    /// Whether values of this name are secrets. A parameter's name may be percent-encoded (RFC 3986
    /// §2.1), and the name of binary metadata ends in `-bin`.
    pub fn is_secret(&self, name: &str) -> bool {
        let name = decoded(name.trim()).to_lowercase();
        let plain = name.strip_suffix("-bin").unwrap_or(&name).replace('-', "_");
        self.names.contains(&name)
            || ALWAYS.contains(&&*plain)
            || ALWAYS_AS_NAMES.contains(&&*plain)
            || ENDINGS.iter().any(|ending| plain.ends_with(ending))
    }

    /// Whether a text has the name of a secret in it, as a word: `{{password}}`, `token = x`.
    /// Names that are words of other things as well don't count.
    pub fn names_secret(&self, text: &str) -> bool {
        let is_of_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
        text.split(|c| !is_of_word(c)).any(|word| {
            let word = word.to_lowercase();
            let plain = word.replace('-', "_");
            self.names.contains(&word)
                || ALWAYS.contains(&&*plain)
                || ENDINGS.iter().any(|ending| plain.ends_with(ending))
        })
    }

    fn hide(&self, secret: &str) -> String {
        self.mark(secret.as_bytes())
    }
}

/// A name without percent-encoding; what is no encoding stays.
fn decoded(name: &str) -> Cow<'_, str> {
    if !name.contains('%') {
        return Cow::Borrowed(name);
    }
    let mut bytes = Vec::with_capacity(name.len());
    let mut rest = name.as_bytes();
    while let Some((first, behind)) = rest.split_first() {
        let digits = behind.get(..2).filter(|_| *first == b'%');
        let digits = digits.and_then(|digits| std::str::from_utf8(digits).ok());
        let byte = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        bytes.push(byte.unwrap_or(*first));
        rest = if byte.is_some() { &behind[2..] } else { behind };
    }
    Cow::Owned(String::from_utf8_lossy(&bytes).into_owned())
}

/// Whether it stands in the place of a secret already.
fn is_hidden(value: &str) -> bool {
    let hash = value.strip_prefix(MARK);
    hash.is_some_and(|hash| hash.len() == HASH_DIGITS && is_hash(hash))
}

/// The same of a body.
pub(crate) fn is_hidden_body(body: &[u8]) -> bool {
    let text = std::str::from_utf8(body).ok();
    let parts = text.and_then(|text| text.strip_suffix(" bytes")?.split_once(", "));
    parts.is_some_and(|(hidden, length)| is_hidden(hidden) && length.parse::<u64>().is_ok())
}

fn is_hash(text: &str) -> bool {
    text.bytes()
        .all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
}

/// A text with nothing in the place of hashes: equal ones may hide different secrets, if their keys
/// are different ones.
pub fn without_hashes(text: &str) -> String {
    let mut parts = text.split(MARK);
    let mut without = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        without.push_str(MARK);
        let hash = part.get(..HASH_DIGITS).filter(|hash| is_hash(hash));
        without.push_str(&part[hash.map_or(0, str::len)..]);
    }
    without
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_secrets_have_equal_hashes_under_one_key_only() {
        let (one, other) = (Redaction::default(), Redaction::default());
        let hidden = one.value("Authorization", "Bearer abc");
        assert!(is_hidden(&hidden), "{hidden}");
        assert_eq!(hidden, one.clone().value("authorization", "Bearer abc"));
        assert_ne!(hidden, one.value("authorization", "Bearer abd"));
        assert_ne!(hidden, other.value("authorization", "Bearer abc"));
        // What is hidden is not hidden again, so that a record that was read is shown as it is.
        assert_eq!(one.value("authorization", &hidden), hidden);
    }

    #[test]
    fn names_are_those_that_are_always_secret_and_those_that_were_given() {
        let redaction = Redaction::default().naming(["X-Tenant", "code"]);
        for name in [
            "Cookie",
            "x-api-key",
            "Proxy-Authorization",
            "x-tenant",
            "CODE",
            "x-t%65nant",
            "to%6ben",
            "id_token",
            "X-Vault-Token",
            "authorization-bin",
            "passwd",
            "jwt",
        ] {
            assert!(is_hidden(&redaction.value(name, "value")), "{name}");
        }
        for name in ["Accept", "X-Tenants", "keyboard", "tokens", "%", "%zz"] {
            assert_eq!(redaction.value(name, "value"), "value");
        }
        let path = redaction.path("/a?b=1&token=xyz&code=9&token&d=");
        let hash = |value: &str| redaction.value("token", value);
        let (token, code) = (hash("xyz"), hash("9"));
        assert_eq!(path, format!("/a?b=1&token={token}&code={code}&token&d="));
        assert_eq!(redaction.path("/token=1"), "/token=1");
    }

    #[test]
    fn bodies_are_told_by_length_and_hash_unless_they_may_be_seen() {
        let redaction = Redaction::default();
        let hidden = redaction.body(b"a secret");
        let text = String::from_utf8(hidden.clone()).unwrap();
        assert!(
            text.starts_with(MARK) && text.ends_with(", 8 bytes"),
            "{text}"
        );
        assert_eq!(redaction.body(&hidden), hidden);
        assert_eq!(redaction.body(b""), b"");
        assert_eq!(redaction.showing_bodies(true).body(b"seen"), b"seen");
    }

    #[test]
    fn hidden_values_are_alike_without_their_hashes() {
        let [one, other] = [(); 2].map(|()| Redaction::default().path("/?token=a&b=c"));
        assert_ne!(one, other);
        assert_eq!(without_hashes(&one), "/?token=redacted:&b=c");
        assert_eq!(without_hashes(&one), without_hashes(&other));
        assert_eq!(
            without_hashes("redacted:é redacted:"),
            "redacted:é redacted:"
        );
    }

    #[test]
    fn secrets_in_a_command_are_hidden_and_known_again_elsewhere() {
        let redaction = Redaction::default().naming(["X-Tenant"]);
        let table = [
            ("Authorization: Bearer canary-1", "Authorization: #"),
            (
                "wrk -H 'Cookie: a=canary-2' -H \"x-tenant: canary-3\" {url} # Accept: text/html",
                "wrk -H 'Cookie: #' -H \"x-tenant: #\" {url} # Accept: text/html",
            ),
            (
                "http://me:canary-4@h/?a=b&token=canary-5",
                "http://#@h/?a=b&token=#",
            ),
            ("--api-key=short", "--api-key=#"),
            ("-d{window_s}s", "-d{window_s}s"),
        ];
        for (word, expected) in table {
            redaction.learn_word(word);
            let shown = redaction.word(word);
            let parts = shown.split(MARK);
            let plain: Vec<&str> = parts
                .enumerate()
                .map(|(at, part)| &part[8 * at.min(1)..])
                .collect();
            assert_eq!(plain.join("#"), expected, "{word}");
            // What is hidden is not hidden again.
            assert_eq!(redaction.word(&shown), shown);
        }
        for number in 1..=5 {
            let scrubbed = redaction
                .scrub(&format!("it printed canary-{number}."))
                .into_owned();
            assert!(!scrubbed.contains("canary"), "{scrubbed}");
        }
        assert_eq!(redaction.scrub("text/html"), "text/html");
    }

    #[test]
    fn nothing_of_it_is_in_its_debug_form() {
        let redaction = Redaction::default();
        redaction.learn([("cookie", "session=canary-of-debug")], "/");
        let text = format!("{redaction:?}");
        assert!(!text.contains("canary"), "{text}");
    }
}

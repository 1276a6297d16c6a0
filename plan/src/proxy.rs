//! The HTTP proxy that connections go through, where there is one.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::invalid::Invalid;
use crate::redaction::Redaction;
use crate::target::{Target, split_port, unlike_a_host};

/// A proxy that is spoken to in plain HTTP/1.1: requests to `http://` go to it in absolute form
/// (RFC 9112 §3.2.2), and everything else goes through a tunnel (RFC 9110 §9.3.6).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct Proxy {
    /// Name or address, without brackets.
    pub host: String,
    /// Port.
    pub port: u16,
    /// The value of `Proxy-Authorization` (RFC 9110 §11.7.2), or `redacted:HASH`; null: it isn't
    /// sent.
    pub authorization: Option<String>,
}

/// The field that says who asks.
const AUTHORIZATION: &str = "Proxy-Authorization";

impl Proxy {
    /// Reads `[http://][USER[:PASSWORD]@]HOST:PORT[/]`, and has `redaction` know the password. A
    /// user and a password may be percent-encoded (RFC 3986 §3.2.1).
    ///
    /// # Errors
    /// What is wrong, without quoting what may be a secret.
    pub fn parse(text: &str, redaction: &Redaction) -> Result<Proxy, Invalid> {
        let (scheme, rest) = text.split_once("://").unwrap_or(("http", text));
        let rest = rest.strip_suffix('/').unwrap_or(rest);
        // A password may have the character, however wrong that is.
        let (user, place) = match rest.rsplit_once('@') {
            Some((user, place)) => (Some(user), place),
            None => (None, rest),
        };
        // Whatever is wrong, it may be told only without the password.
        let authorization = user.map(|user| basic(user, redaction));
        if !scheme.eq_ignore_ascii_case("http") {
            let scheme = match scheme.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
                true => format!(", not {}://", scheme.to_ascii_lowercase()),
                false => String::new(),
            };
            return Err(Invalid(format!(
                "--proxy: ringside speaks plain HTTP to proxies{scheme}; {FORM}"
            )));
        }
        let bad = |why: &str| Invalid(format!("--proxy: {why}; {FORM}"));
        let (host, port) = split_port(place).map_err(bad)?;
        if host.is_empty() {
            return Err(bad("the host is missing"));
        }
        if let Some(what) = unlike_a_host(host, port) {
            return Err(bad(&what));
        }
        let port = port.ok_or_else(|| bad("the port is missing"))?;
        let proxy = Proxy {
            host: host.to_owned(),
            port,
            authorization: authorization.transpose()?,
        };
        proxy.tell_secrets(redaction);
        Ok(proxy)
    }

    /// It without its secrets.
    pub(crate) fn shown(&self, redaction: &Redaction) -> Proxy {
        let Proxy {
            host,
            port,
            authorization,
        } = self;
        let shown = |value: &String| redaction.value(AUTHORIZATION, value);
        Proxy {
            host: host.clone(),
            port: *port,
            authorization: authorization.as_ref().map(shown),
        }
    }

    /// Has `redaction` know what it sends.
    pub fn tell_secrets(&self, redaction: &Redaction) {
        let field = self.authorization.as_deref();
        redaction.learn(field.map(|value| (AUTHORIZATION, value)), "");
    }

    /// The field that says who asks, for a request that has these and not that one.
    pub fn field_beside(&self, headers: &[(String, String)]) -> Option<(&'static str, &str)> {
        let given = |(name, _): &(String, String)| name.eq_ignore_ascii_case(AUTHORIZATION);
        let value = self.authorization.as_deref()?;
        (!headers.iter().any(given)).then_some((AUTHORIZATION, value))
    }

    /// Where it is, as it may be shown: `HOST:PORT`.
    pub fn place(&self) -> String {
        host_port(&self.host, self.port)
    }

    /// Checks that it can be connected to, and goes together with a target.
    pub(crate) fn validate(&self, target: &Target) -> Result<(), Invalid> {
        let other = [
            (target.unix_socket.is_some(), "--unix-socket"),
            (target.connect_to.is_some(), "--connect-to"),
        ];
        if let Some((_, flag)) = other.iter().find(|(given, _)| *given) {
            return Err(Invalid(format!(
                "--proxy and {flag} contradict each other, because the proxy connects to the \
                 target: give only one of them"
            )));
        }
        match unlike_a_host(&self.host, Some(self.port)) {
            Some(what) => Err(Invalid(format!("--proxy: {what}"))),
            None => Ok(()),
        }
    }
}

const FORM: &str = "write http://[USER:PASSWORD@]HOST:PORT";

/// `HOST:PORT`, with brackets where there must be (RFC 3986 §3.2.2).
pub(crate) fn host_port(host: &str, port: u16) -> String {
    match host.contains(':') {
        true => format!("[{host}]:{port}"),
        false => format!("{host}:{port}"),
    }
}

/// Basic authentication (RFC 7617) for `USER[:PASSWORD]`, whose password `redaction` learns.
fn basic(user: &str, redaction: &Redaction) -> Result<String, Invalid> {
    let (name, password) = user.split_once(':').unwrap_or((user, ""));
    redaction.learn_secret(password);
    let [name, password] = [name, password].map(decoded);
    redaction.learn_secret(&String::from_utf8_lossy(&password));
    let who = [name.as_slice(), b":", &password].concat();
    if name.contains(&b':') || who.iter().any(u8::is_ascii_control) {
        return Err(Invalid(
            "--proxy: the user's name can't have a colon, and neither it nor the password can have \
             control characters (RFC 7617 §2): remove them"
                .into(),
        ));
    }
    Ok(format!("Basic {}", STANDARD.encode(who)))
}

/// A text without percent-encoding; what is no encoding stays.
fn decoded(text: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, behind)) = rest.split_first() {
        let digits = behind.get(..2).filter(|_| *first == b'%');
        let digits = digits.filter(|digits| digits.iter().all(u8::is_ascii_hexdigit));
        let digits = digits.and_then(|digits| std::str::from_utf8(digits).ok());
        let byte = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        bytes.push(byte.unwrap_or(*first));
        rest = if byte.is_some() { &behind[2..] } else { behind };
    }
    bytes
}

/// A proxy that may not be there, as plans are written: serde makes functions of it alone, so that
/// no secret is written by mistake.
pub(crate) mod option {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::Proxy;

    struct Lent<'a>(&'a Proxy);

    impl Serialize for Lent<'_> {
        fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
            Proxy::serialize(self.0, to)
        }
    }

    struct Owned(Proxy);

    impl<'de> Deserialize<'de> for Owned {
        fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Owned, D::Error> {
            Proxy::deserialize(from).map(Owned)
        }
    }

    pub(crate) fn serialize<S: Serializer>(
        proxy: &Option<Proxy>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        proxy.as_ref().map(Lent).serialize(to)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Option<Proxy>, D::Error> {
        let proxy = Option::<Owned>::deserialize(from)?;
        Ok(proxy.map(|Owned(proxy)| proxy))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Proxy, String> {
        Proxy::parse(text, &Redaction::default()).map_err(|Invalid(text)| text)
    }

    #[test]
    fn a_proxy_is_read_into_its_parts() {
        let of = |user: &str| Some(format!("Basic {}", STANDARD.encode(user)));
        for (text, place, authorization) in [
            ("http://proxy.example:3128", "proxy.example:3128", None),
            ("HTTP://127.0.0.1:8888/", "127.0.0.1:8888", None),
            ("localhost:1", "localhost:1", None),
            ("http://[::1]:3128", "[::1]:3128", None),
            ("http://me:pass@x:1", "x:1", of("me:pass")),
            ("me@x:1", "x:1", of("me:")),
            ("http://m%40e:a%3Ab%25@x:1", "x:1", of("m@e:a:b%")),
            ("http://me:a@b:c%@x:1", "x:1", of("me:a@b:c%")),
        ] {
            let proxy = parse(text).unwrap();
            assert_eq!(
                (proxy.place(), proxy.authorization),
                (place.into(), authorization),
                "{text}"
            );
        }
    }

    #[test]
    fn what_is_no_proxy_says_why_and_never_the_password() {
        for (text, part) in [
            ("", "the host is missing"),
            ("http://", "the host is missing"),
            ("http://x", "the port is missing"),
            ("http://x:y", "the port isn't a number"),
            ("http://x:1/path", "the port isn't a number"),
            ("https://x:1", "plain HTTP to proxies, not https://"),
            ("socks5://x:1", "not socks5://"),
            ("http://22102:1", "22102 is no host"),
            ("http://a b:1", "can't stand in a host's name"),
            ("http://me:canary%0a@x:1", "control characters"),
            ("http://m%3ae:canary@x:1", "can't have a colon"),
            ("https://me:canary@x:1", "plain HTTP"),
            ("http://me:canary@x", "the port is missing"),
            ("me:canary://x:1", "plain HTTP"),
        ] {
            let refused = parse(text).unwrap_err();
            assert!(refused.contains(part), "{text}: {refused}");
            assert!(!refused.contains("canary"), "{refused}");
        }
    }

    #[test]
    fn its_password_is_a_secret_however_it_is_written() {
        let redaction = Redaction::default();
        let proxy = Proxy::parse("http://me:canary%21pass@x:1", &redaction).unwrap();
        let value = proxy.authorization.clone().unwrap();
        for text in ["canary!pass", "canary%21pass", &value] {
            let scrubbed = redaction.scrub(&format!("it said {text}")).into_owned();
            assert!(!scrubbed.contains(text), "{scrubbed}");
        }
        let shown = proxy.shown(&redaction);
        assert_ne!(shown, proxy);
        assert!(shown.authorization.unwrap().starts_with("redacted:"));
        assert_eq!(proxy.place(), "x:1");
    }
}

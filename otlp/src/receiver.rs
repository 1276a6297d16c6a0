//! Where it goes: the base endpoint of a receiver, what is sent along, and whom we trust.

use std::fmt;
use std::path::PathBuf;

use proto::http1::{is_field_value, is_host, is_token};
use tls::{Alpn, ClientSettings, ClientTls, Trust};

/// The variables of OpenTelemetry's SDKs that [`Receiver::of_environment`] reads.
const ENDPOINT: &str = "OTEL_EXPORTER_OTLP_ENDPOINT";
const HEADERS: &str = "OTEL_EXPORTER_OTLP_HEADERS";
const CERTIFICATE: &str = "OTEL_EXPORTER_OTLP_CERTIFICATE";

/// What is shorter is no secret, and may be a part of any word.
const SECRET_BYTES_MIN: usize = 4;

/// Fields that are the encoder's own.
const OURS: [&str; 6] = [
    "host",
    "connection",
    "content-length",
    "content-type",
    "content-encoding",
    "transfer-encoding",
];

/// See the module. It shows itself without its headers, which hold secrets.
#[derive(Clone, PartialEq, Eq)]
pub struct Receiver {
    is_secure: bool,
    host: String,
    port: u16,
    /// What stands before `/v1/metrics`: nothing, or `/` and more, without a `/` at its end.
    path: String,
    headers: Vec<(String, String)>,
    authority: Option<PathBuf>,
}

impl fmt::Debug for Receiver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Receiver({})", self.url())
    }
}

impl Receiver {
    /// The receiver with this base endpoint, such as `http://localhost:4318`.
    ///
    /// # Errors
    /// It is none: why, and what to write. The URL, which may hold a password, isn't quoted.
    pub fn at(url: &str) -> Result<Receiver, String> {
        const WRITE: &str = "write http://HOST:PORT or https://HOST:PORT, such as \
                             http://localhost:4318";
        let (scheme, rest) = url
            .split_once("://")
            .ok_or_else(|| format!("the URL has no scheme; {WRITE}"))?;
        let is_secure = match &*scheme.to_ascii_lowercase() {
            "http" => false,
            "https" => true,
            "grpc" | "grpcs" => {
                return Err(format!(
                    "OTLP goes over HTTP here, and not over gRPC; {WRITE}"
                ));
            }
            _ => return Err(format!("the URL's scheme isn't one of HTTP; {WRITE}")),
        };
        let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let (authority, path) = rest.split_at(end);
        if authority.contains('@') {
            return Err(
                "credentials in the URL aren't sent; use --otlp-header 'Authorization: …'"
                    .to_owned(),
            );
        }
        if path.contains(['?', '#']) {
            return Err(
                "a base endpoint has no query: /v1/metrics and /v1/traces are appended to it"
                    .to_owned(),
            );
        }
        if !path.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err("the URL's path has a character that must be percent-encoded".to_owned());
        }
        let (host, port) = host_and_port(authority)
            .filter(|(host, _)| !host.is_empty() && is_host(authority.as_bytes()))
            .ok_or_else(|| format!("the URL has no usable host and port; {WRITE}"))?;
        Ok(Receiver {
            is_secure,
            host: host.to_owned(),
            port: port.unwrap_or(if is_secure { 443 } else { 80 }),
            path: path.trim_end_matches('/').to_owned(),
            headers: Vec::new(),
            authority: None,
        })
    }

    /// The receiver that the variables of OpenTelemetry name: the base endpoint, headers, and the
    /// file with the CA certificate.
    ///
    /// # Errors
    /// There is none, or a variable can't be used.
    pub fn of_environment(variable: impl Fn(&str) -> Option<String>) -> Result<Receiver, String> {
        let set = |name| variable(name).filter(|value| !value.trim().is_empty());
        let url = set(ENDPOINT).ok_or_else(|| {
            format!("{ENDPOINT} isn't set; set it, or give the receiver's URL in place of `env`")
        })?;
        let receiver = Receiver::at(url.trim()).map_err(|why| format!("{ENDPOINT}: {why}"))?;
        let headers = set(HEADERS).unwrap_or_default();
        let pairs = headers.split(',').filter(|pair| !pair.trim().is_empty());
        let mut receiver = receiver.trusting(set(CERTIFICATE).map(PathBuf::from));
        for pair in pairs {
            // Not quoted: it may be a secret.
            let (name, value) = pair.split_once('=').ok_or_else(|| {
                format!("{HEADERS} has a part that isn't NAME=VALUE; separate them by commas")
            })?;
            let value = decoded(value.trim())
                .ok_or_else(|| format!("{HEADERS}: a value isn't percent-encoded text"))?;
            receiver = receiver
                .with(name.trim(), &value)
                .map_err(|why| format!("{HEADERS}: {why}"))?;
        }
        Ok(receiver)
    }

    /// The variables from which [`Receiver::of_environment`] makes this one, for another process.
    pub fn as_environment(&self) -> Vec<(String, String)> {
        let headers = self.headers.iter();
        let headers: Vec<String> = headers
            .map(|(name, value)| format!("{name}={}", encoded(value)))
            .collect();
        let mut variables = vec![
            (ENDPOINT.to_owned(), self.url()),
            (HEADERS.to_owned(), headers.join(",")),
        ];
        if let Some(file) = &self.authority {
            let file = file.to_string_lossy().into_owned();
            variables.push((CERTIFICATE.to_owned(), file));
        }
        variables
    }

    /// The same with a header that is sent along.
    ///
    /// # Errors
    /// It can't be sent. Its value isn't quoted.
    pub fn with(mut self, name: &str, value: &str) -> Result<Receiver, String> {
        if !is_token(name.as_bytes()) {
            return Err(format!("{name:?} can't be the name of a header"));
        }
        if OURS.contains(&&*name.to_ascii_lowercase()) {
            return Err(format!("{name} is set by ringside; leave it out"));
        }
        if !is_field_value(value.as_bytes()) {
            return Err(format!(
                "the value of {name} can't be sent: it has a line break or another control \
                 character"
            ));
        }
        self.headers.push((name.to_owned(), value.to_owned()));
        Ok(self)
    }

    /// The same with a header as it is written, `NAME: VALUE`.
    ///
    /// # Errors
    /// As [`Receiver::with`].
    pub fn with_line(self, line: &str) -> Result<Receiver, String> {
        // Not quoted: it may be a secret.
        let (name, value) = line
            .split_once(':')
            .ok_or_else(|| "a header is written 'NAME: VALUE'".to_owned())?;
        self.with(name.trim(), value.trim())
    }

    /// The same, trusting the certificates in this file alone, if there is one.
    #[must_use]
    pub fn trusting(mut self, authority: Option<PathBuf>) -> Receiver {
        self.authority = authority.or(self.authority);
        self
    }

    /// Whether it can be spoken to at all.
    ///
    /// # Errors
    /// The file of certificates can't be used: why, and what to do.
    pub fn check(&self) -> Result<(), String> {
        self.tls().map(drop)
    }

    /// Its base endpoint.
    pub fn url(&self) -> String {
        let scheme = if self.is_secure { "https" } else { "http" };
        format!("{scheme}://{}{}", self.host_field(), self.path)
    }

    /// The text without the values of headers.
    pub(crate) fn scrub(&self, text: &str) -> String {
        let values = self.headers.iter().map(|(_, value)| &**value);
        // A receiver may quote `Bearer X`, or X alone.
        let parts = values.flat_map(|value| [Some(value), value.rsplit(' ').next()]);
        let secrets = parts
            .flatten()
            .filter(|value| value.len() >= SECRET_BYTES_MIN);
        secrets.fold(text.to_owned(), |text, secret| text.replace(secret, "…"))
    }

    pub(crate) fn host(&self) -> &str {
        &self.host
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// The path of a signal, such as `/v1/metrics`.
    pub(crate) fn path(&self, signal: &str) -> String {
        format!("{}/v1/{signal}", self.path)
    }

    pub(crate) fn headers(&self) -> &[(String, String)] {
        &self.headers
    }

    /// The value of the `Host` field: the port only where it isn't the scheme's own.
    pub(crate) fn host_field(&self) -> String {
        let host = match self.host.contains(':') {
            true => format!("[{}]", self.host),
            false => self.host.clone(),
        };
        match (self.is_secure, self.port) {
            (false, 80) | (true, 443) => host,
            (_, port) => format!("{host}:{port}"),
        }
    }

    /// The client's side of TLS, if it's spoken.
    ///
    /// # Errors
    /// The file of certificates can't be used.
    pub(crate) fn tls(&self) -> Result<Option<ClientTls>, String> {
        if !self.is_secure {
            return Ok(None);
        }
        let settings = ClientSettings {
            server_name: self.host.clone(),
            alpn: vec![Alpn::Http11],
            trust: match &self.authority {
                Some(file) => Trust::File(file.clone()),
                None => Trust::System,
            },
            identity: None,
            resumption: true,
        };
        settings.build().map(Some)
    }
}

/// `HOST`, `HOST:PORT` or either with an IPv6 address in brackets.
fn host_and_port(authority: &str) -> Option<(&str, Option<u16>)> {
    let (host, port) = match authority.strip_prefix('[') {
        Some(rest) => {
            let (host, rest) = rest.split_once(']')?;
            match rest.is_empty() {
                true => (host, None),
                false => (host, Some(rest.strip_prefix(':')?)),
            }
        }
        None => match authority.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (authority, None),
        },
    };
    let port = match port {
        Some(digits) => Some(digits.parse().ok().filter(|port| *port > 0)?),
        None => None,
    };
    Some((host, port))
}

/// What `%XX` stands for (RFC 3986 §2.1), as the values of headers in the variable are written.
fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, behind)) = rest.split_first() {
        rest = behind;
        if *first != b'%' {
            bytes.push(*first);
            continue;
        }
        let (digits, behind) = rest.split_at_checked(2)?;
        let digit = |at: usize| char::from(digits[at]).to_digit(16);
        bytes.push((digit(0)? * 16 + digit(1)?) as u8);
        rest = behind;
    }
    String::from_utf8(bytes).ok()
}

fn encoded(text: &str) -> String {
    let each = text.bytes();
    each.map(|byte| match byte.is_ascii_alphanumeric() {
        true => char::from(byte).to_string(),
        false => format!("%{byte:02X}"),
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_appended_to_a_base_endpoint() {
        for (url, metrics, host) in [
            ("http://h:4318", "/v1/metrics", "h:4318"),
            ("http://h:4318/", "/v1/metrics", "h:4318"),
            ("HTTPS://h/otlp/", "/otlp/v1/metrics", "h"),
            ("http://[::1]:4318/a/b", "/a/b/v1/metrics", "[::1]:4318"),
        ] {
            let receiver = Receiver::at(url).unwrap();
            assert_eq!(receiver.path("metrics"), metrics, "{url}");
            assert_eq!(receiver.host_field(), host, "{url}");
        }
        assert_eq!(Receiver::at("https://h").unwrap().port(), 443);
    }

    #[test]
    fn what_is_no_endpoint_is_refused_without_being_quoted() {
        for (url, says) in [
            ("localhost:4318", "no scheme"),
            ("grpc://h:4317", "over HTTP"),
            ("ftp://h", "isn't one of HTTP"),
            ("http://u:hidden@h", "--otlp-header"),
            ("http://h/?key=hidden", "no query"),
            ("http://", "host and port"),
            ("http://h:0", "host and port"),
            ("http://h:hidden", "host and port"),
            ("http://[::1", "host and port"),
            ("http://h/a b", "percent-encoded"),
        ] {
            let why = Receiver::at(url).unwrap_err();
            assert!(
                why.contains(says) && !why.contains("hidden"),
                "{url}: {why}"
            );
        }
    }

    fn of(variables: &[(&str, &str)]) -> Result<Receiver, String> {
        Receiver::of_environment(|name| {
            let mut found = variables.iter().filter(|(key, _)| *key == name);
            found.next().map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn the_variables_of_opentelemetry_are_read_and_written_back() {
        let receiver = of(&[
            (ENDPOINT, "https://h:1/x"),
            (HEADERS, "Authorization=Bearer%20abc%3D%2C, x-tenant = 7 ,"),
            (CERTIFICATE, "/ca.pem"),
        ])
        .unwrap();
        let headers = receiver.headers().iter();
        let headers: Vec<_> = headers.map(|(name, value)| (&**name, &**value)).collect();
        assert_eq!(
            headers,
            [("Authorization", "Bearer abc=,"), ("x-tenant", "7")]
        );
        let written = receiver.as_environment();
        let written: Vec<_> = written
            .iter()
            .map(|(name, value)| (&**name, &**value))
            .collect();
        assert_eq!(of(&written).unwrap(), receiver);
        assert!(of(&[]).unwrap_err().contains("isn't set"));
        assert!(of(&[(ENDPOINT, " ")]).unwrap_err().contains("isn't set"));
        for headers in [
            "hidden",
            "a=hidden%2",
            "a=hidden%0d",
            "host=hidden",
            "ä=hidden",
        ] {
            let why = of(&[(ENDPOINT, "http://h"), (HEADERS, headers)]).unwrap_err();
            assert!(why.contains(HEADERS) && !why.contains("hidden"), "{why}");
        }
    }

    #[test]
    fn a_secret_is_in_no_text() {
        let receiver = Receiver::at("http://h").unwrap();
        let receiver = receiver.with_line("Authorization: Bearer abcd").unwrap();
        assert_eq!(receiver.scrub("no abcd, no Bearer abcd"), "no …, no …");
        assert!(!format!("{receiver:?}").contains("abcd"));
        let why = receiver.with_line("abc").unwrap_err();
        assert!(!why.contains("abc"), "{why}");
    }
}

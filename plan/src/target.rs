//! Where a load goes: a URL, taken apart.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::invalid::Invalid;
use crate::redaction::{Redaction, guessed_url, is_scheme};

/// The schemes of URLs that can be loaded.
const SCHEMES: [&str; 6] = ["http", "https", "grpc", "grpcs", "ws", "wss"];

/// Where the load goes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct Target {
    /// `http`, `https`, `ws`, `wss`, `grpc` or `grpcs`.
    pub scheme: String,
    /// Name or address, as in the URL, without brackets.
    pub host: String,
    /// Port; where the URL has none 80, or 443 with TLS.
    pub port: u16,
    /// Path and query, as sent.
    pub path: String,
    /// Connect here and not over TCP.
    pub unix_socket: Option<PathBuf>,
    /// Connect to another host and port than the URL names.
    pub connect_to: Option<HostPort>,
}

/// A host with a port.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HostPort {
    /// Name or address without brackets.
    pub host: String,
    /// Port.
    pub port: u16,
}

impl Target {
    /// Reads `SCHEME://HOST[:PORT][/PATH][?QUERY]` (RFC 3986 §3). A missing scheme is `http`.
    pub fn parse(url: &str) -> Result<Target, Invalid> {
        let shown = guessed_url(url);
        let bad = |why: &str| {
            Invalid(format!(
                "can't load {shown:?}: {why}; write http://HOST[:PORT]/PATH"
            ))
        };
        let (scheme, rest) = match url.split_once("://") {
            Some((scheme, rest)) if is_scheme(scheme) => (scheme, rest),
            // What looks like one may stand in a query.
            _ => ("http", url),
        };
        let scheme = scheme.to_ascii_lowercase();
        if !SCHEMES.contains(&&*scheme) {
            return Err(Invalid(format!(
                "{shown}: ringside doesn't know {scheme}://; use one of {}://",
                SCHEMES.join("://, ")
            )));
        }
        let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let (authority, path) = rest.split_at(end);
        let path = path.split('#').next().unwrap_or_default();
        if authority.contains('@') {
            return Err(bad(
                "credentials in URLs aren't sent; use -H 'Authorization: …'",
            ));
        }
        let (host, port) = split_port(authority).map_err(bad)?;
        if host.is_empty() {
            return Err(bad("the host is missing"));
        }
        if !path.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(bad("the path has a character that must be percent-encoded"));
        }
        let path = if path.starts_with('/') {
            path.to_owned()
        } else {
            format!("/{path}")
        };
        Ok(Target {
            port: port.unwrap_or_else(|| default_port(&scheme)),
            scheme,
            host: host.to_owned(),
            path,
            unix_socket: None,
            connect_to: None,
        })
    }

    /// The `Host` field's value (RFC 9110 §7.2): the port only where it is not the scheme's own.
    pub fn authority(&self) -> String {
        let host = if self.host.contains(':') {
            format!("[{}]", self.host)
        } else {
            self.host.clone()
        };
        if self.port == default_port(&self.scheme) {
            host
        } else {
            format!("{host}:{}", self.port)
        }
    }

    /// Whether the scheme asks for TLS.
    pub fn is_secure(&self) -> bool {
        is_secure(&self.scheme)
    }

    /// The whole URL, as it may be shown.
    pub fn url(&self, redaction: &Redaction) -> String {
        let path = redaction.path(&self.path);
        format!("{}://{}{path}", self.scheme, self.authority())
    }

    /// It without its secrets.
    pub(crate) fn shown(&self, redaction: &Redaction) -> Target {
        Target {
            scheme: self.scheme.clone(),
            host: self.host.clone(),
            port: self.port,
            path: redaction.path(&self.path),
            unix_socket: self.unix_socket.clone(),
            connect_to: self.connect_to.clone(),
        }
    }
}

/// `HOST`, `HOST:PORT`, `[V6]` or `[V6]:PORT`, or what is wrong with it.
fn split_port(authority: &str) -> Result<(&str, Option<u16>), &'static str> {
    let (host, rest) = match authority.strip_prefix('[') {
        Some(rest) => rest.split_once(']').ok_or("the bracket isn't closed")?,
        None => authority.split_at(authority.find(':').unwrap_or(authority.len())),
    };
    let port = match rest.strip_prefix(':') {
        None if rest.is_empty() => return Ok((host, None)),
        None => return Err("what follows the bracket isn't a port"),
        Some(port) => port,
    };
    let is_number = !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
    match port.parse() {
        Ok(port) if is_number => Ok((host, Some(port))),
        _ if is_number => Err("ports end at 65535"),
        _ => Err("the port isn't a number"),
    }
}

fn is_secure(scheme: &str) -> bool {
    matches!(scheme, "https" | "wss" | "grpcs")
}

fn default_port(scheme: &str) -> u16 {
    if is_secure(scheme) { 443 } else { 80 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_read_into_their_parts() {
        let table = [
            ("http://localhost", "localhost", 80, "/", "localhost"),
            (
                "http://localhost:8080/a?b=c#d",
                "localhost",
                8080,
                "/a?b=c",
                "localhost:8080",
            ),
            ("HTTP://[::1]:81?x", "::1", 81, "/?x", "[::1]:81"),
            ("127.0.0.1:9/x", "127.0.0.1", 9, "/x", "127.0.0.1:9"),
            ("x:9/?to=http://y/", "x", 9, "/?to=http://y/", "x:9"),
            ("https://x", "x", 443, "/", "x"),
            ("wss://x:80/chat", "x", 80, "/chat", "x:80"),
            ("grpc://x:443/p.S/M", "x", 443, "/p.S/M", "x:443"),
        ];
        for (url, host, port, path, authority) in table {
            let target = Target::parse(url).unwrap();
            assert_eq!(
                (&*target.host, target.port, &*target.path),
                (host, port, path),
                "{url}"
            );
            assert_eq!(target.authority(), authority, "{url}");
        }
    }

    #[test]
    fn urls_that_cannot_be_loaded_say_why() {
        let table = [
            ("gopher://x/", "ringside doesn't know"),
            ("http://", "host is missing"),
            ("http://x:port/", "port isn't a number"),
            ("http://x:/", "port isn't a number"),
            ("http://x:+80/", "port isn't a number"),
            ("http://x:70000/", "ports end at 65535"),
            ("http://[::1]:99999/", "ports end at 65535"),
            ("http://[::1/", "bracket isn't closed"),
            ("http://[::1]x/", "what follows the bracket"),
            ("http://me:secret@x/", "Authorization"),
            ("http://x/ä", "percent-encoded"),
        ];
        for (url, part) in table {
            let Invalid(text) = Target::parse(url).unwrap_err();
            assert!(text.contains(part), "{url}: {text}");
            // Which names are secrets is not known yet.
            let Invalid(text) = Target::parse(&format!("{url}?foo=canary&canary")).unwrap_err();
            assert!(text.contains(part) && !text.contains("canary"), "{text}");
        }
    }
}

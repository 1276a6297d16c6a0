//! Where a load goes: a URL, taken apart.

use std::net::{Ipv4Addr, Ipv6Addr};
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
                "credentials in URLs aren't sent; use --user NAME:PASSWORD, or -H 'Authorization: \
                 …'",
            ));
        }
        let (host, port) = split_port(authority).map_err(bad)?;
        if host.is_empty() {
            return Err(bad("the host is missing"));
        }
        if let Some(what) = unlike_a_host(host, port) {
            return Err(Invalid(format!("can't load {shown:?}: {what}")));
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

    /// Checks that what is connected to is a host, whoever made the target.
    pub(crate) fn validate(&self) -> Result<(), Invalid> {
        let elsewhere = self.connect_to.as_ref().map(|to| (&to.host, to.port));
        for (host, port) in [(&self.host, self.port)].into_iter().chain(elsewhere) {
            if let Some(what) = unlike_a_host(host, Some(port)) {
                return Err(Invalid(format!("can't load {host:?}: {what}")));
            }
        }
        Ok(())
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

    /// Scheme, host and port (RFC 6454 §6.2).
    pub fn origin(&self) -> String {
        format!("{}://{}", self.scheme, self.authority())
    }

    /// Whether its path is a method of gRPC.
    pub fn is_grpc(&self) -> bool {
        matches!(&*self.scheme, "grpc" | "grpcs")
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

/// Why a host is none: in brackets is an IPv6 address, which a zone may follow, and names have
/// certain characters (RFC 3986 §3.2.2, RFC 6874); one that ends in a number is an address of
/// four numbers (RFC 1123 §2.1), but resolvers take any number for one: `22102` is 0.0.86.86 to
/// them, which is somebody else's (inet_aton(3)).
pub(crate) fn unlike_a_host(host: &str, port: Option<u16>) -> Option<String> {
    if host.parse::<Ipv6Addr>().is_ok() || host.parse::<Ipv4Addr>().is_ok() {
        return None;
    }
    let in_names = |c: &char| c.is_ascii_alphanumeric() || "-._~%!$&'()*+,;=".contains(*c);
    if host.contains(':') {
        let (address, zone) = match host.split_once('%') {
            Some((address, zone)) => (address, Some(zone)),
            None => (host, None),
        };
        if address.parse::<Ipv6Addr>().is_err() {
            return Some(format!("{} is no IPv6 address", host.escape_debug()));
        }
        let is_zone = |zone: &str| !zone.is_empty() && zone.chars().all(|c| in_names(&c));
        return zone.filter(|zone| !is_zone(zone)).map(|zone| {
            format!("{zone:?} is no zone: a zone is an interface's name, as in fe80::1%eth0")
        });
    }
    if let Some(other) = host.chars().find(|c| !in_names(c)) {
        return Some(format!(
            "{other:?} can't stand in a host's name; write names of other alphabets in their \
             ASCII form (xn--…)"
        ));
    }
    let last = host.trim_end_matches('.').rsplit('.').next()?;
    let hex = last.strip_prefix("0x").or_else(|| last.strip_prefix("0X"));
    let is_number = match hex {
        Some(hex) => hex.bytes().all(|byte| byte.is_ascii_hexdigit()),
        None => !last.is_empty() && last.bytes().all(|byte| byte.is_ascii_digit()),
    };
    is_number.then(|| match host.parse::<u16>() {
        Ok(meant) if port.is_none() && meant > 0 => {
            format!("{host} is no host: for a port of this machine write http://127.0.0.1:{host}/")
        }
        _ => format!("{host} is no host: write a name, or an address such as 127.0.0.1"),
    })
}

/// `HOST`, `HOST:PORT`, `[V6]` or `[V6]:PORT`, or what is wrong with it.
pub(crate) fn split_port(authority: &str) -> Result<(&str, Option<u16>), &'static str> {
    let (host, rest) = match authority.strip_prefix('[') {
        Some(rest) => match rest.split_once(']').ok_or("the bracket isn't closed")? {
            (host, rest) if host.is_empty() || host.contains(':') => (host, rest),
            _ => return Err("only IPv6 addresses are written in brackets"),
        },
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
            (
                "http://[[[[[]/",
                "only IPv6 addresses are written in brackets",
            ),
            ("http://[x]/", "only IPv6 addresses are written in brackets"),
            ("http://[::g]/", "::g is no IPv6 address"),
            ("http://[::1:[]/", "::1:[ is no IPv6 address"),
            ("http://[::1%]/", r#""" is no zone"#),
            ("http://[fe80::1%e\r\nx]/", r#""e\r\nx" is no zone"#),
            ("http://[::\u{5}]/", r"::\u{5} is no IPv6 address"),
            ("http://a[b/", "'[' can't stand in a host's name"),
            ("http://a b/", "' ' can't stand in a host's name"),
            ("http://bücher.example/", "in their ASCII form (xn--…)"),
            ("http://me:secret@x/", "Authorization"),
            ("http://x/ä", "percent-encoded"),
            (
                "22102",
                "for a port of this machine write http://127.0.0.1:22102/",
            ),
            ("http://22102/", "write http://127.0.0.1:22102/"),
            ("22102:80/", "22102 is no host: write a name"),
            ("0", "0 is no host: write a name"),
            ("99999", "99999 is no host: write a name"),
            ("http://2130706433:8080/", "is no host"),
            ("http://127.1/", "127.1 is no host"),
            ("http://1.2.3.4.5/", "is no host"),
            ("http://127.0.0.256/", "is no host"),
            ("http://127.0.0.01/", "is no host"),
            ("http://127.0.0.1./", "is no host"),
            ("http://0x7f000001/", "is no host"),
            ("http://0X7F.1/", "is no host"),
            ("http://127.0.0.0x1/", "is no host"),
            ("http://127.0.0.0x/", "is no host"),
            ("http://x.1/", "is no host"),
        ];
        for (url, part) in table {
            let Invalid(text) = Target::parse(url).unwrap_err();
            assert!(text.contains(part), "{url}: {text}");
            // Which names are secrets is not known yet.
            let Invalid(text) = Target::parse(&format!("{url}?foo=canary&canary")).unwrap_err();
            assert!(text.contains(part) && !text.contains("canary"), "{text}");
        }
    }

    #[test]
    fn names_with_numbers_in_them_are_hosts() {
        let names = [
            "1a",
            "1.example",
            "x1",
            "10.0.0.1",
            "0xg",
            "x.0x1g",
            "1-1",
            "::1",
            "fe80::1%eth0",
            "v1.",
        ];
        for name in names {
            assert_eq!(unlike_a_host(name, None), None, "{name}");
        }
    }

    #[test]
    fn a_place_to_connect_to_instead_is_a_host_as_well() {
        let mut target = Target::parse("http://x/").unwrap();
        let mut to = |host: &str| {
            let host = host.to_owned();
            target.connect_to = Some(HostPort { host, port: 1 });
            target.validate().map_err(|Invalid(text)| text)
        };
        assert_eq!(to("127.0.0.1"), Ok(()));
        let text = to("22102").unwrap_err();
        assert!(text.contains("22102 is no host"), "{text}");
    }
}

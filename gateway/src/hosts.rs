//! Hosts that two readers would read alike.
//!
//! A gateway decides by the host, and the server behind it acts by the host. One cuts at the first
//! colon and another at the last: `secure.example:80:90`. So a host has to be one.

use std::net::Ipv6Addr;

/// Digits of a port.
const PORT_DIGITS_MAX: usize = 5;

/// Whether it's a name or an address, with or without a port (RFC 9110 §7.2), and without escapes
/// and commas, by which servers are fooled. A name ends with one dot at most, that of the root.
/// None at all is one, too.
pub(crate) fn is_plain(host: &[u8]) -> bool {
    let (name, behind) = match host {
        [b'[', rest @ ..] => {
            let Some(end) = rest.iter().position(|byte| *byte == b']') else {
                return false;
            };
            let address = std::str::from_utf8(&rest[..end]).ok();
            if address.is_none_or(|text| text.parse::<Ipv6Addr>().is_err()) {
                return false;
            }
            (&[][..], &rest[end + 1..])
        }
        _ => {
            let end = host.iter().position(|byte| *byte == b':');
            host.split_at(end.unwrap_or(host.len()))
        }
    };
    let is_of_name = |byte: &u8| byte.is_ascii_alphanumeric() || b"-._~!$&'()*+;=".contains(byte);
    let is_port =
        |port: &[u8]| port.len() <= PORT_DIGITS_MAX && port.iter().all(u8::is_ascii_digit);
    let is_name = name.iter().all(is_of_name) && !name.ends_with(b"..");
    is_name && behind.strip_prefix(b":").map_or(behind.is_empty(), is_port)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_servers_would_read_differently_is_no_host() {
        for host in [
            "",
            "a",
            "a.example.org",
            "a_b.example.",
            "a:80",
            "a:",
            "127.0.0.1:8080",
            "[::1]",
            "[2001:db8::1]:443",
            "xn--bcher-kva.example",
        ] {
            assert!(is_plain(host.as_bytes()), "{host}");
        }
        for host in [
            "secure.example:80:90",
            "secure.example.:80:1",
            "a::",
            "a:b",
            "a:123456",
            "a,b",
            "a%2eb",
            "[secure.example]",
            "[::1",
            "[::1]x",
            "[::1]:a",
            "a@b",
            "a/b",
            "a b",
            "secure.example..",
            "secure.example..:80",
            "..",
            "a\\b",
            "b\u{fc}cher.example",
        ] {
            assert!(!is_plain(host.as_bytes()), "{host}");
        }
    }
}

//! Places as people write them: rules of `--connect-to`, and lists of CPUs.

use load::plan::HostPort;

/// A rule as curl has it: where the URL says the first pair, connect to the second.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ConnectTo {
    /// `None` matches every host.
    from_host: Option<String>,
    /// `None` matches every port.
    from_port: Option<u16>,
    /// `None` keeps the URL's host.
    to_host: Option<String>,
    /// `None` keeps the URL's port.
    to_port: Option<u16>,
}

impl ConnectTo {
    /// Where to connect in place of `host` and `port`; `None` where the rule is about another.
    pub(super) fn apply(&self, host: &str, port: u16) -> Option<HostPort> {
        let host_matches = self
            .from_host
            .as_ref()
            .is_none_or(|from| from.eq_ignore_ascii_case(host));
        if !host_matches || self.from_port.is_some_and(|from| from != port) {
            return None;
        }
        Some(HostPort {
            host: self.to_host.clone().unwrap_or_else(|| host.to_string()),
            port: self.to_port.unwrap_or(port),
        })
    }
}

/// Reads `HOST:PORT:HOST2:PORT2`; any part may be empty, IPv6 stands in brackets.
pub(super) fn connect_to(text: &str) -> Result<ConnectTo, String> {
    let wrong = |why: &str| {
        format!(
            "--connect-to {text:?}: {why}write HOST:PORT:HOST2:PORT2; parts may be empty, and IPv6 \
             addresses go in brackets"
        )
    };
    let bad = || wrong("");
    let parts = split_outside_brackets(text);
    let [from_host, from_port, to_host, to_port] = parts[..] else {
        return Err(bad());
    };
    let host = |part: &str| {
        let bare = part
            .strip_prefix('[')
            .and_then(|part| part.strip_suffix(']'))
            .unwrap_or(part);
        (!bare.is_empty()).then(|| bare.to_string())
    };
    let port = |part: &str| match part {
        "" => Ok(None),
        digits if digits.bytes().all(|byte| byte.is_ascii_digit()) => digits
            .parse()
            .map(Some)
            .map_err(|_| wrong("ports end at 65535; ")),
        _ => Err(bad()),
    };
    Ok(ConnectTo {
        from_host: host(from_host),
        from_port: port(from_port)?,
        to_host: host(to_host),
        to_port: port(to_port)?,
    })
}

fn split_outside_brackets(text: &str) -> Vec<&str> {
    let mut inside = false;
    text.split(|c| {
        inside = match c {
            '[' => true,
            ']' => false,
            _ => inside,
        };
        c == ':' && !inside
    })
    .collect()
}

/// Reads a list of CPUs and asks that this process may use them all.
pub(crate) fn cpus(text: Option<&str>) -> Result<Vec<usize>, String> {
    let Some(text) = text else {
        return Ok(Vec::new());
    };
    let cpus = measure::cpu::parse_list(text).map_err(|error| format!("--cpus: {error}"))?;
    let allowed = measure::cpu::allowed();
    match cpus.iter().find(|cpu| !allowed.contains(cpu)) {
        None => Ok(cpus),
        Some(cpu) => Err(format!(
            "--cpus: ringside may not use CPU {cpu} here; it may use {allowed:?}"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_matched_as_in_curl() {
        let apply = |rule: &str| {
            let place = connect_to(rule).unwrap().apply("Example.org", 80)?;
            Some(format!("{} {}", place.host, place.port))
        };
        assert_eq!(apply("example.org:80:a:1").as_deref(), Some("a 1"));
        assert_eq!(apply(":::8080").as_deref(), Some("Example.org 8080"));
        assert_eq!(apply("::[::1]:8080").as_deref(), Some("::1 8080"));
        assert_eq!(apply("example.org:81:a:1"), None);
        assert_eq!(apply("other::a:1"), None);
    }

    #[test]
    fn bad_rules_are_refused() {
        for text in [
            "",
            "a:1",
            "a:1:b:2:c",
            "a:x:b:1",
            "a:1:b:70000",
            "::1:80:a:1",
        ] {
            assert!(connect_to(text).unwrap_err().contains("HOST2"), "{text}");
        }
    }
}

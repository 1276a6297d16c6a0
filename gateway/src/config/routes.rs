//! What a file says about the requests that a route is for. One that no request can meet is a
//! mistake, and what would be met instead is said.

use std::net::Ipv6Addr;
use std::ops::Range;

use toml::Spanned;

use super::document::BadConfig;
use super::judge::{Judge, is_token};
use super::{HostPattern, PathPattern, written};
use crate::{hosts, paths};

/// Methods that no route decides about.
const ANSWERED_HERE: [&str; 2] = ["CONNECT", "TRACE"];

impl Judge<'_> {
    pub(super) fn path(&self, written: &written::Route) -> Result<PathPattern, BadConfig> {
        let (text, span, exact) = match (&written.path, &written.prefix) {
            (Some(path), None) => (path.get_ref(), path.span(), true),
            (None, Some(prefix)) => (prefix.get_ref(), prefix.span(), false),
            (None, None) => return Ok(PathPattern::Prefix("/".into())),
            (Some(_), Some(prefix)) => {
                return self.bad(
                    prefix.span(),
                    "a route has a `path` or a `prefix`, not both",
                );
            }
        };
        if text.ends_with('*') {
            let what = format!(
                "`*` stands for itself in a path: for all that begins alike, write `prefix = \
                 \"{}\"`",
                text.trim_end_matches('*')
            );
            return self.bad(span, what);
        }
        let as_sent = escaped(text);
        let matched = paths::judge(as_sent.as_bytes(), true);
        let matched = match matched {
            Ok(matched) if text.starts_with('/') && !text.contains(['?', '#']) => matched,
            _ => {
                let what = "expected a path that begins with `/`, without a query, dot segments \
                            and encoded slashes";
                return self.bad(span, what);
            }
        };
        if *matched != *text.as_bytes() {
            let what = format!(
                "requests for this path are matched as `{}`: write it so",
                String::from_utf8_lossy(&matched)
            );
            return self.bad(span, what);
        }
        Ok(match exact {
            true => PathPattern::Exact(text.clone()),
            false => {
                let plain = text.trim_end_matches('/');
                PathPattern::Prefix(if plain.is_empty() { "/" } else { plain }.into())
            }
        })
    }

    pub(super) fn hosts(
        &self,
        hosts: &[String],
        span: Range<usize>,
    ) -> Result<Vec<HostPattern>, BadConfig> {
        if hosts.is_empty() {
            let what = "expected a host: without `host` at all, a route is for any";
            return self.bad(span, what);
        }
        let mut patterns = Vec::with_capacity(hosts.len());
        for host in hosts {
            let host = host.to_ascii_lowercase();
            let below = host.strip_prefix("*.");
            let name = below.unwrap_or(&host);
            let is_address = below.is_none() && name.starts_with('[') && name.ends_with(']');
            let has_port = name.contains(':') && !is_address;
            let is_one = !name.is_empty() && hosts::is_plain(name.as_bytes());
            if !is_one || has_port || name.contains('*') {
                let what = "expected a host without a port, such as \"example.org\" or \
                            \"*.example.org\"; one with letters beyond ASCII as clients send it, \
                            \"xn--…\"";
                return self.bad(span, what);
            }
            let address: Option<Ipv6Addr> = name
                .strip_prefix('[')
                .and_then(|rest| rest.strip_suffix(']')?.parse().ok());
            let usual = match address {
                Some(address) => format!("[{address}]"),
                None => host.trim_end_matches('.').to_owned(),
            };
            if usual != host {
                let what =
                    format!("requests for this host are matched as \"{usual}\": write it so");
                return self.bad(span, what);
            }
            patterns.push(match below {
                Some(name) => HostPattern::Below(format!(".{name}")),
                None => HostPattern::Exact(host),
            });
        }
        Ok(patterns)
    }

    /// The fields that a request must have, with their values.
    pub(super) fn conditions(
        &self,
        written: &written::Route,
    ) -> Result<Vec<(String, String)>, BadConfig> {
        let mut header = Vec::with_capacity(written.header.len());
        for (name, value) in &written.header {
            if !is_token(name) {
                return self.bad(value.span(), "this isn't the name of a field");
            }
            let said = value.get_ref();
            if said
                .bytes()
                .any(|byte| byte.is_ascii_control() && byte != b'\t')
            {
                return self.bad(value.span(), "no value of a field has control characters");
            }
            let trimmed = said.trim_matches([' ', '\t']);
            if trimmed != said {
                let what = format!("values are without spaces at their ends: write \"{trimmed}\"");
                return self.bad(value.span(), what);
            }
            header.push((name.to_ascii_lowercase(), said.clone()));
        }
        Ok(header)
    }

    pub(super) fn methods(
        &self,
        written: Option<&Spanned<Vec<String>>>,
    ) -> Result<Vec<String>, BadConfig> {
        let Some(written) = written else {
            return Ok(Vec::new());
        };
        if written.get_ref().is_empty() || !written.get_ref().iter().all(|one| is_token(one)) {
            let what = "expected methods, such as [\"GET\", \"HEAD\"]; without `methods` at all, a \
                        route takes any";
            return self.bad(written.span(), what);
        }
        for method in written.get_ref() {
            let capital = method.to_ascii_uppercase();
            if *method != capital {
                let what = format!("methods are in capital letters: write \"{capital}\"");
                return self.bad(written.span(), what);
            }
            if ANSWERED_HERE.contains(&&*capital) {
                let what = format!("{capital} is refused before routes are looked at: remove it");
                return self.bad(written.span(), what);
            }
        }
        Ok(written.get_ref().clone())
    }
}

/// A path as clients send it: what can't stand in one is escaped (RFC 3986 §2.1).
fn escaped(path: &str) -> String {
    let mut sent = String::with_capacity(path.len());
    for byte in path.bytes() {
        match byte {
            b'!'..=b'~' => sent.push(char::from(byte)),
            byte => sent.push_str(&format!("%{byte:02X}")),
        }
    }
    sent
}

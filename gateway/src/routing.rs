//! Which route a request takes.
//!
//! The host decides first: the whole name before the longest `*.` pattern before routes for any
//! host. Then the path: the whole path before the longest prefix. Among routes of the same host and
//! path those with more conditions on fields come first, then those with methods, then the order of
//! the file. A route whose conditions aren't met leaves the request to the next shorter path of the
//! same host; this is the order of the Kubernetes Gateway API (HTTPRouteRule).

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap};
use std::net::Ipv6Addr;

use server::Request;

use crate::config::{HostPattern, PathPattern, Route};

/// See the module. Routes are known by their place in the list that it's made of.
#[derive(Debug, Default)]
pub(crate) struct Table {
    named: HashMap<Vec<u8>, Paths>,
    /// The longest first, each with its dot: `.example.org`.
    below: Vec<(Vec<u8>, Paths)>,
    any: Paths,
}

/// The routes of a host.
#[derive(Debug, Default)]
struct Paths {
    exact: HashMap<Vec<u8>, Vec<usize>>,
    prefix: HashMap<Vec<u8>, Vec<usize>>,
}

/// What becomes of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// It takes this route.
    Route(usize),
    /// Its path is known with other methods: `Allow` says these.
    Method(String),
    /// Nothing is known of it.
    Nothing,
}

impl Table {
    /// A table of these routes.
    pub(crate) fn new(routes: &[Route]) -> Table {
        let mut order: Vec<usize> = (0..routes.len()).collect();
        order.sort_by_key(|&at| {
            let route = &routes[at];
            (Reverse(route.header.len()), route.methods.is_empty(), at)
        });
        let mut table = Table::default();
        for at in order {
            let route = &routes[at];
            if route.hosts.is_empty() {
                table.any.insert(&route.path, at);
            }
            for host in &route.hosts {
                table.paths(host).insert(&route.path, at);
            }
        }
        table.below.sort_by_key(|(suffix, _)| Reverse(suffix.len()));
        table
    }

    fn paths(&mut self, host: &HostPattern) -> &mut Paths {
        match host {
            HostPattern::Exact(name) => self.named.entry(name.clone().into()).or_default(),
            HostPattern::Below(suffix) => {
                let suffix = suffix.as_bytes();
                let known = self.below.iter().position(|(one, _)| one == suffix);
                let at = known.unwrap_or_else(|| {
                    self.below.push((suffix.to_vec(), Paths::default()));
                    self.below.len() - 1
                });
                &mut self.below[at].1
            }
        }
    }

    /// The route of a request. `path` is its path as it's matched.
    pub(crate) fn find(&self, routes: &[Route], request: &Request<'_>, path: &[u8]) -> Found {
        let host = request.host().map(plain).unwrap_or_default();
        let is_below = |suffix: &[u8]| host.len() > suffix.len() && host.ends_with(suffix);
        let named = self.named.get(&*host);
        let below = || self.below.iter().find(|(suffix, _)| is_below(suffix));
        let paths = named.or_else(|| below().map(|(_, paths)| paths));
        paths.unwrap_or(&self.any).find(routes, request, path)
    }
}

impl Paths {
    fn insert(&mut self, path: &PathPattern, at: usize) {
        let list = match path {
            PathPattern::Exact(path) => self.exact.entry(path.clone().into()),
            PathPattern::Prefix(prefix) => self.prefix.entry(prefix.clone().into()),
        };
        list.or_default().push(at);
    }

    fn find(&self, routes: &[Route], request: &Request<'_>, path: &[u8]) -> Found {
        let mut allowed = BTreeSet::new();
        let mut try_these = |list: &[usize]| {
            list.iter().copied().find(|&at| {
                let route = &routes[at];
                if !is_met(route, request) {
                    return false;
                }
                let takes = takes(route, request.method());
                if !takes {
                    allowed.extend(route.methods.iter().map(String::as_str));
                }
                takes
            })
        };
        if let Some(at) = self.exact.get(path).and_then(|list| try_these(list)) {
            return Found::Route(at);
        }
        let mut prefix = path;
        while !self.prefix.is_empty() {
            let key = if prefix.is_empty() { b"/" } else { prefix };
            if let Some(at) = self.prefix.get(key).and_then(|list| try_these(list)) {
                return Found::Route(at);
            }
            // `*` and the like are for routes of all paths.
            match prefix.iter().rposition(|byte| *byte == b'/') {
                Some(slash) => prefix = &prefix[..slash],
                None if prefix.is_empty() => break,
                None => prefix = &[],
            }
        }
        match allowed.is_empty() {
            true => Found::Nothing,
            false => Found::Method(allowed.into_iter().collect::<Vec<_>>().join(", ")),
        }
    }
}

/// Whether a request has the fields that a route wants.
fn is_met(route: &Route, request: &Request<'_>) -> bool {
    route.header.iter().all(|(name, value)| {
        let mut fields = request.fields();
        fields.any(|(found, said)| {
            found.eq_ignore_ascii_case(name.as_bytes()) && said == value.as_bytes()
        })
    })
}

/// Whether a route takes a method. Who takes GET takes HEAD (RFC 9110 §9.3.2).
fn takes(route: &Route, method: &[u8]) -> bool {
    let named = |wanted: &[u8]| route.methods.iter().any(|one| one.as_bytes() == wanted);
    route.methods.is_empty() || named(method) || (method == b"HEAD" && named(b"GET"))
}

/// A host without its port and the dot of the root, in lower case; an address of IPv6 in its usual
/// spelling (RFC 5952).
fn plain(host: &[u8]) -> Cow<'_, [u8]> {
    let end = match host.iter().rposition(|byte| *byte == b':') {
        // The colons within brackets belong to an address of IPv6 (RFC 3986 §3.2.2).
        Some(colon) if !host[colon..].contains(&b']') => colon,
        _ => host.len(),
    };
    let host = host[..end].strip_suffix(b".").unwrap_or(&host[..end]);
    if let [b'[', address @ .., b']'] = host
        && let Some(address) = std::str::from_utf8(address).ok()
        && let Ok(address) = address.parse::<Ipv6Addr>()
    {
        return format!("[{address}]").into_bytes().into();
    }
    match host.iter().any(u8::is_ascii_uppercase) {
        true => host.to_ascii_lowercase().into(),
        false => host.into(),
    }
}

#[cfg(test)]
mod tests;

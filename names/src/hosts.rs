//! What hosts(5) says.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The addresses that `text`, the file, gives `name`, each once and in its order. A line that
/// can't be read says nothing.
pub(super) fn addresses(text: &str, name: &str) -> Vec<IpAddr> {
    let mut found = Vec::new();
    for line in text.lines() {
        let mut words = line.split('#').next().unwrap_or("").split_whitespace();
        let Some(Ok(address)) = words.next().map(str::parse::<IpAddr>) else {
            continue;
        };
        if words.any(|word| word.eq_ignore_ascii_case(name)) && !found.contains(&address) {
            found.push(address);
        }
    }
    found
}

/// `localhost` and the names below it are this host, whatever anybody says, and nobody is asked
/// about them (RFC 6761, section 6.3).
pub(super) fn is_this_host(name: &str) -> bool {
    let last = name.rsplit('.').next().unwrap_or(name);
    last.eq_ignore_ascii_case("localhost")
}

/// The addresses of this host: those of `given` that are, or both that there are.
pub(super) fn of_this_host(given: Vec<IpAddr>) -> Vec<IpAddr> {
    let given: Vec<IpAddr> = given.into_iter().filter(IpAddr::is_loopback).collect();
    if given.is_empty() {
        vec![Ipv6Addr::LOCALHOST.into(), Ipv4Addr::LOCALHOST.into()]
    } else {
        given
    }
}

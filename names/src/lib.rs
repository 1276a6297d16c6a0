//! From a name to addresses.
//!
//! The program as everybody builds it asks the C library. A static one can't: glibc loads the
//! host's modules for names into it (nsswitch.conf(5)), which crash if they're of another version,
//! and which an empty root doesn't have. So a static program reads hosts(5) and resolv.conf(5) and
//! asks the name servers itself. What else a host may resolve names by (mDNS, LDAP, systemd), it
//! doesn't know.
#![forbid(unsafe_code)]

#[cfg(any(test, target_feature = "crt-static"))]
mod dns;
#[cfg(any(test, target_feature = "crt-static"))]
mod hosts;
#[cfg(any(test, target_feature = "crt-static"))]
mod resolver;

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use measure::time::Time;
use plan::Family;

/// The addresses of `host`, of `family` alone if there is one, in the order in which they should be
/// tried. There may be none if there is a family.
///
/// # Errors
/// It has none, or nobody says so before `deadline`.
pub fn look_up(
    host: &str,
    port: u16,
    family: Option<Family>,
    deadline: Time,
) -> io::Result<Vec<SocketAddr>> {
    let mut found = match host.parse::<IpAddr>() {
        Ok(address) => vec![SocketAddr::new(address, port)],
        Err(_) => ask(host, port, family, deadline)?,
    };
    found.retain(|address| family.is_none_or(|family| family.has(address.ip())));
    Ok(found)
}

/// Asks the C library, which sets its own time limits and can't be interrupted. What it is asked
/// through knows no families, so whoever called leaves the others out.
#[cfg(not(target_feature = "crt-static"))]
#[expect(
    clippy::disallowed_methods,
    reason = "this is the one place that may ask the C library"
)]
fn ask(host: &str, port: u16, _: Option<Family>, deadline: Time) -> io::Result<Vec<SocketAddr>> {
    use std::net::ToSocketAddrs as _;
    let asked = (host.to_owned(), port);
    until(deadline, move || {
        asked.to_socket_addrs().map(Iterator::collect)
    })?
}

#[cfg(target_feature = "crt-static")]
fn ask(
    host: &str,
    port: u16,
    family: Option<Family>,
    deadline: Time,
) -> io::Result<Vec<SocketAddr>> {
    let resolver = resolver::Resolver::of_this_host().only(family);
    let found = resolver.look_up(host, deadline)?;
    let addresses = found.into_iter().map(|ip| SocketAddr::new(ip, port));
    Ok(addresses.collect())
}

/// What is left until `deadline`.
///
/// # Errors
/// Nothing is.
pub fn left(deadline: Time) -> io::Result<Duration> {
    let left = deadline - Time::now();
    if left.is_zero() {
        return Err(io::ErrorKind::TimedOut.into());
    }
    Ok(left)
}

/// What `work` comes to, in a thread of its own, which is left to itself at `deadline`.
///
/// # Errors
/// It isn't done by then, or this host has no thread left.
#[cfg(any(test, not(target_feature = "crt-static")))]
fn until<T: Send + 'static>(
    deadline: Time,
    work: impl FnOnce() -> T + Send + 'static,
) -> io::Result<T> {
    let (sender, outcome) = std::sync::mpsc::channel();
    let builder = std::thread::Builder::new().name("resolver".to_owned());
    builder.spawn(move || {
        // Nobody receives it after the deadline.
        let _ = sender.send(work());
    })?;
    outcome
        .recv_timeout(deadline - Time::now())
        .map_err(|_| io::Error::new(io::ErrorKind::TimedOut, "no answer in time"))
}

#[cfg(test)]
mod tests;

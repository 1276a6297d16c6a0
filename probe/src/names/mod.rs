//! From a name to addresses.
//!
//! The program as everybody builds it asks the C library. A static one can't: glibc loads the
//! host's modules for names into it (nsswitch.conf(5)), which crash if they're of another version,
//! and which an empty root doesn't have. So a static program reads hosts(5) and resolv.conf(5) and
//! asks the name servers itself. What else a host may resolve names by (mDNS, LDAP, systemd), it
//! doesn't know.

#[cfg(any(test, target_feature = "crt-static"))]
mod dns;
#[cfg(any(test, target_feature = "crt-static"))]
mod hosts;
#[cfg(any(test, target_feature = "crt-static"))]
mod resolver;

use std::io;
use std::net::{IpAddr, SocketAddr};

use measure::time::Time;

/// The addresses of `host`, in the order in which they should be tried.
///
/// # Errors
/// It has none, or nobody says so before `deadline`.
pub fn look_up(host: &str, port: u16, deadline: Time) -> io::Result<Vec<SocketAddr>> {
    match host.parse::<IpAddr>() {
        Ok(address) => Ok(vec![SocketAddr::new(address, port)]),
        Err(_) => ask(host, port, deadline),
    }
}

/// Asks the C library, which sets its own time limits and can't be interrupted.
#[cfg(not(target_feature = "crt-static"))]
#[expect(
    clippy::disallowed_methods,
    reason = "this is the one place that may ask the C library"
)]
fn ask(host: &str, port: u16, deadline: Time) -> io::Result<Vec<SocketAddr>> {
    use std::net::ToSocketAddrs as _;
    let asked = (host.to_owned(), port);
    crate::contact::until(deadline, move || {
        asked.to_socket_addrs().map(Iterator::collect)
    })?
}

#[cfg(target_feature = "crt-static")]
fn ask(host: &str, port: u16, deadline: Time) -> io::Result<Vec<SocketAddr>> {
    let found = resolver::Resolver::of_this_host().look_up(host, deadline)?;
    let addresses = found.into_iter().map(|ip| SocketAddr::new(ip, port));
    Ok(addresses.collect())
}

#[cfg(test)]
mod tests;

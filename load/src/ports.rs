//! Local ports: each connection over TCP takes one of its local address towards its peer (ip(7)),
//! and an address has some 28,000 of them.

use std::net::{IpAddr, Ipv4Addr};

use engine::Address;
use measure::host::Host;

use plan::Invalid;
use probe::LoadError;

/// The share of an address's ports that is used where addresses are free. connect(2) looks for a
/// free port from a random one on and tries every other one first, so it finds one at once as long
/// as half of those are free.
const PORTS_SHARE: u32 = 4;
/// The first address that is taken: 127.0.0.1 is everybody's.
const FIRST: Ipv4Addr = Ipv4Addr::new(127, 0, 1, 1);

/// Checks that `connections` find ports on so many local addresses; the kernel chooses one where
/// there are none given.
fn check(connections: u32, sources: usize, to: &[Address], host: &Host) -> Result<(), Invalid> {
    let Some(ports) = host.ports() else {
        return Ok(());
    };
    let (sources, addresses) = (sources.max(1) as u64, to.len().max(1) as u64);
    // Connections take both in turn, and each pair has all ports.
    let most = u64::from(ports) * lcm(sources, addresses);
    if u64::from(connections) <= most {
        return Ok(());
    }
    let is_one = |address: &Address| match address {
        Address::Tcp(tcp) => tcp.is_ipv6() && tcp.ip().is_loopback(),
        Address::Unix(_) => false,
    };
    let advice = match to.iter().any(is_one) {
        true => "::1 is the only address of its kind, so connect to 127.0.0.1 instead (--ipv4 \
                 does where there's a name), which has as many as it needs"
            .to_owned(),
        false => format!(
            "give at least {} addresses with --source-ip, or widen net.ipv4.ip_local_port_range",
            connections.div_ceil(ports)
        ),
    };
    Err(Invalid(format!(
        "-c {connections}: {sources} local address(es) with {ports} ports each allow only {most} \
         connections; {advice}"
    )))
}

fn lcm(a: u64, b: u64) -> u64 {
    let (mut common, mut rest) = (a, b);
    while rest > 0 {
        (common, rest) = (rest, common % rest);
    }
    a / common * b
}

/// Where connections to such addresses come from: `given`, or where nothing is given towards this
/// very host, and one address has no port for each, as many others of the loopback as have; none
/// where the kernel is to choose.
///
/// # Errors
/// There aren't ports enough.
pub(crate) fn sources(
    connections: u32,
    given: &[IpAddr],
    addresses: &[Address],
    host: &Host,
) -> Result<Vec<IpAddr>, LoadError> {
    let is_loopback = |address: &Address| match address {
        Address::Tcp(tcp) => tcp.is_ipv4() && tcp.ip().is_loopback(),
        Address::Unix(_) => false,
    };
    let mut sources = given.to_vec();
    if given.is_empty() && !addresses.is_empty() && addresses.iter().all(is_loopback) {
        sources = loopback(connections, host);
    }
    if addresses
        .iter()
        .any(|address| matches!(address, Address::Tcp(_)))
    {
        let checked = check(connections, sources.len(), addresses, host);
        checked.map_err(|Invalid(text)| LoadError::Limits(text))?;
    }
    Ok(sources)
}

/// The loopback addresses from which so many connections to this very host find their ports at
/// once; empty where one address has enough.
fn loopback(connections: u32, host: &Host) -> Vec<IpAddr> {
    let each = host
        .ports()
        .map_or(u32::MAX, |ports| (ports / PORTS_SHARE).max(1));
    if connections <= each {
        return Vec::new();
    }
    (0..connections.div_ceil(each))
        .map(|offset| IpAddr::V4(Ipv4Addr::from_bits(FIRST.to_bits() + offset)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host() -> Host {
        Host {
            port_range: Some((32_768, 60_999)),
            ..Host::default()
        }
    }

    fn to(address: &str) -> Vec<Address> {
        vec![Address::Tcp(address.parse().unwrap())]
    }

    #[test]
    fn more_connections_than_ports_are_refused_with_the_addresses_that_they_need() {
        let [one, two] = ["192.0.2.1:80", "192.0.2.2:80"].map(to);
        let both = [one.clone(), two].concat();
        assert_eq!(check(28_232, 0, &one, &host()), Ok(()));
        assert_eq!(check(56_464, 2, &one, &host()), Ok(()));
        let text = check(200_000, 2, &one, &host()).unwrap_err().0;
        assert!(text.contains("at least 8 addresses"), "{text}");
        assert_eq!(check(200_000, 0, &one, &Host::default()), Ok(()));
        // Two addresses of a server have ports of their own.
        assert_eq!(check(56_464, 0, &both, &host()), Ok(()));
        assert_eq!(check(169_392, 3, &both, &host()), Ok(()));
        assert!(
            check(57_000, 2, &both, &host()).is_err(),
            "each has one of them"
        );
    }

    #[test]
    fn addresses_are_found_for_a_server_on_this_host_alone_and_only_where_one_will_not_do() {
        let (own, other) = (to("127.0.0.1:80"), to("192.0.2.1:80"));
        assert_eq!(sources(7_000, &[], &own, &host()), Ok(vec![]));
        let many = sources(100_000, &[], &own, &host()).unwrap();
        assert_eq!(many.len(), 15);
        let given = ["127.0.0.9".parse().unwrap()];
        assert_eq!(sources(7_000, &given, &own, &host()), Ok(given.to_vec()));
        let both = [to("[::1]:80"), own.clone()].concat();
        for (given, to, says) in [
            (&given[..], &own, "at least 4 addresses"),
            (&[], &other, "at least 4 addresses"),
            (&[], &to("[::1]:80"), "connect to 127.0.0.1 instead"),
            (&[], &both, "connect to 127.0.0.1 instead"),
        ] {
            let refused = sources(100_000, given, to, &host()).unwrap_err();
            assert!(refused.to_string().contains(says), "{refused}");
        }
        let unix = [Address::Unix("/tmp/socket".into())];
        assert_eq!(sources(100_000, &[], &unix, &host()), Ok(vec![]));
    }

    #[test]
    fn loopback_has_room_for_any_number() {
        assert_eq!(loopback(7_000, &host()), Vec::<IpAddr>::new());
        let some = loopback(200_000, &host());
        assert_eq!(some.len(), 29);
        assert_eq!(some[0].to_string(), "127.0.1.1");
        assert_eq!(
            check(200_000, some.len(), &to("127.0.0.1:80"), &host()),
            Ok(())
        );
        let many = loopback(1_000_000, &host());
        assert!(many.iter().all(|address| address.is_loopback()));
    }
}

//! Which ports processes listen on, and who listens on one, as /proc tells it: the sockets among a
//! process's descriptors, looked up in the table of its network (proc(5), /proc/PID/fd and
//! /proc/PID/net/tcp).

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// TCP_LISTEN in the column `st` (include/net/tcp_states.h).
const LISTEN: &str = "0A";

/// The ports that these processes listen on; nothing of those that are gone or somebody else's.
pub(crate) fn ports(pids: &[u32]) -> BTreeSet<u16> {
    let mut ports = BTreeSet::new();
    for pid in pids {
        let listening = table(&pid.to_string());
        let own = sockets(*pid).into_iter();
        ports.extend(own.filter_map(|inode| Some(listening.get(&inode)?.port())));
    }
    ports
}

/// Those among `pids` that listen where a connection to `address` and `port` from our own network
/// arrives, as far as we may see that.
pub(crate) fn listeners(pids: &[u32], address: IpAddr, port: u16) -> Vec<u32> {
    let all = table("self");
    let at = |wanted: IpAddr| {
        let here = SocketAddr::new(wanted, port);
        let own = all.iter().filter(move |(_, listening)| **listening == here);
        own.map(|(inode, _)| *inode).collect::<BTreeSet<u64>>()
    };
    // The narrower address is preferred (tcp(7)). A socket of IPv6 for all addresses takes IPv4,
    // too, unless it was told not to, which nobody sees (ipv6(7), IPV6_V6ONLY).
    let wide = [
        IpAddr::V4(Ipv4Addr::UNSPECIFIED),
        IpAddr::V6(Ipv6Addr::UNSPECIFIED),
    ];
    let wide = wide.into_iter().skip(usize::from(address.is_ipv6()));
    let mut places = std::iter::once(address).chain(wide).map(at);
    let inodes = places.find(|inodes| !inodes.is_empty()).unwrap_or_default();
    let listens = |pid: &&u32| sockets(**pid).iter().any(|inode| inodes.contains(inode));
    match inodes.is_empty() {
        true => Vec::new(),
        false => pids.iter().filter(listens).copied().collect(),
    }
}

/// The sockets that listen in the network of a process: inode and address.
fn table(process: &str) -> BTreeMap<u64, SocketAddr> {
    let mut listening = BTreeMap::new();
    for version in ["tcp", "tcp6"] {
        let text = fs::read_to_string(format!("/proc/{process}/net/{version}")).unwrap_or_default();
        listening.extend(text.lines().skip(1).filter_map(listener));
    }
    listening
}

/// The inode and the address of a line, if it is of a socket that listens.
fn listener(line: &str) -> Option<(u64, SocketAddr)> {
    let mut words = line.split_ascii_whitespace();
    let (host, port) = words.nth(1)?.rsplit_once(':')?;
    // After the local address: the other one and the state; six more words before the inode.
    let is_listening = words.nth(1)? == LISTEN;
    let inode = words.nth(5)?.parse().ok()?;
    let port = u16::from_str_radix(port, 16).ok()?;
    is_listening.then_some((inode, SocketAddr::new(address(host)?, port)))
}

/// An address as these tables have it: words of four bytes in the order of this machine, each of
/// which holds bytes in the order of the network.
fn address(hex: &str) -> Option<IpAddr> {
    let word = |at: usize| u32::from_str_radix(hex.get(8 * at..8 * at + 8)?, 16).ok();
    if hex.len() == 8 {
        return Some(Ipv4Addr::from(word(0)?.to_ne_bytes()).into());
    }
    let mut bytes = [0; 16];
    for (at, four) in bytes.chunks_exact_mut(4).enumerate() {
        four.copy_from_slice(&word(at)?.to_ne_bytes());
    }
    Some(Ipv6Addr::from(bytes).to_canonical())
}

/// The inodes of a process's sockets.
fn sockets(pid: u32) -> Vec<u64> {
    let Ok(descriptors) = fs::read_dir(format!("/proc/{pid}/fd")) else {
        return Vec::new();
    };
    let inode = |entry: fs::DirEntry| {
        let target = fs::read_link(entry.path()).ok()?;
        let target = target.to_str()?;
        let inode = target.strip_prefix("socket:[")?.strip_suffix(']')?;
        inode.parse().ok()
    };
    descriptors.flatten().filter_map(inode).collect()
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn the_ports_of_a_process_are_those_that_it_listens_on() {
        let own = [std::process::id()];
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("bound").port();
        assert!(ports(&own).contains(&port));
        drop(listener);
        assert!(!ports(&own).contains(&port));
        assert_eq!(ports(&[u32::MAX]), BTreeSet::new());
        if let Ok(listener) = TcpListener::bind("[::1]:0") {
            let port = listener.local_addr().expect("bound").port();
            assert!(ports(&own).contains(&port));
        }
    }
    #[test]
    fn a_connection_arrives_at_the_narrower_of_two_addresses() {
        let own = [std::process::id()];
        let here = IpAddr::V4(Ipv4Addr::LOCALHOST);
        let listener = TcpListener::bind("0.0.0.0:0").expect("a port");
        let port = listener.local_addr().expect("bound").port();
        assert_eq!(listeners(&own, here, port), own);
        drop(listener);
        assert!(listeners(&own, here, port).is_empty());
        let listener = TcpListener::bind("127.0.0.2:0").expect("a port");
        let port = listener.local_addr().expect("bound").port();
        assert!(listeners(&own, here, port).is_empty());
        let there = IpAddr::V4(Ipv4Addr::new(127, 0, 0, 2));
        assert_eq!(listeners(&own, there, port), own);
        assert!(listeners(&[u32::MAX], there, port).is_empty());
        if let Ok(listener) = TcpListener::bind("[::]:0") {
            let port = listener.local_addr().expect("bound").port();
            for address in [here, IpAddr::V6(Ipv6Addr::LOCALHOST)] {
                assert_eq!(listeners(&own, address, port), own, "{address}");
            }
        }
    }

    #[test]
    fn an_address_is_read_as_the_kernel_writes_it() {
        let word = |bytes: [u8; 4]| format!("{:08X}", u32::from_ne_bytes(bytes));
        let v4 = word([127, 0, 0, 1]);
        assert_eq!(address(&v4), Some(Ipv4Addr::LOCALHOST.into()));
        let zero = word([0; 4]);
        let v6 = [&*zero, &zero, &zero, &word([0, 0, 0, 1])].concat();
        assert_eq!(address(&v6), Some(Ipv6Addr::LOCALHOST.into()));
        let mapped = [&*zero, &zero, &word([0, 0, 255, 255]), &v4].concat();
        assert_eq!(address(&mapped), Some(Ipv4Addr::LOCALHOST.into()));
        assert_eq!(address("0100007"), None);
        assert_eq!(address("nonsense"), None);
    }
}

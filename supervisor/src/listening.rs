//! Which ports processes listen on, as /proc tells it: the sockets among a process's descriptors,
//! looked up in the table of its network (proc(5), /proc/PID/fd and /proc/PID/net/tcp).

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

/// TCP_LISTEN in the column `st` (include/net/tcp_states.h).
const LISTEN: &str = "0A";

/// The ports that these processes listen on; nothing of those that are gone or somebody else's.
pub(crate) fn ports(pids: &[u32]) -> BTreeSet<u16> {
    let mut ports = BTreeSet::new();
    for pid in pids {
        let listening = table(*pid);
        let own = sockets(*pid).into_iter();
        ports.extend(own.filter_map(|inode| listening.get(&inode)).copied());
    }
    ports
}

/// The sockets that listen in the network of a process: inode and port.
fn table(pid: u32) -> BTreeMap<u64, u16> {
    let mut listening = BTreeMap::new();
    for version in ["tcp", "tcp6"] {
        let text = fs::read_to_string(format!("/proc/{pid}/net/{version}")).unwrap_or_default();
        listening.extend(text.lines().skip(1).filter_map(listener));
    }
    listening
}

/// The inode and the port of a line, if it is of a socket that listens.
fn listener(line: &str) -> Option<(u64, u16)> {
    let mut words = line.split_ascii_whitespace();
    let (_, port) = words.nth(1)?.rsplit_once(':')?;
    // After the local address: the other one and the state; six more words before the inode.
    let is_listening = words.nth(1)? == LISTEN;
    let inode = words.nth(5)?.parse().ok()?;
    let port = u16::from_str_radix(port, 16).ok()?;
    is_listening.then_some((inode, port))
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
}

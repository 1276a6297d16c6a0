//! What the kernel's network did meanwhile: the counters that say that something was dropped, sent
//! again or refused, the queues below them, and how many ports are taken.
//!
//! Parsers of /proc/net/snmp, netstat, softnet_stat and sockstat (proc(5), RFC 1213,
//! Documentation/networking/snmp_counter.rst). The counters are the whole host's (of its network
//! namespace): what others do on it is in them.

use std::collections::BTreeMap;
use std::fs;

use serde::{Deserialize, Serialize};

/// The counters that are kept, as group and name: what TCP sent in all, and what went wrong.
const KEPT: [(&str, &str); 22] = [
    ("Tcp", "InSegs"),
    ("Tcp", "OutSegs"),
    ("Tcp", "RetransSegs"),
    ("Tcp", "AttemptFails"),
    ("Tcp", "EstabResets"),
    ("Tcp", "InErrs"),
    ("TcpExt", "ListenOverflows"),
    ("TcpExt", "ListenDrops"),
    ("TcpExt", "TCPSynRetrans"),
    ("TcpExt", "TCPTimeouts"),
    ("TcpExt", "TCPAbortOnMemory"),
    ("TcpExt", "TCPAbortOnTimeout"),
    ("TcpExt", "TCPMemoryPressures"),
    ("TcpExt", "TCPBacklogDrop"),
    ("TcpExt", "TCPRcvQDrop"),
    ("TcpExt", "TCPReqQFullDrop"),
    ("TcpExt", "TCPReqQFullDoCookies"),
    ("TcpExt", "TCPTimeWaitOverflow"),
    ("TcpExt", "PruneCalled"),
    ("TcpExt", "TCPAutoCorking"),
    ("TcpExt", "DelayedACKs"),
    ("TcpExt", "TCPHPHits"),
];

/// What the host's network did in a window.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NetworkUse {
    /// By name, how far each of the kernel's counters moved. One that this kernel does not have is
    /// not in it; empty where none could be read.
    pub tcp: BTreeMap<String, u64>,
    /// Packets that the queues below TCP dropped; null where they could not be read.
    pub softnet_dropped: Option<u64>,
    /// How often the work on these queues was cut short with packets left.
    pub softnet_squeezed: Option<u64>,
    /// TCP sockets at the end of the window, with those that only wait for their time to be over
    /// (TIME_WAIT): each end of a loopback connection counts.
    pub sockets: Option<u64>,
}

impl NetworkUse {
    /// How far counters of TCP moved, together; none where this kernel shows none of them.
    pub fn moved(&self, names: &[&str]) -> Option<u64> {
        let found = names.iter().filter_map(|name| self.tcp.get(*name).copied());
        found.reduce(|sum, more| sum + more)
    }

    /// How many connections a listener refused because its queue was full. What overflows its queue
    /// of connections, or of handshakes without SYN cookies, is in ListenDrops, too
    /// (`tcp_conn_request`, `tcp_v4_syn_recv_sock`).
    pub fn refused(&self) -> Option<u64> {
        let overflows = self.moved(&["ListenOverflows"]);
        overflows.max(self.moved(&["ListenDrops"]))
    }

    /// How many packets sockets dropped, or gave up to make room, because a buffer was full.
    pub fn dropped_by_sockets(&self) -> Option<u64> {
        self.moved(&[
            "TCPBacklogDrop",
            "TCPRcvQDrop",
            "PruneCalled",
            "TCPAbortOnMemory",
        ])
    }
}

/// The counters at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Network {
    tcp: BTreeMap<&'static str, u64>,
    softnet: Option<Softnet>,
}

/// Sums over all processors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Softnet {
    dropped: u64,
    squeezed: u64,
}

impl Network {
    /// Reads them now; what cannot be read is missing.
    pub(crate) fn read() -> Network {
        let text = |path| fs::read_to_string(path).unwrap_or_default();
        let mut tcp = BTreeMap::new();
        counters(&text("/proc/net/snmp"), &mut tcp);
        counters(&text("/proc/net/netstat"), &mut tcp);
        Network {
            tcp,
            softnet: softnet(&text("/proc/net/softnet_stat")),
        }
    }

    /// What happened from an earlier reading to this one.
    pub(crate) fn since(&self, before: &Network) -> NetworkUse {
        let moved = self.tcp.iter().filter_map(|(name, now)| {
            let before = before.tcp.get(name)?;
            Some(((*name).to_owned(), now.saturating_sub(*before)))
        });
        let softnet = self.softnet.zip(before.softnet);
        let part = |of: fn(Softnet) -> u64| {
            softnet.map(|(now, before)| of(now).saturating_sub(of(before)))
        };
        NetworkUse {
            tcp: moved.collect(),
            softnet_dropped: part(|softnet| softnet.dropped),
            softnet_squeezed: part(|softnet| softnet.squeezed),
            sockets: None,
        }
    }
}

/// TCP sockets of both IP versions, now.
pub(crate) fn sockets() -> Option<u64> {
    let read = |path| tcp_sockets(&fs::read_to_string(path).ok()?);
    let four = read("/proc/net/sockstat")?;
    Some(four + read("/proc/net/sockstat6").unwrap_or(0))
}

/// Lines come in pairs: `Group: names …`, then `Group: values …`.
fn counters(text: &str, into: &mut BTreeMap<&'static str, u64>) {
    let lines: Vec<&str> = text.lines().collect();
    for pair in lines.chunks_exact(2) {
        let (Some((group, names)), Some((same, values))) =
            (pair[0].split_once(':'), pair[1].split_once(':'))
        else {
            continue;
        };
        if group != same {
            continue;
        }
        for (name, value) in names.split_whitespace().zip(values.split_whitespace()) {
            let kept = KEPT.iter().find(|kept| **kept == (group, name));
            if let (Some((_, name)), Ok(value)) = (kept, value.parse()) {
                into.insert(name, value);
            }
        }
    }
}

/// A line a processor, hexadecimal: processed, dropped, squeezed, …
fn softnet(text: &str) -> Option<Softnet> {
    let mut sum = Softnet::default();
    for line in text.lines() {
        let mut fields = line.split_whitespace().skip(1);
        let mut next = || u64::from_str_radix(fields.next()?, 16).ok();
        sum.dropped += next()?;
        sum.squeezed += next()?;
    }
    (!text.is_empty()).then_some(sum)
}

/// `TCP: inuse 5 orphan 0 tw 7 …`; the line of IPv6 has `inuse` only.
fn tcp_sockets(text: &str) -> Option<u64> {
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("TCP: ").or(line.strip_prefix("TCP6: ")))?;
    let words: Vec<&str> = line.split_whitespace().collect();
    let number = |name: &str| -> Option<u64> {
        let at = words.iter().position(|word| *word == name)?;
        words.get(at + 1)?.parse().ok()
    };
    Some(number("inuse")? + number("tw").unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SNMP: &str = "Ip: Forwarding DefaultTTL\nIp: 2 64\n\
        Tcp: RtoAlgorithm MaxConn InSegs OutSegs RetransSegs\nTcp: 1 -1 475 474 142\n\
        Udp: InDatagrams InErrs\nUdp: 9 8\n";
    const NETSTAT: &str = "TcpExt: SyncookiesSent ListenOverflows ListenDrops Unheard\n\
        TcpExt: 0 3 5 7\nIpExt: InOctets\nIpExt: 12\n";

    #[test]
    fn counters_are_found_by_group_and_name_whatever_else_a_kernel_counts() {
        let mut found = BTreeMap::new();
        counters(SNMP, &mut found);
        counters(NETSTAT, &mut found);
        let expected = [
            ("InSegs", 475),
            ("ListenDrops", 5),
            ("ListenOverflows", 3),
            ("OutSegs", 474),
            ("RetransSegs", 142),
        ];
        assert_eq!(found, BTreeMap::from(expected));
    }

    #[test]
    fn broken_and_empty_texts_give_nothing() {
        let mut found = BTreeMap::new();
        for text in [
            "",
            "Tcp: InSegs",
            "Tcp: InSegs\nUdp: 5\n",
            "Tcp: InSegs\nTcp: x\n",
        ] {
            counters(text, &mut found);
        }
        assert!(found.is_empty(), "{found:?}");
        assert_eq!(softnet(""), None);
        assert_eq!(softnet("0001 zz\n"), None);
        assert_eq!(tcp_sockets("UDP: inuse 3\n"), None);
    }

    #[test]
    fn drops_of_all_processors_are_added_up() {
        let text = "0cd16de5 00000010 00000008 00000000\n0d9d80c8 00000001 00000019 00000000\n";
        let sum = softnet(text).expect("two lines");
        assert_eq!((sum.dropped, sum.squeezed), (0x11, 0x21));
    }

    #[test]
    fn sockets_that_wait_are_sockets() {
        let text = "sockets: used 5983\nTCP: inuse 5947 orphan 0 tw 8858 alloc 5962 mem 1412\n";
        assert_eq!(tcp_sockets(text), Some(5947 + 8858));
        assert_eq!(tcp_sockets("TCP6: inuse 4\nUDP6: inuse 1\n"), Some(4));
    }

    #[test]
    fn only_what_moved_between_two_readings_counts() {
        let reading = |retransmitted, dropped| Network {
            tcp: BTreeMap::from([("RetransSegs", retransmitted)]),
            softnet: Some(Softnet {
                dropped,
                squeezed: 4,
            }),
        };
        let seen = reading(17, 2).since(&reading(12, 2));
        assert_eq!(seen.tcp, BTreeMap::from([("RetransSegs".to_owned(), 5)]));
        assert_eq!(
            (seen.softnet_dropped, seen.softnet_squeezed),
            (Some(0), Some(0))
        );
        let unknown = reading(17, 2).since(&Network::default());
        assert_eq!(unknown, NetworkUse::default());
    }

    #[test]
    fn a_connection_over_loopback_is_in_this_hosts_counters() {
        let before = Network::read();
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("it is bound");
        let _client = std::net::TcpStream::connect(address).expect("it listens");
        let (_server, _) = listener.accept().expect("somebody connected");
        let sockets = sockets();
        let seen = Network::read().since(&before);
        if let Some(segments) = seen.tcp.get("InSegs") {
            assert!(*segments >= 3, "{seen:?}");
        }
        assert!(sockets.is_none_or(|sockets| sockets >= 3), "{sockets:?}");
    }
}

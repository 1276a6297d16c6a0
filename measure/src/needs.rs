//! What so many connections need of this host, and whether it has that. Asked before the first of
//! them is opened, and by whoever wants to know beforehand.

use std::fs;

use crate::descriptors;
use crate::host::Host;
use crate::quota;
use crate::units::wrk_bytes as bytes;

/// What the kernel takes for one end of a silent connection over TCP: a socket with its inode, its
/// file and its names, and what io_uring keeps for a receive that waits. A million connections with
/// both ends on one host took 8.2 GB of it, those of the two processes included
/// (`records/2026-11-26-2core-kvm-6.18/million.txt`).
const KERNEL_BYTES: u64 = 3_700;
/// What TLS takes in a process for a connection, beyond what is spoken over it: its session, and
/// the records that are being read. `hold` took 4,762 bytes for one of HTTP/1.1, `serve` 4,321
/// (`records/2026-11-27-2core-kvm-6.18/README.md`).
const TLS_BYTES: u64 = 4_400;

/// Descriptors of the process for a ring: its own, that of its waker, and the bell of them all.
const FOR_A_RING: u64 = 3;
/// Descriptors of the process for everything else.
const FOR_THE_REST: u64 = 64;

/// One thing that is needed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Need {
    /// What.
    pub what: &'static str,
    /// What there is of it, and what is needed.
    pub says: String,
    /// What is in the way; `None` where there's enough.
    pub lacks: Option<Lack>,
}

/// What is in the way of so many connections.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lack {
    /// What comes of it.
    pub cost: String,
    /// What changes it; `None` where nothing but fewer connections does.
    pub command: Option<String>,
    /// None of them should be opened: they can't all stand.
    pub hopeless: bool,
}

impl Need {
    /// Why so many can't all stand, and what changes it; `None` where they can.
    pub fn refusal(&self) -> Option<String> {
        let lack = self.lacks.as_ref().filter(|lack| lack.hopeless)?;
        let mut text = format!("{}: {}. {}", self.what, self.says, lack.cost);
        if let Some(command) = &lack.command {
            text.push_str(&format!(" $ {command}"));
        }
        Some(text)
    }
}

/// Connections of which somebody wants to know what they need.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Connections {
    /// How many.
    pub number: u64,
    /// How many ends of each are on this host: 1 or 2.
    pub ends: u64,
    /// What is spoken on them.
    pub spoken: Spoken,
    /// Whether they are over TLS.
    pub tls: bool,
    /// What they go over.
    pub over: Over,
}

/// What is spoken on connections, as far as it makes a difference to their memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spoken {
    /// HTTP/1.1.
    Http1,
    /// WebSocket.
    WebSocket,
    /// HTTP/2.
    Http2,
    /// gRPC, which has sent its first call.
    Grpc,
}

impl Spoken {
    /// What a process takes for a connection: `hold` or `serve`, whichever took more
    /// (`records/2026-11-26-2core-kvm-6.18/million.txt` and
    /// `records/2026-11-27-2core-kvm-6.18/README.md`).
    const fn process_bytes(self) -> u64 {
        match self {
            Spoken::Http1 => 470,
            Spoken::WebSocket => 820,
            Spoken::Http2 => 1_014,
            Spoken::Grpc => 3_031,
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Spoken::Http1 => "HTTP/1.1",
            Spoken::WebSocket => "WebSocket",
            Spoken::Http2 => "HTTP/2",
            Spoken::Grpc => "gRPC",
        }
    }
}

/// What connections go over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Over {
    /// TCP on the loopback, which has as many addresses as it takes.
    Loopback,
    /// TCP otherwise.
    Network,
    /// Sockets in the file system, which have no ports.
    Unix,
}

/// What is known of this host.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// `MemAvailable` of proc_meminfo(5), or what control groups allow, if that is less.
    pub available_bytes: Option<u64>,
    /// The ports of an address: `net.ipv4.ip_local_port_range`.
    pub ports: Option<u32>,
    /// The most open files of a process, which holds for each ring by itself.
    pub descriptors: u64,
    /// Open files of the whole host and their limit, where that holds for this process:
    /// `fs.file-nr`.
    pub files: Option<(u64, u64)>,
    /// Connections that are tracked and how many may be, where any are: `nf_conntrack_count` and
    /// `nf_conntrack_max`.
    pub tracked: Option<(u64, u64)>,
    /// `net.ipv4.tcp_max_tw_buckets`.
    pub time_wait: Option<u64>,
    /// Bytes that buffers of TCP may take: the last of `net.ipv4.tcp_mem`, which is in pages.
    pub buffers_bytes: Option<u64>,
}

impl Facts {
    /// Reads them.
    pub fn read() -> Facts {
        let files = numbers("/proc/sys/fs/file-nr");
        let tracked = numbers("/proc/sys/net/netfilter/nf_conntrack_count");
        let most = numbers("/proc/sys/net/netfilter/nf_conntrack_max");
        let tracked = tracked.first().copied().zip(most.first().copied());
        Facts {
            available_bytes: available_bytes()
                .into_iter()
                .chain(quota::memory_bytes())
                .min(),
            ports: Host::read().ports(),
            descriptors: descriptors::raise_limit(u64::MAX),
            // The limit isn't root's (fs/file_table.c).
            files: match (files.as_slice(), rustix::process::geteuid().is_root()) {
                ([open, _, most, ..], false) => Some((*open, *most)),
                _ => None,
            },
            tracked: tracked.filter(|(count, _)| *count > 0),
            time_wait: numbers("/proc/sys/net/ipv4/tcp_max_tw_buckets")
                .first()
                .copied(),
            buffers_bytes: numbers("/proc/sys/net/ipv4/tcp_mem")
                .get(2)
                .map(|pages| pages.saturating_mul(rustix::param::page_size() as u64)),
        }
    }

    /// What these need.
    pub fn needs(&self, of: Connections) -> Vec<Need> {
        let Connections { number, ends, .. } = of;
        let mut needs = vec![
            self.memory(of),
            Some(self.descriptors(number)),
            self.files(number, ends),
        ];
        if of.over != Over::Unix {
            needs.extend([
                self.ports(number, of.over),
                self.tracked(number),
                self.time_wait(number),
                self.buffers(number, ends),
            ]);
        }
        needs.into_iter().flatten().collect()
    }

    fn memory(&self, of: Connections) -> Option<Need> {
        let Connections {
            number: connections,
            ends,
            ..
        } = of;
        let available = self.available_bytes?;
        let (tls, secured) = match of.tls {
            true => (TLS_BYTES, " and TLS"),
            false => (0, ""),
        };
        let each = ends * (KERNEL_BYTES + of.spoken.process_bytes() + tls);
        let wanted = connections.saturating_mul(each);
        let says = format!(
            "{} of {} available: {} for each silent connection over {}{secured}{}",
            bytes(wanted as f64),
            bytes(available as f64),
            bytes(each as f64),
            of.spoken.name(),
            match ends {
                2 => ", with both its ends on this host",
                _ => "",
            }
        );
        let lacks = (wanted > available).then(|| Lack {
            cost: format!(
                "There is room for about {} connections: use fewer (-c){}.",
                available / each,
                match ends {
                    2 => ", or put the server on another machine",
                    _ => ", or more machines",
                }
            ),
            command: None,
            hopeless: true,
        });
        let what = "memory";
        Some(Need { what, says, lacks })
    }

    fn descriptors(&self, connections: u64) -> Need {
        let own = |limit| {
            let rings = connections.div_ceil(descriptors::places_of_a_ring(limit) as u64);
            (rings, rings * FOR_A_RING + FOR_THE_REST)
        };
        let (rings, wanted) = own(self.descriptors);
        let lacks = (wanted > self.descriptors).then(|| {
            let mut limits = (10..20).map(|bits| 1 << bits);
            let enough = limits.find(|limit| own(*limit).1 <= *limit);
            Lack {
                cost: format!("The process needs {wanted} for so many rings."),
                command: enough.map(|limit| format!("ulimit -n {limit}")),
                hopeless: true,
            }
        });
        Need {
            what: "open files of the process",
            says: format!(
                "{}; with io_uring, which counts them for each ring, {rings} ring(s) will do",
                self.descriptors
            ),
            lacks,
        }
    }

    fn files(&self, connections: u64, ends: u64) -> Option<Need> {
        let (open, most) = self.files?;
        let wanted = open + ends * connections;
        let lacks = (wanted > most).then(|| Lack {
            cost: "Connections beyond that fail.".to_owned(),
            command: Some(format!("sysctl -w fs.file-max={}", wanted + wanted / 10)),
            hopeless: true,
        });
        Some(Need {
            what: "open files of the host",
            says: format!("{wanted} of {most}"),
            lacks,
        })
    }

    /// A port for each connection from an address of this host to one of a server.
    fn ports(&self, connections: u64, over: Over) -> Option<Need> {
        let ports = u64::from(self.ports?);
        let wanted = connections.div_ceil(ports.max(1));
        let says = match over {
            Over::Loopback => format!(
                "{ports} each: hold and run take as many addresses of 127.0.0.0/8 as they need"
            ),
            _ => format!("{ports} each: {wanted} source address(es) needed"),
        };
        let lacks = (over != Over::Loopback && wanted > 1).then(|| Lack {
            cost: format!(
                "One address has {ports} ports towards one address of a server: give {wanted} of \
                 this host's with --source-ip."
            ),
            command: (connections <= 64_000)
                .then(|| "sysctl -w net.ipv4.ip_local_port_range='1024 65535'".to_owned()),
            hopeless: false,
        });
        let what = "ports of an address";
        Some(Need { what, says, lacks })
    }

    fn tracked(&self, connections: u64) -> Option<Need> {
        let (count, most) = self.tracked?;
        let wanted = count + connections;
        let lacks = (wanted > most).then(|| Lack {
            cost: "What isn't tracked is dropped: connections time out.".to_owned(),
            command: Some(format!(
                "sysctl -w net.netfilter.nf_conntrack_max={}",
                wanted + wanted / 10
            )),
            hopeless: true,
        });
        Some(Need {
            what: "tracked connections",
            says: format!("{wanted} of {most}"),
            lacks,
        })
    }

    fn time_wait(&self, connections: u64) -> Option<Need> {
        let most = self.time_wait?;
        let says = match connections > RESET_FROM.into() {
            true => format!("{most}; so many connections end with resets, and none waits"),
            false => format!("{most}; each connection takes one for a minute after its end"),
        };
        Some(Need {
            what: "TIME_WAIT",
            says,
            lacks: None,
        })
    }

    fn buffers(&self, connections: u64, ends: u64) -> Option<Need> {
        const IN_FLIGHT_BYTES: u64 = 4096;
        let most = self.buffers_bytes?;
        let at_once = most / IN_FLIGHT_BYTES;
        let says = format!(
            "{}: enough for {at_once} ends with 4 KiB on their way at once",
            bytes(most as f64)
        );
        let lacks = (ends * connections > at_once).then(|| Lack {
            cost: "Silent connections need none, but if all of them spoke at once, the kernel \
                   would shrink their windows and then reset them."
                .to_owned(),
            command: Some(format!(
                "sysctl -w net.ipv4.tcp_mem='{0} {0} {0}'",
                ends * connections
            )),
            hopeless: false,
        });
        let what = "buffers of TCP";
        Some(Need { what, says, lacks })
    }
}

/// More connections than this are closed with a reset: as many in TIME_WAIT would keep their ports
/// for a minute, and the kernel has no place for very many.
pub const RESET_FROM: u32 = 65_536;

/// The numbers of a file.
fn numbers(path: &str) -> Vec<u64> {
    let text = fs::read_to_string(path).unwrap_or_default();
    let words = text.split_whitespace();
    words.map_while(|word| word.parse().ok()).collect()
}

fn available_bytes() -> Option<u64> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts() -> Facts {
        Facts {
            available_bytes: Some(16 << 30),
            ports: Some(28_232),
            descriptors: 20_000,
            files: Some((1_000, 3_000_000)),
            tracked: None,
            time_wait: Some(131_072),
            buffers_bytes: Some(2 << 30),
        }
    }

    fn of(number: u64, ends: u64) -> Connections {
        Connections {
            number,
            ends,
            spoken: Spoken::Http1,
            tls: false,
            over: match ends {
                1 => Over::Network,
                _ => Over::Loopback,
            },
        }
    }

    fn lacking(facts: &Facts, connections: u64, ends: u64) -> Vec<&'static str> {
        missing(facts, of(connections, ends))
    }

    fn missing(facts: &Facts, of: Connections) -> Vec<&'static str> {
        let needs = facts.needs(of).into_iter();
        let hopeless = needs.filter(|need| need.refusal().is_some());
        hopeless.map(|need| need.what).collect()
    }

    #[test]
    fn what_is_missing_is_named() {
        let here = facts();
        assert_eq!(lacking(&here, 1_000_000, 2), [""; 0]);
        assert_eq!(
            lacking(&here, 2_100_000, 2),
            ["memory", "open files of the host"]
        );
        assert_eq!(lacking(&here, 2_100_000, 1), [""; 0]);
        let tracking = Facts {
            tracked: Some((10, 262_144)),
            ..facts()
        };
        assert_eq!(lacking(&tracking, 300_000, 1), ["tracked connections"]);
        let unix = Connections {
            over: Over::Unix,
            ..of(300_000, 1)
        };
        assert_eq!(missing(&tracking, unix), [""; 0]);
        let tls = Connections {
            tls: true,
            ..of(1_100_000, 2)
        };
        assert_eq!(missing(&here, tls), ["memory"]);
        let spoken = |spoken| Connections {
            spoken,
            ..of(1_400_000, 2)
        };
        assert_eq!(missing(&here, spoken(Spoken::Http2)), [""; 0]);
        assert_eq!(missing(&here, spoken(Spoken::Grpc)), ["memory"]);
        let few = Facts {
            descriptors: 1024,
            ..facts()
        };
        assert_eq!(lacking(&few, 250_000, 1), [""; 0]);
        let needs = few.needs(of(1_000_000, 1)).into_iter();
        let refusals: Vec<String> = needs.filter_map(|need| need.refusal()).collect();
        let [refusal] = &refusals[..] else {
            panic!("{refusals:?}");
        };
        assert!(refusal.ends_with("$ ulimit -n 2048"), "{refusal}");
        let nothing = Facts {
            descriptors: u64::MAX,
            ..Facts::default()
        };
        assert_eq!(lacking(&nothing, 1 << 30, 2), [""; 0]);
    }

    #[test]
    fn source_addresses_are_asked_for_where_they_are_not_found_by_themselves() {
        let with = |ends| {
            let needs = facts().needs(of(1_000_000, ends));
            let ports = needs
                .into_iter()
                .find(|need| need.what == "ports of an address");
            ports.expect("ports").lacks
        };
        assert_eq!(with(2), None);
        assert!(
            with(1)
                .expect("addresses are missing")
                .cost
                .contains("give 36")
        );
    }

    #[test]
    fn the_memory_of_a_connection_is_that_of_what_is_spoken_on_it() {
        let says = |spoken, tls, ends| {
            let needs = facts().needs(Connections {
                spoken,
                tls,
                ..of(1_000, ends)
            });
            let mut needs = needs.into_iter();
            needs
                .find(|need| need.what == "memory")
                .expect("memory")
                .says
        };
        let plain = says(Spoken::Http1, false, 1);
        assert!(
            plain.contains(": 4.07KB for each silent connection over HTTP/1.1"),
            "{plain}"
        );
        let both = says(Spoken::Grpc, true, 2);
        let each = "21.74KB for each silent connection over gRPC and TLS, with both its ends";
        assert!(both.contains(each), "{both}");
    }

    #[test]
    fn this_host_is_read() {
        let facts = Facts::read();
        assert!(facts.available_bytes.is_some_and(|bytes| bytes > 1 << 20));
        assert!(facts.descriptors > 0);
        assert!(facts.ports.is_some() && facts.time_wait.is_some());
    }
}

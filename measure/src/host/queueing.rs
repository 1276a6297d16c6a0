//! The queueing disciplines of this host's network interfaces, as `tc qdisc` lists them: asked of
//! the kernel over rtnetlink(7), since no file shows them.

use std::collections::BTreeMap;
use std::fs;
use std::os::fd::OwnedFd;

use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, send, socket_with,
};

/// What holds packets back: until a time, for a rate, or for good.
const SHAPERS: [&str; 9] = [
    "netem", "tbf", "htb", "hfsc", "cbq", "cake", "taprio", "etf", "plug",
];

/// Interfaces beyond this many are not kept.
const INTERFACES_MAX: usize = 32;
/// More messages than this hold more than a host has.
const READS_MAX: usize = 64;

/// Types of messages (linux/netlink.h, linux/rtnetlink.h).
const NLMSG_ERROR: u16 = 2;
const NLMSG_DONE: u16 = 3;
const RTM_NEWQDISC: u16 = 36;
const RTM_GETQDISC: u16 = 38;
const NLM_F_REQUEST: u16 = 0x1;
const NLM_F_DUMP: u16 = 0x300;
/// The attribute that is the name of a discipline.
const TCA_KIND: u16 = 1;
/// The lengths of struct nlmsghdr and struct tcmsg.
const HEADER: usize = 16;
const TCMSG: usize = 20;

/// The disciplines of each interface by its name, each once, in the kernel's order; none where the
/// kernel does not tell.
pub(super) fn read() -> Option<BTreeMap<String, Vec<String>>> {
    let socket = ask().ok()?;
    let mut found = Vec::new();
    let mut buffer = vec![0; 32 * 1024];
    for _ in 0..READS_MAX {
        // The answer is there when the question was sent; nothing waits here.
        let (length, _) = recv(&socket, &mut buffer[..], RecvFlags::DONTWAIT).ok()?;
        if take(&buffer[..length], &mut found)? {
            return Some(named(&found, &interfaces()));
        }
    }
    None
}

/// Whether a discipline delays packets or limits their rate.
pub(super) fn shapes(discipline: &str) -> bool {
    SHAPERS.contains(&discipline)
}

fn ask() -> rustix::io::Result<OwnedFd> {
    let flags = SocketFlags::CLOEXEC;
    // No protocol is NETLINK_ROUTE.
    let socket = socket_with(AddressFamily::NETLINK, SocketType::RAW, flags, None)?;
    let length = HEADER + TCMSG;
    let mut request = Vec::with_capacity(length);
    request.extend((length as u32).to_ne_bytes());
    request.extend(RTM_GETQDISC.to_ne_bytes());
    request.extend((NLM_F_REQUEST | NLM_F_DUMP).to_ne_bytes());
    request.extend(1u32.to_ne_bytes());
    request.resize(length, 0);
    send(&socket, &request, SendFlags::empty())?;
    Ok(socket)
}

/// Adds the disciplines of a datagram to `found`, each with the number of its interface. Whether it
/// was the last; none if the kernel refuses or it cannot be read.
fn take(mut datagram: &[u8], found: &mut Vec<(u32, String)>) -> Option<bool> {
    while !datagram.is_empty() {
        let length = u32_at(datagram, 0)? as usize;
        let message = datagram.get(..length).filter(|_| length >= HEADER)?;
        match u16_at(message, 4)? {
            NLMSG_DONE => return Some(true),
            NLMSG_ERROR => return None,
            RTM_NEWQDISC => {
                let interface = u32_at(message, HEADER + 4)?;
                let kind = kind(message.get(HEADER + TCMSG..)?)?;
                found.push((interface, kind));
            }
            _ => {}
        }
        datagram = datagram.get(aligned(length)..).unwrap_or_default();
    }
    Some(false)
}

/// The name of a discipline, out of its attributes.
fn kind(mut attributes: &[u8]) -> Option<String> {
    loop {
        let length = u16_at(attributes, 0)? as usize;
        let value = attributes.get(4..length)?;
        if u16_at(attributes, 2)? == TCA_KIND {
            let name = value.split(|byte| *byte == 0).next()?;
            return Some(String::from_utf8_lossy(name).into_owned());
        }
        attributes = attributes.get(aligned(length)..)?;
    }
}

/// Messages and attributes begin at multiples of four.
fn aligned(length: usize) -> usize {
    length.next_multiple_of(4)
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

/// The names of interfaces by their numbers.
fn interfaces() -> BTreeMap<u32, String> {
    let entries = fs::read_dir("/sys/class/net").into_iter().flatten();
    let one = |entry: fs::DirEntry| {
        let number = fs::read_to_string(entry.path().join("ifindex")).ok()?;
        let name = entry.file_name().into_string().ok()?;
        Some((number.trim().parse().ok()?, name))
    };
    entries.flatten().filter_map(one).collect()
}

fn named(
    found: &[(u32, String)],
    interfaces: &BTreeMap<u32, String>,
) -> BTreeMap<String, Vec<String>> {
    let mut all: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (number, kind) in found {
        let Some(name) = interfaces.get(number) else {
            continue;
        };
        if !all.contains_key(name) && all.len() == INTERFACES_MAX {
            continue;
        }
        let kinds = all.entry(name.clone()).or_default();
        if !kinds.contains(kind) {
            kinds.push(kind.clone());
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A message about a discipline, with an attribute before its name.
    fn message(interface: u32, name: &str) -> Vec<u8> {
        let mut attributes = vec![5, 0, 12, 0, 1, 0, 0, 0]; // TCA_HW_OFFLOAD, a byte, padding.
        attributes[..2].copy_from_slice(&5u16.to_ne_bytes());
        attributes[2..4].copy_from_slice(&12u16.to_ne_bytes());
        attributes.extend((4 + name.len() as u16 + 1).to_ne_bytes());
        attributes.extend(TCA_KIND.to_ne_bytes());
        attributes.extend(name.as_bytes());
        attributes.push(0);
        let length = HEADER + TCMSG + attributes.len();
        let mut bytes = header(length as u32, RTM_NEWQDISC);
        bytes.extend(0u32.to_ne_bytes());
        bytes.extend(interface.to_ne_bytes());
        bytes.resize(HEADER + TCMSG, 0);
        bytes.extend(attributes);
        bytes.resize(aligned(length), 0);
        bytes
    }

    fn header(length: u32, kind: u16) -> Vec<u8> {
        let mut bytes = length.to_ne_bytes().to_vec();
        bytes.extend(kind.to_ne_bytes());
        bytes.resize(HEADER, 0);
        bytes
    }

    #[test]
    fn disciplines_are_read_message_by_message_until_the_last() {
        let mut datagram = message(1, "noqueue");
        datagram.extend(message(2, "mq"));
        let mut found = Vec::new();
        assert_eq!(take(&datagram, &mut found), Some(false));
        let mut last = message(2, "fq_codel");
        last.extend(message(2, "fq_codel"));
        last.extend(message(7, "netem"));
        last.extend(header(16, NLMSG_DONE));
        assert_eq!(take(&last, &mut found), Some(true));
        let interfaces = [(1, "lo".to_owned()), (2, "eth0".to_owned())].into();
        let named = named(&found, &interfaces);
        assert_eq!(named["lo"], ["noqueue"]);
        assert_eq!(named["eth0"], ["mq", "fq_codel"]);
        assert_eq!(named.len(), 2, "7 has no name: {named:?}");
    }

    #[test]
    fn what_is_cut_short_or_refused_is_not_known() {
        let whole = message(1, "noqueue");
        for length in 1..whole.len() - 1 {
            let mut found = Vec::new();
            assert_eq!(take(&whole[..length], &mut found), None, "{length}");
        }
        assert_eq!(take(&header(20, NLMSG_ERROR), &mut Vec::new()), None);
        assert_eq!(take(&header(0, NLMSG_DONE), &mut Vec::new()), None);
        assert_eq!(take(&header(16, RTM_NEWQDISC), &mut Vec::new()), None);
        assert_eq!(take(&[], &mut Vec::new()), Some(false));
    }

    #[test]
    fn what_holds_packets_back_is_told_from_what_only_orders_them() {
        assert!(["netem", "tbf", "htb"].into_iter().all(shapes));
        assert!(
            !["noqueue", "pfifo_fast", "fq_codel", "fq", "mq"]
                .into_iter()
                .any(shapes)
        );
    }

    #[test]
    fn this_hosts_loopback_has_a_discipline_where_the_kernel_tells() {
        let found = read();
        if let Some(found) = found.filter(|found| !found.is_empty()) {
            let kinds = found.values().flatten();
            assert!(kinds.clone().count() > 0);
            assert!(kinds.clone().all(|kind| !kind.is_empty()), "{found:?}");
        }
    }
}

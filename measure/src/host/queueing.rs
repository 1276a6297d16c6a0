//! The queueing disciplines of this host's network interfaces, as `tc qdisc` lists them: asked of
//! the kernel over rtnetlink(7), since no file shows them.

use std::collections::BTreeMap;

use super::links::Link;
use super::netlink::{List, attribute, text, u32_at};

/// What holds packets back: until a time, for a rate, or for good.
const SHAPERS: [&str; 9] = [
    "netem", "tbf", "htb", "hfsc", "cbq", "cake", "taprio", "etf", "plug",
];

/// Interfaces beyond this many are not kept.
const INTERFACES_MAX: usize = 32;
/// Types of messages (linux/rtnetlink.h).
const RTM_NEWQDISC: u16 = 36;
const RTM_GETQDISC: u16 = 38;
/// The attribute that is the name of a discipline.
const TCA_KIND: u16 = 1;
/// The length of struct tcmsg.
const TCMSG: usize = 20;

/// Each discipline with the number of its interface.
const DISCIPLINES: List<(u32, String)> = List {
    request: RTM_GETQDISC,
    structure: TCMSG,
    answer: RTM_NEWQDISC,
    read: discipline,
};

/// The disciplines of each interface by its name, each once, in the kernel's order; none where the
/// kernel does not tell.
pub(super) fn read(links: &[Link]) -> Option<BTreeMap<String, Vec<String>>> {
    Some(named(&DISCIPLINES.ask()?, links))
}

/// Whether a discipline delays packets or limits their rate.
pub(super) fn shapes(discipline: &str) -> bool {
    SHAPERS.contains(&discipline)
}

fn discipline(body: &[u8]) -> Option<(u32, String)> {
    let name = attribute(body.get(TCMSG..)?, TCA_KIND)?;
    Some((u32_at(body, 4)?, text(name)?))
}

fn named(found: &[(u32, String)], links: &[Link]) -> BTreeMap<String, Vec<String>> {
    let mut all: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (number, kind) in found {
        let Some(Link { name, .. }) = links.iter().find(|link| link.number == *number) else {
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
    use super::super::netlink::made_up;
    use super::*;

    const TCA_HW_OFFLOAD: u16 = 12;

    /// A message about a discipline, with an attribute before its name.
    fn message(interface: u32, name: &str) -> Vec<u8> {
        let mut structure = [0; TCMSG];
        structure[4..8].copy_from_slice(&interface.to_ne_bytes());
        let name = format!("{name}\0");
        let attributes = [(TCA_HW_OFFLOAD, &[1][..]), (TCA_KIND, name.as_bytes())];
        made_up::message(RTM_NEWQDISC, &structure, &attributes)
    }

    #[test]
    fn disciplines_are_read_message_by_message_until_the_last() {
        let mut datagram = message(1, "noqueue");
        datagram.extend(message(2, "mq"));
        let mut found = Vec::new();
        assert_eq!(DISCIPLINES.take(&datagram, &mut found), Some(false));
        let mut last = message(2, "fq_codel");
        last.extend(message(2, "fq_codel"));
        last.extend(message(7, "netem"));
        last.extend(made_up::last());
        assert_eq!(DISCIPLINES.take(&last, &mut found), Some(true));
        let links = [(1, "lo"), (2, "eth0")].map(|(number, name)| Link {
            number,
            name: name.to_owned(),
            mtu: None,
        });
        let named = named(&found, &links);
        assert_eq!(named["lo"], ["noqueue"]);
        assert_eq!(named["eth0"], ["mq", "fq_codel"]);
        assert_eq!(named.len(), 2, "7 has no name: {named:?}");
    }

    #[test]
    fn a_discipline_that_is_cut_short_is_not_known() {
        let nameless = made_up::message(RTM_NEWQDISC, &[0; TCMSG], &[(TCA_HW_OFFLOAD, &[1])]);
        let short = made_up::message(RTM_NEWQDISC, &[0; TCMSG - 1], &[]);
        for message in [nameless, short] {
            assert_eq!(DISCIPLINES.take(&message, &mut Vec::new()), None);
        }
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
        let found = read(&Link::all().unwrap_or_default());
        if let Some(found) = found.filter(|found| !found.is_empty()) {
            let kinds = found.values().flatten();
            assert!(kinds.clone().count() > 0);
            assert!(kinds.clone().all(|kind| !kind.is_empty()), "{found:?}");
        }
    }
}

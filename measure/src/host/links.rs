//! The network interfaces, as `ip link` lists them. The files below /sys/class/net are those of
//! whoever mounted them; these are those of the network that this process is in.

use super::netlink::{List, attribute, text, u32_at};

/// Types of messages and attributes (linux/rtnetlink.h, linux/if_link.h).
const RTM_NEWLINK: u16 = 16;
const RTM_GETLINK: u16 = 18;
const IFLA_IFNAME: u16 = 3;
const IFLA_MTU: u16 = 4;
/// The length of struct ifinfomsg.
const IFINFOMSG: usize = 16;

const LINKS: List<Link> = List {
    request: RTM_GETLINK,
    structure: IFINFOMSG,
    answer: RTM_NEWLINK,
    read: Link::read,
};

/// A network interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Link {
    pub(super) number: u32,
    pub(super) name: String,
    /// Its largest packet in bytes.
    pub(super) mtu: Option<u32>,
}

impl Link {
    /// All of them; none where the kernel does not tell.
    pub(super) fn all() -> Option<Vec<Link>> {
        LINKS.ask()
    }

    fn read(body: &[u8]) -> Option<Link> {
        let attributes = body.get(IFINFOMSG..)?;
        Some(Link {
            number: u32_at(body, 4)?,
            name: text(attribute(attributes, IFLA_IFNAME)?)?,
            mtu: attribute(attributes, IFLA_MTU).and_then(|value| u32_at(value, 0)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::netlink::made_up::message;
    use super::*;

    #[test]
    fn interfaces_are_read_with_their_numbers_and_names() {
        let mut structure = [0; IFINFOMSG];
        structure[4..8].copy_from_slice(&3u32.to_ne_bytes());
        let mtu = 1500u32.to_ne_bytes();
        let mut datagram = message(
            RTM_NEWLINK,
            &structure,
            &[(IFLA_IFNAME, b"eth0\0"), (IFLA_MTU, &mtu)],
        );
        datagram.extend(message(RTM_NEWLINK, &structure, &[(IFLA_IFNAME, b"tap\0")]));
        let mut found = Vec::new();
        assert_eq!(LINKS.take(&datagram, &mut found), Some(false));
        let link = |name: &str, mtu| Link {
            number: 3,
            name: name.to_owned(),
            mtu,
        };
        assert_eq!(found, [link("eth0", Some(1500)), link("tap", None)]);
        let nameless = message(RTM_NEWLINK, &structure, &[]);
        assert_eq!(LINKS.take(&nameless, &mut Vec::new()), None);
    }

    #[test]
    fn this_network_has_a_loopback_interface_where_the_kernel_tells() {
        let Some(links) = Link::all() else { return };
        let loopback = links.iter().find(|link| link.name == "lo");
        let loopback = loopback.unwrap_or_else(|| panic!("{links:?}"));
        assert_eq!(loopback.number, 1);
        assert!(loopback.mtu.is_some_and(|mtu| mtu >= 576), "{loopback:?}");
    }
}

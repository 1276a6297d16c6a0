//! Lists of local addresses that connections come from, as people write them.

use std::net::IpAddr;

use ipnet::IpNet;

/// The most source addresses of one plan.
const SOURCES_MAX: u128 = 65_536;

/// Reads addresses and networks, separated by commas. A network stands for its hosts: of IPv4
/// without the first and the last address, which are the network's own and its broadcast.
///
/// # Errors
/// What is wrong with the text, and what to give, as the end of a sentence that names the flag.
pub fn sources(text: &str) -> Result<Vec<IpAddr>, String> {
    let mut found = Vec::new();
    for part in text.split(',') {
        let network = network(part.trim()).ok_or(format!(
            "{part:?}: give addresses or networks, such as 127.0.0.2,127.0.1.0/24"
        ))?;
        let total = found.len() as u128 + hosts(&network);
        if total > SOURCES_MAX {
            return Err(format!(
                "{text:?}: that's {total} addresses, but the limit is {SOURCES_MAX}"
            ));
        }
        found.extend(network.hosts());
    }
    Ok(found)
}

/// How many addresses [`IpNet::hosts`] gives: an IPv4 network's own address and its broadcast
/// address are no hosts, unless there are only two.
fn hosts(network: &IpNet) -> u128 {
    let bits = network.max_prefix_len() - network.prefix_len();
    let all = 1u128.checked_shl(bits.into()).unwrap_or(u128::MAX);
    match network {
        IpNet::V4(_) if bits >= 2 => all - 2,
        _ => all,
    }
}

/// Reads a network, or a single address, which is one of itself alone.
fn network(text: &str) -> Option<IpNet> {
    let alone = || text.parse::<IpAddr>().ok().map(IpNet::from);
    text.parse().ok().or_else(alone)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(text: &str) -> Vec<String> {
        sources(text)
            .unwrap()
            .iter()
            .map(ToString::to_string)
            .collect()
    }

    #[test]
    fn networks_stand_for_their_hosts() {
        assert_eq!(listed("127.0.0.2,10.0.0.1"), ["127.0.0.2", "10.0.0.1"]);
        assert_eq!(listed("127.0.1.5/30"), ["127.0.1.5", "127.0.1.6"]);
        assert_eq!(listed("127.0.1.4/31"), ["127.0.1.4", "127.0.1.5"]);
        assert_eq!(listed("127.0.1.4/32"), ["127.0.1.4"]);
        assert_eq!(listed("fd00::/127"), ["fd00::", "fd00::1"]);
        assert_eq!(sources("127.0.0.0/16").unwrap().len(), 65_534);
    }

    #[test]
    fn bad_or_boundless_networks_are_refused() {
        for text in ["", "localhost", "127.0.0.1/33", "127.0.0.1/", "::/0/1"] {
            assert!(
                sources(text).unwrap_err().contains("give addresses"),
                "{text}"
            );
        }
        for text in ["127.0.0.0/8", "0.0.0.0/0", "::/0"] {
            assert!(
                sources(text).unwrap_err().contains("the limit is 65536"),
                "{text}"
            );
        }
    }
}

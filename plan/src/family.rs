//! Over which version of IP connections are made, where that was asked for.

use std::fmt;
use std::net::IpAddr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::invalid::Invalid;

/// A version of IP: names are resolved to addresses of it alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Family {
    /// RFC 791.
    Ipv4,
    /// RFC 8200.
    Ipv6,
}

impl Family {
    /// Whether an address is of it.
    pub fn has(self, address: IpAddr) -> bool {
        address.is_ipv4() == (self == Family::Ipv4)
    }

    /// The flag that asks for it.
    pub fn flag(self) -> &'static str {
        match self {
            Family::Ipv4 => "--ipv4",
            Family::Ipv6 => "--ipv6",
        }
    }

    /// Checks that neither the `host` that connections go to nor where they come from is of another
    /// family, as far as that is known before names are resolved.
    pub(crate) fn validate(
        self,
        host: &str,
        is_unix: bool,
        sources: &[IpAddr],
    ) -> Result<(), Invalid> {
        let flag = self.flag();
        if is_unix {
            return Err(Invalid(format!(
                "--unix-socket and {flag} contradict each other: give only one of them"
            )));
        }
        let other = |address: &IpAddr| !self.has(*address);
        let source = sources.iter().copied().find(other);
        let (what, address) = match (host.parse().ok().filter(other), source) {
            (Some(address), _) => ("", address),
            (None, Some(address)) => ("--source-ip ", address),
            (None, None) => return Ok(()),
        };
        Err(Invalid(format!(
            "{what}{address} isn't an {self} address: drop {flag}, or give another address"
        )))
    }
}

impl fmt::Display for Family {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Family::Ipv4 => "IPv4",
            Family::Ipv6 => "IPv6",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::Family::{Ipv4, Ipv6};
    use super::*;
    use crate::Target;

    #[test]
    fn addresses_of_another_family_are_refused_and_names_are_not_known_yet() {
        let check = |family: Family, url: &str, source: Option<&str>, to: Option<&str>| {
            let target = Target::parse(url).unwrap();
            let host = to.unwrap_or(&target.host);
            let sources: Vec<IpAddr> = source.map(|ip| ip.parse().unwrap()).into_iter().collect();
            let checked = family.validate(host, false, &sources);
            checked.map_err(|Invalid(text)| text)
        };
        assert_eq!(
            check(Ipv4, "http://10.0.0.1/", Some("10.0.0.2"), None),
            Ok(())
        );
        assert_eq!(check(Ipv6, "http://[::1]/", Some("::1"), None), Ok(()));
        assert_eq!(check(Ipv6, "http://example.org/", None, None), Ok(()));
        // Where it connects counts, and not what the URL says.
        assert_eq!(check(Ipv6, "http://10.0.0.1/", None, Some("::1")), Ok(()));
        for (family, url, source, to, begins) in [
            (
                Ipv6,
                "http://10.0.0.1/",
                None,
                None,
                "10.0.0.1 isn't an IPv6",
            ),
            (Ipv4, "http://[::1]/", None, None, "::1 isn't an IPv4"),
            (Ipv4, "http://x/", None, Some("::1"), "::1 isn't an IPv4"),
            (
                Ipv6,
                "http://x/",
                Some("10.0.0.1"),
                None,
                "--source-ip 10.0.0.1",
            ),
        ] {
            let text = check(family, url, source, to).unwrap_err();
            let way_out = format!("drop {}", family.flag());
            assert!(
                text.starts_with(begins) && text.contains(&way_out),
                "{text}"
            );
        }
        let Invalid(text) = Ipv4.validate("x", true, &[]).unwrap_err();
        assert!(text.contains("contradict"), "{text}");
    }
}

//! Where a subject is asked.

use std::net::IpAddr;

use load::protocol::Tls;

/// Where a subject is asked.
#[derive(Clone, Copy, Debug, Default)]
pub struct At<'a> {
    /// Name or address, without brackets; none is this host.
    pub host: Option<&'a str>,
    /// The one of the name's addresses that is asked; none: as the name is resolved.
    pub address: Option<IpAddr>,
    /// Its port.
    pub port: u16,
    /// Whether over TLS.
    pub tls: bool,
    /// How TLS is used; none accepts any certificate, since subjects make theirs as they start.
    pub trust: Option<&'a Tls>,
}

impl At<'_> {
    /// As it stands in a URL (RFC 3986 §3.2.2).
    pub(crate) fn authority(self) -> String {
        match self.host {
            Some(host) if host.contains(':') => format!("[{host}]:{}", self.port),
            host => format!("{}:{}", host.unwrap_or("127.0.0.1"), self.port),
        }
    }
}

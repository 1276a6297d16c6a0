//! How connections are made, whatever is done with them.

use std::path::PathBuf;

use clap::Args;
use load::plan::Family;

use super::values;

/// The heading under which these stand in a help.
pub(super) const CONNECTION: &str = "Connections";

/// Where connections go instead, over which version of IP, where they come from, through which
/// proxy, and the buffers of their sockets.
#[derive(Debug, Args)]
pub(crate) struct Sockets {
    /// Connect to this Unix socket instead of TCP
    #[arg(long, value_name = "PATH", help_heading = CONNECTION)]
    pub(crate) unix_socket: Option<PathBuf>,

    /// Connect to HOST2:PORT2 instead of HOST:PORT, as in curl; empty parts match anything or stay
    /// as they are (repeatable; the first match counts)
    #[arg(long, value_name = "HOST:PORT:HOST2:PORT2", help_heading = CONNECTION)]
    pub(crate) connect_to: Vec<String>,

    /// Resolve names to IPv4 addresses only
    #[arg(short = '4', long, conflicts_with = "ipv6", help_heading = CONNECTION)]
    pub(crate) ipv4: bool,

    /// Resolve names to IPv6 addresses only
    #[arg(short = '6', long, help_heading = CONNECTION)]
    pub(crate) ipv6: bool,

    /// Local addresses to connect from, in turn: 127.0.0.2,127.0.0.3 or 127.0.1.0/24
    #[arg(long, value_name = "LIST|CIDR", help_heading = CONNECTION)]
    pub(crate) source_ip: Option<String>,

    /// Connect over this network device (SO_BINDTODEVICE), or from this local address
    #[arg(long, value_name = "NAME|ADDRESS", help_heading = CONNECTION)]
    pub(crate) interface: Option<String>,

    /// Go through an HTTP proxy, http://[USER:PASSWORD@]HOST:PORT: requests to http:// in absolute
    /// form, everything else through a CONNECT tunnel (http_proxy and the like aren't read)
    #[arg(long, value_name = "URL", help_heading = CONNECTION)]
    pub(crate) proxy: Option<String>,

    /// Receive buffer of each socket (SO_RCVBUF)
    #[arg(long, value_name = "SIZE", value_parser = values::size, help_heading = CONNECTION)]
    pub(crate) rcvbuf: Option<usize>,

    /// Send buffer of each socket (SO_SNDBUF)
    #[arg(long, value_name = "SIZE", value_parser = values::size, help_heading = CONNECTION)]
    pub(crate) sndbuf: Option<usize>,
}

impl Sockets {
    /// The version of IP that was asked for.
    pub(crate) fn family(&self) -> Option<Family> {
        match (self.ipv4, self.ipv6) {
            (true, _) => Some(Family::Ipv4),
            (_, true) => Some(Family::Ipv6),
            _ => None,
        }
    }
}

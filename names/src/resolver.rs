//! Which names are asked for, of whom, and how often: hosts(5) first, then resolv.conf(5).

use std::fs;
use std::io::{self, ErrorKind};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV6, UdpSocket};
use std::time::Duration;

use measure::time::Time;
use plan::Family;
use resolv_conf::{Config, ScopedIp};
use simple_dns::TYPE;

use super::dns::{self, Said};
use super::hosts;

/// Where name servers listen.
const PORT: u16 = 53;
/// What the C library takes at most (resolv.conf(5)).
const NDOTS_MAX: u32 = 15;
const TIMEOUT_S_MAX: u32 = 30;
const ATTEMPTS_MAX: u32 = 5;

/// Everything that this host says about names.
#[derive(Debug)]
pub(super) struct Resolver {
    /// The text of hosts(5).
    hosts: String,
    pub(super) servers: Vec<SocketAddr>,
    /// Whether resolv.conf(5) names them; else it's the one on this host.
    named: bool,
    /// What is hung on names of few parts.
    search: Vec<String>,
    /// Names with so many dots are asked for as they are, first.
    ndots: usize,
    /// How long each server gets, each time.
    pub(super) patience: Duration,
    attempts: u32,
    kinds: &'static [TYPE],
    /// Of which addresses shall be; none: of any.
    family: Option<Family>,
}

impl Resolver {
    /// What this host's files say. Those that can't be read say nothing.
    pub(super) fn of_this_host() -> Resolver {
        let read = |path| fs::read(path).unwrap_or_default();
        Resolver::new(&read("/etc/hosts"), &read("/etc/resolv.conf"))
    }

    /// What these two files say. What can't be understood of them counts as not said.
    pub(super) fn new(hosts: &[u8], settings: &[u8]) -> Resolver {
        let (mut settings, _) = Config::parse_with_errors(settings);
        settings.glibc_normalize();
        let mut servers: Vec<SocketAddr> = settings.nameservers.iter().map(server).collect();
        let named = !servers.is_empty();
        if !named {
            servers.push((Ipv4Addr::LOCALHOST, PORT).into());
        }
        Resolver {
            hosts: String::from_utf8_lossy(hosts).into_owned(),
            servers,
            named,
            search: settings
                .get_last_search_or_domain()
                .map(|domain| domain.trim_matches('.').to_owned())
                .filter(|domain| !domain.is_empty())
                .collect(),
            ndots: settings.ndots.min(NDOTS_MAX) as usize,
            patience: Duration::from_secs(settings.timeout.clamp(1, TIMEOUT_S_MAX).into()),
            attempts: settings.attempts.clamp(1, ATTEMPTS_MAX),
            kinds: if settings.no_aaaa {
                &[TYPE::A]
            } else {
                dns::BOTH
            },
            family: None,
        }
    }

    /// The same for addresses of `family` alone, if there is one. No others are asked for.
    pub(super) fn only(mut self, family: Option<Family>) -> Resolver {
        self.family = family;
        self.kinds = match family {
            None => self.kinds,
            Some(Family::Ipv4) => &[TYPE::A],
            // Not even these where the settings say `no-aaaa`.
            Some(Family::Ipv6) if !self.kinds.contains(&TYPE::AAAA) => &[],
            Some(Family::Ipv6) => &[TYPE::AAAA],
        };
        self
    }

    /// The addresses of `name`, those that this host has a way to before others.
    pub(super) fn look_up(&self, name: &str, deadline: Time) -> io::Result<Vec<IpAddr>> {
        // A dot at the end says that nothing is to be hung on it.
        let bare = name.strip_suffix('.').unwrap_or(name);
        let wanted = |ip: &IpAddr| self.family.is_none_or(|family| family.has(*ip));
        let mut found = hosts::addresses(&self.hosts, bare);
        found.retain(wanted);
        if hosts::is_this_host(bare) {
            found = hosts::of_this_host(found);
            found.retain(wanted);
        } else if found.is_empty() {
            found = self.search(name, deadline)?;
        }
        // RFC 6724, section 6: rule 1, then the new protocol before the old one.
        found.sort_by_cached_key(|ip| (!has_a_way(*ip), ip.is_ipv4()));
        Ok(found)
    }

    /// Asks for one name after the other until one has addresses.
    fn search(&self, name: &str, deadline: Time) -> io::Result<Vec<IpAddr>> {
        let mut nothing = None;
        for name in self.candidates(name) {
            let (server, said) = self.ask(&name, deadline)?;
            let why = match said {
                Said::Addresses(found) if !found.is_empty() => return Ok(found),
                Said::Addresses(_) => match self.family {
                    None => "knows no address of it",
                    Some(Family::Ipv4) => "knows no IPv4 address of it",
                    Some(Family::Ipv6) => "knows no IPv6 address of it",
                },
                Said::NoSuchName => "knows no such name",
            };
            let why = format!("the name server {} {why}", server.ip());
            nothing = Some(io::Error::new(ErrorKind::NotFound, why));
        }
        Err(nothing.unwrap_or_else(|| ErrorKind::NotFound.into()))
    }

    /// The names that `name` may stand for.
    pub(super) fn candidates(&self, name: &str) -> Vec<String> {
        if let Some(whole) = name.strip_suffix('.') {
            return vec![whole.to_owned()];
        }
        let longer = |domain| format!("{name}.{domain}");
        let mut names: Vec<String> = self.search.iter().map(longer).collect();
        let first = name.matches('.').count() >= self.ndots;
        names.insert(if first { 0 } else { names.len() }, name.to_owned());
        names
    }

    /// Asks one server after the other, until one answers or each has been asked often enough.
    fn ask(&self, name: &str, deadline: Time) -> io::Result<(SocketAddr, Said)> {
        let mut failed = None;
        for _ in 0..self.attempts {
            for server in &self.servers {
                let now = Time::now();
                if now >= deadline && failed.is_some() {
                    break;
                }
                let until = deadline.min(now + self.patience);
                match dns::ask(*server, name, self.kinds, until) {
                    Ok(said) => return Ok((*server, said)),
                    Err(why) if why.kind() == ErrorKind::InvalidInput => return Err(why),
                    Err(why) => failed = Some(self.describe(*server, &why)),
                }
            }
        }
        Err(failed.unwrap_or_else(|| ErrorKind::TimedOut.into()))
    }

    /// What a name server did instead of answering, and where its address comes from.
    fn describe(&self, server: SocketAddr, why: &io::Error) -> io::Error {
        let ip = server.ip();
        let server = if self.named {
            format!("the name server {ip} of /etc/resolv.conf")
        } else {
            format!("/etc/resolv.conf names no name server, and one at {ip}")
        };
        let text = match why.kind() {
            ErrorKind::TimedOut => format!("{server} doesn't answer"),
            ErrorKind::Other => format!("{server} {why}"),
            _ => format!("{server} can't be asked: {why}"),
        };
        io::Error::new(why.kind(), text)
    }
}

/// The address of a name server. One that's valid on one link only names the link after `%`.
fn server(written: &ScopedIp) -> SocketAddr {
    match written {
        ScopedIp::V4(ip) => (*ip, PORT).into(),
        ScopedIp::V6(ip, scope) => {
            let link = scope.as_deref().and_then(link).unwrap_or(0);
            SocketAddrV6::new(*ip, PORT, 0, link).into()
        }
    }
}

/// The number of a link that is named, or numbered already.
fn link(name: &str) -> Option<u32> {
    let numbered = || fs::read_to_string(format!("/sys/class/net/{name}/ifindex")).ok();
    let number = name.parse().ok();
    number.or_else(|| numbered()?.trim().parse().ok())
}

/// Whether packets to `ip` would leave: connecting such a socket looks for a way and sends nothing.
fn has_a_way(ip: IpAddr) -> bool {
    let local: IpAddr = match ip {
        IpAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        IpAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    let socket = UdpSocket::bind((local, 0));
    socket.is_ok_and(|socket| socket.connect((ip, PORT)).is_ok())
}

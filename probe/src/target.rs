//! From a plan's target to addresses, and what to say when nobody is there.

use std::fs;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream, UdpSocket};

use engine::{Address, bind_to_device};
use measure::foreign::Foreign;
use measure::time::Time;

use crate::LoadError;
use names::{left, look_up};
use plan::Contact;

/// The addresses to connect to, in the resolver's order. Connections take them in turn.
///
/// # Errors
/// There is none, or the resolver doesn't answer before `deadline`.
pub fn resolve(contact: &Contact, deadline: Time) -> Result<Vec<Address>, LoadError> {
    let target = &contact.target;
    if let Some(path) = &target.unix_socket {
        contact.permits.check_unix(path)?;
        return Ok(vec![Address::Unix(path.clone())]);
    }
    let (host, port) = contact.peer();
    let elsewhere = match contact.proxy {
        Some(_) => "give another --proxy",
        None => "connect elsewhere with --connect-to",
    };
    let wanted = contact.family;
    let found = look_up(host, port, wanted, deadline).map_err(|why| {
        LoadError::Unresolved(format!(
            "can't resolve {host:?} ({why}): check the name, or {elsewhere}"
        ))
    })?;
    if let Some(wanted) = wanted.filter(|_| found.is_empty()) {
        return Err(LoadError::Unresolved(format!(
            "{host:?} has no {wanted} address: drop {}, or {elsewhere}",
            wanted.flag()
        )));
    }
    let family = contact.source_addresses.first().map(IpAddr::is_ipv4);
    let found: Vec<SocketAddr> = found
        .into_iter()
        .filter(|address| family.is_none_or(|v4| address.is_ipv4() == v4))
        .collect();
    let mut all = found.iter();
    let is_proxy = contact.proxy.is_some();
    all.try_for_each(|address| contact.permits.check(*address, is_proxy))?;
    let first = found.first().copied().ok_or_else(|| {
        LoadError::Unresolved(format!(
            "{host:?} has no address of the same family as --source-ip"
        ))
    })?;
    let alive = alive(&found, deadline);
    let chosen = if alive.is_empty() { vec![first] } else { alive };
    Ok(chosen.into_iter().map(Address::Tcp).collect())
}

/// `localhost` is often both ::1 and 127.0.0.1, of which a server may hold only one: a family of
/// loopback that refuses is left out. Of several addresses of one family each is wanted, and
/// `reach` says which one isn't there.
fn alive(found: &[SocketAddr], deadline: Time) -> Vec<SocketAddr> {
    let is_v4 = SocketAddr::is_ipv4;
    if found.iter().all(is_v4) || !found.iter().any(is_v4) {
        return found.to_vec();
    }
    let mut unasked = found.len() as u32;
    let mut is_alive = |address: &SocketAddr| {
        // Each gets its share of the time, and so does what comes after.
        let share = left(deadline).map(|left| left / (unasked + 1));
        unasked -= 1;
        let connected = |share| TcpStream::connect_timeout(address, share);
        // One whose backlog is full doesn't answer: something listens there.
        !address.ip().is_loopback()
            || match share.and_then(connected) {
                Ok(_) => true,
                Err(why) => why.kind() == io::ErrorKind::TimedOut,
            }
    };
    let alive: Vec<&SocketAddr> = found.iter().filter(|address| is_alive(address)).collect();
    let lives = |address: &SocketAddr| alive.iter().any(|one| is_v4(one) == is_v4(address));
    let chosen = found.iter().filter(|address| lives(address));
    chosen.copied().collect()
}

/// The sentence for a peer that cannot be connected to.
pub fn unreachable(contact: &Contact, address: &Address, why: &io::Error) -> LoadError {
    let advice = match why.kind() {
        io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock
            if matches!(address, Address::Unix(_)) =>
        {
            "its queue of new connections stays full: does the server still accept any?"
        }
        io::ErrorKind::ConnectionRefused => {
            "nothing is listening there: start the server, or check the port"
        }
        io::ErrorKind::NotFound => "there's no such socket: start the server, or check the path",
        io::ErrorKind::PermissionDenied => "you may not connect to it: check its permissions",
        io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock => {
            "it doesn't answer: check the address and the firewall"
        }
        _ => "check the address",
    };
    let what = match contact.proxy {
        Some(_) => "the proxy ",
        None => "",
    };
    LoadError::Unreachable(format!(
        "{}: can't connect to {what}{address} ({why}); {advice}",
        contact.url()
    ))
}

/// Where Linux lists the network devices (sysfs(5)).
const DEVICES: &str = "/sys/class/net";

/// Checks that connections can be bound to the device `name`.
///
/// # Errors
/// There is no such device; the sentence says which there are. Or this process may not do that.
pub fn check_interface(name: Option<&str>) -> Result<(), LoadError> {
    let Some(name) = name else {
        return Ok(());
    };
    let bound = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))
        .and_then(|socket| bind_to_device(&socket, name));
    bound.map_err(|why| {
        let shown = Foreign::new(name);
        LoadError::Unreachable(match why.kind() {
            io::ErrorKind::PermissionDenied => format!(
                "--interface {shown}: this process may not bind sockets to a device ({why}): that \
                 takes Linux 5.7 or CAP_NET_RAW; or give an address of the device instead"
            ),
            _ => format!(
                "--interface {shown}: there's no such network device ({why}); there are {}",
                devices().join(", ")
            ),
        })
    })
}

/// The names of the network devices that there are, in order.
fn devices() -> Vec<String> {
    let entries = fs::read_dir(DEVICES).into_iter().flatten().flatten();
    // Files such as `bonding_masters` stand beside them.
    let devices = entries.filter(|entry| entry.path().is_dir());
    let names = devices.map(|entry| Foreign::new(entry.file_name().to_string_lossy()).to_string());
    let mut names: Vec<String> = names.collect();
    names.sort_unstable();
    names
}

/// Checks that every source address belongs to this host (bind(2), `EADDRNOTAVAIL`).
pub fn check_sources(sources: &[IpAddr]) -> Result<(), LoadError> {
    for source in sources {
        UdpSocket::bind((*source, 0)).map_err(|why| {
            LoadError::Unreachable(format!(
                "--source-ip {source} isn't an address of this host ({why}): add it with `ip \
                 address add {source} dev …`, or for a server on loopback use one from 127.0.0.0/8"
            ))
        })?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv6Addr, TcpListener};
    use std::time::Duration;

    use plan::{Family, Plan};
    use rustix::net::{AddressFamily, SocketType, bind, listen, socket};

    use super::*;

    /// A listener that accepts nothing, and connections that fill its backlog.
    fn full(ip: &str) -> (TcpListener, Vec<TcpStream>) {
        let socket = socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
        bind(&socket, &SocketAddr::new(ip.parse().unwrap(), 0)).unwrap();
        listen(&socket, 0).unwrap();
        let listener = TcpListener::from(socket);
        let address = listener.local_addr().unwrap();
        let patience = Duration::from_millis(100);
        let another = || TcpStream::connect_timeout(&address, patience).ok();
        (listener, std::iter::from_fn(another).collect())
    }

    #[test]
    fn a_family_that_refuses_is_left_out_a_full_one_is_not_waited_for_and_of_one_each_is_wanted() {
        let (busy, filling) = full("127.0.0.1");
        assert!(!filling.is_empty());
        let gone = TcpListener::bind("127.0.0.3:0").unwrap();
        let [busy, gone_address] = [&busy, &gone].map(|it| it.local_addr().unwrap());
        drop(gone);
        let begun = Time::now();
        let deadline = begun + Duration::from_secs(8);
        let nobody = SocketAddr::from((Ipv6Addr::LOCALHOST, gone_address.port()));
        let both = [busy, gone_address];
        assert_eq!(alive(&[nobody, busy, gone_address], deadline), both);
        assert_eq!(alive(&[nobody, gone_address], deadline), []);
        // The kernel would try for two minutes (tcp_syn_retries, tcp(7)).
        assert!(Time::now() < deadline);
        assert_eq!(alive(&both, Time(0)), both, "they aren't asked");
    }

    #[test]
    fn a_host_without_an_address_of_the_family_is_refused_with_a_sentence() {
        let mut plan = Plan::new("http://127.0.0.1:1/").unwrap();
        plan.family = Some(Family::Ipv4);
        let deadline = Time::now() + Duration::from_secs(8);
        assert_eq!(resolve(&plan.contact(), deadline).unwrap().len(), 1);
        plan.family = Some(Family::Ipv6);
        let text = resolve(&plan.contact(), deadline).unwrap_err().to_string();
        assert!(text.contains("has no IPv6 address: drop --ipv6"), "{text}");
    }

    #[test]
    fn a_device_that_is_not_there_is_refused_with_those_that_are() {
        assert_eq!(check_interface(None), Ok(()));
        assert_eq!(check_interface(Some("lo")), Ok(()));
        let text = check_interface(Some("nowhere0")).unwrap_err().to_string();
        assert!(
            text.contains("--interface nowhere0: there's no such"),
            "{text}"
        );
        let (_, listed) = text.split_once("; there are ").unwrap();
        assert!(listed.split(", ").any(|name| name == "lo"), "{text}");
    }

    #[test]
    fn a_single_address_is_not_asked() {
        let (busy, _filling) = full("127.0.0.1");
        let busy = busy.local_addr().unwrap();
        assert_eq!(alive(&[busy], Time(0)), [busy]);
    }
}

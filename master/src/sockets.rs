//! The listening sockets of a master: opened, or taken over from systemd or from an earlier master.

use std::collections::BTreeSet;
use std::env;
use std::os::fd::{OwnedFd, RawFd};

use engine::inherited;
use ringside_server::{Address, EngineChoice, Listening, Share};
use rustix::fs::OFlags;
use rustix::net::Shutdown;

use crate::channel::Channel;
use crate::settings::{Error, Settings};

/// What makes a process a master that takes over from another: the descriptor of its channel to
/// that one, whether the sockets are systemd's, that of the admin's socket or `-`, and those of the
/// listening sockets.
pub(crate) const MASTER: &str = "RINGSIDE_MASTER";

/// The first descriptor that systemd hands over (sd_listen_fds(3)).
const SYSTEMD_FIRST: RawFd = 3;
/// The name by which a socket of systemd is the admin's (`FileDescriptorName=`).
const ADMIN_NAME: &str = "admin";

/// What a master listens on.
#[derive(Debug, Default)]
pub(crate) struct Sockets {
    /// One for each worker, or fewer, which they share.
    pub(crate) all: Vec<Listening>,
    /// Those of [`Sockets::all`] that nobody can connect to.
    pub(crate) detached: BTreeSet<usize>,
    pub(crate) admin: Option<Listening>,
    /// They belong to systemd, which goes on listening when this service has ended.
    pub(crate) systemds: bool,
}

/// A master that this one takes over from.
#[derive(Debug)]
pub(crate) struct Predecessor(pub(crate) Channel);

impl Sockets {
    /// Takes over what there is, or opens what is missing.
    pub(crate) fn obtain(settings: &Settings) -> Result<(Sockets, Option<Predecessor>), Error> {
        if let Ok(text) = env::var(MASTER) {
            let (sockets, predecessor) = of_master(&text)?;
            return Ok((sockets.complete(settings)?, Some(predecessor)));
        }
        let systemd = of_systemd(settings)?;
        let sockets = systemd.unwrap_or_default();
        Ok((sockets.complete(settings)?, None))
    }

    /// What drives them, by the mode that they're in: epoll wants not to be made to wait.
    pub(crate) fn engine(&self) -> Option<EngineChoice> {
        let flags = rustix::fs::fcntl_getfl(self.all.first()?).ok()?;
        Some(match flags.contains(OFlags::NONBLOCK) {
            true => EngineChoice::Epoll,
            false => EngineChoice::Uring,
        })
    }

    /// That of a worker.
    pub(crate) fn of(&self, place: usize) -> &Listening {
        &self.all[self.number(place)]
    }

    /// Which of them is a worker's: that of the next one whose own was taken from clients.
    pub(crate) fn number(&self, place: usize) -> usize {
        let count = self.all.len();
        let mut numbers = (place..place + count).map(|one| one % count);
        let attached = numbers.find(|number| !self.detached.contains(number));
        attached.unwrap_or(place % count)
    }

    /// Those that somebody can connect to.
    pub(crate) fn attached(&self) -> impl Iterator<Item = &Listening> {
        let all = self.all.iter().enumerate();
        all.filter_map(|(number, one)| (!self.detached.contains(&number)).then_some(one))
    }

    /// Has nobody connect to a socket of which nobody accepts, so that the kernel gives all to the
    /// others (SO_REUSEPORT in socket(7)). Those who wait there are told that it's over, unless the
    /// kernel gives them to others, too (`tcp_migrate_req` in the kernel's ip-sysctl). Says whether
    /// it did: not those of systemd, which may have addresses of their own, and not the last one.
    pub(crate) fn detach(&mut self, number: usize) -> bool {
        if self.systemds || self.attached().count() < 2 {
            return false;
        }
        let shut = rustix::net::shutdown(&self.all[number], Shutdown::Both).is_ok();
        shut && self.detached.insert(number)
    }

    /// Gives a place its own socket again.
    pub(crate) fn attach(&mut self, place: usize, backlog: u32) -> Result<(), Error> {
        let number = place % self.all.len();
        if self.detached.contains(&number) {
            let address = self.all[number].address().clone();
            self.all[number] = open_one(&address, Some(Share::Next), backlog)?;
            self.detached.remove(&number);
        }
        Ok(())
    }

    /// Has nobody connect any more, whoever else has these sockets. Those of systemd go on.
    pub(crate) fn shut(&self) {
        if self.systemds {
            return;
        }
        for socket in &self.all {
            let _ = rustix::net::shutdown(socket, Shutdown::Both);
            if let Address::Unix(path) = socket.address() {
                // Somebody may have removed it already, and then it is gone, as wanted.
                let _ = std::fs::remove_file(path);
            }
        }
    }

    /// Opens what is missing.
    fn complete(mut self, settings: &Settings) -> Result<Sockets, Error> {
        if self.all.is_empty() {
            self.all = open(settings)?;
        }
        if let (None, Some(address)) = (&self.admin, &settings.admin) {
            self.admin = Some(open_one(address, None, 128)?);
        }
        Ok(self)
    }
}

/// One socket for each worker, among which the kernel spreads connections; a path has one for all.
fn open(settings: &Settings) -> Result<Vec<Listening>, Error> {
    let backlog = settings.backlog;
    if matches!(settings.address, Address::Unix(_)) || settings.processes == 1 {
        return Ok(vec![open_one(&settings.address, None, backlog)?]);
    }
    let first = open_one(&settings.address, Some(Share::First), backlog)?;
    let address = first.address().clone(); // With the port that was chosen.
    let mut all = vec![first];
    for _ in 1..settings.processes {
        all.push(open_one(&address, Some(Share::Next), backlog)?);
    }
    Ok(all)
}

fn open_one(address: &Address, share: Option<Share>, backlog: u32) -> Result<Listening, Error> {
    Listening::open(address, share, backlog).map_err(|error| {
        Error::new(ringside_server::StartError::listening(address, &error).to_string())
    })
}

/// What an earlier master hands over.
fn of_master(text: &str) -> Result<(Sockets, Predecessor), Error> {
    let foreign = || {
        Error::new(format!(
            "the variable {MASTER} is only for a master that takes over from another: unset it"
        ))
    };
    let (channel, systemds, admin, all) = handed_over(text).ok_or_else(foreign)?;
    let take = |number: RawFd| inherited::take(number).map_err(|_| foreign());
    let listening = |descriptor: OwnedFd| Listening::inherited(descriptor).map_err(|_| foreign());
    let predecessor = Predecessor(Channel::of(take(channel)?));
    let sockets = Sockets {
        admin: admin.map(|admin| listening(take(admin)?)).transpose()?,
        all: all
            .into_iter()
            .map(|number| listening(take(number)?))
            .collect::<Result<_, _>>()?,
        detached: BTreeSet::new(),
        systemds,
    };
    Ok((sockets, predecessor))
}

/// Takes what stands in [`MASTER`] apart.
fn handed_over(text: &str) -> Option<(RawFd, bool, Option<RawFd>, Vec<RawFd>)> {
    let mut words = text.split(' ');
    let channel = words.next()?.parse().ok()?;
    let systemds = match words.next()? {
        "systemd" => true,
        "own" => false,
        _ => return None,
    };
    let admin = match words.next()? {
        "-" => None,
        number => Some(number.parse().ok()?),
    };
    let all: Option<Vec<RawFd>> = words.map(|word| word.parse().ok()).collect();
    let all = all.filter(|all| !all.is_empty())?;
    Some((channel, systemds, admin, all))
}

/// What systemd hands over to this process, if it does (sd_listen_fds(3)).
fn of_systemd(settings: &Settings) -> Result<Option<Sockets>, Error> {
    let number = |name: &str| env::var(name).ok()?.parse::<u32>().ok();
    if number("LISTEN_PID") != Some(std::process::id()) {
        return Ok(None);
    }
    let count = number("LISTEN_FDS").unwrap_or(0);
    let names = env::var("LISTEN_FDNAMES").unwrap_or_default();
    let mut names = names.split(':');
    let mut sockets = Sockets::default();
    for descriptor in (SYSTEMD_FIRST..).take(count as usize) {
        let socket = inherited::take(descriptor).and_then(Listening::inherited);
        let socket = socket.map_err(|error| {
            Error::new(format!(
                "descriptor {descriptor} of systemd is not a listening socket ({error}): the \
                 socket unit needs ListenStream=, and Accept=no"
            ))
        })?;
        match names.next() {
            Some(ADMIN_NAME) if sockets.admin.is_some() => {
                return Err(Error::new(format!(
                    "systemd hands two sockets named {ADMIN_NAME} over: nobody would accept on one \
                     of them; leave one out of the socket unit"
                )));
            }
            Some(ADMIN_NAME) => sockets.admin = Some(socket),
            _ => sockets.all.push(socket),
        }
    }
    if sockets.all.len() > settings.processes {
        return Err(Error::new(format!(
            "systemd hands {} sockets over, and there are {} processes: with fewer processes than \
             sockets, nobody would accept on some of them",
            sockets.all.len(),
            settings.processes
        )));
    }
    // One for the admin alone leaves the others to this master, which ends them, too.
    sockets.systemds = !sockets.all.is_empty();
    Ok(Some(sockets))
}

#[cfg(test)]
mod tests {
    use std::net::TcpStream;

    use super::*;

    #[test]
    fn what_a_master_hands_over_is_taken_apart() {
        let found = handed_over("5 own - 6 7");
        assert_eq!(found, Some((5, false, None, vec![6, 7])));
        let found = handed_over("5 systemd 8 6");
        assert_eq!(found, Some((5, true, Some(8), vec![6])));
        for text in [
            "",
            "5",
            "5 own",
            "5 own -",
            "5 mine - 6",
            "5 own x 6",
            "5 own - six",
        ] {
            assert_eq!(handed_over(text), None, "{text:?}");
        }
    }

    #[test]
    fn the_others_get_the_clients_of_a_socket_that_is_taken_from_them() {
        let address = Address::Tcp("127.0.0.1:0".parse().expect("an address"));
        let settings = Settings::new(address, 3);
        let mut sockets = Sockets::default().complete(&settings).expect("free");
        let address = sockets.of(0).address().clone();
        let Address::Tcp(to) = &address else {
            panic!("{address}");
        };
        assert!(sockets.detach(1));
        assert_eq!((sockets.number(1), sockets.number(2)), (2, 2));
        let accepted = |sockets: &Sockets| -> Vec<usize> {
            let clients: Vec<_> = (0..60).map(|_| TcpStream::connect(to)).collect();
            assert!(clients.iter().all(Result::is_ok));
            let count = |one: &Listening| {
                rustix::io::ioctl_fionbio(one, true).expect("a socket");
                std::iter::from_fn(|| rustix::net::accept(one).ok()).count()
            };
            sockets.all.iter().map(count).collect()
        };
        let counts = accepted(&sockets);
        assert_eq!(
            (counts[1], counts.iter().sum::<usize>()),
            (0, 60),
            "{counts:?}"
        );
        sockets.attach(1, 128).expect("its address is ours");
        assert_eq!(sockets.of(1).address(), &address);
        let counts = accepted(&sockets);
        assert!(counts[1] > 0, "{counts:?}");
        assert_eq!(counts.iter().sum::<usize>(), 60, "{counts:?}");
        assert!(sockets.detach(0) && sockets.detach(1));
        assert!(!sockets.detach(2), "the last one stays");
    }

    #[test]
    fn each_worker_has_a_socket_and_they_share_one_of_a_path() {
        let address = Address::Tcp("127.0.0.1:0".parse().expect("an address"));
        let all = open(&Settings::new(address, 3)).expect("a free port");
        assert_eq!(all.len(), 3);
        assert!(all.iter().all(|one| one.address() == all[0].address()));
        let taken = open(&Settings::new(all[0].address().clone(), 2));
        let text = taken.expect_err("it's taken").to_string();
        assert!(text.contains("in use"), "{text}");
    }
}

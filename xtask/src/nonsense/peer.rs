//! The peer on real sockets: it stands between a client and a server that are both ours, lets sense
//! pass for a while and then does not. It also talks to the server directly.
//!
//! Each connection has a fate that the seed decides. Blocking sockets, a thread for each direction;
//! none waits for longer than [`BEAT`] without looking whether the case is over.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::Scope;
use std::time::Duration;

use measure::time::{Time, sleep_until};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::sockopt::set_socket_linger;

use super::case::Case;
use super::mangle::{After, mangle};
use super::random::Random;
use super::speech::{Protocol, Speech, Victim, speech};

/// How long anything here blocks at most.
const BEAT: Duration = Duration::from_millis(10);

/// Connections that are served at once; more are closed at once, which is nonsense, too.
const CONNECTIONS_MAX: usize = 48;

/// Bytes that are cut into small pieces; the rest of a direction leaves as it comes.
const CUT_BYTES_MAX: usize = 4096;

/// What all connections of a case share.
#[derive(Debug)]
pub(super) struct Peer {
    seed: u64,
    protocol: Protocol,
    /// Connections that pass unharmed at first.
    unharmed: u64,
    server: SocketAddr,
    pub(super) over: AtomicBool,
    live: AtomicUsize,
}

/// What happens to one direction of a connection.
#[derive(Clone, Debug)]
struct Fate {
    /// Pieces that pass unharmed.
    unharmed: usize,
    /// Then each is damaged once in so many; `None` lets all pass.
    damaged_once_in: Option<usize>,
    /// Or this is said in their place.
    speech: Option<Speech>,
    /// The peer reads nothing while it speaks.
    deaf: bool,
    /// After the speech.
    after: After,
    /// Bytes leave in pieces of so many at first.
    cut: Option<usize>,
}

impl Fate {
    fn of(random: &mut Random, protocol: Protocol, victim: Victim) -> Fate {
        let unharmed = random.pick(&[0, 0, 0, 1, 1, 2, 3, 5, 10, 100]);
        let says = random.once_in(3);
        let fresh = unharmed == 0;
        Fate {
            unharmed,
            damaged_once_in: (!says && !random.once_in(3)).then(|| random.pick(&[1, 2, 5, 30])),
            speech: says.then(|| speech(random, protocol, victim, fresh)),
            deaf: random.once_in(2),
            after: random.pick(&[After::Ends, After::Resets, After::Stalls, After::Stalls]),
            cut: random.once_in(4).then(|| 1 + random.below(7)),
        }
    }
}

impl Peer {
    pub(super) fn new(case: &Case, server: SocketAddr) -> Peer {
        Peer {
            seed: case.seed,
            protocol: case.protocol,
            unharmed: case.unharmed,
            server,
            over: AtomicBool::new(false),
            live: AtomicUsize::new(0),
        }
    }

    fn is_over(&self) -> bool {
        self.over.load(Ordering::Relaxed)
    }

    /// Accepts until the case is over.
    pub(super) fn accept<'s>(&'s self, listener: &'s TcpListener, scope: &'s Scope<'s, '_>) {
        let beat = Timespec {
            tv_sec: 0,
            tv_nsec: i64::from(BEAT.subsec_nanos()),
        };
        for number in 1.. {
            while !self.is_over() {
                let mut ready = [PollFd::new(listener, PollFlags::IN)];
                if poll(&mut ready, Some(&beat)).is_ok_and(|count| count > 0) {
                    break;
                }
            }
            if self.is_over() {
                return;
            }
            let Ok((client, _)) = listener.accept() else {
                continue;
            };
            if self.live.load(Ordering::Relaxed) >= CONNECTIONS_MAX {
                continue;
            }
            self.live.fetch_add(1, Ordering::Relaxed);
            scope.spawn(move || {
                self.stand_between(&client, number, scope);
                self.live.fetch_sub(1, Ordering::Relaxed);
            });
        }
    }

    /// Passes on what the two say, as the fate of each direction allows.
    fn stand_between<'s>(&'s self, client: &TcpStream, number: u64, scope: &'s Scope<'s, '_>) {
        let mut random = Random::new(self.seed, number);
        // Some are left whole, so that sense and nonsense are seen side by side.
        let (mut up, mut down) = (None, None);
        match random.below(8) {
            _ if number <= self.unharmed => {}
            0 => {}
            1..=3 => up = Some(Fate::of(&mut random, self.protocol, Victim::Server)),
            4..=6 => down = Some(Fate::of(&mut random, self.protocol, Victim::Client)),
            _ => {
                up = Some(Fate::of(&mut random, self.protocol, Victim::Server));
                down = Some(Fate::of(&mut random, self.protocol, Victim::Client));
            }
        }
        let Ok(server) = TcpStream::connect_timeout(&self.server, Duration::from_secs(5)) else {
            return;
        };
        if prepare(client).is_err() || prepare(&server).is_err() {
            return;
        }
        let (Ok(from), Ok(to)) = (client.try_clone(), server.try_clone()) else {
            return;
        };
        let streams = (random.next(), random.next());
        scope.spawn(move || self.pass(&from, &to, up, Random::new(self.seed, streams.0)));
        self.pass(&server, client, down, Random::new(self.seed, streams.1));
    }

    /// One direction of a connection.
    fn pass(&self, from: &TcpStream, to: &TcpStream, fate: Option<Fate>, mut random: Random) {
        let mut buffer = vec![0; 32 * 1024];
        let mut piece = Vec::new();
        let cut = fate.as_ref().and_then(|fate| fate.cut);
        let mut cut_left = CUT_BYTES_MAX;
        for number in 0.. {
            if let Some(fate) = &fate
                && number >= fate.unharmed
                && let Some(speech) = &fate.speech
            {
                self.say(speech, to, (!fate.deaf).then_some(from));
                return self.finish(fate.after, from, to);
            }
            let Some(count) = self.read(from, &mut buffer) else {
                let _ = to.shutdown(Shutdown::Write);
                return;
            };
            piece.clear();
            piece.extend_from_slice(&buffer[..count]);
            let mut after = After::GoesOn;
            if let Some(fate) = &fate
                && number >= fate.unharmed
                && let Some(often) = fate.damaged_once_in
                && random.once_in(often)
            {
                after = mangle(&mut random, &mut piece);
            }
            let (small, rest) = match cut {
                Some(_) => piece.split_at(piece.len().min(cut_left)),
                None => piece.split_at(0),
            };
            cut_left -= small.len();
            let whole = small
                .chunks(cut.unwrap_or(1))
                .chain([rest])
                .all(|bytes| self.write(to, bytes));
            if !whole {
                let _ = from.shutdown(Shutdown::Both);
                return;
            }
            if after != After::GoesOn {
                return self.finish(after, from, to);
            }
        }
    }

    /// Says all of it to `to`, while what `heard` says is read and forgotten.
    fn say(&self, speech: &Speech, to: &TcpStream, heard: Option<&TcpStream>) {
        let mut unit = speech.unit.clone();
        while unit.len() < 16 * 1024 && unit.len() < speech.bytes && !unit.is_empty() {
            unit.extend_from_slice(&speech.unit);
        }
        let mut buffer = vec![0; 32 * 1024];
        if !self.write(to, &speech.start) {
            return;
        }
        let mut said = 0;
        while said < speech.bytes && !unit.is_empty() && !self.is_over() {
            let bytes = &unit[..unit.len().min(speech.bytes - said)];
            if !self.write(to, bytes) {
                return;
            }
            said += bytes.len();
            // What it says to us comes on the socket that we speak on.
            if heard.is_some() && peek(to) && self.read(to, &mut buffer).is_none() {
                return;
            }
        }
    }

    fn finish(&self, after: After, from: &TcpStream, to: &TcpStream) {
        match after {
            After::GoesOn | After::Stalls => {
                while !self.is_over() {
                    sleep_until(Time::now() + BEAT);
                }
            }
            After::Ends => {
                let _ = to.shutdown(Shutdown::Write);
                let _ = from.shutdown(Shutdown::Read);
            }
            After::Resets => {
                for stream in [from, to] {
                    let _ = set_socket_linger(stream, Some(Duration::ZERO));
                    let _ = stream.shutdown(Shutdown::Both);
                }
            }
        }
    }

    /// A connection of our own to the server, on which only nonsense is said.
    pub(super) fn harass(&self, number: u64) {
        let mut random = Random::new(self.seed, u64::MAX - number);
        let mut fate = Fate::of(&mut random, self.protocol, Victim::Server);
        let said = speech(&mut random, self.protocol, Victim::Server, true);
        fate.unharmed = 0;
        let Ok(server) = TcpStream::connect_timeout(&self.server, Duration::from_secs(5)) else {
            return;
        };
        if prepare(&server).is_err() {
            return;
        }
        self.say(&said, &server, (!fate.deaf).then_some(&server));
        self.finish(fate.after, &server, &server);
    }

    /// Reads something. `None` at the end, of either.
    fn read(&self, mut from: &TcpStream, buffer: &mut [u8]) -> Option<usize> {
        while !self.is_over() {
            match from.read(buffer) {
                Ok(0) => return None,
                Ok(count) => return Some(count),
                Err(error) if is_a_pause(&error) => {}
                Err(_) => return None,
            }
        }
        None
    }

    /// Writes all of it. False at the end, of either.
    fn write(&self, mut to: &TcpStream, mut bytes: &[u8]) -> bool {
        while !bytes.is_empty() {
            if self.is_over() {
                return false;
            }
            match to.write(bytes) {
                Ok(count) => bytes = &bytes[count..],
                Err(error) if is_a_pause(&error) => {}
                Err(_) => return false,
            }
        }
        true
    }
}

fn is_a_pause(error: &std::io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted
    )
}

/// Whether something is there to read.
fn peek(stream: &TcpStream) -> bool {
    let mut ready = [PollFd::from_borrowed_fd(stream.as_fd(), PollFlags::IN)];
    let now = Timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    poll(&mut ready, Some(&now)).is_ok_and(|count| count > 0)
}

fn prepare(stream: &TcpStream) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(BEAT))?;
    stream.set_write_timeout(Some(BEAT))
}

//! The driver for kernels and sandboxes without io_uring: epoll(7), imitating completions.
//!
//! # How it comes to few system calls
//!
//! A socket is registered once, edge-triggered, for everything, and never touched again in epoll;
//! its end takes it out. What is then left of an exchange is one recv(2), one send(2) and a share
//! of one epoll_wait(2):
//!
//! - `send` calls the kernel at once. What was taken whole is reported by the next turn, which then
//!   does not sleep; a quiet send is not reported at all.
//! - A turn receives straight into the buffers that it lends. A read that leaves room in its buffer
//!   has emptied the socket, and the next byte will make a new edge (epoll(7), question 9), so
//!   there is no second read that only finds `EAGAIN`. Only where the kernel has signalled the end
//!   of the stream along with bytes does reading go on until the end shows, since no further edge
//!   would come for it.
//! - Whatever could not be emptied, because the buffers ran out or others were due, stands in a
//!   list of ready sockets, and the next turn continues with it before all else.
//!
//! Unlike a ring, epoll has no memory shared with the kernel that tells whether something has
//! happened, so each turn makes the one call of epoll_wait(2), for `Until::Now` too. A turn that
//! finds nothing and may sleep makes a second one; only so can `sleeps` be counted truly.
//!
//! An epoll instance can be polled itself, so it's what an owner sleeps on elsewhere, too. Before
//! that `doze` looks whether it is readable by then: who waits for an edge of it would get none for
//! what a full list of events has left over.
//!
//! # Ends
//!
//! A socket that fails while bytes of the peer still lie in its receive buffer, as after an answer
//! sent early and a reset, is read empty before the failure is reported. A gracefully closed
//! socket with bytes left to send keeps its slot until they are sent, the peer is gone or
//! [`Config::linger_ns`] have passed.
//!
//! The parts: `sleep` looks for events, `turn` makes completions of them, `send` sends.

mod send;
mod sleep;
mod turn;

use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::rc::Rc;

use measure::time::Time;
use rustix::event::epoll::EventFlags;
use rustix::io::Errno;

use crate::completions::Completions;
use crate::driver::{
    Address, Broken, Capabilities, Close, Config, Driver, EngineCounters, Event, Fault, Listen,
    OpenError, Payload, Refused, SocketOptions, Token, Until, alike,
};
use crate::lingering::Lingering;
use crate::payloads::{Outgoing, Payloads};
use crate::peers::Peers;
use crate::pool::Pool;
use crate::slots::{Slots, find, lingers};
use crate::socket;
use crate::waker::Waker;
use crate::writing::Writing;
use measure::cpu;
use sleep::Poller;

/// How long to wait before a connect to a full unix(7) listener is tried again: the kernel has no
/// event for it.
const RETRY_NS: u64 = 1_000_000;
/// Bounds of the events of one turn; in between as many as there are receive buffers.
const EVENTS_MIN: usize = 64;
const EVENTS_MAX: usize = 1024;
/// The user data of the waker; no socket has this slot.
const WAKER_DATA: u64 = u64::MAX;

/// What every socket is watched for: bytes, the end, and each change once.
const INPUT: EventFlags = EventFlags::IN
    .union(EventFlags::RDHUP)
    .union(EventFlags::ET);

/// A driver on epoll(7). See the module's text and [`Driver`].
pub struct Epoll {
    poller: Poller,
    waker: Waker,
    sockets: Slots<Option<Socket>>,
    listeners: Vec<(Token, Address, bool)>,
    peers: Peers,
    /// A listener has connections for which there was no slot or no descriptor.
    accept_waits: bool,
    pool: Rc<Pool>,
    payloads: Payloads,
    /// What calls between turns have completed, for the next turn to report.
    queued: Vec<(Token, Event)>,
    /// Sockets that may have more to give, each at most once, in the order of their turns.
    ready: VecDeque<Token>,
    /// Closed sockets with bytes left to send.
    lingering: Lingering,
    /// Connects to unix(7) listeners whose backlog was full.
    retries: VecDeque<(Token, Address)>,
    retry_at: Time,
    now: Time,
    capabilities: Capabilities,
    counters: EngineCounters,
}

#[derive(Debug)]
struct Socket {
    descriptor: OwnedFd,
    stage: Stage,
    sending: Sending,
    writing: Writing,
    /// A send failed; reported once the socket is read empty.
    fault: Option<Fault>,
    /// The owner wants to receive.
    armed: bool,
    /// An edge came since the socket was last read empty.
    readable: bool,
    /// The kernel signalled the end of the stream: read on until it shows.
    hung_up: bool,
    /// The end was reported.
    ended: bool,
    /// Stands in the list of ready sockets.
    listed: bool,
    /// Room to send is watched for; on a listener, by the connections it takes.
    ///
    /// From the start on TCP, which makes an edge when a connection stands, and later only where a
    /// send found no room. Unix sockets make one whenever the peer reads, so they wait till then.
    watches_output: bool,
    /// On a listener: the addresses of its peers are asked for.
    peers: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Listening,
    Connecting,
    Open,
    /// Its failure was reported.
    Dead,
}

#[derive(Debug)]
enum Sending {
    Idle,
    /// The kernel has taken all; not yet reported.
    Taken,
    /// The kernel had no room for the rest, and took a part at this time, if any.
    Partial {
        rest: Outgoing,
        taken_at: Option<Time>,
    },
}

/// Opens the driver for the calling thread.
///
/// # Errors
///
/// Names the limit or rule that stands in the way.
pub fn open(config: &Config) -> Result<Epoll, OpenError> {
    let events = config.buffers.clamp(EVENTS_MIN, EVENTS_MAX);
    let pool = Pool::new(config.buffers, config.buffer_bytes).map_err(|error| OpenError {
        what: format!("not enough memory for the receive buffers ({error})"),
        remedy: "use fewer or smaller buffers, or raise the address-space limit (`ulimit -v`)"
            .to_owned(),
    })?;
    let poller = Poller::new(events).map_err(refused_by_kernel)?;
    let waker = Waker::event().map_err(refused_by_kernel)?;
    if let Some(descriptor) = waker.descriptor() {
        let interest = EventFlags::IN | EventFlags::ET;
        poller
            .add(descriptor, WAKER_DATA, interest)
            .map_err(refused_by_kernel)?;
    }
    let capabilities = capabilities(cpu::sharpen_sleep());
    Ok(Epoll {
        poller,
        waker,
        sockets: Slots::new(config.sockets),
        listeners: Vec::new(),
        peers: Peers::default(),
        accept_waits: false,
        pool,
        payloads: Payloads::default(),
        queued: Vec::new(),
        ready: VecDeque::new(),
        lingering: Lingering::new(config.linger_ns),
        retries: VecDeque::new(),
        retry_at: Time(0),
        now: Time::now(),
        capabilities,
        counters: EngineCounters::default(),
    })
}

fn refused_by_kernel(errno: Errno) -> OpenError {
    let remedy = match errno {
        Errno::MFILE | Errno::NFILE => "raise the open-files limit (`ulimit -n`)",
        Errno::NOMEM => "free some memory: the kernel has none left",
        _ => "allow epoll_create1, epoll_ctl, epoll_wait and eventfd2 in the sandbox's rules",
    };
    OpenError {
        what: format!("the kernel refused to open an epoll instance ({errno})"),
        remedy: remedy.to_owned(),
    }
}

fn capabilities(sharp: bool) -> Capabilities {
    let mut features = vec!["EPOLLET".to_owned(), "timerfd".to_owned()];
    let mut missing = Vec::new();
    if sharp {
        features.push("PR_SET_TIMERSLACK".to_owned());
    } else {
        missing.push("PR_SET_TIMERSLACK: sleeps may end 50 µs late".to_owned());
    }
    Capabilities {
        name: "epoll",
        features,
        missing,
    }
}

impl Driver for Epoll {
    alike!();

    fn clock(&self) -> Time {
        Time::now()
    }

    fn listen(&mut self, listen: &Listen) -> Result<Token, Refused> {
        if self.sockets.is_full() {
            return Err(Refused::SocketsFull);
        }
        let (descriptor, address) =
            socket::listener(listen, socket::Mode::Nonblocking).map_err(kernel)?;
        let watches_output = matches!(listen.address, Address::Tcp(_));
        let mut socket = Socket::new(descriptor, Stage::Listening, watches_output);
        socket.peers = listen.peers;
        let token = self.add(socket)?;
        let inherited = listen.inherited.is_some();
        self.listeners.push((token, address, inherited));
        Ok(token)
    }

    fn local_address(&self, socket: Token) -> Option<Address> {
        let listener = self.listeners.iter().find(|(token, ..)| *token == socket)?;
        Some(listener.1.clone())
    }

    fn connect(&mut self, to: &Address, options: &SocketOptions) -> Result<Token, Refused> {
        if self.sockets.is_full() {
            return Err(Refused::SocketsFull);
        }
        let mode = socket::Mode::Nonblocking;
        let descriptor = socket::outgoing(to, options, mode).map_err(kernel)?;
        let address = socket::encode(to).map_err(kernel)?;
        // Connecting comes before watching: a socket that does nothing yet counts as hung up.
        let attempt = rustix::net::connect(&descriptor, &address);
        self.counters.enters += 1;
        let stage = if attempt.is_ok() {
            Stage::Open
        } else {
            Stage::Connecting
        };
        let is_tcp = matches!(to, Address::Tcp(_));
        let socket = Socket::new(descriptor, stage, is_tcp);
        match attempt {
            Ok(()) => {
                let token = self.add(socket)?;
                self.queued.push((token, Event::Connected));
                Ok(token)
            }
            Err(Errno::INPROGRESS) => self.add(socket),
            Err(Errno::AGAIN) if !is_tcp => {
                let token = self
                    .sockets
                    .open(Some(socket))
                    .map_err(|_| Refused::SocketsFull)?;
                self.retries.push_back((token, to.clone()));
                Ok(token)
            }
            Err(errno) => {
                let token = self
                    .sockets
                    .open(Some(socket))
                    .map_err(|_| Refused::SocketsFull)?;
                self.queued.push((token, Event::Failed(fault(errno))));
                Ok(token)
            }
        }
    }

    #[inline]
    fn send(&mut self, socket: Token, payload: Payload) -> Result<(), Refused> {
        let refused = match find(&mut self.sockets, socket) {
            None => Refused::Stale,
            Some(found) if found.stage == Stage::Listening => Refused::Stale,
            Some(found) if found.writing != Writing::Open => Refused::ShutDown,
            Some(found) if !matches!(found.sending, Sending::Idle) => Refused::SendUnfinished,
            Some(_) => {
                let outgoing = self.payloads.accept(payload)?;
                self.counters.bytes_sent += outgoing.len() as u64;
                self.begin_send(socket, outgoing);
                return Ok(());
            }
        };
        self.payloads.reject(payload);
        Err(refused)
    }

    fn shutdown(&mut self, socket: Token) -> Result<(), Refused> {
        let found = find(&mut self.sockets, socket).ok_or(Refused::Stale)?;
        if matches!(found.stage, Stage::Listening | Stage::Connecting) {
            return Err(Refused::Stale);
        }
        if found.writing == Writing::Open {
            found.writing = Writing::Ending;
            send::end_writing(found, &mut self.counters);
        }
        Ok(())
    }

    fn arm_receive(&mut self, socket: Token, armed: bool) -> Result<(), Refused> {
        let found = find(&mut self.sockets, socket).ok_or(Refused::Stale)?;
        if found.stage == Stage::Listening {
            return Err(Refused::Stale);
        }
        found.armed = armed;
        if armed && found.readable {
            self.list(socket);
        } else if !armed && let Some(fault) = found.fault.take() {
            // It was kept back behind bytes that nobody will read now.
            self.queued.push((socket, Event::Failed(fault)));
        }
        Ok(())
    }

    fn close(&mut self, socket: Token, how: Close) -> Result<(), Refused> {
        let state = self.sockets.retire(socket).ok_or(Refused::Stale)?;
        let found = state.as_mut().ok_or(Refused::Stale)?;
        match (how, found.stage) {
            (_, Stage::Listening) => self.forget_listener(socket),
            (Close::Graceful, Stage::Open) if found.is_sending() => {
                self.linger(socket);
                return Ok(());
            }
            // Where the option cannot be set the socket still closes, if more politely.
            (Close::Reset, _) => drop(socket::reset_on_close(&found.descriptor)),
            (Close::Graceful, _) => {}
        }
        self.release(socket);
        Ok(())
    }

    fn wait(&mut self, until: Until, completions: &mut Completions) -> Result<Time, Broken> {
        completions.begin(&self.pool);
        self.report_queued(completions);
        let idle = completions.is_empty() && self.ready.is_empty();
        let until = if idle {
            self.earlier(until)
        } else {
            Until::Now
        };
        let looked = self.poller.look(until).map_err(broken)?;
        self.counters.enters += looked.calls;
        self.counters.sleeps += u64::from(looked.slept && idle);
        for position in 0..self.poller.events.len() {
            let event = self.poller.events[position];
            self.note(event.data.u64(), event.flags, completions);
        }
        self.serve_ready(completions);
        // Read last: whatever is reported had come by then, never later.
        self.now = Time::now();
        self.mind_the_waiting(completions);
        self.counters.completions += completions.len() as u64;
        Ok(self.now)
    }

    fn wake_handle(&mut self) -> io::Result<OwnedFd> {
        self.poller.handle()
    }

    fn doze(&mut self) -> Result<Option<Time>, Broken> {
        if !(self.queued.is_empty() && self.ready.is_empty()) {
            return Ok(None);
        }
        let calls = self.poller.clear_timer().map_err(broken)?;
        self.counters.enters += calls + 1;
        let quiet = self.poller.is_quiet().map_err(broken)?;
        Ok(quiet.then(|| self.earlier(Until::Event).time()))
    }

    fn taken_at(&self, socket: Token) -> Option<Time> {
        match self.sockets.get(socket)?.as_ref()?.sending {
            Sending::Partial { taken_at, .. } => taken_at,
            Sending::Idle | Sending::Taken => None,
        }
    }

    fn counters(&self) -> EngineCounters {
        self.counters
    }
}

impl Epoll {
    /// Gives a socket a slot and watches it.
    fn add(&mut self, socket: Socket) -> Result<Token, Refused> {
        let interest = match socket.stage {
            Stage::Listening => INPUT,
            _ => interest(socket.watches_output),
        };
        let token = self
            .sockets
            .open(Some(socket))
            .map_err(|_| Refused::SocketsFull)?;
        let watched = match find(&mut self.sockets, token) {
            Some(socket) => self.poller.add(&socket.descriptor, data(token), interest),
            None => Ok(()),
        };
        if let Err(errno) = watched {
            self.sockets.retire(token);
            self.release(token);
            return Err(kernel(errno));
        }
        Ok(token)
    }

    /// Puts a socket into the list of ready ones, unless it stands there.
    #[inline]
    fn list(&mut self, token: Token) {
        if let Some(socket) = find(&mut self.sockets, token)
            && !socket.listed
        {
            socket.listed = true;
            self.ready.push_back(token);
        }
    }

    /// Keeps a retired socket until its last send has ended or its time is up.
    fn linger(&mut self, token: Token) {
        let (taken, sockets) = (self.sockets.taken(), &mut self.sockets);
        self.lingering
            .push(self.now, token, taken, |token| lingers(sockets, token));
    }

    fn forget_listener(&mut self, token: Token) {
        if let Some(position) = self
            .listeners
            .iter()
            .position(|(known, ..)| *known == token)
        {
            let (_, address, inherited) = self.listeners.swap_remove(position);
            socket::forget(&address, inherited);
        }
    }

    /// Closes the descriptor of a retired socket and frees its slot.
    fn release(&mut self, token: Token) {
        let Some(state) = self.sockets.closing_mut(token) else {
            return;
        };
        debug_assert!(state.is_some(), "{token:?} was released before");
        if let Some(socket) = state.take()
            && let Sending::Partial { rest, .. } = socket.sending
        {
            self.payloads.finish(rest);
        }
        self.sockets.free(token.slot());
        if std::mem::take(&mut self.accept_waits) {
            for position in 0..self.listeners.len() {
                self.list(self.listeners[position].0);
            }
        }
    }
}

impl Drop for Epoll {
    fn drop(&mut self) {
        for (_, address, inherited) in &self.listeners {
            socket::forget(address, *inherited);
        }
    }
}

impl Socket {
    fn new(descriptor: OwnedFd, stage: Stage, watches_output: bool) -> Socket {
        Socket {
            descriptor,
            stage,
            sending: Sending::Idle,
            writing: Writing::Open,
            fault: None,
            armed: true,
            readable: false,
            hung_up: false,
            ended: false,
            listed: false,
            watches_output,
            peers: false,
        }
    }

    fn is_sending(&self) -> bool {
        matches!(self.sending, Sending::Partial { .. }) && self.fault.is_none()
    }
}

/// What a connection is watched for.
fn interest(output: bool) -> EventFlags {
    if output {
        INPUT | EventFlags::OUT
    } else {
        INPUT
    }
}

/// A token as user data of epoll.
fn data(token: Token) -> u64 {
    u64::from(token.generation()) << 32 | token.slot() as u64
}

fn kernel(errno: Errno) -> Refused {
    Refused::Kernel(fault(errno))
}

fn fault(errno: Errno) -> Fault {
    Fault::from_errno(errno.raw_os_error())
}

fn broken(errno: Errno) -> Broken {
    Broken(format!(
        "epoll_wait failed ({errno}), and the driver can't continue: restart the worker"
    ))
}

#[cfg(test)]
mod tests;

//! One worker: a driver, its listener and its connections, in one thread.
//!
//! The loop is written once for every driver. A turn waits, feeds what came to the connections,
//! settles what services asked for, and only then sends: so all answers of a connection that arise
//! in one turn leave in one send. Each connection has at most one unfinished send; what arises
//! meanwhile gathers behind it.
//!
//! All time limits of a connection share one timer, which looks when it is due whether the limit
//! has moved on. So traffic sets no timers.

mod asked;
mod draining;
mod retiring;
#[cfg(test)]
mod tests;
mod turning;
mod upstreams;

use std::sync::Arc;
use std::sync::mpsc::SyncSender;

use engine::secured::Alpn;
use engine::timers::Wheel;
use engine::{
    Address, Broken, Close, Completion, Completions, Driver, Event, Listen, Payload,
    QUIET_BYTES_MAX, Refused, Share, Template, Token, signal::Stop,
};
use measure::time::Time;
use proto::http1::server::Limits;

use crate::pattern::{self, Slice};
use connection::{Connection, Ending, Overdue, Serving, Shared, Step};
use connection::{Site, Wall};
use draining::Draining;
use retiring::Retiring;
use service::Timeouts;
use service::{Live, Peer, Posted, RecordedTimes, Service, Summary, Ticket};
use upstreams::Sockets;

/// A listener that failed is opened again after so long.
const LISTEN_AGAIN_NS: u64 = 100_000_000;

/// What has changed is posted after so long.
const POST_NS: u64 = 100_000_000;

/// How often it posts at least: so whoever reads sees that it isn't stuck.
const BEAT_NS: u64 = 1_000_000_000;

/// What a worker is told.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub(crate) listen: Listen,
    pub(crate) limits: Limits,
    pub(crate) timeouts: Timeouts,
    /// What all clients of this worker may make it hold.
    pub(crate) memory_bytes: usize,
    pub(crate) wall: Wall,
    /// How many connections it has room for, and who is told, once, when it has that many.
    pub(crate) room: usize,
    pub(crate) full: SyncSender<usize>,
    /// Where it posts what it counts.
    pub(crate) live: Option<Arc<Posted>>,
    /// Where it records how long answers took.
    pub(crate) times: Option<RecordedTimes>,
}

/// See the module.
pub(crate) struct Worker<D, S> {
    settings: Settings,
    stop: Stop,
    serving: Serving<S>,
    listener: Option<Token>,
    /// By slot; as long as the highest slot that was ever used.
    connections: Vec<Option<Connection>>,
    open: usize,
    /// What the clients of all connections make it hold, as far as it was looked at.
    held_bytes: usize,
    /// Connections to be looked after before the next wait.
    listed: Vec<Token>,
    /// Which connections are drained next, while it begins to end.
    to_drain: Option<Draining>,
    to_retire: Option<Retiring>,
    /// Whether another look for what can be retired is due.
    looks_again: bool,
    /// Says that it has ended, however that comes about.
    _ends: Option<Ends>,
    /// Connections that it has left to the kernel, which closes them when the driver is gone.
    left: usize,
    /// What it has posted, and when it posts again: [`Time::NEVER`] while that is up to date.
    posted: Live,
    post_at: Time,
    wheel: Wheel<Alarm>,
    alarms: Vec<Alarm>,
    plain: Template,
    chunks: Template,
    /// `None` until a service declares one.
    upstreams: Option<Box<Sockets>>,
    /// The last to go: it may have many sockets left, and nobody else should wait for those.
    driver: D,
}

/// Why a worker isn't ready.
#[derive(Debug)]
pub(crate) enum NotReady {
    /// Its service can't begin.
    Service(String),
    /// The driver can't go on.
    Broken(Broken),
}

/// Says that a worker has ended when it's dropped: one that breaks or panics, too.
struct Ends(Arc<Posted>);

impl Drop for Ends {
    fn drop(&mut self) {
        self.0.end();
    }
}

/// What a timer is for.
#[derive(Clone, Copy, Debug)]
enum Alarm {
    /// A time limit of a connection.
    Limit(Token),
    /// A connection wanted to be woken, for the next byte of an answer that dribbles.
    Wake(Token),
    /// A service wanted to be told.
    Service(Ticket),
    /// The listener is to be opened again.
    Listen,
    /// The drain is over.
    DrainOver,
    /// Connections of a worker that retires may have been silent for long enough.
    Retired,
    /// Something is due in the pools of upstreams.
    Upstreams,
}

impl<D: Driver, S: Service> Worker<D, S> {
    /// A worker whose requests `service` answers, and which doesn't listen yet.
    ///
    /// # Errors
    /// What the driver says to what it's given ahead.
    pub(crate) fn new(
        mut driver: D,
        mut service: S,
        settings: Settings,
        stop: Stop,
    ) -> Result<Self, Refused> {
        let now = driver.now();
        let lives = settings.live.is_some();
        let ends = settings.live.clone().map(Ends);
        let site = Site::new(now, settings.wall, settings.limits);
        service.attached(driver.waker());
        let mut serving = Serving::new(Shared::new(site), service);
        serving.agenda.attach(driver.waker());
        serving.started();
        // What the service wants of upstreams by now is known before the driver divides its room.
        driver.expect_outgoing(serving.agenda.upstreams.connections);
        let plain = driver.register(&pattern::PLAIN)?;
        let chunks = driver.register(&pattern::chunks())?;
        let mut worker = Worker {
            serving,
            settings,
            stop,
            listener: None,
            connections: Vec::new(),
            open: 0,
            held_bytes: 0,
            listed: Vec::new(),
            to_drain: None,
            to_retire: None,
            looks_again: false,
            _ends: ends,
            left: 0,
            posted: Live::default(),
            post_at: if lives { Time(0) } else { Time::NEVER },
            wheel: Wheel::new(now, 64),
            alarms: Vec::new(),
            plain,
            chunks,
            upstreams: None,
            driver,
        };
        worker.settle();
        Ok(worker)
    }

    /// Takes as many turns as its service needs to be ready, unless it's told to stop before.
    ///
    /// # Errors
    /// The service can't begin, or the driver can't go on.
    pub(crate) fn get_ready(&mut self) -> Result<(), NotReady> {
        let mut completions = Completions::new();
        loop {
            let now = self.serving.now;
            let is_ready = self.serving.service().is_ready(now);
            if is_ready.map_err(NotReady::Service)? || self.serving.is_ending() {
                return Ok(());
            }
            let turned = self.turn(&mut completions, Time::NEVER);
            turned.map_err(NotReady::Broken)?;
        }
    }

    /// Opens its listener at an address, unless it's to end already.
    ///
    /// # Errors
    /// What the driver says to it.
    pub(crate) fn listen_at(&mut self, address: &Address) -> Result<(), Refused> {
        self.settings.listen.address = address.clone();
        match self.serving.is_ending() {
            true => Ok(()),
            false => self.listen(),
        }
    }

    /// Opens its listener.
    ///
    /// # Errors
    /// What the driver says to it.
    pub(crate) fn listen(&mut self) -> Result<(), Refused> {
        let listener = self.driver.listen(&self.settings.listen)?;
        self.listener = Some(listener);
        if let Some(address) = self.driver.local_address(listener) {
            self.settings.listen.address = address;
        }
        // Opened again, it joins those that still listen.
        self.settings.listen.share_port = self.settings.listen.share_port.map(|_| Share::Next);
        Ok(())
    }

    /// Where it listens.
    pub(crate) fn address(&self) -> &Address {
        &self.settings.listen.address
    }

    /// Whether the server has stopped and no connection is left.
    pub(crate) fn is_done(&self) -> bool {
        self.serving.draining
            && self.open == 0
            && self.to_drain.is_none()
            && self.upstream_is_done()
    }

    /// What was counted so far.
    pub(crate) fn summary(&self) -> Summary {
        Summary {
            counts: self.serving.counts,
            engine: self.driver.counters(),
        }
    }

    /// Has what was counted posted soon, if it has changed, or now if it's time.
    fn look_at_counts(&mut self, now: Time) {
        if now >= self.post_at {
            self.post();
            self.post_at = now.plus(BEAT_NS);
        } else if self.post_at > now.plus(POST_NS) && self.live() != self.posted {
            self.post_at = now.plus(POST_NS);
        }
    }

    /// Posts what was counted.
    fn post(&mut self) {
        if let Some(place) = &self.settings.live {
            self.posted = self.live();
            place.post(&self.posted);
        }
    }

    /// What it has to post.
    fn live(&self) -> Live {
        let handshakes_failed = self.driver.counters().handshakes_failed;
        let (open, held_bytes) = (self.open as u64, self.all_held_bytes() as u64);
        Live::new(self.serving.counts, [open, held_bytes, handshakes_failed])
    }

    /// What all clients make it hold: their connections, its service for their requests, and what
    /// is asked of upstreams.
    #[inline]
    pub(crate) fn all_held_bytes(&self) -> usize {
        self.held_bytes + self.serving.held_bytes() + self.upstream_bytes()
    }

    #[inline]
    fn happened(&mut self, completion: Completion, completions: &Completions) {
        let socket = completion.socket;
        match completion.event {
            Event::Received(lent) => {
                let bytes = completions.bytes(lent);
                if !self.received(socket, bytes) {
                    self.upstream_happened(socket, completion.event, bytes);
                }
            }
            Event::Sent => {
                let now = self.serving.now;
                let Some(connection) = find(&mut self.connections, socket) else {
                    self.upstream_happened(socket, completion.event, &[]);
                    return;
                };
                debug_assert!(
                    connection.sending,
                    "{socket:?} has sent what it did not begin"
                );
                connection.sending = false;
                connection.in_flight = 0;
                connection.since = now;
                list(&mut self.listed, connection);
            }
            Event::Accepted { .. } => self.accepted(socket),
            Event::Ended => {
                let Some(connection) = find(&mut self.connections, socket) else {
                    self.upstream_happened(socket, completion.event, &[]);
                    return;
                };
                if connection.lingers() {
                    return self.close(socket, Close::Graceful);
                }
                connection.peer_ended(&mut self.serving);
                list(&mut self.listed, connection);
            }
            Event::Failed(_) if self.listener == Some(socket) => self.listener_failed(socket),
            Event::Failed(_) if self.upstream_happened(socket, completion.event, &[]) => {}
            Event::Failed(_) => {
                self.serving.counts.failed += 1;
                self.close(socket, Close::Reset);
            }
            Event::Connected => {
                self.upstream_happened(socket, completion.event, &[]);
            }
        }
    }

    #[inline]
    fn received(&mut self, socket: Token, bytes: &[u8]) -> bool {
        let Some(connection) = find(&mut self.connections, socket) else {
            return false;
        };
        if !connection.sending {
            connection.since = self.serving.now;
        }
        supply(&mut self.driver, connection);
        connection.receive(bytes, &mut self.serving);
        list(&mut self.listed, connection);
        true
    }

    fn accepted(&mut self, socket: Token) {
        let (now, timeouts) = (self.serving.now, &self.settings.timeouts);
        let at = now + timeouts.idle;
        let timer = self.wheel.insert(at, Alarm::Limit(socket));
        let mut connection = Connection::new(socket, self.settings.limits, now, (at, timer));
        let secured = self.driver.secured(socket);
        let peer = Peer::new(self.driver.peer_address(socket), secured);
        self.serving.peers.keep(socket, peer);
        match secured.and_then(|secured| secured.alpn) {
            Some(Alpn::H2) => {
                connection.speak_http2(&self.serving);
                list(&mut self.listed, &mut connection);
            }
            Some(Alpn::Http11) => connection.speak_http1(),
            None => {}
        }
        if self.serving.draining && !self.serving.retiring {
            connection.drain(&mut self.serving);
            list(&mut self.listed, &mut connection);
        } else if self.serving.draining {
            self.look_when_silent(now);
        }
        let slot = socket.slot();
        if slot >= self.connections.len() {
            self.connections.resize_with(slot + 1, || None);
        }
        let before = self.connections[slot].replace(connection);
        debug_assert!(
            before.is_none(),
            "{socket:?} was accepted in the place of a connection that is open"
        );
        self.open += 1;
        // A listener that is closed leaves its place to one that is still let in.
        debug_assert!(
            self.open <= self.settings.room + usize::from(self.listener.is_none()),
            "{} connections are open, and there is room for {}",
            self.open,
            self.settings.room
        );
        if self.open == self.settings.room {
            // Somebody has said so already where there is no place for it.
            let _ = self.settings.full.try_send(self.open);
        }
        self.serving.counts.connections += 1;
    }

    fn listener_failed(&mut self, listener: Token) {
        let _ = self.driver.close(listener, Close::Graceful);
        self.listener = None;
        self.serving.counts.listener_failures += 1;
        self.wheel
            .insert(self.serving.now.plus(LISTEN_AGAIN_NS), Alarm::Listen);
    }

    fn listen_again(&mut self) {
        if self.serving.is_ending() || self.listener.is_some() {
            return;
        }
        match self.driver.listen(&self.settings.listen) {
            Ok(listener) => self.listener = Some(listener),
            Err(_) => {
                self.wheel
                    .insert(self.serving.now.plus(LISTEN_AGAIN_NS), Alarm::Listen);
            }
        }
    }

    /// Does what timers are due for.
    fn ring(&mut self, now: Time) {
        if self.wheel.next_deadline().is_none_or(|due| due > now) {
            return;
        }
        let mut alarms = std::mem::take(&mut self.alarms);
        self.wheel.expire(now, &mut alarms);
        for alarm in alarms.drain(..) {
            match alarm {
                Alarm::Limit(socket) => self.look_at_limit(socket),
                Alarm::Wake(socket) => {
                    if let Some(connection) = find(&mut self.connections, socket) {
                        supply(&mut self.driver, connection);
                        connection.wake(&mut self.serving);
                        list(&mut self.listed, connection);
                    }
                }
                Alarm::Service(ticket) => self.serving.due(ticket),
                Alarm::Listen => self.listen_again(),
                Alarm::DrainOver => self.cut_all(),
                Alarm::Retired => self.retired(),
                Alarm::Upstreams => self.upstream_tick(),
            }
        }
        self.alarms = alarms;
    }

    /// A connection's timer is due: has a limit been reached, or has it moved on?
    fn look_at_limit(&mut self, socket: Token) {
        let (now, timeouts) = (self.serving.now, self.settings.timeouts);
        let Some(connection) = find(&mut self.connections, socket) else {
            return;
        };
        if connection.sending
            && let Some(taken) = self.driver.taken_at(socket)
        {
            connection.since = connection.since.max(taken);
        }
        let (at, overdue) = connection.look(&timeouts, now);
        let limit_reached = at <= now;
        let at = if limit_reached {
            now + timeouts.idle
        } else {
            at.min(now + timeouts.idle)
        };
        connection.timer_at = at;
        connection.timer = self.wheel.insert(at, Alarm::Limit(socket));
        if !limit_reached {
            return;
        }
        match overdue {
            Overdue::Close => {
                self.serving.counts.idle += u64::from(!connection.lingers());
                self.close(socket, Close::Graceful);
            }
            Overdue::Refuse => {
                connection.time_out(&timeouts, &mut self.serving);
                list(&mut self.listed, connection);
            }
            Overdue::Wake => {
                supply(&mut self.driver, connection);
                connection.wake(&mut self.serving);
                list(&mut self.listed, connection);
            }
            Overdue::Reset => {
                self.serving.counts.unread += 1;
                self.close(socket, Close::Reset);
            }
        }
    }

    /// Does what services asked for and looks after every connection that something happened to.
    /// Either may give rise to the other.
    #[inline]
    fn settle(&mut self) {
        loop {
            for (at, ticket) in self.serving.agenda.wakes.drain(..) {
                self.wheel.insert(at, Alarm::Service(ticket));
            }
            if !self.serving.agenda.actions.is_empty() {
                self.act();
            }
            if !self.serving.agenda.notices.is_empty() {
                self.settle_upstreams(); // So that what was asked for clients that left is known.
                self.notify();
            }
            self.settle_upstreams();
            if self.listed.is_empty() && self.serving.agenda.is_settled() {
                return;
            }
            let mut listed = std::mem::take(&mut self.listed);
            for socket in listed.drain(..) {
                self.look_after(socket);
            }
            // So this keeps the memory of the list.
            debug_assert!(
                self.listed.is_empty(),
                "looking after a connection has listed another"
            );
            self.listed = listed;
            if self.all_held_bytes() > self.settings.memory_bytes {
                self.relieve();
                self.settle_upstreams();
            }
            if self.serving.agenda.is_settled() {
                return;
            }
        }
    }

    /// Sends what can be sent, closes what has ended, reads on what was held.
    #[inline]
    fn look_after(&mut self, socket: Token) {
        let Some(connection) = find(&mut self.connections, socket) else {
            return;
        };
        connection.listed = false;
        if connection.wants_to_send() {
            supply(&mut self.driver, connection);
        }
        while !connection.sending {
            let payload = match connection.step(&mut self.serving) {
                Step::Bytes(bytes) => Payload::Buffer(bytes),
                Step::Byte(byte) => {
                    let mut bytes = self.driver.buffer();
                    bytes.push(byte);
                    Payload::Buffer(bytes)
                }
                Step::Slice(Slice {
                    chunked,
                    start,
                    end,
                }) => {
                    let template = if chunked { self.chunks } else { self.plain };
                    Payload::Template {
                        template,
                        start,
                        end,
                        quiet: false,
                    }
                }
                Step::Sleep(length) => {
                    self.wheel
                        .insert(self.serving.now + length, Alarm::Wake(socket));
                    continue;
                }
                Step::Nothing => {
                    if connection.resume(&mut self.serving) {
                        continue;
                    }
                    break;
                }
            };
            let bytes = payload_bytes(&payload);
            connection.in_flight = match payload {
                Payload::Buffer(_) => bytes,
                Payload::Template { .. } => 0,
            };
            if self.driver.send(socket, payload).is_err() {
                return self.close(socket, Close::Reset);
            }
            connection.sending = true;
            connection.since = self.serving.now;
            connection.sent_bytes = connection.sent_bytes.saturating_add(bytes);
        }
        if let Some(buffer) = connection.take_unused_buffer() {
            self.driver.recycle(buffer);
        }
        self.held_bytes = connection.account(self.held_bytes);
        let stop_reading = !connection.reads();
        if stop_reading != connection.deaf {
            connection.deaf = stop_reading;
            let _ = self.driver.arm_receive(socket, !stop_reading);
        }
        let at = connection.due(&self.settings.timeouts);
        if at != Time::NEVER {
            hasten(&mut self.wheel, connection, at);
        }
        if let Some(ending) = connection.finished(&self.serving) {
            self.end(socket, ending);
        }
    }

    /// Clients make this worker hold more than they may: those that take most are given up until
    /// an eighth is free, so that the next byte does not bring the next search.
    #[cold]
    fn relieve(&mut self) {
        let held = |connection: &Connection| connection.held_bytes as usize;
        debug_assert_eq!(
            self.held_bytes,
            self.connections.iter().flatten().map(held).sum::<usize>(),
            "what all clients hold is not the sum of what each holds"
        );
        let enough = self.settings.memory_bytes - self.settings.memory_bytes / 8;
        let upstreams = self.upstream_bytes();
        let clients = self.all_held_bytes() - upstreams;
        if upstreams > clients {
            self.upstream_relieve((upstreams + clients).saturating_sub(enough));
        }
        for (own, of_service, socket) in self.heaviest() {
            if self.all_held_bytes() <= enough {
                return;
            }
            let Some(connection) = find(&mut self.connections, socket) else {
                continue;
            };
            self.serving.counts.relieved += 1;
            if of_service > 0 {
                self.serving.relieve_service(socket);
            }
            if own <= of_service {
                continue;
            }
            supply(&mut self.driver, connection);
            if connection.relieve(&mut self.serving) {
                self.look_after(socket);
            }
            // Where that has freed too little, it is the answers that the client does not take.
            if let Some(connection) = find(&mut self.connections, socket)
                && connection.held_bytes as usize > own / 2
            {
                self.close(socket, Close::Reset);
            }
        }
    }

    /// Connections that hold something, those that hold most first: what they hold by themselves,
    /// and what the service holds for their requests.
    fn heaviest(&self) -> Vec<(usize, usize, Token)> {
        let mut of_service = vec![0; self.connections.len()];
        self.serving.each_held(&mut |ticket, bytes| {
            if let Some(sum) = of_service.get_mut(ticket.socket.slot()) {
                *sum += bytes;
            }
        });
        let all = self.connections.iter().zip(of_service);
        let held = all.filter_map(|(connection, of_service)| {
            let connection = connection.as_ref()?;
            let own = connection.held_bytes as usize;
            (own + of_service > 0).then_some((own, of_service, connection.socket()))
        });
        let mut heavy: Vec<_> = held.collect();
        heavy.sort_unstable_by_key(|&(own, of_service, _)| std::cmp::Reverse(own + of_service));
        heavy
    }

    /// All output of a connection that ends is with the driver.
    fn end(&mut self, socket: Token, ending: Ending) {
        let Some(connection) = find(&mut self.connections, socket) else {
            return;
        };
        // So few bytes have room in any send buffer, so the end need not wait until they are taken.
        let small = connection.sent_bytes as usize <= QUIET_BYTES_MAX;
        if connection.sending && !(ending == Ending::Graceful && small) {
            return;
        }
        match ending {
            Ending::Graceful => self.close(socket, Close::Graceful),
            Ending::Reset => self.close(socket, Close::Reset),
            Ending::Lingering if !connection.lingers() => {
                connection.linger(self.serving.now);
                let (at, _) = connection.limit(&self.settings.timeouts);
                hasten(&mut self.wheel, connection, at);
            }
            Ending::Lingering => {}
        }
    }

    fn close(&mut self, socket: Token, how: Close) {
        if let Some(connection) = find(&mut self.connections, socket) {
            let timer = self.wheel.cancel(connection.timer);
            debug_assert!(
                timer.is_none_or(|alarm| matches!(alarm, Alarm::Limit(of) if of == socket)),
                "{socket:?} has ended the timer of somebody else"
            );
            debug_assert!(self.open > 0, "more connections end than are open");
            self.held_bytes -= connection.held_bytes as usize;
            connection.abandon(&mut self.serving.agenda);
            self.connections[socket.slot()] = None;
            self.open -= 1;
        }
        if self.leaves_to_kernel() {
            self.left += 1;
            return;
        }
        // A token that is stale already names nothing that could be left open.
        let _ = self.driver.close(socket, how);
    }

    fn stop_listening(&mut self) {
        if let Some(listener) = self.listener.take() {
            let _ = self.driver.close(listener, Close::Graceful);
        }
    }
}

/// The connection of `socket`, unless it is gone.
#[inline]
fn find(connections: &mut [Option<Connection>], socket: Token) -> Option<&mut Connection> {
    let found = connections.get_mut(socket.slot())?.as_mut()?;
    (found.socket() == socket).then_some(found)
}

/// Puts a connection on the list of those to be looked after, once.
#[inline]
fn list(listed: &mut Vec<Token>, connection: &mut Connection) {
    if !connection.listed {
        connection.listed = true;
        listed.push(connection.socket());
    }
}

/// Gives a connection a buffer for what it has to say, if it has none.
#[inline]
fn supply(driver: &mut impl Driver, connection: &mut Connection) {
    if connection.wants_buffer() {
        connection.give_buffer(driver.buffer());
    }
}

/// Makes the timer of a connection due at `at`, if it is due later.
fn hasten(wheel: &mut Wheel<Alarm>, connection: &mut Connection, at: Time) {
    if at < connection.timer_at {
        wheel.cancel(connection.timer);
        connection.timer = wheel.insert(at, Alarm::Limit(connection.socket()));
        connection.timer_at = at;
    }
}

#[inline]
fn payload_bytes(payload: &Payload) -> u32 {
    match payload {
        Payload::Template { start, end, .. } => end - start,
        Payload::Buffer(bytes) => u32::try_from(bytes.len()).unwrap_or(u32::MAX),
    }
}

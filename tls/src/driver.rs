//! The driver around a driver. What is special about each socket is in [`Connection`]; here is how
//! calls and completions pass through.
//!
//! A connection has at most one send with the inner driver. Ciphertext that comes up meanwhile
//! gathers behind it; what comes up during a turn of the owner leaves at the next `wait` in one
//! piece. Large sends are encrypted [`AHEAD_BYTES`] at a time, as the inner driver takes them.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;

use measure::time::Time;

use super::connection::{Connection, Stage};
use super::fault;
use super::machine::Machine;
use super::{ClientTls, Secured, ServerTls, TlsFault};
use engine::Completions;
use engine::Waker;
use engine::payloads::Payloads;
use engine::{
    Address, Broken, Capabilities, Close, Completion, Driver, EngineCounters, Event, Fault, Lent,
    Listen, Payload, Refused, SocketOptions, Template, Token, Until,
};

/// How long the handshake of an accepted connection may take.
pub const PATIENCE_NS: u64 = 30_000_000_000;

/// How long a client that leaves before it has heard anything waits for the tickets that a server
/// of TLS 1.3 sends behind the handshake: closing with them unread would be a reset, which may
/// destroy what was sent before (RFC 8446 §4.6.1, RFC 1122 §4.2.2.13).
const TICKETS_NS: u64 = 1_000_000_000;

/// A driver whose connections are secured. See the module's text and [`Driver`].
pub struct Tls<D: Driver> {
    inner: D,
    client: Option<ClientTls>,
    server: Option<ServerTls>,
    /// By slot. Listeners have none.
    connections: Vec<Option<Box<Connection>>>,
    /// By slot: connections in the clear, which pass through as they are, if there may be any.
    plain: Option<Vec<Token>>,
    /// What those send of the inner driver's, by what the owner calls it.
    plain_templates: Vec<(Template, Template)>,
    payloads: Payloads,
    /// Connections with ciphertext to hand over.
    outbox: Vec<Token>,
    /// The inner driver's completions of this turn.
    reported: Vec<Completion>,
    /// Accepted connections in their handshake and closed ones that are not done, by when the
    /// patience with them ends.
    waiting: BinaryHeap<Reverse<(Time, Token)>>,
    capabilities: Capabilities,
    completions: u64,
    handshakes_failed: u64,
}

impl<D: Driver> Tls<D> {
    /// Secures every connect. A driver of this kind does not listen.
    pub fn client(driver: D, tls: ClientTls) -> Tls<D> {
        Tls::new(driver, Some(tls), None)
    }

    /// Secures every accepted connection. A driver of this kind does not connect.
    pub fn server(driver: D, tls: ServerTls) -> Tls<D> {
        Tls::new(driver, None, Some(tls))
    }

    /// Secures both, each by its own settings.
    pub fn both(driver: D, client: ClientTls, server: ServerTls) -> Tls<D> {
        Tls::new(driver, Some(client), Some(server))
    }

    /// Connects in the clear where no client settings are, but for connections that say themselves
    /// how they're secured ([`SocketOptions::secure`], with a [`ClientTls`]).
    pub fn connecting_in_the_clear(self) -> Tls<D> {
        let plain = Some(Vec::new());
        Tls { plain, ..self }
    }

    /// Accepts and connects in the clear, but for connections that say themselves how they're
    /// secured.
    pub fn as_asked(driver: D) -> Tls<D> {
        Tls::new(driver, None, None).connecting_in_the_clear()
    }

    fn new(driver: D, client: Option<ClientTls>, server: Option<ServerTls>) -> Tls<D> {
        let mut capabilities = driver.capabilities().clone();
        capabilities.features.push("TLS by rustls and ring".into());
        Tls {
            inner: driver,
            client,
            server,
            connections: Vec::new(),
            plain: None,
            plain_templates: Vec::new(),
            payloads: Payloads::default(),
            outbox: Vec::new(),
            reported: Vec::new(),
            waiting: BinaryHeap::new(),
            capabilities,
            completions: 0,
            handshakes_failed: 0,
        }
    }
}

/// A side of TLS for which there are no settings.
const NO_SETTINGS: Refused = Refused::Kernel(Fault::UNSUPPORTED);

impl<D: Driver> Driver for Tls<D> {
    fn register(&mut self, bytes: &[u8]) -> Result<Template, Refused> {
        let template = self.payloads.register(bytes)?;
        if self.plain.is_some() {
            let inner = self.inner.register(bytes)?;
            self.plain_templates.push((template, inner));
        }
        Ok(template)
    }

    fn buffer(&mut self) -> Vec<u8> {
        let buffer = self.payloads.buffer();
        match &self.plain {
            // What connections in the clear have sent is the inner driver's.
            Some(_) if buffer.capacity() == 0 => self.inner.buffer(),
            _ => buffer,
        }
    }

    fn recycle(&mut self, buffer: Vec<u8>) {
        self.payloads.recycle(buffer);
    }

    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    fn now(&self) -> Time {
        self.inner.now()
    }

    fn clock(&self) -> Time {
        self.inner.clock()
    }

    fn listen(&mut self, listen: &Listen) -> Result<Token, Refused> {
        if self.server.is_none() && self.plain.is_none() {
            return Err(NO_SETTINGS);
        }
        self.inner.listen(listen)
    }

    fn expect_outgoing(&mut self, sockets: usize) {
        self.inner.expect_outgoing(sockets);
    }

    fn local_address(&self, socket: Token) -> Option<Address> {
        self.inner.local_address(socket)
    }

    fn peer_address(&self, socket: Token) -> Option<SocketAddr> {
        self.inner.peer_address(socket)
    }

    fn connect(&mut self, to: &Address, options: &SocketOptions) -> Result<Token, Refused> {
        let own = match &options.secure {
            Some(secure) => Some(secure.settings::<ClientTls>().ok_or(NO_SETTINGS)?),
            None => None,
        };
        let Some(tls) = own.or(self.client.as_ref()) else {
            if self.plain.is_none() {
                return Err(NO_SETTINGS);
            }
            let token = self.inner.connect(to, options)?;
            self.is_in_the_clear(token);
            return Ok(token);
        };
        let machine = Machine::client(tls, options.peer)
            .map_err(|error| Refused::Kernel(Fault::Tls(fault::of(&error, true))))?;
        let needs_alpn = tls.needs_alpn();
        let token = match own {
            // What this driver does is none of the inner one's business.
            Some(_) => {
                let secure = None;
                let options = options.clone();
                self.inner
                    .connect(to, &SocketOptions { secure, ..options })?
            }
            None => self.inner.connect(to, options)?,
        };
        let connection = Connection::outgoing(token, machine, needs_alpn);
        self.keep(connection);
        Ok(token)
    }

    #[inline]
    fn send(&mut self, socket: Token, payload: Payload) -> Result<(), Refused> {
        if self.is_plain(socket) {
            return self.send_in_the_clear(socket, payload);
        }
        let refused = match find(&mut self.connections, socket) {
            Some(found) if found.stage == Stage::Open && found.shut_down => Refused::ShutDown,
            Some(found) if found.stage == Stage::Open && found.is_sending() => {
                Refused::SendUnfinished
            }
            Some(found) if matches!(found.stage, Stage::Open | Stage::Dead) => {
                let outgoing = self.payloads.accept(payload)?;
                if found.stage == Stage::Dead {
                    // Its failure is in the list that the owner is reading.
                    self.payloads.finish(outgoing);
                    return Ok(());
                }
                debug_assert!(
                    found.outgoing.is_none(),
                    "{socket:?} has a send that is not encrypted yet"
                );
                found.owes_sent = !outgoing.quiet;
                found.outgoing = Some(outgoing);
                self.encrypt(socket);
                return Ok(());
            }
            _ => Refused::Stale,
        };
        self.payloads.reject(payload);
        Err(refused)
    }

    /// Says close_notify. TCP stays whole, for a half that is closed could not carry what rustls
    /// may have to say.
    fn shutdown(&mut self, socket: Token) -> Result<(), Refused> {
        if self.is_plain(socket) {
            return self.inner.shutdown(socket);
        }
        match find(&mut self.connections, socket) {
            Some(found) if found.stage == Stage::Open => {
                found.shut_down = true;
                self.encrypt(socket);
                Ok(())
            }
            Some(found) if found.stage == Stage::Dead => Ok(()),
            _ => Err(Refused::Stale),
        }
    }

    fn arm_receive(&mut self, socket: Token, armed: bool) -> Result<(), Refused> {
        if self.is_plain(socket) {
            return self.inner.arm_receive(socket, armed);
        }
        let found = find(&mut self.connections, socket).filter(|found| found.is_known());
        let found = found.ok_or(Refused::Stale)?;
        found.armed = armed;
        match found.stage {
            Stage::Open => self.inner.arm_receive(socket, armed),
            // The handshake itself goes on receiving; see `stands`.
            _ => Ok(()),
        }
    }

    fn close(&mut self, socket: Token, how: Close) -> Result<(), Refused> {
        if self.is_plain(socket) {
            return self.inner.close(socket, how);
        }
        let Some(found) = find(&mut self.connections, socket) else {
            self.inner.close(socket, how)?;
            self.abandon_handshakes_of(socket);
            return Ok(());
        };
        if !found.is_known() {
            return Err(Refused::Stale);
        }
        if found.stage == Stage::Open && how == Close::Graceful {
            found.stage = Stage::Leaving;
            self.encrypt(socket);
            self.leave(socket);
            return Ok(());
        }
        self.inner.close(socket, how)?;
        self.forget(socket);
        Ok(())
    }

    fn wait(&mut self, until: Until, completions: &mut Completions) -> Result<Time, Broken> {
        loop {
            self.hand_over_all();
            let bounded = self.earlier(until);
            let now = self.inner.wait(bounded, completions)?;
            completions.exchange(&mut self.reported);
            let worked = !self.reported.is_empty();
            for position in 0..self.reported.len() {
                let Completion { socket, event } = self.reported[position];
                self.pass_on(socket, event, completions);
            }
            self.reported.clear();
            self.end_patience(now);
            self.completions += completions.len() as u64;
            // What was only this module's business does not end the owner's sleep; a wake does,
            // and it comes but once.
            let early = match until {
                Until::Now => false,
                Until::Time(deadline) => now < deadline,
                Until::Event => true,
            };
            if !(worked && early && completions.is_empty()) || completions.has_wake() {
                return Ok(now);
            }
        }
    }

    fn linger_ns(&self) -> u64 {
        self.inner.linger_ns()
    }

    #[inline]
    fn secured(&self, socket: Token) -> Option<Secured> {
        let found = self.connections.get(socket.slot())?.as_deref()?;
        (found.token == socket && found.stage == Stage::Open)
            .then(|| found.machine.secured(found.began, found.handshake_ns))?
    }

    fn is_shaking_hands(&self, socket: Token) -> bool {
        let found = self.connections.get(socket.slot());
        let found = found.and_then(Option::as_deref);
        found.is_some_and(|found| {
            let is_connected = found.began != Time(0);
            found.token == socket && found.stage == Stage::Connecting && is_connected
        })
    }

    fn is_tunnelling(&self, socket: Token) -> bool {
        self.inner.is_tunnelling(socket)
    }

    fn waker(&self) -> Waker {
        self.inner.waker()
    }

    fn wake_handle(&mut self) -> io::Result<OwnedFd> {
        self.inner.wake_handle()
    }

    fn doze(&mut self) -> Result<Option<Time>, Broken> {
        self.hand_over_all();
        let until = self.inner.doze()?;
        let mine = self.earlier(Until::Event).time();
        Ok(until.map(|until| until.min(mine)))
    }

    /// What is taken is ciphertext: of the send itself, or of one before it that it waits for.
    fn taken_at(&self, socket: Token) -> Option<Time> {
        if self.is_plain(socket) {
            return self.inner.taken_at(socket);
        }
        let found = self.connections.get(socket.slot())?.as_deref()?;
        let known = found.token == socket && found.is_sending();
        let whole = (found.taken_at != Time::NEVER).then_some(found.taken_at);
        let part = self.inner.taken_at(socket);
        known.then_some(part.max(whole))?
    }

    fn counters(&self) -> EngineCounters {
        EngineCounters {
            completions: self.completions,
            handshakes_failed: self.handshakes_failed,
            ..self.inner.counters()
        }
    }
}

impl<D: Driver> Tls<D> {
    /// Whether a connection is in the clear.
    #[inline]
    fn is_plain(&self, socket: Token) -> bool {
        let plain = self.plain.as_ref();
        plain.is_some_and(|plain| plain.get(socket.slot()) == Some(&socket))
    }

    /// A connection is in the clear, and passes through.
    fn is_in_the_clear(&mut self, token: Token) {
        if let Some(plain) = &mut self.plain {
            plain.resize(plain.len().max(token.slot() + 1), Token::NOBODYS);
            plain[token.slot()] = token;
        }
    }

    /// Sends as the owner says, in the inner driver's words.
    fn send_in_the_clear(&mut self, socket: Token, payload: Payload) -> Result<(), Refused> {
        let payload = match payload {
            Payload::Buffer(bytes) => Payload::Buffer(bytes),
            Payload::Template {
                template,
                start,
                end,
                quiet,
            } => {
                let mut known = self.plain_templates.iter();
                let known = known.find(|(ours, _)| *ours == template);
                let (_, template) = *known.ok_or(Refused::EmptyOrOutOfRange)?;
                Payload::Template {
                    template,
                    start,
                    end,
                    quiet,
                }
            }
        };
        self.inner.send(socket, payload)
    }

    fn keep(&mut self, connection: Connection) {
        let slot = connection.token.slot();
        if self.connections.len() <= slot {
            self.connections.resize_with(slot + 1, || None);
        }
        let before = self.connections[slot].replace(Box::new(connection));
        debug_assert!(
            before.is_none(),
            "the inner driver gave slot {slot} out while its connection was kept"
        );
    }

    /// Ends what is kept of a connection whose socket is closed.
    fn forget(&mut self, socket: Token) {
        let Some(place) = self.connections.get_mut(socket.slot()) else {
            return;
        };
        if let Some(gone) = place.take_if(|found| found.token == socket) {
            self.inner.recycle(gone.ciphertext);
            if let Some(outgoing) = gone.outgoing {
                self.payloads.finish(outgoing);
            }
        }
    }

    /// Closes a socket that the owner does not know, or knows no more.
    fn drop_socket(&mut self, socket: Token, how: Close) {
        let shakes_hands = |found: &mut Connection| matches!(found.stage, Stage::Accepted { .. });
        let failed = find(&mut self.connections, socket).is_some_and(shakes_hands);
        self.handshakes_failed += u64::from(failed);
        let closed = self.inner.close(socket, how);
        debug_assert!(closed.is_ok(), "{socket:?} was closed by somebody else");
        self.forget(socket);
    }

    /// Connections that a closed listener was about to report are none of the owner's any more.
    fn abandon_handshakes_of(&mut self, listener: Token) {
        let of_it = |found: &&Connection| found.stage == Stage::Accepted { listener };
        let connections = self.connections.iter().flatten();
        let tokens: Vec<Token> = connections
            .map(|found| &**found)
            .filter(of_it)
            .map(|found| found.token)
            .collect();
        for token in tokens {
            self.drop_socket(token, Close::Reset);
        }
    }

    /// Encrypts what there is to send, as far as it may run ahead, and plans its handing over.
    #[inline]
    fn encrypt(&mut self, socket: Token) {
        let Some(found) = find(&mut self.connections, socket) else {
            return;
        };
        if found.ciphertext.capacity() == 0 {
            found.ciphertext = self.inner.buffer();
        }
        if found.encrypt(&mut self.payloads).is_err() {
            // Keys that are used up are renewed by rustls, so nothing but a bug leads here.
            found.stage = Stage::Dead;
        }
        if !found.in_outbox {
            found.in_outbox = true;
            self.outbox.push(socket);
        }
    }

    fn hand_over_all(&mut self) {
        for position in 0..self.outbox.len() {
            let socket = self.outbox[position];
            if let Some(found) = find(&mut self.connections, socket) {
                debug_assert!(found.in_outbox, "{socket:?} stands in the outbox twice");
                found.in_outbox = false;
                hand_over(&mut self.inner, found);
            }
        }
        self.outbox.clear();
    }

    /// Hands over the last bytes of a connection that its owner has closed, and closes it behind
    /// the last of them.
    fn leave(&mut self, socket: Token) {
        let Some(found) = find(&mut self.connections, socket) else {
            return;
        };
        hand_over(&mut self.inner, found);
        let patience_ns = if !found.ciphertext.is_empty() || found.outgoing.is_some() {
            self.inner.linger_ns()
        } else if found.awaits_tickets() {
            TICKETS_NS
        } else {
            return self.drop_socket(socket, Close::Graceful);
        };
        if found.patience == Time::NEVER {
            let until = self.inner.now().plus(patience_ns);
            self.wait_for(socket, until);
        }
    }

    /// Has patience with a connection until then.
    fn wait_for(&mut self, socket: Token, until: Time) {
        if let Some(found) = find(&mut self.connections, socket) {
            found.patience = until;
            self.waiting.push(Reverse((until, socket)));
        }
    }

    /// Whose patience ends next, and when.
    fn next_to_wait(&mut self) -> Option<(Time, Token)> {
        while let Some(&Reverse((time, socket))) = self.waiting.peek() {
            if find(&mut self.connections, socket).is_some_and(|found| found.patience == time) {
                return Some((time, socket));
            }
            self.waiting.pop();
        }
        None
    }

    /// `until`, or earlier where the patience with somebody ends before.
    #[inline]
    fn earlier(&mut self, until: Until) -> Until {
        match self.next_to_wait() {
            Some((time, _)) => until.or_before(time),
            None => until,
        }
    }

    #[inline]
    fn end_patience(&mut self, now: Time) {
        while let Some((time, socket)) = self.next_to_wait() {
            if time > now {
                return;
            }
            let how = match find(&mut self.connections, socket) {
                Some(found) if found.awaits_tickets() => Close::Graceful,
                _ => Close::Reset,
            };
            self.drop_socket(socket, how);
        }
    }

    /// Makes of one completion of the inner driver what the owner is to see.
    #[inline]
    fn pass_on(&mut self, socket: Token, event: Event, completions: &mut Completions) {
        if self.is_plain(socket) {
            return completions.push(socket, event);
        }
        if let Event::Accepted { .. } = event
            && self.server.is_none()
        {
            self.is_in_the_clear(socket);
            return completions.push(socket, event);
        }
        match event {
            Event::Received(lent) => self.received(socket, lent, completions),
            Event::Sent => self.sent(socket, completions),
            Event::Accepted { listener } => self.accepted(socket, listener),
            Event::Connected => self.connected(socket, completions),
            Event::Ended => self.ended(socket, completions),
            Event::Failed(fault) => self.failed(socket, fault, completions),
        }
    }

    #[inline]
    fn received(&mut self, socket: Token, lent: Lent, completions: &mut Completions) {
        let Some(found) = find(&mut self.connections, socket) else {
            return;
        };
        if found.ended || found.stage == Stage::Dead {
            return;
        }
        let shakes_hands = found.stage.is_handshake();
        let start = completions.arena_len();
        let error = completions.open(lent, |bytes, arena| found.receive(bytes, arena));
        found.heard |= !shakes_hands && found.has_whole_records();
        self.digest(socket, error, start, completions);
    }

    /// Reports what came out of receiving, and sends what has to be answered.
    #[inline]
    fn digest(
        &mut self,
        socket: Token,
        error: Option<rustls::Error>,
        start: usize,
        completions: &mut Completions,
    ) {
        let Some(found) = find(&mut self.connections, socket) else {
            return;
        };
        if !found.ciphertext.is_empty() && !found.in_outbox {
            found.in_outbox = true;
            self.outbox.push(socket);
        }
        if found.stage.is_handshake() && error.is_none() && !found.machine.is_handshaking() {
            self.stands(socket, completions);
        }
        let Some(found) = find(&mut self.connections, socket) else {
            return;
        };
        if found.stage == Stage::Open {
            if completions.arena_len() > start {
                completions.lend_arena(socket, start);
            }
            if found.ended {
                completions.push(socket, Event::Ended);
            }
        }
        let stage = found.stage;
        if let Some(error) = error {
            let fault = fault::of(&error, stage.is_handshake());
            self.failed(socket, Fault::Tls(fault), completions);
        }
        if stage == Stage::Leaving {
            self.leave(socket);
        }
    }

    /// The handshake is done.
    #[cold]
    fn stands(&mut self, socket: Token, completions: &mut Completions) {
        let Some(found) = find(&mut self.connections, socket) else {
            return;
        };
        found.handshake_ns = self.inner.clock().since(found.began);
        found.patience = Time::NEVER;
        let event = match found.stage {
            Stage::Accepted { listener } => Event::Accepted { listener },
            _ => Event::Connected,
        };
        let agreed = found
            .machine
            .secured(found.began, 0)
            .and_then(|secured| secured.alpn);
        if found.needs_alpn && agreed.is_none() {
            let fault = Fault::Tls(TlsFault::NoCommonProtocol);
            return self.failed(socket, fault, completions);
        }
        found.stage = Stage::Open;
        completions.push(socket, event);
        if !found.armed {
            // The socket is open, so there is nothing to refuse.
            let _ = self.inner.arm_receive(socket, false);
        }
    }

    #[inline]
    fn sent(&mut self, socket: Token, completions: &mut Completions) {
        let Some(found) = find(&mut self.connections, socket) else {
            return;
        };
        debug_assert!(
            found.sending,
            "{socket:?} reports a send that was not handed over"
        );
        found.sending = false;
        found.taken_at = self.inner.now();
        if found.outgoing.is_some() && found.stage != Stage::Dead {
            self.encrypt(socket);
        }
        let Some(found) = find(&mut self.connections, socket) else {
            return;
        };
        match found.stage {
            Stage::Leaving => self.leave(socket),
            Stage::Open => {
                hand_over(&mut self.inner, found);
                if found.owes_sent && !found.sending {
                    found.owes_sent = false;
                    completions.push(socket, Event::Sent);
                }
            }
            _ => hand_over(&mut self.inner, found),
        }
    }

    #[cold]
    fn accepted(&mut self, socket: Token, listener: Token) {
        let machine = self.server.as_ref().map(Machine::server);
        let Some(Ok(machine)) = machine else {
            return self.drop_socket(socket, Close::Reset);
        };
        let mut connection = Connection::incoming(socket, machine, listener);
        connection.began = self.inner.now();
        let until = connection.began.plus(PATIENCE_NS);
        self.keep(connection);
        self.wait_for(socket, until);
    }

    /// The connection stands; now the handshake begins.
    #[cold]
    fn connected(&mut self, socket: Token, completions: &mut Completions) {
        let began = self.inner.now();
        let start = completions.arena_len();
        let Some(found) = find(&mut self.connections, socket) else {
            return;
        };
        found.began = began;
        found.ciphertext = self.inner.buffer();
        let received = found
            .machine
            .receive(&mut [], &mut Vec::new(), &mut found.ciphertext);
        self.digest(socket, received.error, start, completions);
    }

    #[cold]
    fn ended(&mut self, socket: Token, completions: &mut Completions) {
        match find(&mut self.connections, socket) {
            Some(found) if found.stage == Stage::Open && !found.ended => {
                found.ended = true;
                completions.push(socket, Event::Ended);
            }
            Some(found) if found.stage.is_handshake() => {
                self.failed(socket, Fault::Tls(TlsFault::Abandoned), completions);
            }
            Some(found) if found.stage == Stage::Leaving => {
                found.heard = true;
                self.leave(socket);
            }
            _ => {}
        }
    }

    /// A connection is dead: by the inner driver's word, or because its TLS is broken.
    #[cold]
    fn failed(&mut self, socket: Token, fault: Fault, completions: &mut Completions) {
        let Some(found) = find(&mut self.connections, socket) else {
            // Of a listener, or of a connection that was dropped earlier in this turn.
            if self.inner.local_address(socket).is_some() {
                completions.push(socket, Event::Failed(fault));
            }
            return;
        };
        let by_tls = matches!(fault, Fault::Tls(_));
        if by_tls {
            // The alert that tells the peer.
            hand_over(&mut self.inner, found);
        }
        match found.stage {
            Stage::Dead => {}
            // Where TLS breaks while the last bytes leave, nobody waits for what comes in.
            Stage::Leaving if by_tls => {}
            Stage::Leaving => self.drop_socket(socket, Close::Reset),
            Stage::Accepted { .. } if by_tls => self.drop_socket(socket, Close::Graceful),
            Stage::Accepted { .. } => self.drop_socket(socket, Close::Reset),
            Stage::Connecting | Stage::Open => {
                found.stage = Stage::Dead;
                completions.push(socket, Event::Failed(fault));
            }
        }
    }
}

/// Gives a connection's ciphertext to the inner driver, unless that has a send of it unfinished.
#[inline]
fn hand_over<D: Driver>(inner: &mut D, connection: &mut Connection) {
    if connection.sending || connection.ciphertext.is_empty() {
        return;
    }
    let bytes = std::mem::take(&mut connection.ciphertext);
    // It refuses only sockets that have failed, which it has reported or will.
    connection.sending = inner.send(connection.token, Payload::Buffer(bytes)).is_ok();
}

/// The connection that a token names. Takes the table alone, so that the rest stays free.
#[inline]
fn find(connections: &mut [Option<Box<Connection>>], token: Token) -> Option<&mut Connection> {
    let found = connections.get_mut(token.slot())?.as_deref_mut()?;
    (found.token == token).then_some(found)
}

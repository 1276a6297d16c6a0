//! The workbench of the suite: one driver, a record of all it reported, and the rules that hold
//! for every report whatever the case is about.

use std::collections::{HashMap, HashSet};

use engine::{
    Address, Close, Completions, Config, Driver, Event, Fault, Listen, Payload, Refused,
    SocketOptions, Token, Until,
};
use tempfile::TempDir;

#[path = "../../../tests/patterns.rs"]
mod patterns;
pub(crate) use patterns::{assert_same, pattern};

/// No case needs more turns or more time; virtual time in the simulator.
const TURNS_MAX: usize = 2_000_000;
const CASE_NS_MAX: u64 = 20_000_000_000;
/// How long a turn sleeps at most, so that a case that hangs fails with its own words.
const TURN_NS: u64 = 20_000_000;

/// How a case opens its driver.
pub type Open<'a, D> = &'a dyn Fn(&Config) -> D;

/// What was reported of one socket so far.
#[derive(Clone, Debug, Default)]
pub struct Story {
    pub connected: bool,
    pub accepted_by: Option<Token>,
    pub received: Vec<u8>,
    /// Completions of sends.
    pub sent: usize,
    pub ended: bool,
    pub failed: Option<Fault>,
    /// Sends that must still be reported.
    unfinished: usize,
}

pub struct Bench<D> {
    pub driver: D,
    pub completions: Completions,
    pub accepted: Vec<Token>,
    stories: HashMap<Token, Story>,
    nothing: Story,
    closed: HashSet<Token>,
    sockets_max: usize,
}

impl<D: Driver> Bench<D> {
    pub fn new(open: Open<'_, D>) -> Bench<D> {
        Bench::with(open, Config::default())
    }

    pub fn with(open: Open<'_, D>, config: Config) -> Bench<D> {
        Bench {
            driver: open(&config),
            completions: Completions::new(),
            accepted: Vec::new(),
            stories: HashMap::new(),
            nothing: Story::default(),
            closed: HashSet::new(),
            sockets_max: config.sockets,
        }
    }

    /// Whether connections are secured: they stand only when both ends have spoken, and more
    /// bytes go over the wire than are sent.
    pub fn is_secured(&self) -> bool {
        let features = &self.driver.capabilities().features;
        features.iter().any(|feature| feature.starts_with("TLS"))
    }

    /// A listener on a port of the kernel's choice.
    pub fn listen(&mut self) -> (Token, Address) {
        self.listen_with(SocketOptions::default())
    }

    pub fn listen_with(&mut self, options: SocketOptions) -> (Token, Address) {
        self.listen_on("127.0.0.1:0", options, false)
    }

    /// A listener that is asked where its peers are.
    pub fn listen_naming(&mut self, address: &str) -> (Token, Address) {
        self.listen_on(address, SocketOptions::default(), true)
    }

    fn listen_on(
        &mut self,
        address: &str,
        options: SocketOptions,
        peers: bool,
    ) -> (Token, Address) {
        let listen = Listen {
            address: Address::Tcp(address.parse().expect("an address")),
            share_port: None,
            peers,
            backlog: 1024,
            options,
            inherited: None,
        };
        let token = self.driver.listen(&listen).expect("a listener");
        let address = self
            .driver
            .local_address(token)
            .expect("a listener has an address");
        (token, address)
    }

    pub fn connect(&mut self, to: &Address) -> Token {
        self.connect_with(to, &SocketOptions::default())
    }

    pub fn connect_with(&mut self, to: &Address, options: &SocketOptions) -> Token {
        self.driver
            .connect(to, options)
            .expect("a connection begins")
    }

    /// The same in a full driver, as soon as one of its sockets has ended.
    pub fn connect_with_patience(&mut self, to: &Address, options: &SocketOptions) -> Token {
        let deadline = self.driver.clock().plus(CASE_NS_MAX);
        loop {
            match self.driver.connect(to, options) {
                Err(Refused::SocketsFull) => {}
                other => return other.expect("a connection begins"),
            }
            assert!(self.driver.now() < deadline, "no slot within 20 s");
            self.turn();
        }
    }

    /// A listener in a full driver, as soon as one of its sockets has ended.
    pub fn slot_for_another(&mut self) -> Token {
        let listen = Listen {
            address: Address::Tcp("127.0.0.1:0".parse().expect("an address")),
            share_port: None,
            peers: false,
            backlog: 1,
            options: SocketOptions::default(),
            inherited: None,
        };
        let deadline = self.driver.clock().plus(CASE_NS_MAX);
        loop {
            match self.driver.listen(&listen) {
                Err(Refused::SocketsFull) => {}
                other => return other.expect("a listener"),
            }
            assert!(self.driver.now() < deadline, "no slot within 20 s");
            self.turn();
        }
    }

    /// Two ends of one connection: who connected and who accepted.
    pub fn pair(&mut self) -> (Token, Token) {
        self.pair_with(&SocketOptions::default())
    }

    pub fn pair_with(&mut self, options: &SocketOptions) -> (Token, Token) {
        let (listener, address) = self.listen_with(options.clone());
        let client = self.connect_with(&address, options);
        let accepted = self.accepted.len();
        self.until("both ends of a connection stand", |bench| {
            bench.story(client).connected && bench.accepted.len() > accepted
        });
        self.close(listener, Close::Graceful);
        (client, self.accepted[accepted])
    }

    /// Two ends whose buffers are small, of which the second reads nothing: what the first sends is
    /// stuck.
    pub fn stuck_pair(&mut self) -> (Token, Token) {
        let small = SocketOptions {
            send_buffer_bytes: Some(4_608),
            receive_buffer_bytes: Some(4_096),
            ..SocketOptions::default()
        };
        let (client, server) = self.pair_with(&small);
        self.driver
            .arm_receive(server, false)
            .expect("an open connection");
        self.some_turns();
        (client, server)
    }

    /// A number of connections to one listener, in the order of the clients.
    pub fn pairs(&mut self, count: usize) -> Vec<(Token, Token)> {
        let (_, address) = self.listen();
        let clients: Vec<Token> = (0..count).map(|_| self.connect(&address)).collect();
        let before = self.accepted.len();
        self.until("all connections stand", |bench| {
            let connected = clients.iter().all(|&client| bench.story(client).connected);
            connected && bench.accepted.len() - before == count
        });
        // Who belongs to whom only the bytes tell.
        for (index, &client) in (0u32..).zip(&clients) {
            self.send(client, &index.to_le_bytes());
        }
        let servers = self.accepted[before..].to_vec();
        self.until("every server knows its client", |bench| {
            servers
                .iter()
                .all(|&server| bench.story(server).received.len() == 4)
                && clients.iter().all(|&client| bench.story(client).sent == 1)
        });
        let mut pairs: Vec<_> = servers
            .into_iter()
            .map(|s| (self.take_index(s), s))
            .collect();
        pairs.sort_unstable_by_key(|&(index, _)| index);
        pairs
            .into_iter()
            .zip(clients)
            .map(|((_, server), client)| (client, server))
            .collect()
    }

    fn take_index(&mut self, server: Token) -> u32 {
        let story = self.stories.get_mut(&server).expect("it has received");
        let index = story.received.drain(..4).collect::<Vec<u8>>();
        u32::from_le_bytes(index.try_into().expect("four bytes"))
    }

    /// Sends by a buffer of the driver.
    pub fn send(&mut self, socket: Token, bytes: &[u8]) {
        let mut buffer = self.driver.buffer();
        assert!(buffer.is_empty(), "a buffer from the pool is empty");
        buffer.extend_from_slice(bytes);
        self.send_payload(socket, Payload::Buffer(buffer))
            .expect("a send begins");
    }

    pub fn send_payload(&mut self, socket: Token, payload: Payload) -> Result<(), Refused> {
        let quiet = matches!(payload, Payload::Template { quiet: true, .. });
        self.driver.send(socket, payload)?;
        if !quiet {
            self.stories.entry(socket).or_default().unfinished += 1;
        }
        Ok(())
    }

    pub fn shutdown(&mut self, socket: Token) {
        self.driver
            .shutdown(socket)
            .expect("a connection that stands can be shut down");
    }

    pub fn close(&mut self, socket: Token, how: Close) {
        self.driver
            .close(socket, how)
            .expect("an open socket can be closed");
        assert!(self.closed.insert(socket), "{socket:?} was closed twice");
    }

    /// What was reported of a socket so far, also of one that is closed.
    pub fn story(&self, socket: Token) -> &Story {
        self.stories.get(&socket).unwrap_or(&self.nothing)
    }

    /// How much was received.
    pub fn received_len(&self, socket: Token) -> usize {
        self.story(socket).received.len()
    }

    /// One turn that sleeps only if nothing happens.
    pub fn turn(&mut self) {
        let deadline = self.driver.clock().plus(TURN_NS);
        self.turn_until(Until::Time(deadline));
    }

    pub fn turn_until(&mut self, until: Until) {
        let now = self
            .driver
            .wait(until, &mut self.completions)
            .expect("the driver works");
        assert_eq!(
            now,
            self.driver.now(),
            "now() is what the last wait returned"
        );
        for position in 0..self.completions.len() {
            self.write_down(position);
        }
    }

    /// Turns until `done`, or fails saying what was awaited.
    pub fn until(&mut self, what: &str, mut done: impl FnMut(&Bench<D>) -> bool) {
        self.until_with(what, |bench| done(bench));
    }

    /// The same, with something to do before each turn.
    pub fn until_with(&mut self, what: &str, mut done: impl FnMut(&mut Bench<D>) -> bool) {
        let deadline = self.driver.clock().plus(CASE_NS_MAX);
        for turns in 0..TURNS_MAX {
            if done(self) {
                return;
            }
            let late = self.driver.now() > deadline;
            assert!(
                !late,
                "not within 20 s, {turns} turns: {what}\n{}",
                self.summary()
            );
            self.turn();
        }
        panic!("not within {TURNS_MAX} turns: {what}\n{}", self.summary());
    }

    /// What is known of each socket, for a failing case to print.
    fn summary(&self) -> String {
        let mut lines = vec![format!("{:?}", self.driver.counters())];
        for (token, story) in &self.stories {
            let Story {
                connected,
                accepted_by,
                received,
                sent,
                ended,
                failed,
                unfinished,
            } = story;
            lines.push(format!(
                "{token:?}: connected {connected}, accepted {}, {} bytes, {sent} sent, \
                 {unfinished} not, ended {ended}, failed {failed:?}, closed {}",
                accepted_by.is_some(),
                received.len(),
                self.closed.contains(token),
            ));
        }
        lines.truncate(40);
        lines.join("\n")
    }

    /// A number of turns in which something forbidden had its chance to show.
    pub fn some_turns(&mut self) {
        for _ in 0..20 {
            let deadline = self.driver.clock().plus(500_000);
            self.turn_until(Until::Time(deadline));
        }
    }

    /// Forgets the stories of closed sockets, so that a long case stays fast.
    pub fn forget_closed(&mut self) {
        let closed = &self.closed;
        self.stories.retain(|token, _| !closed.contains(token));
    }

    fn write_down(&mut self, position: usize) {
        let completion = self.completions.get(position);
        let socket = completion.socket;
        assert!(
            socket.slot() < self.sockets_max,
            "{completion:?} is beyond Config::sockets"
        );
        assert!(
            !self.closed.contains(&socket),
            "{completion:?} came after its close"
        );
        let story = self.stories.entry(socket).or_default();
        assert_eq!(story.failed, None, "{completion:?} came after a failure");
        match completion.event {
            Event::Accepted { listener } => {
                assert!(
                    !self.closed.contains(&listener),
                    "accepted by a closed listener"
                );
                assert!(
                    story.accepted_by.is_none() && !story.connected,
                    "{completion:?} again"
                );
                story.accepted_by = Some(listener);
                self.accepted.push(socket);
            }
            Event::Connected => {
                assert!(
                    story.accepted_by.is_none() && !story.connected,
                    "{completion:?} again"
                );
                story.connected = true;
            }
            Event::Received(lent) => {
                let stands = story.connected || story.accepted_by.is_some();
                assert!(stands, "{completion:?} before the connection stood");
                assert!(!story.ended, "{completion:?} came after the end");
                let bytes = self.completions.bytes(lent);
                assert!(!bytes.is_empty(), "received no bytes");
                story.received.extend_from_slice(bytes);
            }
            Event::Sent => {
                assert!(story.unfinished > 0, "{completion:?} for no send");
                story.unfinished -= 1;
                story.sent += 1;
            }
            Event::Ended => {
                assert!(!story.ended, "{completion:?} again");
                story.ended = true;
            }
            Event::Failed(fault) => story.failed = Some(fault),
        }
    }
}

/// The address of a unix(7) socket in a folder that is gone with the case.
pub fn unix_address() -> (TempDir, Address) {
    let folder = tempfile::tempdir().expect("a folder");
    let address = Address::Unix(folder.path().join("socket"));
    (folder, address)
}

//! The proxy: a listener, its connections, and the loop over them.

use std::fmt;
use std::io;
use std::sync::mpsc::Receiver;

use engine::signal::Stop;
use engine::timers::{TimerId, Wheel};
use engine::{
    Address, Broken, Close, Completion, Completions, Driver, Event, Fault, Listen, Refused,
    SocketOptions, Token, Until, Waker,
};
use measure::random::Random;
use measure::time::Time;

use crate::connection::{CLIENT, Connection, UPSTREAM};
use crate::counters::Counters;
use crate::faults::Faults;
use crate::lane::Stamp;
use crate::order::{self, Order};

/// Connections that may wait to be accepted; the kernel caps it.
const BACKLOG: u32 = 65_535;

/// What a proxy is told before it begins.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// Where it listens; port 0 lets the kernel choose.
    pub listen: Address,
    /// Where its connections go.
    pub to: Address,
    /// What it does to them.
    pub faults: Faults,
    /// Where chance comes from.
    pub seed: u64,
}

/// Why a proxy couldn't begin. Says what to do about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StartError(String);

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for StartError {}

/// A proxy that listens. It works while it is given turns.
pub struct Proxy<D: Driver> {
    driver: D,
    listener: Token,
    address: Address,
    to: Address,
    faults: Faults,
    counters: Counters,
    connections: Vec<Option<Kept>>,
    free: Vec<usize>,
    /// By slot: which connection a socket belongs to, and which side of it.
    owners: Vec<(usize, usize)>,
    timers: Wheel<usize>,
    /// Connections with something to settle.
    touched: Vec<usize>,
    completions: Completions,
    refusing: Random,
    jittering: Random,
}

struct Kept {
    connection: Connection,
    touched: bool,
    timer: Option<(Time, TimerId)>,
}

impl<D: Driver> Proxy<D> {
    /// Listens on `driver`.
    ///
    /// # Errors
    /// Where the address can't be listened on.
    pub fn new(mut driver: D, settings: &Settings) -> Result<Proxy<D>, StartError> {
        let listen = Listen {
            address: settings.listen.clone(),
            share_port: None,
            peers: false,
            backlog: BACKLOG,
            options: SocketOptions::default(),
            inherited: None,
        };
        let listener = driver
            .listen(&listen)
            .map_err(|refused| refusal(&settings.listen, refused))?;
        let address = driver.local_address(listener);
        let now = driver.now();
        Ok(Proxy {
            driver,
            listener,
            address: address.unwrap_or_else(|| settings.listen.clone()),
            to: settings.to.clone(),
            faults: settings.faults,
            counters: Counters::default(),
            connections: Vec::new(),
            free: Vec::new(),
            owners: Vec::new(),
            timers: Wheel::new(now, 0),
            touched: Vec::new(),
            completions: Completions::new(),
            refusing: Random::new(settings.seed, 0),
            jittering: Random::new(settings.seed, 1),
        })
    }

    /// Where it really listens.
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// What ends a turn that sleeps, for who has sent it a line.
    pub fn waker(&self) -> Waker {
        self.driver.waker()
    }

    /// What it has counted.
    pub fn counters(&self) -> Counters {
        self.counters
    }

    /// The faults of the moment.
    pub fn faults(&self) -> Faults {
        self.faults
    }

    /// Works until `stop` is requested. Obeys the `lines` that come meanwhile, and gives the answer
    /// to each, one line of JSON, to `answer`. Who sends a line uses [`Proxy::waker`] behind it.
    /// That no more lines come changes nothing.
    ///
    /// # Errors
    /// [`Broken`] where the driver or the listener broke.
    pub fn run(
        &mut self,
        lines: &Receiver<String>,
        stop: &Stop,
        answer: &mut dyn FnMut(&str),
    ) -> Result<(), Broken> {
        let registration = stop.register(self.driver.waker());
        if registration.is_none() {
            return Err(Broken("too many wait for the same signals".to_owned()));
        }
        while stop.requested().is_none() {
            while let Ok(line) = lines.try_recv() {
                if !line.trim().is_empty() {
                    answer(&self.obey(&line));
                }
            }
            self.turn(Until::Event)?;
        }
        Ok(())
    }

    /// Does what a line says: `set` with faults as [`Faults::parse_line`] reads them, `clear`,
    /// `reset-all`, `counters`, `status` or `help`. The answer is a line of JSON.
    pub fn obey(&mut self, line: &str) -> String {
        match order::read(line, self.faults) {
            Err(why) => order::refused(&why),
            Ok(Order::Faults(faults)) => {
                self.set_faults(faults);
                order::done()
            }
            Ok(Order::ResetAll) => {
                self.reset_all();
                order::done()
            }
            Ok(Order::Status) => order::status(self.faults),
            Ok(Order::Help) => order::help(),
            Ok(Order::Counters) => serde_json::to_string(&self.counters)
                .unwrap_or_else(|error| order::refused(&error.to_string())),
        }
    }

    /// From now on other faults, for the connections that exist, too.
    pub fn set_faults(&mut self, faults: Faults) {
        self.faults = faults;
        for index in 0..self.connections.len() {
            self.touch(index);
        }
        self.settle(self.driver.now());
    }

    /// Resets both sides of every connection.
    pub fn reset_all(&mut self) {
        for index in 0..self.connections.len() {
            if let Some(kept) = &mut self.connections[index] {
                // One that was cut and whose sides haven't ended yet is counted already.
                self.counters.cut += u64::from(!kept.connection.is_cut());
                kept.connection.reset(&mut self.driver);
                self.touch(index);
            }
        }
        self.settle(self.driver.now());
    }

    /// One turn: waits as long as nothing is due, and does what is.
    ///
    /// # Errors
    /// [`Broken`] where the driver or the listener broke.
    pub fn turn(&mut self, until: Until) -> Result<(), Broken> {
        let until = match self.timers.next_deadline() {
            Some(time) => until.or_before(time),
            None => until,
        };
        let mut completions = std::mem::take(&mut self.completions);
        let now = self.driver.wait(until, &mut completions)?;
        for position in 0..completions.len() {
            self.take_note(completions.get(position), &completions, now)?;
        }
        self.completions = completions;
        let mut expired = Vec::new();
        self.timers.expire(now, &mut expired);
        for index in expired {
            self.touch(index);
        }
        self.settle(now);
        Ok(())
    }

    #[cfg(test)]
    pub(crate) fn driver(&self) -> &D {
        &self.driver
    }

    #[cfg(test)]
    pub(crate) fn pending_timers(&self) -> usize {
        self.timers.len()
    }

    /// Takes down what has happened to a socket.
    fn take_note(
        &mut self,
        completion: Completion,
        completions: &Completions,
        now: Time,
    ) -> Result<(), Broken> {
        let Completion { socket, event } = completion;
        match event {
            Event::Accepted { .. } => {
                self.accepted(socket, now);
                return Ok(());
            }
            Event::Failed(fault) if socket == self.listener => {
                return Err(Broken(format!(
                    "the listener on {} failed ({fault:?}); start the proxy again",
                    self.address
                )));
            }
            _ => {}
        }
        let Some(&(index, side)) = self.owners.get(socket.slot()) else {
            return Ok(());
        };
        let Some(kept) = self.connections.get_mut(index).and_then(Option::as_mut) else {
            return Ok(());
        };
        let connection = &mut kept.connection;
        let stamp = Stamp {
            arrived: now,
            chance: self.jittering.unit(),
        };
        match event {
            Event::Received(lent) => {
                connection.received(side, completions.bytes(lent), stamp, &self.faults);
            }
            Event::Connected => connection.connected(),
            Event::Sent => connection.sent(side, &mut self.counters),
            Event::Ended => connection.ended(side, stamp),
            Event::Failed(_) => {
                connection.failed(side, stamp, &mut self.driver, &mut self.counters);
            }
            Event::Accepted { .. } => {}
        }
        self.touch(index);
        Ok(())
    }

    fn accepted(&mut self, client: Token, now: Time) {
        self.counters.accepted += 1;
        if self.refusing.unit() < self.faults.refuse {
            self.counters.refused += 1;
            return self.turn_away(client);
        }
        let Ok(upstream) = self.driver.connect(&self.to, &SocketOptions::default()) else {
            self.counters.upstream_failed += 1;
            return self.turn_away(client);
        };
        let kept = Kept {
            connection: Connection::new(client, upstream, now),
            touched: false,
            timer: None,
        };
        let index = self.free.pop().unwrap_or_else(|| {
            self.connections.push(None);
            self.connections.len() - 1
        });
        self.connections[index] = Some(kept);
        self.counters.open += 1;
        for (socket, side) in [(client, CLIENT), (upstream, UPSTREAM)] {
            if self.owners.len() <= socket.slot() {
                self.owners.resize(socket.slot() + 1, (usize::MAX, CLIENT));
            }
            self.owners[socket.slot()] = (index, side);
        }
        // It may be cut after a time although nothing ever happens on it.
        self.touch(index);
    }

    fn turn_away(&mut self, client: Token) {
        let closed = self.driver.close(client, Close::Reset);
        debug_assert_eq!(closed, Ok(()), "it was accepted just now");
    }

    fn touch(&mut self, index: usize) {
        if let Some(kept) = self.connections.get_mut(index).and_then(Option::as_mut)
            && !kept.touched
        {
            kept.touched = true;
            self.touched.push(index);
        }
    }

    /// Does what is due on the connections to which something has happened.
    fn settle(&mut self, now: Time) {
        while let Some(index) = self.touched.pop() {
            let Some(kept) = &mut self.connections[index] else {
                continue;
            };
            kept.touched = false;
            let next =
                kept.connection
                    .settle(now, &self.faults, &mut self.driver, &mut self.counters);
            let is_over = kept.connection.is_over();
            // A timer that was due is gone by itself.
            let next = if is_over { Time::NEVER } else { next };
            if let Some((_, timer)) = kept.timer.take_if(|(at, _)| *at != next || *at <= now) {
                self.timers.cancel(timer);
            }
            if kept.timer.is_none() && next != Time::NEVER {
                kept.timer = Some((next, self.timers.insert(next, index)));
            }
            if is_over {
                self.connections[index] = None;
                self.free.push(index);
                self.counters.open -= 1;
            }
        }
    }
}

/// Why `address` can't be listened on.
fn refusal(address: &Address, refused: Refused) -> StartError {
    let why = match refused {
        Refused::Kernel(Fault::PortsExhausted) => {
            "this host doesn't have that address; listen on one of its own, or on 0.0.0.0".into()
        }
        Refused::Kernel(Fault::Exhausted) => {
            "no file descriptors or memory are left; `ulimit -n` shows the descriptor limit".into()
        }
        Refused::Kernel(Fault::Other(errno)) => {
            let error = io::Error::from_raw_os_error(errno);
            match error.kind() {
                io::ErrorKind::AddrInUse => {
                    "something is listening there already; stop it, or choose another port".into()
                }
                io::ErrorKind::PermissionDenied => {
                    "this user may not; choose a port above 1023, or another folder".into()
                }
                _ => error.to_string(),
            }
        }
        other => format!("its engine refused it ({other:?})"),
    };
    StartError(format!("can't listen on {address}: {why}"))
}

//! The end of a hold: what is still awaited, what a signal cuts off, and how connections close.

use engine::{
    Broken, Capabilities, Close, Completions, EngineCounters, Listen, Payload, Refused,
    SocketOptions, Template, Token, Until, Waker,
};

use super::*;

/// A driver on which each close takes its time, as it may where there are very many, and during
/// whose life a signal comes. It notes the most bytes that somebody had to send.
pub(super) struct Disturbed<D> {
    pub(super) driver: D,
    pub(super) close_ns: u64,
    pub(super) signal: Option<(Time, Stop)>,
    pub(super) most_bytes: Rc<Cell<usize>>,
}

impl<D> Disturbed<D> {
    fn note(&self, bytes: &[u8]) {
        self.most_bytes.set(self.most_bytes.get().max(bytes.len()));
    }
}

impl<D: Driver> Driver for Disturbed<D> {
    fn close(&mut self, socket: Token, how: Close) -> Result<(), Refused> {
        let until = self.driver.clock().plus(self.close_ns);
        while self.driver.clock() < until {}
        self.driver.close(socket, how)
    }

    fn now(&self) -> Time {
        self.driver.now()
    }

    fn clock(&self) -> Time {
        self.driver.clock()
    }

    fn listen(&mut self, listen: &Listen) -> Result<Token, Refused> {
        self.driver.listen(listen)
    }

    fn local_address(&self, socket: Token) -> Option<Address> {
        self.driver.local_address(socket)
    }

    fn connect(&mut self, to: &Address, options: &SocketOptions) -> Result<Token, Refused> {
        self.driver.connect(to, options)
    }

    fn register(&mut self, bytes: &[u8]) -> Result<Template, Refused> {
        self.driver.register(bytes)
    }

    fn buffer(&mut self) -> Vec<u8> {
        self.driver.buffer()
    }

    fn recycle(&mut self, buffer: Vec<u8>) {
        self.note(&buffer);
        self.driver.recycle(buffer);
    }

    fn send(&mut self, socket: Token, payload: Payload) -> Result<(), Refused> {
        if let Payload::Buffer(bytes) = &payload {
            self.note(bytes);
        }
        self.driver.send(socket, payload)
    }

    fn shutdown(&mut self, socket: Token) -> Result<(), Refused> {
        self.driver.shutdown(socket)
    }

    fn arm_receive(&mut self, socket: Token, armed: bool) -> Result<(), Refused> {
        self.driver.arm_receive(socket, armed)
    }

    fn wait(&mut self, until: Until, completions: &mut Completions) -> Result<Time, Broken> {
        let Some((at, stop)) = self.signal.clone() else {
            return self.driver.wait(until, completions);
        };
        let until = match until {
            Until::Time(time) => Until::Time(time.min(at)),
            other => other,
        };
        let now = self.driver.wait(until, completions)?;
        if now >= at {
            stop.request(engine::signal::Signal::Interrupt);
            self.signal = None;
        }
        Ok(now)
    }

    fn linger_ns(&self) -> u64 {
        self.driver.linger_ns()
    }

    fn taken_at(&self, socket: Token) -> Option<Time> {
        self.driver.taken_at(socket)
    }

    fn waker(&self) -> Waker {
        self.driver.waker()
    }

    fn capabilities(&self) -> &Capabilities {
        self.driver.capabilities()
    }

    fn counters(&self) -> EngineCounters {
        self.driver.counters()
    }
}

#[test]
fn a_hold_ends_soon_however_long_its_connections_take_to_close() {
    let mut plan = plan(10_000, 3600.0);
    (plan.open_rate, plan.heartbeat_s) = (1e5, 10.0);
    let network = Network::new(1, Faults::none());
    let stop = Stop::new();
    let ending = stop.clone();
    let server = Server::new(move |_, before, _| {
        if before == 2 {
            ending.request(engine::signal::Signal::Terminate);
        }
        well(MS)
    });
    network.serve(&address(), server);
    let assignment = assignment(&plan, network.now());
    let driver = Disturbed {
        driver: network.driver(&assignment.config()),
        close_ns: MS,
        signal: None,
        most_bytes: Rc::default(),
    };
    let gate = Gate::new(1);
    let worker = Worker::new(driver, &gate, stop, assignment).unwrap();
    let mut outcome = None;
    worker
        .run(|brought| outcome = Some((brought, network.now())))
        .unwrap();
    let (outcome, brought_at) = outcome.unwrap();
    // To close one takes a millisecond, and to close all of them would take ten seconds.
    let brought_after = brought_at - outcome.end;
    assert!(brought_after.as_millis() < 300, "{brought_after:?}");
    let after_s = (network.now() - outcome.end).as_secs_f64();
    assert!(after_s < 2.0, "it ended {after_s} s after the hold");
    assert_eq!(
        (outcome.tally.standing, outcome.tally.survived),
        (10_000, 10_000)
    );
}

#[test]
fn a_signal_in_the_drain_leaves_open_who_survived() {
    let mut plan = plan(10, 3.0);
    (plan.heartbeat_timeout_s, plan.open_rate) = (2.0, 1e6);
    let held = |signal_ms: Option<u64>| {
        let network = Network::new(1, Faults::none());
        let origin = network.now();
        let server = Server::new(move |_, _, now| match now.since(origin) < 2500 * MS {
            true => well(MS),
            false => Deed::Stall,
        });
        network.serve(&address(), server);
        let assignment = assignment(&plan, origin);
        let (gate, stop) = (Gate::new(1), Stop::new());
        let driver = Disturbed {
            driver: network.driver(&assignment.config()),
            close_ns: 0,
            signal: signal_ms.map(|ms| (origin.plus(ms * MS), stop.clone())),
            most_bytes: Rc::default(),
        };
        let worker = Worker::new(driver, &gate, stop, assignment).unwrap();
        let record = record_of(&plan, vec![brought(worker)]);
        let rule = "survival>=99%".parse::<crate::hold::Threshold>().unwrap();
        let judged = crate::check::judge(&[rule], &record).remove(0);
        (record, judged.outcome)
    };
    let (whole, met) = held(None);
    let lost = whole.connections.lost;
    assert!((3..=7).contains(&lost), "{lost}");
    assert_eq!(whole.connections.survived, 10 - lost);
    assert_eq!(met, measure::record::Met::Crossed);
    let (cut, met) = held(Some(3300));
    assert_eq!(cut.ended_by, measure::record::EndedBy::Interrupt);
    assert_eq!((cut.connections.lost, cut.heartbeats.unfinished), (0, lost));
    assert_eq!(cut.connections.survived, 10 - lost);
    assert_eq!(met, measure::record::Met::NotJudged);
    let said = cut.warnings.join("; ");
    assert!(said.contains("don't count as survivors"), "{said}");
}

#[test]
fn a_hold_without_a_heartbeat_to_wait_for_ends_at_once() {
    let mut plan = plan(5, 3.0);
    (plan.heartbeat_s, plan.heartbeat_timeout_s) = (0.2, 12.0);
    (plan.retries, plan.open_rate) = (2, 1e6);
    let network = Network::new(1, Faults::none());
    let origin = network.now();
    let server = Server::new(move |_, _, now| match now.since(origin) < 1000 * MS {
        true => well(MS),
        false => Deed::Reset,
    });
    network.serve(&address(), server);
    let assignment = assignment(&plan, origin);
    let driver = network.driver(&assignment.config());
    let gate = Gate::new(1);
    let worker = Worker::new(driver, &gate, Stop::new(), assignment).unwrap();
    let mut brought = None;
    worker
        .run(|outcome| brought = Some((outcome, network.now())))
        .unwrap();
    let (outcome, at) = brought.unwrap();
    assert_eq!(outcome.tally.given_up, 5);
    let after = at - outcome.end;
    assert!(after.as_millis() < 100, "{after:?}");
}

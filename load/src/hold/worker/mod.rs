//! The loop of a worker that holds connections.
//!
//! A turn is: wait on the driver; read what completed; expire timers; move the phase on; open what
//! is due to be opened. Each connection has one timer, which stands for whatever comes next: the
//! end of the attempt to connect, the next heartbeat, the end of waiting for its answer, or the
//! next attempt. So a connection that idles costs nothing but its place in the tables.
//!
//! Of all connections together the n-th of N is opened n ÷ rate after the first, and its heartbeats
//! fall n ÷ N of their interval after those of the first one, reconnected or not: so no two workers
//! and no loss brings them into step.
//!
//! The worker sleeps between the things it has to do; its own waking up, some tens of microseconds,
//! is in the round trips.

mod broadcasts;
mod connections;
mod heartbeats;

use std::collections::VecDeque;

use engine::signal::{Signal, Stop};
use engine::{Broken, Close, Completions, Config, Driver, EngineCounters, Event, Template, Until};
use measure::counters::ErrorKind;
use measure::hold::{Counted, Skipped, Tally};
use measure::interval::Feed;
use measure::process::{ThreadTime, own_time};
use measure::time::Time;
use proto::Violation;

use crate::back_off::BackOff;
use crate::connection::{Core, Route, State, error_kind};
use crate::crew::{INTERRUPT_DRAIN_NS, Job};
use crate::gate::{self, Gate};
use crate::stalls::Stall;
use broadcasts::Broadcasting;
use measure::random::Random;
use session::{Memory, Speech};

/// Receive buffers of a worker: few and small, because what is held is mostly silent.
const BUFFERS: usize = 256;
const BUFFER_BYTES: usize = 4096;
/// How long a hold that is over goes on closing connections.
const FAREWELL_NS: u64 = 1_000_000_000;
/// How many it closes before it looks at the time. The driver only begins to close them; the work
/// is done in the turn that follows, in which io_uring ends about twenty operations. With more, the
/// work would pile up behind the clock's back.
const FAREWELLS: usize = 16;

/// What one worker is to do: its share of a plan, resolved.
#[derive(Debug)]
pub(crate) struct Assignment {
    pub worker: u32,
    pub workers: u32,
    /// When the first connection of all is opened.
    pub origin: Time,
    /// Connections of all workers.
    pub connections: u32,
    /// Connections of this worker.
    pub sessions: usize,
    /// Sockets that its driver has room for.
    pub sockets: usize,
    pub route: Route,
    /// What of all that is said on a connection is a heartbeat.
    pub heartbeat: Heartbeat,
    /// Connections a second, over all workers.
    pub open_rate: f64,
    pub duration_ns: u64,
    pub heartbeat_ns: u64,
    pub heartbeat_timeout_ns: u64,
    /// From one broadcast to the next; none where nothing is said to all.
    pub broadcast_ns: Option<u64>,
    pub connect_timeout_ns: u64,
    pub back_off: BackOff,
    pub retries: u32,
    pub seed: u64,
    pub lease: plan::Lease,
    /// Where what is counted goes while it goes on; none where nobody watches.
    pub feed: Option<Feed<Counted>>,
}

/// What is sent to find out whether a connection stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Heartbeat {
    /// A request whose bytes never change.
    Request,
    /// An exchange that the protocol encodes.
    Call,
    /// The protocol's own sign of life.
    Ping,
}

/// What a worker brings back.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub tally: Tally,
    /// When the hold began and ended; the same time where it never began.
    pub start: Time,
    pub end: Time,
    /// The hold began: every connection of every worker had been tried.
    pub began: bool,
    /// When the first connection of all was to be opened.
    pub origin: Time,
    pub ended_by: Option<Signal>,
    /// Processor time of this thread from the first attempt to the end.
    pub cpu: Option<ThreadTime>,
    pub counters: EngineCounters,
    /// The first protocol violation, for the record's warnings.
    pub violation: Option<Violation>,
    /// The longest time by which a turn came later than it was meant to.
    pub stall: Stall,
    /// How often timers waited until what came during a stall was read.
    pub put_off: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Opening connections; heartbeats are sent on those that stand.
    Opening {
        announced: bool,
    },
    Holding {
        until: Time,
    },
    /// The hold is over; answers to heartbeats that were sent are still awaited, until then.
    Draining {
        until: Time,
    },
    Done,
}

/// What a hold knows of a connection, beside what the connection core does. Small: there may be
/// very many.
#[derive(Debug)]
struct Beats {
    /// When the next heartbeat is due.
    due: Time,
    /// When the unanswered heartbeat was sent; [`Time::NEVER`] if there is none.
    sent: Time,
    /// When it was lost; [`Time::NEVER`] while it stands, and before it ever stood.
    lost_at: Time,
    /// It stood when the hold began.
    at_start: bool,
    /// It has been lost, once at least.
    lost: bool,
}

impl Default for Beats {
    fn default() -> Beats {
        Beats {
            due: Time::NEVER,
            sent: Time::NEVER,
            lost_at: Time::NEVER,
            at_start: false,
            lost: false,
        }
    }
}

/// See the module.
pub(crate) struct Worker<'a, D: Driver> {
    core: Core<D, Beats>,
    gate: &'a Gate,
    stop: Stop,
    assignment: Assignment,
    memory: Memory,
    /// The heartbeat, where its bytes never change.
    template: Option<Template>,
    tally: Tally,
    phase: Phase,
    start: Time,
    end: Time,
    began: bool,
    ended_by: Option<Signal>,
    next_to_open: usize,
    /// Connections whose time to be tried again has come, until fewer are being opened.
    to_retry: VecDeque<u32>,
    /// When the next of them may be.
    retry_at: Time,
    /// Heartbeats without an answer so far.
    unanswered: u64,
    /// What is said to all, where anything is.
    broadcasting: Option<Broadcasting>,
    violation: Option<Violation>,
}

impl Job for Assignment {
    type Outcome = Outcome;

    fn config(&self) -> Config {
        Config {
            sockets: self.sockets,
            buffers: BUFFERS,
            buffer_bytes: BUFFER_BYTES,
            ..Config::default()
        }
    }

    fn carry_out<D: Driver>(
        self,
        driver: D,
        gate: &Gate,
        stop: Stop,
        bring: impl FnOnce(Outcome),
    ) -> Result<(), Broken> {
        Worker::new(driver, gate, stop, self)?.run(bring)
    }
}

impl<'a, D: Driver> Worker<'a, D> {
    pub(crate) fn new(
        mut driver: D,
        gate: &'a Gate,
        stop: Stop,
        mut assignment: Assignment,
    ) -> Result<Worker<'a, D>, Broken> {
        let template = match &assignment.route.speech {
            Speech::Http1 { request, .. } => Some(driver.register(request).map_err(|refused| {
                Broken(format!("the request cannot be registered: {refused:?}"))
            })?),
            Speech::Http2(_) | Speech::WebSocket(_) => None,
        };
        let sessions = assignment.sessions;
        let broadcasting = assignment
            .broadcast_ns
            .map(|interval_ns| Broadcasting::new(interval_ns, assignment.duration_ns, sessions));
        let mut tally = Tally::new();
        tally.start(assignment.origin);
        if let Some(feed) = &mut assignment.feed {
            feed.begin(assignment.origin);
        }
        let core = Core::new(
            driver,
            assignment.sockets,
            sessions,
            template.is_none(),
            Random::new(assignment.seed, 1 << 32 | u64::from(assignment.worker)),
            connections::dialling(&assignment),
        );
        Ok(Worker {
            core,
            gate,
            stop,
            memory: Memory::default(),
            template,
            tally,
            phase: Phase::Opening { announced: false },
            start: Time::NEVER,
            end: Time::NEVER,
            began: false,
            ended_by: None,
            next_to_open: 0,
            to_retry: VecDeque::new(),
            retry_at: Time(0),
            unanswered: 0,
            broadcasting,
            violation: None,
            assignment,
        })
    }

    /// Holds to the end, brings back what came of it, and closes the connections then: they stand
    /// for as long as the report takes. Errors only where the driver itself breaks.
    pub(crate) fn run(mut self, bring: impl FnOnce(Outcome)) -> Result<(), Broken> {
        let cpu_at_start = own_time();
        let mut completions = Completions::new();
        let mut until = Until::Now;
        while self.phase != Phase::Done {
            let now = self.core.driver.wait(until, &mut completions)?;
            let measured_from = match self.is_over() {
                false => Time(0),
                true => Time::NEVER,
            };
            self.core.stalls.turn(until, now, measured_from);
            if !completions.is_empty() {
                self.core.stalls.news(now);
            }
            if !self.is_over() {
                self.tally.tick(now);
                self.pass_on(now);
            }
            if self.assignment.lease.is_past(now) {
                self.stop.request(Signal::Terminate);
                self.step_phase(now);
            }
            for index in 0..completions.len() {
                let completion = completions.get(index);
                let Some(session) = self.core.owner(completion.socket) else {
                    continue;
                };
                match completion.event {
                    Event::Received(lent) => self.received(session, completions.bytes(lent), now),
                    Event::Sent => self.core.sent(session),
                    Event::Connected => self.connected(session, now),
                    Event::Ended => self.peer_ended(session, now),
                    Event::Failed(fault) => self.ended(session, error_kind(fault), now),
                    Event::Accepted { .. } => {}
                }
            }
            self.expire_timers(now);
            self.open_due(now);
            // A hold that ends late has been late with these, too.
            self.broadcast_due(now);
            self.step_phase(now);
            while let Some(dead) = self.core.flush() {
                self.ended(dead, ErrorKind::BrokenPipe, now);
            }
            until = self.next_wait(now);
        }
        bring(self.finish(cpu_at_start));
        self.take_leave_of_all()
    }

    /// Moves on to the next phase where its time has come.
    fn step_phase(&mut self, now: Time) {
        match self.phase {
            Phase::Opening { announced } => self.step_opening(announced, now),
            Phase::Holding { until } => {
                if let Some(signal) = self.stop.requested() {
                    self.ended_by = Some(signal);
                    self.drain(now, INTERRUPT_DRAIN_NS, now);
                } else if now >= until {
                    self.drain(until, self.assignment.heartbeat_timeout_ns, now);
                }
            }
            Phase::Draining { until } => {
                if self.unanswered == 0 || now >= until && self.core.stalls.may_expire(now) {
                    self.phase = Phase::Done;
                } else if let Some(signal) = self.stop.requested() {
                    // What it cuts off would have ended one way or the other.
                    self.ended_by.get_or_insert(signal);
                    self.phase = Phase::Draining {
                        until: until.min(now.plus(INTERRUPT_DRAIN_NS)),
                    };
                }
            }
            Phase::Done => {}
        }
        let (answered, failed) = self.tally.ended();
        let live = self.gate.live(self.assignment.worker);
        live.publish(answered, failed, self.core.counts().connected);
    }

    fn step_opening(&mut self, announced: bool, now: Time) {
        if let Some(signal) = self.stop.requested() {
            if !announced {
                self.gate.arrive(now);
            }
            self.start = now;
            self.ended_by = Some(signal);
            self.drain(now, INTERRUPT_DRAIN_NS, now);
            return;
        }
        if !announced && self.core.all_tried() {
            self.phase = Phase::Opening { announced: true };
            self.gate.arrive(now);
        }
        if let Some(start) = self.gate.start().filter(|start| *start <= now) {
            self.start = start;
            self.began = true;
            self.phase = Phase::Holding {
                until: start.plus(self.assignment.duration_ns),
            };
            for session in &mut self.core.sessions {
                session.own.at_start = session.state() == State::Open;
                self.tally.stood += u64::from(session.own.at_start && !session.own.lost);
            }
        }
    }

    /// The hold ends at `end`; the answers of heartbeats that were sent are awaited for so long.
    fn drain(&mut self, end: Time, wait_ns: u64, now: Time) {
        self.end = end;
        self.core.check();
        // Perhaps others hold connections in its place by now.
        if !self.assignment.lease.is_broken() {
            self.beat_last(end, now);
        }
        self.settle_heartbeats(end);
        self.tally.tick(end);
        self.tally.standing = self.core.counts().connected;
        if let Some(feed) = &mut self.assignment.feed {
            let counters = self.core.driver.counters();
            self.tally
                .count_bytes(counters.bytes_received, counters.bytes_sent);
            feed.close(end, &mut self.tally, self.core.counts().connected);
        }
        let until = now.plus(wait_ns);
        self.phase = Phase::Draining { until };
    }

    /// Hands over what was counted in the second that is over, where somebody watches.
    fn pass_on(&mut self, now: Time) {
        if let Some(feed) = &mut self.assignment.feed
            && now >= feed.due()
        {
            let counters = self.core.driver.counters();
            self.tally
                .count_bytes(counters.bytes_received, counters.bytes_sent);
            feed.pass(now, &mut self.tally, self.core.counts().connected);
        }
    }

    /// Whether the hold is over: what happens now is none of its business, but for the answers to
    /// heartbeats that were sent before.
    fn is_over(&self) -> bool {
        matches!(self.phase, Phase::Draining { .. } | Phase::Done)
    }

    /// How long the driver may sleep before the next turn.
    fn next_wait(&self, now: Time) -> Until {
        let mut wake = self.core.next_deadline();
        if !self.is_over() {
            let feed = self.assignment.feed.as_ref();
            let passes = feed.map_or(Time::NEVER, Feed::due);
            wake = wake.min(self.tally.next_tick()).min(passes);
            if self.core.has_place() && !self.to_retry.is_empty() {
                wake = wake.min(self.retry_at);
            }
        }
        match self.phase {
            Phase::Opening { announced: true } => wake = wake.min(now.plus(gate::POLL_NS)),
            Phase::Opening { announced: false } => {
                if self.core.has_place() && self.next_to_open < self.core.sessions.len() {
                    wake = wake.min(self.opening_at(self.next_to_open));
                }
            }
            Phase::Holding { until } => {
                wake = wake.min(until);
                if let Some(broadcasting) = &self.broadcasting {
                    wake = wake.min(broadcasting.next_due(self.start));
                }
            }
            // Nothing is awaited, and perhaps no timer is left either.
            Phase::Draining { .. } if self.unanswered == 0 => return Until::Now,
            Phase::Draining { until } => wake = wake.min(until.max(self.core.stalls.clear_at())),
            Phase::Done => return Until::Now,
        }
        Until::Time(wake)
    }

    /// Which connection of all it is.
    fn number(&self, index: usize) -> u32 {
        index as u32 * self.assignment.workers + self.assignment.worker
    }

    /// When a connection is first to be opened.
    fn opening_at(&self, index: usize) -> Time {
        let after_s = f64::from(self.number(index)) / self.assignment.open_rate;
        self.assignment.origin.plus((after_s * 1e9) as u64)
    }

    fn expire_timers(&mut self, now: Time) {
        self.core.expire_all(now);
        while let Some(index) = self.core.next_expired() {
            let session = &self.core.sessions[index];
            let is_limit = match session.state() {
                State::Connecting(_) | State::Greeting(_) => true,
                State::Open => session.own.sent != Time::NEVER,
                State::Waiting(_) | State::Down | State::Closing => false,
            };
            // What is due to be sent or tried doesn't wait for what our own stall has kept unread.
            if is_limit && self.core.is_put_off(index, now) {
                continue;
            }
            let session = &self.core.sessions[index];
            match session.state() {
                State::Connecting(since) | State::Greeting(since) => {
                    if let Some(kind) = self.core.waited_for(index, since, now) {
                        self.ended(index, kind, now);
                    }
                }
                State::Open if session.own.sent != Time::NEVER => {
                    self.ended(index, ErrorKind::Timeout, now);
                }
                State::Open => self.beat(index, now),
                State::Waiting(since) => self.look_for_socket(index, since, now),
                // Down: only a run's connections are closing.
                State::Down | State::Closing => self.to_retry.push_back(index as u32),
            }
        }
    }

    /// Closes connections for as long as there is time, each with the words that its protocol has
    /// for that. The others end with the driver, as when a process ends: their peers see the same
    /// FIN, and the kernel, which takes its time over a million of them, closes many at once.
    fn take_leave_of_all(mut self) -> Result<(), Broken> {
        let mut completions = Completions::new();
        let until = self.core.driver.clock().plus(FAREWELL_NS);
        let mut closed = 0;
        for index in 0..self.core.sessions.len() {
            closed += usize::from(self.core.sessions[index].has_socket());
            self.drop_socket(index, Close::Graceful);
            if closed == FAREWELLS {
                closed = 0;
                let now = self.core.driver.wait(Until::Now, &mut completions)?;
                if now >= until {
                    return Ok(());
                }
            }
        }
        self.core.driver.wait(Until::Now, &mut completions)?;
        Ok(())
    }

    /// Counts what was never answered and hands the tally over.
    fn finish(&mut self, cpu_at_start: Option<ThreadTime>) -> Outcome {
        let now = self.core.driver.now();
        self.core.check();
        let opened = self.next_to_open;
        for index in 0..opened {
            let since = self.opening_at(index);
            self.tally.watched_ns += u128::from(self.end.since(since));
        }
        for index in 0..self.core.sessions.len() {
            let session = &self.core.sessions[index];
            let cut_off = session.own.sent != Time::NEVER;
            // Nobody knows of one whose heartbeat was cut off whether it stands.
            let stands = session.own.at_start && !session.own.lost && !cut_off;
            self.tally.survived += u64::from(stands);
            if cut_off {
                self.tally.unfinished += 1;
                self.tally.censored(now.since(session.own.sent));
                self.skip_missed(index, now, Skipped::Busy);
            }
            self.tally.due += self.dues(index);
        }
        let counters = self.core.driver.counters();
        self.tally
            .count_bytes(counters.bytes_received, counters.bytes_sent);
        self.tally.finish(self.end);
        if let Some(feed) = &mut self.assignment.feed {
            self.tally.drain_ns = now.since(self.end);
            feed.finish(now, &mut self.tally, self.core.counts().connected);
        }
        Outcome {
            start: self.start,
            end: self.end,
            began: self.began,
            origin: self.assignment.origin,
            ended_by: self.ended_by,
            cpu: ThreadTime::between(cpu_at_start, own_time()),
            counters,
            violation: self.violation.take(),
            stall: self.core.stalls.longest,
            put_off: self.core.stalls.put_off,
            tally: std::mem::replace(&mut self.tally, Tally::new()),
        }
    }
}

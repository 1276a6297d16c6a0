//! The one loop of all runs: every schedule, every limit and every driver goes through it. A hold
//! has its own (`hold::worker`).
//!
//! A turn is: wait on the driver; read what completed; expire timers; move the phase on; send what
//! is due; work out how long the next wait may sleep. In a closed loop an answer is followed by the
//! next request at once. In an open loop the schedule says when, and a due exchange takes the
//! connection that has been free for longest; where none is free it waits, and the wait counts.
//!
//! The clock is read once a turn, by the driver. Within a phase nothing is allocated.

mod connections;
pub(crate) mod conservation;
mod exchanges;
mod expiry;
mod flows;
mod frozen;
mod pings;
pub(crate) mod pools;
mod scripted;
mod sleep;
mod users;
mod window;

use std::collections::VecDeque;

use engine::signal::Stop;
use engine::{Broken, Close, Completions, Driver, EngineCounters, Event, Until};
use measure::counters::ErrorKind;
use measure::interval::Feed;
use measure::process::ThreadTime;
use measure::record::Unmet;
use measure::tally::Loop;
use measure::time::Time;
use proto::Violation;
use script::Needs;

use self::frozen::{Frozen, by_kind, freeze, remember};
use self::pings::Pings;
use self::pools::Pools;
use crate::connection::{self, Core, Route, State};
use crate::crew::INTERRUPT_DRAIN_NS;
use crate::gate::Gate;
use crate::requests::{Made, Requests};
use crate::stalls::Stall;
use measure::random::Random;
use measure::waits::{Doing, Watch};
use plan::schedule::Marks;
use session::{Exchange, Flights, Memory, Recorder, Ring};

/// After a send or an answer a worker of an open loop spins this long for the next one, because
/// waking up from sleep would be measured as the subject's time.
const SPIN_NS: u64 = 200_000;
/// How much earlier than a send is due the worker wakes up, at least and at most.
const WAKE_EARLY_NS: std::ops::RangeInclusive<u64> = 20_000..=300_000;
/// A counted run in which no connection stands for this long will not end by itself.
pub(crate) const GIVE_UP_S: u64 = 10;
/// So many requests are made ahead in one turn, and not when one is due this soon.
const MADE_AT_ONCE: u32 = 16;
const MAKING_NS: u64 = 4_000;
/// How long an open loop waits for its connections at least.
const PATIENCE_NS_MIN: u64 = 100_000_000;
/// The most unsent exchanges that are entered one by one when a run ends.
const BACKLOG_ENTRIES_MAX: u64 = 10_000_000;

/// What one worker is to do: its share of a plan, resolved.
#[derive(Debug)]
pub(crate) struct Assignment {
    pub worker: u32,
    pub sessions: usize,
    pub route: Route,
    /// What is sent where requests differ.
    pub maker: Option<Requests>,
    /// The most unanswered exchanges on one connection.
    pub depth: u32,
    /// How many messages of its own an exchange sends.
    pub messages: u64,
    pub keep_alive: bool,
    /// Due times; none in a closed loop.
    pub marks: Option<Marks>,
    /// This worker's share of a counted run.
    pub quota: Option<u64>,
    pub duration_ns: Option<u64>,
    /// What it is called when the duration is over.
    pub time_end: EndedBy,
    pub warm_up_ns: u64,
    pub timeout_ns: u64,
    /// How long a gRPC call may take, as the peer is told.
    pub deadline_ns: Option<u64>,
    /// How long a completed exchange may take to count as good, where that is counted.
    pub good_within_ns: Option<u64>,
    /// How often each connection is pinged, if at all.
    pub ping_every_ns: Option<u64>,
    pub seed: u64,
    pub lease: plan::Lease,
    /// Where what is counted goes each second, if anybody wants that.
    pub feed: Option<Feed>,
}

/// Why the measured phase ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EndedBy {
    Duration,
    Count,
    /// The rows of the data file are used up, or couldn't be read any further.
    Rows,
    /// The script has stopped this worker, or failed.
    Script,
    Stages,
    /// No connection could be opened for a long time, and only answers could have ended the run.
    PeerGone,
    Signal(engine::signal::Signal),
}

/// What a worker brings back.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub recorder: Recorder,
    pub start: Time,
    pub end: Time,
    pub ended_by: EndedBy,
    /// Processor time of this thread in the measured window.
    pub cpu: Option<ThreadTime>,
    /// How long it spun with nothing to do, on its CPU or waiting for it.
    pub spun_ns: u64,
    pub in_vain: InVain,
    pub counters: EngineCounters,
    /// The first protocol violation, for the record's warnings.
    pub violation: Option<Violation>,
    /// The status with which an upgrade to WebSocket was first refused, for the same.
    pub upgrade_refused: Option<u16>,
    /// How answers began whose status nobody expects.
    pub memory: Memory,
    /// The longest time by which a turn of the window came later than it was meant to.
    pub stall: Stall,
    /// How often timers waited until what came during a stall was read.
    pub put_off: u64,
    /// More exchanges were due and never sent than are entered one by one.
    pub backlog_cut: bool,
    /// Exchanges that were due in the warm-up, not sent by its end, and dropped.
    pub dropped: u64,
    /// The most unanswered exchanges that the peer allowed on every connection; no more than the
    /// plan asks for.
    pub depth_allowed: u32,
    /// What of the data file could not be read, or how the script failed.
    pub unreadable: Option<String>,
    /// What was counted of each origin, where there are several.
    pub origins: Vec<pools::Counted>,
    /// What users have found wrong, by line.
    pub faults: Vec<Unmet>,
    /// What a script wanted of the run, and how long it ran in the window, in nanoseconds.
    pub script: Option<(Needs, u64)>,
    /// How an exchange was lost, or counted twice: a bug of ours.
    pub breach: Option<String>,
}

/// Turns of a worker of an open loop that does not sleep.
#[derive(Debug, Default)]
struct Spin {
    /// Turns before this that bring nothing have nothing to do.
    quiet_until: Time,
    /// How long there was nothing to do in the window.
    idle_ns: u64,
}

impl Outcome {
    /// Its processor time in the window, without what it spun with nothing to do.
    pub(crate) fn worked(&self) -> Option<ThreadTime> {
        self.cpu.map(|cpu| ThreadTime {
            run_ns: cpu.run_ns.saturating_sub(self.spun_cpu_ns()),
            ..cpu
        })
    }

    /// The processor time of what it spun: whoever is put off their CPU is so whatever they do.
    pub(crate) fn spun_cpu_ns(&self) -> u64 {
        match self.cpu {
            Some(cpu) if cpu.wait_ns > 0 => {
                let awake_ns = cpu.run_ns.saturating_add(cpu.wait_ns);
                (self.spun_ns as f64 * cpu.run_ns as f64 / awake_ns as f64) as u64
            }
            _ => self.spun_ns,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Opening connections; nothing is sent.
    Connecting {
        announced: bool,
    },
    /// Sending: warm-up, then the measured window.
    Loading,
    /// The window is over; answers that are due are still awaited, until then.
    Draining {
        until: Time,
    },
    Done,
}

/// What connections waited in the window, each by itself, for nothing that was asked of them.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct InVain {
    /// For peers that did not close them.
    pub lingered_ns: u64,
    /// Before they were opened again, where they had broken; without those that couldn't be
    /// connected.
    pub backed_off_ns: u64,
}

/// What a run knows of a connection, beside what the connection core does.
#[derive(Debug, Default)]
struct Traffic {
    /// Exchanges sent, or waiting for the connection to stand, and not answered.
    ring: Ring,
    /// An unfinished send was so when the time of its request was over.
    overdue: bool,
    /// It stands in the queue of free connections.
    queued: bool,
    /// It has been open before, so the next opening is a reconnect.
    was_open: bool,
    /// It has died since.
    has_died: bool,
    /// An exchange was answered on it.
    has_served: bool,
    /// Since when an exchange waits for the connection that is opened for it alone.
    taken: Time,
    /// Since when it waits for its peer to close.
    closing_since: Time,
    /// Since when it waits to be opened again although it could be connected last time; zero: it
    /// doesn't.
    broken_since: Time,
    /// A script has it wait before the next request; and it has waited.
    rests: bool,
    rested: bool,
}

type Session = connection::Session<Traffic>;

pub(crate) struct Worker<'a, D: Driver> {
    core: Core<D, Traffic>,
    gate: &'a Gate,
    stop: Stop,
    assignment: Assignment,
    flights: Flights,
    memory: Memory,
    /// Requests that never change; none where each connection appends its own.
    frozen: Option<Frozen>,
    /// The requests where they differ.
    maker: Option<Requests>,
    /// Of these, for each connection the one that waits for it to stand.
    waiting: Vec<Option<Made>>,
    /// The most requests in one send.
    copies: u32,
    /// Whether a burst is small enough to be sent without a completion.
    quiet: bool,
    /// Open loop: connections that can take an exchange, longest free first.
    free: VecDeque<u32>,
    /// Where the load goes to several origins: the connections of each, in the place of `free`.
    pools: Option<Box<Pools>>,
    /// Exchanges that a peer has refused, to be sent again before any other.
    again: VecDeque<Exchange>,
    /// Those of users, each with its connection, on which alone it's sent again.
    refused: Vec<(usize, Exchange)>,
    /// How long a retired connection waits for its peer to close first.
    linger_ns: u64,
    in_vain: InVain,
    depth_allowed: u32,
    recorder: Recorder,
    pings: Option<Pings>,
    phase: Phase,
    /// When the load no longer waits for connections that aren't open.
    patience_ends: Time,
    ended_by: EndedBy,
    /// The beginning of the schedule.
    origin: Time,
    /// When the next exchange is due; `None` in a closed loop and when the schedule is over.
    due: Option<Time>,
    /// An exchange was due at this time and no connection was free.
    blocked_at: Time,
    /// Exchanges that have begun, and those of them that were due before the measured window: the
    /// warm-up uses nothing of the quota up.
    begun: u64,
    begun_before: u64,
    next_to_open: usize,
    /// Since when attempts to connect fail, without one between that did not.
    failing_since: Time,
    last_activity: Time,
    wake_early_ns: u64,
    spin: Spin,
    cpu_at_start: Option<ThreadTime>,
    cpu_at_end: Option<ThreadTime>,
    /// The window has begun, and what was counted then is noted.
    opened: bool,
    /// When the window, or a row of it, begins or ends next.
    edge: Time,
    counters_at_start: EngineCounters,
    violation: Option<Violation>,
    /// The status with which an upgrade to WebSocket was first refused.
    upgrade_refused: Option<u16>,
    backlog_cut: bool,
    dropped: u64,
    /// Exchanges of an open loop that the schedule has handed out, and those of them that fell due
    /// after the end.
    handed_out: u64,
    passed_over: u64,
    breach: Option<String>,
}

impl<'a, D: Driver> Worker<'a, D> {
    pub(crate) fn new(
        mut driver: D,
        gate: &'a Gate,
        stop: Stop,
        mut assignment: Assignment,
    ) -> Result<Worker<'a, D>, Broken> {
        let mut random = Random::new(assignment.seed, 1 << 32 | u64::from(assignment.worker));
        let (copies, quiet, frozen) = freeze(&mut driver, &assignment, &mut random)?;
        let (now, sessions) = (driver.now(), assignment.sessions);
        let kind = (assignment.marks.as_ref()).map_or(Loop::Closed, |_| Loop::Open);
        let mut recorder = Recorder::new(kind, assignment.deadline_ns, Watch::new(sessions, now));
        recorder.tally.good_within_ns = assignment.good_within_ns;
        recorder.clocks = assignment.route.clocks(sessions, assignment.depth);
        let maker = assignment.maker.take();
        let waiting = (0..sessions).map(|_| None).filter(|_| maker.is_some());
        let (sockets, dialling) = (sockets_for(sessions), connections::dialling(&assignment));
        let is_free = frozen.is_none();
        let core = Core::new(driver, sockets, sessions, is_free, random, dialling);
        Ok(Worker {
            core,
            gate,
            stop,
            flights: Flights::new(sessions, assignment.depth, assignment.route.speech.order()),
            recorder: by_kind(recorder, &assignment.route, maker.as_ref()),
            memory: remember(&assignment.route, maker.as_ref()),
            frozen,
            waiting: waiting.collect(),
            copies,
            quiet,
            free: VecDeque::with_capacity(sessions),
            pools: Pools::of(&assignment, maker.as_ref(), now),
            again: VecDeque::new(),
            refused: Vec::new(),
            linger_ns: *connections::LINGER_NS.end(),
            in_vain: InVain::default(),
            depth_allowed: assignment.depth,
            maker,
            pings: (assignment.ping_every_ns).map(|every_ns| Pings::new(every_ns, sessions)),
            phase: Phase::Connecting { announced: false },
            patience_ends: now.plus(patience_ns(&assignment)),
            ended_by: EndedBy::Duration,
            origin: Time::NEVER,
            due: None,
            blocked_at: Time(0),
            begun: 0,
            begun_before: 0,
            next_to_open: 0,
            failing_since: Time::NEVER,
            last_activity: now,
            wake_early_ns: *WAKE_EARLY_NS.start(),
            spin: Spin::default(),
            cpu_at_start: None,
            cpu_at_end: None,
            opened: false,
            edge: Time::NEVER,
            counters_at_start: EngineCounters::default(),
            violation: None,
            upgrade_refused: None,
            backlog_cut: false,
            dropped: 0,
            handed_out: 0,
            passed_over: 0,
            breach: None,
            assignment,
        })
    }

    /// Runs the whole plan. Errors only where the driver itself breaks.
    pub(crate) fn run(mut self) -> Result<Outcome, Broken> {
        let mut completions = Completions::new();
        let mut until = Until::Now;
        // Since when it spins and nothing comes.
        let mut spinning_from = Time::NEVER;
        loop {
            let now = self.core.driver.wait(until, &mut completions)?;
            let (measured_from, _) = self.recorder.window();
            let was_held_up = self.core.stalls.turn(until, now, measured_from);
            if completions.is_empty() && !was_held_up && self.is_quiet(now) {
                spinning_from = spinning_from.min(now);
                continue;
            }
            if spinning_from != Time::NEVER {
                self.spun(spinning_from, now);
                spinning_from = Time::NEVER;
            }
            self.learn_wake(until, now, completions.is_empty());
            if was_held_up {
                self.held_up(now);
            }
            if now >= self.edge {
                self.cross(now, &completions);
            }
            if self.assignment.lease.is_past(now) {
                return self.give_up(now, &completions);
            }
            for index in 0..completions.len() {
                let completion = completions.get(index);
                let Some(session) = self.core.owner(completion.socket) else {
                    continue;
                };
                match completion.event {
                    Event::Received(lent) => self.received(session, completions.bytes(lent), now),
                    Event::Sent => self.send_finished(session, now),
                    Event::Connected => self.stands(session, now),
                    Event::Ended => self.peer_ended(session, now),
                    Event::Failed(fault) => self.socket_failed(session, fault, now),
                    Event::Accepted { .. } => {}
                }
            }
            if !completions.is_empty() {
                self.last_activity = now;
                self.core.stalls.news(now);
            }
            self.core.expire(now);
            while let Some(index) = self.core.next_expired() {
                self.timer_fired(index, now);
            }
            self.step_phase(now);
            if self.pools.is_some() {
                self.dispatch_pooled(now);
            } else if self.due.is_some_and(|due| due <= now) || !self.again.is_empty() {
                self.dispatch(now);
            }
            self.ping(now);
            while let Some(dead) = self.core.flush() {
                self.lose(dead, ErrorKind::BrokenPipe, now);
            }
            if self.assignment.marks.is_some() {
                self.watch(now);
            }
            if self.phase == Phase::Done {
                return self.finish();
            }
            (until, self.spin.quiet_until) = self.next_wait(now);
        }
    }

    /// It has spun between these times, and nothing came.
    fn spun(&mut self, from: Time, now: Time) {
        let (start, end) = self.recorder.window();
        self.spin.idle_ns += now.min(end).since(from.max(start));
    }

    /// While it spins: whether a turn that brought nothing changes nothing either.
    #[inline]
    fn is_quiet(&self, now: Time) -> bool {
        now < self.spin.quiet_until && self.stop.requested().is_none()
    }

    /// Open loop, each turn: whose the waits are from now on.
    #[inline]
    fn watch(&mut self, now: Time) {
        if self.pools.is_some() {
            return self.watch_pools(now);
        }
        let doing = self.doing();
        self.recorder.watch.note(now, doing, self.due);
    }

    /// Open loop: what the connections do until the next turn, as far as a wait can be owed to it.
    #[inline]
    fn doing(&self) -> Doing {
        if !self.free.is_empty() {
            return Doing {
                free: true,
                ..Doing::default()
            };
        }
        let counts = self.core.counts();
        let opening = counts.connecting + counts.waiting;
        let known = counts.connected as usize + opening;
        Doing {
            free: false,
            // One that is opened for an exchange of its own is in use.
            connecting: match self.assignment.keep_alive {
                true => opening as u32,
                false => 0,
            },
            closing: counts.closing,
            back_off: self.core.sessions.len().saturating_sub(known) as u32,
        }
    }

    /// Moves on to the next phase where its time has come.
    fn step_phase(&mut self, now: Time) {
        match self.phase {
            Phase::Connecting { announced } => self.step_connecting(announced, now),
            Phase::Loading => {
                self.publish();
                let (_, end) = self.recorder.window();
                if let Some(signal) = self.stop.requested() {
                    let until = now.plus(INTERRUPT_DRAIN_NS.min(self.assignment.timeout_ns));
                    // What this turn brought and began is inside.
                    self.drain(now.plus(1), until, EndedBy::Signal(signal), 0);
                } else if self.opened && self.left_of_quota() == Some(0) {
                    // Every exchange is begun: the window ends with the last answer.
                    if self.under_way() == 0 {
                        self.drain(now, now, self.counted_end(), 0);
                    }
                } else if self.maker.is_some() && self.gate.is_over() {
                    let until = now.plus(self.assignment.timeout_ns);
                    self.drain(now.plus(1), until, self.counted_end(), 0);
                } else if end == Time::NEVER
                    && self.core.counts().connected == 0
                    && now.since(self.failing_since) > GIVE_UP_S * 1_000_000_000
                {
                    self.drain(now.plus(1), now, EndedBy::PeerGone, 0);
                }
            }
            Phase::Draining { until } => {
                let under_way = self.under_way() + self.users_under_way();
                let idle = under_way == 0 && self.due.is_none();
                if idle || now >= until && self.core.stalls.may_expire(now) {
                    self.phase = Phase::Done;
                } else if let Some(signal) = self.stop.requested() {
                    // What is cut off now is not what the plan asked for.
                    self.ended_by = EndedBy::Signal(signal);
                    let sooner = now.plus(INTERRUPT_DRAIN_NS);
                    self.phase = Phase::Draining {
                        until: until.min(sooner),
                    };
                }
            }
            Phase::Done => {}
        }
    }

    fn step_connecting(&mut self, announced: bool, now: Time) {
        if let Some(signal) = self.stop.requested() {
            if !announced {
                self.gate.arrive(now);
            }
            self.recorder.set_window(now, now);
            self.ended_by = EndedBy::Signal(signal);
            self.phase = Phase::Done;
            return;
        }
        self.open_more(now);
        let stand = self.core.counts().connected;
        let tired = stand > 0 && now >= self.patience_ends;
        if !announced && (self.core.all_tried() || tired) {
            self.phase = Phase::Connecting { announced: true };
            self.gate.arrive(now);
        }
        self.gate.live(self.assignment.worker).publish(0, 0, stand);
        if let Some(start) = self.gate.start().filter(|start| *start <= now) {
            self.begin(start, now);
        }
    }

    /// The load begins: `start` is the same time in all workers.
    fn begin(&mut self, start: Time, now: Time) {
        self.phase = Phase::Loading;
        self.origin = start;
        if let Some(pings) = &mut self.pings {
            pings.begin(start);
        }
        let window = start.plus(self.assignment.warm_up_ns);
        let end = self
            .assignment
            .duration_ns
            .map_or(Time::NEVER, |length| window.plus(length));
        self.recorder.set_window(window, end);
        if let Some(feed) = &mut self.assignment.feed {
            feed.begin(window);
        }
        if self.assignment.marks.is_some() {
            self.look_ahead();
        }
        if window <= now {
            // Before the first burst, which belongs to the window.
            self.open_window(0, now);
        }
        self.edge = self.next_edge();
        if self.assignment.marks.is_some() {
            for index in 0..self.core.sessions.len() {
                self.offer(index);
            }
        } else {
            for index in 0..self.core.sessions.len() {
                self.refill(index, now);
            }
        }
    }

    /// Exchanges that have begun and not ended.
    fn under_way(&self) -> u64 {
        let parked = self.pools.as_ref().map_or(0, |pools| pools.parked());
        let again = self.again.len() + self.refused.len();
        self.flights.total() + again as u64 + parked
    }

    /// What of the quota has not begun; none where no count ends the run.
    #[inline]
    fn left_of_quota(&self) -> Option<u64> {
        let quota = self.assignment.quota?;
        Some(match self.opened {
            true => quota.saturating_sub(self.begun - self.begun_before),
            false => quota,
        })
    }

    /// Why there is no further exchange to begin.
    fn counted_end(&self) -> EndedBy {
        match &self.maker {
            Some(Requests::Script(script)) if script.is_over() || self.gate.is_over() => {
                EndedBy::Script
            }
            Some(Requests::Users(users)) if users.is_counted_out() => EndedBy::Count,
            Some(rows) if rows.is_over() || self.gate.is_over() => EndedBy::Rows,
            _ => EndedBy::Count,
        }
    }

    /// Makes a few requests ahead, before the worker waits, unless one is to be sent by then.
    #[inline(never)]
    fn make_ahead(&mut self, now: Time) {
        let soon = self.due.is_some_and(|due| due <= now.plus(MAKING_NS));
        if let Some(maker) = self.maker.as_mut().filter(|_| !soon) {
            let _made = (0..MADE_AT_ONCE).take_while(|_| maker.make_ahead()).count();
        }
    }

    /// Every turn: the counts for the progress line.
    fn publish(&self) {
        let (completed, failed) = self.recorder.tally.ended();
        let live = self.gate.live(self.assignment.worker);
        live.publish(completed, failed, self.core.counts().connected);
    }

    /// This turn came late: whoever waited for a connection meanwhile waited for the worker.
    #[cold]
    fn held_up(&mut self, now: Time) {
        self.note_blind(now);
        if let Some(wanted) = self.core.stalls.wanted(now)
            && self.assignment.marks.is_some()
        {
            let doing = Doing {
                free: true,
                ..Doing::default()
            };
            self.recorder.watch.note(wanted, doing, self.due);
            self.watch_pools_late(wanted);
        }
    }

    /// Counts what was never answered, closes every connection and hands the tally over.
    fn finish(mut self) -> Result<Outcome, Broken> {
        let now = self.core.driver.now();
        self.tell_script();
        if let Some(Requests::Script(script)) = &self.maker
            && script.broken().is_some()
        {
            self.recorder.tally.error(ErrorKind::ScriptFailed);
        }
        self.check_places();
        self.enter_unanswered(now);
        self.enter_passages(now);
        self.enter_parked(now);
        self.enter_backlog(now);
        self.check_end();
        let (start, end) = self.recorder.window();
        let end = match self.ended_by {
            EndedBy::Count | EndedBy::Rows | EndedBy::Script => self.recorder.last_end,
            _ => end.min(now),
        };
        self.recorder.close(end);
        self.pass_on_last(end);
        self.count_drain(now);
        if let Some(feed) = &mut self.assignment.feed {
            let connected = self.core.counts().connected;
            feed.finish(now, &mut self.recorder.tally, connected);
        }
        let cpu = ThreadTime::between(self.cpu_at_start, self.cpu_at_end);
        for index in 0..self.core.sessions.len() {
            self.core.take_leave(index);
            self.core.drop(index, Close::Graceful);
        }
        let mut completions = Completions::new();
        self.core.driver.wait(Until::Now, &mut completions)?;
        let unreadable = self.maker.as_ref().and_then(Requests::broken);
        let script = match &self.maker {
            Some(Requests::Script(script)) => Some((script.needs(), script.spent_ns())),
            _ => None,
        };
        let faults = self.faults();
        let is_whole = self.assignment.feed.is_none();
        let mut outcome = Outcome {
            start,
            end,
            ended_by: self.ended_by,
            cpu,
            spun_ns: self.spin.idle_ns,
            in_vain: self.in_vain,
            counters: self.core.driver.counters(),
            violation: self.violation,
            upgrade_refused: self.upgrade_refused,
            memory: self.memory,
            stall: self.core.stalls.longest,
            put_off: self.core.stalls.put_off,
            backlog_cut: self.backlog_cut,
            dropped: self.dropped,
            depth_allowed: self.depth_allowed,
            unreadable: unreadable.map(str::to_owned),
            origins: self.pools.map_or(Vec::new(), |pools| pools.counted()),
            faults,
            script,
            breach: self.breach,
            recorder: self.recorder,
        };
        if is_whole {
            outcome.settle(None);
        }
        Ok(outcome)
    }

    /// At the end: enters what is under way, or waits to be sent again.
    fn enter_unanswered(&mut self, now: Time) {
        for index in 0..self.core.sessions.len() {
            let session = &mut self.core.sessions[index];
            let (ring, taken) = (&mut session.own.ring, session.own.taken);
            self.flights.drain(index, ring, |exchange| {
                if exchange.sent == Time::NEVER {
                    self.recorder
                        .connection_awaited(&exchange, taken, false, now);
                }
                self.recorder.unfinished(&exchange, now);
            });
            self.recorder.streams_cut(index, None, now);
        }
        let of_users = std::mem::take(&mut self.refused).into_iter();
        let again = std::mem::take(&mut self.again).into_iter();
        for exchange in again.chain(of_users.map(|(_, exchange)| exchange)) {
            self.recorder.taken_again(&exchange, now);
            self.recorder.unfinished(&exchange, now);
        }
    }

    fn timer_fired(&mut self, index: usize, now: Time) {
        if std::mem::take(&mut self.core.sessions[index].own.rests) {
            self.core.sessions[index].own.rested = true;
            if self.core.sessions[index].state() == State::Open {
                if self.core.sessions[index].is_sending() {
                    // A peer that takes none of it is given up by then.
                    let timeout_ns = self.assignment.timeout_ns;
                    self.core.set_timer(index, now.plus(timeout_ns));
                }
                return self.more(index, now);
            }
        }
        match self.core.sessions[index].state() {
            State::Down => {
                self.backed_off(index, now);
                self.revive(index, now);
            }
            State::Waiting(since) => self.look_for_socket(index, since, now),
            State::Connecting(since) | State::Greeting(since) => {
                if let Some(kind) = self.core.waited_for(index, since, now) {
                    self.lose(index, kind, now);
                }
            }
            State::Open => self.expire_exchanges(index, now),
            State::Closing => self.linger_over(index, now),
        }
    }
}

/// How long the load waits for connections that aren't open yet, once one is. A full backlog lets
/// one wait for a second or more (tcp(7), `tcp_syn_retries`), which would be added to a short run.
/// An open loop can begin without it. Who asks for a warm-up asks for all of them.
fn patience_ns(assignment: &Assignment) -> u64 {
    match assignment.duration_ns {
        Some(length) if assignment.marks.is_some() && assignment.warm_up_ns == 0 => {
            (length / 10).max(PATIENCE_NS_MIN)
        }
        _ => u64::MAX,
    }
}

/// Sockets a worker's driver must have room for: its sessions, and the ones that are still closing.
///
/// With a connection for each exchange there may be as many of those: the receive that a close
/// cancels ends behind all that the kernel has yet to report, at twenty a turn.
pub(crate) fn sockets_for(sessions: usize) -> usize {
    const CLOSING_MAX: usize = 1024;
    sessions + sessions.min(CLOSING_MAX) + 64
}

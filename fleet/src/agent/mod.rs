//! An agent: waits for a run, does its part of the load, and keeps what it counted until the
//! coordinator has it.
//!
//! It knows nothing of loads: it says when one is to be prepared, begun and ended, and is told what
//! was counted. Its owner carries its [`Action`]s out, in their order, and calls it when something
//! has come and at [`Agent::next_due`].
//!
//! It follows one coordinator. Another one of the same run is followed only if it began later and
//! the first has been silent for [`SILENT_NS`]; so a coordinator that was killed and came back is,
//! and a second one beside the first is not.

mod kept;

use std::collections::VecDeque;

use bytes::Bytes;

use measure::time::Time;
use plan::Lease;

use crate::bus::Subject;
use crate::chain::Digest;
use crate::counted::Interval;
use crate::division::Place;
use crate::message::{
    Check, DataFile, Ended, LIST_MAX, Order, Report, Said, Stop, Unread, decode, encode,
};
use crate::words::{AgentName, Epoch, Member, RunId, Text, Verdict};
use kept::Kept;

/// An agent that has heard nothing of its coordinator for so long ends its load.
pub const DEAD_MAN_NS: u64 = 10_000_000_000;
/// A coordinator that was silent for so long may be replaced by one that began later.
pub const SILENT_NS: u64 = 3_000_000_000;
/// An agent whose load is over keeps what it counted for so long after it heard its coordinator
/// last.
pub const LINGER_NS: u64 = 600_000_000_000;
/// An agent whose load is over and whose coordinator was silent for so long answers the call for
/// another run. A coordinator that comes back does so sooner.
pub const FREE_NS: u64 = 20_000_000_000;
/// How often it says that its load is over.
const LAST_EVERY_NS: u64 = 1_000_000_000;
/// How many series an agent remembers.
const SERIES_MAX: usize = 16;
/// The most intervals that are sent again for one order.
pub(crate) const AGAIN_MAX: u64 = 256;

/// Why an agent doesn't begin whose place isn't the one that its coordinator gave it.
const MISPLACED: &str = "\
somebody else than its coordinator sent it the plan, with the share of another agent: look who may \
publish at the NATS server";

/// What an agent is.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Its name.
    pub name: AgentName,
    /// Which life of it this is.
    pub epoch: Epoch,
    /// The version of its program.
    pub program: String,
    /// How many workers it would run.
    pub workers: u32,
    /// How many bytes of intervals it keeps at most; a bit more than this is in memory then.
    pub room_bytes: usize,
}

/// What an agent is told.
#[derive(Clone, Copy, Debug)]
pub enum Event<'a> {
    /// Time has passed.
    Tick,
    /// A message has come.
    Heard(&'a [u8]),
    /// The load was prepared, and this was looked at before.
    Prepared {
        /// Of the plan that was to be prepared.
        plan: Digest,
        /// What was looked at.
        checks: &'a [Check],
    },
    /// The load has begun.
    Began {
        /// How much later than it should.
        late_ns: u64,
    },
    /// A second of the load is over, or its drain.
    Counted(&'a Interval),
    /// The load is over, and everything that it counted was told.
    LoadEnded {
        /// Whether it was the limit.
        verdict: &'a Verdict,
        /// Why it couldn't go on, if it couldn't.
        failed: Option<&'a str>,
    },
    /// What was to be kept could not be written down: the disk is full, for instance. It's still in
    /// memory.
    NotKept(&'a str),
    /// The agent is to end.
    Leave,
}

/// What its owner is to do.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// Listen there.
    Subscribe(Subject),
    /// Listen there no longer.
    Unsubscribe(Subject),
    /// Say this.
    Send(Subject, Bytes),
    /// Get ready for this load, look whether it can be done, and say so ([`Event::Prepared`]).
    /// Nothing is sent to its target.
    Prepare {
        /// What the load is.
        plan: Bytes,
        /// The files that it needs.
        data: Vec<DataFile>,
        /// Which workers are the agent's.
        place: Place,
    },
    /// Load from this moment on, by the agent's own clock.
    Load {
        /// When.
        at: Time,
    },
    /// Run these workers as well, which were another agent's: more of the same load, from now on.
    TakeOver(Vec<Place>),
    /// End the load now, or don't begin it, and say when it's over ([`Event::LoadEnded`]).
    StopLoad(Ended),
    /// Write this down, if that is possible, for whoever looks for it when the agent has died.
    Keep {
        /// The number of the interval.
        number: u64,
        /// An [`Interval`], in the format of `postcard`.
        payload: Bytes,
    },
    /// The run is over for this agent, which waits for another one.
    Over {
        /// What was written down is in a record that the coordinator has kept, and can go.
        confirmed: bool,
    },
    /// Tell whoever looks after the agent.
    Note(String),
}

/// See the module.
#[derive(Debug)]
pub struct Agent {
    settings: Settings,
    me: Member,
    run: Option<Membership>,
    /// A run that didn't want it.
    refused: Option<(RunId, Epoch)>,
    /// The series that it heard calls of last, and those that somebody has ended.
    series: VecDeque<Epoch>,
    halted: VecDeque<Epoch>,
    /// What its load may be sent until.
    lease: Lease,
    /// Messages that couldn't be read.
    unread: u64,
}

/// Where an agent is in a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Stage {
    /// It has answered a call.
    Joined,
    /// It looks at its plan.
    Preparing,
    /// It could begin.
    Ready,
    /// It was told when to begin.
    Loading,
    /// Its load is over.
    Ended,
}

/// An agent's part in a run.
#[derive(Debug)]
struct Membership {
    run: RunId,
    coordinator: Epoch,
    /// When it was heard last, and the longest time in which it wasn't.
    heard: Time,
    silence_ns: u64,
    stage: Stage,
    place: Option<Place>,
    plan: Option<Digest>,
    same: Option<Digest>,
    checks: Vec<Check>,
    begin: Option<Time>,
    /// How much later it began.
    late_ns: Option<u64>,
    /// What it has taken over, and by which of the moves.
    taken: Vec<Place>,
    turn: u32,
    kept: Kept,
    /// What the load was ended by, before it is over.
    stopping: Option<Ended>,
    ended: Option<(Ended, Verdict)>,
    troubles: Vec<Text>,
    /// When it says again that its load is over.
    last_due: Time,
}

impl Agent {
    /// An agent that waits for a run.
    pub fn new(settings: Settings, actions: &mut Vec<Action>) -> Agent {
        actions.push(Action::Subscribe(Subject::Call));
        actions.push(Action::Subscribe(Subject::Agent(settings.name.clone())));
        Agent {
            me: Member {
                agent: settings.name.clone(),
                epoch: settings.epoch,
            },
            settings,
            run: None,
            refused: None,
            series: VecDeque::new(),
            halted: VecDeque::new(),
            lease: Lease::default(),
            unread: 0,
        }
    }

    /// When it wants to be told that time has passed.
    pub fn next_due(&self) -> Time {
        self.run
            .as_ref()
            .map_or(Time::NEVER, |run| match run.stage {
                Stage::Ended => run.heard.plus(LINGER_NS).min(run.last_due),
                Stage::Loading if run.stopping.is_some() => Time::NEVER,
                _ => run.heard.plus(DEAD_MAN_NS),
            })
    }

    /// The run that it is in.
    pub fn run(&self) -> Option<&RunId> {
        self.run.as_ref().map(|own| &own.run)
    }

    /// Until when its load may be sent, which moves on whenever it hears its coordinator: for the
    /// load's threads, which may run when the agent's own doesn't.
    pub fn lease(&self) -> Lease {
        self.lease.clone()
    }

    /// How many messages it couldn't read.
    pub fn unread(&self) -> u64 {
        self.unread
    }

    /// Takes what has happened.
    pub fn handle(&mut self, event: Event<'_>, now: Time, actions: &mut Vec<Action>) {
        // What has waited while this machine stood still doesn't make up for the silence.
        self.look_at_silence(now, actions);
        match event {
            Event::Tick => {}
            Event::Heard(bytes) => self.hear(bytes, now, actions),
            Event::Prepared { plan, checks } => self.prepared(plan, checks, actions),
            Event::Began { late_ns } => self.began(late_ns),
            Event::Counted(interval) => self.counted(interval, actions),
            Event::LoadEnded { verdict, failed } => {
                self.load_ended(verdict, failed, now, actions);
            }
            Event::NotKept(why) => self.trouble(why),
            Event::Leave => self.leave(actions),
        }
        self.look(now, actions);
    }

    fn hear(&mut self, bytes: &[u8], now: Time, actions: &mut Vec<Action>) {
        let heard = match decode(bytes) {
            Ok(heard) => heard,
            Err(why) => {
                self.unread += 1;
                if matches!(why, Unread::OtherVersion { .. }) {
                    actions.push(Action::Note(why.to_string()));
                }
                return;
            }
        };
        // What other agents report is for coordinators.
        let Said::Order { run, epoch, order } = heard.said else {
            return;
        };
        match order {
            Order::Call { series, .. } => return self.called((run, series), epoch, now, actions),
            Order::Who => return self.report(&run, self.here(), actions),
            Order::Halt => return self.halt(&run, actions),
            _ => {}
        }
        if order.to().is_some_and(|to| *to != self.me) {
            return;
        }
        match &self.run {
            Some(own) if own.run == run => {}
            // The coordinator hasn't heard that it was heard.
            _ if matches!(order, Order::Confirm { .. }) => {
                return self.report(&run, Report::Released, actions);
            }
            _ => return,
        }
        if self.follows(epoch, &order, now, actions) {
            self.obey(order, now, actions);
        }
    }

    /// Whether this is the coordinator that the agent follows, or does from now on.
    fn follows(
        &mut self,
        epoch: Epoch,
        order: &Order,
        now: Time,
        actions: &mut Vec<Action>,
    ) -> bool {
        let Some(own) = &mut self.run else {
            return false;
        };
        let is_silent = now.since(own.heard) >= SILENT_NS;
        let replaces = epoch > own.coordinator && is_silent && matches!(order, Order::Recall);
        if epoch == own.coordinator || replaces {
            own.coordinator = epoch;
            own.silence_ns = own.silence_ns.max(now.since(own.heard));
            own.heard = now;
            self.lease.extend(now.plus(DEAD_MAN_NS));
            return true;
        }
        let (run, epoch) = (own.run.clone(), own.coordinator);
        self.report(&run, Report::Follows { epoch }, actions);
        false
    }

    /// A coordinator calls for agents.
    fn called(
        &mut self,
        (run, series): (RunId, Epoch),
        epoch: Epoch,
        now: Time,
        actions: &mut Vec<Action>,
    ) {
        if self.halted.contains(&series) {
            return self.report(&run, Report::Halted, actions);
        }
        remember(&mut self.series, series);
        if self
            .refused
            .as_ref()
            .is_some_and(|(other, at)| (other, *at) == (&run, epoch))
        {
            return;
        }
        if let Some(own) = &mut self.run {
            if own.stage == Stage::Joined && own.run == run && own.coordinator == epoch {
                own.heard = now;
                self.lease.extend(now.plus(DEAD_MAN_NS));
            } else if own.is_given_up(&run, now) {
                self.over(false, actions);
            } else if own.run != run {
                let busy = Report::Busy {
                    run: own.run.clone(),
                };
                return self.report(&run, busy, actions);
            } else {
                return;
            }
        }
        if self.run.is_none() {
            actions.push(Action::Subscribe(Subject::Agents(run.clone())));
            self.run = Some(Membership::new(run.clone(), &self.me, epoch, now));
            self.lease = Lease::until(now.plus(DEAD_MAN_NS));
        }
        let workers = self.settings.workers;
        self.report(&run, Report::Hello { workers }, actions);
    }

    /// Who it is, and what it does.
    fn here(&self) -> Report {
        let own = self.run.as_ref();
        Report::Here {
            workers: self.settings.workers,
            run: own.map(|own| own.run.clone()),
            is_loading: own.is_some_and(|own| own.stage == Stage::Loading),
        }
    }

    /// Somebody who looks after all agents wants no load, and is told what goes on.
    fn halt(&mut self, asker: &RunId, actions: &mut Vec<Action>) {
        // The next run of a search is called for in a moment.
        for series in std::mem::take(&mut self.series) {
            remember(&mut self.halted, series);
        }
        match &mut self.run {
            Some(own) if own.stage == Stage::Loading => own.stop(Ended::Halted, actions),
            Some(own) if own.stage < Stage::Loading => {
                self.refused = Some((own.run.clone(), own.coordinator));
                self.withdraw(Report::Halted, actions);
            }
            _ => {}
        }
        self.report(asker, self.here(), actions);
    }

    /// Leaves a run whose load it hasn't begun.
    fn withdraw(&mut self, report: Report, actions: &mut Vec<Action>) {
        if let Some(own) = &self.run {
            let run = own.run.clone();
            self.report(&run, report, actions);
        }
        self.over(false, actions);
    }

    /// Does what the coordinator says.
    fn obey(&mut self, order: Order, now: Time, actions: &mut Vec<Action>) {
        let Some(own) = &mut self.run else {
            return;
        };
        let stage = own.stage;
        let report = match order {
            Order::Plan {
                place,
                plan,
                same,
                data,
                ..
            } => own.take_plan(place, (plan, same), data, actions),
            Order::Refuse { why, .. } if stage != Stage::Loading => {
                self.refused = Some((own.run.clone(), own.coordinator));
                actions.push(Action::Note(format!(
                    "run {} without this agent: {why}",
                    own.run
                )));
                return self.over(false, actions);
            }
            Order::Ping {
                number, sent_ns, ..
            } => Some(Report::Pong {
                number,
                sent_ns,
                heard_ns: now.0,
            }),
            Order::Begin { place, .. } if stage == Stage::Ready && own.place != Some(place) => {
                let why = Text::new(MISPLACED);
                actions.push(Action::Note(format!("run {}: {why}", own.run)));
                return self.withdraw(Report::Left { why }, actions);
            }
            Order::Begin { at_ns, .. } => own.take_begin(Time(at_ns), now, actions),
            Order::Beat => Some(Report::Alive {
                count: own.kept.count(),
            }),
            Order::Ask { numbers, .. } => return self.send_again(&numbers, actions),
            Order::Move { places, turn, .. } => own.take_move(places, turn, actions),
            Order::Stop { .. } if stage < Stage::Loading => return self.over(false, actions),
            Order::Stop { why } => {
                own.stop(Ended::Stopped(why), actions);
                None
            }
            Order::Recall => Some(own.standing(self.settings.workers)),
            Order::Confirm { chain, .. } => {
                if stage != Stage::Ended || chain != own.kept.digest() {
                    return;
                }
                let run = own.run.clone();
                self.report(&run, Report::Released, actions);
                return self.over(true, actions);
            }
            Order::Claim
            | Order::Taken
            | Order::Call { .. }
            | Order::Who
            | Order::Halt
            | Order::Refuse { .. } => None,
        };
        if let Some(report) = report {
            let run = own.run.clone();
            self.report(&run, report, actions);
        }
    }

    fn prepared(&mut self, plan: Digest, checks: &[Check], actions: &mut Vec<Action>) {
        let Some(own) = &mut self.run else {
            return;
        };
        // It may have been another run's, which is over.
        if own.stage != Stage::Preparing || own.plan != Some(plan) {
            return;
        }
        own.stage = Stage::Ready;
        // What failed comes first, if there are more than a message has.
        let (faults, others): (Vec<_>, Vec<_>) = checks
            .iter()
            .cloned()
            .partition(|check| check.fault.is_some());
        own.checks = faults.into_iter().chain(others).take(LIST_MAX).collect();
        if let Some(report) = own.ready() {
            let run = own.run.clone();
            self.report(&run, report, actions);
        }
    }

    fn began(&mut self, late_ns: u64) {
        if let Some(own) = self.run.as_mut().filter(|own| own.stage == Stage::Loading) {
            own.late_ns = Some(late_ns);
        }
    }

    fn counted(&mut self, interval: &Interval, actions: &mut Vec<Action>) {
        let Some(own) = self.run.as_mut().filter(|own| own.stage == Stage::Loading) else {
            return;
        };
        let number = own.kept.count();
        match own.kept.add(interval) {
            Ok(payload) => actions.push(Action::Keep { number, payload }),
            Err(why) => return own.stop(Ended::Failed(Text::new(&why)), actions),
        }
        if own.kept.bytes() > self.settings.room_bytes {
            own.stop(Ended::NoRoom, actions);
        }
        if let Some(report) = own.kept.report(number) {
            let run = own.run.clone();
            self.report(&run, report, actions);
        }
    }

    fn send_again(&mut self, numbers: &[(u64, u64)], actions: &mut Vec<Action>) {
        let Some(own) = &self.run else {
            return;
        };
        let count = own.kept.count();
        let numbers = numbers
            .iter()
            .flat_map(|(from, to)| *from..(*to).min(count));
        let reports: Vec<Report> = numbers
            .take(AGAIN_MAX as usize)
            .filter_map(|number| own.kept.report(number))
            .collect();
        let run = own.run.clone();
        for report in reports {
            self.report(&run, report, actions);
        }
    }

    fn load_ended(
        &mut self,
        verdict: &Verdict,
        failed: Option<&str>,
        now: Time,
        actions: &mut Vec<Action>,
    ) {
        let Some(own) = self.run.as_mut().filter(|own| own.stage == Stage::Loading) else {
            return;
        };
        let failed = failed.map(|why| Ended::Failed(Text::new(why)));
        let failed = failed.or(self.lease.is_broken().then_some(Ended::DeadMan));
        let ended = own.stopping.take().or(failed).unwrap_or(Ended::Plan);
        own.stage = Stage::Ended;
        own.ended = Some((ended, verdict.clone()));
        own.last_due = now;
        if let Some(begin) = own.begin.filter(|begin| *begin > now) {
            let early_ms = begin.since(now) / 1_000_000;
            actions.push(Action::Note(format!(
                "run {}: its load was ended {early_ms} ms before it was to begin",
                own.run
            )));
        }
    }

    fn trouble(&mut self, why: &str) {
        if let Some(own) = &mut self.run
            && own.troubles.len() < LIST_MAX
        {
            let why = Text::new(why);
            if !own.troubles.contains(&why) {
                own.troubles.push(why);
            }
        }
    }

    fn leave(&mut self, actions: &mut Vec<Action>) {
        match &mut self.run {
            Some(own) if own.stage == Stage::Loading => own.stop(Ended::Left, actions),
            // Its intervals aren't confirmed; its owner may wait for that, or not.
            Some(own) if own.stage == Stage::Ended => {}
            Some(_) => {
                let why = Text::new(&Ended::Left.to_string());
                self.withdraw(Report::Left { why }, actions);
            }
            None => {}
        }
    }

    /// Ends its load if its coordinator has been silent for too long.
    fn look_at_silence(&mut self, now: Time, actions: &mut Vec<Action>) {
        let lease = &self.lease;
        let is_silent =
            |own: &&mut Membership| now.since(own.heard) >= DEAD_MAN_NS || lease.is_broken();
        if let Some(own) = self.run.as_mut().filter(is_silent) {
            own.stop(Ended::DeadMan, actions);
        }
    }

    /// Does what is due by now.
    fn look(&mut self, now: Time, actions: &mut Vec<Action>) {
        let Some(own) = &mut self.run else {
            return;
        };
        let silent_ns = now.since(own.heard);
        match own.stage {
            Stage::Ended if silent_ns >= LINGER_NS => {
                actions.push(Action::Note(format!(
                    "nobody has asked for what was counted in run {}",
                    own.run
                )));
                self.over(false, actions);
            }
            Stage::Ended if now >= own.last_due => {
                own.last_due = now.plus(LAST_EVERY_NS);
                let (run, report) = (own.run.clone(), own.last());
                self.report(&run, report, actions);
            }
            Stage::Ended | Stage::Loading => {}
            _ if silent_ns >= DEAD_MAN_NS => self.over(false, actions),
            _ => {}
        }
    }

    /// The run is over for this agent.
    fn over(&mut self, confirmed: bool, actions: &mut Vec<Action>) {
        if let Some(own) = self.run.take() {
            actions.push(Action::Unsubscribe(Subject::Agents(own.run)));
            actions.push(Action::Over { confirmed });
        }
    }

    fn report(&self, run: &RunId, report: Report, actions: &mut Vec<Action>) {
        let said = Said::Report {
            run: run.clone(),
            from: self.me.clone(),
            report,
        };
        match encode(&self.settings.program, &said) {
            Ok(bytes) => actions.push(Action::Send(Subject::Coordinator(run.clone()), bytes)),
            Err(long) => actions.push(Action::Note(format!(
                "a message of {} bytes is too long to be sent",
                long.bytes
            ))),
        }
    }
}

/// Keeps the last few.
fn remember(all: &mut VecDeque<Epoch>, series: Epoch) {
    if !all.contains(&series) {
        all.push_back(series);
        all.drain(..all.len().saturating_sub(SERIES_MAX));
    }
}

impl Membership {
    fn new(run: RunId, me: &Member, coordinator: Epoch, now: Time) -> Membership {
        Membership {
            kept: Kept::new(&run, me),
            run,
            coordinator,
            heard: now,
            silence_ns: 0,
            stage: Stage::Joined,
            place: None,
            plan: None,
            same: None,
            checks: Vec::new(),
            begin: None,
            late_ns: None,
            taken: Vec::new(),
            turn: 0,
            stopping: None,
            ended: None,
            troubles: Vec::new(),
            last_due: Time::NEVER,
        }
    }

    /// Whether nobody misses the agent here if it answers the call for that run.
    fn is_given_up(&self, other: &RunId, now: Time) -> bool {
        let silent_ns = now.since(self.heard);
        match self.stage {
            Stage::Loading => false,
            // Whoever comes back to this very run wants what was counted in it.
            Stage::Ended => self.run != *other && silent_ns >= FREE_NS,
            // Whoever called before is gone, and nothing has begun.
            _ => silent_ns >= SILENT_NS,
        }
    }

    fn take_plan(
        &mut self,
        place: Place,
        (plan, same): (Bytes, Digest),
        data: Vec<DataFile>,
        actions: &mut Vec<Action>,
    ) -> Option<Report> {
        match self.stage {
            Stage::Joined => {
                self.stage = Stage::Preparing;
                (self.place, self.same) = (Some(place), Some(same));
                self.plan = Some(Digest::of(&plan));
                actions.push(Action::Prepare { plan, data, place });
                None
            }
            _ => self.ready(),
        }
    }

    /// What it says once it has looked at its plan.
    fn ready(&self) -> Option<Report> {
        (self.stage >= Stage::Ready).then_some(())?;
        Some(Report::Ready {
            plan: self.plan?,
            checks: self.checks.clone(),
        })
    }

    /// Where it is, for a coordinator that comes back.
    fn standing(&self, workers: u32) -> Report {
        Report::Standing {
            workers,
            place: self.place,
            taken: self.taken.clone(),
            turn: self.turn,
            same: self.same,
            has_begun: self.stage >= Stage::Loading,
            count: self.kept.count(),
        }
    }

    fn take_begin(&mut self, at: Time, now: Time, actions: &mut Vec<Action>) -> Option<Report> {
        if self.stage == Stage::Ready {
            // Its owner's policy is its own: no coordinator makes it begin against that.
            if self.checks.iter().any(|check| check.fault.is_some()) {
                return self.ready();
            }
            if now > at {
                let late_ns = now.since(at);
                return Some(Report::Missed { late_ns });
            }
            self.stage = Stage::Loading;
            self.begin = Some(at);
            actions.push(Action::Load { at });
        }
        self.begin.map(|at| Report::Begun { at_ns: at.0 })
    }

    fn take_move(
        &mut self,
        mut places: Vec<Place>,
        turn: u32,
        actions: &mut Vec<Action>,
    ) -> Option<Report> {
        let goes_on = self.stage == Stage::Loading && self.stopping.is_none();
        if turn > self.turn && goes_on {
            self.turn = turn;
            places.retain(|place| !self.taken.contains(place));
            self.taken.extend(&places);
            actions.push(Action::TakeOver(places));
        }
        (self.turn > 0).then_some(Report::Moved { turn: self.turn })
    }

    /// Ends the load, if it goes on.
    fn stop(&mut self, ended: Ended, actions: &mut Vec<Action>) {
        if self.stage == Stage::Loading && self.stopping.is_none() {
            self.stopping = Some(ended.clone());
            actions.push(Action::StopLoad(ended));
        }
    }

    fn last(&self) -> Report {
        let (ended, verdict) = self
            .ended
            .clone()
            .unwrap_or((Ended::Stopped(Stop::NotBegun), Verdict::default()));
        Report::Last {
            count: self.kept.count(),
            chain: self.kept.digest(),
            totals: self.kept.totals(),
            ended,
            verdict,
            troubles: self.troubles.clone(),
            silence_ns: self.silence_ns,
            late_ns: self.late_ns,
        }
    }
}

//! A coordinator: gathers agents, divides a load among them, has them begin at the same moment, and
//! adds up what they counted.
//!
//! Its owner carries its [`Action`]s out, in their order, and calls it when something has come and
//! at [`Coordinator::next_due`]. It writes nothing down: a coordinator that was killed is made anew
//! with [`Settings::returns`], asks who is in the run, and has all intervals sent again. That is
//! why agents keep them until the record is kept.
//!
//! The phases, in their order: *claiming* the run, *gathering* (or *recalling*) the agents,
//! *preparing* them, comparing their *clocks*, *running*, *closing* (the clocks once more, and what
//! is still missing), *keeping* the record, *confirming* it. Each has an end in time.

mod assemble;
mod before;
mod part;
mod running;
mod shown;

use std::collections::BTreeMap;

use bytes::Bytes;

use measure::time::Time;
use plan::Invalid;

use crate::bus::Subject;
use crate::chain::Digest;
use crate::course::Course;
use crate::message::{
    Check, DataFile, LIST_MAX, Order, PLAN_MAX, Report, Said, Stop, Unread, decode, encode,
};
use crate::record::Outcome;
use crate::words::{AgentName, Epoch, Member, RunId};
use part::Part;

const SECOND_NS: u64 = 1_000_000_000;
/// How often a coordinator says that it is there.
pub const BEAT_NS: u64 = SECOND_NS;
/// Between the decision to begin and the beginning, so that all agents have heard of it.
pub const LEAD_NS: u64 = 2 * SECOND_NS;
/// An agent that wasn't heard for so long is lost. By then it has ended its load by itself
/// ([`crate::agent::DEAD_MAN_NS`]), so nothing is sent twice if others take over its share.
pub const LOST_NS: u64 = 15 * SECOND_NS;
/// A silence that is noted, though nothing came of it.
pub const SILENCE_NOTED_NS: u64 = 3 * SECOND_NS;
/// How often it looks after what is to be repeated.
const PULSE_NS: u64 = SECOND_NS / 10;
/// How often an order is repeated that can wait, and one that can't.
const REPEAT_NS: u64 = SECOND_NS / 2;
const URGENT_NS: u64 = SECOND_NS / 5;
/// How long another coordinator of the same run has to object.
const CLAIM_NS: u64 = SECOND_NS / 2;
/// How long agents have to answer a coordinator that came back: until those which can't hear it
/// have ended their load.
const RECALL_NS: u64 = 14 * SECOND_NS;
/// How long the comparison of clocks may take.
const CLOCKS_NS: u64 = 30 * SECOND_NS;
const CLOCKS_AT_END_NS: u64 = 5 * SECOND_NS;
/// How long after the beginning an agent has to say that it has begun.
const BEGUN_NS: u64 = 3 * SECOND_NS;
/// How long agents have to end their load.
const STOP_NS: u64 = 30 * SECOND_NS;
/// How long intervals are waited for while none comes.
const COLLECT_NS: u64 = 60 * SECOND_NS;
/// How long agents are told that the record is kept.
const CONFIRM_NS: u64 = 10 * SECOND_NS;
/// It hasn't looked for so long: it stood still itself, or its machine did.
const AWAY_NS: u64 = SILENCE_NOTED_NS;
/// An agent that leaves is waited for no longer than this after it was told, or heard.
const LEFT_NS: u64 = 2 * SECOND_NS;
/// How long agents are told that nothing will come of a run.
const FAIL_NS: u64 = SECOND_NS;
/// How long others are waited for once two agents of the same name have answered.
const TWINS_NS: u64 = 2 * SECOND_NS;

/// What happens to the others when an agent is lost, or ends its load early.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnLoss {
    /// They go on with their shares.
    Continue,
    /// They end.
    Stop,
    /// They take over its share.
    Rebalance,
}

/// What a coordinator is to do.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The name of the run.
    pub run: RunId,
    /// Which life of the coordinator this is.
    pub epoch: Epoch,
    /// Of all runs that belong together, such as a search's: whoever ends one has ended them all.
    pub series: Epoch,
    /// The version of its program; agents must have the same.
    pub program: String,
    /// How many agents there are to be.
    pub agents: u32,
    /// How many workers all of them have together, divided by what each would run; none: as many as
    /// each would run.
    pub workers: Option<u32>,
    /// What the load is.
    pub plan: Bytes,
    /// What makes two plans the same, however they were signed: a coordinator that comes back is to
    /// have that of the one before.
    pub same: Digest,
    /// The files that it needs.
    pub data: Vec<DataFile>,
    /// What happens when an agent is lost.
    pub on_loss: OnLoss,
    /// How long agents may take to answer the call.
    pub gather_ns: u64,
    /// How long they may take to get ready.
    pub prepare_ns: u64,
    /// When the load is ended if it hasn't by itself, counted from its beginning.
    pub longest_ns: u64,
    /// An earlier coordinator began this run, and was killed.
    pub returns: bool,
}

/// What a coordinator is told.
#[derive(Clone, Copy, Debug)]
pub enum Event<'a> {
    /// Time has passed.
    Tick,
    /// A message has come.
    Heard(&'a [u8]),
    /// The run is to end now.
    Stop,
    /// The record is kept where it can't be lost.
    RecordKept,
    /// Nobody will be heard any more, because of this: what is here is all that there will be.
    Alone(&'a str),
}

/// What its owner is to do.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// Listen there.
    Subscribe(Subject),
    /// Say this.
    Send(Subject, Bytes),
    /// Keep the record, and say when it is kept ([`Event::RecordKept`]).
    Record(Box<Outcome>),
    /// The load begins then, by the coordinator's clock.
    Begins(Time),
    /// Tell the user.
    Note(String),
    /// It has nothing more to do.
    Over(End),
}

/// How a run ended for a coordinator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// With a record.
    Recorded,
    /// Without, because nothing was ever sent: why, and what to do.
    Failed(String),
    /// Without, because whoever looks after all agents has ended all load.
    Halted,
    /// Another coordinator has the run.
    Taken(Epoch),
}

/// Where a run is.
#[derive(Clone, Debug, PartialEq)]
enum Phase {
    Claiming,
    Recalling,
    Gathering,
    Preparing,
    Clocks,
    Running,
    Closing,
    Keeping,
    Confirming,
    /// Because of this; none where all load was ended.
    Failing(Option<String>),
    Over,
}

/// See the module.
#[derive(Debug)]
pub struct Coordinator {
    settings: Settings,
    digest: Digest,
    phase: Phase,
    /// When the phase ends if nothing else ends it.
    until: Time,
    parts: Vec<Part>,
    /// What all of them counted, second by second.
    course: Course,
    /// Between the decision to begin and the beginning.
    lead_ns: u64,
    /// What agents count for when the load is divided, instead of the workers they would run.
    weights: BTreeMap<AgentName, u32>,
    /// When the load begins; none where an earlier coordinator decided that.
    begin: Option<Time>,
    /// Why the load is ended, and since when.
    stopping: Option<(Stop, Time)>,
    /// How often workers were moved.
    moves: u32,
    /// Agents were lost while no coordinator was there, and nothing was decided because of that.
    is_short: bool,
    findings: Vec<String>,
    /// Agents that are in other runs.
    busy: BTreeMap<AgentName, RunId>,
    /// Another coordinator that agents follow.
    rival: Option<Epoch>,
    beat_due: Time,
    /// When something repeated was last said to all.
    told: Option<Time>,
    pulse: Time,
    unread: u64,
    /// When it looked last.
    looked: Time,
    /// Nobody will be heard any more.
    is_alone: bool,
    /// When the last interval came that was new.
    progress: (u64, Time),
}

impl Coordinator {
    /// One that begins, or comes back.
    ///
    /// # Errors
    /// Where the settings can't be carried out.
    pub fn new(
        settings: Settings,
        now: Time,
        actions: &mut Vec<Action>,
    ) -> Result<Coordinator, Invalid> {
        check(&settings)?;
        let inbox = Subject::Coordinator(settings.run.clone());
        actions.push(Action::Subscribe(inbox));
        let mut coordinator = Coordinator {
            digest: Digest::of(&settings.plan),
            settings,
            phase: Phase::Claiming,
            until: now.plus(CLAIM_NS),
            parts: Vec::new(),
            course: Course::default(),
            lead_ns: LEAD_NS,
            weights: BTreeMap::new(),
            begin: None,
            stopping: None,
            moves: 0,
            is_short: false,
            findings: Vec::new(),
            busy: BTreeMap::new(),
            rival: None,
            beat_due: now,
            told: None,
            pulse: now,
            unread: 0,
            looked: now,
            is_alone: false,
            progress: (0, now),
        };
        coordinator.look(now, actions);
        Ok(coordinator)
    }

    /// When it wants to be told that time has passed.
    pub fn next_due(&self) -> Time {
        match self.phase {
            Phase::Over => Time::NEVER,
            _ => self.pulse,
        }
    }

    /// How many messages it couldn't read.
    pub fn unread(&self) -> u64 {
        self.unread
    }

    /// Takes what has happened.
    pub fn handle(&mut self, event: Event<'_>, now: Time, actions: &mut Vec<Action>) {
        if self.phase == Phase::Over {
            return;
        }
        self.make_up_for_absence(now, actions);
        match event {
            Event::Tick => {}
            Event::Heard(bytes) => self.hear(bytes, now, actions),
            Event::Stop => self.stop_asked(now),
            Event::RecordKept if self.phase == Phase::Keeping => {
                let lasts_ns = if self.is_alone { 0 } else { CONFIRM_NS };
                self.enter(Phase::Confirming, lasts_ns, now);
            }
            Event::RecordKept => {}
            Event::Alone(why) => self.alone(why, now, actions),
        }
        if now >= self.pulse {
            self.look(now, actions);
        }
    }

    /// While it stood still itself it heard nobody: that is not the agents' silence, and what they
    /// said meanwhile may still be read.
    fn make_up_for_absence(&mut self, now: Time, actions: &mut Vec<Action>) {
        let away_ns = now.since(std::mem::replace(&mut self.looked, now));
        if away_ns < AWAY_NS {
            return;
        }
        let heard = self.parts.iter_mut().map(|part| &mut part.heard);
        let stopping = self.stopping.iter_mut().map(|(_, at)| at);
        let others = [&mut self.until, &mut self.progress.1];
        for at in heard.chain(stopping).chain(others) {
            *at = at.plus(away_ns);
        }
        if matches!(self.phase, Phase::Running | Phase::Closing) {
            let away_s = away_ns as f64 / 1e9;
            self.note(
                format!(
                    "the coordinator stood still for {away_s:.1} s: agents that it was silent to \
                     for too long have ended their load"
                ),
                actions,
            );
        }
    }

    /// Somebody wants the run to end.
    fn stop_asked(&mut self, now: Time) {
        match self.phase {
            Phase::Running => self.stop(Stop::Asked, now),
            Phase::Claiming | Phase::Gathering | Phase::Preparing | Phase::Clocks => {
                self.fail("it was stopped before the load began".to_owned(), now);
            }
            // Whoever is still loading is stopped once that is known.
            Phase::Recalling => self.stop(Stop::Asked, now),
            _ => {}
        }
        self.pulse = now;
    }

    /// Has the load ended, once.
    fn stop(&mut self, why: Stop, now: Time) {
        if self.stopping.is_none() {
            self.stopping = Some((why, now));
            self.told = None;
            self.pulse = now;
        }
    }

    /// Nothing will come of the run, because of this; nothing was sent.
    fn fail(&mut self, why: String, now: Time) {
        self.enter(Phase::Failing(Some(why)), FAIL_NS, now);
    }

    fn enter(&mut self, phase: Phase, lasts_ns: u64, now: Time) {
        self.phase = phase;
        self.until = now.plus(lasts_ns);
        (self.told, self.pulse) = (None, now);
        self.parts.iter_mut().for_each(|part| part.told = None);
    }

    /// Does what is due.
    fn look(&mut self, now: Time, actions: &mut Vec<Action>) {
        // A phase that has just begun has its turn at once.
        for _ in 0..4 {
            self.pulse = now.plus(PULSE_NS);
            match &self.phase {
                Phase::Claiming => self.claim(now, actions),
                Phase::Recalling => self.recall(now, actions),
                Phase::Gathering => self.gather(now, actions),
                Phase::Preparing => self.prepare(now, actions),
                Phase::Clocks => self.compare_clocks(now, actions),
                Phase::Running => self.run(now, actions),
                Phase::Closing => self.close(now, actions),
                Phase::Keeping => {}
                Phase::Confirming => self.confirm(now, actions),
                Phase::Failing(why) => self.end_failed(why.clone(), now, actions),
                Phase::Over => return,
            }
            if self.pulse > now {
                break;
            }
        }
        self.beat(now, actions);
    }

    /// Says that it is there, to whoever is in the run.
    fn beat(&mut self, now: Time, actions: &mut Vec<Action>) {
        let is_at_work = !matches!(self.phase, Phase::Claiming | Phase::Recalling | Phase::Over);
        if is_at_work && now >= self.beat_due {
            self.beat_due = now.plus(BEAT_NS);
            self.say_to_all(Order::Beat, actions);
        }
    }

    fn hear(&mut self, bytes: &[u8], now: Time, actions: &mut Vec<Action>) {
        let heard = match decode(bytes) {
            Ok(heard) => heard,
            Err(why) => {
                self.unread += 1;
                if matches!(why, Unread::OtherVersion { .. }) {
                    self.note(why.to_string(), actions);
                }
                return;
            }
        };
        match heard.said {
            Said::Order { run, epoch, order } if run == self.settings.run => {
                self.hear_rival(epoch, &order, actions);
            }
            Said::Report { run, from, report } if run == self.settings.run => match report {
                Report::Hello { workers } => {
                    self.welcome(from, workers, &heard.program, now, actions);
                }
                Report::Busy { run } => self.is_busy(from, run, actions),
                Report::Left { why } => self.left(&from, &why, now, actions),
                Report::Halted => self.halted(&from, now, actions),
                report => self.take(from, report, now, actions),
            },
            _ => {}
        }
    }

    /// What is noted once.
    fn note(&mut self, what: String, actions: &mut Vec<Action>) {
        if self.findings.len() < LIST_MAX && !self.findings.contains(&what) {
            self.findings.push(what.clone());
            actions.push(Action::Note(what));
        }
    }

    /// Another coordinator speaks.
    fn hear_rival(&mut self, epoch: Epoch, order: &Order, actions: &mut Vec<Action>) {
        if epoch == self.settings.epoch {
            return;
        }
        let is_at_work = !matches!(self.phase, Phase::Claiming | Phase::Recalling);
        match order {
            // Of two that want it at the same time, the first one gets it.
            Order::Claim if is_at_work || epoch > self.settings.epoch => {
                let subject = Subject::Coordinator(self.settings.run.clone());
                self.say(subject, Order::Taken, actions);
            }
            Order::Claim | Order::Taken if !is_at_work => self.give_way(epoch, actions),
            _ => {}
        }
    }

    /// Another coordinator has the run.
    fn give_way(&mut self, epoch: Epoch, actions: &mut Vec<Action>) {
        self.phase = Phase::Over;
        actions.push(Action::Over(End::Taken(epoch)));
    }

    /// An agent reports.
    fn take(&mut self, from: Member, report: Report, now: Time, actions: &mut Vec<Action>) {
        if let Report::Follows { epoch } = report {
            return self.take_follows(epoch, actions);
        }
        if matches!(report, Report::Standing { .. }) {
            return self.take_standing(from, report, now, actions);
        }
        let at_end = !matches!(self.phase, Phase::Preparing | Phase::Clocks);
        let Some(part) = self.parts.iter_mut().find(|part| part.member == from) else {
            return;
        };
        part.is_heard(now);
        match report {
            Report::Ready { plan, checks } => self.take_ready(&from, plan, &checks, now),
            Report::Pong {
                number, heard_ns, ..
            } => self.take_pong(&from, number, heard_ns, (at_end, now), actions),
            Report::Begun { at_ns } => part.begun = Some(Time(at_ns)),
            Report::Missed { late_ns } => {
                let (agent, late_ms) = (from.agent, late_ns / 1_000_000);
                let why = format!("agent {agent} heard {late_ms} ms too late of when to begin");
                self.not_begun(why, now, actions);
            }
            Report::Alive { count } => part.knows(count),
            Report::Interval {
                number,
                chain,
                totals,
                payload,
            } => {
                part.take(number, chain, totals, payload);
                let mut linked = std::mem::take(&mut part.linked).into_iter();
                if let Err(why) = linked.try_for_each(|interval| self.course.add(interval)) {
                    self.note(why, actions);
                }
            }
            Report::Moved { turn } => {
                part.moving = part.moving.filter(|wanted| *wanted > turn);
            }
            last @ Report::Last { .. } => {
                part.take_last(last);
                self.pulse = now;
            }
            Report::Released => {
                part.is_released = true;
                self.pulse = now;
            }
            Report::Hello { .. }
            | Report::Busy { .. }
            | Report::Left { .. }
            | Report::Halted
            | Report::Here { .. }
            | Report::Follows { .. }
            | Report::Standing { .. } => {}
        }
    }

    /// An agent has looked at its plan.
    fn take_ready(&mut self, from: &Member, plan: Digest, checks: &[Check], now: Time) {
        let is_awaited = self.phase == Phase::Preparing && plan == self.digest;
        let parts = &mut self.parts;
        let part = parts.iter_mut().find(|part| part.member == *from);
        let Some(part) = part.filter(|_| is_awaited) else {
            return;
        };
        part.is_ready = true;
        self.pulse = now;
        if let Some(fault) = checks.iter().find_map(|check| check.fault.as_ref()) {
            self.fail(
                format!("agent {} can't take part: {fault}", from.agent),
                now,
            );
        }
    }

    fn take_pong(
        &mut self,
        from: &Member,
        number: u32,
        heard_ns: u64,
        (at_end, now): (bool, Time),
        actions: &mut Vec<Action>,
    ) {
        let Some(part) = self.parts.iter_mut().find(|part| part.member == *from) else {
            return;
        };
        if !part.clock.pong(number, heard_ns, now, at_end) {
            return;
        }
        if part.clock.is_done(at_end) {
            self.pulse = now;
        } else if let Some(order) = part.clock.ping(&part.member, now) {
            self.say(Subject::Agent(from.agent.clone()), order, actions);
        }
    }

    /// An agent follows another coordinator.
    fn take_follows(&mut self, epoch: Epoch, actions: &mut Vec<Action>) {
        if epoch > self.settings.epoch {
            // It was taken for dead, and another one has come since.
            match self.phase {
                Phase::Keeping | Phase::Confirming | Phase::Failing(_) => {}
                _ => self.give_way(epoch, actions),
            }
        } else if epoch < self.settings.epoch {
            self.rival = Some(epoch);
        }
    }

    fn say(&self, subject: Subject, order: Order, actions: &mut Vec<Action>) {
        say(&self.settings, subject, order, actions);
    }

    fn say_to_all(&self, order: Order, actions: &mut Vec<Action>) {
        self.say(Subject::Agents(self.settings.run.clone()), order, actions);
    }

    /// Whether something that is said to all is due, which it then is in so long again.
    fn is_due(&mut self, every_ns: u64, now: Time) -> bool {
        let is_due = self.told.is_none_or(|told| now.since(told) >= every_ns);
        if is_due {
            self.told = Some(now);
        }
        is_due
    }
}

/// Says something as the coordinator of these settings.
fn say(settings: &Settings, subject: Subject, order: Order, actions: &mut Vec<Action>) {
    let said = Said::Order {
        run: settings.run.clone(),
        epoch: settings.epoch,
        order,
    };
    match encode(&settings.program, &said) {
        Ok(bytes) => actions.push(Action::Send(subject, bytes)),
        Err(long) => actions.push(Action::Note(format!(
            "a message of {} bytes is too long to be sent",
            long.bytes
        ))),
    }
}

/// Says something to one agent.
fn tell(settings: &Settings, agent: &AgentName, order: Order, actions: &mut Vec<Action>) {
    say(settings, Subject::Agent(agent.clone()), order, actions);
}

fn check(settings: &Settings) -> Result<(), Invalid> {
    if settings.agents == 0 {
        return Err(Invalid("a fleet needs at least one agent".into()));
    }
    let workers = settings.workers.unwrap_or(settings.agents);
    if workers < settings.agents {
        let agents = settings.agents;
        return Err(Invalid(format!(
            "{workers} threads can't be divided among {agents} agents: use at least {agents} \
             threads (-t)"
        )));
    }
    if settings.plan.len() > PLAN_MAX || settings.data.len() > LIST_MAX {
        return Err(Invalid(format!(
            "the plan has {} bytes and {} data files, and agents take at most {PLAN_MAX} bytes and \
             {LIST_MAX} files",
            settings.plan.len(),
            settings.data.len()
        )));
    }
    Ok(())
}

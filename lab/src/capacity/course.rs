//! The searches at work: whose turn it is, rests, fresh starts, and one probe after the other.
//!
//! Which rate is tried and what it means is not decided here.

use std::time::Duration;

use load::check::Threshold;
use load::schedule::Schedule;
use load::{Plan, Record, Stop};
use measure::record::EndedBy;
use measure::time::{Time, sleep_until, unix_seconds};

use super::finding::{Point, RowCapacity};
use super::scaling::{self, Scaling};
use super::search::{Found, Kind, Limits, Probe, Search, Step};
use super::{Goal, PROBES_USUAL, slo};
use crate::event::{Event, Observer};
use crate::live::{Setting, Trouble};
use crate::report::format::per_second;
use crate::rounds::run::{self, At};
use crate::rounds::{Entry, State, lower};
use crate::sample::Sample;
use crate::store::Store;
use crate::validity;

/// One rest of a subject after it has failed.
const REST: Duration = Duration::from_millis(500);
/// Waiting looks so often whether somebody asked to stop.
const LOOK: Duration = Duration::from_millis(20);
/// At low rates a window lasts until its conditions can be judged, up to so many times what was
/// asked for.
const WINDOWS_MAX: f64 = 10.0;
/// A subject that dies so often is given up.
const DEATHS_MAX: u32 = 5;

/// One search and whose it is.
pub(super) struct Seeker {
    name: String,
    who: Who,
    search: Search,
    points: Vec<Point>,
    found: Option<Found>,
    scaling: Option<Scaling>,
    failed: Option<(String, Vec<String>)>,
    deaths: u32,
    /// When its last probe was over.
    idle_since: Time,
}

/// Whose capacity is searched.
enum Who {
    Target(Box<Plan>),
    Row(Box<Entry>),
}

impl Seeker {
    pub(super) fn target(name: String, plan: Plan, limits: Limits) -> Seeker {
        Seeker::new(name, Who::Target(Box::new(plan)), limits)
    }

    pub(super) fn row(entry: Entry, limits: Limits) -> Seeker {
        Seeker::new(entry.row.name.clone(), Who::Row(Box::new(entry)), limits)
    }

    fn new(name: String, who: Who, limits: Limits) -> Seeker {
        let failed = match &who {
            Who::Target(_) => None,
            Who::Row(entry) => trouble(entry),
        };
        Seeker {
            name,
            who,
            search: Search::new(limits),
            points: Vec::new(),
            found: None,
            scaling: None,
            failed,
            deaths: 0,
            idle_since: Time::default(),
        }
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// How many probes there were.
    pub(super) fn probes(&self) -> u32 {
        self.points.len() as u32
    }

    fn is_open(&self) -> bool {
        self.found.is_none() && self.failed.is_none()
    }

    /// The load without rate and length; none where the subject does not serve.
    pub(super) fn plan(&self) -> Option<&Plan> {
        match &self.who {
            Who::Target(plan) => Some(plan),
            Who::Row(entry) => match &entry.state {
                State::Live(live) => Some(&live.plan),
                _ => None,
            },
        }
    }

    fn fail(&mut self, what: String, log: Vec<String>) {
        if let Who::Row(entry) = &mut self.who {
            lower(std::slice::from_mut(&mut **entry));
        }
        self.failed = Some((what, log));
    }

    /// A sentence about processes of it that were still there when they should have ended.
    pub(super) fn left_behind(&self) -> Option<String> {
        let Who::Row(entry) = &self.who else {
            return None;
        };
        let sentence = validity::rows::left(&entry.left_behind)?;
        Some(format!("{}: {sentence}.", self.name))
    }

    pub(super) fn into_row(self) -> RowCapacity {
        let (description, version) = match &self.who {
            Who::Target(_) => (None, None),
            Who::Row(entry) => (
                Some(entry.row.subject.description.clone()),
                entry.version.clone(),
            ),
        };
        let tried = !self.points.is_empty();
        let (failed, log) = self.failed.unzip();
        RowCapacity {
            name: self.name,
            description,
            version,
            failed,
            log: log.unwrap_or_default(),
            found: self.found.or_else(|| tried.then(|| self.search.stop())),
            points: self.points,
            curve: Vec::new(),
            knee: None,
            no_knee: None,
            scaling: self.scaling,
        }
    }
}

/// Why a row cannot be measured at all, and what it wrote.
fn trouble(entry: &Entry) -> Option<(String, Vec<String>)> {
    match &entry.state {
        State::Missing(what) => Some((what.clone(), Vec::new())),
        State::Failed(what, log) => Some((what.clone(), log.clone())),
        _ => None,
    }
}

/// What a probe, or a run of a scaling, brought.
pub(super) enum Ran {
    Measured(Box<Record>, Option<Box<Sample>>),
    /// The subject died of it.
    Died(String),
}

/// All that the searches need.
pub(super) struct Course<'a> {
    pub(super) goal: &'a Goal,
    /// How rows are started; none for a target that is there already.
    setting: Option<Setting<'a>>,
    stop: &'a Stop,
    pub(super) store: &'a mut Store,
    pub(super) observer: &'a mut dyn Observer,
    /// The engine that the generator ran on, and why.
    pub(super) engine: Option<String>,
}

impl<'a> Course<'a> {
    pub(super) fn new(
        goal: &'a Goal,
        setting: Option<Setting<'a>>,
        stop: &'a Stop,
        store: &'a mut Store,
        observer: &'a mut dyn Observer,
    ) -> Course<'a> {
        Course {
            goal,
            setting,
            stop,
            store,
            observer,
            engine: None,
        }
    }

    /// How long one search takes, about.
    pub(super) fn expected_seconds(&self) -> f64 {
        let one = (self.goal.window + self.goal.settle).as_secs_f64() + 0.2;
        PROBES_USUAL * one + scaling::runs(self.goal) as f64 * one
    }

    /// Searches until all are done, or somebody asks to stop. Nothing that was started is alive
    /// afterwards.
    pub(super) fn run(&mut self, seekers: &mut [Seeker]) {
        while seekers.iter().any(Seeker::is_open) && !self.stopped() {
            for seeker in seekers.iter_mut().filter(|seeker| seeker.is_open()) {
                self.step(seeker);
            }
        }
        for seeker in &mut *seekers {
            if seeker.failed.is_none() && !self.goal.scaling.is_empty() && !self.stopped() {
                seeker.scaling = self.scale(seeker);
            }
        }
        for seeker in seekers {
            if let Who::Row(entry) = &mut seeker.who {
                lower(std::slice::from_mut(&mut **entry));
            }
        }
    }

    pub(super) fn stopped(&self) -> bool {
        self.stop.requested().is_some()
    }

    /// One probe of one search, or its end.
    fn step(&mut self, seeker: &mut Seeker) {
        let probe = match seeker.search.step() {
            Step::Probe(probe) => probe,
            Step::Done(found) => {
                seeker.found = Some(found);
                return;
            }
        };
        let number = seeker.points.len() as u32 + 1;
        self.rest(seeker.idle_since + REST * probe.rests);
        if self.stopped() {
            return;
        }
        self.observer.event(&Event::Probing {
            subject: &seeker.name,
            probe: number,
            rate: probe.rate,
        });
        if let Err(trouble) = self.make_ready(seeker, probe.kind == Kind::Confirm) {
            return give_up(seeker, trouble);
        }
        let Some(plan) = seeker
            .plan()
            .map(|plan| self.plan(plan, probe.rate, number))
        else {
            return;
        };
        let when = format!("at {}", per_second(probe.rate));
        match self.load(seeker, &plan, number, &when) {
            Err(trouble) => give_up(seeker, trouble),
            Ok(ran) => self.take(seeker, probe, number, ran),
        }
    }

    /// Counts what a probe brought.
    fn take(&mut self, seeker: &mut Seeker, probe: Probe, number: u32, ran: Ran) {
        let point = match ran {
            Ran::Measured(record, sample) => {
                let judgement = slo::judge(&self.goal.slo, &record);
                Point::new(number, probe, &record, sample.as_deref(), judgement)
            }
            Ran::Died(what) => {
                seeker.deaths += 1;
                Point::died(number, probe, what)
            }
        };
        seeker.search.answer(point.verdict.clone());
        seeker.idle_since = Time::now();
        self.observer.event(&Event::Probed {
            subject: &seeker.name,
            probe: number,
            rate: probe.rate,
            held: point.held(),
        });
        seeker.points.push(point);
        if seeker.deaths >= DEATHS_MAX {
            let what = format!("died {DEATHS_MAX} times under load, and was given up");
            give_up(seeker, Trouble::Failed(what, Vec::new()));
        }
    }

    /// Has the subject serve: it is started if it does not, and anew if it shall be fresh.
    pub(super) fn make_ready(&mut self, seeker: &mut Seeker, fresh: bool) -> Result<(), Trouble> {
        let (Who::Row(entry), Some(setting)) = (&mut seeker.who, &mut self.setting) else {
            return Ok(());
        };
        if fresh {
            lower(std::slice::from_mut(&mut **entry));
        }
        if let State::Waiting = entry.state {
            setting.start += 1;
        }
        entry.raise(setting, self.observer);
        match (&entry.state, trouble(entry)) {
            (_, Some((what, log))) => Err(Trouble::Failed(what, log)),
            (State::Live(_), None) => Ok(()),
            _ => Err(Trouble::Stopped),
        }
    }

    /// One run, and its record written down.
    pub(super) fn load(
        &mut self,
        seeker: &mut Seeker,
        plan: &Plan,
        number: u32,
        when: &str,
    ) -> Result<Ran, Trouble> {
        let began_unix_s = unix_seconds();
        let (record, watched) = match (&mut seeker.who, &self.setting) {
            (Who::Row(entry), Some(setting)) => {
                let State::Live(live) = &mut entry.state else {
                    return Err(Trouble::Stopped);
                };
                match run::run(live, plan, setting, when) {
                    Ok((record, watched)) => (record, Some(watched)),
                    Err(Trouble::Failed(what, _)) if live.process.exited().is_some() => {
                        lower(std::slice::from_mut(&mut **entry));
                        return Ok(Ran::Died(what));
                    }
                    Err(trouble) => return Err(trouble),
                }
            }
            _ => (self.load_target(plan, when)?, None),
        };
        let generator = &record.generator;
        self.engine = Some(format!("{}: {}", generator.engine, generator.engine_reason));
        let setting = self.setting.as_ref();
        let is_subject = watched.is_some();
        let round = run::Ran::of(record.clone(), watched.unwrap_or_default()).round(At {
            row: file_name(&seeker.who),
            round: number,
            start: setting.map_or(1, |setting| setting.start),
            began_unix_s,
            others_busy: 0.0,
            cores: setting.map_or(1, |setting| setting.placement.server.len()),
        });
        self.store.keep(&round);
        Ok(Ran::Measured(
            Box::new(record),
            is_subject.then(|| Box::new(round.sample)),
        ))
    }

    fn load_target(&self, plan: &Plan, when: &str) -> Result<Record, Trouble> {
        match load::run(plan, self.stop, &mut |_| ()) {
            Ok(record) if matches!(record.ended_by, EndedBy::Interrupt | EndedBy::Terminate) => {
                Err(Trouble::Stopped)
            }
            Ok(record) => Ok(record),
            Err(error) => {
                let what = format!("could not be loaded {when}: {error}");
                Err(Trouble::Failed(what, Vec::new()))
            }
        }
    }

    /// The load of one probe.
    fn plan(&self, base: &Plan, rate: f64, number: u32) -> Plan {
        let goal = self.goal;
        let needed_s = exchanges_needed(&goal.slo) / rate;
        let window_s = goal.window.as_secs_f64();
        Plan {
            schedule: Schedule::open(rate, goal.arrivals),
            duration_s: Some(needed_s.clamp(window_s, WINDOWS_MAX * window_s)),
            count: None,
            warm_up_s: goal.settle.as_secs_f64(),
            seed: goal.seed.wrapping_add(u64::from(number)),
            ..base.clone()
        }
    }

    /// Waits, unless somebody asks to stop.
    fn rest(&self, until: Time) {
        while Time::now() < until && !self.stopped() {
            sleep_until(until.min(Time::now() + LOOK));
        }
    }
}

/// Exchanges that a window must bring for its conditions to be judged. Poisson arrivals bring a
/// tenth fewer now and then.
fn exchanges_needed(slo: &[Threshold]) -> f64 {
    1.1 * slo::exchanges_min(slo) as f64
}

/// The lowest rate that can be judged, exchanges per second: below it even the longest window
/// brings too few.
pub(super) fn lowest_rate(slo: &[Threshold], window: Duration) -> f64 {
    exchanges_needed(slo) / (WINDOWS_MAX * window.as_secs_f64())
}

fn give_up(seeker: &mut Seeker, trouble: Trouble) {
    // A wish to stop is seen by whoever asks for the next step.
    if let Trouble::Failed(what, log) = trouble {
        seeker.fail(what, log);
    }
}

/// Names the folder of its records.
fn file_name(who: &Who) -> &str {
    match who {
        Who::Target(_) => "target",
        Who::Row(entry) => &entry.row.name,
    }
}

//! The searches at work: whose turn it is, rests, fresh starts, and one probe after the other.
//!
//! Which rate is tried and what it means is not decided here.

mod scale;

use std::time::Duration;

use lab::event::{Event, Observer};
use lab::rounds::run::{self, At};
use lab::rounds::{Entry, State, lower};
use lab::sample::Sample;
use lab::store::Store;
use lab::validity;
use load::schedule::Schedule;
use load::{LoadError, Plan, Record, Stop};
use measure::record::EndedBy;
use measure::time::{Time, sleep_until, unix_seconds};
use statistics::format::per_second;
use supervisor::loads::Loads;
use supervisor::setting::{Setting, Trouble};

use super::connections::{Added, Connections, MOST, Seen};
use super::expected::{self, Pace};
use super::finding::{Point, RowCapacity};
use super::scaling::{self, Scaling};
use super::search::{Found, Kind, Limits, Probe, Search, Step, Verdict};
use super::slo::Wrong;
use super::{Elsewhere, Goal, flows, slo};

/// One rest of a subject after it has failed.
const REST: Duration = Duration::from_millis(500);
/// Waiting looks so often whether somebody asked to stop.
const LOOK: Duration = Duration::from_millis(20);
/// Below this share of wrong answers a low rate has too few to compare them.
const WRONG_MIN: f64 = 0.01;
/// Requests that a window has at the lowest rate at which they're compared.
const COMPARED: f64 = 100.0;
/// That rate is at most this share of the one that failed.
const MUCH_LOWER: f64 = 0.25;
/// At low rates a window lasts until its conditions can be judged, up to so many times what was
/// asked for.
const WINDOWS_MAX: f64 = 10.0;
/// What goes by around a window besides: connections open, and the last answers come.
const AROUND: Duration = Duration::from_millis(200);
/// A subject that dies so often is given up.
const DEATHS_MAX: u32 = 5;

/// One search and whose it is.
pub(super) struct Seeker {
    name: String,
    who: Who,
    search: Search,
    connections: Connections,
    /// The rate that could not be tried over more of them, and why.
    no_more: Option<(f64, String)>,
    points: Vec<Point>,
    found: Option<Found>,
    scaling: Option<Scaling>,
    failed: Option<(String, Vec<String>)>,
    deaths: u32,
    /// When its last probe was over.
    idle_since: Time,
    pace: Pace,
    /// Answers of its last probe that weren't as expected.
    wrong: Option<Wrong>,
    /// Whether a much lower rate was tried because of them.
    asked_lower: bool,
    /// How long a user alone takes for a flow, once that is known.
    flow: Option<Duration>,
}

/// Whose capacity is searched.
enum Who {
    Target(Box<Plan>),
    Row(Box<Entry>),
}

impl Seeker {
    /// Of a target over the plan's connections, and over more where they help unless their number
    /// is `given`.
    pub(super) fn target(name: String, plan: Plan, given: bool, limits: Limits) -> Seeker {
        let connections = Connections::new(plan.connections, given, MOST);
        Seeker::new(name, Who::Target(Box::new(plan)), connections, limits)
    }

    pub(super) fn row(entry: Entry, limits: Limits) -> Seeker {
        let connections = Connections::new(entry.row.workload.connections.get(), true, MOST);
        let name = entry.row.name.clone();
        Seeker::new(name, Who::Row(Box::new(entry)), connections, limits)
    }

    fn new(name: String, who: Who, connections: Connections, limits: Limits) -> Seeker {
        let failed = match &who {
            Who::Target(_) => None,
            Who::Row(entry) => trouble(entry),
        };
        Seeker {
            name,
            who,
            search: Search::new(limits),
            connections,
            no_more: None,
            points: Vec::new(),
            found: None,
            scaling: None,
            failed,
            deaths: 0,
            idle_since: Time::default(),
            pace: Pace::default(),
            wrong: None,
            asked_lower: false,
            flow: None,
        }
    }

    /// The same, whose flow takes a user so long.
    pub(super) fn of_flow(mut self, flow: Option<Duration>) -> Seeker {
        self.flow = flow;
        self
    }

    /// Whether its streams went on for longer than anybody listened.
    pub(super) fn is_endless(&self) -> bool {
        self.flow == Some(Duration::ZERO)
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

    /// How many connections the search came to, where it was free to choose.
    pub(super) fn connections_found(&self) -> Option<u32> {
        (!self.connections.is_given()).then(|| self.connections.now())
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
        let found = self.found.or_else(|| tried.then(|| self.search.stop()));
        // What was seen at another rate says nothing of the edge.
        let edge = found.as_ref().and_then(|found| found.failed);
        let at_the_edge = |rate: f64| edge.is_some_and(|edge| edge.rate == rate);
        let limited = self
            .connections
            .limited()
            .filter(|limited| at_the_edge(limited.rate));
        let no_more = self
            .no_more
            .filter(|(rate, _)| limited.is_some_and(|limited| limited.rate == *rate));
        let (failed, log) = self.failed.unzip();
        RowCapacity {
            name: self.name,
            description,
            version,
            failed,
            log: log.unwrap_or_default(),
            found,
            connections: tried.then(|| self.connections.now()),
            limited_by_connections: limited,
            no_more_connections: no_more.map(|(_, why)| why),
            points: self.points,
            curve: Vec::new(),
            steps: Vec::new(),
            knee: None,
            no_knee: None,
            scaling: self.scaling,
            streams_at_once: None,
        }
    }
}

/// Why a row cannot be measured at all, and what it wrote.
fn trouble(entry: &Entry) -> Option<(String, Vec<String>)> {
    match &entry.state {
        State::Missing(what) | State::Cannot(what) => Some((what.clone(), Vec::new())),
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
    /// Who sends loads; none: this process.
    pub(super) elsewhere: Option<Elsewhere<'a>>,
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
            elsewhere: None,
            stop,
            store,
            observer,
            engine: None,
        }
    }

    /// How long all searches take at least and at most, about, before anything is known.
    pub(super) fn expected_seconds(&self, seekers: &[Seeker]) -> (f64, f64) {
        let runs = f64::from(scaling::runs(self.goal));
        let each = seekers.iter().filter(|seeker| seeker.is_open());
        each.fold((0.0, 0.0), |(least, most), seeker| {
            let scaling = runs * self.seconds_of(seeker.flow, None);
            let (low, high) = self.left(seeker, Pace::default());
            (least + low + scaling, most + high + scaling)
        })
    }

    /// How long a search still takes at least and at most.
    fn left(&self, seeker: &Seeker, pace: Pace) -> (f64, f64) {
        let (search, flow) = (&seeker.search, seeker.flow);
        expected::seconds(search, &self.goal.limits, pace, |probe| {
            let rests = REST.as_secs_f64() * f64::from(probe.rests);
            self.seconds_of(flow, Some(probe.rate)) + rests
        })
    }

    /// How long a probe of `rate` takes, or a run that has none.
    fn seconds_of(&self, flow: Option<Duration>, rate: Option<f64>) -> f64 {
        let (settle_s, window_s) = self.lengths(flow, rate);
        let around = self.elsewhere.map_or(AROUND, |there| there.around);
        settle_s + window_s + around.as_secs_f64()
    }

    /// Settling and window of such a load, in seconds.
    fn lengths(&self, flow: Option<Duration>, rate: Option<f64>) -> (f64, f64) {
        let goal = self.goal;
        let window_s = rate.map_or(goal.window.as_secs_f64(), |rate| window_s(goal, rate));
        flows::lengths(
            flow.unwrap_or_default(),
            (goal.settle.as_secs_f64(), window_s),
        )
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
        let number = seeker.probes() + 1;
        let left = self.left(seeker, seeker.pace).1;
        self.rest(seeker.idle_since + REST * probe.rests);
        if self.stopped() {
            return;
        }
        self.observer.event(&Event::Probing {
            subject: &seeker.name,
            probe: number,
            rate: probe.rate,
            left: Some(left),
        });
        let began = Time::now();
        if let Err(trouble) = self.make_ready(seeker, probe.kind == Kind::Confirm) {
            return give_up(seeker, trouble);
        }
        match self.probe(seeker, probe.rate, seeker.connections.now()) {
            Err(trouble) => give_up(seeker, trouble),
            Ok(ran) => {
                let took_s = Time::now().since(began) as f64 / 1e9;
                let meant_s = self.seconds_of(seeker.flow, Some(probe.rate));
                seeker.pace.took(took_s, meant_s);
                self.take(seeker, probe, ran);
            }
        }
    }

    /// Loads a subject at `rate` over so many connections.
    fn probe(&mut self, seeker: &mut Seeker, rate: f64, connections: u32) -> Result<Ran, Trouble> {
        let number = seeker.probes() + 1;
        let Some(base) = seeker.plan() else {
            return Err(Trouble::Stopped);
        };
        let plan = Plan {
            connections,
            ..self.plan((base, seeker.flow), rate, number)
        };
        let when = match connections == seeker.connections.now() {
            true => format!("at {}", per_second(rate)),
            false => format!("at {} over {connections} connections", per_second(rate)),
        };
        self.load(seeker, &plan, number, &when)
    }

    /// Counts what a probe brought.
    fn take(&mut self, seeker: &mut Seeker, probe: Probe, ran: Ran) {
        let (seen, verdict) = self.keep(seeker, probe, ran);
        if verdict != Verdict::Pass && self.is_wrong_anyhow(seeker, probe) {
            return;
        }
        let at = seeker.points.len() - 1;
        // Where somebody asked to stop it is not known what more would do.
        let Some(added) = self.with_more(seeker, probe, seen) else {
            return;
        };
        let verdict = match added {
            Added::Fails => verdict,
            // At the edge it fails over the connections that were given, whatever more would do.
            Added::Unknown if seeker.connections.is_given() => verdict,
            Added::Unknown => unknown(
                &mut seeker.points[at],
                "we don't know whether more would help",
            ),
            Added::Holds => {
                unknown(&mut seeker.points[at], "the rate holds with more");
                Verdict::Pass
            }
        };
        seeker.search.answer(verdict);
        if seeker.deaths >= DEATHS_MAX {
            let what = format!("died {DEATHS_MAX} times under load, so its search was abandoned");
            give_up(seeker, Trouble::Failed(what, Vec::new()));
        }
    }

    /// Keeps what a probe brought as a point.
    fn keep(&mut self, seeker: &mut Seeker, probe: Probe, ran: Ran) -> (Seen, Verdict) {
        let number = seeker.probes() + 1;
        let (point, by_connections) = match ran {
            Ran::Measured(record, sample) => {
                let judgement = slo::judge(&self.goal.slo, &record);
                let by_connections = judgement.by_connections;
                seeker.wrong = judgement.wrong.clone();
                let point = Point::new(number, probe, &record, sample.as_deref(), judgement);
                (point.held_against(&self.goal.slo, &record), by_connections)
            }
            Ran::Died(what) => {
                seeker.deaths += 1;
                seeker.wrong = None;
                (Point::died(number, probe, what), false)
            }
        };
        seeker.idle_since = Time::now();
        self.observer.event(&Event::Probed {
            subject: &seeker.name,
            probe: number,
            rate: probe.rate,
            held: point.held(),
            achieved: point.achieved,
            p50_us: point.p50_us,
            p99_us: point.p99_us,
            why: &point.why,
        });
        let seen = Seen {
            held: point.held(),
            by_connections,
            achieved: point.achieved,
            p99_us: point.p99_us,
        };
        let verdict = point.verdict.clone();
        seeker.points.push(point);
        (seen, verdict)
    }

    /// What a rate that failed for want of connections comes to with more of them; none where
    /// somebody asked to stop.
    fn with_more(&mut self, seeker: &mut Seeker, probe: Probe, seen: Seen) -> Option<Added> {
        let mut connections = seeker.connections.clone();
        let edge = probe.kind == Kind::Confirm;
        let added = connections.add((probe.rate, edge), seen, |more| {
            self.rest(Time::now() + REST);
            if self.stopped() {
                return Err(Trouble::Stopped);
            }
            self.observer.event(&Event::MoreConnections {
                subject: &seeker.name,
                connections: more,
                rate: probe.rate,
            });
            let ran = self.probe(seeker, probe.rate, more)?;
            let kind = Kind::Connections;
            let (seen, _) = self.keep(seeker, Probe { kind, ..probe }, ran);
            Ok(seen)
        });
        let added = match added {
            Ok(added) => added,
            Err(Trouble::Stopped) => return None,
            Err(Trouble::Failed(what, _)) => {
                seeker.no_more = Some((probe.rate, what));
                Added::Fails
            }
        };
        seeker.connections = connections;
        if let Some(point) = seeker.points.last_mut()
            && added == Added::Holds
        {
            // It stands for the probe that had too few.
            point.kind = probe.kind;
        }
        Some(added)
    }

    /// Where nothing has held yet, and answers are wrong: whether as many of them are at a much
    /// lower rate, which ends the search. Asked once.
    fn is_wrong_anyhow(&mut self, seeker: &mut Seeker, probe: Probe) -> bool {
        let limits = &self.goal.limits;
        let wrong = seeker
            .wrong
            .take()
            .filter(|wrong| wrong.share() >= WRONG_MIN);
        let is_new = !seeker.asked_lower && seeker.search.bracket().0.is_none();
        let Some(wrong) = wrong.filter(|_| is_new) else {
            return false;
        };
        let enough = COMPARED / self.goal.window.as_secs_f64();
        let rate = enough.min(MUCH_LOWER * probe.rate).max(limits.lowest);
        if rate > probe.rate / 2.0 {
            return false;
        }
        seeker.asked_lower = true;
        self.rest(Time::now() + REST);
        if self.stopped() {
            return false;
        }
        self.observer.event(&Event::Probing {
            subject: &seeker.name,
            probe: seeker.probes() + 1,
            rate,
            left: None,
        });
        let ran = match self.probe(seeker, rate, seeker.connections.now()) {
            Err(trouble) => {
                give_up(seeker, trouble);
                return true;
            }
            Ok(ran) => ran,
        };
        let kind = Kind::Answers;
        let (_, verdict) = self.keep(
            seeker,
            Probe {
                rate,
                kind,
                ..probe
            },
            ran,
        );
        let lower = seeker.wrong.take();
        let same = lower.filter(|lower| verdict != Verdict::Pass && wrong.is_same_at(lower));
        if let Some(lower) = &same {
            seeker.found = Some(seeker.search.wrong_answers(rate, lower.what()));
        }
        same.is_some()
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
        let flow = match (&entry.state, trouble(entry)) {
            (_, Some((what, log))) => return Err(Trouble::Failed(what, log)),
            (State::Live(live), None) if seeker.flow.is_none() => {
                flows::tried(&live.plan, self.goal.window.as_secs_f64())
            }
            (State::Live(_), None) => return Ok(()),
            _ => return Err(Trouble::Stopped),
        };
        seeker.flow = flow.map_err(|what| Trouble::Failed(what, Vec::new()))?;
        Ok(())
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
                    Err(Trouble::Failed(what, _)) if live.process.ended_in_words().is_some() => {
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

    fn load_target(&mut self, plan: &Plan, when: &str) -> Result<Record, Trouble> {
        let loads = self.elsewhere.map_or(Loads::HERE, |there| there.loads);
        match loads.send(plan, self.stop, &mut |_| ()) {
            Ok(record) if matches!(record.ended_by, EndedBy::Interrupt | EndedBy::Terminate) => {
                Err(Trouble::Stopped)
            }
            Ok(record) => Ok(record),
            Err(LoadError::Interrupted(_)) => Err(Trouble::Stopped),
            Err(error) => {
                let what = format!("couldn't be loaded {when}: {error}");
                Err(Trouble::Failed(what, Vec::new()))
            }
        }
    }

    /// The load of one probe.
    fn plan(&self, (base, flow): (&Plan, Option<Duration>), rate: f64, number: u32) -> Plan {
        let goal = self.goal;
        let (settle_s, window_s) = self.lengths(flow, Some(rate));
        Plan {
            schedule: match base.schedule {
                Schedule::Trace { .. } => base.schedule.in_part(Some(rate), settle_s + window_s),
                _ => Schedule::open(rate, goal.arrivals),
            },
            duration_s: Some(window_s),
            count: None,
            warm_up_s: settle_s,
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

/// How long a window at `rate` lasts.
fn window_s(goal: &Goal, rate: f64) -> f64 {
    let (needed_s, window_s) = (
        exchanges_needed(goal.exchanges_min) / rate,
        goal.window.as_secs_f64(),
    );
    needed_s.clamp(window_s, WINDOWS_MAX * window_s)
}

/// Exchanges that a window must bring for its conditions to be judged. Poisson arrivals bring a
/// tenth fewer now and then.
fn exchanges_needed(least: u64) -> f64 {
    1.1 * least as f64
}

/// The lowest rate that can be judged, exchanges per second: below it even the longest window
/// brings too few.
pub(super) fn lowest_rate(exchanges_min: u64, window: Duration) -> f64 {
    exchanges_needed(exchanges_min) / (WINDOWS_MAX * window.as_secs_f64())
}

/// Says of a point that it had too few connections to tell anything of the subject.
fn unknown(point: &mut Point, why: &str) -> Verdict {
    let connections = point.connections;
    let verdict = Verdict::Unknown(format!("{connections} connections were too few, and {why}"));
    point.verdict = verdict.clone();
    verdict
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

//! The highest rate at which a subject meets its objectives: the third way to compare, beside
//! throughput and a fixed rate.
//!
//! [`capacity`] searches it for a target by its URL, or for every row of a comparison, whose
//! searches take turns so that a drift of the machine is in all of them. Which rate comes next is
//! decided by [`search`], whether it held by `slo`; the load is that of an open loop, by default
//! with Poisson arrivals, because users do not arrive evenly and a queue forms long before an even
//! stream fills a server. Every probe has a seed of its own. Connections are added for as long as
//! they change something, unless their number is given ([`connections`]).
//!
//! What is found is an interval, [highest rate that held, lowest that failed], both confirmed; of a
//! comparison's rows on processes that were started for that. It isn't a confidence interval: it
//! says where the edge was in this hour on this machine. Where the generator could not send more,
//! or the highest rate that may be asked for held, it is a lower bound and is called one.
#![forbid(unsafe_code)]

#[cfg(test)]
extern crate self as capacity; // What other crates include, too, calls it by its name.

mod connections;
mod course;
mod expected;
mod finding;
mod flows;
pub mod formats;
mod scaling;
pub mod search;
#[cfg(test)]
#[path = "../../tests/searched.rs"]
mod searched;
mod slo;
mod streams;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use load::check::Threshold;
use load::plan::{Invalid, Workload};
use load::schedule::{Arrivals, Schedule};
use load::{Plan, Redaction, Signal, Stop};
use measure::host::Host;
use measure::time::unix_seconds;

pub use connections::Limited;
pub use finding::{
    Capacities, Conclusion, CurvePoint, Knee, Objective, Point, Ratio, Reach, RowCapacity,
    SCHEMA_VERSION, StepFound,
};
pub use scaling::{Scaling, ScalingPoint};

use lab::compare::{cautions, prepare, pressure_before, question};
use lab::comparison::Comparison;
use lab::event::{Event, Observer};
use lab::manifest::Role;
use lab::rounds::Entry;
use lab::store::Store;
use lab::{CannotBegin, End};
use statistics::format::per_second;
use statistics::usl::POINTS_MIN;
use supervisor::cache::Cache;
use supervisor::cores::{Moved, Placement};
use supervisor::loads::Loads;
use supervisor::row::Row;
use supervisor::setting::Setting;
use supervisor::workload;

use course::{Course, Seeker};
use search::{Limits, PRECISION_MAX, PRECISION_MIN};

/// Load before the window of each probe of a URL, while the connections open.
const SETTLE: Duration = Duration::from_millis(200);
/// The measured window of each probe of a URL, unless somebody says otherwise.
const WINDOW: Duration = Duration::from_secs(1);
/// Where the search begins, unless somebody says otherwise.
const FROM: f64 = 1000.0;
/// The same of flows.
const FROM_OF_FLOWS: f64 = 100.0;
/// So many times lower it is tried where that fails.
const LOWER_MAX: f64 = 1000.0;
/// The bracket's width, unless somebody says otherwise.
const PRECISION: f64 = 0.01;
/// Out of so many probes the majority decides, unless somebody says otherwise.
const REPEATS: u32 = 3;
/// So many confirm an edge.
const CONFIRMATIONS: u32 = 5;
/// A search that has not ended after so many is ended.
const PROBES_MAX: u32 = 200;
/// Different numbers of connections of one scaling.
const SCALING_MAX: usize = 64;

/// Of what, under which conditions, and how closely.
#[derive(Clone, Debug)]
pub struct Options {
    /// Whose capacity.
    pub whose: Whose,
    /// What must hold; empty: what the comparison's file says.
    pub slo: Vec<Threshold>,
    /// The rate that every capacity has to reach, for the reports; none: whatever is found will do.
    pub at_least: Option<f64>,
    /// The rate that is tried first; none: what the file says, or 1,000 a second.
    pub from: Option<f64>,
    /// The highest rate that may be tried; none: what the file says, or as far as it goes.
    pub to: Option<f64>,
    /// The measured window of each probe; none: what the file says, or a second.
    pub window: Option<Duration>,
    /// How narrow the interval shall be, as a share; none: 1 %.
    pub precision: Option<f64>,
    /// Out of how many probes of a rate the majority decides; none: 3.
    pub repeats: Option<u32>,
    /// How many probes confirm an edge; none: 5.
    pub confirmations: Option<u32>,
    /// How requests are spaced.
    pub arrivals: Arrivals,
    /// Numbers of connections whose throughput in a closed loop is put beside the law of
    /// scalability; may be empty.
    pub scaling: Vec<u32>,
    /// The output folder; none is `ringside-out/<UTC date>-<name>`.
    pub out: Option<PathBuf>,
    /// The program that `{ringside}` stands for: usually the one running now.
    pub ringside: PathBuf,
    /// The folder of subjects; none looks beside the file, above it and in the current folder.
    pub subjects: Option<PathBuf>,
    /// Where builds are kept; none is `ringside/builds` in the user's cache.
    pub cache: Option<PathBuf>,
    /// What is hidden in all that is written of a comparison, besides what its file names.
    pub redaction: Redaction,
}

/// Whose capacity is searched.
#[derive(Clone, Debug)]
pub enum Whose {
    /// That of a target that is there already. The plan's schedule and length are ours to choose,
    /// and so is the number of connections unless it is given: more are added for as long as that
    /// changes something.
    Target {
        /// What is asked, and how.
        plan: Box<Plan>,
        /// Whether its connections are as many as shall be.
        connections_given: bool,
    },
    /// That of every row of a comparison.
    File(PathBuf),
}

impl Options {
    /// With everything as it is unless somebody says otherwise.
    pub fn new(whose: Whose, slo: Vec<Threshold>, ringside: PathBuf) -> Options {
        Options {
            whose,
            slo,
            at_least: None,
            from: None,
            to: None,
            window: None,
            precision: None,
            repeats: None,
            confirmations: None,
            arrivals: Arrivals::Poisson,
            scaling: Vec::new(),
            out: None,
            ringside,
            subjects: None,
            cache: None,
            redaction: Redaction::default(),
        }
    }
}

/// What was found, and where it lies.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// What was found.
    pub found: Capacities,
    /// The output folder, absolute.
    pub folder: PathBuf,
    /// Files that could not be written, with the reasons. If there are any, print
    /// [`Capacities::json`] so that nothing measured is lost.
    pub unwritten: Vec<String>,
    /// The signal that ended it early, if any.
    pub stopped: Option<Signal>,
}

impl Outcome {
    /// A part, if a row failed, or answered wrongly at any rate, while others were measured, or a
    /// file could not be written. Nothing was measured where nothing was answered as it should be.
    pub fn end(&self) -> End {
        let rows = &self.found.rows;
        let mut points = rows.iter().flat_map(|row| &row.points);
        let measured = points.any(|point| point.completed > 0);
        let whole = rows.iter().all(RowCapacity::is_whole) && self.unwritten.is_empty();
        End::of(self.stopped, measured, whole)
    }
}

/// What all searches of a course have in common.
#[derive(Clone, Debug)]
struct Goal {
    slo: Vec<Threshold>,
    at_least: Option<f64>,
    /// The fewest exchanges of a window from which all of them can be judged.
    exchanges_min: u64,
    limits: Limits,
    window: Duration,
    settle: Duration,
    arrivals: Arrivals,
    scaling: Vec<u32>,
    seed: u64,
}

/// Whoever sends the loads of a search, where this process doesn't.
#[derive(Clone, Copy, Debug)]
pub struct Elsewhere<'a> {
    /// Who does.
    pub loads: Loads<'a>,
    /// How long one takes besides its warm-up and its window, about.
    pub around: Duration,
}

/// Searches. A stop ends it early, with what was found until then.
///
/// # Errors
/// Only before anything was measured: a file that cannot be read, a target where nobody answers,
/// cores that may not be used, an output folder that cannot be written.
pub fn capacity(
    options: &Options,
    stop: &Stop,
    observer: &mut dyn Observer,
) -> Result<Outcome, CannotBegin> {
    capacity_from(options, stop, observer, None)
}

/// The same with the loads from `elsewhere`, if that is given. The first contact is made from here.
///
/// # Errors
/// Those of [`capacity`].
pub fn capacity_from(
    options: &Options,
    stop: &Stop,
    observer: &mut dyn Observer,
    elsewhere: Option<Elsewhere<'_>>,
) -> Result<Outcome, CannotBegin> {
    match &options.whose {
        Whose::Target {
            plan,
            connections_given,
        } => of_target(
            plan,
            *connections_given,
            options,
            (stop, elsewhere),
            observer,
        ),
        Whose::File(file) => {
            let subjects = options.subjects.as_deref();
            let (comparison, _) = Comparison::read_with_text(file, subjects, &options.redaction)
                .map_err(CannotBegin::BadFile)?;
            of_rows(&comparison, options, (stop, elsewhere), observer)
        }
    }
}

fn of_target(
    plan: &Plan,
    connections_given: bool,
    options: &Options,
    (stop, elsewhere): (&Stop, Option<Elsewhere<'_>>),
    observer: &mut dyn Observer,
) -> Result<Outcome, CannotBegin> {
    plan.validate()
        .map_err(|invalid| CannotBegin::Target(invalid.into()))?;
    closed(options, is_replay(&plan.schedule))?;
    let workloads = [plan.workload.as_ref()];
    let goal = goal(options, None, &workloads, (WINDOW, SETTLE), plan.seed)?;
    let mut cautions: Vec<String> = raised(options.from, &goal).into_iter().collect();
    let window_s = goal.window.as_secs_f64();
    let flow = match plan.has_users() {
        true => {
            let plan = plan.clone();
            let tried = load::unless_stopped(stop, move || Ok(flows::tried(&plan, window_s)));
            let tried = tried.map_err(CannotBegin::Target)?;
            tried.map_err(|what| {
                CannotBegin::Impossible(format!("a user who went through the flow failed: {what}"))
            })?
        }
        false => {
            let length = streamed_once(plan, window_s, stop)?;
            if length.is_none() {
                cautions.extend(asked_once(plan, stop)?);
            }
            length
        }
    };
    let name = "capacity";
    let began = unix_seconds();
    let mut store =
        Store::create(options.out.as_deref(), name, began).map_err(CannotBegin::Impossible)?;
    let hiding = store.hide(&plan.redaction);
    hiding.map_err(CannotBegin::Impossible)?;
    let url = name_of(plan);
    let mut found = Capacities::new(name, &goal, began, cautions);
    found.asked = url.clone();
    found.load = load_words(plan, plan.connections);
    found.of_flows = plan.has_users();
    found.replayed = is_replay(&plan.schedule);
    let seeker = Seeker::target(url, plan.clone(), connections_given, goal.limits);
    let seekers = vec![seeker.of_flow(flow)];
    let mut course = Course::new(&goal, None, stop, &mut store, observer);
    course.elsewhere = elsewhere;
    Ok(finish(course, seekers, found, stop))
}

/// Where events are looked for, listens to each request's answer once, and says how long they take;
/// none where nothing came as it should, and where nobody looks for events.
fn streamed_once(plan: &Plan, window_s: f64, stop: &Stop) -> Result<Option<Duration>, CannotBegin> {
    if !plan.events {
        return Ok(None);
    }
    let plan = plan.clone();
    let tried = load::unless_stopped(stop, move || Ok(streams::tried(&plan, window_s)));
    let tried = tried.map_err(CannotBegin::Target)?;
    tried.map_err(CannotBegin::Impossible)
}

/// Asks for the first request. What is wrong with its answer is a caution.
fn asked_once(plan: &Plan, stop: &Stop) -> Result<Option<String>, CannotBegin> {
    let (step, asked) =
        first_request(plan).map_err(|invalid| CannotBegin::Target(invalid.into()))?;
    // As long as any other request may take.
    let timeout = Duration::from_secs_f64(plan.timeout_s);
    let answer = load::unless_stopped(stop, move || load::probe(&asked, timeout))
        .map_err(CannotBegin::Target)?;
    let wrong = load::verify(plan, step, &answer).err();
    Ok(wrong.map(|what| {
        let which = plan.workload.as_ref().map(|_| " the first request");
        format!(
            "Before any load, the target answered{} {what}; if it keeps doing that, no rate will \
             hold.",
            which.unwrap_or_default()
        )
    }))
}

/// A plan of one request alone: the first that is sent where they differ, and which step that is.
fn first_request(plan: &Plan) -> Result<(usize, Plan), Invalid> {
    let mut examples = ::workload::examples(plan, 1)?;
    let first = examples.pop().map(|one| (one.step, one.plan));
    Ok(first.unwrap_or_else(|| (0, plan.clone())))
}

/// What a target is called: its URL, with the requests where they differ.
fn name_of(plan: &Plan) -> String {
    let target = &plan.target;
    let origin = format!("{}://{}:{}", target.scheme, target.host, target.port);
    let Some(workload) = &plan.workload else {
        return format!("{origin}{}", plan.redaction.path(&target.path));
    };
    let others = workload.origins().0.len().saturating_sub(1);
    let origin = match others {
        0 => origin,
        1 => format!("{origin} and another server"),
        _ => format!("{origin} and {others} other servers"),
    };
    match (workload.shown_file(), workload.steps.as_slice()) {
        (None, [step]) => format!("{origin}{}", plan.redaction.path(&step.target.path)),
        (Some(file), steps) => format!("{origin}, {} requests of {file}", steps.len()),
        (None, steps) => format!("{origin}, {} requests", steps.len()),
    }
}

fn is_replay(schedule: &Schedule) -> bool {
    matches!(schedule, Schedule::Trace { .. })
}

/// Whether what is sent can be in a closed loop, if that is asked for.
fn closed(options: &Options, is_replay: bool) -> Result<(), CannotBegin> {
    match is_replay && !options.scaling.is_empty() {
        false => Ok(()),
        true => Err(CannotBegin::Impossible(
            "--usl measures closed loops, and a replay has times of its own: drop --usl".to_owned(),
        )),
    }
}

/// Whether the rows of a comparison have one rate each that can be searched for.
fn searchable(comparison: &Comparison) -> Result<(), CannotBegin> {
    let impossible = |what: &str| Err(CannotBegin::Impossible(what.to_owned()));
    let kind = match (comparison.is_timed(), comparison.is_of_generators()) {
        (true, _) => Some("timed commands"),
        (_, true) => Some("load generators"),
        (false, false) => None,
    };
    if let Some(kind) = kind {
        return impossible(&format!(
            "a comparison of {kind} has no rate to search for: give a comparison of servers"
        ));
    }
    if !comparison.points.is_empty() || !comparison.phases.is_empty() {
        return impossible(
            "a comparison with [sweep] or [[phase]] has more than one load, so there's no single \
             rate to search for: leave them out",
        );
    }
    if comparison.rows.iter().any(|row| row.question.has_flow()) {
        return impossible(
            "the waits between the messages of a WebSocket say when a connection sends the next \
             one, so there's no rate to search for: compare them with `ringside compare`, on ever \
             more `connections` ([sweep])",
        );
    }
    let of_flows = |row: &Row| row.question.has_users();
    if comparison.rows.iter().any(of_flows) && !comparison.rows.iter().all(of_flows) {
        return impossible(
            "some rows have flows of users and others have requests, so their rates aren't of the \
             same: give all rows the flow, or none",
        );
    }
    Ok(())
}

fn of_rows(
    comparison: &Comparison,
    options: &Options,
    (stop, elsewhere): (&Stop, Option<Elsewhere<'_>>),
    observer: &mut dyn Observer,
) -> Result<Outcome, CannotBegin> {
    searchable(comparison)?;
    let workload = &comparison.workload;
    let times = (workload.window, workload.settle);
    let mixes = comparison.rows.iter().map(|row| row.question.mix.as_ref());
    let workloads: Vec<_> = mixes.map(|mix| mix.map(|mix| &mix.workload)).collect();
    let seed = comparison.seed;
    let goal = goal(options, Some(comparison), &workloads, times, seed)?;
    let placement = Placement::decide(&comparison.cores.server, &comparison.cores.generator)
        .map_err(CannotBegin::Impossible)?;
    let began = unix_seconds();
    let name = format!("{}-capacity", comparison.name);
    let mut store =
        Store::create(options.out.as_deref(), &name, began).map_err(CannotBegin::Impossible)?;
    let hiding = store.hide(&comparison.redaction);
    hiding.map_err(CannotBegin::Impossible)?;
    let mut found = Capacities::new(&comparison.name, &goal, began, Vec::new());
    let from = options.from.or_else(|| comparison.capacity.as_ref()?.from);
    found.cautions.extend(raised(from, &goal));
    let of_the_host = cautions(&found.host, placement.caution.clone(), pressure_before());
    found.cautions.extend(of_the_host);
    found.cautions.extend(comparison.notes());
    found.network = netns::here();
    found.question = Some(comparison.question.clone());
    found.asked = question(comparison);
    found.load = workload.words();
    found.baseline = Some(comparison.baseline.clone());
    found.of_flows = comparison.rows.iter().any(|row| row.question.has_users());
    found.replayed = comparison.rows.iter().any(|row| row.question.is_replay());
    closed(options, found.replayed)?;
    let setting = Setting {
        placement: &placement,
        engine: &comparison.engine,
        seed: comparison.seed,
        start: 0,
        ringside: &options.ringside,
        stop,
        loads: elsewhere.map_or(Loads::HERE, |there| there.loads),
    };
    let cache = Cache::new(options.cache.as_deref());
    let seekers: Vec<Seeker> = comparison
        .rows
        .iter()
        .map(|row| Entry::new(Role::Subject, row.clone().without_proxies(), 0, None))
        .map(|entry| prepare(entry, &cache, &setting, &store, observer))
        .map(|entry| Seeker::row(entry, goal.limits))
        .collect();
    // As in a comparison, the lab keeps off the server's cores where the kernel allows that.
    let _moved = Moved::to(&placement.generator);
    let mut course = Course::new(&goal, Some(setting), stop, &mut store, observer);
    course.elsewhere = elsewhere;
    Ok(finish(course, seekers, found, stop))
}

/// Says what is to come, searches, and writes down what was found.
fn finish(
    mut course: Course<'_>,
    mut seekers: Vec<Seeker>,
    mut found: Capacities,
    stop: &Stop,
) -> Outcome {
    let (least, most) = course.expected_seconds(&seekers);
    course.observer.event(&Event::Searching {
        folder: course.store.folder(),
        least,
        most,
    });
    for what in &found.cautions {
        course.observer.event(&Event::Caution { what });
    }
    course.run(&mut seekers);
    found.engine = course.engine.take();
    if let [seeker] = seekers.as_slice()
        && let Some((plan, connections)) = seeker.plan().zip(seeker.connections_found())
    {
        found.load = load_words(plan, connections);
    }
    found.ended_early = stop.requested().map(|_| "it was interrupted".to_owned());
    if seekers.iter().any(Seeker::is_endless) {
        found.cautions.push(streams::endless(found.window_s));
    }
    let left_behind = seekers.iter().filter_map(Seeker::left_behind);
    found.cautions.extend(left_behind);
    found.rows = seekers.into_iter().map(Seeker::into_row).collect();
    found.conclude();
    let store = course.store;
    for (file, text) in formats::files(&found) {
        store.put(file.name().as_ref(), text.into_bytes());
    }
    Outcome {
        found,
        folder: store.folder().to_owned(),
        unwritten: store.unwritten(),
        stopped: stop.requested(),
    }
}

/// What is asked for of these workloads, checked. What is not given is taken from the file, or is
/// what is usual.
fn goal(
    options: &Options,
    file: Option<&Comparison>,
    workloads: &[Option<&Workload>],
    (window, settle): (Duration, Duration),
    seed: u64,
) -> Result<Goal, CannotBegin> {
    let written = file
        .and_then(|file| file.capacity.clone())
        .unwrap_or_default();
    let slo = match options.slo.is_empty() {
        true => written.slo,
        false => options.slo.clone(),
    };
    let window = options.window.unwrap_or(window);
    let each = workloads.iter().map(|of| slo::exchanges_min(&slo, *of));
    let each: Result<Vec<u64>, String> = each.collect();
    let each = each.map_err(CannotBegin::Impossible)?;
    let exchanges_min = each.into_iter().max().unwrap_or(1);
    let judged = course::lowest_rate(exchanges_min, window);
    let has_users = |one: &Option<&Workload>| one.is_some_and(|one| one.users.is_some());
    let usual = match workloads.iter().any(has_users) {
        true => FROM_OF_FLOWS,
        false => FROM,
    };
    let from = options.from.or(written.from).unwrap_or(usual).max(judged);
    let to = options.to.or(written.to);
    let limits = Limits {
        from,
        lowest: (from / LOWER_MAX).max(judged),
        to: to.unwrap_or(load::schedule::RATE_MAX),
        precision: options.precision.unwrap_or(PRECISION),
        repeats: options.repeats.unwrap_or(REPEATS),
        confirmations: options.confirmations.unwrap_or(CONFIRMATIONS),
        probes_max: PROBES_MAX,
    };
    let wrong = wrong(&limits, &slo, window, &options.scaling);
    match wrong {
        Some(what) => Err(CannotBegin::Impossible(what)),
        None => Ok(Goal {
            slo,
            at_least: options.at_least,
            exchanges_min,
            limits,
            window,
            settle,
            arrivals: options.arrivals,
            scaling: options.scaling.clone(),
            seed,
        }),
    }
}

/// That the search does not begin where somebody wants it to, if so.
fn raised(from: Option<f64>, goal: &Goal) -> Option<String> {
    let (wanted, begins) = (from?, goal.limits.from);
    (begins > wanted).then(|| {
        format!(
            "The search starts at {}, not at {}: below that, even the longest probe has too few \
             requests to judge the objectives. A longer --duration allows lower rates.",
            per_second(begins),
            per_second(wanted)
        )
    })
}

/// What is wrong about what is asked for, and what to do.
fn wrong(limits: &Limits, slo: &[Threshold], window: Duration, scaling: &[u32]) -> Option<String> {
    if slo.is_empty() {
        let what = "there are no objectives: give some, such as --slo 'p99<10ms' --slo \
                    'errors<0.1%', or write `[capacity] slo = [...]` into the file";
        return Some(what.to_owned());
    }
    if limits.lowest > limits.to {
        return Some(format!(
            "at {}/s a probe has too few exchanges to judge the objectives: give a longer \
             --duration or a higher --to",
            limits.to
        ));
    }
    if limits.from > limits.to {
        return Some(format!(
            "the search can't start at {}/s and end at {}/s: give a lower --from or a higher --to",
            limits.from, limits.to
        ));
    }
    if !(PRECISION_MIN..=PRECISION_MAX).contains(&limits.precision) {
        return Some(format!(
            "--precision {:.2} % is out of range: use {:.1} % to {:.0} %",
            100.0 * limits.precision,
            100.0 * PRECISION_MIN,
            100.0 * PRECISION_MAX
        ));
    }
    if !(1..=99).contains(&limits.repeats) || !(1..=99).contains(&limits.confirmations) {
        return Some("a rate takes 1 to 99 probes, and the majority decides".to_owned());
    }
    let different: BTreeSet<u32> = scaling.iter().copied().collect();
    let too_few = !scaling.is_empty() && different.len() < POINTS_MIN;
    if too_few || scaling.len() > SCALING_MAX || scaling.contains(&0) {
        return Some(format!(
            "the scalability law needs {POINTS_MIN} to {SCALING_MAX} different numbers of \
             connections, starting at 1, such as 1,2,4,8,16,32"
        ));
    }
    (window < workload::WINDOW_MIN).then(|| workload::WINDOW_TOO_SHORT.to_owned())
}

/// The load over as many connections as the search came to.
fn load_words(plan: &Plan, connections: u32) -> String {
    let depth = match plan.depth() {
        1 => String::new(),
        depth => format!(", up to {depth} requests in flight on each"),
    };
    let servers = plan.workload.as_ref().map(|one| one.origins().0.len());
    let whose = match servers {
        Some(2..) => " to each server",
        _ => "",
    };
    match plan.connections == connections {
        true => format!("{connections} connections{whose}{depth}"),
        false => format!(
            "{} to {connections} connections{whose}{depth}",
            plan.connections
        ),
    }
}

/// The machine, read once.
fn host() -> Host {
    Host::read()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_is_called_by_its_first_server_and_how_many_others_there_are() {
        let named = |ports: &[u16]| {
            let step = |port: &u16| ::load::plan::Step {
                name: String::new(),
                weight: 1,
                target: ::load::plan::Target::parse(&format!("http://h:{port}/a")).unwrap(),
                request: Plan::new("http://h/").unwrap().request,
                body_is_template: false,
                expect: Vec::new(),
                at: None,
            };
            let mut plan = Plan::new(&format!("http://h:{}/", ports[0])).unwrap();
            let mut workload = ::load::plan::Workload::new(ports.iter().map(step).collect());
            workload.file = Some("mix.http".into());
            plan.workload = Some(workload);
            format!("{}; {}", name_of(&plan), load_words(&plan, 10))
        };
        let table = [
            (
                &[1, 1][..],
                "http://h:1, 2 requests of mix.http; 10 connections",
            ),
            (
                &[1, 2],
                "http://h:1 and another server, 2 requests of mix.http; 10 connections to each \
                 server",
            ),
            (
                &[1, 2, 3, 1],
                "http://h:1 and 2 other servers, 4 requests of mix.http; 10 connections to each \
                 server",
            ),
        ];
        for (ports, expected) in table {
            assert_eq!(named(ports), expected);
        }
    }
}

//! A comparison from its file to what was measured: everything but the rounds themselves. Makes no
//! report of it.

use std::path::Path;
use std::time::Duration;

use load::{Signal, Stop};
use measure::host::Host;
use measure::time::{unix_seconds, utc_stamp};
use netns::laid;
use statistics::sequential::Looks;
use supervisor::binaries::{self, binaries};
use supervisor::build::{self, Unbuilt};
use supervisor::cache::Cache;
use supervisor::companion;
use supervisor::cores::{Moved, Placement};
use supervisor::loads::Loads;
use supervisor::row::Row;
use supervisor::running::Running;
use supervisor::setting::{Setting, find_program};
use supervisor::subject::companion::{Companion, Side};
use supervisor::{subject, watch, workload};

use crate::comparison::{self, Comparison};
use crate::event::{Event, Observer};
use crate::judging::EqualRate;
use crate::manifest::{self, Asked, Manifest, Role, Setup};
use crate::phase::Phase;
use crate::round::Round;
use crate::rounds::{self, Entry, Rounds, State, facts, order};
use crate::store::{Kept, Store};
use crate::validity::{self, Looked};
use crate::verdict::Metric;
use crate::{CannotBegin, Options, profile, resume};

/// Nobody looks at the figures before this round.
const LOOK_FIRST: u32 = 5;

/// How long it is looked at before the start whether the host is idle.
const PRESSURE_LOOK: Duration = Duration::from_millis(300);

/// What a comparison measured, of which a report can be made.
#[derive(Debug)]
pub struct Compared {
    /// What is known besides the rounds.
    pub manifest: Manifest,
    /// The rounds, as they were measured.
    pub rounds: Vec<Round>,
    /// Where both were written; it holds what could not be written until now.
    pub store: Store,
    /// The signal that ended it early, if any.
    pub stopped: Option<Signal>,
}

/// Carries a comparison out, or goes on with one that was begun. A stop ends it early, with what
/// was measured until then.
///
/// # Errors
/// Only before anything was measured: a file that cannot be read or holds a sweep, cores that may
/// not be used, an output folder that cannot be written, a comparison to resume that is another.
pub fn compare(
    options: &Options,
    stop: &Stop,
    observer: &mut dyn Observer,
) -> Result<Compared, CannotBegin> {
    compare_from(options, (stop, Loads::HERE), observer)
}

/// The same with loads that are sent by whom `loads` says.
///
/// # Errors
/// Those of [`compare`].
pub fn compare_from(
    options: &Options,
    (stop, loads): (&Stop, Loads<'_>),
    observer: &mut dyn Observer,
) -> Result<Compared, CannotBegin> {
    let (comparison, file) = read(options)?;
    if !comparison.points.is_empty() {
        let what = format!(
            "{} has a [sweep], which is one comparison per value; expected a single comparison",
            options.file.display()
        );
        return Err(CannotBegin::Impossible(what));
    }
    let place = match &options.resume {
        Some(folder) => Place::Begun(folder),
        None => Place::New(options.out.as_deref()),
    };
    one(&comparison, &file, place, options, (stop, loads), observer)
}

/// Where a comparison writes.
#[derive(Clone, Copy, Debug)]
pub enum Place<'a> {
    /// Into this folder, where there is no comparison yet, or into one with a name of its own.
    New(Option<&'a Path>),
    /// Into the folder of this comparison, which is continued.
    Begun(&'a Path),
}

/// Carries out one comparison, as `file` describes it.
pub fn one(
    comparison: &Comparison,
    file: &[u8],
    place: Place<'_>,
    options: &Options,
    (stop, loads): (&Stop, Loads<'_>),
    observer: &mut dyn Observer,
) -> Result<Compared, CannotBegin> {
    let placement = placement(comparison).map_err(CannotBegin::Impossible)?;
    let mut comparison = comparison.clone();
    let (mut store, begun) = open(place, &comparison, file).map_err(CannotBegin::Impossible)?;
    let mut manifest = new_manifest(&comparison, file, &placement, options);
    if let Some(begun) = &begun {
        resume::check(begun, store.folder(), file, &comparison, &manifest)
            .map_err(CannotBegin::Impossible)?;
        same_roles(&mut comparison, &begun.manifest);
        manifest = resume::resumed(manifest, begun);
    }
    let (rows, left_out) = rounds::rows(&comparison);
    manifest.cautions.extend(left_out);
    let expected = rounds::expected(&comparison, &rows);
    tell_beginning(store.folder(), expected, &manifest.cautions, observer);
    let setting = Setting {
        placement: &placement,
        engine: &comparison.engine,
        seed: comparison.seed,
        start: 0,
        ringside: &options.ringside,
        stop,
        loads,
    };
    let cache = Cache::new(options.cache.as_deref());
    let entries = rows.into_iter().map(|(role, row)| {
        let entry = Entry::new(role, row, comparison.rounds, begun.as_ref());
        prepare(entry, &cache, &setting, &store, observer)
    });
    let mut entries: Vec<_> = entries.collect();
    manifest.rows = facts(&entries, &comparison.baseline);
    if let Some(begun) = &begun {
        go_on(begun, &entries, &mut manifest, observer).map_err(CannotBegin::Impossible)?;
    }
    store.keep_asked(file);
    let order = order(entries.len(), comparison.rounds, comparison.seed);
    manifest.setup.order = order.iter().map(|round| names(&entries, round)).collect();
    store.describe(&manifest);
    let measured = begun.map(|begun| begun.rounds).unwrap_or_default();
    let start = measured.iter().map(|round| round.start).max().unwrap_or(0);
    let mut rounds = Rounds {
        phases: phases(&comparison, &manifest.setup),
        comparison: &comparison,
        setting: Setting { start, ..setting },
        store: &mut store,
        manifest: &mut manifest,
        observer,
        measured,
    };
    // From here on the lab itself keeps off the server's cores. Where the kernel does not allow
    // that it stays where it is, and mostly sleeps.
    let moved = Moved::to(&placement.generator);
    rounds.run(&mut entries, &order);
    let measured = rounds.measured;
    if options.profile {
        profile::all(&mut entries, &setting, &mut store, observer);
    }
    drop(moved);
    manifest.rows = facts(&entries, &comparison.baseline);
    (entries.iter()).for_each(|entry| companion::clear(&entry.dir));
    Ok(finish(store, manifest, measured, stop))
}

/// Sees that what was begun goes on with the same programs, and says with which processes.
fn go_on(
    begun: &Kept,
    entries: &[Entry],
    manifest: &mut Manifest,
    observer: &mut dyn Observer,
) -> Result<(), String> {
    resume::same_programs(begun, manifest)?;
    for what in resume::went_on(begun, entries, &manifest.rows) {
        observer.event(&Event::Caution { what: &what });
        manifest.cautions.push(what);
    }
    Ok(())
}

/// What each round consists of. The equal rate of a comparison that goes on was found before.
fn phases(comparison: &Comparison, setup: &Setup) -> Vec<Phase> {
    let mut phases = comparison.phases.clone();
    if let Some(phase) = phases.iter_mut().find(|phase| phase.equal) {
        phase.rate = phase.rate.or(setup.equal_rate);
    }
    phases
}

/// What is continued has the rows that it began with.
fn same_roles(comparison: &mut Comparison, begun: &Manifest) {
    let has = |role| begun.rows.iter().any(|row| row.role == role);
    comparison.aa = Some(has(Role::Again));
    comparison.ceiling = Some(has(Role::Ceiling));
}

fn names(entries: &[Entry], round: &[usize]) -> Vec<String> {
    let name = |at: &usize| entries[*at].row.name.clone();
    round.iter().map(name).collect()
}

fn tell_beginning(
    folder: &Path,
    expected: Duration,
    cautions: &[String],
    observer: &mut dyn Observer,
) {
    let seconds = expected.as_secs_f64();
    observer.event(&Event::Begun { folder, seconds });
    for what in cautions {
        observer.event(&Event::Caution { what });
    }
}

/// Writes down how it ended.
fn finish(mut store: Store, mut manifest: Manifest, rounds: Vec<Round>, stop: &Stop) -> Compared {
    manifest.setup.ended_early = stop
        .requested()
        .map(|_| "it was interrupted (continue with --resume)".to_owned());
    store.describe(&manifest);
    Compared {
        manifest,
        rounds,
        store,
        stopped: stop.requested(),
    }
}

/// The folder to write into, with what is in it where a comparison is continued. From here on
/// secrets are hidden under its key.
fn open(
    place: Place<'_>,
    comparison: &Comparison,
    file: &[u8],
) -> Result<(Store, Option<Kept>), String> {
    let (mut store, begun) = match place {
        Place::New(folder) => {
            let store = Store::create(folder, &comparison.name, unix_seconds())?;
            (store, None)
        }
        Place::Begun(folder) => {
            let (store, begun) = Store::open(folder)?;
            if !comparison.redaction.has_key() {
                let hash = begun.manifest.file_hash.as_deref();
                resume::key_is_there(store.folder(), hash, file, comparison)?;
            }
            (store, Some(begun))
        }
    };
    store.hide(&comparison.redaction)?;
    Ok((store, begun))
}

/// What is known before anything is built.
fn new_manifest(
    comparison: &Comparison,
    file: &[u8],
    placement: &Placement,
    options: &Options,
) -> Manifest {
    let (host, pressure_before) = (Host::read(), pressure_before());
    let mut cautions = cautions(&host, of_cores(comparison, placement), pressure_before);
    let made = options.made.iter();
    cautions.extend(made.flat_map(|made| made.cautions.clone()));
    cautions.extend(comparison.notes());
    let setup = setup(comparison, placement, unix_seconds());
    cautions.extend(comparison.too_few_answers(&setup.judged_by));
    Manifest {
        schema_version: manifest::SCHEMA_VERSION,
        setup,
        cautions,
        host,
        pressure_before,
        network: netns::here(),
        file_hash: Some(comparison.hash(file)),
        asked: Asked {
            rounds: options.rounds,
            window_s: options.window.map(|window| window.as_secs_f64()),
            warm_up_max_s: options.warm_up_max.map(|most| most.as_secs_f64()),
            aa: options.aa,
            ceiling: options.ceiling,
            precision: options.precision,
            budget_s: options.budget.map(|budget| budget.as_secs_f64()),
        },
        rows: Vec::new(),
        looks: comparison
            .precision
            .map(|_| Looks::plan(LOOK_FIRST, comparison.rounds)),
        looked: Vec::new(),
        stopped: None,
        spent_s: 0.0,
    }
}

/// The comparison with the options in place of what the file says, and the file.
pub fn read(options: &Options) -> Result<(Comparison, Vec<u8>), CannotBegin> {
    let redaction = &options.redaction;
    let read = match &options.made {
        Some(made) => Comparison::of_made(made, redaction),
        None => Comparison::read_with_text(&options.file, options.subjects.as_deref(), redaction),
    };
    let (mut comparison, file) = read.map_err(CannotBegin::BadFile)?;
    let impossible = |what: String| Err(CannotBegin::Impossible(what));
    if let Some(rounds) = options.rounds
        && !(1..=comparison::ROUNDS_MAX).contains(&rounds)
    {
        let most = comparison::ROUNDS_MAX;
        return impossible(format!("{rounds} rounds is out of range: use 1 to {most}"));
    }
    if options
        .window
        .is_some_and(|window| window < workload::WINDOW_MIN)
    {
        return impossible(workload::WINDOW_TOO_SHORT.to_owned());
    }
    if options
        .precision
        .is_some_and(|share| !(share > 0.0 && share < 1.0))
    {
        return impossible(comparison::PRECISION_ZERO.to_owned());
    }
    if options.budget.is_some_and(|budget| budget.is_zero()) {
        return impossible("the budget is zero; write it like 3m".to_owned());
    }
    if options.profile && comparison.is_of_generators() {
        let what = "--profile shows what servers do, and this is a comparison of load generators: \
                    leave it out";
        return impossible(what.to_owned());
    }
    overrule(&mut comparison, options);
    if options.window.is_some()
        && let Some(what) = comparison.unfit_fault()
    {
        return impossible(format!("{what}: give a longer --duration, or none"));
    }
    Ok((comparison, file))
}

fn overrule(comparison: &mut Comparison, options: &Options) {
    comparison.rounds = options.rounds.unwrap_or(comparison.rounds);
    comparison.aa = options.aa.or(comparison.aa);
    comparison.ceiling = options.ceiling.or(comparison.ceiling);
    comparison.precision = options.precision.or(comparison.precision);
    comparison.budget = options.budget.or(comparison.budget);
    for row in &mut comparison.rows {
        row.warm_up_max = options.warm_up_max;
    }
    if let Some(window) = options.window {
        let rows = comparison.rows.iter_mut().map(|row| &mut row.workload);
        for workload in rows.chain([&mut comparison.workload]) {
            workload.window = window;
        }
        for phase in &mut comparison.phases {
            phase.length = window;
        }
    }
    for (_, point) in &mut comparison.points {
        overrule(point, options);
    }
}

/// The share of a moment in which somebody waits for a processor, before anything is started.
pub fn pressure_before() -> Option<f64> {
    watch::host::pressure_over(PRESSURE_LOOK)
}

/// What there is to say about where the rows run. Nothing loads commands that are timed; what they
/// need beside them runs where a generator would.
fn of_cores(comparison: &Comparison, placement: &Placement) -> Option<String> {
    if !comparison.is_timed() {
        return placement.caution.clone();
    }
    let shares = |core: &usize| placement.server.contains(core);
    let stands_there = |companion: &Companion| companion.cores == Side::Generator;
    let mut companions = comparison
        .rows
        .iter()
        .flat_map(|row| &row.subject.companions);
    (placement.generator.iter().any(shares) && companions.any(stands_there)).then(|| {
        "The timed commands share a core with their companions, which slow them down.".to_owned()
    })
}

/// What a reader must know of the machine before the figures.
/// `of_cores` is what there is to say about where things run.
pub fn cautions(
    host: &Host,
    of_cores: Option<String>,
    pressure_before: Option<f64>,
) -> Vec<String> {
    let mut cautions: Vec<String> = of_cores.into_iter().collect();
    cautions.extend(netns::here().and_then(|network| network.caution()));
    let own = validity::host(host, pressure_before).into_iter();
    cautions.extend(own.filter_map(|(_, looked)| match looked {
        Looked::Found(_, sentence) => Some(as_sentence(&sentence)),
        Looked::Passed(_) | Looked::Unknown(_) => None,
    }));
    cautions
}

/// With a capital letter and a full stop.
fn as_sentence(text: &str) -> String {
    let mut letters = text.chars();
    let first: String = letters
        .next()
        .into_iter()
        .flat_map(char::to_uppercase)
        .collect();
    format!("{first}{}.", letters.as_str())
}

/// Sees whether a row can be measured here at all, builds its subject, if it needs that, and asks
/// for its version.
pub fn prepare(
    mut entry: Entry,
    cache: &Cache,
    setting: &Setting<'_>,
    store: &Store,
    observer: &mut dyn Observer,
) -> Entry {
    let Err(why) = laid::try_out(&entry.row.link) else {
        return made_ready(entry, cache, setting, store, observer);
    };
    observer.event(&Event::Missing {
        subject: &entry.row.name,
        what: &why,
    });
    entry.state = State::Cannot(why);
    entry
}

fn made_ready(
    mut entry: Entry,
    cache: &Cache,
    setting: &Setting<'_>,
    store: &Store,
    observer: &mut dyn Observer,
) -> Entry {
    let row = entry.row.clone();
    let subject = &row.subject;
    let dir = Path::new("subjects").join(&row.name);
    let built = store
        .subfolder(&dir)
        .map_err(|error| Unbuilt::Failed(format!("{}: {error}", dir.display()), Vec::new()))
        .and_then(|dir| {
            entry.dir = dir;
            if subject.build.is_some() && !build::is_built(subject, cache) {
                observer.event(&Event::Building { subject: &row.name });
            }
            let values = setting.values(subject);
            build::build(
                subject,
                cache,
                &values,
                &entry.dir.join("build.log"),
                setting.stop,
            )
        });
    match built {
        Ok(build) => {
            let values = subject::Values {
                build: build.clone(),
                ..setting.values(subject)
            };
            entry.version = build::version(subject, &values, &entry.dir);
            let (program, _) = subject.start.command.fill(&values);
            let own = subject.build.is_some().then_some(build.as_path());
            entry.binaries = match &subject.running {
                Some(running) => running.pid().map_or(Vec::new(), binaries::of_process),
                None => binaries(&program, own),
            };
            let hashed = |called: &[u8]| row.question.redaction.fingerprint(called);
            let running = subject.running.as_ref();
            entry.process = running
                .and_then(|running| resume::of_running(running, hashed, entry.before.as_ref()));
            // What runs where it was typed, or runs already, has no folder of its own.
            let has_folder = subject.start.folder.is_none();
            entry.source = has_folder.then(|| build::source(subject)).flatten();
            entry.build = build;
            prepare_generator(&mut entry, setting, observer);
        }
        Err(Unbuilt::Missing(what)) => {
            observer.event(&Event::Missing {
                subject: &row.name,
                what: &what,
            });
            entry.state = State::Missing(what);
        }
        Err(Unbuilt::Failed(why, log)) => {
            let what = format!("can't be built: {why}");
            observer.event(&Event::Failed {
                subject: &row.name,
                what: &what,
            });
            entry.state = State::Failed(what, log);
        }
        // The rounds see for themselves that somebody asked to stop.
        Err(Unbuilt::Stopped) => {}
    }
    entry
}

/// Looks for the program of a row's generator, and asks for its version.
fn prepare_generator(entry: &mut Entry, setting: &Setting<'_>, observer: &mut dyn Observer) {
    let Some(generator) = &entry.row.generator else {
        return;
    };
    let program = generator.program(setting.ringside);
    if find_program(&program).is_none() {
        let what = format!(
            "`{program}` is not installed, or not in PATH: install it, or write its whole path \
             into the row's `generator`"
        );
        observer.event(&Event::Missing {
            subject: &entry.row.name,
            what: &what,
        });
        entry.state = State::Missing(what);
        return;
    }
    entry.binaries.extend(binaries(&program, None));
    entry.generator_version = match generator.version() {
        Some((program, arguments)) => build::first_line(program, arguments, &entry.dir),
        None => None,
    };
}

/// What is compared, by how the subjects are loaded.
pub fn metric(comparison: &Comparison) -> Metric {
    match comparison.workload.rate {
        _ if comparison.is_of_generators() => Metric::GeneratorCpuPerExchange,
        _ if comparison.is_timed() => Metric::Seconds,
        None => Metric::RequestsPerSecond,
        Some(_) => Metric::ResponseTimeP99,
    }
}

/// Where everything runs. Beside servers that run already, those that are started have the cores
/// that these have: on others they'd be faster or slower for that alone.
fn placement(comparison: &Comparison) -> Result<Placement, String> {
    let placement = Placement::decide(&comparison.cores.server, &comparison.cores.generator)?;
    let rows = comparison.rows.iter();
    // A server elsewhere has none of this host's.
    let running = rows.filter_map(|row| row.subject.running.as_ref().filter(|one| one.is_here));
    let running: Vec<&Running> = running.collect();
    if running.is_empty() || comparison.rows.iter().all(is_running) {
        return Ok(placement);
    }
    let cores = running.into_iter().find_map(Running::cores);
    placement.with_servers_on(&cores.unwrap_or_default())
}

/// Whether no cores were assigned to servers: they run already, or have all that such ones have.
fn are_anywhere(comparison: &Comparison, placement: &Placement) -> bool {
    let rows = &comparison.rows;
    let is_here = |row: &Row| {
        let running = row.subject.running.as_ref();
        running.is_some_and(|running| running.is_here)
    };
    rows.iter().all(is_running) || rows.iter().any(is_here) && placement.has_all_for_servers()
}

fn is_running(row: &Row) -> bool {
    row.subject.running.is_some()
}

fn setup(comparison: &Comparison, placement: &Placement, began: u64) -> Setup {
    let workload = &comparison.workload;
    let events = comparison.rows.iter().any(|row| row.question.ways.events);
    Setup {
        name: comparison.name.clone(),
        question: comparison.question.clone(),
        began: utc_stamp(began),
        ringside: env!("CARGO_PKG_VERSION").to_owned(),
        ringside_sha256: binaries::own(),
        metric: metric(comparison),
        judged_by: comparison.judging.metrics(metric(comparison), events),
        equal_rate: match comparison.judging.equal_rate {
            Some(EqualRate::PerSecond(rate)) => Some(rate),
            Some(EqualRate::Auto) | None => None,
        },
        baseline: comparison.baseline.clone(),
        rounds: comparison.rounds,
        order: Vec::new(),
        seed: comparison.seed,
        smallest_difference: comparison.smallest_difference,
        rounds_per_start: comparison.rounds_per_start.map(u32::from),
        precision: comparison.precision,
        budget_s: comparison.budget.map(|budget| budget.as_secs_f64()),
        asked: question(comparison),
        load: match comparison.is_timed() {
            true => "one run in each round".to_owned(),
            false => comparison.load(),
        },
        rate: workload.rate,
        window_s: workload.window.as_secs_f64(),
        settle_s: workload.settle.as_secs_f64(),
        warm_up_s: workload.warm_up.as_secs_f64(),
        server_cores: match are_anywhere(comparison, placement) {
            true => Vec::new(),
            false => placement.server.clone(),
        },
        generator_cores: placement.generator.clone(),
        engine: comparison.engine.clone(),
        // Stands until the end is reached, for whoever reads the folder before, or without it.
        ended_early: Some("ringside was killed (continue with --resume)".into()),
    }
}

/// What is asked: the same of all rows, or of each its own.
pub fn question(comparison: &Comparison) -> String {
    if comparison.is_timed() {
        return "each command runs from start to finish".to_owned();
    }
    let first = &comparison.rows[0].question;
    match comparison.rows.iter().all(|row| row.question == *first) {
        true => first.words(),
        false => "each row has its own, see its notes".to_owned(),
    }
}

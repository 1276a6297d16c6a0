//! A comparison from its file to its report: everything but the rounds themselves.

use std::fs;
use std::path::{Path, PathBuf};

use load::Stop;
use measure::host::Host;
use measure::time::unix_seconds;

use crate::build::{self, Unbuilt};
use crate::comparison::{self, Comparison, Row};
use crate::cores::{Moved, Placement};
use crate::event::{Event, Observer};
use crate::live::Setting;
use crate::manifest::{self, Manifest, Outcome as RowOutcome, Role, RowFacts, Setup};
use crate::report::{self, Enclosed, Report};
use crate::round::Round;
use crate::rounds::{Entry, Rounds, State, order};
use crate::store::{self, Store};
use crate::verdict::Metric;
use crate::{CompareError, Options, Outcome, subject, workload};

/// Somebody else's work on this host beyond this share of time is mentioned (PSI, `some avg10`).
const PRESSURE_MAX_PERCENT: f64 = 10.0;

/// Carries a comparison out. A stop ends it early, with a report of what was measured until then.
///
/// # Errors
/// Only before anything was started: a file that cannot be read, cores that may not be used, an
/// output folder that cannot be written.
pub fn compare(
    options: &Options,
    stop: &Stop,
    observer: &mut dyn Observer,
) -> Result<Outcome, CompareError> {
    let comparison = read(options)?;
    let placement = Placement::decide(&comparison.cores.server, &comparison.cores.generator)
        .map_err(CompareError::Impossible)?;
    let began = unix_seconds();
    let store = Store::create(options.out.as_deref(), &comparison.name, began)
        .map_err(CompareError::Impossible)?;
    let host = Host::read();
    let cautions = cautions(&host, &placement);
    observer.event(&Event::Begun {
        folder: store.folder(),
        seconds: expected_seconds(&comparison),
    });
    for what in &cautions {
        observer.event(&Event::Caution { what });
    }
    let setting = Setting {
        placement: &placement,
        engine: &comparison.engine,
        seed: comparison.seed,
        ringside: &options.ringside,
        stop,
    };
    let cache = options.cache.clone().unwrap_or_else(build::default_cache);
    let mut manifest = Manifest {
        schema_version: manifest::SCHEMA_VERSION,
        setup: setup(&comparison, &placement, began),
        host,
        cautions,
        rows: Vec::new(),
        looks: None,
    };
    let mut found = carry_out(
        &comparison,
        setting,
        &cache,
        &store,
        &mut manifest,
        observer,
    );
    manifest.setup.ended_early = stop
        .requested()
        .map(|_| "somebody asked to stop".to_owned());
    manifest
        .cautions
        .extend(differing_content_types(&found.entries));
    manifest.rows = facts(&found.entries, &comparison.baseline);
    let rounds: Vec<Round> = found
        .entries
        .into_iter()
        .flat_map(|entry| entry.rounds)
        .collect();
    found.unwritten.extend(store.describe(&manifest).err());
    let report = Report::new(&manifest, &rounds);
    write(&store, &options.file, &report, &mut found.unwritten);
    Ok(Outcome {
        report,
        folder: store.folder().to_owned(),
        unwritten: found.unwritten,
        stopped: stop.requested(),
    })
}

/// What the rounds brought.
struct Found {
    entries: Vec<Entry>,
    unwritten: Vec<String>,
}

/// Builds every subject, and measures those that can be started.
fn carry_out(
    comparison: &Comparison,
    setting: Setting<'_>,
    cache: &Path,
    store: &Store,
    manifest: &mut Manifest,
    observer: &mut dyn Observer,
) -> Found {
    let mut entries: Vec<Entry> = comparison
        .rows
        .iter()
        .map(|row| prepare(row, cache, &setting, store, observer))
        .collect();
    let order = order(entries.len(), comparison.rounds, comparison.seed);
    let name = |at: &usize| entries[*at].row.name.clone();
    manifest.setup.order = order
        .iter()
        .map(|round| round.iter().map(name).collect())
        .collect();
    manifest.rows = facts(&entries, &comparison.baseline);
    let mut unwritten: Vec<String> = store.describe(manifest).err().into_iter().collect();
    // From here on the lab itself keeps off the server's cores. Where the kernel does not allow
    // that it stays where it is, and mostly sleeps.
    let _moved = Moved::to(&setting.placement.generator);
    let mut rounds = Rounds {
        comparison,
        setting,
        store,
        observer,
        engine: None,
        unwritten: Vec::new(),
    };
    rounds.run(&mut entries, &order);
    unwritten.append(&mut rounds.unwritten);
    if let Some(engine) = rounds.engine {
        manifest.setup.engine = engine;
    }
    Found { entries, unwritten }
}

fn read(options: &Options) -> Result<Comparison, CompareError> {
    let mut comparison = Comparison::read(&options.file, options.subjects.as_deref())
        .map_err(CompareError::BadFile)?;
    if let Some(rounds) = options.rounds {
        if !(1..=comparison::ROUNDS_MAX).contains(&rounds) {
            let what = format!("{rounds} rounds; expected 1 to {}", comparison::ROUNDS_MAX);
            return Err(CompareError::Impossible(what));
        }
        comparison.rounds = rounds;
    }
    if let Some(window) = options.window {
        if window < workload::WINDOW_MIN {
            return Err(CompareError::Impossible(
                workload::WINDOW_TOO_SHORT.to_owned(),
            ));
        }
        for row in &mut comparison.rows {
            row.workload.window = window;
        }
        comparison.workload.window = window;
    }
    Ok(comparison)
}

/// How long the load takes, without builds and starts.
fn expected_seconds(comparison: &Comparison) -> f64 {
    let workload = &comparison.workload;
    let rounds = f64::from(comparison.rounds);
    let starts = match comparison.rounds_per_start {
        Some(each) => f64::from(comparison.rounds.div_ceil(each.get())),
        None => 1.0,
    };
    let each = rounds * (workload.window + workload.settle).as_secs_f64();
    let warm_up = |row: &Row| starts * row.warm_up().as_secs_f64();
    let rows = comparison.rows.iter();
    rows.map(|row| each + warm_up(row)).sum()
}

pub(crate) fn cautions(host: &Host, placement: &Placement) -> Vec<String> {
    let mut cautions: Vec<String> = placement.caution.iter().cloned().collect();
    if host.congestion_control.as_deref() == Some("bbr") {
        cautions.push(
            "The congestion control of this host is bbr, which paces packets even over loopback: \
             the figures are partly its. Change it with `sysctl -w \
             net.ipv4.tcp_congestion_control=cubic` and compare again."
                .to_owned(),
        );
    }
    if let Some(governor) = host
        .governor
        .as_deref()
        .filter(|governor| *governor != "performance")
    {
        cautions.push(format!(
            "The processor's clock is governed by `{governor}` and may change between rounds. Fix \
             it with `cpupower frequency-set -g performance`."
        ));
    }
    if let Some(percent) = pressure().filter(|percent| *percent > PRESSURE_MAX_PERCENT) {
        cautions.push(format!(
            "Before the start, processes of this host waited for a processor {percent:.0} % of the \
             time: something else is running, and it is in the figures."
        ));
    }
    cautions
}

/// The share of the last ten seconds in which somebody waited for a processor, in percent
/// (Documentation/accounting/psi.rst).
fn pressure() -> Option<f64> {
    let text = fs::read_to_string("/proc/pressure/cpu").ok()?;
    let some = text.lines().find(|line| line.starts_with("some "))?;
    some.split_whitespace()
        .find_map(|word| word.strip_prefix("avg10="))?
        .parse()
        .ok()
}

/// Builds a subject, if it needs that, and asks for its version.
pub(crate) fn prepare(
    row: &Row,
    cache: &Path,
    setting: &Setting<'_>,
    store: &Store,
    observer: &mut dyn Observer,
) -> Entry {
    let subject = &row.subject;
    let mut entry = Entry {
        row: row.clone(),
        build: PathBuf::new(),
        dir: PathBuf::new(),
        version: None,
        state: State::Waiting,
        starts: 0,
        rounds: Vec::new(),
        answer: None,
    };
    let dir = Path::new("subjects").join(&row.name);
    let built = store
        .subfolder(&dir)
        .map_err(|error| Unbuilt::Failed(format!("{}: {error}", dir.display()), Vec::new()))
        .and_then(|dir| {
            entry.dir = dir;
            if subject.build.is_some() {
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
            entry.build = build;
        }
        Err(Unbuilt::Missing(what)) => {
            observer.event(&Event::Missing {
                subject: &row.name,
                what: &what,
            });
            entry.state = State::Missing(what);
        }
        Err(Unbuilt::Failed(why, log)) => {
            let what = format!("could not be built: {why}");
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

fn setup(comparison: &Comparison, placement: &Placement, began: u64) -> Setup {
    let workload = &comparison.workload;
    Setup {
        name: comparison.name.clone(),
        question: comparison.question.clone(),
        began: format!(
            "{}T{}Z",
            measure::time::utc_date(began),
            store::time_of_day(began)
        ),
        ringside: env!("CARGO_PKG_VERSION").to_owned(),
        metric: match workload.rate {
            _ if comparison.is_timed() => Metric::Seconds,
            None => Metric::RequestsPerSecond,
            Some(_) => Metric::ResponseTimeP99,
        },
        baseline: comparison.baseline.clone(),
        rounds: comparison.rounds,
        order: Vec::new(),
        seed: comparison.seed,
        smallest_difference: comparison.smallest_difference,
        fresh_each_round: comparison.rounds_per_start == Some(std::num::NonZeroU32::MIN),
        asked: question(comparison),
        load: match comparison.is_timed() {
            true => "one run in each round".to_owned(),
            false => workload.words(),
        },
        rate: workload.rate,
        window_s: workload.window.as_secs_f64(),
        settle_s: workload.settle.as_secs_f64(),
        warm_up_s: workload.warm_up.as_secs_f64(),
        server_cores: placement.server.clone(),
        generator_cores: placement.generator.clone(),
        engine: comparison.engine.clone(),
        ended_early: None,
    }
}

/// What is asked: the same of all rows, or of each its own.
pub(crate) fn question(comparison: &Comparison) -> String {
    if comparison.is_timed() {
        return "each runs from its start to its end".to_owned();
    }
    let first = &comparison.rows[0].question;
    match comparison.rows.iter().all(|row| row.question == *first) {
        true => first.words(),
        false => "of each row its own, see its notes".to_owned(),
    }
}

/// What is known of the entries besides their rounds. One that is asked the same as the baseline
/// and answers with another body is spoilt.
fn facts(entries: &[Entry], baseline: &str) -> Vec<RowFacts> {
    let expected = entries
        .iter()
        .find(|entry| entry.row.name == baseline)
        .map(|entry| (entry.row.clone(), entry.answer.clone()));
    let spoilt = |entry: &Entry| {
        let (row, answer) = expected.as_ref()?;
        let (expected, found) = (&answer.as_ref()?.body, &entry.answer.as_ref()?.body);
        (row.question == entry.row.question && expected != found).then(|| {
            format!(
                "{} answers with another body than {baseline} ({} bytes, not {}), which is other \
                 work",
                entry.row.name,
                found.len(),
                expected.len()
            )
        })
    };
    let own = |row: &Row| {
        let (baseline, _) = expected.as_ref()?;
        let same =
            row.question == baseline.question && row.workload.words() == baseline.workload.words();
        (!same).then(|| format!("{}; {}", row.question.words(), row.workload.words()))
    };
    let differ = entries.iter().any(|entry| own(&entry.row).is_some());
    entries
        .iter()
        .map(|entry| RowFacts {
            name: entry.row.name.clone(),
            role: Role::Subject,
            description: entry.row.subject.description.clone(),
            version: entry.version.clone(),
            outcome: match &entry.state {
                State::Missing(install) => RowOutcome::Missing {
                    install: install.clone(),
                },
                State::Failed(what, log) => RowOutcome::Failed {
                    what: what.clone(),
                    log: log.clone(),
                },
                _ if entry.rounds.is_empty() => RowOutcome::NotReached,
                _ => RowOutcome::Measured,
            },
            asked: differ.then(|| {
                let (question, load) = (&entry.row.question, &entry.row.workload);
                format!("{}; {}", question.words(), load.words())
            }),
            spoilt: spoilt(entry),
        })
        .collect()
}

fn differing_content_types(entries: &[Entry]) -> Option<String> {
    let types: std::collections::BTreeSet<String> = entries
        .iter()
        .filter_map(|entry| entry.answer.as_ref()?.field("content-type"))
        .map(|value| String::from_utf8_lossy(value).into_owned())
        .collect();
    (types.len() > 1).then(|| {
        let types: Vec<String> = types.into_iter().collect();
        format!(
            "The subjects answer with different content types: {}.",
            types.join(", ")
        )
    })
}

/// Writes a copy of what was asked for, and the report in each of its formats.
fn write(store: &Store, file: &Path, report: &Report, unwritten: &mut Vec<String>) {
    let mut put = |name: &str, bytes: &[u8]| {
        if let Err(error) = store.write(Path::new(name), bytes) {
            unwritten.push(format!("{name}: {error}"));
        }
    };
    put("comparison.toml", &fs::read(file).unwrap_or_default());
    for (name, text) in report::files(report, &Enclosed::read(store.folder())) {
        put(name, text.as_bytes());
    }
}

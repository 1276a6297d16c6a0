//! A comparison: which subjects, under which workload, for how many rounds. One TOML file in
//! `comparisons/`.
//!
//! This file reads and validates it and finds its subjects' folders. It measures nothing.

mod faulted;
mod generators;
mod linked;

use std::collections::BTreeSet;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::time::Duration;

use faults::{Fault, arrivals};
use load::Redaction;
use load::check::{Streamed, Threshold};
use serde::Deserialize;
use serde::de::{Deserializer, Error as _, IgnoredAny};
use supervisor::cores::Choice;
use supervisor::document::{self, BadFile, Document};
use supervisor::flow;
use supervisor::generator::Generator;
use toml::Spanned;

use crate::judging::{self, Judging};
use crate::made::Made;
use crate::phase::{self, Phase};
use crate::places::{Places, meant};
use crate::points::{self, Key, Point};
use crate::verdict::Metric;
pub use supervisor::row::Row;
use supervisor::subject::{Kind, Limits, Subject, is_plain_name};
use supervisor::varied::Varied;
use supervisor::workload::{Difference, Protocol, Question, Workload};

const SUBJECTS_MAX: usize = 64;
/// What is said of the name of a comparison or of a row that is none.
const NOT_A_NAME: &str = "expected a name of letters, digits, `.`, `_` and `-`, because it names a \
                          folder";
/// What is said of a precision of nothing.
pub(crate) const PRECISION_ZERO: &str =
    "no measurement is exact; expected a percentage above zero, such as \"2%\"";
/// The rounds of a file that doesn't say how many.
const ROUNDS: u32 = 7;
/// The most rounds.
pub const ROUNDS_MAX: u32 = 1000;

/// What a comparison file says, validated, with its subjects read.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// Names its output folder.
    pub name: String,
    /// The question that it answers, as a reader would ask it.
    pub question: String,
    /// The rows, in the file's order.
    pub rows: Vec<Row>,
    /// The name of the row that the others are compared with.
    pub baseline: String,
    /// How many times each subject is measured.
    pub rounds: u32,
    /// Decides the order within the rounds, and every other random choice.
    pub seed: u64,
    /// The smallest difference that matters, as a share: smaller ones are not called faster.
    pub smallest_difference: f64,
    /// After so many rounds the subjects are started anew; none leaves them alive to the last.
    pub rounds_per_start: Option<NonZeroU32>,
    /// Whether the baseline is measured once more, as processes of its own (A/A), so that what
    /// differs between equal things is known; none leaves that to the time it takes.
    pub aa: Option<bool>,
    /// Whether our own server is measured, too; none is where that takes no long time.
    pub ceiling: Option<bool>,
    /// The measuring may end early, when every interval reaches no further than this share to
    /// either side of its centre.
    pub precision: Option<f64>,
    /// How long starts, warm-ups and rounds may take together.
    pub budget: Option<Duration>,
    /// What each round of a subject consists of; empty: one window.
    pub phases: Vec<Phase>,
    /// What happens to each subject in a round that is one window.
    pub faults: Vec<Fault>,
    /// How long a request may take, from when it is due, to count towards the goodput.
    pub goodput_within: Option<Duration>,
    /// By what its rows are judged.
    pub judging: Judging,
    /// The same comparison at each value of one setting; empty: there is no sweep.
    pub points: Vec<(Point, Comparison)>,
    /// What is asked of each subject, where its row does not say otherwise.
    pub workload: Workload,
    /// Where subjects and generator run.
    pub cores: Cores,
    /// In which network.
    pub network: netns::Wanted,
    /// The generator's engine: `auto`, `uring` or `epoll`.
    pub engine: String,
    /// What must hold where the rows' capacities are searched.
    pub capacity: Option<Capacity>,
    /// What of its workloads is shown where it is written or printed.
    pub redaction: Redaction,
}

impl Comparison {
    /// Whether its rows are commands that are timed, and not servers that are loaded.
    pub fn is_timed(&self) -> bool {
        self.rows
            .iter()
            .all(|row| row.subject.kind == Kind::Command)
    }

    /// Whether its rows are generators that load one subject, and not subjects.
    pub fn is_of_generators(&self) -> bool {
        self.rows.iter().any(|row| row.generator.is_some())
    }
}

/// Where subjects and generator run.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cores {
    /// The cores of the subjects.
    #[serde(default)]
    pub server: Choice,
    /// The cores of the generator, one worker on each.
    #[serde(default)]
    pub generator: Choice,
}

/// What must hold while the highest rate is searched, and where it is searched.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Capacity {
    /// The conditions.
    #[serde(deserialize_with = "conditions")]
    pub slo: Vec<Threshold>,
    /// The rate that is tried first.
    #[serde(default, deserialize_with = "document::rate")]
    pub from: Option<f64>,
    /// The highest.
    #[serde(default, deserialize_with = "document::rate")]
    pub to: Option<f64>,
}

fn conditions<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Threshold>, D::Error> {
    let texts = Vec::<String>::deserialize(from)?;
    let read = texts
        .iter()
        .map(|text| text.parse().map_err(D::Error::custom));
    read.collect()
}

/// The file as it stands, before the checks across its fields.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    name: Option<Spanned<String>>,
    question: Option<String>,
    subjects: Option<Spanned<Vec<Spanned<String>>>>,
    #[serde(default)]
    rows: Vec<WrittenRow>,
    baseline: Option<Spanned<String>>,
    #[serde(default = "rounds")]
    rounds: Spanned<u32>,
    #[serde(default = "seed")]
    seed: u64,
    #[serde(
        default = "smallest_difference",
        deserialize_with = "document::percent"
    )]
    smallest_difference: f64,
    rounds_per_start: Option<NonZeroU32>,
    aa: Option<bool>,
    ceiling: Option<bool>,
    #[serde(default, deserialize_with = "precision")]
    precision: Option<f64>,
    #[serde(default, deserialize_with = "budget")]
    budget: Option<Duration>,
    /// None where commands are timed.
    workload: Option<Workload>,
    #[serde(default, rename = "phase")]
    phases: Vec<phase::Written>,
    #[serde(default)]
    faults: Vec<faults::schedule::Written>,
    #[serde(default, deserialize_with = "budget")]
    goodput_within: Option<Duration>,
    sweep: Option<Spanned<points::Written>>,
    judge: Option<Spanned<judging::Written>>,
    #[serde(default)]
    cores: Cores,
    network: Option<Spanned<netns::Wanted>>,
    engine: Option<Spanned<String>>,
    capacity: Option<Capacity>,
    #[serde(rename = "gate")] // Is for `ringside gate`, which reads it by itself.
    _gate: Option<IgnoredAny>,
    /// Headers, metadata and query parameters that are secrets, besides those that always are.
    #[serde(default)]
    redact: Vec<String>,
    /// Whether bodies and messages are recorded as they are.
    #[serde(default)]
    record_body: bool,
}

/// A row as it stands in the file: a subject with a name of its own and another workload.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenRow {
    name: Spanned<String>,
    subject: Spanned<String>,
    #[serde(default)]
    workload: Difference,
    generator: Option<Spanned<Generator>>,
    #[serde(default)]
    start: Varied,
    #[serde(default)]
    limits: Limits,
    #[serde(default)]
    network: netns::link::Written,
}

fn rounds() -> Spanned<u32> {
    Spanned::new(0..0, ROUNDS)
}

fn seed() -> u64 {
    1
}

fn smallest_difference() -> f64 {
    0.02
}

fn precision<'de, D: Deserializer<'de>>(from: D) -> Result<Option<f64>, D::Error> {
    let share = document::percent(from)?;
    match share > 0.0 {
        true => Ok(Some(share)),
        false => Err(D::Error::custom(PRECISION_ZERO)),
    }
}

fn budget<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Duration>, D::Error> {
    document::some_duration(from).map(Some)
}

impl Comparison {
    /// Reads a comparison and the subjects it names. `subjects` is the folder of subjects; without
    /// it `subjects/` is looked for beside the file, above it, and in the current folder.
    pub fn read(file: &Path, subjects: Option<&Path>) -> Result<Comparison, BadFile> {
        let redaction = Redaction::default();
        Comparison::read_with_text(file, subjects, &redaction).map(|(comparison, _)| comparison)
    }

    /// The same, with the bytes of the file. The file may name more to hide than `redaction` does.
    pub fn read_with_text(
        file: &Path,
        subjects: Option<&Path>,
        redaction: &Redaction,
    ) -> Result<(Comparison, Vec<u8>), BadFile> {
        let (written, document) = Document::read::<Written>(file)?;
        let places = Places::of(file, subjects);
        let comparison = Comparison::of(written, &document, file, places, redaction)?;
        Ok((comparison, document.bytes()))
    }

    /// The same of servers that were given as arguments.
    pub(crate) fn of_made(
        made: &Made,
        redaction: &Redaction,
    ) -> Result<(Comparison, Vec<u8>), BadFile> {
        let file = Path::new("the command line");
        let (written, document) = Document::of::<Written>(file, made.text.clone())?;
        let places = Places::made(&made.subjects);
        let comparison = Comparison::of(written, &document, Path::new(""), places, redaction)?;
        Ok((comparison, document.bytes()))
    }

    fn of(
        mut written: Written,
        document: &Document,
        file: &Path,
        places: Places,
        redaction: &Redaction,
    ) -> Result<Comparison, BadFile> {
        let wanted = wanted(&mut written, document)?;
        check(&written, &wanted, document)?;
        linked::check(&written, &wanted, document)?;
        let phases = std::mem::take(&mut written.phases);
        let timed =
            written.workload.is_none() && begins_with_a_command(&wanted, document, &places)?;
        let mut workload = match (written.workload.take(), timed) {
            (Some(workload), _) => workload,
            (None, true) => Workload::of_commands(),
            (None, false) => Workload::default(),
        };
        let mut phases = phase::read(phases, &mut workload, document)?;
        let faults = std::mem::take(&mut written.faults);
        let faults = faulted::read(faults, &phases, &workload, timed, document)?;
        let judging = judging(&mut written, &phases, &workload, timed, document)?;
        if phases.is_empty() {
            phases = judging.phases(workload.window, &faults);
        }
        let redaction = redaction.clone().naming(&written.redact);
        let reader = Reader {
            redaction: redaction.showing_bodies(written.record_body),
            timed,
            places,
            name: name(&written, file, document)?,
            beside: file.parent().unwrap_or(Path::new("")),
            written: &written,
            phases,
            faults,
            judging,
            document,
        };
        let Some(sweep) = &written.sweep else {
            let rows = reader.rows(wanted, &workload)?;
            return Ok(reader.comparison(workload, rows));
        };
        let points = points::read(sweep, document)?;
        reader.check_sweep(sweep, &points, &wanted)?;
        let mut comparisons = Vec::new();
        for (at, point) in points.into_iter().enumerate() {
            let mut workload = workload.clone();
            point.apply(&mut workload);
            let rows = reader.rows(wanted.clone(), &workload)?;
            reader.check_followed(sweep, point, &rows)?;
            let mut comparison = reader.comparison(workload, rows);
            comparison.seed = arrivals::seed_of_point(written.seed, at);
            comparisons.push((point, comparison));
        }
        let mut whole = comparisons[0].1.clone();
        whole.seed = written.seed;
        whole.points = comparisons;
        Ok(whole)
    }
}

impl Comparison {
    /// Puts the baseline in the place of all other rows, under the name of a twin.
    pub fn compare_baseline_with_itself(&mut self) {
        self.rows.retain(|row| row.name == self.baseline);
        let twin = self.rows.first().map(|row| Row {
            name: format!("{}-twin", row.name),
            ..row.clone()
        });
        self.rows.extend(twin);
    }
}

/// A file that is being read, with all that its rows need.
struct Reader<'a> {
    written: &'a Written,
    redaction: Redaction,
    /// Commands are timed: there is no workload.
    timed: bool,
    phases: Vec<Phase>,
    faults: Vec<Fault>,
    judging: Judging,
    document: &'a Document,
    name: String,
    places: Places,
    beside: &'a Path,
}

impl Reader<'_> {
    fn rows(&self, wanted: Vec<Wanted>, common: &Workload) -> Result<Vec<Row>, BadFile> {
        let mut rows = Vec::new();
        let of_generators = self.check_generators(&wanted, common)?;
        for wanted in wanted {
            let mut workload = common.with(wanted.difference);
            let subject = self.places.read(&wanted.subject, self.document)?;
            let mut subject = subject.suited(&workload);
            wanted.start.vary(&mut subject, &self.redaction);
            subject.limit(wanted.limits);
            let link = wanted.network.or(&linked::network(self.written).link);
            subject.description += &link.told();
            self.proxy(&mut subject);
            let mut question = workload
                .question(self.beside)
                .map_err(|what| self.document.fault(Some(workload.path.span()), what))?;
            self.check_steps(&question)?;
            self.check_rates(&question)?;
            self.redaction.learn_from(&question.redaction);
            question.redaction = self.redaction.clone();
            workload.rate = workload.rate.or(question.rate());
            question.tell_secrets();
            for answer in &subject.answers {
                answer.tell_secrets(&self.redaction);
            }
            self.check_kind(&subject, &wanted.subject)?;
            self.check_faults(&subject, of_generators)?;
            if !self.timed {
                declared(&subject, &question, &workload, self.document)?;
            }
            if of_generators
                && (question.is_mixed()
                    || !question.expect.is_empty()
                    || !question.ways.are_usual())
            {
                let what = "generators are compared, and requests that differ or expect more are \
                            for servers: write them into the generators' commands";
                return Err(self.document.fault(Some(wanted.name.span()), what));
            }
            let generator = match (wanted.generator, of_generators) {
                (Some(generator), _) => Some(generator.into_inner()),
                (None, true) => Some(self.ours(&wanted.name, &question, &workload, subject.tls)?),
                (None, false) => None,
            };
            if let Some(generator) = &generator {
                generator.tell_secrets(&self.redaction);
                self.check_counter(&subject, &wanted.subject)?;
            }
            rows.push(Row {
                name: wanted.name.into_inner(),
                subject,
                workload,
                question,
                generator,
                folder: self.folder(),
                warm_up_max: None,
                link,
                proxied: self.is_proxied(),
            });
        }
        Ok(rows)
    }

    /// Conditions of phases are about steps that there are.
    fn check_steps(&self, question: &Question) -> Result<(), BadFile> {
        let names = question.mix.as_ref().map(|mix| mix.workload.names().0);
        let names = names.unwrap_or_default();
        let rules = self.phases.iter().flat_map(|phase| &phase.pass);
        let mut unknown = rules
            .filter(|rule| {
                rule.step()
                    .is_some_and(|step| !names.iter().any(|one| one == step))
            })
            .map(|rule| format!("`{rule}` in `pass` is about a request that isn't in `targets`"));
        match unknown.next() {
            Some(what) => Err(self.document.fault(None, what)),
            None => Ok(()),
        }
    }

    /// The messages of a WebSocket have no rate, in no phase; flows and replays have their own.
    fn check_rates(&self, question: &Question) -> Result<(), BadFile> {
        if question.has_users() || question.is_replay() {
            return match self.judging.equal_rate {
                Some(_) => Err(self.document.fault(None, supervisor::WITHOUT_RATE)),
                None => Ok(()),
            };
        }
        if !question.has_flow() {
            return Ok(());
        }
        let rates = self.phases.iter().map(|phase| phase.rate);
        let mut rated = rates.map(flow::rated);
        let what = rated.find_map(Result::err).or_else(|| {
            let is_equal = self.judging.equal_rate.is_some();
            is_equal.then(|| {
                "`equal_rate` in [judge]: the waits between the messages of a WebSocket say when \
                 a connection sends the next one, and so would a rate: remove it"
                    .to_owned()
            })
        });
        what.map_or(Ok(()), |what| Err(self.document.fault(None, what)))
    }

    /// Servers are loaded and commands are timed; no workload fits both.
    fn check_kind(&self, subject: &Subject, named: &Spanned<String>) -> Result<(), BadFile> {
        let name = &subject.name;
        let changing = self.written.sweep.is_some() || !self.phases.is_empty();
        let what = match (self.timed, subject.kind) {
            (true, Kind::Server) => format!(
                "{name} is a server, and the first subject is a timed command: expected only one \
                 of both kinds"
            ),
            (false, Kind::Command) => format!(
                "{name} is a timed command: expected only other commands beside it, and no \
                 [workload]"
            ),
            (true, Kind::Command) if changing => {
                format!("{name} is a timed command: [sweep] and [[phase]] are for servers")
            }
            _ => return Ok(()),
        };
        Err(self.document.fault(Some(named.span()), what))
    }

    fn comparison(&self, mut workload: Workload, rows: Vec<Row>) -> Comparison {
        let written = self.written;
        workload.rate = rows[0].workload.rate;
        let engine = written.engine.as_ref();
        Comparison {
            name: self.name.clone(),
            question: written.question.clone().unwrap_or_else(|| question(&rows)),
            baseline: match &written.baseline {
                Some(baseline) => baseline.get_ref().clone(),
                None => rows[0].name.clone(),
            },
            rows,
            rounds: *written.rounds.get_ref(),
            seed: written.seed,
            smallest_difference: written.smallest_difference,
            rounds_per_start: written.rounds_per_start,
            aa: written.aa,
            ceiling: written.ceiling,
            precision: written.precision,
            budget: written.budget,
            phases: self.phases.clone(),
            faults: self.faults.clone(),
            goodput_within: written.goodput_within,
            judging: self.judging.clone(),
            points: Vec::new(),
            workload,
            cores: written.cores.clone(),
            network: linked::network(written),
            engine: engine.map_or("auto".into(), |engine| engine.get_ref().clone()),
            capacity: written.capacity.clone(),
            redaction: self.redaction.clone(),
        }
    }

    /// A sweep and phases both change the load; and a row that fixes what is swept stands still.
    fn check_sweep(
        &self,
        sweep: &Spanned<points::Written>,
        points: &[Point],
        wanted: &[Wanted],
    ) -> Result<(), BadFile> {
        let fault = |what: String| Err(self.document.fault(Some(sweep.span()), what));
        if !self.phases.is_empty() {
            return fault("both [sweep] and [[phase]]; expected one of them".into());
        }
        let fixed = wanted.iter().find(|row| {
            points
                .iter()
                .any(|point| point.is_fixed_by(&row.difference))
        });
        match fixed {
            Some(row) => fault(format!(
                "`{}` sets its own {}, which the sweep changes: remove it from the row",
                row.name.get_ref(),
                points[0].key().name()
            )),
            None => Ok(()),
        }
    }

    /// A sweep that changes nothing for a row is a mistake.
    fn check_followed(
        &self,
        sweep: &Spanned<points::Written>,
        point: Point,
        rows: &[Row],
    ) -> Result<(), BadFile> {
        let still = rows.iter().find_map(|row| match point.key() {
            Key::Workers => (!row.subject.takes_workers()).then(|| {
                format!(
                    "{} doesn't use {{workers}} in its command",
                    row.subject.name
                )
            }),
            Key::Payload => (!row.workload.uses_payload(self.beside))
                .then(|| format!("the requests for {} don't use {{payload}}", row.name)),
            Key::Streams => (!matches!(row.workload.protocol, Protocol::Http2 | Protocol::Grpc))
                .then(|| {
                    format!(
                        "{} has no streams, because it's asked over {}",
                        row.name,
                        row.question.protocol.name()
                    )
                }),
            Key::Connections | Key::Rate => None,
        });
        match still {
            Some(why) => {
                let what = format!("the sweep would change nothing: {why}");
                Err(self.document.fault(Some(sweep.span()), what))
            }
            None => Ok(()),
        }
    }
}

impl Reader<'_> {
    fn folder(&self) -> PathBuf {
        let folder = match self.beside == Path::new("") {
            true => Path::new("."),
            false => self.beside,
        };
        std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned())
    }
}

/// What rows are judged by, where that can be.
fn judging(
    written: &mut Written,
    phases: &[Phase],
    workload: &Workload,
    timed: bool,
    document: &Document,
) -> Result<Judging, BadFile> {
    let Some(judge) = written.judge.take() else {
        return Ok(Judging::default());
    };
    let place = judge.span();
    let judging = Judging::new(judge.into_inner());
    let generators = written.rows.iter().any(|row| row.generator.is_some());
    let mut rows = written.rows.iter();
    let events = workload.events || rows.any(|row| row.workload.events == Some(true));
    let mut figures = judging.figures.iter();
    let of_events = figures.any(|one| matches!(one, Metric::Streamed(_)));
    let why = match judging.equal_rate {
        _ if timed => "timed commands are judged by their time and their CPU time: remove [judge]",
        _ if generators => {
            "load generators are judged by their CPU time per request and by the requests they get \
             answered: remove [judge]"
        }
        _ if !events && of_events => Streamed::NOT_TIMED,
        None => return Ok(judging),
        Some(_) if !phases.is_empty() => {
            "`equal_rate` adds a phase of its own: remove it or the [[phase]]s"
        }
        Some(_) if written.sweep.is_some() => "`equal_rate` and [sweep]; expected one of them",
        Some(_) if workload.rate.is_some() => {
            "`equal_rate` is offered beside a closed loop: remove it, or `rate` from [workload]"
        }
        Some(_) => return Ok(judging),
    };
    Err(document.fault(Some(place), why))
}

/// A row that is wanted, from either way of writing it.
#[derive(Clone)]
struct Wanted {
    name: Spanned<String>,
    subject: Spanned<String>,
    difference: Difference,
    generator: Option<Spanned<Generator>>,
    start: Varied,
    limits: Limits,
    network: netns::link::Written,
}

fn wanted(written: &mut Written, document: &Document) -> Result<Vec<Wanted>, BadFile> {
    let rows = std::mem::take(&mut written.rows);
    match &written.subjects {
        Some(names) if !rows.is_empty() => {
            let what = "both `subjects` and [[rows]]; expected one of them";
            Err(document.fault(Some(names.span()), what))
        }
        Some(names) => Ok(names
            .get_ref()
            .iter()
            .map(|name| Wanted {
                name: name.clone(),
                subject: name.clone(),
                difference: Difference::default(),
                generator: None,
                start: Varied::default(),
                limits: Limits::default(),
                network: netns::link::Written::default(),
            })
            .collect()),
        None => {
            let bad = rows.iter().find(|row| !is_plain_name(row.name.get_ref()));
            if let Some(WrittenRow { name, .. }) = bad {
                return Err(document.fault(Some(name.span()), NOT_A_NAME));
            }
            let wanted = rows.into_iter().map(|row| Wanted {
                name: row.name,
                subject: row.subject,
                difference: row.workload,
                generator: row.generator,
                start: row.start,
                limits: row.limits,
                network: row.network,
            });
            Ok(wanted.collect())
        }
    }
}

/// Nothing is timed that was not verified.
fn declared(
    subject: &Subject,
    question: &Question,
    workload: &Workload,
    document: &Document,
) -> Result<(), BadFile> {
    let path = &question.path;
    if question.protocol == Protocol::Grpc && question.proto.is_none() {
        let what = "a gRPC method needs a file that describes it: expected `proto = \
                    \"FILE.proto\"`";
        return Err(document.fault(Some(workload.path.span()), what));
    }
    // Each request of a mix is asked for, and has to be a success, before the load.
    if question.mix.is_some() || subject.answer(path, question.protocol).is_some() {
        return Ok(());
    }
    let known = subject.answers.iter();
    let known = known.map(|answer| format!("`{}` over {}", answer.path, answer.protocol.name()));
    let known: Vec<String> = known.collect();
    let what = format!(
        "{} declares no answer to `{path}` over {}, only to {}: ask for one of these, or add an \
         [[answer]] to its subject.toml, because we time only answers we can verify",
        subject.name,
        question.protocol.name(),
        known.join(", "),
    );
    Err(document.fault(Some(workload.path.span()), what))
}

/// What the file calls it; else what the file is called.
fn name(written: &Written, file: &Path, document: &Document) -> Result<String, BadFile> {
    let stem = || Some(file.file_stem()?.to_string_lossy().into_owned());
    let (name, span) = match &written.name {
        Some(name) => (name.get_ref().clone(), Some(name.span())),
        None => (stem().unwrap_or_default(), None),
    };
    match is_plain_name(&name) {
        true => Ok(name),
        false => Err(document.fault(span, NOT_A_NAME)),
    }
}

/// The question of a file that asks none.
fn question(rows: &[Row]) -> String {
    let names: Vec<&str> = rows.iter().map(|row| row.name.as_str()).collect();
    match names.split_last() {
        Some((last, [])) => format!("How does {last} do?"),
        Some((last, others)) => format!("How do {} and {last} compare?", others.join(", ")),
        None => String::new(),
    }
}

/// Whether a file without a workload times commands. Then all of its subjects are some.
fn begins_with_a_command(
    wanted: &[Wanted],
    document: &Document,
    places: &Places,
) -> Result<bool, BadFile> {
    let Some(first) = wanted.first() else {
        return Ok(false);
    };
    let subject = places.read(&first.subject, document)?;
    Ok(subject.kind == Kind::Command)
}

fn check(written: &Written, wanted: &[Wanted], document: &Document) -> Result<(), BadFile> {
    let fault = |span, what: String| Err(document.fault(Some(span), what));
    let rounds = *written.rounds.get_ref();
    if !(1..=ROUNDS_MAX).contains(&rounds) {
        let what = format!("{rounds} rounds is out of range: use 1 to {ROUNDS_MAX}");
        return fault(written.rounds.span(), what);
    }
    if wanted.is_empty() && written.subjects.is_none() {
        let what = "expected `subjects = [\"NAME\", \"NAME\"]`, or [[rows]]";
        return Err(document.fault(None, what));
    }
    if wanted.is_empty() || wanted.len() > SUBJECTS_MAX {
        let what = format!(
            "{} subjects is out of range: use 1 to {SUBJECTS_MAX}",
            wanted.len()
        );
        let span = written.subjects.as_ref().map(Spanned::span);
        return Err(document.fault(span, what));
    }
    let mut seen = BTreeSet::new();
    for Wanted { name, .. } in wanted {
        if !seen.insert(name.get_ref().as_str()) {
            let what = format!("`{}` appears twice", name.get_ref());
            return fault(name.span(), what);
        }
    }
    if let Some(baseline) = &written.baseline
        && !seen.contains(baseline.get_ref().as_str())
    {
        let what = format!(
            "the baseline `{}` isn't one of the subjects{}",
            baseline.get_ref(),
            meant(baseline.get_ref(), seen),
        );
        return fault(baseline.span(), what);
    }
    match &written.engine {
        Some(engine) if !["auto", "uring", "epoll"].contains(&engine.get_ref().as_str()) => {
            let what = format!(
                "engine `{}`; expected auto, uring or epoll",
                engine.get_ref()
            );
            fault(engine.span(), what)
        }
        _ => Ok(()),
    }
}

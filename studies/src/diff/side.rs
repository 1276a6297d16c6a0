//! One of the two measurements: a comparison, a round of one, or the record of a run.

use std::fs;
use std::path::Path;

use lab::judged;
use lab::judging::EQUAL;
use lab::manifest::{Cold, Role, RowFacts, Setup};
use lab::round::Round;
use lab::sample::Sample;
use lab::steps;
use lab::store::{CAPACITY, Kept, MANIFEST, SWEEP, TRIALS};
use lab::verdict::{Metric, Side, noise_floor};
use load::redaction::without_hashes;
use load::{Record, Stop};
use measure::host::Host;
use netns::Network;
use netns::link::Link;
use report::pack::{Records, is_pack};
use serde::Deserialize;
use serde_json::Value;

/// A difference that is called one where nobody says otherwise.
const SMALLEST: f64 = 0.02;

/// The times that a request of a mix is judged by.
const TIMES: [Metric; 2] = [Metric::ResponseTimeP50, Metric::ResponseTimeP99];

/// What was measured, and what of.
#[derive(Clone, Debug)]
pub struct Measured {
    /// What kind of measurement it is, in words.
    kind: &'static str,
    /// What must be the same of two that are compared: what it is, and its value.
    workload: Vec<(&'static str, String)>,
    metric: Metric,
    at_a_rate: bool,
    host: Host,
    /// The rate at which all rows were measured besides the closed loop, if there was one.
    equal_rate: Option<f64>,
    /// The network in which everything ran, if that was kept.
    network: Option<Network>,
    /// The version of ringside.
    version: String,
    /// Differences below this share are called none.
    pub smallest: f64,
    /// The rows that are compared, and what else was measured beside them.
    pub rows: Vec<MeasuredRow>,
    /// The baseline's rounds with those of the baseline once more, if it was measured.
    noise: Option<(Vec<Sample>, Vec<Sample>)>,
    /// The names of those two rows.
    noise_of: Option<[String; 2]>,
    /// The rows that were measured cold and are left out, and how cold.
    cold: Vec<(String, Cold)>,
    /// Whether it is of one request of a mix.
    is_request: bool,
    cautions: Vec<String>,
}

/// In which network; before there were private ones it was the host's.
fn phrase(network: &Option<Network>) -> &'static str {
    network
        .as_ref()
        .map_or("the host's network", Network::phrase)
}

/// A row with its rounds.
#[derive(Clone, Debug)]
pub struct MeasuredRow {
    /// Its name.
    pub name: String,
    /// What it is for.
    pub role: Role,
    /// Its rounds, those that don't count among them.
    pub samples: Vec<Sample>,
    /// The same of each request of a mix, by its name; empty where all requests are alike.
    steps: Vec<(String, Vec<Sample>)>,
    /// What it is asked, where that differs from row to row.
    asked: Option<String>,
    /// What it is, where that was recorded.
    program: Option<RowFacts>,
}

impl MeasuredRow {
    /// A row of a comparison.
    fn of(row: &judged::Measured<'_>, rounds: &[Round]) -> MeasuredRow {
        let facts = row.facts;
        let counts = facts.spoilt.is_none() || facts.role == Role::Subject;
        let own = rounds.iter().filter(|round| round.row == facts.name);
        let own = own.filter(|_| counts);
        let steps = steps::of_row(row, rounds).into_iter().filter(|_| counts);
        MeasuredRow {
            name: facts.name.clone(),
            role: facts.role,
            samples: own.map(|round| round.sample.clone()).collect(),
            steps: steps
                .map(|step| (step.name.to_owned(), step.samples))
                .collect(),
            asked: facts.asked.clone(),
            program: facts.spoilt.is_none().then(|| facts.clone()),
        }
    }

    /// It in the rounds of one of its requests.
    fn of_request(&self, name: &str) -> MeasuredRow {
        let step = self.steps.iter().find(|(known, _)| known == name);
        MeasuredRow {
            samples: step.map(|(_, samples)| samples.clone()).unwrap_or_default(),
            steps: Vec::new(),
            ..self.clone()
        }
    }

    /// How many of its rounds count.
    pub(super) fn counting(&self) -> usize {
        let counts = |sample: &&Sample| sample.void().is_none();
        self.samples.iter().filter(counts).count()
    }

    /// Why it is not known to be the same program `after`, if it is not.
    pub(super) fn changed(&self, after: &MeasuredRow) -> Option<String> {
        match self.difference(after)? {
            Difference::Seen(why) | Difference::Unknown(why) => Some(why.to_owned()),
        }
    }

    /// What keeps it from being the same program `after`; none where it is known to be the same.
    pub fn difference(&self, after: &MeasuredRow) -> Option<Difference> {
        use Difference::{Seen, Unknown};
        let (Some(old), Some(new)) = (&self.program, &after.program) else {
            return Some(Unknown("its executable wasn't recorded"));
        };
        let hashes = |facts: &RowFacts| -> Vec<String> {
            let binaries = facts.binaries.iter();
            binaries.map(|binary| binary.sha256.clone()).collect()
        };
        Some(match (old, new) {
            _ if old.subject != new.subject => Seen("it's a different subject"),
            _ if old.version != new.version => Seen("its version changed"),
            _ if old.command != new.command => Seen("its command changed"),
            _ if hashes(old) != hashes(new) => Seen("its executable changed"),
            _ if hashes(new).is_empty() => Unknown("its executable wasn't recorded"),
            // All that our own server does is in its program and its command.
            _ if new.own_server => return None,
            _ if old.source.is_none() || new.source.is_none() => {
                Unknown("its source wasn't recorded")
            }
            _ if old.source != new.source => Seen("its source changed"),
            _ => return None,
        })
    }
}

/// What keeps a row from being the same program in two sessions, as a clause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Difference {
    /// It is another program.
    Seen(&'static str),
    /// It may be the same, which the records don't say.
    Unknown(&'static str),
}

impl Measured {
    pub(super) fn read(path: &Path, stop: &Stop) -> Result<Measured, String> {
        if path.is_dir() || is_pack(path) {
            let records = Records::open(path, stop)?;
            if let Some(what) = no_comparison(records.folder()) {
                return Err(format!("{}: {what}", path.display()));
            }
            return Ok(Measured::of_comparison(Kept::read_from(records.source())?));
        }
        // A round has a row; what else a file may be, a record says itself.
        #[derive(Deserialize)]
        struct Kind {
            row: Option<String>,
        }
        let named = |what: String| format!("{}: {what}", path.display());
        let text = fs::read_to_string(path).map_err(|error| {
            named(format!(
                "{error}; give a directory of ringside compare, or the output of ringside run \
                 --format json"
            ))
        })?;
        let kind = serde_json::from_str::<Kind>(&text);
        let kind = kind.map_err(|error| {
            named(format!(
                "neither a round nor a record ({error}); give the output of ringside run --format \
                 json, or a directory of ringside compare"
            ))
        })?;
        match kind.row {
            Some(_) => Round::from_json(&text).and_then(Measured::of_round),
            None => Record::from_json(&text).and_then(|record| Measured::of_record(&record)),
        }
        .map_err(named)
    }

    /// That of a comparison, from its folder.
    pub fn of_comparison(mut kept: Kept) -> Measured {
        for round in &mut kept.rounds {
            round.sample.start = round.start;
        }
        let (manifest, setup) = (&kept.manifest, &kept.manifest.setup);
        let warm = |row: &&RowFacts| row.cold.is_none();
        let cold = manifest
            .rows
            .iter()
            .filter_map(|row| Some((row, row.cold?)));
        let cold: Vec<_> = cold.map(|(row, cold)| (row.name.clone(), cold)).collect();
        let again = manifest.rows.iter().filter(warm);
        let mut again = again.filter(|row| row.role == Role::Again);
        let is_cold = |name: &str| cold.iter().any(|(row, _)| row == name);
        let noise_of = again.next().filter(|_| !is_cold(&setup.baseline));
        let noise_of = noise_of.map(|again| [setup.baseline.clone(), again.name.clone()]);
        let samples = |name: &String| -> Vec<Sample> {
            let own = kept.rounds.iter().filter(|round| round.row == *name);
            own.map(|round| round.sample.clone()).collect()
        };
        let measured = judged::Measured::all(manifest, &kept.rounds);
        let rows = measured.iter().filter(|row| row.facts.cold.is_none());
        Measured {
            kind: "comparison",
            workload: workload_of(setup),
            metric: setup.metric,
            at_a_rate: setup.rate.is_some(),
            host: manifest.host.clone(),
            equal_rate: setup.equal_rate,
            network: manifest.network.clone(),
            version: setup.ringside.clone(),
            smallest: setup.smallest_difference,
            rows: rows.map(|row| MeasuredRow::of(row, &kept.rounds)).collect(),
            noise: noise_of.as_ref().map(|[a, b]| (samples(a), samples(b))),
            noise_of,
            cold,
            is_request: false,
            cautions: Vec::new(),
        }
    }

    fn of_round(round: Round) -> Result<Measured, String> {
        let Some(record) = &round.record else {
            return Err(
                "a single round of a timed command doesn't say what ran; give the comparison's \
                 directory"
                    .to_owned(),
            );
        };
        let row = MeasuredRow {
            name: round.row.clone(),
            role: Role::Subject,
            samples: vec![started(&round)],
            steps: Vec::new(),
            asked: None,
            program: None,
        };
        Measured::of_record(record).map(|mut measured| {
            let steps = measured.rows.pop().map(|row| row.steps);
            Measured {
                kind: "round",
                rows: vec![MeasuredRow {
                    steps: steps.unwrap_or_default(),
                    ..row
                }],
                ..measured
            }
        })
    }

    /// That of a run, from its record.
    ///
    /// # Errors
    /// Its plan has no form in JSON.
    pub fn of_record(record: &Record) -> Result<Measured, String> {
        let plan = serde_json::to_value(&record.plan).map_err(|error| error.to_string())?;
        let facts = [
            ("protocol", &plan["protocol"]),
            ("method", &plan["request"]["method"]),
            ("headers", &plan["request"]["headers"]),
            ("body", &plan["request"]["body"]),
            ("requests", &requests(&plan["workload"])),
            ("schedule", &plan["schedule"]),
            ("number of connections", &plan["connections"]),
            ("pipelining", &plan["pipeline"]),
            ("keep-alive", &plan["keep_alive"]),
        ];
        let mut workload: Vec<(&str, String)> = facts
            .into_iter()
            .map(|(fact, value)| (fact, in_words(value)))
            .collect();
        workload.push(("path", record.plan.target.path.clone()));
        workload.push(("scheme", record.plan.target.scheme.clone()));
        let sample = Sample {
            // No one watched the server's processes.
            server_cpu_us_per_exchange: None,
            ..Sample::new(1, record, Default::default(), 1)
        };
        let why = record
            .warnings
            .first()
            .map_or("it doesn't say why", String::as_str);
        let invalid = (!record.valid).then(|| format!("one of the records is invalid: {why}"));
        Ok(Measured {
            kind: "record of a run",
            workload,
            metric: match record.offered_rate {
                Some(_) => Metric::ResponseTimeP99,
                None => Metric::RequestsPerSecond,
            },
            at_a_rate: record.offered_rate.is_some(),
            host: record.host.clone(),
            equal_rate: None,
            network: None,
            version: record.generator.version.clone(),
            smallest: SMALLEST,
            rows: vec![MeasuredRow {
                name: "run".to_owned(),
                role: Role::Subject,
                steps: steps::of_record(&sample, record),
                samples: vec![sample],
                asked: None,
                program: None,
            }],
            noise: None,
            noise_of: None,
            cold: Vec::new(),
            is_request: false,
            cautions: invalid.into_iter().collect(),
        })
    }

    /// The rows that are compared.
    pub(super) fn subjects(&self) -> impl Iterator<Item = &MeasuredRow> {
        self.rows.iter().filter(|row| row.role == Role::Subject)
    }

    pub(super) fn row(&self, name: &str) -> Option<&MeasuredRow> {
        self.rows.iter().find(|row| row.name == name)
    }

    /// Whether it is a single run or round, of which no interval can be had.
    pub(super) fn is_single(&self) -> bool {
        self.kind != "comparison"
    }

    /// What rows are judged by.
    pub fn metrics(&self) -> impl Iterator<Item = Metric> {
        let cost = self.at_a_rate && self.kind != "record of a run";
        let cost = cost.then_some(Metric::ServerCpuPerExchange);
        let whole = [self.metric].into_iter().chain(cost);
        let times = TIMES.into_iter().filter(|_| self.is_request);
        whole.filter(|_| !self.is_request).chain(times)
    }

    /// Whether a row was measured cold, and is therefore left out.
    pub fn has_cold_rows(&self) -> bool {
        !self.cold.is_empty()
    }

    /// The same without its rounds: what remains says what was measured, and takes little room.
    pub fn without_rounds(mut self) -> Measured {
        for row in &mut self.rows {
            row.samples = Vec::new();
            row.steps = Vec::new();
        }
        self.noise = None;
        self
    }

    /// What must be the same of two that are compared: what it is, and its value.
    pub fn workload(&self) -> &[(&'static str, String)] {
        &self.workload
    }

    /// The machine.
    pub fn host(&self) -> &Host {
        &self.host
    }

    /// The requests of a mix, by name, in the order in which rows have them.
    pub(super) fn requests(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for (name, _) in self.subjects().flat_map(|row| &row.steps) {
            if !names.contains(&name.as_str()) {
                names.push(name);
            }
        }
        names
    }

    /// The same measurement of one request alone.
    pub(super) fn of_request(&self, name: &str) -> Measured {
        let rows: Vec<MeasuredRow> = self.rows.iter().map(|row| row.of_request(name)).collect();
        let samples = |row: &String| {
            let row = rows.iter().find(|known| known.name == *row);
            row.map(|row| row.samples.clone()).unwrap_or_default()
        };
        Measured {
            noise: self
                .noise_of
                .as_ref()
                .map(|[a, b]| (samples(a), samples(b))),
            rows,
            is_request: true,
            ..self.clone()
        }
    }

    /// Whether a row was measured cold, and is therefore left out.
    pub(super) fn is_cold(&self, name: &str) -> bool {
        self.cold.iter().any(|(row, _)| row == name)
    }

    /// The rows that are left out because they were measured cold, in sentences; `when` is the
    /// measurement.
    pub(super) fn left_out(&self, when: &str) -> Vec<String> {
        let said = |(row, cold): &(String, Cold)| {
            let Cold { needed_s, given_s } = cold;
            format!(
                "{row} isn't compared: it was measured cold {when}, after {given_s} s of load \
                 instead of the {needed_s} s it needs; measure it without --quick"
            )
        };
        self.cold.iter().map(said).collect()
    }

    /// What the baseline seemed to differ from itself by, if that was measured.
    pub(super) fn floor(&self, metric: Metric) -> Option<f64> {
        let (baseline, again) = self.noise.as_ref()?;
        let side = |samples| Side {
            samples,
            ..Side::named("")
        };
        noise_floor(side(again), side(baseline), metric, 1)
    }

    /// Whether the two can be compared.
    ///
    /// # Errors
    /// The reason that they cannot.
    pub fn comparable(&self, after: &Measured) -> Result<(), String> {
        if self.kind != after.kind {
            return Err(format!(
                "one is a {}, the other a {}",
                self.kind, after.kind
            ));
        }
        for ((what, before), (_, now)) in self.workload.iter().zip(&after.workload) {
            if without_hashes(before) != without_hashes(now) {
                return Err(format!("they differ in {what}: {before} before, {now} now"));
            }
        }
        for row in after.subjects() {
            let other = self.row(&row.name);
            let plain = |asked: &Option<String>| asked.as_deref().map(without_hashes);
            if let Some(other) = other.filter(|other| plain(&other.asked) != plain(&row.asked)) {
                let (before, now) = (said(&other.asked), said(&row.asked));
                let name = &row.name;
                return Err(format!(
                    "{name} gets different requests: {before} before, {now} now"
                ));
            }
        }
        self.same_links(after)?;
        let cpus = |host: &Host| host.cpus_online.map(|cpus| cpus.to_string());
        let facts: [(&str, Option<String>, Option<String>); 3] = [
            (
                "processor",
                self.host.cpu_model.clone(),
                after.host.cpu_model.clone(),
            ),
            ("number of CPUs", cpus(&self.host), cpus(&after.host)),
            (
                "architecture",
                self.host.architecture.clone(),
                after.host.architecture.clone(),
            ),
        ];
        for (what, before, now) in facts {
            if before != now {
                let (before, now) = (said(&before), said(&now));
                return Err(format!(
                    "they ran on different hosts: the {what} was {before} and is {now}"
                ));
            }
        }
        Ok(())
    }

    /// Rows may be reached over links of their own.
    fn same_links(&self, after: &Measured) -> Result<(), String> {
        let link = |row: &MeasuredRow| {
            let facts = row.program.as_ref()?;
            let link = facts.link.as_ref();
            Some(link.map_or("loopback".to_owned(), Link::words))
        };
        for row in after.subjects() {
            let before = self.row(&row.name).and_then(link);
            if let (Some(before), Some(now)) = (before, link(row))
                && before != now
            {
                return Err(format!(
                    "{} is reached over another network: {before} before, {now} now",
                    row.name
                ));
            }
        }
        Ok(())
    }

    /// What surrounds the rows and differs, such as the kernel: it may have changed their figures,
    /// and does not forbid to compare.
    pub fn surroundings(&self, after: &Measured) -> Vec<String> {
        let (old, new) = (&self.host, &after.host);
        let facts = [
            ("kernel", &old.kernel, &new.kernel),
            ("governor", &old.governor, &new.governor),
            (
                "congestion control",
                &old.congestion_control,
                &new.congestion_control,
            ),
            ("mitigations", &old.mitigations, &new.mitigations),
        ];
        let differ = facts.into_iter().filter(|(_, before, now)| before != now);
        let sentence = |what: &str, before: &str, now: &str| {
            format!("the {what} was {before} and is {now}, which may have changed the figures")
        };
        let mut cautions: Vec<String> = differ
            .map(|(what, before, now)| sentence(what, said(before), said(now)))
            .collect();
        let (before, now) = (phrase(&self.network), phrase(&after.network));
        if before != now {
            cautions.push(format!(
                "it was measured in {before} and is measured in {now}, which may have changed the \
                 figures"
            ));
        }
        if self.version != after.version {
            cautions.push(sentence(
                "version of ringside",
                &self.version,
                &after.version,
            ));
        }
        cautions
    }

    /// What differs and does not forbid to compare.
    pub(super) fn cautions(&self, after: &Measured) -> Vec<String> {
        let mut cautions = self.surroundings(after);
        if let (Some(before), Some(now)) = (self.equal_rate, after.equal_rate)
            && before != now
        {
            cautions.push(format!(
                "the figures at the equal rate can't be compared, because it was {before}/s and is \
                 {now}/s: to fix it, write equal_rate = \"{now}\" into [judge]; what is compared \
                 here are those of the closed loop"
            ));
        }
        if self.workload != after.workload {
            // Only their hashes differ, or they could not be compared at all.
            cautions.push(
                "secrets and bodies differ or are hidden with different keys, so we can't tell \
                 whether both sent the same"
                    .to_owned(),
            );
        }
        cautions.extend(self.cautions.iter().chain(&after.cautions).cloned());
        cautions
    }
}

/// Why a folder holds no comparison, if it doesn't: what else it is.
pub fn no_comparison(folder: &Path) -> Option<String> {
    let holds = |file: &str| folder.join(file).is_file();
    let others = [
        (SWEEP, "a sweep; give the directory of one of its points"),
        (TRIALS, "a series of trials; give the directory of one"),
        (CAPACITY, "a capacity search, but diff works on comparisons"),
    ];
    let other = others.into_iter().find(|(file, _)| holds(file));
    let nothing = "no comparison in it (no comparison.json); give a directory of ringside compare";
    (!holds(MANIFEST)).then(|| match other {
        Some((_, what)) => format!("this is {what}"),
        None => nothing.to_owned(),
    })
}

/// A part of a plan as people say it: `closed`, `constant (rate 100)`, `accept: text/html`.
fn in_words(value: &Value) -> String {
    let joined = |parts: Vec<String>| match parts.is_empty() {
        true => "none".to_owned(),
        false => parts.join(", "),
    };
    match value {
        Value::Null => "none".to_owned(),
        Value::Bool(on) => if *on { "on" } else { "off" }.to_owned(),
        Value::String(text) if text.is_empty() => "none".to_owned(),
        Value::String(text) => text.clone(),
        Value::Number(number) => number.to_string(),
        Value::Array(parts) => match parts.as_slice() {
            [Value::String(name), Value::String(value)] => format!("{name}: {value}"),
            parts => joined(parts.iter().map(in_words).collect()),
        },
        Value::Object(parts) => {
            let is_head = |name: &str| matches!(name, "kind" | "name");
            let head = parts.iter().find(|(name, _)| is_head(name));
            let rest = parts.iter().filter(|(name, _)| !is_head(name));
            let rest: Vec<String> = rest
                .map(|(name, value)| format!("{} {}", name.replace('_', " "), in_words(value)))
                .collect();
            match head {
                Some((_, head)) if rest.is_empty() => in_words(head),
                Some((_, head)) => format!("{} ({})", in_words(head), rest.join(", ")),
                None => joined(rest),
            }
        }
    }
}

/// What a plan's workload sends, wherever it goes and wherever it was read.
fn requests(workload: &Value) -> Value {
    let mut workload = workload.clone();
    if let Some(parts) = workload.as_object_mut() {
        parts.remove("file");
    }
    let steps = workload.get_mut("steps").and_then(Value::as_array_mut);
    for step in steps.into_iter().flatten() {
        step["target"] = step["target"]["path"].take();
        if let Some(parts) = step.as_object_mut() {
            parts.remove("at");
        }
    }
    workload
}

/// A round's figures, with the start that the round says.
fn started(round: &Round) -> Sample {
    Sample {
        start: round.start,
        ..round.sample.clone()
    }
}

/// The load, whatever rate was found for all rows: that is another one each time, and the closed
/// loop beside it has nothing to do with it.
fn load_of(setup: &Setup) -> String {
    let Some(rate) = setup.equal_rate else {
        return setup.load.clone();
    };
    let found = format!("{EQUAL}: {rate} requests/s");
    setup
        .load
        .replace(&found, &format!("{EQUAL}: one rate for all"))
}

fn workload_of(setup: &Setup) -> Vec<(&'static str, String)> {
    vec![
        ("metric", setup.metric.name().to_owned()),
        ("question", setup.asked.clone()),
        ("load", load_of(setup)),
        (
            "rate",
            setup.rate.map_or("none".into(), |rate| format!("{rate}/s")),
        ),
        (
            "number of cores of the subjects",
            setup.server_cores.len().to_string(),
        ),
        (
            "number of cores of the generator",
            setup.generator_cores.len().to_string(),
        ),
    ]
}

fn said(fact: &Option<String>) -> &str {
    fact.as_deref().unwrap_or("unknown")
}

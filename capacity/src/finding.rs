//! What was found: one model, which is written down as it is and which every report is made from.

use std::collections::BTreeMap;

use lab::sample::Sample;
use load::Record;
use measure::host::Host;
use measure::time::utc_stamp;
use netns::Network;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use statistics::format::per_second;
use statistics::knee::{self, Course};
use statistics::quantile::exchanges_min;
use supervisor::document::{self, indented};

mod curve;
mod objectives;
mod reach;
mod steps;

use super::connections::Limited;
use super::flows::Counted;
use super::scaling::Scaling;
use super::search::{Edge, Ending, Found, Kind, Limits, Probe, Verdict};
use super::slo::Judgement;
use super::{Goal, host};

use curve::curve;
pub use objectives::Objective;
pub use reach::Reach;
use reach::generator_was_the_limit;
pub use steps::StepFound;

/// The version of `capacity.json` that is written and read here.
pub const SCHEMA_VERSION: u32 = 1;

/// The capacities of one target, or of the rows of a comparison.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Capacities {
    /// The version of this structure.
    pub schema_version: u32,
    /// The version of ringside.
    pub ringside: String,
    /// When it began, UTC.
    pub began: String,
    /// The comparison's name, or `capacity`.
    pub name: String,
    /// The comparison's question.
    pub question: Option<String>,
    /// What is asked: a URL, or the question of the rows.
    pub asked: String,
    /// Connections and what is outstanding on each, in words.
    pub load: String,
    /// How requests are spaced: `poisson` or `constant`.
    pub arrivals: load::schedule::Arrivals,
    /// Whether rates and counts are those of whole flows of users, and not of requests.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub of_flows: bool,
    /// Whether requests that were made once are sent again, with their own gaps, faster or slower;
    /// `arrivals` says nothing then.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub replayed: bool,
    /// What must hold.
    pub slo: Vec<String>,
    /// The rate that every capacity has to reach; left out where none was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_least: Option<f64>,
    /// Seconds measured of each probe, at rates that bring enough exchanges.
    pub window_s: f64,
    /// Seconds of the same load before.
    pub settle_s: f64,
    /// What bounded the searches.
    pub limits: Limits,
    /// The seed of the search: the nth probe, counted from 1, has this plus n.
    pub seed: u64,
    /// The generator's engine, and why.
    pub engine: Option<String>,
    /// The machine.
    pub host: Host,
    /// The network in which everything ran; null where that wasn't kept, and for a target that
    /// somebody else runs.
    #[serde(default)]
    pub network: Option<Network>,
    /// What a reader must know before the figures.
    pub cautions: Vec<String>,
    /// The row that the others are compared with.
    pub baseline: Option<String>,
    /// Whose capacities, in the comparison's order.
    pub rows: Vec<RowCapacity>,
    /// The capacities as multiples of the baseline's.
    pub ratios: Vec<Ratio>,
    /// What can be concluded.
    pub conclusions: Vec<Conclusion>,
    /// What cannot, or only with care.
    pub reservations: Vec<String>,
    /// What ended the search before it was done, if something did.
    pub ended_early: Option<String>,
}

/// Something that can be concluded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Conclusion {
    /// In a sentence.
    pub says: String,
    /// What it rests on, in a sentence; may be empty.
    pub rests: String,
}

/// The capacity of one subject.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct RowCapacity {
    /// Its name, or its URL.
    pub name: String,
    /// What it is.
    pub description: Option<String>,
    /// Its version, as it says.
    pub version: Option<String>,
    /// Why there is no result, or none to the end.
    pub failed: Option<String>,
    /// The last lines that it wrote, if it failed.
    pub log: Vec<String>,
    /// What the search found; null where nothing was tried.
    pub found: Option<Found>,
    /// Every probe, in order.
    pub points: Vec<Point>,
    /// The probes put together by rate.
    pub curve: Vec<CurvePoint>,
    /// The requests of a mix at the highest rate that held; empty where all are alike.
    #[serde(default)]
    pub steps: Vec<StepFound>,
    /// Where the response time takes off below the edge: a heuristic.
    pub knee: Option<Knee>,
    /// Why no knee is named, in a few words.
    #[serde(default)]
    pub no_knee: Option<String>,
    /// Throughput over connections beside the law of scalability, if that was asked for.
    pub scaling: Option<Scaling>,
    /// The connections of its last probes; null in records from before it was kept.
    #[serde(default)]
    pub connections: Option<u32>,
    /// That these, and not the subject, were the limit; null where they were not.
    #[serde(default)]
    pub limited_by_connections: Option<Limited>,
    /// Why more connections could not be tried at that rate; null where they were.
    #[serde(default)]
    pub no_more_connections: Option<String>,
    /// About how many streams went on at once at the highest rate that held; left out where answers
    /// are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub streams_at_once: Option<f64>,
}

/// One probe.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Point {
    /// Its number, from 1; its record is `rounds/<row>/<number>.json`.
    pub number: u32,
    /// What it was for.
    pub kind: Kind,
    /// Exchanges per second that were asked for.
    pub rate: f64,
    /// Over so many connections; 0 in records from before it was kept.
    #[serde(default)]
    pub connections: u32,
    /// What was due, per second.
    pub offered: f64,
    /// What was answered as it should be, per second.
    pub achieved: f64,
    /// Seconds that were measured.
    pub seconds: f64,
    /// Exchanges that completed.
    pub completed: u64,
    /// Exchanges that failed, or were due and not finished.
    pub failed: u64,
    /// Errors by kind.
    pub errors: BTreeMap<String, u64>,
    /// The requests of a mix, each by itself; empty where all are alike.
    #[serde(default)]
    pub steps: Vec<StepFound>,
    /// Median response time in microseconds.
    pub p50_us: Option<f64>,
    /// 99th percentile of the response time in microseconds; null with fewer than 299 exchanges.
    pub p99_us: Option<f64>,
    /// What was measured of the other times and of events that conditions are about, by the name of
    /// the figure: times in microseconds, rates per second.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub objectives: BTreeMap<String, f64>,
    /// About how many streams went on at once; left out where answers are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub streams_at_once: Option<f64>,
    /// The server's processor time per completed exchange in microseconds, of a row.
    pub server_cpu_us_per_exchange: Option<f64>,
    /// The server's processor time as a share of its cores, of a row.
    pub server_busy: Option<f64>,
    /// Why the generator was the limit, if it was.
    pub generator_limited: Option<String>,
    /// What the generator remarked.
    pub remarks: Vec<String>,
    /// What it came to.
    pub verdict: Verdict,
    /// What decided, in words.
    pub why: String,
}

/// All probes of one rate.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CurvePoint {
    /// Exchanges per second that were asked for.
    pub rate: f64,
    /// How many probes.
    pub probes: u32,
    /// In how many it held.
    pub held: u32,
    /// The median of what was answered as it should be, per second.
    pub achieved: f64,
    /// The median of the probes' medians of the response time in microseconds.
    pub p50_us: Option<f64>,
    /// The median of the probes' 99th percentiles of the response time in microseconds.
    pub p99_us: Option<f64>,
    /// Exchanges that failed, as a share of all.
    pub failed_share: f64,
    /// The median of the server's share of its cores, of a row.
    pub server_busy: Option<f64>,
    /// The median of the server's processor time per exchange in microseconds, of a row.
    pub server_cpu_us_per_exchange: Option<f64>,
}

/// Where a curve bends most.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Knee {
    /// The rate, exchanges per second.
    pub rate: f64,
    /// The 99th percentile of the response time there, in microseconds.
    pub p99_us: f64,
}

/// A capacity as a multiple of the baseline's, from the ends of both intervals.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Ratio {
    /// Whose.
    pub name: String,
    /// At least so many times; null where the baseline's capacity has only a lower bound.
    pub low: Option<f64>,
    /// The ratio of the highest rates that held; null where either is a lower bound.
    pub centre: Option<f64>,
    /// At most so many times; null where the row's capacity has only a lower bound.
    pub high: Option<f64>,
}

impl Capacities {
    /// With what is known before the search.
    pub(super) fn new(name: &str, goal: &Goal, began: u64, cautions: Vec<String>) -> Capacities {
        Capacities {
            schema_version: SCHEMA_VERSION,
            ringside: env!("CARGO_PKG_VERSION").to_owned(),
            began: utc_stamp(began),
            name: name.to_owned(),
            question: None,
            asked: String::new(),
            load: String::new(),
            arrivals: goal.arrivals,
            of_flows: false,
            replayed: false,
            slo: goal.slo.iter().map(ToString::to_string).collect(),
            at_least: goal.at_least,
            window_s: goal.window.as_secs_f64(),
            settle_s: goal.settle.as_secs_f64(),
            limits: goal.limits,
            seed: goal.seed,
            engine: None,
            host: host(),
            network: None,
            cautions,
            baseline: None,
            rows: Vec::new(),
            ratios: Vec::new(),
            conclusions: Vec::new(),
            reservations: Vec::new(),
            ended_early: None,
        }
    }

    /// Reads `capacity.json`. A newer schema and what is no such file are told apart in a sentence.
    pub fn from_json(text: &str) -> Result<Capacities, String> {
        document::versioned(text, SCHEMA_VERSION, "capacity")
    }

    /// All of it, indented, with a line end.
    pub fn json(&self) -> String {
        indented(self)
    }

    /// Makes of the rows' points what follows from them.
    pub fn conclude(&mut self) {
        for row in &mut self.rows {
            row.curve = curve(&row.points);
            row.steps = row.steps_at_the_edge();
            (row.knee, row.no_knee) = row.bend();
            row.streams_at_once = row.streams_at_the_edge();
        }
        self.ratios = self.ratios();
        self.conclusions = self
            .rows
            .iter()
            .filter_map(|row| Some(row.with_streams(row.concluded()?)))
            .collect();
        let ratios = self.ratios.iter().map(|ratio| self.ratio_in_words(ratio));
        let ratios: Vec<Conclusion> = ratios
            .map(|says| Conclusion {
                says,
                rests: "Computed from the ends of both intervals.".to_owned(),
            })
            .collect();
        self.conclusions.extend(ratios);
        self.reservations = self.rows.iter().flat_map(RowCapacity::reserved).collect();
        self.reservations.extend(self.ended_early.iter().map(|why| {
            format!("The search ended early: {why}. The results up to then are above.")
        }));
    }

    fn ratios(&self) -> Vec<Ratio> {
        let name = self.baseline.as_deref();
        let Some(baseline) = self.rows.iter().find(|row| Some(row.name.as_str()) == name) else {
            return Vec::new();
        };
        let others = self.rows.iter().filter(|row| row.name != baseline.name);
        others.filter_map(|row| Ratio::of(row, baseline)).collect()
    }

    fn ratio_in_words(&self, ratio: &Ratio) -> String {
        let baseline = self.baseline.as_deref().unwrap_or_default();
        let name = &ratio.name;
        let times = match (ratio.low, ratio.high) {
            (Some(low), Some(high)) if low <= 1.0 && 1.0 <= high => {
                return format!(
                    "No difference shown between the capacities of {name} and {baseline}: \
                     {low:.2}–{high:.2} times."
                );
            }
            (Some(low), Some(high)) => format!("{low:.2}–{high:.2} times"),
            (Some(low), None) => format!("at least {low:.2} times"),
            (None, Some(high)) => format!("at most {high:.2} times"),
            (None, None) => {
                return format!(
                    "Can't compare the capacities of {name} and {baseline}: both are lower bounds."
                );
            }
        };
        format!("The capacity of {name} is {times} that of {baseline}.")
    }
}

impl Ratio {
    fn of(row: &RowCapacity, baseline: &RowCapacity) -> Option<Ratio> {
        let (low, high) = row.interval()?;
        let (base_low, base_high) = baseline.interval()?;
        Some(Ratio {
            name: row.name.clone(),
            low: base_high.map(|base| low / base),
            centre: high.and(base_high).map(|_| low / base_low),
            high: high.map(|high| high / base_low),
        })
    }
}

impl RowCapacity {
    /// The highest rate that held, exchanges per second.
    pub fn capacity(&self) -> Option<f64> {
        Some(self.found.as_ref()?.held?.rate)
    }

    /// From the highest rate that held to the lowest that failed; the latter is none of a lower
    /// bound.
    pub fn interval(&self) -> Option<(f64, Option<f64>)> {
        let found = self.found.as_ref()?;
        let high = found.failed.filter(|_| self.is_exact());
        Some((found.held?.rate, high.map(|edge| edge.rate)))
    }

    /// Whether the highest rate that held is the capacity, and no lower bound of it.
    pub fn is_exact(&self) -> bool {
        let between = self.found.as_ref().is_some_and(Found::is_exact);
        between && self.limited_by_connections.is_none()
    }

    /// Whether its search came to an end that says something of its capacity.
    pub(super) fn is_whole(&self) -> bool {
        let ending = self.found.as_ref().map(|found| &found.ending);
        self.failed.is_none() && !matches!(ending, Some(Ending::WrongAnswers(_)))
    }

    /// The capacity in few words.
    pub fn in_words(&self) -> String {
        let Some(found) = &self.found else {
            return "unknown".to_owned();
        };
        let failed = found.failed.map(|edge| per_second(edge.rate));
        match (found.held, failed, &found.ending) {
            (Some(held), Some(failed), Ending::Between) if self.is_exact() => {
                format!("{} (fails at {failed})", per_second(held.rate))
            }
            (Some(held), _, _) => format!("at least {}", per_second(held.rate)),
            (None, _, Ending::WrongAnswers(_)) => "unknown".to_owned(),
            (None, Some(failed), _) => format!("below {failed}"),
            (None, None, _) => "unknown".to_owned(),
        }
    }

    pub(super) fn concluded(&self) -> Option<Conclusion> {
        let found = self.found.as_ref()?;
        let name = &self.name;
        let held = found.held.map(|edge| per_second(edge.rate));
        let failed = found.failed.map(|edge| per_second(edge.rate));
        if let (Some(limited), Some(held)) = (&self.limited_by_connections, &held)
            && found.ending == Ending::Between
        {
            let connections = self.connections_in_words(limited.connections);
            let says = match limited.is_known() {
                true => format!(
                    "{name} holds at least {held}: a lower bound, limited by {connections}."
                ),
                false => format!(
                    "{name} holds at least {held}: a lower bound, because {connections} may have \
                     limited it."
                ),
            };
            let no_more = self.no_more_connections.as_deref();
            let rests = format!("{} {}", limited.words(no_more), rests_on(found));
            return Some(Conclusion { says, rests });
        }
        if let (Ending::WrongAnswers(what), Some(lowest)) = (&found.ending, &failed) {
            return Some(self.wrong_answers(what, lowest));
        }
        let says = match (&found.ending, held, failed) {
            (Ending::Contradicted, held, Some(failed)) => {
                self.contradiction(found, held.as_deref(), &failed)
            }
            (Ending::Between, Some(held), Some(failed)) => {
                format!("{name} holds {held} and fails at {failed}.")
            }
            (Ending::GeneratorLimited(_), Some(held), _) => format!(
                "{name} holds at least {held}: a lower bound, because the generator was the limit \
                 above that."
            ),
            (Ending::HighestHeld, Some(held), _) => {
                format!("{name} holds {held}, the highest rate the search may try: a lower bound.")
            }
            (_, Some(held), Some(failed)) => {
                format!("{name} held {held} and failed at {failed} when the search ended.")
            }
            (_, Some(held), None) => format!("{name} held {held} when the search ended."),
            (Ending::NotKnown(_), None, _) => {
                format!(
                    "The capacity of {name} is unknown: the generator couldn't send enough load to \
                     find it."
                )
            }
            (Ending::NothingHeld, None, Some(failed)) => {
                format!(
                    "{name} held no rate, down to {failed}{}.",
                    self.last_failure()
                )
            }
            (_, None, Some(failed)) => {
                format!("{name} failed at {failed} when the search ended.")
            }
            (_, None, None) => return None,
        };
        let rests = rests_on(found);
        Some(Conclusion { says, rests })
    }

    /// That answers are wrong at whatever rate, down to the `lowest`.
    fn wrong_answers(&self, what: &str, lowest: &str) -> Conclusion {
        let highest = self.points.iter().map(|point| point.rate);
        let highest = per_second(highest.fold(0.0, f64::max));
        let is_refusal = [" 429", " 503"].iter().any(|code| what.contains(code));
        let after = match is_refusal {
            true => " If the server turns clients away that were too fast, begin lower (--from).",
            false => "",
        };
        Conclusion {
            says: format!(
                "The capacity of {} is unknown: at {lowest} as at {highest}, {what}.",
                self.name
            ),
            rests: format!(
                "Lower rates don't help: mend the requests, or say what a right answer is \
                 (--expect, or `# @expect` above a request of a file).{after}"
            ),
        }
    }

    /// That rates held above the one that failed.
    fn contradiction(&self, found: &Found, held: Option<&str>, failed: &str) -> String {
        let name = &self.name;
        let each = found.out_of_order.iter().map(|rate| {
            let same = |point: &&Point| point.rate == *rate && point.held().is_some();
            let probes = self.points.iter().filter(same);
            let held = probes.clone().filter(|point| point.held() == Some(true));
            let (held, all) = (held.count(), probes.count());
            format!("{} in {held} of {all} probes", per_second(*rate))
        });
        let higher = each.collect::<Vec<_>>().join(", ");
        match held {
            Some(held) => format!(
                "{name} holds at least {held}: a lower bound, because its probes contradict each \
                 other. It failed at {failed}, but held {higher}."
            ),
            None => format!(
                "The capacity of {name} is unknown, because its probes contradict each other: it \
                 failed at {failed}, but held {higher}."
            ),
        }
    }

    /// The connections of a target, or of a comparison's row.
    fn connections_in_words(&self, connections: u32) -> String {
        let given = self
            .limited_by_connections
            .is_some_and(|limited| limited.given);
        match (given, self.description.is_some()) {
            (true, false) => format!("-c {connections}"),
            (true, true) => format!("its {connections} connections"),
            (false, _) if self.no_more_connections.is_some() => {
                format!("{connections} connections")
            }
            (false, _) => format!("{connections} connections, the most we try"),
        }
    }

    /// Where the 99th percentile of the response time takes off at rates that held, or why that is
    /// not said.
    fn bend(&self) -> (Option<Knee>, Option<String>) {
        let without = |why: &str| (None, Some(why.to_owned()));
        let Some(edge) = self.capacity() else {
            return without("nothing held");
        };
        let times = self.points.iter().filter(|point| point.held().is_some());
        let times = times.filter_map(|point| Some((point.rate, point.p99_us?)));
        let below = |(rate, p99): &(f64, f64)| *rate <= edge && *p99 > 0.0;
        let mut times: Vec<(f64, f64)> = times.filter(below).collect();
        times.sort_by(|a, b| a.0.total_cmp(&b.0));
        let at = match knee::course(&times) {
            Course::TakesOff(at) => at,
            Course::Level => return without("none below the edge"),
            Course::TooFew => return without("too few rates to tell"),
        };
        let at = self.curve.iter().find(|point| point.rate == at);
        let knee = at.and_then(|point| Some((point.rate, point.p99_us?)));
        (knee.map(|(rate, p99_us)| Knee { rate, p99_us }), None)
    }

    /// Why the last rate failed that did, which is the lowest where nothing held.
    fn last_failure(&self) -> String {
        let mut failures = self.points.iter().rev();
        match failures.find(|point| point.verdict == Verdict::Fail) {
            Some(point) => format!(" ({})", point.why),
            None => String::new(),
        }
    }

    fn reserved(&self) -> Vec<String> {
        let name = &self.name;
        let mut said = Vec::new();
        said.extend(self.failed.as_ref().map(|what| format!("{name}: {what}.")));
        let Some(found) = &self.found else {
            return said;
        };
        // Such as that every connection was busy: then the capacity is one of so many connections.
        let at_the_edge = |point: &&Point| {
            let edge = found.failed.filter(|edge| edge.rate == point.rate);
            edge.is_some() && point.held() == Some(false)
        };
        let remarks = self.points.iter().rev().find(at_the_edge);
        said.extend(remarks.into_iter().flat_map(|point| {
            let rate = per_second(point.rate);
            let remarks = point.remarks.iter();
            remarks.map(move |remark| format!("{name}, at {rate}: {remark}."))
        }));
        if !found.out_of_order.is_empty() && found.ending != Ending::Contradicted {
            let rates: Vec<String> = found.out_of_order.iter().map(|r| per_second(*r)).collect();
            said.push(format!(
                "{name} held {} although it failed at a lower rate; the lower rate counts.",
                rates.join(", ")
            ));
        }
        if found.overturned > 0 {
            let rates = match found.overturned {
                1 => "1 rate".to_owned(),
                count => format!("{count} rates"),
            };
            said.push(format!(
                "{name}: the confirming probes overturned the search's result at {rates}. Near the \
                 edge, the outcome is a matter of chance."
            ));
        }
        if found.not_recovered > 0 {
            let often = match found.not_recovered {
                1 => "once".to_owned(),
                times => format!("{times} times"),
            };
            said.push(format!(
                "{name} failed {often} right after another failure, at a rate it had held before: \
                 it recovers slowly, or something disturbed it. The search paused and tried again."
            ));
        }
        if found.ending == Ending::OutOfProbes {
            said.push(format!(
                "We stopped searching for {name}'s capacity after {} probes that contradicted each \
                 other; a wider --precision or a longer --duration may help.",
                found.probes
            ));
        }
        said
    }
}

impl Conclusion {
    /// All of it.
    pub fn words(&self) -> String {
        format!("{} {}", self.says, self.rests)
            .trim_end()
            .to_owned()
    }
}

impl Limited {
    /// What that rests on, and what to do. `no_more`: why more could not be tried.
    fn words(&self, no_more: Option<&str>) -> String {
        let rate = per_second(self.rate);
        let waited = format!(
            "At {rate} every answer came in time after its request was sent, but requests had to \
             wait for a free connection"
        );
        match (self.more, self.achieved_with_more, no_more) {
            (Some(more), Some(with_more), _) => format!(
                "{waited}; over {more} connections {} were answered instead of {}. Without -c, \
                 connections are added for as long as that helps.",
                per_second(with_more.round()),
                per_second(self.achieved.round())
            ),
            (Some(more), None, Some(why)) => {
                format!(
                    "{waited}. It {why}, so we don't know whether {more} connections would help."
                )
            }
            (Some(more), None, None) => format!(
                "{waited}. The generator or the host disturbed every probe over {more} \
                 connections, so we don't know whether more would help: search again on a quiet \
                 machine, or with -c {more}."
            ),
            _ => format!("{waited}, and we didn't try more."),
        }
    }
}

/// What the ends of an interval rest on, in sentences.
fn rests_on(found: &Found) -> String {
    let edge = |word: &str, edge: Edge| {
        let kind = match edge.confirmed {
            true => "confirming probes",
            false => "probes (not confirmed)",
        };
        format!("{word} in {} of {} {kind}.", edge.agreeing, edge.probes)
    };
    let mut sentences = Vec::new();
    sentences.extend(found.held.map(|held| edge("Held", held)));
    sentences.extend(found.failed.map(|failed| edge("Failed", failed)));
    if let Ending::GeneratorLimited(why) | Ending::NotKnown(why) = &found.ending {
        let why = generator_was_the_limit(why);
        sentences.push(format!("{}{}.", why[..1].to_uppercase(), &why[1..]));
    }
    sentences.join(" ")
}

impl Point {
    /// Of a probe's record.
    pub(super) fn new(
        number: u32,
        probe: Probe,
        record: &Record,
        sample: Option<&Sample>,
        judgement: Judgement,
    ) -> Point {
        let counted = Counted::of(record);
        let limited = record.generator.limited;
        Point {
            number,
            kind: probe.kind,
            rate: probe.rate,
            connections: record.plan.connections,
            offered: counted.offered,
            achieved: counted.achieved,
            seconds: record.duration_s,
            completed: counted.completed,
            failed: counted.failed + counted.unfinished,
            errors: record
                .errors
                .iter()
                .filter(|e| *e.1 > 0)
                .map(|(k, n)| (k.clone(), *n))
                .collect(),
            steps: StepFound::of_probe(record),
            p50_us: counted.response.p50,
            p99_us: (counted.response.p99).filter(|_| counted.completed >= exchanges_min(0.99)),
            objectives: BTreeMap::new(),
            streams_at_once: objectives::at_once(record, counted.achieved),
            server_cpu_us_per_exchange: sample.and_then(|s| s.server_cpu_us_per_exchange),
            server_busy: sample.map(|sample| sample.server_busy),
            generator_limited: limited.then(|| record.generator.limited_reason.clone()),
            remarks: record.warnings.clone(),
            verdict: judgement.verdict,
            why: judgement.why,
        }
    }

    /// Of a probe that the subject did not live through.
    pub(super) fn died(number: u32, probe: Probe, what: String) -> Point {
        Point {
            number,
            kind: probe.kind,
            rate: probe.rate,
            connections: 0,
            offered: 0.0,
            achieved: 0.0,
            seconds: 0.0,
            completed: 0,
            failed: 0,
            errors: BTreeMap::new(),
            steps: Vec::new(),
            p50_us: None,
            p99_us: None,
            objectives: BTreeMap::new(),
            streams_at_once: None,
            server_cpu_us_per_exchange: None,
            server_busy: None,
            generator_limited: None,
            remarks: Vec::new(),
            verdict: Verdict::Fail,
            why: what,
        }
    }

    /// Whether the rate held; none where that is not known.
    pub fn held(&self) -> Option<bool> {
        match self.verdict {
            Verdict::Pass => Some(true),
            Verdict::Fail => Some(false),
            Verdict::Unknown(_) => None,
        }
    }

    /// What decided, and why that does not count, if it does not.
    pub fn reason(&self) -> String {
        match &self.verdict {
            Verdict::Unknown(why) if *why != self.why => {
                format!("{} (doesn't count: {why})", self.why)
            }
            _ => self.why.clone(),
        }
    }

    /// What it came to, in a word.
    pub fn outcome(&self) -> &'static str {
        match self.held() {
            Some(true) => "held",
            Some(false) => "failed",
            None => "unknown",
        }
    }
}

#[cfg(test)]
pub(crate) mod tests;

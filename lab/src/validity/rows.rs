//! The checks that need all rows side by side, or all rounds of one.

use std::collections::{BTreeMap, BTreeSet};

use statistics::Spread;

use super::{Looked, SERVER_FULL, percent};
use crate::finding::{Check, Finding, Severity};
use crate::manifest::{Cold, Manifest, Role, RowFacts};
use crate::round::Round;

/// Above this share of what our own server reaches, the generator is too near its own limit.
const CEILING_SHARE_MAX: f64 = 0.70;
/// A generator busier than this had nothing left.
const GENERATOR_FULL: f64 = 0.95;
/// Answers of more than this many times the baseline's bytes are other work…
const BYTES_RATIO_MAX: f64 = 1.5;
/// …unless the difference is smaller than what a few header fields take.
const BYTES_DIFFERENCE_MIN: f64 = 200.0;
/// What a stranger has to use of a processor, in every round of a row, to be taken for its help.
const ELSEWHERE_MIN: f64 = 0.05;
/// Above this share of the subject's own use, its figures are not its own.
const ELSEWHERE_SHARE_MAX: f64 = 0.20;
/// In fewer rounds a stranger that comes and goes is too easily taken for somebody's help.
const ELSEWHERE_ROUNDS_MIN: usize = 3;

/// All rounds of one row.
struct Rows<'a> {
    facts: &'a RowFacts,
    rounds: Vec<&'a Round>,
}

/// What every check of every row came to, by the row's name.
pub fn look(manifest: &Manifest, rounds: &[Round]) -> BTreeMap<String, Vec<(Check, Looked)>> {
    let all: Vec<Rows<'_>> = manifest
        .rows
        .iter()
        .map(|facts| Rows {
            facts,
            rounds: rounds
                .iter()
                .filter(|round| round.row == facts.name)
                .collect(),
        })
        .collect();
    let baseline = all
        .iter()
        .find(|row| row.facts.name == manifest.setup.baseline);
    let looked = |row: &Rows<'_>| {
        if row.facts.generator.is_some() {
            // They load one subject, which stands beside no other.
            return vec![
                (Check::WarmUp, warm_up(row)),
                (Check::LeftBehind, left_behind(row)),
            ];
        }
        vec![
            (Check::WarmUp, warm_up(row)),
            (Check::Ceiling, ceiling(row, &all)),
            (Check::Status, beside(row, baseline, status)),
            (Check::Bytes, beside(row, baseline, bytes)),
            (Check::ContentType, beside(row, baseline, content_type)),
            (Check::Elsewhere, elsewhere(row, &all)),
            (Check::LeftBehind, left_behind(row)),
        ]
    };
    let measured = all.iter().filter(|row| !row.rounds.is_empty());
    measured
        .map(|row| (row.facts.name.clone(), looked(row)))
        .collect()
}

/// What was found, by the row's name: it holds for each of its rounds.
pub fn findings(manifest: &Manifest, rounds: &[Round]) -> BTreeMap<String, Vec<Finding>> {
    let looked = look(manifest, rounds).into_iter();
    looked
        .map(|(row, looked)| {
            let found = looked
                .into_iter()
                .filter_map(|(check, what)| what.finding(check));
            (row, found.collect())
        })
        .collect()
}

impl Rows<'_> {
    /// The median of a figure over the rounds that have it.
    fn median(&self, figure: impl Fn(&Round) -> Option<f64>) -> Option<f64> {
        Spread::of(self.rounds.iter().filter_map(|round| figure(round))).map(|found| found.median)
    }
}

/// A subject that says how long it needs was loaded for that long.
fn warm_up(row: &Rows<'_>) -> Looked {
    match row.facts.cold {
        None => Looked::Passed("as long as it needs".to_owned()),
        Some(Cold { needed_s, given_s }) => Looked::Found(
            Severity::Void,
            format!(
                "it was measured cold, after {given_s} s of load instead of the {needed_s} s it \
                 needs: leave out --quick"
            ),
        ),
    }
}

/// Our own server under the same load is what the generator can do at most: near to it, a figure
/// is also the generator's. Over a link it's what the link lets through.
fn ceiling(row: &Rows<'_>, all: &[Rows<'_>]) -> Looked {
    let rate = |round: &Round| {
        let closed = round.record.as_ref()?.offered_rate.is_none();
        closed.then_some(round.sample.requests_per_second)
    };
    let Some(own) = row.median(rate) else {
        return Looked::Passed("a fixed rate doesn't show the maximum".into());
    };
    let ours = |other: &&Rows<'_>| {
        (other.facts.role == Role::Ceiling || other.facts.own_server)
            && other.facts.link.is_none()
            && other.facts.asked == row.facts.asked
    };
    let limits = all
        .iter()
        .filter(ours)
        .filter_map(|other| other.median(rate));
    let Some(limit) = limits.reduce(f64::max) else {
        let why = "our own server wasn't measured under the same load (--ceiling)";
        return Looked::Unknown(why.to_owned());
    };
    let share = own / limit.max(f64::MIN_POSITIVE);
    if share <= CEILING_SHARE_MAX {
        return Looked::Passed(format!("{} of what our own server reaches", percent(share)));
    }
    let full = row
        .median(|round| Some(round.sample.server_busy))
        .unwrap_or(0.0);
    let generator = row
        .median(|round| round.sample.generator_busy)
        .unwrap_or(1.0);
    // One that answers isn't idle: nobody saw its processes.
    let busy = match full > 0.0 {
        true => format!("its cores {} busy and the generator's", percent(full)),
        false => "the generator's".to_owned(),
    };
    let sentence = format!(
        "it reached {} of what our own server reaches under the same load (at most {:.0} % is \
         allowed), with {busy} {}",
        percent(share),
        100.0 * CEILING_SHARE_MAX,
        percent(generator)
    );
    match full >= SERVER_FULL && generator < GENERATOR_FULL {
        true => Looked::Passed(sentence),
        false => Looked::Found(Severity::Bound, sentence),
    }
}

/// Compares a row with the baseline, if it is asked the same.
fn beside(
    row: &Rows<'_>,
    baseline: Option<&Rows<'_>>,
    look: fn(&Rows<'_>, &Rows<'_>) -> Looked,
) -> Looked {
    match baseline {
        Some(baseline) if baseline.rounds.is_empty() => {
            Looked::Unknown(format!("{} wasn't measured", baseline.facts.name))
        }
        Some(baseline) if baseline.facts.name == row.facts.name => {
            Looked::Passed("it is the baseline".to_owned())
        }
        Some(baseline) if baseline.facts.asked == row.facts.asked => look(row, baseline),
        _ => Looked::Passed("it gets different requests".to_owned()),
    }
}

/// What fails because of a fault that was made on purpose may fail in different ways.
fn status(row: &Rows<'_>, baseline: &Rows<'_>) -> Looked {
    let mut rounds = row.rounds.iter().chain(&baseline.rounds);
    let is_faulted = rounds.any(|round| !round.faults.is_empty());
    let is_success = |name: &str| name == "OK" || name.starts_with(['2', '3']);
    let statuses = |row: &Rows<'_>| -> BTreeSet<String> {
        let records = row.rounds.iter().filter_map(|round| round.record.as_ref());
        let counted = records.flat_map(|record| {
            let all = record.status.iter().chain(&record.grpc_status);
            all.filter(|(name, count)| **count > 0 && (!is_faulted || is_success(name)))
                .map(|(name, _)| name.clone())
        });
        counted.collect()
    };
    let list = |all: &BTreeSet<String>| {
        let names: Vec<&str> = all.iter().map(String::as_str).collect();
        names.join(", ")
    };
    let (own, others) = (statuses(row), statuses(baseline));
    match own == others {
        true => Looked::Passed(list(&own)),
        false => Looked::Found(
            Severity::Void,
            format!(
                "it answers with status {}, but {} with {}, which is different work",
                list(&own),
                baseline.facts.name,
                list(&others)
            ),
        ),
    }
}

fn bytes(row: &Rows<'_>, baseline: &Rows<'_>) -> Looked {
    let each = |row: &Rows<'_>| row.median(|round| round.sample.bytes_per_exchange);
    let Some((own, others)) = each(row).zip(each(baseline)) else {
        return Looked::Unknown("no bytes were counted".to_owned());
    };
    let ratio = own.max(others) / own.min(others).max(1.0);
    match ratio > BYTES_RATIO_MAX && (own - others).abs() > BYTES_DIFFERENCE_MIN {
        true => Looked::Found(
            Severity::Caution,
            format!(
                "it answers with {own:.0} bytes per exchange, but {} with {others:.0}",
                baseline.facts.name
            ),
        ),
        false => Looked::Passed(format!("{own:.0} and {others:.0} bytes per exchange")),
    }
}

fn content_type(row: &Rows<'_>, baseline: &Rows<'_>) -> Looked {
    match (&row.facts.content_type, &baseline.facts.content_type) {
        (Some(own), Some(others)) if own == others => Looked::Passed(own.clone()),
        (None, None) => Looked::Passed("none is named".to_owned()),
        (own, others) => {
            let word = |found: &Option<String>| match found {
                Some(found) => format!("`{found}`"),
                None => "no type".to_owned(),
            };
            Looked::Found(
                Severity::Caution,
                format!(
                    "it answers as {}, but {} as {}",
                    word(own),
                    baseline.facts.name,
                    word(others)
                ),
            )
        }
    }
}

/// A stranger that is busy in every round of one row, and idle in every round of the others, works
/// for that row. Of so few rounds that one which comes and goes is met like this by chance in more
/// than one case of twenty (one of 6 with two rounds each, one of 20 with three), nothing is void.
fn elsewhere(row: &Rows<'_>, all: &[Rows<'_>]) -> Looked {
    let others: Vec<&Round> = all
        .iter()
        .filter(|other| other.facts.subject != row.facts.subject)
        // What a link takes, the kernel does beside both sides.
        .filter(|other| other.facts.link == row.facts.link)
        .flat_map(|other| other.rounds.iter().copied())
        .collect();
    let share = |round: &Round, name: &str| {
        let found = round
            .watched
            .host
            .others
            .iter()
            .find(|other| other.name == name);
        found.map_or(0.0, |other| other.share)
    };
    let Some(first) = row
        .rounds
        .first()
        .filter(|round| round.watched.host.wall_ns > 0)
    else {
        return Looked::Unknown("the host wasn't watched".to_owned());
    };
    let unseen = |round: &&Round| round.watched.subject.is_unseen();
    if row.rounds.iter().any(unseen) || others.iter().any(unseen) {
        return Looked::Unknown("the processes of servers aren't known".to_owned());
    }
    if others.is_empty() {
        return Looked::Unknown(
            "without another subject, its helpers can't be told from everything else".to_owned(),
        );
    }
    for name in first.watched.host.others.iter().map(|other| &other.name) {
        let least = row
            .rounds
            .iter()
            .map(|round| share(round, name))
            .fold(1e9, f64::min);
        let most = others
            .iter()
            .map(|round| share(round, name))
            .fold(0.0, f64::max);
        if least < ELSEWHERE_MIN || most > least / 3.0 {
            continue;
        }
        let own = row.median(|round| {
            let subject = &round.watched.subject;
            Some(subject.cpu_ns as f64 / subject.wall_ns.max(1) as f64)
        });
        let sentence = format!(
            "some of its work happens outside its own processes: `{name}` used at least {} of a \
             core in each of its rounds, and was idle in the others'",
            percent(least)
        );
        let much = least > ELSEWHERE_SHARE_MAX * own.unwrap_or(0.0);
        return match row.rounds.len() >= ELSEWHERE_ROUNDS_MIN {
            true if much => Looked::Found(Severity::Void, sentence),
            true => Looked::Found(Severity::Caution, sentence),
            false => Looked::Found(
                Severity::Caution,
                format!("{sentence}; in so few rounds that can be chance"),
            ),
        };
    }
    Looked::Passed("no foreign process is busy in its rounds only".to_owned())
}

fn left_behind(row: &Rows<'_>) -> Looked {
    match left(&row.facts.left_behind) {
        None => Looked::Passed("none".to_owned()),
        Some(sentence) => Looked::Found(Severity::Caution, sentence),
    }
}

/// A sentence about those who were still there when they should have ended, by name.
pub fn left(behind: &BTreeSet<String>) -> Option<String> {
    let names: Vec<String> = behind.iter().map(|name| format!("`{name}`")).collect();
    (!names.is_empty()).then(|| {
        format!(
            "some of its processes, or its companions', were still running after it had ended, and \
             we had to kill them one by one: {}",
            names.join(", ")
        )
    })
}

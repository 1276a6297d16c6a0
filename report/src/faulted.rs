//! What the faults that were made on purpose cost a row, all rounds together.

use faults::{Injected, cost::Cost};
use lab::round::Round;
use load::Record;
use schemars::JsonSchema;
use serde::Serialize;
use statistics::Spread;
use statistics::format::{count, digits, percent, time_us};

use super::Row;

/// A fault and what it cost a row: medians of the rounds, with the lowest and the highest.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct FaultFound {
    /// The phase in which it came; null where a round is one window.
    pub phase: Option<String>,
    /// `kill`, `stop`, `signal`, `cpu` and so on.
    pub kind: String,
    /// What was done to whom, in words.
    pub what: String,
    /// When, in seconds since the beginning of the window or phase.
    pub at_s: f64,
    /// For how long; 0 of what is done at once.
    pub for_s: f64,
    /// In how many rounds it was made.
    pub rounds: usize,
    /// Seconds from its end until what was started again answered; null where nothing was.
    pub start_s: Option<Spread>,
    /// Requests that failed while it lasted.
    pub failed_during: Option<Spread>,
    /// Requests that were lost until the next fault or the end.
    pub lost: Option<Spread>,
    /// Seconds from its beginning until errors stopped, of the rounds in which they did.
    pub errors_stop_s: Option<Spread>,
    /// Rounds in which they didn't.
    pub errors_went_on: usize,
    /// The longest time without an answer, in seconds.
    pub longest_gap_s: Option<Spread>,
    /// The 99th percentile of the response time before the faults, in microseconds.
    pub p99_before_us: Option<Spread>,
    /// The highest of a second since this one began, in microseconds.
    pub p99_worst_us: Option<Spread>,
    /// Seconds from its beginning until the percentile was back, of the rounds in which it was.
    pub p99_back_s: Option<Spread>,
    /// Rounds in which it wasn't, although it is known before.
    pub p99_not_back: usize,
    /// Requests answered in time, per second, before the faults; null where nobody asked.
    pub good_before: Option<Spread>,
    /// The same in the worst second since this one began.
    pub good_worst: Option<Spread>,
    /// The lowest share of what was offered in a second that was answered in time; null in a closed
    /// loop.
    pub good_share_worst: Option<Spread>,
}

/// A second of a row's rounds: medians.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Second {
    /// Seconds from the beginning of the window to its middle.
    pub at_s: f64,
    /// Completed exchanges per second.
    pub completed: f64,
    /// Failed ones.
    pub failed: f64,
    /// Those that were completed in time; null where nobody asked.
    pub good: Option<f64>,
    /// The 99th percentile of the response time in microseconds; null if nothing was answered.
    pub p99_us: Option<f64>,
}

impl FaultFound {
    /// Those of a row, in their order.
    pub(super) fn all(rounds: &[&Round]) -> Vec<FaultFound> {
        let Some(first) = rounds.first() else {
            return Vec::new();
        };
        if first.phases.is_empty() {
            let windows: Vec<&[Injected]> = rounds.iter().map(|round| &*round.faults).collect();
            return FaultFound::of_windows(None, &windows);
        }
        let names = first.phases.iter().map(|phase| &phase.name);
        let of_phase = |name: &String| {
            let phases = rounds.iter().flat_map(|round| &round.phases);
            let own = phases.filter(|phase| phase.name == *name);
            let windows: Vec<&[Injected]> = own.map(|phase| &*phase.faults).collect();
            FaultFound::of_windows(Some(name), &windows)
        };
        names.flat_map(of_phase).collect()
    }

    /// Those of a window, or of a phase, in several rounds.
    fn of_windows(phase: Option<&String>, windows: &[&[Injected]]) -> Vec<FaultFound> {
        let most = windows.iter().map(|faults| faults.len()).max().unwrap_or(0);
        let found = (0..most).filter_map(|at| {
            let there = windows.iter().filter_map(|faults| faults.get(at));
            let made: Vec<&Injected> = there.filter(|fault| !fault.missed).collect();
            FaultFound::of(phase, &made)
        });
        found.collect()
    }

    fn of(phase: Option<&String>, made: &[&Injected]) -> Option<FaultFound> {
        let first = made.first()?;
        let costs: Vec<Cost> = made.iter().filter_map(|fault| fault.cost).collect();
        let known = |of: fn(&Cost) -> Option<f64>| Spread::of(costs.iter().filter_map(of));
        let rounds_with = |of: fn(&Cost) -> bool| costs.iter().filter(|cost| of(cost)).count();
        let start_s = |fault: &&Injected| Some(fault.ready_s? - fault.ended_s?);
        Some(FaultFound {
            phase: phase.cloned(),
            kind: first.kind.clone(),
            what: first.what.clone(),
            at_s: first.at_s,
            for_s: first.for_s,
            rounds: made.len(),
            start_s: Spread::of(made.iter().filter_map(start_s)),
            failed_during: known(|cost| Some(cost.failed_during as f64)),
            lost: known(|cost| Some(cost.lost as f64)),
            errors_stop_s: known(|cost| cost.errors_stop_s),
            errors_went_on: rounds_with(|cost| cost.errors_stop_s.is_none()),
            longest_gap_s: known(|cost| cost.longest_gap_s),
            p99_before_us: known(|cost| cost.p99_before_us),
            p99_worst_us: known(|cost| cost.p99_worst_us),
            p99_back_s: known(|cost| cost.p99_back_s),
            p99_not_back: rounds_with(|cost| {
                cost.p99_before_us.is_some() && cost.p99_back_s.is_none()
            }),
            good_before: known(|cost| cost.good_before),
            good_worst: known(|cost| cost.good_worst),
            good_share_worst: known(|cost| cost.good_share_worst),
        })
    }

    /// What was done, when and for how long.
    pub(super) fn words(&self) -> String {
        let phase = match &self.phase {
            Some(phase) => format!("{phase}: "),
            None => String::new(),
        };
        let length = match self.for_s {
            0.0 => String::new(),
            length => format!(", for {length} s"),
        };
        format!("{phase}{} at {} s{length}", self.what, self.at_s)
    }

    /// What it cost, in a sentence's middle.
    fn cost_in_words(&self) -> String {
        let mut parts = Vec::new();
        if let (Some(during), Some(lost)) = (self.failed_during, self.lost) {
            parts.push(format!(
                "{} requests failed while it lasted, {} were lost in all",
                count(during.median),
                count(lost.median)
            ));
        }
        parts.push(format!("errors stopped {}", self.errors_stopped()));
        if let Some(gap) = self.longest_gap_s.filter(|gap| gap.median > 0.0) {
            parts.push(format!("no answers for {} s", digits(gap.median)));
        }
        if let (Some(before), Some(worst)) = (self.p99_before_us, self.p99_worst_us) {
            let (before, worst) = (time_us(before.median), time_us(worst.median));
            let back = self.back();
            parts.push(format!(
                "p99 {before} before, {worst} at worst, back {back}"
            ));
        }
        if let (Some(before), Some(worst)) = (self.good_before, self.good_worst) {
            let (before, worst) = (count(before.median), count(worst.median));
            let share = self.good_share_worst.map(|share| percent(share.median));
            let share = share.map(|share| format!(" ({share} of what was offered)"));
            let share = share.unwrap_or_default();
            parts.push(format!(
                "goodput {before}/s before, {worst}/s at worst{share}"
            ));
        }
        parts.join("; ")
    }

    fn errors_stopped(&self) -> String {
        let (went_on, rounds) = (self.errors_went_on, self.rounds);
        after(
            "within",
            self.errors_stop_s,
            (went_on, rounds),
            "there were none",
        )
    }

    fn back(&self) -> String {
        let (not_back, rounds) = (self.p99_not_back, self.rounds);
        after(
            "after",
            self.p99_back_s,
            (not_back, rounds),
            "it never left",
        )
    }
}

/// `after 3.00 s`, what is said of no time at all, or that it never came in some of the rounds.
fn after(
    word: &str,
    took_s: Option<Spread>,
    (never, rounds): (usize, usize),
    none: &str,
) -> String {
    let took = match took_s {
        Some(took) if took.median == 0.0 => format!("at once ({none})"),
        Some(took) => format!("{word} {} s", digits(took.median)),
        None => return "not before the next one or the end".to_owned(),
    };
    match never {
        0 => took,
        never => format!(
            "{took} in {} of {rounds} rounds",
            rounds.saturating_sub(never)
        ),
    }
}

impl Second {
    /// The seconds of a row's rounds, in which faults were made; empty where none were, or where a
    /// round has phases.
    pub(super) fn all(rounds: &[&Round]) -> Vec<Second> {
        let faulted = rounds.iter().filter(|round| !round.faults.is_empty());
        let whole = faulted.filter(|round| round.phases.is_empty());
        let records: Vec<&Record> = whole.filter_map(|round| round.record.as_ref()).collect();
        let most = records.iter().map(|record| record.series.len()).max();
        let second = |at: usize| {
            let rows = records.iter().filter_map(|record| record.series.get(at));
            // The last one may be as short as what was left of the window.
            let rows: Vec<_> = rows.filter(|row| row.seconds > 0.5).collect();
            let first = rows.first()?;
            let rate = |of: fn(&measure::series::Row) -> Option<u64>| {
                let rates = rows
                    .iter()
                    .filter_map(|row| Some(of(row)? as f64 / row.seconds));
                Spread::of(rates).map(|found| found.median)
            };
            let p99 = Spread::of(rows.iter().filter_map(|row| row.response_p99_us));
            Some(Second {
                at_s: first.at_s + first.seconds / 2.0,
                completed: rate(|row| Some(row.completed))?,
                failed: rate(|row| Some(row.failed))?,
                good: rate(|row| row.good),
                p99_us: p99.map(|p99| p99.median),
            })
        };
        (0..most.unwrap_or(0)).filter_map(second).collect()
    }
}

/// Each fault with each row that had it: by fault, so that rows stand side by side.
fn by_fault(rows: &[Row]) -> impl Iterator<Item = (&Row, &FaultFound)> {
    let most = rows.iter().map(|row| row.faults.len()).max().unwrap_or(0);
    let of_one = move |at: usize| {
        rows.iter()
            .filter_map(move |row| Some((row, row.faults.get(at)?)))
    };
    (0..most).flat_map(of_one)
}

/// What each fault cost each row, in sentences.
pub(super) fn sentences(rows: &[Row]) -> Vec<String> {
    let sentence = |(row, fault): (&Row, &FaultFound)| {
        let (name, what) = (&row.facts.name, fault.words());
        format!("{what}, {name}: {}.", fault.cost_in_words())
    };
    by_fault(rows).map(sentence).collect()
}

/// A table of the same, its headings first; nothing where there were no faults. Goodput stands in
/// it where it was asked for.
pub(super) fn table(rows: &[Row]) -> Vec<Vec<String>> {
    let faults = rows.iter().flat_map(|row| &row.faults);
    let has_goodput = faults.clone().any(|fault| fault.good_before.is_some());
    if faults.count() == 0 {
        return Vec::new();
    }
    let mut headings = vec![
        "fault",
        "subject",
        "failed during",
        "lost",
        "no answers for",
        "p99 before",
        "p99 at worst",
    ];
    if has_goodput {
        headings.extend(["goodput before", "goodput at worst"]);
    }
    headings.extend(["errors stopped", "p99 back"]);
    let mut lines: Vec<Vec<String>> = vec![headings.into_iter().map(str::to_owned).collect()];
    for (row, fault) in by_fault(rows) {
        let cell = |figure: Option<Spread>, write: fn(f64) -> String| {
            figure.map_or("–".to_owned(), |figure| write(figure.median))
        };
        let seconds = |seconds: f64| format!("{} s", digits(seconds));
        let mut cells = vec![
            fault.words(),
            row.facts.name.clone(),
            cell(fault.failed_during, count),
            cell(fault.lost, count),
            cell(fault.longest_gap_s, seconds),
            cell(fault.p99_before_us, time_us),
            cell(fault.p99_worst_us, time_us),
        ];
        if has_goodput {
            let rate = |rate: f64| format!("{}/s", count(rate));
            let share = fault.good_share_worst.map(|share| percent(share.median));
            let share = share.map_or(String::new(), |share| format!(" ({share})"));
            let worst = cell(fault.good_worst, rate) + &share;
            cells.extend([cell(fault.good_before, rate), worst]);
        }
        cells.push(fault.errors_stopped());
        cells.push(match fault.p99_before_us {
            Some(_) => fault.back(),
            None => "–".to_owned(),
        });
        lines.push(cells);
    }
    lines
}

/// How to read such a table.
pub(super) const EXPLAINED: &str = "Medians of the rounds. Times count from the beginning of the \
    fault, to the second; those without answers in whole tenths of one. A percentile is back once \
    it stays for three seconds within 1.25 times that before the first fault, or below the highest \
    then. Behind a goodput stands its share of what was offered in that second. Lost are all \
    requests that failed from the fault to the next one or the end, and those that weren't \
    answered by then.";

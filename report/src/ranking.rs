//! Who is ahead, by how much and at what cost: a sentence or two to stand first, and a line for
//! each row.
//!
//! Made of verdicts alone: what they leave open is not ranked here either.

use lab::finding::{Check, Finding, Severity};
use lab::judging::at_equal_rate;
use lab::manifest::{Role, Setup};
use lab::verdict::{BUSY, Kind, Metric, Verdict, times};
use statistics::Ratio;
use statistics::format::per_second;

use super::{Row, as_sentence, standing_among};

/// One row's verdict by one figure.
pub(crate) struct Said<'a> {
    name: &'a str,
    pub(crate) verdict: &'a Verdict,
    pub(crate) ratio: Option<&'a Ratio>,
    /// How far it stayed behind the rate that it's a figure of, if it did.
    behind: Option<&'a str>,
    /// Whether something else kept the generator from its cores.
    held_up: bool,
}

/// So many rows that nothing can be said of share a sentence.
const SHARED_MIN: usize = 3;

/// The rows ranked by the main figure, and by what a request costs where that is judged, too.
pub(super) fn ranking(subjects: &[Row], setup: &Setup) -> Vec<String> {
    let cost = Metric::ServerCpuPerExchange;
    let mut figures = vec![setup.metric];
    figures.extend(Some(cost).filter(|_| setup.metric != cost));
    let sentences = figures.into_iter().filter_map(|metric| {
        let said: Vec<Said<'_>> = subjects
            .iter()
            .filter(|row| row.facts.role == Role::Subject)
            .filter_map(|row| row.said(metric, setup))
            .collect();
        ranked(&said, metric, setup)
    });
    let sentences: Vec<String> = sentences.collect();
    let is_void = |row: &&Row| row.facts.role == Role::Subject && row.verdict.kind == Kind::Void;
    match (sentences.is_empty(), subjects.iter().find(is_void)) {
        // That nothing can be said stands first, too.
        (true, Some(row)) => vec![as_sentence(&row.verdict, subjects)],
        _ => sentences,
    }
}

/// Figures besides the main one of which nothing can be said in several rows, each with a sentence
/// for all of these: it's mostly one reason that they have.
pub(super) fn without_verdict(subjects: &[Row], setup: &Setup) -> Vec<(Metric, String)> {
    let rows = || subjects.iter().filter(|row| !row.is_for_the_measuring());
    let mut metrics: Vec<Metric> = Vec::new();
    for judgement in rows().flat_map(|row| &row.further) {
        if !metrics.contains(&judgement.metric) {
            metrics.push(judgement.metric);
        }
    }
    let shared = metrics.into_iter().filter_map(|metric| {
        let said = rows().filter_map(|row| row.said(metric, setup));
        let void: Vec<Said<'_>> = said.filter(|one| one.verdict.kind == Kind::Void).collect();
        let first = void.first().filter(|_| void.len() >= SHARED_MIN)?;
        let names = list(void.iter().map(|one| one.name.to_owned()).collect());
        let part = first.part(metric)?;
        let why = match part.split_once(", because ") {
            Some((_, why)) => format!(". Of {}: {why}", first.name),
            None => String::new(),
        };
        Some((
            metric,
            format!("No verdict on {} for {names}{why}.", metric.name()),
        ))
    });
    shared.collect()
}

impl Row {
    /// What was found of it by one figure; none if it is not judged by that.
    pub(crate) fn said(&self, metric: Metric, setup: &Setup) -> Option<Said<'_>> {
        let (verdict, ratio) = match metric == setup.metric {
            true => (&self.verdict, self.ratio.as_ref()),
            false => {
                let mut further = self.further.iter();
                let judgement = further.find(|judgement| judgement.metric == metric)?;
                (&judgement.verdict, judgement.ratio.as_ref())
            }
        };
        let rated = setup.rate.is_some() || setup.equal_rate.is_some() && at_equal_rate(metric);
        Some(Said {
            name: &self.facts.name,
            verdict,
            ratio,
            behind: self.behind_rate.as_deref().filter(|_| rated),
            held_up: self.is_held_up(),
        })
    }

    /// Whether something else kept the generator from its cores in most of the rounds in which it
    /// was the limit.
    fn is_held_up(&self) -> bool {
        let bounded = || self.samples.iter().filter(|it| it.bound().is_some());
        let held_up = bounded().filter(|sample| {
            let kept = |found: &Finding| {
                found.check == Check::RunQueue && found.severity == Severity::Bound
            };
            sample.generator_busy.is_none_or(|busy| busy < BUSY) && sample.findings.iter().any(kept)
        });
        2 * held_up.count() > bounded().count()
    }

    /// What was found of it by each figure, in a line; of one figure alone, its whole sentence.
    /// Figures that are told elsewhere are left out.
    pub(crate) fn line(&self, setup: &Setup, elsewhere: &[Metric]) -> Option<String> {
        if self.further.is_empty() || matches!(self.verdict.kind, Kind::Void | Kind::NotMeasured) {
            return None;
        }
        let further = self.further.iter().map(|judgement| judgement.metric);
        let further = further.filter(|metric| !elsewhere.contains(metric));
        let metrics = std::iter::once(setup.metric).chain(further);
        let parts = metrics.filter_map(|metric| self.said(metric, setup)?.part(metric));
        let parts: Vec<String> = parts.collect();
        (!parts.is_empty()).then(|| format!("{}: {}.", self.facts.name, parts.join("; ")))
    }
}

impl Said<'_> {
    /// The figure and what it is worth, in a few words.
    fn part(&self, metric: Metric) -> Option<String> {
        let name = metric.name();
        let figure = |ratio: &Ratio| times(self.verdict.kind.figure(ratio));
        Some(match (self.verdict.kind, self.ratio) {
            (Kind::Higher | Kind::Lower, Some(ratio)) => format!("{} the {name}", figure(ratio)),
            (Kind::AtLeast, Some(ratio)) => format!("at least {} the {name}", figure(ratio)),
            (Kind::AtMost, Some(ratio)) => format!("at most {} the {name}", figure(ratio)),
            (Kind::NoDifference, Some(ratio)) if is_wide(ratio) => {
                format!("{name} can't be told apart: the interval is too wide")
            }
            (Kind::NoDifference, _) => format!("no difference in {name} shown"),
            (Kind::TooSmall, _) => format!("no difference in {name} that matters"),
            (Kind::Undecided, _) => {
                let why = limit_in_words(self.held_up);
                format!("{name} undecided, because the {why}")
            }
            (Kind::Void, _) => {
                let sentence = self.verdict.sentence();
                let why = sentence.split_once(", because ");
                match why.or_else(|| sentence.split_once(": ")) {
                    Some((_, why)) => format!("no verdict on {name}, because {why}"),
                    None => format!("no verdict on {name}"),
                }
            }
            (Kind::Higher | Kind::Lower | Kind::AtLeast | Kind::AtMost, None)
            | (Kind::Baseline | Kind::Noise | Kind::Ceiling | Kind::NotMeasured, _) => return None,
        })
    }

    /// By how much the baseline is ahead of it, if more of the figure is better.
    fn behind(&self) -> Option<(f64, bool)> {
        match (self.verdict.kind, self.ratio?) {
            (Kind::Lower, ratio) => Some((ratio.centre.recip(), false)),
            (Kind::AtMost, ratio) => Some((ratio.high.recip(), true)),
            _ => None,
        }
    }

    /// By how much it is above the baseline.
    fn above(&self) -> Option<(f64, bool)> {
        match (self.verdict.kind, self.ratio?) {
            (Kind::Higher, ratio) => Some((ratio.centre, false)),
            (Kind::AtLeast, ratio) => Some((ratio.low, true)),
            _ => None,
        }
    }
}

/// Why nothing can be said beyond what the generator made.
fn limit_in_words(held_up: bool) -> &'static str {
    match held_up {
        true => "generator was kept from its cores by something else",
        false => "generator was the limit",
    }
}

/// What comes before a multiple that is a bound.
fn at_least(bound: bool) -> &'static str {
    if bound { "at least " } else { "" }
}

/// Rows with their multiples, the nearest first, as `at least 1.2 × nginx, 2.4 × node-http`: what
/// goes for all of them is said once.
fn multiples(mut rows: Vec<(f64, bool, &str)>, write: impl Fn(&str, &str) -> String) -> String {
    rows.sort_by(|a, b| a.0.total_cmp(&b.0));
    let all = rows.iter().all(|row| row.1);
    let each = rows.iter().map(|(ratio, bound, name)| {
        at_least(*bound && !all).to_owned() + &write(&times(*ratio), name)
    });
    at_least(all).to_owned() + &list(each.collect())
}

/// An interval that allows for twice as much and for half says nothing.
const WIDE: f64 = 4.0;

fn is_wide(ratio: &Ratio) -> bool {
    ratio.high > WIDE * ratio.low
}

/// `a, b and c`.
fn list(mut items: Vec<String>) -> String {
    match items.pop() {
        Some(last) if !items.is_empty() => format!("{} and {last}", items.join(", ")),
        Some(last) => last,
        None => String::new(),
    }
}

/// The sentence about one figure; none where nothing was found.
fn ranked(said: &[Said<'_>], metric: Metric, setup: &Setup) -> Option<String> {
    let baseline = &setup.baseline;
    let mut clauses = match metric.more_is_better() {
        true => ranked_by_more(said, metric, baseline),
        false => ranked_by_less(said, metric, setup),
    };
    let of = |kind: Kind| -> Vec<String> {
        let rows = said.iter().filter(|one| one.verdict.kind == kind);
        rows.map(|one| one.name.to_owned()).collect()
    };
    let name = metric.name();
    // An interval that holds 1 shows nothing, and a wide one not even that there is little. One
    // that doesn't may be shown to be too small.
    let (wide, narrow) = said
        .iter()
        .filter(|one| one.verdict.kind == Kind::NoDifference)
        .map(|one| (one.name.to_owned(), one.ratio.is_some_and(is_wide)))
        .partition::<Vec<_>, _>(|(_, is_wide)| *is_wide);
    let names = |rows: Vec<(String, bool)>| rows.into_iter().map(|(name, _)| name).collect();
    let beside = |rows: &[String]| list([&[baseline.clone()][..], rows].concat());
    let alike: [(Vec<String>, _); 2] = [
        (of(Kind::TooSmall), "that matters"),
        (names(narrow), "shown"),
    ];
    for (alike, which) in alike.into_iter().filter(|(rows, _)| !rows.is_empty()) {
        clauses.push(match clauses.is_empty() {
            true => format!("no difference in {name} {which} between {}", beside(&alike)),
            false => format!("no difference from {} {which}", list(alike)),
        });
    }
    let wide: Vec<String> = names(wide);
    if !wide.is_empty() {
        let why = "the intervals are too wide";
        clauses.push(match clauses.is_empty() {
            true => format!("by {name}, {} can't be told apart: {why}", beside(&wide)),
            false => format!("{} can't be told from {baseline}: {why}", list(wide)),
        });
    }
    let undecided = of(Kind::Undecided);
    if !undecided.is_empty() {
        let is_meant = |one: &&Said<'_>| {
            one.verdict.kind == Kind::Undecided || one.verdict.kind == Kind::Baseline
        };
        let held_up = said.iter().filter(is_meant).any(|one| one.held_up);
        let why = format!("because the load {}", limit_in_words(held_up));
        clauses.push(match clauses.is_empty() {
            true => format!("by {name}, {} can't be ranked, {why}", beside(&undecided)),
            false => format!("{} can't be ranked, {why}", list(undecided)),
        });
    }
    if clauses.is_empty() {
        return None;
    }
    let names = said.iter().map(|one| one.name);
    Some(standing_among(&clauses.join("; "), names))
}

fn ranked_by_more(said: &[Said<'_>], metric: Metric, baseline: &str) -> Vec<String> {
    let behind = said.iter().filter_map(|one| {
        let (ratio, bound) = one.behind()?;
        Some((ratio, bound, one.name))
    });
    let ahead = said.iter().filter_map(|one| {
        let (ratio, bound) = one.above()?;
        Some((ratio, bound, one.name))
    });
    let (behind, mut ahead): (Vec<_>, Vec<_>) = (behind.collect(), ahead.collect());
    // What nothing can be said about may be ahead; what was never measured isn't compared.
    let compared = said
        .iter()
        .filter(|one| !matches!(one.verdict.kind, Kind::Baseline | Kind::NotMeasured));
    let most = behind.len() == compared.count();
    let (does, what) = match metric {
        Metric::Capacity => ("holds", "the rate"),
        Metric::RequestsDriven => ("gets", "the requests answered"),
        Metric::RequestsPerSecond => ("answers", "the requests"),
        Metric::Streamed(figure) if !figure.is_a_time() => ("sends", "the events"),
        // Of these less is better, and they are ranked below.
        Metric::ResponseTimeP99
        | Metric::ResponseTimeP95
        | Metric::ResponseTimeP50
        | Metric::ResponseTimeMean
        | Metric::Streamed(_)
        | Metric::ServerCpuPerExchange
        | Metric::Seconds
        | Metric::MemoryPeak
        | Metric::GeneratorCpuPerExchange => ("has", metric.name()),
    };
    let mut clauses = Vec::new();
    if !ahead.is_empty() {
        ahead.sort_by(|a, b| a.0.total_cmp(&b.0));
        let each = ahead.iter().map(|(ratio, bound, name)| {
            format!("{name} {does} {}{}", at_least(*bound), times(*ratio))
        });
        let each = list(each.collect());
        clauses.push(format!("{each} {what} of {baseline}"));
    }
    if !behind.is_empty() {
        clauses.push(match most {
            true => {
                let each = multiples(behind, |times, name| format!("{times} {name}"));
                format!("{baseline} {does} most: {each}")
            }
            false => {
                let each = multiples(behind, |times, name| format!("{times} {what} of {name}"));
                format!("{baseline} {does} {each}")
            }
        });
    }
    clauses
}

fn ranked_by_less(said: &[Said<'_>], metric: Metric, setup: &Setup) -> Vec<String> {
    let mut all = said.iter();
    let base_behind = all.any(|one| one.verdict.kind == Kind::Baseline && one.behind.is_some());
    let above = said.iter().filter_map(|one| {
        let kind = one.verdict.kind;
        // Neither is it the same rate if it's the baseline that doesn't hold it.
        if one.behind.is_some() || base_behind {
            return None;
        }
        let bound = match kind {
            Kind::Higher | Kind::Lower => "",
            Kind::AtLeast => "at least ",
            Kind::AtMost => "at most ",
            _ => return None,
        };
        Some((kind.figure(one.ratio?), bound, one.name))
    });
    let mut rows: Vec<(f64, &str, &str)> = above.collect();
    if rows.is_empty() {
        return Vec::new();
    }
    rows.sort_by(|a, b| a.0.total_cmp(&b.0));
    let takes = |(at, (ratio, bound, name)): (usize, &(f64, &str, &str))| match at {
        0 => format!("{name} takes {bound}{}", times(*ratio)),
        _ => format!("{name} {bound}{}", times(*ratio)),
    };
    let each = list(rows.iter().enumerate().map(takes).collect());
    let rate = setup.equal_rate.filter(|_| at_equal_rate(metric));
    let condition = match rate.or(setup.rate) {
        Some(rate) => format!("for the same {}, ", per_second(rate)),
        None if metric == Metric::ServerCpuPerExchange => "for each exchange, ".to_owned(),
        None => String::new(),
    };
    let what = match metric {
        Metric::ServerCpuPerExchange => "CPU time",
        other => other.name(),
    };
    vec![format!(
        "{condition}{each} the {what} of {}",
        setup.baseline
    )]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ratio(centre: f64) -> Ratio {
        let pairs: Vec<statistics::Pair> = [0.999, 1.0, 1.001, 1.0, 1.0]
            .iter()
            .map(|noise| statistics::Pair {
                start: 1,
                a: centre * noise,
                b: 1.0,
            })
            .collect();
        Ratio::of(&pairs, 0.95, 1).expect("enough rounds")
    }

    fn of(metric: Metric, setup: &Setup, rows: &[(&str, Kind, f64)]) -> Option<String> {
        with_behind(metric, setup, rows, "nobody")
    }

    /// The same where one of them didn't hold the rate.
    fn with_behind(
        metric: Metric,
        setup: &Setup,
        rows: &[(&str, Kind, f64)],
        behind: &str,
    ) -> Option<String> {
        let verdicts: Vec<Verdict> = rows.iter().map(|row| Verdict::new(row.1, "")).collect();
        let ratios: Vec<Ratio> = rows.iter().map(|row| ratio(row.2)).collect();
        let said: Vec<Said<'_>> = (0..rows.len())
            .map(|at| Said {
                name: rows[at].0,
                verdict: &verdicts[at],
                ratio: Some(&ratios[at])
                    .filter(|_| !matches!(rows[at].1, Kind::Baseline | Kind::Void)),
                behind: Some("only 121 of 200 requests per second were served")
                    .filter(|_| rows[at].0 == behind),
                held_up: false,
            })
            .collect();
        ranked(&said, metric, setup)
    }

    #[test]
    fn the_baseline_is_first_only_if_all_others_are_behind() {
        let setup = crate::made_up::setup();
        let by_rate = |rows: &[_]| of(Metric::RequestsPerSecond, &setup, rows).expect("a sentence");
        let base = ("ours", Kind::Baseline, 1.0);
        assert_eq!(
            by_rate(&[base, ("b", Kind::Lower, 0.25), ("a", Kind::Lower, 0.5)]),
            "ours answers most: 2 × a and 4 × b."
        );
        let void = by_rate(&[base, ("a", Kind::Lower, 0.5), ("f", Kind::Void, 1.0)]);
        assert_eq!(void, "ours answers 2 × the requests of a.");
        let bound = by_rate(&[base, ("a", Kind::AtMost, 0.5), ("b", Kind::AtMost, 0.25)]);
        assert!(bound.starts_with("ours answers most: at least "), "{bound}");
        let mixed = by_rate(&[
            base,
            ("a", Kind::Lower, 0.5),
            ("b", Kind::Higher, 1.5),
            ("c", Kind::AtLeast, 2.0),
            ("d", Kind::NoDifference, 1.0),
            ("g", Kind::TooSmall, 1.01),
            ("e", Kind::Undecided, 1.0),
            ("f", Kind::Void, 9.0),
        ]);
        assert_eq!(
            mixed,
            "b answers 1.5 × and c answers at least 2 × the requests of ours; ours answers 2 × the \
             requests of a; no difference from g that matters; no difference from d shown; e can't \
             be ranked, because the load generator was the limit."
        );
    }

    #[test]
    fn what_is_open_is_not_ranked() {
        let setup = crate::made_up::setup();
        let base = ("ours", Kind::Baseline, 1.0);
        let rows = [
            base,
            ("a", Kind::NoDifference, 1.0),
            ("b", Kind::Undecided, 1.1),
        ];
        assert_eq!(
            of(Metric::RequestsPerSecond, &setup, &rows).expect("a sentence"),
            "No difference in requests/s shown between ours and a; b can't be ranked, \
             because the load generator was the limit."
        );
        assert_eq!(of(Metric::RequestsPerSecond, &setup, &[base]), None);
        let rows = [base, ("a", Kind::Void, 1.0)];
        assert_eq!(of(Metric::ServerCpuPerExchange, &setup, &rows), None);
    }

    #[test]
    fn several_that_nothing_can_be_said_of_are_one_list_and_wide_intervals_say_so() {
        let setup = crate::made_up::setup();
        let by_rate = |kind: Kind| {
            let rows = [
                ("ours", Kind::Baseline, 1.0),
                ("z", kind, 1.0),
                ("y", kind, 1.0),
            ];
            of(Metric::RequestsPerSecond, &setup, &rows).expect("a sentence")
        };
        let said = by_rate(Kind::Undecided);
        assert!(
            said.starts_with("By requests/s, ours, z and y can't be ranked"),
            "{said}"
        );
        let said = by_rate(Kind::NoDifference);
        assert!(said.ends_with("shown between ours, z and y."), "{said}");
        let open = Verdict::new(Kind::NoDifference, "");
        let base = Verdict::new(Kind::Baseline, "");
        let wide = Ratio {
            low: 0.34,
            high: 13.5,
            ..ratio(1.0)
        };
        let of_one = |name, verdict, ratio| Said {
            name,
            verdict,
            ratio,
            behind: None,
            held_up: false,
        };
        let said = [
            of_one("ours", &base, None),
            of_one("z", &open, Some(&wide)),
            of_one("y", &open, Some(&wide)),
        ];
        assert_eq!(
            ranked(&said, Metric::ServerCpuPerExchange, &setup).expect("a sentence"),
            "By CPU time per exchange, ours, z and y can't be told apart: the intervals are too \
             wide."
        );
    }

    #[test]
    fn costs_are_told_in_order_with_the_rate_they_are_of() {
        let setup = Setup {
            equal_rate: Some(20_000.0),
            ..crate::made_up::setup()
        };
        let base = ("ours", Kind::Baseline, 1.0);
        let rows = [base, ("b", Kind::Higher, 4.0), ("a", Kind::Lower, 0.5)];
        let cost = Metric::ServerCpuPerExchange;
        assert_eq!(
            with_behind(cost, &setup, &rows, "b").expect("a sentence"),
            "For the same 20,000/s, a takes 0.5 × the CPU time of ours."
        );
        assert_eq!(with_behind(cost, &setup, &rows, "ours"), None);
        let bound = of(cost, &setup, &[base, ("a", Kind::AtMost, 0.5)]).expect("a sentence");
        assert!(bound.contains("a takes at most 0.5"), "{bound}");
        assert_eq!(
            of(cost, &setup, &rows).expect("a sentence"),
            "For the same 20,000/s, a takes 0.5 × and b 4 × the CPU time of ours."
        );
        assert_eq!(
            of(cost, &crate::made_up::setup(), &rows).expect("a sentence"),
            "For each exchange, a takes 0.5 × and b 4 × the CPU time of ours."
        );
    }
}

//! What was found in sentences, and the report in a terminal.

use std::fmt::Write;

use measure::time::{utc_date, utc_time_of_day};
use statistics::format;
use statistics::trend::Slope;

use crate::found::{Figure, Happened, Kind, Soak, State, Verdict};

const HOUR_S: f64 = 3600.0;

impl Kind {
    /// What it's called.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Memory => "memory",
            Kind::GroupMemory => "memory of the control group",
            Kind::Descriptors => "descriptors",
            Kind::Threads => "threads",
            Kind::P99 => "p99",
            Kind::Throughput => "throughput",
        }
    }

    /// One of its values.
    pub fn value(self, value: f64) -> String {
        let sign = if value < 0.0 { "−" } else { "" };
        let size = value.abs();
        let text = match self {
            Kind::Memory | Kind::GroupMemory => format::bytes(size),
            Kind::Descriptors | Kind::Threads => match size {
                10.0.. => format::whole(size.round() as u64),
                _ => format!("{}", (10.0 * size).round() / 10.0),
            },
            Kind::P99 => format::time_us(size),
            Kind::Throughput => format::per_second(size),
        };
        format!("{sign}{text}")
    }

    /// How it gets worse: that it does, that it did, and that it doesn't.
    fn worsens(self) -> Worsens {
        match self {
            Kind::Memory | Kind::GroupMemory | Kind::P99 => Worsens {
                does: "grows",
                did: "grew",
                does_not: "doesn't grow",
            },
            Kind::Descriptors | Kind::Threads => Worsens {
                does: "grow",
                did: "grew",
                does_not: "don't grow",
            },
            Kind::Throughput => Worsens {
                does: "falls",
                did: "fell",
                does_not: "doesn't fall",
            },
        }
    }

    /// A slope turned so that more is worse: its least and its largest.
    fn worsening(self, slope: Slope) -> (f64, f64) {
        match self.worse() < 0.0 {
            true => (-slope.high, -slope.low),
            false => (slope.low, slope.high),
        }
    }
}

/// The verbs of a figure that gets worse.
struct Worsens {
    does: &'static str,
    did: &'static str,
    does_not: &'static str,
}

/// A length of time: `45 s`, `12 min`, `72 h`.
pub fn length(seconds: f64) -> String {
    let text = |number: f64, unit| {
        let number = (number * 10.0).round() / 10.0;
        format!("{number} {unit}")
    };
    match seconds {
        7200.0.. => text(seconds / HOUR_S, "h"),
        120.0.. => text(seconds / 60.0, "min"),
        _ => text(seconds, "s"),
    }
}

/// What lies between two values, with the unit once.
fn range(kind: Kind, low: f64, high: f64) -> String {
    let (low_text, high_text) = (kind.value(low), kind.value(high));
    let between = if low < 0.0 { " to " } else { "–" };
    let unit = |text: &str| text.rsplit_once(' ').map(|(_, unit)| unit.to_owned());
    match (low_text.rsplit_once(' '), unit(&high_text)) {
        (Some((number, own)), Some(unit)) if own == unit => format!("{number}{between}{high_text}"),
        _ => format!("{low_text}{between}{high_text}"),
    }
}

/// What can be said of a figure in a soak of so many seconds.
pub(crate) fn figure(figure: &Figure, length_s: f64) -> String {
    let kind = figure.kind;
    let name = kind.name();
    let counts = kind.value(figure.smallest_per_hour);
    let Some(slope) = figure.per_hour else {
        return format!(
            "can't tell whether {name} {}: there are too few samples after the warm-up, or each \
             depends too much on the one before",
            kind.worsens().does
        );
    };
    let Worsens { does, did, .. } = kind.worsens();
    let (least, largest) = kind.worsening(slope);
    let between = range(kind, least, largest);
    let by = format!("by {} an hour ({between})", kind.value(slope.slope.abs()));
    match figure.state {
        State::Grows => grows(figure, &by, slope, length_s),
        State::Grew => format!(
            "{name} {did} {by}, but not in the second half: {}",
            match kind.is_resource() {
                true => "it filled up, and doesn't leak",
                false => "it has levelled off",
            }
        ),
        State::Steady => format!(
            "{name} {}: no {} larger than {} an hour could have been missed",
            kind.worsens().does_not,
            match kind.worse() < 0.0 {
                true => "fall",
                false => "growth",
            },
            kind.value(largest.max(0.0))
        ),
        State::CannotTell if least > figure.smallest_per_hour => format!(
            "{name} {does} {by} so far, but more slowly in the second half: can't tell yet whether \
             that goes on"
        ),
        State::CannotTell => format!(
            "can't tell whether {name} {does}: {between} an hour agrees with the samples, and \
             {counts} counts; a longer soak narrows that down"
        ),
    }
}

fn grows(figure: &Figure, by: &str, slope: Slope, length_s: f64) -> String {
    let kind = figure.kind;
    let mut says = format!("{} {} {by}", kind.name(), kind.worsens().does);
    if let Some(each) = figure.per_request.filter(|_| kind.is_resource()) {
        let each = match kind {
            Kind::Memory | Kind::GroupMemory => format!("{each:.0} bytes a request"),
            _ => format!("one in {:.0} requests", 1.0 / each),
        };
        let _ = write!(says, ": {each}");
    }
    let all = kind.value(slope.slope.abs() * length_s / HOUR_S);
    let _ = write!(says, "; in {} that is {all}", length(length_s));
    says
}

/// A moment, as `2026-11-21 20:12:54 UTC`.
fn moment(unix_s: f64) -> String {
    let seconds = unix_s.max(0.0) as u64;
    format!("{} {} UTC", utc_date(seconds), utc_time_of_day(seconds))
}

pub(crate) fn asleep(at: f64, seconds: f64) -> String {
    format!(
        "at {} the machine was asleep for {}",
        moment(at),
        length(seconds)
    )
}

pub(crate) fn interrupted(from: f64, until: f64) -> String {
    format!(
        "the soak was interrupted at {} and went on {} later: between them nothing was seen",
        moment(from),
        length(until - from)
    )
}

pub(crate) fn unseen(from: f64, until: f64) -> String {
    format!(
        "from {} on there are no samples for {}: ringside itself was stopped or didn't get the CPU",
        moment(from),
        length(until - from)
    )
}

pub(crate) fn restarted(at: f64, last: u32, now: u32) -> String {
    format!(
        "the process was restarted before {}: {now} replaced {last}",
        moment(at)
    )
}

pub(crate) fn gone(at: f64, last: u32) -> String {
    format!("process {last} was gone at {}", moment(at))
}

pub(crate) fn replaced(many: u32, first: f64, last: f64) -> String {
    format!(
        "{many} of its child processes were replaced, from {} to {}",
        moment(first),
        moment(last)
    )
}

pub(crate) fn unanswered(from: f64, until: f64) -> String {
    format!(
        "from {} on nothing was answered for {}",
        moment(from),
        length(until - from)
    )
}

pub(crate) fn failed(failed: u64, all: u64, first: f64) -> String {
    format!(
        "{} of {} requests failed, the first at {}",
        format::whole(failed),
        format::whole(all),
        moment(first)
    )
}

pub(crate) fn not_held(answered: f64, rate: f64, failed: u64, due: u64) -> String {
    let why = match failed as f64 > 0.01 * due as f64 {
        true => "many requests failed",
        false => "the subject, the connections or the generator can't keep up",
    };
    format!(
        "the rate wasn't held: only {} of the {} due were answered; {why}",
        format::per_second(answered),
        format::per_second(rate)
    )
}

/// What can be concluded, the verdict first.
pub(crate) fn conclusions(soak: &Soak) -> Vec<String> {
    let figures = |wanted: fn(&Figure) -> bool| soak.figures.iter().filter(move |one| wanted(one));
    let leaks = |figure: &Figure| figure.kind.is_resource() && figure.state == State::Grows;
    let memory = |figure: &Figure| figure.kind == Kind::Memory;
    let open = |figure: &Figure| figure.kind.is_resource() && figure.state == State::CannotTell;
    let drifts = |figure: &Figure| !figure.kind.is_resource() && figure.state == State::Grows;
    let named = |name: &str, says: &str| format!("{name}: {}.", says);
    let mut says: Vec<String> = match soak.verdict {
        Verdict::Leak => figures(leaks).map(|one| named("Leak", &one.says)).collect(),
        Verdict::NoLeak => figures(memory)
            .map(|one| named("No leak", &one.says))
            .collect(),
        Verdict::CannotTell => figures(open).map(|one| sentence(&one.says)).collect(),
        Verdict::NotWatched => vec![
            "No process was watched, so that only the load is judged: name one with --pid."
                .to_owned(),
        ],
        Verdict::NothingMeasured => vec!["Nothing was measured.".to_owned()],
    };
    if says.is_empty() {
        says.push("Can't tell whether anything leaks: there are too few samples.".to_owned());
    }
    says.extend(figures(drifts).map(|one| sentence(&one.says)));
    says
}

/// A sentence out of words that don't begin one.
fn sentence(words: &str) -> String {
    let mut letters = words.chars();
    let first = letters.next().into_iter().flat_map(char::to_uppercase);
    let mut sentence: String = match words.starts_with("p99") {
        true => words.to_owned(),
        false => first.chain(letters).collect(),
    };
    if !sentence.ends_with('.') {
        sentence.push('.');
    }
    sentence
}

/// The report in a terminal, in plain letters unless it has others.
pub fn terminal(soak: &Soak, unicode: bool) -> String {
    let text = report(soak);
    match unicode {
        true => text,
        false => format::ascii(&text),
    }
}

fn report(soak: &Soak) -> String {
    let asked = &soak.asked;
    let mut text = String::new();
    for says in &soak.says {
        let _ = writeln!(text, "{says}");
    }
    let _ = writeln!(
        text,
        "{}, {}: {} over {} connections for {} of {}, in {}; {} left out as warm-up; a sample each \
         {}; {} looks",
        asked.subject,
        asked.question,
        format::per_second(asked.rate),
        asked.connections,
        length(soak.measured_s),
        length(asked.length_s),
        parts(soak),
        length(asked.warm_up_s),
        length(asked.sample_s),
        soak.looks.len()
    );
    if let Some(process) = &soak.process {
        let _ = writeln!(text, "watched: {process}");
    }
    if !soak.figures.is_empty() {
        text.push_str(&table(&soak.figures));
    }
    let exchanges = &soak.exchanges;
    let _ = writeln!(
        text,
        "\n{} requests answered, {} failed",
        format::whole(exchanges.completed),
        format::whole(exchanges.failed)
    );
    for (kind, count) in &exchanges.errors {
        let _ = writeln!(text, "  {} {kind}", format::whole(*count));
    }
    if !soak.findings.is_empty() {
        text.push_str("\nWhat happened:\n");
    }
    for finding in &soak.findings {
        let _ = writeln!(text, "  {}", sentence(&finding.says));
    }
    let ended = soak.parts.iter().filter_map(|part| part.ended.as_ref());
    let warnings = soak.parts.iter().flat_map(|part| &part.warnings);
    let cautions: Vec<&String> = soak.cautions.iter().chain(ended).chain(warnings).collect();
    if !cautions.is_empty() {
        text.push_str("\nTo be read with care:\n");
    }
    for caution in cautions {
        let _ = writeln!(text, "  {}", sentence(caution));
    }
    text
}

/// The figures, a line each.
fn table(figures: &[Figure]) -> String {
    let mut text = format!(
        "\n{:<27} {:>10} {:>10}  {:<11} {}\n",
        "figure", "at first", "at last", "", "an hour"
    );
    for figure in figures {
        let value = |value| figure.kind.value(value);
        let each = figure.per_hour;
        let _ = writeln!(
            text,
            "{:<27} {:>10} {:>10}  {:<11} {}",
            figure.kind.name(),
            value(figure.first),
            value(figure.last),
            in_a_word(figure),
            each.map_or_else(String::new, |slope| range(
                figure.kind,
                slope.low,
                slope.high
            )),
        );
    }
    text
}

/// What can be said of a figure, in a word or two.
pub(crate) fn in_a_word(figure: &Figure) -> &'static str {
    match figure.state {
        State::Grows => "proven",
        State::Grew if figure.kind.is_resource() => "filled up",
        State::Grew => "levelled off",
        State::Steady => "steady",
        State::CannotTell => "can't tell",
    }
}

fn parts(soak: &Soak) -> String {
    match soak.parts.len() {
        1 => "one part".to_owned(),
        many => format!("{many} parts"),
    }
}

/// How a finding is marked on a plot, in a word or two.
pub(crate) fn short(kind: Happened) -> &'static str {
    match kind {
        Happened::Restarted => "restarted",
        Happened::Replaced => "processes replaced",
        Happened::Gone => "gone",
        Happened::Interrupted => "interrupted",
        Happened::Asleep => "asleep",
        Happened::Unseen => "no samples",
        Happened::Unanswered => "nothing answered",
        Happened::Failed => "first failure",
        Happened::NotHeld => "rate not held",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_have_their_unit_once_and_lengths_are_those_that_people_plan_with() {
        let mib = 1024.0 * 1024.0;
        let memory = |low, high| range(Kind::Memory, low, high);
        assert_eq!(memory(4.8 * mib, 5.4 * mib), "4.80–5.40 MiB");
        assert_eq!(memory(1024.0, 5.4 * mib), "1.00 KiB–5.40 MiB");
        assert_eq!(memory(-2.0 * mib, mib), "−2.00 to 1.00 MiB");
        assert_eq!(range(Kind::Threads, 1.0, 2.04), "1–2");
        assert_eq!(length(20.0), "20 s");
        assert_eq!(length(90.0 * 60.0), "90 min");
        assert_eq!(length(72.0 * 3600.0), "72 h");
        assert_eq!(sentence("memory grows"), "Memory grows.");
        assert_eq!(sentence("p99 grows."), "p99 grows.");
    }

    #[test]
    fn what_got_worse_and_stopped_is_said_in_the_direction_it_went() {
        let figure = |kind, state, (slope, low, high)| Figure {
            kind,
            first: 0.0,
            last: 0.0,
            per_hour: Some(Slope {
                slope,
                low,
                high,
                blocks: 10,
                dependence: 0.0,
            }),
            second_half_per_hour: None,
            smallest_per_hour: 1.0,
            state,
            per_request: None,
            says: String::new(),
        };
        let fell = (-20.0, -30.0, -10.0);
        let grew = (20.0, 10.0, 30.0);
        let cases = [
            (
                figure(Kind::Throughput, State::Grew, fell),
                "throughput fell by 20/s an hour (10/s–30/s), but not in the second half: it \
                 has levelled off",
            ),
            (
                figure(Kind::P99, State::Grew, grew),
                "p99 grew by 20.0 µs an hour (10.0–30.0 µs), but not in the second half: it has \
                 levelled off",
            ),
            (
                figure(Kind::Descriptors, State::Grew, grew),
                "descriptors grew by 20 an hour (10–30), but not in the second half: it filled up, \
                 and doesn't leak",
            ),
            (
                figure(Kind::Throughput, State::CannotTell, fell),
                "throughput falls by 20/s an hour (10/s–30/s) so far, but more slowly in the \
                 second half: can't tell yet whether that goes on",
            ),
            (
                figure(Kind::Throughput, State::CannotTell, (0.0, -5.0, 5.0)),
                "can't tell whether throughput falls: −5/s to 5/s an hour agrees with the \
                 samples, and 1/s counts; a longer soak narrows that down",
            ),
            (
                figure(Kind::Throughput, State::Steady, (0.0, -0.5, 0.25)),
                "throughput doesn't fall: no fall larger than 0.5/s an hour could have been missed",
            ),
        ];
        for (case, expected) in cases {
            assert_eq!(super::figure(&case, 600.0), expected);
        }
        let fallen = figure(Kind::Throughput, State::Grew, fell);
        assert_eq!(in_a_word(&fallen), "levelled off");
        let filled = figure(Kind::Memory, State::Grew, grew);
        assert_eq!(in_a_word(&filled), "filled up");
    }
}

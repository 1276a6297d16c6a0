//! What was found in sentences, and the report in a terminal.

use std::fmt::Write;

use measure::time::{utc_date, utc_time_of_day};
use statistics::format;
use statistics::trend::Slope;

use crate::found::{Exchanges, Figure, Happened, Kind, Soak, State, Verdict};

const HOUR_S: f64 = 3600.0;

/// So begins why a part ended that somebody stopped.
pub(crate) const STOPPED: &str = "the soak was stopped";

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

/// In what time a change is told: its hours, and how that's called behind it. What counts of p99
/// and throughput is a change over the whole soak, and of descriptors and threads, too, until an
/// hour is less than half of it.
fn span(kind: Kind, length_s: f64) -> (f64, String) {
    let by_hour = match kind {
        Kind::Memory | Kind::GroupMemory => true,
        Kind::Descriptors | Kind::Threads => length_s >= 2.0 * HOUR_S,
        Kind::P99 | Kind::Throughput => false,
    };
    match by_hour {
        true => (1.0, "an hour".to_owned()),
        false => (length_s / HOUR_S, format!("in {}", length(length_s))),
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
        // Without the sign of a zero.
        let number = (number * 10.0).round().max(0.0) / 10.0;
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
    let Worsens {
        does,
        did,
        does_not,
    } = kind.worsens();
    let Some(slope) = figure.per_hour else {
        return format!(
            "can't tell whether {name} {does}: there are too few samples after the warm-up, which \
             begins again when the process is restarted (a shorter --warm-up leaves more), or they \
             are too strongly correlated"
        );
    };
    let (hours, unit) = span(kind, length_s);
    let (least, largest) = kind.worsening(slope);
    let between = range(kind, hours * least, hours * largest);
    let by = kind.value(hours * slope.slope.abs());
    let by = format!("by {by} {unit} ({between})");
    match figure.state {
        State::Grows => grows(figure, &by, length_s),
        State::Grew => format!(
            "{name} {did} {by}, but not in the second half: {}",
            match kind.is_resource() {
                true => "it filled up, and doesn't leak",
                false => "it has levelled off",
            }
        ),
        State::Steady => format!(
            "{name} {does_not}: no {} larger than {} {unit} could have been missed",
            match kind.worse() < 0.0 {
                true => "fall",
                false => "growth",
            },
            kind.value(hours * largest.max(0.0))
        ),
        State::CannotTell if least > figure.smallest_per_hour => format!(
            "{name} {does} {by} so far, but more slowly in the second half: can't tell yet whether \
             that goes on"
        ),
        State::CannotTell => format!(
            "can't tell whether {name} {does}: the samples allow {between} {unit}, and {} counts; \
             a longer soak narrows that down",
            kind.value(hours * figure.smallest_per_hour)
        ),
    }
}

fn grows(figure: &Figure, by: &str, length_s: f64) -> String {
    let kind = figure.kind;
    let mut says = format!("{} {} {by}", kind.name(), kind.worsens().does);
    if let Some(each) = figure.per_request.filter(|_| kind.is_resource()) {
        let each = match kind {
            Kind::Memory | Kind::GroupMemory => format!("{each:.0} bytes a request"),
            _ => format!("one in {:.0} requests", 1.0 / each),
        };
        let _ = write!(says, ": {each}");
    }
    let slope = figure.per_hour.map_or(0.0, |slope| slope.slope.abs());
    if span(kind, length_s).0 == 1.0 {
        let all = kind.value(slope * length_s / HOUR_S);
        let _ = write!(says, "; in {} that is {all}", length(length_s));
    }
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

pub(crate) fn stood_still(from: f64, until: f64) -> String {
    format!(
        "from {} on ringside itself stood still for {}, stopped or without the CPU: that time, and \
         what it sent at once behind it, isn't judged",
        moment(from),
        length(until - from)
    )
}

pub(crate) fn restarted(at: f64, last: u32, now: u32) -> String {
    format!(
        "the process was back by {}: {now} replaced {last}",
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

pub(crate) fn killed(many: u64, first: f64, last: f64) -> String {
    match many {
        1 => format!(
            "the kernel killed one of its processes for want of memory (OOM) before {}",
            moment(first)
        ),
        _ => format!(
            "the kernel killed {many} of its processes for want of memory (OOM), the first before \
             {}, the last before {}",
            moment(first),
            moment(last)
        ),
    }
}

pub(crate) fn throttled(waited_s: f64, of_s: f64, first: f64, last: f64) -> String {
    format!(
        "a limit of CPU time held it back from {} to {}: in {} of load its threads waited for {}, \
         summed over CPUs",
        moment(first),
        moment(last),
        length(of_s),
        length(waited_s)
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

pub(crate) fn not_held(answered: f64, rate: f64, why: &str) -> String {
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
        says.push(format!(
            "Can't tell whether anything leaks: there are too few samples after the warm-up of {}, \
             which begins again when the process is restarted. Shorten --warm-up, or soak for \
             longer.",
            length(soak.asked.warm_up_s)
        ));
    }
    says.extend(figures(drifts).map(|one| sentence(&one.says)));
    says
}

/// What was found in a few words, for a line that has more to say; nothing where that is nothing.
pub(crate) fn brief(soak: &Soak) -> String {
    let leaks = |figure: &&Figure| figure.kind.is_resource() && figure.state == State::Grows;
    let growth = |figure: &Figure| {
        let (hours, unit) = span(figure.kind, soak.asked.length_s);
        let slope = figure.per_hour.map_or(0.0, |slope| slope.slope);
        let by = figure.kind.value(hours * slope);
        format!("{} +{by} {unit}", figure.kind.name())
    };
    let all: Vec<String> = soak.figures.iter().filter(leaks).map(growth).collect();
    match soak.verdict {
        Verdict::Leak => format!("LEAK: {}", all.join(", ")),
        Verdict::NoLeak => "no leak so far".to_owned(),
        _ => String::new(),
    }
}

/// What a reader must know: of the whole soak, and of its parts, of which those that it's true of
/// are named unless all are. That somebody stopped a part is told as an interruption where it
/// went on.
pub(crate) fn cautions(soak: &Soak) -> Vec<String> {
    let parts = soak.parts.len();
    let mut of_parts: Vec<(&String, Vec<String>)> = Vec::new();
    for (at, part) in soak.parts.iter().enumerate() {
        let is_last = at + 1 == parts;
        let ended = part.ended.iter();
        let ended = ended.filter(|why| is_last || !why.starts_with(STOPPED));
        for text in part.cautions.iter().chain(ended).chain(&part.warnings) {
            let number = (at + 1).to_string();
            match of_parts.iter_mut().find(|(known, _)| *known == text) {
                Some((_, numbers)) if numbers.contains(&number) => {}
                Some((_, numbers)) => numbers.push(number),
                None => of_parts.push((text, vec![number])),
            }
        }
    }
    let told = |(text, numbers): (&String, Vec<String>)| match &numbers[..] {
        all if all.len() == parts => text.clone(),
        [one] => format!("part {one}: {text}"),
        several => format!("parts {}: {text}", several.join(", ")),
    };
    let of_parts = of_parts.into_iter().map(told);
    soak.cautions.iter().cloned().chain(of_parts).collect()
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
         {}; {}",
        asked.subject,
        asked.question,
        format::per_second(asked.rate),
        asked.connections,
        length(soak.measured_s),
        length(asked.length_s),
        parts(soak),
        length(asked.warm_up_s),
        length(asked.sample_s),
        match soak.looks.len() {
            1 => "one look".to_owned(),
            many => format!("{many} looks"),
        }
    );
    if let Some(process) = &soak.process {
        let _ = writeln!(text, "watched: {process}");
    }
    if !soak.figures.is_empty() {
        text.push_str(&table(&soak.figures, asked.length_s));
    }
    let exchanges = &soak.exchanges;
    let _ = writeln!(
        text,
        "\n{} requests answered, {} failed",
        format::whole(exchanges.completed),
        format::whole(exchanges.failed)
    );
    text.push_str(&errors(exchanges));
    if !soak.findings.is_empty() {
        text.push_str("\nWhat happened:\n");
    }
    for finding in &soak.findings {
        let _ = writeln!(text, "  {}", sentence(&finding.says));
    }
    let cautions = cautions(soak);
    if !cautions.is_empty() {
        text.push_str("\nCaveats:\n");
    }
    for caution in cautions {
        let _ = writeln!(text, "  {}", sentence(&caution));
    }
    text
}

/// What went wrong, by kind. While a server is away, connections are tried again and again: these
/// attempts aren't requests that failed.
fn errors(exchanges: &Exchanges) -> String {
    let all: u64 = exchanges.errors.values().sum();
    let mut text = match all > exchanges.failed {
        true => "errors of requests, and of attempts to connect:\n".to_owned(),
        false => String::new(),
    };
    for (kind, count) in &exchanges.errors {
        let _ = writeln!(text, "  {} {kind}", format::whole(*count));
    }
    text
}

/// The figures, a line each.
fn table(figures: &[Figure], length_s: f64) -> String {
    let mut text = format!(
        "\n{:<27} {:>10} {:>10}  {:<12} {}\n",
        "figure", "at first", "at last", "", "change"
    );
    for figure in figures {
        let kind = figure.kind;
        let (hours, unit) = span(kind, length_s);
        let change = figure.per_hour.map_or_else(String::new, |slope| {
            let between = range(kind, hours * slope.low, hours * slope.high);
            format!("{between} {unit}")
        });
        let _ = writeln!(
            text,
            "{:<27} {:>10} {:>10}  {:<12} {change}",
            kind.name(),
            kind.value(figure.first),
            kind.value(figure.last),
            in_a_word(figure),
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
        State::Steady if is_better(figure) => match figure.kind {
            Kind::Throughput => "rose",
            _ => "fell",
        },
        State::Steady => "steady",
        State::CannotTell => "can't tell",
    }
}

/// Whether it changed, and for the better.
fn is_better(figure: &Figure) -> bool {
    let worsening = figure.per_hour.map(|slope| figure.kind.worsening(slope));
    worsening.is_some_and(|(_, most)| most < 0.0)
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
        Happened::Killed => "OOM kill",
        Happened::Throttled => "throttled",
    }
}

#[cfg(test)]
mod tests {
    use measure::host::Host;

    use super::*;
    use crate::found::{Asked, Part};

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
    fn attempts_to_connect_are_told_from_requests_that_failed() {
        let of = |failed, refused| Exchanges {
            failed,
            errors: [("refused".to_owned(), refused)].into(),
            ..Exchanges::default()
        };
        assert_eq!(errors(&of(3, 3)), "  3 refused\n");
        let away = "errors of requests, and of attempts to connect:\n  2,142 refused\n";
        assert_eq!(errors(&of(1, 2142)), away);
        assert_eq!(errors(&Exchanges::default()), "");
    }

    #[test]
    fn what_got_worse_and_stopped_is_said_in_the_direction_it_went() {
        let figure = of;
        let fell = (-20.0, -30.0, -10.0);
        let grew = (20.0, 10.0, 30.0);
        let cases = [
            (
                figure(Kind::Throughput, State::Grew, fell),
                "throughput fell by 10/s in 30 min (5/s–15/s), but not in the second half: it has \
                 levelled off",
            ),
            (
                figure(Kind::P99, State::Grew, grew),
                "p99 grew by 10.0 µs in 30 min (5.00–15.0 µs), but not in the second half: it has \
                 levelled off",
            ),
            (
                figure(Kind::Descriptors, State::Grew, grew),
                "descriptors grew by 10 in 30 min (5–15), but not in the second half: it filled \
                 up, and doesn't leak",
            ),
            (
                figure(Kind::Throughput, State::CannotTell, fell),
                "throughput falls by 10/s in 30 min (5/s–15/s) so far, but more slowly in the \
                 second half: can't tell yet whether that goes on",
            ),
            (
                figure(Kind::Throughput, State::CannotTell, (0.0, -5.0, 5.0)),
                "can't tell whether throughput falls: the samples allow −2.5/s to 2.5/s in 30 \
                 min, and 0.5/s counts; a longer soak narrows that down",
            ),
            (
                figure(Kind::Throughput, State::Steady, (0.0, -0.5, 0.25)),
                "throughput doesn't fall: no fall larger than 0.25/s in 30 min could have been \
                 missed",
            ),
        ];
        for (case, expected) in cases {
            assert_eq!(super::figure(&case, 1800.0), expected);
        }
        let fallen = figure(Kind::Throughput, State::Grew, fell);
        assert_eq!(in_a_word(&fallen), "levelled off");
        let filled = figure(Kind::Memory, State::Grew, grew);
        assert_eq!(in_a_word(&filled), "filled up");
    }

    fn of(kind: Kind, state: State, (slope, low, high): (f64, f64, f64)) -> Figure {
        Figure {
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
        }
    }

    #[test]
    fn changes_are_told_in_the_time_in_which_they_count() {
        let threads = of(Kind::Threads, State::CannotTell, (0.0, -300.0, 450.0));
        let threads = Figure {
            smallest_per_hour: 600.0,
            ..threads
        };
        let short = super::figure(&threads, 12.0);
        assert!(
            short.contains("allow −1 to 1.5 in 12 s, and 2 counts"),
            "{short}"
        );
        let long = super::figure(&threads, 7200.0);
        assert!(long.contains("allow −300 to 450 an hour"), "{long}");
        let memory = of(Kind::Memory, State::Grows, (1024.0, 1000.0, 1048.0));
        let says = super::figure(&memory, 1800.0);
        assert!(says.ends_with("; in 30 min that is 512 B"), "{says}");
        let p99 = of(Kind::P99, State::Grows, (20.0, 10.0, 30.0));
        let says = super::figure(&p99, 1800.0);
        assert_eq!(says, "p99 grows by 10.0 µs in 30 min (5.00–15.0 µs)");
        let table = table(&[p99, memory], 1800.0);
        assert!(table.contains("5.00–15.0 µs in 30 min\n"), "{table}");
        assert!(table.contains("KiB an hour\n"), "{table}");
    }

    #[test]
    fn cautions_stand_once_and_say_which_parts_they_are_about() {
        let part = |ended: &str, cautions: &[&str], warnings: &[&str]| Part {
            ended: Some(ended.to_owned()).filter(|why| !why.is_empty()),
            cautions: cautions.iter().map(|text| (*text).to_owned()).collect(),
            warnings: warnings.iter().map(|text| (*text).to_owned()).collect(),
            ..Part::default()
        };
        let asked = Asked {
            subject: "x".to_owned(),
            question: "GET /".to_owned(),
            rate: 50.0,
            connections: 10,
            length_s: 600.0,
            warm_up_s: 60.0,
            sample_s: 1.0,
            smallest_bytes: 1048576.0,
            load: None,
            start: None,
        };
        let mut soak = Soak::new(asked, 0, Host::default());
        soak.cautions.push("few requests".to_owned());
        let by_signal = format!("{STOPPED} by a signal");
        soak.parts = vec![
            part(&by_signal, &["nobody is watched"], &["the generator"]),
            part("the subject died", &[], &["the generator", "late"]),
            part("", &[], &["the generator", "late"]),
        ];
        let expected = [
            "few requests",
            "part 1: nobody is watched",
            "the generator",
            "part 2: the subject died",
            "parts 2, 3: late",
        ];
        assert_eq!(cautions(&soak), expected);
        soak.parts.truncate(1);
        let expected = [
            "few requests",
            "nobody is watched",
            &by_signal,
            "the generator",
        ];
        assert_eq!(cautions(&soak), expected);
        soak.verdict = Verdict::Leak;
        soak.figures = vec![
            of(Kind::Memory, State::Grows, (1048576.0, 1.0, 2.0)),
            of(Kind::P99, State::Grows, (20.0, 10.0, 30.0)),
        ];
        assert_eq!(brief(&soak), "LEAK: memory +1.00 MiB an hour");
    }
}

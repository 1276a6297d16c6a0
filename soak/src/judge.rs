//! What samples allow to say: slopes of figures, and what happened meanwhile. Pure functions.
//!
//! A growth is proven where the interval of its slope lies above what counts, and it goes on in the
//! second half of the time: what fills up and stays full grows in the first half only. Pairs of
//! samples are compared within the life of one process, and what comes in its warm-up is left out.
//! Slopes are over time under load: nothing leaks by requests while none are sent, so that what
//! lies between two parts, or in which the machine slept, is no time here.

use statistics::sequential::unending;
use statistics::trend::{READINGS_MIN, Slope, middle, slope};
use statistics::{ALPHA, median};

use crate::found::{Asked, Exchanges, Figure, Finding, Happened, Kind, Look, Soak, State, Verdict};
use crate::sample::{Sample, Seen};
use crate::words;

/// All figures, each of which may be wrong in its share of the cases in which one may.
const KINDS: [Kind; 6] = [
    Kind::Memory,
    Kind::GroupMemory,
    Kind::Descriptors,
    Kind::Threads,
    Kind::P99,
    Kind::Throughput,
];

/// So many samples are needed behind the warm-up: half of them must do for a slope, too.
pub(crate) const SAMPLES_MIN: usize = 2 * READINGS_MIN;

/// Memory is counted in pages.
const PAGE: f64 = 4096.0;
/// A drift of response times that counts, in all the time that was asked for.
const P99_DRIFT: f64 = 0.1;
/// A drift of throughput that counts, in all the time that was asked for.
const THROUGHPUT_DRIFT: f64 = 0.01;
/// What goes on is at least so steep in the second half, beside the least that is proven.
const STEEP: f64 = 0.5;
/// A rate is held where this share of what was due is answered.
const HELD: f64 = 0.99;
/// So much later than it should have come, a sample is missing.
const LATE_S: f64 = 3.0;
/// A time without an answer in which fewer requests than that were due is none.
const UNANSWERED_MIN: u64 = 2;
/// Nor is a shorter one.
const UNANSWERED_MIN_S: f64 = 1.0;

const HOUR_S: f64 = 3600.0;

impl Kind {
    /// Whether the subject runs out of it.
    pub fn is_resource(self) -> bool {
        match self {
            Kind::Memory | Kind::GroupMemory | Kind::Descriptors | Kind::Threads => true,
            Kind::P99 | Kind::Throughput => false,
        }
    }

    /// Its value in a sample, if it's known.
    pub(crate) fn of(self, sample: &Sample) -> Option<f64> {
        let seen = || sample.subject.as_ref();
        let whole = |of: fn(&Seen) -> Option<u64>| seen().and_then(of).map(|whole| whole as f64);
        match self {
            Kind::Memory => whole(|seen| Some(seen.memory_bytes())),
            Kind::GroupMemory => whole(|seen| seen.group_bytes),
            Kind::Descriptors => whole(|seen| seen.descriptors),
            Kind::Threads => whole(|seen| Some(u64::from(seen.threads))),
            Kind::P99 => sample.p99_us,
            Kind::Throughput => {
                (sample.seconds > 0.0).then(|| sample.completed as f64 / sample.seconds)
            }
        }
    }

    /// The smallest difference that it can show.
    fn step(self) -> f64 {
        match self {
            Kind::Memory | Kind::GroupMemory => PAGE,
            Kind::Descriptors | Kind::Threads => 1.0,
            Kind::P99 | Kind::Throughput => 0.0,
        }
    }

    /// The smallest change in an hour that counts, where the figure is `level`.
    fn smallest(self, asked: &Asked, level: f64) -> f64 {
        let whole = |share: f64| share * level / (asked.length_s / HOUR_S);
        match self {
            Kind::Memory | Kind::GroupMemory => asked.smallest_bytes,
            // Of fewer than two in all the time, half may be unseen.
            Kind::Descriptors | Kind::Threads => (2.0 * HOUR_S / asked.length_s).max(1.0),
            Kind::P99 => whole(P99_DRIFT),
            Kind::Throughput => whole(THROUGHPUT_DRIFT),
        }
    }

    /// Which direction is the worse one.
    pub(crate) fn worse(self) -> f64 {
        match self {
            Kind::Throughput => -1.0,
            Kind::Memory | Kind::GroupMemory | Kind::Descriptors | Kind::Threads | Kind::P99 => 1.0,
        }
    }
}

/// Takes a look at `at_unix_s`. One at samples that were looked at already is that look once more,
/// by what is asked for now, and not another one.
pub(crate) fn look_anew(soak: &mut Soak, samples: &[Sample], at_unix_s: f64) {
    let measured_s = under_load_s(samples, &soak.asked);
    let last = soak.looks.pop_if(|look| look.measured_s == measured_s);
    look(soak, samples, last.map_or(at_unix_s, |last| last.at_unix_s));
}

/// Takes a look at all samples so far, and concludes what can be.
pub(crate) fn look(soak: &mut Soak, samples: &[Sample], at_unix_s: f64) {
    let alpha = unending(soak.looks.len() as u32, ALPHA);
    soak.measured_s = under_load_s(samples, &soak.asked);
    soak.exchanges = exchanges(samples);
    soak.figures = figures(samples, &soak.asked, alpha);
    soak.findings = findings(samples, &soak.asked);
    soak.verdict = verdict(samples, &soak.figures);
    soak.says = words::conclusions(soak);
    let proven = soak.figures.iter().filter(|one| one.state == State::Grows);
    soak.looks.push(Look {
        at_unix_s,
        measured_s: soak.measured_s,
        alpha,
        verdict: soak.verdict,
        says: proven.map(|figure| figure.says.clone()).collect(),
    });
}

fn exchanges(samples: &[Sample]) -> Exchanges {
    let mut sum = Exchanges::default();
    for sample in samples {
        sum.offered += sample.offered;
        sum.completed += sample.completed;
        sum.failed += sample.failed;
        for (kind, count) in &sample.errors {
            *sum.errors.entry(kind.clone()).or_default() += count;
        }
    }
    sum
}

/// All figures that samples have, where all of them together may be wrong in a share `alpha` of
/// cases.
fn figures(samples: &[Sample], asked: &Asked, alpha: f64) -> Vec<Figure> {
    let each = alpha / KINDS.len() as f64;
    let figures = KINDS.iter();
    figures
        .filter_map(|kind| figure(*kind, samples, asked, each))
        .collect()
}

fn figure(kind: Kind, samples: &[Sample], asked: &Asked, alpha: f64) -> Option<Figure> {
    let stretches = stretches(samples, asked);
    let values = |stretch: &Vec<Loaded<'_>>| -> Vec<(f64, f64)> {
        let readings = stretch.iter();
        readings
            .filter_map(|one| Some((one.until_s / HOUR_S, kind.of(one.sample)?)))
            .collect()
    };
    let readings: Vec<Vec<(f64, f64)>> = stretches.iter().map(values).collect();
    let all: Vec<f64> = readings.iter().flatten().map(|(_, value)| *value).collect();
    if all.is_empty() {
        return None;
    }
    let tenth = all.len().div_ceil(10);
    let (first, last) = (median(&all[..tenth]), median(&all[all.len() - tenth..]));
    let smallest = kind.smallest(asked, median(&all));
    let per_hour = slope(&readings, alpha, kind.step());
    let second_half = middle(&later_half(&readings));
    let state = state(kind, per_hour, second_half, smallest);
    let counted = || stretches.iter().flatten().map(|one| one.sample);
    let answered: u64 = counted().map(|sample| sample.completed).sum();
    let seconds: f64 = counted().map(|sample| sample.seconds).sum();
    let rate = answered as f64 / seconds;
    let mut figure = Figure {
        kind,
        first,
        last,
        per_hour,
        second_half_per_hour: second_half,
        smallest_per_hour: smallest,
        state,
        per_request: per_hour
            .filter(|_| state == State::Grows && kind.is_resource() && rate > 0.0)
            .map(|slope| slope.slope / HOUR_S / rate),
        says: String::new(),
    };
    figure.says = words::figure(&figure, asked.length_s);
    Some(figure)
}

/// What slopes say: that of all samples, and that of the second half alone.
fn state(kind: Kind, whole: Option<Slope>, second_half: Option<f64>, smallest: f64) -> State {
    let (Some(whole), Some(second_half)) = (whole, second_half) else {
        return State::CannotTell;
    };
    // How much worse it gets at least and at most.
    let (least, most) = match kind.worse() > 0.0 {
        true => (whole.low, whole.high),
        false => (-whole.high, -whole.low),
    };
    let lately = kind.worse() * second_half;
    match () {
        () if most <= smallest => State::Steady,
        () if least <= smallest => State::CannotTell,
        () if lately <= smallest => State::Grew,
        () if lately < STEEP * least => State::CannotTell,
        () => State::Grows,
    }
}

/// A sample, and for how many seconds there had been load when it was over.
#[derive(Clone, Copy)]
struct Loaded<'a> {
    sample: &'a Sample,
    until_s: f64,
}

impl Loaded<'_> {
    fn since_s(self) -> f64 {
        self.until_s - self.sample.seconds
    }
}

/// The samples of each life of the process behind its warm-up. Where none is watched, all that was
/// loaded is one life.
fn stretches<'a>(samples: &'a [Sample], asked: &Asked) -> Vec<Vec<Loaded<'a>>> {
    let life = |sample: &Sample| sample.subject.as_ref().map(|seen| (seen.pid, seen.started));
    let watched = samples.iter().any(|sample| sample.subject.is_some());
    let mut stretches: Vec<Vec<Loaded<'_>>> = Vec::new();
    let mut now = None;
    let mut until_s = 0.0;
    let mut stood_still = false;
    for sample in samples {
        // What wasn't sent while ringside stood still follows at once, in the next one.
        let catches_up = std::mem::replace(&mut stood_still, stands_still(sample, asked));
        if stood_still || catches_up {
            continue;
        }
        until_s += sample.seconds;
        let this = life(sample);
        if watched && this.is_none() {
            continue;
        }
        if stretches.is_empty() || this != now {
            stretches.push(Vec::new());
            now = this;
        }
        if let Some(stretch) = stretches.last_mut() {
            stretch.push(Loaded { sample, until_s });
        }
    }
    for stretch in &mut stretches {
        let begins = stretch.first().map_or(0.0, |first| first.since_s());
        stretch.retain(|one| one.since_s() >= begins + asked.warm_up_s - 0.5);
    }
    stretches
}

/// The half of all readings that came last.
fn later_half(readings: &[Vec<(f64, f64)>]) -> Vec<Vec<(f64, f64)>> {
    let mut left_out = readings.iter().map(Vec::len).sum::<usize>() / 2;
    let mut later = Vec::new();
    for stretch in readings {
        let from = left_out.min(stretch.len());
        left_out -= from;
        later.push(stretch[from..].to_vec());
    }
    later
}

/// How many samples count: those behind the warm-up of their process.
pub(crate) fn counted(samples: &[Sample], asked: &Asked) -> usize {
    stretches(samples, asked).iter().map(Vec::len).sum()
}

/// Whether ringside itself stood still in it, stopped or without the CPU: it's longer than it was
/// to be, since nobody was there to end it.
fn stands_still(sample: &Sample, asked: &Asked) -> bool {
    sample.seconds > asked.sample_s + LATE_S
}

/// How long there was load: of a sample in which ringside stood still, as long as it was to be.
pub(crate) fn under_load_s(samples: &[Sample], asked: &Asked) -> f64 {
    let of = |sample: &Sample| match stands_still(sample, asked) {
        true => asked.sample_s,
        false => sample.seconds,
    };
    // The sum of nothing would be −0.
    samples.iter().map(of).sum::<f64>() + 0.0
}

/// Whether something leaks.
fn verdict(samples: &[Sample], figures: &[Figure]) -> Verdict {
    if samples.is_empty() {
        return Verdict::NothingMeasured;
    }
    let resources = || figures.iter().filter(|figure| figure.kind.is_resource());
    if resources().any(|figure| figure.state == State::Grows) {
        return Verdict::Leak;
    }
    if samples.iter().all(|sample| sample.subject.is_none()) {
        return Verdict::NotWatched;
    }
    // The kernel's account has more than what the process keeps, so it alone leaves nothing open.
    let mut decide = resources().filter(|figure| figure.kind != Kind::GroupMemory);
    match decide.all(|figure| matches!(figure.state, State::Steady | State::Grew)) {
        true if resources().next().is_some() => Verdict::NoLeak,
        _ => Verdict::CannotTell,
    }
}

/// What happened, in the order in which it did.
fn findings(samples: &[Sample], asked: &Asked) -> Vec<Finding> {
    let mut found = between(samples, asked);
    found.extend(unanswered(samples));
    found.extend(replaced(samples));
    found.extend(killed(samples));
    found.extend(throttled(samples));
    found.sort_by(|one, other| one.at_unix_s.total_cmp(&other.at_unix_s));
    found.extend(of_the_load(samples, asked));
    found
}

/// What is seen from one sample to the next.
fn between(samples: &[Sample], asked: &Asked) -> Vec<Finding> {
    let mut found = Vec::new();
    let mut process: Option<&Seen> = None;
    let mut add = |kind, at_unix_s, says| {
        found.push(Finding {
            kind,
            at_unix_s,
            says,
        });
    };
    for (at, sample) in samples.iter().enumerate() {
        let from = sample.from_unix_s();
        let before = at.checked_sub(1).and_then(|before| samples.get(before));
        if sample.asleep_s >= 1.0 {
            let says = words::asleep(from, sample.asleep_s);
            add(Happened::Asleep, from, says);
        }
        if let Some(before) = before {
            let missing = from - before.unix_s - sample.asleep_s;
            if sample.part != before.part {
                let says = words::interrupted(before.unix_s, from);
                add(Happened::Interrupted, before.unix_s, says);
            } else if missing > LATE_S + before.seconds {
                let says = words::unseen(before.unix_s, from);
                add(Happened::Unseen, before.unix_s, says);
            }
        }
        if stands_still(sample, asked) {
            let says = words::stood_still(from, sample.unix_s);
            add(Happened::Unseen, from, says);
        }
        match (&sample.subject, process) {
            (Some(seen), Some(last)) if (seen.pid, seen.started) != (last.pid, last.started) => {
                let says = words::restarted(sample.unix_s, last.pid, seen.pid);
                add(Happened::Restarted, sample.unix_s, says);
            }
            (None, Some(last)) if before.is_some_and(|before| before.subject.is_some()) => {
                add(
                    Happened::Gone,
                    sample.unix_s,
                    words::gone(sample.unix_s, last.pid),
                );
            }
            _ => {}
        }
        process = sample.subject.as_ref().or(process);
    }
    found
}

/// Times in which requests were due and nothing was answered.
fn unanswered(samples: &[Sample]) -> Vec<Finding> {
    let finding = |(from, until, _)| Finding {
        kind: Happened::Unanswered,
        at_unix_s: from,
        says: words::unanswered(from, until),
    };
    silences(samples).into_iter().map(finding).collect()
}

/// Times in which nothing was answered, and how many requests were due in them. One that is due in
/// one sample and answered in the next is none.
fn silences(samples: &[Sample]) -> Vec<(f64, f64, u64)> {
    let mut found: Vec<(f64, f64, u64)> = Vec::new();
    let mut goes_on = false;
    for sample in samples {
        if sample.completed > 0 {
            goes_on = false;
            continue;
        }
        let (from, until, due) = (sample.from_unix_s(), sample.unix_s, sample.offered);
        match found.last_mut().filter(|_| goes_on) {
            Some(last) if from - last.1 < 1.0 => (last.1, last.2) = (until, last.2 + due),
            _ if due > 0 => {
                found.push((from, until, due));
                goes_on = true;
            }
            _ => {}
        }
    }
    found.retain(|(from, until, due)| *due >= UNANSWERED_MIN && until - from >= UNANSWERED_MIN_S);
    found
}

/// Processes below the first that came in the place of others: all in one, since servers may do
/// that all the time.
fn replaced(samples: &[Sample]) -> Option<Finding> {
    let changed = |sample: &&Sample| {
        let seen = sample.subject.as_ref();
        seen.is_some_and(|seen| seen.went > 0 && seen.came > 0)
    };
    let all: Vec<&Sample> = samples.iter().filter(changed).collect();
    let (first, last) = (all.first()?, all.last()?);
    let count = |sample: &&Sample| sample.subject.as_ref().map_or(0, |seen| seen.came);
    let many: u32 = all.iter().map(count).sum();
    Some(Finding {
        kind: Happened::Replaced,
        at_unix_s: first.unix_s,
        says: words::replaced(many, first.unix_s, last.unix_s),
    })
}

/// Processes that the kernel killed: all in one, since a server may go on without them.
fn killed(samples: &[Sample]) -> Option<Finding> {
    let all = samples.iter().filter(|sample| sample.strain.killed > 0);
    let all: Vec<&Sample> = all.collect();
    let (first, last) = (all.first()?, all.last()?);
    let many: u64 = all.iter().map(|sample| sample.strain.killed).sum();
    Some(Finding {
        kind: Happened::Killed,
        at_unix_s: first.unix_s,
        says: words::killed(many, first.unix_s, last.unix_s),
    })
}

/// Times in which a limit held it back: all in one, since that may be so from beginning to end.
fn throttled(samples: &[Sample]) -> Option<Finding> {
    let all = samples
        .iter()
        .filter(|sample| sample.strain.throttled_ns > 0);
    let all: Vec<&Sample> = all.collect();
    let (first, last) = (all.first()?, all.last()?);
    let waited: u64 = all.iter().map(|sample| sample.strain.throttled_ns).sum();
    let seconds = all.iter().map(|sample| sample.seconds).sum();
    Some(Finding {
        kind: Happened::Throttled,
        at_unix_s: first.from_unix_s(),
        says: words::throttled(
            waited as f64 / 1e9,
            seconds,
            first.from_unix_s(),
            last.unix_s,
        ),
    })
}

/// What became of the load as a whole.
fn of_the_load(samples: &[Sample], asked: &Asked) -> Vec<Finding> {
    let sum = |of: fn(&Sample) -> u64| samples.iter().map(of).sum::<u64>();
    let (offered, completed) = (sum(|one| one.offered), sum(|one| one.completed));
    let failed = sum(|one| one.failed);
    let mut found = Vec::new();
    let first = samples.iter().find(|sample| sample.failed > 0);
    if let Some(first) = first {
        found.push(Finding {
            kind: Happened::Failed,
            at_unix_s: first.from_unix_s(),
            says: words::failed(failed, completed + failed, first.from_unix_s()),
        });
    }
    let seconds = under_load_s(samples, asked);
    let due = offered.max((asked.rate * seconds).floor() as u64);
    if seconds > 0.0 && (completed as f64) < HELD * due as f64 - 2.0 * asked.rate {
        let silent_s: f64 = silences(samples)
            .iter()
            .map(|(from, until, _)| until - from)
            .sum();
        let missing = due.saturating_sub(completed) as f64;
        let why = match () {
            () if silent_s * asked.rate > 0.5 * missing => "nothing was answered for a while",
            () if failed as f64 > 0.01 * due as f64 => "many requests failed",
            () => "the subject, the connections or the generator can't keep up",
        };
        found.push(Finding {
            kind: Happened::NotHeld,
            at_unix_s: samples.first().map_or(0.0, Sample::from_unix_s),
            says: words::not_held(completed as f64 / seconds, asked.rate, why),
        });
    }
    found
}

#[cfg(test)]
mod tests {
    use statistics::Random;

    use super::*;

    fn asked() -> Asked {
        Asked {
            subject: "x".to_owned(),
            question: "GET /".to_owned(),
            rate: 500.0,
            connections: 10,
            length_s: 600.0,
            warm_up_s: 60.0,
            sample_s: 1.0,
            smallest_bytes: 1048576.0,
            load: None,
            start: None,
        }
    }

    /// A sample a second, of a process that holds so many bytes.
    fn samples(count: usize, bytes: impl Fn(f64) -> f64) -> Vec<Sample> {
        let mut random = Random::new(1);
        let sample = |at: usize| Sample {
            unix_s: 1e9 + at as f64 + 1.0,
            seconds: 1.0,
            part: 1,
            offered: 500,
            completed: 500,
            p99_us: Some(900.0 + 100.0 * random.unit()),
            subject: Some(Seen {
                pid: 7,
                started: 70,
                processes: 1,
                threads: 11,
                descriptors: Some(14),
                resident_bytes: bytes(at as f64) as u64 / 4096 * 4096,
                ..Seen::default()
            }),
            ..Sample::default()
        };
        (0..count).map(sample).collect()
    }

    fn of(kind: Kind, figures: &[Figure]) -> &Figure {
        let found = figures.iter().find(|figure| figure.kind == kind);
        found.expect("it was seen")
    }

    #[test]
    fn a_leak_is_found_with_its_size_and_what_a_request_leaves() {
        let samples = samples(600, |at| 2e6 + 64.0 * 500.0 * at);
        let figures = figures(&samples, &asked(), 0.01);
        assert_eq!(verdict(&samples, &figures), Verdict::Leak);
        let memory = of(Kind::Memory, &figures);
        assert_eq!(memory.state, State::Grows);
        let bytes = memory.per_request.expect("they were answered");
        assert!((63.0..65.0).contains(&bytes), "{bytes}");
        assert!(
            memory.says.contains("64 bytes a request"),
            "{}",
            memory.says
        );
        for kind in [Kind::Descriptors, Kind::Threads, Kind::Throughput] {
            assert_eq!(of(kind, &figures).state, State::Steady, "{kind:?}");
        }
    }

    #[test]
    fn time_without_load_is_none_in_which_a_server_could_have_leaked() {
        let leaks = |at| 2e6 + 64.0 * 500.0 * at;
        let told = |all: &[Sample]| {
            let figures = figures(all, &asked(), 0.01);
            assert_eq!(verdict(all, &figures), Verdict::Leak);
            of(Kind::Memory, &figures).clone()
        };
        let without = told(&samples(600, leaks));
        type Gap = fn(&mut Sample);
        let gaps: [(&str, Gap); 3] = [
            ("interrupted", |sample| sample.part = 2),
            ("asleep", |_| {}),
            ("unseen", |_| {}),
        ];
        for (name, gap) in gaps {
            let mut all = samples(600, leaks);
            for sample in &mut all[300..] {
                sample.unix_s += 16.0 * HOUR_S;
                gap(sample);
            }
            if name == "asleep" {
                all[300].asleep_s = 16.0 * HOUR_S;
            }
            assert_eq!(told(&all), without, "{name}");
        }
        // Nor does the warm-up end meanwhile.
        let mut early = samples(600, leaks);
        for sample in &mut early[30..] {
            (sample.unix_s, sample.part) = (sample.unix_s + HOUR_S, 2);
        }
        assert_eq!(counted(&early, &asked()), 540);
    }

    #[test]
    fn time_in_which_ringside_stood_still_is_listed_and_is_no_load() {
        let mut all = samples(600, |at| 2e6 + 64.0 * 500.0 * at);
        for sample in &mut all[300..] {
            sample.unix_s += 60.0;
        }
        // It was stopped for a minute, and what was due is sent behind that.
        (all[300].seconds, all[300].offered) = (61.0, 30_500);
        all[301].completed = 30_500;
        let found = findings(&all, &asked());
        let says: Vec<&str> = found.iter().map(|finding| &*finding.says).collect();
        assert!(
            says.len() == 1 && says[0].contains("stood still for 61 s"),
            "{says:?}"
        );
        assert_eq!(under_load_s(&all, &asked()), 600.0);
        let figures = figures(&all, &asked(), 0.01);
        assert_eq!(of(Kind::Throughput, &figures).state, State::Steady);
    }

    #[test]
    fn nothing_was_answered_only_where_several_were_due_for_a_second() {
        let mut all = samples(60, |_| 2e6);
        for (at, sample) in all.iter_mut().enumerate() {
            // One every three seconds, each answered in the second behind its own.
            sample.offered = u64::from(at % 3 == 0);
            sample.completed = u64::from(at % 3 == 1);
        }
        let slow = Asked {
            rate: 0.3,
            ..asked()
        };
        assert_eq!(findings(&all, &slow), []);
        for sample in &mut all[30..42] {
            sample.completed = 0;
        }
        let found = findings(&all, &slow);
        assert!(
            found[0].says.contains("nothing was answered for 13 s"),
            "{found:?}"
        );
    }

    #[test]
    fn what_limits_did_is_told_with_its_times() {
        let mut all = samples(100, |_| 2e6);
        let unlimited = findings(&all, &asked());
        assert_eq!(unlimited, []);
        (all[40].strain.killed, all[60].strain.killed) = (1, 2);
        for sample in &mut all[20..30] {
            sample.strain.throttled_ns = 500_000_000;
        }
        let found = findings(&all, &asked());
        let says: Vec<&str> = found.iter().map(|finding| &*finding.says).collect();
        assert_eq!(
            says,
            [
                "a limit of CPU time held it back from 2001-09-09 01:47:00 UTC to \
                 2001-09-09 01:47:10 UTC: in 10 s of load its threads waited for 5 s, summed over \
                 CPUs",
                "the kernel killed 3 of its processes for want of memory (OOM), the first before \
                 2001-09-09 01:47:21 UTC, the last before 2001-09-09 01:47:41 UTC",
            ]
        );
    }

    #[test]
    fn each_resource_leaks_by_itself() {
        type Leak = fn(&mut Seen, u64);
        let leaks: [(Kind, Leak); 4] = [
            (Kind::Memory, |seen, at| {
                seen.own_bytes = Some(at * 1_000_000)
            }),
            (Kind::GroupMemory, |seen, at| {
                seen.group_bytes = Some(at * 1_000_000)
            }),
            (Kind::Descriptors, |seen, at| seen.descriptors = Some(at)),
            (Kind::Threads, |seen, at| seen.threads = at as u32),
        ];
        for (kind, leak) in leaks {
            let mut samples = samples(600, |_| 2e6);
            for (at, sample) in samples.iter_mut().enumerate() {
                leak(sample.subject.as_mut().expect("it was seen"), at as u64);
            }
            let figures = figures(&samples, &asked(), 0.01);
            let grow = figures.iter().filter(|one| one.state == State::Grows);
            let grow: Vec<Kind> = grow.map(|one| one.kind).collect();
            assert_eq!(grow, [kind]);
            assert_eq!(verdict(&samples, &figures), Verdict::Leak, "{kind:?}");
        }
    }

    #[test]
    fn what_stays_says_how_much_could_have_been_missed() {
        let samples = samples(1800, |_| 2e6);
        let found = figures(&samples, &asked(), 0.01);
        assert_eq!(verdict(&samples, &found), Verdict::NoLeak);
        let memory = of(Kind::Memory, &found);
        assert!(
            memory.says.contains("could have been missed"),
            "{}",
            memory.says
        );
    }

    #[test]
    fn what_fills_up_and_stays_full_is_no_leak() {
        let samples = samples(600, |at| 1e7 * (1.0 - (-at / 60.0_f64).exp()));
        let found = figures(&samples, &asked(), 0.01);
        assert_ne!(verdict(&samples, &found), Verdict::Leak);
    }

    #[test]
    fn a_warm_up_is_left_out_of_each_life_of_a_process() {
        // It takes 20 MB in the first minute, and is restarted after five.
        let mut samples = samples(600, |at| 1e6 + 2e7 * (at % 300.0).min(60.0) / 60.0);
        for sample in &mut samples[300..] {
            sample.subject.as_mut().expect("it was seen").pid = 8;
        }
        let found = figures(&samples, &asked(), 0.01);
        assert_eq!(of(Kind::Memory, &found).state, State::Steady);
        assert_eq!(counted(&samples, &asked()), 480);
        let happened = findings(&samples, &asked());
        assert_eq!(happened.len(), 1, "{happened:?}");
        assert_eq!(happened[0].kind, Happened::Restarted);
        assert!(
            happened[0].says.contains("01:51:41"),
            "{}",
            happened[0].says
        );
    }

    #[test]
    fn gaps_sleep_and_what_was_not_answered_are_told_with_their_times() {
        let mut all = samples(100, |_| 2e6);
        for sample in &mut all[20..] {
            sample.unix_s += 3600.0;
        }
        all[20].asleep_s = 3600.0;
        for sample in &mut all[40..] {
            sample.unix_s += 60.0;
        }
        for sample in &mut all[60..] {
            (sample.unix_s, sample.part) = (sample.unix_s + 600.0, 2);
        }
        for sample in &mut all[70..75] {
            (sample.completed, sample.failed, sample.subject) = (0, 500, None);
        }
        let found = findings(&all, &asked());
        let kinds: Vec<Happened> = found.iter().map(|finding| finding.kind).collect();
        let expected = [
            Happened::Asleep,
            Happened::Unseen,
            Happened::Interrupted,
            Happened::Unanswered,
            Happened::Gone,
            Happened::Failed,
            Happened::NotHeld,
        ];
        assert_eq!(kinds, expected, "{found:#?}");
    }

    #[test]
    fn without_a_process_only_the_load_is_judged() {
        let mut all = samples(100, |_| 2e6);
        all.iter_mut().for_each(|sample| sample.subject = None);
        let figures = figures(&all, &asked(), 0.01);
        assert_eq!(verdict(&all, &figures), Verdict::NotWatched);
        let kinds: Vec<Kind> = figures.iter().map(|figure| figure.kind).collect();
        assert_eq!(kinds, [Kind::P99, Kind::Throughput]);
        assert_eq!(verdict(&[], &[]), Verdict::NothingMeasured);
    }
}

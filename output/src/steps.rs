//! The steps of a workload, a row for each.

use load::Record;
use load::plan::workload::{Pick, WHOLE};
use measure::foreign::Foreign;
use measure::histogram::samples_for;
use measure::record::{Step, StreamTimes};
use measure::units::{wrk_metric, wrk_time_us};
use report::terminal::shortened;

use super::terminal::Paint;
use super::times::{self, percentile};

/// What became of each step; nothing where there is one.
pub(super) fn table(record: &Record, paint: Paint) -> String {
    if record.steps.len() < 2 {
        // The figures of the only one are those of the run.
        return String::new();
    }
    let heads = [
        "step", "share", "rate", "errors", "p50", "p90", "p99", "max",
    ];
    let mut rows = vec![heads.map(str::to_owned).to_vec()];
    let is_exchange = |step: &&Step| !is_whole(record, step);
    let all: u64 = record.steps.iter().filter(is_exchange).map(ended).sum();
    rows.extend(record.steps.iter().map(|step| {
        let mut row = row(step, all);
        if is_whole(record, step) {
            // A flow is no request, and one that was under way at the end is no error.
            "-".clone_into(&mut row[1]);
            row[3] = lost(step.failed, ended(step));
        }
        row
    }));
    let mut text = heading(record);
    text.push_str(&times::in_parts(&rows, paint));
    let few = |step: &Step| step.response_time_us.p99.is_some() && !has_p99(step);
    if record.steps.iter().any(few) {
        let needed = samples_for(0.99);
        text.push_str(&format!("  -: too few samples; p99 needs {needed}\n"));
    }
    text.push_str(late(&rows));
    text.extend(record.steps.iter().filter_map(statuses));
    text.push_str(&streams(record, paint));
    let whole = record.steps.iter().find(|step| is_whole(record, step));
    text.extend(whole.and_then(under_way));
    text
}

/// What was seen inside the answers of each step whose answers are streams.
fn streams(record: &Record, paint: Paint) -> String {
    let heads = [
        "streams of",
        "streams",
        "events",
        "first event p50",
        "p99",
        "gap p50",
        "p99",
    ];
    let mut rows = vec![heads.map(str::to_owned).to_vec()];
    for step in &record.steps {
        let Some(streams) = step.streams.as_ref().filter(|seen| seen.streams > 0) else {
            continue;
        };
        let time = |of: StreamTimes<'_>, name: &str, share: f64, value: Option<f64>| {
            marked(percentile(of.times, share, value), of.is_void(name))
        };
        let p50 = |of: StreamTimes<'_>| time(of, "p50", 0.5, of.times.p50);
        let p99 = |of: StreamTimes<'_>| time(of, "p99", 0.99, of.times.p99);
        let [_, first, gap, _] = streams.distributions();
        rows.push(vec![
            shown(&step.name),
            streams.streams.to_string(),
            streams.events.to_string(),
            p50(first),
            p99(first),
            p50(gap),
            p99(gap),
        ]);
    }
    match rows.len() {
        1 => String::new(),
        _ => times::in_parts(&rows, paint) + late(&rows),
    }
}

/// What a star behind a figure means, where one has it.
fn late(rows: &[Vec<String>]) -> &'static str {
    match rows.iter().flatten().any(|cell| cell.ends_with('*')) {
        true => "  *: the generator was late, which could have moved it\n",
        false => "",
    }
}

/// A time, with a star where lateness could have moved it.
fn marked(value: Option<f64>, is_void: bool) -> String {
    let star = if is_void { "*" } else { "" };
    value.map_or_else(|| "-".to_owned(), |us| format!("{}{star}", wrk_time_us(us)))
}

/// Of users, what became of their flows; nothing of other loads.
pub(super) fn flows(record: &Record, paint: Paint) -> String {
    let Some(whole) = record.steps.iter().find(|step| is_whole(record, step)) else {
        return String::new();
    };
    let (all, seconds) = (ended(whole), record.duration_s);
    let rate = |count: u64| match seconds > 0.0 {
        true => format!(" ({:.2}/s)", count as f64 / seconds),
        false => String::new(),
    };
    let begun = match record.offered_rate {
        Some(_) => format!("{all} due{}", rate(all)),
        None => format!("{all} begun"),
    };
    let failed = match whole.failed {
        0 => "0 failed".to_owned(),
        failed => paint.error(&format!("{} failed", lost(failed, all))),
    };
    let mut text = format!(
        "Flows: {begun}, {} completed{}, {failed}",
        whole.completed,
        rate(whole.completed)
    );
    let times = &whole.response_time_us;
    let shares = [("p50", 0.5, times.p50), ("p95", 0.95, times.p95)];
    let known = shares.into_iter().filter_map(|(name, share, value)| {
        let value = percentile(times, share, value)?;
        Some(format!("{name} {}", wrk_time_us(value)))
    });
    let known: Vec<String> = known.collect();
    if !known.is_empty() {
        text.push_str(&format!("; {}", known.join(", ")));
    }
    text + "\n"
}

/// A name as a table has it.
fn shown(name: &str) -> String {
    shortened(&Foreign::new(name).to_string())
}

/// How many flows weren't through when the run ended, if some weren't.
fn under_way(whole: &Step) -> Option<String> {
    let count = whole.unfinished;
    let were = match count {
        0 => return None,
        1 => "flow was",
        _ => "flows were",
    };
    Some(format!(
        "  {count} {were} under way, or waited for a user, when the run ended\n"
    ))
}

/// So many that were lost, and their share of all.
fn lost(count: u64, of: u64) -> String {
    match count {
        0 => "0".to_owned(),
        count => format!("{count} ({:.2} %)", percent(count, of)),
    }
}

fn percent(part: u64, of: u64) -> f64 {
    100.0 * part as f64 / of.max(1) as f64
}

/// How the gRPC calls of a step ended, if not all of them well.
fn statuses(step: &Step) -> Option<String> {
    let counts: Vec<String> = step
        .grpc_status
        .iter()
        .map(|(name, count)| format!("{count} {name}"))
        .collect();
    let all_well = step.grpc_status.keys().all(|name| name == "OK");
    let name = shown(&step.name);
    (!all_well).then(|| format!("  gRPC statuses of {name}: {}\n", counts.join(", ")))
}

/// Where the requests came from, and which was next.
fn heading(record: &Record) -> String {
    let Some(workload) = &record.plan.workload else {
        return String::new();
    };
    let all = workload.steps.len() + workload.left_out as usize;
    let picked = match workload.pick {
        Pick::InTurn => "in turn",
        Pick::Weighted => "at random, by weight",
        Pick::Random => "at random",
    };
    let from = workload.shown_file();
    let from = from.map(|file| format!(" of {}", Foreign::new(file)));
    let from = from.unwrap_or_default();
    match (&workload.flow, &workload.users) {
        (None, None) => format!("The {all} requests{from}, {picked}:\n"),
        (Some(_), _) => format!("The {all} messages{from}, in turn on each connection:\n"),
        (_, Some(_)) => {
            let requests = match all {
                1 => "request".to_owned(),
                all => format!("{all} requests"),
            };
            format!("The {requests}{from}, and the whole flow of each user:\n")
        }
    }
}

/// Whether these are the figures of whole flows.
fn is_whole(record: &Record, step: &Step) -> bool {
    step.name == WHOLE && record.plan.has_users()
}

fn ended(step: &Step) -> u64 {
    step.completed + step.failed + step.unfinished
}

fn has_p99(step: &Step) -> bool {
    percentile(&step.response_time_us, 0.99, step.response_time_us.p99).is_some()
}

fn row(step: &Step, all: u64) -> Vec<String> {
    let ended = ended(step);
    let times = &step.response_time_us;
    // A stream that goes on when the run ends was answered all the same.
    let going_on = step.streams.as_ref().map_or(0, |streams| streams.cut_off);
    let time = |name: &str, share: f64, value: Option<f64>| {
        let is_void = step.void.iter().any(|one| one.figure == name);
        marked(percentile(times, share, value), is_void)
    };
    vec![
        shown(&step.name),
        format!("{:.1} %", percent(ended, all)),
        format!("{}/s", wrk_metric(step.achieved_rate)),
        lost(
            step.failed + step.unfinished.saturating_sub(going_on),
            ended,
        ),
        time("p50", 0.5, times.p50),
        time("p90", 0.9, times.p90),
        time("p99", 0.99, times.p99),
        time("max", 0.0, times.max),
    ]
}

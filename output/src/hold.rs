//! The record of a hold as text, and its time series as CSV. Everything comes from the record, so
//! a record that was kept can be printed again.

use std::collections::BTreeMap;

use load::hold::Record;
use measure::hold::{Heard, Row};
use measure::record::EndedBy;
use measure::units::{wrk_bytes, wrk_time_s, wrk_time_us};

use super::closes;
use super::errors::{Answers, errors};
use super::table;
use super::terminal::Paint;
use super::text::{generator_line, interrupted, way};
use super::times;
use super::warnings::DISTRUST;
use super::width;

/// The most rows of the timeline that are printed.
const ROWS_MAX: usize = 12;

const CSV_HEADER: &str = "at_s,seconds,standing,opened,lost,reconnects,answered,failed,\
                          heartbeat_p50_us,heartbeat_p99_us,heartbeat_max_us,attempts,\
                          resident_bytes\n";

/// The whole report.
pub fn text(record: &Record, paint: Paint) -> String {
    let mut text = head(record);
    // Before the hold begins connections are opened, which takes its time.
    let after_s = record.opening_s + record.duration_s;
    text.push_str(&interrupted(record.ended_by, after_s, paint));
    text.push_str(&figures(record, paint));
    text.push_str(&times::table(&record.times(), paint));
    if record.connections.reconnects > 0 {
        text.push_str(&format!("{}\n", record.plan.pacing()));
    }
    text.push_str(&timeline(record, paint));
    for (title, counts) in [
        ("Losses", &record.losses),
        ("Failed attempts", &record.failed_attempts),
        ("Failed heartbeats", &record.heartbeat_errors),
    ] {
        let answers = Answers {
            statuses: &record.status,
            bodies: &BTreeMap::new(),
            unmet: &[],
            lines: &[],
            locations: &BTreeMap::new(),
        };
        text.push_str(&errors(title, counts, answers, paint));
    }
    text.push_str(&closes::line(&record.close_codes));
    text.push_str(&memory(record));
    text.push_str(&generator_line(&record.generator, "heartbeat", paint));
    for warning in &record.warnings {
        text.push_str(&format!("{} {warning}\n", paint.warning("Warning:")));
    }
    if !record.valid {
        text.push_str(&format!("{}\n", paint.error(DISTRUST)));
    }
    width::wrapped(&text, paint.columns())
}

/// The rows of `record`. Where there is no value the field is empty.
pub fn csv(record: &Record) -> String {
    let mut text = String::from(CSV_HEADER);
    for row in &record.series {
        let time = |time: Option<f64>| time.map(|time| time.to_string()).unwrap_or_default();
        let number = |number: Option<u64>| number.map(|n| n.to_string()).unwrap_or_default();
        let fields = [
            row.at_s.to_string(),
            row.seconds.to_string(),
            row.standing.to_string(),
            row.opened.to_string(),
            row.lost.to_string(),
            row.reconnects.to_string(),
            row.answered.to_string(),
            row.failed.to_string(),
            time(row.heartbeat_p50_us),
            time(row.heartbeat_p99_us),
            time(row.heartbeat_max_us),
            number(row.attempts),
            number(row.resident_bytes),
        ];
        text.push_str(&fields.join(","));
        text.push('\n');
    }
    text
}

fn head(record: &Record) -> String {
    let plan = &record.plan;
    let heartbeat = plan.protocol.heartbeat();
    let every = wrk_time_us(plan.heartbeat_s * 1e6);
    let opening = wrk_time_us(record.opening_s * 1e6);
    let url = plan.url() + &way(plan.interface.as_deref(), plan.proxy.as_ref());
    if record.connections.survival.is_none() {
        return format!(
            "Held nothing @ {}\n  {} of {} connections were open after {opening}\n",
            url, record.connections.standing, plan.connections,
        );
    }
    let connections = &record.connections;
    format!(
        "Held {} connections for {} @ {}\n  opened in {opening}; {heartbeat} every {every} on \
         each\n",
        match connections.survived < connections.asked {
            true => format!("{} of {}", connections.survived, connections.asked),
            false => connections.asked.to_string(),
        },
        match record.ended_by {
            // As it says below, to the hundredth.
            EndedBy::Interrupt | EndedBy::Terminate => wrk_time_us(record.duration_s * 1e6),
            _ => wrk_time_s(record.duration_s),
        },
        url,
    )
}

fn figures(record: &Record, paint: Paint) -> String {
    let connections = &record.connections;
    let heartbeats = &record.heartbeats;
    let percent = |share: Option<f64>| {
        share.map_or_else(
            || "-".to_string(),
            |share| format!("{:.3} %", share * 100.0),
        )
    };
    let per_hour = connections.reconnects_per_hour;
    let mut rows = vec![
        [
            "survival".to_string(),
            paint.strong(&percent(connections.survival)),
            format!(
                "{} of {} connections were open when the hold began and never lost",
                connections.survived, connections.asked
            ),
        ],
        [
            "standing".to_string(),
            connections.standing.to_string(),
            format!(
                "connections open at the end; {} lost, {} given up",
                connections.lost, connections.given_up
            ),
        ],
        [
            "reconnects".to_string(),
            per_hour.map_or_else(|| "-".to_string(), |rate| format!("{rate:.3} /h")),
            format!(
                "per connection: {} in {:.1} connection-hours",
                connections.reconnects, connections.hours
            ),
        ],
        [
            "write failures".to_string(),
            percent(heartbeats.failure_share),
            format!(
                "{} of {} heartbeats failed, {} were unfinished; {} more fell due while the \
                 connection was down{}",
                heartbeats.failed,
                heartbeats.sent,
                heartbeats.unfinished,
                heartbeats.skipped_down,
                behind_failed(heartbeats.skipped_in_vain)
            ),
        ],
    ];
    if let Some(heard) = &record.broadcasts {
        rows.push(broadcasts(heard, percent(heard.heard_share)));
    }
    table::left("  ", &rows)
}

fn broadcasts(heard: &Heard, share: String) -> [String; 3] {
    let last = heard.last_after_us.max;
    [
        "heard".to_string(),
        share,
        format!(
            "of {} listeners to {} broadcasts, the last after {} at most{}",
            heard.listeners,
            heard.said,
            last.map_or_else(|| "-".to_string(), wrk_time_us),
            match heard.cut_off {
                0 => String::new(),
                cut_off => format!("; {cut_off} more were cut off"),
            }
        ),
    ]
}

/// What was due while one that then failed was unanswered.
fn behind_failed(skipped: u64) -> String {
    match skipped {
        0 => String::new(),
        _ => format!(", and {skipped} while waiting for one that then failed"),
    }
}

/// The rows, few enough to be read: neighbours go together.
fn timeline(record: &Record, paint: Paint) -> String {
    let heads = [
        "from",
        "standing",
        "opened",
        "lost",
        "reconnects",
        "heartbeats",
        "failed",
        "longest",
    ];
    let mut rows = vec![heads.map(String::from).to_vec()];
    let together = record.series.len().div_ceil(ROWS_MAX).max(1);
    for group in record.series.chunks(together) {
        let (Some(first), Some(last)) = (group.first(), group.last()) else {
            continue;
        };
        let sum = |count: fn(&Row) -> u64| group.iter().map(count).sum::<u64>().to_string();
        let longest = group.iter().filter_map(|row| row.heartbeat_max_us);
        let longest = longest.reduce(f64::max);
        rows.push(vec![
            format!("{:.0}s", first.at_s),
            last.standing.to_string(),
            sum(|row| row.opened),
            sum(|row| row.lost),
            sum(|row| row.reconnects),
            sum(|row| row.answered),
            sum(|row| row.failed),
            longest.map_or_else(|| "-".to_string(), wrk_time_us),
        ]);
    }
    times::in_parts(&rows, paint)
}

fn memory(record: &Record) -> String {
    let memory = &record.memory;
    let many = memory.connections;
    match (memory.before_bytes, memory.held_bytes) {
        (Some(before), Some(held)) if memory.bytes_per_connection.is_some() => {
            let (before, held) = (wrk_bytes(before as f64), wrk_bytes(held as f64));
            let of_all = format!("from {before} to {held} with {many} connections");
            match memory.told_bytes() {
                Some(each) => format!(
                    "Memory: {} per connection in ringside ({of_all})\n",
                    wrk_bytes(each)
                ),
                None => format!("Memory: {of_all}, too few to say what each takes\n"),
            }
        }
        _ => String::new(),
    }
}

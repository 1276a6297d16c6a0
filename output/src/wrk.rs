//! wrk's block, as its wrk.c prints it, for the scripts that read it.
//!
//! wrk counts every whole answer as a request, whatever its status. So does this block, and it
//! speaks of one set only: the answers that came inside the window, with the bytes that came inside
//! it. What was answered after the window's end is told apart, further down.

use load::Record;
use load::plan::Target;
use measure::counters::ErrorKind;
use measure::histogram::Histogram;
use measure::record::Times;
use measure::series::Row;
use measure::units::{wrk_bytes, wrk_column, wrk_metric, wrk_time_s, wrk_time_us};

use super::times::percentile;

/// The block. `latency`: with wrk's percentiles, as its `--latency`.
pub(super) fn block(record: &Record, latency: bool) -> String {
    let seconds = record.duration_s;
    let answered = answered(record);
    let per_second = |amount: f64| if seconds > 0.0 { amount / seconds } else { 0.0 };
    let mut text = head(record);
    let response = Histogram::from_hdr_v2_base64(&record.histograms.response_time)
        .unwrap_or_else(|_| Histogram::new());
    if response.count() > record.exchanges.censored {
        text.push_str(&thread_stats(record, &response));
        if latency {
            text.push_str(&latency_distribution(&record.response_time_us));
        }
    } else {
        text.push_str("  No request was answered.\n");
    }
    text.push_str(&format!(
        "  {answered} requests in {}, {} read\n",
        wrk_time_us(seconds * 1e6),
        wrk_bytes(record.bytes.received as f64),
    ));
    text.push_str(&wrk_errors(record));
    let rate = per_second(answered as f64);
    text.push_str(&format!("Requests/sec: {rate:>9.2}\n"));
    let transfer = wrk_bytes(per_second(record.bytes.received as f64));
    text.push_str(&format!("Transfer/sec: {transfer:>11}\n"));
    text
}

/// Its first two lines, which say what was asked for.
pub(super) fn head(record: &Record) -> String {
    let plan = &record.plan;
    format!(
        "Running {} @ {}\n  {} threads and {} connections\n",
        asked(record),
        place(record),
        plan.threads,
        plan.connections as usize * record.connections.origins.len().max(1),
    )
}

/// Where it goes: without a path where requests have paths of their own.
fn place(record: &Record) -> String {
    let plan = &record.plan;
    let origin = |target: &Target| Target {
        path: "/".to_owned(),
        ..target.clone()
    };
    let first = match plan.workload {
        // A flow has paths of its own.
        Some(_) if plan.has_users() => plan.target.origin(),
        Some(_) => origin(&plan.target).url(&plan.redaction),
        None => plan.url(),
    };
    match record.connections.origins.len() {
        0 | 1 => first,
        2 => format!("{first} and another server"),
        count => format!("{first} and {} other servers", count - 1),
    }
}

/// What ends the run: wrk's words for a time, and our own for a count, which wrk doesn't know.
fn asked(record: &Record) -> String {
    let plan = &record.plan;
    match (plan.duration_s.or(plan.schedule.length_s()), plan.count) {
        (None, Some(1)) => "1 request".to_owned(),
        (None, Some(count)) if plan.has_users() => format!("{count} flows"),
        (None, Some(count)) => format!("{count} requests"),
        (length, _) => format!("{} test", wrk_time_s(length.unwrap_or(record.duration_s))),
    }
}

/// The answers that came inside the window.
fn answered(record: &Record) -> u64 {
    let of_older_records = || {
        let drain = record.drain.unwrap_or_default();
        let strange = [ErrorKind::UnexpectedStatus, ErrorKind::GrpcStatus];
        let strange: u64 = strange.into_iter().map(|kind| count(record, kind)).sum();
        let sent_inside = (record.achieved_rate * record.duration_s).round() as u64;
        sent_inside + strange.saturating_sub(drain.failed_sent_late)
    };
    let inside = record.exchanges.answered_in_window;
    inside.unwrap_or_else(of_older_records)
}

fn thread_stats(record: &Record, response: &Histogram) -> String {
    let mut text = format!(
        "  Thread Stats{:>6}{:>11}{:>8}{:>12}\n",
        "Avg", "Stdev", "Max", "+/- Stdev"
    );
    let us = |value: Option<f64>| value.unwrap_or(0.0);
    text.push_str(&thread_line(
        "Latency",
        [
            us(record.response_time_us.mean),
            response.stdev() / 1000.0,
            us(record.response_time_us.max),
        ]
        .map(wrk_time_us),
        response.share_within(1.0),
    ));
    let rates = RateSamples::of(record);
    text.push_str(&thread_line(
        "Req/Sec",
        [rates.mean, rates.stdev, rates.max].map(wrk_metric),
        rates.share_within,
    ));
    text
}

fn thread_line(name: &str, [mean, stdev, max]: [String; 3], share: f64) -> String {
    format!(
        "    {name:<10}{}{}{}{:>8.2}%\n",
        wrk_column(&mean, 8),
        wrk_column(&stdev, 10),
        wrk_column(&max, 9),
        share * 100.0,
    )
}

/// Whole answers per second and thread, with any status. wrk samples each thread ten times a
/// second; the series has a row a second over all threads. The last one may be shorter, and a rate
/// over a moment of it says little.
struct RateSamples {
    mean: f64,
    stdev: f64,
    max: f64,
    share_within: f64,
}

impl RateSamples {
    fn of(record: &Record) -> RateSamples {
        let threads = f64::from(record.plan.threads.max(1));
        let whole_s = record.series.iter().map(|row| row.seconds);
        let whole_s = whole_s.fold(0.0, f64::max);
        let is_whole = |row: &&Row| row.seconds > 0.0 && row.seconds >= whole_s;
        let rows = record.series.iter().filter(is_whole);
        let rates: Vec<f64> = rows
            .map(|row| row.answered.unwrap_or(row.completed) as f64 / row.seconds / threads)
            .collect();
        let count = rates.len() as f64;
        // The sum of no floats at all is -0.
        let mean = rates.iter().fold(0.0, |sum, rate| sum + rate) / count.max(1.0);
        let squares: f64 = rates.iter().map(|rate| (rate - mean).powi(2)).sum();
        let stdev = if count < 2.0 {
            0.0
        } else {
            (squares / (count - 1.0)).sqrt()
        };
        let within = rates
            .iter()
            .filter(|rate| (*rate - mean).abs() <= stdev)
            .count();
        RateSamples {
            mean,
            stdev,
            max: rates.iter().copied().fold(0.0, f64::max),
            share_within: within as f64 / count.max(1.0),
        }
    }
}

fn latency_distribution(times: &Times) -> String {
    let mut text = String::from("  Latency Distribution\n");
    for (percent, value) in [
        (50, times.p50),
        (75, times.p75),
        (90, times.p90),
        (99, times.p99),
    ] {
        let value = percentile(times, f64::from(percent) / 100.0, value);
        let time = value.map(|value| wrk_column(&wrk_time_us(value), 10));
        let time = time.unwrap_or_else(|| format!("{:>10}", "-"));
        text.push_str(&format!("{percent:>7}%{time}\n"));
    }
    text
}

/// wrk's two lines of errors, each only where there is something to say.
fn wrk_errors(record: &Record) -> String {
    let sum = |kinds: &[ErrorKind]| kinds.iter().map(|kind| count(record, *kind)).sum::<u64>();
    let connect = sum(&[
        ErrorKind::Refused,
        ErrorKind::Unreachable,
        ErrorKind::ConnectTimeout,
        ErrorKind::TlsTimeout,
        ErrorKind::GreetingTimeout,
        ErrorKind::ProxyRefused,
        ErrorKind::ProxyFailed,
        ErrorKind::ProxyTimeout,
        ErrorKind::PortsExhausted,
        ErrorKind::DescriptorsExhausted,
        ErrorKind::TlsCertificate,
        ErrorKind::TlsFailed,
        ErrorKind::NoCommonProtocol,
        ErrorKind::UpgradeRefused,
    ]);
    let read = sum(&[
        ErrorKind::Reset,
        ErrorKind::EarlyClose,
        ErrorKind::StreamCut,
        ErrorKind::IdleClose,
        ErrorKind::ProtocolViolation,
        ErrorKind::StreamReset,
        ErrorKind::StreamRefused,
        ErrorKind::StreamGivenUp,
        ErrorKind::GoAway,
        ErrorKind::Other,
    ]);
    let write = sum(&[ErrorKind::BrokenPipe]);
    let timeout = sum(&[ErrorKind::Timeout]);
    let mut text = String::new();
    if connect + read + write + timeout > 0 {
        text.push_str(&format!(
            "  Socket errors: connect {connect}, read {read}, write {write}, timeout {timeout}\n"
        ));
    }
    let all = || strange(record).map(|(_, count)| count).sum::<u64>();
    let inside = record.exchanges.not_2xx_or_3xx_in_window;
    let strange = inside.unwrap_or_else(all);
    if strange > 0 {
        text.push_str(&format!("  Non-2xx or 3xx responses: {strange}\n"));
    }
    text
}

/// The statuses that wrk calls strange, with their counts.
fn strange(record: &Record) -> impl Iterator<Item = (&String, &u64)> {
    let statuses = record.status.iter();
    statuses.filter(|(status, _)| is_strange(status))
}

pub(super) fn is_strange(status: &str) -> bool {
    !(status.starts_with('2') || status.starts_with('3'))
}

pub(super) fn count(record: &Record, kind: ErrorKind) -> u64 {
    record.errors.get(kind.name()).copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use measure::tally::Loop;

    use super::super::text::tests::record;
    use super::*;

    #[test]
    fn wrks_block_is_wrks_to_the_letter() {
        let expected = "\
Running 2s test @ http://localhost:8080/a
  1 threads and 10 connections
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency     1.40ms    0.89ms   3.00ms   80.00%
    Req/Sec     2.50      0.71     3.00    100.00%
  Latency Distribution
     50%    1.00ms
     75%    1.00ms
     90%    3.00ms
     99%    3.00ms
  5 requests in 2.00s, 3.00MB read
  Socket errors: connect 14, read 10, write 1, timeout 1
  Non-2xx or 3xx responses: 1
Requests/sec:      2.50
Transfer/sec:      1.50MB
";
        let mut record = record(Loop::Closed);
        record.response_time_us.count = Some(299);
        assert_eq!(block(&record, true), expected);
    }

    #[test]
    fn a_percentile_of_too_few_samples_is_not_shown() {
        let record = record(Loop::Closed);
        assert_eq!(record.response_time_us.count, Some(5));
        let text = block(&record, true);
        assert!(
            text.contains("\n     50%    1.00ms\n     75%         -\n"),
            "{text}"
        );
    }

    #[test]
    fn a_counted_run_says_how_many_and_one_without_answers_says_so() {
        let mut record = record(Loop::Closed);
        let mut plan = load::Plan::clone(&record.plan);
        (plan.duration_s, plan.count) = (None, Some(3));
        record.plan = plan.recorded();
        let text = block(&record, true);
        assert!(
            text.starts_with("Running 3 requests @ http://localhost:8080/a\n"),
            "{text}"
        );
        assert!(!text.contains("answered"), "{text}");
        // All that is in the times was given up.
        record.exchanges.censored = 5;
        record.exchanges.answered_in_window = Some(0);
        let text = block(&record, true);
        let told = "connections\n  No request was answered.\n  0 requests in 2.00s, ";
        assert!(text.contains(told), "{text}");
    }

    #[test]
    fn rates_are_of_whole_seconds_and_of_all_answers() {
        let mut record = record(Loop::Closed);
        let row = record.series[0].clone();
        let with = |seconds, completed, answered| Row {
            seconds,
            completed,
            answered,
            ..row.clone()
        };
        let line = |record: &Record| {
            let text = block(record, false);
            let line = text.lines().find(|line| line.contains("Req/Sec"));
            line.map(str::to_owned).unwrap()
        };
        // A server that answers half of it with errors, and ends within a burst.
        record.series = vec![
            with(1.0, 50, Some(100)),
            with(1.0, 70, Some(140)),
            with(0.001, 5, Some(10)),
        ];
        let expected = "    Req/Sec   120.00     28.28   140.00    100.00%";
        assert_eq!(line(&record), expected);
        // A record from before answers were counted, of less than a second.
        record.series = vec![with(0.5, 20, None)];
        assert_eq!(
            line(&record),
            "    Req/Sec    40.00      0.00    40.00    100.00%"
        );
        record.series.clear();
        assert_eq!(
            line(&record),
            "    Req/Sec     0.00      0.00     0.00      0.00%"
        );
    }

    #[test]
    fn requests_are_those_that_were_answered_inside_the_window() {
        let mut record = record(Loop::Open);
        // However many were completed in the end, and whenever they were sent.
        record.exchanges.completed = 90;
        record.achieved_rate = 40.0;
        record.exchanges.answered_in_window = Some(3);
        let text = block(&record, false);
        assert!(
            text.contains("\n  3 requests in 2.00s, 3.00MB read\n"),
            "{text}"
        );
        assert!(text.contains("\nRequests/sec:      1.50\n"), "{text}");
        // Records from before that was counted.
        record.exchanges.answered_in_window = None;
        record.achieved_rate = 1.0;
        assert!(block(&record, false).contains("\n  4 requests in 2.00s"));
    }
}

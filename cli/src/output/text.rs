//! A record as text: first wrk's block to the letter, for the scripts that read it, then what wrk
//! does not say. Everything comes from the record, so a record that was kept can be printed again.
//!
//! wrk counts every whole answer as a request, whatever its status; so does its block here, for
//! requests that were sent inside the window: they are what the rate counts. Its percentiles are
//! response times; those of service time stand in the second part.

use std::collections::BTreeMap;

use load::Record;
use measure::counters::ErrorKind;
use measure::histogram::Histogram;
use measure::record::{Availability, Drain, EndedBy, Gap, Generator, Lost, Times, Tls, Waits};
use measure::units::{wrk_bytes, wrk_column, wrk_metric, wrk_time_s, wrk_time_us};

use super::control;
use super::table;
use super::terminal::Paint;

/// Both parts. `latency`: with wrk's percentiles, as its `--latency`.
pub(crate) fn text(record: &Record, latency: bool, paint: Paint) -> String {
    let mut text = wrk_block(record, latency);
    text.push('\n');
    text.push_str(&rest(record, paint));
    text.push_str(&control::text(record, paint));
    text
}

/// wrk's block, as its wrk.c prints it.
fn wrk_block(record: &Record, latency: bool) -> String {
    let plan = &record.plan;
    let seconds = record.duration_s;
    let drain = record.drain.unwrap_or_default();
    let strange = count(record, ErrorKind::UnexpectedStatus) + count(record, ErrorKind::GrpcStatus);
    let strange = strange.saturating_sub(drain.failed_sent_late);
    // Requests of an overload that were sent only after the window are answered in the end, and
    // would raise the rate above what was reached.
    let answered = (record.achieved_rate * seconds).round() + strange as f64;
    let per_second = |amount: f64| if seconds > 0.0 { amount / seconds } else { 0.0 };
    let mut text = format!(
        "Running {} test @ {}\n  {} threads and {} connections\n",
        wrk_time_s(
            plan.duration_s
                .or(plan.schedule.length_s())
                .unwrap_or(seconds)
        ),
        plan.url(),
        plan.threads,
        plan.connections,
    );
    text.push_str(&thread_stats(record));
    if latency {
        text.push_str(&latency_distribution(&record.response_time_us));
    }
    text.push_str(&format!(
        "  {answered} requests in {}, {} read\n",
        wrk_time_us(seconds * 1e6),
        wrk_bytes(record.bytes.received as f64),
    ));
    text.push_str(&wrk_errors(record));
    let rate = per_second(answered);
    text.push_str(&format!("Requests/sec: {rate:>9.2}\n"));
    let transfer = wrk_bytes(per_second(record.bytes.received as f64));
    text.push_str(&format!("Transfer/sec: {transfer:>11}\n"));
    text
}

fn thread_stats(record: &Record) -> String {
    let mut text = format!(
        "  Thread Stats{:>6}{:>11}{:>8}{:>12}\n",
        "Avg", "Stdev", "Max", "+/- Stdev"
    );
    let response = Histogram::from_hdr_v2_base64(&record.histograms.response_time)
        .unwrap_or_else(|_| Histogram::new());
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

/// Requests per second and thread. wrk samples each thread ten times a second; the series has a
/// row a second over all threads.
struct RateSamples {
    mean: f64,
    stdev: f64,
    max: f64,
    share_within: f64,
}

impl RateSamples {
    fn of(record: &Record) -> RateSamples {
        let threads = f64::from(record.plan.threads.max(1));
        let rows = record.series.iter().filter(|row| row.seconds > 0.0);
        let rates: Vec<f64> = rows
            .map(|row| row.completed as f64 / row.seconds / threads)
            .collect();
        let count = rates.len() as f64;
        let mean = rates.iter().sum::<f64>() / count.max(1.0);
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
        let time = wrk_column(&wrk_time_us(value.unwrap_or(0.0)), 10);
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
        ErrorKind::ProtocolViolation,
        ErrorKind::StreamReset,
        ErrorKind::StreamRefused,
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
    let statuses = record.status.iter();
    let strange: u64 = statuses
        .filter(|(status, _)| !(status.starts_with('2') || status.starts_with('3')))
        .map(|(_, count)| count)
        .sum();
    if strange > 0 {
        text.push_str(&format!("  Non-2xx or 3xx responses: {strange}\n"));
    }
    text
}

fn count(record: &Record, kind: ErrorKind) -> u64 {
    record.errors.get(kind.name()).copied().unwrap_or(0)
}

/// What wrk does not say.
fn rest(record: &Record, paint: Paint) -> String {
    let mut text = interrupted(record, paint);
    let silence = record
        .availability
        .as_ref()
        .map(|it| gaps(it, refused(record), paint));
    text.push_str(&silence.unwrap_or_default());
    text.push_str(&times(record, paint));
    text.push_str(&rates(record));
    text.push_str(&errors("Errors", &record.errors, paint));
    text.push_str(&calls(record));
    text.push_str(&connections(record));
    text.push_str(&record.waits.as_ref().map(waits).unwrap_or_default());
    text.push_str(&generator_line(&record.generator, "request", paint));
    for warning in &record.warnings {
        text.push_str(&format!("{} {warning}\n", paint.warning("Warning:")));
    }
    if !record.valid {
        let verdict = "These figures do not mean what they say; the warnings tell why.";
        text.push_str(&format!("{}\n", paint.error(verdict)));
    }
    text
}

/// That somebody ended the run before its time.
fn interrupted(record: &Record, paint: Paint) -> String {
    let signal = match record.ended_by {
        EndedBy::Interrupt => "SIGINT",
        EndedBy::Terminate => "SIGTERM",
        _ => return String::new(),
    };
    let after = wrk_time_us(record.duration_s * 1e6);
    let text = format!("Interrupted by {signal} after {after}.");
    format!("{}\n", paint.warning(&text))
}

fn times(record: &Record, paint: Paint) -> String {
    let heads = [
        "", "mean", "p50", "p75", "p90", "p99", "p99.9", "p99.99", "max",
    ];
    let mut rows = vec![heads.map(String::from)];
    rows.push(row("response time", &record.response_time_us));
    rows.push(row("service time", &record.service_time_us));
    if record.lateness_us.max.is_some() {
        rows.push(row("lateness", &record.lateness_us));
    }
    if record.ping_time_us.max.is_some() {
        rows.push(row("ping", &record.ping_time_us));
    }
    let open = record.plan.schedule.is_open();
    let meaning = if open {
        "Response time counts from when a request was due, service time from when it was sent;\n\
         lateness is how much later than due it was sent."
    } else {
        "Closed loop: a request is due when its connection is free, so a slow server is asked\n\
         less often. What users would wait at a given rate, only an open loop (-R) can tell."
    };
    format!(
        "{}{meaning}\n",
        paint_first_line(&table::lines("  ", &rows), paint)
    )
}

pub(super) fn paint_first_line(text: &str, paint: Paint) -> String {
    match text.split_once('\n') {
        Some((first, rest)) => format!("{}\n{rest}", paint.strong(first)),
        None => text.to_string(),
    }
}

pub(super) fn row(name: &str, times: &Times) -> [String; 9] {
    let cell = |value: Option<f64>| value.map_or_else(|| "-".to_string(), wrk_time_us);
    [
        name.to_string(),
        cell(times.mean),
        cell(times.p50),
        cell(times.p75),
        cell(times.p90),
        cell(times.p99),
        cell(times.p99_9),
        cell(times.p99_99),
        cell(times.max),
    ]
}

fn rates(record: &Record) -> String {
    let exchanges = &record.exchanges;
    let mut text = match record.offered_rate {
        Some(offered) => format!(
            "Offered {offered:.2}/s, achieved {:.2}/s ({:.2} %)",
            record.achieved_rate,
            record.achieved_rate / offered.max(f64::MIN_POSITIVE) * 100.0,
        ),
        None => format!("Achieved {:.2}/s", record.achieved_rate),
    };
    text.push_str(&format!("; completed {}; ", exchanges.completed));
    text.push_str(&lost(&record.lost()));
    if let Some(drain) = &record.drain {
        text.push_str(&after_the_window(drain));
    }
    if exchanges.censored > 0 {
        text.push_str(&format!(
            "\n{} that got no answer are in the times above with how long was waited for them",
            exchanges.censored
        ));
    }
    text.push('\n');
    text
}

/// What the server did to those who tried to connect while it was away.
fn refused(record: &Record) -> &'static str {
    let others = count(record, ErrorKind::ConnectTimeout) + count(record, ErrorKind::Unreachable);
    match count(record, ErrorKind::Refused) > others {
        true => "The server refused connections",
        false => "The server could not be reached",
    }
}

/// When the server gave no answer; nothing where it always did. `refused`: what it did where
/// connections were tried in vain meanwhile.
fn gaps(availability: &Availability, refused: &str, paint: Paint) -> String {
    let all = &availability.gaps;
    if all.is_empty() {
        return String::new();
    }
    let (away, silent): (Vec<_>, Vec<_>) = all.iter().partition(|gap| gap.unreachable);
    let heads = [(refused, away), ("No answers", silent)];
    let told = heads.into_iter().filter(|(_, gaps)| !gaps.is_empty());
    let told: Vec<String> = told
        .map(|(head, gaps)| paint.error(&format!("{head} {}", stretches(gaps))))
        .collect();
    format!(
        "{}: the server was available for {:.3} % of the time\n",
        told.join(". "),
        availability.share * 100.0
    )
}

/// From when to when, of the longest few.
fn stretches(gaps: Vec<&Gap>) -> String {
    const TOLD_MAX: usize = 3;
    let all = gaps.len();
    let mut longest = gaps;
    longest.sort_by(|a, b| (b.to_s - b.from_s).total_cmp(&(a.to_s - a.from_s)));
    longest.truncate(TOLD_MAX);
    longest.sort_by(|a, b| a.from_s.total_cmp(&b.from_s));
    let mut told: Vec<String> = longest
        .into_iter()
        .map(|gap| format!("from {:.1} s to {:.1} s", gap.from_s, gap.to_s))
        .collect();
    if all > told.len() {
        told.push(format!("and {} times more", all - told.len()));
    }
    told.join(", ")
}

/// What of the load came to nothing, with its share: the figure that `errors` of a threshold is.
fn lost(lost: &Lost) -> String {
    let told = lost.told();
    match lost.share().filter(|_| !told.is_empty()) {
        Some(share) => format!("errors {:.3} % ({})", share * 100.0, told.join(", ")),
        None => "no errors".to_owned(),
    }
}

/// What came of the window's requests after its end; nothing where nothing was left.
fn after_the_window(drain: &Drain) -> String {
    if drain.completed + drain.failed + drain.unfinished == 0 {
        return String::new();
    }
    format!(
        "\nOf these after the window's end, within {}: completed {} ({} of them sent only then), \
         failed {}, unfinished {}",
        wrk_time_us(drain.seconds * 1e6),
        drain.completed,
        drain.completed_sent_late,
        drain.failed,
        drain.unfinished,
    )
}

/// What went wrong, a line for each kind with what it means; nothing where nothing did.
pub(super) fn errors(title: &str, counts: &BTreeMap<String, u64>, paint: Paint) -> String {
    let mut text = String::new();
    for kind in ErrorKind::all() {
        if let Some(count) = counts.get(kind.name()).filter(|count| **count > 0) {
            let name = paint.error(&format!("{count} {}", kind.name()));
            text.push_str(&format!("  {name}: {}\n", kind.text()));
        }
    }
    if text.is_empty() {
        text
    } else {
        format!("{title}\n{text}")
    }
}

/// What gRPC and WebSocket add: the statuses of calls, and the messages inside exchanges.
fn calls(record: &Record) -> String {
    let mut text = String::new();
    if !record.grpc_status.is_empty() {
        let statuses = record.grpc_status.iter();
        let counts: Vec<String> = statuses.map(|(name, n)| format!("{n} {name}")).collect();
        text.push_str(&format!("gRPC statuses: {}\n", counts.join(", ")));
    }
    let messages = &record.messages;
    if messages.sent + messages.received > 0 {
        text.push_str(&format!(
            "Messages: {} sent, {} received\n",
            messages.sent, messages.received
        ));
    }
    text
}

fn connections(record: &Record) -> String {
    let connections = &record.connections;
    let mut text = String::new();
    if let Some(http2) = record.plan.protocol.http2() {
        text.push_str(&format!(
            "HTTP/2: {} connections × {} streams; windows of {} a stream and {} a connection\n",
            record.plan.connections,
            http2.streams,
            wrk_bytes(http2.stream_window_bytes.into()),
            wrk_bytes(http2.connection_window_bytes.into()),
        ));
    }
    text.push_str(&format!(
        "Connections: {} opened, {} of them in the place of one that had died\n",
        connections.opened, connections.reconnects
    ));
    let parts = [
        ("whole", &connections.set_up_time_us),
        ("TCP", &connections.tcp_time_us),
    ];
    let told: Vec<String> = parts.into_iter().filter_map(part).collect();
    if !told.is_empty() {
        text.push_str(&format!("Set-up: {}\n", told.join("; ")));
    }
    if let Some(tls) = &connections.tls {
        text.push_str(&secured(record, tls));
    }
    text
}

/// What was agreed on, and what the handshakes cost; how many a second where each exchange has one.
fn secured(record: &Record, tls: &Tls) -> String {
    let mut text = format!("{}, {}", tls.version, tls.cipher);
    if let Some(alpn) = &tls.alpn {
        text.push_str(&format!(", {alpn}"));
    }
    let kinds = [
        ("full", tls.full_handshakes, &tls.handshake_time_us),
        (
            "resumed",
            tls.resumed_handshakes,
            &tls.resumed_handshake_time_us,
        ),
    ];
    let mut separator = ": ";
    for (name, count, times) in kinds {
        text.push_str(&format!("{separator}{count} {name} handshakes"));
        separator = ", ";
        if !record.plan.keep_alive && record.duration_s > 0.0 && count > 0 {
            text.push_str(&format!(" ({:.0}/s)", count as f64 / record.duration_s));
        }
        if let (Some(median), Some(p99)) = (times.p50, times.p99) {
            let (median, p99) = (wrk_time_us(median), wrk_time_us(p99));
            text.push_str(&format!(", p50 {median}, p99 {p99}"));
        }
    }
    text.push('\n');
    text
}

/// A part of the set-up of connections; nothing where it did not take place.
fn part((name, times): (&str, &Times)) -> Option<String> {
    let (median, max) = (times.p50?, times.max?);
    Some(format!(
        "{name} p50 {}, max {}",
        wrk_time_us(median),
        wrk_time_us(max)
    ))
}

/// Whose the waits before sending were; nothing where there were none to speak of.
fn waits(waits: &Waits) -> String {
    let Some(share) = waits.share_of_response.filter(|share| *share >= 0.0005) else {
        return String::new();
    };
    let parts = [
        ("connections busy", waits.busy_us),
        ("connecting", waits.connecting_us),
        ("closing", waits.closing_us),
        ("back-off", waits.back_off_us),
        ("server away", waits.unreachable_us),
        ("generator late", waits.late_us),
        ("refused and sent again", waits.refused_us),
    ];
    let percent = |us: f64| us / waits.total_us * share * 100.0;
    let told: Vec<String> = parts
        .into_iter()
        .filter(|(_, us)| percent(*us) >= 0.05)
        .map(|(name, us)| format!("{name} {:.1} %", percent(us)))
        .collect();
    format!(
        "Waited at the generator: {:.1} % of the response time ({})\n",
        share * 100.0,
        told.join(", ")
    )
}

/// What this process itself cost, and whether it was the limit. `exchange`: the word for what it
/// exchanged.
pub(super) fn generator_line(generator: &Generator, exchange: &str, paint: Paint) -> String {
    let mut facts = Vec::new();
    if let Some(cost) = generator.cpu_us_per_exchange {
        facts.push(format!("{cost:.2}us of CPU a {exchange}"));
    }
    if let Some(share) = generator.cpu_share_max {
        facts.push(format!("busiest thread {:.0} % busy", share * 100.0));
    }
    if let Some(peak) = generator.memory_peak_bytes {
        facts.push(format!("peak memory {}", wrk_bytes(peak as f64)));
    }
    let verdict = if generator.limited {
        paint.warning("The generator was the limit:")
    } else {
        paint.good("The generator was not the limit:")
    };
    format!(
        "Generator: {} ({}); {}\n{verdict} {}\n",
        generator.engine,
        generator.engine_reason,
        facts.join(", "),
        generator.limited_reason,
    )
}

#[cfg(test)]
mod tests {
    use load::Plan;
    use measure::record::Facts;
    use measure::tally::{Loop, Tally};
    use measure::time::Time;

    use super::*;

    /// Two seconds with four answers of 1 ms, a 404 of 3 ms, and one error of each kind.
    fn record(kind: Loop) -> Record {
        let at = |ms: u64| Time(1_000_000_000 + ms * 1_000_000);
        let mut tally = Tally::new(kind);
        tally.start(at(0));
        for ms in [0, 500] {
            tally.completed(at(ms), at(ms), at(ms + 1), 200);
        }
        tally.unexpected(at(100), at(100), at(103), 404);
        tally.tick(at(1000));
        for ms in [1000, 1500] {
            tally.completed(at(ms), at(ms), at(ms + 1), 200);
        }
        for error in ErrorKind::all() {
            if error != ErrorKind::UnexpectedStatus {
                tally.failed(error);
            }
        }
        tally.bytes_received = 3 << 20;
        tally.finish(at(2000));
        let mut plan = Plan::new("http://localhost:8080/a").unwrap();
        plan.duration_s = Some(2.0);
        let generator = Generator {
            engine: "epoll".to_string(),
            engine_reason: "asked for".to_string(),
            limited_reason: "its worker was 3 % busy".to_string(),
            ..Generator::default()
        };
        Record::assemble(
            &tally,
            Facts {
                generator,
                duration_s: 2.0,
                offered_rate: (kind == Loop::Open).then_some(2.5),
                warnings: vec!["mind the gap".to_string()],
                ..Facts::of(plan.recorded())
            },
        )
    }

    #[test]
    fn wrks_block_is_wrks_to_the_letter() {
        let expected = "\
Running 2s test @ http://localhost:8080/a
  1 threads and 10 connections
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency     1.40ms    0.89ms   3.00ms   80.00%
    Req/Sec     2.00      0.00     2.00    100.00%
  Latency Distribution
     50%    1.00ms
     75%    1.00ms
     90%    3.00ms
     99%    3.00ms
  6 requests in 2.00s, 3.00MB read
  Socket errors: connect 9, read 7, write 1, timeout 1
  Non-2xx or 3xx responses: 1
Requests/sec:      3.00
Transfer/sec:      1.50MB
";
        assert_eq!(wrk_block(&record(Loop::Closed), true), expected);
    }

    #[test]
    fn each_kind_of_error_has_its_line() {
        let text = text(&record(Loop::Closed), false, Paint::PLAIN);
        for kind in ErrorKind::all() {
            let line = format!("\n  1 {}: {}\n", kind.name(), kind.text());
            assert!(text.contains(&line), "{text}");
        }
    }

    #[test]
    fn an_open_loop_says_what_was_offered_and_how_late_it_was_sent() {
        let closed = text(&record(Loop::Closed), false, Paint::PLAIN);
        let open = text(&record(Loop::Open), false, Paint::PLAIN);
        assert!(
            open.contains("Offered 2.50/s, achieved 2.00/s (80.00 %)"),
            "{open}"
        );
        assert!(closed.contains("\nAchieved 2.00/s"), "{closed}");
        assert!(open.contains("\n  lateness ") && !closed.contains("\n  lateness "));
    }

    #[test]
    fn requests_are_those_of_the_rate_and_the_drain_is_told_apart() {
        let mut record = record(Loop::Open);
        // Two of the four answers, and the 404, were to requests sent only after the window.
        record.achieved_rate = 1.0;
        record.drain = Some(Drain {
            seconds: 0.5,
            completed: 3,
            completed_sent_late: 2,
            failed: 1,
            failed_sent_late: 1,
            unfinished: 7,
            ..Drain::default()
        });
        let text = text(&record, false, Paint::PLAIN);
        // One failed gRPC call of the errors was answered, too.
        assert!(text.contains("\n  3 requests in 2.00s, "), "{text}");
        assert!(text.contains("\nRequests/sec:      1.50\n"), "{text}");
        let line = "\nOf these after the window's end, within 500.00ms: completed 3 (2 of them \
                    sent only then), failed 1, unfinished 7\n";
        assert!(text.contains(line), "{text}");
        let csv = crate::output::csv::csv(&record);
        assert!(csv.ends_with("\n2,0.5,3,1,0,0,,,,drain\n"), "{csv}");
        assert!(
            csv.lines()
                .nth(1)
                .is_some_and(|line| line.ends_with(",window"))
        );
    }

    #[test]
    fn what_was_lost_and_when_nothing_answered_is_one_account_and_comes_first() {
        let mut record = record(Loop::Closed);
        let figure: load::check::Threshold = "errors<1%".parse().unwrap();
        let told = |record: &Record| text(record, false, Paint::PLAIN);
        assert!(told(&record).contains("; completed 4; errors 83.333 % (20 failed)\n"));
        record.exchanges.failed = 0;
        assert!(told(&record).contains("; completed 4; no errors\n"));
        record.exchanges.unfinished = 2;
        record.connections.failed_attempts = 4;
        let gap = |from_s, to_s| Gap {
            from_s,
            to_s,
            outage: true,
            unreachable: false,
        };
        record.availability = Some(Availability {
            share: 0.5,
            slot_s: 0.1,
            outage_share: 0.5,
            gaps: vec![gap(0.1, 0.2), gap(0.3, 1.0), gap(1.1, 1.2), gap(1.3, 1.5)],
        });
        let text = told(&record);
        let first = "\n\nNo answers from 0.1 s to 0.2 s, from 0.3 s to 1.0 s, from 1.3 s to 1.5 s, \
                     and 1 times more: the server was available for 50.000 % of the time\n";
        assert!(text.contains(first), "{text}");
        record.errors.insert("refused".to_owned(), 4);
        let gaps = &mut record.availability.as_mut().unwrap().gaps;
        gaps.truncate(2);
        gaps[1].unreachable = true;
        let refused = "\n\nThe server refused connections from 0.3 s to 1.0 s. No answers from \
                       0.1 s to 0.2 s: the server was available for 50.000 % of the time\n";
        let text = told(&record);
        assert!(text.contains(refused), "{text}");
        let account = "; completed 4; errors 80.000 % (2 never answered, 4 failed attempts to \
                       connect, no answers for 50.0 % of the time)\n";
        assert!(text.contains(account), "{text}");
        assert_eq!(
            figure.evaluate(&record).measured.as_deref(),
            Some("80.000%")
        );
    }

    #[test]
    fn waits_are_told_with_their_owners() {
        let mut record = record(Loop::Open);
        assert!(!text(&record, false, Paint::PLAIN).contains("Waited"));
        record.waits = Some(Waits {
            total_us: 2000.0,
            share_of_response: Some(0.5),
            busy_us: 1499.9,
            closing_us: 500.0,
            late_us: 0.1,
            ..Waits::default()
        });
        let text = text(&record, false, Paint::PLAIN);
        let line = "\nWaited at the generator: 50.0 % of the response time (connections busy \
                    37.5 %, closing 12.5 %)\n";
        assert!(text.contains(line), "{text}");
    }

    #[test]
    fn calls_and_the_parts_of_the_set_up_are_told_where_there_were_any() {
        let mut record = record(Loop::Closed);
        let plain = text(&record, false, Paint::PLAIN);
        for absent in ["gRPC", "Messages", "HTTP/2:", "  ping", "Set-up"] {
            assert!(!plain.contains(&format!("\n{absent}")), "{plain}");
        }
        record.grpc_status = [("OK", 4), ("UNAVAILABLE", 2)]
            .map(|(name, count)| (name.to_string(), count))
            .into();
        record.messages.sent = 6;
        record.messages.received = 4;
        let times = Times {
            p50: Some(120.0),
            max: Some(2000.0),
            ..Times::default()
        };
        (record.ping_time_us, record.connections.tcp_time_us) = (times, times);
        record.connections.set_up_time_us = times;
        let http2 = load::protocol::Http2 {
            streams: 100,
            ..load::protocol::Http2::default()
        };
        let mut plan = Plan::clone(&record.plan);
        plan.protocol = load::protocol::Protocol::Http2 { http2 };
        record.plan = plan.recorded();
        let text = text(&record, false, Paint::PLAIN);
        for line in [
            "gRPC statuses: 4 OK, 2 UNAVAILABLE",
            "Messages: 6 sent, 4 received",
            "HTTP/2: 10 connections × 100 streams; windows of 4.00MB a stream and 16.00MB a \
             connection",
            "Set-up: whole p50 120.00us, max 2.00ms; TCP p50 120.00us, max 2.00ms",
        ] {
            assert!(text.contains(&format!("\n{line}\n")), "{line}: {text}");
        }
        assert!(text.contains("\n  ping "), "{text}");
    }

    #[test]
    fn warnings_and_the_verdict_on_the_generator_come_last() {
        let text = text(&record(Loop::Closed), false, Paint::PLAIN);
        assert!(
            text.ends_with(
                "The generator was not the limit: its worker was 3 % busy\nWarning: mind the gap\n"
            ),
            "{text}"
        );
    }
}

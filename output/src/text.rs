//! A record as text: first wrk's block, then what wrk does not say. Everything comes from the
//! record, so a record that was kept can be printed again.

use load::Record;
use load::plan::Proxy;
use measure::counters::ErrorKind;
use measure::foreign::{Foreign, screened};
use measure::record::{
    Availability, Drain, EndedBy, Gap, Generator, Lost, Origin, Script, Times, Tls, Waits,
};
use measure::units::{wrk_bytes, wrk_time_us};

use super::closes;
use super::control;
use super::errors::{Answers, errors};
use super::steps;
use super::streams;
use super::terminal::Paint;
use super::times;
use super::warnings;
use super::width;
use super::wrk::{self, count};

/// What a generator that was late leaves open, of a run without a control.
const CONTROL: &str = "To see what this machine adds, repeat the run with --control, which loads \
                       our own server, too.\n";

/// Both parts. `latency`: with wrk's percentiles, as its `--latency`.
pub fn text(record: &Record, latency: bool, paint: Paint) -> String {
    let mut text = steps::flows(record, paint);
    text.push_str(&wrk::block(record, latency));
    text.push('\n');
    text.push_str(&rest(record, paint));
    text.push_str(&control::text(record, paint));
    width::wrapped(&text, paint.columns())
}

/// What wrk does not say.
fn rest(record: &Record, paint: Paint) -> String {
    let mut text = interrupted(record.ended_by, record.duration_s, paint);
    let silence = record
        .availability
        .as_ref()
        .map(|it| gaps(it, refused(record), paint));
    text.push_str(&silence.unwrap_or_default());
    text.push_str(&distributions(record, paint));
    text.push_str(&rates(record));
    text.push_str(&(record.streams.as_ref().map(streams::line)).unwrap_or_default());
    text.push_str(&steps::table(record, paint));
    let unmet = &record.unexpected_answers[..];
    let (unmet, lines) = match record.plan.has_users() {
        true => (&[][..], unmet),
        false => (unmet, &[][..]),
    };
    let answers = Answers {
        statuses: &record.status,
        bodies: &record.unexpected_bodies,
        unmet,
        lines,
        locations: &record.unfollowed_redirects,
    };
    text.push_str(&errors("Errors", &record.errors, answers, paint));
    text.push_str(&redirects(record));
    text.push_str(&calls(record));
    text.push_str(&connections(record));
    text.push_str(&record.waits.as_ref().map(waits).unwrap_or_default());
    text.push_str(&generator_line(&record.generator, "request", paint));
    text.push_str(&warnings::text(record, paint));
    let open = record.plan.schedule.is_open();
    let is_late = !record.void.is_empty() || record.generator.limited && open;
    if is_late && record.control.is_none() && record.plan.workload.is_none() {
        text.push_str(CONTROL);
    }
    text
}

/// That somebody ended it, after so many seconds, before its time.
pub(super) fn interrupted(ended_by: EndedBy, after_s: f64, paint: Paint) -> String {
    let by = match ended_by {
        // Ctrl-C, `q` in the terminal and the page's button say the same.
        EndedBy::Interrupt => "",
        EndedBy::Terminate => " by SIGTERM",
        _ => return String::new(),
    };
    let text = match after_s > 0.0 {
        true => format!("Interrupted{by} after {}.", wrk_time_us(after_s * 1e6)),
        false => format!("Interrupted{by} before the measurement began."),
    };
    format!("{}\n", paint.warning(&text))
}

fn distributions(record: &Record, paint: Paint) -> String {
    let mut rows = vec![
        ("response time", &record.response_time_us),
        ("service time", &record.service_time_us),
    ];
    let others = [
        ("lateness", &record.lateness_us),
        ("ping", &record.ping_time_us),
    ];
    rows.extend(others.into_iter().filter(|(_, times)| times.max.is_some()));
    let streams = record.streams.as_ref();
    let of_streams: Vec<(String, &Times)> = streams.into_iter().flat_map(streams::rows).collect();
    rows.extend((of_streams.iter()).map(|(name, times)| (name.as_str(), *times)));
    let open = record.plan.schedule.is_open();
    let meaning = if open {
        "Response time counts from when a request was due, service time from when it was sent;\n\
         lateness is how much later than due it was sent."
    } else {
        "Closed loop: a request is due when its connection is free, so a slow server is asked\n\
         less often. What users would wait at a given rate, only an open loop (-R) can tell."
    };
    let more = streams.map_or("", |_| streams::MEANING);
    format!("{}{meaning}\n{more}", times::table(&rows, paint))
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
    // Beside the flows of users, which are another count.
    let what = if record.plan.has_users() {
        " requests"
    } else {
        ""
    };
    text.push_str(&format!("; completed {}{what}; ", exchanges.completed));
    text.push_str(&lost(&record.lost()));
    if let Some(drain) = &record.drain {
        text.push_str(&after_the_window(drain));
    }
    if exchanges.censored > 0 {
        text.push_str(&format!(
            "\nUnanswered requests count in response time with the time we waited for them{}: {}",
            match exchanges.never_sent == exchanges.censored {
                true => "",
                false => ", and in service time once they were sent",
            },
            exchanges.censored
        ));
    }
    text.push('\n');
    text
}

/// What the server did to those who tried to connect while it was away.
fn refused(record: &Record) -> &'static str {
    let others = [
        ErrorKind::ConnectTimeout,
        ErrorKind::TlsTimeout,
        ErrorKind::GreetingTimeout,
        ErrorKind::ProxyRefused,
        ErrorKind::ProxyFailed,
        ErrorKind::ProxyTimeout,
        ErrorKind::Unreachable,
    ];
    let others = others.into_iter().map(|kind| count(record, kind)).sum();
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
        "{}: the server was available {:.3} % of the time\n",
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
        told.push(format!("and {} more times", all - told.len()));
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
        "\nOf these, in the {} after the window: completed {} ({} of them sent only then), failed \
         {}, unfinished {}; Requests/sec leaves them out",
        wrk_time_us(drain.seconds * 1e6),
        drain.completed,
        drain.completed_sent_late,
        drain.failed,
        drain.unfinished,
    )
}

/// What was followed; nothing where nothing was.
fn redirects(record: &Record) -> String {
    match record.redirects {
        0 => String::new(),
        followed => format!("Redirects followed: {followed}\n"),
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
    text.push_str(&closes::line(&record.close_codes));
    let messages = &record.messages;
    if messages.sent + messages.received > 0 {
        text.push_str(&format!(
            "Messages: {} sent, {} received\n",
            messages.sent, messages.received
        ));
    }
    text
}

/// The connections to each of several origins, a line for each.
fn origins(origins: &[Origin]) -> String {
    let rows = origins.iter().map(|of| {
        let failed = match of.failed_attempts {
            0 => String::new(),
            1 => ", 1 attempt failed".to_owned(),
            count => format!(", {count} attempts failed"),
        };
        let Origin {
            origin,
            opened,
            asked,
            ..
        } = of;
        format!(
            "  {}: {opened} opened for {asked}{failed}\n",
            screened(origin)
        )
    });
    rows.collect()
}

fn connections(record: &Record) -> String {
    let connections = &record.connections;
    let mut text = String::new();
    if let Some(http2) = record.plan.protocol.http2() {
        text.push_str(&format!(
            "HTTP/2: {} connections × {} streams; flow-control windows: {} per stream, {} per \
             connection\n",
            record.plan.connections as usize * connections.origins.len().max(1),
            http2.streams,
            wrk_bytes(http2.stream_window_bytes.into()),
            wrk_bytes(http2.connection_window_bytes.into()),
        ));
    }
    let way = way(record.plan.interface.as_deref(), record.plan.proxy.as_ref());
    text.push_str(&format!("Connections: {} opened{way}", connections.opened));
    for (count, whose) in [
        (connections.reopened, "the server closed"),
        (connections.reconnects, "broke"),
    ] {
        if count > 0 {
            text.push_str(&format!(", {count} of them to replace one that {whose}"));
        }
    }
    text.push('\n');
    text.push_str(&origins(&connections.origins));
    let is_tunnelled = record.plan.proxy.is_some() && !record.plan.contact().is_forwarded();
    let tcp = match is_tunnelled {
        true => "TCP and CONNECT",
        false => "TCP",
    };
    let parts = [
        ("whole", &connections.set_up_time_us),
        (tcp, &connections.tcp_time_us),
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

/// Over what connections went, where that wasn't the kernel's choice, and through whom.
pub(super) fn way(interface: Option<&str>, proxy: Option<&Proxy>) -> String {
    let device = interface.map(|name| format!(" over {}", Foreign::new(name)));
    let proxy = proxy.map(|proxy| format!(" through the proxy {}", proxy.place()));
    [device, proxy].into_iter().flatten().collect()
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
        if let Some(times) = in_short(times) {
            text.push_str(&format!(", {times}"));
        }
    }
    text.push('\n');
    text
}

/// A part of the set-up of connections; nothing where it did not take place.
fn part((name, times): (&str, &Times)) -> Option<String> {
    Some(format!("{name} {}", in_short(times)?))
}

/// The middle of a distribution, or its mean where it has too few samples, and its end.
fn in_short(times: &Times) -> Option<String> {
    let max = wrk_time_us(times.max?);
    let middle = match times::percentile(times, 0.5, times.p50) {
        Some(median) => format!("p50 {}", wrk_time_us(median)),
        None => format!("mean {}", wrk_time_us(times.mean?)),
    };
    Some(match times.count {
        Some(1) => max,
        _ => format!("{middle}, max {max}"),
    })
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
        ("refused and resent", waits.refused_us),
    ];
    let percent = |us: f64| us / waits.total_us * share * 100.0;
    let told: Vec<String> = parts
        .into_iter()
        .filter(|(_, us)| percent(*us) >= 0.05)
        .map(|(name, us)| format!("{name} {:.1} %", percent(us)))
        .collect();
    format!(
        "Waiting in the generator: {:.1} % of response time ({})\n",
        share * 100.0,
        told.join(", ")
    )
}

/// What this process itself cost, and whether it was the limit. `exchange`: the word for what it
/// exchanged.
pub(super) fn generator_line(generator: &Generator, exchange: &str, paint: Paint) -> String {
    let mut facts = Vec::new();
    match generator.cpu_us_per_exchange {
        Some(cost) => facts.push(format!("{cost:.2}us of CPU per {exchange}")),
        // It spun, and others had its CPU meanwhile.
        None if generator.spun_seconds > 0.0 => {
            facts.push(format!("an unknown amount of CPU per {exchange}"));
        }
        None => {}
    }
    if let Some(share) = generator.cpu_share_max.filter(|share| *share > 0.0) {
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
    let verdict = match generator.limited_reason.is_empty() {
        true => String::new(), // Nothing was measured.
        false => format!("{verdict} {}\n", generator.limited_reason),
    };
    let facts = match facts.is_empty() {
        true => String::new(), // It was on several machines.
        false => format!("; {}", facts.join(", ")),
    };
    format!(
        "Generator: {} ({}){facts}\n{verdict}",
        generator.engine, generator.engine_reason,
    ) + &generator.script.as_ref().map_or(String::new(), script_line)
}

/// What a script had to do with the load.
fn script_line(script: &Script) -> String {
    let uses = match script.uses.as_slice() {
        [] => "sets the request before the run".to_owned(),
        uses => format!("uses {}", uses.join(", ")),
    };
    let when = match script.ahead {
        true => ", called ahead",
        false => "",
    };
    let share = script.cpu_share.filter(|_| !script.uses.is_empty());
    let share = share.map(|share| format!("; {:.0} % of the generator's CPU time", share * 100.0));
    format!("Script: {uses}{when}{}\n", share.unwrap_or_default())
}

#[cfg(test)]
pub(super) mod tests {
    use load::Plan;
    use measure::record::{Facts, Unmet};
    use measure::tally::{Loop, Tally};
    use measure::time::Time;

    use super::*;

    /// Two seconds with four answers of 1 ms, a 404 of 3 ms, and one error of each kind.
    pub(crate) fn record(kind: Loop) -> Record {
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
    fn each_kind_of_error_has_its_line() {
        let text = text(&record(Loop::Closed), false, Paint::PLAIN);
        for kind in ErrorKind::all() {
            let which = match kind {
                ErrorKind::UnexpectedStatus => " (404: 1)",
                _ => "",
            };
            let line = format!("\n  1 {}{which}: {}\n", kind.name(), kind.text());
            assert!(text.contains(&line), "{text}");
        }
    }

    #[test]
    fn below_unexpected_statuses_stands_how_one_body_of_each_began() {
        let mut record = record(Loop::Closed);
        // One that came after the window isn't counted.
        let said = [("404", "no route"), ("503", "later")];
        let said = said.map(|(code, line)| (code.to_owned(), line.to_owned()));
        record.unexpected_bodies = said.into();
        let told = text(&record, false, Paint::PLAIN);
        let line = format!(
            "{}\n    404: no route\n",
            ErrorKind::UnexpectedStatus.text()
        );
        assert!(told.contains(&line) && !told.contains("later"), "{told}");
        let log = "; look at the server's log\n";
        assert!(!told.contains(log), "{told}");
        record.status.insert("500".to_owned(), 3);
        let told = text(&record, false, Paint::PLAIN);
        assert!(told.contains(log), "{told}");
    }

    #[test]
    fn below_unexpected_answers_stands_what_was_expected_and_what_came() {
        let mut record = record(Loop::Closed);
        let unmet = |expected: &str, step: Option<&str>, came: Option<&str>| Unmet {
            expected: expected.to_owned(),
            step: step.map(str::to_owned),
            failed: 3,
            came: came.map(str::to_owned),
        };
        record.unexpected_answers = vec![
            unmet("json:$.ok=true", None, Some("false")),
            unmet("status=201", Some("create"), None),
        ];
        let told = text(&record, false, Paint::PLAIN);
        let lines = "\n    expected json:$.ok=true (3), e.g. got false\n    create: expected \
                     status=201 (3)\n";
        assert!(told.contains(lines), "{told}");
    }

    #[test]
    fn below_redirects_that_were_not_followed_stands_where_one_led() {
        let mut record = record(Loop::Closed);
        let kind = ErrorKind::RedirectElsewhere;
        let led = [(kind.name().to_owned(), "https://x/?a=…".to_owned())];
        record.unfollowed_redirects = led.into();
        let told = text(&record, false, Paint::PLAIN);
        let line = format!("{}\n    e.g. Location: https://x/?a=…\n", kind.text());
        assert!(told.contains(&line), "{told}");
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
    fn what_the_drain_brought_is_told_apart() {
        let mut record = record(Loop::Open);
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
        let line = "\nOf these, in the 500.00ms after the window: completed 3 (2 of them sent only \
                    then), failed 1, unfinished 7; Requests/sec leaves them out\n";
        assert!(text.contains(line), "{text}");
        let csv = crate::csv::csv(&record);
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
        assert!(told(&record).contains("; completed 4; errors 89.474 % (34 failed)\n"));
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
                     and 1 more times: the server was available 50.000 % of the time\n";
        assert!(text.contains(first), "{text}");
        record.errors.insert("refused".to_owned(), 9);
        let gaps = &mut record.availability.as_mut().unwrap().gaps;
        gaps.truncate(2);
        gaps[1].unreachable = true;
        let refused = "\n\nThe server refused connections from 0.3 s to 1.0 s. No answers from 0.1 \
                       s to 0.2 s: the server was available 50.000 % of the time\n";
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
        let line = "\nWaiting in the generator: 50.0 % of response time (connections busy 37.5 %, \
                    closing 12.5 %)\n";
        assert!(text.contains(line), "{text}");
    }

    #[test]
    fn calls_and_the_parts_of_the_set_up_are_told_where_there_were_any() {
        let mut record = record(Loop::Closed);
        let plain = text(&record, false, Paint::PLAIN);
        for absent in [
            "gRPC",
            "Messages",
            "Closed by",
            "HTTP/2:",
            "  ping",
            "Set-up",
        ] {
            assert!(!plain.contains(&format!("\n{absent}")), "{plain}");
        }
        record.grpc_status = [("OK", 4), ("UNAVAILABLE", 2)]
            .map(|(name, count)| (name.to_string(), count))
            .into();
        record.close_codes = [("1001".to_owned(), 3)].into();
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
            "Closed by the server: 3 with 1001 (going away)",
            "Messages: 6 sent, 4 received",
            "HTTP/2: 10 connections × 100 streams; flow-control windows: 4.00MB per stream, \
             16.00MB per connection",
            "Set-up: whole p50 120.00us, max 2.00ms; TCP p50 120.00us, max 2.00ms",
        ] {
            assert!(text.contains(&format!("\n{line}\n")), "{line}: {text}");
        }
        assert!(text.contains("\n  ping "), "{text}");
    }

    #[test]
    fn a_control_is_suggested_where_there_is_none() {
        let mut record = record(Loop::Open);
        assert!(!text(&record, false, Paint::PLAIN).contains("--control"));
        record.void.push(measure::record::Moved {
            figure: "p99".to_owned(),
            by_us: 9.0,
            allowed_us: 1.0,
        });
        let told = text(&record, false, Paint::PLAIN);
        assert!(told.ends_with(CONTROL), "{told}");
        record.control = Some(record.as_control());
        let told = text(&record, false, Paint::PLAIN);
        assert!(!told.contains("--control"), "{told}");
    }

    #[test]
    fn unanswered_requests_count_where_it_is_said() {
        let mut record = record(Loop::Open);
        (record.exchanges.censored, record.exchanges.never_sent) = (7, 7);
        record.exchanges.unfinished = 7;
        let line = "\nUnanswered requests count in response time with the time we waited for them";
        let told = text(&record, false, Paint::PLAIN);
        assert!(told.contains(&format!("{line}: 7\n")), "{told}");
        record.exchanges.never_sent = 3;
        let told = text(&record, false, Paint::PLAIN);
        let sent = ", and in service time once they were sent: 7\n";
        assert!(told.contains(&format!("{line}{sent}")), "{told}");
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

//! Events inside answers: what is told of them against what the server did, in virtual time.

use measure::counters::ErrorKind;
use measure::record::Met;
use plan::schedule::Schedule;

use super::*;
use crate::check::{self, Threshold};

/// What a server does with a request: these deeds, each so long after the request.
enum Deed {
    /// An event, in a chunk of its own.
    Event(u64),
    /// A piece of the body, whatever is in it.
    Piece(u64, Vec<u8>),
    /// The answer is over.
    End(u64),
    /// The connection ends.
    Close(u64),
}

/// A server of streams: the n-th request is answered as the law says.
struct Streamer<L> {
    unread: BTreeMap<Connection, Vec<u8>>,
    served: u64,
    /// The type of what it answers.
    kind: &'static str,
    /// Every other answer says that it has no room.
    sheds: bool,
    law: L,
}

impl<L: FnMut(u64) -> Vec<Deed>> Streamer<L> {
    fn new(law: L) -> Streamer<L> {
        Streamer {
            unread: BTreeMap::new(),
            served: 0,
            kind: "text/event-stream",
            sheds: false,
            law,
        }
    }
}

fn chunk(text: &str) -> Vec<u8> {
    format!("{:x}\r\n{text}\r\n", text.len()).into_bytes()
}

impl<L: FnMut(u64) -> Vec<Deed>> Peer for Streamer<L> {
    fn received(&mut self, id: Connection, bytes: &[u8], _: Time, replies: &mut Replies) {
        let unread = self.unread.entry(id).or_default();
        unread.extend_from_slice(bytes);
        while let Some(end) = unread.windows(4).position(|four| four == b"\r\n\r\n") {
            unread.drain(..end + 4);
            let kind = self.kind;
            let status = match self.sheds && self.served % 2 == 1 {
                true => "503 Service Unavailable",
                false => "200 OK",
            };
            let head = format!(
                "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nTransfer-Encoding: chunked\r\n\r\n"
            );
            replies.send(MS, head);
            for deed in (self.law)(self.served) {
                match deed {
                    Deed::Event(after_ns) => replies.send(after_ns, chunk("data: a b\n\n")),
                    Deed::Piece(after_ns, bytes) => {
                        let head = format!("{:x}\r\n", bytes.len()).into_bytes();
                        replies.send(after_ns, [&head[..], &bytes, b"\r\n"].concat());
                    }
                    Deed::End(after_ns) => {
                        replies.send(after_ns, [chunk("data: [DONE]\n\n"), chunk("")].concat());
                    }
                    Deed::Close(after_ns) => replies.close(after_ns),
                }
            }
            self.served += 1;
        }
    }
}

/// So many events, the first after `first_ns` and one each 10 ms, and the end with the last.
fn events(first_ns: u64, count: u64) -> Vec<Deed> {
    let at = |n: u64| first_ns + n * 10 * MS;
    let mut deeds: Vec<Deed> = (0..count).map(|n| Deed::Event(at(n))).collect();
    deeds.push(Deed::End(at(count - 1)));
    deeds
}

fn planned(schedule: Schedule, connections: u32, seconds: f64) -> Plan {
    let mut plan = plan(schedule, connections, seconds);
    plan.events = true;
    plan
}

fn streamed(plan: &Plan, law: impl FnMut(u64) -> Vec<Deed> + 'static) -> Record {
    let outcome = run(plan, 3, Faults::none(), Streamer::new(law));
    recorded(plan, outcome)
}

#[test]
fn a_law_of_first_events_comes_back_as_that_law_and_no_event_is_lost() {
    let mut plan = planned(Schedule::Poisson { rate: 200.0 }, 200, 10.0);
    (plan.duration_s, plan.count) = (None, Some(2_000));
    let law = |n: u64| events((n % 100 + 1) * MS, 10);
    let outcome = run(&plan, 3, Faults::none(), Streamer::new(law));
    let streams = &outcome.recorder.tally.streams;
    assert_eq!(outcome.recorder.tally.completed, 2_000);
    // The window of a counted run ends with its last answer, and so do these events.
    let counts = (streams.streams, streams.done, streams.events);
    assert_eq!(counts, (2_000, 2_000, 20_000));
    for percent in [10, 25, 50, 75, 90, 99] {
        let measured = streams.first_event.quantile(f64::from(percent) / 100.0) as f64 / 1e6;
        let truth = f64::from(percent) + 0.02;
        assert!((measured - truth).abs() < 1.1, "p{percent}: {measured} ms");
    }
    assert_eq!(streams.event_gap.count(), 18_000);
    for quantile in [0.01, 0.5, 0.99] {
        let gap = streams.event_gap.quantile(quantile);
        assert!(gap.abs_diff(10 * MS) < MS / 10, "{quantile}: {gap} ns");
    }
    assert!(
        streams.first_byte.max() < 2 * MS,
        "{}",
        streams.first_byte.max()
    );
    assert!(streams.time_per_event.mean() - 1e7 < 1e5);
    let record = recorded(&plan, outcome);
    let rules = [
        "first_event_p99<102ms",
        "event_gap_max<10ms",
        "event_rate>1",
    ];
    let rules = rules.map(|rule| rule.parse::<Threshold>().unwrap());
    let met: Vec<Met> = check::judge(&rules, &record)
        .into_iter()
        .map(|one| one.outcome)
        .collect();
    assert_eq!(met, [Met::Holds, Met::Crossed, Met::Holds]);
}

#[test]
fn streams_without_end_are_cut_off_by_the_end_of_the_run_which_is_no_failure() {
    let mut plan = planned(Schedule::Closed, 5, 2.0);
    plan.timeout_s = 0.5;
    let endless = |_| (0..1_000).map(|n| Deed::Event((2 + n * 10) * MS)).collect();
    let record = streamed(&plan, endless);
    let streams = record.streams.as_ref().unwrap();
    assert_eq!(
        (record.exchanges.completed, record.exchanges.unfinished),
        (0, 5)
    );
    assert_eq!((streams.cut_off, streams.streams), (5, 5));
    assert_eq!(
        (record.lost().count(), record.lost().share()),
        (0, Some(0.0))
    );
    assert!(record.valid, "{:?}", record.warnings);
    // One each 10 ms from the first millisecond of two seconds on.
    assert!(
        (990..=1_000).contains(&streams.events),
        "{}",
        streams.events
    );
    assert_eq!((streams.censored, streams.censored_gaps), (0, 0));
    assert_eq!(streams.event_gap_us.count, Some(streams.events - 5));
    let rule: Threshold = "event_gap_p99<11ms".parse().unwrap();
    assert_eq!(check::judge(&[rule], &record)[0].outcome, Met::Holds);
}

#[test]
fn a_stream_that_began_in_the_warm_up_brings_events_to_the_window() {
    let mut plan = planned(Schedule::Closed, 2, 1.0);
    (plan.warm_up_s, plan.timeout_s) = (1.0, 0.2);
    let endless = |_| (0..1_000).map(|n| Deed::Event((2 + n * 10) * MS)).collect();
    let record = streamed(&plan, endless);
    let streams = record.streams.as_ref().unwrap();
    assert!(record.valid, "{:?}", record.warnings);
    assert!((198..=202).contains(&streams.events), "{}", streams.events);
    assert_eq!((streams.streams, streams.first_event_us.count), (0, None));
}

#[test]
fn a_server_that_closes_between_events_has_an_error_of_its_own_kind() {
    let mut plan = planned(Schedule::Closed, 2, 1.0);
    (plan.duration_s, plan.count) = (None, Some(6));
    let law = |n: u64| match n % 2 {
        0 => vec![
            Deed::Event(2 * MS),
            Deed::Event(12 * MS),
            Deed::Close(15 * MS),
        ],
        // Before the first one, which would have come no sooner.
        _ => vec![Deed::Close(15 * MS)],
    };
    let outcome = run(&plan, 3, Faults::none(), Streamer::new(law));
    let tally = &outcome.recorder.tally;
    assert_eq!(tally.errors.count(ErrorKind::StreamCut), 6);
    assert_eq!((tally.failed, tally.streams.events), (6, 6));
    let streams = &tally.streams;
    assert_eq!((streams.censored, streams.censored_gaps), (3, 0));
    assert_eq!(streams.first_event.count(), 6);
    let longest = streams.first_event.max();
    assert!((15 * MS..17 * MS).contains(&longest), "{longest} ns");
    // What may have come later than the limit isn't said to be in time.
    let record = recorded(&plan, outcome);
    let rule: Threshold = "first_event_max<20ms".parse().unwrap();
    assert_ne!(check::judge(&[rule], &record)[0].outcome, Met::Holds);
}

#[test]
fn a_silence_that_ends_behind_the_window_or_with_the_servers_close_is_a_gap() {
    let plan = planned(Schedule::Closed, 1, 1.0);
    let mut plan = Plan {
        timeout_s: 5.0,
        ..plan
    };
    let until_silent = |law: Deed| -> Vec<Deed> {
        let mut deeds: Vec<Deed> = (1..=90).map(|n| Deed::Event(n * 10 * MS)).collect();
        deeds.push(law);
        deeds
    };
    let longest = |plan: &Plan, law: fn() -> Deed| {
        let law = move |_| until_silent(law());
        let outcome = run(plan, 3, Faults::none(), Streamer::new(law));
        let streams = &outcome.recorder.tally.streams;
        (streams.event_gap.max() / MS, streams.censored_gaps)
    };
    assert_eq!(longest(&plan, || Deed::Event(3_900 * MS)), (3_000, 0));
    plan.duration_s = Some(3.0);
    let (gap_ms, censored) = longest(&plan, || Deed::Close(1_900 * MS));
    assert_eq!(gap_ms, 1_000);
    assert!(censored > 0, "it may have taken longer");
}

#[test]
fn an_answer_that_says_an_error_is_no_stream() {
    let plan = planned(Schedule::Constant { rate: 100.0 }, 50, 1.0);
    let mut streamer = Streamer::new(|n: u64| match n % 2 {
        0 => events(300 * MS, 2),
        _ => events(MS, 2),
    });
    streamer.sheds = true;
    let outcome = run(&plan, 3, Faults::none(), streamer);
    let streams = &outcome.recorder.tally.streams;
    assert_eq!(streams.streams, 50);
    assert!(streams.first_event.quantile(0.0) >= 300 * MS);
}

#[test]
fn a_time_limit_is_one_on_the_next_event_and_not_on_the_whole_stream() {
    let mut plan = planned(Schedule::Closed, 1, 1.0);
    (plan.duration_s, plan.count, plan.timeout_s) = (None, Some(2), 0.1);
    let law = |n: u64| match n {
        0 => events(5 * MS, 100),
        _ => events(5 * MS, 3).into_iter().take(3).collect(),
    };
    let outcome = run(&plan, 3, Faults::none(), Streamer::new(law));
    let tally = &outcome.recorder.tally;
    assert_eq!((tally.completed, tally.failed), (1, 1));
    assert_eq!(tally.errors.count(ErrorKind::Timeout), 1);
    let streams = &tally.streams;
    assert_eq!((streams.events, streams.censored_gaps), (103, 1));
    let longest = streams.event_gap.max();
    assert!((100 * MS..102 * MS).contains(&longest), "{longest} ns");
    // Two streams had more than one event, and both say how long an event took.
    assert_eq!(streams.time_per_event.count(), 2);
}

#[test]
fn a_first_event_that_never_comes_counts_with_the_wait_for_it() {
    let mut plan = planned(Schedule::Constant { rate: 100.0 }, 50, 1.0);
    plan.timeout_s = 0.2;
    let law = |n: u64| match n % 10 {
        0 => Vec::new(),
        _ => events(5 * MS, 2),
    };
    let record = streamed(&plan, law);
    let streams = record.streams.as_ref().unwrap();
    assert_eq!(record.exchanges.failed, 10, "{:?}", record.errors);
    assert_eq!(
        (streams.censored, streams.first_event_us.count),
        (10, Some(100))
    );
    assert!(streams.first_event_us.max.unwrap() >= 200_000.0);
    let rule: Threshold = "first_event_p95<100ms".parse().unwrap();
    assert_eq!(check::judge(&[rule], &record)[0].outcome, Met::Crossed);
}

#[test]
fn who_does_not_look_into_answers_has_the_same_figures_without_streams() {
    let law = |n: u64| events((n % 7 + 1) * MS, 5);
    let [with, without] = [true, false].map(|looks| {
        let mut plan = plan(Schedule::Poisson { rate: 100.0 }, 30, 3.0);
        plan.events = looks;
        run(&plan, 5, Faults::none(), Streamer::new(law))
    });
    let (with, without) = (with.recorder.tally, without.recorder.tally);
    let mut seen = counts_and_histograms(&with);
    // They say how many events came, and nothing else that's different.
    assert!(seen.3.iter_mut().all(|row| row.events.take().is_some()));
    assert_eq!(seen, counts_and_histograms(&without));
    assert!(with.streams.events > 1_000);
    assert_eq!(
        (without.streams.events, without.streams.first_byte.count()),
        (0, 0)
    );
}

#[test]
fn an_event_comes_with_its_last_byte_wherever_it_was_cut_and_however_long_it_is() {
    let law = |_| {
        let (begin, rest) = "data: \u{1f3b5}".as_bytes().split_at(8);
        let long = || vec![b'x'; 16 << 10];
        vec![
            // A comment, and half of an event, up to the middle of a character.
            Deed::Piece(2 * MS, [b": ping\r\n\r\n", begin].concat()),
            Deed::Piece(10 * MS, rest.to_vec()),
            Deed::Piece(20 * MS, b"\r".to_vec()),
            // The line feed that belongs to it, another comment, and the empty line.
            Deed::Piece(30 * MS, b"\n: still here\n\r\n".to_vec()),
            Deed::Piece(40 * MS, b"data: ".to_vec()),
            Deed::Piece(50 * MS, long()),
            Deed::Piece(60 * MS, long()),
            Deed::Piece(70 * MS, b"\r\rdata: not whole\n".to_vec()),
            Deed::End(80 * MS),
        ]
    };
    let mut plan = planned(Schedule::Closed, 1, 1.0);
    (plan.duration_s, plan.count, plan.timeout_s) = (None, Some(3), 0.1);
    let outcome = run(&plan, 3, Faults::none(), Streamer::new(law));
    let tally = &outcome.recorder.tally;
    assert_eq!((tally.completed, tally.failed), (3, 0));
    let streams = &tally.streams;
    // The end of the stream adds a line of data to the event that isn't whole, and so makes it one.
    assert_eq!((streams.events, streams.done, streams.torn), (9, 0, 0));
    let (first, gap) = (streams.first_event.min(), streams.event_gap.min());
    assert!((30 * MS..32 * MS).contains(&first), "{first} ns");
    assert!(gap.abs_diff(10 * MS) < MS, "{gap} ns");
    assert!(streams.event_gap.max().abs_diff(40 * MS) < MS);
}

#[test]
fn chunks_of_what_is_made_while_it_is_sent_are_events_and_those_of_a_document_are_not() {
    let law = |_| {
        let mut deeds: Vec<Deed> = [5, 15, 45]
            .map(|ms| Deed::Piece(ms * MS, b"some words ".to_vec()))
            .into();
        // That comes as a chunk, too.
        deeds.push(Deed::End(45 * MS));
        deeds
    };
    let told = |kind| {
        let mut plan = planned(Schedule::Closed, 2, 1.0);
        (plan.duration_s, plan.count) = (None, Some(4));
        let mut server = Streamer::new(law);
        server.kind = kind;
        run(&plan, 3, Faults::none(), server).recorder.tally
    };
    let tally = told("text/plain; charset=utf-8");
    let streams = &tally.streams;
    assert_eq!(
        (tally.completed, streams.streams, streams.events),
        (4, 4, 16)
    );
    assert!((5 * MS..7 * MS).contains(&streams.first_event.max()));
    assert!(streams.event_gap.max().abs_diff(30 * MS) < MS);
    let tally = told("application/json");
    assert_eq!((tally.completed, tally.streams.streams), (4, 0));
}

#[test]
fn the_wait_for_first_events_is_no_time_without_answers() {
    let plan = planned(Schedule::Closed, 5, 4.0);
    // All begin at once, and so do those behind them.
    let record = streamed(&plan, |_| events(150 * MS, 20));
    let availability = record.availability.as_ref().expect("enough events");
    assert_eq!((availability.share, availability.gaps.len()), (1.0, 0));
    // A server that stops is told all the same.
    let stops = |n: u64| match n {
        0..15 => events(50 * MS, 20),
        _ => events(1_500 * MS, 200),
    };
    let record = streamed(&plan, stops);
    let availability = record.availability.as_ref().expect("enough events");
    assert!(availability.share < 1.0, "{availability:?}");
}

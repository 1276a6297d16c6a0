//! The messages of a WebSocket that follow each other, on the simulator.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use engine::sim::{Connection, Faults, Peer, Replies};
use measure::time::Time;
use proto::websocket::{self, Event, Limits, Opcode, Reader, Role, Scratch, encode, encode_close};

use super::rogue::upgrade;
use super::{MS, plan, recorded, run};
use crate::Record;
use plan::schedule::Schedule;
use plan::{Flow, Plan, Request, Step, Target, Turn, Workload};

/// When each message came, by connection.
type Seen = Arc<Mutex<BTreeMap<Connection, Vec<(u64, String)>>>>;

/// Answers a message after 1 ms as it says: `twice`, `never`, `close`, `reset`; any other once, by
/// itself.
#[derive(Default)]
struct Talker {
    readers: BTreeMap<Connection, (Vec<u8>, Option<Reader>)>,
    seen: Seen,
    greets: bool,
}

impl Peer for Talker {
    fn received(&mut self, id: Connection, bytes: &[u8], now: Time, replies: &mut Replies) {
        let (unread, reader) = self.readers.entry(id).or_default();
        unread.extend_from_slice(bytes);
        if reader.is_none() {
            let Some(end) = unread.windows(4).position(|four| four == b"\r\n\r\n") else {
                return;
            };
            let head: Vec<u8> = unread.drain(..end + 4).collect();
            let mut out = Vec::new();
            upgrade(&head, &mut out);
            if self.greets {
                encode(&mut out, Opcode::Text, true, None, b"welcome");
            }
            replies.send(0, out);
            *reader = Some(Reader::new(Role::Server, Limits::default()));
        }
        let Some(reader) = reader else { return };
        let mut input = &unread[..];
        let mut scratch = Scratch::default();
        let mut text = Vec::new();
        while let Some(event) = reader.next(&mut input, &mut scratch).unwrap() {
            match event {
                Event::Begin(_) => text.clear(),
                Event::Bytes(bytes) => text.extend_from_slice(bytes),
                Event::End => {
                    let text = String::from_utf8(std::mem::take(&mut text)).unwrap();
                    let mut out = Vec::new();
                    encode(&mut out, Opcode::Text, true, None, text.as_bytes());
                    match &*text {
                        "never" => {}
                        "reset" => replies.reset(MS),
                        "close" => {
                            out.clear();
                            encode_close(&mut out, None, websocket::code::NORMAL, "");
                            replies.send(MS, out);
                            replies.close(MS);
                        }
                        "twice" => {
                            replies.send(MS, out.clone());
                            replies.send(2 * MS, out);
                        }
                        _ => replies.send(MS, out),
                    }
                    let mut seen = self.seen.lock().unwrap();
                    seen.entry(id).or_default().push((now.0, text));
                }
                Event::Ping(_) | Event::Pong(_) | Event::Close(_) => {}
            }
        }
        let left = input.len();
        unread.drain(..unread.len() - left);
    }
}

/// A plan with these messages: each with how long the connection rests before, in ms, and how many
/// messages answer it. The name of a step is its text.
fn talk(messages: &[(u64, &str, u32)], connections: u32, seconds: f64) -> Plan {
    let mut plan = plan(Schedule::Closed, connections, seconds);
    let target = Target::parse("ws://127.0.0.1:80/ws").unwrap();
    plan.protocol = Plan::new("ws://x/").unwrap().protocol;
    plan.target = target.clone();
    let steps = messages.iter().map(|(_, text, _)| Step {
        name: (*text).to_owned(),
        weight: 1,
        target: target.clone(),
        request: Request {
            method: "GET".to_owned(),
            headers: Vec::new(),
            body: text.as_bytes().to_vec(),
        },
        body_is_template: true,
        expect: Vec::new(),
        at: None,
    });
    let mut workload = Workload::new(steps.collect());
    let turns = messages.iter().map(|(ms, _, answers)| Turn {
        rest_s: *ms as f64 / 1e3,
        answers: *answers,
    });
    workload.flow = Some(Flow {
        turns: turns.collect(),
        rest_s: 0.0,
    });
    plan.workload = Some(workload);
    plan
}

/// The record of a run, and what the server has seen.
fn ran(plan: &Plan, faults: Faults, talker: Talker) -> (Record, Vec<Vec<(u64, String)>>) {
    let seen = Arc::clone(&talker.seen);
    let record = recorded(plan, run(plan, 1, faults, talker));
    let seen = seen.lock().unwrap();
    (record, seen.values().cloned().collect())
}

/// The figures of each step: completed, failed and unfinished.
fn counts(record: &Record) -> Vec<(&str, u64, u64, u64)> {
    let steps = record.steps.iter();
    let counts = steps.map(|step| (&*step.name, step.completed, step.failed, step.unfinished));
    counts.collect()
}

#[test]
fn each_connection_sends_all_messages_in_their_order() {
    let messages = [(0, "join", 1), (0, "typing", 0), (10, "say {{seq}}", 1)];
    let plan = talk(&messages, 3, 1.0);
    let (record, seen) = ran(&plan, Faults::none(), Talker::default());
    assert_eq!((seen.len(), record.errors.len()), (3, 0));
    for of_one in &seen {
        assert!(of_one.len() > 200, "{}", of_one.len());
        for (at, three) in of_one.chunks_exact(3).enumerate() {
            let texts = [0, 1, 2].map(|index: usize| three[index].1.as_str());
            assert_eq!(texts[..2], ["join", "typing"], "pass {at}");
            assert!(texts[2].starts_with("say "), "pass {at}: {texts:?}");
            // An answer after 1 ms, and what needs none leaves with it; then 10 ms of rest.
            assert!(three[1].0 - three[0].0 >= MS, "pass {at}");
            assert!(three[1].0 - three[0].0 < 2 * MS, "pass {at}");
            let rest_ns = three[2].0 - three[1].0;
            assert!(
                (10 * MS..11 * MS).contains(&rest_ns),
                "pass {at}: {rest_ns}"
            );
        }
    }
    let sent: usize = seen.iter().map(Vec::len).sum();
    // What is sent at the very end may not be there yet.
    let told = record.messages.sent as usize;
    assert!((sent..sent + 7).contains(&told), "{sent} {told}");
    let counted = counts(&record);
    assert_eq!([counted[0].0, counted[1].0], ["join", "say {{seq}}"]);
    let completed: u64 = counted.iter().map(|(_, completed, ..)| completed).sum();
    assert_eq!(completed, record.exchanges.completed);
    // The answers to what waits for none are among those that came.
    assert!(
        record.messages.received > completed + counted[0].1 - 7,
        "{:?}",
        record.messages
    );
    let response = &record.steps[1].response_time_us;
    assert!(
        response.max.unwrap() < 1_500.0,
        "a rest is no part of it: {response:?}"
    );
}

#[test]
fn the_same_seed_sends_the_same_messages_and_another_does_not() {
    let seen = |seed: u64| {
        let mut plan = talk(
            &[(1, "{{random 1 1000000}}", 1), (0, "{{newUuid}}", 1)],
            5,
            0.3,
        );
        plan.seed = seed;
        ran(&plan, Faults::none(), Talker::default()).1
    };
    let first = seen(1);
    assert_eq!(first, seen(1));
    assert_ne!(first, seen(2));
}

#[test]
fn what_is_cut_in_the_middle_starts_over() {
    for (text, kind) in [
        ("close", "early_close"),
        ("reset", "reset"),
        ("never", "timeout"),
    ] {
        let mut plan = talk(
            &[
                (0, "first", 1),
                (0, "second", 1),
                (1, text, 1),
                (0, "after", 1),
            ],
            4,
            1.0,
        );
        plan.timeout_s = 0.02;
        let (record, seen) = ran(&plan, Faults::none(), Talker::default());
        assert!(seen.len() > 40, "{text}: {} connections", seen.len());
        for of_one in &seen {
            let texts: Vec<&str> = of_one.iter().map(|(_, text)| &**text).collect();
            assert!(["first", "second", text].starts_with(&texts), "{texts:?}");
        }
        let counted = counts(&record);
        assert_eq!(counted[2].1, 0, "{text}: {counted:?}");
        assert!(counted[2].2 > 40, "{text}: {counted:?}");
        assert_eq!(counted[3], ("after", 0, 0, 0), "{text}");
        assert_eq!(
            record.errors.get(kind),
            Some(&counted[2].2),
            "{:?}",
            record.errors
        );
        assert_eq!(record.errors.len(), 1, "{:?}", record.errors);
    }
}

#[test]
fn answers_beyond_those_that_are_awaited_are_counted_and_end_nothing() {
    let is_told = |record: &Record| {
        let mut warnings = record.warnings.iter();
        warnings.any(|warning| warning.contains("more than were waited for"))
    };
    // The second answer to `twice` comes while the connection rests, then while `b` is awaited.
    let plan = talk(&[(0, "twice", 1), (5, "b", 1)], 2, 1.0);
    let (record, _) = ran(&plan, Faults::none(), Talker::default());
    assert!(is_told(&record), "{:?}", record.warnings);
    let [(_, twice, ..), (_, b, ..)] = counts(&record)[..] else {
        panic!("{record:?}");
    };
    assert!(
        record.messages.received.abs_diff(2 * twice + b) <= 4,
        "{:?}",
        record.messages
    );
    let response = &record.steps[1].response_time_us;
    assert!(response.min.unwrap() > 900.0, "{response:?}");
    // Two are awaited: the exchange ends with the second.
    let plan = talk(&[(0, "twice", 2), (0, "b", 1)], 2, 1.0);
    let (record, _) = ran(&plan, Faults::none(), Talker::default());
    assert!(!is_told(&record), "{:?}", record.warnings);
    let [twice, b] = [0, 1].map(|index: usize| &record.steps[index]);
    let medians = [twice, b].map(|step| step.response_time_us.p50.unwrap());
    assert!(medians[0] > 1_900.0 && medians[1] < 1_500.0, "{medians:?}");
    assert!(
        record
            .messages
            .received
            .abs_diff(2 * twice.completed + b.completed)
            <= 2
    );
    // What a server says first is what the first message takes for its answer, if it comes behind.
    let talker = Talker {
        greets: true,
        ..Talker::default()
    };
    let (record, _) = ran(&talk(&[(5, "a", 1)], 2, 1.0), Faults::none(), talker);
    assert!(!is_told(&record), "{:?}", record.warnings);
    assert!(
        record
            .messages
            .received
            .abs_diff(record.exchanges.completed + 2)
            <= 2
    );
}

#[test]
fn a_count_ends_it_and_a_server_that_never_answers_does_not_hang_it() {
    let mut plan = talk(
        &[(0, "a", 0), (0, "b", 1), (3, "c", 1), (0, "d", 0)],
        3,
        1.0,
    );
    (plan.count, plan.duration_s) = (Some(100), None);
    let (record, seen) = ran(&plan, Faults::none(), Talker::default());
    assert_eq!(record.exchanges.completed, 100);
    let exchanges = seen.iter().flatten();
    let exchanges = exchanges.filter(|(_, text)| text == "b" || text == "c");
    assert_eq!(exchanges.count(), 100);
    let mut plan = talk(&[(0, "never", 0), (0, "never", 1)], 3, 1.0);
    (plan.count, plan.duration_s, plan.timeout_s) = (Some(10), None, 0.05);
    let (record, _) = ran(&plan, Faults::none(), Talker::default());
    assert_eq!(record.exchanges.failed, 10);
    assert_eq!(
        record.errors.get("timeout"),
        Some(&10),
        "{:?}",
        record.errors
    );
}

#[test]
fn an_answer_that_is_not_as_expected_fails_its_message() {
    let mut plan = talk(&[(0, "{\"a\":1}", 1), (0, "twice", 2), (0, "c", 1)], 2, 0.5);
    plan.expect = vec!["body~c".parse().unwrap()];
    let steps = &mut plan.workload.as_mut().unwrap().steps;
    steps[0].expect = vec!["json:$.a=1".parse().unwrap()];
    steps[2].expect = vec!["body=c".parse().unwrap()];
    let (record, _) = ran(&plan, Faults::none(), Talker::default());
    let counted = counts(&record);
    // The body of neither of the first two has a `c` but for `twice`.
    assert_eq!(
        (counted[0].1, counted[1].2, counted[2].2),
        (0, 0, 0),
        "{counted:?}"
    );
    assert!(
        counted[0].2 > 50 && counted[1].1 > 50 && counted[2].1 > 50,
        "{counted:?}"
    );
    assert_eq!(record.errors.get("unexpected_answer"), Some(&counted[0].2));
    let [unmet] = &record.unexpected_answers[..] else {
        panic!("{:?}", record.unexpected_answers);
    };
    assert_eq!((&*unmet.expected, unmet.failed), ("body~c", counted[0].2));
    assert_eq!(unmet.came.as_deref(), Some("{\"a\":1}"));
    assert!(record.status.is_empty(), "{:?}", record.status);
    assert!(record.messages.received >= record.exchanges.completed + counted[0].2);
}

//! Mixes of gRPC methods: whose figures a call is, what it may be answered, and what ends it all.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use engine::sim::{Connection, Faults, Peer, Replies};
use measure::record::Step as Figures;
use measure::time::Time;
use proto::http2::ErrorCode;
use proto::http2::server::{Config, Event, Server as Machine};

use super::conservation::UpTo;
use super::{MS, plan, recorded, run};
use crate::worker::EndedBy;
use plan::protocol::{Call, CallKind, Http2, Protocol};
use plan::schedule::Schedule;
use plan::{Plan, Request, Step, Target, Workload};

/// The calls that a server has read: the path, the metadata `x-id` and the body.
type Seen = Arc<Mutex<Vec<(String, String, Vec<u8>)>>>;

/// Answers each call after 1 ms: with three messages where the method is `Many`, with a status of
/// 5 where it is `Gone`, else with one. Of `Broken` and `Never` it resets the stream, behind a
/// message or before one.
#[derive(Default)]
struct Methods {
    machines: BTreeMap<Connection, Machine>,
    open: BTreeMap<(Connection, u32), (String, String, Vec<u8>)>,
    seen: Seen,
}

impl Methods {
    fn answer(machine: &mut Machine, stream: u32, path: &str) -> Vec<u8> {
        let (mut out, mut body) = (Vec::new(), Vec::new());
        let (count, status) = match path.rsplit('/').next() {
            Some("Many") => (3, "0"),
            Some("Gone") => (0, "5"),
            Some("Never") => (0, "0"),
            _ => (1, "0"),
        };
        for _ in 0..count {
            proto::grpc::encode(b"a", &mut body).unwrap();
        }
        let head = [("content-type", "application/grpc")];
        machine
            .respond(stream, 200, &head, false, &mut out)
            .unwrap();
        machine.data(stream, &body, false, &mut out).unwrap();
        if path.ends_with("/Broken") || path.ends_with("/Never") {
            machine.reset(stream, ErrorCode::INTERNAL_ERROR, &mut out);
            return out;
        }
        let trailers = [("grpc-status", status)];
        machine.trailers(stream, &trailers, &mut out).unwrap();
        out
    }
}

impl Peer for Methods {
    fn opened(&mut self, id: Connection, _: Time, replies: &mut Replies) {
        let mut out = Vec::new();
        let config = Config {
            streams: 100,
            ..Config::default()
        };
        self.machines.insert(id, Machine::new(config, &mut out));
        replies.send(0, out);
    }

    fn received(&mut self, id: Connection, bytes: &[u8], _: Time, replies: &mut Replies) {
        let Some(machine) = self.machines.get_mut(&id) else {
            return;
        };
        let (mut input, mut out) = (bytes, Vec::new());
        loop {
            let mut ended = None;
            match machine.next(&mut input, &mut out) {
                Ok(Some(Event::Request {
                    stream,
                    path,
                    fields,
                    end,
                    ..
                })) => {
                    assert!(!end, "a call has data");
                    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
                    let name = fields.get(b"x-id").map(text).unwrap_or_default();
                    self.open
                        .insert((id, stream), (text(path), name, Vec::new()));
                }
                Ok(Some(Event::Data { stream, bytes, end })) => {
                    let call = self.open.get_mut(&(id, stream)).unwrap();
                    call.2.extend_from_slice(bytes);
                    ended = end.then_some(stream);
                }
                Ok(Some(_)) => {}
                Ok(None) => break,
                Err(violation) => panic!("{violation}"),
            }
            if let Some(stream) = ended {
                let call = self.open.remove(&(id, stream)).unwrap();
                replies.send(MS, Methods::answer(machine, stream, &call.0));
                self.seen.lock().unwrap().push(call);
            }
        }
        replies.send(0, out);
    }
}

fn step(weight: u32, method: &str, id: &str, body: &str) -> Step {
    let headers = [("x-id".to_owned(), id.to_owned())];
    Step {
        name: method.to_owned(),
        weight,
        target: Target::parse(&format!("grpc://127.0.0.1/a.B/{method}")).unwrap(),
        request: Request {
            method: "POST".to_owned(),
            headers: headers
                .into_iter()
                .filter(|(_, id)| !id.is_empty())
                .collect(),
            body: body.into(),
        },
        body_is_template: true,
        expect: Vec::new(),
        at: Some(format!("a.http:{weight}")),
    }
}

fn mixed(schedule: Schedule, steps: Vec<Step>, most: u64) -> Plan {
    let mut plan = plan(schedule, 10, 10.0);
    plan.target = steps[0].target.clone();
    plan.protocol = Protocol::Grpc {
        http2: Http2 {
            streams: 5,
            header_table_bytes: 0,
            ..Http2::default()
        },
        call: Call::of_workload(None),
    };
    let mut workload = Workload::new(steps);
    for (method, kind) in [
        ("One", CallKind::Unary),
        ("Gone", CallKind::Unary),
        ("Many", CallKind::Bidirectional),
        ("Broken", CallKind::Bidirectional),
        ("Never", CallKind::Bidirectional),
    ] {
        let path = format!("/a.B/{method}");
        workload.methods.add(&path, Arc::new(UpTo(kind, most)));
    }
    plan.workload = Some(workload);
    plan
}

#[test]
fn each_method_has_its_own_figures_statuses_and_messages_and_they_add_up() {
    let steps = vec![
        step(6, "One", "", "a"),
        step(3, "Many", "{{newUuid}}", "b,{{seq}}"),
        step(1, "Gone", "", "{{seq}}"),
    ];
    for schedule in [Schedule::Constant { rate: 1_000.0 }, Schedule::Closed] {
        let mut plan = mixed(schedule, steps.clone(), u64::MAX);
        if !plan.schedule.is_open() {
            (plan.duration_s, plan.count) = (None, Some(10_000));
        }
        let record = recorded(&plan, run(&plan, 1, Faults::none(), Methods::default()));
        let [one, many, gone] = record.steps.as_slice() else {
            panic!("three steps, and not {:?}", record.steps);
        };
        // Six standard deviations of a binomial law of 10,000.
        for (step, expected) in [(one, 6_000.0), (many, 3_000.0), (gone, 1_000.0)] {
            let share: f64 = expected / 10_000.0;
            let off = 6.0 * (expected * (1.0 - share)).sqrt();
            let ended = (step.completed + step.failed) as f64;
            assert!((ended - expected).abs() < off, "{}: {ended}", step.name);
        }
        let statuses = |step: &Figures| {
            let statuses = step.grpc_status.iter();
            let all: Vec<_> = statuses
                .map(|(name, count)| (name.clone(), *count))
                .collect();
            all
        };
        assert_eq!(statuses(one), [("OK".to_owned(), one.completed)]);
        assert_eq!(statuses(many), [("OK".to_owned(), many.completed)]);
        assert_eq!(statuses(gone), [("NOT_FOUND".to_owned(), gone.failed)]);
        assert_eq!((one.failed, many.failed, gone.completed), (0, 0, 0));
        assert_eq!(gone.errors.get("grpc_status"), Some(&gone.failed));
        assert_eq!(record.exchanges.completed, one.completed + many.completed);
        assert_eq!(record.exchanges.failed, gone.failed);
        let sent = one.completed + 2 * many.completed + gone.failed;
        let received = one.completed + 3 * many.completed;
        let messages = &record.messages;
        assert_eq!((messages.sent, messages.received), (sent, received));
    }
}

#[test]
fn every_call_says_what_its_step_says_on_connections_of_its_own_as_well() {
    for keep_alive in [true, false] {
        let steps = vec![
            step(1, "One", "", "a"),
            step(1, "Many", "n{{seq}}", "b,{{seq}}"),
        ];
        let mut plan = mixed(Schedule::Closed, steps, u64::MAX);
        (plan.duration_s, plan.count, plan.connections) = (None, Some(6), 1);
        plan.keep_alive = keep_alive;
        if let Some(http2) = plan.protocol.http2_mut() {
            http2.streams = 1;
        }
        let seen = Seen::default();
        let server = Methods {
            seen: Arc::clone(&seen),
            ..Methods::default()
        };
        let tally = run(&plan, 1, Faults::none(), server).recorder.tally;
        assert_eq!((tally.completed, tally.messages_sent), (6, 9));
        let calls = |n: u32| {
            let many = format!("\0\0\0\0\x01b\0\0\0\0\x01{n}").into_bytes();
            let one = (
                "/a.B/One".to_owned(),
                String::new(),
                b"\0\0\0\0\x01a".to_vec(),
            );
            [one, ("/a.B/Many".to_owned(), format!("n{n}"), many)]
        };
        let expected = [1, 2, 3].map(calls).concat();
        assert_eq!(*seen.lock().unwrap(), expected, "keep-alive {keep_alive}");
    }
}

#[test]
fn a_body_that_does_not_fit_in_the_middle_ends_the_run_as_rows_do() {
    for schedule in [Schedule::Constant { rate: 1_000.0 }, Schedule::Closed] {
        let steps = vec![step(1, "One", "", "a"), step(1, "One", "", "{{seq}}")];
        let plan = mixed(schedule, steps, 20);
        let outcome = run(&plan, 1, Faults::none(), Methods::default());
        assert_eq!(outcome.ended_by, EndedBy::Rows);
        let tally = &outcome.recorder.tally;
        assert!((40..=42).contains(&tally.completed), "{}", tally.completed);
        assert_eq!(tally.failed + tally.unfinished, 0);
        let record = recorded(&plan, outcome);
        assert!(!record.valid);
        let told = record.warnings.join("\n");
        let why = "a.http:1: with its values filled in, it is too many";
        assert!(told.contains(why), "{told}");
    }
}

#[test]
fn a_stream_that_is_reset_goes_on_no_more_and_its_first_message_took_as_long_as_that() {
    let steps = vec![step(1, "Broken", "", "a"), step(1, "Never", "", "a")];
    let mut plan = mixed(Schedule::Constant { rate: 100.0 }, steps, u64::MAX);
    (plan.events, plan.duration_s) = (true, Some(1.0));
    let record = recorded(&plan, run(&plan, 1, Faults::none(), Methods::default()));
    assert_eq!(
        (record.exchanges.completed, record.exchanges.failed),
        (0, 100)
    );
    let of = |name: &str| {
        let step = record.steps.iter().find(|step| step.name == name).unwrap();
        let streams = step.streams.as_ref().unwrap();
        assert_eq!((streams.cut_off, streams.censored_gaps), (0, 0), "{name}");
        (step.failed, streams)
    };
    let (broken, streams) = of("Broken");
    assert_eq!((streams.events, streams.censored), (broken, 0));
    let (never, streams) = of("Never");
    assert_eq!((streams.events, streams.censored), (0, never));
    assert_eq!(broken + never, 100);
    let streams = record.streams.as_ref().unwrap();
    assert_eq!(streams.event_gap_us.max, None, "none had a second message");
    assert!(!record.warnings.iter().any(|one| one.contains("unanswered")));
}

//! Users who go through flows, on the simulator.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use engine::sim::Faults;
use measure::record::Step;
use measure::time::Time;
use workload::hurl::{Given, read};

use super::conservation::Draw;
use super::follow::{Asked, REFUSED, Said, visited};
use super::rogue::{Rogue, Spoken};
use super::{MS, Server, plan, recorded, run};
use crate::Record;
use measure::random::Random;
use plan::Plan;
use plan::protocol::{Http2, Protocol};
use plan::schedule::Schedule;
use plan::workload::Data;

/// A plan whose connections are users of this flow.
fn users(text: &str, schedule: Schedule, connections: u32, seconds: f64) -> Plan {
    with(text, Given::default(), schedule, (connections, seconds))
}

fn with(text: &str, given: Given, schedule: Schedule, (users, seconds): (u32, f64)) -> Plan {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("shop.hurl");
    std::fs::write(&file, text).unwrap();
    let mut given = given;
    let base = ("base".to_owned(), "http://127.0.0.1:80".to_owned());
    given.variables.push(base);
    let mut plan = plan(schedule, users, seconds);
    let mut workload = read(&file, given).unwrap();
    workload.file = Some("shop.hurl".into());
    plan.workload = Some(workload);
    plan
}

/// The same for so many flows.
fn counted(text: &str, connections: u32, flows: u64) -> Plan {
    let mut plan = users(text, Schedule::Closed, connections, 1.0);
    (plan.duration_s, plan.count) = (None, Some(flows));
    plan
}

fn step<'r>(record: &'r Record, name: &str) -> &'r Step {
    let found = record.steps.iter().find(|step| step.name == name);
    found.unwrap_or_else(|| panic!("{name}: {:?}", names(record)))
}

fn names(record: &Record) -> Vec<&str> {
    record.steps.iter().map(|step| &*step.name).collect()
}

fn said(status: u16, body: &'static str) -> Said {
    (status, Vec::new(), body)
}

const LOGIN: &str = r#"
POST {{base}}/login
[Form]
user: bob
HTTP 200
[Captures]
token: jsonpath "$.token"

GET {{base}}/items
Authorization: Bearer {{token}}
HTTP 200
[Asserts]
jsonpath "$.of" == {{token}}

DELETE {{base}}/login
Authorization: Bearer {{token}}
HTTP 200
"#;

/// Sessions by their tokens, each of which comes with a cookie of its own.
#[derive(Default)]
struct Sessions {
    begun: u64,
    open: BTreeSet<String>,
    wrong: u64,
}

impl Sessions {
    fn answer(&mut self, asked: &Asked) -> Said {
        if asked.line == "POST /login" {
            if asked.body != "user=bob" || asked.field("cookie").is_some() {
                self.wrong += 1;
            }
            self.begun += 1;
            let token = format!("t{}", self.begun);
            self.open.insert(token.clone());
            let cookie = ("Set-Cookie", format!("sid={token}; Path=/"));
            let body = format!("{{\"token\":\"{token}\"}}").leak();
            return (200, vec![cookie], body);
        }
        let token = asked.field("authorization").unwrap_or_default();
        let token = token.strip_prefix("Bearer ").unwrap_or_default().to_owned();
        let is_own = asked.field("cookie") == Some(&format!("sid={token}"));
        if !is_own || !self.open.contains(&token) {
            self.wrong += 1;
            return said(401, "who are you?");
        }
        match &*asked.line {
            "DELETE /login" => {
                self.open.remove(&token);
                said(200, "")
            }
            _ => said(200, format!("{{\"of\":\"{token}\"}}").leak()),
        }
    }
}

/// The same over HTTP/2.
fn over_http2(mut plan: Plan) -> Plan {
    let http2 = Http2::default();
    plan.protocol = Protocol::Http2 { http2 };
    plan
}

#[test]
fn each_user_has_its_own_token_and_cookies_and_all_figures_add_up() {
    let plan = counted(LOGIN, 7, 50);
    add_up(&plan);
    add_up(&over_http2(plan));
}

fn add_up(plan: &Plan) {
    let sessions = Rc::new(RefCell::new(Sessions::default()));
    let asked = Rc::clone(&sessions);
    let (record, _) = visited(plan, move |one| asked.borrow_mut().answer(one));
    let sessions = sessions.borrow();
    assert_eq!((sessions.begun, sessions.wrong), (50, 0));
    assert!(sessions.open.is_empty(), "each has logged out");
    let expected = ["POST /login", "GET /items", "DELETE /login", "(flow)"];
    assert_eq!(names(&record), expected);
    for name in expected {
        let step = step(&record, name);
        assert_eq!((step.completed, step.failed, step.unfinished), (50, 0, 0));
    }
    assert_eq!(record.exchanges.completed, 150);
    assert!(record.errors.is_empty(), "{:?}", record.errors);
    assert_eq!(record.connections.opened, 7, "users keep their connections");
    // Three answers, a millisecond each.
    let whole = &step(&record, "(flow)").response_time_us;
    assert!(whole.min.unwrap() >= 3_000.0, "{whole:?}");
    assert!(whole.max.unwrap() < 4_000.0, "{whole:?}");
}

#[test]
fn an_answer_that_is_not_as_the_file_says_is_an_error_of_its_line() {
    let text = r#"
GET {{base}}/a
HTTP 200
[Asserts]
jsonpath "$.n" == 1
jsonpath "$.ok" == true

GET {{base}}/b
HTTP 200
[Captures]
id: jsonpath "$.id"

GET {{base}}/c
"#;
    let mut count = 0;
    let (record, _) = visited(&counted(text, 1, 10), move |asked| {
        count += u64::from(asked.line == "GET /a");
        match (&*asked.line, count) {
            ("GET /a", 1..=3) => said(200, "{\"n\":2,\"ok\":true}"),
            ("GET /a", 4) => said(500, "{}"),
            ("GET /a", _) => said(200, "{\"n\":1,\"ok\":true}"),
            ("GET /b", 5) => said(200, "{}"),
            ("GET /b", _) => said(200, "{\"id\":1}"),
            _ => said(404, "nothing is said of it"),
        }
    });
    let fates = record
        .steps
        .iter()
        .map(|step| (&*step.name, step.completed, step.failed));
    let fates: Vec<_> = fates.collect();
    assert_eq!(
        fates,
        [
            ("GET /a", 6, 4),
            ("GET /b", 5, 1),
            ("GET /c", 0, 5),
            ("(flow)", 5, 5)
        ]
    );
    let errors = [("unexpected_answer", 5), ("unexpected_status", 5)];
    let errors = errors.map(|(kind, count)| (kind.to_owned(), count));
    assert_eq!(record.errors, BTreeMap::from(errors));
    let told = record.unexpected_answers.iter();
    let told = told.map(|one| (&*one.expected, one.step.as_deref(), one.failed));
    assert_eq!(
        told.collect::<Vec<_>>(),
        [
            ("shop.hurl:5", Some("GET /a"), 3),
            ("shop.hurl:3", Some("GET /a"), 1),
            ("shop.hurl:11", Some("GET /b"), 1)
        ]
    );
    let came = record.unexpected_answers[0].came.as_deref().unwrap();
    assert!(came.contains("expected 1, and got 2"), "{came}");
    // Of a flow that failed its time says nothing.
    let whole = &step(&record, "(flow)").response_time_us;
    assert_eq!(whole.count, Some(5));
}

#[test]
fn secrets_are_in_no_record() {
    let text = r#"
POST {{base}}/login
[Form]
password: {{password}}
HTTP 200
[Captures]
token: jsonpath "$.token"

GET {{base}}/items/{{token}}
HTTP 200
[Asserts]
body == "fine"
"#;
    let given = Given {
        secrets: vec![("password".to_owned(), "canary-1".to_owned())],
        ..Given::default()
    };
    let mut plan = with(text, given, Schedule::Closed, (2, 1.0));
    (plan.duration_s, plan.count) = (None, Some(5));
    let (record, asked) = visited(&plan, |asked| match &*asked.line {
        "POST /login" => said(200, "{\"token\":\"canary-token-2\"}"),
        _ => said(500, "canary-1 with canary-token-2 isn't known"),
    });
    assert_eq!(asked[0].body, "password=canary-1");
    assert!(
        asked
            .iter()
            .any(|one| one.line == "GET /items/canary-token-2")
    );
    assert_eq!(step(&record, "GET /items/{{token}}").failed, 5);
    let text = record.to_json().unwrap();
    assert!(!text.contains("canary"), "{text}");
}

/// How often each path was asked for.
fn counts(asked: &[Asked]) -> BTreeMap<&str, usize> {
    let mut counts = BTreeMap::new();
    for one in asked {
        *counts.entry(&*one.line).or_default() += 1;
    }
    counts
}

#[test]
fn redirects_retries_repeats_and_skips_are_requests_of_their_entries() {
    let text = r#"
GET {{base}}/moved
[Options]
location: true
HTTP 200

GET {{base}}/job
[Options]
retry: 5
retry-interval: 20ms
HTTP 200
[Asserts]
body == "done"

GET {{base}}/never
[Options]
skip: true

GET {{base}}/thrice
[Options]
repeat: 3
delay: 10ms
"#;
    let mut polled = 0;
    let (record, asked) = visited(&counted(text, 1, 4), move |asked| match &*asked.line {
        "GET /moved" => (302, vec![("Location", "/there".to_owned())], ""),
        "GET /job" => {
            polled += 1;
            said(200, if polled % 3 == 0 { "done" } else { "wait" })
        }
        _ => said(200, ""),
    });
    let expected = [
        ("GET /job", 12),
        ("GET /moved", 4),
        ("GET /there", 4),
        ("GET /thrice", 12),
    ];
    assert_eq!(counts(&asked), BTreeMap::from(expected));
    let completed = |name: &str| step(&record, name).completed;
    assert_eq!(
        ["GET /moved", "GET /job", "GET /never", "GET /thrice"].map(completed),
        [8, 12, 0, 12]
    );
    assert_eq!((record.redirects, completed("(flow)")), (4, 4));
    assert!(record.errors.is_empty(), "{:?}", record.errors);
    // Eight answers, two intervals and three delays.
    let whole = &step(&record, "(flow)").response_time_us;
    assert!(whole.min.unwrap() >= 78_000.0, "{whole:?}");
    let polls = &step(&record, "GET /job").response_time_us;
    assert!(
        polls.max.unwrap() < 2_000.0,
        "a pause is no part of it: {polls:?}"
    );
}

#[test]
fn a_redirect_to_another_server_is_not_followed_and_says_so() {
    let text = "GET {{base}}/\n[Options]\nlocation: true\nHTTP 200\n";
    let (record, asked) = visited(&counted(text, 1, 3), |_| {
        (302, vec![("Location", "http://127.0.0.9/x".to_owned())], "")
    });
    assert_eq!(asked.len(), 3);
    assert_eq!(record.errors["redirect_elsewhere"], 3);
    assert_eq!(step(&record, "(flow)").failed, 3);
    let came = record.unexpected_answers[0].came.as_deref().unwrap();
    assert!(came.contains("it goes to 127.0.0.9"), "{came}");
}

#[test]
fn a_cycle_of_redirects_and_a_broken_coding_are_told_by_their_lines() {
    let text = "
GET {{base}}/round
[Options]
location: true
max-redirs: 5
HTTP 200
";
    let coded = "\nGET {{base}}/coded\nHTTP 200\n[Asserts]\nbody contains \"plain\"\n";
    for (text, requests, line, told) in [
        (
            text,
            6,
            "shop.hurl:2",
            "more than 5 redirects, the last of them to /round",
        ),
        (
            coded,
            1,
            "shop.hurl:5",
            "the body can't be decoded: it's no gzip",
        ),
    ] {
        let (record, asked) = visited(&counted(text, 1, 3), |asked| match &*asked.line {
            "GET /round" => (302, vec![("Location", "/round".to_owned())], ""),
            _ => (200, vec![("Content-Encoding", "gzip".to_owned())], "plain"),
        });
        assert_eq!(asked.len(), 3 * requests, "{text}");
        assert_eq!(step(&record, "(flow)").failed, 3, "{text}");
        let unmet = &record.unexpected_answers[0];
        assert_eq!((&*unmet.expected, unmet.failed), (line, 3), "{unmet:?}");
        let came = unmet.came.as_deref().unwrap();
        assert!(came.contains(told), "{came}");
    }
}

#[test]
fn a_request_that_cannot_be_made_fails_its_flow_and_nothing_is_sent() {
    let text = "
GET {{base}}/a
HTTP 200
[Captures]
line: header \"X-Line\"

GET {{base}}/b
X-Line: {{line}}{{newline}}
";
    let given = Given {
        variables: vec![("newline".to_owned(), "\r\nX-More: 1".to_owned())],
        ..Given::default()
    };
    let mut plan = with(text, given, Schedule::Closed, (1, 1.0));
    (plan.duration_s, plan.count) = (None, Some(3));
    let (record, asked) = visited(&plan, |_| (200, vec![("X-Line", "x".to_owned())], ""));
    assert_eq!(asked.len(), 3, "{asked:?}");
    assert_eq!(record.errors["request_unmade"], 3);
    assert_eq!(record.exchanges.failed, 0, "nothing was sent");
    assert_eq!(step(&record, "(flow)").failed, 3);
    let [unmade] = &record.unexpected_answers[..] else {
        panic!("{:?}", record.unexpected_answers);
    };
    assert_eq!((&*unmade.expected, unmade.failed), ("shop.hurl:8", 3));
}

#[test]
fn a_connection_that_is_lost_fails_its_flow_and_the_next_user_begins_at_the_start() {
    let text = "GET {{base}}/a\nHTTP 200\n\nGET {{base}}/b\nHTTP 200\n\nGET {{base}}/c\n";
    let mut seen = 0;
    let (record, asked) = visited(&counted(text, 1, 6), move |asked| {
        seen += u64::from(asked.line == "GET /b");
        match &*asked.line {
            // Its answer is to come in a piece that never does.
            "GET /b" if seen % 2 == 0 => {
                (200, vec![("Transfer-Encoding", "chunked".to_owned())], "")
            }
            _ => said(200, ""),
        }
    });
    let expected = [("GET /a", 6), ("GET /b", 6), ("GET /c", 3)];
    assert_eq!(counts(&asked), BTreeMap::from(expected));
    let fates = ["GET /a", "GET /b", "GET /c", "(flow)"].map(|name| {
        let step = step(&record, name);
        (step.completed, step.failed)
    });
    assert_eq!(fates, [(6, 0), (3, 3), (3, 0), (3, 3)]);
}

#[test]
fn what_a_server_refuses_is_sent_again_as_it_was_and_no_error_of_its_flow() {
    let text = "
GET {{base}}/moved
[Options]
location: true
HTTP 200

POST {{base}}/b
{\"id\": \"{{newUuid}}\"}
HTTP 200
";
    for schedule in [Schedule::Closed, Schedule::Constant { rate: 100.0 }] {
        let mut plan = over_http2(users(text, schedule, 2, 1.0));
        plan.timeout_s = 5.0;
        let mut count = 0;
        let (record, asked) = visited(&plan, move |asked| {
            // Every third request is refused, of those that a redirect leads to, too.
            count += 1;
            match &*asked.line {
                _ if count % 3 == 1 => said(REFUSED, ""),
                "GET /moved" => (302, vec![("Location", "/there".to_owned())], ""),
                _ => said(200, ""),
            }
        });
        let whole = step(&record, "(flow)");
        assert!(whole.completed > 50, "{whole:?}");
        assert_eq!((whole.failed, record.exchanges.failed), (0, 0));
        let refused = record.errors["stream_refused"];
        assert_eq!(record.errors.len(), 1, "{:?}", record.errors);
        assert!(refused > whole.completed, "{refused}");
        // With the same text, however often it's sent.
        let bodies = asked.iter().filter(|one| one.line == "POST /b");
        let bodies: BTreeSet<&str> = bodies.map(|one| &*one.body).collect();
        let sent = step(&record, "POST /b").completed;
        assert!(
            (bodies.len() as u64).abs_diff(sent) <= 2,
            "{}",
            bodies.len()
        );
    }
    let mut plan = over_http2(counted(text, 1, 3));
    plan.timeout_s = 5.0;
    let (record, asked) = visited(&plan, |_| said(REFUSED, ""));
    // Five times again, and the sixth refusal is the failure.
    assert_eq!(asked.len(), 18);
    let errors = [("stream_given_up", 3), ("stream_refused", 15)];
    let errors = errors.map(|(kind, count)| (kind.to_owned(), count));
    assert_eq!(record.errors, BTreeMap::from(errors));
    assert_eq!(step(&record, "(flow)").failed, 3);
}

#[test]
fn a_server_that_closes_after_each_answer_keeps_its_users() {
    let mut plan = counted(LOGIN, 3, 12);
    plan.connections = 3;
    let sessions = Rc::new(RefCell::new(Sessions::default()));
    let asked = Rc::clone(&sessions);
    let (record, _) = visited(&plan, move |one| {
        let mut said = asked.borrow_mut().answer(one);
        said.1.push(("Connection", "close".to_owned()));
        said
    });
    assert_eq!((sessions.borrow().begun, sessions.borrow().wrong), (12, 0));
    assert_eq!(step(&record, "(flow)").completed, 12);
    assert!(record.errors.is_empty(), "{:?}", record.errors);
}

#[test]
fn the_time_of_a_flow_counts_from_when_it_was_due_while_the_server_stalls() {
    // Half of each second nothing is answered; 2 users for 100 flows a second.
    let law = |_, now: Time| {
        let into_second = now.0 % (1000 * MS);
        1_000 + (500 * MS).saturating_sub(into_second)
    };
    let text = "GET {{base}}/a\nHTTP 200\n\nGET {{base}}/b\nHTTP 200\n";
    let schedule = Schedule::Constant { rate: 100.0 };
    let plan = users(text, schedule, 2, 5.0);
    let outcome = run(&plan, 1, Faults::none(), Server::new(law));
    let record = recorded(&plan, outcome);
    let whole = step(&record, "(flow)");
    assert_eq!(
        (whole.completed, whole.failed, whole.unfinished),
        (500, 0, 0)
    );
    assert_eq!(record.exchanges.completed, 1000);
    // Half of them fall due in a stall and wait evenly between 0 and 500 ms.
    let times = &whole.response_time_us;
    let (p75, max) = (times.p75.unwrap() / 1e3, times.max.unwrap() / 1e3);
    assert!((240.0..260.0).contains(&p75), "{p75} ms");
    assert!((490.0..501.0).contains(&max), "{max} ms");
    // Nearly all of that is the wait for a user.
    let service = whole.service_time_us.p90.unwrap() / 1e3;
    assert!(service < 2.0, "{service} ms");
    // The first request was due with its flow, the second when the first was answered.
    let first = &step(&record, "GET /a").response_time_us;
    assert!(first.p75.unwrap() / 1e3 > 240.0, "{first:?}");
    let second = &step(&record, "GET /b").response_time_us;
    assert!(second.p90.unwrap() / 1e3 < 2.0, "{second:?}");
    let told = "flows had to wait for a free user, because every user";
    assert!(
        record.warnings.iter().any(|warning| warning.contains(told)),
        "{:?}",
        record.warnings
    );
}

#[test]
fn where_users_are_too_few_for_the_rate_that_is_said_and_not_that_the_server_was_slow() {
    let text = "GET {{base}}/a\nHTTP 200\n\nGET {{base}}/b\n[Options]\ndelay: 500ms\n";
    let mut plan = users(text, Schedule::Constant { rate: 50.0 }, 10, 4.0);
    plan.timeout_s = 1.0;
    let (record, _) = visited(&plan, |_| said(200, ""));
    let warnings = record.warnings.join("\n");
    for told in [
        "; -c 10 allows at most ",
        " flows/s, since a flow took ",
        ": 50.0/s need about 2",
    ] {
        assert!(warnings.contains(told), "{warnings}");
    }
    let few = "the users (-c) were too few for the offered rate: of ";
    assert!(warnings.contains(few), "{warnings}");
    assert!(!warnings.contains("couldn't keep up"), "{warnings}");
}

#[test]
fn flows_that_no_user_could_begin_are_counted_as_such() {
    let text = "GET {{base}}/a\nHTTP 200\n\nGET {{base}}/b\n";
    let schedule = Schedule::Constant { rate: 100.0 };
    let mut plan = users(text, schedule, 3, 1.0);
    plan.timeout_s = 0.5;
    let dead = |_, _: Time| 3_600_000 * MS;
    let record = recorded(&plan, run(&plan, 1, Faults::none(), Server::new(dead)));
    let whole = step(&record, "(flow)");
    assert_eq!(whole.completed + whole.failed + whole.unfinished, 100);
    assert_eq!(whole.completed, 0);
    assert!(whole.failed >= 3 && whole.unfinished > 80, "{whole:?}");
    // All of those that were due are in the times, as lower bounds.
    assert_eq!(whole.response_time_us.count, Some(100));
    assert_eq!(step(&record, "GET /b").failed, 0);
}

#[test]
fn rows_are_for_one_flow_each_and_end_the_run() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("users.csv");
    std::fs::write(&file, "user,id\nann,1\nbob,2\ncyd,3\n").unwrap();
    let text = "
POST {{base}}/{{id}}
{\"user\": \"{{user}}\"}
HTTP 200

GET {{base}}/{{id}}?of={{user}}
";
    let order = "once".parse().unwrap();
    let given = Given {
        rows: Some(Data { file, order }),
        ..Given::default()
    };
    let mut plan = with(text, given, Schedule::Closed, (2, 1.0));
    plan.duration_s = None;
    let (record, asked) = visited(&plan, |_| said(200, ""));
    let lines: BTreeSet<&str> = asked.iter().map(|one| &*one.line).collect();
    let expected = [
        "POST /1",
        "POST /2",
        "POST /3",
        "GET /1?of=ann",
        "GET /2?of=bob",
        "GET /3?of=cyd",
    ];
    assert_eq!(lines, BTreeSet::from(expected));
    assert_eq!((asked.len(), step(&record, "(flow)").completed), (6, 3));
    assert_eq!(record.ended_by, measure::record::EndedBy::Rows);
}

#[test]
fn a_flow_that_sends_nothing_does_not_hang_the_run() {
    let text = "GET {{base}}/a\n[Options]\nskip: true\n";
    for schedule in [Schedule::Closed, Schedule::Constant { rate: 50.0 }] {
        let plan = users(text, schedule, 2, 3.0);
        let (record, asked) = visited(&plan, |_| said(200, ""));
        assert!(asked.is_empty());
        let passed = step(&record, "(flow)").completed;
        assert!((2..=12).contains(&passed), "{passed}");
    }
}

/// `run` holds each of these against the laws of conservation.
#[test]
fn no_request_of_a_user_is_lost_whatever_goes_wrong() {
    let text = "
GET {{base}}/a
[Options]
retry: 1
retry-interval: 5ms

POST {{base}}/b
[Options]
delay: 3ms
{\"a\": \"{{newUuid}}\"}
HTTP 200

GET {{base}}/c
[Options]
repeat: 2
";
    let mut passed = 0;
    for seed in 0..120 {
        let mut draw = Draw(Random::new(seed, 11));
        let schedule = draw.one_of(&[
            Schedule::Closed,
            Schedule::Constant { rate: 200.0 },
            Schedule::Poisson { rate: 200.0 },
        ]);
        let mut plan = users(text, schedule, 1 + draw.below(5) as u32, 0.3);
        let spoken = draw.one_of(&[Spoken::Http1, Spoken::Http2]);
        if spoken == Spoken::Http2 {
            plan = over_http2(plan);
        }
        if draw.coin() {
            (plan.duration_s, plan.count) = (None, Some(1 + draw.below(20)));
        }
        plan.warm_up_s = draw.one_of(&[0.0, 0.1]);
        plan.timeout_s = draw.one_of(&[0.03, 0.1, 0.3]);
        let (troubles, faults) = (draw.troubles(), draw.faults());
        let rogue = Rogue::new(spoken, false, troubles, seed);
        let count = plan.count;
        let outcome = run(&plan, seed, faults, rogue);
        let flows = outcome.recorder.tally.steps.last().unwrap();
        assert_eq!(flows.intended, flows.ended(), "seed {seed}");
        if let Some(count) = count {
            assert!(flows.intended <= count, "seed {seed}");
        }
        passed += flows.completed;
    }
    assert!(passed > 500, "{passed} flows have passed");
}

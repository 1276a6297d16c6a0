use super::*;
use crate::counters::ErrorKind;
use crate::histogram::Histogram;
use crate::tally::{Opened, StepTally, Terms};
use crate::time::Time;
use serde_json::Value;

/// A plan, as far as this crate needs one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
struct Plan {
    url: String,
}

const RECORD: &[&str] = &[
    "schema_version",
    "plan",
    "host",
    "goodput",
    "generator",
    "exchanges",
    "drain",
    "duration_s",
    "offered_rate",
    "achieved_rate",
    "availability",
    "bytes",
    "response_time_us",
    "service_time_us",
    "lateness_us",
    "waits",
    "ping_time_us",
    "steps",
    "streams",
    "status",
    "redirects",
    "unfollowed_redirects",
    "unexpected_bodies",
    "unexpected_answers",
    "grpc_status",
    "close_codes",
    "messages",
    "errors",
    "connections",
    "series",
    "histograms",
    "valid",
    "void",
    "control",
    "warnings",
    "thresholds",
    "ended_by",
];
const TIMES: &[&str] = &[
    "count", "min", "mean", "p50", "p75", "p90", "p95", "p99", "p99_9", "p99_99", "max",
];
const DRAIN: &[&str] = &[
    "seconds",
    "completed",
    "completed_sent_late",
    "failed",
    "failed_sent_late",
    "unfinished",
    "bytes_received",
    "bytes_sent",
];
const STREAMS: &[&str] = &[
    "streams",
    "empty",
    "done",
    "torn",
    "cut_off",
    "events",
    "events_per_second",
    "first_byte_us",
    "first_event_us",
    "event_gap_us",
    "time_per_event_us",
    "censored",
    "censored_gaps",
    "censored_heads",
    "void",
    "void_first_byte",
    "histograms",
];
const STREAM_HISTOGRAMS: &[&str] = &["first_byte", "first_event", "event_gap", "time_per_event"];
const GENERATOR: &[&str] = &[
    "version",
    "engine",
    "engine_reason",
    "threads",
    "cpu_seconds",
    "spun_seconds",
    "cpu_us_per_exchange",
    "limited",
    "limited_reason",
    "cpu_share_max",
    "run_queue_share_max",
    "littles_law_gap",
    "memory_peak_bytes",
    "longest_stall",
    "steal_share",
    "throttled_us",
    "counters",
];
const TLS: &[&str] = &[
    "full_handshakes",
    "resumed_handshakes",
    "handshake_time_us",
    "resumed_handshake_time_us",
    "version",
    "cipher",
    "alpn",
];
const ROW: &[&str] = &[
    "at_s",
    "seconds",
    "completed",
    "failed",
    "answered",
    "offered",
    "bytes_received",
    "response_p50_us",
    "response_p99_us",
    "response_max_us",
];

const EXCHANGES: &[&str] = &[
    "completed",
    "failed",
    "unfinished",
    "never_sent",
    "censored",
    "answered_in_window",
    "not_2xx_or_3xx_in_window",
];

const STEP: &[&str] = &[
    "name",
    "completed",
    "failed",
    "unfinished",
    "censored",
    "achieved_rate",
    "response_time_us",
    "service_time_us",
    "response_time",
    "void",
    "status",
    "grpc_status",
    "errors",
];

const WAIT_COUNTS: &[&str] = &[
    "busy",
    "connecting",
    "closing",
    "back_off",
    "unreachable",
    "unreachable_never_sent",
    "late",
    "refused",
];

const CONNECTIONS: &[&str] = &[
    "opened",
    "reconnects",
    "reopened",
    "failed_attempts",
    "origins",
    "set_up_time_us",
    "tcp_time_us",
    "tls",
];

/// Where the names of the record stand, and which they are: nothing more, nothing less.
fn names() -> Vec<(&'static str, &'static [&'static str])> {
    vec![
        ("", RECORD),
        ("/generator", GENERATOR),
        ("/exchanges", EXCHANGES),
        (
            "/waits",
            &[
                "total_us",
                "share_of_response",
                "busy_us",
                "connecting_us",
                "closing_us",
                "back_off_us",
                "unreachable_us",
                "late_us",
                "refused_us",
                "counts",
            ],
        ),
        ("/waits/counts", WAIT_COUNTS),
        ("/steps/0", STEP),
        ("/steps/0/response_time_us", TIMES),
        ("/steps/0/service_time_us", TIMES),
        ("/drain", DRAIN),
        ("/bytes", &["received", "sent"]),
        ("/response_time_us", TIMES),
        ("/service_time_us", TIMES),
        ("/lateness_us", TIMES),
        ("/ping_time_us", TIMES),
        ("/messages", &["sent", "received"]),
        ("/connections", CONNECTIONS),
        ("/connections/tcp_time_us", TIMES),
        ("/connections/tls", TLS),
        ("/connections/tls/handshake_time_us", TIMES),
        ("/connections/set_up_time_us", TIMES),
        ("/series/0", ROW),
        (
            "/histograms",
            &["unit", "response_time", "service_time", "lateness"],
        ),
        ("/streams", STREAMS),
        ("/streams/first_event_us", TIMES),
        ("/streams/histograms", STREAM_HISTOGRAMS),
        ("/status", &["200", "404"]),
        (
            "/unexpected_answers/0",
            &["expected", "step", "failed", "came"],
        ),
        ("/errors", &["timeout", "unexpected_status"]),
    ]
}

fn facts(offered_rate: Option<f64>) -> Facts<Plan> {
    Facts {
        plan: Plan {
            url: "http://127.0.0.1/".to_owned(),
        },
        host: Host::read(),
        generator: Generator {
            engine: "epoll".to_owned(),
            threads: 2,
            cpu_seconds: Some(0.5),
            ..Generator::default()
        },
        duration_s: 2.0,
        offered_rate,
        origins: Vec::new(),
        steps: vec![StepFacts {
            grpc_status: BTreeMap::from([("OK".to_owned(), 1)]),
            name: "GET /".to_owned(),
            void: Vec::new(),
            streams: StreamFacts::default(),
        }],
        streams: Some(StreamFacts::default()),
        grpc_status: BTreeMap::from([("OK".to_owned(), 7)]),
        unfollowed_redirects: BTreeMap::from([(
            "redirect_elsewhere".to_owned(),
            "https://x/".to_owned(),
        )]),
        unexpected_bodies: BTreeMap::from([("404".to_owned(), "no".to_owned())]),
        unexpected_answers: vec![Unmet {
            expected: "body~yes".to_owned(),
            step: Some("GET /".to_owned()),
            failed: 1,
            came: Some("no".to_owned()),
        }],
        valid: true,
        void: Vec::new(),
        warnings: vec!["mind the gap".to_owned()],
        ended_by: EndedBy::Duration,
    }
}

fn record_of_a_run() -> Record<Plan> {
    let ms = 1_000_000;
    let start = Time(5_000 * ms);
    let mut tally = Tally::new(Loop::Open);
    tally.connected(50_000, Opened::Anew);
    tally.tcp.record(20_000);
    let terms = Terms {
        version: "TLSv1.3".into(),
        cipher: "TLS13_AES_128_GCM_SHA256".into(),
        alpn: Some("h2".into()),
    };
    tally.shook_hands(30_000, false, terms);
    tally.start(start);
    for n in 1..=1000 {
        let intended = start.plus(n * ms);
        tally.intended += 1;
        tally.due.add(intended);
        tally.completed(intended, intended.plus(n), intended.plus(n * 1000), 200);
    }
    tally.unexpected(start, start, start.plus(ms), 404);
    tally.failed(ErrorKind::Timeout);
    tally.censored(start, Some(start), start.plus(2 * ms));
    let mut of_step = StepTally::default();
    let times = (start, start, start.plus(ms));
    of_step.answered(times, Some(404), Some(ErrorKind::UnexpectedStatus), false);
    tally.steps.push(of_step);
    tally.finish(start.plus(2000 * ms));
    Record::assemble(&tally, facts(Some(500.0)))
}

fn json(record: &Record<Plan>) -> Value {
    serde_json::from_str(&record.to_json().expect("JSON")).expect("JSON")
}

#[test]
fn the_names_are_those_that_were_promised() {
    let json = json(&record_of_a_run());
    for (place, names) in names() {
        let object = json.pointer(place).and_then(Value::as_object).expect(place);
        let mut found: Vec<&str> = object.keys().map(String::as_str).collect();
        let mut wanted = names.to_vec();
        found.sort_unstable();
        wanted.sort_unstable();
        assert_eq!(found, wanted, "in {place}");
    }
    assert_eq!(json["ended_by"], "duration");
    assert_eq!(json["histograms"]["unit"], "ns");
    assert_eq!(json["schema_version"], 1);
    assert!(json["host"].get("hostname").is_none());
}

#[test]
fn figures_come_from_the_tally() {
    let record = record_of_a_run();
    let near = |told: Option<f64>, truth: f64| {
        let told = told.expect("samples");
        assert!((told / truth - 1.0).abs() <= 0.001, "{told} for {truth}");
    };
    assert_eq!(record.exchanges.completed, 1000);
    assert_eq!((record.exchanges.failed, record.exchanges.censored), (2, 1));
    assert_eq!(record.achieved_rate, 500.0);
    near(record.response_time_us.p50, 501.0);
    near(record.response_time_us.p99, 992.0);
    near(record.lateness_us.max, 1.0);
    assert_eq!(record.response_time_us.max, Some(2000.0));
    // 1001 answers cost half a second.
    near(record.generator.cpu_us_per_exchange, 500_000.0 / 1001.0);
    assert_eq!(record.status.get("200"), Some(&1000));
    assert_eq!(record.errors.get("timeout"), Some(&1));
    assert_eq!(record.connections.set_up_time_us.p50, Some(50.0));
    assert_eq!(record.connections.tcp_time_us.p50, Some(20.0));
    let tls = record.connections.tls.expect("a handshake");
    assert_eq!((tls.full_handshakes, tls.resumed_handshakes), (1, 0));
    assert_eq!(
        (tls.handshake_time_us.p50, &*tls.version),
        (Some(30.0), "TLSv1.3")
    );
    let response = Histogram::from_hdr_v2_base64(&record.histograms.response_time);
    assert_eq!(response.map(|histogram| histogram.count()), Ok(1002));
}

#[test]
fn what_has_no_samples_is_null() {
    let record = Record::assemble(&Tally::new(Loop::Closed), facts(None));
    let json = json(&record);
    assert!(json["offered_rate"].is_null());
    assert!(json["response_time_us"]["p99"].is_null());
    assert!(json["lateness_us"]["max"].is_null());
    assert!(json["ping_time_us"]["max"].is_null());
    assert!(json["connections"]["tls"].is_null());
    assert!(json["histograms"]["lateness"].is_null());
    assert!(json["generator"]["cpu_us_per_exchange"].is_null());
    assert_eq!(json["achieved_rate"], 0.0);
}

#[test]
fn a_record_reads_back_as_it_was_written() {
    let record = record_of_a_run();
    let text = record.to_json().expect("JSON");
    assert!(text.ends_with("}\n"));
    assert_eq!(Record::from_json(&text), Ok(record));
}

#[test]
fn a_record_from_before_there_were_other_protocols_still_reads() {
    let mut older = json(&record_of_a_run());
    let object = older.as_object_mut().expect("an object");
    for name in [
        "ping_time_us",
        "grpc_status",
        "messages",
        "drain",
        "waits",
        "availability",
    ] {
        object.remove(name).expect(name);
    }
    let exchanges = object["exchanges"].as_object_mut().expect("an object");
    exchanges.remove("answered_in_window").expect("told");
    let connections = object["connections"].as_object_mut().expect("an object");
    for name in ["tcp_time_us", "tls", "failed_attempts"] {
        connections.remove(name).expect(name);
    }
    let record = Record::<Plan>::from_json(&older.to_string()).expect("a record");
    assert_eq!(record.connections.tls, None);
    assert!(record.grpc_status.is_empty());
    assert_eq!(
        (record.drain, record.exchanges.answered_in_window),
        (None, None)
    );
}

#[test]
fn an_outage_of_a_closed_loop_counts_as_time_in_which_everything_failed() {
    let at = |ms: u64| Time(1_000_000_000 + ms * 1_000_000);
    let record = |kind: Loop, stall: bool| {
        let mut tally = Tally::new(kind);
        tally.start(at(0));
        tally.open(true);
        for ms in 0..4000 {
            if ms % 100 == 0 {
                tally.look(at(ms), true);
            }
            if ms < 1000 {
                tally.completed(at(ms), at(ms), at(ms + 1), 200);
            } else if ms == 1000 && !stall {
                (0..10).for_each(|_| tally.failed(ErrorKind::Reset));
            }
        }
        tally.look(at(4000), true);
        tally.attempts_failed = 15;
        tally.finish(at(4000));
        let offered = (kind == Loop::Open).then_some(250.0);
        Record::assemble(&tally, facts(offered))
    };
    let dead = record(Loop::Closed, false);
    let availability = dead.availability.clone().expect("answers enough");
    assert_eq!((availability.share, availability.slot_s), (0.25, 0.1));
    let gap = Gap {
        from_s: 1.0,
        to_s: 4.0,
        outage: true,
        unreachable: false,
    };
    assert_eq!(
        (availability.gaps, availability.outage_share),
        (vec![gap], 0.75)
    );
    // 1,000 of 1,025 went well, and that for a quarter of the time.
    let near = |share: Option<f64>, truth: f64| (share.expect("a load") - truth).abs() < 1e-9;
    assert!(near(dead.lost().share(), 1.0 - 0.25 * 1000.0 / 1025.0));
    assert_eq!(dead.lost().count(), 25);
    // In an open loop what was due meanwhile has failed by itself, and attempts count for nothing.
    let open = record(Loop::Open, false);
    assert!(near(open.lost().share(), 10.0 / 1010.0));
    // Nothing failed: a stall, which the response times show.
    let stalled = record(Loop::Closed, true);
    assert_eq!(stalled.availability.as_ref().map(|it| it.share), Some(0.25));
    assert!(near(stalled.lost().share(), 15.0 / 1015.0));
}

#[test]
fn processor_time_is_divided_by_what_was_answered_inside_the_window() {
    let mut tally = Tally::new(Loop::Open);
    let at = |ms: u64| Time(1_000_000_000 + ms * 1_000_000);
    tally.start(at(0));
    // Two were asked for before the window, and one failed by its status.
    (tally.carried, tally.carried_strange) = (2, 1);
    (0..7).for_each(|n| tally.completed(at(n), at(n), at(n + 1), 200));
    tally.unexpected(at(8), at(8), at(9), 404);
    tally.finish(at(2000));
    // Ninety came only in the drain.
    (0..90).for_each(|_| tally.completed(at(1999), at(1999), at(2500), 200));
    tally.statuses.add(404);
    tally.completed_late = 50;
    tally.drain.nanoseconds = 500_000_000;
    let record = Record::assemble(&tally, facts(Some(500.0)));
    assert_eq!(record.exchanges.answered_in_window, Some(10));
    assert_eq!(record.exchanges.not_2xx_or_3xx_in_window, Some(2));
    assert_eq!(record.generator.cpu_us_per_exchange, Some(50_000.0));
    let mut spun = facts(Some(500.0));
    spun.generator.spun_seconds = 0.1;
    let spun = Record::assemble(&tally, spun).generator;
    assert!((spun.cpu_us_per_exchange.unwrap() - 40_000.0).abs() < 1e-6);
    let drain = record.drain.expect("it is new");
    assert_eq!((drain.completed, drain.completed_sent_late), (90, 50));
    assert_eq!((drain.failed, drain.seconds), (0, 0.5));
    assert_eq!(record.achieved_rate, 47.0 / 2.0);
    assert_eq!(record.series[1].completed + record.series[0].completed, 7);
}

#[test]
fn other_versions_and_damaged_records_are_refused_with_a_reason() {
    let reason = |text: &str| Record::<Plan>::from_json(text).expect_err(text);
    let text = record_of_a_run().to_json().expect("JSON");
    let other = text.replace("\"schema_version\": 1", "\"schema_version\": 7");
    assert_eq!(
        reason(&other),
        "the record has schema version 7, but this ringside reads version 1"
    );
    assert_eq!(reason("{}"), "not a record: it has no schema_version");
    assert!(reason("hello").starts_with("not a record: "));
    assert!(reason(&text[..text.len() / 2]).starts_with("not a record: "));
    let without = text.replace("\"duration_s\"", "\"duration\"");
    assert!(reason(&without).contains("missing field `duration_s`"));
}

#[test]
fn the_schema_describes_every_name() {
    let schema: Value = serde_json::from_str(&schema_json::<Plan>()).expect("JSON");
    let properties = schema["properties"].as_object().expect("an object");
    let mut found: Vec<&str> = properties.keys().map(String::as_str).collect();
    let mut wanted = RECORD.to_vec();
    found.sort_unstable();
    wanted.sort_unstable();
    assert_eq!(found, wanted);
    for (name, fields) in [("Generator", GENERATOR), ("Times", TIMES), ("Row", ROW)] {
        let described = &schema["$defs"][name]["properties"];
        assert!(
            fields.iter().all(|field| !described[field].is_null()),
            "{name}"
        );
    }
    assert!(!schema["$defs"]["Plan"].is_null());
}

//! Whole runs on real sockets, against ringside's own server, on both engines.
//!
//! No test is decided by a time, except from below: an answer that is delayed by 20 ms cannot have
//! been measured as less.

mod hold;
mod http2;
mod probe;
#[path = "../../../tests/skip.rs"]
mod skip;
mod streams;
mod websocket;

use std::path::PathBuf;
use std::time::Duration;

use engine::Address;
use engine::choice::{self, EngineChoice};
use engine::signal::{Signal, Stop};
use load::plan::Plan;
use load::schedule::{Arrivals, Schedule, parse_stages};
use load::{LoadError, Record};
use measure::record::EndedBy;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// A server on a port of its own, ended when the test is.
struct Server {
    /// 0 of one on a Unix socket.
    port: u16,
    unix: Option<PathBuf>,
    secure: bool,
    stop: Stop,
    running: Option<testserver::Running>,
}

impl Server {
    fn start(engine: EngineChoice) -> Server {
        let address = Address::Tcp("127.0.0.1:0".parse().unwrap());
        Server::with(testserver::Config {
            engine,
            ..testserver::Config::new(address)
        })
    }

    fn with(config: testserver::Config) -> Server {
        let stop = Stop::new();
        let secure = config.tls.is_some();
        let running = testserver::start(config, &stop).unwrap();
        let (port, unix) = match running.address().clone() {
            Address::Tcp(address) => (address.port(), None),
            Address::Unix(path) => (0, Some(path)),
        };
        Server {
            port,
            unix,
            secure,
            stop,
            running: Some(running),
        }
    }

    fn plan(&self, path: &str, engine: EngineChoice) -> Plan {
        let mut plan = Plan::new(&format!("http://127.0.0.1:{}{path}", self.port)).unwrap();
        plan.engine = engine.to_string();
        plan.connections = 4;
        plan.duration_s = None;
        plan.count = Some(100);
        plan
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop.request(Signal::Terminate);
        if let Some(running) = self.running.take() {
            running.join().unwrap();
        }
    }
}

/// Runs `body` for each engine that opens here. One that does not is skipped loudly, and in CI
/// that fails.
fn on_each_engine(body: impl Fn(EngineChoice)) {
    for engine in [EngineChoice::Uring, EngineChoice::Epoll] {
        match choice::decide(engine) {
            Ok(_) => body(engine),
            Err(why) => {
                skip::skip(format!("{engine} does not open here: {why}"));
            }
        }
    }
}

fn run(plan: &Plan) -> Record {
    load::run(plan, &Stop::new(), &mut |_| {}).unwrap()
}

fn errors(record: &Record) -> Vec<(&str, u64)> {
    record
        .errors
        .iter()
        .filter(|(_, n)| **n > 0)
        .map(|(kind, n)| (&**kind, *n))
        .collect()
}

#[test]
fn a_counted_run_makes_exactly_as_many_exchanges() {
    on_each_engine(|engine| {
        let server = Server::start(engine);
        let mut plan = server.plan("/", engine);
        (plan.connections, plan.threads, plan.count) = (5, 2, Some(1003));
        let record = run(&plan);
        assert_eq!(record.exchanges.completed, 1003);
        assert_eq!(record.status["200"], 1003);
        assert_eq!(
            (record.exchanges.failed, record.exchanges.unfinished),
            (0, 0)
        );
        assert_eq!(record.ended_by, EndedBy::Count);
        assert_eq!(record.connections.opened, 5);
        assert_eq!(record.offered_rate, None);
        assert!(record.valid, "{:?}", record.warnings);
        let bytes_each = plan.contact().http1().unwrap().len() as u64;
        assert_eq!(record.bytes.sent, 1003 * bytes_each);
        assert!(record.response_time_us.min.unwrap() > 0.0);
    });
}

#[test]
fn every_framing_of_an_answer_is_read() {
    on_each_engine(|engine| {
        let server = Server::start(engine);
        for (path, method) in [
            ("/json", "GET"),
            ("/bytes/0", "GET"),
            ("/bytes/3000000", "GET"),
            ("/chunked/10", "GET"),
            ("/status/204", "GET"),
            ("/bytes/1000", "HEAD"),
        ] {
            let mut plan = server.plan(path, engine);
            plan.request.method = method.into();
            plan.count = Some(20);
            let record = run(&plan);
            assert_eq!(
                record.exchanges.completed, 20,
                "{method} {path}: {record:?}"
            );
        }
    });
}

#[test]
fn a_large_body_is_sent_whole_and_comes_back() {
    on_each_engine(|engine| {
        let server = Server::start(engine);
        let mut plan = server.plan("/echo", engine);
        plan.request.method = "POST".into();
        plan.request.body = (0..700_000u32).map(|n| (n % 251) as u8).collect();
        plan.count = Some(12);
        let record = run(&plan);
        assert_eq!(record.exchanges.completed, 12, "{:?}", record.errors);
        assert!(record.bytes.sent >= 12 * 700_000);
        assert!(record.bytes.received >= 12 * 700_000);
    });
}

#[test]
fn pipelined_answers_are_all_counted() {
    on_each_engine(|engine| {
        let server = Server::start(engine);
        let mut plan = server.plan("/", engine);
        (plan.pipeline, plan.count) = (16, Some(5001));
        let record = run(&plan);
        assert_eq!(record.exchanges.completed, 5001);
        // A request too long for quiet sends takes the other way through the worker.
        plan.request
            .headers
            .push(("X-Long".into(), "x".repeat(3000)));
        let record = run(&plan);
        assert_eq!(record.exchanges.completed, 5001);
    });
}

#[test]
fn without_keep_alive_each_exchange_has_a_connection() {
    on_each_engine(|engine| {
        let server = Server::start(engine);
        let mut plan = server.plan("/", engine);
        (plan.keep_alive, plan.count) = (false, Some(200));
        let record = run(&plan);
        assert_eq!(record.exchanges.completed, 200, "{:?}", record.errors);
        assert_eq!(record.connections.opened, 200);
        assert_eq!(record.connections.reconnects, 0);
    });
}

#[test]
fn an_open_loop_sends_what_the_schedule_says() {
    on_each_engine(|engine| {
        let server = Server::start(engine);
        let mut plan = server.plan("/", engine);
        (plan.count, plan.threads) = (None, 2);
        plan.duration_s = Some(0.5);
        plan.schedule = Schedule::Constant { rate: 2000.0 };
        let record = run(&plan);
        assert_eq!(
            record.exchanges.completed + record.exchanges.unfinished,
            1000
        );
        assert_eq!(record.offered_rate.map(f64::round), Some(2000.0));
        assert!(record.lateness_us.p50.is_some());

        plan.duration_s = None;
        let stages = parse_stages("0:1000@200ms,1000@200ms").unwrap();
        plan.schedule = Schedule::Stages {
            arrivals: Arrivals::Constant,
            stages,
        };
        let record = run(&plan);
        assert_eq!(
            record.exchanges.completed + record.exchanges.unfinished,
            300
        );
        assert_eq!(record.ended_by, EndedBy::Stages);
    });
}

#[test]
fn each_fault_of_a_server_is_counted_by_its_kind() {
    on_each_engine(|engine| {
        let server = Server::start(engine);
        for (path, kind) in [
            ("/reset", "reset"),
            ("/truncate", "early_close"),
            ("/garbage", "protocol_violation"),
            ("/status/503", "unexpected_status"),
        ] {
            let mut plan = server.plan(path, engine);
            plan.count = Some(12);
            let record = run(&plan);
            assert_eq!(errors(&record), [(kind, 12)], "{path}");
            assert_eq!(record.exchanges.failed, 12, "{path}");
            assert_eq!(record.exchanges.completed, 0, "{path}");
            assert!(
                !record.valid,
                "{path}: a run without one good exchange is not valid"
            );
        }
    });
}

#[test]
fn a_server_that_never_answers_is_a_timeout_with_a_censored_sample() {
    on_each_engine(|engine| {
        let server = Server::start(engine);
        let mut plan = server.plan("/stall", engine);
        (plan.count, plan.timeout_s) = (Some(8), 0.1);
        let record = run(&plan);
        assert_eq!(errors(&record), [("timeout", 8)]);
        assert_eq!(record.exchanges.censored, 8);
        assert!(record.response_time_us.min.unwrap() >= 100_000.0);
        assert_eq!(
            record.connections.reconnects, 4,
            "each connection was opened again once"
        );
    });
}

#[test]
fn what_was_due_and_never_sent_is_unfinished_and_censored() {
    on_each_engine(|engine| {
        let server = Server::start(engine);
        let mut plan = server.plan("/stall", engine);
        (plan.count, plan.connections, plan.timeout_s) = (None, 1, 0.2);
        plan.duration_s = Some(0.1);
        plan.schedule = Schedule::Constant { rate: 1000.0 };
        let record = run(&plan);
        assert_eq!(record.exchanges.completed, 0);
        assert_eq!(record.exchanges.failed + record.exchanges.unfinished, 100);
        assert_eq!(record.exchanges.censored, 100);
    });
}

#[test]
fn a_delay_is_never_measured_as_less() {
    on_each_engine(|engine| {
        let server = Server::start(engine);
        let mut plan = server.plan("/delay/20ms", engine);
        plan.count = Some(20);
        let record = run(&plan);
        assert_eq!(record.exchanges.completed, 20);
        assert!(
            record.service_time_us.min.unwrap() >= 20_000.0,
            "{:?}",
            record.service_time_us
        );
    });
}

#[test]
fn a_stopped_run_reports_what_it_measured() {
    on_each_engine(|engine| {
        let server = Server::start(engine);
        let mut plan = server.plan("/", engine);
        (plan.count, plan.duration_s) = (None, Some(3600.0));
        let stop = Stop::new();
        // Twice a second; the second call has measured something.
        let mut calls = 0;
        let record = load::run(&plan, &stop.clone(), &mut |progress| {
            calls += 1;
            if calls >= 2 && progress.completed > 0 {
                stop.request(Signal::Interrupt);
            }
        });
        let record = record.unwrap();
        assert_eq!(record.ended_by, EndedBy::Interrupt);
        assert!(record.exchanges.completed > 0);
        assert!(record.duration_s < 3000.0);
        assert!(!record.series.is_empty());
    });
}

#[test]
fn a_unix_socket_is_loaded_like_any_other() {
    on_each_engine(|engine| {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("socket");
        let stop = Stop::new();
        let address = Address::Unix(path.clone());
        let config = testserver::Config {
            engine,
            ..testserver::Config::new(address)
        };
        let running = testserver::start(config, &stop).unwrap();
        let mut plan = Plan::new("http://localhost/json").unwrap();
        plan.engine = engine.to_string();
        (plan.duration_s, plan.count) = (None, Some(50));
        plan.target.unix_socket = Some(path);
        let record = run(&plan);
        assert_eq!(record.exchanges.completed, 50);
        let answer = load::probe(&plan, Duration::from_secs(5)).unwrap();
        assert_eq!(
            (answer.status, &*answer.body),
            (200, &b"{\"status\":\"ok\"}"[..])
        );
        stop.request(Signal::Terminate);
        running.join().unwrap();
    });
}

#[test]
fn a_dead_port_is_told_before_anything_is_sent() {
    // Port 1, tcpmux (RFC 1078), which nobody has served for decades.
    let plan = Plan::new("http://127.0.0.1:1/").unwrap();
    let error = load::run(&plan, &Stop::new(), &mut |_| {}).unwrap_err();
    let LoadError::Unreachable(text) = error else {
        panic!("{error:?}")
    };
    assert!(
        text.contains("start the server, or check the port"),
        "{text}"
    );
}

#[test]
fn limits_of_the_host_are_told_before_anything_is_opened() {
    let server = Server::start(EngineChoice::Epoll);
    let mut plan = server.plan("/", EngineChoice::Epoll);
    plan.connections = 1_000_000;
    // Where this host would allow that many, the tests do with fewer.
    let limit = getrlimit(Resource::Nofile);
    if limit.current.is_none_or(|current| current > 100_000) {
        let current = Some(100_000);
        setrlimit(Resource::Nofile, Rlimit { current, ..limit }).expect("lower is always allowed");
    }
    let error = load::run(&plan, &Stop::new(), &mut |_| {}).unwrap_err();
    let LoadError::Limits(text) = error else {
        panic!("{error:?}")
    };
    assert!(text.contains("ulimit -n"), "{text}");

    plan.connections = 4;
    plan.source_addresses = vec!["192.0.2.1".parse().unwrap()];
    let error = load::run(&plan, &Stop::new(), &mut |_| {}).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("192.0.2.1 isn't an address of this host"),
        "{error}"
    );
}

#[test]
fn connections_take_the_source_addresses_in_turn() {
    on_each_engine(|engine| {
        let server = Server::start(engine);
        let mut plan = server.plan("/", engine);
        plan.source_addresses = vec!["127.0.0.2".parse().unwrap(), "127.0.0.3".parse().unwrap()];
        let record = run(&plan);
        assert_eq!(record.exchanges.completed, 100, "{:?}", record.errors);
    });
}

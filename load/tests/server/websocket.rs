//! Runs over WebSocket: every way to send a message, to ping, to close and to be refused.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;

use engine::choice::EngineChoice;
use engine::signal::Stop;
use load::LoadError;
use load::plan::Plan;
use load::protocol::{Message, Protocol};
use load::schedule::Schedule;

use crate::{Server, errors, on_each_engine, run};

impl Server {
    fn messages(&self, path: &str, engine: EngineChoice) -> Plan {
        let mut plan = self.plan(path, engine);
        plan.target.scheme = "ws".into();
        plan.protocol = message(b"sixteen bytes ok", false, None);
        plan
    }
}

fn message(payload: &[u8], binary: bool, ping_every_s: Option<f64>) -> Protocol {
    Protocol::WebSocket {
        message: Message {
            payload: payload.to_vec(),
            binary,
            ping_every_s,
        },
    }
}

#[test]
fn every_message_is_answered_by_its_echo() {
    on_each_engine(|engine| {
        let server = Server::start(engine);
        for (payload, binary, pipeline) in [
            (&b"sixteen bytes ok"[..], false, 1),
            (b"", true, 1),
            (b"sixteen bytes ok", false, 8),
            (&[0xff; 3000], true, 1),
            (&[b'x'; 3000], false, 8),
            (&[0xff; 200_000], true, 2),
        ] {
            let mut plan = server.messages("/ws", engine);
            (plan.connections, plan.threads, plan.count) = (5, 2, Some(1003));
            plan.protocol = message(payload, binary, None);
            plan.pipeline = pipeline;
            let record = run(&plan);
            assert_eq!(record.exchanges.completed, 1003, "{:?}", record.errors);
            let messages = &record.messages;
            assert_eq!((messages.sent, messages.received), (1003, 1003));
            assert_eq!(record.connections.opened, 5);
            assert!(record.bytes.sent >= 1003 * (payload.len() as u64 + 6));
            assert!(record.status.is_empty(), "{:?}", record.status);
            assert!(record.valid, "{:?}", record.warnings);
        }
    });
}

#[test]
fn an_open_loop_keeps_its_rate_and_pings_are_measured_beside_it() {
    on_each_engine(|engine| {
        let server = Server::start(engine);
        let mut plan = server.messages("/ws", engine);
        plan.protocol = message(b"x", false, Some(0.02));
        plan.schedule = Schedule::Constant { rate: 1000.0 };
        (plan.count, plan.duration_s) = (None, Some(0.5));
        let record = run(&plan);
        assert_eq!(record.exchanges.completed, 500, "{:?}", record.errors);
        let ping = &record.ping_time_us;
        assert!(ping.min.unwrap() > 0.0 && ping.max.unwrap() >= ping.min.unwrap());
    });
}

#[test]
fn a_server_that_closes_ends_its_connections_and_not_the_run() {
    on_each_engine(|engine| {
        let server = Server::start(engine);
        for (path, kind) in [("/ws/close/4000", "early_close"), ("/ws/drop", "reset")] {
            let mut plan = server.messages(path, engine);
            (plan.count, plan.connections) = (Some(40), 4);
            let record = run(&plan);
            assert_eq!(record.exchanges.failed, 40);
            assert_eq!(errors(&record), [(kind, 40)], "{path}");
            assert!(record.connections.reconnects > 0);
            let codes: Vec<_> = record.close_codes.into_iter().collect();
            match path {
                // One for each message: a connection without one isn't closed.
                "/ws/close/4000" => assert_eq!(codes, [("4000".to_owned(), 40)]),
                _ => assert_eq!(codes, []),
            }
        }
        let mut plan = server.messages("/ws/stall", engine);
        (plan.count, plan.connections, plan.timeout_s) = (Some(4), 4, 0.1);
        let record = run(&plan);
        assert_eq!(errors(&record), [("timeout", 4)]);
    });
}

#[test]
fn a_connection_for_each_message_is_upgraded_and_closed_each_time() {
    on_each_engine(|engine| {
        let server = Server::start(engine);
        for payload in [&b"x"[..], &[b'x'; 5000]] {
            let mut plan = server.messages("/ws", engine);
            plan.protocol = message(payload, false, None);
            plan.keep_alive = false;
            let record = run(&plan);
            assert_eq!(record.exchanges.completed, 100, "{:?}", record.errors);
            assert_eq!(errors(&record), []);
            assert_eq!(record.connections.opened, 100);
        }
    });
}

#[test]
fn an_upgrade_that_is_refused_is_told_with_its_status() {
    on_each_engine(|engine| {
        let server = Server::start(engine);
        for (path, status) in [("/", "200"), ("/none", "404"), ("/ws/close/1", "400")] {
            let plan = server.messages(path, engine);
            let error = load::run(&plan, &Stop::new(), &mut |_| {}).unwrap_err();
            let text = error.to_string();
            assert!(text.contains(&format!("status {status}")), "{text}");
        }
        let mut plan = server.messages("/ws", engine);
        plan.request.method = "POST".into();
        let error = load::run(&plan, &Stop::new(), &mut |_| {}).unwrap_err();
        assert!(matches!(&error, LoadError::Invalid(text) if text.contains("--message")));
    });
}

/// A server that upgrades so many connections, refuses the others, and answers no message.
fn fickle(upgrades: usize) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for (number, stream) in listener.incoming().enumerate() {
            let Ok(stream) = stream else { return };
            thread::spawn(move || answer(stream, number < upgrades));
        }
    });
    port
}

fn answer(mut stream: TcpStream, upgrade: bool) -> Option<()> {
    use proto::http1::server::{Event, Limits, Server};

    let mut bytes = [0; 4096];
    let count = stream.read(&mut bytes).ok()?;
    let (mut machine, mut input) = (Server::new(Limits::default()), &bytes[..count]);
    let mut memo = proto::http1::HeadMemo::new();
    let Ok(Some(Event::Request(request))) = machine.next(&mut input, &mut memo) else {
        return None;
    };
    let mut out = Vec::new();
    if upgrade {
        let acceptance = proto::websocket::server::accept(&request).ok()?;
        acceptance.encode(&mut out);
    } else {
        out.extend_from_slice(b"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n");
    }
    stream.write_all(&out).ok()?;
    while stream.read(&mut bytes).ok()? > 0 {}
    Some(())
}

#[test]
fn upgrades_that_are_refused_later_are_counted_and_warned_of() {
    on_each_engine(|engine| {
        // One for the look before the run, and two of four connections.
        let mut plan = Plan::new(&format!("ws://127.0.0.1:{}/", fickle(3))).unwrap();
        plan.engine = engine.to_string();
        (plan.connections, plan.duration_s, plan.timeout_s) = (4, Some(0.3), 0.1);
        let record = run(&plan);
        assert!(record.errors["upgrade_refused"] >= 2, "{:?}", record.errors);
        let warned = |text: &String| text.contains("refused WebSocket upgrades");
        assert!(record.warnings.iter().any(warned), "{:?}", record.warnings);
        assert!(record.warnings.iter().any(|text| text.contains("503")));
    });
}

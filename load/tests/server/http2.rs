//! Runs over HTTP/2 and gRPC: streams, bodies, faults, and what each comes to.

use engine::choice::EngineChoice;
use load::plan::Plan;
use load::protocol::{Call, CallKind, Http2, Protocol};
use load::schedule::Schedule;

use crate::{Server, errors, on_each_engine, run};

impl Server {
    fn streams(&self, path: &str, engine: EngineChoice, streams: u32) -> Plan {
        let mut plan = self.plan(path, engine);
        let http2 = Http2 {
            streams,
            ..Http2::default()
        };
        plan.protocol = Protocol::Http2 { http2 };
        plan
    }

    fn call(&self, method: &str, engine: EngineChoice, kind: CallKind, messages: usize) -> Plan {
        let mut plan = self.streams(&format!("/ringside.Echo/{method}"), engine, 10);
        let Some(http2) = plan.protocol.http2().copied() else {
            unreachable!("it was made so")
        };
        let call = Call {
            kind,
            messages: vec![b"\x0a\x05hello".to_vec(); messages],
            deadline_s: Some(5.0),
        };
        plan.protocol = Protocol::Grpc { http2, call };
        plan
    }
}

#[test]
fn a_counted_run_over_streams_makes_exactly_as_many_exchanges() {
    on_each_engine(|engine| {
        let server = Server::start(engine);
        let mut plan = server.streams("/", engine, 20);
        (plan.connections, plan.threads, plan.count) = (5, 2, Some(1003));
        let record = run(&plan);
        assert_eq!(record.exchanges.completed, 1003, "{:?}", record.errors);
        assert_eq!(record.status["200"], 1003);
        assert_eq!(errors(&record), []);
        assert_eq!(record.connections.opened, 5);
        assert!(record.valid, "{:?}", record.warnings);
        let set_up = &record.connections;
        assert!(set_up.set_up_time_us.max >= set_up.tcp_time_us.max);
        assert!(set_up.tcp_time_us.min.unwrap() > 0.0);
    });
}

#[test]
fn an_open_loop_over_streams_keeps_its_rate() {
    on_each_engine(|engine| {
        let server = Server::start(engine);
        let mut plan = server.streams("/delay/20ms", engine, 50);
        plan.schedule = Schedule::Constant { rate: 500.0 };
        (plan.connections, plan.count, plan.duration_s) = (2, None, Some(1.0));
        let record = run(&plan);
        assert_eq!(record.exchanges.completed, 500, "{:?}", record.errors);
        assert!(record.service_time_us.min.unwrap() >= 20_000.0);
        assert_eq!(record.connections.opened, 2);
    });
}

#[test]
fn every_answer_is_read_over_http2() {
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
            let mut plan = server.streams(path, engine, 5);
            plan.request.method = method.into();
            plan.count = Some(40);
            let record = run(&plan);
            assert_eq!(
                record.exchanges.completed, 40,
                "{method} {path}: {record:?}"
            );
        }
        let record = run(&server.streams("/status/503", engine, 5));
        assert_eq!(errors(&record), [("unexpected_status", 100)]);
    });
}

#[test]
fn bodies_larger_than_every_window_are_sent_and_come_back() {
    on_each_engine(|engine| {
        let server = Server::start(engine);
        let mut plan = server.streams("/echo", engine, 4);
        if let Some(http2) = plan.protocol.http2_mut() {
            (http2.stream_window_bytes, http2.connection_window_bytes) = (10_000, 65_535);
        }
        plan.request.method = "POST".into();
        plan.request.body = vec![b'x'; 300_000];
        (plan.count, plan.timeout_s) = (Some(40), 30.0);
        let record = run(&plan);
        assert_eq!(record.exchanges.completed, 40, "{:?}", record.errors);
        assert!(record.bytes.sent >= 40 * 300_000 && record.bytes.received >= 40 * 300_000);
    });
}

#[test]
fn every_fault_over_http2_has_its_kind() {
    on_each_engine(|engine| {
        let server = Server::start(engine);
        for (path, kind, reconnects) in [
            ("/h2/reset/CANCEL", "stream_reset", false),
            ("/stall", "timeout", false),
            ("/garbage", "protocol_violation", true),
        ] {
            let mut plan = server.streams(path, engine, 5);
            (plan.count, plan.timeout_s) = (Some(50), 0.3);
            let record = run(&plan);
            let counted: Vec<&str> = errors(&record).into_iter().map(|(kind, _)| kind).collect();
            assert!(counted.contains(&kind), "{path}: {:?}", record.errors);
            let exchanges = &record.exchanges;
            assert_eq!((exchanges.completed, exchanges.failed), (0, 50), "{path}");
            assert_eq!(record.connections.reconnects > 0, reconnects, "{path}");
        }
    });
}

#[test]
fn a_server_that_goes_away_after_each_answer_fails_nothing() {
    on_each_engine(|engine| {
        let server = Server::start(engine);
        let mut plan = server.streams("/h2/goaway", engine, 1);
        (plan.connections, plan.count) = (3, Some(60));
        let record = run(&plan);
        assert_eq!(record.exchanges.completed, 60, "{:?}", record.errors);
        assert_eq!(record.exchanges.failed, 0, "{:?}", record.errors);
        let reopened = record.connections.reopened;
        assert!(reopened >= 57, "{reopened}");
        assert_eq!(record.connections.reconnects, 0);
    });
}

#[test]
fn a_stream_that_is_refused_again_and_again_fails_in_the_end() {
    on_each_engine(|engine| {
        let server = Server::start(engine);
        let mut plan = server.streams("/h2/reset/REFUSED_STREAM", engine, 3);
        plan.count = Some(20);
        let record = run(&plan);
        assert_eq!(
            (record.exchanges.completed, record.exchanges.failed),
            (0, 20)
        );
        // Five times sent again, and then given up.
        let expected = [("stream_given_up", 20), ("stream_refused", 100)];
        assert_eq!(errors(&record), expected);
    });
}

#[test]
fn calls_of_each_kind_are_counted_with_their_messages() {
    on_each_engine(|engine| {
        let server = Server::start(engine);
        for (method, kind, sent) in [
            ("Echo", CallKind::Unary, 1),
            ("EchoClientStream", CallKind::ClientStream, 3),
            ("EchoServerStream", CallKind::ServerStream, 1),
            ("EchoBidirectional", CallKind::Bidirectional, 3),
        ] {
            let mut plan = server.call(method, engine, kind, sent);
            plan.count = Some(500);
            let record = run(&plan);
            assert_eq!(
                record.exchanges.completed, 500,
                "{method}: {:?} {:?}",
                record.errors, record.grpc_status
            );
            assert_eq!(record.grpc_status["OK"], 500, "{method}");
            assert_eq!(record.messages.sent, 500 * sent as u64, "{method}");
            let expected = if kind == CallKind::Bidirectional {
                3
            } else {
                1
            };
            assert!(record.messages.received >= 500 * expected, "{method}");
        }
        let mut plan = server.call("Missing", engine, CallKind::Unary, 1);
        plan.count = Some(50);
        let record = run(&plan);
        assert_eq!(record.grpc_status["UNIMPLEMENTED"], 50);
        assert_eq!(errors(&record), [("grpc_status", 50)]);
    });
}

//! Events inside answers over real sockets: none is lost, by whatever protocol they come.

use engine::choice::EngineChoice;
use load::plan::Plan;
use load::protocol::{Http2, Protocol};

use crate::{Server, errors, on_each_engine, run};

fn plans(server: &Server, path: &str, engine: EngineChoice) -> [Plan; 2] {
    let mut over_http1 = server.plan(path, engine);
    (over_http1.count, over_http1.events) = (Some(40), true);
    let mut over_http2 = over_http1.clone();
    let http2 = Http2 {
        streams: 5,
        ..Http2::default()
    };
    over_http2.protocol = Protocol::Http2 { http2 };
    [over_http1, over_http2]
}

#[test]
fn no_event_is_lost_and_none_comes_too_soon() {
    on_each_engine(|engine| {
        let server = Server::start(engine);
        for plan in plans(&server, "/events/25/1ms?first=5ms", engine) {
            let record = run(&plan);
            let streams = record.streams.as_ref().unwrap();
            assert_eq!(errors(&record), []);
            assert_eq!((streams.streams, streams.events), (40, 1_000));
            assert_eq!(streams.event_gap_us.count, Some(40 * 24));
            assert_eq!(streams.first_event_us.count, Some(40));
            assert!(streams.first_event_us.min.unwrap() >= 5_000.0);
            assert!(streams.first_byte_us.min < streams.first_event_us.min);
            assert_eq!((streams.empty, streams.torn, streams.cut_off), (0, 0, 0));
            assert!(record.valid, "{:?}", record.warnings);
        }
    });
}

#[test]
fn a_completion_is_done_when_it_says_so_and_that_is_no_event() {
    on_each_engine(|engine| {
        let server = Server::start(engine);
        for mut plan in plans(&server, "/v1/chat/completions?first=1ms&every=1ms", engine) {
            plan.request.method = "POST".into();
            plan.request.body = br#"{"stream":true,"max_tokens":12}"#.to_vec();
            let record = run(&plan);
            let streams = record.streams.as_ref().unwrap();
            assert_eq!(errors(&record), []);
            assert_eq!((streams.done, streams.events), (40, 40 * 12));
        }
    });
}

#[test]
fn a_stream_without_end_ends_with_the_run_and_is_no_failure() {
    on_each_engine(|engine| {
        let server = Server::start(engine);
        for mut plan in plans(&server, "/events/1000000/5ms", engine) {
            (plan.count, plan.duration_s) = (None, Some(0.3));
            plan.timeout_s = 0.3;
            let record = run(&plan);
            let streams = record.streams.as_ref().unwrap();
            let all = u64::from(plan.connections * plan.depth());
            assert_eq!(record.exchanges.unfinished, all, "{:?}", record.errors);
            assert_eq!((streams.cut_off, record.lost().count()), (all, 0));
            assert!(streams.events > all, "{}", streams.events);
            assert!(record.valid, "{:?}", record.warnings);
        }
    });
}

#[test]
fn an_answer_that_is_no_stream_has_a_first_byte_and_a_warning() {
    on_each_engine(|engine| {
        let server = Server::start(engine);
        for plan in plans(&server, "/bytes/5000", engine) {
            let record = run(&plan);
            let streams = record.streams.as_ref().unwrap();
            assert_eq!(streams.first_byte_us.count, Some(40));
            assert_eq!((streams.streams, streams.events), (0, 0));
            let warnings = record.warnings.join("\n");
            assert!(
                warnings.contains("no answer was a stream of events"),
                "{warnings}"
            );
        }
    });
}

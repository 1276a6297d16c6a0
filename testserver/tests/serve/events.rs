//! Streams of events, and completions of a language model that understands nothing.

use testserver::Config;

use crate::client::{Server, config, each_engine, get};

fn completion(path: &str, body: &str) -> String {
    let length = body.len();
    format!("POST {path} HTTP/1.1\r\nHost: a\r\nContent-Length: {length}\r\n\r\n{body}")
}

#[test]
fn events_come_all_and_in_their_order_whatever_their_pace() {
    each_engine(|engine| {
        let server = Server::with(engine);
        for (path, count) in [
            ("/events/0/1ms", 0),
            ("/events/1/1h", 1),
            ("/events/20/1ms", 20),
            ("/events/3/5ms?first=exp:2ms", 3),
            ("/events/3/0?first=1ms..2ms&every=1ms", 3),
            ("/events/20k/0", 20_000),
        ] {
            let answer = server.ask(&get(path));
            assert_eq!(answer.status, 200, "{path}");
            assert_eq!(answer.field("Content-Type"), Some("text/event-stream"));
            let expected: String = (0..count).map(|n| format!("data: {n}\n\n")).collect();
            assert!(
                answer.body == expected.as_bytes(),
                "{path}: {}",
                answer.text()
            );
        }
    });
}

#[test]
fn what_can_t_be_read_of_a_pace_is_refused_with_what_to_write() {
    each_engine(|engine| {
        let server = Server::with(engine);
        for path in [
            "/events/",
            "/events/10",
            "/events/x/1ms",
            "/events/10/soon",
            "/events/10/2h",
            "/events/10/1ms?first=2ms..1ms",
            "/events/10/1ms?first=exp",
        ] {
            assert_eq!(server.ask(&get(path)).status, 400, "{path}");
        }
    });
}

#[test]
fn a_client_that_leaves_or_takes_nothing_holds_nobody_up() {
    each_engine(|engine| {
        let server = Server::start(&Config {
            threads: 1,
            ..config(engine)
        });
        let mut slow = server.connect();
        slow.send(get("/events/1M/0"));
        for _ in 0..50 {
            let mut leaves = server.connect();
            leaves.send(get("/events/1M/1ms"));
        }
        let answer = server.ask(&get("/events/100/1ms"));
        assert_eq!(answer.text().matches("data: ").count(), 100);
        // What wasn't taken has waited, and none of it is lost.
        let answer = slow.answer();
        assert!(answer.text().ends_with("data: 999999\n\n"));
        assert_eq!(answer.text().matches("data: ").count(), 1_000_000);
    });
}

#[test]
fn a_completion_has_an_event_for_each_token_and_one_that_ends_it() {
    each_engine(|engine| {
        let server = Server::with(engine);
        let path = "/v1/chat/completions?first=1ms&every=0";
        let body = r#"{"model":"a \"b\"","stream":true,"max_tokens":5,"messages":[]}"#;
        let answer = server.ask(&completion(path, body));
        assert_eq!(answer.field("Content-Type"), Some("text/event-stream"));
        let text = answer.text();
        let events: Vec<&str> = text.split_terminator("\n\n").collect();
        assert_eq!(events.len(), 6, "{text}");
        assert!(
            events[..5]
                .iter()
                .all(|event| event.contains(r#""model":"a \"b\"""#))
        );
        assert!(events[3].contains(r#""finish_reason":null"#), "{text}");
        assert!(events[4].contains(r#""finish_reason":"length""#), "{text}");
        assert_eq!(events[5], "data: [DONE]");
        let default = server.ask(&completion(path, r#"{"stream":true}"#));
        assert_eq!(default.text().matches("data: ").count(), 17);
    });
}

#[test]
fn a_completion_that_is_no_stream_comes_at_once_and_late() {
    each_engine(|engine| {
        let server = Server::with(engine);
        let path = "/v1/chat/completions?first=1ms&every=1ms";
        let answer = server.ask(&completion(path, r#"{"max_completion_tokens":3}"#));
        assert_eq!(answer.field("Content-Type"), Some("application/json"));
        assert!(answer.text().contains(r#""content":" token token token""#));
        for wrong in [
            "",
            "{",
            "[]",
            r#"{"stream":"yes"}"#,
            r#"{"max_tokens":1e9}"#,
        ] {
            assert_eq!(server.ask(&completion(path, wrong)).status, 400, "{wrong}");
        }
        assert_eq!(server.ask(&get("/v1/chat/completions")).status, 400);
    });
}

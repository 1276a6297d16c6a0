//! The client role: requests, places, credit for bodies, and connections that end.

use proto::http2::client::{Client, Event, Request};
use proto::http2::{Config, ErrorCode};

use crate::harness::*;

/// A client whose server has sent these settings, and an empty `out`.
fn ready_client(config: Config, server: &[(u16, u32)]) -> (Client, Vec<u8>) {
    let mut out = Vec::new();
    let mut client = Client::new(config, &mut out);
    assert!(!client.ready());
    feed(&mut client, &settings(server), &mut out);
    assert!(client.ready());
    out.clear();
    (client, out)
}

/// Feeds bytes; returns the places of requests that were reset, and whether unprocessed.
fn feed(client: &mut Client, mut input: &[u8], out: &mut Vec<u8>) -> Vec<(u32, bool)> {
    let mut resets = Vec::new();
    while let Some(event) = client.next(&mut input, out).expect("valid frames") {
        if let Event::Reset {
            place, unprocessed, ..
        } = event
        {
            resets.push((place, unprocessed));
        }
    }
    resets
}

fn get() -> Request {
    request(GET, "")
}

#[test]
fn answers_come_back_at_the_places_of_their_requests() {
    let side = Side::Client(vec![get(), get(), get()]);
    let trailers: &[Field] = &[("grpc-status", "0")];
    check(
        &side,
        &[
            (
                "in another order, mixed",
                vec![
                    headers(5, 0, OK),
                    headers(1, 0, OK),
                    data(5, 0, "five"),
                    data(1, END, "one"),
                    headers(3, END, &[(":status", "404")]),
                    data(5, 0, "!"),
                    headers(5, END, trailers),
                ],
                "head 2 200, head 0 200, data 2 five, data 0 one, end 0, head 1 404, end 1, \
                 data 2 !, trailers 2 grpc-status=0",
                "",
            ),
            (
                "resets",
                vec![
                    number(RST_STREAM, 3, 7),
                    number(RST_STREAM, 1, 2),
                    number(RST_STREAM, 5, 99),
                ],
                "reset 1 REFUSED_STREAM unprocessed, reset 0 INTERNAL_ERROR, \
                 reset 2 error code 0x63",
                "",
            ),
            (
                "a response that goes on",
                vec![headers(1, END, OK), data(1, END, "x")],
                "head 0 200, end 0, failed RFC 9113 §5.1",
                "goaway 0 STREAM_CLOSED",
            ),
            (
                "a graceful goaway",
                vec![goaway(3, 0), headers(3, END, OK), headers(1, END, OK)],
                "goaway 3 NO_ERROR, reset 2 REFUSED_STREAM unprocessed, \
                 head 1 200, end 1, head 0 200, end 0",
                "",
            ),
            (
                "a goaway that comes in two steps",
                vec![goaway(u32::MAX >> 1, 0), goaway(1, 11)],
                "goaway 2147483647 NO_ERROR, goaway 1 ENHANCE_YOUR_CALM, \
                 reset 1 REFUSED_STREAM unprocessed, reset 2 REFUSED_STREAM unprocessed",
                "",
            ),
        ],
    );
}

#[test]
fn capacity_is_what_both_sides_allow() {
    let config = Config {
        streams: 4,
        ..Config::default()
    };
    let (mut client, mut out) = ready_client(config, &[(STREAMS, 3)]);
    assert_eq!(client.capacity(), 3);
    for place in [3, 0, 1] {
        client.request(&get(), place, &mut out).expect("capacity");
    }
    assert_eq!((client.capacity(), client.outstanding()), (0, 3));
    assert!(client.request(&get(), 2, &mut out).is_err(), "no capacity");
    assert_eq!(feed(&mut client, &headers(3, END, OK), &mut out), []);
    let written_before = out.len();
    assert!(
        client.request(&get(), 3, &mut out).is_err(),
        "a place that is taken"
    );
    assert!(
        client.request(&get(), 4, &mut out).is_err(),
        "a place too high"
    );
    assert_eq!(out.len(), written_before);
    client.request(&get(), 0, &mut out).expect("a free place");
    client.close(ErrorCode::NO_ERROR, &mut out);
    feed(&mut client, &headers(1, END, OK), &mut out);
    assert_eq!((client.capacity(), client.outstanding()), (0, 2));

    let (mut client, mut out) = ready_client(config, &[]);
    assert_eq!(client.capacity(), 4, "no limit of the server's");
    feed(&mut client, &goaway(0, 0), &mut out);
    assert_eq!(client.capacity(), 0);
}

#[test]
fn a_repeated_request_costs_a_few_bytes() {
    let (mut client, mut out) = ready_client(Config::default(), &[]);
    let get = get();
    let mut sizes = Vec::new();
    for place in 0..4 {
        out.clear();
        client.request(&get, place, &mut out).expect("capacity");
        sizes.push(out.len());
    }
    assert_eq!(
        sizes,
        [9 + 13, 9 + 4, 9 + 4, 9 + 4],
        "the frame and four indexes"
    );
}

#[test]
fn a_body_leaves_as_credit_comes() {
    let (mut client, mut out) = ready_client(Config::default(), &[(WINDOW, 4)]);
    let post = request(POST, "0123456789");
    client.request(&post, 0, &mut out).expect("capacity");
    client.request(&get(), 1, &mut out).expect("capacity");
    let wrote = "head 1 POST http /up, data 1 0123, head 3 GET http / example.org end";
    assert_eq!(written(&out), wrote);
    let mut after = |frame: Vec<u8>| {
        let mut out = Vec::new();
        feed(&mut client, &frame, &mut out);
        written(&out)
    };
    assert_eq!(after(number(WINDOW_UPDATE, 0, 100)), "");
    assert_eq!(after(number(WINDOW_UPDATE, 1, 2)), "data 1 45");
    assert_eq!(after(settings(&[(WINDOW, 5)])), "settings ack, data 1 6");
    assert_eq!(after(settings(&[(WINDOW, 0)])), "settings ack");
    assert_eq!(
        after(number(WINDOW_UPDATE, 1, 5)),
        "",
        "no more than zero now"
    );
    assert_eq!(after(number(WINDOW_UPDATE, 1, 50)), "data 1 789 end");
    assert_eq!(after(number(WINDOW_UPDATE, 1, 50)), "");
}

#[test]
fn bodies_share_the_window_of_the_connection() {
    let (mut client, mut out) = ready_client(Config::default(), &[(WINDOW, 1 << 20)]);
    let body = "x".repeat(50_000);
    for place in 0..3 {
        client
            .request(&request(POST, &body), place, &mut out)
            .expect("capacity");
    }
    let total = |out: &[u8]| written(out).matches('x').count();
    assert_eq!(total(&out), 65_535);
    out.clear();
    feed(&mut client, &number(WINDOW_UPDATE, 0, 40_000), &mut out);
    assert_eq!(total(&out), 40_000);
    out.clear();
    feed(&mut client, &number(WINDOW_UPDATE, 0, 1 << 20), &mut out);
    assert_eq!(total(&out), 150_000 - 105_535);
    assert!(written(&out).ends_with(" end"));
}

#[test]
fn a_body_that_nobody_wants_any_more_is_given_up() {
    let (mut client, mut out) = ready_client(Config::default(), &[(WINDOW, 4)]);
    let post = request(POST, "0123456789");
    client.request(&post, 0, &mut out).expect("capacity");
    // An early answer; the server may or may not say that it wants no more.
    let answer = [headers(1, END, OK), number(RST_STREAM, 1, 0)].concat();
    assert_eq!(feed(&mut client, &answer, &mut out), []);
    client
        .request(&post, 0, &mut out)
        .expect("the place is free");
    feed(&mut client, &number(RST_STREAM, 3, 5), &mut out);
    client
        .request(&post, 0, &mut out)
        .expect("the place is free");
    client.cancel(0, ErrorCode::CANCEL, &mut out);
    feed(&mut client, &number(WINDOW_UPDATE, 0, 100), &mut out);
    assert_eq!(
        written(&out),
        "head 1 POST http /up, data 1 0123, reset 1 CANCEL, head 3 POST http /up, data 3 0123, \
         head 5 POST http /up, data 5 0123, reset 5 CANCEL"
    );
}

#[test]
fn what_comes_for_a_cancelled_request_is_ignored() {
    let (mut client, mut out) = ready_client(Config::default(), &[]);
    client.request(&get(), 7, &mut out).expect("capacity");
    let answer = [headers(1, 0, OK), data(1, 0, "one and two")].concat();
    let (before, behind) = answer.split_at(answer.len() - 7);
    feed(&mut client, before, &mut out);
    client.cancel(7, ErrorCode::CANCEL, &mut out);
    client.cancel(7, ErrorCode::CANCEL, &mut out);
    client
        .request(&get(), 7, &mut out)
        .expect("the place is free");
    let late = [behind, &data(1, END, "three"), &headers(1, END, OK)].concat();
    assert_eq!(feed(&mut client, &late, &mut out), []);
    assert_eq!(written(&out).matches("reset 1 CANCEL").count(), 1);
    assert_eq!(client.outstanding(), 1);
}

#[test]
fn thousands_of_late_answers_do_no_harm() {
    let config = Config {
        streams: 2000,
        ..Config::default()
    };
    let (mut client, mut out) = ready_client(config, &[]);
    let get = get();
    for place in 0..1000 {
        client.request(&get, place, &mut out).expect("capacity");
        client.cancel(place, ErrorCode::CANCEL, &mut out);
    }
    for stream in 0..1000 {
        let late = [
            headers(2 * stream + 1, 0, OK),
            data(2 * stream + 1, END, "late"),
        ];
        assert_eq!(feed(&mut client, &late.concat(), &mut out), []);
    }
    assert_eq!(client.capacity(), 2000);
}

#[test]
fn the_end_of_a_connection_is_judged() {
    let (mut client, mut out) = ready_client(Config::default(), &[]);
    assert_eq!(client.ended(), Ok(()));
    assert_eq!(client.capacity(), 0, "no requests behind the end");

    // A server that speaks HTTP/1 only.
    let mut client = Client::new(Config::default(), &mut out);
    let mut answer = &b"HTTP/1.1 400 Bad Request\r\n\r\n"[..];
    let violation = client.next(&mut answer, &mut out).expect_err("no HTTP/2");
    assert!(
        violation.to_string().contains("HTTP/1 where"),
        "{violation}"
    );

    let (mut client, _) = ready_client(Config::default(), &[]);
    feed(&mut client, &frame(PING, 0, 0, b"12345678")[..4], &mut out);
    assert_eq!(client.ended().expect_err("a cut").clause, "RFC 9113 §4.1");

    let (mut client, mut out) = ready_client(Config::default(), &[]);
    client.request(&get(), 0, &mut out).expect("capacity");
    assert_eq!(
        client.ended().expect_err("no answer").clause,
        "RFC 9113 §8.1"
    );

    let (mut client, mut out) = ready_client(Config::default(), &[]);
    let mut bad = &data(1, 0, "x")[..];
    let violation = client.next(&mut bad, &mut out).expect_err("idle");
    assert_eq!(client.ended(), Err(violation), "the first violation stays");
    assert_eq!(client.capacity(), 0);
    assert!(client.request(&get(), 0, &mut out).is_err());
}

#[test]
fn a_ping_of_the_client_comes_back() {
    let (mut client, mut out) = ready_client(Config::default(), &[]);
    client.ping(*b"are you?", &mut out);
    assert_eq!(written(&out), "ping are you?");
    let mut answer = &frame(PING, ACK, 0, b"are you?")[..];
    let event = client.next(&mut answer, &mut out).expect("a pong");
    assert!(matches!(event, Some(Event::Pong { payload }) if payload == *b"are you?"));
}

#[test]
fn an_idle_connection_is_small() {
    let config = Config {
        streams: 1,
        header_table_bytes: 0,
        ..Config::default()
    };
    let (mut client, mut out) = ready_client(config, &[]);
    let get = get();
    for stream in (1..20).step_by(2) {
        client.request(&get, 0, &mut out).expect("capacity");
        feed(&mut client, &headers(stream, END, OK), &mut out);
    }
    let bytes = size_of::<Client>() + client.memory_bytes();
    assert!(bytes <= 1536, "{bytes} bytes");
}

#[test]
fn a_request_may_end_behind_its_head_though_it_has_no_body() {
    let (mut client, mut out) = ready_client(Config::default(), &[]);
    let requests = [request(POST, ""), request(POST, "x")];
    for (place, request) in requests.into_iter().enumerate() {
        let request = request.ended_by_data();
        client
            .request(&request, place as u32, &mut out)
            .expect("capacity");
    }
    assert_eq!(
        written(&out),
        "head 1 POST http /up, data 1  end, head 3 POST http /up, data 3 x end"
    );
    let answers = [headers(1, END, OK), headers(3, END, OK)].concat();
    feed(&mut client, &answers, &mut out);
    assert_eq!(client.outstanding(), 0);
}

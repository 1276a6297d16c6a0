//! Requests whose heads were made before it was known which connection they go to.

use proto::http2::client::{self, Client};
use proto::http2::hpack::block;
use proto::http2::server::{self, Server};
use proto::http2::{Config, Head, Limits};

use crate::harness::{
    CONTINUATION, END, Field, GET, HEADERS, OK, POST, STREAMS, WINDOW, WINDOW_UPDATE, headers,
    number, request, settings, written,
};

fn made(fields: &[Field]) -> Vec<u8> {
    let mut out = Vec::new();
    for (name, value) in fields {
        block::field(name.as_bytes(), value.as_bytes(), &mut out);
    }
    out
}

/// A client whose server has sent these settings, and an empty `out`.
fn ready_client(server: &[(u16, u32)]) -> (Client, Vec<u8>) {
    let mut out = Vec::new();
    let mut client = Client::new(Config::default(), &mut out);
    feed(&mut client, &settings(server), &mut out);
    out.clear();
    (client, out)
}

/// Feeds bytes; returns how many requests were answered.
fn feed(client: &mut Client, mut input: &[u8], out: &mut Vec<u8>) -> usize {
    let mut answered = 0;
    while let Some(event) = client.next(&mut input, out).expect("valid frames") {
        answered += usize::from(matches!(event, client::Event::Head { end: true, .. }));
    }
    answered
}

/// Has a server read; returns its requests, each as its fields and its body, and answers them.
fn served(server: &mut Server, mut input: &[u8], out: &mut Vec<u8>) -> Vec<String> {
    let answer = Head::response::<&str, &str>(204, &[]).expect("a valid head");
    let mut requests: Vec<(u32, String)> = Vec::new();
    while let Some(event) = server.next(&mut input, out).expect("a valid client") {
        let complete = match event {
            server::Event::Request {
                stream,
                fields,
                end,
                ..
            } => {
                let fields = fields.iter().map(|(name, value)| {
                    let [name, value] = [name, value].map(String::from_utf8_lossy);
                    format!("{name}={value}")
                });
                requests.push((stream, fields.collect::<Vec<_>>().join(" ")));
                end.then_some(stream)
            }
            server::Event::Data { stream, bytes, end } => {
                let of_stream = requests.iter_mut().find(|(id, _)| *id == stream);
                let (_, text) = of_stream.expect("a request before its body");
                text.push_str(&format!(" [{}]", String::from_utf8_lossy(bytes)));
                end.then_some(stream)
            }
            _ => None,
        };
        if let Some(stream) = complete {
            server
                .answer(stream, &answer, b"", out)
                .expect("an open stream");
        }
    }
    requests.into_iter().map(|(_, text)| text).collect()
}

#[test]
fn blocks_and_heads_in_turn_are_read_as_what_they_are() {
    let own: &[Field] = &[
        (":method", "POST"),
        (":scheme", "http"),
        (":path", "/own"),
        (":authority", "example.org"),
        ("x-own", "1"),
        ("content-length", "3"),
    ];
    for table_bytes in [0, 40, 100, 4096, 65_536] {
        let config = Config {
            header_table_bytes: table_bytes,
            ..Config::default()
        };
        let (mut to_server, mut to_client) = (Vec::new(), Vec::new());
        let mut client = Client::new(Config::default(), &mut to_server);
        let mut server = Server::new(config, &mut to_client);
        let (get, own_block, get_block) = (request(GET, ""), made(own), made(GET));
        // Another kind is first in each round, and so tells of the table.
        for round in 0..12 {
            for place in 0..6 {
                let out = &mut to_server;
                let sent = match (round + place * place) % 3 {
                    0 => client.request_block(&own_block, b"abc", false, place, out),
                    1 => client.request_block(&get_block, b"", false, place, out),
                    _ => client.request(&get, place, out),
                };
                sent.expect("capacity");
            }
            let requests = served(&mut server, &to_server, &mut to_client);
            to_server.clear();
            for (place, seen) in (0..6).zip(&requests) {
                let expected = match (round + place * place) % 3 {
                    0 => {
                        ":method=POST :scheme=http :path=/own :authority=example.org x-own=1 \
                          content-length=3 [abc]"
                    }
                    _ => ":method=GET :scheme=http :path=/ :authority=example.org",
                };
                assert_eq!(seen, expected, "table {table_bytes}, round {round}");
            }
            assert_eq!(requests.len(), 6);
            assert_eq!(feed(&mut client, &to_client, &mut to_server), 6);
            to_client.clear();
        }
    }
}

#[test]
fn the_first_block_behind_a_smaller_table_says_so_and_no_other() {
    let (table, bytes) = (1, 100);
    let (mut client, mut out) = ready_client(&[(table, bytes)]);
    let block = made(GET);
    let mut sizes = Vec::new();
    for place in 0..3 {
        out.clear();
        client
            .request_block(&block, b"", false, place, &mut out)
            .expect("capacity");
        sizes.push(out.len() - 9 - block.len());
        assert!(out.ends_with(&block));
    }
    // 0x20 | 31, 100 - 31 (RFC 7541 §6.3).
    assert_eq!(sizes, [2, 0, 0]);
}

#[test]
fn a_long_block_goes_on_in_further_frames() {
    let long = "x".repeat(40_000);
    let mut block = made(GET);
    block::field(b"x-long", long.as_bytes(), &mut block);
    let limits = Limits {
        header_list_bytes: 1 << 20,
        ..Limits::default()
    };
    for table_bytes in [0, 4096] {
        let config = Config {
            header_table_bytes: table_bytes,
            limits,
            ..Config::default()
        };
        let (mut to_server, mut to_client) = (Vec::new(), Vec::new());
        let mut client = Client::new(Config::default(), &mut to_server);
        let mut server = Server::new(config, &mut to_client);
        served(&mut server, &to_server, &mut to_client);
        feed(&mut client, &to_client, &mut to_server);
        to_server.clear();
        client
            .request_block(&block, b"abc", false, 0, &mut to_server)
            .expect("capacity");
        client
            .request(&request(GET, ""), 1, &mut to_server)
            .expect("capacity");
        let mut kinds = Vec::new();
        let mut rest = &to_server[..];
        while let Some((header, behind)) = rest.split_first_chunk::<9>() {
            kinds.push(header[3]);
            let length = u32::from_be_bytes([0, header[0], header[1], header[2]]) as usize;
            rest = &behind[length..];
        }
        assert_eq!(kinds, [HEADERS, CONTINUATION, CONTINUATION, 0, HEADERS]);
        to_client.clear();
        let requests = served(&mut server, &to_server, &mut to_client);
        assert_eq!(requests.len(), 2);
        assert!(requests[0].ends_with(&format!(" x-long={long} [abc]")));
    }
}

#[test]
fn the_body_behind_a_block_leaves_as_credit_comes() {
    let (mut client, mut out) = ready_client(&[(WINDOW, 4)]);
    let (post, get) = (made(POST), request(GET, ""));
    client
        .request_block(&post, b"0123456789", false, 0, &mut out)
        .expect("capacity");
    client.request(&get, 1, &mut out).expect("capacity");
    client
        .request_block(&post, b"abcd", false, 2, &mut out)
        .expect("capacity");
    let wrote = "head 1 POST http /up, data 1 0123, head 3 GET http / example.org end, \
                 head 5 POST http /up, data 5 abcd end";
    assert_eq!(written(&out), wrote);
    let mut after = |frame: Vec<u8>| {
        let mut out = Vec::new();
        feed(&mut client, &frame, &mut out);
        written(&out)
    };
    assert_eq!(after(number(WINDOW_UPDATE, 1, 2)), "data 1 45");
    assert_eq!(after(settings(&[(WINDOW, 5)])), "settings ack, data 1 6");
    assert_eq!(after(number(WINDOW_UPDATE, 1, 50)), "data 1 789 end");
    assert_eq!(after(number(WINDOW_UPDATE, 1, 50)), "");
}

#[test]
fn a_block_without_capacity_or_place_is_not_sent() {
    let (mut client, mut out) = ready_client(&[(STREAMS, 2)]);
    let block = made(GET);
    let mut send = |place: u32, client: &mut Client| {
        out.clear();
        let sent = client.request_block(&block, b"", false, place, &mut out);
        (sent.is_ok(), out.len())
    };
    assert_eq!(send(0, &mut client), (true, 9 + block.len()));
    assert_eq!(send(0, &mut client), (false, 0), "a place that is taken");
    assert_eq!(send(100, &mut client), (false, 0), "a place too high");
    assert_eq!(send(1, &mut client), (true, 9 + block.len()));
    assert_eq!(send(2, &mut client), (false, 0), "no capacity");
}

#[test]
fn an_answer_to_head_has_no_body_whatever_length_it_names() {
    for (head_request, fine) in [(true, true), (false, false)] {
        let (mut client, mut out) = ready_client(&[]);
        let mut fields = GET.to_vec();
        fields[0] = (":method", "HEAD");
        client
            .request_block(&made(&fields), b"", head_request, 0, &mut out)
            .expect("capacity");
        let answer = headers(1, END, &[OK[0], ("content-length", "5")]);
        let event = client.next(&mut &answer[..], &mut out);
        let complete = matches!(event, Ok(Some(client::Event::Head { end: true, .. })));
        assert_eq!(complete, fine, "HEAD: {head_request}");
    }
}

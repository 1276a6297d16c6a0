//! What clients may take of time and memory, whatever they speak.

use engine::Until;

use super::http2::{DATA, END_STREAM, call, frame, message, opening, request, told};
use super::*;

const PING: u8 = 6;

fn script(sends: Vec<(u64, Vec<u8>)>) -> Script {
    Script {
        sends,
        ..Script::default()
    }
}

/// `bytes` at once, and then `again` every 20 s, for as long as matters here.
fn kept_alive(bytes: Vec<u8>, again: &[u8]) -> Script {
    let pings = (1..30).map(|n| (n * 20 * SECOND, again.to_vec()));
    script(std::iter::once((0, bytes)).chain(pings).collect())
}

fn ping() -> Vec<u8> {
    frame(PING, 0, 0, b"12345678")
}

fn post(length: usize) -> String {
    format!("POST /echo HTTP/1.1\r\nHost: test\r\nContent-Length: {length}\r\n\r\n")
}

const UPGRADE: &str = "GET /ws HTTP/1.1\r\nHost: test\r\nUpgrade: websocket\r\n\
                       Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\n\
                       Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";

/// A frame of a client, with a mask of zeros; `first` is its first byte.
fn masked(first: u8, payload: &[u8]) -> Vec<u8> {
    let mut bytes = vec![first];
    match payload.len() {
        length @ 0..126 => bytes.push(0x80 | length as u8),
        length => {
            bytes.push(0xff);
            bytes.extend((length as u64).to_be_bytes());
        }
    }
    bytes.extend([0; 4]);
    bytes.extend_from_slice(payload);
    bytes
}

#[test]
fn a_client_that_takes_a_long_answer_slowly_but_steadily_is_not_given_up() {
    let mut stage = Stage::new(1, Faults::none());
    let mut client = stage.network.driver(&Config {
        sockets: 4,
        buffers: 2,
        buffer_bytes: 512,
        ..Config::default()
    });
    let mut completions = Completions::new();
    let options = SocketOptions::default();
    let socket = client.connect(stage.worker.address(), &options).unwrap();
    let (mut asked, mut taken) = (false, 0);
    let mut go_on = |stage: &mut Stage, length: u64, reads: bool| {
        let end = stage.network.now().plus(length);
        while stage.network.now() < end {
            let latest = stage.network.now().plus(SECOND / 2);
            while stage.network.now() < latest {
                stage.worker.turn(&mut stage.completions, latest).unwrap();
            }
            let _ = client.arm_receive(socket, reads);
            client.wait(Until::Now, &mut completions).unwrap();
            for position in 0..completions.len() {
                if let Event::Received(lent) = completions.get(position).event {
                    taken += completions.bytes(lent).len();
                }
            }
            let _ = client.arm_receive(socket, false);
            if !asked {
                asked = client
                    .send(socket, Payload::Buffer(get("/bytes/30M").into()))
                    .is_ok();
            }
        }
        taken
    };
    // About 2 KB/s: a slice of 240 KB takes two minutes, and nobody waits so long for nothing.
    let taken = go_on(&mut stage, 600 * SECOND, true);
    assert!(taken > 600_000, "{taken} bytes");
    assert_eq!(stage.worker.summary().counts.unread, 0);
    let rest = go_on(&mut stage, 74 * SECOND, false) - taken;
    assert!(rest < 2048, "{rest} bytes");
    assert_eq!(stage.worker.summary().counts.unread, 0);
    go_on(&mut stage, 4 * SECOND, false);
    assert_eq!(stage.worker.summary().counts.unread, 1);
}

#[test]
fn a_body_may_come_slowly_but_not_for_ever() {
    let drip = (1..30).map(|n| (n * 10 * SECOND, b"x".to_vec()));
    let sends = std::iter::once((0, post(1000).into_bytes())).chain(drip);
    let (slow, summary) = heard(1, Faults::none(), &script(sends.collect()), 400 * SECOND);
    assert!(slow.text().starts_with("HTTP/1.1 408 "), "{}", slow.text());
    let took = slow.after(slow.last);
    assert!((30 * SECOND..31 * SECOND).contains(&took), "{took} ns");
    assert_eq!(summary.counts.rejections.timeout, 1);
    // At 2,000 bytes a second it may take as long as it needs.
    let pour = (0..100).map(|n| (n * SECOND, vec![b'x'; 2000]));
    let mut sends: Vec<(u64, Vec<u8>)> = pour.collect();
    sends[0].1.splice(..0, post(200_000).into_bytes());
    let (steady, _) = heard(1, Faults::none(), &script(sends), 100 * SECOND);
    assert!(
        steady.text().starts_with("HTTP/1.1 200 "),
        "{}",
        steady.text()
    );
    assert!(steady.bytes.len() > 200_000);
}

#[test]
fn pings_keep_no_body_alive_that_does_not_come() {
    let bytes = [opening(), request(1, "POST", "/echo", false)].concat();
    let (heard, summary) = heard(1, Faults::none(), &kept_alive(bytes, &ping()), 90 * SECOND);
    let (streams, _) = told(&heard.bytes);
    assert_eq!(streams[&1].fields[0], ":status: 408");
    assert_eq!(streams[&1].reset, Some(0), "NO_ERROR");
    assert_eq!(summary.counts.rejections.timeout, 1);
}

#[test]
fn pings_keep_no_answer_alive_that_is_not_taken() {
    let bytes = [opening(), request(1, "GET", "/bytes/3M", true)].concat();
    let (heard, summary) = heard(1, Faults::none(), &kept_alive(bytes, &ping()), 90 * SECOND);
    let (streams, _) = told(&heard.bytes);
    assert_eq!(
        streams[&1].data.len(),
        1 << 20,
        "as much as there is credit"
    );
    assert_eq!(streams[&1].reset, Some(8), "CANCEL");
    assert_eq!(summary.counts.unread, 1);
}

#[test]
fn a_call_whose_message_does_not_come_ends() {
    let half = &message(b"0123456789")[..9];
    for (path, sent) in [
        ("/test.Calls/Echo", half),
        ("/test.Calls/Echo", b""),
        ("/test.Calls/EchoMany", half),
    ] {
        let bytes = [opening(), call(1, path, "1H"), frame(DATA, 0, 1, sent)].concat();
        let client = kept_alive(bytes, &ping());
        let (heard, summary) = heard(1, Faults::none(), &client, 90 * SECOND);
        let (streams, _) = told(&heard.bytes);
        let stream = &streams[&1];
        assert!(
            stream.fields.contains(&"grpc-status: 4".into()),
            "{path}: {stream:?}"
        );
        assert_eq!(stream.reset, Some(0), "{path}");
        assert_eq!(summary.counts.rejections.timeout, 1);
    }
}

#[test]
fn a_stream_of_messages_may_pause_between_two_of_them() {
    let path = "/test.Calls/EchoMany";
    let first = frame(DATA, 0, 1, &message(b"one"));
    let last = frame(DATA, END_STREAM, 1, &message(b"two"));
    let begun = [opening(), call(1, path, "1H"), first].concat();
    let sends = vec![(0, begun), (300 * SECOND, last)];
    let (heard, _) = heard(1, Faults::none(), &script(sends), 301 * SECOND);
    let (streams, _) = told(&heard.bytes);
    assert_eq!(
        streams[&1].data,
        [message(b"one"), message(b"two")].concat()
    );
    assert!(streams[&1].fields.contains(&"grpc-status: 0".into()));
}

#[test]
fn a_message_of_a_websocket_may_come_slowly_but_not_for_ever() {
    let bytes = [UPGRADE.as_bytes(), &masked(0x01, b"the beginning")].concat();
    let client = kept_alive(bytes, &masked(0x89, b"still here"));
    let (heard, summary) = heard(1, Faults::none(), &client, 90 * SECOND);
    assert!(heard.is_over());
    let counts = summary.counts;
    assert_eq!((counts.idle, counts.rejections.timeout), (0, 1));
    let took = heard.after(heard.ended);
    assert!((30 * SECOND..33 * SECOND).contains(&took), "{took} ns");
}

/// Serves so many clients of a kind that together they would have the worker hold far more than it
/// may, and looks after each turn at what it holds.
fn besiege(name: &str, count: usize, client: &Script) -> Summary {
    let mut stage = Stage::new(1, Faults::none());
    let clients: Vec<_> = (0..count).map(|_| stage.dial(client.clone())).collect();
    let end = stage.network.now().plus(20 * SECOND);
    let mut most = 0;
    while stage.network.now() < end {
        stage.worker.turn(&mut stage.completions, end).unwrap();
        let connections = stage.worker.connections.iter().flatten();
        let held: usize = connections.map(|one| one.memory()).sum();
        assert_eq!(held, stage.worker.held_bytes, "{name}");
        assert!(held <= 8 << 20, "{name}: {held} bytes");
        most = most.max(held);
    }
    assert!(most > 4 << 20, "{name}: {most} bytes are no siege");
    assert_eq!(clients.len(), count);
    // Whoever asks for little is served as ever.
    let small = [get("/"), post(5) + "hello"].concat();
    let fair = stage.dial(script(vec![(0, small.into_bytes())]));
    stage.serve(SECOND, || false);
    let text = fair.borrow().text();
    assert_eq!(text.matches("HTTP/1.1 200 OK").count(), 2, "{name}: {text}");
    stage.end()
}

#[test]
fn many_clients_together_take_no_more_memory_than_they_may() {
    let most = vec![b'b'; 900_000];
    let frames: Vec<u8> = most
        .chunks(16_000)
        .flat_map(|part| frame(DATA, 0, 1, part))
        .collect();
    let announced = [&[0, 0, 0x0f, 0x42, 0x40][..], &[b'm'; 15_000]].concat();
    let half = [frame(DATA, 0, 1, &announced), frames.clone()].concat();
    let fragments = masked(0x02, &most[..100_000]);
    let more: Vec<u8> = most
        .chunks(100_000)
        .flat_map(|part| masked(0x00, part))
        .collect();
    let bodies = script(vec![(
        0,
        [post(1_000_000).into_bytes(), most.clone()].concat(),
    )]);
    let http2 = [opening(), request(1, "POST", "/echo", false), frames].concat();
    let calls = [opening(), call(1, "/test.Calls/Echo", "1H"), half].concat();
    let websocket = [UPGRADE.as_bytes(), &fragments, &more].concat();
    let unread = Script {
        sends: vec![(0, [post(900_000).into_bytes(), most].concat())],
        pauses: Some((0, 60 * SECOND)),
        ..Script::default()
    };
    for (name, client) in [
        ("bodies of HTTP/1.1", bodies),
        ("bodies of HTTP/2", script(vec![(0, http2)])),
        ("halves of calls", script(vec![(0, calls)])),
        ("fragments of a WebSocket", script(vec![(0, websocket)])),
        ("answers that nobody reads", unread),
    ] {
        let summary = besiege(name, 50, &client);
        assert!(summary.counts.relieved > 30, "{name}: {:?}", summary.counts);
    }
}

#[test]
fn who_is_given_up_for_want_of_memory_is_told() {
    let mut stage = Stage::new(1, Faults::none());
    let body = [post(1_000_000).into_bytes(), vec![b'b'; 900_000]].concat();
    let clients: Vec<_> = (0..20)
        .map(|_| stage.dial(script(vec![(0, body.clone())])))
        .collect();
    stage.serve(SECOND, || false);
    let told = clients
        .iter()
        .filter(|heard| heard.borrow().text().starts_with("HTTP/1.1 503 "));
    let (told, relieved) = (told.count() as u64, stage.worker.summary().counts.relieved);
    assert!(told > 5 && told == relieved, "{told} of {relieved}");
}

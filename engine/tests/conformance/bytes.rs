//! Bytes there and back, whole and in order, whatever they are sent from.

use std::collections::HashSet;

use engine::{Config, Driver, Event, Payload, Refused, Token, Until};

use measure::random::Random;

use crate::bench::{Bench, Open, assert_same, pattern};

const SIZES: [usize; 12] = [
    1, 2, 63, 1_000, 4_096, 16_383, 16_384, 16_385, 65_536, 100_001, 524_288, 1_048_576,
];

pub fn buffers_of_any_size_arrive_whole_and_in_order<D: Driver>(open: Open<'_, D>) {
    let mut bench = Bench::new(open);
    let (client, server) = bench.pair();
    let mut expected = Vec::new();
    for (count, size) in (1..).zip(SIZES) {
        let bytes = pattern(size, size as u64);
        expected.extend_from_slice(&bytes);
        bench.send(client, &bytes);
        bench.until("the send ends", |bench| bench.story(client).sent == count);
    }
    bench.until("all bytes", |bench| {
        bench.received_len(server) == expected.len()
    });
    assert_same(&bench.story(server).received, &expected, "received");
}

pub fn templates_of_any_size_and_parts_of_them_arrive<D: Driver>(open: Open<'_, D>) {
    let mut bench = Bench::new(open);
    let (client, server) = bench.pair();
    let whole = pattern(1_048_576, 7);
    let template = bench.driver.register(&whole).expect("a template");
    assert_eq!(template.len(), whole.len());
    let mut random = Random::seeded(11);
    let mut expected = Vec::new();
    for (count, size) in (1..).zip(SIZES) {
        let start = random.index(whole.len() - size + 1);
        expected.extend_from_slice(&whole[start..start + size]);
        let (start, end) = (start as u32, (start + size) as u32);
        let payload = Payload::Template {
            template,
            start,
            end,
            quiet: false,
        };
        bench.send_payload(client, payload).expect("a send begins");
        bench.until("the send ends", |bench| bench.story(client).sent == count);
    }
    bench.until("all bytes", |bench| {
        bench.received_len(server) == expected.len()
    });
    assert_same(&bench.story(server).received, &expected, "received");
}

pub fn quiet_sends_arrive_and_are_not_reported<D: Driver>(open: Open<'_, D>) {
    let mut bench = Bench::new(open);
    let (client, server) = bench.pair();
    let request = bench
        .driver
        .register(b"GET / HTTP/1.1\r\n\r\n")
        .expect("a template");
    let end = request.len() as u32;
    let quiet = Payload::Template {
        template: request,
        start: 0,
        end,
        quiet: true,
    };
    for count in 1..=200 {
        // Two on their way, then an answer: what the contract of quiet sends allows.
        let again = Payload::Template {
            template: request,
            start: 0,
            end,
            quiet: true,
        };
        bench.send_payload(client, again).expect("a quiet send");
        let again = Payload::Template {
            template: request,
            start: 0,
            end,
            quiet: true,
        };
        bench
            .send_payload(client, again)
            .expect("another, for it leaves nothing unfinished");
        bench.until("the requests", |bench| {
            bench.received_len(server) == 2 * count * request.len()
        });
        bench.send(server, b"ok");
        bench.until("the answer", |bench| {
            bench.received_len(client) == 2 * count
        });
    }
    bench.send_payload(client, quiet).expect("a quiet send");
    bench.some_turns();
    assert_eq!(bench.story(client).sent, 0);
    assert_eq!(bench.received_len(server), 401 * request.len());
}

pub fn a_second_send_waits_for_the_first<D: Driver>(open: Open<'_, D>) {
    let mut bench = Bench::new(open);
    let (client, server) = bench.pair();
    bench.send(client, b"first");
    let second = Payload::Buffer(b"second".to_vec());
    assert_eq!(
        bench.send_payload(client, second),
        Err(Refused::SendUnfinished)
    );
    // The other direction is another matter.
    bench.send(server, b"first");
    bench.until("the first send ends", |bench| bench.story(client).sent == 1);
    bench.send(client, b"third");
    bench.until("what was accepted", |bench| {
        bench.received_len(server) == 10
    });
    bench.some_turns();
    assert_eq!(bench.story(server).received, b"firstthird");
}

pub fn empty_sends_and_ranges_that_do_not_exist_are_refused<D: Driver>(open: Open<'_, D>) {
    let mut bench = Bench::new(open);
    let (client, server) = bench.pair();
    assert_eq!(bench.driver.register(b""), Err(Refused::EmptyOrOutOfRange));
    let template = bench.driver.register(b"0123456789").expect("a template");
    for (start, end) in [(0, 11), (5, 5), (6, 5), (10, 10), (11, 12), (0, u32::MAX)] {
        for quiet in [false, true] {
            let payload = Payload::Template {
                template,
                start,
                end,
                quiet,
            };
            let refused = bench.send_payload(client, payload);
            assert_eq!(refused, Err(Refused::EmptyOrOutOfRange), "{start}..{end}");
        }
    }
    let empty = Payload::Buffer(Vec::new());
    assert_eq!(
        bench.send_payload(client, empty),
        Err(Refused::EmptyOrOutOfRange)
    );
    // Nothing of it happened, and nothing is in the way.
    let payload = Payload::Template {
        template,
        start: 9,
        end: 10,
        quiet: false,
    };
    bench
        .send_payload(client, payload)
        .expect("the last byte exists");
    bench.until("that byte", |bench| bench.received_len(server) == 1);
    bench.some_turns();
    assert_eq!(bench.story(server).received, b"9");
}

pub fn a_send_the_peer_does_not_read_ends_when_it_does<D: Driver>(open: Open<'_, D>) {
    let mut bench = Bench::new(open);
    let (client, server) = bench.stuck_pair();
    let bytes = pattern(1_000_000, 3);
    bench.send(client, &bytes);
    bench.some_turns();
    assert_eq!(
        bench.story(client).sent,
        0,
        "no one has read, so it cannot have been taken whole"
    );
    let payload = Payload::Buffer(b"more".to_vec());
    assert_eq!(
        bench.send_payload(client, payload),
        Err(Refused::SendUnfinished)
    );
    bench
        .driver
        .arm_receive(server, true)
        .expect("an open connection");
    bench.until("all bytes", |bench| {
        bench.received_len(server) == bytes.len()
    });
    bench.until("the send ends", |bench| bench.story(client).sent == 1);
    assert_same(&bench.story(server).received, &bytes, "received");
}

pub fn a_stopped_receiver_gets_its_bytes_later<D: Driver>(open: Open<'_, D>) {
    let mut bench = Bench::new(open);
    let (client, server) = bench.pair();
    bench
        .driver
        .arm_receive(server, false)
        .expect("an open connection");
    bench.some_turns();
    for round in 1..=10 {
        bench.send(client, b"0123456789");
        bench.until("the send ends", |bench| bench.story(client).sent == round);
    }
    bench.some_turns();
    assert_eq!(
        bench.received_len(server),
        0,
        "receiving was stopped before the bytes were sent"
    );
    bench
        .driver
        .arm_receive(server, true)
        .expect("an open connection");
    bench.until("all bytes", |bench| bench.received_len(server) == 100);
    // Stopping and starting again within a turn loses nothing either.
    bench.send(client, b"once more");
    bench
        .driver
        .arm_receive(server, false)
        .expect("an open connection");
    bench
        .driver
        .arm_receive(server, true)
        .expect("an open connection");
    bench.until("the rest", |bench| bench.received_len(server) == 109);
    assert_same(
        &bench.story(server).received[100..],
        b"once more",
        "the rest",
    );
}

pub fn both_directions_at_once_do_not_disturb_each_other<D: Driver>(open: Open<'_, D>) {
    let mut bench = Bench::new(open);
    let (client, server) = bench.pair();
    let (there, back) = (pattern(2_000_000, 5), pattern(1_500_000, 6));
    bench.send(client, &there);
    bench.send(server, &back);
    bench.until("all bytes both ways", |bench| {
        bench.received_len(server) == there.len() && bench.received_len(client) == back.len()
    });
    assert_same(&bench.story(server).received, &there, "there");
    assert_same(&bench.story(client).received, &back, "back");
}

pub fn random_traffic_on_many_connections_is_delivered_exactly<D: Driver>(open: Open<'_, D>) {
    for seed in 1..=4 {
        let mut random = Random::seeded(seed);
        let config = Config {
            buffers: 4,
            buffer_bytes: 1 + random.index(3_000),
            ..Config::default()
        };
        let mut bench = Bench::with(open, config);
        let ends: Vec<Token> = bench
            .pairs(8)
            .into_iter()
            .flat_map(|(a, b)| [a, b])
            .collect();
        let mut sent = vec![Vec::new(); ends.len()];
        let mut begun: Vec<usize> = ends.iter().map(|&end| bench.story(end).sent).collect();
        for step in 0..600 {
            let from = random.index(ends.len());
            if bench.story(ends[from]).sent == begun[from] {
                let bits = random.index(14);
                let bytes = pattern(1 + random.index(1 << bits), step);
                bench.send(ends[from], &bytes);
                sent[from].extend_from_slice(&bytes);
                begun[from] += 1;
            }
            if random.index(4) == 0 {
                bench.turn_until(Until::Now);
            }
        }
        for from in 0..ends.len() {
            // The two ends of a connection stand next to each other.
            let to = ends[from ^ 1];
            bench.until("all bytes of a sender", |bench| {
                bench.received_len(to) == sent[from].len()
            });
            let what = format!("seed {seed}, end {from}");
            assert_same(&bench.story(to).received, &sent[from], &what);
        }
    }
}

pub fn many_sockets_and_few_buffers_lose_nothing<D: Driver>(open: Open<'_, D>) {
    let config = Config {
        sockets: 1_200,
        buffers: 8,
        buffer_bytes: 256,
        ..Config::default()
    };
    let mut bench = Bench::with(open, config);
    let pairs = bench.pairs(500);
    for round in 1..=3u64 {
        let bytes = |index: usize| pattern(700, round * 1_000 + index as u64);
        for (index, &(client, _)) in pairs.iter().enumerate() {
            bench.send(client, &bytes(index));
        }
        bench.until("all bytes of all sockets", |bench| {
            let all = |server| bench.received_len(server) == 700 * round as usize;
            pairs.iter().all(|&(client, server)| {
                all(server) && bench.story(client).sent == 1 + round as usize
            })
        });
        for (index, &(_, server)) in pairs.iter().enumerate() {
            let received = &bench.story(server).received;
            assert_same(
                &received[700 * (round as usize - 1)..],
                &bytes(index),
                "received",
            );
        }
    }
    assert!(
        bench.driver.counters().starved > 0,
        "eight buffers cannot have been enough"
    );
}

pub fn lent_bytes_end_with_the_next_turn<D: Driver>(open: Open<'_, D>) {
    let mut bench = Bench::new(open);
    let (client, server) = bench.pair();
    bench.send(client, b"lent");
    let mut kept = None;
    bench.until("the bytes", |bench| {
        let last = bench
            .completions
            .iter()
            .find_map(|completion| match completion.event {
                Event::Received(lent) if completion.socket == server => Some(lent),
                _ => None,
            });
        if let Some(lent) = last {
            assert_eq!(bench.completions.bytes(lent), b"lent");
            kept = Some(lent);
        }
        kept.is_some()
    });
    bench.turn_until(Until::Now);
    assert_eq!(
        kept.map(|lent| bench.completions.bytes(lent).len()),
        Some(0)
    );
}

pub fn steady_traffic_uses_the_same_buffers<D: Driver>(open: Open<'_, D>) {
    let mut bench = Bench::new(open);
    let (client, server) = bench.pair();
    let mut known = HashSet::new();
    for round in 1..=100 {
        let mut buffer = bench.driver.buffer();
        assert!(buffer.is_empty(), "a buffer from the pool is empty");
        buffer.extend_from_slice(&[1; 4_000]);
        let is_new = known.insert(buffer.as_ptr() as usize);
        assert!(
            !is_new || round <= 50,
            "round {round} still needs new memory"
        );
        if round % 2 == 0 {
            bench.driver.recycle(buffer);
            continue;
        }
        bench
            .send_payload(client, Payload::Buffer(buffer))
            .expect("a send begins");
        bench.until("its bytes", |bench| {
            let rounds = round / 2 + 1;
            bench.received_len(server) == 4_000 * rounds && bench.story(client).sent == rounds
        });
    }
}

pub fn the_counters_add_up<D: Driver>(open: Open<'_, D>) {
    let mut bench = Bench::new(open);
    let (client, server) = bench.pair();
    let template = bench.driver.register(&[7; 100]).expect("a template");
    for round in 1..=50usize {
        let payload = Payload::Template {
            template,
            start: 0,
            end: 100,
            quiet: round % 2 == 0,
        };
        bench.send_payload(client, payload).expect("a send begins");
        bench.until("the request", |bench| {
            bench.received_len(server) == 100 * round
        });
        bench.send(server, &[8; 333]);
        bench.until("the answer", |bench| {
            bench.received_len(client) == 333 * round && bench.story(server).sent == round
        });
    }
    bench.until("every send ends", |bench| bench.story(client).sent == 25);
    let counters = bench.driver.counters();
    let sent = 50 * (100 + 333);
    if bench.is_secured() {
        // A record of TLS 1.3 is 22 bytes longer than what it holds (RFC 8446 §5.2), and there
        // was a handshake.
        assert!(counters.bytes_sent > sent + 100 * 22, "{counters:?}");
    } else {
        assert_eq!(counters.bytes_sent, sent);
    }
    assert_eq!(counters.bytes_received, counters.bytes_sent);
    assert_eq!(counters.overflows, 0);
    // Accepted and Connected, 100 receives at least, 75 sends reported.
    assert!(counters.completions >= 2 + 100 + 75, "{counters:?}");
    assert!(counters.enters > 0, "{counters:?}");
    let name = bench.driver.capabilities().name;
    assert!(["io_uring", "epoll", "simulator"].contains(&name), "{name}");
}

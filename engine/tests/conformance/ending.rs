//! Ends, failures, and what a token is worth after them.

use engine::{Close, Config, Driver, Fault, Payload, Refused, SocketOptions, Token};

use crate::bench::{Bench, Open, assert_same, pattern};

pub fn the_end_is_seen_after_all_bytes<D: Driver>(open: Open<'_, D>) {
    let mut bench = Bench::with(
        open,
        Config {
            buffer_bytes: 512,
            ..Config::default()
        },
    );
    for size in [0, 1, 511, 512, 513, 1_024, 10_000, 200_000] {
        let (client, server) = bench.pair();
        let bytes = pattern(size, 9);
        if size > 0 {
            bench.send(client, &bytes);
            bench.until("the send ends", |bench| bench.story(client).sent == 1);
        }
        bench.close(client, Close::Graceful);
        bench.until("the end", |bench| bench.story(server).ended);
        assert_same(&bench.story(server).received, &bytes, "before the end");
        bench.close(server, Close::Graceful);
    }
}

pub fn a_graceful_close_delivers_what_was_sent_before<D: Driver>(open: Open<'_, D>) {
    let mut bench = Bench::new(open);
    let small = SocketOptions {
        send_buffer_bytes: Some(4_608),
        ..SocketOptions::default()
    };
    let (client, server) = bench.pair_with(&small);
    bench
        .driver
        .arm_receive(server, false)
        .expect("an open connection");
    bench.some_turns();
    let bytes = pattern(1_000_000, 10);
    bench.send(client, &bytes);
    bench.close(client, Close::Graceful);
    bench.some_turns();
    bench
        .driver
        .arm_receive(server, true)
        .expect("an open connection");
    bench.until("the end", |bench| bench.story(server).ended);
    assert_same(&bench.story(server).received, &bytes, "before the end");
}

pub fn a_graceful_close_behind_a_stuck_send_ends_in_time<D: Driver>(open: Open<'_, D>) {
    const LINGER_NS: u64 = 300_000_000;
    let mut bench = Bench::with(
        open,
        Config {
            sockets: 3,
            linger_ns: LINGER_NS,
            ..Config::default()
        },
    );
    assert_eq!(bench.driver.linger_ns(), LINGER_NS);
    let small = SocketOptions {
        send_buffer_bytes: Some(4_608),
        receive_buffer_bytes: Some(4_096),
        ..SocketOptions::default()
    };
    let (_, address) = bench.listen_with(small.clone());
    for round in 0..3 {
        let client = bench.connect_with(&address, &small);
        bench.until("both ends", |bench| {
            bench.story(client).connected && bench.accepted.len() == round + 1
        });
        let server = bench.accepted[round];
        bench
            .driver
            .arm_receive(server, false)
            .expect("an open connection");
        bench.some_turns();
        bench.send(client, &pattern(1_000_000, 13));
        bench.some_turns();
        assert_eq!(bench.story(client).sent, 0, "the peer does not read");
        bench.close(client, Close::Graceful);
        // It has its time, and its slot for as long: all three are taken.
        let until = bench.driver.now().plus(LINGER_NS);
        let another = bench.slot_for_another();
        assert!(bench.driver.now() >= until, "it was given no time to end");
        bench.close(another, Close::Graceful);
        bench
            .driver
            .arm_receive(server, true)
            .expect("an open connection");
        bench.until("the reset", |bench| bench.story(server).failed.is_some());
        assert_eq!(bench.story(server).failed, Some(Fault::Reset));
        bench.close(server, Close::Reset);
        bench.some_turns();
    }
}

pub fn a_reset_shows_as_one<D: Driver>(open: Open<'_, D>) {
    let mut bench = Bench::new(open);
    let (client, server) = bench.pair();
    bench.close(client, Close::Reset);
    bench.until("the reset", |bench| bench.story(server).failed.is_some());
    assert_eq!(bench.story(server).failed, Some(Fault::Reset));
    assert!(!bench.story(server).ended);
    bench.some_turns();
}

pub fn the_option_to_reset_makes_every_close_one<D: Driver>(open: Open<'_, D>) {
    let mut bench = Bench::new(open);
    let (_, address) = bench.listen();
    let options = SocketOptions {
        reset_on_close: true,
        ..SocketOptions::default()
    };
    let client = bench.connect_with(&address, &options);
    bench.until("both ends", |bench| {
        bench.story(client).connected && bench.accepted.len() == 1
    });
    let server = bench.accepted[0];
    bench.close(client, Close::Graceful);
    bench.until("the reset", |bench| bench.story(server).failed.is_some());
    assert_eq!(bench.story(server).failed, Some(Fault::Reset));
}

pub fn sending_to_one_who_left_fails_once<D: Driver>(open: Open<'_, D>) {
    let mut bench = Bench::new(open);
    let (client, server) = bench.pair();
    bench.close(server, Close::Graceful);
    bench.until("the end", |bench| bench.story(client).ended);
    for _ in 0..100 {
        if bench.story(client).failed.is_some() {
            break;
        }
        // The first is answered by a reset, and the one after that fails.
        match bench.send_payload(client, Payload::Buffer(b"anybody there?".to_vec())) {
            Ok(()) | Err(Refused::SendUnfinished) => bench.some_turns(),
            Err(other) => panic!("a send on an open socket was {other:?}"),
        }
    }
    let failed = bench.story(client).failed;
    assert!(
        matches!(failed, Some(Fault::Reset | Fault::BrokenPipe)),
        "{failed:?}"
    );
    bench.some_turns();
    bench.close(client, Close::Graceful);
    bench.some_turns();
}

pub fn a_reset_ends_an_unfinished_send<D: Driver>(open: Open<'_, D>) {
    let mut bench = Bench::new(open);
    let (client, server) = bench.stuck_pair();
    bench.send(client, &pattern(1_000_000, 12));
    bench.some_turns();
    bench.close(server, Close::Reset);
    bench.until("the failure", |bench| bench.story(client).failed.is_some());
    let story = bench.story(client);
    assert!(
        matches!(story.failed, Some(Fault::Reset | Fault::BrokenPipe)),
        "{:?}",
        story.failed
    );
    assert_eq!(story.sent, 0);
}

pub fn a_shutdown_ends_one_half_behind_all_bytes<D: Driver>(open: Open<'_, D>) {
    let mut bench = Bench::new(open);
    for size in [0, 1, 16_384, 16_385, 300_000] {
        let (client, server) = bench.pair();
        let there = pattern(size, 31);
        if size > 0 {
            bench.send(client, &there);
        }
        bench.shutdown(client);
        bench.until("the end", |bench| bench.story(server).ended);
        assert_same(&bench.story(server).received, &there, "before the end");
        let sent = usize::from(size > 0);
        bench.until("the send", |bench| bench.story(client).sent == sent);
        // The other half stands, in both drivers' eyes.
        let back = pattern(200_000, 32);
        bench.send(server, &back);
        bench.until("the answer", |bench| {
            bench.received_len(client) == back.len()
        });
        assert_same(&bench.story(client).received, &back, "behind the end");
        assert!(!bench.story(client).ended);
        bench.close(server, Close::Graceful);
        bench.until("the other end", |bench| bench.story(client).ended);
        bench.close(client, Close::Graceful);
    }
    bench.some_turns();
}

pub fn a_shutdown_behind_a_stuck_send_waits_for_it<D: Driver>(open: Open<'_, D>) {
    let mut bench = Bench::new(open);
    let (client, server) = bench.stuck_pair();
    let bytes = pattern(1_000_000, 33);
    bench.send(client, &bytes);
    bench.some_turns();
    bench.shutdown(client);
    bench.some_turns();
    assert_eq!(bench.story(client).sent, 0, "the peer does not read");
    bench
        .driver
        .arm_receive(server, true)
        .expect("an open connection");
    bench.until("the end", |bench| bench.story(server).ended);
    assert_same(&bench.story(server).received, &bytes, "before the end");
    bench.until("the send", |bench| bench.story(client).sent == 1);
    bench.send(server, b"got it");
    bench.until("the answer", |bench| bench.received_len(client) == 6);
}

pub fn after_a_shutdown_sends_are_refused_and_another_changes_nothing<D: Driver>(
    open: Open<'_, D>,
) {
    let mut bench = Bench::new(open);
    let (client, server) = bench.pair();
    let template = bench.driver.register(b"bytes").expect("a template");
    bench.shutdown(client);
    for turns in 0..3 {
        let quiet = Payload::Template {
            template,
            start: 0,
            end: 5,
            quiet: true,
        };
        let buffer = Payload::Buffer(b"bytes".to_vec());
        assert_eq!(bench.send_payload(client, quiet), Err(Refused::ShutDown));
        assert_eq!(bench.send_payload(client, buffer), Err(Refused::ShutDown));
        bench.shutdown(client);
        if turns > 0 {
            bench.some_turns();
        }
    }
    bench.until("the end", |bench| bench.story(server).ended);
    assert_eq!(bench.received_len(server), 0);
    assert_eq!(bench.story(client).failed, None);
}

pub fn both_halves_shut_down_are_seen_by_both_sides<D: Driver>(open: Open<'_, D>) {
    let mut bench = Bench::new(open);
    for round in 0..20 {
        let (client, server) = bench.pair();
        let (first, second) = if round % 2 == 0 {
            (client, server)
        } else {
            (server, client)
        };
        bench.send(first, b"from the first");
        bench.send(second, b"from the second");
        bench.shutdown(first);
        if round % 4 < 2 {
            bench.until("the end", |bench| bench.story(second).ended);
        }
        bench.shutdown(second);
        bench.until("both ends", |bench| {
            bench.story(first).ended && bench.story(second).ended
        });
        assert_eq!(bench.story(second).received, b"from the first");
        assert_eq!(bench.story(first).received, b"from the second");
        bench.some_turns();
        bench.close(first, Close::Graceful);
        bench.close(second, Close::Graceful);
    }
    bench.some_turns();
}

pub fn a_reset_behind_a_shutdown_ends_the_other_half<D: Driver>(open: Open<'_, D>) {
    let mut bench = Bench::new(open);
    for round in 0..20 {
        let (client, server) = bench.pair();
        bench.shutdown(client);
        if round % 2 == 0 {
            bench.until("the end", |bench| bench.story(server).ended);
        }
        bench.close(client, Close::Reset);
        // Behind the end nobody receives, so that sending tells, at the latest.
        bench.until_with("the reset", |bench| {
            let failed = bench.story(server).failed.is_some();
            let sent = bench.send_payload(server, Payload::Buffer(b"anybody there?".to_vec()));
            failed || matches!(sent, Err(Refused::Stale))
        });
        let failed = bench.story(server).failed;
        assert!(
            matches!(failed, Some(Fault::Reset | Fault::BrokenPipe)),
            "{failed:?}"
        );
        bench.close(server, Close::Graceful);
    }
}

pub fn a_close_behind_a_shutdown_leaves_the_next_in_its_slot_alone<D: Driver>(open: Open<'_, D>) {
    let mut bench = Bench::with(
        open,
        Config {
            sockets: 5,
            ..Config::default()
        },
    );
    let (_, address) = bench.listen();
    let options = SocketOptions {
        reset_on_close: true,
        ..SocketOptions::default()
    };
    for round in 0..300 {
        let client = bench.connect_with_patience(&address, &options);
        bench.until("both ends", |bench| {
            bench.story(client).connected && bench.accepted.len() == round + 1
        });
        let server = bench.accepted[round];
        bench.send(client, b"ping");
        bench.until("the bytes", |bench| bench.received_len(server) == 4);
        bench.send(server, b"pong");
        bench.until("the answer", |bench| bench.received_len(client) == 4);
        bench.until("the sends", |bench| {
            bench.story(client).sent == 1 && bench.story(server).sent == 1
        });
        // All within one turn, on sockets whose places the next connection takes.
        let how = if round % 3 == 0 {
            Close::Graceful
        } else {
            Close::Reset
        };
        for socket in [server, client] {
            bench.shutdown(socket);
            bench.close(socket, how);
        }
    }
    bench.some_turns();
}

pub fn a_stale_token_is_refused_everywhere<D: Driver>(open: Open<'_, D>) {
    let mut bench = Bench::new(open);
    let (listener, _) = bench.listen();
    let (client, server) = bench.pair();
    let template = bench.driver.register(b"bytes").expect("a template");
    for token in [client, server, listener] {
        bench.close(token, Close::Graceful);
        let quiet = Payload::Template {
            template,
            start: 0,
            end: 5,
            quiet: true,
        };
        let buffer = Payload::Buffer(b"bytes".to_vec());
        assert_eq!(bench.send_payload(token, quiet), Err(Refused::Stale));
        assert_eq!(bench.send_payload(token, buffer), Err(Refused::Stale));
        assert_eq!(bench.driver.shutdown(token), Err(Refused::Stale));
        assert_eq!(bench.driver.arm_receive(token, false), Err(Refused::Stale));
        assert_eq!(bench.driver.arm_receive(token, true), Err(Refused::Stale));
        assert_eq!(
            bench.driver.close(token, Close::Graceful),
            Err(Refused::Stale)
        );
        assert_eq!(bench.driver.close(token, Close::Reset), Err(Refused::Stale));
        assert_eq!(bench.driver.local_address(token), None);
    }
    bench.some_turns();
}

pub fn a_listener_neither_sends_nor_receives<D: Driver>(open: Open<'_, D>) {
    let mut bench = Bench::new(open);
    let (listener, address) = bench.listen();
    let buffer = Payload::Buffer(b"bytes".to_vec());
    assert_eq!(bench.send_payload(listener, buffer), Err(Refused::Stale));
    assert_eq!(bench.driver.shutdown(listener), Err(Refused::Stale));
    assert_eq!(
        bench.driver.arm_receive(listener, false),
        Err(Refused::Stale)
    );
    let client = bench.connect(&address);
    bench.until("it still accepts", |bench| {
        bench.story(client).connected && bench.accepted.len() == 1
    });
}

pub fn a_stale_token_never_reaches_who_took_the_slot<D: Driver>(open: Open<'_, D>) {
    let mut bench = Bench::with(
        open,
        Config {
            sockets: 3,
            ..Config::default()
        },
    );
    let (_, address) = bench.listen();
    let mut past: Vec<Token> = Vec::new();
    for round in 0..50usize {
        let client = bench.connect(&address);
        bench.until("both ends", |bench| {
            bench.story(client).connected && bench.accepted.len() == round + 1
        });
        let server = bench.accepted[round];
        for &token in &past {
            assert!(token != client && token != server, "a token came back");
            let buffer = Payload::Buffer(b"to nobody".to_vec());
            assert_eq!(bench.send_payload(token, buffer), Err(Refused::Stale));
            assert_eq!(bench.driver.close(token, Close::Reset), Err(Refused::Stale));
        }
        assert!(past.is_empty() || past.iter().any(|token| token.slot() == client.slot()));
        bench.send(client, b"alive");
        bench.until("the bytes", |bench| bench.received_len(server) == 5);
        assert_eq!(bench.story(server).received, b"alive");
        bench.close(client, Close::Reset);
        bench.close(server, Close::Reset);
        past.extend([client, server]);
        // A driver may need a turn to end what was under way before it gives the slots out again.
        bench.some_turns();
    }
}

pub fn ten_thousand_connections_come_and_go_in_a_few_slots<D: Driver>(open: Open<'_, D>) {
    const AT_ONCE: usize = 20;
    let mut bench = Bench::with(
        open,
        Config {
            sockets: 64,
            ..Config::default()
        },
    );
    let (_, address) = bench.listen();
    // Resets, for the host has fewer ports than connections that would stay in TIME_WAIT.
    let options = SocketOptions {
        reset_on_close: true,
        ..SocketOptions::default()
    };
    for round in 0..10_000 / AT_ONCE {
        let clients: Vec<Token> = (0..AT_ONCE)
            .map(|_| bench.connect_with(&address, &options))
            .collect();
        for &client in &clients {
            bench.until("a connect", |bench| bench.story(client).connected);
            bench.send(client, b"hello");
        }
        let accepted = (round + 1) * AT_ONCE;
        bench.until("all accepts and bytes", |bench| {
            bench.accepted.len() == accepted
                && bench.accepted[accepted - AT_ONCE..]
                    .iter()
                    .all(|&server| bench.received_len(server) == 5)
        });
        for (&client, index) in clients.iter().zip(accepted - AT_ONCE..) {
            let server = bench.accepted[index];
            let (first, second) = if index % 2 == 0 {
                (client, server)
            } else {
                (server, client)
            };
            bench.close(first, Close::Graceful);
            bench.close(second, Close::Reset);
        }
        bench.forget_closed();
    }
}

pub fn nothing_comes_after_a_close_in_the_middle_of_things<D: Driver>(open: Open<'_, D>) {
    let mut bench = Bench::new(open);
    for round in 0..60u64 {
        let (listener, address) = bench.listen();
        let client = bench.connect(&address);
        let how = if round % 2 == 0 {
            Close::Graceful
        } else {
            Close::Reset
        };
        match round % 6 {
            // While it connects, at once and a turn later; with bytes of both sides on their way.
            0 | 1 => bench.close(client, how),
            2 | 3 => {
                bench.turn();
                bench.close(client, how);
            }
            _ => {
                let accepted = bench.accepted.len();
                bench.until("both ends", |bench| {
                    bench.story(client).connected && bench.accepted.len() > accepted
                });
                let server = bench.accepted[accepted];
                bench.send(client, &pattern(300_000, round));
                bench.send(server, &pattern(300_000, round));
                bench.close(client, how);
                bench.turn();
                bench.close(server, how);
            }
        }
        bench.turn();
        bench.close(listener, how);
        bench.some_turns();
    }
}

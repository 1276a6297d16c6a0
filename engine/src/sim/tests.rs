//! What only the simulator has: determinism, faults, scripted peers, several drivers. The rest is
//! in the conformance suite.

use std::cell::RefCell;
use std::rc::Rc;

use measure::time::Time;

use super::{Connection, Faults, Network, Peer, Replies, Sim, TURN_NS};
use crate::completions::Completions;
use crate::driver::{
    Address, Close, Config, Driver, Event, Fault, Listen, Payload, SocketOptions, Token, Until,
};

fn address() -> Address {
    Address::Tcp("127.0.0.1:80".parse().expect("an address"))
}

fn listen() -> Listen {
    let options = SocketOptions::default();
    Listen {
        address: address(),
        share_port: None,
        peers: false,
        backlog: 64,
        options,
        inherited: None,
    }
}

fn connect(driver: &mut Sim) -> Token {
    driver
        .connect(&address(), &SocketOptions::default())
        .expect("a connection begins")
}

fn send(driver: &mut Sim, socket: Token, bytes: &[u8]) {
    driver
        .send(socket, Payload::Buffer(bytes.to_vec()))
        .expect("a send begins");
}

/// One turn, as times and words.
fn turn(driver: &mut Sim, list: &mut Completions, until: Until) -> Vec<(Time, Event, Vec<u8>)> {
    let now = driver.wait(until, list).expect("the driver works");
    let bytes = |event| match event {
        Event::Received(lent) => list.bytes(lent).to_vec(),
        _ => Vec::new(),
    };
    list.iter()
        .map(|completion| (now, completion.event, bytes(completion.event)))
        .collect()
}

/// Waits for one kind of event, and returns when it came.
fn await_event(driver: &mut Sim, what: &str, wanted: impl Fn(&Event) -> bool) -> Time {
    let mut list = Completions::new();
    for _ in 0..10_000 {
        let now = driver
            .wait(Until::Event, &mut list)
            .expect("the driver works");
        if list.iter().any(|completion| wanted(&completion.event)) {
            return now;
        }
    }
    panic!("not within 10,000 turns: {what}");
}

/// Answers everything after a time of its own.
struct Echo {
    after_ns: u64,
}

impl Peer for Echo {
    fn received(&mut self, _: Connection, bytes: &[u8], _: Time, replies: &mut Replies) {
        replies.send(self.after_ns, bytes);
    }
}

/// Takes down all that it is told, and does what it was given to do when a connection stands.
#[derive(Clone, Default)]
struct Witness {
    told: Rc<RefCell<Vec<String>>>,
    greeting: Option<fn(&mut Replies)>,
}

impl Peer for Witness {
    fn opened(&mut self, _: Connection, _: Time, replies: &mut Replies) {
        self.told.borrow_mut().push("opened".to_owned());
        if let Some(greeting) = self.greeting {
            greeting(replies);
        }
    }

    fn received(&mut self, _: Connection, bytes: &[u8], _: Time, _: &mut Replies) {
        self.told
            .borrow_mut()
            .push(format!("received {}", bytes.len()));
    }

    fn ended(&mut self, _: Connection, _: Time, replies: &mut Replies) {
        self.told.borrow_mut().push("ended".to_owned());
        replies.close(0);
    }

    fn reset(&mut self, _: Connection, _: Time) {
        self.told.borrow_mut().push("reset".to_owned());
    }
}

/// Ten connections of a driver to an echo, for ten virtual milliseconds.
fn episode(seed: u64, faults: Faults) -> Vec<(Time, Event, Vec<u8>)> {
    let network = Network::new(seed, faults);
    network.serve(&address(), Echo { after_ns: 30_000 });
    let mut driver = network.driver(&Config::default());
    let mut list = Completions::new();
    let mut log = Vec::new();
    for _ in 0..10 {
        connect(&mut driver);
    }
    let end = driver.now().plus(10_000_000);
    while driver.now() < end {
        log.extend(turn(&mut driver, &mut list, Until::Time(end)));
        for position in 0..list.len() {
            let completion = list.get(position);
            match completion.event {
                Event::Connected | Event::Received(_) => {
                    // A send that is still unfinished is part of the episode too.
                    let bytes = Payload::Buffer(vec![position as u8; 700]);
                    let _ = driver.send(completion.socket, bytes);
                }
                Event::Failed(_) | Event::Ended => {
                    let _ = driver.close(completion.socket, Close::Graceful);
                    connect(&mut driver);
                }
                _ => {}
            }
        }
    }
    log
}

#[test]
fn the_same_seed_gives_the_same_events_to_the_nanosecond() {
    let faults = || Faults {
        reset: 0.02,
        refuse: 0.1,
        accept_failure: 0.1,
        ..Faults::rough()
    };
    for seed in [0, 1, u64::MAX] {
        let first = episode(seed, faults());
        assert!(
            first.len() > 200,
            "seed {seed}: only {} events",
            first.len()
        );
        assert_eq!(first, episode(seed, faults()), "seed {seed}");
    }
    assert_ne!(episode(1, faults()), episode(2, faults()));
}

#[test]
fn an_answer_comes_after_two_latencies_and_the_delay_of_the_peer() {
    let network = Network::new(1, Faults::none());
    network.serve(
        &address(),
        Echo {
            after_ns: 5_000_000,
        },
    );
    let mut driver = network.driver(&Config::default());
    let client = connect(&mut driver);
    await_event(&mut driver, "the connection", |event| {
        *event == Event::Connected
    });
    let sent = driver.now();
    send(&mut driver, client, b"ping");
    let done = await_event(&mut driver, "the answer", |event| {
        matches!(event, Event::Received(_))
    });
    assert_eq!(done.since(sent), 5_000_000 + 2 * Faults::none().latency_ns);
}

#[test]
fn faults_happen_about_as_often_as_they_should() {
    let count = |faults: Faults, wanted: Event| {
        episode(7, faults)
            .iter()
            .filter(|(_, event, _)| *event == wanted)
            .count()
    };
    let refused = Event::Failed(Fault::Refused);
    assert_eq!(count(Faults::none(), refused), 0);
    assert!(
        count(
            Faults {
                refuse: 0.5,
                ..Faults::none()
            },
            refused
        ) >= 5
    );
    let reset = Event::Failed(Fault::Reset);
    assert_eq!(count(Faults::none(), reset), 0);
    assert!(
        count(
            Faults {
                reset: 0.2,
                ..Faults::none()
            },
            reset
        ) >= 50
    );
}

#[test]
fn an_accept_failure_shows_as_a_connection_that_is_reset_at_once() {
    let network = Network::new(
        1,
        Faults {
            accept_failure: 1.0,
            ..Faults::none()
        },
    );
    let mut driver = network.driver(&Config::default());
    driver.listen(&listen()).expect("a listener");
    connect(&mut driver);
    let mut list = Completions::new();
    let mut events = Vec::new();
    for _ in 0..20 {
        let until = Until::Time(driver.now().plus(1_000_000));
        events.extend(
            turn(&mut driver, &mut list, until)
                .into_iter()
                .map(|(_, event, _)| event),
        );
    }
    assert_eq!(events, [Event::Connected, Event::Failed(Fault::Reset)]);
}

#[test]
fn a_scripted_server_hears_all_and_its_end_is_seen() {
    let network = Network::new(1, Faults::none());
    let witness = Witness::default();
    network.serve(&address(), witness.clone());
    let mut driver = network.driver(&Config::default());
    let client = connect(&mut driver);
    await_event(&mut driver, "the connection", |event| {
        *event == Event::Connected
    });
    send(&mut driver, client, &[0; 1234]);
    await_event(&mut driver, "the send", |event| *event == Event::Sent);
    driver.close(client, Close::Graceful).expect("open");
    let end = driver.now().plus(1_000_000);
    turn(&mut driver, &mut Completions::new(), Until::Time(end));
    assert_eq!(*witness.told.borrow(), ["opened", "received 1234", "ended"]);
}

#[test]
fn a_scripted_peer_may_reset_close_or_stall() {
    let play = |greeting: fn(&mut Replies)| {
        let network = Network::new(1, Faults::none());
        let witness = Witness {
            greeting: Some(greeting),
            ..Witness::default()
        };
        network.serve(&address(), witness);
        let mut driver = network.driver(&Config::default());
        connect(&mut driver);
        let mut list = Completions::new();
        let end = driver.now().plus(1_000_000);
        let mut events = Vec::new();
        while driver.now() < end {
            for (_, event, bytes) in turn(&mut driver, &mut list, Until::Time(end)) {
                events.push(match event {
                    Event::Received(_) => format!("received {bytes:?}"),
                    other => format!("{other:?}"),
                });
            }
        }
        events
    };
    assert_eq!(
        play(|replies| replies.reset(5)),
        ["Connected", "Failed(Reset)"]
    );
    assert_eq!(play(|replies| replies.close(5)), ["Connected", "Ended"]);
    assert_eq!(play(|_| {}), ["Connected"]);
    let half = play(|replies| {
        replies.send(0, [1]);
        replies.close(10);
        replies.send(5, [2]);
    });
    assert_eq!(half, ["Connected", "received [1]", "received [2]", "Ended"]);
}

#[test]
fn a_scripted_client_may_close_half_and_still_gets_its_answer() {
    let network = Network::new(1, Faults::none());
    let mut driver = network.driver(&Config::default());
    driver.listen(&listen()).expect("a listener");
    let greeting: fn(&mut Replies) = |replies| {
        replies.send(0, *b"request");
        replies.close(0);
    };
    let witness = Witness {
        greeting: Some(greeting),
        ..Witness::default()
    };
    network.dial(&address(), witness.clone());
    let mut list = Completions::new();
    let mut server = None;
    await_event(&mut driver, "the connection", |event| {
        matches!(event, Event::Accepted { .. })
    });
    for _ in 0..20 {
        let until = Until::Time(driver.now().plus(1_000_000));
        driver.wait(until, &mut list).expect("the driver works");
        for completion in list.iter() {
            if completion.event == Event::Ended {
                server = Some(completion.socket);
            }
        }
        if let Some(server) = server.take() {
            send(&mut driver, server, b"the answer");
            driver.close(server, Close::Graceful).expect("open");
        }
    }
    assert_eq!(*witness.told.borrow(), ["opened", "received 10", "ended"]);
}

#[test]
fn a_peer_that_does_not_read_stops_its_sender_until_it_does() {
    let network = Network::new(1, Faults::none());
    let greeting: fn(&mut Replies) = |replies| {
        replies.stop_reading(0);
        replies.start_reading(50_000_000);
    };
    let witness = Witness {
        greeting: Some(greeting),
        ..Witness::default()
    };
    network.serve(&address(), witness.clone());
    let mut driver = network.driver(&Config::default());
    let client = connect(&mut driver);
    let stands = await_event(&mut driver, "the connection", |event| {
        *event == Event::Connected
    });
    send(&mut driver, client, &[0; 2_000_000]);
    let sent = await_event(&mut driver, "the send", |event| *event == Event::Sent);
    assert!(
        sent.since(stands) > 49_000_000,
        "taken after {} ns",
        sent.since(stands)
    );
    assert_eq!(driver.counters().short_sends, 1);
}

#[test]
fn two_drivers_on_one_network_talk_in_its_time() {
    let network = Network::new(3, Faults::rough());
    let mut server = network.driver(&Config::default());
    let mut client = network.driver(&Config::default());
    server.listen(&listen()).expect("a listener");
    let end = network.now().plus(20_000_000);
    let mut next = network.now();
    let (mut list, mut answered, mut asked) = (Completions::new(), 0, 0);
    let connection = connect(&mut client);
    let mut stands = false;
    for turns in 0.. {
        assert!(turns < 100_000, "time does not go on");
        // The server has no deadline: it must neither hang nor carry time past the client's.
        server
            .wait(Until::Event, &mut list)
            .expect("the driver works");
        for position in 0..list.len() {
            let completion = list.get(position);
            if let Event::Received(lent) = completion.event {
                let bytes = list.bytes(lent).to_vec();
                let _ = server.send(completion.socket, Payload::Buffer(bytes));
            }
        }
        let now = client
            .wait(Until::Time(next), &mut list)
            .expect("the driver works");
        for completion in list.iter() {
            stands |= completion.event == Event::Connected;
            answered += usize::from(matches!(completion.event, Event::Received(_)));
        }
        if now >= end {
            break;
        }
        if now >= next {
            let late_ns = now.since(next);
            assert!(
                late_ns <= 4 * TURN_NS,
                "time ran {late_ns} ns past the client's deadline"
            );
            if stands {
                asked += usize::from(client.send(connection, Payload::Buffer(vec![1])).is_ok());
            }
            next = next.plus(1_000_000);
        }
    }
    assert!(
        asked >= 15 && answered == asked,
        "{asked} asked, {answered} answered"
    );
}

#[test]
fn a_driver_that_nothing_can_reach_says_so_instead_of_hanging() {
    let network = Network::new(1, Faults::none());
    let mut driver = network.driver(&Config::default());
    driver.listen(&listen()).expect("a listener");
    let broken = driver
        .wait(Until::Event, &mut Completions::new())
        .expect_err("a standstill");
    assert!(broken.to_string().contains("stands still"), "{broken}");
}

#[test]
fn the_end_of_a_driver_ends_its_connections_and_listeners() {
    let network = Network::new(1, Faults::none());
    let mut server = network.driver(&Config::default());
    let mut client = network.driver(&Config::default());
    server.listen(&listen()).expect("a listener");
    connect(&mut client);
    let mut list = Completions::new();
    for _ in 0..10 {
        server
            .wait(Until::Now, &mut list)
            .expect("the driver works");
        let until = Until::Time(client.now().plus(50_000));
        client.wait(until, &mut list).expect("the driver works");
    }
    drop(server);
    await_event(&mut client, "the end", |event| *event == Event::Ended);
    connect(&mut client);
    let refused = |event: &Event| *event == Event::Failed(Fault::Refused);
    await_event(&mut client, "the refusal", refused);
}

#[test]
fn nothing_is_kept_of_connections_that_both_sides_have_closed() {
    let network = Network::new(1, Faults::rough());
    network.serve(&address(), Echo { after_ns: 1_000 });
    let mut driver = network.driver(&Config::default());
    driver
        .listen(&Listen {
            address: Address::Unix("/a".into()),
            ..listen()
        })
        .expect("a listener");
    let mut list = Completions::new();
    for round in 0..200 {
        let to = if round % 2 == 0 {
            address()
        } else {
            Address::Unix("/a".into())
        };
        driver
            .connect(&to, &SocketOptions::default())
            .expect("a connection begins");
        for _ in 0..6 {
            let until = Until::Time(driver.now().plus(1_000_000));
            driver.wait(until, &mut list).expect("the driver works");
            for position in 0..list.len() {
                let completion = list.get(position);
                let how = if round % 3 == 0 {
                    Close::Reset
                } else {
                    Close::Graceful
                };
                if matches!(completion.event, Event::Connected | Event::Accepted { .. }) {
                    driver.close(completion.socket, how).expect("open");
                }
            }
        }
    }
    let kept = network.world.borrow().ends.len();
    assert!(kept <= 2, "{kept} ends are left of 200 connections");
}

#[test]
fn nobody_sleeps_on_virtual_time_from_outside() {
    let mut driver = Network::new(1, Faults::none()).driver(&Config::default());
    let refused = driver
        .wake_handle()
        .expect_err("there is nothing to sleep on");
    assert_eq!(refused.kind(), std::io::ErrorKind::Unsupported);
    assert!(refused.to_string().contains("virtual"), "{refused}");
    assert_eq!(driver.doze(), Ok(None), "then nobody may sleep");
}

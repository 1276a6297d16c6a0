//! The core by itself, on the simulator; its owner is the test.

use std::cell::RefCell;
use std::rc::Rc;

use engine::sim::{Connection, Faults, Network, Peer, Replies, Sim};
use engine::{Address, Completions, Config, Event, SocketOptions, Until};
use measure::counters::ErrorKind;

use super::*;
use crate::back_off::BackOff;
use plan::Plan;
use plan::protocol::{Http2, Protocol};

const MS: u64 = 1_000_000;

/// Takes everything and says nothing.
#[derive(Clone, Default)]
struct Silent(Rc<RefCell<Vec<u8>>>);

impl Peer for Silent {
    fn received(&mut self, _: Connection, bytes: &[u8], _: Time, _: &mut Replies) {
        self.0.borrow_mut().extend_from_slice(bytes);
    }
}

/// So many connections that speak HTTP/2, on a driver with so many sockets.
fn core(connections: usize, sockets: usize, peer: impl Peer + 'static) -> Core<Sim, ()> {
    let address = Address::Tcp("127.0.0.1:80".parse().unwrap());
    let network = Network::new(1, Faults::none());
    network.serve(&address, peer);
    let mut plan = Plan::new("http://127.0.0.1:80/").unwrap();
    plan.protocol = Protocol::Http2 {
        http2: Http2::default(),
    };
    let dialling = Dialling {
        route: Route::of(&plan.contact(), &[vec![address]], SocketOptions::default()).unwrap(),
        first: 0,
        stride: 1,
        places: 2,
        place_ns: Some(100 * MS),
        timeout_ns: 1_000 * MS,
        socket_wait_ns: MS,
        retries: Retries {
            at_once: 1,
            back_off: BackOff {
                first_ns: 10 * MS,
                most_ns: 1_000 * MS,
            },
            most: Some(3),
        },
    };
    let driver = network.driver(&Config {
        sockets,
        ..Config::default()
    });
    Core::new(
        driver,
        sockets,
        connections,
        true,
        Random::new(1, 0),
        dialling,
    )
}

/// Turns until `until`, with a greeting on each connection that stands; whose timers have run out.
fn turn(core: &mut Core<Sim, ()>, until: Time) -> Vec<usize> {
    let mut completions = Completions::new();
    while core.driver.now() < until {
        core.driver
            .wait(Until::Time(until), &mut completions)
            .unwrap();
        for n in 0..completions.len() {
            let completion = completions.get(n);
            let index = core.owner(completion.socket).unwrap();
            match completion.event {
                Event::Connected => assert!(!core.greet(index), "a peer has yet to greet"),
                Event::Sent => core.sent(index),
                other => panic!("{other:?}"),
            }
        }
        assert_eq!(core.flush(), None);
        core.check();
    }
    core.expire(until);
    let mut expired: Vec<usize> = std::iter::from_fn(|| core.next_expired()).collect();
    expired.sort_unstable();
    expired
}

#[test]
fn an_attempt_gives_its_place_up_before_its_time_is_over() {
    let mut core = core(3, 8, Silent::default());
    let start = core.driver.now();
    for index in [0, 1] {
        assert!(core.has_place());
        assert_eq!(core.dial(index, start), Attempt::Begun);
    }
    assert!(!core.has_place());
    let late = start.plus(100 * MS);
    assert_eq!(turn(&mut core, late), [0, 1]);
    assert_eq!(core.waited_for(0, start, late), None);
    assert!(core.has_place());
    assert_eq!(core.waited_for(1, start, late), None);
    assert_eq!(core.counts().connecting, 0);
    core.check();
    let over = start.plus(1_000 * MS);
    assert_eq!(turn(&mut core, over), [0, 1]);
    let kind = core.waited_for(0, start, over);
    assert_eq!(kind, Some(ErrorKind::GreetingTimeout));
    core.drop(0, Close::Reset);
    core.check();
}

#[test]
fn whoever_finds_no_socket_looks_for_one_until_its_time_is_over() {
    let mut core = core(2, 1, Silent::default());
    let start = core.driver.now();
    assert_eq!(core.dial(0, start), Attempt::Begun);
    assert_eq!(core.dial(1, start), Attempt::NoSocket);
    core.wait_for_socket(1, start, start);
    assert_eq!(core.counts().waiting, 1);
    let soon = start.plus(MS);
    assert_eq!(turn(&mut core, soon), [1]);
    assert!(core.look_for_socket(1, start, soon));
    assert_eq!(core.sessions[1].state(), State::Down);
    core.wait_for_socket(1, start, soon);
    let over = start.plus(1_000 * MS);
    assert!(!core.look_for_socket(1, start, over));
    assert_eq!(core.counts().waiting, 1);
    core.drop(1, Close::Reset);
    assert_eq!(core.counts().waiting, 0);
    core.check();
}

#[test]
fn the_first_attempt_again_comes_at_once_the_others_wait_and_the_last_one_is_the_last() {
    let mut core = core(1, 8, Silent::default());
    let mut now = core.driver.now();
    let mut waits_ms = Vec::new();
    while core.retry(0, now) {
        let mut runs_out = |ms: &u64| {
            core.expire(now.plus(ms * MS));
            core.next_expired() == Some(0)
        };
        let wait_ms = (0..100).find(&mut runs_out).unwrap();
        now = now.plus(wait_ms * MS);
        waits_ms.push(wait_ms);
    }
    assert_eq!(waits_ms.len(), 3);
    assert_eq!(waits_ms[0], 0);
    assert!((8..=13).contains(&waits_ms[1]), "{waits_ms:?}");
    assert!((15..=26).contains(&waits_ms[2]), "{waits_ms:?}");
    assert!(!core.sessions[0].has_timer());
}

#[test]
fn what_is_appended_behind_an_unfinished_send_leaves_behind_it() {
    let peer = Silent::default();
    let heard = Rc::clone(&peer.0);
    let mut core = core(1, 8, peer);
    let start = core.driver.now();
    core.dial(0, start);
    turn(&mut core, start.plus(10 * MS));
    let hello = heard.borrow().len();
    assert!(hello > 24, "the preface and settings");
    for word in [&b"one"[..], b" two"] {
        core.append(0);
        core.sessions[0].out.extend_from_slice(word);
    }
    assert_eq!(core.flush(), None);
    assert!(core.sessions[0].is_sending());
    core.append(0);
    core.sessions[0].out.extend_from_slice(b" three");
    assert_eq!(core.flush(), None);
    assert_eq!(core.sessions[0].out, b" three");
    turn(&mut core, start.plus(20 * MS));
    assert!(core.sessions[0].out.is_empty() && !core.sessions[0].is_sending());
    assert_eq!(&heard.borrow()[hello..], b"one two three");
}

#[test]
fn a_connection_whose_socket_is_dead_already_is_told_when_it_is_to_send() {
    let mut core = core(2, 8, Silent::default());
    let start = core.driver.now();
    for index in [0, 1] {
        core.dial(index, start);
    }
    turn(&mut core, start.plus(10 * MS));
    let socket = core.sessions[0].socket.unwrap();
    core.driver.close(socket, Close::Reset).unwrap();
    for index in [0, 1] {
        core.append(index);
        core.sessions[index].out.extend_from_slice(b"words");
    }
    assert_eq!(core.flush(), Some(0));
    core.drop(0, Close::Reset);
    assert_eq!(core.flush(), None);
    assert_eq!(core.owner(socket), None);
    core.check();
}

#[test]
#[should_panic(expected = "the counts of connections")]
fn a_count_that_disagrees_with_the_connections_is_found() {
    let mut core = core(1, 8, Silent::default());
    core.dial(0, core.driver.now());
    core.counts.connected += 1;
    core.check();
}

//! Tunnels on the simulator, with an answer of one byte: `+` opens, `-` refuses with the next one.

use std::cell::RefCell;
use std::rc::Rc;

use super::*;
use engine::sim::{Connection, Faults, Network, Peer, Replies};
use engine::{Close as Closing, Config};

const MS: u64 = 1_000_000;
const SAID: &[u8] = b"lead me on\n";

fn read(received: &[u8]) -> Answered {
    match received {
        [] | [b'-'] => Answered::More,
        [b'+', ..] => Answered::Open(1),
        [b'-', code, ..] => Answered::Not(TunnelFault::Refused((*code).into())),
        _ => Answered::Not(TunnelFault::Broken),
    }
}

/// What somebody does once he has been asked.
#[derive(Clone)]
enum Deed {
    Say(&'static [u8]),
    Close,
    Reset,
}

/// Hears everything, and does these things when `SAID` is whole.
struct Asked {
    deeds: Vec<Deed>,
    heard: Rc<RefCell<Vec<u8>>>,
}

impl Peer for Asked {
    fn received(&mut self, _: Connection, bytes: &[u8], _: Time, replies: &mut Replies) {
        let mut heard = self.heard.borrow_mut();
        heard.extend_from_slice(bytes);
        if *heard == SAID {
            for (deed, at) in self.deeds.iter().zip(1..) {
                match deed {
                    Deed::Say(bytes) => replies.send(at * MS, *bytes),
                    Deed::Close => replies.close(at * MS),
                    Deed::Reset => replies.reset(at * MS),
                }
            }
        }
    }
}

/// A connection that somebody leads on.
struct Scene {
    driver: Tunnel,
    socket: Token,
    heard: Rc<RefCell<Vec<u8>>>,
    /// What the owner saw; bytes in one piece.
    seen: Vec<String>,
    bytes: Vec<u8>,
}

impl Scene {
    fn new(deeds: &[Deed], faults: Faults) -> Scene {
        let address = Address::Tcp("127.0.0.1:80".parse().unwrap());
        let network = Network::new(7, faults);
        let heard = Rc::default();
        let peer = Asked {
            deeds: deeds.to_vec(),
            heard: Rc::clone(&heard),
        };
        network.serve(&address, peer);
        let opening = Opening {
            said: vec![SAID.into()],
            read,
        };
        let sim = network.driver(&Config::default());
        let mut driver = Tunnel::new(Box::new(sim), opening);
        let socket = driver.connect(&address, &SocketOptions::default());
        Scene {
            socket: socket.unwrap(),
            driver,
            heard,
            seen: Vec::new(),
            bytes: Vec::new(),
        }
    }

    /// What the owner has seen after so long.
    fn after(&mut self, ms: u64) -> String {
        let until = self.driver.now().plus(ms * MS);
        let mut completions = Completions::new();
        while self.driver.now() < until {
            let waited = self.driver.wait(Until::Time(until), &mut completions);
            waited.unwrap();
            for completion in completions.iter() {
                assert_eq!(completion.socket, self.socket);
                match completion.event {
                    Event::Received(lent) => self.bytes.extend(completions.bytes(lent)),
                    event => self.seen.push(format!("{event:?}")),
                }
            }
        }
        self.seen.join(" ")
    }
}

#[test]
fn a_connection_stands_when_it_is_led_on_and_what_comes_behind_is_the_owners() {
    use Deed::{Close, Say};
    for faults in [Faults::none(), Faults::rough()] {
        let table: [(&[Deed], &str, &[u8]); 4] = [
            (&[Say(b"+")], "Connected", b""),
            (
                &[Say(b"+hello"), Say(b" there")],
                "Connected",
                b"hello there",
            ),
            (&[Say(b"+bye"), Close], "Connected Ended", b"bye"),
            (&[Say(b"+"), Close], "Connected Ended", b""),
        ];
        for (deeds, seen, bytes) in table {
            let mut scene = Scene::new(deeds, faults.clone());
            assert_eq!(scene.after(100), seen);
            assert_eq!(scene.bytes, bytes);
            assert_eq!(&**scene.heard.borrow(), SAID);
            assert_eq!(scene.driver.count, 0, "nothing is kept of it");
        }
    }
}

#[test]
fn whoever_does_not_lead_on_is_a_fault_by_its_kind() {
    use Deed::{Close, Reset, Say};
    for faults in [Faults::none(), Faults::rough()] {
        let table: [(&[Deed], &str); 7] = [
            (&[Say(b"-\x07")], "Refused(7)"),
            (
                &[Say(b"-"), Say(b"\x09more"), Say(b"and more"), Close],
                "Refused(9)",
            ),
            (&[Say(b"nonsense")], "Broken"),
            (&[Close], "Closed"),
            (&[Reset], "Closed"),
            (&[Say(b"-"), Close], "Closed"),
            (&[Say(b"-"), Reset], "Closed"),
        ];
        for (deeds, fault) in table {
            let mut scene = Scene::new(deeds, faults.clone());
            assert_eq!(scene.after(100), format!("Failed(Tunnel({fault}))"));
            assert_eq!(scene.bytes, b"");
            // The owner may find out while it sends.
            let buffer = Payload::Buffer(b"x".to_vec());
            assert_eq!(scene.driver.send(scene.socket, buffer), Ok(()));
            assert_eq!(scene.driver.close(scene.socket, Closing::Reset), Ok(()));
            assert_eq!(scene.driver.count, 0);
        }
    }
}

#[test]
fn one_that_is_not_answered_yet_is_known_to_be_and_can_be_closed() {
    let mut scene = Scene::new(&[], Faults::none());
    assert!(
        !scene.driver.is_tunnelling(scene.socket),
        "TCP doesn't stand"
    );
    assert_eq!(scene.after(50), "");
    assert!(scene.driver.is_tunnelling(scene.socket));
    let buffer = Payload::Buffer(b"x".to_vec());
    assert_eq!(scene.driver.send(scene.socket, buffer), Err(Refused::Stale));
    assert_eq!(scene.driver.close(scene.socket, Closing::Reset), Ok(()));
    assert!(!scene.driver.is_tunnelling(scene.socket));
    assert_eq!((scene.after(50), scene.driver.count), (String::new(), 0));
}

#[test]
fn an_owner_that_does_not_want_to_receive_yet_is_led_on_all_the_same() {
    use Deed::Say;
    let mut scene = Scene::new(&[Say(b"+"), Say(b"later")], Faults::none());
    scene.driver.arm_receive(scene.socket, false).unwrap();
    assert_eq!(scene.after(50), "Connected");
    assert_eq!(scene.bytes, b"");
    scene.driver.arm_receive(scene.socket, true).unwrap();
    scene.after(50);
    assert_eq!(scene.bytes, b"later");
}

#[test]
fn an_owner_may_send_as_soon_as_it_is_told() {
    use Deed::Say;
    let mut scene = Scene::new(&[Say(b"+")], Faults::rough());
    scene.after(100);
    let buffer = Payload::Buffer(b"words".to_vec());
    assert_eq!(scene.driver.send(scene.socket, buffer), Ok(()));
    assert_eq!(scene.after(100), "Connected Sent");
    assert_eq!(scene.heard.borrow().strip_prefix(SAID), Some(&b"words"[..]));
}

#[test]
fn one_that_nobody_takes_fails_as_without_a_tunnel() {
    let faults = Faults {
        refuse: 1.0,
        ..Faults::none()
    };
    assert_eq!(Scene::new(&[], faults).after(50), "Failed(Refused)");
}

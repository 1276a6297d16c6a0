//! Peers that say much and read nothing: what is kept to be sent to them is bounded.

use super::drain::Disturbed;
use super::*;
use plan::protocol::{Http2, Message, Protocol};

/// The most that may wait to be sent on a connection, all that is said of it included.
const UNSENT_BYTES_MAX: usize = 128 * 1024 + 1024;

/// Greets, then floods the connection with frames that are to be answered, and reads nothing for
/// half a second.
struct Flood {
    begun: bool,
    is_http2: bool,
    frame: &'static [u8],
    answered_bytes: Rc<Cell<u64>>,
}

impl Peer for Flood {
    fn received(&mut self, _: Connection, bytes: &[u8], _: Time, replies: &mut Replies) {
        if self.begun {
            let before = self.answered_bytes.get();
            return self.answered_bytes.set(before + bytes.len() as u64);
        }
        self.begun = true;
        let mut out = Vec::new();
        match self.is_http2 {
            true => out.extend([0, 0, 0, 4, 0, 0, 0, 0, 0]),
            false => crate::tests::rogue::upgrade(bytes, &mut out),
        }
        (0..100_000).for_each(|_| out.extend(self.frame));
        replies.stop_reading(0);
        replies.send(0, out);
        replies.start_reading(500 * MS);
    }
}

/// A hold of one connection under a flood of `frame`: what it says, how much was answered, and the
/// most bytes that waited to be sent.
fn flooded(protocol: Protocol, frame: &'static [u8]) -> (Record, u64, usize) {
    let mut plan = plan(1, 2.0);
    plan.retries = 0;
    let is_http2 = protocol.http2().is_some();
    plan.protocol = protocol;
    let answered_bytes = Rc::new(Cell::new(0));
    let network = Network::new(1, Faults::none());
    let server = Flood {
        begun: false,
        is_http2,
        frame,
        answered_bytes: Rc::clone(&answered_bytes),
    };
    network.serve(&address(), server);
    let assignment = assignment(&plan, network.now());
    let most_bytes = Rc::new(Cell::new(0));
    let driver = Disturbed {
        driver: network.driver(&assignment.config()),
        close_ns: 0,
        signal: None,
        most_bytes: Rc::clone(&most_bytes),
    };
    let gate = Gate::new(1);
    let worker = Worker::new(driver, &gate, Stop::new(), assignment).unwrap();
    let record = record_of(&plan, vec![brought(worker)]);
    (record, answered_bytes.get(), most_bytes.get())
}

#[test]
fn a_flood_over_http2_ends_the_connection_with_a_clear_word_and_fills_no_memory() {
    let ping: &[u8] = &[0, 0, 8, 6, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8];
    let settings: &[u8] = &[0, 0, 0, 4, 0, 0, 0, 0, 0];
    for (frame, word) in [
        (ping, "too many answers to frames not taken"),
        (settings, "too many frames that bring nothing"),
    ] {
        let protocol = Protocol::Http2 {
            http2: Http2::default(),
        };
        let (record, _, most_bytes) = flooded(protocol, frame);
        assert_eq!(
            record.losses["protocol_violation"], 1,
            "{:?}",
            record.losses
        );
        let said = record.warnings.join("; ");
        assert!(
            said.contains("the server violated the protocol: "),
            "{said}"
        );
        assert!(said.contains(word), "{said}");
        assert!(most_bytes > 1_000, "{most_bytes}");
        assert!(most_bytes <= UNSENT_BYTES_MAX, "{most_bytes}");
    }
}

#[test]
fn of_a_flood_of_pings_the_latest_are_answered() {
    let message = Message {
        payload: Vec::new(),
        binary: true,
        ping_every_s: None,
    };
    let protocol = Protocol::WebSocket { message };
    let (record, answered_bytes, most_bytes) = flooded(protocol, &[0x89, 2, b'h', b'i']);
    // Two for each turn in which pings came, and not eight bytes for each of 100,000.
    assert!((8..100_000).contains(&answered_bytes), "{answered_bytes}");
    assert!((8..1_000).contains(&most_bytes), "{most_bytes}");
    let losses = &record.losses;
    assert!(!losses.contains_key("protocol_violation"), "{losses:?}");
}

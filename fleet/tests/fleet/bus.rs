//! The bus in memory is a bus, and does to messages what it was told to.

use bytes::Bytes;
use fleet::bus::{Bus, Refused, Subject};
use fleet::conformance::{self, Ground};
use fleet::memory::{End, Faults, Network};
use measure::time::Time;

struct Memory {
    network: Network,
    now: u64,
}

impl Ground for Memory {
    type End = End;

    fn end(&mut self) -> End {
        self.network.end()
    }

    fn settle(&mut self) {
        self.now += 1_000_000_000;
        self.network.advance(Time(self.now));
    }
}

#[test]
fn the_bus_in_memory_is_a_bus() {
    let faults = Faults {
        delay_ns: 1_000_000,
        ..Faults::default()
    };
    conformance::check(&mut Memory {
        network: Network::new(1, faults),
        now: 0,
    });
}

/// How many of a thousand messages come, and whether in their order.
fn heard(faults: Faults) -> (usize, bool) {
    let network = Network::new(5, faults);
    let (mut speaker, mut listener) = (network.end(), network.end());
    listener.subscribe(&Subject::Call);
    for number in 0..1000u32 {
        network.advance(Time(u64::from(number) * 1_000_000));
        let message = Bytes::from(number.to_be_bytes().to_vec());
        assert_eq!(speaker.publish(&Subject::Call, message), Ok(()));
    }
    network.advance(Time(u64::MAX));
    let all: Vec<Bytes> = std::iter::from_fn(|| listener.next()).collect();
    (all.len(), all.is_sorted())
}

#[test]
fn messages_are_lost_doubled_and_overtaken_as_often_as_asked_for() {
    assert_eq!(heard(Faults::default()), (1000, true));
    let lossy = Faults {
        loss: 0.2,
        ..Faults::default()
    };
    let (lost, doubled) = (
        heard(lossy),
        heard(Faults {
            doubled: 0.2,
            ..Faults::default()
        }),
    );
    assert!((700..900).contains(&lost.0), "{lost:?}");
    assert!((1100..1300).contains(&doubled.0), "{doubled:?}");
    let late = Faults {
        jitter_ns: 1_000_000,
        late: 0.1,
        ..Faults::default()
    };
    assert_eq!(heard(late), (1000, false));
}

#[test]
fn a_broker_that_is_away_and_an_end_that_is_cut_off_hear_nothing() {
    let network = Network::new(
        1,
        Faults {
            delay_ns: 10,
            ..Faults::default()
        },
    );
    let (mut speaker, mut listener) = (network.end(), network.end());
    listener.subscribe(&Subject::Call);
    let mut say = |what: &'static str| speaker.publish(&Subject::Call, what.into());
    assert_eq!(say("in flight"), Ok(()));
    network.restart(Time(100));
    assert_eq!(say("away"), Err(Refused::Away));
    network.advance(Time(100));
    assert_eq!(say("back"), Ok(()));
    network.advance(Time(200));
    network.cut(listener.number(), true);
    assert_eq!(say("cut"), Ok(()));
    network.advance(Time(300));
    network.cut(listener.number(), false);
    let all: Vec<Bytes> = std::iter::from_fn(|| listener.next()).collect();
    assert_eq!(all, ["back"]);
}

//! The bus over NATS is a bus.

use std::cell::RefCell;
use std::rc::Rc;

use agents::nats::{Broker, End};
use bytes::Bytes;
use fleet::bus::{Bus, Refused, Subject};
use fleet::conformance::{self, Ground};
use tokio::runtime::{Builder, Runtime};

use crate::programs::{Nats, until};

struct OverNats {
    runtime: Runtime,
    broker: Broker,
    /// All ends, by which it's known what has had its effect.
    ends: Vec<Shared>,
}

/// An end that its ground can ask, too.
#[derive(Clone)]
struct Shared(Rc<RefCell<End>>);

impl Bus for Shared {
    fn subscribe(&mut self, subject: &Subject) {
        self.0.borrow_mut().subscribe(subject);
    }

    fn unsubscribe(&mut self, subject: &Subject) {
        self.0.borrow_mut().unsubscribe(subject);
    }

    fn publish(&mut self, subject: &Subject, message: Bytes) -> Result<(), Refused> {
        self.0.borrow_mut().publish(subject, message)
    }

    fn next(&mut self) -> Option<Bytes> {
        self.0.borrow_mut().next()
    }
}

impl OverNats {
    fn new(nats: &Nats) -> OverNats {
        OverNats {
            runtime: Builder::new_current_thread().enable_all().build().unwrap(),
            broker: Broker::new(&nats.url(), None).unwrap(),
            ends: Vec::new(),
        }
    }
}

impl Ground for OverNats {
    type End = Shared;

    fn end(&mut self) -> Shared {
        let end = self.runtime.block_on(End::connect(&self.broker, "test"));
        let end = Shared(Rc::new(RefCell::new(end.unwrap())));
        self.ends.push(end.clone());
        end
    }

    fn settle(&mut self) {
        // Once, and the broker has all that was said; twice, and so has everybody.
        for _ in 0..2 {
            for end in &self.ends {
                let mut end = end.0.borrow_mut();
                self.runtime.block_on(end.round_trip()).unwrap();
            }
        }
    }
}

#[test]
fn the_bus_over_nats_is_a_bus() {
    let Some(nats) = Nats::start() else {
        return;
    };
    let mut ground = OverNats::new(&nats);
    conformance::check(&mut ground);
}

#[test]
fn a_bus_whose_broker_was_away_is_one_again_with_its_subscriptions() {
    let Some(mut nats) = Nats::start() else {
        return;
    };
    let mut ground = OverNats::new(&nats);
    let (mut speaker, mut listener) = (ground.end(), ground.end());
    listener.subscribe(&Subject::Call);
    ground.settle();
    nats.restart();
    until("a message comes", || {
        let _away = speaker.publish(&Subject::Call, "still there?".into());
        for end in [&speaker, &listener] {
            let _lost = ground.runtime.block_on(end.0.borrow_mut().round_trip());
        }
        listener.next().is_some()
    });
}

#[test]
fn a_broker_that_is_not_there_is_named_without_its_password() {
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    let broker = Broker::new("nats://me:canary@127.0.0.1:1", None).unwrap();
    let said = runtime.block_on(End::connect(&broker, "test")).unwrap_err();
    assert!(said.contains("nats://127.0.0.1:1"), "{said}");
    assert!(!said.contains("canary"), "{said}");
    assert!(!format!("{broker:?}").contains("canary"));
}

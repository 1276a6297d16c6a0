//! A whole worker with the service of the native example, in the simulated network: no bytes of a
//! client make it panic, tell its service of a request twice or of what is none, or keep memory.
//!
//! `support/whole.rs` says how an input is read.
#![no_main]

#[path = "../support/frames.rs"]
#[allow(dead_code, reason = "the targets of the protocol use the rest")]
mod frames;
#[allow(dead_code, reason = "it's a whole program")]
#[path = "../../server/examples/native.rs"]
mod native;
#[path = "../../measure/src/random.rs"]
#[allow(dead_code)] // Other targets use the rest.
mod random;
#[path = "../support/whole.rs"]
mod whole;

use std::cell::RefCell;
use std::collections::HashSet;
use std::rc::Rc;

use libfuzzer_sys::{Corpus, fuzz_target};
use ringside_server::simulated::serve;
use ringside_server::{Context, Event, Intake, Reply, Request, Service, Ticket};
use whole::Told;

/// The service of the example, of which each call is noted.
struct Noted<S> {
    service: S,
    told: Rc<RefCell<Vec<Told>>>,
    tickets: HashSet<Ticket>,
    /// Answers that never change are told to be kept, and so asked for once.
    keeps: bool,
}

impl<S: Service> Service for Noted<S> {
    fn intake(&mut self, head: &Request<'_>) -> Intake {
        self.service.intake(head)
    }

    fn call(&mut self, request: &Request<'_>, context: &mut Context<'_>) -> Reply {
        let told = (request.method().to_vec(), request.target().to_vec());
        self.told.borrow_mut().push(told);
        if !self.keeps {
            assert!(
                self.tickets.insert(context.ticket()),
                "a request is told twice"
            );
        }
        match self.service.call(request, context) {
            Reply::Always(response) if !self.keeps => Reply::Now(response),
            reply => reply,
        }
    }

    fn event(&mut self, _: Ticket, event: Event<'_>, _: &mut Context<'_>) {
        panic!("nothing is under way that could be told {event:?}");
    }
}

fuzz_target!(|data: &[u8]| -> Corpus {
    let Some(case) = whole::case(data) else {
        return Corpus::Reject;
    };
    let told = Rc::default();
    let service = Noted {
        service: native::service(),
        told: Rc::clone(&told),
        tickets: HashSet::new(),
        keeps: case.choice,
    };
    let scripts = vec![case.script, whole::fair()];
    let outcome = serve(service, scripts, case.chance, 10, &whole::config(4096));
    whole::check(&outcome);
    let told = told.take();
    assert!(told.len() as u64 <= outcome.counts.requests, "{told:?}");
    if !case.choice {
        let told = whole::without_fair(told);
        if !case.http2 {
            whole::check_told(&told, &case.input, |target| target);
        }
    }
    Corpus::Keep
});

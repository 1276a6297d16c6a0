//! The server role: no bytes of a client make it panic, grow, or depend on how they were cut.
//!
//! The first byte of an input chooses how it is cut, the rest is what the client sent.
#![no_main]

#[allow(dead_code, reason = "the tables of the tests use more of it")]
#[path = "../../proto/tests/support/choppings.rs"]
mod choppings;
#[allow(dead_code, reason = "the tables of the tests use more of it")]
#[path = "../../proto/tests/http1/harness.rs"]
mod harness;
#[path = "../../measure/src/random.rs"]
#[allow(dead_code)] // Other targets use the rest.
mod random;

use choppings::some_choppings;
use libfuzzer_sys::{Corpus, fuzz_target};
use proto::http1::server::{Limits, Server};

/// Small, so that the fuzzer reaches them.
const LIMITS: Limits = Limits {
    head_bytes: 256,
    target_bytes: 64,
    fields: 8,
    body_bytes: 1024,
};

fuzz_target!(|data: &[u8]| -> Corpus {
    let &[seed, ref input @ ..] = data else {
        return Corpus::Reject;
    };
    let choppings = some_choppings(input, seed.into());
    harness::in_choppings(|| Server::new(LIMITS), input, false, choppings);
    Corpus::Keep
});

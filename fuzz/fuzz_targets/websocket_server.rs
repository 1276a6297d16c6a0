//! The server role of WebSocket: no bytes of a client make it panic, grow, or depend on how they
//! were cut.
//!
//! The first byte of an input chooses how it is cut, the rest is what the client sent.
#![no_main]

#[allow(dead_code, reason = "the tables of the tests use more of it")]
#[path = "../../proto/tests/support/choppings.rs"]
mod choppings;
#[allow(dead_code, reason = "the tables of the tests use more of it")]
#[path = "../../proto/tests/websocket/harness.rs"]
mod harness;
#[path = "../../measure/src/random.rs"]
#[allow(dead_code)] // Other targets use the rest.
mod random;

use choppings::some_choppings;
use libfuzzer_sys::{Corpus, fuzz_target};
use proto::websocket::{Limits, Role};

/// Small, so that the fuzzer reaches them.
const LIMITS: Limits = Limits {
    frame_bytes: 512,
    message_bytes: 1024,
};

fuzz_target!(|data: &[u8]| -> Corpus {
    let &[seed, ref input @ ..] = data else {
        return Corpus::Reject;
    };
    let choppings = some_choppings(input, seed.into());
    harness::read_chopped(Role::Server, LIMITS, input, choppings);
    Corpus::Keep
});

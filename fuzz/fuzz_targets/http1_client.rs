//! The client role: no bytes of a server make it panic, grow, or depend on how they were cut.
//!
//! The first byte of an input chooses which requests were sent and whether the connection ends, the
//! second how it is cut, the rest is what the server sent.
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
use proto::http1::client::{Answer, Limits};

/// Small, so that the fuzzer reaches them.
const LIMITS: Limits = Limits {
    head_bytes: 256,
    fields: 8,
};

fuzz_target!(|data: &[u8]| -> Corpus {
    let &[setup, seed, ref input @ ..] = data else {
        return Corpus::Reject;
    };
    let answers: Vec<_> = (0..setup & 3)
        .map(|n| {
            if setup >> (2 + n) & 1 == 1 {
                Answer::HeadOnly
            } else {
                Answer::Usual
            }
        })
        .collect();
    let machine = || harness::client_after(LIMITS, &answers);
    let choppings = some_choppings(input, seed.into());
    harness::in_choppings(machine, input, setup >> 7 == 1, choppings);
    Corpus::Keep
});

//! The server role of HTTP/2: no bytes of a client make it panic, grow, or depend on how they were
//! cut.
//!
//! The first byte of an input says whether the server answers, and whether the rest is frames (see
//! `support/frames.rs`) behind the beginning of a connection, or bytes as they come. The second
//! byte chooses how it is cut.
#![no_main]

#[allow(dead_code, reason = "the tables of the tests use more of it")]
#[path = "../../proto/tests/support/choppings.rs"]
mod choppings;
#[path = "../support/frames.rs"]
mod frames;
#[allow(dead_code, reason = "the tables of the tests use more of it")]
#[path = "../../proto/tests/http2/harness.rs"]
mod harness;
#[path = "../../measure/src/random.rs"]
#[allow(dead_code)] // Other targets use the rest.
mod random;

use choppings::some_choppings;
use frames::{CONFIG, frames};
use harness::Side;
use libfuzzer_sys::{Corpus, fuzz_target};
use proto::http2::server::PREFACE;

fuzz_target!(|data: &[u8]| -> Corpus {
    let &[setup, seed, ref rest @ ..] = data else {
        return Corpus::Reject;
    };
    let side = if setup & 1 == 1 {
        Side::Server
    } else {
        Side::SilentServer
    };
    let input = if setup >> 7 == 1 {
        rest.to_vec()
    } else {
        [PREFACE, &frames(&[4, 0, 0, 0])[..], &frames(rest)].concat()
    };
    let whole = harness::run(CONFIG, &side, &[&input]);
    for (how, pieces) in some_choppings(&input, seed.into()) {
        assert_eq!(harness::run(CONFIG, &side, &pieces), whole, "{how}");
    }
    Corpus::Keep
});

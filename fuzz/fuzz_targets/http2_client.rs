//! The client role of HTTP/2: no bytes of a server make it panic, grow, or depend on how they were
//! cut.
//!
//! The first byte of an input says how many requests were sent, whether they have bodies, and
//! whether the rest is frames (see `support/frames.rs`) or bytes as they come. The second byte
//! chooses how it is cut.
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
use proto::http2::client::Request;

fuzz_target!(|data: &[u8]| -> Corpus {
    let &[setup, seed, ref rest @ ..] = data else {
        return Corpus::Reject;
    };
    let requests = (0..setup & 3).map(|n| request(setup >> (2 + n) & 1 == 1));
    let side = Side::Client(requests.collect());
    let input = if setup >> 7 == 1 {
        rest.to_vec()
    } else {
        frames(rest)
    };
    let whole = harness::run(CONFIG, &side, &[&input]);
    for (how, pieces) in some_choppings(&input, seed.into()) {
        assert_eq!(harness::run(CONFIG, &side, &pieces), whole, "{how}");
    }
    Corpus::Keep
});

/// The body is longer than the first window of a stream.
fn request(with_body: bool) -> Request {
    let fields = [(":method", "POST"), (":scheme", "http"), (":path", "/")];
    let body = vec![b'x'; if with_body { 70_000 } else { 0 }];
    Request::new(&fields, body).expect("a valid request")
}

//! gRPC: messages are the same however they were cut, and fields of a peer are read without a panic
//! and come back from our own encoders.
//!
//! The first byte of an input chooses how it is cut, the rest is both the data of a stream and the
//! value of every field that a peer may send.
#![no_main]

#[allow(dead_code, reason = "the tables of the tests use more of it")]
#[path = "../../proto/tests/support/choppings.rs"]
mod choppings;
#[path = "../../proto/tests/grpc/harness.rs"]
mod harness;
#[path = "../../measure/src/random.rs"]
#[allow(dead_code)] // Other targets use the rest.
mod random;

use choppings::some_choppings;
use libfuzzer_sys::{Corpus, fuzz_target};
use proto::grpc::call::Head;
use proto::grpc::{
    Status, decode_binary, decode_message, decode_timeout, encode_binary, encode_message,
    encode_timeout,
};

/// Small, so that the fuzzer reaches it.
const MESSAGE_BYTES_MAX: u32 = 256;

fuzz_target!(|data: &[u8]| -> Corpus {
    let &[seed, ref input @ ..] = data else {
        return Corpus::Reject;
    };
    let choppings = some_choppings(input, seed.into());
    harness::read_chopped(MESSAGE_BYTES_MAX, input, seed & 1 == 1, choppings);

    let text = decode_message(input);
    let mut value = Vec::new();
    encode_message(&text, &mut value);
    assert!(value.iter().all(|byte| (b' '..=b'~').contains(byte)));
    assert_eq!(decode_message(&value), text);

    if let Some(timeout) = decode_timeout(input) {
        let read = decode_timeout(encode_timeout(timeout).as_bytes());
        assert!(read.is_some_and(|read| read >= timeout), "{timeout:?}");
    }
    for bytes in decode_binary(input).unwrap_or_default() {
        let value = encode_binary(&bytes);
        assert_eq!(decode_binary(value.as_bytes()), Some(vec![bytes]));
    }
    assert!(Status::ALL.contains(&Status::parse(input)));
    let head = Head {
        http_method: b"POST",
        path: input,
        content_type: Some(b"application/grpc"),
        timeout: None,
        encoding: None,
        accept_encoding: None,
    };
    if let Ok(call) = head.call() {
        assert_eq!([b"/", call.service, b"/", call.method].concat(), input);
    }
    Corpus::Keep
});

//! The framing of messages.

use std::io::Read;

use flate2::read::GzDecoder;
use proto::grpc::{Event, Messages, Status, encode, encode_gzipped, prefix};
use proto::gzip::{self, Gzip, Unpacked};

use crate::choppings::every_chopping;
use crate::harness::read_chopped;
use measure::random::Random;

const SEED: u64 = 0x5eed_0005;
const LIMIT: u32 = 1000;

#[test]
fn messages_are_read_however_they_are_cut() {
    let cases: [(&[u8], &str); 10] = [
        (b"", ""),
        (b"\0\0\0\0\0", "0 bytes, end"),
        (b"\0\0\0\0\x05hello", "5 bytes, \"hello, end"),
        (
            b"\0\0\0\0\x01a\0\0\0\0\0\x01\0\0\0\x02bc",
            "1 bytes, \"a, end, 0 bytes, end, 2 bytes compressed, \"bc, end",
        ),
        // What is not complete yet.
        (
            b"\0\0\0\0",
            "failed: a stream that ended inside a message \
            (gRPC over HTTP/2, Length-Prefixed-Message)",
        ),
        (
            b"\0\0\0\0\x02a",
            "2 bytes, \"a, failed: a stream that ended inside a message \
            (gRPC over HTTP/2, Length-Prefixed-Message)",
        ),
        // What is wrong.
        (
            b"\x02\0\0\0\x01a",
            "failed: a compressed flag that is neither 0 nor 1 \
            (gRPC over HTTP/2, Compressed-Flag)",
        ),
        (
            b"\0\0\0\0\x01a\xff\0\0\0\0",
            "1 bytes, \"a, end, failed: a compressed flag that is \
            neither 0 nor 1 (gRPC over HTTP/2, Compressed-Flag)",
        ),
        (
            b"\0\0\0\x03\xe9",
            "failed: a message longer than the limit \
            (gRPC over HTTP/2, Message-Length)",
        ),
        (
            b"\0\xff\xff\xff\xff",
            "failed: a message longer than the limit \
            (gRPC over HTTP/2, Message-Length)",
        ),
    ];
    for (input, expected) in cases {
        let said = read_chopped(LIMIT, input, true, every_chopping(input, SEED));
        assert_eq!(said, expected, "{}", input.escape_ascii());
    }
}

#[test]
fn a_stream_that_goes_on_is_not_judged_by_its_unfinished_message() {
    for input in [&b"\0\0\0\0"[..], b"\0\0\0\0\x02a"] {
        let said = read_chopped(LIMIT, input, false, every_chopping(input, SEED));
        assert!(!said.contains("failed"), "{said}");
    }
}

#[test]
fn what_is_encoded_is_read() {
    for seed in 0..50 {
        let mut random = Random::seeded(seed);
        let (mut input, mut expected) = (Vec::new(), Vec::new());
        for _ in 0..random.index(4) {
            let message = vec![b'x'; random.index(LIMIT as usize + 1)];
            encode(&message, &mut input).expect("a message of some bytes");
            expected.push(format!("{} bytes", message.len()));
            if !message.is_empty() {
                expected.push(format!("\"{}", "x".repeat(message.len())));
            }
            expected.push("end".to_owned());
        }
        let said = read_chopped(LIMIT, &input, true, every_chopping(&input, seed));
        assert_eq!(said, expected.join(", "), "seed {seed}");
    }
}

#[test]
fn what_is_compressed_is_gzip_that_others_read_and_says_so() {
    let mut gzip = Gzip::default();
    let mut random = Random::seeded(SEED);
    let noise: Vec<u8> = (0..100_000).map(|_| random.index(256) as u8).collect();
    for text in [&b"a"[..], b"Hello, World!", &[7; 200_000], &noise, b"a"] {
        let mut out = b"before".to_vec();
        encode_gzipped(text, &mut gzip, &mut out).expect("a message of some bytes");
        let (prefix, packed) = out[6..].split_at(5);
        let length = packed.len() as u32;
        assert_eq!(prefix, [&[1][..], &length.to_be_bytes()].concat());
        let mut read = Vec::new();
        GzDecoder::new(packed).read_to_end(&mut read).unwrap();
        assert!(read == text, "{} bytes", text.len());
        read.clear();
        assert_eq!(gzip::unpack(packed, text.len(), &mut read), Ok(()));
        assert!(read == text, "{} bytes", text.len());
        let unpacked = |packed, most| gzip::unpack(packed, most, &mut Vec::new());
        let too_long = Err(Unpacked::TooLong);
        assert_eq!(unpacked(packed, text.len() - 1), too_long);
        let cut = &packed[..packed.len() - 1];
        assert_eq!(unpacked(cut, text.len()), Err(Unpacked::Broken));
    }
    let mut out = Vec::new();
    encode_gzipped(b"", &mut gzip, &mut out).expect("a message of no bytes");
    assert_eq!(out, b"\0\0\0\0\0", "which isn't compressed");
}

#[test]
fn a_message_of_the_limit_passes_and_the_limit_may_be_all_that_can_be_said() {
    let mut messages = Messages::new(u32::MAX);
    let longest = prefix(u32::MAX);
    let event = messages.next(&mut &longest[..]);
    let begin = Event::Begin {
        length: u32::MAX,
        compressed: false,
    };
    assert_eq!(event, Ok(Some(begin)));
    let mut messages = Messages::new(LIMIT);
    assert!(messages.next(&mut &prefix(LIMIT)[..]).is_ok());
}

#[test]
fn what_is_wrong_ends_the_call_with_a_status() {
    let status_of = |input: &[u8]| {
        let mut messages = Messages::new(LIMIT);
        let read = messages
            .next(&mut &input[..])
            .and_then(|_| messages.ended());
        read.expect_err("input that is wrong").status
    };
    assert_eq!(status_of(&prefix(LIMIT + 1)), Status::ResourceExhausted);
    assert_eq!(status_of(b"\x80\0\0\0\0"), Status::Internal);
    assert_eq!(status_of(b"\0\0\0\0\x01"), Status::Internal);
    assert!(
        size_of::<Messages>() <= 24,
        "there may be one for every stream"
    );
}

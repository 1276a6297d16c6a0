//! Traces: no file makes a reader panic; what is read are requests that can be sent, in the order
//! of their times, and nothing that lets somebody in is among them.
//!
//! The first byte of an input says which format it's read as.
#![no_main]

use std::io::Cursor;

use libfuzzer_sys::{Corpus, fuzz_target};
use replay::{Options, from};

fuzz_target!(|data: &[u8]| -> Corpus {
    let &[choice, ref text @ ..] = data else {
        return Corpus::Reject;
    };
    let ending = [None, Some("log"), Some("ndjson"), Some("har")][usize::from(choice) % 4];
    let is_secret = |name: &str| name.eq_ignore_ascii_case("cookie");
    let options = Options {
        methods: None,
        is_secret: &is_secret,
        keep_secrets: false,
    };
    match from(&mut Cursor::new(text), ending, "file", &options) {
        Err(why) => assert!(!why.is_empty() && !why.contains('\u{1b}'), "{why}"),
        Ok(trace) => {
            assert!(!trace.sendings.is_empty());
            assert!(trace.sendings.is_sorted_by_key(|one| one.at_ns));
            for sending in &trace.sendings {
                let request = &trace.requests[sending.request as usize];
                assert!(request.target.starts_with('/'), "{request:?}");
                let is_sent = |byte: u8| (0x21..=0x7e).contains(&byte);
                assert!(request.target.bytes().all(is_sent), "{request:?}");
                assert!(!request.method.is_empty(), "{request:?}");
                for (name, value) in &request.fields {
                    assert!(!name.is_empty() && !is_secret(name), "{request:?}");
                    assert!(!value.chars().any(char::is_control), "{request:?}");
                }
            }
        }
    }
    Corpus::Keep
});

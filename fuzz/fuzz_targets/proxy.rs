//! Proxies: no text makes their reader panic or tell a password, and however the answer to CONNECT
//! comes in pieces, it means the same.
//!
//! The first byte of an input chooses which of them the rest is; of an answer the second says where
//! it is cut.
#![no_main]

use libfuzzer_sys::{Corpus, fuzz_target};
use plan::{Invalid, Proxy, Redaction};
use proto::http1::connect;

fuzz_target!(|data: &[u8]| -> Corpus {
    match data {
        [choice, text @ ..] if choice % 2 == 0 => match std::str::from_utf8(text) {
            Ok(text) => given(text),
            Err(_) => return Corpus::Reject,
        },
        [_, cut, answer @ ..] => answered(*cut, answer),
        _ => return Corpus::Reject,
    }
    Corpus::Keep
});

/// What may stand behind `--proxy`.
fn given(text: &str) {
    let redaction = Redaction::default();
    match Proxy::parse(text, &redaction) {
        Ok(proxy) => {
            assert!(!proxy.host.is_empty() && !proxy.host.contains(char::is_whitespace));
            let again = Proxy::parse(&proxy.place(), &redaction);
            let without = Proxy {
                authorization: None,
                ..proxy.clone()
            };
            assert_eq!(again, Ok(without), "{}", proxy.place());
            if let Some(value) = proxy.authorization {
                assert!(value.starts_with("Basic ") && value.bytes().all(|byte| byte >= b' '));
            }
        }
        Err(Invalid(what)) => {
            assert!(what.starts_with("--proxy: "), "{what}");
            let user = text.rsplit_once('@').map_or("", |(user, _)| user);
            let password = user.rsplit_once(':').map_or("", |(_, password)| password);
            // No word of ours has all of these.
            let is_like_none = password.len() >= 6
                && password.contains('Z')
                && password.contains(|c: char| c.is_ascii_digit());
            if is_like_none && text.matches(password).count() == 1 {
                assert!(!what.contains(password), "{what}");
            }
        }
    }
}

/// What a proxy may answer.
fn answered(cut: u8, answer: &[u8]) {
    let whole = connect::answer(answer);
    if let Ok(Some((status, bytes))) = whole {
        assert!((200..=999).contains(&status) && bytes <= answer.len());
        // What comes through the tunnel is no part of it.
        assert_eq!(connect::answer(&answer[..bytes]), whole);
    }
    let cut = answer.len() * usize::from(cut) / 256;
    match connect::answer(&answer[..cut]) {
        Ok(None) => {}
        known => assert_eq!(known, whole),
    }
}

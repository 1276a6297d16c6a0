//! Flows: no file makes the reader panic, what ends its lines changes nothing, and a user who goes
//! through what is read sends requests that are some, whatever comes back.
//!
//! The first byte of an input says what answers are like, the rest is the file, and its last line
//! the body of every answer. Files that it names are not read: some have a text, others aren't
//! there.
#![no_main]

use std::time::Duration;

use flow::{Answer, Fields, Flow, Given, Mistake, Now, Request, Session, Step, Version};
use libfuzzer_sys::{Corpus, fuzz_target};
use measure::time::Time;

/// A user of these asks no more, however often the file says so.
const REQUESTS_MAX: usize = 50;
const SECRET: &str = "s3cr3t-k3y";

fuzz_target!(|data: &[u8]| -> Corpus {
    let &[choice, ref text @ ..] = data else {
        return Corpus::Reject;
    };
    // What a file says itself is no secret.
    let is_told = text
        .windows(SECRET.len())
        .any(|part| part == SECRET.as_bytes());
    if is_told {
        return Corpus::Reject;
    }
    let found = read(text, choice & 1 != 0);
    if !text.contains(&b'\r') {
        let lines: Vec<&[u8]> = text.split(|byte| *byte == b'\n').collect();
        let again = read(&lines.join(&b"\r\n"[..]), choice & 1 != 0);
        assert_eq!(again.is_ok(), found.is_ok());
        assert_eq!(again.err(), found.as_ref().err().cloned());
    }
    match found {
        Err(mistakes) => {
            assert!(!mistakes.is_empty());
            for mistake in mistakes {
                check(&mistake.to_string());
            }
        }
        Ok(flow) => go(&mut Session::new(&flow, &["a b"], 7), choice, text),
    }
    Corpus::Keep
});

fn read(text: &[u8], follow: bool) -> Result<std::sync::Arc<Flow>, Vec<Mistake>> {
    let given = Given {
        variables: vec![("base".to_owned(), "http://h".to_owned())],
        secrets: vec![("key".to_owned(), SECRET.to_owned())],
        columns: vec!["user".to_owned()],
        follow,
        ..Given::default()
    };
    Flow::parse("a", text, &given, &mut |name| match name {
        "a" => Ok(b"a\xff".to_vec()),
        _ => Err("there is none".to_owned()),
    })
}

fn go(session: &mut Session, choice: u8, text: &[u8]) {
    let body = text
        .rsplit(|byte| *byte == b'\n')
        .next()
        .unwrap_or_default();
    let status = [200, 302, 307, 404][usize::from(choice >> 1 & 3)];
    let mut fields = Fields::new();
    let names = [&b"location"[..], b"set-cookie", b"content-type"];
    for name in &names[usize::from(choice >> 3 & 3)..] {
        fields.push(name, body);
    }
    let mut request = Request::new();
    let mut now = Now {
        at: Time(1),
        unix_ms: 1_767_225_600_000,
    };
    for _ in 0..REQUESTS_MAX {
        match session.next(now, &mut request) {
            Step::Done(_) => break,
            Step::Listen => unreachable!("every request is answered"),
            Step::Wait(until) => now.at = until,
            Step::Send => {
                hold(&request);
                let answer = Answer {
                    version: Version::Http11,
                    status,
                    fields: &fields,
                    body,
                    is_cut: false,
                    is_broken: choice & 64 != 0,
                    took: Duration::from_millis(1),
                };
                match choice & 32 == 0 {
                    true => session.answer(now, &answer),
                    false => session.lost(now, "it was closed"),
                };
            }
        }
        if let Some(fault) = session.fault() {
            check(&fault.to_string());
        }
    }
}

/// A request that can be sent as it is.
fn hold(request: &Request) {
    let url = request.url();
    assert!(url.target().starts_with('/') && !url.host().is_empty());
    assert!(url.as_str().bytes().all(|byte| byte.is_ascii_graphic()));
    assert!(!request.method().is_empty());
    for (name, value) in request.headers() {
        assert!(!name.is_empty() && name.bytes().all(|byte| byte.is_ascii_graphic()));
        assert!(
            value
                .bytes()
                .all(|byte| byte == b'\t' || !byte.is_ascii_control())
        );
    }
}

/// A message: of bounded length, on one line.
fn check(message: &str) {
    assert!(message.len() < 20_000, "{message}");
    assert!(!message.chars().any(char::is_control), "{message}");
    assert!(!message.contains(SECRET), "{message}");
}

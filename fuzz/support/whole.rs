//! Whole connections for the targets that serve: scripts of clients out of bytes that a fuzzer made
//! up, and what others would call the requests in them.

use std::time::Duration;

use engine::sim::Faults;
use proto::http2::server::PREFACE;
use ringside_server::simulated::{Outcome, Script};
use ringside_server::{Address, Config, Limits, Timeouts};

use crate::frames::frames;
use crate::random::Random;

const MS: u64 = 1_000_000;

/// What a target is given, read.
pub(crate) struct Case {
    pub(crate) script: Script,
    /// All that the client sends.
    pub(crate) input: Vec<u8>,
    pub(crate) http2: bool,
    /// One more choice, for the target.
    pub(crate) choice: bool,
    pub(crate) chance: (u64, Faults),
}

/// The first byte says what is spoken and what the client does besides sending, the second chooses
/// how its bytes are cut, and how long it rests between the pieces.
pub(crate) fn case(data: &[u8]) -> Option<Case> {
    let &[setup, seed, ref rest @ ..] = data else {
        return None;
    };
    let has = |bit: u32| setup >> bit & 1 == 1;
    let http2 = has(0);
    let input = match http2 {
        true => [PREFACE, &frames(&[4, 0, 0, 0])[..], &frames(rest)].concat(),
        false => rest.to_vec(),
    };
    let mut random = Random::seeded(seed.into());
    let (sends, end) = pieces(&input, has(1), &mut random);
    let script = Script {
        sends,
        pauses: has(2).then(|| (random.below(end + MS), end + random.below(8000) * MS)),
        closes: has(3).then(|| end + random.below(3) * 40 * MS),
        resets: has(4).then(|| random.below(end + 100 * MS)),
    };
    let faults = match has(5) {
        true => Faults::rough(),
        false => Faults::none(),
    };
    Some(Case {
        script,
        input,
        http2,
        choice: has(6),
        chance: (seed.into(), faults),
    })
}

/// The input in pieces of any length, each with its time, and the time of the last.
fn pieces(mut input: &[u8], rests: bool, random: &mut Random) -> (Vec<(u64, Vec<u8>)>, u64) {
    let (mut sends, mut at) = (Vec::new(), 0);
    while !input.is_empty() {
        let most = [1, 7, 64, 4096][random.index(4)];
        let length = (1 + random.index(most)).min(input.len());
        let (piece, rest) = input.split_at(length);
        sends.push((at, piece.to_vec()));
        if rests {
            at += [0, 0, 0, 1, 20, 700][random.index(6)] * MS;
        }
        input = rest;
    }
    (sends, at)
}

/// Limits and timeouts that are small, so that the fuzzer reaches them.
pub(crate) fn config(memory_bytes: u64) -> Config {
    Config {
        limits: Limits {
            head_bytes: 512,
            body_bytes: 2048,
            memory_bytes: Some(memory_bytes),
            ..Limits::default()
        },
        timeouts: Timeouts {
            head: Duration::from_secs(1),
            body: Duration::from_secs(2),
            idle: Duration::from_secs(4),
            drain: Duration::from_secs(3),
        },
        ..Config::new(Address::Tcp(([127, 0, 0, 1], 80).into()))
    }
}

/// What the other client asks for.
const FAIR: &[u8] = b"/?6f1e2d3c4b5a";

/// Another client, who asks for little and has to get it.
pub(crate) fn fair() -> Script {
    Script {
        sends: vec![(0, [b"GET ", FAIR, b" HTTP/1.1\r\nHost: a\r\n\r\n"].concat())],
        ..Script::default()
    }
}

/// Holds what came of it to what has to come of everything.
pub(crate) fn check(outcome: &Outcome) {
    assert_eq!(outcome.held_bytes, 0, "of clients that are gone");
    assert_eq!(outcome.counts.connections, 2);
    assert_eq!(outcome.counts.panics, 0);
    let fair = String::from_utf8_lossy(&outcome.heard[1]);
    assert!(
        fair.starts_with("HTTP/1.1 200 "),
        "the other client heard {fair:?}"
    );
}

/// The requests that a service was told of by the client of the case, whenever the other one asked.
pub(crate) fn without_fair(mut told: Vec<Told>) -> Vec<Told> {
    let before = told.len();
    told.retain(|(_, target)| target != FAIR);
    assert_eq!(told.len() + 1, before, "the other client asked once");
    told
}

/// Method and target of the requests that a service was told of.
pub(crate) type Told = (Vec<u8>, Vec<u8>);

/// Holds the requests that a service was told of to those that httparse finds: each once, in their
/// order, and no other; `seen` says in what form a service sees a target.
pub(crate) fn check_told(told: &[Told], input: &[u8], seen: impl Fn(Vec<u8>) -> Vec<u8>) {
    let (found, is_sure) = requests(input);
    let found = found
        .into_iter()
        .map(|(method, target)| (method, seen(target)));
    let found: Vec<Told> = found.collect();
    let common = told.len().min(found.len());
    assert_eq!(
        told[..common],
        found[..common],
        "told, and found by httparse"
    );
    assert!(
        !is_sure || told.len() <= found.len(),
        "{told:?} were told, {found:?} are there"
    );
}

/// The requests that httparse finds, and whether it has understood all of the input. It doesn't
/// where it takes less than we do (other minor versions of HTTP/1, for example).
fn requests(mut input: &[u8]) -> (Vec<Told>, bool) {
    let mut found = Vec::new();
    loop {
        let mut fields = [httparse::EMPTY_HEADER; 64];
        let mut request = httparse::Request::new(&mut fields);
        let length = match request.parse(input) {
            Ok(httparse::Status::Complete(length)) => length,
            Ok(httparse::Status::Partial) => return (found, true),
            Err(_) => return (found, false),
        };
        let (Some(method), Some(target)) = (request.method, request.path) else {
            return (found, false);
        };
        found.push((method.as_bytes().to_vec(), target.as_bytes().to_vec()));
        let value = |name: &str| {
            let field = request
                .headers
                .iter()
                .find(|one| one.name.eq_ignore_ascii_case(name));
            field.map(|one| String::from_utf8_lossy(one.value).into_owned())
        };
        let rest = &input[length..];
        let body = match (value("transfer-encoding"), value("content-length")) {
            (Some(_), _) => match chunks(rest) {
                Ok(length) => length,
                Err(is_sure) => return (found, is_sure),
            },
            (None, Some(length)) => match length.trim().parse() {
                Ok(length) => Some(length),
                Err(_) => return (found, false),
            },
            (None, None) => Some(0),
        };
        match body {
            Some(length) if length <= rest.len() => input = &rest[length..],
            _ => return (found, true),
        }
    }
}

/// The length of a body in chunks, or `None` if its end isn't there; an error if it's none.
fn chunks(input: &[u8]) -> Result<Option<usize>, bool> {
    let mut at = 0;
    loop {
        let (line, size) = match httparse::parse_chunk_size(&input[at..]) {
            Ok(httparse::Status::Complete(line)) => line,
            Ok(httparse::Status::Partial) => return Ok(None),
            Err(_) => return Err(false),
        };
        at += line;
        if size == 0 {
            let mut fields = [httparse::EMPTY_HEADER; 64];
            return match httparse::parse_headers(&input[at..], &mut fields) {
                Ok(httparse::Status::Complete((length, _))) => Ok(Some(at + length)),
                Ok(httparse::Status::Partial) => Ok(None),
                Err(_) => Err(false),
            };
        }
        let end = usize::try_from(size)
            .ok()
            .and_then(|size| at.checked_add(size)?.checked_add(2));
        match end {
            Some(end) if end <= input.len() => at = end,
            _ => return Ok(None),
        }
    }
}

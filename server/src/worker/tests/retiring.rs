//! Workers that give their listening socket up: no client connects to them in vain.

use std::time::Duration;

use super::http2::{GOAWAY, HEADERS, opening, request};
use super::*;

/// The last stream that a GOAWAY names which only announces the end (RFC 9113 §6.8).
const ANY: u32 = u32::MAX >> 1;

/// What a client over HTTP/2 is told that opens its connection and asks for something later.
fn retires(retires_at: u64, asks_at: Option<u64>) -> Heard {
    let mut stage = Stage::new(1, Faults::none());
    let request = asks_at.map(|at| (at, request(1, "GET", "/", true)));
    let script = Script {
        sends: [(10 * MS, opening())].into_iter().chain(request).collect(),
        ..Script::default()
    };
    let heard = stage.dial(script);
    stage.serve(retires_at, || false);
    stage.stop.retire();
    while !stage.worker.is_done() {
        stage.serve(SECOND, || heard.borrow().is_over());
    }
    stage.end();
    heard.take()
}

/// Of each frame its type, its stream, and the last stream where it's GOAWAY (RFC 9113 §4.1).
fn frames(heard: &Heard) -> Vec<(u8, u32, Option<u32>)> {
    let number = |bytes: &[u8]| u32::from_be_bytes(bytes.try_into().expect("four bytes"));
    let mut all = Vec::new();
    let mut rest = &heard.bytes[..];
    while let [a, b, c, kind, _, after @ ..] = rest {
        let length = number(&[0, *a, *b, *c]) as usize;
        let last = (*kind == GOAWAY).then(|| number(&after[4..8]));
        all.push((*kind, number(&after[..4]), last));
        rest = &after[4 + length..];
    }
    all
}

fn told(heard: &Heard) -> Vec<(u8, u32, Option<u32>)> {
    let mut frames = frames(heard);
    frames.retain(|(kind, ..)| [HEADERS, GOAWAY].contains(kind));
    frames
}

#[test]
fn a_client_that_has_not_asked_yet_is_answered_before_it_is_told_to_go() {
    // It connects before the worker retires, opens HTTP/2 before or after that, and asks last:
    // while others are told to go, and after they were.
    for retires_at in [5 * MS, 15 * MS] {
        for asks_at in [20 * MS, 700 * MS, 3 * SECOND] {
            let heard = retires(retires_at, Some(asks_at));
            let expected = [
                (HEADERS, 1, None),
                (GOAWAY, 0, Some(ANY)),
                (GOAWAY, 0, Some(1)),
            ];
            assert_eq!(told(&heard), expected, "{retires_at} {asks_at}");
            assert!(heard.reset.is_none() && heard.ended.is_some());
        }
    }
}

#[test]
fn a_client_that_has_asked_is_told_at_once() {
    let heard = retires(100 * MS, Some(20 * MS));
    let expected = [
        (HEADERS, 1, None),
        (GOAWAY, 0, Some(ANY)),
        (GOAWAY, 0, Some(1)),
    ];
    assert_eq!(told(&heard), expected);
    let ended = heard.after(heard.ended);
    assert!((1100 * MS..1600 * MS).contains(&ended), "{ended}");
}

#[test]
fn a_client_that_never_asks_is_let_go_when_it_has_been_silent() {
    for retires_at in [5 * MS, 15 * MS] {
        let heard = retires(retires_at, None);
        assert_eq!(told(&heard), [(GOAWAY, 0, Some(0))]);
        let told = heard.after(heard.last);
        assert!((5 * SECOND..6 * SECOND + 50 * MS).contains(&told), "{told}");
        assert!(heard.reset.is_none() && heard.ended.is_some());
    }
}

#[test]
fn with_little_time_to_drain_who_waits_for_nothing_is_let_go_and_who_waits_is_cut_off() {
    let mut stage = Stage::new(1, Faults::none());
    stage.worker.settings.timeouts.drain = Duration::from_millis(500);
    let asks = |path| Script {
        sends: vec![(10 * MS, get(path).into_bytes())],
        ..Script::default()
    };
    let (idle, waits) = (stage.dial(asks("/")), stage.dial(asks("/delay/2s")));
    stage.serve(20 * MS, || false);
    stage.stop.retire();
    while !stage.worker.is_done() {
        stage.serve(SECOND, || {
            idle.borrow().is_over() && waits.borrow().is_over()
        });
    }
    let summary = stage.end();
    assert_eq!(summary.counts.cut, 1);
    let (idle, waits) = (idle.take(), waits.take());
    assert!(idle.reset.is_none() && idle.ended.is_some());
    assert!(waits.reset.is_some());
}

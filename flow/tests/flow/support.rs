//! A user who gets written answers.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use flow::{
    Answer, Fault, Fields, Flow, Given, Heard, Mistake, Now, Outcome, Request, Session, Step,
    Version,
};
use measure::time::Time;

/// 2026-01-01, in milliseconds.
pub(crate) const BEGAN_MS: u64 = 1_767_225_600_000;

/// An answer that comes a millisecond after its request.
#[derive(Clone, Debug)]
pub(crate) struct Said {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

/// One with a status.
pub(crate) fn status(status: u16) -> Said {
    Said {
        status,
        headers: Vec::new(),
        body: Vec::new(),
    }
}

/// One of JSON.
pub(crate) fn json(body: &str) -> Said {
    status(200)
        .with("content-type", "application/json")
        .body(body)
}

impl Said {
    pub(crate) fn with(mut self, name: &str, value: &str) -> Said {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    pub(crate) fn body(mut self, body: impl Into<Vec<u8>>) -> Said {
        self.body = body.into();
        self
    }
}

/// What a user did: each request as a line with its headers and its body, and pauses.
#[derive(Debug)]
pub(crate) struct Gone {
    pub(crate) did: Vec<String>,
    pub(crate) outcome: Outcome,
    pub(crate) fault: Option<Fault>,
    pub(crate) retried: usize,
}

impl Gone {
    /// What it did, which has to have led to the end.
    #[track_caller]
    pub(crate) fn well(self) -> Vec<String> {
        assert_eq!(
            self.outcome,
            Outcome::Passed,
            "{:?} {:?}",
            self.fault,
            self.did
        );
        self.did
    }

    /// Why it didn't.
    #[track_caller]
    pub(crate) fn wrong(self) -> String {
        assert_eq!(self.outcome, Outcome::Failed, "{:?}", self.did);
        self.fault.unwrap().to_string()
    }
}

/// A flow with variables.
pub(crate) fn given(variables: &[(&str, &str)], secrets: &[(&str, &str)]) -> Given {
    let owned = |pairs: &[(&str, &str)]| -> Vec<(String, String)> {
        let pairs = pairs.iter();
        pairs
            .map(|(name, value)| (name.to_string(), value.to_string()))
            .collect()
    };
    Given {
        variables: owned(variables),
        secrets: owned(secrets),
        ..Given::default()
    }
}

pub(crate) fn parse(text: &str, given: &Given) -> Result<Arc<Flow>, Vec<Mistake>> {
    Flow::parse("a.hurl", text.as_bytes(), given, &mut |name| match name {
        "data.bin" => Ok(b"\x00\xff".to_vec()),
        "a.txt" => Ok(b"from a file".to_vec()),
        _ => Err("can't be read: there is no such file".to_owned()),
    })
}

#[track_caller]
pub(crate) fn flow(text: &str, given: &Given) -> Arc<Flow> {
    match parse(text, given) {
        Ok(flow) => flow,
        Err(mistakes) => {
            let lines: Vec<String> = mistakes.iter().map(Mistake::to_string).collect();
            panic!("{}", lines.join("\n"));
        }
    }
}

/// A user goes through a flow and is given these answers.
#[track_caller]
pub(crate) fn go(text: &str, given: &Given, answers: Vec<Said>) -> Gone {
    let flow = flow(text, given);
    let mut answers = VecDeque::from(answers);
    let mut session = Session::new(&flow, &[], 7);
    let gone = through(&mut session, &mut |_| answers.pop_front());
    assert!(
        answers.is_empty(),
        "{} answers weren't asked for: {gone:?}",
        answers.len()
    );
    gone
}

/// A user goes through a flow; where there is no answer, the connection is lost.
#[track_caller]
pub(crate) fn through(
    session: &mut Session,
    answer: &mut dyn FnMut(&Request) -> Option<Said>,
) -> Gone {
    let mut request = Request::new();
    let mut now = Now {
        at: Time(1_000_000_000),
        unix_ms: BEGAN_MS,
    };
    let (mut did, mut retried) = (Vec::new(), 0);
    for _ in 0..10_000 {
        match session.next(now, &mut request) {
            Step::Done(outcome) => {
                let fault = session.fault().cloned();
                return Gone {
                    did,
                    outcome,
                    fault,
                    retried,
                };
            }
            Step::Wait(until) => {
                let ms = until.since(now.at) / 1_000_000;
                did.push(format!("waits {ms} ms"));
                now = later(now, ms);
            }
            Step::Send => {
                did.push(written(&request));
                now = later(now, 1);
                let heard = match answer(&request) {
                    Some(said) => told(session, now, &said),
                    None => session.lost(now, "the connection was closed"),
                };
                retried += usize::from(heard == Heard::Retried);
                assert_ne!(heard, Heard::Unasked);
            }
            Step::Listen => panic!("it has been answered"),
        }
    }
    panic!("it goes on and on: {:?}", &did[..10]);
}

fn later(now: Now, ms: u64) -> Now {
    Now {
        at: now.at + Duration::from_millis(ms),
        unix_ms: now.unix_ms + ms,
    }
}

fn told(session: &mut Session, now: Now, said: &Said) -> Heard {
    let mut fields = Fields::new();
    for (name, value) in &said.headers {
        fields.push(name.as_bytes(), value.as_bytes());
    }
    let answer = Answer {
        version: Version::Http11,
        status: said.status,
        fields: &fields,
        body: &said.body,
        is_cut: false,
        is_broken: false,
        took: Duration::from_millis(1),
    };
    session.answer(now, &answer)
}

/// `METHOD URL | Name: value | body`
fn written(request: &Request) -> String {
    let mut text = format!("{} {}", request.method(), request.url().as_str());
    for (name, value) in request.headers() {
        text.push_str(&format!(" | {name}: {value}"));
    }
    if !request.body().is_empty() {
        text.push_str(&format!(" | {}", String::from_utf8_lossy(request.body())));
    }
    text
}

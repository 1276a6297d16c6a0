//! `grpc.testing.TestService`: what the official interoperability clients ask for.
//!
//! <https://github.com/grpc/grpc/blob/master/doc/interop-test-descriptions.md>

use std::collections::VecDeque;
use std::time::Duration;

use prost::Message;
use server::Request;

use super::messages::testing::{
    EchoStatus, InputRequest, InputResponse, OutputRequest, Payload, Response, ResponseParameters,
    SimpleRequest,
};
use super::{Call, Replies, Status, encode, refuse};

/// What the interoperability clients want back, as "custom metadata": one in the head of the answer
/// and one in the trailers.
const IN_HEAD: &str = "x-grpc-test-echo-initial";
const IN_TRAILERS: &str = "x-grpc-test-echo-trailing-bin";

/// The longest payload that is made: what clients take unless they are told otherwise.
const PAYLOAD_BYTES_MAX: i32 = 4 * 1024 * 1024;

/// Answers that one call may still be owed.
const ANSWERS_MAX: usize = 4096;

/// Begins a call, which gives the custom metadata of its request back.
pub(super) fn open(call: impl Call + 'static, request: &Request<'_>) -> Box<dyn Call> {
    let value = |name| request.field(name).unwrap_or_default();
    let (in_head, in_trailers) = (value(IN_HEAD), value(IN_TRAILERS));
    if in_head.is_empty() && in_trailers.is_empty() {
        return Box::new(call);
    }
    Box::new(Echoing {
        call,
        metadata: Some((in_head.to_vec(), in_trailers.to_vec())),
    })
}

/// A call and the metadata that it gives back. If it ends badly at once, that stays unsaid.
struct Echoing<C> {
    call: C,
    /// What is not said yet.
    metadata: Option<(Vec<u8>, Vec<u8>)>,
}

impl<C: Call> Echoing<C> {
    /// Has the call do something, and gives the metadata back with the first thing it says.
    fn echo(&mut self, to: &mut Replies, tell: impl FnOnce(&mut C, &mut Replies)) {
        tell(&mut self.call, to);
        let ends_well = matches!(to.end(), Some((Status::Ok, _)));
        if (ends_well || !to.bytes().is_empty())
            && let Some((in_head, in_trailers)) = self.metadata.take()
        {
            if !in_head.is_empty() {
                to.head_metadata(IN_HEAD, &in_head);
            }
            if !in_trailers.is_empty() {
                to.trailing_metadata(IN_TRAILERS, &in_trailers);
            }
        }
    }
}

impl<C: Call> Call for Echoing<C> {
    fn message(&mut self, message: &[u8], to: &mut Replies) {
        self.echo(to, |call, to| call.message(message, to));
    }

    fn end(&mut self, to: &mut Replies) {
        self.echo(to, Call::end);
    }

    fn more(&mut self, to: &mut Replies) {
        self.echo(to, Call::more);
    }
}

/// Nothing for nothing.
pub(super) struct Empty;

impl Call for Empty {
    fn message(&mut self, _: &[u8], to: &mut Replies) {
        to.message(&[]);
    }
}

/// A payload of the size asked for, or the status asked for.
#[derive(Default)]
pub(super) struct Unary {
    status: Option<EchoStatus>,
}

impl Call for Unary {
    fn message(&mut self, message: &[u8], to: &mut Replies) {
        match SimpleRequest::decode(message) {
            Ok(request) => {
                self.status = request.response_status;
                if self.status.is_none() {
                    say(request.response_size, to);
                }
            }
            Err(error) => refuse(&error, to),
        }
    }

    fn end(&mut self, to: &mut Replies) {
        finish(self.status.take(), to);
    }
}

/// Payloads of the sizes and at the intervals asked for: at once, or after the last request.
#[derive(Default)]
pub(super) struct Output {
    owed: VecDeque<ResponseParameters>,
    /// The interval before the first of `owed` has been kept.
    paused: bool,
    /// Nothing is said before the client's last message.
    waits: bool,
    ended: bool,
    status: Option<EchoStatus>,
}

impl Output {
    /// One that says nothing before the last request has come.
    pub(super) fn after_the_last() -> Output {
        Output {
            waits: true,
            ..Output::default()
        }
    }
}

impl Call for Output {
    fn message(&mut self, message: &[u8], to: &mut Replies) {
        match OutputRequest::decode(message) {
            Ok(request) if self.status.is_none() => {
                self.status = request.response_status;
                if self.status.is_some() {
                    self.owed.clear();
                } else {
                    self.owed.extend(request.response_parameters);
                }
                if self.owed.len() > ANSWERS_MAX {
                    let text = format!("a call may ask for at most {ANSWERS_MAX} answers");
                    return to.finish(Status::ResourceExhausted, text);
                }
                self.more(to);
            }
            Ok(_) => {}
            Err(error) => refuse(&error, to),
        }
    }

    fn end(&mut self, to: &mut Replies) {
        self.ended = true;
        self.waits = false;
        self.more(to);
    }

    fn more(&mut self, to: &mut Replies) {
        if self.waits || to.is_paused() || !to.bytes().is_empty() {
            return;
        }
        match self.owed.front().copied() {
            Some(next) if next.interval_us > 0 && !self.paused => {
                self.paused = true;
                to.pause(Duration::from_micros(next.interval_us as u64));
            }
            Some(next) => {
                self.paused = false;
                self.owed.pop_front();
                say(next.size, to);
            }
            None if self.ended || self.status.is_some() => finish(self.status.take(), to),
            None => {}
        }
    }
}

/// How many bytes of payload came.
#[derive(Default)]
pub(super) struct Input {
    bytes: i32,
}

impl Call for Input {
    fn message(&mut self, message: &[u8], to: &mut Replies) {
        match InputRequest::decode(message) {
            Ok(request) => {
                let bytes = request.payload.map_or(0, |payload| payload.body.len());
                self.bytes = self.bytes.saturating_add(bytes as i32);
            }
            Err(error) => refuse(&error, to),
        }
    }

    fn end(&mut self, to: &mut Replies) {
        let response = InputResponse {
            aggregated_payload_size: self.bytes,
        };
        encode(&response, to);
        to.finish(Status::Ok, "");
    }
}

/// Offered and not there, so that clients see whether they are told so.
pub(super) struct Unimplemented;

impl Call for Unimplemented {
    fn message(&mut self, _: &[u8], to: &mut Replies) {
        to.finish(Status::Unimplemented, "this method isn't implemented");
    }
}

fn say(size: i32, to: &mut Replies) {
    if !(0..=PAYLOAD_BYTES_MAX).contains(&size) {
        let text = format!("a payload must have 0 to {PAYLOAD_BYTES_MAX} bytes, not {size}");
        return to.finish(Status::InvalidArgument, text);
    }
    let response = Response {
        payload: Some(Payload {
            kind: 0,
            body: vec![0; size as usize],
        }),
    };
    encode(&response, to);
}

fn finish(status: Option<EchoStatus>, to: &mut Replies) {
    match status {
        None => to.finish(Status::Ok, ""),
        Some(EchoStatus { code, message }) => {
            match usize::try_from(code).ok().and_then(Status::of_number) {
                Some(status) => to.finish(status, message),
                None => to.finish(Status::Unknown, message),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a call answers to one message.
    fn called(mut call: impl Call, message: &[u8]) -> Replies {
        begun(&mut call, message)
    }

    /// What it answers at once.
    fn begun(call: &mut impl Call, message: &[u8]) -> Replies {
        let mut to = Replies::default();
        call.message(message, &mut to);
        call.end(&mut to);
        to
    }

    #[test]
    fn payloads_have_the_size_asked_for_up_to_a_limit() {
        let to = called(Unary::default(), b"\x10\x02");
        assert_eq!(to.bytes(), b"\0\0\0\0\x06\x0a\x04\x12\x02\0\0");
        assert_eq!(to.end(), Some((Status::Ok, "")));
        let to = called(Unary::default(), b"\x10\xff\xff\xff\xff\x07");
        let end = to.end().map(|(status, _)| status);
        assert_eq!((to.bytes().len(), end), (0, Some(Status::InvalidArgument)));
    }

    #[test]
    fn answers_wait_for_the_intervals_between_them() {
        let mut call = Output::default();
        // One of a byte, and one of two bytes 5 µs later.
        let mut to = begun(&mut call, b"\x12\x02\x08\x01\x12\x04\x08\x02\x10\x05");
        assert_eq!((to.bytes().len(), to.is_paused()), (5 + 5, false));
        let mut said = Vec::new();
        while to.end().is_none() {
            to = Replies::default(); // All of it has left, and a pause is over.
            call.more(&mut to);
            said.push((to.bytes().len(), to.is_paused()));
        }
        assert_eq!(said, [(0, true), (5 + 6, false), (0, false)]);
        assert_eq!(to.end(), Some((Status::Ok, "")));
    }

    #[test]
    fn the_status_asked_for_is_said_and_nothing_else() {
        let wanted = b"\x3a\x06\x08\x05\x12\x02no";
        for to in [
            called(Unary::default(), wanted),
            called(Output::default(), wanted),
            called(Output::after_the_last(), wanted),
        ] {
            assert_eq!(to.bytes().len(), 0);
            assert_eq!(to.end(), Some((Status::NotFound, "no")));
        }
    }

    /// A call and the metadata that it would give back.
    fn echoing<C: Call>(call: C) -> Echoing<C> {
        let metadata = Some((b"a".to_vec(), b"AAEC".to_vec()));
        Echoing { call, metadata }
    }

    #[test]
    fn metadata_comes_back_unless_a_call_ends_badly_at_once() {
        let text = format!("{:?}", called(echoing(Empty), b""));
        assert!(
            text.contains(IN_HEAD) && text.contains(IN_TRAILERS),
            "{text}"
        );
        let text = format!("{:?}", called(echoing(Output::default()), b""));
        assert!(
            text.contains(IN_HEAD) && text.contains(IN_TRAILERS),
            "{text}"
        );
        let text = format!("{:?}", called(echoing(Unary::default()), b"\x10"));
        assert!(!text.contains("x-grpc-test"), "{text}");
    }
}

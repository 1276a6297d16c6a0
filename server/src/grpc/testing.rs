//! `grpc.testing.TestService`: what the official interoperability clients ask for.
//!
//! <https://github.com/grpc/grpc/blob/master/doc/interop-test-descriptions.md>

use std::collections::VecDeque;
use std::time::Duration;

use prost::Message;
use proto::grpc::Status;

use super::messages::testing::{
    EchoStatus, InputRequest, InputResponse, OutputRequest, Payload, Response, ResponseParameters,
    SimpleRequest,
};
use super::{Call, Echoed, Replies};

/// What the interoperability clients want back, as "custom metadata".
pub(super) static ECHOED: Echoed = Echoed {
    in_head: "x-grpc-test-echo-initial",
    in_trailers: "x-grpc-test-echo-trailing-bin",
};

/// The longest payload that is made: what clients take unless they are told otherwise.
const PAYLOAD_BYTES_MAX: i32 = 4 * 1024 * 1024;

/// Answers that one call may still be owed.
const ANSWERS_MAX: usize = 4096;

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
            Err(error) => to.refuse(&error),
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
            Err(error) => to.refuse(&error),
        }
    }

    fn end(&mut self, to: &mut Replies) {
        self.ended = true;
        self.waits = false;
        self.more(to);
    }

    fn more(&mut self, to: &mut Replies) {
        if self.waits || to.pause.is_some() || !to.bytes.is_empty() {
            return;
        }
        match self.owed.front().copied() {
            Some(next) if next.interval_us > 0 && !self.paused => {
                self.paused = true;
                to.pause = Some(Duration::from_micros(next.interval_us as u64));
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
            Err(error) => to.refuse(&error),
        }
    }

    fn end(&mut self, to: &mut Replies) {
        to.encode(&InputResponse {
            aggregated_payload_size: self.bytes,
        });
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
    to.encode(&Response {
        payload: Some(Payload {
            kind: 0,
            body: vec![0; size as usize],
        }),
    });
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

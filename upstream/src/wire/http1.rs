//! HTTP/1.1 on one connection: one request at a time (RFC 9112).

use proto::Violation;
use proto::http1::client::{Answer, Client, Event, Limits as Bounds};
use proto::http1::{self, HeadMemo, response};

use super::{After, Hear, Told};
use crate::answer::Head;
use crate::config::Limits;
use crate::encode::{self, Framing};
use crate::request::{Body, Request};

/// See the module.
#[derive(Debug)]
pub(crate) struct Http1 {
    machine: Client,
    /// The exchange whose answer is outstanding.
    exchange: Option<u32>,
    framing: Framing,
    /// All of its request is written.
    request_ended: bool,
    /// Nothing follows what is under way.
    leaving: bool,
}

impl Http1 {
    pub(super) fn new(limits: &Limits) -> Http1 {
        let bounds = Bounds {
            head_bytes: limits.head_bytes,
            ..Bounds::default()
        };
        Http1 {
            machine: Client::new(bounds),
            exchange: None,
            framing: Framing::None,
            request_ended: true,
            leaving: false,
        }
    }

    pub(super) fn room(&self) -> u32 {
        u32::from(self.exchange.is_none() && !self.leaving && self.machine.capacity() > 0)
    }

    pub(super) fn is_leaving(&self) -> bool {
        self.leaving || (self.exchange.is_none() && self.machine.capacity() == 0)
    }

    pub(super) fn outstanding(&self) -> u32 {
        u32::from(self.exchange.is_some())
    }

    pub(super) fn exchange(&self) -> Option<u32> {
        self.exchange
    }

    pub(super) fn begin(&mut self, at: u32, request: &Request, out: &mut Vec<u8>) -> u32 {
        debug_assert_eq!(self.room(), 1, "a second request is sent behind one");
        let answer = match request.method() {
            b"HEAD" => Answer::HeadOnly,
            _ => Answer::Usual,
        };
        let sent = self.machine.sent(answer);
        debug_assert!(sent.is_ok(), "there was room: {sent:?}");
        encode::http1(request, out);
        self.exchange = Some(at);
        self.framing = Framing::of(request);
        self.request_ended = !matches!(request.body(), Body::Stream(_));
        if let Body::Whole(bytes) = request.body() {
            out.extend_from_slice(bytes);
        }
        0
    }

    pub(super) fn data(&mut self, bytes: &[u8], end: bool, out: &mut Vec<u8>) -> usize {
        if self.request_ended {
            return bytes.len();
        }
        match self.framing {
            Framing::Chunked => {
                response::chunk(out, bytes);
                if end {
                    response::last_chunk(out);
                }
            }
            Framing::Length(_) | Framing::None => out.extend_from_slice(bytes),
        }
        self.request_ended = end;
        bytes.len()
    }

    pub(super) fn receive(
        &mut self,
        mut bytes: &[u8],
        memo: &mut HeadMemo,
        hear: Hear<'_>,
    ) -> Result<After, Violation> {
        loop {
            let told = match self.machine.next(&mut bytes, memo)? {
                None => return Ok(After::Open),
                Some(Event::Informational { .. }) => continue,
                Some(Event::Head { status, head }) => {
                    check_coding(head)?;
                    Told::Head(Head::of_http1(status, head))
                }
                Some(Event::Body(bytes)) => Told::Data(bytes),
                Some(Event::End(end)) => {
                    // Who answers before he has heard all may take the rest for the next request.
                    self.leaving |= !end.keep_alive || !self.request_ended;
                    let Some(at) = self.exchange.take() else {
                        return Ok(After::Over);
                    };
                    hear(at, Told::End);
                    if self.leaving {
                        return Ok(After::Over);
                    }
                    continue;
                }
            };
            let Some(at) = self.exchange else {
                return Ok(After::Over);
            };
            if !hear(at, told) {
                self.leaving = true;
                return Ok(After::Over);
            }
        }
    }

    pub(super) fn ended(&mut self, hear: Hear<'_>) {
        self.leaving = true;
        if let Ok(Some(_)) = self.machine.ended()
            && let Some(at) = self.exchange.take()
        {
            hear(at, Told::End);
        }
    }

    pub(super) fn cancel(&mut self) -> After {
        self.leaving = true;
        self.exchange = None;
        After::Over
    }

    pub(super) fn held_bytes(&self) -> usize {
        self.machine.memory_bytes()
    }
}

/// Nobody here undoes a transfer coding but `chunked`, and none was asked for (RFC 9112 §6.1): what
/// is passed on without it would be another body.
fn check_coding(head: &[u8]) -> Result<(), Violation> {
    let mut codings = http1::fields(head)
        .filter(|(name, _)| name.eq_ignore_ascii_case(b"transfer-encoding"))
        .map(|(_, value)| value);
    match codings.all(|value| value.eq_ignore_ascii_case(b"chunked")) {
        true => Ok(()),
        false => Err(Violation {
            clause: "RFC 9112 §6.1",
            what: "a transfer coding besides chunked, which nobody asked for",
        }),
    }
}

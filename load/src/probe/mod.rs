//! One exchange, with the answer kept: to see whether a subject is ready, and what it answers; and
//! the beginning of one, to see before a run whether the target speaks what it should.
//!
//! Blocking, on a connection of its own, with one deadline for all of it. Nothing of a measurement
//! is in here.

mod call;
mod conversation;
mod http1;
mod http2;
mod websocket;

use std::time::Duration;

use engine::Address;
use engine::tls::ClientTls;

pub use self::call::CallEnd;
use self::conversation::Conversation;
use self::http2::Http2;
use self::websocket::WebSocket;
use crate::plan::Plan;
use crate::protocol::Protocol;
use crate::run::RunError;
use crate::{request, target, tls};

/// The most bytes of a body that are kept.
const BODY_BYTES_MAX: usize = 16 * 1024 * 1024;

/// An answer, whole.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// Status code: 101 of a WebSocket.
    pub status: u16,
    /// The head as HTTP/1.1 writes it, from the status line to the empty line. Empty of a
    /// WebSocket.
    pub head: Vec<u8>,
    /// The body, without its framing; of a WebSocket the message.
    pub body: Vec<u8>,
    /// What a gRPC call came to.
    pub grpc: Option<CallEnd>,
}

impl Answer {
    /// The value of a header field, if it is there.
    pub fn field(&self, name: &str) -> Option<&[u8]> {
        proto::http1::field(&self.head, name)
    }

    /// Whether a run would count it as completed: a call by its OK, a WebSocket by its message, a
    /// response by a status below 400.
    pub fn is_success(&self) -> bool {
        match &self.grpc {
            Some(end) => end.status == proto::grpc::Status::Ok,
            None => self.status == 101 || (200..400).contains(&self.status),
        }
    }

    /// How it ended, in words.
    pub fn ending(&self) -> String {
        match &self.grpc {
            Some(end) => end.to_string(),
            None => format!("status {}", self.status),
        }
    }
}

/// Sends the plan's request once and waits for its answer, for `timeout` at most.
///
/// # Errors
/// Where there is no whole answer. One with another status than hoped for is an answer.
pub fn probe(plan: &Plan, timeout: Duration) -> Result<Answer, RunError> {
    plan.validate()?;
    let addresses = target::resolve(plan)?;
    let tls = tls::client(plan)?;
    let peer = Conversation::open(plan, &addresses[0], tls.as_ref(), timeout)?;
    match &plan.protocol {
        Protocol::Http1 => http1::exchange(plan, peer),
        Protocol::Http2 { .. } | Protocol::Grpc { .. } => {
            let request = request::http2(plan)?;
            let (answer, trailers) = Http2::open(plan, peer)?.exchange(&request)?;
            match plan.protocol {
                Protocol::Grpc { .. } => call::read(plan, answer, &trailers),
                _ => Ok(answer),
            }
        }
        Protocol::WebSocket { message } => WebSocket::open(plan, peer)?.exchange(message),
    }
}

/// Sees whether the target speaks the plan's protocol at `address`, without any request but the
/// upgrade of a WebSocket.
///
/// # Errors
/// A sentence that says what to do.
pub(crate) fn reach(
    plan: &Plan,
    address: &Address,
    tls: Option<&ClientTls>,
    timeout: Duration,
) -> Result<(), RunError> {
    let peer = Conversation::open(plan, address, tls, timeout)?;
    match &plan.protocol {
        Protocol::Http1 => peer.close(plan)?,
        Protocol::Http2 { .. } | Protocol::Grpc { .. } => Http2::open(plan, peer)?.close(),
        Protocol::WebSocket { .. } => WebSocket::open(plan, peer)?.close(),
    }
    Ok(())
}

/// Keeps a piece of a body, up to the limit.
fn keep(body: &mut Vec<u8>, bytes: &[u8]) -> Result<(), String> {
    if body.len() + bytes.len() > BODY_BYTES_MAX {
        return Err(format!(
            "the answer is longer than the {BODY_BYTES_MAX} bytes that are kept"
        ));
    }
    body.extend_from_slice(bytes);
    Ok(())
}

#[cfg(test)]
mod tests;

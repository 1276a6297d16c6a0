//! The first contact with a target, before any load: finding its addresses ([`target`], and
//! [`look_up`] for names), setting up TLS ([`tls`]), asking a gRPC server for its methods
//! ([`grpc`]), checking that the target speaks the plan's protocol ([`reach`]), and making one
//! whole exchange with its answer kept ([`probe`]), which shows whether a subject is ready and what
//! it answers. Where that fails, [`mistaken`] says whether the URL asks for TLS where there is
//! none, or the other way round.
//!
//! Everything blocks, on connections of its own, and each contact has one deadline for all of it:
//! for resolving names, for connecting to every address, and for what is said there.
//! [`unless_stopped`] leaves a contact when a signal comes. Nothing here measures or drives a load;
//! of the engine, this crate uses addresses, TLS and signals only.
#![forbid(unsafe_code)]

mod call;
mod contact;
mod conversation;
mod error;
pub mod grpc;
mod http1;
mod http2;
mod mistaken;
pub mod proxy;
pub mod target;
pub mod tls;
pub mod tunnel;
mod websocket;

use std::time::Duration;

use ::tls::ClientTls;
use engine::Address;
use measure::time::Time;

pub use self::call::CallEnd;
pub use self::contact::unless_stopped;
use self::conversation::Conversation;
pub use self::error::LoadError;
use self::http2::Http2;
pub use self::mistaken::mistaken;
use self::websocket::WebSocket;
pub use names::look_up;
use plan::protocol::Protocol;
use plan::{Contact, Plan};

/// The most bytes of a body that are kept.
const BODY_BYTES_MAX: usize = 16 * 1024 * 1024;

/// How long a stream of events may last here.
const STREAM_MAX: Duration = Duration::from_secs(60);

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

/// Sends the plan's request once and waits for its answer, for `timeout` at most. Where events are
/// looked for, that is the most that may pass until something more of it comes, for a minute in
/// all.
///
/// # Errors
/// Where there is no whole answer. One with another status than hoped for is an answer.
pub fn probe(plan: &Plan, timeout: Duration) -> Result<Answer, LoadError> {
    plan.validate()?;
    exchange(&plan.contact(), timeout, plan.events)
}

fn exchange(contact: &Contact, timeout: Duration, streams: bool) -> Result<Answer, LoadError> {
    let deadline = Time::now() + timeout;
    let addresses = target::resolve(contact, deadline)?;
    let tls = tls::client(contact)?;
    let mut peer = Conversation::open(contact, &addresses[0], tls.as_ref(), deadline)?;
    if streams {
        peer = peer.renewing(timeout, Time::now() + STREAM_MAX);
    }
    match &contact.protocol {
        Protocol::Http1 => http1::exchange(contact, peer),
        Protocol::Http2 { .. } | Protocol::Grpc { .. } => {
            let request = contact.http2()?;
            let (answer, trailers) = Http2::open(contact, peer)?.exchange(&request)?;
            match contact.protocol {
                Protocol::Grpc { .. } => call::read(contact, answer, &trailers),
                _ => Ok(answer),
            }
        }
        Protocol::WebSocket { message } => WebSocket::open(contact, peer)?.exchange(message),
    }
}

/// Whether the port of a plan's target speaks TLS where the plan asks for none, or plain text where
/// it asks for TLS.
pub fn speaks_otherwise(plan: &Plan) -> bool {
    wrong_scheme(plan).is_some()
}

/// The same as a sentence that says which scheme to write.
pub fn wrong_scheme(plan: &Plan) -> Option<LoadError> {
    mistaken_anywhere(&plan.contact())
}

/// An error, or the sentence about a URL whose scheme is its reason.
fn corrected(contact: &Contact, error: LoadError) -> LoadError {
    match error.was_answered() {
        true => mistaken_anywhere(contact).unwrap_or(error),
        false => error,
    }
}

fn mistaken_anywhere(contact: &Contact) -> Option<LoadError> {
    let addresses = target::resolve(contact, Time::now() + contact.timeout());
    let addresses = addresses.unwrap_or_default();
    addresses
        .iter()
        .find_map(|address| mistaken(contact, address))
}

/// Checks that something listens at each of `addresses` and speaks the plan's protocol, without
/// any request but the upgrade of a WebSocket. All of it is over at `deadline`.
///
/// # Errors
/// A sentence that says what to do.
pub fn reach(
    contact: &Contact,
    addresses: &[Address],
    tls: Option<&ClientTls>,
    deadline: Time,
) -> Result<(), LoadError> {
    for address in addresses {
        // Nobody there is nobody who could speak otherwise.
        greet(contact, address, tls, deadline).map_err(|error| match error.was_answered() {
            true => mistaken(contact, address).unwrap_or(error),
            false => one_of(contact, addresses, error),
        })?;
    }
    Ok(())
}

/// That others of a name's addresses may well be there, and how to do without this one. A proxy's
/// can't be chosen.
fn one_of(contact: &Contact, addresses: &[Address], error: LoadError) -> LoadError {
    let can_choose = contact.proxy.is_none() && addresses.len() > 1;
    match error {
        LoadError::Unreachable(what) if can_choose => LoadError::Unreachable(format!(
            "{what}; it's one of {} addresses of the name: `--connect-to` chooses one, and \
             `ringside compare --each-address` measures each apart",
            addresses.len()
        )),
        error => error,
    }
}

fn greet(
    contact: &Contact,
    address: &Address,
    tls: Option<&ClientTls>,
    deadline: Time,
) -> Result<(), LoadError> {
    let peer = Conversation::open(contact, address, tls, deadline)?;
    match &contact.protocol {
        Protocol::Http1 => peer.close(contact)?,
        Protocol::Http2 { .. } | Protocol::Grpc { .. } => Http2::open(contact, peer)?.close(),
        Protocol::WebSocket { .. } => WebSocket::open(contact, peer)?.close(),
    }
    Ok(())
}

/// Keeps a piece of a body, up to the limit.
fn keep(body: &mut Vec<u8>, bytes: &[u8]) -> Result<(), String> {
    if body.len() + bytes.len() > BODY_BYTES_MAX {
        return Err(format!(
            "the answer is longer than the {BODY_BYTES_MAX} bytes we keep"
        ));
    }
    body.extend_from_slice(bytes);
    Ok(())
}

#[cfg(test)]
mod tests;

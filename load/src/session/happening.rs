//! What a connection of any protocol sends and brings.

use measure::counters::ErrorKind;
use proto::Violation;
use proto::grpc::Status;

use super::expect::Verdict;

/// Requests that never change, one behind the other, so that the driver can send them as they are.
#[derive(Clone, Debug)]
pub(crate) struct Frozen {
    pub bytes: Vec<u8>,
    /// Bytes of one request.
    pub bytes_each: u32,
    /// The most of them in one send.
    pub burst: u32,
    /// How many of them a send may begin with, which is left to chance.
    pub starts: u32,
    /// All that can be unanswered on a connection fits into any send buffer, so that sends need no
    /// completion.
    pub quiet: bool,
}

/// What happened on a connection. A *place* is the number with which the exchange was begun; where
/// answers come in order it means nothing, because the oldest exchange is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Happening {
    /// Exchanges can begin from now on.
    Ready,
    /// An exchange has its whole answer.
    Answered { place: u32, outcome: Outcome },
    /// The same of an answer that was held against rules, where a plan has any.
    Judged {
        place: u32,
        status: u16,
        verdict: Verdict,
    },
    /// An exchange was redirected, and its next request was said: it goes on at its place.
    Followed { place: u32 },
    /// The peer gave an exchange up, and the connection goes on. To a gRPC call that is a status.
    Reset { place: u32, status: Option<Status> },
    /// The peer broke the protocol in the answer to an exchange, and the connection goes on.
    Broken { place: u32, violation: Violation },
    /// The peer did nothing for an exchange: it can be sent again elsewhere.
    Refused { place: u32 },
    /// The peer refused to speak WebSocket: the connection is of no use.
    UpgradeRefused { status: u16 },
    /// Something went wrong with the connection that is no exchange.
    Erred { kind: ErrorKind },
    /// The peer closes, with this code where it gives one.
    Closed { code: Option<u16> },
    /// The answer to a ping.
    Pong { payload: [u8; 8] },
}

/// How an exchange was answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// By a response with this status.
    Status(u16),
    /// By a message, which has no status.
    Message,
    /// A gRPC call, by a status of its own and so many messages.
    Call {
        http_status: u16,
        status: Status,
        messages: u32,
    },
}

impl Outcome {
    /// What is wrong with it; none if it is as it should be.
    pub(crate) fn error(self) -> Option<ErrorKind> {
        match self {
            Outcome::Status(200..400) | Outcome::Message => None,
            Outcome::Status(_) => Some(ErrorKind::UnexpectedStatus),
            Outcome::Call { status, .. } => (status != Status::Ok).then_some(ErrorKind::GrpcStatus),
        }
    }

    /// The status of HTTP, where there is one.
    pub(crate) fn http_status(self) -> Option<u16> {
        match self {
            Outcome::Status(status) => Some(status),
            Outcome::Message => None,
            Outcome::Call { http_status, .. } => Some(http_status),
        }
    }
}

//! What a connection of any protocol sends and brings.

use measure::counters::ErrorKind;
use proto::Violation;
use proto::grpc::Status;

use super::expect::Verdict;
use super::streams::Sign;

/// Requests that never change, one behind the other, so that the driver can send them as they are.
#[derive(Clone, Debug)]
pub struct Frozen {
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
pub enum Happening {
    /// Exchanges can begin from now on.
    Ready,
    /// An exchange has its whole answer.
    Answered {
        /// Which one.
        place: u32,
        /// By what.
        outcome: Outcome,
    },
    /// The same of an answer that was held against rules, where a plan has any.
    Judged {
        /// Which one.
        place: u32,
        /// The status.
        status: u16,
        /// What was found.
        verdict: Verdict,
    },
    /// The oldest exchange has its whole answer, which [`Memory`](crate::Memory) has kept for
    /// whoever judges it.
    Whole,
    /// The oldest exchange was answered by a message that was held against rules.
    MessageJudged {
        /// What was found.
        verdict: Verdict,
    },
    /// A message came that ends no exchange of a flow: others are awaited besides, or none is.
    Message,
    /// An exchange was redirected, and its next request was said: it goes on at its place.
    Followed {
        /// Which one.
        place: u32,
    },
    /// Something of an answer came in which somebody looks for events.
    Streamed {
        /// Whose answer.
        place: u32,
        /// What came.
        sign: Sign,
    },
    /// The peer gave an exchange up, and the connection goes on. To a gRPC call that is a status.
    Reset {
        /// Which one.
        place: u32,
        /// The status.
        status: Option<Status>,
    },
    /// The peer broke the protocol in the answer to an exchange, and the connection goes on.
    Broken {
        /// Which one.
        place: u32,
        /// How.
        violation: Violation,
    },
    /// The peer did nothing for an exchange: it can be sent again elsewhere.
    Refused {
        /// Which one.
        place: u32,
    },
    /// The peer refused to speak WebSocket: the connection is of no use.
    UpgradeRefused {
        /// The status.
        status: u16,
    },
    /// Something went wrong with the connection that is no exchange.
    Erred {
        /// What.
        kind: ErrorKind,
    },
    /// The peer closes, with this code where it gives one.
    Closed {
        /// The code.
        code: Option<u16>,
    },
    /// What a connection of the same load has said to all came here.
    Heard {
        /// Which of the messages that were said to all.
        number: u32,
    },
    /// The answer to a ping.
    Pong {
        /// What the ping carried.
        payload: [u8; 8],
    },
}

/// How an exchange was answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// By a response with this status.
    Status(u16),
    /// By a message, which has no status.
    Message,
    /// A gRPC call, by a status of its own and so many messages.
    Call {
        /// The status of HTTP.
        http_status: u16,
        /// The status.
        status: Status,
        /// How many messages.
        messages: u32,
    },
}

impl Outcome {
    /// What is wrong with it; none if it is as it should be.
    pub fn error(self) -> Option<ErrorKind> {
        match self {
            Outcome::Status(200..400) | Outcome::Message => None,
            Outcome::Status(_) => Some(ErrorKind::UnexpectedStatus),
            Outcome::Call { status, .. } => (status != Status::Ok).then_some(ErrorKind::GrpcStatus),
        }
    }

    /// The status of HTTP, where there is one.
    pub fn http_status(self) -> Option<u16> {
        match self {
            Outcome::Status(status) => Some(status),
            Outcome::Message => None,
            Outcome::Call { http_status, .. } => Some(http_status),
        }
    }
}

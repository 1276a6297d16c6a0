//! Answers that misbehave on purpose, for servers that tests are held against: clients have to
//! survive what others get wrong. No service that means well needs anything of this.

use std::time::Duration;

use crate::response::Response;

/// A way to misbehave: `Reply::Fault`.
///
/// ```
/// use ringside_server::fault::Fault;
/// use ringside_server::{Reply, Response};
///
/// /// Announces a whole body, sends four bytes of it, and ends the connection.
/// fn cut() -> Reply {
///     let response = Response::fixed("text/plain", b"interrupted");
///     Fault::Cut { response, bytes: 4 }.into()
/// }
/// assert!(matches!(cut(), Reply::Fault(Fault::Cut { bytes: 4, .. })));
/// ```
#[derive(Debug)]
pub enum Fault {
    /// The answer never comes. The client waits until it gives up.
    Never,
    /// The answer, one byte at a time.
    Dribble {
        /// The answer.
        response: Response,
        /// The time between two bytes.
        every: Duration,
    },
    /// The answer without all of its body: only so many bytes of it, and then the end of the
    /// connection, or of the stream where there are streams.
    Cut {
        /// The answer, with a body that fits a packet or two.
        response: Response,
        /// Bytes of the body that are sent.
        bytes: u64,
    },
    /// These bytes, whatever they are, and the end of the connection.
    Raw(Vec<u8>),
    /// The connection is reset, or the stream where there are streams.
    Reset,
    /// A fault that only HTTP/2 knows. Over HTTP/1 the client gets a 400 that says so.
    Http2(Http2Fault),
}

/// Faults of HTTP/2 (RFC 9113).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Http2Fault {
    /// A greeting, and GOAWAY behind it (§6.8): this is the last request that is processed.
    GoAway,
    /// The stream is reset with this code (§7).
    Reset(u32),
    /// No answer, and no credit for the body beyond what the first window allows (§5.2). It needs
    /// `Intake::Ahead`: a body that has come whole cannot be starved.
    Starve,
}

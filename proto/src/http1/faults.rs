//! Every way a message can be wrong, with its clause and the status that answers it in a request.
//!
//! Both roles refer to these by address, so a poisoned machine keeps eight bytes and an error on
//! the hot path formats nothing. The client role ignores the status.

use crate::Violation;

/// A request that is refused. The connection cannot be read any further.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rejection {
    /// The status to answer with before the connection is closed: 400, 413, 414, 431, 501 or 505.
    pub status: u16,
    /// What the client did.
    pub violation: Violation,
}

impl Rejection {
    /// Whether the client speaks another protocol than HTTP, such as a broken preface of HTTP/2. An
    /// answer in HTTP would mean nothing to it.
    pub fn is_foreign(&self) -> bool {
        self.violation == FOREIGN.violation
    }
}

/// What the readers of this module fail with.
pub(super) type Fault = &'static Rejection;

macro_rules! faults {
    ($($name:ident = $status:literal, $clause:literal, $what:literal;)*) => {
        $(pub(super) static $name: Rejection = Rejection {
            status: $status,
            violation: Violation { clause: $clause, what: $what },
        };)*
    };
}

faults! {
    // Where a head begins and ends.
    NOT_A_REQUEST = 400, "RFC 9112 §3", "a first byte that no method starts with";
    NOT_A_RESPONSE = 400, "RFC 9112 §4", "a status line that does not start with HTTP/";
    BARE_LF = 400, "RFC 9112 §2.2", "a line feed without a carriage return before it";
    BARE_CR = 400, "RFC 9112 §2.2", "a carriage return without a line feed after it";
    CONTROL = 400, "RFC 9110 §5.5", "a control character in the head";
    HEAD_TOO_LONG = 431, "RFC 6585 §5", "a head longer than the limit";
    START_LINE_TOO_LONG = 414, "RFC 9112 §3", "a request line longer than the limit of a head";
    TOO_MANY_FIELDS = 431, "RFC 6585 §5", "more fields than the limit";

    // Start lines.
    REQUEST_LINE = 400, "RFC 9112 §3", "a request line that is not method, target and version";
    METHOD = 400, "RFC 9112 §3.1", "a method that is not a token";
    TARGET = 400, "RFC 9112 §3.2", "a request target in none of the four forms";
    TARGET_TOO_LONG = 414, "RFC 9112 §3", "a request target longer than the limit";
    CONNECT = 501, "RFC 9110 §9.3.6", "a CONNECT sent to a server that is not a proxy";
    VERSION = 400, "RFC 9112 §2.3", "a version that is not HTTP/digit.digit";
    FOREIGN = 400, "RFC 9113 §3.4", "a first line that names another protocol than HTTP";
    MAJOR_VERSION = 505, "RFC 9110 §15.6.6", "a major version other than 1";
    STATUS_LINE = 400, "RFC 9112 §4", "a status line that is not version, three digits and reason";
    STATUS = 400, "RFC 9110 §15", "a status code outside 100 to 599";
    UNASKED_SWITCH = 400, "RFC 9110 §7.8", "a switch of protocols that was not asked for";

    // Field lines.
    LEADING_SPACE = 400, "RFC 9112 §2.2", "white space between the start line and the first field";
    FOLDED = 400, "RFC 9112 §5.2", "a field value folded over lines";
    SPACE_BEFORE_COLON = 400, "RFC 9112 §5.1", "white space between a field name and its colon";
    FIELD_NAME = 400, "RFC 9110 §5.1", "a field name that is not a token";
    NO_COLON = 400, "RFC 9112 §5", "a field line without a colon";
    NO_HOST = 400, "RFC 9112 §3.2", "an HTTP/1.1 request without Host";
    SEVERAL_HOSTS = 400, "RFC 9112 §3.2", "more than one Host";
    HOST = 400, "RFC 9112 §3.2", "a Host that is not a host with an optional port";

    // Framing.
    CONTENT_LENGTH = 400, "RFC 9112 §6.3", "a Content-Length that is not a number";
    CONTENT_LENGTH_RANGE = 400, "RFC 9110 §8.6", "a Content-Length beyond 64 bits";
    CONTENT_LENGTHS_DIFFER = 400, "RFC 9112 §6.3", "Content-Lengths that differ";
    CONTENT_LENGTH_TWICE = 400, "RFC 9110 §8.6", "a Content-Length given more than once";
    TWO_FRAMINGS = 400, "RFC 9112 §6.3", "both Transfer-Encoding and Content-Length";
    CODING_IN_HTTP10 = 400, "RFC 9112 §6.1", "a Transfer-Encoding in HTTP/1.0";
    CHUNKED_TWICE = 400, "RFC 9112 §6.1", "chunked applied more than once";
    CHUNKED_NOT_LAST = 400, "RFC 9112 §6.3", "a request whose last transfer coding is not chunked";
    CODING_UNKNOWN = 501, "RFC 9112 §6.1", "a transfer coding besides chunked";
    BODY_TOO_LONG = 413, "RFC 9110 §15.5.14", "a body longer than the limit";

    // Chunks.
    CHUNK_SIZE = 400, "RFC 9112 §7.1", "a chunk size that is not hexadecimal";
    CHUNK_SIZE_RANGE = 400, "RFC 9112 §7.1", "a chunk size beyond 64 bits";
    CHUNK_LINE_TOO_LONG = 400, "RFC 9112 §7.1.1", "a chunk line longer than 256 bytes";
    CHUNK_EXTENSION = 400, "RFC 9112 §7.1.1", "a control character in a chunk extension";
    CHUNK_END = 400, "RFC 9112 §7.1", "chunk data that does not end with CR LF";
    TRAILERS_TOO_LONG = 431, "RFC 6585 §5", "trailers longer than the limit of a head";

    // The order of things on a connection.
    UNASKED_RESPONSE = 400, "RFC 9112 §9.2", "bytes from a server while no request is outstanding";
    AFTER_CLOSE = 400, "RFC 9112 §9.6", "bytes after the last response of the connection";
    HEAD_CUT_OFF = 400, "RFC 9112 §8", "a connection that ended inside a head";
    BODY_CUT_OFF = 400, "RFC 9112 §8", "a connection that ended inside a body";
}

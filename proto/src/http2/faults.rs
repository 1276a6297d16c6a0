//! Every way a peer can break the protocol, with its clause and the code that it is told.

use super::ErrorCode;
use crate::Violation;

/// What the readers of this module fail with. Whether it costs the stream or the connection is
/// decided where it happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fault {
    pub(super) code: ErrorCode,
    pub(super) violation: &'static Violation,
}

macro_rules! faults {
    ($($name:ident = $code:ident, $clause:literal, $what:literal;)*) => {
        $(pub(super) const $name: Fault = Fault {
            code: ErrorCode::$code,
            violation: &Violation { clause: $clause, what: $what },
        };)*
    };
}

faults! {
    // The start and the end of a connection.
    PREFACE = PROTOCOL_ERROR, "RFC 9113 §3.4", "a connection that does not start with the preface";
    NO_SETTINGS = PROTOCOL_ERROR, "RFC 9113 §3.4", "a first frame other than SETTINGS";
    CUT_OFF = PROTOCOL_ERROR, "RFC 9113 §4.1", "a connection that ended inside a frame";
    UNANSWERED = PROTOCOL_ERROR, "RFC 9113 §8.1", "an end with requests unanswered";

    HTTP1 = PROTOCOL_ERROR, "RFC 9113 §3.4", "HTTP/1 where HTTP/2 was expected; this port may not \
        speak HTTP/2";

    // The outside of frames.
    FRAME_TOO_LONG = FRAME_SIZE_ERROR, "RFC 9113 §4.2", "a frame longer than the settings allow";
    PADDING = PROTOCOL_ERROR, "RFC 9113 §6.1", "padding as long as the payload or longer";
    DATA_SIZE = FRAME_SIZE_ERROR, "RFC 9113 §6.1", "padded DATA without the length of its padding";
    HEADERS_SIZE = FRAME_SIZE_ERROR, "RFC 9113 §6.2", "HEADERS too short for its flags";
    PRIORITY_SIZE = FRAME_SIZE_ERROR, "RFC 9113 §6.3", "PRIORITY that has not 5 bytes";
    RESET_SIZE = FRAME_SIZE_ERROR, "RFC 9113 §6.4", "RST_STREAM that has not 4 bytes";
    SETTINGS_SIZE = FRAME_SIZE_ERROR, "RFC 9113 §6.5", "SETTINGS that has not 6 bytes for each";
    SETTINGS_ACK_SIZE = FRAME_SIZE_ERROR, "RFC 9113 §6.5", "settings acknowledged with a payload";
    PING_SIZE = FRAME_SIZE_ERROR, "RFC 9113 §6.7", "PING that has not 8 bytes";
    GOAWAY_SIZE = FRAME_SIZE_ERROR, "RFC 9113 §6.8", "GOAWAY with less than 8 bytes";
    UPDATE_SIZE = FRAME_SIZE_ERROR, "RFC 9113 §6.9", "WINDOW_UPDATE that has not 4 bytes";
    NO_STREAM = PROTOCOL_ERROR, "RFC 9113 §6", "a frame of a stream without one";
    NOT_OF_A_STREAM = PROTOCOL_ERROR, "RFC 9113 §6", "a frame of the connection on a stream";
    BLOCK_INTERRUPTED = PROTOCOL_ERROR, "RFC 9113 §6.10", "another frame inside a block of fields";
    CONTINUES_NOTHING = PROTOCOL_ERROR, "RFC 9113 §6.10", "CONTINUATION without a block";
    PUSH = PROTOCOL_ERROR, "RFC 9113 §8.4", "PUSH_PROMISE, which nobody allowed";

    // Settings.
    ENABLE_PUSH = PROTOCOL_ERROR, "RFC 9113 §6.5.2", "ENABLE_PUSH that is not 0 or 1";
    SERVER_PUSH = PROTOCOL_ERROR, "RFC 9113 §6.5.2", "ENABLE_PUSH set by a server";
    INITIAL_WINDOW = FLOW_CONTROL_ERROR, "RFC 9113 §6.5.2", "INITIAL_WINDOW_SIZE beyond 2^31 - 1";
    FRAME_SETTING = PROTOCOL_ERROR, "RFC 9113 §6.5.2", "MAX_FRAME_SIZE outside 2^14 to 2^24 - 1";
    WINDOWS_OVERFLOW = FLOW_CONTROL_ERROR, "RFC 9113 §6.9.2", "settings make a window too large";

    // Streams.
    EVEN_STREAM = PROTOCOL_ERROR, "RFC 9113 §5.1.1", "a message on a stream with an even number";
    OLD_STREAM = PROTOCOL_ERROR, "RFC 9113 §5.1.1", "a new stream below the last";
    IDLE_STREAM = PROTOCOL_ERROR, "RFC 9113 §5.1", "a frame for a stream that nobody opened";
    CLOSED_STREAM = STREAM_CLOSED, "RFC 9113 §5.1", "a frame for a stream that is closed";
    HALF_CLOSED_STREAM = STREAM_CLOSED, "RFC 9113 §5.1", "a message that goes on after its end";
    SELF_DEPENDENCY = PROTOCOL_ERROR, "RFC 7540 §5.3.1", "a stream that depends on itself";
    TOO_MANY_STREAMS = REFUSED_STREAM, "RFC 9113 §5.1.2", "more streams than the settings allow";

    // Flow control.
    WINDOW = FLOW_CONTROL_ERROR, "RFC 9113 §6.9.1", "more DATA than the window allows";
    NO_INCREMENT = PROTOCOL_ERROR, "RFC 9113 §6.9", "WINDOW_UPDATE by nothing";
    WINDOW_OVERFLOW = FLOW_CONTROL_ERROR, "RFC 9113 §6.9.1", "a window beyond 2^31 - 1";

    // Messages.
    LIST_TOO_LONG = ENHANCE_YOUR_CALM, "RFC 9113 §10.5.1", "a field list longer than the limit";
    FIELD_NAME = PROTOCOL_ERROR, "RFC 9113 §8.2.1", "a field name that is not a token";
    UPPERCASE = PROTOCOL_ERROR, "RFC 9113 §8.2", "a field name with capitals";
    FIELD_VALUE = PROTOCOL_ERROR, "RFC 9113 §8.2.1", "a zero, line break or outer space in a value";
    CONNECTION_FIELD = PROTOCOL_ERROR, "RFC 9113 §8.2.2", "a field that speaks of the connection";
    TE = PROTOCOL_ERROR, "RFC 9113 §8.2.2", "TE with anything but trailers";
    PSEUDO_UNKNOWN = PROTOCOL_ERROR, "RFC 9113 §8.3", "a pseudo-header field out of place";
    PSEUDO_LATE = PROTOCOL_ERROR, "RFC 9113 §8.3", "a pseudo-header field behind an ordinary one";
    PSEUDO_TWICE = PROTOCOL_ERROR, "RFC 9113 §8.3", "a pseudo-header field twice";
    PSEUDO_MISSING = PROTOCOL_ERROR, "RFC 9113 §8.3", "a pseudo-header field that is missing";
    METHOD = PROTOCOL_ERROR, "RFC 9113 §8.3.1", "a :method that is not a token";
    PATH = PROTOCOL_ERROR, "RFC 9113 §8.3.1", "a :path that neither starts with / nor is *";
    AUTHORITY = PROTOCOL_ERROR, "RFC 9113 §8.3.1", "an :authority other than host and port";
    HOST = PROTOCOL_ERROR, "RFC 9113 §8.3.1", "a host that differs from :authority";
    CONNECT = PROTOCOL_ERROR, "RFC 9113 §8.5", "a CONNECT with more or less than :authority";
    STATUS = PROTOCOL_ERROR, "RFC 9113 §8.3.2", "a :status that is not between 100 and 599";
    SWITCH = PROTOCOL_ERROR, "RFC 9113 §8.6", "a switch of protocols";
    CONTENT_LENGTH = PROTOCOL_ERROR, "RFC 9110 §8.6", "a content-length that is not one number";
    BODY_LENGTH = PROTOCOL_ERROR, "RFC 9113 §8.1.1", "a body not as long as content-length says";
    NO_HEAD = PROTOCOL_ERROR, "RFC 9113 §8.1", "DATA before the head of the message";
    INTERIM_END = PROTOCOL_ERROR, "RFC 9113 §8.1", "an interim response that ends the stream";
    TRAILERS_END = PROTOCOL_ERROR, "RFC 9113 §8.1", "trailers that do not end the stream";

    // Bounds of this implementation.
    BLOCK_TOO_LONG = ENHANCE_YOUR_CALM, "RFC 9113 §10.5.1", "a field block longer than the limit";
    CONTINUATIONS = ENHANCE_YOUR_CALM, "RFC 9113 §10.5", "more CONTINUATION than the limit";
    RESETS = ENHANCE_YOUR_CALM, "RFC 9113 §10.5", "too many streams that came to nothing";
    IDLE_FRAMES = ENHANCE_YOUR_CALM, "RFC 9113 §10.5", "too many frames that bring nothing";
    UNSENT = ENHANCE_YOUR_CALM, "RFC 9113 §10.5", "too many answers to frames not taken";
}

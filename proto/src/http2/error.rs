//! The codes that GOAWAY and RST_STREAM carry.

use std::fmt;

/// Why a stream or a connection ended (RFC 9113 §7). Codes beyond the registered ones are allowed
/// and mean no more than `INTERNAL_ERROR`.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct ErrorCode(pub u32);

macro_rules! codes {
    ($($number:literal $name:ident $what:literal;)*) => {
        impl ErrorCode {
            $(#[doc = $what]
            pub const $name: ErrorCode = ErrorCode($number);)*

            /// The registered name, such as `REFUSED_STREAM`.
            pub fn name(self) -> Option<&'static str> {
                match self.0 {
                    $($number => Some(stringify!($name)),)*
                    _ => None,
                }
            }
        }
    };
}

codes! {
    0 NO_ERROR "Not an error: a graceful end.";
    1 PROTOCOL_ERROR "The peer broke the protocol in a way that no other code names.";
    2 INTERNAL_ERROR "A fault on the side that says so.";
    3 FLOW_CONTROL_ERROR "More was sent than the windows allow.";
    4 SETTINGS_TIMEOUT "Settings were not acknowledged in time.";
    5 STREAM_CLOSED "A frame for a stream that was half closed already.";
    6 FRAME_SIZE_ERROR "A frame with a wrong size.";
    7 REFUSED_STREAM "Nothing was done for the stream, so it may be tried again.";
    8 CANCEL "The stream is not wanted any more.";
    9 COMPRESSION_ERROR "The state of the header compression is lost.";
    10 CONNECT_ERROR "The connection made for a CONNECT broke.";
    11 ENHANCE_YOUR_CALM "The peer makes more work than is reasonable.";
    12 INADEQUATE_SECURITY "The transport is not secure enough.";
    13 HTTP_1_1_REQUIRED "The request is served by HTTP/1.1 only.";
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.write_str(name),
            None => write!(f, "error code {:#x}", self.0),
        }
    }
}

impl fmt::Debug for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

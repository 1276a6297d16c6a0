//! How a call ended (statuscodes.md, http-grpc-status-mapping.md of the gRPC project).

use std::fmt;

macro_rules! statuses {
    ($($(#[$doc:meta])* $variant:ident = $number:literal $name:literal;)*) => {
        /// The status of a call.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        pub enum Status {
            $($(#[$doc])* $variant = $number,)*
        }

        impl Status {
            /// All of them, in the order of their numbers, which start at 0.
            pub const ALL: [Status; 17] = [$(Status::$variant),*];

            /// Its name in the documents of gRPC, such as `DEADLINE_EXCEEDED`.
            pub fn name(self) -> &'static str {
                match self {
                    $(Status::$variant => $name,)*
                }
            }

            /// Its number as `grpc-status` carries it.
            #[inline]
            pub fn text(self) -> &'static str {
                match self {
                    $(Status::$variant => stringify!($number),)*
                }
            }
        }
    };
}

statuses! {
    /// Success.
    Ok = 0 "OK";
    /// Cancelled, usually by the caller.
    Cancelled = 1 "CANCELLED";
    /// Unknown, or a status that is none of these.
    Unknown = 2 "UNKNOWN";
    /// An argument that is wrong whatever the state of the system.
    InvalidArgument = 3 "INVALID_ARGUMENT";
    /// The deadline passed before the call was complete.
    DeadlineExceeded = 4 "DEADLINE_EXCEEDED";
    /// What was asked for does not exist.
    NotFound = 5 "NOT_FOUND";
    /// What was to be created is there.
    AlreadyExists = 6 "ALREADY_EXISTS";
    /// The caller may not do that.
    PermissionDenied = 7 "PERMISSION_DENIED";
    /// A quota, memory or the limit of a message is used up.
    ResourceExhausted = 8 "RESOURCE_EXHAUSTED";
    /// The system is not in a state for that.
    FailedPrecondition = 9 "FAILED_PRECONDITION";
    /// Given up, often for a conflict between transactions.
    Aborted = 10 "ABORTED";
    /// Beyond the valid range.
    OutOfRange = 11 "OUT_OF_RANGE";
    /// The method does not exist or is not offered.
    Unimplemented = 12 "UNIMPLEMENTED";
    /// Something that should hold does not; a broken protocol for instance.
    Internal = 13 "INTERNAL";
    /// The service cannot be reached now.
    Unavailable = 14 "UNAVAILABLE";
    /// Data is lost for good.
    DataLoss = 15 "DATA_LOSS";
    /// The caller did not say who it is, or not convincingly.
    Unauthenticated = 16 "UNAUTHENTICATED";
}

impl Status {
    /// The status with this number.
    #[inline]
    pub fn of_number(number: usize) -> Option<Status> {
        Status::ALL.get(number).copied()
    }

    /// The status that a `grpc-status` field carries. What is no number of a status counts as
    /// [`Status::Unknown`].
    #[inline]
    pub fn parse(value: &[u8]) -> Status {
        let number = match value {
            [digit @ b'0'..=b'9'] => digit - b'0',
            [b'1', digit @ b'0'..=b'9'] => 10 + digit - b'0',
            _ => return Status::Unknown,
        };
        Status::of_number(number.into()).unwrap_or(Status::Unknown)
    }

    /// What the head of a response says of the call: `None` if it goes on and the trailers will
    /// tell.
    ///
    /// `end` is whether the head ends the stream, which makes it all there is (Trailers-Only). If
    /// it is no response of gRPC, its HTTP status has to do.
    #[inline]
    pub fn of_head(
        http_status: u16,
        content_type: Option<&[u8]>,
        grpc_status: Option<&[u8]>,
        end: bool,
    ) -> Option<Status> {
        match grpc_status {
            Some(value) if end => Some(Status::parse(value)),
            _ if end || http_status != 200 => Some(Status::of_http(http_status)),
            _ if content_type.is_some_and(super::is_content_type) => None,
            _ => Some(Status::of_http(http_status)),
        }
    }

    /// What the end of a response says whose head said nothing: the `grpc-status` of its trailers,
    /// or [`Status::Unknown`] if there are no trailers or none with that field.
    #[inline]
    pub fn of_trailers(grpc_status: Option<&[u8]>) -> Status {
        grpc_status.map_or(Status::Unknown, Status::parse)
    }

    /// The status for a response without `grpc-status` (http-grpc-status-mapping.md).
    pub fn of_http(http_status: u16) -> Status {
        match http_status {
            400 => Status::Internal,
            401 => Status::Unauthenticated,
            403 => Status::PermissionDenied,
            404 => Status::Unimplemented,
            429 | 502 | 503 | 504 => Status::Unavailable,
            _ => Status::Unknown,
        }
    }

    /// The status for a stream that was reset with this HTTP/2 error code (PROTOCOL-HTTP2.md,
    /// Errors; the codes are those of RFC 9113 §7).
    pub fn of_reset(code: u32) -> Status {
        match code {
            0x0..=0x6 | 0x9 | 0xa => Status::Internal,
            0x7 => Status::Unavailable,
            0x8 => Status::Cancelled,
            0xb => Status::ResourceExhausted,
            0xc => Status::PermissionDenied,
            _ => Status::Unknown,
        }
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

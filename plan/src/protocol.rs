//! What is spoken with the target, as a plan says it.

use std::path::PathBuf;

use measure::needs::Spoken;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::invalid::{Invalid, within};
use crate::redaction::Redaction;

/// The most concurrent streams on one HTTP/2 connection.
pub const STREAMS_MAX: u32 = 16_384;
/// The largest flow-control window (RFC 9113 §6.9.1).
pub const WINDOW_MAX: u32 = (1 << 31) - 1;
/// The window that every connection begins with (RFC 9113 §6.9.2).
const WINDOW_FIRST: u32 = 65_535;
/// The largest table for compressed headers: each connection may come to hold as much.
const HEADER_TABLE_BYTES_MAX: u32 = 1 << 20;

/// How often a connection may be pinged.
const PING_EVERY_S: std::ops::RangeInclusive<f64> = 0.001..=86_400.0;

/// The protocol of a plan's exchanges.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(
    rename_all = "snake_case",
    tag = "name",
    deny_unknown_fields,
    remote = "Self"
)]
pub enum Protocol {
    /// HTTP/1.1 (RFC 9112). One exchange is a request and its response.
    #[default]
    Http1,
    /// HTTP/2 (RFC 9113): by ALPN over TLS, by prior knowledge without it.
    Http2 {
        /// Streams and windows.
        http2: Http2,
    },
    /// gRPC over HTTP/2. One exchange is a call.
    Grpc {
        /// Streams and windows.
        http2: Http2,
        /// What is called.
        #[serde(with = "Call")]
        call: Call,
    },
    /// WebSocket (RFC 6455). One exchange is a message and the message that answers it.
    WebSocket {
        /// What is sent.
        #[serde(with = "Message")]
        message: Message,
    },
}

/// How HTTP/2 connections are used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Http2 {
    /// The most concurrent streams on one connection.
    pub streams: u32,
    /// What the peer may send on one stream before it is told to go on, in bytes
    /// (`SETTINGS_INITIAL_WINDOW_SIZE`).
    pub stream_window_bytes: u32,
    /// The same for all streams of a connection together.
    pub connection_window_bytes: u32,
    /// The peer's header compression table, in bytes (`SETTINGS_HEADER_TABLE_SIZE`).
    pub header_table_bytes: u32,
}

impl Default for Http2 {
    /// One stream, and windows that no answer of usual size meets.
    fn default() -> Http2 {
        Http2 {
            streams: 1,
            stream_window_bytes: 4 << 20,
            connection_window_bytes: 16 << 20,
            header_table_bytes: 4096,
        }
    }
}

/// How the messages of gRPC calls are compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Compress {
    /// By gzip, each message by itself; an empty one isn't.
    Gzip,
}

/// A gRPC call. Its service and method are the target's path, its metadata the request's headers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct Call {
    /// Which side streams.
    pub kind: CallKind,
    /// The messages of each call, encoded; base64 in JSON, or `redacted:HASH, N bytes`. All
    /// but the streams have exactly one, and where the steps of a workload are called there are
    /// none.
    #[serde(with = "crate::bytes::base64_list")]
    #[schemars(with = "Vec<String>")]
    pub messages: Vec<Vec<u8>>,
    /// Sent as `grpc-timeout`; null: none is sent.
    pub deadline_s: Option<f64>,
}

/// The four kinds of calls, and what stands for several of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CallKind {
    /// One message each way.
    Unary,
    /// Many messages to the server, one back.
    ClientStream,
    /// One message to the server, many back.
    ServerStream,
    /// Many messages each way.
    Bidirectional,
    /// Each step of a workload is a call of its own kind.
    Mixed,
}

impl CallKind {
    /// Whether the server may answer any number of messages and not exactly one.
    pub fn answers_many(self) -> bool {
        matches!(self, CallKind::ServerStream | CallKind::Bidirectional)
    }
}

/// A WebSocket message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct Message {
    /// The payload; base64 in JSON, or `redacted:HASH, N bytes`.
    #[serde(with = "crate::bytes::body_base64")]
    #[schemars(with = "String")]
    pub payload: Vec<u8>,
    /// A binary message; else text, which must be UTF-8.
    pub binary: bool,
    /// A ping on each connection this often, whose round trip is measured; null: none.
    pub ping_every_s: Option<f64>,
}

/// How the target proves who it is, and how this side does (RFC 8446).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Tls {
    /// Accept any certificate.
    pub insecure: bool,
    /// Trust these authorities (PEM) and not the system's.
    pub ca_file: Option<PathBuf>,
    /// This side's own certificate chain (PEM).
    pub certificate_file: Option<PathBuf>,
    /// The key of that certificate (PEM).
    pub key_file: Option<PathBuf>,
    /// Ask for and expect this name (SNI) and not the URL's host.
    pub server_name: Option<String>,
    /// Resume sessions where the server offers it. Off: every handshake is a full one.
    pub resumption: bool,
}

impl Default for Tls {
    fn default() -> Tls {
        Tls {
            insecure: false,
            ca_file: None,
            certificate_file: None,
            key_file: None,
            server_name: None,
            resumption: true,
        }
    }
}

impl Tls {
    /// Checks what does not depend on files.
    ///
    /// # Errors
    /// What is missing, or contradicts itself.
    pub fn validate(&self) -> Result<(), Invalid> {
        let why = match (&self.certificate_file, &self.key_file) {
            (Some(_), None) => "--cert is useless without its key: add --key",
            (None, Some(_)) => "--key is useless without its certificate: add --cert",
            _ if self.insecure && self.ca_file.is_some() => {
                "--insecure trusts any certificate, --cacert only some: give only one of them"
            }
            _ => return Ok(()),
        };
        Err(Invalid(why.into()))
    }
}

impl Protocol {
    /// What is spoken under the scheme of a URL, with nothing asked of it yet.
    pub(crate) fn of_scheme(scheme: &str) -> Protocol {
        match scheme {
            "grpc" | "grpcs" => Protocol::Grpc {
                http2: Http2::default(),
                call: Call {
                    kind: CallKind::Unary,
                    messages: vec![Vec::new()],
                    deadline_s: None,
                },
            },
            "ws" | "wss" => Protocol::WebSocket {
                message: Message {
                    payload: b"Hello, World!".to_vec(),
                    binary: false,
                    ping_every_s: None,
                },
            },
            _ => Protocol::Http1,
        }
    }

    /// What shows that a held connection still answers, with its article.
    pub fn heartbeat(&self) -> &'static str {
        match self {
            Protocol::Http1 => "an HTTP/1.1 request",
            Protocol::Http2 { .. } => "an HTTP/2 PING",
            Protocol::WebSocket { .. } => "a WebSocket ping",
            Protocol::Grpc { .. } => "a gRPC health check",
        }
    }

    /// What that is to the memory of a connection.
    pub fn spoken(&self) -> Spoken {
        match self {
            Protocol::Http1 => Spoken::Http1,
            Protocol::Http2 { .. } => Spoken::Http2,
            Protocol::WebSocket { .. } => Spoken::WebSocket,
            Protocol::Grpc { .. } => Spoken::Grpc,
        }
    }

    /// Streams and windows, where there are any.
    pub fn http2(&self) -> Option<&Http2> {
        match self {
            Protocol::Http2 { http2 } | Protocol::Grpc { http2, .. } => Some(http2),
            Protocol::Http1 | Protocol::WebSocket { .. } => None,
        }
    }

    /// The same, to be changed.
    pub fn http2_mut(&mut self) -> Option<&mut Http2> {
        match self {
            Protocol::Http2 { http2 } | Protocol::Grpc { http2, .. } => Some(http2),
            Protocol::Http1 | Protocol::WebSocket { .. } => None,
        }
    }

    /// It without its secrets.
    pub(crate) fn shown(&self, redaction: &Redaction) -> Protocol {
        match self {
            Protocol::Http1 => Protocol::Http1,
            Protocol::Http2 { http2 } => Protocol::Http2 { http2: *http2 },
            Protocol::Grpc { http2, call } => {
                let messages = call.messages.iter();
                let call = Call {
                    kind: call.kind,
                    messages: messages.map(|message| redaction.body(message)).collect(),
                    deadline_s: call.deadline_s,
                };
                let http2 = *http2;
                Protocol::Grpc { http2, call }
            }
            Protocol::WebSocket { message } => {
                let message = Message {
                    payload: redaction.body(&message.payload),
                    binary: message.binary,
                    ping_every_s: message.ping_every_s,
                };
                Protocol::WebSocket { message }
            }
        }
    }

    /// Whether the steps of a workload are called, each in its own way.
    pub fn is_mixed(&self) -> bool {
        matches!(self, Protocol::Grpc { call, .. } if call.kind == CallKind::Mixed)
    }

    /// How many messages of its own an exchange sends; none of HTTP.
    pub fn messages(&self) -> u64 {
        match self {
            Protocol::Http1 | Protocol::Http2 { .. } => 0,
            Protocol::Grpc { call, .. } => call.messages.len() as u64,
            Protocol::WebSocket { .. } => 1,
        }
    }

    /// How long a gRPC call may take, in seconds.
    pub fn deadline_s(&self) -> Option<f64> {
        match self {
            Protocol::Grpc { call, .. } => call.deadline_s,
            _ => None,
        }
    }

    /// How often each connection is pinged, if at all.
    pub fn ping_every_s(&self) -> Option<f64> {
        match self {
            Protocol::WebSocket { message } => message.ping_every_s,
            Protocol::Http1 | Protocol::Http2 { .. } | Protocol::Grpc { .. } => None,
        }
    }

    /// Checks what does not depend on the rest of the plan.
    pub(crate) fn validate(&self) -> Result<(), Invalid> {
        if let Some(http2) = self.http2() {
            within("-S/--streams", http2.streams, STREAMS_MAX)?;
            within("--h2-stream-window", http2.stream_window_bytes, WINDOW_MAX)?;
            within(
                "--h2-connection-window",
                http2.connection_window_bytes,
                WINDOW_MAX,
            )?;
            if http2.connection_window_bytes < WINDOW_FIRST {
                return Err(Invalid(format!(
                    "--h2-connection-window {} is too small: every connection starts with {} \
                     bytes, so use at least {}",
                    http2.connection_window_bytes, WINDOW_FIRST, WINDOW_FIRST
                )));
            }
            // A table of no bytes is one that is not used.
            let table_bytes = http2.header_table_bytes.max(1);
            within("--header-table-size", table_bytes, HEADER_TABLE_BYTES_MAX)?;
        }
        match self {
            Protocol::Grpc { call, .. } => call.validate(),
            Protocol::WebSocket { message } => message.validate(),
            Protocol::Http1 | Protocol::Http2 { .. } => Ok(()),
        }
    }
}

impl Call {
    /// What stands in a plan whose workload says what is called.
    pub fn of_workload(deadline_s: Option<f64>) -> Call {
        Call {
            kind: CallKind::Mixed,
            messages: Vec::new(),
            deadline_s,
        }
    }

    fn validate(&self) -> Result<(), Invalid> {
        let streams = matches!(self.kind, CallKind::ClientStream | CallKind::Bidirectional);
        let is_mixed = self.kind == CallKind::Mixed;
        if !streams && !is_mixed && self.messages.len() != 1 {
            return Err(Invalid(format!(
                "this method takes one message, not {}: give -b one JSON object",
                self.messages.len()
            )));
        }
        match self.deadline_s {
            Some(seconds) if !(seconds > 0.0 && seconds < 1e8) => Err(Invalid(
                "--deadline must be above zero and fit into grpc-timeout's eight digits".into(),
            )),
            _ => Ok(()),
        }
    }
}

impl Message {
    fn validate(&self) -> Result<(), Invalid> {
        if !self.binary && std::str::from_utf8(&self.payload).is_err() {
            return Err(Invalid(
                "a text message must be UTF-8 (RFC 6455 §5.6): send these bytes with --binary"
                    .into(),
            ));
        }
        match self.ping_every_s {
            Some(seconds) if !PING_EVERY_S.contains(&seconds) => Err(Invalid(
                "--ping must be between 1ms and a day: drop it to send no pings".into(),
            )),
            _ => Ok(()),
        }
    }
}

//! What is spoken with a subject.

use serde::Deserialize;

/// What is spoken with a subject.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Protocol {
    /// HTTP/1.1.
    #[default]
    Http1,
    /// HTTP/2: by ALPN over TLS, else by prior knowledge.
    Http2,
    /// gRPC; the path is `/package.Service/Method`.
    Grpc,
    /// WebSocket.
    WebSocket,
}

impl Protocol {
    /// Its name as people write it.
    pub fn name(self) -> &'static str {
        match self {
            Protocol::Http1 => "HTTP/1.1",
            Protocol::Http2 => "HTTP/2",
            Protocol::Grpc => "gRPC",
            Protocol::WebSocket => "WebSocket",
        }
    }
}

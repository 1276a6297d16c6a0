//! What a TLS handshake agreed on, and why there was none.

use measure::time::Time;

/// A protocol agreed on by ALPN (RFC 7301).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Alpn {
    /// `http/1.1`.
    Http11,
    /// `h2` (RFC 9113 §3.2).
    H2,
}

impl Alpn {
    /// The protocol's registered name; `None` for names that nobody here speaks.
    pub(crate) fn from_name(name: &[u8]) -> Option<Alpn> {
        match name {
            b"http/1.1" => Some(Alpn::Http11),
            b"h2" => Some(Alpn::H2),
            _ => None,
        }
    }

    /// Its registered name.
    pub fn name(self) -> &'static str {
        match self {
            Alpn::Http11 => "http/1.1",
            Alpn::H2 => "h2",
        }
    }
}

/// What the handshake of a connection agreed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Secured {
    /// The protocol, if ALPN chose one.
    pub alpn: Option<Alpn>,
    /// An earlier session was resumed: no certificates, no signature.
    pub resumed: bool,
    /// When the connection stood and the handshake began.
    pub began: Time,
    /// From then to the end of the handshake.
    pub handshake_ns: u64,
    /// `TLS 1.3` or `TLS 1.2`.
    pub version: &'static str,
    /// The cipher suite by its IANA name.
    pub cipher: &'static str,
}

/// What went wrong in TLS. Counters on the hot path; the words are for the end of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TlsFault {
    /// Nobody who is trusted has signed the peer's certificate.
    UntrustedIssuer,
    /// The peer's certificate is not valid any more.
    Expired,
    /// The peer's certificate is not valid yet.
    NotYetValid,
    /// The peer's certificate is for another name than the one that was asked for.
    WrongName,
    /// The peer's certificate cannot be used for another reason: encoding, signature, purpose.
    BadCertificate,
    /// No protocol of the ones offered by ALPN is spoken by both (RFC 7301 §3.2).
    NoCommonProtocol,
    /// No version of TLS or no cipher suite is spoken by both.
    NoCommonVersion,
    /// The peer ended it with this alert (RFC 8446 §6).
    Alert(u8),
    /// What came instead of a handshake is not TLS.
    NotTls,
    /// The peer ended the connection in the middle of the handshake.
    Abandoned,
    /// The peer broke the rules of TLS, or bytes were changed on their way.
    Broken,
}

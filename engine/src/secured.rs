//! What a TLS handshake agreed on, and why there was none.

use std::fmt;

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
    pub fn from_name(name: &[u8]) -> Option<Alpn> {
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

impl TlsFault {
    /// Whether it is the peer's certificate that was not accepted.
    pub fn is_certificate(self) -> bool {
        matches!(
            self,
            TlsFault::UntrustedIssuer
                | TlsFault::Expired
                | TlsFault::NotYetValid
                | TlsFault::WrongName
                | TlsFault::BadCertificate
        )
    }
}

impl fmt::Display for TlsFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            TlsFault::UntrustedIssuer => "the certificate isn't signed by a trusted authority",
            TlsFault::Expired => "the certificate has expired",
            TlsFault::NotYetValid => "the certificate isn't valid yet",
            TlsFault::WrongName => "the certificate is for a different name",
            TlsFault::BadCertificate => "the certificate is unusable",
            TlsFault::NoCommonProtocol => "client and server have no protocol in common (ALPN)",
            TlsFault::NoCommonVersion => {
                "client and server have no TLS version or cipher suite in common"
            }
            TlsFault::NotTls => "the peer didn't answer with TLS",
            TlsFault::Abandoned => "the peer closed the connection during the TLS handshake",
            TlsFault::Broken => "the peer violated the TLS protocol",
            TlsFault::Alert(code) => {
                return match alert_name(*code) {
                    Some(name) => write!(f, "the peer ended TLS with alert {name}"),
                    None => write!(f, "the peer ended TLS with alert {code}"),
                };
            }
        })
    }
}

/// What RFC 8446 §6 calls an alert.
fn alert_name(code: u8) -> Option<&'static str> {
    Some(match code {
        0 => "close_notify",
        10 => "unexpected_message",
        20 => "bad_record_mac",
        22 => "record_overflow",
        40 => "handshake_failure",
        42 => "bad_certificate",
        43 => "unsupported_certificate",
        44 => "certificate_revoked",
        45 => "certificate_expired",
        46 => "certificate_unknown",
        47 => "illegal_parameter",
        48 => "unknown_ca",
        49 => "access_denied",
        50 => "decode_error",
        51 => "decrypt_error",
        70 => "protocol_version",
        71 => "insufficient_security",
        80 => "internal_error",
        86 => "inappropriate_fallback",
        90 => "user_canceled",
        109 => "missing_extension",
        110 => "unsupported_extension",
        112 => "unrecognized_name",
        113 => "bad_certificate_status_response",
        115 => "unknown_psk_identity",
        116 => "certificate_required",
        120 => "no_application_protocol",
        _ => return None,
    })
}

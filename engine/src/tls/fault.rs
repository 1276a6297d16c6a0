//! Why a connection could not be secured, or did not stay so.

use std::fmt;

use rustls::{AlertDescription, CertificateError, Error, InvalidMessage, PeerIncompatible};

use crate::secured::TlsFault;

impl TlsFault {
    /// Sorts an error of rustls. Whether it is in a handshake's first bytes only rustls' own
    /// errors about their shape tell, so those are "not TLS" where `handshaking`.
    #[cold]
    pub(super) fn of(error: &Error, handshaking: bool) -> TlsFault {
        match error {
            Error::InvalidCertificate(why) => TlsFault::of_certificate(why),
            Error::AlertReceived(AlertDescription::NoApplicationProtocol)
            | Error::NoApplicationProtocol => TlsFault::NoCommonProtocol,
            Error::AlertReceived(alert) => TlsFault::Alert(u8::from(*alert)),
            Error::PeerIncompatible(
                PeerIncompatible::NoCertificateRequestSignatureSchemesInCommon,
            )
            | Error::NoCertificatesPresented => TlsFault::BadCertificate,
            Error::PeerIncompatible(_) => TlsFault::NoCommonVersion,
            Error::InvalidMessage(
                InvalidMessage::InvalidContentType
                | InvalidMessage::UnknownProtocolVersion
                | InvalidMessage::InvalidEmptyPayload
                | InvalidMessage::MessageTooLarge,
            ) if handshaking => TlsFault::NotTls,
            _ => TlsFault::Broken,
        }
    }

    fn of_certificate(why: &CertificateError) -> TlsFault {
        match why {
            CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
                TlsFault::Expired
            }
            CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
                TlsFault::NotYetValid
            }
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
                TlsFault::WrongName
            }
            CertificateError::UnknownIssuer => TlsFault::UntrustedIssuer,
            // webpki's word for a self-signed certificate of an authority in a server's hand.
            CertificateError::Other(other) if is_authority(other) => TlsFault::UntrustedIssuer,
            _ => TlsFault::BadCertificate,
        }
    }

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

/// Whether an error of the verifier says that an authority's own certificate was shown.
pub(super) fn is_authority(other: &rustls::OtherError) -> bool {
    other.0.to_string().contains("CaUsedAsEndEntity")
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
                return match AlertDescription::from(*code) {
                    AlertDescription::Unknown(code) => {
                        write!(f, "the peer ended TLS with alert {code}")
                    }
                    known => write!(f, "the peer ended TLS with alert {known:?}"),
                };
            }
        })
    }
}

//! Which fault an error of rustls is.

use rustls::{AlertDescription, CertificateError, Error, InvalidMessage, PeerIncompatible};

use engine::secured::TlsFault;

/// Sorts an error of rustls. Whether it is in a handshake's first bytes only rustls' own
/// errors about their shape tell, so those are "not TLS" where `handshaking`.
#[cold]
pub(super) fn of(error: &Error, handshaking: bool) -> TlsFault {
    match error {
        Error::InvalidCertificate(why) => of_certificate(why),
        Error::AlertReceived(AlertDescription::NoApplicationProtocol)
        | Error::NoApplicationProtocol => TlsFault::NoCommonProtocol,
        Error::AlertReceived(alert) => TlsFault::Alert(u8::from(*alert)),
        Error::PeerIncompatible(PeerIncompatible::NoCertificateRequestSignatureSchemesInCommon)
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
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => TlsFault::Expired,
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

/// Whether an error of the verifier says that an authority's own certificate was shown.
pub(super) fn is_authority(other: &rustls::OtherError) -> bool {
    other.0.to_string().contains("CaUsedAsEndEntity")
}

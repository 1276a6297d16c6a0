//! Whom a client trusts.

use std::path::PathBuf;
use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::verify_server_name;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{
    CertificateError, DigitallySignedStruct, Error, RootCertStore, SignatureScheme, crypto,
};

use super::fault::is_authority;
use super::pem::certificates_in;

/// Whose signature makes a server's certificate good.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trust {
    /// The authorities that this host trusts.
    System,
    /// The certificates in this file (PEM), and no others. A server may also show one of them as
    /// its own.
    File(PathBuf),
    /// Everybody. That the server has the key of its certificate is still checked.
    Anybody,
}

impl Trust {
    /// The check that rustls makes, or a sentence that says what is wrong with the file or host.
    pub(super) fn verifier(
        &self,
        provider: &Arc<CryptoProvider>,
    ) -> Result<Arc<dyn ServerCertVerifier>, String> {
        let (certificates, source) = match self {
            Trust::Anybody => {
                let (provider, authorities, own) = (provider.clone(), None, Vec::new());
                return Ok(Arc::new(Verifier {
                    provider,
                    authorities,
                    own,
                }));
            }
            Trust::File(path) => (certificates_in(path)?, path.display().to_string()),
            Trust::System => (
                rustls_native_certs::load_native_certs().certs,
                "this host's trust store".to_owned(),
            ),
        };
        let mut roots = RootCertStore::empty();
        let (_, unusable) = roots.add_parsable_certificates(certificates.iter().cloned());
        if roots.is_empty() {
            return Err(format!(
                "{source} has no usable CA certificates ({unusable} couldn't be parsed): install \
                 ca-certificates, or give a PEM file with the authority's certificate"
            ));
        }
        let authorities =
            WebPkiServerVerifier::builder_with_provider(roots.into(), provider.clone())
                .build()
                .map_err(|why| format!("{source}: {why}"))?;
        let own = match self {
            Trust::File(_) => certificates,
            _ => Vec::new(),
        };
        Ok(Arc::new(Verifier {
            provider: provider.clone(),
            authorities: Some(authorities),
            own,
        }))
    }
}

/// Trusts authorities, and certificates that were given as such even where they are an authority's:
/// `openssl req -x509` makes self-signed certificates of that kind, which webpki refuses in a
/// server's hand. Without authorities it trusts any certificate.
#[derive(Debug)]
struct Verifier {
    provider: Arc<CryptoProvider>,
    authorities: Option<Arc<WebPkiServerVerifier>>,
    own: Vec<CertificateDer<'static>>,
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let Some(authorities) = &self.authorities else {
            return Ok(ServerCertVerified::assertion());
        };
        match authorities.verify_server_cert(end_entity, intermediates, name, ocsp_response, now) {
            // Its validity in time has been checked by then; its name has not.
            Err(Error::InvalidCertificate(CertificateError::Other(other)))
                if is_authority(&other) && self.own.contains(end_entity) =>
            {
                verify_server_name(&ParsedCertificate::try_from(end_entity)?, name)?;
                Ok(ServerCertVerified::assertion())
            }
            verdict => verdict,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        crypto::verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        crypto::verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        let algorithms = &self.provider.signature_verification_algorithms;
        algorithms.supported_schemes()
    }
}

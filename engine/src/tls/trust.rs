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
            Trust::Anybody => return Ok(Arc::new(Anybody(Arc::clone(provider)))),
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
        let inner = WebPkiServerVerifier::builder_with_provider(roots.into(), provider.clone())
            .build()
            .map_err(|why| format!("{source}: {why}"))?;
        let own = match self {
            Trust::File(_) => certificates,
            _ => Vec::new(),
        };
        Ok(Arc::new(Listed { inner, own }))
    }
}

/// Trusts authorities, and certificates that were given as such even where they are an authority's:
/// `openssl req -x509` makes self-signed certificates of that kind, which webpki refuses in a
/// server's hand.
#[derive(Debug)]
struct Listed {
    inner: Arc<WebPkiServerVerifier>,
    own: Vec<CertificateDer<'static>>,
}

impl ServerCertVerifier for Listed {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let verdict = self.inner.verify_server_cert(
            end_entity,
            intermediates,
            server_name,
            ocsp_response,
            now,
        );
        match verdict {
            // Its validity in time has been checked by then; its name has not.
            Err(Error::InvalidCertificate(CertificateError::Other(other)))
                if is_authority(&other) && self.own.contains(end_entity) =>
            {
                verify_server_name(&ParsedCertificate::try_from(end_entity)?, server_name)?;
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
        self.inner
            .verify_tls12_signature(message, certificate, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.inner
            .verify_tls13_signature(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.inner.supported_verify_schemes()
    }
}

/// Trusts any certificate.
#[derive(Debug)]
struct Anybody(Arc<CryptoProvider>);

impl ServerCertVerifier for Anybody {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        crypto::verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        crypto::verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

//! What either side of TLS is told, and what rustls makes of it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rcgen::{CertificateParams, DnType, ExtendedKeyUsagePurpose, KeyPair};
use rustls::client::Resumption;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::server::{NoServerSessionStorage, WebPkiClientVerifier};
use rustls::{ClientConfig, RootCertStore, ServerConfig};

use super::pem::{KEY, certificates_in, unreadable};
use super::sessions::Sessions;
use super::{Alpn, Trust};

/// The client's side of TLS.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientSettings {
    /// The name that is asked for (SNI, RFC 6066 §3) and that the certificate must be for. An
    /// address is checked too, but not sent.
    pub server_name: String,
    /// Offered in this order. A server without ALPN is taken to speak `http/1.1`.
    pub alpn: Vec<Alpn>,
    /// Whose signature makes a certificate good.
    pub trust: Trust,
    /// This side's own certificate chain and its key (PEM).
    pub identity: Option<(PathBuf, PathBuf)>,
    /// Resume sessions where the server offers it.
    pub resumption: bool,
}

/// The server's side of TLS.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerSettings {
    /// Who the server is.
    pub certificate: Certificate,
    /// Spoken, the best first.
    pub alpn: Vec<Alpn>,
    /// Hand out tickets by which clients resume their sessions.
    pub resumption: bool,
    /// Take only clients with a certificate signed by an authority in this file (PEM).
    pub client_authorities: Option<PathBuf>,
}

/// A server's certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Certificate {
    /// Made anew, for these names and addresses: ECDSA on P-256.
    SelfSigned {
        /// Names and addresses.
        names: Vec<String>,
    },
    /// Out of files (PEM).
    Files {
        /// The certificate, then those that lead to its authority.
        chain: PathBuf,
        /// Its key.
        key: PathBuf,
    },
}

/// A client's settings, checked. Clones share their sessions; see [`ClientTls::separate`].
#[derive(Clone, Debug)]
pub struct ClientTls {
    pub(super) config: Arc<ClientConfig>,
    /// What the peers are called, in the order of [`engine::SocketOptions::peer`].
    server_names: Vec<ServerName<'static>>,
    resumption: bool,
}

/// A server's settings, checked. Clones take each other's tickets.
#[derive(Clone, Debug)]
pub struct ServerTls {
    pub(super) config: Arc<ServerConfig>,
    certificate: CertificateDer<'static>,
}

impl ClientSettings {
    /// Reads the files and checks that all fits together.
    ///
    /// # Errors
    ///
    /// A sentence that names the file or value, and says what to do.
    pub fn build(&self) -> Result<ClientTls, String> {
        let provider = Arc::new(ring::default_provider());
        let server_name = ServerName::try_from(self.server_name.clone()).map_err(|_| {
            format!(
                "{:?} can't be a TLS server name: give a host name or an IP address",
                self.server_name
            )
        })?;
        let verifier = self.trust.verifier(&provider)?;
        let builder = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|why| why.to_string())?
            .dangerous()
            .with_custom_certificate_verifier(verifier);
        let mut config = match &self.identity {
            None => builder.with_no_client_auth(),
            Some((chain, key)) => builder
                .with_client_auth_cert(certificates_in(chain)?, key_in(key)?)
                .map_err(|why| mismatch(chain, key, &why))?,
        };
        config.alpn_protocols = names_of(&self.alpn);
        config.resumption = resumption(self.resumption);
        Ok(ClientTls {
            config: Arc::new(config),
            server_names: vec![server_name],
            resumption: self.resumption,
        })
    }
}

impl ClientTls {
    /// The same settings with sessions of its own, for another worker.
    pub fn separate(&self) -> ClientTls {
        let mut config = ClientConfig::clone(&self.config);
        config.resumption = resumption(self.resumption);
        ClientTls {
            config: Arc::new(config),
            ..self.clone()
        }
    }

    /// The same settings for the peers of `next` as well, behind its own.
    pub fn and(mut self, next: &ClientTls) -> ClientTls {
        self.server_names.extend_from_slice(&next.server_names);
        self
    }

    /// What a peer is called; the first one's name where it has none of its own.
    pub(super) fn server_name(&self, peer: u16) -> ServerName<'static> {
        let names = &self.server_names;
        names[usize::from(peer) % names.len()].clone()
    }

    /// Whether a connection for which ALPN chose nothing is of no use: what is taken for granted
    /// then, `http/1.1`, was not offered.
    pub(super) fn needs_alpn(&self) -> bool {
        let offered = &self.config.alpn_protocols;
        let assumed = Alpn::Http11.name().as_bytes();
        !offered.is_empty() && !offered.iter().any(|name| name == assumed)
    }
}

impl ServerSettings {
    /// Reads the files or makes the certificate.
    ///
    /// # Errors
    ///
    /// A sentence that names the file or value, and says what to do.
    pub fn build(&self) -> Result<ServerTls, String> {
        let provider = Arc::new(ring::default_provider());
        let (chain, key) = match &self.certificate {
            Certificate::SelfSigned { names } => self_signed(names)?,
            Certificate::Files { chain, key } => (certificates_in(chain)?, key_in(key)?),
        };
        let Some(certificate) = chain.first().cloned() else {
            return Err("a server needs a certificate".into());
        };
        let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .map_err(|why| why.to_string())?;
        let builder = match &self.client_authorities {
            None => builder.with_no_client_auth(),
            Some(file) => builder.with_client_cert_verifier({
                let mut roots = RootCertStore::empty();
                roots.add_parsable_certificates(certificates_in(file)?);
                WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider)
                    .build()
                    .map_err(|why| format!("{}: {why}", file.display()))?
            }),
        };
        let mut config =
            builder
                .with_single_cert(chain, key)
                .map_err(|why| match &self.certificate {
                    Certificate::Files { chain, key } => mismatch(chain, key, &why),
                    Certificate::SelfSigned { .. } => why.to_string(),
                })?;
        config.alpn_protocols = names_of(&self.alpn);
        config.session_storage = Arc::new(NoServerSessionStorage {});
        if self.resumption {
            // Stateless tickets: any worker takes them, and none remembers anything.
            config.ticketer = ring::Ticketer::new().map_err(|why| why.to_string())?;
        } else {
            config.send_tls13_tickets = 0;
        }
        Ok(ServerTls {
            config: Arc::new(config),
            certificate,
        })
    }
}

impl ServerTls {
    /// The server's own certificate (DER).
    pub fn certificate(&self) -> &[u8] {
        &self.certificate
    }

    /// The SHA-256 of the certificate in hexadecimal with colons, as openssl(1) prints it.
    pub fn fingerprint(&self) -> String {
        let suite = ring::cipher_suite::TLS13_AES_128_GCM_SHA256;
        let Some(suite) = suite.tls13() else {
            return String::new();
        };
        let hash = suite.common.hash_provider.hash(&self.certificate);
        let bytes: Vec<String> = hash.as_ref().iter().map(|b| format!("{b:02X}")).collect();
        bytes.join(":")
    }
}

fn resumption(wanted: bool) -> Resumption {
    if wanted {
        Resumption::store(Arc::new(Sessions::default()))
    } else {
        Resumption::disabled()
    }
}

fn names_of(alpn: &[Alpn]) -> Vec<Vec<u8>> {
    let names = alpn.iter().map(|alpn| alpn.name().as_bytes().to_vec());
    names.collect()
}

fn self_signed(
    names: &[String],
) -> Result<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>), String> {
    let failed = |why: rcgen::Error| {
        format!(
            "can't make a certificate for {} ({why}): use other names, or supply a certificate",
            names.join(", ")
        )
    };
    let key = KeyPair::generate_for(&rcgen::PKCS_ECDSA_P256_SHA256).map_err(failed)?;
    let mut params = CertificateParams::new(names).map_err(failed)?;
    params
        .distinguished_name
        .push(DnType::CommonName, "ringside");
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    let certificate = params.self_signed(&key).map_err(failed)?;
    let key = PrivateKeyDer::Pkcs8(key.serialize_der().into());
    Ok((vec![certificate.der().clone()], key))
}

fn key_in(path: &Path) -> Result<PrivateKeyDer<'static>, String> {
    PrivateKeyDer::from_pem_file(path).map_err(|why| unreadable(KEY, path, &why))
}

fn mismatch(chain: &Path, key: &Path, why: &rustls::Error) -> String {
    format!(
        "{} and {} don't belong together ({why}): the key must be the first certificate's",
        chain.display(),
        key.display()
    )
}

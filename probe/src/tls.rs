//! How a plan's connections are secured, and what to say where they cannot be.

use std::io::{Read, Write};

use ::tls::{Alpn, Blocking, ClientSettings, ClientTls, HandshakeError, TlsFault, Trust};

use crate::LoadError;
use plan::Contact;

/// The client's side of TLS as the plan wants it; `None` where it wants none.
///
/// # Errors
///
/// A file that cannot be used, or a name that cannot be a server's.
pub fn client(contact: &Contact) -> Result<Option<ClientTls>, LoadError> {
    let Some(tls) = &contact.tls else {
        return Ok(None);
    };
    let server_name = tls.server_name.as_ref().unwrap_or(&contact.target.host);
    let trust = match &tls.ca_file {
        _ if tls.insecure => Trust::Anybody,
        Some(file) => Trust::File(file.clone()),
        None => Trust::System,
    };
    let identity = tls.certificate_file.clone().zip(tls.key_file.clone());
    let alpn = match contact.protocol.http2() {
        Some(_) => Alpn::H2,
        None => Alpn::Http11,
    };
    let settings = ClientSettings {
        server_name: server_name.clone(),
        alpn: vec![alpn],
        trust,
        identity,
        resumption: tls.resumption,
    };
    settings.build().map(Some).map_err(LoadError::Invalid)
}

/// Shakes hands over a stream whose time-outs are set.
///
/// # Errors
///
/// What is wrong, and what to do.
pub fn secure<S: Read + Write>(
    contact: &Contact,
    stream: S,
    tls: &ClientTls,
) -> Result<Blocking<S>, LoadError> {
    Blocking::connect(stream, tls).map_err(|error| unsecured(contact, &error))
}

/// The sentence for a peer with which there is no TLS.
pub fn unsecured(contact: &Contact, error: &HandshakeError) -> LoadError {
    let what = &error.what;
    let text = format!(
        "{}: {what}; {}",
        contact.url(),
        advice(contact, error.fault)
    );
    match error.fault {
        None | Some(TlsFault::NotTls | TlsFault::Abandoned) => LoadError::Unsecured(text),
        Some(_) => LoadError::Unreachable(text),
    }
}

fn advice(contact: &Contact, fault: Option<TlsFault>) -> String {
    let text = match fault {
        None => {
            return format!(
                "check that the server speaks TLS on this port, or raise {} ({} s)",
                contact.timeout_flag, contact.timeout_s
            );
        }
        Some(TlsFault::UntrustedIssuer) => {
            "give its CA certificate with --cacert, or accept any certificate with --insecure"
        }
        Some(TlsFault::Expired | TlsFault::NotYetValid) => {
            "renew it, check this host's clock, or accept any certificate with --insecure"
        }
        Some(TlsFault::WrongName) => {
            "check the host in the URL, issue a certificate with that subject alternative name, \
             set the name to expect with --sni, or accept any certificate with --insecure"
        }
        Some(TlsFault::BadCertificate) => {
            "issue a new one, or accept any certificate with --insecure"
        }
        Some(TlsFault::NoCommonProtocol) if contact.protocol.http2().is_some() => {
            "the server doesn't offer HTTP/2 here: check the port, or drop --http2"
        }
        Some(TlsFault::NoCommonProtocol) => "the server doesn't offer HTTP/1.1 here: try --http2",
        Some(TlsFault::NoCommonVersion) => "enable TLS 1.2 or 1.3 on the server",
        // handshake_failure, bad_certificate to certificate_unknown, unknown_ca, access_denied,
        // certificate_required (RFC 8446 §6).
        Some(TlsFault::Alert(40 | 42..=46 | 48 | 49 | 116)) => {
            return match contact
                .tls
                .as_ref()
                .and_then(|tls| tls.certificate_file.as_ref())
            {
                Some(file) => format!(
                    "the server doesn't accept the certificate in --cert {}: use one signed by an \
                     authority it trusts",
                    file.display()
                ),
                None => "the server may require a client certificate (--cert and --key), or know \
                         the host by another name (--sni)"
                    .to_owned(),
            };
        }
        Some(TlsFault::Alert(112)) => "the server doesn't know this name: set another with --sni",
        Some(TlsFault::Alert(70)) => "enable TLS 1.2 or 1.3 on the server",
        Some(TlsFault::NotTls) => {
            let scheme = contact.target.scheme.trim_end_matches('s');
            return format!("check the port, or write {scheme}:// for a server without TLS");
        }
        Some(TlsFault::Abandoned) => "check that the server speaks TLS on this port",
        Some(TlsFault::Alert(_) | TlsFault::Broken) => "look in the server's log",
    };
    text.to_owned()
}

#[cfg(test)]
mod tests {
    use plan::{Plan, hold};

    use super::*;

    #[test]
    fn a_handshake_that_takes_too_long_names_the_flag_that_the_load_has() {
        let run = Plan::new("https://x/").unwrap().contact();
        let hold = hold::Plan::new("https://x/").unwrap().contact();
        assert!(advice(&run, None).ends_with("raise --timeout (2 s)"));
        assert!(advice(&hold, None).ends_with("raise --connect-timeout (10 s)"));
    }
}

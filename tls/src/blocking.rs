//! A client's connection for one thread that waits: for probes, and for the look before a run.

use std::fmt;
use std::io::{self, ErrorKind, Read, Write};

use measure::time::Time;
use rustls::{CertificateError, ClientConnection, CommonState, Error};

use super::fault;
use super::machine::secured_of;
use super::{ClientTls, Secured, TlsFault};

/// A stream over `S`, a connected TCP or Unix stream whose time-outs are set. Reading ends at
/// close_notify, and at a FIN without one.
#[derive(Debug)]
pub struct Blocking<S: Read + Write> {
    stream: S,
    connection: ClientConnection,
    secured: Secured,
}

/// Why a connection could not be secured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HandshakeError {
    /// Whose fault in TLS it was; `None` where the connection itself failed or took too long.
    pub fault: Option<TlsFault>,
    /// What was wrong, with the names and times in question.
    pub what: String,
}

impl fmt::Display for HandshakeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}

impl std::error::Error for HandshakeError {}

impl<S: Read + Write> Blocking<S> {
    /// Shakes hands over `stream`.
    ///
    /// # Errors
    ///
    /// What is wrong with the peer, its certificate or the connection.
    pub fn connect(mut stream: S, tls: &ClientTls) -> Result<Blocking<S>, HandshakeError> {
        let began = Time::now();
        let mut connection = ClientConnection::new(tls.config.clone(), tls.server_name(0))
            .map_err(|error| of_tls(&error))?;
        while connection.is_handshaking() {
            let moved = connection.complete_io(&mut stream);
            moved.map_err(|error| of_io(&error))?;
        }
        let handshake_ns = Time::now().since(began);
        let state: &CommonState = &connection;
        let Some(secured) = secured_of(state, began, handshake_ns) else {
            return Err(of_tls(&Error::HandshakeNotComplete));
        };
        if tls.needs_alpn() && secured.alpn.is_none() {
            return Err(of_tls(&Error::NoApplicationProtocol));
        }
        Ok(Blocking {
            stream,
            connection,
            secured,
        })
    }

    /// What the handshake agreed on.
    pub fn secured(&self) -> Secured {
        self.secured
    }

    /// The stream below, to change its time-outs.
    pub fn stream(&self) -> &S {
        &self.stream
    }

    /// Says that nothing follows, and reads to the peer's end. A server of TLS 1.3 that refuses
    /// this side's certificate, or misses one, says so only now (RFC 8446 §4.4.2.4). A peer that
    /// does not end within the time-out of the stream has not refused.
    ///
    /// # Errors
    ///
    /// The peer's alert.
    pub fn farewell(mut self) -> Result<(), HandshakeError> {
        self.connection.send_close_notify();
        let mut sink = [0; 4096];
        loop {
            match self.read(&mut sink) {
                Ok(0) => return Ok(()),
                Ok(_) => {}
                Err(error) => {
                    let refused = of_io(&error);
                    return match refused.fault {
                        Some(_) => Err(refused),
                        None => Ok(()),
                    };
                }
            }
        }
    }
}

impl<S: Read + Write> Read for Blocking<S> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut stream = rustls::Stream::new(&mut self.connection, &mut self.stream);
        match stream.read(buffer) {
            // A FIN without close_notify: whether something is missing the protocol knows.
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => Ok(0),
            other => other,
        }
    }
}

impl<S: Read + Write> Write for Blocking<S> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        rustls::Stream::new(&mut self.connection, &mut self.stream).write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        rustls::Stream::new(&mut self.connection, &mut self.stream).flush()
    }
}

/// rustls hands its errors out inside those of the stream.
fn of_io(error: &io::Error) -> HandshakeError {
    let inner = error.get_ref().and_then(|inner| inner.downcast_ref());
    if let Some(error) = inner {
        return of_tls(error);
    }
    let (fault, what) = match error.kind() {
        ErrorKind::WouldBlock | ErrorKind::TimedOut => {
            (None, "the TLS handshake timed out".to_owned())
        }
        ErrorKind::UnexpectedEof => {
            let fault = TlsFault::Abandoned;
            (Some(fault), fault.to_string())
        }
        _ => (
            None,
            format!("the connection broke during the TLS handshake ({error})"),
        ),
    };
    HandshakeError { fault, what }
}

fn of_tls(error: &Error) -> HandshakeError {
    let fault = fault::of(error, true);
    let what = match error {
        Error::InvalidCertificate(CertificateError::NotValidForNameContext {
            expected,
            presented,
        }) => {
            let expected = expected.to_str();
            let presented: Vec<&str> = presented.iter().map(|name| plain_name(name)).collect();
            let presented = match presented[..] {
                [] => "nobody (it has no subject alternative name)".to_owned(),
                _ => presented.join(", "),
            };
            format!("the certificate is for {presented}, not for {expected}")
        }
        Error::InvalidCertificate(CertificateError::ExpiredContext { time, not_after }) => {
            let days = time.as_secs().saturating_sub(not_after.as_secs()) / 86_400;
            format!("{fault} ({days} days ago)")
        }
        Error::InvalidCertificate(CertificateError::NotValidYetContext { time, not_before }) => {
            let days = not_before.as_secs().saturating_sub(time.as_secs()) / 86_400;
            format!("{fault}; it becomes valid in {days} days")
        }
        _ if matches!(fault, TlsFault::Broken | TlsFault::BadCertificate) => {
            format!("{fault} ({error})")
        }
        _ => fault.to_string(),
    };
    HandshakeError {
        fault: Some(fault),
        what,
    }
}

/// `DnsName("a.example")` as webpki shows it, without what is around it.
fn plain_name(shown: &str) -> &str {
    let inner = shown.split_once('(').map_or(shown, |(_, rest)| rest);
    inner.trim_end_matches(')').trim_matches('"')
}

//! One side of one TLS connection: ciphertext to plaintext and back, without a socket.
//!
//! rustls' unbuffered interface keeps no bytes between calls, so whoever calls keeps what was not
//! used and brings it again, with what follows, and with each call: rustls remembers places in it
//! and panics where they are missing. After an error nothing may be asked of a machine any more.

use measure::time::Time;
use rustls::client::UnbufferedClientConnection;
use rustls::server::UnbufferedServerConnection;
use rustls::unbuffered::{
    ConnectionState, EncodeError, EncodeTlsData, EncryptError, UnbufferedStatus,
};
use rustls::{CipherSuite, CommonState, Error, HandshakeKind, ProtocolVersion};

use super::{Alpn, ClientTls, Secured, ServerTls};

/// The most plaintext in a record (RFC 8446 §5.1).
const RECORD_BYTES: usize = 16_384;
/// What a record adds at most: its header, an explicit nonce or the content type, and the tag.
const RECORD_OVERHEAD: usize = HEADER_BYTES + 8 + 1 + 16;
/// The header of a record (RFC 8446 §5.1).
const HEADER_BYTES: usize = 5;
/// Room for a close_notify, or for a key update before a record.
const ALERT_BYTES: usize = 64;

/// rustls' state of one connection.
pub(super) enum Machine {
    Client(UnbufferedClientConnection),
    Server(UnbufferedServerConnection),
}

/// What became of bytes that were received.
pub(super) struct Received {
    /// How many of them are done with.
    pub(super) used: usize,
    /// The peer sent close_notify: nothing follows.
    pub(super) closed: bool,
    /// What was wrong with them. An alert that says so to the peer is among the bytes to send.
    pub(super) error: Option<Error>,
}

/// What one step of rustls' state machine asks for.
enum Step {
    Again,
    /// A message is among the bytes to send.
    Said,
    Closed,
    Waits,
    Failed(Error),
}

impl Machine {
    pub(super) fn client(tls: &ClientTls, peer: u16) -> Result<Machine, Error> {
        let name = tls.server_name(peer);
        UnbufferedClientConnection::new(tls.config.clone(), name).map(Machine::Client)
    }

    pub(super) fn server(tls: &ServerTls) -> Result<Machine, Error> {
        UnbufferedServerConnection::new(tls.config.clone()).map(Machine::Server)
    }

    pub(super) fn is_handshaking(&self) -> bool {
        match self {
            Machine::Client(client) => client.is_handshaking(),
            Machine::Server(server) => server.is_handshaking(),
        }
    }

    pub(super) fn is_client_of_tls13(&self) -> bool {
        match self {
            Machine::Client(client) => client.protocol_version() == Some(ProtocolVersion::TLSv1_3),
            Machine::Server(_) => false,
        }
    }

    /// Takes ciphertext, which it decrypts in place; appends plaintext to `plain`, and what has to
    /// be sent now to `out`. With no input it only begins or goes on with the handshake.
    pub(super) fn receive(
        &mut self,
        input: &mut [u8],
        plain: &mut Vec<u8>,
        out: &mut Vec<u8>,
    ) -> Received {
        let mut received = Received {
            used: 0,
            closed: false,
            error: None,
        };
        loop {
            let (used, step) = self.step(&mut input[received.used..], plain, out);
            received.used += used;
            match step {
                Step::Again | Step::Said => {}
                Step::Closed => received.closed = true,
                Step::Waits => return received,
                Step::Failed(error) => {
                    received.error = Some(error);
                    // What it still has to say, up to the alert for the peer, where there is one.
                    let rest = &mut input[received.used..];
                    let mut start = out.len();
                    while let (_, Step::Said) = self.step(rest, &mut Vec::new(), out) {
                        if is_alert(&out[start..]) {
                            break;
                        }
                        start = out.len();
                    }
                    return received;
                }
            }
        }
    }

    #[inline]
    fn step(&mut self, input: &mut [u8], plain: &mut Vec<u8>, out: &mut Vec<u8>) -> (usize, Step) {
        match self {
            Machine::Client(client) => take(client.process_tls_records(input), plain, out),
            Machine::Server(server) => take(server.process_tls_records(input), plain, out),
        }
    }

    /// Encrypts `bytes` into records at the end of `out`. The handshake must be done. `partial` is
    /// what was not used of the bytes received.
    #[inline]
    pub(super) fn encrypt(
        &mut self,
        bytes: &[u8],
        partial: &mut [u8],
        out: &mut Vec<u8>,
    ) -> Result<(), Error> {
        self.write(Some(bytes), partial, out)
    }

    /// Says that nothing will follow (RFC 8446 §6.1).
    pub(super) fn close_notify(
        &mut self,
        partial: &mut [u8],
        out: &mut Vec<u8>,
    ) -> Result<(), Error> {
        self.write(None, partial, out)
    }

    #[inline]
    fn write(
        &mut self,
        bytes: Option<&[u8]>,
        partial: &mut [u8],
        out: &mut Vec<u8>,
    ) -> Result<(), Error> {
        loop {
            let done = match self {
                Machine::Client(client) => put(client.process_tls_records(partial), bytes, out)?,
                Machine::Server(server) => put(server.process_tls_records(partial), bytes, out)?,
            };
            if done {
                return Ok(());
            }
        }
    }

    /// What the handshake agreed on; nothing while it lasts.
    pub(super) fn secured(&self, began: Time, handshake_ns: u64) -> Option<Secured> {
        let state: &CommonState = match self {
            Machine::Client(client) => client,
            Machine::Server(server) => server,
        };
        secured_of(state, began, handshake_ns)
    }
}

/// What a handshake agreed on; nothing while it lasts.
pub(super) fn secured_of(state: &CommonState, began: Time, handshake_ns: u64) -> Option<Secured> {
    if state.is_handshaking() {
        return None;
    }
    Some(Secured {
        alpn: state.alpn_protocol().and_then(Alpn::from_name),
        resumed: state.handshake_kind() == Some(HandshakeKind::Resumed),
        began,
        handshake_ns,
        version: match state.protocol_version() {
            Some(ProtocolVersion::TLSv1_3) => "TLS 1.3",
            Some(ProtocolVersion::TLSv1_2) => "TLS 1.2",
            _ => "TLS",
        },
        cipher: name_of(state.negotiated_cipher_suite()?.suite()),
    })
}

/// Does what rustls asks for next while bytes are received. Returns how many were used by it.
#[inline]
fn take<Data>(
    status: UnbufferedStatus<'_, '_, Data>,
    plain: &mut Vec<u8>,
    out: &mut Vec<u8>,
) -> (usize, Step) {
    let mut used = status.discard;
    let state = match status.state {
        Ok(state) => state,
        Err(error) => return (used, Step::Failed(error)),
    };
    let step = match state {
        ConnectionState::ReadTraffic(mut traffic) => loop {
            match traffic.next_record() {
                Some(Ok(record)) => {
                    used += record.discard;
                    plain.extend_from_slice(record.payload);
                }
                Some(Err(error)) => break Step::Failed(error),
                None => break Step::Again,
            }
        },
        ConnectionState::EncodeTlsData(mut data) => {
            encode(&mut data, out);
            Step::Said
        }
        ConnectionState::TransmitTlsData(transmit) => {
            transmit.done();
            Step::Again
        }
        ConnectionState::PeerClosed => Step::Closed,
        // Early data is never accepted (`max_early_data_size` is zero).
        _ => Step::Waits,
    };
    (used, step)
}

/// Writes application data, or close_notify, once rustls has nothing else to be sent before.
/// Returns whether it is written.
#[inline]
fn put<Data>(
    status: UnbufferedStatus<'_, '_, Data>,
    bytes: Option<&[u8]>,
    out: &mut Vec<u8>,
) -> Result<bool, Error> {
    match status.state? {
        ConnectionState::WriteTraffic(mut traffic) => {
            let start = out.len();
            let payload = bytes.map_or(0, <[u8]>::len);
            let mut room = payload + payload.div_ceil(RECORD_BYTES) * RECORD_OVERHEAD + ALERT_BYTES;
            loop {
                out.resize(start + room, 0);
                let written = match bytes {
                    Some(bytes) => traffic.encrypt(bytes, &mut out[start..]),
                    None => traffic.queue_close_notify(&mut out[start..]),
                };
                match written {
                    Ok(written) => {
                        out.truncate(start + written);
                        return Ok(true);
                    }
                    Err(EncryptError::InsufficientSize(short)) if short.required_size > room => {
                        room = short.required_size;
                    }
                    Err(_) => {
                        out.truncate(start);
                        return Err(Error::EncryptError);
                    }
                }
            }
        }
        ConnectionState::EncodeTlsData(mut data) => {
            encode(&mut data, out);
            Ok(false)
        }
        ConnectionState::TransmitTlsData(transmit) => {
            transmit.done();
            Ok(false)
        }
        // Both sides have said that nothing follows.
        ConnectionState::Closed => Ok(true),
        _ => Err(Error::HandshakeNotComplete),
    }
}

/// Appends a message that rustls has made.
fn encode<Data>(data: &mut EncodeTlsData<'_, Data>, out: &mut Vec<u8>) {
    let start = out.len();
    if let Err(EncodeError::InsufficientSize(short)) = data.encode(&mut []) {
        out.resize(start + short.required_size, 0);
        let written = data.encode(&mut out[start..]).unwrap_or(0);
        out.truncate(start + written);
    }
}

/// Whether a record is, or may be, an alert: of type 21, or of two bytes and their type, encrypted
/// as application data (RFC 8446 §5.2, §6).
fn is_alert(record: &[u8]) -> bool {
    match record.first() {
        Some(21) => true,
        Some(23) => record.len() == HEADER_BYTES + 2 + 1 + 16,
        _ => false,
    }
}

/// How many bytes are missing from the last of the records in `bytes`, which may be cut anywhere;
/// those of the next header where none is cut.
pub(super) fn missing(bytes: &[u8]) -> usize {
    let mut rest = bytes;
    loop {
        let Some(&[_, _, _, high, low]) = rest.first_chunk::<HEADER_BYTES>() else {
            return HEADER_BYTES - rest.len();
        };
        let whole = HEADER_BYTES + usize::from(u16::from_be_bytes([high, low]));
        if rest.len() < whole {
            return whole - rest.len();
        }
        rest = &rest[whole..];
    }
}

/// The name of a cipher suite in the registry of IANA; rustls writes those of TLS 1.3 differently.
fn name_of(suite: CipherSuite) -> &'static str {
    match suite {
        CipherSuite::TLS13_AES_128_GCM_SHA256 => "TLS_AES_128_GCM_SHA256",
        CipherSuite::TLS13_AES_256_GCM_SHA384 => "TLS_AES_256_GCM_SHA384",
        CipherSuite::TLS13_CHACHA20_POLY1305_SHA256 => "TLS_CHACHA20_POLY1305_SHA256",
        other => other.as_str().unwrap_or("unknown"),
    }
}

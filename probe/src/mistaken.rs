//! A URL whose scheme doesn't fit its port: TLS where the server speaks plain text, or the other
//! way round. Seen from either side that looks like a server that breaks off, so it's looked for
//! only once something has failed, by one more contact of a second at most.

use std::io::{ErrorKind, Read, Write};
use std::time::Duration;

use ::tls::{Blocking, ClientSettings, TlsFault, Trust};
use engine::Address;
use measure::time::Time;

use crate::LoadError;
use crate::conversation::Clear;
use plan::Contact;

/// How long a look at a port may take.
const LOOK: Duration = Duration::from_secs(1);

/// A question that changes nothing, of one who leaves at once (RFC 9110 §9.3.7).
const OPTIONS: &[u8] = b"OPTIONS / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";

/// The preface of HTTP/2 and empty settings (RFC 9113 §3.4).
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";

/// What an answer in HTTP/1.1 begins with, up to its status: `HTTP/1.1 200`.
const STATUS: &[u8] = b"HTTP/1.";
const STATUS_LINE_BYTES: usize = 12;

/// How servers of TLS answer plain requests, if at all.
const BAD_REQUEST: &[u8] = b" 400";

/// The sentence for a URL that should have had the scheme with TLS, or the one without. None where
/// its port speaks what it says, or nothing that is known here.
pub fn mistaken(contact: &Contact, address: &Address) -> Option<LoadError> {
    if contact.is_forwarded() {
        return None; // The port is the proxy's.
    }
    let scheme = &contact.target.scheme;
    let other = match scheme.strip_suffix('s') {
        Some(plain) if contact.target.is_secure() => plain.to_owned(),
        _ => format!("{scheme}s"),
    };
    let speaks = match contact.target.is_secure() {
        true => "doesn't use TLS",
        false => "uses TLS",
    };
    let url = contact.url();
    speaks_otherwise(contact, address).then(|| {
        LoadError::Unreachable(format!(
            "{url}: the server {speaks} on this port: write {other}:// instead of {scheme}://, or \
             check the port"
        ))
    })
}

/// Whether a port speaks TLS where the URL asks for none, or plain text where it asks for TLS.
fn speaks_otherwise(contact: &Contact, address: &Address) -> bool {
    // A port that answers both ways, as those of some proxies do, isn't the one at fault.
    match contact.target.is_secure() {
        true => speaks_plainly(contact, address),
        false => speaks_tls(contact, address) && !speaks_plainly(contact, address),
    }
}

/// Whether a handshake goes well, or fails for a reason that only somebody who speaks TLS has.
fn speaks_tls(contact: &Contact, address: &Address) -> bool {
    let settings = ClientSettings {
        server_name: contact.target.host.clone(),
        alpn: Vec::new(),
        trust: Trust::Anybody,
        identity: None,
        resumption: false,
    };
    let (Ok(tls), Some(stream)) = (settings.build(), open(contact, address)) else {
        return false;
    };
    match Blocking::connect(stream, &tls) {
        Ok(_) => true,
        Err(error) => !matches!(
            error.fault,
            None | Some(TlsFault::NotTls | TlsFault::Abandoned | TlsFault::Broken)
        ),
    }
}

/// Whether a request in plain text is answered as one.
fn speaks_plainly(contact: &Contact, address: &Address) -> bool {
    let question = match contact.protocol.http2() {
        Some(_) => PREFACE,
        None => OPTIONS,
    };
    let answer = answer(contact, address, question).unwrap_or_default();
    // Of HTTP/2 the settings, which come first, or a GOAWAY.
    let frame = contact.protocol.http2().is_some() && matches!(answer.get(3), Some(4 | 7));
    answer.starts_with(STATUS) && !answer.ends_with(BAD_REQUEST) || frame
}

/// What comes back for a question, as far as the status in a status line.
fn answer(contact: &Contact, address: &Address, question: &[u8]) -> Option<Vec<u8>> {
    let mut stream = open(contact, address)?;
    stream.write_all(question).ok()?;
    let mut said = vec![0; STATUS_LINE_BYTES];
    let mut length = 0;
    while length < said.len() {
        match stream.read(&mut said[length..]) {
            Ok(0) => break,
            Ok(count) => length += count,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(_) => break,
        }
    }
    said.truncate(length);
    (!said.is_empty()).then_some(said)
}

fn open(contact: &Contact, address: &Address) -> Option<Clear> {
    let deadline = Time::now() + LOOK;
    let stream = Clear::connect(contact, address, deadline).ok()?;
    stream.limit(deadline).ok()?;
    Some(stream)
}

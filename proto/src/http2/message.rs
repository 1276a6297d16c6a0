//! What a list of fields means, and whether it may be sent at all (RFC 9113 §8.2, §8.3).
//!
//! One judgement serves both directions: what we send is held to what we demand.

use super::faults::{self, Fault};
use super::fields::Fields;
use crate::http1::{is_host, is_token, number};

/// What a list of fields is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// The head of a request.
    Request,
    /// The head of a response, interim or final.
    Response,
    /// Fields behind a body.
    Trailers,
}

/// What the machines need to know of a list, without reading it again.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Meaning {
    /// Of a response.
    pub(super) status: u16,
    /// Which field is the method of a request.
    pub(super) method: u16,
    /// Which field is the path of a request; none with CONNECT.
    pub(super) path: u16,
    /// Whether the request is HEAD.
    pub(super) head_request: bool,
    /// Whether the request is CONNECT.
    pub(super) connect: bool,
    pub(super) content_length: Option<u64>,
}

/// Reads a list from end to end.
///
/// # Errors
/// The message is malformed (RFC 9113 §8.1.1).
pub(super) fn judge(fields: Fields<'_>, kind: Kind) -> Result<Meaning, Fault> {
    let mut found = Found::default();
    for (at, (name, value)) in fields.iter().enumerate() {
        check_value(value)?;
        match name.strip_prefix(b":") {
            Some(pseudo) => found.pseudo(kind, pseudo, value, at as u16)?,
            None => found.ordinary(name, value)?,
        }
    }
    match kind {
        Kind::Request => found.request(),
        Kind::Response => found.response(),
        Kind::Trailers => Ok(Meaning::default()),
    }
}

/// What was found of the fields that mean something to the protocol.
#[derive(Default)]
struct Found<'a> {
    method: Option<&'a [u8]>,
    path: Option<&'a [u8]>,
    authority: Option<&'a [u8]>,
    scheme: Option<&'a [u8]>,
    status: Option<&'a [u8]>,
    host: Option<&'a [u8]>,
    ordinary: bool,
    meaning: Meaning,
}

impl<'a> Found<'a> {
    fn pseudo(&mut self, kind: Kind, name: &[u8], value: &'a [u8], at: u16) -> Result<(), Fault> {
        let place = match (kind, name) {
            (Kind::Request, b"method") => {
                self.meaning.method = at;
                &mut self.method
            }
            (Kind::Request, b"path") => {
                self.meaning.path = at;
                &mut self.path
            }
            (Kind::Request, b"authority") => &mut self.authority,
            (Kind::Request, b"scheme") => &mut self.scheme,
            (Kind::Response, b"status") => &mut self.status,
            _ => return Err(faults::PSEUDO_UNKNOWN),
        };
        if self.ordinary {
            return Err(faults::PSEUDO_LATE);
        }
        match place.replace(value) {
            Some(_) => Err(faults::PSEUDO_TWICE),
            None => Ok(()),
        }
    }

    fn ordinary(&mut self, name: &[u8], value: &'a [u8]) -> Result<(), Fault> {
        self.ordinary = true;
        check_name(name)?;
        match name {
            b"connection" | b"proxy-connection" | b"keep-alive" | b"transfer-encoding"
            | b"upgrade" => Err(faults::CONNECTION_FIELD),
            b"te" if !value.eq_ignore_ascii_case(b"trailers") => Err(faults::TE),
            b"content-length" => {
                let length = number(value).map_err(|_| faults::CONTENT_LENGTH)?;
                match self.meaning.content_length.replace(length) {
                    Some(before) if before != length => Err(faults::CONTENT_LENGTH),
                    _ => Ok(()),
                }
            }
            b"host" => {
                self.host = Some(value);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn request(mut self) -> Result<Meaning, Fault> {
        let method = self.method.ok_or(faults::PSEUDO_MISSING)?;
        if !is_token(method) {
            return Err(faults::METHOD);
        }
        if let Some(authority) = self.authority
            && !is_host(authority)
        {
            return Err(faults::AUTHORITY);
        }
        if let (Some(authority), Some(host)) = (self.authority, self.host)
            && authority != host
        {
            return Err(faults::HOST);
        }
        self.meaning.head_request = method == b"HEAD";
        self.meaning.connect = method == b"CONNECT";
        match (self.scheme, self.path) {
            (None, None) if self.meaning.connect && self.authority.is_some() => {
                self.meaning.path = u16::MAX;
                Ok(self.meaning)
            }
            _ if self.meaning.connect => Err(faults::CONNECT),
            (Some(_), Some(path)) if path.starts_with(b"/") || path == b"*" => Ok(self.meaning),
            (Some(_), Some(_)) => Err(faults::PATH),
            _ => Err(faults::PSEUDO_MISSING),
        }
    }

    fn response(mut self) -> Result<Meaning, Fault> {
        let status = self.status.ok_or(faults::PSEUDO_MISSING)?;
        self.meaning.status = match status {
            [b'1'..=b'5', b'0'..=b'9', b'0'..=b'9'] => status
                .iter()
                .fold(0, |sum, digit| 10 * sum + u16::from(digit - b'0')),
            _ => return Err(faults::STATUS),
        };
        if self.meaning.status == 101 {
            return Err(faults::SWITCH);
        }
        Ok(self.meaning)
    }
}

fn check_name(name: &[u8]) -> Result<(), Fault> {
    if name.iter().any(u8::is_ascii_uppercase) {
        return Err(faults::UPPERCASE);
    }
    if !is_token(name) {
        return Err(faults::FIELD_NAME);
    }
    Ok(())
}

/// RFC 9113 §8.2.1. Other control characters are let through: they cannot be taken for framing.
fn check_value(value: &[u8]) -> Result<(), Fault> {
    let space = |byte: Option<&u8>| matches!(byte, Some(b' ' | b'\t'));
    let forbidden = |&byte: &u8| matches!(byte, 0 | b'\r' | b'\n');
    if space(value.first()) || space(value.last()) || value.iter().any(forbidden) {
        return Err(faults::FIELD_VALUE);
    }
    Ok(())
}

//! Writing responses (RFC 9112 §4, §6, §7.1).

use std::borrow::Cow;
use std::io::Write;
use std::time::{Duration, UNIX_EPOCH};

use httpdate::HttpDate;

use super::Version;
use super::head::{is_field_value, is_token};
use crate::Misuse;

/// The interim answer to `Expect: 100-continue` (RFC 9110 §15.2.1).
pub const CONTINUE: &[u8] = b"HTTP/1.1 100 Continue\r\n\r\n";

/// How the end of a response body is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Length {
    /// `Content-Length`: so many bytes.
    Known(u64),
    /// `Transfer-Encoding: chunked`: pieces through [`chunk`], then [`last_chunk`].
    Chunked,
    /// Nothing is said: there is no body by rule (1xx, 204, 304, an answer to HEAD), or the body
    /// ends with the connection, which then cannot be kept.
    None,
}

/// What a response head says.
#[derive(Clone, Copy, Debug)]
pub struct Head<'a> {
    /// The status code, 100 to 599. The reason phrase is the standard's for that code.
    pub status: u16,
    /// The version of the request that is answered: HTTP/1.0 must be told that a connection lasts.
    pub version: Version,
    /// Fields besides `Date`, `Connection`, `Content-Length` and `Transfer-Encoding`.
    pub fields: &'a [(&'a str, &'a str)],
    /// Further fields behind those, for whoever keeps them beyond one response.
    pub more: &'a [(Cow<'static, str>, Cow<'static, str>)],
    /// The value of the `Date` field, as [`date`] makes it.
    pub date: &'a [u8; 29],
    /// How the end of the body is told.
    pub length: Length,
    /// Whether the connection is kept after this response.
    pub keep_alive: bool,
}

impl<'a> Head<'a> {
    /// All fields that are given, in order.
    fn all(&self) -> impl Iterator<Item = (&'a str, &'a str)> + use<'a> {
        let more = self.more.iter().map(|(name, value)| (&**name, &**value));
        self.fields.iter().copied().chain(more)
    }
}

/// Appends a response head to `out`.
///
/// # Errors
/// A status out of range, a field that is no valid field or would contradict the framing, a length
/// that RFC 9112 §6 forbids for this status or version. Then `out` is as it was.
pub fn head(out: &mut Vec<u8>, head: &Head<'_>) -> Result<(), Misuse> {
    check(head)?;
    out.extend_from_slice(b"HTTP/1.1 ");
    decimal(out, u64::from(head.status));
    out.push(b' ');
    out.extend_from_slice(reason(head.status).as_bytes());
    out.extend_from_slice(b"\r\nDate: ");
    out.extend_from_slice(head.date);
    out.extend_from_slice(b"\r\n");
    for (name, value) in head.all() {
        for piece in [name, ": ", value, "\r\n"] {
            out.extend_from_slice(piece.as_bytes());
        }
    }
    match head.length {
        Length::Known(bytes) => {
            out.extend_from_slice(b"Content-Length: ");
            decimal(out, bytes);
            out.extend_from_slice(b"\r\n");
        }
        Length::Chunked => out.extend_from_slice(b"Transfer-Encoding: chunked\r\n"),
        Length::None => {}
    }
    // RFC 9110 §7.8: who names an upgrade says so in `Connection` as well.
    let upgrade = head
        .all()
        .any(|(name, _)| name.eq_ignore_ascii_case("upgrade"));
    out.extend_from_slice(match (head.keep_alive, head.version, upgrade) {
        (false, _, false) => b"Connection: close\r\n",
        (false, _, true) => b"Connection: close, upgrade\r\n",
        (true, Version::Http10, false) => b"Connection: keep-alive\r\n",
        (true, Version::Http10, true) => b"Connection: keep-alive, upgrade\r\n",
        (true, Version::Http11, true) => b"Connection: upgrade\r\n",
        (true, Version::Http11, false) => b"".as_slice(),
    });
    out.extend_from_slice(b"\r\n");
    Ok(())
}

/// Appends one chunk (RFC 9112 §7.1). An empty piece writes nothing, since it would end the body.
pub fn chunk(out: &mut Vec<u8>, bytes: &[u8]) {
    chunk_in(b"0123456789abcdef", out, bytes);
}

/// [`chunk`] with its size in capital digits, as hyper writes them: they mean the same.
pub fn capital_chunk(out: &mut Vec<u8>, bytes: &[u8]) {
    chunk_in(b"0123456789ABCDEF", out, bytes);
}

fn chunk_in(digits_of_all: &[u8; 16], out: &mut Vec<u8>, bytes: &[u8]) {
    if bytes.is_empty() {
        return;
    }
    let length = bytes.len() as u64;
    let digits = 16 - length.leading_zeros() / 4;
    for place in (0..digits).rev() {
        out.push(digits_of_all[(length >> (4 * place) & 15) as usize]);
    }
    out.extend_from_slice(b"\r\n");
    out.extend_from_slice(bytes);
    out.extend_from_slice(b"\r\n");
}

/// Appends the last chunk and no trailers: the end of a chunked body.
pub fn last_chunk(out: &mut Vec<u8>) {
    out.extend_from_slice(b"0\r\n\r\n");
}

/// Appends the last chunk and fields behind it (RFC 9112 §7.1.2): the end of a chunked body.
///
/// # Errors
/// A field that is no valid field, or that may not stand behind a body (RFC 9110 §6.5.1). Then
/// `out` is as it was.
pub fn trailers<'f>(
    out: &mut Vec<u8>,
    fields: impl Iterator<Item = (&'f [u8], &'f [u8])>,
) -> Result<(), Misuse> {
    let start = out.len();
    out.extend_from_slice(b"0\r\n");
    for (name, value) in fields {
        if !is_token(name) || !is_field_value(value) || belongs_in_a_head(name) {
            out.truncate(start);
            let text = "a field that can't stand behind a body (RFC 9110 §6.5.1)";
            return Err(Misuse::new(text));
        }
        for piece in [name, b": ", value, b"\r\n"] {
            out.extend_from_slice(piece);
        }
    }
    out.extend_from_slice(b"\r\n");
    Ok(())
}

/// Whether a field is for framing, routing, or what has to be known before the body
/// (RFC 9110 §6.5.1).
fn belongs_in_a_head(name: &[u8]) -> bool {
    const NAMES: [&str; 11] = [
        "authorization",
        "connection",
        "content-encoding",
        "content-length",
        "content-range",
        "content-type",
        "host",
        "set-cookie",
        "te",
        "trailer",
        "transfer-encoding",
    ];
    let same = |one: &&str| one.as_bytes().eq_ignore_ascii_case(name);
    NAMES.iter().any(same)
}

/// A `Date` value, as in `Sun, 06 Nov 1994 08:49:37 GMT` (RFC 9110 §5.6.7, IMF-fixdate), for a
/// time given in seconds since 1970. Times after the year 9999 become its last second.
pub fn date(unix_seconds: u64) -> [u8; 29] {
    const LAST_SECOND: u64 = 253_402_300_799;
    let since = Duration::from_secs(unix_seconds.min(LAST_SECOND));
    let mut text = [b' '; 29];
    // A date of these years has 29 bytes, so that all of it is written.
    let _ = write!(&mut text[..], "{}", HttpDate::from(UNIX_EPOCH + since));
    text
}

/// The reason phrase of a status code (RFC 9110 §15), or the name of its class.
pub fn reason(status: u16) -> &'static str {
    match status {
        100 => "Continue",
        101 => "Switching Protocols",
        200 => "OK",
        201 => "Created",
        202 => "Accepted",
        203 => "Non-Authoritative Information",
        204 => "No Content",
        205 => "Reset Content",
        206 => "Partial Content",
        300 => "Multiple Choices",
        301 => "Moved Permanently",
        302 => "Found",
        303 => "See Other",
        304 => "Not Modified",
        307 => "Temporary Redirect",
        308 => "Permanent Redirect",
        400 => "Bad Request",
        401 => "Unauthorized",
        402 => "Payment Required",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        406 => "Not Acceptable",
        407 => "Proxy Authentication Required",
        408 => "Request Timeout",
        409 => "Conflict",
        410 => "Gone",
        411 => "Length Required",
        412 => "Precondition Failed",
        413 => "Content Too Large",
        414 => "URI Too Long",
        415 => "Unsupported Media Type",
        416 => "Range Not Satisfiable",
        417 => "Expectation Failed",
        421 => "Misdirected Request",
        422 => "Unprocessable Content",
        426 => "Upgrade Required",
        428 => "Precondition Required",
        429 => "Too Many Requests",
        431 => "Request Header Fields Too Large",
        500 => "Internal Server Error",
        501 => "Not Implemented",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        504 => "Gateway Timeout",
        505 => "HTTP Version Not Supported",
        _ => match status / 100 {
            1 => "Informational",
            2 => "Success",
            3 => "Redirection",
            4 => "Client Error",
            _ => "Server Error",
        },
    }
}

fn check(head: &Head<'_>) -> Result<(), Misuse> {
    let status = head.status;
    if !(100..=599).contains(&status) {
        return Err(Misuse::new(format!(
            "status {status} is not between 100 and 599"
        )));
    }
    // RFC 9112 §6.1 and RFC 9110 §8.6: neither field in 1xx and 204.
    if (status < 200 || status == 204) && head.length != Length::None {
        return Err(Misuse::new(format!(
            "a response with status {status} has no length"
        )));
    }
    if head.length == Length::Chunked && head.version == Version::Http10 {
        return Err(Misuse::new("HTTP/1.0 does not know chunks (RFC 9112 §6.1)"));
    }
    for (name, value) in head.all() {
        if !is_token(name.as_bytes()) || !is_field_value(value.as_bytes()) {
            return Err(Misuse::new(format!(
                "{name:?}: {value:?} is not a valid field"
            )));
        }
        let made_here = ["date", "connection", "content-length", "transfer-encoding"];
        if made_here.iter().any(|made| name.eq_ignore_ascii_case(made)) {
            return Err(Misuse::new(format!(
                "the field {name} is written by the encoder itself"
            )));
        }
    }
    Ok(())
}

/// Appends `number` in decimal.
pub fn decimal(out: &mut Vec<u8>, mut number: u64) {
    let mut digits = [0; 20];
    let mut start = digits.len();
    loop {
        start -= 1;
        digits[start] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[start..]);
}

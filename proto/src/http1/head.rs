//! Reading heads: where they end, whether they are valid, what they mean for the connection.
//!
//! Two passes. The first finds the empty line, over the bytes as they come: each byte is looked at
//! once, however finely the head is cut. The second judges the whole head and is a pure function of
//! its bytes. Neither knows how the bytes arrived, and that is why cutting changes nothing.
//!
//! The lines are split here and not by `httparse`. That splits a head in less than half of the time
//! this whole reading takes, but it takes bare line feeds for line ends and tells few faults apart,
//! so that scanning and judging would come on top of it. The memo makes either rare. The tests ask
//! `httparse` for a second opinion on every kind of head that is accepted.

use super::faults::{self, Fault};
use super::{Version, take};

/// What a request head says about the length of the body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodyLength {
    /// So many bytes; 0 when there is no body.
    Known(u64),
    /// Chunks, as long as they come.
    Chunked,
}

/// A connection keeps the memory of a cut head for the next one, up to this size.
const KEPT_BYTES_MAX: usize = 4096;

/// The beginning of a head whose end has not arrived; empty on a connection that idles.
///
/// The memory is allocated when a head is first cut, and kept while it is small.
#[derive(Debug, Default)]
pub(super) struct Kept {
    bytes: Vec<u8>,
}

/// What holds for the heads of one role.
#[derive(Clone, Copy)]
pub(super) struct Bounds {
    /// Bytes of the longest head.
    pub(super) bytes_max: usize,
    /// Whether a head may start with these bytes, of which there is at least one.
    pub(super) starts: fn(&[u8]) -> bool,
    /// The fault if it may not.
    pub(super) start_fault: Fault,
}

/// Where the bytes of a whole head are: still in the input, or collected.
#[derive(Clone, Copy)]
pub(super) enum Place<'i> {
    Input(&'i [u8]),
    Kept,
}

impl Kept {
    /// The bytes of a whole head.
    pub(super) fn at<'a>(&'a self, place: Place<'a>) -> &'a [u8] {
        match place {
            Place::Input(bytes) => bytes,
            Place::Kept => &self.bytes,
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    pub(super) fn memory_bytes(&self) -> usize {
        self.bytes.capacity()
    }

    pub(super) fn clear(&mut self) {
        self.bytes.clear();
        if self.bytes.capacity() > KEPT_BYTES_MAX {
            self.bytes = Vec::new();
        }
    }

    /// Takes what belongs to the head out of `input`; says where the head is if it is whole now.
    pub(super) fn take_head<'i>(
        &mut self,
        input: &mut &'i [u8],
        bounds: Bounds,
    ) -> Result<Option<Place<'i>>, Fault> {
        if self.bytes.is_empty()
            && let Some(bytes) = head_length(input, bounds)?
        {
            return Ok(Some(Place::Input(take(input, bytes))));
        }
        Ok(self.collect(input, bounds)?.then_some(Place::Kept))
    }

    /// Line by line, so that nothing after the head is copied and only the new bytes are scanned.
    fn collect(&mut self, input: &mut &[u8], bounds: Bounds) -> Result<bool, Fault> {
        while !input.is_empty() {
            let room = bounds.bytes_max.saturating_sub(self.bytes.len());
            let window = &input[..input.len().min(room)];
            let line_end = memchr::memchr(b'\n', window).map(|at| at + 1);
            let (piece, rest) = input.split_at(line_end.unwrap_or(window.len()));
            self.bytes.extend_from_slice(piece);
            *input = rest;
            if !(bounds.starts)(&self.bytes) {
                return Err(bounds.start_fault);
            }
            if line_end.is_some() && line_ended(&self.bytes)? {
                return Ok(true);
            }
            if self.bytes.len() >= bounds.bytes_max {
                return Err(too_long(&self.bytes));
            }
        }
        Ok(false)
    }
}

/// The length of the head that `input` starts with, if its end is there and within bounds.
fn head_length(input: &[u8], bounds: Bounds) -> Result<Option<usize>, Fault> {
    let window = &input[..input.len().min(bounds.bytes_max)];
    if !(bounds.starts)(window) {
        return Err(bounds.start_fault);
    }
    for line_feed in memchr::memchr_iter(b'\n', window) {
        if line_ended(&window[..=line_feed])? {
            return Ok(Some(line_feed + 1));
        }
    }
    Ok(None)
}

/// Whether the line that ends `bytes` is the empty one.
fn line_ended(bytes: &[u8]) -> Result<bool, Fault> {
    match bytes {
        [.., b'\n', b'\r', b'\n'] => Ok(true),
        [.., b'\r', b'\n'] => Ok(false),
        _ => Err(&faults::BARE_LF),
    }
}

fn too_long(head: &[u8]) -> Fault {
    match memchr::memchr(b'\n', head) {
        Some(_) => &faults::HEAD_TOO_LONG,
        None => &faults::START_LINE_TOO_LONG,
    }
}

/// What a response head means for its connection.
#[derive(Clone, Copy, Debug)]
pub(super) struct ResponseHead {
    pub(super) status: u16,
    pub(super) fields: u16,
    pub(super) keep_alive: bool,
    pub(super) body: ResponseBody,
}

/// How the end of a response body is told, were it an answer to GET.
#[derive(Clone, Copy, Debug)]
pub(super) enum ResponseBody {
    Length(u64),
    Chunked,
    UntilClose,
}

impl ResponseHead {
    /// Reads a whole head: it starts with `HTTP/`, every line ends with CR LF, the last is empty.
    pub(super) fn read(head: &[u8], fields_max: u16) -> Result<ResponseHead, Fault> {
        check_bytes(head)?;
        let (line, rest) = split_line(head);
        let (version, status) = status_line(line)?;
        let facts = Facts::read(rest, fields_max)?;
        let coding = facts.coding(version)?;
        let body = match (status, coding) {
            // These have no body, whatever their fields say (RFC 9112 §6.3, rule 1).
            (100..=199 | 204 | 304, _) => ResponseBody::Length(0),
            (_, Coding::None) => facts
                .content_length
                .map_or(ResponseBody::UntilClose, ResponseBody::Length),
            (_, Coding::Chunked { .. }) => ResponseBody::Chunked,
            (_, Coding::NotChunked) => ResponseBody::UntilClose,
        };
        let keep_alive = facts.keep_alive(version);
        Ok(ResponseHead {
            status,
            fields: facts.fields,
            keep_alive,
            body,
        })
    }
}

/// What a request head means for its connection, and where its parts are.
#[derive(Clone, Copy, Debug)]
pub(super) struct RequestHead {
    pub(super) method_end: u32,
    pub(super) target_end: u32,
    pub(super) fields: u16,
    pub(super) version: Version,
    pub(super) keep_alive: bool,
    pub(super) expect_continue: bool,
    pub(super) body: BodyLength,
}

impl RequestHead {
    /// Reads a whole head: every line ends with CR LF, the last is empty.
    pub(super) fn read(head: &[u8], fields_max: u16) -> Result<RequestHead, Fault> {
        check_bytes(head)?;
        let (line, rest) = split_line(head);
        let (method_end, target_end, version) = request_line(line)?;
        let facts = Facts::read(rest, fields_max)?;
        match facts.hosts {
            0 if version == Version::Http11 => return Err(&faults::NO_HOST),
            0 | 1 => {}
            _ => return Err(&faults::SEVERAL_HOSTS),
        }
        if facts.content_lengths > 1 {
            // A proxy in front may have believed another one; refusing is always allowed.
            return Err(&faults::CONTENT_LENGTH_TWICE);
        }
        let body = match facts.coding(version)? {
            Coding::None => BodyLength::Known(facts.content_length.unwrap_or(0)),
            Coding::Chunked { alone: true } => BodyLength::Chunked,
            Coding::Chunked { alone: false } => return Err(&faults::CODING_UNKNOWN),
            Coding::NotChunked => return Err(&faults::CHUNKED_NOT_LAST),
        };
        Ok(RequestHead {
            method_end: method_end as u32,
            target_end: target_end as u32,
            fields: facts.fields,
            version,
            keep_alive: facts.keep_alive(version),
            // An HTTP/1.0 client cannot mean it (RFC 9110 §10.1.1).
            expect_continue: facts.expect_continue && version == Version::Http11,
            body,
        })
    }
}

/// The bytes that are wrong wherever they stand. One pass without branches over the whole head.
fn check_bytes(head: &[u8]) -> Result<(), Fault> {
    let mut wrong = false;
    for (&byte, &next) in head.iter().zip(&head[1..]) {
        let line_break = (byte == b'\r') | (byte == b'\n') | (byte == b'\t');
        wrong |= ((byte < b' ') & !line_break) | (byte == 0x7f);
        wrong |= (byte == b'\r') & (next != b'\n');
    }
    if !wrong {
        return Ok(());
    }
    let bare_cr = head
        .windows(2)
        .any(|pair| pair[0] == b'\r' && pair[1] != b'\n');
    Err(if bare_cr {
        &faults::BARE_CR
    } else {
        &faults::CONTROL
    })
}

/// The first line of a whole head without its CR LF, and the lines after it.
fn split_line(head: &[u8]) -> (&[u8], &[u8]) {
    let end = memchr::memchr(b'\n', head).map_or(head.len(), |at| at + 1);
    let (line, rest) = head.split_at(end);
    (line.strip_suffix(b"\r\n").unwrap_or(line), rest)
}

fn status_line(line: &[u8]) -> Result<(Version, u16), Fault> {
    let (Some(text), Some(rest)) = (line.get(..8), line.get(8..)) else {
        return Err(&faults::STATUS_LINE);
    };
    let version = version(text)?;
    // The space after the code must be there even if no reason follows (RFC 9112 §4).
    let &[
        b' ',
        a @ b'0'..=b'9',
        b @ b'0'..=b'9',
        c @ b'0'..=b'9',
        b' ',
        ..,
    ] = rest
    else {
        return Err(&faults::STATUS_LINE);
    };
    let digit = |byte: u8| u16::from(byte - b'0');
    match 100 * digit(a) + 10 * digit(b) + digit(c) {
        status @ 100..=599 => Ok((version, status)),
        _ => Err(&faults::STATUS),
    }
}

/// Where method and target end, and the version. The target starts one byte after the method.
fn request_line(line: &[u8]) -> Result<(usize, usize, Version), Fault> {
    let method_end = memchr::memchr(b' ', line).ok_or(&faults::REQUEST_LINE)?;
    let target_end = memchr::memrchr(b' ', line).ok_or(&faults::REQUEST_LINE)?;
    if target_end <= method_end + 1 {
        return Err(&faults::REQUEST_LINE);
    }
    let version = version(&line[target_end + 1..])?;
    let (method, target) = (&line[..method_end], &line[method_end + 1..target_end]);
    if !is_token(method) {
        return Err(&faults::METHOD);
    }
    if method == b"CONNECT" {
        return Err(&faults::CONNECT);
    }
    if !is_target(method, target) {
        return Err(&faults::TARGET);
    }
    Ok((method_end, target_end, version))
}

fn version(text: &[u8]) -> Result<Version, Fault> {
    match text {
        b"HTTP/1.1" => Ok(Version::Http11),
        b"HTTP/1.0" => Ok(Version::Http10),
        [b'H', b'T', b'T', b'P', b'/', major, b'.', minor]
            if major.is_ascii_digit() && minor.is_ascii_digit() =>
        {
            if *major == b'1' {
                Ok(Version::Http11)
            } else {
                Err(&faults::MAJOR_VERSION)
            }
        }
        _ if names_http(text) => Err(&faults::VERSION),
        _ => Err(&faults::FOREIGN),
    }
}

/// Whether a version that is wrong is one of HTTP, or none at all.
fn names_http(text: &[u8]) -> bool {
    let name = text.get(..4).unwrap_or(text);
    name.is_empty() || name.eq_ignore_ascii_case(b"HTTP")
}

/// Whether a target has one of the forms of RFC 9112 §3.2 that a server which is no proxy answers.
fn is_target(method: &[u8], target: &[u8]) -> bool {
    let graphic = target
        .iter()
        .fold(true, |all, &byte| all & (byte > b' ') & (byte < 0x7f));
    graphic
        && match target {
            [b'/', ..] => true,
            b"*" => method == b"OPTIONS",
            _ => authority_start(target).is_some_and(|start| {
                !matches!(target.get(start), None | Some(b'/' | b'?' | b'#' | b':'))
            }),
        }
}

/// Where the authority of a target in absolute-form starts.
pub(super) fn authority_start(target: &[u8]) -> Option<usize> {
    let has = |scheme: &[u8]| {
        target
            .get(..scheme.len())
            .is_some_and(|start| start.eq_ignore_ascii_case(scheme))
    };
    [&b"http://"[..], b"https://"]
        .iter()
        .find(|scheme| has(scheme))
        .map(|scheme| scheme.len())
}

/// What the fields of a head say about the connection.
#[derive(Default)]
struct Facts {
    fields: u16,
    hosts: u16,
    content_lengths: u32,
    content_length: Option<u64>,
    codings: u32,
    chunked_codings: u32,
    chunked_last: bool,
    close: bool,
    keep_alive: bool,
    expect_continue: bool,
}

enum Coding {
    None,
    /// The last coding is chunked, and perhaps the only one.
    Chunked {
        alone: bool,
    },
    NotChunked,
}

impl Facts {
    /// Reads field lines up to the empty one.
    fn read(mut lines: &[u8], fields_max: u16) -> Result<Facts, Fault> {
        let mut facts = Facts::default();
        loop {
            let (line, rest) = split_line(lines);
            if line.is_empty() {
                return Ok(facts);
            }
            let name_bytes = name_length(line, facts.fields == 0)?;
            if facts.fields == fields_max {
                return Err(&faults::TOO_MANY_FIELDS);
            }
            facts.fields += 1;
            facts.note(&line[..name_bytes], &line[name_bytes + 1..])?;
            lines = rest;
        }
    }

    /// The length tells most names apart from those that matter here.
    #[inline]
    fn note(&mut self, name: &[u8], value: &[u8]) -> Result<(), Fault> {
        match name.len() {
            4 if name.eq_ignore_ascii_case(b"host") => self.host(value.trim_ascii()),
            6 if name.eq_ignore_ascii_case(b"expect") => {
                self.expect_continue |= value.trim_ascii().eq_ignore_ascii_case(b"100-continue");
                Ok(())
            }
            10 if name.eq_ignore_ascii_case(b"connection") => {
                for option in list(value) {
                    self.close |= option.eq_ignore_ascii_case(b"close");
                    self.keep_alive |= option.eq_ignore_ascii_case(b"keep-alive");
                }
                Ok(())
            }
            14 if name.eq_ignore_ascii_case(b"content-length") => self.length(value),
            17 if name.eq_ignore_ascii_case(b"transfer-encoding") => self.transfer(value),
            _ => Ok(()),
        }
    }

    fn host(&mut self, value: &[u8]) -> Result<(), Fault> {
        self.hosts += 1;
        if is_host(value) {
            Ok(())
        } else {
            Err(&faults::HOST)
        }
    }

    fn length(&mut self, value: &[u8]) -> Result<(), Fault> {
        for text in list(value) {
            let length = number(text)?;
            if self.content_length.is_some_and(|other| other != length) {
                return Err(&faults::CONTENT_LENGTHS_DIFFER);
            }
            self.content_length = Some(length);
            self.content_lengths += 1;
        }
        Ok(())
    }

    /// An empty element counts as a coding that is not chunked: nobody sends one in good faith.
    fn transfer(&mut self, value: &[u8]) -> Result<(), Fault> {
        for coding in list(value) {
            self.codings += 1;
            self.chunked_last = coding.eq_ignore_ascii_case(b"chunked");
            self.chunked_codings += u32::from(self.chunked_last);
        }
        if self.chunked_codings > 1 {
            Err(&faults::CHUNKED_TWICE)
        } else {
            Ok(())
        }
    }

    fn coding(&self, version: Version) -> Result<Coding, Fault> {
        if self.codings == 0 {
            return Ok(Coding::None);
        }
        if self.content_length.is_some() {
            return Err(&faults::TWO_FRAMINGS);
        }
        if version == Version::Http10 {
            return Err(&faults::CODING_IN_HTTP10);
        }
        Ok(match self.chunked_last {
            true => Coding::Chunked {
                alone: self.codings == 1,
            },
            false => Coding::NotChunked,
        })
    }

    /// RFC 9112 §9.3.
    fn keep_alive(&self, version: Version) -> bool {
        !self.close && (version == Version::Http11 || self.keep_alive)
    }
}

/// The bytes before the colon of a field line.
fn name_length(line: &[u8], first: bool) -> Result<usize, Fault> {
    let length = line.iter().position(|&byte| !TOKEN[byte as usize]);
    match length.map(|at| (at, line[at])) {
        Some((1.., b':')) => Ok(length.unwrap_or(0)),
        None => Err(&faults::NO_COLON),
        Some((0, b' ' | b'\t')) if first => Err(&faults::LEADING_SPACE),
        Some((0, b' ' | b'\t')) => Err(&faults::FOLDED),
        Some((at, b' ' | b'\t')) if line[at..].trim_ascii_start().starts_with(b":") => {
            Err(&faults::SPACE_BEFORE_COLON)
        }
        Some(_) => Err(&faults::FIELD_NAME),
    }
}

/// The elements of a comma-separated value, at least one, without the white space around them.
fn list(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    value.split(|&byte| byte == b',').map(<[u8]>::trim_ascii)
}

/// Digits and nothing else: no sign, no base, no space.
pub(crate) fn number(text: &[u8]) -> Result<u64, Fault> {
    if text.is_empty() || !text.iter().all(u8::is_ascii_digit) {
        return Err(&faults::CONTENT_LENGTH);
    }
    text.iter()
        .try_fold(0u64, |sum, digit| {
            sum.checked_mul(10)?.checked_add(u64::from(digit - b'0'))
        })
        .ok_or(&faults::CONTENT_LENGTH_RANGE)
}

/// Whether `bytes` is a token (RFC 9110 §5.6.2).
pub fn is_token(bytes: &[u8]) -> bool {
    !bytes.is_empty() && bytes.iter().all(|&byte| TOKEN[byte as usize])
}

/// Whether `bytes` is a field value (RFC 9110 §5.5).
pub fn is_field_value(bytes: &[u8]) -> bool {
    bytes.trim_ascii().len() == bytes.len()
        && bytes
            .iter()
            .all(|&byte| byte == b'\t' || (byte >= b' ' && byte != 0x7f))
}

/// Whether `bytes` is a host with an optional port (RFC 9110 §7.2). Only the alphabet is checked,
/// which keeps out user names, lists with spaces and paths.
pub fn is_host(bytes: &[u8]) -> bool {
    bytes.iter().all(|&byte| HOST[byte as usize])
}

/// The bytes of a token (RFC 9110 §5.6.2).
pub(super) static TOKEN: [bool; 256] = alphabet(b"!#$%&'*+-.^_`|~");

/// The bytes of a host and a port (RFC 3986 §3.2.2): names, addresses, literals in brackets.
static HOST: [bool; 256] = alphabet(b"-._~!$&'()*+,;=%:[]");

/// Letters, digits and the given marks.
const fn alphabet(marks: &[u8]) -> [bool; 256] {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < 128 {
        table[byte] = (byte as u8).is_ascii_alphanumeric();
        byte += 1;
    }
    let mut at = 0;
    while at < marks.len() {
        table[marks[at] as usize] = true;
        at += 1;
    }
    table
}

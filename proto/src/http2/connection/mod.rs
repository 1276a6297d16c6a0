//! The core of both roles: frames in their order, windows, settings, and which stream a frame is
//! for. What a message means to its role is not known here.
//!
//! A frame other than DATA is handled when it is whole; DATA is accounted for when its header is
//! there, and then lent as it comes. So nothing that is said or written depends on how the input
//! was cut.

mod blocks;
mod control;

use super::faults::{self, Fault};
use super::flow::{WINDOW_DEFAULT, Window};
use super::frame::{self, HEADER_BYTES, Header, PAYLOAD_BYTES_MAX, PREFACE, flag, kind};
use super::head::Sender;
use super::hpack::{Decoder, TABLE_BYTES_DEFAULT};
use super::list::Memo;
use super::streams::{Stream, Streams};
use super::{Config, ErrorCode, Role, settings};
use crate::Violation;
use crate::http1::take;

/// Memory for frames and blocks in pieces that is kept between them.
const KEPT_BYTES_MAX: usize = 4096;

/// Streams that were reset by us and are remembered: the peer may go on with them for a while
/// (RFC 9113 §5.4.2).
const RESETS_REMEMBERED_MAX: usize = 1024;

/// What came, for the role to act upon.
pub(super) enum Incoming<'i> {
    /// The peer's first settings. They may give credit too.
    Ready,
    /// The head of a message: of a new request to a server, of a response to a client. The fields
    /// and what they mean are in [`Connection::head`].
    Head { place: u32, id: u32, end: bool },
    /// A new request with a longer list of fields than the limit. The stream is open.
    HeadTooLong { id: u32, end: bool },
    /// A piece of a body.
    Data {
        place: u32,
        id: u32,
        bytes: &'i [u8],
        end: bool,
    },
    /// Fields behind a body, which are in [`Connection::trailers`].
    Trailers { place: u32, id: u32 },
    /// A stream was reset by the peer, or by us for a violation, and is gone.
    Reset {
        place: u32,
        id: u32,
        code: ErrorCode,
        violation: Option<&'static Violation>,
    },
    /// More may be sent than before: on one stream, or on all if `id` is 0.
    Credit { id: u32 },
    /// The peer goes away.
    GoAway { last: u32, code: ErrorCode },
    /// A ping was answered.
    Pong([u8; 8]),
}

/// What both roles are made of.
#[derive(Debug)]
pub(super) struct Connection {
    role: Role,
    pub(super) config: Config,
    reading: Reading,
    /// The first bytes of a frame header whose rest has not arrived.
    partial: [u8; HEADER_BYTES],
    partial_bytes: u8,
    /// The first bytes of the payload of a frame that is not DATA.
    kept: Vec<u8>,
    /// A block of fields whose end has not arrived.
    block: Option<Block>,
    /// None until a block of fields comes or goes.
    fields: Option<Box<Fields>>,
    pub(super) streams: Streams,
    pub(super) send: Window,
    receive: Window,
    /// Where the windows of new streams begin, to send and to receive.
    send_initial: u32,
    receive_initial: u32,
    /// Streams the peer allows us to have open.
    pub(super) peer_streams: u32,
    /// The highest stream that was opened.
    pub(super) highest: u32,
    resets: Resets,
    /// The peer's first settings came.
    pub(super) ready: bool,
    /// Our settings are not acknowledged yet.
    settings_unacked: bool,
    /// GOAWAY was written, and which stream it called the last. Those above are ignored.
    pub(super) closing: bool,
    last_taken: u32,
    /// Counters of the limits.
    resets_left: u32,
    idle_frames: u32,
    /// Bytes of answers in `out`, and its length after the last of them.
    unsent_bytes: u32,
    unsent_end: usize,
    pings_unanswered: u32,
    failed: Option<Fault>,
}

/// The compression of fields (RFC 7541) in both directions, and the lists that came last. Many
/// connections stand for long without any.
#[derive(Debug)]
struct Fields {
    decoder: Decoder,
    heads: Memo,
    trailers: Memo,
    sender: Sender,
    /// The fragments of a block whose end has not arrived.
    fragments: Vec<u8>,
}

impl Fields {
    /// Those of a connection, made if there are none yet.
    #[inline]
    fn of<'f>(
        fields: &'f mut Option<Box<Fields>>,
        config: &Config,
        settings_unacked: bool,
    ) -> &'f mut Fields {
        fields.get_or_insert_with(|| Fields::new(config, settings_unacked))
    }

    #[cold]
    fn new(config: &Config, settings_unacked: bool) -> Box<Fields> {
        let table_bytes = config.header_table_bytes;
        let mut fields = Box::new(Fields {
            decoder: Decoder::new(table_bytes.max(TABLE_BYTES_DEFAULT)),
            heads: Memo::default(),
            trailers: Memo::default(),
            sender: Sender::new(),
            fragments: Vec::new(),
        });
        if !settings_unacked {
            fields.settings_acked(table_bytes);
        }
        fields
    }

    /// The peer has acknowledged this size of the table. What is less than the default holds from
    /// then on.
    fn settings_acked(&mut self, table_bytes: u32) {
        if table_bytes < TABLE_BYTES_DEFAULT {
            self.decoder.set_table_max(table_bytes);
        }
    }

    fn memory_bytes(&self) -> usize {
        size_of::<Fields>()
            + self.decoder.memory_bytes()
            + self.heads.memory_bytes()
            + self.trailers.memory_bytes()
            + self.sender.memory_bytes()
            + self.fragments.capacity()
    }
}

#[derive(Clone, Copy, Debug)]
enum Reading {
    /// The preface, of which so many bytes came.
    Preface(u8),
    /// Before or inside the header of a frame.
    Frame,
    /// The payload of a frame that is not DATA.
    Payload(Header),
    /// The byte that says how long the padding of DATA is.
    PadLength(Data),
    Data(Data),
    /// So many bytes that mean nothing.
    Skip(u32),
}

/// The rest of the payload of a DATA frame.
#[derive(Clone, Copy, Debug)]
struct Data {
    place: u32,
    id: u32,
    left: u32,
    padding: u8,
    end: bool,
}

/// A field block before its last fragment.
#[derive(Clone, Copy, Debug)]
struct Block {
    stream: u32,
    end: bool,
    depends_on_itself: bool,
    continuations: u32,
}

/// The outcome of a frame: an event, or none.
type Come<'i> = Result<Option<Incoming<'i>>, Fault>;

impl Connection {
    /// Writes what this side starts with.
    pub(super) fn new(role: Role, config: Config, out: &mut Vec<u8>) -> Connection {
        let config = settings::possible(config);
        if role == Role::Client {
            out.extend_from_slice(PREFACE);
        }
        settings::write(out, role, &config);
        let credit = config.connection_window - WINDOW_DEFAULT;
        if credit > 0 {
            frame::window_update(out, 0, credit);
        }
        Connection {
            role,
            config,
            reading: match role {
                Role::Client => Reading::Frame,
                Role::Server => Reading::Preface(0),
            },
            partial: [0; HEADER_BYTES],
            partial_bytes: 0,
            kept: Vec::new(),
            block: None,
            fields: None,
            streams: Streams::default(),
            send: Window::new(WINDOW_DEFAULT),
            receive: Window::new(config.connection_window),
            send_initial: WINDOW_DEFAULT,
            receive_initial: WINDOW_DEFAULT,
            peer_streams: u32::MAX,
            highest: 0,
            resets: Resets::default(),
            ready: false,
            settings_unacked: true,
            closing: false,
            last_taken: 0,
            resets_left: config.limits.resets,
            idle_frames: 0,
            unsent_bytes: 0,
            unsent_end: 0,
            pings_unanswered: 0,
            failed: None,
        }
    }

    /// The next thing that came. After an error GOAWAY is in `out`, and it is repeated for ever.
    #[inline]
    pub(super) fn next<'i>(&mut self, input: &mut &'i [u8], out: &mut Vec<u8>) -> Come<'i> {
        if let Some(fault) = self.failed {
            return Err(fault);
        }
        let come = self.read(input, out);
        if let Err(fault) = come {
            self.fail(fault, out);
        }
        come
    }

    /// What the blocks of fields of both sides go through.
    #[inline]
    fn fields(&mut self) -> &mut Fields {
        Fields::of(&mut self.fields, &self.config, self.settings_unacked)
    }

    /// What our blocks of fields go through.
    #[inline]
    pub(super) fn sender(&mut self) -> &mut Sender {
        &mut self.fields().sender
    }

    /// The last head.
    #[inline]
    pub(super) fn head(&mut self) -> &Memo {
        &self.fields().heads
    }

    /// The last trailers.
    #[inline]
    pub(super) fn trailers(&mut self) -> &Memo {
        &self.fields().trailers
    }

    /// Whether a violation ended the connection.
    pub(super) fn failed(&self) -> Option<Fault> {
        self.failed
    }

    /// Whether the last bytes that came end a frame and no block goes on.
    pub(super) fn between_frames(&self) -> bool {
        matches!(self.reading, Reading::Frame) && self.partial_bytes == 0 && self.block.is_none()
    }

    /// Whether the preface, a block or a frame that is handled whole is there in part.
    #[inline]
    pub(super) fn head_started(&self) -> bool {
        let inside = matches!(self.reading, Reading::Payload(_) | Reading::Preface(1..));
        inside || self.partial_bytes > 0 || self.block.is_some()
    }

    /// A new stream for us to open.
    pub(super) fn new_stream(&self, id: u32) -> Stream {
        let receive = Window::new(self.receive_initial);
        Stream::new(id, self.send_initial, receive)
    }

    /// Sends as much of `bytes` on an open stream as the windows allow; says how much. The end is
    /// sent behind the last of them, and then the place may be free.
    #[inline]
    pub(super) fn send_data(
        &mut self,
        place: u32,
        bytes: &[u8],
        end: bool,
        out: &mut Vec<u8>,
    ) -> usize {
        let connection_left = self.send.left();
        let Some(stream) = self.streams.at(place) else {
            return 0;
        };
        let taken = bytes.len().min(connection_left).min(stream.send.left());
        let ends = end && taken == bytes.len();
        let id = stream.id;
        let mut rest = &bytes[..taken];
        while rest.len() > PAYLOAD_BYTES_MAX {
            frame::data(out, id, take(&mut rest, PAYLOAD_BYTES_MAX), false);
        }
        if ends || !rest.is_empty() {
            frame::data(out, id, rest, ends);
        }
        let within = stream.send.take(taken as u32) && self.send.take(taken as u32);
        debug_assert!(within, "{taken} bytes were sent without credit");
        if ends {
            self.end_out(place);
        }
        taken
    }

    /// Our message on an open stream is complete.
    #[inline]
    pub(super) fn end_out(&mut self, place: u32) {
        if let Some(stream) = self.streams.at(place) {
            stream.ended_out = true;
            if stream.ended_in {
                self.complete(place);
            }
        }
    }

    /// Resets a stream that is open.
    pub(super) fn give_up(&mut self, place: u32, code: ErrorCode, out: &mut Vec<u8>) {
        if let Some(stream) = self.streams.at(place) {
            let id = stream.id;
            frame::reset(out, id, code);
            self.forget(place, id);
        }
    }

    /// Drops an open stream about which the peer may still say something.
    pub(super) fn forget(&mut self, place: u32, id: u32) {
        self.resets.remember(id);
        self.remove(place);
    }

    /// Gives credit for a stream again, if it is time.
    pub(super) fn refill(&mut self, place: u32, out: &mut Vec<u8>) {
        let full = self.receive_initial;
        if let Some(stream) = self.streams.at(place)
            && !(stream.ended_in || stream.paused)
            && let Some(increment) = stream.receive.refill(full)
        {
            frame::window_update(out, stream.id, increment);
        }
    }

    pub(super) fn ping(&mut self, payload: [u8; 8], out: &mut Vec<u8>) {
        self.pings_unanswered = self.pings_unanswered.saturating_add(1);
        frame::ping(out, 0, payload);
    }

    pub(super) fn go_away(&mut self, code: ErrorCode, out: &mut Vec<u8>) {
        // A server never opened a stream, so in a client's GOAWAY the last is 0.
        if self.role == Role::Server && !self.closing {
            self.last_taken = self.highest;
        }
        debug_assert!(
            self.last_taken <= self.highest,
            "GOAWAY names stream {}, and the highest that came is {}",
            self.last_taken,
            self.highest
        );
        self.closing = true;
        frame::go_away(out, self.last_taken, code);
    }

    /// Says that this side will go (RFC 9113 §6.8): streams are still taken.
    pub(super) fn announce_going(&mut self, out: &mut Vec<u8>) {
        if !self.closing {
            frame::go_away(out, u32::MAX >> 1, ErrorCode::NO_ERROR);
        }
    }

    pub(super) fn memory_bytes(&self) -> usize {
        self.kept.capacity()
            + self
                .fields
                .as_ref()
                .map_or(0, |fields| fields.memory_bytes())
            + self.streams.memory_bytes()
            + self.resets.ids.capacity() * size_of::<u32>()
    }

    #[inline]
    fn read<'i>(&mut self, input: &mut &'i [u8], out: &mut Vec<u8>) -> Come<'i> {
        // What comes is handed through as it is: taking it apart and putting it together again on
        // the way costs more than reading a frame.
        loop {
            let come = match self.reading {
                Reading::Frame => match self.take_header(input) {
                    Some(header) => self.begin(header, input, out),
                    None => return Ok(None),
                },
                Reading::Payload(header) => {
                    let payload_bytes = header.payload_bytes as usize;
                    if self.kept.is_empty() && input.len() >= payload_bytes {
                        self.reading = Reading::Frame;
                        self.frame(header, take(input, payload_bytes), out)
                    } else if self.collect(payload_bytes, input) {
                        self.collected(header, out)
                    } else {
                        return Ok(None);
                    }
                }
                _ if input.is_empty() => return Ok(None),
                Reading::Data(data) => self.lend(data, input),
                Reading::PadLength(data) => {
                    let padding = take(input, 1)[0];
                    self.begin_padded(data, padding, input, out)
                }
                Reading::Skip(left) => {
                    let skipped = input.len().min(left as usize);
                    take(input, skipped);
                    self.skip(left - skipped as u32)
                }
                Reading::Preface(seen) => self.read_preface(seen, input),
            };
            if !matches!(come, Ok(None)) {
                return come;
            }
        }
    }

    #[inline]
    fn take_header(&mut self, input: &mut &[u8]) -> Option<Header> {
        if self.partial_bytes == 0
            && let Some((bytes, rest)) = input.split_first_chunk()
        {
            *input = rest;
            return Some(Header::read(bytes));
        }
        let seen = self.partial_bytes as usize;
        debug_assert!(seen < HEADER_BYTES, "a whole header was not read");
        let piece = take(input, input.len().min(HEADER_BYTES - seen));
        let whole = seen + piece.len();
        self.partial[seen..whole].copy_from_slice(piece);
        if whole < HEADER_BYTES {
            self.partial_bytes = whole as u8;
            return None;
        }
        self.partial_bytes = 0;
        Some(Header::read(&self.partial))
    }

    fn read_preface(&mut self, seen: u8, input: &mut &[u8]) -> Come<'static> {
        let expected = &PREFACE[seen as usize..];
        let piece = take(input, input.len().min(expected.len()));
        if !expected.starts_with(piece) {
            return Err(faults::PREFACE);
        }
        self.reading = match seen as usize + piece.len() {
            whole if whole == PREFACE.len() => Reading::Frame,
            part => Reading::Preface(part as u8),
        };
        Ok(None)
    }

    /// Keeps what came of a payload; says whether that is all of it.
    fn collect(&mut self, payload_bytes: usize, input: &mut &[u8]) -> bool {
        debug_assert!(
            self.kept.len() <= payload_bytes,
            "{} bytes are kept of a payload of {payload_bytes}",
            self.kept.len()
        );
        let missing = payload_bytes - self.kept.len();
        let piece = take(input, input.len().min(missing));
        self.kept.extend_from_slice(piece);
        self.kept.len() == payload_bytes
    }

    fn collected(&mut self, header: Header, out: &mut Vec<u8>) -> Come<'static> {
        self.reading = Reading::Frame;
        let mut kept = std::mem::take(&mut self.kept);
        debug_assert_eq!(
            kept.len(),
            header.payload_bytes as usize,
            "a frame is read before it is whole"
        );
        let come = self.frame(header, &kept, out);
        empty(&mut kept);
        self.kept = kept;
        come
    }

    /// What the header of a frame decides by itself.
    #[inline]
    fn begin<'i>(&mut self, header: Header, input: &mut &'i [u8], out: &mut Vec<u8>) -> Come<'i> {
        if header.payload_bytes > self.config.limits.frame_bytes {
            return Err(match header.is_http1() && !self.ready {
                true => faults::HTTP1,
                false => faults::FRAME_TOO_LONG,
            });
        }
        if let Some(block) = &self.block
            && (header.kind != kind::CONTINUATION || header.stream != block.stream)
        {
            return Err(faults::BLOCK_INTERRUPTED);
        }
        if !self.ready && (header.kind != kind::SETTINGS || header.has(flag::ACK)) {
            return Err(faults::NO_SETTINGS);
        }
        match header.kind {
            kind::DATA => return self.begin_data(header, input, out),
            kind::HEADERS..=kind::CONTINUATION => {
                self.check(header)?;
                self.reading = Reading::Payload(header);
            }
            // RFC 9113 §4.1: unknown types are ignored.
            _ => {
                self.count_idle()?;
                return self.skip(header.payload_bytes);
            }
        }
        Ok(None)
    }

    /// Whether a frame may have this size and stand on this stream.
    #[inline]
    fn check(&self, header: Header) -> Result<(), Fault> {
        let (bytes, stream) = (header.payload_bytes, header.stream);
        let (of_stream, size_fault) = match header.kind {
            kind::HEADERS if stream != 0 && stream & 1 == 0 => return Err(faults::EVEN_STREAM),
            kind::HEADERS if self.role == Role::Client && stream > self.highest => {
                return Err(faults::IDLE_STREAM);
            }
            kind::HEADERS | kind::PRIORITY => (Some(true), None),
            kind::RST_STREAM => (Some(true), (bytes != 4).then_some(faults::RESET_SIZE)),
            kind::SETTINGS if header.has(flag::ACK) => {
                let fault = (bytes != 0).then_some(faults::SETTINGS_ACK_SIZE);
                (Some(false), fault)
            }
            kind::SETTINGS => {
                let fault = (bytes % 6 != 0).then_some(faults::SETTINGS_SIZE);
                (Some(false), fault)
            }
            kind::PUSH_PROMISE => return Err(faults::PUSH),
            kind::PING => (Some(false), (bytes != 8).then_some(faults::PING_SIZE)),
            kind::GOAWAY => (Some(false), (bytes < 8).then_some(faults::GOAWAY_SIZE)),
            kind::WINDOW_UPDATE => (None, (bytes != 4).then_some(faults::UPDATE_SIZE)),
            _ if self.block.is_none() => return Err(faults::CONTINUES_NOTHING),
            _ => (Some(true), None),
        };
        match of_stream {
            Some(true) if stream == 0 => return Err(faults::NO_STREAM),
            Some(false) if stream != 0 => return Err(faults::NOT_OF_A_STREAM),
            _ => {}
        }
        // A stream is open once its whole block is there, and PRIORITY may come at any time.
        let early = [kind::HEADERS, kind::CONTINUATION, kind::PRIORITY].contains(&header.kind);
        if !early && stream != 0 && self.is_idle(stream) {
            return Err(faults::IDLE_STREAM);
        }
        size_fault.map_or(Ok(()), Err)
    }

    /// Accounts for a DATA frame as a whole and says where its bytes go.
    #[inline]
    fn begin_data<'i>(
        &mut self,
        header: Header,
        input: &mut &'i [u8],
        out: &mut Vec<u8>,
    ) -> Come<'i> {
        let (id, bytes) = (header.stream, header.payload_bytes);
        if id == 0 {
            return Err(faults::NO_STREAM);
        }
        // RFC 9113 §6.9: the connection's window counts whatever becomes of the stream.
        if !self.receive.take(bytes) {
            return Err(faults::WINDOW);
        }
        if let Some(increment) = self.receive.refill(self.config.connection_window) {
            self.give_credit(0, increment, out)?;
        }
        let Some(place) = self.streams.find(id) else {
            self.check_closed(id)?;
            if bytes == 0 {
                self.count_idle()?;
            }
            return self.skip(bytes);
        };
        let end = header.has(flag::END_STREAM);
        let full = self.receive_initial;
        let Some(stream) = self.streams.at(place) else {
            return Ok(None);
        };
        let fault = if stream.ended_in {
            Some(faults::HALF_CLOSED_STREAM)
        } else if !stream.head_in {
            Some(faults::NO_HEAD)
        } else if !stream.receive.take(bytes) {
            Some(faults::WINDOW)
        } else {
            None
        };
        if let Some(fault) = fault {
            self.skip(bytes)?;
            return self.stream_error(place, fault, out);
        }
        if !end
            && !stream.paused
            && let Some(increment) = stream.receive.refill(full)
        {
            self.give_credit(id, increment, out)?;
        }
        let mut data = Data {
            place,
            id,
            left: bytes,
            padding: 0,
            end,
        };
        if header.has(flag::PADDED) {
            data.left = bytes.checked_sub(1).ok_or(faults::DATA_SIZE)?;
            self.reading = Reading::PadLength(data);
            return Ok(None);
        }
        self.begin_body(data, input, out)
    }

    fn begin_padded<'i>(
        &mut self,
        mut data: Data,
        padding: u8,
        input: &mut &'i [u8],
        out: &mut Vec<u8>,
    ) -> Come<'i> {
        let left = data.left.checked_sub(padding.into());
        data.left = left.ok_or(faults::PADDING)?;
        data.padding = padding;
        // The caller may have given the stream up since the header was read.
        match self.has(data) {
            true => self.begin_body(data, input, out),
            false => self.skip(data.left + u32::from(padding)),
        }
    }

    /// The length of the piece of body is known: it must fit what the head said.
    #[inline]
    fn begin_body<'i>(&mut self, data: Data, input: &mut &'i [u8], out: &mut Vec<u8>) -> Come<'i> {
        let behind = u32::from(data.padding);
        let fits = |stream: &mut Stream| stream.take_body(data.left, data.end);
        if !self.streams.at(data.place).is_some_and(fits) {
            self.skip(data.left + behind)?;
            return self.stream_error(data.place, faults::BODY_LENGTH, out);
        }
        if data.left > 0 {
            self.idle_frames = 0;
            return self.lend_piece(data, input);
        }
        self.skip(behind)?;
        if !data.end {
            self.count_idle()?;
            return Ok(None);
        }
        self.end_in(data.place);
        Ok(Some(Incoming::Data {
            place: data.place,
            id: data.id,
            bytes: &[],
            end: true,
        }))
    }

    /// Lends what is there of a body, unless the caller gave the stream up meanwhile.
    fn lend<'i>(&mut self, data: Data, input: &mut &'i [u8]) -> Come<'i> {
        match self.has(data) {
            true => self.lend_piece(data, input),
            false => self.skip(data.left + u32::from(data.padding)),
        }
    }

    #[inline]
    fn lend_piece<'i>(&mut self, mut data: Data, input: &mut &'i [u8]) -> Come<'i> {
        let bytes = take(input, input.len().min(data.left as usize));
        data.left -= bytes.len() as u32;
        if data.left > 0 {
            self.reading = Reading::Data(data);
            if bytes.is_empty() {
                return Ok(None);
            }
        } else {
            self.skip(data.padding.into())?;
        }
        let end = data.end && data.left == 0;
        if end {
            self.end_in(data.place);
        }
        Ok(Some(Incoming::Data {
            place: data.place,
            id: data.id,
            bytes,
            end,
        }))
    }

    /// Whether the stream is still the one whose DATA is read.
    fn has(&mut self, data: Data) -> bool {
        let stream = self.streams.at(data.place);
        stream.is_some_and(|stream| stream.id == data.id)
    }

    #[inline]
    fn skip(&mut self, bytes: u32) -> Come<'static> {
        self.reading = match bytes {
            0 => Reading::Frame,
            left => Reading::Skip(left),
        };
        Ok(None)
    }

    /// A whole frame that is not DATA and whose header is in order.
    #[inline]
    fn frame(&mut self, header: Header, payload: &[u8], out: &mut Vec<u8>) -> Come<'static> {
        match header.kind {
            kind::HEADERS => self.read_headers(header, payload, out),
            kind::CONTINUATION => self.read_continuation(header, payload, out),
            kind::WINDOW_UPDATE => self.read_window_update(header, payload, out),
            kind::RST_STREAM => self.read_reset(header, payload),
            kind::SETTINGS if header.has(flag::ACK) => self.read_settings_ack(out),
            kind::SETTINGS => self.read_settings(payload, out),
            kind::PING => self.read_ping(header, payload, out),
            kind::GOAWAY => Ok(Some(Incoming::GoAway {
                last: frame::u31(four(payload)),
                code: ErrorCode(u32::from_be_bytes(four(&payload[4..]))),
            })),
            _ => self.read_priority(header, payload, out),
        }
    }
}

/// The first four bytes of a payload that is long enough.
fn four(payload: &[u8]) -> [u8; 4] {
    payload.first_chunk().copied().unwrap_or_default()
}

/// Empties a buffer, and gives its memory back if it is much.
fn empty(buffer: &mut Vec<u8>) {
    buffer.clear();
    if buffer.capacity() > KEPT_BYTES_MAX {
        *buffer = Vec::new();
    }
}

/// The connection is lost with its compression (RFC 9113 §4.3).
fn compression(violation: &'static Violation) -> Fault {
    Fault {
        code: ErrorCode::COMPRESSION_ERROR,
        violation,
    }
}

/// The streams that were reset by us last.
#[derive(Debug, Default)]
struct Resets {
    ids: Vec<u32>,
    oldest: usize,
}

impl Resets {
    fn remember(&mut self, id: u32) {
        if self.ids.len() < RESETS_REMEMBERED_MAX {
            self.ids.push(id);
        } else {
            debug_assert_eq!(
                self.ids.len(),
                RESETS_REMEMBERED_MAX,
                "more resets are remembered than there is room for"
            );
            self.ids[self.oldest] = id;
            self.oldest = (self.oldest + 1) % RESETS_REMEMBERED_MAX;
        }
    }
}

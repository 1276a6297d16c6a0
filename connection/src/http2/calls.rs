//! Calls of gRPC on their streams.
//!
//! The usual call is one message and its answer, both short: the message goes from the input to the
//! answer without being decoded, and head and trailers were made before. What a call keeps goes
//! back to a store, so that the next one allocates nothing.
//!
//! A client that compresses its messages, and takes compressed ones, is answered with compressed
//! ones, as gRPC-Go does it: methods see none of that. The working memory for it is one for all
//! calls of a worker, and there once somebody has compressed something (`press`).

use measure::time::Time;
use proto::grpc::call::Compression;
use proto::grpc::{self, ACCEPTED, Event, Messages, Status, call};
use proto::http2::server::{Server, Unsent};
use proto::http2::{ErrorCode, Head};

use super::press::Press;
use exchange::grpc::{Call, Metadata, Replies};

/// A call that has more than so many bytes to say hears nothing more until they are taken.
const UNTAKEN_BYTES_MAX: usize = 64 * 1024;

/// Output beyond which a call that could say more waits for its turn. Not less than ends the taking
/// of turns: below that, calls that only wait would be asked again and again without end.
const TURN_BYTES: usize = super::FILL_BYTES;

/// Calls that are over wait here to be used again, so many of them, …
const SPARE_MAX: usize = 256;

/// … unless they hold more memory than this.
const SPARE_BYTES_MAX: usize = 64 * 1024;

/// What all calls of a worker share.
#[derive(Debug)]
pub(crate) struct Rpcs {
    /// The head of an answer, that of a compressed one, and the trailers of one that succeeded.
    head: Option<Head>,
    gzipped: Option<Head>,
    ok: Option<Head>,
    #[allow(clippy::vec_box)] // The boxes are what is used again.
    spare: Vec<Box<Rpc>>,
    /// What compresses and decompresses messages.
    press: Press,
}

/// One call.
pub(super) struct Rpc {
    call: Option<Box<dyn Call>>,
    /// Its method takes exactly one message.
    single: bool,
    /// The client's messages may be compressed; …
    unpacks: bool,
    /// … and then those of the answer are, if it takes them.
    packs: bool,
    reader: Messages,
    /// The announced length of the message that is coming, and its bytes if they come in pieces.
    length: usize,
    /// Whether it is compressed.
    packed: bool,
    message_bytes_max: u32,
    pieces: Vec<u8>,
    /// Messages so far.
    messages: u64,
    replies: Replies,
    /// Bytes of the replies that are sent.
    sent: usize,
    head_sent: bool,
    /// The client has sent its last message.
    client_done: bool,
    /// The client gets no credit, because it does not take its answers.
    uncredited: bool,
    /// When it began.
    since: Time,
    deadline: Time,
    /// When a pause that the method asked for is over.
    pause_until: Time,
}

/// How far a call came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Progress {
    /// It is over, and all of it sent.
    Done,
    /// It goes on when the client has sent something, credit perhaps, or when it is due.
    Waiting,
    /// It goes on in its next turn.
    More,
}

impl Rpcs {
    pub(crate) fn new() -> Rpcs {
        Rpcs {
            head: Head::response(200, &call::RESPONSE_FIELDS).ok(),
            gzipped: Head::response(200, &call::GZIPPED_FIELDS).ok(),
            ok: Head::trailers(&call::TRAILERS_OK).ok(),
            spare: Vec::new(),
            press: Press::default(),
        }
    }

    /// What compresses and decompresses the messages of its calls.
    #[inline]
    pub(super) fn press(&mut self) -> &mut Press {
        &mut self.press
    }

    /// A call begins. `single`: its method takes exactly one message.
    pub(super) fn begin(
        &mut self,
        call: Box<dyn Call>,
        (single, compression): (bool, Compression),
        (since, deadline): (Time, Time),
        message_bytes_max: u32,
    ) -> Box<Rpc> {
        let mut rpc = self.spare.pop().unwrap_or_default();
        debug_assert!(
            rpc.call.is_none() && rpc.messages == 0 && rpc.replies.bytes.is_empty(),
            "a call that is used again remembers the one before"
        );
        rpc.call = Some(call);
        rpc.single = single;
        rpc.unpacks = compression.sends;
        rpc.packs = compression.sends && compression.accepts;
        rpc.message_bytes_max = message_bytes_max;
        rpc.reader = Messages::new(message_bytes_max);
        rpc.since = since;
        rpc.deadline = deadline;
        rpc
    }

    /// Takes a call back that is over.
    pub(super) fn recycle(&mut self, mut rpc: Box<Rpc>) {
        if self.spare.len() < SPARE_MAX && rpc.clear() {
            self.spare.push(rpc);
        }
    }
}

impl Default for Rpc {
    fn default() -> Rpc {
        Rpc {
            call: None,
            single: false,
            unpacks: false,
            packs: false,
            reader: Messages::new(0),
            length: 0,
            packed: false,
            message_bytes_max: 0,
            pieces: Vec::new(),
            messages: 0,
            replies: Replies::default(),
            sent: 0,
            head_sent: false,
            client_done: false,
            uncredited: false,
            since: Time::NEVER,
            deadline: Time::NEVER,
            pause_until: Time::NEVER,
        }
    }
}

impl Rpc {
    /// Makes it fit for another call. False if it is better dropped.
    fn clear(&mut self) -> bool {
        let (mut pieces, mut bytes) = (
            std::mem::take(&mut self.pieces),
            std::mem::take(&mut self.replies.bytes),
        );
        pieces.clear();
        bytes.clear();
        let kept = pieces.capacity() + bytes.capacity();
        *self = Rpc::default();
        self.pieces = pieces;
        self.replies.bytes = bytes;
        kept <= SPARE_BYTES_MAX
    }

    /// Data came.
    pub(super) fn receive(&mut self, mut input: &[u8], end: bool, press: &mut Press) {
        let mut whole = None;
        while self.replies.end.is_none() {
            match self.reader.next(&mut input) {
                Ok(Some(Event::Begin {
                    compressed: true, ..
                })) if !self.unpacks => {
                    let text = "the message is compressed, but no encoding was agreed on";
                    self.replies.finish(Status::Internal, text);
                }
                Ok(Some(Event::Begin { length, compressed })) => {
                    self.length = length as usize;
                    self.packed = compressed;
                    self.pieces.clear();
                    whole = None;
                }
                Ok(Some(Event::Bytes(bytes))) if bytes.len() == self.length => whole = Some(bytes),
                Ok(Some(Event::Bytes(bytes))) => self.pieces.extend_from_slice(bytes),
                Ok(Some(Event::End)) => self.hear(whole, press),
                Ok(None) => break,
                Err(rejection) => {
                    let text = rejection.violation.to_string();
                    self.replies.finish(rejection.status, text);
                }
            }
        }
        if end {
            self.end(press);
        }
    }

    /// A message is complete, in one piece or in several.
    #[inline]
    fn hear(&mut self, whole: Option<&[u8]>, press: &mut Press) {
        self.messages += 1;
        if self.single && self.messages > 1 {
            let text = "this method takes one message";
            return self.replies.finish(Status::Unimplemented, text);
        }
        let Some(call) = &mut self.call else { return };
        let message = whole.unwrap_or(&self.pieces);
        if !self.unpacks {
            return call.message(message, &mut self.replies);
        }
        let before = self.replies.bytes.len();
        let most = self.message_bytes_max as usize;
        match press.unpack(message, self.packed, most) {
            Ok(message) => call.message(message, &mut self.replies),
            Err((status, text)) => self.replies.finish(status, text),
        }
        self.pack(before, press);
    }

    /// Compresses what was said since the replies were so long, if it's to be.
    #[inline]
    fn pack(&mut self, before: usize, press: &mut Press) {
        if self.packs {
            press.pack(&mut self.replies.bytes, before);
        }
    }

    /// The client's last message has come.
    fn end(&mut self, press: &mut Press) {
        self.client_done = true;
        if self.replies.end.is_some() {
            return;
        }
        if let Err(rejection) = self.reader.ended() {
            let text = rejection.violation.to_string();
            self.replies.finish(rejection.status, text);
        } else if self.single && self.messages == 0 {
            let text = "this method takes one message, but none came";
            self.replies.finish(Status::Unimplemented, text);
        } else if let Some(call) = &mut self.call {
            let before = self.replies.bytes.len();
            call.end(&mut self.replies);
            self.pack(before, press);
        }
    }

    /// Ends the call at once; what was not sent yet is not said any more.
    pub(super) fn fail(&mut self, status: Status, text: &str) {
        debug_assert!(
            self.sent <= self.replies.bytes.len(),
            "more was sent than was said"
        );
        self.replies.bytes.truncate(self.sent);
        if !self.head_sent {
            self.replies.trailers.clear();
        }
        self.replies.end = Some((status, text.to_string()));
    }

    /// Something is due, perhaps.
    pub(super) fn wake(&mut self, now: Time) {
        if self.deadline <= now {
            self.fail(Status::DeadlineExceeded, "the deadline has passed");
            self.deadline = Time::NEVER;
        }
        if self.pause_until <= now {
            self.pause_until = Time::NEVER;
        }
    }

    /// When it wants to be looked at again.
    pub(super) fn due(&self) -> Time {
        self.deadline.min(self.pause_until)
    }

    /// When it began.
    pub(super) fn since(&self) -> Time {
        self.since
    }

    /// Bytes of memory that grow with what the client sends, or does not take.
    pub(super) fn memory(&self) -> usize {
        self.pieces.len() + self.replies.bytes.len()
    }

    /// The same with what was set aside for more.
    pub(super) fn capacity(&self) -> usize {
        self.pieces.capacity() + self.replies.bytes.capacity()
    }

    /// Whether the rest of a message has to come, or a message at all: a stream of messages may
    /// pause between two of them for as long as it likes.
    pub(super) fn is_coming(&self) -> bool {
        !self.client_done && (self.single || self.reader.is_within())
    }

    /// Whether nothing moves until the client sends something or takes something.
    pub(super) fn waits_for_client(&self) -> bool {
        !self.pauses() && (self.is_untaken() || self.is_coming())
    }

    /// Whether the client does not take what is said.
    pub(super) fn is_untaken(&self) -> bool {
        self.sent < self.replies.bytes.len()
    }

    /// Messages that have come whole.
    pub(super) fn messages(&self) -> u64 {
        self.messages
    }

    /// Bytes of replies that are taken so far.
    pub(super) fn taken(&self) -> usize {
        self.sent
    }

    /// Whether it goes on by itself after a while.
    pub(super) fn pauses(&self) -> bool {
        self.pause_until != Time::NEVER
    }

    /// Whether nothing will happen any more unless the client ends it.
    pub(super) fn waits_for_ever(&self) -> bool {
        self.client_done && self.replies.bytes.is_empty() && !self.pauses()
    }

    /// Says what there is to say, as far as the windows and its turn allow.
    pub(super) fn speak(
        &mut self,
        stream: u32,
        now: Time,
        rpcs: &mut Rpcs,
        machine: &mut Server,
        out: &mut Vec<u8>,
    ) -> Result<Progress, Unsent> {
        loop {
            if self.sent < self.replies.bytes.len() {
                if !self.head_sent {
                    self.say_head(stream, rpcs, machine, out)?;
                }
                let bytes = &self.replies.bytes[self.sent..];
                self.sent += machine.data(stream, bytes, false, out)?;
                debug_assert!(
                    self.sent <= self.replies.bytes.len(),
                    "more was taken than there was"
                );
                let untaken = self.replies.bytes.len() - self.sent;
                if untaken > 0 {
                    if untaken > UNTAKEN_BYTES_MAX && !self.uncredited {
                        self.uncredited = true;
                        machine.pause(stream);
                    }
                    return Ok(Progress::Waiting);
                }
            }
            self.replies.bytes.clear();
            self.sent = 0;
            if let Some((status, text)) = self.replies.end.take() {
                self.say_end(stream, (status, &text), rpcs, machine, out)?;
                return Ok(Progress::Done);
            }
            if std::mem::take(&mut self.uncredited) {
                machine.resume(stream, out);
            }
            if let Some(pause) = self.replies.pause.take() {
                self.pause_until = now + pause;
            }
            if self.pause_until != Time::NEVER {
                return Ok(Progress::Waiting);
            }
            if out.len() > TURN_BYTES {
                return Ok(Progress::More);
            }
            let asked = self.messages > 0 || self.client_done;
            if let Some(call) = self.call.as_mut().filter(|_| asked) {
                call.more(&mut self.replies);
                self.pack(0, rpcs.press());
            }
            let replies = &self.replies;
            if replies.bytes.is_empty() && replies.end.is_none() && replies.pause.is_none() {
                return Ok(Progress::Waiting);
            }
        }
    }

    fn say_head(
        &mut self,
        stream: u32,
        rpcs: &Rpcs,
        machine: &mut Server,
        out: &mut Vec<u8>,
    ) -> Result<(), Unsent> {
        self.head_sent = true;
        let metadata = &self.replies.head;
        let (kept, own) = match self.packs {
            true => (&rpcs.gzipped, &call::GZIPPED_FIELDS[..]),
            false => (&rpcs.head, &call::RESPONSE_FIELDS[..]),
        };
        match kept {
            Some(head) if metadata.is_empty() => machine.respond_kept(stream, head, false, out),
            _ => {
                let own = own.iter().map(|(name, value)| (*name, value.as_bytes()));
                let mut fields: Vec<_> = own.collect();
                fields.extend(pairs(metadata));
                machine.respond(stream, 200, &fields, false, out)
            }
        }
    }

    fn say_end(
        &mut self,
        stream: u32,
        (status, text): (Status, &str),
        rpcs: &Rpcs,
        machine: &mut Server,
        out: &mut Vec<u8>,
    ) -> Result<(), Unsent> {
        if !self.head_sent && status != Status::Ok {
            let metadata = std::mem::take(&mut self.replies.trailers);
            let end = (status, text, &metadata[..]);
            return end_at_once(stream, end, self.client_done, machine, out);
        }
        if !self.head_sent {
            self.say_head(stream, rpcs, machine, out)?;
        }
        match &rpcs.ok {
            Some(ok) if status == Status::Ok && self.replies.trailers.is_empty() => {
                machine.trailers_kept(stream, ok, out)?;
            }
            _ => {
                let mut message = Vec::new();
                grpc::encode_message(text, &mut message);
                let mut fields = vec![("grpc-status", status.text().as_bytes())];
                if !message.is_empty() {
                    fields.push(("grpc-message", &message));
                }
                fields.extend(pairs(&self.replies.trailers));
                machine.trailers(stream, &fields, out)?;
            }
        }
        if !self.client_done {
            machine.reset(stream, ErrorCode::NO_ERROR, out);
        }
        Ok(())
    }
}

/// Ends a call with nothing but its status (Trailers-Only).
pub(super) fn refuse(
    stream: u32,
    (status, text): (Status, &str),
    client_done: bool,
    machine: &mut Server,
    out: &mut Vec<u8>,
) -> Result<(), Unsent> {
    end_at_once(stream, (status, text, &[]), client_done, machine, out)
}

/// The same, with metadata of the call.
fn end_at_once(
    stream: u32,
    (status, text, metadata): (Status, &str, &[Metadata]),
    client_done: bool,
    machine: &mut Server,
    out: &mut Vec<u8>,
) -> Result<(), Unsent> {
    let mut message = Vec::new();
    grpc::encode_message(text, &mut message);
    let (name, value) = call::RESPONSE_FIELDS[0];
    let mut fields = vec![
        (name, value.as_bytes()),
        ("grpc-status", status.text().as_bytes()),
        ("grpc-accept-encoding", ACCEPTED.as_bytes()),
    ];
    if !message.is_empty() {
        fields.push(("grpc-message", &message));
    }
    fields.extend(pairs(metadata));
    machine.respond(stream, 200, &fields, true, out)?;
    if !client_done {
        // The client need not send what nobody reads (RFC 9113 §8.1).
        machine.reset(stream, ErrorCode::NO_ERROR, out);
    }
    Ok(())
}

fn pairs(metadata: &[Metadata]) -> impl Iterator<Item = (&str, &[u8])> {
    metadata
        .iter()
        .map(|(name, value)| (name.as_str(), &value[..]))
}

impl std::fmt::Debug for Rpc {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Rpc")
            .field("messages", &self.messages)
            .field("replies", &self.replies)
            .finish_non_exhaustive()
    }
}

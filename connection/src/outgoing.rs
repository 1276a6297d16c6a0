//! What a connection has to say, in order.
//!
//! Bytes first, then perhaps something that is not bytes yet: an answer that is waited for, the
//! rest of a long body, what a service still has to send, an answer that dribbles. Behind it come
//! further bytes, and so on. On the usual path there are only bytes, gathered in one buffer that
//! leaves in one send.

use std::collections::VecDeque;
use std::time::Duration;

use engine::Token;

use exchange::answer::{Form, Framing, Rest};
use exchange::pattern::{Slice, Stream};
use exchange::response::Field;
use service::{Dialogue, Ticket};

/// Output above this stops reading: the client has to take answers before it may ask for more.
const BYTES_HIGH: usize = 256 * 1024;

/// So many answers that are no bytes yet stop reading, too.
const ITEMS_HIGH: usize = 64;

/// A service that sends in pieces is asked for more while no more than this waits.
pub(super) const PIECES_LOW: usize = 64 * 1024;

/// All output of one connection that the driver does not have yet.
#[derive(Debug, Default)]
pub(crate) struct Outgoing {
    front: Item,
    /// Behind `front`, which alone is in use as long as all answers are bytes.
    rest: VecDeque<Item>,
    /// Bytes of all items in `rest`.
    rest_bytes: usize,
}

#[derive(Debug, Default)]
struct Item {
    bytes: Vec<u8>,
    then: Then,
}

/// What follows the bytes of an item.
#[derive(Debug, Default)]
pub(crate) enum Then {
    /// The next item.
    #[default]
    Nothing,
    /// The answer to this request, in this form.
    Answer { asked: Asked, form: Form },
    /// An answer that never comes.
    Silence,
    /// The rest of a body.
    Body(Stream),
    /// Whatever the service sends.
    Pieces(Box<Pieces>),
    /// An answer byte by byte.
    Dribble(Box<Dribble>),
    /// No HTTP any more.
    Upgrade(Successor),
}

impl Then {
    /// What follows the bytes of an answer.
    pub(crate) fn of(rest: Rest, asked: Asked) -> Then {
        match rest {
            Rest::Nothing => Then::Nothing,
            Rest::Pattern(stream) => Then::Body(stream),
            Rest::Pieces(framing) => Then::Pieces(Box::new(Pieces {
                asked,
                framing,
                owed: true,
            })),
        }
    }
}

/// Which request of the connection, and what its service calls it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Asked {
    pub(crate) number: u32,
    pub(crate) tag: u32,
}

impl Asked {
    pub(crate) fn of(ticket: Ticket) -> Asked {
        Asked {
            number: ticket.number,
            tag: ticket.tag(),
        }
    }

    /// Its ticket, on the connection of `socket`.
    #[inline]
    pub(crate) fn ticket(self, socket: Token) -> Ticket {
        Ticket::new(socket, self.number, self.tag)
    }
}

/// An answer that its service sends in pieces. Those it has sent stand in front of it.
#[derive(Debug)]
pub(crate) struct Pieces {
    asked: Asked,
    framing: Framing,
    /// Since the service was last told that there is room, it has sent something.
    owed: bool,
}

/// What a connection goes on with after HTTP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Successor {
    WebSocket(Dialogue),
    /// A WebSocket whose messages are those of the service that granted it.
    Hosted(Asked),
    /// Whatever the service that took it over says.
    Raw(Asked),
}

/// What became of the end of an answer in pieces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Finished {
    /// There is no such answer.
    Unknown,
    /// The connection can go on.
    Whole,
    /// Only the end of the connection ends it, or tells that it's not complete. What is behind it
    /// has to go.
    Last,
}

/// What is to be done next.
#[derive(Debug)]
pub enum Step {
    /// Nothing can be sent now.
    Nothing,
    /// Send these bytes.
    Bytes(Vec<u8>),
    /// Send this byte.
    Byte(u8),
    /// Send this part of the pattern.
    Slice(Slice),
    /// Wake the connection after so long.
    Sleep(Duration),
}

impl Outgoing {
    /// Whether everything has been handed out.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.front.is_empty() && self.rest.is_empty()
    }

    /// Whether what comes next has to be waited for.
    pub(crate) fn waits(&self) -> bool {
        self.front.bytes.is_empty() && !matches!(self.front.then, Then::Nothing | Then::Body(_))
    }

    /// Whether anything in it is no bytes yet.
    pub(crate) fn waits_anywhere(&self) -> bool {
        !self.rest.is_empty() || !matches!(self.front.then, Then::Nothing)
    }

    /// What the connection goes on with when the bytes are gone, if it is no HTTP.
    #[inline]
    pub(crate) fn upgrade(&self) -> Option<Successor> {
        match self.front.then {
            Then::Upgrade(successor) => Some(successor),
            _ => None,
        }
    }

    /// The connection has gone on: bytes may follow again.
    pub(crate) fn upgraded(&mut self) {
        debug_assert!(
            self.upgrade().is_some() && self.rest.is_empty(),
            "what stands behind an upgrade would reach a WebSocket"
        );
        self.front.then = Then::Nothing;
    }

    /// Whether what comes next never comes.
    pub(crate) fn waits_for_ever(&self) -> bool {
        self.front.bytes.is_empty() && matches!(self.front.then, Then::Silence)
    }

    /// Whether there is so much that reading has to stop.
    #[inline]
    pub(crate) fn is_heavy(&self) -> bool {
        self.front.bytes.len() + self.rest_bytes > BYTES_HIGH || self.rest.len() > ITEMS_HIGH
    }

    /// Bytes that wait to be sent.
    #[inline]
    pub(crate) fn bytes(&self) -> usize {
        self.front.bytes.len() + self.rest_bytes
    }

    /// Appends bytes through `write`, which is given the buffer that ends the output.
    #[inline]
    pub(crate) fn append<T>(&mut self, write: impl FnOnce(&mut Vec<u8>) -> T) -> T {
        if self.rest.is_empty() && matches!(self.front.then, Then::Nothing) {
            return write(&mut self.front.bytes);
        }
        self.append_behind(write)
    }

    fn append_behind<T>(&mut self, write: impl FnOnce(&mut Vec<u8>) -> T) -> T {
        if !matches!(self.last().then, Then::Nothing) {
            self.rest.push_back(Item::default());
        }
        let item = self
            .rest
            .back_mut()
            .expect("one was pushed, or is there and takes bytes");
        let before = item.bytes.len();
        let result = write(&mut item.bytes);
        self.rest_bytes += item.bytes.len() - before;
        debug_assert!(self.adds_up(), "{} bytes are counted", self.rest_bytes);
        result
    }

    /// Whether the bytes of `rest` are those that are counted.
    fn adds_up(&self) -> bool {
        let bytes = self.rest.iter().map(|item| item.bytes.len());
        self.rest_bytes == bytes.sum::<usize>()
    }

    /// Appends what is no bytes yet.
    pub(crate) fn then(&mut self, then: Then) {
        debug_assert!(
            !matches!(then, Then::Nothing),
            "nothing takes a place of its own among the answers"
        );
        if !matches!(self.last().then, Then::Nothing) {
            self.rest.push_back(Item::default());
        }
        self.last().then = then;
    }

    fn last(&mut self) -> &mut Item {
        self.rest.back_mut().unwrap_or(&mut self.front)
    }

    /// The form in which request `number` waits for its answer, and whether nothing is behind it.
    pub(crate) fn awaited(&self, number: u32) -> Option<(Asked, Form, bool)> {
        let items = std::iter::once(&self.front).chain(&self.rest);
        items.enumerate().find_map(|(at, item)| match item.then {
            Then::Answer { asked, form } if asked.number == number => {
                Some((asked, form, at == self.rest.len()))
            }
            _ => None,
        })
    }

    /// Puts the answer to request `number` in its place: bytes through `write`, which returns what
    /// follows them.
    pub(crate) fn fill(&mut self, number: u32, write: impl FnOnce(&mut Vec<u8>) -> Then) {
        self.change(number, |item| item.then = write(&mut item.bytes));
    }

    /// Changes the item whose answer, or whose pieces, are those to request `number`.
    fn change<T>(&mut self, number: u32, change: impl FnOnce(&mut Item) -> T) -> Option<T> {
        if self.front.is_of(number) {
            return Some(change(&mut self.front));
        }
        let item = self.rest.iter_mut().find(|item| item.is_of(number))?;
        let before = item.bytes.len();
        let result = change(item);
        self.rest_bytes += item.bytes.len() - before;
        debug_assert!(self.adds_up(), "{} bytes are counted", self.rest_bytes);
        Some(result)
    }

    /// A service sends a piece of its answer to request `number`.
    pub(crate) fn send(&mut self, number: u32, piece: &[u8]) {
        self.change(number, |item| {
            if let Then::Pieces(pieces) = &mut item.then {
                pieces.framing.write(piece, &mut item.bytes);
                pieces.owed = true;
            }
        });
    }

    /// A service ends its answer to request `number`.
    pub(crate) fn finish(&mut self, number: u32, trailers: &[Field]) -> Finished {
        let finished = self.change(number, |item| {
            let Then::Pieces(pieces) = &mut item.then else {
                return Finished::Unknown;
            };
            let whole = pieces.framing.finish(trailers, &mut item.bytes);
            match (whole, pieces.framing) {
                (true, Framing::Chunks | Framing::Announced(_)) => {
                    item.then = Then::Nothing;
                    Finished::Whole
                }
                // Its place is needed to cut off what is behind it.
                _ => Finished::Last,
            }
        });
        finished.unwrap_or(Finished::Unknown)
    }

    /// Whose service is to be told that there is room for more of its answer, once.
    #[inline]
    pub(crate) fn take_room(&mut self) -> Option<Asked> {
        match &mut self.front.then {
            Then::Pieces(pieces) if pieces.owed && self.front.bytes.len() <= PIECES_LOW => {
                pieces.owed = false;
                Some(pieces.asked)
            }
            _ => None,
        }
    }

    /// Whether the answer to request `number` is in pieces, and has not ended.
    pub(crate) fn is_in_pieces(&self, number: u32) -> bool {
        let mut items = std::iter::once(&self.front).chain(&self.rest);
        let found = items.find(|item| item.is_of(number));
        found.is_some_and(|item| matches!(item.then, Then::Pieces(_)))
    }

    /// The requests whose services have not said everything.
    pub(crate) fn open(&self) -> impl Iterator<Item = Asked> {
        let items = std::iter::once(&self.front).chain(&self.rest);
        items.filter_map(Item::asked)
    }

    /// Drops everything behind the answer to request `number`, whose place was just filled or is
    /// about to be. Tells of each request that is not answered because of that.
    pub(crate) fn cut_behind(&mut self, number: u32, unanswered: impl FnMut(Asked)) {
        let keep = match self.rest.iter().position(|item| item.is_of(number)) {
            Some(at) => at + 1,
            None => 0,
        };
        self.rest
            .iter()
            .skip(keep)
            .filter_map(Item::asked)
            .for_each(unanswered);
        self.rest.truncate(keep);
        self.rest_bytes = self.rest.iter().map(|item| item.bytes.len()).sum();
    }

    /// Drops what is not said yet of the answer to request `number`, and everything behind it. What
    /// its service has sent stays. Tells of each request that is not answered because of that, but
    /// not of this one.
    pub(crate) fn cut_at(&mut self, number: u32, unanswered: impl FnMut(Asked)) -> bool {
        let is_there = self.change(number, |_| ()).is_some();
        if is_there {
            self.cut_behind(number, unanswered);
            self.change(number, |item| item.then = Then::Nothing);
        }
        is_there
    }

    /// Takes the next thing to do off.
    #[inline]
    pub(crate) fn step(&mut self) -> Step {
        loop {
            if !self.front.bytes.is_empty() {
                return Step::Bytes(std::mem::take(&mut self.front.bytes));
            }
            match &mut self.front.then {
                Then::Answer { .. } | Then::Pieces(_) | Then::Silence | Then::Upgrade(_) => {
                    return Step::Nothing;
                }
                Then::Body(stream) => {
                    if let Some(slice) = stream.following() {
                        return Step::Slice(slice);
                    }
                    stream.finish(&mut self.front.bytes);
                    self.front.then = Then::Nothing;
                }
                Then::Dribble(dribble) => match dribble.step() {
                    Some(step) => return step,
                    None => self.front.then = Then::Nothing,
                },
                Then::Nothing => {
                    let Some(next) = self.rest.pop_front() else {
                        return Step::Nothing;
                    };
                    self.rest_bytes -= next.bytes.len();
                    debug_assert!(self.adds_up(), "{} bytes are counted", self.rest_bytes);
                    if next.bytes.is_empty() {
                        self.front.then = next.then;
                    } else {
                        self.front = next;
                    }
                    if self.rest.is_empty() {
                        self.rest = VecDeque::new();
                    }
                }
            }
        }
    }

    /// The time of a [`Step::Sleep`] is over.
    pub(crate) fn wake(&mut self) {
        if let Then::Dribble(dribble) = &mut self.front.then {
            dribble.beat = Beat::Due;
        }
    }

    /// Whether the buffer that gathers bytes has no memory yet.
    #[inline]
    pub(crate) fn wants_buffer(&self) -> bool {
        self.front.bytes.capacity() == 0
    }

    /// Gives it an empty buffer with memory.
    #[inline]
    pub(crate) fn give_buffer(&mut self, buffer: Vec<u8>) {
        debug_assert!(
            self.front.bytes.is_empty() && buffer.is_empty(),
            "a buffer is exchanged that has output in it"
        );
        self.front.bytes = buffer;
    }

    /// Takes the buffer back if nothing is in it.
    #[inline]
    pub(crate) fn take_unused_buffer(&mut self) -> Option<Vec<u8>> {
        let unused = self.front.bytes.is_empty() && self.front.bytes.capacity() > 0;
        unused.then(|| std::mem::take(&mut self.front.bytes))
    }
}

impl Item {
    #[inline]
    fn is_empty(&self) -> bool {
        self.bytes.is_empty() && matches!(self.then, Then::Nothing)
    }

    /// The request whose service has not said everything that belongs here.
    fn asked(&self) -> Option<Asked> {
        match &self.then {
            Then::Answer { asked, .. } => Some(*asked),
            Then::Pieces(pieces) => Some(pieces.asked),
            _ => None,
        }
    }

    fn is_of(&self, number: u32) -> bool {
        self.asked().is_some_and(|asked| asked.number == number)
    }
}

/// An answer that leaves byte by byte.
#[derive(Debug)]
pub(crate) struct Dribble {
    pub(crate) bytes: Vec<u8>,
    pub(crate) at: usize,
    pub(crate) every: Duration,
    pub(crate) beat: Beat,
}

/// Where a [`Dribble`] is between two bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Beat {
    /// The next byte may go.
    Due,
    /// A byte has gone and no timer runs yet.
    Gone,
    /// The timer runs.
    Waiting,
}

impl Dribble {
    /// `None` once all bytes have gone.
    fn step(&mut self) -> Option<Step> {
        match self.beat {
            Beat::Due => {
                debug_assert!(self.at <= self.bytes.len(), "a byte was sent twice");
                let byte = *self.bytes.get(self.at)?;
                self.at += 1;
                self.beat = Beat::Gone;
                Some(Step::Byte(byte))
            }
            Beat::Gone if self.at == self.bytes.len() => None,
            Beat::Gone => {
                self.beat = Beat::Waiting;
                Some(Step::Sleep(self.every))
            }
            Beat::Waiting => Some(Step::Nothing),
        }
    }
}

#[cfg(test)]
mod tests {
    use proto::http1::Version;

    use super::*;

    const FORM: Form = Form {
        version: Version::Http11,
        head_only: false,
        keep_alive: true,
    };

    fn asked(number: u32) -> Asked {
        Asked { number, tag: 0 }
    }

    fn answer(number: u32) -> Then {
        let (asked, form) = (asked(number), FORM);
        Then::Answer { asked, form }
    }

    fn say(out: &mut Outgoing, text: &str) {
        out.append(|bytes| bytes.extend_from_slice(text.as_bytes()));
    }

    fn heard(out: &mut Outgoing) -> String {
        let mut text = String::new();
        loop {
            match out.step() {
                Step::Bytes(bytes) => text += std::str::from_utf8(&bytes).expect("text"),
                Step::Byte(byte) => text.push(char::from(byte)),
                Step::Slice(slice) => text += &format!("<{}>", slice.end - slice.start),
                Step::Sleep(_) => text.push('~'),
                Step::Nothing => return text,
            }
        }
    }

    #[test]
    fn bytes_in_a_row_leave_at_once() {
        let mut out = Outgoing::default();
        say(&mut out, "one ");
        say(&mut out, "two");
        assert!(matches!(out.step(), Step::Bytes(bytes) if bytes == b"one two"));
        assert!(out.is_empty());
    }

    #[test]
    fn answers_that_are_waited_for_hold_back_what_is_behind_them() {
        let mut out = Outgoing::default();
        say(&mut out, "a ");
        out.then(answer(1));
        say(&mut out, "c ");
        out.then(answer(2));
        out.then(answer(3));
        say(&mut out, "f");
        assert_eq!(heard(&mut out), "a ");
        assert!(out.waits() && !out.is_empty());
        let write = |text: &'static str| {
            move |bytes: &mut Vec<u8>| {
                bytes.extend_from_slice(text.as_bytes());
                Then::Nothing
            }
        };
        out.fill(3, write("e "));
        assert_eq!(heard(&mut out), "");
        out.fill(1, write("b "));
        assert_eq!(heard(&mut out), "b c ");
        assert_eq!(out.awaited(1), None);
        assert_eq!(out.awaited(2), Some((asked(2), FORM, false)));
        out.fill(2, write("d "));
        assert_eq!(heard(&mut out), "d e f");
        assert!(out.is_empty());
        assert_eq!(out.rest_bytes, 0);
    }

    #[test]
    fn an_answer_that_ends_the_connection_cuts_off_what_is_behind_it() {
        for number in [1, 2] {
            let mut out = Outgoing::default();
            out.then(answer(1));
            say(&mut out, "between ");
            out.then(answer(2));
            say(&mut out, "behind");
            let mut unanswered = Vec::new();
            out.cut_behind(number, |asked| unanswered.push(asked.number));
            assert_eq!(unanswered, if number == 1 { vec![2] } else { vec![] });
            let last = Some((asked(number), FORM, true));
            assert_eq!(out.awaited(number), last, "it is the last");
            for filled in [2, 1] {
                out.fill(filled, |bytes| {
                    bytes.extend_from_slice(format!("{filled} ").as_bytes());
                    Then::Nothing
                });
            }
            assert_eq!(
                heard(&mut out),
                if number == 1 { "1 " } else { "1 between 2 " }
            );
            assert!(out.is_empty());
        }
    }

    #[test]
    fn a_body_in_several_sends_comes_before_the_next_answer() {
        let mut out = Outgoing::default();
        let rest = out.append(|bytes| Stream::begin(false, 500_000, 4, bytes));
        out.then(Then::Body(rest.expect("more than four bytes")));
        say(&mut out, " next");
        assert_eq!(heard(&mut out), "0123<239996><240000><20000> next");
    }

    #[test]
    fn an_answer_dribbles_byte_by_byte_and_sleeps_in_between() {
        let mut out = Outgoing::default();
        let every = Duration::from_millis(1);
        let dribble = Dribble {
            bytes: b"abc".to_vec(),
            at: 0,
            every,
            beat: Beat::Due,
        };
        out.then(Then::Dribble(Box::new(dribble)));
        say(&mut out, "next");
        let mut text = heard(&mut out);
        for _ in 0..2 {
            assert_eq!(heard(&mut out), "", "until it is woken");
            out.wake();
            text += &heard(&mut out);
        }
        assert_eq!(text, "a~b~cnext");
    }

    fn pieces(number: u32, framing: Framing) -> Then {
        Then::of(Rest::Pieces(framing), asked(number))
    }

    #[test]
    fn an_answer_in_pieces_holds_back_what_is_behind_it_until_it_is_complete() {
        let mut out = Outgoing::default();
        say(&mut out, "head ");
        out.then(pieces(1, Framing::Chunks));
        say(&mut out, "next ");
        out.then(pieces(2, Framing::Announced(5)));
        say(&mut out, "last");
        assert_eq!(out.take_room(), Some(asked(1)));
        assert_eq!(out.take_room(), None, "told once");
        out.send(2, b"wor");
        out.send(1, b"hello");
        assert_eq!(
            out.take_room(),
            Some(asked(1)),
            "and again for what was sent"
        );
        assert_eq!(heard(&mut out), "head 5\r\nhello\r\n");
        let trailers = [("X-Sum".into(), "1".into())];
        assert_eq!(out.finish(1, &trailers), Finished::Whole);
        assert_eq!(heard(&mut out), "0\r\nX-Sum: 1\r\n\r\nnext wor");
        out.send(2, b"ldly");
        assert_eq!(out.finish(2, &[]), Finished::Whole);
        assert_eq!(heard(&mut out), "ldlast", "not more than was announced");
        assert_eq!(out.finish(2, &[]), Finished::Unknown);
        assert!(out.is_empty() && out.rest_bytes == 0);
    }

    #[test]
    fn an_answer_that_only_the_end_of_the_connection_can_end_is_the_last() {
        for framing in [Framing::Announced(9), Framing::Close] {
            let mut out = Outgoing::default();
            out.then(pieces(1, framing));
            say(&mut out, "behind");
            out.then(answer(2));
            out.send(1, b"some");
            assert_eq!(out.finish(1, &[]), Finished::Last);
            let mut unanswered = Vec::new();
            assert!(out.cut_at(1, |asked| unanswered.push(asked.number)));
            assert_eq!(unanswered, [2]);
            assert_eq!(heard(&mut out), "some");
            assert!(out.is_empty() && !out.cut_at(1, |_| ()));
        }
    }

    #[test]
    fn room_is_told_while_little_waits_and_by_the_answer_whose_turn_it_is() {
        let mut out = Outgoing::default();
        out.then(answer(1));
        out.then(pieces(2, Framing::Chunks));
        assert_eq!(out.take_room(), None, "it waits behind another");
        out.fill(1, |_| Then::Nothing);
        heard(&mut out);
        assert_eq!(out.take_room(), Some(asked(2)));
        out.send(2, &[b'x'; PIECES_LOW + 1]);
        assert_eq!(out.take_room(), None, "much waits");
        heard(&mut out);
        assert_eq!(out.take_room(), Some(asked(2)));
        assert_eq!(out.open().collect::<Vec<_>>(), [asked(2)]);
    }

    #[test]
    fn output_is_heavy_by_bytes_or_by_answers() {
        let mut out = Outgoing::default();
        say(&mut out, &"x".repeat(BYTES_HIGH));
        assert!(!out.is_heavy());
        say(&mut out, "x");
        assert!(out.is_heavy());
        heard(&mut out);
        assert!(!out.is_heavy());
        for number in 0..=ITEMS_HIGH as u32 {
            out.then(answer(number));
            assert!(!out.is_heavy());
        }
        out.then(Then::Silence);
        assert!(out.is_heavy());
    }
}

//! What a connection has to say, in order.
//!
//! Bytes first, then perhaps something that is not bytes yet: an answer that is waited for, the
//! rest of a long body, an answer that dribbles. Behind it come further bytes, and so on. On the
//! usual path there are only bytes, gathered in one buffer that leaves in one send.

use std::collections::VecDeque;
use std::time::Duration;

use crate::answer::{Beat, Dribble, Form};
use crate::pattern::{Slice, Stream};
use crate::service::Dialogue;

/// Output above this stops reading: the client has to take answers before it may ask for more.
const BYTES_HIGH: usize = 256 * 1024;

/// So many answers that are no bytes yet stop reading, too.
const ITEMS_HIGH: usize = 64;

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
    /// The answer to the request of this number, in this form.
    Answer { number: u32, form: Form },
    /// An answer that never comes.
    Silence,
    /// The rest of a body.
    Body(Stream),
    /// An answer byte by byte.
    Dribble(Box<Dribble>),
    /// WebSocket, and no HTTP any more.
    Upgrade(Dialogue),
}

/// What is to be done next.
#[derive(Debug)]
pub(crate) enum Step {
    /// Nothing can be sent now.
    Nothing,
    /// Send these bytes.
    Bytes(Vec<u8>),
    /// Send this byte.
    Byte(u8),
    /// Send this part of the pattern.
    Slice(Slice),
    /// Call [`Outgoing::wake`] after so long.
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
    pub(crate) fn upgrade(&self) -> Option<Dialogue> {
        match self.front.then {
            Then::Upgrade(dialogue) => Some(dialogue),
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
    pub(crate) fn awaited(&self, number: u32) -> Option<(Form, bool)> {
        let items = std::iter::once(&self.front).chain(&self.rest);
        items.enumerate().find_map(|(at, item)| match item.then {
            Then::Answer {
                number: found,
                form,
            } if found == number => Some((form, at == self.rest.len())),
            _ => None,
        })
    }

    /// Puts the answer to request `number` in its place: bytes through `write`, which returns what
    /// follows them.
    pub(crate) fn fill(&mut self, number: u32, write: impl FnOnce(&mut Vec<u8>) -> Then) {
        let wanted =
            |item: &Item| matches!(item.then, Then::Answer { number: n, .. } if n == number);
        if wanted(&self.front) {
            self.front.then = write(&mut self.front.bytes);
        } else if let Some(item) = self.rest.iter_mut().find(|item| wanted(item)) {
            let before = item.bytes.len();
            item.then = write(&mut item.bytes);
            self.rest_bytes += item.bytes.len() - before;
            debug_assert!(self.adds_up(), "{} bytes are counted", self.rest_bytes);
        }
    }

    /// Drops everything behind the answer to request `number`, whose place was just filled or is
    /// about to be.
    pub(crate) fn cut_behind(&mut self, number: u32) {
        let wanted =
            |item: &Item| matches!(item.then, Then::Answer { number: n, .. } if n == number);
        let keep = match self.rest.iter().position(wanted) {
            Some(at) => at + 1,
            None => 0,
        };
        self.rest.truncate(keep);
        self.rest_bytes = self.rest.iter().map(|item| item.bytes.len()).sum();
    }

    /// Takes the next thing to do off.
    #[inline]
    pub(crate) fn step(&mut self) -> Step {
        loop {
            if !self.front.bytes.is_empty() {
                return Step::Bytes(std::mem::take(&mut self.front.bytes));
            }
            match &mut self.front.then {
                Then::Answer { .. } | Then::Silence | Then::Upgrade(_) => return Step::Nothing,
                Then::Body(stream) => {
                    if let Some(slice) = stream.next() {
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
        out.then(Then::Answer {
            number: 1,
            form: FORM,
        });
        say(&mut out, "c ");
        out.then(Then::Answer {
            number: 2,
            form: FORM,
        });
        out.then(Then::Answer {
            number: 3,
            form: FORM,
        });
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
        assert_eq!(out.awaited(2), Some((FORM, false)));
        out.fill(2, write("d "));
        assert_eq!(heard(&mut out), "d e f");
        assert!(out.is_empty());
        assert_eq!(out.rest_bytes, 0);
    }

    #[test]
    fn an_answer_that_ends_the_connection_cuts_off_what_is_behind_it() {
        for number in [1, 2] {
            let mut out = Outgoing::default();
            out.then(Then::Answer {
                number: 1,
                form: FORM,
            });
            say(&mut out, "between ");
            out.then(Then::Answer {
                number: 2,
                form: FORM,
            });
            say(&mut out, "behind");
            out.cut_behind(number);
            assert_eq!(out.awaited(number), Some((FORM, true)), "it is the last");
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
            out.then(Then::Answer { number, form: FORM });
            assert!(!out.is_heavy());
        }
        out.then(Then::Silence);
        assert!(out.is_heavy());
    }
}

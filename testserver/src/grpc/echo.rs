//! `ringside.Echo`: messages come back as they came. Nothing is decoded but a count.

use prost::encoding::{DecodeContext, WireType, decode_key, decode_varint, skip_field};

use super::{Call, Replies, Status, refuse};

/// Bytes of answers that are made at a time.
const BATCH_BYTES: usize = 16 * 1024;

/// Answers each message as it comes. `Echo` takes one, `EchoBidirectional` many.
pub(super) struct Each;

impl Call for Each {
    fn message(&mut self, message: &[u8], to: &mut Replies) {
        to.message(message);
    }
}

/// Answers with the last message; with none if there was none.
#[derive(Default)]
pub(super) struct Last {
    message: Vec<u8>,
}

impl Call for Last {
    fn message(&mut self, message: &[u8], _: &mut Replies) {
        self.message.clear();
        self.message.extend_from_slice(message);
    }

    fn end(&mut self, to: &mut Replies) {
        to.message(&self.message);
        to.finish(Status::Ok, "");
    }
}

/// Answers with the message as often as its count says; zero is once.
#[derive(Default)]
pub(super) struct Repeat {
    message: Vec<u8>,
    left: u64,
}

impl Call for Repeat {
    fn message(&mut self, message: &[u8], to: &mut Replies) {
        match count(message) {
            Ok(count) => {
                self.left = u64::from(count).max(1);
                self.message.extend_from_slice(message);
                self.more(to);
            }
            Err(error) => refuse(&error, to),
        }
    }

    /// The answers go on, and the last one ends the call.
    fn end(&mut self, _: &mut Replies) {}

    fn more(&mut self, to: &mut Replies) {
        while self.left > 0 && to.bytes().len() < BATCH_BYTES {
            self.left -= 1;
            to.message(&self.message);
        }
        if self.left == 0 {
            to.finish(Status::Ok, "");
        }
    }
}

/// The field `count` of a `ringside.Message`, the last of its kind, as Protocol Buffers have it.
fn count(mut message: &[u8]) -> Result<u32, prost::DecodeError> {
    let mut count = 0;
    while !message.is_empty() {
        match decode_key(&mut message)? {
            (3, WireType::Varint) => count = decode_varint(&mut message)? as u32,
            (tag, wire_type) => {
                skip_field(wire_type, tag, &mut message, DecodeContext::default())?;
            }
        }
    }
    Ok(count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_is_found_wherever_it_stands() {
        assert_eq!(count(b""), Ok(0));
        assert_eq!(count(b"\x0a\x02hi\x18\x05"), Ok(5));
        assert_eq!(count(b"\x18\xac\x02\x0a\x02hi"), Ok(300));
        assert_eq!(count(b"\x18\x01\x18\x02"), Ok(2), "the last one counts");
        assert!(count(b"\x0a\x7fhi").is_err());
        assert!(count(b"\x18").is_err());
    }

    #[test]
    fn an_answer_is_repeated_in_batches() {
        let mut repeat = Repeat::default();
        let mut to = Replies::default();
        let message = [&[0x12, 0x80, 0x20][..], &[7; 4096], &[0x18, 10]].concat();
        repeat.message(&message, &mut to);
        let mut bytes = 0;
        while to.end().is_none() {
            assert!(to.bytes().len() < BATCH_BYTES + 5 + message.len());
            bytes += to.bytes().len();
            to = Replies::default(); // All of it has left.
            repeat.more(&mut to);
        }
        assert_eq!(bytes + to.bytes().len(), 10 * (5 + message.len()));
    }

    #[test]
    fn what_has_no_count_is_refused() {
        let mut to = Replies::default();
        Repeat::default().message(b"\x18", &mut to);
        let end = to.end().map(|(status, _)| status);
        assert_eq!(end, Some(Status::InvalidArgument));
    }
}

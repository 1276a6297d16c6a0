//! The memory of the last head.

use super::head::{RequestHead, ResponseHead};

/// Longer heads are not remembered: comparing and copying them would cost what it saves.
const REMEMBERED_BYTES_MAX: usize = 4096;

/// Remembers the last head seen whole together with what it meant.
///
/// Peers under load repeat themselves: the same request, the same answer with the same fields and,
/// within one second, the same date. Reading a head is a pure function of its bytes, so input that
/// starts with the remembered bytes means the same and costs one comparison of memory. One memo
/// serves all connections of a worker, in either role. One that never fits only costs its misses.
#[derive(Debug, Default)]
pub struct HeadMemo {
    head: Vec<u8>,
    meaning: Meaning,
}

#[derive(Clone, Copy, Debug, Default)]
enum Meaning {
    #[default]
    Nothing,
    Response(ResponseHead),
    Request(RequestHead),
}

impl HeadMemo {
    /// A memo that remembers nothing yet.
    pub const fn new() -> HeadMemo {
        HeadMemo {
            head: Vec::new(),
            meaning: Meaning::Nothing,
        }
    }

    /// The meaning and the length of the response head that `input` starts with, if remembered.
    ///
    /// A head ends at its first empty line, so remembered bytes that start the input are its head.
    #[inline]
    pub(super) fn response(&self, input: &[u8]) -> Option<(ResponseHead, usize)> {
        match self.meaning {
            Meaning::Response(head) if input.starts_with(&self.head) => {
                Some((head, self.head.len()))
            }
            _ => None,
        }
    }

    /// The meaning and the length of the request head that `input` starts with, if remembered.
    #[inline]
    pub(super) fn request(&self, input: &[u8]) -> Option<(RequestHead, usize)> {
        match self.meaning {
            Meaning::Request(head) if input.starts_with(&self.head) => {
                Some((head, self.head.len()))
            }
            _ => None,
        }
    }

    pub(super) fn remember_response(&mut self, bytes: &[u8], head: ResponseHead) {
        self.remember(bytes, Meaning::Response(head));
    }

    pub(super) fn remember_request(&mut self, bytes: &[u8], head: RequestHead) {
        self.remember(bytes, Meaning::Request(head));
    }

    fn remember(&mut self, bytes: &[u8], meaning: Meaning) {
        if bytes.len() <= REMEMBERED_BYTES_MAX {
            self.head.clear();
            self.head.extend_from_slice(bytes);
            self.meaning = meaning;
        }
    }
}

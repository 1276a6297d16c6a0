//! Answers that every request for the same gets, ready to be sent.
//!
//! Clients under load repeat themselves. The same method and path without a body lead to the same
//! answer, so a repeated request costs a comparison and a copy: no routing, no formatting. The
//! connections of a worker share these; how a head is compressed each of them remembers by itself.

use proto::http2::Head;

use super::answering::{Fields, whole_body};
use exchange::answer::may_be_said;
use exchange::response::Response;

/// So many answers are kept; a further one takes the place of the oldest.
const KEPT_MAX: usize = 16;

/// Answers with bodies up to so long are kept. Of longer ones it is not the head that costs.
const KEPT_BYTES_MAX: u64 = 4096;

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    answers: Vec<Answer>,
    /// The answer that was found last, which is usually the next.
    last: usize,
    oldest: usize,
}

/// One of them.
#[derive(Debug)]
pub(super) struct Answer {
    method: Vec<u8>,
    path: Vec<u8>,
    pub(super) head: Head,
    pub(super) body: Vec<u8>,
}

impl Kept {
    /// The place of the answer to a request without a body.
    #[inline]
    pub(super) fn find(&mut self, method: &[u8], path: &[u8]) -> Option<usize> {
        let fits = |answer: &Answer| answer.path == path && answer.method == method;
        if self.answers.get(self.last).is_some_and(fits) {
            return Some(self.last);
        }
        self.last = self.answers.iter().position(fits)?;
        Some(self.last)
    }

    /// What is kept at a place.
    #[inline]
    pub(super) fn at(&self, place: usize) -> &Answer {
        &self.answers[place]
    }

    /// Keeps `response`, if it is not too long and can be said.
    pub(super) fn keep(
        &mut self,
        method: &[u8],
        path: &[u8],
        response: &Response,
        date: &[u8; 29],
    ) -> Option<usize> {
        let long = response.body.len() > KEPT_BYTES_MAX || response.body.is_in_pieces();
        if long || !may_be_said(response) {
            return None;
        }
        let fields = Fields::of(response, date);
        let head = Head::response_of(response.status, fields.iter()).ok()?;
        let answer = Answer {
            method: method.to_vec(),
            path: path.to_vec(),
            head,
            body: whole_body(response, method == b"HEAD").into_owned(),
        };
        if self.answers.len() < KEPT_MAX {
            self.answers.push(answer);
            return Some(self.answers.len() - 1);
        }
        debug_assert_eq!(
            self.answers.len(),
            KEPT_MAX,
            "an answer is replaced while there is room"
        );
        let place = self.oldest;
        self.oldest = (place + 1) % KEPT_MAX;
        self.answers[place] = answer;
        Some(place)
    }

    /// Keeps nothing any more: the date in the heads is over.
    pub(crate) fn forget(&mut self) {
        self.answers.clear();
        self.oldest = 0;
    }
}

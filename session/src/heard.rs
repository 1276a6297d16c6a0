//! Answers that are kept whole, for a script that wants to be told of them, or for users who go by
//! them.

use std::collections::VecDeque;

use super::coding::{Coding, Undecoded};

/// So much of a body is kept.
const BODY_BYTES_MAX: usize = 16 << 20;
/// Buffers larger than this aren't kept for the next answer.
const KEPT_BYTES_MAX: usize = 256 << 10;

/// The names and values of an answer's fields, as they were sent.
pub type Fields<'i, 'w> = &'i mut dyn Iterator<Item = (&'w [u8], &'w [u8])>;

/// Answers that came and that nobody was told of yet. Nothing is allocated once there are as many
/// buffers as answers come at a time.
#[derive(Debug, Default)]
pub struct Heard {
    come: VecDeque<Box<Whole>>,
    /// Those that nobody uses.
    #[expect(
        clippy::vec_box,
        reason = "they go to and fro between this and the connections"
    )]
    pool: Vec<Box<Whole>>,
    /// Answers whose body was longer than what is kept.
    cut: u64,
    /// What the body of an answer becomes without its coding.
    plain: Vec<u8>,
}

/// An answer that came, as it's told to whoever judges it.
#[derive(Debug)]
pub struct Told<'a> {
    /// Its status.
    pub status: u16,
    /// It is one of HTTP/1.0.
    pub is_old: bool,
    /// Its body: decoded, if it was coded in a way that we know and as it says.
    pub body: &'a [u8],
    /// It was longer than what is kept of it.
    pub is_cut: bool,
    /// It isn't in the coding that it's said to be in, and stands as it came.
    pub is_broken: bool,
    whole: &'a Whole,
}

impl Told<'_> {
    /// The names and values of its fields, as they were sent.
    pub fn fields(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        self.whole.fields()
    }
}

/// One answer.
#[derive(Clone, Debug, Default)]
pub(crate) struct Whole {
    status: u16,
    /// It is one of HTTP/1.0.
    pub(crate) is_old: bool,
    /// The names and values of its fields, one behind the other…
    fields: Vec<u8>,
    /// …and where each name and its value end.
    ends: Vec<(usize, usize)>,
    body: Vec<u8>,
    is_cut: bool,
}

impl Heard {
    /// The head of an answer came.
    pub(crate) fn begin<'f>(
        &mut self,
        status: u16,
        fields: impl Iterator<Item = (&'f [u8], &'f [u8])>,
    ) -> Box<Whole> {
        let mut whole = self.pool.pop().unwrap_or_default();
        whole.status = status;
        for (name, value) in fields {
            whole.fields.extend_from_slice(name);
            let end = whole.fields.len();
            whole.fields.extend_from_slice(value);
            whole.ends.push((end, whole.fields.len()));
        }
        whole
    }

    /// It has come whole.
    pub(crate) fn end(&mut self, whole: Box<Whole>) {
        self.cut += u64::from(whole.is_cut);
        self.come.push_back(whole);
    }

    /// Has `tell` tell of each that came, in their order.
    pub fn tell(&mut self, mut tell: impl FnMut(u16, Fields<'_, '_>, &[u8])) {
        while let Some(mut whole) = self.come.pop_front() {
            tell(whole.status, &mut whole.fields(), &whole.body);
            whole.clear();
            self.pool.push(whole);
        }
    }

    /// Has `judge` look at the one that came first; none if none has come.
    pub fn judge<R>(&mut self, judge: impl FnOnce(&Told<'_>) -> R) -> Option<R> {
        let mut whole = self.come.pop_front()?;
        self.plain.clear();
        let decoded = match Coding::of(whole.fields()) {
            Coding::None => Err(Undecoded::Unknown),
            coding => coding.decode(&whole.body, BODY_BYTES_MAX, &mut self.plain),
        };
        let is_too_long = decoded == Err(Undecoded::TooLong);
        let judged = judge(&Told {
            status: whole.status,
            is_old: whole.is_old,
            body: match decoded.is_ok() || is_too_long {
                true => &self.plain,
                false => &whole.body,
            },
            is_cut: whole.is_cut || is_too_long,
            // An answer to HEAD has the fields of a body alone.
            is_broken: decoded == Err(Undecoded::Broken) && !whole.body.is_empty(),
            whole: &whole,
        });
        whole.clear();
        self.pool.push(whole);
        self.plain.shrink_to(KEPT_BYTES_MAX);
        Some(judged)
    }

    /// How many bodies were longer than what is kept.
    pub fn cut(&self) -> u64 {
        self.cut
    }
}

impl Whole {
    /// A piece of its body came.
    pub(crate) fn body(&mut self, bytes: &[u8]) {
        let room = BODY_BYTES_MAX - self.body.len();
        self.is_cut |= bytes.len() > room;
        self.body.extend_from_slice(&bytes[..bytes.len().min(room)]);
    }

    fn fields(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        let mut from = 0;
        self.ends.iter().map(move |&(name, value)| {
            let start = std::mem::replace(&mut from, value);
            (&self.fields[start..name], &self.fields[name..value])
        })
    }

    fn clear(&mut self) {
        self.fields.clear();
        self.ends.clear();
        self.body.clear();
        self.body.shrink_to(KEPT_BYTES_MAX);
        self.is_cut = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn answers_are_told_whole_and_in_their_order() {
        let mut heard = Heard::default();
        let fields: [(&[u8], &[u8]); 2] = [(b"A", b"1"), (b"B-c", b"")];
        let mut first = heard.begin(200, fields.into_iter());
        first.body(b"he");
        let second = heard.begin(404, std::iter::empty());
        first.body(b"llo");
        heard.end(first);
        heard.end(second);
        for _ in 0..2 {
            let mut told = Vec::new();
            heard.tell(|status, fields, body| {
                let fields: Vec<_> = fields
                    .map(|(name, value)| [name, b"=", value].concat())
                    .collect();
                told.push((status, fields.concat(), body.to_vec()));
            });
            if told.is_empty() {
                return;
            }
            let expected = [
                (200, b"A=1B-c=".to_vec(), b"hello".to_vec()),
                (404, Vec::new(), Vec::new()),
            ];
            assert_eq!(told, expected);
        }
        panic!("each is told of once");
    }

    #[test]
    fn whoever_judges_an_answer_has_it_decoded_and_knows_whether_it_is_whole() {
        let mut coder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        coder.write_all(b"hello").unwrap();
        let coded = coder.finish().unwrap();
        let mut coder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        coder.write_all(&vec![0; BODY_BYTES_MAX + 1]).unwrap();
        let bomb = coder.finish().unwrap();
        let gzip: [(&[u8], &[u8]); 1] = [(b"Content-Encoding", b"gzip")];
        let long = vec![b'x'; BODY_BYTES_MAX + 1];
        let cases = [
            (&gzip[..], &coded[..], (5, false, false)),
            (&gzip, &bomb, (BODY_BYTES_MAX + 1, true, false)),
            // What isn't what it says is judged as it came.
            (&gzip, b"plain", (5, false, true)),
            (&gzip, b"", (0, false, false)),
            (&[], &long, (BODY_BYTES_MAX, true, false)),
        ];
        let mut heard = Heard::default();
        for (fields, body, expected) in cases {
            let mut whole = heard.begin(200, fields.iter().copied());
            whole.body(body);
            heard.end(whole);
            let judged = heard.judge(|told| (told.body.len(), told.is_cut, told.is_broken));
            assert_eq!(judged, Some(expected));
        }
        assert_eq!(heard.judge(|_| ()), None);
    }

    #[test]
    fn a_body_without_end_is_cut_and_counted() {
        let mut heard = Heard::default();
        let mut whole = heard.begin(200, std::iter::empty());
        let piece = vec![b'x'; 1 << 20];
        for _ in 0..17 {
            whole.body(&piece);
        }
        heard.end(whole);
        let mut length = 0;
        heard.tell(|_, _, body| length = body.len());
        assert_eq!((length, heard.cut()), (BODY_BYTES_MAX, 1));
    }
}

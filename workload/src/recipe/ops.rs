//! A request taken apart into what is copied and what is made, in the order in which it is written.

use proto::http2::hpack::block;

use super::chance::{Chance, append_number};
use super::escape::{BodyKind, Escape, JsonPlace};
use super::functions::{Function, Moment};
use super::template::{Piece, Template};

/// The values of the data row of a request.
pub trait Values {
    /// That of a column; empty if there is none.
    fn value(&self, column: usize) -> &[u8];
}

/// No data file.
impl Values for () {
    fn value(&self, _: usize) -> &[u8] {
        &[]
    }
}

impl Values for [&[u8]] {
    fn value(&self, column: usize) -> &[u8] {
        self.get(column).copied().unwrap_or_default()
    }
}

/// A piece of the text of a [`Program`].
#[derive(Clone, Copy)]
pub(super) struct Span {
    start: u32,
    end: u32,
}

pub(super) enum Op {
    Text(Span),
    Uuid,
    Sequence,
    Worker,
    Date(Escape),
    UnixSeconds,
    UnixMilliseconds,
    Integer {
        lowest: i64,
        count: u64,
    },
    /// Escaped already.
    Pick(Box<[Span]>),
    Column {
        column: u32,
        escape: Escape,
    },
    /// The value of a field begins.
    Begin,
    /// It ends: white space at its edges is dropped.
    End,
    /// The length of the body between two texts, or nothing where there is no body and it need not
    /// be said.
    Length {
        before: Span,
        behind: Span,
        always: bool,
    },
}

/// What of a request's maker its operations need.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Needs {
    pub(super) data: bool,
    pub(super) sequence: bool,
    pub(super) clock: bool,
}

/// Operations, and the text that they copy from.
pub(super) struct Program {
    text: Vec<u8>,
    ops: Vec<Op>,
    /// Whether values are strings of HPACK, with their length in front.
    prefixed: bool,
    pub(super) needs: Needs,
    /// The text behind this is in no operation yet.
    told: usize,
}

impl Program {
    pub(super) fn new(prefixed: bool) -> Program {
        Program {
            text: Vec::new(),
            ops: Vec::new(),
            prefixed,
            needs: Needs::default(),
            told: 0,
        }
    }

    /// Adds text.
    pub(super) fn text(&mut self, text: &[u8]) {
        self.text.extend_from_slice(text);
    }

    /// Adds text by appending to it.
    pub(super) fn text_mut(&mut self) -> &mut Vec<u8> {
        &mut self.text
    }

    /// Adds a template whose values are all escaped alike.
    pub(super) fn template(&mut self, template: &Template, escape: Escape) {
        for piece in template.pieces() {
            match piece {
                Piece::Text(text) => self.text(text),
                Piece::Value(value) => self.value(value, escape),
            }
        }
    }

    /// Adds a body.
    pub(super) fn body(&mut self, template: &Template, kind: BodyKind) {
        let mut place = JsonPlace::default();
        for piece in template.pieces() {
            match (piece, kind) {
                (Piece::Text(text), _) => {
                    place.read(text);
                    self.text(text);
                }
                (Piece::Value(value), BodyKind::Json) => self.value(value, place.escape()),
                (Piece::Value(value), BodyKind::Form) => self.value(value, Escape::Percent),
                (Piece::Value(value), BodyKind::Other) => self.value(value, Escape::AsIs),
            }
        }
    }

    /// Adds the value of a field that changes.
    pub(super) fn field_value(&mut self, template: &Template, escape: Escape) {
        self.op(Op::Begin);
        self.template(template, escape);
        self.op(Op::End);
    }

    /// Adds the length of the body.
    pub(super) fn length(&mut self, before: &[u8], behind: &[u8], always: bool) {
        let [before, behind] = [before, behind].map(|text| self.apart(text));
        self.op(Op::Length {
            before,
            behind,
            always,
        });
    }

    /// It, when nothing more is added.
    pub(super) fn finished(mut self) -> Program {
        self.tell();
        self.text.shrink_to_fit();
        self.ops.shrink_to_fit();
        self
    }

    /// Whether it is the same text every time; then what that is.
    pub(super) fn constant(&self) -> Option<&[u8]> {
        match &*self.ops {
            [] => Some(&[]),
            [Op::Text(span)] => Some(self.at(*span)),
            _ => None,
        }
    }

    fn value(&mut self, value: &Function, escape: Escape) {
        let op = match value {
            Function::Constant { value, .. } => return escape.append(value, &mut self.text),
            Function::Uuid => Op::Uuid,
            Function::Worker => Op::Worker,
            Function::Integer { lowest, count } => Op::Integer {
                lowest: *lowest,
                count: *count,
            },
            Function::Sequence => {
                self.needs.sequence = true;
                Op::Sequence
            }
            Function::Date(moment) => {
                self.needs.clock = true;
                match moment {
                    Moment::Rfc3339 => Op::Date(escape),
                    Moment::UnixSeconds => Op::UnixSeconds,
                    Moment::UnixMilliseconds => Op::UnixMilliseconds,
                }
            }
            Function::Pick(words) => {
                let words = words.iter().map(|word| {
                    let mut escaped = Vec::new();
                    escape.append(word, &mut escaped);
                    self.apart(&escaped)
                });
                Op::Pick(words.collect())
            }
            Function::Column(column) => {
                self.needs.data = true;
                Op::Column {
                    column: *column as u32,
                    escape,
                }
            }
        };
        self.op(op);
    }

    fn op(&mut self, op: Op) {
        self.tell();
        self.ops.push(op);
    }

    /// Makes an operation of the text that is in none yet.
    fn tell(&mut self) {
        let span = self.span(self.told);
        self.told = self.text.len();
        if span.start < span.end {
            self.ops.push(Op::Text(span));
        }
    }

    /// Adds text that other operations than copying refer to.
    fn apart(&mut self, text: &[u8]) -> Span {
        self.tell();
        self.text.extend_from_slice(text);
        let span = self.span(self.told);
        self.told = self.text.len();
        span
    }

    /// From a place in the text to its end. Texts are shorter than 4 GiB: files of targets are.
    fn span(&self, start: usize) -> Span {
        Span {
            start: start as u32,
            end: self.text.len() as u32,
        }
    }

    #[inline]
    fn at(&self, span: Span) -> &[u8] {
        &self.text[span.start as usize..span.end as usize]
    }

    /// Appends what it makes, with a body of so many bytes behind it.
    #[inline]
    pub(super) fn run<V: Values + ?Sized>(
        &self,
        row: &V,
        chance: &mut Chance,
        body_bytes: usize,
        out: &mut Vec<u8>,
    ) {
        let mut begin = 0;
        for op in &self.ops {
            match op {
                Op::Text(span) => out.extend_from_slice(self.at(*span)),
                Op::Uuid => chance.append_uuid(out),
                Op::Sequence => chance.append_sequence(out),
                Op::Worker => chance.append_worker(out),
                Op::Date(escape) => escape.append(&chance.date(), out),
                Op::UnixSeconds => chance.append_unix_seconds(out),
                Op::UnixMilliseconds => chance.append_unix_milliseconds(out),
                Op::Integer { lowest, count } => chance.append_integer(*lowest, *count, out),
                Op::Pick(words) => {
                    let word = words[chance.index(words.len())];
                    out.extend_from_slice(self.at(word));
                }
                Op::Column { column, escape } => escape.append(row.value(*column as usize), out),
                Op::Begin if self.prefixed => begin = block::begin_string(out),
                Op::Begin => begin = out.len(),
                Op::End => self.end_value(begin, out),
                Op::Length {
                    before,
                    behind,
                    always,
                } => {
                    if *always || body_bytes > 0 {
                        out.extend_from_slice(self.at(*before));
                        self.append_length(body_bytes, out);
                        out.extend_from_slice(self.at(*behind));
                    }
                }
            }
        }
    }

    fn append_length(&self, body_bytes: usize, out: &mut Vec<u8>) {
        let at = self.prefixed.then(|| block::begin_string(out));
        append_number(body_bytes as u64, out);
        if let Some(at) = at {
            block::end_string(at, out);
        }
    }

    /// Ends the value of a field. White space at its edges is no part of it (RFC 9110 §5.5), and in
    /// HTTP/2 it would be malformed (RFC 9113 §8.2.1).
    #[inline]
    fn end_value(&self, begin: usize, out: &mut Vec<u8>) {
        let start = begin + usize::from(self.prefixed);
        let is_space = |byte: &u8| matches!(byte, b' ' | b'\t');
        while out.len() > start && out.last().is_some_and(is_space) {
            out.pop();
        }
        if out.get(start).is_some_and(is_space) {
            let spaces = out[start..].iter().take_while(|byte| is_space(byte));
            let behind = start + spaces.count();
            out.drain(start..behind);
        }
        if self.prefixed {
            block::end_string(begin, out);
        }
    }
}

/// The value of a field that stays the same, without white space at its edges.
pub(super) fn constant_value(template: &Template, escape: Escape) -> Option<Vec<u8>> {
    if !template.is_constant() {
        return None;
    }
    let mut program = Program::new(false);
    program.template(template, escape);
    let text = program.text;
    let is_space = |byte: &u8| matches!(byte, b' ' | b'\t');
    let start = text
        .iter()
        .position(|byte| !is_space(byte))
        .unwrap_or(text.len());
    let end = text
        .iter()
        .rposition(|byte| !is_space(byte))
        .map_or(start, |last| last + 1);
    Some(text[start..end].to_vec())
}

//! The variables that a file defines, `@name = value`, and putting them where `{{name}}` stands.
//!
//! As in VS Code's editor they apply to the whole file, wherever they stand above a request line; a
//! value ends with its line, `\n`, `\r` and `\t` in it are what they are in JSON, and a backslash
//! stands for what follows it. `{{%name}}` is the value percent-encoded. A value may have variables
//! and other templates in it.

use std::collections::BTreeMap;

use measure::foreign::Foreign;
use plan::Invalid;

use super::super::template::{Piece, pieces};
use super::super::{FILE_BYTES_MAX, Source};
use super::refused;

/// The most variables of a file.
const VARIABLES_MAX: usize = 1000;
/// The most bytes of a variable, with those that are put into it.
const VALUE_BYTES_MAX: usize = 64 << 10;
/// So often a variable may refer to one that refers to one.
const DEPTH_MAX: usize = 32;

/// Name and value, if a line defines a variable.
pub(super) fn definition(line: &str) -> Option<(&str, &str)> {
    let (name, value) = line.trim().strip_prefix('@')?.split_once('=')?;
    let name = name.trim_end();
    let is_name = !name.is_empty() && !name.contains(char::is_whitespace);
    is_name.then_some((name, value.trim()))
}

/// The variables of a file.
pub(super) struct Variables<'s> {
    source: &'s Source<'s>,
    defined: BTreeMap<String, Definition>,
    /// Their values, with variables put in.
    values: BTreeMap<String, Vec<u8>>,
}

struct Definition {
    line: usize,
    value: Vec<u8>,
}

impl<'s> Variables<'s> {
    pub(super) fn new(source: &'s Source<'s>) -> Variables<'s> {
        Variables {
            source,
            defined: BTreeMap::new(),
            values: BTreeMap::new(),
        }
    }

    /// Takes a definition. A second one of another value is refused: to VS Code's editor the last
    /// counts, to others the last above a request.
    pub(super) fn define(&mut self, name: &str, value: &str, line: usize) -> Result<(), Invalid> {
        let value = unescaped(value);
        if let Some(first) = self.defined.get(name) {
            if first.value == value {
                return Ok(());
            }
            let what = format!(
                "`@{}` has another value in line {}, and editors differ in which counts: give them \
                 two names",
                Foreign::new(name),
                first.line
            );
            return Err(self.source.mistake(line, what));
        }
        if self.defined.len() >= VARIABLES_MAX {
            let what = format!("more than {VARIABLES_MAX} variables are too many: use fewer");
            return Err(self.source.mistake(line, what));
        }
        self.defined
            .insert(name.to_owned(), Definition { line, value });
        Ok(())
    }

    /// Puts variables into variables.
    pub(super) fn resolve(&mut self) -> Result<(), Invalid> {
        let names: Vec<String> = self.defined.keys().cloned().collect();
        for name in names {
            self.resolve_one(&name, &mut Vec::new())?;
        }
        Ok(())
    }

    /// Resolves those that `name` refers to, and then itself. `above` has those that it is for.
    fn resolve_one(&mut self, name: &str, above: &mut Vec<String>) -> Result<(), Invalid> {
        let Some(Definition { line, value }) = self.defined.get(name) else {
            return Ok(());
        };
        if self.values.contains_key(name) {
            return Ok(());
        }
        let (line, value) = (*line, value.clone());
        if let Some(from) = above.iter().position(|one| one == name) {
            let circle = above[from..].iter().map(String::as_str).chain([name]);
            let circle: Vec<&str> = circle.collect();
            let what = format!(
                "this variable is defined by itself, {}: give one of them a value",
                Foreign::new(circle.join(" → "))
            );
            return Err(self.source.mistake(line, what));
        }
        if above.len() >= DEPTH_MAX {
            let what = format!(
                "more than {DEPTH_MAX} variables refer to each other up to this one: use fewer"
            );
            return Err(self.source.mistake(line, what));
        }
        above.push(name.to_owned());
        for piece in pieces(&value) {
            if let Piece::Template(inner) = piece {
                self.resolve_one(name_of(inner).0, above)?;
            }
        }
        above.pop();
        let value = self.put_in_up_to(VALUE_BYTES_MAX, &value, line)?;
        self.values.insert(name.to_owned(), value);
        Ok(())
    }

    /// A text with the variables in it put in; other templates stay as they are.
    pub(super) fn put_in(&self, text: &[u8], line: usize) -> Result<Vec<u8>, Invalid> {
        self.put_in_up_to(FILE_BYTES_MAX, text, line)
    }

    fn put_in_up_to(&self, most: usize, text: &[u8], line: usize) -> Result<Vec<u8>, Invalid> {
        let mut out = Vec::with_capacity(text.len());
        for piece in pieces(text) {
            match piece {
                Piece::Text(text) => out.extend_from_slice(text),
                Piece::Unclosed(inner) => {
                    out.extend_from_slice(b"{{");
                    out.extend_from_slice(inner);
                }
                Piece::Template(inner) => self.put_one_in(inner, line, &mut out)?,
            }
            if out.len() > most {
                let what = format!(
                    "with its variables put in this has more than {} KiB: use shorter ones",
                    most >> 10
                );
                return Err(self.source.mistake(line, what));
            }
        }
        Ok(out)
    }

    fn put_one_in(&self, inner: &[u8], line: usize, out: &mut Vec<u8>) -> Result<(), Invalid> {
        let (name, is_encoded) = name_of(inner);
        match self.values.get(name) {
            Some(value) if is_encoded => encode(value, out),
            Some(value) => out.extend_from_slice(value),
            None if refused::is_reference(name) => {
                let what = format!(
                    "{{{{{}}}}} takes a value from an earlier request or its answer, but requests \
                     of a mix don't follow each other: write the value, or take it from a data \
                     file (--data)",
                    Foreign::new(name)
                );
                return Err(self.source.mistake(line, what));
            }
            None => {
                out.extend_from_slice(b"{{");
                out.extend_from_slice(inner);
                out.extend_from_slice(b"}}");
            }
        }
        Ok(())
    }
}

/// What a template names, and whether it is to be percent-encoded. What isn't UTF-8 names nothing.
fn name_of(inner: &[u8]) -> (&str, bool) {
    let name = std::str::from_utf8(inner).unwrap_or_default().trim();
    match name.strip_prefix('%') {
        Some(name) => (name, true),
        None => (name, false),
    }
}

/// A value as it is written, without its backslashes. Those of `\{{` stay: they belong to
/// templates.
fn unescaped(value: &str) -> Vec<u8> {
    let mut out = String::with_capacity(value.len());
    let mut rest = value.chars();
    while let Some(c) = rest.next() {
        match (c, rest.as_str()) {
            ('\\', after) if after.starts_with("{{") => out.push(c),
            ('\\', _) => out.extend(rest.next().map(|c| match c {
                'n' => '\n',
                'r' => '\r',
                't' => '\t',
                other => other,
            })),
            _ => out.push(c),
        }
    }
    out.into_bytes()
}

/// Percent-encodes all but what `encodeURIComponent` of ECMAScript leaves (ECMA-262 §19.2.6).
fn encode(value: &[u8], out: &mut Vec<u8>) {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    for byte in value {
        if byte.is_ascii_alphanumeric() || b"-_.!~*'()".contains(byte) {
            out.push(*byte);
        } else {
            let digit = |half: u8| DIGITS[usize::from(half & 15)];
            out.extend_from_slice(&[b'%', digit(byte >> 4), digit(*byte)]);
        }
    }
}

//! Texts with `{{…}}` in them, read into pieces.

use super::functions::{Function, Known};

/// A text with values in it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Template {
    pieces: Vec<Piece>,
}

/// A piece of a text.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Piece {
    /// What stands there.
    Text(Vec<u8>),
    /// What is put there.
    Value(Function),
}

/// What begins a value.
const OPEN: &[u8] = b"{{";

/// Whether a text has anything of a template in it.
pub(super) fn has_braces(text: &[u8]) -> bool {
    find(text, OPEN).is_some()
}

impl Template {
    /// A text that is taken as it is.
    pub(super) fn literal(text: &[u8]) -> Template {
        let mut template = Template::default();
        template.push_text(text);
        template
    }

    /// Reads a text. Of an odd number of backslashes before `{{` the last is dropped, and the
    /// braces are text; an even number stays and changes nothing, so that JSON's own `\\` is left
    /// alone.
    ///
    /// # Errors
    /// What is wrong, and what to do; `place` says what text it is.
    pub(super) fn parse(text: &[u8], place: &str, known: &Known<'_>) -> Result<Template, String> {
        let mut template = Template::default();
        let mut rest = text;
        while let Some(at) = find(rest, OPEN) {
            let before = &rest[..at];
            let backslashes = before
                .iter()
                .rev()
                .take_while(|byte| **byte == b'\\')
                .count();
            if backslashes % 2 == 1 {
                template.push_text(&before[..at - 1]);
                template.push_text(OPEN);
                rest = &rest[at + OPEN.len()..];
                continue;
            }
            template.push_text(before);
            let behind = &rest[at + OPEN.len()..];
            let length = end_of_expression(behind).ok_or_else(|| {
                format!(
                    "{place} has a {{{{ without its }}}} on the same line: close it, or write \
                     \\{{{{ for braces that are text"
                )
            })?;
            let expression = std::str::from_utf8(&behind[..length]).map_err(|_| {
                format!("{place} has a {{{{…}}}} that isn't UTF-8: save the file as UTF-8")
            })?;
            let value = Function::parse(expression, known)?;
            template.pieces.push(Piece::Value(value));
            rest = &behind[length + OPEN.len()..];
        }
        template.push_text(rest);
        Ok(template)
    }

    /// The pieces, in order. No two texts follow each other, and none is empty.
    pub(super) fn pieces(&self) -> &[Piece] {
        &self.pieces
    }

    /// Whether it is the same every time.
    pub(super) fn is_constant(&self) -> bool {
        let constant = |piece: &Piece| {
            matches!(
                piece,
                Piece::Text(_) | Piece::Value(Function::Constant { .. })
            )
        };
        self.pieces.iter().all(constant)
    }

    /// Whether nothing is put into it.
    pub(super) fn is_text(&self) -> bool {
        !self
            .pieces
            .iter()
            .any(|piece| matches!(piece, Piece::Value(_)))
    }

    /// The variables of the environment in it, with their values.
    pub(super) fn environment(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.pieces.iter().filter_map(|piece| match piece {
            Piece::Value(Function::Constant { name, value }) => Some((&**name, &**value)),
            _ => None,
        })
    }

    /// It with `1` in the place of each value, to be checked. No value of the environment is in it,
    /// and so in no message.
    pub(super) fn sample(&self) -> Vec<u8> {
        let pieces = self.pieces.iter().map(|piece| match piece {
            Piece::Text(text) => &**text,
            Piece::Value(_) => b"1",
        });
        pieces.collect::<Vec<_>>().concat()
    }

    fn push_text(&mut self, text: &[u8]) {
        match self.pieces.last_mut() {
            _ if text.is_empty() => {}
            Some(Piece::Text(last)) => last.extend_from_slice(text),
            _ => self.pieces.push(Piece::Text(text.to_vec())),
        }
    }
}

/// An expression is no longer; what looks like one is text that isn't closed.
const EXPRESSION_BYTES_MAX: usize = 4096;

/// How long an expression is: up to the next `}}` that is in no quotes, on the same line.
pub(crate) fn end_of_expression(text: &[u8]) -> Option<usize> {
    let text = &text[..text.len().min(EXPRESSION_BYTES_MAX)];
    let line = &text[..find(text, b"\n").unwrap_or(text.len())];
    let mut quote = None;
    for (at, &byte) in line.iter().enumerate() {
        match quote {
            Some(open) if byte == open => quote = None,
            Some(_) => {}
            None if line[at..].starts_with(b"}}") => return Some(at),
            None if byte == b'"' || byte == b'\'' => quote = Some(byte),
            None => {}
        }
    }
    // An apostrophe that closes nowhere is a mistake in the expression, which says so itself.
    find(line, b"}}")
}

fn find(text: &[u8], what: &[u8]) -> Option<usize> {
    text.windows(what.len()).position(|window| window == what)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Template, String> {
        let columns = ["a", "it's"].map(str::to_owned);
        let known = Known {
            columns: &columns,
            environment: &|name| (name == "X").then(|| b"secret".to_vec()),
        };
        Template::parse(text.as_bytes(), "the path", &known)
    }

    /// The pieces as one text: values in angle brackets.
    fn shown(text: &str) -> String {
        let template = parse(text).unwrap();
        let pieces = template.pieces().iter().map(|piece| match piece {
            Piece::Text(text) => String::from_utf8(text.clone()).unwrap(),
            Piece::Value(Function::Pick(words)) => format!("<{} words>", words.len()),
            Piece::Value(value) => format!("<{value:?}>"),
        });
        pieces.collect()
    }

    #[test]
    fn texts_are_read_into_pieces() {
        let table = [
            ("", ""),
            ("plain } }} { {", "plain } }} { {"),
            ("{{a}}", "<Column(0)>"),
            ("x{{ a }}y{{seq}}z", "x<Column(0)>y<Sequence>z"),
            ("{{a}}{{a}}", "<Column(0)><Column(0)>"),
            ("{{it's}}!", "<Column(1)>!"),
            ("{{pick '}}' \"{{\" x}}.", "<3 words>."),
            // The braces of JSON around a value.
            ("{\"a\":{\"b\":{{a}}}}", "{\"a\":{\"b\":<Column(0)>}}"),
            // Backslashes.
            ("\\{{a}}", "{{a}}"),
            ("x\\{{a}}{{a}}", "x{{a}}<Column(0)>"),
            ("\\\\{{a}}", "\\\\<Column(0)>"),
            ("\\\\\\{{a}}", "\\\\{{a}}"),
            ("\\ \\n{{a}}", "\\ \\n<Column(0)>"),
            ("\\{{", "{{"),
        ];
        for (text, expected) in table {
            assert_eq!(shown(text), expected, "{text}");
        }
    }

    #[test]
    fn texts_that_cannot_be_read_say_why() {
        let unclosed = "the path has a {{ without its }} on the same line: close it, or write \
                        \\{{ for braces that are text";
        let table = [
            ("{{", unclosed),
            ("a {{a} b", unclosed),
            ("{{a\n}}", unclosed),
            ("\\\\{{", unclosed),
            (
                "{{pick 'x}}",
                "{{pick 'x}} has a quote that isn't closed: close it",
            ),
            (
                "{{}}",
                "{{}} is empty: name a function or a column of the data file",
            ),
        ];
        for (text, expected) in table {
            assert_eq!(parse(text), Err(expected.to_owned()), "{text}");
        }
        let known = Known {
            columns: &[],
            environment: &|_| None,
        };
        assert!(Template::parse(b"{{\xff}}", "it", &known).is_err());
        assert!(Template::parse(b"\xff\xfe", "it", &known).is_ok());
    }

    #[test]
    fn a_sample_has_no_values_and_what_changes_is_known() {
        let template = parse("a{{env X}}b{{a}}").unwrap();
        assert_eq!(template.sample(), b"a1b1");
        assert!(!template.is_constant() && !template.is_text());
        let template = parse("a{{env X}}").unwrap();
        assert!(template.is_constant() && !template.is_text());
        assert!(parse("\\{{a}}").unwrap().is_text());
        assert_eq!(Template::literal(b"{{a}}").sample(), b"{{a}}");
    }
}

//! Bodies: JSON, text, bytes, files.

use measure::foreign::Foreign;
use serde::de::IgnoredAny;

use super::lexemes::{Language, Until, bytes_of};
use super::reader::{Reader, Wrong, wrong_at};
use crate::model::{Body, Piece, Template};

/// A body, and what it's sent as where the file doesn't say.
pub(super) struct Given {
    pub body: Body,
    pub content_type: Option<&'static str>,
}

const JSON: Option<&str> = Some("application/json");

impl Reader<'_> {
    /// Whether a body begins here, rather than a header, a section, or another request.
    pub(super) fn is_body(&self) -> bool {
        let line = self.line();
        if line.starts_with("{{") {
            // A placeholder by itself is a body of JSON, one before a colon a name.
            let behind = line.find("}}").map_or("", |end| &line[end + 2..]);
            let behind = behind.trim_start();
            return behind.is_empty() || behind.starts_with('#');
        }
        let begins = ["{", "[", "`", "hex,", "base64,", "file,", "<", "\""];
        if begins.iter().any(|start| line.starts_with(start)) {
            return true;
        }
        let word = line.split('#').next().unwrap_or_default().trim_end();
        serde_json::from_str::<serde_json::Value>(word).is_ok()
    }

    /// A body, up to the end of its last line.
    pub(super) fn body(&mut self) -> Result<Given, Wrong> {
        let start = self.at;
        let given = if self.eat("```") {
            self.ticks(start)?
        } else if self.rest().starts_with('`') {
            let body = Body::Text(self.one_line()?);
            Given {
                body,
                content_type: None,
            }
        } else if self.rest().starts_with('<') {
            let what = "an XML body isn't supported as such: put it between ```xml and ```";
            return Err(self.wrong(what));
        } else if let Some(bytes) = self.bytes()? {
            let body = Body::Bytes(bytes);
            Given {
                body,
                content_type: None,
            }
        } else {
            let body = Body::Text(self.json()?);
            Given {
                body,
                content_type: JSON,
            }
        };
        self.end_of_line()?;
        Ok(given)
    }

    /// Three ticks have been stepped over.
    fn ticks(&mut self, start: usize) -> Result<Given, Wrong> {
        let ticks = self.hints(start, true)?;
        let at = self.at;
        if ticks.language == Language::GraphQl {
            let body = Body::Text(self.graph_ql(start)?);
            return Ok(Given {
                body,
                content_type: JSON,
            });
        }
        let template = self.ticked(start, ticks)?;
        let (body, content_type) = match ticks.language {
            Language::Base64 | Language::Hex => {
                (Body::Bytes(bytes_of(&template, ticks.language, at)?), None)
            }
            Language::Raw | Language::GraphQl => (Body::Text(template), None),
            Language::Json => (Body::Text(template), JSON),
            Language::Xml => (Body::Text(template), Some("application/xml")),
        };
        Ok(Given { body, content_type })
    }

    /// A value of JSON with placeholders, as it's written.
    fn json(&mut self) -> Result<Template, Wrong> {
        let start = self.at;
        let (mut pieces, mut text) = (Vec::new(), String::new());
        // The same without placeholders: what a parser of JSON has to take.
        let mut probe = String::new();
        let (mut depth, mut is_string, mut is_escaped) = (0_u32, false, false);
        while let Some(c) = self.peek() {
            if self.rest().starts_with("{{") && !is_escaped {
                if !text.is_empty() {
                    pieces.push(Piece::Text(std::mem::take(&mut text).into()));
                }
                let made = self.placeholder()?;
                pieces.push(match is_string {
                    true => Piece::MadeInJson(made),
                    false => Piece::Made(made),
                });
                probe.push(if is_string { 'x' } else { '0' });
                if depth == 0 && !is_string {
                    break;
                }
                continue;
            }
            if depth == 0 && !is_string && matches!(c, '\n' | '#') {
                break;
            }
            text.push(c);
            probe.push(c);
            self.at += c.len_utf8();
            match c {
                _ if is_escaped => is_escaped = false,
                '\\' if is_string => is_escaped = true,
                '"' => is_string = !is_string,
                '{' | '[' if !is_string => depth += 1,
                '}' | ']' if !is_string => {
                    depth = depth.saturating_sub(1);
                    if depth == 0 {
                        break;
                    }
                }
                _ => {}
            }
        }
        if let Err(why) = serde_json::from_str::<IgnoredAny>(&probe) {
            let lines = self.text[start..].split_inclusive('\n');
            let before: usize = lines.take(why.line().saturating_sub(1)).map(str::len).sum();
            // Its own line is one of the body.
            let what = why.to_string();
            let what = what.split(" at line ").next().unwrap_or_default();
            let what = format!("the body isn't JSON: {}", Foreign::new(what));
            return Err(wrong_at(start + before, what));
        }
        if pieces.is_empty() || !text.trim_end().is_empty() {
            pieces.push(Piece::Text(text.trim_end().into()));
        }
        Ok(Template(pieces.into()))
    }

    /// A request of GraphQL over HTTP: the document as a string of JSON, and its variables, which
    /// may stand behind it.
    fn graph_ql(&mut self, start: usize) -> Result<Template, Wrong> {
        let rest = self.rest();
        let Some(end) = rest.find("```") else {
            return Err(wrong_at(start, "``` isn't closed by another ```"));
        };
        let variables = variables_of(&rest[..end]);
        let left = rest.len() - variables.unwrap_or(end);
        let mut pieces = vec![Piece::Text("{\"query\":\"".into())];
        for piece in self.template(Until::Left(left))?.0 {
            pieces.push(match piece {
                Piece::Text(text) => {
                    let text = match variables {
                        Some(_) => text.trim_end(),
                        None => &*text,
                    };
                    let quoted = serde_json::Value::String(text.into()).to_string();
                    Piece::Text(quoted[1..quoted.len() - 1].into())
                }
                Piece::Made(made) | Piece::MadeInJson(made) => Piece::MadeInJson(made),
            });
        }
        pieces.push(Piece::Text("\"".into()));
        if variables.is_some() {
            self.eat("variables");
            self.take(char::is_whitespace);
            pieces.push(Piece::Text(",\"variables\":".into()));
            pieces.extend(self.json()?.0);
            self.take(char::is_whitespace);
        }
        pieces.push(Piece::Text("}".into()));
        match self.eat("```") {
            true => Ok(Template(pieces.into())),
            false => Err(self.wrong("``` belongs behind the variables")),
        }
    }
}

/// Where the line with the variables of a document begins, if it has one.
fn variables_of(document: &str) -> Option<usize> {
    let mut start = 0;
    for line in document.split_inclusive('\n') {
        let rest = line.strip_prefix("variables").map(str::trim_start);
        if rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('{')) {
            return Some(start);
        }
        start += line.len();
    }
    None
}

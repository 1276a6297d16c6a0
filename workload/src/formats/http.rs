//! `.http` files, as VS Code's REST Client (its `src/utils/selector.ts`, `httpRequestParser.ts`)
//! and JetBrains' HTTP Client (its http-request-in-editor specification) read them.
//!
//! Lines that begin with `###` separate blocks. A block is a preamble of comments, variables and
//! empty lines, then a request line, headers up to an empty line, and a body up to the block's end.
//! Where the two editors differ, what one of them reads is read, unless it means another thing to
//! the other; what takes a script, a person or an earlier answer is refused by name.

mod body;
mod messages;
mod refused;
mod variables;

use plan::Invalid;

use self::variables::Variables;
use super::draft::{Collector, Directive, Draft, Labels, split_header};
use super::template::{Piece, pieces};
use super::{Defaults, Line, Open, Source, Targets};

pub(super) fn parse(
    source: &Source<'_>,
    defaults: &Defaults,
    open: &mut Open<'_>,
) -> Result<Targets, Invalid> {
    let lines: Vec<Line<'_>> = source.lines().collect();
    let mut variables = Variables::new(source);
    for (_, block) in blocks(&lines) {
        for line in preamble(block) {
            if let Some((name, value)) = variables::definition(source.text(*line)?) {
                variables.define(name, value, line.number)?;
            }
        }
    }
    variables.resolve()?;
    let mut reader = Reader {
        source,
        variables: &variables,
        collector: Collector::new(source, defaults),
        open,
    };
    for (separator, block) in blocks(&lines) {
        reader.block(separator, block)?;
    }
    reader.collector.finish()
}

/// The blocks, each with the separator above it.
fn blocks<'l, 's>(
    lines: &'l [Line<'s>],
) -> impl Iterator<Item = (Option<Line<'s>>, &'l [Line<'s>])> {
    let mut separator = None;
    let mut rest = Some(lines);
    std::iter::from_fn(move || {
        let left = rest?;
        let is_separator = |line: &Line<'_>| line.bytes.starts_with(b"###");
        let end = left.iter().position(is_separator);
        let block = &left[..end.unwrap_or(left.len())];
        let above = std::mem::replace(&mut separator, end.map(|end| left[end]));
        rest = end.map(|end| &left[end + 1..]);
        Some((above, block))
    })
}

/// The lines of a block above its request line.
fn preamble<'l, 's>(block: &'l [Line<'s>]) -> &'l [Line<'s>] {
    let is_of_it = |line: &Line<'_>| {
        let text = line.bytes.trim_ascii_start();
        text.is_empty() || text.starts_with(b"@") || comment(line.bytes).is_some()
    };
    let end = block.iter().position(|line| !is_of_it(line));
    &block[..end.unwrap_or(block.len())]
}

/// What follows the sign of a comment, `#` or `//`, if a line is one.
fn comment(line: &[u8]) -> Option<&[u8]> {
    let text = line.trim_ascii_start();
    let rest = text.strip_prefix(b"#");
    rest.or_else(|| text.strip_prefix(b"//"))
}

struct Reader<'r> {
    source: &'r Source<'r>,
    variables: &'r Variables<'r>,
    collector: Collector<'r>,
    open: &'r mut Open<'r>,
}

impl<'r> Reader<'r> {
    /// Reads a block, which may have no request.
    fn block(&mut self, separator: Option<Line<'_>>, block: &[Line<'_>]) -> Result<(), Invalid> {
        let mut labels = Labels {
            name: self.title(separator)?,
            ..Labels::default()
        };
        let above = preamble(block);
        for line in above {
            self.above(*line, &mut labels)?;
        }
        let Some((first, below)) = block[above.len()..].split_first() else {
            return labels.check_unused(self.source);
        };
        let text = self.source.text(*first)?;
        if let Some(what) = refused::instead_of_request(text) {
            return Err(self.source.mistake(first.number, what));
        }
        if text.trim_start().starts_with("HTTP/") {
            let what = "the answer that stands here is ignored";
            self.collector.note(first.number, "answer", what);
            return labels.check_unused(self.source);
        }
        let mut draft = Draft {
            line: first.number,
            labels,
            ..Draft::default()
        };
        let below = self.request_line(*first, below, &mut draft)?;
        let below = self.headers(below, &mut draft)?;
        if draft.is_websocket() {
            return self.messages(below, draft);
        }
        draft.body = self.body(below, &draft)?;
        self.collector.add(draft)
    }

    /// The name that stands behind a separator.
    fn title(&self, separator: Option<Line<'_>>) -> Result<Option<String>, Invalid> {
        let Some(line) = separator else {
            return Ok(None);
        };
        let title = self.source.text(line)?.trim_start_matches('#').trim();
        Ok((!title.is_empty()).then(|| title.to_owned()))
    }

    /// Reads a line above a request line.
    fn above(&mut self, line: Line<'_>, labels: &mut Labels) -> Result<(), Invalid> {
        let text = self.source.text(line)?;
        if self.is_comment(line, labels)? || text.trim().is_empty() {
            return Ok(());
        }
        match variables::definition(text) {
            Some(_) => Ok(()),
            None => Err(self.source.mistake(
                line.number,
                "this line begins with @, but defines nothing: write `@name = value`",
            )),
        }
    }

    /// Whether a line is a comment, whose directive is then read.
    fn is_comment(&mut self, line: Line<'_>, labels: &mut Labels) -> Result<bool, Invalid> {
        if comment(line.bytes).is_none() {
            return Ok(false);
        }
        let text = self.source.text(line)?.trim_start();
        let text = text.trim_start_matches(['#', '/']);
        let Some(directive) = Directive::of(text) else {
            return Ok(true);
        };
        if !labels.take(directive, line.number, self.source)? {
            refused::directive(directive.name, |kind, what| {
                self.collector.note(line.number, kind, what);
            })
            .map_err(|what| self.source.mistake(line.number, what))?;
        }
        Ok(true)
    }

    /// A line of a head, with its variables put in.
    fn head_line(&self, line: Line<'_>) -> Result<String, Invalid> {
        let text = self.source.text(line)?;
        if let Some(what) = refused::script(text.as_bytes()) {
            return Err(self.source.mistake(line.number, what));
        }
        let put_in = self.variables.put_in(text.as_bytes(), line.number)?;
        Ok(String::from_utf8_lossy(&put_in).into_owned())
    }

    /// Reads method and URL, with the lines that continue the query, and gives what follows.
    fn request_line<'l, 's>(
        &mut self,
        first: Line<'_>,
        mut below: &'l [Line<'s>],
        draft: &mut Draft,
    ) -> Result<&'l [Line<'s>], Invalid> {
        let mut text = self.head_line(first)?.trim().to_owned();
        while let Some((line, rest)) = below.split_first() {
            if !self.is_comment(*line, &mut draft.labels)? {
                if !continues(line.bytes) {
                    break;
                }
                text.push_str(self.head_line(*line)?.trim());
            }
            below = rest;
        }
        let mistake = |what: &str| self.source.mistake(first.number, what);
        let (method, rest) = split_method(&text);
        if let Some(what) = method.and_then(refused::method) {
            return Err(mistake(&what));
        }
        let (url, version) = split_version(rest);
        if url.is_empty() {
            return Err(mistake(
                "the URL is missing: write METHOD http://HOST[:PORT]/PATH",
            ));
        }
        let is_header = url
            .split_whitespace()
            .next()
            .is_some_and(|word| word.ends_with(':'));
        if method.is_none() && is_header {
            return Err(mistake(
                "a header stands where a request should begin: write METHOD \
                 http://HOST[:PORT]/PATH above it",
            ));
        }
        draft.method = method.map(str::to_owned);
        draft.url = url.to_owned();
        if version.is_some_and(|version| !version.starts_with('1')) {
            let what = "the version of HTTP is ignored: flags set what is spoken";
            self.collector.note(first.number, "version", what);
        }
        Ok(below)
    }

    /// Reads headers up to an empty line, and gives what follows that.
    fn headers<'l, 's>(
        &mut self,
        mut below: &'l [Line<'s>],
        draft: &mut Draft,
    ) -> Result<&'l [Line<'s>], Invalid> {
        while let Some((line, rest)) = below.split_first() {
            if draft.is_websocket() && messages::is_mark(line.bytes) {
                break;
            }
            below = rest;
            if line.bytes.trim_ascii().is_empty() {
                break;
            }
            if self.is_comment(*line, &mut draft.labels)? {
                continue;
            }
            let text = self.head_line(*line)?;
            if begins_request(text.trim().as_bytes()) {
                return Err(self.source.mistake(
                    line.number,
                    "a request begins among the headers of another: separate them by a line `###`",
                ));
            }
            let Some((name, value)) = split_header(&text) else {
                return Err(self.source.mistake(
                    line.number,
                    "this header has no colon: write `Name: value`, and leave a line empty above \
                     the body",
                ));
            };
            if let Some(what) = refused::header(name, value) {
                return Err(self.source.mistake(line.number, what));
            }
            let added = draft.add_header(name, value);
            added.map_err(|what| {
                let begins_body = name.starts_with(['{', '[', '<', '"']) && !name.starts_with("{{");
                let more = match draft.is_websocket() {
                    true => ", and leave a line empty above the first message",
                    false if begins_body => ", and leave a line empty above the body",
                    false => "",
                };
                self.source.mistake(line.number, what + more)
            })?;
        }
        Ok(below)
    }
}

/// Whether a line continues the URL above it: one that begins with `?` or `&`, or, as for
/// JetBrains, an indented one that begins with `/`.
fn continues(line: &[u8]) -> bool {
    let text = line.trim_ascii_start();
    let is_indented = text.len() < line.len();
    text.starts_with(b"?") || text.starts_with(b"&") || (is_indented && text.starts_with(b"/"))
}

/// Whether a line is surely a request line: one with a method in capitals and a whole URL.
fn begins_request(line: &[u8]) -> bool {
    let end = line.iter().position(|byte| !byte.is_ascii_uppercase());
    let rest = line.get(end.filter(|end| *end > 0).unwrap_or(line.len())..);
    let url = rest
        .unwrap_or_default()
        .strip_prefix(b" ")
        .unwrap_or_default();
    let schemes = [
        &b"http://"[..],
        b"https://",
        b"grpc://",
        b"grpcs://",
        b"ws://",
        b"wss://",
    ];
    line.starts_with(b"GRPC ") || schemes.iter().any(|scheme| url.starts_with(scheme))
}

/// The method of a request line, if it has one, and what follows it. A URL can't be taken for a
/// method: it has a dot, a colon or a slash in it, unless it's a bare name.
fn split_method(text: &str) -> (Option<&str>, &str) {
    let is_of_it = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    let end = text.find(|c| !is_of_it(c)).unwrap_or(text.len());
    let (word, rest) = text.split_at(end);
    let is_all = rest.is_empty() && word.bytes().all(|byte| byte.is_ascii_uppercase());
    match rest.starts_with(char::is_whitespace) || is_all {
        true if !word.is_empty() => (Some(word), rest.trim()),
        _ => (None, text),
    }
}

/// Takes `HTTP/VERSION` from the end of a request line; the version without its name.
fn split_version(text: &str) -> (&str, Option<&str>) {
    let at = text.rfind(char::is_whitespace).unwrap_or(0);
    let (url, last) = (text[..at].trim_end(), text[at..].trim_start());
    let is_in_template = pieces(url.as_bytes()).any(|piece| matches!(piece, Piece::Unclosed(_)));
    match last.get(..5) {
        Some(name) if name.eq_ignore_ascii_case("HTTP/") && !is_in_template => {
            (url, Some(&last[5..]))
        }
        _ => (text, None),
    }
}

#[cfg(test)]
mod tests;

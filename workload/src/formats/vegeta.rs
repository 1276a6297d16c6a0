//! The http format of vegeta 12 (its `lib/targets.go`): a request line, header lines, `@FILE` for
//! the body, and an empty line.
//!
//! As there, no empty line is needed after a request that is only a request line, nor after
//! `@FILE`; and what isn't said is the same: the path of a body is relative to the working
//! directory.

use std::path::Path;

use plan::Invalid;

use super::draft::{Body, Collector, Directive, Draft, Labels, split_header};
use super::{Defaults, Line, Open, Source, Targets, body_file};

pub(super) fn parse(
    source: &Source<'_>,
    defaults: &Defaults,
    open: &mut Open<'_>,
) -> Result<Targets, Invalid> {
    let mut collector = Collector::new(source, defaults);
    let mut labels = Labels::default();
    let mut lines = source.lines().peekable();
    while let Some(line) = lines.next() {
        let text = source.text(line)?.trim();
        if let Some(comment) = text.strip_prefix('#') {
            label(comment, line, source, &mut labels, &mut collector)?;
            continue;
        }
        if text.is_empty() {
            continue;
        }
        let (method, url) = request_line(text).map_err(|what| source.mistake(line.number, what))?;
        let mut draft = Draft {
            line: line.number,
            labels: std::mem::take(&mut labels),
            method: Some(method.to_owned()),
            url: url.to_owned(),
            ..Draft::default()
        };
        let is_whole = match lines.peek() {
            Some(next) => begins_request(source.text(*next)?.trim()),
            None => true,
        };
        if !is_whole {
            rest(&mut lines, &mut draft, source, &mut collector, open)?;
        }
        collector.add(draft)?;
    }
    labels.check_unused(source)?;
    collector.finish()
}

/// Method and URL.
fn request_line(text: &str) -> Result<(&str, &str), &'static str> {
    if !begins_request(text) {
        return Err(
            "this isn't a request: write `METHOD http://HOST[:PORT]/PATH`, the method in \
             capitals, then its headers, with no empty line before they end",
        );
    }
    let (method, url) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    let url = url.trim();
    // What has neither is no URL to vegeta.
    if !url.starts_with('/') && !url.contains("://") {
        return Err("this URL has no scheme: write METHOD http://HOST[:PORT]/PATH");
    }
    Ok((method, url))
}

/// Whether a line begins a request: capitals and a space.
fn begins_request(text: &str) -> bool {
    let end = text.find(|c: char| !c.is_ascii_uppercase());
    end.is_some_and(|end| end > 0 && text[end..].starts_with(char::is_whitespace))
}

/// What follows a request line: headers, comments, a body.
fn rest<'s>(
    lines: &mut impl Iterator<Item = Line<'s>>,
    draft: &mut Draft,
    source: &Source<'_>,
    collector: &mut Collector<'_>,
    open: &mut Open<'_>,
) -> Result<(), Invalid> {
    for line in lines {
        let text = source.text(line)?.trim();
        let mistake = |what: &str| source.mistake(line.number, what);
        if text.is_empty() {
            break;
        }
        if let Some(comment) = text.strip_prefix('#') {
            label(comment, line, source, &mut draft.labels, collector)?;
            continue;
        }
        if let Some(path) = text.strip_prefix('@') {
            let path = Path::new(path.trim());
            let bytes = body_file(path, open, "the working directory");
            draft.body = Some(Body {
                bytes: bytes.map_err(|what| mistake(&what))?,
                is_template: false,
            });
            collector.note_literal(line.number, draft.body.as_ref());
            break;
        }
        if begins_request(text) {
            return Err(mistake(
                "a request begins among the headers of another: separate them by an empty line",
            ));
        }
        let (name, value) = split_header(text).ok_or_else(|| {
            mistake("this header has no colon: write `Name: value`; a body is `@FILE`")
        })?;
        if value.is_empty() {
            return Err(mistake("this header has no value: write `Name: value`"));
        }
        let added = draft.add_header(name, value);
        added.map_err(|what| mistake(&what))?;
    }
    Ok(())
}

/// Reads a comment, in which there may be a directive of ringside's.
fn label(
    comment: &str,
    line: Line<'_>,
    source: &Source<'_>,
    labels: &mut Labels,
    collector: &mut Collector<'_>,
) -> Result<(), Invalid> {
    let Some(directive) = Directive::of(comment) else {
        return Ok(());
    };
    if !labels.take(directive, line.number, source)? {
        let what = "this comment begins with @, but isn't `@name`, `@weight` or `@expect`";
        collector.note(line.number, "directive", what);
    }
    Ok(())
}

#[cfg(test)]
mod tests;

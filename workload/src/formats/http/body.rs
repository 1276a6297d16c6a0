//! Bodies of `.http` files: lines, and the files that lines name.
//!
//! A line `< FILE` is replaced by the file's bytes, `<@ FILE` by its text with variables, in bodies
//! of every type, as in VS Code's editor. Lines are joined by LF, those of multipart bodies by CR
//! LF (RFC 2046 §5.1.1). Lines that begin with `#` or `//` are comments and not sent, as in both
//! editors.

use std::path::Path;

use measure::foreign::Foreign;
use plan::Invalid;

use super::super::draft::{Body, Draft};
use super::super::template::{find, has_braces};
use super::super::{FILE_BYTES_MAX, Line, body_file};
use super::{Reader, begins_request, comment, refused, variables};

/// A body, as it is put together.
#[derive(Default)]
struct Parts {
    bytes: Vec<u8>,
    /// Whether something of it may have templates: lines, or the text of a file.
    has_text: bool,
    /// Whether that has braces.
    has_templates: bool,
    /// The line that names a file that is sent as it is, and has braces.
    literal: Option<usize>,
}

/// A line that names a file.
struct FileLine<'l> {
    path: &'l str,
    /// The encoding of a file with variables; none: its bytes are sent as they are.
    encoding: Option<&'l str>,
}

impl Reader<'_> {
    /// Reads what stands below an empty line. None: nothing.
    pub(super) fn body(
        &mut self,
        lines: &[Line<'_>],
        draft: &Draft,
    ) -> Result<Option<Body>, Invalid> {
        let lines = self.without_comments(lines)?;
        if lines.is_empty() {
            return Ok(None);
        }
        let media_type = MediaType::of(draft);
        let is_multipart = media_type.is("multipart/");
        let is_form = media_type.is("application/x-www-form-urlencoded");
        let separator: &[u8] = if is_multipart { b"\r\n" } else { b"\n" };
        let mut parts = Parts::default();
        for (index, line) in lines.iter().enumerate() {
            self.body_line(*line, &mut parts)?;
            let is_joined = match lines.get(index + 1) {
                Some(next) => is_form && next.bytes.starts_with(b"&"),
                None => !is_multipart && !media_type.is("application/x-ndjson"),
            };
            if !is_joined {
                parts.bytes.extend_from_slice(separator);
            }
            if parts.bytes.len() > FILE_BYTES_MAX {
                let what = format!("this body has more than {} MiB", FILE_BYTES_MAX >> 20);
                return Err(self.source.mistake(line.number, what));
            }
        }
        if is_multipart && let Err(what) = media_type.check_closed(&parts.bytes) {
            return Err(self.source.mistake(draft.line, what));
        }
        if let Some(line) = parts.literal.filter(|_| parts.has_templates) {
            let what = "this file has a `{{` in it, and so has the body around it: write `<@ FILE` \
                        if it's a template";
            return Err(self.source.mistake(line, what));
        }
        Ok(Some(Body {
            bytes: parts.bytes,
            is_template: parts.has_text && parts.literal.is_none(),
        }))
    }

    /// The lines of a body, without comments, and without empty lines around it.
    fn without_comments<'s>(&mut self, lines: &[Line<'s>]) -> Result<Vec<Line<'s>>, Invalid> {
        let is_blank =
            |line: &Line<'_>| line.bytes.trim_ascii().is_empty() || comment(line.bytes).is_some();
        let Some(last) = lines.iter().rposition(|line| !is_blank(line)) else {
            return Ok(Vec::new());
        };
        let mut kept: Vec<Line<'_>> = Vec::new();
        for line in &lines[..=last] {
            if comment(line.bytes).is_some() {
                let what = "a line of a body that begins with # or // is a comment, as in editors, \
                            and isn't sent: to send it, put the body into a file (`< FILE`)";
                self.collector.note(line.number, "comment in a body", what);
            } else if !kept.is_empty() || !is_blank(line) {
                kept.push(*line);
            }
        }
        Ok(kept)
    }

    fn body_line(&mut self, line: Line<'_>, parts: &mut Parts) -> Result<(), Invalid> {
        if let Some(what) = refused::script(line.bytes) {
            return Err(self.source.mistake(line.number, what));
        }
        if begins_request(line.bytes) {
            let what = "this line looks like a request, but is sent as part of a body: separate \
                        requests by a line `###`";
            self.collector.note(line.number, "request in a body", what);
        }
        let is_definition = |text: &str| variables::definition(text).is_some();
        if std::str::from_utf8(line.bytes).is_ok_and(is_definition) {
            let what = "this line looks like a variable, but is sent as part of a body: variables \
                        are defined above a request line";
            self.collector.note(line.number, "variable in a body", what);
        }
        if line.bytes.starts_with(b"<") {
            let text = self.source.text(line).map(str::to_owned);
            if let Some(file) = text.as_deref().ok().and_then(FileLine::of) {
                return self.file(&file, line.number, parts);
            }
        }
        let text = self.variables.put_in(line.bytes, line.number)?;
        parts.add_text(&text);
        Ok(())
    }

    /// Adds a file's content.
    fn file(&mut self, file: &FileLine<'_>, line: usize, parts: &mut Parts) -> Result<(), Invalid> {
        let mistake = |what: &str| self.source.mistake(line, what);
        let path = self.variables.put_in(file.path.as_bytes(), line)?;
        if has_braces(&path) {
            return Err(mistake(
                "a template can't be in a file's name: it's read once",
            ));
        }
        let path = String::from_utf8_lossy(&path);
        let path = self.source.folder.join(Path::new(&*path));
        let folder = match self.source.folder.as_os_str().is_empty() {
            true => "the working directory",
            false => "the folder of the .http file",
        };
        let content = body_file(&path, self.open, folder);
        let content = content.map_err(|what| {
            mistake(&format!(
                "{what} (a line that begins with `< ` names a file)"
            ))
        })?;
        match file.encoding {
            None => {
                if has_braces(&content) {
                    parts.literal = Some(line);
                }
                parts.bytes.extend_from_slice(&content);
            }
            Some("" | "utf8" | "utf-8") if std::str::from_utf8(&content).is_err() => {
                return Err(mistake("this file isn't UTF-8: `< FILE` sends it as it is"));
            }
            Some("" | "utf8" | "utf-8") => {
                let text = self.variables.put_in(&content, line)?;
                parts.add_text(&text);
            }
            Some(other) => {
                let what = format!(
                    "the encoding {:?} isn't read: save the file as UTF-8 and write `<@ FILE`",
                    Foreign::new(other)
                );
                return Err(mistake(&what));
            }
        }
        Ok(())
    }
}

impl Parts {
    fn add_text(&mut self, text: &[u8]) {
        self.has_text = true;
        self.has_templates |= has_braces(text);
        self.bytes.extend_from_slice(text);
    }
}

impl FileLine<'_> {
    /// `< FILE`, `<@ FILE` or `<@ENCODING FILE`.
    fn of(line: &str) -> Option<FileLine<'_>> {
        let rest = line.strip_prefix('<')?;
        let at = rest.find(char::is_whitespace)?;
        let (sign, path) = (&rest[..at], rest[at..].trim());
        let encoding = match sign.strip_prefix('@') {
            None if sign.is_empty() => None,
            None => return None,
            Some(encoding) => Some(encoding),
        };
        (!path.is_empty()).then_some(FileLine { path, encoding })
    }
}

/// The `Content-Type` of a request, or nothing.
struct MediaType<'d>(&'d str);

impl<'d> MediaType<'d> {
    fn of(draft: &'d Draft) -> MediaType<'d> {
        let mut headers = draft.headers.iter();
        let header = headers.find(|(name, _)| name.eq_ignore_ascii_case("content-type"));
        MediaType(header.map_or("", |(_, value)| value))
    }

    /// Whether it is this type (one with its `/` at the end: such a one).
    fn is(&self, sought: &str) -> bool {
        let essence = self.0.split(';').next().unwrap_or_default().trim();
        match sought.ends_with('/') {
            true => {
                let start = essence.get(..sought.len());
                start.is_some_and(|start| start.eq_ignore_ascii_case(sought))
            }
            false => essence.eq_ignore_ascii_case(sought),
        }
    }

    /// Whether the parts of a multipart body end (RFC 2046 §5.1.1).
    fn check_closed(&self, body: &[u8]) -> Result<(), String> {
        if has_braces(self.0.as_bytes()) {
            return Ok(());
        }
        let Some(boundary) = self.boundary() else {
            return Err(
                "the `Content-Type` of a multipart body needs a boundary: add `; boundary=…`"
                    .to_owned(),
            );
        };
        let end = format!("--{boundary}--");
        match find(body, end.as_bytes()) {
            Some(_) => Ok(()),
            None => Err(format!(
                "the multipart body isn't closed: add the line {}",
                Foreign::new(end)
            )),
        }
    }

    fn boundary(&self) -> Option<&'d str> {
        let parameters = self.0.split(';').skip(1);
        let mut pairs = parameters.filter_map(|parameter| parameter.split_once('='));
        let (_, value) = pairs.find(|(name, _)| name.trim().eq_ignore_ascii_case("boundary"))?;
        let value = value.trim().trim_matches('"');
        (!value.is_empty()).then_some(value)
    }
}

//! A request as it's sent, in buffers that serve one after the other.

use std::fmt::{self, Write};

use cookies::Jar;
use measure::random::Random;

use crate::filters::{base64_encode, url_encode};
use crate::model::{Body, Entry, Pair, Part};
use crate::render::Renderer;
use crate::url::Url;

/// A request. Whoever sends it adds what its protocol asks for: the host, the length of the body.
#[derive(Default)]
pub struct Request {
    pub(crate) method: String,
    pub(crate) url: Url,
    headers: Headers,
    body: Vec<u8>,
    scratch: String,
    part: String,
    cookies: String,
}

impl fmt::Debug for Request {
    /// Without what may be secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {:?}", self.method, self.url)
    }
}

/// Names and values one behind the other, each with its end.
#[derive(Default)]
struct Headers {
    text: String,
    ends: Vec<(u32, u32)>,
}

/// What a request is beside what its entry says.
#[derive(Clone, Copy)]
pub(crate) struct Kind {
    /// A redirect made a GET without a body of it.
    pub is_get: bool,
    /// Redirects have led away from where it was first sent: what is for that server stays here.
    pub is_elsewhere: bool,
    /// Its URL is there already.
    pub is_redirected: bool,
}

impl Request {
    /// One with empty buffers, which grow to what they need.
    pub fn new() -> Request {
        Request::default()
    }

    /// Its method.
    pub fn method(&self) -> &str {
        &self.method
    }

    /// Where it goes.
    pub fn url(&self) -> &Url {
        &self.url
    }

    /// Its fields: names and values, none of which holds control characters but tabs.
    pub fn headers(&self) -> impl Iterator<Item = (&str, &str)> {
        let mut start = 0;
        self.headers.ends.iter().map(move |&(name, value)| {
            let (name, value) = (name as usize, value as usize);
            let field = (
                &self.headers.text[start..name],
                &self.headers.text[name..value],
            );
            start = value;
            field
        })
    }

    /// The value of a field, if it has one of that name.
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut headers = self.headers();
        headers
            .find(|(found, _)| found.eq_ignore_ascii_case(name))
            .map(|(_, value)| value)
    }

    /// Its body.
    pub fn body(&self) -> &[u8] {
        &self.body
    }

    /// Writes what an entry asks for. The body comes first, so that requests that redirects lead to
    /// have the same one, whatever their URLs draw.
    pub(crate) fn write(
        &mut self,
        entry: &Entry,
        kind: Kind,
        renderer: &mut Renderer<'_>,
    ) -> Result<(), (u32, String)> {
        self.headers.text.clear();
        self.headers.ends.clear();
        self.body.clear();
        self.cookies.clear();
        self.method.clear();
        self.method
            .push_str(if kind.is_get { "GET" } else { &entry.method });
        for pair in &entry.headers {
            self.header_of(pair, kind, renderer)
                .map_err(|why| (pair.line, why))?;
        }
        if !kind.is_get {
            self.write_body(entry, renderer)?;
        }
        if let Some(pair) = entry.basic.as_ref().filter(|_| !kind.is_elsewhere) {
            let basic = basic(pair, renderer).map_err(|why| (pair.line, why))?;
            let value = format!("Basic {}", base64_encode(basic.as_bytes(), false));
            self.push("Authorization", &value)
                .map_err(|why| (pair.line, why))?;
        }
        if !kind.is_redirected {
            self.write_url(entry, renderer)?;
        }
        if !kind.is_elsewhere {
            for pair in &entry.cookies {
                self.cookie_of(pair, renderer)
                    .map_err(|why| (pair.line, why))?;
            }
        }
        Ok(())
    }

    /// Adds the cookies of a user, before those that the file has itself.
    pub(crate) fn add_cookies(&mut self, jar: &Jar, now_s: i64) {
        let Request {
            url,
            cookies,
            scratch,
            ..
        } = self;
        scratch.clear();
        jar.each(url.place(), now_s, |name, value| {
            // They came in fields that were text.
            if let (Ok(name), Ok(value)) = (std::str::from_utf8(name), std::str::from_utf8(value)) {
                push_cookie(name, value, scratch);
            }
        });
        if !scratch.is_empty() && !cookies.is_empty() {
            scratch.push_str("; ");
        }
        scratch.push_str(cookies);
        if !scratch.is_empty() {
            self.headers.push("Cookie", scratch);
        }
    }

    fn header_of(
        &mut self,
        pair: &Pair,
        kind: Kind,
        renderer: &mut Renderer<'_>,
    ) -> Result<(), String> {
        self.scratch.clear();
        renderer.write(&pair.name, &mut self.scratch)?;
        let name = self.scratch.len();
        renderer.write(&pair.value, &mut self.scratch)?;
        let (name, value) = self.scratch.split_at(name);
        let is = |known: &str| name.eq_ignore_ascii_case(known);
        let is_own = is("authorization") || is("cookie") || is("host") || is("proxy-authorization");
        let is_of_body = name
            .get(..8)
            .is_some_and(|start| start.eq_ignore_ascii_case("content-"))
            || is("transfer-encoding");
        // RFC 9110 §15.4: what is only for one server, and what is said of a body.
        if kind.is_elsewhere && is_own || kind.is_get && is_of_body {
            return Ok(());
        }
        if is("cookie") {
            if !is_value(value) {
                return Err(CONTROLS.to_owned());
            }
            if !self.cookies.is_empty() {
                self.cookies.push_str("; ");
            }
            self.cookies.push_str(value);
            return Ok(());
        }
        self.headers.checked(name, value)
    }

    fn push(&mut self, name: &str, value: &str) -> Result<(), String> {
        self.headers.checked(name, value)
    }

    fn cookie_of(&mut self, pair: &Pair, renderer: &mut Renderer<'_>) -> Result<(), String> {
        self.scratch.clear();
        renderer.write(&pair.name, &mut self.scratch)?;
        let name = self.scratch.len();
        renderer.write(&pair.value, &mut self.scratch)?;
        if !is_value(&self.scratch) || self.scratch.contains(';') {
            return Err("a cookie can't hold line breaks, control characters or ;".to_owned());
        }
        let (name, value) = self.scratch.split_at(name);
        push_cookie(name, value, &mut self.cookies);
        Ok(())
    }

    fn write_url(
        &mut self,
        entry: &Entry,
        renderer: &mut Renderer<'_>,
    ) -> Result<(), (u32, String)> {
        self.scratch.clear();
        let at = |why: String| (entry.line, why);
        renderer.write(&entry.url, &mut self.scratch).map_err(at)?;
        if !entry.query.is_empty() {
            let end = self.scratch.find('#').unwrap_or(self.scratch.len());
            self.scratch.truncate(end);
        }
        for pair in &entry.query {
            let is_first = !self.scratch.contains('?');
            let is_open = self.scratch.ends_with(['?', '&']);
            match (is_first, is_open) {
                (true, _) => self.scratch.push('?'),
                (_, true) => {}
                _ => self.scratch.push('&'),
            }
            let (part, out) = (&mut self.part, &mut self.scratch);
            push_form(pair, renderer, part, out).map_err(|why| (pair.line, why))?;
        }
        let set = self.url.set(&self.scratch);
        set.map_err(|why| at(format!("{} can't be asked for: {why}", self.scratch)))
    }

    fn write_body(
        &mut self,
        entry: &Entry,
        renderer: &mut Renderer<'_>,
    ) -> Result<(), (u32, String)> {
        self.scratch.clear();
        let at = |why: String| (entry.line, why);
        match &entry.body {
            Body::None => return Ok(()),
            Body::Bytes(bytes) => self.body.extend_from_slice(bytes),
            Body::Text(template) => {
                renderer.write(template, &mut self.scratch).map_err(at)?;
                self.body.extend_from_slice(self.scratch.as_bytes());
            }
            Body::Form(pairs) => {
                for pair in pairs {
                    if !self.scratch.is_empty() {
                        self.scratch.push('&');
                    }
                    let (part, out) = (&mut self.part, &mut self.scratch);
                    push_form(pair, renderer, part, out).map_err(|why| (pair.line, why))?;
                }
                self.body.extend_from_slice(self.scratch.as_bytes());
            }
            Body::Multipart(parts) => {
                let boundary = boundary(renderer.random);
                for part in parts {
                    self.scratch.clear();
                    push_part(part, &boundary, renderer, &mut self.scratch).map_err(at)?;
                    self.body.extend_from_slice(self.scratch.as_bytes());
                    if let Part::File { bytes, .. } = part {
                        self.body.extend_from_slice(bytes);
                    }
                    self.body.extend_from_slice(b"\r\n");
                }
                self.body
                    .extend_from_slice(format!("--{boundary}--\r\n").as_bytes());
                let value = format!("multipart/form-data; boundary={boundary}");
                return self.push("Content-Type", &value).map_err(at);
            }
        }
        match entry.content_type {
            Some(value) if self.header("content-type").is_none() => {
                self.push("Content-Type", value).map_err(at)
            }
            _ => Ok(()),
        }
    }
}

const CONTROLS: &str = "the value of a header can't hold line breaks or control characters";

impl Headers {
    fn push(&mut self, name: &str, value: &str) {
        self.text.push_str(name);
        let end = self.text.len() as u32;
        self.text.push_str(value);
        self.ends.push((end, self.text.len() as u32));
    }

    /// The same of what placeholders have made (RFC 9110 §5.1, §5.5).
    fn checked(&mut self, name: &str, value: &str) -> Result<(), String> {
        let is_of_names = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
        if name.is_empty() || !name.chars().all(is_of_names) {
            return Err(format!("{name} can't be the name of a header"));
        }
        if !is_value(value) {
            return Err(CONTROLS.to_owned());
        }
        self.push(name, value.trim());
        Ok(())
    }
}

fn is_value(value: &str) -> bool {
    !value
        .bytes()
        .any(|byte| byte.is_ascii_control() && byte != b'\t')
}

/// User and password, as they're sent (RFC 7617 §2).
pub(crate) fn basic(pair: &Pair, renderer: &mut Renderer<'_>) -> Result<String, String> {
    let mut basic = String::new();
    renderer.write(&pair.name, &mut basic)?;
    basic.push(':');
    renderer.write(&pair.value, &mut basic)?;
    Ok(basic)
}

fn push_cookie(name: &str, value: &str, out: &mut String) {
    if !out.is_empty() {
        out.push_str("; ");
    }
    out.push_str(name);
    out.push('=');
    out.push_str(value);
}

fn push_form(
    pair: &Pair,
    renderer: &mut Renderer<'_>,
    part: &mut String,
    out: &mut String,
) -> Result<(), String> {
    part.clear();
    renderer.write(&pair.name, part)?;
    url_encode(part.as_bytes(), b"", out);
    out.push('=');
    part.clear();
    renderer.write(&pair.value, part)?;
    url_encode(part.as_bytes(), b"", out);
    Ok(())
}

fn boundary(random: &mut Random) -> String {
    format!("ringside-{:016x}{:016x}", random.next(), random.next())
}

/// What stands before the bytes of a file, or a whole part (RFC 7578 §4).
fn push_part(
    part: &Part,
    boundary: &str,
    renderer: &mut Renderer<'_>,
    out: &mut String,
) -> Result<(), String> {
    let name = match part {
        Part::Value(pair) => &pair.name,
        Part::File { name, .. } => name,
    };
    // Writing to a string doesn't fail.
    let _ = write!(
        out,
        "--{boundary}\r\nContent-Disposition: form-data; name=\""
    );
    push_name(&renderer.text(name)?, out);
    match part {
        Part::Value(pair) => {
            out.push_str("\"\r\n\r\n");
            renderer.write(&pair.value, out)
        }
        Part::File {
            file, content_type, ..
        } => {
            out.push_str("\"; filename=\"");
            push_name(file, out);
            let _ = write!(out, "\"\r\nContent-Type: {content_type}\r\n\r\n");
            Ok(())
        }
    }
}

/// A name in quotes, escaped as browsers do.
fn push_name(name: &str, out: &mut String) {
    for c in name.chars() {
        match c {
            '"' => out.push_str("%22"),
            '\r' => out.push_str("%0D"),
            '\n' => out.push_str("%0A"),
            c => out.push(c),
        }
    }
}

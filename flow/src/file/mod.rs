//! Reads files as Hurl has them (<https://hurl.dev/docs/grammar.html>): entries, each a request and
//! what is expected of its answer. What isn't supported is refused by its name.

mod bodies;
mod lexemes;
pub(crate) mod options;
mod queries;
mod reader;

use measure::foreign::Foreign;

use self::bodies::Given;
use self::lexemes::Until;
pub use self::reader::Mistake;
use self::reader::{MISTAKES_MAX, Reader, Wrong, place, wrong_at};
use crate::model::{Assert, Body, Capture, Choice, Entry, Pair, Part, Response, Template, Version};

/// The most entries of a file, and the most bytes of it.
const ENTRIES_MAX: usize = 1000;
const BYTES_MAX: usize = 1 << 20;
const METHODS: &str = "GET, HEAD, POST, PUT, DELETE, PATCH, OPTIONS or a method of your own";

/// What a file says.
#[derive(Debug)]
pub(crate) struct File {
    pub entries: Box<[Entry]>,
    /// Which of the variables that were given it uses.
    pub used: Box<[bool]>,
    /// The variables in the order of their slots; first those that were given.
    pub names: Box<[Box<str>]>,
}

/// Reads a file. `given` are the variables that every user has from the start, and `files` reads
/// what the file names.
///
/// # Errors
/// What is wrong with it, in the order of the lines.
pub(crate) fn read(
    name: &str,
    text: &[u8],
    given: &[&str],
    files: &mut dyn FnMut(&str) -> Result<Vec<u8>, String>,
) -> Result<File, Vec<Mistake>> {
    let text = match std::str::from_utf8(text) {
        Ok(text) if text.len() <= BYTES_MAX => text,
        Ok(text) => {
            let what = format!("it has {} bytes; at most {BYTES_MAX} are read", text.len());
            return Err(vec![mistake(name, "", wrong_at(0, what))]);
        }
        Err(why) => {
            let valid = std::str::from_utf8(&text[..why.valid_up_to()]).unwrap_or_default();
            let wrong = wrong_at(valid.len(), "it isn't text in UTF-8");
            return Err(vec![mistake(name, valid, wrong)]);
        }
    };
    let text = text
        .strip_prefix('\u{feff}')
        .unwrap_or(text)
        .replace("\r\n", "\n");
    let mut parser = Parser {
        reader: Reader::new(&text, files),
        wrong: Vec::new(),
    };
    let entries = parser.entries(given);
    let Parser { reader, mut wrong } = parser;
    if wrong.is_empty() {
        wrong = reader.undefined();
    }
    if wrong.is_empty() && entries.is_empty() {
        wrong.push(wrong_at(0, "there is no request in it"));
    }
    if !wrong.is_empty() {
        wrong.sort_by_key(|wrong| wrong.at);
        wrong.truncate(MISTAKES_MAX);
        return Err(wrong
            .into_iter()
            .map(|wrong| mistake(name, &text, wrong))
            .collect());
    }
    let used = given.iter().map(|name| reader.uses(name)).collect();
    Ok(File {
        entries: entries.into(),
        used,
        names: reader.into_names(),
    })
}

fn mistake(name: &str, text: &str, wrong: Wrong) -> Mistake {
    let (line, column) = place(text, wrong.at);
    Mistake {
        file: name.to_owned(),
        line,
        column,
        what: wrong.what,
    }
}

struct Parser<'a> {
    reader: Reader<'a>,
    wrong: Vec<Wrong>,
}

/// What the next line begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    End,
    Entry,
    Response,
    Section,
    Body,
    Line,
}

/// Where lines belong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Section {
    Headers,
    Query,
    Form,
    Multipart,
    BasicAuth,
    Cookies,
    Options,
    Captures,
    Asserts,
    /// Of one that was refused; its lines are passed over.
    Unknown,
}

/// What the parts of a request are collected in.
#[derive(Default)]
struct Request {
    headers: Vec<Pair>,
    query: Vec<Pair>,
    form: Vec<Pair>,
    multipart: Vec<Part>,
    basic: Option<Pair>,
    cookies: Vec<Pair>,
    options: Vec<(u32, Choice)>,
    body: Option<Given>,
}

#[derive(Default)]
struct Answer {
    headers: Vec<Pair>,
    captures: Vec<Capture>,
    asserts: Vec<Assert>,
    body: Body,
    body_line: u32,
}

impl Parser<'_> {
    fn entries(&mut self, given: &[&str]) -> Vec<Entry> {
        for name in given {
            self.keep(|reader| reader.slot(name, None));
        }
        let mut entries = Vec::new();
        while self.wrong.len() < MISTAKES_MAX {
            self.reader.blank_lines();
            if self.reader.at == self.reader.text.len() {
                break;
            }
            if entries.len() == ENTRIES_MAX {
                let what = format!("more than {ENTRIES_MAX} requests");
                self.wrong.push(self.reader.wrong(what));
                break;
            }
            entries.extend(self.entry());
        }
        entries
    }

    /// What was read; notes what was wrong with it.
    fn keep<T>(&mut self, read: impl FnOnce(&mut Reader<'_>) -> Result<T, Wrong>) -> Option<T> {
        match read(&mut self.reader) {
            Ok(read) => Some(read),
            Err(wrong) => {
                self.wrong.push(wrong);
                None
            }
        }
    }

    fn entry(&mut self) -> Option<Entry> {
        let line = self.reader.line_number();
        let Some((method, url)) = self.keep(request_line) else {
            self.resynchronize();
            return None;
        };
        let mut request = Request::default();
        self.request(&mut request);
        self.reader.blank_lines();
        let expected = match self.next() {
            Next::Response => self.response(),
            _ => None,
        };
        let given = match request.body {
            Some(given) => given,
            None if !request.form.is_empty() => Given {
                body: Body::Form(request.form.into()),
                content_type: Some("application/x-www-form-urlencoded"),
            },
            None if !request.multipart.is_empty() => Given {
                body: Body::Multipart(request.multipart.into()),
                content_type: None,
            },
            None => Given {
                body: Body::None,
                content_type: None,
            },
        };
        Some(Entry {
            line,
            method,
            url,
            headers: request.headers.into(),
            query: request.query.into(),
            cookies: request.cookies.into(),
            basic: request.basic,
            body: given.body,
            content_type: given.content_type,
            options: request.options.into(),
            expected,
        })
    }

    fn request(&mut self, request: &mut Request) {
        let mut section = Section::Headers;
        loop {
            self.reader.blank_lines();
            let start = self.reader.at;
            let read = match self.next() {
                Next::End | Next::Entry | Next::Response => return,
                Next::Section => {
                    let found = self.keep(request_section);
                    section = found.unwrap_or(Section::Unknown);
                    found.map(drop)
                }
                Next::Body => {
                    let is_alone = request.form.is_empty()
                        && request.multipart.is_empty()
                        && request.body.is_none();
                    if !is_alone {
                        self.wrong.push(wrong_at(start, "a request has one body"));
                    }
                    request.body = self.keep(|reader| reader.body());
                    if request.body.is_none() || !is_alone {
                        self.resynchronize();
                        return;
                    }
                    Some(())
                }
                Next::Line if request.body.is_some() => {
                    let what = "behind a body HTTP and a status, or another request, follows";
                    self.wrong.push(wrong_at(start, what));
                    None
                }
                Next::Line => self.keep(|reader| request_line_of(section, reader, request)),
            };
            if !self.go_on(read, start) {
                return;
            }
        }
    }

    fn response(&mut self) -> Option<Response> {
        let line = self.reader.line_number();
        let head = self.keep(status_line);
        if head.is_none() {
            self.reader.skip_line();
        }
        let mut answer = Answer::default();
        let mut section = Section::Headers;
        loop {
            self.reader.blank_lines();
            let start = self.reader.at;
            let read = match self.next() {
                Next::End | Next::Entry => break,
                Next::Response => {
                    self.wrong.push(wrong_at(start, "a request has one answer"));
                    None
                }
                Next::Section => {
                    let found = self.keep(response_section);
                    section = found.unwrap_or(Section::Unknown);
                    found.map(drop)
                }
                Next::Body => {
                    answer.body_line = self.reader.line_number();
                    let Some(given) = self.keep(|reader| reader.body()) else {
                        self.resynchronize();
                        break;
                    };
                    answer.body = given.body;
                    Some(())
                }
                Next::Line => self.keep(|reader| response_line_of(section, reader, &mut answer)),
            };
            if !self.go_on(read, start) {
                break;
            }
        }
        let (version, status) = head?;
        Some(Response {
            line,
            version,
            status,
            headers: answer.headers.into(),
            captures: answer.captures.into(),
            asserts: answer.asserts.into(),
            body: answer.body,
            body_line: answer.body_line,
        })
    }

    /// Passes over a line with a mistake; false once there are too many.
    fn go_on(&mut self, read: Option<()>, start: usize) -> bool {
        if read.is_none() {
            self.reader.at = start;
            self.reader.skip_line();
        }
        self.wrong.len() < MISTAKES_MAX
    }

    /// Goes on where the next request or its answer seems to begin.
    fn resynchronize(&mut self) {
        loop {
            self.reader.skip_line();
            if self.reader.at == self.reader.text.len() || is_entry(self.reader.line()) {
                return;
            }
        }
    }

    /// What begins where the reader stands, behind white space.
    fn next(&self) -> Next {
        let line = self.reader.line();
        if self.reader.at == self.reader.text.len() {
            Next::End
        } else if is_response(line) {
            Next::Response
        } else if section_name(line).is_some() {
            Next::Section
        } else if is_entry(line) {
            Next::Entry
        } else if self.reader.is_body() {
            Next::Body
        } else {
            Next::Line
        }
    }
}

fn is_entry(line: &str) -> bool {
    let end = line.find(|c: char| !c.is_ascii_uppercase()).unwrap_or(0);
    let rest = line[end..].trim_start();
    end > 0 && line[end..].starts_with([' ', '\t']) && !rest.is_empty() && !rest.starts_with(':')
}

fn is_response(line: &str) -> bool {
    let rest = line.strip_prefix("HTTP");
    rest.is_some_and(|rest| rest.starts_with(['/', ' ', '\t']))
}

/// The name of a section, where a line begins one.
fn section_name(line: &str) -> Option<&str> {
    let (name, rest) = line.strip_prefix('[')?.split_once(']')?;
    let rest = rest.trim();
    let is_name = name.starts_with(|c: char| c.is_ascii_uppercase())
        && name.chars().all(|c| c.is_ascii_alphanumeric());
    (is_name && (rest.is_empty() || rest.starts_with('#'))).then_some(name)
}

fn request_line(reader: &mut Reader<'_>) -> Result<(Box<str>, Template), Wrong> {
    let start = reader.at;
    let method = reader.take(|c| c.is_ascii_uppercase());
    if method.is_empty() || !reader.spaces() {
        return Err(wrong_at(
            start,
            format!("a request belongs here: {METHODS}, and a URL"),
        ));
    }
    if method == "CONNECT" || method.len() > 32 {
        let what = format!("the method {} isn't supported", Foreign::new(method));
        return Err(wrong_at(start, what));
    }
    let at = reader.at;
    let url = reader.template(Until::LineEnd)?;
    if url.constant().is_some_and(|url| !url.contains("://")) {
        let what = "a URL belongs here: http://HOST/PATH, or {{base}}/PATH with --variable base=…";
        return Err(wrong_at(at, what));
    }
    reader.end_of_line()?;
    Ok((method.into(), url))
}

fn status_line(reader: &mut Reader<'_>) -> Result<(Option<Version>, Option<u16>), Wrong> {
    let start = reader.at;
    let version = match reader.take(|c| !c.is_whitespace() && c != '#') {
        "HTTP" | "HTTP/*" => None,
        "HTTP/1.0" => Some(Version::Http10),
        "HTTP/1.1" => Some(Version::Http11),
        "HTTP/2" => Some(Version::Http2),
        "HTTP/3" => return Err(wrong_at(start, "HTTP/3 isn't supported")),
        _ => {
            let what = "a version belongs here: HTTP, HTTP/1.0, HTTP/1.1 or HTTP/2";
            return Err(wrong_at(start, what));
        }
    };
    reader.spaces();
    let at = reader.at;
    let status = match reader.take(|c| c.is_ascii_digit() || c == '*') {
        "*" => None,
        digits => match digits.parse() {
            Ok(status @ 100..=999) => Some(status),
            _ => return Err(wrong_at(at, "a status belongs here, such as 200, or *")),
        },
    };
    reader.end_of_line()?;
    Ok((version, status))
}

fn request_section(reader: &mut Reader<'_>) -> Result<Section, Wrong> {
    let section = match section_name(reader.line()).unwrap_or_default() {
        "Query" | "QueryStringParams" => Section::Query,
        "Form" | "FormParams" => Section::Form,
        "Multipart" | "MultipartFormData" => Section::Multipart,
        "BasicAuth" => Section::BasicAuth,
        "Cookies" => Section::Cookies,
        "Options" => Section::Options,
        name @ ("Captures" | "Asserts") => {
            let what = format!("[{name}] belongs behind a line with HTTP and a status, or *");
            return Err(reader.wrong(what));
        }
        name => return Err(unknown_section(reader, name)),
    };
    reader.skip_line();
    Ok(section)
}

fn response_section(reader: &mut Reader<'_>) -> Result<Section, Wrong> {
    let section = match section_name(reader.line()).unwrap_or_default() {
        "Captures" => Section::Captures,
        "Asserts" => Section::Asserts,
        name @ ("Query" | "Form" | "Multipart" | "BasicAuth" | "Cookies" | "Options") => {
            let what = format!("[{name}] belongs to the request: put it before the line HTTP");
            return Err(reader.wrong(what));
        }
        name => return Err(unknown_section(reader, name)),
    };
    reader.skip_line();
    Ok(section)
}

fn unknown_section(reader: &Reader<'_>, name: &str) -> Wrong {
    let name = Foreign::new(name);
    reader.wrong(format!(
        "the section [{name}] isn't known here: requests have [Query], [Form], [Multipart], \
         [BasicAuth], [Cookies] and [Options], answers [Captures] and [Asserts]"
    ))
}

/// A line of a section of a request.
fn request_line_of(
    section: Section,
    reader: &mut Reader<'_>,
    request: &mut Request,
) -> Result<(), Wrong> {
    let start = reader.at;
    match section {
        Section::Headers => request.headers.push(pair(reader)?),
        Section::Query => request.query.push(pair(reader)?),
        Section::Cookies => request.cookies.push(pair(reader)?),
        Section::Form => request.form.push(pair(reader)?),
        Section::Multipart => {
            let part = part(reader)?;
            request.multipart.push(part);
        }
        Section::BasicAuth => {
            if request.basic.replace(pair(reader)?).is_some() {
                return Err(wrong_at(start, "[BasicAuth] has one line: USER: PASSWORD"));
            }
        }
        Section::Options => request.options.push(reader.option()?),
        Section::Captures | Section::Asserts | Section::Unknown => reader.skip_line(),
    }
    let is_double = !request.form.is_empty() && !request.multipart.is_empty();
    if is_double {
        return Err(wrong_at(
            start,
            "a request has one body: [Form] or [Multipart]",
        ));
    }
    Ok(())
}

/// A line of a section of an answer.
fn response_line_of(
    section: Section,
    reader: &mut Reader<'_>,
    answer: &mut Answer,
) -> Result<(), Wrong> {
    match section {
        Section::Headers => answer.headers.push(pair(reader)?),
        Section::Captures => answer.captures.push(reader.capture()?),
        Section::Asserts => answer.asserts.push(reader.assert()?),
        _ => reader.skip_line(),
    }
    Ok(())
}

/// `NAME: VALUE`.
fn pair(reader: &mut Reader<'_>) -> Result<Pair, Wrong> {
    let line = reader.line_number();
    // As curl writes a header without a value.
    let alone = reader
        .line()
        .split('#')
        .next()
        .unwrap_or_default()
        .trim_end();
    if let Some(name) = alone.strip_suffix(';').filter(|name| is_token(name)) {
        reader.skip_line();
        return Ok(Pair {
            line,
            name: Template::of(name),
            value: Template::default(),
        });
    }
    let name = key(reader)?;
    let value = reader.template(Until::LineEnd)?;
    reader.end_of_line()?;
    Ok(Pair { line, name, value })
}

fn is_token(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-')
}

/// A name, with its colon and the white space behind it.
fn key(reader: &mut Reader<'_>) -> Result<Template, Wrong> {
    let start = reader.at;
    let name = reader.template(Until::Key)?;
    reader.spaces();
    if name.0.is_empty() || !reader.eat(":") {
        return Err(wrong_at(start, "a line NAME: VALUE belongs here"));
    }
    reader.spaces();
    Ok(name)
}

/// `NAME: VALUE`, or `NAME: file,NAME; TYPE`.
fn part(reader: &mut Reader<'_>) -> Result<Part, Wrong> {
    let line = reader.line_number();
    let name = key(reader)?;
    let start = reader.at;
    if !reader.eat("file,") {
        let value = reader.template(Until::LineEnd)?;
        reader.end_of_line()?;
        return Ok(Part::Value(Pair { line, name, value }));
    }
    let file = reader.file_name()?;
    reader.spaces();
    let written = reader.take(|c| !matches!(c, '\n' | '#')).trim_end();
    let content_type = if written.is_empty() {
        guessed_type(&file)
    } else {
        written
    };
    reader.end_of_line()?;
    let bytes = reader.file(start, &file)?;
    Ok(Part::File {
        name,
        file: file.rsplit('/').next().unwrap_or_default().into(),
        content_type: content_type.into(),
        bytes,
    })
}

/// The type of a file by its ending, of those that Hurl knows, too.
fn guessed_type(file: &str) -> &'static str {
    let ending = file.rsplit_once('.').map_or("", |(_, ending)| ending);
    match &*ending.to_ascii_lowercase() {
        "gif" => "image/gif",
        "jpg" | "jpeg" => "image/jpeg",
        "png" => "image/png",
        "svg" => "image/svg+xml",
        "txt" => "text/plain",
        "htm" | "html" => "text/html",
        "json" => "application/json",
        "pdf" => "application/pdf",
        "xml" => "application/xml",
        _ => "application/octet-stream",
    }
}

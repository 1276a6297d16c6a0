//! Files of targets, in the formats that people have.
//!
//! Each format is a reader that yields the steps of a [`plan::Workload`], and nothing behind it
//! knows where they came from. What a format has and a load can't honour is either refused by name
//! or ignored with a note. `{{templates}}` are left as they stand, except that the variables that a
//! `.http` file defines are put in; the others are resolved later, by [`crate::recipe`].
//! `docs/src/reference/targets.md` is the reference for users.

mod draft;
mod http;
mod template;
mod url;
mod vegeta;
mod vegeta_json;

use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::str::FromStr;

use measure::foreign::Foreign;
use plan::workload::STDIN;
use plan::{Flow, Invalid, Request, Step};

/// The most bytes of a file of targets, and of a file that is a body.
pub const FILE_BYTES_MAX: usize = 64 << 20;

/// A format of files of targets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// `.http` files, as VS Code's REST Client and JetBrains' HTTP Client read them.
    Http,
    /// What `vegeta attack -format=http` reads.
    Vegeta,
    /// What `vegeta attack -format=json` reads.
    VegetaJson,
}

impl Format {
    /// What the ending of the file's name says, in any case: `.http` and `.rest`; `.json`, `.jsonl`
    /// and `.ndjson`; `.txt`, `.targets` and `.vegeta`. None: nothing.
    pub fn of_file(path: &Path) -> Option<Format> {
        let ending = path.extension()?.to_str()?.to_ascii_lowercase();
        match &*ending {
            "http" | "rest" => Some(Format::Http),
            "json" | "jsonl" | "ndjson" => Some(Format::VegetaJson),
            "txt" | "targets" | "vegeta" => Some(Format::Vegeta),
            _ => None,
        }
    }
}

impl FromStr for Format {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Format, Invalid> {
        match text {
            "http" => Ok(Format::Http),
            "vegeta" => Ok(Format::Vegeta),
            "vegeta-json" => Ok(Format::VegetaJson),
            _ => Err(Invalid(format!(
                "{:?}: targets are written as `http`, `vegeta` or `vegeta-json`",
                Foreign::new(text)
            ))),
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Format::Http => "http",
            Format::Vegeta => "vegeta",
            Format::VegetaJson => "vegeta-json",
        })
    }
}

/// What a file of targets holds.
#[derive(Clone, Debug, PartialEq)]
pub struct Targets {
    /// The requests, in the file's order; never none.
    pub steps: Vec<Step>,
    /// How each connection goes through them, where they're the messages of a WebSocket.
    pub flow: Option<Flow>,
    /// What was ignored, for whoever wrote the file: `a.http:3: …`.
    pub notes: Vec<String>,
}

/// What applies to every request of a file that doesn't say otherwise.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Defaults {
    /// Fields for requests that have none of the same name (RFC 9110 §5.1: in any case).
    pub headers: Vec<(String, String)>,
    /// The body of requests without one. Sent as it is, with no templates in it.
    pub body: Option<Vec<u8>>,
    /// The method of requests without one. Without it GET, or, of a URL, POST where there is a
    /// body; vegeta's JSON always has to say it.
    pub method: Option<String>,
}

/// A URL as the only request of a load: its path and query, the values of the fields and the body
/// may have templates. Of a gRPC call the path may not.
///
/// # Errors
/// A URL that cannot be loaded.
pub fn of_url(url: &str, request: &Defaults) -> Result<Step, Invalid> {
    let body = request.body.clone();
    let of_calls = |start: &str| {
        url.get(..start.len())
            .is_some_and(|it| it.eq_ignore_ascii_case(start))
    };
    let method = match (&request.method, &body) {
        _ if of_calls("grpc://") || of_calls("grpcs://") => "GRPC",
        (Some(method), _) => method,
        (None, Some(_)) => "POST",
        (None, None) => "GET",
    };
    let place = url::place(url, None, draft::asked(method)).map_err(Invalid)?;
    Ok(Step {
        name: draft::called(method, &place.path),
        weight: 1,
        target: place.target,
        request: Request {
            method: draft::sent_as(method.to_owned()),
            headers: request.headers.clone(),
            body: body.unwrap_or_default(),
        },
        body_is_template: true,
        expect: Vec::new(),
        at: None,
    })
}

/// A file of targets that was read.
#[derive(Clone, Copy, Debug)]
pub struct Source<'s> {
    /// What the file is called, in messages and in [`Step::at`].
    pub name: &'s str,
    /// The folder that a `.http` file is in: the paths in it are relative to that. Those in a file
    /// of vegeta's are relative to the working directory.
    pub folder: &'s Path,
    /// Its bytes.
    pub text: &'s [u8],
}

impl<'s> Source<'s> {
    /// What is wrong in a line.
    fn mistake(&self, line: usize, what: impl fmt::Display) -> Invalid {
        Invalid(format!("{}:{line}: {what}", self.name))
    }

    /// The lines without what ends them, LF or CR LF, and the file without a byte order mark.
    fn lines(&self) -> impl Iterator<Item = Line<'s>> + use<'s> {
        let text = self.text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(self.text);
        let lines = text.split(|byte| *byte == b'\n').enumerate();
        lines.map(|(index, bytes)| Line {
            number: index + 1,
            bytes: bytes.strip_suffix(b"\r").unwrap_or(bytes),
        })
    }

    /// A line as text.
    fn text<'l>(&self, line: Line<'l>) -> Result<&'l str, Invalid> {
        std::str::from_utf8(line.bytes)
            .map_err(|_| self.mistake(line.number, "this line isn't UTF-8: save the file as UTF-8"))
    }
}

/// A line of a file.
#[derive(Clone, Copy, Debug)]
struct Line<'s> {
    /// 1 for the first.
    number: usize,
    bytes: &'s [u8],
}

/// What reads files that are bodies.
pub type Open<'o> = dyn FnMut(&Path) -> io::Result<Vec<u8>> + 'o;

/// Reads a file of targets, and those that it names.
///
/// # Errors
/// `FILE:LINE: …`, and what to do.
pub fn read(file: &Path, format: Format, defaults: &Defaults) -> Result<Targets, Invalid> {
    let name = file.display().to_string();
    let folder = file.parent().unwrap_or(Path::new(""));
    read_text(&name, folder, bounded(file), format, defaults)
}

/// The same of what is piped in. The files that it names are relative to the working directory.
///
/// # Errors
/// `stdin:LINE: …`, and what to do.
pub fn read_piped(
    stream: &mut dyn Read,
    format: Format,
    defaults: &Defaults,
) -> Result<Targets, Invalid> {
    read_text(STDIN, Path::new(""), whole(stream), format, defaults)
}

fn read_text(
    name: &str,
    folder: &Path,
    text: io::Result<Vec<u8>>,
    format: Format,
    defaults: &Defaults,
) -> Result<Targets, Invalid> {
    let text = text.map_err(|why| match why.kind() {
        io::ErrorKind::FileTooLarge => Invalid(format!(
            "{name}: targets are at most {} MiB: for more, use one template and a data file \
             (--data)",
            FILE_BYTES_MAX >> 20
        )),
        _ => Invalid(format!("{name}: can't read the targets: {why}")),
    })?;
    let source = Source {
        name,
        folder,
        text: &text,
    };
    parse(format, &source, defaults, &mut bounded)
}

/// The same for a file that was read before. Other files are read by `open` only.
///
/// # Errors
/// `FILE:LINE: …`, and what to do.
pub fn parse(
    format: Format,
    source: &Source<'_>,
    defaults: &Defaults,
    open: &mut Open<'_>,
) -> Result<Targets, Invalid> {
    match format {
        Format::Http => http::parse(source, defaults, open),
        Format::Vegeta => vegeta::parse(source, defaults, open),
        Format::VegetaJson => vegeta_json::parse(source, defaults),
    }
}

/// What is in a file, or in what is piped, up to [`FILE_BYTES_MAX`].
fn bounded(path: &Path) -> io::Result<Vec<u8>> {
    whole(&mut File::open(path)?)
}

/// All that a stream has, up to [`FILE_BYTES_MAX`].
fn whole(stream: &mut dyn Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let most = FILE_BYTES_MAX as u64 + 1;
    stream.take(most).read_to_end(&mut bytes)?;
    if bytes.len() > FILE_BYTES_MAX {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    Ok(bytes)
}

/// Reads a file that is a body, or says what is wrong with the path that a line gives.
fn body_file(path: &Path, open: &mut Open<'_>, relative_to: &str) -> Result<Vec<u8>, String> {
    let shown = Foreign::new(path.to_string_lossy());
    open(path).map_err(|why| match why.kind() {
        io::ErrorKind::FileTooLarge => {
            let most = FILE_BYTES_MAX >> 20;
            format!("{shown} is too large: a body is at most {most} MiB")
        }
        _ if path.is_relative() => {
            format!("can't read the body {shown}: {why}; paths are relative to {relative_to}")
        }
        _ => format!("can't read the body {shown}: {why}"),
    })
}

#[cfg(test)]
mod tests;

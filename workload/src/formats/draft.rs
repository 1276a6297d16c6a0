//! Requests as a file gives them, and the steps that they become.

use std::collections::BTreeMap;

use measure::foreign::{CHARACTERS_MAX, Foreign};
use plan::expect::is_token;
use plan::workload::{STEPS_MAX, WEIGHT_MAX};
use plan::{Expect, Flow, Invalid, Request, Step};

use super::url::{self, Asked};
use super::{Defaults, Source, Targets, template};

/// The most bytes that all requests of a file have together.
const HELD_BYTES_MAX: usize = 256 << 20;
/// What is wrong with a request in the file of another that has a connection for itself.
const BESIDE_FLOW: &str = "a file with a WEBSOCKET request holds no other: each connection goes \
                           through its messages; put the other requests into a file of their own";
/// So many kinds of notes are told.
const NOTES_MAX: usize = 20;
/// Methods that are recognised in small letters, too (RFC 9110 §9.3, RFC 5789, RFC 4918 §9).
const METHODS: [&str; 17] = [
    "GET",
    "HEAD",
    "POST",
    "PUT",
    "DELETE",
    "CONNECT",
    "OPTIONS",
    "TRACE",
    "PATCH",
    "PROPFIND",
    "PROPPATCH",
    "MKCOL",
    "COPY",
    "MOVE",
    "LOCK",
    "UNLOCK",
    CALL,
];
/// What stands in the place of a method where a method of gRPC is called, as JetBrains' editor
/// writes it.
const CALL: &str = "GRPC";
/// What HTTP/2 has in that place.
const METHOD_OF_CALLS: &str = "POST";

/// A request as a file gives it.
#[derive(Debug, Default)]
pub(super) struct Draft {
    /// The line it begins in.
    pub(super) line: usize,
    pub(super) labels: Labels,
    pub(super) method: Option<String>,
    pub(super) url: String,
    /// Names and values.
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: Option<Body>,
}

/// A message of a WebSocket as a file gives it.
#[derive(Debug)]
pub(super) struct Message {
    /// The line it begins in.
    pub(super) line: usize,
    pub(super) labels: Labels,
    pub(super) body: Body,
}

impl Draft {
    /// Whether what stands below it are the messages of a WebSocket.
    pub(super) fn is_websocket(&self) -> bool {
        let method = self.method.as_deref();
        method.is_some_and(|method| method.eq_ignore_ascii_case("WEBSOCKET"))
    }

    /// Adds a field. Names are tokens (RFC 9110 §5.1), values have no control characters but tabs
    /// (§5.5).
    pub(super) fn add_header(&mut self, name: &str, value: &str) -> Result<(), String> {
        if name.is_empty() {
            return Err("this header has no name: write `Name: value`".to_owned());
        }
        if !is_token(name) {
            return Err(format!(
                "{:?} isn't the name of a header: write `Name: value`",
                Foreign::new(name)
            ));
        }
        if value.chars().any(|c| c.is_control() && c != '\t') {
            return Err(format!(
                "the value of `{name}` has a control character in it: remove it"
            ));
        }
        self.headers.push((name.to_owned(), value.to_owned()));
        Ok(())
    }
}

/// A body as a file gives it.
#[derive(Debug)]
pub(super) struct Body {
    pub(super) bytes: Vec<u8>,
    pub(super) is_template: bool,
}

/// What comments say of a request.
#[derive(Debug, Default)]
pub(super) struct Labels {
    pub(super) name: Option<String>,
    /// A weight, and the line that gives it.
    pub(super) weight: Option<(u32, usize)>,
    /// What answers must be, and the lines that say so.
    pub(super) expect: Vec<(Expect, usize)>,
}

/// A directive in a comment: `@NAME VALUE`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Directive<'t> {
    pub(super) name: &'t str,
    pub(super) value: &'t str,
}

impl<'t> Directive<'t> {
    /// Reads one from what follows the sign of a comment. JetBrains' editor allows a `=` between
    /// name and value, and people write a `:`.
    pub(super) fn of(comment: &'t str) -> Option<Directive<'t>> {
        let text = comment.trim().strip_prefix('@')?;
        let is_of_it = |c: char| c.is_alphanumeric() || c == '-' || c == '_';
        let end = text.find(|c| !is_of_it(c)).unwrap_or(text.len());
        let (name, rest) = text.split_at(end);
        let value = rest.trim_start();
        let is_sign = |c: char| c == '=' || c == ':';
        let stands_apart =
            rest.is_empty() || value.len() < rest.len() || value.starts_with(is_sign);
        let value = value.strip_prefix(is_sign).unwrap_or(value).trim();
        (!name.is_empty() && stands_apart).then_some(Directive { name, value })
    }
}

impl Labels {
    /// Takes over what one of ringside's own directives says. False: it's another.
    pub(super) fn take(
        &mut self,
        directive: Directive<'_>,
        line: usize,
        source: &Source<'_>,
    ) -> Result<bool, Invalid> {
        let Directive { name, value } = directive;
        match name {
            "name" if value.is_empty() => {
                return Err(source.mistake(line, "@name has no name: write `# @name login`"));
            }
            "name" => self.name = Some(value.to_owned()),
            "weight" => {
                let is_number = value.bytes().all(|byte| byte.is_ascii_digit());
                let weight = value.parse().ok().filter(|weight| *weight <= WEIGHT_MAX);
                let Some(weight) = weight.filter(|_| is_number) else {
                    let what = format!(
                        "the weight {:?} is out of range: use a whole number from 0 to \
                         {WEIGHT_MAX}",
                        Foreign::new(value)
                    );
                    return Err(source.mistake(line, what));
                };
                self.weight = Some((weight, line));
            }
            "expect" => {
                if template::looks_like_one(value.as_bytes()) {
                    let what = "expectations are constant: variables and {{templates}} aren't \
                                filled in; write what is the same in each answer, such as \
                                `json:$.id`";
                    return Err(source.mistake(line, what));
                }
                let expect = value.parse();
                let expect = expect.map_err(|Invalid(what)| source.mistake(line, what))?;
                self.expect.push((expect, line));
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// What answers must be.
    pub(super) fn expectations(&self) -> Vec<Expect> {
        self.expect.iter().map(|(one, _)| one.clone()).collect()
    }

    /// Complains of a weight or an expectation that no request follows; a name can be lost without
    /// harm.
    pub(super) fn check_unused(&self, source: &Source<'_>) -> Result<(), Invalid> {
        let weight = self.weight.iter().map(|(_, line)| ("weight", *line));
        let expect = self.expect.iter().map(|(_, line)| ("expectation", *line));
        match weight.chain(expect).next() {
            Some((what, line)) => {
                let what = format!(
                    "this {what} belongs to no request: write it right above the request line"
                );
                Err(source.mistake(line, what))
            }
            None => Ok(()),
        }
    }
}

/// Splits `Name: value`. None: there's no colon.
pub(super) fn split_header(line: &str) -> Option<(&str, &str)> {
    let (name, value) = line.split_once(':')?;
    Some((name.trim(), value.trim()))
}

/// The steps of a file, as they are read.
pub(super) struct Collector<'s> {
    source: &'s Source<'s>,
    defaults: &'s Defaults,
    steps: Vec<Step>,
    /// What the first of them asks for, and its line.
    first: Option<(Asked, usize)>,
    /// How they follow each other, if they do.
    flow: Option<Flow>,
    /// Names that are too long to be shown, and what is.
    long_names: BTreeMap<String, String>,
    /// Bytes that the steps have.
    held: usize,
    notes: Vec<Note>,
}

/// Something that was ignored.
struct Note {
    kind: String,
    text: String,
    /// How often it was, after the first time.
    more: usize,
}

impl<'s> Collector<'s> {
    pub(super) fn new(source: &'s Source<'s>, defaults: &'s Defaults) -> Collector<'s> {
        Collector {
            source,
            defaults,
            steps: Vec::new(),
            first: None,
            flow: None,
            long_names: BTreeMap::new(),
            held: 0,
            notes: Vec::new(),
        }
    }

    /// Notes that something is ignored. Of one kind only the first is told, and how many more.
    pub(super) fn note(&mut self, line: usize, kind: &str, what: &str) {
        if let Some(note) = self.notes.iter_mut().find(|note| note.kind == kind) {
            note.more += 1;
        } else if self.notes.len() < NOTES_MAX {
            let Invalid(text) = self.source.mistake(line, what);
            self.notes.push(Note {
                kind: kind.to_owned(),
                text,
                more: 0,
            });
        }
    }

    /// Notes that what looks like a template in a body of vegeta's isn't one.
    pub(super) fn note_literal(&mut self, line: usize, body: Option<&Body>) {
        if body.is_some_and(|body| template::looks_like_one(&body.bytes)) {
            let what = "the {{…}} in this body is sent as it is, since bodies in vegeta's formats \
                        have no templates; to have it filled in, write the request in a .http file";
            self.note(line, "braces", what);
        }
    }

    /// Adds a request, with the defaults where it has nothing of its own.
    pub(super) fn add(&mut self, draft: Draft) -> Result<(), Invalid> {
        let line = draft.line;
        let source = self.source;
        if self.flow.is_some() {
            return Err(source.mistake(line, BESIDE_FLOW));
        }
        self.check_room(line)?;
        let method = self.method(line, draft.method)?;
        let asked = asked(&method);
        self.check_alike(line, asked)?;
        let headers = self.headers(line, draft.headers, asked);
        let host = headers
            .iter()
            .find(|(name, _)| name.eq_ignore_ascii_case("host"));
        let host = host.map(|(_, value)| &**value);
        let place = url::place(&draft.url, host, asked);
        let place = place.map_err(|what| source.mistake(line, what))?;
        let (body, body_is_template) = match (draft.body, &self.defaults.body) {
            (Some(body), _) => (body.bytes, body.is_template),
            (None, Some(body)) => (body.clone(), false),
            (None, None) => (Vec::new(), false),
        };
        let of_headers = headers.iter().map(|(name, value)| name.len() + value.len());
        self.hold(
            line,
            place.target.path.len() + of_headers.sum::<usize>() + body.len(),
        )?;
        let expect = self.expected(draft.labels.expect, asked)?;
        let name = draft.labels.name;
        let name = name.unwrap_or_else(|| called(&method, &place.path));
        let name = self.shown(&name, line);
        self.steps.push(Step {
            name,
            weight: draft.labels.weight.map_or(1, |(weight, _)| weight),
            target: place.target,
            request: Request {
                method: sent_as(method),
                headers,
                body,
            },
            body_is_template,
            expect,
            at: Some(format!("{}:{line}", source.name)),
        });
        Ok(())
    }

    /// A name as it's shown wherever there are figures. One that is cut is told from the others by
    /// the line in which it first stands, since figures are listed by what is shown.
    fn shown(&mut self, name: &str, line: usize) -> String {
        let shown = Foreign::new(name).to_string();
        if name.chars().count() <= CHARACTERS_MAX {
            return shown;
        }
        let known = self.long_names.entry(name.to_owned());
        known
            .or_insert_with(|| format!("{shown} (line {line})"))
            .clone()
    }

    /// Refuses a call among requests of HTTP, and the other way round.
    fn check_alike(&mut self, line: usize, asked: Asked) -> Result<(), Invalid> {
        let (first, first_line) = *self.first.get_or_insert((asked, line));
        let what = match (first, asked) {
            (Asked::Http, Asked::Call) => "a gRPC call stands among requests of HTTP",
            (Asked::Call, Asked::Http) => "a request of HTTP stands among gRPC calls",
            _ => return Ok(()),
        };
        let what = format!(
            "{what} (the first is in line {first_line}), and a run speaks one protocol: give each \
             kind a file of its own"
        );
        Err(self.source.mistake(line, what))
    }

    /// What answers to a request must be. A call has nothing to be looked into.
    fn expected(&self, given: Vec<(Expect, usize)>, asked: Asked) -> Result<Vec<Expect>, Invalid> {
        match given.first().filter(|_| asked == Asked::Call) {
            Some((_, line)) => Err(self.source.mistake(
                *line,
                "`@expect` is about answers of HTTP, and a gRPC call is judged by its own status: \
                 remove it",
            )),
            None => Ok(given.into_iter().map(|(one, _)| one).collect()),
        }
    }

    /// Adds the messages of a WebSocket, which are all that the file holds. Its request says where
    /// they go.
    pub(super) fn add_flow(
        &mut self,
        draft: Draft,
        messages: Vec<Message>,
        flow: Flow,
    ) -> Result<(), Invalid> {
        let source = self.source;
        if !self.steps.is_empty() {
            return Err(source.mistake(draft.line, BESIDE_FLOW));
        }
        let headers = self.headers(draft.line, draft.headers, Asked::Http);
        let host = headers
            .iter()
            .find(|(name, _)| name.eq_ignore_ascii_case("host"));
        let host = host.map(|(_, value)| &**value);
        let place = url::place_of_websocket(&draft.url, host);
        let place = place.map_err(|what| source.mistake(draft.line, what))?;
        let has_braces = |text: &str| template::has_braces(text.as_bytes());
        if has_braces(&place.target.path) || headers.iter().any(|(_, value)| has_braces(value)) {
            let what = "templates can't be in the URL or a header of a WebSocket: each connection \
                        is upgraded alike; put them into messages";
            return Err(source.mistake(draft.line, what));
        }
        let name = draft.labels.name.unwrap_or(place.path);
        let of_headers = headers.iter().map(|(name, value)| name.len() + value.len());
        let of_all = place.target.path.len() + of_headers.sum::<usize>();
        let is_alone = messages.len() == 1;
        for (number, message) in (1..).zip(messages) {
            let Message { line, labels, body } = message;
            self.check_room(line)?;
            self.hold(line, of_all + body.bytes.len())?;
            let own = match is_alone {
                true => name.clone(),
                false => format!("{name}#{number}"),
            };
            let name = self.shown(labels.name.as_ref().unwrap_or(&own), line);
            self.steps.push(Step {
                name,
                weight: 1,
                target: place.target.clone(),
                request: Request {
                    method: "GET".to_owned(),
                    headers: headers.clone(),
                    body: body.bytes,
                },
                body_is_template: body.is_template,
                expect: labels.expectations(),
                at: Some(format!("{}:{line}", source.name)),
            });
        }
        self.flow = Some(flow);
        Ok(())
    }

    /// Whether there may be another request.
    fn check_room(&self, line: usize) -> Result<(), Invalid> {
        if self.steps.len() < STEPS_MAX {
            return Ok(());
        }
        let what = format!(
            "more than {STEPS_MAX} requests are too many: use one template and a data file (--data)"
        );
        Err(self.source.mistake(line, what))
    }

    /// Counts the bytes of a request.
    fn hold(&mut self, line: usize, bytes: usize) -> Result<(), Invalid> {
        self.held += bytes;
        if self.held <= HELD_BYTES_MAX {
            return Ok(());
        }
        let what = format!(
            "up to here the requests have more than {} MiB: use fewer, or one template and a data \
             file (--data)",
            HELD_BYTES_MAX >> 20
        );
        Err(self.source.mistake(line, what))
    }

    fn method(&self, line: usize, given: Option<String>) -> Result<String, Invalid> {
        let method = given.or_else(|| self.defaults.method.clone());
        let method = method.unwrap_or_else(|| "GET".to_owned());
        let known = METHODS
            .iter()
            .find(|known| known.eq_ignore_ascii_case(&method));
        if let Some(known) = known {
            return Ok((*known).to_owned());
        }
        let is_method = is_token(&method) && !method.bytes().any(|byte| byte.is_ascii_lowercase());
        if !is_method {
            let what = format!(
                "{:?} isn't a method: write one such as GET or POST, in capitals",
                Foreign::new(method)
            );
            return Err(self.source.mistake(line, what));
        }
        Ok(method)
    }

    /// The fields of a request, with those of the defaults that it doesn't set itself.
    fn headers(
        &mut self,
        line: usize,
        own: Vec<(String, String)>,
        asked: Asked,
    ) -> Vec<(String, String)> {
        let is_set = |name: &str| own.iter().any(|(set, _)| set.eq_ignore_ascii_case(name));
        let missing = self.defaults.headers.iter();
        let missing: Vec<_> = missing.filter(|(name, _)| !is_set(name)).cloned().collect();
        let is_length = |(name, _): &(String, String)| name.eq_ignore_ascii_case("content-length");
        let mut headers: Vec<_> = own.into_iter().chain(missing).collect();
        if headers.iter().any(is_length) {
            headers.retain(|header| !is_length(header));
            let what = "`Content-Length` is ignored: it's computed from each body";
            self.note(line, "content-length", what);
        }
        let is_type = |(name, _): &(String, String)| name.eq_ignore_ascii_case("content-type");
        if asked == Asked::Call && headers.iter().any(is_type) {
            headers.retain(|header| !is_type(header));
            let what = "`Content-Type` is ignored: that of a call is gRPC's";
            self.note(line, "content-type", what);
        }
        headers
    }

    /// What was read.
    pub(super) fn finish(self) -> Result<Targets, Invalid> {
        if self.steps.is_empty() {
            let what = "the file has no request: write one such as `GET http://localhost:8080/`";
            return Err(self.source.mistake(1, what));
        }
        let notes = self.notes.into_iter().map(|note| match note.more {
            0 => note.text,
            more => format!("{} (and {more} more)", note.text),
        });
        Ok(Targets {
            steps: self.steps,
            flow: self.flow,
            notes: notes.collect(),
        })
    }
}

/// What a method asks for.
pub(super) fn asked(method: &str) -> Asked {
    match method == CALL {
        true => Asked::Call,
        false => Asked::Http,
    }
}

/// The method as HTTP has it.
pub(super) fn sent_as(method: String) -> String {
    match asked(&method) {
        Asked::Call => METHOD_OF_CALLS.to_owned(),
        Asked::Http => method,
    }
}

/// What a request without a name is called.
pub(super) fn called(method: &str, path: &str) -> String {
    match asked(method) {
        Asked::Call => path.trim_start_matches('/').to_owned(),
        Asked::Http => format!("{method} {path}"),
    }
}

//! Requests that were made once, read from where that was written down: access logs of nginx and
//! Apache (common and combined), HAR files, and lines of JSON.
//!
//! A [`Trace`] says when each of them was made, counted from the first, and what it asked. Equal
//! requests are kept once, so that a day of a log fits into memory. What can't be read, and what
//! isn't to be sent, is counted, with the first of each kind.
//!
//! Reads files, and sends nothing; whatever a file says, it ends in a trace or in a sentence.
#![forbid(unsafe_code)]

mod har;
mod left_out;
mod lines;
mod log;
mod stamp;

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::Path;
use std::sync::Arc;

use measure::foreign::Foreign;

pub use crate::left_out::{LeftOut, Names};

/// The longest line that is read as one.
const LINE_BYTES_MAX: usize = 1 << 20;
/// The most requests of a trace.
const SENDINGS_MAX: usize = 50_000_000;
/// So many bytes of requests that differ are kept, what their places take included.
const KEPT_BYTES_MAX: usize = 1 << 30;
/// What one takes besides what it holds: two names of it, and their places.
const REQUEST_BYTES: usize = 256;
/// Of a line that doesn't fit, so much is shown.
const SHOWN_BYTES: usize = 120;
/// How often lines that don't fit may stand before the first that does.
const STRANGE_FIRST_MAX: u64 = 1000;

/// What is to be read.
#[derive(Clone)]
pub struct Options<'a> {
    /// The methods whose requests are sent; none is all of them.
    pub methods: Option<Vec<String>>,
    /// Which fields and whose values aren't sent, since they let somebody in.
    pub is_secret: &'a dyn Fn(&str) -> bool,
    /// Whether they're sent nevertheless.
    pub keep_secrets: bool,
}

/// Requests in the order in which they were made.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Trace {
    /// Each that differs from all others, once.
    pub requests: Vec<Arc<Request>>,
    /// When which of them was made.
    pub sendings: Vec<Sending>,
    /// What isn't among them, and why.
    pub left_out: LeftOut,
    /// What a reader has to know of it.
    pub notes: Vec<String>,
}

/// That a request was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sending {
    /// Nanoseconds since the first was made.
    pub at_ns: u64,
    /// Its place among the requests.
    pub request: u32,
}

/// What was asked.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Request {
    /// Such as `GET`.
    pub method: String,
    /// Path and query, as they're sent (RFC 9112 §3.2.1).
    pub target: String,
    /// Fields besides those that a client makes itself.
    pub fields: Vec<(String, String)>,
    /// Its content.
    pub body: Vec<u8>,
}

impl Request {
    /// How many bytes it holds.
    fn bytes(&self) -> usize {
        let fields = self.fields.iter();
        let fields: usize = fields.map(|(name, value)| name.len() + value.len()).sum();
        self.method.len() + self.target.len() + fields + self.body.len()
    }
}

/// Reads a file.
///
/// # Errors
/// It can't be read, nothing in it is to be sent, or it's in none of the formats: why, with the
/// first line that doesn't fit.
pub fn read(path: &Path, options: &Options<'_>) -> Result<Trace, String> {
    let name = Foreign::new(path.display().to_string()).to_string();
    let file = File::open(path).map_err(|why| format!("can't read {name}: {why}"))?;
    let ending = path.extension().and_then(|ending| ending.to_str());
    from(
        &mut BufReader::with_capacity(1 << 16, file),
        ending,
        &name,
        options,
    )
}

/// The same of what `reader` brings, which comes from `name`; `ending` is that of the file's name.
///
/// # Errors
/// See [`read`].
pub fn from(
    reader: &mut impl BufRead,
    ending: Option<&str>,
    name: &str,
    options: &Options<'_>,
) -> Result<Trace, String> {
    let mut made = Making::new(name, options);
    let cant = |why: io::Error| format!("can't read {name}: {why}");
    let begin = reader.fill_buf().map_err(cant)?;
    if begin.starts_with(b"\x1f\x8b") {
        return Err(format!("{name} is compressed: unpack it first (gunzip)"));
    }
    let begin = begin.strip_prefix(har::MARK).unwrap_or(begin);
    let mut first = begin.iter().filter(|byte| !byte.is_ascii_whitespace());
    if let (Some(b'['), Some(b'{' | b']')) = (first.next(), first.next()) {
        return Err(format!(
            "{name} is a list in JSON: write each of its objects on a line of its own \
             (jq -c '.[]')"
        ));
    }
    let format = format(reader, ending).map_err(cant)?;
    made.is_har = format == Format::Har;
    if format != Format::Har && reader.fill_buf().map_err(cant)?.starts_with(har::MARK) {
        reader.consume(har::MARK.len());
    }
    made.is_log = format == Format::Log;
    match format {
        Format::Har => har::read(reader, &mut made)?,
        Format::Lines => each_line(reader, &mut made, lines::entry)?,
        Format::Log => each_line(reader, &mut made, log::entry)?,
    }
    made.trace()
}

/// How a file is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    Log,
    Lines,
    Har,
}

/// Which it is, by its name or by how it begins.
fn format(reader: &mut impl BufRead, ending: Option<&str>) -> io::Result<Format> {
    match ending.map(str::to_ascii_lowercase).as_deref() {
        Some("har") => return Ok(Format::Har),
        Some("ndjson" | "jsonl") => return Ok(Format::Lines),
        _ => {}
    }
    let begin = reader.fill_buf()?;
    let begin = begin.strip_prefix(har::MARK).unwrap_or(begin);
    let first = begin.trim_ascii_start();
    if first.first() != Some(&b'{') {
        return Ok(Format::Log);
    }
    // An object on a line of its own is one of many, unless it's all of a HAR file.
    let line = first.split(|byte| *byte == b'\n').next().unwrap_or(first);
    let is_har = line[1..].trim_ascii_start().starts_with(b"\"log\"");
    let is_whole = line.trim_ascii_end().ends_with(b"}");
    Ok(match is_har || !is_whole && line.len() < first.len() {
        true => Format::Har,
        false => Format::Lines,
    })
}

/// A request as a line or an entry has it.
#[derive(Debug, Default)]
struct Entry {
    /// Nanoseconds since 1970, and whether that's known to a second only.
    at: stamp::Stamp,
    request: Request,
    /// The host that was asked, where that is known.
    host: Option<String>,
    /// Whether there was content that wasn't written down.
    lacks_body: bool,
    /// Whether nothing says if there was content.
    is_bare: bool,
}

/// What a parser of JSON says, without the text that it quotes, which may be a secret.
fn unquoted(why: &serde_json::Error) -> String {
    let text = why.to_string();
    match (text.find('"'), text.rfind('"')) {
        (Some(from), Some(to)) => format!("{}{}", text[..from].trim_end(), &text[to + 1..]),
        _ => text,
    }
}

/// Reads lines one by one.
fn each_line(
    reader: &mut impl BufRead,
    made: &mut Making<'_>,
    entry: fn(&[u8]) -> Result<Entry, String>,
) -> Result<(), String> {
    let mut line = Vec::new();
    for number in 1u64.. {
        line.clear();
        let read = bounded_line(reader, &mut line)
            .map_err(|why| format!("can't read {}: {why}", made.name))?;
        if !read {
            break;
        }
        let text = line.trim_ascii();
        // What tools write into their logs besides.
        if text.is_empty() || text.starts_with(b"#") {
            continue;
        }
        let found = match line.len() > LINE_BYTES_MAX {
            true => Err(format!("it's longer than {LINE_BYTES_MAX} bytes")),
            false => entry(text),
        };
        match found {
            Ok(entry) => made.add(entry)?,
            Err(why) => made.strange(number, text, &why)?,
        }
    }
    Ok(())
}

/// A line without its end. Of one that's too long the rest is passed over. Whether there is one.
fn bounded_line(reader: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<bool> {
    let mut any = false;
    loop {
        let available = match reader.fill_buf() {
            Err(why) if why.kind() == io::ErrorKind::Interrupted => continue,
            other => other?,
        };
        if available.is_empty() {
            return Ok(any);
        }
        any = true;
        let end = memchr::memchr(b'\n', available);
        let length = end.unwrap_or(available.len());
        let room = (LINE_BYTES_MAX + 1).saturating_sub(line.len());
        line.extend_from_slice(&available[..length.min(room)]);
        reader.consume(end.map_or(length, |end| end + 1));
        if end.is_some() {
            return Ok(true);
        }
    }
}

/// A trace that is being made.
struct Making<'a> {
    name: &'a str,
    options: &'a Options<'a>,
    known: HashMap<Arc<Request>, u32>,
    requests: Vec<Arc<Request>>,
    /// About how much memory they take.
    kept_bytes: usize,
    /// When, which request, and where to.
    sendings: Vec<(stamp::Stamp, u32, u32)>,
    hosts: Hosts,
    left_out: LeftOut,
    /// Fields that were left out of what went to each host.
    dropped_fields: BTreeMap<u32, u64>,
    /// Which fields those are.
    dropped: Names,
    /// Requests by each of the methods that mostly have content, of which nothing was written down.
    bare: [u64; WITH_CONTENT.len()],
    /// Whether it's a HAR file.
    is_har: bool,
    /// Whether it's the log of one server, which names a host only where it was a proxy.
    is_log: bool,
}

/// Methods whose requests mostly have content (RFC 9110 §9.3, RFC 5789).
const WITH_CONTENT: [&str; 3] = ["POST", "PUT", "PATCH"];

/// The hosts that were asked, each with how often.
#[derive(Default)]
struct Hosts {
    places: HashMap<String, u32>,
    counts: Vec<u64>,
}

/// The place of requests of which no host is known.
const NOWHERE: u32 = u32::MAX;

impl Hosts {
    fn place(&mut self, host: Option<String>) -> u32 {
        let Some(host) = host else { return NOWHERE };
        let next = self.counts.len() as u32;
        let place = *self.places.entry(host).or_insert(next);
        if place == next {
            self.counts.push(0);
        }
        self.counts[place as usize] += 1;
        place
    }

    /// The one that was asked most often, the first of them.
    fn most(&self) -> Option<u32> {
        let counts = self.counts.iter().enumerate();
        let most = counts.max_by_key(|(place, count)| (**count, usize::MAX - place));
        most.map(|(place, _)| place as u32)
    }

    fn name(&self, place: u32) -> Option<&str> {
        let mut all = self.places.iter();
        all.find(|(_, at)| **at == place).map(|(name, _)| &**name)
    }
}

impl<'a> Making<'a> {
    fn new(name: &'a str, options: &'a Options<'a>) -> Making<'a> {
        Making {
            name,
            options,
            known: HashMap::new(),
            requests: Vec::new(),
            kept_bytes: 0,
            sendings: Vec::new(),
            hosts: Hosts::default(),
            left_out: LeftOut::default(),
            dropped_fields: BTreeMap::new(),
            dropped: Names::default(),
            bare: [0; WITH_CONTENT.len()],
            is_har: false,
            is_log: false,
        }
    }

    /// One more. What isn't to be sent is counted.
    fn add(&mut self, entry: Entry) -> Result<(), String> {
        let mut request = entry.request;
        let methods = self.options.methods.as_deref();
        let is_sent = |methods: &[String]| methods.contains(&request.method);
        if !methods.is_none_or(is_sent) {
            self.left_out.by_method += 1;
            self.left_out.methods.add(&request.method);
            return Ok(());
        }
        if entry.lacks_body {
            self.left_out.without_body += 1;
            return Ok(());
        }
        let mut dropped = 0;
        if !self.options.keep_secrets {
            let before = request.fields.len();
            let is_secret = self.options.is_secret;
            let secrets = request.fields.iter().filter(|(name, _)| is_secret(name));
            secrets.for_each(|(name, _)| self.dropped.add(name));
            request.fields.retain(|(name, _)| !is_secret(name));
            dropped = (before - request.fields.len()) as u64;
        }
        if self.sendings.len() >= SENDINGS_MAX {
            return Err(format!(
                "{} has more than {SENDINGS_MAX} requests: divide it",
                self.name
            ));
        }
        let mut with_content = WITH_CONTENT.iter().zip(&mut self.bare);
        let known = with_content.find(|(method, _)| **method == request.method);
        if let Some((_, bare)) = known.filter(|_| entry.is_bare) {
            *bare += 1;
        }
        let request = self.place(request);
        if self.kept_bytes > KEPT_BYTES_MAX {
            return Err(format!(
                "{} has more than {} MiB of requests that differ: divide it",
                self.name,
                KEPT_BYTES_MAX >> 20
            ));
        }
        let host = self.hosts.place(entry.host);
        if dropped > 0 {
            *self.dropped_fields.entry(host).or_default() += dropped;
        }
        self.sendings.push((entry.at, request, host));
        Ok(())
    }

    fn place(&mut self, request: Request) -> u32 {
        if let Some(place) = self.known.get(&request) {
            return *place;
        }
        self.kept_bytes += request.bytes() + REQUEST_BYTES;
        let (place, request) = (self.requests.len() as u32, Arc::new(request));
        self.requests.push(Arc::clone(&request));
        self.known.insert(request, place);
        place
    }

    /// Line or entry `number` is no request.
    fn strange(&mut self, number: u64, text: &[u8], why: &str) -> Result<(), String> {
        self.left_out.unreadable += 1;
        if self.left_out.first.is_none() {
            let shown = match self.is_log {
                true => log::shown(text),
                false => &[],
            };
            let shown = Foreign::of_bytes(&shown[..shown.len().min(SHOWN_BYTES)]).to_string();
            let shown = if shown.is_empty() {
                shown
            } else {
                format!(": {shown}")
            };
            let place = match self.is_har {
                true => format!("{}, entry {number}", self.name),
                false => format!("{}:{number}", self.name),
            };
            self.left_out.first = Some(format!("{place}: {why}{shown}"));
        }
        let is_all = self.sendings.is_empty() && self.left_out.unreadable == self.left_out.count();
        match is_all && self.left_out.unreadable >= STRANGE_FIRST_MAX {
            true => Err(self.nothing()),
            false => Ok(()),
        }
    }

    fn nothing(&self) -> String {
        let left = &self.left_out;
        match &left.first {
            Some(first) if left.unreadable == left.count() => format!(
                "nothing in {} is a request as nginx and Apache log it (common or combined), a HAR \
                 file or a line of JSON has it; the first that isn't: {first}",
                self.name
            ),
            _ if left.count() > 0 => format!(
                "nothing of {} would be sent: of {} {}, {}",
                self.name,
                left.count(),
                self.units(),
                left.words(self.methods())
            ),
            _ if self.is_har => format!("{} has no entries", self.name),
            _ => format!("{} is empty", self.name),
        }
    }

    /// What it has, in the plural.
    fn units(&self) -> &'static str {
        match self.is_har {
            true => "entries",
            false => "lines",
        }
    }

    /// The methods that are sent, where not all are.
    fn methods(&self) -> &'a [String] {
        self.options.methods.as_deref().unwrap_or_default()
    }

    /// What isn't sent, of all that was found.
    fn skipped(&self) -> Option<String> {
        let skipped = self.left_out.count();
        let all = skipped + self.sendings.len() as u64;
        (skipped > 0).then(|| {
            let words = self.left_out.words(self.methods());
            format!("skipped {skipped} of {all} {}: {words}", self.units())
        })
    }

    /// That there are requests whose content nothing is known of.
    fn bare(&self) -> Option<String> {
        let some = WITH_CONTENT.iter().zip(self.bare);
        let some = some.filter(|(_, count)| *count > 0);
        let told: Vec<String> = some
            .map(|(name, count)| format!("{count} {name}"))
            .collect();
        let why = match self.is_log {
            true => "access logs don't record bodies",
            false => "the file has none of theirs",
        };
        (!told.is_empty()).then(|| {
            let told = told.join(" and ");
            format!("{told} requests are sent with an empty body: {why}")
        })
    }

    fn trace(mut self) -> Result<Trace, String> {
        let at_one_host = self.at_one_host();
        if self.sendings.is_empty() {
            return Err(self.nothing());
        }
        let mut notes: Vec<String> = self.skipped().into_iter().collect();
        notes.extend(at_one_host);
        notes.extend(self.bare());
        let dropped: u64 = self.dropped_fields.values().sum();
        if dropped > 0 {
            notes.push(format!(
                "left out {dropped} credential headers ({}); --replay-secrets sends them",
                self.dropped.told()
            ));
        }
        notes.extend(self.in_order());
        let times = stamp::spread(self.sendings.iter().map(|(at, _, _)| *at));
        let sendings = times.into_iter().zip(&self.sendings);
        let sendings = sendings.map(|(at_ns, (_, request, _))| Sending {
            at_ns,
            request: *request,
        });
        Ok(Trace {
            sendings: sendings.collect(),
            requests: self.requests,
            left_out: self.left_out,
            notes,
        })
    }

    /// Leaves out what went elsewhere than most. In the log of a server, requests of which no host
    /// is known went to it: where most are of that kind, others went through it to somebody else.
    fn at_one_host(&mut self) -> Option<String> {
        let most = self.hosts.most()?;
        let all = self.sendings.len();
        let at_home = self.sendings.iter().filter(|(_, _, host)| *host == NOWHERE);
        let is_most = at_home.count() as u64 > self.hosts.counts[most as usize];
        let is_home = self.is_log && is_most;
        let stays = |host: u32| host == NOWHERE || host == most && !is_home;
        self.sendings.retain(|(_, _, host)| stays(*host));
        self.dropped_fields.retain(|host, _| stays(*host));
        self.left_out.elsewhere = (all - self.sendings.len()) as u64;
        if self.left_out.elsewhere == 0 {
            return None;
        }
        self.known.clear();
        let mut places = vec![None; self.requests.len()];
        let requests = std::mem::take(&mut self.requests);
        for (_, request, _) in &mut self.sendings {
            let place = places[*request as usize].get_or_insert_with(|| {
                self.requests.push(Arc::clone(&requests[*request as usize]));
                self.requests.len() as u32 - 1
            });
            *request = *place;
        }
        Some(match is_home {
            true => "only requests without a host are sent, as most are".to_owned(),
            false => {
                let name = Foreign::new(self.hosts.name(most).unwrap_or_default());
                format!("only requests to {name} are sent: most went there")
            }
        })
    }

    /// Puts them into the order of their times. Logs are written when an answer is sent, so that
    /// some lines stand behind those of requests that came later.
    fn in_order(&mut self) -> Option<String> {
        let out = self
            .sendings
            .windows(2)
            .filter(|two| two[1].0.ns < two[0].0.ns);
        let out = out.count();
        self.sendings.sort_by_key(|(at, _, _)| at.ns);
        (out > 0).then(|| format!("put {out} requests in order that stood behind later ones"))
    }
}

#[cfg(test)]
mod tests;

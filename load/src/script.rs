//! Scripts of wrk in a run: the states before it, the requests and answers in it, `done` after it.

use std::collections::VecDeque;
use std::fs;
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use engine::Address;
use engine::signal::Stop;
use measure::counters::ErrorKind;
use measure::histogram::Histogram;
use measure::record;
use measure::tally::Tally;
use measure::time::Time;
use memchr::memmem;
use plan::{Family, Plan, Redaction};
use probe::{LoadError, look_up};
use proto::http1::client::Answer;
use script::{Broken, Distribution, Main, Needs, Network, Source, Summary, Thread};
use workload::Said;

use crate::Record;
use crate::watchdog::{Beat, Hang, outside_of_load};
use session::Fields;

/// So many requests are made ahead at most…
const AHEAD_MAX: usize = 64;
/// …and about so many bytes.
const AHEAD_BYTES_MAX: usize = 256 * 1024;
/// Of so many calls one is timed, so that asking the clock is no part of what is measured.
const TIMED_EACH: u64 = 16;
/// How long `wrk.lookup` and `wrk.connect` wait.
const NETWORK_MAX: Duration = Duration::from_secs(5);
/// The CPU time of a call before the load, which the script itself is to notice first; and of
/// `done`.
const BEFORE_MAX: Duration = Duration::from_secs(6);
const DONE_MAX: Duration = Duration::from_secs(10);

/// Modules that are no files.
const BUNDLED: [&str; 5] = ["bit", "cjson", "cjson.safe", "json", "socket"];

/// The script of a plan before the run.
pub(crate) struct Prepared {
    /// Where `done` is.
    pub main: Main,
    /// For each worker what it runs.
    pub threads: Vec<Thread>,
    /// What the script wants of the run.
    pub needs: Needs,
    /// Whether it may send secrets that nobody else knows, which answers could repeat.
    pub makes_secrets: bool,
}

impl Prepared {
    /// Loads the script of `plan`, if it has one, as wrk does it, for the first of its `addresses`.
    /// `hung` is told of a call that doesn't come back, and should end the process.
    ///
    /// # Errors
    /// It can't be read, fails, or wants what this run can't do.
    pub(crate) fn of(
        plan: &Plan,
        addresses: &[Address],
        stop: &Stop,
        hung: impl FnOnce(String, Hang) + Send,
    ) -> Result<Option<Prepared>, LoadError> {
        let Some(wanted) = &plan.script else {
            return Ok(None);
        };
        let refused = LoadError::Invalid;
        let file = wanted.file.display();
        if plan.target.unix_socket.is_some() {
            return Err(refused(format!(
                "-s {file}: scripts connect to addresses: drop --unix-socket"
            )));
        }
        let text = fs::read(&wanted.file)
            .map_err(|why| refused(format!("-s {file}: the script can't be read: {why}")))?;
        let makes_secrets = makes_secrets(&text, &plan.redaction);
        let target = &plan.target;
        let own_port = if target.is_secure() { 443 } else { 80 };
        let source = Source {
            path: wanted.file.clone(),
            text,
            args: wanted.args.clone(),
            url: format!("{}://{}{}", target.scheme, target.authority(), target.path),
            scheme: target.scheme.clone(),
            host: target.host.clone(),
            port: (target.port != own_port).then_some(target.port),
            path_and_query: target.path.clone(),
            method: plan.request.method.clone(),
            headers: plan.request.headers.clone(),
            body: (!plan.request.body.is_empty()).then(|| plan.request.body.clone()),
        };
        let network = Names {
            family: plan.family,
            addresses: addresses.to_vec(),
            host: target.host.clone(),
            port: target.port,
        };
        let threads = plan.threads as usize;
        let (source, network) = (Arc::new(source), Arc::new(network));
        let calls = Beat::default();
        let hung = |hang| {
            let told = not_back(&file.to_string(), "a call before the load", "5 s", hang);
            hung(told, hang);
        };
        let load = || Main::load_counted(source, network, threads, &calls);
        let loaded = outside_of_load(BEFORE_MAX, stop, &calls, hung, load);
        let (main, threads) = loaded.map_err(|broken| refused(broken.to_string()))?;
        let needs = threads.first().map(Thread::needs);
        let needs = needs.ok_or_else(|| refused("a script needs a thread".to_owned()))?;
        if needs.delay && plan.schedule.is_open() {
            return Err(refused(format!(
                "-s {file}: delay() says when a connection sends its next request, and so does a \
                 rate: drop -R or --stages, or take delay() out of the script"
            )));
        }
        Ok(Some(Prepared {
            main,
            threads,
            needs,
            makes_secrets,
        }))
    }
}

/// Whether a script speaks of secrets, as in `wrk.headers["Authorization"] = …`, or runs other
/// files, which may.
fn makes_secrets(text: &[u8], redaction: &Redaction) -> bool {
    let text = String::from_utf8_lossy(text);
    let is_of_word = |c: char| c.is_alphanumeric() || c == '_';
    let mut words = text.split(|c| !is_of_word(c));
    let runs_files = words.any(|word| matches!(word, "dofile" | "loadfile"));
    let mut modules = text.match_indices("require").filter_map(|(at, word)| {
        let rest = &text[at + word.len()..];
        let name = rest.trim_start().trim_start_matches('(').trim_start();
        (!rest.starts_with(is_of_word)).then_some(name)
    });
    let is_quote = |c: char| matches!(c, '"' | '\'');
    let is_bundled = |name: &str| {
        let name = name.strip_prefix(is_quote);
        let name = name.and_then(|name| name.split(is_quote).next());
        name.is_some_and(|name| BUNDLED.contains(&name))
    };
    runs_files || modules.any(|name| !is_bundled(name)) || redaction.names_secret(&text)
}

/// What is said of a call of a script that is given up.
fn not_back(file: &str, call: &str, limit: &str, hang: Hang) -> String {
    match hang {
        Hang::TooLong => format!(
            "-s {file}: {call} hasn't come back within {limit} of CPU time, so the program ends: \
             look for a loop without an end in it"
        ),
        Hang::Stopped(signal) => format!(
            "-s {file}: {call} hasn't come back since {signal}, so the program ends without it"
        ),
    }
}

/// What is said of a call within the load that is given up.
pub(crate) fn broken_off(file: &str, hang: Hang) -> String {
    const KNOWN: &str = "so the run was broken off: only the counts until then are known";
    let call = format!("-s {file}: a call of the script hasn't come back");
    match hang {
        Hang::TooLong => {
            format!("{call} for 10 s, {KNOWN}. Look for a loop without an end in it")
        }
        Hang::Stopped(signal) => format!("{call} since {signal}, {KNOWN}"),
    }
}

/// What `wrk.lookup` and `wrk.connect` are answered.
struct Names {
    family: Option<Family>,
    /// Those of the target.
    addresses: Vec<Address>,
    host: String,
    port: u16,
}

impl Network for Names {
    fn lookup(&self, host: &str, service: &str) -> Result<Vec<SocketAddr>, String> {
        let port = match service {
            "http" => 80,
            "https" => 443,
            other => other
                .parse()
                .map_err(|_| format!("{other:?} is no port, nor http or https"))?,
        };
        // Those of the target, which may be elsewhere.
        let of_target = self.addresses.iter().filter_map(|address| match address {
            Address::Tcp(address) if host == self.host && port == self.port => Some(*address),
            _ => None,
        });
        let mut found: Vec<SocketAddr> = of_target.collect();
        if found.is_empty() {
            let deadline = Time::now() + NETWORK_MAX;
            found = look_up(host, port, self.family, deadline).map_err(|why| why.to_string())?;
        }
        Ok(found)
    }

    fn connect(&self, to: &SocketAddr) -> bool {
        TcpStream::connect_timeout(to, NETWORK_MAX).is_ok()
    }
}

/// A worker's part of a script.
pub(crate) struct Scripted {
    thread: Thread,
    needs: Needs,
    /// Requests that are made and not sent, the next one first.
    made: VecDeque<Vec<u8>>,
    made_bytes: usize,
    /// How many of them are left of each call, where calls return several.
    batches: VecDeque<u32>,
    /// The one whose turn it is.
    current: Option<Vec<u8>>,
    /// The one that was said last.
    said: Vec<u8>,
    /// Buffers that nobody uses.
    pool: Vec<Vec<u8>>,
    /// What one call returned.
    call: Vec<u8>,
    is_over: bool,
    /// How it failed; and how a call did that was made ahead, which nobody may have needed.
    broken: Option<String>,
    unseen: Option<String>,
    calls: u64,
    timed_ns: u64,
    beat: Beat,
}

impl std::fmt::Debug for Scripted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Scripted")
            .field("needs", &self.needs)
            .finish_non_exhaustive()
    }
}

impl Scripted {
    /// What `thread` does in a worker.
    pub(crate) fn new(thread: Thread) -> Scripted {
        Scripted {
            needs: thread.needs(),
            thread,
            made: VecDeque::with_capacity(AHEAD_MAX),
            made_bytes: 0,
            batches: VecDeque::with_capacity(AHEAD_MAX),
            current: None,
            said: Vec::new(),
            pool: Vec::with_capacity(AHEAD_MAX + 2),
            call: Vec::new(),
            is_over: false,
            broken: None,
            unseen: None,
            calls: 0,
            timed_ns: 0,
            beat: Beat::default(),
        }
    }

    /// What says whether a call comes back.
    pub(crate) fn beat(&self) -> Beat {
        Arc::clone(&self.beat)
    }

    /// What the script wants of the run.
    pub(crate) fn needs(&self) -> Needs {
        self.needs
    }

    /// The measured window opens.
    pub(crate) fn begin_window(&mut self) {
        self.timed_ns = 0;
    }

    /// How long the script ran in the window, about, in nanoseconds.
    pub(crate) fn spent_ns(&self) -> u64 {
        self.timed_ns.saturating_mul(TIMED_EACH)
    }

    #[inline]
    pub(crate) fn is_over(&self) -> bool {
        self.is_over && self.made.is_empty()
    }

    pub(crate) fn broken(&self) -> Option<&str> {
        self.broken.as_deref()
    }

    pub(crate) fn ready(&mut self, count: u32) -> u32 {
        while self.made.len() < count as usize && self.make() {}
        if self.made.len() < count as usize {
            self.own_up();
        }
        count.min(self.made.len() as u32)
    }

    #[inline]
    pub(crate) fn advance(&mut self) {
        if self.made.is_empty() {
            self.make();
        }
        let next = self.pop();
        if let Some(unsaid) = std::mem::replace(&mut self.current, next) {
            self.give_back(unsaid);
        }
    }

    pub(crate) fn pass_over(&mut self) {
        if let Some(bytes) = self.pop() {
            self.give_back(bytes);
        }
    }

    #[inline]
    fn pop(&mut self) -> Option<Vec<u8>> {
        let bytes = self.made.pop_front()?;
        self.made_bytes -= bytes.len();
        if let Some(left) = self.batches.front_mut() {
            *left -= 1;
            if *left == 0 {
                self.batches.pop_front();
            }
        }
        Some(bytes)
    }

    /// How many requests go out together next: those that are left of one call.
    pub(crate) fn batch(&mut self) -> u32 {
        if self.made.is_empty() {
            self.make();
        }
        self.batches.front().copied().unwrap_or(1)
    }

    #[inline]
    pub(crate) fn say(&mut self) -> Said<'_> {
        let bytes = self.take();
        let before = std::mem::replace(&mut self.said, bytes);
        self.give_back(before);
        Scripted::said(&self.said)
    }

    /// The bytes of the next request.
    pub(crate) fn take(&mut self) -> Vec<u8> {
        if let Some(bytes) = self.current.take() {
            return bytes;
        }
        self.advance();
        self.current.take().unwrap_or_default()
    }

    /// What `bytes` say, and how that is answered.
    pub(crate) fn said(bytes: &[u8]) -> Said<'_> {
        Said::Http1(bytes, Answer::to_bytes(bytes))
    }

    #[inline]
    pub(crate) fn give_back(&mut self, mut bytes: Vec<u8>) {
        if bytes.capacity() > 0 && self.pool.len() < self.pool.capacity() {
            bytes.clear();
            self.pool.push(bytes);
        }
    }

    /// Calls the script ahead where nothing can change what it returns.
    #[inline]
    pub(crate) fn make_ahead(&mut self) -> bool {
        let is_full = self.made.len() >= AHEAD_MAX || self.made_bytes >= AHEAD_BYTES_MAX;
        self.needs.may_be_ahead() && !is_full && self.make()
    }

    /// Asks the script for what one call of it returns.
    fn make(&mut self) -> bool {
        if self.is_over {
            return false;
        }
        self.call.clear();
        let mut call = std::mem::take(&mut self.call);
        let asked = self.timed(|thread| thread.request(&mut call));
        self.call = call;
        if let Err(broken) = asked {
            self.is_over = true;
            self.unseen = Some(broken.to_string());
            return false;
        }
        let before = self.made.len();
        let mut rest = 0;
        while rest < self.call.len() {
            let text = &self.call[rest..];
            let length = match memmem::find(text, b"\r\n\r\n") {
                Some(end) if end + 4 == text.len() => text.len(),
                _ => script::first_request(text),
            };
            let mut bytes = self.pool.pop().unwrap_or_default();
            bytes.extend_from_slice(&self.call[rest..rest + length]);
            self.made_bytes += bytes.len();
            self.made.push_back(bytes);
            rest += length;
        }
        let count = (self.made.len() - before) as u32;
        if self.needs.per_call > 1 && count > 0 {
            self.batches.push_back(count);
        }
        self.look_for_stop();
        count > 0
    }

    /// Tells the script of an answer.
    pub(crate) fn answered(&mut self, status: u16, fields: Fields<'_, '_>, body: &[u8]) {
        if self.broken.is_some() {
            return;
        }
        let told = self.timed(|thread| thread.response(status, fields, body));
        if let Err(broken) = told {
            self.fail(&broken);
        }
        self.look_for_stop();
    }

    /// For how long a connection waits before its next request, in nanoseconds.
    pub(crate) fn delay_ns(&mut self) -> u64 {
        if self.is_over {
            return 0;
        }
        match self.timed(Thread::delay_ms) {
            Ok(ms) => ms.saturating_mul(1_000_000),
            Err(broken) => {
                self.fail(&broken);
                0
            }
        }
    }

    fn look_for_stop(&mut self) {
        self.is_over |= self.needs.stop && self.thread.is_stopped();
    }

    #[inline]
    fn timed<R>(&mut self, call: impl FnOnce(&mut Thread) -> R) -> R {
        self.calls += 1;
        self.beat.store(self.calls * 2 - 1, Ordering::Relaxed);
        // By chance, since calls of one kind may come at every second place.
        let is_timed = self.calls.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 60 == 0;
        let done = match is_timed {
            false => call(&mut self.thread),
            true => {
                let start = Time::now();
                let done = call(&mut self.thread);
                self.timed_ns += Time::now().since(start);
                done
            }
        };
        self.beat.store(self.calls * 2, Ordering::Relaxed);
        done
    }

    /// A call was needed that has failed.
    #[cold]
    pub(crate) fn own_up(&mut self) {
        let unseen = self.unseen.take();
        self.broken = self.broken.take().or(unseen);
    }

    #[cold]
    fn fail(&mut self, broken: &Broken) {
        self.is_over = true;
        self.broken.get_or_insert_with(|| broken.to_string());
    }
}

/// What calls `done` of a script, when the report has been written.
pub struct Finish {
    main: Main,
    file: String,
    summary: Summary,
    latency: Spread,
    rates: Spread,
}

impl std::fmt::Debug for Finish {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Finish").finish_non_exhaustive()
    }
}

impl Finish {
    /// With what a record says of a run, and completed requests per second of each worker.
    pub(crate) fn new(main: Main, record: &Record, rates: Histogram) -> Finish {
        let of = |kinds: &[ErrorKind]| {
            let counts = kinds
                .iter()
                .filter_map(|kind| record.errors.get(kind.name()));
            counts.sum::<u64>()
        };
        let statuses_from = |least: u16| {
            let statuses = record.status.iter();
            let bad = statuses.filter(|(status, _)| status.parse().is_ok_and(|s: u16| s >= least));
            bad.map(|(_, count)| count).sum()
        };
        let text = &record.histograms.response_time;
        let script = record.plan.script.as_ref();
        let file = script.map(|script| script.file.display().to_string());
        Finish {
            main,
            file: file.unwrap_or_default(),
            summary: Summary {
                duration_us: (record.duration_s * 1e6) as u64,
                requests: record.status.values().sum(),
                bytes: record.bytes.received,
                connect: record.connections.failed_attempts,
                read: of(&[
                    ErrorKind::Reset,
                    ErrorKind::EarlyClose,
                    ErrorKind::StreamCut,
                    ErrorKind::ProtocolViolation,
                ]),
                write: of(&[ErrorKind::BrokenPipe]),
                status: statuses_from(400),
                timeout: of(&[ErrorKind::Timeout]),
            },
            latency: Spread {
                per: 1000.0,
                of: Histogram::from_hdr_v2_base64(text).unwrap_or_default(),
            },
            rates: Spread {
                per: 1.0,
                of: rates,
            },
        }
    }

    /// Calls it, if there is one; what it prints goes to standard output. `hung` is told what to
    /// say where it takes more than 10 s of CPU time, or goes on after `stop`; it should end the
    /// process. `code` is what the process ends with but for the script: unless that is 0, it is so
    /// where `done` calls `os.exit`, too.
    ///
    /// # Errors
    /// The script fails: where, and how.
    pub fn done(
        mut self,
        stop: &Stop,
        code: u8,
        hung: impl FnOnce(String, Hang) + Send,
    ) -> Result<(), String> {
        let file = std::mem::take(&mut self.file);
        let hung = |hang| hung(not_back(&file, "done()", "10 s", hang), hang);
        let done = || {
            self.main
                .done(&self.summary, &self.latency, &self.rates, code)
        };
        let done = outside_of_load(DONE_MAX, stop, &Beat::default(), hung, done);
        done.map_err(|broken| broken.to_string())
    }
}

/// Completed requests per second of each worker, second by second.
pub(crate) fn rates<'a>(tallies: impl Iterator<Item = &'a Tally>) -> Histogram {
    let mut rates = Histogram::new();
    for row in tallies.flat_map(Tally::rows) {
        if row.seconds > 0.0 {
            rates.record((row.completed as f64 / row.seconds) as u64);
        }
    }
    rates
}

/// A distribution for a script: one of `of`, whose values are that many of the script's each.
struct Spread {
    of: Histogram,
    per: f64,
}

impl Distribution for Spread {
    fn min(&self) -> f64 {
        self.of.min() as f64 / self.per
    }

    fn max(&self) -> f64 {
        self.of.max() as f64 / self.per
    }

    fn mean(&self) -> f64 {
        self.of.mean() / self.per
    }

    fn stdev(&self) -> f64 {
        self.of.stdev() / self.per
    }

    fn percentile(&self, percent: f64) -> f64 {
        self.of.quantile((percent / 100.0).clamp(0.0, 1.0)) as f64 / self.per
    }

    fn len(&self) -> usize {
        self.of.lengths().count()
    }

    fn nth(&self, index: usize) -> Option<(f64, u64)> {
        let (value, count) = self.of.lengths().nth(index)?;
        Some((value as f64 / self.per, count))
    }
}

/// What a record says of a script.
pub(crate) fn told(needs: Needs, cpu_share: Option<f64>) -> record::Script {
    let defined = [
        ("request", needs.request),
        ("response", needs.response),
        ("delay", needs.delay),
        ("thread:stop", needs.stop),
    ];
    let uses = defined.iter().filter(|(_, is_used)| *is_used);
    record::Script {
        uses: uses.map(|(name, _)| (*name).to_owned()).collect(),
        ahead: needs.may_be_ahead(),
        requests_per_call: needs.per_call,
        cpu_share,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_answers_say_to_a_script_that_speaks_of_secrets_is_not_quoted() {
        let redaction = Redaction::default().naming(["x-mine"]);
        for (text, expected) in [
            ("wrk.headers[\"Authorization\"] = t", true),
            ("wrk.format(nil, \"/?access_token=\" .. t)", true),
            ("local h = { [\"X-Mine\"] = os.getenv(\"A\") }", true),
            ("dofile(\"other.lua\")", true),
            ("local c = require(\"common\")", true),
            ("local c = require 'common'", true),
            ("require(name)", true),
            ("local json = require(\"cjson\")", false),
            ("local json = require 'cjson.safe'", false),
            ("required = 1; wrk.path = \"/token_count\"", false),
            (
                "function request() return wrk.format(nil, \"/\") end",
                false,
            ),
        ] {
            let made = makes_secrets(text.as_bytes(), &redaction);
            assert_eq!(made, expected, "{text}");
        }
    }
}

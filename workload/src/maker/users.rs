//! Users who go through a flow, one on each connection: what each does next, and what its answers
//! mean to it.
//!
//! A user begins with a row of the data file, if there is one, without cookies and with variables
//! of its own; when its flow is over, another one takes its place on the connection. Buffers serve
//! all users of a worker, since one of them acts at a time. With one seed, and answers that come in
//! the same order, the same is sent, but for what asks the clock.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use flow::{
    Answer, FaultKind, Fields, Flow, Heard, Now, Outcome, Request, Session, Step, Url, Version,
};
use measure::counters::ErrorKind;
use measure::random::Random;
use measure::record::Unmet;
use measure::time::{Time, unix_nanoseconds};
use plan::{Invalid, Plan, Redaction, Workload};
use proto::http1::client::Answer as Answering;
use proto::http2::hpack::block as hpack;

use super::{Maker, Said, Source};
use crate::recipe::Values;

/// The streams of random numbers of users, one for each worker, begin here.
const STREAMS: u64 = 5 << 32;
/// A user whose flow sent nothing at all begins the next one so much later: it would do nothing
/// else.
const IDLE_NS: u64 = 1_000_000_000;
/// Fields that are about a connection of HTTP/1.1.
const OF_CONNECTIONS: [&str; 5] = [
    "connection",
    "keep-alive",
    "proxy-connection",
    "transfer-encoding",
    "upgrade",
];
/// Of so many lines it is told that answers weren't as they should be.
const TOLD_MAX: usize = 64;

/// What users of a plan go through.
pub(super) struct Going {
    flow: Arc<Flow>,
    /// Where all requests go.
    origin: Url,
    /// How the requests are sent.
    is_http2: bool,
    /// Fields that every request has which doesn't have them itself.
    headers: Vec<(String, String)>,
    /// The file, as messages name it.
    file: String,
    /// What can go wrong: the request, and the line.
    lines: Vec<(usize, u32)>,
    /// The names of the requests.
    names: Vec<String>,
}

impl fmt::Debug for Going {
    /// Without fields, of which some are secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Going")
            .field("flow", &self.flow)
            .finish_non_exhaustive()
    }
}

/// What a user does next.
#[derive(Debug)]
pub enum Does {
    /// It sends what [`Users::say`] has.
    Send,
    /// It does nothing before this time.
    Rest(Time),
    /// It waits for an answer.
    Listen,
    /// Its flow is over.
    Ended(Ended),
    /// There is no user: [`Users::begin`] makes one.
    Nobody,
}

/// A flow that is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ended {
    /// When it was due.
    pub due: Time,
    /// When it was begun.
    pub began: Time,
    /// When the last answer came, or it failed.
    pub done: Time,
    /// What went wrong, if anything.
    pub failed: Option<ErrorKind>,
    /// Where that is no request's failure, because there was none: the rule that says why.
    pub unmade: Option<u32>,
}

/// What an answer is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answered {
    /// As it should be, or the entry will be tried again.
    Well,
    /// The same, and a redirect is followed.
    Redirected,
    /// Of a status outside of 200 to 399, where the file says nothing of it.
    Strange,
    /// Otherwise than this rule says.
    Unmet(u32),
}

/// An answer to what a user has sent, but for its fields.
#[derive(Clone, Copy, Debug)]
pub struct Came<'a> {
    /// Its status.
    pub status: u16,
    /// It's one of HTTP/1.0.
    pub is_old: bool,
    /// Its body, without a coding.
    pub body: &'a [u8],
    /// The body was longer than that.
    pub is_cut: bool,
    /// It isn't in the coding that it's said to be in.
    pub is_broken: bool,
}

/// Who is on a connection.
#[derive(Debug, Default)]
struct User {
    /// Kept for the next one: it has buffers.
    session: Option<Box<Session>>,
    passage: Option<Passage>,
    /// Before that nobody begins.
    rests_until: Time,
}

/// A flow that is under way.
#[derive(Clone, Copy, Debug)]
struct Passage {
    due: Time,
    began: Time,
    last: Time,
    has_sent: bool,
    is_redirected: bool,
    failed: Option<ErrorKind>,
    unmade: Option<u32>,
}

/// See the module.
pub struct Users {
    maker: Maker,
    going: Arc<Going>,
    random: Random,
    users: Vec<User>,
    under_way: usize,
    /// How many flows may be begun in the window, and how many of them haven't been.
    most: Option<u64>,
    left: Option<u64>,
    is_open: bool,
    request: Request,
    bytes: Vec<u8>,
    fields: Fields,
    /// By rule, what came once instead.
    came: Vec<Option<String>>,
}

impl fmt::Debug for Users {
    /// Without what is sent.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Users")
            .field("going", &self.going)
            .field("under_way", &self.under_way)
            .finish_non_exhaustive()
    }
}

impl Going {
    /// Those of a plan that has some.
    ///
    /// # Errors
    /// A plan that was read from a record.
    pub(super) fn of(plan: &Plan, workload: &Workload) -> Result<Option<Going>, Invalid> {
        let Some(users) = &workload.users else {
            return Ok(None);
        };
        let file = workload.shown_file().unwrap_or_default();
        let flow = users.journey.0.as_ref();
        let origin = flow.and_then(|flow| flow.origins().into_iter().next());
        let (Some(flow), Some(origin)) = (flow, origin) else {
            return Err(Invalid(format!(
                "{file}: a flow is read from its file, and not from a record"
            )));
        };
        Ok(Some(Going {
            lines: flow.lines(),
            flow: Arc::clone(flow),
            origin,
            is_http2: plan.protocol.http2().is_some(),
            headers: plan.request.headers.clone(),
            file,
            names: workload.steps.iter().map(|it| it.name.clone()).collect(),
        }))
    }

    /// The rule of a line of a request, which is its first one where the line has none.
    fn rule(&self, entry: usize, line: u32) -> u32 {
        let exact = self.lines.iter().position(|it| *it == (entry, line));
        let first = || self.lines.iter().position(|(at, _)| *at == entry);
        exact.or_else(first).unwrap_or_default() as u32
    }
}

impl Users {
    /// Those of `maker`'s source; `maker` where it has none.
    ///
    /// # Errors
    /// `maker` itself.
    pub fn new(maker: Box<Maker>, worker: u32) -> Result<Users, Box<Maker>> {
        let Some(going) = maker.source.going.clone() else {
            return Err(maker);
        };
        Ok(Users {
            random: Random::new(maker.source.seed, STREAMS | u64::from(worker)),
            maker: *maker,
            users: Vec::new(),
            under_way: 0,
            most: None,
            left: None,
            is_open: false,
            request: Request::new(),
            bytes: Vec::new(),
            fields: Fields::new(),
            came: vec![None; going.lines.len()],
            going,
        })
    }

    /// What it goes by.
    pub fn source(&self) -> &Source {
        &self.maker.source
    }

    /// How many rules there are that answers have to meet.
    pub fn rules(&self) -> usize {
        self.going.lines.len()
    }

    /// Begins no more than so many flows in the window.
    pub fn limit(&mut self, most: Option<u64>) {
        (self.most, self.left) = (most, most);
    }

    /// The window opens: flows that begin now count.
    pub fn open_window(&mut self) {
        (self.is_open, self.left) = (true, self.most);
    }

    /// Whether as many flows as were wanted have begun.
    pub fn is_counted_out(&self) -> bool {
        self.left == Some(0)
    }

    /// Whether another flow may begin.
    pub fn may_begin(&self) -> bool {
        !self.maker.exhausted && !self.is_counted_out()
    }

    /// Whether there is nobody, and nobody will come.
    pub fn is_over(&self) -> bool {
        self.under_way == 0 && !self.may_begin()
    }

    /// How many flows are under way.
    pub fn under_way(&self) -> usize {
        self.under_way
    }

    /// What of the data file can't be used, with the line; then nobody begins any more.
    pub fn broken(&self) -> Option<&str> {
        self.maker.broken()
    }

    /// A flow that was due begins on a connection on which there is nobody. False if none can.
    pub fn begin(&mut self, connection: usize, due: Time, now: Time) -> bool {
        if !self.may_begin() {
            return false;
        }
        if self.users.len() <= connection {
            self.users.resize_with(connection + 1, User::default);
        }
        let maker = &mut self.maker;
        let columns = maker.rows.as_ref().map_or(0, |rows| rows.columns().len());
        let mut row = Vec::with_capacity(columns);
        for column in 0..columns {
            let Ok(value) = std::str::from_utf8(maker.row.value(column)) else {
                maker.exhausted = true;
                maker.broken = Some(format!(
                    "{}: a row of the data file isn't UTF-8, which a flow needs: save it as UTF-8",
                    self.going.file
                ));
                return false;
            };
            row.push(value);
        }
        let (user, seed) = (&mut self.users[connection], self.random.next());
        match &mut user.session {
            Some(session) => session.begin(&row, seed),
            None => {
                user.session = Some(Box::new(Session::new(&self.going.flow, &row, seed)));
            }
        }
        user.passage = Some(Passage {
            due,
            began: now,
            last: now,
            has_sent: false,
            is_redirected: false,
            failed: None,
            unmade: None,
        });
        maker.read_row();
        self.under_way += 1;
        if self.is_open {
            self.left = self.left.map(|left| left - 1);
        }
        true
    }

    /// What is done next on a connection on which no answer is awaited.
    pub fn next(&mut self, connection: usize, now: Time) -> Does {
        let Some(user) = self.users.get_mut(connection) else {
            return Does::Nobody;
        };
        let (Some(passage), Some(session)) = (&mut user.passage, &mut user.session) else {
            return match user.rests_until > now {
                true => Does::Rest(user.rests_until),
                false => Does::Nobody,
            };
        };
        loop {
            match session.next(both_clocks(now), &mut self.request) {
                Step::Send if self.request.url().is_same_origin(&self.going.origin) => {
                    passage.has_sent = true;
                    let write = match self.going.is_http2 {
                        true => write_block,
                        false => write,
                    };
                    write(&self.request, &self.going.headers, &mut self.bytes);
                    return Does::Send;
                }
                Step::Send => {
                    let asked = self.request.url().authority().to_owned();
                    let own = self.going.origin.authority();
                    let kind = match passage.is_redirected {
                        true => ErrorKind::RedirectElsewhere,
                        false => ErrorKind::RequestUnmade,
                    };
                    let why = format!("it goes to {asked}, and this run loads {own} alone");
                    session.lost(both_clocks(now), &why);
                    passage.failed = Some(kind);
                    let line = session.fault().map_or(0, |fault| fault.line);
                    passage.unmade = Some(self.going.rule(session.entry(), line));
                }
                Step::Wait(at) => return Does::Rest(at),
                Step::Listen => return Does::Listen,
                Step::Done(outcome) => return Does::Ended(self.end(connection, outcome, now)),
            }
        }
    }

    /// A flow is over.
    fn end(&mut self, connection: usize, outcome: Outcome, now: Time) -> Ended {
        let user = &mut self.users[connection];
        let passage = user.passage.take();
        let mut ended = Ended {
            due: now,
            began: now,
            done: now,
            failed: None,
            unmade: None,
        };
        if let Some(passage) = passage {
            self.under_way -= 1;
            (ended.due, ended.began, ended.done) = (passage.due, passage.began, passage.last);
            if !passage.has_sent {
                user.rests_until = now.plus(IDLE_NS);
            }
            if outcome == Outcome::Failed {
                ended.failed = passage.failed.or(Some(ErrorKind::RequestUnmade));
                ended.unmade = passage.unmade;
            }
        }
        let fault = user.session.as_ref().and_then(|session| session.fault());
        if let Some(fault) = fault.filter(|_| outcome == Outcome::Failed) {
            let rule = self
                .going
                .rule((fault.entry as usize).saturating_sub(1), fault.line);
            if fault.kind == FaultKind::Request {
                ended.failed = Some(ErrorKind::RequestUnmade);
                ended.unmade = Some(rule);
            }
            if let Some(came) = self.came.get_mut(rule as usize) {
                came.get_or_insert_with(|| fault.what.clone());
            }
        }
        ended
    }

    /// Whether the flow on a connection is known to be over: [`Users::next`] says how.
    pub fn is_through(&self, connection: usize) -> bool {
        let user = self.users.get(connection);
        user.is_some_and(|user| {
            let session = user.session.as_ref().filter(|_| user.passage.is_some());
            session.is_some_and(|session| session.is_through())
        })
    }

    /// Which request of the file the user of a connection sends, or has sent.
    pub fn step(&self, connection: usize) -> u16 {
        let user = self.users.get(connection);
        let session = user.and_then(|user| user.session.as_ref());
        session.map_or(0, |session| session.entry() as u16)
    }

    /// What is sent next, on the connection that was asked about last.
    pub fn say(&self) -> Said<'_> {
        match self.going.is_http2 {
            true => Said::Http2Block {
                block: &self.bytes,
                body: self.request.body(),
                is_head: self.request.method() == "HEAD",
            },
            false => Said::Http1(&self.bytes, Answering::to(self.request.method())),
        }
    }

    /// The answer to what the user of a connection has sent `took_ns` before.
    pub fn answered<'f>(
        &mut self,
        connection: usize,
        (now, took_ns): (Time, u64),
        came: Came<'_>,
        fields: impl Iterator<Item = (&'f [u8], &'f [u8])>,
    ) -> Answered {
        self.fields.clear();
        fields.for_each(|(name, value)| self.fields.push(name, value));
        let Some(user) = self.users.get_mut(connection) else {
            return Answered::Well;
        };
        let (Some(passage), Some(session)) = (&mut user.passage, &mut user.session) else {
            return Answered::Well;
        };
        passage.last = now;
        let answer = Answer {
            version: match (self.going.is_http2, came.is_old) {
                (true, _) => Version::Http2,
                (false, true) => Version::Http10,
                (false, false) => Version::Http11,
            },
            status: came.status,
            fields: &self.fields,
            body: came.body,
            is_cut: came.is_cut,
            is_broken: came.is_broken,
            took: Duration::from_nanos(took_ns),
        };
        let entry = session.entry();
        let heard = session.answer(both_clocks(now), &answer);
        passage.is_redirected = heard == Heard::Redirected;
        match heard {
            Heard::Redirected => Answered::Redirected,
            Heard::Failed => {
                (passage.failed, passage.unmade) = (Some(ErrorKind::UnexpectedAnswer), None);
                let line = session.fault().map_or(0, |fault| fault.line);
                Answered::Unmet(self.going.rule(entry, line))
            }
            _ if !(200..400).contains(&came.status) && !self.going.flow.expects(entry) => {
                Answered::Strange
            }
            Heard::Passed | Heard::Retried | Heard::Unasked => Answered::Well,
        }
    }

    /// The server did nothing for what the user of a connection has sent, which is sent again.
    pub fn again(&mut self, connection: usize) {
        let user = self.users.get_mut(connection);
        if let Some(session) = user.and_then(|user| user.session.as_mut()) {
            session.again();
        }
    }

    /// No answer will come to what the user of a connection has sent.
    pub fn lost(&mut self, connection: usize, kind: ErrorKind, now: Time) {
        let Some(user) = self.users.get_mut(connection) else {
            return;
        };
        if let (Some(passage), Some(session)) = (&mut user.passage, &mut user.session)
            && session.lost(both_clocks(now), kind.text()) == Heard::Failed
        {
            (passage.failed, passage.unmade) = (Some(kind), None);
            passage.last = now;
        }
    }

    /// Flows that are under way: when each was due, and when it was begun.
    pub fn passages(&self) -> impl Iterator<Item = (Time, Time)> {
        let passages = self.users.iter().filter_map(|user| user.passage);
        passages.map(|passage| (passage.due, passage.began))
    }

    /// What went wrong, by line, of which each rule has counted so much.
    pub fn told(&self, unmet: &[u64]) -> Vec<Unmet> {
        let Going {
            lines, names, file, ..
        } = &*self.going;
        let all = unmet.iter().zip(lines).zip(&self.came);
        let told = all.filter(|((failed, _), _)| **failed > 0);
        let told = told.map(|((failed, (entry, line)), came)| Unmet {
            expected: format!("{file}:{line}"),
            step: names.get(*entry).cloned(),
            failed: *failed,
            came: came.clone(),
        });
        told.collect()
    }
}

/// What went wrong in all workers: what each of them has told, without what `redaction` hides.
pub fn told_by_all(redaction: &Redaction, each: impl IntoIterator<Item = Unmet>) -> Vec<Unmet> {
    let mut all: Vec<Unmet> = Vec::new();
    for one in each {
        let known = all.iter_mut().find(|known| known.expected == one.expected);
        match known {
            None => all.push(one),
            Some(known) => {
                known.failed += one.failed;
                known.came = known.came.take().or(one.came);
            }
        }
    }
    all.sort_by_key(|one| std::cmp::Reverse(one.failed));
    all.truncate(TOLD_MAX);
    for came in all.iter_mut().filter_map(|one| one.came.as_mut()) {
        *came = redaction.scrub(came).into_owned();
    }
    all
}

/// A moment by the driver's clock and by the calendar.
fn both_clocks(at: Time) -> Now {
    Now {
        at,
        unix_ms: (unix_nanoseconds() / 1_000_000) as u64,
    }
}

/// Writes a request for HTTP/1.1 (RFC 9112 §3). How long its body is isn't left to the file.
fn write(request: &Request, headers: &[(String, String)], bytes: &mut Vec<u8>) {
    bytes.clear();
    for part in [
        request.method(),
        " ",
        request.url().target(),
        " HTTP/1.1\r\n",
    ] {
        bytes.extend_from_slice(part.as_bytes());
    }
    let mut push = |name: &str, value: &str| {
        for part in [name, ": ", value, "\r\n"] {
            bytes.extend_from_slice(part.as_bytes());
        }
    };
    let own = headers.iter().map(|(name, value)| (&**name, &**value));
    let own = own.filter(|(name, _)| request.header(name).is_none());
    let is_host = |name: &str| name.eq_ignore_ascii_case("host");
    if request.header("host").is_none() && !headers.iter().any(|(name, _)| is_host(name)) {
        push("Host", request.url().authority());
    }
    for (name, value) in request.headers().chain(own) {
        let is_framing = ["content-length", "transfer-encoding"]
            .iter()
            .any(|framing| name.eq_ignore_ascii_case(framing));
        if !is_framing {
            push(name, value);
        }
    }
    let has_body = matches!(request.method(), "POST" | "PUT" | "PATCH");
    if has_body || !request.body().is_empty() {
        push("Content-Length", &request.body().len().to_string());
    }
    bytes.extend_from_slice(b"\r\n");
    bytes.extend_from_slice(request.body());
}

/// Writes the fields of a request for HTTP/2 (RFC 9113 §8.3.1); its body stands for itself. What is
/// said of a connection of HTTP/1.1 isn't sent (§8.2.2).
fn write_block(request: &Request, headers: &[(String, String)], block: &mut Vec<u8>) {
    block.clear();
    let is_host = |name: &str| name.eq_ignore_ascii_case("host");
    let given = headers.iter().find(|(name, _)| is_host(name));
    let authority = request.header("host");
    let authority = authority.or(given.map(|(_, value)| &**value));
    let scheme = if request.url().is_secure() {
        "https"
    } else {
        "http"
    };
    for (name, value) in [
        (":method", request.method()),
        (":scheme", scheme),
        (":authority", authority.unwrap_or(request.url().authority())),
        (":path", request.url().target()),
    ] {
        hpack::field(name.as_bytes(), value.as_bytes(), block);
    }
    let own = headers.iter().map(|(name, value)| (&**name, &**value));
    let own = own.filter(|(name, _)| request.header(name).is_none());
    for (name, value) in request.headers().chain(own) {
        let name = name.to_ascii_lowercase();
        let is_left_out = match &*name {
            "host" | "content-length" => true,
            "te" => !value.eq_ignore_ascii_case("trailers"),
            name => OF_CONNECTIONS.contains(&name),
        };
        if !is_left_out {
            hpack::field(name.as_bytes(), value.as_bytes(), block);
        }
    }
    let has_body = matches!(request.method(), "POST" | "PUT" | "PATCH");
    if has_body || !request.body().is_empty() {
        let length = request.body().len().to_string();
        hpack::field(b"content-length", length.as_bytes(), block);
    }
}

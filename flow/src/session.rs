//! One user, who goes through a flow once: the next request, and what its answer means.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use cookies::Jar;
use measure::random::Random;
use measure::time::Time;

use crate::fault::{Fault, FaultKind};
use crate::file::options;
use crate::flow::Flow;
use crate::judging;
use crate::model::{Choice, Entry, Setting};
use crate::reading::{Answer, Reading};
use crate::render::Renderer;
use crate::request::{Kind, Request, basic};
use crate::scope::Scope;
use crate::showing;
use crate::url::Url;
use crate::value::Value;

/// A moment, by both clocks: cookies and dates go by the calendar, pauses don't.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Now {
    /// When it is.
    pub at: Time,
    /// The same in milliseconds since 1970.
    pub unix_ms: u64,
}

/// What a user does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Sends the request that was written. An answer has to be told before the next step.
    Send,
    /// Nothing before this time.
    Wait(Time),
    /// Waits for the answer to what was sent.
    Listen,
    /// Nothing more: it went through the whole flow, or [`Session::fault`] says what stopped it.
    Done(Outcome),
}

/// How a session ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// All that was expected came.
    Passed,
    /// Something didn't.
    Failed,
}

/// What an answer was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Heard {
    /// What was expected.
    Passed,
    /// A redirect, which is followed.
    Redirected,
    /// Not what was expected; the entry is tried again.
    Retried,
    /// The same, and that ends the session.
    Failed,
    /// Nothing had been asked.
    Unasked,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// The entry's options come first.
    Begin,
    /// Then the request is sent, at this time or later.
    Due(Time),
    Redirected,
    /// What was sent is sent again, as it was.
    Again,
    Sent,
    Over(Outcome),
}

/// What the options of an entry say.
#[derive(Clone, Copy)]
struct Chosen {
    delay: Duration,
    follow: bool,
    redirects_max: u32,
    repeat: u32,
    retry: u32,
    retry_interval: Duration,
    skip: bool,
}

/// See the module.
pub struct Session {
    /// Apart from the rest, so that no step has to count who shares it.
    flow: Arc<Flow>,
    user: User,
}

/// What a user has beside the flow.
struct User {
    values: Box<[Option<Value>]>,
    jar: Jar,
    /// What was asked for last.
    url: Url,
    random: Random,
    /// What the request that was sent last has drawn from, and when.
    drawn: Random,
    drawn_ms: u64,
    fault: Option<Box<Fault>>,
    chosen: Chosen,
    state: State,
    entry: u32,
    repeated: u32,
    retried: u32,
    redirected: u32,
    is_get: bool,
    is_elsewhere: bool,
}

impl fmt::Debug for Session {
    /// Without what variables and cookies hold.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Session");
        shown
            .field("entry", &self.user.entry)
            .field("state", &self.user.state);
        shown.finish_non_exhaustive()
    }
}

impl Session {
    /// A user. `row` has the values of the flow's columns, in their order; what is missing has no
    /// value. The same seed draws the same.
    pub fn new(flow: &Arc<Flow>, row: &[&str], seed: u64) -> Session {
        let user = User {
            values: vec![None; flow.variables.names.len()].into(),
            jar: Jar::default(),
            url: Url::default(),
            random: Random::seeded(seed),
            drawn: Random::seeded(seed),
            drawn_ms: 0,
            fault: None,
            chosen: Chosen::usual(flow),
            state: State::Begin,
            entry: 0,
            repeated: 0,
            retried: 0,
            redirected: 0,
            is_get: false,
            is_elsewhere: false,
        };
        let flow = Arc::clone(flow);
        let mut session = Session { flow, user };
        session.begin(row, seed);
        session
    }

    /// Becomes another user, who begins at the start; buffers are kept, cookies and values aren't.
    pub fn begin(&mut self, row: &[&str], seed: u64) {
        let user = &mut self.user;
        user.values.fill(None);
        for (slot, written) in self.flow.columns.iter().zip(row) {
            user.values[usize::from(*slot)] = Some(Value::read(written));
        }
        user.jar.clear();
        user.random = Random::seeded(seed);
        user.fault = None;
        user.state = State::Begin;
        (user.entry, user.repeated, user.retried) = (0, 0, 0);
    }

    /// What went wrong last; none once an answer was as expected.
    pub fn fault(&self) -> Option<&Fault> {
        self.user.fault.as_deref()
    }

    /// Which request of the file is next, or was sent last; from 0 on.
    pub fn entry(&self) -> usize {
        self.user.entry as usize
    }

    /// Whether it's known to be over, without another step: all requests were answered as they
    /// should be, or it has failed.
    pub fn is_through(&self) -> bool {
        let user = &self.user;
        let is_behind = user.entry as usize >= self.flow.entries.len();
        is_behind || matches!(user.state, State::Over(_))
    }

    /// What to do next. Where that is [`Step::Send`], the request has been written.
    pub fn next(&mut self, now: Now, request: &mut Request) -> Step {
        self.user.next(&self.flow, now, request)
    }

    /// The answer to what was sent, or the last of it if informational ones came first.
    pub fn answer(&mut self, now: Now, answer: &Answer<'_>) -> Heard {
        let Some(entry) = self.user.asked(&self.flow) else {
            return Heard::Unasked;
        };
        self.user.answer(&self.flow, entry, now, answer)
    }

    /// The server did nothing for what was sent, and said so: it's sent again as it was, and no
    /// retry is used up.
    pub fn again(&mut self) {
        if self.user.state == State::Sent {
            self.user.state = State::Again;
        }
    }

    /// No answer came: the connection failed, or time was up, as `why` says.
    pub fn lost(&mut self, now: Now, why: &str) -> Heard {
        let Some(entry) = self.user.asked(&self.flow) else {
            return Heard::Unasked;
        };
        let line = entry.line;
        self.user
            .fail(&self.flow, now, entry, line, FaultKind::Transport, why)
    }
}

impl User {
    /// What an answer would belong to.
    fn asked<'f>(&self, flow: &'f Flow) -> Option<&'f Entry> {
        let entry = flow.entries.get(self.entry as usize);
        entry.filter(|_| self.state == State::Sent)
    }

    fn next(&mut self, flow: &Flow, now: Now, request: &mut Request) -> Step {
        loop {
            let Some(entry) = flow.entries.get(self.entry as usize) else {
                self.state = State::Over(Outcome::Passed);
                return Step::Done(Outcome::Passed);
            };
            match self.state {
                State::Over(outcome) => return Step::Done(outcome),
                State::Sent => return Step::Listen,
                State::Due(at) if now.at < at => return Step::Wait(at),
                State::Begin => self.choose(flow, entry, now),
                State::Due(_) | State::Redirected | State::Again => {
                    match self.write(flow, entry, now, request) {
                        Ok(()) => {
                            self.state = State::Sent;
                            return Step::Send;
                        }
                        Err((line, why)) => {
                            self.fail(flow, now, entry, line, FaultKind::Request, &why);
                        }
                    }
                }
            }
        }
    }

    fn answer(&mut self, flow: &Flow, entry: &Entry, now: Now, answer: &Answer<'_>) -> Heard {
        for field in answer.values("set-cookie") {
            self.jar
                .set(field.as_bytes(), self.url.place(), seconds(now));
        }
        let location = answer.values("location").next();
        let is_redirect = matches!(answer.status, 301 | 302 | 303 | 307 | 308);
        if let Some(location) = location.filter(|_| is_redirect && self.chosen.follow) {
            return match self.redirect(flow, entry, (answer.status, &location)) {
                Ok(()) => Heard::Redirected,
                Err(why) => self.fail(flow, now, entry, entry.line, FaultKind::Redirect, &why),
            };
        }
        match self.judge(flow, entry, now, answer) {
            Ok(()) => {
                self.fault = None;
                self.retried = 0;
                self.repeated += 1;
                if self.repeated >= self.chosen.repeat {
                    self.go_on();
                }
                self.state = State::Begin;
                Heard::Passed
            }
            Err((line, kind, why)) => self.fail(flow, now, entry, line, kind, &why),
        }
    }

    fn go_on(&mut self) {
        self.entry += 1;
        (self.repeated, self.retried) = (0, 0);
    }

    /// What the options of an entry say now, which also decides whether it's sent at all.
    fn choose(&mut self, flow: &Flow, entry: &Entry, now: Now) {
        self.chosen = Chosen::usual(flow);
        for (line, choice) in &entry.options {
            if let Err(why) = self.choose_one(flow, choice, now) {
                self.fail(flow, now, entry, *line, FaultKind::Request, &why);
                return;
            }
        }
        if self.chosen.skip || self.chosen.repeat == 0 {
            self.go_on();
            return;
        }
        self.state = State::Due(now.at + self.chosen.delay);
    }

    fn choose_one(&mut self, flow: &Flow, choice: &Choice, now: Now) -> Result<(), String> {
        let made;
        let setting = match choice.setting() {
            Setting::Made(template) => {
                let mut text = String::new();
                let mut renderer = Renderer {
                    scope: scope(flow, &self.values),
                    random: &mut self.random,
                    unix_ms: now.unix_ms,
                };
                renderer.write(template, &mut text)?;
                made = options::made(choice, &text).map_err(|why| {
                    let got = renderer.scope.shown(&Value::text(&*text));
                    format!("{}: {why}, and it's {got}", choice.name())
                })?;
                &made
            }
            setting => setting,
        };
        let chosen = &mut self.chosen;
        match choice {
            Choice::Delay(_) => chosen.delay = pause(setting),
            Choice::RetryInterval(_) => chosen.retry_interval = pause(setting),
            Choice::Follow(_) => chosen.follow = is_yes(setting),
            Choice::Skip(_) => chosen.skip = is_yes(setting),
            Choice::RedirectsMax(_) => chosen.redirects_max = whole(setting),
            Choice::Repeat(_) => chosen.repeat = whole(setting),
            Choice::Retry(_) => chosen.retry = whole(setting),
            Choice::Variable(slot, _) => {
                if let Setting::Is(value) = setting {
                    self.values[usize::from(*slot)] = Some(value.clone());
                }
            }
        }
        Ok(())
    }

    /// Writes the request of an entry, or the one that a redirect leads to, or once more what was
    /// sent, which draw the same.
    fn write(
        &mut self,
        flow: &Flow,
        entry: &Entry,
        now: Now,
        request: &mut Request,
    ) -> Result<(), (u32, String)> {
        let is_first = matches!(self.state, State::Due(_));
        let is_redirected = !is_first && self.redirected > 0;
        if is_redirected {
            request.url.clone_from(&self.url);
        }
        if is_first {
            self.drawn = self.random.clone();
            self.drawn_ms = now.unix_ms;
            self.redirected = 0;
            (self.is_get, self.is_elsewhere) = (false, false);
        }
        let mut drawn = self.drawn.clone();
        let mut renderer = Renderer {
            scope: scope(flow, &self.values),
            random: &mut drawn,
            unix_ms: self.drawn_ms,
        };
        let kind = Kind {
            is_get: self.is_get,
            is_elsewhere: self.is_elsewhere,
            is_redirected,
        };
        let written = request.write(entry, kind, &mut renderer);
        if is_first {
            self.random = drawn;
        }
        written?;
        if let Some(moved) = &flow.moved {
            moved.apply(&mut request.url);
        }
        request.add_cookies(&self.jar, seconds(now));
        self.url.clone_from(&request.url);
        Ok(())
    }

    /// Where a redirect leads, and as what (RFC 9110 §15.4; Fetch, *HTTP-redirect fetch*).
    fn redirect(
        &mut self,
        flow: &Flow,
        entry: &Entry,
        (status, location): (u16, &str),
    ) -> Result<(), String> {
        if self.redirected >= self.chosen.redirects_max {
            let most = self.chosen.redirects_max;
            return Err(format!(
                "more than {most} redirects, the last of them to {}",
                showing::location(location)
            ));
        }
        let mut to = Url::default();
        if let Err(why) = to.resolve(&self.url, location) {
            let location = showing::location(location);
            return Err(format!("a redirect leads to {location}: {why}"));
        }
        if let Some(moved) = &flow.moved {
            moved.apply(&mut to);
        }
        self.redirected += 1;
        self.is_elsewhere |= !to.is_same_origin(&self.url);
        self.is_get |= match status {
            301 | 302 => &*entry.method == "POST",
            303 => !matches!(&*entry.method, "GET" | "HEAD"),
            _ => false,
        };
        self.url = to;
        self.state = State::Redirected;
        Ok(())
    }

    /// Whether an answer is what its entry expects; what it captures is kept.
    fn judge(
        &mut self,
        flow: &Flow,
        entry: &Entry,
        now: Now,
        answer: &Answer<'_>,
    ) -> Result<(), (u32, FaultKind, String)> {
        let Some(expected) = &entry.expected else {
            return Ok(());
        };
        let mut reading = Reading::new(answer, self.url.as_str());
        let basic = self.basic(flow, entry);
        let mut on = judging::On {
            known: &flow.variables,
            basic: basic.as_deref(),
            random: &mut self.random,
            unix_ms: now.unix_ms,
        };
        judging::judge(expected, &mut reading, &mut self.values, &mut on)
    }

    /// The user and the password that an entry was sent with, if it has some.
    fn basic(&self, flow: &Flow, entry: &Entry) -> Option<String> {
        let mut renderer = Renderer {
            scope: scope(flow, &self.values),
            random: &mut self.drawn.clone(),
            unix_ms: self.drawn_ms,
        };
        basic(entry.basic.as_ref()?, &mut renderer).ok()
    }

    /// Notes a fault, and tries the entry again if it may.
    fn fail(
        &mut self,
        flow: &Flow,
        now: Now,
        entry: &Entry,
        line: u32,
        kind: FaultKind,
        why: &str,
    ) -> Heard {
        let basic = self.basic(flow, entry);
        let scope = Scope {
            basic: basic.as_deref(),
            ..scope(flow, &self.values)
        };
        let fault = Fault::new(self.entry as usize, line, kind, &scope.redacted(why));
        self.fault = Some(Box::new(fault));
        // What can't be written now can't be in a moment: nothing but answers changes it.
        let is_final = kind == FaultKind::Request;
        if !is_final && self.retried < self.chosen.retry {
            self.retried = self
                .retried
                .saturating_add(u32::from(self.chosen.retry < u32::MAX));
            self.state = State::Due(now.at + self.chosen.retry_interval);
            return Heard::Retried;
        }
        self.state = State::Over(Outcome::Failed);
        Heard::Failed
    }
}

impl Chosen {
    fn usual(flow: &Flow) -> Chosen {
        Chosen {
            delay: Duration::ZERO,
            follow: flow.follow,
            redirects_max: flow.redirects_max,
            repeat: 1,
            retry: 0,
            retry_interval: Duration::from_secs(1),
            skip: false,
        }
    }
}

fn scope<'a>(flow: &'a Flow, own: &'a [Option<Value>]) -> Scope<'a> {
    Scope {
        known: &flow.variables,
        own,
        basic: None,
    }
}

fn pause(setting: &Setting) -> Duration {
    match setting {
        Setting::Duration(pause) => *pause,
        Setting::Is(_) | Setting::Made(_) => Duration::ZERO,
    }
}

fn is_yes(setting: &Setting) -> bool {
    matches!(setting, Setting::Is(Value::Bool(true)))
}

fn whole(setting: &Setting) -> u32 {
    match setting {
        Setting::Is(Value::Integer(whole)) => u32::try_from(*whole).unwrap_or(u32::MAX),
        _ => 0,
    }
}

fn seconds(now: Now) -> i64 {
    i64::try_from(now.unix_ms / 1000).unwrap_or(i64::MAX)
}

//! Which step is next, and what it sends.
//!
//! A [`Source`] is a workload ready to be sent, shared by all workers; a [`Maker`] is a worker's
//! place in it. With one seed, the n-th request that a worker makes is the same in every run, but
//! for what its templates ask the clock.
//!
//! Requests with templates are made ahead, while the worker would wait, so that sending one is a
//! copy. Those that never change aren't made at all.

mod flows;
mod traced;
mod users;

use std::collections::VecDeque;
use std::sync::Arc;

use measure::random::Random;
use measure::time::unix_nanoseconds;
use plan::protocol::Protocol;
use plan::workload::Pick;
use plan::{Contact, Invalid, Plan, Step, Workload};
use proto::http1::client::Answer;
use proto::http2;

use crate::call::{self, Calls};
use crate::data::{Data, Row, Rows};
use crate::recipe::{Chance, Encoding, Recipe, Values};

pub use self::flows::{Flows, Next};
pub use self::users::{Answered, Came, Does, Ended, Users, told_by_all};

use self::flows::Turns;
use self::traced::Traced;
use self::users::Going;

/// The streams of random numbers that pick steps, one for each worker, begin here: rows are drawn
/// from 2^33 on, what templates ask for from 2^34 on, and what users draw behind that.
const STREAMS: u64 = 3 << 32;
/// So many requests are made ahead at most…
const AHEAD_MAX: usize = 64;
/// …and about so many bytes.
const AHEAD_BYTES_MAX: usize = 256 * 1024;

/// A workload ready to be sent.
#[derive(Debug)]
pub struct Source {
    steps: Vec<Ready>,
    /// For each step, where its figures are.
    figures: Vec<u16>,
    /// For each step, to which origin it goes.
    origins: Vec<u16>,
    picking: Picking,
    traced: Option<Traced>,
    data: Option<Arc<Data>>,
    deals_once: bool,
    /// Of steps that follow each other on a connection.
    turns: Option<Arc<Turns>>,
    /// Where users go through a flow: which, and as whom.
    going: Option<Arc<Going>>,
    /// Whether what is sent is old soon, so that nothing is made ahead.
    is_timely: bool,
    /// Whether the schedule numbers the requests of all workers together.
    is_open: bool,
    workers: u32,
    seed: u64,
}

/// A step ready to be sent.
enum Ready {
    /// The bytes of a request over HTTP/1.1, and how it is answered.
    Http1(Vec<u8>, Answer),
    /// A request over HTTP/2.
    Http2(http2::client::Request),
    /// A message of a WebSocket.
    Message(Vec<u8>),
    /// It is another each time.
    Made(Recipe),
    /// One of those that were made once, with what was asked then.
    Traced,
    /// A gRPC call, and what is said of it.
    Call(http2::client::Request, call::Said),
    /// Calls that differ.
    Calls(Box<Calls>),
}

impl Ready {
    /// What it is made by, if it is another each time.
    fn recipe(&self) -> Option<&Recipe> {
        match self {
            Ready::Made(recipe) => Some(recipe),
            Ready::Calls(calls) => Some(calls.recipe()),
            Ready::Http1(..)
            | Ready::Http2(_)
            | Ready::Message(_)
            | Ready::Traced
            | Ready::Call(..) => None,
        }
    }
}

impl std::fmt::Debug for Ready {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Ready::Http1(..) => "Http1",
            Ready::Http2(_) => "Http2",
            Ready::Message(_) => "Message",
            Ready::Made(_) => "Made",
            Ready::Traced => "Traced",
            Ready::Call(..) => "Call",
            Ready::Calls(_) => "Calls",
        })
    }
}

/// What a connection says for an exchange.
#[derive(Clone, Copy, Debug)]
pub enum Said<'a> {
    /// The bytes of a request, which is answered like this.
    Http1(&'a [u8], Answer),
    /// A request that each connection writes in its own way.
    Http2(&'a http2::client::Request),
    /// A block of fields that any connection can send, and a body.
    Http2Block {
        /// The fields.
        block: &'a [u8],
        /// The body; empty means none.
        body: &'a [u8],
        /// Whether it is a HEAD request.
        is_head: bool,
    },
    /// A gRPC call that each connection writes in its own way.
    Call(call::Said, &'a http2::client::Request),
    /// A gRPC call: a block of fields that any connection can send, and its messages.
    CallBlock(call::Said, &'a [u8], &'a [u8]),
    /// A message of a WebSocket.
    Message {
        /// What it says.
        payload: &'a [u8],
        /// How many messages of the server answer it; 0: none.
        answers: u32,
    },
}

impl Said<'_> {
    /// How many messages of its own it has; none of HTTP.
    #[inline]
    pub fn messages(&self) -> u64 {
        match self {
            Said::Call(call, _) | Said::CallBlock(call, ..) => call.messages.into(),
            Said::Message { .. } => 1,
            Said::Http1(..) | Said::Http2(_) | Said::Http2Block { .. } => 0,
        }
    }
}

/// A request of a step. Of one that never changes there are no bytes.
#[derive(Debug, Default)]
pub struct Made {
    step: u16,
    bytes: Vec<u8>,
    /// Where its body begins, over HTTP/2.
    body_at: usize,
    /// How many messages it has, of gRPC.
    messages: u32,
    /// Which of those that were made once.
    traced: u32,
}

impl Made {
    /// How many bytes it has of its own.
    pub fn bytes(&self) -> usize {
        self.bytes.len()
    }
}

/// How the next step is found.
#[derive(Debug)]
enum Picking {
    /// These, one after the other.
    InTurn(Vec<u16>),
    /// By the sums of the weights up to each step.
    Weighted(Vec<u64>),
    /// One of these.
    Random(Vec<u16>),
    /// As they were made once.
    Traced,
}

/// A worker's place in a [`Source`].
#[derive(Debug)]
pub struct Maker {
    source: Arc<Source>,
    random: Random,
    /// For each step, the last of its requests that was picked, where they were made once.
    traced: Vec<u32>,
    /// Where it is in the turn of steps.
    next: u64,
    /// How far on the one after that is.
    stride: u64,
    chance: Chance,
    rows: Option<Rows>,
    /// The row that the next request takes which needs one, and that of the one before.
    row: RowCopy,
    row_before: RowCopy,
    ahead: VecDeque<Made>,
    ahead_bytes: usize,
    /// The request that was asked for last, until it is said.
    current: Option<Made>,
    /// The one that was said last, which is lent.
    said: Made,
    /// Buffers that nobody uses.
    pool: Vec<Vec<u8>>,
    /// There are no rows any more, or they cannot be read.
    exhausted: bool,
    broken: Option<String>,
}

impl Values for Row<'_> {
    #[inline]
    fn value(&self, column: usize) -> &[u8] {
        Row::value(self, column)
    }
}

/// A row that was read, and stays until another is copied here.
#[derive(Debug, Default)]
struct RowCopy {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl RowCopy {
    fn keep(&mut self, row: Row<'_>, columns: usize) {
        self.bytes.clear();
        self.ends.clear();
        for column in 0..columns {
            self.bytes.extend_from_slice(row.value(column));
            self.ends.push(self.bytes.len());
        }
    }

    fn copy(&mut self, other: &RowCopy) {
        self.bytes.clone_from(&other.bytes);
        self.ends.clone_from(&other.ends);
    }

    /// Whether each value is UTF-8.
    fn is_text(&self) -> bool {
        let values = (0..self.ends.len()).map(|column| self.value(column));
        values
            .into_iter()
            .all(|value| std::str::from_utf8(value).is_ok())
    }
}

impl Values for RowCopy {
    fn value(&self, column: usize) -> &[u8] {
        let end = |column: usize| self.ends.get(column).copied();
        let start = column.checked_sub(1).and_then(end).unwrap_or(0);
        let end = end(column).unwrap_or(start);
        self.bytes.get(start..end).unwrap_or_default()
    }
}

impl Source {
    /// The workload of `plan`; none where every request is the same.
    ///
    /// # Errors
    /// A step that cannot be sent, and where it stands; a data file that cannot be read.
    pub fn of(plan: &Plan) -> Result<Option<Arc<Source>>, Invalid> {
        let Some(workload) = &plan.workload else {
            return Ok(None);
        };
        let open = |data| Data::open(data, plan.threads, plan.seed).map(Arc::new);
        let data = workload.data.as_ref().map(open).transpose()?;
        let columns = data.as_ref().map_or(&[][..], |data| data.columns());
        let traced = Traced::of(plan, workload)?;
        let going = Going::of(plan, workload)?.map(Arc::new);
        // What users send is their flow's.
        let sent = workload.steps.iter().filter(|_| going.is_none());
        let ready = |step| match &traced {
            Some(_) => Ok(Ready::Traced),
            None => ready(plan, step, data.as_ref()),
        };
        let steps = sent.map(ready);
        let steps: Vec<Ready> = steps.collect::<Result<_, _>>()?;
        let uses_data = |step: &Ready| step.recipe().is_some_and(Recipe::uses_data);
        if let Some(data) = &workload.data
            && going.is_none()
            && !steps.iter().any(uses_data)
        {
            return Err(Invalid(format!(
                "--data {}: no request uses it; write one of its columns as {{{{{}}}}}",
                data.file.display(),
                columns.join("}}, {{")
            )));
        }
        let is_binary = match &plan.protocol {
            Protocol::WebSocket { message } => message.binary,
            _ => false,
        };
        let is_timely = |step: &Ready| step.recipe().is_some_and(Recipe::uses_clock);
        Ok(Some(Arc::new(Source {
            is_timely: steps.iter().any(is_timely),
            steps,
            figures: workload.names().1,
            origins: workload.origins().1,
            deals_once: plan.is_dealt_once(),
            turns: Turns::of(workload, is_binary).map(Arc::new),
            going,
            picking: match &traced {
                Some(_) => Picking::Traced,
                None => Picking::of(workload),
            },
            traced,
            is_open: plan.schedule.is_open(),
            data,
            workers: plan.threads,
            seed: plan.seed,
        })))
    }

    /// For each step, where its figures are among those of [`Workload::names`].
    pub fn figures(&self) -> &[u16] {
        &self.figures
    }

    /// Whether each row of a data file is for one request.
    pub fn deals_once(&self) -> bool {
        self.deals_once
    }

    /// For each step, to which of [`Workload::origins`] it goes.
    pub fn origins(&self) -> &[u16] {
        &self.origins
    }

    /// What `made` says.
    ///
    /// # Panics
    /// If it is no request of this source.
    #[inline]
    pub fn say<'a>(&'a self, made: &'a Made) -> Said<'a> {
        let ready = match (&self.steps[usize::from(made.step)], &self.traced) {
            (Ready::Traced, Some(traced)) => traced.ready(made.traced),
            (ready, _) => ready,
        };
        match ready {
            Ready::Http1(bytes, answer) => Said::Http1(bytes, *answer),
            Ready::Http2(request) => Said::Http2(request),
            Ready::Call(request, said) => Said::Call(*said, request),
            Ready::Calls(calls) => {
                let (block, body) = made.bytes.split_at(made.body_at);
                Said::CallBlock(calls.said(made.messages), block, body)
            }
            Ready::Message(payload) => Said::Message {
                payload,
                answers: 1,
            },
            // Of a trace there are only requests that are ready.
            Ready::Traced => Said::Http1(&[], Answer::Usual),
            Ready::Made(recipe) if made.body_at == 0 => {
                let answer = match recipe.is_head() {
                    true => Answer::HeadOnly,
                    false => Answer::Usual,
                };
                Said::Http1(&made.bytes, answer)
            }
            Ready::Made(recipe) => {
                let (block, body) = made.bytes.split_at(made.body_at);
                let is_head = recipe.is_head();
                Said::Http2Block {
                    block,
                    body,
                    is_head,
                }
            }
        }
    }
}

fn ready(plan: &Plan, step: &Step, data: Option<&Arc<Data>>) -> Result<Ready, Invalid> {
    if step.target.is_grpc() {
        return ready_call(plan, step, data);
    }
    let columns = data.map_or(&[][..], |data| data.columns());
    let contact = Contact {
        target: step.target.clone(),
        request: step.request.clone(),
        ..plan.contact()
    };
    let encoding = match plan.protocol {
        Protocol::Http2 { .. } => Encoding::Http2,
        Protocol::WebSocket { .. } => Encoding::Message,
        _ => Encoding::Http1 {
            keep_alive: plan.keep_alive,
            absolute: contact.is_forwarded(),
        },
    };
    let proxied = proxied(step, &contact);
    let step = proxied.as_ref().unwrap_or(step);
    if let Some(recipe) = Recipe::of(step, encoding, columns)? {
        recipe.tell_secrets(&plan.redaction);
        return Ok(Ready::Made(recipe));
    }
    let ready = match encoding {
        Encoding::Http2 | Encoding::Grpc { .. } => contact.http2().map(Ready::Http2),
        Encoding::Message => Ok(Ready::Message(step.request.body.clone())),
        Encoding::Http1 { .. } => {
            let answer = Answer::to(&step.request.method);
            contact.http1().map(|bytes| Ready::Http1(bytes, answer))
        }
    };
    ready.map_err(|Invalid(what)| Invalid(format!("{}{what}", step.place())))
}

fn ready_call(plan: &Plan, step: &Step, data: Option<&Arc<Data>>) -> Result<Ready, Invalid> {
    let Some(calls) = Calls::of(plan, step, data)? else {
        let (request, said) = call::constant(plan, step)?;
        return Ok(Ready::Call(request, said));
    };
    calls.recipe().tell_secrets(&plan.redaction);
    Ok(Ready::Calls(Box::new(calls)))
}

/// The step as a proxy gets it, where that is told who asks. (No templates are in base64.)
fn proxied(step: &Step, contact: &Contact) -> Option<Step> {
    let proxy = contact.proxy.as_ref().filter(|_| contact.is_forwarded())?;
    let (name, value) = proxy.field_beside(&step.request.headers)?;
    let mut step = step.clone();
    let field = (name.to_owned(), value.to_owned());
    step.request.headers.push(field);
    Some(step)
}

impl Picking {
    fn of(workload: &Workload) -> Picking {
        let sent = workload.steps.iter().zip(0..);
        let sent = sent.filter(|(step, _)| step.weight > 0);
        let sent = sent.map(|(_, index)| index).collect();
        match workload.pick {
            Pick::InTurn => Picking::InTurn(sent),
            Pick::Random => Picking::Random(sent),
            Pick::Weighted => {
                let mut sum = 0;
                let sums = workload.steps.iter().map(|step| {
                    sum += u64::from(step.weight);
                    sum
                });
                Picking::Weighted(sums.collect())
            }
        }
    }
}

impl Maker {
    /// The place of `worker` among those of the plan.
    ///
    /// # Errors
    /// A worker that the plan has not.
    pub fn new(source: Arc<Source>, worker: u32) -> Result<Maker, Invalid> {
        let rows = source.data.as_ref().map(|data| data.rows_of(worker));
        // Without numbers for all, each goes through all steps, and they begin apart.
        let (next, stride) = match (source.is_open, source.workers) {
            (true, workers) => (worker.into(), workers.into()),
            (false, workers) => {
                let all = source.steps.len() as u64 * u64::from(worker);
                (all / u64::from(workers.max(1)), 1)
            }
        };
        let mut maker = Maker {
            random: Random::new(source.seed, STREAMS | u64::from(worker)),
            traced: match &source.traced {
                Some(_) => vec![0; source.steps.len()],
                None => Vec::new(),
            },
            next,
            stride,
            chance: Chance::new(source.seed, worker, source.workers, unix_nanoseconds),
            rows: rows.transpose()?,
            row: RowCopy::default(),
            row_before: RowCopy::default(),
            ahead: VecDeque::with_capacity(AHEAD_MAX),
            ahead_bytes: 0,
            current: None,
            said: Made::default(),
            pool: Vec::with_capacity(AHEAD_MAX + 2),
            exhausted: false,
            broken: None,
            source,
        };
        maker.read_row();
        Ok(maker)
    }

    /// What it makes requests of.
    #[inline]
    pub fn source(&self) -> &Source {
        &self.source
    }

    /// Whether there is no further request, because the rows are used up.
    #[inline]
    pub fn is_over(&self) -> bool {
        self.exhausted && self.ahead.is_empty()
    }

    /// What of the data file could not be read, with the line; then there is no further request.
    pub fn broken(&self) -> Option<&str> {
        self.broken.as_deref()
    }

    /// Of `count` requests that could be sent at once, how many there are.
    pub fn ready(&mut self, count: u32) -> u32 {
        while self.ahead.len() < count as usize && self.make_one_ahead() {}
        count.min(self.ahead.len() as u32)
    }

    /// The step of the next request, which [`Maker::say`] or [`Maker::take`] has the bytes of.
    /// There must be one: see [`Maker::is_over`].
    #[inline]
    pub fn next_step(&mut self) -> u16 {
        if self.ahead.is_empty() {
            self.make_one_ahead();
        }
        debug_assert!(!self.ahead.is_empty(), "its owner looks for rows first");
        let made = self.ahead.pop_front().unwrap_or_default();
        self.ahead_bytes -= made.bytes.len();
        let step = made.step;
        if let Some(unsaid) = self.current.replace(made) {
            recycle(&mut self.pool, unsaid);
        }
        step
    }

    /// Which of those that were made once is the next request; 0 where there are none.
    pub fn request(&self) -> u32 {
        self.current.as_ref().map_or(0, |made| made.traced)
    }

    /// The next request is one that was refused. Of those that were made once it's the same again,
    /// and of others another one of its step.
    pub fn say_again(&mut self, step: u16, request: u32) {
        if self.source.traced.is_some() {
            self.current = Some(Made {
                step,
                traced: request,
                ..Made::default()
            });
        }
    }

    /// Whether requests were made once, so that each has its own time.
    pub fn is_of_log(&self) -> bool {
        self.source.traced.is_some()
    }

    /// The step of the next request, which will never be sent.
    pub fn pass_over(&mut self) -> u16 {
        match self.ahead.pop_front() {
            Some(made) => {
                self.ahead_bytes -= made.bytes.len();
                made.step
            }
            None => self.pick(),
        }
    }

    /// What the request says whose step was asked for last; or, if that was said already, another
    /// one of this `step`.
    #[inline]
    pub fn say(&mut self, step: u16) -> Said<'_> {
        let made = self.take(step);
        let before = std::mem::replace(&mut self.said, made);
        recycle(&mut self.pool, before);
        self.source.say(&self.said)
    }

    /// The same, to be said later; [`Maker::give_back`] takes it again.
    #[inline]
    pub fn take(&mut self, step: u16) -> Made {
        match self.current.take() {
            Some(made) if made.step == step => made,
            other => {
                if let Some(unsaid) = other {
                    recycle(&mut self.pool, unsaid);
                }
                let made = self.make(step);
                made.unwrap_or_else(|| self.tried(step))
            }
        }
    }

    /// What was taken has been said.
    #[inline]
    pub fn give_back(&mut self, made: Made) {
        recycle(&mut self.pool, made);
    }

    /// Makes a request ahead, if there is room for one and one to make; false if not.
    #[inline]
    pub fn make_ahead(&mut self) -> bool {
        let is_full = self.ahead.len() >= AHEAD_MAX || self.ahead_bytes >= AHEAD_BYTES_MAX;
        !is_full && !self.source.is_timely && self.make_one_ahead()
    }

    fn make_one_ahead(&mut self) -> bool {
        if self.exhausted {
            return false;
        }
        let step = self.pick();
        let Some(made) = self.make(step) else {
            return false;
        };
        self.ahead_bytes += made.bytes.len();
        self.ahead.push_back(made);
        true
    }

    /// The step of the next request.
    #[inline]
    fn pick(&mut self) -> u16 {
        let at = |steps: &[u16], index: usize| steps.get(index).copied().unwrap_or(0);
        let next = self.next;
        self.next += self.stride;
        match &self.source.picking {
            Picking::InTurn(steps) => at(steps, (next % steps.len().max(1) as u64) as usize),
            Picking::Random(steps) => at(steps, self.random.index(steps.len())),
            Picking::Weighted(sums) => {
                let all = sums.last().copied().unwrap_or_default();
                let drawn = self.random.below(all);
                sums.partition_point(|sum| *sum <= drawn) as u16
            }
            Picking::Traced => self.pick_traced(next),
        }
    }

    /// The step of the request that was made as the `next` one.
    fn pick_traced(&mut self, next: u64) -> u16 {
        let picked = self.source.traced.as_ref().and_then(|all| all.pick(next));
        let (step, request) = picked.unwrap_or_default();
        if let Some(last) = self.traced.get_mut(usize::from(step)) {
            *last = request;
        }
        step
    }

    /// A request of `step`. Where rows are used up it takes the last once more: that is for one
    /// that a server didn't take. None: it can't be made, and there is no further request.
    #[inline]
    fn make(&mut self, step: u16) -> Option<Made> {
        let recipe = match &self.source.steps[usize::from(step)] {
            Ready::Made(recipe) => recipe,
            Ready::Calls(_) => return self.make_call(step),
            Ready::Traced => {
                let traced = self.traced.get(usize::from(step)).copied();
                return Some(Made {
                    step,
                    traced: traced.unwrap_or_default(),
                    ..Made::default()
                });
            }
            Ready::Http1(..) | Ready::Http2(_) | Ready::Message(_) | Ready::Call(..) => {
                return Some(Made {
                    step,
                    ..Made::default()
                });
            }
        };
        let mut bytes = self.pool.pop().unwrap_or_default();
        let row = match self.exhausted {
            true => &self.row_before,
            false => &self.row,
        };
        let body_at = recipe.make(row, &mut self.chance, &mut bytes);
        if recipe.uses_data() && !self.exhausted {
            self.read_row();
        }
        Some(Made {
            step,
            bytes,
            body_at,
            ..Made::default()
        })
    }

    /// The same of a gRPC call.
    #[inline(never)]
    fn make_call(&mut self, step: u16) -> Option<Made> {
        let Ready::Calls(calls) = &self.source.steps[usize::from(step)] else {
            return None;
        };
        let uses_data = calls.recipe().uses_data();
        let mut bytes = self.pool.pop().unwrap_or_default();
        let row = match self.exhausted {
            true => &self.row_before,
            false => &self.row,
        };
        let (body_at, messages) = match calls.make(row, &mut self.chance, &mut bytes) {
            Ok(made) => made,
            Err(broken) => {
                self.exhausted = true;
                self.broken.get_or_insert(broken);
                return None;
            }
        };
        if uses_data && !self.exhausted {
            self.read_row();
        }
        Some(Made {
            step,
            bytes,
            body_at,
            messages,
            traced: 0,
        })
    }

    /// For a call that a server didn't take, and that can't be made again: the one that was made
    /// before the load. The load ends with it.
    #[cold]
    fn tried(&self, step: u16) -> Made {
        let Ready::Calls(calls) = &self.source.steps[usize::from(step)] else {
            return Made::default();
        };
        let (body_at, messages) = calls.tried_at;
        Made {
            step,
            bytes: calls.tried.clone(),
            body_at,
            messages,
            traced: 0,
        }
    }

    /// Reads the row of the next request that needs one: it has to be known whether there is any.
    fn read_row(&mut self) {
        let Some(rows) = &mut self.rows else {
            return;
        };
        std::mem::swap(&mut self.row, &mut self.row_before);
        let columns = rows.columns().len();
        match rows.next() {
            Ok(Some(row)) => self.row.keep(row, columns),
            Ok(None) => self.exhausted = true,
            Err(broken) => {
                self.exhausted = true;
                self.broken = Some(broken.to_string());
            }
        }
    }
}

#[inline]
fn recycle(pool: &mut Vec<Vec<u8>>, made: Made) {
    let mut bytes = made.bytes;
    if bytes.capacity() > 0 && pool.len() < pool.capacity() {
        bytes.clear();
        pool.push(bytes);
    }
}

#[cfg(test)]
mod tests;

//! Answers held against what is expected of them.
//!
//! Only sessions of a run that expects something have any of this: a [`Look`] is what was seen of
//! an answer so far, and [`Expecting`] what their owner has for all of them, the rules, an example
//! of what came instead for each, and buffers for bodies that rules ask for. A body is kept up to
//! [`BODY_BYTES_MAX`] and while its answer comes; but for the values of JSON nothing is allocated
//! once there are as many buffers as answers come at a time.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::sync::Arc;

use measure::counters::ErrorKind;
use measure::record::Unmet;
use memchr::memmem;
use plan::expect::{Is, Rule};
use plan::redaction::guessed;
use plan::{Expect, Invalid, Plan, Redaction};
use serde_json::Value;

use super::beginning::{Beginning, shortened};
use super::coding::{Coding, Undecoded};
use super::heard::Whole;
use super::streams::Listener;

/// So much of a body is kept for rules about it, as it came and decompressed.
const BODY_BYTES_MAX: usize = 1 << 20;
/// Of so many rules it is told that answers didn't meet them.
const TOLD_MAX: usize = 64;
/// The statuses that are expected where no rule says another thing.
const USUAL: RangeInclusive<u16> = 200..=399;

/// What is expected of the answers of a plan, ready to be held against them.
#[derive(Debug)]
pub struct Rules {
    all: Vec<One>,
    /// Which of them apply together; the first ones where a step has none of its own.
    sets: Vec<Set>,
    /// For each step which of these it is; empty where it is the first for all.
    of_steps: Vec<u32>,
    /// Whether compressed bodies are decompressed.
    compressed: bool,
}

/// A rule.
#[derive(Debug)]
struct One {
    rule: Rule,
    /// Of one about JSON: the value that is expected, if it is one of JSON's.
    value: Option<Value>,
    /// The rule as it may be shown.
    expected: String,
    /// Whose it is, if not that of all.
    step: Option<String>,
    /// The name of what it looks at, which may be that of a secret.
    name: Option<String>,
}

/// Rules that apply to the same answers, by what they are about.
#[derive(Debug, Default)]
struct Set {
    status: Option<u32>,
    headers: Vec<u32>,
    bodies: Vec<u32>,
    has_json: bool,
}

/// What was found of an answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Verdict {
    /// It is as it should be.
    #[default]
    Met,
    /// No rule is about its status, and that is none of the usual ones.
    Strange,
    /// It doesn't meet this rule.
    Unmet(u32),
    /// It is a redirect that isn't followed, and this says why.
    Astray(ErrorKind),
}

impl Verdict {
    /// What is wrong with the answer; none if it is as it should be.
    pub fn error(self) -> Option<ErrorKind> {
        match self {
            Verdict::Met => None,
            Verdict::Strange => Some(ErrorKind::UnexpectedStatus),
            Verdict::Unmet(_) => Some(ErrorKind::UnexpectedAnswer),
            Verdict::Astray(kind) => Some(kind),
        }
    }
}

/// How one answer stands to what is expected of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Held {
    /// It is as it should be.
    Met,
    /// No rule is about its status, and that is none of the usual ones.
    Strange,
    /// It doesn't meet this rule.
    Unmet(Unmet),
}

/// What was seen of one answer.
#[derive(Clone, Debug, Default)]
pub(crate) struct Look {
    set: u32,
    pub(crate) status: u16,
    verdict: Verdict,
    /// The body is kept, in this.
    gathers: bool,
    coding: Coding,
    /// It is coded, and looked into as it came.
    is_coded: bool,
    body: Vec<u8>,
    /// There was more of it than is kept.
    is_long: bool,
    /// The answer as it is kept for whoever asks for all of it.
    pub(crate) whole: Option<Box<Whole>>,
    /// What looks for events in it, where somebody does.
    pub(crate) listener: Listener,
}

/// How a body is looked into.
#[derive(Clone, Copy, Debug, Default)]
struct Looked {
    /// There is more of it than was kept.
    is_long: bool,
    /// It is coded, and stays so.
    is_coded: bool,
}

/// What the owner of sessions has for what they expect.
#[derive(Debug)]
pub struct Expecting {
    rules: Arc<Rules>,
    examples: Vec<Example>,
    /// Buffers that nobody uses.
    pool: Vec<Vec<u8>>,
}

/// What came in one answer that didn't meet a rule.
#[derive(Debug)]
struct Example {
    /// None where this holds nothing.
    rule: Option<u32>,
    came: Came,
    text: Beginning,
}

/// What came where another thing was expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Came {
    Status(u16),
    /// A header of another value, or none.
    Header,
    NoHeader,
    /// Another body, none, or one that wasn't kept whole.
    Body,
    NoBody,
    LongBody,
    /// A body that can't be decompressed, or in a way that we don't know, or that nobody asked to
    /// be.
    BrokenCoding,
    UnknownCoding,
    Coded,
    /// Another value of JSON, none, or what is no JSON.
    Json,
    NoValue,
    NoJson,
}

impl Rules {
    /// The rules of a plan and its steps; none where there aren't any.
    ///
    /// # Errors
    /// A rule that isn't one.
    pub fn of(plan: &Plan) -> Result<Option<Arc<Rules>>, Invalid> {
        let steps = plan.workload.iter().flat_map(|workload| &workload.steps);
        if plan.expect.is_empty() && steps.clone().all(|step| step.expect.is_empty()) {
            return Ok(None);
        }
        let mut rules = Rules {
            all: Vec::new(),
            sets: Vec::new(),
            of_steps: Vec::new(),
            compressed: plan.compressed,
        };
        let of_all = rules.add(&plan.expect, None, &plan.redaction)?;
        rules.put_together(&of_all, &[]);
        for step in steps {
            let set = match step.expect.is_empty() {
                true => 0,
                false => {
                    let own = rules.add(&step.expect, Some(&step.name), &plan.redaction)?;
                    rules.put_together(&of_all, &own)
                }
            };
            rules.of_steps.push(set);
        }
        Ok(Some(Arc::new(rules)))
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.all.len()
    }

    fn add(
        &mut self,
        rules: &[Expect],
        step: Option<&str>,
        redaction: &Redaction,
    ) -> Result<Vec<u32>, Invalid> {
        let mut added = Vec::with_capacity(rules.len());
        for expect in rules {
            let rule = expect.rule()?;
            let value = match &rule {
                Rule::Json {
                    is: Is::Exactly(text),
                    ..
                } => serde_json::from_str(text).ok(),
                _ => None,
            };
            added.push(self.all.len() as u32);
            self.all.push(One {
                name: rule.name(),
                rule,
                value,
                expected: expect.shown(redaction).to_string(),
                step: step.map(str::to_owned),
            });
        }
        Ok(added)
    }

    /// A set of the rules of all and of a step's own, whose status counts instead of that of all.
    fn put_together(&mut self, of_all: &[u32], own: &[u32]) -> u32 {
        let mut set = Set::default();
        for &index in of_all.iter().chain(own) {
            match &self.all[index as usize].rule {
                Rule::Status(_) => set.status = Some(index),
                Rule::Header { .. } => set.headers.push(index),
                Rule::Body(_) => set.bodies.push(index),
                Rule::Json { .. } => {
                    set.bodies.push(index);
                    set.has_json = true;
                }
            }
        }
        self.sets.push(set);
        self.sets.len() as u32 - 1
    }

    /// Which rules apply to the answers of a step.
    fn set_of(&self, step: u16) -> u32 {
        let set = self.of_steps.get(usize::from(step));
        set.copied().unwrap_or_default()
    }
}

impl Expecting {
    /// Nothing was seen yet. Unless it `quotes`, there'll be no examples.
    pub fn new(rules: Arc<Rules>, quotes: bool) -> Expecting {
        let most = if quotes { TOLD_MAX } else { 0 };
        let examples = (0..rules.count().min(most)).map(|_| Example {
            rule: None,
            came: Came::NoBody,
            text: Beginning::NOTHING,
        });
        Expecting {
            examples: examples.collect(),
            rules,
            pool: Vec::new(),
        }
    }

    /// An answer didn't meet a rule: keeps what came, unless there is an example of that.
    fn unmet(&mut self, rule: u32, came: Came, text: &[u8]) -> Verdict {
        let is_known = |example: &Example| example.rule == Some(rule);
        if !self.examples.iter().any(is_known)
            && let Some(free) = self.examples.iter_mut().find(|free| free.rule.is_none())
        {
            (free.rule, free.came) = (Some(rule), came);
            free.text.set(text);
        }
        Verdict::Unmet(rule)
    }

    /// What its head says of an answer.
    fn head<'f, F: Iterator<Item = (&'f [u8], &'f [u8])>>(
        &mut self,
        (set, status): (u32, u16),
        fields: impl Fn() -> F,
    ) -> Verdict {
        let rules = Arc::clone(&self.rules);
        let set = &rules.sets[set as usize];
        match set.status {
            Some(index) => {
                if let Rule::Status(statuses) = &rules.all[index as usize].rule
                    && !statuses.iter().any(|some| some.contains(&status))
                {
                    return self.unmet(index, Came::Status(status), b"");
                }
            }
            None if USUAL.contains(&status) => {}
            None => return Verdict::Strange,
        }
        for &index in &set.headers {
            let Rule::Header { name, is } = &rules.all[index as usize].rule else {
                continue;
            };
            let is_named = |found: &[u8]| found.eq_ignore_ascii_case(name.as_bytes());
            let mut first = None;
            let is_met = fields()
                .filter(|(found, _)| is_named(found))
                .any(|(_, value)| {
                    first.get_or_insert(value);
                    holds(is, value)
                });
            if !is_met {
                let came = first.map_or(Came::NoHeader, |_| Came::Header);
                return self.unmet(index, came, first.unwrap_or_default());
            }
        }
        Verdict::Met
    }

    /// The same of a body that is compressed.
    fn compressed_body(&mut self, set: u32, coding: Coding, body: &[u8]) -> Verdict {
        let mut plain = self.pool.pop().unwrap_or_default();
        let came = match coding.decode(body, BODY_BYTES_MAX, &mut plain) {
            Ok(()) => None,
            Err(Undecoded::Broken) => Some(Came::BrokenCoding),
            Err(Undecoded::TooLong) => Some(Came::LongBody),
            Err(Undecoded::Unknown) => Some(Came::UnknownCoding),
        };
        let verdict = match came {
            None => self.body(set, &plain, Looked::default()),
            Some(came) => {
                let first = self.rules.sets[set as usize].bodies.first().copied();
                self.unmet(first.unwrap_or_default(), came, b"")
            }
        };
        plain.clear();
        self.pool.push(plain);
        verdict
    }

    /// What its body says of an answer.
    fn body(&mut self, set: u32, body: &[u8], Looked { is_long, is_coded }: Looked) -> Verdict {
        let rules = Arc::clone(&self.rules);
        let set = &rules.sets[set as usize];
        let value: Option<Value> = match set.has_json && !is_long {
            true => serde_json::from_slice(body).ok(),
            false => None,
        };
        for &index in &set.bodies {
            let one = &rules.all[index as usize];
            if is_long {
                return self.unmet(index, Came::LongBody, b"");
            }
            match (&one.rule, &value) {
                (Rule::Body(is), _) if holds(is, body) => {}
                (_, None) if body.is_empty() => return self.unmet(index, Came::NoBody, b""),
                (Rule::Body(_) | Rule::Json { .. }, None) if is_coded => {
                    return self.unmet(index, Came::Coded, b"");
                }
                (Rule::Body(_), _) => return self.unmet(index, Came::Body, body),
                (Rule::Json { path, is }, Some(value)) => {
                    let found = path.query(value).all();
                    if found.iter().any(|found| one.holds_of_json(is, found)) {
                        continue;
                    }
                    return match found.first() {
                        Some(found) => self.unmet(index, Came::Json, text_of(found).as_bytes()),
                        None => self.unmet(index, Came::NoValue, body),
                    };
                }
                (_, None) => return self.unmet(index, Came::NoJson, body),
                (Rule::Status(_) | Rule::Header { .. }, _) => {}
            }
        }
        Verdict::Met
    }
}

impl One {
    fn holds_of_json(&self, is: &Is, found: &Value) -> bool {
        match (is, found) {
            (Is::There, _) => true,
            (Is::Exactly(text), Value::String(found)) if text == found => true,
            (Is::Exactly(_), found) => self.value.as_ref().is_some_and(|one| equal(one, found)),
            (Is::With(part), found) => text_of(found).contains(part),
        }
    }
}

/// Whether two values are equal, numbers as numbers at every depth (RFC 8259 §6): so `1` and `1.0`.
/// Values are as deep as `serde_json` reads them, 128 levels.
fn equal(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => {
            let is_whole = !one.is_f64() && !other.is_f64();
            one == other || (!is_whole && one.as_f64() == other.as_f64())
        }
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| equal(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            let is_in_other =
                |(name, value): (&String, &Value)| other.get(name).is_some_and(|o| equal(value, o));
            one.len() == other.len() && one.iter().all(is_in_other)
        }
        (one, other) => one == other,
    }
}

/// A string by itself, and any other value as JSON has it.
fn text_of(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn holds(is: &Is, text: &[u8]) -> bool {
    match is {
        Is::There => true,
        Is::Exactly(expected) => text == expected.as_bytes(),
        Is::With(part) => memmem::find(text, part.as_bytes()).is_some(),
    }
}

impl Look {
    /// The head of an answer to a request of `step` came.
    pub(crate) fn head<'f, F: Iterator<Item = (&'f [u8], &'f [u8])>>(
        &mut self,
        step: u16,
        expecting: &mut Expecting,
        fields: impl Fn() -> F,
    ) {
        let rules = &expecting.rules;
        (self.set, self.is_long) = (rules.set_of(step), false);
        let asks = !rules.sets[self.set as usize].bodies.is_empty();
        (self.coding, self.is_coded) = match (asks, rules.compressed) {
            (true, true) => (Coding::of(fields()), false),
            (true, false) => (Coding::None, Coding::is_named(fields())),
            (false, _) => (Coding::None, false),
        };
        self.verdict = expecting.head((self.set, self.status), &fields);
        self.gathers = asks && self.verdict == Verdict::Met;
        self.body.clear();
        if self.gathers && self.body.capacity() == 0 {
            self.body = expecting.pool.pop().unwrap_or_default();
        }
    }

    /// A piece of its body came. Whether the status is what is wrong with the answer: then the body
    /// may say why.
    pub(crate) fn body(&mut self, bytes: &[u8], expecting: &Expecting) -> bool {
        if self.gathers {
            let room = BODY_BYTES_MAX - self.body.len();
            self.is_long |= bytes.len() > room;
            self.body.extend_from_slice(&bytes[..bytes.len().min(room)]);
            return false;
        }
        match self.verdict {
            Verdict::Met | Verdict::Astray(_) => false,
            Verdict::Strange => true,
            Verdict::Unmet(rule) => {
                matches!(expecting.rules.all[rule as usize].rule, Rule::Status(_))
            }
        }
    }

    /// It is whole: what was found of it.
    pub(crate) fn end(&mut self, expecting: &mut Expecting) -> Verdict {
        if self.gathers {
            let is_plain = self.coding == Coding::None || self.is_long || self.body.is_empty();
            self.verdict = match is_plain {
                true => {
                    let (is_long, is_coded) = (self.is_long, self.is_coded);
                    expecting.body(self.set, &self.body, Looked { is_long, is_coded })
                }
                false => expecting.compressed_body(self.set, self.coding, &self.body),
            };
            self.gathers = false;
            self.body.clear();
            expecting.pool.push(std::mem::take(&mut self.body));
        }
        self.verdict
    }
}

/// Holds one whole answer to a request of `step` against what `plan` expects: the rule that it
/// doesn't meet, with what came. `None` says that no rule is about it.
///
/// # Errors
/// A rule that isn't one.
pub fn held_against(
    plan: &Plan,
    step: u16,
    (status, head, body): (u16, &[u8], &[u8]),
) -> Result<Option<Held>, Invalid> {
    let Some(rules) = Rules::of(plan)? else {
        return Ok(None);
    };
    let mut expecting = Expecting::new(rules, !plan.makes_secrets());
    let mut look = Look {
        status,
        ..Look::default()
    };
    look.head(step, &mut expecting, || proto::http1::fields(head));
    look.body(body, &expecting);
    Ok(Some(match look.end(&mut expecting) {
        Verdict::Met | Verdict::Astray(_) => Held::Met,
        Verdict::Strange => Held::Strange,
        Verdict::Unmet(rule) => {
            let mut unmet = vec![0; expecting.rules.count()];
            if let Some(count) = unmet.get_mut(rule as usize) {
                *count = 1;
            }
            let workers = std::iter::once((&expecting, &unmet[..]));
            let told = told(&plan.redaction, workers, &BTreeMap::new());
            told.into_iter().next().map_or(Held::Met, Held::Unmet)
        }
    }))
}

/// What is told of all workers' rules: how many requests failed by each, which the workers counted
/// as `unmet`, and what came instead. `said`: how bodies began, by a status that wasn't expected.
pub fn told<'a>(
    redaction: &Redaction,
    workers: impl Iterator<Item = (&'a Expecting, &'a [u64])>,
    said: &BTreeMap<String, String>,
) -> Vec<Unmet> {
    let workers: Vec<_> = workers.collect();
    let Some((first, _)) = workers.first() else {
        return Vec::new();
    };
    let rules = &first.rules;
    let failed = |index: usize| {
        let counts = workers.iter().filter_map(|(_, unmet)| unmet.get(index));
        counts.sum::<u64>()
    };
    let mut unmet: Vec<(usize, u64)> = (0..rules.count())
        .map(|index| (index, failed(index)))
        .filter(|(_, failed)| *failed > 0)
        .collect();
    unmet.sort_by_key(|(_, failed)| std::cmp::Reverse(*failed));
    unmet.truncate(TOLD_MAX);
    let told = unmet.into_iter().map(|(index, failed)| {
        let one = &rules.all[index];
        let mut examples = workers.iter().flat_map(|(worker, _)| &worker.examples);
        let example = examples.find(|example| example.rule == Some(index as u32));
        Unmet {
            expected: one.expected.clone(),
            step: one.step.clone(),
            failed,
            came: example.map(|example| example.told(one, redaction, said)),
        }
    });
    told.collect()
}

impl Example {
    /// What came, without secrets.
    fn told(&self, one: &One, redaction: &Redaction, said: &BTreeMap<String, String>) -> String {
        let line = |otherwise: &str| {
            let line = self.text.line();
            if line.is_empty() {
                return otherwise.to_owned();
            }
            let name = one.name.as_deref().unwrap_or_default();
            let line = redaction.value(name, &line);
            shortened(&guessed(&redaction.scrub(&line)))
        };
        match self.came {
            Came::Status(status) => match said.get(&status.to_string()) {
                Some(line) => format!("{status}: {line}"),
                None => status.to_string(),
            },
            Came::Header => line("an empty value"),
            Came::NoHeader => "no such header".to_owned(),
            Came::Body => line("a body without a line to show"),
            Came::NoBody => "no body".to_owned(),
            Came::LongBody => format!(
                "a body of more than {} MiB, which is too long to look into",
                BODY_BYTES_MAX >> 20
            ),
            Came::BrokenCoding => "a body that isn't compressed as it says".to_owned(),
            Came::UnknownCoding => {
                "a body that is compressed in another way than gzip or deflate".to_owned()
            }
            Came::Coded => "a body that is compressed; --compressed asks for gzip or deflate, and \
                            decodes it"
                .to_owned(),
            Came::Json => line("a value without a line to show"),
            Came::NoValue => format!("no such value in {}", line("the body")),
            Came::NoJson => format!("not JSON: {}", line("a body without a line to show")),
        }
    }
}

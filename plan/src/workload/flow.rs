//! Steps that follow each other on a connection: the messages of a WebSocket.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{NAMES_MAX, Step};
use crate::expect::{Expect, Rule};
use crate::invalid::Invalid;

/// The longest rest between two messages, in seconds.
pub const REST_S_MAX: f64 = 86_400.0;
/// The most messages of a server that one of ours waits for.
pub const ANSWERS_MAX: u32 = 10_000;

/// What each connection does with the steps of a workload: it goes through them from the first one
/// on, again and again, and begins with the first when it's opened anew.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Flow {
    /// What goes with each step, in the order of the steps.
    pub turns: Vec<Turn>,
    /// How long a connection rests behind the last step, before it begins again, in seconds.
    pub rest_s: f64,
}

/// What goes with a step of a flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Turn {
    /// How long the connection rests before it, in seconds.
    pub rest_s: f64,
    /// How many messages of the server end the exchange; 0: the message is sent, nothing answers
    /// it, and it's no exchange.
    pub answers: u32,
}

impl Flow {
    /// Whether the step at `index` is an exchange.
    pub fn is_exchange(&self, index: usize) -> bool {
        self.turns.get(index).is_some_and(|turn| turn.answers > 0)
    }

    /// Whether connections rest anywhere in it.
    pub fn rests(&self) -> bool {
        self.rest_s > 0.0 || self.turns.iter().any(|turn| turn.rest_s > 0.0)
    }

    /// It with as many turns as a record shows steps.
    pub(super) fn shown(&self) -> Flow {
        Flow {
            turns: self.turns.iter().take(NAMES_MAX).copied().collect(),
            rest_s: self.rest_s,
        }
    }

    /// Whether these `steps` can follow each other so. `is_binary`: messages may be any bytes.
    pub(crate) fn validate(&self, steps: &[Step], is_binary: bool) -> Result<(), Invalid> {
        if self.turns.len() != steps.len() {
            return Err(Invalid(
                "a flow needs a turn for each message, and no other".into(),
            ));
        }
        if self.turns.iter().all(|turn| turn.answers == 0) {
            let place = steps.first().map(Step::place).unwrap_or_default();
            return Err(Invalid(format!(
                "{place}no message waits for the server, so there's nothing to measure and no end \
                 to the sending: add `=== wait-for-server` below one of them"
            )));
        }
        let rests = self.turns.iter().map(|turn| turn.rest_s);
        if !rests
            .chain([self.rest_s])
            .all(|rest_s| (0.0..=REST_S_MAX).contains(&rest_s))
        {
            return Err(Invalid(
                "a wait between two messages is a day at most".into(),
            ));
        }
        for (index, step) in steps.iter().enumerate() {
            self.validate_step(index, step, &steps[0], is_binary)?;
        }
        Ok(())
    }

    fn validate_step(
        &self,
        index: usize,
        step: &Step,
        first: &Step,
        is_binary: bool,
    ) -> Result<(), Invalid> {
        let place = step.place();
        if self.turns[index].answers > ANSWERS_MAX {
            return Err(Invalid(format!(
                "{place}this message waits for more than {ANSWERS_MAX} messages of the server, \
                 which is too many"
            )));
        }
        if step.target.path != first.target.path {
            return Err(Invalid(format!(
                "{place}all messages of a flow go to one path, because a connection is upgraded \
                 once"
            )));
        }
        if !is_binary && std::str::from_utf8(&step.request.body).is_err() {
            return Err(Invalid(format!(
                "{place}a text message must be UTF-8 (RFC 6455 §5.6): --binary sends all messages \
                 as binary ones"
            )));
        }
        if !step.expect.is_empty() && !self.is_exchange(index) {
            return Err(Invalid(format!(
                "{place}this message waits for no answer, so none can be as expected: add `=== \
                 wait-for-server` below it, or drop the expectation"
            )));
        }
        of_messages(&step.expect, &place)
    }
}

/// Whether these rules can be about a message. `place` is where they stand, for messages.
pub(crate) fn of_messages(rules: &[Expect], place: &str) -> Result<(), Invalid> {
    for expect in rules {
        let rule = expect.rule();
        let what = match rule.map_err(|Invalid(what)| Invalid(format!("{place}{what}")))? {
            Rule::Status(_) => "status",
            Rule::Header { .. } => "headers",
            Rule::Body(_) | Rule::Json { .. } => continue,
        };
        return Err(Invalid(format!(
            "{place}a message has no {what}: expect body=TEXT, body~PART, json:PATH or \
             json:PATH=VALUE"
        )));
    }
    Ok(())
}

//! gRPC calls: the JSON of a step, and the messages that it becomes.
//!
//! A body that stays the same is encoded once. One with templates is encoded each time, ahead of
//! when it is sent, by whoever has the method's description: that allocates, and so does
//! compressing its messages there.

use std::sync::Arc;
use std::time::Duration;

use measure::foreign::Foreign;
use measure::time::unix_nanoseconds;
use plan::method::Encoder;
use plan::protocol::{Call, CallKind, Protocol};
use plan::{Contact, Invalid, Plan, Request, Step};
use proto::gzip::Gzip;
use proto::{grpc, http2};

use crate::data::Data;
use crate::recipe::{Chance, Encoding, Recipe, Values};

/// What is said of a call besides its bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Said {
    /// How many messages it has.
    pub messages: u32,
    /// Whether it may be answered with any number of messages.
    pub answers_many: bool,
}

/// A call that is the same each time, encoded.
pub(crate) fn constant(
    plan: &Plan,
    step: &Step,
) -> Result<(http2::client::Request, Said), Invalid> {
    let call = call(plan, step)?;
    let said = Said {
        messages: call.messages.len() as u32,
        answers_many: call.kind.answers_many(),
    };
    let request = contact(plan, step, call).http2();
    let request = request.map_err(|Invalid(what)| at(step, &what))?;
    Ok((request, said))
}

/// The call of a step without templates in its body.
pub(crate) fn call(plan: &Plan, step: &Step) -> Result<Call, Invalid> {
    let method = method(plan, step)?;
    Ok(Call {
        kind: method.kind(),
        messages: messages(&**method, &step.request.body, step, true)?,
        deadline_s: plan.protocol.deadline_s(),
    })
}

/// Whom a step calls, and what.
pub(crate) fn contact(plan: &Plan, step: &Step, call: Call) -> Contact {
    let http2 = plan.protocol.http2().copied().unwrap_or_default();
    Contact {
        target: step.target.clone(),
        request: Request {
            body: Vec::new(),
            ..step.request.clone()
        },
        protocol: Protocol::Grpc { http2, call },
        ..plan.contact()
    }
}

/// What describes the method of a step.
pub(crate) fn method<'p>(plan: &'p Plan, step: &Step) -> Result<&'p Arc<dyn Encoder>, Invalid> {
    let methods = plan.workload.as_ref().map(|workload| &workload.methods);
    let found = methods.and_then(|methods| methods.of(&step.target.path));
    found.ok_or_else(|| {
        let path = Foreign::new(step.target.path.trim_start_matches('/'));
        at(step, &format!("nothing describes the method {path}"))
    })
}

/// The messages of a body.
pub(crate) fn messages(
    method: &dyn Encoder,
    body: &[u8],
    step: &Step,
    shown: bool,
) -> Result<Vec<Vec<u8>>, Invalid> {
    let encoded = method.messages(body, shown);
    encoded.map_err(|what| at(step, &what))
}

fn at(step: &Step, what: &str) -> Invalid {
    Invalid(format!("{}{what}", step.place()))
}

/// Calls that differ.
#[derive(Debug)]
pub(crate) struct Calls {
    recipe: Recipe,
    method: Arc<dyn Encoder>,
    kind: CallKind,
    /// Whether its messages are compressed.
    compresses: bool,
    /// The messages as they are sent, and how many they are, where they are always the same.
    constant: Option<(Vec<u8>, u32)>,
    /// Where the step stands, for messages.
    place: String,
    /// One that was made before the load.
    pub(crate) tried: Vec<u8>,
    pub(crate) tried_at: (usize, u32),
}

impl Calls {
    /// Those of a step with templates, of which one is made as a trial, with the first row of
    /// `data`. None: the step is the same each time.
    ///
    /// # Errors
    /// A step that can't be sent, or whose JSON doesn't fit, and where it stands.
    pub(crate) fn of(
        plan: &Plan,
        step: &Step,
        data: Option<&Arc<Data>>,
    ) -> Result<Option<Calls>, Invalid> {
        let columns = data.map_or(&[][..], |data| data.columns());
        let timeout = plan.protocol.deadline_s().map(Duration::from_secs_f64);
        let compression = plan.contact().compression;
        let encoding = Encoding::Grpc {
            timeout,
            compression,
        };
        let Some(recipe) = Recipe::of(step, encoding, columns)? else {
            return Ok(None);
        };
        let method = Arc::clone(method(plan, step)?);
        // What the environment has may be a secret.
        let shown = recipe.environment().next().is_none();
        let constant = recipe.constant_body().map(|body| {
            let messages = messages(&*method, body, step, shown)?;
            let mut framed = Vec::new();
            let count =
                frame(&messages, compression.sends, &mut framed).map_err(|what| at(step, &what))?;
            Ok::<_, Invalid>((framed, count))
        });
        let mut calls = Calls {
            kind: method.kind(),
            compresses: compression.sends,
            constant: constant.transpose()?,
            recipe,
            method,
            place: step.place(),
            tried: Vec::new(),
            tried_at: (0, 0),
        };
        calls.try_one(plan, data)?;
        Ok(Some(calls))
    }

    fn try_one(&mut self, plan: &Plan, data: Option<&Arc<Data>>) -> Result<(), Invalid> {
        let mut chance = Chance::new(plan.seed, 0, plan.threads, unix_nanoseconds);
        let mut bytes = Vec::new();
        let made = match data.filter(|_| self.recipe.uses_data()) {
            None => self.make(&(), &mut chance, &mut bytes),
            Some(data) => match data.rows_of(0)?.next() {
                Ok(Some(row)) => self.make(&row, &mut chance, &mut bytes),
                // Whoever reads rows finds that there are none.
                Ok(None) => return Ok(()),
                Err(broken) => return Err(Invalid(broken.to_string())),
            },
        };
        self.tried_at = made.map_err(Invalid)?;
        self.tried = bytes;
        Ok(())
    }

    /// What it is made by.
    pub(crate) fn recipe(&self) -> &Recipe {
        &self.recipe
    }

    /// What is said of a call with so many messages.
    #[inline]
    pub(crate) fn said(&self, messages: u32) -> Said {
        Said {
            messages,
            answers_many: self.kind.answers_many(),
        }
    }

    /// Appends the fields of a call and its messages: where these begin, and how many there are.
    ///
    /// # Errors
    /// The JSON, with its values, doesn't fit the message. No value is in the text.
    pub(crate) fn make<V: Values + ?Sized>(
        &self,
        row: &V,
        chance: &mut Chance,
        out: &mut Vec<u8>,
    ) -> Result<(usize, u32), String> {
        let body_at = self.recipe.make(row, chance, out);
        if let Some((framed, count)) = &self.constant {
            out.truncate(body_at);
            out.extend_from_slice(framed);
            return Ok((body_at, *count));
        }
        let encoded = self.method.messages(&out[body_at..], false);
        out.truncate(body_at);
        match encoded.and_then(|messages| frame(&messages, self.compresses, out)) {
            Ok(count) => Ok((body_at, count)),
            Err(what) => Err(format!("{}with its values filled in, {what}", self.place)),
        }
    }
}

/// Appends messages, each with its length, and compressed if they are to be.
///
/// # Errors
/// There is none: what is made of a block without a body ends with its head, and servers are used
/// to data (a constant call has it even so).
fn frame(messages: &[Vec<u8>], compresses: bool, out: &mut Vec<u8>) -> Result<u32, String> {
    if messages.is_empty() {
        return Err(
            "the array has no message, which only calls without templates can have: write one"
                .to_owned(),
        );
    }
    let mut gzip = compresses.then(Gzip::default);
    for message in messages {
        let framed = match &mut gzip {
            Some(gzip) => grpc::encode_gzipped(message, gzip, out),
            None => grpc::encode(message, out),
        };
        framed.map_err(|misuse| misuse.to_string())?;
    }
    Ok(messages.len() as u32)
}

#[cfg(test)]
mod tests;

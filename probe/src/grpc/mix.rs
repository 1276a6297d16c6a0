//! The methods of a mix: found in one look, and asked for messages while the load goes on.

use std::sync::Arc;

use plan::method::{Encoder, Methods};
use plan::protocol::CallKind;
use plan::{Contact, Invalid, Plan, Step};
use prost::Message as _;
use prost_reflect::DynamicMessage;
use serde_json::Value;

use super::json::{self, Quoting};
use super::{Method, Misfit, Source, Wanted, pool};
use crate::LoadError;

/// The methods that the steps of a plan's workload call. Only reflection talks to a target, once
/// for all of its methods, with the metadata that all steps have in common, and gives each step the
/// plan's timeout. A method of several targets is described by the first of them.
///
/// # Errors
/// [`LoadError::Invalid`] where the descriptions are wrong or lack a method, with the place of its
/// step; else why a target could not be asked.
pub fn describe(plan: &Plan, source: &Source) -> Result<Methods, LoadError> {
    let mut methods = Methods::default();
    let Some(workload) = &plan.workload else {
        return Ok(methods);
    };
    let (steps, (_, origins)) = (&workload.steps, workload.origins());
    let common = common(steps);
    for (index, mut contact) in plan.contacts().into_iter().enumerate() {
        contact.request.headers.extend(common.iter().cloned());
        let own = steps.iter().zip(&origins);
        let own = own.filter(|(_, origin)| usize::from(**origin) == index);
        let own: Vec<&Step> = own.map(|(step, _)| step).collect();
        own.iter().try_for_each(|step| sayable(&contact, step))?;
        let wanted = own.iter().map(|step| wanted(&contact, step));
        let wanted: Vec<Wanted<'_>> = wanted.collect();
        let pool = pool(&contact, source, &wanted.iter().collect::<Vec<_>>())?;
        for one in &wanted {
            if methods.of(one.path).is_none() {
                methods.add(one.path, Arc::new(Method(one.find(&pool)?)));
            }
        }
    }
    Ok(methods)
}

/// Whether what a step says of itself can be said, as far as it is no template.
fn sayable(contact: &Contact, step: &Step) -> Result<(), Invalid> {
    let mut contact = Contact {
        target: step.target.clone(),
        ..contact.clone()
    };
    let headers = step.request.headers.iter();
    let fixed = headers.filter(|(_, value)| !value.contains("{{"));
    contact.request.headers = fixed.cloned().collect();
    let said = contact.http2().map(drop);
    said.map_err(|Invalid(what)| Invalid(format!("{}{what}", step.place())))
}

fn wanted<'w>(contact: &'w Contact, step: &'w Step) -> Wanted<'w> {
    Wanted {
        contact,
        path: &step.target.path,
        place: step.place(),
    }
}

/// The metadata that all steps have, if it is no template: what a server asks of everyone.
fn common(steps: &[Step]) -> Vec<(String, String)> {
    let Some((first, others)) = steps.split_first() else {
        return Vec::new();
    };
    let is_common = |field: &&(String, String)| {
        let has = |step: &Step| step.request.headers.contains(field);
        !field.1.contains("{{") && others.iter().all(has)
    };
    let headers = first.request.headers.iter();
    headers.filter(is_common).cloned().collect()
}

impl Encoder for Method {
    fn kind(&self) -> CallKind {
        Method::kind(self)
    }

    fn described(&self) -> Option<Vec<u8>> {
        Some(self.0.parent_pool().encode_to_vec())
    }

    fn messages(&self, json: &[u8], shown: bool) -> Result<Vec<Vec<u8>>, String> {
        if json.trim_ascii().is_empty() {
            return Ok(vec![Vec::new()]);
        }
        if let Some(message) = self.read(json) {
            return Ok(vec![message.encode_to_vec()]);
        }
        // A stream, or a mistake, which is looked for.
        let value: Value = serde_json::from_slice(json).map_err(|why| match shown {
            true => format!("the body isn't valid JSON: {why}"),
            false => format!(
                "the body isn't valid JSON in line {}, column {}: put {{{{values}}}} that are \
                 text in quotes",
                why.line(),
                why.column()
            ),
        })?;
        let quoting = match shown {
            true => Quoting::Values,
            false => Quoting::Kinds,
        };
        self.encode(&value, quoting).map_err(|misfit| match misfit {
            Misfit::Many(count) => format!(
                "{} takes one message, not a stream: write one JSON object, not an array of \
                 {count}",
                self.0.full_name()
            ),
            Misfit::There(text) => format!("the body doesn't match the request message: {text}"),
        })
    }
}

impl Method {
    /// The only message that a text says.
    fn read(&self, json: &[u8]) -> Option<DynamicMessage> {
        let mut text = serde_json::Deserializer::from_slice(json);
        let message = json::read(&self.0.input(), &mut text).ok()?;
        text.end().ok()?;
        Some(message)
    }
}

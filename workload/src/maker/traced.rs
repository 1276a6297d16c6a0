//! Requests that were made once, ready to be sent again.

use std::sync::Arc;

use plan::protocol::Protocol;
use plan::schedule::Schedule;
use plan::{Contact, Invalid, Plan, Request, Target, Workload};
use proto::http1::client::Answer;

use super::Ready;

/// See the module.
#[derive(Debug)]
pub(super) struct Traced {
    trace: Arc<replay::Trace>,
    /// Each request, ready.
    ready: Vec<Ready>,
    /// The step of each.
    steps: Vec<u16>,
}

impl Traced {
    /// Those of `plan`, whose workload has a step for each method; none where it's of no trace.
    ///
    /// # Errors
    /// What can't be sent.
    pub(super) fn of(plan: &Plan, workload: &Workload) -> Result<Option<Traced>, Invalid> {
        let Schedule::Trace { trace, file, .. } = &plan.schedule else {
            return Ok(None);
        };
        let trace = Arc::clone(&trace.0);
        let (mut ready, mut steps) = (Vec::new(), Vec::new());
        for request in &trace.requests {
            let mut methods = workload.steps.iter().map(|step| &step.request.method);
            let step = methods.position(|method| *method == request.method);
            // Its query and its fields may hold secrets.
            let refused = |why: &str| {
                let (file, method) = (file.display(), &request.method);
                let path = request.target.split('?').next().unwrap_or_default();
                Invalid(format!("{file}: {method} {path}: {why}"))
            };
            let step = step.ok_or_else(|| refused("no step has this method"))?;
            steps.push(step as u16);
            let sent = one(plan, request);
            ready.push(
                sent.map_err(|_| refused("it has a field that can't be sent (RFC 9110 §5.5)"))?,
            );
        }
        Ok(Some(Traced {
            trace,
            ready,
            steps,
        }))
    }

    /// A request, ready.
    #[inline]
    pub(super) fn ready(&self, request: u32) -> &Ready {
        &self.ready[request as usize]
    }

    /// The step and the place of the request that was made as the `next` one, of all passes.
    #[inline]
    pub(super) fn pick(&self, next: u64) -> Option<(u16, u32)> {
        let all = self.trace.sendings.len() as u64;
        let within = next.checked_rem(all)? as usize;
        let request = self.trace.sendings.get(within)?.request;
        Some((*self.steps.get(request as usize)?, request))
    }
}

/// With the plan's own fields, which win.
fn one(plan: &Plan, request: &replay::Request) -> Result<Ready, Invalid> {
    let own = &plan.request.headers;
    let is_own = |name: &str| {
        own.iter()
            .any(|(other, _)| other.eq_ignore_ascii_case(name))
    };
    let fields = request.fields.iter().filter(|(name, _)| !is_own(name));
    let contact = Contact {
        target: Target {
            path: request.target.clone(),
            ..plan.target.clone()
        },
        request: Request {
            method: request.method.clone(),
            headers: fields.chain(own).cloned().collect(),
            body: request.body.clone(),
        },
        ..plan.contact()
    };
    match plan.protocol {
        Protocol::Http2 { .. } => contact.http2().map(Ready::Http2),
        _ => {
            let answer = Answer::to(&request.method);
            contact.http1().map(|bytes| Ready::Http1(bytes, answer))
        }
    }
}

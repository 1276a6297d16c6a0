//! A load out of requests that were made once.

use std::sync::Arc;

use load::Plan;
use load::plan::{Request, Step, Workload};
use load::protocol::Protocol;
use load::schedule::{Schedule, Traced};
use measure::foreign::screened;
use replay::{Options, Trace};

use crate::args::replay::Replay;
use output::terminal;

/// The word for every method.
const ALL: &str = "all";
/// What changes nothing on a server (RFC 9110 §9.2.1), and is logged by itself.
const METHODS: [&str; 2] = ["GET", "HEAD"];

/// Has `plan` send what the arguments name, if they do.
///
/// # Errors
/// What can't be read, or sent.
pub(super) fn apply(given: &Replay, plan: &mut Plan) -> Result<(), String> {
    let Some(file) = &given.replay else {
        return Ok(());
    };
    if plan.target.path != "/" {
        return Err(format!(
            "--replay sends the paths in {}: drop {} from the URL",
            file.display(),
            screened(&plan.target.path)
        ));
    }
    if matches!(
        plan.protocol,
        Protocol::Grpc { .. } | Protocol::WebSocket { .. }
    ) {
        return Err("--replay sends requests of HTTP: give a URL with http:// or https://".into());
    }
    let redaction = plan.redaction.clone();
    let is_secret = |name: &str| redaction.is_secret(name);
    let trace = replay::read(
        file,
        &Options {
            methods: methods(&given.replay_methods),
            is_secret: &is_secret,
            keep_secrets: given.replay_secrets,
        },
    );
    let trace = trace.map_err(|what| format!("--replay: {what}"))?;
    tell(&trace);
    for request in &trace.requests {
        let fields = request.fields.iter();
        let fields = fields.map(|(name, value)| (&**name, &**value));
        plan.redaction.learn(fields, &request.target);
    }
    let mut workload = Workload::new(steps(&trace, plan));
    workload.file = Some(file.clone());
    plan.workload = Some(workload);
    plan.schedule = Schedule::Trace {
        file: file.clone(),
        speed: given.speed.unwrap_or(1.0),
        passes: given.replay_passes.unwrap_or(1),
        requests: trace.sendings.len() as u64,
        seconds: trace
            .sendings
            .last()
            .map_or(0.0, |last| last.at_ns as f64 / 1e9),
        trace: Traced(Arc::new(trace)),
    };
    Ok(())
}

fn methods(given: &[String]) -> Option<Vec<String>> {
    match given {
        [] => Some(METHODS.map(str::to_owned).to_vec()),
        given if given.iter().any(|method| method.eq_ignore_ascii_case(ALL)) => None,
        given => Some(
            given
                .iter()
                .map(|method| method.to_ascii_uppercase())
                .collect(),
        ),
    }
}

/// Says what isn't sent, and why.
fn tell(trace: &Trace) {
    if trace.left_out.count() > 0 {
        let words = trace.left_out.words();
        terminal::say(&format!("note: --replay leaves out {}", screened(&words)));
    }
    for note in &trace.notes {
        terminal::say(&format!("note: --replay: {}", screened(note)));
    }
}

/// One for each method, under which its figures are listed.
fn steps(trace: &Trace, plan: &Plan) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    for request in &trace.requests {
        if steps.iter().any(|step| step.name == request.method) {
            continue;
        }
        steps.push(Step {
            name: request.method.clone(),
            weight: 1,
            target: plan.target.clone(),
            request: Request {
                method: request.method.clone(),
                headers: Vec::new(),
                body: Vec::new(),
            },
            body_is_template: false,
            expect: Vec::new(),
            at: None,
        });
    }
    steps
}

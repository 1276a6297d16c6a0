//! A load out of requests that were made once.

use load::Plan;
use load::protocol::Protocol;
use measure::foreign::screened;
use workload::replayed::{Given, Replayed};

use crate::args::replay::Replay;
use output::terminal;

/// Has `plan` send what the arguments name, if they do.
///
/// # Errors
/// What can't be read, or sent.
pub(crate) fn apply(given: &Replay, plan: &mut Plan) -> Result<(), String> {
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
    let given = Given {
        file,
        methods: &given.replay_methods,
        keep_secrets: given.replay_secrets,
        speed: given.speed.unwrap_or(1.0),
        passes: given.replay_passes.unwrap_or(1),
    };
    let read = Replayed::read(&given, &plan.target, &plan.redaction);
    let read = read.map_err(|what| format!("--replay: {what}"))?;
    for note in &read.notes {
        terminal::say(&format!("note: --replay: {}", screened(note)));
    }
    plan.workload = Some(read.workload);
    plan.schedule = read.schedule;
    Ok(())
}

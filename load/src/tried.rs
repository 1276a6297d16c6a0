//! One user who goes through a flow before it's a load.

use engine::signal::Stop;
use plan::Plan;
use plan::schedule::Schedule;
use plan::workload::WHOLE;

use crate::run::run;

/// So long a flow may take.
const PATIENCE_S: f64 = 60.0;

/// Has one user go through the flow of `plan`, alone.
///
/// # Errors
/// What went wrong, as a sentence without secrets.
pub fn try_flow(plan: &Plan) -> Result<(), String> {
    let alone = Plan {
        schedule: Schedule::Closed,
        connections: 1,
        threads: 1,
        count: Some(1),
        duration_s: Some(PATIENCE_S),
        warm_up_s: 0.0,
        ..plan.clone()
    };
    let record = run(&alone, &Stop::new(), &mut |_| ()).map_err(|error| error.to_string())?;
    let flow = record.steps.iter().find(|step| step.name == WHOLE);
    if flow.is_some_and(|flow| flow.completed == 1) {
        return Ok(());
    }
    if let Some(unmet) = record.unexpected_answers.first() {
        let came = unmet.came.as_deref().unwrap_or("it isn't as it should be");
        return Err(format!("{}: {came}", unmet.expected));
    }
    let failed = record.steps.iter().find(|step| step.failed > 0);
    Err(match failed {
        Some(step) => {
            let kinds: Vec<&str> = step.errors.keys().map(String::as_str).collect();
            format!("{}: {}", step.name, kinds.join(", "))
        }
        None => format!("a user didn't get through it in {PATIENCE_S} s"),
    })
}

//! The messages of a WebSocket, in a comparison: how they are verified before the load.

use load::plan::Workload as Steps;
use load::protocol::Protocol as Spoken;
use load::{Answer, Plan};

pub use ::workload::messages::rated;
pub(crate) use ::workload::messages::{Beside, check};

/// The answer to the first message, if that one waits for one. Only that there is one counts: what
/// a message is answered may change with each connection, so nothing is in the place of a body. A
/// first message that doesn't wait may be what has the others answered, and one question can't
/// send both: then nothing is asked, and the load finds out.
///
/// # Errors
/// What is wrong with the server or its answer.
pub(crate) fn answer(
    plan: &Plan,
    steps: &Steps,
    ask: impl Fn(&Plan) -> Result<Answer, String>,
) -> Result<Answer, String> {
    let waits = steps.flow.as_ref().is_some_and(|flow| flow.is_exchange(0));
    let first = steps.steps.first().filter(|_| waits);
    let Some(first) = first else {
        return Ok(Answer::default());
    };
    let examples = ::workload::examples(plan, 1).map_err(|bad| bad.to_string())?;
    let example = examples.into_iter().next();
    let mut asked = example.ok_or("there is no message")?.plan;
    if let Spoken::WebSocket { message } = &mut asked.protocol {
        message.payload = std::mem::take(&mut asked.request.body);
    }
    asked.request.clone_from(&plan.request);
    // What is expected of an answer is for the load to tell, as of requests that differ.
    asked.expect.clear();
    let answer = ask(&asked).map_err(|what| {
        let at = first.at.as_ref().map(|at| format!(" ({at})"));
        let at = at.unwrap_or_default();
        format!("the message {}{at} {what}", first.name)
    })?;
    Ok(Answer {
        body: Vec::new(),
        ..answer
    })
}

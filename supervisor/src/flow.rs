//! The messages of a WebSocket, in a comparison: what of a workload goes with them, and how they
//! are verified before the load.

use load::plan::Workload as Steps;
use load::protocol::Protocol as Spoken;
use load::{Answer, Plan};

/// What of a workload stands beside messages that follow each other.
pub(crate) struct Beside {
    pub message: bool,
    pub method: bool,
    pub pick: bool,
    pub pipeline: u32,
    pub keep_alive: bool,
    pub rate: Option<f64>,
}

/// Whether they go together.
///
/// # Errors
/// The key that doesn't go with them, and what to do.
pub(crate) fn check(beside: &Beside) -> Result<(), String> {
    let given = [
        (beside.message, "`message`"),
        (beside.method, "`method`"),
        (beside.pick, "`pick`"),
    ];
    if let Some((_, key)) = given.iter().find(|(given, _)| *given) {
        return Err(format!(
            "{key}: the messages are those of `targets`, in their order: drop {key}"
        ));
    }
    if beside.pipeline > 1 {
        return Err(
            "`pipeline`: a message waits for the answer to the one before it: drop it, or use \
             more `connections`"
                .to_owned(),
        );
    }
    if !beside.keep_alive {
        return Err(
            "`keep_alive = false` opens a connection for each exchange, and each goes through \
             all messages of `targets`: drop it"
                .to_owned(),
        );
    }
    rated(beside.rate)
}

/// Refuses a rate where the waits between messages say when the next one is sent.
///
/// # Errors
/// Why, and what to do, if there is a `rate`.
pub fn rated(rate: Option<f64>) -> Result<(), String> {
    match rate.is_some() {
        true => Err(
            "`rate`: the waits between the messages of a WebSocket say when a connection sends \
             the next one, and so would a rate: drop it, and set the load by `connections`"
                .to_owned(),
        ),
        false => Ok(()),
    }
}

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

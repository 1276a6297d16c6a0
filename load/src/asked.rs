//! One answer that was asked for before a load, held against what the load expects.

use measure::foreign::Foreign;
use plan::Plan;
use probe::Answer;
use session::expect::{Held, held_against};

/// Whether a run of `plan` would count this answer to a request of its step of that index (0 where
/// all are alike) as completed. Redirects that the run would follow pass: where they lead isn't
/// known. What is expected of calls and of the messages of a WebSocket is checked in the run only.
///
/// # Errors
/// What is wrong with it, as a clause such as `with status 404`, without secrets.
pub fn verify(plan: &Plan, step: usize, answer: &Answer) -> Result<(), String> {
    let usual = || match answer.is_success() {
        true => Ok(()),
        false => Err(format!("with {}", answer.ending())),
    };
    let is_followed = plan.follow > 0 && (300..400).contains(&answer.status);
    if answer.grpc.is_some() || answer.head.is_empty() || is_followed {
        return usual();
    }
    let whole = (answer.status, &answer.head[..], &answer.body[..]);
    let step = u16::try_from(step).unwrap_or_default();
    let held = held_against(plan, step, whole).map_err(|invalid| format!("but {invalid}"))?;
    match held {
        None => usual(),
        Some(Held::Met) => Ok(()),
        Some(Held::Strange) => Err(format!("with {}", answer.ending())),
        Some(Held::Unmet(unmet)) => {
            let expected = Foreign::new(&unmet.expected);
            let came = unmet
                .came
                .filter(|_| !unmet.expected.starts_with("status="));
            let came = came.map(|came| format!(" (got {came})"));
            let (came, ending) = (came.unwrap_or_default(), answer.ending());
            Err(format!("with {ending}, but {expected} is expected{came}"))
        }
    }
}

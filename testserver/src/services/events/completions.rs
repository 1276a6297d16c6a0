//! `/v1/chat/completions`, in the form of the interface of OpenAI: what clients and load tests of
//! language models ask for. Nothing is understood of the conversation.

use std::time::Duration;

use measure::time::unix_seconds;
use serde::Deserialize;
use serde_json::json;
use server::{Context, Event, Reply, Ticket};

use super::flows::{Flows, Pace, Says};
use super::law::Law;
use super::timed;
use crate::route::{Answerer, Asked};
use crate::services::parameter::refusal;

/// When the first token comes, and each of the others, where the query doesn't say.
const FIRST: Duration = Duration::from_millis(50);
const EVERY: Duration = Duration::from_millis(10);
/// Tokens where the request doesn't say how many.
const TOKENS: u64 = 16;
/// The most of them in an answer that is no stream.
const WHOLE_TOKENS_MAX: u64 = 100_000;
/// What each of them says.
const TOKEN: &str = " token";

/// What is read of a request; it may say anything else.
#[derive(Deserialize)]
struct Wanted {
    stream: Option<bool>,
    #[serde(alias = "max_completion_tokens")]
    max_tokens: Option<u64>,
    model: Option<String>,
}

/// The route of a worker.
pub(in crate::services) struct Completions(Flows);

impl Completions {
    pub(in crate::services) fn new() -> Completions {
        Completions(Flows::new())
    }
}

impl Answerer for Completions {
    fn call(&mut self, asked: &Asked<'_>, context: &mut Context<'_>) -> Reply {
        let wanted: Wanted = match serde_json::from_slice(asked.request.body()) {
            Ok(wanted) => wanted,
            Err(error) => {
                let what = "the body must be JSON, such as {\"stream\":true,\"max_tokens\":16}";
                return refusal(format!("{what}: {error}\n"));
            }
        };
        let tokens = wanted.max_tokens.unwrap_or(TOKENS);
        if tokens == 0 {
            return refusal("max_tokens must be at least 1\n".to_owned());
        }
        let model = wanted.model.unwrap_or_default();
        let usual = Pace::new(tokens, Law::Constant(FIRST), EVERY);
        let pace = match timed(asked, usual) {
            Ok(pace) => pace,
            Err(sentence) => return refusal(sentence),
        };
        let says = match wanted.stream.unwrap_or_default() {
            true => stream(&model),
            false if tokens > WHOLE_TOKENS_MAX => {
                let most = format!("at most {WHOLE_TOKENS_MAX} tokens without \"stream\":true\n");
                return refusal(most);
            }
            false => whole(&model, tokens),
        };
        self.0.begin(pace, says, context)
    }

    fn due(&mut self, ticket: Ticket, context: &mut Context<'_>) {
        self.0.due(ticket, context);
    }

    fn event(&mut self, ticket: Ticket, event: Event<'_>, context: &mut Context<'_>) {
        self.0.event(ticket, &event, context);
    }
}

/// An event for each token, and behind the last one another that says so.
fn stream(model: &str) -> Says {
    let event = |reason: Option<&str>| {
        let chunk = json!({
            "id": "chatcmpl-ringside",
            "object": "chat.completion.chunk",
            "created": unix_seconds(),
            "model": model,
            "choices": [{
                "index": 0,
                "delta": {"content": TOKEN},
                "finish_reason": reason,
            }],
        });
        format!("data: {chunk}\n\n")
    };
    let last = event(Some("length")) + "data: [DONE]\n\n";
    Says::Tokens {
        each: event(None).into_bytes().into(),
        last: last.into_bytes().into(),
    }
}

/// All tokens at once.
fn whole(model: &str, tokens: u64) -> Says {
    let answer = json!({
        "id": "chatcmpl-ringside",
        "object": "chat.completion",
        "created": unix_seconds(),
        "model": model,
        "choices": [{
            "index": 0,
            "message": {"role": "assistant", "content": TOKEN.repeat(tokens as usize)},
            "finish_reason": "length",
        }],
        "usage": {"completion_tokens": tokens},
    });
    Says::Whole(answer.to_string().into_bytes().into())
}

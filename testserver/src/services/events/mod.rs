//! `/events/N/10ms`: a stream of N server-sent events, the first at once, and one more each 10 ms.
//! With `?first=LAW` the first one comes later: `200ms`, `exp:200ms` (at random, exponentially
//! distributed with that mean), or `100ms..300ms` (evenly between the two).
//!
//! `/v1/chat/completions`: the same in the form of a server of language models, with an event for
//! each token. The body of the request says how many (`max_tokens`, else 16), and whether it's to
//! be a stream (`"stream": true`); the query says when: `?first=LAW&every=TIME`, else 50 ms and
//! 10 ms.
//!
//! The n-th event is due at a time that doesn't depend on when the others were sent, so what comes
//! late makes the next gap shorter. What a client doesn't take in time waits and isn't lost, and
//! leaves in one piece.

mod completions;
mod flows;
mod law;

use std::time::Duration;

use measure::units;
use server::{Context, Event, Reply, Ticket};

use super::parameter::{self, refusal};
use crate::route::{Answerer, Asked};
pub(super) use completions::Completions;
use flows::{Flows, Pace, Says};
use law::Law;

/// The route of a worker.
pub(super) struct Events(Flows);

impl Events {
    pub(super) fn new() -> Events {
        Events(Flows::new())
    }
}

impl Answerer for Events {
    fn call(&mut self, asked: &Asked<'_>, context: &mut Context<'_>) -> Reply {
        match pace(asked) {
            Ok(pace) => self.0.begin(pace, Says::Numbers, context),
            Err(sentence) => refusal(sentence),
        }
    }

    fn due(&mut self, ticket: Ticket, context: &mut Context<'_>) {
        self.0.due(ticket, context);
    }

    fn event(&mut self, ticket: Ticket, event: Event<'_>, context: &mut Context<'_>) {
        self.0.event(ticket, &event, context);
    }
}

/// When which event is due.
fn pace(asked: &Asked<'_>) -> Result<Pace, String> {
    let Some((count, every)) = asked.parameter.split_once('/') else {
        return Err("say how many events and how often: /events/100/10ms\n".to_owned());
    };
    let count = units::parse_count(count).map_err(|error| format!("{error}\n"))?;
    let every = parameter::duration(every)?;
    timed(
        asked,
        Pace::new(count, Law::Constant(Duration::ZERO), every),
    )
}

/// The pace as the query has it: what it doesn't name stays.
fn timed(asked: &Asked<'_>, mut pace: Pace) -> Result<Pace, String> {
    let query = asked.request.query().unwrap_or_default();
    let query = String::from_utf8_lossy(query);
    for (name, value) in query.split('&').filter_map(|pair| pair.split_once('=')) {
        match name {
            "first" => pace.first = Law::read(value)?,
            "every" => pace.every_ns = nanoseconds(parameter::duration(value)?),
            _ => {}
        }
    }
    Ok(pace)
}

fn nanoseconds(length: Duration) -> u64 {
    length.as_nanos().try_into().unwrap_or(u64::MAX)
}

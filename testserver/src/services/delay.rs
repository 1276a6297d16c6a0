//! `/delay/50ms`: an answer after so long, counted from the turn that read the request. Also in
//! `us` and `s`; a bare number is milliseconds. `/wait10`: the same after 10 ms, for comparisons:
//! a path that servers of all kinds have.

use std::time::Duration;

use server::{Context, Reply, Response, Ticket};

use super::TEXT;
use super::parameter::{self, refusal};
use crate::route::{Answerer, Asked};

pub(super) struct Delay;

impl Answerer for Delay {
    fn call(&mut self, asked: &Asked<'_>, context: &mut Context<'_>) -> Reply {
        match parameter::duration(asked.parameter) {
            Ok(delay) => {
                context.wake_at(context.now() + delay, context.ticket());
                Reply::Later
            }
            Err(sentence) => refusal(sentence),
        }
    }

    fn due(&mut self, ticket: Ticket, context: &mut Context<'_>) {
        context.complete(ticket, Response::fixed(TEXT, b"late\n"));
    }
}

pub(super) struct Wait;

impl Answerer for Wait {
    fn call(&mut self, _: &Asked<'_>, context: &mut Context<'_>) -> Reply {
        context.wake_at(context.now() + Duration::from_millis(10), context.ticket());
        Reply::Later
    }

    fn due(&mut self, ticket: Ticket, context: &mut Context<'_>) {
        context.complete(ticket, Response::fixed(TEXT, b"waited\n"));
    }
}

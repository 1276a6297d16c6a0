//! `/slow/10ms`: an answer whose every byte, those of its head too, is sent by itself, so long
//! after the one before. Also in `us` and `s`; a bare number is milliseconds.

use super::parameter::{self, refusal};
use super::{Context, Request, Response, Service};
use crate::service::{Reply, TEXT};

pub(super) struct Slow;

impl Service for Slow {
    fn call(&mut self, request: &Request<'_>, _: &mut Context<'_>) -> Reply {
        match parameter::duration(request.parameter) {
            Ok(every) => Reply::Dribble {
                response: Response::fixed(TEXT, b"slow\n"),
                every,
            },
            Err(sentence) => refusal(sentence),
        }
    }
}

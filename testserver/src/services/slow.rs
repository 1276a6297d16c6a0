//! `/slow/10ms`: an answer whose every byte, those of its head too, is sent by itself, so long
//! after the one before. Also in `us` and `s`; a bare number is milliseconds.

use server::fault::Fault;
use server::{Context, Reply, Response};

use super::TEXT;
use super::parameter::{self, refusal};
use crate::route::{Answerer, Asked};

pub(super) struct Slow;

impl Answerer for Slow {
    fn call(&mut self, asked: &Asked<'_>, _: &mut Context<'_>) -> Reply {
        match parameter::duration(asked.parameter) {
            Ok(every) => Fault::Dribble {
                response: Response::fixed(TEXT, b"slow\n"),
                every,
            }
            .into(),
            Err(sentence) => refusal(sentence),
        }
    }
}

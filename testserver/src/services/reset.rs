//! `/reset`: the connection is reset in place of an answer.

use server::fault::Fault;
use server::{Context, Reply};

use crate::route::{Answerer, Asked};

pub(super) struct Reset;

impl Answerer for Reset {
    fn call(&mut self, _: &Asked<'_>, _: &mut Context<'_>) -> Reply {
        Fault::Reset.into()
    }
}

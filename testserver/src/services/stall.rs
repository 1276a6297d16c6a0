//! `/stall`: no answer, ever. For clients that should give up by themselves.

use server::fault::Fault;
use server::{Context, Reply};

use crate::route::{Answerer, Asked};

pub(super) struct Stall;

impl Answerer for Stall {
    fn call(&mut self, _: &Asked<'_>, _: &mut Context<'_>) -> Reply {
        Fault::Never.into()
    }
}

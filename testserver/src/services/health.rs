//! `/health`: whether the server serves. It does, or there is no answer.

use server::{Context, Reply, Response};

use super::TEXT;
use crate::route::{Answerer, Asked};

pub(super) struct Health;

impl Answerer for Health {
    fn call(&mut self, _: &Asked<'_>, _: &mut Context<'_>) -> Reply {
        Reply::Always(Response::fixed(TEXT, b"ok\n"))
    }
}

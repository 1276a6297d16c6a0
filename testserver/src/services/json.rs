//! `/json`: a small object.

use server::{Context, Reply, Response};

use crate::route::{Answerer, Asked};

pub(super) struct Json;

impl Answerer for Json {
    fn call(&mut self, _: &Asked<'_>, _: &mut Context<'_>) -> Reply {
        Reply::Always(Response::fixed("application/json", br#"{"status":"ok"}"#))
    }
}

//! `/`: a greeting, the least that an answer can be.

use server::{Context, Reply, Response};

use super::TEXT;
use crate::route::{Answerer, Asked};

pub(super) struct Hello;

impl Answerer for Hello {
    fn call(&mut self, _: &Asked<'_>, _: &mut Context<'_>) -> Reply {
        Reply::Always(Response::fixed(TEXT, b"Hello, World!"))
    }
}

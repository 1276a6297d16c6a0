//! `/`: a greeting, the least that an answer can be.

use super::{Context, Request, Response, Service};
use crate::service::{Reply, TEXT};

pub(super) struct Hello;

impl Service for Hello {
    fn call(&mut self, _: &Request<'_>, _: &mut Context<'_>) -> Reply {
        Reply::Always(Response::fixed(TEXT, b"Hello, World!"))
    }
}

//! `/health`: whether the server serves. It does, or there is no answer.

use super::{Context, Request, Response, Service};
use crate::service::{Reply, TEXT};

pub(super) struct Health;

impl Service for Health {
    fn call(&mut self, _: &Request<'_>, _: &mut Context<'_>) -> Reply {
        Reply::Always(Response::fixed(TEXT, b"ok\n"))
    }
}

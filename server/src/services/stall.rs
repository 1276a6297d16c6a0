//! `/stall`: no answer, ever. For clients that should give up by themselves.

use super::{Context, Request, Service};
use crate::service::Reply;

pub(super) struct Stall;

impl Service for Stall {
    fn call(&mut self, _: &Request<'_>, _: &mut Context<'_>) -> Reply {
        Reply::Never
    }
}

//! `/reset`: the connection is reset in place of an answer.

use super::{Context, Request, Service};
use crate::service::Reply;

pub(super) struct Reset;

impl Service for Reset {
    fn call(&mut self, _: &Request<'_>, _: &mut Context<'_>) -> Reply {
        Reply::Reset
    }
}

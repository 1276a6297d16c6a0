//! `/garbage`: bytes that are no HTTP at all, and the end of the connection.

use super::{Context, Request, Service};
use crate::service::Reply;

pub(super) struct Garbage;

impl Service for Garbage {
    fn call(&mut self, _: &Request<'_>, _: &mut Context<'_>) -> Reply {
        Reply::Raw(b"\x00\xff this is no answer\n\n\x7f\x80 and has no head\n".to_vec())
    }
}

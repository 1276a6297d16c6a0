//! `/bytes/N`: N bytes with a length announced. N may end in `K`, `M` or `G`.

use super::parameter::{self, refusal};
use super::{Context, Request, Response, Service};
use crate::service::{Body, Reply};

pub(super) struct Bytes;

impl Service for Bytes {
    fn call(&mut self, request: &Request<'_>, _: &mut Context<'_>) -> Reply {
        match parameter::size(request.parameter) {
            Ok(length) => Reply::Always(Response::of(
                "application/octet-stream",
                Body::Pattern(length),
            )),
            Err(sentence) => refusal(sentence),
        }
    }
}

//! `/chunked/N`: N bytes in chunks, with no length announced. N may end in `K`, `M` or `G`.

use super::parameter::{self, refusal};
use super::{Context, Request, Response, Service};
use crate::service::{Body, Reply};

pub(super) struct Chunked;

impl Service for Chunked {
    fn call(&mut self, request: &Request<'_>, _: &mut Context<'_>) -> Reply {
        match parameter::size(request.parameter) {
            Ok(length) => Reply::Always(Response::of(
                "application/octet-stream",
                Body::Chunked(length),
            )),
            Err(sentence) => refusal(sentence),
        }
    }
}

//! `/bytes/N`: N bytes with a length announced. N may end in `K`, `M` or `G`.

use server::{Body, Context, Reply, Response};

use super::parameter::{self, refusal};
use crate::route::{Answerer, Asked};

pub(super) struct Bytes;

impl Answerer for Bytes {
    fn call(&mut self, asked: &Asked<'_>, _: &mut Context<'_>) -> Reply {
        match parameter::size(asked.parameter) {
            Ok(length) => Reply::Always(Response::of(
                "application/octet-stream",
                Body::Pattern(length),
            )),
            Err(sentence) => refusal(sentence),
        }
    }
}

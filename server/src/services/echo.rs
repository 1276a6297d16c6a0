//! `/echo`: the body of the request, under the media type it came with.

use std::borrow::Cow;

use super::{Context, Request, Response, Service};
use crate::service::{Body, Reply};

pub(super) struct Echo;

impl Service for Echo {
    fn call(&mut self, request: &Request<'_>, _: &mut Context<'_>) -> Reply {
        let content_type = match request.content_type {
            Some(given) => Cow::Owned(given.to_string()),
            None => Cow::Borrowed("application/octet-stream"),
        };
        let body = Body::Bytes(request.body.to_vec());
        Reply::Now(Response {
            content_type: Some(content_type),
            body,
            ..Response::empty(200)
        })
    }
}

//! `/echo`: the body of the request, under the media type it came with.

use std::borrow::Cow;

use server::{Context, Reply, Response};

use crate::route::{Answerer, Asked};

pub(super) struct Echo;

impl Answerer for Echo {
    fn call(&mut self, asked: &Asked<'_>, _: &mut Context<'_>) -> Reply {
        let given = asked.request.field("content-type");
        let given = given.and_then(|value| std::str::from_utf8(value).ok());
        let content_type = match given {
            Some(given) if !given.is_empty() => Cow::Owned(given.to_string()),
            _ => Cow::Borrowed("application/octet-stream"),
        };
        Reply::Now(Response::of(content_type, asked.request.body().to_vec()))
    }
}

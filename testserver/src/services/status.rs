//! `/status/N`: an answer with that status, 200 to 599, and nothing in it.

use proto::websocket;
use server::{Context, Reply, Response, Version};

use super::parameter::refusal;
use crate::route::{Answerer, Asked};

pub(super) struct Status;

impl Answerer for Status {
    fn call(&mut self, asked: &Asked<'_>, _: &mut Context<'_>) -> Reply {
        match asked.parameter.parse() {
            Ok(426) if asked.request.version() != Version::Http2 => {
                // The one upgrade that can be had here (RFC 9110 §15.5.22).
                let offer = websocket::server::OFFER.into_iter();
                let offered = offer.fold(Response::empty(426), |response, (name, value)| {
                    response.with_field(name, value)
                });
                Reply::Always(offered)
            }
            Ok(status @ 200..=599) => Reply::Always(Response::empty(status)),
            _ => refusal("the status must be a number from 200 to 599\n".into()),
        }
    }
}

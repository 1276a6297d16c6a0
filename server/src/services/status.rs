//! `/status/N`: an answer with that status, 200 to 599, and nothing in it.

use proto::websocket;

use super::parameter::refusal;
use super::{Context, Request, Response, Service};
use crate::service::Reply;

pub(super) struct Status;

impl Service for Status {
    fn call(&mut self, request: &Request<'_>, _: &mut Context<'_>) -> Reply {
        match request.parameter.parse() {
            Ok(status @ 200..=599) => Reply::Always(Response {
                // The one upgrade that can be had here.
                upgrade: (status == 426).then_some(&websocket::server::OFFER),
                ..Response::empty(status)
            }),
            _ => refusal("the status must be a number from 200 to 599\n".into()),
        }
    }
}

//! `/truncate`: an answer that announces 1,000 bytes, sends 500 and ends the connection, or resets
//! the stream where there are streams.

use super::{Context, Request, Response, Service};
use crate::service::{Body, Reply, TEXT};

pub(super) struct Truncate;

impl Service for Truncate {
    fn call(&mut self, _: &Request<'_>, _: &mut Context<'_>) -> Reply {
        Reply::Cut {
            response: Response::of(TEXT, Body::Pattern(1000)),
            bytes: 500,
        }
    }
}

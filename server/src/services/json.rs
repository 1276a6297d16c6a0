//! `/json`: a small object.

use super::{Context, Request, Response, Service};
use crate::service::Reply;

pub(super) struct Json;

impl Service for Json {
    fn call(&mut self, _: &Request<'_>, _: &mut Context<'_>) -> Reply {
        Reply::Always(Response::fixed("application/json", br#"{"status":"ok"}"#))
    }
}

//! `/ws`: WebSocket, on which messages are echoed, and what else can come of them:
//! `/ws/close/CODE`, `/ws/drop`, `/ws/stall`.

use proto::websocket;

use super::parameter::refusal;
use super::{Context, Request, Service};
use crate::service::{Dialogue, Reply};

/// The same for every connection.
pub(super) struct Always(pub(super) Dialogue);

impl Service for Always {
    fn call(&mut self, _: &Request<'_>, _: &mut Context<'_>) -> Reply {
        Reply::Upgrade(self.0)
    }
}

/// `/ws/close/CODE`.
pub(super) struct Close;

impl Service for Close {
    fn call(&mut self, request: &Request<'_>, _: &mut Context<'_>) -> Reply {
        match request.parameter.parse() {
            Ok(code) if websocket::may_be_sent(code) => Reply::Upgrade(Dialogue::Close(code)),
            _ => refusal(
                "the close code must be 1000 to 1003, 1007 to 1014 or 3000 to 4999 (RFC 6455 \
                 §7.4)\n"
                    .into(),
            ),
        }
    }
}

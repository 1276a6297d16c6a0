//! `/ws`: WebSocket, on which messages are echoed, and what else can come of them:
//! `/ws/close/CODE`, `/ws/drop`, `/ws/stall`.

use proto::websocket;
use server::{Context, Dialogue, Reply};

use super::parameter::refusal;
use crate::route::{Answerer, Asked};

/// The same for every connection.
pub(super) struct Always(pub(super) Dialogue);

impl Answerer for Always {
    fn call(&mut self, _: &Asked<'_>, _: &mut Context<'_>) -> Reply {
        Reply::Upgrade(self.0)
    }
}

/// `/ws/close/CODE`.
pub(super) struct Close;

impl Answerer for Close {
    fn call(&mut self, asked: &Asked<'_>, _: &mut Context<'_>) -> Reply {
        match asked.parameter.parse() {
            Ok(code) if websocket::may_be_sent(code) => Reply::Upgrade(Dialogue::Close(code)),
            _ => refusal(
                "the close code must be 1000 to 1003, 1007 to 1014 or 3000 to 4999 (RFC 6455 \
                 §7.4)\n"
                    .into(),
            ),
        }
    }
}

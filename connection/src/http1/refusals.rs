//! Requests that are refused before, or instead of, what their service says.

use engine::Token;
use proto::http1;
use proto::http1::server::Rejection;

use super::super::Ending;
use super::super::incoming::Streamed;
use super::Talk;
use crate::Shared;
use exchange::answer::Form;
use exchange::response::Response;
use service::Ticket;

impl Talk {
    pub(super) fn reject(&mut self, rejection: Rejection, socket: Token, shared: &mut Shared) {
        if rejection.is_foreign() {
            shared.counts.rejections.count(rejection.status);
            if let Some(streamed) = self.take_streamed() {
                self.give_up(streamed.asked, socket, &mut shared.agenda);
            }
            self.body = None;
            self.ending = Some(Ending::Lingering);
            return;
        }
        let text = format!("{}\n", rejection.violation);
        self.refuse(rejection.status, text, socket, shared);
    }

    pub(super) fn refuse(&mut self, status: u16, text: String, socket: Token, shared: &mut Shared) {
        // Who is given up for want of memory is counted as that.
        if status != 503 {
            shared.counts.rejections.count(status);
        }
        let version = http1::Version::Http11;
        let form = Form {
            version,
            head_only: false,
            keep_alive: false,
        };
        let body = self.body.take();
        let streamed = body.as_ref().and_then(|body| body.streamed);
        let response = Response::sentence(status, text);
        match streamed {
            // Its service was asked already, and may even have begun to answer.
            Some(Streamed { asked, .. }) => {
                if self.out.awaited(asked.number).is_some() {
                    self.complete_as(&response, asked.ticket(socket), form, shared);
                }
                self.give_up(asked, socket, &mut shared.agenda);
            }
            // It's answered: the client would take another answer for that to its next request.
            None if body.is_some_and(|body| body.form.is_none()) => {}
            None => {
                let ticket = Ticket::new(socket, self.number, 0);
                self.say(&response, form, None, ticket, shared);
            }
        }
        // What else the client is sending can no longer be told.
        self.ending = Some(Ending::Lingering);
    }
}

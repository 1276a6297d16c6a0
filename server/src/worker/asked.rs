//! What services have asked for in a turn, and what they are told of their requests.

use engine::Driver;
use service::{Action, Notice, Service, Ticket};

use super::{Worker, find, list, supply};

/// Memory of what services send in a turn is kept up to so many bytes.
const AGENDA_BYTES_MAX: usize = 1 << 20;

impl<D: Driver, S: Service> Worker<D, S> {
    /// Has connections do what services asked for.
    pub(super) fn act(&mut self) {
        let agenda = &mut self.serving.agenda;
        let mut actions = std::mem::take(&mut agenda.actions);
        let mut bytes = std::mem::take(&mut agenda.bytes);
        let mut tickets = std::mem::take(&mut agenda.tickets);
        for (ticket, action) in actions.drain(..) {
            if action.is_last() {
                self.serving.agenda.ended(ticket);
                self.serving.ended(ticket, &action);
            }
            if let Action::SayAll { tickets: to, frame } = action {
                self.say_all(&tickets[to], &bytes[frame]);
                continue;
            }
            if let Some(connection) = find(&mut self.connections, ticket.socket) {
                supply(&mut self.driver, connection);
                connection.act(ticket, action, &bytes, &mut self.serving);
                list(&mut self.listed, connection);
            }
        }
        debug_assert!(
            self.serving.agenda.actions.is_empty(),
            "a connection has asked for something by itself"
        );
        self.serving.agenda.actions = actions;
        bytes.clear();
        if bytes.capacity() <= AGENDA_BYTES_MAX {
            self.serving.agenda.bytes = bytes;
        }
        tickets.clear();
        if tickets.capacity() <= AGENDA_BYTES_MAX / size_of::<Ticket>() {
            self.serving.agenda.tickets = tickets;
        }
    }

    /// Has each of these WebSockets say the message whose frame this is.
    fn say_all(&mut self, tickets: &[Ticket], frame: &[u8]) {
        for &ticket in tickets {
            if let Some(connection) = find(&mut self.connections, ticket.socket) {
                supply(&mut self.driver, connection);
                connection.say(ticket, frame);
                list(&mut self.listed, connection);
            }
        }
    }

    /// Tells services what became of their requests. They may ask for something because of it.
    pub(super) fn notify(&mut self) {
        let mut notices = self.serving.agenda.take_notices();
        for (ticket, notice) in notices.drain(..) {
            let connection = find(&mut self.connections, ticket.socket);
            // It may have ended in the meantime.
            let wanted = match notice {
                Notice::Writable => connection.is_some_and(|one| one.is_in_pieces(ticket.number)),
                Notice::PeerEnded => connection.is_some_and(|one| one.is_open(ticket.number)),
                Notice::Closed => {
                    self.serving.forget(ticket);
                    self.upstream_client_gone(ticket);
                    true
                }
            };
            if wanted {
                self.serving.notify(ticket, notice);
            }
        }
        debug_assert!(
            self.serving.agenda.notices.is_empty(),
            "what a service is told has been told by itself"
        );
        self.serving.agenda.notices = notices;
    }
}

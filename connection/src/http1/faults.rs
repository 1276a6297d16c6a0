//! What goes wrong on purpose.

use super::{Form, Talk};
use crate::outgoing::Then;
use crate::outgoing::{Beat, Dribble};
use crate::{Ending, Shared};
use exchange::answer;
use exchange::fault::Fault;
use exchange::response::Response;
use service::Ticket;

impl Talk {
    #[cold]
    pub(super) fn misbehave(
        &mut self,
        fault: Fault,
        form: Form,
        ticket: Ticket,
        shared: &mut Shared,
    ) {
        let ending = match fault {
            Fault::Never => {
                self.out.then(Then::Silence);
                Some(Ending::Graceful)
            }
            Fault::Dribble { response, every } => {
                let mut bytes = Vec::new();
                answer::encode(&mut bytes, &response, form, &shared.date);
                let dribble = Dribble {
                    bytes,
                    at: 0,
                    every,
                    beat: Beat::Due,
                };
                self.out.then(Then::Dribble(Box::new(dribble)));
                (!form.keep_alive).then_some(Ending::Graceful)
            }
            Fault::Raw(bytes) => {
                self.out.append(|out| out.extend_from_slice(&bytes));
                Some(Ending::Graceful)
            }
            Fault::Cut { response, bytes } => {
                let date = &shared.date;
                self.out.append(|out| {
                    let mut whole = Vec::new();
                    let _ = answer::encode(&mut whole, &response, form, date);
                    let unsent = match form.head_only {
                        true => 0,
                        false => response.body.len().saturating_sub(bytes) as usize,
                    };
                    out.extend_from_slice(&whole[..whole.len().saturating_sub(unsent)]);
                });
                Some(Ending::Graceful)
            }
            Fault::Reset => Some(Ending::Reset),
            Fault::Http2(_) => {
                let text = "this fault needs HTTP/2, but this connection speaks HTTP/1\n";
                return self.say(&Response::sentence(400, text), form, None, ticket, shared);
            }
        };
        self.ending = self.ending.or(ending);
    }
}

//! What goes wrong on purpose.

use proto::http2::ErrorCode;

use super::streams::{Dribble, State};
use super::{Http2, answering};
use crate::{Ending, Shared};
use exchange::fault::{Fault, Http2Fault};
use exchange::response::{Response, TEXT};

impl Http2 {
    #[cold]
    pub(super) fn misbehave(
        &mut self,
        stream: u32,
        fault: Fault,
        head_only: bool,
        shared: &mut Shared,
    ) {
        let (machine, out) = (&mut self.machine, &mut self.out);
        match fault {
            Fault::Never => self.talk.wait(stream, State::Silent, head_only, shared.now),
            Fault::Dribble { response, every } => {
                let body = answering::whole_body(&response, head_only).into_owned();
                let end = body.is_empty();
                if answering::head(stream, &response, end, &shared.date, machine, out).is_ok()
                    && !end
                {
                    let dribble = Dribble {
                        bytes: body,
                        at: 0,
                        every,
                        due: shared.now + every,
                    };
                    self.talk.due = self.talk.due.min(dribble.due);
                    let state = State::Dribbling(Box::new(dribble));
                    self.talk.wait(stream, state, head_only, shared.now);
                }
            }
            Fault::Cut { response, bytes } => {
                let body = answering::whole_body(&response, false);
                let begun = answering::head(stream, &response, false, &shared.date, machine, out);
                if begun.is_ok() {
                    let cut = body.len().min(bytes as usize);
                    let _ = machine.data(stream, &body[..cut], false, out);
                    machine.reset(stream, ErrorCode::INTERNAL_ERROR, out);
                }
            }
            Fault::Raw(bytes) => {
                out.extend_from_slice(&bytes);
                self.ending = Some(Ending::Graceful);
            }
            Fault::Reset => machine.reset(stream, ErrorCode::INTERNAL_ERROR, out),
            Fault::Http2(Http2Fault::Reset(code)) => machine.reset(stream, ErrorCode(code), out),
            Fault::Http2(Http2Fault::Starve) => {
                machine.pause(stream);
                self.talk.wait(stream, State::Silent, head_only, shared.now);
            }
            Fault::Http2(Http2Fault::GoAway) => {
                self.say(
                    stream,
                    Response::fixed(TEXT, b"goodbye\n"),
                    (head_only, 0),
                    shared,
                );
                self.go_away(ErrorCode::NO_ERROR);
            }
        }
    }
}

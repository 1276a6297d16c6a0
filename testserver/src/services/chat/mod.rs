//! `/chat`: a WebSocket; what one says, all hear who are connected, on whichever worker, the sender
//! too.
//!
//! What is said goes into a queue of each worker, in the same order, and each worker tells its own
//! members: some in each turn, so that its other connections don't wait until all have heard. Who
//! says more than can be told is closed with 1013.

mod members;
mod room;

use std::sync::Arc;

use server::{Context, Dialogue, Event, Reply, Response, Ticket};

use crate::route::{Answerer, Asked};
use members::Members;
pub(super) use room::Room;
use room::Said;

/// Bytes that are told in a turn, …
const BYTES_AT_ONCE: usize = 4 << 20;

/// … to which a shorter message counts as so many: that makes 1,024 members.
const BYTES_LEAST: usize = 4096;

/// An empty place that is passed counts as so many.
const BYTES_PASSED: usize = 16;

/// "Try again later" (IANA's registry of close codes, RFC 6455 §11.7).
const TRY_AGAIN_LATER: u16 = 1013;

/// The part of a worker.
pub(super) struct Chat {
    room: Arc<Room>,
    /// Its number in the room, once it had a member.
    worker: Option<usize>,
    members: Members,
    /// What is being told, and the place that hears it next.
    telling: Option<Arc<Said>>,
    place: usize,
    /// It goes on in the next turn.
    goes_on: bool,
    /// The number of this route.
    route: u32,
}

/// Makes the service of each worker. All share the room.
pub(super) fn sharing(room: &Arc<Room>) -> impl Fn() -> Chat + Send + Sync + 'static {
    let room = Arc::clone(room);
    move || Chat {
        room: Arc::clone(&room),
        worker: None,
        members: Members::default(),
        telling: None,
        place: 0,
        goes_on: false,
        route: 0,
    }
}

impl Chat {
    fn leave(&mut self, ticket: Ticket) {
        if self.members.leave(ticket) {
            self.room.left();
        }
    }

    /// Tells some of what has been said, and has itself woken if there is more.
    fn tell(&mut self, context: &mut Context<'_>) {
        let Some(worker) = self.worker else {
            return;
        };
        let mut left = BYTES_AT_ONCE;
        if self.telling.is_none() {
            self.telling = self.room.first(worker);
        }
        while let Some(said) = &self.telling {
            let each = said.bytes.len().max(BYTES_LEAST);
            let (mut told, from) = (0, self.place);
            let some = self
                .members
                .beginning_at(&mut self.place)
                .take(left.div_ceil(each));
            let some = some.inspect(|_| told += 1);
            context.say_all(some, said.binary, &said.bytes);
            self.room.count_told(told);
            // One that nobody hears costs something, too.
            let passed = (self.place - from).saturating_mul(BYTES_PASSED);
            left = left.saturating_sub(told.max(1).saturating_mul(each).max(passed));
            if self.members.end_before(self.place) {
                self.place = 0;
                self.telling = self.room.next(worker);
            }
            if left == 0 {
                break;
            }
        }
        self.goes_on = self.telling.is_some();
        if self.goes_on {
            let ticket = context.ticket().with_tag(self.route);
            context.wake_at(context.now(), ticket);
        }
    }
}

impl Answerer for Chat {
    fn call(&mut self, _: &Asked<'_>, context: &mut Context<'_>) -> Reply {
        self.route = context.ticket().tag();
        if !self.members.join(context) {
            return Response::sentence(503, "nobody else fits into the room\n").into();
        }
        self.room.joined();
        if self.worker.is_none() {
            self.worker = Some(self.room.enter(context.bell()));
        }
        Reply::Upgrade(Dialogue::Service)
    }

    fn event(&mut self, ticket: Ticket, event: Event<'_>, context: &mut Context<'_>) {
        match event {
            Event::Message { binary, bytes } if self.members.has(ticket) => {
                let bytes = bytes.into();
                if self.room.say(Said { binary, bytes }).is_err() {
                    self.leave(ticket);
                    let reason = "more is said than can be told; try again later";
                    context.close(ticket, TRY_AGAIN_LATER, reason);
                }
            }
            Event::Closed => self.leave(ticket),
            _ => {}
        }
    }

    fn rung(&mut self, context: &mut Context<'_>) {
        if !self.goes_on {
            self.tell(context);
        }
    }

    fn due(&mut self, _: Ticket, context: &mut Context<'_>) {
        self.tell(context);
    }
}

impl Drop for Chat {
    fn drop(&mut self) {
        if let Some(worker) = self.worker {
            self.room.exit(worker, self.members.count());
        }
    }
}

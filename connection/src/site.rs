//! What all connections of one worker share besides its service: the memory of the last request,
//! the date, and what was counted.

use measure::time::{self, Time};
use proto::http1::server::Limits;
use proto::http1::{HeadMemo, response};
use proto::websocket::Scratch;

use exchange::answer::Kept;
use service::{Agenda, Answered, Counts, Peers};

/// Memory of a WebSocket message is kept for the next up to so many bytes.
const MESSAGE_BYTES_MAX: usize = 2 << 20;

/// See the module.
pub struct Site {
    /// The last head, which the next one is most often equal to.
    pub memo: HeadMemo,
    /// Answers that are encoded already.
    pub kept: Kept,
    /// Room to unmask in.
    pub scratch: Scratch,
    /// Memory for the next WebSocket message.
    pub message: Vec<u8>,
    /// What was counted.
    pub counts: Counts,
    /// What was answered in this turn.
    pub answered: Answered,
    /// What services have asked for, and what they are to be told.
    pub agenda: Agenda,
    /// Who the clients are.
    pub peers: Peers,
    /// What a client may ask for.
    pub limits: Limits,
    /// The server stops: answers say `Connection: close`.
    pub draining: bool,
    /// The worker gives its connections up one by one: answers say `Connection: close`, and nothing
    /// else has changed.
    pub retiring: bool,
    /// The time of this turn.
    pub now: Time,
    /// The value of `Date` fields.
    pub date: [u8; 29],
    date_until: Time,
    wall: Wall,
}

/// Where the date comes from.
#[derive(Clone, Copy, Debug)]
pub enum Wall {
    /// This host's clock.
    Host,
    /// Always the same second since 1970, for tests that must repeat.
    Fixed(u64),
}

impl Site {
    /// One whose first turn is at `now`.
    pub fn new(now: Time, wall: Wall, limits: Limits) -> Site {
        let mut site = Site {
            memo: HeadMemo::new(),
            kept: Kept::default(),
            scratch: Scratch::default(),
            message: Vec::new(),
            counts: Counts::default(),
            answered: Answered::default(),
            agenda: Agenda::default(),
            peers: Peers::default(),
            limits,
            draining: false,
            retiring: false,
            now,
            date: [0; 29],
            date_until: now,
            wall,
        };
        site.turn(now);
        site
    }

    /// A turn begins at `now`. Says whether the date is another one from here on.
    #[inline]
    pub fn turn(&mut self, now: Time) -> bool {
        self.now = now;
        let is_over = now >= self.date_until;
        if is_over {
            self.renew_date();
        }
        is_over
    }

    fn renew_date(&mut self) {
        let nanoseconds = match self.wall {
            Wall::Host => time::unix_nanoseconds(),
            Wall::Fixed(seconds) => u128::from(seconds) * 1_000_000_000,
        };
        let (seconds, into) = (nanoseconds / 1_000_000_000, nanoseconds % 1_000_000_000);
        self.date = response::date(seconds as u64);
        self.date_until = self.now.plus(1_000_000_000 - into as u64);
        debug_assert!(
            self.date_until > self.now,
            "the date would be formatted anew in every turn"
        );
        self.kept.renew(&self.date);
    }

    /// From now on every answer over HTTP/1 ends its connection.
    pub fn retire(&mut self) {
        self.retiring = true;
        self.kept.forget();
    }

    /// Whether every answer over HTTP/1 ends its connection.
    #[inline]
    pub fn is_ending(&self) -> bool {
        self.draining || self.retiring
    }

    /// From now on every answer ends its connection.
    pub fn drain(&mut self) {
        self.draining = true;
        self.kept.forget();
    }

    /// Takes the memory of a WebSocket message back, which is empty.
    #[inline]
    pub fn keep_message_memory(&mut self, memory: Vec<u8>) {
        debug_assert!(
            memory.is_empty(),
            "a part of somebody's message would begin another's"
        );
        if memory.capacity() > self.message.capacity() && memory.capacity() <= MESSAGE_BYTES_MAX {
            self.message = memory;
        }
    }
}

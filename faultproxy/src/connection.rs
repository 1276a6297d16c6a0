//! One connection of the proxy: a client, the upstream, and a lane in each direction.
//!
//! Events only leave notes here. [`Connection::settle`] then does all that is due, once a turn, and
//! says when to come back.

use engine::{Close, Driver, Payload, Token};
use measure::time::Time;

use crate::counters::Counters;
use crate::faults::{CutAfter, Direction, Ending, Faults};
use crate::lane::{Lane, Stamp, Tail};

/// What one direction of one connection holds at most, but for what is on its way when it stops
/// receiving. So a delay bounds the throughput of a connection: by 10 MB/s at 100 ms.
pub const HELD_BYTES_MAX: usize = 1 << 20;

/// How long a reset waits for bytes before it that its receiver doesn't take.
pub const RESET_PATIENCE_NS: u64 = 1_000_000_000;

/// The side of the client, and the lane of its bytes.
pub(crate) const CLIENT: usize = 0;
/// The side of the upstream, and the lane of its bytes.
pub(crate) const UPSTREAM: usize = 1;

pub(crate) struct Connection {
    sides: [Side; 2],
    /// By the side from which their bytes come.
    lanes: [Lane; 2],
    accepted_at: Time,
    /// It was cut, and its sides see the end: what they still send goes nowhere. A side that does
    /// not end in turn is reset then.
    leaves_at: Option<Time>,
}

struct Side {
    socket: Token,
    /// The socket is open.
    open: bool,
    /// The connection stands.
    stands: bool,
    /// Its peer has said its last.
    ended: bool,
    /// We have.
    shut: bool,
    /// It receives.
    armed: bool,
}

impl Connection {
    pub(crate) fn new(client: Token, upstream: Token, now: Time) -> Connection {
        let side = |socket, stands| Side {
            socket,
            open: true,
            stands,
            ended: false,
            shut: false,
            armed: true,
        };
        Connection {
            sides: [side(client, true), side(upstream, false)],
            lanes: [Lane::default(), Lane::default()],
            accepted_at: now,
            leaves_at: None,
        }
    }

    /// Whether both sockets are closed.
    pub(crate) fn is_over(&self) -> bool {
        self.sides.iter().all(|side| !side.open)
    }

    /// Whether it was cut, and its sides are waited for.
    pub(crate) fn is_cut(&self) -> bool {
        self.leaves_at.is_some()
    }

    /// The upstream answers.
    pub(crate) fn connected(&mut self) {
        self.sides[UPSTREAM].stands = true;
    }

    /// Bytes came from a side.
    pub(crate) fn received(&mut self, from: usize, bytes: &[u8], stamp: Stamp, faults: &Faults) {
        let goes_nowhere = self.leaves_at.is_some()
            || !self.sides[1 - from].open
            || faults.pace(direction(from)).stall;
        if !goes_nowhere {
            self.lanes[from].take_in(bytes, stamp);
        }
    }

    /// A send to a side has ended.
    pub(crate) fn sent(&mut self, to: usize, counters: &mut Counters) {
        let sent = self.lanes[1 - to].sent();
        match to {
            UPSTREAM => counters.bytes_up += sent,
            _ => counters.bytes_down += sent,
        }
    }

    /// A side has said its last.
    pub(crate) fn ended(&mut self, from: usize, stamp: Stamp) {
        self.sides[from].ended = true;
        self.lanes[from].end(Tail::Fin, stamp);
    }

    /// A side is dead.
    pub(crate) fn failed<D: Driver>(
        &mut self,
        from: usize,
        stamp: Stamp,
        driver: &mut D,
        counters: &mut Counters,
    ) {
        self.close(from, Close::Reset, driver);
        self.lanes[1 - from].drop_bytes();
        if !self.sides[UPSTREAM].stands {
            counters.upstream_failed += u64::from(from == UPSTREAM);
            self.reset(driver);
        }
        self.lanes[from].end(Tail::Reset, stamp);
    }

    /// Resets both sides.
    pub(crate) fn reset<D: Driver>(&mut self, driver: &mut D) {
        self.close(CLIENT, Close::Reset, driver);
        self.close(UPSTREAM, Close::Reset, driver);
    }

    /// Does what is due. Says when there is more to do, if nothing comes before.
    pub(crate) fn settle<D: Driver>(
        &mut self,
        now: Time,
        faults: &Faults,
        driver: &mut D,
        counters: &mut Counters,
    ) -> Time {
        if self.leaves_at.is_none() && self.is_cut_due(now, faults) {
            counters.cut += 1;
            self.cut(now, faults.cut, driver);
        }
        if self.leaves_at.is_some_and(|at| at <= now) {
            self.reset(driver);
        }
        for from in [CLIENT, UPSTREAM] {
            self.pass_on(from, now, faults, driver);
        }
        for side in [CLIENT, UPSTREAM] {
            let found = &self.sides[side];
            if found.ended && found.shut {
                self.close(side, Close::Graceful, driver);
            }
        }
        self.hold_back(driver);
        self.next_at(faults)
    }

    fn is_cut_due(&self, now: Time, faults: &Faults) -> bool {
        match faults.cut_after {
            Some(CutAfter::Time(after_ns)) => now >= self.accepted_at.plus(after_ns),
            Some(CutAfter::Bytes(_)) => [CLIENT, UPSTREAM].into_iter().any(|from| {
                let cut_after = faults.pace(direction(from)).cut_after_bytes;
                cut_after.is_some_and(|bytes| self.lanes[from].passed() >= bytes)
            }),
            None => false,
        }
    }

    fn cut<D: Driver>(&mut self, now: Time, how: Ending, driver: &mut D) {
        if how == Ending::Reset {
            return self.reset(driver);
        }
        self.leaves_at = Some(now.plus(driver.linger_ns()));
        for side in [CLIENT, UPSTREAM] {
            self.lanes[side].drop_bytes();
            if self.sides[side].stands {
                self.shut(side, driver);
            } else {
                self.close(side, Close::Reset, driver);
            }
        }
    }

    /// Passes on what came from a side, as far as it is due.
    fn pass_on<D: Driver>(&mut self, from: usize, now: Time, faults: &Faults, driver: &mut D) {
        let (to, pace) = (1 - from, faults.pace(direction(from)));
        let lane = &mut self.lanes[from];
        if pace.stall || !self.sides[to].open {
            lane.drop_bytes();
        }
        if !self.sides[to].open || !self.sides[to].stands || self.leaves_at.is_some() {
            return;
        }
        if lane.reset_at(&pace) != Time::NEVER
            && now >= lane.reset_at(&pace).plus(RESET_PATIENCE_NS)
        {
            return self.close(to, Close::Reset, driver);
        }
        if lane.next_at(&pace) > now {
            return;
        }
        match lane.take_tail() {
            Some(Tail::Fin) => self.shut(to, driver),
            Some(Tail::Reset) => self.close(to, Close::Reset, driver),
            None => {
                let mut buffer = driver.buffer();
                lane.fill(now, &pace, &mut buffer);
                let sent = driver.send(self.sides[to].socket, Payload::Buffer(buffer));
                debug_assert_eq!(sent, Ok(()), "a side that stands takes one send at a time");
            }
        }
    }

    /// Stops receiving from who sends more than can be passed on, for as long as that is so.
    fn hold_back<D: Driver>(&mut self, driver: &mut D) {
        for from in [CLIENT, UPSTREAM] {
            let (side, held) = (&mut self.sides[from], self.lanes[from].held());
            let most = match side.armed {
                true => HELD_BYTES_MAX,
                false => HELD_BYTES_MAX / 2,
            };
            let armed = held < most;
            if side.open && side.stands && !side.ended && armed != side.armed {
                side.armed = armed;
                let done = driver.arm_receive(side.socket, armed);
                debug_assert_eq!(done, Ok(()), "the socket is open");
            }
        }
    }

    fn next_at(&self, faults: &Faults) -> Time {
        if let Some(at) = self.leaves_at {
            return at;
        }
        let mut next = match faults.cut_after {
            Some(CutAfter::Time(after_ns)) => self.accepted_at.plus(after_ns),
            _ => Time::NEVER,
        };
        for from in [CLIENT, UPSTREAM] {
            let (lane, to) = (&self.lanes[from], &self.sides[1 - from]);
            if to.open && to.stands {
                let pace = faults.pace(direction(from));
                let reset_at = lane.reset_at(&pace);
                let patience_ends = Time(reset_at.0.saturating_add(RESET_PATIENCE_NS));
                next = next.min(lane.next_at(&pace)).min(patience_ends);
            }
        }
        next
    }

    fn shut<D: Driver>(&mut self, side: usize, driver: &mut D) {
        let side = &mut self.sides[side];
        if side.open && !side.shut {
            side.shut = true;
            let done = driver.shutdown(side.socket);
            debug_assert_eq!(done, Ok(()), "the connection stands");
        }
    }

    fn close<D: Driver>(&mut self, side: usize, how: Close, driver: &mut D) {
        let side = &mut self.sides[side];
        if side.open {
            side.open = false;
            let done = driver.close(side.socket, how);
            debug_assert_eq!(done, Ok(()), "the socket is open");
        }
    }
}

/// The direction of what comes from a side.
pub(crate) fn direction(from: usize) -> Direction {
    match from {
        CLIENT => Direction::Up,
        _ => Direction::Down,
    }
}

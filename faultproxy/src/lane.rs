//! One direction of one connection: what it holds, and when that may go on.
//!
//! Knows no sockets. Everything is stamped with its arrival; when it is due follows from that and
//! from the faults of the moment, so that a change takes hold of what is held, too. Order is kept
//! by looking at the front alone.

use std::collections::VecDeque;

use measure::time::Time;

use crate::faults::Pace;

/// The most that one send takes.
const SEND_BYTES_MAX: usize = 256 * 1024;
/// A limited bandwidth is used up in slices of this length, and unused at most so far back.
const SLICE_NS: u64 = 10_000_000;
/// What an empty lane may keep of its memory.
const IDLE_BYTES_MAX: usize = 64 * 1024;

#[derive(Debug, Default)]
pub(crate) struct Lane {
    bytes: VecDeque<u8>,
    /// Which bytes arrived together.
    marks: VecDeque<Mark>,
    tail: Option<(Tail, Stamp)>,
    /// How many bytes are in the unfinished send.
    sending: usize,
    /// How many bytes were passed on.
    passed: u64,
    /// When a limited bandwidth has room again.
    free_at: Time,
}

/// What follows the last byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tail {
    Fin,
    Reset,
}

#[derive(Clone, Copy, Debug)]
struct Mark {
    bytes: usize,
    stamp: Stamp,
}

/// When something came, and its part of the jitter, from 0 to 1.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stamp {
    pub(crate) arrived: Time,
    pub(crate) chance: f64,
}

impl Stamp {
    fn due(self, pace: &Pace) -> Time {
        let jitter_ns = (self.chance * pace.jitter_ns as f64) as u64;
        self.arrived.plus(pace.delay_ns + jitter_ns)
    }
}

impl Lane {
    /// How much memory its bytes take.
    pub(crate) fn held(&self) -> usize {
        self.bytes.len() + self.marks.len() * size_of::<Mark>()
    }

    /// How many bytes were passed on.
    pub(crate) fn passed(&self) -> u64 {
        self.passed
    }

    /// Whether a send is unfinished.
    pub(crate) fn is_sending(&self) -> bool {
        self.sending > 0
    }

    /// Takes bytes that came.
    pub(crate) fn take_in(&mut self, bytes: &[u8], stamp: Stamp) {
        self.bytes.extend(bytes);
        match self.marks.back_mut() {
            Some(last) if last.stamp.arrived == stamp.arrived => last.bytes += bytes.len(),
            _ => self.marks.push_back(Mark {
                bytes: bytes.len(),
                stamp,
            }),
        }
    }

    /// Nothing follows; a reset goes before an end that still waits.
    pub(crate) fn end(&mut self, tail: Tail, stamp: Stamp) {
        if self.tail.is_none_or(|(before, _)| before == Tail::Fin) {
            self.tail = Some((tail, stamp));
        }
    }

    /// Forgets the bytes that it holds.
    pub(crate) fn drop_bytes(&mut self) {
        self.bytes = VecDeque::new();
        self.marks.clear();
    }

    /// When something of it may go next; never, while nothing can.
    pub(crate) fn next_at(&self, pace: &Pace) -> Time {
        if self.is_sending() || pace.stall {
            return Time::NEVER;
        }
        let due = match (self.marks.front(), self.tail) {
            (Some(_), _) if self.room(pace) == 0 => Time::NEVER,
            (Some(mark), _) => mark.stamp.due(pace),
            (None, Some((_, stamp))) => stamp.due(pace),
            (None, None) => Time::NEVER,
        };
        match pace.bandwidth {
            Some(_) => due.max(self.free_at),
            None => due,
        }
    }

    /// When a reset at its end is due, whatever lies before it; never, where there is none.
    pub(crate) fn reset_at(&self, pace: &Pace) -> Time {
        match self.tail {
            Some((Tail::Reset, stamp)) if !pace.stall => stamp.due(pace),
            _ => Time::NEVER,
        }
    }

    /// How many bytes may be passed on before the connection is cut.
    fn room(&self, pace: &Pace) -> usize {
        let all = u64::MAX;
        let room = pace
            .cut_after_bytes
            .unwrap_or(all)
            .saturating_sub(self.passed);
        usize::try_from(room).unwrap_or(usize::MAX)
    }

    /// Puts into `out` what may go now; that is a send until [`Lane::sent`].
    pub(crate) fn fill(&mut self, now: Time, pace: &Pace, out: &mut Vec<u8>) {
        if self.next_at(pace) > now {
            return;
        }
        let mut room = self.room(pace).min(SEND_BYTES_MAX);
        if let Some(bandwidth) = pace.bandwidth {
            let slice = u128::from(bandwidth) * u128::from(SLICE_NS) / 1_000_000_000;
            room = room.min(usize::try_from(slice).unwrap_or(usize::MAX).max(1));
        }
        while let Some(mark) = self.marks.front_mut()
            && room > 0
            && mark.stamp.due(pace) <= now
        {
            let length = mark.bytes.min(room);
            let (first, second) = self.bytes.as_slices();
            let whole = length.min(first.len());
            out.extend_from_slice(&first[..whole]);
            out.extend_from_slice(&second[..length - whole]);
            self.bytes.drain(..length);
            room -= length;
            mark.bytes -= length;
            if mark.bytes == 0 {
                self.marks.pop_front();
            }
        }
        if self.bytes.is_empty() && self.bytes.capacity() > IDLE_BYTES_MAX {
            self.bytes = VecDeque::new();
        }
        self.sending = out.len();
        if let Some(bandwidth) = pace.bandwidth {
            let taken_ns = self.sending as u128 * 1_000_000_000 / u128::from(bandwidth);
            let earliest = Time(now.0.saturating_sub(SLICE_NS));
            let taken_ns = u64::try_from(taken_ns).unwrap_or(u64::MAX);
            self.free_at = Time(self.free_at.max(earliest).0.saturating_add(taken_ns));
        }
    }

    /// The send has ended. Returns how many bytes it had.
    pub(crate) fn sent(&mut self) -> u64 {
        let sent = std::mem::take(&mut self.sending) as u64;
        self.passed += sent;
        sent
    }

    /// What follows the last byte, if that has gone.
    pub(crate) fn take_tail(&mut self) -> Option<Tail> {
        match self.marks.is_empty() && !self.is_sending() {
            true => self.tail.take().map(|(tail, _)| tail),
            false => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::faults::{Direction, Faults};

    fn pace(line: &str) -> Pace {
        Faults::parse_line(line).unwrap().pace(Direction::Up)
    }

    fn stamp(arrived: u64, chance: f64) -> Stamp {
        Stamp {
            arrived: Time(arrived),
            chance,
        }
    }

    #[test]
    fn what_overtakes_by_jitter_waits_for_what_came_before() {
        let pace = pace("delay=100ns jitter=1000ns");
        let mut lane = Lane::default();
        lane.take_in(b"late", stamp(0, 1.0));
        lane.take_in(b"early", stamp(10, 0.0));
        assert_eq!(lane.next_at(&pace), Time(1_100));
        let mut out = Vec::new();
        lane.fill(Time(1_099), &pace, &mut out);
        assert!(out.is_empty());
        lane.fill(Time(1_100), &pace, &mut out);
        assert_eq!(out, b"lateearly");
        assert_eq!(lane.next_at(&pace), Time::NEVER);
        assert_eq!((lane.sent(), lane.passed(), lane.held()), (9, 9, 0));
    }

    #[test]
    fn what_is_not_due_stays_behind_what_is() {
        let pace = pace("delay=100ns");
        let mut lane = Lane::default();
        lane.take_in(b"first", stamp(0, 0.0));
        lane.take_in(b"second", stamp(50, 0.0));
        let mut out = Vec::new();
        lane.fill(Time(149), &pace, &mut out);
        assert_eq!(out, b"first");
        assert_eq!(lane.sent(), 5);
        assert_eq!(lane.next_at(&pace), Time(150));
    }

    #[test]
    fn a_change_of_faults_takes_hold_of_what_is_held() {
        let mut lane = Lane::default();
        lane.take_in(b"bytes", stamp(5, 0.5));
        lane.end(Tail::Fin, stamp(5, 0.5));
        assert_eq!(lane.next_at(&pace("delay=1s")), Time(1_000_000_005));
        assert_eq!(lane.next_at(&pace("delay=0")), Time(5));
        assert_eq!(lane.next_at(&pace("stall")), Time::NEVER);
        assert_eq!(lane.take_tail(), None);
        lane.drop_bytes();
        assert_eq!(lane.next_at(&pace("delay=1s")), Time(1_000_000_005));
        assert_eq!(lane.take_tail(), Some(Tail::Fin));
    }

    #[test]
    fn a_limited_bandwidth_is_kept_over_any_second() {
        for bandwidth in [1u64, 7, 100, 1_000, 1 << 20] {
            let pace = pace(&format!("bandwidth={bandwidth}"));
            let mut lane = Lane::default();
            lane.take_in(&vec![1; 4 << 20], stamp(0, 0.0));
            let (mut now, mut passed) = (Time(1), 0);
            let end = Time(3_000_000_000);
            while lane.next_at(&pace) <= end && passed < 4 << 20 {
                now = now.max(lane.next_at(&pace));
                let mut out = Vec::new();
                lane.fill(now, &pace, &mut out);
                passed += lane.sent();
                // As late as a busy machine may be.
                now = now.plus(3_000_000);
            }
            let most = 3 * bandwidth + bandwidth / 50 + 1;
            assert!(
                (3 * bandwidth - bandwidth / 50..=most).contains(&passed),
                "{bandwidth}: {passed} in three seconds"
            );
        }
    }

    #[test]
    fn no_byte_goes_beyond_the_cut() {
        let pace = pace("cut-after=7");
        let mut lane = Lane::default();
        lane.take_in(b"0123456789", stamp(0, 0.0));
        let mut out = Vec::new();
        lane.fill(Time(1), &pace, &mut out);
        assert_eq!(out, b"0123456");
        assert_eq!(lane.sent(), 7);
        assert_eq!(lane.next_at(&pace), Time::NEVER);
    }

    #[test]
    fn a_reset_goes_before_an_end_that_waits_and_not_the_other_way() {
        let mut lane = Lane::default();
        lane.end(Tail::Fin, stamp(0, 0.0));
        lane.end(Tail::Reset, stamp(1, 0.0));
        lane.end(Tail::Fin, stamp(2, 0.0));
        assert_eq!(lane.reset_at(&Pace::default()), Time(1));
        assert_eq!(lane.take_tail(), Some(Tail::Reset));
    }
}

//! Closed sockets that still send: each keeps its slot until its last send has ended, and no
//! longer than [`Config::linger_ns`](crate::Config::linger_ns).
//!
//! Knows times and tokens only; whether a socket still sends is for the driver to say.

use std::collections::VecDeque;

use measure::time::Time;

use crate::driver::{Token, Until};

/// They stand in the order in which their time ends, for all have the same time.
#[derive(Debug)]
pub(crate) struct Lingering {
    each_ns: u64,
    queue: VecDeque<(Time, Token)>,
}

impl Lingering {
    pub(crate) fn new(each_ns: u64) -> Lingering {
        Lingering {
            each_ns,
            queue: VecDeque::new(),
        }
    }

    /// How long each may take.
    pub(crate) fn each_ns(&self) -> u64 {
        self.each_ns
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// `socket` was closed now and still sends, like all of whom `sends` says so. `taken` slots are
    /// open or closing.
    pub(crate) fn push(
        &mut self,
        now: Time,
        socket: Token,
        taken: usize,
        mut sends: impl FnMut(Token) -> bool,
    ) {
        if self.queue.len() > 2 * taken {
            // Behind one that is stuck stand many that have ended. Half of it goes at least.
            self.queue.retain(|&(_, socket)| sends(socket));
        }
        let end = now.plus(self.each_ns);
        debug_assert!(
            self.queue.back().is_none_or(|&(before, _)| before <= end),
            "time went back: the queue stands in the order in which its times end"
        );
        self.queue.push_back((end, socket));
    }

    /// Takes out one that still sends although its time is up.
    pub(crate) fn next_late(
        &mut self,
        now: Time,
        mut sends: impl FnMut(Token) -> bool,
    ) -> Option<Token> {
        while let Some(&(end, socket)) = self.queue.front() {
            let still = sends(socket);
            if still && now < end {
                return None;
            }
            self.queue.pop_front();
            if still {
                return Some(socket);
            }
        }
        None
    }

    /// `until`, or earlier where somebody's time ends before.
    #[inline]
    pub(crate) fn earlier(&self, until: Until) -> Until {
        match self.queue.front() {
            None => until,
            Some(&(end, _)) => until.or_before(end),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn socket(slot: u32) -> Token {
        Token::new(slot, 0)
    }

    #[test]
    fn only_who_still_sends_is_late_and_each_is_once() {
        let mut lingering = Lingering::new(10);
        for slot in 0..3 {
            lingering.push(Time(u64::from(slot)), socket(slot), 3, |_| true);
        }
        let sends = |token: Token| token != socket(1);
        assert_eq!(lingering.next_late(Time(9), sends), None);
        assert_eq!(lingering.next_late(Time(10), sends), Some(socket(0)));
        assert_eq!(lingering.next_late(Time(11), sends), None);
        assert_eq!(lingering.next_late(Time(12), sends), Some(socket(2)));
        assert!(lingering.is_empty());
    }

    #[test]
    fn a_sleep_ends_when_the_first_time_does() {
        let mut lingering = Lingering::new(10);
        assert_eq!(lingering.earlier(Until::Event), Until::Event);
        lingering.push(Time(5), socket(0), 1, |_| true);
        lingering.push(Time(7), socket(1), 1, |_| true);
        assert_eq!(lingering.earlier(Until::Event), Until::Time(Time(15)));
        let far = Until::Time(Time(100));
        assert_eq!(lingering.earlier(far), Until::Time(Time(15)));
        let near = Until::Time(Time(3));
        assert_eq!(lingering.earlier(near), near);
        assert_eq!(lingering.earlier(Until::Now), Until::Now);
    }

    #[test]
    fn behind_one_that_is_stuck_the_list_stays_short() {
        let mut lingering = Lingering::new(10);
        for slot in 0..1000 {
            lingering.push(Time(0), socket(slot), 4, |token| token == socket(0));
            assert!(lingering.queue.len() <= 10);
        }
        assert_eq!(lingering.queue[0].1, socket(0));
    }
}

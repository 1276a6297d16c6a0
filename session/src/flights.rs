//! The unanswered exchanges of all sessions of a worker, at fixed places that are allocated before
//! the load begins.
//!
//! A session has `depth` places, and where its protocol answers in the order of the requests it
//! uses them as a ring. Where answers come in any order, as in HTTP/2, the protocol names the place
//! that it means; then a stack of the free places stands beside, and beginning or ending an
//! exchange is a push or a pop.

use super::Exchange;

/// How a session's answers come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// In the order of the requests.
    Kept,
    /// In any order.
    Free,
}

/// Which places of a session are taken.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ring {
    /// The oldest exchange, where the order is kept.
    head: u32,
    unanswered: u32,
}

impl Ring {
    /// How many exchanges are unanswered.
    pub fn unanswered(self) -> u32 {
        self.unanswered
    }
}

/// See the module.
#[derive(Debug)]
pub struct Flights {
    places: Vec<Exchange>,
    /// Where the order is free: the places of each session, of which those from `unanswered` on
    /// are free. Empty where the order is kept.
    stack: Vec<u16>,
    depth: u32,
    /// Unanswered exchanges over all sessions.
    total: u64,
    /// Exchanges for which there was no room.
    overrun: u64,
}

/// What stands in a place that is not taken, where the order is free.
const VACANT: Exchange = Exchange::NONE;

impl Flights {
    /// `depth` is at most [`plan::protocol::STREAMS_MAX`].
    pub fn new(sessions: usize, depth: u32, order: Order) -> Flights {
        let count = sessions * depth as usize;
        let stack = match order {
            Order::Kept => Vec::new(),
            Order::Free => (0..count).map(|n| (n % depth as usize) as u16).collect(),
        };
        Flights {
            places: vec![VACANT; count],
            stack,
            depth,
            total: 0,
            overrun: 0,
        }
    }

    /// How many more exchanges a session may take.
    #[inline]
    pub fn room(&self, ring: Ring) -> u32 {
        debug_assert!(ring.unanswered <= self.depth, "no more than its places");
        self.depth - ring.unanswered
    }

    /// Unanswered exchanges over all sessions.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// Exchanges for which there was no room: always 0, or somebody has not looked for it.
    pub fn overrun(&self) -> u64 {
        self.overrun
    }

    /// Adds an exchange to `session` and says at which place. There must be room, or the exchange
    /// is lost and counted as such: it never takes the place of another one.
    #[inline]
    pub fn begin(&mut self, session: usize, ring: &mut Ring, exchange: Exchange) -> u32 {
        if ring.unanswered >= self.depth {
            self.overrun += 1;
            return 0;
        }
        let base = self.base(session);
        let place = if self.stack.is_empty() {
            self.wrapped(ring.head + ring.unanswered)
        } else {
            let place = u32::from(self.stack[base + ring.unanswered as usize]);
            debug_assert_eq!(self.places[base + place as usize], VACANT, "a free place");
            place
        };
        self.places[base + place as usize] = exchange;
        ring.unanswered += 1;
        self.total += 1;
        place
    }

    /// Takes the exchange at `place`; where the order is kept, the oldest, whatever the place.
    #[inline]
    pub fn end(&mut self, session: usize, ring: &mut Ring, place: u32) -> Option<Exchange> {
        if ring.unanswered == 0 {
            return None;
        }
        debug_assert!(place < self.depth, "a place that was given out");
        debug_assert!(self.total >= u64::from(ring.unanswered), "a part of all");
        let base = self.base(session);
        let exchange = if self.stack.is_empty() {
            let oldest = ring.head;
            ring.head = self.wrapped(oldest + 1);
            self.places[base + oldest as usize]
        } else {
            let taken = &mut self.places[base + place as usize];
            if taken.intended == VACANT.intended {
                return None;
            }
            self.stack[base + ring.unanswered as usize - 1] = place as u16;
            std::mem::replace(taken, VACANT)
        };
        ring.unanswered -= 1;
        self.total -= 1;
        Some(exchange)
    }

    /// Takes every exchange of a session.
    pub fn drain(&mut self, session: usize, ring: &mut Ring, mut each: impl FnMut(Exchange)) {
        // Where the order is kept, each end takes the oldest.
        for place in 0..self.depth {
            if let Some(exchange) = self.end(session, ring, place) {
                each(exchange);
            }
        }
    }

    /// The oldest exchange of a session whose order is kept, to be changed.
    pub fn oldest_mut(&mut self, session: usize, ring: Ring) -> Option<&mut Exchange> {
        let place = self.base(session) + ring.head as usize;
        (ring.unanswered > 0).then(|| &mut self.places[place])
    }

    /// The exchange whose answer comes at `place`, to be changed; where the order is kept, the
    /// oldest, whatever the place.
    pub fn answered_mut(
        &mut self,
        session: usize,
        ring: Ring,
        place: u32,
    ) -> Option<&mut Exchange> {
        if self.stack.is_empty() {
            return self.oldest_mut(session, ring);
        }
        let place = self.base(session) + place as usize;
        let exchange = self.places.get_mut(place);
        exchange.filter(|exchange| **exchange != VACANT)
    }

    /// The exchange at `place`, if there is one.
    pub fn at(&self, session: usize, ring: Ring, place: u32) -> Option<Exchange> {
        let exchange = self.places[self.base(session) + place as usize];
        let taken = if self.stack.is_empty() {
            self.wrapped(place + self.depth - ring.head) < ring.unanswered
        } else {
            exchange != VACANT
        };
        taken.then_some(exchange)
    }

    #[inline]
    fn base(&self, session: usize) -> usize {
        session * self.depth as usize
    }

    /// A place of a ring that may have run over its end, by less than a turn.
    #[inline]
    fn wrapped(&self, place: u32) -> u32 {
        if place >= self.depth {
            place - self.depth
        } else {
            place
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use measure::random::Random;
    use measure::time::Time;

    fn exchange(n: u64) -> Exchange {
        Exchange::new(Time(n), Time(n + 1))
    }

    #[test]
    fn answers_in_order_are_matched_to_exchanges_in_the_order_of_sending() {
        let mut flights = Flights::new(2, 3, Order::Kept);
        let mut rings = [Ring::default(); 2];
        // Twice around the ring, with another session beside it that must stay untouched.
        flights.begin(1, &mut rings[1], exchange(1000));
        let mut expected = 0;
        for n in 0..7 {
            flights.begin(0, &mut rings[0], exchange(n));
            if flights.room(rings[0]) == 0 {
                let oldest = flights.end(0, &mut rings[0], 0);
                assert_eq!(oldest, Some(exchange(expected)));
                expected += 1;
            }
        }
        let mut left: Vec<u64> = (0..3)
            .filter_map(|place| flights.at(0, rings[0], place))
            .map(|exchange| exchange.intended.0)
            .collect();
        left.sort_unstable();
        assert_eq!(left, [5, 6]);
        flights.begin(0, &mut rings[0], exchange(7));
        flights.begin(0, &mut rings[0], exchange(8));
        assert_eq!((flights.overrun(), flights.total()), (1, 4));
        flights.drain(0, &mut rings[0], |oldest| {
            assert_eq!(oldest, exchange(expected));
            expected += 1;
        });
        assert_eq!(expected, 8);
        assert_eq!(flights.end(0, &mut rings[0], 0), None);
        let other = flights.oldest_mut(1, rings[1]).copied();
        assert_eq!((other, flights.total()), (Some(exchange(1000)), 1));
    }

    #[test]
    fn answers_in_any_order_are_matched_by_their_places() {
        let mut flights = Flights::new(2, 8, Order::Free);
        let mut rings = [Ring::default(); 2];
        flights.begin(0, &mut rings[0], exchange(1000));
        let mut random = Random::new(7, 0);
        let mut below = |n: usize| (random.unit() * n as f64) as usize;
        let mut under_way: Vec<(u32, u64)> = Vec::new();
        for n in 0..1000 {
            if flights.room(rings[1]) > 0 && below(2) == 0 {
                let place = flights.begin(1, &mut rings[1], exchange(n));
                assert!(place < 8 && under_way.iter().all(|(taken, _)| *taken != place));
                under_way.push((place, n));
            } else if !under_way.is_empty() {
                let which = below(under_way.len());
                let (place, n) = under_way.swap_remove(which);
                assert_eq!(flights.end(1, &mut rings[1], place), Some(exchange(n)));
                assert_eq!(flights.end(1, &mut rings[1], place), None);
            }
            let taken = |place: &u32| flights.at(1, rings[1], *place).is_some();
            assert_eq!((0..8).filter(taken).count(), under_way.len());
        }
        let mut drained = Vec::new();
        flights.drain(1, &mut rings[1], |exchange| {
            drained.push(exchange.intended.0)
        });
        drained.sort_unstable();
        let mut left: Vec<u64> = under_way.iter().map(|(_, n)| *n).collect();
        left.sort_unstable();
        assert_eq!((drained, flights.total()), (left, 1));
    }
}

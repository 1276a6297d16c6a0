//! A hashed hierarchical timer wheel: many timers, one deadline.
//!
//! Timers stand above the driver, which knows a single deadline per turn. Inserting and cancelling
//! take constant time, whatever the number of timers, since most timers guard an exchange that
//! ends well and are cancelled.
//!
//! # How it works
//!
//! Time is cut into ticks of 2^14 ns (16.4 µs). Level 0 has one slot for each of the 64 ticks that
//! share all but the lowest 6 bits with the current tick; a slot of level 1 spans 64 ticks, one of
//! level 2 spans 4,096, and so on. A timer lies on the level of the highest 6-bit digit in which
//! its tick differs from the current one. So every timer of a level is due before every timer of
//! the level above, slots never wrap around, and a bit set of the occupied slots finds the next
//! one without walking. When the current tick enters a slot of a higher level, its timers move
//! down. A timer moves at most as often as there are levels.
//!
//! Ticks only sort. Each timer keeps its time to the nanosecond and is never reported before it.
//!
//! Knows nothing of clocks: the time is an argument.
#![forbid(unsafe_code)]

use measure::time::Time;

/// A tick is 2^14 nanoseconds.
const TICK_BITS: u32 = 14;
/// 64 slots a level, so that one word holds the set of those occupied.
const DIGIT_BITS: u32 = 6;
const SLOTS: usize = 1 << DIGIT_BITS;
/// Enough for every 64-bit time: nine digits of six bits above the 14 bits of a tick.
const LEVELS: usize = 9;
/// The end of a list.
const NIL: u32 = u32::MAX;

/// Names one timer. It goes stale when the timer expires or is cancelled, and stays so.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TimerId {
    index: u32,
    generation: u32,
}

/// A set of timers, each with a value that is handed back when it expires.
///
/// Allocates when more timers are pending than ever before, and not otherwise.
#[derive(Debug)]
pub struct Wheel<T> {
    levels: [Level; LEVELS],
    entries: Vec<Entry<T>>,
    /// First of the list of unused entries.
    free: u32,
    pending: usize,
    /// Nothing is due before the start of this tick that has not been reported.
    tick: u64,
    /// No pending timer is due before this time.
    next: Time,
}

#[derive(Clone, Copy, Debug)]
struct Level {
    occupied: u64,
    heads: [u32; SLOTS],
}

#[derive(Debug)]
struct Entry<T> {
    at: Time,
    value: Option<T>,
    generation: u32,
    level: u8,
    slot: u8,
    before: u32,
    after: u32,
}

impl<T: Copy> Wheel<T> {
    /// An empty wheel whose current time is `now`, with room for `capacity` timers.
    pub fn new(now: Time, capacity: usize) -> Wheel<T> {
        Wheel {
            levels: [Level {
                occupied: 0,
                heads: [NIL; SLOTS],
            }; LEVELS],
            entries: Vec::with_capacity(capacity),
            free: NIL,
            pending: 0,
            tick: now.0 >> TICK_BITS,
            next: Time::NEVER,
        }
    }

    /// How many timers are pending.
    pub fn len(&self) -> usize {
        self.pending
    }

    /// Whether no timer is pending.
    pub fn is_empty(&self) -> bool {
        self.pending == 0
    }

    /// Adds a timer that expires at `at`; one in the past expires at the next [`Wheel::expire`].
    pub fn insert(&mut self, at: Time, value: T) -> TimerId {
        let index = self.vacant_entry();
        let entry = &mut self.entries[index as usize];
        entry.at = at;
        entry.value = Some(value);
        let generation = entry.generation;
        self.link(index);
        self.pending += 1;
        self.next = self.next.min(at);
        TimerId { index, generation }
    }

    /// Removes a timer and hands its value back; `None` where it expired or was cancelled before.
    pub fn cancel(&mut self, timer: TimerId) -> Option<T> {
        let entry = self.entries.get(timer.index as usize)?;
        if entry.generation != timer.generation || entry.value.is_none() {
            return None;
        }
        self.unlink(timer.index);
        self.release(timer.index)
    }

    /// When to call [`Wheel::expire`] next; `None` while no timer is pending.
    ///
    /// Never later than the earliest timer. It may be earlier, after that timer was cancelled or
    /// where only the slot of a far timer is known; `expire` then reports nothing and finds a
    /// closer bound.
    pub fn next_deadline(&self) -> Option<Time> {
        (self.pending > 0).then_some(self.next)
    }

    /// Appends the values of all timers due at `now` to `expired`, in order of their ticks, and
    /// forgets those timers. Costs one comparison where nothing is due.
    ///
    /// A `now` earlier than that of the last call finds only timers that were inserted since.
    pub fn expire(&mut self, now: Time, expired: &mut Vec<T>) {
        if now < self.next || self.pending == 0 {
            return;
        }
        let target = (now.0 >> TICK_BITS).max(self.tick);
        while let Some((level, slot)) = self.first_occupied() {
            let start = self.slot_start(level, slot);
            if start > target {
                break;
            }
            self.tick = start;
            if level > 0 {
                self.move_down(level, slot);
            } else if self.report_due(slot, now, expired) > 0 {
                break;
            }
        }
        self.tick = target;
        self.next = self.earliest_bound();
        debug_assert_eq!(
            self.pending == 0,
            self.first_occupied().is_none(),
            "slots are occupied exactly while timers are pending"
        );
        debug_assert!(
            self.next > now || now == Time::NEVER,
            "a timer is due and was not reported"
        );
    }

    /// The slot whose timers are due before all others.
    fn first_occupied(&self) -> Option<(usize, usize)> {
        let level = self.levels.iter().position(|level| level.occupied != 0)?;
        Some((level, self.levels[level].occupied.trailing_zeros() as usize))
    }

    /// The first tick of a slot: the current tick with the slot's digit and zeros below.
    fn slot_start(&self, level: usize, slot: usize) -> u64 {
        let shift = level as u32 * DIGIT_BITS;
        let below = (1u64 << shift << DIGIT_BITS).wrapping_sub(1);
        (self.tick & !below) | ((slot as u64) << shift)
    }

    /// Spreads a slot of a higher level, which the current tick has just entered.
    fn move_down(&mut self, level: usize, slot: usize) {
        let mut index = self.take_slot(level, slot);
        while index != NIL {
            let after = self.entries[index as usize].after;
            self.link(index);
            index = after;
        }
    }

    /// Reports what is due in a slot of the lowest level; returns how many timers are left in it.
    fn report_due(&mut self, slot: usize, now: Time, expired: &mut Vec<T>) -> usize {
        let mut left = 0;
        let mut index = self.take_slot(0, slot);
        while index != NIL {
            let entry = &self.entries[index as usize];
            let (at, after) = (entry.at, entry.after);
            if at <= now {
                expired.extend(self.release(index));
            } else {
                self.link(index);
                left += 1;
            }
            index = after;
        }
        left
    }

    /// A time no later than the earliest timer: exact on the lowest level, else the slot's start.
    fn earliest_bound(&self) -> Time {
        let Some((level, slot)) = self.first_occupied() else {
            return Time::NEVER;
        };
        if level > 0 {
            return Time(self.slot_start(level, slot) << TICK_BITS);
        }
        let mut earliest = Time::NEVER;
        let mut index = self.levels[0].heads[slot];
        while index != NIL {
            let entry = &self.entries[index as usize];
            earliest = earliest.min(entry.at);
            index = entry.after;
        }
        earliest
    }

    /// Takes an entry off the list of unused ones, or adds one.
    fn vacant_entry(&mut self) -> u32 {
        if self.free != NIL {
            let index = self.free;
            let entry = &self.entries[index as usize];
            debug_assert!(entry.value.is_none(), "an unused entry has a timer in it");
            self.free = entry.after;
            return index;
        }
        assert!(
            self.entries.len() < NIL as usize,
            "more timers than 32 bits can name"
        );
        self.entries.push(Entry {
            at: Time::NEVER,
            value: None,
            generation: 0,
            level: 0,
            slot: 0,
            before: NIL,
            after: NIL,
        });
        (self.entries.len() - 1) as u32
    }

    /// Puts an unlinked entry on the list of unused ones; its identifiers go stale.
    fn release(&mut self, index: u32) -> Option<T> {
        let free = self.free;
        debug_assert!(self.pending > 0, "more timers ended than were begun");
        let entry = &mut self.entries[index as usize];
        debug_assert!(entry.value.is_some(), "a timer ended twice");
        entry.generation = entry.generation.wrapping_add(1);
        entry.after = free;
        self.free = index;
        self.pending -= 1;
        entry.value.take()
    }

    /// Puts an entry into the slot that its time and the current tick call for.
    fn link(&mut self, index: u32) {
        let tick = (self.entries[index as usize].at.0 >> TICK_BITS).max(self.tick);
        let highest_bit = 63 - ((tick ^ self.tick) | 1).leading_zeros();
        let level = (highest_bit / DIGIT_BITS) as usize;
        let slot = (tick >> (level as u32 * DIGIT_BITS)) as usize % SLOTS;
        debug_assert!(
            self.slot_start(level, slot) >= self.tick,
            "a timer went into a slot that has passed"
        );
        let head = self.levels[level].heads[slot];
        let entry = &mut self.entries[index as usize];
        entry.level = level as u8;
        entry.slot = slot as u8;
        entry.before = NIL;
        entry.after = head;
        if head != NIL {
            self.entries[head as usize].before = index;
        }
        self.levels[level].heads[slot] = index;
        self.levels[level].occupied |= 1 << slot;
    }

    /// Takes an entry out of its slot.
    fn unlink(&mut self, index: u32) {
        let entry = &self.entries[index as usize];
        let (level, slot) = (entry.level as usize, entry.slot as usize);
        let (before, after) = (entry.before, entry.after);
        if after != NIL {
            self.entries[after as usize].before = before;
        }
        if before != NIL {
            self.entries[before as usize].after = after;
            return;
        }
        debug_assert_eq!(
            self.levels[level].heads[slot], index,
            "an entry with none before it is the head of its slot"
        );
        self.levels[level].heads[slot] = after;
        if after == NIL {
            self.levels[level].occupied &= !(1 << slot);
        }
    }

    /// Empties a slot and returns the head of its list, which stays linked.
    fn take_slot(&mut self, level: usize, slot: usize) -> u32 {
        self.levels[level].occupied &= !(1 << slot);
        std::mem::replace(&mut self.levels[level].heads[slot], NIL)
    }
}

#[cfg(test)]
mod tests;

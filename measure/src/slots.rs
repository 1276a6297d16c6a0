//! When answers came, and when none did although some were awaited.
//!
//! Failed exchanges do not show an outage: in a closed loop a server that is gone is asked next to
//! nothing. So time is cut into slots of 100 ms, and of each slot it is known whether an answer
//! came in it, and if not, whether one was awaited from its beginning to its end. A server that
//! answers seldom or slowly leaves such slots empty, too; they are therefore joined until a slot in
//! which it answers holds enough answers to say that an empty one is no chance. A gap in or around
//! which something failed is an outage; one without is a stall, whose answers came in the end.
//! Slots of which nothing is known do not end a gap: it goes on to the last slot in which answers
//! were awaited, or something failed, before one comes again.

use crate::time::Time;

/// Nanoseconds of a slot as it is recorded, while there are not too many of them.
pub const SLOT_NS: u64 = 100_000_000;
/// A day of them; then they are twice as long.
const SLOTS_MAX: usize = 864_000;
/// So many answers a slot where there are any: with random arrivals, one in half a billion is
/// empty by chance.
const ANSWERS_MIN: u64 = 20;
/// A slot lasts for so many of the median service time: what answers all at once, and again when
/// that time has passed, is not away in between.
const MEDIANS_MIN: u64 = 3;
/// How many of the base slots a slot may be joined of: 100 ms to 100 s.
const JOINED: [usize; 10] = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000];
/// With fewer slots than this a share says nothing.
const SLOTS_MIN: usize = 4;

/// What is known of each slot of the window.
#[derive(Clone, Debug)]
pub struct Slots {
    slot_ns: u64,
    start: Time,
    slots: Vec<Slot>,
    /// What had been seen when the last slot ended.
    seen: Seen,
}

/// What a worker has seen when a slot ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// Answers in all.
    pub answers: u64,
    /// Errors in all, of exchanges and of connections.
    pub errors: u64,
    /// Attempts to connect that failed.
    pub in_vain: u64,
    /// Whether an answer is awaited.
    pub awaited: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Slot {
    answered: bool,
    /// Something failed.
    failed: bool,
    /// An attempt to connect did.
    in_vain: bool,
    /// From beginning to end, and in vain.
    awaited: bool,
}

impl Slot {
    /// Adds what another worker saw at the same time.
    fn add(&mut self, other: Slot) {
        let Slot {
            answered,
            failed,
            in_vain,
            awaited,
        } = other;
        self.answered |= answered;
        self.failed |= failed;
        self.in_vain |= in_vain;
        self.awaited |= awaited;
    }
}

/// A server's answers over time.
#[derive(Clone, Debug, PartialEq)]
pub struct Course {
    /// Nanoseconds of a slot.
    pub slot_ns: u64,
    /// Slots in which answers came.
    pub answered: u64,
    /// Slots in which none came, although some were awaited all the time or something failed, and
    /// those between them of which nothing is known.
    pub empty: u64,
    /// Where the empty ones lie, neighbours joined.
    pub gaps: Vec<Gap>,
}

/// Time without an answer, in nanoseconds from the window's start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gap {
    /// When it begins.
    pub from_ns: u64,
    /// When it ends.
    pub until_ns: u64,
    /// Whether something failed in it, or in the slots on either side.
    pub failed: bool,
    /// Whether attempts to connect failed there.
    pub unreachable: bool,
}

impl Gap {
    fn slots(&self, slot_ns: u64) -> u64 {
        (self.until_ns - self.from_ns) / slot_ns
    }
}

impl Default for Slots {
    fn default() -> Slots {
        Slots::new()
    }
}

impl Slots {
    /// Nothing is known yet.
    pub fn new() -> Slots {
        Slots {
            slot_ns: SLOT_NS,
            start: Time::NEVER,
            slots: Vec::new(),
            seen: Seen::default(),
        }
    }

    /// The window begins at `now`. What has been seen until then is told when it opens.
    pub fn start(&mut self, now: Time) {
        *self = Slots {
            start: now,
            ..Slots::new()
        };
    }

    /// The window opens: the first slot begins with what has been `seen`.
    pub fn open(&mut self, seen: Seen) {
        self.seen = seen;
    }

    /// When the slot ends that is open; [`Time::NEVER`] before the start.
    pub fn due(&self) -> Time {
        match self.start {
            Time::NEVER => Time::NEVER,
            start => start.plus((self.slots.len() as u64 + 1) * self.slot_ns),
        }
    }

    /// Closes the slots that are over at `now`. Of a slot that passed without a turn of the worker
    /// nothing is known.
    pub fn close_due(&mut self, now: Time, seen: Seen) {
        if self.due() > now {
            return;
        }
        debug_assert!(
            seen.answers >= self.seen.answers
                && seen.errors >= self.seen.errors
                && seen.in_vain >= self.seen.in_vain,
            "what was counted only grows: {:?}, then {seen:?}",
            self.seen
        );
        let slot = Slot {
            answered: seen.answers > self.seen.answers,
            failed: seen.errors > self.seen.errors,
            in_vain: seen.in_vain > self.seen.in_vain,
            awaited: self.seen.awaited && seen.awaited,
        };
        let mut first = true;
        while self.due() <= now {
            self.slots.push(if first { slot } else { Slot::default() });
            first = false;
            if self.slots.len() == SLOTS_MAX {
                self.join_pairs();
            }
        }
        self.seen = seen;
    }

    /// Whether answers were awaited is not known for the whole of the slot that is under way.
    pub fn blind(&mut self) {
        self.seen.awaited = false;
    }

    fn join_pairs(&mut self) {
        self.slots = joined(&self.slots, 2);
        self.slot_ns *= 2;
    }

    /// Adds what another worker saw. A slot is empty where nobody had an answer.
    pub fn merge(&mut self, other: &Slots) {
        let mut other = other.clone();
        while self.slot_ns < other.slot_ns {
            self.join_pairs();
        }
        while other.slot_ns < self.slot_ns {
            other.join_pairs();
        }
        assert_eq!(
            self.slot_ns, other.slot_ns,
            "slots are joined that are not equally long"
        );
        if self.slots.len() < other.slots.len() {
            self.slots.resize(other.slots.len(), Slot::default());
        }
        for (mine, theirs) in self.slots.iter_mut().zip(&other.slots) {
            mine.add(*theirs);
        }
    }

    /// The course of the answers, `answers` in all, whose median service time is known; none where
    /// there were too few, or too seldom, to tell silence from chance.
    pub fn course(&self, answers: u64, service_p50_ns: u64) -> Option<Course> {
        JOINED.into_iter().find_map(|each| {
            let slot_ns = self.slot_ns * each as u64;
            let slots = joined(&self.slots, each);
            let answered = slots.iter().filter(|slot| slot.answered).count() as u64;
            let tells = slots.len() >= SLOTS_MIN
                && answers >= answered.max(1) * ANSWERS_MIN
                && slot_ns >= MEDIANS_MIN * service_p50_ns;
            tells.then(|| Course::of(&slots, slot_ns))
        })
    }
}

impl Course {
    fn of(slots: &[Slot], slot_ns: u64) -> Course {
        let mut course = Course {
            slot_ns,
            answered: 0,
            empty: 0,
            gaps: Vec::new(),
        };
        // Whether an answer has come since the last gap.
        let mut over = true;
        for (place, slot) in (0u64..).zip(slots) {
            if slot.answered {
                course.answered += 1;
                over = true;
            } else if slot.awaited || slot.failed {
                course.lengthen(place, over, slots);
                over = false;
            }
        }
        debug_assert!(
            course
                .gaps
                .windows(2)
                .all(|pair| pair[0].until_ns <= pair[1].from_ns),
            "gaps overlap: {:?}",
            course.gaps
        );
        course.empty = course.gaps.iter().map(|gap| gap.slots(slot_ns)).sum();
        course
    }

    /// An empty slot begins a gap, or the one before goes on.
    fn lengthen(&mut self, place: u64, is_new: bool, slots: &[Slot]) {
        let (from_ns, until_ns) = (place * self.slot_ns, (place + 1) * self.slot_ns);
        let around = place.saturating_sub(1)..=place + 1;
        let around = around.filter_map(|place| slots.get(place as usize));
        let (mut failed, mut unreachable) = (false, false);
        for slot in around {
            failed |= slot.failed;
            unreachable |= slot.in_vain;
        }
        match self.gaps.last_mut().filter(|_| !is_new) {
            Some(gap) => {
                gap.until_ns = until_ns;
                gap.failed |= failed;
                gap.unreachable |= unreachable;
            }
            None => self.gaps.push(Gap {
                from_ns,
                until_ns,
                failed,
                unreachable,
            }),
        }
    }

    /// The share of the slots in which answers came, of these and the empty ones.
    pub fn availability(&self) -> Option<f64> {
        let all = self.answered + self.empty;
        (all > 0).then(|| self.answered as f64 / all as f64)
    }

    /// The share of the slots that are in outages.
    pub fn down(&self) -> f64 {
        let outages = self.gaps.iter().filter(|gap| gap.failed);
        let slots: u64 = outages.map(|gap| gap.slots(self.slot_ns)).sum();
        slots as f64 / (self.answered + self.empty).max(1) as f64
    }
}

/// Slots that are `each` times as long. What is left over at the end makes a slot of its own.
fn joined(slots: &[Slot], each: usize) -> Vec<Slot> {
    let groups = slots.chunks(each).map(|group| Slot {
        answered: group.iter().any(|slot| slot.answered),
        failed: group.iter().any(|slot| slot.failed),
        in_vain: group.iter().any(|slot| slot.in_vain),
        awaited: group.iter().all(|slot| slot.awaited || slot.answered),
    });
    groups.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: Time = Time(5_000_000_000);

    fn seen(answers: u64, awaited: bool) -> Seen {
        Seen {
            answers,
            errors: 0,
            in_vain: 0,
            awaited,
        }
    }

    /// A worker's slots: in each so many answers came, and one was awaited at its end or not.
    fn slots(each: impl IntoIterator<Item = (u64, bool)>) -> (Slots, u64) {
        let mut slots = Slots::new();
        let mut sum = 7;
        slots.start(START);
        slots.open(seen(sum, true));
        for (answers, awaited) in each {
            sum += answers;
            slots.close_due(slots.due().plus(12_345), seen(sum, awaited));
        }
        (slots, sum - 7)
    }

    #[test]
    fn a_gap_is_where_answers_were_awaited_and_none_came() {
        let alive = std::iter::repeat_n((50, true), 30);
        let dead = std::iter::repeat_n((0, true), 60);
        let (mut slots, answers) = slots(alive.chain(dead).chain([(50, true); 10]));
        let course = slots.course(answers, 1_000_000).expect("answers enough");
        assert_eq!(course.slot_ns, SLOT_NS);
        assert_eq!((course.answered, course.empty), (40, 60));
        let mut gap = Gap {
            from_ns: 3_000_000_000,
            until_ns: 9_000_000_000,
            failed: false,
            unreachable: false,
        };
        assert_eq!((course.availability(), course.down()), (Some(0.4), 0.0));
        assert_eq!(course.gaps, [gap]);
        // The connections broke in the last slot with an answer.
        slots.slots[29].failed = true;
        let course = slots.course(answers, 1_000_000).expect("answers enough");
        gap.failed = true;
        assert_eq!(course.gaps, [gap]);
        assert_eq!(course.down(), 0.6);
    }

    #[test]
    fn nobody_is_away_whom_nobody_asks_or_who_answers_slowly() {
        // A pause of the schedule.
        let pause = std::iter::repeat_n((0, false), 40);
        let (paused, answers) = slots([(50, true); 20].into_iter().chain(pause));
        let course = paused.course(answers, 1_000).expect("answers enough");
        assert_eq!((course.empty, course.availability()), (0, Some(1.0)));
        // A hundred connections, and each answer takes a second.
        let burst = |n: u64| (if n % 10 == 9 { 100 } else { 0 }, true);
        let (slow, answers) = slots((0..200).map(burst));
        let course = slow.course(answers, 1_000_000_000).expect("answers enough");
        assert!(course.slot_ns >= 3_000_000_000);
        assert_eq!(course.availability(), Some(1.0));
        // One connection, and three answers a second.
        let (seldom, answers) = slots((0..600).map(|n| (u64::from(n % 3 == 0), true)));
        let course = seldom.course(answers, 300_000_000).expect("answers enough");
        assert_eq!(course.availability(), Some(1.0));
        let (few, answers) = slots([(3, true), (0, true), (0, true), (0, true)]);
        assert_eq!(few.course(answers, 1_000), None);
    }

    #[test]
    fn workers_see_together_and_one_that_slept_saw_nothing() {
        let (mut one, mine) = slots([(40, true), (0, true), (0, true), (0, true), (40, true)]);
        let (other, theirs) = slots([(0, true), (40, true), (0, true), (0, true)]);
        one.merge(&other);
        let course = one.course(mine + theirs, 1).expect("answers enough");
        assert_eq!((course.answered, course.empty), (3, 2));
        let gap = course.gaps[0];
        assert_eq!((gap.from_ns, gap.until_ns), (200_000_000, 400_000_000));
        let mut slept = Slots::new();
        slept.start(START);
        slept.open(seen(0, true));
        slept.close_due(START.plus(SLOT_NS), seen(100, true));
        slept.close_due(START.plus(9 * SLOT_NS), seen(100, true));
        let course = slept.course(100, 1).expect("answers enough");
        assert_eq!((course.answered, course.empty), (1, 1));
    }

    #[test]
    fn a_gap_has_no_holes_where_nothing_was_awaited_for_a_while() {
        let gone = [
            (0, true),
            (0, true),
            (0, false),
            (0, false),
            (0, true),
            (0, true),
        ];
        let each = [(50, true); 10].into_iter().chain(gone);
        // Nobody asks at the end of it: that is not known to be a part of it.
        let pause = [(0, false), (0, false)];
        let (mut known, answers) = slots(each.chain(pause).chain([(50, true); 10]));
        let course = known.course(answers, 1_000_000).expect("answers enough");
        let mut gap = Gap {
            from_ns: 1_000_000_000,
            until_ns: 1_600_000_000,
            failed: false,
            unreachable: false,
        };
        assert_eq!(course.gaps, [gap]);
        assert_eq!((course.answered, course.empty), (20, 6));
        // Unless what was asked then was refused at once.
        (known.slots[17].failed, known.slots[17].in_vain) = (true, true);
        let course = known.course(answers, 1_000_000).expect("answers enough");
        (gap.until_ns, gap.failed, gap.unreachable) = (1_800_000_000, true, true);
        assert_eq!(course.gaps, [gap]);
        assert_eq!(course.availability(), Some(20.0 / 28.0));
        assert_eq!(course.down(), 8.0 / 28.0);
    }

    #[test]
    fn days_are_kept_in_longer_slots() {
        let mut slots = Slots::new();
        slots.start(START);
        slots.open(seen(0, true));
        for n in 1..=SLOTS_MAX as u64 {
            slots.close_due(START.plus(n * SLOT_NS), seen(100 * n, true));
        }
        assert_eq!(
            (slots.slots.len(), slots.slot_ns),
            (SLOTS_MAX / 2, 2 * SLOT_NS)
        );
        assert_eq!(slots.due(), START.plus((SLOTS_MAX as u64 + 2) * SLOT_NS));
    }
}

//! The wheel against a model that is plainly right: an ordered map.

use std::collections::BTreeMap;

use measure::random::Random;
use measure::time::Time;

use super::{TimerId, Wheel};

/// A length of any magnitude, from a nanosecond to `2^bits` of them.
fn length(random: &mut Random, bits: u64) -> u64 {
    let bits = random.below(bits + 1);
    random.next() & ((1u64 << bits) - 1)
}

fn expired(wheel: &mut Wheel<u32>, now: Time) -> Vec<u32> {
    let mut values = Vec::new();
    wheel.expire(now, &mut values);
    values
}

fn walk(seed: u64) {
    let mut random = Random::seeded(seed);
    let mut now = Time(length(&mut random, 62));
    let mut wheel = Wheel::new(now, 16);
    let mut model: BTreeMap<(Time, u32), TimerId> = BTreeMap::new();
    let mut stale = Vec::new();
    for value in 0..2_000u32 {
        match random.below(10) {
            0..=4 => {
                let at = match random.below(8) {
                    0 => Time(now.0.saturating_sub(length(&mut random, 40))),
                    _ => now.plus(length(&mut random, 44)),
                };
                model.insert((at, value), wheel.insert(at, value));
            }
            5..=6 if !model.is_empty() => {
                let index = random.below(model.len() as u64) as usize;
                let (&key, &id) = model
                    .iter()
                    .nth(index)
                    .expect("the index is below the length");
                model.remove(&key);
                assert_eq!(wheel.cancel(id), Some(key.1), "seed {seed}");
                stale.push(id);
            }
            _ => {
                // Often to the very deadline, where an error by one would show.
                now = match wheel.next_deadline() {
                    Some(deadline) if random.below(2) == 0 => deadline.max(now),
                    _ => now.plus(length(&mut random, 42)),
                };
                let mut got = expired(&mut wheel, now);
                let later = model.split_off(&(now.plus(1), 0));
                let mut due: Vec<u32> = model.keys().map(|&(_, value)| value).collect();
                stale.extend(model.values());
                model = later;
                got.sort_unstable();
                due.sort_unstable();
                assert_eq!(got, due, "seed {seed}, at {now:?}");
                if let Some(deadline) = wheel.next_deadline() {
                    assert!(deadline > now, "seed {seed}: a turn must make progress");
                }
            }
        }
        let earliest = model.keys().next().map(|&(at, _)| at);
        assert_eq!(wheel.len(), model.len(), "seed {seed}");
        assert_eq!(
            wheel.next_deadline().is_some(),
            earliest.is_some(),
            "seed {seed}"
        );
        assert!(
            wheel.next_deadline() <= earliest,
            "seed {seed}: the deadline came too late"
        );
    }
    for id in stale {
        assert_eq!(
            wheel.cancel(id),
            None,
            "seed {seed}: a stale identifier reached a timer"
        );
    }
}

#[test]
fn agrees_with_an_ordered_map_for_any_inserts_cancels_and_advances() {
    for seed in 1..=200 {
        walk(seed);
    }
}

#[test]
fn following_the_deadline_expires_a_far_timer_in_few_steps_and_not_before_its_time() {
    for at in [
        1,
        1 << 14,
        999_999_999,
        2_000_000_000,
        86_400_000_000_000,
        u64::MAX - 1,
    ] {
        let mut wheel = Wheel::new(Time(0), 1);
        wheel.insert(Time(at), 7);
        let mut steps = 0;
        let reached = loop {
            let deadline = wheel.next_deadline().expect("one timer is pending");
            steps += 1;
            assert!(steps <= 10, "{at} ns took more steps than there are levels");
            if expired(&mut wheel, deadline) == [7] {
                break deadline;
            }
        };
        assert_eq!(reached, Time(at));
    }
}

#[test]
fn a_timer_in_the_past_expires_at_the_next_turn() {
    let mut wheel = Wheel::new(Time(1 << 40), 1);
    wheel.insert(Time(5), 1);
    assert_eq!(wheel.next_deadline(), Some(Time(5)));
    assert_eq!(expired(&mut wheel, Time(1 << 40)), [1]);
    assert!(wheel.is_empty());
}

#[test]
fn a_timer_that_never_ends_holds_nothing_up() {
    let mut wheel = Wheel::new(Time(0), 2);
    let never = wheel.insert(Time::NEVER, 1);
    wheel.insert(Time(10), 2);
    assert_eq!(expired(&mut wheel, Time(1 << 50)), [2]);
    assert_eq!(wheel.cancel(never), Some(1));
    assert_eq!(wheel.next_deadline(), None);
}

#[test]
fn timers_of_later_ticks_are_reported_later() {
    let mut wheel = Wheel::new(Time(0), 64);
    for value in (0..50).rev() {
        wheel.insert(Time(u64::from(value) * 1_000_000), value);
    }
    let order = expired(&mut wheel, Time(1_000_000_000));
    assert_eq!(order, (0..50).collect::<Vec<u32>>());
}

#[test]
fn steady_use_allocates_nothing() {
    let mut wheel = Wheel::new(Time(0), 100);
    let mut values = Vec::with_capacity(100);
    let capacity = wheel.entries.capacity();
    for round in 0..1_000u64 {
        for value in 0..100u32 {
            wheel.insert(Time(round * 1_000_000 + u64::from(value)), value);
        }
        values.clear();
        wheel.expire(Time(round * 1_000_000 + 100), &mut values);
        assert_eq!(values.len(), 100);
    }
    assert_eq!(wheel.entries.capacity(), capacity);
}

//! What round trips say of a clock.

use fleet::clock::{Offset, ROUNDS, Rounds};
use measure::random::Random;
use measure::time::Time;

#[test]
fn the_shortest_round_trip_says_how_far_a_clock_is_ahead_and_how_sure_that_is() {
    for seed in 0..500 {
        let mut random = Random::seeded(seed);
        let ahead = random.below(1 << 40) as i64 - (1 << 39);
        let (mut rounds, mut now) = (Rounds::default(), 1u64 << 50);
        let mut shortest = u64::MAX;
        for _ in 0..ROUNDS {
            let (there, back) = (random.length(30), random.length(30));
            let heard = now.checked_add_signed(ahead).unwrap() + there;
            rounds.add(Time(now), Time(now + there + back), heard);
            shortest = shortest.min(there + back);
            now += there + back + random.length(30);
        }
        let offset = rounds.offset().unwrap();
        assert_eq!(rounds.taken(), ROUNDS);
        assert_eq!(offset.error_ns, shortest.div_ceil(2), "seed {seed}");
        let off = offset.ahead_ns.abs_diff(ahead);
        assert!(off <= offset.error_ns, "seed {seed}: {off} of {offset:?}");
    }
}

#[test]
fn drift_is_what_a_clock_gained_between_two_comparisons() {
    let at = |ahead_ns, at_ns| Offset {
        ahead_ns,
        error_ns: 0,
        at_ns,
    };
    let drift = at(-500, 1_000_000_000).drift_ppm(&at(49_500, 2_000_000_000));
    assert_eq!(drift, Some(50.0));
    assert_eq!(at(1, 5).drift_ppm(&at(2, 5)), None);
    assert_eq!(at(-7, 0).theirs(Time(6)), None);
    assert_eq!(at(-7, 0).theirs(Time(8)), Some(Time(1)));
}

#[test]
fn a_clock_that_nobody_has_is_no_answer() {
    let mut rounds = Rounds::default();
    rounds.add(Time(5), Time(9), u64::MAX);
    assert_eq!((rounds.taken(), rounds.offset()), (0, None));
}

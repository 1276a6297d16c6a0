use super::*;
use crate::random::Random;
use crate::tally::{Loop, Opened, Tally};
use crate::time::Time;

/// What a worker may have counted: everything that there is to count, by chance.
fn drawn(seed: u64) -> Counted {
    let mut random = Random::seeded(seed);
    let start = Time(1_000_000_000);
    let mut tally = Tally::new(Loop::Open);
    tally.start(start);
    tally.steps.resize_with(3, StepTally::default);
    let kinds = ErrorKind::all();
    for _ in 0..random.below(400) {
        let (sent, done) = (random.length(20), random.length(34));
        let times = (start, start.plus(sent), start.plus(sent + done));
        let status = 100 + random.below(900) as u16;
        match random.below(6) {
            0 => tally.completed(times.0, times.1, times.2, status),
            1 => tally.called(times.0, times.1, times.2, 200, random.below(20) as u8),
            2 => tally.failed(kinds[random.index(kinds.len())]),
            3 => tally.censored(times.0, Some(times.1), times.2),
            4 => tally.connected(random.length(30), Opened::AfterDeath),
            _ => tally.closes.add(Some(1000 + random.below(20) as u16)),
        }
        let step = &mut tally.steps[random.index(3)];
        step.answered(times, Some(status), None, random.below(2) == 0);
        step.called(random.below(20) as u8);
        step.failed(kinds[random.index(kinds.len())]);
        tally.bytes_received += random.below(1_000_000);
        tally.drain.nanoseconds = random.below(1_000);
        tally.drain.bytes_sent += random.below(1_000);
        tally.waits.busy_ns += random.below(1_000_000);
        tally.waits.refused_ns = tally.waits.refused_ns.wrapping_sub(random.below(1_000));
        tally.waits.counts.late += random.below(3);
    }
    if random.below(2) == 0 {
        let terms = Terms {
            version: "TLS 1.3".into(),
            cipher: "TLS13_AES_128_GCM_SHA256".into(),
            alpn: Some("h2".into()),
        };
        tally.shook_hands(random.length(20), random.below(2) == 0, terms);
    }
    tally.counted().clone()
}

#[test]
fn it_comes_back_as_it_was_and_adds_up_as_what_it_holds_does() {
    for seed in 0..60 {
        let (one, other) = (drawn(seed), drawn(seed + 1000));
        let mut packed = Packed::of(&one);
        assert_eq!(
            Packed::of(&packed.unpack().unwrap()),
            packed,
            "seed {seed}: unpacking lost something"
        );
        packed.merge(&Packed::of(&other)).unwrap();
        let mut both = one.clone();
        both.merge(&other);
        assert_eq!(packed, Packed::of(&both), "seed {seed}");
        let unpacked = packed.unpack().unwrap();
        assert_eq!(unpacked.sums(), both.sums(), "seed {seed}");
        assert_eq!(unpacked.response, both.response, "seed {seed}");
        assert_eq!(unpacked.waits.total_ns(), both.waits.total_ns());
    }
}

#[test]
fn it_is_no_larger_than_what_was_counted() {
    let json = |counted: &Counted| serde_json::to_string(&Packed::of(counted)).unwrap().len();
    let (nothing, something) = (json(&Counted::new()), json(&drawn(1)));
    assert!(
        nothing < 2_500 && something > nothing,
        "{nothing} and {something}"
    );
}

#[test]
fn what_nobody_can_have_counted_is_refused() {
    let spoils: [fn(&mut Packed); 6] = [
        |packed| packed.statuses.extend([(1000, 1)]),
        |packed| packed.errors.extend([(200, 1)]),
        |packed| packed.censored = u64::MAX,
        |packed| packed.statuses.extend([(200, u64::MAX), (201, 1)]),
        |packed| packed.steps[2].errors.extend([(99, 1)]),
        |packed| packed.steps[0].statuses.extend([(200, u64::MAX), (9, 1)]),
    ];
    for (place, spoil) in spoils.into_iter().enumerate() {
        let mut packed = Packed::of(&drawn(7));
        packed.check().unwrap();
        spoil(&mut packed);
        assert!(
            packed.check().is_err() && packed.unpack().is_err(),
            "{place}"
        );
    }
}

#[test]
fn a_sum_that_is_too_large_is_an_error_and_no_panic() {
    let spoils: [fn(&mut Packed); 5] = [
        |packed| packed.completed = u64::MAX,
        |packed| packed.waits.late_ns = u64::MAX,
        |packed| packed.waits.counts.late = u64::MAX,
        |packed| packed.drain.bytes_sent = u64::MAX,
        |packed| packed.grpc_statuses = [u64::MAX; GRPC_CODES],
    ];
    for (place, spoil) in spoils.into_iter().enumerate() {
        let mut same = Packed::of(&drawn(7));
        same.completed += 1;
        same.waits.late_ns += 1;
        same.waits.counts.late += 1;
        same.drain.bytes_sent += 1;
        same.grpc_statuses[3] += 1;
        let mut packed = same.clone();
        spoil(&mut packed);
        let mut sum = same.clone();
        assert!(sum.merge(&packed).is_err(), "{place}");
        assert!(packed.merge(&same).is_err(), "{place}");
    }
}

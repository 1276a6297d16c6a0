//! Time, sleeping and waking.

use engine::{Close, Driver, Until};
use measure::time::Time;

use crate::bench::{Bench, Open};

pub fn a_wait_ends_at_its_deadline_and_not_before<D: Driver>(open: Open<'_, D>) {
    let mut bench = Bench::new(open);
    for length_ns in [1, 1_000, 250_000, 1_000_000, 5_500_000] {
        let deadline = bench.driver.clock().plus(length_ns);
        let mut turns = 0;
        while bench.driver.now() < deadline {
            bench.turn_until(Until::Time(deadline));
            turns += 1;
            assert!(
                turns < 100,
                "{length_ns} ns: it wakes again and again for nothing"
            );
        }
        let late_ns = bench.driver.now().since(deadline);
        assert!(late_ns < 2_000_000_000, "{length_ns} ns: {late_ns} ns late");
    }
}

pub fn a_deadline_in_the_past_does_not_sleep<D: Driver>(open: Open<'_, D>) {
    let mut bench = Bench::new(open);
    let before = bench.driver.clock();
    bench.turn_until(Until::Time(Time(0)));
    bench.turn_until(Until::Time(before));
    assert!(bench.driver.now().since(before) < 2_000_000_000);
}

pub fn a_wait_for_now_does_not_sleep_and_time_goes_on<D: Driver>(open: Open<'_, D>) {
    let mut bench = Bench::new(open);
    let begin = bench.driver.clock();
    let deadline = begin.plus(300_000);
    let mut turns = 0u64;
    let mut last = bench.driver.now();
    while bench.driver.now() < deadline {
        bench.turn_until(Until::Now);
        assert!(bench.driver.now() >= last, "time runs backwards");
        assert!(
            bench.driver.clock() >= bench.driver.now(),
            "the clock is behind the last turn"
        );
        last = bench.driver.now();
        turns += 1;
        assert!(turns < 10_000_000, "a spin that never reaches its time");
    }
    assert!(turns > 1, "300 µs went by in one turn for now");
}

pub fn a_wait_ends_as_soon_as_something_happens<D: Driver>(open: Open<'_, D>) {
    let mut bench = Bench::new(open);
    let (client, server) = bench.pair();
    bench.until("quiet", |bench| bench.completions.is_empty());
    bench.send(client, b"wake up");
    let deadline = bench.driver.clock().plus(60_000_000_000);
    while bench.received_len(server) < 7 {
        bench.turn_until(Until::Time(deadline));
    }
    assert!(bench.driver.now() < deadline, "it slept over the bytes");
}

pub fn a_wake_before_the_sleep_ends_it<D: Driver>(open: Open<'_, D>) {
    let mut bench = Bench::new(open);
    for _ in 0..50 {
        let waker = bench.driver.waker();
        std::thread::spawn(move || waker.wake())
            .join()
            .expect("the waking thread ends well");
        bench.turn_until(Until::Event);
    }
    // Many wakes are one, and a wake is used up by the turn that it ended.
    let waker = bench.driver.waker();
    waker.wake();
    waker.wake();
    bench.turn_until(Until::Event);
    let deadline = bench.driver.clock().plus(2_000_000);
    let mut turns = 0;
    while bench.driver.now() < deadline {
        bench.turn_until(Until::Time(deadline));
        turns += 1;
        assert!(turns < 100, "an old wake ends every sleep");
    }
}

pub fn a_wake_ends_the_sleep_whatever_else_the_turn_brings<D: Driver>(open: Open<'_, D>) {
    let mut bench = Bench::new(open);
    let (_, address) = bench.listen();
    for round in 1..=10 {
        let client = bench.connect(&address);
        // What only a driver within this one has to do, such as shaking hands, is no completion;
        // a wake that comes in the same turn is the owner's all the same.
        let mut turns_after = 0;
        while turns_after < 8 {
            bench.driver.waker().wake();
            let deadline = bench.driver.clock().plus(10_000_000_000);
            bench.turn_until(Until::Time(deadline));
            assert!(bench.driver.now() < deadline, "the wake was lost");
            let stands = bench.story(client).connected && bench.accepted.len() == round;
            turns_after += u32::from(stands);
        }
        bench.close(client, Close::Graceful);
        bench.close(bench.accepted[round - 1], Close::Graceful);
    }
}

/// Where time is virtual nobody sleeps while another thread runs, so this is for the kernel's.
pub fn a_wake_from_another_thread_ends_a_sleep<D: Driver>(open: Open<'_, D>) {
    let mut bench = Bench::new(open);
    let waker = bench.driver.waker();
    let (go, gone) = std::sync::mpsc::channel();
    let thread = std::thread::spawn(move || {
        // Each wake races with the beginning of a sleep, now before it and now after.
        for () in gone {
            waker.wake();
        }
    });
    for _ in 0..300 {
        go.send(()).expect("the other thread listens");
        let deadline = bench.driver.clock().plus(30_000_000_000);
        bench.turn_until(Until::Time(deadline));
        assert!(bench.driver.now() < deadline, "the wake was lost");
    }
    drop(go);
    thread.join().expect("the waking thread ends well");
    // It may outlive the driver.
    let waker = bench.driver.waker();
    drop(bench);
    waker.wake();
}

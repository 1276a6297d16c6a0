//! To be watched takes no memory of a worker: it swaps buffers that were there before.
#![allow(unsafe_code)] // An allocator is an unsafe trait; this one only counts.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::iter;

use measure::counters::ErrorKind;
use measure::interval::{Collector, Feed};
use measure::tally::{Counted, Loop, StepTally, Tally};
use measure::time::Time;

struct Counting;

thread_local! {
    /// Allocations of this thread. Const-initialised, so that counting allocates nothing.
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

// SAFETY: every call goes on to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // A thread that ends has no counter any more.
        let _ = ALLOCATIONS.try_with(|count| count.set(count.get() + 1));
        // SAFETY: the caller's promises are handed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: the caller's promises are handed on.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

const START: Time = Time(1_000_000_000);
const SECOND_NS: u64 = 1_000_000_000;
const STEPS: usize = 3;
const SECONDS: u64 = 1_000;
/// Who takes what was handed over comes so seldom, and finds buffers joined.
const TAKEN_EVERY: u64 = 7;
const EXCHANGES: u64 = 50;

/// What a worker does in a second: it counts, and hands over at the end of it.
fn work(second: u64, tally: &mut Tally, feed: &mut Feed) {
    let begin = START.plus(second * SECOND_NS);
    for n in 0..EXCHANGES {
        let due = begin.plus(n * SECOND_NS / EXCHANGES);
        // Every second brings times that were in none before.
        let done = due.plus((second + 1) * (n + 1) * 1_000);
        tally.intended += 1;
        tally.lateness.record(n);
        let step = (n % STEPS as u64) as usize;
        if n % 10 == 9 {
            tally.failed(ErrorKind::Timeout);
            tally.steps[step].failed(ErrorKind::Timeout);
        } else {
            tally.completed(due, due, done, 200);
            tally.steps[step].answered((due, due, done), Some(200), None, false);
        }
    }
    feed.pass(begin.plus(SECOND_NS), tally, 7);
}

#[test]
fn a_worker_that_is_watched_takes_no_memory_however_late_its_buffers_come_back() {
    let with_steps = |counted: &mut Counted| {
        counted.steps.resize_with(STEPS, StepTally::default);
    };
    let mut empty = Counted::new();
    with_steps(&mut empty);
    let mut tally = Tally::new(Loop::Open);
    with_steps(&mut tally);
    let (mut collector, mut feeds) = Collector::new(iter::once((empty, None)));
    let mut feed = feeds.pop().expect("the one worker's");
    feed.begin(START);
    tally.start(START);
    let (mut taken, mut intervals) = (0, 0);
    let mut take = |collector: &mut Collector| {
        collector.turn(&mut |interval| {
            taken += interval.counted.completed + interval.counted.failed;
            intervals += 1;
        });
    };
    for second in 0..SECONDS {
        let before = ALLOCATIONS.get();
        work(second, &mut tally, &mut feed);
        assert_eq!(ALLOCATIONS.get() - before, 0, "in second {second}");
        if second % TAKEN_EVERY == TAKEN_EVERY - 1 {
            take(&mut collector);
        }
    }
    let end = START.plus(SECONDS * SECOND_NS);
    feed.close(end, &mut tally, 7);
    feed.finish(end, &mut tally, 7);
    take(&mut collector);
    assert_eq!(taken, SECONDS * EXCHANGES);
    assert!(intervals < SECONDS && intervals > SECONDS / TAKEN_EVERY);
}

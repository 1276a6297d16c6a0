//! Sleeping outside of the driver, on its handle. For drivers of the kernel's clock only.
//!
//! Time decides nothing here: a handle that isn't readable within [`LOST`] never will be.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use engine::{Close, Driver, SocketOptions, Until};
use measure::time::Time;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use crate::bench::{Bench, Open, assert_same, pattern};
use crate::outside::{peer, tcp};

/// Far longer than anything here takes.
const LOST: Timespec = Timespec {
    tv_sec: 20,
    tv_nsec: 0,
};
const AT_ONCE: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 0,
};
const ROUNDS_MAX: usize = 1_000_000;

/// A driver and the handle that its owner sleeps on.
struct Sleeper<D> {
    bench: Bench<D>,
    handle: OwnedFd,
}

impl<D: Driver> Sleeper<D> {
    fn new(open: Open<'_, D>) -> Sleeper<D> {
        let mut bench = Bench::new(open);
        let handle = bench.driver.wake_handle().expect("a handle");
        Sleeper { bench, handle }
    }

    fn is_readable(&self, timeout: &Timespec) -> bool {
        let mut asked = [PollFd::new(&self.handle, PollFlags::IN)];
        loop {
            match poll(&mut asked, Some(timeout)) {
                Err(Errno::INTR) => {}
                other => return other.expect("the kernel looks") == 1,
            }
        }
    }

    fn doze(&mut self) -> Option<Time> {
        self.bench.driver.doze().expect("the driver works")
    }

    /// A turn that doesn't sleep, and before it a sleep on the handle, unless there is something to
    /// do. No case lasts until a driver's own deadline.
    fn turn(&mut self) {
        if self.doze().is_some() {
            assert!(self.is_readable(&LOST), "nothing ended the sleep");
        }
        self.bench.turn_until(Until::Now);
    }

    fn until(&mut self, what: &str, mut done: impl FnMut(&Bench<D>) -> bool) {
        for _ in 0..ROUNDS_MAX {
            if done(&self.bench) {
                return;
            }
            self.turn();
        }
        panic!("not within {ROUNDS_MAX} turns: {what}");
    }

    /// Turns until there is nothing to do and the handle isn't readable.
    fn settle(&mut self) {
        for _ in 0..ROUNDS_MAX {
            if self.doze().is_some() && !self.is_readable(&AT_ONCE) {
                return;
            }
            self.bench.turn_until(Until::Now);
        }
        panic!("the handle never gets quiet");
    }
}

pub fn a_handle_is_quiet_while_nothing_happens<D: Driver>(open: Open<'_, D>) {
    let mut sleeper = Sleeper::new(open);
    sleeper.bench.pair();
    sleeper.bench.some_turns();
    sleeper.settle();
    let mut disturbed = 0;
    for _ in 0..1_000 {
        let may_sleep = sleeper.doze().is_some();
        if !may_sleep || sleeper.is_readable(&AT_ONCE) {
            // A sleep may end early at times; that is all that is allowed.
            disturbed += 1;
            sleeper.bench.turn_until(Until::Now);
        } else if disturbed % 2 == 0 {
            sleeper.bench.turn_until(Until::Now);
        }
    }
    assert!(
        disturbed < 10,
        "{disturbed} of 1000 sleeps had no reason to end"
    );
}

pub fn a_wake_makes_the_handle_readable<D: Driver>(open: Open<'_, D>) {
    let mut sleeper = Sleeper::new(open);
    let duplicate = sleeper.bench.driver.wake_handle().expect("another handle");
    for _ in 0..20 {
        sleeper.settle();
        let waker = sleeper.bench.driver.waker();
        std::thread::spawn(move || waker.wake())
            .join()
            .expect("the waking thread ends well");
        assert!(sleeper.is_readable(&LOST), "the wake was lost");
        sleeper.handle = duplicate.try_clone().expect("a duplicate");
        assert!(sleeper.is_readable(&LOST), "every handle is the same");
        sleeper.bench.turn_until(Until::Now);
        assert!(sleeper.bench.completions.has_wake());
    }
}

pub fn what_is_there_already_forbids_a_sleep<D: Driver>(open: Open<'_, D>) {
    let mut sleeper = Sleeper::new(open);
    let (client, server) = sleeper.bench.pair();
    for round in 1..=20 {
        sleeper.settle();
        sleeper.bench.driver.waker().wake();
        assert_eq!(sleeper.doze(), None, "a wake waits");
        assert_eq!(sleeper.doze(), None, "a wake still waits");
        sleeper.settle();
        sleeper.bench.send(client, b"bytes");
        assert_eq!(sleeper.doze(), None, "the send has ended");
        sleeper.until("the bytes", |bench| bench.received_len(server) == 5 * round);
    }
}

pub fn all_of_an_exchange_is_noticed_by_sleeping_on_the_handle<D: Driver>(open: Open<'_, D>) {
    let mut sleeper = Sleeper::new(open);
    let (_, address) = sleeper.bench.listen();
    for round in 0..10 {
        let client = sleeper.bench.connect(&address);
        sleeper.until("both ends stand", |bench| {
            bench.story(client).connected && bench.accepted.len() > round
        });
        let server = sleeper.bench.accepted[round];
        // More than the buffers of both sockets hold.
        let bytes = pattern(12_000_000, round as u64);
        sleeper.bench.send(client, &bytes);
        sleeper.until("the request", |bench| {
            bench.received_len(server) == bytes.len() && bench.story(client).sent == 1
        });
        sleeper.bench.send(server, b"answer");
        sleeper.until("the answer", |bench| bench.received_len(client) == 6);
        sleeper.bench.close(client, Close::Graceful);
        sleeper.until("the end", |bench| bench.story(server).ended);
        assert_same(&sleeper.bench.story(server).received, &bytes, "the request");
        sleeper.bench.close(server, Close::Graceful);
        sleeper.bench.forget_closed();
    }
}

pub fn each_of_many_thousand_wakes_ends_a_sleep<D: Driver>(open: Open<'_, D>) {
    const WAKES: u32 = 10_000;
    let mut sleeper = Sleeper::new(open);
    let waker = sleeper.bench.driver.waker();
    let asked = Arc::new(AtomicU32::new(0));
    let seen = Arc::clone(&asked);
    // Each wake races with the beginning of a sleep, now before it and now after.
    let thread = std::thread::spawn(move || {
        let mut done = 0;
        while Arc::strong_count(&seen) > 1 {
            if seen.load(Ordering::Acquire) == done {
                std::thread::yield_now();
                continue;
            }
            for _ in 0..done % 512 {
                std::hint::spin_loop();
            }
            waker.wake();
            done += 1;
        }
    });
    for wake in 1..=WAKES {
        asked.store(wake, Ordering::Release);
        let mut turns = 0;
        loop {
            sleeper.turn();
            if sleeper.bench.completions.has_wake() {
                break;
            }
            turns += 1;
            assert!(turns < 10_000, "wake {wake}: sleeps end for nothing");
        }
    }
    drop(asked);
    thread.join().expect("the waking thread ends well");
}

pub fn a_handle_that_is_not_slept_on_costs_no_call<D: Driver>(open: Open<'_, D>) {
    let enters = |asks: bool| {
        let mut bench = Bench::new(open);
        let handle = asks.then(|| bench.driver.wake_handle().expect("a handle"));
        let before = bench.driver.counters().enters;
        for _ in 0..200 {
            bench.driver.waker().wake();
            bench.turn_until(Until::Event);
            assert!(bench.completions.has_wake());
            for _ in 0..3 {
                bench.turn_until(Until::Now);
            }
        }
        drop(handle);
        bench.driver.counters().enters - before
    };
    assert_eq!(enters(true), enters(false));
}

pub fn a_connection_makes_the_handle_readable<D: Driver>(open: Open<'_, D>) {
    let mut sleeper = Sleeper::new(open);
    let (_, address) = sleeper.bench.listen();
    for count in 1..=10 {
        sleeper.settle();
        let _stream = TcpStream::connect(tcp(&address)).expect("the backlog takes it");
        assert!(sleeper.is_readable(&LOST), "nobody noticed the connection");
        assert_eq!(sleeper.doze(), None, "the connection is there already");
        sleeper.until("the accept", |bench| bench.accepted.len() == count);
    }
    sleeper.settle();
}

pub fn bytes_and_their_end_make_the_handle_readable<D: Driver>(open: Open<'_, D>) {
    let mut sleeper = Sleeper::new(open);
    let (mut stream, server) = peer(&mut sleeper.bench);
    for count in 1..=10 {
        sleeper.settle();
        stream.write_all(b"bytes").expect("there is room");
        assert!(sleeper.is_readable(&LOST), "nobody noticed the bytes");
        assert_eq!(sleeper.doze(), None, "the bytes are there already");
        sleeper.until("the bytes", |bench| bench.received_len(server) == 5 * count);
    }
    sleeper.settle();
    drop(stream);
    assert!(sleeper.is_readable(&LOST), "nobody noticed the end");
    sleeper.until("the end", |bench| bench.story(server).ended);
}

pub fn the_end_of_a_stuck_send_makes_the_handle_readable<D: Driver>(open: Open<'_, D>) {
    let mut sleeper = Sleeper::new(open);
    let options = SocketOptions {
        send_buffer_bytes: Some(16_384),
        ..SocketOptions::default()
    };
    let (_, address) = sleeper.bench.listen_with(options);
    let mut stream = TcpStream::connect(tcp(&address)).expect("the backlog takes it");
    sleeper.until("the accept", |bench| bench.accepted.len() == 1);
    let server = sleeper.bench.accepted[0];
    let bytes = pattern(20_000_000, 7);
    sleeper.bench.send(server, &bytes);
    sleeper.settle();
    assert_eq!(sleeper.bench.story(server).sent, 0, "nobody reads it");
    let reader = std::thread::spawn(move || {
        let mut received = vec![0; 20_000_000];
        stream.read_exact(&mut received).map(|()| received)
    });
    sleeper.until("the send ends", |bench| bench.story(server).sent == 1);
    let received = reader.join().expect("the reader ends well");
    assert_same(&received.expect("no reset"), &bytes, "a long answer");
    sleeper.settle();
}

pub fn each_of_many_thousand_answers_ends_a_sleep<D: Driver>(open: Open<'_, D>) {
    const ANSWERS: usize = 5_000;
    let mut sleeper = Sleeper::new(open);
    let (mut stream, server) = peer(&mut sleeper.bench);
    stream.set_nodelay(true).expect("an option of TCP");
    let echo = std::thread::spawn(move || {
        let mut byte = [0];
        while stream.read_exact(&mut byte).is_ok() {
            stream.write_all(&byte).expect("there is room");
        }
    });
    for answer in 1..=ANSWERS {
        sleeper.bench.send(server, b"?");
        sleeper.until("the answer", |bench| {
            let story = bench.story(server);
            story.received.len() == answer && story.sent == answer
        });
    }
    sleeper.bench.close(server, Close::Graceful);
    sleeper.bench.some_turns();
    echo.join().expect("the peer ends well");
}

/// A deadline of the driver's own, such as that of a closed socket whose peer reads nothing, is
/// the latest end of a sleep.
pub fn a_driver_says_when_it_must_be_back<D: Driver>(open: Open<'_, D>) {
    let mut sleeper = Sleeper::new(open);
    let (server_side, peers_side) = sleeper.bench.pair();
    sleeper.bench.some_turns();
    sleeper.settle();
    assert_eq!(sleeper.doze(), Some(Time::NEVER));
    let armed = sleeper.bench.driver.arm_receive(peers_side, false);
    armed.expect("it is open");
    sleeper.bench.send(server_side, &pattern(64_000_000, 9));
    sleeper.bench.some_turns();
    let before = sleeper.bench.driver.clock();
    sleeper.bench.close(server_side, Close::Graceful);
    sleeper.settle();
    let until = sleeper.doze().expect("nothing happens");
    let patience_ns = until.since(before);
    assert!(patience_ns <= 60_000_000_000, "{patience_ns} ns");
}

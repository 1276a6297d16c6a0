//! What this host allows at all: how long it stops threads that only look at the clock, and how
//! long a byte takes there and back between two threads that do nothing else. No server and no
//! generator can do better than these.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;

use engine::cpu;
use measure::time::Time;

use super::Result;

/// How long the clock is watched.
const WATCH_NS: u64 = 2_000_000_000;
/// From here on a step of the clock is a stall of the thread.
const STALL_NS: u64 = 100_000;
/// Bytes go to and fro this far apart, as at 2,000 requests a second.
const APART_NS: u64 = 500_000;
const ROUND_TRIPS: usize = 2_000;

/// Stalls of the worse of two threads, one on each core.
pub(super) struct Stalls {
    /// The longest one, in microseconds.
    pub(super) longest_us: f64,
    /// The share of the time that all of them took, in percent.
    pub(super) share_percent: f64,
}

/// Watches the clock on both cores at once.
pub(super) fn stalls() -> Result<Stalls> {
    let watchers = [0, 1].map(|core| thread::spawn(move || watch(core)));
    let mut worst = Stalls {
        longest_us: 0.0,
        share_percent: 0.0,
    };
    for watcher in watchers {
        let (longest_ns, sum_ns) = watcher
            .join()
            .map_err(|_| "a thread that watched the clock panicked")??;
        worst.longest_us = worst.longest_us.max(longest_ns as f64 / 1e3);
        let share = sum_ns as f64 / WATCH_NS as f64 * 100.0;
        worst.share_percent = worst.share_percent.max(share);
    }
    Ok(worst)
}

/// The longest stall on `core`, and the sum of all, in nanoseconds.
fn watch(core: usize) -> Result<(u64, u64)> {
    cpu::pin(core).map_err(|why| why.to_string())?;
    let start = Time::now();
    let (mut last, mut longest, mut sum) = (start, 0, 0);
    while last.since(start) < WATCH_NS {
        let now = Time::now();
        let step = now.since(last);
        if step >= STALL_NS {
            longest = longest.max(step);
            sum += step;
        }
        last = now;
    }
    Ok((longest, sum))
}

/// The median time there and back over loopback, in microseconds: a thread on core 1 that never
/// sleeps, and one on core 0 that sleeps until a byte comes, as a server at a low rate does.
pub(super) fn round_trip_us() -> Result<f64> {
    let failed = |why: std::io::Error| format!("the bare round trip over loopback failed: {why}");
    let listener = TcpListener::bind("127.0.0.1:0").map_err(failed)?;
    let address = listener.local_addr().map_err(failed)?;
    let echo = thread::spawn(move || -> std::io::Result<()> {
        let _ = cpu::pin(0);
        let (mut stream, _) = listener.accept()?;
        stream.set_nodelay(true)?;
        let mut byte = [0];
        while stream.read(&mut byte)? > 0 {
            stream.write_all(&byte)?;
        }
        Ok(())
    });
    let times = thread::spawn(move || -> std::io::Result<Vec<u64>> {
        let _ = cpu::pin(1);
        let mut stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        stream.set_nonblocking(true)?;
        (0..ROUND_TRIPS)
            .map(|_| one_round_trip(&mut stream))
            .collect()
    });
    let times = times.join().map_err(|_| "the bare client panicked")?;
    let mut times = times.map_err(failed)?;
    echo.join()
        .map_err(|_| "the bare echo panicked")?
        .map_err(failed)?;
    times.sort_unstable();
    Ok(times[times.len() / 2] as f64 / 1e3)
}

fn one_round_trip(stream: &mut TcpStream) -> std::io::Result<u64> {
    let start = Time::now();
    stream.write_all(&[1])?;
    let mut byte = [0];
    let done = loop {
        match stream.read(&mut byte) {
            Ok(0) => return Err(std::io::ErrorKind::UnexpectedEof.into()),
            Ok(_) => break Time::now(),
            Err(why) if why.kind() == std::io::ErrorKind::WouldBlock => {}
            Err(why) => return Err(why),
        }
    };
    while Time::now().since(start) < APART_NS {
        std::hint::spin_loop();
    }
    Ok(done.since(start))
}

//! A gate in front of a server that is simulated: what it makes of overload, exactly the same each
//! time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use measure::random::Random;
use measure::time::Time;

use crate::gate::{Arrival, Gate, Settings, Slot};
use crate::limit::Outcome;
use crate::queue::Priority;

const SECOND: u64 = 1_000_000_000;
/// An answer is worth something within this time from when its request came.
const DEADLINE_NS: u64 = SECOND / 20;
/// There and back.
const NETWORK_NS: u64 = SECOND / 5000;

/// A server that works on so many requests at once, each for a time that is drawn around a mean,
/// first come first served.
struct Server {
    free_at: BinaryHeap<Reverse<u64>>,
    mean_ns: f64,
    random: Random,
}

impl Server {
    fn new(threads: usize, mean_ns: u64) -> Server {
        Server {
            free_at: (0..threads).map(|_| Reverse(0)).collect(),
            mean_ns: mean_ns as f64,
            random: Random::seeded(7),
        }
    }

    /// When one that comes now is answered.
    fn take(&mut self, now: u64) -> u64 {
        let Reverse(free_at) = self.free_at.pop().expect("threads");
        // Half of it fixed, half of it exponential.
        let takes_ns = self.mean_ns * (0.5 + 0.5 * self.random.exponential());
        let done = free_at.max(now) + takes_ns as u64;
        self.free_at.push(Reverse(done));
        done + NETWORK_NS
    }
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Happens {
    Ends { came: u64, began: u64 },
    Arrives,
}

/// What a run has seen: how many were answered in time in each tenth of a second.
struct Seen {
    in_time: Vec<u32>,
}

impl Seen {
    /// Answers in time a second, between two seconds.
    fn goodput(&self, from_s: usize, to_s: usize) -> f64 {
        let sum: u32 = self.in_time[from_s * 10..to_s * 10].iter().sum();
        f64::from(sum) / (to_s - from_s) as f64
    }
}

/// Runs Poisson arrivals at the rate that `rate` says of each moment. Without a gate where that is
/// `None`.
fn run(
    settings: Option<Settings>,
    server: &mut Server,
    seconds: u64,
    rate: impl Fn(u64) -> f64,
) -> Seen {
    let mut gate: Option<Gate<u64>> = settings.map(|settings| Gate::new(settings, Time(0)));
    let mut events = BinaryHeap::from([Reverse((1, Happens::Arrives))]);
    let mut random = Random::seeded(3);
    let mut seen = Seen {
        in_time: vec![0; seconds as usize * 10],
    };
    while let Some(Reverse((now, happens))) = events.pop() {
        if now >= seconds * SECOND {
            break;
        }
        let mut begins = Vec::new();
        match happens {
            Happens::Arrives => {
                let next = now + (random.exponential() / rate(now) * 1e9) as u64 + 1;
                events.push(Reverse((next, Happens::Arrives)));
                match &mut gate {
                    None => begins.push(now),
                    Some(gate) => {
                        if let Arrival::Begins(came) = gate.arrive(Priority::Normal, now, Time(now))
                        {
                            begins.push(came);
                        }
                    }
                }
            }
            Happens::Ends { came, began } => {
                seen.in_time[(now / (SECOND / 10)) as usize] +=
                    u32::from(now - came <= DEADLINE_NS);
                if let Some(gate) = &mut gate {
                    gate.end(&mut Slot::Held(Time(began)), Time(now), Outcome::Answered);
                }
            }
        }
        if let Some(gate) = &mut gate {
            while gate.expired(Time(now)).is_some() {}
            begins.extend(std::iter::from_fn(|| gate.next(Time(now))));
        }
        for came in begins {
            let done = server.take(now);
            events.push(Reverse((done, Happens::Ends { came, began: now })));
        }
    }
    seen
}

/// Servers with the same capacity, 1,000 a second, of different kinds.
const SERVERS: [(usize, u64); 4] = [
    (1, SECOND / 1000),
    (4, SECOND / 250),
    (16, SECOND * 16 / 1000),
    (2, SECOND / 500),
];

#[test]
fn goodput_stays_near_its_peak_up_to_three_times_what_the_server_can_take() {
    for (threads, mean_ns) in SERVERS {
        let goodput: Vec<f64> = [0.2, 0.5, 0.8, 0.9, 1.0, 1.2, 1.5, 2.0, 3.0]
            .map(|load| {
                let mut server = Server::new(threads, mean_ns);
                let seen = run(Some(Settings::default()), &mut server, 20, |_| {
                    load * 1000.0
                });
                seen.goodput(5, 20)
            })
            .to_vec();
        let peak = goodput.iter().copied().fold(0.0, f64::max);
        let beyond = &goodput[4..];
        let worst = beyond.iter().copied().fold(f64::MAX, f64::min);
        assert!(worst >= 0.9 * peak, "{threads} × {mean_ns} ns: {goodput:?}");
        assert!(peak >= 900.0, "{threads} × {mean_ns} ns: {goodput:?}");
        assert!(
            goodput[1] >= 495.0,
            "nothing is refused at half: {goodput:?}"
        );
    }
}

#[test]
fn without_a_gate_nothing_is_in_time_beyond_what_the_server_can_take() {
    let seen = run(None, &mut Server::new(1, SECOND / 1000), 20, |_| 1200.0);
    assert!(seen.goodput(10, 20) < 10.0);
}

#[test]
fn a_step_to_one_point_four_times_the_capacity_is_over_within_a_second() {
    for (threads, mean_ns) in SERVERS {
        let mut server = Server::new(threads, mean_ns);
        let step = |now: u64| if now < 5 * SECOND { 700.0 } else { 1400.0 };
        let seen = run(Some(Settings::default()), &mut server, 12, step);
        let settled = seen.goodput(8, 12);
        let after = seen.goodput(6, 7);
        assert!(after >= 0.9 * settled, "{threads}: {after} of {settled}");
        assert!(settled >= 850.0, "{threads} x {mean_ns}: {settled}");
    }
}

#[test]
fn a_limit_that_is_reached_for_long_does_not_drift() {
    let mut server = Server::new(4, SECOND / 250);
    let seen = run(Some(Settings::default()), &mut server, 120, |_| 2000.0);
    let (early, late) = (seen.goodput(5, 15), seen.goodput(110, 120));
    assert!(late >= 0.95 * early, "{late} of {early}");
}

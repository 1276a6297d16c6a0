//! A whole worker in the simulated network: what fuzz targets drive, and compiled for them alone
//! (`--cfg fuzzing`). Virtual time, seeded chance, clients that follow scripts.

use std::cell::RefCell;
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::mpsc;

use engine::signal::{Signal, Stop};
use engine::sim::{Connection, Faults, Network, Peer, Replies};
use engine::{Address, Completions, Driver};
use measure::time::Time;

use crate::config::Config;
use crate::start::settings;
use crate::worker::Worker;
use connection::Wall;
use service::{Counts, Service};

const SOCKETS: usize = 16;
const SECOND_NS: u64 = 1_000_000_000;

/// What a client does from the moment its connection stands. Times are nanoseconds from there.
#[derive(Clone, Debug, Default)]
pub struct Script {
    /// Bytes, and when they are sent.
    pub sends: Vec<(u64, Vec<u8>)>,
    /// When it stops reading, and reads again.
    pub pauses: Option<(u64, u64)>,
    /// When it ends its half.
    pub closes: Option<u64>,
    /// When it resets the connection.
    pub resets: Option<u64>,
}

/// What came of serving some clients to the end.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// What was counted.
    pub counts: Counts,
    /// What each client heard.
    pub heard: Vec<Vec<u8>>,
    /// Bytes that were held for clients when all of them were gone.
    pub held_bytes: usize,
    /// The most that ever were, between two turns.
    pub held_bytes_max: usize,
}

struct Client {
    script: Script,
    heard: Rc<RefCell<Vec<u8>>>,
}

impl Peer for Client {
    fn opened(&mut self, _: Connection, _: Time, replies: &mut Replies) {
        for (at, bytes) in std::mem::take(&mut self.script.sends) {
            replies.send(at, bytes);
        }
        if let Some((from, to)) = self.script.pauses {
            replies.stop_reading(from);
            replies.start_reading(to);
        }
        if let Some(at) = self.script.closes {
            replies.close(at);
        }
        if let Some(at) = self.script.resets {
            replies.reset(at);
        }
    }

    fn received(&mut self, _: Connection, bytes: &[u8], _: Time, _: &mut Replies) {
        self.heard.borrow_mut().extend_from_slice(bytes);
    }
}

/// Serves clients for so many seconds, each from the second of its place on, stops, and serves to
/// the end. Of `config` the limits and timeouts are minded. The same arguments give the same
/// outcome.
///
/// # Panics
/// If the worker is not done when it has been told to stop and its time is over.
pub fn serve<S: Service>(
    service: S,
    scripts: Vec<Script>,
    (seed, faults): (u64, Faults),
    seconds: u64,
    config: &Config,
) -> Outcome {
    let network = Network::new(seed, faults);
    let driver = network.driver(&engine::Config {
        sockets: SOCKETS,
        buffers: 16,
        buffer_bytes: 1024,
        ..engine::Config::default()
    });
    let address = Address::Tcp(SocketAddr::from(([127, 0, 0, 1], 80)));
    let (full, _is_full) = mpsc::sync_channel(1);
    let mut settings = settings(config, &address, 0, SOCKETS - 1, &full);
    settings.wall = Wall::Fixed(784_111_777);
    let stop = Stop::new();
    let _registration = stop.register(driver.waker()).expect("it's the first");
    let mut worker = Worker::new(driver, service, settings, stop.clone()).expect("it begins");
    worker.listen().expect("it listens");
    let mut completions = Completions::new();
    let mut outcome = Outcome::default();
    let mut all_heard = Vec::new();
    let mut go_on = |worker: &mut Worker<_, S>, until: Time| {
        while network.now() < until && !worker.is_done() {
            let turned = worker.turn(&mut completions, until);
            turned.expect("the simulator never breaks");
            outcome.held_bytes_max = outcome.held_bytes_max.max(worker.all_held_bytes());
        }
    };
    for script in scripts {
        let heard = Rc::default();
        let client = Client {
            script,
            heard: Rc::clone(&heard),
        };
        network.dial(&address, client);
        all_heard.push(heard);
        let until = network.now().plus(SECOND_NS);
        go_on(&mut worker, until);
    }
    go_on(&mut worker, network.now().plus(seconds * SECOND_NS));
    stop.request(Signal::Terminate);
    let drain_ns = u64::try_from(config.timeouts.drain.as_nanos()).unwrap_or(u64::MAX);
    go_on(
        &mut worker,
        network.now().plus(drain_ns.saturating_add(SECOND_NS)),
    );
    assert!(worker.is_done(), "it outlives the time it has to end");
    outcome.counts = worker.summary().counts;
    outcome.held_bytes = worker.all_held_bytes();
    outcome.heard = all_heard
        .iter()
        .map(|heard: &Rc<RefCell<Vec<u8>>>| heard.take())
        .collect();
    outcome
}

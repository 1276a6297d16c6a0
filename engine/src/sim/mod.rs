//! A network that is only thought: the third driver, for tests.
//!
//! [`Network::new`] makes a world with its own time and its own chance; [`Network::driver`] hangs a
//! driver on it, and [`Network::serve`] and [`Network::dial`] hang scripted peers on it. The same
//! seed and the same calls give the same events to the nanosecond, so that whatever is built on
//! the driver interface can be tested as a whole: "same seed, same record".
//!
//! # Time
//!
//! Time is virtual and starts at one second. A `wait` with nothing to report moves it straight to
//! the next thing that happens in the network or to the deadline, whichever comes first. Work takes
//! time here too, or a loop that spins would stand still: each turn takes [`TURN_NS`], each call of
//! [`Driver::clock`](crate::Driver::clock) takes [`CLOCK_NS`], in every mode of waiting.
//!
//! # Several drivers on one network
//!
//! They share its time and are driven in turn by one thread. A `wait` does not move time past what
//! another driver has to do: it returns early with nothing while another one has completions to
//! collect, has reached its deadline, or was given something and has not waited since. (It goes on
//! alone if the others have not been called since its own last turn.) A driver that is alone, waits
//! without a deadline and can be reached by nothing any more gets an error instead of hanging.
//!
//! # What the world is like
//!
//! It owns 127.0.0.0/8, ::1, all paths and the device `lo`. Segments of one direction keep their
//! order and take [`Faults::latency_ns`] and chance. A sender may have as many bytes under way as
//! its send buffer and the receiver's receive buffer hold. Bytes to a socket that was closed are
//! answered by a reset. Ports never run out.

mod driver;
mod peer;
mod world;

use std::cell::RefCell;
use std::rc::Rc;

use measure::time::Time;

use crate::driver::{Address, Config};
pub use driver::Sim;
pub use peer::{Connection, Peer, Replies};
use world::{Happening, World};

/// How long a turn takes at least.
pub const TURN_NS: u64 = 1_000;
/// How long reading the clock takes.
pub const CLOCK_NS: u64 = 100;

/// What the network does to those who use it. Probabilities are from 0 to 1.
#[derive(Clone, Debug, PartialEq)]
pub struct Faults {
    /// How long everything is under way at least.
    pub latency_ns: u64,
    /// How much longer at most, each time by chance.
    pub jitter_ns: u64,
    /// That a send resets the connection instead of arriving.
    pub reset: f64,
    /// That a connect is refused although somebody listens.
    pub refuse: f64,
    /// That a connection is reset after it stood and before it is accepted.
    pub accept_failure: f64,
    /// That bytes of one send arrive in many pieces, cut anywhere.
    pub chop: f64,
    /// That a send is taken in part first although there is room. Never a quiet one.
    pub short_send: f64,
}

impl Faults {
    /// Nothing goes wrong, and everything takes 10 µs.
    pub fn none() -> Faults {
        Faults {
            latency_ns: 10_000,
            jitter_ns: 0,
            reset: 0.0,
            refuse: 0.0,
            accept_failure: 0.0,
            chop: 0.0,
            short_send: 0.0,
        }
    }

    /// Bytes arrive late and in any pieces, sends are short, but nothing is lost.
    pub fn rough() -> Faults {
        Faults {
            jitter_ns: 200_000,
            chop: 0.5,
            short_send: 0.3,
            ..Faults::none()
        }
    }
}

/// A simulated network. Clones are the same network.
#[derive(Clone)]
pub struct Network {
    world: Rc<RefCell<World>>,
}

impl Network {
    /// An empty network. All chance in it comes from `seed`.
    pub fn new(seed: u64, faults: Faults) -> Network {
        Network {
            world: Rc::new(RefCell::new(World::new(seed, faults))),
        }
    }

    /// A driver on this network.
    ///
    /// # Panics
    ///
    /// If `config` is one that no driver accepts, such as one without buffers.
    pub fn driver(&self, config: &Config) -> Sim {
        Sim::new(Rc::clone(&self.world), config)
    }

    /// Has `peer` accept every connection to `address`, which must not be taken. It goes on as
    /// long as the network lives.
    ///
    /// # Panics
    ///
    /// If somebody listens there.
    pub fn serve(&self, address: &Address, peer: impl Peer + 'static) {
        let free = self.world.borrow_mut().serve(address, Box::new(peer));
        assert!(free, "{address} is already in use");
    }

    /// Has `peer` connect to `address`. Where nobody takes the connection the peer hears of its
    /// end alone ([`Peer::reset`]).
    pub fn dial(&self, address: &Address, peer: impl Peer + 'static) -> Connection {
        self.world.borrow_mut().dial(address, Box::new(peer))
    }

    /// The present time of the network.
    pub fn now(&self) -> Time {
        self.world.borrow().now
    }

    /// Has other faults from now on.
    pub fn set_faults(&self, faults: Faults) {
        self.world.borrow_mut().faults = faults;
    }

    /// Has other faults from a time on.
    pub fn change_faults(&self, at: Time, faults: Faults) {
        let mut world = self.world.borrow_mut();
        let after_ns = at.since(world.now);
        world.schedule(after_ns, Happening::Change { faults });
    }

    /// From a time on, the driver that waits next is given no turn for so long, as when its process
    /// is stopped. Times come in their order.
    pub fn halt(&self, at: Time, length_ns: u64) {
        self.world.borrow_mut().halts.push_back((at, length_ns));
    }
}

#[cfg(test)]
mod tests;

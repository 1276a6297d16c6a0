//! What services ask of upstreams during a call. The pool does it afterwards, so that a service may
//! ask for anything at any time.

use std::ops::Range;

use proto::Misuse;

use crate::config::Settings;
use crate::request::Request;

/// One request to an upstream with its answer, told as [`Event`](crate::Event)s. It's named anew
/// each time, so that one that comes too late never reaches another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Exchange {
    pub(crate) index: u32,
    pub(crate) generation: u32,
}

impl Exchange {
    /// A dense number, free again once its end is told: for tables of whoever keeps something for
    /// each exchange.
    pub fn slot(self) -> usize {
        self.index as usize
    }
}

/// Names an upstream of a worker, as long as that runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Upstream(pub(crate) u32);

impl Upstream {
    /// Its place in the order in which upstreams were declared.
    pub fn place(self) -> usize {
        self.0 as usize
    }
}

/// One thing that was asked for.
#[derive(Debug)]
#[allow(clippy::large_enum_variant)] // Most of them are requests, and a box would be an allocation.
pub enum Act {
    /// There is another upstream, with so many addresses.
    Declare(Settings, u32),
    /// An upstream is not used any more.
    Remove(Upstream),
    /// A request is to be sent.
    Begin(Exchange, Upstream, Request),
    /// These of the `bytes` of the desk belong to its body.
    Send(Exchange, Range<usize>),
    /// Its body is complete.
    End(Exchange),
    /// Nobody wants the answer.
    Cancel(Exchange),
    /// The answer is to wait.
    Pause(Exchange),
    /// The answer is to go on.
    Resume(Exchange),
}

/// See the module.
#[derive(Debug, Default)]
pub struct Desk {
    acts: Vec<Act>,
    bytes: Vec<u8>,
    /// How many of the acts are cancellations.
    cancels: u32,
    upstreams: u32,
    /// The generation of each number of an exchange, and those that are free.
    generations: Vec<u32>,
    free: Vec<u32>,
}

/// Memory for what is sent is kept up to so many bytes.
const BYTES_KEPT_MAX: usize = 1 << 20;

impl Desk {
    /// Names an upstream with so many addresses.
    ///
    /// # Errors
    /// No address, more than 65,535 of them, or no connection or no stream allowed.
    pub fn declare(&mut self, settings: Settings, addresses: usize) -> Result<Upstream, Misuse> {
        if addresses == 0 || addresses > u16::MAX as usize {
            return Err(Misuse::of("an upstream has between 1 and 65,535 addresses"));
        }
        if settings.limits.connections == 0 || settings.limits.streams == 0 {
            return Err(Misuse::of("an upstream without a connection or a stream"));
        }
        self.acts.push(Act::Declare(settings, addresses as u32));
        self.upstreams += 1;
        Ok(Upstream(self.upstreams - 1))
    }

    /// Does without an upstream from now on.
    pub fn remove(&mut self, upstream: Upstream) {
        self.acts.push(Act::Remove(upstream));
    }

    /// Names a request to be sent.
    ///
    /// # Errors
    /// What [`Request::check`] says.
    pub fn begin(&mut self, upstream: Upstream, request: Request) -> Result<Exchange, Misuse> {
        request.check()?;
        let index = self.free.pop().unwrap_or_else(|| {
            self.generations.push(0);
            self.generations.len() as u32 - 1
        });
        let generation = self.generations[index as usize];
        let exchange = Exchange { index, generation };
        self.acts.push(Act::Begin(exchange, upstream, request));
        Ok(exchange)
    }

    /// A piece of the body of a request. Empty pieces are none.
    pub fn send(&mut self, exchange: Exchange, bytes: &[u8]) {
        if !bytes.is_empty() {
            let start = self.bytes.len();
            self.bytes.extend_from_slice(bytes);
            self.acts.push(Act::Send(exchange, start..self.bytes.len()));
        }
    }

    /// The body of a request is complete.
    pub fn end(&mut self, exchange: Exchange) {
        self.acts.push(Act::End(exchange));
    }

    /// Gives an exchange up.
    pub fn cancel(&mut self, exchange: Exchange) {
        self.cancels += 1;
        self.acts.push(Act::Cancel(exchange));
    }

    /// Has the answer wait.
    pub fn pause(&mut self, exchange: Exchange) {
        self.acts.push(Act::Pause(exchange));
    }

    /// Has the answer go on.
    pub fn resume(&mut self, exchange: Exchange) {
        self.acts.push(Act::Resume(exchange));
    }

    /// Whether nothing is asked for.
    #[inline]
    pub fn is_clear(&self) -> bool {
        self.acts.is_empty()
    }

    /// Whether this exchange was given up and the pool doesn't know yet.
    #[inline]
    pub fn has_cancelled(&self, exchange: Exchange) -> bool {
        let is_its = |act: &Act| matches!(act, Act::Cancel(of) if *of == exchange);
        self.cancels > 0 && self.acts.iter().any(is_its)
    }

    /// Takes what was asked for, and the bytes that [`Act::Send`] speaks of.
    pub fn take(&mut self) -> (Vec<Act>, Vec<u8>) {
        self.cancels = 0;
        let acts = std::mem::take(&mut self.acts);
        (acts, std::mem::take(&mut self.bytes))
    }

    /// Takes the memory of both back. Nothing was asked for in the meantime.
    pub fn give_back(&mut self, (mut acts, mut bytes): (Vec<Act>, Vec<u8>)) {
        debug_assert!(self.acts.is_empty(), "the pool has asked for something");
        acts.clear();
        bytes.clear();
        self.acts = acts;
        if bytes.capacity() <= BYTES_KEPT_MAX {
            self.bytes = bytes;
        }
    }

    /// An exchange has ended, and its number is free.
    pub fn release(&mut self, exchange: Exchange) {
        let generation = &mut self.generations[exchange.index as usize];
        debug_assert_eq!(*generation, exchange.generation, "a number is freed twice");
        *generation = generation.wrapping_add(1);
        self.free.push(exchange.index);
    }
}

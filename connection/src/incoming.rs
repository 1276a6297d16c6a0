//! A request whose body is on its way, whatever protocol brings it.

use super::Arrival;
use super::outgoing::Asked;
use exchange::answer::Form;
use exchange::request::{KeptHead, Request};
use exchange::response::Response;

/// Memory that an incoming body leaves behind is kept for the next up to so many bytes.
const SPARE_BYTES_MAX: usize = 64 * 1024;

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Incoming {
    bytes: Vec<u8>,
    head: KeptHead,
    /// The body is collected for the service, rather than thrown away.
    collects: bool,
    /// This is the answer, whatever the body.
    refusal: Option<Response>,
    /// The service was asked already, and is told of the body as it comes.
    pub(super) streamed: Option<Streamed>,
    /// How the answer is written, where the protocol has several ways.
    pub(super) form: Option<Form>,
    /// When it began, where it has a connection to itself.
    pub(super) arrival: Arrival,
}

/// A body that is told as it comes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Streamed {
    pub(super) asked: Asked,
    /// The service wants no more of it for now.
    pub(super) paused: bool,
    /// The client waits to be told that it may send it.
    pub(super) expected: bool,
}

/// Who answers a request whose body has come.
pub(super) enum Answerer<'a> {
    /// The service.
    Service(Request<'a>),
    /// Nobody; this is the answer.
    Nobody(Response),
}

impl Incoming {
    /// A request begins, which the service answers once the body has come.
    pub(super) fn begin(&mut self, head: &Request<'_>, collects: bool) {
        self.head.keep(head);
        self.collects = collects;
    }

    /// A request begins to which this is the answer, whatever the body.
    pub(super) fn refuse(&mut self, response: Response) {
        self.refusal = Some(response);
    }

    /// A piece of the body came.
    pub(super) fn take(&mut self, bytes: &[u8]) {
        if self.collects {
            self.bytes.extend_from_slice(bytes);
        }
    }

    /// Bytes of the body that are kept.
    pub(super) fn bytes(&self) -> usize {
        self.bytes.len()
    }

    /// Memory that it takes.
    pub(super) fn memory(&self) -> usize {
        self.bytes.capacity() + self.head.memory()
    }

    /// The body is complete.
    pub(super) fn complete(&mut self) -> Answerer<'_> {
        match self.refusal.take() {
            Some(response) => Answerer::Nobody(response),
            None => Answerer::Service(self.head.request(&self.bytes)),
        }
    }

    /// Makes it fit for another request. False if it is better dropped.
    pub(crate) fn clear(&mut self) -> bool {
        self.bytes.clear();
        self.collects = false;
        self.refusal = None;
        self.streamed = None;
        self.form = None;
        self.arrival = Arrival::NONE;
        self.memory() <= SPARE_BYTES_MAX
    }
}

//! A request whose body is on its way, whatever protocol brings it.

use engine::Token;

use super::Arrival;
use crate::answer::Form;
use crate::service::{Reply, Request, Response};
use crate::site::{Found, Site};

/// Memory that an incoming body leaves behind is kept for the next up to so many bytes.
const SPARE_BYTES_MAX: usize = 64 * 1024;

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Incoming {
    bytes: Vec<u8>,
    answerer: Option<Answerer>,
    parameter: String,
    content_type: String,
    /// How the answer is written, where the protocol has several ways.
    pub(super) form: Option<Form>,
    /// When it began, where it has a connection to itself.
    pub(super) arrival: Arrival,
}

/// Who answers a request.
#[derive(Debug)]
enum Answerer {
    /// The service of the route of this index.
    Route { index: usize, takes_body: bool },
    /// Nobody; this is the answer.
    Nobody(Response),
}

impl Incoming {
    /// A request begins.
    ///
    /// # Errors
    /// The answer, since there is no such route. It may be given at once, or through
    /// [`Incoming::refuse`] when the body has come.
    pub(super) fn begin(
        &mut self,
        method: &[u8],
        path: &[u8],
        content_type: Option<&str>,
        site: &Site,
    ) -> Result<(), Response> {
        match site.find(method, path) {
            Found::Route(index, parameter) => {
                self.parameter.push_str(parameter);
                self.content_type.push_str(content_type.unwrap_or_default());
                self.answerer = Some(Answerer::Route {
                    index,
                    takes_body: site.takes_body(index),
                });
                Ok(())
            }
            Found::Refusal(response) => Err(response),
        }
    }

    /// This is the answer, whatever the body.
    pub(super) fn refuse(&mut self, response: Response) {
        self.answerer = Some(Answerer::Nobody(response));
    }

    /// Whether the answer need not wait for the body.
    pub(super) fn is_answered_at_once(&self, site: &Site) -> bool {
        match self.answerer {
            Some(Answerer::Route { index, .. }) => site.answers_at_once(index),
            Some(Answerer::Nobody(_)) | None => false,
        }
    }

    /// A piece of the body came.
    pub(super) fn take(&mut self, bytes: &[u8]) {
        if let Some(Answerer::Route {
            takes_body: true, ..
        }) = self.answerer
        {
            self.bytes.extend_from_slice(bytes);
        }
    }

    /// Bytes of the body that are kept.
    pub(super) fn bytes(&self) -> usize {
        self.bytes.len()
    }

    /// Memory that it takes.
    pub(super) fn memory(&self) -> usize {
        self.bytes.capacity()
    }

    /// The body is complete. `number` is that of the ticket the service gets.
    pub(super) fn answer(&mut self, socket: Token, number: u32, site: &mut Site) -> Option<Reply> {
        match self.answerer.take()? {
            Answerer::Route { index, .. } => {
                let content_type = Some(&self.content_type[..]);
                let request = Request {
                    parameter: &self.parameter,
                    content_type: content_type.filter(|value| !value.is_empty()),
                    body: &self.bytes,
                };
                Some(site.call(index, &request, socket, number))
            }
            Answerer::Nobody(response) => Some(Reply::Now(response)),
        }
    }

    /// Makes it fit for another request. False if it is better dropped.
    pub(crate) fn clear(&mut self) -> bool {
        self.bytes.clear();
        self.parameter.clear();
        self.content_type.clear();
        self.answerer = None;
        self.form = None;
        self.arrival = Arrival::NONE;
        self.bytes.capacity() <= SPARE_BYTES_MAX
    }
}

//! The requests that answers lead to, for runs that want them: redirects are followed.
//!
//! [`Habits`] are what a plan asks for, and an [`Errand`] is one exchange, of which each request is
//! kept taken apart, so that the next one can be made of it. An exchange with redirects is one
//! exchange. Knows neither connections nor when anything is sent.

mod ask;
mod location;

use std::sync::Arc;

use measure::counters::ErrorKind;
use plan::protocol::Protocol;
use plan::{Invalid, Plan};
use proto::http1::client::Answer;
use proto::http2::client::Request;

use ask::Ask;
use location::{Base, resolve};

/// What a plan asks of its sessions.
#[derive(Debug)]
pub struct Habits {
    /// The most redirects that one exchange follows.
    follow: u32,
    is_secure: bool,
    /// The request where all are alike.
    request: Ask,
}

/// Why a redirect isn't followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Astray {
    /// It leads to another scheme, host or port.
    Elsewhere,
    /// There is no `Location`, or none of HTTP.
    Invalid,
}

/// What an answer is to its exchange.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Turn {
    /// Its end.
    #[default]
    End,
    /// The reason for another request, which [`Errand`] has.
    Follow,
    /// A redirect that can't be followed.
    Astray(ErrorKind),
}

/// One exchange.
#[derive(Clone, Debug, Default)]
pub struct Errand {
    /// What was asked last, or is to be asked next.
    ask: Ask,
    /// Redirects that were followed.
    followed: u32,
    turn: Turn,
    /// Where the next request goes.
    next: Vec<u8>,
}

impl Habits {
    /// What this plan asks for; none where each answer ends its exchange.
    ///
    /// # Errors
    /// A request that can't be encoded.
    pub fn of(plan: &Plan) -> Result<Option<Arc<Habits>>, Invalid> {
        if plan.follow == 0 {
            return Ok(None);
        }
        let mut request = Ask::default();
        match plan.protocol {
            Protocol::Http1 => request.read(&plan.contact().http1()?),
            _ => request.take(&plan.contact().http2()?),
        }
        Ok(Some(Arc::new(Habits {
            follow: plan.follow,
            is_secure: plan.target.is_secure(),
            request,
        })))
    }
}

impl Errand {
    fn begin(&mut self) -> &mut Ask {
        (self.followed, self.turn) = (0, Turn::End);
        &mut self.ask
    }

    /// An exchange begins with the request that is the same for all.
    pub fn begin_usual(&mut self, habits: &Habits) {
        self.begin().copy(&habits.request);
    }

    /// The same with this one of HTTP/1.1.
    pub fn begin_with(&mut self, request: &[u8]) {
        self.begin().read(request);
    }

    /// The same with this one of HTTP/2.
    pub fn begin_with_head(&mut self, request: &Request) {
        self.begin().take(request);
    }

    /// The same with this block of fields.
    pub fn begin_with_block(&mut self, block: &[u8], body: &[u8]) {
        self.begin().decode(block, body);
    }

    /// The head of an answer came: what that is to the exchange.
    pub fn head<'f>(
        &mut self,
        habits: &Habits,
        status: u16,
        mut fields: impl Iterator<Item = (&'f [u8], &'f [u8])>,
    ) -> Turn {
        self.turn = match status {
            301 | 302 | 303 | 307 | 308 if habits.follow > 0 => {
                let is_location = |name: &[u8]| name.eq_ignore_ascii_case(b"location");
                let found = fields.find(|(name, _)| is_location(name));
                self.redirected(habits, status, found.map(|(_, value)| value))
            }
            _ => Turn::End,
        };
        self.turn
    }

    fn redirected(&mut self, habits: &Habits, status: u16, location: Option<&[u8]>) -> Turn {
        let base = Base {
            is_secure: habits.is_secure,
            authority: self.ask.authority(),
            target: &self.ask.target,
        };
        match resolve(base, location.unwrap_or_default(), &mut self.next) {
            Err(Astray::Elsewhere) => Turn::Astray(ErrorKind::RedirectElsewhere),
            Err(Astray::Invalid) => Turn::Astray(ErrorKind::RedirectInvalid),
            Ok(()) if self.followed >= habits.follow => Turn::Astray(ErrorKind::TooManyRedirects),
            Ok(()) => {
                self.followed += 1;
                self.ask.redirect(status);
                std::mem::swap(&mut self.ask.target, &mut self.next);
                Turn::Follow
            }
        }
    }

    /// What the answer whose head came last is to the exchange.
    pub fn turn(&self) -> Turn {
        self.turn
    }

    /// Writes the request for HTTP/1.1, and says how it is answered.
    pub fn write(&self, out: &mut Vec<u8>) -> Answer {
        self.ask.write(out);
        match self.ask.is_head() {
            true => Answer::HeadOnly,
            false => Answer::Usual,
        }
    }

    /// Writes the fields of the request for HTTP/2; its body, and whether it is HEAD.
    pub fn write_block(&self, habits: &Habits, block: &mut Vec<u8>) -> (&[u8], bool) {
        self.ask.write_block(habits.is_secure, block);
        (self.ask.body(), self.ask.is_head())
    }
}

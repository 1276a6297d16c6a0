//! The requests that answers lead to, for runs that want them: redirects are followed, and cookies
//! are sent back.
//!
//! [`Habits`] are what a plan asks for, a [`Visitor`] is what a connection has of them, and an
//! [`Errand`] is one exchange, of which each request is kept taken apart, so that cookies can be
//! added and the next one can be made of it. An exchange with redirects is one exchange. Knows
//! neither sockets nor when anything is sent.

mod ask;
mod location;

use std::sync::Arc;

use cookies::{Jar, Place};
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
    /// Whether cookies are kept.
    cookies: bool,
    is_secure: bool,
    /// The request where all are alike.
    request: Ask,
    /// When the run began, in seconds since 1970.
    now_s: i64,
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

/// What one connection has of habits: it begins without cookies.
#[derive(Debug)]
pub struct Visitor {
    habits: Arc<Habits>,
    jar: Jar,
    /// The cookies of the request that was written last.
    cookie: Vec<u8>,
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
    /// What this plan asks for in a run that begins `now_s` seconds after 1970; none where answers
    /// lead to nothing.
    ///
    /// # Errors
    /// A request that can't be encoded.
    pub fn of(plan: &Plan, now_s: u64) -> Result<Option<Arc<Habits>>, Invalid> {
        if plan.follow == 0 && !plan.cookies {
            return Ok(None);
        }
        let mut request = Ask::default();
        match plan.protocol {
            Protocol::Http1 => request.read(&plan.contact().http1()?),
            _ => request.take(&plan.contact().http2()?),
        }
        Ok(Some(Arc::new(Habits {
            follow: plan.follow,
            cookies: plan.cookies,
            is_secure: plan.target.is_secure(),
            request,
            now_s: now_s as i64,
        })))
    }
}

impl Habits {
    /// Whether connections have cookies, which answers may repeat.
    pub fn keeps_cookies(&self) -> bool {
        self.cookies
    }
}

impl Visitor {
    /// A connection that begins.
    pub fn new(habits: &Arc<Habits>) -> Visitor {
        Visitor {
            habits: Arc::clone(habits),
            jar: Jar::default(),
            cookie: Vec::new(),
        }
    }

    /// The head of an answer came: what that is to its exchange.
    pub fn head<'f, F: Iterator<Item = (&'f [u8], &'f [u8])>>(
        &mut self,
        errand: &mut Errand,
        status: u16,
        fields: impl Fn() -> F,
    ) -> Turn {
        if self.habits.cookies {
            let is_cookie = |name: &[u8]| name.eq_ignore_ascii_case(b"set-cookie");
            let place = place(&self.habits, &errand.ask);
            for (_, value) in fields().filter(|(name, _)| is_cookie(name)) {
                self.jar.set(value, place, self.habits.now_s);
            }
        }
        errand.head(&self.habits, status, fields())
    }

    /// An exchange begins with the request that is the same for all.
    pub fn begin(&self, errand: &mut Errand) {
        errand.begin_usual(&self.habits);
    }

    /// Writes the next request of an exchange for HTTP/1.1, and says how it is answered.
    pub fn write(&mut self, errand: &Errand, out: &mut Vec<u8>) -> Answer {
        let cookie = self.cookie(&errand.ask);
        errand.ask.write(cookie, out);
        match errand.ask.is_head() {
            true => Answer::HeadOnly,
            false => Answer::Usual,
        }
    }

    /// Writes its fields for HTTP/2; its body, and whether it is HEAD.
    pub fn write_block<'e>(&mut self, errand: &'e Errand, block: &mut Vec<u8>) -> (&'e [u8], bool) {
        let is_secure = self.habits.is_secure;
        let cookie = self.cookie(&errand.ask);
        errand.ask.write_block(is_secure, cookie, block);
        (errand.ask.body(), errand.ask.is_head())
    }

    /// Whether requests go out as they are made, unless they follow another one.
    #[inline]
    pub fn adds_nothing(&self) -> bool {
        self.jar.is_empty()
    }

    fn cookie(&mut self, ask: &Ask) -> &[u8] {
        let (place, now_s) = (place(&self.habits, ask), self.habits.now_s);
        self.jar.write(place, now_s, &mut self.cookie);
        &self.cookie
    }
}

/// Where a request goes, as cookies see it.
fn place<'a>(habits: &Habits, ask: &'a Ask) -> Place<'a> {
    let host = location::host(ask.authority());
    Place {
        host,
        // To a proxy it is in absolute form.
        target: location::path_and_query(&ask.target),
        is_secure: habits.is_secure,
    }
}

impl Errand {
    fn begin(&mut self) -> &mut Ask {
        (self.followed, self.turn) = (0, Turn::End);
        &mut self.ask
    }

    /// It begins with the request that is the same for all.
    fn begin_usual(&mut self, habits: &Habits) {
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

    fn head<'f>(
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

    /// Whether it has followed a redirect.
    pub fn is_redirected(&self) -> bool {
        self.followed > 0
    }

    /// What the answer whose head came last is to the exchange.
    pub fn turn(&self) -> Turn {
        self.turn
    }
}

//! The user behind a request: looked up where the route says, in memory at once, and in the stores
//! while the request waits.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use measure::time::Time;
use server::upstream;
use server::{Bell, Context, Request, Response, Ticket};
use users::{Answer, Lookup, Record, Users};

use super::Gateway;
use crate::alike::is_like;
use crate::config::{Action, By};
use crate::metrics::Refusal;
use crate::tokens::{Who, written};

/// The user behind a request.
#[derive(Clone, Debug)]
pub(super) enum Caller {
    /// The route asks for none.
    Any,
    /// This one.
    Known(Arc<Record>),
    /// Memory doesn't know: the users of the plan, and the name.
    Unknown(usize, Box<str>),
}

impl Caller {
    /// The user, if he's known.
    pub(super) fn record(&self) -> Option<&Record> {
        match self {
            Caller::Known(record) => Some(record),
            _ => None,
        }
    }
}

/// What the threads that look users up have found, for one worker.
#[derive(Debug, Default)]
pub(super) struct Told {
    came: Arc<Mutex<Vec<Came>>>,
    bell: Option<Bell>,
}

/// A user that came, for a request.
#[derive(Debug)]
struct Came {
    ticket: Ticket,
    answer: Answer,
    asked: Asked,
}

/// What was asked for a request.
#[derive(Clone, Debug)]
struct Asked {
    users: Arc<Users>,
    /// Who the token is about, for answers that say so.
    who: Option<Arc<Who>>,
}

impl Told {
    /// Rings this bell from now on.
    pub(super) fn listen(&mut self, bell: Bell) {
        self.bell = Some(bell);
    }

    fn take(&self) -> Vec<Came> {
        std::mem::take(&mut *self.came.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Gateway {
    /// Who is behind a request of a route, as far as memory knows. `path` is its path as it's
    /// matched.
    pub(super) fn caller(
        &mut self,
        route: usize,
        (request, path): (&Request<'_>, &[u8]),
        who: Option<&Who>,
        now: Time,
    ) -> Result<Caller, Response> {
        let Some(at) = self.plan.config.routes[route].user else {
            return Ok(Caller::Any);
        };
        let by = &self.plan.config.users[at].by;
        let key = match by {
            By::Subject => who.and_then(|who| who.subject.as_deref()),
            By::Segment(which) => segment(path, *which),
            By::Field(name) => only(request, name),
        };
        let found = match key.filter(|key| !key.is_empty()) {
            Some(key) => self.plan.users[at].find(key, now),
            None => Lookup::Nobody,
        };
        let answer = match (found, key) {
            (Lookup::Known(record), _) if record.is_disabled() => Answer::Known(record),
            (Lookup::Known(record), _) => return Ok(Caller::Known(record)),
            (Lookup::Unknown, Some(key)) => return Ok(Caller::Unknown(at, key.into())),
            _ => Answer::Nobody,
        };
        let response = self.no_user(route, &answer);
        (self.figures).answered(route, response.status, Duration::ZERO);
        Err(response)
    }

    /// Has the user of a request looked up, which waits for that.
    pub(super) fn ask_for_user(
        &mut self,
        ticket: Ticket,
        (at, key): (usize, &str),
        who: Option<Arc<Who>>,
        context: &mut Context<'_>,
    ) -> Result<(), Response> {
        if let Some(passing) = self.places.of(ticket) {
            passing.awaits = true;
        }
        let users = Arc::clone(&self.plan.users[at]);
        let asked = Asked {
            users: Arc::clone(&users),
            who,
        };
        let (came, bell, later) = (
            Arc::clone(&self.told.came),
            self.told.bell.clone(),
            asked.clone(),
        );
        let tell = Box::new(move |answer| {
            let mut came = came.lock().unwrap_or_else(PoisonError::into_inner);
            came.push(Came {
                ticket,
                answer,
                asked: later,
            });
            drop(came);
            if let Some(bell) = bell {
                bell.ring();
            }
        });
        match users.ask(key, context.now(), tell) {
            None => Ok(()),
            Some(answer) => self.user_came(ticket, &answer, &asked, context),
        }
    }

    /// Users came that requests wait for.
    pub(super) fn users_came(&mut self, context: &mut Context<'_>) {
        let all = self.told.take();
        let failed = |came: &Came| matches!(came.answer, Answer::Unavailable);
        if all.iter().any(failed) {
            self.look_at_stores(context.now()); // Why is said before anybody is told that it is so.
        }
        for came in all {
            let done = self.user_came(came.ticket, &came.answer, &came.asked, context);
            if let Err(response) = done {
                context.complete(came.ticket, response);
            }
        }
        self.admit_all(context);
    }

    /// The user of a request came: it sets off, or is over with an answer.
    fn user_came(
        &mut self,
        ticket: Ticket,
        answer: &Answer,
        asked: &Asked,
        context: &mut Context<'_>,
    ) -> Result<(), Response> {
        let Some(passing) = self.places.of(ticket).filter(|passing| passing.awaits) else {
            return Ok(()); // Its client has left.
        };
        passing.awaits = false;
        let (route, goes) = (passing.route, passing.generation == self.generation);
        let Some((route, at)) = route.and_then(|at| Some((at, self.plan.config.routes[at].user?)))
        else {
            return self.over(ticket, gone(), context);
        };
        // Another configuration ends those that it changes; this one has the same users.
        if !Arc::ptr_eq(&self.plan.users[at], &asked.users) {
            return self.over(ticket, gone(), context);
        }
        let record = match answer {
            Answer::Known(record) if !record.is_disabled() => record,
            _ => return self.over(ticket, self.no_user(route, answer), context),
        };
        if !goes {
            let response = self.own_answer(route, asked.who.as_deref(), Some(record));
            return self.over(ticket, response, context);
        }
        let sent = self.places.of(ticket).and_then(|one| one.again.take());
        let sent = sent.map(|sent| Box::new(self.with_user(*sent, route, record)));
        if let Some(passing) = self.places.of(ticket) {
            passing.again = sent;
        }
        self.set_off(ticket, context)
    }

    /// A request is over before it set off.
    fn over(
        &mut self,
        ticket: Ticket,
        response: Response,
        context: &mut Context<'_>,
    ) -> Result<(), Response> {
        self.forget(ticket, &response, context);
        Err(response)
    }

    /// A request with what its upstream is told of the user.
    pub(super) fn with_user(
        &self,
        mut sent: upstream::Request,
        route: usize,
        record: &Record,
    ) -> upstream::Request {
        for (name, value) in self.of_user(route, record) {
            sent = sent.with_field(name, value);
        }
        sent
    }

    /// What a route of the gateway's own answers. Its fields are what another proxy wants that has
    /// this one decide (nginx's auth_request).
    pub(super) fn own_answer(
        &self,
        route: usize,
        who: Option<&Who>,
        record: Option<&Record>,
    ) -> Response {
        let Action::Answer { status, text, user } = &self.plan.config.routes[route].action else {
            return gone();
        };
        let mut response = match record.filter(|_| *user) {
            Some(record) => {
                let json = record.json().to_owned();
                Response::of("application/json", json).with_status(*status)
            }
            None => Response::sentence(*status, text.clone()),
        };
        for (name, value) in who.iter().flat_map(|who| &who.fields) {
            response = response.with_field(name.clone(), value.clone());
        }
        if let Some(record) = record {
            for (name, value) in self.of_user(route, record) {
                response = response.with_field(name.to_owned(), value);
            }
        }
        response
    }

    fn of_user<'a>(
        &'a self,
        route: usize,
        record: &'a Record,
    ) -> impl Iterator<Item = (&'a str, String)> {
        let users = self.plan.config.routes[route].user;
        let fields = users.map(|at| &self.plan.config.users[at].fields);
        let fields = fields.into_iter().flatten().enumerate();
        fields.filter_map(|(at, name)| Some((&**name, written(record.field(at)?))))
    }

    /// What a request is answered whose user may not, or isn't known.
    fn no_user(&self, route: usize, answer: &Answer) -> Response {
        self.figures.refused(route, Refusal::User);
        let users = self.plan.config.routes[route].user;
        let by = users.map(|at| &self.plan.config.users[at].by);
        let of_path = matches!(by, Some(By::Segment(_)));
        match answer {
            Answer::Unavailable => {
                let text = "users can't be looked up now; try again later\n";
                Response::sentence(503, text).with_field("Retry-After", "1")
            }
            Answer::Nobody if of_path => Response::sentence(404, "there is no such user\n"),
            _ => Response::sentence(403, "this user isn't allowed here\n"),
        }
    }
}

fn gone() -> Response {
    Response::sentence(503, "this route is gone\n")
}

/// The value of a field that comes once: of several, whoever stands behind this may read another.
fn only<'a>(request: &Request<'a>, name: &str) -> Option<&'a str> {
    let mut all = request.fields();
    let mut all = all
        .by_ref()
        .filter(|(found, _)| is_like(found, name.as_bytes()));
    let (found, value) = all.next()?;
    let is_alone = all.next().is_none() && found.eq_ignore_ascii_case(name.as_bytes());
    is_alone.then(|| std::str::from_utf8(value).ok()).flatten()
}

/// A segment of a path as it's matched, counted from one: of the path as it's sent, `//` and
/// parameters would have others counted than the route and the server behind it read.
fn segment(path: &[u8], which: usize) -> Option<&str> {
    let segment = path.split(|byte| *byte == b'/').nth(which)?;
    std::str::from_utf8(segment).ok()
}

//! Which service a request belongs to: by its path, and the methods that are allowed there.

use server::{Context, Event, Intake, Reply, Request, Response, Ticket};

/// So many bits of a ticket's tag say whose route it is. The others are that route's.
pub(crate) const ROUTE_BITS: u32 = 8;

/// Answers the requests of one route. One instance per worker, so it needs no locks.
pub(crate) trait Answerer {
    /// Answers what was asked, or takes a ticket from `context` and answers later.
    fn call(&mut self, asked: &Asked<'_>, context: &mut Context<'_>) -> Reply;

    /// A timer set by [`Context::wake_at`] is due.
    fn due(&mut self, ticket: Ticket, context: &mut Context<'_>) {
        let _ = (ticket, context);
    }

    /// Something happened to a request that isn't over.
    fn event(&mut self, ticket: Ticket, event: Event<'_>, context: &mut Context<'_>) {
        let _ = (ticket, event, context);
    }

    /// Somebody has rung the bell of this worker, perhaps for another route.
    fn rung(&mut self, context: &mut Context<'_>) {
        let _ = context;
    }
}

/// Whose route a ticket is of, by its index.
pub(crate) fn route_of(ticket: Ticket) -> usize {
    (ticket.tag() & ((1 << ROUTE_BITS) - 1)) as usize
}

/// One request, as the service of its route sees it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asked<'a> {
    /// What follows the route's prefix in the path: `1024` of `/bytes/1024?x`.
    pub(crate) parameter: &'a str,
    /// All of it.
    pub(crate) request: &'a Request<'a>,
}

/// Where a service is reached, and by which methods.
pub(crate) struct Route<A = Box<dyn Answerer>> {
    place: Place,
    methods: &'static [&'static str],
    /// What becomes of bodies.
    pub(crate) intake: Bodies,
    pub(crate) answerer: A,
}

/// Makes the service of a worker.
pub(crate) type Make = Box<dyn Fn() -> Box<dyn Answerer> + Send + Sync>;

/// What becomes of the bodies of requests.
#[derive(Clone, Copy)]
pub(crate) enum Bodies {
    /// They're read and thrown away.
    Discarded,
    /// They're collected for the service.
    Whole,
    /// The service answers before they have come, where the protocol lets it.
    Starved,
}

#[derive(Clone, Copy)]
enum Place {
    /// This path.
    At(&'static str),
    /// Every path that begins so; the rest is the service's parameter.
    Below(&'static str),
}

/// What became of a method and a path.
pub(crate) enum Found<'a> {
    /// A route, by its index, and the parameter for its service.
    Route(usize, &'a str),
    /// 404 or 405.
    Refusal(Response),
}

impl From<Bodies> for Intake {
    fn from(bodies: Bodies) -> Intake {
        match bodies {
            Bodies::Discarded => Intake::Discard,
            Bodies::Whole => Intake::Whole,
            Bodies::Starved => Intake::Ahead,
        }
    }
}

impl Route<Make> {
    pub(crate) fn at<A: Answerer + 'static>(
        path: &'static str,
        make: impl Fn() -> A + Send + Sync + 'static,
    ) -> Self {
        Route::new(Place::At(path), make)
    }

    pub(crate) fn below<A: Answerer + 'static>(
        prefix: &'static str,
        make: impl Fn() -> A + Send + Sync + 'static,
    ) -> Self {
        Route::new(Place::Below(prefix), make)
    }

    fn new<A: Answerer + 'static>(
        place: Place,
        make: impl Fn() -> A + Send + Sync + 'static,
    ) -> Self {
        Route {
            place,
            methods: &["GET", "HEAD"],
            intake: Bodies::Discarded,
            answerer: Box::new(move || Box::new(make())),
        }
    }

    /// With bodies, and methods that have one.
    pub(crate) fn taking(self, intake: Bodies) -> Self {
        Route {
            methods: &["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"],
            intake,
            ..self
        }
    }

    /// For [`Reply::Upgrade`], which only a GET can ask for (RFC 6455 §4.1).
    pub(crate) fn upgrading(self) -> Self {
        Route {
            methods: &["GET"],
            ..self
        }
    }

    /// The same with a service of its own.
    pub(crate) fn for_worker(&self) -> Route {
        Route {
            place: self.place,
            methods: self.methods,
            intake: self.intake,
            answerer: (self.answerer)(),
        }
    }
}

impl Route {
    /// Whether `method` may be used here.
    fn allows(&self, method: &[u8]) -> bool {
        let mut methods = self.methods.iter();
        methods.any(|allowed| allowed.as_bytes() == method)
    }

    fn parameter<'a>(&self, path: &'a [u8]) -> Option<&'a [u8]> {
        match self.place {
            Place::At(place) => (path == place.as_bytes()).then_some(&[]),
            Place::Below(prefix) => path.strip_prefix(prefix.as_bytes()),
        }
    }
}

/// Looks a request up.
pub(crate) fn find<'a>(routes: &[Route], request: &Request<'a>) -> Found<'a> {
    let path = request.path();
    let mut all = routes.iter().enumerate();
    let found = all.find_map(|(at, route)| Some((at, route.parameter(path)?)));
    let found = found.and_then(|(at, rest)| Some((at, std::str::from_utf8(rest).ok()?)));
    let Some((at, parameter)) = found else {
        let text = "nothing is served at this path\n";
        return Found::Refusal(Response::sentence(404, text));
    };
    if routes[at].allows(request.method()) {
        return Found::Route(at, parameter);
    }
    // A 405 has to say what it would take (RFC 9110 §15.5.6).
    let methods = routes[at].methods.join(", ");
    let text = format!("this path allows {methods}\n");
    Found::Refusal(Response::sentence(405, text).with_field("Allow", methods))
}

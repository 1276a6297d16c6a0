//! The routes of this server. A new one is a file here and a line in [`Routes::new`].
//!
//! A line says how each worker comes by its own instance of the service, so that a service needs no
//! locks. What the instances of one server share, such as the tokens of a rate limit, the service
//! makes when it's registered and hands to each of them; nobody else knows of it.

mod burn;
mod bytes;
mod chunked;
mod delay;
mod echo;
mod garbage;
mod health;
mod hello;
mod http2;
mod json;
mod limited;
mod metrics;
mod parameter;
mod reset;
mod slow;
mod stall;
mod status;
mod truncate;
mod websocket;

use std::sync::Arc;

use metrics::Board;
pub(crate) use metrics::Posted;

use crate::service::{Context, Dialogue, Request, Response, Service};

/// Where a service is reached, and by which methods.
pub(crate) struct Route<S = Box<dyn Service>> {
    place: Place,
    /// What `Allow` says.
    pub(crate) methods: &'static str,
    /// Whether the body is collected for the service; else it is read and thrown away.
    pub(crate) takes_body: bool,
    /// Whether it answers before the body has come, where the protocol lets it.
    pub(crate) at_once: bool,
    pub(crate) service: S,
}

/// Makes the service of a worker.
type Make = Box<dyn Fn() -> Box<dyn Service> + Send + Sync>;

/// All routes of a server: its workers make theirs of it.
#[derive(Clone)]
pub(crate) struct Routes {
    all: Arc<[Route<Make>]>,
    /// Where its workers show what they have counted, for `/metrics`.
    board: Arc<Board>,
}

#[derive(Clone, Copy)]
enum Place {
    /// This path.
    At(&'static str),
    /// Every path that begins so; the rest is the service's parameter.
    Below(&'static str),
}

impl Routes {
    /// All routes. Their order only matters to how soon they are found.
    pub(crate) fn new() -> Routes {
        let board = Arc::<Board>::default();
        let all: Arc<[Route<Make>]> = Arc::new([
            Route::at("/", || hello::Hello),
            Route::at("/json", || json::Json),
            Route::below("/bytes/", || bytes::Bytes),
            Route::below("/delay/", || delay::Delay),
            Route::at("/wait10", || delay::Wait),
            Route::at("/echo", || echo::Echo).taking_bodies(),
            Route::below("/status/", || status::Status),
            Route::below("/chunked/", || chunked::Chunked),
            Route::below("/limited/", limited::sharing()),
            Route::below("/burn/", || burn::Burn),
            Route::at("/health", || health::Health),
            Route::at("/metrics", metrics::showing(&board)),
            Route::at("/stall", || stall::Stall),
            Route::at("/reset", || reset::Reset),
            Route::at("/truncate", || truncate::Truncate),
            Route::below("/slow/", || slow::Slow),
            Route::at("/garbage", || garbage::Garbage),
            Route::at("/ws", || websocket::Always(Dialogue::Echo)).upgrading(),
            Route::below("/ws/close/", || websocket::Close).upgrading(),
            Route::at("/ws/drop", || websocket::Always(Dialogue::Drop)).upgrading(),
            Route::at("/ws/stall", || websocket::Always(Dialogue::Silence)).upgrading(),
            Route::at("/h2/goaway", || http2::GoAway),
            Route::at("/h2/reset", || http2::Reset),
            Route::below("/h2/reset/", || http2::Reset),
            Route::at("/h2/starve", || http2::Starve)
                .taking_bodies()
                .at_once(),
        ]);
        Routes { all, board }
    }

    /// A place for another worker to show what it has counted.
    pub(crate) fn place(&self) -> Arc<Posted> {
        self.board.place()
    }

    /// The routes of a worker, with services of its own.
    pub(crate) fn for_worker(&self) -> Vec<Route> {
        let served = |route: &Route<Make>| Route {
            place: route.place,
            methods: route.methods,
            takes_body: route.takes_body,
            at_once: route.at_once,
            service: (route.service)(),
        };
        self.all.iter().map(served).collect()
    }
}

impl std::fmt::Debug for Routes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} routes", self.all.len())
    }
}

impl Route<Make> {
    fn at<S: Service + 'static>(
        path: &'static str,
        make: impl Fn() -> S + Send + Sync + 'static,
    ) -> Self {
        Route::new(Place::At(path), make)
    }

    fn below<S: Service + 'static>(
        prefix: &'static str,
        make: impl Fn() -> S + Send + Sync + 'static,
    ) -> Self {
        Route::new(Place::Below(prefix), make)
    }

    fn new<S: Service + 'static>(
        place: Place,
        make: impl Fn() -> S + Send + Sync + 'static,
    ) -> Self {
        Route {
            place,
            methods: "GET, HEAD",
            takes_body: false,
            at_once: false,
            service: Box::new(move || Box::new(make())),
        }
    }

    fn taking_bodies(self) -> Self {
        Route {
            methods: "GET, HEAD, POST, PUT, PATCH, DELETE",
            takes_body: true,
            ..self
        }
    }

    /// For [`Reply::Upgrade`], which only a GET can ask for (RFC 6455 §4.1).
    ///
    /// [`Reply::Upgrade`]: crate::service::Reply::Upgrade
    fn upgrading(self) -> Self {
        Route {
            methods: "GET",
            ..self
        }
    }

    fn at_once(self) -> Self {
        Route {
            at_once: true,
            ..self
        }
    }
}

impl Route {
    /// Whether `method` may be used here.
    pub(crate) fn allows(&self, method: &[u8]) -> bool {
        self.methods
            .split(", ")
            .any(|allowed| allowed.as_bytes() == method)
    }

    fn parameter<'a>(&self, path: &'a str) -> Option<&'a str> {
        match self.place {
            Place::At(place) => (path == place).then_some(""),
            Place::Below(prefix) => path.strip_prefix(prefix),
        }
    }
}

/// The route of a path, by its index, and the path's parameter.
pub(crate) fn find<'a>(routes: &[Route], path: &'a str) -> Option<(usize, &'a str)> {
    routes
        .iter()
        .enumerate()
        .find_map(|(at, route)| Some((at, route.parameter(path)?)))
}

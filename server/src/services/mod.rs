//! The routes of this server. A new one is a file here and a line in [`routes`].

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
mod parameter;
mod reset;
mod slow;
mod stall;
mod status;
mod truncate;
mod websocket;

use std::sync::Arc;

use crate::service::{Context, Dialogue, Request, Response, Service};

pub(crate) use limited::Buckets;

/// Where a service is reached, and by which methods.
pub(crate) struct Route {
    place: Place,
    /// What `Allow` says.
    pub(crate) methods: &'static str,
    /// Whether the body is collected for the service; else it is read and thrown away.
    pub(crate) takes_body: bool,
    /// Whether it answers before the body has come, where the protocol lets it.
    pub(crate) at_once: bool,
    pub(crate) service: Box<dyn Service>,
}

enum Place {
    /// This path.
    At(&'static str),
    /// Every path that begins so; the rest is the service's parameter.
    Below(&'static str),
}

/// All routes of a worker. Their order only matters to how soon they are found. `buckets` are what
/// the workers of one server share.
pub(crate) fn routes(buckets: &Arc<Buckets>) -> Vec<Route> {
    vec![
        Route::at("/", hello::Hello),
        Route::at("/json", json::Json),
        Route::below("/bytes/", bytes::Bytes),
        Route::below("/delay/", delay::Delay),
        Route::at("/wait10", delay::Wait),
        Route::at("/echo", echo::Echo).taking_bodies(),
        Route::below("/status/", status::Status),
        Route::below("/chunked/", chunked::Chunked),
        Route::below("/limited/", limited::Limited(Arc::clone(buckets))),
        Route::below("/burn/", burn::Burn),
        Route::at("/health", health::Health),
        Route::at("/stall", stall::Stall),
        Route::at("/reset", reset::Reset),
        Route::at("/truncate", truncate::Truncate),
        Route::below("/slow/", slow::Slow),
        Route::at("/garbage", garbage::Garbage),
        Route::at("/ws", websocket::Always(Dialogue::Echo)).upgrading(),
        Route::below("/ws/close/", websocket::Close).upgrading(),
        Route::at("/ws/drop", websocket::Always(Dialogue::Drop)).upgrading(),
        Route::at("/ws/stall", websocket::Always(Dialogue::Silence)).upgrading(),
        Route::at("/h2/goaway", http2::GoAway),
        Route::at("/h2/reset", http2::Reset),
        Route::below("/h2/reset/", http2::Reset),
        Route::at("/h2/starve", http2::Starve)
            .taking_bodies()
            .at_once(),
    ]
}

impl Route {
    fn at(path: &'static str, service: impl Service + 'static) -> Route {
        Route::new(Place::At(path), service)
    }

    fn below(prefix: &'static str, service: impl Service + 'static) -> Route {
        Route::new(Place::Below(prefix), service)
    }

    fn new(place: Place, service: impl Service + 'static) -> Route {
        Route {
            place,
            methods: "GET, HEAD",
            takes_body: false,
            at_once: false,
            service: Box::new(service),
        }
    }

    fn taking_bodies(self) -> Route {
        Route {
            methods: "GET, HEAD, POST, PUT, PATCH, DELETE",
            takes_body: true,
            ..self
        }
    }

    /// For [`Reply::Upgrade`], which only a GET can ask for (RFC 6455 §4.1).
    ///
    /// [`Reply::Upgrade`]: crate::service::Reply::Upgrade
    fn upgrading(self) -> Route {
        Route {
            methods: "GET",
            ..self
        }
    }

    fn at_once(self) -> Route {
        Route {
            at_once: true,
            ..self
        }
    }

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

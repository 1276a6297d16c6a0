//! The routes of this server. A new one is a file here and a line in [`Routes::new`].
//!
//! A line says how each worker comes by its own instance of the service, so that a service needs no
//! locks. What the instances of one server share, such as the tokens of a rate limit, the service
//! makes when it's registered and hands to each of them; nobody else knows of it.

mod burn;
mod bytes;
mod chat;
mod chunked;
mod delay;
mod echo;
mod events;
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
mod task;
mod truncate;
mod websocket;

use std::sync::Arc;

use server::{Dialogue, ResponseTimes};

use crate::Offer;
use crate::counted::{Counted, Counter};
use crate::route::{Bodies, Make, Route};
use chat::Room;
use metrics::Board;
pub(crate) use metrics::Posted;
pub use metrics::response_times;
use task::Pool;

/// The media type of plain text.
const TEXT: &str = "text/plain";

/// All routes of a server: its workers make theirs of it.
#[derive(Clone)]
pub(crate) struct Routes {
    all: Arc<[Route<Make>]>,
    /// Where its workers show what they have counted, for `/metrics`.
    board: Arc<Board>,
    /// What its workers count by a header.
    counted: Option<Arc<Counted>>,
}

impl Routes {
    /// All routes. Their order only matters to how soon they are found.
    pub(crate) fn new(offer: Offer, times: &ResponseTimes) -> Routes {
        let pool = Arc::new(Pool::new(offer.tasks));
        let counted = offer.count_by.map(Counted::new);
        let room = Arc::<Room>::default();
        let board = Arc::new(Board::new((&pool, &room), times, counted.as_ref()));
        let all: Arc<[Route<Make>]> = Arc::new([
            Route::at("/", || hello::Hello),
            Route::at("/json", || json::Json),
            Route::below("/bytes/", || bytes::Bytes),
            Route::below("/delay/", || delay::Delay),
            Route::at("/wait10", || delay::Wait),
            Route::at("/echo", || echo::Echo).taking(Bodies::Whole),
            Route::below("/status/", || status::Status),
            Route::below("/chunked/", || chunked::Chunked),
            Route::below("/events/", events::Events::new),
            Route::at("/v1/chat/completions", events::Completions::new).taking(Bodies::Whole),
            Route::below("/limited/", limited::sharing()),
            Route::below("/burn/", || burn::Burn),
            Route::below("/task/", task::sharing(&pool)),
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
            Route::at("/chat", chat::sharing(&room)).upgrading(),
            Route::at("/h2/goaway", || http2::GoAway),
            Route::at("/h2/reset", || http2::Reset),
            Route::below("/h2/reset/", || http2::Reset),
            Route::at("/h2/starve", || http2::Starve).taking(Bodies::Starved),
        ]);
        Routes {
            all,
            board,
            counted,
        }
    }

    /// A place for another worker to show what it has counted.
    pub(crate) fn place(&self) -> Arc<Posted> {
        self.board.place()
    }

    /// What another worker counts requests with, if they're counted by a header.
    pub(crate) fn counter(&self) -> Option<Counter> {
        self.counted.as_ref().map(Counted::counter)
    }

    /// The routes of a worker, with services of its own.
    pub(crate) fn for_worker(&self) -> Vec<Route> {
        self.all.iter().map(Route::for_worker).collect()
    }
}

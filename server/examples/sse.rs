//! Server-sent events of an axum application, one each 100 ms:
//!
//! ```text
//! cargo run -p ringside-server --features tokio --example sse -- --addr 127.0.0.1:8080
//! curl -N http://127.0.0.1:8080/events/5
//! ```

#[path = "shared/arguments.rs"]
mod arguments;

use std::convert::Infallible;
use std::process::ExitCode;
use std::time::Duration;

use axum::Router;
use axum::extract::Path;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::routing::get;
use futures_util::stream::{self, Stream};
use ringside_server::tower;
use tokio::time;

/// The application, which knows nothing of the server.
pub(crate) fn app() -> Router {
    Router::new().route("/events/{count}", get(events))
}

/// So many events, each when it's time and the client has taken the one before.
async fn events(Path(count): Path<u32>) -> Sse<impl Stream<Item = Result<Event, Infallible>>> {
    let ticks = time::interval(Duration::from_millis(100));
    let events = stream::unfold((ticks, 0), move |(mut ticks, number)| async move {
        if number == count {
            return None;
        }
        ticks.tick().await;
        let event = Event::default().id(number.to_string()).data("tick");
        Some((Ok(event), (ticks, number + 1)))
    });
    Sse::new(events).keep_alive(KeepAlive::default())
}

fn main() -> ExitCode {
    arguments::serve(
        arguments::config(std::env::args().skip(1)),
        |config, stop| {
            let app = app();
            Ok(tower::start(config, move |_worker| app.clone(), stop)?)
        },
    )
}

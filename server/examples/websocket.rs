//! A WebSocket of an axum application, which sends back what it's told:
//!
//! ```text
//! cargo run -p ringside-server --features tokio --example websocket -- --addr 127.0.0.1:8080
//! ```

#[path = "shared/arguments.rs"]
mod arguments;

use std::process::ExitCode;

use axum::Router;
use axum::extract::ws::{Message, WebSocket, WebSocketUpgrade};
use axum::response::Response;
use axum::routing::any;
use ringside_server::tower;

/// The application, which knows nothing of the server.
pub(crate) fn app() -> Router {
    Router::new().route("/ws", any(upgrade))
}

async fn upgrade(upgrade: WebSocketUpgrade) -> Response {
    upgrade.on_upgrade(echo)
}

async fn echo(mut socket: WebSocket) {
    while let Some(Ok(message)) = socket.recv().await {
        let answer = match message {
            Message::Text(_) | Message::Binary(_) => socket.send(message).await,
            Message::Close(_) => return,
            // A ping is answered by the library.
            _ => Ok(()),
        };
        if answer.is_err() {
            return;
        }
    }
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

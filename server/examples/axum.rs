//! An axum application on this server:
//!
//! ```text
//! cargo run --release -p ringside-server --features tower --example axum -- \
//!     --addr 127.0.0.1:8080 --threads 1
//! curl http://127.0.0.1:8080/                      # a greeting
//! curl http://127.0.0.1:8080/json                  # the same as JSON
//! curl http://127.0.0.1:8080/echo -d hello         # what is sent, as it comes
//! ```

#[path = "shared/arguments.rs"]
mod arguments;

use std::process::ExitCode;

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::response::Json;
use axum::routing::{get, post};
use ringside_server::tower;
use serde_json::{Value, json};

/// The application, which knows nothing of the server.
pub(crate) fn app() -> Router {
    Router::new()
        .route("/", get(hello))
        .route("/json", get(json))
        .route("/echo", post(echo))
}

async fn hello() -> &'static str {
    "hello\n"
}

async fn json() -> Json<Value> {
    Json(json!({ "message": "hello" }))
}

async fn echo(request: Request) -> Body {
    request.into_body()
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

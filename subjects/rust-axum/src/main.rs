//! The subject rust-axum: constant answers, one that waits, and one out of a shop's stock.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Path, State};
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::serve::ListenerExt;
use axum::{Json, Router};
use serde::Serialize;
use tokio::net::TcpSocket;

/// Something that the shop sells.
#[derive(Clone, Serialize)]
struct Item {
    id: u32,
    name: String,
    price: u32,
    stock: u32,
    currency: &'static str,
}

type Items = Arc<HashMap<u32, Item>>;

fn items() -> Items {
    let item = |id| Item {
        id,
        name: format!("Item {id}"),
        price: 1000 + id * 37 % 9000,
        stock: id % 13,
        currency: "EUR",
    };
    Arc::new((1..=1000).map(|id| (id, item(id))).collect())
}

fn constant(content_type: &'static str, body: &'static str) -> Response {
    let content_type = HeaderValue::from_static(content_type);
    ([(CONTENT_TYPE, content_type)], body).into_response()
}

async fn hello() -> Response {
    constant("text/plain", "Hello, World!")
}

async fn json() -> Response {
    constant("application/json", "{\"status\":\"ok\"}")
}

async fn wait10() -> Response {
    tokio::time::sleep(Duration::from_millis(10)).await;
    constant("text/plain", "waited\n")
}

async fn item(State(items): State<Items>, Path(id): Path<u32>) -> Response {
    match items.get(&id) {
        Some(item) => Json(item).into_response(),
        None => StatusCode::NOT_FOUND.into_response(),
    }
}

async fn serve(address: &str) -> Result<(), Box<dyn std::error::Error>> {
    let socket = TcpSocket::new_v4()?;
    socket.set_reuseaddr(true)?;
    socket.bind(address.parse()?)?;
    let listener = socket.listen(4096)?.tap_io(|stream| {
        // A connection that is already gone again is found out about when it is read.
        let _ = stream.set_nodelay(true);
    });
    let router = Router::new()
        .route("/", get(hello))
        .route("/json", get(json))
        .route("/wait10", get(wait10))
        .route("/shop/item/{id}", get(item))
        .with_state(items());
    Ok(axum::serve(listener, router).await?)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let address = std::env::args().nth(1).ok_or("usage: rust-axum ADDRESS")?;
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?
        .block_on(serve(&address))
}

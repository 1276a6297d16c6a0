//! The application of the subjects rust-axum and rust-axum-ringside, which knows nothing of the
//! server: a constant answer, JSON, two that wait, and one out of a shop's stock.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Path, State};
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use serde::Serialize;

/// The answer of `/json`, encoded for each request.
#[derive(Serialize)]
struct Status {
    status: &'static str,
}

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

pub fn app() -> Router {
    Router::new()
        .route("/", get(hello))
        .route("/json", get(json))
        .route("/wait10", get(|| wait(10)))
        .route("/wait500", get(|| wait(500)))
        .route("/shop/item/{id}", get(item))
        .with_state(items())
}

async fn hello() -> Response {
    constant("Hello, World!")
}

async fn json() -> Json<Status> {
    Json(Status { status: "ok" })
}

async fn wait(milliseconds: u64) -> Response {
    tokio::time::sleep(Duration::from_millis(milliseconds)).await;
    constant("waited\n")
}

async fn item(State(items): State<Items>, Path(id): Path<u32>) -> Response {
    match items.get(&id) {
        Some(item) => Json(item).into_response(),
        None => StatusCode::NOT_FOUND.into_response(),
    }
}

fn constant(body: &'static str) -> Response {
    let content_type = HeaderValue::from_static("text/plain");
    ([(CONTENT_TYPE, content_type)], body).into_response()
}

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

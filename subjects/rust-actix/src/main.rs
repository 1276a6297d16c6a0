//! The subject rust-actix: what rust-axum answers, from actix-web.

use std::collections::HashMap;
use std::time::Duration;

use actix_web::http::KeepAlive;
use actix_web::rt::time::sleep;
use actix_web::web::{Data, Json, Path};
use actix_web::{App, HttpResponse, HttpServer, Responder, get};
use serde::Serialize;

/// The answer of `/json`, encoded for each request.
#[derive(Serialize)]
struct Status {
    status: &'static str,
}

/// Something that the shop sells.
#[derive(Serialize)]
struct Item {
    id: u32,
    name: String,
    price: u32,
    stock: u32,
    currency: &'static str,
}

type Items = HashMap<u32, Item>;

#[get("/")]
async fn hello() -> HttpResponse {
    constant("Hello, World!")
}

#[get("/json")]
async fn json() -> impl Responder {
    Json(Status { status: "ok" })
}

#[get("/wait10")]
async fn wait10() -> HttpResponse {
    wait(10).await
}

#[get("/wait500")]
async fn wait500() -> HttpResponse {
    wait(500).await
}

#[get("/shop/item/{id}")]
async fn shop_item(items: Data<Items>, id: Path<u32>) -> HttpResponse {
    match items.get(&id) {
        Some(item) => HttpResponse::Ok().json(item),
        None => HttpResponse::NotFound().finish(),
    }
}

async fn wait(milliseconds: u64) -> HttpResponse {
    sleep(Duration::from_millis(milliseconds)).await;
    constant("waited\n")
}

fn constant(body: &'static str) -> HttpResponse {
    HttpResponse::Ok().content_type("text/plain").body(body)
}

fn items() -> Items {
    let item = |id| Item {
        id,
        name: format!("Item {id}"),
        price: 1000 + id * 37 % 9000,
        stock: id % 13,
        currency: "EUR",
    };
    (1..=1000).map(|id| (id, item(id))).collect()
}

#[actix_web::main]
async fn main() -> std::io::Result<()> {
    let address = std::env::args()
        .nth(1)
        .ok_or(std::io::ErrorKind::InvalidInput)?;
    let items = Data::new(items());
    HttpServer::new(move || {
        App::new()
            .app_data(items.clone())
            .service((hello, json, wait10, wait500, shop_item))
    })
    .workers(1)
    .backlog(4096)
    .keep_alive(KeepAlive::Os)
    .tcp_nodelay(true)
    .bind_auto_h2c(address)?
    .run()
    .await
}

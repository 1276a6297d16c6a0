//! The subjects rust-ntex-uring and rust-ntex-epoll: constant answers, and one that waits.

use ntex::SharedCfg;
use ntex::http::{HttpServiceConfig, KeepAlive};
use ntex::time::{Millis, sleep};
use ntex::web::{App, HttpResponse, HttpServer, get};

#[get("/")]
async fn hello() -> HttpResponse {
    HttpResponse::Ok()
        .content_type("text/plain")
        .body("Hello, World!")
}

#[get("/json")]
async fn json() -> HttpResponse {
    HttpResponse::Ok()
        .content_type("application/json")
        .body("{\"status\":\"ok\"}")
}

#[get("/wait10")]
async fn wait10() -> HttpResponse {
    sleep(Millis(10)).await;
    HttpResponse::Ok()
        .content_type("text/plain")
        .body("waited\n")
}

#[ntex::main]
async fn main() -> std::io::Result<()> {
    let address = std::env::args()
        .nth(1)
        .ok_or(std::io::ErrorKind::InvalidInput)?;
    HttpServer::new(async || App::new().service((hello, json, wait10)))
        .workers(1)
        .backlog(4096)
        .config(
            SharedCfg::new("subject").add(HttpServiceConfig::new().set_keepalive(KeepAlive::Os)),
        )
        .bind(address)?
        .run()
        .await
}

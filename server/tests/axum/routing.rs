//! Which handler answers, and what is answered where there is none.

use axum::Router;
use axum::extract::{Path, Request};
use axum::http::header::{COOKIE, LOCATION, SET_COOKIE};
use axum::http::{HeaderMap, Method, StatusCode, Uri};
use axum::response::{AppendHeaders, IntoResponse, Json, Redirect};
use axum::routing::{MethodFilter, any, delete, get, on, post};
use serde_json::json;

use crate::Servers;
use crate::wire::Ask;

#[test]
fn nested_and_merged_routers_and_their_fallbacks() {
    async fn path(uri: Uri) -> String {
        uri.to_string()
    }
    async fn nothing(method: Method, uri: Uri) -> impl IntoResponse {
        (
            StatusCode::NOT_FOUND,
            format!("nothing at {method} {uri}\n"),
        )
    }
    let app = || {
        let deep = Router::new()
            .route("/", get(path))
            .route("/leaf", get(path));
        let own = Router::new()
            .route("/x", get(path))
            .fallback(async || (StatusCode::IM_A_TEAPOT, "own\n"));
        let merged = Router::new().route("/merged", get(path));
        let service = Router::new().route("/{*rest}", any(path));
        Router::new()
            .route("/", get(path))
            .nest("/deep", Router::new().nest("/er", deep))
            .nest("/own/{id}", own)
            .nest_service("/service", service)
            .merge(merged)
            .fallback(nothing)
    };
    let servers = Servers::of(app);
    for (target, status) in [
        ("/", 200),
        ("/deep/er", 200),
        ("/deep/er/", 404),
        ("/deep/er/leaf?q", 200),
        ("/deep", 404),
        ("/deep/er/none", 404),
        ("/own/7/x", 200),
        ("/own/7/y", 418),
        ("/own/7", 418),
        ("/service/a/b", 200),
        ("/service", 404),
        ("/merged", 200),
        ("/merged/", 404),
        ("//", 404),
        ("/Merged", 404),
        ("/%6Derged", 404),
    ] {
        servers.both(&Ask::get(target), status);
    }
    servers.both(&Ask::post("/none", "body"), 404);
}

#[test]
fn methods_that_are_answered_and_those_that_are_not() {
    async fn method(method: Method) -> String {
        format!("{method}\n")
    }
    let app = || {
        let several = MethodFilter::PUT.or(MethodFilter::PATCH);
        let own = get(method).fallback(async |method: Method| {
            (
                StatusCode::METHOD_NOT_ALLOWED,
                format!("no {method} here\n"),
            )
        });
        Router::new()
            .route("/get", get(method))
            .route("/post", post(method).delete(method))
            .route("/several", on(several, method))
            .route("/any", any(method))
            .route("/own", own)
            .route("/head", get(method).head(async || [("x-own", "head")]))
            .route("/options", get(method).options(async || [("allow", "GET")]))
            .route("/gone", delete(async || StatusCode::NO_CONTENT))
    };
    let servers = Servers::of(app);
    for (method, target, status) in [
        ("GET", "/get", 200),
        ("HEAD", "/get", 200),
        ("POST", "/get", 405),
        ("OPTIONS", "/get", 405),
        ("POST", "/post", 200),
        ("DELETE", "/post", 200),
        ("HEAD", "/post", 405),
        ("PATCH", "/several", 200),
        ("GET", "/several", 405),
        ("OPTIONS", "/any", 200),
        ("HEAD", "/any", 200),
        ("LINK", "/any", 200),
        ("PUT", "/own", 405),
        ("HEAD", "/head", 200),
        ("OPTIONS", "/options", 200),
        ("DELETE", "/gone", 204),
        ("HEAD", "/none", 404),
    ] {
        servers.both(&Ask::new(method, target), status);
    }
}

#[test]
fn redirects() {
    let app = || {
        Router::new()
            .route("/to", get(async || Redirect::to("/there")))
            .route(
                "/temporary",
                any(async || Redirect::temporary("/there?a=b")),
            )
            .route(
                "/permanent",
                any(async || Redirect::permanent("https://b/%20")),
            )
            .route(
                "/own",
                get(async || (StatusCode::FOUND, [(LOCATION, "/own")])),
            )
    };
    let servers = Servers::of(app);
    servers.both(&Ask::get("/to"), 303);
    servers.both(&Ask::new("HEAD", "/to"), 303);
    servers.both(&Ask::post("/temporary", "body"), 307);
    servers.both(&Ask::get("/permanent"), 308);
    servers.both(&Ask::get("/own"), 302);
}

#[test]
fn cookies() {
    async fn set() -> impl IntoResponse {
        let first = (SET_COOKIE, "a=1; Path=/; HttpOnly");
        let second = (SET_COOKIE, "b=2; Max-Age=0");
        (
            [("x-first", "1")],
            AppendHeaders([first, second]),
            [("x-last", "2")],
            "set\n",
        )
    }
    async fn told(headers: HeaderMap) -> String {
        format!("{:?}\n", headers.get_all(COOKIE).iter().collect::<Vec<_>>())
    }
    let app = || {
        Router::new()
            .route("/set", get(set))
            .route("/told", get(told))
    };
    let servers = Servers::of(app);
    let heard = servers.both(&Ask::get("/set"), 200).0;
    assert!(
        heard.has("set-cookie: a=1; Path=/; HttpOnly\r\nset-cookie: b=2"),
        "{heard}"
    );
    servers.both(&Ask::get("/told").field("cookie", "a=1; b=\"2\""), 200);
    servers.both(
        &Ask::get("/told")
            .field("cookie", "a=1")
            .field("cookie", "b=2"),
        200,
    );
}

#[test]
fn what_can_become_an_answer() {
    async fn failing(Path(what): Path<String>) -> Result<Json<serde_json::Value>, StatusCode> {
        match &what[..] {
            "good" => Ok(Json(json!({ "a": [1, null, "é"] }))),
            _ => Err(StatusCode::CONFLICT),
        }
    }
    async fn echo(request: Request) -> impl IntoResponse {
        let kind = request.headers().get("content-type").cloned();
        (
            StatusCode::ACCEPTED,
            kind.map(|kind| [("content-type", kind)]),
            request.into_body(),
        )
    }
    let app = || {
        Router::new()
            .route("/result/{what}", get(failing))
            .route("/bytes", get(async || vec![0_u8, 1, 0xff]))
            .route("/html", get(async || axum::response::Html("<p>é</p>")))
            .route("/echo", post(echo))
    };
    let servers = Servers::of(app);
    servers.both(&Ask::get("/result/good"), 200);
    servers.both(&Ask::get("/result/bad"), 409);
    servers.both(&Ask::get("/bytes"), 200);
    servers.both(&Ask::get("/html"), 200);
    servers.both(
        &Ask::post("/echo", "a=b").field("content-type", "text/x"),
        202,
    );
    servers.both(&Ask::post("/echo", ""), 202);
}

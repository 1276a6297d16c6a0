//! What handlers take out of requests.

use std::collections::HashMap;

use axum::body::Bytes;
use axum::extract::{
    Extension, Form, Json, MatchedPath, Multipart, OriginalUri, Path, Query, RawForm,
    RawPathParams, RawQuery, State,
};
use axum::http::{HeaderMap, Method, Uri, Version};
use axum::response::{IntoResponse, Response};
use axum::routing::{any, get, post};
use axum::{Router, extract::Request};
use serde::{Deserialize, Serialize};

use crate::Servers;
use crate::wire::Ask;

#[derive(Debug, Deserialize, Serialize)]
struct Thing {
    name: String,
    size: u32,
}

#[test]
fn paths() {
    async fn one(Path(id): Path<u32>) -> String {
        format!("one {id}")
    }
    async fn two(Path((a, b)): Path<(String, u8)>) -> String {
        format!("two {a:?} {b}")
    }
    async fn named(Path(thing): Path<Thing>) -> Json<Thing> {
        Json(thing)
    }
    async fn rest(Path(rest): Path<String>) -> String {
        rest
    }
    async fn raw(params: RawPathParams) -> String {
        format!("{:?}", params.iter().collect::<Vec<_>>())
    }
    async fn matched(path: MatchedPath) -> String {
        path.as_str().to_owned()
    }
    let app = || {
        Router::new()
            .route("/one/{id}", get(one))
            .route("/two/{a}/{b}", get(two))
            .route("/named/{name}/{size}", get(named))
            .route("/rest/{*rest}", get(rest))
            .route("/raw/{a}/{b}", get(raw))
            .route("/matched/{anything}", get(matched))
    };
    let servers = Servers::of(app);
    for (target, status) in [
        ("/one/17", 200),
        ("/one/x", 400),
        ("/one/-1", 400),
        ("/one/99999999999", 400),
        ("/one/", 404),
        ("/one/%31", 200),
        ("/two/a%20b/3", 200),
        ("/two/%C3%A9%2F/255", 200),
        ("/two/a/256", 400),
        ("/two/%FF/1", 400),
        ("/named/x/4?y=z", 200),
        ("/rest/a/b//c", 200),
        ("/rest/", 404),
        ("/raw/a%20/b", 200),
        ("/matched/what", 200),
    ] {
        servers.both(&Ask::get(target), status);
    }
}

#[test]
fn queries() {
    async fn typed(Query(thing): Query<Thing>) -> Json<Thing> {
        Json(thing)
    }
    async fn map(Query(map): Query<HashMap<String, String>>) -> String {
        let mut pairs: Vec<_> = map.into_iter().collect();
        pairs.sort();
        format!("{pairs:?}")
    }
    async fn raw(RawQuery(query): RawQuery) -> String {
        format!("{query:?}")
    }
    let app = || {
        Router::new()
            .route("/typed", get(typed))
            .route("/map", get(map))
            .route("/raw", get(raw))
    };
    let servers = Servers::of(app);
    for (target, status) in [
        ("/typed?name=a&size=1", 200),
        ("/typed?size=1&name=a+b%26", 200),
        ("/typed?name=a", 400),
        ("/typed?name=a&size=x", 400),
        ("/typed", 400),
        ("/map?a=1&b=&c&=d", 200),
        ("/map?%FF=1", 200),
        ("/map?", 200),
        ("/raw", 200),
        ("/raw?", 200),
        ("/raw?a=b?c=d&&%zz", 200),
        ("/raw?{}|'", 200),
    ] {
        servers.both(&Ask::get(target), status);
    }
}

#[test]
fn json() {
    async fn thing(Json(thing): Json<Thing>) -> Json<Thing> {
        Json(thing)
    }
    async fn perhaps(thing: Option<Json<Thing>>) -> String {
        format!("{:?}", thing.map(|Json(thing)| thing.size))
    }
    async fn judged(
        thing: Result<Json<Thing>, axum::extract::rejection::JsonRejection>,
    ) -> Response {
        match thing {
            Ok(Json(thing)) => Json(thing).into_response(),
            Err(rejection) => (rejection.status(), format!("{rejection:?}")).into_response(),
        }
    }
    let app = || {
        Router::new()
            .route("/thing", post(thing))
            .route("/perhaps", post(perhaps))
            .route("/judged", post(judged))
    };
    let servers = Servers::of(app);
    let good = r#"{"name":"é","size":3}"#;
    for (body, kind, status) in [
        (good, "application/json", 200),
        (good, "application/json; charset=utf-8", 200),
        (good, "application/problem+json", 200),
        (good, "text/json", 415),
        (good, "", 415),
        (r#"{"name":"a","size":-3}"#, "application/json", 422),
        (r#"{"name":"a"}"#, "application/json", 422),
        (r#"{"name":"a","#, "application/json", 400),
        (r#"{"name":"a","size":3}x"#, "application/json", 400),
        ("", "application/json", 400),
    ] {
        for target in ["/thing", "/judged"] {
            servers.both(&Ask::post(target, body).field("content-type", kind), status);
        }
    }
    for (body, kind, status) in [
        (good, "application/json", 200),
        ("x", "application/json", 400),
    ] {
        servers.both(
            &Ask::post("/perhaps", body).field("content-type", kind),
            status,
        );
    }
    servers.both(&Ask::post("/perhaps", ""), 200);
    servers.both(&Ask::new("POST", "/thing"), 415);
    let long = format!(r#"{{"name":"{}","size":3}}"#, "x".repeat(100_000));
    servers.both(
        &Ask::post("/thing", long).field("content-type", "application/json"),
        200,
    );
}

#[test]
fn forms() {
    async fn thing(Form(thing): Form<Thing>) -> Json<Thing> {
        Json(thing)
    }
    async fn raw(RawForm(bytes): RawForm) -> Bytes {
        bytes
    }
    let app = || {
        Router::new()
            .route("/thing", get(thing).post(thing))
            .route("/raw", get(raw).post(raw))
    };
    let servers = Servers::of(app);
    let form = "application/x-www-form-urlencoded";
    for target in ["/thing?name=a&size=1", "/raw?name=a&size=1", "/raw"] {
        servers.both(&Ask::get(target), 200);
    }
    servers.both(&Ask::get("/thing?name=a"), 400);
    servers.both(&Ask::new("HEAD", "/thing?name=a&size=1"), 415);
    for (body, kind, status) in [
        ("name=a%20b+c&size=1", form, 200),
        ("name=a&size=x", form, 422),
        ("name=a&size=1", "text/plain", 415),
        ("", form, 422),
    ] {
        let ask = Ask::post("/thing", body).field("content-type", kind);
        servers.both(&ask, status);
    }
    servers.both(&Ask::post("/raw", "a=b").field("content-type", form), 200);
}

#[test]
fn whole_bodies() {
    async fn bytes(bytes: Bytes) -> Bytes {
        bytes
    }
    async fn text(text: String) -> String {
        text
    }
    let app = || {
        Router::new()
            .route("/bytes", any(bytes))
            .route("/text", any(text))
    };
    let servers = Servers::of(app);
    for method in ["POST", "PUT", "PATCH", "DELETE", "QUERY", "GET"] {
        servers.both(&Ask::new(method, "/bytes").body("some"), 200);
        servers.both(&Ask::new(method, "/bytes").body(""), 200);
        servers.both(&Ask::new(method, "/bytes"), 200);
    }
    servers.both(&Ask::post("/bytes", [0, 1, 0xff, b'\r', b'\n']), 200);
    servers.both(&Ask::post("/text", "é\r\n\r\nx"), 200);
    servers.both(&Ask::post("/text", [b'a', 0xff]), 400);
    for length in [
        1,
        16 * 1024 - 1,
        16 * 1024,
        16 * 1024 + 1,
        1_000_000,
        2_097_152,
    ] {
        servers.both(&Ask::post("/bytes", vec![b'x'; length]), 200);
    }
    servers.both(&Ask::post("/bytes", vec![b'x'; 2_097_153]), 413);
}

#[test]
fn heads() {
    async fn head(method: Method, uri: Uri, version: Version, headers: HeaderMap) -> String {
        let fields: Vec<_> = headers.iter().collect();
        format!("{method} {uri} {version:?} {fields:?}")
    }
    async fn original(OriginalUri(original): OriginalUri, uri: Uri) -> String {
        format!("{original} {uri}")
    }
    let app = || {
        let inner = Router::new()
            .route("/original", get(original))
            .route("/head", any(head));
        let request = any(async |request: Request| {
            let uri = request.uri().clone();
            let parts = (
                uri.scheme_str().map(str::to_owned),
                uri.authority().cloned(),
            );
            format!("{parts:?} {:?} {:?}", uri.path(), uri.query())
        });
        Router::new()
            .route("/head", any(head))
            .route("/uri", request)
            .nest("/nested", inner)
    };
    let servers = Servers::of(app);
    let ask = Ask::get("/head?a")
        .field("X-One", "1")
        .field("x-two", "a, b")
        .field("x-one", "2")
        .field("x-empty", "")
        .field("x-bytes", [b'a', 0x80, 0xff])
        .field("x-tab", "a\tb");
    servers.both(&ask, 200);
    servers.both(&Ask::new("HEAD", "/head"), 200);
    servers.both(&Ask::new("OPTIONS", "/head"), 200);
    servers.both(&Ask::new("PROPFIND", "/head"), 200);
    servers.both(&Ask::get("/nested/original?x"), 200);
    servers.both(&Ask::get("/nested/head?x"), 200);
    servers.both(&Ask::get("/uri?"), 200);
    servers.both(&Ask::get("/uri"), 200);
}

#[test]
fn states_and_extensions() {
    #[derive(Clone)]
    struct Shared(&'static str);

    async fn both(State(state): State<Shared>, Extension(more): Extension<u8>) -> String {
        format!("{} {more}", state.0)
    }
    async fn missing(Extension(more): Extension<u16>) -> String {
        more.to_string()
    }
    let app = || {
        let router = Router::new()
            .route("/both", get(both))
            .route("/missing", get(missing));
        router.layer(Extension(7_u8)).with_state(Shared("state"))
    };
    let servers = Servers::of(app);
    servers.both(&Ask::get("/both"), 200);
    servers.both(&Ask::get("/missing"), 500);
}

#[test]
fn multipart() {
    async fn parts(mut multipart: Multipart) -> Response {
        let mut said = String::new();
        loop {
            match multipart.next_field().await {
                Ok(Some(field)) => {
                    said += &format!("{:?} {:?} ", field.name(), field.file_name());
                    said += &format!("{:?} ", field.content_type());
                    match field.bytes().await {
                        Ok(bytes) => said += &format!("{} bytes\n", bytes.len()),
                        Err(error) => return error.into_response(),
                    }
                }
                Ok(None) => return said.into_response(),
                Err(error) => return error.into_response(),
            }
        }
    }
    let servers = Servers::of(|| Router::new().route("/", post(parts)));
    let kind = "multipart/form-data; boundary=X";
    let file = "y".repeat(50_000);
    let body = format!(
        "--X\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\nvalue\r\n\
         --X\r\nContent-Disposition: form-data; name=\"f\"; filename=\"f.txt\"\r\n\
         Content-Type: text/plain\r\n\r\n{file}\r\n--X--\r\n"
    );
    servers.both(&Ask::post("/", &body[..]).field("content-type", kind), 200);
    let pieces: Vec<_> = body.as_bytes().chunks(7_001).map(<[u8]>::to_vec).collect();
    let chunked = Ask::new("POST", "/").in_pieces(pieces);
    servers.both(&chunked.field("content-type", kind), 200);
    servers.both(
        &Ask::post("/", &body[..60]).field("content-type", kind),
        400,
    );
    for wrong in ["text/plain", "multipart/form-data"] {
        servers.both(
            &Ask::post("/", &body[..90]).field("content-type", wrong),
            400,
        );
    }
}

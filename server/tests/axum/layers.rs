//! Layers of axum, tower and tower-http around handlers.
//!
//! Those that need timers or the file system of tokio come with its runtime: see the end.

use std::io::{Read, Write};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::error_handling::HandleErrorLayer;
use axum::extract::{DefaultBodyLimit, Request};
use axum::http::{HeaderName, HeaderValue, Method, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{any, get, post};
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use futures_util::stream;
use std::convert::Infallible;
use tower::ServiceBuilder;
use tower::limit::ConcurrencyLimitLayer;
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::compression::CompressionLayer;
use tower_http::cors::{Any, CorsLayer};
use tower_http::decompression::RequestDecompressionLayer;
use tower_http::limit::RequestBodyLimitLayer;
use tower_http::normalize_path::NormalizePathLayer;
use tower_http::propagate_header::PropagateHeaderLayer;
use tower_http::set_header::{SetRequestHeaderLayer, SetResponseHeaderLayer};
use tower_http::trace::TraceLayer;

use crate::Servers;
use crate::wire::Ask;

async fn length(body: Bytes) -> String {
    format!("{} bytes\n", body.len())
}

#[test]
fn functions() {
    async fn around(request: Request, next: Next) -> Response {
        if request.headers().contains_key("x-stop") {
            return (StatusCode::FORBIDDEN, "stopped\n").into_response();
        }
        let path = request.uri().path().to_owned();
        let mut response = next.run(request).await;
        let value = HeaderValue::try_from(path).expect("a value");
        response.headers_mut().insert("x-path", value);
        response
    }
    /// Reads the body, and hands on another.
    async fn rewritten(request: Request, next: Next) -> Response {
        let (parts, body) = request.into_parts();
        let Ok(bytes) = axum::body::to_bytes(body, 1 << 20).await else {
            return StatusCode::BAD_REQUEST.into_response();
        };
        let body = Body::from(bytes.repeat(2));
        next.run(Request::from_parts(parts, body)).await
    }
    let app = || {
        let inner = Router::new().route("/twice", post(length));
        Router::new()
            .route("/", get(async || "inside\n"))
            .merge(inner.layer(middleware::from_fn(rewritten)))
            .layer(middleware::from_fn(around))
            .layer(middleware::map_response(async |mut response: Response| {
                response
                    .headers_mut()
                    .insert("x-outer", HeaderValue::from_static("1"));
                response
            }))
    };
    let servers = Servers::of(app);
    servers.both(&Ask::get("/"), 200);
    servers.both(&Ask::get("/").field("x-stop", "1"), 403);
    servers.both(&Ask::get("/none"), 404);
    for count in [3, 100_000] {
        servers.both(&Ask::post("/twice", vec![b'x'; count]), 200);
        let pieces = vec![vec![b'x'; count / 3]; 3];
        servers.both(&Ask::new("POST", "/twice").in_pieces(pieces), 200);
    }
}

#[test]
fn limits_of_bodies() {
    let app = || {
        let small = DefaultBodyLimit::max(1000);
        let outer = RequestBodyLimitLayer::new(1000);
        let none = DefaultBodyLimit::disable();
        Router::new()
            .route("/default", post(length).layer(small))
            .route("/layer", post(length).layer(outer))
            .route("/none", post(length).layer(none))
            .route("/unread", post(async || "unread\n").layer(outer))
    };
    let servers = Servers::of(app);
    for target in ["/default", "/layer"] {
        servers.both(&Ask::post(target, vec![b'x'; 1000]), 200);
        servers.both(&Ask::post(target, vec![b'x'; 1001]), 413);
        let pieces = vec![vec![b'x'; 500]; 2];
        servers.both(&Ask::new("POST", target).in_pieces(pieces), 200);
        // In one write: where some of it is still to come, hyper ends the connection.
        let ask = Ask::new("POST", target).in_pieces(vec![vec![b'x'; 1500]]);
        let asked = [ask.pieces().concat(), crate::LAST.into()].concat();
        servers.raw(asked, &[413, 404]);
        servers.http2(&ask, 413);
    }
    servers.both(&Ask::post("/unread", vec![b'x'; 1001]), 413);
    servers.both(&Ask::post("/none", vec![b'x'; 3_000_000]), 200);
}

/// Text that is long enough to be compressed.
fn text() -> String {
    "compressed, ".repeat(1000)
}

#[test]
fn compression() {
    let app = || {
        let pieces = async || {
            let pieces = (0..50).map(|_| Ok::<_, Infallible>(text()));
            Body::from_stream(stream::iter(pieces))
        };
        let image = async || ([(header::CONTENT_TYPE, "image/png")], text());
        Router::new()
            .route("/", get(async || text()))
            .route("/small", get(async || "small"))
            .route("/pieces", get(pieces))
            .route("/image", get(image))
            .layer(CompressionLayer::new())
    };
    let servers = Servers::of(app);
    for target in ["/", "/small", "/pieces", "/image", "/none"] {
        let status = if target == "/none" { 404 } else { 200 };
        for encoding in ["gzip", "br", "gzip;q=0", "identity", "*"] {
            servers.both(&Ask::get(target).field("accept-encoding", encoding), status);
        }
        servers.both(&Ask::get(target), status);
        servers.both(
            &Ask::new("HEAD", target).field("accept-encoding", "gzip"),
            status,
        );
    }
    let answer = servers.http2(&Ask::get("/").field("accept-encoding", "gzip"), 200);
    let mut unpacked = String::new();
    let read = GzDecoder::new(&answer.body[..]).read_to_string(&mut unpacked);
    assert!(read.is_ok() && unpacked == text(), "{answer}");
}

#[test]
fn decompression() {
    let app = || {
        Router::new()
            .route("/", post(length))
            .layer(RequestDecompressionLayer::new())
    };
    let servers = Servers::of(app);
    let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
    packed.write_all(&vec![b'x'; 500_000]).expect("memory");
    let packed = packed.finish().expect("memory");
    let ask = Ask::post("/", packed.clone()).field("content-encoding", "gzip");
    let heard = servers.both(&ask, 200).0;
    assert!(heard.has("500000 bytes\n"), "{heard}");
    let pieces = packed.chunks(100).map(<[u8]>::to_vec).collect();
    let ask = Ask::new("POST", "/")
        .in_pieces(pieces)
        .field("content-encoding", "gzip");
    servers.both(&ask, 200);
    let cut = packed[..packed.len() / 2].to_vec();
    servers.both(&Ask::post("/", cut).field("content-encoding", "gzip"), 400);
    servers.both(&Ask::post("/", "x").field("content-encoding", "zstd"), 415);
}

#[test]
fn layers_of_fields() {
    let app = || {
        let set = |name, value| {
            let (name, value) = (
                HeaderName::from_static(name),
                HeaderValue::from_static(value),
            );
            SetResponseHeaderLayer::overriding(name, value)
        };
        let absent = SetResponseHeaderLayer::if_not_present(
            header::CONTENT_TYPE,
            HeaderValue::from_static("text/x-absent"),
        );
        let told = async |request: Request| {
            let told = request.headers().get("x-told").cloned();
            [("x-was-told", told.expect("the layer says so"))]
        };
        let told_layer = SetRequestHeaderLayer::overriding(
            HeaderName::from_static("x-told"),
            HeaderValue::from_static("yes"),
        );
        Router::new()
            .route("/", get(async || "text"))
            .route("/bytes", get(async || ([("x-set", "inner")], ())))
            .route("/told", get(told))
            .layer(told_layer)
            .layer(set("x-set", "outer"))
            .layer(set("server", "set"))
            .layer(absent)
            .layer(PropagateHeaderLayer::new(HeaderName::from_static(
                "x-request-id",
            )))
    };
    let servers = Servers::of(app);
    for target in ["/", "/bytes", "/told"] {
        servers.both(&Ask::get(target), 200);
        servers.both(&Ask::get(target).field("x-request-id", "7"), 200);
    }
    servers.both(&Ask::get("/none"), 404);
}

#[test]
fn layers_that_answer_themselves() {
    let app = || {
        let cors = CorsLayer::new()
            .allow_origin(Any)
            .allow_methods([Method::GET, Method::PUT])
            .allow_headers(Any);
        let panics = any(async |request: Request| -> &'static str {
            match request.uri().query() {
                Some(query) => panic!("told to: {query}"),
                None => "no panic\n",
            }
        });
        Router::new()
            .route("/panics", panics)
            .layer(CatchPanicLayer::new())
            .route("/cors", get(async || "cors\n"))
            .layer(cors)
    };
    let servers = Servers::of(app);
    servers.both(&Ask::get("/panics"), 200);
    servers.both(&Ask::get("/panics?why"), 500);
    let preflight = Ask::new("OPTIONS", "/cors").field("origin", "http://b");
    servers.both(
        &preflight.field("access-control-request-method", "PUT"),
        200,
    );
    servers.both(&Ask::get("/cors").field("origin", "http://b"), 200);
}

#[test]
fn layers_that_only_look_on() {
    async fn failed(error: axum::BoxError) -> (StatusCode, String) {
        (StatusCode::INTERNAL_SERVER_ERROR, error.to_string())
    }
    let app = || {
        let failing = tower::util::service_fn(async |_: Request| {
            Err::<Response, axum::BoxError>("on purpose".into())
        });
        let failing = ServiceBuilder::new()
            .layer(HandleErrorLayer::new(failed))
            .service(failing);
        Router::new()
            .route("/", get(async || "hello\n").post(length))
            .route_service("/failing", failing)
            .layer(TraceLayer::new_for_http())
            .layer(ConcurrencyLimitLayer::new(1))
    };
    let servers = Servers::of(app);
    servers.both(&Ask::get("/"), 200);
    servers.both(&Ask::post("/", vec![b'x'; 100_000]), 200);
    servers.both(&Ask::get("/failing"), 500);
    let three = "GET / HTTP/1.1\r\nhost: a\r\n\r\n".repeat(3);
    servers.raw(three + crate::LAST, &[200, 200, 200, 404]);
}

#[test]
fn paths_that_are_normalized() {
    use tower::Layer;
    let app = || {
        let inner = Router::new().route("/a", get(async || "a\n"));
        Router::new().fallback_service(NormalizePathLayer::trim_trailing_slash().layer(inner))
    };
    let servers = Servers::of(app);
    servers.both(&Ask::get("/a/"), 200);
    servers.both(&Ask::get("/a///?q"), 200);
    servers.both(&Ask::get("/b/"), 404);
}

/// What needs more of tokio than its channels.
#[cfg(feature = "tokio")]
mod in_a_runtime {
    use std::future;
    use std::time::Duration;

    use tower_http::services::{ServeDir, ServeFile};
    use tower_http::timeout::TimeoutLayer;

    use super::*;

    #[test]
    fn timeouts() {
        let app = || {
            // A timer decides which answer it is, and nothing else is under way.
            let late = TimeoutLayer::with_status_code(
                StatusCode::REQUEST_TIMEOUT,
                Duration::from_millis(1),
            );
            let patient =
                TimeoutLayer::with_status_code(StatusCode::REQUEST_TIMEOUT, crate::wire::PATIENCE);
            Router::new()
                .route("/never", get(future::pending::<()>).layer(late))
                .route("/at-once", get(async || "at once\n").layer(patient))
        };
        let servers = Servers::of(app);
        servers.both(&Ask::get("/never"), 408);
        servers.both(&Ask::get("/at-once"), 200);
    }

    #[test]
    fn files() {
        let app = || {
            let here = concat!(env!("CARGO_MANIFEST_DIR"), "/src");
            let this = ServeFile::new(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"));
            let folder = ServeDir::new(here);
            Router::new()
                .nest_service("/files", folder)
                .route_service("/this", this)
        };
        let servers = Servers::of(app);
        for target in ["/this", "/files/start.rs", "/files/tower/queue.rs"] {
            servers.both(&Ask::get(target), 200);
            servers.both(&Ask::new("HEAD", target), 200);
            servers.both(&Ask::get(target).field("range", "bytes=3-10"), 206);
            servers.both(&Ask::get(target).field("range", "bytes=9999999-"), 416);
        }
        servers.both(&Ask::get("/files/none"), 404);
        servers.both(&Ask::get("/files/../Cargo.toml"), 404);
        servers.both(&Ask::get("/files/tower"), 307);
        servers.both(&Ask::post("/files/start.rs", ""), 405);
    }
}

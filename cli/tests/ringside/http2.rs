//! HTTP/2 servers of others, loaded by `ringside run --http2`, in the clear and over TLS.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use super::child::{Folder, assert_says, ringside, took_place};
use super::peers::{Peer, installed, peer, ready};
use super::ports::free_port;

/// Loads `url` in a closed and an open loop on both engines; each record is looked at by `judge`.
fn load(url: &str, more: &[&str], judge: impl Fn(&Value)) {
    for engine in ["auto", "epoll"] {
        for law in [&["-n", "3000"][..], &["-R", "1k", "-d1s"]] {
            let mut words = vec!["run", "--http2", "-c4", "-S20", "--format", "json"];
            words.extend(["--engine", engine]);
            words.extend(law);
            words.extend(more);
            words.push(url);
            let ended = ringside(&words);
            assert!(took_place(ended.code), "{words:?}: {}", ended.stderr);
            let record: Value = serde_json::from_str(&ended.stdout).unwrap();
            let completed = record["exchanges"]["completed"].as_u64().unwrap();
            assert!(completed >= 900, "{words:?}: {record}");
            assert_eq!(record["exchanges"]["failed"], 0, "{words:?}: {record}");
            assert_eq!(record["status"]["200"], completed, "{words:?}");
            judge(&record);
        }
    }
}

fn without_errors(record: &Value) {
    assert_eq!(record["errors"], json!({}), "{record}");
    assert_eq!(record["connections"]["opened"], 4, "{record}");
}

fn over_tls(record: &Value) {
    without_errors(record);
    assert_eq!(record["connections"]["tls"]["alpn"], "h2", "{record}");
}

/// A certificate for localhost that nobody trusts, and its key.
fn certificate(folder: &Folder) -> Option<[String; 2]> {
    if !installed("openssl", "version") {
        return None;
    }
    let [certificate, key] = ["cert.pem", "key.pem"].map(|name| folder.path(name));
    let made = Command::new("openssl")
        .args(["req", "-x509", "-newkey", "ec", "-nodes", "-days", "30"])
        .args(["-pkeyopt", "ec_paramgen_curve:P-256"])
        .args([
            "-subj",
            "/CN=localhost",
            "-addext",
            "subjectAltName=IP:127.0.0.1",
        ])
        .args(["-keyout", &key, "-out", &certificate])
        .output()
        .unwrap();
    assert!(made.status.success(), "{made:?}");
    Some([certificate, key])
}

fn urls(port: u16) -> [String; 2] {
    ["http", "https"].map(|scheme| format!("{scheme}://127.0.0.1:{port}/"))
}

#[test]
fn nghttpd_is_loaded_without_an_error() {
    if !installed("nghttpd", "--version") {
        return;
    }
    let folder = Folder::new();
    fs::write(folder.path("index.html"), "Hello, World!").unwrap();
    let start = |port: u16, more: &[&str]| {
        let port = port.to_string();
        let mut command = Command::new("nghttpd");
        command.args(["--address", "127.0.0.1", "--htdocs", &folder.path("")]);
        peer(command.arg(&port).args(more))
    };
    let port = free_port();
    let _plain = start(port, &["--no-tls"]);
    ready(port, "nghttpd");
    load(&urls(port)[0], &[], without_errors);
    fewer_streams(&urls(port)[0]);
    let Some([certificate, key]) = certificate(&folder) else {
        return;
    };
    let port = free_port();
    let _secure = start(port, &[&key, &certificate]);
    ready(port, "nghttpd over TLS");
    load(&urls(port)[1], &["--insecure"], over_tls);
}

/// nghttpd allows 100 streams, and that is said where more were asked for.
fn fewer_streams(url: &str) {
    let ended = ringside(&["run", "--http2", "-c2", "-S150", "-n", "2000", url]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert_says(&ended.stdout, "allows 100 concurrent streams");
    assert_says(&ended.stdout, "HTTP/2: 2 connections × 150 streams");
    assert_says(&ended.stdout, "completed 2000; no errors");
}

fn nginx(folder: &Folder, port: u16, listen: &str) -> Peer {
    let directory = folder.path("");
    let configuration = format!(
        "daemon off; pid {directory}/nginx.pid;
        events {{ worker_connections 1024; }}
        http {{
            access_log off;
            client_body_temp_path {directory}/a; proxy_temp_path {directory}/b;
            fastcgi_temp_path {directory}/c; uwsgi_temp_path {directory}/d;
            scgi_temp_path {directory}/e;
            server {{
                listen 127.0.0.1:{port} http2 {listen};
                keepalive_requests 1000;
                location = / {{ return 200 'Hello, World!'; }}
            }}
        }}"
    );
    fs::write(folder.path("nginx.conf"), configuration).unwrap();
    let peer = peer(
        Command::new("nginx")
            .args(["-e", &folder.path("error.log")])
            .args(["-c", &folder.path("nginx.conf"), "-p", &directory]),
    );
    ready(port, "nginx");
    peer
}

#[test]
fn nginx_is_loaded_without_a_failure_though_it_ends_its_connections_by_goaway() {
    if !installed("nginx", "-v") {
        return;
    }
    // After a thousand requests each, and those on their way then are sent again.
    let ends_connections = |record: &Value| {
        let errors = record["errors"].as_object().unwrap();
        let refused = errors.keys().all(|kind| kind == "stream_refused");
        assert!(refused, "{record}");
    };
    let folder = Folder::new();
    let port = free_port();
    let _plain = nginx(&folder, port, "");
    load(&urls(port)[0], &[], ends_connections);
    let ended = ringside(&[
        "run",
        "--http2",
        "-c2",
        "-S20",
        "-n",
        "9000",
        "--format",
        "json",
        &urls(port)[0],
    ]);
    let record: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(record["exchanges"]["completed"], 9000, "{record}");
    let reopened = record["connections"]["reopened"].as_u64().unwrap();
    assert!(reopened >= 7, "{record}");

    let folder = Folder::new();
    let Some([certificate, key]) = certificate(&folder) else {
        return;
    };
    let port = free_port();
    let listen = format!("ssl; ssl_certificate {certificate}; ssl_certificate_key {key}");
    let _secure = nginx(&folder, port, &listen);
    load(&urls(port)[1], &["--insecure"], |record| {
        ends_connections(record);
        assert_eq!(record["connections"]["tls"]["alpn"], "h2", "{record}");
    });
}

#[test]
fn node_is_loaded_without_an_error() {
    if !installed("node", "--version") {
        return;
    }
    let program = format!("{}/tests/peers/http2.js", env!("CARGO_MANIFEST_DIR"));
    let start = |port: u16, more: &[&str], go_away_after: &str| {
        let mut command = Command::new("node");
        command.args([&program, &port.to_string()]).args(more);
        let peer = peer(command.env("GO_AWAY_AFTER", go_away_after));
        ready(port, "node");
        peer
    };
    let port = free_port();
    let _plain = start(port, &[], "");
    load(&urls(port)[0], &[], without_errors);
    let port = free_port();
    let _leaving = start(port, &[], "150");
    load(&urls(port)[0], &[], |record| {
        assert!(
            record["connections"]["reopened"].as_u64() > Some(0),
            "{record}"
        );
    });
    let folder = Folder::new();
    let Some([certificate, key]) = certificate(&folder) else {
        return;
    };
    let port = free_port();
    let _secure = start(port, &[&certificate, &key], "");
    load(&urls(port)[1], &["--insecure"], over_tls);
}

#[test]
fn go_is_loaded_without_an_error() {
    if !installed("go", "version") {
        return;
    }
    let folder = Folder::new();
    let program = folder.path("server");
    let built = Command::new("go")
        .args(["build", "-o", &program, "."])
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../subjects/go-nethttp"))
        .envs([("CGO_ENABLED", "0"), ("GOFLAGS", "-buildvcs=false")])
        .envs([("GOPROXY", "off"), ("GOTOOLCHAIN", "local")])
        .status()
        .unwrap();
    assert!(built.success());
    for (flag, more, judge) in [
        ("", &[][..], without_errors as fn(&Value)),
        ("-tls", &["--insecure"], over_tls),
    ] {
        let port = free_port();
        let mut command = Command::new(&program);
        command.args(Some(flag).filter(|flag| !flag.is_empty()));
        let _peer = peer(command.arg(format!("127.0.0.1:{port}")));
        ready(port, "go");
        load(&urls(port)[usize::from(!flag.is_empty())], more, judge);
    }
}

#[test]
fn a_server_without_http2_is_told_before_the_load_begins() {
    if !installed("nginx", "-v") {
        return;
    }
    let folder = Folder::new();
    let port = free_port();
    let configuration = nginx_of_http1(&folder, port);
    let _peer = peer(
        Command::new("nginx")
            .args(["-e", &folder.path("error.log")])
            .args(["-c", &configuration, "-p", &folder.path("")]),
    );
    ready(port, "nginx");
    let ended = ringside(&["run", "--http2", "-n", "10", &urls(port)[0]]);
    assert_eq!(
        (ended.code, &*ended.stdout),
        (Some(1), ""),
        "{}",
        ended.stderr
    );
    assert_says(&ended.stderr, "HTTP/2");
}

fn nginx_of_http1(folder: &Folder, port: u16) -> String {
    let subject = Path::new(env!("CARGO_MANIFEST_DIR")).join("../subjects/nginx/nginx.conf");
    let text = fs::read_to_string(subject).unwrap();
    let text = text
        .replace("{port}", &port.to_string())
        .replace("{dir}", folder.path("").trim_end_matches('/'));
    let path = folder.path("nginx.conf");
    fs::write(&path, text).unwrap();
    path
}

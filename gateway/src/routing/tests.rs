//! Tables of routes, and where requests go by them.

use proto::http1::HeadMemo;
use proto::http1::server::{Event, Limits, Server};

use super::*;
use crate::config::Config;
use crate::paths;

/// Where a request goes: the name of its route, or what else is found.
fn found(config: &Config, head: &str) -> String {
    let table = Table::new(&config.routes);
    let (mut server, mut memo) = (Server::new(Limits::default()), HeadMemo::new());
    let Ok(Some(Event::Request(request))) = server.next(&mut head.as_bytes(), &mut memo) else {
        panic!("{head}");
    };
    let request = Request::of_http1(&request);
    let path = paths::judge(request.path(), true).expect("a plain path");
    match table.find(&config.routes, &request, &path) {
        Found::Route(at) => config.routes[at].name.clone(),
        Found::Method(allowed) => format!("405 {allowed}"),
        Found::Nothing => "404".into(),
    }
}

fn asked(config: &Config, line: &str, host: &str, fields: &str) -> String {
    found(
        config,
        &format!("{line} HTTP/1.1\r\nHost: {host}\r\n{fields}\r\n"),
    )
}

fn config(routes: &str) -> Config {
    let upstream = "[upstream.a]\nservers = [\"127.0.0.1:1\"]\n";
    Config::of("test", &format!("{upstream}{routes}")).expect("it's in order")
}

fn route(name: &str, more: &str) -> String {
    format!("[[route]]\nname = \"{name}\"\nupstream = \"a\"\n{more}\n")
}

#[test]
fn the_whole_path_comes_before_the_longest_prefix() {
    let config = config(
        &[
            route("root", ""),
            route("api", "prefix = \"/api\""),
            route("users", "prefix = \"/api/users/\""),
            route("me", "path = \"/api/users/me\""),
        ]
        .concat(),
    );
    let rows = [
        ("/", "root"),
        ("/other", "root"),
        ("/apis", "root"),
        ("/api", "api"),
        ("/api/", "api"),
        ("/api/userss", "api"),
        ("/api/users", "users"),
        ("/api/users/7", "users"),
        ("/api/users/me", "me"),
        ("/api/users/me/", "users"),
        ("/%61pi//users/m%65?q=/x", "me"),
        ("http://h/api/x", "api"),
        ("*", "root"),
    ];
    for (target, expected) in rows {
        let method = if target == "*" { "OPTIONS" } else { "GET" };
        let found = asked(&config, &format!("{method} {target}"), "h", "");
        assert_eq!(found, expected, "{target}");
    }
}

#[test]
fn the_host_decides_first() {
    let config = config(
        &[
            route("any", "prefix = \"/only-here\""),
            route("exact", "host = [\"Example.org\", \"[::1]\"]"),
            route("below", "host = \"*.example.org\""),
            route("deeper", "host = \"*.a.example.org\""),
        ]
        .concat(),
    );
    let rows = [
        ("example.org", "exact"),
        ("EXAMPLE.org:8080", "exact"),
        ("example.org.", "exact"),
        ("[::1]:80", "exact"),
        ("[0:0:0::1]:80", "exact"),
        ("[0:0:0::1]", "exact"),
        ("www.example.org", "below"),
        ("a.example.org", "below"),
        ("b.a.example.org", "deeper"),
        ("badexample.org", "404"),
        (".example.org", "404"),
        ("other", "404"),
    ];
    for (host, expected) in rows {
        assert_eq!(asked(&config, "GET /", host, ""), expected, "{host}");
    }
    assert_eq!(asked(&config, "GET /only-here", "other", ""), "any");
    // The target's authority counts, and not the field (RFC 9112 §3.2.2).
    let absolute = "GET http://example.org/";
    assert_eq!(asked(&config, absolute, "other", ""), "exact");
}

#[test]
fn coloured_requests_go_their_own_way_and_others_do_not() {
    let config = config(
        &[
            route("plain", "prefix = \"/api\""),
            route(
                "blue",
                "prefix = \"/api\"\nheader = { X-Colour = \"blue\" }",
            ),
            route(
                "both",
                "prefix = \"/api\"\nheader = { x-colour = \"blue\", x-b = \"1\" }",
            ),
            route("root", ""),
            route(
                "green",
                "prefix = \"/api/v2\"\nheader = { x-colour = \"green\" }",
            ),
        ]
        .concat(),
    );
    let rows = [
        ("", "plain"),
        ("x-colour: red\r\n", "plain"),
        ("x-colour: Blue\r\n", "plain"),
        ("X-COLOUR: blue\r\n", "blue"),
        ("x-colour: red\r\nx-colour: blue\r\n", "blue"),
        ("x-b: 1\r\nx-colour: blue\r\n", "both"),
    ];
    for (fields, expected) in rows {
        assert_eq!(
            asked(&config, "GET /api/x", "h", fields),
            expected,
            "{fields}"
        );
    }
    // A route whose conditions aren't met leaves the request to a shorter path.
    assert_eq!(asked(&config, "GET /api/v2", "h", ""), "plain");
    assert_eq!(
        asked(&config, "GET /api/v2", "h", "x-colour: green\r\n"),
        "green"
    );
}

#[test]
fn a_method_that_no_route_takes_is_told_which_are() {
    let config = config(
        &[
            route("read", "prefix = \"/a\"\nmethods = [\"GET\"]"),
            route("write", "prefix = \"/a\"\nmethods = [\"PUT\", \"POST\"]"),
        ]
        .concat(),
    );
    assert_eq!(asked(&config, "GET /a", "h", ""), "read");
    assert_eq!(asked(&config, "HEAD /a", "h", ""), "read");
    assert_eq!(asked(&config, "PUT /a", "h", ""), "write");
    assert_eq!(asked(&config, "DELETE /a", "h", ""), "405 GET, POST, PUT");
    assert_eq!(asked(&config, "DELETE /b", "h", ""), "404");
}

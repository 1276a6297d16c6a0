//! What an upstream is told about the client, and what of the client it isn't told.

use super::support::{Gateway, Origin, in_front_of, values};

/// What the upstream sees of a GET with these fields, through a gateway with these rules.
fn seen(rules: &str, fields: &str) -> String {
    let origin = Origin::named("ok");
    let upstream = in_front_of(&[origin.address], "");
    let gateway = Gateway::start(&format!("[forward]\n{rules}\n{upstream}"));
    let said = gateway.ask(&format!("GET / HTTP/1.1\r\nHost: a.org:81\r\n{fields}\r\n"));
    assert_eq!(said.status, 200, "{said:?}");
    origin.seen().remove(0).head
}

/// Values of these fields, joined.
fn of(head: &str, name: &str) -> String {
    values(head, name).join(" | ")
}

#[test]
fn fields_of_the_connection_stay_behind() {
    let head = seen(
        "",
        "Connection: close, X-Mine\r\nX-Mine: 1\r\nKeep-Alive: 5\r\nProxy-Connection: y\r\n\
         TE: trailers\r\nX-Kept: 1\r\nCookie: a=1\r\n",
    );
    for name in [
        "connection",
        "x-mine",
        "keep-alive",
        "proxy-connection",
        "te",
    ] {
        assert_eq!(of(&head, name), "", "{name} in {head}");
    }
    assert_eq!((&*of(&head, "x-kept"), &*of(&head, "cookie")), ("1", "a=1"));
    assert_eq!(
        (&*of(&head, "host"), &*of(&head, "via")),
        ("a.org:81", "1.1 ringside")
    );
}

#[test]
fn what_a_stranger_says_about_himself_is_not_passed_on() {
    let spoofed = "X-Forwarded-For: 1.2.3.4\r\nX_Forwarded_For: 1.2.3.4\r\n\
                   x-forwarded-proto: https\r\nX-Forwarded-Host: evil\r\nForwarded: for=1.2.3.4\r\n\
                   X-Real-IP: 1.2.3.4\r\n";
    let head = seen("", spoofed);
    assert!(
        !head.contains("1.2.3.4") && !head.contains("evil"),
        "{head}"
    );
    assert_eq!(of(&head, "x-forwarded-for"), "127.0.0.1");
    assert_eq!(of(&head, "x-forwarded-proto"), "http");
    assert_eq!(of(&head, "x-forwarded-host"), "a.org:81");
    let head = seen("fields = \"none\"", spoofed);
    assert!(
        !head.contains("1.2.3.4") && !head.to_lowercase().contains("forwarded"),
        "{head}"
    );
}

#[test]
fn what_a_trusted_proxy_says_is_extended() {
    let rules = "trusted_proxies = [\"127.0.0.0/8\"]\nfields = \"both\"";
    let before = "X-Forwarded-For: 1.2.3.4\r\nX-Forwarded-For: 5.6.7.8\r\n\
                  X-Forwarded-Proto: https\r\nX-Forwarded-Host: b.org\r\n\
                  Forwarded: for=1.2.3.4\r\n";
    let head = seen(rules, before);
    assert_eq!(of(&head, "x-forwarded-for"), "1.2.3.4, 5.6.7.8, 127.0.0.1");
    assert_eq!(of(&head, "x-forwarded-proto"), "https");
    assert_eq!(of(&head, "x-forwarded-host"), "b.org");
    let expected = "for=1.2.3.4, for=127.0.0.1;proto=http;host=\"a.org:81\"";
    assert_eq!(of(&head, "forwarded"), expected);
}

#[test]
fn identities_are_handed_on_or_made() {
    let trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    let theirs = format!("X-Request-Id: abc-1\r\ntraceparent: {trace}\r\ntracestate: a=b\r\n");
    let head = seen("", &theirs);
    assert_eq!(
        (&*of(&head, "x-request-id"), &*of(&head, "traceparent")),
        ("abc-1", trace)
    );
    assert_eq!(of(&head, "tracestate"), "a=b");
    let head = seen(
        "",
        "X-Request-Id: a b\r\ntraceparent: 00-x\r\ntracestate: a=b\r\n",
    );
    assert_eq!(of(&head, "x-request-id").len(), 32, "{head}");
    let made = of(&head, "traceparent");
    assert!(
        made.len() == 55 && made.starts_with("00-") && made.ends_with("-01"),
        "{head}"
    );
    assert_eq!(of(&head, "tracestate"), "");
    let head = seen("traceparent = \"pass\"\nvia = \"\"", "");
    assert_eq!((&*of(&head, "traceparent"), &*of(&head, "via")), ("", ""));
}

#[test]
fn the_target_decides_about_the_host() {
    let origin = Origin::named("ok");
    let gateway = Gateway::start(&in_front_of(&[origin.address], ""));
    gateway.ask("GET http://real.org/x?y HTTP/1.1\r\nHost: other\r\n\r\n");
    let seen = origin.seen().remove(0);
    assert_eq!(
        (seen.line(), seen.field("host")),
        ("GET /x?y HTTP/1.1", Some("real.org"))
    );
}

#[test]
fn an_options_is_counted_down() {
    let origin = Origin::named("ok");
    let gateway = Gateway::start(&in_front_of(&[origin.address], ""));
    gateway.ask("OPTIONS * HTTP/1.1\r\nHost: a\r\nMax-Forwards: 3\r\n\r\n");
    let seen = origin.seen().remove(0);
    assert_eq!(
        (seen.line(), seen.field("max-forwards")),
        ("OPTIONS * HTTP/1.1", Some("2"))
    );
}

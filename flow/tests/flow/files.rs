//! Whole files, as people write them.

use std::path::Path;

use flow::{Flow, Given, Session};

use crate::support::{Said, given, json, status, through};

/// A user goes through a file of `tests/hurl`.
fn gone(name: &str, given: &Given, answers: Vec<Said>) -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/hurl");
    let flow = match Flow::read(&folder.join(name), given) {
        Ok(flow) => flow,
        Err(mistakes) => panic!("{mistakes:#?}"),
    };
    let mut session = Session::new(&flow, &[], 3);
    let mut answers = answers.into_iter();
    let did = through(&mut session, &mut |_| answers.next()).well();
    assert_eq!(answers.count(), 0, "{did:?}");
    did
}

#[test]
fn a_customer_orders_something() {
    let variables = [
        ("base", "https://shop.example"),
        ("user", "bob"),
        ("sku", "a-1"),
        ("count", "2"),
    ];
    let given = given(&variables, &[("password", "s3cret")]);
    let answers = vec![
        status(303)
            .with("Location", "/start")
            .with("Set-Cookie", "sid=1; Secure; HttpOnly"),
        status(200)
            .with("Content-Type", "text/html; charset=utf-8")
            .body("<input name=\"csrf\" value=\"c-1\">"),
        Said {
            status: 201,
            ..json(
                r#"{"items":[{"sku":"a-1","count":2}],"created":"2026-11-21T20:12:54.120+01:00"}"#,
            )
        }
        .with("Location", "https://shop.example/orders/17"),
        json(r#"{"state":"packed"}"#),
        json(r#"{"state":"sent"}"#),
        status(204),
    ];
    let did = gone("orders.hurl", &given, answers);
    let order = did[2].split(" | ").collect::<Vec<_>>();
    assert_eq!(
        [&did[..2], &did[3..]].concat(),
        [
            "POST https://shop.example/sessions | Content-Type: application/x-www-form-urlencoded \
             | user=bob&password=s3cret",
            "GET https://shop.example/start | Cookie: sid=1",
            "GET https://shop.example/orders/17?fields=state%2Citems | Cookie: sid=1",
            "waits 2000 ms",
            "GET https://shop.example/orders/17?fields=state%2Citems | Cookie: sid=1",
            "DELETE https://shop.example/sessions/current | Cookie: sid=1",
        ]
    );
    assert_eq!(
        order[..2],
        ["POST https://shop.example/orders", "X-CSRF-Token: c-1"]
    );
    assert_eq!(order[2].len(), "Idempotency-Key: ".len() + 36);
    assert_eq!(
        order[5],
        "{\n    \"items\": [\n        { \"sku\": \"a-1\", \"count\": 2 }\n    ],\n    \"note\": \
         \"as \\\"bob\\\" wished # no comment\"\n}"
    );
}

#[test]
fn files_beside_the_flow_are_sent_and_expected() {
    let meow = || status(200).body("meow\n");
    let did = gone(
        "upload.hurl",
        &Given::default(),
        vec![status(201), meow(), meow()],
    );
    assert!(did[0].contains("filename=\"cat.txt\"\r\nContent-Type: image/jpeg\r\n\r\nmeow\n\r\n"));
    assert_eq!(
        did[1],
        "PUT http://127.0.0.1/notes/1 | Content-Type: text/plain | meow\n"
    );
    assert_eq!(did[2], "PUT http://127.0.0.1/notes/2 | meow\n");
}

#[test]
fn whatever_the_grammar_allows_is_read() {
    let given = given(&[("n", "5"), ("all", "[1]")], &[]);
    let answers = vec![
        status(418),
        status(200).body("line1\nline2\n"),
        status(200).body("\"text\""),
    ];
    assert_eq!(
        gone("syntax.hurl", &given, answers),
        [
            "GET http://127.0.0.1/a?b=c&d&a=%2F&b=1%2C2%20%3D%203 | Id: #123 | Quote: ' | Empty:  \
             | X-Alone:  | Fruit: Apple | Fruit: café",
            "POST http://127.0.0.1/b | two \"lines\"\n5\n",
            "POST http://127.0.0.1/c | Content-Type: application/json | [1]",
        ]
    );
}

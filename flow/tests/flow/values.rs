//! Queries, filters and predicates against one answer.

use flow::{Given, Session};

use crate::support::{Said, flow, given, go, json, status, through};

const BODY: &str = r#"{"n":12,"f":1.5,"s":"a,b","t":true,"z":null,"l":[1,2,3],"o":{"k":"v"},
"e":[],"es":"","big":18446744073709551615,"d":"2026-11-21T20:12:54Z","ip":"::1","u":"x y",
"h":"<b>","x":"68","b":"aGk=","url":"a%20b",
"q":"http://h/?a=1+2","id":"6f1c9b1e-0000-4000-8000-000000000000"}"#;

fn answer() -> Said {
    json(BODY)
        .with("Vary", "a")
        .with("vary", "b")
        .with("ETag", "\"q\"")
        .with(
            "Set-Cookie",
            "sid=s1; Path=/p; Max-Age=60; Secure; SameSite=Lax",
        )
}

fn assert(line: &str) -> Result<(), String> {
    let text = format!("GET http://h/\nHTTP 200\n[Asserts]\n{line}\n");
    let gone = go(
        &text,
        &given(&[("n", "12"), ("i", "1")], &[]),
        vec![answer()],
    );
    match gone.fault {
        None => Ok(()),
        Some(fault) => Err(fault.what),
    }
}

/// Each of them is so, but the two that say so.
const SO: &str = r##"
status == 200
status < 300
version == "1.1"
url == "http://h/"
header "etag" == "\"q\""
header "Vary" count == 2
header "Vary" includes "b"
header "Vary" contains "a"
header "X-None" not exists
cookie "sid" == "s1"
cookie "sid[Path]" == "/p"
cookie "sid[Max-Age]" == 60
cookie "sid[Secure]" exists
cookie "sid[HttpOnly]" not exists
cookie "sid[SameSite]" equals "Lax"
body contains "\"n\":12"
body startsWith "{"
body endsWith "}"
bytes startsWith hex,7b22;
bytes count > 100
bytes contains base64,Im4i;
sha256 == hex,0000;
duration < 1000
variable "n" == 12
variable "n" exists
jsonpath "$.n" == 12
jsonpath "$.n" == 12.0
jsonpath "$.n" == {{n}}
jsonpath "$.n" != "12"
jsonpath "$.n" not == 13
jsonpath "$.n" >= 12
jsonpath "$.n" > 11.5
jsonpath "$.f" <= 1.5
jsonpath "$.n" isInteger
jsonpath "$.n" isNumber
jsonpath "$.f" isFloat
jsonpath "$.f" not isInteger
jsonpath "$.s" isString
jsonpath "$.t" isBoolean
jsonpath "$.t" == true
jsonpath "$.z" == null
jsonpath "$.z" exists
jsonpath "$.nothing" not exists
jsonpath "$.l" isCollection
jsonpath "$.l" isList
jsonpath "$.l" count == 3
jsonpath "$.l[*]" includes 2
jsonpath "$.l[?@ > 1]" count == 2
jsonpath "$.l[?@ > 2]" == 3
jsonpath "$.l[?@ > 3]" not exists
variable "none" not exists
jsonpath "$.q" urlQueryParam "a" == "1 2"
jsonpath "$.l[{{i}}]" == 2
jsonpath "$.o" isObject
jsonpath "$.e" isEmpty
jsonpath "$.es" isEmpty
jsonpath "$.l" not isEmpty
jsonpath "$.big" == 18446744073709551615
jsonpath "$.d" isIsoDate
jsonpath "$.ip" isIpv6
jsonpath "$.ip" not isIpv4
jsonpath "$.id" isUuid
jsonpath "$.s" matches /^a.b$/
jsonpath "$.s" matches "a,\\w"
jsonpath "$.s" not matches /\d/
jsonpath "$.s" split "," count == 2
jsonpath "$.s" split "," nth 1 == "b"
jsonpath "$.s" split "," first == "a"
jsonpath "$.s" split "," last == "b"
jsonpath "$.s" split "," nth 7 not exists
jsonpath "$.none" not == 5
jsonpath "$.none" not isString
jsonpath "$.none" not isEmpty
jsonpath "$.s" replace "a" "{{n}}" == "12,b"
jsonpath "$.s" replaceRegex /[ab]/ "x" == "x,x"
jsonpath "$.s" regex /(\w),/ == "a"
jsonpath "$.s" regex "q(.)" not exists
jsonpath "$.n" toString == "12"
jsonpath "$.x" toInt == 68
jsonpath "$.x" toFloat == 68.0
jsonpath "$.f" toInt == 1
jsonpath "$.x" toHex == "3638"
jsonpath "$.u" urlEncode == "x%20y"
jsonpath "$.url" urlDecode == "a b"
jsonpath "$.b" base64Decode == hex,6869;
jsonpath "$.b" base64Decode utf8Decode == "hi"
jsonpath "$.x" base64Encode == "Njg="
jsonpath "$.h" htmlEscape == "&lt;b&gt;"
jsonpath "$.h" htmlEscape htmlUnescape == `<b>`
jsonpath "$.o" jsonpath "$.k" == "v"
regex /"n":(\d+)/ == "12"
regex "\"n\":(\\d+)" toInt == 12
body == ```x``` # only this one and sha256 are not so
"##;

#[test]
fn what_is_so_passes() {
    let mut wrong = Vec::new();
    for line in SO.lines().filter(|line| !line.is_empty()) {
        if let Err(what) = assert(line) {
            wrong.push((line.split(' ').next().unwrap(), what));
        }
    }
    let which: Vec<&str> = wrong.iter().map(|(which, _)| *which).collect();
    assert_eq!(which, ["sha256", "body"], "{wrong:#?}");
}

#[test]
fn what_is_not_so_says_what_was_expected_and_what_came() {
    let table = [
        ("status == 201", "status: expected 201, and got 200"),
        (
            "jsonpath \"$.n\" != 12",
            "jsonpath \"$.n\": expected anything but 12, and got 12",
        ),
        (
            "jsonpath \"$.n\" not == 12",
            "jsonpath \"$.n\": expected not 12, and got 12",
        ),
        (
            "jsonpath \"$.n\" > 12",
            "jsonpath \"$.n\": expected > 12, and got 12",
        ),
        (
            "jsonpath \"$.s\" > 12",
            "jsonpath \"$.s\": expected > 12, and got \"a,b\"",
        ),
        (
            "jsonpath \"$.none\" != 1",
            "jsonpath \"$.none\": expected anything but 1, and got nothing",
        ),
        (
            "jsonpath \"$.none\" exists",
            "jsonpath \"$.none\": expected something, and got nothing",
        ),
        (
            "jsonpath \"$.n\" not contains \"x\"",
            "jsonpath \"$.n\": expected not to contain \"x\", and got 12",
        ),
        (
            "jsonpath \"$.n\" matches /1/",
            "jsonpath \"$.n\": expected to match \"1\", and got 12",
        ),
        (
            "jsonpath \"$.n\" count == 1",
            "jsonpath \"$.n\" count: the filter count wants a list or \
                                        bytes, not a number",
        ),
        (
            "jsonpath \"$.s\" jsonpath \"$\" exists",
            "jsonpath \"$.s\" jsonpath \"$\": the filter \
                                                    jsonpath wants JSON, not a text",
        ),
        (
            "bytes contains hex,ffff;",
            "bytes: expected to contain 2 bytes: hex,ffff;, and got 2",
        ),
        (
            "regex /zq(.)/ == \"x\"",
            "regex /zq(.)/: expected \"x\", and got nothing",
        ),
        (
            "regex /q/ exists",
            "regex /q/: the regular expression has no group: put what you want \
                              in ( )",
        ),
    ];
    for (line, expected) in table {
        let what = assert(line).unwrap_err();
        assert!(what.starts_with(expected), "{line}\n{what}\n{expected}");
    }
}

#[test]
fn what_stands_without_asserts_is_expected_too() {
    let table = [
        ("HTTP 200\nETag: \"q\"\nVary: a\nVary: b", None),
        ("HTTP *", None),
        ("HTTP/1.1 200", None),
        ("HTTP/2 200", Some("expected HTTP/2, and got HTTP/1.1")),
        ("HTTP 404", Some("expected the status 404, and got 200")),
        (
            "HTTP 200\nVary: c",
            Some("expected the header Vary to be \"c\", and it's \"b\""),
        ),
        (
            "HTTP 200\nX-Y: c",
            Some("expected the header X-Y to be \"c\", and there is none"),
        ),
        (
            "HTTP 200\n`x`",
            Some("expected the body \"x\", and got a text of "),
        ),
        (
            "HTTP 200\nhex,00;",
            Some("expected the body 1 byte: hex,00;, and got 2"),
        ),
        ("HTTP 200\nfile,a.txt;", Some("expected the body 11 bytes")),
    ];
    for (response, expected) in table {
        let text = format!("GET http://h/\n{response}\n");
        let gone = go(&text, &given(&[], &[]), vec![answer()]);
        let what = gone.fault.map(|fault| fault.what);
        match expected {
            None => assert_eq!(what, None, "{response}"),
            Some(start) => assert!(what.as_ref().unwrap().starts_with(start), "{what:?}"),
        }
    }
}

#[test]
fn bodies_are_text_json_or_neither() {
    let bodies = [
        (
            status(200).body(b"\xff".to_vec()),
            "the body isn't text in UTF-8: byte 0",
        ),
        (status(200).body("{"), "the body isn't JSON: EOF"),
        (
            status(200)
                .with("content-type", "text/html; charset=GB2312")
                .body("x"),
            "the body is text in gb2312, which isn't supported: use bytes",
        ),
    ];
    for (said, expected) in bodies {
        let text = "GET http://h/\nHTTP 200\n[Captures]\na: jsonpath \"$.a\"\n";
        let what = go(text, &given(&[], &[]), vec![said]).fault.unwrap().what;
        let expected = format!("jsonpath \"$.a\": {expected}");
        assert!(what.starts_with(&expected), "{what}");
    }
    let latin = status(200).with("content-type", "text/plain; charset=ISO-8859-1");
    let text = "GET http://h/\nHTTP 200\n[Asserts]\nbody == \"é\"\n";
    go(text, &given(&[], &[]), vec![latin.body(b"\xe9".to_vec())]).well();
}

#[test]
fn nothing_looks_into_a_body_whose_coding_is_not_known() {
    for (field, is_known) in [("gzip", true), ("identity, X-GZIP", true), ("br", false)] {
        let said = || json(r#"{"a": 1}"#).with("Content-Encoding", field);
        for line in [r#"jsonpath "$.b" not exists"#, "bytes count == 8"] {
            let text = format!("GET http://h/\nHTTP 200\n[Asserts]\n{line}\n");
            let gone = go(&text, &given(&[], &[]), vec![said()]);
            match is_known {
                true => drop(gone.well()),
                false => {
                    let why = gone.wrong();
                    assert!(
                        why.ends_with("in the coding br, which can't be decoded"),
                        "{why}"
                    );
                }
            }
        }
        let text = "GET http://h/\nHTTP 200\n[Asserts]\nstatus == 200\n";
        go(text, &given(&[], &[]), vec![said()]).well();
    }
}

#[test]
fn a_capture_finds_something_that_isnt_too_much() {
    let text = "GET http://h/\nHTTP 200\n[Captures]\na: header \"X\"\n";
    let wrong = go(text, &given(&[], &[]), vec![status(200)]).wrong();
    assert_eq!(
        wrong,
        "request 1, line 4: header \"X\" found nothing to capture"
    );
    let text = "GET http://h/\nHTTP 200\n[Captures]\na: body\n";
    let large = status(200).body("x".repeat(70_000));
    let wrong = go(text, &given(&[], &[]), vec![large]).wrong();
    assert_eq!(
        wrong,
        "request 1, line 4: body found 70000 bytes: at most 65536 can be captured"
    );
}

#[test]
fn what_is_captured_keeps_its_kind() {
    let text = r#"
GET http://h/
HTTP 200
[Captures]
n: jsonpath "$.n"
l: jsonpath "$.l"
s: jsonpath "$.s" split ","
big: jsonpath "$.big"

POST http://h/{{n}}
{"n": {{n}}, "l": {{l}}, "big": {{big}}, "t": "{{l}}", "first": "{{s first urlEncode}}"}
HTTP 200
[Asserts]
variable "l" count == 3
variable "l" nth -1 == 3
"#;
    let did = go(text, &given(&[], &[]), vec![answer(), status(200)]).well();
    assert_eq!(
        did[1],
        "POST http://h/12 | Content-Type: application/json | {\"n\": 12, \"l\": [1,2,3], \
         \"big\": 18446744073709551615, \"t\": \"[1,2,3]\", \"first\": \"a\"}"
    );
}

#[test]
fn what_has_the_name_of_a_secret_is_in_no_message_wherever_it_comes_from() {
    let text = "
POST http://h/
[Form]
password: {{password}}
HTTP 200
[Captures]
pin: jsonpath \"$.pin\"
[Asserts]
jsonpath \"$.said\" == \"nothing\"
";
    let hides = |name: &str| matches!(name, "password" | "pin");
    let given = Given {
        columns: vec!["password".to_owned()],
        hides: Some(std::sync::Arc::new(hides)),
        ..Given::default()
    };
    let flow = flow(text, &given);
    let mut session = Session::new(&flow, &["canary"], 7);
    let said = r#"{"pin": "1234", "said": "canary has 1234"}"#;
    let gone = through(&mut session, &mut |_| Some(json(said)));
    let why = gone.wrong();
    assert!(
        why.ends_with("expected \"nothing\", and got \"*** has ***\""),
        "{why}"
    );
}

#[test]
fn what_an_answer_has_under_the_name_of_a_secret_is_in_no_message() {
    let hides = |name: &str| {
        let names = ["set-cookie", "authorization", "password", "access_token"];
        names.iter().any(|secret| secret.eq_ignore_ascii_case(name))
    };
    let given = Given {
        variables: vec![("name".to_owned(), "Authorization".to_owned())],
        hides: Some(std::sync::Arc::new(hides)),
        ..Given::default()
    };
    let said = || {
        json(
            r#"{"access_token": "canary", "user": {"id": 7, "password": "canary"},
                "in": "{\"password\": \"canary\"}", "as": "Bearer canary", "n": "1"}"#,
        )
        .with("Set-Cookie", "sid=canary; Path=/")
        .with("Authorization", "canary")
        .with("Location", "https://canary@h/cb?code=canary")
    };
    let asserts = [
        (r#"header "Set-Cookie" == "x""#, "expected ***, and got ***"),
        (
            r#"header "Set-Cookie" matches /x/"#,
            "expected to match ***, and got ***",
        ),
        (r#"header "Set-Cookie" count == 2"#, ""),
        (r#"header "{{name}}" == "x""#, "and got ***"),
        (r#"header "Location" == "x""#, r#"and got "https://h/cb?…""#),
        (r#"cookie "sid" == "x""#, "and got ***"),
        (
            r#"cookie "sid[Path]" == "/x""#,
            r#"expected "/x", and got "/""#,
        ),
        (r#"jsonpath "$.access_token" == "x""#, "and got ***"),
        (
            r#"jsonpath "$.access_token" not exists"#,
            "expected nothing, and got ***",
        ),
        (
            r#"jsonpath "$.access_token" toInt == 1"#,
            "text that is one, not a text",
        ),
        (
            r#"jsonpath "$.user" == "x""#,
            r#"and got {"id":7,"password":"***"}"#,
        ),
        (r#"jsonpath "$" == "x""#, r#""n":"1""#),
        (r#"jsonpath "$.in" == "x""#, r#"and got "***""#),
        (r#"jsonpath "$.as" == "x""#, r#"and got "***""#),
        (r#"jsonpath "$.n" == "2""#, r#"expected "2", and got "1""#),
        (r#"regex "password\": \"(.*?)\"" == "x""#, "and got ***"),
        (r#"body == "x""#, r#"expected "x", and got a text of "#),
        (r#"body split "x" == "x""#, "and got a list of 1"),
        (r#"bytes == hex,00;"#, "bytes"),
    ];
    for (line, expected) in asserts {
        let text = format!("GET http://h/\nHTTP 200\n[Asserts]\n{line}\n");
        let why = go(&text, &given, vec![said()]).wrong();
        assert!(why.contains(expected), "{line}: {why}");
        assert!(!why.contains("canary"), "{line}: {why}");
    }
    for line in ["Set-Cookie: x", "Authorization: x", "Location: x", "`x`"] {
        let text = format!("GET http://h/\nHTTP 200\n{line}\n");
        let why = go(&text, &given, vec![said()]).wrong();
        assert!(!why.contains("canary"), "{line}: {why}");
    }
}

//! Whole sessions.

use std::time::Duration;

use flow::{Answer, FaultKind, Fields, Given, Now, Outcome, Request, Session, Step, Version};
use measure::time::Time;

use crate::support::{BEGAN_MS, flow, given, go, json, status, through};

#[test]
fn a_token_is_captured_and_sent_from_then_on() {
    let text = r#"
# Logs in.
POST {{base}}/login
[Form]
user: {{user}}
password: p&ss wörd
HTTP 200
[Captures]
token: jsonpath "$.token"
id: jsonpath "$.user.id"

GET {{base}}/users/{{id}}   # what is one's own
Authorization: Bearer {{token}}
HTTP/1.1 200
[Asserts]
jsonpath "$.id" == {{id}}
"#;
    let given = given(&[("base", "http://h:8080"), ("user", "a b")], &[]);
    let answers = vec![
        json(r#"{"token":"t-1","user":{"id":12}}"#),
        json(r#"{"id":12}"#),
    ];
    assert_eq!(
        go(text, &given, answers).well(),
        [
            "POST http://h:8080/login | Content-Type: application/x-www-form-urlencoded | \
             user=a%20b&password=p%26ss%20w%C3%B6rd",
            "GET http://h:8080/users/12 | Authorization: Bearer t-1",
        ]
    );
}

#[test]
fn a_request_has_all_that_its_sections_say() {
    let text = r#"
PUT http://h/a?x=1
X-A: {{n}}
Content-Type: text/plain
[Query]
q: a/b c
[BasicAuth]
bob: secret
[Cookies]
theme: dark
[Options]
variable: n=5
variable: s="6"
```
line {{n}}
line {{s}} \n
```
"#;
    assert_eq!(
        go(text, &Given::default(), vec![status(500)]).well(),
        [
            "PUT http://h/a?x=1&q=a%2Fb%20c | X-A: 5 | Content-Type: text/plain | \
             Authorization: Basic Ym9iOnNlY3JldA== | Cookie: theme=dark | line 5\nline 6 \\n\n"
        ],
        "without a line HTTP any answer will do"
    );
}

#[test]
fn bodies_are_what_the_file_writes() {
    let table = [
        (
            "{\"a\": {{n}}, \"b\": \"<{{s}}>\"}",
            "{\"a\": 1, \"b\": \"<q\\\"q>\"}",
        ),
        ("[\n  1, 2\n] # a comment", "[\n  1, 2\n]"),
        ("{}", "{}"),
        ("\"text\"", "\"text\""),
        ("{{n}}", "1"),
        ("true", "true"),
        ("`one {{n}} line`", "one 1 line"),
        ("```two {{n}} lines```", "two 1 lines"),
        ("```json\n{\"a\":{{n}}}\n```", "{\"a\":1}\n"),
        ("```xml\n<a>{{n}}</a>\n```", "<a>1</a>\n"),
        ("```raw\n{{n}}\n```", "{{n}}\n"),
        ("```raw,novariable\n{{n}}\n```", "{{n}}\n"),
        ("```escape\na\\tb\n```", "a\tb\n"),
        ("```base64\naGVs\nbG8=\n```", "hello"),
        ("base64,aGVsbG8=;", "hello"),
        ("hex,68 65;", "he"),
        ("file,a.txt;", "from a file"),
        (
            "```graphql\n{ a }\nvariables {\"b\": \"{{s}}\"}\n```",
            r#"{"query":"{ a }","variables":{"b": "q\"q"}}"#,
        ),
        (
            "```graphql\n{ a(b: \"{{s}}\") }\n```",
            r#"{"query":"{ a(b: \"q\"q\") }\n"}"#,
        ),
    ];
    let given = given(&[("n", "1"), ("s", "q\"q")], &[]);
    for (written, expected) in table {
        let text = format!("POST http://h/\nContent-Type: x\n{written}\nHTTP 200\n");
        let did = go(&text, &given, vec![status(200)]).well();
        let body = did[0]
            .strip_prefix("POST http://h/ | Content-Type: x | ")
            .unwrap();
        // In a string of JSON a quote is escaped.
        let expected = expected.replace(r#"\"q"q\""#, r#"\"q\"q\""#);
        assert_eq!(body, expected, "{written}");
    }
    let typed = [
        ("{}", "application/json"),
        ("```xml\n<a/>\n```", "application/xml"),
    ];
    for (written, expected) in typed {
        let text = format!("POST http://h/\n{written}");
        let did = go(&text, &given, vec![status(200)]).well();
        assert!(
            did[0].contains(&format!("Content-Type: {expected} |")),
            "{did:?}"
        );
    }
}

#[test]
fn a_body_of_several_parts_has_values_and_files() {
    let text =
        "POST http://h/\n[Multipart]\nfield: a b\nup: file,a.txt;\nbin: file,data.bin; x/y\n";
    let did = go(text, &Given::default(), vec![status(200)]).well();
    let boundary = did[0]
        .split("boundary=")
        .nth(1)
        .unwrap()
        .split(' ')
        .next()
        .unwrap();
    let expected = format!(
        "POST http://h/ | Content-Type: multipart/form-data; boundary={boundary} | \
         --{boundary}\r\nContent-Disposition: form-data; name=\"field\"\r\n\r\na b\r\n\
         --{boundary}\r\nContent-Disposition: form-data; name=\"up\"; filename=\"a.txt\"\r\n\
         Content-Type: text/plain\r\n\r\nfrom a file\r\n\
         --{boundary}\r\nContent-Disposition: form-data; name=\"bin\"; filename=\"data.bin\"\r\n\
         Content-Type: x/y\r\n\r\n\0\u{fffd}\r\n--{boundary}--\r\n"
    );
    assert_eq!(did, [expected]);
}

#[test]
fn cookies_are_kept_and_go_where_they_belong() {
    let text = "
GET http://h.org/login
GET http://h.org/a
[Cookies]
a: own
GET http://other.org/
GET http://h.org/private/x
[Options]
delay: 10s
";
    let answers = vec![
        status(200)
            .with("Set-Cookie", "a=1; Path=/")
            .with("Set-Cookie", "b=2; Max-Age=5; Path=/")
            .with("Set-Cookie", "c=3; Path=/private")
            .with("Set-Cookie", "d=4; Secure"),
        status(200),
        status(200),
        status(200),
    ];
    assert_eq!(
        go(text, &Given::default(), answers).well(),
        [
            "GET http://h.org/login",
            "GET http://h.org/a | Cookie: a=1; b=2; a=own",
            "GET http://other.org/",
            "waits 10000 ms",
            "GET http://h.org/private/x | Cookie: c=3; a=1",
        ]
    );
}

#[test]
fn redirects_change_methods_as_browsers_do() {
    let table = [
        ("POST", 301, "GET"),
        ("POST", 302, "GET"),
        ("POST", 303, "GET"),
        ("POST", 307, "POST"),
        ("POST", 308, "POST"),
        ("PUT", 302, "PUT"),
        ("PUT", 303, "GET"),
        ("HEAD", 303, "HEAD"),
    ];
    for (method, code, then) in table {
        let text = format!(
            "{method} http://h/a/b\nX-Y: {{{{newUuid}}}} {{{{newDate}}}}\n\
             Content-Language: de\n[Options]\n\
             location: true\n`body {{{{newUuid}}}}`\nHTTP 200\n[Asserts]\n\
             url == \"http://h/a/c?d\"\n"
        );
        let answers = vec![status(code).with("Location", "c?d#e"), status(200)];
        let did = go(&text, &Given::default(), answers).well();
        let first = did[0].replacen(&format!("{method} http://h/a/b"), "", 1);
        let second = did[1]
            .strip_prefix(&format!("{then} http://h/a/c?d"))
            .unwrap();
        match then == "GET" {
            true => assert_eq!(second, first.split(" | Content-").next().unwrap()),
            false => assert_eq!(second, first, "the same was drawn"),
        }
    }
}

#[test]
fn a_redirect_elsewhere_takes_no_secrets_along() {
    let text = "
GET http://h/
Authorization: Bearer x
X-Y: z
[Cookies]
a: 1
";
    let given = Given {
        follow: true,
        ..Given::default()
    };
    let answers = vec![status(302).with("location", "https://g/x"), status(200)];
    assert_eq!(
        go(text, &given, answers).well(),
        [
            "GET http://h/ | Authorization: Bearer x | X-Y: z | Cookie: a=1",
            "GET https://g/x | X-Y: z",
        ]
    );
}

#[test]
fn redirects_that_lead_nowhere_end_the_session() {
    let text = "GET http://h/\n[Options]\nlocation: true\nmax-redirs: 3\nHTTP 200\n";
    let around = vec![status(302).with("Location", "/"); 4];
    let gone = go(text, &Given::default(), around);
    assert_eq!(gone.did.len(), 4);
    assert_eq!(
        gone.fault.as_ref().map(|fault| fault.kind),
        Some(FaultKind::Redirect)
    );
    assert_eq!(
        gone.wrong(),
        "request 1, line 1: more than 3 redirects, the last of them to /"
    );
    let away = vec![status(302).with("Location", "ftp://h/")];
    assert_eq!(
        go(text, &Given::default(), away).wrong(),
        "request 1, line 1: a redirect leads to ftp://h/: only http and https can be asked for"
    );
    let away = vec![status(302).with("Location", "ftp://bob:canary@h/a?token=canary#canary")];
    let away = go(text, &Given::default(), away).wrong();
    let around = vec![status(302).with("Location", "/?token=canary"); 4];
    let around = go(text, &Given::default(), around).wrong();
    assert!(away.contains("leads to ftp://h/a?…: only"), "{away}");
    assert!(around.ends_with("the last of them to /?…"), "{around}");
    let nowhere = vec![status(302)];
    assert_eq!(
        go(text, &Given::default(), nowhere).wrong(),
        "request 1, line 5: expected the status 200, and got 302"
    );
}

#[test]
fn an_entry_is_tried_again_until_its_answer_is_right() {
    let text = "
GET http://h/{{newUuid}}
[Options]
retry: 3
retry-interval: 250ms
HTTP 200
[Asserts]
jsonpath \"$.state\" == \"done\"
";
    let busy = || json(r#"{"state":"busy"}"#);
    let gone = go(
        text,
        &Given::default(),
        vec![busy(), busy(), json(r#"{"state":"done"}"#)],
    );
    assert_eq!((gone.retried, &gone.fault), (2, &None));
    let did = gone.well();
    assert_eq!([&*did[1], &*did[3]], ["waits 250 ms", "waits 250 ms"]);
    assert_ne!(did[0], did[2], "every attempt draws anew");
    let gone = go(
        text,
        &Given::default(),
        vec![busy(), busy(), busy(), busy()],
    );
    assert_eq!(gone.retried, 3);
    assert_eq!(
        gone.wrong(),
        "request 1, line 8: jsonpath \"$.state\": expected \"done\", and got \"busy\""
    );
}

#[test]
fn a_lost_connection_is_tried_again_if_the_file_says_so() {
    let flow = flow(
        "GET http://h/\n[Options]\nretry: 1\nretry-interval: 1s\n",
        &Given::default(),
    );
    let mut session = Session::new(&flow, &[], 1);
    let gone = through(&mut session, &mut |_| None);
    assert_eq!(
        gone.did,
        ["GET http://h/", "waits 1000 ms", "GET http://h/"]
    );
    assert_eq!(
        gone.fault.as_ref().map(|fault| fault.kind),
        Some(FaultKind::Transport)
    );
    assert_eq!(gone.wrong(), "request 1, line 1: the connection was closed");
}

#[test]
fn entries_are_repeated_and_skipped() {
    let text = "
GET http://h/a
[Options]
repeat: {{n}}
delay: 5
GET http://h/b
[Options]
skip: true
GET http://h/c
[Options]
repeat: 0
GET http://h/d
[Options]
skip: {{no}}
";
    let given = given(&[("n", "2"), ("no", "false")], &[]);
    let answers = vec![status(200); 3];
    assert_eq!(
        go(text, &given, answers).well(),
        [
            "waits 5 ms",
            "GET http://h/a",
            "waits 5 ms",
            "GET http://h/a",
            "GET http://h/d"
        ]
    );
}

#[test]
fn an_option_may_be_wrong_when_its_turn_comes() {
    let text = "GET http://h/\n[Options]\nretry: 5\nrepeat: {{n}}\n";
    let wrong = go(text, &given(&[("n", "x")], &[]), vec![]).wrong();
    assert_eq!(
        wrong,
        "request 1, line 4: repeat: a number belongs here, and it's \"x\""
    );
    let text = "GET http://h/{{n toInt}}\n[Options]\nretry: -1\nretry-interval: 0\n";
    let wrong = go(text, &given(&[("n", "x")], &[]), vec![]).wrong();
    let expected = "request 1, line 1: the filter toInt wants a number or text that is one, \
                    not a text";
    assert_eq!(wrong, expected, "it isn't tried again");
}

#[test]
fn users_have_rows_and_seeds_of_their_own() {
    let given = Given {
        columns: vec!["unused".to_owned(), "user".to_owned()],
        ..Given::default()
    };
    let flow = flow(
        "GET http://h/{{user}}/{{newUuid}}?{{newDate}}\nHTTP 200\nX: {{user}}",
        &given,
    );
    let mut did = Vec::new();
    let mut session = Session::new(&flow, &["-", "a"], 1);
    for (row, seed) in [(["-", "a"], 1), (["-", "b"], 2), (["-", "a"], 1)] {
        session.begin(&row, seed);
        let gone = through(&mut session, &mut |_| Some(status(200).with("x", row[1])));
        did.push(gone.well().remove(0));
    }
    assert!(did[0].starts_with("GET http://h/a/"), "{did:?}");
    assert!(did[0].ends_with("?2026-01-01T00:00:00.000Z"), "{did:?}");
    assert_eq!(did[0], did[2], "the same seed draws the same");
    assert!(did[1].starts_with("GET http://h/b/"), "{did:?}");
    assert_ne!(did[0][15..], did[1][15..]);
}

#[test]
fn a_flow_says_where_it_goes_as_far_as_that_is_known() {
    let text = "GET {{base}}/a\nGET {{base}}/b\nHTTP 200\n[Captures]\nx: body\n\n\
                GET {{x}}/c\nGET https://g:8443/d\nGET http://h:80/e\n\
                GET http://i:81/{{x}}/f\nGET http://j{{x}}/g\n";
    let flow = flow(text, &given(&[("base", "http://h")], &[]));
    let origins = flow.origins();
    let urls: Vec<&str> = origins.iter().map(|url| url.as_str()).collect();
    assert_eq!(urls, ["http://h/a", "https://g:8443/d", "http://i:81/"]);
    assert_eq!((flow.len(), flow.entry(1)), (7, Some(("GET", 2))));
    let paths: Vec<String> = (0..7).filter_map(|at| flow.path(at)).collect();
    assert_eq!(paths, ["/a", "/b", "/c", "/d", "/e", "/{{x}}/f", "/g"]);
    assert!(flow.expects(1) && !flow.expects(0));
    assert_eq!(flow.lines()[1..4], [(1, 2), (1, 3), (1, 5)]);
}

#[test]
fn a_session_forgets_the_user_before() {
    let text = "GET http://h/\nHTTP 200\n[Captures]\na: body\n\nGET http://h/{{a}}\nHTTP 200\n";
    let flow = flow(text, &Given::default());
    let mut session = Session::new(&flow, &[], 1);
    let mut answer = |_: &Request| Some(status(200).with("set-cookie", "a=1").body("x"));
    let first = through(&mut session, &mut answer).well();
    assert_eq!(first, ["GET http://h/", "GET http://h/x | Cookie: a=1"]);
    session.begin(&[], 1);
    assert_eq!(through(&mut session, &mut answer).well(), first);
}

#[test]
fn what_is_asked_out_of_turn_changes_nothing() {
    let flow = flow("GET http://h/\nHTTP 200", &Given::default());
    let mut session = Session::new(&flow, &[], 1);
    let now = Now {
        at: Time(5),
        unix_ms: BEGAN_MS,
    };
    assert_eq!(session.lost(now, "x"), flow::Heard::Unasked);
    let mut request = Request::new();
    assert_eq!(session.next(now, &mut request), Step::Send);
    assert_eq!(session.next(now, &mut request), Step::Listen);
    assert_eq!(session.lost(now, "x"), flow::Heard::Failed);
    assert_eq!(session.next(now, &mut request), Step::Done(Outcome::Failed));
    assert_eq!(session.lost(now, "x"), flow::Heard::Unasked);
}

#[test]
fn what_an_answer_held_cant_break_out_of_a_header_or_a_url() {
    let text = "GET http://h/\nHTTP 200\n[Captures]\na: body\n\nGET http://h/{{a}}\nX: {{b}}\n";
    let text = text.replace("{{b}}", "x{{a}}");
    let wrong = go(
        &text,
        &Given::default(),
        vec![status(200).body("1\r\nEvil: yes")],
    )
    .wrong();
    assert_eq!(
        wrong,
        "request 2, line 7: the value of a header can't hold line breaks or control characters"
    );
    let text = text.replace("X: x{{a}}\n", "");
    let did = go(
        &text,
        &Given::default(),
        vec![status(200).body("1\r\n x"), status(200)],
    )
    .well();
    assert_eq!(did[1], "GET http://h/1%0D%0A%20x");
}

#[test]
fn the_values_of_secrets_appear_in_no_message() {
    let text = r#"
GET http://h/?k={{key}}
Authorization: Bearer {{key}}
[BasicAuth]
bob: {{key}}
HTTP 200
[Captures]
token: header "X-Token" redact
[Asserts]
header "X-Said" == "y"
"#;
    let secret = "s3cr\"t k/y";
    let given = given(&[], &[("key", secret)]);
    let long = "z".repeat(115);
    let bodies = [
        secret.to_owned(),
        "in JSON s3cr\\\"t k/y".to_owned(),
        "in a URL s3cr%22t%20k%2Fy s3cr%22t%20k/y".to_owned(),
        "in HTML s3cr&quot;t k/y s3cr&#34;t k/y".to_owned(),
        "Basic Ym9iOnMzY3IidCBrL3k= and czNjciJ0IGsveQ==".to_owned(),
        "captured tok-1".to_owned(),
        format!("{long}{secret}"),
    ];
    for body in bodies {
        let answer = status(200).with("x-token", "tok-1").with("x-said", &body);
        let wrong = go(text, &given, vec![answer]).wrong();
        let leaks = ["s3cr", "k/y", "k%2F", "Ym9i", "czNj", "tok-1"];
        assert!(!leaks.iter().any(|leak| wrong.contains(leak)), "{wrong}");
        assert!(wrong.contains("***") || wrong.contains('…'), "{wrong}");
    }
    let bytes = "GET http://h/{{key}}\nHTTP 200\n[Asserts]\nbytes == hex,00;\n";
    let body = format!("{}{secret}", "z".repeat(25));
    assert_eq!(
        go(bytes, &given, vec![status(200).body(body)]).wrong(),
        "request 1, line 4: bytes: expected 1 byte: hex,00;, and got 35 bytes"
    );
    let text = "GET {{key}}\n";
    let wrong = go(text, &given, vec![]).wrong();
    let expected = "request 1, line 1: *** can't be asked for: it isn't absolute: http://… or \
                    https://…";
    assert_eq!(wrong, expected);
    let flow = flow("GET http://h/{{key}}\n", &given);
    let mut session = Session::new(&flow, &[], 1);
    let mut request = Request::new();
    let now = Now {
        at: Time(5),
        unix_ms: BEGAN_MS,
    };
    session.next(now, &mut request);
    let shown = format!("{session:?} {request:?} {given:?} {flow:?}");
    assert!(!shown.contains("s3cr"), "{shown}");
}

#[test]
fn what_was_captured_appears_in_no_message_once_it_may_be_a_token() {
    let text = "GET http://h/\nHTTP 200\n[Captures]\na: jsonpath \"$.a\"\nb: jsonpath \"$.b\"\n\
                c: jsonpath \"$.c\"\n\n\
                GET http://h/\nHTTP 200\n[Asserts]\nheader \"S\" == \"{{a}} {{b}}\"\n";
    let tokens = json(r#"{"a":"eyJhbGciOiJI","b":17,"c":[1,2,3,4,5,6,7,8]}"#);
    let answers = vec![tokens, status(200).with("s", "eyJhbGciOiJI, but 18")];
    assert_eq!(
        go(text, &Given::default(), answers).wrong(),
        "request 2, line 11: header \"S\": expected \"*** 17\", and got \"***, but 18\""
    );
}

#[test]
fn messages_are_short_and_on_one_line() {
    let text = "GET http://h/\nHTTP 200\n[Asserts]\njsonpath \"$.a\" == \"y\"\n";
    let body = format!(r#"{{"a": "\u001b[31m\n{}"}}"#, "x".repeat(100_000));
    let wrong = go(text, &Given::default(), vec![json(&body)]).wrong();
    assert!(
        wrong.len() < 400 && !wrong.contains(['\n', '\u{1b}']),
        "{wrong}"
    );
}

#[test]
fn nothing_looks_into_a_body_that_was_cut_or_is_broken() {
    let cases = [
        ("", None),
        ("[Asserts]\nheader \"a\" not exists\n", None),
        ("`xx`\n", Some(3)),
        ("[Captures]\na: jsonpath \"$.a\"\n", Some(4)),
        ("[Asserts]\nbody contains \"x\"\n", Some(4)),
        ("[Asserts]\nbytes count == 2\n", Some(4)),
        ("[Asserts]\nsha256 == hex,00;\n", Some(4)),
    ];
    let both = cases.iter().flat_map(|case| [(case, false), (case, true)]);
    for (&(expected, line), is_broken) in both {
        let flow = flow(
            &format!("GET http://h/\nHTTP 200\n{expected}"),
            &Given::default(),
        );
        let mut session = Session::new(&flow, &[], 7);
        let now = Now {
            at: Time(1),
            unix_ms: BEGAN_MS,
        };
        assert_eq!(session.next(now, &mut Request::new()), Step::Send);
        let mut fields = Fields::new();
        if is_broken {
            fields.push(b"Content-Encoding", b"gzip");
        }
        let answer = Answer {
            version: Version::Http11,
            status: 200,
            fields: &fields,
            body: b"xx",
            is_cut: !is_broken,
            is_broken,
            took: Duration::from_millis(1),
        };
        session.answer(now, &answer);
        let fault = session.fault();
        assert_eq!(fault.map(|fault| fault.line), line, "{expected}: {fault:?}");
        if let Some(fault) = fault {
            let why = match is_broken {
                true => "the body can't be decoded: it's no gzip, or it ends too soon",
                false => "the body is too long",
            };
            assert!(fault.what.contains(why), "{fault}");
        }
    }
}

#[test]
fn a_flow_that_is_sent_to_another_server_stays_there() {
    let text = "
GET {{base}}/a?b
[Options]
location: true
HTTP 200

GET http://h:81/c
";
    let given = given(&[("base", "http://h:81")], &[]);
    let moved = flow(text, &given)
        .sent_to("https://127.0.0.1:8443")
        .unwrap();
    let [origin] = &moved.origins()[..] else {
        panic!("{:?}", moved.origins());
    };
    assert!(origin.is_secure());
    assert_eq!(origin.authority(), "127.0.0.1:8443");
    // Whether a redirect names the one or the other.
    let mut answers = vec![
        status(302)
            .with("location", "http://H:81/d")
            .with("set-cookie", "a=b"),
        status(302).with("location", "https://127.0.0.1:8443/e"),
        status(200),
        status(200),
    ]
    .into_iter();
    let mut session = Session::new(&moved, &[], 7);
    let gone = through(&mut session, &mut |_| answers.next());
    assert_eq!(
        gone.well(),
        [
            "GET https://127.0.0.1:8443/a?b",
            "GET https://127.0.0.1:8443/d | Cookie: a=b",
            "GET https://127.0.0.1:8443/e | Cookie: a=b",
            "GET https://127.0.0.1:8443/c | Cookie: a=b",
        ]
    );
    let again = moved.sent_to("http://i").unwrap();
    assert_eq!(again.origins()[0].as_str(), "http://i/a?b");
    assert!(moved.sent_to("nonsense").is_err());
}

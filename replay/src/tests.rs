use std::io::Cursor;

use super::*;

fn is_secret(name: &str) -> bool {
    ["cookie", "authorization"].contains(&name.to_ascii_lowercase().as_str())
}

fn read_as(ending: Option<&str>, text: &str, methods: &[&str]) -> Result<Trace, String> {
    let all = methods.is_empty();
    let methods = methods.iter().map(|one| (*one).to_owned()).collect();
    let options = Options {
        methods: (!all).then_some(methods),
        is_secret: &is_secret,
        keep_secrets: false,
    };
    from(&mut Cursor::new(text.as_bytes()), ending, "a.log", &options)
}

fn read_all(text: &str) -> Trace {
    read_as(None, text, &[]).unwrap_or_else(|why| panic!("{why}\n{text}"))
}

/// When what was asked, in milliseconds.
fn sent(trace: &Trace) -> Vec<(u64, String)> {
    let sendings = trace.sendings.iter();
    sendings
        .map(|one| {
            let request = &trace.requests[one.request as usize];
            let what = format!("{} {}", request.method, request.target);
            (one.at_ns / 1_000_000, what)
        })
        .collect()
}

fn what(trace: &Trace) -> Vec<String> {
    sent(trace).into_iter().map(|(_, what)| what).collect()
}

const LOG: &str = include_str!("samples/access.log");

#[test]
fn logs_of_nginx_and_apache_are_read_with_their_escapes_and_put_in_order() {
    let trace = read_all(LOG);
    let expected = [
        (0, "GET /apache_pb.gif"),
        (500, "GET /a?b=c%20d"),
        (1000, "HEAD /gr%C3%BC%C3%9Fe"),
        (2000, "POST /login"),
    ];
    let expected = expected.map(|(at, what)| (at, what.to_owned()));
    assert_eq!(sent(&trace), expected);
    let fields: Vec<_> = trace.requests[1].fields.iter().collect();
    let [(_, referer), (_, agent)] = fields[..] else {
        panic!("{fields:?}");
    };
    assert_eq!((&**referer, &**agent), ("http://x/", "curl/8 \"q\""));
    assert!(trace.requests[2].fields.is_empty());
    assert_eq!(trace.left_out, LeftOut::default());
    assert_eq!(
        trace.notes,
        [
            "1 POST requests are sent with an empty body: access logs don't record bodies",
            "put 1 requests in order that stood behind later ones"
        ]
    );
}

#[test]
fn equal_requests_are_kept_once() {
    let line = r#"h - - [10/Oct/2000:13:55:36 -0700] "GET / HTTP/1.0" 200 1"#;
    let trace = read_all(&format!("{line}\n").repeat(1000));
    assert_eq!((trace.requests.len(), trace.sendings.len()), (1, 1000));
    let last = trace.sendings[999].at_ns;
    assert_eq!(last, 999_000_000);
}

#[test]
fn what_is_no_request_is_counted_and_the_first_of_it_is_shown() {
    let good = r#"h - - [10/Oct/2000:13:55:36 -0700] "GET /g HTTP/1.0" 200 1"#;
    let strange = [
        r#"h - - [10/Oct/2000:13:55:36 -0700] "\x16\x03\x01" 400 150"#,
        r#"h - - [10/Oct/2000:13:55:36 -0700] "CONNECT a:1 HTTP/1.1" 400 1"#,
        r#"h - - [10/Oct/2000:13:55:36 -0700] "OPTIONS * HTTP/1.1" 400 1"#,
        r#"h - - [10/Oct/2000:13:55:36 -0700] "GET / HTTP/1.1" - 1"#,
        r#"h - - [10/Oct/2000:13:55:36 -0700] "GET / HTTP/1.1"#,
        r#"h - - [10/Oct/2000:13:55:36 -0700] "GET /a b HTTP/1.1" 200 1"#,
        r#"h - - [yesterday] "GET / HTTP/1.1" 200 1"#,
        "\u{1b}[31mred",
        "{}",
    ];
    let long = "x".repeat(3 * LINE_BYTES_MAX);
    let text = format!("# a comment\n{}\n{long}\n{good}\n", strange.join("\n"));
    let trace = read_all(&text);
    assert_eq!(what(&trace), ["GET /g"]);
    assert_eq!(trace.left_out.unreadable, strange.len() as u64 + 1);
    let first = trace.left_out.first.expect("the first");
    assert!(
        first.starts_with("a.log:2: its request isn't like GET /path"),
        "{first}"
    );
    let trace = read_all(&format!("{}\n{good}", strange[7]));
    assert!(!trace.notes[0].contains('\u{1b}'), "{:?}", trace.notes);
}

#[test]
fn a_file_of_another_format_is_refused_with_its_first_line() {
    let text = "level=info msg=started\n".repeat(3);
    let why = read_as(None, &text, &[]).unwrap_err();
    assert!(
        why.contains("a.log:1: there's no time in brackets"),
        "{why}"
    );
    assert!(why.contains("level=info msg=started"), "{why}");
    // It isn't read to its end to find that out.
    let why = read_as(None, &text.repeat(1000), &[]).unwrap_err();
    assert!(why.contains("a.log:1: "), "{why}");
    assert_eq!(read_as(None, "", &[]).unwrap_err(), "a.log is empty");
    let why = read_as(None, LOG, &["PUT"]).unwrap_err();
    assert!(
        why.ends_with(
            "of 4 lines, 4 use GET, POST, HEAD (send them with --replay-methods PUT,GET,POST,HEAD)"
        ),
        "{why}"
    );
}

#[test]
fn only_methods_that_were_asked_for_are_sent() {
    let trace = read_as(None, LOG, &["GET", "HEAD"]).unwrap();
    assert_eq!(trace.sendings.len(), 3);
    assert_eq!(trace.left_out.by_method, 1);
    assert_eq!(
        trace.notes[0],
        "skipped 1 of 4 lines: 1 use POST (send them with --replay-methods GET,HEAD,POST)"
    );
}

#[test]
fn lines_of_json_are_read_as_servers_and_programs_write_them() {
    let trace = read_all(include_str!("samples/requests.ndjson"));
    let expected = [
        (0, "GET /n?a=1"),
        (1000, "PUT /caddy"),
        (2000, "DELETE /line"),
        (3500, "GET /traefik"),
        (4000, "POST /u"),
        (5000, "POST /b"),
    ];
    let expected = expected.map(|(at, what)| (at, what.to_owned()));
    assert_eq!(sent(&trace), expected);
    let accept = |value: &str| ("Accept".to_owned(), value.to_owned());
    assert_eq!(trace.requests[1].fields, [accept("a"), accept("b")]);
    assert_eq!(trace.requests[4].body, br#"{"a":1}"#);
    assert_eq!(trace.requests[5].body, [0, 1]);
    assert!(
        trace
            .notes
            .iter()
            .any(|note| note.starts_with("left out 1 credential headers (Cookie); --replay-s")),
        "{:?}",
        trace.notes
    );
    for (line, why) in [
        (r#"{"method": "GET", "path": "/"}"#, "it has no time"),
        (r#"{"time": "noon", "path": "/"}"#, "`time` is no time"),
        (r#"{"time": 1}"#, "it has no target"),
        (
            r#"{"time": 1, "path": "/", "body_base64": "*"}"#,
            "can't be decoded",
        ),
        (
            r#"{"time": 1, "path": "ws://h/"}"#,
            "neither a path nor a URL",
        ),
        (
            r#"{"time": 1, "path": "/", "method": "G T"}"#,
            "its method is none",
        ),
        ("[1]", "it's no object in JSON"),
        (
            r#"{"time": 1, "path": "/"},"#,
            "a comma stands behind its object",
        ),
    ] {
        let said = read_as(Some("ndjson"), line, &[]).unwrap_err();
        assert!(said.contains(why), "{said}");
    }
}

const HAR: &str = include_str!("samples/page.har");

#[test]
fn a_har_file_is_read_entry_by_entry_and_only_one_host_is_asked() {
    for text in [
        HAR.to_owned(),
        format!("\u{feff}{HAR}"),
        HAR.replace('\n', ""),
    ] {
        let trace = read_all(&text);
        let expected = [(0, "GET /"), (500, "POST /login?x"), (2000, "PUT /t")];
        let expected = expected.map(|(at, what)| (at, what.to_owned()));
        assert_eq!(sent(&trace), expected);
        let first = trace.sendings[1].request as usize;
        assert_eq!(trace.requests[first].body, b"a+b=%C3%BC%26");
        let accept = ("Accept".to_owned(), "*/*".to_owned());
        assert_eq!(trace.requests[first].fields, [accept]);
        let left = &trace.left_out;
        assert_eq!(
            (left.unreadable, left.elsewhere, left.without_body),
            (2, 1, 1)
        );
        let first = left.first.as_deref().expect("the first");
        assert!(
            first.starts_with("a.log, entry 5: its target is neither"),
            "{first}"
        );
    }
}

#[test]
fn what_is_no_har_file_says_why() {
    for (text, why) in [
        (r#"{"log": {"version": "1.2"}}"#, "it has no `entries`"),
        (
            r#"{"log": {"entries": [{"startedDateTime""#,
            "is no HAR file",
        ),
        (r#"{"log": []}"#, "is no HAR file"),
        ("[]", "is a list in JSON"),
        ("[1]", "is no HAR file"),
        (r#"{"log": {"entries": []}}"#, "a.log has no entries"),
    ] {
        let said = read_as(Some("har"), text, &[]).unwrap_err();
        assert!(said.contains(why), "{said}");
    }
    // Deeper than anything is nested that means something.
    let deep = format!("{{\"log\": {}", "[".repeat(100_000));
    assert!(read_as(Some("har"), &deep, &[]).is_err());
}

#[test]
fn a_format_is_told_by_the_name_or_by_how_it_begins() {
    let of = |ending, text: &str| format(&mut Cursor::new(text.as_bytes()), ending).unwrap();
    assert_eq!(of(None, LOG), Format::Log);
    assert_eq!(of(None, HAR), Format::Har);
    assert_eq!(of(None, "{\n  \"log\": {}"), Format::Har);
    assert_eq!(of(None, "{\"time\": 1}\n{\"time\": 2}"), Format::Lines);
    assert_eq!(of(Some("JSONL"), LOG), Format::Lines);
    assert_eq!(of(Some("har"), ""), Format::Har);
    assert_eq!(of(Some("log"), ""), Format::Log);
}

#[test]
fn brackets_before_the_time_and_a_mark_before_the_first_line_are_passed_over() {
    let line = "[pod/web-1] ::1 - - [10/Oct/2000:13:55:36 -0700] \"GET /a HTTP/1.1\" 200 1\n";
    assert_eq!(what(&read_all(line)), ["GET /a"]);
    let lines = "\u{feff}{\"time\":1,\"path\":\"/a\"}\n{\"time\":2,\"path\":\"/b\"}\n";
    let trace = read_as(Some("ndjson"), lines, &[]).expect("a trace");
    assert_eq!(what(&trace), ["GET /a", "GET /b"]);
    assert_eq!(trace.left_out.count(), 0);
}

#[test]
fn what_went_through_a_server_to_somebody_else_is_not_asked_of_it() {
    let line = |target: &str| {
        format!("::1 - - [10/Oct/2000:13:55:36 -0700] \"GET {target} HTTP/1.1\" 200 1\n")
    };
    let log = line("http://evil.example/x") + &line("/a") + &line("/b");
    let trace = read_all(&log);
    assert_eq!(what(&trace), ["GET /a", "GET /b"]);
    assert_eq!((trace.left_out.elsewhere, trace.requests.len()), (1, 2));
}

#[test]
fn a_line_that_is_shown_is_shown_without_its_query() {
    let line = "::1 - - [10/Oct/2000:13:55:36 -0700] \"GET /a b?token=secret HTTP/1.1\" 200 1\n";
    let good = "::1 - - [10/Oct/2000:13:55:36 -0700] \"GET /a HTTP/1.1\" 200 1\n";
    let first = read_all(&(line.to_owned() + good)).left_out.first;
    let first = first.expect("one that doesn't fit");
    assert!(
        first.contains("/a b") && !first.contains("secret"),
        "{first}"
    );
}

#[test]
fn the_beginning_of_a_request_counts_where_its_end_is_written_too() {
    let line = |start: &str| {
        format!(
            "{{\"StartUTC\":\"2000-10-10T13:55:36.{start}Z\",\"time\":\"2000-10-10T13:55:40Z\",\
             \"RequestMethod\":\"GET\",\"RequestPath\":\"/{start}\"}}\n"
        )
    };
    let trace = read_all(&(line("100") + &line("350")));
    let expected = [(0, "GET /100".to_owned()), (250, "GET /350".to_owned())];
    assert_eq!(sent(&trace), expected);
}

#[test]
fn lines_of_json_and_entries_that_do_not_fit_are_not_shown() {
    let good = r#"{"time": 1, "path": "/"}"#;
    for line in [
        r#"{"headers": {"Authorization": "canary"}, "path": "/"}"#,
        r#"{"headers": {"Authorization": "canary"}, "path""#,
        "\"canary\"",
    ] {
        let trace = read_as(Some("ndjson"), &format!("{line}\n{good}"), &[]).unwrap();
        let first = trace.left_out.first.expect("the first");
        assert!(first.starts_with("a.log:1: "), "{first}");
        assert!(!first.contains("canary"), "{first}");
    }
    let cookie = HAR.replace("\"headers\": [", "\"headers\": \"canary\", \"were\": [");
    let first = read_as(Some("har"), &cookie, &[]).unwrap().left_out.first;
    let first = first.expect("the first");
    assert!(
        first.starts_with("a.log, entry 1: ") && !first.contains("canary"),
        "{first}"
    );
}

#[test]
fn a_user_in_a_url_is_no_part_of_the_host_and_is_not_shown() {
    let line = |url: &str| format!("{{\"time\": 1, \"url\": \"{url}\"}}\n");
    let urls = ["http://bob:canary@h/a", "http://h/b", "http://g/c"];
    let trace = read_all(&urls.map(line).concat());
    assert_eq!(what(&trace), ["GET /a", "GET /b"]);
    assert!(
        trace.notes[1] == "only requests to h are sent: most went there",
        "{:?}",
        trace.notes
    );
    let log = "::1 - - [10/Oct/2000:13:55:36 -0700] \"GET http://bob:canary@h/a b HTTP/1.1\" 1\n";
    let why = read_all(&(log.to_owned() + LOG)).left_out.first.unwrap();
    assert!(!why.contains("canary") && why.contains("http://"), "{why}");
}

#[test]
fn times_with_decimals_are_not_taken_for_whole_seconds() {
    let line = |at: &str| {
        format!(
            "{{\"time\": {at}, \"path\": \"/{}\"}}\n",
            at.trim_matches('"')
        )
    };
    for times in [
        ["7.000", "7.000", "7.100", "7.300"],
        ["\"7.000\"", "\"7.000\"", "\"7.100\"", "\"7.300\""],
    ] {
        let trace = read_all(&times.map(line).concat());
        let at: Vec<u64> = sent(&trace).into_iter().map(|(at, _)| at).collect();
        assert_eq!(at, [0, 0, 100, 300]);
    }
    for took in ["0.5", "\"0.5\"", "\"500ms\"", "\"0.25s250000µs\""] {
        let timed = format!("{{\"time\": 8.000, \"duration\": {took}, \"path\": \"/\"}}\n");
        let trace = read_all(&(line("7.250") + &timed));
        assert_eq!(sent(&trace)[1].0, 250, "{took}");
    }
}

#[test]
fn what_is_packed_or_a_list_says_what_to_do() {
    let why = from(
        &mut Cursor::new(b"\x1f\x8b\x08\x00"),
        Some("gz"),
        "a.log.gz",
        &Options {
            methods: None,
            is_secret: &is_secret,
            keep_secrets: false,
        },
    );
    assert_eq!(
        why.unwrap_err(),
        "a.log.gz is compressed: unpack it first (gunzip)"
    );
    let list = "[\n {\"time\": 1, \"path\": \"/\"}]";
    for list in [list.to_owned(), format!("\u{feff}{list}"), "[]".to_owned()] {
        let why = read_as(None, &list, &[]).unwrap_err();
        assert!(why.starts_with("a.log is a list in JSON: "), "{why}");
    }
}

#[test]
fn what_caddy_writes_of_a_failed_request_besides_is_no_second_request() {
    let line = |logger: &str| {
        format!(
            "{{\"ts\": 1.5, \"logger\": \"{logger}\", \"request\": \
             {{\"method\": \"GET\", \"uri\": \"/a\"}}}}\n"
        )
    };
    let text = line("http.log.error.log0") + &line("http.log.access.log0");
    let trace = read_all(&text);
    assert_eq!((what(&trace).len(), trace.left_out.unreadable), (1, 1));
}

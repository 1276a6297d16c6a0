//! Flows of users (`run FILE.hurl`), against a server with sessions, and against our own.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use rustix::process::Signal;

use super::child::{Folder, PATIENCE, Server, assert_says, command, ringside, start, step, until};
use super::signals::counting_server;
use super::site;

/// What a server knows of its sessions.
#[derive(Debug, Default)]
struct Sessions {
    begun: u64,
    open: BTreeSet<String>,
    /// Requests that were nobody's.
    strangers: u64,
}

/// A server on which one logs in with a password, and out again. Its URL, and what it knows.
fn serve() -> (String, Arc<Mutex<Sessions>>) {
    let sessions = Arc::new(Mutex::new(Sessions::default()));
    let known = Arc::clone(&sessions);
    let url = site::serve(move |asked| {
        let token = asked.field("authorization").strip_prefix("Bearer ");
        let given = (
            asked.field("cookie"),
            token.unwrap_or_default(),
            &*asked.body,
        );
        let (status, fields, body) = said(&asked.line, given, &mut known.lock().unwrap());
        (format!("{status} X{fields}"), body.into_bytes())
    });
    (url, sessions)
}

fn said(
    line: &str,
    (cookie, token, body): (&str, &str, &[u8]),
    sessions: &mut Sessions,
) -> (u16, String, String) {
    let line = line.trim_end_matches(" HTTP/1.1");
    if line == "POST /login" {
        if body != b"user=bob&password=canary-password" {
            return (403, String::new(), "no".to_owned());
        }
        sessions.begun += 1;
        let token = format!("canary-token-{}", sessions.begun);
        sessions.open.insert(token.clone());
        let fields = format!("\r\nSet-Cookie: sid={token}; Path=/; HttpOnly");
        return (200, fields, format!("{{\"token\":\"{token}\"}}"));
    }
    if !sessions.open.contains(token) || cookie != format!("sid={token}") {
        sessions.strangers += 1;
        return (401, String::new(), String::new());
    }
    if line == "POST /logout" {
        sessions.open.remove(token);
    }
    (200, String::new(), "{\"items\":[1,2]}".to_owned())
}

const SHOP: &str = r#"
POST {{base}}/login
[Form]
user: bob
password: {{password}}
HTTP 200
[Captures]
token: jsonpath "$.token"

GET {{base}}/items
Authorization: Bearer {{token}}
HTTP 200
[Asserts]
jsonpath "$.items" count == 2

POST {{base}}/logout
Authorization: Bearer {{token}}
HTTP 200
"#;

/// What every run of a flow is given.
fn given(url: &str) -> Vec<String> {
    let base = format!("base={url}");
    let words = ["--variable", &base, "--secret", "password=canary-password"];
    words.map(str::to_owned).to_vec()
}

#[test]
fn a_server_has_as_many_sessions_as_flows_were_counted() {
    let folder = Folder::new();
    let file = folder.write("shop.hurl", SHOP);
    for (how, threads) in [("-n60", "-t1"), ("-n61", "-t3"), ("-R200", "-t2")] {
        let (url, sessions) = serve();
        let mut words = vec!["run", &file, how, threads, "-c7", "--format", "json"];
        if how == "-R200" {
            words.extend(["-d1", "--timeout", "30s"]);
        }
        let given = given(&url);
        words.extend(given.iter().map(String::as_str));
        let ended = ringside(&words);
        let record: serde_json::Value = serde_json::from_str(&ended.stdout).unwrap();
        let flows = step(&record, "(flow)")["completed"].as_u64().unwrap();
        let expected = match how {
            "-n60" => 60,
            "-n61" => 61,
            _ => 200,
        };
        assert_eq!(flows, expected, "{how}: {ended:?}");
        assert_eq!(step(&record, "POST /login")["completed"], flows, "{how}");
        // What users send behind the window's end is in no figure but their flows'.
        let is_whole = |completed: u64, all: u64| match how {
            "-R200" => completed <= all,
            _ => completed == all,
        };
        for name in ["GET /items", "POST /logout"] {
            let completed = step(&record, name)["completed"].as_u64().unwrap();
            assert!(is_whole(completed, flows), "{how}: {name}: {completed}");
        }
        let completed = record["exchanges"]["completed"].as_u64().unwrap();
        assert!(is_whole(completed, 3 * flows), "{how}: {completed}");
        assert_eq!(record["exchanges"]["failed"], 0, "{how}");
        let sessions = sessions.lock().unwrap();
        assert_eq!((sessions.begun, sessions.strangers), (flows, 0), "{how}");
        assert!(sessions.open.is_empty(), "{how}: {sessions:?}");
        let said = format!("{}{}", ended.stdout, ended.stderr);
        assert!(!said.contains("canary"), "{how}: {said}");
    }
}

#[test]
fn a_report_names_the_line_that_was_not_met_and_no_secret() {
    let folder = Folder::new();
    let text = SHOP.replace("count == 2", "count == 3");
    let file = folder.write("shop.hurl", &text);
    let (url, _) = serve();
    let mut words = vec!["run", &file, "-n6", "-c2", "--threshold", "p99{(flow)}<10s"];
    let given = given(&url);
    words.extend(given.iter().map(String::as_str));
    let ended = ringside(&words);
    let first = "Flows: 6 begun, 0 completed (0.00/s), 6 (100.00 %) failed\n";
    assert!(ended.stdout.starts_with(first), "{}", ended.stdout);
    assert_says(&ended.stdout, &format!("Running 6 flows @ {url}\n"));
    assert_says(&ended.stdout, "The 3 requests of ");
    assert_says(&ended.stdout, "  6 unexpected_answer: ");
    assert_says(
        &ended.stdout,
        "shop.hurl:14, GET /items (6): e.g. jsonpath \"$.items\" count",
    );
    assert_says(&ended.stdout, "expected 3, and got 2");
    assert_eq!(ended.code, Some(99), "{ended:?}");
    // Without a threshold nothing was measured that is of use.
    let words: Vec<&str> = words
        .iter()
        .copied()
        .filter(|word| !word.contains("p99") && *word != "--threshold")
        .collect();
    let without = ringside(&words);
    assert_eq!(without.code, Some(1), "{without:?}");
    assert_says(&without.stderr, "no flow got to its end");
    let said = format!("{}{}", ended.stdout, ended.stderr);
    assert!(!said.contains("canary"), "{said}");
}

#[test]
fn our_own_server_answers_flows_over_tls_on_either_engine_and_over_http2() {
    let folder = Folder::new();
    let text = r#"
POST {{base}}/echo
{"id": "{{newUuid}}"}
HTTP/VERSION 200
[Captures]
id: jsonpath "$.id"

POST {{base}}/echo
`{{id}}`
HTTP 200
[Asserts]
body == {{id}}
"#;
    let server = Server::start(&["--tls"]);
    let base = format!("base={}", server.url);
    let words = ["--insecure", "-c3", "-n30", "--format", "json"];
    for (more, version) in [
        (&["--engine", "uring"][..], "1.1"),
        (&["--engine", "epoll"], "1.1"),
        (&["--http2"], "2"),
    ] {
        let file = folder.write("echo.hurl", &text.replace("VERSION", version));
        let file = ["run", &file, "--variable", &base];
        let ended = ringside(&[&file[..], &words, more].concat());
        assert_eq!(ended.code, Some(0), "{ended:?}");
        let record: serde_json::Value = serde_json::from_str(&ended.stdout).unwrap();
        assert_eq!(step(&record, "(flow)")["completed"], 30);
        assert_eq!(step(&record, "POST /echo")["completed"], 30);
        assert_eq!(step(&record, "POST /echo (line 8)")["completed"], 30);
        assert_eq!(
            record["plan"]["workload"]["users"]["variables"]["base"],
            server.url
        );
    }
}

#[test]
fn what_rows_hold_under_the_name_of_a_secret_is_in_no_output() {
    let folder = Folder::new();
    let rows = folder.write("users.csv", "user,password\nbob,canary-1\nann,canary-2\n");
    let text = "POST {{base}}/echo\n{\"user\": \"{{user}}\", \"was\": \"{{password}}\"}\n\
                HTTP 200\n[Asserts]\njsonpath \"$.was\" == \"x\"\n";
    let file = folder.write("echo.hurl", text);
    let server = Server::start(&[]);
    let base = format!("base={}", server.url);
    let words = ["run", &file, "-n6", "-c2", "--variable", &base, "--data"];
    for format in ["text", "json"] {
        let ended = ringside(&[&words[..], &[&rows, "--format", format]].concat());
        let said = format!("{}{}", ended.stdout, ended.stderr);
        assert_says(&said, "***");
        assert!(!said.contains("canary"), "{said}");
    }
}

#[test]
fn what_answers_hold_under_the_name_of_a_secret_is_in_no_output() {
    let folder = Folder::new();
    let text = "POST {{base}}/echo\n{\"access_token\": \"canary-1\", \"n\": 1}\n\
                HTTP 200\n[Asserts]\njsonpath \"$.access_token\" == \"x\"\n\n\
                POST {{base}}/echo\n`canary-2`\nHTTP 200\n[Asserts]\nbody == \"x\"\n";
    let server = Server::start(&[]);
    let base = format!("base={}", server.url);
    for (from, told) in [
        (0, "and got ***"),
        (text.find("\n\n").unwrap() + 2, "a text of 8 bytes"),
    ] {
        let file = folder.write("echo.hurl", &text[from..]);
        let words = ["run", &file, "-n4", "-c2", "--variable", &base, "--format"];
        for format in ["text", "json"] {
            let ended = ringside(&[&words[..], &[format]].concat());
            let said = format!("{}{}", ended.stdout, ended.stderr);
            assert_says(&said, told);
            assert!(!said.contains("canary"), "{said}");
        }
    }
}

#[test]
fn flows_that_are_under_way_at_the_end_are_no_errors_and_what_is_skipped_is_not_sent() {
    let folder = Folder::new();
    let slow = "GET {{base}}/\n\nGET {{base}}/\n[Options]\ndelay: 60s\n";
    let skipped = "GET {{base}}/\n[Options]\nskip: true\n";
    let server = Server::start(&[]);
    let base = format!("base={}", server.url);
    let with = |text: &str, more: &[&str]| {
        let file = folder.write("a.hurl", text);
        let words = [
            "run",
            &file,
            "-c2",
            "-d1s",
            "--timeout",
            "200ms",
            "--variable",
            &base,
        ];
        ringside(&[&words[..], more].concat())
    };
    let ended = with(slow, &["--threshold", "errors{(flow)}<1%"]);
    assert_says(
        &ended.stdout,
        "2 flows were under way, or waited for a user",
    );
    // On a busy machine figures may be void, but nothing has failed.
    assert!(matches!(ended.code, Some(0 | 4)), "{ended:?}");
    for more in [&[][..], &["-R", "5"]] {
        let ended = with(skipped, more);
        assert_eq!(ended.code, Some(1), "{ended:?}");
        assert_says(&ended.stderr, "the flow skips all of them");
    }
}

/// Each of these is refused with such words, before anything is sent.
fn refused(cases: Vec<(Vec<String>, &str)>) {
    for (words, said) in cases {
        let mut all = vec!["run"];
        all.extend(words.iter().map(String::as_str));
        let ended = ringside(&all);
        assert_eq!(ended.code, Some(2), "{words:?}: {ended:?}");
        assert_says(&ended.stderr, said);
        assert!(!ended.stderr.contains("canary"), "{ended:?}");
    }
}

#[test]
fn a_file_that_is_not_supported_is_refused_with_its_line_before_anything_is_sent() {
    let folder = Folder::new();
    let first = "GET http://127.0.0.1:1/\n";
    let option = format!("{first}[Options]\ninsecure: true\n");
    let elsewhere = format!("{first}\nGET http://127.0.0.1:2/\n");
    let outside = "POST http://127.0.0.1:1/\nfile,../d.hurl;\n";
    let files = [
        (&*option, "a.hurl:3:1: the option insecure isn't supported"),
        (
            &elsewhere,
            "a.hurl:3: this request goes to http://127.0.0.1:2",
        ),
        ("GET {{base}}/\n", "the variable base isn't defined"),
        (outside, "a.hurl:2:1: ../d.hurl: it lies outside of"),
    ];
    for (text, said) in files {
        refused(vec![(vec![folder.write("a.hurl", text)], said)]);
    }
    let none = folder.path("none.hurl");
    refused(vec![(vec![none], "none.hurl: can't be read")]);
}

#[test]
fn flags_that_a_flow_has_no_use_for_are_refused_with_a_way_out() {
    let folder = Folder::new();
    let good = folder.write("good.hurl", "GET http://127.0.0.1:1/\n");
    let with = |flag: &str| vec![good.clone(), flag.to_owned()];
    refused(vec![
        (
            vec![good.clone(), "--http2".to_owned(), "-S2".to_owned()],
            "-S must be 1",
        ),
        (with("--no-keepalive"), "drop --no-keepalive"),
        (with("--cookies"), "drop --cookies"),
        (with("--expect=status=200"), "drop --expect"),
        (with("--pipeline=2"), "must be 1"),
        (with("-bx"), "drop -b"),
        (with("--control"), "drop --control"),
        (
            with("--replay=none.log"),
            "a run has a flow or a replay, not both",
        ),
        (
            with("--secret=canary"),
            "--secret, number 1: write NAME=VALUE",
        ),
        (
            with("--secrets-file=none.env"),
            "--secrets-file none.env: No such file",
        ),
        (
            vec![
                "http://127.0.0.1:1/".to_owned(),
                "--variable=a=b".to_owned(),
            ],
            "--variable is for a flow of users",
        ),
    ]);
}

#[test]
fn verbs_that_take_no_flow_say_which_do() {
    let folder = Folder::new();
    let file = folder.write("good.hurl", "GET http://127.0.0.1:1/\n");
    let ended = ringside(&["hold", &file]);
    assert_eq!(ended.code, Some(2), "{ended:?}");
    assert_says(&ended.stderr, "a flow of users is loaded by `ringside run`");
}

#[test]
fn intervals_have_the_requests_and_the_flow_and_add_up_to_the_record() {
    let folder = Folder::new();
    let file = folder.write("shop.hurl", SHOP);
    let (url, sessions) = serve();
    let given = given(&url);
    let mut words = vec!["run", &file, "-n50", "-c3", "--intervals", "-", "-o"];
    let record = folder.path("run.json");
    words.extend([&*record, "--format", "json"]);
    words.extend(given.iter().map(String::as_str));
    let ended = ringside(&words);
    let record = std::fs::read_to_string(record).unwrap();
    let record: serde_json::Value = serde_json::from_str(&record).unwrap();
    let mut flows = 0;
    for line in ended.stdout.lines() {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        let steps = line["steps"].as_array().unwrap();
        let found = steps.iter().find(|step| step["name"] == "(flow)").unwrap();
        flows += found["completed"].as_u64().unwrap();
    }
    assert_eq!(flows, 50, "{ended:?}");
    assert_eq!(step(&record, "(flow)")["completed"], 50);
    assert_eq!(sessions.lock().unwrap().begun, 50);
}

#[test]
fn variables_and_secrets_come_from_files_and_the_environment_too() {
    let folder = Folder::new();
    let file = folder.write("shop.hurl", SHOP);
    let (url, sessions) = serve();
    let variables = folder.write("shop.env", &format!("# of this test\nbase={url}\n"));
    let secrets = folder.write("secrets.env", "password=canary-password\n");
    let base = format!("base={url}");
    let of_files = ["--variables-file", &variables, "--secrets-file", &secrets];
    let secret = ("HURL_SECRET_password", "canary-password");
    let nowhere = ("HURL_VARIABLE_base", "http://127.0.0.1:1");
    let cases = [
        (of_files.to_vec(), Vec::new()),
        (Vec::new(), vec![("HURL_VARIABLE_base", &*url), secret]),
        // What is given on the command line has the last word.
        (vec!["--variable", &base], vec![nowhere, secret]),
    ];
    for (words, environment) in cases {
        let mut command = command(&["run", &file, "-n4", "-c2", "--format", "json"]);
        command.args(words).envs(environment);
        let ended = start(&mut command).end();
        assert_eq!(step(&ended.record(), "(flow)")["completed"], 4, "{ended:?}");
        let said = format!("{}{}", ended.stdout, ended.stderr);
        assert!(!said.contains("canary"), "{said}");
    }
    let sessions = sessions.lock().unwrap();
    assert_eq!((sessions.begun, sessions.strangers), (12, 0));
}

#[test]
fn ctrl_c_ends_users_who_act_and_users_who_rest_with_a_report() {
    let folder = Folder::new();
    let acting = "GET {{base}}\nHTTP 200\n\nGET {{base}}b\nHTTP 200\n";
    let resting = "GET {{base}}\n\nGET {{base}}b\n[Options]\ndelay: 600s\n";
    for (text, answers, how) in [
        (acting, 20, "-c2"),
        (acting, 20, "-R50"),
        (resting, 2, "-c2"),
    ] {
        let file = folder.write("users.hurl", text);
        let (url, reached) = counting_server(answers);
        let base = format!("base={url}");
        let words = ["run", &file, how, "-d10m", "--variable", &base];
        let mut command = command(&words);
        command.args(["--format", "json"]);
        let running = start(&mut command);
        reached.recv_timeout(PATIENCE).expect("requests come");
        running.signal(Signal::INT);
        let ended = running.end();
        assert_eq!(ended.code, Some(130), "{}", ended.stderr);
        let record = ended.record();
        assert_eq!(record["ended_by"], "interrupt");
        let flow = step(&record, "(flow)");
        let count = |name: &str| flow[name].as_u64().unwrap();
        match text == acting {
            true => assert!(count("completed") >= 5, "{flow}"),
            false => assert_eq!((count("completed"), count("unfinished")), (0, 2), "{flow}"),
        }
    }
}

#[test]
fn users_of_a_server_that_goes_away_fail_and_the_run_ends_with_a_report() {
    let folder = Folder::new();
    let text = "GET {{base}}/\nHTTP 200\n\nGET {{base}}/b\n[Options]\ndelay: 5ms\n";
    let file = folder.write("users.hurl", text);
    let mut server = Some(Server::start(&[]));
    let base = format!("base={}", server.as_ref().unwrap().url);
    let log = folder.path("intervals.ndjson");
    let words = ["run", &file, "-c3", "-d10m", "--variable", &base];
    let mut command = command(&words);
    command.args(["--format", "json", "--intervals", &log]);
    let running = start(&mut command);
    let says = |what: &str| std::fs::read_to_string(&log).is_ok_and(|lines| lines.contains(what));
    until("a second has been counted", || says("(flow)"));
    drop(server.take());
    until("connections are refused", || says("\"refused\""));
    running.signal(Signal::INT);
    let ended = running.end();
    assert_eq!(ended.code, Some(130), "{}", ended.stderr);
    let record = ended.record();
    let flow = step(&record, "(flow)");
    assert!(flow["completed"].as_u64().unwrap() > 0, "{flow}");
    assert!(
        record["errors"]["refused"].as_u64().unwrap() > 0,
        "{record}"
    );
    // Whoever was under way waits for the server until the end.
    let ends = ["completed", "failed", "unfinished"].map(|end| flow[end].as_u64().unwrap());
    assert!(ends[1] + ends[2] > 0, "{flow}");
}

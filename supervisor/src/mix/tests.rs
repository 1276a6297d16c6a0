use std::fs;

use super::*;

/// What is read of a workload in a folder with a mix and its rows.
fn read(words: &str, mix: &str, rows: &str) -> Result<Option<Mix>, String> {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("mix.http"), mix).unwrap();
    fs::write(folder.path().join("ids.csv"), rows).unwrap();
    let workload: Result<crate::workload::Workload, _> = toml::from_str(words);
    let workload = workload.map_err(|bad| bad.to_string())?;
    let read = workload
        .question(folder.path())
        .map(|question| question.mix);
    read.map_err(|what| what.replace(&folder.path().display().to_string(), "DIR"))
}

const MIX: &str = "### list\n# @weight 3\nGET https://elsewhere:9/items?a=b\n\
                   ### item\nGET https://elsewhere:9/items/{{id}}\nX-A: own\n";
const ROWS: &str = "id\n7\n";
const BOTH: &str = "targets = 'mix.http'\ndata = 'ids.csv'\n";

#[test]
fn a_flow_of_users_goes_to_the_rows_server_and_says_all_that_is_sent() {
    let folder = tempfile::tempdir().unwrap();
    let text = "GET {{base}}/a\nX: {{x}}\nHTTP 200\n\nGET {{base}}/b\n";
    fs::write(folder.path().join("shop.hurl"), text).unwrap();
    let asked = |more: &str| {
        let words = format!("targets = 'shop.hurl'\nvariables = {{ x = '1' }}\n{more}");
        let workload: crate::workload::Workload = toml::from_str(&words).unwrap();
        let asked = workload.question(folder.path());
        asked.map_err(|what| what.replace(&folder.path().display().to_string(), "DIR"))
    };
    let question = asked("headers = { A = 'b' }\nfollow = 3\n").unwrap();
    let words = question.words();
    assert!(
        words.starts_with("2 requests of shop.hurl, by each user over HTTP/1.1"),
        "{words}"
    );
    let at = crate::workload::At {
        port: 8081,
        ..crate::workload::At::default()
    };
    let plan = question.plan(at).unwrap();
    plan.validate().unwrap();
    let users = plan
        .workload
        .as_ref()
        .and_then(|workload| workload.users.as_ref());
    let flow = users.unwrap().journey.0.clone().unwrap();
    assert_eq!(flow.origins()[0].port(), 8081);
    let own = plan.request.headers.iter();
    assert!(own.clone().any(|(name, value)| name == "A" && value == "b"));
    for (more, part) in [
        ("expect = ['status=200']", "write [Asserts]"),
        ("pipeline = 2", "add `connections`"),
        ("protocol = 'websocket'", "over HTTP/1.1 or HTTP/2"),
        ("method = 'PUT'", "a flow says what is sent"),
        ("data_order = 'once'", "`data_order` is about `data`"),
    ] {
        let what = asked(more).unwrap_err();
        assert!(what.contains(part), "{more}: {what}");
    }
    assert!(asked("rate = '20/s'").is_ok());
    fs::write(folder.path().join("shop.hurl"), "GET {{base}}/{{y}}\n").unwrap();
    let what = asked("").unwrap_err();
    assert!(
        what.contains("shop.hurl:1:16: the variable y isn't"),
        "{what}"
    );
}

#[test]
fn the_requests_go_to_the_rows_server_wherever_they_say() {
    let words = format!("{BOTH}headers = {{ X-A = \"common\" }}");
    let mix = read(&words, MIX, ROWS).unwrap().expect("a mix");
    let target = Target::parse("http://127.0.0.1:1234/").unwrap();
    let steps = mix.sent_to(&target).steps;
    let urls = steps
        .iter()
        .map(|step| step.target.url(&Redaction::default()));
    let urls: Vec<String> = urls.collect();
    let server = "http://127.0.0.1:1234/items";
    assert_eq!(
        urls,
        [format!("{server}?a=b"), format!("{server}/{{{{id}}}}")]
    );
    let header = |at: usize| steps[at].request.headers[0].1.as_str();
    assert_eq!((header(0), header(1)), ("common", "own"));
}

#[test]
fn what_is_asked_is_told_with_a_hash_of_all_that_is_sent() {
    let told = |words: &str, mix: &str, rows: &str| {
        let mix = read(words, mix, rows).unwrap().expect("a mix");
        (
            mix.words(Protocol::Http1, &Redaction::default()),
            mix.contents,
        )
    };
    let (words, usual) = told(BOTH, MIX, ROWS);
    let begins = "2 requests of mix.http by weight over HTTP/1.1, rows of ids.csv in turn (red";
    assert!(words.starts_with(begins), "{words}");
    assert_eq!(usual, told(BOTH, MIX, ROWS).1);
    let longer = format!("{MIX}\nbody");
    for (words, mix, rows) in [
        (BOTH, MIX, "id\n8\n"),
        (BOTH, &*longer, ROWS),
        (&*format!("{BOTH}pick = 'random'"), MIX, ROWS),
        (&*format!("{BOTH}data_order = 'zipf:1.1'"), MIX, ROWS),
    ] {
        assert_ne!(told(words, mix, rows).1, usual, "{words}");
    }
    let one = "path = '/items/{{id}}?token=x'\ndata = 'ids.csv'";
    let (words, _) = told(one, MIX, ROWS);
    assert!(
        words.starts_with("GET /items/{{id}}?token=redacted:"),
        "{words}"
    );
    assert_eq!(
        read("path = '/{{id}}'", MIX, ROWS),
        Ok(None),
        "nobody asked"
    );
}

#[test]
fn what_does_not_go_together_is_refused_with_a_way_out() {
    for (words, part) in [
        (
            "targets = 'mix.http'",
            "; there is no data file (`data` in [workload])",
        ),
        ("targets = 'none.http'", "DIR/none.http: can't read"),
        ("targets = 'mix.txt2'", "which format"),
        (
            "targets = 'mix.http'\npath = '/x'",
            "both `path` and `targets`",
        ),
        ("pick = 'random'", "`pick` is about `targets`"),
        ("data_order = 'random'", "`data_order` is about `data`"),
        (
            "data = 'ids.csv'",
            "`data = \"ids.csv\"`: no request uses it; write one",
        ),
        ("data = 'none.csv'", "none.csv"),
        (&*format!("{BOTH}data_order = 'once'"), "ends a load early"),
        ("path = '/{{random 1 9}}'", "add `template = true`"),
        ("path = '/a b'", "have no spaces"),
        (
            "template = true\nprotocol = 'websocket'",
            "for http1, http2 and grpc; the messages",
        ),
    ] {
        let what = read(words, MIX, ROWS).expect_err(words);
        assert!(what.contains(part), "{words}: {what}");
    }
}

/// What is asked in a folder with a mix of calls and their description.
fn of_calls(words: &str) -> Result<crate::workload::Question, String> {
    let folder = tempfile::tempdir().unwrap();
    let files = [
        (
            "a.proto",
            "syntax = \"proto3\"; package a; message M { string text = 1; } \
             service S { rpc Get(M) returns (M); rpc Watch(M) returns (stream M); }",
        ),
        (
            "mix.http",
            "GRPC elsewhere:9/a.S/Get\n\n{\"text\": \"{{newUuid}}\"}\n###\n\
             GRPC elsewhere:9/a.S/Watch\n",
        ),
        ("other.http", "GRPC x/a.S/Gut\n"),
        ("none.http", "http://x/\n"),
    ];
    for (name, text) in files {
        fs::write(folder.path().join(name), text).unwrap();
    }
    let workload: crate::workload::Workload = toml::from_str(words).unwrap();
    workload.question(folder.path())
}

#[test]
fn calls_go_to_the_rows_server_with_what_describes_them() {
    let words = "targets = 'mix.http'\nprotocol = 'grpc'\nproto = 'a.proto'\n";
    let asked = of_calls(words).unwrap();
    let words_of = asked.words();
    assert!(
        words_of.starts_with("2 requests of mix.http in turn over gRPC (red"),
        "{words_of}"
    );
    let at = crate::workload::At {
        host: None,
        address: None,
        port: 1234,
        tls: false,
        trust: None,
    };
    let plan = asked.plan(at).unwrap();
    plan.validate().unwrap();
    ::workload::Source::of(&plan).unwrap();
    let workload = plan.workload.unwrap();
    let urls = workload
        .steps
        .iter()
        .map(|step| step.target.url(&Redaction::default()));
    let urls: Vec<String> = urls.collect();
    let server = "grpc://127.0.0.1:1234/a.S";
    assert_eq!(urls, [format!("{server}/Get"), format!("{server}/Watch")]);
    assert!(workload.methods.of("/a.S/Watch").is_some());
}

#[test]
fn calls_that_do_not_fit_are_refused_before_anything_is_started() {
    for (words, part) in [
        (
            "targets = 'mix.http'",
            "mix.http has gRPC calls: add `protocol = \"grpc\"`",
        ),
        ("targets = 'mix.http'\nprotocol = 'grpc'", "add `proto`"),
        (
            "targets = 'none.http'\nprotocol = 'grpc'\nproto = 'a.proto'",
            "none.http has requests of HTTP: write `GRPC` as their method",
        ),
        (
            "targets = 'other.http'\nprotocol = 'grpc'\nproto = 'a.proto'",
            "other.http:1: a.S has no method Gut; it has Get, Watch",
        ),
        (
            "targets = 'mix.http'\nprotocol = 'grpc'\nproto = 'a.proto'\nrepeat = 2",
            "`repeat` is about one `message`",
        ),
        (
            "path = '/a.S/Get'\nmessage = '4'\ntemplate = true\nprotocol = 'grpc'\n\
             proto = 'a.proto'",
            "the message must be an object of a.M",
        ),
    ] {
        let what = of_calls(words).expect_err(words);
        assert!(what.contains(part), "{words}: {what}");
    }
    let one = "path = '/a.S/Get'\nmessage = '{\"text\": \"{{seq}}\"}'\ntemplate = true\n\
               protocol = 'grpc'\nproto = 'a.proto'";
    let asked = of_calls(one).unwrap();
    assert!(
        asked.words().starts_with("/a.S/Get over gRPC (red"),
        "{}",
        asked.words()
    );
}

#[test]
fn messages_of_a_websocket_go_with_what_they_can_go_with() {
    let usual = "targets = 'mix.http'\nprotocol = 'websocket'\n";
    for (words, part) in [
        (
            BOTH,
            "mix.http has the messages of a WebSocket: add `protocol",
        ),
        (&*format!("{usual}rate = '5'"), "`rate`: the waits between"),
        (
            &*format!("{usual}pipeline = 2"),
            "`pipeline`: a message waits",
        ),
        (
            &*format!("{usual}keep_alive = false"),
            "`keep_alive = false` opens",
        ),
        (&*format!("{usual}message = 'a'"), "drop `message`"),
        (&*format!("{usual}method = 'PUT'"), "drop `method`"),
        (&*format!("{usual}pick = 'random'"), "drop `pick`"),
        (
            &*format!("{usual}expect = ['status=200']"),
            "`expect`: a message has no status",
        ),
    ] {
        let what = read(words, CHAT, ROWS).expect_err(words);
        assert!(what.contains(part), "{words}: {what}");
    }
    let what = read(usual, "GET http://x/\n", ROWS).expect_err("no messages");
    assert!(
        what.contains("mix.http has no `WEBSOCKET` request"),
        "{what}"
    );
    let told = |chat: &str| {
        let mix = read(usual, chat, ROWS).unwrap().expect("messages");
        let words = mix.words(Protocol::WebSocket, &Redaction::default());
        (words, mix.contents)
    };
    let (words, hash) = told(CHAT);
    let begins = "2 messages of mix.http in turn over WebSocket (red";
    assert!(words.starts_with(begins), "{words}");
    let slower = CHAT.replace("wait-for-server", "wait-for-server\n=== wait 1s");
    assert_ne!(told(&slower).1, hash, "rests are part of it");
    let more = format!("{usual}expect = ['body~a']\ndata = 'ids.csv'\nbinary = true");
    let uses = CHAT.replace("text", "{{id}}");
    assert!(read(&more, &uses, ROWS).unwrap().is_some());
}

const CHAT: &str = "WEBSOCKET ws://elsewhere:9/room?a=b\nX-A: own\n\n\
                    text\n=== wait-for-server\nlast\n";

#[test]
fn messages_go_to_the_rows_server_and_the_first_is_answered_before() {
    let folder = tempfile::tempdir().unwrap();
    let words = "targets = 'chat.http'\nprotocol = 'websocket'\nheaders = { X-B = 'b' }";
    let workload: crate::workload::Workload = toml::from_str(words).unwrap();
    let asked = |chat: &str| {
        fs::write(folder.path().join("chat.http"), chat).unwrap();
        let asked = workload.question(folder.path()).unwrap();
        let at = crate::workload::At {
            host: None,
            address: None,
            port: 1234,
            tls: false,
            trust: None,
        };
        let plan = asked.plan(at).unwrap();
        plan.validate().unwrap();
        ::workload::Source::of(&plan).unwrap();
        (asked.mix.expect("messages"), plan)
    };
    let (mix, plan) = asked(&CHAT.replace("text", "text {{seq}}"));
    let workload = plan.workload.as_ref().unwrap();
    let server = "ws://127.0.0.1:1234/room?a=b";
    for target in [&plan.target, &workload.steps[1].target] {
        assert_eq!(target.url(&Redaction::default()), server);
    }
    assert!(workload.flow.is_some());
    let fields: Vec<&str> = plan
        .request
        .headers
        .iter()
        .map(|(name, _)| &**name)
        .collect();
    assert_eq!(fields, ["X-A", "X-B"]);
    let ask = |asked: &Plan| {
        asked.validate().unwrap();
        let Spoken::WebSocket { message } = &asked.protocol else {
            panic!("{:?}", asked.protocol);
        };
        assert_eq!(asked.request, plan.request);
        Err(String::from_utf8_lossy(&message.payload).into_owned())
    };
    let what = mix.answer(&plan, ask, |_, _| Vec::new()).unwrap_err();
    assert!(what.starts_with("the message /room#1 ("), "{what}");
    assert!(what.ends_with(") text 1"), "{what}");
    let greeted = |_: &Plan| {
        Ok(Answer {
            status: 101,
            body: b"any".to_vec(),
            ..Answer::default()
        })
    };
    let answer = mix.answer(&plan, greeted, |_, _| Vec::new()).unwrap();
    assert_eq!((answer.status, &*answer.body), (101, &b""[..]));
    let (mix, plan) = asked(&CHAT.replace("=== wait-for-server", "==="));
    let nobody = |_: &Plan| Err("asked".to_owned());
    assert!(mix.answer(&plan, nobody, |_, _| Vec::new()).is_ok());
}

#[test]
fn every_request_is_answered_before_the_load_and_safe_ones_alike() {
    let text = "### a\nGET http://x/a\n### made\nGET http://x/{{seq}}\n\
                ### b\nPOST http://x/b\n\nbody\n### c\nGET http://x/c\n";
    let mix = read("targets = 'mix.http'", text, ROWS)
        .unwrap()
        .expect("a mix");
    let mut plan = Plan::new("http://127.0.0.1:1/").unwrap();
    plan.workload = Some(mix.sent_to(&plan.target));
    let answers = |bad: &'static str| {
        let ask = move |plan: &Plan| {
            let path = plan.target.path.clone();
            let status = if path == bad { 404 } else { 200 };
            Ok(Answer {
                status,
                body: path.into_bytes(),
                ..Answer::default()
            })
        };
        mix.answer(&plan, ask, |_, body| body.to_ascii_uppercase())
    };
    let answer = answers("none").unwrap();
    assert_eq!(String::from_utf8_lossy(&answer.body), "a: /A\nc: /C\n");
    let what = answers("/b").unwrap_err();
    assert!(what.starts_with("the request b ("), "{what}");
    assert!(what.ends_with("mix.http:6) with status 404"), "{what}");
}

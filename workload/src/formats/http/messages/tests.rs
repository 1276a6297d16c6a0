use std::io;
use std::path::Path;

use super::super::super::tests::source;
use super::super::super::{Defaults, Format, Targets, parse};
use plan::Invalid;

fn read(text: &str) -> Result<Targets, Invalid> {
    let defaults = Defaults {
        headers: vec![("X-Of-All".to_owned(), "1".to_owned())],
        ..Defaults::default()
    };
    let mut open = |path: &Path| match path.to_str() {
        Some("folder/login.json") => Ok(b"{\"a\":1}".to_vec()),
        Some("folder/text.txt") => Ok(b"=== no mark\n{{seq}}".to_vec()),
        _ => Err(io::ErrorKind::NotFound.into()),
    };
    parse(Format::Http, &source(text.as_bytes()), &defaults, &mut open)
}

/// The messages as the tables write them: `NAME: BODY`, with `+` before a body that is a template,
/// and around it ` REST_MS/` if the connection rests before, and `/ANSWERS`.
fn shown(text: &str) -> Vec<String> {
    let targets = read(text).unwrap_or_else(|wrong| panic!("{text:?}: {wrong}"));
    let flow = targets.flow.expect("messages follow each other");
    assert_eq!(flow.turns.len(), targets.steps.len());
    let mut shown: Vec<String> = Vec::new();
    for (step, turn) in targets.steps.iter().zip(&flow.turns) {
        let ms = (turn.rest_s * 1e3).round();
        let rest = if ms > 0.0 {
            format!("{ms}/ ")
        } else {
            String::new()
        };
        let sign = if step.body_is_template { "+" } else { "" };
        let body = String::from_utf8_lossy(&step.request.body);
        let answers = turn.answers;
        shown.push(format!("{rest}{}: {sign}{body} /{answers}", step.name));
    }
    if flow.rest_s > 0.0 {
        shown.push(format!("{}/", (flow.rest_s * 1e3).round()));
    }
    shown
}

/// Each begins below this line and an empty one.
const HEAD: &str = "### chat\nWEBSOCKET ws://x/ws\n\n";

#[test]
fn messages_and_waits_are_read_in_their_order() {
    let table: &[(&str, &[&str])] = &[
        ("hello", &["chat: +hello /1"]),
        ("===\nhello\n", &["chat: +hello /1"]),
        ("hello\n===\n=== wait-for-server", &["chat: +hello /1"]),
        (
            "a\n=== wait-for-server\nb\n=== wait-for-server\n",
            &["chat#1: +a /1", "chat#2: +b /1"],
        ),
        // The last one waits, too, unless a line says that it is over.
        ("a\n===\nb", &["chat#1: +a /0", "chat#2: +b /1"]),
        (
            "a\n=== wait-for-server\nb\n===\n",
            &["chat#1: +a /1", "chat#2: +b /0"],
        ),
        // As JetBrains' editor: once for each message that is waited for.
        (
            "a\n=== wait-for-server\n\n=== wait-for-server\n=== wait-for-server\nb",
            &["chat#1: +a /3", "chat#2: +b /1"],
        ),
        (
            "=== wait 5ms\na\n=== wait-for-server\n=== wait 100ms\n=== wait 1s\nb\n\
             === wait-for-server\n=== wait 2m\n",
            &["5/ chat#1: +a /1", "1100/ chat#2: +b /1", "120000/"],
        ),
        (
            "===   \n# @name join\n# what it says\n{\n  \"a\": \"{{seq}}\"\n}\n\n\
             ===\twait-for-server \n\
             // @name=say\nb",
            &["join: +{\n  \"a\": \"{{seq}}\"\n} /1", "say: +b /1"],
        ),
        (
            "< login.json\n=== wait-for-server\n<@ text.txt\n====\n===x\n =",
            &[
                "chat#1: {\"a\":1} /1",
                "chat#2: +=== no mark\n{{seq}}\n====\n===x\n = /1",
            ],
        ),
        (
            "a\n===\n===\n\n===\nb\n### other\n# nothing\n",
            &["chat#1: +a /0", "chat#2: +b /1"],
        ),
    ];
    for (text, expected) in table {
        let text = format!("{HEAD}{text}");
        assert_eq!(shown(&text), *expected, "{text:?}");
        let text = text.replace('\n', "\r\n");
        let of_lines: Vec<String> = shown(&text);
        assert_eq!(of_lines, *expected, "{text:?} with CR LF");
    }
}

#[test]
fn the_request_says_where_the_messages_go() {
    let text = "@host = x:81\n\n# @name c\nwebsocket wss://{{host}}/a?b\n\
                Sec-WebSocket-Protocol: v1\n===\nhello\n=== wait-for-server\n\
                # @expect body~ok\n# @expect json:$.a\nb";
    let targets = read(text).unwrap();
    let [first, second] = &targets.steps[..] else {
        panic!("{targets:?}");
    };
    let target = &first.target;
    assert_eq!(
        (&*target.scheme, target.authority(), &*target.path),
        ("wss", "x:81".to_owned(), "/a?b")
    );
    let headers = [("Sec-WebSocket-Protocol", "v1"), ("X-Of-All", "1")];
    let headers = headers.map(|(name, value)| (name.to_owned(), value.to_owned()));
    assert_eq!(first.request.headers, headers);
    assert_eq!(
        (&*first.request.method, first.at.as_deref()),
        ("GET", Some("a.x:7"))
    );
    assert_eq!(
        (first.target == second.target, &*second.name),
        (true, "c#2")
    );
    assert_eq!(
        (second.expect.len(), second.at.as_deref()),
        (2, Some("a.x:11"))
    );
    let named = |url: &str| {
        let targets = read(&format!("WEBSOCKET {url}\n\na")).unwrap();
        let target = &targets.steps[0].target;
        (
            targets.steps[0].name.clone(),
            target.scheme.clone(),
            target.port,
        )
    };
    for (url, name, scheme, port) in [
        ("ws://x", "/", "ws", 80),
        ("x:8080/chat?a=b://c", "/chat", "ws", 8080),
        ("WSS://x/a", "/a", "wss", 443),
        ("/a\nHost: x:8443", "/a", "wss", 8443),
    ] {
        assert_eq!(
            named(url),
            (name.to_owned(), scheme.to_owned(), port),
            "{url}"
        );
    }
}

/// Texts below [`HEAD`], and what is wrong with them.
const MISTAKES: &[(&str, &str)] = &[
    (
        "",
        "2: this WEBSOCKET request has no message: write one below an empty line",
    ),
    (
        "===\n=== wait 1s\n",
        "2: this WEBSOCKET request has no message",
    ),
    (
        "=== wait-for-server\na",
        "4: nothing was sent yet that the server could answer: write a message above `=== \
             wait-for-server`",
    ),
    (
        "a\n=== wait 1s\n=== wait-for-server\n",
        "6: `=== wait-for-server` stands below `=== wait`: put it right below the message \
             whose answer it waits for",
    ),
    (
        "a\n=== wait-for-client\n",
        "5: `=== wait-for-client` says nothing between messages: write `===`, `=== \
             wait-for-server` or `=== wait 100ms`",
    ),
    (
        "a\n=== wait for server\n",
        "5: write `=== wait-for-server`, with hyphens",
    ),
    (
        "a\n=== wait-for-server 2\n",
        "5: `=== wait-for-server 2` says nothing",
    ),
    (
        "a\n=== \u{1b}[2J",
        "5: `=== \\u{1b}[2J` says nothing between messages",
    ),
    (
        "a\n=== wait\n",
        "5: \"\" is not a duration like 10s, 1.5s, 50ms, 2m or 1h30m (a bare number is \
             seconds): write `=== wait 100ms`",
    ),
    ("a\n=== wait soon\n", "5: \"soon\" is not a duration like"),
    ("a\n=== wait -1s\n", "5: \"-1s\" is not a duration like"),
    (
        "a\n=== wait 25h\n",
        "5: a wait between two messages is a day at most",
    ),
    (
        "# @weight 2\na",
        "4: messages are sent in their order, so none has a weight: remove this line",
    ),
    (
        "a\n===\n# @expect body~x\n===\nb",
        "6: this expectation belongs to no request",
    ),
    ("< none.json", "4: can't read the body folder/none.json"),
    (
        "a\n> {% client.log() %}",
        "5: a script that handles the answer",
    ),
    (
        "a\n### b\nGET http://x/",
        "6: a file with a WEBSOCKET request holds no other: each connection goes through its \
             messages; put the other requests into a file of their own",
    ),
    (
        "a\n### b\nWEBSOCKET ws://x/b\n\nb",
        "6: a file with a WEBSOCKET request holds no other",
    ),
];

/// The same of whole files.
const MISTAKES_OF_FILES: &[(&str, &str)] = &[
    (
        "### a\nGET http://x/\n### b\nWEBSOCKET ws://x/\n\na",
        "4: a file with a WEBSOCKET request",
    ),
    (
        "WEBSOCKET http://x/\n\na",
        "1: a WebSocket's URL begins with ws:// or wss://, and this one \
          with http://",
    ),
    ("WEBSOCKET", "1: the URL is missing"),
    (
        "WEBSOCKET ws://{{a}}/\n\na",
        "1: a template can't be the scheme, host or port",
    ),
    (
        "WEBSOCKET ws://x/{{a}}\n\na",
        "1: templates can't be in the URL or a header of a WebSocket",
    ),
    (
        "WEBSOCKET ws://x/\nA: {{a}}\n\na",
        "1: templates can't be in the URL or a header",
    ),
    (
        "WEBSOCKET ws://x/\n{\"a\": 1}",
        "2: \"{\"a\"\" isn't the name of a header: write `Name: value`, and leave a line empty \
         above the first message",
    ),
    (
        "# @weight 2\nWEBSOCKET ws://x/\n\na",
        "1: messages are sent in their order",
    ),
    (
        "# @expect body=x\nWEBSOCKET ws://x/\n\na",
        "1: write what an answer must be right above the message that it answers",
    ),
    (
        "GET ws://x/",
        "1: a WebSocket's messages stand below `WEBSOCKET ws://HOST[:PORT]/PATH`, in a .http file",
    ),
    ("POST http://x/\n\na\nWEBSOCKET ws://x/", ""),
];

#[test]
fn what_cannot_be_sent_in_turn_says_where_it_stands() {
    let below = MISTAKES.iter();
    let below = below.map(|(text, what)| (format!("{HEAD}{text}"), *what));
    let whole = MISTAKES_OF_FILES.iter();
    let whole = whole.map(|(text, what)| ((*text).to_owned(), *what));
    for (text, what) in below.chain(whole) {
        match read(&text) {
            Err(wrong) => {
                let wrong = wrong.to_string();
                let expected = format!("a.x:{what}");
                assert!(
                    !what.is_empty() && wrong.starts_with(&expected),
                    "{text:?}: {wrong}"
                );
            }
            // As in a body of HTTP, with a note.
            Ok(targets) => {
                assert_eq!((what, targets.notes.len()), ("", 1), "{text:?}");
                assert!(
                    targets.notes[0].contains("looks like a request"),
                    "{text:?}"
                );
            }
        }
    }
}

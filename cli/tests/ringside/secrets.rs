//! Secrets that are sent, and are nowhere in what is written or printed: each has a word in it that
//! is looked for in everything.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use serde_json::Value;

use super::child::{Ended, Folder, Server, assert_says, ringside};

/// A part of each secret, and of its base64 wherever it begins.
const CANARY: [&str; 4] = ["canary", "Y2FuYXJ5", "NhbmFye", "jYW5hcn"];

/// Headers of each kind that hides its value, and one that is named.
const HEADERS: [&str; 10] = [
    "-H",
    "Authorization: Bearer canary-authorization",
    "-H",
    "Cookie: theme=dark; session=canary-cookie",
    "-H",
    "X-Api-Key: canary-key",
    "-H",
    "X-Mine: canary-mine",
    "--redact",
    "x-mine",
];

#[track_caller]
fn assert_hidden(what: &str, text: &str) {
    for part in CANARY {
        assert!(!text.contains(part), "{part} is in {what}:\n{text}");
    }
}

#[track_caller]
fn assert_silent(ended: &Ended) {
    assert_hidden("standard output", &ended.stdout);
    assert_hidden("standard error", &ended.stderr);
}

/// Looks into every file of a folder; how many there are.
fn look_through(folder: &Path) -> usize {
    let mut files = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files += look_through(&path);
        } else {
            let bytes = fs::read(&path).unwrap();
            assert_hidden(
                &path.display().to_string(),
                &String::from_utf8_lossy(&bytes),
            );
            files += 1;
        }
    }
    files
}

#[test]
fn no_format_of_a_run_holds_a_secret_over_any_protocol() {
    let server = Server::start(&[]);
    let authority = server.authority();
    let table: [(String, &[&str]); 4] = [
        (
            server.at("/echo?token=canary-query"),
            &["-b", "canary-body"],
        ),
        (
            server.at("/echo?token=canary-query"),
            &["-b", "canary-body", "--http2"],
        ),
        (
            format!("ws://{authority}/ws?token=canary-query"),
            &["--message", "canary-body"],
        ),
        (
            format!("grpc://{authority}/ringside.Echo/Echo"),
            &["--metadata", "api_key: canary-metadata"],
        ),
    ];
    for (url, more) in table {
        for format in ["text", "json", "csv"] {
            let mut words = vec!["run", "-n", "20", "-c", "1", "--format", format];
            words.extend(HEADERS);
            words.extend(more);
            words.push(&url);
            let ended = ringside(&words);
            assert_eq!(ended.code, Some(0), "{url}: {}", ended.stderr);
            assert_silent(&ended);
            if format == "json" {
                let record: Value = serde_json::from_str(&ended.stdout).unwrap();
                let headers = record["plan"]["request"]["headers"].to_string();
                assert_eq!(
                    headers.matches("redacted:").count(),
                    4 + usize::from(url.starts_with("grpc")),
                    "{headers}"
                );
            }
        }
    }
}

#[test]
fn equal_secrets_have_equal_hashes_from_run_to_run_and_bodies_can_be_recorded() {
    let server = Server::start(&[]);
    let url = server.at("/echo");
    let run = |key: &str, more: &[&str]| {
        let header = format!("X-Api-Key: {key}");
        let mut words = vec![
            "run", "-n", "1", "-c", "1", "--format", "json", "-H", &header,
        ];
        words.extend(["-b", "a body"]);
        words.extend(more);
        words.push(&url);
        let record: Value = serde_json::from_str(&ringside(&words).stdout).unwrap();
        let request = &record["plan"]["request"];
        let texts = [&request["headers"][0][1], &request["body"]];
        texts.map(|text| text.as_str().unwrap().to_owned())
    };
    let [one, body] = run("canary-one", &[]);
    assert!(one.starts_with("redacted:") && one.len() == 17, "{one}");
    assert!(
        body.starts_with("redacted:") && body.ends_with(", 6 bytes"),
        "{body}"
    );
    let [again, plain] = run("canary-one", &["--record-body"]);
    assert_eq!((again, &*plain), (one.clone(), "YSBib2R5"));
    assert_ne!(run("canary-two", &[])[0], one);
}

#[test]
fn what_is_held_and_what_goes_wrong_holds_no_secret() {
    let server = Server::start(&[]);
    let url = server.at("/?token=canary-query");
    for format in ["text", "json", "csv"] {
        let mut words = vec!["hold", "-c", "2", "-d", "300ms", "--heartbeat", "100ms"];
        words.extend(["--format", format]);
        words.extend(HEADERS);
        words.push(&url);
        let ended = ringside(&words);
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
        assert_silent(&ended);
    }
    let bad_value = "Authorization: Bearer canary\u{1}";
    let table: [&[&str]; 9] = [
        &["run", "http://me:canary-password@127.0.0.1:1/"],
        &["run", "http://127.0.0.1:1/?token=canary-query"],
        &[
            "run",
            "http://a/",
            "http://me:canary-password@b/?sig=canary",
        ],
        &[
            "run",
            "-H",
            "Authorization Bearer canary",
            "http://127.0.0.1:1/",
        ],
        &["run", "-H", bad_value, "http://127.0.0.1:1/"],
        &["hold", "-H", "Cookie canary", "http://127.0.0.1:1/"],
        &["hold", "wss://me:canary@127.0.0.1:1/"],
        &[
            "capacity",
            "--slo",
            "p99<1s",
            "http://127.0.0.1:1/?token=canary",
        ],
        &[
            "run",
            "--metadata",
            "authorization canary",
            "grpc://127.0.0.1:1/a.B/C",
        ],
    ];
    for words in table {
        let ended = ringside(words);
        assert!(matches!(ended.code, Some(1 | 2)), "{words:?}: {ended:?}");
        assert!(!ended.stderr.is_empty(), "{words:?}");
        assert_silent(&ended);
    }
}

#[test]
fn a_password_is_shown_nowhere() {
    let (server, folder) = (Server::start(&[]), Folder::new());
    let (http, out) = (server.at("/"), folder.path("out"));
    let websocket = format!("ws://{}/ws", server.authority());
    let user = ["--user", "me:canary-password"];
    let table: [(&[&str], &str); 5] = [
        (&["run", "-n5", "-c1", "--format", "json"], &http),
        (&["run", "-n5", "-c1"], &websocket),
        (
            &[
                "hold",
                "-c2",
                "-d300ms",
                "--heartbeat",
                "100ms",
                "--format",
                "json",
            ],
            &http,
        ),
        (&["run", "-n5", "-c1", "--http2", "--template"], &http),
        (
            &[
                "capacity",
                "--slo",
                "errors<5%",
                "-o",
                &out,
                "-c2",
                "-d100ms",
                "--from",
                "100",
                "--to",
                "200",
                "--repeats",
                "1",
                "--confirmations",
                "1",
                "--precision",
                "50%",
            ],
            &http,
        ),
    ];
    for (words, url) in table {
        let ended = ringside(&[words, &user, &[url]].concat());
        assert_eq!(ended.code, Some(0), "{words:?}: {}", ended.stderr);
        assert_silent(&ended);
        if words.contains(&"json") {
            assert_says(&ended.stdout, "redacted:");
        }
    }
    assert!(look_through(Path::new(&out)) > 5);
    // What is refused isn't quoted either.
    for who in ["canary", "me:canary\u{1}", "me:canary{{x}}"] {
        let ended = ringside(&["run", "--template", "--user", who, &http]);
        assert_eq!(ended.code, Some(2), "{who:?}: {}", ended.stdout);
        assert_says(&ended.stderr, "--user: ");
        assert_silent(&ended);
    }
}

#[test]
fn a_search_for_a_capacity_leaves_no_secret_in_its_folder() {
    let (server, folder) = (Server::start(&[]), Folder::new());
    let out = folder.path("out");
    let url = server.at("/limited/300?token=canary-query");
    let mut words = vec!["capacity", &url, "-o", &out, "-c", "4", "-d", "100ms"];
    words.extend([
        "--precision",
        "50%",
        "--from",
        "100",
        "--to",
        "200",
        "--repeats",
        "1",
    ]);
    words.extend(["--confirmations", "1", "--slo", "errors<5%"]);
    words.extend(HEADERS);
    let ended = ringside(&words);
    assert_eq!(ended.code, Some(0), "{}\n{}", ended.stdout, ended.stderr);
    assert_silent(&ended);
    assert!(look_through(Path::new(&out)) > 5);
    let round = fs::read_to_string(format!("{out}/rounds/target/001.json")).unwrap();
    assert_says(&round, "redacted:");
}

/// A comparison of our server that sends secrets, in `folder`; `key` is one of them.
fn comparison(folder: &Folder, key: &str) -> String {
    let subject = "description = \"ours\"\nkind = \"server\"\n[start]\n\
         command = [\"{ringside}\", \"serve\", \"--addr\", \"127.0.0.1:{port}\"]\n\
         [ready]\npath = \"/health\"\n[[answer]]\npath = \"/echo?token=canary-query\"\n\
         message = \"canary-body\"\nstatus = 200\nbody = \"canary-body\"\n\
         headers = { Authorization = \"Bearer canary-declared\" }\n";
    fs::create_dir_all(folder.path("subjects/ours")).unwrap();
    fs::write(folder.path("subjects/ours/subject.toml"), subject).unwrap();
    let text = format!(
        "# canary-cookie was another\nname = \"test\"\nquestion = \"?\"\nsubjects = [\"ours\"]\n\
         redact = [\"X-Mine\"]\nrounds = 2\naa = false\nceiling = false\n[workload]\n\
         path = \"/echo?token=canary-query\"\nmessage = \"canary-body\"\n\
         headers = {{ Authorization = \"Bearer {key}\", X-Mine = 'canary-mine', \
         Cookie = \"canary-cookie\" }}\n\
         connections = 2\nwindow = \"100ms\"\nsettle = \"20ms\"\nwarm_up = \"20ms\"\n"
    );
    let file = folder.path("test.toml");
    fs::write(&file, text).unwrap();
    file
}

#[test]
fn a_comparison_leaves_no_secret_and_goes_on_only_with_the_same_ones() {
    let folder = Folder::new();
    let (file, out) = (comparison(&folder, "canary-one"), folder.path("out"));
    let ended = ringside(&["compare", &file, "-o", &out]);
    assert_eq!(ended.code, Some(0), "{}\n{}", ended.stdout, ended.stderr);
    assert_silent(&ended);
    assert!(look_through(Path::new(&out)) > 8);
    let key = fs::metadata(format!("{out}/.redaction-key")).unwrap();
    assert_eq!(key.permissions().mode() & 0o777, 0o600);
    let kept = fs::read_to_string(format!("{out}/comparison.toml")).unwrap();
    assert_eq!(kept.matches("redacted:").count(), 6, "{kept}");
    let round = fs::read_to_string(format!("{out}/rounds/ours/001.json")).unwrap();
    let hash = |text: &str| {
        let after = text.split("Authorization").nth(1).unwrap();
        after[after.find("redacted:").unwrap()..][..17].to_owned()
    };
    assert_eq!(hash(&kept), hash(&round));

    // One round is gone, as if the comparison had been interrupted.
    let missing = format!("{out}/rounds/ours/002.json");
    fs::remove_file(&missing).unwrap();
    comparison(&folder, "canary-two");
    let refused = ringside(&["compare", &file, "--resume", &out]);
    assert_eq!(refused.code, Some(2), "{}", refused.stderr);
    assert_says(&refused.stderr, "a different file");
    assert_silent(&refused);
    comparison(&folder, "canary-one");
    let resumed = ringside(&["compare", &file, "--resume", &out]);
    assert_eq!(resumed.code, Some(0), "{}", resumed.stderr);
    assert_silent(&resumed);
    assert_eq!(hash(&fs::read_to_string(&missing).unwrap()), hash(&round));
    let report = ringside(&["report", &out]);
    assert_silent(&report);
    look_through(Path::new(&out));

    // Nobody can tell without the key.
    fs::remove_file(&missing).unwrap();
    fs::remove_file(format!("{out}/.redaction-key")).unwrap();
    let refused = ringside(&["compare", &file, "--resume", &out]);
    assert_eq!(refused.code, Some(2), "{}", refused.stderr);
    assert_says(&refused.stderr, ".redaction-key is missing");
}

#[test]
fn a_file_that_cannot_be_read_is_not_quoted_with_its_secrets() {
    let folder = Folder::new();
    let file = folder.path("broken.toml");
    for line in [
        "headers = { Authorization = \"Bearer canary\" ",
        "headers = \"Cookie: canary\"",
        "path = \"/?token=canary\" oops",
    ] {
        fs::write(&file, format!("name = \"x\"\n[workload]\n{line}\n")).unwrap();
        let ended = ringside(&["compare", &file]);
        assert_eq!(ended.code, Some(2), "{}", ended.stderr);
        assert_says(&ended.stderr, "broken.toml:");
        assert_silent(&ended);
    }
}

//! Requests that differ: files of targets, templates and data files, against a server that writes
//! down what it was asked, and against our own.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use serde_json::Value;

use super::child::{Folder, Server, assert_says, command, ringside, start, step};

/// A request as a server reads it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Asked {
    pub(crate) line: String,
    pub(crate) fields: BTreeMap<String, String>,
    pub(crate) body: String,
}

/// A server that writes down what it is asked, and answers with 200.
pub(crate) struct Diary {
    pub(crate) url: String,
    asked: Arc<Mutex<Vec<Asked>>>,
}

impl Diary {
    pub(crate) fn open() -> Diary {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let asked = Arc::new(Mutex::new(Vec::new()));
        let pages = Arc::clone(&asked);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let pages = Arc::clone(&pages);
                thread::spawn(move || serve(stream, &pages));
            }
        });
        Diary { url, asked }
    }

    /// What it was asked, in the order in which it was; it forgets that.
    pub(crate) fn in_order(&self) -> Vec<Asked> {
        std::mem::take(&mut *self.asked.lock().unwrap())
    }

    /// The same, sorted.
    fn asked(&self) -> Vec<Asked> {
        let mut asked = self.in_order();
        asked.sort();
        asked
    }

    /// The request lines of that, without the version.
    fn lines(&self) -> Vec<String> {
        let asked = self.asked().into_iter();
        asked.map(|one| one.line.replace(" HTTP/1.1", "")).collect()
    }
}

fn serve(stream: TcpStream, pages: &Mutex<Vec<Asked>>) -> Option<()> {
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    let mut writer = stream;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        let mut fields = BTreeMap::new();
        loop {
            let mut field = String::new();
            reader.read_line(&mut field).ok()?;
            let Some((name, value)) = field.split_once(':') else {
                break;
            };
            fields.insert(name.to_ascii_lowercase(), value.trim().to_owned());
        }
        let length = fields
            .get("content-length")
            .map_or(Ok(0), |length| length.parse());
        let mut body = vec![0; length.ok()?];
        reader.read_exact(&mut body).ok()?;
        let closes = fields
            .get("connection")
            .is_some_and(|value| value == "close");
        pages.lock().unwrap().push(Asked {
            line: line.trim_end().to_owned(),
            fields,
            body: String::from_utf8_lossy(&body).into_owned(),
        });
        writer
            .write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            .ok()?;
        if closes {
            return None;
        }
    }
}

#[test]
fn a_http_file_is_sent_as_it_is_written() {
    let diary = Diary::open();
    let folder = Folder::new();
    fs::write(folder.path("body.json"), "{\"a\": \"{{not}}\"}").unwrap();
    let text = format!(
        "@base = {}\n### list\nGET {{{{base}}}}/items?a=b\nAccept: text/plain\n\n\
         ### create\nPOST {{{{base}}}}/items\nContent-Type: application/json\n\n< ./body.json\n\n\
         ### gone\nDELETE {{{{base}}}}/items/7\n",
        diary.url
    );
    let file = folder.write("mix.http", &text);
    let ended = ringside(&["run", "--targets", &file, "-n30", "-c3", "--format", "json"]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let asked = diary.asked();
    assert_eq!(asked.len(), 30);
    for (method, body) in [
        ("DELETE", ""),
        ("GET", ""),
        ("POST", "{\"a\": \"{{not}}\"}"),
    ] {
        let mut alike = asked.iter().filter(|one| one.line.starts_with(method));
        let first = alike.next().expect(method);
        assert_eq!(first.body, body);
        assert_eq!(alike.filter(|one| *one == first).count(), 9, "{first:?}");
    }
    let get = asked
        .iter()
        .find(|one| one.line == "GET /items?a=b HTTP/1.1");
    assert_eq!(get.expect("a GET").fields["accept"], "text/plain");
    let record = ended.record();
    for name in ["list", "create", "gone"] {
        assert_eq!(step(&record, name)["completed"], 10, "{name}");
    }
    assert_eq!(record["plan"]["workload"]["pick"], "in-turn");
}

#[test]
fn rows_of_data_are_dealt_once_to_all_workers_together() {
    let diary = Diary::open();
    let folder = Folder::new();
    let rows: String = (0..500).map(|n| format!("{n},\"n {n}\"\n")).collect();
    let data = folder.write("rows.csv", &format!("id,name\n{rows}"));
    let url = format!("{}/{{{{id}}}}?name={{{{name}}}}", diary.url);
    let words = [
        "--data",
        &data,
        "--data-order",
        "once",
        "-c4",
        "-t2",
        "--format",
        "json",
    ];
    let mut expected: Vec<String> = (0..500).map(|n| format!("GET /{n}?name=n%20{n}")).collect();
    expected.sort();
    let ways: [&[&str]; 4] = [
        &[],
        &["--no-keepalive"],
        &["-R", "2k"],
        &["--pipeline", "16"],
    ];
    for more in ways {
        let mut all = vec!["run"];
        all.extend(words);
        all.extend(more);
        all.push(&url);
        let ended = ringside(&all);
        assert!(matches!(ended.code, Some(0 | 4)), "{}", ended.stderr);
        let record = ended.record();
        assert_eq!(record["ended_by"], "rows", "{more:?}");
        assert_eq!(record["exchanges"]["completed"], 500, "{more:?}");
        assert_eq!(diary.lines(), expected, "{more:?}");
    }
}

#[test]
fn templates_are_filled_in_anew_and_the_same_with_one_seed() {
    let diary = Diary::open();
    let url = format!("{}/{{{{seq}}}}/{{{{random 1 1000000}}}}", diary.url);
    let body = "{\"id\":\"{{newUuid}}\"}";
    let asked = |seed: &str| {
        let type_of_it = "Content-Type: application/json";
        let words = [
            "run",
            "--template",
            "-c1",
            "-n20",
            "--seed",
            seed,
            "-b",
            body,
        ];
        let mut words = words.to_vec();
        words.extend(["-H", type_of_it, &url]);
        let ended = ringside(&words);
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
        diary.asked()
    };
    let first = asked("7");
    assert_eq!(first.len(), 20);
    let mut bodies: Vec<&str> = first.iter().map(|one| &*one.body).collect();
    bodies.sort_unstable();
    bodies.dedup();
    assert_eq!(bodies.len(), 20, "each has an id of its own");
    assert!(
        bodies
            .iter()
            .all(|body| body.len() == "{\"id\":\"\"}".len() + 36)
    );
    assert_eq!(first, asked("7"));
    assert_ne!(first, asked("8"));
}

#[test]
fn each_request_has_its_figures_and_its_thresholds_over_either_protocol() {
    let server = Server::start(&[]);
    let folder = Folder::new();
    let text = format!(
        "@base = {}\n### page\n# @weight 8\nGET {{{{base}}}}/bytes/{{{{random 1 99}}}}\n\
         ### slow\n# @weight 1\nGET {{{{base}}}}/delay/30ms\n\
         ### gone\n# @weight 1\nHEAD {{{{base}}}}/nothing/{{{{seq}}}}\n",
        server.at("")
    );
    let file = folder.write("mix.http", &text);
    for protocol in [&[][..], &["--http2", "-S4"]] {
        let mut words = vec!["run", "--targets", &file, "-n400", "-c4"];
        words.extend([
            "--threshold",
            "errors{gone}<1%",
            "--threshold",
            "errors{page}<=0%",
        ]);
        words.extend(["--threshold", "errors{slow}<=0%"]);
        words.extend(protocol);
        let ended = ringside(&words);
        assert_eq!(ended.code, Some(99), "{}", ended.stderr);
        for said in [
            "errors{gone}<1% crossed",
            "errors{page}<=0% holds",
            "errors{slow}<=0% holds",
        ] {
            assert!(ended.stderr.contains(said), "{}", ended.stderr);
        }
        for name in ["  page ", "  slow ", "  gone "] {
            assert!(ended.stdout.contains(name), "{}", ended.stdout);
        }
        words.extend(["--format", "json"]);
        let record = ringside(&words).record();
        let [page, slow, gone] = ["page", "slow", "gone"].map(|name| step(&record, name));
        assert_eq!(
            (&page["failed"], &gone["completed"]),
            (&0.into(), &0.into())
        );
        assert_eq!(gone["status"]["404"], gone["failed"]);
        assert!(slow["response_time_us"]["min"].as_f64().unwrap() > 29_000.0);
        let ended =
            |step: &Value| step["completed"].as_u64().unwrap() + step["failed"].as_u64().unwrap();
        assert_eq!(ended(page) + ended(slow) + ended(gone), 400);
    }
}

#[test]
fn vegetas_targets_are_sent_in_both_of_its_formats() {
    let diary = Diary::open();
    let folder = Folder::new();
    let body = folder.write("body", "hello");
    let url = &diary.url;
    let text = format!("GET {url}/a\nX-A: b\n\nPOST {url}/c\n@{body}\n");
    let plain = folder.write("plain.txt", &text);
    let lines = format!(
        "{{\"method\":\"GET\",\"url\":\"{url}/a\",\"header\":{{\"X-A\":[\"b\"]}}}}\n\
         {{\"method\":\"POST\",\"url\":\"{url}/c\",\"body\":\"aGVsbG8=\"}}\n"
    );
    let lines = folder.write("lines.unknown", &lines);
    let sent = |words: &[&str]| {
        let mut all = vec!["run", "-c1", "-n4"];
        all.extend(words);
        let ended = ringside(&all);
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
        diary.asked()
    };
    let first = sent(&["--targets", &plain]);
    assert_eq!(first.len(), 4);
    assert_eq!((&*first[0].fields["x-a"], &*first[3].body), ("b", "hello"));
    assert_eq!(
        first,
        sent(&["--targets", &lines, "--targets-format", "vegeta-json"])
    );
}

#[test]
fn mistakes_end_with_code_2_and_say_where() {
    let server = Server::start(&[]);
    let folder = Folder::new();
    let url = server.at("");
    let unknown = folder.write("a.http", &format!("GET {url}/{{{{nme}}}}\n"));
    let elsewhere = folder.write(
        "b.http",
        &format!("GET {url}/\n###\nGET https://127.0.0.2/\n"),
    );
    let script = folder.write("c.http", &format!("GET {url}/\n\n> {{% x %}}\n"));
    let nameless = folder.write("targets", "GET http://x/\n");
    let data = folder.write("d.csv", "name\nx\n");
    let ragged = folder.write("e.csv", "name,id\nx\n");
    let fine = folder.write(
        "f.http",
        &format!("### a\nGET {url}/\n###\nGET {url}/json\n"),
    );
    let table: [(&[&str], &str); 8] = [
        (
            &["--targets", &unknown],
            "a.http:1: {{nme}} is neither a function nor",
        ),
        (
            &["--targets", &elsewhere],
            "b.http:3: https:// is another protocol than",
        ),
        (
            &["--targets", &script],
            "c.http:3: a script that handles the answer",
        ),
        (&["--targets", &nameless], "add --targets-format"),
        (&["--targets", &fine, "--data", &data], "no request uses it"),
        (&["--data", &ragged, "http://127.0.0.1:1/{{id}}"], "e.csv:2"),
        (
            &["--targets", &fine, "--threshold", "p99{b}<1s"],
            "the steps are a, GET /json",
        ),
        (
            &["--targets", &fine, "--threshold", "availability{a}>9%"],
            "no availability",
        ),
    ];
    for (words, part) in table {
        let mut all = vec!["run", "-n1"];
        all.extend(words);
        let ended = ringside(&all);
        assert_eq!(ended.code, Some(2), "{words:?}: {}", ended.stderr);
        assert!(ended.stderr.contains(part), "{words:?}: {}", ended.stderr);
    }
}

#[test]
fn a_control_makes_the_same_requests_of_our_own_server() {
    let diary = Diary::open();
    let folder = Folder::new();
    let url = &diary.url;
    let text = format!(
        "### list\nGET {url}/items?page={{{{random 1 9}}}}\nX-Owner: {{{{owner}}}}\n\n\
         ### create\n# @expect status=200\nPOST {url}/items/{{{{id}}}}\n\
         Authorization: Bearer abc\n\n{{\"id\": {{{{id}}}}}}\n"
    );
    let file = folder.write("mix.http", &text);
    let rows: String = (0..40).map(|n| format!("{n},o {n}\n")).collect();
    let data = folder.write("rows.csv", &format!("id,owner\n{rows}"));
    for more in [&["-n40"][..], &["--data-order", "once"], &["-n40", "-R200"]] {
        let mut words = vec!["run", "--control", "--targets", &file, "--data", &data];
        words.extend(["-c2", "--format", "json"]);
        words.extend(more);
        let ended = ringside(&words);
        assert!(matches!(ended.code, Some(0 | 4)), "{}", ended.stderr);
        let record = ended.record();
        assert_eq!(record["exchanges"]["completed"], 40, "{record}");
        let control = &record["control"];
        assert_eq!(control["failed"], 0, "{record}");
        assert_eq!(control["response_time_us"]["count"], 40, "{record}");
        // None of the control's went to the other server.
        assert_eq!(diary.lines().len(), 40, "{more:?}");
    }
    let (id, n) = (format!("{url}/{{{{id}}}}"), "-n40");
    let words = [
        "run",
        "--control",
        "--data",
        &data,
        "-b",
        "{{owner}}",
        n,
        "-c2",
        &id,
    ];
    let ended = ringside(&words);
    assert!(matches!(ended.code, Some(0 | 4)), "{}", ended.stderr);
    let said = "Control: the same load against our own server";
    assert!(ended.stdout.contains(said), "{}", ended.stdout);
    assert!(
        !ended.stdout.contains("can't serve as a control"),
        "{}",
        ended.stdout
    );
}

#[test]
fn the_csv_of_a_mix_has_a_line_for_each_request_behind_the_seconds() {
    let diary = Diary::open();
    let folder = Folder::new();
    let url = &diary.url;
    let text = format!("### a, b\nGET {url}/a\n### =c\nPOST {url}/c\n\nbody\n");
    let file = folder.write("mix.http", &text);
    let words = ["run", "-n600", "-c2", "--format", "csv"];
    let ended = ringside(&[&words[..], &["--targets", &file]].concat());
    assert!(matches!(ended.code, Some(0 | 4)), "{}", ended.stderr);
    let mut lines = ended.stdout.lines();
    let heads = lines.next().unwrap_or_default();
    assert!(heads.contains(",phase,step,requests,"), "{heads}");
    let of_steps: Vec<&str> = lines.filter(|line| line.contains(",step,")).collect();
    let [first, second] = of_steps[..] else {
        panic!("{}", ended.stdout);
    };
    assert!(first.contains(",step,\"a, b\",300,0,"), "{first}");
    assert!(second.contains(",step,'=c,300,0,"), "{second}");
    let fields: Vec<&str> = second.split(',').collect();
    assert_eq!(fields.len(), heads.split(',').count(), "{second}");
    let of = |name: &str| fields[heads.split(',').position(|one| one == name).expect(name)];
    assert_eq!((of("completed"), of("failed")), ("300", "0"));
    for time in [
        "response_p50_us",
        "response_max_us",
        "service_p50_us",
        "service_p99_us",
    ] {
        assert!(of(time).parse::<f64>().is_ok_and(|us| us > 0.0), "{second}");
    }
    assert_eq!(of("service_p99_9_us"), "", "300 exchanges are too few");
    assert_eq!((of("status"), of("grpc_status")), ("200:300", ""));
    // One request has the figures of the run.
    let ended = ringside(&[&words[..], &["--template", &format!("{url}/{{{{seq}}}}")]].concat());
    assert!(!ended.stdout.contains("step"), "{}", ended.stdout);
}

#[test]
fn targets_may_be_piped_in() {
    let (diary, folder) = (Diary::open(), Folder::new());
    folder.write("body.txt", "from the file");
    let piped = |text: &str, more: &[&str]| {
        let file = folder.write("piped", text);
        let words = ["run", "--targets", "-", "-n2", "-c1"];
        let mut program = command(&[&words[..], more].concat());
        program.current_dir(folder.path(""));
        program.stdin(fs::File::open(file).unwrap());
        start(&mut program).end()
    };
    let url = &diary.url;
    let (http, vegeta) = (["--targets-format", "http"], ["--targets-format", "vegeta"]);
    let text = format!("GET {url}/a\n###\nPOST {url}/b\n\n< body.txt\n");
    let ended = piped(&text, &http);
    assert!(matches!(ended.code, Some(0 | 4)), "{}", ended.stderr);
    assert_says(&ended.stdout, "The 2 requests of stdin, in turn:");
    let asked = diary.asked();
    assert_eq!(asked[0].line, "GET /a HTTP/1.1");
    assert_eq!((asked.len(), &*asked[1].body), (2, "from the file"));
    let text = format!("GET {url}/c\nPOST {url}/d\n@body.txt\n");
    let ended = piped(&text, &[&vegeta[..], &["--format", "json"]].concat());
    let record: Value = serde_json::from_str(&ended.stdout).unwrap();
    let workload = &record["plan"]["workload"];
    assert_eq!(
        (&workload["file"], &workload["steps"][1]["at"]),
        (&"-".into(), &"stdin:2".into())
    );
    for (text, more, expected) in [
        (
            "GET http://x/",
            &[][..],
            "--targets -: standard input has no name that says which format it has; add \
             --targets-format http, vegeta or vegeta-json",
        ),
        ("", &http, "stdin:1: the file has no request"),
        (
            "GET http://x/\nno header",
            &vegeta,
            "stdin:2: this header has no colon",
        ),
        (
            "POST http://x/\n\n< none.txt",
            &http,
            "stdin:3: can't read the body none.txt: No such file or directory (os error 2); paths \
             are relative to the working directory",
        ),
    ] {
        let ended = piped(text, more);
        assert_eq!((ended.code, &*ended.stdout), (Some(2), ""), "{text}");
        assert_says(&ended.stderr, expected);
    }
}

#[test]
fn fewer_rows_than_threads_are_sent_once_each() {
    let diary = Diary::open();
    let folder = Folder::new();
    let data = folder.write("rows.csv", "id\n1\n");
    let url = format!("{}/{{{{id}}}}", diary.url);
    for more in [&["-t2", "-c2"][..], &["-t2", "-c2", "-R", "100"]] {
        let mut words = vec!["run", "--data", &data, "--data-order", "once"];
        words.extend(more);
        words.extend(["--timeout", "300ms", &url]);
        let ended = ringside(&words);
        assert!(matches!(ended.code, Some(0 | 4)), "{}", ended.stderr);
        assert_eq!(diary.lines(), ["GET /1"], "{more:?}");
    }
}

#[test]
fn over_tls_and_http2_rows_are_sent_once_each_too() {
    let server = Server::start(&["--tls"]);
    let folder = Folder::new();
    let rows: String = (1..=40).map(|n| format!("{n}\n")).collect();
    let data = folder.write("rows.csv", &format!("size\n{rows}"));
    let url = server.at("/bytes/{{size}}").replace("http://", "https://");
    let words = [
        "run", "-k", "--http2", "-S", "16", "-c2", "--data", &data, "--format", "json",
    ];
    let mut words = words.to_vec();
    words.extend(["--data-order", "once", &url]);
    let ended = ringside(&words);
    assert!(matches!(ended.code, Some(0 | 4)), "{}", ended.stderr);
    let record = ended.record();
    assert_eq!(record["exchanges"]["completed"], 40, "{record}");
    assert_eq!(record["exchanges"]["failed"], 0, "{record}");
}

#[test]
fn a_row_that_cannot_be_read_ends_the_run_and_keeps_what_was_measured() {
    let diary = Diary::open();
    let folder = Folder::new();
    let url = format!("{}/{{{{id}}}}", diary.url);
    let data = folder.write("rows.csv", "id,n\n1,1\n2,2\n3\n4,4\n");
    // At the beginning of a file it's found before anything is sent.
    let ended = ringside(&["run", "--data", &data, "-n9", &url]);
    assert_eq!(ended.code, Some(2), "{}", ended.stderr);
    assert_says(&ended.stderr, "rows.csv:4");
    assert_says(&ended.stderr, "1 value, but the header has 2");
    assert!(diary.asked().is_empty());
    let much = "1".repeat(70_000);
    let data = folder.write("rows.csv", &format!("id,n\n1,{much}\n2,2\n3\n4,4\n"));
    let ended = ringside(&[
        "run", "--data", &data, "-c1", "-n9", "--format", "json", &url,
    ]);
    assert_eq!(ended.code, Some(4), "{}", ended.stderr);
    let record = ended.record();
    let warnings = record["warnings"].to_string();
    assert!(warnings.contains("rows.csv:4"), "{warnings}");
    assert_eq!(diary.lines(), ["GET /1", "GET /2"]);
    // It ends for all threads, though the others never come to that row.
    let words = [
        "run", "--data", &data, "-t2", "-c2", "-d", "30s", "--format", "json", &url,
    ];
    let record = ringside(&words).record();
    assert_eq!(record["ended_by"], "rows");
    assert!(record["duration_s"].as_f64().unwrap() < 20.0, "{record}");
}

#[test]
fn secrets_of_a_file_are_in_no_record() {
    let diary = Diary::open();
    let folder = Folder::new();
    let text = format!(
        "@key = canary-v\nGET {}/a?token=canary-q\nAuthorization: Bearer {{{{key}}}}\n\n\
         ###\nPOST {}/b/{{{{seq}}}}\nCookie: canary-c\n\ncanary-b\n",
        diary.url, diary.url
    );
    let file = folder.write("mix.http", &text);
    let ended = ringside(&["run", "--targets", &file, "-n4", "-c1", "--format", "json"]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert!(!ended.stdout.contains("canary"), "{}", ended.stdout);
    assert!(diary.asked().iter().any(|one| one.body == "canary-b"));
}

#[test]
fn a_user_is_named_in_every_request_that_names_none() {
    let diary = Diary::open();
    let folder = Folder::new();
    let text = format!(
        "GET {0}/plain\n###\nGET {0}/own\nauthorization: Bearer x\n",
        diary.url
    );
    let file = folder.write("mix.http", &text);
    // "me:a:b", which has a colon in its password.
    let (user, basic) = (["-u", "me:a:b"], "Basic bWU6YTpi");
    let said = |words: &[&str]| {
        let ended = ringside(&[&["run", "-n2", "-c1"], &user[..], words].concat());
        assert_eq!(ended.code, Some(0), "{words:?}: {}", ended.stderr);
        let field = |one: &Asked| one.fields["authorization"].clone();
        let mut said: Vec<String> = diary.asked().iter().map(field).collect();
        // The first one is that of the contact before the run.
        said.dedup();
        said
    };
    assert_eq!(said(&["--targets", &file]), ["Bearer x", basic]);
    assert_eq!(said(&[&diary.url]), [basic]);
    assert_eq!(said(&["-H", "AUTHORIZATION: mine", &diary.url]), ["mine"]);
}

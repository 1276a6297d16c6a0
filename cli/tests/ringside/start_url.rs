//! `ringside compare --url`: servers that run already are compared without a file, and go on
//! running.

use std::fs;
use std::io::ErrorKind;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use rustix::process::geteuid;
use serde_json::{Value, json};

use super::child::{Ended, Folder, Running, Server, assert_says, command, start, until};
use super::peers::answers;
use super::ports::free_port;
use super::skip::{not_permitted, skip};
use super::start::{SERVES, compare, program};

/// As short as it can be.
const SHORT: [&str; 8] = [
    "-c",
    "2",
    "--rounds",
    "2",
    "--duration",
    "50ms",
    "-o",
    "out",
];

/// Whoever owns nothing.
const NOBODY: u32 = 65534;

/// What our server answers to `/`, from a process that shares its port with whoever wants that.
/// Takes the port, and the file that is written as soon as it listens.
const SHARES: &str = r#"
import http.server, os, socket, sys
class Answers(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_GET(self):
        self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 13\r\n\r\nHello, World!")
    def log_message(*words): pass
class Shares(http.server.ThreadingHTTPServer):
    def server_bind(self):
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        super().server_bind()
server = Shares(("127.0.0.1", int(sys.argv[1])), Answers)
with open(sys.argv[2] + "-", "w") as file: file.write(str(server.server_port))
os.rename(sys.argv[2] + "-", sys.argv[2])
server.serve_forever()
"#;

fn serve() -> Server {
    Server::start(&["--engine", "epoll"])
}

/// The row that a server at `url` gets when nothing else has its port.
fn row(url: &str) -> String {
    let port = url.trim_end_matches('/').rsplit(':').next();
    format!("port-{}", port.expect("a URL with a port"))
}

fn read(folder: &Folder, file: &str) -> Value {
    let text = fs::read_to_string(folder.path(file)).unwrap();
    serde_json::from_str(&text).unwrap()
}

fn is_there(folder: &Folder, file: &str) -> bool {
    fs::exists(folder.path(file)).unwrap()
}

#[test]
fn two_urls_are_compared_in_the_hosts_network_with_the_processes_that_listen_there() {
    let folder = Folder::new();
    let (one, two) = (serve(), serve());
    let (a, b) = (one.at("/"), two.at("/"));
    let ended = compare(&folder, &[&["--url", &a, "--url", &b][..], &SHORT].concat());
    assert_eq!(ended.code, Some(0), "{}\n{}", ended.stdout, ended.stderr);
    let (first, second) = (row(&a), row(&b));
    let said: Vec<&str> = ended.stdout.split_whitespace().collect();
    for part in [
        format!("How do {first} and {second} compare?"),
        "servers already running, generator on core ".to_owned(),
        ", in the host's network".to_owned(),
        format!("{first}-again is the baseline measured a second time"),
        "Servers that were running already aren't started anew".to_owned(),
    ] {
        assert_says(&said.join(" "), &part);
    }
    let kept = read(&folder, "out/comparison.json");
    assert_eq!(
        kept["setup"]["judged_by"],
        json!(["requests_per_second", "server_cpu_per_exchange"])
    );
    assert_eq!(kept["rows"][0]["name"], json!(first));
    assert_eq!(kept["rows"][0]["ran_before"], "here");
    assert_eq!(kept["network"]["kind"], "host");
    let round = read(&folder, &format!("out/rounds/{second}/002.json"));
    assert!(round["sample"]["server_cpu_us_per_exchange"].as_f64() > Some(0.0));
    assert!(round["watched"]["subject"]["own_cores"].as_u64() > Some(0));
    // The same once more has nothing left to measure.
    let again = [&["--url", &a, "--url", &b][..], &SHORT[..6]].concat();
    let again = compare(&folder, &[&again[..], &["--resume", "out"]].concat());
    assert_eq!(again.code, Some(0), "{}\n{}", again.stdout, again.stderr);
    // They were there before, and stay: only now do they end.
    for server in [one, two] {
        let (code, said) = server.stop();
        assert_eq!(code, Some(0), "{said}");
    }
}

#[test]
fn each_address_of_a_name_is_a_row_of_its_own() {
    let mut mounting = Command::new("unshare");
    mounting.args(["-Urm", "mount", "--bind", "/etc/hosts", "/etc/hosts"]);
    if !answers(&mut mounting, "unshare(1) with the right to mount a file") {
        return;
    }
    let folder = Folder::new();
    let hosts = "127.0.0.2 two.test\n127.0.0.1 two.test\n127.0.0.1 one.test\n";
    folder.write("hosts", hosts);
    let server = Server::start(&["--addr", "0.0.0.0:0", "--threads", "1"]);
    let compared = |name: &str, server: &Server| {
        let url = format!("http://{name}:{}/", server.port());
        let script = "mount --bind hosts /etc/hosts && exec \"$ringside\" compare \"$@\"";
        let mut shell = Command::new("unshare");
        shell
            .args([
                "-Urm",
                "sh",
                "-c",
                script,
                "sh",
                "--url",
                &url,
                "--each-address",
            ])
            .args(SHORT)
            .current_dir(folder.path("."))
            .env("ringside", env!("CARGO_BIN_EXE_ringside"));
        start(&mut shell).end()
    };
    let one = compared("one.test", &server);
    assert_eq!(one.code, Some(2), "{}{}", one.stdout, one.stderr);
    assert_says(&one.stderr, "the name in --url has one address");
    let two = compared("two.test", &server);
    assert_eq!(two.code, Some(0), "{}{}", two.stdout, two.stderr);
    let kept = read(&folder, "out/comparison.json");
    let rows = kept["rows"].as_array().unwrap().iter();
    let rows: Vec<&Value> = rows.filter(|row| row["role"] == "subject").collect();
    assert_eq!(rows.len(), 2, "{kept}");
    for (row, address) in rows.iter().zip(["127.0.0.1", "127.0.0.2"]) {
        assert_eq!(row["name"], json!(address), "{row}");
        let described = row["description"].as_str().unwrap();
        assert_says(described, &format!(" at {address}"));
        let round = read(&folder, &format!("out/rounds/{address}/001.json"));
        let place = &round["record"]["plan"]["target"]["connect_to"]["host"];
        assert_eq!(place, address, "{round}");
    }
    // The first address refuses: that's said of its row, and the other one is the baseline.
    fs::rename(folder.path("out"), folder.path("both")).unwrap();
    let there = format!("127.0.0.2:{}", free_port());
    let server = Server::start(&["--addr", &there, "--threads", "1"]);
    let half = compared("two.test", &server);
    assert_eq!(half.code, Some(3), "{}{}", half.stdout, half.stderr);
    let kept = read(&folder, "out/comparison.json");
    assert_eq!(kept["setup"]["baseline"], "127.0.0.2", "{kept}");
    let rows = kept["rows"].as_array().unwrap().iter();
    let states: Vec<(&Value, &Value)> = rows
        .filter(|row| row["role"] == "subject")
        .map(|row| (&row["name"], &row["outcome"]["state"]))
        .collect();
    let wanted = [("127.0.0.1", "failed"), ("127.0.0.2", "measured")];
    let wanted = wanted.map(|(name, state)| (json!(name), json!(state)));
    let wanted: Vec<(&Value, &Value)> = wanted.iter().map(|(name, state)| (name, state)).collect();
    assert_eq!(states, wanted, "{kept}");
    assert_says(&half.stdout, "127.0.0.1");
    assert_says(&half.stdout, "refused");
}

#[test]
fn servers_without_a_file_are_sent_the_requests_of_one() {
    let folder = Folder::new();
    let (one, two) = (serve(), serve());
    let (a, b) = (one.at("/"), two.at("/bytes/5"));
    let mix = "### json\nGET http://localhost/json\n### echo\nPOST http://localhost/echo\n\nhi\n";
    folder.write("mix.http", mix);
    let words = ["--url", &a, "--url", &b, "--any-answer"];
    let words = [&words[..], &["--targets", "mix.http"], &SHORT].concat();
    let ended = compare(&folder, &words);
    assert_eq!(ended.code, Some(0), "{}\n{}", ended.stdout, ended.stderr);
    let text = fs::read_to_string(folder.path("out/comparison.toml")).unwrap_or_default();
    assert!(!text.contains("path ="), "{text}");
    for name in ["json", "echo"] {
        assert_says(&ended.stdout, name);
        let round = read(&folder, &format!("out/rounds/{}/002.json", row(&two.url)));
        let record = round.to_string();
        assert_says(&record, &format!("\"name\":\"{name}\""));
    }
    folder.write("mix.http", "GET http://localhost/a b\n");
    folder.write("mix", mix);
    for (file, expected) in [
        ("none.http", "--targets none.http: No such file"),
        (
            "mix",
            "--targets mix: its name doesn't say which format it has",
        ),
        ("mix.http", "mix.http:1: "),
    ] {
        let words = ["--url", &a, "--url", &a, "--targets", file];
        let ended = compare(&folder, &words);
        assert_eq!(ended.code, Some(2), "{}\n{}", ended.stdout, ended.stderr);
        assert_says(&ended.stderr, expected);
    }
}

#[test]
fn servers_without_a_file_are_compared_by_a_flow_of_users() {
    let folder = Folder::new();
    let (one, two) = (serve(), serve());
    let flow = "POST {{base}}/echo\n{\"id\": \"{{newUuid}}\", \"of\": \"{{who}}\"}\nHTTP 200\n\
                [Captures]\nid: jsonpath \"$.id\"\n\nPOST {{base}}/echo\n`{{id}}`\nHTTP 200\n\
                [Asserts]\nbody == {{id}}\n";
    folder.write("echo.hurl", flow);
    let urls = ["--url", &one.url, "--url", &two.url];
    // Whatever they answer besides: what has to be answered stands in the flow.
    let flow = ["--targets", "echo.hurl", "--variable", "who=bob"];
    let words = [&urls[..], &flow, &["--path", "/status/401"], &SHORT].concat();
    let ended = compare(&folder, &words);
    assert_eq!(ended.code, Some(0), "{}\n{}", ended.stdout, ended.stderr);
    assert_says(&ended.stdout, "(flow)");
    for url in [&one.url, &two.url] {
        let round = read(&folder, &format!("out/rounds/{}/002.json", row(url)));
        let steps = round["record"]["steps"].as_array().expect("steps").iter();
        let names: Vec<&Value> = steps.clone().map(|step| &step["name"]).collect();
        assert_eq!(names, ["POST /echo", "POST /echo (line 7)", "(flow)"]);
        for step in steps {
            assert!(step["completed"].as_u64() > Some(0), "{step}");
            assert_eq!(step["failed"], 0, "{step}");
        }
        let port = url.rsplit(':').next();
        let workload = &round["record"]["plan"]["workload"];
        assert_eq!(workload["users"]["variables"]["who"], "bob");
        let target = &workload["steps"][0]["target"];
        assert_eq!(target["port"].to_string().as_str(), port.unwrap());
    }
    // What a user can't get through isn't measured.
    folder.write("wrong.hurl", "GET {{base}}/json\nHTTP 201\n");
    let secret = ["--targets", "echo.hurl", "--variable", "password=canary"];
    let ended = compare(&folder, &[&urls[..], &secret].concat());
    assert_eq!(ended.code, Some(2), "{}", ended.stderr);
    assert_says(&ended.stderr, "set HURL_SECRET_password in the environment");
    assert!(!ended.stderr.contains("canary"), "{}", ended.stderr);
    let words = [&urls[..], &["--targets", "wrong.hurl"], &SHORT[..6]].concat();
    let ended = compare(&folder, &words);
    assert_ne!(ended.code, Some(0), "{}\n{}", ended.stdout, ended.stderr);
    assert_says(
        &ended.stderr,
        "wrong.hurl:2: expected the status 201, and got 200",
    );
}

#[test]
fn servers_without_a_file_are_compared_by_a_log_that_is_sent_again() {
    let folder = Folder::new();
    let (one, two) = (serve(), serve());
    let mut log = String::new();
    for line in 0..40 {
        let (second, path) = (line / 10, ["/json", "/bytes/5"][line % 2]);
        let time = format!("28/Nov/2026:10:00:{second:02} +0000");
        log += &format!("::1 - - [{time}] \"GET {path} HTTP/1.1\" 200 5\n");
    }
    folder.write("access.log", &log);
    let urls = ["--url", &one.url, "--url", &two.url];
    let words = ["--replay", "access.log", "--speed", "50"];
    let ended = compare(&folder, &[&urls[..], &words, &SHORT].concat());
    assert_eq!(ended.code, Some(0), "{}\n{}", ended.stdout, ended.stderr);
    assert_says(&ended.stdout, "500 requests/s were offered");
    let report = fs::read_to_string(folder.path("out/report.md")).unwrap_or_default();
    assert_says(&report, "40 requests of access.log, replayed × 50");
    let round = read(&folder, &format!("out/rounds/{}/002.json", row(&two.url)));
    let record = &round["record"];
    assert_eq!(record["plan"]["schedule"]["kind"], "trace", "{record}");
    assert_eq!(record["steps"][0]["failed"], 0, "{record}");
    assert!(
        record["exchanges"]["completed"].as_u64() > Some(0),
        "{record}"
    );
}

#[test]
fn requests_of_servers_without_a_file_have_rows_and_expectations() {
    let folder = Folder::new();
    let (one, two) = (serve(), serve());
    let mix = "### some\nGET http://x/bytes/{{n}}\n### gone\n# @expect status=404\nGET \
               http://x/status/404\n";
    folder.write("mix.http", mix);
    folder.write("sizes.csv", "n\n3\n5\n");
    let urls = ["--url", &one.url, "--url", &two.url];
    let words = ["--targets", "mix.http", "--data", "sizes.csv"];
    let ended = compare(&folder, &[&urls[..], &words, &SHORT].concat());
    assert_eq!(ended.code, Some(0), "{}\n{}", ended.stdout, ended.stderr);
    let round = read(&folder, &format!("out/rounds/{}/002.json", row(&two.url)));
    let steps = round["record"]["steps"].as_array().expect("steps");
    for (step, status) in steps.iter().zip(["200", "404"]) {
        assert!(step["status"][status].as_u64() > Some(0), "{step}");
        assert_eq!(step["failed"], 0, "{step}");
    }
    folder.write("call.http", "GRPC x/a.S/Get\n\n{}\n");
    folder.write("talk.http", "WEBSOCKET ws://x/\n\nhello\n");
    folder.write("plain.http", "GET http://x/\n");
    for (words, parts) in [
        (
            &["--targets", "mix.http"][..],
            &["mix.http:2: {{n}} is neither", "no data file (--data)"][..],
        ),
        (
            &["--targets", "plain.http", "--data", "sizes.csv"],
            &["--data sizes.csv: no request uses it; write one of its columns as {{n}}"],
        ),
        (
            &["--data", "sizes.csv"],
            &["give those with --targets FILE"],
        ),
        (
            &["--targets", "mix.http", "--data", "sizes.txt"],
            &["--data sizes.txt: expected a file of rows"],
        ),
        (
            &["--targets", "call.http"],
            &[
                "--targets call.http: gRPC calls need a comparison file\n",
                "[workload]\n      targets = \"call.http\"\n",
                "\n      protocol = \"grpc\"\n      proto = ",
                "ringside subjects new",
                "A file can't name servers that run already",
            ],
        ),
        (
            &["--targets", "talk.http"],
            &[
                "the messages of a WebSocket need",
                "protocol = \"websocket\"\n",
            ],
        ),
    ] {
        let ended = compare(&folder, &[&urls[..], words].concat());
        assert_eq!(ended.code, Some(2), "{}\n{}", ended.stdout, ended.stderr);
        parts
            .iter()
            .for_each(|part| assert_says(&ended.stderr, part));
        assert!(!ended.stderr.contains("command line"), "{}", ended.stderr);
    }
}

#[test]
fn a_running_server_is_the_baseline_of_a_command_where_it_is_typed_first() {
    let folder = Folder::new();
    program(&folder, "v2", &format!("nproc > cores\n{SERVES}"));
    let one = serve();
    let pid = one.pid().to_string();
    let words = ["--url", &one.url, "--start", "./v2 {port}", "--no-aa"];
    let words = [&words[..], &["--pid", &pid]].concat();
    let ended = compare(&folder, &[&words[..], &SHORT].concat());
    assert_eq!(ended.code, Some(0), "{}\n{}", ended.stdout, ended.stderr);
    let kept = read(&folder, "out/comparison.json");
    assert_eq!(kept["setup"]["baseline"], json!(row(&one.url)));
    assert!(
        !ended.stderr.contains("same conditions"),
        "{}",
        ended.stderr
    );
    let known = format!("{} (process {pid}, ringside)", one.url);
    assert_eq!(kept["rows"][0]["description"], json!(known));
    assert_eq!(kept["rows"][1]["name"], "v2");
    assert_eq!(kept["rows"][1]["ran_before"], Value::Null);
    // The one that is started has the cores that the other one has.
    assert_eq!(kept["setup"]["server_cores"], json!([]));
    let said: Vec<&str> = ended.stdout.split_whitespace().collect();
    assert_says(&said.join(" "), "servers on any core, generator on core ");
    let cores = read(&folder, "cores");
    let all = Command::new("nproc").output().unwrap().stdout;
    assert_eq!(cores.to_string(), String::from_utf8_lossy(&all).trim());
}

#[test]
fn answers_that_differ_are_shown_each_with_its_path() {
    let folder = Folder::new();
    let (one, two) = (serve(), serve());
    let (a, b) = (one.at("/"), two.at("/bytes/5"));
    let words = ["--url", &a, "--url", &b];
    let ended = compare(&folder, &words);
    assert_eq!(ended.code, Some(1), "{}\n{}", ended.stdout, ended.stderr);
    let (first, second) = (row(&a), row(&two.url));
    let what = format!("{second} answers /bytes/5 differently than {first} answers /, with ");
    assert_says(&ended.stderr, &what);
    assert_says(&ended.stderr, "--any-answer");
    assert!(!is_there(&folder, "ringside-out"));
    let any = ["--any-answer", "--no-aa"];
    let ended = compare(&folder, &[&words[..], &any, &SHORT].concat());
    assert_eq!(ended.code, Some(0), "{}\n{}", ended.stdout, ended.stderr);
    assert_says(
        &ended.stderr,
        "The answers differ, and are compared because of --any-answer",
    );
    let kept = read(&folder, "out/comparison.json");
    let asked = kept["rows"][1]["asked"].as_str().unwrap();
    assert!(asked.contains("/bytes/5 over HTTP/1.1"), "{asked}");
}

#[test]
fn a_refusal_tells_no_secret_of_a_query() {
    let folder = Folder::new();
    let (one, two) = (serve(), serve());
    let urls = |path: &str| [one.at(path), two.at(path)];
    let [a, b] = urls("/no?token=S");
    let [c, d] = [one.at("/bytes/5?token=S"), two.at("/bytes/6?token=S")];
    let [e, f] = urls("/");
    let mistaken = format!("{b}&a=b c");
    for (a, b, path, part) in [
        (&a, &b, "/", "is answered with status 404"),
        (&c, &d, "/", "differently than"),
        (&e, &f, "/no?token=S", "is answered with status 404"),
        (&a, &mistaken, "/", "must be percent-encoded"),
    ] {
        let ended = compare(&folder, &["--url", a, "--url", b, "--path", path]);
        assert_says(&ended.stderr, part);
        assert!(!ended.stderr.contains("token=S"), "{}", ended.stderr);
    }
}

#[test]
fn a_certificate_is_verified_unless_any_is_accepted() {
    let folder = Folder::new();
    let (one, two) = (serve(), Server::start(&["--tls", "--engine", "epoll"]));
    let words = ["--url", &one.url, "--url", &two.url, "--no-aa"];
    let ended = compare(&folder, &words);
    assert_eq!(ended.code, Some(1), "{}\n{}", ended.stdout, ended.stderr);
    let what = format!("{} couldn't be asked: ", row(&two.url));
    assert_says(&ended.stderr, &what);
    assert_says(&ended.stderr, "accept any certificate with --insecure");
    let ended = compare(&folder, &[&words[..], &["-k"], &SHORT].concat());
    assert_eq!(ended.code, Some(0), "{}\n{}", ended.stdout, ended.stderr);
}

#[test]
fn what_a_url_is_answered_with_says_what_to_do() {
    let folder = Folder::new();
    let (one, secure) = (serve(), Server::start(&["--tls", "--engine", "epoll"]));
    let plain = secure.url.replace("https://", "http://");
    let broken = one.at("/status/500");
    for (url, code, part) in [
        (
            plain.as_str(),
            1,
            "the server uses TLS on this port: write https://",
        ),
        (&broken, 1, "with status 500: look at the server's log"),
        (
            "22102",
            2,
            "22102 is no host: for a port of this machine write http://127.0.0.1:22102/",
        ),
    ] {
        let ended = compare(&folder, &["--url", &one.url, "--url", url]);
        assert_eq!(ended.code, Some(code), "{url}: {}", ended.stderr);
        let said: Vec<&str> = ended.stderr.split_whitespace().collect();
        assert_says(&said.join(" "), part);
    }
}

#[test]
fn what_is_no_comparison_of_urls_is_said_before_anything_is_measured() {
    let folder = Folder::new();
    let (one, two) = (serve(), serve());
    let (a, b) = (&*one.url, &*two.url);
    let idle = start(Command::new("sleep").arg("1000"));
    let idle_pid = idle.pid().to_string();
    let both = ["--url", a, "--url", b];
    let with = |words: &[&'static str]| [&both[..], words].concat();
    let pid = |pid: &'static str| with(&["--pid", pid, "--pid", pid]);
    let not_its = [&both[..], &["--pid", &idle_pid, "--pid", &idle_pid]].concat();
    let one_pid = [&both[..], &["--pid", &idle_pid]].concat();
    for (words, code, part) in [
        (vec!["--url", a], 2, "one server isn't a comparison"),
        (one_pid, 2, "--pid is given 1 and --url 2 times"),
        (vec!["--pid", "1", "a.toml"], 2, "--pid goes with --url"),
        (not_its, 2, "(sleep) doesn't listen on port"),
        (pid("4194305"), 2, "there's no such process"),
        (with(&["-k"]), 2, "applies to TLS only"),
        (vec!["-k", "a.toml"], 2, "go with --url"),
        (with(&["--trials", "3"]), 2, "cannot be used with"),
        (
            vec!["--url", a, "--url", "ws://127.0.0.1:1"],
            2,
            "not ws://",
        ),
        (vec!["--url", a, "--url", "http://x:y"], 2, "isn't a number"),
        (
            vec!["--url", a, "--url", "http://127.0.0.1:1"],
            1,
            "port-1 couldn't be asked: ",
        ),
        (
            vec!["--url", a, "--url", "http://127.0.0.1:1"],
            1,
            "nothing is listening there: start the server",
        ),
        (with(&["--path", "/no"]), 1, "is answered with status 404"),
    ] {
        let ended = compare(&folder, &words);
        assert_eq!(ended.code, Some(code), "{words:?}: {}", ended.stderr);
        assert_says(&ended.stderr, part);
        assert!(!is_there(&folder, "ringside-out"));
    }
}

#[test]
fn the_process_of_another_user_is_refused_with_what_to_do() {
    let one = serve();
    let words = ["compare", "--url", &one.url, "--url", &one.url];
    let mut command = command(&words);
    command.args(["--pid", "1", "--pid", "1"]);
    if geteuid().is_root() {
        command.uid(NOBODY).gid(NOBODY);
        // The program and where it is called may be for its owner alone.
        command.current_dir("/");
        match command.stderr(Stdio::null()).status() {
            Err(error) if error.kind() == ErrorKind::PermissionDenied => {
                return not_permitted("nobody may run the program that is tested");
            }
            ended => drop(ended.unwrap()),
        }
    }
    let ended = start(&mut command).end();
    assert_eq!(ended.code, Some(2), "{}", ended.stderr);
    assert_says(&ended.stderr, "belongs to user 0, and you are user ");
    assert_says(
        &ended.stderr,
        "run ringside as that user, or leave --pid out",
    );
}

/// Two servers, for as many rounds as a death needs.
fn long<'a>(a: &'a str, b: &'a str) -> Vec<&'a str> {
    let words = ["compare", "--url", a, "--url", b, "--no-aa", "--no-ceiling"];
    let more = ["-c", "2", "--rounds", "12", "--duration", "50ms"];
    [&words[..], &more].concat()
}

/// Compares two servers, and has one die as soon as it was measured once.
fn compare_with_a_death(folder: &Folder, a: &str, b: &str, dies: impl FnOnce()) -> Ended {
    let mut command = command(&long(a, b));
    command.args(["-o", "out"]).current_dir(folder.path("."));
    let comparing = start(&mut command);
    let first = format!("out/rounds/{}/001.json", row(b));
    until("a round is measured", || is_there(folder, &first));
    dies();
    comparing.end()
}

#[test]
fn a_server_that_dies_half_way_keeps_its_rounds_and_is_measured_to_the_end_when_it_is_back() {
    let folder = Folder::new();
    let (one, free) = (serve(), serve());
    let authority = free.authority().to_owned();
    drop(free);
    // The one that comes back is started as it was before.
    let at_its_port = ["--engine", "epoll", "--threads", "1", "--addr", &authority];
    let two = Server::start(&at_its_port);
    let (a, b) = (one.url.clone(), two.url.clone());
    let ended = compare_with_a_death(&folder, &a, &b, || drop(two));
    assert_eq!(ended.code, Some(3), "{}\n{}", ended.stdout, ended.stderr);
    let (first, second) = (row(&a), row(&b));
    assert_says(&ended.stderr, &format!("{second} died in round "));
    let said: Vec<&str> = ended.stdout.split_whitespace().collect();
    let gone = "(ringside) is gone (start it again and continue with --resume)";
    assert_says(&said.join(" "), gone);
    assert!(is_there(&folder, &format!("out/rounds/{first}/012.json")));
    assert!(is_there(&folder, &format!("out/rounds/{second}/001.json")));
    assert!(!is_there(&folder, &format!("out/rounds/{second}/012.json")));
    let report = read(&folder, "out/report.json");
    assert_eq!(report["subjects"][1]["name"], json!(second));
    let back = Server::start(&at_its_port);
    let again = [&long(&a, &b)[1..], &["--resume", "out"]].concat();
    let ended = compare(&folder, &again);
    assert_eq!(ended.code, Some(0), "{}\n{}", ended.stdout, ended.stderr);
    assert!(is_there(&folder, &format!("out/rounds/{second}/012.json")));
    drop(back);
}

/// A process that shares its port, which is any one if `port` is none; and the port.
fn sharing(folder: &Folder, port: Option<u16>, name: &str) -> (Running, u16) {
    let port = port.unwrap_or(0).to_string();
    let file = folder.path(name);
    let mut python = Command::new("python3");
    let process = start(python.args(["-c", SHARES, &port, &file]));
    until("it listens", || is_there(folder, name));
    let port = fs::read_to_string(file).unwrap();
    (process, port.parse().unwrap())
}

#[test]
fn two_programs_on_one_port_are_compared_without_their_cpu_time() {
    let python = Command::new("python3").arg("--version").output();
    if python.is_err() {
        return skip("python3 is not installed");
    }
    let folder = Folder::new();
    let one = serve();
    let (first, port) = sharing(&folder, None, "first");
    let (second, _) = sharing(&folder, Some(port), "second");
    let shared = format!("http://127.0.0.1:{port}");
    let both = ["--url", &one.url, "--url", &shared];
    let pids = [one.pid().to_string(), first.pid().to_string()];
    let pids = ["--pid", &pids[0], "--pid", &pids[1]];
    let refused = compare(&folder, &[&both[..], &pids].concat());
    assert_eq!(refused.code, Some(2), "{}", refused.stderr);
    let other = format!("process {} (python3", second.pid());
    assert_says(&refused.stderr, &other);
    assert_says(&refused.stderr, "too, and gets some of the requests");
    // Nobody knows whose death it is, so it's told by what becomes of the load.
    let ended = compare_with_a_death(&folder, &one.url, &shared, || drop((first, second)));
    assert_eq!(ended.code, Some(3), "{}\n{}", ended.stdout, ended.stderr);
    let row = row(&shared);
    for part in [
        format!("we don't know the processes of {row}: several processes listen there"),
        format!("{row} couldn't be measured in round "),
    ] {
        assert_says(&ended.stderr, &part);
    }
    let kept = read(&folder, "out/comparison.json");
    assert_eq!(
        kept["setup"]["judged_by"],
        json!([
            "requests_per_second",
            "response_time_p50",
            "response_time_p99"
        ])
    );
    let round = read(&folder, &format!("out/rounds/{row}/001.json"));
    assert_eq!(round["sample"]["server_cpu_us_per_exchange"], Value::Null);
}

#[test]
fn a_page_of_the_usual_length_is_compared_and_a_download_is_not() {
    let folder = Folder::new();
    let (one, two) = (serve(), serve());
    let urls = |path: &str| [one.at(path), two.at(path)];
    let [a, b] = urls("/bytes/200000");
    let words = ["--url", &a, "--url", &b, "--no-aa"];
    let ended = compare(&folder, &[&words[..], &SHORT].concat());
    assert_eq!(ended.code, Some(0), "{}\n{}", ended.stdout, ended.stderr);
    let [a, b] = urls("/bytes/2000000");
    let ended = compare(&folder, &["--url", &a, "--url", &b]);
    assert_eq!(ended.code, Some(1), "{}\n{}", ended.stdout, ended.stderr);
    assert_says(&ended.stderr, "2000000 bytes, and an answer that's checked");
}

//! Mixes of gRPC methods, against our own server and gRPC-Go's: by reflection or by files, with
//! templates and data files, in runs, searches and comparisons.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use lab::check::{self, Options, Readiness};
use serde_json::{Value, json};
use supervisor::subject::Subject;

use super::child::{
    Folder, Server, assert_says, command, comparison_of_ours, ringside, start, step,
};
use super::peers::{from_ci, installed, peer, ready};
use super::ports::free_port;
use super::skip::skip;

/// For a comparison of a few short rounds beside other tests.
const PATIENCE: Duration = Duration::from_secs(120);

/// What describes `ringside.Echo`.
const ECHO: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../testserver/proto/ringside.proto"
);

/// Calls of each kind, of two services.
fn mix(authority: &str) -> String {
    format!(
        "@host = {authority}\n\
         ### echo\n# @weight 6\nGRPC grpc://{{{{host}}}}/ringside.Echo/Echo\n\
         x-id: {{{{seq}}}}\nauthorization: Bearer canary-h\n\n\
         {{\"text\": \"canary-b\"}}\n\
         ### back\n# @weight 2\nGRPC {{{{host}}}}/grpc.testing.TestService/StreamingOutputCall\n\n\
         {{\"response_parameters\": [{{\"size\": 5}}, {{\"size\": {{{{random 1 9}}}}}}]}}\n\
         ### up\n# @weight 1\nGRPC http://{{{{host}}}}/ringside.Echo/EchoClientStream\n\n\
         [{{\"text\": \"{{{{newUuid}}}}\"}}, {{}}, {{}}]\n\
         ### gone\n# @weight 1\nGRPC {{{{host}}}}/grpc.testing.TestService/UnaryCall\n\n\
         {{\"response_status\": {{\"code\": 5, \"message\": \"no\"}}}}\n"
    )
}

fn count(step: &Value, what: &str) -> u64 {
    step[what].as_u64().unwrap()
}

#[test]
fn each_method_has_its_figures_its_statuses_and_its_thresholds() {
    let (server, folder) = (Server::start(&[]), Folder::new());
    let file = folder.write("mix.http", &mix(server.authority()));
    let mut words = vec!["run", "--targets", &file, "-n400", "-c4", "-S4", "-t2"];
    words.extend(["--threshold", "errors{gone}<1%"]);
    words.extend(["--threshold", "errors{up}<=0%"]);
    let ended = ringside(&words);
    assert_eq!(ended.code, Some(99), "{}", ended.stderr);
    assert_says(&ended.stderr, "errors{gone}<1% crossed");
    assert_says(&ended.stderr, "errors{up}<=0% holds");
    let url = format!("@ grpc://{}/\n", server.authority());
    for said in [&*url, "  echo ", "  back ", "  gRPC statuses of gone: "] {
        assert_says(&ended.stdout, said);
    }
    assert!(
        !ended.stdout.contains("statuses of echo"),
        "{}",
        ended.stdout
    );
    let ended = ringside(&[&words[..], &["--format", "csv"]].concat());
    let heads = ended.stdout.lines().next().unwrap_or_default();
    assert!(
        heads.ends_with(",service_max_us,status,grpc_status"),
        "{heads}"
    );
    for (name, status) in [("echo", "OK:"), ("gone", "NOT_FOUND:")] {
        let row = format!(",step,{name},");
        let line = ended.stdout.lines().find(|line| line.contains(&row));
        let last = line.and_then(|line| line.rsplit(',').next());
        let count = last.and_then(|last| last.strip_prefix(status));
        let is_count = count.is_some_and(|count| count.parse::<u64>().is_ok_and(|n| n > 0));
        assert!(is_count, "{line:?}");
    }
    words.extend(["--format", "json"]);
    for engine in ["auto", "epoll"] {
        words.extend(["--engine", engine]);
        let ended = ringside(&words);
        words.truncate(words.len() - 2);
        assert!(!ended.stdout.contains("canary"), "{}", ended.stdout);
        let record = ended.record();
        let [echo, back, up, gone] = ["echo", "back", "up", "gone"].map(|name| step(&record, name));
        for (step, status, which) in [
            (echo, "OK", "completed"),
            (back, "OK", "completed"),
            (up, "OK", "completed"),
            (gone, "NOT_FOUND", "failed"),
        ] {
            assert!(count(step, which) > 0, "{step}");
            assert_eq!(
                step["grpc_status"],
                json!({ status: step[which] }),
                "{step}"
            );
        }
        let [echo, back, up] = [echo, back, up].map(|step| count(step, "completed"));
        let gone = count(gone, "failed");
        assert_eq!(echo + back + up + gone, 400);
        let messages = json!({
            "sent": echo + back + 3 * up + gone,
            "received": echo + 2 * back + up,
        });
        assert_eq!(record["messages"], messages, "{record}");
        assert_eq!(record["plan"]["protocol"]["call"]["kind"], "mixed");
    }
}

#[test]
fn rows_are_put_into_messages_and_one_that_does_not_fit_ends_the_run() {
    let (server, folder) = (Server::start(&[]), Folder::new());
    let text = format!(
        "GRPC {}/ringside.Echo/Echo\n\n{{\"text\": \"{{{{name}}}}\", \"count\": {{{{n}}}}}}\n",
        server.authority()
    );
    let file = folder.write("a.http", &text);
    let good = folder.write("good.csv", "name,n\n\"a \"\"b\"\"\",1\nü\\,2\nc,3\n");
    let run = |data: &str, more: &[&str]| {
        let mut words = vec!["run", "--targets", &file, "--data", data, "-c1"];
        words.extend(["--proto", ECHO, "--format", "json"]);
        words.extend(more);
        ringside(&words)
    };
    let ended = run(&good, &["--data-order", "once"]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let one = ended.record();
    assert_eq!(one["grpc_status"], json!({ "OK": 3 }));
    assert_eq!(one["ended_by"], "rows");
    // The first is tried before anything is sent.
    let first = folder.write("first.csv", "name,n\na,canary\n");
    let ended = run(&first, &["-n9"]);
    assert_eq!(
        (ended.code, &*ended.stdout),
        (Some(2), ""),
        "{}",
        ended.stderr
    );
    assert_says(
        &ended.stderr,
        "a.http:1: with its values filled in, the body isn't valid JSON in line 1, column 24",
    );
    assert!(!ended.stderr.contains("canary"), "{}", ended.stderr);
    let later = folder.write("later.csv", "name,n\na,1\nb,2\nc,\"\"\"canary\"\"\"\nd,4\n");
    for more in [&["-n9"][..], &["-R", "1000", "-d", "30s"]] {
        let ended = run(&later, more);
        assert_eq!(ended.code, Some(4), "{}", ended.stderr);
        let one = ended.record();
        assert_eq!(
            (&one["grpc_status"]["OK"], &one["ended_by"]),
            (&2.into(), &"rows".into())
        );
        let told = one["warnings"].to_string();
        assert_says(&told, "the run ended early: ");
        assert_says(
            &told,
            "a.http:1: with its values filled in, the body doesn't match the request message: \
             count must be an unsigned 32-bit integer, not that text",
        );
        assert!(!ended.stdout.contains("canary"), "{}", ended.stdout);
    }
}

#[test]
fn calls_of_a_mix_are_compressed_once_or_as_they_are_filled_in() {
    let (server, folder) = (Server::start(&[]), Folder::new());
    let (at, text) = (server.authority(), "anna ".repeat(2000));
    let file = folder.write(
        "a.http",
        &format!(
            "### once\nGRPC {at}/ringside.Echo/Echo\n\n{{\"text\": \"{text}\"}}\n\
             ### each\nGRPC {at}/ringside.Echo/EchoServerStream\n\n\
             {{\"text\": \"{{{{seq}}}} {text}\", \"count\": 3}}\n"
        ),
    );
    let bytes = |more: &[&str]| {
        let mut words = vec!["run", "--targets", &file, "-n40", "-c2", "--format", "json"];
        words.extend(more);
        let ended = ringside(&words);
        assert_eq!(ended.code, Some(0), "{more:?}: {}", ended.stderr);
        let one = ended.record();
        assert_eq!(one["grpc_status"], json!({ "OK": 40 }), "{more:?}");
        let messages = json!({ "sent": 40, "received": 80 });
        assert_eq!(one["messages"], messages, "{more:?}");
        let said =
            json!({ "compressed": one["plan"]["compressed"], "by": one["plan"]["compress"] });
        (
            said,
            ["sent", "received"].map(|which| one["bytes"][which].as_u64().unwrap()),
        )
    };
    let (said, plain) = bytes(&[]);
    assert_eq!(said, json!({ "compressed": false, "by": null }));
    // Who doesn't compress isn't answered compressed by our own server.
    let (said, asked) = bytes(&["--compressed"]);
    assert_eq!(said, json!({ "compressed": true, "by": null }));
    assert!(asked[1] > plain[1] / 2, "{asked:?} {plain:?}");
    let (said, both) = bytes(&["--compress", "gzip"]);
    assert_eq!(said, json!({ "compressed": false, "by": "gzip" }));
    assert!(both[0] < plain[0] / 10, "{both:?} {plain:?}");
    assert!(both[1] < plain[1] / 10, "{both:?} {plain:?}");
    for (words, part) in [
        (
            &["--compress", "gzip"][..],
            "--compress is about the messages of gRPC calls",
        ),
        (&["--compress", "br"], "invalid value 'br'"),
    ] {
        let url = format!("http://{at}/");
        let ended = ringside(&[&["run", "-n1", "-c1", &url], words].concat());
        assert_eq!(ended.code, Some(2), "{}", ended.stderr);
        assert_says(&ended.stderr, part);
    }
}

/// The subject of comparisons, which reads gzip and answers with it.
#[test]
fn grpc_go_is_compared_with_and_without_compression() {
    let (folder, repository) = (
        Folder::new(),
        Path::new(env!("CARGO_MANIFEST_DIR")).join(".."),
    );
    let subjects = repository.join("subjects");
    let known = Subject::all(&subjects).unwrap().into_iter();
    let subject = known
        .filter(|(name, _)| name == "grpc-go")
        .map(|(_, read)| read.unwrap())
        .next();
    let options = Options {
        ringside: env!("CARGO_BIN_EXE_ringside").into(),
        cache: None,
    };
    let readiness = check::readiness(&subject.expect("grpc-go"), &options).unwrap();
    if readiness != Readiness::Built {
        return skip("`ringside subjects build grpc-go` was not run".to_owned());
    }
    let file = repository.join("comparisons/mechanisms/grpc-compression.toml");
    let (file, out) = (file.display().to_string(), folder.path("out"));
    let shorter = [
        "--rounds",
        "2",
        "--duration",
        "500ms",
        "--no-aa",
        "--no-ceiling",
    ];
    let words = [&["compare", &file, "-o", &out][..], &shorter].concat();
    let ended = start(&mut command(&words)).end_within(PATIENCE);
    assert!(
        matches!(ended.code, Some(0 | 4)),
        "{}\n{}",
        ended.stdout,
        ended.stderr
    );
    // Over both rounds: a busy machine may leave one of them without an answer.
    let each = |point: &str, row: &str| {
        let records = [1, 2].map(|round| {
            let round = format!("{out}/{point}/rounds/{row}/{round:03}.json");
            let round = fs::read_to_string(&round).unwrap_or_else(|why| panic!("{round}: {why}"));
            let round: Value = serde_json::from_str(&round).unwrap();
            assert_eq!(round["record"]["errors"], json!({}), "{round}");
            round["record"].clone()
        });
        let sum = |of: &str, which: &str| -> u64 {
            let each = records.iter().map(|record| &record[of][which]);
            each.map(|number| number.as_u64().unwrap()).sum()
        };
        let calls = sum("exchanges", "completed");
        assert!(calls > 0, "{records:?}");
        ["sent", "received"].map(|which| sum("bytes", which) / calls)
    };
    for row in ["grpc-go", "ringside-grpc"] {
        let (small, large) = (each("payload-13", row), each("payload-16384", row));
        let small_gzip = each("payload-13", &format!("{row}-gzip"));
        let large_gzip = each("payload-16384", &format!("{row}-gzip"));
        for at in 0..2 {
            assert!(
                small_gzip[at] > small[at],
                "{row}: {small_gzip:?} {small:?}"
            );
            assert!(
                large_gzip[at] < large[at] / 10,
                "{row}: {large_gzip:?} {large:?}"
            );
        }
    }
}

#[test]
fn mistakes_end_with_code_2_and_say_where() {
    let (server, folder) = (Server::start(&[]), Folder::new());
    let at = server.authority();
    let echo = format!("GRPC {at}/ringside.Echo/Echo");
    let table = [
        (
            format!("{echo}\n###\n\nGRPC {at}/ringside.Echo/Ecko\n"),
            "mix.http:4: ringside.Echo has no method Ecko; it has Echo, ",
        ),
        (
            format!("{echo}\n###\nGRPC {at}/ringside.Ecko/Echo\n"),
            "mix.http:3: there's no service ringside.Ecko; there is ringside.Echo, ",
        ),
        (
            format!("{echo}\n\n{{\"count\": \"abc\"}}\n"),
            "mix.http:1: the body doesn't match the request message: count must be an unsigned \
             32-bit integer, not \"abc\"",
        ),
        (
            format!("{echo}\n\n[{{}}]\n"),
            "mix.http:1: ringside.Echo.Echo takes one message, not a stream: write one JSON \
             object, not an array of 1",
        ),
        (
            format!("{echo}\n\n{{\n"),
            "mix.http:1: the body isn't valid JSON: EOF while parsing an object",
        ),
        (
            format!("{echo}\nx-bin: !\n"),
            "mix.http:1: the name of the metadata x-bin ends in -bin, so its value must be base64",
        ),
        (
            format!("{echo}\n###\nGRPC https://127.0.0.1:1/ringside.Echo/Echo\n"),
            "mix.http:3: grpcs:// is another protocol than that of the first request, grpc://",
        ),
        (
            format!("{echo}\n###\nGET http://{at}/\n"),
            "mix.http:3: a request of HTTP stands among gRPC calls (the first is in line 1)",
        ),
    ];
    for (text, expected) in table {
        let file = folder.write("mix.http", &text);
        let ended = ringside(&["run", "--targets", &file, "-n1", "-c1"]);
        assert_eq!((ended.code, &*ended.stdout), (Some(2), ""), "{text}");
        assert_says(&ended.stderr, expected);
        assert_eq!(ended.stderr.lines().count(), 1, "{}", ended.stderr);
    }
    let file = folder.write("mix.http", &echo);
    for (flag, expected) in [
        (&["-m", "POST"][..], "every gRPC call is a POST; drop -m"),
        (
            &["--expect", "status=2xx"],
            "a gRPC call is judged by its own status: drop it",
        ),
        (
            &["--control"],
            "our own server doesn't have your gRPC service",
        ),
        (&["--follow", "1"], "gRPC calls aren't redirected: drop it"),
    ] {
        let mut words = vec!["run", "--targets", &file, "-n1", "-c1"];
        words.extend(flag);
        let ended = ringside(&words);
        assert_eq!(ended.code, Some(2), "{flag:?}: {}", ended.stderr);
        assert_says(&ended.stderr, expected);
    }
}

#[test]
fn flags_say_what_calls_leave_open_and_a_url_may_have_templates() {
    let (server, folder) = (Server::start(&[]), Folder::new());
    let at = server.authority();
    let file = folder.write(
        "a.jsonl",
        &format!(
            "{{\"method\": \"GRPC\", \"url\": \"{at}/ringside.Echo/Echo\", \"body\": \"e30=\"}}\n\
         {{\"method\": \"GRPC\", \"url\": \"grpc://{at}/grpc.health.v1.Health/Check\"}}\n"
        ),
    );
    let more = [
        "--metadata",
        "x-word: a",
        "--deadline",
        "5s",
        "--no-keepalive",
    ];
    let mut words = vec!["run", "--targets", &file, "-n8", "-c2", "--format", "json"];
    words.extend(more);
    let ended = ringside(&words);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let one = ended.record();
    assert_eq!(one["grpc_status"], json!({ "OK": 8 }));
    assert_eq!(step(&one, "grpc.health.v1.Health/Check")["completed"], 4);
    let headers = &one["plan"]["workload"]["steps"][0]["request"]["headers"];
    assert_eq!(headers[0][0], "x-word");
    let url = format!("grpc://{at}/ringside.Echo/Echo");
    let body = "{\"count\": {{seq}}, \"text\": \"{{newUuid}}\"}";
    let ended = ringside(&[
        "run",
        "--template",
        &url,
        "-b",
        body,
        "-n8",
        "--format",
        "json",
    ]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert_eq!(ended.record()["grpc_status"], json!({ "OK": 8 }));
}

#[test]
fn a_mix_of_calls_is_answered_by_grpc_go() {
    let program = from_ci("go/server");
    if !installed(&program, "-h") {
        return;
    }
    let (folder, port) = (Folder::new(), free_port());
    let _peer = peer(Command::new(&program).arg(format!("--port={port}")));
    ready(port, "gRPC-Go");
    let service = format!("GRPC 127.0.0.1:{port}/grpc.testing.TestService");
    let text = format!(
        "### empty\n{service}/EmptyCall\n\
         ### unary\n{service}/UnaryCall\n\n{{\"response_size\": {{{{random 1 500}}}}}}\n\
         ### up\n{service}/StreamingInputCall\n\n[{{}}, {{}}, {{}}]\n\
         ### both\n{service}/FullDuplexCall\nx-id: {{{{seq}}}}\n\n\
         [{{\"response_parameters\": [{{\"size\": 9}}, {{\"size\": 1}}]}}]\n\
         ### full\n{service}/UnaryCall\n\n{{\"response_status\": {{\"code\": 8}}}}\n"
    );
    let file = folder.write("mix.http", &text);
    let tests = Path::new(env!("CARGO_MANIFEST_DIR"));
    let proto = tests.join("tests/peers/interop.proto");
    let imports = tests.join("../testserver/proto");
    let [proto, imports] = [&proto, &imports].map(|path| path.to_str().unwrap());
    let mut words = vec!["run", "--targets", &file, "-n500", "-S5", "-T20s"];
    words.extend(["--format", "json", "--proto", proto, "-i", imports]);
    let ended = ringside(&words);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let one = ended.record();
    let statuses = json!({ "OK": 400, "RESOURCE_EXHAUSTED": 100 });
    assert_eq!(one["grpc_status"], statuses, "{one}");
    // The last answers no call with a message, the fourth each with two.
    let messages = json!({ "sent": 700, "received": 500 });
    assert_eq!(one["messages"], messages, "{one}");
}

#[test]
fn a_mix_of_calls_is_compared_and_searched() {
    let folder = Folder::new();
    let text = "### echo\n# @weight 3\nGRPC elsewhere:9/ringside.Echo/Echo\n\n\
                {\"text\": \"{{newUuid}}\"}\n\
                ### stream\n# @weight 1\nGRPC elsewhere:9/ringside.Echo/EchoServerStream\n\n\
                {\"count\": 3}\n";
    folder.write("mix.http", text);
    fs::copy(ECHO, folder.path("echo.proto")).unwrap();
    let workload = "rounds = 2\naa = false\nceiling = false\n[workload]\nprotocol = \"grpc\"\n\
                    targets = \"mix.http\"\nproto = \"echo.proto\"\nwindow = \"100ms\"\n\
                    settle = \"50ms\"\nwarm_up = \"50ms\"\n";
    let file = comparison_of_ours(&folder, "", workload);
    let out = folder.path("out");
    let ended = ringside(&["compare", &file, "-o", &out]);
    assert_eq!(ended.code, Some(0), "{}\n{}", ended.stdout, ended.stderr);
    let round = fs::read_to_string(format!("{out}/rounds/ours/001.json")).unwrap();
    let round: Value = serde_json::from_str(&round).unwrap();
    for name in ["echo", "stream"] {
        let step = step(&round["record"], name);
        assert!(count(step, "completed") > 0, "{step}");
        assert_eq!(step["grpc_status"], json!({ "OK": step["completed"] }));
    }
    for (words, part) in [
        (
            "targets = \"mix.http\"",
            "mix.http has gRPC calls: add `protocol = \"grpc\"`",
        ),
        (
            "targets = \"mix.http\"\nprotocol = \"grpc\"",
            "gRPC calls that differ need the file that describes them: add `proto`",
        ),
        (
            "targets = \"plain.http\"\nprotocol = \"grpc\"\nproto = \"echo.proto\"",
            "plain.http has requests of HTTP: write `GRPC` as their method",
        ),
        (
            "targets = \"bad.http\"\nprotocol = \"grpc\"\nproto = \"echo.proto\"",
            "bad.http:1: the body doesn't match the request message: nam isn't a field",
        ),
    ] {
        folder.write("plain.http", "http://x/\n");
        folder.write("bad.http", "GRPC x/ringside.Echo/Echo\n\n{\"nam\": 1}\n");
        let file = comparison_of_ours(&folder, "", &format!("[workload]\n{words}\n"));
        let ended = ringside(&["compare", &file, "-o", &folder.path("refused")]);
        assert_eq!(ended.code, Some(2), "{}", ended.stderr);
        assert_says(&ended.stderr, part);
    }
}

#[test]
fn the_capacity_of_a_mix_of_calls_is_searched_with_an_objective_for_one_of_them() {
    let (server, folder) = (Server::start(&[]), Folder::new());
    let file = folder.write("mix.http", &mix(server.authority()));
    let out = folder.path("out");
    let mut words = vec![
        "capacity",
        "--targets",
        &file,
        "-o",
        &out,
        "-c",
        "4",
        "-S",
        "4",
    ];
    words.extend([
        "-d",
        "200ms",
        "--from",
        "100",
        "--to",
        "200",
        "--precision",
        "20%",
    ]);
    words.extend(["--repeats", "1", "--confirmations", "1"]);
    words.extend(["--arrivals", "constant", "--slo", "errors{echo}<5%"]);
    let ended = ringside(&words);
    assert_eq!(ended.code, Some(0), "{}\n{}", ended.stdout, ended.stderr);
    let round = fs::read_to_string(format!("{out}/rounds/target/001.json")).unwrap();
    let round: Value = serde_json::from_str(&round).unwrap();
    let echo = step(&round["record"], "echo");
    assert_eq!(echo["grpc_status"], json!({ "OK": echo["completed"] }));
}

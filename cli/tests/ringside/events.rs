//! Events inside answers: `--events`, against our own server.

use std::fs;

use serde_json::Value;

use super::child::{Folder, Server, assert_says, ringside};

#[test]
fn the_report_says_when_events_came_and_conditions_judge_it() {
    let server = Server::start(&[]);
    let url = server.at("/events/20/2ms?first=10ms");
    for more in [&[][..], &["--http2"]] {
        let words = ["run", "-n40", "-c4", "--events", &url];
        let run = |rule: &str| ringside(&[&words[..], more, &["--threshold", rule]].concat());
        let ended = run("first_event_min>=10ms");
        // A busy machine's figures may be void, and then so is the threshold.
        assert!(matches!(ended.code, Some(0 | 4)), "{ended:?}");
        for row in [
            "first byte ",
            "first event ",
            "event gap ",
            "time per event ",
        ] {
            assert_says(&ended.stdout, &format!("\n  {row}"));
        }
        assert_says(
            &ended.stdout,
            "\nStreams: 40 due in the window, in which 800 events came (",
        );
        let ended = run("first_event_median<10ms");
        assert!(matches!(ended.code, Some(99 | 4)), "{ended:?}");
    }
}

#[test]
fn a_record_and_its_intervals_have_what_was_seen() {
    let server = Server::start(&[]);
    let folder = Folder::new();
    let lines = folder.path("intervals.ndjson");
    let url = server.at("/v1/chat/completions?first=5ms&every=1ms");
    let words = [
        "run",
        "-n30",
        "-c3",
        "--events",
        "-b",
        r#"{"stream":true,"max_tokens":10}"#,
        "--format",
        "json",
        "--intervals",
        &lines,
        &url,
    ];
    let ended = ringside(&words);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let record: Value = serde_json::from_str(&ended.stdout).expect("a record");
    let streams = &record["streams"];
    assert_eq!(record["plan"]["events"], true);
    assert_eq!(
        (&streams["done"], &streams["events"]),
        (&30.into(), &300.into())
    );
    assert_eq!(streams["event_gap_us"]["count"], 270);
    assert!(streams["first_event_us"]["min"].as_f64() >= Some(5_000.0));
    let text = fs::read_to_string(&lines).expect("lines");
    let intervals = text
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    let events = intervals.map(|one| one["streams"]["events"].as_u64().unwrap_or(0));
    assert_eq!(events.sum::<u64>(), 300);
}

#[test]
fn each_message_that_a_grpc_method_answers_with_is_an_event() {
    let server = Server::start(&[]);
    let url = |method| {
        server
            .at(&format!("/{method}"))
            .replacen("http:", "grpc:", 1)
    };
    // What comes each 3 ms; the first one, too.
    let message = r#"{"size":8,"interval_us":3000}"#;
    let body = format!("{{\"response_parameters\":[{}]}}", [message; 10].join(","));
    let run = |method, body: &str, more: &[&str]| {
        let url = url(method);
        let words = [
            "run", "-n24", "-c2", "-S3", "--events", "--format", "json", "-b", body, &url,
        ];
        let ended = ringside(&[&words[..], more].concat());
        serde_json::from_str::<Value>(&ended.stdout).unwrap_or_else(|_| panic!("{ended:?}"))
    };
    let method = "grpc.testing.TestService/StreamingOutputCall";
    let record = run(method, &body, &[]);
    let streams = &record["streams"];
    assert_eq!(record["exchanges"]["completed"], 24, "{record}");
    assert_eq!(
        (&streams["streams"], &streams["events"]),
        (&24.into(), &240.into())
    );
    assert_eq!(streams["event_gap_us"]["count"], 216);
    assert!(
        streams["first_event_us"]["min"].as_f64() >= Some(3_000.0),
        "{streams}"
    );
    assert!(
        streams["time_per_event_us"]["p50"].as_f64() >= Some(2_000.0),
        "{streams}"
    );

    // A call that fails behind two messages has had these, and one that is refused is no stream.
    let two = format!(
        "[{{\"response_parameters\":[{message},{message}]}},\
         {{\"response_status\":{{\"code\":13}}}}]"
    );
    let record = run("grpc.testing.TestService/FullDuplexCall", &two, &[]);
    assert_eq!(record["exchanges"]["failed"], 24, "{record}");
    assert!(
        record["streams"]["streams"].as_u64() <= Some(24),
        "{}",
        record["streams"]
    );
    let record = run("ringside.Echo/Echo", "{}", &[]);
    assert_eq!(record["streams"]["streams"], 0);
    assert_says(
        &record["warnings"].to_string(),
        "no answer was a stream of events",
    );
}

#[test]
fn each_message_of_a_websocket_that_answers_one_of_a_file_is_an_event() {
    let (server, folder) = (Server::start(&[]), Folder::new());
    let url = server.at("/ws").replacen("http:", "ws:", 1);
    let waits = "=== wait-for-server\n".repeat(3);
    let text = format!("### talk\nWEBSOCKET {url}\n\none\n===\ntwo\n===\nthree\n{waits}");
    let file = folder.write("talk.http", &text);
    let words = [
        "run",
        "--targets",
        &file,
        "-c2",
        "-n20",
        "--events",
        "--format",
        "json",
    ];
    let ended = ringside(&words);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let record: Value = serde_json::from_str(&ended.stdout).expect("a record");
    let streams = &record["streams"];
    assert_eq!(record["exchanges"]["completed"], 20, "{record}");
    assert_eq!(
        (&streams["streams"], &streams["events"]),
        (&20.into(), &60.into()),
        "{streams}"
    );
    assert_eq!(streams["event_gap_us"]["count"], 40, "{streams}");
}

#[test]
fn a_condition_on_events_that_nobody_looks_for_is_refused_with_what_to_add() {
    for words in [
        &[
            "run",
            "--threshold",
            "first_event_p99<1s",
            "http://127.0.0.1:1/",
        ][..],
        &[
            "capacity",
            "--slo",
            "event_gap_p99<1s",
            "http://127.0.0.1:1/",
        ],
    ] {
        let ended = ringside(words);
        assert_eq!(ended.code, Some(2), "{ended:?}");
        assert_says(&ended.stderr, "add --events");
    }
    // Who asks for a stream and isn't answered with one is told.
    let server = Server::start(&[]);
    let words = [
        "run",
        "-n3",
        "--events",
        "-b",
        "{\"stream\":true}",
        &server.at("/echo"),
    ];
    let ended = ringside(&words);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_says(&ended.stdout, "no answer was a stream of events");
    let ended = ringside(&["run", "--events", "ws://127.0.0.1:1/"]);
    assert_eq!(ended.code, Some(2), "{ended:?}");
    assert_says(&ended.stderr, "add --targets");
}

#[test]
fn a_stream_without_end_is_no_failure_and_chunks_of_text_are_events() {
    let server = Server::start(&[]);
    let endless = server.at("/events/100000/5ms");
    let words = ["run", "-c2", "-d300ms", "-T300ms", "--events", &endless];
    let ended = ringside(&words);
    // A busy machine's figures may be void.
    assert!(matches!(ended.code, Some(0 | 4)), "{ended:?}");
    assert_says(&ended.stdout, "2 still going on at the end of the run");
    assert!(!ended.stderr.contains("no request got"), "{ended:?}");

    let url = server.at("/chunked/200K");
    let words = ["run", "-n5", "-c1", "--events", "--format", "json", &url];
    let record = ringside(&words).record();
    let streams = &record["streams"];
    assert_eq!(streams["streams"], 5, "{record}");
    assert!(streams["events"].as_u64() >= Some(10), "{streams}");
}

#[test]
fn every_format_tells_the_streams_of_the_run_and_of_each_request() {
    let (server, folder) = (Server::start(&[]), Folder::new());
    let (stream, plain) = (server.at("/events/10/1ms"), server.at("/"));
    let text = format!("### chat\nGET {stream}\n\n### home\nGET {plain}\n");
    let file = folder.write("mix.http", &text);
    let told = |format: &str| {
        let words = ["run", "-n40", "-c2", "--events", "--targets", &file];
        let rule = ["--threshold", "first_event_max{chat}<60s"];
        let ended = ringside(&[&words[..], &rule, &["--format", format]].concat());
        assert!(matches!(ended.code, Some(0 | 4)), "{ended:?}");
        ended.stdout
    };
    let text = told("text");
    assert_says(&text, "streams of");
    assert_says(
        &text,
        "Streams: 20 due in the window, in which 200 events came",
    );
    let csv = told("csv");
    let lines: Vec<Vec<&str>> = csv.lines().map(|line| line.split(',').collect()).collect();
    let at = |name: &str| lines[0].iter().position(|one| *one == name).expect(name);
    let of = |phase: &str, name: &str| -> Vec<String> {
        let lines = lines.iter().filter(|line| line[at("phase")] == phase);
        lines.map(|line| line[at(name)].to_owned()).collect()
    };
    assert!(
        lines.iter().all(|line| line.len() == lines[0].len()),
        "{csv}"
    );
    assert_eq!(of("step", "events"), ["200", "0"], "{csv}");
    assert_eq!(of("streams", "streams"), ["20"], "{csv}");
    let window = of("window", "events");
    let window: u64 = window
        .iter()
        .map(|events| events.parse::<u64>().unwrap())
        .sum();
    assert_eq!(window, 200, "{csv}");
    let page = told("html");
    for part in [
        "Until the first event",
        "Between events",
        "chat",
        "first event p50",
    ] {
        assert_says(&page, part);
    }
    let summary = told("markdown");
    assert_says(&summary, "p50 gap between events");
    assert_says(&summary, "chat: events/s");
    let record: Value = serde_json::from_str(&told("json")).expect("a record");
    let steps = &record["steps"];
    assert_eq!(steps[0]["streams"]["events"], 200, "{steps}");
    assert_eq!(steps[1]["streams"]["streams"], 0, "{steps}");
    assert_eq!(record["thresholds"][0]["outcome"], "holds", "{record}");
}

#[test]
fn a_search_finds_how_many_streams_hold_and_does_not_begin_where_there_are_none() {
    let (server, folder) = (Server::start(&[]), Folder::new());
    let search = |path: &str, out: &str| {
        let (url, out) = (server.at(path), folder.path(out));
        let mut words = vec![
            "capacity", &url, "--events", "-T", "250ms", "-d", "200ms", "-o",
        ];
        words.extend([
            &*out,
            "--slo",
            "first_event_mean<30s",
            "--arrivals",
            "constant",
        ]);
        words.extend(["--from", "10", "--to", "20", "--precision", "20%"]);
        words.extend(["--repeats", "1", "--confirmations", "1"]);
        ringside(&words)
    };
    // Each takes longer than the time limit, which is one on the next event.
    let ended = search("/events/9/50ms", "streams");
    assert_eq!(ended.code, Some(0), "{}\n{}", ended.stdout, ended.stderr);
    assert_says(&ended.stdout, "streams go on at once");
    assert_says(&ended.stdout, "first_event_mean");
    let text = fs::read_to_string(folder.path("streams/capacity.json")).unwrap();
    let found: Value = serde_json::from_str(&text).unwrap();
    let row = &found["rows"][0];
    let at_once = row["streams_at_once"].as_f64().expect("a number");
    // At most 20 a second, each for 400 ms or so.
    assert!((3.0..30.0).contains(&at_once), "{row}");
    assert!(row["points"][0]["objectives"]["first_event_mean"].is_number());
    let csv = fs::read_to_string(folder.path("streams/report.csv")).unwrap();
    assert_says(&csv, ",first_event_mean_us\n");

    let ended = search("/", "none");
    assert_eq!(ended.code, Some(2), "{}\n{}", ended.stdout, ended.stderr);
    assert_says(&ended.stderr, "no answer was a stream of events");
    assert!(!folder.names().contains(&"none".to_owned()));
}

/// Subjects of ours under `folder`, and a comparison of them by the events in what they answer.
fn compared(folder: &Folder, rows: &[(&str, &str)], workload: &str) -> String {
    let body = |events: u32| -> String { (0..events).map(|n| format!("data: {n}\n\n")).collect() };
    let mut subject = String::from(
        "kind = \"server\"\n[start]\ncommand = [\"{ringside}\", \"serve\", \"--addr\", \
         \"127.0.0.1:{port}\", \"--threads\", \"1\", \"--cpus\", \"{cpus}\"]\n\
         [ready]\npath = \"/health\"\n",
    );
    let mut text = String::from("rounds = 5\naa = false\nceiling = false\n");
    for (name, path) in rows {
        let row = format!("[[rows]]\nname = {name:?}\nsubject = \"ours\"\n");
        text.push_str(&format!("{row}workload = {{ path = {path:?} }}\n"));
        let answer = format!(
            "[[answer]]\npath = {path:?}\nchunked = true\nbody = {:?}\n",
            body(10)
        );
        if !subject.contains(&answer) {
            subject.push_str(&answer);
        }
    }
    fs::create_dir_all(folder.path("subjects/ours")).unwrap();
    folder.write("subjects/ours/subject.toml", &subject);
    text.push_str("[workload]\nevents = true\nwarm_up = \"50ms\"\nsettle = \"150ms\"\n");
    folder.write("streams.toml", &format!("{text}{workload}"))
}

/// Whether `equal` is judged like `steady`, `late` as later to begin alone, and `slow` as slower
/// between events alone; or what is judged otherwise. `or_not` takes a machine that was too busy to
/// tell.
fn told_apart(report: &Value, or_not: bool) -> Result<(), String> {
    let too_busy = |kind: &str| or_not && ["undecided", "void"].contains(&kind);
    let (first, gap) = ("first_event_p50", "event_gap_p50");
    for (row, same, other) in [
        (1, &[first, gap][..], None),
        (2, &[gap], Some(first)),
        (3, &[first], Some(gap)),
    ] {
        let judged = |metric: &str| {
            let further = report["subjects"][row]["further"].as_array().unwrap();
            let one = further.iter().find(|one| one["metric"] == metric);
            one.unwrap_or_else(|| panic!("{metric}: {further:?}"))
        };
        for judged in same.iter().map(|metric| judged(metric)) {
            let kind = judged["verdict"]["kind"].as_str().unwrap();
            if ["higher", "lower", "void"].contains(&kind) && !too_busy(kind) {
                return Err(format!("row {row} is as steady: {judged}"));
            }
        }
        let Some(judged) = other.map(judged) else {
            continue;
        };
        let is_slower = match judged["verdict"]["kind"].as_str().unwrap() {
            "higher" => judged["ratio"]["low"].as_f64() > Some(1.5),
            kind => too_busy(kind),
        };
        if !is_slower {
            return Err(format!("row {row} is slower: {judged}"));
        }
    }
    Ok(())
}

#[test]
fn who_is_slower_only_to_begin_or_only_between_events_is_told_and_who_is_neither_is_not() {
    let folder = Folder::new();
    let steady = "/events/10/4ms?first=20ms";
    let rows = [
        ("steady", steady),
        ("equal", steady),
        ("late", "/events/10/4ms?first=60ms"),
        ("slow", "/events/10/12ms?first=20ms"),
    ];
    let load = "path = \"/\"\nconnections = 30\nwindow = \"300ms\"\n[judge]\n\
                figures = [\"first_event_p50\", \"event_gap_p50\", \"event_rate\"]\n";
    let file = compared(&folder, &rows, load);
    let out = folder.path("out");
    // On a busy machine rounds may be void, which is said; they hardly are three times in a row.
    let ended = (1..)
        .find_map(|attempt| {
            let _ = fs::remove_dir_all(&out);
            let ended = ringside(&["compare", &file, "-o", &out]);
            assert_eq!(ended.code, Some(0), "{}\n{}", ended.stdout, ended.stderr);
            let text = fs::read_to_string(format!("{out}/report.json")).unwrap();
            let told = told_apart(&serde_json::from_str(&text).unwrap(), attempt == 3);
            match told {
                Err(_) if attempt < 3 => None,
                told => Some(told.map(|()| ended)),
            }
        })
        .expect("it ends");
    let ended = ended.unwrap_or_else(|why| panic!("{why}"));
    assert_says(&ended.stdout, "1st event p50");
    for (name, part) in [
        ("report.md", "| first event p50 |"),
        ("report.html", "first event p50"),
        ("report.csv", ",first_event_p50_us,"),
        (
            "smaller-is-better.json",
            "late: median time to the first event",
        ),
        ("bigger-is-better.json", "late: events/s"),
        ("junit.xml", "median gap between events"),
    ] {
        let text = fs::read_to_string(format!("{out}/{name}")).unwrap();
        assert_says(&text, part);
    }
}

#[test]
fn a_comparison_by_events_that_nobody_looks_for_is_refused_with_what_to_add() {
    let folder = Folder::new();
    let file = compared(&folder, &[("a", "/events/10/0"), ("b", "/events/10/0")], "");
    let text = fs::read_to_string(&file)
        .unwrap()
        .replace("events = true\n", "");
    let judge = format!("{text}[judge]\nfigures = [\"event_gap_p99\"]\n");
    for (text, part) in [
        (judge.clone(), "add it"),
        (judge.replace("p99", "p98"), "did you mean"),
    ] {
        let ended = ringside(&["compare", &folder.write("none.toml", &text)]);
        assert_eq!(ended.code, Some(2), "{ended:?}");
        assert_says(&ended.stderr, part);
    }
}

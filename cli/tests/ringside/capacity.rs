//! `ringside capacity` against our own server, whose route `/limited/RATE` has a known capacity.
//! How near it comes is measured elsewhere: here other programs share the processors.

use std::fs;

use rustix::process::Signal;
use serde_json::Value;

use super::child::{Ended, Folder, PATIENCE, Server, assert_says, command, ringside, start};
use super::signals::counting_server;

/// A search of a fraction of a second for each probe; also what it wrote down.
fn search(url: &str, out: &str, more: &[&str]) -> (Ended, Value) {
    let mut words = vec!["capacity", url, "-o", out, "-c", "4", "-d", "200ms"];
    words.extend([
        "--arrivals",
        "constant",
        "--precision",
        "20%",
        "--from",
        "100",
    ]);
    words.extend([
        "--repeats",
        "1",
        "--confirmations",
        "1",
        "--slo",
        "errors<5%",
    ]);
    words.extend(more);
    let ended = ringside(&words);
    let text = fs::read_to_string(format!("{out}/capacity.json"))
        .unwrap_or_else(|error| panic!("{error}: {}\n{}", ended.stdout, ended.stderr));
    (ended, serde_json::from_str(&text).unwrap())
}

#[test]
fn the_capacity_of_a_limited_route_is_bracketed_from_both_sides() {
    let (server, folder) = (Server::start(&[]), Folder::new());
    let out = folder.path("out");
    let (ended, found) = search(&server.at("/limited/300"), &out, &["--at-least", "10k"]);
    assert_eq!(ended.code, Some(99), "{}\n{}", ended.stdout, ended.stderr);
    assert_says(&ended.stderr, "--at-least 10000/s: the search didn't show");
    assert_says(&ended.stdout, "What can be concluded");
    assert!(!ended.stdout.contains('\x1b'));
    let found = &found["rows"][0]["found"];
    // What is let through for a moment beyond the rate is what the bucket holds.
    let held = found["held"]["rate"].as_f64().unwrap();
    assert!(held < 330.0, "{found}");
    assert!(found["failed"]["rate"].as_f64().unwrap() > held, "{found}");
    for name in [
        "report.md",
        "report.csv",
        "report.html",
        "rounds/target/001.json",
    ] {
        assert!(fs::metadata(format!("{out}/{name}")).is_ok(), "{name}");
    }
    let index = folder.path("index.html");
    let again = ringside(&["report", &out, &out, "-o", &index]);
    assert_eq!(again.code, Some(0), "{}", again.stderr);
    assert_eq!(again.stdout, ended.stdout.repeat(2));
    assert_says(&fs::read_to_string(index).unwrap(), "out/report.html");
}

#[test]
fn a_search_that_begins_with_too_few_connections_adds_some_and_finds_the_servers_capacity() {
    let (server, folder) = (Server::start(&[]), Folder::new());
    let url = server.at("/delay/20ms");
    let search = |out: &str| {
        let mut words = vec!["capacity", &url, "-o", out, "-d", "500ms"];
        words.extend(["--arrivals", "constant", "--precision", "20%"]);
        words.extend(["--from", "100", "--to", "2k", "--slo", "p90<150ms"]);
        words.extend(["--repeats", "1", "--confirmations", "1"]);
        ringside(&words)
    };
    // Where others take the generator's CPU, the search ends before it knows that connections are
    // what is missing, and says so: that's no answer here.
    let mut searches = (1..=5).map(|attempt| {
        let out = folder.path(&format!("out-{attempt}"));
        let ended = search(&out);
        assert_eq!(ended.code, Some(0), "{}\n{}", ended.stdout, ended.stderr);
        let found = fs::read_to_string(format!("{out}/capacity.json")).unwrap();
        let found: Value = serde_json::from_str(&found).unwrap();
        let row = &found["rows"][0];
        let first = row["points"][0]["connections"].as_u64().unwrap();
        let last = row["connections"].as_u64().unwrap();
        // Fifty answers a second over each of them.
        let held = row["found"]["held"]["rate"].as_f64().unwrap_or_default();
        let is_beyond = last > first && held > 50.0 * first as f64;
        (ended, found, (first, last), is_beyond)
    });
    let answer = searches.find(|(_, found, _, is_beyond)| {
        let ending = &found["rows"][0]["found"]["ending"];
        *is_beyond || ending.get("generator_limited").is_none()
    });
    let (ended, found, (first, last), is_beyond) =
        answer.expect("one of five has the CPU that it needs");
    assert!(is_beyond, "{first} to {last}: {}", ended.stdout);
    let said = format!("{first} to {last} connections");
    assert_eq!(found["load"], Value::from(said.as_str()));
    let shown: Vec<&str> = ended.stdout.split_whitespace().collect();
    assert_says(&shown.join(" "), &said);
}

#[test]
fn a_lower_bound_is_called_one_and_is_enough_for_what_it_reaches() {
    let (server, folder) = (Server::start(&[]), Folder::new());
    let more = ["--to", "200", "--at-least", "100", "--usl", "1,2,3,4,5,6"];
    let (ended, found) = search(&server.at("/"), &folder.path("out"), &more);
    assert_eq!(ended.code, Some(0), "{}\n{}", ended.stdout, ended.stderr);
    assert_says(&ended.stdout, "a lower bound");
    assert_eq!(found["rows"][0]["found"]["ending"], "highest_held");
    assert_eq!(
        found["rows"][0]["scaling"]["points"]
            .as_array()
            .unwrap()
            .len(),
        18
    );
    let few = [
        "capacity",
        &server.at("/"),
        "--slo",
        "p99<1s",
        "--usl",
        "1,2,2,2,2,2",
    ];
    let refused = ringside(&few);
    assert_eq!(refused.code, Some(2), "{}", refused.stdout);
    assert_says(&refused.stderr, "needs 6 to 64 different numbers");
}

#[test]
fn the_first_question_waits_for_as_long_as_any_request_may_take() {
    let (server, folder) = (Server::start(&[]), Folder::new());
    let (url, out) = (server.at("/delay/1s"), folder.path("out"));
    let ended = ringside(&["capacity", &url, "-T", "50ms", "--slo=p99<1s", "-o", &out]);
    assert_eq!(ended.code, Some(1), "{}\n{}", ended.stdout, ended.stderr);
    assert!(folder.names().is_empty());
}

#[test]
fn a_search_that_begins_higher_than_it_was_asked_to_says_so() {
    let (server, folder) = (Server::start(&[]), Folder::new());
    let (url, out) = (server.at("/"), folder.path("out"));
    let mut words = vec![
        "capacity",
        &url,
        "-o",
        &out,
        "-d",
        "200ms",
        "--slo",
        "errors<5%",
    ];
    words.extend([
        "--repeats",
        "1",
        "--confirmations",
        "1",
        "--precision",
        "50%",
    ]);
    let ended = ringside(&[&words[..], &["--from", "10", "--to", "40"]].concat());
    assert_eq!(ended.code, Some(0), "{}\n{}", ended.stdout, ended.stderr);
    for said in [&ended.stdout, &ended.stderr] {
        let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_says(&said, "The search starts at 3");
        assert_says(&said, ", not at 10/s: below that, even the longest probe");
    }
    // Every probe is there, with its connections and what decided.
    for part in ["because", "connections", "errors<5%: 0"] {
        assert_says(&ended.stdout, part);
    }
}

#[test]
fn ctrl_c_ends_a_search_with_130_and_what_was_found() {
    let (url, reached) = counting_server(20);
    let folder = Folder::new();
    let out = folder.path("out");
    let words = ["capacity", &url, "-d", "10m", "--slo", "p99<1s", "-o", &out];
    let running = start(&mut command(&words));
    reached.recv_timeout(PATIENCE).expect("requests come");
    running.signal(Signal::INT);
    let ended = running.end();
    assert_eq!(ended.code, Some(130), "{}", ended.stderr);
    assert_says(&ended.stdout, "it was interrupted");
    let found = fs::read_to_string(format!("{out}/capacity.json")).unwrap();
    let found: Value = serde_json::from_str(&found).unwrap();
    assert_eq!(found["ended_early"], "it was interrupted");
}

#[test]
fn what_cannot_be_searched_is_said_before_anything_is_written() {
    let folder = Folder::new();
    let out = folder.path("out");
    let slo = "--slo=p99<1s";
    let timed = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../comparisons/claims/fib.toml"
    );
    for (words, code, part) in [
        (vec![timed, slo, "-d", "1s"], 2, "a comparison of servers"),
        (vec!["http://127.0.0.1:1/", slo], 1, "127.0.0.1:1"),
        (vec!["http://127.0.0.1:1/"], 2, "--slo 'p99<10ms'"),
        (
            vec!["http://127.0.0.1:1/", slo, "--from", "900", "--to", "500"],
            2,
            "a lower --from",
        ),
        (
            vec!["http://127.0.0.1:1/", slo, "--precision", "0.1%"],
            2,
            "use 0.5 %",
        ),
        (vec!["nowhere.toml", slo], 2, "can't be read"),
        (vec!["nowhere.toml", slo, "-c", "7"], 2, "[workload]"),
    ] {
        let mut all = vec!["capacity", "-o", &out];
        all.extend(&words);
        let ended = ringside(&all);
        assert_eq!(ended.code, Some(code), "{words:?}: {}", ended.stderr);
        assert_says(&ended.stderr, part);
        assert_eq!(ended.stdout, "");
    }
    assert!(folder.names().is_empty());
}

/// The words of a search of two probes, as far as it gets, and its report on one line.
fn wrongly_answered(words: &[&str], out: &str) -> (Ended, String, Value) {
    let mut all = vec![
        "capacity", "-o", out, "--slo", "p99<2s", "-d", "300ms", "-c", "4",
    ];
    all.extend(["--from", "500", "--to", "1k", "--repeats", "1"]);
    all.extend(["--confirmations", "1", "--arrivals", "constant"]);
    all.extend(words);
    let ended = ringside(&all);
    let shown: Vec<&str> = ended.stdout.split_whitespace().collect();
    let shown = shown.join(" ");
    let found = fs::read_to_string(format!("{out}/capacity.json")).unwrap();
    (ended, shown, serde_json::from_str(&found).unwrap())
}

#[test]
fn a_search_of_what_is_never_answered_well_stops_soon_and_says_what_came() {
    let (server, folder) = (Server::start(&[]), Folder::new());
    let (out, url) = (folder.path("out"), server.at("/status/404"));
    let (ended, shown, found) = wrongly_answered(&[&url], &out);
    assert_eq!(ended.code, Some(1), "{}\n{}", ended.stdout, ended.stderr);
    assert_says(
        &ended.stderr,
        "the target answered with status 404; if it keeps",
    );
    let rates = found["rows"][0]["points"].as_array().unwrap();
    let rates: Vec<&Value> = rates.iter().map(|point| &point["rate"]).collect();
    assert_eq!(rates, [500.0, 125.0], "{shown}");
    let says = "is unknown: at 125/s as at 500/s, every answer was a 404. Lower rates don't help";
    assert_says(&shown, says);
    for other in [
        "couldn't send",
        "The generator was",
        "were due were answered:",
    ] {
        assert!(!shown.contains(other), "{shown}");
    }
    for report in ["report.md", "report.html"] {
        let report = fs::read_to_string(format!("{out}/{report}")).unwrap();
        assert_says(&report, "at 125/s as at 500/s, every answer was a 404.");
    }
    let again = ringside(&["report", &out]);
    assert_eq!(again.stdout, ended.stdout);
    // What is expected is no failure, and nothing is said of it.
    let words = [&url, "--expect", "status=404"];
    let out = folder.path("expected");
    let (ended, shown, found) = wrongly_answered(&words, &out);
    assert_eq!(ended.code, Some(0), "{}\n{}", ended.stdout, ended.stderr);
    assert_eq!(found["cautions"], Value::Array(Vec::new()), "{shown}");
}

#[test]
fn a_search_names_the_request_of_a_mix_that_is_answered_wrongly() {
    let (server, folder) = (Server::start(&[]), Folder::new());
    let (file, out) = (folder.path("mix.http"), folder.path("out"));
    let text = format!(
        "### home\nGET {0}/\n### more\nGET {0}/?a\n### greets\n# @expect body~Bonjour\nGET {0}/\n",
        server.at("").trim_end_matches('/')
    );
    fs::write(&file, text).unwrap();
    let (ended, shown, found) = wrongly_answered(&["--targets", &file], &out);
    assert_eq!(ended.code, Some(3), "{}\n{}", ended.stdout, ended.stderr);
    let points = found["rows"][0]["points"].as_array().unwrap();
    assert_eq!(points.len(), 2, "{shown}");
    let told = "answers were wrong: greets: expected body~Bonjour (";
    for report in ["report.md", "report.html", "report.csv"] {
        let report = fs::read_to_string(format!("{out}/{report}")).unwrap();
        assert_says(&report, "e.g. got Hello, World!");
        assert_says(&report, "greets");
    }
    assert_says(&shown, told);
    assert_says(&shown, "e.g. got Hello, World!. Lower rates don't help");
    assert!(!shown.contains("were due were answered:"), "{shown}");
}

#[test]
fn requests_that_differ_are_searched_with_an_objective_for_one_of_them() {
    let (server, folder) = (Server::start(&[]), Folder::new());
    let (file, data) = (folder.path("mix.http"), folder.path("rates.csv"));
    let text = format!(
        "### plain\nGET {0}/\n### item\nGET {0}/limited/{{{{rate}}}}\n",
        server.at("").trim_end_matches('/')
    );
    fs::write(&file, text).unwrap();
    fs::write(&data, "rate\n200\n").unwrap();
    let out = folder.path("out");
    let search = |more: &[&str]| {
        let mut words = vec!["capacity", "--targets", &file, "--data", &data, "-o", &out];
        words.extend(["-c", "4", "-d", "200ms", "--arrivals", "constant"]);
        words.extend(["--precision", "20%", "--from", "100", "--repeats", "1"]);
        words.extend(["--confirmations", "1"]);
        words.extend(more);
        ringside(&words)
    };
    let refused = search(&["--slo", "errors{else}<5%"]);
    assert_eq!(refused.code, Some(2), "{}", refused.stdout);
    assert_says(&refused.stderr, "the steps are plain, item");
    let ended = search(&["--slo", "errors{item}<5%"]);
    assert_eq!(ended.code, Some(0), "{}\n{}", ended.stdout, ended.stderr);
    let found = fs::read_to_string(format!("{out}/capacity.json")).unwrap();
    let found: Value = serde_json::from_str(&found).unwrap();
    assert_says(found["asked"].as_str().unwrap(), "2 requests of ");
    let held = found["rows"][0]["found"]["held"]["rate"].as_f64().unwrap();
    // Half of all is limited to 200 a second, and what its bucket holds.
    assert!((100.0..500.0).contains(&held), "{held}");
    let round = fs::read_to_string(format!("{out}/rounds/target/001.json")).unwrap();
    let round: Value = serde_json::from_str(&round).unwrap();
    assert_eq!(round["record"]["steps"][1]["name"], "item", "{round}");
}

/// What a search found, whose exit code is 0.
fn found(words: &[&str], out: &str) -> Value {
    let short = [
        "-c",
        "4",
        "-d",
        "200ms",
        "--precision",
        "20%",
        "--from",
        "50",
    ];
    let once = ["--repeats", "1", "--confirmations", "1", "-o", out];
    let ended = ringside(&[&["capacity"], words, &short[..], &once[..]].concat());
    assert_eq!(ended.code, Some(0), "{}\n{}", ended.stdout, ended.stderr);
    let found = fs::read_to_string(format!("{out}/capacity.json")).unwrap();
    serde_json::from_str(&found).unwrap()
}

#[test]
fn flows_of_users_and_a_replay_are_searched_for_rates_of_their_own() {
    let (server, folder) = (Server::start(&[]), Folder::new());
    let base = format!("base={}", server.at("").trim_end_matches('/'));
    let text = "GET {{base}}/\nHTTP 200\n\nGET {{base}}/limited/200\nHTTP 200\n";
    let (flow, out) = (folder.write("shop.hurl", text), folder.path("flows"));
    let whole = found(
        &[&flow, "--variable", &base, "--slo", "errors{(flow)}<5%"],
        &out,
    );
    assert_eq!(whole["of_flows"], true, "{whole}");
    assert_says(whole["asked"].as_str().unwrap(), "2 requests of ");
    let held = whole["rows"][0]["found"]["held"]["rate"].as_f64().unwrap();
    // Each flow asks the route once that is answered 200 times a second, and its bucket holds some.
    assert!((50.0..400.0).contains(&held), "{held}");
    let report = fs::read_to_string(format!("{out}/report.md")).unwrap();
    assert_says(&report, "the flows that were due were finished");
    assert_says(&report, "(flow)");
    let mut log = String::new();
    for second in 0..4 {
        for path in ["/", "/limited/200?n=1"] {
            let time = format!("28/Nov/2026:10:00:{second:02} +0000");
            log += &format!("::1 - - [{time}] \"GET {path} HTTP/1.1\" 200 5\n");
        }
    }
    let (log, out) = (folder.write("access.log", &log), folder.path("replay"));
    let url = server.at("");
    let replay = found(&[&url, "--replay", &log, "--slo", "errors<5%"], &out);
    assert_eq!(replay["replayed"], true, "{replay}");
    let held = replay["rows"][0]["found"]["held"]["rate"].as_f64().unwrap();
    assert!((50.0..1000.0).contains(&held), "{held}");
    let round = fs::read_to_string(format!("{out}/rounds/target/001.json")).unwrap();
    let round: Value = serde_json::from_str(&round).unwrap();
    let schedule = &round["record"]["plan"]["schedule"];
    // Two requests a second as they were made, and fifty as they are sent.
    assert_eq!(schedule["kind"], "trace", "{schedule}");
    assert!(schedule["speed"].as_f64().unwrap() > 10.0, "{schedule}");
    let refused = ["capacity", &url, "--replay", &log, "--slo", "p99<1s"];
    let refused = ringside(&[&refused[..], &["--usl", "1,2,4,8,16,32"]].concat());
    assert_eq!(refused.code, Some(2), "{}", refused.stdout);
    assert_says(&refused.stderr, "drop --usl");
}

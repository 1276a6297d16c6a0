//! Requests that go to several servers in one run: our own, one of which is killed meanwhile, one
//! that was never there, and several behind TLS.

use std::fs;

use serde_json::Value;

use super::child::{Folder, Server, command, ringside, start, until};

fn file(folder: &Folder, servers: &[&str]) -> String {
    let steps = servers.iter().zip('a'..);
    let steps: String = steps
        .map(|(server, name)| format!("### {name}\nGET {server}/\n\n"))
        .collect();
    folder.write("mix.http", &steps)
}

#[test]
fn each_server_has_connections_of_its_own_and_the_record_says_so() {
    let servers = [(); 3].map(|()| Server::start(&[]));
    let folder = Folder::new();
    let urls = [0, 1, 2].map(|n: usize| servers[n].at(""));
    let mix = file(&folder, &urls.each_ref().map(|url| &**url));
    for more in [
        &[][..],
        &["-R", "300"],
        &["-t2"],
        &["--http2", "-S4"],
        &["--no-keepalive"],
    ] {
        let mut words = vec!["run", "-n300", "-c4", "--format", "json", "--targets", &mix];
        words.extend(more);
        let ended = ringside(&words);
        // At a fixed rate a busy machine may make the generator late.
        assert!(matches!(ended.code, Some(0 | 4)), "{}", ended.stderr);
        let record = ended.record();
        assert_eq!(record["exchanges"]["completed"], 300, "{more:?}: {record}");
        let steps = record["steps"].as_array().unwrap();
        let origins = record["connections"]["origins"].as_array().unwrap();
        assert_eq!((steps.len(), origins.len()), (3, 3), "{more:?}");
        for (step, name) in steps.iter().zip(["a", "b", "c"]) {
            assert_eq!(step["name"], name);
            let completed = step["completed"].as_u64().unwrap();
            assert!(completed.abs_diff(100) <= 1, "{more:?}: {step}");
        }
        for (origin, url) in origins.iter().zip(&urls) {
            assert_eq!(origin["origin"], **url, "{more:?}");
            assert_eq!(origin["asked"], 4);
            assert!(
                origin["opened"].as_u64().unwrap() >= 4,
                "{more:?}: {origin}"
            );
        }
    }
    let text = ringside(&["run", "-n30", "-c4", "--targets", &mix]);
    let line = format!("  {}: 4 opened for 4\n", urls[1]);
    assert!(text.stdout.contains(&line), "{}", text.stdout);
}

#[test]
fn a_server_that_was_never_there_is_named_before_anything_is_sent() {
    let servers = [(); 2].map(|()| Server::start(&[]));
    let folder = Folder::new();
    let mix = file(
        &folder,
        &[&servers[0].at(""), "http://127.0.0.1:9", &servers[1].at("")],
    );
    let ended = ringside(&["run", "-n30", "--targets", &mix]);
    assert_eq!(ended.code, Some(1), "{}", ended.stderr);
    assert!(
        ended.stderr.contains("http://127.0.0.1:9/"),
        "{}",
        ended.stderr
    );
}

#[test]
fn a_server_that_is_killed_meanwhile_fails_its_own_requests_and_no_other() {
    for more in [&["-d3s"][..], &["-d3s", "-R600"]] {
        let mut servers = [(); 3].map(|()| Some(Server::start(&[])));
        let folder = Folder::new();
        let urls = [0, 1, 2].map(|n: usize| servers[n].as_ref().unwrap().at(""));
        let mix = file(&folder, &urls.each_ref().map(|url| &**url));
        let out = folder.path("record.json");
        let mut words = vec![
            "run",
            "-c4",
            "--format",
            "json",
            "-o",
            &out,
            "--targets",
            &mix,
        ];
        words.extend(more);
        let running = start(&mut command(&words));
        let killed = servers[1].take().unwrap();
        let busy = format!("/proc/{}/net/tcp", killed.pid());
        let port = killed.authority().rsplit(':').next().unwrap();
        let port = format!(":{:04X} ", port.parse::<u16>().unwrap());
        until("it is being loaded", || {
            let sockets = fs::read_to_string(&busy).unwrap_or_default();
            let established = |line: &&str| line.contains(&port) && line.contains(" 01 ");
            sockets.lines().filter(established).count() >= 4
        });
        drop(killed);
        let ended = running.end();
        // A busy machine may make the generator late.
        assert!(matches!(ended.code, Some(0 | 4)), "{}", ended.stderr);
        let record: Value = serde_json::from_str(&fs::read_to_string(&out).unwrap()).unwrap();
        let steps = record["steps"].as_array().unwrap();
        let figure = |step: usize, name: &str| steps[step][name].as_u64().unwrap();
        for (step, name) in [(0, "a"), (2, "c")] {
            assert_eq!(figure(step, "failed"), 0, "{more:?}: {name}");
            assert!(figure(step, "completed") > 100, "{more:?}: {name}");
        }
        let lost = figure(1, "failed") + figure(1, "unfinished");
        assert!(lost > 0, "{more:?}: {}", steps[1]);
        let away = &record["connections"]["origins"][1];
        assert!(away["failed_attempts"].as_u64().unwrap() > 0, "{away}");
    }
}

#[test]
fn each_server_behind_tls_is_asked_for_by_its_own_name() {
    let servers = [(); 2].map(|()| Server::start(&["--tls"]));
    let folder = Folder::new();
    // The certificates are for these names, and each is expected of its own.
    let named = [("localhost", 0), ("127.0.0.1", 1)].map(|(name, n): (&str, usize)| {
        let port = servers[n].authority().rsplit(':').next().unwrap();
        format!("https://{name}:{port}")
    });
    let mix = file(&folder, &named.each_ref().map(|url| &**url));
    let ended = ringside(&[
        "run",
        "-n40",
        "-c2",
        "--insecure",
        "--format",
        "json",
        "--targets",
        &mix,
    ]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert_eq!(ended.record()["exchanges"]["completed"], 40);
}

#[test]
fn calls_of_grpc_go_to_several_servers_each_of_which_describes_its_own() {
    let servers = [(); 2].map(|()| Server::start(&[]));
    let folder = Folder::new();
    let [first, second] = servers.each_ref().map(Server::authority);
    let calls = format!(
        "### echo\nGRPC {first}/ringside.Echo/Echo\n\n{{\"payload\": \"aGk=\"}}\n\n\
         ### health\nGRPC {second}/grpc.health.v1.Health/Check\n"
    );
    let path = folder.write("calls.http", &calls);
    let ended = ringside(&["run", "-n40", "-c2", "--format", "json", "--targets", &path]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let record = ended.record();
    assert_eq!(record["grpc_status"]["OK"], 40, "{record}");
    assert_eq!(record["steps"][0]["completed"], 20);
    let origins = record["connections"]["origins"].as_array().unwrap();
    assert_eq!(
        origins[1]["origin"],
        format!("grpc://{second}"),
        "{origins:?}"
    );
}

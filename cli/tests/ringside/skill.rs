//! The page for programs and agents (`docs/src/skill.md`): each of its commands is run as it stands
//! there, in a shell, against servers that are measured for milliseconds instead of minutes. What
//! the page says of outputs and exit codes holds.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use rustix::process::Signal;
use serde_json::Value;

use super::child::{Ended, Folder, Server, assert_says, command, comparison_of_ours, start, until};
use super::gate::{git, repository};
use super::ports::free_port;
use super::start::{SERVES, program};

/// For a search on a machine that does much else.
const PATIENCE: Duration = Duration::from_secs(300);

/// A command of the page, and how it is made short: what stands there instead of what, and what is
/// said besides. Then the exit codes that the page has for it: a busy machine may make figures
/// void, or cross a threshold of time, but nothing else.
struct Told {
    command: &'static str,
    instead: &'static [(&'static str, &'static str)],
    more: &'static str,
    codes: &'static [i32],
}

const fn told(
    command: &'static str,
    instead: &'static [(&'static str, &'static str)],
    more: &'static str,
    codes: &'static [i32],
) -> Told {
    Told {
        command,
        instead,
        more,
        codes,
    }
}

const SHORT: &[(&str, &str)] = &[
    ("-d 30s", "-d 200ms"),
    ("--warmup 5s", "--warmup 10ms"),
    ("-c 50", "-c 5"),
];
const SESSIONS: &[(&str, &str)] = &[
    ("NIGHTLY", "sessions/day-00"),
    ("TODAY", "sessions/day-11"),
    ("history DIR", "history sessions"),
];
const HOLD: &[(&str, &str)] = &[
    ("-c 10k -d 10m", "-c 10 -d 200ms"),
    ("ws://localhost:8080/ws", "ws://HOST/ws"),
];
const LITTLE: &str = "--rounds 2 --duration 50ms";
const ANY: &[(&str, &str)] = &[
    ("WORD", "steal"),
    ("SUBJECT", "server"),
    ("DIR", "compared"),
];
const CAPACITY: &[(&str, &str)] = &[("-o DIR", "-o capacity")];

/// All of the page, in its order, each once.
const COMMANDS: [Told; 17] = [
    told("ringside doctor --format json", ANY, "", &[0]),
    told(
        "ringside run -c 50 -d 30s --warmup 5s --format json URL",
        SHORT,
        "",
        &[0, 4],
    ),
    told(
        "ringside run -R 1k -c 50 -d 30s --warmup 5s --format json URL",
        SHORT,
        "",
        &[0, 4],
    ),
    told(
        "ringside capacity --slo 'p99<20ms' --slo 'errors<0.1%' -o DIR URL",
        CAPACITY,
        "--from 2k --to 4k -d 300ms",
        &[0, 3, 4],
    ),
    told(
        "ringside compare --start './a {port}' --start './b {port}' -o DIR",
        ANY,
        LITTLE,
        &[0],
    ),
    told(
        "ringside gate SUBJECT --base main --format json",
        ANY,
        "",
        &[0],
    ),
    told("ringside history DIR --format json", SESSIONS, "", &[0]),
    told("ringside diff NIGHTLY TODAY", SESSIONS, "", &[0, 5, 99]),
    told(
        "ringside hold -c 10k -d 10m --format json ws://localhost:8080/ws",
        HOLD,
        "",
        &[0, 4],
    ),
    told("ringside explain WORD", ANY, "", &[0]),
    told(
        "ringside run -R 1k -c 50 -d 30s --warmup 5s --threshold 'p99<20ms' --format json \
         -o run.json URL",
        SHORT,
        "",
        &[0, 4, 99],
    ),
    told("ringside report --format json DIR", ANY, "", &[0]),
    told("ringside schema", ANY, "", &[0]),
    told("ringside schema record", ANY, "", &[0]),
    told("ringside explain 4", ANY, "", &[0]),
    told("ringside run -n 1 URL", ANY, "", &[0, 4]),
    told("ringside pack DIR", ANY, "-o pack.tar.xz", &[0]),
];

/// The commands that the page shows as commands: with a verb and what it takes.
fn commands(page: &str) -> BTreeSet<String> {
    let (mut found, mut in_block) = (BTreeSet::new(), false);
    for line in page.lines() {
        if line.starts_with("```") {
            in_block = !in_block;
        } else if in_block {
            found.extend(line.starts_with("ringside ").then(|| line.to_owned()));
        } else {
            let code = line.split('`').skip(1).step_by(2);
            let whole = code.filter(|code| code.starts_with("ringside ") && code.contains(' '));
            found.extend(whole.map(str::to_owned));
        }
    }
    found
}

/// A folder in which all that the page names is there.
fn place() -> Folder {
    let folder = repository();
    for name in ["a", "b"] {
        program(&folder, name, SERVES);
    }
    git(&folder, &["add", "--all"]);
    git(&folder, &["commit", "--quiet", "--message=x"]);
    // What commands write here is no change of the server.
    let written = "/.scratch\n/capacity\n/compared\n/pack.tar.xz\n/run.json\n/sessions\n";
    folder.write(".git/info/exclude", written);
    super::history::sessions(&folder, 12, 5);
    folder
}

/// Runs what a user would type.
fn typed(folder: &Folder, line: &str) -> Ended {
    let mut shell = Command::new("sh");
    shell.args(["-c", line]).current_dir(folder.path("."));
    let program = Path::new(env!("CARGO_BIN_EXE_ringside"));
    let path = std::env::var("PATH").unwrap_or_default();
    let own = program.parent().expect("a folder").display();
    shell.env("PATH", format!("{own}:{path}"));
    shell.env("XDG_CACHE_HOME", folder.path(".scratch/cache"));
    start(&mut shell).end_within(PATIENCE)
}

#[test]
fn every_command_of_the_page_does_what_the_page_says() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/src/skill.md");
    let page = fs::read_to_string(page).unwrap();
    let mut untold = commands(&page);
    untold.remove("ringside doctor"); // It's the first of the list, for people.
    let (folder, server) = (place(), Server::start(&[]));
    let mut said = Vec::new();
    for Told {
        command,
        instead,
        more,
        codes,
    } in COMMANDS
    {
        assert!(untold.remove(command), "the page doesn't have {command}");
        let short = instead
            .iter()
            .fold(command.to_owned(), |line, (long, short)| {
                line.replace(long, short)
            });
        let line = short.replace("HOST", server.authority());
        let line = format!("{} {more}", line.replace("URL", &server.at("/")));
        let ended = typed(&folder, &line);
        let code = ended.code.expect("an end");
        assert!(
            codes.contains(&code),
            "{line}: {code}\n{}\n{}",
            ended.stdout,
            ended.stderr
        );
        if line.contains("--format json") && !line.contains("-o run.json") {
            assert!(ended.record().is_object(), "{line}");
        }
        said.push(ended);
    }
    assert_eq!(
        untold,
        BTreeSet::new(),
        "commands of the page that nobody tries"
    );
    // What is to be read first is there, and what the page says is written.
    for record in [said[2].record(), read(&folder, "run.json")] {
        for key in [
            "schema_version",
            "valid",
            "warnings",
            "thresholds",
            "errors",
        ] {
            assert!(!record[key].is_null(), "{key}");
        }
        assert!(record["generator"]["limited"].is_boolean(), "{record}");
        assert!(record["response_time_us"]["count"].is_u64(), "{record}");
        assert!(record["offered_rate"].is_number() && record["achieved_rate"].is_number());
    }
    assert_eq!(said[10].stdout, "", "-o FILE has it instead");
    for file in ["report.md", "report.html", "report.json"] {
        assert!(
            fs::exists(folder.path(&format!("compared/{file}"))).unwrap(),
            "{file}"
        );
    }
    assert_eq!(said[11].record()["schema_version"], 1);
    assert!(fs::exists(folder.path("pack.tar.xz")).unwrap());
    assert_eq!(said[5].record()["verdict"], "nothing_to_compare");
    assert_says(&said[13].stdout, "\"description\"");
}

fn read(folder: &Folder, name: &str) -> Value {
    serde_json::from_str(&fs::read_to_string(folder.path(name)).unwrap()).unwrap()
}

#[test]
fn every_exit_code_of_the_page_comes_when_the_page_says() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/src/skill.md");
    let page = fs::read_to_string(page).unwrap();
    let (_, table) = page.split_once("## Branch on the exit code\n").unwrap();
    let table = table.split("\n## ").next().unwrap();
    let rows = table.lines().filter_map(|line| line.strip_prefix("| "));
    let cells = rows.map(|row| row.split(" | ").next().unwrap_or_default());
    let codes = cells
        .flat_map(|cell| cell.split(", "))
        .filter_map(|code| code.parse().ok());
    let mut untried: BTreeSet<i32> = codes.collect();
    assert_eq!(untried.len(), 9);
    let (folder, server) = (Folder::new(), Server::start(&[]));
    let sessions = super::history::sessions(&folder, 12, 5);
    let (good, bad) = (server.at("/"), server.at("/status/500"));
    broken(&folder);
    for (code, line) in [
        (
            0,
            format!("ringside run -n 20 --threshold 'errors<=0%' {good}"),
        ),
        (
            99,
            format!("ringside run -n 20 --threshold 'errors<0.1%' {bad}"),
        ),
        (4, format!("ringside run -n 3 --threshold 'p99<1h' {good}")),
        (
            5,
            format!("ringside diff {sessions}/day-00 {sessions}/day-01"),
        ),
        (1, format!("ringside run -n 1 http://{}", nobody())),
        (2, "ringside run --nonsense".to_owned()),
        (3, "ringside compare test.toml -o compared".to_owned()),
    ] {
        let mut ended = typed(&folder, &line);
        // On a machine that is busy otherwise, any figure may be void.
        for _ in 1..20 {
            if code != 0 || ended.code != Some(4) {
                break;
            }
            ended = typed(&folder, &line);
        }
        let said = format!("{line}\n{}\n{}", ended.stdout, ended.stderr);
        assert_eq!(ended.code, Some(code), "{said}");
        untried.remove(&code);
    }
    assert!(fs::exists(folder.path("compared/rounds/ours/001.json")).unwrap());
    for (signal, code) in [(Signal::INT, 130), (Signal::TERM, 143)] {
        let ended = stopped(&folder, &good, signal);
        assert_eq!(ended.code, Some(code), "{}", ended.stderr);
        assert!(ended.record()["exchanges"]["completed"].as_u64() > Some(0));
        untried.remove(&code);
    }
    assert_eq!(untried, BTreeSet::new());
}

/// Writes a comparison of a server with one that doesn't start.
fn broken(folder: &Folder) {
    let file = comparison_of_ours(folder, "", NEXT_TO_NOTHING);
    let ours = fs::read_to_string(folder.path("subjects/ours/subject.toml")).unwrap();
    fs::create_dir(folder.path("subjects/broken")).unwrap();
    folder.write(
        "subjects/broken/subject.toml",
        &ours.replace("exec", "exit 7;"),
    );
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, text.replace("[\"ours\"]", "[\"ours\", \"broken\"]")).unwrap();
}

/// A run that a signal stops when something was measured.
fn stopped(folder: &Folder, url: &str, signal: Signal) -> Ended {
    let lines = folder.path("intervals");
    let words = [
        "run",
        "-d",
        "10m",
        "--format",
        "json",
        "--intervals",
        &lines,
        url,
    ];
    let running = start(&mut command(&words));
    until("a second is told", || {
        fs::read_to_string(&lines).is_ok_and(|text| text.lines().count() > 1)
    });
    running.signal(signal);
    let ended = running.end();
    fs::remove_file(&lines).unwrap();
    ended
}

/// A comparison that measures next to nothing.
const NEXT_TO_NOTHING: &str = "rounds = 1\naa = false\nceiling = false\n[workload]\n\
                              connections = 1\nwindow = \"20ms\"\nsettle = \"1ms\"\n\
                              warm_up = \"1ms\"\n";

/// Where nobody listens.
fn nobody() -> String {
    format!("127.0.0.1:{}", free_port())
}

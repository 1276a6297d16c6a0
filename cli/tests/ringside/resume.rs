//! Comparisons that could not come to their end, and go on: one that was killed.

use std::collections::BTreeMap;
use std::fs;
use std::net::TcpListener;
use std::path::Path;

use rustix::process::Signal;

use super::child::{Folder, alive, assert_says, command, ringside, start, until};

/// Writes a comparison of our server with itself into `folder`, of so many rounds, and gives its
/// path. Each start writes its process id and its port into `folder`, and leaves a process that is
/// no longer of its group.
fn comparison(folder: &Folder, rounds: u32) -> String {
    let said = folder.path("said");
    let script = format!(
        "setsid sh -c 'echo $$ 0 >>{said}; exec sleep 1000' & echo $$ {{port}} >>{said}; \
         exec {{ringside}} serve --addr 127.0.0.1:{{port}}"
    );
    let subject = format!(
        "description = \"ours\"\nkind = \"server\"\n[start]\n\
         command = [\"sh\", \"-c\", \"{script}\"]\n[ready]\npath = \"/health\"\n\
         [[answer]]\npath = \"/\"\nstatus = 200\nbody = \"Hello, World!\"\n"
    );
    fs::create_dir_all(folder.path("subjects/ours")).unwrap();
    fs::write(folder.path("subjects/ours/subject.toml"), subject).unwrap();
    let file = folder.path("test.toml");
    let text = format!(
        "name = \"test\"\nquestion = \"?\"\nsubjects = [\"ours\"]\nrounds = {rounds}\naa = false\n\
         ceiling = false\n[workload]\npath = \"/\"\nconnections = 2\nwindow = \"100ms\"\n\
         settle = \"20ms\"\nwarm_up = \"20ms\"\n"
    );
    fs::write(&file, text).unwrap();
    file
}

/// The rounds of `ours` in the comparison in `out`, as they are on the disk.
fn rounds(out: &str) -> BTreeMap<String, Vec<u8>> {
    let Ok(entries) = fs::read_dir(format!("{out}/rounds/ours")) else {
        return BTreeMap::new();
    };
    let paths = entries.map(|entry| entry.unwrap().path());
    let whole = paths.filter(|path| path.extension().is_some_and(|ending| ending == "json"));
    whole
        .map(|path| {
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            (name, fs::read(&path).unwrap())
        })
        .collect()
}

#[test]
fn a_comparison_that_was_killed_leaves_nobody_and_goes_on_with_what_it_had() {
    let folder = Folder::new();
    let (file, out) = (comparison(&folder, 20), folder.path("out"));
    let running = start(&mut command(&["compare", &file, "-o", &out]));
    until("a round is measured", || !rounds(&out).is_empty());
    running.signal(Signal::KILL);
    let ended = running.end();
    assert_eq!(ended.code, None, "{}{}", ended.stdout, ended.stderr);
    let before = rounds(&out);
    assert!((1..20).contains(&before.len()), "{:?}", before.keys());

    let said = fs::read_to_string(folder.path("said")).unwrap();
    let begun: Vec<(&str, u16)> = said
        .lines()
        .filter_map(|line| line.split_once(' '))
        .map(|(pid, port)| (pid, port.parse().unwrap()))
        .collect();
    assert_eq!(begun.len(), 2, "{said}");
    for (pid, port) in begun {
        until("the killed program's processes end", || !alive(pid));
        until("their port is free", || {
            TcpListener::bind(("127.0.0.1", port)).is_ok()
        });
    }

    // What it leaves when it is killed while it writes.
    let half = format!("{out}/rounds/ours/020.json.tmp");
    fs::write(&half, "{\"schema_version\": 1, \"ro").unwrap();
    let ended = ringside(&["compare", &file, "--resume", &out]);
    assert_eq!(ended.code, Some(0), "{}{}", ended.stdout, ended.stderr);
    let after = rounds(&out);
    assert_eq!(after.len(), 20, "{:?}", after.keys());
    for (name, bytes) in before {
        assert!(after[&name] == bytes, "{name} has changed");
    }
    assert!(!Path::new(&half).exists());
    let report = fs::read_to_string(format!("{out}/report.json")).unwrap();
    let report: serde_json::Value = serde_json::from_str(&report).unwrap();
    let samples = report["subjects"][0]["samples"].as_array().unwrap();
    assert_eq!(samples.len(), 20);
    assert_says(&report["cautions"].to_string(), "was interrupted");
    // The processes of the second start measured the others.
    assert_eq!(samples[0]["start"], 1);
    assert_eq!(samples[19]["start"], 2);
}

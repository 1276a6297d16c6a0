//! Comparisons that could not come to their end, and go on: one that was killed, and one whose disk
//! was full. Also a search for a capacity on such a disk.

use std::fs;
use std::net::TcpListener;
use std::path::Path;
use std::process::Command;

use rustix::process::Signal;

use super::child::{
    Folder, alive, assert_says, command, comparison_of_ours, ringside, rounds, start, until,
};
use super::peers::answers;

/// Writes a comparison of our server alone into `folder`, of so many rounds, and gives its path.
/// Each start of the server has the shell run `before` first.
fn comparison(folder: &Folder, rounds: u32, before: &str) -> String {
    let rest = format!(
        "rounds = {rounds}\naa = false\nceiling = false\n[workload]\npath = \"/\"\n\
         connections = 2\nwindow = \"100ms\"\nsettle = \"20ms\"\nwarm_up = \"20ms\"\n"
    );
    comparison_of_ours(folder, before, &rest)
}

#[test]
fn a_comparison_that_was_killed_leaves_nobody_and_goes_on_with_what_it_had() {
    let folder = Folder::new();
    // Each start tells its process id and its port, and leaves a process that is no longer of its
    // group.
    let said = folder.path("said");
    let before =
        format!("setsid sh -c 'echo $$ 0 >>{said}; exec sleep 1000' & echo $$ {{port}} >>{said};");
    let (file, out) = (comparison(&folder, 20, &before), folder.path("out"));
    let running = start(&mut command(&["compare", &file, "-o", &out]));
    until("a round is measured", || !rounds(&out).is_empty());
    running.signal(Signal::KILL);
    let ended = running.end();
    assert_eq!(ended.code, None, "{}{}", ended.stdout, ended.stderr);
    let before = rounds(&out);
    assert!((1..20).contains(&before.len()), "{:?}", before.keys());

    let said = fs::read_to_string(said).unwrap();
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

/// A disk of its own in `folder`, of four megabytes, which the server of [`comparison`] fills once
/// when it sees the first round on it.
struct Disk {
    folder: Folder,
    file: String,
}

impl Disk {
    /// None where this program may not mount anything, which is said.
    fn new() -> Option<Disk> {
        let mut mounting = Command::new("unshare");
        mounting.args(["-Urm", "mount", "-t", "tmpfs", "tmpfs", "/mnt"]);
        if !answers(&mut mounting, "unshare(1) with the right to mount a tmpfs") {
            return None;
        }
        let folder = Folder::new();
        let (disk, filled) = (folder.path("disk"), folder.path("filled"));
        fs::create_dir(&disk).unwrap();
        let before = format!(
            "( until [ -e {disk}/out/rounds/ours/001.json ] || [ -e {filled} ]; \
             do sleep 0.01; done; \
             [ -e {filled} ] || cat /dev/zero >{disk}/ballast; touch {filled} ) & "
        );
        let file = comparison(&folder, 8, &before);
        Some(Disk { folder, file })
    }

    /// Runs a shell's `script` where the disk is there. `$ringside`, `$file` and `$disk` are what
    /// they are called.
    fn run(&self, script: &str) {
        let script = format!("set -e\nmount -t tmpfs -o size=4m tmpfs \"$disk\"\n{script}");
        let mut shell = Command::new("unshare");
        shell
            .args(["-Urm", "sh", "-c", &script])
            .current_dir(self.folder.path("."))
            .env("ringside", env!("CARGO_BIN_EXE_ringside"))
            .env("file", &self.file)
            .env("disk", self.folder.path("disk"));
        let ended = start(&mut shell).end();
        assert_eq!(ended.code, Some(0), "{}{}", ended.stdout, ended.stderr);
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.folder.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }
}

#[test]
fn a_full_disk_costs_no_figure_and_the_comparison_goes_on_when_there_is_room() {
    let Some(disk) = Disk::new() else {
        return;
    };
    disk.run(
        "code=0; $ringside compare $file -o $disk/out >full.out 2>full.err || code=$?\n\
         echo $code >full.code; cp -r $disk/out full; rm $disk/ballast; code=0\n\
         $ringside compare $file --resume $disk/out >room.out 2>room.err || code=$?\n\
         echo $code >room.code; cp -r $disk/out room",
    );
    let (said, out) = (disk.read("full.err"), disk.read("full.out"));
    assert_eq!(disk.read("full.code").trim(), "3", "{said}{out}");
    assert_says(&said, "No space left on device");
    assert_says(&said, "free some disk space, then continue with --resume");
    // The report for people, then the one for programs, of all rounds.
    let (words, json) = out.split_at(out.find("\n{").expect("JSON") + 1);
    assert_says(words, "ours");
    let report: serde_json::Value = serde_json::from_str(json).unwrap();
    let samples = |report: &serde_json::Value| {
        let samples = report["subjects"][0]["samples"].as_array().unwrap();
        samples.len()
    };
    assert_eq!(samples(&report), 8);

    let kept = rounds(&disk.folder.path("full"));
    assert!((1..8).contains(&kept.len()), "{:?}", kept.keys());
    let half = fs::read_dir(disk.folder.path("full/rounds/ours")).unwrap();
    assert_eq!(half.count(), kept.len(), "something is half written");

    let said = disk.read("room.err");
    assert_eq!(disk.read("room.code").trim(), "0", "{said}");
    let after = rounds(&disk.folder.path("room"));
    assert_eq!(after.len(), 8, "{:?}", after.keys());
    for (name, bytes) in kept {
        assert!(after[&name] == bytes, "{name} has changed");
    }
    let report = serde_json::from_str(&disk.read("room/report.json")).unwrap();
    assert_eq!(samples(&report), 8);
}

#[test]
fn a_full_disk_costs_a_capacity_no_figure() {
    let Some(disk) = Disk::new() else {
        return;
    };
    disk.run(
        "code=0; $ringside capacity $file -o $disk/out --slo 'p99<1s' -d 100ms --from 4k --to \
         8k --repeats 1 --confirmations 1 --precision 20% >full.out 2>full.err || code=$?\n\
         echo $code >full.code; cp -r $disk/out full",
    );
    let (said, out) = (disk.read("full.err"), disk.read("full.out"));
    assert_eq!(disk.read("full.code").trim(), "3", "{said}{out}");
    assert_says(&said, "No space left on device");
    assert_says(&said, "free some disk space before the next search");
    let json = &out[out.find("\n{").expect("JSON")..];
    let found: serde_json::Value = serde_json::from_str(json).unwrap();
    let points = found["rows"][0]["points"].as_array().unwrap();
    let kept = rounds(&disk.folder.path("full"));
    assert!((1..points.len()).contains(&kept.len()), "{:?}", kept.keys());
    let half = fs::read_dir(disk.folder.path("full/rounds/ours")).unwrap();
    assert_eq!(half.count(), kept.len(), "something is half written");
}

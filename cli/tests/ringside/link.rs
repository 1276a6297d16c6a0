//! What a comparison puts between load and subjects: that it's there, as a measurement shows, that
//! it's gone for the next row, and that a row which can't have it says why.

use std::fs;
use std::process::Command;

use rustix::process::geteuid;
use serde_json::Value;

use super::child::{Folder, assert_says, ringside, start};
use super::network::permitted;
use super::skip::{not_permitted, skip};

/// What goes over the narrow rows at most, in bits a second.
const NARROW: f64 = 20e6;
/// The bits of an answer, without its head.
const ANSWER: f64 = 8.0 * 16_384.0;

/// Rows that differ in their network; each start of the server writes down the congestion control
/// that it finds.
fn comparison(folder: &Folder, seen: &str) -> String {
    let script = format!(
        "cat /proc/sys/net/ipv4/tcp_congestion_control >>{seen}; exec {{ringside}} serve --addr \
         127.0.0.1:{{port}}"
    );
    let subject = format!(
        "description = \"ours\"\nkind = \"server\"\n[start]\n\
         command = [\"sh\", \"-c\", \"{script}\"]\n[ready]\npath = \"/health\"\n\
         [[answer]]\npath = \"/bytes/{{payload}}\"\nstatus = 200\nbody = \"{{payload}}\"\n"
    );
    fs::create_dir_all(folder.path("subjects/ours")).unwrap();
    folder.write("subjects/ours/subject.toml", &subject);
    let rows = [
        ("loopback", ""),
        ("narrow", "bandwidth = \"20Mbit\""),
        (
            "controlled",
            "bandwidth = \"20Mbit\", congestion = \"reno\"",
        ),
        ("unknown", "congestion = \"nobody\""),
        ("far", "delay = \"20ms\""),
    ];
    let rows = rows.map(|(name, network)| {
        format!("[[rows]]\nname = \"{name}\"\nsubject = \"ours\"\nnetwork = {{ {network} }}\n")
    });
    let text = format!(
        "name = \"link\"\nquestion = \"?\"\nrounds = 2\naa = false\nceiling = false\n\
         [workload]\npath = \"/bytes/{{payload}}\"\npayload = \"16K\"\nconnections = 4\n\
         window = \"1s\"\nsettle = \"100ms\"\nwarm_up = \"50ms\"\n{}",
        rows.concat()
    );
    folder.write("link.toml", &text)
}

fn row<'a>(report: &'a Value, name: &str) -> &'a Value {
    let mut rows = report["subjects"].as_array().unwrap().iter();
    let found = rows.find(|row| row["name"] == name);
    found.unwrap_or_else(|| panic!("{name}: {report}"))
}

/// A figure of each of its rounds.
fn each(row: &Value, figure: &str) -> Vec<f64> {
    let samples = row["samples"].as_array().unwrap();
    assert_eq!(samples.len(), 2, "{row}");
    let each = samples.iter().map(|sample| sample[figure].as_f64());
    each.map(|value| value.unwrap_or_else(|| panic!("{figure}: {row}")))
        .collect()
}

/// Why a row couldn't be measured, if so.
fn cannot(row: &Value) -> Option<&str> {
    let outcome = &row["outcome"];
    (outcome["state"] == "cannot").then(|| outcome["why"].as_str().unwrap())
}

#[test]
fn a_row_goes_over_the_network_that_it_asks_for_and_the_next_over_its_own() {
    let has_tc = Command::new("tc").arg("-V").output().is_ok();
    if !has_tc {
        skip("tc (iproute2) is not installed, so nothing can be put between load and subjects");
    }
    if !has_tc || !permitted() {
        return;
    }
    let folder = Folder::new();
    let (seen, out) = (folder.path("seen"), folder.path("out"));
    let file = comparison(&folder, &seen);
    let ringside = env!("CARGO_BIN_EXE_ringside");
    let words = ["compare", &file, "-o", &out];
    let mut command = match geteuid().is_root() {
        true => Command::new(ringside),
        false => {
            let mut command = Command::new("unshare");
            command.args(["-Ur", ringside]);
            command
        }
    };
    let ended = start(command.args(words)).end();
    assert_eq!(ended.code, Some(0), "{}\n{}", ended.stdout, ended.stderr);
    let report = fs::read_to_string(format!("{out}/report.json")).unwrap();
    let report: Value = serde_json::from_str(&report).unwrap();
    let unknown = cannot(row(&report, "unknown")).expect("nobody knows it");
    let lacks = "this kernel has no nobody: `modprobe tcp_nobody`, or a kernel with \
                 CONFIG_TCP_CONG_NOBODY";
    assert_says(unknown, lacks);
    assert_says(unknown, "; it has ");
    assert_says(&ended.stderr, &format!("unknown: {lacks}"));
    let far = row(&report, "far");
    match cannot(far) {
        Some(why) => assert_says(why, "`modprobe sch_netem`, or a kernel with"),
        None => assert!(each(far, "p50_us").iter().all(|us| *us >= 40e3), "{far}"),
    }
    let (loopback, narrow) = (row(&report, "loopback"), row(&report, "narrow"));
    assert!(loopback["link"].is_null(), "{loopback}");
    if let Some(why) = cannot(narrow) {
        return not_permitted(format!(
            "nothing can be put between load and subjects: {why}"
        ));
    }
    assert_eq!(narrow["link"]["bandwidth_bits_per_s"], 20_000_000);
    assert_eq!(narrow["description"], "ours; over 20 Mbit/s");
    let rates = |row| each(row, "requests_per_second");
    let free = rates(loopback).into_iter().fold(f64::INFINITY, f64::min);
    for name in ["narrow", "controlled"] {
        for rate in rates(row(&report, name)) {
            // Four answers may be nearly there when the window begins.
            assert!(ANSWER * rate < 1.2 * NARROW, "{name}: {rate}");
            assert!(
                free > 3.0 * rate,
                "{name}: {rate}, and {free} over loopback"
            );
        }
    }
    let seen = fs::read_to_string(seen).unwrap();
    let starts = 3 + usize::from(cannot(far).is_none());
    assert_eq!(seen.lines().count(), starts, "{seen}");
    assert!(seen.lines().any(|line| line == "reno"), "{seen}");
}

#[test]
fn the_hosts_network_is_left_as_it_is_and_a_mistake_is_named_with_its_line() {
    let folder = Folder::new();
    let (seen, out) = (folder.path("seen"), folder.path("out"));
    let file = comparison(&folder, &seen);
    let ended = ringside(&["compare", &file, "-o", &out, "--host-network"]);
    assert_eq!(ended.code, Some(0), "{}\n{}", ended.stdout, ended.stderr);
    assert_says(
        &ended.stderr,
        "narrow: a bandwidth, delay, loss or congestion control needs a private network",
    );
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, text.replace("20ms", "20 miles")).unwrap();
    let ended = ringside(&["compare", &file]);
    assert_eq!(ended.code, Some(2), "{}", ended.stderr);
    assert_says(
        &ended.stderr,
        "`20 miles`; expected the delay of each packet",
    );
    // The file itself says that it can't be: nothing is measured.
    fs::write(&file, format!("{text}\n[network]\nprivate = false\n")).unwrap();
    let ended = ringside(&["compare", &file]);
    assert_eq!(ended.code, Some(2), "{}", ended.stderr);
    assert_says(
        &ended.stderr,
        "needs a private network: remove `private = false`",
    );
}

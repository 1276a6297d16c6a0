//! A fleet whose agents are behind networks and clocks of their own: what they count together is
//! what the server counted, and what is in each one's files, bucket by bucket.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use fleet::counted::{self, Interval};
use measure::histogram::Histogram;
use serde_json::Value;

use crate::programs::{Nats, Program, Target, agents, exchanges, until};
use crate::skip::not_permitted;

/// Says that this process is in namespaces that it may do with what it likes.
const INSIDE: &str = "FLEET_TEST_INSIDE";
/// This machine's own address, in the network that joins all agents'.
const HOST: &str = "10.77.0.1";
const AGENTS: u64 = 8;
/// How much further one machine's monotonic clock is than that of the one before, in seconds.
const APART_S: u64 = 100_000;
/// What agents may load.
const POLICY: &str = "[[allow]]\nnetworks = [\"10.77.0.0/24\"]\nports = [\"1-65535\"]\n";

/// A network with a machine in it, as far as they can be told from real ones.
struct Machine(Child);

impl Machine {
    /// One that is joined to ours by a pair of virtual interfaces.
    fn start(number: u64) -> Machine {
        let child = Command::new("unshare")
            .args(["--net", "sleep", "1000"])
            .spawn();
        let machine = Machine(child.unwrap());
        let own = fs::read_link("/proc/self/ns/net").unwrap();
        let (id, port) = (machine.0.id().to_string(), format!("agent{number}"));
        until("the machine has a network of its own", || {
            fs::read_link(format!("/proc/{id}/ns/net")).is_ok_and(|its| its != own)
        });
        let pair = [
            "add", &port, "type", "veth", "peer", "name", "eth0", "netns", &id,
        ];
        ip(&[&["link"], &pair[..]].concat());
        ip(&["link", "set", &port, "master", "bridge", "up"]);
        let inside = ["nsenter", "--target", &id, "--net", "ip"];
        let address = format!("10.77.0.{}/24", 10 + number);
        for words in [
            &["address", "add", &address, "dev", "eth0"][..],
            &["link", "set", "eth0", "up"],
        ] {
            done(&[&inside[..], words].concat());
        }
        machine
    }

    /// An agent there, by a clock of its own.
    fn agent(&self, number: u64, nats: &Nats, folder: &Path) -> Program {
        let (id, ahead) = (self.0.id().to_string(), (number * APART_S).to_string());
        let path = |name: &str| folder.join(name).to_str().unwrap().to_owned();
        let (policy, kept, url) = (path("policy.toml"), path("kept"), nats.url());
        let name = format!("agent-{number}");
        let before = ["nsenter", "--target", &id, "--net"];
        let clock = ["unshare", "--time", "--monotonic", &ahead];
        let words = ["agent", "--threads", "1", "--name", &name, "--nats", &url];
        let files = ["--policy", &policy, "--keep", &kept];
        let agent = Program::start_through(
            &[&before[..], &clock].concat(),
            &[&words[..], &files].concat(),
        );
        until("an agent is connected", || {
            agent.said().contains("waits at")
        });
        agent
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        let _ended = self.0.kill();
        let _reaped = self.0.wait();
    }
}

fn ip(words: &[&str]) {
    done(&[&["ip"], words].concat());
}

fn done(words: &[&str]) {
    let status = Command::new(words[0]).args(&words[1..]).status().unwrap();
    assert!(status.success(), "{words:?}: {status}");
}

/// Goes on in namespaces of its own, in which this function is called once more: whether it is in
/// them already.
fn is_inside(test: &str) -> bool {
    if std::env::var_os(INSIDE).is_some() {
        return true;
    }
    let own = ["--user", "--map-root-user", "--net", "--time"];
    let may = Command::new("unshare")
        .args(own)
        .args(["ip", "link", "add", "bridge", "type", "bridge"])
        .stderr(Stdio::null())
        .status();
    if !may.is_ok_and(|status| status.success()) {
        not_permitted("no networks and clocks of our own: agents aren't tried behind them");
        return false;
    }
    let inside = Command::new("unshare")
        .args(&own[..3])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture"])
        .env(INSIDE, "yes")
        .status();
    assert!(inside.unwrap().success(), "it failed in its namespaces");
    false
}

#[test]
fn agents_in_networks_and_times_of_their_own_count_what_the_server_counts() {
    let this = "networks::agents_in_networks_and_times_of_their_own_count_what_the_server_counts";
    if !is_inside(this) {
        return;
    }
    ip(&["link", "set", "lo", "up"]);
    ip(&["link", "add", "bridge", "type", "bridge"]);
    ip(&["address", "add", &format!("{HOST}/24"), "dev", "bridge"]);
    ip(&["link", "set", "bridge", "up"]);
    let Some(nats) = Nats::start_at(HOST, "") else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("policy.toml"), POLICY).unwrap();
    let target = Target::start_at(HOST);
    let machines: Vec<Machine> = (0..AGENTS).map(Machine::start).collect();
    let agents_there = (0..).zip(&machines);
    let _agents: Vec<Program> = agents_there
        .map(|(number, machine)| machine.agent(number, &nats, folder.path()))
        .collect();
    let (broker, url) = (nats.url(), target.url("/"));
    let words = "run --agents 8 -t 1 -R 400 --arrivals poisson -d 3s -c 16 -T 60s --format json";
    // What isn't written isn't confirmed, so that the agents' files stay.
    let more = ["--nats", &broker, "-o", "/dev/full", &url];
    let words: Vec<&str> = words.split(' ').chain(more).collect();
    let ended = Program::start(&words).end();
    assert_eq!(ended.code, Some(3), "{ended:?}");
    let record = ended.record();
    assert_eq!(record["fleet"]["complete"], true, "{record}");
    let never_sent = record["exchanges"]["never_sent"].as_u64().unwrap();
    assert_eq!(target.finish(), exchanges(&record) - never_sent, "{record}");
    compare_files(&record, &folder.path().join("kept"));
    compare_clocks(&record);
}

/// The record's histograms are the sum of the agents' files.
fn compare_files(record: &Value, kept: &Path) {
    let (mut response, mut service) = (Histogram::new(), Histogram::new());
    let (mut files, mut completed) = (0, 0);
    for agent in fs::read_dir(kept).unwrap() {
        for file in fs::read_dir(agent.unwrap().path()).unwrap() {
            let bytes = fs::read(file.unwrap().path()).unwrap();
            let interval: Interval = postcard::from_bytes(&bytes).unwrap();
            let counted = counted::run(&interval).unwrap().counted;
            response.merge(&counted.response);
            service.merge(&counted.service);
            completed += counted.completed;
            files += 1;
        }
    }
    assert!(files >= 3 * AGENTS, "{files} intervals of {AGENTS} agents");
    assert_eq!(record["exchanges"]["completed"], completed);
    let histograms = &record["histograms"];
    assert_eq!(histograms["response_time"], response.to_hdr_v2_base64());
    assert_eq!(histograms["service_time"], service.to_hdr_v2_base64());
}

/// Each agent's clock is as far ahead of the coordinator's as it was set, as far as that is known.
fn compare_clocks(record: &Value) {
    let all = agents(record);
    assert_eq!(all.len() as u64, AGENTS, "{record}");
    for (number, agent) in (0..).zip(all) {
        let clock = &agent["clock"];
        let ahead_ns = clock["ahead_ns"].as_i64().unwrap();
        let off_ns = ahead_ns.abs_diff(number * APART_S as i64 * 1_000_000_000);
        let error_ns = clock["error_ns"].as_u64().unwrap();
        assert!(off_ns <= error_ns, "{off_ns} ns off: {agent}");
    }
}

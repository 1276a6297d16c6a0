//! A fleet whose agents are behind networks and clocks of their own, and are started as the
//! manifests for Kubernetes have it: what they count together is what the server counted, and what
//! is in each one's files, bucket by bucket.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use agents::nats::{Broker, End};
use fleet::Name;
use fleet::bus::{Bus as _, Subject};
use fleet::counted::{self, Interval};
use measure::histogram::Histogram;
use serde_json::Value;
use tokio::runtime::Builder;

use crate::manifests::{command, written};
use crate::programs::{Nats, Program, Target, agents, exchanges, until};
use crate::skip::not_permitted;

/// Says that this process is in namespaces that it may do with what it likes.
const INSIDE: &str = "FLEET_TEST_INSIDE";
/// This machine's own address, in the network that joins all agents'.
const HOST: &str = "10.77.0.1";
const AGENTS: u64 = 8;
/// How much further one machine's monotonic clock is than that of the one before, in seconds.
const APART_S: u64 = 100_000;
/// What agents may load, besides what manifests say of it.
const POLICY: &str = "[[allow]]\nnetworks = [\"10.77.0.0/24\"]\nports = [\"1-65535\"]\n";
/// Becomes what follows on a machine of this name.
const NAMED: [&str; 3] = ["sh", "-c", "hostname \"$0\" && exec \"$@\""];

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

    /// An agent there, by a clock of its own. It is called as its machine is, as in a pod.
    fn agent(&self, number: u64, words: &[String]) -> Program {
        let (id, ahead) = (self.0.id().to_string(), (number * APART_S).to_string());
        let name = format!("agent-{number}");
        let before = ["nsenter", "--target", &id, "--net"];
        let own = ["unshare", "--uts", "--time", "--monotonic", &ahead];
        let before = [&before[..], &own, &NAMED, &[&name]].concat();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let agent = Program::start_through(&before, &words);
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

/// The broker of the manifests.
fn broker(folder: &Path) -> Option<Nats> {
    let text = fs::read_to_string(folder.join("base/nats.conf")).unwrap();
    // Its port is one that nobody has.
    let listens = "listen: \"0.0.0.0:4222\"\n";
    assert!(text.contains(listens), "{text}");
    let store = folder.join("store");
    let text = text
        .replace(listens, "")
        .replace("/store", store.to_str().unwrap());
    Nats::start_at(HOST, &text)
}

/// The words of a Job's container, with its volumes and the broker where they are here.
fn placed(folder: &Path, own: &str, nats: &Nats, job: &str) -> Vec<String> {
    let path = |name: &str| folder.join(name).to_str().unwrap().to_owned();
    let volumes = [
        ("=/key/", format!("={}/", path(own))),
        ("=/policy/", format!("={}/", path(own))),
        ("=/kept", format!("={}", path("kept"))),
        ("=nats://nats:4222", format!("={}", nats.url())),
    ];
    let words = command(&folder.join(job)).into_iter();
    let place = |word: String| {
        let places = volumes.iter();
        places.fold(word, |word, (from, to)| word.replace(from, to))
    };
    words.map(place).collect()
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
    let place = tempfile::tempdir().unwrap();
    let folder = place.path().join("fleet");
    written(&folder, &AGENTS.to_string(), "1");
    let Some(nats) = broker(&folder) else {
        return;
    };
    let policy = folder.join("base/policy.toml");
    let text = fs::read_to_string(&policy).unwrap() + POLICY;
    fs::write(&policy, text).unwrap();
    let target = Target::start_at(HOST);
    let machines: Vec<Machine> = (0..AGENTS).map(Machine::start).collect();
    let words = placed(&folder, "base", &nats, "base/agents.yaml");
    assert_eq!(words[..3], ["ringside", "fleet", "agent"]);
    let all = (0..).zip(&machines);
    // `ringside` hands over to the other program.
    let _agents: Vec<Program> = all
        .map(|(number, machine)| machine.agent(number, &words[2..]))
        .collect();
    let words = placed(&folder, "run", &nats, "run/coordinator.yaml");
    assert_eq!(words[..2], ["ringside", "run"]);
    // From there on it's whoever runs it who says what is sent.
    let fixed = words
        .iter()
        .take_while(|word| !word.starts_with("--connections"));
    let fixed = fixed.skip(1).map(String::as_str);
    // What isn't written isn't confirmed, so that the agents' files stay.
    let more = "-R 400 --arrivals poisson -d 3s -c 16 -T 60s --format json -o /dev/full --data";
    // The broker lets agents fetch files.
    let rows = folder.join("rows.csv");
    fs::write(&rows, "id\n1\n2\n").unwrap();
    let url = target.url("/?id={{id}}");
    let words = fixed.chain(more.split(' '));
    let words: Vec<&str> = words.chain([rows.to_str().unwrap(), &url]).collect();
    let seed = folder.join("run/coordinator.seed");
    let key = [("NATS_NKEY", seed.to_str().unwrap())];
    let ended = Program::start_with(&key, &words).end();
    assert_eq!(ended.code, Some(3), "{ended:?}");
    let record = ended.record();
    assert_eq!(record["fleet"]["complete"], true, "{record}");
    let never_sent = record["exchanges"]["never_sent"].as_u64().unwrap();
    assert_eq!(target.finish(), exchanges(&record) - never_sent, "{record}");
    compare_files(&record, &folder.join("kept"));
    compare_clocks(&record);
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(order_as_an_agent(&nats, &folder));
}

/// Whoever has the key of agents is heard by coordinators, and by nobody else.
async fn order_as_an_agent(nats: &Nats, folder: &Path) {
    let end = async |seed: &str| {
        let broker = Broker::new(&nats.url(), Some(&folder.join(seed))).unwrap();
        End::connect(&broker, "somebody").await.unwrap()
    };
    let mut coordinator = end("run/coordinator.seed").await;
    let mut agent = end("base/agent.seed").await;
    let inbox = Subject::Coordinator(Name::new("a-run").unwrap());
    for subject in [&Subject::Call, &inbox] {
        coordinator.subscribe(subject);
    }
    coordinator.round_trip().await.unwrap();
    agent.publish(&Subject::Call, "an order".into()).unwrap();
    agent.publish(&inbox, "a report".into()).unwrap();
    agent.flush().await;
    let patience = Duration::from_secs(120);
    let heard = tokio::time::timeout(patience, coordinator.heard()).await;
    assert_eq!(heard.expect("it hears reports"), "a report");
}

/// The record's histograms are the sum of the agents' files.
fn compare_files(record: &Value, kept: &Path) {
    let (mut response, mut service) = (Histogram::new(), Histogram::new());
    let (mut files, mut completed) = (0, 0);
    let entries = fs::read_dir(kept).unwrap().map(|entry| entry.unwrap());
    // Beside what was counted are the files of the load.
    let counted = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with("run-"));
    for agent in counted {
        for file in fs::read_dir(agent.path()).unwrap() {
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
    let mut moment = None;
    for (number, agent) in (0..).zip(all) {
        let clock = &agent["clock"];
        let ahead_ns = clock["ahead_ns"].as_i64().unwrap();
        let off_ns = ahead_ns.abs_diff(number * APART_S as i64 * 1_000_000_000);
        let error_ns = clock["error_ns"].as_u64().unwrap();
        assert!(off_ns <= error_ns, "{off_ns} ns off: {agent}");
        // All begin at one moment of the coordinator's.
        let begins_ns = agent["begins_ns"].as_i64().unwrap() - ahead_ns;
        assert_eq!(*moment.get_or_insert(begins_ns), begins_ns, "{record}");
        assert!(agent["begun_late_ns"].is_u64(), "{agent}");
    }
}

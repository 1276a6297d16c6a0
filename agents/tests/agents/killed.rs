//! What a coordinator or an agent has started ends with it, even if it can't do anything about that
//! any more (`kill -9`).

use std::fs;
use std::time::Duration;

use measure::time::Time;
use rustix::process::{Pid, Signal, kill_process};

use crate::programs::{Program, Target, agents, exchanges, until};
use crate::runs::has_nats;

/// A process that isn't over.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Process {
    id: i32,
    parent: i32,
    /// By which it is told from another one that is given the same number later.
    began: String,
    words: Vec<String>,
}

impl Process {
    /// See proc_pid_stat(5). One that nobody has waited for is over all the same.
    fn of(id: i32) -> Option<Process> {
        let stat = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
        // A program's name may have anything in it.
        let (_, rest) = stat.rsplit_once(") ")?;
        let fields: Vec<&str> = rest.split(' ').collect();
        let words = fs::read_to_string(format!("/proc/{id}/cmdline")).ok()?;
        let is_over = matches!(fields[0], "Z" | "X");
        (!is_over).then(|| Process {
            id,
            parent: fields[1].parse().unwrap(),
            began: fields[19].to_owned(),
            words: words.split('\0').map(str::to_owned).collect(),
        })
    }

    /// All that this one has started, and what those have.
    fn below(id: i32) -> Vec<Process> {
        let entries = fs::read_dir("/proc").unwrap().flatten();
        let ids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        let all: Vec<Process> = ids.filter_map(Process::of).collect();
        let (mut below, mut next) = (Vec::new(), vec![id]);
        while let Some(parent) = next.pop() {
            let children = all.iter().filter(|one| one.parent == parent);
            next.extend(children.clone().map(|one| one.id));
            below.extend(children.cloned());
        }
        below
    }

    fn is_there(&self) -> bool {
        Process::of(self.id).is_some_and(|now| now.began == self.began)
    }

    /// Whether it has become this word of the program, and is no longer about to.
    fn does(&self, word: &str) -> bool {
        self.words.get(1).is_some_and(|first| first == word)
    }

    fn kill(&self) {
        kill_process(Pid::from_raw(self.id).unwrap(), Signal::KILL).unwrap();
    }
}

#[test]
fn what_was_started_ends_with_whoever_is_killed() {
    if !has_nats() {
        return;
    }
    let target = Target::start();
    // For so long each agent sends its part to a server of its own.
    let words = "run --agents local:2 --control -R 50 -c 4 -T 60s -d 10m";
    let run = Program::load(words, &target);
    let id = run.pid().as_raw_nonzero().get();
    let mut all = Vec::new();
    until("both agents have a server", || {
        all = Process::below(id);
        let are = |word: &str| all.iter().filter(|one| one.does(word)).count();
        (are("serve"), are("agent")) == (2, 2)
    });
    assert_eq!(all.len(), 5, "with the NATS server: {all:?}");
    let agent = all.iter().find(|one| one.does("agent")).unwrap();
    let served = |one: &&Process| one.does("serve") && one.parent == agent.id;
    let own = all.iter().find(served).unwrap();
    agent.kill();
    // Its server may be told before all of its own threads are gone.
    until("an agent's server ends with it", || {
        !own.is_there() && !agent.is_there()
    });
    let others = || all.iter().filter(|one| one.is_there());
    assert_eq!(others().count(), 3, "{all:?}");
    run.signal(Signal::KILL);
    run.end();
    until("everything ends with the coordinator", || {
        others().count() == 0
    });
    assert_eq!(target.finish(), 0, "the load itself never began");
}

#[test]
fn a_local_fleet_whose_server_is_killed_ends_at_once_with_what_it_has() {
    if !has_nats() {
        return;
    }
    let target = Target::start();
    let words = "run --agents local:2 -R 100 -c 4 -T 60s -d 10m --format json";
    let run = Program::load(words, &target);
    until("the load has gone on for seconds", || {
        target.requests() > 300
    });
    let all = Process::below(run.pid().as_raw_nonzero().get());
    let is_server = |one: &&Process| one.words[0].ends_with("nats-server");
    let servers: Vec<&Process> = all.iter().filter(is_server).collect();
    let [server] = &servers[..] else {
        panic!("there's one: {all:?}");
    };
    server.kill();
    let killed = Time::now();
    let ended = run.end();
    let took = Time::now() - killed;
    assert!(took < Duration::from_secs(8), "{took:?}: {ended:?}");
    assert_eq!(ended.code, Some(4), "{ended:?}");
    let record = ended.record();
    let warnings = record["warnings"].to_string();
    let why = "the NATS server of this fleet (nats-server, which was started here) has ended";
    assert!(warnings.contains(why), "{warnings}");
    assert_eq!(record["fleet"]["complete"], false, "{record}");
    // Two seconds at least had come by then.
    assert!(exchanges(&record) >= 100, "{record}");
    assert!(agents(&record).iter().all(|agent| agent["lost"] == true));
    until("everything else ends with the run", || {
        all.iter().all(|one| !one.is_there())
    });
    assert!(target.finish() >= exchanges(&record));
}

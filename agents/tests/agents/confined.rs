//! Agents under the seccomp profiles that the manifests for Kubernetes name: under our own they use
//! io_uring, and under that of a container runtime epoll.

use std::fs;
use std::process::{Command, Stdio};
use std::thread;

use engine::choice;
use seccompiler::{BpfMap, apply_filter, compile_from_json};
use serde_json::{Value, json};

use crate::manifests::written;
use crate::programs::{Ended, LOOPBACK, Nats, Program, Target};
use crate::skip::not_permitted;

const EPERM: u64 = 1;
const ENOSYS: u64 = 38;

/// Filters that answer these calls with an error.
fn filters(errno: u64, calls: &[Value]) -> Result<BpfMap, seccompiler::Error> {
    let own = json!({"own": {
        "mismatch_action": "allow",
        "match_action": {"errno": errno},
        "filter": calls,
    }});
    let arch = std::env::consts::ARCH.try_into().unwrap();
    compile_from_json(own.to_string().as_bytes(), arch)
}

/// Has a thread, and whatever it starts, be answered so by the kernel.
fn refuse(errno: u64, calls: &[Value]) {
    for filter in filters(errno, calls).unwrap().values() {
        apply_filter(filter).unwrap();
    }
}

/// Has this thread be under a profile as container runtimes read it.
fn confine(profile: &Value) {
    let rules = profile["syscalls"].as_array().unwrap();
    for errno in [EPERM, ENOSYS] {
        let of_it = rules.iter().filter(|rule| rule["errnoRet"] == errno);
        let calls = of_it.flat_map(|rule| {
            let names = rule["names"].as_array().unwrap().iter();
            names.map(|name| match rule["args"].as_array() {
                None => json!({"syscall": name}),
                Some(args) => {
                    let args: Vec<Value> = args.iter().map(of_arg).collect();
                    json!({"syscall": name, "args": args})
                }
            })
        });
        // Not every architecture has all of them, which runtimes pass over.
        let is_known = |call: &Value| filters(errno, std::slice::from_ref(call)).is_ok();
        let calls: Vec<Value> = calls.filter(is_known).collect();
        assert!(!calls.is_empty());
        refuse(errno, &calls);
    }
}

fn of_arg(arg: &Value) -> Value {
    assert_eq!(arg["op"], "SCMP_CMP_MASKED_EQ");
    let (mask, value) = (&arg["value"], &arg["valueTwo"]);
    json!({"index": arg["index"], "type": "qword", "op": {"masked_eq": mask}, "val": value})
}

/// Whether somebody may have a network of their own here.
fn makes_namespaces() -> bool {
    let mut unshare = Command::new("unshare");
    let unshare = unshare.args(["--user", "--net", "true"]);
    let ended = unshare.stderr(Stdio::null()).status();
    ended.is_ok_and(|status| status.success())
}

#[test]
fn agents_use_what_the_profile_of_their_pods_lets_them() {
    let uring = "uring".parse().unwrap();
    if let Err(why) = choice::decide(uring) {
        return not_permitted(format!("no io_uring, so no profile allows it: {why}"));
    }
    let Some(nats) = Nats::start() else {
        return;
    };
    let place = tempfile::tempdir().unwrap();
    let folder = place.path().join("fleet");
    written(&folder, "1", "1");
    let profile = fs::read_to_string(folder.join("uring/seccomp.json")).unwrap();
    let profile: Value = serde_json::from_str(&profile).unwrap();
    let (target, broker) = (Target::start(), nats.url());
    let url = target.url("/");
    let run = |engine: &str| -> Ended {
        let words = format!(
            "run --agents 1 --nats {broker} -c 2 -n 50 -T 60s --engine {engine} --format json {url}"
        );
        Program::start(&words.split(' ').collect::<Vec<_>>()).end()
    };
    let could = makes_namespaces();
    // What a thread starts is under its filters.
    let agent = |name: &'static str, confine: &(dyn Fn() + Sync)| {
        thread::scope(|scope| {
            let start = || {
                confine();
                Program::agent(name, &nats, Some(LOOPBACK))
            };
            scope.spawn(start).join().unwrap()
        })
    };
    {
        let _ours = agent("ours", &|| {
            confine(&profile);
            assert!(!(could && makes_namespaces()), "it's confined by nothing");
        });
        let ended = run("uring");
        assert!(ended.has_measured(), "{ended:?}");
        assert_eq!(ended.record()["exchanges"]["completed"], 50, "{ended:?}");
    }
    let _theirs = agent("theirs", &|| {
        let calls = ["io_uring_setup", "io_uring_enter", "io_uring_register"];
        refuse(EPERM, &calls.map(|name| json!({"syscall": name})));
    });
    let refused = run("uring");
    assert_eq!(refused.code, Some(1), "{refused:?}");
    let why = "agent theirs can't take part";
    assert!(refused.said.contains(why), "{refused:?}");
    let ended = run("auto");
    assert!(ended.has_measured(), "{ended:?}");
    assert_eq!(ended.record()["exchanges"]["completed"], 50, "{ended:?}");
    assert_eq!(target.finish(), 100);
}

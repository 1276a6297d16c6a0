use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use measure::quota::value;
use measure::time::Time;

use super::{Controller, Group, GroupTime, Held, Limits, Strain, Straining, Struck};
use crate::skip::not_permitted;

#[test]
fn the_account_of_version_2_is_in_microseconds() {
    let text = "usage_usec 4032120\nuser_usec 3000000\nsystem_usec 1032120\nnr_periods 0\n";
    let time = GroupTime::of_stat(text);
    let expected = GroupTime {
        cpu_ns: Some(4_032_120_000),
        user_ns: Some(3_000_000_000),
        system_ns: Some(1_032_120_000),
    };
    assert_eq!(time, expected);
    assert_eq!(GroupTime::of_stat(""), GroupTime::default());
    assert_eq!(value("throttled_time x\n", "throttled_time"), None);
}

/// The files of a group of version 2 (Documentation/admin-guide/cgroup-v2.rst), as the kernel makes
/// them: not every machine has that version's controllers.
#[test]
fn limits_of_version_2_are_written_where_it_has_them_and_what_they_did_is_read_there() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let mut group = Group::nowhere();
    (group.folders).push((Controller::All, folder.path().to_owned()));
    let why = group.write_quota(20_000).unwrap_err().to_string();
    assert_eq!(why, "the control groups made here have no cpu.max");
    for (name, text) in [
        ("cpu.max", "max 100000\n"),
        ("memory.max", "max\n"),
        ("memory.swap.max", "max\n"),
        (
            "cpu.stat",
            "usage_usec 9\nnr_periods 8\nnr_throttled 7\nthrottled_usec 6\n",
        ),
        (
            "memory.events",
            "low 0\nhigh 0\nmax 5\noom 4\noom_kill 3\noom_group_kill 0\n",
        ),
    ] {
        fs::write(at(name), text).unwrap();
    }
    group.write_quota(20_000).unwrap();
    group.limit_memory(512 << 20).unwrap();
    let written = |name| fs::read_to_string(at(name)).unwrap();
    assert_eq!(written("cpu.max"), "20000 100000");
    assert_eq!(written("memory.max"), "536870912");
    assert_eq!(written("memory.swap.max"), "0");
    let expected = Strain {
        throttled: 7,
        throttled_ns: 6_000,
        reclaims: 5,
        oom_kills: 3,
    };
    assert_eq!(group.strain(), expected);
    assert_eq!(group.quota_folder(), Some(folder.path()));
}

#[test]
fn what_runs_in_a_group_is_charged_to_it() {
    let Some(group) = Group::make() else {
        not_permitted("no control group can be made here");
        return;
    };
    let before = group.time();
    let mut child = Command::new("/bin/sh")
        .args([
            "-c",
            "read -r _; i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done",
        ])
        .stdin(Stdio::piped())
        .spawn()
        .expect("/bin/sh starts");
    group.take(child.id());
    assert!(group.members().contains(&child.id()), "{group:?}");
    drop(child.stdin.take());
    child.wait().expect("our child");
    let used = group.used(before, group.time());
    assert!(used.cpu_ns.is_some_and(|ns| ns > 10_000_000), "{used:?}");
    // Version 1 counts the parts in ticks, so together they may be more than the whole.
    let parts = used.user_ns.unwrap_or(0) + used.system_ns.unwrap_or(0);
    assert!(parts <= used.cpu_ns.unwrap_or(0) + 100_000_000, "{used:?}");
    let folders: Vec<PathBuf> = group.folders.iter().map(|(_, at)| at.clone()).collect();
    drop(group);
    assert!(folders.iter().all(|folder| !folder.exists()), "{folders:?}");
}

#[test]
fn limits_are_read_as_people_write_them() {
    let read = |text: &str| toml::from_str::<Limits>(text);
    for (text, millicpus, memory_bytes) in [
        ("cpu = \"0.5\"", Some(500), None),
        ("cpu = 0.5", Some(500), None),
        ("cpu = 2", Some(2000), None),
        ("cpu = \"2\"", Some(2000), None),
        (
            "cpu = \"0.01\"\nmemory = \"512M\"",
            Some(10),
            Some(512 << 20),
        ),
        ("memory = \"64KiB\"", None, Some(65_536)),
        ("memory = \"1MB\"", None, Some(1_000_000)),
        ("memory = \"4096\"", None, Some(4096)),
        ("", None, None),
    ] {
        let limits = Limits {
            millicpus,
            memory_bytes,
        };
        assert_eq!(read(text), Ok(limits), "{text}");
    }
    for (text, said) in [
        ("cpu = \"half\"", "`half` isn't a number of CPUs"),
        ("cpu = \"0\"", "from 0.01 to 1000"),
        ("cpu = \"-1\"", "from 0.01 to 1000"),
        ("memory = \"0\"", "nothing runs without memory"),
        ("memory = \"much\"", "is not a size in bytes"),
        ("ram = \"1G\"", "unknown field `ram`"),
        ("memory = 4096", "expected a string"),
    ] {
        let error = read(text).expect_err(text).to_string();
        assert!(error.contains(said), "{text}: {error}");
    }
}

#[test]
fn limits_of_a_row_go_before_those_of_its_subject() {
    let both = |millicpus, memory_bytes| Limits {
        millicpus,
        memory_bytes,
    };
    let (row, subject) = (both(Some(500), None), both(Some(1000), Some(1 << 29)));
    let limits = row.or(subject);
    assert_eq!(limits.in_words(), "0.5 CPUs and 512 MiB of memory");
    assert_eq!(both(Some(1000), None).in_words(), "1 CPU");
    assert!(Limits::default().is_none() && !limits.is_none());
}

/// Starts a script of the shell so limited.
fn start(held: &Held, script: &str) -> Child {
    let (program, words) = held.behind("/bin/sh", &["-c".to_owned(), script.to_owned()]);
    let mut command = Command::new(program);
    let command = command.args(words).stdin(Stdio::null());
    command.spawn().expect("/bin/sh starts")
}

#[test]
fn who_needs_more_memory_than_its_limit_does_not_get_it_and_that_is_said() {
    let limits = Limits {
        millicpus: None,
        memory_bytes: Some(16 << 20),
    };
    let held = limits.hold().expect("memory can be limited everywhere");
    let kept = start(&held, "echo done").wait().expect("our child");
    assert!(kept.success(), "16 MiB are enough for a shell: {held:?}");
    assert_eq!(held.out_of_memory(), None);
    let script = "x=$(head -c 64000000 /dev/zero | tr '\\0' x) && test ${#x} = 64000000";
    let status = start(&held, script).wait().expect("our child");
    assert!(!status.success(), "{held:?}");
    if held.by_address_space {
        not_permitted("memory can't be limited by a control group here");
        let why = held
            .short_of_addresses()
            .expect("its address space was limited");
        assert!(
            why.contains("its address space is limited to 16.0 MiB"),
            "{why}"
        );
        return;
    }
    let strain = held.strain();
    assert!(strain.oom_kills > 0 && strain.reclaims > 0, "{strain:?}");
    let why = held.out_of_memory().expect("it was killed");
    assert!(why.contains("its limit of 16.0 MiB"), "{why}");
}

#[test]
fn who_needs_more_processor_time_than_its_limit_waits_for_it_and_that_is_counted() {
    let limits = Limits {
        millicpus: Some(100),
        memory_bytes: None,
    };
    let held = match limits.hold() {
        Ok(held) => held,
        Err(why) => {
            assert!(
                why.contains("0.1 CPUs") && why.contains("systemd-run"),
                "{why}"
            );
            return not_permitted(why);
        }
    };
    let mut straining = Straining::open(&held, Time::now());
    let script = "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done";
    let status = start(&held, script).wait().expect("our child");
    assert!(status.success(), "{held:?}");
    straining.look(held.strain(), Time::now());
    let found = straining.found();
    assert!(
        found.throttled.is_some_and(|struck| struck.times > 0),
        "{found:?}"
    );
    assert!(
        found.throttled_ns > 0 && found.killed.is_none(),
        "{found:?}"
    );
    assert_eq!(found.millicpus, Some(100));
    let group = held.group.as_ref().expect("it was limited by one");
    assert!(group.quota_folder().is_some_and(Path::is_dir), "{group:?}");
}

#[test]
fn what_struck_is_told_with_the_time_of_the_look_that_saw_it() {
    let held = Held {
        limits: Limits::default(),
        group: None,
        by_address_space: false,
    };
    let at = |ms: u64| Time(5_000_000_000 + ms * 1_000_000);
    let mut straining = Straining::open(&held, at(0));
    let strain = |throttled, oom_kills| Strain {
        throttled,
        throttled_ns: throttled * 1000,
        reclaims: 0,
        oom_kills,
    };
    for (ms, strain) in [
        (500, strain(0, 0)),
        (1000, strain(3, 0)),
        (2000, strain(4, 1)),
    ] {
        straining.look(strain, at(ms));
    }
    straining.look(strain(4, 1), at(3000));
    let found = straining.found();
    let struck = |times, first_s, last_s| {
        Some(Struck {
            times,
            first_s,
            last_s,
        })
    };
    assert_eq!(found.throttled, struck(4, 1.0, 2.0));
    assert_eq!(found.killed, struck(1, 2.0, 2.0));
    assert_eq!((found.reclaimed, found.throttled_ns), (None, 4000));
    assert_eq!(found.wall_ns, 3_000_000_000);
}

use super::*;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::symlink;
use std::process::{Child, Command, Stdio};
use tempfile::TempDir;

/// A made-up machine: files below a directory that is gone with its owner.
struct Tree(TempDir);

impl Tree {
    fn new(own: &str, mountinfo: &str) -> Tree {
        let tree = Tree(tempfile::tempdir().expect("a folder"));
        tree.put("proc/self/cgroup", own);
        tree.put("proc/self/mountinfo", mountinfo);
        tree
    }

    fn put(&self, path: &str, text: &str) {
        let path = self.0.path().join(path);
        fs::create_dir_all(path.parent().expect("it has a parent")).expect("a directory");
        fs::write(path, text).expect("a file");
    }

    fn groups(&self) -> Groups {
        Groups::find(self.0.path(), "self")
    }

    fn quota(&self) -> Quota {
        self.groups().quota()
    }
}

const V2: &str = "30 23 0:27 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw\n";
const V1: &str = "33 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n\
    35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n";

#[test]
fn the_smallest_quota_of_all_groups_above_counts_in_version_2() {
    let tree = Tree::new("0::/a/b/c\n", V2);
    tree.put("sys/fs/cgroup/a/b/c/cpu.max", "max 100000\n");
    tree.put("sys/fs/cgroup/a/b/cpu.max", "200000 100000\n");
    tree.put("sys/fs/cgroup/a/cpu.max", "75000 50000\n");
    // The top group has no file, and another group is nobody's business.
    tree.put("sys/fs/cgroup/other/cpu.max", "1000 100000\n");
    assert_eq!(tree.quota(), Quota::Millicpus(1500));
    assert_eq!(tree.quota().cpus(), Some(1.5));
    tree.put("sys/fs/cgroup/a/cpu.max", "max 100000\n");
    assert_eq!(tree.quota(), Quota::Millicpus(2000));
    tree.put("sys/fs/cgroup/a/b/cpu.max", "max 100000\n");
    assert_eq!(tree.quota(), Quota::Unlimited);
}

#[test]
fn the_smallest_quota_of_all_groups_above_counts_in_version_1() {
    let own = "4:memory:/m\n3:cpu,cpuacct:/session/5\n";
    let tree = Tree::new(own, V1);
    let cpu = "sys/fs/cgroup/cpu,cpuacct";
    for (group, quota) in [("session/5", "-1"), ("session", "50000"), ("", "-1")] {
        tree.put(&format!("{cpu}/{group}/cpu.cfs_quota_us"), quota);
        tree.put(&format!("{cpu}/{group}/cpu.cfs_period_us"), "100000\n");
    }
    assert_eq!(tree.quota(), Quota::Millicpus(500));
    tree.put(&format!("{cpu}/session/cpu.cfs_quota_us"), "-1\n");
    assert_eq!(tree.quota(), Quota::Unlimited);
}

#[test]
fn where_both_are_mounted_the_one_with_the_controller_is_read() {
    let own = "3:cpu,cpuacct:/slow\n0::/fast\n";
    let unified = "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";
    let tree = Tree::new(own, &format!("{unified}{V1}"));
    tree.put("sys/fs/cgroup/unified/fast/cgroup.procs", "");
    let cpu = "sys/fs/cgroup/cpu,cpuacct/slow";
    tree.put(&format!("{cpu}/cpu.cfs_quota_us"), "20000");
    tree.put(&format!("{cpu}/cpu.cfs_period_us"), "100000");
    assert_eq!(tree.quota(), Quota::Millicpus(200));
    // The other way round: version 1 without the controller.
    let own = "4:memory:/m\n0::/fast\n";
    let memory = "35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n";
    let tree = Tree::new(own, &format!("{memory}{unified}"));
    tree.put("sys/fs/cgroup/unified/fast/cpu.max", "30000 100000");
    assert_eq!(tree.quota(), Quota::Millicpus(300));
}

#[test]
fn stops_of_every_group_above_are_counted() {
    let tree = Tree::new("0::/a/b\n", V2);
    tree.put(
        "sys/fs/cgroup/a/b/cpu.stat",
        "usage_usec 7\nthrottled_usec 5\n",
    );
    tree.put(
        "sys/fs/cgroup/a/cpu.stat",
        "nr_throttled 1\nthrottled_usec 70\n",
    );
    tree.put("sys/fs/cgroup/cpu.stat", "usage_usec 700\n");
    assert_eq!(tree.groups().throttled_ns(), Some(75_000));
    // What a hidden group above did is in the younger account.
    tree.put("sys/fs/cgroup/a/b/cpu.stat.local", "throttled_usec 900\n");
    assert_eq!(tree.groups().throttled_ns(), Some(900_000));
    let tree = Tree::new("3:cpu,cpuacct:/a\n", V1);
    let cpu = "sys/fs/cgroup/cpu,cpuacct";
    tree.put(
        &format!("{cpu}/a/cpu.stat"),
        "nr_throttled 0\nthrottled_time 0\n",
    );
    tree.put(&format!("{cpu}/cpu.stat"), "throttled_time 1470000000\n");
    assert_eq!(tree.groups().throttled_ns(), Some(1_470_000_000));
}

#[test]
fn groups_of_two_processes_count_once_each() {
    let tree = Tree::new("0::/a/b\n", V2);
    tree.put("proc/7/cgroup", "0::/a/c\n");
    tree.put("proc/7/mountinfo", V2);
    for (group, us) in [("a/b", 1), ("a/c", 10), ("a", 100)] {
        let stat = format!("throttled_usec {us}\n");
        tree.put(&format!("sys/fs/cgroup/{group}/cpu.stat"), &stat);
    }
    let both = tree.groups().and(Groups::find(tree.0.path(), "7"));
    assert_eq!(both.throttled_ns(), Some(111_000));
}

#[test]
fn what_a_container_hides_is_unknown_unless_a_quota_is_seen() {
    let mount = "30 23 0:27 /docker/abc /sys/fs/cgroup ro - cgroup2 cgroup2 rw\n";
    let tree = Tree::new("0::/docker/abc\n", mount);
    tree.put("sys/fs/cgroup/cpu.max", "max 100000\n");
    assert!(matches!(tree.quota(), Quota::Unknown(why) if why.contains("above the mounted")));
    tree.put("sys/fs/cgroup/cpu.max", "150000 100000\n");
    assert_eq!(tree.quota(), Quota::Millicpus(1500));
    // With a namespace of its own everything looks like the top.
    let tree = Tree::new("0::/\n", V2);
    tree.put("sys/fs/cgroup/cpu.max", "max 100000\n");
    assert_eq!(tree.quota(), Quota::Unlimited);
    fs::create_dir_all(tree.0.path().join("proc/self/ns")).expect("a directory");
    let namespace = tree.0.path().join("proc/self/ns/cgroup");
    symlink("cgroup:[4026532418]", &namespace).expect("a link");
    assert!(matches!(tree.quota(), Quota::Unknown(why) if why.contains("container")));
    fs::remove_file(&namespace).expect("our link");
    symlink(FIRST_NAMESPACE, &namespace).expect("a link");
    assert_eq!(tree.quota(), Quota::Unlimited);
}

#[test]
fn what_cannot_be_read_is_unknown_and_not_unlimited() {
    let nothing = Tree::new("", "");
    assert!(matches!(nothing.quota(), Quota::Unknown(_)));
    assert_eq!(nothing.groups().throttled_ns(), None);
    fs::remove_file(nothing.0.path().join("proc/self/cgroup")).expect("our file");
    assert!(matches!(nothing.quota(), Quota::Unknown(why) if why.contains("/proc/self/cgroup")));
    let unmounted = Tree::new("3:cpu:/\n", V2);
    assert!(
        matches!(unmounted.quota(), Quota::Unknown(why) if why.contains("isn't mounted anywhere"))
    );
    let elsewhere = Tree::new("0::/../sibling\n", V2);
    fs::create_dir_all(elsewhere.0.path().join("sys/fs/cgroup")).expect("a directory");
    assert!(
        matches!(elsewhere.quota(), Quota::Unknown(why) if why.contains("group isn't mounted"))
    );
    for nonsense in ["", "much 100000", "100 0", "100", "100 often"] {
        let tree = Tree::new("0::/a\n", V2);
        tree.put("sys/fs/cgroup/a/cpu.max", nonsense);
        assert!(matches!(tree.quota(), Quota::Unknown(_)), "{nonsense}");
    }
    // A directory in the place of the file can't be read by anybody, root included.
    let tree = Tree::new("0::/a/b\n", V2);
    fs::create_dir_all(tree.0.path().join("sys/fs/cgroup/a/cpu.max")).expect("a directory");
    tree.put("sys/fs/cgroup/a/b/cpu.max", "max 100000");
    assert!(matches!(tree.quota(), Quota::Unknown(why) if why.contains("a/cpu.max")));
    tree.put("sys/fs/cgroup/a/b/cpu.max", "50000 100000");
    assert_eq!(tree.quota(), Quota::Millicpus(500), "at most that");
}

#[test]
fn mounts_with_blanks_in_their_names_are_found() {
    let mount = "30 23 0:27 / /my\\040groups rw - cgroup2 cgroup2 rw\n";
    let tree = Tree::new("0::/a b\n", mount);
    tree.put("my groups/a b/cpu.max", "50000 100000");
    assert_eq!(tree.quota(), Quota::Millicpus(500));
    assert_eq!(unescaped("a\\134b\\x\\04"), "a\\b\\x\\04");
}

#[test]
fn each_hierarchy_has_a_place_of_its_own() {
    let own = "4:memory:/session/5\n2:cpu,cpuacct:/session\n0::/user.slice\n";
    let mounts = "33 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n\
        41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";
    let tree = Tree::new(own, mounts);
    let session = tree.0.path().join("sys/fs/cgroup/cpu,cpuacct/session");
    fs::create_dir_all(&session).expect("a directory");
    let found = |controller| Place::find(tree.0.path(), own, mounts, controller);
    let place = |folder, path: &str| {
        Some(Place {
            folder,
            path: path.to_owned(),
        })
    };
    assert_eq!(found("cpuacct"), place(session, "/session"));
    // Of a container, which sees the host's path: the mount is all that it has.
    let unified = tree.0.path().join("sys/fs/cgroup/unified");
    assert_eq!(found(UNIFIED), place(unified, "/user.slice"));
    assert_eq!(found("memory"), None, "not mounted");
    assert_eq!(found("pids"), None);
}

#[test]
fn the_account_of_a_group_is_found_in_both_versions() {
    let mounts = "33 31 0:29 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n\
        41 31 0:38 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n";
    let tree = Tree::new("", mounts);
    let folder = |below: &str| {
        let folder = tree.0.path().join("sys/fs/cgroup").join(below);
        fs::create_dir_all(&folder).expect("a directory");
        Some(folder)
    };
    let found = |groups: &str| {
        let find = |controller| Place::find(tree.0.path(), groups, mounts, controller);
        let place = find("memory").or_else(|| find(UNIFIED));
        place.map(|place| place.folder)
    };
    let second = folder("app.slice/a.service");
    assert_eq!(found("0::/app.slice/a.service\n"), second);
    let first = folder("memory/y/z");
    assert_eq!(found("4:cpu,cpuacct:/x\n3:memory:/y/z\n0::/\n"), first);
    assert_eq!(found("nonsense"), None);
}

#[test]
fn paths_are_below_a_top_or_not() {
    assert_eq!(below("/a/b", "/"), Some("a/b"));
    assert_eq!(below("/", "/"), Some(""));
    assert_eq!(below("/a/b", "/a"), Some("b"));
    assert_eq!(below("/ab", "/a"), None);
    assert_eq!(below("/../x", "/"), None);
}

/// Two nested groups of this machine, where they may be made; gone with their owner.
struct Nested {
    outer: PathBuf,
    inner: PathBuf,
}

impl Nested {
    fn make() -> Option<Nested> {
        let groups = Groups::own();
        let parent = groups.levels.first()?;
        let outer = parent.join(format!("measure-quota-{}", std::process::id()));
        let inner = outer.join("inner");
        fs::create_dir(&outer).ok()?;
        let nested = Nested { outer, inner };
        fs::create_dir(&nested.inner).ok()?;
        let limited = match groups.version {
            Version::One => fs::write(nested.outer.join("cpu.cfs_quota_us"), "20000"),
            Version::Two => fs::write(nested.outer.join("cpu.max"), "20000 100000"),
        };
        limited.is_ok().then_some(nested)
    }
}

impl Drop for Nested {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.inner);
        let _ = fs::remove_dir(&self.outer);
    }
}

fn shell() -> Child {
    let script = "read a; i=0; while [ $i -lt 400000 ]; do i=$((i+1)); done; echo over; read a; :";
    Command::new("/bin/sh")
        .args(["-c", script])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("a shell")
}

#[test]
fn the_quota_of_a_real_group_holds_for_the_groups_in_it() {
    let Some(nested) = Nested::make() else {
        crate::skip::not_permitted("no control group with a quota can be made here");
        return;
    };
    let mut child = shell();
    let mut input = child.stdin.take().expect("piped");
    let mut output = BufReader::new(child.stdout.take().expect("piped"));
    fs::write(nested.inner.join("cgroup.procs"), child.id().to_string()).expect("ours");
    let groups = Groups::of(child.id());
    assert_eq!(groups.levels.first(), Some(&nested.inner), "{groups:?}");
    assert_eq!(groups.quota(), Quota::Millicpus(200));
    let before = groups.throttled_ns().expect("an account");
    input.write_all(b"\n").expect("it reads");
    let mut line = String::new();
    output.read_line(&mut line).expect("it writes");
    let after = groups.throttled_ns().expect("an account");
    let own = fs::read_to_string(nested.inner.join("cpu.stat")).expect("a file");
    input.write_all(b"\n").expect("it reads");
    child.wait().expect("our child");
    // A quarter of a second of work at a fifth of a CPU is stopped for most of a second.
    assert!(
        after >= before + 100_000_000,
        "{before}, then {after}; {own}"
    );
}

#[test]
fn the_smallest_memory_of_all_groups_above_holds() {
    let tree = Tree::new("", "");
    tree.put("a/b/c/memory.max", "max\n");
    let at = |folder: &str| memory_bytes_at(&tree.0.path().join(folder), "memory.max");
    assert_eq!(at("a/b/c"), None);
    tree.put("a/b/memory.max", "1073741824\n");
    assert_eq!(at("a/b/c"), Some(1 << 30));
    tree.put("a/memory.max", "2097152\n");
    assert_eq!(at("a/b/c"), Some(2 << 20));
    // Nobody sees beyond a group without that file.
    tree.put("d/memory.max", "4096\n");
    tree.put("d/e/f/memory.max", "max\n");
    assert_eq!(at("d/e/f"), None);
}

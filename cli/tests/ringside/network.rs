//! Comparisons in a network of their own: what they see there, that the host keeps what it has,
//! when they stay in the host's network, and that the two processes end as one.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::chown;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Command, Stdio};

use rustix::process::{Pid, Signal, geteuid, kill_process, kill_process_group};
use serde_json::Value;

use super::child::{
    Ended, Folder, alive, assert_says, command, comparison_of_ours, rounds, start, until,
};
use super::skip::not_permitted;

/// A user that owns nothing.
const NOBODY: u32 = 65_534;

/// Runs the command that follows under a filter that lets no process unshare anything (seccomp(2)):
/// the number of the call is loaded, and unshare returns EPERM.
const NO_UNSHARE: &str = r"
import ctypes, os, platform, struct, sys
unshare = {'x86_64': 272, 'aarch64': 97}[platform.machine()]
steps = [(0x20, 0, 0, 0), (0x15, 0, 1, unshare), (6, 0, 0, 0x50001), (6, 0, 0, 0x7fff0000)]
code = ctypes.create_string_buffer(b''.join(struct.pack('=HBBI', *step) for step in steps))
program = struct.pack('@HP', len(steps), ctypes.addressof(code))
prctl = ctypes.CDLL(None, use_errno=True).prctl
prctl.argtypes = [ctypes.c_int] + 4 * [ctypes.c_void_p]
assert prctl(38, 1, 0, 0, 0) == 0 and prctl(22, 2, program, 0, 0) == 0, ctypes.get_errno()
os.execvp(sys.argv[1], sys.argv[1:])
";

/// Whether this machine lets us have networks of our own, as we are and as somebody who is root in
/// a namespace of users; says so if not.
pub(super) fn permitted() -> bool {
    let mut own = Command::new("unshare");
    own.args(["-Urnm", "unshare", "-n", "true"]);
    let permitted = own.output().is_ok_and(|ended| ended.status.success());
    if !permitted {
        not_permitted("the kernel refuses namespaces of networks and users");
    }
    permitted
}

/// Writes a comparison of our server with itself into `folder`, of so many rounds, and gives its
/// path. Each start has the shell run `before` first, and `rest` ends the file.
fn comparison(folder: &Folder, count: u32, before: &str, rest: &str) -> String {
    let rest = format!(
        "rounds = {count}\nceiling = false\n[workload]\npath = \"/\"\nconnections = 2\n\
         window = \"100ms\"\nsettle = \"20ms\"\nwarm_up = \"20ms\"\n{rest}"
    );
    comparison_of_ours(folder, before, &rest)
}

/// A comparison as it is kept.
fn kept(folder: &Folder) -> Value {
    let text = fs::read_to_string(folder.path("out/comparison.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

/// Runs a shell's `script`, as root of a namespace of users and of whatever else `flags` of
/// unshare(1) say. `$ringside`, `$file` and `$out` are what they are called.
fn as_root_elsewhere(folder: &Folder, file: &str, flags: &str, script: &str) -> Ended {
    let script = format!("set -e\n{script}");
    let mut shell = Command::new("unshare");
    shell
        .args([flags, "sh", "-c", &script])
        .env("ringside", env!("CARGO_BIN_EXE_ringside"))
        .env("file", file)
        .env("filter", NO_UNSHARE)
        .env("out", folder.path("out"));
    start(&mut shell).end()
}

/// A setting of the network that this test is in.
fn own(name: &str) -> String {
    let text = fs::read_to_string(Path::new("/proc/sys/net").join(name)).unwrap_or_default();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The network that a process is in, as the kernel names it.
fn own_network() -> String {
    let name = fs::read_link("/proc/self/ns/net").unwrap();
    name.to_str().unwrap().to_owned()
}

#[test]
fn a_comparison_has_its_own_settings_whatever_the_hosts_are_and_leaves_those() {
    if !permitted() {
        return;
    }
    let folder = Folder::new();
    let file = comparison(&folder, 2, "", "");
    // A host that is set to what nobody wants to measure with, and that has no loopback at all.
    let available = own("ipv4/tcp_available_congestion_control");
    let other = available.split(' ').find(|name| *name != "cubic");
    let other = other.unwrap_or("reno");
    let wanted = if available.contains("bbr") {
        "bbr"
    } else {
        other
    };
    let before = (own("ipv4/tcp_congestion_control"), own("core/somaxconn"));
    let ended = as_root_elsewhere(
        &folder,
        &file,
        "-Urn",
        &format!(
            "cd /proc/sys/net\necho {wanted} >ipv4/tcp_congestion_control\n\
             echo 40000 41000 >ipv4/ip_local_port_range\necho 99 >core/somaxconn\n\
             $ringside compare $file -o $out\n\
             cat ipv4/tcp_congestion_control ipv4/ip_local_port_range core/somaxconn >$out/after"
        ),
    );
    assert_eq!(ended.code, Some(0), "{}{}", ended.stdout, ended.stderr);
    let kept = kept(&folder);
    let host = &kept["host"];
    assert_eq!(kept["network"]["kind"], "private");
    // A host whose own default is another may allow it to nobody else.
    let allowed = own("ipv4/tcp_allowed_congestion_control");
    let allows = |name: &&&str| allowed.split(' ').any(|other| other == **name);
    let unpaced = ["cubic", "reno"].iter().find(allows).unwrap_or(&wanted);
    assert_eq!(host["congestion_control"], *unpaced);
    assert_eq!(host["port_range"], serde_json::json!([1024, 65535]));
    assert_eq!(
        (&host["somaxconn"], &host["loopback_mtu"]),
        (&65535.into(), &65536.into())
    );
    let interfaces = host["queueing"].as_object().unwrap().keys();
    assert_eq!(interfaces.collect::<Vec<_>>(), ["lo"]);
    assert!(!kept["cautions"].to_string().contains("bbr"), "{kept}");
    // The two networks of the host are as they were.
    let after = fs::read_to_string(folder.path("out/after")).unwrap();
    let words: Vec<&str> = after.split_whitespace().collect();
    assert_eq!(words, [wanted, "40000", "41000", "99"]);
    let now = (own("ipv4/tcp_congestion_control"), own("core/somaxconn"));
    assert_eq!(now, before);
    // Every format says which network it was.
    assert_says(&ended.stdout.replace('\n', " "), "in a private network");
    for name in ["report.md", "report.html"] {
        let text = fs::read_to_string(folder.path(&format!("out/{name}"))).unwrap();
        assert_says(&text, "private: a namespace with a loopback interface only");
    }
    // The counters that were read are those of the network that the load went through.
    let (_, round) = rounds(&folder.path("out")).pop_first().unwrap();
    let round: Value = serde_json::from_slice(&round).unwrap();
    let segments = find(&round, "InSegs").and_then(Value::as_u64);
    assert!(
        segments.is_some_and(|segments| segments > 10),
        "{segments:?}"
    );
}

/// The first value of this name, wherever it is.
fn find<'a>(value: &'a Value, name: &str) -> Option<&'a Value> {
    match value {
        Value::Object(fields) => fields
            .get(name)
            .or_else(|| fields.values().find_map(|value| find(value, name))),
        Value::Array(values) => values.iter().find_map(|value| find(value, name)),
        _ => None,
    }
}

#[test]
fn a_port_that_is_taken_on_the_host_is_free_inside_unless_the_hosts_network_is_asked_for() {
    if !permitted() {
        return;
    }
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    for (flag, rest, said) in [
        (None, "", "listening on"),
        (Some("--host-network"), "", "in use"),
        (None, "[network]\nprivate = false\n", "in use"),
    ] {
        let folder = Folder::new();
        // A second server beside the one that is measured, which ends with it.
        let says = folder.path("says");
        let before = format!("{{ringside}} serve --threads 1 --addr 127.0.0.1:{port} 2>>{says} &");
        let file = comparison(&folder, 1, &before, rest);
        let out = folder.path("out");
        let words = ["compare", &file, "-o", &out].into_iter().chain(flag);
        let ended = start(&mut command(&words.collect::<Vec<_>>())).end();
        assert_eq!(ended.code, Some(0), "{}{}", ended.stdout, ended.stderr);
        assert_says(&fs::read_to_string(says).unwrap(), said);
        let kept = kept(&folder);
        let private = said == "listening on";
        let kind = if private { "private" } else { "host" };
        assert_eq!(kept["network"]["kind"], kind);
        if !private {
            let why = flag.unwrap_or("[network] private = false");
            assert_eq!(kept["network"]["why"], why);
            assert_eq!(
                kept["host"]["congestion_control"],
                own("ipv4/tcp_congestion_control")
            );
            let cautions = kept["cautions"].to_string();
            assert!(!cautions.contains("private network"), "{cautions}");
        }
    }
}

#[test]
fn where_a_private_network_is_refused_a_comparison_runs_in_the_hosts_and_says_why() {
    if !permitted() {
        return;
    }
    for (refusal, run, why) in [
        // No namespace can be made.
        (
            "echo 0 >/proc/sys/user/max_net_namespaces",
            "",
            "The kernel refused a network namespace",
        ),
        (
            "",
            "setpriv --bounding-set=-sys_admin --inh-caps=-sys_admin",
            "Give this process CAP_SYS_ADMIN",
        ),
        // It can be made, and its loopback interface can't be set up.
        (
            "",
            "setpriv --bounding-set=-net_admin --inh-caps=-net_admin",
            "bringing up its loopback interface failed",
        ),
        // It can be made, and its settings can't be written.
        (
            "mount --bind /proc/sys /proc/sys; mount -o remount,bind,ro /proc/sys",
            "",
            "setting net.ipv4.tcp_congestion_control to cubic failed",
        ),
        // What a container's profile does.
        (
            "",
            "python3 -c \"$filter\"",
            "let its seccomp profile allow unshare",
        ),
    ] {
        let folder = Folder::new();
        let file = comparison(&folder, 1, "", "");
        let script =
            format!("{refusal}\n{run} $ringside doctor\n{run} $ringside compare $file -o $out");
        let ended = as_root_elsewhere(&folder, &file, "-Urm", &script);
        assert_eq!(
            ended.code,
            Some(0),
            "{why}: {}{}",
            ended.stdout,
            ended.stderr
        );
        let kept = kept(&folder);
        assert_eq!(kept["network"]["kind"], "refused", "{why}");
        let cautions = kept["cautions"].to_string();
        assert_says(&cautions, "No private network could be made");
        assert_says(&cautions, why);
        assert_says(&cautions, "--host-network");
        assert_says(&ended.stderr, why);
        // Who asks the doctor knows it before.
        assert_says(&ended.stdout, "warn  private network");
        assert_says(&ended.stdout, why);
        assert!(!rounds(&folder.path("out")).is_empty());
    }
}

/// A subject that writes down where it was built and where it runs, and as whom.
fn built(folder: &Folder) -> String {
    let facts = "readlink /proc/self/ns/net; id -u; id -g; grep CapEff /proc/self/status; \
                 grep SigBlk /proc/self/status; tr '\\\\0' ' ' </proc/self/environ";
    let file = comparison(
        folder,
        1,
        &format!("( {facts} ) >{};", folder.path("runs")),
        "",
    );
    let path = folder.path("subjects/ours/subject.toml");
    let subject = fs::read_to_string(&path).unwrap();
    let script = format!("( {facts} ) >{}", folder.path("built"));
    let build = format!("[build]\ncommands = [[\"sh\", \"-c\", \"{script}\"]]\n[start]\n");
    fs::write(path, subject.replacen("[start]\n", &build, 1)).unwrap();
    file
}

#[test]
fn who_is_not_root_is_themselves_inside_and_builds_run_outside() {
    if !permitted() {
        return;
    }
    let folder = Folder::new();
    let (file, out) = (built(&folder), folder.path("out"));
    let mut ringside = command(&["compare", &file, "-o", &out]);
    ringside
        .env("XDG_CACHE_HOME", folder.path("cache"))
        .env("XDG_STATE_HOME", folder.path("state"))
        .current_dir(folder.path("."));
    let user = match geteuid().is_root() {
        true => {
            chown(folder.path("."), Some(NOBODY), Some(NOBODY)).unwrap();
            // This leaves all other groups, too.
            ringside.uid(NOBODY).gid(NOBODY);
            NOBODY
        }
        false => geteuid().as_raw(),
    };
    let ended = start(&mut ringside).end();
    assert_eq!(ended.code, Some(0), "{}{}", ended.stdout, ended.stderr);
    assert_eq!(kept(&folder)["network"]["kind"], "private");
    let read = |name: &str| fs::read_to_string(folder.path(name)).unwrap();
    let (built, runs) = (read("built"), read("runs"));
    let lines = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
    let (built, runs) = (lines(&built), lines(&runs));
    assert_eq!(built[0], own_network());
    assert_ne!(runs[0], own_network());
    for facts in [&built, &runs] {
        assert_eq!(facts[1], user.to_string());
        assert_eq!(facts[3].split_whitespace().last(), Some("0000000000000000"));
        // What is blocked is inherited, and who is asked to end would not hear it.
        assert_eq!(facts[4].split_whitespace().last(), Some("0000000000000000"));
        assert!(
            !facts[5..].join(" ").contains("in-private-network"),
            "{facts:?}"
        );
    }
}

/// A comparison that runs in two processes, in a group of processes of their own.
struct Pair {
    folder: Folder,
    outer: std::process::Child,
    inner: String,
    subject: String,
}

impl Pair {
    /// Started, with a round measured; none where there are no private networks.
    fn start() -> Option<Pair> {
        if !permitted() {
            return None;
        }
        let folder = Folder::new();
        let before = format!("echo $$ >{};", folder.path("subject"));
        let file = comparison(&folder, 900, &before, "");
        let out = folder.path("out");
        let outer = command(&["compare", &file, "-o", &out])
            .stdout(Stdio::from(
                fs::File::create(folder.path("stdout")).unwrap(),
            ))
            .stderr(Stdio::from(
                fs::File::create(folder.path("stderr")).unwrap(),
            ))
            .process_group(0)
            .spawn()
            .unwrap();
        let id = outer.id();
        let mut pair = Pair {
            folder,
            outer,
            inner: String::new(),
            subject: String::new(),
        };
        until("a round is measured", || !rounds(&out).is_empty());
        let inner = fs::read_to_string(format!("/proc/{id}/task/{id}/children")).unwrap();
        pair.inner = inner.trim().to_owned();
        pair.subject = pair.read("subject").trim().to_owned();
        assert!(alive(&pair.inner) && alive(&pair.subject), "{inner}");
        Some(pair)
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.folder.path(name)).unwrap()
    }

    fn outer(&self) -> Pid {
        Pid::from_child(&self.outer)
    }

    /// Waits until both and the subject are gone. How the one outside ended: its code, or the
    /// signal that ended it.
    fn ended(&mut self) -> (Option<i32>, Option<i32>) {
        let status = {
            let outer = self.outer.id().to_string();
            until("the process outside ends", || !alive(&outer));
            self.outer.wait().unwrap()
        };
        until("the process inside ends", || !alive(&self.inner));
        until("the subject ends", || !alive(&self.subject));
        (status.code(), status.signal())
    }

    /// Whether a report of what was measured was printed, and of all rounds that are on the disk.
    fn has_reported(&self) -> bool {
        let Ok(report) = fs::read_to_string(self.folder.path("out/report.json")) else {
            return false;
        };
        let report: Value = serde_json::from_str(&report).unwrap();
        let samples = report["subjects"][0]["samples"].as_array().unwrap();
        let measured = rounds(&self.folder.path("out")).len();
        samples.len() == measured && self.read("stdout").contains("ours")
    }
}

impl Drop for Pair {
    fn drop(&mut self) {
        // Fails where it has ended already; with it the others end.
        let _ = self.outer.kill();
        let _ = self.outer.wait();
    }
}

#[test]
fn a_signal_to_the_process_outside_alone_ends_both_with_a_report() {
    for (signal, code) in [(Signal::INT, 130), (Signal::TERM, 143)] {
        let Some(mut pair) = Pair::start() else {
            return;
        };
        kill_process(pair.outer(), signal).unwrap();
        assert_eq!(pair.ended(), (Some(code), None), "{}", pair.read("stderr"));
        assert!(pair.has_reported(), "{}", pair.read("stdout"));
    }
}

#[test]
fn ctrl_c_on_a_terminal_reaches_both_and_counts_once() {
    let Some(mut pair) = Pair::start() else {
        return;
    };
    kill_process_group(pair.outer(), Signal::INT).unwrap();
    assert_eq!(pair.ended(), (Some(130), None), "{}", pair.read("stderr"));
    assert!(pair.has_reported(), "{}", pair.read("stdout"));
}

#[test]
fn a_second_ctrl_c_ends_both_at_once_and_leaves_nobody() {
    let Some(mut pair) = Pair::start() else {
        return;
    };
    // Neither can say anything until both signals are there.
    kill_process(pair.outer(), Signal::STOP).unwrap();
    kill_process_group(pair.outer(), Signal::INT).unwrap();
    let inner = pair.inner.parse().ok().and_then(Pid::from_raw).unwrap();
    kill_process(inner, Signal::INT).unwrap();
    kill_process(pair.outer(), Signal::CONT).unwrap();
    assert_eq!(pair.ended(), (Some(130), None), "{}", pair.read("stderr"));
}

#[test]
fn if_either_process_is_killed_the_other_ends_like_it_and_nobody_is_left() {
    for inside in [true, false] {
        let Some(mut pair) = Pair::start() else {
            return;
        };
        let measured = rounds(&pair.folder.path("out"));
        let killed = match inside {
            true => pair.inner.parse().ok().and_then(Pid::from_raw).unwrap(),
            false => pair.outer(),
        };
        kill_process(killed, Signal::KILL).unwrap();
        let kill = Signal::KILL.as_raw();
        assert_eq!(pair.ended(), (None, Some(kill)), "inside: {inside}");
        // What was measured is still there.
        let after = rounds(&pair.folder.path("out"));
        assert!(
            measured
                .iter()
                .all(|(name, bytes)| after.get(name) == Some(bytes))
        );
    }
}

#[test]
fn a_build_that_runs_outside_ends_with_a_signal() {
    if !permitted() {
        return;
    }
    for signal in [Signal::INT, Signal::TERM] {
        let folder = Folder::new();
        let file = built(&folder);
        let path = folder.path("subjects/ours/subject.toml");
        let subject = fs::read_to_string(&path).unwrap();
        let begun = folder.path("begun");
        let waits = format!("echo $$ >{begun}; exec sleep 1000; ( ");
        fs::write(&path, subject.replacen("( ", &waits, 1)).unwrap();
        let mut ringside = command(&["compare", &file, "-o", &folder.path("out")]);
        let running = start(ringside.env("XDG_CACHE_HOME", folder.path("cache")));
        until("the build begins", || {
            fs::read_to_string(&begun).is_ok_and(|pid| pid.ends_with('\n'))
        });
        let build = fs::read_to_string(&begun).unwrap();
        running.signal(signal);
        let ended = running.end();
        assert_eq!(ended.code, Some(128 + signal.as_raw()), "{}", ended.stderr);
        assert!(!alive(build.trim()), "the build is still there");
    }
}

#[test]
fn a_comparison_goes_on_in_the_network_that_it_began_in() {
    if !permitted() {
        return;
    }
    let folder = Folder::new();
    let (file, out) = (comparison(&folder, 2, "", ""), folder.path("out"));
    let go = |flags: &[&str]| {
        let words = ["compare", &file].into_iter().chain(flags.iter().copied());
        start(&mut command(&words.collect::<Vec<_>>())).end()
    };
    let ended = go(&["-o", &out, "--host-network"]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    fs::remove_file(folder.path("out/rounds/ours/002.json")).unwrap();
    // Nobody has to say so again.
    let ended = go(&["--resume", &out]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert_eq!(rounds(&out).len(), 2);
    let network = kept(&folder)["network"].clone();
    let expected = serde_json::json!({"kind": "host", "why": "--host-network"});
    assert_eq!(network, expected);
    fs::remove_dir_all(&out).unwrap();
    assert_eq!(go(&["-o", &out]).code, Some(0));
    let ended = go(&["--resume", &out, "--host-network"]);
    assert_eq!(ended.code, Some(2), "{}", ended.stderr);
    assert_says(&ended.stderr, "leave out --host-network");
}

/// Runs a verb on a comparison in which each start writes down its network, of which there must be
/// one for so many starts. Where that was, and what the verb said.
fn in_one_network(verb: &str, rest: &str, flags: &str, starts: usize) -> (Folder, Ended) {
    let folder = Folder::new();
    let seen = folder.path("seen");
    let before = format!("readlink /proc/self/ns/net >>{seen};");
    let rest = format!("{rest}[judge]\nfigures = [\"rate\"]\n");
    let file = comparison(&folder, 2, &before, &rest);
    let claims = folder.path("claims");
    fs::create_dir(&claims).unwrap();
    for id in ["A1", "A2"] {
        fs::copy(&file, folder.path(&format!("{id}.toml"))).unwrap();
        fs::write(format!("{claims}/{}.toml", id.to_lowercase()), claim(id)).unwrap();
    }
    let flags = flags
        .replace("{out}", &folder.path("out"))
        .replace("{claims}", &claims);
    let mut words = vec![verb];
    words.extend((verb != "claims").then_some(file.as_str()));
    words.extend(flags.split(' '));
    let ended = start(&mut command(&words)).end();
    let seen = fs::read_to_string(seen).unwrap_or_default();
    let mut networks: Vec<&str> = seen.lines().collect();
    let enough = networks.len() >= starts;
    assert!(enough, "{words:?}: {seen}{}", ended.stderr);
    networks.dedup();
    assert_eq!(networks.len(), 1, "{words:?}: {seen}");
    assert_ne!(networks[0], own_network());
    (folder, ended)
}

#[test]
fn points_of_a_sweep_and_trials_share_one_private_network() {
    if permitted() {
        in_one_network("compare", "[sweep]\nconnections = [1, 2]\n", "-o {out}", 2);
        in_one_network("compare", "", "--aa-trials 2 -o {out}", 2);
    }
}

#[test]
fn claims_share_one_private_network() {
    if permitted() {
        let flags = "run --all --quick --dir {claims} -o {out}";
        in_one_network("claims", "", flags, 2);
    }
}

#[test]
fn a_search_for_the_capacity_of_rows_is_in_a_private_network_and_says_so() {
    if !permitted() {
        return;
    }
    let flags = "-o {out} --slo errors<50% --from 50 --to 60 -d 100ms --repeats 1 \
                 --confirmations 1 --precision 40%";
    let (folder, ended) = in_one_network("capacity", "", flags, 1);
    let found = fs::read_to_string(folder.path("out/capacity.json")).unwrap();
    let found: Value = serde_json::from_str(&found).unwrap();
    assert_eq!(found["network"]["kind"], "private");
    let said = ended.stdout.replace('\n', " ");
    assert_says(&said, "Measured in a private network.");
    let page = fs::read_to_string(folder.path("out/report.html")).unwrap();
    assert_says(&page, "private: a namespace with a loopback interface only");
}

/// A claim that rests on the comparison of its name.
fn claim(id: &str) -> String {
    format!(
        "id = \"{id}\"\nwritten = \"2026-11-23\"\nclaimed = \"1\"\nmeasured_there = \"so\"\n\
         run_here = \"so\"\nchanged = \"so\"\n\
         statement = {{ en = \"It serves.\", zh = \"能用。\" }}\n\
         source = {{ post = \"A\", sections = [\"1\"] }}\n\
         zh = {{ claimed = \"1\", measured_there = \"1\", run_here = \"1\", changed = \"1\" }}\n\
         [run]\n\
         comparison = \"../{id}.toml\"\n[[judge]]\n[judge.figure]\n\
         metric = \"requests_per_second\"\nof = \"ours\"\npublished = 1.5\n"
    )
}

#[test]
fn a_subject_that_does_not_come_up_may_want_what_is_not_inside() {
    if !permitted() {
        return;
    }
    for (flag, hinted) in [(None, true), (Some("--host-network"), false)] {
        let folder = Folder::new();
        let (file, out) = (comparison(&folder, 1, "exit 7;", ""), folder.path("out"));
        let words = ["compare", &file, "-o", &out].into_iter().chain(flag);
        let ended = start(&mut command(&words.collect::<Vec<_>>())).end();
        assert_eq!(ended.code, Some(1), "{}{}", ended.stdout, ended.stderr);
        assert_says(&ended.stderr, "exited before it was ready");
        let says = ended.stderr.contains("pass --host-network");
        assert_eq!(says, hinted, "{}", ended.stderr);
    }
}

#[test]
fn the_way_in_is_not_for_people() {
    for word in ["enter,1", "go,1", "try,1"].map(|stage| format!("--in-private-network={stage}")) {
        let ended = start(&mut command(&[&word, "compare", "a.toml"])).end();
        assert_eq!(ended.code, Some(2), "{}", ended.stderr);
        assert_says(&ended.stderr, "leave it out");
    }
}

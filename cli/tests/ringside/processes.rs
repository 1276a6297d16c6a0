//! `ringside serve --processes`: what becomes of clients when workers die, are reloaded, and when
//! another master takes over.

use std::fs::File;
use std::io::ErrorKind;
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use engine::choice::{EngineChoice, decide};
use measure::time::unix_nanoseconds;
use rustix::io::{FdFlags, fcntl_setfd};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use super::child::{Folder, Running, alive, command, record, ringside, start, until};
use super::master::{Manager, Master, ask};
use super::peers::installed;
use super::prometheus::{self, get, passes_promtool, prometheus};
use super::scraped_servers::{agrees, value};

/// A master that runs, and whoever has taken over from it; all end when it is dropped.
struct Served {
    child: Child,
    folder: Folder,
    address: String,
    admin: String,
}

/// Starts it. A copy of a program can't be run while somebody has it open for writing, which a
/// child of another test does until it's a program of its own.
fn spawned(command: &mut Command) -> Child {
    let mut child = None;
    until("it can be run", || match command.spawn() {
        Err(error) if error.kind() == ErrorKind::ExecutableFileBusy => false,
        other => {
            child = Some(other.expect("it starts"));
            true
        }
    });
    child.expect("it was started")
}

impl Served {
    /// One at ports that are free.
    fn start(arguments: &[&str]) -> Served {
        Served::of(command(&[&WORDS, arguments].concat()))
    }

    fn of(mut command: Command) -> Served {
        let folder = Folder::new();
        let log = File::create(folder.path("said")).expect("a file");
        command
            .args(["--addr", "127.0.0.1:0", "--admin", "127.0.0.1:0"])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log);
        let mut master = Served {
            child: spawned(&mut command),
            folder,
            address: String::new(),
            admin: String::new(),
        };
        until("it says where it listens", || master.greeting().is_some());
        (master.address, master.admin) = master.greeting().expect("it was there");
        until("it answers /health", || master.health().is_some());
        master
    }

    /// Where it and its admin listen.
    fn greeting(&self) -> Option<(String, String)> {
        let said = self.said().replace('\n', " ");
        let address = said.split_once("listening on ")?.1.split_once(' ')?.0;
        let admin = said.split_once("/metrics at ")?.1.split_once(' ')?.0;
        Some((address.to_string(), admin.to_string()))
    }

    /// Ends whoever is the master by now; what all of them said.
    fn end(mut self) -> String {
        let pid = self.pid();
        signal(pid, Signal::TERM);
        until("it ends", || !alive(&pid.to_string()));
        self.child.wait().expect("it was started");
        self.said()
    }
}

impl Master for Served {
    fn admin(&self) -> &str {
        &self.admin
    }

    fn log(&self) -> PathBuf {
        self.folder.path("said").into()
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        // Whoever has taken over, too; its workers end with it.
        if let Some(pid) = self.figure("pid") {
            signal(pid, Signal::KILL);
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

const WORDS: [&str; 3] = ["serve", "--processes", "2"];

fn signal(pid: u64, signal: Signal) {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
    // It may have ended.
    let _ = kill_process(pid.expect("a process"), signal);
}

fn each_engine(body: impl Fn(&str)) {
    for engine in [EngineChoice::Uring, EngineChoice::Epoll] {
        match decide(engine) {
            Ok(_) => body(&engine.to_string()),
            Err(error) => super::skip::skip(format!("{engine} cannot be used here: {error}")),
        }
    }
}

/// A load at a fixed rate, that is to end without an error.
fn load(master: &Served, arguments: &[&str]) -> Running {
    let url = format!("http://{}/", master.address);
    let words = ["run", "-R", "400", "-d", "12s", "--format", "json"];
    start(&mut command(&[&words, arguments, &[url.as_str()]].concat()))
}

#[test]
fn reloads_and_another_master_lose_no_request() {
    each_engine(|engine| {
        let master = Served::start(&["--engine", engine]);
        master.until("serving", 2);
        let loads = [
            load(&master, &["-c", "8"]),
            load(&master, &["-c", "4", "--http2"]),
            load(&master, &["-c", "4", "--no-keepalive"]),
        ];
        let first = master.pid();
        for reloads in 1..=3 {
            signal(first, Signal::HUP);
            master.until("reloads", reloads);
        }
        signal(first, Signal::USR2);
        until("another master", || {
            master.figure("pid").is_some_and(|pid| pid != first)
        });
        until("the first one ends", || !alive(&first.to_string()));
        for load in loads {
            let ended = load.end();
            let record = ended.record();
            let none = Value::Object(Default::default());
            let what = &record["plan"];
            assert_eq!(
                record["errors"],
                none,
                "{engine}: {what} {}\n{}",
                record["series"],
                master.said()
            );
        }
        master.end();
    });
}

#[test]
fn a_worker_that_is_killed_is_replaced_and_the_others_go_on() {
    each_engine(|engine| {
        let master = Served::start(&["--engine", engine]);
        master.until("serving", 2);
        for restarts in 1..=3 {
            signal(master.workers()[0], Signal::KILL);
            master.until("restarts", restarts);
            master.until("serving", 2);
            let answer = ask(&master.address, "/").expect("an answer");
            assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
        }
        let said = master.end();
        assert!(said.contains("was killed (SIGKILL)"), "{said}");
    });
}

#[test]
fn workers_that_cannot_serve_are_started_later_and_later() {
    let arguments = [
        "--tls",
        "--cert",
        "/nowhere/cert.pem",
        "--key",
        "/nowhere/key.pem",
    ];
    let master = Served::start(&arguments);
    until("both back off", || master.figure("backing_off") == Some(2));
    let answer = ask(&master.admin, "/health").expect("an answer");
    assert!(answer.starts_with("HTTP/1.1 503 "), "{answer}");
    let said = master.end();
    assert!(said.contains("ended by itself (exit code 1)"), "{said}");
}

#[test]
fn a_program_that_does_not_serve_does_not_take_over() {
    let folder = Folder::new();
    let program = folder.path("program");
    std::fs::copy(env!("CARGO_BIN_EXE_ringside"), &program).expect("room for a copy");
    let mut of_program = Command::new(&program);
    of_program.args(WORDS);
    let master = Served::of(of_program);
    master.until("serving", 2);
    let workers = master.workers();
    let other = folder.write("other", "#!/bin/sh\nexit 3\n");
    std::fs::set_permissions(&other, std::fs::Permissions::from_mode(0o755)).expect("a mode");
    std::fs::rename(&program, folder.path("kept")).expect("in one folder");
    std::fs::rename(&other, &program).expect("in one folder");
    let pid = master.pid();
    signal(pid, Signal::HUP);
    master.until("failed_reloads", 1);
    signal(pid, Signal::USR2);
    master.until("failed_reloads", 2);
    until("the old ones serve", || master.workers() == workers);
    std::fs::rename(folder.path("kept"), &program).expect("in one folder");
    signal(pid, Signal::HUP);
    master.until("reloads", 1);
    assert_eq!(master.pid(), pid);
    let said = master.end();
    assert!(
        said.contains("not reloaded: a new worker ended before it served"),
        "{said}"
    );
}

#[test]
fn a_worker_that_is_told_to_end_ends_and_is_replaced() {
    let master = Served::start(&[]);
    master.until("serving", 2);
    signal(master.workers()[0], Signal::TERM);
    master.until("restarts", 1);
    master.until("serving", 2);
    let said = master.end();
    assert!(said.contains("ended by itself (exit code 0)"), "{said}");
}

#[test]
fn a_link_that_leads_elsewhere_by_the_next_reload_is_followed() {
    let folder = Folder::new();
    let (link, next) = (folder.path("current"), folder.path("next"));
    let program = env!("CARGO_BIN_EXE_ringside");
    std::os::unix::fs::symlink(program, &link).expect("a link");
    let mut of_link = Command::new(&link);
    of_link.args(WORDS);
    let master = Served::of(of_link);
    master.until("serving", 2);
    let other = folder.write("other", "#!/bin/sh\nexit 3\n");
    std::fs::set_permissions(&other, std::fs::Permissions::from_mode(0o755)).expect("a mode");
    std::os::unix::fs::symlink(&other, &next).expect("a link");
    std::fs::rename(&next, &link).expect("in one folder");
    signal(master.pid(), Signal::HUP);
    master.until("failed_reloads", 1);
    master.end();
}

#[test]
fn a_master_that_cannot_take_over_ends_with_the_one_that_was_to_go() {
    let master = Served::start(&[]);
    master.until("serving", 2);
    let first = master.pid();
    signal(first, Signal::USR2);
    // Whichever comes first, there is one master in the end, and it ends.
    signal(first, Signal::TERM);
    until("it ends", || !alive(&first.to_string()));
    let none = || TcpStream::connect(&master.address).is_err();
    until("nobody listens", || {
        if let Some(pid) = master.figure("pid") {
            signal(pid, Signal::TERM);
        }
        none()
    });
}

#[test]
fn workers_end_when_their_master_is_gone() {
    let master = Served::start(&[]);
    master.until("serving", 2);
    let workers = master.workers();
    signal(master.pid(), Signal::KILL);
    until("all have ended", || {
        workers.iter().all(|pid| !alive(&pid.to_string()))
    });
}

#[test]
fn what_all_workers_count_is_added_up() {
    let master = Served::start(&[]);
    master.until("serving", 2);
    for _ in 0..20 {
        ask(&master.address, "/").expect("an answer");
    }
    until("all are counted", || {
        let metrics = ask(&master.admin, "/metrics").unwrap_or_default();
        metrics.contains("\nringside_requests_total 20\n")
    });
    signal(master.pid(), Signal::HUP);
    master.until("reloads", 1);
    let metrics = ask(&master.admin, "/metrics").expect("an answer");
    assert!(
        metrics.contains("\nringside_requests_total 20\n"),
        "{metrics}"
    );
    master.end();
}

/// How often each of the workers is asked for its own metrics, so that none is missed.
const ASKED: f64 = 64.0;

#[test]
fn prometheus_has_every_answer_of_all_workers_and_of_those_that_are_gone() {
    let tools = ["prometheus", "promtool"];
    if !tools.iter().all(|tool| installed(tool, "--version")) {
        return;
    }
    let (master, folder) = (Served::start(&[]), Folder::new());
    master.until("serving", 2);
    let port = |address: &str| -> u16 {
        let port = address.rsplit(':').next().expect("a port");
        port.parse().expect("a number")
    };
    let (port, admin) = (port(&master.address), port(&master.admin));
    // A worker records from the first time on that it's asked, which is over by then. The master,
    // who would have them record, isn't asked yet.
    for _ in 0..ASKED as usize {
        get(port, "/metrics").expect("metrics");
    }
    let (_prometheus, server) = prometheus(&folder, &[admin], "");
    let url = format!("http://{}/wait10", master.address);
    let (code, record) = record("auto", &url, &["-n", "2000"]);
    assert!(matches!(code, Some(0 | 4)), "{record}");
    let completed = record["exchanges"]["completed"].as_f64().expect("a count");
    assert_eq!(completed, 2000.0);
    let name = "ringside_serve_response_time_seconds";
    let all = completed + ASKED;
    for (expression, wanted) in [
        ("ringside_requests_total{outcome=\"\"}".to_owned(), all),
        (format!("histogram_count({name})"), all - 2.0),
    ] {
        let mut found = None;
        until(&format!("{expression} is {wanted}"), || {
            let now_s = unix_nanoseconds() as f64 / 1e9;
            found = prometheus::ask(server, &expression, now_s);
            found == Some(wanted)
        });
    }
    let text = get(admin, "/metrics").expect("metrics");
    passes_promtool(&text);
    assert_eq!(value(&text, &format!("{name}_count")), all - 2.0);
    agrees(server, (name, ""), &text, &record);
    // Others take over, and nothing is lost with those that leave.
    signal(master.pid(), Signal::HUP);
    master.until("reloads", 1);
    until("the old ones are gone", || master.workers().len() == 2);
    let text = get(admin, "/metrics").expect("metrics");
    passes_promtool(&text);
    assert_eq!(value(&text, &format!("{name}_count")), all - 2.0);
    assert_eq!(value(&text, "ringside_requests_total"), all);
    master.end();
}

#[test]
fn a_socket_of_systemd_is_served_and_goes_on_listening() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    fcntl_setfd(&listener, FdFlags::empty()).expect("a descriptor");
    let address = listener.local_addr().expect("an address").to_string();
    let script = format!(
        "exec 3<&{number}; LISTEN_PID=$$ LISTEN_FDS=1 exec \"$0\" \"$@\"",
        number = listener.as_raw_fd()
    );
    let mut bash = Command::new("bash");
    bash.args(["-c", &script, env!("CARGO_BIN_EXE_ringside")])
        .args(WORDS);
    let master = Served::of(bash);
    master.until("serving", 2);
    let answer = ask(&address, "/").expect("an answer");
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    master.end();
    TcpStream::connect(&address).expect("systemd's socket still listens");
}

#[test]
fn the_service_manager_is_told_what_happens() {
    let folder = Folder::new();
    let path = folder.path("notify");
    let manager = Manager::at(&path);
    let mut of_manager = command(&WORDS);
    of_manager
        .env("NOTIFY_SOCKET", &path)
        .env("WATCHDOG_USEC", "2000000");
    let master = Served::of(of_manager);
    manager.hears("READY=1");
    manager.hears("WATCHDOG=1");
    signal(master.pid(), Signal::HUP);
    manager.hears("RELOADING=1");
    manager.hears("READY=1");
    signal(master.pid(), Signal::TERM);
    manager.hears("STOPPING=1");
}

#[test]
fn what_makes_no_sense_with_processes_says_so() {
    for (arguments, says) in [
        (&["--processes", "0"][..], "use at least 1"),
        (&["--processes", "2", "--tls"], "needs --cert and --key"),
        (
            &["--processes", "2", "--threads", "2"],
            "cannot be used with",
        ),
        (&["--admin", "127.0.0.1:0"], "--processes"),
    ] {
        let ended = ringside(&[&["serve"], arguments].concat());
        assert_eq!(ended.code, Some(2), "{}", ended.stderr);
        assert!(ended.stderr.contains(says), "{}", ended.stderr);
    }
    let mut foreign = command(&WORDS);
    let ended = start(foreign.env("RINGSIDE_WORKER", "0 77 78")).end();
    assert_eq!(ended.code, Some(1), "{}", ended.stderr);
    assert!(ended.stderr.contains("unset it"), "{}", ended.stderr);
}

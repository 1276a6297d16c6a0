//! `--processes`: what becomes of clients when workers die, are reloaded, and when another master
//! takes over.

use std::fs::File;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use exposition::{Samples, Times};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

use super::master::{Manager, Master, ask, lives, until};
use super::support::{Do, Origin, PATIENCE, in_front_of, on_each_engine};

/// A master that runs, and whoever has taken over from it; all end when it's dropped.
struct Served {
    child: Child,
    folder: tempfile::TempDir,
    address: SocketAddr,
    admin: String,
}

impl Served {
    /// One in two processes, with this configuration, at ports that are free.
    fn start(config: &str) -> Served {
        Served::with(config, |_, _| {})
    }

    fn with(config: &str, prepare: impl FnOnce(&Path, &mut Command)) -> Served {
        let folder = tempfile::tempdir().expect("a folder");
        let said = File::create(folder.path().join("said")).expect("a file");
        let mut command = Command::new(env!("CARGO_BIN_EXE_ringside-gateway"));
        command
            .current_dir(folder.path())
            .args(["--config", "gateway.toml", "--processes", "2"])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(said);
        prepare(folder.path(), &mut command);
        std::fs::write(folder.path().join("gateway.toml"), config).expect("a file");
        let mut master = Served {
            child: command.spawn().expect("it starts"),
            folder,
            address: ([127, 0, 0, 1], 0).into(),
            admin: String::new(),
        };
        until("it says where it listens", || master.greeting().is_some());
        (master.address, master.admin) = master.greeting().expect("it was there");
        master.until("serving", 2);
        master
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write(&self, config: &str) {
        // As an editor does: whoever reads sees all of it.
        std::fs::write(self.path("next"), config).expect("a file");
        std::fs::rename(self.path("next"), self.path("gateway.toml")).expect("in one folder");
    }

    fn greeting(&self) -> Option<(SocketAddr, String)> {
        let said = self.said();
        let line = said.lines().find(|line| line.contains("listening on "))?;
        let address = line.split_once("listening on ")?.1.split_once(' ')?.0;
        let admin = line.split_once("/metrics at ")?.1;
        Some((address.parse().ok()?, admin.to_owned()))
    }

    fn get(&self) -> String {
        ask(self.address, "/").unwrap_or_default()
    }

    /// So many clients get the origin's answer.
    #[track_caller]
    fn answers(&self, clients: usize) {
        for client in 1..=clients {
            let answer = self.get();
            assert!(
                answer.ends_with("old"),
                "{client}: {answer:?}\n{}",
                self.said()
            );
        }
    }

    /// Ends whoever is the master by now; what all of them said.
    fn end(mut self) -> String {
        let pid = self.pid();
        signal(pid, Signal::SIGTERM);
        self.child.wait().expect("it was started");
        until("it ends", || !lives(pid));
        self.said()
    }
}

impl Master for Served {
    fn admin(&self) -> &str {
        &self.admin
    }

    fn log(&self) -> PathBuf {
        self.path("said")
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        // Whoever has taken over, too; its workers end with it.
        if let Some(pid) = self.figure("pid") {
            signal(pid, Signal::SIGKILL);
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn signal(pid: u64, signal: Signal) {
    // It may have ended.
    let _ = kill(Pid::from_raw(pid as i32), signal);
}

const ADMIN: &str = "[admin]\naddress = \"127.0.0.1:0\"\n";

fn behind(engine: &str, origin: &Origin) -> String {
    let listen = format!("[listen]\naddress = \"127.0.0.1:0\"\nengine = \"{engine}\"\n");
    let rest = in_front_of(&[origin.address], "");
    format!("{listen}{ADMIN}{rest}name = \"main\"\n")
}

/// Asks as often as it can until `stop`: on one connection for as long as the server keeps it, or
/// on a new one each time. Says what went wrong, if anything did.
fn load(address: SocketAddr, keeps: bool, stop: &AtomicBool, done: &AtomicU64) -> Option<String> {
    let mut kept: Option<TcpStream> = None;
    while !stop.load(Ordering::Relaxed) {
        let mut stream = match kept.take() {
            Some(stream) => stream,
            None => match TcpStream::connect(address) {
                Ok(stream) => stream,
                Err(why) => return Some(format!("can't connect: {why}")),
            },
        };
        let said = match exchange(&mut stream) {
            Ok(said) => said,
            Err(why) => return Some(format!("no answer: {why}")),
        };
        if !said.starts_with("HTTP/1.1 200 ") {
            return Some(said);
        }
        done.fetch_add(1, Ordering::Relaxed);
        let closes = said.to_lowercase().contains("\r\nconnection: close\r\n");
        kept = (keeps && !closes).then_some(stream);
    }
    None
}

/// One request, and an answer of three bytes.
fn exchange(stream: &mut TcpStream) -> std::io::Result<String> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.write_all(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")?;
    let mut said = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&said);
        if text
            .split_once("\r\n\r\n")
            .is_some_and(|(_, body)| body.len() >= 3)
        {
            return Ok(text.into_owned());
        }
        let mut bytes = [0; 1024];
        match stream.read(&mut bytes)? {
            0 => return Err(std::io::Error::other(format!("it ends after {text:?}"))),
            count => said.extend_from_slice(&bytes[..count]),
        }
    }
}

#[test]
fn reloads_and_another_master_lose_no_request() {
    on_each_engine(|engine| {
        let (old, new) = (Origin::named("old"), Origin::named("new"));
        let master = Served::start(&behind(engine, &old));
        let first = master.pid();
        let (stop, done) = (AtomicBool::new(false), AtomicU64::new(0));
        std::thread::scope(|scope| {
            let address = master.address;
            let (stop, done) = (&stop, &done);
            let loads = [true, true, true, false]
                .map(|keeps| scope.spawn(move || load(address, keeps, stop, done)));
            let more = |wanted: u64| {
                let so_far = done.load(Ordering::Relaxed);
                let all_ended = || loads.iter().all(|one| one.is_finished());
                until("requests are answered", || {
                    all_ended() || done.load(Ordering::Relaxed) >= so_far + wanted
                });
            };
            for reload in 1..=3 {
                let origin = if reload % 2 == 1 { &new } else { &old };
                master.write(&behind(engine, origin));
                more(200);
                signal(first, Signal::SIGHUP);
                master.until("reloads", reload);
                // New connections come to new workers alone, soon.
                let name = if reload % 2 == 1 { "new" } else { "old" };
                until("the new file is in force", || {
                    (0..20).all(|_| master.get().ends_with(name))
                });
            }
            more(200);
            signal(first, Signal::SIGUSR2);
            until("another master", || {
                master.figure("pid").is_some_and(|pid| pid != first)
            });
            until("the first one ends", || !lives(first));
            more(200);
            stop.store(true, Ordering::Relaxed);
            for one in loads {
                let lost = one.join().expect("no panic");
                assert_eq!(lost, None, "{engine}: {}", master.said());
            }
        });
        master.end();
    });
}

#[test]
fn a_worker_that_is_killed_is_replaced_whatever_the_file_has_become() {
    on_each_engine(|engine| {
        let origin = Origin::named("old");
        let master = Served::start(&behind(engine, &origin));
        let broken = "[[route]]\nupstream = \"nobody\"\n";
        master.write(broken);
        for restarts in 1..=2 {
            let killed = master.workers()[0];
            signal(killed, Signal::SIGKILL);
            master.until("restarts", restarts);
            master.until("serving", 2);
            assert!(!master.workers().contains(&killed));
            master.answers(10);
        }
        // Whoever loads it is told where it's wrong, and the workers stay.
        let workers = master.workers();
        signal(master.pid(), Signal::SIGHUP);
        master.until("failed_reloads", 1);
        std::fs::remove_file(master.path("gateway.toml")).expect("it was there");
        signal(master.pid(), Signal::SIGHUP);
        master.until("failed_reloads", 2);
        until("the others are gone", || master.workers() == workers);
        master.answers(10);
        let said = master.end();
        for line in [
            "was killed (SIGKILL)",
            "gateway.toml:2:12: there's no [upstream.nobody]",
            "not reloaded: a new worker ended before it served",
            "gateway.toml can't be read: No such file",
        ] {
            assert!(said.contains(line), "{line} in\n{said}");
        }
    });
}

#[test]
fn workers_that_have_keys_stay_until_those_that_follow_have_them() {
    let (origin, token) = (Origin::named("ok"), super::tokens::signed_by_es256());
    let ask = |master: &Served| {
        let text = String::from_utf8_lossy(&token);
        let fields = format!("Authorization: Bearer {text}\r\n");
        super::master::ask_with(master.address, "/", &fields).unwrap_or_default()
    };
    let keys = Origin::new(|_| Do::answer(&super::tokens::jwks()));
    let with_keys = |keys: &Origin| {
        let listen = "[listen]\naddress = \"127.0.0.1:0\"\n";
        format!("{listen}{ADMIN}{}", super::tokens::remote(&origin, keys))
    };
    let master = Served::start(&with_keys(&keys));
    assert!(ask(&master).ends_with("ok"), "the first request");
    let workers = master.workers();
    // Nobody serves keys any more.
    let gone = Origin::new(|_| Do::status(503));
    master.write(&with_keys(&gone));
    signal(master.pid(), Signal::SIGHUP);
    master.until("failed_reloads", 1);
    until("the others are gone", || master.workers() == workers);
    assert!((0..10).all(|_| ask(&master).ends_with("ok")));
    let said = master.end();
    let why = "the keys for [token.main] aren't loaded yet";
    assert!(said.contains(why), "{said}");
}

/// A figure of `/metrics`.
fn metric(master: &Served, name: &str) -> Option<u64> {
    let text = master.ask_admin("/metrics")?;
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.trim().parse().ok()
}

#[test]
fn what_all_workers_count_is_added_up_and_each_writes_whole_lines() {
    let origin = Origin::named("old");
    let log = "[log]\nfile = \"access.log\"\n";
    let master = Served::start(&format!("{log}{}", behind("auto", &origin)));
    for _ in 0..40 {
        assert!(master.get().ends_with("old"));
    }
    let answers = "ringside_gateway_requests_total{route=\"main\",class=\"2xx\"} ";
    let count = "ringside_gateway_request_seconds_count{route=\"main\"} ";
    until("all are counted", || metric(&master, answers) == Some(40));
    assert_eq!(metric(&master, count), Some(40));
    until("the server counts, too", || {
        metric(&master, "ringside_requests_total ") == Some(40)
    });
    let server = format!("{{upstream=\"a\",server=\"{}\"", origin.address);
    let up = format!("ringside_gateway_server_up{server}}} ");
    let workers = format!("ringside_gateway_server_workers{server},state=\"up\"}} ");
    let both_are_up = || metric(&master, &up) == Some(1) && metric(&master, &workers) == Some(2);
    until("both workers find the server up", both_are_up);
    // Workers that are gone leave what they have counted, and not what they held.
    signal(master.pid(), Signal::SIGHUP);
    master.until("reloads", 1);
    assert!(master.get().ends_with("old"));
    until("the old ones are gone", || {
        master.workers().len() == 2 && metric(&master, answers) == Some(41)
    });
    until("both workers find the server up", both_are_up);
    until("no connection is open", || {
        metric(&master, "ringside_gateway_connections ") == Some(0)
    });
    let text = master.ask_admin("/metrics").expect("it answers");
    assert_eq!(
        text.matches("# TYPE ringside_gateway_requests_total ")
            .count(),
        1
    );
    let log = || std::fs::read_to_string(master.path("access.log")).unwrap_or_default();
    until("all is written", || log().lines().count() >= 41);
    let log = log();
    let entries = log.lines().map(serde_json::from_str::<Value>);
    let entries: Vec<Value> = entries.map(|one| one.expect("JSON")).collect();
    assert_eq!(entries.len(), 41, "{log}");
    master.end();
}

/// The response times of `main` as somebody gets them who wants native histograms, once any worker
/// has told them.
fn native(master: &Served) -> Option<Times> {
    let mut stream = TcpStream::connect(master.admin()).ok()?;
    stream.set_read_timeout(Some(PATIENCE)).ok()?;
    let head = "GET /metrics HTTP/1.1\r\nHost: a\r\nConnection: close\r\nAccept: \
                application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;\
                encoding=delimited\r\n\r\n";
    stream.write_all(head.as_bytes()).ok()?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).ok()?;
    let end = answer.windows(4).position(|bytes| bytes == b"\r\n\r\n")? + 4;
    let families = exposition::unpack(&answer[end..]).expect("families");
    let mut families = families.into_iter();
    let family = families.find(|family| family.name == "ringside_gateway_request_seconds")?;
    let Samples::Histograms(samples) = family.samples else {
        panic!("{family:?}");
    };
    let mut samples = samples.into_iter();
    let (_, times) = samples.find(|(tags, _)| tags[0].1 == "main")?;
    Some(times)
}

#[test]
fn native_histograms_of_all_workers_are_added_up_once_somebody_wants_them() {
    let origin = Origin::named("old");
    let master = Served::start(&behind("auto", &origin));
    let before = 20;
    (0..before).for_each(|_| assert!(master.get().ends_with("old")));
    let count = "ringside_gateway_request_seconds_count{route=\"main\"} ";
    until("all are counted", || metric(&master, count) == Some(before));
    // Until now nobody wanted them, and nothing was recorded that fine.
    until("a worker records them", || native(&master).is_some());
    let mut after = 0;
    until("they're recorded", || {
        assert!(master.get().ends_with("old"));
        after += 1;
        native(&master).is_some_and(|times| times.count >= 30)
    });
    until("all are counted", || {
        metric(&master, count) == Some(before + after)
    });
    let times = native(&master).expect("it was there");
    let buckets: u64 = times.native.iter().map(|(_, n)| n).sum();
    assert!(times.is_native() && times.count <= after, "{times:?}");
    assert_eq!(buckets + times.zeros, times.count);
    // What workers that are gone have recorded stays.
    signal(master.pid(), Signal::SIGHUP);
    master.until("reloads", 1);
    until("the old ones are gone", || master.workers().len() == 2);
    let later = native(&master).expect("it was there");
    assert!(later.count >= times.count, "{later:?}");
    assert_eq!(metric(&master, count), Some(before + after));
    master.end();
}

#[test]
fn two_sockets_of_systemd_for_the_admin_are_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("gateway.toml");
    let text = "[listen]\naddress = \"127.0.0.1:0\"\n[[route]]\nanswer = { status = 200 }\n";
    std::fs::write(&path, text).expect("a file");
    let socket = || TcpListener::bind("127.0.0.1:0").expect("a free port");
    let socket = || Stdio::from(OwnedFd::from(socket()));
    let script = "exec 3<&0 4<&1 </dev/null >/dev/null; \
                  LISTEN_PID=$$ LISTEN_FDS=2 LISTEN_FDNAMES=admin:admin exec \"$0\" \"$@\"";
    let mut bash = Command::new("bash");
    let program = env!("CARGO_BIN_EXE_ringside-gateway");
    bash.args(["-c", script, program, "--config"])
        .arg(&path)
        .args(["--processes", "2"])
        .stdin(socket())
        .stdout(socket());
    let ended = bash.output().expect("it runs");
    let said = String::from_utf8_lossy(&ended.stderr).into_owned();
    assert_eq!(ended.status.code(), Some(1), "{said}");
    let why = "systemd hands two sockets named admin over: nobody would accept on one of them; \
               leave one out of the socket unit";
    assert!(said.contains(why), "{said}");
}

#[test]
fn the_service_manager_is_told_what_happens() {
    let origin = Origin::named("old");
    let mut manager = None;
    let master = Served::with(&behind("auto", &origin), |folder, command| {
        let path = folder.join("notify");
        manager = Some(Manager::at(&path));
        command
            .env("NOTIFY_SOCKET", &path)
            .env("WATCHDOG_USEC", "2000000");
    });
    let manager = manager.expect("it was made");
    manager.hears("READY=1");
    manager.hears("WATCHDOG=1");
    signal(master.pid(), Signal::SIGHUP);
    manager.hears("RELOADING=1");
    manager.hears("READY=1");
    signal(master.pid(), Signal::SIGTERM);
    manager.hears("STOPPING=1");
}

#[test]
fn a_certificate_of_each_process_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("gateway.toml");
    let text = "[listen]\nself_signed = [\"a\"]\n[[route]]\nanswer = { status = 200 }\n";
    std::fs::write(&path, text).expect("a file");
    let mut program = Command::new(env!("CARGO_BIN_EXE_ringside-gateway"));
    let ended = program
        .arg("--config")
        .arg(&path)
        .args(["--processes", "2"]);
    let ended = ended.output().expect("it runs");
    let said = String::from_utf8_lossy(&ended.stderr).into_owned();
    assert_eq!(ended.status.code(), Some(1), "{said}");
    assert!(said.contains("needs a `certificate` and a `key`"), "{said}");
}

/// A program of its own that starts the gateway with as many processes as its folder says, and
/// whose worker of a place doesn't begin while the folder has a file `broken-PLACE`.
fn wrapped(folder: &Path, command: &mut Command) {
    use std::os::unix::fs::PermissionsExt;
    let path = folder.join("wrapper");
    let text = format!(
        "#!/bin/bash\n\
         place=${{RINGSIDE_WORKER%% *}}\n\
         [ -n \"$place\" ] && [ -e \"broken-$place\" ] && exit 3\n\
         exec -a \"$0\" {} --config gateway.toml --processes \"$(cat processes)\"\n",
        env!("CARGO_BIN_EXE_ringside-gateway")
    );
    std::fs::write(&path, text).expect("a file");
    let mode = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(&path, mode).expect("a file of our own");
    std::fs::write(folder.join("processes"), "2").expect("a file");
    let mut other = Command::new(&path);
    other
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(Stdio::null());
    other.stderr(
        File::options()
            .append(true)
            .open(folder.join("said"))
            .expect("a file"),
    );
    *command = other;
}

#[test]
fn another_master_with_more_or_fewer_processes_loses_no_request() {
    let origin = Origin::named("old");
    let master = Served::with(&behind("auto", &origin), wrapped);
    let (stop, done) = (AtomicBool::new(false), AtomicU64::new(0));
    std::thread::scope(|scope| {
        let address = master.address;
        let (stop, done) = (&stop, &done);
        let loads =
            [true, false, false].map(|keeps| scope.spawn(move || load(address, keeps, stop, done)));
        let more = |wanted: u64| {
            let so_far = done.load(Ordering::Relaxed);
            until("requests are answered", || {
                let all_ended = loads.iter().all(|one| one.is_finished());
                all_ended || done.load(Ordering::Relaxed) >= so_far + wanted
            });
        };
        // With fewer than there are sockets, each socket still has somebody who accepts.
        for (wanted, comes) in [(4, 4), (1, 2), (3, 3)] {
            let before = master.pid();
            std::fs::write(master.path("processes"), wanted.to_string()).expect("a file");
            more(100);
            signal(before, Signal::SIGUSR2);
            until("another master", || {
                master.figure("pid").is_some_and(|pid| pid != before)
            });
            until("the one before ends", || !lives(before));
            master.until("serving", comes);
            assert_eq!(master.figure("processes"), Some(comes));
            more(100);
        }
        stop.store(true, Ordering::Relaxed);
        for one in loads {
            let lost = one.join().expect("no panic");
            assert_eq!(lost, None, "{}", master.said());
        }
    });
    master.end();
}

#[test]
fn nobody_waits_for_a_worker_that_cannot_be_started_while_another_lives() {
    on_each_engine(|engine| {
        let origin = Origin::named("old");
        let master = Served::with(&behind(engine, &origin), wrapped);
        std::fs::write(master.path("broken-1"), "").expect("a file");
        let health = master.health().expect("it answers");
        let workers = health["workers"].as_array().expect("a list").iter();
        let mut second = workers.filter(|one| one["place"] == 1);
        let pid = second.next().and_then(|one| one["pid"].as_u64());
        signal(pid.expect("there are two"), Signal::SIGKILL);
        until("it's left out", || {
            master.said().contains("the others get its clients")
        });
        // The kernel would have given half of these to the socket that nobody accepts on.
        master.answers(60);
        // Whoever takes that place serves beside the other one, and a reload gives each its own.
        std::fs::remove_file(master.path("broken-1")).expect("it was there");
        master.until("serving", 2);
        master.answers(60);
        signal(master.pid(), Signal::SIGHUP);
        master.until("reloads", 1);
        until("the old ones end", || master.workers().len() == 2);
        master.answers(60);
        let said = master.end();
        assert!(!said.contains("shares a socket"), "{said}");
    });
}

#[test]
fn clients_that_are_cut_off_at_the_end_of_the_drain_are_told_of() {
    let origin = Origin::new(|_| Do::SayAndHang(Vec::new()));
    let limit = "[timeouts]\ndrain = \"300ms\"\n";
    let master = Served::start(&format!("{limit}{}", behind("auto", &origin)));
    let mut kept = TcpStream::connect(master.address).expect("it listens");
    let sent = kept.write_all(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    sent.expect("it's read");
    origin.wait_for(1);
    signal(master.pid(), Signal::SIGHUP);
    let line = ": 1 connection was cut off, 300ms after the end began (`drain` in [timeouts])";
    until("it's told", || master.said().contains(line));
    let total = "ringside_gateway_connections_cut_total ";
    until("it's counted", || metric(&master, total) == Some(1));
    drop(kept);
    let said = master.end();
    assert_eq!(said.matches("cut off").count(), 1, "{said}");
}

#[test]
fn a_worker_that_hangs_is_seen_and_replaced() {
    let origin = Origin::named("old");
    let limit = "[timeouts]\nsilence = \"10s\"\n";
    let master = Served::start(&format!("{limit}{}", behind("auto", &origin)));
    let hangs = master.workers()[0];
    signal(hangs, Signal::SIGSTOP);
    master.until("silent", 1);
    let text = master.ask_admin("/metrics").expect("it answers");
    assert!(text.contains("\nringside_processes_silent 1\n"), "{text}");
    let health = master.health().expect("it answers");
    assert_eq!(health["status"], "degraded", "{health}");
    assert_eq!(health["workers"][0]["state"], "silent", "{health}");
    master.until("silent_kills", 1);
    master.until("serving", 2);
    until("another has its place", || {
        !master.workers().contains(&hangs) && master.figure("serving") == Some(2)
    });
    master.answers(20);
    assert_eq!(metric(&master, "ringside_silent_kills_total "), Some(1));
    let said = master.end();
    assert!(said.contains("gives no sign of life"), "{said}");
    assert_eq!(said.matches("was killed").count(), 1, "{said}");
}

#[test]
fn a_reload_leaves_the_engine_as_it_is() {
    let origin = Origin::named("old");
    let master = Served::start(&behind("epoll", &origin));
    master.write(&behind("io_uring", &origin));
    for reloads in 1..=2 {
        signal(master.pid(), Signal::SIGHUP);
        master.until("reloads", reloads);
        master.answers(20);
    }
    let first = master.pid();
    signal(first, Signal::SIGUSR2);
    until("another master", || {
        master.figure("pid").is_some_and(|pid| pid != first)
    });
    master.answers(20);
    // Each of them says which descriptors it has: epoll's, and no ring.
    for worker in master.workers() {
        let folder = std::fs::read_dir(format!("/proc/{worker}/fd")).expect("it lives");
        let links = folder.filter_map(|one| std::fs::read_link(one.ok()?.path()).ok());
        let rings = links.filter(|link| link.to_string_lossy().contains("[io_uring]"));
        assert_eq!(rings.count(), 0, "worker {worker}");
    }
    let said = master.end();
    assert!(said.contains("`engine` in [listen]"), "{said}");
}

#[test]
fn what_a_reload_of_workers_leaves_is_said() {
    let origin = Origin::named("old");
    let config = behind("auto", &origin);
    let master = Served::start(&config);
    // Workers have limits anew.
    master.write(&format!("[limits]\nhead = \"8KiB\"\n{config}"));
    signal(master.pid(), Signal::SIGHUP);
    master.until("reloads", 1);
    let other = config.replace(ADMIN, "[admin]\naddress = \"127.0.0.1:1\"\n");
    for reloads in 2..=3 {
        master.write(&format!("[timeouts]\nsilence = \"5s\"\n{other}"));
        signal(master.pid(), Signal::SIGHUP);
        master.until("reloads", reloads);
    }
    let said = master.end();
    let line = "what changed in [admin], `drain` and `silence` in [timeouts] takes a restart";
    assert_eq!(said.matches(line).count(), 2, "{said}");
    assert_eq!(said.matches("takes a restart").count(), 2, "{said}");
}

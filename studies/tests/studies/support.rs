//! A tiny HTTP server and a place to compare it in, for tests with real processes.
//!
//! The server is the test program itself, started again with its one test `tiny_server` and a port
//! in its environment: no other program is needed, and each fault is a word.

use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{PoisonError, RwLock};
use std::thread;
use std::time::Duration;

use lab::round::Watched;
use lab::{Event, Options};
use load::Stop;
use measure::time::{Time, sleep_until};
use report::Row;
use studies::Outcome;
use tempfile::TempDir;

/// Serves until it is killed, if the environment says so. Called by a test of that name.
pub(crate) fn tiny_server() {
    let Ok(port) = std::env::var("TINY_PORT") else {
        return; // Run as a test among the others: nothing to do.
    };
    let fault = std::env::var("TINY_FAULT").unwrap_or_default();
    let port: u16 = port.parse().expect("a port");
    let listener = TcpListener::bind(("127.0.0.1", port)).expect("the port is free");
    println!("tiny server on {port}");
    if fault == "nasty" {
        println!("{NASTY}");
    }
    let padding = std::env::var("RINGSIDE_PADDING").unwrap_or_default();
    println!("padding {}", padding.len());
    for stream in listener.incoming().flatten() {
        if GONE.load(Ordering::Relaxed) {
            break;
        }
        let fault = fault.clone();
        thread::spawn(move || serve(stream, &fault, port));
    }
    // The process lives on, as a supervisor whose workers have died does.
    drop(listener);
    thread::park();
}

/// Whether nobody is served any more.
static GONE: AtomicBool = AtomicBool::new(false);
/// Where the faults `goes away` and `swells` begin: beyond what is asked before a window.
const GOES_AWAY_AFTER: u64 = 500;

/// What would command a terminal, a page, a table and a spreadsheet: a title, a cleared screen,
/// C1's CSI, a turned text, a picture to be fetched, a tag, a formula.
pub(crate) const NASTY: &str =
    "=1+1\x1b]0;x\x07\x1b[2J\u{9b}2J\u{202e}a ![p](http://x/) <script>b</script> | `c";

static SERVED: AtomicU64 = AtomicU64::new(0);

fn serve(mut stream: TcpStream, fault: &str, port: u16) {
    let mut received = Vec::new();
    let mut buffer = [0; 4096];
    while let Ok(count @ 1..) = stream.read(&mut buffer) {
        received.extend_from_slice(&buffer[..count]);
        while let Some(end) = received.windows(4).position(|four| four == b"\r\n\r\n") {
            let head = received.drain(..end + 4).collect::<Vec<u8>>();
            match fault {
                "hands over" => ask_helper(),
                "burns" => burn(),
                "swells" if SERVED.load(Ordering::Relaxed) > GOES_AWAY_AFTER => {
                    std::mem::forget(vec![1u8; 256 << 10]);
                }
                _ => {}
            }
            let answer = answer(&head, fault);
            if fault == "goes away" {
                sleep_until(Time::now() + Duration::from_millis(2));
                if SERVED.load(Ordering::Relaxed) > GOES_AWAY_AFTER {
                    GONE.store(true, Ordering::Relaxed);
                    // Whoever waits for connections gets one more, and sees it.
                    let _ = TcpStream::connect(("127.0.0.1", port));
                    return;
                }
            }
            if fault == "waits" {
                // Its rate is then no matter of how busy this machine is.
                sleep_until(Time::now() + Duration::from_millis(5));
            }
            if fault == "dies" && SERVED.load(Ordering::Relaxed) > 400 {
                eprintln!("tiny server: out of luck");
                std::process::exit(7);
            }
            if stream.write_all(answer.as_bytes()).is_err() {
                return;
            }
        }
    }
}

/// Lets another process do the work.
fn ask_helper() {
    let port = std::env::var("TINY_HELPER").expect("somebody who helps");
    let port: u16 = port.parse().expect("a port");
    let mut helper = TcpStream::connect(("127.0.0.1", port)).expect("it helps");
    helper
        .write_all(b"GET / HTTP/1.1\r\n\r\n")
        .expect("it reads");
    let mut buffer = [0; 256];
    assert!(helper.read(&mut buffer).expect("it answers") > 0);
}

/// Keeps a processor busy for a part of a millisecond.
fn burn() {
    let began = measure::time::Time::now();
    while measure::time::Time::now().since(began) < 300_000 {
        std::hint::spin_loop();
    }
}

/// What it answers to a request: the fault decides.
fn answer(head: &[u8], fault: &str) -> String {
    let head = String::from_utf8_lossy(head);
    let allowed = head.contains("Authorization: Bearer key\r\n");
    let known = head.contains("Cookie: id=canary-1") && head.contains("Basic YW5uOmNhbmFyeS0y");
    let status = match fault {
        "asks for a key" if !allowed => "401 Unauthorized",
        "moves" if head.starts_with("GET /old ") => {
            "302 Found\r\nLocation: /home\r\nSet-Cookie: id=canary-1; Path=/home"
        }
        "moves" if head.starts_with("GET /home ") && !known => "401 Unauthorized",
        _ => "200 OK",
    };
    let served = SERVED.fetch_add(1, Ordering::Relaxed);
    let body = match fault {
        _ if head.starts_with("GET /metrics ") => format!("tiny_requests_total {served}\n"),
        "wrong" => "Goodbye".to_owned(),
        "nasty" => {
            let quoted = head.lines().find(|line| line.starts_with("Authorization"));
            format!("{} {NASTY}", quoted.unwrap_or_default())
        }
        "counts" => format!("{:05}", served % 100_000),
        _ => "Hello, World!".to_owned(),
    };
    let length = body.len();
    let (framing, body) = match fault {
        "chunks" => (
            "Transfer-Encoding: chunked".to_owned(),
            format!("{length:x}\r\n{body}\r\n0\r\n\r\n"),
        ),
        _ => (format!("Content-Length: {length}"), body),
    };
    format!("HTTP/1.1 {status}\r\nContent-Type: text/plain\r\n{framing}\r\n\r\n{body}")
}

/// A folder with subjects and comparisons that is gone after the test.
pub(crate) struct Arena {
    pub(crate) folder: PathBuf,
    _own: TempDir,
}

impl Arena {
    pub(crate) fn new(name: &str) -> Arena {
        let own = tempfile::Builder::new()
            .prefix(&format!("ringside-{name}-"))
            .tempdir()
            .expect("a temporary folder");
        let folder = own.path().to_path_buf();
        fs::create_dir_all(folder.join("subjects")).expect("a temporary folder");
        fs::create_dir_all(folder.join("comparisons")).expect("a temporary folder");
        Arena { folder, _own: own }
    }

    /// Adds a subject with this description.
    pub(crate) fn subject(&self, name: &str, toml: &str) -> &Arena {
        let folder = self.folder.join("subjects").join(name);
        fs::create_dir_all(&folder).expect("writable");
        fs::write(folder.join("subject.toml"), toml).expect("writable");
        self
    }

    /// Adds a subject that is the tiny server with a fault.
    pub(crate) fn tiny(&self, name: &str, fault: &str) -> &Arena {
        self.subject(name, &tiny(fault, ""))
    }

    /// Writes a comparison, and says what to do with it.
    pub(crate) fn comparison(&self, toml: &str) -> Options {
        let file = self.folder.join("comparisons/test.toml");
        fs::write(&file, toml).expect("writable");
        Options {
            file,
            out: Some(self.folder.join("out")),
            ringside: "/nonexistent/ringside".into(),
            cache: Some(self.folder.join("cache")),
            aa: Some(false),
            ceiling: Some(false),
            ..Options::default()
        }
    }

    /// Runs a comparison to its end, or until it's stopped, and checks that nobody is left behind.
    pub(crate) fn compare(&self, toml: &str, stop: &Stop) -> Outcome {
        let options = self.comparison(toml);
        let tell = &mut |event: &Event<'_>| println!("{event}");
        let outcome = studies::compare(&options, stop, tell).expect("it can be read");
        assert_eq!(
            left_behind(&self.folder),
            Vec::<u32>::new(),
            "processes were left"
        );
        outcome
    }
}

/// A row of a comparison.
pub(crate) fn row<'a>(outcome: &'a Outcome, name: &str) -> &'a Row {
    let mut rows = outcome.report.subjects.iter();
    rows.find(|row| row.facts.name == name).expect("a row")
}

/// What the companion of [`Arena::burning_companion`] is called in lists of processes.
const BURNS: &str = "burns-besides";

impl Arena {
    /// A companion that keeps a processor busy, under a name that nobody else has.
    pub(crate) fn burning_companion(&self) -> String {
        let program = self.folder.join(BURNS);
        // By another process: while it's open here for writing, a child of another test may have
        // it open as well, and then nobody can start it (ETXTBSY).
        let copied = Command::new("cp").arg("/bin/sh").arg(&program).status();
        assert!(copied.expect("cp is there").success(), "a shell");
        format!(
            "[[companion]]\nname = \"burns\"\n\
             command = [{program:?}, \"-c\", \"while :; do :; done\"]\n\
             ready = {{ command = [\"true\"] }}\n"
        )
    }
}

/// Asserts that what the companion of [`Arena::burning_companion`] used is on its account, and not
/// on that of strangers.
#[track_caller]
pub(crate) fn assert_companions_are_known(seen: &Watched) {
    let used = seen.subject.companions_ns;
    assert!(used > 20_000_000, "{used} ns");
    let strangers = &seen.host.others;
    assert!(
        strangers.iter().all(|one| one.name != BURNS),
        "{strangers:?}"
    );
}

/// The description of the tiny server with a fault; `top` goes before the first section.
pub(crate) fn tiny(fault: &str, top: &str) -> String {
    let program = std::env::current_exe().expect("this program has a path");
    format!(
        r#"description = "tiny server {fault}"
kind = "server"
{top}

[start]
command = [{program:?}, "tiny_server", "--exact", "--nocapture"]
environment = {{ TINY_PORT = "{{port}}", TINY_FAULT = "{fault}" }}

[ready]
path = "/"

[[answer]]
path = "/"
content_type = "text/plain"
body = "Hello, World!"
"#
    )
}

/// A comparison of these subjects that takes a fraction of a second for each.
pub(crate) fn quick(subjects: &[&str], rounds: u32) -> String {
    format!(
        r#"name = "test"
question = "Does the lab work?"
subjects = {subjects:?}
rounds = {rounds}

[workload]
path = "/"
connections = 4
window = "60ms"
settle = "20ms"
warm_up = "40ms"
timeout = "1s"
"#
    )
}

static MACHINE: RwLock<()> = RwLock::new(());

/// For a test that looks at what else the machine does, whose subjects keep it busy, or that wants
/// a verdict, which strangers can make void: no other test of this program runs beside it. Those
/// that only start subjects of their own take [`beside_others`].
pub(crate) fn alone() -> impl Drop {
    // A test that failed has poisoned it, which is no reason for the others to fail.
    MACHINE.write().unwrap_or_else(PoisonError::into_inner)
}

/// For a test that starts processes, but judges nothing by how busy the machine is.
pub(crate) fn beside_others() -> impl Drop {
    MACHINE.read().unwrap_or_else(PoisonError::into_inner)
}

/// The folder of the [`Arena`] in which this cache is.
pub(crate) fn arena_of(cache: &Option<PathBuf>) -> &Path {
    let cache = cache.as_deref().expect("given by the arena");
    cache.parent().expect("a folder of the arena")
}

/// Everyone alive whom this program's lab has started and who works in this folder or below it:
/// their environment holds the lab's mark.
pub(crate) fn left_behind(folder: &Path) -> Vec<u32> {
    let folder = fs::canonicalize(folder).expect("the folder of a test");
    let mark = format!("RINGSIDE_SUBJECT={}-", std::process::id());
    let marked = |pid: &u32| {
        let process = Path::new("/proc").join(pid.to_string());
        let environment = fs::read(process.join("environ")).unwrap_or_default();
        let mut entries = environment.split(|byte| *byte == 0);
        entries.any(|entry| entry.starts_with(mark.as_bytes()))
            && fs::read_link(process.join("cwd")).is_ok_and(|cwd| cwd.starts_with(&folder))
    };
    let entries = fs::read_dir("/proc").expect("Linux").flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter(marked).collect()
}

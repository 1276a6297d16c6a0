//! `ringside fault-proxy` between real processes, on both engines.

use std::fs;
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::unix::net::{UnixListener, UnixStream};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread::{self, JoinHandle};

use measure::time::{Time, sleep_until};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use super::child::{Folder, PATIENCE, Server, assert_says, command, ringside, start, until};
use super::patterns::{assert_same, pattern};
use super::peers::{installed, ready};
use super::ports::free_port;

const ENGINES: [&str; 2] = ["auto", "epoll"];

/// A proxy that listens; stopped when it is dropped.
struct Proxy {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: Receiver<String>,
    stderr: Receiver<String>,
    /// `127.0.0.1:PORT`, or `unix:PATH`.
    address: String,
}

impl Proxy {
    fn start(engine: &str, to: &str, more: &[&str]) -> Proxy {
        Proxy::listening("127.0.0.1:0", engine, to, more)
    }

    fn listening(at: &str, engine: &str, to: &str, more: &[&str]) -> Proxy {
        let mut words = Proxy::words(at, engine, to);
        words.extend(more);
        Proxy::spawned(&mut command(&words))
    }

    fn words<'a>(at: &'a str, engine: &'a str, to: &'a str) -> Vec<&'a str> {
        vec![
            "fault-proxy",
            "--listen",
            at,
            "--to",
            to,
            "--engine",
            engine,
        ]
    }

    fn spawned(command: &mut Command) -> Proxy {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let stdin = child.stdin.take();
        let stdout = lines_of(child.stdout.take().unwrap());
        let stderr = lines_of(child.stderr.take().unwrap());
        let greeting = stdout
            .recv_timeout(PATIENCE)
            .expect("it says that it listens");
        let address = greeting
            .strip_prefix("listening on ")
            .and_then(|rest| rest.split(' ').next())
            .unwrap_or_else(|| panic!("not a greeting: {greeting:?}"))
            .to_owned();
        Proxy {
            child,
            stdin,
            stdout,
            stderr,
            address,
        }
    }

    fn connect(&self) -> TcpStream {
        patient(TcpStream::connect(&self.address).unwrap())
    }

    fn port(&self) -> &str {
        self.address.rsplit_once(':').unwrap().1
    }

    /// Gives it a line. Its answer.
    fn answer(&mut self, line: &str) -> Value {
        let stdin = self.stdin.as_mut().expect("it is open");
        writeln!(stdin, "{line}").unwrap();
        let answer = self.stdout.recv_timeout(PATIENCE).expect("an answer");
        serde_json::from_str(&answer).unwrap_or_else(|error| panic!("{error}: {answer}"))
    }

    #[track_caller]
    fn told(&mut self, line: &str) {
        assert_eq!(self.answer(line), json!({"ok": true}), "{line}");
    }

    fn counters(&mut self) -> Value {
        self.answer("counters")
    }

    #[track_caller]
    fn until_counted(&mut self, name: &str, count: u64) {
        until(&format!("{name} is {count}"), || {
            self.counters()[name] == count
        });
    }

    /// Its exit code, and what it said on stderr.
    fn stop(mut self, signal: Signal) -> (Option<i32>, String) {
        let pid = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        kill_process(pid.unwrap(), signal).unwrap();
        let mut said = String::new();
        while let Ok(line) = self.stderr.recv_timeout(PATIENCE) {
            said += &line;
            said.push('\n');
        }
        (self.child.wait().unwrap().code(), said)
    }

    fn memory_bytes(&self) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kib = line.unwrap().trim().trim_end_matches(" kB");
        kib.parse::<u64>().unwrap() * 1024
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn lines_of(stream: impl Read + Send + 'static) -> Receiver<String> {
    let (sender, receiver) = channel();
    thread::spawn(move || {
        for line in BufReader::new(stream).lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                return;
            }
        }
    });
    receiver
}

fn patient(stream: TcpStream) -> TcpStream {
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.set_write_timeout(Some(PATIENCE)).unwrap();
    stream
}

/// Somebody who listens, and where.
fn listener() -> (TcpListener, String) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    (listener, address)
}

/// Takes so many connections, each in a thread of its own.
fn serve(
    listener: TcpListener,
    connections: usize,
    work: impl Fn(TcpStream) + Clone + Send + 'static,
) -> JoinHandle<()> {
    thread::spawn(move || {
        let each = (0..connections).map(|_| {
            let (stream, _) = listener.accept().unwrap();
            let work = work.clone();
            thread::spawn(move || work(patient(stream)))
        });
        for thread in each.collect::<Vec<_>>() {
            thread.join().unwrap();
        }
    })
}

fn echo(mut stream: TcpStream) {
    let mut bytes = vec![0; 65_536];
    while let Ok(length @ 1..) = stream.read(&mut bytes) {
        if stream.write_all(&bytes[..length]).is_err() {
            return;
        }
    }
}

/// Has an echo answer.
#[track_caller]
fn ping(stream: &mut TcpStream) {
    let mut bytes = [0; 4];
    stream.write_all(b"ping").unwrap();
    stream.read_exact(&mut bytes).unwrap();
    assert_eq!(&bytes, b"ping");
}

/// Reads until the end. What came, and how it ended.
fn read_all(stream: &mut TcpStream) -> (Vec<u8>, Option<ErrorKind>) {
    let mut bytes = Vec::new();
    let outcome = stream.read_to_end(&mut bytes);
    (bytes, outcome.err().map(|error| error.kind()))
}

/// Whether a connection through the proxy is reset without a byte. The reset may come before
/// connect(2) returns.
fn is_reset(proxy: &Proxy) -> bool {
    let (bytes, error) = match TcpStream::connect(&proxy.address) {
        Ok(stream) => read_all(&mut patient(stream)),
        Err(error) => (Vec::new(), Some(error.kind())),
    };
    assert_eq!(bytes, b"");
    error == Some(ErrorKind::ConnectionReset)
}

#[test]
fn bytes_and_half_closes_pass_unchanged_both_ways() {
    let (up, down) = (pattern(3_000_000, 1), pattern(2_000_000, 2));
    for engine in ENGINES {
        for faults in [&[][..], &["--delay", "1ms", "--jitter", "3ms"]] {
            let (listener, to) = listener();
            let (expected, answer) = (up.clone(), down.clone());
            // It answers only behind the end of what it is sent.
            let upstream = serve(listener, 3, move |mut stream| {
                let (bytes, error) = read_all(&mut stream);
                assert_eq!(error, None);
                assert_same(&bytes, &expected, "what came");
                stream.write_all(&answer).unwrap();
            });
            let mut proxy = Proxy::start(engine, &to, faults);
            let clients: Vec<_> = (0..3)
                .map(|_| {
                    let (mut stream, up, down) = (proxy.connect(), up.clone(), down.clone());
                    thread::spawn(move || {
                        stream.write_all(&up).unwrap();
                        stream.shutdown(Shutdown::Write).unwrap();
                        let (bytes, error) = read_all(&mut stream);
                        assert_eq!(error, None);
                        assert_same(&bytes, &down, "what came");
                    })
                })
                .collect();
            clients
                .into_iter()
                .for_each(|client| client.join().unwrap());
            upstream.join().unwrap();
            proxy.until_counted("open", 0);
            let counters = proxy.counters();
            assert_eq!(counters["bytes_up"], 3 * up.len());
            assert_eq!(counters["bytes_down"], 3 * down.len());
            let (code, said) = proxy.stop(Signal::TERM);
            assert_eq!(code, Some(0));
            assert_says(&said, "accepted 3 connections: 0 refused, 0 cut");
        }
    }
}

#[test]
fn what_is_delayed_comes_behind_what_was_sent_later_and_a_clear_lets_it_go() {
    for engine in ENGINES {
        let (listener, to) = listener();
        let (sender, order) = channel();
        let upstream = serve(listener, 2, move |mut stream| {
            let mut bytes = [0; 5];
            stream.read_exact(&mut bytes).unwrap();
            sender.send(bytes).unwrap();
        });
        let mut proxy = Proxy::start(engine, &to, &["--delay", "1h"]);
        let mut delayed = proxy.connect();
        delayed.write_all(b"first").unwrap();
        proxy.until_counted("open", 1);
        let mut direct = TcpStream::connect(&to).unwrap();
        direct.write_all(b"later").unwrap();
        assert_eq!(&order.recv_timeout(PATIENCE).unwrap(), b"later");
        proxy.told("clear");
        assert_eq!(&order.recv_timeout(PATIENCE).unwrap(), b"first");
        upstream.join().unwrap();
    }
}

#[test]
fn all_new_connections_are_refused_until_that_is_over_and_open_ones_stay() {
    for engine in ENGINES {
        let (listener, to) = listener();
        serve(listener, 2, echo);
        let mut proxy = Proxy::start(engine, &to, &[]);
        let mut before = proxy.connect();
        ping(&mut before);
        proxy.told("set refuse=1");
        for _ in 0..10 {
            assert!(is_reset(&proxy));
        }
        ping(&mut before);
        proxy.told("set refuse=0");
        let mut after = proxy.connect();
        ping(&mut after);
        let counters = proxy.counters();
        assert_eq!(
            (&counters["accepted"], &counters["refused"]),
            (&json!(12), &json!(10))
        );
        assert_eq!(counters["open"], 2);
    }
}

#[test]
fn a_cut_comes_behind_exactly_so_many_bytes() {
    let sent = pattern(300_000, 3);
    for engine in ENGINES {
        let (listener, to) = listener();
        let whole = sent.clone();
        let upstream = serve(listener, 4, move |mut stream| {
            // It breaks where the cut comes before all is sent.
            let _ = stream.write_all(&whole);
            let _ = read_all(&mut stream);
        });
        let mut proxy = Proxy::start(engine, &to, &["--cut-after", "100000"]);
        for bytes in [100_000, 1, 65_536] {
            proxy.told(&format!("set cut-after={bytes}"));
            let (got, error) = read_all(&mut proxy.connect());
            assert_eq!(error, None);
            assert_same(&got, &sent[..bytes], "what came");
        }
        proxy.told("set cut=reset");
        let (got, error) = read_all(&mut proxy.connect());
        assert_eq!(error, Some(ErrorKind::ConnectionReset));
        assert!(got.len() <= 65_536, "{} bytes", got.len());
        upstream.join().unwrap();
        proxy.until_counted("open", 0);
        assert_eq!(proxy.counters()["cut"], 4);
    }
}

#[test]
fn a_connection_is_cut_after_a_time_although_nothing_happens_on_it() {
    for engine in ENGINES {
        let (listener, to) = listener();
        let upstream = serve(listener, 2, |mut stream| drop(read_all(&mut stream)));
        let mut proxy = Proxy::start(engine, &to, &["--cut-after", "20ms"]);
        let (got, error) = read_all(&mut proxy.connect());
        assert_eq!((got.len(), error), (0, None));
        proxy.told("set cut=reset");
        assert!(is_reset(&proxy));
        upstream.join().unwrap();
    }
}

#[test]
fn a_stall_drops_bytes_and_what_comes_behind_it_arrives() {
    for engine in ENGINES {
        let (listener, to) = listener();
        serve(listener, 1, echo);
        let mut proxy = Proxy::start(engine, &to, &["--stall"]);
        let mut client = proxy.connect();
        // Far more than anybody would hold for it.
        client.write_all(&pattern(20_000_000, 4)).unwrap();
        let counters = proxy.counters();
        assert_eq!(
            (&counters["open"], &counters["bytes_up"]),
            (&json!(1), &json!(0))
        );
        // Nobody says when the last of it was dropped; from then on it echoes what is sent.
        proxy.told("set stall direction=down");
        let mut lost = 0;
        until("the rest of it passes or was dropped", || {
            let passed = proxy.counters()["bytes_up"].as_u64().unwrap();
            std::mem::replace(&mut lost, passed) == passed
        });
        proxy.told("clear");
        client.write_all(b"hello\n").unwrap();
        let mut bytes = Vec::new();
        until("the echo of what came behind the stall", || {
            let mut piece = [0; 65_536];
            let length = client.read(&mut piece).unwrap();
            bytes.extend_from_slice(&piece[..length]);
            bytes.ends_with(b"hello\n")
        });
    }
}

#[test]
fn a_reset_becomes_a_reset_in_both_directions() {
    for engine in ENGINES {
        let (listener, to) = listener();
        let proxy = Proxy::start(engine, &to, &[]);
        // To close with bytes unread is to reset (RFC 1122 §4.2.2.13).
        let mut client = proxy.connect();
        client.write_all(b"unread").unwrap();
        let (upstream, _) = listener.accept().unwrap();
        let upstream = patient(upstream);
        upstream.peek(&mut [0]).unwrap();
        drop(upstream);
        assert_eq!(read_all(&mut client).1, Some(ErrorKind::ConnectionReset));

        let client = proxy.connect();
        let (upstream, _) = listener.accept().unwrap();
        let mut upstream = patient(upstream);
        upstream.write_all(b"unread").unwrap();
        client.peek(&mut [0]).unwrap();
        drop(client);
        assert_eq!(read_all(&mut upstream).1, Some(ErrorKind::ConnectionReset));
    }
}

#[test]
fn all_connections_are_reset_on_request() {
    for engine in ENGINES {
        let (listener, to) = listener();
        serve(listener, 4, echo);
        let mut proxy = Proxy::start(engine, &to, &[]);
        let mut clients: Vec<TcpStream> = (0..3).map(|_| proxy.connect()).collect();
        for client in &mut clients {
            ping(client);
        }
        proxy.told("reset-all");
        for client in &mut clients {
            assert_eq!(read_all(client).1, Some(ErrorKind::ConnectionReset));
        }
        let mut after = proxy.connect();
        ping(&mut after);
        let counters = proxy.counters();
        assert_eq!(
            (&counters["cut"], &counters["open"]),
            (&json!(3), &json!(1))
        );
    }
}

#[test]
fn an_upstream_that_is_not_there_resets_clients_and_one_that_comes_serves_them() {
    for engine in ENGINES {
        let port = free_port();
        let mut proxy = Proxy::start(engine, &format!("127.0.0.1:{port}"), &[]);
        for _ in 0..5 {
            assert!(is_reset(&proxy));
        }
        let counters = proxy.counters();
        assert_eq!(
            (&counters["upstream_failed"], &counters["open"]),
            (&json!(5), &json!(0))
        );
        let listener = TcpListener::bind(("127.0.0.1", port)).unwrap();
        serve(listener, 1, echo);
        let mut client = proxy.connect();
        ping(&mut client);
    }
}

#[test]
fn a_client_that_does_not_read_stops_the_upstream_and_the_proxy_stays_small() {
    for engine in ENGINES {
        let (listener, to) = listener();
        let mut proxy = Proxy::start(engine, &to, &[]);
        let mut client = proxy.connect();
        let (mut upstream, _) = listener.accept().unwrap();
        let before = proxy.memory_bytes();
        upstream.set_nonblocking(true).unwrap();
        let (piece, mut sent, mut full) = (vec![7; 65_536], 0, 0);
        while full < 200 && sent < 512 << 20 {
            match upstream.write(&piece) {
                Ok(length) => (sent, full) = (sent + length, 0),
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    full += 1;
                    sleep_until(Time::now().plus(5_000_000));
                }
                Err(error) => panic!("{error}"),
            }
        }
        // What two sockets on each side hold, and the proxy.
        assert!(sent < 128 << 20, "{sent} bytes were taken");
        let grown = proxy.memory_bytes().saturating_sub(before);
        assert!(grown < 32 << 20, "it grew by {grown} bytes");
        drop(upstream);
        let (bytes, error) = read_all(&mut client);
        assert_eq!((bytes.len(), error), (sent, None));
        proxy.until_counted("bytes_down", sent as u64);
    }
}

#[test]
fn hundreds_of_connections_fit_under_a_low_limit_of_open_files() {
    const CONNECTIONS: usize = 250;
    for engine in ENGINES {
        let (listener, to) = listener();
        let upstream = serve(listener, CONNECTIONS, echo);
        let mut shell = Command::new("sh");
        shell
            .args([
                "-c",
                "ulimit -n 1024; exec \"$0\" \"$@\"",
                env!("CARGO_BIN_EXE_ringside"),
            ])
            .args(Proxy::words("127.0.0.1:0", engine, &to));
        let mut proxy = Proxy::spawned(&mut shell);
        let mut clients: Vec<TcpStream> = (0..CONNECTIONS).map(|_| proxy.connect()).collect();
        for client in &mut clients {
            ping(client);
        }
        let counters = proxy.counters();
        assert_eq!(counters["open"], CONNECTIONS);
        assert_eq!(counters["upstream_failed"], 0);
        drop(clients);
        upstream.join().unwrap();
    }
}

#[test]
fn lines_that_make_no_sense_are_answered_and_change_nothing() {
    let (listener, to) = listener();
    serve(listener, 1, echo);
    let mut proxy = Proxy::start("auto", &to, &[]);
    let long = "x".repeat(10_000);
    for (line, part) in [
        (
            "stop",
            "the commands are set, clear, reset-all, counters, status and help",
        ),
        ("set", "no fault is named"),
        ("set delay", "write delay=VALUE"),
        ("set delay=soon", "delay: \"soon\" is not a duration"),
        ("set refuse=1 delay=-1", "delay: "),
        ("set refuse=1.5", "refuse: \"1.5\" isn't a share"),
        ("set cut-after=0", "would cut everything at once"),
        (
            "set latency=1ms",
            "there is no such fault; the faults are delay",
        ),
        ("clear all", "takes nothing behind it"),
        ("\u{1b}[2J\u{9b}31m", "isn't a command"),
        (&long, "a line has at most 4096 bytes"),
    ] {
        let answer = proxy.answer(line);
        let error = answer["error"]
            .as_str()
            .unwrap_or_else(|| panic!("{line}: {answer}"));
        assert_says(error, part);
    }
    // An empty line is none, and the end of them changes nothing.
    writeln!(proxy.stdin.as_mut().unwrap()).unwrap();
    assert_eq!(proxy.counters()["refused"], 0);
    proxy.stdin = None;
    let mut client = proxy.connect();
    ping(&mut client);
    let (code, said) = proxy.stop(Signal::INT);
    assert_eq!(code, Some(0));
    let counted = "accepted 1 connections: 0 refused, 0 cut, 0 without upstream, 1 still open; \
                   passed 4 bytes up and 4 down";
    assert_says(&said.replace('\n', " "), counted);
}

#[test]
fn answers_hold_nothing_that_would_command_a_terminal() {
    let mut proxy = Proxy::start("epoll", "127.0.0.1:1", &[]);
    writeln!(
        proxy.stdin.as_mut().unwrap(),
        "set \u{1b}]0;x\u{7}=\u{9b}31m"
    )
    .unwrap();
    let answer = proxy.stdout.recv_timeout(PATIENCE).unwrap();
    assert!(answer.chars().all(|c| !c.is_control()), "{answer:?}");
}

#[test]
fn in_the_background_of_a_terminal_it_works_on_and_takes_no_lines() {
    if !installed("script", "--version") || !installed("bash", "--version") {
        return;
    }
    let (listener, to) = listener();
    let upstream = serve(listener, 1, echo);
    let (folder, program) = (Folder::new(), env!("CARGO_BIN_EXE_ringside"));
    let said = folder.path("said");
    // With `set -m` a job in the background is none of the terminal's foreground.
    let shell = format!(
        "set -m; {program} fault-proxy --listen 127.0.0.1:0 --to {to} >{said} & \
         echo $! >{said}.pid; wait"
    );
    let mut script = Command::new("script");
    script.args(["-qec", &format!("bash -c '{shell}'"), "/dev/null"]);
    let terminal = start(script.stdin(Stdio::null()));
    let mut address = String::new();
    until("it listens", || {
        let greeting = fs::read_to_string(&said).unwrap_or_default();
        let mut words = greeting.split(' ').skip(2);
        address = words.next().unwrap_or_default().to_owned();
        greeting.ends_with('\n')
    });
    ping(&mut patient(TcpStream::connect(&address).unwrap()));
    upstream.join().unwrap();
    let pid = fs::read_to_string(format!("{said}.pid")).unwrap();
    let pid = Pid::from_raw(pid.trim().parse().unwrap()).unwrap();
    kill_process(pid, Signal::TERM).unwrap();
    assert_says(&terminal.end().stdout, "passed 4 bytes up and 4");
}

#[test]
fn wrong_flags_are_refused_with_a_way_out() {
    let refused = |more: &str, part: &str| {
        let mut words = vec!["fault-proxy"];
        words.extend(more.split_whitespace());
        let ended = ringside(&words);
        assert_eq!((ended.code, ended.stdout.as_str()), (Some(2), ""), "{more}");
        assert_says(&ended.stderr.replace('\n', " "), part);
    };
    refused("", "--listen");
    refused("--listen 127.0.0.1:0", "--to");
    let both = "--listen 127.0.0.1:0 --to 127.0.0.1:1";
    for (more, part) in [
        ("--delay soon", "is not a duration"),
        ("--delay 25h", "\"25h\" is more than a day"),
        ("--delay 50", "is 50 50ms or 50s? Write the unit"),
        ("--jitter 25h", "is more than a day"),
        ("--jitter soon", "is not a duration"),
        ("--refuse 2", "isn't a share"),
        ("--cut-after 0", "would cut everything at once"),
        (
            "--cut-after soon",
            "neither a size like 64K nor a time like 2s",
        ),
        ("--cut softly", "isn't fin or reset"),
        ("--bandwidth 0", "would pass nothing"),
        ("--direction left", "isn't up, down or both"),
        ("--seed x", "--seed"),
        ("--engine kqueue", "choose auto, uring or epoll"),
        ("--latency 1ms", "--latency"),
    ] {
        refused(&format!("{both} {more}"), part);
    }
    refused(
        "--listen 127.0.0.1 --to 127.0.0.1:1",
        "--listen \"127.0.0.1\": the port is missing",
    );
    refused(
        "--listen 127.0.0.1:0 --to unix:",
        "--to \"unix:\": the path is missing",
    );
}

#[test]
fn who_cannot_listen_says_why() {
    let (_listener, taken) = listener();
    let ended = ringside(&["fault-proxy", "--listen", &taken, "--to", "127.0.0.1:1"]);
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(1), ""));
    let said = ended.stderr.replace('\n', " ");
    assert_says(
        &said,
        &format!("can't listen on {taken}: something is listening there already"),
    );
}

#[test]
fn unix_sockets_are_proxied_like_tcp() {
    for engine in ENGINES {
        let folder = Folder::new();
        let (path, at) = (folder.path("to"), format!("unix:{}", folder.path("at")));
        let listener = UnixListener::bind(&path).unwrap();
        let upstream = thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut bytes = Vec::new();
            stream.read_to_end(&mut bytes).unwrap();
            bytes.reverse();
            stream.write_all(&bytes).unwrap();
        });
        let proxy = Proxy::listening(&at, engine, &format!("unix:{path}"), &[]);
        assert_eq!(proxy.address, at);
        let mut client = UnixStream::connect(folder.path("at")).unwrap();
        client.set_read_timeout(Some(PATIENCE)).unwrap();
        client.write_all(b"hello").unwrap();
        client.shutdown(Shutdown::Write).unwrap();
        let mut bytes = String::new();
        client.read_to_string(&mut bytes).unwrap();
        assert_eq!(bytes, "olleh");
        upstream.join().unwrap();
    }
}

#[test]
fn redis_is_used_through_it_and_its_clients_see_faults() {
    if !installed("redis-server", "--version") || !installed("redis-cli", "--version") {
        return;
    }
    let (folder, port) = (Folder::new(), free_port());
    let mut redis = Command::new("redis-server");
    redis
        .args([
            "--port",
            &port.to_string(),
            "--save",
            "",
            "--dir",
            &folder.path(""),
        ])
        .args(["--bind", "127.0.0.1"]);
    let _redis = start(&mut redis);
    ready(port, "redis-server");
    for engine in ENGINES {
        let mut proxy = Proxy::start(engine, &format!("127.0.0.1:{port}"), &[]);
        let port = proxy.port().to_owned();
        let cli = |words: &[&str]| {
            let mut command = Command::new("redis-cli");
            command.args(["-h", "127.0.0.1", "-p", &port]).args(words);
            start(&mut command).end()
        };
        let value = "v".repeat(100_000);
        assert_eq!(cli(&["set", "key", &value]).stdout.trim(), "OK");
        assert_eq!(cli(&["get", "key"]).stdout.trim(), value);
        proxy.told("set delay=1ms jitter=2ms");
        assert_eq!(cli(&["strlen", "key"]).stdout.trim(), "100000");
        proxy.told("set cut-after=1000 direction=down");
        let cut = cli(&["get", "key"]);
        assert_says(
            &format!("{}{}", cut.stdout, cut.stderr),
            "Server closed the connection",
        );
        proxy.told("clear");
        proxy.told("set refuse=1");
        let refused = cli(&["ping"]);
        assert_says(
            &format!("{}{}", refused.stdout, refused.stderr),
            "reset by peer",
        );
        proxy.told("clear");
        assert_eq!(cli(&["ping"]).stdout.trim(), "PONG");
    }
}

#[test]
fn curl_and_wrk_work_through_it_and_name_its_faults() {
    if !installed("curl", "--version") {
        return;
    }
    let server = Server::start(&[]);
    for engine in ENGINES {
        let mut proxy = Proxy::start(engine, server.authority(), &[]);
        let url = |path: &str| format!("http://{}{path}", proxy.address);
        let (all, root) = (url("/bytes/3000000"), url("/"));
        let curl = |words: &[&str]| {
            let mut command = Command::new("curl");
            command.args(["-sS", "--noproxy", "*", "-o", "/dev/null"]);
            command
                .args(["-w", "%{http_code} %{size_download}"])
                .args(words);
            start(&mut command).end()
        };
        let ended = curl(&[&all]);
        assert_eq!(
            (ended.code, ended.stdout.as_str()),
            (Some(0), "200 3000000")
        );
        // The codes are those of curl(1): 18 a partial file, 28 a timeout; a reset
        // is 7 while it connects, and 55 or 56 from then on.
        proxy.told("set cut-after=10000");
        assert_eq!(curl(&[&all]).code, Some(18));
        proxy.told("clear");
        proxy.told("set stall");
        assert_eq!(curl(&["--max-time", "0.5", &root]).code, Some(28));
        proxy.told("clear");
        proxy.told("set refuse=1");
        let refused = curl(&[&root]);
        assert!(matches!(refused.code, Some(7 | 55 | 56)), "{refused:?}");
        proxy.told("clear");
        if !answers_to_wrk() {
            return;
        }
        let mut wrk = Command::new("wrk");
        wrk.args(["-t", "1", "-c", "16", "-d", "1s", &root]);
        let ended = start(&mut wrk).end();
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
        assert_says(&ended.stdout, "Requests/sec:");
        assert!(!ended.stdout.contains("Socket errors"), "{}", ended.stdout);
        assert!(!ended.stdout.contains("Non-2xx"), "{}", ended.stdout);
        proxy.until_counted("open", 0);
    }
}

/// wrk ends its version with 1.
fn answers_to_wrk() -> bool {
    let found = Command::new("wrk").arg("-v").output().is_ok();
    if !found {
        super::skip::skip("wrk is not installed, so nothing is known about it");
    }
    found
}

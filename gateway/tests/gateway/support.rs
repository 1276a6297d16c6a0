//! What the tests share: a gateway out of a few lines, upstreams that follow a script, and clients.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use gateway::{Config, Running};
use server::{Address, Stop};

/// Longer than anything takes on a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// The engines, by their names in a configuration.
pub(crate) const ENGINES: [&str; 2] = ["io_uring", "epoll"];

/// A gateway that ends with the test.
pub(crate) struct Gateway(Option<Running>);

impl Gateway {
    /// Starts one with this configuration, at a port of its own.
    pub(crate) fn start(rest: &str) -> Gateway {
        Gateway::on("auto", rest)
    }

    /// The same on this engine.
    pub(crate) fn on(engine: &str, rest: &str) -> Gateway {
        Gateway::try_on(engine, rest).unwrap_or_else(|why| panic!("{engine}: {why}"))
    }

    fn try_on(engine: &str, rest: &str) -> Result<Gateway, String> {
        let listen = format!("[listen]\naddress = \"127.0.0.1:0\"\nengine = \"{engine}\"\n");
        let config = Config::of("test", &format!("{listen}{rest}"));
        let config = config.map_err(|wrong| wrong.to_string())?;
        let running = gateway::start(config, &Stop::new()).map_err(|wrong| wrong.to_string())?;
        Ok(Gateway(Some(running)))
    }

    /// What runs.
    pub(crate) fn running(&self) -> &Running {
        self.0.as_ref().expect("it runs until it's dropped")
    }

    pub(crate) fn address(&self) -> SocketAddr {
        match self.running().address() {
            Address::Tcp(address) => *address,
            other => panic!("not a TCP address: {other}"),
        }
    }

    pub(crate) fn connect(&self) -> Client {
        Client::connect(self.address())
    }

    /// One request on a connection of its own, and the answer.
    pub(crate) fn ask(&self, request: &str) -> Said {
        let mut client = self.connect();
        client.write(request.as_bytes());
        client.answer(request.starts_with("HEAD "))
    }

    /// A GET of a path.
    pub(crate) fn get(&self, path: &str) -> Said {
        self.ask(&format!("GET {path} HTTP/1.1\r\nHost: test\r\n\r\n"))
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        if let Some(running) = self.0.take() {
            running.stop();
            let ended = running.join();
            assert!(ended.is_ok() || std::thread::panicking(), "{ended:?}");
        }
    }
}

/// Does a test on each engine that this host has.
pub(crate) fn on_each_engine(test: impl Fn(&str)) {
    for engine in ENGINES {
        match Gateway::try_on(engine, "[[route]]\nanswer = { status = 200 }\n") {
            Ok(_) => test(engine),
            Err(why) => crate::skip::skip(format_args!("{engine}: {why}")),
        }
    }
}

/// A configuration with one upstream of these servers, and a route to it.
pub(crate) fn in_front_of(servers: &[SocketAddr], more: &str) -> String {
    let servers: Vec<String> = servers.iter().map(|one| format!("\"{one}\"")).collect();
    let servers = servers.join(", ");
    format!("[upstream.a]\nservers = [{servers}]\n{more}\n[[route]]\nupstream = \"a\"\n")
}

/// A client that sends bytes.
pub(crate) struct Client(pub(crate) TcpStream);

/// An answer.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) status: u16,
    /// In lower case.
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
    /// The body ended as its framing says.
    pub(crate) whole: bool,
}

impl Said {
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub(crate) fn field(&self, name: &str) -> Option<&str> {
        value(&self.head, name)
    }
}

/// The value of a field in a head.
pub(crate) fn value<'h>(head: &'h str, name: &str) -> Option<&'h str> {
    let mut lines = head.split("\r\n").skip(1);
    lines.find_map(|line| {
        let (found, value) = line.split_once(':')?;
        found.eq_ignore_ascii_case(name).then_some(value.trim())
    })
}

/// All values of a field.
pub(crate) fn values<'h>(head: &'h str, name: &str) -> Vec<&'h str> {
    let lines = head.split("\r\n").skip(1);
    lines
        .filter_map(|line| line.split_once(':'))
        .filter(|(found, _)| found.eq_ignore_ascii_case(name))
        .map(|(_, value)| value.trim())
        .collect()
}

impl Client {
    pub(crate) fn connect(to: SocketAddr) -> Client {
        let stream = TcpStream::connect(to).expect("it listens");
        stream
            .set_read_timeout(Some(PATIENCE))
            .expect("a socket option");
        stream
            .set_write_timeout(Some(PATIENCE))
            .expect("a socket option");
        Client(stream)
    }

    pub(crate) fn write(&mut self, bytes: &[u8]) {
        self.0.write_all(bytes).expect("it's read");
    }

    /// The next answer that isn't interim.
    pub(crate) fn answer(&mut self, head_only: bool) -> Said {
        loop {
            let said = self.next(head_only);
            if said.status >= 200 {
                return said;
            }
        }
    }

    /// The next answer.
    pub(crate) fn next(&mut self, head_only: bool) -> Said {
        let head = read_head(&mut self.0).expect("a head");
        let head = head.to_lowercase();
        let status = head[9..12].parse().expect("a status");
        let bodiless = head_only || status < 200 || matches!(status, 204 | 304);
        let (body, whole) = match bodiless {
            true => (Vec::new(), true),
            false => read_body(&mut self.0, &head, true),
        };
        Said {
            status,
            head,
            body,
            whole,
        }
    }

    /// All that comes until the end of the connection.
    pub(crate) fn rest(&mut self) -> Vec<u8> {
        let mut rest = Vec::new();
        // A reset ends it as well.
        let _ = self.0.read_to_end(&mut rest);
        rest
    }
}

/// A head, up to the empty line; `None` if the connection ends before.
fn read_head(stream: &mut TcpStream) -> Option<String> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        match stream.read(&mut byte) {
            Ok(1) => head.push(byte[0]),
            _ => return None,
        }
    }
    Some(String::from_utf8_lossy(&head).into_owned())
}

/// A body, and whether it came whole.
fn read_body(stream: &mut TcpStream, head: &str, of_answer: bool) -> (Vec<u8>, bool) {
    let mut body = Vec::new();
    if value(head, "transfer-encoding").is_some() {
        loop {
            let mut line = Vec::new();
            while !line.ends_with(b"\r\n") {
                let mut byte = [0];
                if !matches!(stream.read(&mut byte), Ok(1)) {
                    return (body, false);
                }
                line.push(byte[0]);
            }
            let size = String::from_utf8_lossy(&line);
            let size = u64::from_str_radix(size.trim(), 16).expect("the size of a chunk");
            let mut chunk = vec![0; size as usize + 2];
            if stream.read_exact(&mut chunk).is_err() {
                return (body, false);
            }
            body.extend_from_slice(&chunk[..size as usize]);
            if size == 0 {
                return (body, true);
            }
        }
    }
    let length: Option<u64> =
        value(head, "content-length").map(|one| one.parse().expect("a length"));
    match length {
        Some(length) => {
            let read = stream.take(length).read_to_end(&mut body);
            let whole = read.is_ok() && body.len() as u64 == length;
            (body, whole)
        }
        None if of_answer => {
            let whole = stream.read_to_end(&mut body).is_ok();
            (body, whole)
        }
        None => (body, true),
    }
}

/// A request as an upstream saw it.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

impl Seen {
    pub(crate) fn line(&self) -> &str {
        self.head.split("\r\n").next().unwrap_or("")
    }

    pub(crate) fn field(&self, name: &str) -> Option<&str> {
        value(&self.head, name)
    }
}

/// What an upstream does about a request.
pub(crate) enum Do {
    /// Says this, and reads on.
    Say(Vec<u8>),
    /// Says this, and closes.
    SayAndClose(Vec<u8>),
    /// Says this, and nothing more.
    SayAndHang(Vec<u8>),
}

impl Do {
    /// An answer in good order.
    pub(crate) fn answer(body: &str) -> Do {
        let bytes = body.len();
        Do::Say(format!("HTTP/1.1 200 OK\r\nContent-Length: {bytes}\r\n\r\n{body}").into_bytes())
    }

    /// An answer with this status.
    pub(crate) fn status(status: u16) -> Do {
        Do::Say(format!("HTTP/1.1 {status} X\r\nContent-Length: 0\r\n\r\n").into_bytes())
    }
}

/// An upstream that follows a script.
pub(crate) struct Origin {
    pub(crate) address: SocketAddr,
    shared: Arc<Shared>,
    accepting: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Shared {
    seen: Mutex<Vec<Seen>>,
    more: Condvar,
    stopped: AtomicBool,
    streams: Mutex<Vec<TcpStream>>,
}

impl Origin {
    /// Does with each request what `script` says.
    pub(crate) fn new(script: impl Fn(&Seen) -> Do + Send + Sync + 'static) -> Origin {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("it has one");
        let shared = Arc::new(Shared::default());
        let of_thread = Arc::clone(&shared);
        let script = Arc::new(script);
        let accepting = std::thread::spawn(move || {
            let mut serving = Vec::new();
            while let Ok((stream, _)) = listener.accept() {
                if of_thread.stopped.load(Ordering::SeqCst) {
                    break;
                }
                stream
                    .set_read_timeout(Some(PATIENCE))
                    .expect("a socket option");
                let kept = stream.try_clone().expect("a second handle");
                of_thread.streams.lock().expect("no panic").push(kept);
                let (shared, script) = (Arc::clone(&of_thread), Arc::clone(&script));
                serving.push(std::thread::spawn(move || serve(stream, &shared, &*script)));
            }
            serving.into_iter().for_each(|thread| drop(thread.join()));
        });
        Origin {
            address,
            shared,
            accepting: Some(accepting),
        }
    }

    /// Answers everything with its name.
    pub(crate) fn named(name: &'static str) -> Origin {
        Origin::new(move |_| Do::answer(name))
    }

    /// All that it has seen so far.
    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.shared.seen.lock().expect("no panic").clone()
    }

    /// Waits until it has seen so many requests.
    pub(crate) fn wait_for(&self, count: usize) -> Vec<Seen> {
        let seen = self.shared.seen.lock().expect("no panic");
        let more = &self.shared.more;
        let waited = more.wait_timeout_while(seen, PATIENCE, |seen| seen.len() < count);
        let (seen, timeout) = waited.expect("no panic");
        assert!(
            !timeout.timed_out(),
            "{count} requests were expected: {seen:?}"
        );
        seen.clone()
    }
}

fn serve(mut stream: TcpStream, shared: &Shared, script: &(impl Fn(&Seen) -> Do + ?Sized)) {
    while let Some(head) = read_head(&mut stream) {
        let (body, _) = read_body(&mut stream, &head, false);
        let seen = Seen { head, body };
        shared.seen.lock().expect("no panic").push(seen.clone());
        shared.more.notify_all();
        let (bytes, close) = match script(&seen) {
            Do::Say(bytes) => (bytes, false),
            Do::SayAndClose(bytes) => (bytes, true),
            Do::SayAndHang(bytes) => {
                let _ = stream.write_all(&bytes);
                // Until the gateway or the end of the test closes it.
                let _ = stream.read_to_end(&mut Vec::new());
                return;
            }
        };
        let written = stream.write_all(&bytes);
        if close {
            let _ = stream.shutdown(Shutdown::Both);
        }
        if close || written.is_err() {
            return;
        }
    }
}

impl Drop for Origin {
    fn drop(&mut self) {
        self.shared.stopped.store(true, Ordering::SeqCst);
        let streams = self.shared.streams.lock().expect("no panic");
        streams
            .iter()
            .for_each(|one| drop(one.shutdown(Shutdown::Both)));
        drop(streams);
        let _ = TcpStream::connect(self.address);
        if let Some(thread) = self.accepting.take() {
            let _ = thread.join();
        }
    }
}

/// An address of the loopback at which nobody listens.
pub(crate) fn nobody() -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], super::ports::free_port()))
}

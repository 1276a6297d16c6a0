//! A server under test, and a client that reads HTTP on its own, not with the code it tests.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use crate::skip::skip;
use engine::{Address, choice::EngineChoice, signal::Stop};
use testserver::{Config, Running, StartError, Summary};

/// Longer than anything takes on a busy machine; who waits so long has lost.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);

/// Calls `body` once for each engine that this host has.
pub(crate) fn each_engine(body: impl Fn(EngineChoice)) {
    for engine in [EngineChoice::Uring, EngineChoice::Epoll] {
        match testserver::start(config(engine), &Stop::new()) {
            Ok(running) => {
                running.stop();
                running.join().expect("a server that did nothing ends well");
                body(engine);
            }
            Err(StartError::Engine(error)) => {
                skip(format!("{engine} cannot be used here: {error}"));
            }
            Err(error) => panic!("{engine}: {error}"),
        }
    }
}

/// A server at a free port of the loopback interface.
pub(crate) fn config(engine: EngineChoice) -> Config {
    let address = Address::Tcp(SocketAddr::from(([127, 0, 0, 1], 0)));
    Config {
        engine,
        backlog: 1024,
        ..Config::new(address)
    }
}

/// A server that runs until it is dropped.
pub(crate) struct Server(Option<Running>);

impl Server {
    pub(crate) fn start(config: &Config) -> Server {
        Server(Some(
            testserver::start(config.clone(), &Stop::new()).expect("the server starts"),
        ))
    }

    /// One with all defaults.
    pub(crate) fn with(engine: EngineChoice) -> Server {
        Server::start(&config(engine))
    }

    pub(crate) fn address(&self) -> SocketAddr {
        match self.running().address() {
            Address::Tcp(address) => *address,
            other => panic!("not a TCP server: {other}"),
        }
    }

    pub(crate) fn running(&self) -> &Running {
        self.0.as_ref().expect("runs until it is dropped")
    }

    pub(crate) fn connect(&self) -> Client<TcpStream> {
        let stream = TcpStream::connect(self.address()).expect("the server listens");
        stream.set_nodelay(true).expect("a socket option");
        stream
            .set_read_timeout(Some(PATIENCE))
            .expect("a socket option");
        stream
            .set_write_timeout(Some(PATIENCE))
            .expect("a socket option");
        Client::new(stream)
    }

    /// The answer to one request on a connection of its own.
    pub(crate) fn ask(&self, request: &str) -> Answer {
        let mut client = self.connect();
        client.send(request);
        client.answer_to(request)
    }

    pub(crate) fn end(mut self) -> Summary {
        let running = self.0.take().expect("runs until it is dropped");
        running.stop();
        running.join().expect("the server ends well")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(running) = self.0.take() {
            running.stop();
            let ended = running.join();
            assert!(std::thread::panicking() || ended.is_ok(), "{ended:?}");
        }
    }
}

/// One connection to a server.
pub(crate) struct Client<S> {
    pub(crate) stream: S,
    /// Received and not yet taken.
    buffer: Vec<u8>,
}

/// An answer, taken apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    /// The value of a field.
    pub(crate) fn field(&self, name: &str) -> Option<&str> {
        self.head.lines().skip(1).find_map(|line| {
            let (found, value) = line.split_once(':')?;
            found.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub(crate) fn closes(&self) -> bool {
        self.field("Connection") == Some("close")
    }
}

impl<S: Read + Write> Client<S> {
    pub(crate) fn new(stream: S) -> Client<S> {
        Client {
            stream,
            buffer: Vec::new(),
        }
    }

    pub(crate) fn send(&mut self, bytes: impl AsRef<[u8]>) {
        self.stream
            .write_all(bytes.as_ref())
            .expect("the server reads");
    }

    /// The next answer, to a request that was not HEAD.
    pub(crate) fn answer(&mut self) -> Answer {
        self.answer_to("GET")
    }

    /// The next answer, to `request`.
    pub(crate) fn answer_to(&mut self, request: &str) -> Answer {
        let head = self.until(b"\r\n\r\n");
        let head = String::from_utf8(head).expect("a head is text");
        let status = head
            .get(9..12)
            .and_then(|code| code.parse().ok())
            .expect("a status");
        let mut answer = Answer {
            status,
            head,
            body: Vec::new(),
        };
        let bodiless = request.starts_with("HEAD") || matches!(status, 100..=199 | 204 | 304);
        if bodiless {
            return answer;
        }
        answer.body = if answer.field("Transfer-Encoding") == Some("chunked") {
            self.chunks()
        } else if let Some(length) = answer.field("Content-Length") {
            let length = length.parse().expect("a number");
            self.exactly(length)
        } else {
            self.rest()
        };
        answer
    }

    fn chunks(&mut self) -> Vec<u8> {
        let mut body = Vec::new();
        loop {
            let line = self.until(b"\r\n");
            let line = std::str::from_utf8(&line).expect("text").trim_end();
            let size = usize::from_str_radix(line, 16).expect("hexadecimal");
            body.extend(self.exactly(size));
            assert_eq!(self.exactly(2), b"\r\n");
            if size == 0 {
                return body;
            }
        }
    }

    fn until(&mut self, end: &[u8]) -> Vec<u8> {
        loop {
            let found = self
                .buffer
                .windows(end.len())
                .position(|window| window == end);
            if let Some(at) = found {
                return self.buffer.drain(..at + end.len()).collect();
            }
            let so_far = String::from_utf8_lossy(&self.buffer).into_owned();
            assert!(self.more(), "the connection ended after {so_far:?}");
        }
    }

    pub(crate) fn exactly(&mut self, length: usize) -> Vec<u8> {
        while self.buffer.len() < length {
            assert!(self.more(), "{} of {length} bytes came", self.buffer.len());
        }
        self.buffer.drain(..length).collect()
    }

    /// All bytes up to the end of the connection.
    pub(crate) fn rest(&mut self) -> Vec<u8> {
        while self.more() {}
        std::mem::take(&mut self.buffer)
    }

    /// Whether the connection has ended in order and nothing is left to read.
    pub(crate) fn is_over(&mut self) -> bool {
        self.buffer.is_empty() && !self.more()
    }

    fn more(&mut self) -> bool {
        let mut chunk = vec![0; 256 * 1024];
        let count = loop {
            match self.stream.read(&mut chunk) {
                // With a timeout set, whatever interrupts a read ends it (signal(7)).
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                read => break read.expect("the server answers in time"),
            }
        };
        self.buffer.extend_from_slice(&chunk[..count]);
        count > 0
    }
}

impl Client<TcpStream> {
    /// Asserts that nothing comes for so long.
    pub(crate) fn hears_nothing_for(&mut self, time: Duration) {
        self.stream
            .set_read_timeout(Some(time))
            .expect("a socket option");
        let heard = loop {
            match self.stream.read(&mut [0; 64]).map_err(|error| error.kind()) {
                Err(ErrorKind::Interrupted) => {}
                heard => break heard,
            }
        };
        assert!(
            matches!(heard, Err(ErrorKind::WouldBlock | ErrorKind::TimedOut)),
            "it was silent until {heard:?}"
        );
        self.stream
            .set_read_timeout(Some(PATIENCE))
            .expect("a socket option");
    }

    /// What kind of error reading ends with, after whatever comes before.
    pub(crate) fn error(&mut self) -> Option<ErrorKind> {
        let mut chunk = [0; 4096];
        loop {
            match self.stream.read(&mut chunk) {
                Ok(0) => return None,
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Some(error.kind()),
            }
        }
    }
}

/// `GET` of a path.
pub(crate) fn get(path: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nHost: test\r\n\r\n")
}

/// The pattern that long bodies follow.
pub(crate) fn pattern(length: usize) -> Vec<u8> {
    (0..length).map(|at| b'0' + (at % 10) as u8).collect()
}

//! What is sent, and what is heard, over HTTP/1 and HTTP/2.

use std::fmt::{self, Debug, Display};
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::thread;
use std::time::Duration;

use axum::http::{HeaderMap, HeaderName, HeaderValue, Request};
use bytes::Bytes;
use h2::client::SendRequest;
use tokio::runtime::Builder;

use crate::shown;

/// Longer than anything takes on a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// A request that either protocol can carry.
#[derive(Clone)]
pub(crate) struct Ask {
    method: &'static str,
    target: String,
    fields: Vec<(String, Vec<u8>)>,
    body: Body,
    /// Behind a body in pieces.
    trailers: Vec<(&'static str, &'static str)>,
}

#[derive(Clone)]
enum Body {
    None,
    /// With its length announced, each piece sent by itself.
    Sized(Vec<Vec<u8>>),
    /// Without: each piece is a chunk, or a frame.
    Pieces(Vec<Vec<u8>>),
}

impl Ask {
    pub(crate) fn new(method: &'static str, target: impl Into<String>) -> Ask {
        Ask {
            method,
            target: target.into(),
            fields: Vec::new(),
            body: Body::None,
            trailers: Vec::new(),
        }
    }

    pub(crate) fn get(target: impl Into<String>) -> Ask {
        Ask::new("GET", target)
    }

    pub(crate) fn post(target: impl Into<String>, body: impl Into<Vec<u8>>) -> Ask {
        Ask::new("POST", target).body(body)
    }

    pub(crate) fn field(mut self, name: &str, value: impl Into<Vec<u8>>) -> Ask {
        self.fields.push((name.to_owned(), value.into()));
        self
    }

    pub(crate) fn body(self, body: impl Into<Vec<u8>>) -> Ask {
        self.sized_in(vec![body.into()])
    }

    /// With a body whose length is announced, and which is sent in pieces.
    pub(crate) fn sized_in(mut self, pieces: Vec<Vec<u8>>) -> Ask {
        self.body = Body::Sized(pieces);
        self
    }

    /// With a body whose length isn't announced.
    pub(crate) fn in_pieces(mut self, pieces: Vec<Vec<u8>>) -> Ask {
        self.body = Body::Pieces(pieces);
        self
    }

    /// With fields behind a body in pieces.
    pub(crate) fn trailers(mut self, trailers: &[(&'static str, &'static str)]) -> Ask {
        self.trailers = trailers.to_vec();
        self
    }

    /// The fields over either protocol, but for the host.
    fn all_fields(&self) -> Vec<(String, Vec<u8>)> {
        let mut fields = self.fields.clone();
        if let Body::Sized(pieces) = &self.body {
            let length: usize = pieces.iter().map(Vec::len).sum();
            fields.push(("content-length".into(), length.to_string().into()));
        }
        fields
    }

    /// What is sent over HTTP/1.1, write by write: the head with what fits the first piece of the
    /// body, then each further piece.
    pub(crate) fn pieces(&self) -> Vec<Vec<u8>> {
        let mut head = format!("{} {} HTTP/1.1\r\nhost: a\r\n", self.method, self.target);
        if matches!(self.body, Body::Pieces(_)) {
            head += "transfer-encoding: chunked\r\n";
        }
        let mut head = head.into_bytes();
        for (name, value) in self.all_fields() {
            head.extend_from_slice(&[name.as_bytes(), b": ", &value, b"\r\n"].concat());
        }
        head.extend_from_slice(b"\r\n");
        let mut sent = match &self.body {
            Body::None => Vec::new(),
            Body::Sized(pieces) => pieces.clone(),
            Body::Pieces(pieces) => {
                let mut chunks: Vec<_> = pieces.iter().map(|piece| chunk(piece)).collect();
                let fields = self.trailers.iter();
                let fields = fields.map(|(name, value)| format!("{name}: {value}\r\n"));
                let end = format!("0\r\n{}\r\n", fields.collect::<String>());
                // In one write with the last piece: who has read enough of a body answers at once,
                // and hyper ends the connection if the end hasn't come by then.
                match chunks.last_mut() {
                    Some(last) => last.extend_from_slice(end.as_bytes()),
                    None => chunks.push(end.into_bytes()),
                }
                chunks
            }
        };
        match sent.first_mut() {
            Some(first) => drop(first.splice(0..0, head)),
            None => sent.push(head),
        }
        sent
    }

    /// The head over HTTP/2, and the pieces of the body.
    pub(crate) fn http2(&self) -> (Request<()>, Vec<Vec<u8>>) {
        let mut request = Request::builder()
            .method(self.method)
            .uri(format!("http://a{}", self.target))
            .body(())
            .expect("a request");
        for (name, value) in self.all_fields() {
            let name = HeaderName::from_bytes(name.as_bytes()).expect("a name");
            let value = HeaderValue::from_bytes(&value).expect("a value");
            request.headers_mut().append(name, value);
        }
        let pieces = match &self.body {
            Body::None => Vec::new(),
            Body::Sized(pieces) | Body::Pieces(pieces) => pieces.clone(),
        };
        (request, pieces)
    }
}

impl Debug for Ask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&shown(&self.pieces().concat()))
    }
}

/// A chunk of a body (RFC 9112 §7.1).
pub(crate) fn chunk(bytes: &[u8]) -> Vec<u8> {
    let mut chunk = format!("{:x}\r\n", bytes.len()).into_bytes();
    chunk.extend_from_slice(bytes);
    chunk.extend_from_slice(b"\r\n");
    chunk
}

/// What came on a connection up to its end, without the value of dates.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Heard {
    pub(crate) bytes: Vec<u8>,
    pub(crate) end: End,
}

/// How a connection ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Closed,
    Reset,
}

impl Heard {
    /// The status of each answer.
    pub(crate) fn statuses(&self) -> Vec<u16> {
        let text = String::from_utf8_lossy(&self.bytes);
        let answers = text.split("HTTP/1.").skip(1);
        answers
            .filter_map(|answer| answer.get(2..5)?.parse().ok())
            .collect()
    }

    /// The same with each body in chunks as one.
    pub(crate) fn merged(&self) -> Heard {
        let mut bytes = Vec::new();
        let mut left = &self.bytes[..];
        while let Some(head) = find(left, b"\r\n\r\n").map(|at| at + 4) {
            let text = String::from_utf8_lossy(&left[..head]).to_ascii_lowercase();
            bytes.extend_from_slice(&left[..head]);
            left = &left[head..];
            if text.contains("transfer-encoding: chunked\r\n") {
                while let Some(line) = find(left, b"\r\n") {
                    let digits = String::from_utf8_lossy(&left[..line]);
                    let length = usize::from_str_radix(&digits, 16).expect("the size of a chunk");
                    bytes.extend_from_slice(&left[line + 2..line + 2 + length]);
                    left = &left[line + 2 + length + 2..];
                    if length == 0 {
                        break;
                    }
                }
                bytes.extend_from_slice(b"<end>");
            } else if let Some((_, length)) = text.split_once("content-length: ") {
                let digits = length.split("\r\n").next().expect("a line");
                let length: usize = digits.parse().expect("a length");
                bytes.extend_from_slice(&left[..length]);
                left = &left[length..];
            }
        }
        bytes.extend_from_slice(left);
        Heard {
            bytes,
            end: self.end,
        }
    }

    /// Whether these bytes came.
    pub(crate) fn has(&self, bytes: impl AsRef<[u8]>) -> bool {
        find(&self.bytes, bytes.as_ref()).is_some()
    }
}

impl Display for Heard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}\n{:?}", shown(&self.bytes), self.end)
    }
}

/// Where `wanted` is in `bytes`.
fn find(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    let mut windows = bytes.windows(wanted.len());
    windows.position(|window| window == wanted)
}

/// A connection to `address`, on which nothing waits for longer than [`PATIENCE`].
pub(crate) fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).expect("the server listens");
    stream.set_nodelay(true).expect("a socket option");
    stream
        .set_read_timeout(Some(PATIENCE))
        .expect("a socket option");
    stream
        .set_write_timeout(Some(PATIENCE))
        .expect("a socket option");
    stream
}

/// Sends `pieces`, each in a write of its own, and hears what comes until the server closes.
pub(crate) fn http1(address: SocketAddr, pieces: &[Vec<u8>]) -> Heard {
    let stream = connect(address);
    let writing = stream.try_clone().expect("a second handle");
    thread::scope(|scope| {
        scope.spawn(move || {
            for piece in pieces {
                // A server may have answered and gone before all was sent.
                if (&writing).write_all(piece).is_err() {
                    return;
                }
            }
        });
        let heard = hear(&stream);
        let _ = stream.shutdown(Shutdown::Both); // The other thread stops, too.
        heard
    })
}

/// What comes on a connection until `wanted` is at its end.
pub(crate) fn until(stream: &mut TcpStream, wanted: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    while !bytes.ends_with(wanted) {
        let mut byte = [0];
        if let Err(error) = stream.read_exact(&mut byte) {
            panic!("{error}; until then\n{}", shown(&bytes));
        }
        bytes.push(byte[0]);
    }
    bytes
}

/// What comes on a connection until its end.
pub(crate) fn hear(mut stream: &TcpStream) -> Heard {
    let mut bytes = Vec::new();
    let end = match stream.read_to_end(&mut bytes) {
        Ok(_) => End::Closed,
        Err(error) if error.kind() == ErrorKind::ConnectionReset => End::Reset,
        Err(error) => panic!("{error}; until then\n{}", shown(&bytes)),
    };
    undate(&mut bytes);
    Heard { bytes, end }
}

/// Takes the value out of the `date` of each answer that has the server's.
pub(crate) fn undate(bytes: &mut Vec<u8>) {
    const NAME: &[u8] = b"\r\ndate: ";
    const VALUE_BYTES: usize = 29;
    let is_name = |window: &[u8]| window.eq_ignore_ascii_case(NAME);
    let mut from = 0;
    while let Some(found) = bytes[from..].windows(NAME.len()).position(is_name) {
        from += found + NAME.len();
        let to = from + VALUE_BYTES;
        if bytes.get(to - 4..to + 2) == Some(b" GMT\r\n") {
            bytes.splice(from..to, *b"*");
        }
    }
}

/// An answer over HTTP/2, without the value of its date.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    /// In the order in which they came.
    pub(crate) fields: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
    pub(crate) trailers: Vec<(String, String)>,
    /// Why there is no more, or no answer at all.
    pub(crate) error: Option<String>,
}

impl Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.status)?;
        for (name, value) in &self.fields {
            writeln!(f, "{name}: {value}")?;
        }
        writeln!(f, "\n{}", shown(&self.body))?;
        for (name, value) in &self.trailers {
            writeln!(f, "{name}: {value}")?;
        }
        writeln!(f, "{:?}", self.error)
    }
}

fn listed(map: &HeaderMap) -> Vec<(String, String)> {
    let fields = map.iter().map(|(name, value)| {
        let mut text = value.as_bytes().escape_ascii().to_string();
        if name == "date" && text.ends_with(" GMT") {
            text = "*".into();
        }
        (name.to_string(), text)
    });
    fields.collect()
}

/// Asks over HTTP/2, on a connection of its own.
pub(crate) fn http2(address: SocketAddr, ask: &Ask) -> Answer {
    let mut answers = http2_all(address, std::slice::from_ref(ask));
    answers.remove(0)
}

/// Asks over HTTP/2 one after the other, on one connection.
pub(crate) fn http2_all(address: SocketAddr, asks: &[Ask]) -> Vec<Answer> {
    within(async {
        let (client, connection) = dial(address).await;
        let connection = tokio::spawn(connection);
        let mut answers = Vec::new();
        for ask in asks {
            let mut answer = Answer::default();
            if let Err(error) = exchange(client.clone(), ask, &mut answer).await {
                answer.error = Some(error.to_string());
            }
            answers.push(answer);
        }
        drop(client);
        let _ = connection.await;
        answers
    })
}

/// Has a client's work done, in a runtime of its own, within [`PATIENCE`].
pub(crate) fn within<T>(work: impl Future<Output = T>) -> T {
    let runtime = Builder::new_current_thread().enable_all().build();
    let work = async { tokio::time::timeout(PATIENCE, work).await };
    let done = runtime.expect("a runtime").block_on(work);
    done.unwrap_or_else(|_| panic!("a client over HTTP/2 waits for ever"))
}

/// A client, and what has to be polled for it.
pub(crate) async fn dial(
    address: SocketAddr,
) -> (
    SendRequest<Bytes>,
    impl Future<Output = Result<(), h2::Error>>,
) {
    let stream = tokio::net::TcpStream::connect(address).await;
    let shaken = h2::client::handshake(stream.expect("the server listens")).await;
    shaken.expect("it speaks HTTP/2")
}

/// One request over HTTP/2, and what comes of it.
pub(crate) async fn exchange(
    client: SendRequest<Bytes>,
    ask: &Ask,
    answer: &mut Answer,
) -> Result<(), h2::Error> {
    let mut client = client.ready().await?;
    let (request, pieces) = ask.http2();
    let end = pieces.is_empty() && ask.trailers.is_empty();
    let (response, mut sending) = client.send_request(request, end)?;
    let count = pieces.len();
    for (at, piece) in pieces.into_iter().enumerate() {
        let last = at + 1 == count && ask.trailers.is_empty();
        // A server may have answered, and want no more.
        if sending.send_data(piece.into(), last).is_err() {
            break;
        }
    }
    if !ask.trailers.is_empty() {
        let pairs = ask.trailers.iter();
        let pairs = pairs.map(|(name, value)| {
            let (name, value) = (
                HeaderName::from_static(name),
                HeaderValue::from_static(value),
            );
            (name, value)
        });
        let _ = sending.send_trailers(HeaderMap::from_iter(pairs));
    }
    let response = response.await?;
    answer.status = response.status().as_u16();
    answer.fields = listed(response.headers());
    let mut body = response.into_body();
    while let Some(piece) = body.data().await {
        let piece = piece?;
        body.flow_control().release_capacity(piece.len())?;
        answer.body.extend_from_slice(&piece);
    }
    if let Some(trailers) = body.trailers().await? {
        answer.trailers = listed(&trailers);
    }
    Ok(())
}

//! A blocking client of a receiver: one connection that is kept, one request at a time, one
//! deadline for all that a request takes.

use std::cell::Cell;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};

use measure::time::Time;
use names::{left, look_up};
use proto::http1::HeadMemo;
use proto::http1::client::{Answer as Framing, Client as Machine, Event, Limits};
use proto::http1::request::RequestSpec;
use tls::{Blocking, ClientTls, HandshakeError, TlsFault};

use crate::receiver::Receiver;

/// The most bytes of an answer's body that are read; OTLP's are a few dozen.
const BODY_BYTES_MAX: usize = 64 * 1024;

/// What came back.
#[derive(Debug, Default)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    /// From the status line to the empty line.
    pub(crate) head: Vec<u8>,
    pub(crate) body: Vec<u8>,
}

/// See the module.
pub(crate) struct Client {
    receiver: Receiver,
    tls: Option<ClientTls>,
    link: Option<Link>,
}

/// A connection.
struct Link {
    stream: Stream,
    machine: Machine,
    memo: HeadMemo,
}

enum Stream {
    Clear(Timed),
    Secured(Box<Blocking<Timed>>),
}

/// A stream that waits until its deadline at most, however many reads and writes there are.
#[derive(Debug)]
struct Timed {
    stream: TcpStream,
    deadline: Cell<Time>,
}

/// Why there is no whole answer.
enum Lost {
    /// A connection that was kept had been closed meanwhile: nothing of an answer has come.
    Stale,
    Because(String),
}

impl Client {
    /// # Errors
    /// TLS can't be set up: why, and what to do.
    pub(crate) fn new(receiver: Receiver) -> Result<Client, String> {
        let tls = receiver.tls()?;
        Ok(Client {
            receiver,
            tls,
            link: None,
        })
    }

    pub(crate) fn receiver(&self) -> &Receiver {
        &self.receiver
    }

    /// Sends a compressed message as a signal, such as `metrics`, and waits for the answer.
    ///
    /// # Errors
    /// There is none by `deadline`, or it's no HTTP: why.
    pub(crate) fn post(
        &mut self,
        signal: &str,
        body: &[u8],
        deadline: Time,
    ) -> Result<Answer, String> {
        let mut fields = vec![
            ("Content-Type", "application/x-protobuf"),
            ("Content-Encoding", "gzip"),
            ("User-Agent", "ringside"),
        ];
        let headers = self.receiver.headers().iter();
        fields.extend(headers.map(|(name, value)| (&**name, &**value)));
        let request = RequestSpec {
            method: "POST",
            target: &self.receiver.path(signal),
            host: &self.receiver.host_field(),
            fields: &fields,
            body,
            keep_alive: true,
        };
        let request = request.encode();
        // What may not be sent was refused with the arguments; its values aren't quoted here.
        let request = request.map_err(|_| "a header can't be sent".to_owned())?;
        if let Some(link) = self.link.take() {
            match self.exchange(link, &request, deadline) {
                Err(Lost::Stale) => {}
                Err(Lost::Because(why)) => return Err(why),
                Ok(answer) => return Ok(answer),
            }
        }
        let link = self.connect(deadline)?;
        match self.exchange(link, &request, deadline) {
            Err(Lost::Stale) => Err("it closed the connection without an answer".to_owned()),
            Err(Lost::Because(why)) => Err(why),
            Ok(answer) => Ok(answer),
        }
    }

    fn exchange(&mut self, mut link: Link, request: &[u8], deadline: Time) -> Result<Answer, Lost> {
        link.stream.until(deadline);
        let (answer, is_kept) = link.exchange(request)?;
        self.link = is_kept.then_some(link);
        Ok(answer)
    }

    fn connect(&self, deadline: Time) -> Result<Link, String> {
        let (host, port) = (self.receiver.host(), self.receiver.port());
        let addresses = look_up(host, port, None, deadline)
            .map_err(|why| format!("{host} can't be resolved: {why}"))?;
        let stream = Timed {
            stream: first_of(&addresses, deadline)?,
            deadline: Cell::new(deadline),
        };
        let stream = match &self.tls {
            None => Stream::Clear(stream),
            Some(tls) => {
                let secured = Blocking::connect(stream, tls);
                Stream::Secured(Box::new(secured.map_err(|error| unsecured(&error))?))
            }
        };
        Ok(Link {
            stream,
            machine: Machine::new(Limits::default()),
            memo: HeadMemo::new(),
        })
    }
}

/// Connects to the first address at which somebody listens. Each gets its share of the time.
fn first_of(addresses: &[SocketAddr], deadline: Time) -> Result<TcpStream, String> {
    let mut why = io::Error::from(ErrorKind::NotFound);
    for (place, address) in addresses.iter().enumerate() {
        let shares = (addresses.len() - place) as u32;
        let connected =
            left(deadline).and_then(|left| TcpStream::connect_timeout(address, left / shares));
        match connected {
            Ok(stream) => {
                // The body isn't held back until the head is acknowledged (RFC 896).
                return match stream.set_nodelay(true) {
                    Ok(()) => Ok(stream),
                    Err(why) => Err(why.to_string()),
                };
            }
            Err(error) => why = error,
        }
    }
    Err(match why.kind() {
        ErrorKind::ConnectionRefused => "nothing is listening there".to_owned(),
        ErrorKind::TimedOut | ErrorKind::WouldBlock => "no connection in time".to_owned(),
        ErrorKind::NotFound => "it has no address".to_owned(),
        _ => format!("can't connect: {why}"),
    })
}

/// The sentence for a receiver with which there is no TLS, with what to do.
fn unsecured(error: &HandshakeError) -> String {
    let what = &error.what;
    match error.fault {
        Some(TlsFault::UntrustedIssuer) => {
            format!("{what}; give its CA certificate with --otlp-cacert")
        }
        Some(TlsFault::NotTls | TlsFault::Abandoned) => {
            format!("{what}; for a receiver without TLS, write http://")
        }
        _ => what.clone(),
    }
}

impl Link {
    /// Sends a request and reads its answer; whether the connection may be used again.
    fn exchange(&mut self, request: &[u8]) -> Result<(Answer, bool), Lost> {
        // One that won't have it answers, and closes before all of it has come: that is read.
        let unsent = match self.stream.write_all(request) {
            Err(why) if is_closed(&why) => Some(why),
            sent => {
                sent.map_err(|why| lost(&why, true))?;
                None
            }
        };
        let sent = self.machine.sent(Framing::Usual);
        sent.map_err(|misuse| Lost::Because(misuse.to_string()))?;
        let mut answer = Answer::default();
        let mut buffer = [0; 4096];
        let mut is_first = true;
        loop {
            let read = self.stream.read(&mut buffer);
            if let (Some(why), true, Ok(0) | Err(_)) = (&unsent, is_first, &read) {
                return Err(lost(why, true));
            }
            let count = match read {
                Ok(0) if is_first => return Err(Lost::Stale),
                Ok(0) => return self.cut_off(answer),
                Ok(count) => count,
                Err(why) if why.kind() == ErrorKind::Interrupted => continue,
                Err(why) => return Err(lost(&why, is_first)),
            };
            is_first = false;
            let mut input = &buffer[..count];
            while let Some(event) = self
                .machine
                .next(&mut input, &mut self.memo)
                .map_err(|_| Lost::Because("its answer isn't HTTP/1.1".to_owned()))?
            {
                match event {
                    Event::Informational { .. } => {}
                    Event::Head { status, head } => {
                        (answer.status, answer.head) = (status, head.to_vec());
                    }
                    Event::Body(bytes) if answer.body.len() + bytes.len() > BODY_BYTES_MAX => {
                        let what = format!("its answer is longer than {BODY_BYTES_MAX} bytes");
                        return Err(Lost::Because(what));
                    }
                    Event::Body(bytes) => answer.body.extend_from_slice(bytes),
                    Event::End(end) => return Ok((answer, end.keep_alive && unsent.is_none())),
                }
            }
        }
    }

    /// The connection has ended, and with it the answer, if it says no length.
    fn cut_off(&mut self, answer: Answer) -> Result<(Answer, bool), Lost> {
        match self.machine.ended() {
            Ok(Some(_)) => Ok((answer, false)),
            _ => {
                let what = "it closed the connection before its answer was complete";
                Err(Lost::Because(what.to_owned()))
            }
        }
    }
}

/// Whether the other side takes nothing more.
fn is_closed(why: &io::Error) -> bool {
    matches!(
        why.kind(),
        ErrorKind::BrokenPipe | ErrorKind::ConnectionReset
    )
}

/// What became of a connection; `is_unanswered`: nothing has come yet.
fn lost(why: &io::Error, is_unanswered: bool) -> Lost {
    match why.kind() {
        ErrorKind::WouldBlock | ErrorKind::TimedOut => {
            Lost::Because("no answer in time".to_owned())
        }
        ErrorKind::BrokenPipe | ErrorKind::ConnectionReset if is_unanswered => Lost::Stale,
        _ => Lost::Because(format!("the connection broke: {why}")),
    }
}

impl Stream {
    fn until(&self, deadline: Time) {
        match self {
            Stream::Clear(timed) => timed.deadline.set(deadline),
            Stream::Secured(secured) => secured.stream().deadline.set(deadline),
        }
    }

    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Stream::Clear(timed) => timed.write_all(bytes),
            Stream::Secured(secured) => secured.write_all(bytes).and_then(|()| secured.flush()),
        }
    }

    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Stream::Clear(timed) => timed.read(buffer),
            Stream::Secured(secured) => secured.read(buffer),
        }
    }
}

impl Read for Timed {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = left(self.deadline.get())?;
        self.stream.set_read_timeout(Some(left))?;
        self.stream.read(buffer)
    }
}

impl Write for Timed {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let left = left(self.deadline.get())?;
        self.stream.set_write_timeout(Some(left))?;
        self.stream.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

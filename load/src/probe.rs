//! One exchange, with the answer kept: to see whether a subject is ready, and what it answers.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use engine::Address;
use proto::http1::HeadMemo;
use proto::http1::client::{Answer as Framing, Client, Event, Limits};

use crate::plan::Plan;
use crate::run::RunError;
use crate::target;

/// The most bytes of a body that are kept.
const BODY_BYTES_MAX: usize = 16 * 1024 * 1024;

/// An answer, whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Status code.
    pub status: u16,
    /// The head as it came, from the status line to the empty line.
    pub head: Vec<u8>,
    /// The body, without its framing.
    pub body: Vec<u8>,
}

impl Answer {
    /// The value of a header field, if it is there.
    pub fn field(&self, name: &str) -> Option<&[u8]> {
        proto::http1::field(&self.head, name)
    }
}

/// Sends the plan's request once and waits for its answer, each step for `timeout` at most.
pub fn probe(plan: &Plan, timeout: Duration) -> Result<Answer, RunError> {
    plan.validate()?;
    let addresses = target::resolve(plan)?;
    let request = plan.encode()?;
    let failed = |address: &Address, why: &std::io::Error| target::unreachable(plan, address, why);
    let address = &addresses[0];
    match address {
        Address::Tcp(tcp) => {
            let stream = connect(plan, tcp, timeout).map_err(|why| failed(address, &why))?;
            let timed = stream.set_read_timeout(Some(timeout));
            timed
                .and_then(|()| stream.set_write_timeout(Some(timeout)))
                .map_err(|why| failed(address, &why))?;
            exchange(plan, stream, &request)
        }
        Address::Unix(path) => {
            let stream = UnixStream::connect(path).map_err(|why| failed(address, &why))?;
            let timed = stream.set_read_timeout(Some(timeout));
            timed
                .and_then(|()| stream.set_write_timeout(Some(timeout)))
                .map_err(|why| failed(address, &why))?;
            exchange(plan, stream, &request)
        }
    }
}

fn connect(plan: &Plan, to: &SocketAddr, timeout: Duration) -> std::io::Result<TcpStream> {
    let stream = TcpStream::connect_timeout(to, timeout)?;
    // Nagle's algorithm would hold the body back until the head is acknowledged (RFC 896).
    stream.set_nodelay(plan.keep_alive || !plan.request.body.is_empty())?;
    Ok(stream)
}

fn exchange(
    plan: &Plan,
    mut stream: impl Read + Write,
    request: &[u8],
) -> Result<Answer, RunError> {
    let broken = |why: String| RunError::Probe(format!("{}: {why}", plan.target.url()));
    stream
        .write_all(request)
        .map_err(|why| broken(format!("the request was not taken: {why}")))?;
    let mut client = Client::new(Limits::default());
    client
        .sent(Framing::to(&plan.request.method))
        .map_err(|misuse| broken(misuse.to_string()))?;
    let mut memo = HeadMemo::new();
    let mut answer = Answer {
        status: 0,
        head: Vec::new(),
        body: Vec::new(),
    };
    let mut buffer = vec![0; 64 * 1024];
    loop {
        let count = match stream.read(&mut buffer) {
            Ok(count) => count,
            Err(why) if why.kind() == ErrorKind::Interrupted => continue,
            Err(why) if matches!(why.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                return Err(broken("no whole answer came in time".into()));
            }
            Err(why) => return Err(broken(format!("the connection broke: {why}"))),
        };
        if count == 0 {
            return match client.ended() {
                Ok(Some(_)) => Ok(answer),
                _ => Err(broken("the peer closed before its answer was whole".into())),
            };
        }
        let mut input = &buffer[..count];
        while let Some(event) = client
            .next(&mut input, &mut memo)
            .map_err(|violation| broken(violation.to_string()))?
        {
            match event {
                Event::Informational { .. } => {}
                Event::Head { status, head } => {
                    answer.status = status;
                    answer.head = head.to_vec();
                }
                Event::Body(bytes) => {
                    if answer.body.len() + bytes.len() > BODY_BYTES_MAX {
                        return Err(broken(format!(
                            "the body is longer than the {BODY_BYTES_MAX} bytes that are kept"
                        )));
                    }
                    answer.body.extend_from_slice(bytes);
                }
                Event::End(_) => return Ok(answer),
            }
        }
    }
}

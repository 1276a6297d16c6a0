//! One exchange over HTTP/2, which may be a gRPC call.

use proto::http2::ErrorCode;
use proto::http2::client::{Client, Config, Event, Request};

use super::conversation::Conversation;
use super::{Answer, keep};
use crate::LoadError;
use plan::Contact;
use plan::protocol::{Http2 as Settings, Protocol};

/// The fields behind a body, in order; empty: there were none.
pub(super) type Trailers = Vec<(Vec<u8>, Vec<u8>)>;

/// The only request's number among those of the connection.
const PLACE: u32 = 0;

/// A connection whose settings are known.
pub(super) struct Http2 {
    peer: Conversation,
    client: Client,
    /// What came and was not read.
    received: Vec<u8>,
    /// What to do about a server that does not speak HTTP/2.
    advice: &'static str,
}

impl Http2 {
    /// Exchanges settings.
    pub(super) fn open(contact: &Contact, peer: Conversation) -> Result<Http2, LoadError> {
        let settings = contact.protocol.http2().copied().unwrap_or_default();
        let mut out = Vec::new();
        let client = Client::new(config(&settings), &mut out);
        let mut this = Http2 {
            peer,
            client,
            received: Vec::new(),
            advice: match contact.protocol {
                Protocol::Grpc { .. } => "check that this is the gRPC server's port",
                _ => "drop --http2 to use HTTP/1.1",
            },
        };
        this.peer.send(&out)?;
        this.until(|event| matches!(event, Event::Ready).then_some(Ok(())))?;
        Ok(this)
    }

    /// Sends the request, and reads its answer and the fields behind that.
    pub(super) fn exchange(mut self, request: &Request) -> Result<(Answer, Trailers), LoadError> {
        let mut out = Vec::new();
        self.client
            .request(request, PLACE, &mut out)
            .map_err(|misuse| self.peer.broken(misuse))?;
        self.peer.send(&out)?;
        let mut answer = (Answer::default(), Trailers::new());
        self.until(|event| read(event, &mut answer))?;
        self.close();
        Ok(answer)
    }

    /// Says that this side is done. A peer that is gone already was answered well before.
    pub(super) fn close(mut self) {
        let mut out = Vec::new();
        self.client.close(ErrorCode::NO_ERROR, &mut out);
        let _ = self.peer.send(&out);
    }

    /// Converses until `seen` has seen what it waits for, or what makes that impossible.
    fn until(
        &mut self,
        mut seen: impl FnMut(Event<'_>) -> Option<Result<(), String>>,
    ) -> Result<(), LoadError> {
        loop {
            self.refuse_http1()?;
            let mut out = Vec::new();
            let mut input = &self.received[..];
            let mut came = None;
            while came.is_none() {
                match self.client.next(&mut input, &mut out) {
                    Ok(Some(event)) => came = seen(event),
                    Ok(None) => break,
                    Err(violation) => came = Some(Err(violation.to_string())),
                }
            }
            let left = input.len();
            self.received.drain(..self.received.len() - left);
            let sent = self.peer.send(&out);
            if let Some(came) = came {
                return came.map_err(|why| self.peer.broken(why));
            }
            sent?;
            if !self.peer.receive(&mut self.received)? {
                return Err(self.ended());
            }
        }
    }

    /// A server of HTTP/1.1 answers the preface, which was made to be no request of it
    /// (RFC 9113 §3.4).
    fn refuse_http1(&self) -> Result<(), LoadError> {
        if !self.client.ready() && self.received.starts_with(b"HTTP/1.") {
            return Err(self.peer.broken(format!(
                "the server answered in HTTP/1.1, so it doesn't speak HTTP/2: {}",
                self.advice
            )));
        }
        Ok(())
    }

    fn ended(&self) -> LoadError {
        if self.client.ready() {
            return self
                .peer
                .broken("the server closed the connection before its answer was complete");
        }
        self.peer.broken(format!(
            "the server closed the connection without sending HTTP/2 settings, so it doesn't speak \
             HTTP/2: {}",
            self.advice
        ))
    }
}

fn config(settings: &Settings) -> Config {
    Config {
        streams: 1,
        stream_window: settings.stream_window_bytes,
        connection_window: settings.connection_window_bytes,
        header_table_bytes: settings.header_table_bytes,
        ..Config::default()
    }
}

/// Puts an event into the answer; `Some` once that is whole, or never will be.
fn read(
    event: Event<'_>,
    (answer, trailers): &mut (Answer, Trailers),
) -> Option<Result<(), String>> {
    let mut ends = false;
    match event {
        Event::Ready | Event::Informational { .. } | Event::Pong { .. } => {}
        Event::Head {
            status,
            fields,
            end,
            ..
        } => {
            answer.status = status;
            answer.head = format!("HTTP/2 {status}\r\n").into_bytes();
            for (name, value) in fields.iter().filter(|(name, _)| !name.starts_with(b":")) {
                for part in [name, b": ", value, b"\r\n"] {
                    answer.head.extend_from_slice(part);
                }
            }
            answer.head.extend_from_slice(b"\r\n");
            ends = end;
        }
        Event::Data { bytes, end, .. } => {
            if let Err(why) = keep(&mut answer.body, bytes) {
                return Some(Err(why));
            }
            ends = end;
        }
        Event::Trailers { fields, .. } => {
            let owned = fields
                .iter()
                .map(|(name, value)| (name.to_vec(), value.to_vec()));
            *trailers = owned.collect();
            ends = true;
        }
        Event::Reset {
            code, unprocessed, ..
        } => {
            let processed = if unprocessed {
                ", without having processed it"
            } else {
                ""
            };
            return Some(Err(format!(
                "the server reset the request's stream with {code}{processed}"
            )));
        }
        Event::GoAway { code, .. } if code != ErrorCode::NO_ERROR => {
            return Some(Err(format!("the server ended the connection with {code}")));
        }
        Event::GoAway { .. } => {}
    }
    ends.then_some(Ok(()))
}

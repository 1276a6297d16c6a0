//! HTTP/2 in a session: many exchanges on one connection, answered in any order.

use std::sync::Arc;

use measure::counters::ErrorKind;
use proto::Violation;
use proto::http2::ErrorCode;
use proto::http2::client::{Client, Config, Event, Limits, Request};

use super::wire::{Happening, Outcome};
use crate::plan::{Invalid, Plan};
use crate::protocol::Http2;
use crate::request;

/// What is said on every connection.
#[derive(Debug)]
pub(crate) struct Speech {
    config: Config,
    request: Request,
}

impl Speech {
    /// Encodes what `plan` says.
    pub(crate) fn of(plan: &Plan, http2: &Http2) -> Result<Speech, Invalid> {
        Ok(Speech {
            config: config(http2),
            request: request::http2(plan)?,
        })
    }
}

/// The protocol state of one connection.
#[derive(Debug)]
pub(crate) struct Wire {
    machine: Client,
    speech: Arc<Speech>,
    /// The status of the answer that is being read at each place.
    statuses: Box<[u16]>,
    /// How many more streams have a number (RFC 9113 §5.1.1).
    numbers: u32,
    /// The peer has said GOAWAY.
    leaving: bool,
}

/// The odd ones of 31 bits.
const NUMBERS: u32 = 1 << 30;

impl Wire {
    /// A connection on which nothing was said: the preface and the settings go to `out`.
    pub(crate) fn new(speech: &Arc<Speech>, out: &mut Vec<u8>) -> Wire {
        Wire {
            machine: Client::new(speech.config, out),
            speech: Arc::clone(speech),
            statuses: vec![0; speech.config.streams as usize].into_boxed_slice(),
            numbers: NUMBERS,
            leaving: false,
        }
    }

    /// Whether the peer's settings are known.
    pub(crate) fn is_ready(&self) -> bool {
        self.machine.ready()
    }

    /// How many more streams may be opened.
    #[inline]
    pub(crate) fn room(&self) -> u32 {
        self.machine.capacity()
    }

    /// Whether no stream can be opened any more.
    #[inline]
    pub(crate) fn is_leaving(&self) -> bool {
        self.leaving || self.numbers == 0
    }

    /// Sends a request.
    #[inline]
    pub(crate) fn begin(&mut self, place: u32, out: &mut Vec<u8>) {
        self.numbers -= 1;
        let begun = self.machine.request(&self.speech.request, place, out);
        debug_assert!(begun.is_ok(), "the owner looks for room first: {begun:?}");
    }

    /// Reads what came.
    pub(crate) fn receive(
        &mut self,
        mut input: &[u8],
        out: &mut Vec<u8>,
        tell: &mut impl FnMut(Happening),
    ) -> Result<(), Violation> {
        while let Some(event) = self.machine.next(&mut input, out)? {
            match event {
                Event::Head {
                    place, status, end, ..
                } => {
                    self.statuses[place as usize] = status;
                    if end {
                        tell(answered(place, status));
                    }
                }
                Event::Data { place, end, .. } => {
                    if end {
                        tell(answered(place, self.statuses[place as usize]));
                    }
                }
                Event::Trailers { place, .. } => {
                    tell(answered(place, self.statuses[place as usize]));
                }
                Event::Reset {
                    place, unprocessed, ..
                } => tell(reset(place, unprocessed)),
                Event::GoAway { code, .. } => {
                    self.leaving = true;
                    if code != ErrorCode::NO_ERROR {
                        tell(Happening::Erred {
                            kind: ErrorKind::GoAway,
                        });
                    }
                }
                Event::Ready => tell(Happening::Ready),
                Event::Pong { payload } => tell(Happening::Pong { payload }),
                Event::Informational { .. } => {}
            }
        }
        Ok(())
    }

    /// The peer sends no more.
    pub(crate) fn ended(&mut self) -> Result<(), Violation> {
        self.machine.ended()
    }

    /// Gives the exchange at `place` up (RFC 9113 §8.7: `CANCEL`).
    pub(crate) fn cancel(&mut self, place: u32, out: &mut Vec<u8>) {
        self.machine.cancel(place, ErrorCode::CANCEL, out);
    }
}

fn answered(place: u32, status: u16) -> Happening {
    Happening::Answered {
        place,
        outcome: Outcome::Status(status),
    }
}

fn reset(place: u32, unprocessed: bool) -> Happening {
    if unprocessed {
        Happening::Refused { place }
    } else {
        Happening::Failed {
            place,
            kind: ErrorKind::StreamReset,
        }
    }
}

/// How the plan sets its connections up.
fn config(http2: &Http2) -> Config {
    Config {
        streams: http2.streams,
        stream_window: http2.stream_window_bytes,
        connection_window: http2.connection_window_bytes,
        header_table_bytes: http2.header_table_bytes,
        limits: Limits::default(),
    }
}

//! HTTP/2 on one connection: requests side by side (RFC 9113).

use proto::Violation;
use proto::http2::ErrorCode;
use proto::http2::client::{Client, Config, Event, Limits as Bounds};

use super::{After, Hear, Told};
use crate::answer::{Fields, Head};
use crate::config::Limits;
use crate::encode;
use crate::request::{Body, Request};

/// See the module.
#[derive(Debug)]
pub(crate) struct Http2 {
    machine: Client,
    /// The exchange at each place of the machine.
    places: Vec<Option<u32>>,
    /// Places that are free, the one that was left last at the end.
    free: Vec<u32>,
    block: Vec<u8>,
    /// Streams that may still be opened: their numbers run out (RFC 9113 §5.1.1).
    numbers: u32,
    leaving: bool,
}

/// How many streams a client can open on a connection.
const NUMBERS: u32 = 1 << 30;

/// Bytes of all bodies together that a server may send before it gets credit.
const CONNECTION_WINDOW_BYTES: u32 = 16 << 20;

impl Http2 {
    pub(super) fn new(limits: &Limits, out: &mut Vec<u8>) -> Http2 {
        let config = Config {
            streams: limits.streams,
            stream_window: limits.stream_window_bytes,
            connection_window: CONNECTION_WINDOW_BYTES,
            limits: Bounds {
                header_list_bytes: limits.head_bytes,
                ..Bounds::default()
            },
            ..Config::default()
        };
        Http2 {
            machine: Client::new(config, out),
            places: Vec::new(),
            free: Vec::new(),
            block: Vec::new(),
            numbers: NUMBERS,
            leaving: false,
        }
    }

    pub(super) fn is_ready(&self) -> bool {
        self.machine.ready()
    }

    pub(super) fn room(&self) -> u32 {
        match self.leaving {
            true => 0,
            false => self.machine.capacity(),
        }
    }

    pub(super) fn is_leaving(&self) -> bool {
        self.leaving || self.numbers == 0
    }

    pub(super) fn outstanding(&self) -> u32 {
        (self.places.len() - self.free.len()) as u32
    }

    pub(super) fn exchanges(&self) -> impl Iterator<Item = u32> {
        self.places.iter().flatten().copied()
    }

    pub(super) fn begin(&mut self, at: u32, request: &Request, out: &mut Vec<u8>) -> u32 {
        let place = self.free.pop().unwrap_or_else(|| {
            self.places.push(None);
            self.places.len() as u32 - 1
        });
        self.places[place as usize] = Some(at);
        self.numbers -= 1;
        self.block.clear();
        encode::http2(request, &mut self.block);
        let is_head = request.method() == b"HEAD";
        let begun = match request.body() {
            Body::Stream(_) => self.machine.begin_block(&self.block, is_head, place, out),
            Body::Whole(bytes) => {
                (self.machine).request_block(&self.block, bytes, is_head, place, out)
            }
            Body::Empty => (self.machine).request_block(&self.block, &[], is_head, place, out),
        };
        debug_assert!(begun.is_ok(), "there was room: {begun:?}");
        place
    }

    pub(super) fn data(&mut self, place: u32, bytes: &[u8], end: bool, out: &mut Vec<u8>) -> usize {
        self.machine.data(place, bytes, end, out)
    }

    pub(super) fn receive(
        &mut self,
        mut bytes: &[u8],
        out: &mut Vec<u8>,
        hear: Hear<'_>,
    ) -> Result<After, Violation> {
        while let Some(event) = self.machine.next(&mut bytes, out)? {
            let (place, told, end) = match event {
                Event::Head {
                    place,
                    status,
                    fields,
                    end,
                } => (place, Told::Head(Head::of_http2(status, fields)), end),
                Event::Data { place, bytes, end } => (place, Told::Data(bytes), end),
                Event::Trailers { place, fields } => {
                    (place, Told::Trailers(Fields::of_http2(fields)), true)
                }
                Event::Reset {
                    place,
                    code,
                    unprocessed,
                    violation,
                } => {
                    let told = Told::Reset {
                        code: code.0,
                        unprocessed,
                        violation: violation.copied(),
                    };
                    if let Some(at) = vacate(&mut self.places, &mut self.free, place) {
                        hear(at, told);
                    }
                    continue;
                }
                Event::GoAway { .. } => {
                    self.leaving = true;
                    continue;
                }
                Event::Ready | Event::Pong { .. } | Event::Informational { .. } => continue,
            };
            let Some(at) = self.places.get(place as usize).copied().flatten() else {
                continue;
            };
            let wanted = matches!(told, Told::Data([])) || hear(at, told);
            if end {
                vacate(&mut self.places, &mut self.free, place);
                if wanted {
                    hear(at, Told::End);
                }
            } else if !wanted {
                self.cancel(place, out);
            }
        }
        match self.leaving && self.outstanding() == 0 {
            true => Ok(After::Over),
            false => Ok(After::Open),
        }
    }

    pub(super) fn cancel(&mut self, place: u32, out: &mut Vec<u8>) -> After {
        if vacate(&mut self.places, &mut self.free, place).is_some() {
            self.machine.cancel(place, ErrorCode::CANCEL, out);
        }
        match self.leaving && self.outstanding() == 0 {
            true => After::Over,
            false => After::Open,
        }
    }

    pub(super) fn pause(&mut self, place: u32, paused: bool, out: &mut Vec<u8>) {
        match paused {
            true => self.machine.pause(place),
            false => self.machine.resume(place, out),
        }
    }

    pub(super) fn leave(&mut self, out: &mut Vec<u8>) {
        if !self.leaving {
            self.machine.close(ErrorCode::NO_ERROR, out);
        }
        self.leaving = true;
    }

    pub(super) fn held_bytes(&self) -> usize {
        self.machine.memory_bytes() + self.machine.unsent_bytes() + self.block.capacity()
    }
}

/// Frees a place; says whose it was.
fn vacate(places: &mut [Option<u32>], free: &mut Vec<u32>, place: u32) -> Option<u32> {
    let at = places.get_mut(place as usize)?.take()?;
    free.push(place);
    Some(at)
}

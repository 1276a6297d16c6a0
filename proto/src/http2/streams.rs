//! The streams of a connection that are open.
//!
//! Each lies at a *place*. A client chooses the places, a server takes the one that was left last.
//! From its number a stream is found by open addressing: numbers grow by two, so those opened one
//! after the other do not collide, and a stream that stays for long is passed by probing.

use super::faults::{self, Fault};
use super::flow::Window;
use super::message::{Kind, Meaning};

/// An open stream.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stream {
    /// Its number; 0 for a place that is free.
    pub(super) id: u32,
    pub(super) send: Window,
    pub(super) receive: Window,
    /// Bytes of the peer's body to come as its content-length says, or [`LENGTH_UNKNOWN`].
    pub(super) body_left: u64,
    /// The peer's head was read.
    pub(super) head_in: bool,
    /// The peer's message is complete.
    pub(super) ended_in: bool,
    /// Our head was written.
    pub(super) head_out: bool,
    /// Our message is complete.
    pub(super) ended_out: bool,
    /// The request is HEAD: the response has no body.
    pub(super) head_request: bool,
    /// Less was sent than there was to send.
    pub(super) blocked: bool,
    /// No credit is given to the peer.
    pub(super) paused: bool,
}

/// The length of a body that says none.
pub(super) const LENGTH_UNKNOWN: u64 = u64::MAX;

impl Stream {
    pub(super) fn new(id: u32, send_bytes: u32, receive: Window) -> Stream {
        Stream {
            id,
            send: Window::new(send_bytes),
            receive,
            body_left: LENGTH_UNKNOWN,
            head_in: false,
            ended_in: false,
            head_out: false,
            ended_out: false,
            head_request: false,
            blocked: false,
            paused: false,
        }
    }

    /// Takes a list of fields of the peer: what it says of the body, and whether it may stand here.
    ///
    /// # Errors
    /// The message is malformed.
    pub(super) fn take_list(
        &mut self,
        kind: Kind,
        meaning: Meaning,
        end: bool,
    ) -> Result<(), Fault> {
        match kind {
            Kind::Trailers if !end => return Err(faults::TRAILERS_END),
            Kind::Trailers => {}
            Kind::Response if meaning.status < 200 && end => return Err(faults::INTERIM_END),
            Kind::Response if meaning.status < 200 => return Ok(()),
            Kind::Response => {
                self.head_in = true;
                // RFC 9110 §6.4.1: these have no body, whatever their content-length says.
                let bodyless = self.head_request || matches!(meaning.status, 204 | 304);
                self.body_left = match bodyless {
                    true => 0,
                    false => meaning.content_length.unwrap_or(LENGTH_UNKNOWN),
                };
            }
            Kind::Request => {
                self.head_in = true;
                self.head_request = meaning.head_request;
                self.body_left = meaning.content_length.unwrap_or(LENGTH_UNKNOWN);
            }
        }
        if end && !self.take_body(0, true) {
            return Err(faults::BODY_LENGTH);
        }
        Ok(())
    }

    /// Whether `bytes` more of a body fit what was said of it, and nothing is missing at its `end`.
    #[inline]
    pub(super) fn take_body(&mut self, bytes: u32, end: bool) -> bool {
        if self.body_left == LENGTH_UNKNOWN {
            return true;
        }
        let Some(left) = self.body_left.checked_sub(u64::from(bytes)) else {
            return false;
        };
        self.body_left = left;
        !end || left == 0
    }
}

/// All open streams. Empty it holds no memory, and it grows to as many as are open at a time.
#[derive(Debug, Default)]
pub(super) struct Streams {
    places: Vec<Stream>,
    /// A power of two, at least twice the places: a place plus one, or 0.
    index: Vec<u32>,
    open: u32,
    /// Places that were left, for [`Streams::add`].
    left: Vec<u32>,
}

impl Streams {
    /// How many are open.
    #[inline]
    pub(super) fn open(&self) -> u32 {
        self.open
    }

    /// The place of the stream with this number.
    #[inline]
    pub(super) fn find(&self, id: u32) -> Option<u32> {
        let mask = self.index.len().checked_sub(1)?;
        let mut at = home(id, mask);
        loop {
            let place = self.index[at].checked_sub(1)?;
            if self.places[place as usize].id == id {
                return Some(place);
            }
            at = (at + 1) & mask;
        }
    }

    /// The stream at a place, if there is one.
    #[inline]
    pub(super) fn at(&mut self, place: u32) -> Option<&mut Stream> {
        self.places
            .get_mut(place as usize)
            .filter(|stream| stream.id != 0)
    }

    /// All places are below this one.
    pub(super) fn places(&self) -> u32 {
        self.places.len() as u32
    }

    /// All open streams.
    pub(super) fn iter(&mut self) -> impl Iterator<Item = &mut Stream> {
        self.places.iter_mut().filter(|stream| stream.id != 0)
    }

    /// Puts a stream at a place that is free.
    pub(super) fn put(&mut self, place: u32, stream: Stream) {
        let places = (place as usize + 1).max(self.places.len());
        if places > self.places.len() {
            self.grow(places);
        }
        debug_assert!(
            stream.id != 0 && self.places[place as usize].id == 0,
            "stream {} is put in the place of stream {}",
            stream.id,
            self.places[place as usize].id
        );
        debug_assert!(
            self.find(stream.id).is_none(),
            "stream {} is opened twice",
            stream.id
        );
        self.places[place as usize] = stream;
        self.open += 1;
        self.enter(place);
        debug_assert!(
            self.index.len() >= 2 * self.places.len(),
            "a search in the index might never meet a hole"
        );
    }

    /// Puts a stream at any free place, which [`Streams::remove_added`] frees.
    pub(super) fn add(&mut self, stream: Stream) -> u32 {
        let place = self.left.pop().unwrap_or(self.places.len() as u32);
        self.put(place, stream);
        debug_assert_eq!(
            self.open as usize + self.left.len(),
            self.places.len(),
            "every place has a stream or is among those that were left"
        );
        place
    }

    /// Frees the place of a stream that was added.
    pub(super) fn remove_added(&mut self, place: u32) {
        self.left.push(place);
        self.remove(place);
    }

    /// Frees the place of an open stream.
    pub(super) fn remove(&mut self, place: u32) {
        debug_assert!(
            self.places[place as usize].id != 0 && self.open > 0,
            "the stream at place {place} is removed twice"
        );
        let mask = self.index.len() - 1;
        let mut hole = home(self.places[place as usize].id, mask);
        while self.index[hole] != place + 1 {
            hole = (hole + 1) & mask;
        }
        // Those behind move up unless their home is behind the hole: no search meets a hole early.
        let mut at = hole;
        loop {
            at = (at + 1) & mask;
            let Some(other) = self.index[at].checked_sub(1) else {
                break;
            };
            let from_home = at.wrapping_sub(home(self.places[other as usize].id, mask)) & mask;
            if from_home >= at.wrapping_sub(hole) & mask {
                self.index[hole] = self.index[at];
                hole = at;
            }
        }
        self.index[hole] = 0;
        let id = std::mem::take(&mut self.places[place as usize].id);
        self.open -= 1;
        debug_assert!(
            self.find(id).is_none(),
            "stream {id} is found after its end"
        );
    }

    pub(super) fn memory_bytes(&self) -> usize {
        self.places.capacity() * size_of::<Stream>()
            + (self.index.capacity() + self.left.capacity()) * size_of::<u32>()
    }

    #[cold]
    fn grow(&mut self, places: usize) {
        let free = Stream::new(0, 0, Window::new(0));
        self.places.resize(places, free);
        let slots = (2 * self.places.len()).next_power_of_two();
        if slots > self.index.len() {
            self.index.clear();
            self.index.resize(slots, 0);
            for place in 0..self.places.len() as u32 {
                if self.places[place as usize].id != 0 {
                    self.enter(place);
                }
            }
        }
    }

    #[inline]
    fn enter(&mut self, place: u32) {
        let mask = self.index.len() - 1;
        let mut at = home(self.places[place as usize].id, mask);
        while self.index[at] != 0 {
            at = (at + 1) & mask;
        }
        self.index[at] = place + 1;
    }
}

/// Where a stream is looked for first. Numbers that are opened are odd, so between neighbours there
/// is a free slot, and searches and removals end at once.
#[inline]
fn home(id: u32, mask: usize) -> usize {
    id as usize & mask
}

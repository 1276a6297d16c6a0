//! What a worker process is given, and what it says to its master.

use std::sync::Arc;
use std::thread;

use ringside_server::{Listening, LiveCounts, Signal, Stop};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::channel::{Channel, Counts, Heard, Message};

/// How often a worker says what it has counted, if that has changed.
const COUNTS_EVERY: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 250_000_000,
};

/// A worker process.
#[derive(Debug)]
pub struct Worker {
    place: usize,
    listening: Listening,
    channel: Arc<Channel>,
}

impl Worker {
    pub(crate) fn new(place: usize, listening: Listening, channel: Channel) -> Worker {
        Worker {
            place,
            listening,
            channel: Arc::new(channel),
        }
    }

    /// Which of the workers it is, from 0. One that takes the place of another has its number.
    pub fn place(&self) -> usize {
        self.place
    }

    /// What it is to serve on: for [`Config::listening`](ringside_server::Config::listening).
    pub fn listening(&self) -> Vec<Listening> {
        vec![self.listening.clone()]
    }

    /// Tells the master that this worker serves. From now on the master has `stop` say when it's
    /// to end, and is told what `live` has counted, for its `/metrics`. To be called when the
    /// server has started, which `stop` ends and `live` counts.
    pub fn serves(&self, stop: &Stop, live: LiveCounts) {
        self.channel.say(Message::Ready);
        let (channel, stop) = (Arc::clone(&self.channel), stop.clone());
        let thread = thread::Builder::new().name("master".into());
        if thread
            .spawn(move || listen(&channel, &stop, &live))
            .is_err()
        {
            // Without one it would never hear that it's to end.
            self.leave();
        }
    }

    /// Tells the master that this worker can't go on, before it ends.
    fn leave(&self) {
        eprintln!("can't start a thread: this worker ends");
        std::process::exit(1);
    }
}

/// Does what the master says, until it's gone.
fn listen(channel: &Channel, stop: &Stop, live: &LiveCounts) {
    let mut told = Counts::default();
    loop {
        match channel.hear() {
            Heard::Said(Message::Retire) => stop.retire(),
            Heard::Said(Message::Stop) => stop.request(Signal::Terminate),
            Heard::Said(_) => {}
            Heard::Over => {
                // Nobody replaces this worker any more, and nobody would end it.
                stop.retire();
                return;
            }
            Heard::Nothing => {
                let counts = counts(live);
                if counts != told {
                    channel.say(Message::Counts(counts));
                    told = counts;
                }
                let mut ears = [PollFd::new(channel, PollFlags::IN)];
                let _ = poll(&mut ears, Some(&COUNTS_EVERY));
            }
        }
    }
}

fn counts(live: &LiveCounts) -> Counts {
    let now = live.read();
    Counts {
        requests: now.counts.requests,
        accepted: now.counts.connections,
        open: now.connections,
        panics: now.counts.panics,
    }
}

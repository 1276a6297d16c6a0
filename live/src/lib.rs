//! Whoever watches a run while it goes on: a stream of lines, a place to scrape metrics from, a
//! page in a browser, a screen in the terminal.
//!
//! They read [`Interval`]s, of a run or of a hold, and know no worker, no plan and no record.
//! [`Hub::give`] is called by the thread that tends the load and waits for nobody: each reader has
//! a mailbox of a few intervals, and where it's full the newest are joined, so that a reader who is
//! late gets longer intervals and misses nothing. A reader who is gone, hangs or can't write costs
//! the run nothing; what it didn't take is said at the end.
#![forbid(unsafe_code)]

mod history;
mod lines;
mod mailbox;
mod metrics;
mod own;
pub mod page;
pub mod terminal;

use std::sync::Arc;

use measure::interval::{Additive, Interval};
use measure::tally::Counted;

pub use history::{Course, Events, History, POINTS_MAX, Point, Summary, Turnover};
pub use lines::Lines;
pub use mailbox::Reader;
pub use metrics::{Labels, Metrics};

use mailbox::Mailbox;

/// Gives each interval to all readers.
#[derive(Debug)]
pub struct Hub<C = Counted> {
    boxes: Vec<Arc<Mailbox<C>>>,
}

impl<C> Default for Hub<C> {
    fn default() -> Hub<C> {
        Hub { boxes: Vec::new() }
    }
}

impl<C: Additive> Hub<C> {
    /// Nobody reads yet.
    pub fn new() -> Hub<C> {
        Hub::default()
    }

    /// One more reader. It gets what is given from now on.
    pub fn reader(&mut self) -> Reader<C> {
        let mailbox = Arc::new(Mailbox::default());
        self.boxes.push(Arc::clone(&mailbox));
        Reader::new(mailbox)
    }

    /// Whether anybody reads.
    pub fn has_readers(&self) -> bool {
        !self.boxes.is_empty()
    }

    /// Gives an interval to all readers, without waiting for any of them.
    pub fn give(&self, interval: Interval<C>) {
        let interval = Arc::new(interval);
        for mailbox in &self.boxes {
            mailbox.put(&interval);
        }
    }

    /// Nothing more will come.
    pub fn close(&self) {
        self.boxes.iter().for_each(|mailbox| mailbox.close());
    }
}

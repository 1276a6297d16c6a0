//! Who a user is: from memory, else from Redis, else from a database (MySQL, MariaDB).
//!
//! The threads that ask never wait. [`Users::find`] looks into memory, which all of them share;
//! what isn't there is asked for with [`Users::ask`], and a thread of its own, which has the
//! connections, calls back. Who asks for the same user meanwhile waits for the same answer.
//!
//! What stores say is believed for a while, and no longer than [`Memory`] says. Whoever takes a
//! user's rights away says so in a stream of Redis, and is heard within a second; see
//! [`settings::Redis::revocations`]. Stores that fail are left alone for a while
//! ([`admission::breaker`]), and what memory still has is the answer then.
#![forbid(unsafe_code)]

mod causes;
pub mod counts;
mod database;
mod finder;
mod guard;
mod memory;
mod record;
mod redis_store;
mod revocations;
pub mod settings;
mod shares;

use std::io;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use measure::time::Time;
use tokio::runtime::{Builder, Handle};
use tokio::sync::mpsc::{self, Sender};

pub use counts::Counts;
pub use record::Record;
pub use settings::{Memory, Settings};
pub use shares::Share;

use finder::{Finder, Question};
use shares::{Portion, Shares};

/// A longer name is nobody's: 1,024 bytes.
pub const KEY_BYTES_MAX: usize = 1024;

/// So many questions may wait for the thread that asks the stores.
const QUESTIONS_MAX: usize = 8192;

/// So many portions of buckets may: they're no hindrance to who looks a user up.
const PORTIONS_MAX: usize = 1024;

/// What memory knows of a user.
#[derive(Clone, Debug, PartialEq)]
pub enum Lookup {
    /// This one.
    Known(Arc<Record>),
    /// There is no such user.
    Nobody,
    /// Nothing: the stores have to be asked.
    Unknown,
}

/// What the stores say of a user.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// This one.
    Known(Arc<Record>),
    /// There is no such user.
    Nobody,
    /// The stores can't be asked now, and memory has nothing.
    Unavailable,
}

/// Where an answer goes. It's called on the thread that asks the stores, so it's brief.
pub type Tell = Box<dyn FnOnce(Answer) + Send>;

/// Finds users. It's shared by all threads; the thread that asks the stores ends with the last one.
#[derive(Debug)]
pub struct Users {
    finder: Arc<Finder>,
    shares: Shares,
    questions: Sender<Question>,
    portions: Sender<Portion>,
    runtime: Handle,
}

impl Users {
    /// Begins. Nothing is connected yet, and stores that aren't there are no error: they may come.
    ///
    /// # Errors
    /// The thread can't be started.
    pub fn start(settings: Settings) -> io::Result<Users> {
        Users::counting(settings, Arc::default())
    }

    /// Begins another in this one's place, with other settings and nothing that is remembered. What
    /// is counted goes on: as long as both are asked, they count together.
    ///
    /// # Errors
    /// The thread can't be started.
    pub fn followed_by(&self, settings: Settings) -> io::Result<Users> {
        Users::counting(settings, Arc::clone(&self.finder.counts))
    }

    fn counting(settings: Settings, counts: Arc<Counts>) -> io::Result<Users> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let finder = Arc::new(Finder::new(settings, counts));
        let (questions, waiting) = mpsc::channel(QUESTIONS_MAX);
        let (portions, wished) = mpsc::channel(PORTIONS_MAX);
        let of_thread = Arc::clone(&finder);
        let handle = runtime.handle().clone();
        let thread = thread::Builder::new().name("users".into());
        thread.spawn(move || {
            runtime.block_on(async {
                tokio::spawn(Arc::clone(&of_thread).stay_connected());
                tokio::spawn(revocations::listen(Arc::clone(&of_thread)));
                tokio::spawn(Arc::clone(&of_thread).fetch_portions(wished));
                of_thread.run(waiting).await;
            });
        })?;
        Ok(Users {
            shares: Shares::default(),
            finder,
            questions,
            portions,
            runtime: handle,
        })
    }

    /// What it was told.
    pub fn settings(&self) -> &Settings {
        &self.finder.settings
    }

    /// What it has counted.
    pub fn counts(&self) -> counts::Snapshot {
        counts::Snapshot {
            tasks: self.runtime.metrics().num_alive_tasks() as u64,
            ..self.finder.snapshot(Time::now())
        }
    }

    /// Waits until the first connection to Redis stands or couldn't be made, but no longer than
    /// this. Before that nobody can be looked up there.
    pub fn wait_for_stores(&self, patience: Duration) {
        if let Some(redis) = &self.finder.redis {
            redis.wait(patience);
        }
    }

    /// Why stores fail, a line for each cause that's new since this was last asked. It's in their
    /// own words, without control characters and without whom they were asked about.
    pub fn new_causes(&self) -> Vec<String> {
        self.finder.causes.unsaid()
    }

    /// Looks into memory.
    #[inline]
    pub fn find(&self, key: &str, now: Time) -> Lookup {
        let found = self.finder.memory.find(key, now);
        if found != Lookup::Unknown {
            self.finder.counts.memory.add();
        }
        found
    }

    /// Asks the stores, and calls `tell` with what comes of it; or says it at once, where that is
    /// known, and calls nobody.
    pub fn ask(&self, key: &str, now: Time, tell: Tell) -> Option<Answer> {
        let finder = &self.finder;
        if key.is_empty() || key.len() > KEY_BYTES_MAX || !finder.settings.may_exist(key) {
            return Some(Answer::Nobody);
        }
        if finder.is_hopeless(now) {
            return Some(finder.without_stores(key, now));
        }
        let question = Question {
            key: key.into(),
            tell,
        };
        match self.questions.try_send(question) {
            Ok(()) => None,
            Err(_) => Some(finder.without_stores(key, now)),
        }
    }

    /// Takes one from a bucket that all share who use the same Redis: `per_second` flow into it,
    /// and it holds `burst`. Its name begins with `limit:`, which no user's does, and in
    /// Redis it's behind their prefix. It's never waited for: portions are fetched ahead.
    pub fn take(&self, bucket: &str, per_second: f64, burst: u32, now: Time) -> Share {
        let Some(wish) = self.shares.take(bucket, per_second, burst, now) else {
            return Share::Own;
        };
        let (share, wanted) = wish;
        if let Some(portion) = wanted
            && let Err(unsent) = self.portions.try_send(portion)
        {
            unsent.into_inner().gave(None, now);
        }
        share
    }
}

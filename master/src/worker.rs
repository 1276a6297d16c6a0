//! What a worker process is given, and what it says to its master.

use std::fmt;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use exposition::Family;
use measure::time::Time;
use ringside_server::{EngineChoice, Listening, LiveCounts, Signal, Stop};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::channel::{Channel, Counts, Heard, Message};
use crate::figures::{Wanted, handed_over};
use crate::shared::Shared;

/// How often a worker says what it has counted, if that has changed.
const COUNTS_EVERY: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 250_000_000,
};

/// How often it says that it isn't stuck.
const ALIVE_EVERY: Duration = Duration::from_secs(1);

/// How often it writes what it counts beside the server.
const FIGURES_EVERY: Duration = Duration::from_secs(1);

/// A worker process.
#[derive(Debug)]
pub struct Worker {
    place: usize,
    listening: Listening,
    channel: Arc<Channel>,
    /// Where it writes what it counts; the memory of a master that wants that.
    figures: Arc<Mutex<Option<Shared>>>,
    input: Option<Shared>,
    takes_over: bool,
    engine: Option<EngineChoice>,
}

impl Worker {
    pub(crate) fn new(
        place: usize,
        listening: Listening,
        channel: Channel,
        (figures, input): (Option<Shared>, Option<Shared>),
        (takes_over, engine): (bool, Option<EngineChoice>),
    ) -> Worker {
        Worker {
            place,
            listening,
            channel: Arc::new(channel),
            figures: Arc::new(Mutex::new(figures)),
            input,
            takes_over,
            engine,
        }
    }

    /// What is to drive its sockets, if the master says so
    /// ([`Settings::engine`](crate::Settings::engine)).
    pub fn engine(&self) -> Option<EngineChoice> {
        self.engine
    }

    /// Whether others serve, who go on if this worker ends before it does: it's one of a reload, or
    /// of a master that takes over from another.
    pub fn takes_over(&self) -> bool {
        self.takes_over
    }

    /// Which of the workers it is, from 0. One that takes the place of another has its number.
    pub fn place(&self) -> usize {
        self.place
    }

    /// What it is to serve on: for [`Config::listening`](ringside_server::Config::listening).
    pub fn listening(&self) -> Vec<Listening> {
        vec![self.listening.clone()]
    }

    /// The copy of [`Settings::input`](crate::Settings::input) that this worker is to use.
    ///
    /// # Errors
    /// It was given none.
    pub fn input(&self) -> io::Result<Vec<u8>> {
        let text = self.input.as_ref().and_then(Shared::read);
        text.ok_or_else(|| io::Error::other("the master has given this worker no copy of it"))
    }

    /// Tells the master that this worker serves. From now on the master has `stop` say when it's
    /// to end, and is told what `live` has counted, for its `/metrics`. To be called when the
    /// server has started, which `stop` ends and `live` counts.
    pub fn serves(&self, stop: &Stop, live: LiveCounts) {
        let _ = self.serves_and_counts(stop, live, None);
    }

    /// The same for a worker that counts more: `figures` says all of it, each second and at the
    /// end, from threads of its own, and is told how anybody has wanted it so far. The master adds
    /// up what its workers say, by names and labels; of those that are gone, gauges don't count.
    pub fn serves_with(
        &self,
        stop: &Stop,
        live: LiveCounts,
        figures: impl Fn(Wanted) -> Vec<Family> + Send + Sync + 'static,
    ) -> Telling {
        self.serves_and_counts(stop, live, Some(Box::new(figures)))
    }

    fn serves_and_counts(
        &self,
        stop: &Stop,
        live: LiveCounts,
        figures: Option<Figures>,
    ) -> Telling {
        self.channel.say(Message::Ready);
        self.channel.say(Message::Alive);
        let telling = Telling(Arc::new(Told {
            channel: Arc::clone(&self.channel),
            live,
            memory: Arc::clone(&self.figures),
            figures,
            wanted: Mutex::default(),
        }));
        let (told, stop) = (Arc::clone(&telling.0), stop.clone());
        let thread = thread::Builder::new().name("master".into());
        if thread.spawn(move || told.listen(&stop)).is_err() {
            // Without one it would never hear that it's to end.
            self.leave();
        }
        telling
    }

    /// Ends this worker, which can't go on: the master sees that, and starts another.
    fn leave(&self) {
        eprintln!("can't start a thread: this worker ends");
        std::process::exit(1);
    }
}

type Figures = Box<dyn Fn(Wanted) -> Vec<Family> + Send + Sync>;

/// What a worker that serves tells its master.
#[derive(Debug)]
pub struct Telling(Arc<Told>);

impl Telling {
    /// Tells what was counted last. To be called when the server has ended, before the process
    /// does.
    pub fn end(self) {
        let told = &self.0;
        told.channel.say(Message::Counts(counts(&told.live)));
        told.write();
    }
}

struct Told {
    channel: Arc<Channel>,
    live: LiveCounts,
    memory: Arc<Mutex<Option<Shared>>>,
    figures: Option<Figures>,
    wanted: Mutex<Wanted>,
}

impl Told {
    /// Does what the master says, until it's gone.
    fn listen(&self, stop: &Stop) {
        let mut told = Counts::default();
        let (mut write_at, mut alive_at) = (Time(0), Time(0));
        let mut beats = Vec::new();
        loop {
            match self.channel.hear() {
                Heard::Said(Message::Retire) => stop.retire(),
                Heard::Said(Message::Stop) => stop.request(Signal::Terminate),
                Heard::Said(Message::Wanted(wanted)) => {
                    *locked(&self.wanted) = wanted;
                    write_at = Time(0);
                }
                Heard::Said(_) => {}
                Heard::Over => {
                    // Nobody replaces this worker any more, and nobody would end it.
                    stop.retire();
                    return;
                }
                Heard::Nothing => {
                    let counts = counts(&self.live);
                    if counts != told {
                        self.channel.say(Message::Counts(counts));
                        told = counts;
                    }
                    let now = Time::now();
                    if now >= alive_at {
                        // All of its threads have to go on. A server without figures has none.
                        let latest = self.live.beats();
                        let mut both = latest.iter().zip(&beats);
                        if both.all(|(now, before)| now.is_none() || now != before) {
                            self.channel.say(Message::Alive);
                            beats = latest;
                        }
                        alive_at = now + ALIVE_EVERY;
                    }
                    if now >= write_at {
                        self.write();
                        write_at = now + FIGURES_EVERY;
                    }
                    let mut ears = [PollFd::new(&*self.channel, PollFlags::IN)];
                    let _ = poll(&mut ears, Some(&COUNTS_EVERY));
                }
            }
        }
    }

    /// Writes what is counted beside the server.
    fn write(&self) {
        let memory = locked(&self.memory);
        if let (Some(figures), Some(memory)) = (&self.figures, &*memory) {
            let wanted = *locked(&self.wanted);
            // Without memory for it, the master goes on with what it has.
            let _ = memory.write(&handed_over(wanted, figures));
        }
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl fmt::Debug for Told {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Told { live, channel, .. } = self;
        let mut shown = f.debug_struct("Told");
        shown.field("live", live).field("channel", channel);
        shown.finish_non_exhaustive()
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

//! Faults beside a load: each is done at its time in the measured window, and undone at its end or
//! when the load is over, whichever comes first.
//!
//! One thread does that, which sleeps in between. It hears from the load when the window opened,
//! and tells it who has come in somebody's place.

use std::panic::resume_unwind;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

use load::{Phase, Progress, Stop};
use measure::time::Time;
use supervisor::setting::Trouble;
use supervisor::watch::{Joined, Watch};

use crate::cost::Injected;
use crate::intervene::{Burners, Name, Started, Stopped, Whom};
use crate::schedule::{Fault, Kind};

/// So often it's looked who leads a subject that has had a signal.
const LOOK: Duration = Duration::from_millis(250);
/// So long somebody may take to end who was asked to, and is started again after that.
const ENDS: Duration = Duration::from_secs(10);

/// The load's side: says when the window opens, and hears who has come.
#[derive(Debug)]
pub struct Beside {
    /// Dropped when the load is over.
    tell: Sender<Time>,
    opened: bool,
    joined: Receiver<Joined>,
}

impl Beside {
    /// Has `watch` watch who has come, and sees how far a load is whose warm-up is so long.
    pub fn see(&mut self, progress: &Progress, warm_up_s: f64, watch: &mut Watch) {
        // Introducing takes a moment, after which `elapsed_s` is no longer right.
        let now = Time::now();
        self.introduce(watch);
        if progress.phase == Phase::WarmUp || self.opened {
            return;
        }
        self.opened = true;
        let since = Duration::try_from_secs_f64(progress.elapsed_s - warm_up_s);
        let since = since.unwrap_or_default().as_nanos() as u64;
        // Nobody listens any more only if there is nothing to do.
        let _ = self.tell.send(Time(now.0.saturating_sub(since)));
    }

    fn introduce(&self, watch: &mut Watch) {
        let mut came = self.joined.try_iter().peekable();
        if came.peek().is_none() {
            watch.keep_up();
        }
        came.for_each(|joined| watch.follow(joined));
    }
}

/// Carries out `load` with these faults beside it, and has `watch` follow who comes. Returned is
/// what the load returned, and what was done; or what went wrong with it.
pub fn inject<R>(
    faults: &[Fault],
    started: Started<'_>,
    stop: &Stop,
    watch: &mut Watch,
    load: impl FnOnce(&mut Beside, &mut Watch) -> R,
) -> (R, Result<Vec<Injected>, Trouble>) {
    let (tell, told) = channel();
    let (join, joined) = channel();
    let mut beside = Beside {
        tell,
        opened: false,
        joined,
    };
    thread::scope(|scope| {
        let hand = Hand {
            may_be_followed: false,
            started,
            stop,
            told,
            join,
        };
        let hand = scope.spawn(move || hand.all(faults));
        let result = load(&mut beside, watch);
        // Also where the load panics: then the thread hears that nobody is there any more.
        let Beside { tell, joined, .. } = beside;
        drop(tell);
        let injected = hand.join().unwrap_or_else(|panic| resume_unwind(panic));
        joined.try_iter().for_each(|joined| watch.follow(joined));
        (result, injected)
    })
}

/// What is under way, and is undone when it is dropped; but for what was killed.
enum Act {
    Killed,
    Stopped { _until: Stopped },
    Signalled(Name),
    Burning { _until: Burners },
    Broken { mend: Vec<String> },
}

/// Who does it.
struct Hand<'a> {
    /// The subject has had a signal, so that it may leave its place to another.
    may_be_followed: bool,
    started: Started<'a>,
    stop: &'a Stop,
    told: Receiver<Time>,
    join: Sender<Joined>,
}

impl Hand<'_> {
    fn all(mut self, faults: &[Fault]) -> Result<Vec<Injected>, Trouble> {
        let mut injected = Vec::new();
        let Ok(opened) = self.told.recv() else {
            return Ok(injected); // The load ended before its window began.
        };
        for fault in faults {
            injected.push(match self.is_over_by(opened + fault.at) {
                // None that follows is made either.
                true => Injected {
                    missed: true,
                    ..of(fault, Time::now() - opened)
                },
                false => self.inject(fault, opened)?,
            });
        }
        if self.may_be_followed {
            self.is_over_by(Time::NEVER);
        }
        Ok(injected)
    }

    fn inject(&mut self, fault: &Fault, opened: Time) -> Result<Injected, Trouble> {
        let since = || (Time::now() - opened).as_secs_f64();
        let failed = |what: String| {
            let when = fault.words();
            Trouble::Failed(format!("{what} (the fault was {when})"), Vec::new())
        };
        // What fails while it is being done is its doing.
        let mut injected = of(fault, Time::now() - opened);
        let begun: Result<Vec<Act>, String> = fault
            .whom
            .iter()
            .map(|whom| self.begin(fault.kind, whom))
            .collect();
        let acts = begun.map_err(failed)?;
        if fault.length.is_zero() {
            return Ok(injected);
        }
        self.is_over_by(opened + fault.until());
        injected.ended_s = Some(since());
        for (act, whom) in acts.into_iter().zip(&fault.whom) {
            let is_gone = match act {
                Act::Killed => true,
                Act::Signalled(name) => self.has_ended(whom, name),
                Act::Stopped { .. } | Act::Burning { .. } | Act::Broken { .. } => false,
            };
            if let Act::Broken { mend } = &act {
                self.started.tell_proxy(whom, mend).map_err(failed)?;
            }
            drop(act);
            if is_gone {
                if self.stop.requested().is_some() {
                    return Err(Trouble::Stopped);
                }
                let joined = self.started.start_again(whom)?;
                injected.ready_s = Some(since());
                self.introduce(joined);
            }
        }
        Ok(injected)
    }

    fn begin(&mut self, kind: Kind, whom: &Whom) -> Result<Act, String> {
        let started = &mut self.started;
        Ok(match kind {
            Kind::Kill => {
                started.kill(whom)?;
                Act::Killed
            }
            Kind::Stop => Act::Stopped {
                _until: started.stop(whom)?,
            },
            Kind::Signal(name) => {
                started.signal(whom, name)?;
                self.may_be_followed |= *whom == Whom::Subject;
                Act::Signalled(name)
            }
            Kind::Cpu => {
                let join = &self.join;
                let mut joined = |joined| drop(join.send(joined));
                Act::Burning {
                    _until: started.burn(&mut joined)?,
                }
            }
            Kind::Broken(broken) => {
                let (begin, mend) = broken.orders();
                started.tell_proxy(whom, &begin)?;
                Act::Broken { mend }
            }
        })
    }

    /// Whether somebody has ended who had this signal: at once, or, if it was asked to end and is
    /// still at it, within a while.
    fn has_ended(&mut self, whom: &Whom, name: Name) -> bool {
        let deadline = Time::now() + ENDS;
        loop {
            let now = Time::now();
            let is_gone = self.started.has_ended(whom);
            if is_gone || !name.ends() || now >= deadline || self.is_over_by(now + LOOK) {
                return is_gone;
            }
        }
    }

    fn introduce(&self, joined: Joined) {
        // Whoever would hear it waits for this thread's end.
        let _ = self.join.send(joined);
    }

    /// Sleeps until then; whether the load was over before. Meanwhile it sees who has come in the
    /// subject's place.
    fn is_over_by(&mut self, then: Time) -> bool {
        loop {
            let mut left = then - Time::now();
            if self.may_be_followed {
                left = left.min(LOOK);
                if let Some(joined) = self.started.successor() {
                    self.introduce(joined);
                }
            }
            match self.told.recv_timeout(left) {
                Err(RecvTimeoutError::Timeout) if Time::now() >= then => return false,
                Err(RecvTimeoutError::Disconnected) => return true,
                Err(RecvTimeoutError::Timeout) | Ok(_) => {}
            }
        }
    }
}

/// A fault that began so long after the window opened, and isn't undone yet.
fn of(fault: &Fault, began: Duration) -> Injected {
    Injected {
        kind: fault.kind.name().to_owned(),
        what: fault.kind.words(&fault.whom),
        at_s: fault.at.as_secs_f64(),
        for_s: fault.length.as_secs_f64(),
        began_s: began.as_secs_f64(),
        ..Injected::default()
    }
}

//! A part of a soak: one run of the load, read by its intervals on one thread, and what is made of
//! them on another, so that neither a slow disk nor a large process holds up the load.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use lab::store::Store;
use load::plan::Plan;
use load::schedule::Schedule;
use load::{LoadError, Progress, Signal, Stop, Watcher};
use measure::interval::{Interval, Phase};
use measure::record::EndedBy;
use measure::time::{Time, boot_ns, unix_nanoseconds, unix_seconds};
use statistics::format;
use supervisor::running::Running;

use crate::eye::Eye;
use crate::found::{Part, Soak, Verdict};
use crate::journal::Journal;
use crate::judge::{SAMPLES_MIN, counted, look};
use crate::sample::Sample;
use crate::whom::Watched;
use crate::words::{STOPPED, brief, length};
use crate::{Onlooker, RECORD, Told};

/// What all parts of a soak have in common.
pub(crate) struct Course<'a> {
    pub(crate) soak: &'a mut Soak,
    pub(crate) samples: &'a mut Vec<Sample>,
    pub(crate) journal: &'a mut Journal,
    pub(crate) store: &'a mut Store,
    pub(crate) stop: &'a Stop,
    pub(crate) before_exit: fn(),
    /// What a reader of this part must know.
    pub(crate) cautions: Vec<String>,
}

impl Course<'_> {
    /// Loads for so many seconds, and watches; why it ended before, unless somebody asked for it.
    ///
    /// # Errors
    /// Why there is no load, since somebody can't watch who was to.
    pub(crate) fn run(
        self,
        mut plan: Plan,
        watched: Watched<'_>,
        left_s: f64,
        onlooker: &mut dyn Onlooker,
    ) -> Result<Option<String>, String> {
        let asked = &self.soak.asked;
        plan.schedule = Schedule::Constant { rate: asked.rate };
        plan.duration_s = Some(left_s);
        plan.warm_up_s = 0.0;
        plan.count = None;
        let every = asked.sample_s as u64;
        let part = self.soak.parts.len() as u32 + 1;
        onlooker.begins(&asked.subject, part, &plan)?;
        if self.soak.verdict == Verdict::Leak {
            let says = format!("in the parts before: {}", self.soak.says.join(" "));
            onlooker.tell(&Told::Found(&says, &brief(self.soak)));
        }
        self.soak.process = watched.in_words();
        self.soak.parts.push(Part {
            began_unix_s: unix_seconds(),
            cautions: self.cautions.clone(),
            ..Part::default()
        });
        self.store.put_json(RECORD.as_ref(), self.soak);
        let (stop, before_exit) = (self.stop, self.before_exit);
        let (to, intervals) = channel();
        let (said, from) = channel();
        let (ended, sampler) = thread::scope(|scope| {
            let sampler = Sampler {
                eye: watched.pid().map(Eye::on),
                watched,
                course: self,
                said,
                part,
                clock: Clock::new(),
                died: None,
            };
            let sampling = scope.spawn(move || sampler.run(&intervals));
            let mut feeder = Feeder {
                every,
                joined: None,
                to,
                from,
                onlooker: &mut *onlooker,
            };
            let ended = load::run_watched(&plan, stop, &mut feeder, move |record| {
                // A script that doesn't come back: nothing here can end it.
                before_exit();
                eprintln!("ringside: {}", record.warnings.join("; "));
                std::process::exit(1);
            });
            feeder.flush();
            drop(feeder);
            (ended, sampling.join())
        });
        let Ok(sampler) = sampler else {
            let what = "the thread that takes samples broke; please report this";
            return Ok(Some(what.to_owned()));
        };
        Ok(sampler.end(ended.map(|(record, _)| record)))
    }
}

/// Joins intervals to samples, on the thread that looks after the load, and gives each of them to
/// who looks on, too.
struct Feeder<'a> {
    /// How many seconds make a sample.
    every: u64,
    joined: Option<Interval>,
    to: Sender<Interval>,
    from: Receiver<Said>,
    onlooker: &'a mut dyn Onlooker,
}

/// What the other thread has to say.
enum Said {
    Now(String),
    Found(String, String),
    Caution(String),
}

impl Feeder<'_> {
    fn flush(&mut self) {
        if let Some(joined) = self.joined.take() {
            // Nobody is there any more only if that thread broke, which is said at the end.
            let _ = self.to.send(joined);
        }
        self.hear();
    }

    fn hear(&mut self) {
        for said in self.from.try_iter() {
            self.onlooker.tell(&match &said {
                Said::Now(text) => Told::Now(text),
                Said::Found(text, brief) => Told::Found(text, brief),
                Said::Caution(text) => Told::Caution(text),
            });
        }
    }
}

impl Watcher for Feeder<'_> {
    fn progress(&mut self, now: &Progress) {
        self.hear();
        self.onlooker.progress(now);
    }

    fn wants_intervals(&self) -> bool {
        true
    }

    fn interval(&mut self, interval: Interval) {
        if self.onlooker.wants_intervals() {
            self.onlooker.interval(interval.clone());
        }
        if interval.phase != Phase::Measure {
            // What comes after the window is in the run's record.
            return self.flush();
        }
        match &mut self.joined {
            Some(joined) => joined.join(&interval),
            None => self.joined = Some(interval),
        }
        if self
            .joined
            .as_ref()
            .is_some_and(|one| one.joined >= self.every)
        {
            self.flush();
        }
    }
}

/// Where wall-clock time and sleep are read off, whatever somebody does to the clock meanwhile.
struct Clock {
    unix_ns: u128,
    boot_ns: u64,
    began: Time,
    /// How long the machine has slept until the last look.
    asleep_ns: u64,
}

impl Clock {
    fn new() -> Clock {
        Clock {
            unix_ns: unix_nanoseconds(),
            boot_ns: boot_ns(),
            began: Time::now(),
            asleep_ns: 0,
        }
    }

    /// The time in seconds since 1970, and how long the machine was asleep since the last look.
    fn look(&mut self) -> (f64, f64) {
        let passed = boot_ns().saturating_sub(self.boot_ns);
        let asleep = passed.saturating_sub(Time::now().since(self.began));
        let since = asleep.saturating_sub(self.asleep_ns);
        self.asleep_ns = asleep;
        let unix_ns = self.unix_ns + u128::from(passed);
        (unix_ns as f64 / 1e9, since as f64 / 1e9)
    }
}

/// Makes samples, writes them, and takes looks.
struct Sampler<'a> {
    course: Course<'a>,
    eye: Option<Eye>,
    watched: Watched<'a>,
    said: Sender<Said>,
    part: u32,
    clock: Clock,
    /// How the subject ended, if it did.
    died: Option<String>,
}

impl<'a> Sampler<'a> {
    fn run(mut self, intervals: &Receiver<Interval>) -> Sampler<'a> {
        for interval in intervals {
            let mut sample = Sample::of(&interval, self.part);
            (sample.unix_s, sample.asleep_s) = self.clock.look();
            sample.subject = self.eye.as_mut().and_then(Eye::look);
            sample.strain = self.eye.as_mut().map(Eye::strain).unwrap_or_default();
            if let Some(why) = self.course.journal.add(&sample) {
                self.say(Said::Caution(format!(
                    "couldn't write {why}; what is measured is kept in memory, and written as soon \
                     as there is room"
                )));
            }
            self.say(Said::Now(self.now(&sample)));
            let is_gone = self.eye.is_some() && sample.subject.is_none();
            self.course.samples.push(sample);
            self.look();
            if is_gone && self.died.is_none() {
                self.gone();
            }
        }
        self
    }

    fn say(&self, said: Said) {
        // Whoever listens may have ended already.
        let _ = self.said.send(said);
    }

    /// How far it is.
    fn now(&self, sample: &Sample) -> String {
        let asked = &self.course.soak.asked;
        let before: f64 = self.course.samples.iter().map(|one| one.seconds).sum();
        let rate = sample.completed as f64 / sample.seconds.max(1e-9);
        let mut now = format!(
            "{} of {}: {}",
            length(before + sample.seconds),
            length(asked.length_s),
            format::per_second(rate)
        );
        if let Some(p99) = sample.p99_us {
            now += &format!(", p99 {}", format::time_us(p99));
        }
        if let Some(seen) = &sample.subject {
            let memory = format::bytes(seen.memory_bytes() as f64);
            now += &format!(", memory {memory}, {} threads", seen.threads);
            if let Some(descriptors) = seen.descriptors {
                now += &format!(", {descriptors} descriptors");
            }
        }
        now
    }

    /// Takes a look, if there is twice as much to see as at the last one.
    fn look(&mut self) {
        let Course {
            soak,
            samples,
            journal,
            store,
            ..
        } = &mut self.course;
        let due = SAMPLES_MIN.checked_shl(soak.looks.len() as u32);
        let due = due.unwrap_or(usize::MAX);
        if counted(samples, &soak.asked) < due {
            return;
        }
        let at = samples.last().map_or(0.0, |sample| sample.unix_s);
        let before = soak.verdict;
        look(soak, samples, at);
        journal.settle();
        store.put_json(RECORD.as_ref(), soak);
        // That nothing is certain yet is news only where something was.
        let was_known = matches!(before, Verdict::Leak | Verdict::NoLeak);
        let is_news = soak.verdict != Verdict::CannotTell || was_known;
        let is_news = is_news && soak.verdict != before;
        let says: Vec<String> = soak.says.iter().filter(|_| is_news).cloned().collect();
        let (after, brief) = (length(soak.measured_s), brief(soak));
        for says in says {
            self.say(Said::Found(format!("after {after}: {says}"), brief.clone()));
        }
    }

    /// The process that was watched isn't there: looks for the one in its place, or ends the soak.
    fn gone(&mut self) {
        match &mut self.watched {
            Watched::Started(served) => {
                let how = served.ended_in_words();
                let lines = served.last_lines();
                let log: String = lines.iter().map(|line| format!("\n  {line}")).collect();
                if let Some(how) = how {
                    self.died = Some(format!("the subject died: {how}{log}"));
                    self.course.stop.request(Signal::Terminate);
                }
            }
            Watched::Running(running, url, tls) => {
                let next = Running::find(url, None, tls).map(|(next, _)| next).ok();
                if let Some(next) = next.filter(|next| next.pid().is_some()) {
                    self.eye = next.pid().map(Eye::on);
                    **running = next;
                    let known = self.course.soak.process.take();
                    let now = self.watched.in_words();
                    let words = known.into_iter().chain(now).collect::<Vec<_>>();
                    self.course.soak.process = Some(words.join(", then "));
                }
            }
            Watched::Nobody => {}
        }
    }

    /// What the run itself says, once it's over: why it ended before its time, if it did.
    fn end(self, ended: Result<load::Record, LoadError>) -> Option<String> {
        let Sampler {
            course, part, died, ..
        } = self;
        let Course { soak, store, .. } = course;
        let Some(own) = soak.parts.last_mut() else {
            return died;
        };
        let failed = match ended {
            Ok(record) => {
                let name = format!("runs/{part:03}.json");
                store.put_json(name.as_ref(), &record);
                own.record = Some(name);
                own.valid = Some(record.valid);
                own.warnings = record.warnings.clone();
                match record.ended_by {
                    EndedBy::Interrupt | EndedBy::Terminate if died.is_none() => {
                        own.ended = Some(format!("{STOPPED} by a signal"));
                        None
                    }
                    _ => died,
                }
            }
            Err(LoadError::Interrupted(_)) if died.is_none() => {
                own.ended = Some(format!("{STOPPED} before there was any load"));
                None
            }
            Err(error) => died.or_else(|| Some(format!("the load ended: {error}"))),
        };
        if failed.is_some() {
            own.ended.clone_from(&failed);
        }
        failed
    }
}

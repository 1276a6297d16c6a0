//! One server under one load for hours or days: what grows, and what happened meanwhile.
//!
//! [`soak`] starts the subject of a comparison's row, or finds the process behind a URL, and loads
//! it at a constant rate in an open loop. The load is one run, read by its intervals, so that it
//! has no gaps. Every few seconds what was counted and what the process holds becomes a
//! [`sample`], which is written at once ([`journal`]): whatever ends the program, it can be gone on
//! with. What samples allow to say is decided by [`found`] and `judge`, at looks that come when
//! there is twice as much to see as at the one before, so that looking often costs nothing.
//! An [`Onlooker`] hears of all that, and gets the intervals of the load as whoever watches a run.
//!
//! Knows no statistics (`statistics::trend` has them) and prints nothing.
#![forbid(unsafe_code)]

mod course;
mod eye;
pub mod found;
pub mod journal;
mod judge;
pub mod page;
pub mod sample;
mod whom;
pub mod words;

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Duration;

use lab::store::{Store, read_with};
use lab::{Observer, Source};
use load::plan::Plan;
use load::protocol::Tls;
use load::{Redaction, Signal, Stop, Watcher};
use measure::host::Host;
use measure::time::{unix_nanoseconds, unix_seconds};
use scaffold::Refused;

use course::Course;
use found::{Asked, Soak, Verdict};
use journal::Journal;
use judge::SAMPLES_MIN;
use sample::Sample;
use whom::Ground;
use words::length;

/// The file of what was found.
pub const RECORD: &str = "soak.json";
/// The page of it.
pub const PAGE: &str = "soak.html";
/// The smallest growth of memory that counts unless somebody says otherwise, in bytes an hour.
pub const SMALLEST_BYTES: f64 = 1024.0 * 1024.0;

/// The longest soak, as the longest run: a leap year.
const LENGTH_MAX_S: f64 = 366.0 * 86_400.0;
/// A soak has so many samples at most; those of a longer one are longer.
const SAMPLES_MAX: f64 = 26_000.0;
/// How long samples may be, in seconds: whatever ends the program costs the last one at most.
const LENGTHS_S: [f64; 4] = [1.0, 2.0, 5.0, 10.0];
/// The warm-up that is left out is this share of the whole, within these bounds.
const WARM_UP: f64 = 0.1;
const WARM_UP_MIN_S: f64 = 2.0;
const WARM_UP_MAX_S: f64 = 600.0;
/// A 99th percentile of fewer requests is near the longest.
const P99_MIN: f64 = 299.0;

/// Whom to load, how, and for how long.
#[derive(Clone, Debug)]
pub struct Options {
    /// Whom.
    pub whom: Whom,
    /// Requests a second; none: what the file says.
    pub rate: Option<f64>,
    /// How long there shall be load, all parts together.
    pub length: Duration,
    /// How long a process is left out when it has started; none: a tenth of the length, from two
    /// seconds to ten minutes.
    pub warm_up: Option<Duration>,
    /// The smallest growth of memory that counts, in bytes an hour.
    pub smallest_bytes: f64,
    /// The output folder; none is `ringside-out/<UTC date>-<name>-soak`.
    pub out: Option<PathBuf>,
    /// The folder of a soak to go on with.
    pub resume: Option<PathBuf>,
    /// The program that `{ringside}` stands for.
    pub ringside: PathBuf,
    /// What is hidden in all that is written, besides what a file names.
    pub redaction: Redaction,
    /// What is done first where a script that doesn't come back ends the whole program.
    pub before_exit: fn(),
}

/// Whom to load.
#[derive(Clone, Debug)]
pub enum Whom {
    /// The subject of a comparison's row, which is started.
    Row {
        /// The comparison's file.
        file: PathBuf,
        /// Which row; none where it has one.
        name: Option<String>,
    },
    /// A server that runs already.
    Target {
        /// What is asked, and how; its schedule and its length are set here.
        plan: Box<Plan>,
        /// Its URL, for whoever looks for its process.
        url: String,
        /// Its process; none looks for whoever listens there.
        pid: Option<u32>,
        /// How it is secured.
        tls: Box<Tls>,
    },
}

/// What a soak tells while it goes on.
#[derive(Clone, Copy, Debug)]
pub enum Told<'a> {
    /// It begins: where it writes, and what it does.
    Begun(&'a Path, &'a str),
    /// How far it is.
    Now(&'a str),
    /// What was found so far, and the same in a few words, if there are any.
    Found(&'a str, &'a str),
    /// Something that a reader must know at once.
    Caution(&'a str),
}

/// Whoever hears of a soak, and watches its load as that of a run is watched: one run for each
/// part, which goes on when the process that is loaded is another one.
pub trait Onlooker: Watcher {
    /// What the soak has to tell.
    fn tell(&mut self, told: &Told<'_>);

    /// The load of part `part`, from 1, begins next, by `plan`; `subject` is what is loaded,
    /// without secrets. Everything that [`Watcher`] has comes after this.
    ///
    /// # Errors
    /// What keeps somebody from watching who was to, and what to do: there is no load then.
    fn begins(&mut self, subject: &str, part: u32, plan: &Plan) -> Result<(), String>;
}

/// What came of it.
#[derive(Debug)]
pub struct Outcome {
    /// The record.
    pub soak: Soak,
    /// Where everything is, absolute.
    pub folder: PathBuf,
    /// Files that could not be written, with the reasons.
    pub unwritten: Vec<String>,
    /// The signal that ended it before its time.
    pub stopped: Option<Signal>,
    /// Why it ended before its time by itself.
    pub failed: Option<String>,
}

/// Loads and watches until the time is over, somebody asks to stop, or the subject is gone.
///
/// # Errors
/// Before there is any load: what is wrong, and what to do.
pub fn soak(
    options: &Options,
    stop: &Stop,
    observer: &mut dyn Observer,
    onlooker: &mut dyn Onlooker,
) -> Result<Outcome, Refused> {
    let ground = Ground::find(options)?;
    let asked = asked(options, &ground)?;
    let mut begun = Begun::open(options, asked, &ground)?;
    let measured_s = judge::under_load_s(&begun.samples, &begun.soak.asked);
    let left_s = begun.soak.asked.length_s - measured_s;
    let goes_on = left_s >= 1.0;
    if !goes_on {
        // It's as long as it is, whatever somebody asks for now.
        begun.soak.asked.length_s = measured_s;
    }
    begun.soak.cautions = cautions(&begun.soak.asked);
    let of_part = if goes_on {
        ground.cautions()
    } else {
        Vec::new()
    };
    let folder = begun.store.folder().to_owned();
    let in_words = in_words(&begun.soak, goes_on.then_some(left_s));
    onlooker.tell(&Told::Begun(&folder, &in_words));
    for caution in begun.soak.cautions.iter().chain(&of_part) {
        onlooker.tell(&Told::Caution(caution));
    }
    let mut failed = None;
    if goes_on {
        let Begun {
            soak,
            samples,
            store,
            journal,
            ..
        } = &mut begun;
        let loaded = ground.loaded(options, (store, stop, observer), |plan, watched, store| {
            let course = Course {
                soak,
                samples,
                journal,
                store,
                stop,
                before_exit: options.before_exit,
                cautions: of_part,
            };
            course.run(plan, watched, left_s, onlooker)
        })?;
        match loaded {
            Ok(why) => failed = why,
            Err(why) => {
                begun.undo();
                return Err(Refused::Wrong(why));
            }
        }
    }
    Ok(begun.conclude(stop, failed))
}

/// A soak that was begun, now or before.
struct Begun {
    soak: Soak,
    samples: Vec<Sample>,
    store: Store,
    journal: Journal,
    /// Its folder wasn't there before.
    is_new: bool,
}

impl Begun {
    fn open(options: &Options, asked: Asked, ground: &Ground) -> Result<Begun, Refused> {
        let wrong = |what: String| Refused::Wrong(what);
        let cannot = |folder: &Path, error: std::io::Error| {
            let folder = folder.display();
            Refused::Wrong(match error.kind() {
                ErrorKind::WouldBlock => format!(
                    "another ringside soak is writing to {folder}: wait until it has ended, or \
                     choose another folder with -o"
                ),
                _ => format!("can't write to {folder}: {error}"),
            })
        };
        let is_new = options.out.as_ref().is_none_or(|out| !out.exists());
        let (mut store, begun) = match &options.resume {
            Some(folder) => {
                if !folder.join(RECORD).is_file() {
                    return Err(Refused::Wrong(format!(
                        "{} has no soak to go on with: give the directory that ringside soak \
                         wrote to",
                        folder.display()
                    )));
                }
                let store = Store::at(folder).map_err(|error| cannot(folder, error))?;
                (store, None)
            }
            None => {
                let taken = options.out.as_deref();
                if let Some(folder) = taken.filter(|out| out.join(RECORD).exists()) {
                    return Err(Refused::Wrong(format!(
                        "{0} already holds a soak; choose another folder with -o, or go on with \
                         it: --resume {0}",
                        folder.display()
                    )));
                }
                let began = unix_seconds();
                let name = format!("{}-soak", ground.short_name());
                let store = Store::create(taken, &name, began).map_err(wrong)?;
                (store, Some(began))
            }
        };
        store.hide(ground.redaction()).map_err(wrong)?;
        let folder = store.folder().to_owned();
        // Before anything is read, which another one may still be writing.
        let journal = Journal::open(&folder).map_err(|error| cannot(&folder, error))?;
        let asked = Asked {
            load: Some(ground.fingerprint().map_err(wrong)?),
            start: ground.start(),
            ..asked
        };
        let (soak, samples) = match begun {
            Some(began) => (Soak::new(asked, began, Host::read()), Vec::new()),
            None => resumed(&folder, asked).map_err(wrong)?,
        };
        Ok(Begun {
            soak,
            samples,
            store,
            journal,
            is_new: is_new && options.resume.is_none(),
        })
    }

    /// Nothing was measured: a folder that was made for it goes again.
    fn undo(self) {
        if self.is_new {
            // What stays is in nobody's way.
            let _ = std::fs::remove_dir_all(self.store.folder());
        }
    }

    /// Judges all there is, and writes it down.
    fn conclude(mut self, stop: &Stop, failed: Option<String>) -> Outcome {
        let now = unix_nanoseconds() as f64 / 1e9;
        judge::look_anew(&mut self.soak, &self.samples, now);
        self.journal.write();
        self.journal.settle();
        self.store.put_json(RECORD.as_ref(), &self.soak);
        let page = page::page(&self.soak, &self.samples);
        self.store.put(PAGE.as_ref(), page.into_bytes());
        let mut unwritten = self.store.unwritten();
        unwritten.extend(self.journal.trouble().map(str::to_owned));
        let stopped = stop.requested().filter(|_| failed.is_none());
        Outcome {
            soak: self.soak,
            folder: self.store.folder().to_owned(),
            unwritten,
            stopped,
            failed,
        }
    }
}

/// What was found in a folder that a soak wrote, and its samples, which are judged again, to the
/// last one where it was killed.
///
/// # Errors
/// What can't be read there, and why.
pub fn read(source: &Source) -> Result<(Soak, Vec<Sample>), String> {
    let mut soak = read_with(&source.join(RECORD), Soak::from_json)?;
    let samples = journal::read(source)?;
    if let Some(sample) = samples.last() {
        judge::look_anew(&mut soak, &samples, sample.unix_s);
    }
    Ok((soak, samples))
}

/// What was measured in a folder, for whoever goes on there with what is asked for now.
fn resumed(folder: &Path, asked: Asked) -> Result<(Soak, Vec<Sample>), String> {
    let source = Source::of(folder);
    let mut soak = read_with(&source.join(RECORD), Soak::from_json)?;
    let samples = journal::read(&source)?;
    let now = Asked {
        sample_s: soak.asked.sample_s,
        ..asked
    };
    let load = |asked: &Asked| {
        format!(
            "{}, {}, {} over {} connections",
            asked.subject,
            asked.question,
            statistics::format::per_second(asked.rate),
            asked.connections
        )
    };
    let (before, this) = (load(&soak.asked), load(&now));
    if before != this {
        return Err(format!(
            "{} was begun with another load ({before}), and not with {this}: give it the same \
             arguments",
            folder.display()
        ));
    }
    if (soak.asked.load.as_ref()).is_some_and(|load| now.load.as_ref() != Some(load)) {
        return Err(format!(
            "{} was begun with another load: its method, headers, body or another of its options \
             isn't the one that is given now; give it the same arguments",
            folder.display()
        ));
    }
    if soak.asked.start.is_some() && now.start != soak.asked.start {
        return Err(format!(
            "{} was begun with a subject that's started otherwise: its command, its environment or \
             its limits; give it the file as it was, or begin another soak",
            folder.display()
        ));
    }
    if now.length_s < soak.asked.length_s {
        return Err(format!(
            "{} was begun for {}, and what is left out and what counts follow from that: give \
             --for as much or more",
            folder.display(),
            words::length(soak.asked.length_s)
        ));
    }
    soak.asked = now;
    Ok((soak, samples))
}

fn asked(options: &Options, ground: &Ground) -> Result<Asked, Refused> {
    let length_s = options.length.as_secs_f64();
    let sample_s = sample_s(length_s);
    let own = (WARM_UP * length_s).clamp(WARM_UP_MIN_S, WARM_UP_MAX_S);
    let warm_up_s = options.warm_up.map_or(own, |given| given.as_secs_f64());
    let needed = warm_up_s + sample_s * SAMPLES_MIN as f64;
    let shortest = match options.warm_up {
        Some(given) => given.as_secs_f64() + SAMPLES_MIN as f64,
        None => WARM_UP_MIN_S + SAMPLES_MIN as f64,
    };
    if length_s > LENGTH_MAX_S {
        return Err(Refused::Wrong(
            "--for must be at most a year; a soak that's over goes on with --resume".to_owned(),
        ));
    }
    if length_s < needed {
        return Err(Refused::Wrong(format!(
            "--for {} is too short to conclude anything: it takes {} at least, and a leak is found \
             the sooner the larger it is",
            length(length_s),
            length(shortest.ceil())
        )));
    }
    Ok(Asked {
        subject: ground.name(),
        question: ground.question(),
        rate: ground.rate(),
        connections: ground.connections(),
        length_s,
        warm_up_s,
        sample_s,
        smallest_bytes: options.smallest_bytes,
        load: None,
        start: None,
    })
}

/// How long a sample is in a soak of this length.
fn sample_s(length_s: f64) -> f64 {
    let fits = |sample: &&f64| length_s / **sample <= SAMPLES_MAX / 6.0;
    LENGTHS_S.iter().find(fits).copied().unwrap_or(LENGTHS_S[3])
}

fn cautions(asked: &Asked) -> Vec<String> {
    let each = asked.rate * asked.sample_s;
    let few = (each < P99_MIN).then(|| {
        format!(
            "a sample has only {each:.0} requests, so its p99 is near the longest response: don't \
             read much into its drift"
        )
    });
    few.into_iter().collect()
}

/// What it does, if there is still load to come.
fn in_words(soak: &Soak, left_s: Option<f64>) -> String {
    let asked = &soak.asked;
    let Some(left_s) = left_s else {
        return format!(
            "{} was under load for {} already, as long as --for says or longer: what was measured \
             is only judged again",
            asked.subject,
            length(asked.length_s)
        );
    };
    format!(
        "{} at {} for {}; ringside checks for growth after {} of warm-up, and again each time the \
         number of samples has doubled",
        asked.subject,
        statistics::format::per_second(asked.rate),
        length(left_s),
        length(asked.warm_up_s)
    )
}

impl Outcome {
    /// Whether a leak is proven.
    pub fn leaks(&self) -> bool {
        self.soak.verdict == Verdict::Leak
    }

    /// Why it isn't what one would like it to be, if so: why it ended before its time, or the leak.
    pub fn trouble(&self) -> Option<String> {
        let leak = || self.leaks().then(|| self.soak.says.join(" "));
        self.failed.clone().or_else(leak)
    }

    /// What to know about its figures, and what happened meanwhile, in sentences.
    pub fn notes(&self) -> Vec<String> {
        let happened = self.soak.findings.iter().map(|finding| &finding.says);
        let part = self.soak.parts.last();
        let of_part = part.iter().flat_map(|part| &part.cautions);
        let cautions = self.soak.cautions.iter().chain(of_part);
        cautions.chain(happened).cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_soak_that_is_read_is_judged_again_and_gets_no_further_look() {
        let asked = Asked {
            subject: "x".to_owned(),
            question: "GET /".to_owned(),
            rate: 500.0,
            connections: 10,
            length_s: 60.0,
            warm_up_s: 6.0,
            sample_s: 1.0,
            smallest_bytes: 1048576.0,
            load: None,
            start: None,
        };
        let sample = |at: u32| Sample {
            unix_s: 1e9 + f64::from(at),
            seconds: 1.0,
            part: 1,
            offered: 500,
            completed: 500,
            ..Sample::default()
        };
        let samples: Vec<Sample> = (0..60).map(sample).collect();
        let mut soak = Soak::new(asked, 0, Host::default());
        judge::look(&mut soak, &samples, 1e9 + 60.5);
        let (says, looks) = (soak.says.clone(), soak.looks.clone());
        soak.says = vec!["What an older version made of it.".to_owned()];
        let folder = tempfile::tempdir().expect("a directory");
        let put = |name: &str, text: String| {
            std::fs::write(folder.path().join(name), text).expect("writable");
        };
        let json = |sample: &Sample| serde_json::to_string(sample).expect("JSON") + "\n";
        put(RECORD, serde_json::to_string(&soak).expect("JSON"));
        put(journal::SAMPLES, samples.iter().map(json).collect());
        let (read, _) = read(&Source::of(folder.path())).expect("a soak");
        assert_eq!((read.says, read.looks), (says, looks));
    }

    #[test]
    fn samples_of_long_soaks_are_longer_and_never_too_many() {
        for (hours, expected) in [
            (0.01, 1.0),
            (1.0, 1.0),
            (2.0, 2.0),
            (6.0, 5.0),
            (72.0, 10.0),
        ] {
            assert_eq!(sample_s(3600.0 * hours), expected, "{hours} h");
        }
        assert!(72.0 * 3600.0 / sample_s(72.0 * 3600.0) < SAMPLES_MAX);
    }
}

//! Which faults come when, as a comparison's file says it: `[[faults]]`.
//!
//! This file reads and validates them. It does nothing to anybody.

use std::ops::Range;
use std::time::Duration;

use measure::words::nearest;
use serde::de::{Deserialize, Deserializer, Error as _};
use supervisor::document::{self, BadFile, Document};
use supervisor::subject::Subject;
use toml::Spanned;

use crate::intervene::{Name, Whom};

/// The most faults of a window.
const FAULTS_MAX: usize = 64;

/// What is done to somebody while a load goes on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// How long after the beginning of the measured window.
    pub at: Duration,
    /// How long it lasts; zero for what is done at once, and not undone.
    pub length: Duration,
    /// What is done.
    pub kind: Kind,
    /// To whom: several where companions are to fail together.
    pub whom: Vec<Whom>,
    /// Where it stands in the file.
    place: Range<usize>,
}

/// What is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// SIGKILL; at the end it is started again, unless it was a worker, which is its master's.
    Kill,
    /// SIGSTOP, and SIGCONT at the end.
    Stop,
    /// A signal. Who has ended by then is started again at the end, where the fault has one.
    Signal(Name),
    /// Something else computes on the subject's cores.
    Cpu,
    /// Connections are broken, by a proxy through which they have to go.
    Broken(Broken),
}

/// How connections are broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Broken {
    /// What they carry comes later, by this and up to that more.
    Delay(Duration, Duration),
    /// What they carry goes nowhere.
    Drop,
    /// All are reset, and new ones as well.
    Reset,
    /// They carry so many bytes a second in each direction.
    Slow(u64),
}

impl Broken {
    /// What the proxy is told at the beginning and at the end.
    pub fn orders(self) -> (Vec<String>, Vec<String>) {
        let ns = |time: Duration| format!("{}ns", time.as_nanos());
        let clear = || "clear".to_owned();
        let reset_all = || "reset-all".to_owned();
        let refuse = || "set refuse=1".to_owned();
        match self {
            Broken::Delay(delay, jitter) => {
                let set = format!("set delay={} jitter={}", ns(delay), ns(jitter));
                (vec![set], vec![clear()])
            }
            // Bytes are missing in what was open meanwhile, so nothing may pass there again.
            Broken::Drop => (
                vec!["set stall".to_owned()],
                vec![refuse(), reset_all(), clear()],
            ),
            Broken::Reset => (vec![refuse(), reset_all()], vec![clear()]),
            Broken::Slow(bytes) => (vec![format!("set bandwidth={bytes}")], vec![clear()]),
        }
    }

    fn name(self) -> &'static str {
        match self {
            Broken::Delay(..) => "delay",
            Broken::Drop => "drop",
            Broken::Reset => "reset",
            Broken::Slow(_) => "slow",
        }
    }

    fn words(self, whom: &str) -> String {
        match self {
            Broken::Delay(delay, jitter) => {
                let ms = |time: Duration| 1000.0 * time.as_secs_f64();
                let more = match jitter.is_zero() {
                    true => String::new(),
                    false => format!(" to {}", ms(delay + jitter)),
                };
                format!("{}{more} ms of delay each way to {whom}", ms(delay))
            }
            Broken::Drop => format!("nothing passing to {whom} or back"),
            Broken::Reset => format!("connections to {whom} reset"),
            Broken::Slow(bytes) => format!("{bytes} bytes/s each way to {whom}"),
        }
    }
}

impl Kind {
    /// Whether a proxy does it, through which connections have to go then.
    pub fn is_proxied(self) -> bool {
        matches!(self, Kind::Broken(_))
    }

    /// The name in files and reports.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Kill => "kill",
            Kind::Stop => "stop",
            Kind::Signal(_) => "signal",
            Kind::Cpu => "cpu",
            Kind::Broken(broken) => broken.name(),
        }
    }

    /// What is done to `whom`, in words: `SIGKILL to redis`.
    pub fn words(self, whom: &[Whom]) -> String {
        let names: Vec<String> = whom.iter().map(Whom::to_string).collect();
        let whom = names.join(" and ");
        match self {
            Kind::Kill => format!("SIGKILL to {whom}"),
            Kind::Stop => format!("SIGSTOP to {whom}"),
            Kind::Signal(name) => format!("SIG{} to {whom}", name.word()),
            Kind::Cpu => "another process computing on the server's cores".to_owned(),
            Kind::Broken(broken) => broken.words(&whom),
        }
    }
}

impl Fault {
    /// When it is over, counted as `at` is.
    pub fn until(&self) -> Duration {
        self.at + self.length
    }

    /// What is done, to whom, when and for how long.
    pub fn words(&self) -> String {
        let (what, at) = (self.kind.words(&self.whom), self.at.as_secs_f64());
        match self.length.as_secs_f64() {
            0.0 => format!("{what} at {at} s"),
            length => format!("{what} at {at} s, for {length} s"),
        }
    }

    /// Whether it lies within a window of this length; what is wrong if it doesn't.
    pub fn fits(&self, window: Duration) -> Result<(), String> {
        let (until, window_s) = (self.until(), window.as_secs_f64());
        match until <= window && self.at < window {
            true => Ok(()),
            false => Err(format!(
                "the fault lies outside of the measured time: it ends {} s after the window's \
                 beginning, and the window is {window_s} s long",
                until.as_secs_f64()
            )),
        }
    }

    /// Where it stands in the file.
    pub fn place(&self) -> Range<usize> {
        self.place.clone()
    }

    /// Whether the subject has what the fault is done to.
    ///
    /// # Errors
    /// A companion that it doesn't have, with those that it has.
    pub fn check(&self, subject: &Subject, document: &Document) -> Result<(), BadFile> {
        let there: Vec<&str> = subject.companions.iter().map(|one| &*one.name).collect();
        let strange = self.whom.iter().find_map(|whom| match whom {
            Whom::Companion(name) => Some(name).filter(|name| !there.contains(&name.as_str())),
            Whom::Subject | Whom::Worker => None,
        });
        let Some(name) = strange else {
            return Ok(());
        };
        let has = match there.as_slice() {
            [] => "it has none: leave `target` out for the subject itself".to_owned(),
            there => format!("it has {}", quoted(there)),
        };
        let meant = match nearest(name, there) {
            Some(near) => format!("; did you mean `{near}`?"),
            None => String::new(),
        };
        let subject = &subject.name;
        let what = format!("`{name}` isn't a companion of {subject}: {has}{meant}");
        Err(document.fault(Some(self.place.clone()), what))
    }
}

/// Whether one of them breaks connections to `whom`, which have to go through a proxy then.
pub fn is_proxied<'a>(mut faults: impl Iterator<Item = &'a Fault>, whom: &Whom) -> bool {
    faults.any(|fault| fault.kind.is_proxied() && fault.whom.contains(whom))
}

fn quoted(names: &[&str]) -> String {
    let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    names.join(", ")
}

/// A fault as it stands in the file.
#[derive(Clone, Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Written {
    at: Spanned<Length>,
    #[serde(rename = "for")]
    length: Option<Spanned<Length>>,
    kind: Spanned<Word>,
    target: Option<Spanned<Targets>>,
    of: Option<Spanned<Of>>,
    signal: Option<Spanned<Name>>,
    delay: Option<Spanned<Delay>>,
    jitter: Option<Spanned<Delay>>,
    bandwidth: Option<Spanned<String>>,
}

/// A length of time as it stands in the file, which may be zero.
#[derive(Clone, Copy, Debug)]
struct Length(Duration);

impl<'de> Deserialize<'de> for Length {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Length, D::Error> {
        document::duration(from).map(Length)
    }
}

/// By how much bytes come later, as the proxy that does it reads that.
#[derive(Clone, Copy, Debug)]
struct Delay(Duration);

impl<'de> Deserialize<'de> for Delay {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Delay, D::Error> {
        let DelayText::Text(text) = DelayText::deserialize(from)?;
        let time_ns = faultproxy::time(&text).map_err(D::Error::custom)?;
        Ok(Delay(Duration::from_nanos(time_ns)))
    }
}

/// A text, whose absence is said with an example.
#[derive(serde::Deserialize)]
#[serde(untagged, expecting = "expected a time with a unit, such as \"10ms\"")]
enum DelayText {
    Text(String),
}

/// A companion, or several.
#[derive(Clone, Debug, serde::Deserialize)]
#[serde(
    untagged,
    expecting = "expected a companion's name, or a list of names"
)]
enum Targets {
    One(String),
    Several(Vec<String>),
}

impl Targets {
    /// Each of them once, and at least one.
    fn read(&self) -> Result<Vec<Whom>, &'static str> {
        let names = match self {
            Targets::One(name) => std::slice::from_ref(name),
            Targets::Several(names) => names.as_slice(),
        };
        let mut whom = Vec::new();
        for name in names {
            let one = Whom::Companion(name.clone());
            if whom.contains(&one) {
                return Err("names a companion twice");
            }
            whom.push(one);
        }
        match whom.is_empty() {
            true => Err("names no companion: leave `target` out for the subject itself"),
            false => Ok(whom),
        }
    }
}

/// What `kind` may be: what [`Kind`] is called there, and one more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Word {
    Kill,
    Stop,
    Signal,
    Cpu,
    CompanionKill,
    Delay,
    Drop,
    Reset,
    Slow,
}

/// Which part of a subject `of` may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Of {
    Subject,
    Worker,
}

/// Reads the faults of a window of this length, in the order of their times.
///
/// # Errors
/// A fault without what its kind needs, or with what it doesn't take; one that lies outside of the
/// window, or begins before the one before it is over.
pub fn read(
    written: Vec<Written>,
    window: Duration,
    document: &Document,
) -> Result<Vec<Fault>, BadFile> {
    if written.len() > FAULTS_MAX {
        let what = format!(
            "{} faults are too many: use at most {FAULTS_MAX}",
            written.len()
        );
        return Err(document.fault(None, what));
    }
    let faults: Result<Vec<Fault>, BadFile> = written
        .into_iter()
        .map(|fault| fault.read(window, document))
        .collect();
    let mut faults = faults?;
    faults.sort_by_key(|fault| fault.at);
    let mut neighbours = faults.windows(2);
    let overlap = neighbours.find(|pair| pair[1].at < pair[0].until() || pair[1].at == pair[0].at);
    if let Some([first, second]) = overlap {
        let what = format!(
            "begins before the one at {} s is over, at {} s: nobody could tell what came of which",
            first.at.as_secs_f64(),
            first.until().as_secs_f64()
        );
        return Err(document.fault(Some(second.place.clone()), what));
    }
    Ok(faults)
}

impl Written {
    /// Where it stands in the file.
    pub fn place(&self) -> Range<usize> {
        self.kind.span()
    }

    fn read(self, window: Duration, document: &Document) -> Result<Fault, BadFile> {
        let fault = |span: Range<usize>, what: &str| Err(document.fault(Some(span), what));
        let word = *self.kind.get_ref();
        let kind = self.kind(word, document)?;
        let whom = self.whom(word, kind, document)?;
        let length = self.length.as_ref().map(|length| length.get_ref().0);
        // Who is killed as a worker is its master's to start again.
        let undone = match kind {
            Kind::Kill => whom != [Whom::Worker],
            Kind::Signal(_) => whom != [Whom::Worker] && length.is_some(),
            _ => true,
        };
        let length = match (length, undone) {
            (Some(length), true) if length.is_zero() => {
                let place = self.length.map_or(self.kind.span(), |length| length.span());
                return fault(place, "the time is zero; write it like \"2s\"");
            }
            (Some(length), true) => length,
            (None, true) => {
                let what = match kind {
                    Kind::Kill => {
                        "expected `for`, such as `for = \"2s\"`: then it is started again"
                    }
                    _ => "expected `for`, such as `for = \"2s\"`: then it is undone",
                };
                return fault(self.kind.span(), what);
            }
            (None, false) => Duration::ZERO,
            (Some(_), false) => {
                let place = self.length.map_or(self.kind.span(), |length| length.span());
                let what = "a worker is started again by its own master, and not after `for`: \
                            remove it";
                return fault(place, what);
            }
        };
        let fault = Fault {
            at: self.at.get_ref().0,
            length,
            kind,
            whom,
            place: self.target.map_or(self.kind.span(), |target| target.span()),
        };
        let fits = fault.fits(window);
        fits.map_err(|what| document.fault(Some(self.at.span()), what))?;
        Ok(fault)
    }

    fn kind(&self, word: Word, document: &Document) -> Result<Kind, BadFile> {
        let missing = |what: &str| Err(document.fault(Some(self.kind.span()), what));
        let length = |length: &Option<Spanned<Delay>>| length.as_ref().map(|one| one.get_ref().0);
        let kind = match word {
            Word::Kill | Word::CompanionKill => Kind::Kill,
            Word::Stop => Kind::Stop,
            Word::Cpu => Kind::Cpu,
            Word::Drop => Kind::Broken(Broken::Drop),
            Word::Reset => Kind::Broken(Broken::Reset),
            Word::Signal => match &self.signal {
                Some(name) => Kind::Signal(*name.get_ref()),
                None => return missing("expected `signal`, such as `signal = \"HUP\"`"),
            },
            Word::Delay => match (length(&self.delay), length(&self.jitter)) {
                (None, None) => {
                    return missing("expected `delay`, such as `delay = \"10ms\"`");
                }
                (delay, jitter) => Kind::Broken(Broken::Delay(
                    delay.unwrap_or_default(),
                    jitter.unwrap_or_default(),
                )),
            },
            Word::Slow => match &self.bandwidth {
                None => {
                    let what = "expected `bandwidth`, such as `bandwidth = \"10K\"` a second";
                    return missing(what);
                }
                Some(text) => {
                    let bytes = faultproxy::bandwidth(text.get_ref());
                    let fault = |what| document.fault(Some(text.span()), what);
                    Kind::Broken(Broken::Slow(bytes.map_err(fault)?))
                }
            },
        };
        match self.foreign(kind) {
            Some((what, place)) => Err(document.fault(place, what)),
            None => Ok(kind),
        }
    }

    /// A key that is there and isn't for this kind: what to do about it, and where it stands.
    fn foreign(&self, kind: Kind) -> Option<(String, Option<Range<usize>>)> {
        let keys = [
            ("signal", "signal", self.signal.as_ref().map(Spanned::span)),
            ("delay", "delay", self.delay.as_ref().map(Spanned::span)),
            ("jitter", "delay", self.jitter.as_ref().map(Spanned::span)),
            (
                "bandwidth",
                "slow",
                self.bandwidth.as_ref().map(Spanned::span),
            ),
        ];
        let mut there = keys.into_iter().filter(|(.., place)| place.is_some());
        let (key, whose, place) = there.find(|(_, whose, _)| *whose != kind.name())?;
        let what = format!("`{key}` is for `kind = \"{whose}\"`: remove it");
        Some((what, place))
    }

    fn whom(&self, word: Word, kind: Kind, document: &Document) -> Result<Vec<Whom>, BadFile> {
        let fault = |span: Range<usize>, what: &str| Err(document.fault(Some(span), what));
        let of = self.of.as_ref().map(|of| (*of.get_ref(), of.span()));
        match (&self.target, of) {
            (Some(target), _) if kind == Kind::Cpu => {
                let what = "`cpu` takes the server's cores, whoever else runs there: remove it";
                fault(target.span(), what)
            }
            (None, Some((Of::Worker, place))) if kind == Kind::Cpu => {
                let what = "`cpu` takes the server's cores from all of it: remove it";
                fault(place, what)
            }
            (Some(_), Some((_, place))) => {
                let what = "`of` says which part of the subject, and `target` names a companion; \
                            expected one of them";
                fault(place, what)
            }
            (None, Some((_, place))) if word == Word::CompanionKill => {
                fault(place, "expected `target`, which names a companion")
            }
            (None, _) if word == Word::CompanionKill => {
                let what = "expected `target`, such as `target = \"redis\"`: the companion's name \
                            in subject.toml";
                fault(self.kind.span(), what)
            }
            (None, Some((Of::Worker, place))) if kind.is_proxied() => fault(
                place,
                "connections are those of the whole subject: remove it",
            ),
            (Some(target), None) => {
                let read = target.get_ref().read();
                read.or_else(|what| fault(target.span(), what))
            }
            (None, Some((Of::Worker, _))) => Ok(vec![Whom::Worker]),
            (None, Some((Of::Subject, _)) | None) => Ok(vec![Whom::Subject]),
        }
    }
}

#[cfg(test)]
mod tests;

//! What a comparison tells while it runs. The lab prints nothing itself.

use std::fmt;
use std::path::Path;

use statistics::format::{per_second, time};

use crate::sample::Sample;

/// Something that has just begun or happened. `Display` is one line for people.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)] // The fields repeat their names: whose event it is, and of which round.
pub enum Event<'a> {
    /// The output folder was made; how long the measuring will take in seconds.
    Begun { folder: &'a Path, seconds: f64 },
    /// The output folder of a search was made; how long that will take in seconds, at least and at
    /// most, by where the capacities lie.
    Searching {
        folder: &'a Path,
        least: f64,
        most: f64,
    },
    /// Something that a reader of the results must know.
    Caution { what: &'a str },
    /// A point of a sweep begins, which is a comparison of its own.
    Point {
        key: &'a str,
        value: f64,
        number: u32,
        points: u32,
    },
    /// The rate that all rows are offered alike was found, in requests a second.
    EqualRate { rate: f64 },
    /// A subject is being built.
    Building { subject: &'a str },
    /// A subject needs a program that is not there.
    Missing { subject: &'a str, what: &'a str },
    /// A subject is being started and verified.
    Starting { subject: &'a str },
    /// A subject runs already, and is being verified.
    Joining { subject: &'a str },
    /// A subject serves, and gets load that is not measured.
    WarmingUp { subject: &'a str },
    /// A round of a subject begins.
    Measuring {
        subject: &'a str,
        round: u32,
        rounds: u32,
    },
    /// A round of a subject is over.
    Measured {
        subject: &'a str,
        round: u32,
        rounds: u32,
        sample: &'a Sample,
    },
    /// One of several whole comparisons is over; what it said of each subject.
    Tried {
        number: u32,
        trials: u32,
        seconds: f64,
        said: &'a [&'a str],
    },
    /// A rate is tried on a subject; how long its search takes from here, in seconds, at most.
    Probing {
        subject: &'a str,
        probe: u32,
        rate: f64,
        left: Option<f64>,
    },
    /// A rate that failed for want of a free connection is tried over more of them.
    MoreConnections {
        subject: &'a str,
        connections: u32,
        rate: f64,
    },
    /// A rate was tried on a subject; none: whether it held is not known.
    Probed {
        subject: &'a str,
        probe: u32,
        rate: f64,
        held: Option<bool>,
        achieved: f64,
        p50_us: Option<f64>,
        p99_us: Option<f64>,
        why: &'a str,
    },
    /// Throughput over so many connections is measured.
    Scaling { subject: &'a str, connections: u32 },
    /// A subject fell out; the others go on.
    Failed { subject: &'a str, what: &'a str },
}

impl fmt::Display for Event<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Event::Begun { folder, seconds } => {
                // How long commands take is not known before they have run.
                match *seconds > 0.0 {
                    true => write!(f, "measuring takes about {}; ", time(*seconds))?,
                    false => write!(f, "each round takes as long as its commands; ")?,
                }
                write!(f, "results go to {}", folder.display())
            }
            Event::Point {
                key,
                value,
                number,
                points,
            } => write!(f, "point {number} of {points}: {key} {value}"),
            Event::Caution { what } => write!(f, "caution: {what}"),
            Event::EqualRate { rate } => write!(
                f,
                "equal rate for all: {}, half of what the slowest answered in a probe before the \
                 first round (a closed loop)",
                per_second(*rate)
            ),
            Event::Building { subject } => write!(f, "{subject}: building"),
            Event::Missing { subject, what } => write!(f, "{subject}: {what}"),
            Event::Starting { subject } => write!(f, "{subject}: starting"),
            Event::Joining { subject } => write!(f, "{subject}: checking its answer"),
            Event::WarmingUp { subject } => write!(f, "{subject}: warming up"),
            Event::Measuring {
                subject,
                round,
                rounds,
            } => write!(f, "round {round} of {rounds}: {subject}"),
            Event::Measured {
                subject,
                round,
                rounds,
                sample,
            } => {
                let figure = measured(sample);
                write!(f, "round {round} of {rounds}: {subject}: {figure}")
            }
            Event::Tried {
                number,
                trials,
                seconds,
                said,
            } => {
                write!(f, "trial {number} of {trials}, {seconds:.1} s")?;
                said.iter()
                    .try_for_each(|sentence| write!(f, ": {sentence}"))
            }
            Event::Failed { subject, what } => write!(f, "{subject} {what}"),
            Event::Searching { .. }
            | Event::Probing { .. }
            | Event::MoreConnections { .. }
            | Event::Probed { .. }
            | Event::Scaling { .. } => self.of_a_search(f),
        }
    }
}

impl Event<'_> {
    /// The line of an event that only searches for a capacity have.
    fn of_a_search(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Event::Searching {
                folder,
                least,
                most,
            } => write!(
                f,
                "measuring takes {} to {}, depending on the capacity; results go to {}",
                time(*least),
                time(*most),
                folder.display()
            ),
            Event::Probing {
                subject,
                probe,
                rate,
                left,
            } => {
                write!(f, "probe {probe}: {subject} at {}", per_second(*rate))?;
                left.map_or(Ok(()), |left| write!(f, " (up to {} left)", time(left)))
            }
            Event::MoreConnections {
                subject,
                connections,
                rate,
            } => {
                let rate = per_second(*rate);
                write!(
                    f,
                    "{subject} at {rate}: retrying over {connections} connections"
                )
            }
            Event::Probed {
                subject,
                probe,
                rate,
                held,
                ..
            } => {
                let (rate, outcome) = (per_second(*rate), outcome(*held));
                write!(f, "probe {probe}: {subject} at {rate}: {outcome}")
            }
            Event::Scaling {
                subject,
                connections,
            } => write!(f, "{subject}: throughput over {connections} connections"),
            _ => Ok(()),
        }
    }
}

/// The figure of a round that people wait for.
fn measured(sample: &Sample) -> String {
    match sample.seconds {
        Some(seconds) => format!("{seconds:.3} s"),
        None => format!("{:.0} requests/s", sample.requests_per_second),
    }
}

/// Whether a rate was held.
fn outcome(held: Option<bool>) -> &'static str {
    match held {
        Some(true) => "held",
        Some(false) => "failed",
        None => "unknown",
    }
}

/// Is told what happens.
pub trait Observer {
    /// Called between measurements, never inside a measured window.
    fn event(&mut self, event: &Event<'_>);
}

impl<F: FnMut(&Event<'_>)> Observer for F {
    fn event(&mut self, event: &Event<'_>) {
        self(event);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_beginning_says_how_long_it_takes_only_where_that_is_known() {
        let folder = Path::new("out");
        let begun = |seconds| Event::Begun { folder, seconds }.to_string();
        assert_eq!(begun(45.2), "measuring takes about 45 s; results go to out");
        let commands = begun(0.0);
        assert!(commands.contains("as long as its commands"), "{commands}");
        assert!(!commands.contains("0 s"), "{commands}");
    }
}

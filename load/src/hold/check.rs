//! What conditions on a hold can be about.

use measure::units;

use super::Record;
use crate::check::{self, Figure, OfTimes};

/// A figure of the record of a hold.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OfHold(HoldFigure);

/// A condition such as `survival>=99.5%`, `reconnects<=1/h` or `heartbeat_p99<1s`.
pub type Threshold = check::Threshold<OfHold>;

#[derive(Clone, Copy, Debug, PartialEq)]
enum HoldFigure {
    /// Share of the connections that survived.
    Survival,
    /// Reconnects per connection and hour.
    ReconnectsPerHour,
    /// Share of the heartbeats that failed.
    WriteFailures,
    /// Connections that stood at the end.
    Standing,
    /// Losses of connections.
    Lost,
    /// Connections that were given up.
    GivenUp,
    /// Nanoseconds of a distribution of times.
    Time(Distribution, OfTimes),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Distribution {
    Heartbeat,
    SetUp,
    ReEstablish,
}

impl Figure for OfHold {
    type Record = Record;
    const EXAMPLES: &'static str = "'survival>=99.5%', 'reconnects<=1/h', 'write_failures<1%', \
                                    'standing>=19k', 'lost<10', 'given_up<1', 'heartbeat_p99<1s', \
                                    'set_up_max<5s' or 'reestablish_p99<10s'";

    fn read(name: &str, limit: &str) -> Result<(OfHold, Option<f64>), String> {
        let (figure, limit) = match name {
            "survival" => (HoldFigure::Survival, share(limit)?),
            "write_failures" => (HoldFigure::WriteFailures, share(limit)?),
            "reconnects" => (HoldFigure::ReconnectsPerHour, per_hour(limit)?),
            "standing" => (HoldFigure::Standing, check::count(limit)),
            "lost" => (HoldFigure::Lost, check::count(limit)),
            "given_up" => (HoldFigure::GivenUp, check::count(limit)),
            name => {
                let (of, what) = name.rsplit_once('_').ok_or_else(|| check::unknown(name))?;
                let of = match of {
                    "heartbeat" => Distribution::Heartbeat,
                    "set_up" => Distribution::SetUp,
                    "reestablish" => Distribution::ReEstablish,
                    _ => return Err(check::unknown(name)),
                };
                let what = OfTimes::read(what).ok_or_else(|| check::unknown(name))?;
                (
                    HoldFigure::Time(of, what),
                    Some(check::length_ns(name, limit)?),
                )
            }
        };
        Ok((OfHold(figure), limit))
    }

    fn measure(&self, record: &Record) -> Option<f64> {
        let connections = &record.connections;
        match self.0 {
            HoldFigure::Survival => connections.survival,
            HoldFigure::ReconnectsPerHour => connections.reconnects_per_hour,
            HoldFigure::WriteFailures => record.heartbeats.failure_share,
            HoldFigure::Standing => Some(connections.standing as f64),
            HoldFigure::Lost => Some(connections.lost as f64),
            HoldFigure::GivenUp => Some(connections.given_up as f64),
            HoldFigure::Time(of, what) => {
                let whole = &record.histograms;
                let (times, histogram) = match of {
                    Distribution::Heartbeat => (&record.heartbeat_time_us, &whole.heartbeat_time),
                    Distribution::SetUp => (&record.set_up_time_us, &whole.set_up_time),
                    Distribution::ReEstablish => {
                        (&record.re_establish_time_us, &whole.re_establish_time)
                    }
                };
                what.measure_ns(times, histogram)
            }
        }
    }

    fn counts_failures(&self) -> bool {
        matches!(
            self.0,
            HoldFigure::ReconnectsPerHour
                | HoldFigure::WriteFailures
                | HoldFigure::Lost
                | HoldFigure::GivenUp
        )
    }

    fn void(&self, record: &Record) -> Option<String> {
        // Where no connection came about there is nothing to measure, which is crossed.
        let void = !record.valid && record.connections.opened > 0;
        void.then(|| "the figures are void".to_owned())
    }

    fn print(&self, value: f64) -> String {
        match self.0 {
            HoldFigure::Survival | HoldFigure::WriteFailures => check::print_share(value),
            HoldFigure::ReconnectsPerHour => format!("{value:.3}/h"),
            HoldFigure::Standing | HoldFigure::Lost | HoldFigure::GivenUp => format!("{value:.0}"),
            HoldFigure::Time(..) => units::wrk_time_us(value / 1000.0),
        }
    }
}

fn share(limit: &str) -> Result<Option<f64>, String> {
    check::percent(limit).ok_or_else(|| "the limit is a share: write it in percent".into())
}

fn per_hour(limit: &str) -> Result<Option<f64>, String> {
    let number = limit
        .strip_suffix("/h")
        .ok_or("the limit is a rate: write it as so many /h")?;
    Ok(number.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_are_read() {
        for text in [
            "survival>=99.5%",
            "reconnects <= 1/h",
            "write_failures<1%",
            "standing>=19k",
            "lost<=0",
            "given_up<1",
            "heartbeat_p99<1s",
            "heartbeat_p99.9<1s",
            "set_up_max<5s",
            "reestablish_mean<10s",
        ] {
            text.parse::<Threshold>().unwrap();
        }
    }

    #[test]
    fn conditions_that_say_nothing_are_refused_with_an_example() {
        for text in [
            "survival>=0.995",
            "survival>=x%",
            "reconnects<=1",
            "reconnects<=-1/h",
            "write_failures<",
            "p99<5ms",
            "rate>50k",
            "heartbeat<1s",
            "heartbeat_p101<1s",
            "heartbeat_p99<fast",
        ] {
            let refusal = text.parse::<Threshold>().unwrap_err().0;
            assert!(refusal.contains("write for example"), "{text}: {refusal}");
        }
    }
}

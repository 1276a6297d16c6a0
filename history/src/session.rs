//! One session, read and reduced to a few figures for each row.

use std::fs;
use std::path::Path;

use lab::manifest::Role;
use lab::sample::Sample;
use lab::store::Kept;
use lab::verdict::{Metric, Side, limit};
use load::{Record, Stop};
use report::pack::Records;
use statistics::{ALPHA, Pair, Ratio, Spread};
use studies::diff::{Measured, MeasuredRow, figure, no_comparison};
use time::{Date, Month, Time};

use crate::Options;
use crate::commit::commit_in;
use crate::find::{Kind, Place, shown};
use crate::model::{Absolute, SessionFacts};

/// A longer file is no record of a run.
const RECORD_BYTES_MAX: u64 = 256 << 20;

/// A session without its rounds.
#[derive(Clone, Debug)]
pub(crate) struct Session {
    pub(crate) facts: SessionFacts,
    /// What was measured: the comparison's name, or what a run loaded.
    pub(crate) name: String,
    /// The row that ratios are to.
    pub(crate) baseline: Option<String>,
    /// What decides whether it can be compared, without its rounds.
    pub(crate) measured: Measured,
    /// What was found of each row by each metric.
    pub(crate) figures: Vec<Taken>,
}

/// A row's figure.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Taken {
    pub(crate) row: String,
    pub(crate) metric: Metric,
    /// Whether [`value`](Self::value) is a ratio to the baseline.
    pub(crate) relative: bool,
    pub(crate) value: f64,
    pub(crate) interval: Option<(f64, f64)>,
    pub(crate) absolute: Absolute,
    pub(crate) bound: bool,
}

/// Reads what is at a place.
///
/// # Errors
/// Why it is no session, a clause.
pub(crate) fn read(place: &Place, options: &Options, stop: &Stop) -> Result<Session, String> {
    if let Some(signal) = stop.requested() {
        return Err(format!("stopped by {signal}"));
    }
    let session = match place.kind {
        Kind::Records => of_records(place, options, stop),
        Kind::Record => of_record(place),
    }?;
    match session.figures.is_empty() {
        true => Err("none of its rounds counts".to_owned()),
        false => Ok(session),
    }
}

fn of_records(place: &Place, options: &Options, stop: &Stop) -> Result<Session, String> {
    let records = Records::open(&place.path, stop)?;
    if let Some(what) = no_comparison(records.folder()) {
        return Err(what);
    }
    let kept = Kept::read_from(records.source())?;
    let setup = &kept.manifest.setup;
    let (name, ringside) = (setup.name.clone(), setup.ringside.clone());
    let baseline = options.baseline.as_ref().unwrap_or(&setup.baseline).clone();
    let began = unix_of(&setup.began).ok_or("it doesn't say when it began")?;
    let measured = Measured::of_comparison(kept);
    if !measured.rows.iter().any(|row| row.name == baseline) {
        return Err(format!(
            "it has no row {baseline} for the others to be held against, or measured it cold"
        ));
    }
    Ok(Session {
        facts: facts(&place.path, began, ringside),
        figures: figures(&measured, Some(&baseline)),
        name,
        baseline: Some(baseline),
        measured: measured.without_rounds(),
    })
}

fn of_record(place: &Place) -> Result<Session, String> {
    let size = fs::metadata(&place.path)
        .map_err(|error| error.to_string())?
        .len();
    if size > RECORD_BYTES_MAX {
        return Err("too long for the record of a run".to_owned());
    }
    let text = fs::read_to_string(&place.path).map_err(|error| error.to_string())?;
    let record = Record::from_json(&text)
        .map_err(|error| format!("not the record of a run (run --format json): {error}"))?;
    if !record.valid {
        return Err("its figures are void; its warnings say why".to_owned());
    }
    let ended = record.host.read_at.as_deref().and_then(unix_of);
    let ended = ended.ok_or("it doesn't say when it was measured")?;
    let measured = Measured::of_record(&record)?;
    let target = &record.plan.target;
    Ok(Session {
        facts: facts(&place.path, ended, record.generator.version.clone()),
        name: format!(
            "{}://{}:{}{}",
            target.scheme, target.host, target.port, target.path
        ),
        figures: figures(&measured, None),
        baseline: None,
        measured: measured.without_rounds(),
    })
}

fn facts(path: &Path, unix_s: u64, ringside: String) -> SessionFacts {
    let parent = path.parent().and_then(Path::file_name);
    let names = [path.file_name(), parent];
    let commit = |name: Option<&std::ffi::OsStr>| commit_in(&name?.to_string_lossy());
    SessionFacts {
        place: shown(path),
        unix_s,
        commit: names.into_iter().find_map(commit),
        ringside,
        other_baseline: None,
    }
}

/// The seconds since 1970 of a stamp such as `2026-11-22T07:32:00Z`.
fn unix_of(stamp: &str) -> Option<u64> {
    let number = |from: usize, to: usize| stamp.get(from..to)?.parse::<u16>().ok();
    let small = |from: usize| u8::try_from(number(from, from + 2)?).ok();
    let month = Month::try_from(small(5)?).ok()?;
    let date = Date::from_calendar_date(number(0, 4)?.into(), month, small(8)?).ok()?;
    let time = Time::from_hms(small(11)?, small(14)?, small(17)?).ok()?;
    u64::try_from(date.with_time(time).assume_utc().unix_timestamp()).ok()
}

/// What is followed of a session: what two are compared by, the times where there is a rate that
/// they are of, and the memory of subjects.
fn metrics(measured: &Measured) -> Vec<Metric> {
    let mut metrics: Vec<Metric> = measured.metrics().collect();
    if metrics.contains(&Metric::ResponseTimeP99) {
        metrics.push(Metric::ResponseTimeP50);
    }
    metrics.push(Metric::MemoryPeak);
    metrics
}

fn figures(measured: &Measured, baseline: Option<&str>) -> Vec<Taken> {
    let base = measured
        .rows
        .iter()
        .find(|row| Some(row.name.as_str()) == baseline);
    let subjects = || {
        let rows = measured.rows.iter();
        rows.filter(|row| row.role == Role::Subject)
    };
    let metrics = metrics(measured);
    let each = metrics
        .iter()
        .flat_map(|metric| subjects().map(move |row| (row, *metric)));
    each.filter_map(|(row, metric)| taken(row, base, metric))
        .collect()
}

fn taken(row: &MeasuredRow, base: Option<&MeasuredRow>, metric: Metric) -> Option<Taken> {
    let rounds = row
        .samples
        .iter()
        .filter_map(|sample| figure(sample, metric));
    let spread = Spread::of(rounds)?;
    let base = base.filter(|base| base.name != row.name);
    let (value, interval) = match base {
        Some(base) => beside(row, base, metric)?,
        None => (spread.median, None),
    };
    // The generator bounds what it drives, and the times that it takes.
    let limited = |row: &MeasuredRow| {
        let side = Side {
            samples: &row.samples,
            ..Side::named(&row.name)
        };
        limit(side).is_some()
    };
    let is_bounded = metric == Metric::RequestsPerSecond || metric.is_the_generators();
    Some(Taken {
        row: row.name.clone(),
        metric,
        relative: base.is_some(),
        value,
        interval,
        absolute: Absolute {
            median: spread.median,
            lowest: spread.lowest,
            highest: spread.highest,
        },
        bound: is_bounded && (limited(row) || base.is_some_and(limited)),
    })
}

/// How many times the baseline's a row's figure is, in the rounds that have both, with the
/// interval if they are enough.
fn beside(
    row: &MeasuredRow,
    base: &MeasuredRow,
    metric: Metric,
) -> Option<(f64, Option<(f64, f64)>)> {
    let pair = |sample: &Sample| {
        let other = base
            .samples
            .iter()
            .find(|other| other.round == sample.round)?;
        Some(Pair {
            start: sample.start,
            a: figure(sample, metric)?,
            b: figure(other, metric)?,
        })
    };
    let pairs: Vec<Pair> = row.samples.iter().filter_map(pair).collect();
    if let Some(ratio) = Ratio::by_student(&pairs, 1.0 - ALPHA) {
        let ends = (ratio.low, ratio.high);
        let drawn = ends.0 > 0.0 && ends.1.is_finite();
        return Some((ratio.centre, drawn.then_some(ends)));
    }
    let logs = pairs.iter().map(|pair| (pair.a / pair.b).ln());
    let mean = logs.sum::<f64>() / pairs.len() as f64;
    let ratio = mean.exp();
    (!pairs.is_empty() && ratio > 0.0 && ratio.is_finite()).then_some((ratio, None))
}

#[cfg(test)]
mod tests {
    use measure::time::utc_stamp;

    use super::*;

    #[test]
    fn a_stamp_is_the_second_that_it_was_written_for() {
        for seconds in [0, 951_782_399, 1_795_332_720, 4_107_542_399] {
            assert_eq!(unix_of(&utc_stamp(seconds)), Some(seconds));
        }
        for wrong in [
            "",
            "yesterday",
            "2026-02-30T00:00:00Z",
            "2026-11-22",
            "1969-12-31T23:59:59Z",
        ] {
            assert_eq!(unix_of(wrong), None, "{wrong}");
        }
    }
}

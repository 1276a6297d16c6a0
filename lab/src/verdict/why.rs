//! Why a side has no figure, or one that the generator or a rate spoilt: in words, out of rounds.

use super::{Metric, Side};
use crate::finding::Check;
use crate::sample::Sample;

/// A generator that uses this share of its core or more was the limit itself.
pub const BUSY: f64 = 0.9;

/// Why rounds that count lack a figure, after a colon; nothing where that isn't known.
pub(super) fn without(metric: Metric, sides: [Side<'_>; 2]) -> Option<String> {
    use Metric::{ResponseTimeMean, ResponseTimeP50, ResponseTimeP95, ResponseTimeP99};
    let times = [
        ResponseTimeP99,
        ResponseTimeP95,
        ResponseTimeP50,
        ResponseTimeMean,
    ];
    let needed = times
        .contains(&metric)
        .then(|| metric.exchanges_min().unwrap_or(1))?;
    let lacks = |sample: &&Sample| sample.void().is_none() && metric.of(sample).is_none();
    sides.into_iter().find_map(|side| {
        let lacking = side.samples.iter().filter(lacks);
        let few = lacking.clone().map(|sample| sample.completed);
        let (name, late) = (side.name, lacking.count());
        if let Some(most) = few.filter(|count| *count < needed).max() {
            return Some(format!(
                ": it takes {needed} exchanges in a round, and {name} had at most {most}; make \
                 the window longer"
            ));
        }
        (late > 0).then(|| {
            let rounds = if late == 1 { "round" } else { "rounds" };
            let what = "the generator sent requests late, which could have moved it";
            format!(": in {late} {rounds} of {name} {what}")
        })
    })
}

/// How far a side stayed behind the rate that it was offered, if it did in more than half of the
/// rounds that count, and not because of the generator.
pub fn behind(side: Side<'_>) -> Option<&str> {
    let counting = side.samples.iter().filter(|sample| sample.void().is_none());
    let all = counting.clone().count();
    let own = counting.filter(|sample| sample.bound().is_none());
    let found = own.filter_map(|sample| {
        let mut findings = sample.findings.iter();
        findings.find(|found| found.check == Check::OfferedRate)
    });
    let behind: Vec<&str> = found.map(|found| found.sentence.as_str()).collect();
    let sentence = behind
        .get(behind.len() / 2)
        .filter(|_| 2 * behind.len() > all)?;
    // What it does to the times is told beside them.
    Some(
        sentence
            .split_once(": ")
            .map_or(*sentence, |(what, _)| what),
    )
}

/// How the generator was the limit for a subject, if it was in more than half of its rounds.
pub fn limit(side: Side<'_>) -> Option<String> {
    let bounds: Vec<(&Sample, &str)> = side
        .samples
        .iter()
        .filter_map(|sample| Some((sample, sample.bound()?)))
        .collect();
    if 2 * bounds.len() <= side.samples.len() {
        return None;
    }
    let (sample, reason) = bounds.get(bounds.len() / 2)?;
    let (server, reason) = (100.0 * sample.server_busy, reason.trim_end_matches('.'));
    let full = sample.generator_busy.filter(|busy| *busy >= BUSY);
    let full = full.map(|busy| format!("its core was {:.0} % busy", 100.0 * busy));
    Some(match full {
        // One that answers isn't idle: nobody saw its processes.
        _ if server <= 0.0 => {
            let what = full.unwrap_or_else(|| reason.to_owned());
            format!("{what}; how busy the server was isn't known")
        }
        Some(full) => format!("{full}, the server's {server:.0} %"),
        None => format!("{reason}; the server's core was {server:.0} % busy"),
    })
}

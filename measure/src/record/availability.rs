//! When answers came, and when none did.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::tally::Tally;

/// When answers came, slot by slot of the window.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Availability {
    /// The share of slots with answers, out of these and the slots in `gaps`, 0 to 1.
    pub share: f64,
    /// Length of a slot in seconds: 0.1, or more if answers are few or slow.
    pub slot_s: f64,
    /// The share of the slots that lie in outages: gaps in or around which something failed.
    pub outage_share: f64,
    /// When no answer came although some were due, or something failed; the hundred longest.
    pub gaps: Vec<Gap>,
}

/// Time without an answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Gap {
    /// Seconds from the window's start to its beginning.
    pub from_s: f64,
    /// Seconds from the window's start to its end.
    pub to_s: f64,
    /// Whether it was an outage: something failed in it, or just before or after it.
    pub outage: bool,
    /// Whether attempts to connect failed there.
    #[serde(default)]
    pub unreachable: bool,
}

impl Availability {
    pub(super) fn of(tally: &Tally) -> Option<Availability> {
        const GAPS_MAX: usize = 100;
        let streams = &tally.streams;
        let answers = tally.inside().answered + streams.events;
        // Streams that begin together are silent together until their first events come.
        let every_ns = match streams.event_gap.is_empty() {
            true => tally.service.quantile(0.5),
            false => {
                let first = &streams.first_event_service;
                streams.event_gap.quantile(0.5).max(first.quantile(0.5))
            }
        };
        let course = tally.slots.course(answers, every_ns)?;
        let seconds = |nanoseconds: u64| nanoseconds as f64 / 1e9;
        let mut gaps = course.gaps.clone();
        gaps.sort_by_key(|gap| std::cmp::Reverse(gap.until_ns - gap.from_ns));
        gaps.truncate(GAPS_MAX);
        gaps.sort_by_key(|gap| gap.from_ns);
        let told = gaps.into_iter().map(|gap| Gap {
            from_s: seconds(gap.from_ns),
            to_s: seconds(gap.until_ns),
            outage: gap.failed,
            unreachable: gap.unreachable,
        });
        Some(Availability {
            share: course.availability()?,
            slot_s: seconds(course.slot_ns),
            outage_share: course.down(),
            gaps: told.collect(),
        })
    }
}

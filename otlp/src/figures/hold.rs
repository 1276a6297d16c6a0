//! The figures of a hold.

use measure::counters::Errors;
use measure::histogram::Histogram;
use measure::hold::Counted;

use super::{Exported, Pen, counter, histograms};
use crate::messages::{Metric, NumberPoint};

impl Exported for Counted {
    fn metrics(pen: &Pen<'_, Counted>) -> Vec<Metric> {
        let mut metrics = vec![pen.heartbeats()];
        metrics.extend(pen.kinds());
        metrics.extend(pen.singles());
        metrics.extend(pen.lengths());
        metrics.extend(pen.standing("Seconds from the first attempt to connect."));
        metrics
    }
}

impl Pen<'_, Counted> {
    /// By what became of them: they add up to those that were due.
    fn heartbeats(&self) -> Metric {
        let counted = &self.sums.counted;
        let outcomes = [
            ("answered", counted.counts.answered),
            ("failed", counted.counts.failed),
            ("unfinished", counted.unfinished),
            ("skipped", counted.skipped),
        ];
        let points = outcomes.map(|(outcome, n)| self.count(&[("outcome", outcome)], n));
        counter(
            "ringside.hold.heartbeats",
            "Heartbeats that were due, by what became of them.",
            "{heartbeat}",
            points.into(),
        )
    }

    /// What went wrong, by kind, as far as anything did.
    fn kinds(&self) -> Vec<Metric> {
        let counted = &self.sums.counted;
        let by_kind = |errors: &Errors| -> Vec<NumberPoint> {
            let each = errors.iter();
            each.map(|(kind, n)| self.count(&[("kind", kind.name())], n))
                .collect()
        };
        let kinds = [
            (
                "ringside.hold.heartbeat_errors",
                "Heartbeats that failed, by kind.",
                "{error}",
                by_kind(&counted.heartbeat_errors),
            ),
            (
                "ringside.hold.losses",
                "Connections that stood and were lost, by kind.",
                "{connection}",
                by_kind(&counted.counts.losses),
            ),
            (
                "ringside.hold.failed_attempts",
                "Attempts to connect that failed, by kind.",
                "{attempt}",
                by_kind(&counted.attempts),
            ),
        ];
        let there = kinds.into_iter().filter(|(.., points)| !points.is_empty());
        there
            .map(|(name, description, unit, points)| counter(name, description, unit, points))
            .collect()
    }

    /// Counters that have one value.
    fn singles(&self) -> Vec<Metric> {
        let counted = &self.sums.counted;
        self.counts(&[
            (
                "ringside.hold.opened",
                "Connections that were opened, reconnects among them.",
                "{connection}",
                counted.counts.opened,
            ),
            (
                "ringside.hold.reconnects",
                "Connections that replaced one that was lost.",
                "{connection}",
                counted.counts.reconnects,
            ),
            (
                "ringside.hold.given_up",
                "Connections that were given up after the last retry.",
                "{connection}",
                counted.given_up,
            ),
            (
                "ringside.received",
                "Bytes that came in.",
                "By",
                counted.bytes_received,
            ),
            (
                "ringside.sent",
                "Bytes that went out.",
                "By",
                counted.bytes_sent,
            ),
        ])
    }

    /// Lengths of time.
    fn lengths(&self) -> Vec<Metric> {
        let counted = &self.sums.counted;
        let broadcasts = &counted.broadcasts;
        let is_said = !broadcasts.each.is_empty();
        let all: [(&str, &str, Option<&Histogram>); 5] = [
            (
                "ringside.hold.heartbeat_time",
                "From sending a heartbeat to its answer; lower bounds for those given up.",
                Some(&counted.heartbeat),
            ),
            (
                "ringside.hold.set_up_time",
                "From the start of an attempt until the connection can be used.",
                Some(&counted.set_up),
            ),
            (
                "ringside.hold.re_establish_time",
                "From the loss of a connection until it was open again.",
                Some(&counted.re_establish),
            ),
            (
                "ringside.hold.broadcast_time",
                "From when a broadcast was due until a listener heard it.",
                is_said.then_some(&broadcasts.heard_after),
            ),
            (
                "ringside.lateness",
                "From when a heartbeat was due to when it was sent.",
                Some(&counted.lateness),
            ),
        ];
        let there = all.into_iter();
        there
            .filter_map(|(name, description, times)| {
                Some(histograms(
                    name,
                    description,
                    vec![self.histogram(&[], times?)],
                ))
            })
            .collect()
    }
}

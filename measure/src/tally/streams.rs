//! What was seen inside answers that come bit by bit, where a run looks into them.

use crate::histogram::Histogram;

/// The part of a tally about streams of events. Of its histograms only as much is resident as was
/// used: nothing where nobody looks into answers.
#[derive(Clone, Debug, Default)]
pub struct StreamTally {
    /// First byte of the answer − intended, and a lower bound for every censored one.
    pub first_byte: Histogram,
    /// First event − intended, and a lower bound for every censored one.
    pub first_event: Histogram,
    /// First event − sent, of the same as far as they were sent.
    pub first_event_service: Histogram,
    /// From one event to the next, for each that came inside the window, and a lower bound for
    /// every censored gap.
    pub event_gap: Histogram,
    /// For each stream of at least two events that is over: the time from its first event to its
    /// last one, by each event but the first.
    pub time_per_event: Histogram,
    /// Answers that were streams of events, to exchanges of the window.
    pub streams: u64,
    /// Of these: over without an event.
    pub empty: u64,
    /// Of these: over behind an event that said so (`[DONE]`).
    pub done: u64,
    /// Of these: over in the middle of an event, which counts for nothing.
    pub torn: u64,
    /// Of the exchanges that the end of the run left unfinished: those whose streams still went on.
    pub cut_off: u64,
    /// Events that came inside the window, whatever exchange they belong to.
    pub events: u64,
    /// Samples of the first byte that are only lower bounds.
    pub censored_heads: u64,
    /// Samples of the first event that are only lower bounds.
    pub censored: u64,
    /// Gaps that are only lower bounds: no event followed before the stream was given up.
    pub censored_gaps: u64,
}

impl StreamTally {
    /// Its distributions, each behind what it is in a sentence: to the head of an answer, to its
    /// first event, from event to event, and for each event of a stream.
    pub fn told(&self) -> [(&'static str, &Histogram); 4] {
        [
            (
                "From when a request was due to the head of its answer.",
                &self.first_byte,
            ),
            (
                "From when a request was due to the first event of its answer.",
                &self.first_event,
            ),
            ("From one event of a stream to the next.", &self.event_gap),
            (
                "From the first event of a stream to its last, by its events.",
                &self.time_per_event,
            ),
        ]
    }

    /// Whether nobody looked into answers, or none came.
    pub fn is_empty(&self) -> bool {
        self.first_byte.is_empty() && self.events == 0
    }

    /// Adds everything that `other` counted.
    pub fn merge(&mut self, other: &StreamTally) {
        merge_fields!(StreamTally, self, other,
            merge [first_byte, first_event, first_event_service, event_gap, time_per_event],
            add [streams, empty, done, torn, cut_off, events, censored_heads, censored,
                censored_gaps],
            apart []);
    }

    /// Forgets everything, keeps the memory.
    pub(super) fn clear(&mut self) {
        clear_fields!(StreamTally, self,
            clear [first_byte, first_event, first_event_service, event_gap, time_per_event],
            zero [streams, empty, done, torn, cut_off, events, censored_heads, censored,
                censored_gaps],
            apart []);
    }

    /// Parts are no more than what they are parts of.
    pub(super) fn check(&self) {
        let parts = [
            (
                "censored first bytes",
                self.censored_heads,
                self.first_byte.count(),
            ),
            (
                "censored first events",
                self.censored,
                self.first_event.count(),
            ),
            ("censored gaps", self.censored_gaps, self.event_gap.count()),
        ];
        for (what, part, whole) in parts {
            debug_assert!(part <= whole, "{part} {what} of {whole} were counted");
        }
    }
}

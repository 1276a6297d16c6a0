//! What became of the exchanges of one step, where a load has several.

use super::{GRPC_CODES, StreamTally, grpc_code};
use crate::counters::{ErrorKind, Errors, Statuses};
use crate::histogram::Histogram;
use crate::time::Time;

/// The part of a tally that one step has in it. Of its histogram only as much is resident as was
/// used.
#[derive(Clone, Debug, Default)]
pub struct StepTally {
    /// Done − intended of every answered exchange, and a lower bound for every censored one.
    pub response: Histogram,
    /// Done − sent of the same, as far as they were sent.
    pub service: Histogram,
    /// Sent − intended of those that found a free connection: the generator's own lateness.
    pub own_lateness: Histogram,
    /// Exchanges that fell due in the measured window.
    pub intended: u64,
    /// Exchanges with a whole answer of an expected status.
    pub completed: u64,
    /// Of these: sent only after the window was over.
    pub completed_late: u64,
    /// Exchanges that failed, for any reason.
    pub failed: u64,
    /// Exchanges that had neither succeeded nor failed when the run ended.
    pub unfinished: u64,
    /// Samples that are only lower bounds.
    pub censored: u64,
    /// Answers by status.
    pub statuses: Statuses,
    /// gRPC calls by the code of their status.
    pub grpc_statuses: [u64; GRPC_CODES],
    /// Failed exchanges by kind.
    pub errors: Errors,
    /// What was seen inside its answers; none where nobody looks into them.
    pub streams: Option<Box<StreamTally>>,
}

impl StepTally {
    /// An exchange has its whole answer; `error` says what is wrong with it, if anything, and
    /// `late` whether it was sent only after the window.
    #[inline]
    pub fn answered(
        &mut self,
        (intended, sent, done): (Time, Time, Time),
        status: Option<u16>,
        error: Option<ErrorKind>,
        late: bool,
    ) {
        self.response.record(done.since(intended));
        self.service.record(done.since(sent));
        if let Some(status) = status {
            self.statuses.add(status);
        }
        match error {
            Some(kind) => self.failed(kind),
            None => {
                self.completed += 1;
                self.completed_late += u64::from(late);
            }
        }
    }

    /// It was a gRPC call, which ended with this code.
    #[inline]
    pub fn called(&mut self, code: u8) {
        self.grpc_statuses[grpc_code(code)] += 1;
    }

    /// An exchange failed. If it had waited for its answer, [`StepTally::censored`] says how long.
    #[inline]
    pub fn failed(&mut self, kind: ErrorKind) {
        self.failed += 1;
        self.errors.add(kind);
    }

    /// An exchange was given up at `given_up`: its times are at least this long. `sent` is none for
    /// one that was never sent.
    #[inline]
    pub fn censored(&mut self, intended: Time, sent: Option<Time>, given_up: Time) {
        self.censored += 1;
        self.response.record(given_up.since(intended));
        if let Some(sent) = sent {
            self.service.record(given_up.since(sent));
        }
    }

    /// Exchanges that have ended in any way.
    pub fn ended(&self) -> u64 {
        self.completed + self.failed + self.unfinished
    }

    pub(super) fn clear(&mut self) {
        clear_fields!(StepTally, self,
            clear [response, service, own_lateness, statuses],
            zero [intended, completed, completed_late, failed, unfinished, censored, errors,
                grpc_statuses],
            apart [streams]);
        if let Some(streams) = &mut self.streams {
            streams.clear();
        }
    }

    fn merge(&mut self, other: &StepTally) {
        merge_fields!(StepTally, self, other,
            merge [response, service, own_lateness, statuses, errors],
            add [intended, completed, completed_late, failed, unfinished, censored],
            apart [grpc_statuses, streams]);
        if let Some(streams) = &other.streams {
            self.streams.get_or_insert_default().merge(streams);
        }
        for (mine, theirs) in self.grpc_statuses.iter_mut().zip(other.grpc_statuses) {
            *mine += theirs;
        }
    }
}

/// Adds the figures of another worker, step by step.
pub(super) fn merge(mine: &mut Vec<StepTally>, theirs: &[StepTally]) {
    if mine.len() < theirs.len() {
        mine.resize_with(theirs.len(), StepTally::default);
    }
    for (mine, theirs) in mine.iter_mut().zip(theirs) {
        mine.merge(theirs);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_merged_one_by_one() {
        let mut one = vec![StepTally::default()];
        let times = (Time(1_000), Time(2_000), Time(6_000));
        one[0].answered(times, Some(200), None, false);
        let mut two = vec![StepTally::default(), StepTally::default()];
        two[0].answered(times, Some(500), Some(ErrorKind::UnexpectedStatus), false);
        two[1].censored(times.0, None, times.2);
        two[1].failed(ErrorKind::Timeout);
        for step in [&mut one[0], &mut two[0]] {
            step.called(5);
        }
        two[0].called(200);
        merge(&mut one, &two);
        assert_eq!((one[0].completed, one[0].failed, one[0].ended()), (1, 1, 2));
        assert_eq!((one[0].response.count(), one[0].service.max()), (2, 4_000));
        assert_eq!((one[1].response.count(), one[1].service.count()), (1, 0));
        assert_eq!((one[1].failed, one[1].censored), (1, 1));
        assert_eq!(one[1].errors.count(ErrorKind::Timeout), 1);
        assert_eq!(one[0].statuses.total(), 2);
        assert_eq!((one[0].grpc_statuses[5], one[0].grpc_statuses[2]), (2, 1));
    }
}

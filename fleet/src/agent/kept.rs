//! What an agent has counted in a run and keeps until the coordinator has it.

use bytes::Bytes;

use crate::chain::{Chain, Digest};
use crate::counted::Interval;
use crate::message::{MESSAGE_MAX, Report};
use crate::totals::Totals;
use crate::words::{Member, RunId};

/// What a message has besides an interval, at most.
const AROUND_BYTES: usize = 4096;

/// Intervals, each with the chain and the totals up to it.
#[derive(Debug)]
pub(super) struct Kept {
    intervals: Vec<(Bytes, Digest, Totals)>,
    bytes: usize,
    chain: Chain,
    totals: Totals,
}

impl Kept {
    pub(super) fn new(run: &RunId, me: &Member) -> Kept {
        Kept {
            intervals: Vec::new(),
            bytes: 0,
            chain: Chain::new(run, me),
            totals: Totals::default(),
        }
    }

    /// Keeps one more, and gives it back as it is sent.
    pub(super) fn add(&mut self, interval: &Interval) -> Result<Bytes, String> {
        let payload = postcard::to_allocvec(interval)
            .map_err(|why| format!("an interval can't be written: {why}"))?;
        if payload.len() > MESSAGE_MAX - AROUND_BYTES {
            return Err(format!(
                "an interval has {} bytes, and a message has room for {}: use fewer steps",
                payload.len(),
                MESSAGE_MAX - AROUND_BYTES
            ));
        }
        let totals = self.totals.plus(&Totals::of(&interval.counted));
        self.totals = totals.ok_or("more was counted than 64 bits hold")?;
        let payload = Bytes::from(payload);
        self.chain = self.chain.with(&payload);
        self.bytes += payload.len();
        self.intervals
            .push((payload.clone(), self.chain.digest(), self.totals));
        Ok(payload)
    }

    /// How it says what it counted in one of them.
    pub(super) fn report(&self, number: u64) -> Option<Report> {
        let (payload, chain, totals) = self.intervals.get(usize::try_from(number).ok()?)?;
        Some(Report::Interval {
            number,
            chain: *chain,
            totals: *totals,
            payload: payload.clone(),
        })
    }

    pub(super) fn count(&self) -> u64 {
        self.intervals.len() as u64
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(super) fn digest(&self) -> Digest {
        self.chain.digest()
    }

    pub(super) fn totals(&self) -> Totals {
        self.totals
    }
}

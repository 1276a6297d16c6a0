//! What the rounds of a row suggest to look at next.

use clues::{Clue, Seen};
use lab::manifest::Role;
use lab::round::Round;
use load::check::reopened;

use crate::Row;

/// The clues in these rounds of a row whose subject has so many `cores`.
pub(super) fn of(rounds: &[&Round], cores: usize) -> Vec<Clue> {
    let windows: Vec<Seen> = rounds.iter().map(|round| seen(round, cores)).collect();
    clues::of(&windows)
}

/// A sentence for each rule that somebody met who is compared.
pub(super) fn told(rows: &[Row]) -> Vec<String> {
    clues::told(compared(rows))
}

/// The same, as short as a terminal needs it.
pub(super) fn in_short(rows: &[Row]) -> Vec<String> {
    clues::in_short(compared(rows))
}

fn compared(rows: &[Row]) -> impl Iterator<Item = (&str, &[Clue])> {
    let compared = rows.iter().filter(|row| row.facts.role == Role::Subject);
    compared.map(|row| (row.facts.name.as_str(), &*row.clues))
}

fn seen(round: &Round, cores: usize) -> Seen {
    let (subject, host) = (&round.watched.subject, &round.watched.host);
    let seconds = |ns: u64| ns as f64 / 1e9;
    let own = subject.own_cores.map(|cores| cores as usize);
    Seen {
        round: round.round,
        wall_s: seconds(subject.wall_ns),
        cores: own.unwrap_or(cores),
        user_s: seconds(subject.user_ns),
        system_s: seconds(subject.system_ns),
        waited_s: seconds(subject.wait_ns),
        switches: subject.voluntary_switches.zip(subject.involuntary_switches),
        major_faults: host.major_faults,
        closes_each: round
            .record
            .as_ref()
            .and_then(reopened::of_record)
            .map(|found| (found.opened, found.answers)),
        refused: host.network.refused().unwrap_or(0),
        dropped: host.network.dropped_by_sockets().unwrap_or(0),
        limited: round.watched.limited,
        slow: round.watched.slow.clone(),
    }
}

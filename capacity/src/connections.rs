//! How many connections a search has: a pure state machine, as the search itself is.
//!
//! A request that waits for a free connection waits on our side, and a rate that fails by nothing
//! but such waits says nothing of the subject. So the same rate is tried at once with twice the
//! connections: again and again for as long as that answers more, or sooner. If the rate then
//! holds, or more was answered, the search goes on with as many; once twice as many change nothing,
//! it is the subject that fails. Where the number of connections is given it stays what it is: then
//! twice as many are tried once, at the edge, only to know whether the answer is the subject's or
//! that of so few connections.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The search adds no connections beyond this many.
pub(super) const MOST: u32 = 4096;
/// Twice the connections changed something if so many times more was answered.
const MORE: f64 = 1.05;
/// Or if the 99th percentile of the response time came down to this share.
const SOONER: f64 = 0.8;
/// Over more connections a rate is tried so often at once, where the generator or the host spoils
/// it, until it stays unknown what they would do.
const TRIES_MAX: u32 = 3;

/// That the number of connections, and not the subject, was the limit.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Limited {
    /// The connections of the search.
    pub connections: u32,
    /// The rate that failed over these.
    pub rate: f64,
    /// So many were tried at the same rate, too; null where no more are tried.
    pub more: Option<u32>,
    /// What was answered a second over these.
    pub achieved: f64,
    /// What was answered a second with more: the rate held, or more was answered. Null where each
    /// probe with more was disturbed or could not be made, so that it is not known whether these
    /// were the limit.
    pub achieved_with_more: Option<f64>,
    /// Whether somebody asked for so many connections.
    pub given: bool,
}

/// What one probe brought, as far as connections are concerned.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Seen {
    /// None: that is not known.
    pub(super) held: Option<bool>,
    /// It failed by nothing but waits for a connection.
    pub(super) by_connections: bool,
    /// Answered a second.
    pub(super) achieved: f64,
    /// 99th percentile of the response time, if known.
    pub(super) p99_us: Option<f64>,
}

impl Seen {
    /// Whether this, with more connections, is better than `before`.
    fn is_better_than(&self, before: &Seen) -> bool {
        let sooner = match (self.p99_us, before.p99_us) {
            (Some(now), Some(before)) => now <= SOONER * before,
            _ => false,
        };
        self.held == Some(true) || self.achieved >= MORE * before.achieved || sooner
    }
}

/// What a rate comes to that failed, after more connections were tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Added {
    /// It fails, and no more of them are to be tried.
    Fails,
    /// It holds with more, which the search has from now on.
    Holds,
    /// A probe with more said nothing: whether it holds is not known.
    Unknown,
}

/// See the module.
#[derive(Clone, Debug)]
pub(super) struct Connections {
    /// So many are used.
    now: u32,
    /// Whether that was asked for.
    given: bool,
    most: u32,
    /// At these rates twice as many have been tried, and changed nothing.
    enough_at: Vec<f64>,
    limited: Option<Limited>,
}

impl Connections {
    /// Of a search that begins with `now`, which were `given` or may be added to, up to `most`.
    pub(super) fn new(now: u32, given: bool, most: u32) -> Connections {
        let most = match given {
            true => now.saturating_mul(2),
            false => most.max(now),
        };
        Connections {
            now,
            given,
            most,
            enough_at: Vec::new(),
            limited: None,
        }
    }

    pub(super) fn now(&self) -> u32 {
        self.now
    }

    pub(super) fn is_given(&self) -> bool {
        self.given
    }

    /// That they were the limit where the search failed, and of which rate, if they were.
    pub(super) fn limited(&self) -> Option<Limited> {
        self.limited
    }

    /// Tries more connections at a `rate` that failed with what was `seen`, by `probe`, which is
    /// told how many. At the `edge` also where their number is given.
    ///
    /// # Errors
    /// A probe could not be made, and why: what more would do is not known.
    pub(super) fn add<E>(
        &mut self,
        (rate, edge): (f64, bool),
        seen: Seen,
        mut probe: impl FnMut(u32) -> Result<Seen, E>,
    ) -> Result<Added, E> {
        if !seen.by_connections || self.enough_at.contains(&rate) || (self.given && !edge) {
            return Ok(Added::Fails);
        }
        let (mut with, mut best) = (self.now, seen);
        loop {
            let more = with.saturating_mul(2).min(self.most);
            if more <= with {
                // As far as it goes, and connections still are what it fails by.
                self.adopt(with);
                self.bound(rate, best, None);
                return Ok(Added::Fails);
            }
            let tried = told(|| probe(more)).inspect_err(|_| {
                self.adopt(with);
                self.bound(rate, best, Some((more, None)));
            })?;
            if tried.held.is_none() {
                self.adopt(with);
                if self.given {
                    self.bound(rate, seen, Some((more, None)));
                }
                return Ok(Added::Unknown);
            }
            if !tried.is_better_than(&best) {
                self.adopt(with);
                self.enough_at.push(rate);
                self.forget(rate);
                return Ok(Added::Fails);
            }
            if self.given {
                self.enough_at.push(rate);
                self.bound(rate, seen, Some((more, Some(tried.achieved))));
                return Ok(Added::Fails);
            }
            (with, best) = (more, tried);
            if tried.held == Some(true) {
                self.adopt(with);
                return Ok(Added::Holds);
            }
            if !tried.by_connections {
                self.adopt(with);
                self.enough_at.push(rate);
                return Ok(Added::Fails);
            }
        }
    }

    fn adopt(&mut self, connections: u32) {
        if !self.given {
            self.now = connections;
        }
    }

    fn bound(&mut self, rate: f64, seen: Seen, more: Option<(u32, Option<f64>)>) {
        self.limited = Some(Limited {
            connections: self.now,
            rate,
            more: more.map(|more| more.0),
            achieved: seen.achieved,
            achieved_with_more: more.and_then(|more| more.1),
            given: self.given,
        });
    }

    /// What was said of `rate` does not stand.
    fn forget(&mut self, rate: f64) {
        self.limited = self.limited.filter(|limited| limited.rate != rate);
    }
}

/// Probes, and again where that said nothing, up to [`TRIES_MAX`] times.
fn told<E>(mut probe: impl FnMut() -> Result<Seen, E>) -> Result<Seen, E> {
    let mut seen = probe()?;
    for _ in 1..TRIES_MAX {
        if seen.held.is_some() {
            break;
        }
        seen = probe()?;
    }
    Ok(seen)
}

impl Limited {
    /// Whether it is known that these were the limit: more of them did better, or were not to be
    /// tried.
    pub fn is_known(&self) -> bool {
        self.more.is_none() || self.achieved_with_more.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::super::search::{Ending, Limits, Search, Step, Verdict};
    use super::*;

    /// A server that answers after `delay_s`, at most `most` a second, under an offered `rate`. An
    /// answer may take 50 ms.
    fn served(rate: f64, connections: u32, delay_s: f64, most: f64) -> Seen {
        let by_connections = f64::from(connections) / delay_s;
        let achieved = rate.min(by_connections).min(most);
        let held = rate <= by_connections && rate <= most;
        // Once it is full each answer takes as long as all that are asked for.
        let service_s = delay_s.max(f64::from(connections) / most);
        Seen {
            held: Some(held),
            by_connections: !held && service_s < 0.050,
            achieved,
            p99_us: None,
        }
    }

    /// Searches such a server, and says between which rates and with how many connections it ended.
    fn search(
        mut connections: Connections,
        (delay_s, most): (f64, f64),
    ) -> (f64, f64, Connections) {
        let mut search = Search::new(Limits {
            from: 1000.0,
            lowest: 1.0,
            to: 1e6,
            precision: 0.01,
            repeats: 3,
            confirmations: 5,
            probes_max: 200,
        });
        loop {
            let probe = match search.step() {
                Step::Probe(probe) => probe,
                Step::Done(found) => {
                    assert_eq!(found.ending, Ending::Between);
                    let rate = |edge: Option<super::super::search::Edge>| edge.unwrap().rate;
                    return (rate(found.held), rate(found.failed), connections);
                }
            };
            let edge = probe.kind == super::super::search::Kind::Confirm;
            let seen = served(probe.rate, connections.now(), delay_s, most);
            let holds = seen.held == Some(true)
                || connections.add((probe.rate, edge), seen, |more| {
                    Ok::<_, ()>(served(probe.rate, more, delay_s, most))
                }) == Ok(Added::Holds);
            search.answer(match holds {
                true => Verdict::Pass,
                false => Verdict::Fail,
            });
        }
    }

    #[test]
    fn connections_are_added_until_the_server_is_the_limit() {
        // Ten connections to a server that takes 10 ms hold 1,000/s; it could do 20,000.
        let found = search(Connections::new(10, false, MOST), (0.010, 20_000.0));
        let (held, failed, connections) = found;
        assert!(held <= 20_000.0 && 20_000.0 < failed, "{held} {failed}");
        assert!(connections.now() >= 200, "{connections:?}");
        assert_eq!(connections.limited(), None);
    }

    #[test]
    fn a_server_that_is_full_gets_no_more_connections_than_help() {
        let found = search(Connections::new(10, false, MOST), (0.000_1, 5_000.0));
        let (held, failed, connections) = found;
        assert!(held <= 5_000.0 && 5_000.0 < failed, "{held} {failed}");
        assert_eq!(connections.now(), 10);
        assert_eq!(connections.limited(), None);
    }

    #[test]
    fn connections_that_were_given_stay_and_the_answer_is_theirs() {
        let found = search(Connections::new(10, true, MOST), (0.010, 20_000.0));
        let (held, failed, connections) = found;
        assert!(held <= 1000.0 && 1000.0 < failed, "{held} {failed}");
        let limited = connections.limited().expect("it is theirs");
        assert_eq!((limited.connections, limited.more), (10, Some(20)));
        assert_eq!(limited.rate, failed);
        assert_eq!(connections.now(), 10);
    }

    #[test]
    fn connections_that_were_given_and_suffice_are_no_limit() {
        let found = search(Connections::new(400, true, MOST), (0.010, 20_000.0));
        assert!(found.0 <= 20_000.0 && 20_000.0 < found.1);
        assert_eq!(found.2.limited(), None);
    }

    #[test]
    fn where_no_more_may_be_added_they_are_the_limit() {
        let found = search(Connections::new(10, false, 100), (0.010, 20_000.0));
        let (held, failed, connections) = found;
        assert!(held <= 10_000.0 && 10_000.0 < failed, "{held} {failed}");
        let limited = connections.limited().expect("a hundred are too few");
        assert_eq!((limited.connections, limited.more), (100, None));
    }

    #[test]
    fn a_probe_that_says_nothing_settles_nothing() {
        let mut connections = Connections::new(10, false, MOST);
        let seen = served(2000.0, 10, 0.010, 20_000.0);
        let nothing = Seen { held: None, ..seen };
        let mut tries = 0;
        let unknown = connections.add((2000.0, false), seen, |_| {
            tries += 1;
            Ok::<_, ()>(nothing)
        });
        assert_eq!((unknown, connections.now()), (Ok(Added::Unknown), 10));
        assert_eq!(tries, TRIES_MAX);
        let known = |more| Ok::<_, ()>(served(2000.0, more, 0.010, 20_000.0));
        let added = connections.add((2000.0, false), seen, known);
        assert_eq!(added, Ok(Added::Holds));
        assert_eq!(connections.now(), 20);
    }

    #[test]
    fn a_disturbed_probe_over_more_than_given_connections_is_made_again() {
        let mut connections = Connections::new(10, true, MOST);
        let seen = served(2000.0, 10, 0.010, 20_000.0);
        let nothing = Seen { held: None, ..seen };
        let mut tries = 0;
        let once_disturbed = |more| {
            tries += 1;
            Ok::<_, ()>(match tries {
                1 => nothing,
                _ => served(2000.0, more, 0.010, 20_000.0),
            })
        };
        let added = connections.add((2000.0, true), seen, once_disturbed);
        assert_eq!((added, tries), (Ok(Added::Fails), 2));
        let limited = connections.limited().expect("the rate holds with more");
        assert!(
            limited.is_known() && limited.more == Some(20),
            "{limited:?}"
        );
    }

    #[test]
    fn what_stays_disturbed_is_a_bound_that_says_so() {
        let mut connections = Connections::new(10, true, MOST);
        let seen = served(2000.0, 10, 0.010, 20_000.0);
        let nothing = Seen { held: None, ..seen };
        let added = connections.add((2000.0, true), seen, |_| Ok::<_, ()>(nothing));
        assert_eq!(added, Ok(Added::Unknown));
        let limited = connections.limited().expect("nobody knows better");
        assert!(
            !limited.is_known() && limited.more == Some(20),
            "{limited:?}"
        );
        // The next probe of the edge finds that more change nothing: then it is the server.
        let full = |_| {
            Ok::<_, ()>(Seen {
                held: Some(false),
                ..seen
            })
        };
        let added = connections.add((2000.0, true), seen, full);
        assert_eq!(added, Ok(Added::Fails));
        assert_eq!(connections.limited(), None);
    }

    #[test]
    fn a_probe_that_could_not_be_made_is_told_and_leaves_a_bound_that_is_not_known() {
        for given in [true, false] {
            let mut connections = Connections::new(10, given, MOST);
            let seen = served(5000.0, 10, 0.010, 20_000.0);
            let no_more = |more| match more {
                20 if !given => Ok(served(5000.0, more, 0.010, 20_000.0)),
                _ => Err("too many open files"),
            };
            let added = connections.add((5000.0, true), seen, no_more);
            assert_eq!(added, Err("too many open files"));
            let limited = connections.limited().expect("nobody knows better");
            assert!(!limited.is_known(), "{limited:?}");
            let (now, more) = if given { (10, 20) } else { (20, 40) };
            assert_eq!((connections.now(), limited.connections), (now, now));
            assert_eq!(limited.more, Some(more));
        }
    }
}

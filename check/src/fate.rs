//! What became of the requests of an open loop that were due, and of the flows of its users.

use measure::tally::Tally;
use measure::units::wrk_time_us;
use plan::Plan;

/// Achieved ÷ offered below this is not the load that was asked for.
const ACHIEVED_SHARE_MIN: f64 = 0.99;

/// What became of the requests that were due.
#[derive(Clone, Copy, Debug, Default)]
pub struct Fate {
    /// How many those are.
    pub due: u64,
    /// They were answered as they should be.
    pub completed: u64,
    /// They weren't, or the exchange failed.
    pub failed: u64,
    /// They waited to the end.
    pub never_sent: u64,
    /// Of these, those that waited for a server that couldn't be reached.
    pub away: u64,
    /// They were sent, and nothing came.
    pub unanswered: u64,
    /// Events that came in streams, which may have begun before the window.
    pub events: u64,
}

impl Fate {
    /// Of all that workers counted.
    pub fn of<'t>(tallies: impl Iterator<Item = &'t Tally>) -> Fate {
        let mut fate = Fate::default();
        for tally in tallies {
            fate.due += tally.intended;
            // A stream that goes on when the run ends is as good as any.
            fate.completed += tally.completed + tally.streams.cut_off;
            fate.events += tally.streams.events;
            fate.failed += tally.failed;
            fate.never_sent += tally.never_sent;
            fate.away += tally.waits.counts.unreachable_never_sent;
            let open = tally.unfinished.saturating_sub(tally.never_sent);
            fate.unanswered += open.saturating_sub(tally.streams.cut_off);
        }
        fate
    }

    /// That fewer were completed than the rate asks for, and what became of the rest. A server that
    /// answers each with an error was asked at that rate, and did not fall behind. `few_users`: it
    /// were users that were missing.
    pub fn too_few(self, few_users: bool) -> Option<String> {
        let Fate { due, completed, .. } = self;
        if completed as f64 >= due as f64 * ACHIEVED_SHARE_MIN {
            return None;
        }
        let rest = [
            (self.failed, "failed"),
            (self.away, "never sent because the server was unreachable"),
            (self.never_sent - self.away, "never sent"),
            (self.unanswered, "unanswered at the end"),
        ];
        let rest = rest.into_iter().filter(|(count, _)| *count > 0);
        let rest: Vec<String> = rest
            .map(|(count, what)| format!("{count} {what}"))
            .collect();
        let rest = rest.join(", ");
        // A server that is gone can't be too slow.
        let behind = match 2 * self.away > due - completed {
            true => "the server was unreachable for a part of the load",
            false if few_users => "the users (-c) were too few for the offered rate",
            false => "the server couldn't keep up with the offered rate",
        };
        Some(match self.never_sent + self.unanswered {
            0 => format!(
                "{} of {due} requests failed, so fewer succeeded than were offered; the errors say \
                 why",
                self.failed
            ),
            _ => format!(
                "{behind}: of {due} requests that were due, {completed} were completed ({rest})"
            ),
        })
    }
}

/// That flows were due more often than so many users can begin them, each busy for as long as a
/// flow took.
pub fn few_users<'t>(
    plan: &Plan,
    duration_s: f64,
    tallies: impl Iterator<Item = &'t Tally>,
) -> Option<String> {
    let (mut due, mut count, mut spent_ns) = (0, 0, 0.0);
    let flows = tallies.filter_map(|tally| tally.steps.last());
    for flows in flows.filter(|_| plan.has_users()) {
        due += flows.intended;
        count += flows.service.count();
        spent_ns += flows.service.sum() as f64;
    }
    if count == 0 || duration_s <= 0.0 {
        return None;
    }
    let (users, takes_s) = (plan.own_connections(), spent_ns / 1e9 / count as f64);
    let wanted = due as f64 / duration_s;
    // Little's law.
    let needed = (wanted * takes_s).ceil();
    (needed > f64::from(users)).then(|| {
        format!(
            "-c {users} allows at most {:.1} flows/s, since a flow took {}: {wanted:.1}/s need \
             about {needed:.0} users, or a faster server",
            f64::from(users) / takes_s,
            wrk_time_us(takes_s * 1e6)
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_fails_is_told_from_one_that_falls_behind() {
        let told = |completed, failed, never_sent, unanswered| {
            let due = completed + failed + never_sent + unanswered;
            let fate = Fate {
                events: 0,
                due,
                completed,
                failed,
                never_sent,
                away: 0,
                unanswered,
            };
            fate.too_few(false)
        };
        assert_eq!(told(991, 3, 3, 3), None);
        let failed = told(900, 100, 0, 0).unwrap();
        assert!(
            failed.starts_with("100 of 1000 requests failed, so fewer succeeded"),
            "{failed}"
        );
        let behind = told(900, 0, 80, 20).unwrap();
        assert_eq!(
            behind,
            "the server couldn't keep up with the offered rate: of 1000 requests that were due, \
             900 were completed (80 never sent, 20 unanswered at the end)"
        );
        let both = told(500, 400, 100, 0).unwrap();
        assert!(both.ends_with("(400 failed, 100 never sent)"), "{both}");
        let few_users = Fate {
            due: 10,
            never_sent: 10,
            ..Fate::default()
        };
        let told = few_users.too_few(true).unwrap();
        assert!(
            told.starts_with("the users (-c) were too few for the"),
            "{told}"
        );
        let gone = Fate {
            events: 0,
            due: 1_000,
            completed: 400,
            failed: 10,
            never_sent: 590,
            away: 585,
            unanswered: 0,
        };
        assert_eq!(
            gone.too_few(false).unwrap(),
            "the server was unreachable for a part of the load: of 1000 requests that were due, \
             400 were completed (10 failed, 585 never sent because the server was unreachable, 5 \
             never sent)"
        );
    }
}

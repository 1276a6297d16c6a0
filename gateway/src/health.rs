//! Whether a server is healthy: by what it answers to requests, and by what it answers when asked.
//! The time is an argument. Each worker knows servers by itself.

use measure::time::Time;

use crate::config::{Health, Outlier};

/// However often a server was left out: not longer than so many times [`Outlier::ejection`].
const EJECTIONS_MAX: u32 = 30;

/// What a server is to a worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// It should get requests.
    Up,
    /// Checks say so.
    Unhealthy,
    /// It's left out for a while, since it failed requests.
    Ejected,
}

/// What is known of a server.
#[derive(Debug)]
pub(crate) struct Condition {
    /// Failures in a row.
    failures: u32,
    /// It's left out until then.
    ejected_until: Time,
    /// How often it was, lately.
    ejections: u32,
    /// What checks said last, often enough.
    healthy: bool,
    /// Checks in a row that said the opposite.
    contrary: u32,
}

impl Default for Condition {
    fn default() -> Condition {
        Condition {
            failures: 0,
            ejected_until: Time(0),
            ejections: 0,
            // Who hasn't been asked yet gets requests: a gateway that starts isn't away until all
            // checks are through.
            healthy: true,
            contrary: 0,
        }
    }
}

impl Condition {
    /// Whether it should get requests.
    pub(crate) fn is_usable(&self, now: Time) -> bool {
        self.state(now) == State::Up
    }

    /// What it is.
    pub(crate) fn state(&self, now: Time) -> State {
        match self.healthy {
            false => State::Unhealthy,
            true if now < self.ejected_until => State::Ejected,
            true => State::Up,
        }
    }

    /// Whether checks say that it's healthy.
    #[cfg(test)]
    fn is_healthy(&self) -> bool {
        self.healthy
    }

    /// It answered a request as it should.
    pub(crate) fn succeeded(&mut self, rule: &Outlier, now: Time) {
        self.failures = 0;
        // Who has behaved for as long as he was left out is trusted again.
        if self.ejections > 0 && now >= self.ejected_until + rule.ejection {
            self.ejections -= 1;
            self.ejected_until = now;
        }
    }

    /// It failed a request. Says whether it's left out for that, from now on.
    pub(crate) fn failed(&mut self, rule: &Outlier, now: Time) -> bool {
        self.failures = self.failures.saturating_add(1);
        if rule.errors == 0 || self.failures < rule.errors || now < self.ejected_until {
            return false;
        }
        self.failures = 0;
        self.ejections = (self.ejections + 1).min(EJECTIONS_MAX);
        self.ejected_until = now + rule.ejection * self.ejections;
        true
    }

    /// A check found it healthy or not. Says whether that has changed what is thought of it.
    pub(crate) fn checked(&mut self, rule: &Health, healthy: bool) -> bool {
        if healthy == self.healthy {
            self.contrary = 0;
            return false;
        }
        self.contrary += 1;
        let enough = match healthy {
            true => rule.healthy,
            false => rule.unhealthy,
        };
        if self.contrary < enough {
            return false;
        }
        self.contrary = 0;
        self.healthy = healthy;
        true
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const RULE: Outlier = Outlier {
        errors: 3,
        ejection: Duration::from_secs(10),
        panic_threshold: 0.5,
    };

    fn at(seconds: u64) -> Time {
        Time(seconds * 1_000_000_000)
    }

    #[test]
    fn failures_in_a_row_leave_a_server_out_for_longer_each_time() {
        let mut one = Condition::default();
        assert!(!one.failed(&RULE, at(1)) && !one.failed(&RULE, at(1)));
        one.succeeded(&RULE, at(1));
        assert!(!one.failed(&RULE, at(1)) && !one.failed(&RULE, at(1)));
        assert!(one.failed(&RULE, at(1)), "three in a row");
        assert!(!one.is_usable(at(10)) && one.is_usable(at(11)));
        (0..2).for_each(|_| assert!(!one.failed(&RULE, at(11))));
        assert!(one.failed(&RULE, at(11)));
        assert!(!one.is_usable(at(30)) && one.is_usable(at(31)));
        // A good while without a fault, twice, and it counts as before.
        one.succeeded(&RULE, at(41));
        one.succeeded(&RULE, at(51));
        (0..2).for_each(|_| assert!(!one.failed(&RULE, at(60))));
        assert!(one.failed(&RULE, at(60)));
        assert!(!one.is_usable(at(69)) && one.is_usable(at(70)));
    }

    #[test]
    fn no_rule_leaves_nobody_out() {
        let mut one = Condition::default();
        let rule = Outlier { errors: 0, ..RULE };
        (0..100).for_each(|_| assert!(!one.failed(&rule, at(1))));
        assert!(one.is_usable(at(1)));
    }

    #[test]
    fn checks_have_to_agree_before_they_count() {
        let rule = Health {
            path: "/".into(),
            host: "h".into(),
            interval: Duration::from_secs(1),
            timeout: Duration::from_secs(1),
            healthy: 2,
            unhealthy: 3,
        };
        let mut one = Condition::default();
        let said = [
            false, false, true, false, false, false, true, false, true, true,
        ];
        let changed: Vec<bool> = said
            .iter()
            .map(|&found| one.checked(&rule, found))
            .collect();
        let expected = [5, 9];
        for (check, changed) in changed.into_iter().enumerate() {
            assert_eq!(changed, expected.contains(&check), "check {check}");
        }
        assert!(one.is_healthy());
    }
}

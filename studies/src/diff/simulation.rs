//! How often two sessions of which the truth is known are said to hold a regression, from seeds.
//! In a session every round has a level that all rows share, every start of a row settles on a
//! level of its own, and the second session is drawn at another level altogether.

use lab::manifest::{Outcome, Role};
use lab::sample::Sample;
use lab::store::Kept;
use statistics::Random;

use super::*;
use crate::made_up::{kept, row, setup};

/// What a host does to figures, as shares.
#[derive(Clone, Copy, Debug)]
struct Host {
    /// To each round of each row.
    noise: f64,
    /// To each start of a row.
    starts: f64,
    /// To all rows of a round alike.
    shared: f64,
    rounds: u32,
}

const USUAL: Host = Host {
    noise: 0.02,
    starts: 0.01,
    shared: 0.03,
    rounds: 7,
};

/// A session: `mine`, which is another program in each, beside a baseline, the baseline once more
/// and as many further subjects as `others` says, all of which stay what they are.
struct Session {
    drift: f64,
    /// What `mine` serves, as a multiple of the baseline.
    mine: f64,
    /// What the first of the others serves, as a multiple of what it should.
    swayed: f64,
    others: usize,
}

fn session(host: Host, session: &Session, hash: &str, random: &mut Random) -> Measured {
    let mut shared = || session.drift * (host.shared * random.normal()).exp();
    let shared: Vec<f64> = (0..host.rounds).map(|_| shared()).collect();
    let mut rows = vec![
        ("base", Role::Subject, 1.0),
        ("base-again", Role::Again, 1.0),
    ];
    let others = ["one", "two", "three"].into_iter().take(session.others);
    rows.extend(others.map(|name| (name, Role::Subject, 0.5)));
    if let Some(other) = rows.get_mut(2) {
        other.2 *= session.swayed;
    }
    rows.push(("mine", Role::Subject, session.mine));
    let of = |(name, role, level): (&str, Role, f64)| {
        let level = 1e5 * level * (host.starts * random.normal()).exp();
        let sample = |(at, shared): (usize, &f64)| Sample {
            round: at as u32 + 1,
            requests_per_second: level * shared * (host.noise * random.normal()).exp(),
            server_busy: 0.99,
            completed: 1000,
            ..Sample::default()
        };
        let samples: Vec<Sample> = shared.iter().enumerate().map(sample).collect();
        let (mut facts, mut rounds) = row(name, Outcome::Measured, Vec::new());
        facts.role = role;
        facts.subject = name.trim_end_matches("-again").into();
        facts.source = Some("the same".into());
        facts.binaries = vec![super::tests::binary(match name {
            "mine" => hash,
            _ => "the same",
        })];
        rounds.extend(
            samples
                .into_iter()
                .map(|sample| super::tests::round(name, sample)),
        );
        (facts, rounds)
    };
    let rows = rows.into_iter().map(of).collect();
    let mut setup = setup();
    setup.baseline = "base".into();
    let (manifest, rounds) = kept(setup, Vec::new(), rows);
    Measured::of_comparison(Kept { manifest, rounds })
}

/// How many of so many pairs of sessions are said to hold a regression of `mine`, and how many
/// cannot tell.
fn said(host: Host, others: usize, drift: f64, mine: f64, swayed: f64) -> (usize, usize) {
    let mut random = Random::new(11);
    let (mut regressions, mut open) = (0, 0);
    for _ in 0..TRIALS {
        let before = Session {
            drift: 1.0,
            mine: 1.0,
            swayed: 1.0,
            others,
        };
        let after = Session {
            drift,
            mine,
            swayed,
            others,
        };
        let old = session(host, &before, "then", &mut random);
        let new = session(host, &after, "now", &mut random);
        let diff = between(&old, &new, None).expect("rows in common");
        let of_mine = |finding: &&Finding| finding.row == "mine";
        let mine = diff.findings.iter().find(of_mine).expect("a finding");
        regressions += usize::from(mine.regression);
        open += usize::from(mine.open);
        let others = diff.findings.iter().filter(|finding| finding.row != "mine");
        assert_eq!(others.filter(|finding| finding.regression).count(), 0);
    }
    println!("{host:?}, {others} others, drift {drift}: {regressions} and {open} open of {TRIALS}");
    (regressions, open)
}

const TRIALS: usize = 150;

#[test]
fn a_host_that_drifts_is_no_regression() {
    for (host, others) in [
        (USUAL, 0),
        (USUAL, 2),
        (
            Host {
                starts: 0.0,
                ..USUAL
            },
            1,
        ),
        (
            Host {
                starts: 0.03,
                ..USUAL
            },
            0,
        ),
        (
            Host {
                starts: 0.03,
                ..USUAL
            },
            2,
        ),
        (
            Host {
                noise: 0.08,
                rounds: 5,
                ..USUAL
            },
            1,
        ),
    ] {
        for drift in [1.0 / 1.2, 1.2] {
            let (regressions, _) = said(host, others, drift, 1.0, 1.0);
            // 5 % of 150 are 7.5; half of them on the side that is a regression.
            assert!(regressions <= 7, "{host:?}: {regressions} of {TRIALS}");
        }
    }
}

#[test]
fn a_regression_of_a_fifth_is_found_though_the_host_drifts() {
    for others in [0, 2] {
        for drift in [1.0 / 1.2, 1.0, 1.2] {
            let (regressions, _) = said(USUAL, others, drift, 0.8, 1.0);
            assert!(regressions >= 130, "{others}: {regressions} of {TRIALS}");
        }
    }
}

#[test]
fn anchors_that_moved_apart_prove_nothing() {
    let (regressions, open) = said(USUAL, 1, 1.2, 0.8, 0.7);
    assert!(
        regressions == 0 && open >= 140,
        "{regressions}, {open} open of {TRIALS}"
    );
}

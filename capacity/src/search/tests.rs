//! The search against simulated subjects whose capacity is known.

use statistics::Random;

use super::*;

const LIMITS: Limits = Limits {
    from: 1000.0,
    lowest: 1.0,
    to: 1e6,
    precision: 0.01,
    repeats: 3,
    confirmations: 5,
    probes_max: 200,
};

/// Searches `subject` to the end; also all probes with their answers.
fn search(
    limits: Limits,
    mut subject: impl FnMut(&Probe) -> Verdict,
) -> (Found, Vec<(Probe, Verdict)>) {
    let mut search = Search::new(limits);
    let mut log = Vec::new();
    loop {
        match search.step() {
            Step::Probe(probe) => {
                let verdict = subject(&probe);
                log.push((probe, verdict.clone()));
                search.answer(verdict);
            }
            Step::Done(found) => return (found, log),
        }
        assert!(log.len() < 1000, "the search does not end");
    }
}

fn holds(condition: bool) -> Verdict {
    match condition {
        true => Verdict::Pass,
        false => Verdict::Fail,
    }
}

fn edges(found: &Found) -> (f64, f64) {
    let rate = |edge: &Option<Edge>| edge.expect("an edge").rate;
    (rate(&found.held), rate(&found.failed))
}

#[test]
fn a_sharp_limit_is_found_within_the_precision_and_confirmed_from_both_sides() {
    for limit in [1.5, 37.0, 999.0, 1000.0, 1001.0, 20_000.0, 123_456.0] {
        let (found, log) = search(LIMITS, |probe| holds(probe.rate <= limit));
        let (held, failed) = edges(&found);
        assert!(held <= limit && limit < failed, "{limit}: {found:?}");
        assert!(failed <= held * 1.010_001, "{limit}: {found:?}");
        assert!(found.is_exact());
        let (held, failed) = (found.held.unwrap(), found.failed.unwrap());
        assert!(held.confirmed && (held.agreeing, held.probes) == (5, 5));
        assert!(failed.confirmed && failed.agreeing == 3);
        assert!(found.out_of_order.is_empty() && found.overturned == 0);
        assert_eq!(found.probes as usize, log.len());
        assert!(log.len() < 70, "{limit}: {} probes", log.len());
    }
}

#[test]
fn the_curve_is_measured_below_and_above_the_edge() {
    let (found, log) = search(LIMITS, |probe| holds(probe.rate <= 20_000.0));
    let (held, failed) = edges(&found);
    let curve: Vec<f64> = log
        .iter()
        .filter(|(probe, _)| probe.kind == Kind::Curve)
        .map(|(probe, _)| probe.rate)
        .collect();
    let expected = [
        0.25 * held,
        0.5 * held,
        0.8 * held,
        0.9 * held,
        1.2 * failed,
    ];
    assert_eq!(curve.len(), expected.len());
    for (rate, expected) in curve.iter().zip(expected) {
        assert!((rate / expected - 1.0).abs() < 1e-3, "{rate} {expected}");
    }
}

#[test]
fn a_limit_that_flips_near_its_edge_is_found_where_it_flips() {
    for seed in 0..200 {
        let mut random = Random::new(seed);
        // Holds for sure up to 19,600, never from 20,400 on, and evenly less often in between.
        let (found, _) = search(LIMITS, |probe| {
            let share = (probe.rate - 19_600.0) / 800.0;
            holds(random.below(1_000_000) as f64 / 1e6 >= share)
        });
        let (held, failed) = edges(&found);
        assert!(found.is_exact(), "seed {seed}: {found:?}");
        assert!(
            (19_400.0..20_400.0).contains(&held),
            "seed {seed}: {found:?}"
        );
        assert!(
            (19_600.0..20_600.0).contains(&failed),
            "seed {seed}: {found:?}"
        );
        assert!(found.held.unwrap().confirmed && found.failed.unwrap().confirmed);
    }
}

#[test]
fn a_subject_that_stays_slow_after_an_overload_is_given_rest_until_it_has_recovered() {
    // After an overload it fails at any rate until it has had four rests in a row.
    let mut tired = 0;
    let (found, log) = search(LIMITS, |probe| {
        tired = match probe.rests {
            0..4 => tired,
            _ => 0,
        };
        let holding = probe.rate <= 5000.0 && tired == 0;
        tired += u32::from(probe.rate > 5000.0);
        holds(holding)
    });
    let (held, failed) = edges(&found);
    assert!(
        held <= 5000.0 && 5000.0 < failed && failed / held < 1.0101,
        "{found:?}"
    );
    assert!(found.not_recovered > 0, "{found:?}");
    let controls: Vec<u32> = log
        .iter()
        .filter(|(probe, _)| probe.kind == Kind::Control)
        .map(|(probe, _)| probe.rests)
        .collect();
    assert!(controls.starts_with(&[1, 2, 4]), "{controls:?}");
}

#[test]
fn a_probe_that_was_spoilt_is_no_sign_of_recovery() {
    // From its second probe on nothing holds; every second probe is spoilt.
    let mut asked = 0;
    let (found, log) = search(LIMITS, |probe| {
        asked += 1;
        match asked {
            1..=3 => holds(probe.rate <= 2000.0),
            _ if asked % 2 == 0 => Verdict::Unknown("the host".to_owned()),
            _ => Verdict::Fail,
        }
    });
    let controls = log.iter().filter(|(probe, _)| probe.kind == Kind::Control);
    let failed = controls.filter(|(_, verdict)| *verdict == Verdict::Fail);
    assert_eq!(failed.count() as u32, found.not_recovered);
    // Longer and longer rests, although the probe between two failures was spoilt each time.
    let rests: Vec<u32> = log.iter().map(|(probe, _)| probe.rests).collect();
    assert!(rests.contains(&8), "{rests:?}");
    // A host that spoils every control does not keep the search for ever.
    let mut asked = 0;
    let (_, log) = search(LIMITS, |probe| {
        asked += 1;
        match probe.kind {
            Kind::Control => Verdict::Unknown("the host".to_owned()),
            _ => holds(asked <= 2),
        }
    });
    assert!(log.len() < LIMITS.probes_max as usize, "{}", log.len());
}

#[test]
fn a_subject_that_never_recovers_does_not_keep_the_search_for_ever() {
    let mut broken = false;
    let (found, log) = search(LIMITS, |probe| {
        broken |= probe.rate > 5000.0;
        holds(!broken)
    });
    assert!(found.held.is_none_or(|edge| edge.rate <= 5000.0));
    assert!(found.not_recovered >= 4);
    assert!(log.len() <= LIMITS.probes_max as usize);
}

#[test]
fn an_answer_out_of_order_counts_against_the_subject_and_is_named() {
    // Between 3,000 and 3,500 something resonates; 4,000 holds again.
    let (found, _) = search(LIMITS, |probe| {
        holds(probe.rate <= 8500.0 && !(2900.0..3900.0).contains(&probe.rate))
    });
    let (held, failed) = edges(&found);
    // Doubling jumps over the gap, so what is found is the upper edge: nothing is out of order.
    assert!(
        (8400.0..8500.1).contains(&held) && failed > 8500.0,
        "{found:?}"
    );
    let from = Limits {
        from: 3000.0,
        ..LIMITS
    };
    // Once that gap is seen the lower edge is what holds.
    let (found, _) = search(from, |probe| {
        holds(probe.rate <= 8500.0 && !(2900.0..3900.0).contains(&probe.rate))
    });
    let (held, failed) = edges(&found);
    assert!(
        (2860.0..2900.0).contains(&held) && failed < 2930.0,
        "{found:?}"
    );
}

#[test]
fn a_rate_that_holds_above_one_that_fails_is_out_of_order() {
    // What is confirmed once too often: 8,000 held while doubling, and never afterwards.
    let mut first = true;
    let (found, _) = search(LIMITS, |probe| {
        let lucky = probe.rate == 4000.0 && std::mem::take(&mut first);
        let inside = probe.rate > 3900.0 && probe.rate < 4100.0;
        holds(probe.rate <= 4050.0 && !inside || lucky)
    });
    let (held, failed) = edges(&found);
    assert!(held <= 3900.0 && failed <= 4000.0, "{found:?}");
    assert!(found.overturned > 0, "{found:?}");
}

#[test]
fn where_the_generator_was_the_limit_there_is_a_lower_bound_and_never_a_capacity() {
    let (found, _) = search(LIMITS, |probe| match probe.rate {
        rate if rate > 60_000.0 => Verdict::Unknown("sent too late".to_owned()),
        rate => holds(rate <= 90_000.0),
    });
    assert!(!found.is_exact());
    assert_eq!(
        found.ending,
        Ending::GeneratorLimited("sent too late".to_owned())
    );
    let held = found.held.expect("a lower bound");
    assert!((59_000.0..=60_000.0).contains(&held.rate) && held.confirmed);
    assert_eq!(found.failed, None);
    let (found, log) = search(LIMITS, |_| Verdict::Unknown("no room".to_owned()));
    assert_eq!(found.ending, Ending::NotKnown("no room".to_owned()));
    assert_eq!((found.held, found.failed), (None, None));
    assert!(log.len() <= 70, "{} probes", log.len());
}

#[test]
fn one_probe_that_says_nothing_is_made_again() {
    let mut asked = 0;
    let (found, _) = search(LIMITS, |probe| {
        asked += 1;
        match asked % 5 {
            0 => Verdict::Unknown("somebody else had the processor".to_owned()),
            _ => holds(probe.rate <= 7000.0),
        }
    });
    let (held, failed) = edges(&found);
    assert!(
        found.is_exact() && held <= 7000.0 && 7000.0 < failed,
        "{found:?}"
    );
}

/// A server that holds up to `limit`, on a host that spoils `share` of all probes: whoever is
/// spoilt says nothing.
fn disturbed(limit: f64, share: f64, seed: u64) -> impl FnMut(&Probe) -> Verdict {
    let mut random = Random::new(seed);
    move |probe| match (random.below(1_000_000) as f64) < 1e6 * share {
        true => Verdict::Unknown("the generator stalled for 80 ms".to_owned()),
        false => holds(probe.rate <= limit),
    }
}

#[test]
fn a_disturbed_host_costs_probes_and_moves_no_edge() {
    for (share, bounds_max) in [(0.1, 0), (0.25, 12), (0.4, 60)] {
        let mut bounds = 0;
        for seed in 0..100 {
            let (found, _) = search(LIMITS, disturbed(17_000.0, share, seed));
            let held = found.held.expect("something held").rate;
            assert!(held <= 17_000.0, "{share}, seed {seed}: {found:?}");
            if found.is_exact() {
                let (held, failed) = edges(&found);
                assert!(
                    held <= 17_000.0 && 17_000.0 < failed && failed <= 1.0101 * held,
                    "{share}, seed {seed}: {found:?}"
                );
            } else {
                // Where too many probes of a rate were spoilt, what is said is a bound.
                assert!(
                    matches!(found.ending, Ending::GeneratorLimited(_)),
                    "{share}, seed {seed}: {found:?}"
                );
                bounds += 1;
            }
        }
        println!("{share} of all probes spoilt: {bounds} of 100 searches end in a bound");
        assert!(bounds <= bounds_max, "{share}: {bounds}");
    }
}

/// A server that holds up to 20,000. From its first confirming probe on everything fails for so
/// many probes, since the host is disturbed and nobody sees it; `then` says what fails afterwards.
fn fails_for_a_while(spell: u32, then: fn(f64) -> bool) -> impl FnMut(&Probe) -> Verdict {
    let (mut begun, mut left) = (false, spell);
    move |probe| {
        begun |= probe.kind == Kind::Confirm;
        let spoilt = begun && left > 0;
        left -= u32::from(spoilt);
        let fails = spoilt || begun && then(probe.rate);
        holds(probe.rate <= 20_000.0 && !fails)
    }
}

#[test]
fn an_edge_far_below_rates_that_held_is_never_called_the_capacity() {
    let mut wrong_at_first = 0;
    for spell in 1..=40 {
        let (found, log) = search(LIMITS, fails_for_a_while(spell, |_| false));
        assert!(log.len() <= 200, "{spell}: {} probes", log.len());
        let (held, failed) = edges(&found);
        wrong_at_first += found.overturned;
        if found.is_exact() {
            assert!(
                held <= 20_000.0 && failed <= 1.0101 * held,
                "{spell}: {found:?}"
            );
            assert!(failed > 20_000.0 / 1.05, "{spell}: {found:?}");
        } else {
            let told = [Ending::Contradicted, Ending::OutOfProbes].contains(&found.ending);
            assert!(told, "{spell}: {found:?}");
        }
    }
    assert!(wrong_at_first > 0, "nothing was put to the test");
}

#[test]
fn what_its_own_probes_contradict_is_called_contradicted() {
    // Once it is pushed down there, something between 12,000 and 18,500 fails for ever.
    let gap = |rate: f64| (12_000.0..18_500.0).contains(&rate);
    let contradicted = (1..=60)
        .map(|spell| search(LIMITS, fails_for_a_while(spell, gap)).0)
        .inspect(|found| println!("{found:?}"))
        .filter(|found| {
            let failed = found.failed.expect("it failed").rate;
            if found.ending == Ending::Contradicted {
                assert!(!found.out_of_order.is_empty(), "{found:?}");
                assert!(found.out_of_order.iter().all(|rate| *rate > failed));
            }
            assert!(!found.is_exact() || failed > 19_000.0 || found.out_of_order.is_empty());
            found.ending == Ending::Contradicted
        })
        .count();
    assert!(contradicted > 0);
}

#[test]
fn nothing_holds_where_even_the_lowest_rate_fails() {
    let (found, log) = search(LIMITS, |_| Verdict::Fail);
    assert_eq!(found.ending, Ending::NothingHeld);
    assert_eq!(found.held, None);
    let failed = found.failed.expect("the lowest rate");
    assert!(failed.rate == 1.0 && failed.confirmed);
    assert!(log.iter().all(|(probe, _)| probe.kind != Kind::Control));
}

#[test]
fn where_the_highest_rate_holds_it_is_a_lower_bound() {
    let to = Limits {
        to: 50_000.0,
        ..LIMITS
    };
    let (found, log) = search(to, |_| Verdict::Pass);
    assert_eq!(found.ending, Ending::HighestHeld);
    assert_eq!(
        found.held.map(|edge| (edge.rate, edge.confirmed)),
        Some((50_000.0, true))
    );
    assert!(log.iter().all(|(probe, _)| probe.rate <= 50_000.0));
}

#[test]
fn what_was_known_when_it_was_stopped_is_not_lost() {
    let mut search = Search::new(LIMITS);
    assert_eq!(search.stop().ending, Ending::Stopped);
    for _ in 0..6 {
        if let Step::Probe(probe) = search.step() {
            search.answer(holds(probe.rate <= 5000.0));
        }
    }
    let found = search.stop();
    assert_eq!(edges(&found), (4000.0, 8000.0));
    assert_eq!(found.ending, Ending::Stopped);
}

#[test]
fn rates_are_round_numbers_strictly_inside_the_bracket() {
    assert_eq!(round(20_269.7), 20_270.0);
    assert_eq!(round(1.234_56), 1.235);
    assert_eq!(middle(16_000.0, 32_000.0), 22_630.0);
    for (low, high) in [(1.0, 1.005), (999.9, 1004.9), (123_456.0, 124_074.0)] {
        let middle = middle(low, high);
        assert!(low < middle && middle < high);
    }
}

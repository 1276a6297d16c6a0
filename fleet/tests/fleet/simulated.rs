//! Fleets to which everything happens, by seed: coordinators and agents that die and come back, a
//! bus that loses, doubles, delays and reorders, that is cut and restarted. However it goes, no
//! record says more than is true, no load goes on alone, and every run ends.

use fleet::coordinator::OnLoss;
use fleet::memory::Faults;
use measure::random::Random;

use crate::world::{Happens, MS, Machine, SECOND, Seen, Setup};

/// How many seeds are tried if nobody says otherwise.
const SEEDS: u64 = 300;

/// A run by seed, and whether anything happens to it from which it can't recover.
fn drawn(seed: u64) -> (Setup, bool) {
    let mut random = Random::new(seed, 1);
    let agents = 1 + random.below(8) as u32;
    let mut setup = Setup::of(agents, 3 + random.below(30));
    setup.seed = seed;
    setup.holds = Random::new(seed, 2).below(3) == 0;
    setup.on_loss = [OnLoss::Continue, OnLoss::Stop, OnLoss::Rebalance][random.index(3)];
    for machine in &mut setup.machines {
        *machine = Machine {
            workers: 1 + random.below(8) as u32,
            is_slow: random.below(10) == 0,
            ..Machine::default()
        };
    }
    if random.below(3) == 0 {
        setup.workers = Some(agents + random.below(30) as u32);
    }
    let part = |random: &mut Random, most: f64| match random.below(2) {
        0 => 0.0,
        _ => most * random.unit(),
    };
    setup.faults = Faults {
        loss: part(&mut random, 0.08),
        doubled: part(&mut random, 0.2),
        delay_ns: random.below(2 * MS),
        jitter_ns: random.below(5 * MS),
        late: part(&mut random, 0.05),
    };
    let mut is_mild = true;
    for _ in 0..random.below(5) {
        let at = random.below(50 * SECOND);
        let agent = random.index(agents as usize);
        is_mild &= happen(&mut setup, &mut random, at, agent);
    }
    let setup = setup.with(120 * SECOND, Happens::NoFaults);
    (setup, is_mild)
}

/// Something happens. Whether a run recovers from it.
fn happen(setup: &mut Setup, random: &mut Random, at: u64, agent: usize) -> bool {
    let later = at + random.below(20 * SECOND);
    let mut at_once = |happens| setup.script.push((at, happens));
    match random.below(16) {
        0 => at_once(Happens::KillAgent(agent)),
        1 => at_once(Happens::RestartAgent(agent)),
        2 | 3 => {
            at_once(Happens::CutAgent(agent, true));
            setup.script.push((later, Happens::CutAgent(agent, false)));
        }
        4 => {
            at_once(Happens::CutCoordinator(true));
            setup.script.push((later, Happens::NoFaults));
        }
        5 | 6 => {
            at_once(Happens::KillCoordinator);
            let returns = random.below(4) > 0;
            setup
                .script
                .push((later, Happens::StartCoordinator { returns }));
        }
        7 => {
            let returns = random.below(2) == 0;
            at_once(Happens::StartCoordinator { returns });
        }
        8 => at_once(Happens::Leave(agent)),
        9 => {
            at_once(Happens::Stop);
            return true;
        }
        10 => {
            at_once(Happens::DiskFull(agent));
            return true;
        }
        11 => at_once(Happens::Halt),
        // It is back before anybody has ended its load.
        12 | 13 => {
            at_once(Happens::KillCoordinator);
            let back = at + random.below(9 * SECOND);
            let returns = Happens::StartCoordinator { returns: true };
            setup.script.push((back, returns));
        }
        14 => at_once(Happens::ClockJumps(agent, random.length(36))),
        _ => {
            at_once(Happens::JoinLate);
            let away_ns = random.below(6 * SECOND);
            at_once(Happens::RestartBroker { away_ns });
        }
    }
    false
}

/// What came of a seed. Records and how many of them are complete.
fn tried(seed: u64) -> (Seen, usize) {
    let (setup, is_mild) = drawn(seed);
    let seen = setup.run();
    assert_eq!(seen.violations, [""; 0], "seed {seed}: {:?}", seen.notes);
    let complete = seen
        .outcomes
        .iter()
        .filter(|outcome| outcome.record.complete)
        .count();
    // From loss alone, and whatever else only delays, every run that has begun recovers.
    if is_mild {
        assert_eq!(
            complete,
            seen.outcomes.len(),
            "seed {seed}: {:?}",
            seen.outcomes
        );
    }
    (seen, complete)
}

#[test]
fn no_record_says_more_than_is_true_and_every_run_ends() {
    let seeds = std::env::var("FLEET_SEEDS").ok();
    let seeds = seeds.map_or(SEEDS, |seeds| {
        seeds.parse().expect("FLEET_SEEDS is a number")
    });
    let (mut records, mut complete, mut held, mut loads) = (0, 0, 0, 0);
    for seed in 0..seeds {
        let (seen, whole) = tried(seed);
        records += seen.outcomes.len() as u64;
        complete += whole as u64;
        loads += seen.loads.len() as u64;
        let of_holds = seen.outcomes.iter();
        let of_holds = of_holds.filter(|outcome| outcome.record.figures.held.is_some());
        held += of_holds.count() as u64;
    }
    let of_holds = format!("{held} of holds");
    println!("{seeds} seeds: {records} records ({of_holds}), {complete} complete, {loads} loads");
    // Otherwise nothing was tried.
    assert!(
        records * 10 > seeds * 6,
        "{records} records of {seeds} seeds"
    );
    assert!(
        complete * 10 > records * 5,
        "{complete} of {records} are complete"
    );
    assert!(complete < records && loads > records);
    assert!(held * 10 > records * 2, "{held} of {records} are of holds");
}

#[test]
fn the_same_seed_brings_the_same_run_back() {
    for seed in [3, 77, 1234] {
        let (one, other) = (tried(seed).0, tried(seed).0);
        assert_eq!(
            (&one.ends, &one.loads),
            (&other.ends, &other.loads),
            "seed {seed}"
        );
        assert_eq!(one.outcomes, other.outcomes, "seed {seed}");
        assert_eq!(one.ended_at, other.ended_at);
    }
}

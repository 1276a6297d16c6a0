//! However a load is divided, it is the load: held against what one machine does with as many
//! workers.

use std::sync::Arc;

use fleet::division::{Place, WORKERS_MAX, by_weight, places};
use measure::random::Random;
use plan::schedule::{Arrivals, Marks, Schedule, Stage};
use plan::workload::Order;
use workload::data::{Data, Dealing, Kind, Store};

/// Some agents with some workers each.
fn drawn(random: &mut Random) -> Vec<u32> {
    let agents = 1 + random.index(8);
    (0..agents).map(|_| 1 + random.below(6) as u32).collect()
}

/// When a worker's exchanges are due, within a second.
fn times(schedule: &Schedule, worker: u32, workers: u32) -> Vec<u64> {
    let mut marks = Marks::new(schedule, 7, worker, workers).unwrap();
    let mut times = Vec::new();
    while let Some(due) = marks.peek().filter(|due| *due < 1_000_000_000) {
        times.push(due);
        marks.advance();
    }
    times
}

#[test]
fn a_fleet_sends_at_the_times_of_one_machine_with_all_its_workers() {
    let profile = |arrivals| Schedule::Stages {
        arrivals,
        stages: vec![
            Stage {
                from: 0.0,
                to: 900.0,
                seconds: 0.5,
            },
            Stage {
                from: 300.0,
                to: 300.0,
                seconds: 0.3,
            },
        ],
    };
    let schedules = [
        Schedule::Constant { rate: 733.0 },
        Schedule::Poisson { rate: 733.0 },
        profile(Arrivals::Constant),
        profile(Arrivals::Poisson),
    ];
    let mut random = Random::seeded(1);
    for round in 0..40 {
        let workers = drawn(&mut random);
        let places = places(&workers).unwrap();
        let all: u32 = workers.iter().sum();
        for schedule in &schedules {
            let of_fleet = places.iter().flat_map(|place| {
                let numbers = place.numbers();
                numbers.flat_map(|number| times(schedule, number, place.all()))
            });
            let mut of_fleet: Vec<u64> = of_fleet.collect();
            let mut of_one: Vec<u64> = (0..all)
                .flat_map(|worker| times(schedule, worker, all))
                .collect();
            of_fleet.sort_unstable();
            of_one.sort_unstable();
            assert!(!of_one.is_empty());
            assert_eq!(of_fleet, of_one, "round {round}: {workers:?}, {schedule:?}");
        }
    }
    // Where times don't depend on the number of workers, there is also one truth beside both.
    let constant = Schedule::Constant { rate: 500.0 };
    let places = places(&[3, 1, 2]).unwrap();
    let all = places.iter().flat_map(Place::numbers);
    let mut all: Vec<u64> = all.flat_map(|number| times(&constant, number, 6)).collect();
    all.sort_unstable();
    let expected: Vec<u64> = (0..500).map(|n| n * 2_000_000).collect();
    assert_eq!(all, expected);
}

#[test]
fn whatever_is_counted_in_ones_is_divided_without_a_rest() {
    let mut random = Random::seeded(2);
    for _ in 0..500 {
        let workers = drawn(&mut random);
        let places = places(&workers).unwrap();
        for whole in [0, 1, 10, 1000, random.length(62)] {
            let sum: u64 = places.iter().map(|place| place.part(whole)).sum();
            assert_eq!(sum, whole, "{workers:?}");
        }
        let rate: f64 = places.iter().map(Place::fraction).sum();
        assert!((rate - 1.0).abs() < 1e-12, "{workers:?}: {rate}");
        let numbers: Vec<u32> = places.iter().flat_map(Place::numbers).collect();
        let all: Vec<u32> = (0..workers.iter().sum()).collect();
        assert_eq!(numbers, all, "each worker is somebody's");
    }
}

/// A file of numbers, in memory.
#[derive(Debug)]
struct Numbers(Vec<u8>);

impl Store for Numbers {
    fn length(&self) -> u64 {
        self.0.len() as u64
    }

    fn read_at(&self, into: &mut [u8], offset: u64) -> std::io::Result<usize> {
        let rest = self.0.get(offset as usize..).unwrap_or_default();
        let count = rest.len().min(into.len());
        into[..count].copy_from_slice(&rest[..count]);
        Ok(count)
    }

    fn is_unchanged(&self) -> std::io::Result<bool> {
        Ok(true)
    }
}

#[test]
fn every_row_of_data_is_dealt_once_to_some_agent() {
    for (workers, rows) in [(vec![1, 2, 3], 100), (vec![4, 1], 3), (vec![2; 8], 1000)] {
        let places = places(&workers).unwrap();
        let all = places[0].all();
        let mut text = "id\n".to_owned();
        (0..rows).for_each(|row| text += &format!("{row}\n"));
        let dealing = Dealing {
            order: Order::Once,
            workers: all,
            seed: 1,
        };
        let store = Box::new(Numbers(text.into_bytes()));
        let data = Data::read(store, "ids.csv", Kind::Csv(None), dealing, 4096).unwrap();
        let data = Arc::new(data);
        let mut dealt = Vec::new();
        for place in &places {
            let mut own = 0;
            for number in place.numbers() {
                let mut rows = data.rows_of(number).unwrap();
                while let Some(row) = rows.next().unwrap() {
                    dealt.push(
                        String::from_utf8_lossy(row.value(0))
                            .parse::<u64>()
                            .unwrap(),
                    );
                    own += 1;
                }
            }
            assert_eq!(own, place.part(rows), "{workers:?}");
        }
        dealt.sort_unstable();
        assert_eq!(dealt, (0..rows).collect::<Vec<_>>(), "{workers:?}");
    }
}

#[test]
fn weights_divide_workers_without_a_rest_and_as_nearly_as_whole_ones_can() {
    let mut random = Random::seeded(3);
    for _ in 0..2000 {
        let agents = 1 + random.index(10);
        let weights: Vec<u32> = (0..agents).map(|_| 1 + random.below(20) as u32).collect();
        let workers = agents as u32 + random.below(200) as u32;
        let shares = by_weight(workers, &weights).unwrap();
        assert_eq!(shares.iter().sum::<u32>(), workers, "{weights:?}");
        assert!(
            shares.iter().all(|share| *share >= 1),
            "{weights:?}: {shares:?}"
        );
        let mut pairs: Vec<_> = weights.iter().zip(&shares).collect();
        pairs.sort();
        assert!(
            pairs.is_sorted_by_key(|(_, share)| **share) || {
                // Equal weights may differ by the one that is left over.
                pairs
                    .windows(2)
                    .all(|pair| pair[0].1 <= &(pair[1].1 + u32::from(pair[0].0 == pair[1].0)))
            },
            "{weights:?}: {shares:?}"
        );
    }
    assert_eq!(by_weight(12, &[1, 2, 3]).unwrap(), [2, 4, 6]);
    assert_eq!(by_weight(3, &[1, 100, 1]).unwrap(), [1, 1, 1]);
    assert_eq!(by_weight(10, &[1, 1, 1]).unwrap(), [4, 3, 3]);
}

#[test]
fn a_division_that_leaves_somebody_with_nothing_is_refused() {
    assert!(places(&[2, 0]).is_err());
    assert!(places(&[WORKERS_MAX, 1]).is_err());
    assert!(by_weight(2, &[1, 1, 1]).is_err());
    assert!(by_weight(5, &[1, 0]).is_err());
    assert!(by_weight(5, &[]).is_err());
}

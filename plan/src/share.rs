//! Which part of a whole each of several workers has.

/// How much of a `whole` that is counted in ones (requests, connections) is that of `worker` out of
/// `workers`. All shares add up to the whole, and no two differ by more than one.
pub fn share(whole: u64, worker: u32, workers: u32) -> u64 {
    let workers = u64::from(workers.max(1));
    whole / workers + u64::from(u64::from(worker) < whole % workers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_add_up_to_the_whole_and_are_nearly_equal() {
        for whole in [0, 1, 7, 1000, 19_745, u64::MAX] {
            for workers in [1, 2, 3, 64, 1021] {
                let shares: Vec<u64> = (0..workers)
                    .map(|worker| share(whole, worker, workers))
                    .collect();
                let sum: u128 = shares.iter().map(|share| u128::from(*share)).sum();
                assert_eq!(sum, u128::from(whole), "{whole} over {workers}");
                let (least, most) = (shares.iter().min(), shares.iter().max());
                assert!(
                    most.unwrap() - least.unwrap() <= 1,
                    "{whole} over {workers}"
                );
            }
        }
    }
}

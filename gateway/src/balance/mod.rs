//! Which server of an upstream gets a request. No sockets and no clock: who is usable is an
//! argument.

mod maglev;

pub(crate) use maglev::{Maglev, hash};

use crate::config::Balance;

/// A server as the choice sees it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Candidate {
    /// How much of the load it gets; 0 gets none.
    pub(crate) weight: u32,
    /// Requests under way.
    pub(crate) in_flight: u32,
    /// It may be chosen.
    pub(crate) usable: bool,
}

/// Under consistent hashing no server gets more than this times its even share of what is under
/// way, so that a popular key can't overload one ("Consistent Hashing with Bounded Loads",
/// Mirrokni, Thorup, Zadimoghaddam, 2018). In percent.
const BOUND_PERCENT: u64 = 125;

/// What a choice remembers.
#[derive(Debug, Default)]
pub(crate) struct Balancer {
    /// Smooth weighted round robin, as nginx does it: who has waited for how much.
    credit: Vec<i64>,
    /// Where the next choice among equals begins.
    turn: usize,
}

impl Balancer {
    /// Chooses one of `servers` for the request with `key`; `None` if none is usable.
    pub(crate) fn choose(
        &mut self,
        how: &Balance,
        servers: &[Candidate],
        maglev: Option<&Maglev>,
        key: u64,
    ) -> Option<usize> {
        match how {
            Balance::RoundRobin => self.round_robin(servers),
            Balance::LeastRequests => self.least(servers),
            // A plan has a table for each upstream that is balanced by keys.
            Balance::Hash(_) => by_key(servers, maglev?, key),
        }
    }

    /// Each turn, everybody's credit grows by his weight. The largest credit is chosen, and pays
    /// the sum of the weights.
    fn round_robin(&mut self, servers: &[Candidate]) -> Option<usize> {
        self.credit.resize(servers.len(), 0);
        let (mut total, mut best) = (0, None);
        for (at, server) in servers.iter().enumerate() {
            if !server.usable || server.weight == 0 {
                continue;
            }
            self.credit[at] += i64::from(server.weight);
            total += i64::from(server.weight);
            if best.is_none_or(|best: usize| self.credit[at] > self.credit[best]) {
                best = Some(at);
            }
        }
        let best = best?;
        self.credit[best] -= total;
        Some(best)
    }

    /// The fewest requests for the weight, the new one among them. Equals take turns.
    fn least(&mut self, servers: &[Candidate]) -> Option<usize> {
        let count = servers.len();
        self.turn = (self.turn + 1) % count.max(1);
        let mut best: Option<usize> = None;
        for at in (0..count).map(|at| (self.turn + at) % count) {
            let server = servers[at];
            if !server.usable || server.weight == 0 {
                continue;
            }
            let less = |than: usize| {
                let other = servers[than];
                (u64::from(server.in_flight) + 1) * u64::from(other.weight)
                    < (u64::from(other.in_flight) + 1) * u64::from(server.weight)
            };
            if best.is_none_or(less) {
                best = Some(at);
            }
        }
        best
    }
}

/// The server of a key, or the next one in the table if that isn't usable or has too much to do.
/// Those that are usable may have few places in the table, or none, beside one with a far greater
/// weight that is down: so behind the part of the table that is looked at come all servers,
/// beginning with the one that the key falls to where usable servers alone share by weight.
fn by_key(servers: &[Candidate], maglev: &Maglev, key: u64) -> Option<usize> {
    let usable = || servers.iter().filter(|one| one.usable && one.weight > 0);
    let weights: u64 = usable().map(|one| u64::from(one.weight)).sum();
    let under_way = usable().map(|one| u64::from(one.in_flight)).sum::<u64>() + 1;
    let has_room = |server: &Candidate| {
        let share = under_way * u64::from(server.weight) * BOUND_PERCENT;
        u64::from(server.in_flight) < share.div_ceil(weights.max(1) * 100)
    };
    let mut drawn = key % weights.max(1);
    let first = servers.iter().position(|server| {
        let weight = u64::from(server.weight) * u64::from(server.usable);
        let is_it = drawn < weight;
        drawn = drawn.saturating_sub(weight);
        is_it
    });
    let (first, count) = (first.unwrap_or(0), servers.len());
    let others = (0..count).map(|at| (first + at) % count);
    let mut fallback = None;
    for at in maglev.from(key).chain(others) {
        let server = &servers[at];
        if !server.usable || server.weight == 0 {
            continue;
        }
        if has_room(server) {
            return Some(at);
        }
        fallback.get_or_insert(at);
    }
    fallback
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::HashKey;

    fn of(weights: &[u32]) -> Vec<Candidate> {
        let one = |&weight: &u32| Candidate {
            weight,
            in_flight: 0,
            usable: true,
        };
        weights.iter().map(one).collect()
    }

    fn run(how: &Balance, servers: &[Candidate], turns: usize) -> Vec<usize> {
        let mut balancer = Balancer::default();
        let mut choose = || {
            balancer
                .choose(how, servers, None, 0)
                .expect("one is usable")
        };
        (0..turns).map(|_| choose()).collect()
    }

    #[test]
    fn round_robin_spreads_by_weight_and_evenly() {
        // The example of nginx's own commit message (52327e0627f4).
        let chosen = run(&Balance::RoundRobin, &of(&[5, 1, 1]), 7);
        assert_eq!(chosen, [0, 0, 1, 0, 2, 0, 0]);
        let mut servers = of(&[1, 1, 0]);
        assert_eq!(run(&Balance::RoundRobin, &servers, 4), [0, 1, 0, 1]);
        servers[0].usable = false;
        assert_eq!(run(&Balance::RoundRobin, &servers, 3), [1, 1, 1]);
        servers[1].usable = false;
        let mut balancer = Balancer::default();
        let none = balancer.choose(&Balance::RoundRobin, &servers, None, 0);
        assert_eq!(none, None);
    }

    #[test]
    fn the_fewest_requests_for_the_weight_win_and_equals_take_turns() {
        let mut servers = of(&[1, 1, 1]);
        let mut chosen = run(&Balance::LeastRequests, &servers, 6);
        chosen.sort_unstable();
        assert_eq!(chosen, [0, 0, 1, 1, 2, 2]);
        servers[0].in_flight = 3;
        servers[1].in_flight = 2;
        servers[2].in_flight = 9;
        assert_eq!(run(&Balance::LeastRequests, &servers, 2), [1, 1]);
        servers[2].weight = 10;
        assert_eq!(run(&Balance::LeastRequests, &servers, 2), [2, 2]);
    }

    #[test]
    fn a_key_stays_where_it_is_and_moves_only_from_who_is_gone() {
        let how = Balance::Hash(HashKey::Address);
        let mut servers = of(&[1, 1, 1, 1]);
        let maglev = Maglev::new(&["a", "b", "c", "d"].map(|name| (name.to_owned(), 1)));
        let mut balancer = Balancer::default();
        let mut all = |servers: &[Candidate]| -> Vec<usize> {
            let key = |key: u64| key.wrapping_mul(0x9e37_79b9_7f4a_7c15);
            (0..1000)
                .filter_map(|at| balancer.choose(&how, servers, Some(&maglev), key(at)))
                .collect()
        };
        let before = all(&servers);
        assert_eq!(before, all(&servers));
        for server in 0..4 {
            let count = before.iter().filter(|&&at| at == server).count();
            assert!((150..350).contains(&count), "{server}: {count} of 1000");
        }
        servers[2].usable = false;
        for (was, is) in before.iter().zip(all(&servers)) {
            assert!(is != 2 && (*was == 2 || *was == is), "{was} became {is}");
        }
    }

    #[test]
    fn whoever_is_usable_is_found_beside_a_heavy_server_that_is_down() {
        // The light ones have a place in a thousand, and then none at all.
        for weights in [[1000, 1, 1], [u32::MAX, 1, 1]] {
            let how = Balance::Hash(HashKey::Address);
            let mut servers = of(&weights);
            let names = ["a", "b", "c"].map(str::to_owned);
            let named: Vec<_> = names.into_iter().zip(weights).collect();
            let maglev = Maglev::new(&named);
            let mut balancer = Balancer::default();
            let mut all = |servers: &[Candidate]| -> Vec<Option<usize>> {
                let keys = (0..1000u64).map(|at| hash(&at.to_be_bytes()));
                keys.map(|key| balancer.choose(&how, servers, Some(&maglev), key))
                    .collect()
            };
            servers[0].usable = false;
            let chosen = all(&servers);
            assert_eq!(chosen, all(&servers), "a key stays where it is");
            for light in [1, 2] {
                let count = chosen.iter().filter(|&&at| at == Some(light)).count();
                assert!((400..=600).contains(&count), "{weights:?}: {count}");
            }
            servers[2].usable = false;
            assert!(all(&servers).iter().all(|&at| at == Some(1)));
            servers[1].usable = false;
            assert!(all(&servers).iter().all(Option::is_none));
        }
    }

    #[test]
    fn a_popular_key_does_not_overload_its_server() {
        let how = Balance::Hash(HashKey::Address);
        let mut servers = of(&[1, 1, 1, 1]);
        let maglev = Maglev::new(&["a", "b", "c", "d"].map(|name| (name.to_owned(), 1)));
        let mut balancer = Balancer::default();
        for _ in 0..400 {
            let at = balancer.choose(&how, &servers, Some(&maglev), 7);
            servers[at.expect("one is usable")].in_flight += 1;
        }
        let most = servers.iter().map(|one| one.in_flight).max();
        assert_eq!(most, Some(125), "{servers:?}");
    }
}

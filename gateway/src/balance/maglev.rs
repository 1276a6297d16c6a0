//! Consistent hashing by a table ("Maglev", Eisenbud and others, NSDI 2016, §3.4): each server has
//! an order of its own in which it claims places, and they claim in turns. A server that comes or
//! goes moves few keys besides its own, and a look-up is one access.

/// Places of the table, a prime far above the number of servers, as in Envoy.
const PLACES: usize = 65_537;

/// Free while the table is filled.
const FREE: u16 = u16::MAX;

/// See the module.
#[derive(Debug)]
pub(crate) struct Maglev {
    places: Vec<u16>,
    servers: usize,
}

impl Maglev {
    /// A table of servers by their names and weights. Those of no weight have no place.
    pub(crate) fn new(servers: &[(String, u32)]) -> Maglev {
        let heaviest = servers.iter().map(|(_, weight)| *weight).max().unwrap_or(0);
        if heaviest == 0 {
            let (places, servers) = (Vec::new(), 0);
            return Maglev { places, servers };
        }
        let mut places = vec![FREE; PLACES];
        let mut claims: Vec<(usize, usize)> = servers
            .iter()
            .map(|(name, _)| {
                let hash = hash(name.as_bytes());
                let skip = (hash >> 32) as usize % (PLACES - 1) + 1;
                (hash as u32 as usize % PLACES, skip)
            })
            .collect();
        let mut earned = vec![0u64; servers.len()];
        let mut free = PLACES;
        loop {
            for (at, (next, skip)) in claims.iter_mut().enumerate() {
                // A lighter server sits some turns out.
                earned[at] += u64::from(servers[at].1);
                if earned[at] < u64::from(heaviest) {
                    continue;
                }
                earned[at] -= u64::from(heaviest);
                while places[*next] != FREE {
                    *next = (*next + *skip) % PLACES;
                }
                places[*next] = at as u16;
                free -= 1;
                if free == 0 {
                    let servers = servers.len();
                    return Maglev { places, servers };
                }
            }
        }
    }

    /// The server of a key, then those that follow in the table, as often as there may be others.
    pub(crate) fn from(&self, key: u64) -> impl Iterator<Item = usize> + '_ {
        let count = self.places.len();
        let start = (key % count.max(1) as u64) as usize;
        // Where many servers of like weights can't be used, so many places in a row are as good as
        // sure to have one that can.
        let looks = count.min(64 * self.servers.max(1));
        (0..looks).map(move |at| usize::from(self.places[(start + at) % count]))
    }
}

/// FNV-1a, with its bits mixed at the end: the same on every worker and after every restart, which
/// is what consistency is about. Nobody gains by collisions, since loads are bounded.
pub(crate) fn hash(bytes: &[u8]) -> u64 {
    let fold = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    let hash = bytes.iter().fold(0xcbf2_9ce4_8422_2325, fold);
    measure::random::Random::seeded(hash).next()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(weights: &[u32]) -> Vec<(String, u32)> {
        let name = |at: usize| format!("10.0.0.{at}:80");
        let pairs = weights.iter().enumerate();
        pairs.map(|(at, weight)| (name(at), *weight)).collect()
    }

    fn shares(servers: &[(String, u32)]) -> Vec<usize> {
        let table = Maglev::new(servers);
        let mut shares = vec![0; servers.len()];
        table
            .places
            .iter()
            .for_each(|&at| shares[usize::from(at)] += 1);
        shares
    }

    #[test]
    fn places_are_shared_by_weight() {
        let even = shares(&named(&[1; 7]));
        assert!(
            even.iter().all(|&one| one.abs_diff(PLACES / 7) <= 1),
            "{even:?}"
        );
        let shares = shares(&named(&[3, 1, 0]));
        assert_eq!(shares[2], 0);
        assert!(shares[0].abs_diff(3 * shares[1]) < 10, "{shares:?}");
    }

    #[test]
    fn a_server_that_goes_moves_few_keys_besides_its_own() {
        let all = named(&[1; 10]);
        let less = all[..9].to_vec();
        let (before, after) = (Maglev::new(&all), Maglev::new(&less));
        let moved = before.places.iter().zip(&after.places);
        let moved = moved.filter(|(was, is)| **was != 9 && was != is).count();
        assert!(moved < PLACES / 20, "{moved} of {PLACES}");
    }
}

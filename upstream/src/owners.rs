//! Whose exchanges are: the requests of clients that they were begun for.

use crate::desk::Exchange;

/// What an exchange is begun for.
pub trait Owner: Copy + Eq {
    /// A dense number of the client that it came from, which may have several of these; `None`
    /// for nobody.
    fn slot(self) -> Option<usize>;

    /// Whether both are the same request.
    fn is(self, other: Self) -> bool;
}

/// See the module.
#[derive(Debug)]
pub struct Owners<O> {
    /// By slot of the exchange.
    owners: Vec<Option<O>>,
    /// By slot of the client.
    exchanges: Vec<Vec<Exchange>>,
}

impl<O: Owner> Owners<O> {
    /// Nobody's.
    pub fn new() -> Owners<O> {
        Owners {
            owners: Vec::new(),
            exchanges: Vec::new(),
        }
    }

    /// An exchange is begun for `owner`.
    pub fn insert(&mut self, exchange: Exchange, owner: O) {
        let slot = exchange.slot();
        if slot >= self.owners.len() {
            self.owners.resize(slot + 1, None);
        }
        self.owners[slot] = Some(owner);
        if let Some(slot) = owner.slot() {
            if slot >= self.exchanges.len() {
                self.exchanges.resize_with(slot + 1, Vec::new);
            }
            self.exchanges[slot].push(exchange);
        }
    }

    /// Whose an exchange is.
    pub fn of(&self, exchange: Exchange) -> Option<O> {
        self.owners.get(exchange.slot()).copied().flatten()
    }

    /// An exchange has ended.
    pub fn remove(&mut self, exchange: Exchange) {
        if let Some(slot) = self.of(exchange).and_then(Owner::slot)
            && let Some(of_client) = self.exchanges.get_mut(slot)
            && let Some(at) = of_client.iter().position(|&one| one == exchange)
        {
            of_client.swap_remove(at);
        }
    }

    /// The exchanges of one request.
    pub fn all_of(&self, owner: O) -> Vec<Exchange> {
        let of_client = owner.slot().and_then(|slot| self.exchanges.get(slot));
        let all = of_client.into_iter().flatten().copied();
        all.filter(|&one| self.of(one).is_some_and(|of| of.is(owner)))
            .collect()
    }
}

impl<O: Owner> Default for Owners<O> {
    fn default() -> Owners<O> {
        Owners::new()
    }
}

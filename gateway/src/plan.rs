//! A configuration that is made ready for workers, and how they come to the current one.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::balance::Maglev;
use crate::config::{Balance, Config};
use crate::routing::Table;

/// A configuration with all that is made of it once, for all workers.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) config: Arc<Config>,
    pub(crate) table: Table,
    /// By upstream: its table, if it's balanced by keys.
    pub(crate) maglevs: Vec<Option<Maglev>>,
}

impl Plan {
    pub(crate) fn new(config: Config) -> Plan {
        let maglevs = config.upstreams.iter().map(|upstream| {
            let servers = upstream.servers.iter();
            let named = servers.map(|one| (one.address.to_string(), one.weight));
            let wanted = matches!(upstream.balance, Balance::Hash(_));
            wanted.then(|| Maglev::new(&named.collect::<Vec<_>>()))
        });
        Plan {
            maglevs: maglevs.collect(),
            table: Table::new(&config.routes),
            config: Arc::new(config),
        }
    }
}

/// The current plan, which all workers look at: a number says whether it's still the one that they
/// know, and costs a load. Only who finds another number takes the lock.
#[derive(Debug)]
pub(crate) struct Plans {
    current: Mutex<Arc<Plan>>,
    generation: AtomicU64,
}

impl Plans {
    pub(crate) fn new(first: Plan) -> Plans {
        Plans {
            current: Mutex::new(Arc::new(first)),
            generation: AtomicU64::new(1),
        }
    }

    /// The number of the current plan.
    #[inline]
    pub(crate) fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }

    /// The current plan.
    pub(crate) fn current(&self) -> Arc<Plan> {
        let current = self.current.lock();
        Arc::clone(&current.unwrap_or_else(PoisonError::into_inner))
    }

    /// Puts another plan in its place.
    pub(crate) fn exchange(&self, next: Plan) {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        *current = Arc::new(next);
        self.generation.fetch_add(1, Ordering::Release);
    }
}

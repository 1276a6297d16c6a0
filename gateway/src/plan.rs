//! A configuration that is made ready for workers, and how they come to the current one.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use measure::time::Time;

use crate::balance::Maglev;
use crate::config::{Balance, Config};
use crate::routing::Table;
use crate::stores::{self, Said};
use users::Users;

/// A configuration with all that is made of it once, for all workers.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) config: Arc<Config>,
    pub(crate) table: Table,
    /// By upstream: its table, if it's balanced by keys.
    pub(crate) maglevs: Vec<Option<Maglev>>,
    /// By users of the configuration: who looks them up.
    pub(crate) users: Vec<Arc<Users>>,
    /// What was said of each of them in the log.
    pub(crate) said: Vec<Arc<Said>>,
}

impl Plan {
    /// Of a configuration. What looks users up stays the same where `before` has it with the same
    /// settings: with what it remembers, and with its connections. With other settings it begins
    /// anew, and counts on.
    ///
    /// # Errors
    /// A thread can't be started.
    pub(crate) fn new(config: Config, before: Option<&Plan>) -> io::Result<Plan> {
        let mut users = Vec::with_capacity(config.users.len());
        let mut said = Vec::with_capacity(config.users.len());
        for one in &config.users {
            let old = before.and_then(|before| {
                let mut names = before.config.users.iter().map(|old| &old.name);
                Some((before, names.position(|name| *name == one.name)?))
            });
            let settings = one.settings.clone();
            let new = |users| (Arc::new(users), Arc::new(Said::new(Time::now())));
            let (one, of_it) = match old {
                Some((before, at)) if before.config.users[at].settings == settings => {
                    (Arc::clone(&before.users[at]), Arc::clone(&before.said[at]))
                }
                Some((before, at)) => new(before.users[at].followed_by(settings)?),
                None => new(Users::start(settings)?),
            };
            users.push(one);
            said.push(of_it);
        }
        stores::wait(&users, stores::FIRST);
        let maglevs = config.upstreams.iter().map(|upstream| {
            let servers = upstream.servers.iter();
            let named = servers.map(|one| (one.address.to_string(), one.weight));
            let wanted = matches!(upstream.balance, Balance::Hash(_));
            wanted.then(|| Maglev::new(&named.collect::<Vec<_>>()))
        });
        Ok(Plan {
            maglevs: maglevs.collect(),
            table: Table::new(&config.routes),
            users,
            said,
            config: Arc::new(config),
        })
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

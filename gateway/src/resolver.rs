//! Names of servers: looked up at the start, and again every so often, on a thread of its own. When
//! one leads elsewhere, workers get another plan, in which all servers that stay are the same.
//!
//! A name that can't be looked up keeps what it led to before.

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use measure::time::Time;

use crate::config::Config;
use crate::plan::{Plan, Plans};
use crate::terminal;

/// How long one look-up may take.
const PATIENCE: Duration = Duration::from_secs(5);

/// How long a configuration waits for names that were never looked up.
const FIRST: Duration = Duration::from_secs(6);

/// After a failure, a name is looked up again so soon, if not sooner.
const AGAIN: Duration = Duration::from_secs(5);

/// More addresses of one name aren't taken.
const ADDRESSES_MAX: usize = 256;

/// So many names are looked up at once.
const AT_ONCE: usize = 16;

type Name = (String, u16);

/// See the module. Clones are the same.
#[derive(Clone, Debug)]
pub(crate) struct Resolver(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    plans: Arc<Plans>,
    state: Mutex<State>,
    /// Something has changed there.
    news: Condvar,
}

#[derive(Debug)]
struct State {
    /// The configuration as it's written.
    written: Config,
    known: BTreeMap<Name, Known>,
    /// Its thread runs.
    begun: bool,
    /// Somebody waits for a new configuration's names, and puts it in force.
    awaited: bool,
    stopped: bool,
}

/// What is known of a name.
#[derive(Debug)]
struct Known {
    /// In order, so that the same ones make the same plan.
    addresses: Vec<SocketAddr>,
    looked_up: bool,
    failing: bool,
    every: Duration,
    due: Time,
}

impl Resolver {
    /// One that puts plans in force here. `written` is the configuration of the current one.
    pub(crate) fn new(plans: Arc<Plans>, written: Config) -> Resolver {
        Resolver(Arc::new(Inner {
            plans,
            state: Mutex::new(State {
                written,
                known: BTreeMap::new(),
                begun: false,
                awaited: false,
                stopped: false,
            }),
            news: Condvar::new(),
        }))
    }

    /// Puts a configuration in force, once its names were looked up, or a moment later.
    ///
    /// # Errors
    /// As of [`Plan::new`]; everything stays as it is.
    pub(crate) fn put(&self, written: Config) -> io::Result<()> {
        let until = Time::now() + FIRST;
        let mut state = self.0.lock();
        let before = std::mem::replace(&mut state.written, written);
        state.note(Time::now());
        if !state.begun && !state.known.is_empty() {
            let inner = Arc::clone(&self.0);
            let thread = thread::Builder::new().name("names".into());
            match thread.spawn(move || inner.run()) {
                Ok(_) => state.begun = true,
                Err(why) => say(&format!("names aren't looked up: no thread for it ({why})")),
            }
        }
        state.awaited = true;
        self.0.news.notify_all();
        while state.begun && !state.known.values().all(|known| known.looked_up) {
            let left = until - Time::now();
            if left.is_zero() {
                break;
            }
            let waited = self.0.news.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        state.awaited = false;
        let done = self.0.exchange(&state);
        if done.is_err() {
            state.written = before;
            state.note(Time::now());
        }
        done
    }

    /// Looks nothing up any more.
    pub(crate) fn stop(&self) {
        self.0.lock().stopped = true;
        self.0.news.notify_all();
    }
}

impl Inner {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Has workers take up what is known.
    fn exchange(&self, state: &State) -> io::Result<()> {
        let before = self.plans.current();
        self.plans
            .exchange(Plan::new(state.config(), Some(&before))?);
        Ok(())
    }

    /// Looks names up whenever they're due, until it's stopped.
    fn run(&self) {
        let mut state = self.lock();
        while !state.stopped {
            let now = Time::now();
            let due: Vec<Name> = state.due(now).take(AT_ONCE).cloned().collect();
            if due.is_empty() {
                let next = state.known.values().map(|known| known.due).min();
                let left = next.map_or(Duration::MAX, |next| next - now);
                // A name that is due in a year may as well be looked at in an hour.
                let left = left.min(Duration::from_secs(3600));
                let waited = self.news.wait_timeout(state, left);
                state = waited.unwrap_or_else(PoisonError::into_inner).0;
                continue;
            }
            drop(state);
            let found = look_up(&due);
            state = self.lock();
            let changed = state.learn(due.into_iter().zip(found), Time::now());
            if changed
                && !state.awaited
                && !state.stopped
                && let Err(why) = self.exchange(&state)
            {
                say(&format!("what names lead to stays as it was: {why}"));
            }
            self.news.notify_all();
        }
    }
}

impl State {
    /// Notes which names there are, and forgets others.
    fn note(&mut self, now: Time) {
        let mut before = std::mem::take(&mut self.known);
        for upstream in &self.written.upstreams {
            for named in &upstream.names {
                let name = (named.host.clone(), named.port);
                let new = || Known {
                    addresses: Vec::new(),
                    looked_up: false,
                    failing: false,
                    every: upstream.resolve,
                    due: now,
                };
                let old = before.remove(&name);
                let known = self.known.entry(name);
                let known = known.or_insert_with(|| Known {
                    every: upstream.resolve,
                    ..old.unwrap_or_else(new)
                });
                known.every = known.every.min(upstream.resolve);
            }
        }
    }

    fn due(&self, now: Time) -> impl Iterator<Item = &Name> {
        let due = move |known: &Known| known.due <= now;
        let all = self.known.iter();
        all.filter(move |(_, known)| due(known))
            .map(|(name, _)| name)
    }

    /// Keeps what was found. Whether that is anything new.
    fn learn(
        &mut self,
        found: impl Iterator<Item = (Name, io::Result<Vec<SocketAddr>>)>,
        now: Time,
    ) -> bool {
        let mut changed = false;
        for (name, found) in found {
            let Some(known) = self.known.get_mut(&name) else {
                continue;
            };
            known.looked_up = true;
            known.due = now + known.every;
            let host = &name.0;
            match found {
                Ok(mut addresses) if !addresses.is_empty() => {
                    addresses.sort_unstable();
                    addresses.dedup();
                    addresses.truncate(ADDRESSES_MAX);
                    if std::mem::take(&mut known.failing) {
                        say(&format!("{host} can be looked up again"));
                    }
                    changed |= known.addresses != addresses;
                    known.addresses = addresses;
                }
                nothing => {
                    let why = nothing
                        .map_or_else(|why| why.to_string(), |_| "it has no address".to_owned());
                    known.due = now + known.every.min(AGAIN);
                    if !std::mem::replace(&mut known.failing, true) {
                        let count = known.addresses.len();
                        say(&format!(
                            "{host} can't be looked up: {why}; its {count} servers stay"
                        ));
                    }
                }
            }
        }
        changed
    }

    /// The configuration with what names have led to.
    fn config(&self) -> Config {
        self.written.with_addresses(|named| {
            let known = self.known.get(&(named.host.clone(), named.port));
            known.map_or_else(Vec::new, |known| known.addresses.clone())
        })
    }
}

/// What names lead to, all of them at once.
fn look_up(names: &[Name]) -> Vec<io::Result<Vec<SocketAddr>>> {
    let deadline = Time::now() + PATIENCE;
    thread::scope(|scope| {
        let look = |(host, port): &Name| names::look_up(host, *port, None, deadline);
        let looks: Vec<_> = names
            .iter()
            .map(|name| scope.spawn(move || look(name)))
            .collect();
        let found = looks.into_iter().map(|one| one.join());
        found
            .map(|one| one.unwrap_or_else(|_| Err(io::Error::other("looking it up panicked"))))
            .collect()
    })
}

fn say(text: &str) {
    terminal::tell(text);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(text: &str) -> State {
        let written = Config::of("test", &format!("{text}\n[[route]]\nupstream = \"a\"\n"));
        let mut state = State {
            written: written.expect("it's in order"),
            known: BTreeMap::new(),
            begun: false,
            awaited: false,
            stopped: false,
        };
        state.note(Time(0));
        state
    }

    fn servers(state: &State) -> Vec<String> {
        let config = state.config();
        let servers = config.upstreams[0].servers.iter();
        servers
            .map(|one| format!("{} {}", one.address, one.weight))
            .collect()
    }

    #[test]
    fn all_addresses_of_a_name_become_servers_and_stay_when_it_cannot_be_looked_up() {
        let text = "[upstream.a]\nresolve = \"10s\"\nservers = [\"10.0.0.1:80\", \
                    { address = \"a.test:80\", weight = 3 }]";
        let mut state = state(text);
        let name = || ("a.test".to_owned(), 80);
        let found = |text: &str| -> io::Result<Vec<SocketAddr>> {
            let all = text.split(' ').map(|one| one.parse().expect("an address"));
            Ok(all.collect())
        };
        let mut learn = |found, seconds: u64| {
            let now = Time(0) + Duration::from_secs(seconds);
            let due = state.due(now).count();
            let changed = state.learn([(name(), found)].into_iter(), now);
            (due, changed, servers(&state))
        };
        let literal = "10.0.0.1:80 1".to_owned();
        let both = vec![
            literal.clone(),
            "10.0.0.2:80 3".into(),
            "10.0.0.3:80 3".into(),
        ];
        // The address that is written counts as it's written.
        let first = found("10.0.0.3:80 10.0.0.1:80 10.0.0.2:80 10.0.0.3:80");
        assert_eq!(learn(first, 0), (1, true, both.clone()));
        assert_eq!(learn(found("10.0.0.1:80 10.0.0.2:80 10.0.0.3:80"), 9).0, 0);
        let failed = || Err(io::Error::other("no answer"));
        assert_eq!(learn(failed(), 19), (1, false, both.clone()));
        assert_eq!(
            learn(Ok(Vec::new()), 24),
            (1, false, both),
            "sooner than usual"
        );
        let less = vec![literal, "10.0.0.2:80 3".into()];
        assert_eq!(learn(found("10.0.0.2:80"), 29), (1, true, less));
    }

    #[test]
    fn another_configuration_keeps_what_its_names_led_to() {
        let mut state = state("[upstream.a]\nservers = [\"a.test:80\", \"b.test:80\"]");
        let address = |text: &str| vec![text.parse().expect("an address")];
        let found = [
            (("a.test".to_owned(), 80), Ok(address("10.0.0.1:80"))),
            (("b.test".to_owned(), 80), Ok(address("10.0.0.2:80"))),
        ];
        assert!(state.learn(found.into_iter(), Time(0)));
        let text = "[upstream.a]\nservers = [\"b.test:80\", \"c.test:80\"]\n\
                    [[route]]\nupstream = \"a\"\n";
        state.written = Config::of("test", text).expect("it's in order");
        state.note(Time(1));
        assert_eq!(servers(&state), ["10.0.0.2:80 1"]);
        let due: Vec<&Name> = state.due(Time(1)).collect();
        assert_eq!(due, [&("c.test".to_owned(), 80)]);
    }
}

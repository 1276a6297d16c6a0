//! Which part of a load a process carries out, where several processes carry it out together.

use std::fmt;
use std::net::SocketAddr;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

use measure::time::Time;

use crate::invalid::Invalid;

/// What one process does of a plan that all of them have.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// The numbers of its workers among the plan's threads.
    pub workers: Range<u32>,
    /// When the load begins, by this machine's clock; later if it isn't ready by then.
    pub begins: Time,
    /// Where it may go.
    pub permits: Permits,
    /// Until when it may be sent.
    pub lease: Lease,
}

/// Until when a load may be sent: for ever, unless somebody lends it the time and moves that on.
/// Clones share it. Who sends looks at it before anything is sent, and so sends nothing after it
/// has stood still, whoever took the load over meanwhile.
#[derive(Clone, Debug, Default)]
pub struct Lease {
    end: Option<Arc<AtomicU64>>,
    /// When it's looked at again: it doesn't end before.
    known: Time,
}

/// The end of one that was found past.
const BROKEN: u64 = 0;

impl Lease {
    /// One that ends then.
    pub fn until(end: Time) -> Lease {
        Lease {
            end: Some(Arc::new(AtomicU64::new(end.0))),
            known: Time(0),
        }
    }

    /// Moves its end on, unless somebody has found it past.
    pub fn extend(&self, end: Time) {
        let moved = |old: u64| (old != BROKEN).then_some(end.0);
        if let Some(cell) = &self.end {
            let _broken = cell.fetch_update(SeqCst, SeqCst, moved);
        }
    }

    /// Whether it's past, which it is for ever then. Cheap enough for each turn of a worker.
    #[inline]
    pub fn is_past(&mut self, now: Time) -> bool {
        now >= self.known && self.look(now)
    }

    #[cold]
    fn look(&mut self, now: Time) -> bool {
        let Some(cell) = &self.end else {
            self.known = Time::NEVER;
            return false;
        };
        let broken = |end: u64| (end <= now.0).then_some(BROKEN);
        let found = cell.fetch_update(SeqCst, SeqCst, broken);
        self.known = found.err().map_or(Time(BROKEN), Time);
        found.is_ok()
    }

    /// Whether somebody has found it past.
    pub fn is_broken(&self) -> bool {
        let end = self.end.as_ref();
        end.is_some_and(|end| end.load(SeqCst) == BROKEN)
    }
}

/// Until when it may be sent is no part of what a load does.
impl PartialEq for Lease {
    fn eq(&self, _: &Lease) -> bool {
        true
    }
}

/// Which addresses may be contacted: any, unless the owner of a machine says otherwise. They are
/// asked about what a name was resolved to, so that no name leads elsewhere.
#[derive(Clone, Default)]
pub struct Permits(Option<Arc<dyn Permit>>);

/// Says what is wrong with a place, if anything is: which rule refuses it, and whose.
pub trait Permit: Send + Sync {
    /// An address that is loaded.
    ///
    /// # Errors
    /// It may not be.
    fn address(&self, address: SocketAddr) -> Result<(), String>;

    /// The address of a proxy, through which others are loaded.
    ///
    /// # Errors
    /// It may not be used.
    fn proxy(&self, address: SocketAddr) -> Result<(), String>;

    /// A socket in the file system.
    ///
    /// # Errors
    /// It may not be loaded.
    fn unix(&self, path: &Path) -> Result<(), String>;
}

impl Permits {
    /// Only what `permit` lets pass.
    pub fn only(permit: impl Permit + 'static) -> Permits {
        Permits(Some(Arc::new(permit)))
    }

    /// Checks an address, which may be that of a proxy.
    ///
    /// # Errors
    /// It may not be contacted.
    pub fn check(&self, address: SocketAddr, is_proxy: bool) -> Result<(), Invalid> {
        let checked = match &self.0 {
            Some(permit) if is_proxy => permit.proxy(address),
            Some(permit) => permit.address(address),
            None => Ok(()),
        };
        checked.map_err(Invalid)
    }

    /// Checks a socket in the file system.
    ///
    /// # Errors
    /// It may not be contacted.
    pub fn check_unix(&self, path: &Path) -> Result<(), Invalid> {
        let checked = self.0.as_ref().map(|permit| permit.unix(path));
        checked.unwrap_or(Ok(())).map_err(Invalid)
    }
}

impl fmt::Debug for Permits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            Some(_) => "Permits(some)",
            None => "Permits(all)",
        })
    }
}

/// Where a load may go is no part of what it does.
impl PartialEq for Permits {
    fn eq(&self, _: &Permits) -> bool {
        true
    }
}

/// The numbers of the workers of a process that has this part, or all of so many threads.
pub(crate) fn workers(part: Option<&Part>, threads: u32) -> Range<u32> {
    part.map_or(0..threads, |part| part.workers.clone())
}

/// Checks that these are some of so many threads.
pub(crate) fn validate(workers: &Range<u32>, threads: u32) -> Result<(), Invalid> {
    match workers.start < workers.end && workers.end <= threads {
        true => Ok(()),
        false => Err(Invalid(format!(
            "there are no workers {workers:?} among {threads} threads"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Plan;

    fn plan(threads: u32, connections: u32, workers: Range<u32>) -> Plan {
        let mut plan = Plan::new("http://127.0.0.1:1/").unwrap();
        (plan.threads, plan.connections) = (threads, connections);
        plan.part = Some(Part {
            workers,
            begins: Time(7),
            permits: Permits::default(),
            lease: Lease::default(),
        });
        plan
    }

    #[test]
    fn parts_have_the_workers_and_connections_of_the_whole() {
        let parts = [0..3, 3..4, 4..7].map(|workers| plan(7, 100, workers));
        let workers: Vec<u32> = parts.iter().flat_map(Plan::workers).collect();
        assert_eq!(workers, (0..7).collect::<Vec<_>>());
        let connections: u32 = parts.iter().map(Plan::own_connections).sum();
        assert_eq!(connections, 100);
        let whole = Plan::new("http://127.0.0.1:1/").unwrap();
        assert_eq!((whole.workers(), whole.own_connections()), (0..1, 10));
        assert_eq!((whole.begins(), parts[0].begins()), (Time(0), Time(7)));
    }

    #[test]
    fn a_lease_that_was_found_past_is_never_moved_on() {
        let mut lease = Lease::until(Time(10));
        let mut other = lease.clone();
        assert!(!lease.is_past(Time(9)));
        other.extend(Time(20));
        assert!(!lease.is_past(Time(19)) && !other.is_broken());
        assert!(lease.is_past(Time(20)));
        other.extend(Time(30));
        assert!(other.is_past(Time(21)) && other.is_broken());
        // Nobody lends one to a process of its own.
        let mut none = Lease::default();
        none.extend(Time(1));
        assert!(!none.is_past(Time(u64::MAX - 1)) && !none.is_broken());
    }

    #[test]
    fn many_machines_may_have_more_threads_than_one() {
        plan(1000, 1000, 990..1000).validate().unwrap();
        for (threads, workers, part) in [
            (1000, 0..1000, "out of range"),
            (4, 3..5, "no workers 3..5 among 4 threads"),
            (4, 2..2, "out of range"),
        ] {
            let Invalid(text) = plan(threads, 1000, workers).validate().unwrap_err();
            assert!(text.contains(part), "{text}");
        }
    }

    #[test]
    fn a_permit_is_asked_about_addresses_and_is_no_part_of_a_record() {
        struct Ours(SocketAddr);

        impl Permit for Ours {
            fn address(&self, address: SocketAddr) -> Result<(), String> {
                match address == self.0 {
                    true => Ok(()),
                    false => Err(format!("{address} isn't ours")),
                }
            }

            fn proxy(&self, address: SocketAddr) -> Result<(), String> {
                Err(format!("{address} is no proxy"))
            }

            fn unix(&self, path: &Path) -> Result<(), String> {
                Err(format!("{} isn't ours", path.display()))
            }
        }

        let [allowed, other] = ["10.0.0.1:80", "10.0.0.2:80"].map(|text| text.parse().unwrap());
        let permits = Permits::only(Ours(allowed));
        permits.check(allowed, false).unwrap();
        let Invalid(text) = permits.check(other, false).unwrap_err();
        assert_eq!(text, "10.0.0.2:80 isn't ours");
        let Invalid(text) = permits.check(allowed, true).unwrap_err();
        assert_eq!(text, "10.0.0.1:80 is no proxy");
        let socket = Path::new("/run/x");
        assert!(permits.check_unix(socket).is_err());
        assert!(Permits::default().check_unix(socket).is_ok());
        assert!(Permits::default().check(other, true).is_ok());
        let mut plan = plan(2, 10, 0..1);
        plan.part.as_mut().unwrap().permits = permits;
        assert!(plan.contact().permits.check_unix(socket).is_err());
        assert_eq!(plan.recorded().part, None);
    }
}

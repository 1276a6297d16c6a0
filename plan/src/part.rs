//! Which part of a load a process carries out, where several processes carry it out together.

use std::fmt;
use std::net::SocketAddr;
use std::ops::Range;
use std::sync::Arc;

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
}

/// Which addresses may be contacted: any, unless the owner of a machine says otherwise. They are
/// asked about what a name was resolved to, so that no name leads elsewhere.
#[derive(Clone, Default)]
pub struct Permits(Option<Arc<dyn Permit>>);

/// Says what is wrong with an address, if anything is.
trait Permit: Fn(SocketAddr) -> Result<(), String> + Send + Sync {}

impl<F: Fn(SocketAddr) -> Result<(), String> + Send + Sync> Permit for F {}

impl Permits {
    /// Only what `check` lets pass. Its error says which rule refuses an address, and whose.
    pub fn only(
        check: impl Fn(SocketAddr) -> Result<(), String> + Send + Sync + 'static,
    ) -> Permits {
        Permits(Some(Arc::new(check)))
    }

    /// Checks an address.
    ///
    /// # Errors
    /// It may not be contacted.
    pub fn check(&self, address: SocketAddr) -> Result<(), Invalid> {
        match &self.0 {
            Some(check) => check(address).map_err(Invalid),
            None => Ok(()),
        }
    }

    /// Checks a socket in the file system, which no rule about addresses lets pass.
    ///
    /// # Errors
    /// It may not be contacted.
    pub fn check_unix(&self) -> Result<(), Invalid> {
        match &self.0 {
            Some(_) => Err(Invalid("Unix sockets may not be loaded from here".into())),
            None => Ok(()),
        }
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
        let allowed: SocketAddr = "10.0.0.1:80".parse().unwrap();
        let permits = Permits::only(move |address| match address == allowed {
            true => Ok(()),
            false => Err(format!("{address} isn't ours")),
        });
        permits.check(allowed).unwrap();
        let Invalid(text) = permits.check("10.0.0.2:80".parse().unwrap()).unwrap_err();
        assert_eq!(text, "10.0.0.2:80 isn't ours");
        assert!(permits.check_unix().is_err());
        assert!(Permits::default().check_unix().is_ok());
        let mut plan = plan(2, 10, 0..1);
        plan.part.as_mut().unwrap().permits = permits;
        assert!(plan.contact().permits.check_unix().is_err());
        assert_eq!(plan.recorded().part, None);
    }
}

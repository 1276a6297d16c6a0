//! What a hold needs of this host: workers for so many connections, ports for so many connections.

use std::cell::RefCell;
use std::net::UdpSocket;

use engine::choice::Kind;
use engine::signal::Stop;
use engine::{Address, SocketOptions, descriptors};
use measure::cpu;
use measure::hold::{Counted, Footprint};
use measure::host::Host;
use measure::interval::{Collector, Counter};
use measure::needs::{self, Connections, Over, RESET_FROM};
use measure::time::Time;

use super::worker::{Assignment, Heartbeat, Outcome};
use super::{Plan, Record, judge};
use crate::Watcher;
use crate::back_off::BackOff;
use crate::connection::Route;
use crate::crew::{Progress, Tend, Window};
use crate::ground::{DESCRIPTORS_SPARE, Ground, ns};
use crate::ports;
use crate::worker::sockets_for;
use plan::THREADS_MAX;
use plan::protocol::Protocol;
use probe::LoadError;

/// With more connections than this for each worker, another CPU gets one, too.
pub const EACH: u64 = 18_000;

/// A hold that can be carried out here.
#[derive(Debug)]
pub struct Hold {
    plan: Plan,
    ground: Ground,
    threads: u32,
    says: Vec<String>,
}

/// Makes sure that `plan` can be carried out, and chooses what it leaves open, unless `stop` asks
/// for the end before.
///
/// # Errors
/// The plan does not hold together, nobody listens, or a limit of this host is in the way. Each
/// says what to do.
pub fn prepare(plan: &Plan, stop: &Stop) -> Result<Hold, LoadError> {
    plan.validate()?;
    let ground = Ground::find(vec![plan.contact()], stop)?;
    let host = Host::read();
    let mut says = Vec::new();
    let mut plan = plan.clone();
    let sources = &plan.source_addresses;
    let own = plan.own_connections();
    let sources = ports::sources(own, sources, ground.only(), &host)?;
    if let (true, [first, .., last]) = (plan.source_addresses.is_empty(), sources.as_slice()) {
        says.push(format!(
            "{own} connections use {} source addresses, {first} to {last}, so that each gets a \
             port right away",
            sources.len()
        ));
    }
    plan.source_addresses = sources;
    check_needs(&plan, ground.only())?;
    let threads = threads(&plan, ground.kind, descriptors::raise_limit(u64::MAX))?;
    if plan.threads.is_none() && threads > 1 {
        says.push(format!("using {threads} workers, each on a CPU of its own"));
    }
    Ok(Hold {
        plan,
        ground,
        threads,
        says,
    })
}

/// Makes sure that so many connections can stand here, before the first is opened.
fn check_needs(plan: &Plan, addresses: &[Address]) -> Result<(), LoadError> {
    let over = match addresses.first() {
        Some(Address::Unix(_)) => Over::Unix,
        Some(Address::Tcp(tcp)) if tcp.ip().is_loopback() => Over::Loopback,
        _ => Over::Network,
    };
    let is_here = over == Over::Unix || addresses.iter().any(is_of_this_host);
    let needs = needs::Facts::read().needs(Connections {
        number: plan.own_connections().into(),
        ends: 1 + u64::from(is_here),
        spoken: plan.protocol.spoken(),
        tls: plan.tls.is_some(),
        over,
    });
    let refusal = needs.iter().find_map(needs::Need::refusal);
    refusal.map_or(Ok(()), |why| {
        let own = plan.own_connections();
        Err(LoadError::Limits(format!("-c {own}: {why}")))
    })
}

/// Whether this is an address of this host: the kernel binds to no other (ip(7)).
fn is_of_this_host(address: &Address) -> bool {
    match address {
        Address::Tcp(tcp) => UdpSocket::bind((tcp.ip(), 0)).is_ok(),
        Address::Unix(_) => true,
    }
}

/// How many workers there are: one has as many rings as its connections need, but where they are
/// very many, all CPUs have their share. Ordinary descriptors are limited for the whole process.
fn threads(plan: &Plan, kind: Kind, limit: u64) -> Result<u32, LoadError> {
    let connections = u64::from(plan.own_connections());
    if kind == Kind::Epoll {
        let wanted = connections + DESCRIPTORS_SPARE;
        if wanted > limit {
            return Err(LoadError::Limits(format!(
                "{connections} connections need {wanted} file descriptors, but with epoll all \
                 workers share the limit of {limit}: raise it with `ulimit -n {wanted}` (as root: \
                 `prlimit --nofile={wanted}`), use io_uring, or use fewer connections (-c)"
            )));
        }
        return Ok(plan.threads.unwrap_or(1));
    }
    let cpus = match plan.cpus.as_slice() {
        [] => cpu::allowed().len(),
        cpus => cpus.len(),
    };
    let needed = connections.div_ceil(EACH).min(cpus as u64);
    Ok(plan
        .threads
        .unwrap_or(needed.clamp(1, THREADS_MAX.into()) as u32))
}

impl Hold {
    /// What was chosen here and a user should know, in sentences.
    pub fn says(&self) -> &[String] {
        &self.says
    }

    /// Opens the connections, holds them until the end or until `stop`, and tells `watcher` twice a
    /// second how far it is: completed and failed are heartbeats, and the warm-up is the opening.
    /// The connections stand until the record is reported, because to close very many takes the
    /// kernel a while, and nobody's record has to wait for that.
    ///
    /// # Errors
    /// Where nothing could be measured. A hold that was stopped early, or lost every connection,
    /// has a record.
    pub fn carry_out<W: Watcher<Counted>, R>(
        self,
        stop: &Stop,
        watcher: &mut W,
        report: impl FnOnce(Record, &mut W) -> R,
    ) -> Result<R, LoadError> {
        let window = Window {
            begins: Time(0),
            warm_up_s: 0.0,
            length_s: Some(self.plan.duration_s),
            may_end_sooner: false,
        };
        let mut jobs = self.assignments()?;
        let collector = watcher.wants_intervals().then(|| collector(&mut jobs));
        let sight = RefCell::new(Sight {
            footprint: Footprint::before(),
            collector,
            watcher,
        });
        let Hold { plan, ground, .. } = self;
        let cpus = plan.cpus.clone();
        ground.work(&cpus, window, jobs, stop, &mut &sight, |mut outcomes| {
            let mut sight = sight.borrow_mut();
            sight.take_back(&mut outcomes);
            let standing = outcomes.iter().map(|outcome| outcome.tally.standing).sum();
            sight.footprint.look(standing, Time::now());
            let threads = plan.workers(self.threads).len() as u32;
            let record = judge::record(plan, &ground, threads, &sight.footprint, outcomes);
            report(record, sight.watcher)
        })
    }

    fn assignments(&self) -> Result<Vec<Assignment>, LoadError> {
        // Those who hold together open their connections by one clock.
        let begins = self.plan.part.as_ref().map(|part| part.begins);
        let origin = begins.unwrap_or_else(Time::now);
        let place = |worker| Place {
            worker,
            workers: self.threads,
            origin,
        };
        let addresses = &self.ground.addresses;
        let places = self.plan.workers(self.threads).map(place);
        places
            .map(|place| assign(&self.plan, place, addresses))
            .collect()
    }
}

/// What is seen of a hold while it goes on.
struct Sight<'a, W> {
    footprint: Footprint,
    collector: Option<Collector<Counted>>,
    watcher: &'a mut W,
}

impl<W: Watcher<Counted>> Sight<'_, W> {
    /// Gives each worker's tally what it has handed over.
    fn take_back(&mut self, outcomes: &mut [Outcome]) {
        let Some(collector) = self.collector.take() else {
            return;
        };
        let handed_over = collector.finish(&mut |interval| self.watcher.interval(interval));
        for (outcome, earlier) in outcomes.iter_mut().zip(&handed_over) {
            outcome.tally.take_back(earlier);
        }
    }
}

impl<W: Watcher<Counted>> Tend for &RefCell<Sight<'_, W>> {
    fn progress(&mut self, now: &Progress) {
        let mut sight = self.borrow_mut();
        sight.footprint.look(now.connected, Time::now());
        sight.watcher.progress(now);
    }

    fn turn(&mut self) {
        let sight = &mut *self.borrow_mut();
        if let Some(collector) = &mut sight.collector {
            collector.turn(&mut |interval| sight.watcher.interval(interval));
        }
    }
}

/// Has each job hand over what it counts.
pub(super) fn collector(jobs: &mut [Assignment]) -> Collector<Counted> {
    let (collector, feeds) = Collector::new(jobs.iter().map(|_| (Counted::default(), None)));
    for (job, feed) in jobs.iter_mut().zip(feeds) {
        job.feed = Some(feed);
    }
    collector
}

/// Which worker it is, of how many, and what it may use.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub worker: u32,
    pub workers: u32,
    /// When the first connection of all is opened.
    pub origin: Time,
}

/// By what broadcasts of a hold that began then are known: those of another process began at
/// another time, or have another number.
fn mark(origin: Time) -> String {
    format!("ringside {} {} broadcast ", std::process::id(), origin.0)
}

/// A worker's share of the plan.
pub(super) fn assign(
    plan: &Plan,
    place: Place,
    addresses: &[Vec<Address>],
) -> Result<Assignment, LoadError> {
    let options = SocketOptions {
        receive_buffer_bytes: plan.receive_buffer_bytes,
        send_buffer_bytes: plan.send_buffer_bytes,
        reset_on_close: plan.connections > RESET_FROM,
        ..SocketOptions::default()
    };
    let mut route = Route::of(&plan.contact(), addresses, options)?;
    if plan.broadcast_s.is_some() {
        route.speech = route.speech.in_room(&mark(place.origin));
    }
    let sessions = plan::share(plan.connections.into(), place.worker, place.workers) as usize;
    Ok(Assignment {
        worker: place.worker,
        workers: place.workers,
        origin: place.origin,
        connections: plan.connections,
        sessions,
        sockets: sockets_for(sessions),
        route,
        heartbeat: match plan.protocol {
            Protocol::Http1 => Heartbeat::Request,
            Protocol::Grpc { .. } => Heartbeat::Call,
            Protocol::Http2 { .. } | Protocol::WebSocket { .. } => Heartbeat::Ping,
        },
        open_rate: plan.open_rate,
        duration_ns: ns(plan.duration_s),
        heartbeat_ns: ns(plan.heartbeat_s),
        heartbeat_timeout_ns: ns(plan.heartbeat_timeout_s),
        broadcast_ns: plan.broadcast_s.map(ns),
        connect_timeout_ns: ns(plan.connect_timeout_s),
        back_off: BackOff {
            first_ns: ns(plan.back_off.first_s),
            most_ns: ns(plan.back_off.most_s),
        },
        retries: plan.retries,
        seed: plan.seed,
        lease: plan.lease(),
        feed: None,
    })
}

#[cfg(test)]
mod tests {
    use engine::Without;

    use super::*;

    fn plan(connections: u32) -> Plan {
        let mut plan = Plan::new("http://127.0.0.1:80/").unwrap();
        plan.connections = connections;
        plan
    }

    #[test]
    fn each_cpu_has_a_worker_where_connections_are_many() {
        let mut plan = plan(1);
        plan.cpus = vec![0, 1, 2];
        for (connections, workers) in [(1, 1), (18_000, 1), (18_001, 2), (50_000, 3), (1 << 20, 3)]
        {
            plan.connections = connections;
            assert_eq!(
                threads(&plan, Kind::Uring(Without::NOTHING), 20_000),
                Ok(workers)
            );
        }
        plan.threads = Some(1);
        assert_eq!(threads(&plan, Kind::Uring(Without::NOTHING), 20_000), Ok(1));
    }

    #[test]
    fn with_epoll_the_limit_is_that_of_the_process() {
        assert_eq!(threads(&plan(900), Kind::Epoll, 1024), Ok(1));
        let refused = threads(&plan(1000), Kind::Epoll, 1024).unwrap_err();
        assert!(refused.to_string().contains("ulimit -n 1064"), "{refused}");
    }

    #[test]
    fn every_connection_has_one_worker() {
        for (connections, workers) in [(1, 1), (10, 3), (19_745, 2), (200_000, 11)] {
            let plan = plan(connections);
            let sessions = (0..workers).map(|worker| {
                let place = Place {
                    worker,
                    workers,
                    origin: Time(0),
                };
                let share = assign(&plan, place, &[]).unwrap();
                assert!(share.sockets >= share.sessions);
                share.sessions
            });
            assert_eq!(sessions.sum::<usize>(), connections as usize);
        }
    }
}

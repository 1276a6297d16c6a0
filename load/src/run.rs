//! Runs a plan: workers on their CPUs, the gate between them, and one record out of it all.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use engine::choice::Kind;
use engine::signal::{Signal, Stop};
use engine::{Address, Broken, Config, Driver, SocketOptions};
use measure::foreign::screened;
use measure::histogram::Histogram;
use measure::host::Host;
use measure::interval::{Collector, Due, Interval};
use measure::process;
use measure::record::{EndedBy as Ended, Facts, Generator, Origin, StepFacts, StreamFacts, Unmet};
use measure::tally::{Counted, Loop, StreamTally, Tally, Waits};
use measure::time::unix_seconds;
use proto::grpc::Status;

use crate::Record;
use crate::connection::Route;
use crate::crew::{Job, Progress, Tend, Window};
use crate::gate::Gate;
use crate::ground::{DESCRIPTORS_SPARE, Ground, by_signal, engine_counters, ns};
use crate::limit;
use crate::ports;
use crate::requests::Requests;
use crate::script::{self, Finish, Prepared, Scripted};
use crate::surroundings::{Disturbance, Surroundings};
use crate::watchdog::{Hang, Watchdog};
use crate::worker::{Assignment, EndedBy, Outcome, Worker, pools, sockets_for};
use ::script::Main;
use check::lateness::Seen;
use plan::protocol::Protocol;
use plan::schedule::{Marks, Schedule};
use plan::{Invalid, Plan};
use probe::LoadError;
use session::{Rules, Speech, expect, memory, recorder};
use workload::visit::Habits;
use workload::{Maker, Source, told_by_all};

/// Runs `plan` to its end or until `stop`, and says twice a second how far it is. It also says so
/// when the measured window opens, and when its time is over, so that a caller can account for what
/// others did in that window; a run that ends in another way leaves the latter out, and one that
/// `stop` ends says once more how far it is.
///
/// # Errors
/// Where nothing could be measured. A run that was stopped early, or met errors, has a record.
pub fn run(
    plan: &Plan,
    stop: &Stop,
    progress: &mut dyn FnMut(&Progress),
) -> Result<Record, LoadError> {
    let hung = |record: Record| {
        let told = record.warnings.join("; ");
        eprintln!("ringside: {}", screened(&told));
        std::process::exit(match record.ended_by {
            Ended::Interrupt => Signal::Interrupt.exit_code().into(),
            Ended::Terminate => Signal::Terminate.exit_code().into(),
            _ => 1,
        });
    };
    run_watched(plan, stop, &mut Unseen(progress), hung).map(|(record, _)| record)
}

/// Whoever watches a run while it goes on. What is called here may not wait for anybody: the thread
/// that calls it looks after the workers.
pub trait Watcher<C = Counted> {
    /// How far it is: as [`run`] says, or [`crate::hold::Hold::carry_out`].
    fn progress(&mut self, now: &Progress);

    /// Whether intervals are wanted. Without, workers hand nothing over.
    fn wants_intervals(&self) -> bool {
        false
    }

    /// A second is over, and this was counted in it. The last one is that of the drain. They add
    /// up to what is in the record.
    fn interval(&mut self, _interval: Interval<C>) {}
}

/// Somebody who only wants to know how far it is.
pub struct Unseen<'a>(pub &'a mut dyn FnMut(&Progress));

impl<C> Watcher<C> for Unseen<'_> {
    fn progress(&mut self, now: &Progress) {
        (self.0)(now);
    }
}

/// The same as [`run`] before a `watcher`, and what calls `done` of the plan's script, if it has
/// one. A script that doesn't come back can't be stopped: `hung` is given what is known then, and
/// should end the process, as [`run`] does.
///
/// # Errors
/// Those of [`run`].
pub fn run_watched(
    plan: &Plan,
    stop: &Stop,
    watcher: &mut dyn Watcher,
    hung: impl FnOnce(Record) + Send + 'static,
) -> Result<(Record, Option<Finish>), LoadError> {
    plan.validate()?;
    let workload = Source::of(plan)?;
    let ground = Ground::find(plan.contacts(), stop)?;
    check_limits(plan, ground.kind)?;
    let plan = with_sources(plan, &ground)?;
    let plan: &Plan = &plan;
    let hung = once(hung);
    let never = |what, hang| {
        hung(unfinished(plan, generator(&ground, plan), what, None, hang));
    };
    let prepared = Prepared::of(plan, ground.only(), stop, never)?;
    let (main, plan, mut jobs) = match prepared {
        Some(prepared) => scripted(plan, prepared, &ground.addresses)?,
        None => {
            let job = |worker| assign(plan, worker, &ground.addresses, workload.clone());
            let jobs = plan.workers().map(job).collect::<Result<Vec<_>, _>>()?;
            (None, Cow::Borrowed(plan), jobs)
        }
    };
    let plan: &Plan = &plan;
    let wants_intervals = watcher.wants_intervals();
    let mut sight = Sight {
        surroundings: Surroundings::new(),
        watchdog: watchdog(plan, &ground, &jobs, stop, hung),
        collector: wants_intervals.then(|| collector(plan, &mut jobs)),
        watcher,
    };
    let mut outcomes = ground.work(&plan.cpus, window(plan), jobs, stop, &mut sight, |all| all)?;
    let disturbance = sight.surroundings.disturbance();
    if let Some(collector) = sight.collector {
        let handed_over = collector.finish(&mut |interval| sight.watcher.interval(interval));
        for (outcome, earlier) in outcomes.iter_mut().zip(&handed_over) {
            outcome.settle(Some(earlier));
        }
    }
    let tallies = outcomes.iter().map(|outcome| &outcome.recorder.tally);
    let finish = main.map(|main| (main, script::rates(tallies)));
    let Ground {
        kind,
        engine_reason,
        ..
    } = ground;
    let record = assemble(plan, kind, engine_reason, outcomes, disturbance);
    let finish = finish.map(|(main, rates)| Finish::new(main, &record, rates));
    Ok((record, finish))
}

/// What is seen of a run while it goes on.
struct Sight<'a> {
    surroundings: Surroundings,
    watchdog: Option<Watchdog>,
    collector: Option<Collector>,
    watcher: &'a mut dyn Watcher,
}

impl Tend for Sight<'_> {
    fn progress(&mut self, now: &Progress) {
        self.surroundings.see(now.phase);
        if let Some(watchdog) = &self.watchdog {
            watchdog.see(now);
        }
        self.watcher.progress(now);
    }

    fn turn(&mut self) {
        if let Some(collector) = &mut self.collector {
            collector.turn(&mut |interval| self.watcher.interval(interval));
        }
    }
}

/// Has each job hand over what it counts.
pub(crate) fn collector(plan: &Plan, jobs: &mut [Assignment]) -> Collector {
    let warm_up_ns = ns(plan.warm_up_s);
    let workers = jobs.iter().map(|job| {
        let marks = Marks::new(&plan.schedule, plan.seed, job.worker, plan.threads);
        // Of the requests of users only the answers say when they are due.
        let marks = marks.filter(|_| !plan.has_users());
        let due = marks.map(|mut marks| -> Due {
            // What falls due in the warm-up is in no interval.
            marks.pass(warm_up_ns);
            let mut left = job.quota.unwrap_or(u64::MAX);
            Box::new(move |ns| {
                let due = marks.pass(warm_up_ns.saturating_add(ns)).min(left);
                left -= due;
                due
            })
        });
        let figures = job.maker.as_ref().map_or(&[][..], Requests::figures);
        (recorder::empty(figures), due)
    });
    let (collector, feeds) = Collector::new(workers);
    for (job, feed) in jobs.iter_mut().zip(feeds) {
        job.feed = Some(feed);
    }
    collector
}

/// The plan with the addresses that its connections come from, where the kernel can't choose them.
fn with_sources<'a>(plan: &'a Plan, ground: &Ground) -> Result<Cow<'a, Plan>, LoadError> {
    let addresses = ground.addresses.concat();
    let given = &plan.source_addresses;
    let sources = ports::sources(plan.own_connections(), given, &addresses, &Host::read())?;
    if sources == *given {
        return Ok(Cow::Borrowed(plan));
    }
    Ok(Cow::Owned(Plan {
        source_addresses: sources,
        ..plan.clone()
    }))
}

/// What looks after the calls of a script, if there are any; `hung` is told of one that doesn't
/// come back.
fn watchdog(
    plan: &Plan,
    ground: &Ground,
    jobs: &[Assignment],
    stop: &Stop,
    hung: impl FnOnce(Record) + Send + 'static,
) -> Option<Watchdog> {
    let beats = jobs.iter().filter_map(|job| match &job.maker {
        Some(Requests::Script(script)) => Some(script.beat()),
        _ => None,
    });
    let beats: Vec<_> = beats.collect();
    let file = &plan.script.as_ref()?.file;
    let file = file.display().to_string();
    let (plan, generator) = (plan.clone(), generator(ground, plan));
    (!beats.is_empty()).then(|| {
        Watchdog::new(beats, stop.clone(), move |hang, seen| {
            let what = script::broken_off(&file, hang);
            hung(unfinished(&plan, generator, what, seen, hang));
        })
    })
}

/// What may be told once, by whoever comes first.
fn once(hung: impl FnOnce(Record) + Send + 'static) -> impl Fn(Record) + Clone + Send + 'static {
    let hung = Arc::new(Mutex::new(Some(hung)));
    move |record| {
        let first = hung.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(hung) = first {
            hung(record);
        }
    }
}

/// What is known of the generator at any time.
fn generator(ground: &Ground, plan: &Plan) -> Generator {
    Generator {
        version: env!("CARGO_PKG_VERSION").into(),
        engine: ground.kind.name().into(),
        engine_reason: ground.engine_reason.clone(),
        threads: plan.workers().len() as u32,
        ..Generator::default()
    }
}

/// The record of a run that its script doesn't let end, from what was `seen` of it.
fn unfinished(
    plan: &Plan,
    generator: Generator,
    what: String,
    seen: Option<Progress>,
    hang: Hang,
) -> Record {
    let ended_by = match hang {
        Hang::TooLong => Ended::Script,
        Hang::Stopped(signal) => by_signal(signal),
    };
    let kind_of_loop = match plan.schedule.is_open() {
        true => Loop::Open,
        false => Loop::Closed,
    };
    let mut record = Record::assemble(
        &Tally::new(kind_of_loop),
        Facts {
            generator: Generator {
                memory_peak_bytes: process::own_peak_bytes(),
                ..generator
            },
            // What is counted is that of the measured window.
            duration_s: seen.map_or(0.0, |seen| (seen.elapsed_s - plan.warm_up_s).max(0.0)),
            valid: false,
            warnings: vec![what],
            ended_by,
            ..Facts::of(plan.recorded())
        },
    );
    if let Some(seen) = seen {
        record.exchanges.completed = seen.completed;
        record.exchanges.failed = seen.failed;
    }
    record
}

/// The jobs of a plan with a script, and the plan as the script has it: one that returns several
/// requests at once has them unanswered at once.
#[expect(clippy::type_complexity)]
fn scripted<'a>(
    plan: &'a Plan,
    prepared: Prepared,
    addresses: &[Vec<Address>],
) -> Result<(Option<Main>, Cow<'a, Plan>, Vec<Assignment>), LoadError> {
    let Prepared {
        main,
        threads,
        needs,
        makes_secrets,
    } = prepared;
    let mut plan = Cow::Borrowed(plan);
    if needs.per_call > 1 {
        plan.to_mut().pipeline = needs.per_call;
        plan.validate().map_err(|Invalid(why)| {
            let many = needs.per_call;
            Invalid(format!(
                "the script's request() returns {many} requests at once: {why}"
            ))
        })?;
    }
    let mut jobs = Vec::with_capacity(threads.len());
    // `setup` was called for all of them, so that each has what it would have in one process.
    let own = plan.workers();
    for (worker, thread) in (0..)
        .zip(threads)
        .filter(|(worker, _)| own.contains(worker))
    {
        let own = thread
            .address()
            .map(|address| [vec![Address::Tcp(address)]]);
        let addresses = own.as_ref().map_or(addresses, |own| &own[..]);
        let mut job = assign(&plan, worker, addresses, None)?;
        if needs.response {
            job.route.hears = true;
        }
        job.route.quotes &= !makes_secrets;
        let is_constant = !(needs.request || needs.response || needs.delay || needs.stop);
        match thread.frozen().filter(|_| is_constant) {
            Some(bytes) => job.route.speech = Speech::of_bytes(bytes),
            None => job.maker = Some(Requests::Script(Box::new(Scripted::new(thread)))),
        }
        jobs.push(job);
    }
    Ok((Some(main), plan, jobs))
}

/// When the measured window opens and closes, counted from the beginning of the load.
fn window(plan: &Plan) -> Window {
    Window {
        begins: plan.begins(),
        warm_up_s: plan.warm_up_s,
        length_s: plan.duration_s.or(plan.schedule.length_s()),
        may_end_sooner: plan.count.is_some() || plan.is_dealt_once() || plan.script.is_some(),
    }
}

impl Job for Assignment {
    type Outcome = Outcome;

    fn config(&self) -> Config {
        Config {
            sockets: sockets_for(self.sessions),
            ..Config::default()
        }
    }

    fn carry_out<D: Driver>(
        self,
        driver: D,
        gate: &Gate,
        stop: Stop,
        bring: impl FnOnce(Outcome),
    ) -> Result<(), Broken> {
        bring(Worker::new(driver, gate, stop, self)?.run()?);
        Ok(())
    }
}

/// A worker's share of the plan.
pub(crate) fn assign(
    plan: &Plan,
    worker: u32,
    addresses: &[Vec<Address>],
    workload: Option<Arc<Source>>,
) -> Result<Assignment, LoadError> {
    let share = |whole| plan::share(whole, worker, plan.threads);
    let options = SocketOptions {
        receive_buffer_bytes: plan.receive_buffer_bytes,
        send_buffer_bytes: plan.send_buffer_bytes,
        ..SocketOptions::default()
    };
    let mut route = Route::of(&plan.contact(), addresses, options)?;
    route.rules = Rules::of(plan)?;
    route.habits = Habits::of(plan, unix_seconds())?;
    route.quotes = !plan.makes_secrets();
    route.listens = plan.events;
    if plan.has_flow() {
        route.speech = route.speech.in_flow();
    }
    let profile_s = plan.schedule.length_s();
    let (duration_s, time_end) = match (plan.duration_s, profile_s) {
        (Some(duration), Some(profile)) if duration < profile - plan.warm_up_s => {
            (Some(duration), EndedBy::Duration)
        }
        // What was made once begins with the warm-up.
        (_, Some(profile)) => (Some(profile - plan.warm_up_s), EndedBy::Stages),
        (duration, None) => (duration, EndedBy::Duration),
    };
    let maker = workload.map(|source| Maker::new(source, worker));
    let mut maker = maker.transpose()?.map(|maker| Requests::of(maker, worker));
    let mut count = plan.count.map(share);
    if let Some(Requests::Users(users)) = &mut maker {
        // It's flows that are counted.
        users.limit(count.take());
        route.hears = true;
    }
    // There may be fewer rows than workers.
    let quota = match maker.as_ref().is_some_and(Requests::is_over) {
        true => Some(0),
        false => count,
    };
    Ok(Assignment {
        worker,
        sessions: share(plan.connections.into()) as usize * addresses.len(),
        route,
        maker,
        depth: plan.depth(),
        messages: plan.protocol.messages(),
        keep_alive: plan.keep_alive,
        marks: Marks::new(&plan.schedule, plan.seed, worker, plan.threads),
        quota,
        duration_ns: duration_s.map(ns),
        time_end,
        warm_up_ns: ns(plan.warm_up_s),
        timeout_ns: ns(plan.timeout_s),
        deadline_ns: plan.protocol.deadline_s().map(ns),
        good_within_ns: plan.goodput_within_s.map(ns),
        ping_every_ns: plan.protocol.ping_every_s().map(ns),
        seed: plan.seed,
        lease: plan.lease(),
        feed: None,
    })
}

fn check_limits(plan: &Plan, kind: Kind) -> Result<(), LoadError> {
    let Some(limit) = Host::read().descriptor_limit else {
        return Ok(());
    };
    let connections = u64::from(plan.own_connections()) * plan.origins() as u64;
    // Registered descriptors are limited for each ring; ordinary ones for the process.
    let wanted = connections + DESCRIPTORS_SPARE;
    if matches!(kind, Kind::Uring(_)) || wanted <= limit {
        return Ok(());
    }
    Err(LoadError::Limits(format!(
        "{connections} connections need {wanted} file descriptors, but with epoll the limit is \
         {limit}: raise it with `ulimit -n {wanted}` (as root: `prlimit --nofile={wanted}`), use \
         io_uring, or use fewer connections (-c)"
    )))
}

/// One record out of the workers' outcomes. Also used on outcomes of the simulator.
pub(crate) fn assemble(
    plan: &Plan,
    kind: Kind,
    engine_reason: String,
    outcomes: Vec<Outcome>,
    disturbance: Disturbance,
) -> Record {
    let duration_s = length(&outcomes).as_secs_f64();
    let verdict = limit::judge(plan, duration_s, &outcomes, disturbance);
    let offered_rate = offered_rate(plan, duration_s, &outcomes);
    let generator = Generator {
        version: env!("CARGO_PKG_VERSION").into(),
        engine: kind.name().into(),
        engine_reason,
        threads: plan.workers().len() as u32,
        cpu_seconds: outcomes
            .iter()
            .map(|outcome| outcome.cpu.map(|cpu| cpu.run_ns as f64 / 1e9))
            .sum::<Option<f64>>(),
        spun_seconds: outcomes
            .iter()
            .map(|outcome| outcome.spun_cpu_ns() as f64 / 1e9)
            .sum(),
        cpu_us_per_exchange: None, // Computed by `Record::assemble`.
        limited: verdict.limited,
        limited_reason: verdict.reason,
        cpu_share_max: verdict.cpu_share_max,
        run_queue_share_max: verdict.run_queue_share_max,
        littles_law_gap: verdict.littles_law_gap,
        memory_peak_bytes: process::own_peak_bytes(),
        longest_stall: verdict.longest_stall,
        steal_share: disturbance.steal_share,
        throttled_us: disturbance.throttled_ns.map(|ns| ns as f64 / 1000.0),
        script: of_script(&outcomes),
        counters: counters(&outcomes),
    };
    let ended_by = ended_by(&outcomes);
    let (led, said, unmet) = said(plan, &outcomes);
    let origins = origins(plan, &outcomes);
    let mut warnings = verdict.warnings;
    warnings.extend(stopped(ended_by, &outcomes));
    warnings.extend(origins.iter().filter_map(away));
    warnings.extend(pools::told(outcomes.iter().flat_map(|one| &one.origins)));
    let own_lateness = limit::merged(&outcomes, |one| &one.recorder.own_lateness);
    let tally = merged(outcomes);
    warnings.extend(unasked(plan, &tally));
    Record::assemble(
        &tally,
        Facts {
            plan: plan.recorded(),
            host: Host::read(),
            generator,
            duration_s,
            offered_rate,
            steps: steps(plan, &tally),
            streams: plan
                .events
                .then(|| streams(&tally.streams, &own_lateness, tally.waits)),
            origins,
            grpc_status: grpc_status(tally.grpc_statuses),
            unfollowed_redirects: led,
            unexpected_bodies: said,
            unexpected_answers: unmet,
            valid: verdict.valid,
            void: verdict.void,
            warnings,
            ended_by,
        },
    )
}

/// What all workers recorded.
fn merged(outcomes: Vec<Outcome>) -> Tally {
    let tallies = outcomes.into_iter().map(|outcome| outcome.recorder.tally);
    let merged = tallies.reduce(|mut all, one| {
        all.merge(&one);
        all
    });
    merged.unwrap_or_else(|| unreachable!("a plan has a thread, and each brings an outcome"))
}

/// The warning about a script that has stopped all of its threads in the warm-up, or some of them
/// before the others.
fn stopped(ended_by: Ended, outcomes: &[Outcome]) -> Option<String> {
    let measured = outcomes.iter().any(|one| one.recorder.tally.intended > 0);
    if ended_by == Ended::Script && !measured {
        return Some(
            "the script stopped its threads before anything was measured: have thread:stop() come \
             later, or drop --warmup"
                .to_owned(),
        );
    }
    let by_script = outcomes
        .iter()
        .filter(|one| one.ended_by == EndedBy::Script);
    let (stopped, all) = (by_script.count(), outcomes.len());
    (0 < stopped && stopped < all).then(|| {
        format!(
            "thread:stop() ended {stopped} of {all} threads before the others: their connections \
             did nothing from then on, and the figures are those of all"
        )
    })
}

/// What answers said: where redirects led that weren't followed, how those began that had a status
/// which nobody expects, and what came where something else was expected.
fn said(plan: &Plan, outcomes: &[Outcome]) -> (Quotes, Quotes, Vec<Unmet>) {
    let led = memory::locations(plan, outcomes.iter().map(|outcome| &outcome.memory));
    let said = memory::told(plan, outcomes.iter().map(|outcome| &outcome.memory));
    let unmet = outcomes.iter().filter_map(|outcome| {
        let expected = outcome.memory.expected()?;
        Some((expected, &*outcome.recorder.unmet))
    });
    let unmet = match plan.has_users() {
        true => {
            let faults = outcomes.iter().flat_map(|one| one.faults.clone());
            told_by_all(&plan.redaction, faults)
        }
        false => expect::told(&plan.redaction, unmet, &said),
    };
    (led, said, unmet)
}

/// What one answer said, by kind.
type Quotes = BTreeMap<String, String>;

/// From when the first worker began to when the last one ended.
fn length(outcomes: &[Outcome]) -> Duration {
    let start = outcomes.iter().map(|outcome| outcome.start).min();
    let end = outcomes.iter().map(|outcome| outcome.end).max();
    end.unwrap_or_default() - start.unwrap_or_default()
}

/// The steps, and which of their figures lateness moved; none where all requests are alike.
fn steps(plan: &Plan, tally: &Tally) -> Vec<StepFacts> {
    let names = plan.workload.as_ref().map(|workload| workload.names().0);
    let of_each = names.unwrap_or_default().into_iter().zip(&tally.steps);
    let facts = of_each.map(|(name, step)| {
        let times = (&step.response, &step.service);
        StepFacts {
            name: plan.redaction.scrub(&name).into_owned(),
            void: Seen::new(times, &step.own_lateness, tally.waits).moved(),
            grpc_status: grpc_status(step.grpc_statuses),
            streams: match &step.streams {
                Some(of_step) => streams(of_step, &step.own_lateness, tally.waits),
                None => StreamFacts::default(),
            },
        }
    });
    facts.collect()
}

/// Which figures of the times to the first byte and to the first event lateness moved.
fn streams(streams: &StreamTally, own_lateness: &Histogram, waits: Waits) -> StreamFacts {
    let times = (&streams.first_event, &streams.first_event_service);
    let first_byte = Seen {
        response: &streams.first_byte,
        // When they were sent isn't known of first bytes: lateness moved them by all that it may.
        service: &streams.first_byte,
        own: own_lateness,
        some_waited: true,
    };
    StreamFacts {
        void: Seen::new(times, own_lateness, waits).moved(),
        void_first_byte: first_byte.moved(),
    }
}

/// The warning about a WebSocket server that says more than is waited for. (One that greets each
/// connection doesn't say much more.) Or about one that streams nothing where streams are looked
/// into.
fn unasked(plan: &Plan, tally: &Tally) -> Option<String> {
    if plan.events {
        return session::streams::told(&tally.streams, tally.inside().answered);
    }
    let Protocol::WebSocket { .. } = plan.protocol else {
        return None;
    };
    let flow = plan
        .workload
        .as_ref()
        .and_then(|workload| workload.flow.as_ref());
    let turns = flow.map_or(&[][..], |flow| &flow.turns);
    let most = turns.iter().map(|turn| turn.answers).max().unwrap_or(1);
    let exchanges = tally.completed + tally.failed;
    let more = tally
        .messages_received
        .saturating_sub(exchanges.saturating_mul(most.into()));
    (more > tally.connections_opened && more > tally.messages_received / 100).then(|| {
        format!(
            "the server sent {more} messages more than were waited for, so an answer may be that \
             of an earlier message, which makes times too short: have each message wait for all \
             that it brings (`=== wait-for-server` in a .http file), and check what comes with \
             --expect"
        )
    })
}

/// The warning about one of several origins that couldn't be connected to.
fn away(origin: &Origin) -> Option<String> {
    let attempts = match origin.failed_attempts {
        0 => return None,
        1 => "1 attempt".to_owned(),
        count => format!("{count} attempts"),
    };
    Some(format!(
        "{} couldn't be connected to at times ({attempts} failed): the figures of its requests say \
         what that did to them",
        origin.origin
    ))
}

/// The connections to each of several origins.
fn origins(plan: &Plan, outcomes: &[Outcome]) -> Vec<Origin> {
    let firsts = plan.workload.as_ref().map(|workload| workload.origins().0);
    let firsts = firsts.filter(|firsts| firsts.len() > 1).unwrap_or_default();
    let counted = |origin: usize| {
        outcomes
            .iter()
            .filter_map(move |one| one.origins.get(origin))
    };
    let origins = firsts.into_iter().enumerate().map(|(index, step)| Origin {
        origin: plan.redaction.scrub(&step.target.origin()).into_owned(),
        asked: plan.own_connections().into(),
        opened: counted(index).map(|counted| counted.opened).sum(),
        failed_attempts: counted(index).map(|counted| counted.failed_attempts).sum(),
    });
    origins.collect()
}

/// The calls by the names of their statuses.
pub fn grpc_status(counts: [u64; Status::ALL.len()]) -> BTreeMap<String, u64> {
    let counts = Status::ALL.into_iter().zip(counts);
    counts
        .filter(|(_, count)| *count > 0)
        .map(|(status, count)| (status.name().to_owned(), count))
        .collect()
}

/// What was due in the window, per second; what was asked for, where the window is whole, or a
/// count ended it: answers to the last requests may come long after those were due.
fn offered_rate(plan: &Plan, duration_s: f64, outcomes: &[Outcome]) -> Option<f64> {
    if !plan.schedule.is_open() || duration_s <= 0.0 {
        return None;
    }
    let is_counted = matches!(ended_by(outcomes), Ended::Count | Ended::Rows);
    match plan.schedule {
        Schedule::Constant { rate } | Schedule::Poisson { rate }
            if is_counted && !plan.has_users() =>
        {
            Some(rate)
        }
        _ => {
            let due = outcomes.iter().map(|one| one.recorder.tally.intended);
            Some(due.sum::<u64>() as f64 / duration_s)
        }
    }
}

fn ended_by(outcomes: &[Outcome]) -> Ended {
    let all = || outcomes.iter().map(|outcome| outcome.ended_by);
    if let Some(EndedBy::Signal(signal)) = all().find(|by| matches!(by, EndedBy::Signal(_))) {
        return by_signal(signal);
    }
    if let Some(broken) = outcomes.iter().find(|outcome| outcome.unreadable.is_some()) {
        return match broken.script {
            Some(_) => Ended::Script,
            None => Ended::Rows,
        };
    }
    // One thread of a script may have stopped before the others.
    match all().find(|by| *by != EndedBy::Script).or(all().next()) {
        Some(EndedBy::Count) => Ended::Count,
        Some(EndedBy::Rows) => Ended::Rows,
        Some(EndedBy::Script) => Ended::Script,
        Some(EndedBy::Stages) => Ended::Stages,
        Some(EndedBy::PeerGone) => Ended::PeerGone,
        _ => Ended::Duration,
    }
}

/// What a script had to do with the load.
fn of_script(outcomes: &[Outcome]) -> Option<measure::record::Script> {
    let (needs, _) = outcomes.first()?.script?;
    Some(script::told(needs, limit::of_script(outcomes)))
}

fn counters(outcomes: &[Outcome]) -> BTreeMap<String, u64> {
    let mut sums = engine_counters(outcomes.iter().map(|outcome| &outcome.counters));
    // How long the generator stood still at most: exchanges behind the first wait for it, too, but
    // by then for a connection.
    let late_ns = outcomes
        .iter()
        .map(|outcome| outcome.recorder.own_lateness.max());
    let late_us = late_ns.max().unwrap_or_default() / 1000;
    sums.insert("own_lateness_max_us".to_owned(), late_us);
    for outcome in outcomes {
        for (name, count) in [
            ("dropped_in_warm_up", outcome.dropped),
            ("timeouts_put_off", outcome.put_off),
        ] {
            *sums.entry(name.to_owned()).or_default() += count;
        }
        if outcome.memory.bodies_cut() > 0 {
            let name = "script_bodies_cut".to_owned();
            *sums.entry(name).or_default() += outcome.memory.bodies_cut();
        }
    }
    sums
}

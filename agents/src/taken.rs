//! What an agent takes over of others that were lost: their workers, as more loads beside its own.
//!
//! A worker that is taken over does from then on what it would have done: what was due before isn't
//! sent, and nothing is sent twice, because whoever ran it has ended by then. So only loads that
//! end by time can be taken over; of a count or of rows nobody knows what was left. Connections
//! that were held are lost with whoever held them: they're opened anew, and held for as long as the
//! agent's own.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use fleet::division::Place;
use fleet::{Text, Verdict};
use load::plan::Part;
use load::schedule::{Schedule, Stage};
use load::{Plan, hold};
use measure::time::Time;
use tokio::sync::mpsc::UnboundedSender;

use crate::policy::Policy;
use crate::task::{Load, Ready};
use crate::work::{Among, Told, Work};

const SECOND_NS: u64 = 1_000_000_000;
/// Connections are opened in this time.
const LEAD_NS: u64 = SECOND_NS / 2;
/// Connections that were taken over are held for longer than the agent's own by so much, and ended
/// when those are: nobody knows how long they take to be opened.
const LONGER_S: f64 = 86_400.0;

/// All loads of an agent in a run.
#[derive(Debug, Default)]
pub(crate) struct Loads {
    /// The workers that it had first, and those of others.
    places: Vec<Place>,
    /// What is sent, and since when; none any more once a hold has ended.
    own: Option<(Box<Load>, Time)>,
    /// See [`Among`].
    own_ended_ns: Arc<AtomicU64>,
    taken: Vec<Work>,
    /// How many haven't ended.
    going: usize,
    verdict: Verdict,
    failed: Option<String>,
}

impl Loads {
    /// None yet, of an agent at this place.
    pub(crate) fn at(place: Place) -> Loads {
        Loads {
            places: vec![place],
            ..Loads::default()
        }
    }

    /// Its own load begins.
    pub(crate) fn begin(&mut self, load: &Load, at: Time) -> Among {
        self.own = Some((Box::new(load.clone()), at));
        self.going += 1;
        Among {
            own_ended_ns: Arc::clone(&self.own_ended_ns),
            ..Among::default()
        }
    }

    /// Its own load has ended: what was taken over of a hold goes on for no longer, and no more is.
    pub(crate) fn own_has_ended(&mut self) {
        if let Some((own, _)) = &self.own
            && matches!(**own, Load::Hold(_))
        {
            self.own = None;
            self.stop();
        }
    }

    /// A load has ended, or couldn't begin: what became of all of them, if that was the last one.
    pub(crate) fn ended(
        &mut self,
        verdict: Verdict,
        failed: Option<String>,
    ) -> Option<(Verdict, Option<String>)> {
        let before = &self.verdict.sender;
        // A load that never began knows of nothing.
        let mut sender = match verdict.sender.engine == Text::default() {
            true => before.clone(),
            false => verdict.sender.clone(),
        };
        let parts_us = before.cpu_us.into_iter().chain(verdict.sender.cpu_us);
        sender.cpu_us = parts_us.reduce(u64::saturating_add);
        if verdict.limited || !self.verdict.limited {
            self.verdict = verdict;
        }
        self.verdict.sender = sender;
        self.failed = self.failed.take().or(failed);
        self.going = self.going.saturating_sub(1);
        (self.going == 0).then(|| (std::mem::take(&mut self.verdict), self.failed.take()))
    }

    /// Has those end that were taken over.
    pub(crate) fn stop(&self) {
        self.taken.iter().for_each(Work::stop);
    }

    /// Runs these workers as well, as far as the owner of this machine lets it.
    ///
    /// # Errors
    /// A sentence: why it doesn't.
    pub(crate) fn take_over(
        &mut self,
        places: &[Place],
        policy: &Policy,
        tell: &UnboundedSender<Told>,
    ) -> Result<(), String> {
        let Some((own, begun)) = self.own.as_ref() else {
            return Err("its own load has ended".to_owned());
        };
        let all: Vec<Place> = self.places.iter().chain(places).copied().collect();
        policy.check_loads(own, &all)?;
        let (at, after_ns) = from_second(*begun, Time::now().plus(LEAD_NS));
        let rests = places.iter().map(|place| rest(own, place, after_ns));
        let rests: Vec<(Load, u64)> = rests.collect::<Result<_, _>>()?;
        self.places = all;
        for (load, after_ns) in rests {
            let among = Among {
                is_taken: true,
                after_ns,
                own_ended_ns: Arc::clone(&self.own_ended_ns),
            };
            let ready = Ready { load, own: None };
            self.taken
                .push(Work::begin(ready, at, among, tell.clone())?);
            self.going += 1;
        }
        Ok(())
    }
}

/// The first whole second of a load that isn't before a time: when it is, and how far into it.
fn from_second(begun: Time, earliest: Time) -> (Time, u64) {
    let after_ns = earliest.since(begun).next_multiple_of(SECOND_NS);
    (begun.plus(after_ns), after_ns)
}

/// What these workers do when so much of the load is over, and where that is in the measured time.
fn rest(own: &Load, place: &Place, after_ns: u64) -> Result<(Load, u64), String> {
    match own {
        Load::Run(plan) => {
            let (rest, measured_ns) = rest_of_run(plan, place, after_ns)?;
            Ok((Load::Run(rest), measured_ns))
        }
        Load::Hold(plan) => Ok((Load::Hold(rest_of_hold(plan, place)?), after_ns)),
    }
}

fn rest_of_hold(own: &hold::Plan, place: &Place) -> Result<hold::Plan, String> {
    let mut plan = own.clone();
    plan.duration_s += LONGER_S;
    plan.part = plan.part.map(|part| of_place(part, place));
    plan.validate().map_err(|why| why.to_string())?;
    Ok(plan)
}

fn rest_of_run(own: &Plan, place: &Place, after_ns: u64) -> Result<(Plan, u64), String> {
    if own.count.is_some() || own.is_dealt_once() {
        return Err("what others have left of a count can't be known".to_owned());
    }
    if own.script.is_some() {
        return Err("a script can't be taken over".to_owned());
    }
    let mut plan = own.clone();
    let after_s = after_ns as f64 / 1e9;
    let measured_s = (after_s - own.warm_up_s).max(0.0);
    plan.warm_up_s = (own.warm_up_s - after_s).max(0.0);
    plan.duration_s = own.duration_s.map(|length_s| length_s - measured_s);
    match &mut plan.schedule {
        Schedule::Stages { stages, .. } => *stages = rest_of(stages, after_s),
        Schedule::Trace { .. } => return Err("a replay can't be taken over".to_owned()),
        Schedule::Closed | Schedule::Constant { .. } | Schedule::Poisson { .. } => {}
    }
    let is_over = plan.schedule.length_s().or(plan.duration_s);
    if is_over.is_none_or(|length_s| length_s <= 0.0) {
        return Err("the load is about to end".to_owned());
    }
    plan.part = plan.part.map(|part| of_place(part, place));
    plan.validate().map_err(|why| why.to_string())?;
    Ok((plan, (measured_s * 1e9) as u64))
}

fn of_place(part: Part, place: &Place) -> Part {
    Part {
        workers: place.numbers(),
        ..part
    }
}

/// A profile from some moment on.
fn rest_of(stages: &[Stage], after_s: f64) -> Vec<Stage> {
    let (mut left_s, mut rest) = (after_s, Vec::new());
    for stage in stages {
        if left_s >= stage.seconds {
            left_s -= stage.seconds;
            continue;
        }
        let slope = (stage.to - stage.from) / stage.seconds;
        rest.push(Stage {
            from: stage.from + slope * left_s,
            to: stage.to,
            seconds: stage.seconds - left_s,
        });
        left_s = 0.0;
    }
    rest
}

#[cfg(test)]
mod tests {
    use fleet::division::places;
    use load::plan::{Lease, Permits};
    use tokio::sync::mpsc::unbounded_channel;

    use super::*;

    fn plan(spoil: impl FnOnce(&mut Plan)) -> Plan {
        let mut plan = Plan::new("http://127.0.0.1:1/").unwrap();
        (plan.threads, plan.connections) = (4, 8);
        (plan.duration_s, plan.warm_up_s) = (Some(60.0), 5.0);
        plan.part = Some(Part {
            workers: 0..1,
            begins: Time(0),
            permits: Permits::default(),
            lease: Lease::default(),
        });
        spoil(&mut plan);
        plan
    }

    #[test]
    fn a_worker_that_is_taken_over_does_what_is_left() {
        let place = places(&[1, 3]).unwrap()[1];
        let rest = rest_of_run;
        let (later, shift_ns) = rest(&plan(|_| {}), &place, 20 * SECOND_NS).unwrap();
        assert_eq!(later.workers(), 1..4);
        assert_eq!((later.warm_up_s, later.duration_s), (0.0, Some(45.0)));
        assert_eq!(shift_ns, 15 * SECOND_NS);
        // Nothing is measured yet.
        let (early, shift_ns) = rest(&plan(|_| {}), &place, 2 * SECOND_NS).unwrap();
        assert_eq!((early.warm_up_s, early.duration_s), (3.0, Some(60.0)));
        assert_eq!(shift_ns, 0);
        for (spoil, part) in [
            (plan(|plan| plan.count = Some(9)), "can't be known"),
            (plan(|plan| plan.duration_s = Some(15.0)), "about to end"),
        ] {
            let why = rest(&spoil, &place, 20 * SECOND_NS).unwrap_err();
            assert!(why.contains(part), "{why}");
        }
        let (at, after_ns) = from_second(Time(7), Time(7 + SECOND_NS + 1));
        assert_eq!((at, after_ns), (Time(7 + 2 * SECOND_NS), 2 * SECOND_NS));
    }

    #[test]
    fn connections_that_are_taken_over_are_anothers_and_are_held_until_they_are_ended() {
        let place = places(&[1, 3]).unwrap()[1];
        let mut own = hold::Plan::new("http://127.0.0.1:1/").unwrap();
        (own.threads, own.connections, own.duration_s) = (Some(4), 8, 60.0);
        own.part = plan(|_| {}).part;
        let (later, after_ns) = rest(&Load::Hold(own), &place, 20 * SECOND_NS).unwrap();
        assert_eq!((later.workers(), after_ns), (1..4, 20 * SECOND_NS));
        assert_eq!(later.own_connections(), 6);
        let Load::Hold(later) = later else {
            panic!("it's a hold");
        };
        assert!(later.duration_s > 86_400.0);
    }

    #[test]
    fn nothing_is_taken_over_of_a_hold_that_has_ended() {
        let (all, tell) = (places(&[1, 1]).unwrap(), unbounded_channel().0);
        let mut loads = Loads::at(all[0]);
        let hold = hold::Plan::new("http://127.0.0.1:1/").unwrap();
        loads.begin(&Load::Hold(hold), Time(0));
        loads.own_has_ended();
        let why = loads.take_over(&all[1..], &Policy::default(), &tell);
        assert_eq!(why, Err("its own load has ended".to_owned()));
    }

    #[test]
    fn a_profile_goes_on_where_it_is() {
        let stage = |from, to, seconds| Stage { from, to, seconds };
        let stages = [stage(0.0, 100.0, 10.0), stage(100.0, 50.0, 10.0)];
        assert_eq!(rest_of(&stages, 4.0), [stage(40.0, 100.0, 6.0), stages[1]]);
        assert_eq!(rest_of(&stages, 12.0), [stage(90.0, 50.0, 8.0)]);
        assert!(rest_of(&stages, 20.0).is_empty());
    }

    #[test]
    fn the_last_load_that_ends_says_what_became_of_all() {
        let mut loads = Loads::at(places(&[1]).unwrap()[0]);
        loads.begin(&Load::Run(plan(|_| {})), Time(0));
        loads.going += 1;
        let sender = |cpu_us| fleet::Sender {
            engine: Text::new("epoll"),
            cpu_us: Some(cpu_us),
            ..fleet::Sender::default()
        };
        let limited = Verdict {
            limited: true,
            reason: Text::new("its CPUs were busy"),
            sender: sender(5),
        };
        loads.going += 1;
        assert_eq!(loads.ended(limited.clone(), None), None);
        let of_others = Verdict {
            sender: sender(7),
            ..Verdict::default()
        };
        assert_eq!(loads.ended(of_others, None), None);
        let all = loads.ended(Verdict::default(), Some("it broke".to_owned()));
        let (verdict, failed) = all.unwrap();
        // What both cost is one sum, and one that never began takes nothing of it away.
        assert_eq!(verdict.sender, sender(12));
        assert_eq!((verdict.limited, verdict.reason), (true, limited.reason));
        assert_eq!(failed.as_deref(), Some("it broke"));
    }
}

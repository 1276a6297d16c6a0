//! What a coordinator does from the beginning of the load on: who is lost, what is missing, the
//! record.

use measure::time::Time;

use super::part::Part;
use super::{
    Action, BEGUN_NS, CLOCKS_AT_END_NS, COLLECT_NS, CONFIRM_NS, Coordinator, End, LEFT_NS, LOST_NS,
    OnLoss, Phase, REPEAT_NS, STOP_NS, URGENT_NS, assemble, tell,
};
use crate::division::{Place, deal, nobodys};
use crate::message::{LIST_MAX, Order, Stop};

impl Coordinator {
    /// The load goes on.
    pub(super) fn run(&mut self, now: Time, actions: &mut Vec<Action>) {
        self.begin_all(now, actions);
        if self.parts.iter().any(|part| part.is_halted) {
            // Nobody's share is to be sent by others then.
            self.stop(Stop::Asked, now);
        }
        self.find_lost(now, actions);
        if now >= self.until && self.stopping.is_none() {
            self.note(
                "the load took longer than planned, and was ended".to_owned(),
                actions,
            );
            self.stop(Stop::TooLong, now);
        }
        self.stop_all(now, actions);
        self.recall_others(now, actions);
        self.ask(now, actions);
        self.repeat_moves(now, actions);
        let is_over = |part: &Part| part.last.is_some() || part.lost.is_some();
        let has_begun = |part: &Part| part.begun.is_some() || self.stopping.is_none();
        if self
            .parts
            .iter()
            .all(|part| is_over(part) || !has_begun(part))
        {
            self.enter(Phase::Closing, CLOCKS_AT_END_NS, now);
        }
    }

    /// Tells agents when to begin, until each has heard it.
    fn begin_all(&mut self, now: Time, actions: &mut Vec<Action>) {
        let Some(begin) = self.begin.filter(|_| self.stopping.is_none()) else {
            return;
        };
        let mut late = None;
        for part in self.parts.iter_mut().filter(|part| part.begun.is_none()) {
            if now >= begin.plus(BEGUN_NS) {
                late = Some(part.member.agent.clone());
            }
            let at = part.clock.first.and_then(|offset| offset.theirs(begin));
            if let (Some(at), Some(place)) = (at, part.place)
                && part.is_due(URGENT_NS, now)
            {
                let order = Order::Begin {
                    to: part.member.clone(),
                    at_ns: at.0,
                    place,
                };
                tell(&self.settings, &part.member.agent, order, actions);
            }
        }
        if let Some(agent) = late {
            let why = format!("agent {agent} never said that it had begun");
            self.not_begun(why, now, actions);
        }
    }

    /// Not all agents began together, so none goes on.
    pub(super) fn not_begun(&mut self, why: String, now: Time, actions: &mut Vec<Action>) {
        if self.phase == Phase::Running {
            self.note(why, actions);
            self.stop(Stop::NotBegun, now);
        }
    }

    /// Gives up whoever wasn't heard for too long, and decides what the others do then.
    fn find_lost(&mut self, now: Time, actions: &mut Vec<Action>) {
        let gives_up = self
            .stopping
            .is_some_and(|(_, at)| now.since(at) >= STOP_NS);
        let mut gone = Vec::new();
        for part in &mut self.parts {
            let is_silent = now.since(part.heard) >= LOST_NS;
            if part.last.is_none() && part.lost.is_none() && (is_silent || gives_up) {
                part.lost = Some(now);
                let silent_s = now.since(part.heard) as f64 / 1e9;
                gone.push(match is_silent {
                    true => format!(
                        "agent {} was lost: it wasn't heard for {silent_s:.1} s",
                        part.member.agent
                    ),
                    false => format!("agent {} didn't end its load", part.member.agent),
                });
            }
        }
        for what in gone {
            self.note(what, actions);
        }
        let is_gone = |part: &Part| {
            let early = part
                .last
                .as_ref()
                .is_some_and(|last| !last.ended.is_planned());
            !part.is_mourned && (part.lost.is_some() || early)
        };
        let mut is_any = std::mem::take(&mut self.is_short);
        for part in self.parts.iter_mut().filter(|part| is_gone(part)) {
            part.is_mourned = true;
            is_any = true;
        }
        let others_go_on = self.parts.iter().any(Part::is_loading);
        if is_any && others_go_on && self.stopping.is_none() {
            match self.settings.on_loss {
                OnLoss::Continue => {}
                OnLoss::Stop => self.stop(Stop::Lost, now),
                OnLoss::Rebalance => self.rebalance(actions),
            }
        }
        self.stop_lost(now, actions);
    }

    /// An agent that isn't heard may hear all the same, and is to end its load then: its share is
    /// others' now.
    fn stop_lost(&mut self, now: Time, actions: &mut Vec<Action>) {
        let is_lost = |part: &&mut Part| part.lost.is_some() && part.last.is_none();
        for part in self.parts.iter_mut().filter(is_lost) {
            if part.is_due(REPEAT_NS, now) {
                let why = Stop::Unheard;
                tell(
                    &self.settings,
                    &part.member.agent,
                    Order::Stop { why },
                    actions,
                );
            }
        }
    }

    /// Has those that are left run the workers that nobody runs any more, each of which is one
    /// agent's alone.
    fn rebalance(&mut self, actions: &mut Vec<Action>) {
        let Some(all) = self.parts.iter().find_map(|part| part.place) else {
            return;
        };
        let all = all.all();
        let held = self.parts.iter().filter(|part| part.holds_workers());
        let gaps = nobodys(all, held.flat_map(Part::places));
        let workers: u32 = gaps.iter().map(|gap| gap.end - gap.start).sum();
        let of = |part: &Part| part.places().map(Place::workers).sum();
        let left = self.parts.iter().filter(|part| part.is_loading());
        let run: Vec<u32> = left.map(of).collect();
        if workers == 0 {
            return;
        }
        self.moves += 1;
        let mut names = Vec::new();
        let left = self.parts.iter_mut().filter(|part| part.is_loading());
        for (part, places) in left.zip(deal(gaps, all, &run)) {
            if places.is_empty() || part.taken.len() + places.len() > LIST_MAX {
                continue;
            }
            names.push(part.member.agent.to_string());
            part.taken.extend(places);
            part.moving = Some(self.moves);
            part.told = None;
        }
        let share = 100.0 * f64::from(workers) / f64::from(all);
        let what = format!(
            "{share:.1} % of the load ({workers} of {all} threads) was given to {}: what was due \
             of it before isn't sent",
            names.join(", ")
        );
        self.note(what, actions);
    }

    fn repeat_moves(&mut self, now: Time, actions: &mut Vec<Action>) {
        let settings = &self.settings;
        for part in self.parts.iter_mut().filter(|part| part.is_loading()) {
            if let Some(turn) = part.moving
                && part.is_due(REPEAT_NS, now)
            {
                let (to, places) = (part.member.clone(), part.taken.clone());
                let order = Order::Move { to, places, turn };
                tell(settings, &part.member.agent, order, actions);
            }
        }
    }

    /// Says that the load is to end, until all of it has.
    fn stop_all(&mut self, now: Time, actions: &mut Vec<Action>) {
        if let Some((why, _)) = self.stopping
            && self.is_due(URGENT_NS, now)
        {
            self.say_to_all(Order::Stop { why }, actions);
        }
    }

    /// Agents that couldn't hear a coordinator when it came back may hear it later.
    fn recall_others(&mut self, now: Time, actions: &mut Vec<Action>) {
        let is_due = self.stopping.is_none() && self.is_due(REPEAT_NS, now);
        if self.settings.returns && (self.parts.len() as u32) < self.settings.agents && is_due {
            self.say_to_all(Order::Recall, actions);
        }
    }

    /// Asks for what is missing.
    fn ask(&mut self, now: Time, actions: &mut Vec<Action>) {
        for part in self.parts.iter_mut() {
            if let Some(order) = part.ask(now) {
                tell(&self.settings, &part.member.agent, order, actions);
            }
        }
    }

    /// All loads are over: compares clocks once more, and has the rest of the intervals sent.
    pub(super) fn close(&mut self, now: Time, actions: &mut Vec<Action>) {
        self.stop_all(now, actions);
        self.ask(now, actions);
        let came: u64 = self.parts.iter().map(|part| part.chain.length()).sum();
        if came != self.progress.0 {
            self.progress = (came, now);
        }
        let is_here = |part: &Part| {
            part.is_proven() || part.broken.is_some() || now.since(part.heard) >= LOST_NS
        };
        let is_stuck = now.since(self.progress.1) >= COLLECT_NS && now >= self.until;
        let all_here = self.parts.iter().all(is_here) || is_stuck;
        let compared = |part: &Part| {
            let has_left = part.leaves() && now.since(part.heard) >= LEFT_NS;
            part.clock.is_done(true) || part.last.is_none() || has_left
        };
        let all_compared = self.parts.iter().all(compared) || now >= self.until;
        if all_here && all_compared {
            return self.record(now, actions);
        }
        let waits = now < self.until;
        for part in self
            .parts
            .iter_mut()
            .filter(|part| waits && !compared(part))
        {
            if let Some(order) = part.clock.ping(&part.member, now) {
                tell(&self.settings, &part.member.agent, order, actions);
            }
        }
    }

    /// Nobody will be heard any more: ends with what is here.
    pub(super) fn alone(&mut self, why: &str, now: Time, actions: &mut Vec<Action>) {
        if std::mem::replace(&mut self.is_alone, true) {
            return;
        }
        match &self.phase {
            Phase::Running | Phase::Closing => {
                self.note(why.to_owned(), actions);
                for part in self.parts.iter_mut().filter(|part| part.last.is_none()) {
                    part.lost = part.lost.or(Some(now));
                }
                self.record(now, actions);
            }
            Phase::Keeping | Phase::Over => {}
            Phase::Confirming => self.enter(Phase::Confirming, 0, now),
            Phase::Failing(failed) => self.enter(Phase::Failing(failed.clone()), 0, now),
            Phase::Claiming
            | Phase::Recalling
            | Phase::Gathering
            | Phase::Preparing
            | Phase::Clocks => self.enter(Phase::Failing(Some(why.to_owned())), 0, now),
        }
    }

    /// Makes a record of what is here.
    fn record(&mut self, now: Time, actions: &mut Vec<Action>) {
        let outcome = assemble::outcome(&self.settings, &self.parts, &self.course, &self.findings);
        actions.push(Action::Record(Box::new(outcome)));
        self.enter(Phase::Keeping, u64::MAX, now);
    }

    /// Tells agents that the record is kept.
    pub(super) fn confirm(&mut self, now: Time, actions: &mut Vec<Action>) {
        // One that leaves may be gone as soon as it has heard it.
        let is_late = now.plus(CONFIRM_NS) >= self.until.plus(LEFT_NS);
        let is_told =
            |part: &Part| part.is_released || !part.is_proven() || part.leaves() && is_late;
        if now >= self.until || self.parts.iter().all(is_told) {
            self.phase = Phase::Over;
            return actions.push(Action::Over(End::Recorded));
        }
        let settings = &self.settings;
        for part in self.parts.iter_mut().filter(|part| !is_told(part)) {
            if part.is_due(REPEAT_NS, now) {
                let order = Order::Confirm {
                    to: part.member.clone(),
                    chain: part.chain.digest(),
                };
                tell(settings, &part.member.agent, order, actions);
            }
        }
    }
}

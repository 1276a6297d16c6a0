//! What a coordinator does before the load begins: claiming, recalling, gathering, preparing,
//! comparing clocks.

use measure::time::Time;

use super::part::Part;
use super::{
    Action, CLOCKS_NS, Coordinator, End, FAIL_NS, Phase, RECALL_NS, REPEAT_NS, SECOND_NS, TWINS_NS,
    URGENT_NS, tell,
};
use crate::bus::Subject;
use crate::division::{Place, by_weight, places};
use crate::message::{Ended, LIST_MAX, Order, Report, Stop};
use crate::words::{AgentName, Member, RunId, Text};

/// How a finding about agents of the same name begins.
const TWINS: &str = "two agents are called";

impl Coordinator {
    /// Wants the run.
    pub(super) fn claim(&mut self, now: Time, actions: &mut Vec<Action>) {
        if now >= self.until {
            return match self.settings.returns {
                true => self.enter(Phase::Recalling, RECALL_NS, now),
                false => self.enter(Phase::Gathering, self.settings.gather_ns, now),
            };
        }
        let subject = Subject::Coordinator(self.settings.run.clone());
        self.say(subject, Order::Claim, actions);
    }

    /// Asks who is in the run.
    pub(super) fn recall(&mut self, now: Time, actions: &mut Vec<Action>) {
        let all_there = self.parts.len() as u32 >= self.settings.agents;
        if all_there || now >= self.until {
            return self.recalled(now, actions);
        }
        if self.is_due(REPEAT_NS, now) {
            self.say_to_all(Order::Recall, actions);
        }
    }

    /// Whoever is in the run has said so.
    fn recalled(&mut self, now: Time, actions: &mut Vec<Action>) {
        if self.parts.is_empty() {
            let run = &self.settings.run;
            return match self.rival {
                Some(epoch) => self.give_way(epoch, actions),
                None => self.fail(
                    format!("no agent is in run {run}: it's over, or its agents were ended"),
                    now,
                ),
            };
        }
        if self.parts.iter().all(|part| part.begun.is_none()) {
            return self.fail(
                "the load hadn't begun yet: start the run again".to_owned(),
                now,
            );
        }
        self.enter(Phase::Running, self.settings.longest_ns, now);
        self.progress = (0, now);
        self.is_short = (self.parts.len() as u32) < self.settings.agents;
        if self.parts.iter().any(|part| part.begun.is_none()) {
            let why = "the coordinator was away while agents began, and some hadn't";
            self.not_begun(why.to_owned(), now, actions);
        }
    }

    /// An agent says where it is in the run.
    pub(super) fn take_standing(
        &mut self,
        from: Member,
        report: Report,
        now: Time,
        actions: &mut Vec<Action>,
    ) {
        let Report::Standing {
            workers,
            place,
            taken,
            turn,
            same,
            has_begun,
            count,
        } = report
        else {
            return;
        };
        let is_back = matches!(
            self.phase,
            Phase::Recalling | Phase::Running | Phase::Closing
        );
        if !self.settings.returns || !is_back {
            return;
        }
        let workers_wanted = self.settings.workers;
        let is_divided_otherwise =
            |place: Place| workers_wanted.is_some_and(|all| all != place.all());
        if same.is_some_and(|same| same != self.settings.same)
            || place.is_some_and(is_divided_otherwise)
        {
            return self.is_another(&from, actions);
        }
        let known = self.parts.iter().position(|part| part.member == from);
        let index = known.unwrap_or(self.parts.len());
        if known.is_none() && (index as u32) < self.settings.agents {
            let part = Part::new(&self.settings.run, from, workers, now);
            self.parts.push(part);
        }
        let Some(part) = self.parts.get_mut(index) else {
            return;
        };
        part.is_heard(now);
        part.place = part.place.or(place);
        if part.taken.is_empty() {
            part.taken = taken;
        }
        self.moves = self.moves.max(turn);
        if has_begun {
            // When it began is known to it alone.
            part.begun = part.begun.or(Some(now));
        }
        part.knows(count);
        self.pulse = now;
    }

    /// Agents carry out another load than the one that this coordinator was started with. Whoever
    /// comes back with theirs has the run, so that nobody is told to end it.
    fn is_another(&mut self, from: &Member, actions: &mut Vec<Action>) {
        let (agent, run) = (&from.agent, &self.settings.run);
        let why = format!(
            "agent {agent} sends another load in run {run}: give all arguments that the run was \
             begun with, --agents among them"
        );
        self.phase = Phase::Over;
        actions.push(Action::Over(End::Failed(why)));
    }

    /// Calls for agents.
    pub(super) fn gather(&mut self, now: Time, actions: &mut Vec<Action>) {
        let (there, agents) = (self.parts.len() as u32, self.settings.agents);
        let series = self.settings.series;
        if there >= agents {
            return self.divide(now);
        }
        if now >= self.until {
            return self.fail(self.too_few(), now);
        }
        if self.is_due(REPEAT_NS, now) {
            self.say(Subject::Call, Order::Call { agents, series }, actions);
        }
    }

    /// Who is there and who isn't, as far as that is known, and what to do.
    fn too_few(&self) -> String {
        let names = list(self.parts.iter().map(|part| &part.member.agent));
        let is_here = |name: &AgentName| self.parts.iter().any(|part| part.member.agent == *name);
        let busy = self.busy.iter().filter(|(agent, _)| !is_here(agent));
        let busy = busy.map(|(agent, run)| {
            format!("agent {agent} is in run {run}, which `ringside fleet stop` ends")
        });
        let others: Vec<String> = self.findings.iter().cloned().chain(busy).collect();
        let others = match others.is_empty() {
            true => String::new(),
            false => format!(" ({})", others.join("; ")),
        };
        let (there, agents) = (self.parts.len(), self.settings.agents);
        let run = &self.settings.run;
        let advice = match self.findings.iter().any(|what| what.starts_with(TWINS)) {
            true => "the names of agents must differ",
            false => "start more agents, or ask for fewer (--agents)",
        };
        format!(
            "{there} of {agents} agents answered the call for run {run}{names}{others}: {advice}"
        )
    }

    /// An agent is in another run.
    pub(super) fn is_busy(&mut self, from: Member, run: RunId, actions: &mut Vec<Action>) {
        if self.busy.len() >= LIST_MAX || self.phase != Phase::Gathering {
            return;
        }
        let what = format!("waiting for agent {}, which is in run {run}", from.agent);
        if self.busy.insert(from.agent, run.clone()) != Some(run) {
            actions.push(Action::Note(what));
        }
    }

    /// An agent has left before its load began.
    pub(super) fn left(&mut self, from: &Member, why: &Text, now: Time, actions: &mut Vec<Action>) {
        let Some(at) = self.parts.iter().position(|part| part.member == *from) else {
            return;
        };
        let what = format!("agent {} left the run: {why}", from.agent);
        match self.phase {
            Phase::Gathering => {
                self.parts.remove(at);
            }
            Phase::Preparing | Phase::Clocks => self.fail(what, now),
            Phase::Running if self.parts[at].begun.is_none() => {
                // Nothing will come of it that could be waited for.
                self.parts[at].broken = Some("it left the run before its load began".to_owned());
                self.not_begun(what, now, actions);
            }
            _ => {}
        }
    }

    /// An agent takes no part, because whoever looks after all agents wants no load.
    pub(super) fn halted(&mut self, from: &Member, now: Time, actions: &mut Vec<Action>) {
        let part = self.parts.iter_mut().find(|part| part.member == *from);
        let has_begun = part.as_ref().is_some_and(|part| part.begun.is_some());
        if let Some(part) = part {
            part.is_halted = true;
        }
        match self.phase {
            Phase::Gathering | Phase::Preparing | Phase::Clocks => {
                self.enter(Phase::Failing(None), FAIL_NS, now);
            }
            Phase::Running if !has_begun => {
                let why = format!("agent {} left the run: {}", from.agent, Ended::Halted);
                self.not_begun(why, now, actions);
            }
            _ => {}
        }
    }

    /// An agent would take part.
    pub(super) fn welcome(
        &mut self,
        from: Member,
        workers: u32,
        program: &Text,
        now: Time,
        actions: &mut Vec<Action>,
    ) {
        if self.parts.iter().any(|part| part.member == from) {
            return;
        }
        let ours = &self.settings.program;
        let same_name = |part: &&mut Part| part.member.agent == from.agent;
        let agents = self.settings.agents;
        let why = if program.to_string() != Text::new(ours).to_string() {
            let why = format!(
                "agent {} is ringside {program}, and the coordinator {ours}: use the same version \
                 on all machines",
                from.agent
            );
            self.note(why.clone(), actions);
            why
        } else if workers == 0 {
            "it has no workers".to_owned()
        } else if self.phase != Phase::Gathering {
            match self.parts.iter_mut().find(same_name) {
                Some(part) => format!(
                    "agent {} was in this run and was started again: what it had counted is gone",
                    part.member.agent
                ),
                None => format!("its {agents} agents were complete before this one answered"),
            }
        } else if let Some(part) = self.parts.iter_mut().find(same_name) {
            // The life before is over: the name is of one at a time.
            if from.epoch > part.member.epoch {
                *part = Part::new(&self.settings.run, from, workers, now);
                return;
            }
            let why = format!(
                "{TWINS} {}: give each a name of its own (--name)",
                from.agent
            );
            self.note(why.clone(), actions);
            // There may be enough others, whose answers are on their way.
            self.until = self.until.min(now.plus(TWINS_NS));
            why
        } else {
            if (self.parts.len() as u32) < agents {
                let part = Part::new(&self.settings.run, from, workers, now);
                self.parts.push(part);
                self.pulse = now;
                return;
            }
            format!("its {agents} agents were complete before this one answered")
        };
        let inbox = Subject::Agent(from.agent.clone());
        let order = Order::Refuse {
            to: from,
            why: Text::new(&why),
        };
        self.say(inbox, order, actions);
    }

    /// All agents are there: divides the load.
    fn divide(&mut self, now: Time) {
        self.parts
            .sort_by(|one, other| one.member.agent.cmp(&other.member.agent));
        if let Some(why) = self.weighs_nobody() {
            return self.fail(why, now);
        }
        let wanted: Vec<u32> = self.parts.iter().map(|part| self.weight(part)).collect();
        let workers = match self.settings.workers {
            Some(all) => by_weight(all, &wanted),
            None => Ok(wanted),
        };
        match workers.and_then(|workers| places(&workers)) {
            Ok(places) => {
                for (part, place) in self.parts.iter_mut().zip(places) {
                    part.place = Some(place);
                }
                self.enter(Phase::Preparing, self.settings.prepare_ns, now);
            }
            Err(why) => self.fail(why.to_string(), now),
        }
    }

    /// Tells agents what to do, and waits until all are ready.
    pub(super) fn prepare(&mut self, now: Time, actions: &mut Vec<Action>) {
        if self.parts.iter().all(|part| part.is_ready) {
            return self.enter(Phase::Clocks, CLOCKS_NS, now);
        }
        if self.is_too_late("didn't say that it was ready", |part| part.is_ready, now) {
            return;
        }
        let settings = &self.settings;
        for part in self.parts.iter_mut().filter(|part| !part.is_ready) {
            if let Some(place) = part.place
                && part.is_due(SECOND_NS, now)
            {
                let order = Order::Plan {
                    to: part.member.clone(),
                    place,
                    plan: settings.plan.clone(),
                    same: settings.same,
                    data: settings.data.clone(),
                };
                tell(settings, &part.member.agent, order, actions);
            }
        }
    }

    /// Ends the run if its phase has lasted too long, naming the first agent that isn't `done`.
    fn is_too_late(&mut self, what: &str, done: impl Fn(&Part) -> bool, now: Time) -> bool {
        let late = self.parts.iter().find(|part| !done(part));
        let Some(late) = late.filter(|_| now >= self.until) else {
            return false;
        };
        let why = format!(
            "agent {} {what} in time: look at its log",
            late.member.agent
        );
        self.fail(why, now);
        true
    }

    /// Compares the agents' clocks with its own, and has the load begin.
    pub(super) fn compare_clocks(&mut self, now: Time, actions: &mut Vec<Action>) {
        if self.parts.iter().all(|part| part.clock.is_done(false)) {
            let begin = now.plus(self.lead_ns);
            self.begin = Some(begin);
            self.enter(
                Phase::Running,
                self.lead_ns.saturating_add(self.settings.longest_ns),
                now,
            );
            self.progress = (0, now);
            actions.push(Action::Begins(begin));
            return;
        }
        if self.is_too_late("didn't answer pings", |part| part.clock.is_done(false), now) {
            return;
        }
        for part in &mut self.parts {
            if !part.clock.is_done(false)
                && let Some(order) = part.clock.ping(&part.member, now)
            {
                tell(&self.settings, &part.member.agent, order, actions);
            }
        }
    }

    /// Tells agents that nothing will come of it.
    pub(super) fn end_failed(&mut self, why: Option<String>, now: Time, actions: &mut Vec<Action>) {
        if now >= self.until {
            self.phase = Phase::Over;
            let end = why.map_or(End::Halted, End::Failed);
            return actions.push(Action::Over(end));
        }
        if self.is_due(URGENT_NS, now) {
            let why = Stop::NotBegun;
            self.say_to_all(Order::Stop { why }, actions);
        }
    }
}

/// Names in parentheses, if there are any.
pub(super) fn list<'a>(names: impl Iterator<Item = &'a AgentName>) -> String {
    let names: Vec<String> = names.take(8).map(ToString::to_string).collect();
    match names.is_empty() {
        true => String::new(),
        false => format!(" ({})", names.join(", ")),
    }
}

//! What there is to see of a run while it goes on, and how it is to begin.

use std::collections::BTreeMap;

use super::part::Part;
use super::{Coordinator, LEAD_NS, Phase};
use crate::counted::Interval;
use crate::words::AgentName;

impl Coordinator {
    /// Has the load begin sooner than [`LEAD_NS`] after the decision, where the broker is known to
    /// be near. An agent that hears of it too late says so, and nothing begins.
    pub fn lead(&mut self, lead_ns: u64) {
        self.lead_ns = lead_ns.min(LEAD_NS);
    }

    /// Has the load be divided by these weights. An agent that isn't among them has as many as it
    /// would run workers.
    pub fn weigh(&mut self, weights: BTreeMap<AgentName, u32>) {
        self.weights = weights;
    }

    /// What of `weights` is nobody's; none where each is an agent's that is there.
    pub(super) fn weighs_nobody(&self) -> Option<String> {
        let is_there = |name: &AgentName| self.parts.iter().any(|part| part.member.agent == *name);
        let nobody = self.weights.keys().find(|name| !is_there(name))?;
        let there = self.parts.iter().map(|part| part.member.agent.to_string());
        let there: Vec<String> = there.take(8).collect();
        Some(format!(
            "--weights names {nobody}, which isn't among the agents that answered ({}): correct \
             the name, or leave it out",
            there.join(", ")
        ))
    }

    /// What an agent counts for when the load is divided.
    pub(super) fn weight(&self, part: &Part) -> u32 {
        let given = self.weights.get(&part.member.agent);
        given.copied().unwrap_or(part.workers)
    }

    /// What all agents counted in the seconds that are over for each of them, added up: every
    /// second once, in their order. What an agent says later of a second that was shown without it
    /// is in the next one, so all of them together are the figures of the run.
    pub fn seconds(&mut self) -> Vec<Interval> {
        if self.phase != Phase::Running && self.phase != Phase::Closing {
            return Vec::new();
        }
        let there = self.parts.iter().filter(|part| part.lost.is_none());
        let whole = there.map(|part| part.reached).min().unwrap_or(0);
        // The rest is shown when it is certain that nothing more comes.
        self.course.show(whole.min(u64::MAX - 1))
    }

    /// The same of all that is left, once the record is there.
    pub fn last_seconds(&mut self) -> Vec<Interval> {
        self.course.show_rest()
    }
}

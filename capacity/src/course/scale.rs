//! Measuring throughput over connections.

use lab::event::Event;
use load::Plan;
use load::schedule::Schedule;
use statistics::Random;
use supervisor::setting::Trouble;

use super::{Course, Ran, Seeker};
use crate::flows::Counted;
use crate::scaling::{ROUNDS, Scaling, ScalingPoint, fit};

impl Course<'_> {
    /// Measures throughput over connections; none where the subject does not serve, or somebody
    /// asks to stop before the first run is over.
    pub(super) fn scale(&mut self, seeker: &mut Seeker) -> Option<Scaling> {
        let mut random = Random::new(self.goal.seed);
        let mut order = self.goal.scaling.clone();
        let mut points = Vec::new();
        let mut missing = Vec::new();
        let mut number = seeker.probes();
        for _ in 0..ROUNDS {
            random.shuffle(&mut order);
            for &connections in &order {
                number += 1;
                if self.stopped() {
                    break;
                }
                self.observer.event(&Event::Scaling {
                    subject: seeker.name(),
                    connections,
                });
                match self.run_with(seeker, connections, number) {
                    Ok(point) => points.push(point),
                    Err(Trouble::Failed(what, _)) if !missing.contains(&what) => missing.push(what),
                    Err(Trouble::Failed(..) | Trouble::Stopped) => {}
                }
            }
        }
        let is_begun = !points.is_empty() || !missing.is_empty();
        is_begun.then(|| Scaling {
            missing,
            ..fit(points, self.goal.seed)
        })
    }

    fn run_with(
        &mut self,
        seeker: &mut Seeker,
        connections: u32,
        number: u32,
    ) -> Result<ScalingPoint, Trouble> {
        self.make_ready(seeker, false)?;
        let (settle_s, window_s) = self.lengths(seeker.flow, None);
        let base = seeker.plan().ok_or(Trouble::Stopped)?;
        let plan = Plan {
            schedule: Schedule::Closed,
            connections,
            threads: base.threads.min(connections),
            duration_s: Some(window_s),
            count: None,
            warm_up_s: settle_s,
            seed: self.goal.seed.wrapping_add(u64::from(number)),
            ..base.clone()
        };
        let when = format!("over {connections} connections");
        let (record, sample) = match self.load(seeker, &plan, number, &when)? {
            Ran::Measured(record, sample) => (record, sample),
            Ran::Died(what) => return Err(Trouble::Failed(what, Vec::new())),
        };
        let generator = &record.generator;
        // Where both are full the server's own limit shows, too.
        let full = sample.is_some_and(|sample| sample.server_busy >= lab::validity::SERVER_FULL);
        Ok(ScalingPoint {
            connections,
            achieved: Counted::of(&record).achieved,
            generator_limited: (generator.limited && !full)
                .then(|| generator.limited_reason.clone()),
        })
    }
}

//! Which step is next, and what it sends.
//!
//! A [`Source`] is a workload ready to be sent, shared by all workers; a [`Maker`] is a worker's
//! place in it. With one seed, the n-th request that a worker makes is the same in every run.

use std::sync::Arc;

use measure::random::Random;
use plan::protocol::Protocol;
use plan::workload::Pick;
use plan::{Contact, Invalid, Plan, Step, Workload};
use proto::http1::client::Answer;
use proto::http2;

/// Streams of randomness below this are taken by others who draw with a run's seed.
const STREAM: u64 = 2 << 32;

/// A workload ready to be sent.
#[derive(Debug)]
pub struct Source {
    steps: Vec<Ready>,
    /// For each step, where its figures are.
    figures: Vec<u16>,
    /// So many lists of figures there are.
    names: usize,
    picking: Picking,
}

/// A step ready to be sent.
#[derive(Debug)]
enum Ready {
    /// The bytes of a request over HTTP/1.1, and how it is answered.
    Http1(Vec<u8>, Answer),
    /// A request over HTTP/2.
    Http2(http2::client::Request),
}

/// What a connection says for an exchange.
#[derive(Clone, Copy, Debug)]
pub enum Said<'a> {
    /// The bytes of a request, which is answered like this.
    Http1(&'a [u8], Answer),
    /// A request that each connection writes in its own way.
    Http2(&'a http2::client::Request),
}

/// How the next step is found.
#[derive(Debug)]
enum Picking {
    InTurn,
    /// By the sums of the weights up to each step.
    Weighted(Vec<u64>),
    Random,
}

/// A worker's place in a [`Source`].
#[derive(Clone, Debug)]
pub struct Maker {
    source: Arc<Source>,
    random: Random,
    /// The number of its next request among those of all workers.
    next: u64,
    workers: u64,
}

impl Source {
    /// The workload of `plan`; none where every request is the same.
    ///
    /// # Errors
    /// A step that cannot be sent, and where it stands.
    pub fn of(plan: &Plan) -> Result<Option<Arc<Source>>, Invalid> {
        let Some(workload) = &plan.workload else {
            return Ok(None);
        };
        let ready = |step| ready(plan, step);
        let steps = workload.steps.iter().map(ready).collect::<Result<_, _>>()?;
        let (names, figures) = workload.names();
        Ok(Some(Arc::new(Source {
            steps,
            figures,
            names: names.len(),
            picking: Picking::of(workload),
        })))
    }

    /// How many steps have figures of their own.
    pub fn names(&self) -> usize {
        self.names
    }

    /// Where the figures of `step` are.
    #[inline]
    pub fn figures_of(&self, step: u16) -> u16 {
        self.figures.get(usize::from(step)).copied().unwrap_or(0)
    }

    /// What `step` says.
    ///
    /// # Panics
    /// If there is no such step.
    #[inline]
    pub fn say(&self, step: u16) -> Said<'_> {
        match &self.steps[usize::from(step)] {
            Ready::Http1(bytes, answer) => Said::Http1(bytes, *answer),
            Ready::Http2(request) => Said::Http2(request),
        }
    }
}

fn ready(plan: &Plan, step: &Step) -> Result<Ready, Invalid> {
    let contact = Contact {
        target: step.target.clone(),
        request: step.request.clone(),
        ..plan.contact()
    };
    let ready = match plan.protocol {
        Protocol::Http2 { .. } => contact.http2().map(Ready::Http2),
        _ => {
            let answer = Answer::to(&step.request.method);
            contact.http1().map(|bytes| Ready::Http1(bytes, answer))
        }
    };
    ready.map_err(|Invalid(what)| Invalid(format!("{}{what}", step.place())))
}

impl Picking {
    fn of(workload: &Workload) -> Picking {
        match workload.pick {
            Pick::InTurn => Picking::InTurn,
            Pick::Random => Picking::Random,
            Pick::Weighted => {
                let mut sum = 0;
                let sums = workload.steps.iter().map(|step| {
                    sum += u64::from(step.weight);
                    sum
                });
                Picking::Weighted(sums.collect())
            }
        }
    }
}

impl Maker {
    /// The place of `worker` out of `workers`.
    pub fn new(source: Arc<Source>, worker: u32, workers: u32, seed: u64) -> Maker {
        Maker {
            source,
            random: Random::new(seed, STREAM | u64::from(worker)),
            next: worker.into(),
            workers: workers.into(),
        }
    }

    /// What it makes requests of.
    #[inline]
    pub fn source(&self) -> &Source {
        &self.source
    }

    /// The step of the next request.
    #[inline]
    pub fn pick(&mut self) -> u16 {
        let count = self.source.steps.len();
        let step = match &self.source.picking {
            Picking::InTurn => (self.next % count as u64) as usize,
            Picking::Random => self.random.index(count),
            Picking::Weighted(sums) => {
                let all = sums.last().copied().unwrap_or_default();
                let drawn = self.random.below(all);
                sums.partition_point(|sum| *sum <= drawn)
            }
        };
        self.next += self.workers;
        step as u16
    }
}

#[cfg(test)]
mod tests {
    use plan::Request;
    use plan::Target;

    use super::*;

    fn plan(weights: &[u32], pick: Pick) -> Plan {
        let mut plan = Plan::new("http://x/").unwrap();
        let step = |(n, weight): (usize, &u32)| Step {
            name: format!("s{n}"),
            weight: *weight,
            target: Target::parse(&format!("http://x/{n}")).unwrap(),
            request: Request {
                method: ["GET", "HEAD"][n % 2].to_owned(),
                headers: Vec::new(),
                body: Vec::new(),
            },
            body_is_template: false,
            at: None,
        };
        let mut workload = Workload::new(weights.iter().enumerate().map(step).collect());
        workload.pick = pick;
        plan.workload = Some(workload);
        plan
    }

    fn source(weights: &[u32], pick: Pick) -> Arc<Source> {
        Source::of(&plan(weights, pick)).unwrap().unwrap()
    }

    fn picked(source: &Arc<Source>, worker: u32, workers: u32, count: usize) -> Vec<u16> {
        let mut maker = Maker::new(Arc::clone(source), worker, workers, 7);
        (0..count).map(|_| maker.pick()).collect()
    }

    #[test]
    fn workers_in_turn_pick_together_what_one_would() {
        let source = source(&[1, 1, 1], Pick::InTurn);
        assert_eq!(picked(&source, 0, 1, 7), [0, 1, 2, 0, 1, 2, 0]);
        let (first, second) = (picked(&source, 0, 2, 3), picked(&source, 1, 2, 3));
        assert_eq!((first, second), (vec![0, 2, 1], vec![1, 0, 2]));
    }

    #[test]
    fn steps_are_picked_by_weight_and_the_same_with_one_seed() {
        let source = source(&[1, 0, 7, 2], Pick::Weighted);
        let drawn = picked(&source, 0, 2, 100_000);
        assert_eq!(drawn, picked(&source, 0, 2, 100_000));
        assert_ne!(drawn[..100], picked(&source, 1, 2, 100)[..]);
        let count = |step: u16| drawn.iter().filter(|one| **one == step).count() as f64;
        assert_eq!(count(1), 0.0);
        // Pearson's statistic, of two degrees of freedom: above 20 once in 20,000.
        let expected = [(0, 10_000.0), (2, 70_000.0), (3, 20_000.0)];
        let squares = expected.map(|(step, wanted): (u16, f64)| {
            let off = count(step) - wanted;
            off * off / wanted
        });
        assert!(squares.iter().sum::<f64>() < 20.0, "{squares:?}");
    }

    #[test]
    fn a_step_says_its_own_request() {
        let source = source(&[1, 1], Pick::Random);
        let Said::Http1(bytes, answer) = source.say(1) else {
            panic!("HTTP/1.1 was asked for");
        };
        assert!(bytes.starts_with(b"HEAD /1 HTTP/1.1\r\n"));
        assert_eq!(answer, Answer::HeadOnly);
        let mut broken = plan(&[1], Pick::Random);
        if let Some(workload) = &mut broken.workload {
            workload.steps[0].request.method = "A B".to_owned();
            workload.steps[0].at = Some("a.http:3".to_owned());
        }
        let Invalid(text) = Source::of(&broken).unwrap_err();
        assert!(
            text.starts_with("a.http:3: \"A B\" is not a method"),
            "{text}"
        );
    }
}

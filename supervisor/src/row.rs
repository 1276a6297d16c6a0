//! A subject under a workload: what a comparison measures beside others.

use std::path::PathBuf;
use std::time::Duration;

use load::Plan;
use netns::link::Link;

use crate::generator::Generator;
use crate::subject::Subject;
use crate::workload::{Question, Workload};

/// A row of the comparison: a subject under a workload.
#[derive(Clone, Debug)]
pub struct Row {
    /// What it is called: the subject's name, unless the file says otherwise.
    pub name: String,
    /// Who is asked.
    pub subject: Subject,
    /// How it is asked.
    pub workload: Workload,
    /// What it is asked.
    pub question: Question,
    /// Who asks, where generators are compared; none is this program itself.
    pub generator: Option<Generator>,
    /// Where the comparison's file is.
    pub folder: PathBuf,
    /// Beyond which its subject's own warm-up is cut.
    pub warm_up_max: Option<Duration>,
    /// What is between generator and subject, besides loopback.
    pub link: Link,
    /// The load goes through a proxy in front of its subject, which can break connections.
    pub proxied: bool,
}

impl Row {
    /// What is sent to its subject at `port`, and over which connections; when, isn't in it.
    ///
    /// # Errors
    /// A sentence: no load can be made of what it asks.
    pub fn load(&self, port: u16) -> Result<Plan, String> {
        let workload = &self.workload;
        let mut plan = self.question.plan(self.subject.at(port))?;
        plan.connections = workload.connections.get();
        plan.pipeline = workload.pipeline.get();
        if let Some(http2) = plan.protocol.http2_mut() {
            http2.streams = workload.streams.get();
        }
        plan.keep_alive = workload.keep_alive;
        plan.timeout_s = workload.timeout.as_secs_f64();
        Ok(plan)
    }

    /// How long its processes are loaded before anything is timed: as long as the workload says,
    /// and no shorter than the subject needs, unless that is cut.
    pub fn warm_up(&self) -> Duration {
        let own = self.subject.warm_up;
        let own = self.warm_up_max.map_or(own, |most| own.min(most));
        self.workload.warm_up.max(own)
    }

    /// The same without any proxy, where nothing is going to be broken: a proxy takes its part of
    /// every time, and may be the limit.
    pub fn without_proxies(mut self) -> Row {
        self.proxied = false;
        for companion in &mut self.subject.companions {
            companion.proxied = false;
        }
        self
    }

    /// Whether its processes are loaded for less than the subject needs.
    pub fn is_cold(&self) -> bool {
        self.warm_up() < self.subject.warm_up
    }
}

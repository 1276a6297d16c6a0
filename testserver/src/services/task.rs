//! `/task/N`: what `/burn/N` does, in a pool of task workers: threads of their own, so that nothing
//! else waits for it, behind a queue that refuses with 503 when it's full.
//!
//! The pool is started by the first request for it, so a server that is asked for nothing of the
//! kind has no such threads.

use std::sync::{Arc, OnceLock};

use server::{Context, Reply, Response, TaskCounts, TaskLimits, Tasks};

use super::TEXT;
use super::burn;
use super::parameter::refusal;
use crate::route::{Answerer, Asked};

/// The pool of a server, which its workers share.
#[derive(Debug)]
pub(crate) struct Pool {
    limits: TaskLimits,
    tasks: OnceLock<Result<Tasks, String>>,
}

impl Pool {
    pub(crate) fn new(limits: TaskLimits) -> Pool {
        Pool {
            limits,
            tasks: OnceLock::new(),
        }
    }

    fn tasks(&self) -> Result<&Tasks, &String> {
        let start = || Tasks::start(self.limits).map_err(|error| error.to_string());
        self.tasks.get_or_init(start).as_ref()
    }

    /// What became of its tasks.
    pub(crate) fn counts(&self) -> TaskCounts {
        let tasks = self.tasks.get().and_then(|tasks| tasks.as_ref().ok());
        tasks.map(Tasks::counts).unwrap_or_default()
    }
}

pub(super) struct Task(Arc<Pool>);

/// Makes the service of each worker. All share the pool.
pub(super) fn sharing(pool: &Arc<Pool>) -> impl Fn() -> Task + Send + Sync + 'static {
    let pool = Arc::clone(pool);
    move || Task(Arc::clone(&pool))
}

impl Answerer for Task {
    fn call(&mut self, asked: &Asked<'_>, context: &mut Context<'_>) -> Reply {
        let turns = match burn::turns(asked.parameter) {
            Ok(turns) => turns,
            Err(sentence) => return refusal(sentence),
        };
        match self.0.tasks() {
            Ok(tasks) => tasks.answer(context, move || {
                burn::burn(turns);
                Response::fixed(TEXT, b"done\n")
            }),
            Err(why) => {
                Response::sentence(500, format!("the task workers don't start: {why}\n")).into()
            }
        }
    }
}

//! Task workers: threads for what blocks or computes for long, beside the workers that serve.

use std::collections::VecDeque;
use std::fmt;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use measure::time::Time;

use exchange::response::Response;
use service::{Context, Reply, Responder};

/// The longest `Retry-After`, in seconds: what is further off is a guess.
const RETRY_AFTER_MAX_S: u64 = 60;

/// A bounded pool of threads for work that would keep a worker from its other connections: what
/// blocks, and what computes for longer than a few hundred microseconds. All workers of a server
/// share it; a clone is the same pool.
///
/// The queue in front of it is bounded, too. What finds it full is refused at once, with 503 and a
/// `Retry-After` (RFC 9110 §10.2.3) by when the queue will be empty, as far as the tasks that have
/// run can tell. So an overload of slow requests never reaches the fast ones.
///
/// When the last clone is dropped, what waits is dropped with it, its clients get a 500 if they are
/// still there, and each thread ends with the task it's at.
///
/// ```
/// use ringside_server::{Context, Reply, Request, Response, Service, TaskLimits, Tasks};
///
/// struct Reports {
///     tasks: Tasks,
/// }
///
/// impl Service for Reports {
///     fn call(&mut self, _: &Request<'_>, context: &mut Context<'_>) -> Reply {
///         self.tasks.answer(context, || match std::fs::read_to_string("report.csv") {
///             Ok(text) => Response::of("text/csv", text.into_bytes()),
///             Err(_) => Response::sentence(404, "there is no report\n"),
///         })
///     }
/// }
///
/// # fn main() -> std::io::Result<()> {
/// let tasks = Tasks::start(TaskLimits { threads: 4, ..TaskLimits::default() })?;
/// let maker = move |_worker: usize| Reports { tasks: tasks.clone() };
/// # let _ = maker;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Tasks(Arc<Owner>);

/// How much a pool of task workers does at once, and how much may wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TaskLimits {
    /// Threads, at least one.
    pub threads: usize,
    /// Tasks that may wait for a thread; one more is refused.
    pub queue: usize,
    /// A task that has waited for longer isn't run any more: its client gets a 503, as its answer
    /// would come too late.
    pub wait: Duration,
}

impl Default for TaskLimits {
    /// Two threads, 1,024 tasks that wait for ten seconds at most.
    fn default() -> TaskLimits {
        TaskLimits {
            threads: 2,
            queue: 1024,
            wait: Duration::from_secs(10),
        }
    }
}

/// What became of the tasks of a pool.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct TaskCounts {
    /// Tasks that ran to their end.
    pub done: u64,
    /// Tasks that panicked; their clients got a 500.
    pub panicked: u64,
    /// Tasks that found the queue full.
    pub refused: u64,
    /// Tasks that had waited for too long when their turn came.
    pub expired: u64,
    /// Tasks that wait now.
    pub waiting: u64,
    /// Tasks that run now.
    pub running: u64,
}

/// The queue of a pool is full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TasksFull {
    /// By when it will be empty, in whole seconds, as far as the tasks that have run can tell.
    pub retry_after_s: u64,
}

impl fmt::Display for TasksFull {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "the queue of the task workers is full; try again in {} s",
            self.retry_after_s
        )
    }
}

impl std::error::Error for TasksFull {}

impl TasksFull {
    /// The answer that says so.
    pub fn response(self) -> Response {
        Response::sentence(503, "too much work is waiting; try again later\n")
            .with_field("Retry-After", self.retry_after_s.to_string())
    }
}

impl Tasks {
    /// Starts the threads.
    ///
    /// # Errors
    /// No thread is asked for ([`io::ErrorKind::InvalidInput`]), or the system starts no more.
    pub fn start(limits: TaskLimits) -> io::Result<Tasks> {
        if limits.threads == 0 {
            let text = "a pool of task workers needs at least one thread";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
        }
        let pool = Arc::new(Pool {
            limits,
            state: Mutex::default(),
            changed: Condvar::new(),
        });
        // It ends those that have started if one doesn't.
        let owner = Owner(Arc::clone(&pool));
        for index in 0..limits.threads {
            let pool = Arc::clone(&pool);
            let thread = thread::Builder::new().name(format!("task-{index}"));
            thread.spawn(move || pool.work())?;
        }
        Ok(Tasks(Arc::new(owner)))
    }

    /// Has a thread answer the request of `context`'s ticket. What this returns is what the
    /// service returns: [`Reply::Later`], or the 503 of a full queue.
    pub fn answer(
        &self,
        context: &mut Context<'_>,
        task: impl FnOnce() -> Response + Send + 'static,
    ) -> Reply {
        let state = match self.room() {
            Ok(state) => state,
            Err(full) => return full.response().into(),
        };
        let responder = Some(context.responder());
        self.push(state, responder, move || Some(task()));
        Reply::Later
    }

    /// Has a thread run `task`, which nobody waits for.
    ///
    /// # Errors
    /// The queue is full.
    pub fn run(&self, task: impl FnOnce() + Send + 'static) -> Result<(), TasksFull> {
        self.push(self.room()?, None, move || {
            task();
            None
        });
        Ok(())
    }

    /// What became of the tasks so far.
    pub fn counts(&self) -> TaskCounts {
        let state = self.0.0.lock();
        TaskCounts {
            waiting: state.queue.len() as u64,
            ..state.counts
        }
    }

    /// What it was started with.
    pub fn limits(&self) -> TaskLimits {
        self.0.0.limits
    }

    /// Room for one more.
    fn room(&self) -> Result<MutexGuard<'_, State>, TasksFull> {
        let pool = &*self.0.0;
        let mut state = pool.lock();
        // A thread that is free takes one beyond the queue, even before it has woken up.
        let most = (pool.limits.queue as u64).saturating_add(pool.threads());
        if (state.queue.len() as u64).saturating_add(state.counts.running) < most {
            return Ok(state);
        }
        state.counts.refused += 1;
        Err(pool.full(&state))
    }

    fn push(
        &self,
        mut state: MutexGuard<'_, State>,
        responder: Option<Responder>,
        task: impl FnOnce() -> Option<Response> + Send + 'static,
    ) {
        state.queue.push_back(Waiting {
            since: Time::now(),
            responder,
            task: Box::new(task),
        });
        drop(state);
        self.0.0.changed.notify_one();
    }
}

impl fmt::Debug for Tasks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tasks")
            .field("limits", &self.limits())
            .field("counts", &self.counts())
            .finish()
    }
}

/// All clones of a pool's handle together: its threads end with it.
struct Owner(Arc<Pool>);

impl Drop for Owner {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.over = true;
        let waiting = std::mem::take(&mut state.queue);
        drop(state);
        self.0.changed.notify_all();
        drop(waiting); // Without the lock: each tells its worker.
    }
}

struct Pool {
    limits: TaskLimits,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    queue: VecDeque<Waiting>,
    /// `waiting` is the queue's length, and not kept here.
    counts: TaskCounts,
    /// How long the tasks took that have run.
    taken_ns: u64,
    over: bool,
}

struct Waiting {
    since: Time,
    /// Who gets what the task returns.
    responder: Option<Responder>,
    task: Box<dyn FnOnce() -> Option<Response> + Send>,
}

impl Pool {
    fn lock(&self) -> MutexGuard<'_, State> {
        // No task runs under the lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn threads(&self) -> u64 {
        self.limits.threads as u64
    }

    /// What a thread does.
    fn work(&self) {
        let mut state = self.lock();
        loop {
            if let Some(waiting) = state.queue.pop_front() {
                state.counts.running += 1;
                drop(state);
                state = self.run(waiting);
            } else if state.over {
                return;
            } else {
                let waited = self.changed.wait(state);
                state = waited.unwrap_or_else(PoisonError::into_inner);
            }
        }
    }

    /// Runs one task, counts what became of it, and only then has its client answered: whoever has
    /// an answer finds it counted.
    fn run(&self, waiting: Waiting) -> MutexGuard<'_, State> {
        let Waiting {
            since,
            responder,
            task,
        } = waiting;
        let began = Time::now();
        let late = since + self.limits.wait < began;
        // Nothing of the task is looked at after a panic.
        let mut task = Some(task);
        let begun = if late { None } else { task.take() };
        let ran = begun.map_or(Ok(None), |task| catch_unwind(AssertUnwindSafe(task)));
        let took_ns = Time::now().since(began);
        let mut state = self.lock();
        state.counts.running -= 1;
        let answer = match ran {
            Ok(_) if late => {
                state.counts.expired += 1;
                Some(self.full(&state).response())
            }
            Ok(answer) => {
                state.counts.done += 1;
                state.taken_ns = state.taken_ns.saturating_add(took_ns);
                answer
            }
            Err(_) => {
                state.counts.panicked += 1;
                None
            }
        };
        drop(state);
        let _ = catch_unwind(AssertUnwindSafe(|| drop(task)));
        if let (Some(responder), Some(answer)) = (responder, answer) {
            responder.complete(answer);
        }
        self.lock()
    }

    /// By when what waits will have run.
    fn full(&self, state: &State) -> TasksFull {
        let each_ns = state.taken_ns.checked_div(state.counts.done).unwrap_or(0);
        let waiting_ns = each_ns.saturating_mul(state.queue.len() as u64) / self.threads();
        TasksFull {
            retry_after_s: waiting_ns
                .div_ceil(1_000_000_000)
                .clamp(1, RETRY_AFTER_MAX_S),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Receiver, Sender, channel};

    use super::*;

    /// Longer than anything takes on a busy machine.
    const PATIENCE: Duration = Duration::from_secs(20);

    fn pool(queue: usize) -> Tasks {
        let limits = TaskLimits {
            threads: 1,
            queue,
            ..TaskLimits::default()
        };
        Tasks::start(limits).expect("a thread starts")
    }

    /// Has the only thread wait until something is sent, and waits until it does.
    fn occupy(tasks: &Tasks) -> Sender<()> {
        let (release, released) = channel::<()>();
        let (begin, began) = channel();
        let occupied = tasks.run(move || {
            begin.send(()).expect("somebody waits for that");
            let _ = released.recv_timeout(PATIENCE);
        });
        occupied.expect("nothing else waits");
        began.recv_timeout(PATIENCE).expect("it begins");
        release
    }

    fn ended(done: &Receiver<u32>) -> Vec<u32> {
        let mut all = Vec::new();
        while let Ok(one) = done.recv_timeout(PATIENCE) {
            all.push(one);
        }
        all
    }

    #[test]
    fn what_waits_runs_in_its_order_and_what_finds_the_queue_full_is_refused() {
        let tasks = pool(2);
        let release = occupy(&tasks);
        let (tell, done) = channel();
        let submit = |n: u32| {
            let tell = tell.clone();
            tasks.run(move || tell.send(n).expect("somebody waits for that"))
        };
        assert_eq!([submit(1), submit(2)], [Ok(()), Ok(())]);
        assert_eq!(submit(3), Err(TasksFull { retry_after_s: 1 }));
        let counts = tasks.counts();
        assert_eq!((counts.running, counts.waiting, counts.refused), (1, 2, 1));
        drop(release);
        drop(tell);
        assert_eq!(ended(&done), [1, 2]);
    }

    #[test]
    fn a_queue_of_none_takes_what_a_free_thread_can_begin() {
        let tasks = pool(0);
        let release = occupy(&tasks);
        assert!(tasks.run(|| ()).is_err());
        drop(release);
    }

    #[test]
    fn a_panic_ends_its_task_and_no_thread() {
        let tasks = pool(8);
        let (tell, done) = channel();
        let panics = tasks.run(|| std::panic::resume_unwind(Box::new("on purpose")));
        panics.expect("there is room");
        let next = tasks.run(move || tell.send(1).expect("somebody waits for that"));
        next.expect("there is room");
        assert_eq!(ended(&done), [1]);
        assert_eq!(tasks.counts().panicked, 1);
    }

    #[test]
    fn what_has_waited_for_too_long_is_not_run() {
        let limits = TaskLimits {
            threads: 1,
            queue: 8,
            wait: Duration::ZERO,
        };
        let tasks = Tasks::start(limits).expect("a thread starts");
        let (tell, done) = channel();
        let waits = tasks.run(move || tell.send(1).expect("somebody waits for that"));
        waits.expect("there is room");
        assert!(ended(&done).is_empty());
        assert_eq!(tasks.counts().expired, 1);
    }

    #[test]
    fn what_waits_is_dropped_with_the_last_handle() {
        let tasks = pool(8);
        let release = occupy(&tasks);
        let (tell, done) = channel();
        let waits = tasks.run(move || tell.send(1).expect("somebody waits for that"));
        waits.expect("there is room");
        drop(tasks.clone());
        assert_eq!(tasks.counts().waiting, 1);
        drop(tasks);
        assert!(ended(&done).is_empty());
        drop(release);
    }

    #[test]
    fn when_to_try_again_follows_from_what_tasks_take_and_how_many_wait() {
        let pool = Pool {
            limits: TaskLimits {
                threads: 2,
                ..TaskLimits::default()
            },
            state: Mutex::default(),
            changed: Condvar::new(),
        };
        let retry_after_s = |done: u64, taken_ns: u64, waiting: usize| {
            let mut state = State::default();
            state.counts.done = done;
            state.taken_ns = taken_ns;
            state.queue.extend((0..waiting).map(|_| Waiting {
                since: Time(0),
                responder: None,
                task: Box::new(|| None),
            }));
            pool.full(&state).retry_after_s
        };
        assert_eq!(retry_after_s(0, 0, 100), 1);
        assert_eq!(retry_after_s(10, 1_000_000_000, 100), 5);
        assert_eq!(retry_after_s(10, 1_000_000_000, 101), 6);
        assert_eq!(retry_after_s(1, u64::MAX, 1000), RETRY_AFTER_MAX_S);
    }

    #[test]
    fn a_pool_of_nobody_is_refused() {
        let limits = TaskLimits {
            threads: 0,
            ..TaskLimits::default()
        };
        let refused = Tasks::start(limits).expect_err("it can do nothing");
        assert_eq!(refused.kind(), io::ErrorKind::InvalidInput);
    }
}

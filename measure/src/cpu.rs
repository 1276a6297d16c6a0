//! Processors: which this process may use, and one worker thread on each.
//!
//! A worker that the scheduler moves around loses its caches and, worse, shares a processor with
//! the subject it measures. So workers are pinned, in the order given or in that of the numbers. It
//! knows no topology beyond the numbers: to keep sibling threads apart, list the processors.

use std::fmt;

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// The processors that this thread may run on, ascending (sched_getaffinity(2)). Containers and
/// `taskset` show up here. If the kernel doesn't say, processor 0.
pub fn allowed() -> Vec<usize> {
    match sched_getaffinity(None) {
        Ok(set) => (0..CpuSet::MAX_CPU)
            .filter(|&cpu| set.is_set(cpu))
            .collect(),
        Err(_) => vec![0],
    }
}

/// Keeps the calling thread on one processor (sched_setaffinity(2)).
pub fn pin(cpu: usize) -> Result<(), PinError> {
    if cpu >= CpuSet::MAX_CPU {
        return Err(PinError {
            cpu,
            reason: format!("the highest number is {}", CpuSet::MAX_CPU - 1),
        });
    }
    let mut set = CpuSet::new();
    set.set(cpu);
    sched_setaffinity(None, &set).map_err(|errno| PinError {
        cpu,
        reason: errno.to_string(),
    })
}

/// Lets sleeps of the calling thread end on time: its timer slack, 50 µs by default, becomes 1 ns
/// (PR_SET_TIMERSLACK(2const)). Reports whether the kernel took it.
pub fn sharpen_sleep() -> bool {
    std::num::NonZeroU64::new(1)
        .is_some_and(|slack| rustix::thread::set_current_timer_slack(Some(slack)).is_ok())
}

/// Where each of `workers` threads runs: the n-th on the n-th of `processors`, from the start
/// again where there are more workers than processors. Empty `processors` place nobody.
pub fn place(workers: usize, processors: &[usize]) -> Vec<usize> {
    processors.iter().copied().cycle().take(workers).collect()
}

/// Reads a list as taskset(1) writes it: numbers and ranges, `0,2-5`. Keeps the order given, since
/// it says which worker runs where; refuses a processor named twice.
pub fn parse_list(text: &str) -> Result<Vec<usize>, ListError> {
    let mut processors = Vec::new();
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last) = (parse_number(text, first)?, parse_number(text, last)?);
        if first > last {
            return Err(ListError::new(
                text,
                format!("the range `{part}` runs backwards"),
            ));
        }
        for cpu in first..=last {
            if processors.contains(&cpu) {
                return Err(ListError::new(text, format!("CPU {cpu} appears twice")));
            }
            processors.push(cpu);
        }
    }
    Ok(processors)
}

fn parse_number(list: &str, text: &str) -> Result<usize, ListError> {
    let digits_only = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    match text.parse() {
        Ok(cpu) if digits_only && cpu < CpuSet::MAX_CPU => Ok(cpu),
        _ => {
            let bound = CpuSet::MAX_CPU - 1;
            let what = format!("`{text}` isn't a CPU number from 0 to {bound}");
            Err(ListError::new(list, what))
        }
    }
}

/// A processor that a thread could not be pinned to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PinError {
    cpu: usize,
    reason: String,
}

impl fmt::Display for PinError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let PinError { cpu, reason } = self;
        write!(
            f,
            "can't pin a thread to CPU {cpu} ({reason}); this process may use {:?}",
            allowed()
        )
    }
}

impl std::error::Error for PinError {}

/// A list of processors that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListError {
    list: String,
    what: String,
}

impl ListError {
    fn new(list: &str, what: String) -> ListError {
        ListError {
            list: list.to_owned(),
            what,
        }
    }
}

impl fmt::Display for ListError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "CPU list `{}`: {}; write it like 0,2-5",
            self.list, self.what
        )
    }
}

impl std::error::Error for ListError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_and_ranges_are_read_in_the_order_given() {
        assert_eq!(parse_list("0"), Ok(vec![0]));
        assert_eq!(parse_list("0,2-5"), Ok(vec![0, 2, 3, 4, 5]));
        assert_eq!(parse_list("7,1-1,3"), Ok(vec![7, 1, 3]));
    }

    #[test]
    fn a_bad_list_is_refused_with_a_sentence_that_names_it() {
        for text in [
            "", ",", "1,", "a", "-1", "+1", "1-", "3-1", "0,0", "1-3,2", "0-99999", "1 ,2",
        ] {
            let error = parse_list(text).expect_err(text).to_string();
            assert!(
                error.starts_with(&format!("CPU list `{text}`: ")),
                "{error}"
            );
        }
    }

    #[test]
    fn workers_go_round_the_processors() {
        assert_eq!(place(3, &[4, 6]), [4, 6, 4]);
        assert_eq!(place(1, &[4, 6]), [4]);
        assert_eq!(place(2, &[]), [0; 0]);
    }

    #[test]
    fn a_pinned_thread_is_allowed_on_that_processor_only() {
        let last = *allowed().last().expect("some processor runs this");
        // A thread of its own, for the pin stays as long as the thread does.
        let seen = std::thread::spawn(move || pin(last).map(|()| allowed())).join();
        assert_eq!(seen.expect("the thread ends well"), Ok(vec![last]));
    }

    #[test]
    fn a_processor_that_does_not_exist_is_an_error_with_a_sentence() {
        let error = pin(CpuSet::MAX_CPU)
            .expect_err("no such processor")
            .to_string();
        assert!(error.contains("can't pin a thread to CPU"), "{error}");
    }
}

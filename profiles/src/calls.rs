//! System calls, counted by the kernel's tracepoints with `perf stat`, in a round that is never
//! timed: each counted call costs some hundred nanoseconds more.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

/// All system calls.
const ALL: &str = "raw_syscalls:sys_enter";
/// Where the kernel says which it can count one by one.
const EVENTS: &str = "/sys/kernel/tracing/events/syscalls";
/// Those that servers live on.
const NAMES: [&str; 26] = [
    "accept4",
    "brk",
    "clock_nanosleep",
    "close",
    "epoll_ctl",
    "epoll_pwait",
    "epoll_wait",
    "fcntl",
    "futex",
    "getrandom",
    "io_uring_enter",
    "madvise",
    "mmap",
    "munmap",
    "nanosleep",
    "openat",
    "poll",
    "read",
    "recvfrom",
    "recvmsg",
    "sched_yield",
    "sendfile64",
    "sendmsg",
    "sendto",
    "write",
    "writev",
];

/// The system calls of a subject under load.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Calls {
    /// All of them, for each exchange that completed.
    pub per_exchange: f64,
    /// The same by name, as far as they were told apart; only those that happened.
    pub by_name: BTreeMap<String, f64>,
}

/// The events to count, as `perf stat -e` takes them.
pub fn events() -> String {
    let known = |name: &&&str| Path::new(EVENTS).join(format!("sys_enter_{name}")).exists();
    let single = NAMES.iter().filter(known);
    let single = single.map(|name| format!("syscalls:sys_enter_{name}"));
    let all: Vec<String> = [ALL.to_owned()].into_iter().chain(single).collect();
    all.join(",")
}

/// What `perf stat -x,` wrote, for so many exchanges; none if it counted nothing.
pub fn read(text: &str, exchanges: f64) -> Option<Calls> {
    let mut calls = Calls::default();
    let mut counted = false;
    for line in text.lines() {
        let fields: Vec<&str> = line.split(',').collect();
        let (Some(count), Some(event)) = (fields.first(), fields.get(2)) else {
            continue;
        };
        let Ok(count) = count.parse::<f64>() else {
            continue; // Not counted, or not supported.
        };
        let each = count / exchanges.max(1.0);
        if *event == ALL {
            calls.per_exchange = each;
            counted = true;
        } else if let Some(name) = event.strip_prefix("syscalls:sys_enter_")
            && count > 0.0
        {
            calls.by_name.insert(name.to_owned(), each);
        }
    }
    counted.then_some(calls)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_perf_counts_is_divided_by_the_exchanges() {
        let text = "# started on a day\n\n14280,,raw_syscalls:sys_enter,168030646,100.00,,\n\
            7140,,syscalls:sys_enter_write,168030646,100.00,,\n\
            0,,syscalls:sys_enter_futex,168030646,100.00,,\n\
            <not supported>,,syscalls:sys_enter_poll,0,100.00,,\n";
        let calls = read(text, 7_140.0).expect("it counted");
        assert_eq!(calls.per_exchange, 2.0);
        assert_eq!(calls.by_name, BTreeMap::from([("write".to_owned(), 1.0)]));
        assert_eq!(read("<not counted>,,raw_syscalls:sys_enter,0\n", 1.0), None);
        assert_eq!(read("", 1.0), None);
    }

    #[test]
    fn only_events_that_the_kernel_has_are_asked_for() {
        let events = events();
        assert!(events.starts_with(ALL), "{events}");
        assert!(!events.contains("sys_enter_nothing"));
    }
}

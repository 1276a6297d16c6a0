//! What profilers write about a server, read and drawn: stacks of perf and of Go's pprof as flame
//! graphs, and the system calls that perf counted.
#![forbid(unsafe_code)]

pub mod calls;
pub mod flame;
pub mod pprof;

//! The generator: plan, schedule, workload, sessions, the one worker loop, recorder.
#![forbid(unsafe_code)]

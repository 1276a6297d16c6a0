//! What a measurement is: time, histograms, counters, series, the run record and its merge, host
//! facts, units. Knows nothing of sockets, protocols or load.
#![forbid(unsafe_code)]

pub mod time;

//! Subjects side by side: rounds, statistics, verdict, report.
#![forbid(unsafe_code)]

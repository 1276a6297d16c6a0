//! Subjects by themselves: folders, builds, processes and companions, and watching them.
//!
//! A subject is a folder with a `subject.toml`. It is built once ([`build`]), started on its own
//! cores with its companions ([`live`], [`command`]), verified by what it answers, and watched at
//! the edges of a window ([`watch`]). Where load generators are compared, each is a command
//! ([`generator`]) that loads such a subject ([`loading`]). What was started ends with whoever
//! started it.
//!
//! Knows no round and no comparison: who is measured when, and what it came to, is decided above.
//! Judges nothing that it sees.
#![forbid(unsafe_code)]

mod at;
pub mod binaries;
pub mod build;
pub mod cache;
pub mod command;
pub mod companion;
pub mod cores;
pub mod difference;
pub mod document;
pub mod flow;
pub mod generator;
mod listening;
pub mod live;
pub mod loading;
pub mod loads;
mod log;
mod mix;
pub mod outside;
pub mod process;
pub mod proxy;
pub mod row;
pub mod running;
pub mod setting;
#[cfg(test)]
#[path = "../../tests/skip.rs"]
mod skip;
mod spoken;
pub mod subject;
mod url_path;
pub mod varied;
pub mod watch;
pub mod ways;
pub mod workload;

pub use ::workload::hurl::compared::RATED as WITHOUT_RATE;
pub use mix::Mix;

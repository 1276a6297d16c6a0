//! Requests that differ: from files of targets to the bytes that are sent.
//!
//! [`formats`] reads files of targets into the steps of a [`plan::Workload`], [`data`] deals rows
//! of a data file out, [`recipe`] makes requests of steps with templates, and a [`Maker`] says for
//! one worker which step is next and what it sends, or [`Flows`] for each of its connections where
//! steps follow each other, or [`Users`] where each is a user of a flow, which [`hurl`] reads;
//! [`replayed`] has those that were made once, [`messages`] what goes with those of a WebSocket;
//! [`examples`] has one request of each step. [`visit`] makes the requests
//! that answers lead to; [`call`] has what gRPC calls differ in.
//! Knows neither sockets nor connections; only templates ask for the time.
#![forbid(unsafe_code)]

pub mod call;
pub mod data;
mod examples;
pub mod formats;
pub mod given;
pub mod hurl;
mod maker;
pub mod messages;
pub mod recipe;
pub mod replayed;
pub mod visit;

pub use examples::{Example, examples};
pub use maker::{
    Answered, Came, Does, Ended, Flows, Made, Maker, Next, Said, Source, Users, told_by_all,
};

//! What a load is: where it goes, what is sent, what is spoken, when, and what of it is secret.
//!
//! A [`Plan`] holds everything a run needs, a [`hold::Plan`] everything a hold needs; both are
//! validated here, and [`schedule`] turns a plan and a seed into due times. What a record holds of
//! a plan is its [`Recorded`] form, in which a [`Redaction`] has hidden the secrets.
//!
//! Knows no sockets and no clock, and not how a plan is carried out. It reads no arguments, but
//! what it says of a plan that doesn't hold together names the flags that set it.
#![forbid(unsafe_code)]

mod bytes;
mod contact;
mod digest;
pub mod expect;
mod family;
pub mod hold;
mod interface;
mod invalid;
pub mod method;
mod part;
pub mod protocol;
mod proxy;
pub mod redaction;
mod request;
mod run;
pub mod schedule;
mod script;
mod share;
mod sources;
mod target;
pub mod workload;

pub use contact::{Contact, metadata_value};
pub use digest::digest;
pub use expect::Expect;
pub use family::Family;
pub use invalid::Invalid;
pub use part::{Lease, Part, Permit, Permits};
pub use proxy::Proxy;
pub use redaction::Redaction;
pub use request::{Request, authenticate};
pub use run::{CONNECTIONS_MAX, FOLLOW_MAX, PIPELINE_MAX, Plan, Recorded, THREADS_MAX};
pub use script::Script;
pub use share::share;
pub use sources::sources;
pub use target::{HostPort, Target};
pub use workload::{Flow, Step, Turn, Users, Workload};

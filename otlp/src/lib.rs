//! What is measured, on its way to an OpenTelemetry receiver: OTLP over HTTP, in protobuf
//! (<https://opentelemetry.io/docs/specs/otlp/>).
//!
//! An [`Exporter`] reads the intervals of a run or a hold as any other reader does, on a thread of
//! its own, and sends their sum so far. Because each request says all that is known, none is queued
//! and none is sent again: what a receiver missed is in the next one. A receiver that hangs,
//! refuses or is gone costs the load nothing; once that is over, it's waited for [`PATIENCE`] at
//! most, and what didn't arrive is said. [`deliver`] sends spans alone.
//!
//! It knows no worker, no plan and no subject. What it was told to send along in headers is in no
//! message.
#![forbid(unsafe_code)]

mod answer;
mod backoff;
mod client;
mod distribution;
mod exporter;
mod figures;
mod hold;
mod messages;
mod receiver;
mod resource;
mod run;
mod sending;
mod span;

pub use exporter::{Exporter, deliver, sealed};
pub use hold::figures_of_a_hold;
pub use receiver::Receiver;
pub use resource::About;
pub use run::figures_of_a_run;
pub use sending::PATIENCE;
pub use span::{Attribute, Id, Moment, Span, Trace, Value};

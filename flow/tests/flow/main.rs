//! Flows, held against answers that are written down: no sockets, no clock.

mod features;
mod files;
mod mistakes;
mod sessions;
mod support;
mod values;

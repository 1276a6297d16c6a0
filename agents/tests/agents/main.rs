//! Fleets as users have them: a real NATS server, agents and coordinators as processes, and a
//! server that counts by itself what it was asked.

mod abilities;
mod bus;
mod crowd;
mod everyone;
mod failures;
mod gates;
mod heard;
mod holds;
mod manifests;
mod many;
mod networks;
mod policies;
mod programs;
mod promises;
mod relay;
mod runs;
#[path = "../../../tests/skip.rs"]
mod skip;

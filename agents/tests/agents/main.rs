//! Fleets as users have them: a real NATS server, agents and coordinators as processes, and a
//! server that counts by itself what it was asked.

mod abilities;
mod bus;
#[path = "../../../tests/collector.rs"]
mod collector;
mod confined;
mod crowd;
mod everyone;
mod failures;
mod gates;
mod heard;
mod holds;
mod hostile;
#[path = "../../../tests/installed.rs"]
mod installed;
mod killed;
mod manifests;
mod many;
mod networks;
mod policies;
#[path = "../../../tests/ports.rs"]
mod ports;
mod programs;
mod promises;
mod relay;
mod runs;
#[path = "../../../tests/skip.rs"]
mod skip;
mod watched;
#[path = "../../../tests/yaml.rs"]
mod yaml;

//! `ringside fleet`: what another program does. Only its first words are known here.

use std::ffi::OsString;

use clap::Args;

const NOTES: &str = "\
Examples:
  ringside fleet agent --policy policy.toml --nats nats://10.0.0.1:4222    on each machine
  ringside fleet status --nats nats://10.0.0.1:4222     which agents there are, and what they do
  ringside fleet stop --nats nats://10.0.0.1:4222       end all load of all of them
  ringside fleet keys coordinator.seed                  a key to sign loads with, or to be let in
  ringside fleet manifests k8s --image registry.example/ringside:1 --agents 8
  ringside run --agents 4 --nats nats://10.0.0.1:4222 -R 20k -c100 http://10.0.0.9:8080/
  ringside run --agents local:4 -R 20k -c100 http://localhost:8080/      all of it on this machine
  ringside hold --agents 4 --nats nats://10.0.0.1:4222 -c 1M ws://10.0.0.9:8080/ws

All of these are done by a second program, ringside-fleet, which stands beside ringside or on the
PATH; ringside hands over to it. `ringside fleet agent --help` says more.
Exit codes: 0 done; 1 it couldn't be done, or an agent still sends load; 2 wrong usage.";

/// Arguments of `ringside fleet`.
#[derive(Debug, Args)]
#[command(after_help = NOTES)]
pub(crate) struct Fleet {
    /// agent, status, stop, keys or manifests, and what that takes
    #[arg(
        value_name = "WHAT",
        required = true,
        num_args = 1..,
        trailing_var_arg = true,
        allow_hyphen_values = true
    )]
    pub(crate) words: Vec<OsString>,
}

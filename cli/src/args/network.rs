//! In which network things are measured.

use clap::Args;

/// In whose.
#[derive(Clone, Copy, Debug, Default, Args)]
pub(crate) struct Network {
    /// Run in the host's network instead of a private one
    #[arg(long)]
    pub(crate) host_network: bool,
}

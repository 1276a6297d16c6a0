//! How a generator runs on this machine, whatever it does.

use clap::Args;
use engine::EngineChoice;

use super::values;

/// The heading under which these stand in a help.
pub(super) const MACHINE: &str = "Machine";

/// By which interface of the kernel, and on which CPUs.
#[derive(Debug, Args)]
pub(crate) struct Machine {
    /// auto, uring or epoll; auto is io_uring if the kernel allows it
    #[arg(long, value_name = "ENGINE", default_value = "auto", value_parser = values::engine,
        help_heading = MACHINE)]
    pub(crate) engine: EngineChoice,

    /// CPUs to pin threads to, such as 0,2-5
    #[arg(long, value_name = "LIST", help_heading = MACHINE)]
    pub(crate) cpus: Option<String>,
}

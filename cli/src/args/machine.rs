//! How a generator runs on this machine, whatever it does.

use clap::Args;
use engine::{EngineChoice, Without};

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

    /// Features of io_uring to leave out, to see what each is worth: defer-taskrun, coop-taskrun,
    /// submit-all, no-sqarray, registered-ring, abs-timer, no-iowait, direct-descriptors,
    /// batching, multishot, skip-success; several with commas, or all
    #[arg(long, value_name = "FEATURES", value_parser = values::without, help_heading = MACHINE)]
    pub(crate) without: Vec<Without>,

    /// CPUs to pin threads to, such as 0,2-5
    #[arg(long, value_name = "LIST", help_heading = MACHINE)]
    pub(crate) cpus: Option<String>,
}

impl Machine {
    /// The engine as a plan names it.
    ///
    /// # Errors
    ///
    /// A sentence if features are left out of an engine that has none of them.
    pub(crate) fn engine(&self) -> Result<String, String> {
        let choice = self.engine.leaving_out(&self.without)?;
        Ok(choice.to_string())
    }
}

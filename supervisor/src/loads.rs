//! Who sends the loads of a comparison: this process, unless it is told otherwise.

use std::fmt;

use load::{LoadError, Plan, Progress, Record, Stop};

/// Whoever sends loads in the place of this process.
pub trait Loader: Sync {
    /// Carries a plan out until somebody asks for the end, and says how far it is, as
    /// [`load::run()`] does.
    ///
    /// # Errors
    /// Nothing could be measured.
    fn load(
        &self,
        plan: &Plan,
        stop: &Stop,
        progress: &mut dyn FnMut(&Progress),
    ) -> Result<Record, LoadError>;
}

/// See the module.
#[derive(Clone, Copy, Default)]
pub struct Loads<'a>(Option<&'a dyn Loader>);

impl<'a> Loads<'a> {
    /// They're sent by this process.
    pub const HERE: Loads<'static> = Loads(None);

    /// They're sent by somebody else.
    pub fn by(loader: &'a dyn Loader) -> Loads<'a> {
        Loads(Some(loader))
    }

    /// Sends one: see [`Loader::load`].
    ///
    /// # Errors
    /// Nothing could be measured.
    pub fn send(
        &self,
        plan: &Plan,
        stop: &Stop,
        progress: &mut dyn FnMut(&Progress),
    ) -> Result<Record, LoadError> {
        match self.0 {
            Some(loader) => loader.load(plan, stop, progress),
            None => load::run(plan, stop, progress),
        }
    }
}

impl fmt::Debug for Loads<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            Some(_) => "Loads(elsewhere)",
            None => "Loads(here)",
        })
    }
}

//! How far this side of a connection is with what it says, for every driver.

/// Whether a connection may still be sent on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Writing {
    #[default]
    Open,
    /// It was shut down, and the send before that is unfinished.
    Ending,
    /// Nothing follows.
    Ended,
}

//! Local ports, of which connections need one each: what `probe` says of them.

pub(crate) use probe::ports::sources;

//! Where `.ci/run` puts the programs that tests take as peers. Included by path from the tests of
//! every crate that needs one.

use std::env;
use std::path::{Path, PathBuf};

/// The path of one below the folder that CI uses, whether it's there or not.
pub(crate) fn from_ci(program: &str) -> PathBuf {
    let home = || Path::new(&env::var_os("HOME").unwrap_or_default()).join(".cache");
    let cache = env::var_os("XDG_CACHE_HOME").map_or_else(home, PathBuf::from);
    cache.join("ringside-ci").join(program)
}

//! Cargo, started from a program that cargo itself has started.

use std::path::Path;
use std::process::Command;

/// Cargo in this directory, without what `cargo run` and `cargo test` set for the program they run.
/// The build script of ring depends on some of it: it, and everything that stands on it, would be
/// built once more.
pub(crate) fn cargo(directory: &Path) -> Command {
    let program = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(program);
    command.current_dir(directory);
    for (name, _) in std::env::vars_os() {
        let name = name.to_string_lossy();
        if ["CARGO_PKG_", "CARGO_MANIFEST_"]
            .iter()
            .any(|begin| name.starts_with(begin))
        {
            command.env_remove(&*name);
        }
    }
    command
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::ffi::OsStr;

    use super::*;

    #[test]
    fn what_cargo_says_of_this_program_is_not_handed_on() {
        let command = cargo(Path::new("/"));
        let removed: BTreeSet<&OsStr> = command
            .get_envs()
            .filter_map(|(name, value)| value.is_none().then_some(name))
            .collect();
        // `cargo test` has set them for this very test.
        for name in ["CARGO_MANIFEST_DIR", "CARGO_PKG_NAME"] {
            assert!(std::env::var_os(name).is_some(), "{name}");
            assert!(removed.contains(OsStr::new(name)), "{removed:?}");
        }
        assert!(!removed.contains(OsStr::new("CARGO_HOME")));
    }
}

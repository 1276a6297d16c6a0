//! Tells the program which commit it is built from, for `ringside --version`.
#![forbid(unsafe_code)]

mod commit;

use std::path::Path;

fn main() {
    println!("cargo::rerun-if-env-changed={}", commit::GIVEN);
    println!("cargo::rerun-if-changed=build");
    let found = match std::env::var(commit::GIVEN) {
        Ok(given) if !given.trim().is_empty() => commit::Found::given(given.trim()),
        _ => commit::find(Path::new(".")),
    };
    for path in &found.watched {
        println!("cargo::rerun-if-changed={}", path.display());
    }
    println!("cargo::rustc-env=RINGSIDE_BUILT_FROM={}", found.commit);
}

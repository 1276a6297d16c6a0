//! Checks that CI runs: import directions, sizes, generated documents.
//!
//! `cargo xtask tidy` reads the whole workspace and prints every place that breaks a rule of the
//! house; the same check runs as a test. `cargo xtask docs` writes the generated documents anew.
//! Each rule is a file in `rules/`, a pure function from the files to its complaints. What a rule
//! lets through is named in `tables.rs`, and a name that is no longer needed is a complaint too.
//!
//! `cargo xtask nonsense` holds whole programs against peers that make no sense; `nonsense/` says
//! how.
//! `cargo xtask dist` makes packages; `dist/` says of what.
//! `cargo xtask cost` and `cargo xtask instructions` say what a change costs.
#![forbid(unsafe_code)]

mod cargo;
mod complaint;
mod cost;
mod dist;
mod documents;
mod instructions;
mod nonsense;
mod rules;
mod tables;
mod workspace;

use std::process::ExitCode;

use workspace::Workspace;

const USAGE: &str = "\
usage: cargo xtask tidy   check imports, circles, unsafe, sizes, the clock, words, documents
       cargo xtask circles  list the modules that depend on each other in circles
       cargo xtask docs   write the generated documents anew
       cargo xtask dist [--target TARGET] [--profile PROFILE]
                          make packages in target/packages
       cargo xtask nonsense  hold whole programs against peers that make no sense
       cargo xtask cost OLD NEW
                          compare the processor time of two ringside programs
       cargo xtask instructions [CHECKOUT]
                          count instructions per exchange on the simulator, here and in CHECKOUT";

fn main() -> ExitCode {
    let verbs: Vec<String> = std::env::args().skip(1).collect();
    let outcome = match verbs.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["tidy"] => tidy(),
        ["circles"] => circles(),
        ["nonsense", ..] => return nonsense::run(&verbs[1..], &workspace::root()),
        ["dist", ..] => return dist::run(&verbs[1..], &workspace::root()),
        ["cost", old, new] => cost::run(old, new),
        ["instructions"] => instructions::run(None),
        ["instructions", checkout] => instructions::run(Some(checkout)),
        ["docs"] => documents::write(&workspace::root()),
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(text) => {
            eprintln!("{text}");
            ExitCode::FAILURE
        }
    }
}

/// Reads the workspace and applies every rule.
fn tidy() -> Result<(), String> {
    let workspace = Workspace::read(&workspace::root())?;
    let complaints = rules::check(&workspace);
    if complaints.is_empty() {
        return Ok(());
    }
    let lines: Vec<String> = complaints.iter().map(ToString::to_string).collect();
    Err(format!(
        "{}\n{} places are not tidy",
        lines.join("\n"),
        lines.len()
    ))
}

/// Prints the circles among the modules of each crate.
fn circles() -> Result<(), String> {
    let workspace = Workspace::read(&workspace::root())?;
    print!("{}", rules::circles(&workspace)?);
    Ok(())
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_workspace_is_tidy() {
        if let Err(text) = super::tidy() {
            panic!("{text}");
        }
    }
}

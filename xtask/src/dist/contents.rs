//! What belongs to the program: completions and manual pages from the definition of its arguments,
//! documents and licences from the repository.

use std::fs;
use std::path::Path;

use clap_complete::Shell;

use super::program::Programs;

/// Everything that packages are made of.
pub(super) struct Contents {
    pub(super) program: Vec<u8>,
    /// The program for fleets, which stands beside it.
    pub(super) fleet: Vec<u8>,
    /// Names and texts.
    pub(super) documents: Vec<(&'static str, Vec<u8>)>,
    pub(super) completions: Vec<Completion>,
    /// Names and texts of pages, all of section 1.
    pub(super) manual: Vec<(String, Vec<u8>)>,
}

/// The licences of what is linked in.
pub(super) const LIBRARIES: &str = "THIRD-PARTY.txt";

/// How a shell completes what is typed.
pub(super) struct Completion {
    pub(super) file: &'static str,
    /// Where Debian's package of the shell looks for it.
    pub(super) installed: &'static str,
    pub(super) text: Vec<u8>,
}

const DOCUMENTS: [&str; 5] = [
    "CHANGELOG.md",
    "LICENSE-APACHE",
    "LICENSE-MIT",
    "METHODOLOGY.md",
    "README.md",
];

const SHELLS: [(Shell, &str, &str); 3] = [
    (
        Shell::Bash,
        "ringside.bash",
        "usr/share/bash-completion/completions/ringside",
    ),
    (
        Shell::Zsh,
        "_ringside",
        "usr/share/zsh/vendor-completions/_ringside",
    ),
    (
        Shell::Fish,
        "ringside.fish",
        "usr/share/fish/vendor_completions.d/ringside.fish",
    ),
];

impl Contents {
    /// What belongs to the programs, of the repository at `root`. `licences` is the document about
    /// what is linked in.
    pub(super) fn gather(
        root: &Path,
        programs: Programs,
        licences: Vec<u8>,
    ) -> Result<Contents, String> {
        let mut documents = Vec::new();
        for name in DOCUMENTS {
            let text = fs::read(root.join(name)).map_err(|error| format!("{name}: {error}"))?;
            documents.push((name, text));
        }
        documents.push((LIBRARIES, licences));
        Ok(Contents {
            program: programs.main,
            fleet: programs.fleet,
            documents,
            completions: SHELLS.map(completion).into(),
            manual: manual()?,
        })
    }
}

fn completion((shell, file, installed): (Shell, &'static str, &'static str)) -> Completion {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut cli::definition(), "ringside", &mut text);
    Completion {
        file,
        installed,
        text,
    }
}

/// A page for the program and one for each verb. The library writes them into a folder.
fn manual() -> Result<Vec<(String, Vec<u8>)>, String> {
    let about = |error: std::io::Error| format!("the manual can't be written: {error}");
    let folder = tempfile::tempdir().map_err(about)?;
    clap_mangen::generate_to(cli::definition(), folder.path()).map_err(about)?;
    let mut pages = Vec::new();
    for entry in fs::read_dir(folder.path()).map_err(about)? {
        let path = entry.map_err(about)?.path();
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        // What follows the options are notes, which is what man-pages(7) calls them.
        let text = fs::read_to_string(&path).map_err(about)?;
        pages.push((name, text.replace(".SH EXTRA", ".SH NOTES").into_bytes()));
    }
    pages.sort();
    Ok(pages)
}

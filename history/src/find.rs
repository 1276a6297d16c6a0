//! Where sessions are: folders of comparisons, packs, and records of runs, in and below folders.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use lab::store::{CAPACITY, MANIFEST, SWEEP, TRIALS};
use measure::foreign::Foreign;
use report::pack::is_pack;

use crate::model::LeftOut;

/// Folders inside folders, at most. Nobody keeps sessions so deep.
const DEPTH_MAX: usize = 8;

/// A place that may be a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) path: PathBuf,
    pub(crate) kind: Kind,
}

/// What a place seems to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A folder of records, or a pack of one.
    Records,
    /// A file that may be the record of a run.
    Record,
}

impl Place {
    /// Its path, fit for a terminal.
    pub(crate) fn shown(&self) -> String {
        shown(&self.path)
    }
}

/// A path fit for a terminal.
pub(crate) fn shown(path: &Path) -> String {
    Foreign::new(path.display().to_string()).to_string()
}

/// The sessions in and below these places, by path; what is none of them goes to `left_out`.
///
/// # Errors
/// One of the places isn't there or can't be read, in a sentence.
pub(crate) fn sessions(
    places: &[PathBuf],
    left_out: &mut Vec<LeftOut>,
) -> Result<Vec<Place>, String> {
    let mut found = Vec::new();
    for place in places {
        let named = |error| format!("{}: {error}; give a directory of sessions", shown(place));
        match fs::metadata(place).map_err(named)?.is_dir() {
            true => look(place, 0, &mut found, left_out),
            false => take(place, &mut found, left_out),
        }
    }
    // Places may lie in each other.
    let mut seen = BTreeSet::new();
    found.retain(|place: &Place| seen.insert(place.path.clone()));
    let mut named = BTreeSet::new();
    left_out.retain(|one| named.insert(one.what.clone()));
    Ok(found)
}

fn look(folder: &Path, depth: usize, found: &mut Vec<Place>, left_out: &mut Vec<LeftOut>) {
    let holds = |name: &str| folder.join(name).is_file();
    if [MANIFEST, SWEEP, TRIALS, CAPACITY].into_iter().any(holds) {
        found.push(Place {
            path: folder.to_owned(),
            kind: Kind::Records,
        });
        return;
    }
    let mut leave_out = |path: &Path, why: &str| {
        left_out.push(LeftOut {
            what: shown(path),
            why: why.to_owned(),
        });
    };
    if depth > DEPTH_MAX {
        return leave_out(folder, "too many directories inside each other");
    }
    let entries = match folder.read_dir() {
        Ok(entries) => entries,
        Err(error) => return leave_out(folder, &error.to_string()),
    };
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    for path in paths {
        let kind = path.symlink_metadata().map(|facts| facts.file_type());
        match kind {
            Ok(kind) if kind.is_dir() => look(&path, depth + 1, found, left_out),
            Ok(kind) if kind.is_file() => take(&path, found, left_out),
            // One that is followed may lead back, or to a session that is here already.
            _ => left_out.push(LeftOut {
                what: shown(&path),
                why: "neither a file nor a directory, and links aren't followed".to_owned(),
            }),
        }
    }
}

/// Takes in a file, if it may be a session.
fn take(path: &Path, found: &mut Vec<Place>, left_out: &mut Vec<LeftOut>) {
    let kind = match path.extension().and_then(|ending| ending.to_str()) {
        _ if is_pack(path) => Kind::Records,
        Some("json") => Kind::Record,
        _ => {
            return left_out.push(LeftOut {
                what: shown(path),
                why: "neither a pack nor JSON".to_owned(),
            });
        }
    };
    found.push(Place {
        path: path.to_owned(),
        kind,
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sessions_are_found_below_folders_and_what_is_none_is_named() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        for name in ["b/c/session", "a"] {
            fs::create_dir_all(at(name)).expect("writable");
        }
        fs::write(at("b/c/session/comparison.json"), "{}").expect("writable");
        fs::write(at("b/c/session/other.json"), "{}").expect("writable");
        fs::write(at("a/run.json"), "{}").expect("writable");
        fs::write(at("a/pack"), b"\xfd7zXZ\0 and so on").expect("writable");
        fs::write(at("README.md"), "words").expect("writable");
        std::os::unix::fs::symlink(folder.path(), at("a/around")).expect("writable");
        let mut left_out = Vec::new();
        let twice = [folder.path().to_owned(), at("a")];
        let found = sessions(&twice, &mut left_out).expect("it is there");
        let place = |name: &str, kind| Place {
            path: at(name),
            kind,
        };
        let expected = [
            place("a/pack", Kind::Records),
            place("a/run.json", Kind::Record),
            place("b/c/session", Kind::Records),
        ];
        assert_eq!(found, expected);
        let named: Vec<&str> = left_out.iter().map(|one| one.what.as_str()).collect();
        assert_eq!(named.len(), 2, "{named:?}");
        assert!(
            named[0].ends_with("README.md") && named[1].ends_with("a/around"),
            "{named:?}"
        );
        let nowhere = sessions(&[at("nowhere")], &mut left_out).expect_err("it isn't there");
        assert!(
            nowhere.contains("nowhere") && nowhere.contains("give"),
            "{nowhere}"
        );
    }
}

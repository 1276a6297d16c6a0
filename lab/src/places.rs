//! Where the subjects of a comparison are: in folders, or made already.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use measure::words::nearest;
use supervisor::document::{BadFile, Document};
use supervisor::subject::{Subject, is_plain_name};
use toml::Spanned;

/// Where subjects are looked for by their names.
#[derive(Clone, Debug)]
pub(crate) struct Places {
    folders: Vec<PathBuf>,
    /// Those that nobody has written down.
    made: Vec<Subject>,
}

impl Places {
    /// The folders of subjects for a comparison's file: the given one, or those named `subjects`
    /// beside the file, above it, and in the current folder.
    pub(crate) fn of(file: &Path, subjects: Option<&Path>) -> Places {
        let folders = match subjects {
            Some(folder) => vec![folder.to_owned()],
            None => around(file),
        };
        Places {
            folders,
            made: Vec::new(),
        }
    }

    /// No folder: these subjects are all there are.
    pub(crate) fn made(subjects: &[Subject]) -> Places {
        Places {
            folders: Vec::new(),
            made: subjects.to_vec(),
        }
    }

    /// The subject of this name.
    pub(crate) fn read(
        &self,
        name: &Spanned<String>,
        document: &Document,
    ) -> Result<Subject, BadFile> {
        if let Some(made) = self.made.iter().find(|made| made.name == *name.get_ref()) {
            return Ok(made.clone());
        }
        read_subject(name, document, &self.folders)
    }
}

fn around(file: &Path) -> Vec<PathBuf> {
    let beside = file.parent().unwrap_or(Path::new(""));
    let mut places = vec![
        beside.join("subjects"),
        beside.join("..").join("subjects"),
        beside.join("..").join("..").join("subjects"),
        PathBuf::from("subjects"),
    ];
    places.retain(|place| place.is_dir());
    places
}

fn read_subject(
    name: &Spanned<String>,
    document: &Document,
    places: &[PathBuf],
) -> Result<Subject, BadFile> {
    if places.is_empty() {
        let what = "there's no folder `subjects` next to this file, above it, or in the current \
                    folder";
        return Err(document.fault(Some(name.span()), what));
    }
    let folder = places
        .iter()
        .map(|place| place.join(name.get_ref()))
        .find(|folder| is_plain_name(name.get_ref()) && folder.is_dir());
    match folder {
        Some(folder) => Subject::read(&folder),
        None => {
            let what = unknown_subject(name.get_ref(), places);
            Err(document.fault(Some(name.span()), what))
        }
    }
}

fn unknown_subject(name: &str, places: &[PathBuf]) -> String {
    let mut known = BTreeSet::new();
    for entry in places
        .iter()
        .filter_map(|place| place.read_dir().ok())
        .flatten()
        .flatten()
    {
        if entry.path().join("subject.toml").is_file() {
            known.insert(entry.file_name().to_string_lossy().into_owned());
        }
    }
    let mut looked = Vec::new();
    for place in places {
        let whole = place.canonicalize().unwrap_or_else(|_| place.clone());
        let whole = whole.display().to_string();
        if !looked.contains(&whole) {
            looked.push(whole);
        }
    }
    let hint = meant(name, known.iter().map(String::as_str));
    format!("no subject `{name}` in {}{hint}", looked.join(", "))
}

/// The word that is nearest to an unknown one, or all that are known.
pub(crate) fn meant<'a>(word: &str, known: impl IntoIterator<Item = &'a str> + Clone) -> String {
    if let Some(near) = nearest(word, known.clone()) {
        return format!("; did you mean `{near}`?");
    }
    let known: Vec<&str> = known.into_iter().collect();
    format!("; expected one of: {}", known.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_folder_that_was_looked_in_is_named_once_and_in_full() {
        let folder = tempfile::tempdir().expect("a folder");
        let whole = folder.path().canonicalize().expect("it is there");
        let (one, other) = (folder.path().join("one"), folder.path().join("other"));
        for place in [&one, &other] {
            std::fs::create_dir(place).expect("it is ours");
        }
        let again = one.join("..").join("one");
        let what = unknown_subject("v3", &[one, other, again]);
        let folders = format!("{0}/one, {0}/other", whole.display());
        assert!(
            what.starts_with(&format!("no subject `v3` in {folders};")),
            "{what}"
        );
    }
}

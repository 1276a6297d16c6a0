//! Reports in the folder of a comparison: written at its end, and again from its records at any
//! time later. Reads and writes files; what stands in them is the formats' affair.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use super::{Enclosed, Report, csv, html, json, markdown};
use crate::profile::PROFILES;
use crate::store::{Kept, Store};

/// The file of the comparison as it was read.
const COMPARISON: &str = "comparison.toml";

/// A report that was made again.
#[derive(Clone, Debug)]
pub struct Rebuilt {
    /// The folder, absolute.
    pub folder: PathBuf,
    /// What its records say.
    pub report: Report,
    /// What could not be written, and why.
    pub unwritten: Vec<String>,
}

/// Makes the report of a comparison's folder again from its records alone, and writes it there in
/// every format.
///
/// # Errors
/// The folder holds no comparison that can be read; the sentence names the file.
pub fn rebuild(folder: &Path) -> Result<Rebuilt, String> {
    let kept = Kept::read(folder)?;
    let report = Report::new(&kept.manifest, &kept.rounds);
    let mut store = Store::at(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    for (name, text) in files(&report, &Enclosed::read(store.folder())) {
        store.put(Path::new(name), text.into_bytes());
    }
    Ok(Rebuilt {
        unwritten: store.unwritten(),
        folder: store.folder().to_owned(),
        report,
    })
}

/// The report in each of its formats, with the name of its file.
pub(crate) fn files(report: &Report, enclosed: &Enclosed) -> [(&'static str, String); 4] {
    [
        ("report.html", html(report, enclosed)),
        ("report.md", markdown(report)),
        ("report.json", json(report)),
        ("report.csv", csv(report)),
    ]
}

impl Enclosed {
    /// What stands in this folder. What is not there, or cannot be read, is not enclosed.
    pub(crate) fn read(folder: &Path) -> Enclosed {
        let mut flames = BTreeMap::new();
        for entry in folder
            .join(PROFILES)
            .read_dir()
            .into_iter()
            .flatten()
            .flatten()
        {
            let path = entry.path();
            let row = path.file_stem().and_then(|name| name.to_str());
            if let (Some(row), true) = (row, path.extension().is_some_and(|end| end == "svg"))
                && let Ok(picture) = fs::read_to_string(&path)
            {
                flames.insert(row.to_owned(), picture);
            }
        }
        Enclosed {
            file: fs::read_to_string(folder.join(COMPARISON)).unwrap_or_default(),
            flames,
        }
    }
}

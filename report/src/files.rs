//! The files of a comparison's report, and what of its folder is enclosed in them.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use lab::store::PROFILES;

use super::benchmark::{self, Measure};
use super::{Enclosed, Report, csv, html, json, junit, markdown};
use crate::pages::{File, Page};

/// The file of the comparison as it was read.
const COMPARISON: &str = "comparison.toml";

/// The report in each of its formats, with the name of its file.
pub fn files(report: &Report, enclosed: &Enclosed) -> Vec<(File, String)> {
    let measures = benchmark::comparison(report);
    let mut files = vec![
        (File::Page(Page::HTML), html(report, enclosed)),
        (File::Page(Page::MARKDOWN), markdown(report)),
        (File::Page(Page::JSON), json(report)),
        (File::Page(Page::CSV), csv(report)),
    ];
    files.extend(for_pipelines(junit::comparison(report), &measures));
    files
}

/// What pipelines read of a report, whatever was measured: `junit`, and these figures.
pub fn for_pipelines(junit: String, measures: &[Measure]) -> [(File, String); 4] {
    [
        (File::Page(Page::JUNIT), junit),
        (
            File::Page(Page::SMALLER),
            benchmark::smaller_is_better(measures),
        ),
        (
            File::Page(Page::BIGGER),
            benchmark::bigger_is_better(measures),
        ),
        (File::Page(Page::BENCHER), benchmark::bencher(measures)),
    ]
}

impl Enclosed {
    /// What stands in this folder. What is not there, or cannot be read, is not enclosed.
    pub fn read(folder: &Path) -> Enclosed {
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

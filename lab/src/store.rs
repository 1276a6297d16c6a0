//! The folder a comparison writes into. Every file appears whole or not at all.

use measure::time::utc_date;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::manifest::Manifest;
use crate::round::Round;

/// The file of what is known besides the rounds.
const MANIFEST: &str = "comparison.json";

/// A folder for one comparison.
#[derive(Debug)]
pub(crate) struct Store {
    folder: PathBuf,
}

impl Store {
    /// Makes the folder `wanted`, or `ringside-out/<date>-<name>` with a number where that is
    /// taken. Writes a file into it, so that a full or read-only disk shows before anything is
    /// measured. An error names the folder and what to do.
    pub(crate) fn create(
        wanted: Option<&Path>,
        name: &str,
        unix_seconds: u64,
    ) -> Result<Store, String> {
        let folder = match wanted {
            Some(folder) => folder.to_owned(),
            None => free_name(
                &Path::new("ringside-out").join(format!("{}-{name}", utc_date(unix_seconds))),
            ),
        };
        let advice = |error: io::Error| {
            format!(
                "cannot write to {}: {error}; name another folder with -o",
                folder.display()
            )
        };
        if folder.join(MANIFEST).exists() || folder.join("rounds").exists() {
            return Err(format!(
                "{} already holds a comparison; name another folder with -o",
                folder.display()
            ));
        }
        fs::create_dir_all(&folder).map_err(advice)?;
        let folder = fs::canonicalize(&folder).map_err(advice)?;
        let store = Store { folder };
        let trial = Path::new(".trial");
        store
            .write(trial, b"whether this folder can be written\n")
            .map_err(advice)?;
        fs::remove_file(store.folder.join(trial)).map_err(advice)?;
        Ok(store)
    }

    /// A store in a folder that is there.
    pub(crate) fn at(folder: &Path) -> io::Result<Store> {
        let folder = fs::canonicalize(folder)?;
        Ok(Store { folder })
    }

    /// The folder, absolute.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Makes a folder inside, and returns where it is.
    pub(crate) fn subfolder(&self, name: &Path) -> io::Result<PathBuf> {
        let folder = self.folder.join(name);
        fs::create_dir_all(&folder)?;
        Ok(folder)
    }

    /// Writes a round at once, so that a crash later costs none. An error names the file.
    pub(crate) fn keep(&self, round: &Round) -> Result<(), String> {
        self.write_json(&Round::file(&round.row, round.round), round)
    }

    /// Writes what is known besides the rounds. An error names the file.
    pub(crate) fn describe(&self, manifest: &Manifest) -> Result<(), String> {
        self.write_json(Path::new(MANIFEST), manifest)
    }

    fn write_json(&self, name: &Path, value: &impl Serialize) -> Result<(), String> {
        let text = serde_json::to_string(value).map_err(io::Error::other);
        text.and_then(|text| self.write(name, text.as_bytes()))
            .map_err(|error| format!("{}: {error}", name.display()))
    }

    /// Writes a file inside: beside its place first, then moved there.
    pub(crate) fn write(&self, name: &Path, bytes: &[u8]) -> io::Result<()> {
        let path = self.folder.join(name);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        let mut beside = path.clone().into_os_string();
        beside.push(".tmp");
        let written = fs::write(&beside, bytes).and_then(|()| fs::rename(&beside, &path));
        if written.is_err() {
            let _ = fs::remove_file(&beside);
        }
        written
    }
}

/// A comparison as it was kept.
#[derive(Clone, Debug)]
pub struct Kept {
    /// What is known besides the rounds.
    pub manifest: Manifest,
    /// The rounds, by row in the manifest's order and then by number.
    pub rounds: Vec<Round>,
}

impl Kept {
    /// Reads the folder of a comparison. An error names the file, and what is wrong with it.
    pub fn read(folder: &Path) -> Result<Kept, String> {
        let manifest = read_with(&folder.join(MANIFEST), Manifest::from_json)?;
        let mut rounds = Vec::new();
        for row in &manifest.rows {
            let place = folder.join("rounds").join(&row.name);
            let Ok(entries) = place.read_dir() else {
                continue; // No round of it was measured.
            };
            let mut files: Vec<PathBuf> = entries
                .flatten()
                .map(|entry| entry.path())
                .filter(|path| path.extension().is_some_and(|ending| ending == "json"))
                .collect();
            files.sort();
            for file in files {
                rounds.push(read_with(&file, Round::from_json)?);
            }
        }
        Ok(Kept { manifest, rounds })
    }
}

fn read_with<T>(file: &Path, read: fn(&str) -> Result<T, String>) -> Result<T, String> {
    let text = fs::read_to_string(file).map_err(|error| error.to_string());
    text.and_then(|text| read(&text))
        .map_err(|what| format!("{}: {what}", file.display()))
}

fn free_name(folder: &Path) -> PathBuf {
    let numbered = |number: u32| match number {
        1 => folder.to_owned(),
        _ => PathBuf::from(format!("{}-{number}", folder.display())),
    };
    (1..10_000)
        .map(numbered)
        .find(|path| !path.exists())
        .unwrap_or_else(|| folder.to_owned())
}

/// The UTC time of day, as `20:12:54`.
pub(crate) fn time_of_day(unix_seconds: u64) -> String {
    let seconds = unix_seconds % 86_400;
    format!(
        "{:02}:{:02}:{:02}",
        seconds / 3600,
        seconds / 60 % 60,
        seconds % 60
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_agree_with_the_calendar() {
        for (seconds, expected) in [
            (0, "1970-01-01"),
            (951_782_400, "2000-02-29"),
            (951_868_800, "2000-03-01"),
            (1_795_291_974, "2026-11-21"),
            (4_107_542_399, "2100-02-28"),
            (4_107_542_400, "2100-03-01"),
        ] {
            assert_eq!(utc_date(seconds), expected);
        }
        assert_eq!(time_of_day(1_795_291_974), "20:12:54");
    }

    #[test]
    fn a_folder_with_a_comparison_is_not_written_over() {
        let folder = std::env::temp_dir().join(format!("ringside-store-{}", std::process::id()));
        let store = Store::create(Some(&folder), "x", 0).expect("a new folder");
        store
            .write(Path::new("rounds/a/001.json"), b"{}")
            .expect("writable");
        assert!(store.folder().join("rounds/a/001.json").is_file());
        let again = Store::create(Some(&folder), "x", 0).map(|_| ());
        assert!(again.is_err_and(|what| what.contains("already holds")));
        fs::remove_dir_all(&folder).expect("its own folder");
    }

    #[test]
    fn a_folder_that_cannot_be_written_is_named_before_anything_is_measured() {
        let refused = Store::create(Some(Path::new("/proc/ringside")), "x", 0).map(|_| ());
        assert!(refused.is_err_and(|what| what.contains("/proc/ringside") && what.contains("-o")));
    }
}

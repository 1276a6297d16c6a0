//! The folder a comparison writes into. Every file appears whole or not at all, and what cannot be
//! written now, since the disk is full, is kept in memory and written when there is room.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use load::Redaction;
use measure::foreign;
use measure::time::utc_date;
use serde::Serialize;

use crate::hidden::hidden;
use crate::manifest::Manifest;
use crate::round::Round;

/// The file of what is known besides the rounds.
pub const MANIFEST: &str = "comparison.json";
/// The file of what a sweep found.
pub const SWEEP: &str = "sweep.json";
/// The file of what trials came to.
pub const TRIALS: &str = "trials.json";
/// Where pictures are, in a comparison's folder.
pub const PROFILES: &str = "profiles";
/// The file of what a search for capacities found.
pub const CAPACITY: &str = "capacity.json";
/// The comparison's file as it was read, but for its secrets.
pub const ASKED: &str = "comparison.toml";

/// A folder for one comparison.
#[derive(Debug)]
pub struct Store {
    folder: PathBuf,
    /// What could not be written until now: bytes, and why.
    waiting: BTreeMap<PathBuf, (Vec<u8>, String)>,
    /// What has no form in JSON, and why.
    formless: Vec<String>,
    /// What no file inside may hold.
    redaction: Redaction,
}

impl Store {
    /// Makes the folder `wanted`, or `ringside-out/<date>-<name>` with a number where that is
    /// taken. Writes a file into it, so that a full or read-only disk shows before anything is
    /// measured. An error names the folder and what to do.
    pub fn create(wanted: Option<&Path>, name: &str, unix_seconds: u64) -> Result<Store, String> {
        let folder = match wanted {
            Some(folder) => folder.to_owned(),
            None => free_name(
                &Path::new("ringside-out").join(format!("{}-{name}", utc_date(unix_seconds))),
            ),
        };
        let holds = |names: &[&str]| names.iter().any(|name| folder.join(name).exists());
        // What can be gone on with is a comparison. A search for capacities begins anew.
        let taken = match (
            holds(&[MANIFEST, SWEEP]),
            holds(&["rounds", CAPACITY, TRIALS]),
        ) {
            (true, _) => Some(
                "a comparison; choose another folder with -o, or continue it with `ringside \
                 compare --resume`",
            ),
            (_, true) => Some("results; choose another folder with -o"),
            _ => None,
        };
        if let Some(what) = taken {
            return Err(format!("{} already holds {what}", folder.display()));
        }
        let made = fs::create_dir_all(&folder).and_then(|()| Store::tried(&folder));
        made.map_err(|error| {
            let folder = folder.display();
            format!("can't write to {folder}: {error}; choose another folder with -o")
        })
    }

    /// The folder of a comparison that was begun, with what is in it. An error says what is wrong
    /// with it.
    pub(crate) fn open(folder: &Path) -> Result<(Store, Kept), String> {
        if !folder.join(MANIFEST).is_file() {
            let folder = folder.display();
            return Err(format!(
                "{folder} has no comparison to resume: give the directory that ringside compare \
                 wrote to"
            ));
        }
        let kept = Kept::read(folder)?;
        let store = Store::tried(folder)
            .map_err(|error| format!("can't write to {}: {error}", folder.display()))?;
        Ok((store, kept))
    }

    /// A store in a folder that is there.
    pub fn at(folder: &Path) -> io::Result<Store> {
        Ok(Store {
            folder: fs::canonicalize(folder)?,
            waiting: BTreeMap::new(),
            formless: Vec::new(),
            redaction: Redaction::default(),
        })
    }

    /// A store in a folder that is there, into which a file was written to see whether it can be.
    fn tried(folder: &Path) -> io::Result<Store> {
        let store = Store::at(folder)?;
        let trial = store.folder.join(".trial");
        write(&trial, b"whether this folder can be written\n")?;
        fs::remove_file(trial)?;
        Ok(store)
    }

    /// Lets no file inside hold what `redaction` hides; its key is kept here, unless it has one.
    ///
    /// # Errors
    /// A sentence that names the key's file, and what is wrong with it.
    pub fn hide(&mut self, redaction: &Redaction) -> Result<(), String> {
        redaction.keep_key_in(&self.folder)?;
        self.redaction = redaction.clone();
        Ok(())
    }

    /// The folder, absolute.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Makes a folder inside, and returns where it is.
    pub(crate) fn subfolder(&self, name: &Path) -> io::Result<PathBuf> {
        let folder = self.folder.join(name);
        fs::create_dir_all(&folder)?;
        Ok(folder)
    }

    /// Writes a round at once, so that a crash later costs none.
    pub fn keep(&mut self, round: &Round) {
        self.put_json(&Round::file(&round.row, round.round), round);
    }

    /// Writes what is known besides the rounds.
    pub fn describe(&mut self, manifest: &Manifest) {
        self.put_json(Path::new(MANIFEST), manifest);
    }

    /// Writes the comparison's file as it was read, but for its secrets.
    pub fn keep_asked(&mut self, file: &[u8]) {
        let hidden = hidden(&String::from_utf8_lossy(file), &self.redaction);
        self.put(Path::new(ASKED), hidden.into_bytes());
    }

    /// Writes a file inside. What could not be written before is tried again.
    pub fn put(&mut self, name: &Path, bytes: Vec<u8>) {
        let bytes = match std::str::from_utf8(&bytes) {
            Ok(text) => self.fit(name, text).into_bytes(),
            Err(_) => bytes,
        };
        self.waiting.insert(name.to_owned(), (bytes, String::new()));
        let folder = &self.folder;
        self.waiting.retain(|name, (bytes, why)| {
            let path = folder.join(name);
            let made = path.parent().map_or(Ok(()), fs::create_dir_all);
            match made.and_then(|()| write(&path, bytes)) {
                Ok(()) => false,
                Err(error) => {
                    *why = error.to_string();
                    true
                }
            }
        });
    }

    /// A text as the file `name` may hold it: without secrets, and without what would command the
    /// terminal that shows it.
    fn fit(&self, name: &Path, text: &str) -> String {
        let text = self.redaction.scrub(text);
        let fit = match name.extension().and_then(|ending| ending.to_str()) {
            Some("json") => foreign::json(&text),
            Some("html" | "md" | "csv" | "svg" | "folded" | "xml") => foreign::document(&text),
            _ => return text.into_owned(),
        };
        fit.into_owned()
    }

    /// The files that could not be written until now, each with the reason.
    pub fn unwritten(&self) -> Vec<String> {
        let sentence =
            |(name, (_, why)): (&PathBuf, &(Vec<u8>, String))| format!("{}: {why}", name.display());
        let waiting = self.waiting.iter().map(sentence);
        waiting.chain(self.formless.iter().cloned()).collect()
    }

    /// Writes a file inside that holds `value` as JSON.
    pub fn put_json(&mut self, name: &Path, value: &impl Serialize) {
        match serde_json::to_vec(value) {
            Ok(bytes) => self.put(name, bytes),
            Err(error) => self.formless.push(format!("{}: {error}", name.display())),
        }
    }
}

/// Writes a file whole or not at all: beside its place first, then, when it is on the disk, moved
/// there (rename(2): who looks sees the one file or the other).
fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut beside = path.to_owned().into_os_string();
    beside.push(".tmp");
    let written = File::create(&beside)
        .and_then(|mut file| {
            file.write_all(bytes)?;
            file.sync_data()
        })
        .and_then(|()| fs::rename(&beside, path));
    if written.is_err() {
        let _ = fs::remove_file(&beside);
    }
    written
}

/// Where records are read: a folder or a file in one. Messages call it by its name, which for
/// records out of a pack begins with the pack's and not with where they were unpacked.
#[derive(Clone, Debug)]
pub struct Source {
    path: PathBuf,
    shown: PathBuf,
}

impl Source {
    /// What is at `path`, by that name.
    pub fn of(path: &Path) -> Source {
        Source::shown_as(path.to_owned(), path.to_owned())
    }

    /// What is at `path`, by another name.
    pub fn shown_as(path: PathBuf, shown: PathBuf) -> Source {
        Source { path, shown }
    }

    /// What is inside under this name.
    pub fn join(&self, name: impl AsRef<Path>) -> Source {
        Source::shown_as(self.path.join(&name), self.shown.join(&name))
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl fmt::Display for Source {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Somebody else may have chosen the names in it.
        foreign::Foreign::new(self.shown.display().to_string()).fmt(out)
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
        Kept::read_from(&Source::of(folder))
    }

    /// The same of records that may come out of a pack.
    pub fn read_from(source: &Source) -> Result<Kept, String> {
        let manifest = read_with(&source.join(MANIFEST), Manifest::from_json)?;
        let mut rounds = Vec::new();
        for row in &manifest.rows {
            let own = source.join("rounds").join(&row.name);
            let Ok(entries) = own.path().read_dir() else {
                continue; // No round of it was measured.
            };
            let is_round = |name: &OsString| Path::new(name).extension() == Some("json".as_ref());
            let names = entries.flatten().map(|entry| entry.file_name());
            let files = names.filter(is_round).map(|name| own.join(name));
            let read = files.map(|file| read_with(&file, Round::from_json));
            let mut own: Vec<Round> = read.collect::<Result<_, String>>()?;
            own.sort_by_key(|round| round.round);
            rounds.append(&mut own);
        }
        Ok(Kept { manifest, rounds })
    }
}

/// Reads a file by `read`. An error names the file, and what is wrong with it.
pub fn read_with<T>(file: &Source, read: fn(&str) -> Result<T, String>) -> Result<T, String> {
    let text = fs::read_to_string(file.path()).map_err(|error| error.to_string());
    text.and_then(|text| read(&text))
        .map_err(|what| format!("{file}: {what}"))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_with_a_comparison_is_not_written_over() {
        let place = tempfile::tempdir().expect("a folder");
        let folder = place.path().join("out");
        let mut store = Store::create(Some(&folder), "x", 0).expect("a new folder");
        store.put(Path::new("rounds/a/001.json"), b"{}".to_vec());
        assert_eq!(store.unwritten(), Vec::<String>::new());
        assert!(store.folder().join("rounds/a/001.json").is_file());
        let again = Store::create(Some(&folder), "x", 0).map(|_| ());
        let again = again.expect_err("it is taken");
        assert!(
            again.contains("already holds results") && again.contains("-o"),
            "{again}"
        );
        // Only a comparison can be gone on with.
        assert!(!again.contains("--resume"), "{again}");
        store.put(Path::new(MANIFEST), b"{}".to_vec());
        let again = Store::create(Some(&folder), "x", 0).map(|_| ());
        let again = again.expect_err("it is taken");
        assert!(
            again.contains("holds a comparison") && again.contains("--resume"),
            "{again}"
        );
    }

    #[test]
    fn what_cannot_be_written_is_written_when_there_is_room() {
        let place = tempfile::tempdir().expect("a folder");
        let folder = place.path().join("out");
        let mut store = Store::create(Some(&folder), "x", 0).expect("a new folder");
        fs::write(folder.join("rounds"), "in the way").expect("writable");
        let name = Path::new("rounds/a/001.json");
        store.put(name, b"{}".to_vec());
        let unwritten = store.unwritten();
        assert_eq!(unwritten.len(), 1, "{unwritten:?}");
        assert!(
            unwritten[0].starts_with("rounds/a/001.json: "),
            "{unwritten:?}"
        );
        fs::remove_file(folder.join("rounds")).expect("its own file");
        store.put(Path::new("other"), Vec::new());
        assert_eq!(store.unwritten(), Vec::<String>::new());
        assert_eq!(fs::read(folder.join(name)).expect("written"), b"{}");
    }

    #[test]
    fn a_folder_that_cannot_be_written_is_named_before_anything_is_measured() {
        let refused = Store::create(Some(Path::new("/proc/ringside")), "x", 0).map(|_| ());
        assert!(refused.is_err_and(|what| what.contains("/proc/ringside") && what.contains("-o")));
    }
}

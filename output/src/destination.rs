//! Where the data goes: standard output, or a file that is there whole or not at all.
//!
//! A file is opened before the run, beside the place it will have, so that a path that cannot be
//! written to costs no measurement. It takes its name only when every byte is on the disk.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::terminal;

/// Where data will go.
#[derive(Debug)]
pub enum Destination {
    /// Standard output.
    Stdout,
    /// A new regular file, under another name until it is whole.
    File(Unfinished),
    /// Something that is there and is no regular file, such as `/dev/null` or a named pipe.
    Special(File, PathBuf),
}

/// A file that has not got its name yet; gone again if it never gets it.
#[derive(Debug)]
pub struct Unfinished {
    file: File,
    now: PathBuf,
    later: PathBuf,
}

impl Destination {
    /// Opens the place, or says why it cannot be written to.
    pub fn open(path: Option<&Path>) -> Result<Destination, String> {
        let Some(path) = path else {
            return Ok(Destination::Stdout);
        };
        let complain = |error: io::Error| {
            format!(
                "can't write {}: {error}; choose another path with -o",
                path.display()
            )
        };
        // A link keeps being one: what it points at is written.
        let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
        if let Ok(there) = fs::metadata(&path) {
            if there.is_dir() {
                return Err(format!(
                    "{} is a directory; give a file with -o",
                    path.display()
                ));
            }
            if !there.is_file() {
                let file = File::options().write(true).open(&path).map_err(complain)?;
                return Ok(Destination::Special(file, path));
            }
        }
        let name = path
            .file_name()
            .map(|name| name.to_string_lossy().into_owned());
        let name = name.ok_or_else(|| format!("{} isn't a file name", path.display()))?;
        let now = path.with_file_name(format!(".{name}.{}", std::process::id()));
        let file = File::create(&now).map_err(complain)?;
        Ok(Destination::File(Unfinished {
            file,
            now,
            later: path,
        }))
    }

    /// Standard error, where standard output is somebody else's.
    pub fn stderr() -> Result<Destination, String> {
        let kept = rustix::io::dup(rustix::stdio::stderr());
        let kept = kept.map(|kept| Destination::Special(kept.into(), "/dev/stderr".into()));
        kept.map_err(|error| format!("can't keep standard error: {error}; give a file with -o"))
    }

    /// Standard output, where everybody else from now on writes to standard error: what a script
    /// prints is no part of the data.
    pub fn apart() -> Result<Destination, String> {
        let kept = rustix::io::dup(rustix::stdio::stdout());
        let kept = kept.and_then(|kept| {
            rustix::stdio::dup2_stdout(rustix::stdio::stderr())?;
            Ok(Destination::Special(kept.into(), "/dev/stdout".into()))
        });
        kept.map_err(|error| format!("can't keep standard output: {error}; give a file with -o"))
    }

    /// Writes all of `text`. What cannot be written to a file goes to standard output, so that no
    /// measurement is lost; the error says so.
    pub fn write(self, text: &str) -> Result<(), String> {
        let text = &*terminal::fit(text);
        let (outcome, path) = match self {
            Destination::Stdout => {
                let complain = |error| format!("can't write to standard output: {error}");
                return terminal::print(text).map_err(complain);
            }
            Destination::File(mut unfinished) => {
                (unfinished.finish(text), unfinished.later.clone())
            }
            Destination::Special(mut file, path) => (file.write_all(text.as_bytes()), path),
        };
        outcome.map_err(|error| {
            let path = path.display();
            match terminal::print(text) {
                Ok(()) => {
                    format!("can't write {path}: {error}; the result is on standard output instead")
                }
                Err(also) => format!(
                    "can't write {path}: {error}; can't write to standard output either: {also}"
                ),
            }
        })
    }
}

impl Unfinished {
    fn finish(&mut self, text: &str) -> io::Result<()> {
        self.file.write_all(text.as_bytes())?;
        self.file.sync_all()?;
        fs::rename(&self.now, &self.later)
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        // After a rename there is nothing under this name, and that is well.
        let _ = fs::remove_file(&self.now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_appears_whole_and_nothing_stays_beside_it() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        let path = folder.join("out.json");
        let destination = Destination::open(Some(&path)).unwrap();
        assert!(!path.exists());
        destination.write("data\n").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "data\n");
        assert_eq!(fs::read_dir(folder).unwrap().count(), 1);
    }

    #[test]
    fn a_file_that_was_there_stays_as_it_was_until_the_end() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        let path = folder.join("out.json");
        fs::write(&path, "older").unwrap();
        drop(Destination::open(Some(&path)).unwrap());
        assert_eq!(fs::read_to_string(&path).unwrap(), "older");
        assert_eq!(fs::read_dir(folder).unwrap().count(), 1);
    }

    #[test]
    fn a_place_that_cannot_be_written_is_refused_when_it_is_opened() {
        let missing = Path::new("/nonexistent-folder/out.json");
        let error = Destination::open(Some(missing)).unwrap_err();
        assert!(error.contains("can't write"), "{error}");
        let error = Destination::open(Some(Path::new("/"))).unwrap_err();
        assert!(error.contains("is a directory"), "{error}");
    }

    #[test]
    fn a_device_is_written_as_it_is() {
        Destination::open(Some(Path::new("/dev/null")))
            .unwrap()
            .write("data")
            .unwrap();
        assert!(Path::new("/dev/null").exists());
    }
}

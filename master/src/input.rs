//! A file that all workers read as it was at one moment: whoever takes the place of a worker that
//! has died begins with what the others have, whatever has become of the file since.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::shared::Shared;

/// A longer file isn't read.
const BYTES_MAX: u64 = 16 << 20;

/// The file as it was, and as it is to be.
#[derive(Debug, Default)]
pub(crate) struct Input {
    path: Option<PathBuf>,
    current: Option<Shared>,
    /// That of a reload which isn't over.
    next: Option<Shared>,
}

impl Input {
    /// The file as it is now, if there is one to be read.
    pub(crate) fn read(path: Option<&Path>) -> io::Result<Input> {
        Ok(Input {
            path: path.map(Path::to_owned),
            current: path.map(copy).transpose()?,
            next: None,
        })
    }

    /// What a worker is given: that of the others, or, if it's to take over from them, the file as
    /// it was when the first of those was started.
    pub(crate) fn for_worker(&mut self, takes_over: bool) -> io::Result<Option<&Shared>> {
        let Some(path) = self.path.as_deref().filter(|_| takes_over) else {
            return Ok(self.current.as_ref());
        };
        if self.next.is_none() {
            self.next = Some(copy(path)?);
        }
        Ok(self.next.as_ref())
    }

    /// A reload is over: the new workers have taken over, or they haven't.
    pub(crate) fn decided(&mut self, taken_over: bool) {
        let next = self.next.take();
        if taken_over && next.is_some() {
            self.current = next;
        }
    }
}

fn copy(path: &Path) -> io::Result<Shared> {
    let explained = |why: io::Error| {
        let text = format!("{} can't be read: {why}", path.display());
        io::Error::new(io::ErrorKind::InvalidData, text)
    };
    let facts = fs::metadata(path).map_err(explained)?;
    if !facts.is_file() || facts.len() > BYTES_MAX {
        return Err(explained(io::Error::other(
            "it isn't a file of at most 16 MiB",
        )));
    }
    let bytes = fs::read(path).map_err(explained)?;
    let shared = Shared::create()?;
    shared.write(&bytes)?;
    Ok(shared)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_replaces_another_has_what_it_had_until_a_reload_is_over() {
        let path = std::env::temp_dir().join(format!("ringside-input-{}", std::process::id()));
        let put = |text: &str| fs::write(&path, text).expect("a file of our own");
        let text = |shared: io::Result<Option<&Shared>>| {
            let shared = shared.expect("it can be read").expect("there is one");
            String::from_utf8(shared.read().expect("it's whole")).expect("text")
        };
        put("one");
        let mut input = Input::read(Some(&path)).expect("it can be read");
        put("two");
        assert_eq!(text(input.for_worker(false)), "one");
        assert_eq!(text(input.for_worker(true)), "two");
        put("three");
        assert_eq!(
            text(input.for_worker(true)),
            "two",
            "all of them have the same"
        );
        assert_eq!(text(input.for_worker(false)), "one");
        input.decided(false);
        assert_eq!(text(input.for_worker(false)), "one");
        assert_eq!(text(input.for_worker(true)), "three");
        input.decided(true);
        assert_eq!(text(input.for_worker(false)), "three");
        fs::remove_file(&path).expect("it was there");
        let gone = input.for_worker(true).expect_err("it's gone").to_string();
        assert!(gone.contains("can't be read"), "{gone}");
        assert_eq!(text(input.for_worker(false)), "three");
    }

    #[test]
    fn without_a_file_there_is_nothing_to_give() {
        let mut input = Input::read(None).expect("nothing to read");
        assert!(input.for_worker(true).expect("nothing to read").is_none());
        input.decided(true);
        assert!(input.for_worker(false).expect("nothing to read").is_none());
    }
}

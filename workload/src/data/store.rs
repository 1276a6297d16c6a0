//! Where the bytes of a data file come from, and what goes wrong with it.

use std::fmt;
use std::fs::{self, File, Metadata};
use std::io::{self, ErrorKind};
use std::os::unix::fs::FileExt;
use std::path::Path;

use measure::foreign::{Foreign, screened};
use plan::Invalid;

/// A data file that can't be dealt from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    /// Where, as `FILE:LINE`, or `FILE` where it is no line's fault.
    pub at: String,
    /// What is wrong, and what to do.
    pub what: String,
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&screened(&format!("{}: {}", self.at, self.what)))
    }
}

impl std::error::Error for Broken {}

impl From<Broken> for Invalid {
    fn from(broken: Broken) -> Invalid {
        Invalid(broken.to_string())
    }
}

/// Bytes that can be read from anywhere, by several workers at once, and that stay as they are.
pub trait Store: fmt::Debug + Send + Sync {
    /// How many there are.
    fn length(&self) -> u64;

    /// Reads some from `offset`, as pread(2) does: zero at the end.
    fn read_at(&self, into: &mut [u8], offset: u64) -> io::Result<usize>;

    /// Whether they still are what they were at first, as far as that is cheap to know.
    fn is_unchanged(&self) -> io::Result<bool>;
}

/// A regular file.
#[derive(Debug)]
pub(super) struct OpenFile {
    file: File,
    metadata: Metadata,
}

impl OpenFile {
    /// Opens it. Whatever isn't a regular file isn't opened: a FIFO would wait for its writer.
    pub(super) fn open(path: &Path) -> Result<OpenFile, Broken> {
        let broken = |what: String| Broken {
            at: Foreign::new(path.display().to_string()).to_string(),
            what,
        };
        let unreadable = |error: io::Error| {
            let advice = match error.kind() {
                ErrorKind::PermissionDenied => "allow it with chmod +r, or give another file",
                _ => "give the path of a readable file",
            };
            broken(format!("can't read it: {error}; {advice}"))
        };
        let metadata = fs::metadata(path).map_err(unreadable)?;
        if metadata.is_dir() {
            return Err(broken(
                "it's a directory; give a file of rows in it".to_owned(),
            ));
        }
        if !metadata.is_file() {
            return Err(broken(
                "it isn't a regular file, and rows are read more than once; save them to one first"
                    .to_owned(),
            ));
        }
        let file = File::open(path).map_err(unreadable)?;
        let metadata = file.metadata().map_err(unreadable)?;
        Ok(OpenFile { file, metadata })
    }
}

impl Store for OpenFile {
    fn length(&self) -> u64 {
        self.metadata.len()
    }

    fn read_at(&self, into: &mut [u8], offset: u64) -> io::Result<usize> {
        self.file.read_at(into, offset)
    }

    fn is_unchanged(&self) -> io::Result<bool> {
        let now = self.file.metadata()?;
        let is_as_long = now.len() == self.metadata.len();
        Ok(is_as_long && now.modified()? == self.metadata.modified()?)
    }
}

/// What is wrong at a place of a file; its line is counted when it is told.
#[derive(Debug)]
pub(super) enum Fault {
    /// Something in the row that holds this byte.
    Row { offset: u64, what: String },
    /// The row from here on doesn't end.
    Endless { offset: u64 },
    /// The file, as a whole.
    File(String),
}

impl Fault {
    /// What a file says that isn't what it was.
    pub(super) fn changed() -> Fault {
        Fault::File(
            "it changed while rows were being read; leave it alone until the run ends, or replace \
             it by renaming a new file over it"
                .to_owned(),
        )
    }
}

/// A file with its name.
#[derive(Debug)]
pub(super) struct Source {
    store: Box<dyn Store>,
    /// As it stands in messages.
    name: String,
    /// How long it was when it was opened.
    length: u64,
}

impl Source {
    /// One of this name.
    pub(super) fn new(store: Box<dyn Store>, name: &str) -> Source {
        Source {
            length: store.length(),
            store,
            name: Foreign::new(name).to_string(),
        }
    }

    /// In bytes.
    pub(super) fn length(&self) -> u64 {
        self.length
    }

    /// Reads some bytes; that there are none is a fault.
    pub(super) fn read_at(&self, into: &mut [u8], offset: u64) -> Result<usize, Fault> {
        loop {
            match self.store.read_at(into, offset) {
                Ok(0) => return Err(Fault::changed()),
                Ok(count) => return Ok(count),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(Fault::File(format!("can't read it: {error}"))),
            }
        }
    }

    /// That it is what it was.
    pub(super) fn check(&self) -> Result<(), Fault> {
        match self.store.is_unchanged() {
            Ok(true) => Ok(()),
            Ok(false) => Err(Fault::changed()),
            Err(error) => Err(Fault::File(format!("can't look at it: {error}"))),
        }
    }

    /// A fault with its place. Counts the lines before it, which takes a moment in a long file, but
    /// no row has to carry its number for it.
    pub(super) fn broken(&self, fault: Fault) -> Broken {
        let (offset, what) = match fault {
            Fault::File(what) => {
                let at = self.name.clone();
                return Broken { at, what };
            }
            Fault::Row { offset, what } => (offset, what),
            Fault::Endless { offset } => (
                offset,
                "the row is longer than 1 MiB, the most that a row may have; is this a file of \
                 rows, one a line?"
                    .to_owned(),
            ),
        };
        let at = match self.line(offset) {
            Some(line) => format!("{}:{line}", self.name),
            None => self.name.clone(),
        };
        Broken { at, what }
    }

    /// The number of the line that holds the byte at `offset`.
    fn line(&self, offset: u64) -> Option<u64> {
        let (mut line, mut at) = (1, 0);
        let mut block = vec![0; 1 << 16];
        while at < offset {
            let wanted = (offset - at).min(block.len() as u64) as usize;
            let count = self.read_at(&mut block[..wanted], at).ok()?;
            let feeds = block[..count].iter().filter(|byte| **byte == b'\n');
            line += feeds.count() as u64;
            at += count as u64;
        }
        Some(line)
    }
}

/// Bytes in memory.
#[cfg(test)]
#[derive(Debug)]
pub(super) struct Memory(Vec<u8>);

#[cfg(test)]
impl Memory {
    pub(super) fn new(bytes: impl AsRef<[u8]>) -> Memory {
        Memory(bytes.as_ref().to_owned())
    }
}

#[cfg(test)]
impl Store for Memory {
    fn length(&self) -> u64 {
        self.0.len() as u64
    }

    fn read_at(&self, into: &mut [u8], offset: u64) -> io::Result<usize> {
        let rest = self.0.get(offset as usize..).unwrap_or_default();
        let count = rest.len().min(into.len());
        into[..count].copy_from_slice(&rest[..count]);
        Ok(count)
    }

    fn is_unchanged(&self) -> io::Result<bool> {
        Ok(true)
    }
}

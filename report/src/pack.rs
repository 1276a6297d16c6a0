//! All that was measured in one file: a folder of records, packed to be kept or sent, and read
//! wherever the folder is.
//!
//! A pack is a tar archive (POSIX.1-1988, ustar) compressed with xz (The .xz File Format 1.2.1), so
//! that `tar xf` opens it, too. Its first entry says which version of this format it is. Pages that
//! can be made again are left out, and so is the key under which secrets were hidden. A pack may
//! come from anybody: reading one writes nothing outside the folder made for it, whatever its
//! entries are called, and takes plain files only, so many and so much of them.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fmt;
use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::{Component, Path, PathBuf};

use lab::store::{CAPACITY, MANIFEST, SWEEP, Source, TRIALS};
use load::redaction::{KEY_FILE, guessed};
use load::{Signal, Stop};
use lzma_rust2::{XzOptions, XzReader, XzWriter};
use measure::foreign::Foreign;
use serde::{Deserialize, Serialize};
use tar::{Archive, Builder, EntryType, Header};
use tempfile::{NamedTempFile, TempDir};

use crate::pages::Page;

/// How the name of a pack ends.
const ENDING: &str = ".tar.xz";
/// The first entry, which says what the file is.
const LABEL: &str = "ringside-pack.json";
/// The version of the format, above which nothing is read.
const VERSION: u32 = 1;
/// How an xz file begins (The .xz File Format §2.1.1.1).
const MAGIC: [u8; 6] = *b"\xfd7zXZ\0";
/// How hard to compress, as of xz(1): with a dictionary of 8 MiB and some 100 MiB of memory.
const PRESET: u32 = 6;
/// The most memory that decompressing may take: that of the largest dictionary of xz(1), 64 MiB.
const MEMORY_KIB: u32 = 80 * 1024;
/// The record of held connections, in a folder of claims.
const HOLD: &str = "hold.json";
/// The record of a soak.
const SOAK: &str = "soak.json";
/// What a folder with records of ours holds, one of them at least.
const RECORDS: [&str; 6] = [MANIFEST, SWEEP, TRIALS, CAPACITY, HOLD, SOAK];
/// The most that one pack holds, its label included: no more is packed, and no more unpacked.
const LIMITS: Limits = Limits {
    files: 100_000,
    bytes: 4 << 30,
};

/// The most directories in one file. Nobody packs empty ones, so they cost a hostile pack nothing.
const FOLDERS_MAX: usize = 20_000;
/// The most parts of a path in it; ours have less than half as many.
const PARTS_MAX: usize = 12;

/// What a pack says of itself.
#[derive(Debug, Deserialize, Serialize)]
struct Label {
    /// The version of the format.
    ringside_pack: u32,
    /// The version of ringside that wrote it.
    ringside: String,
}

#[derive(Clone, Copy, Debug)]
struct Limits {
    files: u64,
    bytes: u64,
}

impl Limits {
    /// What is left of them after a file of this length; none if it is too much.
    fn after(self, bytes: u64) -> Option<Limits> {
        Some(Limits {
            files: self.files.checked_sub(1)?,
            bytes: self.bytes.checked_sub(bytes)?,
        })
    }
}

impl fmt::Display for Limits {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} files or {} GiB", self.files, self.bytes >> 30)
    }
}

/// What was packed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packed {
    /// The pack.
    pub file: PathBuf,
    /// How many files it holds.
    pub files: usize,
    /// Their length together.
    pub bytes: u64,
    /// The length of the pack.
    pub packed_bytes: u64,
    /// What was left out although it is neither a page nor the key, with the reasons.
    pub left_out: Vec<String>,
}

/// Packs what was measured in `folder` into one file: `file`, or the folder's name with `.tar.xz`.
/// The file appears whole or not at all, also where `stop` asks for the end before that.
///
/// # Errors
/// A sentence: the folder holds no records of ours, holds more than a pack does, or cannot be read;
/// or the file is there already or cannot be written.
pub fn pack(folder: &Path, file: Option<&Path>, stop: &Stop) -> Result<Packed, String> {
    pack_within(folder, file, LIMITS, stop)
}

fn pack_within(
    folder: &Path,
    file: Option<&Path>,
    limits: Limits,
    stop: &Stop,
) -> Result<Packed, String> {
    if !folder.is_dir() {
        return Err(format!(
            "there's no directory {}: give one written by ringside compare, capacity or claims",
            folder.display()
        ));
    }
    let file = match file {
        Some(file) => file.to_owned(),
        None => beside(folder)?,
    };
    if file.exists() {
        return Err(format!(
            "{} already exists; remove it, or choose another file with -o",
            file.display()
        ));
    }
    let mut found = Found::default();
    found.look(folder, Path::new(""))?;
    if !found.has_records {
        return Err(format!(
            "{} has nothing to pack: give a directory written by ringside compare, capacity or \
             claims",
            folder.display()
        ));
    }
    let mut folders = BTreeSet::new();
    for path in &found.files {
        if !fits(path, &mut folders) {
            return Err(format!("{}: {}", folder.display(), too_many_folders()));
        }
    }
    let bytes = written(folder, &file, &found.files, limits, stop)?;
    Ok(Packed {
        packed_bytes: fs::metadata(&file).map_or(0, |facts| facts.len()),
        file,
        files: found.files.len(),
        bytes,
        left_out: found.left_out,
    })
}

/// Where the pack of a folder goes if nobody says.
fn beside(folder: &Path) -> Result<PathBuf, String> {
    let whole = fs::canonicalize(folder);
    let whole = whole.map_err(|error| format!("{}: {error}", folder.display()))?;
    let name = whole
        .file_name()
        .ok_or("the root directory can't be packed")?;
    let mut name = name.to_owned();
    name.push(ENDING);
    Ok(match folder.file_name() {
        Some(_) => folder.with_file_name(name),
        None => whole.with_file_name(name),
    })
}

/// What is in a folder.
#[derive(Debug, Default)]
struct Found {
    /// Relative to it, in order.
    files: BTreeSet<PathBuf>,
    has_records: bool,
    left_out: Vec<String>,
}

impl Found {
    /// Looks through the folder `inside`.
    fn look(&mut self, folder: &Path, inside: &Path) -> Result<(), String> {
        let place = folder.join(inside);
        let named = |error: io::Error| format!("{}: {error}", shown_path(&place));
        for entry in place.read_dir().map_err(named)? {
            let entry = entry.map_err(named)?;
            let (kind, name) = (entry.file_type().map_err(named)?, entry.file_name());
            let path = inside.join(&name);
            if kind.is_dir() {
                self.look(folder, &path)?;
            } else if !kind.is_file() {
                let what = shown_path(&path);
                self.left_out.push(format!(
                    "{what}: not a regular file, and packs hold nothing else"
                ));
            } else if Header::new_ustar().set_path(&path).is_err() {
                self.left_out.push(format!(
                    "{}: the path is too long for a pack",
                    shown_path(&path)
                ));
            } else {
                self.take(path, &name);
            }
        }
        Ok(())
    }

    /// Takes in a plain file, or notes why not.
    fn take(&mut self, path: PathBuf, name: &OsStr) {
        let why = match Sort::of(name) {
            Sort::Wanted => {
                self.has_records |= RECORDS.iter().any(|record| name == *record);
                self.files.insert(path);
                return;
            }
            // Nobody misses these.
            Sort::Page | Sort::Key => return,
            Sort::HalfWritten => "only half written",
            Sort::Label => "this is the label of another pack; a pack has only its own",
        };
        self.left_out.push(format!("{}: {why}", shown_path(&path)));
    }
}

/// A path fit for a terminal, in one line: somebody else may have chosen the names in it.
fn shown_path(path: &Path) -> Foreign {
    Foreign::new(path.display().to_string())
}

/// What a file is, by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sort {
    Wanted,
    /// A page, which can be made again.
    Page,
    /// A key, or one that is being made.
    Key,
    /// What was being written when somebody was stopped.
    HalfWritten,
    /// A pack's label.
    Label,
}

impl Sort {
    fn of(name: &OsStr) -> Sort {
        // While it's made, a key has a name that begins like its own.
        if name.as_encoded_bytes().starts_with(KEY_FILE.as_bytes()) {
            Sort::Key
        } else if Page::ALL.iter().any(|page| name == page.file()) {
            Sort::Page
        } else if Path::new(name).extension() == Some("tmp".as_ref()) {
            Sort::HalfWritten
        } else if name == LABEL {
            Sort::Label
        } else {
            Sort::Wanted
        }
    }
}

/// Writes the pack, and returns how long the files in it are together.
fn written(
    folder: &Path,
    file: &Path,
    files: &BTreeSet<PathBuf>,
    limits: Limits,
    stop: &Stop,
) -> Result<u64, String> {
    let unwritable = |error: io::Error| match stop.requested() {
        Some(signal) => format!("{}: stopped by {signal}", file.display()),
        None => format!(
            "can't write {}: {error}; free some disk space, or choose another place with -o",
            file.display()
        ),
    };
    let parent = match file.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    };
    let beside = NamedTempFile::new_in(parent).map_err(unwritable)?;
    let options = XzOptions::with_preset(PRESET);
    let zipped = XzWriter::new(BufWriter::new(beside), options).map_err(unwritable)?;
    let mut archive = Builder::new(zipped);
    let label = serde_json::to_vec(&Label {
        ringside_pack: VERSION,
        ringside: env!("CARGO_PKG_VERSION").to_owned(),
    });
    let label = label.map_err(|error| format!("{LABEL}: {error}"))?;
    let too_much = || {
        format!(
            "{} has more than {limits}, the most a pack can hold: pack its directories one by one",
            folder.display()
        )
    };
    let mut left = limits.after(label.len() as u64).ok_or_else(too_much)?;
    append(&mut archive, Path::new(LABEL), &label, 0, stop).map_err(unwritable)?;
    let mut bytes = 0;
    for path in files {
        let place = folder.join(path);
        let named = |error: io::Error| format!("{}: {error}", shown_path(&place));
        let facts = fs::metadata(&place).map_err(named)?;
        // Looked at before it is read, since it may be larger than the memory, and again behind
        // that, since it may grow.
        left.after(facts.len()).ok_or_else(too_much)?;
        let read = fs::read(&place).map_err(named)?;
        left = left.after(read.len() as u64).ok_or_else(too_much)?;
        let read = shown(path, read);
        bytes += read.len() as u64;
        append(&mut archive, path, &read, modified(&facts), stop).map_err(unwritable)?;
    }
    let whole = archive
        .into_inner()
        .and_then(XzWriter::finish)
        .and_then(|buffered| buffered.into_inner().map_err(|error| error.into_error()))
        .map_err(unwritable)?;
    whole.as_file().sync_all().map_err(unwritable)?;
    let persisted = whole.persist_noclobber(file);
    persisted.map_err(|error| unwritable(error.error))?;
    open_to_readers(file).map_err(unwritable)?;
    Ok(bytes)
}

/// A file as it is packed: a log, which may quote what it was asked with, without what looks like a
/// secret. What is in records was hidden when they were written.
fn shown(path: &Path, bytes: Vec<u8>) -> Vec<u8> {
    if path.extension() != Some(OsStr::new("log")) {
        return bytes;
    }
    let text = String::from_utf8_lossy(&bytes);
    match guessed(&text) {
        Cow::Borrowed(_) => bytes,
        Cow::Owned(text) => text.into_bytes(),
    }
}

/// Whether a file's path is one that a pack may hold, with the directories that it takes.
fn fits(path: &Path, folders: &mut BTreeSet<PathBuf>) -> bool {
    let is_flat = path.components().count() <= PARTS_MAX;
    if is_flat {
        let above = path.ancestors().skip(1);
        let new = above.take_while(|folder| *folder != Path::new(""));
        folders.extend(new.map(Path::to_owned));
    }
    is_flat && folders.len() <= FOLDERS_MAX
}

/// A temporary file is its owner's alone; what is packed is to be passed on.
fn open_to_readers(file: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(file, fs::Permissions::from_mode(0o644))
}

/// When a file was last changed, in seconds since 1970; zero where that is not known.
fn modified(facts: &fs::Metadata) -> u64 {
    let since = facts
        .modified()
        .ok()
        .and_then(|at| at.duration_since(std::time::UNIX_EPOCH).ok());
    since.map_or(0, |since| since.as_secs())
}

fn append(
    archive: &mut Builder<impl Write>,
    path: &Path,
    bytes: &[u8],
    unix_seconds: u64,
    stop: &Stop,
) -> io::Result<()> {
    let mut header = Header::new_ustar();
    header.set_size(bytes.len() as u64);
    header.set_mode(0o644);
    header.set_mtime(unix_seconds);
    header.set_path(path)?;
    header.set_cksum();
    archive.append(&header, Stoppable { bytes, stop })
}

/// Bytes to be packed, which end in an error where somebody asks to stop.
struct Stoppable<'a> {
    bytes: &'a [u8],
    stop: &'a Stop,
}

impl Read for Stoppable<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.stop.requested() {
            Some(signal) => Err(io::Error::other(format!("stopped by {signal}"))),
            None => self.bytes.read(buffer),
        }
    }
}

/// Records to be read: those of a folder, or of a pack that was unpacked for as long as this lives.
#[derive(Debug)]
pub struct Records {
    source: Source,
    pages: PathBuf,
    unpacked: Option<TempDir>,
}

impl Records {
    /// The records at `path`: those of a pack, or else of a folder, which is looked at by whoever
    /// reads it. A folder that has only the pages of the pack beside it stands for that. Where
    /// `stop` asks for the end before a pack is unpacked, nothing of it stays behind.
    ///
    /// # Errors
    /// A sentence: the pack is cut short, newer than this program, or holds what no pack of ours
    /// holds; or there is no place to unpack it.
    pub fn open(path: &Path, stop: &Stop) -> Result<Records, String> {
        let pack = pack_of_pages(path);
        let path = pack.as_deref().unwrap_or(path);
        if !is_pack(path) {
            return Ok(Records {
                source: Source::of(path),
                pages: path.to_owned(),
                unpacked: None,
            });
        }
        let made = tempfile::Builder::new().prefix("ringside-").tempdir();
        let unpacked = made.map_err(|error| {
            let place = std::env::temp_dir();
            let place = place.display();
            format!(
                "can't create a directory in {place}: {error}; set TMPDIR to one with free space"
            )
        })?;
        unpack_within(path, unpacked.path(), LIMITS, stop)?;
        Ok(Records {
            source: Source::shown_as(unpacked.path().to_owned(), path.to_owned()),
            pages: without_ending(path),
            unpacked: Some(unpacked),
        })
    }

    /// Where they are read, and what messages call that.
    pub fn source(&self) -> &Source {
        &self.source
    }

    /// The folder in which they are read.
    pub fn folder(&self) -> &Path {
        self.source.path()
    }

    /// Where pages made of them go: into the folder, or, for a pack, into one beside it that has
    /// its name.
    pub fn pages(&self) -> &Path {
        &self.pages
    }

    /// Whether they came out of a pack.
    pub fn is_pack(&self) -> bool {
        self.unpacked.is_some()
    }

    /// Brings the pages that were made beside the records of a pack to where they go. Returns what
    /// cannot be written, with the reasons.
    pub fn bring_pages(&self) -> Vec<String> {
        let mut failed = Vec::new();
        if self.is_pack() {
            self.bring(Path::new(""), &mut failed);
        }
        failed
    }

    fn bring(&self, inside: &Path, failed: &mut Vec<String>) {
        let entries = self.folder().join(inside).read_dir();
        for entry in entries.into_iter().flatten().flatten() {
            let path = inside.join(entry.file_name());
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                self.bring(&path, failed);
            } else if Sort::of(&entry.file_name()) == Sort::Page {
                let place = self.pages.join(&path);
                let made = place.parent().map_or(Ok(()), fs::create_dir_all);
                let copied = made.and_then(|()| put(&entry.path(), &place));
                if let Err(error) = copied {
                    failed.push(format!("{}: {error}", shown_path(&place)));
                }
            }
        }
    }
}

/// Copies a file to a place, where it replaces what is there, be it a link.
fn put(file: &Path, place: &Path) -> io::Result<()> {
    let parent = place.parent().unwrap_or(Path::new("."));
    let mut beside = NamedTempFile::new_in(parent)?;
    io::copy(&mut File::open(file)?, &mut beside)?;
    beside.persist(place).map_err(|error| error.error)?;
    open_to_readers(place)
}

/// Whether there is a file at `path` that begins as packs do.
pub fn is_pack(path: &Path) -> bool {
    let mut begins = [0; MAGIC.len()];
    let is_file = fs::metadata(path).is_ok_and(|facts| facts.is_file());
    let mut read = |path| File::open(path).and_then(|mut file| file.read_exact(&mut begins));
    is_file && read(path).is_ok() && begins == MAGIC
}

/// The pack beside a folder of its name that holds nothing but files, as pages are.
fn pack_of_pages(folder: &Path) -> Option<PathBuf> {
    let mut name = folder.file_name()?.to_owned();
    name.push(ENDING);
    let pack = folder.with_file_name(name);
    let entries = fs::read_dir(folder).ok().filter(|_| is_pack(&pack))?;
    let is_file = |entry: fs::DirEntry| entry.file_type().is_ok_and(|kind| kind.is_file());
    let mut entries = entries.flatten();
    entries.all(is_file).then_some(pack)
}

/// Unpacks into a folder beside the pack that has its name, and returns it.
///
/// # Errors
/// A sentence: as of [`Records::open`], or the folder is there already.
pub fn unpack(path: &Path, stop: &Stop) -> Result<PathBuf, String> {
    let folder = without_ending(path);
    let named = |error: io::Error| match error.kind() {
        io::ErrorKind::AlreadyExists if folder.join(MANIFEST).is_file() => format!(
            "{} was unpacked before: use that directory, or remove it",
            folder.display()
        ),
        // Such as one with the pages that `ringside report` makes beside a pack.
        io::ErrorKind::AlreadyExists => format!(
            "{} is in the way: the pack is to be unpacked there, but it holds no comparison; \
             remove it (ringside report PACK makes its pages again) or move it away",
            folder.display()
        ),
        _ => format!("can't create {}: {error}", folder.display()),
    };
    fs::create_dir(&folder).map_err(named)?;
    if let Err(what) = unpack_within(path, &folder, LIMITS, stop) {
        // It was made here, and what is in it is part of something.
        let _ = fs::remove_dir_all(&folder);
        return Err(what);
    }
    Ok(folder)
}

/// The path of a pack without its ending.
fn without_ending(path: &Path) -> PathBuf {
    let name = path.file_name().and_then(OsStr::to_str).unwrap_or("pack");
    let stem = name.strip_suffix(ENDING);
    match stem.filter(|stem| !["", ".", ".."].contains(stem)) {
        Some(stem) => path.with_file_name(stem),
        None => path.with_file_name(format!("{name}.unpacked")),
    }
}

/// Unpacks into a folder that is there and empty.
fn unpack_within(path: &Path, folder: &Path, limits: Limits, stop: &Stop) -> Result<(), String> {
    let named = |what: String| format!("{}: {what}", path.display());
    let file = File::open(path).map_err(|error| named(error.to_string()))?;
    // No more than this is decompressed, headers and padding included.
    let most = limits.bytes + limits.files * 2048;
    let unzipped = XzReader::new_mem_limit(BufReader::new(file), false, MEMORY_KIB).take(most);
    let mut archive = Archive::new(unzipped);
    let mut left = limits;
    let mut folders = BTreeSet::new();
    let mut is_labelled = false;
    let entries = archive.entries().map_err(|error| named(broken(&error)))?;
    // As they stand: a name in an extension of the format may be as long as the file.
    for entry in entries.raw(true) {
        let mut entry = entry.map_err(|error| named(broken(&error)))?;
        let inside = inside(&entry).map_err(named)?;
        if !fits(&inside, &mut folders) {
            let what = too_many_folders();
            return Err(named(format!("{what}: don't trust this file")));
        }
        left = left
            .after(entry.size())
            .ok_or_else(|| named(too_much(limits)))?;
        if !is_labelled {
            let mut label = String::new();
            let read = entry.by_ref().take(4096).read_to_string(&mut label);
            read.map_err(|error| named(broken(&error)))?;
            check_label(&inside, &label).map_err(named)?;
            is_labelled = true;
            continue;
        }
        take(&mut entry, &folder.join(&inside), stop).map_err(|trouble| match trouble {
            Trouble::Stopped(signal) => named(format!("stopped by {signal}")),
            Trouble::Pack(error) => named(broken(&error)),
            Trouble::Twice => named(format!(
                "two of its files are called `{}`, or one is the other's directory: don't trust \
                 this file",
                shown_path(&inside)
            )),
            Trouble::Place(error) => format!(
                "can't unpack {} into {}: {error}; free some disk space, or set TMPDIR to a \
                 directory with enough",
                path.display(),
                folder.display()
            ),
        })?;
    }
    if !is_labelled {
        return Err(named(not_ours()));
    }
    // What follows the last entry is nothing, and behind that stands the checksum of all.
    let mut end = archive.into_inner();
    io::copy(&mut end, &mut io::sink()).map_err(|error| named(broken(&error)))?;
    let mut beyond = end.into_inner().into_inner();
    match beyond.read(&mut [0]) {
        Ok(0) => Ok(()),
        Ok(_) => Err(named(
            "goes on behind its end, which no pack does: don't trust this file".to_owned(),
        )),
        Err(error) => Err(named(broken(&error))),
    }
}

fn check_label(name: &Path, text: &str) -> Result<(), String> {
    if name != Path::new(LABEL) {
        return Err(not_ours());
    }
    let label: Label = serde_json::from_str(text).map_err(|_| not_ours())?;
    match label.ringside_pack {
        1..=VERSION => Ok(()),
        0 => Err("has format version 0, which no pack has: don't trust this file".to_owned()),
        version => Err(format!(
            "packed by ringside {} in format version {version}, but this ringside ({}) reads up to \
             {VERSION}: use a newer one",
            Foreign::new(label.ringside),
            env!("CARGO_PKG_VERSION")
        )),
    }
}

/// The path of a plain file inside the folder.
fn inside<R: Read>(entry: &tar::Entry<'_, R>) -> Result<PathBuf, String> {
    let bytes = entry.path_bytes();
    let name = String::from_utf8_lossy(&bytes);
    let shown = Foreign::new(name);
    let path = entry.path().map_err(|_| not_ours())?;
    let is_plain = entry.header().entry_type() == EntryType::Regular;
    if entry.header().entry_type() == EntryType::Directory {
        return Err(format!(
            "`{shown}` is a directory, which packs don't hold: another program made this archive; \
             unpack it, and give the directory"
        ));
    }
    if !is_plain {
        return Err(format!(
            "`{shown}` is a link or a device, but packs hold only regular files: \
             don't trust this file"
        ));
    }
    let mut parts = path.components().peekable();
    let stays = parts.peek().is_some() && parts.all(|part| matches!(part, Component::Normal(_)));
    if !stays {
        return Err(format!(
            "`{shown}` would be written outside its directory: don't trust this file"
        ));
    }
    let is_ours = path
        .file_name()
        .is_some_and(|name| matches!(Sort::of(name), Sort::Wanted | Sort::Label));
    if !is_ours {
        return Err(format!(
            "`{shown}` is a page or a key, which packs never hold: don't trust this file"
        ));
    }
    Ok(path.into_owned())
}

/// Why an entry was not taken: by what is read, by where it is written, or by a signal.
enum Trouble {
    Stopped(Signal),
    Pack(io::Error),
    /// Of two entries one is called like the other, or like its folder.
    Twice,
    Place(io::Error),
}

/// Writes an entry to a file that is not there yet.
fn take(entry: &mut impl Read, place: &Path, stop: &Stop) -> Result<(), Trouble> {
    let parent = place.parent().map_or(Ok(()), fs::create_dir_all);
    let mut file = parent
        .and_then(|()| File::create_new(place))
        .map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists
            | io::ErrorKind::NotADirectory
            | io::ErrorKind::IsADirectory => Trouble::Twice,
            _ => Trouble::Place(error),
        })?;
    let mut buffer = vec![0; 64 * 1024];
    loop {
        if let Some(signal) = stop.requested() {
            return Err(Trouble::Stopped(signal));
        }
        match entry.read(&mut buffer).map_err(Trouble::Pack)? {
            0 => return Ok(()),
            length => file.write_all(&buffer[..length]).map_err(Trouble::Place)?,
        }
    }
}

fn broken(error: &io::Error) -> String {
    // What is compressed is whole, and no archive.
    if error.to_string().contains("numeric field was not a number") {
        return not_ours();
    }
    format!("cut short or damaged ({error}); fetch it again, or pack it again")
}

fn not_ours() -> String {
    "not a ringside pack: `ringside pack DIR` makes one".to_owned()
}

fn too_many_folders() -> String {
    format!(
        "has more than {FOLDERS_MAX} directories, or one nested {PARTS_MAX} deep, which no pack \
         does"
    )
}

fn too_much(limits: Limits) -> String {
    format!("has more than {limits}, which no pack does: don't trust this file")
}

#[cfg(test)]
mod tests;

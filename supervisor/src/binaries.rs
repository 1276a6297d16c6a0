//! Which programs were measured: the started one and every executable of a build, by their SHA-256
//! (FIPS 180-4), so that two comparisons can be told to be of the same thing.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::{self, File, Metadata};
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::setting::find_program;

/// The most executables of one subject; a folder of packages may hold thousands of scripts.
const BINARIES_MAX: usize = 32;
/// How much is read at once.
const CHUNK_BYTES: usize = 1 << 16;

/// An executable file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Binary {
    /// Where it is: inside the build, or anywhere.
    pub path: PathBuf,
    /// Its length.
    pub bytes: u64,
    /// Its SHA-256 in hexadecimal digits.
    pub sha256: String,
}

/// The program that is started, and the executables of what was built into `build`, of which the
/// path says where in there they are. What cannot be read is left out: the subject itself will say
/// so when it is started.
pub fn binaries(program: &str, build: Option<&Path>) -> Vec<Binary> {
    let mut files: Vec<(PathBuf, PathBuf)> = Vec::new();
    if let Some(build) = build {
        list(build, build, &mut files);
        files.sort();
    }
    let started = find_program(program).and_then(|path| fs::canonicalize(path).ok());
    if let Some(path) = started
        && !files.iter().any(|(file, _)| *file == path)
    {
        files.insert(0, (path.clone(), path));
    }
    files.truncate(BINARIES_MAX);
    let read = |(file, name): (PathBuf, PathBuf)| {
        let facts = fs::metadata(&file).ok()?;
        Some(Binary {
            path: name,
            bytes: facts.len(),
            sha256: sha256(&file, &facts).ok()?,
        })
    };
    files.into_iter().filter_map(read).collect()
}

/// The program of the process `pid`: the very file that it was started from, even if another one
/// has its name by now (proc(5), /proc/PID/exe). None where it can't be read.
pub fn of_process(pid: u32) -> Vec<Binary> {
    let file = PathBuf::from(format!("/proc/{pid}/exe"));
    let read = || {
        let path = fs::read_link(&file).ok()?;
        let name = path.as_os_str().as_bytes();
        let name = name.strip_suffix(b" (deleted)").unwrap_or(name);
        let facts = fs::metadata(&file).ok()?;
        Some(Binary {
            path: PathBuf::from(OsStr::from_bytes(name)),
            bytes: facts.len(),
            sha256: sha256(&file, &facts).ok()?,
        })
    };
    read().into_iter().collect()
}

/// The SHA-256 of the program that is running: of the very file that it was started from, even if
/// another one has its name by now (proc(5), /proc/PID/exe).
pub fn own() -> Option<String> {
    let file = Path::new("/proc/self/exe");
    sha256(file, &fs::metadata(file).ok()?).ok()
}

/// Every executable below `folder`, with its path from `root`.
fn list(root: &Path, folder: &Path, files: &mut Vec<(PathBuf, PathBuf)>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        let Ok(facts) = fs::symlink_metadata(&path) else {
            continue;
        };
        if facts.is_dir() {
            list(root, &path, files);
        } else if facts.is_file() && facts.permissions().mode() & 0o111 != 0 {
            let name = path.strip_prefix(root).unwrap_or(&path).to_owned();
            files.push((path, name));
        }
    }
}

/// Device, inode, length and the time of the last change: a file that has them all is the same.
type Identity = (u64, u64, u64, i64, i64);

/// What was read before: rows of one comparison share programs, and so do the points of a sweep.
static KNOWN: Mutex<BTreeMap<Identity, String>> = Mutex::new(BTreeMap::new());

fn sha256(file: &Path, facts: &Metadata) -> io::Result<String> {
    let identity = (
        facts.dev(),
        facts.ino(),
        facts.len(),
        facts.ctime(),
        facts.ctime_nsec(),
    );
    let known = || KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(hash) = known().get(&identity) {
        return Ok(hash.clone());
    }
    let hash = hash(&mut File::open(file)?)?;
    known().insert(identity, hash.clone());
    Ok(hash)
}

fn hash(source: &mut impl Read) -> io::Result<String> {
    let mut hash = Sha256::new();
    let mut chunk = vec![0; CHUNK_BYTES];
    loop {
        match source.read(&mut chunk)? {
            0 => break,
            count => hash.update(&chunk[..count]),
        }
    }
    let digest = hash.finalize();
    Ok(digest.iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hash_is_the_published_one() {
        // FIPS 180-4, the example of one block: "abc".
        let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(hash(&mut &b"abc"[..]).expect("memory can be read"), abc);
    }

    #[test]
    fn the_program_of_a_process_is_named_by_what_it_was_started_from() {
        let found = of_process(std::process::id());
        let own_path = std::env::current_exe().expect("it was started from a file");
        let [found] = &found[..] else {
            panic!("{found:?}");
        };
        assert_eq!(found.path, own_path);
        assert_eq!(Some(&found.sha256), own().as_ref());
        assert_eq!(of_process(u32::MAX), []);
    }

    #[test]
    fn the_started_program_and_every_executable_of_a_build_are_named() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let folder = folder.path();
        fs::create_dir_all(folder.join("bin")).expect("a temporary folder");
        for (name, mode) in [("bin/server", 0o755), ("notes", 0o644)] {
            let path = folder.join(name);
            fs::write(&path, "abc").expect("writable");
            fs::set_permissions(&path, PermissionsExt::from_mode(mode)).expect("its own file");
        }
        let found = binaries("sh", Some(folder));
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].path.is_absolute());
        assert_eq!(found[1].path, Path::new("bin/server"));
        assert!(found[1].sha256.starts_with("ba7816bf"), "{found:?}");
        let own = folder.join("bin/server").display().to_string();
        assert_eq!(binaries(&own, Some(folder)).len(), 1, "it is named once");
    }
}

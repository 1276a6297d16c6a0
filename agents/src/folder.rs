//! Folders and files that are for this user alone: what is sent along with a load is nobody else's
//! business on a machine that several share. A folder whose owner was killed is removed by whoever
//! makes the next one of its kind.

use std::fs::{self, DirBuilder, File, Metadata, OpenOptions, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::{
    DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _,
};
use std::path::Path;

use rustix::fs::{FlockOperation, flock};
use rustix::process::geteuid;
use tempfile::TempDir;

/// Who may enter a folder, and open a file.
const FOLDER_MODE: u32 = 0o700;
pub(crate) const FILE_MODE: u32 = 0o600;
/// The file in a folder that its owner has locked.
pub(crate) const LOCK: &str = "lock";

/// A temporary folder. It's gone with this, or with the next one of its kind.
#[derive(Debug)]
pub(crate) struct Folder {
    /// Removed first, while it's still somebody's.
    folder: TempDir,
    /// Held as long as the folder is somebody's.
    _lock: File,
}

impl Folder {
    /// Makes one below another folder, with a name that begins so. Those are removed whose owners
    /// were killed, and couldn't do that.
    ///
    /// # Errors
    /// There's no place for one.
    pub(crate) fn make(below: &Path, prefix: &str) -> io::Result<Folder> {
        for entry in fs::read_dir(below)?.flatten() {
            let is_one = entry.file_name().to_string_lossy().starts_with(prefix);
            if is_one && is_left(&entry.path().join(LOCK)) {
                // If another one does, too, it's gone all the same.
                let _removed = fs::remove_dir_all(entry.path());
            }
        }
        let folder = tempfile::Builder::new()
            .prefix(prefix)
            .permissions(Permissions::from_mode(FOLDER_MODE))
            .tempdir_in(below)?;
        // It has its name only when it's locked: others look for that.
        let (early, path) = (folder.path().join("locked"), folder.path().join(LOCK));
        let lock = File::create(&early)?;
        flock(&lock, FlockOperation::NonBlockingLockExclusive)?;
        fs::rename(early, path)?;
        Ok(Folder {
            folder,
            _lock: lock,
        })
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }
}

/// Whether this is a lock of this user's that nobody holds any more.
fn is_left(lock: &Path) -> bool {
    let own = geteuid().as_raw();
    let is_ours = |of: Metadata| of.is_file() && of.uid() == own;
    let is_free = |lock: File| flock(&lock, FlockOperation::NonBlockingLockExclusive).is_ok();
    fs::symlink_metadata(lock).is_ok_and(is_ours) && File::open(lock).is_ok_and(is_free)
}

/// Makes a folder, and those that it's in, unless they're there.
///
/// # Errors
/// It can't be made.
pub(crate) fn make(path: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true).mode(FOLDER_MODE).create(path)
}

/// Writes a file.
///
/// # Errors
/// It can't be written.
pub(crate) fn write(path: &Path, content: impl AsRef<[u8]>) -> io::Result<()> {
    let mut options = OpenOptions::new();
    let options = options.write(true).create(true).truncate(true);
    let mut file = options.mode(FILE_MODE).open(path)?;
    file.write_all(content.as_ref())
}

#[cfg(test)]
mod tests {
    use super::*;

    const PREFIX: &str = "some-";

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn nobody_else_enters_a_folder_or_reads_a_file() {
        let place = tempfile::tempdir().unwrap();
        let folder = Folder::make(place.path(), PREFIX).unwrap();
        let (below, file) = (folder.path().join("a/b"), folder.path().join("a/b/c"));
        make(&below).unwrap();
        make(&below).unwrap();
        write(&file, "a key").unwrap();
        write(&file, "key").unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "key");
        assert_eq!(mode(&file), 0o600);
        for path in [folder.path(), &folder.path().join("a"), &below] {
            assert_eq!(mode(path), 0o700, "{}", path.display());
        }
    }

    #[test]
    fn what_somebody_killed_left_behind_is_removed_by_the_next_one() {
        let place = tempfile::tempdir().unwrap();
        let Folder {
            folder,
            _lock: lock,
        } = Folder::make(place.path(), PREFIX).unwrap();
        let left = folder.keep();
        let alive = Folder::make(place.path(), PREFIX).unwrap();
        assert!(left.is_dir(), "its owner is there");
        // The kernel does that when it ends a process.
        drop(lock);
        let _another = Folder::make(place.path(), PREFIX).unwrap();
        assert!(!left.exists() && alive.path().is_dir());
    }
}

//! The key of the hashes that stand in the place of secrets: 32 random bytes in a file that only
//! its owner may read, or in memory alone.

use std::collections::hash_map::RandomState;
use std::fs::{self, DirBuilder, File, Metadata, OpenOptions};
use std::hash::BuildHasher;
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

/// The name of a key's file. A leading dot: whoever copies what is listed leaves it behind.
pub const KEY_FILE: &str = ".redaction-key";

const KEY_BYTES: usize = 32;

/// What makes hashes of secrets. Never printed, never written anywhere but into its own file.
#[derive(Clone)]
pub(super) struct Key([u8; KEY_BYTES]);

impl Key {
    /// A new one.
    pub(super) fn random() -> Key {
        let mut bytes = [0; KEY_BYTES];
        let read = File::open("/dev/urandom").and_then(|mut file| file.read_exact(&mut bytes));
        if read.is_err() {
            // The standard library's own seeds, which it asks the kernel for.
            for (at, chunk) in bytes.chunks_mut(8).enumerate() {
                chunk.copy_from_slice(&RandomState::new().hash_one(at).to_le_bytes());
            }
        }
        Key(bytes)
    }

    /// The key that is kept in `folder`, which is made if it is not there.
    ///
    /// # Errors
    /// A file that cannot be written, or that others could have read or written.
    pub(super) fn in_folder(folder: &Path) -> io::Result<Key> {
        let path = folder.join(KEY_FILE);
        match read(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            found => return found,
        }
        let key = Key::random();
        // Under its name at once and whole, or not at all: two processes may make it together.
        let beside = folder.join(format!("{KEY_FILE}.{}", std::process::id()));
        let linked = write(&beside, &key.0).and_then(|()| fs::hard_link(&beside, &path));
        let removed = fs::remove_file(&beside);
        match linked {
            Ok(()) => removed.map(|()| key),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => read(&path),
            // A file system without links: the file itself, if nobody was quicker.
            Err(_) => match write(&path, &key.0) {
                Ok(()) => Ok(key),
                Err(error) if error.kind() == ErrorKind::AlreadyExists => read(&path),
                Err(error) => Err(error),
            },
        }
    }

    /// The key of the user who runs this: in `$XDG_STATE_HOME/ringside`, or in
    /// `~/.local/state/ringside`. None where neither can be had.
    pub(super) fn of_user() -> Option<Key> {
        let variable = |name| {
            let path = PathBuf::from(std::env::var_os(name)?);
            path.is_absolute().then_some(path)
        };
        let state = variable("XDG_STATE_HOME")
            .or_else(|| Some(variable("HOME")?.join(".local").join("state")))?;
        let folder = state.join("ringside");
        let made = DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&folder);
        made.ok()?;
        let facts = fs::metadata(&folder).ok()?;
        is_private(&facts).then(|| Key::in_folder(&folder).ok())?
    }

    /// The keyed hash of `bytes` (RFC 2104), in hexadecimal digits.
    pub(super) fn hash(&self, bytes: &[u8]) -> String {
        let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(&self.0) else {
            unreachable!("HMAC takes a key of any length")
        };
        mac.update(bytes);
        let hash = mac.finalize().into_bytes();
        hash.iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

/// Whether only this user may change it, and read it if it is a file.
fn is_private(facts: &Metadata) -> bool {
    // The owner of a process's own entry is its effective user (proc(5)).
    let user = fs::metadata("/proc/self").map(|own| own.uid());
    let others = if facts.is_dir() { 0o022 } else { 0o077 };
    user.is_ok_and(|user| user == facts.uid()) && facts.mode() & others == 0
}

fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut options = OpenOptions::new();
    let mut file = options
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)?;
    file.write_all(bytes)?;
    file.sync_data()
}

fn read(path: &Path) -> io::Result<Key> {
    let refused = |what: &str| Err(io::Error::other(what.to_owned()));
    if !fs::symlink_metadata(path)?.is_file() {
        return refused("the key isn't a regular file");
    }
    let file = File::open(path)?;
    if !is_private(&file.metadata()?) {
        return refused(
            "others can read the key, or it belongs to someone else: `chmod 600` it if it's yours",
        );
    }
    let mut bytes = Vec::new();
    file.take(KEY_BYTES as u64 + 1).read_to_end(&mut bytes)?;
    match bytes.try_into() {
        Ok(bytes) => Ok(Key(bytes)),
        Err(_) => refused("the key is damaged"),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn hashes_are_those_of_rfc_4231() {
        // Test case 2 of section 4.3, its key padded with zeros as RFC 2104 does by itself.
        let mut key = [0; KEY_BYTES];
        key[..4].copy_from_slice(b"Jefe");
        let expected = "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843";
        assert_eq!(Key(key).hash(b"what do ya want for nothing?"), expected);
    }

    #[test]
    fn a_key_is_kept_for_its_owner_alone() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        let first = Key::in_folder(folder).unwrap();
        let again = Key::in_folder(folder).unwrap();
        assert_eq!(first.0, again.0);
        assert_ne!(first.0, Key::random().0);
        let path = folder.join(KEY_FILE);
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
        assert_eq!(fs::read_dir(folder).unwrap().count(), 1);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        let refused = Key::in_folder(folder).err().unwrap().to_string();
        assert!(refused.contains("others can read"), "{refused}");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        fs::write(&path, b"short").unwrap();
        assert!(Key::in_folder(folder).is_err());
    }
}

//! Archives whose bytes follow from their entries: sorted, root's, and of one time.

use std::collections::BTreeMap;
use std::io::Write as _;

use flate2::{Compression, GzBuilder};
use tar::{Builder, EntryType, Header};

/// Files to be archived, by path.
#[derive(Default)]
pub(super) struct Archive {
    files: BTreeMap<String, (Vec<u8>, u32)>,
    /// What each path begins with: `./` in packages of Debian.
    prefix: &'static str,
}

impl Archive {
    /// An archive whose paths begin with `prefix`.
    pub(super) fn under(prefix: &'static str) -> Archive {
        Archive {
            prefix,
            ..Archive::default()
        }
    }

    /// Adds a file.
    pub(super) fn file(&mut self, path: &str, bytes: &[u8], mode: u32) {
        self.files.insert(path.to_owned(), (bytes.to_vec(), mode));
    }

    /// The archive, with an entry for each folder above a file, before it.
    pub(super) fn plain(&self, time: u64) -> Result<Vec<u8>, String> {
        let mut entries: BTreeMap<String, Option<&(Vec<u8>, u32)>> = BTreeMap::new();
        if !self.prefix.is_empty() {
            entries.insert(String::new(), None);
        }
        for (path, file) in &self.files {
            for (at, _) in path.match_indices('/') {
                entries.insert(path[..=at].to_owned(), None);
            }
            entries.insert(path.clone(), Some(file));
        }
        let mut builder = Builder::new(Vec::new());
        for (path, file) in entries {
            let (bytes, mode) = file.map_or((&[][..], 0o755), |(bytes, mode)| (bytes, *mode));
            let mut header = Header::new_ustar();
            header.set_entry_type(match file {
                Some(_) => EntryType::Regular,
                None => EntryType::Directory,
            });
            header.set_mode(mode);
            header.set_uid(0);
            header.set_gid(0);
            header.set_mtime(time);
            header.set_size(bytes.len() as u64);
            let path = format!("{}{path}", self.prefix);
            name(&mut header, &path)?;
            header.set_cksum();
            builder
                .append(&header, bytes)
                .map_err(|error| format!("{path}: can't be archived: {error}"))?;
        }
        builder
            .into_inner()
            .map_err(|error| format!("an archive can't be ended: {error}"))
    }

    /// The same, compressed.
    pub(super) fn zipped(&self, time: u64) -> Result<Vec<u8>, String> {
        zip(&self.plain(time)?)
    }
}

/// Names the entry exactly so. The library would take `./` away, which packages of Debian have.
fn name(header: &mut Header, path: &str) -> Result<(), String> {
    let field = header.as_ustar_mut().map(|header| &mut header.name[..]);
    let field = field.and_then(|field| field.get_mut(..path.len()));
    let field = field.ok_or_else(|| format!("{path}: has more than 100 bytes"))?;
    field.copy_from_slice(path.as_bytes());
    Ok(())
}

/// `bytes` as gzip, which says neither a name nor a time.
pub(super) fn zip(bytes: &[u8]) -> Result<Vec<u8>, String> {
    let mut encoder = GzBuilder::new()
        .mtime(0)
        .write(Vec::new(), Compression::best());
    let written = encoder.write_all(bytes).and_then(|()| encoder.finish());
    written.map_err(|error| format!("can't be compressed: {error}"))
}

//! Which places of the ring's file table are taken; or, without a table, none of that.

use super::ring::File;

/// Places in the file table.
#[derive(Debug)]
pub(super) struct Files {
    /// Whether there is a table. Without one a [`File`] is a descriptor of the process.
    direct: bool,
    /// Places below have been used before.
    used: u32,
    limit: u32,
    freed: Vec<u32>,
}

impl Files {
    /// A table of `limit` places.
    pub(super) fn direct(limit: u32) -> Files {
        Files {
            direct: true,
            used: 0,
            limit,
            freed: Vec::new(),
        }
    }

    /// No table: files are descriptors.
    pub(super) fn descriptors() -> Files {
        Files {
            direct: false,
            used: 0,
            limit: 0,
            freed: Vec::new(),
        }
    }

    /// Whether files are places in the table.
    pub(super) fn are_direct(&self) -> bool {
        self.direct
    }

    /// Takes a free place.
    pub(super) fn reserve(&mut self) -> Option<File> {
        if let Some(index) = self.freed.pop() {
            return Some(File(index));
        }
        (self.used < self.limit).then(|| {
            self.used += 1;
            File(self.used - 1)
        })
    }

    /// Where an accepted connection may go: `None` if nowhere, `Some(None)` if the kernel chooses a
    /// descriptor.
    pub(super) fn place_for_accept(&mut self) -> Option<Option<File>> {
        if self.direct {
            self.reserve().map(Some)
        } else {
            Some(None)
        }
    }

    /// Gives a place back, whose file has been closed.
    pub(super) fn release(&mut self, file: File) {
        if self.direct {
            self.freed.push(file.0);
        }
    }
}

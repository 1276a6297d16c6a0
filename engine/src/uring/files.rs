//! Which places of the ring's file table are taken; or, without a table, none of that.

use super::ring::File;

/// Places in the file table: one for each socket, and some more for accepts that are under way,
/// which have no slot yet and may not take one from the sockets.
#[derive(Debug)]
pub(super) struct Files {
    /// Whether there is a table. Without one a [`File`] is a descriptor of the process.
    direct: bool,
    /// Places below have been used before.
    used: u32,
    limit: u32,
    freed: Vec<u32>,
    /// Places that accepts hold, and may hold.
    accepting: u32,
    accepting_max: u32,
}

impl Files {
    /// A table of `limit` places, of which `sockets` are for sockets.
    pub(super) fn direct(limit: u32, sockets: u32) -> Files {
        let accepting_max = limit.saturating_sub(sockets);
        Files {
            direct: true,
            limit,
            accepting_max,
            ..Files::descriptors()
        }
    }

    /// No table: files are descriptors.
    pub(super) fn descriptors() -> Files {
        Files {
            direct: false,
            used: 0,
            limit: 0,
            freed: Vec::new(),
            accepting: 0,
            accepting_max: 0,
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
    pub(super) fn begin_accept(&mut self) -> Option<Option<File>> {
        if !self.direct {
            return Some(None);
        }
        if self.accepting == self.accepting_max {
            return None;
        }
        let place = self.reserve()?;
        self.accepting += 1;
        Some(Some(place))
    }

    /// Ends an accept into `place`. The place stays taken: by a connection, or until released.
    pub(super) fn end_accept(&mut self, place: Option<File>) {
        self.accepting -= u32::from(place.is_some());
    }

    /// Gives a place back, whose file has been closed.
    pub(super) fn release(&mut self, file: File) {
        if self.direct {
            self.freed.push(file.0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accepts_never_take_the_places_of_sockets() {
        let mut files = Files::direct(5, 3);
        let first = files.begin_accept().expect("a place");
        assert!(files.begin_accept().is_some());
        assert_eq!(files.begin_accept(), None, "the rest is for sockets");
        let sockets: Vec<_> = std::iter::from_fn(|| files.reserve()).collect();
        assert_eq!(sockets.len(), 3);
        // A socket ends, and a connection that was accepted takes its slot: one place for accepts.
        files.release(sockets[0]);
        files.end_accept(first);
        assert_eq!(files.begin_accept(), Some(Some(sockets[0])));
        assert_eq!(files.begin_accept(), None);
    }

    #[test]
    fn without_a_table_the_kernel_chooses() {
        let mut files = Files::descriptors();
        for _ in 0..100 {
            assert_eq!(files.begin_accept(), Some(None));
        }
        files.end_accept(None);
        files.release(File(3));
        assert_eq!(files.reserve(), None);
    }
}

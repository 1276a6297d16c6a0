//! Which places of the ring's file table are taken; or, without a table, none of that.

use super::ring::File;

/// Places that stay this driver's own at least when the kernel is given the others.
const OWN_MIN: u32 = 64;

/// With fewer places left than this, accepting pauses: a multishot accept that finds none has taken
/// its connection out of the backlog already, and drops it. One turn seldom brings as many.
const LEFT_MIN: u32 = 32;

/// A table with fewer places would have too few for the kernel to choose from.
pub(super) const PLACES_MIN: u32 = 2 * (OWN_MIN + LEFT_MIN);

/// Places in the file table. The lower ones are chosen here, for sockets that this driver makes.
/// Once it listens, the kernel chooses among the upper ones, for connections that it accepts.
#[derive(Debug)]
pub(super) struct Files {
    /// Whether there is a table. Without one a [`File`] is a descriptor of the process.
    direct: bool,
    /// Own places below have been used before.
    used: u32,
    freed: Vec<u32>,
    /// Places from here on are the kernel's to choose; the limit, if there are none.
    kernel_from: u32,
    kernel_taken: u32,
    /// Own places that are going to be needed, as far as anybody has said so.
    own_expected: u32,
    limit: u32,
}

impl Files {
    /// A table of `limit` places, all of them this driver's own.
    pub(super) fn direct(limit: u32) -> Files {
        Files {
            direct: true,
            kernel_from: limit,
            limit,
            ..Files::descriptors()
        }
    }

    /// No table: files are descriptors.
    pub(super) fn descriptors() -> Files {
        Files {
            direct: false,
            used: 0,
            freed: Vec::new(),
            kernel_from: 0,
            kernel_taken: 0,
            own_expected: 0,
            limit: 0,
        }
    }

    /// Whether files are places in the table.
    pub(super) fn are_direct(&self) -> bool {
        self.direct
    }

    /// So many own places are going to be needed, besides those that are taken.
    pub(super) fn expect_own(&mut self, sockets: usize) {
        self.own_expected = u32::try_from(sockets).unwrap_or(u32::MAX);
    }

    /// Leaves up to `sockets` places to the kernel, and says from where and how many it may choose.
    /// Where that would leave too few of its own, this driver keeps as many as are expected, up to
    /// half: whoever asks an upstream for each client needs as many of either. `None` if the kernel
    /// has been told, or where there is no table.
    pub(super) fn share(&mut self, sockets: u32) -> Option<(u32, u32)> {
        if !self.direct || self.kernel_from < self.limit {
            return None;
        }
        let room = LEFT_MIN.saturating_add(sockets);
        let own = self.own_expected.min(self.limit / 2).max(OWN_MIN);
        let first = self.limit.saturating_sub(room).max(self.used + own);
        self.kernel_from = first.min(self.limit);
        Some((self.kernel_from, self.limit - self.kernel_from))
    }

    /// Takes a free place of this driver's own.
    pub(super) fn reserve(&mut self) -> Option<File> {
        if let Some(index) = self.freed.pop() {
            return Some(File(index));
        }
        debug_assert!(
            !self.direct || self.used <= self.kernel_from,
            "own places reach into those that the kernel chooses"
        );
        (self.used < self.kernel_from).then(|| {
            self.used += 1;
            File(self.used - 1)
        })
    }

    /// Whether a connection that is accepted will find a place.
    pub(super) fn accepts_fit(&self) -> bool {
        !self.direct || self.limit - self.kernel_from >= self.kernel_taken + LEFT_MIN
    }

    /// How many more connections may be accepted, or could be if this driver listened.
    pub(super) fn room_to_accept(&self) -> usize {
        let left = match (self.direct, self.kernel_from < self.limit) {
            (false, _) => return usize::MAX,
            (true, true) => self.limit - self.kernel_from - self.kernel_taken,
            (true, false) => self.limit.saturating_sub(self.used + OWN_MIN),
        };
        left.saturating_sub(LEFT_MIN) as usize
    }

    /// How many more sockets this driver may make.
    pub(super) fn room_of_own(&self) -> usize {
        match self.direct {
            false => usize::MAX,
            true => self.freed.len() + (self.kernel_from - self.used) as usize,
        }
    }

    /// The kernel has put an accepted connection there.
    pub(super) fn accepted(&mut self, file: File) {
        debug_assert!(
            !self.direct || (self.kernel_from..self.limit).contains(&file.0),
            "the kernel chose place {}, which is not among its own",
            file.0
        );
        self.kernel_taken += u32::from(self.direct);
    }

    /// Gives a place back, whose file has been closed.
    pub(super) fn release(&mut self, file: File) {
        if self.direct && file.0 >= self.kernel_from {
            debug_assert!(self.kernel_taken > 0, "a place of the kernel's ended twice");
            self.kernel_taken -= 1;
        } else if self.direct {
            debug_assert!(
                file.0 < self.used && self.freed.len() < self.used as usize,
                "place {} is given back and was not taken",
                file.0
            );
            self.freed.push(file.0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_chooses_among_the_upper_places_and_never_meets_the_own_ones() {
        let mut files = Files::direct(1000);
        let listener = files.reserve();
        assert_eq!(listener, Some(File(0)));
        assert_eq!(files.share(400), Some((568, 432)));
        assert_eq!(files.share(400), None, "told once");
        let own: Vec<_> = std::iter::from_fn(|| files.reserve()).collect();
        assert_eq!(own.last(), Some(&File(567)));
        files.release(File(17));
        assert_eq!(files.reserve(), Some(File(17)));
    }

    #[test]
    fn own_places_that_are_expected_are_kept_up_to_half() {
        let share = |expected, limit, sockets| {
            let mut files = Files::direct(limit);
            files.expect_own(expected);
            files.share(sockets)
        };
        assert_eq!(share(4096, 1000, 990), Some((500, 500)));
        assert_eq!(share(300, 1000, 990), Some((300, 700)));
        assert_eq!(share(10, 1000, 990), Some((64, 936)), "the least there is");
        assert_eq!(share(300, 1000, 400), Some((568, 432)), "enough for both");
        assert_eq!(share(usize::MAX, PLACES_MIN, 190), Some((96, 96)));
    }

    #[test]
    fn accepting_pauses_before_the_places_run_out() {
        let mut files = Files::direct(200);
        assert_eq!(files.share(1000), Some((64, 136)));
        for index in 64..64 + 105 {
            assert!(files.accepts_fit(), "place {index}");
            files.accepted(File(index));
        }
        assert!(!files.accepts_fit(), "32 are left");
        files.release(File(100));
        assert!(files.accepts_fit());
    }

    #[test]
    fn without_a_table_the_kernel_chooses() {
        let mut files = Files::descriptors();
        assert_eq!(files.share(10), None);
        files.accepted(File(3));
        assert!(files.accepts_fit());
        files.release(File(3));
        assert_eq!(files.reserve(), None);
    }
}

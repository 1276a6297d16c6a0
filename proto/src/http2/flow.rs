//! Flow-control windows (RFC 9113 §5.2, §6.9).

/// The largest window.
pub(super) const WINDOW_MAX: u32 = u32::MAX >> 1;

/// The window of every stream and connection until it is told otherwise (RFC 9113 §6.9.2).
pub(super) const WINDOW_DEFAULT: u32 = 65_535;

/// Bytes that may still be sent in one direction. Settings can make it negative (RFC 9113 §6.9.2).
#[derive(Clone, Copy, Debug)]
pub(super) struct Window {
    left: i32,
}

impl Window {
    /// A window of `bytes`, at most [`WINDOW_MAX`].
    pub(super) fn new(bytes: u32) -> Window {
        debug_assert!(bytes <= WINDOW_MAX, "no window has {bytes} bytes");
        Window {
            left: bytes.min(WINDOW_MAX) as i32,
        }
    }

    /// Bytes that may be sent now.
    #[inline]
    pub(super) fn left(self) -> usize {
        self.left.max(0) as usize
    }

    /// Uses `bytes`; says whether there were so many.
    #[inline]
    pub(super) fn take(&mut self, bytes: u32) -> bool {
        let enough = bytes as usize <= self.left();
        if enough {
            self.left -= bytes as i32;
        }
        enough
    }

    /// Changes the window; says whether it stays within [`WINDOW_MAX`].
    pub(super) fn change(&mut self, by: i64) -> bool {
        match i32::try_from(i64::from(self.left) + by) {
            Ok(left) => {
                self.left = left;
                true
            }
            Err(_) => false,
        }
    }

    /// Fills the window up to `full` once no more than half is left; says by how much. So small
    /// messages share one WINDOW_UPDATE among thousands.
    #[inline]
    pub(super) fn refill(&mut self, full: u32) -> Option<u32> {
        debug_assert!(full <= WINDOW_MAX, "no window has {full} bytes");
        if self.left > (full / 2) as i32 {
            return None;
        }
        let by = i64::from(full) - i64::from(self.left);
        debug_assert!(by >= 0, "credit would be taken back");
        self.left = full as i32;
        // Nothing is due for a window of nothing; no window is further below zero than 2³¹ - 1.
        u32::try_from(by).ok().filter(|&by| by > 0)
    }
}

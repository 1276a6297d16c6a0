//! The receive buffers of one driver: one mapping, cut into equal buffers.
//!
//! A buffer is always in exactly one hand, and the type [`Spare`] is that hand: in the free list,
//! with the driver that fills it, with the kernel, or lent to the owner of the driver through
//! [`Completions`](crate::Completions). Whoever holds the `Spare` may touch the bytes.
//!
//! The pool is shared by `Rc` between the driver and the lists that lend, because a list may
//! outlive the driver, and gives its buffers back when it ends.
#![allow(unsafe_code)] // Buffers are handed out by number; this file keeps them apart.

use std::cell::RefCell;
use std::io;
use std::ptr::NonNull;
use std::rc::Rc;

/// Added to each buffer, so that their first bytes do not all fall into the same few sets of the
/// processor's caches, as they would with a power of two between them.
const STAGGER_BYTES: usize = 128;

/// The memory of all buffers, and which of them are free.
#[derive(Debug)]
pub(crate) struct Pool {
    base: NonNull<u8>,
    buffers: usize,
    buffer_bytes: usize,
    /// Last in, first out: the buffer used last is still in the cache.
    free: RefCell<Vec<u16>>,
}

/// The right to one buffer of one pool. Not `Clone`: there is one for each buffer.
#[derive(Debug, PartialEq, Eq)]
#[must_use = "a buffer that is dropped is lost to its pool"]
pub(crate) struct Spare {
    id: u16,
}

impl Spare {
    /// The number of the buffer, by which the kernel knows it.
    pub(crate) fn id(&self) -> u16 {
        self.id
    }
}

impl Pool {
    /// Maps `buffers` buffers of `buffer_bytes` each; pages that are never used cost nothing.
    ///
    /// # Errors
    ///
    /// What mmap(2) says, or `EINVAL` for more than 32,768 buffers, none, or empty ones.
    pub(crate) fn new(buffers: usize, buffer_bytes: usize) -> io::Result<Rc<Pool>> {
        let stride = buffer_bytes.saturating_add(STAGGER_BYTES);
        let sized = stride
            .checked_mul(buffers)
            .filter(|_| (1..=32_768).contains(&buffers));
        let Some(bytes) = sized.filter(|_| buffer_bytes > 0 && buffer_bytes <= i32::MAX as usize)
        else {
            return Err(io::Error::from_raw_os_error(libc::EINVAL));
        };
        // SAFETY: a new anonymous mapping at a place of the kernel's choice aliases nothing.
        let address = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                bytes,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
                -1,
                0,
            )
        };
        if address == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let base = NonNull::new(address.cast()).ok_or_else(io::Error::last_os_error)?;
        let free = RefCell::new((0..=(buffers - 1) as u16).rev().collect());
        Ok(Rc::new(Pool {
            base,
            buffers,
            buffer_bytes,
            free,
        }))
    }

    /// How many buffers there are.
    pub(crate) fn buffers(&self) -> usize {
        self.buffers
    }

    /// Bytes in each.
    pub(crate) fn buffer_bytes(&self) -> usize {
        self.buffer_bytes
    }

    /// A free buffer, the one used last if possible.
    pub(crate) fn take(&self) -> Option<Spare> {
        self.free.borrow_mut().pop().map(|id| Spare { id })
    }

    /// Makes buffers free again.
    pub(crate) fn give_back(&self, spares: impl Iterator<Item = Spare>) {
        let mut free = self.free.borrow_mut();
        free.extend(spares.map(|spare| spare.id));
        debug_assert!(
            free.len() <= self.buffers,
            "{} of {} buffers are free: one was given back twice",
            free.len(),
            self.buffers
        );
    }

    /// Takes over the buffer `id` from the kernel, which has chosen it.
    ///
    /// # Safety
    ///
    /// The `Spare` of this buffer was given up to the kernel, which has reported it used.
    pub(crate) unsafe fn claim(&self, id: u16) -> Spare {
        assert!(
            (id as usize) < self.buffers,
            "the kernel names buffer {id}, and the pool has {}",
            self.buffers
        );
        Spare { id }
    }

    /// Where the buffer begins. Valid for [`Pool::buffer_bytes`] as long as the pool lives.
    #[inline]
    pub(crate) fn address(&self, spare: &Spare) -> *mut u8 {
        debug_assert!(
            (spare.id as usize) < self.buffers,
            "buffer {} is of another pool",
            spare.id
        );
        let offset = spare.id as usize * (self.buffer_bytes + STAGGER_BYTES);
        // SAFETY: ids are below `buffers`, so the offset lies in the mapping of `new`.
        unsafe { self.base.as_ptr().add(offset) }
    }

    /// The buffer, to read.
    #[inline]
    pub(crate) fn bytes<'a>(&'a self, spare: &'a Spare) -> &'a [u8] {
        // SAFETY: the mapping is zeroed, lives as long as `self`, and the buffer belongs to the
        // holder of `spare`, who shares it for `'a`.
        unsafe { std::slice::from_raw_parts(self.address(spare), self.buffer_bytes) }
    }

    /// The buffer, to fill.
    #[inline]
    pub(crate) fn bytes_mut<'a>(&'a self, spare: &'a mut Spare) -> &'a mut [u8] {
        // SAFETY: as in `bytes`; the holder of `spare` gives it up alone for `'a`.
        unsafe { std::slice::from_raw_parts_mut(self.address(spare), self.buffer_bytes) }
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        let bytes = self.buffers * (self.buffer_bytes + STAGGER_BYTES);
        // SAFETY: the mapping is this pool's, and the last `Rc` is gone, so no list lends from it;
        // a driver whose kernel might still write keeps its `Rc`.
        unsafe { libc::munmap(self.base.as_ptr().cast(), bytes) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_do_not_overlap() {
        let pool = Pool::new(3, 100).expect("memory");
        let mut spares: Vec<Spare> = std::iter::from_fn(|| pool.take()).collect();
        assert_eq!(spares.len(), 3);
        for (value, spare) in (1..).zip(&mut spares) {
            pool.bytes_mut(spare).fill(value);
        }
        for (value, spare) in (1..).zip(&spares) {
            assert!(pool.bytes(spare).iter().all(|&byte| byte == value));
        }
    }

    #[test]
    fn the_buffer_given_back_last_is_taken_first() {
        let pool = Pool::new(8, 64).expect("memory");
        let (first, second) = (pool.take().expect("free"), pool.take().expect("free"));
        let id = second.id();
        pool.give_back([first, second].into_iter());
        assert_eq!(pool.take().map(|spare| spare.id()), Some(id));
    }

    #[test]
    fn sizes_that_cannot_be_are_refused() {
        assert!(Pool::new(0, 64).is_err());
        assert!(Pool::new(32_769, 64).is_err());
        assert!(Pool::new(1, 0).is_err());
        assert!(Pool::new(32_768, usize::MAX).is_err());
    }
}

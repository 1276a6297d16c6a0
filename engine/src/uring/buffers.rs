//! The ring of receive buffers: the part of the pool that the kernel may fill at the moment.
//!
//! The kernel takes buffers in the order in which they were given, so it walks through all that it
//! has. It is therefore given few at first, the same ones again and again, which stay in the cache
//! and are the only pages of the pool that ever get touched. When a turn uses up more than half of
//! them, or a socket finds none, their number doubles until it is the whole pool.
#![allow(unsafe_code)] // The ring of entries is shared with the kernel.

use std::io;
use std::ptr::NonNull;
use std::rc::Rc;
use std::sync::atomic::{AtomicU16, Ordering};

use io_uring::types::BufRingEntry;
use rustix::io::Errno;

use super::ring::{Ring, Used};
use crate::pool::{Pool, Spare};

/// How many buffers the kernel is given at first.
const WINDOW_MIN: usize = 64;

/// Buffers on their way: from the pool to the kernel and, filled, back.
pub(super) struct ReceiveBuffers {
    pool: Rc<Pool>,
    /// `struct io_uring_buf_ring`: as many entries as the pool has buffers.
    entries: NonNull<BufRingEntry>,
    mask: u16,
    tail: u16,
    /// How many the kernel holds.
    given: usize,
    /// How many it should hold.
    window: usize,
    /// How many it has used since the last refill.
    used: usize,
    /// Whether it has run out of them since then.
    ran_out: bool,
}

impl ReceiveBuffers {
    /// Registers a ring with `ring` for the buffers of `pool`, whose number is a power of two.
    ///
    /// # Errors
    ///
    /// What mmap(2) or io_uring_register(2) says; `EINVAL` from kernels without it.
    pub(super) fn new(ring: &Ring, pool: Rc<Pool>) -> Result<ReceiveBuffers, Errno> {
        let count = pool.buffers();
        assert!(
            count.is_power_of_two(),
            "places in the kernel's ring are found by a mask, and {count} is no power of two"
        );
        // SAFETY: a new anonymous mapping at a place of the kernel's choice aliases nothing.
        let address = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                bytes_of(count),
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
                -1,
                0,
            )
        };
        let entries = (address != libc::MAP_FAILED)
            .then(|| NonNull::new(address.cast()))
            .flatten();
        let Some(entries) = entries else {
            let error = io::Error::last_os_error();
            return Err(Errno::from_io_error(&error).unwrap_or(Errno::NOMEM));
        };
        let window = WINDOW_MIN.min(count);
        let mask = (count - 1) as u16;
        let buffers = ReceiveBuffers {
            pool,
            entries,
            mask,
            tail: 0,
            given: 0,
            window,
            used: 0,
            ran_out: false,
        };
        // SAFETY: the mapping is page-aligned, of the right size, and unmapped in `drop`. The
        // kernel pins its pages, so it keeps them even should the ring end later than that.
        unsafe { ring.register_buffers(address as u64, count as u16) }?;
        Ok(buffers)
    }

    /// The pool that the buffers come from.
    pub(super) fn pool(&self) -> &Rc<Pool> {
        &self.pool
    }

    /// Gives the kernel what it lacks, with one store for all. Says whether it has any now.
    #[inline]
    pub(super) fn refill(&mut self) -> bool {
        if self.ran_out || self.used * 2 > self.window {
            self.window = (self.window * 2).min(self.pool.buffers());
        }
        (self.used, self.ran_out) = (0, false);
        if self.given < self.window {
            self.give();
        }
        self.given > 0
    }

    /// Takes over a buffer that the kernel has filled.
    #[inline]
    pub(super) fn take(&mut self, used: Used) -> Spare {
        debug_assert!(self.given > 0, "the kernel used a buffer it was not given");
        self.given -= 1;
        self.used += 1;
        // SAFETY: the kernel had the buffer from `give`, and a `Used` comes from its completion.
        unsafe { self.pool.claim(used.id()) }
    }

    /// Notes that a socket has found none.
    pub(super) fn note_none(&mut self) {
        self.ran_out = true;
    }

    fn give(&mut self) {
        while self.given < self.window {
            let Some(spare) = self.pool.take() else { break };
            let address = self.pool.address(&spare);
            // SAFETY: the index is masked to the ring. Only this thread writes entries, and the
            // kernel reads none beyond the tail, which is published below. The fields are set one
            // by one because the tail lies in the unused part of the first entry.
            let entry = unsafe { self.entries.add((self.tail & self.mask) as usize).as_mut() };
            entry.set_addr(address as u64);
            entry.set_len(self.pool.buffer_bytes() as u32);
            entry.set_bid(spare.id());
            self.tail = self.tail.wrapping_add(1);
            self.given += 1;
        }
        debug_assert!(
            self.given <= self.pool.buffers(),
            "the kernel was given a buffer twice"
        );
        // SAFETY: the entries are mapped, and the kernel reads the tail as an atomic too.
        unsafe {
            let tail = BufRingEntry::tail(self.entries.as_ptr());
            AtomicU16::from_ptr(tail.cast_mut()).store(self.tail, Ordering::Release);
        }
    }
}

impl Drop for ReceiveBuffers {
    fn drop(&mut self) {
        let bytes = bytes_of(self.pool.buffers());
        // SAFETY: the mapping is this one's, and nothing but `self` pointed into it.
        unsafe { libc::munmap(self.entries.as_ptr().cast(), bytes) };
    }
}

fn bytes_of(entries: usize) -> usize {
    entries * size_of::<BufRingEntry>()
}

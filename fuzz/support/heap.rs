//! How much memory a piece of code has at its peak, counted by the allocator itself: a machine's
//! own account of its memory could be as wrong as the machine.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

struct Counting;

thread_local! {
    /// Bytes that this thread has allocated and not given back, and the most there ever were.
    /// Const-initialised, so that counting allocates nothing.
    static BYTES: Cell<isize> = const { Cell::new(0) };
    static PEAK: Cell<isize> = const { Cell::new(0) };
}

/// How many bytes `work` has allocated at its peak beyond those that were there before.
pub(crate) fn peak_bytes<T>(work: impl FnOnce() -> T) -> (T, usize) {
    let before = BYTES.get();
    PEAK.set(before);
    let done = work();
    (done, (PEAK.get() - before) as usize)
}

fn count(bytes: isize) {
    // A thread that ends has no counter any more, and nobody to ask for it.
    let _ = BYTES.try_with(|sum| sum.set(sum.get() + bytes));
    let _ = PEAK.try_with(|peak| peak.set(peak.get().max(BYTES.get())));
}

// SAFETY: every call goes on to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as isize);
        // SAFETY: the caller's promises are handed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count(-(layout.size() as isize));
        // SAFETY: the caller's promises are handed on.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        count(bytes as isize - layout.size() as isize);
        // SAFETY: the caller's promises are handed on.
        unsafe { System.realloc(pointer, layout, bytes) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

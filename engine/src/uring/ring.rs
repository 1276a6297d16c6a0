//! The ring itself: setting it up, queueing operations, entering the kernel, taking completions.
//!
//! Knows operations and files, no sockets and no contract of the driver. Operations that carry no
//! pointer are safe functions; the two that do say who has to keep the memory alive.
#![allow(unsafe_code)] // The ring is shared with the kernel.

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, RawFd};
use std::ptr;

use io_uring::squeue::Flags;
use io_uring::types::{CancelBuilder, DestinationSlot, Fd, Fixed};
use io_uring::{EnterFlags, IoUring, cqueue, opcode, squeue};
use measure::time::Time;
use rustix::io::Errno;
use rustix::net::SocketAddrAny;

use super::features::Features;
use crate::driver::Until;
use crate::features::Feature;

/// Submission entries. Few, because the ring is walked round and round and shall stay in the first
/// cache; a turn that has more to submit makes one more system call for each so many.
const SUBMISSIONS: u32 = 256;

/// The group number of the one ring of receive buffers.
pub(super) const BUFFER_GROUP: u16 = 0;

/// Values from `linux/io_uring.h` that the crate keeps to itself.
const RECVSEND_POLL_FIRST: u16 = 1;
const RECV_MULTISHOT: u16 = 2;
const REGISTER_RING_FDS: libc::c_long = 20;
const UNREGISTER_RING_FDS: libc::c_long = 21;
const REGISTER_FILE_ALLOC_RANGE: libc::c_long = 25;

/// What `SO_LINGER` is set to for a reset (socket(7)). Static, as the kernel reads it later.
static NO_LINGER: libc::linger = libc::linger {
    l_onoff: 1,
    l_linger: 0,
};

/// A file as operations name it: an index into the ring's own table, or a descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct File(pub(super) u32);

/// Names a receive buffer that the kernel has just given up. Only [`Ring::take`] makes one.
#[derive(Debug)]
pub(super) struct Used {
    id: u16,
}

impl Used {
    /// The number of the buffer.
    pub(super) fn id(&self) -> u16 {
        self.id
    }
}

/// One completion, as the kernel wrote it.
#[derive(Debug)]
pub(super) struct Completed {
    /// What the operation was tagged with.
    pub(super) tag: u64,
    /// A length, zero, or a negated errno.
    pub(super) result: i32,
    /// The receive buffer that it filled.
    pub(super) buffer: Option<Used>,
    /// Whether more completions of the same operation follow.
    pub(super) more: bool,
}

/// An io_uring with the rules of this driver.
pub(super) struct Ring {
    io: IoUring,
    /// The descriptor of the ring, or its number among the rings registered by this thread.
    enter_descriptor: RawFd,
    enter_flags: u32,
    absolute_time: bool,
    /// Whether files are named by index ([`Flags::FIXED_FILE`]).
    file_flags: Flags,
    /// Whether operations wait for the next enter, and aren't submitted one by one.
    batching: bool,
    /// Whether accepts and receives complete many times.
    multishot: bool,
    /// Whether what succeeds may complete nothing.
    skips_success: bool,
    /// What did not fit while the kernel refused to take submissions. Almost always empty.
    backlog: VecDeque<squeue::Entry>,
    enters: u64,
}

/// `struct io_uring_getevents_arg` (io_uring_enter(2)).
#[repr(C)]
struct EventsArgument {
    signal_mask: u64,
    signal_mask_bytes: u32,
    minimum_wait_us: u32,
    time: u64,
}

/// `struct io_uring_rsrc_update` (io_uring_register(2)).
#[repr(C)]
struct RingUpdate {
    offset: u32,
    reserved: u32,
    data: u64,
}

/// `struct io_uring_file_index_range` (io_uring_register(2)).
#[repr(C)]
struct FileRange {
    offset: u32,
    length: u32,
    reserved: u64,
}

/// `struct __kernel_timespec`.
#[repr(C)]
struct KernelTime {
    seconds: i64,
    nanoseconds: i64,
}

impl Ring {
    /// Sets a ring up with every flag that this kernel takes, and notes those that it does not.
    ///
    /// # Errors
    ///
    /// What io_uring_setup(2) says to the plainest request.
    pub(super) fn new(completions: u32, features: &mut Features) -> Result<Ring, Errno> {
        let io = set_up(completions, features)?;
        let mut enter_flags = 0;
        if features.note(Feature::NoIowait, io.params().is_feature_no_iowait()) {
            enter_flags |= EnterFlags::NO_IOWAIT.bits();
        }
        let mut ring = Ring {
            enter_descriptor: io.as_raw_fd(),
            io,
            enter_flags,
            absolute_time: false,
            file_flags: Flags::empty(),
            // Every kernel of use has these (6.1 and newer).
            batching: features.note(Feature::Batching, true),
            multishot: features.note(Feature::Multishot, true),
            skips_success: features.note(Feature::SkipSuccess, true),
            backlog: VecDeque::new(),
            enters: 0,
        };
        let registered =
            features.allows(Feature::RegisteredRing) && ring.register_descriptor().is_ok();
        features.note(Feature::RegisteredRing, registered);
        let absolute = !has_own_time() && ring.takes_absolute_time();
        ring.absolute_time = features.note(Feature::AbsoluteTimer, absolute);
        Ok(ring)
    }

    /// From here on, files are named by index into a table of `entries`, which are empty yet.
    pub(super) fn register_file_table(&mut self, entries: u32) -> Result<(), Errno> {
        self.io
            .submitter()
            .register_files_sparse(entries)
            .map_err(errno)?;
        self.file_flags = Flags::FIXED_FILE;
        Ok(())
    }

    /// Empties the table, which closes the files that no operation uses.
    pub(super) fn unregister_file_table(&mut self) -> Result<(), Errno> {
        self.file_flags = Flags::empty();
        self.io.submitter().unregister_files().map_err(errno)
    }

    /// Puts a copy of `descriptor` into the table. Happens at once, not in the order of submission.
    pub(super) fn set_file(&self, index: u32, descriptor: RawFd) -> Result<(), Errno> {
        let updated = self
            .io
            .submitter()
            .register_files_update(index, &[descriptor]);
        updated.map(drop).map_err(errno)
    }

    /// Has the kernel write to `eventfd` when an enter is worth it, unless it's told not to.
    pub(super) fn register_eventfd(&self, eventfd: BorrowedFd<'_>) -> Result<(), Errno> {
        let registered = self.io.submitter().register_eventfd(eventfd.as_raw_fd());
        registered.map_err(errno)
    }

    /// Whether the kernel writes to the eventfd, if there is one (`IORING_CQ_EVENTFD_DISABLED`).
    pub(super) fn set_notified(&mut self, notified: bool) {
        let queue = self.io.completion();
        if notified {
            queue.enable_eventfd();
        } else {
            queue.disable_eventfd();
        }
    }

    /// Makes `entries` entries at `memory` the ring of receive buffers.
    ///
    /// # Safety
    ///
    /// `memory` is page-aligned, holds as many `io_uring_buf`, and outlives the ring.
    pub(super) unsafe fn register_buffers(&self, memory: u64, entries: u16) -> Result<(), Errno> {
        // SAFETY: passed on to the caller.
        let registered = unsafe {
            self.io
                .submitter()
                .register_buf_ring_with_flags(memory, entries, BUFFER_GROUP, 0)
        };
        registered.map_err(errno)
    }

    /// Lets the kernel choose places of accepted connections out of `count` from `first` on.
    pub(super) fn let_kernel_choose(&self, first: u32, count: u32) -> Result<(), Errno> {
        let mut range = FileRange {
            offset: first,
            length: count,
            reserved: 0,
        };
        // SAFETY: the operation reads a range, and takes no number of them.
        unsafe { self.register(REGISTER_FILE_ALLOC_RANGE, &mut range, 0) }.map(drop)
    }

    /// Accepts connections, again and again, into the table or as new descriptors.
    pub(super) fn accept(&mut self, listener: File, tag: u64) {
        let direct = !self.file_flags.is_empty();
        // With a place in the table, SOCK_CLOEXEC is refused; there is nothing to inherit there.
        let flags = if direct { 0 } else { libc::SOCK_CLOEXEC };
        let listener = Fd(listener.0 as RawFd);
        let accept = if self.multishot {
            let accept = opcode::AcceptMulti::new(listener);
            accept.allocate_file_index(direct).flags(flags).build()
        } else {
            let accept = opcode::Accept::new(listener, ptr::null_mut(), ptr::null_mut());
            let place = direct.then(DestinationSlot::auto_target);
            accept.file_index(place).flags(flags).build()
        };
        self.push_on_file(accept, tag);
    }

    /// Accepts one connection, and has the kernel write where its peer is.
    ///
    /// # Safety
    ///
    /// `name` and `length`, which says how much room there is, stay where they are until the
    /// operation has ended, and nobody reads or writes them before.
    pub(super) unsafe fn accept_named(
        &mut self,
        listener: File,
        (name, length): (*mut libc::sockaddr, *mut libc::socklen_t),
        tag: u64,
    ) {
        let direct = !self.file_flags.is_empty();
        let accept = opcode::Accept::new(Fd(listener.0 as RawFd), name, length)
            .file_index(direct.then(DestinationSlot::auto_target))
            .flags(if direct { 0 } else { libc::SOCK_CLOEXEC })
            .build();
        self.push_on_file(accept, tag);
    }

    /// Receives into buffers of the group, again and again. `poll_first` says that the socket is
    /// known to be empty, or that there may be no buffer now: wait before trying.
    pub(super) fn receive(&mut self, file: File, poll_first: bool, tag: u64) {
        let first = if poll_first { RECVSEND_POLL_FIRST } else { 0 };
        let again = if self.multishot { RECV_MULTISHOT } else { 0 };
        let receive = opcode::Recv::new(Fd(file.0 as RawFd), ptr::null_mut(), 0)
            .ioprio(again | first)
            .buf_group(BUFFER_GROUP)
            .build()
            .flags(Flags::BUFFER_SELECT);
        self.push_on_file(receive, tag);
    }

    /// Connects.
    ///
    /// # Safety
    ///
    /// `to` stays where it is until the kernel has taken the submission ([`Ring::queued`] is zero).
    pub(super) unsafe fn connect(&mut self, file: File, to: *const SocketAddrAny, tag: u64) {
        // SAFETY: the caller keeps `to` alive.
        let (address, length) = unsafe { ((*to).as_ptr(), (*to).addr_len()) };
        let connect = opcode::Connect::new(Fd(file.0 as RawFd), address.cast(), length).build();
        self.push_on_file(connect, tag);
    }

    /// Sends all of it. `quiet` asks for a completion only if that fails.
    ///
    /// # Safety
    ///
    /// `bytes` stay where and as they are until the operation has ended; if it is quiet, until the
    /// ring has.
    pub(super) unsafe fn send(&mut self, file: File, bytes: &[u8], quiet: bool, tag: u64) {
        // What does not fit into one system call is sent by the next, like after any short send.
        let length = bytes.len().min(i32::MAX as usize) as u32;
        let send = opcode::Send::new(Fd(file.0 as RawFd), bytes.as_ptr(), length)
            .flags(libc::MSG_NOSIGNAL | libc::MSG_WAITALL)
            .build();
        let quiet = if quiet && self.skips_success {
            Flags::SKIP_SUCCESS
        } else {
            Flags::empty()
        };
        self.push_on_file(send.flags(quiet), tag);
    }

    /// Ends this side of a connection (shutdown(2)).
    pub(super) fn shutdown(&mut self, file: File, tag: u64) {
        let shutdown = opcode::Shutdown::new(Fd(file.0 as RawFd), libc::SHUT_WR).build();
        self.push_on_file(shutdown, tag);
    }

    /// Sets `SO_LINGER` so that closing the file resets the connection. Completes only in failure.
    pub(super) fn set_no_linger(&mut self, file: File, tag: u64) {
        if self.file_flags.is_empty() {
            // SAFETY: the file is a descriptor, and open: it is about to be closed.
            let descriptor = unsafe { BorrowedFd::borrow_raw(file.0 as RawFd) };
            // Where it cannot be set, closing is graceful; that is all that can be done.
            let _ = crate::socket::reset_on_close(descriptor);
            return;
        }
        let option = opcode::SetSockOpt::new(
            Fd(file.0 as RawFd),
            libc::SOL_SOCKET as u32,
            libc::SO_LINGER as u32,
            (&raw const NO_LINGER).cast(),
            size_of::<libc::linger>() as u32,
        );
        self.push_on_file(option.build().flags(Flags::SKIP_SUCCESS), tag);
    }

    /// Closes a file.
    pub(super) fn close(&mut self, file: File, tag: u64) {
        let close = if self.file_flags.is_empty() {
            opcode::Close::new(Fd(file.0 as RawFd)).build()
        } else {
            opcode::Close::new(Fixed(file.0)).build()
        };
        self.push(close.user_data(tag));
    }

    /// Closes a descriptor past the ring. Nothing to do for a place in the table, which ends whole.
    pub(super) fn close_now(&self, file: File) {
        if self.file_flags.is_empty() {
            // SAFETY: the descriptor was opened for this driver, which forgets it here.
            unsafe { libc::close(file.0 as RawFd) };
        }
    }

    /// Cancels the operation tagged `target`. Completes, under `tag`, only if it was too late.
    pub(super) fn cancel(&mut self, target: u64, tag: u64) {
        let cancel = opcode::AsyncCancel::new(target)
            .build()
            .flags(Flags::SKIP_SUCCESS);
        self.push(cancel.user_data(tag));
    }

    /// Cancels every operation.
    pub(super) fn cancel_all(&mut self, tag: u64) {
        let cancel = opcode::AsyncCancel2::new(CancelBuilder::any()).build();
        self.push(cancel.user_data(tag));
    }

    /// Completes whenever `descriptor`, which is no index, becomes readable once more.
    pub(super) fn poll(&mut self, descriptor: RawFd, tag: u64) {
        let poll = opcode::PollAdd::new(Fd(descriptor), libc::POLLIN as u32)
            .multi(true)
            .build();
        self.push(poll.user_data(tag));
    }

    /// How many operations wait for the next [`Ring::enter`].
    #[inline]
    pub(super) fn queued(&mut self) -> usize {
        self.io.submission().len() + self.backlog.len()
    }

    /// How many completions can be taken.
    #[inline]
    pub(super) fn ready(&mut self) -> usize {
        self.io.completion().len()
    }

    /// Whether the kernel holds work back until the next enter, be it deferred or overflowed.
    #[inline]
    pub(super) fn held_back(&mut self) -> bool {
        let queue = self.io.submission();
        queue.taskrun() || queue.cq_overflow()
    }

    /// Whether completions did not fit into their queue; they are kept by the kernel.
    #[inline]
    pub(super) fn overflowed(&mut self) -> bool {
        self.io.submission().cq_overflow()
    }

    /// Takes one completion.
    #[inline]
    pub(super) fn take(&mut self) -> Option<Completed> {
        let entry = self.io.completion().next()?;
        let flags = entry.flags();
        Some(Completed {
            tag: entry.user_data(),
            result: entry.result(),
            buffer: cqueue::buffer_select(flags).map(|id| Used { id }),
            more: cqueue::more(flags),
        })
    }

    /// Whether a quiet send that succeeds completes nothing.
    pub(super) fn skips_success(&self) -> bool {
        self.skips_success
    }

    /// How often the kernel was entered.
    pub(super) fn enters(&self) -> u64 {
        self.enters
    }

    /// Submits everything queued, runs deferred work and sleeps: one system call.
    ///
    /// # Errors
    ///
    /// Any but those that mean "nothing happened" (`ETIME`, `EINTR`) and those that pass once the
    /// completions have been taken (`EBUSY`, `EAGAIN`).
    #[inline]
    pub(super) fn enter(&mut self, until: Until) -> Result<(), Errno> {
        self.unload_backlog();
        let (least, time) = match until {
            Until::Now => (0, None),
            Until::Event | Until::Time(Time::NEVER) => (1, None),
            Until::Time(time) => (1, Some(time)),
        };
        match self.enter_raw(least, EnterFlags::GETEVENTS.bits(), time) {
            Ok(_) | Err(Errno::TIME | Errno::INTR | Errno::BUSY | Errno::AGAIN) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Submits what is queued, and nothing else. What goes wrong will go wrong again in
    /// [`Ring::enter`], where it can be reported.
    pub(super) fn flush(&mut self) {
        let _ = self.enter_raw(0, 0, None);
        self.unload_backlog();
    }

    fn push_on_file(&mut self, entry: squeue::Entry, tag: u64) {
        self.push(entry.flags(self.file_flags).user_data(tag));
    }

    fn push(&mut self, entry: squeue::Entry) {
        // SAFETY: the pointers in the entry, if any, are valid by the contract of the functions
        // above, whose callers keep their memory until the operation has ended.
        if self.backlog.is_empty() && unsafe { self.io.submission().push(&entry) }.is_ok() {
            if !self.batching {
                self.flush();
            }
            return;
        }
        self.backlog.push_back(entry);
        self.flush();
    }

    fn unload_backlog(&mut self) {
        while let Some(entry) = self.backlog.front() {
            // SAFETY: as in `push`.
            if unsafe { self.io.submission().push(entry) }.is_err() {
                return;
            }
            self.backlog.pop_front();
        }
    }

    fn enter_raw(&mut self, least: u32, flags: u32, until: Option<Time>) -> Result<usize, Errno> {
        self.enters += 1;
        let queued = self.io.submission().len();
        let mut flags = flags | self.enter_flags;
        let time = until.map(|until| self.kernel_time(until));
        let argument = time.as_ref().map(|time| EventsArgument {
            signal_mask: 0,
            signal_mask_bytes: 0,
            minimum_wait_us: 0,
            time: ptr::from_ref(time) as u64,
        });
        let (pointer, bytes) = match &argument {
            Some(argument) => {
                flags |= EnterFlags::EXT_ARG.bits();
                if self.absolute_time {
                    flags |= EnterFlags::ABS_TIMER.bits();
                }
                (ptr::from_ref(argument), size_of::<EventsArgument>())
            }
            None => (ptr::null(), 0),
        };
        // SAFETY: `argument` and `time` live through the call. The queued entries are valid by the
        // contract of the functions that queued them.
        let result = unsafe {
            libc::syscall(
                libc::SYS_io_uring_enter,
                self.enter_descriptor as libc::c_long,
                queued as libc::c_long,
                least as libc::c_long,
                flags as libc::c_long,
                pointer,
                bytes,
            )
        };
        if result >= 0 {
            debug_assert!(
                result as usize <= queued,
                "the kernel took {result} operations, and {queued} were queued"
            );
            Ok(result as usize)
        } else {
            Err(errno(io::Error::last_os_error()))
        }
    }

    fn kernel_time(&self, until: Time) -> KernelTime {
        let nanoseconds = if self.absolute_time {
            until.0
        } else {
            until.since(Time::now())
        };
        KernelTime {
            seconds: (nanoseconds / 1_000_000_000) as i64,
            nanoseconds: (nanoseconds % 1_000_000_000) as i64,
        }
    }

    /// Lets the thread name the ring by a small number, which saves looking its descriptor up, and
    /// with it two atomic operations, on each enter (io_uring_register(2)).
    fn register_descriptor(&mut self) -> Result<(), Errno> {
        let descriptor = self.io.as_raw_fd();
        let mut update = RingUpdate {
            offset: u32::MAX,
            reserved: 0,
            data: descriptor as u64,
        };
        // SAFETY: the operation takes one update.
        if unsafe { self.register(REGISTER_RING_FDS, &mut update, 1) }? != 1 {
            return Err(Errno::INVAL);
        }
        self.enter_descriptor = update.offset as RawFd;
        self.enter_flags |= EnterFlags::REGISTERED_RING.bits();
        Ok(())
    }

    /// Calls io_uring_register(2).
    ///
    /// # Safety
    ///
    /// `operation` takes `count`, and reads and writes no more than what `argument` is.
    unsafe fn register<T>(
        &self,
        operation: libc::c_long,
        argument: &mut T,
        count: libc::c_long,
    ) -> Result<libc::c_long, Errno> {
        // SAFETY: by this function's contract, and `argument` lives through the call.
        let result = unsafe {
            libc::syscall(
                libc::SYS_io_uring_register,
                self.io.as_raw_fd() as libc::c_long,
                operation,
                ptr::from_mut(argument),
                count,
            )
        };
        if result >= 0 {
            Ok(result)
        } else {
            Err(errno(io::Error::last_os_error()))
        }
    }

    /// Asks for a time that has passed long ago: kernels since 6.12 say so, others that the flag is
    /// invalid.
    fn takes_absolute_time(&mut self) -> bool {
        self.absolute_time = true;
        let answer = self.enter_raw(1, EnterFlags::GETEVENTS.bits(), Some(Time(1)));
        answer == Err(Errno::TIME)
    }
}

/// Whether this process is in a time namespace whose monotonic clock isn't the host's
/// (time_namespaces(7)): io_uring takes absolute times for the host's.
fn has_own_time() -> bool {
    let offsets = std::fs::read_to_string("/proc/self/timens_offsets").unwrap_or_default();
    let monotonic = offsets
        .lines()
        .find_map(|line| line.strip_prefix("monotonic"));
    monotonic.is_some_and(|offset| offset.split_whitespace().any(|part| part != "0"))
}

impl Drop for Ring {
    fn drop(&mut self) {
        if self.enter_flags & EnterFlags::REGISTERED_RING.bits() == 0 {
            return;
        }
        // The registration holds the ring open, and a thread has sixteen of them.
        let offset = self.enter_descriptor as u32;
        let mut update = RingUpdate {
            offset,
            reserved: 0,
            data: 0,
        };
        // SAFETY: the operation takes one update.
        let _ = unsafe { self.register(UNREGISTER_RING_FDS, &mut update, 1) };
    }
}

/// Tries flags from all to none, dropping those that the kernel calls invalid, newest first.
fn set_up(completions: u32, features: &mut Features) -> Result<IoUring, Errno> {
    const LADDER: [&[Feature]; 4] = [
        &[
            Feature::DeferTaskrun,
            Feature::SubmitAll,
            Feature::NoSqarray,
        ],
        &[Feature::DeferTaskrun, Feature::SubmitAll],
        &[Feature::CoopTaskrun, Feature::SubmitAll],
        &[],
    ];
    let mut last = Errno::INVAL;
    for rung in LADDER {
        let wanted = allowed(rung, *features);
        let mut builder = IoUring::builder();
        builder.setup_cqsize(completions).setup_clamp().dontfork();
        for feature in &wanted {
            match feature {
                Feature::DeferTaskrun => builder
                    .setup_single_issuer()
                    .setup_defer_taskrun()
                    .setup_taskrun_flag(),
                Feature::CoopTaskrun => builder.setup_coop_taskrun().setup_taskrun_flag(),
                Feature::SubmitAll => builder.setup_submit_all(),
                Feature::NoSqarray => builder.setup_no_sqarray(),
                other => unreachable!("{} isn't asked for when a ring is set up", other.name()),
            };
        }
        match builder.build(SUBMISSIONS).map_err(errno) {
            Ok(io) => {
                for feature in LADDER.concat() {
                    let better = wanted.contains(&Feature::DeferTaskrun);
                    if !(feature == Feature::CoopTaskrun && better) {
                        features.note(feature, wanted.contains(&feature));
                    }
                }
                return Ok(io);
            }
            Err(Errno::INVAL) => last = Errno::INVAL,
            Err(error) => return Err(error),
        }
    }
    Err(last)
}

/// What may be tried of a rung; where work may not be deferred, its weaker form stands in for it.
fn allowed(rung: &[Feature], features: Features) -> Vec<Feature> {
    let weaker = |feature| match feature {
        Feature::DeferTaskrun if !features.allows(feature) => Feature::CoopTaskrun,
        other => other,
    };
    let wanted = rung.iter().copied().map(weaker);
    wanted.filter(|&one| features.allows(one)).collect()
}

fn errno(error: io::Error) -> Errno {
    Errno::from_io_error(&error).unwrap_or(Errno::IO)
}

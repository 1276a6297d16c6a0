//! Waiting in io_uring(7), with one mechanism after the other: plain at first, so that every
//! operation is a system call of its own, which completes once and interrupts wherever it likes.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::net::TcpListener;
use std::os::fd::{AsRawFd, RawFd};
use std::ptr;

use io_uring::squeue::{Entry, Flags};
use io_uring::types::{BufRingEntry, DestinationSlot, Fd, Fixed};
use io_uring::{IoUring, cqueue, opcode};

use crate::http::{Answers, RECEIVE_BYTES, Requests};

const SUBMISSIONS: u32 = 1024;
/// Provided buffers, of [`RECEIVE_BYTES`] each.
const BUFFERS: u16 = 1024;
const BUFFER_GROUP: u16 = 0;
/// Places in the ring's own table of files.
const FILES: u32 = 16 * 1024;
/// How long the thread of SQPOLL spins before it sleeps.
const SQPOLL_IDLE_MS: u32 = 100;

/// What is used of io_uring.
#[derive(Default)]
pub struct Mechanisms {
    /// A turn's operations are submitted together, by the call that waits.
    batching: bool,
    /// `SINGLE_ISSUER` and `DEFER_TASKRUN`.
    defer_taskrun: bool,
    /// Sockets are places in the ring's own table.
    direct_descriptors: bool,
    /// Multishot accept, and multishot receive into provided buffers.
    multishot: bool,
    /// Sends that succeed complete nothing.
    skip_success: bool,
    /// `SQPOLL`, and the processor of its thread.
    sqpoll: Option<u32>,
    /// Answers are registered buffers.
    registered_buffers: bool,
    /// `SEND_ZC`
    zero_copy: bool,
}

impl Mechanisms {
    /// Reads their names.
    ///
    /// # Errors
    ///
    /// A sentence about one that isn't known, or about two that exclude each other.
    pub fn parse(words: &[&str]) -> Result<Mechanisms, String> {
        let mut all = Mechanisms::default();
        for word in words {
            match *word {
                "batching" => all.batching = true,
                "defer-taskrun" => all.defer_taskrun = true,
                "direct-descriptors" => all.direct_descriptors = true,
                "multishot" => all.multishot = true,
                "skip-success" => all.skip_success = true,
                "registered-buffers" => all.registered_buffers = true,
                "zero-copy" => all.zero_copy = true,
                other => {
                    let cpu = other.strip_prefix("sqpoll=");
                    let cpu = cpu.and_then(|cpu| cpu.parse().ok());
                    let cpu = cpu.ok_or_else(|| format!("no mechanism is called `{other}`"))?;
                    all.sqpoll = Some(cpu);
                }
            }
        }
        if all.sqpoll.is_some() && all.defer_taskrun {
            return Err(
                "SQPOLL submits in a thread of the kernel, and DEFER_TASKRUN wants the \
                        thread that submits to run the work: leave one of them out"
                    .into(),
            );
        }
        if all.skip_success && !all.batching {
            return Err(
                "answers that complete nothing keep their order by being submitted \
                        together: add batching"
                    .into(),
            );
        }
        if all.skip_success && (all.zero_copy || all.registered_buffers) {
            return Err(
                "a send that isn't whole or that lends its bytes has to say so: leave \
                        skip-success out"
                    .into(),
            );
        }
        Ok(all)
    }
}

/// What an operation is, in the first bits of its number.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Accept,
    Receive,
    Send,
    /// Nothing depends on how it ends.
    Other,
}

/// The number of an operation: what it is, on which socket, and the generation of that socket's
/// place, as places are used again.
fn number(kind: Kind, generation: u32, socket: u32) -> u64 {
    ((kind as u64) << 60) | (u64::from(generation & 0x0fff_ffff) << 32) | u64::from(socket)
}

struct Connection {
    generation: u32,
    requests: Requests,
    /// Where the kernel receives to, unless it picks a buffer. Stays until that has ended.
    buffer: Box<[u8]>,
    owed: VecDeque<&'static [u8]>,
    /// How much of the first of them has been sent.
    sent: usize,
    sending: bool,
    receiving: bool,
    /// Its peer has ended it, or broke it.
    over: bool,
    cancelled: bool,
}

struct Server<'a> {
    ring: IoUring,
    with: &'a Mechanisms,
    answers: &'a Answers,
    listener: RawFd,
    connections: Vec<Option<Connection>>,
    generation: u32,
    buffers: Option<Buffers>,
    /// The index of each registered answer, by where it lies.
    registered: HashMap<*const u8, u16>,
}

/// Answers whoever connects, for ever.
///
/// # Errors
///
/// What this kernel refuses.
pub fn serve(listener: &TcpListener, with: &Mechanisms, answers: &Answers) -> io::Result<()> {
    let mut server = Server {
        ring: open(with)?,
        with,
        answers,
        listener: listener.as_raw_fd(),
        connections: Vec::new(),
        generation: 0,
        buffers: None,
        registered: HashMap::new(),
    };
    server.register()?;
    server.accept()?;
    let mut completions: Vec<(u64, i32, u32)> = Vec::new();
    loop {
        match server.ring.submit_and_wait(1) {
            Err(error) if error.kind() != io::ErrorKind::Interrupted => return Err(error),
            _ => {}
        }
        let queue = server.ring.completion();
        completions.extend(queue.map(|one| (one.user_data(), one.result(), one.flags())));
        for (number, result, flags) in completions.drain(..) {
            server.complete(number, result, flags)?;
        }
    }
}

fn open(with: &Mechanisms) -> io::Result<IoUring> {
    let mut builder = IoUring::builder();
    builder.setup_cqsize(4 * SUBMISSIONS);
    if with.defer_taskrun {
        builder.setup_single_issuer().setup_defer_taskrun();
    }
    if let Some(cpu) = with.sqpoll {
        builder.setup_sqpoll(SQPOLL_IDLE_MS).setup_sqpoll_cpu(cpu);
    }
    builder.build(SUBMISSIONS)
}

impl Server<'_> {
    /// Tells the kernel ahead what it's to know ahead.
    fn register(&mut self) -> io::Result<()> {
        let submitter = self.ring.submitter();
        if self.with.direct_descriptors {
            submitter.register_files_sparse(FILES)?;
        }
        if self.with.multishot {
            self.buffers = Some(Buffers::register(&self.ring)?);
        }
        if self.with.registered_buffers {
            let all = self.answers.all();
            let buffers: Vec<libc::iovec> = all
                .iter()
                .map(|answer| libc::iovec {
                    iov_base: answer.as_ptr().cast_mut().cast(),
                    iov_len: answer.len(),
                })
                .collect();
            // SAFETY: answers live as long as the program.
            unsafe { submitter.register_buffers(&buffers) }?;
            let places = all.iter().zip(0..);
            self.registered = places.map(|(answer, at)| (answer.as_ptr(), at)).collect();
        }
        Ok(())
    }

    fn complete(&mut self, number: u64, result: i32, flags: u32) -> io::Result<()> {
        let more = cqueue::more(flags);
        let (socket, generation) = (number as u32, (number >> 32) as u32 & 0x0fff_ffff);
        if number >> 60 == Kind::Accept as u64 {
            return self.accepted(result, more);
        }
        let place = self.connections.get(socket as usize);
        let is_there = place
            .and_then(Option::as_ref)
            .is_some_and(|connection| connection.generation == generation);
        if number >> 60 == Kind::Receive as u64 {
            let picked = cqueue::buffer_select(flags);
            if is_there {
                self.received(socket, result, picked, more)?;
            }
            if let (Some(picked), Some(buffers)) = (picked, &mut self.buffers) {
                buffers.give_back(picked);
            }
        } else if number >> 60 == Kind::Send as u64 && is_there && !cqueue::notif(flags) {
            self.has_sent(socket, result)?;
        }
        Ok(())
    }

    fn accepted(&mut self, result: i32, more: bool) -> io::Result<()> {
        if result >= 0 {
            let socket = result as u32;
            if self.connections.len() <= socket as usize {
                self.connections.resize_with(socket as usize + 1, || None);
            }
            self.generation = (self.generation + 1) & 0x0fff_ffff;
            let room = if self.with.multishot {
                0
            } else {
                RECEIVE_BYTES
            };
            self.connections[socket as usize] = Some(Connection {
                generation: self.generation,
                requests: Requests::default(),
                buffer: vec![0; room].into(),
                owed: VecDeque::new(),
                sent: 0,
                sending: false,
                receiving: false,
                over: false,
                cancelled: false,
            });
            self.receive(socket)?;
        }
        match -result {
            _ if more => Ok(()),
            ..=0 | libc::ECONNABORTED | libc::EINTR => self.accept(),
            errno => Err(io::Error::from_raw_os_error(errno)),
        }
    }

    fn received(
        &mut self,
        socket: u32,
        result: i32,
        picked: Option<u16>,
        more: bool,
    ) -> io::Result<()> {
        let place = self.connections.get_mut(socket as usize);
        let Some(connection) = place.and_then(Option::as_mut) else {
            return Ok(());
        };
        connection.receiving = more;
        match result {
            1.. => {
                let got = result as usize;
                let bytes = match (picked, &self.buffers) {
                    (Some(picked), Some(buffers)) => &buffers.of(picked)[..got],
                    _ => &connection.buffer[..got],
                };
                let owed = &mut connection.owed;
                let took = connection
                    .requests
                    .receive(bytes, self.answers, |answer| owed.push_back(answer));
                connection.over |= took.is_err();
            }
            _ if -result == libc::ENOBUFS => {}
            _ => connection.over = true,
        }
        self.send(socket)?;
        self.go_on(socket)
    }

    fn has_sent(&mut self, socket: u32, result: i32) -> io::Result<()> {
        let Some(connection) = &mut self.connections[socket as usize] else {
            return Ok(());
        };
        connection.sending = false;
        match usize::try_from(result) {
            // One that completes although it's to be silent has broken off.
            Ok(_) if self.with.skip_success => connection.over = true,
            Ok(sent) => {
                connection.sent += sent;
                if connection
                    .owed
                    .front()
                    .is_some_and(|all| all.len() == connection.sent)
                {
                    connection.owed.pop_front();
                    connection.sent = 0;
                }
            }
            Err(_) => connection.over = true,
        }
        self.send(socket)?;
        self.go_on(socket)
    }

    /// Receives again if that has ended, or closes if everything has.
    fn go_on(&mut self, socket: u32) -> io::Result<()> {
        let place = &mut self.connections[socket as usize];
        let Some(connection) = place else {
            return Ok(());
        };
        let (receiving, generation) = (connection.receiving, connection.generation);
        if !connection.over {
            return match receiving {
                true => Ok(()),
                false => self.receive(socket),
            };
        }
        if receiving && !connection.cancelled {
            connection.cancelled = true;
            let target = number(Kind::Receive, generation, socket);
            let cancel = opcode::AsyncCancel::new(target).build();
            return self.push(cancel.user_data(number(Kind::Other, 0, 0)));
        }
        if receiving || connection.sending {
            return Ok(());
        }
        *place = None;
        let close = match self.with.direct_descriptors {
            true => opcode::Close::new(Fixed(socket)).build(),
            false => opcode::Close::new(Fd(socket as RawFd)).build(),
        };
        self.push(close.user_data(number(Kind::Other, 0, 0)))
    }

    fn accept(&mut self) -> io::Result<()> {
        let (listener, direct) = (Fd(self.listener), self.with.direct_descriptors);
        // The listener is no place in the table; only what is accepted is.
        let accept = match self.with.multishot {
            true => opcode::AcceptMulti::new(listener)
                .allocate_file_index(direct)
                .build(),
            false => opcode::Accept::new(listener, ptr::null_mut(), ptr::null_mut())
                .file_index(direct.then(DestinationSlot::auto_target))
                .build(),
        };
        self.push(accept.user_data(number(Kind::Accept, 0, 0)))
    }

    fn receive(&mut self, socket: u32) -> io::Result<()> {
        let Some(connection) = &mut self.connections[socket as usize] else {
            return Ok(());
        };
        connection.receiving = true;
        let number = number(Kind::Receive, connection.generation, socket);
        let descriptor = Fd(socket as RawFd);
        let receive = if self.with.multishot {
            opcode::RecvMulti::new(descriptor, BUFFER_GROUP).build()
        } else {
            let (start, room) = (connection.buffer.as_mut_ptr(), connection.buffer.len());
            opcode::Recv::new(descriptor, start, room as u32).build()
        };
        self.push_on_socket(receive, Flags::empty(), number)
    }

    /// Sends the first of what is owed, unless that is under way; silently all of it.
    fn send(&mut self, socket: u32) -> io::Result<()> {
        loop {
            let Some(connection) = &mut self.connections[socket as usize] else {
                return Ok(());
            };
            let Some(&answer) = connection.owed.front() else {
                return Ok(());
            };
            if connection.sending || connection.over {
                return Ok(());
            }
            let number = number(Kind::Send, connection.generation, socket);
            let rest = &answer[connection.sent..];
            if !self.with.skip_success {
                connection.sending = true;
                let send = self.send_one(socket, answer, rest);
                return self.push_on_socket(send, Flags::empty(), number);
            }
            connection.owed.pop_front();
            // Those of one receive are sent in their order.
            let linked = match connection.owed.is_empty() {
                true => Flags::empty(),
                false => Flags::IO_LINK,
            };
            let send = self.send_one(socket, answer, rest);
            self.push_on_socket(send, Flags::SKIP_SUCCESS | linked, number)?;
        }
    }

    fn send_one(&self, socket: u32, answer: &'static [u8], rest: &'static [u8]) -> Entry {
        let descriptor = Fd(socket as RawFd);
        let (start, length) = (rest.as_ptr(), rest.len() as u32);
        let place = self.registered.get(&answer.as_ptr()).copied();
        let whole = libc::MSG_NOSIGNAL | libc::MSG_WAITALL;
        match (self.with.zero_copy, place) {
            (true, place) => opcode::SendZc::new(descriptor, start, length)
                .buf_index(place)
                .flags(whole)
                .build(),
            (false, Some(place)) => {
                opcode::WriteFixed::new(descriptor, start, length, place).build()
            }
            (false, None) => opcode::Send::new(descriptor, start, length)
                .flags(whole)
                .build(),
        }
    }

    fn push_on_socket(&mut self, entry: Entry, flags: Flags, number: u64) -> io::Result<()> {
        let fixed = match self.with.direct_descriptors {
            true => Flags::FIXED_FILE,
            false => Flags::empty(),
        };
        self.push(entry.flags(flags | fixed).user_data(number))
    }

    fn push(&mut self, entry: Entry) -> io::Result<()> {
        // SAFETY: answers live as long as the program, and a connection keeps its buffer until its
        // receive has ended.
        while unsafe { self.ring.submission().push(&entry) }.is_err() {
            self.submit()?;
            if self.with.sqpoll.is_some() {
                self.ring.submitter().squeue_wait()?;
            }
        }
        match self.with.batching {
            true => Ok(()),
            false => self.submit(),
        }
    }

    fn submit(&self) -> io::Result<()> {
        loop {
            match self.ring.submit() {
                // It was stopped, and goes on.
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                other => return other.map(drop),
            }
        }
    }
}

/// Buffers that the kernel picks from.
struct Buffers {
    entries: *mut BufRingEntry,
    bytes: Vec<u8>,
    tail: u16,
}

impl Buffers {
    fn register(ring: &IoUring) -> io::Result<Buffers> {
        let length = usize::from(BUFFERS) * size_of::<BufRingEntry>();
        let (access, kind) = (
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
        );
        // SAFETY: new memory of the kernel's choice, which is never given back.
        let entries = unsafe { libc::mmap(ptr::null_mut(), length, access, kind, -1, 0) };
        if entries == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let submitter = ring.submitter();
        // SAFETY: the memory is page-aligned, large enough, and stays.
        unsafe {
            submitter.register_buf_ring_with_flags(entries as u64, BUFFERS, BUFFER_GROUP, 0)
        }?;
        let mut buffers = Buffers {
            entries: entries.cast(),
            bytes: vec![0; usize::from(BUFFERS) * RECEIVE_BYTES],
            tail: 0,
        };
        (0..BUFFERS).for_each(|buffer| buffers.give_back(buffer));
        Ok(buffers)
    }

    fn of(&self, buffer: u16) -> &[u8] {
        &self.bytes[usize::from(buffer) * RECEIVE_BYTES..][..RECEIVE_BYTES]
    }

    fn give_back(&mut self, buffer: u16) {
        let start = usize::from(buffer) * RECEIVE_BYTES;
        let address = self.bytes[start..].as_mut_ptr() as u64;
        let place = usize::from(self.tail % BUFFERS);
        // SAFETY: the place lies in the ring, and the kernel reads it only once the tail says so.
        unsafe {
            let entry = &mut *self.entries.add(place);
            entry.set_addr(address);
            entry.set_len(RECEIVE_BYTES as u32);
            entry.set_bid(buffer);
            self.tail = self.tail.wrapping_add(1);
            let tail = BufRingEntry::tail(self.entries).cast_mut();
            std::sync::atomic::fence(std::sync::atomic::Ordering::Release);
            tail.write_volatile(self.tail);
        }
    }
}

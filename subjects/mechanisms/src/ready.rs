//! Waiting until sockets are ready, and then calling recv(2) and send(2): select(2), poll(2) and
//! epoll(7).

use std::collections::VecDeque;
use std::io;
use std::net::TcpListener;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

use crate::http::{Answers, RECEIVE_BYTES, Requests};

/// How long to go on with a socket that is ready.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Until {
    /// One recv(2); if there is more, the next waiting says so (level-triggered).
    Once,
    /// Until recv(2) says that there is nothing, as edge-triggering asks for.
    Empty,
    /// Until recv(2) brings less than there was room for, which says the same without another call
    /// (epoll(7), "Do I need to continuously read/write a file descriptor until EAGAIN").
    Short,
}

/// A way of waiting.
pub trait Way {
    fn until(&self) -> Until {
        Until::Once
    }

    /// Begins to wait for what comes in on a socket.
    fn add(&mut self, socket: RawFd) -> io::Result<()>;

    /// Waits for room on a socket as well, or doesn't any more.
    fn want_room(&mut self, socket: RawFd, wanted: bool) -> io::Result<()>;

    /// The socket is about to be closed.
    fn remove(&mut self, socket: RawFd);

    /// Sleeps until some are ready, and says which, and whether their peer has ended its side.
    fn wait(&mut self, ready: &mut Vec<(RawFd, bool)>) -> io::Result<()>;
}

/// select(2): both sets are copied to the kernel and back, and looked through, each time.
pub struct Select {
    read: libc::fd_set,
    write: libc::fd_set,
    end: RawFd,
}

impl Default for Select {
    fn default() -> Select {
        // SAFETY: a set of no bits is a valid set.
        let empty: libc::fd_set = unsafe { std::mem::zeroed() };
        Select {
            read: empty,
            write: empty,
            end: 0,
        }
    }
}

impl Way for Select {
    fn add(&mut self, socket: RawFd) -> io::Result<()> {
        if socket as usize >= libc::FD_SETSIZE {
            let what = "select(2) knows 1,024 descriptors: use fewer connections";
            return Err(io::Error::new(io::ErrorKind::Unsupported, what));
        }
        // SAFETY: the number fits the set.
        unsafe { libc::FD_SET(socket, &mut self.read) };
        self.end = self.end.max(socket + 1);
        Ok(())
    }

    fn want_room(&mut self, socket: RawFd, wanted: bool) -> io::Result<()> {
        // SAFETY: what was added fits the set.
        match wanted {
            true => unsafe { libc::FD_SET(socket, &mut self.write) },
            false => unsafe { libc::FD_CLR(socket, &mut self.write) },
        }
        Ok(())
    }

    fn remove(&mut self, socket: RawFd) {
        // SAFETY: as above.
        unsafe {
            libc::FD_CLR(socket, &mut self.read);
            libc::FD_CLR(socket, &mut self.write);
        }
    }

    fn wait(&mut self, ready: &mut Vec<(RawFd, bool)>) -> io::Result<()> {
        let (mut read, mut write) = (self.read, self.write);
        let null = std::ptr::null_mut();
        // SAFETY: the sets live through the call and hold descriptors below `end`.
        let found = unsafe { libc::select(self.end, &mut read, &mut write, null, null.cast()) };
        answered(found as isize)?;
        // SAFETY: the numbers fit the sets.
        let is_set = |socket| unsafe {
            libc::FD_ISSET(socket, &raw const read) || libc::FD_ISSET(socket, &raw const write)
        };
        let found = (0..self.end).filter(|&socket| is_set(socket));
        ready.extend(found.map(|socket| (socket, false)));
        Ok(())
    }
}

/// poll(2): a list of all sockets is copied to the kernel and looked through each time.
#[derive(Default)]
pub struct Poll {
    all: Vec<libc::pollfd>,
    /// Where in the list a socket is, by its number.
    places: Vec<usize>,
}

impl Way for Poll {
    fn add(&mut self, socket: RawFd) -> io::Result<()> {
        if self.places.len() <= socket as usize {
            self.places.resize(socket as usize + 1, 0);
        }
        self.places[socket as usize] = self.all.len();
        self.all.push(libc::pollfd {
            fd: socket,
            events: libc::POLLIN,
            revents: 0,
        });
        Ok(())
    }

    fn want_room(&mut self, socket: RawFd, wanted: bool) -> io::Result<()> {
        let room = if wanted { libc::POLLOUT } else { 0 };
        self.all[self.places[socket as usize]].events = libc::POLLIN | room;
        Ok(())
    }

    fn remove(&mut self, socket: RawFd) {
        let place = self.places[socket as usize];
        self.all.swap_remove(place);
        if let Some(moved) = self.all.get(place) {
            self.places[moved.fd as usize] = place;
        }
    }

    fn wait(&mut self, ready: &mut Vec<(RawFd, bool)>) -> io::Result<()> {
        // SAFETY: the list lives through the call.
        let found = unsafe { libc::poll(self.all.as_mut_ptr(), self.all.len() as u64, -1) };
        answered(found as isize)?;
        let mut left = found;
        for one in &self.all {
            if left <= 0 {
                break;
            }
            if one.revents != 0 {
                ready.push((one.fd, false));
                left -= 1;
            }
        }
        Ok(())
    }
}

/// epoll(7): the kernel keeps the list, and hands out what is ready.
pub struct Epoll {
    epoll: OwnedFd,
    until: Until,
    events: Vec<libc::epoll_event>,
}

impl Epoll {
    /// Level-triggered, or edge-triggered where a socket is gone on with until it's empty.
    pub fn new(until: Until) -> io::Result<Epoll> {
        // SAFETY: the call takes no memory.
        let epoll = unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) };
        answered(epoll as isize)?;
        Ok(Epoll {
            // SAFETY: it was just opened.
            epoll: unsafe { OwnedFd::from_raw_fd(epoll) },
            until,
            events: vec![libc::epoll_event { events: 0, u64: 0 }; 256],
        })
    }

    fn control(&self, operation: libc::c_int, socket: RawFd, room: bool) -> io::Result<()> {
        let edge = match self.until {
            Until::Once => 0,
            // With an edge both directions can be asked for once and for all.
            Until::Empty | Until::Short => libc::EPOLLET | libc::EPOLLOUT | libc::EPOLLRDHUP,
        };
        let room = if room { libc::EPOLLOUT } else { 0 };
        let mut event = libc::epoll_event {
            events: (libc::EPOLLIN | edge | room) as u32,
            u64: socket as u64,
        };
        let epoll = self.epoll.as_raw_fd();
        // SAFETY: the event lives through the call.
        let done = unsafe { libc::epoll_ctl(epoll, operation, socket, &mut event) };
        answered(done as isize).map(drop)
    }
}

impl Way for Epoll {
    fn until(&self) -> Until {
        self.until
    }

    fn add(&mut self, socket: RawFd) -> io::Result<()> {
        self.control(libc::EPOLL_CTL_ADD, socket, false)
    }

    fn want_room(&mut self, socket: RawFd, wanted: bool) -> io::Result<()> {
        match self.until {
            Until::Once => self.control(libc::EPOLL_CTL_MOD, socket, wanted),
            Until::Empty | Until::Short => Ok(()),
        }
    }

    fn remove(&mut self, _socket: RawFd) {
        // Closing does it.
    }

    fn wait(&mut self, ready: &mut Vec<(RawFd, bool)>) -> io::Result<()> {
        let (epoll, room) = (self.epoll.as_raw_fd(), self.events.len() as i32);
        // SAFETY: the kernel writes no more events than there is room for.
        let found = unsafe { libc::epoll_wait(epoll, self.events.as_mut_ptr(), room, -1) };
        let found = answered(found as isize)?;
        let ended = (libc::EPOLLRDHUP | libc::EPOLLHUP | libc::EPOLLERR) as u32;
        let found = self.events[..found].iter();
        ready.extend(found.map(|event| (event.u64 as RawFd, event.events & ended != 0)));
        Ok(())
    }
}

struct Connection {
    requests: Requests,
    /// What is still to be sent, the first of it from `sent` on.
    owed: VecDeque<&'static [u8]>,
    sent: usize,
    wants_room: bool,
}

/// A connection that is to be closed, because its peer has or broke it.
struct Over;

/// Answers whoever connects, for ever.
///
/// # Errors
///
/// What a way of waiting or accept4(2) says.
pub fn serve(listener: &TcpListener, mut way: impl Way, answers: &Answers) -> io::Result<()> {
    listener.set_nonblocking(true)?;
    let listener = listener.as_raw_fd();
    way.add(listener)?;
    let mut connections: Vec<Option<Connection>> = Vec::new();
    let mut ready = Vec::new();
    let mut buffer = vec![0; RECEIVE_BYTES];
    loop {
        ready.clear();
        match way.wait(&mut ready) {
            // It was stopped, and goes on.
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            other => other?,
        }
        for &(socket, ended) in &ready {
            if socket == listener {
                accept(listener, &mut way, &mut connections)?;
                continue;
            }
            let place = &mut connections[socket as usize];
            let Some(connection) = place else { continue };
            // Behind the last bytes there is no other edge for the end.
            let until = if ended { Until::Empty } else { way.until() };
            if turn(socket, connection, until, &mut buffer, answers).is_ok() {
                want_room_if_owed(socket, connection, &mut way)?;
                continue;
            }
            *place = None;
            way.remove(socket);
            // SAFETY: it was accepted here, and is forgotten here.
            unsafe { libc::close(socket) };
        }
    }
}

fn accept(
    listener: RawFd,
    way: &mut impl Way,
    connections: &mut Vec<Option<Connection>>,
) -> io::Result<()> {
    loop {
        let (null, flags) = (
            std::ptr::null_mut(),
            libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC,
        );
        // SAFETY: no address is asked for.
        let socket = unsafe { libc::accept4(listener, null, null.cast(), flags) };
        let socket = match answered(socket as isize) {
            Ok(socket) => socket,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
            Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => continue,
            Err(error) => return Err(error),
        };
        way.add(socket as RawFd)?;
        if connections.len() <= socket {
            connections.resize_with(socket + 1, || None);
        }
        connections[socket] = Some(Connection {
            requests: Requests::default(),
            owed: VecDeque::new(),
            sent: 0,
            wants_room: false,
        });
    }
}

/// Takes what has come on a socket, and answers it as far as there is room.
fn turn(
    socket: RawFd,
    connection: &mut Connection,
    until: Until,
    buffer: &mut [u8],
    answers: &Answers,
) -> Result<(), Over> {
    send(socket, connection)?;
    loop {
        // SAFETY: the kernel writes no more than the buffer holds.
        let got = unsafe { libc::recv(socket, buffer.as_mut_ptr().cast(), buffer.len(), 0) };
        let got = match answered(got) {
            Ok(0) => return Err(Over),
            Ok(got) => got,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
            Err(_) => return Err(Over),
        };
        let owed = &mut connection.owed;
        let received = connection
            .requests
            .receive(&buffer[..got], answers, |answer| owed.push_back(answer));
        received.map_err(|_| Over)?;
        send(socket, connection)?;
        let ends = match until {
            Until::Once => true,
            Until::Empty => false,
            Until::Short => got < buffer.len(),
        };
        if ends {
            return Ok(());
        }
    }
}

/// Sends what is owed, until there is no more room.
fn send(socket: RawFd, connection: &mut Connection) -> Result<(), Over> {
    while let Some(answer) = connection.owed.front() {
        let rest = &answer[connection.sent..];
        let flags = libc::MSG_NOSIGNAL;
        // SAFETY: the kernel reads what is there.
        let sent = unsafe { libc::send(socket, rest.as_ptr().cast(), rest.len(), flags) };
        match answered(sent) {
            Ok(sent) if sent == rest.len() => {
                connection.owed.pop_front();
                connection.sent = 0;
            }
            Ok(sent) => connection.sent += sent,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
            Err(_) => return Err(Over),
        }
    }
    Ok(())
}

/// Has the waiting be for room as well, as long as something is owed.
fn want_room_if_owed(
    socket: RawFd,
    connection: &mut Connection,
    way: &mut impl Way,
) -> io::Result<()> {
    let wants = !connection.owed.is_empty();
    if wants == connection.wants_room {
        return Ok(());
    }
    connection.wants_room = wants;
    way.want_room(socket, wants)
}

/// What a system call returned, or its error.
fn answered(result: isize) -> io::Result<usize> {
    match usize::try_from(result) {
        Ok(result) => Ok(result),
        Err(_) => Err(io::Error::last_os_error()),
    }
}

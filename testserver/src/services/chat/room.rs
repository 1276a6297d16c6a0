//! What the workers of a server share of the chat: what was said, in one order for all.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use server::Bell;

/// So many messages may wait in the queue of a worker, …
const WAITING_MAX: usize = 4096;

/// … and so many bytes of them.
const WAITING_BYTES_MAX: usize = 16 << 20;

/// A message that one has said and all are to hear.
#[derive(Debug)]
pub(super) struct Said {
    pub(super) binary: bool,
    pub(super) bytes: Box<[u8]>,
}

/// The room of a server.
#[derive(Debug, Default)]
pub(crate) struct Room {
    /// One for each worker, by its number; `None` once that has ended. What is said goes to all of
    /// them under one lock: so all tell it in the same order.
    inboxes: Mutex<Vec<Option<Inbox>>>,
    members: AtomicU64,
    told: AtomicU64,
}

/// What a worker has to tell its members.
#[derive(Debug)]
struct Inbox {
    queue: Queue,
    /// By what the worker is told to look.
    bell: Bell,
}

/// Messages that wait. The first is being told.
#[derive(Debug, Default)]
struct Queue {
    waiting: VecDeque<Arc<Said>>,
    bytes: usize,
}

/// Too much waits in the queue of a worker.
#[derive(Debug)]
pub(super) struct Full;

impl Room {
    /// Another worker has members from now on: its number.
    pub(super) fn enter(&self, bell: Bell) -> usize {
        let mut inboxes = self.inboxes();
        inboxes.push(Some(Inbox {
            queue: Queue::default(),
            bell,
        }));
        inboxes.len() - 1
    }

    /// A worker has ended, with so many members.
    pub(super) fn exit(&self, worker: usize, members: usize) {
        self.inboxes()[worker] = None;
        self.members.fetch_sub(members as u64, Relaxed);
    }

    /// A member came.
    pub(super) fn joined(&self) {
        self.members.fetch_add(1, Relaxed);
    }

    /// A member left.
    pub(super) fn left(&self) {
        self.members.fetch_sub(1, Relaxed);
    }

    /// So many members were told a message.
    pub(super) fn count_told(&self, members: usize) {
        self.told.fetch_add(members as u64, Relaxed);
    }

    /// Has every worker tell this, or none if one of them has too much to tell.
    pub(super) fn say(&self, said: Said) -> Result<(), Full> {
        let mut inboxes = self.inboxes();
        let mut all = inboxes.iter().flatten();
        if !all.all(|inbox| inbox.queue.has_room_for(said.bytes.len())) {
            return Err(Full);
        }
        let said = Arc::new(said);
        for inbox in inboxes.iter_mut().flatten() {
            inbox.queue.push(&said);
            inbox.bell.ring();
        }
        Ok(())
    }

    /// What a worker has to tell first.
    pub(super) fn first(&self, worker: usize) -> Option<Arc<Said>> {
        self.with_queue(worker, |queue| queue.first())
    }

    /// A worker has told that: what comes next.
    pub(super) fn next(&self, worker: usize) -> Option<Arc<Said>> {
        self.with_queue(worker, |queue| {
            queue.pop();
            queue.first()
        })
    }

    /// Members that are connected.
    pub(crate) fn members(&self) -> u64 {
        self.members.load(Relaxed)
    }

    /// Messages that were told, each counted for every member that it was told.
    pub(crate) fn told(&self) -> u64 {
        self.told.load(Relaxed)
    }

    fn with_queue<T>(&self, worker: usize, of: impl FnOnce(&mut Queue) -> Option<T>) -> Option<T> {
        let mut inboxes = self.inboxes();
        let inbox = inboxes.get_mut(worker)?.as_mut()?;
        of(&mut inbox.queue)
    }

    fn inboxes(&self) -> MutexGuard<'_, Vec<Option<Inbox>>> {
        self.inboxes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Queue {
    /// Whether a message of so many bytes may wait, too. One always may.
    fn has_room_for(&self, bytes: usize) -> bool {
        let fits = self.bytes.saturating_add(bytes) <= WAITING_BYTES_MAX;
        self.waiting.is_empty() || fits && self.waiting.len() < WAITING_MAX
    }

    fn push(&mut self, said: &Arc<Said>) {
        self.bytes += said.bytes.len();
        self.waiting.push_back(Arc::clone(said));
    }

    fn first(&self) -> Option<Arc<Said>> {
        self.waiting.front().cloned()
    }

    fn pop(&mut self) {
        if let Some(said) = self.waiting.pop_front() {
            self.bytes -= said.bytes.len();
        }
        if self.waiting.is_empty() {
            self.waiting = VecDeque::new();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(bytes: usize) -> Arc<Said> {
        Arc::new(Said {
            binary: true,
            bytes: vec![0; bytes].into(),
        })
    }

    #[test]
    fn a_queue_has_room_for_so_many_messages_and_so_many_bytes() {
        let mut queue = Queue::default();
        assert!(queue.has_room_for(WAITING_BYTES_MAX + 1), "a single one");
        for _ in 0..WAITING_MAX {
            assert!(queue.has_room_for(1));
            queue.push(&said(1));
        }
        assert!(!queue.has_room_for(0));
        queue.pop();
        assert!(queue.has_room_for(1));
        queue.push(&said(WAITING_BYTES_MAX));
        queue.pop();
        assert!(!queue.has_room_for(0), "{} bytes wait", queue.bytes);
        while queue.first().is_some() {
            queue.pop();
        }
        assert_eq!(queue.bytes, 0);
        queue.push(&said(WAITING_BYTES_MAX));
        assert!(queue.has_room_for(0) && !queue.has_room_for(1));
    }

    #[test]
    fn what_nobody_hears_is_said_all_the_same() {
        let room = Room::default();
        for _ in 0..2 * WAITING_MAX {
            let bytes = Box::default();
            let binary = false;
            assert!(room.say(Said { binary, bytes }).is_ok());
        }
        assert!(room.first(0).is_none() && room.next(0).is_none());
    }
}

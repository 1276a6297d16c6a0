//! Memory that a master and its workers share: files without a name (memfd_create(2)).
//!
//! What a process has written there stays when it is killed, and reading it takes nobody's time.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::FileExt;

use rustix::fs::{MemfdFlags, memfd_create};

/// Before the text: how often it was written, doubled, and odd while that is done; its length.
const HEAD_BYTES: usize = 16;

/// A longer text is none: it would be read into memory.
const TEXT_BYTES_MAX: u64 = 64 << 20;

/// How often a text is read again that is being written.
const TRIES: usize = 100;

/// Such a file. The text in it is written by one process, and read whole by another or not at all.
#[derive(Debug)]
pub(crate) struct Shared(File);

impl Shared {
    /// An empty one.
    pub(crate) fn create() -> io::Result<Shared> {
        let file = memfd_create("ringside", MemfdFlags::CLOEXEC)?;
        Ok(Shared(File::from(file)))
    }

    /// One that this process was started with.
    pub(crate) fn of(descriptor: OwnedFd) -> Shared {
        Shared(File::from(descriptor))
    }

    /// Puts a text into it, instead of the one before.
    pub(crate) fn write(&self, text: &[u8]) -> io::Result<()> {
        let number = self.head()?.0 | 1;
        self.0.write_all_at(&number.to_le_bytes(), 0)?;
        self.0.write_all_at(&(text.len() as u64).to_le_bytes(), 8)?;
        self.0.write_all_at(text, HEAD_BYTES as u64)?;
        self.0
            .write_all_at(&number.wrapping_add(1).to_le_bytes(), 0)
    }

    /// The text in it; `None` if nothing was written yet, or whoever does hasn't come to an end.
    pub(crate) fn read(&self) -> Option<Vec<u8>> {
        for _ in 0..TRIES {
            let (number, length) = self.head().ok()?;
            if number == 0 || length > TEXT_BYTES_MAX {
                return None;
            }
            let mut text = vec![0; length as usize];
            let read = self.0.read_exact_at(&mut text, HEAD_BYTES as u64);
            if number % 2 == 0 && read.is_ok() && self.head().ok()?.0 == number {
                return Some(text);
            }
        }
        None
    }

    fn head(&self) -> io::Result<(u64, u64)> {
        let mut head = [0; HEAD_BYTES];
        let read = self.0.read_at(&mut head, 0)?;
        let number = |from: usize| {
            let bytes = head[from..from + 8].try_into();
            u64::from_le_bytes(bytes.unwrap_or_default())
        };
        match read {
            HEAD_BYTES => Ok((number(0), number(8))),
            _ => Ok((0, 0)),
        }
    }
}

impl AsFd for Shared {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_read_whole_or_not_at_all() {
        let shared = Shared::create().expect("memory");
        assert_eq!(shared.read(), None, "nothing is written yet");
        let texts = [b"a".repeat(100_000), Vec::new(), b"bc".repeat(40_000)];
        for text in &texts {
            shared.write(text).expect("memory");
            assert_eq!(shared.read().as_ref(), Some(text));
        }
        // One that is killed while it writes leaves a text that is none.
        shared.0.write_all_at(&[7], 0).expect("memory");
        assert_eq!(shared.read(), None);
        // Whoever writes next puts that right.
        shared.write(b"d").expect("memory");
        assert_eq!(shared.read().as_deref(), Some(&b"d"[..]));
    }

    #[test]
    fn what_is_read_while_it_is_written_is_one_of_the_texts() {
        let shared = Shared::create().expect("memory");
        shared.write(&[0; 9000]).expect("memory");
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for at in 0..2000_usize {
                    let length = 1 + at * 7 % 20_000;
                    let text = vec![at as u8; length];
                    shared.write(&text).expect("memory");
                }
            });
            for _ in 0..2000 {
                if let Some(text) = shared.read() {
                    assert!(text.iter().all(|byte| *byte == text[0]), "{text:?}");
                }
            }
        });
        assert_eq!(shared.read().map(|text| text[0]), Some(1999_u64 as u8));
    }
}

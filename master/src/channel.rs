//! What a master and a process that it has started say to each other: short texts, each a packet of
//! a Unix socket (unix(7), `SOCK_SEQPACKET`).
//!
//! The end of one side is seen by the other: that's how a worker learns that its master is gone.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, send, socketpair,
};

use crate::figures::Wanted;

/// A packet is no longer.
const BYTES_MAX: usize = 512;

/// One end.
#[derive(Debug)]
pub(crate) struct Channel(OwnedFd);

/// What is said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Message {
    /// By a worker: it serves. By a new master: all of its workers do.
    Ready,
    /// By a worker: it isn't stuck.
    Alive,
    /// By a worker: what it has counted.
    Counts(Counts),
    /// To a worker: how somebody wants what it counts beside the server.
    Wanted(Wanted),
    /// To a worker: others accept on its socket, it's to end when its clients have been served.
    Retire,
    /// To a worker: it's to end now, but for what's under way.
    Stop,
}

/// What a worker has counted since its start, and has open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) requests: u64,
    pub(crate) accepted: u64,
    pub(crate) open: u64,
    pub(crate) panics: u64,
}

/// What came of listening.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Heard {
    Said(Message),
    /// Nothing for now.
    Nothing,
    /// The other side is gone.
    Over,
}

impl Message {
    fn text(self) -> String {
        match self {
            Message::Ready => "ready".into(),
            Message::Alive => "alive".into(),
            Message::Retire => "retire".into(),
            Message::Stop => "stop".into(),
            Message::Wanted(Wanted::Nothing) => "wanted".into(),
            Message::Wanted(Wanted::Text) => "wanted text".into(),
            Message::Wanted(Wanted::Native) => "wanted native".into(),
            Message::Counts(counts) => format!(
                "counts {} {} {} {}",
                counts.requests, counts.accepted, counts.open, counts.panics
            ),
        }
    }

    /// What a text says; `None` for what another version of this may say.
    fn of(text: &[u8]) -> Option<Message> {
        let mut words = std::str::from_utf8(text).ok()?.split(' ');
        match words.next()? {
            "ready" => Some(Message::Ready),
            "alive" => Some(Message::Alive),
            "retire" => Some(Message::Retire),
            "stop" => Some(Message::Stop),
            "wanted" => match words.next() {
                None => Some(Message::Wanted(Wanted::Nothing)),
                Some("text") => Some(Message::Wanted(Wanted::Text)),
                Some("native") => Some(Message::Wanted(Wanted::Native)),
                Some(_) => None,
            },
            "counts" => {
                let mut number = || words.next()?.parse().ok();
                Some(Message::Counts(Counts {
                    requests: number()?,
                    accepted: number()?,
                    open: number()?,
                    panics: number()?,
                }))
            }
            _ => None,
        }
    }
}

impl Channel {
    /// Both ends.
    pub(crate) fn pair() -> io::Result<(Channel, Channel)> {
        let (one, other) = socketpair(
            AddressFamily::UNIX,
            SocketType::SEQPACKET,
            SocketFlags::CLOEXEC,
            None,
        )?;
        Ok((Channel(one), Channel(other)))
    }

    /// One that this process was started with.
    pub(crate) fn of(descriptor: OwnedFd) -> Channel {
        Channel(descriptor)
    }

    /// Says something. Whoever is gone hears nothing, and one whose ears are full neither.
    pub(crate) fn say(&self, message: Message) {
        let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
        let _ = send(&self.0, message.text().as_bytes(), flags);
    }

    /// Hears what was said, without waiting. Words that aren't known are passed over.
    pub(crate) fn hear(&self) -> Heard {
        let mut bytes = [0; BYTES_MAX];
        loop {
            match recv(&self.0, &mut bytes, RecvFlags::DONTWAIT) {
                Ok((_, 0)) => return Heard::Over,
                Ok((_, length)) => {
                    if let Some(message) = Message::of(&bytes[..length.min(BYTES_MAX)]) {
                        return Heard::Said(message);
                    }
                }
                Err(Errno::AGAIN) => return Heard::Nothing,
                Err(Errno::INTR) => {}
                Err(_) => return Heard::Over,
            }
        }
    }
}

impl AsFd for Channel {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_is_heard_in_its_order_and_the_end_is_seen() {
        let (one, other) = Channel::pair().expect("a pair");
        assert_eq!(other.hear(), Heard::Nothing);
        let counts = Counts {
            requests: u64::MAX,
            accepted: 2,
            open: 3,
            panics: 4,
        };
        for message in [
            Message::Ready,
            Message::Alive,
            Message::Counts(counts),
            Message::Wanted(Wanted::Native),
            Message::Retire,
            Message::Stop,
        ] {
            one.say(message);
        }
        assert_eq!(other.hear(), Heard::Said(Message::Ready));
        assert_eq!(other.hear(), Heard::Said(Message::Alive));
        assert_eq!(other.hear(), Heard::Said(Message::Counts(counts)));
        let wanted = Message::Wanted(Wanted::Native);
        assert_eq!(other.hear(), Heard::Said(wanted));
        assert_eq!(other.hear(), Heard::Said(Message::Retire));
        drop(one);
        assert_eq!(other.hear(), Heard::Said(Message::Stop));
        assert_eq!(other.hear(), Heard::Over);
        other.say(Message::Ready);
    }

    #[test]
    fn words_of_another_version_are_passed_over() {
        for text in [
            "",
            "counts",
            "counts 1 2 3",
            "counts 1 2 3 x",
            "wanted more",
            "sing",
            "\u{7}",
        ] {
            assert_eq!(Message::of(text.as_bytes()), None, "{text:?}");
        }
        assert_eq!(Message::of(b"\xff"), None);
    }
}

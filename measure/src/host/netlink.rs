//! Lists that the kernel gives over rtnetlink(7), of the network namespace that this process is in.

use std::os::fd::OwnedFd;

use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, send, socket_with,
};

/// More messages than this hold more than a host has.
const READS_MAX: usize = 64;

/// Types of messages (linux/netlink.h).
const NLMSG_ERROR: u16 = 2;
const NLMSG_DONE: u16 = 3;
const NLM_F_REQUEST: u16 = 0x1;
const NLM_F_DUMP: u16 = 0x300;
/// The length of struct nlmsghdr.
const HEADER: usize = 16;

/// Messages of one type, and how each is read.
pub(super) struct List<T> {
    /// The type of the request.
    pub(super) request: u16,
    /// How long the structure behind its header is.
    pub(super) structure: usize,
    /// The type of the answers.
    pub(super) answer: u16,
    /// Reads what is behind the header of one; none if it is cut short.
    pub(super) read: fn(&[u8]) -> Option<T>,
}

impl<T> List<T> {
    /// All that the kernel lists; none where it does not tell.
    pub(super) fn ask(&self) -> Option<Vec<T>> {
        let socket = self.asked().ok()?;
        let mut found = Vec::new();
        let mut buffer = vec![0; 32 * 1024];
        for _ in 0..READS_MAX {
            // The answer is there when the question was sent; nothing waits here.
            let (length, _) = recv(&socket, &mut buffer[..], RecvFlags::DONTWAIT).ok()?;
            if self.take(&buffer[..length], &mut found)? {
                return Some(found);
            }
        }
        None
    }

    fn asked(&self) -> rustix::io::Result<OwnedFd> {
        let flags = SocketFlags::CLOEXEC;
        // No protocol is NETLINK_ROUTE.
        let socket = socket_with(AddressFamily::NETLINK, SocketType::RAW, flags, None)?;
        let length = HEADER + self.structure;
        let mut request = Vec::with_capacity(length);
        request.extend((length as u32).to_ne_bytes());
        request.extend(self.request.to_ne_bytes());
        request.extend((NLM_F_REQUEST | NLM_F_DUMP).to_ne_bytes());
        request.extend(1u32.to_ne_bytes());
        request.resize(length, 0);
        send(&socket, &request, SendFlags::empty())?;
        Ok(socket)
    }

    /// Adds what is in a datagram to `found`. Whether it was the last; none if the kernel refuses
    /// or it cannot be read.
    pub(super) fn take(&self, mut datagram: &[u8], found: &mut Vec<T>) -> Option<bool> {
        while !datagram.is_empty() {
            let length = u32_at(datagram, 0)? as usize;
            let message = datagram.get(..length).filter(|_| length >= HEADER)?;
            match u16_at(message, 4)? {
                NLMSG_DONE => return Some(true),
                NLMSG_ERROR => return None,
                kind if kind == self.answer => found.push((self.read)(&message[HEADER..])?),
                _ => {}
            }
            datagram = datagram.get(aligned(length)..).unwrap_or_default();
        }
        Some(false)
    }
}

/// The value of the attribute of this type.
pub(super) fn attribute(mut attributes: &[u8], wanted: u16) -> Option<&[u8]> {
    loop {
        let length = u16_at(attributes, 0)? as usize;
        let value = attributes.get(4..length)?;
        if u16_at(attributes, 2)? == wanted {
            return Some(value);
        }
        attributes = attributes.get(aligned(length)..)?;
    }
}

/// The text of an attribute, up to its zero.
pub(super) fn text(value: &[u8]) -> Option<String> {
    let text = value.split(|byte| *byte == 0).next()?;
    Some(String::from_utf8_lossy(text).into_owned())
}

/// Messages and attributes begin at multiples of four.
fn aligned(length: usize) -> usize {
    length.next_multiple_of(4)
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

pub(super) fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

/// Messages as the kernel writes them, for tests.
#[cfg(test)]
pub(super) mod made_up {
    use super::*;

    /// A message of this type with a structure and attributes behind it, padded.
    pub(in crate::host) fn message(
        kind: u16,
        structure: &[u8],
        attributes: &[(u16, &[u8])],
    ) -> Vec<u8> {
        let mut bytes = vec![0; 4];
        bytes.extend(kind.to_ne_bytes());
        bytes.resize(HEADER, 0);
        bytes.extend(structure);
        for (kind, value) in attributes {
            bytes.resize(aligned(bytes.len()), 0);
            bytes.extend((4 + value.len() as u16).to_ne_bytes());
            bytes.extend(kind.to_ne_bytes());
            bytes.extend(*value);
        }
        let length = bytes.len() as u32;
        bytes[..4].copy_from_slice(&length.to_ne_bytes());
        bytes.resize(aligned(bytes.len()), 0);
        bytes
    }

    /// The last message of a list.
    pub(in crate::host) fn last() -> Vec<u8> {
        message(NLMSG_DONE, &[], &[])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIST: List<u32> = List {
        request: 18,
        structure: 4,
        answer: 16,
        read: |body| u32_at(body, 0),
    };

    #[test]
    fn what_is_cut_short_or_refused_is_not_known() {
        let whole = made_up::message(16, &7u32.to_ne_bytes(), &[]);
        for length in 1..whole.len() {
            assert_eq!(
                LIST.take(&whole[..length], &mut Vec::new()),
                None,
                "{length}"
            );
        }
        let mut found = Vec::new();
        assert_eq!(LIST.take(&whole, &mut found), Some(false));
        assert_eq!(LIST.take(&made_up::last(), &mut found), Some(true));
        assert_eq!(found, [7]);
        let refusal = made_up::message(NLMSG_ERROR, &[0; 4], &[]);
        assert_eq!(LIST.take(&refusal, &mut Vec::new()), None);
        let mut empty = made_up::last();
        empty[..4].fill(0);
        assert_eq!(LIST.take(&empty, &mut Vec::new()), None);
        assert_eq!(
            LIST.take(&made_up::message(16, &[], &[]), &mut Vec::new()),
            None
        );
        assert_eq!(LIST.take(&[], &mut Vec::new()), Some(false));
    }
}

//! Bytes to send: registered templates, and buffers that travel between owner and driver.
//!
//! Bytes never move while they are here, which the driver that lets the kernel read them later
//! relies on: a template stays until the end, a buffer until its send is finished.

use crate::operations::{Payload, Refused, Template};

/// Buffers kept for reuse; beyond it they are freed.
const SPARE_MAX: usize = 4096;
/// What they may hold together, so that one burst of large bodies does not stay for ever.
const SPARE_BYTES_MAX: usize = 32 << 20;

/// The templates and spare buffers of one driver.
#[derive(Debug, Default)]
pub struct Payloads {
    templates: Vec<Box<[u8]>>,
    spare: Vec<Vec<u8>>,
    /// The sum of the capacities in `spare`.
    spare_bytes: usize,
}

/// What one send still has to deliver.
#[derive(Debug)]
pub struct Outgoing {
    source: Source,
    /// The next byte to be sent, and one past the last.
    start: usize,
    end: usize,
    /// Report only failure.
    pub quiet: bool,
}

#[derive(Debug)]
enum Source {
    Template(u32),
    Buffer(Vec<u8>),
}

impl Outgoing {
    /// How many bytes are left.
    #[allow(clippy::len_without_is_empty)] // It never is.
    pub fn len(&self) -> usize {
        self.end - self.start
    }

    /// Moves on by the bytes that were delivered.
    pub fn advance(&mut self, bytes: usize) {
        debug_assert!(
            bytes <= self.len(),
            "{bytes} bytes were delivered and {} were left",
            self.len()
        );
        self.start += bytes;
    }
}

impl Payloads {
    pub fn register(&mut self, bytes: &[u8]) -> Result<Template, Refused> {
        let length = u32::try_from(bytes.len()).map_err(|_| Refused::EmptyOrOutOfRange)?;
        if length == 0 {
            return Err(Refused::EmptyOrOutOfRange);
        }
        self.templates.push(bytes.into());
        Ok(Template {
            index: (self.templates.len() - 1) as u32,
            length,
        })
    }

    pub fn buffer(&mut self) -> Vec<u8> {
        let buffer = self.spare.pop().unwrap_or_default();
        self.spare_bytes -= buffer.capacity();
        debug_assert!(buffer.is_empty(), "a spare buffer holds somebody's bytes");
        debug_assert!(
            !self.spare.is_empty() || self.spare_bytes == 0,
            "{} bytes are counted in no spare buffer",
            self.spare_bytes
        );
        buffer
    }

    pub fn recycle(&mut self, mut buffer: Vec<u8>) {
        let bytes = self.spare_bytes + buffer.capacity();
        // One that never held anything saves nobody an allocation.
        let useful = buffer.capacity() > 0;
        if useful && bytes <= SPARE_BYTES_MAX && self.spare.len() < SPARE_MAX {
            buffer.clear();
            self.spare_bytes = bytes;
            self.spare.push(buffer);
        }
    }

    /// Takes a payload over if its bytes exist and are not empty.
    #[inline]
    pub fn accept(&mut self, payload: Payload) -> Result<Outgoing, Refused> {
        match payload {
            Payload::Template {
                template,
                start,
                end,
                quiet,
            } => {
                let known = self.templates.get(template.index as usize);
                if known.is_none_or(|bytes| end as usize > bytes.len()) || start >= end {
                    return Err(Refused::EmptyOrOutOfRange);
                }
                let source = Source::Template(template.index);
                Ok(Outgoing {
                    source,
                    start: start as usize,
                    end: end as usize,
                    quiet,
                })
            }
            Payload::Buffer(bytes) if bytes.is_empty() => {
                self.recycle(bytes);
                Err(Refused::EmptyOrOutOfRange)
            }
            Payload::Buffer(bytes) => {
                let end = bytes.len();
                Ok(Outgoing {
                    source: Source::Buffer(bytes),
                    start: 0,
                    end,
                    quiet: false,
                })
            }
        }
    }

    /// Takes back the buffer of a payload that was refused.
    #[cold]
    pub fn reject(&mut self, payload: Payload) {
        if let Payload::Buffer(bytes) = payload {
            self.recycle(bytes);
        }
    }

    /// The bytes that are left.
    #[inline]
    pub fn bytes<'a>(&'a self, outgoing: &'a Outgoing) -> &'a [u8] {
        let whole = match &outgoing.source {
            Source::Template(index) => &*self.templates[*index as usize],
            Source::Buffer(bytes) => bytes,
        };
        &whole[outgoing.start..outgoing.end]
    }

    /// Ends a send; its buffer may be used again.
    #[inline]
    pub fn finish(&mut self, outgoing: Outgoing) {
        debug_assert!(
            outgoing.start <= outgoing.end,
            "a send went on behind its end"
        );
        if let Source::Buffer(bytes) = outgoing.source {
            self.recycle(bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spare_buffers_are_bounded_in_number_and_in_bytes() {
        let mut payloads = Payloads::default();
        for _ in 0..SPARE_MAX + 1 {
            payloads.recycle(Vec::with_capacity(16));
        }
        assert_eq!(payloads.spare.len(), SPARE_MAX);
        let mut payloads = Payloads::default();
        payloads.recycle(Vec::with_capacity(SPARE_BYTES_MAX / 2));
        payloads.recycle(Vec::with_capacity(SPARE_BYTES_MAX));
        assert_eq!(payloads.spare.len(), 1);
        assert!(payloads.buffer().capacity() >= SPARE_BYTES_MAX / 2);
        payloads.recycle(Vec::with_capacity(SPARE_BYTES_MAX / 2));
        assert_eq!(payloads.spare.len(), 1, "what was taken out counts no more");
    }
}

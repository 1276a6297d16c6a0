//! Compressed messages of gRPC: what the calls of a worker have in common for them.

use proto::grpc::{self, Status};
use proto::gzip::{self, Gzip, Unpacked};

/// Memory beyond this goes back once it isn't needed any more.
const KEPT_BYTES_MAX: usize = 256 * 1024;

/// Compresses and decompresses messages, one after the other.
#[derive(Debug, Default)]
pub(super) struct Press {
    gzip: Option<Box<Gzip>>,
    /// A message without its compression, or some before it.
    plain: Vec<u8>,
}

impl Press {
    /// A message as it was before it was compressed, if it is: up to `most` bytes.
    ///
    /// # Errors
    /// With what the call ends.
    pub(super) fn unpack<'m>(
        &'m mut self,
        message: &'m [u8],
        packed: bool,
        most: usize,
    ) -> Result<&'m [u8], (Status, &'static str)> {
        if !packed {
            return Ok(message);
        }
        self.clear();
        match gzip::unpack(message, most, &mut self.plain) {
            Ok(()) => Ok(&self.plain),
            Err(Unpacked::Broken) => Err((
                Status::Internal,
                "the message is said to be compressed by gzip, and can't be decompressed",
            )),
            Err(Unpacked::TooLong) => Err((
                Status::ResourceExhausted,
                "the message is longer than the limit once it is decompressed",
            )),
        }
    }

    /// Compresses the messages that stand in `replies` behind so many bytes, each behind its
    /// prefix.
    pub(super) fn pack(&mut self, replies: &mut Vec<u8>, before: usize) {
        if replies.len() == before {
            return;
        }
        self.clear();
        self.plain.extend_from_slice(&replies[before..]);
        replies.truncate(before);
        let gzip = self.gzip.get_or_insert_default();
        let mut rest = &self.plain[..];
        while let Some((prefix, behind)) = rest.split_first_chunk::<5>() {
            let [_, length @ ..] = *prefix;
            let length = u32::from_be_bytes(length) as usize;
            let (message, next) = behind.split_at(length.min(behind.len()));
            if grpc::encode_gzipped(message, gzip, replies).is_err() {
                // Only a message of nearly 4 GiB becomes too long.
                replies.extend_from_slice(prefix);
                replies.extend_from_slice(message);
            }
            rest = next;
        }
    }

    fn clear(&mut self) {
        self.plain.clear();
        self.plain.shrink_to(KEPT_BYTES_MAX);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_said_is_compressed_message_by_message_and_comes_back() {
        let mut press = Press::default();
        let mut said = b"said before".to_vec();
        let texts = [&b"a"[..], b"", &[7; 300_000]];
        for text in texts {
            grpc::encode(text, &mut said).unwrap();
        }
        press.pack(&mut said, 11);
        let mut rest = said.strip_prefix(b"said before").unwrap();
        for text in texts {
            let (prefix, behind) = rest.split_first_chunk::<5>().unwrap();
            let [flag, length @ ..] = *prefix;
            assert_eq!(flag == 1, !text.is_empty());
            let (message, next) = behind.split_at(u32::from_be_bytes(length) as usize);
            let came = press.unpack(message, flag == 1, text.len());
            assert!(came == Ok(text), "{} bytes", text.len());
            rest = next;
        }
        assert_eq!(rest, b"");
        let packed = said.len();
        press.pack(&mut said, packed);
        assert_eq!(said.len(), packed, "nothing was said");
    }

    #[test]
    fn what_is_no_gzip_or_becomes_too_long_ends_a_call() {
        let mut press = Press::default();
        let mut said = Vec::new();
        grpc::encode(&[0; 1000], &mut said).unwrap();
        press.pack(&mut said, 0);
        let status = |press: &mut Press, message: &[u8], most| {
            press
                .unpack(message, true, most)
                .map_err(|(status, _)| status)
                .map(<[u8]>::len)
        };
        assert_eq!(status(&mut press, &said[5..], 1000), Ok(1000));
        let too_long = Err(Status::ResourceExhausted);
        assert_eq!(status(&mut press, &said[5..], 999), too_long);
        let broken = Err(Status::Internal);
        assert_eq!(status(&mut press, &said[5..20], 1000), broken);
        assert_eq!(status(&mut press, b"gzip", 1000), broken);
        assert_eq!(status(&mut press, b"", 1000), broken);
    }
}

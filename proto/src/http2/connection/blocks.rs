//! Blocks of fields: putting them together, and which message they belong to.

use super::super::Role;
use super::super::faults;
use super::super::frame::{self, Header, flag};
use super::super::message::Kind;
use super::{Block, Come, Connection, Fields, Incoming, compression, empty};

impl Connection {
    #[inline]
    pub(super) fn read_headers(
        &mut self,
        header: Header,
        payload: &[u8],
        out: &mut Vec<u8>,
    ) -> Come<'static> {
        let (fragment, depends_on_itself) = frame::fragment(header, payload)?;
        let block = Block {
            stream: header.stream,
            end: header.has(flag::END_STREAM),
            depends_on_itself,
            continuations: 0,
        };
        if header.has(flag::END_HEADERS) {
            return self.read_block(block, fragment, out);
        }
        if fragment.is_empty() {
            self.count_idle()?;
        }
        self.fields().fragments.extend_from_slice(fragment);
        self.block = Some(block);
        Ok(None)
    }

    pub(super) fn read_continuation(
        &mut self,
        header: Header,
        payload: &[u8],
        out: &mut Vec<u8>,
    ) -> Come<'static> {
        let mut block = self.block.take().ok_or(faults::CONTINUES_NOTHING)?;
        let limits = &self.config.limits;
        let block_bytes_max = limits.header_list_bytes.saturating_add(limits.frame_bytes);
        block.continuations += 1;
        if block.continuations > limits.continuations {
            return Err(faults::CONTINUATIONS);
        }
        let fragments = &mut self.fields().fragments;
        if fragments.len() + payload.len() > block_bytes_max as usize {
            return Err(faults::BLOCK_TOO_LONG);
        }
        fragments.extend_from_slice(payload);
        if !header.has(flag::END_HEADERS) {
            if payload.is_empty() {
                self.count_idle()?;
            }
            self.block = Some(block);
            return Ok(None);
        }
        debug_assert!(self.block.is_none(), "a block goes on that has ended");
        let mut fragments = std::mem::take(&mut self.fields().fragments);
        let come = self.read_block(block, &fragments, out);
        empty(&mut fragments);
        self.fields().fragments = fragments;
        come
    }

    /// A whole block of fields. It must be decoded whatever becomes of its stream, since it may
    /// change the table (RFC 9113 §4.3).
    #[inline]
    fn read_block(&mut self, block: Block, bytes: &[u8], out: &mut Vec<u8>) -> Come<'static> {
        match self.streams.find(block.stream) {
            Some(place) => self.read_message(place, block, bytes, out),
            None if self.role == Role::Server && block.stream > self.highest => {
                self.read_request(block, bytes, out)
            }
            None => {
                self.discard(bytes)?;
                self.check_closed(block.stream)
                    .map_err(|fault| match self.role {
                        Role::Server if block.stream < self.highest => faults::OLD_STREAM,
                        _ => fault,
                    })?;
                if self.role == Role::Server {
                    self.count_idle()?;
                }
                Ok(None)
            }
        }
    }

    /// A block on a stream that is open: the head of a response, or trailers.
    #[inline]
    fn read_message(
        &mut self,
        place: u32,
        block: Block,
        bytes: &[u8],
        out: &mut Vec<u8>,
    ) -> Come<'static> {
        let Some(stream) = self.streams.at(place) else {
            return Ok(None);
        };
        let (head_in, ended_in) = (stream.head_in, stream.ended_in);
        if ended_in {
            self.discard(bytes)?;
            return self.stream_error(place, faults::HALF_CLOSED_STREAM, out);
        }
        let fields = Fields::of(&mut self.fields, &self.config, self.settings_unacked);
        let (memo, kind) = match head_in {
            true => (&mut fields.trailers, Kind::Trailers),
            false => (&mut fields.heads, Kind::Response),
        };
        let list_bytes_max = self.config.limits.header_list_bytes;
        let judged = memo
            .read(&mut fields.decoder, bytes, kind, list_bytes_max)
            .map_err(compression)?;
        let accepted = judged.and_then(|meaning| {
            if block.depends_on_itself {
                return Err(faults::SELF_DEPENDENCY);
            }
            stream.take_list(kind, meaning, block.end)?;
            Ok(meaning)
        });
        let meaning = match accepted {
            Ok(meaning) => meaning,
            Err(fault) => return self.stream_error(place, fault, out),
        };
        if kind == Kind::Response && meaning.status < 200 {
            self.count_idle()?;
        } else {
            self.idle_frames = 0;
        }
        let (id, end) = (block.stream, block.end);
        if end {
            self.end_in(place);
        }
        Ok(Some(match kind {
            Kind::Trailers => Incoming::Trailers { place, id },
            _ => Incoming::Head { place, id, end },
        }))
    }

    /// A block on a new stream: the head of a request.
    #[inline]
    fn read_request(&mut self, block: Block, bytes: &[u8], out: &mut Vec<u8>) -> Come<'static> {
        let (id, end) = (block.stream, block.end);
        debug_assert!(id > self.highest, "stream {id} was opened before");
        self.highest = id;
        let list_bytes_max = self.config.limits.header_list_bytes;
        let fields = self.fields();
        let judged = fields
            .heads
            .read(&mut fields.decoder, bytes, Kind::Request, list_bytes_max)
            .map_err(compression)?;
        if self.closing {
            return Ok(None);
        }
        let refused = if self.streams.open() >= self.config.streams {
            Some(faults::TOO_MANY_STREAMS)
        } else if block.depends_on_itself {
            Some(faults::SELF_DEPENDENCY)
        } else {
            None
        };
        let mut stream = self.new_stream(id);
        let accepted = refused.map_or(Ok(()), Err).and_then(|()| {
            let meaning = match judged {
                Err(fault) if fault == faults::LIST_TOO_LONG => None,
                judged => Some(judged?),
            };
            stream.take_list(Kind::Request, meaning.unwrap_or_default(), end)?;
            Ok(meaning)
        });
        let meaning = match accepted {
            Ok(meaning) => meaning,
            Err(fault) => {
                frame::reset(out, id, fault.code);
                self.resets.remember(id);
                self.charge()?;
                return Ok(None);
            }
        };
        self.idle_frames = 0;
        stream.ended_in = end;
        let place = self.streams.add(stream);
        Ok(Some(match meaning {
            Some(_) => Incoming::Head { place, id, end },
            None => Incoming::HeadTooLong { id, end },
        }))
    }
}

//! Frames that carry no message, and the books that are kept about streams.

use super::super::faults::{self, Fault};
use super::super::frame::{self, Header, flag};
use super::super::hpack::{self, TABLE_BYTES_DEFAULT};
use super::super::streams::Stream;
use super::super::{ErrorCode, Role, settings};
use super::{Come, Connection, Incoming, compression, four};

impl Connection {
    pub(super) fn read_window_update(
        &mut self,
        header: Header,
        payload: &[u8],
        out: &mut Vec<u8>,
    ) -> Come<'static> {
        let increment = frame::u31(four(payload));
        let verdict = |grown: bool| match increment {
            0 => Err(faults::NO_INCREMENT),
            _ if !grown => Err(faults::WINDOW_OVERFLOW),
            _ => Ok(()),
        };
        if header.stream == 0 {
            // Nobody waits for the connection while it has something left.
            let waited = self.send.left() == 0;
            verdict(self.send.change(increment.into()))?;
            return Ok(waited.then_some(Incoming::Credit { id: 0 }));
        }
        // On a stream that has just been closed it is in order (RFC 9113 §5.1).
        let Some(place) = self.streams.find(header.stream) else {
            return Ok(None);
        };
        let grown = |stream: &mut Stream| stream.send.change(increment.into());
        match verdict(self.streams.at(place).is_some_and(grown)) {
            Ok(()) => Ok(Some(Incoming::Credit { id: header.stream })),
            Err(fault) => self.stream_error(place, fault, out),
        }
    }

    pub(super) fn read_reset(&mut self, header: Header, payload: &[u8]) -> Come<'static> {
        let id = header.stream;
        let Some(place) = self.streams.find(id) else {
            self.count_idle()?;
            return Ok(None);
        };
        self.remove(place);
        self.charge()?;
        Ok(Some(Incoming::Reset {
            place,
            id,
            code: ErrorCode(u32::from_be_bytes(four(payload))),
            violation: None,
        }))
    }

    /// Takes the peer's settings and acknowledges them.
    pub(super) fn read_settings(&mut self, payload: &[u8], out: &mut Vec<u8>) -> Come<'static> {
        let changes = settings::read(payload, self.role)?;
        if let Some(bytes) = changes.header_table_bytes {
            // A table as large as it is from the beginning on changes nothing.
            if self.fields.is_some() || bytes < TABLE_BYTES_DEFAULT {
                self.sender().set_table_max(bytes);
            }
        }
        if let Some(streams) = changes.streams {
            self.peer_streams = streams;
        }
        if let Some(window) = changes.initial_window {
            let change = i64::from(window) - i64::from(self.send_initial);
            self.send_initial = window;
            if !self.streams.iter().all(|stream| stream.send.change(change)) {
                return Err(faults::WINDOWS_OVERFLOW);
            }
        }
        self.answer(out, frame::settings_ack)?;
        if self.ready {
            self.count_idle()?;
            return Ok(Some(Incoming::Credit { id: 0 }));
        }
        self.ready = true;
        Ok(Some(Incoming::Ready))
    }

    /// The peer works by our settings from here on.
    pub(super) fn read_settings_ack(&mut self, out: &mut Vec<u8>) -> Come<'static> {
        if !self.settings_unacked {
            self.count_idle()?;
            return Ok(None);
        }
        self.settings_unacked = false;
        let table_bytes = self.config.header_table_bytes;
        if let Some(fields) = &mut self.fields {
            fields.settings_acked(table_bytes);
        }
        let full = self.config.stream_window;
        let change = i64::from(full) - i64::from(self.receive_initial);
        self.receive_initial = full;
        for stream in self.streams.iter() {
            stream.receive.change(change);
            // A window that has shrunk to nothing would wait for DATA that cannot come.
            if !(stream.ended_in || stream.paused)
                && let Some(increment) = stream.receive.refill(full)
            {
                frame::window_update(out, stream.id, increment);
            }
        }
        Ok(None)
    }

    pub(super) fn read_ping(
        &mut self,
        header: Header,
        payload: &[u8],
        out: &mut Vec<u8>,
    ) -> Come<'static> {
        let payload = payload.first_chunk().copied().unwrap_or_default();
        if !header.has(flag::ACK) {
            self.answer(out, |out| frame::ping(out, flag::ACK, payload))?;
            return Ok(None);
        }
        if self.pings_unanswered == 0 {
            self.count_idle()?;
            return Ok(None);
        }
        self.pings_unanswered -= 1;
        Ok(Some(Incoming::Pong(payload)))
    }

    /// Priorities mean nothing any more (RFC 9113 §5.3.2), but their form is still checked.
    pub(super) fn read_priority(
        &mut self,
        header: Header,
        payload: &[u8],
        out: &mut Vec<u8>,
    ) -> Come<'static> {
        self.count_idle()?;
        let fault = if payload.len() != 5 {
            faults::PRIORITY_SIZE
        } else if frame::u31(four(payload)) == header.stream {
            faults::SELF_DEPENDENCY
        } else {
            return Ok(None);
        };
        match self.streams.find(header.stream) {
            Some(place) => self.stream_error(place, fault, out),
            None => Err(fault),
        }
    }

    /// Resets an open stream for what the peer did on it.
    #[cold]
    pub(super) fn stream_error(
        &mut self,
        place: u32,
        fault: Fault,
        out: &mut Vec<u8>,
    ) -> Come<'static> {
        let Some(&mut Stream { id, .. }) = self.streams.at(place) else {
            return Ok(None);
        };
        self.answer(out, |out| frame::reset(out, id, fault.code))?;
        self.forget(place, id);
        self.charge()?;
        Ok(Some(Incoming::Reset {
            place,
            id,
            code: fault.code,
            violation: Some(fault.violation),
        }))
    }

    /// The peer's message on an open stream is complete.
    #[inline]
    pub(super) fn end_in(&mut self, place: u32) {
        if let Some(stream) = self.streams.at(place) {
            stream.ended_in = true;
            if stream.ended_out {
                self.complete(place);
            }
        }
    }

    /// Both messages are complete: that makes up for a stream that came to nothing.
    #[inline]
    pub(super) fn complete(&mut self, place: u32) {
        self.resets_left += u32::from(self.resets_left < self.config.limits.resets);
        debug_assert!(
            self.resets_left <= self.config.limits.resets,
            "a client has more resets left than it was given"
        );
        self.remove(place);
    }

    #[inline]
    pub(super) fn remove(&mut self, place: u32) {
        match self.role {
            Role::Client => self.streams.remove(place),
            Role::Server => self.streams.remove_added(place),
        }
    }

    /// Whether nobody opened this stream yet. A server never opens one.
    #[inline]
    pub(super) fn is_idle(&self, id: u32) -> bool {
        id > self.highest || id & 1 == 0
    }

    /// Whether a message may go on on a stream that is not open: if it was reset by us or comes
    /// after our GOAWAY, the peer may not know yet.
    #[cold]
    pub(super) fn check_closed(&self, id: u32) -> Result<(), Fault> {
        if self.is_idle(id) {
            return Err(faults::IDLE_STREAM);
        }
        let ignored = self.closing && self.role == Role::Server && id > self.last_taken;
        if ignored || self.resets.ids.contains(&id) {
            return Ok(());
        }
        Err(faults::CLOSED_STREAM)
    }

    /// Decodes a block that nobody wants, for what it does to the table.
    #[cold]
    pub(super) fn discard(&mut self, block: &[u8]) -> Result<(), Fault> {
        match self.fields().decoder.decode(block, 0, &mut |_, _| {}) {
            Err(hpack::Error::Compression(violation)) => Err(compression(violation)),
            Ok(()) | Err(hpack::Error::ListTooLong) => Ok(()),
        }
    }

    /// A stream came to nothing because of the client. Opening streams and having them reset, by
    /// oneself (CVE-2023-44487) or by tricking the server (CVE-2025-8671), costs the client nothing
    /// and the server the work, so the budget is limited.
    pub(super) fn charge(&mut self) -> Result<(), Fault> {
        if self.role == Role::Server {
            self.resets_left = self.resets_left.checked_sub(1).ok_or(faults::RESETS)?;
        }
        Ok(())
    }

    /// A frame brought nothing.
    pub(super) fn count_idle(&mut self) -> Result<(), Fault> {
        self.idle_frames += 1;
        if self.idle_frames > self.config.limits.idle_frames {
            return Err(faults::IDLE_FRAMES);
        }
        Ok(())
    }

    /// Writes a frame that the peer's own makes necessary, unless too much of that kind lies there.
    /// Once `out` is shorter than it was after the last, the caller has sent that, and what went
    /// before it.
    fn answer(&mut self, out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) -> Result<(), Fault> {
        let before = out.len();
        if before < self.unsent_end {
            self.unsent_bytes = 0;
        }
        write(out);
        debug_assert!(out.len() >= before, "an answer took output back");
        self.unsent_end = out.len();
        self.unsent_bytes += (out.len() - before) as u32;
        if self.unsent_bytes > self.config.limits.unsent_bytes {
            out.truncate(before);
            return Err(faults::UNSENT);
        }
        Ok(())
    }

    /// The peer may send so much more, on a stream or on the connection.
    #[cold]
    pub(super) fn give_credit(
        &mut self,
        id: u32,
        increment: u32,
        out: &mut Vec<u8>,
    ) -> Result<(), Fault> {
        self.answer(out, |out| frame::window_update(out, id, increment))
    }

    #[cold]
    pub(super) fn fail(&mut self, fault: Fault, out: &mut Vec<u8>) {
        self.go_away(fault.code, out);
        self.failed = Some(fault);
    }
}

//! What connections send: appended to during a turn, and handed over at its end in one send for
//! each connection; or a part of a template, at once.

use engine::{Driver, Payload, Refused, Template};

use super::Core;

impl<D: Driver, X> Core<D, X> {
    /// Whether each connection appends what it sends to a buffer of its own.
    #[inline]
    pub(crate) fn appends(&self) -> bool {
        self.appends
    }

    /// Something may be appended to what a connection sends at the end of this turn, where
    /// connections append what they send.
    #[inline]
    pub(crate) fn append(&mut self, index: usize) {
        if self.appends {
            self.list(index);
        }
    }

    /// Something was perhaps appended to what a connection sends that usually appends nothing.
    #[inline]
    pub(crate) fn appended(&mut self, index: usize) {
        if !self.sessions[index].out.is_empty() {
            self.list(index);
        }
    }

    /// Has a connection looked at when the turn ends, with a buffer to append to until then.
    fn list(&mut self, index: usize) {
        let session = &mut self.sessions[index];
        if session.out.capacity() == 0 {
            session.out = self.driver.buffer();
        }
        if !session.listed {
            session.listed = true;
            self.listed.push(index as u32);
        }
    }

    /// At the end of a turn: everything that was appended leaves, in one send for each connection,
    /// unless one is unfinished there. Ends with a connection that refused its send, because the
    /// driver knows already that the socket is dead and its completion may come too late; then it
    /// is to be called again.
    #[inline]
    pub(crate) fn flush(&mut self) -> Option<usize> {
        while let Some(index) = self.listed.pop() {
            let session = &mut self.sessions[index as usize];
            session.listed = false;
            if session.sending {
                continue;
            }
            session.wire.flush(&mut session.out);
            let bytes = std::mem::take(&mut session.out);
            match session.socket {
                Some(token) if !bytes.is_empty() => {
                    session.sending = true;
                    if self.driver.send(token, Payload::Buffer(bytes)).is_err() {
                        return Some(index as usize);
                    }
                }
                _ => self.driver.recycle(bytes),
            }
        }
        None
    }

    /// Sends the bytes from `start` to `end` of a template at once. One that is not `quiet` is
    /// unfinished until the driver reports it.
    ///
    /// # Errors
    /// The connection is dead, as with [`Core::flush`].
    #[inline]
    pub(crate) fn send_template(
        &mut self,
        index: usize,
        template: Template,
        (start, end): (u32, u32),
        quiet: bool,
    ) -> Result<(), Refused> {
        let session = &mut self.sessions[index];
        let Some(token) = session.socket else {
            return Ok(());
        };
        session.sending = !quiet;
        let payload = Payload::Template {
            template,
            start,
            end,
            quiet,
        };
        self.driver.send(token, payload)
    }

    /// A send that is reported has been taken by the kernel whole: what was appended behind it
    /// leaves at the end of this turn.
    #[inline]
    pub(crate) fn sent(&mut self, index: usize) {
        self.sessions[index].sending = false;
        self.appended(index);
    }

    /// Says goodbye on a connection that is closed next, where its protocol has a word for that
    /// and nothing is unfinished.
    pub(crate) fn take_leave(&mut self, index: usize) {
        let session = &mut self.sessions[index];
        if session.socket.is_none() {
            return;
        }
        if self.appends && session.out.capacity() == 0 {
            session.out = self.driver.buffer();
        }
        session.wire.leave(&mut session.out);
        self.send_rest(index);
    }

    /// Sends what is left to be said on a connection that is closed next, unless a send is
    /// unfinished.
    pub(crate) fn send_rest(&mut self, index: usize) {
        let session = &mut self.sessions[index];
        if let Some(token) = session.socket
            && !session.sending
            && !session.out.is_empty()
        {
            let farewell = std::mem::take(&mut session.out);
            // A peer that is gone already needs no farewell.
            let _ = self.driver.send(token, Payload::Buffer(farewell));
        }
    }
}

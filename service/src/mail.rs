//! Word for a worker from other threads: answers that were made there, and a bell.
//!
//! A worker that nobody has asked for either has none of this: it looks at one pointer a turn.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use engine::Waker;
use exchange::response::Response;

use crate::ticket::Ticket;

/// What other threads have for a worker.
#[derive(Debug, Default)]
pub(crate) struct Mail {
    /// Whether there is something that the worker hasn't looked at.
    rung: AtomicBool,
    answers: Mutex<Vec<(Ticket, Response)>>,
    /// By what the worker's sleep is ended.
    waker: Option<Waker>,
}

impl Mail {
    /// For a worker whose sleep `waker` ends.
    pub(crate) fn new(waker: Option<Waker>) -> Mail {
        Mail {
            waker,
            ..Mail::default()
        }
    }

    /// Whether somebody rang since this was last asked for.
    #[inline]
    pub(crate) fn rang(&self) -> bool {
        // What was written before the bell was rung is seen by whoever finds it rung.
        self.rung.load(Ordering::Relaxed) && self.rung.swap(false, Ordering::AcqRel)
    }

    /// The answers that have come.
    pub(crate) fn take(&self) -> Vec<(Ticket, Response)> {
        std::mem::take(&mut *self.answers.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn ring(&self) {
        // Whoever found it rung already needn't wake: the worker hasn't looked since it was woken.
        if !self.rung.swap(true, Ordering::AcqRel)
            && let Some(waker) = &self.waker
        {
            waker.wake();
        }
    }

    fn post(&self, ticket: Ticket, response: Response) {
        let mut answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        answers.push((ticket, response));
        drop(answers);
        self.ring();
    }
}

/// Has a worker look up: [`Service::rung`](crate::Service::rung) is called on the worker's thread,
/// once for all rings since it was last called. [`Context::bell`](crate::Context::bell) makes one.
///
/// It carries nothing. What there is to tell goes through a channel of the service's own, and the
/// bell is rung behind it:
///
/// ```
/// use std::sync::mpsc::{Receiver, channel};
/// use std::thread;
/// use ringside_server::{Context, Reply, Request, Response, Service, Ticket};
///
/// /// Greets whom another thread looks up.
/// #[derive(Default)]
/// struct Greeter {
///     found: Option<Receiver<(Ticket, String)>>,
/// }
///
/// impl Service for Greeter {
///     fn call(&mut self, _: &Request<'_>, context: &mut Context<'_>) -> Reply {
///         let (ticket, bell) = (context.ticket(), context.bell());
///         let (tell, found) = channel();
///         self.found = Some(found);
///         thread::spawn(move || {
///             let _ = tell.send((ticket, "somebody".to_string()));
///             bell.ring();
///         });
///         Reply::Later
///     }
///
///     fn rung(&mut self, context: &mut Context<'_>) {
///         while let Some(Ok((ticket, name))) = self.found.as_ref().map(Receiver::try_recv) {
///             context.complete(ticket, Response::sentence(200, format!("hello {name}\n")));
///         }
///     }
/// }
/// ```
#[derive(Clone)]
pub struct Bell(Arc<Mail>);

impl Bell {
    pub(crate) fn new(mail: Arc<Mail>) -> Bell {
        Bell(mail)
    }

    /// Rings. From any thread, as often as you like: it costs a system call only where the worker
    /// has looked since the last time.
    pub fn ring(&self) {
        self.0.ring();
    }
}

impl fmt::Debug for Bell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bell").finish_non_exhaustive()
    }
}

/// The right and duty to answer one request from any thread.
/// [`Context::responder`](crate::Context::responder) makes one.
///
/// One that is dropped without an answer, say because its thread panicked, answers 500, so that no
/// client waits for what will never come.
#[derive(Debug)]
#[must_use = "dropped, it answers 500"]
pub struct Responder {
    mail: Arc<Mail>,
    ticket: Ticket,
    answered: bool,
}

impl Responder {
    pub(crate) fn new(mail: Arc<Mail>, ticket: Ticket) -> Responder {
        Responder {
            mail,
            ticket,
            answered: false,
        }
    }

    /// Which request it answers.
    pub fn ticket(&self) -> Ticket {
        self.ticket
    }

    /// Answers the request. Without effect if that is gone, or answered.
    pub fn complete(mut self, response: Response) {
        self.answered = true;
        self.mail.post(self.ticket, response);
    }

    /// Does without an answer from here: somebody else has the ticket.
    pub fn forget(mut self) {
        self.answered = true;
    }
}

impl Drop for Responder {
    fn drop(&mut self) {
        if !self.answered {
            let text = "whoever was to answer this request ended before it did\n";
            self.mail.post(self.ticket, Response::sentence(500, text));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bell_is_heard_once_for_all_that_rang_it() {
        let mail = Arc::new(Mail::default());
        assert!(!mail.rang());
        let bell = Bell::new(Arc::clone(&mail));
        bell.ring();
        bell.clone().ring();
        assert!(mail.rang());
        assert!(!mail.rang());
        bell.ring();
        assert!(mail.rang());
    }

    #[test]
    fn an_answer_comes_with_a_ring_and_a_responder_that_is_dropped_answers_500() {
        let mail = Arc::new(Mail::default());
        let responder = || Responder::new(Arc::clone(&mail), Ticket::NOBODYS);
        responder().complete(Response::empty(204));
        assert!(mail.rang());
        drop(responder());
        responder().forget();
        let statuses = |mail: &Mail| -> Vec<u16> {
            mail.take()
                .iter()
                .map(|(_, response)| response.status)
                .collect()
        };
        assert_eq!(statuses(&mail), [204, 500]);
        assert!(mail.rang());
        assert!(statuses(&mail).is_empty());
    }
}

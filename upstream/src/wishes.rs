//! A [`Desk`] together with what only its owner understands: where upstreams are, and whose
//! exchanges are.

use proto::Misuse;

use crate::config::Config;
use crate::desk::{Desk, Exchange, Upstream};
use crate::request::Request;

/// What services want of upstreams and the worker has not done yet. `A` is an address, `O` what an
/// exchange is begun for.
#[derive(Debug)]
pub struct Wishes<A, O> {
    /// What is wanted.
    pub desk: Desk,
    /// Where those are that the desk declares, in order.
    pub declared: Vec<Vec<A>>,
    /// Connections that all of them may have that were ever declared, saturating.
    pub connections: usize,
    /// Whose the exchanges are that the desk begins.
    pub asked: Vec<(Exchange, O)>,
}

impl<A, O> Wishes<A, O> {
    /// Names an upstream.
    ///
    /// # Errors
    /// As for [`Desk::declare`].
    pub fn declare(&mut self, config: Config<A>) -> Result<Upstream, Misuse> {
        let connections = config.settings().limits.connections;
        let upstream = (self.desk).declare(config.settings(), config.addresses.len())?;
        self.declared.push(config.addresses);
        self.connections = self.connections.saturating_add(connections);
        Ok(upstream)
    }

    /// Names a request to be sent for `owner`.
    ///
    /// # Errors
    /// As for [`Desk::begin`].
    pub fn ask(&mut self, to: Upstream, request: Request, owner: O) -> Result<Exchange, Misuse> {
        let exchange = self.desk.begin(to, request)?;
        self.asked.push((exchange, owner));
        Ok(exchange)
    }
}

impl<A, O> Default for Wishes<A, O> {
    fn default() -> Wishes<A, O> {
        Wishes {
            desk: Desk::default(),
            declared: Vec::new(),
            connections: 0,
            asked: Vec::new(),
        }
    }
}

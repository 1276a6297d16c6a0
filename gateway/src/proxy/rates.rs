//! How many requests a route takes: from buckets of this process, or from those that gateways share
//! through Redis.

use std::fmt::Write;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use measure::time::Time;
use server::{Request, Response};
use sha2::{Digest, Sha256};
use users::Share;

use super::Gateway;
use super::fields::Client;
use crate::config::{RateKey, RateRule};
use crate::metrics::Refusal;
use crate::plan::Plan;
use crate::tokens::Who;

impl Gateway {
    /// Whether a route takes one more request of a key: first of those that need nobody, then, once
    /// it's known who asks, of the others.
    pub(super) fn rate(
        &mut self,
        (route, who): (usize, Option<&Who>),
        request: &Request<'_>,
        client: Client,
        now: Time,
    ) -> Result<(), Response> {
        if self.plan.config.routes[route].rates.is_empty() {
            return Ok(());
        }
        let plan = Arc::clone(&self.plan);
        for (at, rule) in plan.config.routes[route].rates.iter().enumerate() {
            let is_subjects = rule.key == RateKey::Subject;
            if is_subjects != who.is_some() {
                continue;
            }
            let key = match &rule.key {
                RateKey::Subject => Key::Text(who.and_then(|who| who.subject.as_deref())),
                RateKey::Route => Key::None,
                RateKey::Address => {
                    let address = client.address(request, &plan.config.forward);
                    Key::Address(address.map(network))
                }
                RateKey::Field(field) => Key::Bytes(request.field(field)),
            };
            if let Err(wait) = self.take((&plan, route, at), rule, key, now) {
                self.figures.refused(route, Refusal::Rate);
                self.figures.answered(route, 429, Duration::ZERO);
                let seconds = wait.as_millis().div_ceil(1000).max(1);
                let response = Response::sentence(429, "too many requests; try again later\n");
                return Err(response.with_field("Retry-After", seconds.to_string()));
            }
        }
        Ok(())
    }

    fn take(
        &mut self,
        (plan, route, at): (&Plan, usize, usize),
        rule: &RateRule,
        key: Key<'_>,
        now: Time,
    ) -> Result<(), Duration> {
        let name = &*plan.config.routes[route].name;
        if let Some(shared) = &rule.shared {
            self.bucket.clear();
            let _ = write!(self.bucket, "limit:{name}:{at}:");
            let _ = match key {
                Key::None => Ok(()),
                Key::Text(text) => digest(&mut self.bucket, text.unwrap_or_default().as_bytes()),
                Key::Address(Some(address)) => write!(self.bucket, "{address}"),
                Key::Address(None) => Ok(()),
                Key::Bytes(bytes) => digest(&mut self.bucket, bytes.unwrap_or_default()),
            };
            let users = &plan.users[shared.users];
            match users.take(&self.bucket, shared.per_second, shared.burst, now) {
                Share::Taken => return Ok(()),
                Share::Empty(wait) => return Err(wait),
                Share::Own => {}
            }
        }
        self.shared.rates.take((name, at, key), rule.rate, now)
    }
}

/// Half of SHA-256: names of buckets are short whatever clients send, and show nobody's key.
fn digest(name: &mut String, bytes: &[u8]) -> std::fmt::Result {
    let digest = Sha256::digest(bytes);
    digest
        .iter()
        .take(16)
        .try_for_each(|byte| write!(name, "{byte:02x}"))
}

/// What a bucket is for.
#[derive(Clone, Copy, Hash)]
enum Key<'a> {
    None,
    Text(Option<&'a str>),
    Address(Option<IpAddr>),
    Bytes(Option<&'a [u8]>),
}

/// What an address is limited by: of IPv6 the network of 64 bits, all of which one client has
/// (RFC 6177 §2).
fn network(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V6(address) => {
            let bits = u128::from(address) & !u128::from(u64::MAX);
            IpAddr::V6(bits.into())
        }
        address => address,
    }
}

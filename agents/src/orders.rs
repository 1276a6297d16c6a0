//! Orders that are signed: whoever may publish at the broker can neither have a load begun, moved
//! or kept alive nor have it ended in the name of its coordinator.
//!
//! A coordinator that has a key writes its signature behind each order. An agent whose policy names
//! keys takes no other orders once it has a plan. Each order has a number, and none is taken that
//! isn't greater than those before it at the same place, so that nothing that was said once can be
//! said again by somebody else. Open to everybody are the call for agents, whose plan is signed by
//! itself, and the two things that may never fail: who is there, and an end to all load.

use std::collections::VecDeque;

use bytes::Bytes;
use fleet::bus::Subject;
use fleet::message::{Order, Said, decode};
use fleet::{Epoch, RunId};
use nkeys::KeyPair;
use serde::{Deserialize, Serialize};

use crate::signed::{Signer, Wanted};

/// What ends a message that is signed.
const MARK: [u8; 4] = *b"RSSG";
/// Coordinators whose last orders are remembered.
const REMEMBERED: usize = 16;

/// What stands behind an order.
#[derive(Serialize, Deserialize)]
struct Tail {
    /// The public nkey.
    key: String,
    /// Which order of its coordinator it is.
    number: u64,
    signature: Vec<u8>,
}

/// Who signs a coordinator's orders, if anybody does.
pub(crate) struct Notary {
    signer: Option<Signer>,
    number: u64,
}

/// Whose orders an agent takes.
#[derive(Debug)]
pub(crate) struct Guard {
    /// Public nkeys; none: whoever may publish may order.
    by: Vec<String>,
    /// The last orders to this agent and to all, by coordinator.
    last: VecDeque<(RunId, Epoch, [u64; 2])>,
    /// The run of which a refusal was told, and which that was.
    told: Option<(RunId, &'static str)>,
}

impl Notary {
    pub(crate) fn new(signer: Option<Signer>) -> Notary {
        Notary { signer, number: 0 }
    }

    /// A message as it is sent there.
    pub(crate) fn close(&mut self, subject: &Subject, message: Bytes) -> Bytes {
        let is_order = matches!(subject, Subject::Agent(_) | Subject::Agents(_));
        let Some(signer) = self.signer.as_ref().filter(|_| is_order) else {
            return message;
        };
        self.number += 1;
        // What can't be signed is refused by whoever wants signatures.
        closed(signer, self.number, &message).unwrap_or(message)
    }
}

fn closed(signer: &Signer, number: u64, message: &[u8]) -> Option<Bytes> {
    let tail = Tail {
        key: signer.public(),
        number,
        signature: signer.sign(&text(number, message)).ok()?,
    };
    let tail = postcard::to_allocvec(&tail).ok()?;
    let length = u16::try_from(tail.len()).ok()?.to_be_bytes();
    Some([message, &tail, &length, &MARK].concat().into())
}

/// What is signed.
fn text(number: u64, message: &[u8]) -> Vec<u8> {
    [b"ringside order\n", &number.to_be_bytes()[..], message].concat()
}

/// A message and what stands behind it.
fn split(message: &[u8]) -> (&[u8], Option<Tail>) {
    let tail = || {
        let rest = message.strip_suffix(&MARK)?;
        let (rest, length) = rest.split_last_chunk::<2>()?;
        let at = rest.len().checked_sub(u16::from_be_bytes(*length).into())?;
        let (body, tail) = rest.split_at(at);
        Some((body, postcard::from_bytes(tail).ok()?))
    };
    match tail() {
        Some((body, tail)) => (body, Some(tail)),
        None => (message, None),
    }
}

impl Guard {
    pub(crate) fn new(wanted: &Wanted) -> Guard {
        Guard {
            by: wanted.by().to_vec(),
            last: VecDeque::new(),
            told: None,
        }
    }

    /// What a message says, if whoever sent it may. There is something `at_stake` from when the
    /// agent has a plan until its load has ended.
    ///
    /// # Errors
    /// It may not: why, the first time in a run.
    pub(crate) fn open<'a>(
        &mut self,
        message: &'a [u8],
        at_stake: bool,
    ) -> Result<&'a [u8], Option<String>> {
        let (body, tail) = split(message);
        if self.by.is_empty() {
            return Ok(body);
        }
        let Ok(Said::Order { run, epoch, order }) = decode(body).map(|heard| heard.said) else {
            return Ok(body);
        };
        if is_open(&order, at_stake) {
            return Ok(body);
        }
        let found = self.check(body, tail).and_then(|number| {
            let to_all = usize::from(order.to().is_none());
            self.is_new((&run, epoch), to_all, number)
        });
        match found {
            Ok(true) => Ok(body),
            Ok(false) => Err(None),
            Err(why) => Err(self.refusal(&run, why)),
        }
    }

    /// The number of an order, if it is signed by one of the keys.
    fn check(&self, body: &[u8], tail: Option<Tail>) -> Result<u64, &'static str> {
        let tail = tail.ok_or("isn't signed")?;
        if !self.by.contains(&tail.key) {
            return Err("is signed with a key that the policy doesn't name");
        }
        let pair = KeyPair::from_public_key(&tail.key).map_err(|_| "has no key")?;
        let signed = pair.verify(&text(tail.number, body), &tail.signature);
        match signed {
            Ok(()) => Ok(tail.number),
            Err(_) => Err("has the signature of another one"),
        }
    }

    /// Whether an order wasn't heard before, nor one that came later.
    fn is_new(
        &mut self,
        (run, epoch): (&RunId, Epoch),
        to_all: usize,
        number: u64,
    ) -> Result<bool, &'static str> {
        let is_it = |one: &&mut (RunId, Epoch, [u64; 2])| one.0 == *run && one.1 == epoch;
        if let Some((_, _, last)) = self.last.iter_mut().find(is_it) {
            let is_new = number > last[to_all];
            last[to_all] = last[to_all].max(number);
            return Ok(is_new);
        }
        if self.last.len() == REMEMBERED {
            self.last.pop_front();
        }
        let mut last = [0; 2];
        last[to_all] = number;
        self.last.push_back((run.clone(), epoch, last));
        Ok(true)
    }

    fn refusal(&mut self, run: &RunId, why: &'static str) -> Option<String> {
        let told = Some((run.clone(), why));
        if self.told == told {
            return None;
        }
        self.told = told;
        Some(format!(
            "an order of run {run} {why}, and this agent's policy wants that ([signed] by)"
        ))
    }
}

/// Whether an order may come from anybody.
fn is_open(order: &Order, at_stake: bool) -> bool {
    match order {
        // The last two may come from whoever looks after all agents, and may never fail.
        Order::Claim | Order::Taken | Order::Call { .. } | Order::Who | Order::Halt => true,
        Order::Plan { .. }
        | Order::Refuse { .. }
        | Order::Ping { .. }
        | Order::Begin { .. }
        | Order::Beat
        | Order::Stop { .. } => !at_stake,
        Order::Ask { .. } | Order::Move { .. } | Order::Recall | Order::Confirm { .. } => false,
    }
}

#[cfg(test)]
mod tests {
    use fleet::message::{Stop, encode};
    use fleet::{Member, Name};

    use super::*;
    use crate::signed::make_key;

    fn said(order: Order) -> Bytes {
        let said = Said::Order {
            run: Name::new("a-run").unwrap(),
            epoch: Epoch::default(),
            order,
        };
        encode("1.2.3", &said).unwrap()
    }

    fn stop() -> Bytes {
        said(Order::Stop { why: Stop::Asked })
    }

    fn to_all() -> Subject {
        Subject::Agents(Name::new("a-run").unwrap())
    }

    /// Who signs, and his public key.
    fn notary() -> (Notary, String) {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("key");
        let public = make_key(&file).unwrap();
        (Notary::new(Signer::new(&file, None).ok()), public)
    }

    fn guard(by: &str) -> Guard {
        Guard::new(&Wanted::new(vec![by.to_owned()], None).unwrap())
    }

    #[test]
    fn an_order_is_taken_once_and_from_its_key_alone() {
        let ((mut ours, public), (mut strange, _)) = (notary(), notary());
        let mut guard = guard(&public);
        let first = ours.close(&to_all(), stop());
        let second = ours.close(&to_all(), stop());
        assert_eq!(guard.open(&second, true), Ok(&stop()[..]));
        // What was said before, and what somebody kept.
        assert_eq!(guard.open(&first, true), Err(None));
        assert_eq!(guard.open(&second, true), Err(None));
        let mut other = ours.close(&to_all(), stop()).to_vec();
        let behind = said(Order::Recall);
        drop(other.splice(..stop().len(), behind.iter().copied()));
        for (message, part) in [
            (stop(), "a-run isn't signed, and this agent's policy"),
            (strange.close(&to_all(), stop()), "doesn't name"),
            (other.into(), "the signature of another one"),
        ] {
            let why = guard.open(&message, true).unwrap_err().unwrap();
            assert!(why.contains(part), "{why}");
            // It's told once.
            assert_eq!(guard.open(&message, true), Err(None));
        }
        // An agent's own orders have numbers of their own.
        let order = Order::Confirm {
            to: Member {
                agent: Name::new("one").unwrap(),
                epoch: Epoch::default(),
            },
            chain: fleet::chain::Digest::of(b""),
        };
        let inbox = Subject::Agent(Name::new("one").unwrap());
        let (mut early, _) = notary();
        early.signer = ours.signer;
        let confirm = early.close(&inbox, said(order.clone()));
        assert_eq!(guard.open(&confirm, false), Ok(&said(order)[..]));
    }

    #[test]
    fn what_may_never_fail_and_what_harms_nobody_is_taken_from_everybody() {
        let (mut ours, public) = notary();
        let mut guard = guard(&public);
        let (agents, series) = (1, Epoch::default());
        for order in [Order::Who, Order::Halt, Order::Call { agents, series }] {
            guard.open(&said(order), true).unwrap();
        }
        guard.open(&stop(), false).unwrap();
        guard.open(&said(Order::Beat), false).unwrap();
        guard.open(&said(Order::Beat), true).unwrap_err();
        guard.open(&said(Order::Recall), false).unwrap_err();
        // Whoever wants no signatures doesn't mind them.
        let mut open = Guard::new(&Wanted::default());
        let closed = ours.close(&to_all(), stop());
        assert_eq!(open.open(&closed, true), Ok(&stop()[..]));
        // A message that ends like one.
        let odd = [b"RSFL\0\xff\xff".as_slice(), &MARK].concat();
        assert_eq!(open.open(&odd, true), Ok(&odd[..]));
        // Nobody's inbox but agents' has orders.
        let claim = said(Order::Claim);
        let inbox = Subject::Coordinator(Name::new("a-run").unwrap());
        assert_eq!(ours.close(&inbox, claim.clone()), claim);
    }
}

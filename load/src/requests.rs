//! Where the requests of a worker come from that differ: a workload, or a script.

use workload::{Flows, Maker, Said, Users};

use crate::script::Scripted;

/// See the module.
#[derive(Debug)]
pub(crate) enum Requests {
    /// The steps of a workload.
    Mix(Box<Maker>),
    /// The steps of a flow, of which each connection has its own next one. Requests that are due,
    /// wait for a connection or are made ahead aren't asked of it. What it answers to that below is
    /// never used, since `Plan::validate` (`validate_flow`) refuses flows in an open loop, without
    /// keep-alive, pipelined, by weight and to several servers.
    Flow(Box<Flows>),
    /// What users send, of whom each connection has its own one. Of them the same isn't asked,
    /// either: `worker::users` has them go on.
    Users(Box<Users>),
    /// What a script makes.
    Script(Box<Scripted>),
}

/// A request that is sent later.
#[derive(Debug)]
pub(crate) enum Made {
    /// Of a workload.
    Mix(workload::Made),
    /// Of a script: the bytes.
    Script(Vec<u8>),
}

impl Made {
    /// How many bytes it has.
    pub(crate) fn bytes(&self) -> usize {
        match self {
            Made::Mix(made) => made.bytes(),
            Made::Script(bytes) => bytes.len(),
        }
    }
}

impl Requests {
    /// The steps of a workload.
    pub(crate) fn of(maker: Maker, worker: u32) -> Requests {
        let maker = match Flows::new(maker) {
            Ok(flows) => return Requests::Flow(Box::new(flows)),
            Err(maker) => maker,
        };
        match Users::new(maker, worker) {
            Ok(users) => Requests::Users(Box::new(users)),
            Err(maker) => Requests::Mix(maker),
        }
    }

    /// For each step, where its figures are; empty where there are no steps.
    pub(crate) fn figures(&self) -> &[u16] {
        match self {
            Requests::Mix(maker) => maker.source().figures(),
            Requests::Flow(flows) => flows.source().figures(),
            Requests::Users(users) => users.source().figures(),
            Requests::Script(_) => &[],
        }
    }

    /// How many rules answers have to meet that aren't those of the plan.
    pub(crate) fn rules(&self) -> usize {
        match self {
            Requests::Users(users) => users.rules(),
            Requests::Mix(_) | Requests::Flow(_) | Requests::Script(_) => 0,
        }
    }

    /// Whether somebody is told of the answers.
    pub(crate) fn hears(&self) -> bool {
        match self {
            Requests::Mix(_) | Requests::Flow(_) => false,
            Requests::Users(_) => true,
            Requests::Script(script) => script.needs().response,
        }
    }

    /// Whether there is no further request.
    #[inline]
    pub(crate) fn is_over(&self) -> bool {
        match self {
            Requests::Mix(maker) => maker.is_over(),
            Requests::Flow(flows) => flows.is_over(),
            Requests::Users(users) => users.is_over(),
            Requests::Script(script) => script.is_over(),
        }
    }

    /// What went wrong, if that is why there is no further request.
    pub(crate) fn broken(&self) -> Option<&str> {
        match self {
            Requests::Mix(maker) => maker.broken(),
            Requests::Flow(flows) => flows.broken(),
            Requests::Users(users) => users.broken(),
            Requests::Script(script) => script.broken(),
        }
    }

    /// Of `count` requests that could be sent at once, how many there are.
    pub(crate) fn ready(&mut self, count: u32) -> u32 {
        match self {
            Requests::Mix(maker) => maker.ready(count),
            Requests::Flow(_) | Requests::Users(_) => 0,
            Requests::Script(script) => script.ready(count),
        }
    }

    /// The step of the next request; see [`Maker::next_step`].
    #[inline]
    pub(crate) fn next_step(&mut self) -> u16 {
        match self {
            Requests::Mix(maker) => maker.next_step(),
            Requests::Flow(flows) => flows.next_step(),
            Requests::Users(_) => 0,
            Requests::Script(script) => {
                script.advance();
                0
            }
        }
    }

    /// The step of the next request, which will never be sent.
    pub(crate) fn pass_over(&mut self) -> u16 {
        match self {
            Requests::Mix(maker) => maker.pass_over(),
            Requests::Flow(_) | Requests::Users(_) => 0,
            Requests::Script(script) => {
                script.pass_over();
                0
            }
        }
    }

    /// Which request of a log is the next one; 0 where there is none.
    pub(crate) fn request(&self) -> u32 {
        match self {
            Requests::Mix(maker) => maker.request(),
            Requests::Flow(_) | Requests::Users(_) | Requests::Script(_) => 0,
        }
    }

    /// The next one is one that was refused; of a log the same one.
    pub(crate) fn say_again(&mut self, refused: &session::Exchange) {
        if let Requests::Mix(maker) = self {
            maker.say_again(refused.step(), refused.request);
        }
    }

    /// What the next request says; see [`Maker::say`].
    #[inline]
    pub(crate) fn say(&mut self, step: u16) -> Said<'_> {
        match self {
            Requests::Mix(maker) => maker.say(step),
            Requests::Flow(flows) => flows.say(step),
            Requests::Users(users) => users.say(),
            Requests::Script(script) => script.say(),
        }
    }

    /// The same, to be said later by [`Requests::say_made`].
    pub(crate) fn take(&mut self, step: u16) -> Made {
        match self {
            Requests::Mix(maker) => Made::Mix(maker.take(step)),
            Requests::Flow(_) | Requests::Users(_) => Made::Mix(workload::Made::default()),
            Requests::Script(script) => Made::Script(script.take()),
        }
    }

    /// Has `say` say what was taken.
    pub(crate) fn say_made(&mut self, made: Made, say: impl FnOnce(Said<'_>)) {
        match (self, made) {
            (Requests::Mix(maker), Made::Mix(made)) => {
                say(maker.source().say(&made));
                maker.give_back(made);
            }
            (Requests::Script(script), Made::Script(bytes)) => {
                say(Scripted::said(&bytes));
                script.give_back(bytes);
            }
            (Requests::Flow(_) | Requests::Users(_), _)
            | (Requests::Mix(_), Made::Script(_))
            | (Requests::Script(_), Made::Mix(_)) => {}
        }
    }

    /// Makes a request ahead, if there is room for one and one to make; false if not.
    #[inline]
    pub(crate) fn make_ahead(&mut self) -> bool {
        match self {
            Requests::Mix(maker) => maker.make_ahead(),
            Requests::Flow(_) | Requests::Users(_) => false,
            Requests::Script(script) => script.make_ahead(),
        }
    }
}

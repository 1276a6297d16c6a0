//! What a worker has ready before it begins: requests that never change, and its memory.

use engine::{Broken, Driver, Template};
use measure::random::Random;

use super::Assignment;
use crate::connection::Route;
use crate::requests::Requests;
use session::{Memory, Recorder};

/// Requests that lie with the driver, one behind the other.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frozen {
    pub template: Template,
    /// Bytes of one request.
    pub bytes_each: u32,
    /// How many of them a send may begin with, which is left to chance.
    pub starts: u32,
}

/// What is remembered of answers that must meet rules, or that a script is told of. What cookies
/// come with isn't quoted, since it may repeat one, also one that has been replaced since; nor is
/// what may repeat a secret that a template made.
pub(super) fn remember(route: &Route, maker: Option<&Requests>) -> Memory {
    if let Some(Requests::Users(_)) = maker {
        return Memory::asking().listening(route.listens);
    }
    let hears = maker.is_some_and(Requests::hears);
    let habits = route.habits.as_ref();
    let quotes = route.quotes && !habits.is_some_and(|habits| habits.keeps_cookies());
    Memory::new(route.rules.clone(), hears, quotes).listening(route.listens)
}

/// Registers the requests that can be encoded before the run: how many of them one send carries at
/// most, whether such sends are quiet, and where they lie. Others are encoded as they are sent.
pub(super) fn freeze<D: Driver>(
    driver: &mut D,
    assignment: &Assignment,
    random: &mut Random,
) -> Result<(u32, bool, Option<Frozen>), Broken> {
    let speech = &assignment.route.speech;
    let alike = assignment.maker.is_none() && assignment.route.habits.is_none();
    let requests = alike.then(|| speech.frozen(assignment.depth, random));
    let Some(requests) = requests.flatten() else {
        return Ok((assignment.depth, false, None));
    };
    let template = driver
        .register(&requests.bytes)
        .map_err(|refused| Broken(format!("the request cannot be registered: {refused:?}")))?;
    let frozen = Frozen {
        template,
        bytes_each: requests.bytes_each,
        starts: requests.starts,
    };
    Ok((requests.burst, requests.quiet, Some(frozen)))
}

/// What is counted besides the whole: by step, and by rule.
pub(super) fn by_kind(recorder: Recorder, route: &Route, maker: Option<&Requests>) -> Recorder {
    let figures = maker.map_or(&[][..], Requests::figures);
    let rules = route.rules.as_ref().map_or(0, |rules| rules.count());
    let (has_users, own) = match maker {
        Some(users @ Requests::Users(_)) => (true, users.rules()),
        _ => (false, 0),
    };
    recorder.by_kind(figures, has_users, rules + own)
}

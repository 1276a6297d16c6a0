//! What somebody can't do who hears everything on the bus and may speak there.

use bytes::Bytes;
use fleet::coordinator::End;
use fleet::division::places;
use fleet::message::{Order, Said, decode, encode};

use crate::world::{SECOND, Setup};

/// The plan that the second agent is about to get, with the place of the first of three.
fn with_another_place(number: usize, message: &[u8]) -> Option<Bytes> {
    let mut said = decode(message).ok()?.said;
    let Said::Order {
        order: Order::Plan { place, .. },
        ..
    } = &mut said
    else {
        return None;
    };
    *place = places(&[2, 2, 2]).unwrap()[0];
    (number == 1).then(|| encode("1.2.3", &said).unwrap())
}

#[test]
fn nobody_sends_anothers_share_because_a_stranger_was_faster_with_the_plan() {
    let mut setup = Setup::of(3, 10);
    setup.forged = Some(with_another_place);
    let seen = setup.run();
    assert_eq!(seen.violations, [""; 0], "{:?}", seen.notes);
    // The others were told when to begin, and told to let it be before that.
    for (number, begins, ended) in &seen.loads {
        assert!(*number != 1 && ended < begins, "{:?}", seen.loads);
    }
    let notes = seen.notes.join("\n");
    let why = "agent agent-1 left the run: somebody else than its coordinator sent it the plan";
    assert!(notes.contains(why), "{notes}");
    assert_eq!(seen.ends, [End::Recorded]);
    let record = &seen.outcomes[0].record;
    assert!(!record.complete && record.figures.totals.completed == 0);
    let took = seen.coordinator_ended_at;
    assert!(took < 10 * SECOND, "nobody is waited for: {took}");
}

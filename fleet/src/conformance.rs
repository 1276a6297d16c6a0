//! What every end of a bus has to do, for tests: one suite for the end in memory and for those that
//! have a broker under them.

use bytes::Bytes;

use crate::bus::{Bus, Refused, Subject};
use crate::message::MESSAGE_MAX;
use crate::words::Name;

/// A bus under test, without faults.
pub trait Ground {
    /// Its ends.
    type End: Bus;

    /// A new end of the same bus.
    fn end(&mut self) -> Self::End;

    /// Waits until everything that was subscribed and published has had its effect.
    fn settle(&mut self);
}

/// Holds a bus to its contract.
///
/// # Panics
/// Where it doesn't keep it.
pub fn check(ground: &mut impl Ground) {
    let run = Name::new("conformance").expect("a name");
    let other = Name::new("conformance-2").expect("a name");
    everybody_hears_a_broadcast_once(ground, &run);
    an_inbox_is_its_owners_alone(ground, [&run, &other]);
    nothing_comes_of_what_was_said_before_or_after(ground, &run);
    a_message_comes_whole_and_in_order(ground, &run);
}

fn all(end: &mut impl Bus) -> Vec<Bytes> {
    std::iter::from_fn(|| end.next()).collect()
}

fn say(end: &mut impl Bus, subject: &Subject, what: &'static [u8]) {
    let said = end.publish(subject, Bytes::from_static(what));
    assert_eq!(said, Ok(()), "{subject}");
}

fn everybody_hears_a_broadcast_once(ground: &mut impl Ground, run: &Name) {
    let subject = Subject::Agents(run.clone());
    let mut ends = [ground.end(), ground.end(), ground.end()];
    ends.iter_mut().for_each(|end| end.subscribe(&subject));
    ground.settle();
    say(&mut ends[0], &subject, b"to all");
    ground.settle();
    for end in &mut ends {
        assert_eq!(
            all(end),
            ["to all"],
            "a broadcast comes once, to its sender, too"
        );
    }
}

fn an_inbox_is_its_owners_alone(ground: &mut impl Ground, [run, other]: [&Name; 2]) {
    let inboxes = [
        Subject::Agent(run.clone()),
        Subject::Agent(other.clone()),
        Subject::Coordinator(run.clone()),
        Subject::Coordinator(other.clone()),
        Subject::Agents(run.clone()),
        Subject::Agents(other.clone()),
        Subject::Call,
    ];
    let mut ends: Vec<_> = inboxes.iter().map(|_| ground.end()).collect();
    for (end, inbox) in ends.iter_mut().zip(&inboxes) {
        end.subscribe(inbox);
    }
    let mut sender = ground.end();
    ground.settle();
    for (place, inbox) in inboxes.iter().enumerate() {
        say(&mut sender, inbox, b"to one");
        ground.settle();
        for (own, end) in ends.iter_mut().enumerate() {
            let expected = usize::from(own == place);
            assert_eq!(all(end).len(), expected, "{} at {inbox}", inboxes[own]);
        }
    }
    assert!(all(&mut sender).is_empty(), "it listens at nothing");
}

fn nothing_comes_of_what_was_said_before_or_after(ground: &mut impl Ground, run: &Name) {
    let subject = Subject::Agents(run.clone());
    let (mut speaker, mut listener) = (ground.end(), ground.end());
    say(&mut speaker, &subject, b"before");
    ground.settle();
    listener.subscribe(&subject);
    ground.settle();
    say(&mut speaker, &subject, b"now");
    ground.settle();
    listener.unsubscribe(&subject);
    ground.settle();
    say(&mut speaker, &subject, b"after");
    ground.settle();
    assert_eq!(all(&mut listener), ["now"]);
}

fn a_message_comes_whole_and_in_order(ground: &mut impl Ground, run: &Name) {
    let subject = Subject::Agent(run.clone());
    let (mut speaker, mut listener) = (ground.end(), ground.end());
    listener.subscribe(&subject);
    ground.settle();
    let every: Vec<u8> = (0..=255).cycle().take(MESSAGE_MAX).collect();
    let messages = [Bytes::new(), Bytes::from(vec![0; 3]), Bytes::from(every)];
    for message in &messages {
        assert_eq!(speaker.publish(&subject, message.clone()), Ok(()));
    }
    ground.settle();
    assert!(
        all(&mut listener) == messages,
        "from one end, in order and whole"
    );
    let too_long = Bytes::from(vec![0; MESSAGE_MAX + 1]);
    assert_eq!(speaker.publish(&subject, too_long), Err(Refused::TooLong));
    ground.settle();
    assert!(all(&mut listener).is_empty());
}

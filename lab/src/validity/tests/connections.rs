//! Why Little's law is not held against a round: the reason is that of its connections.

use super::*;

/// What is said of the law, where the generator has left it open and one more thing is changed.
fn unknown(change: impl FnOnce(&mut Record)) -> String {
    let mut round = well();
    let open = record(&mut round);
    open.generator.littles_law_gap = None;
    change(open);
    let looked = round::look(Seen::of(&round)).into_iter();
    let mut of_law = looked.filter(|(check, _)| *check == Check::LittlesLaw);
    match of_law.next() {
        Some((_, Looked::Unknown(why))) => why,
        other => panic!("{other:?}"),
    }
}

#[test]
fn littles_law_says_why_it_was_not_held_against_a_round() {
    let closing = |record: &mut Record| {
        record.response_time_us.count = Some(722);
        record.connections.opened = 722;
        record.connections.reopened = 712;
    };
    let each = unknown(closing);
    assert!(
        each.starts_with("the server closes each connection"),
        "{each}"
    );
    let asked = unknown(|record| {
        closing(record);
        let mut plan = Plan::new("http://127.0.0.1:1/").expect("a URL");
        plan.keep_alive = false;
        record.plan = plan.recorded();
    });
    assert!(
        asked.starts_with("each request has a connection"),
        "{asked}"
    );
    let open = unknown(|record| record.offered_rate = Some(50.0));
    assert!(open.ends_with("and this is an open one"), "{open}");
    let failed = unknown(|record| record.exchanges.failed = 3);
    assert!(failed.ends_with("no request failed, and 3 did"), "{failed}");
}

//! Pages are checked as a browser would read them: balanced, without anything from outside, and
//! with everything from outside as text.

use maud::html;
use measure::counters::ErrorKind;
use measure::hold::{Facts, Memory, Tally};
use measure::host::Host;
use measure::record::{EndedBy, Generator};
use measure::time::Time;

use super::page::*;
use super::plot::*;
use crate::alone::{balanced, stands_alone};

const HOSTILE: &str = "<script>alert(1)</script>\"' onload=\"x & <b>";

/// A page with each part that there is, and somebody's worst name in every place.
fn everything() -> String {
    let axis = |scale| Axis::new(HOSTILE, scale, |value| format!("{value:.2} <i>"));
    let (x, y) = (axis(Scale::Linear), axis(Scale::Log));
    let mut one = Series::new(HOSTILE, 3, vec![(0.0, 1.0), (1.0, 20.0), (2.0, 300.0)]);
    one.curves[0].band = vec![(0.0, 0.5, 2.0), (2.0, 200.0, 400.0)];
    let two = Series::new("two", 12, vec![(0.0, 2.0), (2.0, 3.0)]);
    let series = [one, two];
    let marks = [
        Line::Upright(1.9, HOSTILE.to_owned()),
        Line::Level(10.0, HOSTILE.to_owned()),
    ];
    let shares = vec![
        (0.0, 1.0),
        (0.5, 2.0),
        (0.9, 3.0),
        (0.99, 9.0),
        (0.997, 11.0),
    ];
    let interval = |range| Interval {
        name: HOSTILE.to_owned(),
        style: 1,
        range,
        value: HOSTILE.to_owned(),
        more: HOSTILE.to_owned(),
    };
    let checked = |state, found: &[&str]| Checked {
        what: HOSTILE.to_owned(),
        state,
        found: found.iter().map(|text| (*text).to_owned()).collect(),
    };
    let reference = Reference {
        at: 1.0,
        means: HOSTILE.to_owned(),
        band: (0.95, 1.05),
    };
    let found = Found {
        tone: Tone::Good,
        sign: "▲",
        says: HOSTILE.to_owned(),
        rests: HOSTILE.to_owned(),
    };
    let body = html! {
        (lines(HOSTILE, HOSTILE, (&x, &y), &series, &marks))
        (multiples(HOSTILE, HOSTILE, (&x, &y), &series, &marks))
        (percentiles(HOSTILE, HOSTILE, &y, &[Series::new(HOSTILE, 0, shares)]))
        (intervals(HOSTILE, HOSTILE, &axis(Scale::Log), reference,
            &[interval(Some((0.9, 1.2, 1.4))), interval(None)]))
        (spark(HOSTILE, 2, &[(0.0, 1.0), (1.0, 2.0)]))
        (table(HOSTILE, &[(HOSTILE, Column::Words), (HOSTILE, Column::Figures)],
            &[vec![Cell::text(HOSTILE), Cell::text(HOSTILE).under(HOSTILE)],
              vec![Cell::text("b"), Cell::none()]]))
        (facts(&[(HOSTILE, html! { (HOSTILE) })]))
        (checks(&[
            checked(State::Passed, &[]),
            checked(State::Unknown, &[HOSTILE]),
            checked(State::Found(Tone::Void), &[HOSTILE, HOSTILE]),
        ]))
        (note(Tone::Warn, HOSTILE, HOSTILE)) (badge(Tone::Void, HOSTILE)) (code(HOSTILE))
        (sentences(&[HOSTILE.to_owned()])) (details(HOSTILE, bar(0.4, 9)))
    };
    let lead = html! { (kicker(&[HOSTILE.to_owned(), HOSTILE.to_owned()])) (verdicts(&[found])) };
    let section = |heading: &str| Section::new(heading, HOSTILE, body.clone());
    let sections = [
        section("One"),
        section("Two"),
        section("Three"),
        section(HOSTILE),
    ];
    page(HOSTILE, lead, &sections)
}

#[test]
fn a_page_is_balanced_and_needs_nothing_but_itself() {
    stands_alone(&everything());
}

#[test]
fn names_from_outside_are_text_wherever_they_stand() {
    let text = everything();
    assert!(
        !text.contains("<script") && !text.contains("<b>\""),
        "{text}"
    );
    assert!(text.contains("&lt;script&gt;alert(1)&lt;/script&gt;"));
}

#[test]
fn nothing_from_outside_commands_a_terminal_that_shows_the_page() {
    let text = page("a\x1b[31mred\u{9b}2J", html! {}, &[]);
    assert!(text.contains("a\\u{1b}[31mred\\u{9b}2J"), "{text}");
    assert!(!text.contains(['\x1b', '\u{9b}']));
}

#[test]
fn every_picture_has_a_name_for_those_who_cannot_see_it() {
    let text = everything();
    for tag in text
        .split("<svg")
        .skip(1)
        .map(|rest| rest.split('>').next())
    {
        let tag = tag.expect("a tag");
        let named = tag.contains("role=\"img\"") && tag.contains("aria-label=\"");
        let part_of_another = tag.contains("preserveAspectRatio");
        assert!(
            named || part_of_another || tag.contains("aria-hidden"),
            "<svg{tag}>"
        );
    }
}

#[test]
fn nothing_to_show_is_no_empty_plot() {
    let axis = Axis::new("x", Scale::Linear, |value| value.to_string());
    assert_eq!(lines("t", "", (&axis, &axis), &[], &[]).0, "");
    assert_eq!(percentiles("t", "", &axis, &[]).0, "");
    assert_eq!(intervals("t", "", &axis, (1.0, "same"), &[]).0, "");
    assert_eq!(multiples("t", "", (&axis, &axis), &[], &[]).0, "");
    assert_eq!(spark("t", 0, &[]).0, "");
}

#[test]
fn a_hold_is_drawn_over_time_and_what_its_peer_says_stays_text() {
    let mut plan = load::hold::Plan::new("http://127.0.0.1:1/<script>").expect("a plan");
    plan.connections = 1_000;
    let mut tally = Tally::new();
    tally.start(Time(0));
    for second in 1..=4_u64 {
        (0..250).for_each(|_| tally.stands(1_000, None));
        tally.counts.attempts += 250;
        tally.lost(ErrorKind::EarlyClose);
        tally.tick(Time(second * 1_000_000_000));
    }
    tally.stands(1_000, Some(2_000_000));
    (tally.survived, tally.standing) = (996, 997);
    let broadcast = tally.broadcasts.of(0);
    (broadcast.said, broadcast.listeners) = (1, 996);
    (0..995).for_each(|after| tally.broadcasts.heard(0, 1_000_000 + after));
    let facts = Facts {
        asked: 1_000,
        plan: plan.recorded(),
        host: Host::default(),
        generator: Generator::default(),
        opening_s: 2.0,
        duration_s: 2.0,
        broadcast_s: 0.0,
        memory: Memory::default(),
        resident: vec![(0.5, 1 << 20), (3.5, 2 << 20)],
        valid: true,
        warnings: vec!["<b>beware</b>".to_owned()],
        ended_by: EndedBy::Duration,
    };
    let page = super::hold(&load::hold::Record::assemble(&tally, facts));
    balanced(page.trim_end());
    for there in [
        "99.6000 % survived 2.00 s: 996 of 1,000",
        "Attempts and openings",
        "Losses by cause",
        "early close",
        "Memory of this process",
        "held from here",
        "1 said, heard by 995 of 996 listeners",
        "heard by the last",
        "last to hear",
        "include the back-off (100.00ms..30.00s) and the wait for a turn",
        "--open-rate (5000 per second)",
        "&lt;b&gt;beware",
    ] {
        assert!(page.contains(there), "{there} is missing in {page}");
    }
    assert!(!page.contains("<script"), "{page}");
    // Without heartbeats there's nothing to draw of their times.
    assert!(!page.contains("Round trips of heartbeats"), "{page}");
}

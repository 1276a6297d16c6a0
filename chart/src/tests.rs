//! Pages are checked as a browser would read them: balanced, without anything from outside, and
//! with everything from outside as text.

use maud::html;

use crate::alone::stands_alone;
use crate::page::*;
use crate::plot::*;

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
fn a_plot_for_a_script_has_the_frame_and_the_axes_of_all_others() {
    let axis = |scale| Axis::new(HOSTILE, scale, |value| format!("{value:.2} <i>"));
    let (x, y) = (axis(Scale::Linear), axis(Scale::Log));
    let blank = Blank {
        title: HOSTILE,
        more: HOSTILE,
        axes: (HOSTILE, HOSTILE),
        series: &[(HOSTILE, 3), ("two", 12)],
    };
    let body = blank.markup();
    let text = page("t", html! {}, &[Section::new("One", "", body.clone())]);
    stands_alone(&text);
    let series = Series::new("a", 3, vec![(0.0, 1.0), (2.0, 300.0)]);
    let drawn = lines("t", "", (&x, &y), &[series], &[]).into_string();
    let fitted = fitted((&x, &y), [0.0, 2.0], [1.0, 300.0]).expect("values");
    assert!(drawn.contains(&fitted.axes), "{drawn}\n{}", fitted.axes);
    assert_eq!((fitted.x, fitted.y), ((0.0, 2.0), (1.0, 500.0)));
    assert!(fitted.is_log && !fitted.axes.contains("<i>"));
    for (start, end) in [("<svg class=\"chart\"", ">"), ("viewBox=\"", "\"")] {
        let part = |text: &str| {
            let from = text.split(start).nth(1).expect("a part");
            from.split(end).next().map(|part| part.replace("t. <", ""))
        };
        let height = |part: Option<String>| part.map(|part| part[..part.len().min(14)].to_owned());
        assert_eq!(height(part(&body.0)), height(part(&drawn)), "{start}");
    }
}

#[test]
fn a_page_with_a_script_is_a_page_like_the_others() {
    let script = Script {
        sheet: ".own{}",
        text: "let a = 1 < 2;",
        foot: HOSTILE,
    };
    let lead = html! { h1 { "Lead" } };
    let text = scripted(
        HOSTILE,
        lead.clone(),
        &[Section::new("One", "", html! {})],
        &script,
    );
    let plain = page(HOSTILE, lead, &[Section::new("One", "", html! {})]);
    let body = |text: &str| {
        let from = text.find("<body>").expect("a body");
        text[from..text.find("<footer>").expect("its end")].to_owned()
    };
    assert_eq!(body(&text), body(&plain));
    assert!(text.contains("<script>let a = 1 < 2;</script>") && text.contains(".own{}"));
    assert_eq!(text.matches("<script").count(), 1, "{text}");
}

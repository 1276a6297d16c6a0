//! A history as a page: what changed, and each figure over its sessions.

use maud::{Markup, html};
use measure::time::{utc_date, utc_time_of_day};
use report::html::page::{self, Cell, Column, Found, Section, Tone};
use report::html::plot::{Axis, Curve, Line, Scale, Series, lines};

use crate::model::{Change, Figure, Group, History, Point, Program};
use crate::words;

const DAY_S: f64 = 86_400.0;

/// The whole page.
pub fn page(history: &History) -> String {
    let names: Vec<&str> = history
        .groups
        .iter()
        .map(|group| group.name.as_str())
        .collect();
    let extents = history.groups.iter().map(words::extent);
    let kicker: Vec<String> = [names.join(", ")].into_iter().chain(extents).collect();
    let lead = html! {
        (page::kicker(&kicker))
        h1 { "What changed from session to session" }
        (page::verdicts(&found(history)))
    };
    let several = history.groups.len() > 1;
    let mut sections = Vec::new();
    for group in &history.groups {
        let of = |what: &str| match several {
            true => format!("{what}: {} on {}", group.name, group.host),
            false => what.to_owned(),
        };
        sections.push(Section::new(of("Figures"), read(group), plots(group)));
        sections.push(Section::new(
            of("Sessions"),
            group.host.clone(),
            sessions(group),
        ));
        if !group.cautions.is_empty() {
            let body = page::sentences(&group.cautions);
            sections.push(Section::new(of("To be read with care"), "", body));
        }
    }
    if !history.left_out.is_empty() {
        let rows: Vec<Vec<Cell>> = history
            .left_out
            .iter()
            .map(|one| vec![Cell::text(&one.what), Cell::text(&one.why)])
            .collect();
        let headings = [("what", Column::Words), ("why", Column::Wide)];
        let body = page::table("", &headings, &rows);
        sections.push(Section::new("Left out", "", body));
    }
    page::page(&format!("History of {}", names.join(", ")), lead, &sections)
}

/// How to read the plots.
fn read(group: &Group) -> String {
    let drawn = match &group.baseline {
        Some(baseline) => format!(
            "Each point is a session: the row's figure as a multiple of {baseline}'s in the same \
             rounds, with the 95 % interval over these as a band, so that what the host did to \
             all rows cancels out."
        ),
        None => "Each point is a session, with all that the host did in it.".to_owned(),
    };
    drawn
        + " Upright lines are proven changes: all figures drawn here together show one where \
           there is none in at most 5 of 100 histories. Hollow points are bounds."
}

/// The changes of all groups, or that there are none.
fn found(history: &History) -> Vec<Found> {
    let mut found = Vec::new();
    for group in &history.groups {
        for figure in &group.figures {
            let changes = figure.changes.iter();
            found.extend(changes.map(|change| said(group, figure, change)));
        }
    }
    if found.is_empty() {
        found.push(Found {
            tone: Tone::Calm,
            sign: "=",
            says: "No figure is proven to have changed".to_owned(),
            rests: String::new(),
        });
    }
    found
}

fn said(group: &Group, figure: &Figure, change: &Change) -> Found {
    let share = match change.p_value {
        ..0.001 => "in fewer than 1 of 1,000".to_owned(),
        share => format!("in {:.1} of 100", 100.0 * share),
    };
    Found {
        tone: match (&change.program, change.worse) {
            (Program::Same, _) => Tone::Warn,
            (_, true) => Tone::Bad,
            (_, false) => Tone::Good,
        },
        sign: if change.ratio >= 1.0 { "▲" } else { "▼" },
        says: words::change(group, figure, change),
        rests: format!("Sessions in random order have a change as clear {share} orders."),
    }
}

fn plots(group: &Group) -> Markup {
    let judged = |figure: &&Figure| figure.relative || group.baseline.is_none();
    html! {
        @for figure in group.figures.iter().filter(judged) { (plot(group, figure)) }
        (page::details("All points, with the figures themselves", points(group)))
    }
}

fn plot(group: &Group, figure: &Figure) -> Markup {
    let by_time = group.sessions.is_sorted_by_key(|session| session.unix_s);
    let x = match by_time {
        true => Axis::new("when the session began, UTC", Scale::Linear, day),
        false => Axis::new("session, in the order of commits", Scale::Linear, number),
    };
    let place = |session: usize| match by_time {
        true => group.sessions[session].unix_s as f64 / DAY_S,
        false => session as f64 + 1.0,
    };
    let name = match figure.relative {
        true => "multiple of the baseline's",
        false => figure.metric.name(),
    };
    let y = Axis::new(name, Scale::Log, words::value(figure));
    let style = group.figures.iter().position(|one| one.row == figure.row);
    let style = style.unwrap_or(0);
    let marks: Vec<Line> = figure
        .changes
        .iter()
        .map(|change| Line::Upright(place(change.to), said_short(change)))
        .collect();
    let (title, more) = (
        words::heading(group, figure),
        words::unchanged(group, figure),
    );
    let more = match figure.changes.is_empty() {
        true => more.unwrap_or_default(),
        false => String::new(),
    };
    lines(
        &title,
        &more,
        (&x, &y),
        &[series(figure, style, place)],
        &marks,
    )
}

fn said_short(change: &Change) -> String {
    format!("{} {}", words::verb(change), words::by_how_much(change))
}

/// One curve through all sessions, with a shape at each, which is hollow where it is a bound.
fn series(figure: &Figure, style: usize, place: impl Fn(usize) -> f64) -> Series {
    let at = |point: &Point| (place(point.session), point.value);
    let band = |point: &Point| {
        let (low, high) = point.interval.unwrap_or((point.value, point.value));
        (place(point.session), low, high)
    };
    let bounds = figure.points.iter().any(|point| point.bound);
    let whole = Curve {
        points: figure.points.iter().map(at).collect(),
        band: figure.points.iter().map(band).collect(),
        plain: bounds,
        ..Curve::default()
    };
    let alone = |point: &Point| Curve {
        points: vec![at(point)],
        hollow: point.bound,
        ..Curve::default()
    };
    let shapes = figure.points.iter().filter(|_| bounds).map(alone);
    Series {
        curves: std::iter::once(whole).chain(shapes).collect(),
        ..Series::new(figure.row.clone(), style, Vec::new())
    }
}

/// A day since 1970, with the time where it isn't the day's beginning.
fn day(days: f64) -> String {
    let minutes = (days * DAY_S / 60.0).round().max(0.0) as u64;
    let (date, time) = (utc_date(60 * minutes), utc_time_of_day(60 * minutes));
    match time.strip_suffix(":00") {
        Some("00:00") | None => date,
        Some(time) => format!("{date} {time}"),
    }
}

fn number(place: f64) -> String {
    format!("{place}")
}

fn sessions(group: &Group) -> Markup {
    let headings = [
        ("session", Column::Figures),
        ("began, UTC", Column::Words),
        ("commit", Column::Words),
        ("records", Column::Wide),
        ("ringside", Column::Words),
        ("baseline", Column::Wide),
    ];
    let rows: Vec<Vec<Cell>> = group
        .sessions
        .iter()
        .enumerate()
        .map(|(at, session)| {
            let or_none = |text: &Option<String>| text.as_ref().map_or(Cell::none(), Cell::text);
            vec![
                Cell::text((at + 1).to_string()),
                Cell::text(words::moment(session.unix_s)),
                or_none(&session.commit),
                Cell::text(&session.place),
                Cell::text(&session.ringside),
                or_none(&session.other_baseline),
            ]
        })
        .collect();
    let load = group.load.iter();
    let load: Vec<(&String, Markup)> = load
        .map(|(what, value)| (what, html! { (value) }))
        .collect();
    html! {
        (page::facts(&load))
        (page::details("All sessions", page::table("", &headings, &rows)))
    }
}

fn points(group: &Group) -> Markup {
    let headings = [
        ("session", Column::Figures),
        ("figure", Column::Wide),
        ("value", Column::Figures),
        ("the figure itself", Column::Figures),
    ];
    let of = |figure: &Figure| -> Vec<Vec<Cell>> {
        let (write, itself) = (words::value(figure), words::absolute(figure.metric));
        let cells = |point: &Point| {
            let range = |ends: (f64, f64)| format!("{}–{}", write(ends.0), write(ends.1));
            let (low, high) = (point.absolute.lowest, point.absolute.highest);
            vec![
                Cell::text((point.session + 1).to_string()),
                Cell::text(words::heading(group, figure)),
                Cell::text(write(point.value)).under(point.interval.map_or(String::new(), range)),
                Cell::text(itself(point.absolute.median)).under(format!(
                    "{}–{}",
                    itself(low),
                    itself(high)
                )),
            ]
        };
        figure.points.iter().map(cells).collect()
    };
    let rows: Vec<Vec<Cell>> = group.figures.iter().flat_map(of).collect();
    page::table("", &headings, &rows)
}

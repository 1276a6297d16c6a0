//! What a browser is told, by what it has seen: rows of the history, axes that fit them, and the
//! parts of the page that have changed, as HTML.

use std::collections::BTreeMap;

use serde::Serialize;

use super::board::{Progress, Row, Stage, State};
use super::drawing::{self, Plot};

/// What a browser says that it has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Seen {
    /// The last update.
    pub seq: u64,
    /// How many seconds its rows stand for.
    pub each_s: u64,
    /// The first row that it hasn't, or that may have grown.
    pub from: usize,
    /// Which browser this is.
    pub viewer: u64,
}

impl Seen {
    /// What a query says; what it doesn't, hasn't been seen.
    pub(super) fn of(query: &[u8]) -> Seen {
        let number = |name: &[u8]| {
            let digits = parameter(query, name)?;
            std::str::from_utf8(digits).ok()?.parse::<u64>().ok()
        };
        Seen {
            seq: number(b"seq").unwrap_or(0),
            each_s: number(b"each").unwrap_or(0),
            from: number(b"from").map_or(0, |from| from as usize),
            viewer: number(b"viewer").unwrap_or(0),
        }
    }
}

/// A parameter of a query that has no need of percent-encoding.
pub(super) fn parameter<'a>(query: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    let pairs = query.split(|byte| *byte == b'&');
    let mut found = pairs.filter_map(|pair| pair.strip_prefix(name)?.strip_prefix(b"="));
    found.next()
}

#[derive(Serialize)]
struct Update<'a> {
    seq: u64,
    stage: &'static str,
    each: u64,
    /// Where `rows` go; what was there and behind it is over.
    from: usize,
    rows: &'a [Row],
    /// A plot for each of the page's; null where there is nothing to draw.
    plots: Vec<Option<Plot>>,
    /// The parts of the page by their names.
    parts: BTreeMap<&'static str, String>,
}

/// The answer.
pub(super) fn update(state: &State, progress: &Progress, steps: &[String], seen: &Seen) -> String {
    let from = match seen.each_s == state.each_s {
        true => seen.from.min(state.rows.len()),
        false => 0,
    };
    let update = Update {
        seq: state.seq,
        stage: match state.stage {
            Stage::Running => "running",
            Stage::Ending => "ending",
            Stage::Measured => "measured",
            Stage::Over => "over",
        },
        each: state.each_s,
        from,
        rows: &state.rows[from..],
        plots: drawing::plots(&state.rows),
        parts: drawing::parts(state, progress, steps),
    };
    // Numbers and text, all of which JSON can say.
    serde_json::to_string(&update).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::super::board::COLUMNS;
    use super::*;

    #[test]
    fn who_has_seen_some_rows_gets_the_others_and_all_where_they_have_become_longer() {
        let mut state = State::new();
        (0..10).for_each(|at| state.rows.push([Some(f64::from(at)); COLUMNS]));
        state.each_s = 2;
        let got = |each_s, from| {
            let seen = Seen {
                each_s,
                from,
                ..Seen::default()
            };
            let text = update(&state, &Progress::default(), &[], &seen);
            let value: serde_json::Value = serde_json::from_str(&text).unwrap();
            let rows = value["rows"].as_array().unwrap().len();
            (value["from"].as_u64().unwrap(), rows)
        };
        assert_eq!(got(0, 0), (0, 10));
        assert_eq!(got(2, 9), (9, 1));
        assert_eq!(got(1, 9), (0, 10));
        assert_eq!(got(2, usize::MAX), (10, 0));
    }

    #[test]
    fn a_query_says_what_was_seen_and_nonsense_that_nothing_was() {
        let seen = Seen::of(b"seq=7&each=2&from=30&viewer=4294967295&token=ab");
        let said = Seen {
            seq: 7,
            each_s: 2,
            from: 30,
            viewer: 4_294_967_295,
        };
        assert_eq!(seen, said);
        for nonsense in ["", "seq=&from=-1&each=x", "seq=1e9&&&=", "\u{ff}&seqs=3"] {
            assert_eq!(Seen::of(nonsense.as_bytes()), Seen::default(), "{nonsense}");
        }
        assert_eq!(parameter(b"a=1&b=2=3", b"b"), Some(&b"2=3"[..]));
    }
}

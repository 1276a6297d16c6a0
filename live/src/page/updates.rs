//! What a browser is told, by what it has seen: rows of the history, axes that fit them, and the
//! parts of the page, as HTML.

use serde::Serialize;

use super::board::{Stage, State};
use super::drawing;
use super::view::{Parts, Plot, Progress, View};

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
    rows: Vec<&'a [Option<f64>]>,
    /// A plot for each of the page's; null where there is nothing to draw.
    plots: Vec<Option<Plot>>,
    /// The parts of the page by their names; those that are left out are as they were.
    parts: Parts,
}

/// The answer.
pub(super) fn update<V: View + ?Sized>(
    state: &State<V>,
    progress: &Progress,
    seen: &Seen,
) -> String {
    let (view, rows) = (&state.view, state.view.rows());
    let from = match seen.each_s == rows.each_s {
        true => seen.from.min(rows.len()),
        false => 0,
    };
    let is_known = seen.seq == state.seq && !view.has_a_clock();
    let update = Update {
        seq: state.seq,
        stage: match state.stage {
            Stage::Running => "running",
            Stage::Ending => "ending",
            Stage::Measured => "measured",
            Stage::Over => "over",
        },
        each: rows.each_s,
        from,
        rows: rows.iter().skip(from).collect(),
        plots: view.plots(),
        parts: match is_known {
            true => Parts::new(),
            false => drawing::parts(state, progress),
        },
    };
    // Numbers and text, all of which JSON can say.
    serde_json::to_string(&update).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::super::told::Told;
    use super::super::view::Rows;
    use super::*;
    use chart::page::Section;

    /// Something that has rows and nothing else.
    struct Bare(Rows);

    impl View for Bare {
        fn noun(&self) -> &'static str {
            "run"
        }

        fn sections(&self) -> Vec<Section> {
            Vec::new()
        }

        fn rows(&self) -> &Rows {
            &self.0
        }

        fn plots(&self) -> Vec<Option<Plot>> {
            Vec::new()
        }

        fn status(&self, _: &Progress) -> String {
            String::new()
        }

        fn share(&self, _: &Progress) -> Option<f64> {
            None
        }

        fn parts(&self) -> Parts {
            Parts::new()
        }

        fn has_a_clock(&self) -> bool {
            true
        }
    }

    fn answered(state: &State<impl View>, seen: &Seen) -> serde_json::Value {
        serde_json::from_str(&update(state, &Progress::default(), seen)).unwrap()
    }

    #[test]
    fn who_has_seen_some_rows_gets_the_others_and_all_where_they_have_become_longer() {
        let mut rows = Rows::new(3);
        (0..10).for_each(|at| rows.push(&[Some(f64::from(at)), None, Some(0.5)]));
        rows.each_s = 2;
        let state = State::new(Bare(rows));
        let got = |each_s, from| {
            let seen = Seen {
                each_s,
                from,
                ..Seen::default()
            };
            let value = answered(&state, &seen);
            let rows = value["rows"].as_array().unwrap().len();
            (value["from"].as_u64().unwrap(), rows)
        };
        assert_eq!(got(0, 0), (0, 10));
        assert_eq!(got(2, 9), (9, 1));
        assert_eq!(got(1, 9), (0, 10));
        assert_eq!(got(2, usize::MAX), (10, 0));
    }

    #[test]
    fn who_has_seen_what_was_told_last_is_told_nothing_again() {
        let state = State::new(Told::new("comparison", Vec::new()));
        let with = |seq| {
            let seen = Seen {
                seq,
                ..Seen::default()
            };
            answered(&state, &seen)["parts"].as_object().unwrap().len()
        };
        assert_eq!(with(state.seq), 0);
        assert!(with(0) > 0);
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

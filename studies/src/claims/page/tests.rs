//! The pages of a fixed ledger, compared with what is kept in `snapshots/`.

use super::*;
use crate::claims::judge::Interval;
use crate::claims::little::PublishedRow;
use crate::claims::{Judgement, Run, Test};
use crate::snapshot;

fn claim(id: &str, artefact: Option<&str>) -> Claim {
    Claim {
        id: Id::parse(id).expect("a name"),
        statement: "One <server> | serves three times the requests of another.".into(),
        source: "A post".into(),
        published: "3,000 requests/s at 50 ms against 1,000".into(),
        as_published: "Eight cores, 1,000 connections.".into(),
        as_here: "One core, 125 connections.".into(),
        artefact: artefact.map(str::to_owned),
        rows: vec![PublishedRow {
            name: "one".into(),
            rate: 3000.0,
            connections: Some(1000),
            pipeline: 1,
            mean_ms: Some(50.0),
            p99_ms: None,
        }],
        test: Ok(Test {
            run: Run::Comparison("x.toml".into()),
            judges: Vec::new(),
        }),
    }
}

fn entries() -> Vec<Entry> {
    let measured = Judgement {
        word: Word::Weaker,
        sentence: "requests/s of one is 1.98 [1.90, 2.06] times that of other; 3.00 was \
                   published"
            .into(),
        measured: Some(Interval {
            low: 1.9,
            centre: 1.98,
            high: 2.06,
        }),
        published: Some(3.0),
    };
    vec![
        Entry {
            claim: claim("A1", Some("The tool was the limit.")),
            finding: Some(Finding {
                word: Word::Weaker,
                judgements: vec![measured],
                began: Some("2026-11-21T20:12:54Z".into()),
                machine: Some("2 cores, A Processor, Linux 6.18.0".into()),
                folder: Some("x".into()),
            }),
        },
        Entry {
            claim: claim("A2", None),
            finding: Some(Finding::without(Word::CannotBeTested, "Install it.")),
        },
        Entry {
            claim: claim("A10", None),
            finding: None,
        },
    ]
}

fn check(name: &str, text: &str) {
    snapshot::check("claims", name, text);
}

#[test]
fn the_page_in_markdown_shows_claim_against_finding() {
    check(
        "claims.md",
        &markdown(&entries(), "ringside claims page records"),
    );
}

#[test]
fn the_page_in_html_escapes_and_has_a_place_for_each_claim() {
    let page = html(&entries(), "ringside claims page records");
    assert!(page.contains("One &lt;server&gt; | serves"), "{page}");
    for id in [
        "id=\"a1\"",
        "href=\"#a10\"",
        "1.98 [1.90, 2.06] against 3.00",
    ] {
        assert!(page.contains(id), "no {id}");
    }
    assert!(page.contains("would mean 150 in flight at that rate, not 1,000"));
}

#[test]
fn the_summary_counts_in_words() {
    assert_eq!(
        summary(&entries()),
        "Of 3 claims, 1 is weaker, 1 cannot be tested here, 1 was not run."
    );
}

use serde_json::Value;

use crate::page::Page;
use crate::schema::{WORDS, kind};

const PAGES: [&str; 3] = [
    include_str!("../../docs/src/reference/comparison.md"),
    include_str!("../../docs/src/reference/subject.md"),
    include_str!("../../docs/src/reference/gate.md"),
];

#[test]
fn every_type_of_the_reference_is_known_and_every_word_stands_there() {
    let pages = PAGES.map(Page::read);
    let tables: Vec<_> = pages.iter().flat_map(Page::tables).collect();
    for table in &tables {
        assert!(!table.rows.is_empty(), "{}", table.heading);
        for row in &table.rows {
            let known = kind(&table.heading, row, Some(&[])).is_some();
            assert!(known, "{}, {}: {}", table.heading, row.key, row.kind);
            assert!(!row.is.is_empty() && !row.is.contains("]("), "{}", row.is);
        }
    }
    for (heading, key, words) in WORDS {
        let mut all = tables.iter().filter(|table| table.heading == heading);
        let found = all.any(|table| table.rows.iter().any(|row| row.key == key));
        assert!(found, "{heading} has no {key}");
        for word in words {
            // As a value: `"word"`, `word` alone, or without the SIG of signals.
            let short = word.trim_start_matches("SIG");
            let forms = [
                format!("\"{word}\""),
                format!("`{word}`"),
                format!("\"{short}\""),
            ];
            let stands = |page: &&str| forms.iter().any(|form| page.contains(form));
            assert!(PAGES.iter().any(stands), "{heading}, {key}: {word}");
        }
    }
}

#[test]
fn a_key_has_its_type_its_default_and_the_words_of_the_book() {
    let schema: Value = serde_json::from_str(&crate::comparison()).unwrap();
    let rounds = &schema["properties"]["rounds"];
    assert_eq!(
        (&rounds["type"], &rounds["default"]),
        (&"integer".into(), &7.into())
    );
    let said = "how many times each row is measured, 1 to 1,000";
    assert_eq!(rounds["description"], said);
    let rows = &schema["$defs"]["rows"];
    assert_eq!(rows["required"], serde_json::json!(["name", "subject"]));
    assert_eq!(
        rows["properties"]["workload"]["$ref"],
        "#/$defs/rows.workload"
    );
    let difference = &schema["$defs"]["rows.workload"]["properties"];
    assert!(difference["rate"].is_null() && difference["path"].is_object());
    assert!(difference["path"]["default"].is_null());
    let gate: Value = serde_json::from_str(&crate::gate()).unwrap();
    assert!(gate["properties"]["phase"].is_null() && gate["properties"]["gate"].is_object());
}

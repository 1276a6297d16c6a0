//! Pages as a browser would read them: balanced, and without anything from outside. Included by
//! path from the tests of crates that write pages.
#![allow(dead_code)] // Each includer needs some of it.

/// Elements that have no end (HTML, section 13.1.2).
const VOID: [&str; 3] = ["meta", "img", "br"];

/// Panics unless every element ends where it should and every attribute is quoted; returns the
/// tags, each with its attributes.
pub(crate) fn balanced(text: &str) -> Vec<&str> {
    let mut open: Vec<&str> = Vec::new();
    let mut tags = Vec::new();
    let mut rest = text
        .strip_prefix("<!DOCTYPE html>")
        .expect("a document type");
    while let Some(start) = rest.find('<') {
        let from = &rest[start + 1..];
        let length = from.find('>').expect("a tag ends");
        let tag = &from[..length];
        rest = &from[length + 1..];
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(
                open.pop(),
                Some(name),
                "before {}",
                &rest[..rest.len().min(80)]
            );
            continue;
        }
        let name = tag.split_whitespace().next().expect("a name");
        assert_eq!(tag.matches('"').count() % 2, 0, "<{tag}>");
        tags.push(tag);
        if name == "style" {
            rest = &rest[rest.find("</style>").expect("the sheet ends")..];
        }
        if !VOID.contains(&name) {
            open.push(name);
        }
    }
    assert_eq!(open, Vec::<&str>::new());
    tags
}

/// Panics if the page would run or fetch anything.
pub(crate) fn stands_alone(text: &str) {
    for tag in balanced(text) {
        // Every second piece is the value of the attribute whose name ends the piece before.
        let pieces: Vec<&str> = tag.split('"').collect();
        let name = pieces[0].split_whitespace().next().expect("a name");
        for barred in [
            "script", "link", "iframe", "object", "embed", "base", "form",
        ] {
            assert_ne!(name, barred, "<{tag}>");
        }
        for pair in pieces.chunks_exact(2) {
            let (before, value) = (pair[0].trim_end_matches('='), pair[1]);
            let attribute = before.split_whitespace().next_back().unwrap_or_default();
            let inside = value.starts_with('#') || value.starts_with("data:image/");
            let refers = ["href", "src", "action", "srcset", "xlink:href"].contains(&attribute);
            assert!(inside || !refers, "{attribute}={value}");
            assert!(!attribute.starts_with("on"), "<{tag}>");
            assert!(attribute != "style" || !value.contains("url("), "<{tag}>");
        }
    }
    let sheet = text.split("<style>").nth(1).expect("a style sheet");
    let sheet = sheet.split("</style>").next().expect("its end");
    assert!(!sheet.contains("@import") && !sheet.contains("url("));
}

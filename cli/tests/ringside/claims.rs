//! `ringside claims`, as far as it only reads: what claims cite, and pages in two languages.

use std::fs;
use std::path::Path;

use super::child::{Folder, assert_says, ringside};

const CLAIMS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../claims");

#[test]
fn what_claims_cite_is_held_against_the_lists_and_the_lists_against_the_posts() {
    let ended = ringside(&["claims", "check", "--dir", CLAIMS]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert_says(&ended.stdout, "claims cite what the lists of 5 posts have");
    assert_says(&ended.stderr, "were not held against the posts");

    let folder = Folder::new();
    let ended = ringside(&["claims", "check", &folder.path(""), "--dir", CLAIMS]);
    assert_eq!(ended.code, Some(2), "{}", ended.stdout);
    assert_says(&ended.stderr, "A.txt");
    for letter in ["A", "B", "C", "D", "E"] {
        fs::write(folder.path(&format!("{letter}.txt")), "第一章\n1\n").unwrap();
    }
    let ended = ringside(&["claims", "check", &folder.path(""), "--dir", CLAIMS]);
    assert_eq!(ended.code, Some(2), "{}", ended.stdout);
    assert_says(&ended.stderr, "post A: `98,432` isn't in section 1");
    assert_says(
        &ended.stderr,
        "post E: no heading begins with `📊` where section 2",
    );
}

#[test]
fn the_page_of_a_pack_is_written_in_the_language_that_is_asked_for() {
    let folder = Folder::new();
    let kept = "../records/2026-11-23-2core-kvm-6.18/claims.tar.xz";
    let pack = folder.path("claims.tar.xz");
    fs::copy(Path::new(env!("CARGO_MANIFEST_DIR")).join(kept), &pack).unwrap();
    let written = |name: &str| fs::read_to_string(folder.path(&format!("claims/{name}")));
    let ended = ringside(&["claims", "page", &pack, "--dir", CLAIMS, "--lang", "zh"]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert_says(
        &written("CLAIMS.zh.md").unwrap(),
        "## 文章 E：Swoole 6.2 与 io_uring",
    );
    assert_says(&written("claims.zh.html").unwrap(), "<html lang=\"zh-CN\">");
    assert!(written("CLAIMS.md").is_err(), "one language at a time");
    let list = |lang: &str| {
        let words = [
            "claims", "list", "-o", &pack, "--dir", CLAIMS, "--lang", lang,
        ];
        ringside(&words).stdout
    };
    assert_says(&list("zh"), "不成立");
    assert_says(&list("en"), "does not hold");
    // The folder of its pages stands for the pack, and of a claim that's named the reason is told.
    let pages = folder.path("claims");
    let named = ringside(&["claims", "list", "E1", "-o", &pages, "--dir", CLAIMS]);
    assert_eq!(named.code, Some(0), "{}", named.stderr);
    assert_says(&named.stdout, "E1  ");
    assert_says(&named.stdout, "\n    records: ");
    assert_says(
        &named.stdout,
        &format!("\npage: ringside claims page {pages}\n"),
    );
}

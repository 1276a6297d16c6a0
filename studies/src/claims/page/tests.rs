//! The pages of a fixed ledger, compared with what is kept in `snapshots/`.

use std::path::Path;

use super::*;
use crate::claims::Id;
use crate::claims::judge::Interval;
use crate::claims::little::PublishedRow;
use crate::claims::posts::Section;
use crate::claims::{Cited, Ground, Judgement, Run, Test, Untested, Why, Words};
use crate::snapshot;

fn words(en: &str, zh: &str) -> Words {
    Words {
        en: en.into(),
        zh: zh.into(),
    }
}

fn claim(id: &str, why: &[&str]) -> Claim {
    Claim {
        id: Id::parse(id).expect("a name"),
        statement: words(
            "One <server> | serves three times the requests of another.",
            "一个 <server> | 的吞吐是另一个的三倍。",
        ),
        source: Cited {
            post: id.chars().next().expect("a letter"),
            sections: vec!["2.5".into()],
        },
        written: "2026-11-22".into(),
        claimed: words(
            "3,000 requests/s at 50 ms against 1,000",
            "3,000 QPS、50ms，对 1,000 QPS",
        ),
        measured_there: words("Eight cores, 1,000 connections.", "8 核，1,000 个连接。"),
        run_here: words("One core, 125 connections.", "单核，125 个连接。"),
        changed: words("One core instead of eight.", "单核，而不是 8 核。"),
        why: why
            .iter()
            .map(|says| Why {
                from: Ground::Text,
                says: words(says, "瓶颈在工具。"),
            })
            .collect(),
        rows: vec![PublishedRow {
            name: "one".into(),
            rate: 3000.0,
            connections: Some(1000),
            pipeline: 1,
            corrected: false,
            mean_ms: Some(50.0),
            p99_ms: None,
        }],
        test: Ok(Test {
            run: Run::Comparison("x.toml".into()),
            profile: false,
            judges: Vec::new(),
        }),
    }
}

fn entries() -> Vec<Entry> {
    let measured = Judgement {
        word: Word::Weaker,
        sentence: words(
            "requests/s of one is 1.98 [1.90, 2.06] times that of other; published: 3.00",
            "one 的每秒请求数是 other 的 1.98 [1.90, 2.06] 倍；原文：3.00",
        ),
        measured: Some(Interval {
            low: 1.9,
            centre: 1.98,
            high: 2.06,
        }),
        published: Some(3.0),
    };
    vec![
        Entry {
            claim: claim("A1", &["The tool was the limit."]),
            finding: Some(Finding {
                short: false,
                word: Word::Weaker,
                judgements: vec![measured],
                began: Some("2026-11-21T20:12:54Z".into()),
                machine: Some("2 cores, A Processor, Linux 6.18.0".into()),
                folder: Some("x".into()),
            }),
        },
        Entry {
            claim: Claim {
                test: Err(Untested {
                    word: Word::CannotBeTested,
                    why: words("It takes two.", "需要两台机器。"),
                }),
                ..claim("A2", &[])
            },
            finding: Some(Finding::without(
                Word::CannotBeTested,
                words("It takes two.", "需要两台机器。"),
            )),
        },
        Entry {
            claim: claim("B10", &[]),
            finding: None,
        },
    ]
}

fn check(name: &str, text: &str) {
    snapshot::check("claims", name, text);
}

fn posts() -> Vec<Post> {
    vec![Post {
        letter: 'A',
        title: words("One server against another", "两种服务器的比较"),
        ours: false,
        sections: vec![Section {
            number: "2.5".into(),
            title: words("results", "结果"),
            mark: "2.5 ".into(),
            figures: Vec::new(),
        }],
    }]
}

/// Each of the two pages, written in a language.
fn pages(language: Language) -> [String; 2] {
    let (entries, posts) = (entries(), posts());
    let ledger = Ledger {
        entries: &entries,
        posts: &posts,
        command: "ringside claims page records",
        language,
    };
    [markdown(&ledger), html(&ledger)]
}

#[test]
fn claims_that_are_named_are_told_with_every_reason_and_where_their_records_are() {
    let mut entries = entries();
    let open = Judgement {
        word: Word::Undecided,
        sentence: words(
            "can't tell: the generator was the limit",
            "无法判定：发生器是瓶颈",
        ),
        measured: None,
        published: None,
    };
    let finding = entries[0].finding.as_mut().expect("it was run");
    finding.judgements.push(open);
    finding.word = Word::Undecided;
    finding.short = true;
    let text = told(&entries, Path::new("out/claims"), Language::English);
    let wanted = "\
A1  undecided  One <server> | serves three times the requests of another.
    weaker: requests/s of one is 1.98 [1.90, 2.06] times that of other; published: 3.00
    undecided: can't tell: the generator was the limit
    records: out/claims/x, measured 2026-11-21T20:12:54Z, in short rounds (--quick): a rough result

A2  cannot be tested here  One <server> | serves three times the requests of another.
    cannot be tested here: It takes two.

B10  not run here  One <server> | serves three times the requests of another.
    run it: ringside claims run B10 -o out/claims

page: ringside claims page out/claims
";
    assert_eq!(text, wanted);
    let chinese = told(&entries[..2], Path::new("out/claims"), Language::Chinese);
    assert!(
        chinese.contains("无法判定：无法判定：发生器是瓶颈"),
        "{chinese}"
    );
    assert!(
        chinese.ends_with("ringside claims page out/claims --lang zh\n"),
        "{chinese}"
    );
    let never = told(&entries[1..], Path::new("out/claims"), Language::English);
    assert!(!never.contains("page:"), "{never}");
}

#[test]
fn the_page_in_markdown_shows_claim_against_finding() {
    check("claims.md", &pages(Language::English)[0]);
}

#[test]
fn the_page_in_chinese_says_the_same() {
    let [markdown, html] = pages(Language::Chinese);
    check("claims.zh.md", &markdown);
    assert!(html.contains("<html lang=\"zh-CN\">"), "{html}");
    assert!(html.contains("弱于原文"), "{html}");
}

#[test]
fn the_page_in_html_escapes_and_has_a_place_for_each_claim() {
    let [_, page] = pages(Language::English);
    assert!(page.contains("One &lt;server&gt; | serves"), "{page}");
    for id in [
        "id=\"a1\"",
        "href=\"#b10\"",
        "requests/s of one is 1.98 [1.90, 2.06] times",
    ] {
        assert!(page.contains(id), "no {id}");
    }
    assert!(page.contains("would mean 150 in flight at that rate, not 1,000"));
}

#[test]
fn claims_of_our_own_are_named_so_with_what_we_do_about_our_bias() {
    let entries = entries();
    let mut posts = posts();
    posts[0].ours = true;
    let ledger = |entries, language| Ledger {
        entries,
        posts: &posts,
        command: "ringside claims page records",
        language,
    };
    let both = markdown(&ledger(&entries, Language::English));
    for part in [
        "Five published posts compare",
        "\n## Our own claims: One server against another\n\nThese claims are ours: ",
        "in “Our own bias”",
        "- source: Our own claims: One server against another, section 2.5 (results)\n- we say: ",
        "\n## Post B\n",
        "- source: post B, section 2.5\n- the post says: ",
    ] {
        assert!(both.contains(part), "no {part} in {both}");
    }
    assert_eq!(both.matches("These claims are ours").count(), 1);
    // Where there are no others nothing is said of posts.
    let alone = ledger(&entries[..2], Language::English);
    for page in [markdown(&alone), html(&alone)] {
        assert!(page.contains("Here is what we claim of our own"), "{page}");
        assert!(page.contains("These claims are ours"), "{page}");
        assert!(!page.contains("ublished posts") && !page.contains("ublished claims"));
    }
    let chinese = markdown(&ledger(&entries[..2], Language::Chinese));
    assert!(chinese.contains("## 我们自己的说法：两种服务器的比较\n\n这些说法出自我们自己"));
}

#[test]
fn a_post_is_summed_up_by_its_findings() {
    let all = entries();
    let all: Vec<&Entry> = all.iter().collect();
    assert_eq!(
        summary::of_post(&all, Language::English),
        "Of 3 claims, 1 is weaker, 1 cannot be tested here, 1 was not run here. Farthest from what \
         was published is A1 (weaker): requests/s of one is 1.98 [1.90, 2.06] times that of other; \
         published: 3.00. None is shown to hold in full."
    );
    assert_eq!(
        summary::of_post(&all[2..], Language::Chinese),
        "共 1 条说法：1 条本机未运行。"
    );
}

use super::page::Page;
use super::{nearest, page};

const SMALL: &str = "\
# Words

An introduction.

## First

### steal

Also: `CPU steal`, taken_away

> the hypervisor stole

The hypervisor took time. It matters,
because **time** is [what is
measured](methodology.md#time).

To do:

- ask for `dedicated` CPUs
  of its own;
- measure again.

## Second

### 99

> stole more

The answer is bad.
";

#[test]
fn a_page_is_cut_into_its_sections() {
    let page = Page::read(SMALL);
    let titles: Vec<&str> = page.groups.iter().map(|one| one.title.as_str()).collect();
    assert_eq!(titles, ["First", "Second"]);
    let steal = page.find("steal").unwrap();
    assert_eq!(
        steal.words().collect::<Vec<_>>(),
        ["steal", "cpu-steal", "taken-away"]
    );
    assert_eq!(steal.printed, ["the hypervisor stole"]);
    assert_eq!(steal.summary(), "The hypervisor took time");
    assert_eq!(page.find("99").unwrap().summary(), "The answer is bad");
}

#[test]
fn a_section_is_told_without_marks_of_markdown() {
    let page = Page::read(SMALL);
    let told = "The hypervisor took time. It matters, because time is what is measured.\n\nTo \
                do:\n- ask for `dedicated` CPUs of its own;\n- measure again.\n";
    assert_eq!(page.find("steal").unwrap().text(), told);
}

#[test]
fn a_word_is_found_however_it_is_written_and_a_warning_by_what_it_says() {
    let page = Page::read(SMALL);
    for asked in [
        "STEAL",
        "cpu_steal",
        "CPU steal",
        " `taken-away` ",
        "Warning: the hypervisor stole\n  4 % of the time",
        "The hypervisor stole 4 % of the time",
    ] {
        assert_eq!(page.find(asked).unwrap().word, "steal", "{asked}");
    }
    // The longer quote is the closer one.
    assert_eq!(
        page.find("the hypervisor stole more").unwrap().word,
        "steal"
    );
    assert_eq!(page.find("who stole more?").unwrap().word, "99");
}

#[test]
fn what_nobody_knows_is_answered_with_what_may_be_meant() {
    let page = Page::read(SMALL);
    assert_eq!(page.find("stael"), Err(vec!["steal"]));
    assert_eq!(page.find("cpu"), Err(vec!["cpu-steal"]));
    assert_eq!(page.find("weather"), Err(vec![]));
    assert_eq!(page.find(""), Err(vec![]));
}

#[test]
fn the_likest_name_comes_first_and_three_are_enough() {
    let names = ["time", "timeout", "tls-timeout", "timeouts", "times"];
    assert_eq!(nearest("timeout", names)[0], "timeout");
    assert_eq!(nearest("timeout", names).len(), 3);
    assert_eq!(nearest("zzz", names), [""; 0]);
    assert_eq!(nearest("", names), [""; 0]);
}

#[test]
fn no_word_of_the_page_means_two_things_and_each_section_says_something() {
    let page = page();
    assert_eq!(page.doubled(), [""; 0]);
    assert_eq!(
        Page::read(&SMALL.replace("99", "steal")).doubled(),
        ["steal"]
    );
    for section in page.sections() {
        let (word, text) = (&section.word, section.text());
        assert!(text.lines().count() >= 3, "{word} lacks what to do: {text}");
        assert!(section.summary().chars().count() <= 100, "{word}: {text}");
        assert!(!text.contains("]("), "{word}: {text}");
    }
}

#[test]
fn sentences_of_a_report_are_found_as_they_are_printed() {
    let page = page();
    for (printed, word) in [
        (
            "No interval for the p99 response time of b and a: they have only 0 rounds in common, \
             but 3 are needed.",
            "no-interval",
        ),
        (
            "b: no verdict on p99 response time, because they have only 2 rounds in common, but 3 \
             are needed",
            "no-interval",
        ),
        (
            "Held back by the CPU limit: b (0.5 CPUs) for 40 % of the time",
            "cpu-limit",
        ),
        (
            "its threads were ready but waited for a core 84 % of the time: they share it with \
             each other or with something else",
            "waited-for-a-core",
        ),
        (
            "py: closes each connection: 722 opened for 720 answers",
            "closes-each",
        ),
        (
            "lower bound: the generator was the limit (its core was 99 % busy)",
            "bound",
        ),
    ] {
        assert_eq!(page.find(printed).expect(printed).word, word);
    }
}

#[test]
fn no_quote_of_the_page_is_taken_for_that_of_another_section() {
    let page = page();
    for section in page.sections() {
        for quote in &section.printed {
            assert_eq!(page.find(quote).unwrap().word, section.word, "{quote}");
        }
    }
}

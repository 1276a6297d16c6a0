//! A page that leads to several reports.

use std::path::{Component, Path, PathBuf};

use maud::html;
use report::html::all_found;
use report::html::page::{Found, Section, kicker, page, verdicts};
use report::pages::Page;

use super::{Model, Rebuilt};
use crate::{sweep, trials};

/// The page, to be written at `place`: what was found in each folder, with a link to its report.
pub fn index(reports: &[Rebuilt], place: &Path) -> String {
    let here = std::path::absolute(place).unwrap_or_else(|_| place.to_owned());
    let here = here.parent().unwrap_or(Path::new("/")).to_owned();
    let sections: Vec<Section> = reports.iter().map(|one| section(one, &here)).collect();
    let lead = html! {
        (kicker(&[format!("{} reports", reports.len())]))
        h1.large { "What was measured, and what was found" }
    };
    page("ringside: reports", lead, &sections)
}

fn section(one: &Rebuilt, here: &Path) -> Section {
    let Entry {
        name,
        question,
        began,
        load,
        found,
    } = entry(&one.model);
    let link = address(&between(here, &one.folder.join(Page::HTML.file())));
    let body = html! {
        (verdicts(&found))
        p.small {
            (began.replace('T', " ").replace('Z', " UTC")) ", " (load) ". "
            a href=(link) { "The whole report" }
        }
    };
    Section::new(name, question, body)
}

/// What the page says of a report.
struct Entry<'a> {
    name: &'a str,
    question: &'a str,
    began: &'a str,
    load: String,
    found: Vec<Found>,
}

fn entry(model: &Model) -> Entry<'_> {
    match model {
        Model::Comparison(report) => Entry {
            name: &report.setup.name,
            question: &report.setup.question,
            began: &report.setup.began,
            load: report.setup.load.clone(),
            found: all_found(report),
        },
        Model::Capacity(found) => Entry {
            name: &found.name,
            question: found.question.as_deref().unwrap_or(&found.asked),
            began: &found.began,
            load: format!("{}, {}", found.load, found.slo.join(" and ")),
            found: capacity::formats::said(found),
        },
        Model::Sweep(sweep) => Entry {
            name: &sweep.name,
            question: &sweep.question,
            began: &sweep.began,
            load: format!("{} values of {}", sweep.points.len(), sweep.key.name()),
            found: sweep::said(sweep),
        },
        Model::Trials(trials) => Entry {
            name: &trials.comparison,
            question: trials::question(trials),
            began: &trials.began,
            load: format!("{} comparisons", trials.trials.len()),
            found: trials::said(trials),
        },
    }
}

/// The way from one folder to a file.
fn between(here: &Path, file: &Path) -> PathBuf {
    let mut from: Vec<Component<'_>> = here.components().collect();
    let mut to: Vec<Component<'_>> = file.components().collect();
    while !from.is_empty() && from.first() == to.first() {
        from.remove(0);
        to.remove(0);
    }
    from.iter()
        .map(|_| Component::ParentDir)
        .chain(to)
        .collect()
}

/// A path as an address: RFC 3986, section 3.3.
fn address(path: &Path) -> String {
    let mut address = String::new();
    for byte in path.to_string_lossy().bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'-' | b'_' | b'~' => {
                address.push(byte as char);
            }
            _ => address.push_str(&format!("%{byte:02X}")),
        }
    }
    address
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_way_to_a_report_is_relative_and_an_address() {
        let way = between(Path::new("/a/b"), Path::new("/a/c d/report.html"));
        assert_eq!(address(&way), "../c%20d/report.html");
        let way = between(Path::new("/a"), Path::new("/a/x/report.html"));
        assert_eq!(address(&way), "x/report.html");
    }
}

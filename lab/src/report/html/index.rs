//! A page that leads to several reports.

use std::path::{Component, Path, PathBuf};

use maud::html;

use super::page::{Found, Section, kicker, page, verdicts};
use crate::report::Rebuilt;

/// The page, to be written at `place`: what was found in each folder, with a link to its report.
pub fn index(reports: &[Rebuilt], place: &Path) -> String {
    let here = std::path::absolute(place).unwrap_or_else(|_| place.to_owned());
    let here = here.parent().unwrap_or(Path::new("/")).to_owned();
    let sections: Vec<Section> = reports.iter().map(|one| section(one, &here)).collect();
    let lead = html! {
        (kicker(&[format!("{} comparisons", reports.len())]))
        h1.large { "What was compared, and what was found" }
    };
    page("ringside: comparisons", lead, &sections)
}

fn section(one: &Rebuilt, here: &Path) -> Section {
    let setup = &one.report.setup;
    let found: Vec<Found> = super::comparison::all_found(&one.report);
    let link = address(&between(here, &one.folder.join("report.html")));
    let body = html! {
        (verdicts(&found))
        p.small {
            (setup.began.replace('T', " ").replace('Z', " UTC")) ", " (setup.load) ". "
            a href=(link) { "The whole report" }
        }
    };
    Section::new(&setup.name, &setup.question, body)
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

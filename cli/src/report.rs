//! `ringside report`: the reports of what was measured before, made again from its records.

use engine::signal::Stop;
use report::benchmark;
use report::pages::Page;
use studies::rebuild;

use crate::args::report::{Format, Report};
use crate::compare::look;
use crate::exit::{Exit, Failure};
use crate::output::terminal::{self, Paint};

/// Makes the reports, and prints them.
pub(crate) fn run(arguments: &Report, no_color: bool) -> Result<Exit, Failure> {
    let stop = Stop::on_signals().map_err(Failure::signals)?;
    let mut rebuilt = Vec::new();
    for folder in &arguments.folders {
        let one = rebuild::rebuild(folder, &stop);
        rebuilt.push(one.map_err(|what| Failure::reading(what, &stop))?);
        if let Some(signal) = stop.requested() {
            return Ok(Exit::Stopped(signal));
        }
    }
    let mut unwritten = Vec::new();
    for (asked, one) in arguments.folders.iter().zip(&rebuilt) {
        let folder = if asked.is_dir() { asked } else { &one.folder };
        let text = match arguments.format {
            Format::Text => one.model.text(look(Paint::for_stdout(no_color))),
            Format::Markdown => one.model.markdown(),
            Format::Json => one.model.json(),
            Format::Csv => one.model.csv(),
            Format::Junit => one.model.junit(),
            Format::SmallerIsBetter => benchmark::smaller_is_better(&one.model.measures()),
            Format::BiggerIsBetter => benchmark::bigger_is_better(&one.model.measures()),
            Format::Bencher => benchmark::bencher(&one.model.measures()),
        };
        terminal::print(&text).map_err(|error| {
            Failure::running(format!("can't write to standard output: {error}"))
        })?;
        let page = Page::HTML.file();
        if !one.unwritten.iter().any(|what| what.contains(page)) {
            terminal::say(&format!("report: {}", folder.join(page).display()));
        }
        unwritten.extend(one.unwritten.iter().cloned());
    }
    if rebuilt.len() > 1 {
        let page = rebuild::index(&rebuilt, &arguments.output);
        match std::fs::write(&arguments.output, page) {
            Ok(()) => terminal::say(&format!("index: {}", arguments.output.display())),
            Err(error) => unwritten.push(format!("{}: {error}", arguments.output.display())),
        }
    }
    for what in &unwritten {
        terminal::say(&format!("couldn't write {what}"));
    }
    Ok(if unwritten.is_empty() {
        Exit::Ok
    } else {
        Exit::SubjectFailed
    })
}

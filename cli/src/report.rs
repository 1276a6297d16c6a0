//! `ringside report`: the reports of what was measured before, made again from its records.

use std::fs;
use std::path::Path;

use engine::signal::Stop;
use load::{Record, hold};
use report::benchmark;
use report::pack::{Records, is_pack};
use report::pages::Page;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;
use studies::rebuild;

use crate::args::report::{Format, Report};
use crate::args::run::Format as Of;
use crate::compare::look;
use crate::page::keep;
use exit::{Exit, Failure};
use output::terminal::{self, Paint};

/// The report of a soak again, which no other is made beside.
fn of_a_soak(records: &Records, arguments: &Report, no_color: bool) -> Result<Exit, Failure> {
    if arguments.folders.len() > 1 {
        return Err(Failure::usage(format!(
            "{} is a soak, which isn't part of an index: give it alone",
            records.source()
        )));
    }
    crate::soak::again(records, arguments.format, no_color)
}

/// Makes the reports, and prints them.
pub(crate) fn run(arguments: &Report, no_color: bool) -> Result<Exit, Failure> {
    let stop = Stop::on_signals().map_err(Failure::signals)?;
    let open =
        |path: &Path| Records::open(path, &stop).map_err(|what| Failure::reading(what, &stop));
    for file in &arguments.folders {
        if file.join(soak::RECORD).is_file() {
            return of_a_soak(&open(file)?, arguments, no_color);
        }
        if let Some(record) = alone(file).map_err(Failure::usage)? {
            if arguments.folders.len() > 1 {
                return Err(Failure::usage(format!(
                    "{} is a record alone, which isn't part of an index: give it by itself",
                    file.display()
                )));
            }
            return of_alone(&record, file, arguments.format, no_color);
        }
    }
    let mut rebuilt = Vec::new();
    for folder in &arguments.folders {
        let records = open(folder)?;
        if records.folder().join(soak::RECORD).is_file() {
            return of_a_soak(&records, arguments, no_color);
        }
        let one = rebuild::rebuild(&records);
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
            Format::Junit => one.junit(),
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

/// A record that stands alone, with the agents of a fleet that it has.
enum Alone {
    Run(Box<Record>, Option<Value>),
    Hold(Box<hold::Record>, Option<Value>),
}

/// The record of a run or a hold that a file is; none where it's something else.
///
/// # Errors
/// It can't be read as one.
fn alone(file: &Path) -> Result<Option<Alone>, String> {
    #[derive(Deserialize)]
    struct Kind {
        heartbeats: Option<IgnoredAny>,
        exchanges: Option<IgnoredAny>,
        fleet: Option<Value>,
    }
    if !file.is_file() || is_pack(file) {
        return Ok(None);
    }
    let Ok(text) = fs::read_to_string(file) else {
        return Ok(None);
    };
    let read = match serde_json::from_str(&text) {
        Ok(Kind {
            heartbeats: Some(_),
            fleet,
            ..
        }) => hold::Record::from_json(&text).map(|record| Alone::Hold(record.into(), fleet)),
        Ok(Kind {
            exchanges: Some(_),
            fleet,
            ..
        }) => Record::from_json(&text).map(|record| Alone::Run(record.into(), fleet)),
        _ => return Ok(None),
    };
    read.map(Some)
        .map_err(|what| format!("{}: {what}", file.display()))
}

/// Prints a record, and writes its page beside it.
fn of_alone(record: &Alone, file: &Path, format: Format, no_color: bool) -> Result<Exit, Failure> {
    let page = file.with_extension("html");
    if page == file {
        return Err(Failure::usage(format!(
            "{} is a record, and its page would take its place: rename it to record.json",
            file.display()
        )));
    }
    let data = |format, paint| match record {
        Alone::Run(record, fleet) => crate::run::again(record, format, paint, fleet.as_ref()),
        Alone::Hold(record, fleet) => crate::hold::data(record, format, paint, fleet.as_ref()),
    };
    let paint = Paint::for_stdout(no_color);
    let text = data(of_record(format), paint).map_err(Failure::running)?;
    let html = data(Of::Html, Paint::PLAIN).map_err(Failure::running)?;
    terminal::print(&text)
        .map_err(|error| Failure::running(format!("can't write to standard output: {error}")))?;
    Ok(keep(&page, &html))
}

/// The same format of a record alone.
fn of_record(format: Format) -> Of {
    match format {
        Format::Text => Of::Text,
        Format::Markdown => Of::Markdown,
        Format::Json => Of::Json,
        Format::Csv => Of::Csv,
        Format::Junit => Of::Junit,
        Format::SmallerIsBetter => Of::SmallerIsBetter,
        Format::BiggerIsBetter => Of::BiggerIsBetter,
        Format::Bencher => Of::Bencher,
    }
}

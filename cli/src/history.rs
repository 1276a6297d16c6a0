//! `ringside history`: many sessions over time.

use std::fs;

use engine::signal::Stop;
use history::{Options, Order};
use measure::foreign;

use crate::args::history::{By, Format, History};
use crate::compare::look;
use exit::{Exit, Failure};
use output::destination::Destination;
use output::terminal::Paint;

/// Reads the sessions, and writes what became of their figures.
pub(crate) fn run(arguments: &History, no_color: bool) -> Result<Exit, Failure> {
    let stop = Stop::on_signals().map_err(Failure::signals)?;
    let options = Options {
        baseline: arguments.baseline.clone(),
        order: order(arguments)?,
        smallest: arguments.smallest,
    };
    let place = Destination::open(arguments.output.as_deref()).map_err(Failure::usage)?;
    let found = history::read(&arguments.places, &options, &stop);
    let found = found.map_err(|what| Failure::reading(what, &stop))?;
    let text = match arguments.format {
        Format::Text => history::text(&found, look(Paint::for_stdout(no_color))),
        Format::Html => history::page(&found),
        Format::Md => history::markdown(&found),
        Format::Json => foreign::json(&found.json()).into_owned(),
    };
    let within = arguments.fail_within.map(|sessions| sessions as usize);
    let end = match within.is_some_and(|sessions| found.worse_within(sessions)) {
        true => Exit::Threshold,
        false => Exit::Ok,
    };
    Failure::unless_written(place.write(&text), Ok(end))
}

fn order(arguments: &History) -> Result<Order, Failure> {
    let file = match (arguments.by, &arguments.commits) {
        (By::Time, None) => return Ok(Order::Time),
        (By::Commit, None) => return Ok(Order::Commit),
        (By::Time, Some(_)) => {
            let why = "--commits is the order of --by commit; add that, or leave --commits out";
            return Err(Failure::usage(why));
        }
        (By::Commit, Some(file)) => file,
    };
    let text = fs::read_to_string(file).map_err(|error| error.to_string());
    let listed = text.and_then(|text| history::commits(&text));
    let named = |what| Failure::usage(format!("{}: {what}", file.display()));
    listed.map(Order::Listed).map_err(named)
}

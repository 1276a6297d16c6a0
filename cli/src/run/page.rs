//! The page that shows a run while it goes on: where it is, and what it says at the end.

use std::net::SocketAddr;

use engine::signal::{Signal, Stop};
use live::Reader;
use live::page::{End, Page, Title};
use load::{Phase, Progress, Record};
use measure::record::EndedBy;

use crate::exit::Failure;
use crate::watching::Seen;
use output::{terminal, thresholds};

/// Serves it, and says where.
pub(super) fn start(
    address: SocketAddr,
    seen: &Seen,
    reader: Reader,
    stop: &Stop,
) -> Result<Page, Failure> {
    let stop = stop.clone();
    let end = move || stop.request(Signal::Interrupt);
    let title = Title {
        text: seen.title.clone(),
        steps: seen.steps.clone(),
    };
    let page = Page::start(address, &title, reader, end);
    let page = page.map_err(|why| Failure::usage(format!("--live: {why}")))?;
    terminal::say(&format!("the live page is at {}", page.url()));
    Ok(page)
}

/// Says how far the run is, or another load that belongs to it.
pub(super) fn show(page: &Page, what: &'static str, now: &Progress) {
    let what = match now.phase {
        _ if !what.is_empty() => what,
        Phase::WarmUp => "warming up",
        _ => "",
    };
    page.progress(what, now.elapsed_s, now.total_s);
}

/// What it says at the end. `trouble` is why the run isn't all that was asked for.
pub(super) fn end(record: &Record, trouble: Option<&str>) -> End {
    let was_ended = matches!(record.ended_by, EndedBy::Interrupt | EndedBy::Terminate);
    let says = match was_ended {
        true => "The run was ended early",
        false => "The run is over",
    };
    let trouble = trouble.filter(|_| !was_ended).map(str::to_owned);
    let thresholds = thresholds::sentences(&record.thresholds);
    let notes = trouble.into_iter().chain(record.warnings.iter().cloned());
    End {
        says: says.to_owned(),
        notes: notes.chain(thresholds).collect(),
    }
}

//! The page that shows what goes on, whichever verb does it: where it is, and what it says at the
//! end.

use std::fs;
use std::net::SocketAddr;
use std::path::Path;

use engine::signal::{Signal, Stop};
use live::page::{End, Page, Place};
use load::{Phase, Progress};
use measure::foreign::document;
use measure::record::{EndedBy, Judged};
use output::{terminal, thresholds};

use crate::args::values::Live;
use exit::{Exit, Failure};

/// Where a page is served that is asked for at this address: a process in a private network has
/// got a socket for it from the one outside, since nobody could get at one of its own.
pub(crate) fn place(at: SocketAddr) -> Place {
    network::handed().map_or(Place::At(at), Place::On)
}

/// The address of the page that is asked for, if one is.
pub(crate) fn address(live: Option<Live>) -> Option<SocketAddr> {
    match live {
        Some(Live::Page(at)) => Some(at),
        _ => None,
    }
}

/// Why there is none.
pub(crate) fn refused(why: String) -> Failure {
    Failure::usage(format!("--live: {why}"))
}

/// Says where it is.
pub(crate) fn announce(url: &str) {
    terminal::say(&format!("the live page is at {url}"));
}

/// What somebody who looks on ends all by.
pub(crate) fn ending(stop: &Stop) -> impl Fn() + Send + Sync + use<> {
    let stop = stop.clone();
    move || stop.request(Signal::Interrupt)
}

/// Says how far a load is, or another one that belongs to it; what its warm-up is called.
pub(crate) fn show(page: &Page, what: &'static str, warm_up: &'static str, now: &Progress) {
    let what = match now.phase {
        _ if !what.is_empty() => what,
        Phase::WarmUp => warm_up,
        _ => "",
    };
    page.progress(what, now.elapsed_s, now.total_s);
}

/// What it says at the end of a load. `trouble` is why it isn't all that was asked for.
pub(crate) fn end_of_load(
    noun: &str,
    (ended_by, warnings): (EndedBy, &[String]),
    judged: &[Judged],
    trouble: Option<&str>,
) -> End {
    let was_ended = matches!(ended_by, EndedBy::Interrupt | EndedBy::Terminate);
    let trouble = trouble.filter(|_| !was_ended).map(str::to_owned);
    let (found, others) = thresholds::sentences(judged);
    let notes = trouble.into_iter().chain(warnings.iter().cloned());
    End {
        says: says(noun, was_ended),
        found,
        notes: notes.chain(others).collect(),
    }
}

/// What it says at the end of what takes several loads, in which this was `found`.
pub(crate) fn end_of_all(noun: &str, outcome: &Result<Exit, Failure>, found: Vec<String>) -> End {
    let exit = outcome
        .as_ref()
        .map_or_else(|failure| failure.exit, |exit| *exit);
    let was_ended = matches!(exit, Exit::Stopped(_));
    let failed = outcome.as_ref().err().filter(|_| !was_ended);
    let note = match exit {
        _ if failed.is_some() => failed.map(|failure| terminal::fit(&failure.text)),
        Exit::Failed => Some("nothing was measured; the report says why".to_owned()),
        Exit::SubjectFailed => Some("some rows failed, or a file couldn't be written".to_owned()),
        Exit::Void => Some("it couldn't be judged; the report says why".to_owned()),
        Exit::Threshold => Some("what was to be reached wasn't".to_owned()),
        _ => None,
    };
    End {
        says: match failed {
            Some(_) => format!("The {noun} failed"),
            None => says(noun, was_ended),
        },
        found,
        notes: note.into_iter().collect(),
    }
}

fn says(noun: &str, was_ended: bool) -> String {
    match was_ended {
        true => format!("The {noun} was ended early"),
        false => format!("The {noun} is over"),
    }
}

/// Waits a moment until those who look on know how it ended, or somebody wants it to `stop`.
pub(crate) fn leave(page: Page, end: End, stop: &Stop) {
    // What ended it doesn't end this, too.
    let before = stop.requested();
    page.finish(end, || stop.requested() != before);
}

/// Writes a page, and says where it is.
pub(crate) fn keep(page: &Path, html: &str) -> Exit {
    match fs::write(page, document(html).as_bytes()) {
        Ok(()) => {
            terminal::say(&format!("report: {}", page.display()));
            Exit::Ok
        }
        Err(error) => {
            terminal::say(&format!("couldn't write {}: {error}", page.display()));
            Exit::SubjectFailed
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_comparison_is_told_by_what_became_of_it() {
        let found = || vec!["ours is ahead".to_owned()];
        let over = end_of_all("comparison", &Ok(Exit::Ok), found());
        assert_eq!(over.says, "The comparison is over");
        assert_eq!((over.found, over.notes.len()), (found(), 0));
        let stopped = Ok(Exit::Stopped(Signal::Interrupt));
        let stopped = end_of_all("search", &stopped, found());
        assert_eq!(stopped.says, "The search was ended early");
        assert!(stopped.notes.is_empty(), "{stopped:?}");
        let part = end_of_all("search", &Ok(Exit::SubjectFailed), found());
        assert_eq!(
            (part.says, part.notes.len()),
            ("The search is over".to_owned(), 1)
        );
        let failed = Err(Failure::usage("there is no such file"));
        let failed = end_of_all("comparison", &failed, Vec::new());
        assert_eq!(failed.says, "The comparison failed");
        assert_eq!(failed.notes, ["there is no such file"]);
    }
}

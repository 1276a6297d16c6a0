//! Many sessions of the same measurement: their figures over time, and what changed for good.
//!
//! Sessions are found below folders (`find.rs`) and reduced to their figures one by one
//! (`session.rs`), so that a year of nights takes little memory. Which of them can be compared is
//! what [`studies::diff`] says of two; those that can are a group (`group.rs`), whose series are
//! judged by [`statistics::change`] (`judge.rs`). All of that becomes one model ([`History`]), made
//! of records alone, and each format is made of the model alone.
//!
//! Between sessions the host drifts, so a series is not a row's figure but its ratio to the
//! baseline's within each session. Measures nothing.
#![forbid(unsafe_code)]

mod commit;
mod find;
mod group;
mod judge;
mod markdown;
mod model;
mod order;
mod page;
mod session;
mod text;
mod words;

use std::panic::resume_unwind;
use std::path::PathBuf;
use std::thread;

use load::Stop;

use find::Place;

pub use commit::commits;
pub use markdown::markdown;
pub use model::{
    Absolute, Change, Figure, Group, History, LeftOut, Point, Program, SCHEMA_VERSION, SessionFacts,
};
pub use order::Order;
pub use page::page;
pub use text::text;

/// No more threads read records at once.
const THREADS_MAX: usize = 8;

/// How a history is made.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The row that ratios are to, instead of each comparison's baseline.
    pub baseline: Option<String>,
    /// In which order sessions follow each other.
    pub order: Order,
    /// Changes below this share don't matter; without it, what the newest session says.
    pub smallest: Option<f64>,
}

/// Reads every session in and below `places`, which are folders, packs or records of runs.
///
/// # Errors
/// A sentence: no two sessions could be read that can be compared, and what was expected; or
/// `stop` asked for the end.
pub fn read(places: &[PathBuf], options: &Options, stop: &Stop) -> Result<History, String> {
    let (mut left_out, mut foreign) = (Vec::new(), Vec::new());
    let mut sessions = Vec::new();
    let found = find::sessions(places, &mut foreign)?;
    let read = side_by_side(&found, |place| session::read(place, options, stop));
    if let Some(signal) = stop.requested() {
        return Err(format!("stopped by {signal} while reading records"));
    }
    for (place, session) in found.iter().zip(read) {
        match session {
            Ok(session) => sessions.push(session),
            Err(why) => {
                let what = place.shown();
                // Some reasons begin with the place's name, which is said already.
                let own = format!("{what}: ");
                let why = why.strip_prefix(&own).unwrap_or(&why).to_owned();
                left_out.push(LeftOut { what, why });
            }
        }
    }
    let sessions = order::ordered(sessions, &options.order, &mut left_out);
    let groups = group::groups(sessions, options, &mut left_out);
    // Sessions that are left out matter more than files that are none.
    left_out.append(&mut foreign);
    match groups.is_empty() {
        false => Ok(History {
            schema_version: SCHEMA_VERSION,
            groups,
            left_out,
        }),
        true => Err(words::nothing(places, &left_out)),
    }
}

/// What `read` makes of each place, in their order. Each thread has one session in memory at a
/// time.
fn side_by_side<T: Send>(places: &[Place], read: impl Fn(&Place) -> T + Sync) -> Vec<T> {
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let share = places.len().div_ceil(threads.min(THREADS_MAX)).max(1);
    let read = &read;
    thread::scope(|scope| {
        let parts = places.chunks(share);
        let part = |part: &'_ [Place]| -> Vec<T> { part.iter().map(read).collect() };
        let readers: Vec<_> = parts
            .map(|places| scope.spawn(move || part(places)))
            .collect();
        let ended = readers.into_iter().map(|reader| reader.join());
        ended
            .flat_map(|read| read.unwrap_or_else(|panic| resume_unwind(panic)))
            .collect()
    })
}

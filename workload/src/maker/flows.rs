//! Where each connection of a worker is in a flow, and what it sends next.
//!
//! A connection goes through the turns of a [`plan::Flow`] by itself, again and again. Each time
//! through takes one row of the data file, which all its messages share; a connection that was
//! lost begins with the first turn, and with another row. With one seed, and answers that come in
//! the same order, the same is sent.

use std::sync::Arc;

use plan::Workload;

use super::{Maker, Ready, RowCopy, Said, Source};

/// What a connection does next.
#[derive(Debug)]
pub enum Next<'a> {
    /// It sends the exchange that [`Flows::next_step`] names.
    Exchange,
    /// It sends a message that nothing answers.
    Message(Said<'a>),
    /// It rests so many nanoseconds, and then asks again.
    Rest(u64),
    /// It has nothing more to do.
    Over,
}

/// See the module.
#[derive(Debug)]
pub struct Flows {
    maker: Maker,
    turns: Arc<Turns>,
    places: Vec<Place>,
    /// The connection whose exchange is next.
    current: usize,
    /// Connections that have begun with the first turn and not come behind the last.
    under_way: usize,
    /// The message that was said last, which is lent.
    said: Vec<u8>,
}

/// The turns of a flow.
#[derive(Debug)]
pub(super) struct Turns {
    all: Vec<Turn>,
    /// How long a connection rests behind the last.
    rest_ns: u64,
    /// Whether messages must be text.
    is_text: bool,
    /// The data file, for messages; empty where there is none.
    data_file: String,
}

#[derive(Clone, Copy, Debug)]
struct Turn {
    rest_ns: u64,
    answers: u32,
}

/// Where a connection is.
#[derive(Debug, Default)]
struct Place {
    /// The turn that is next.
    at: usize,
    /// It has taken its row, and sent what stands before that.
    has_begun: bool,
    /// It has been through all of them before.
    again: bool,
    /// It has rested before that turn.
    has_rested: bool,
    row: RowCopy,
}

impl Turns {
    /// Those of a workload, whose messages are text unless they're binary ones.
    pub(super) fn of(workload: &Workload, is_binary: bool) -> Option<Turns> {
        let flow = workload.flow.as_ref()?;
        let file = workload.data.as_ref().map(|data| data.file.display());
        let ns = |seconds: f64| (seconds * 1e9) as u64;
        let turns = flow.turns.iter().map(|turn| Turn {
            rest_ns: ns(turn.rest_s),
            answers: turn.answers,
        });
        Some(Turns {
            all: turns.collect(),
            rest_ns: ns(flow.rest_s),
            is_text: !is_binary,
            data_file: file.map(|file| file.to_string()).unwrap_or_default(),
        })
    }
}

impl Flows {
    /// That of `maker`'s source; `maker` where it has none.
    ///
    /// # Errors
    /// `maker` itself.
    pub fn new(maker: Maker) -> Result<Flows, Box<Maker>> {
        let Some(turns) = maker.source.turns.clone() else {
            return Err(Box::new(maker));
        };
        Ok(Flows {
            maker,
            turns,
            places: Vec::new(),
            current: 0,
            under_way: 0,
            said: Vec::new(),
        })
    }

    /// What it makes messages of.
    pub fn source(&self) -> &Source {
        &self.maker.source
    }

    /// Whether no connection has anything more to do, because the rows are used up.
    pub fn is_over(&self) -> bool {
        self.maker.exhausted && self.under_way == 0
    }

    /// What of the data file could not be sent, with the line; then no connection begins again.
    pub fn broken(&self) -> Option<&str> {
        self.maker.broken()
    }

    /// A connection was lost, or is opened: it begins with the first turn.
    pub fn start_over(&mut self, connection: usize) {
        if let Some(place) = self.places.get_mut(connection) {
            self.under_way -= usize::from(place.has_begun);
            let row = std::mem::take(&mut place.row);
            *place = Place {
                row,
                ..Place::default()
            };
        }
    }

    /// What a connection does next on which no exchange is under way. What is told is done by then:
    /// the message is sent, the rest is over.
    pub fn next(&mut self, connection: usize) -> Next<'_> {
        if self.places.len() <= connection {
            self.places.resize_with(connection + 1, Place::default);
        }
        let place = &mut self.places[connection];
        let Some(&turn) = self.turns.all.get(place.at) else {
            return Next::Over;
        };
        if !place.has_begun && self.maker.exhausted {
            return Next::Over;
        }
        let behind_ns = match !place.has_begun && place.again {
            true => self.turns.rest_ns,
            false => 0,
        };
        let rest_ns = turn.rest_ns.saturating_add(behind_ns);
        if rest_ns > 0 && !std::mem::replace(&mut place.has_rested, true) {
            return Next::Rest(rest_ns);
        }
        if !place.has_begun && !self.begin(connection) {
            return Next::Over;
        }
        self.current = connection;
        match turn.answers {
            0 => {
                let step = self.next_step();
                Next::Message(self.say(step))
            }
            _ => Next::Exchange,
        }
    }

    /// The step of the exchange that is next, which [`Flows::say`] has the bytes of.
    pub fn next_step(&mut self) -> u16 {
        let Some(place) = self.places.get_mut(self.current) else {
            return 0;
        };
        let step = place.at;
        place.has_rested = false;
        place.at += 1;
        if place.at >= self.turns.all.len() {
            (place.at, place.again) = (0, true);
            place.has_begun = false;
            self.under_way = self.under_way.saturating_sub(1);
        }
        step as u16
    }

    /// What the message of `step` says on the connection whose turn it is.
    pub fn say(&mut self, step: u16) -> Said<'_> {
        let index = usize::from(step);
        let payload: &[u8] = match self.maker.source.steps.get(index) {
            Some(Ready::Message(bytes)) => bytes,
            Some(Ready::Made(recipe)) => {
                self.said.clear();
                if let Some(place) = self.places.get(self.current) {
                    recipe.make(&place.row, &mut self.maker.chance, &mut self.said);
                }
                &self.said
            }
            _ => &[],
        };
        let answers = self.turns.all.get(index).map_or(0, |turn| turn.answers);
        Said::Message { payload, answers }
    }

    /// A connection begins with the first turn, and takes a row. False if that can't be sent.
    fn begin(&mut self, connection: usize) -> bool {
        let Flows { maker, places, .. } = self;
        let place = &mut places[connection];
        if maker.rows.is_some() {
            if self.turns.is_text && !maker.row.is_text() {
                maker.exhausted = true;
                let file = &self.turns.data_file;
                maker.broken = Some(format!(
                    "{file}: a row isn't UTF-8, and a text message must be (RFC 6455 §5.6): save \
                     the file as UTF-8, or add --binary"
                ));
                return false;
            }
            place.row.copy(&maker.row);
            maker.read_row();
        }
        place.has_begun = true;
        self.under_way += 1;
        true
    }
}

#[cfg(test)]
mod tests;

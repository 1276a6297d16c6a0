//! How things stand, for `/health` and `/metrics`.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use exposition::{Family, encode, wants_native};

use crate::channel::{Channel, Counts, Message};
use crate::figures::{Said, Sums, Wanted};
use crate::roster::{Id, Standing};
use crate::shared::Shared;

/// What a master shows. Clones are the same.
#[derive(Clone, Debug, Default)]
pub(crate) struct Board(Arc<Mutex<Shown>>);

/// What is shown.
#[derive(Debug, Default)]
pub(crate) struct Shown {
    pub(crate) standing: Standing,
    pub(crate) workers: BTreeMap<Id, Row>,
    /// What workers have counted that are gone.
    pub(crate) gone: Counts,
    gone_figures: Sums,
    wanted: Wanted,
}

/// One worker.
#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) place: usize,
    pub(crate) pid: u32,
    pub(crate) ready: bool,
    pub(crate) ending: bool,
    pub(crate) silent: bool,
    pub(crate) counts: Counts,
    pub(crate) figures: Figures,
    pub(crate) channel: Arc<Channel>,
}

/// What a worker counts beside the server.
#[derive(Debug)]
pub(crate) struct Figures {
    pub(crate) memory: Shared,
    /// What was read last: one that is killed while it writes leaves nothing better.
    last: Said,
}

impl Figures {
    pub(crate) fn of(memory: Shared) -> Figures {
        let last = Said::default();
        Figures { memory, last }
    }

    fn said(&mut self) -> &Said {
        let read = self.memory.read();
        if let Some(said) = read.and_then(|bytes| Said::read(&bytes)) {
            self.last = said;
        }
        &self.last
    }
}

impl Board {
    /// What is shown, to be read or changed.
    pub(crate) fn shown(&self) -> MutexGuard<'_, Shown> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Shown {
    /// A worker was started.
    pub(crate) fn enter(&mut self, id: Id, row: Row) {
        if self.wanted > Wanted::Nothing {
            row.channel.say(Message::Wanted(self.wanted));
        }
        self.workers.insert(id, row);
    }

    /// Somebody wants what workers count: they're told, if nobody has wanted as much before.
    fn want(&mut self, wanted: Wanted) {
        if wanted > self.wanted {
            self.wanted = wanted;
            let rows = self.workers.values();
            rows.for_each(|row| row.channel.say(Message::Wanted(wanted)));
        }
    }

    /// A worker is gone. What it has counted stays.
    pub(crate) fn leave(&mut self, id: Id) {
        if let Some(mut row) = self.workers.remove(&id) {
            self.gone_figures.add(row.figures.said(), true);
            self.gone.requests += row.counts.requests;
            self.gone.accepted += row.counts.accepted;
            self.gone.panics += row.counts.panics;
        }
    }

    /// Whether anybody serves.
    pub(crate) fn is_up(&self) -> bool {
        self.standing.serving > 0
    }

    /// For `/health`, in JSON.
    pub(crate) fn health(&self) -> String {
        let standing = &self.standing;
        let status = match (standing.serving, standing.places) {
            (0, _) => "down",
            (serving, places) if serving < places || standing.silent > 0 => "degraded",
            _ => "ok",
        };
        let mut text = format!(
            "{{\"status\":\"{status}\",\"pid\":{},\"processes\":{},\"serving\":{},\
             \"silent\":{},\"backing_off\":{},\"restarts\":{},\"silent_kills\":{},\"reloads\":{},\
             \"failed_reloads\":{},\"reloading\":{},\"workers\":[",
            std::process::id(),
            standing.places,
            standing.serving,
            standing.silent,
            standing.backing_off,
            standing.restarts,
            standing.silent_kills,
            standing.reloads,
            standing.failed_reloads,
            standing.reloading
        );
        for (at, row) in self.workers.values().enumerate() {
            let comma = if at > 0 { "," } else { "" };
            let state = match (row.ending, row.ready) {
                (true, _) => "ending",
                (false, true) if row.silent => "silent",
                (false, true) => "serving",
                (false, false) => "starting",
            };
            // A text takes whatever is written to it.
            let _ = write!(
                text,
                "{comma}{{\"place\":{},\"pid\":{},\"state\":\"{state}\"}}",
                row.place, row.pid
            );
        }
        text.push_str("]}\n");
        text
    }

    /// For `/metrics`, in the format that somebody wants who sends this in `Accept`, and its media
    /// type.
    pub(crate) fn metrics(&mut self, accept: &[u8]) -> (&'static str, Vec<u8>) {
        let native = wants_native(accept);
        self.want(if native { Wanted::Native } else { Wanted::Text });
        let mut figures = self.gone_figures.clone();
        for row in self.workers.values_mut() {
            figures.add(row.figures.said(), false);
        }
        // Both formats are families one after the other.
        let (media, mut bytes) = encode(&self.families(), accept);
        bytes.extend(encode(figures.families(native), accept).1);
        (media, bytes)
    }

    /// What the master knows by itself.
    fn families(&self) -> Vec<Family> {
        let mut all = self.gone;
        for row in self.workers.values() {
            all.requests += row.counts.requests;
            all.accepted += row.counts.accepted;
            all.open += row.counts.open;
            all.panics += row.counts.panics;
        }
        let standing = &self.standing;
        let gauges = [
            (
                "ringside_processes",
                "Workers that there should be.",
                standing.places as u64,
            ),
            (
                "ringside_processes_serving",
                "Workers that serve.",
                standing.serving as u64,
            ),
            (
                "ringside_processes_silent",
                "Workers that give no sign of life.",
                standing.silent as u64,
            ),
            (
                "ringside_processes_ending",
                "Workers that end.",
                standing.ending as u64,
            ),
            (
                "ringside_connections_open",
                "Connections that are open.",
                all.open,
            ),
        ];
        let of_gauges =
            gauges.map(|(name, help, value)| Family::gauges(name, help, [(Vec::new(), value)]));
        let counters = self.counters(&all);
        let of_counters =
            counters.map(|(name, help, value)| Family::counters(name, help, [(Vec::new(), value)]));
        of_gauges.into_iter().chain(of_counters).collect()
    }

    /// What only grows; `all`: what workers have counted.
    fn counters(&self, all: &Counts) -> [(&'static str, &'static str, u64); 7] {
        let standing = &self.standing;
        [
            (
                "ringside_restarts_total",
                "Workers that died and were replaced, and attempts to start one that failed.",
                standing.restarts,
            ),
            (
                "ringside_silent_kills_total",
                "Workers that were killed since they gave no sign of life.",
                standing.silent_kills,
            ),
            (
                "ringside_reloads_total",
                "Reloads that took over.",
                standing.reloads,
            ),
            (
                "ringside_reloads_failed_total",
                "Reloads that were given up.",
                standing.failed_reloads,
            ),
            (
                "ringside_requests_total",
                "Requests whose head was read.",
                all.requests,
            ),
            (
                "ringside_connections_total",
                "Connections accepted.",
                all.accepted,
            ),
            (
                "ringside_panics_total",
                "Handlers that panicked.",
                all.panics,
            ),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::channel::Heard;
    use crate::figures::handed_over;

    /// Two workers, and what each is told.
    fn two_workers() -> (Shown, Vec<Channel>) {
        let mut shown = Shown::default();
        let counts = Counts {
            requests: 5,
            accepted: 2,
            open: 1,
            panics: 0,
        };
        let mut told = Vec::new();
        for id in [1, 2] {
            let (channel, theirs) = Channel::pair().expect("a pair");
            told.push(theirs);
            let row = Row {
                place: id as usize - 1,
                pid: 100,
                ready: true,
                ending: false,
                silent: false,
                counts,
                figures: Figures::of(Shared::create().expect("memory")),
                channel: Arc::new(channel),
            };
            let bytes = handed_over(Wanted::Nothing, |_| {
                vec![
                    Family::counters("hits_total", "Hits.", [(Vec::new(), 2)]),
                    Family::gauges("held", "What is held.", [(Vec::new(), 3)]),
                ]
            });
            row.figures.memory.write(&bytes).expect("memory");
            shown.enter(Id(id), row);
        }
        (shown, told)
    }

    #[track_caller]
    fn says(shown: &mut Shown, lines: &[&str]) {
        let (media, bytes) = shown.metrics(b"");
        assert!(media.starts_with("text/plain; version=0.0.4"), "{media}");
        let said = String::from_utf8(bytes).expect("a text");
        for line in lines {
            assert!(said.lines().any(|one| one == *line), "{line} in\n{said}");
        }
    }

    #[test]
    fn what_workers_counted_stays_when_they_are_gone() {
        let (mut shown, _told) = two_workers();
        says(&mut shown, &["hits_total 4", "held 6", "# TYPE held gauge"]);
        says(&mut shown, &["ringside_requests_total 10"]);
        shown.leave(Id(1));
        says(&mut shown, &["hits_total 4", "held 3"]);
        let of_master = ["ringside_requests_total 10", "ringside_connections_open 1"];
        says(&mut shown, &of_master);
    }

    #[test]
    fn workers_are_told_once_how_their_figures_are_wanted_and_new_ones_at_once() {
        const NATIVE: &[u8] = b"application/vnd.google.protobuf;encoding=delimited";
        let (mut shown, told) = two_workers();
        let hears = |at: usize, wanted| {
            let message = Heard::Said(Message::Wanted(wanted));
            assert_eq!(
                (told[at].hear(), told[at].hear()),
                (message, Heard::Nothing)
            );
        };
        assert_eq!(told[0].hear(), Heard::Nothing);
        shown.metrics(b"");
        shown.metrics(b"");
        hears(0, Wanted::Text);
        let (media, bytes) = shown.metrics(NATIVE);
        assert!(media.starts_with("application/vnd.google.protobuf"));
        let families = exposition::unpack(&bytes).expect("families");
        let names = families.iter().map(|family| &*family.name);
        let names: Vec<_> = names
            .skip_while(|name| name.starts_with("ringside_"))
            .collect();
        assert_eq!(names, ["hits_total", "held"]);
        hears(0, Wanted::Native);
        shown.metrics(b"");
        assert_eq!(told[0].hear(), Heard::Nothing);
        let row = shown.workers.remove(&Id(2)).expect("it was there");
        assert_eq!(told[1].hear(), Heard::Said(Message::Wanted(Wanted::Text)));
        assert_eq!(told[1].hear(), Heard::Said(Message::Wanted(Wanted::Native)));
        shown.enter(Id(3), row);
        hears(1, Wanted::Native);
    }

    #[test]
    fn health_says_who_serves() {
        let mut shown = Shown::default();
        shown.standing.places = 2;
        assert!(shown.health().starts_with("{\"status\":\"down\""));
        shown.standing.serving = 1;
        assert!(shown.health().starts_with("{\"status\":\"degraded\""));
        shown.standing.serving = 2;
        assert!(shown.health().starts_with("{\"status\":\"ok\""));
    }
}

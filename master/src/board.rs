//! How things stand, for `/health` and `/metrics`.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::channel::Counts;
use crate::figures::Sums;
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
}

/// What a worker counts beside the server.
#[derive(Debug)]
pub(crate) struct Figures {
    pub(crate) memory: Shared,
    /// What was read last: one that is killed while it writes leaves nothing better.
    last: String,
}

impl Figures {
    pub(crate) fn of(memory: Shared) -> Figures {
        let last = String::new();
        Figures { memory, last }
    }

    fn text(&mut self) -> &str {
        let read = self.memory.read();
        if let Some(text) = read.and_then(|text| String::from_utf8(text).ok()) {
            self.last = text;
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
    /// A worker is gone. What it has counted stays.
    pub(crate) fn leave(&mut self, id: Id) {
        if let Some(mut row) = self.workers.remove(&id) {
            self.gone_figures.add(row.figures.text(), true);
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

    /// For `/metrics`, in the text format of Prometheus.
    pub(crate) fn metrics(&mut self) -> String {
        let mut figures = self.gone_figures.clone();
        for row in self.workers.values_mut() {
            figures.add(row.figures.text(), false);
        }
        let mut all = self.gone;
        for row in self.workers.values() {
            all.requests += row.counts.requests;
            all.accepted += row.counts.accepted;
            all.open += row.counts.open;
            all.panics += row.counts.panics;
        }
        let standing = &self.standing;
        let mut text = String::new();
        let mut tell = |name: &str, kind: &str, help: &str, value: u64| {
            let _ = writeln!(text, "# HELP ringside_{name} {help}");
            let _ = writeln!(
                text,
                "# TYPE ringside_{name} {kind}\nringside_{name} {value}"
            );
        };
        let places = standing.places as u64;
        let help = "Workers that there should be.";
        tell("processes", "gauge", help, places);
        let (serving, help) = (standing.serving as u64, "Workers that serve.");
        tell("processes_serving", "gauge", help, serving);
        let silent = standing.silent as u64;
        let help = "Workers that give no sign of life.";
        tell("processes_silent", "gauge", help, silent);
        let ending = standing.ending as u64;
        tell("processes_ending", "gauge", "Workers that end.", ending);
        let help = "Workers that died and were replaced, and attempts to start one that failed.";
        tell("restarts_total", "counter", help, standing.restarts);
        let help = "Workers that were killed since they gave no sign of life.";
        tell("silent_kills_total", "counter", help, standing.silent_kills);
        let help = "Reloads that took over.";
        tell("reloads_total", "counter", help, standing.reloads);
        let help = "Reloads that were given up.";
        tell(
            "reloads_failed_total",
            "counter",
            help,
            standing.failed_reloads,
        );
        let help = "Requests whose head was read.";
        tell("requests_total", "counter", help, all.requests);
        tell(
            "connections_total",
            "counter",
            "Connections accepted.",
            all.accepted,
        );
        tell(
            "connections_open",
            "gauge",
            "Connections that are open.",
            all.open,
        );
        tell(
            "panics_total",
            "counter",
            "Handlers that panicked.",
            all.panics,
        );
        text.push_str(&figures.text());
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_workers_counted_stays_when_they_are_gone() {
        let mut shown = Shown::default();
        let counts = Counts {
            requests: 5,
            accepted: 2,
            open: 1,
            panics: 0,
        };
        for id in [1, 2] {
            let row = Row {
                place: id as usize - 1,
                pid: 100,
                ready: true,
                ending: false,
                silent: false,
                counts,
                figures: Figures::of(Shared::create().expect("memory")),
            };
            let text = b"# TYPE hits_total counter\nhits_total 2\n# TYPE held gauge\nheld 3\n";
            row.figures.memory.write(text).expect("memory");
            shown.workers.insert(Id(id), row);
        }
        let said = shown.metrics();
        assert!(
            said.contains("\nhits_total 4\n# TYPE held gauge\nheld 6\n"),
            "{said}"
        );
        assert!(shown.metrics().contains("\nringside_requests_total 10\n"));
        shown.leave(Id(1));
        let metrics = shown.metrics();
        assert!(
            metrics.contains("\nringside_requests_total 10\n"),
            "{metrics}"
        );
        assert!(
            metrics.contains("\nringside_connections_open 1\n"),
            "{metrics}"
        );
        assert!(
            metrics.contains("\nhits_total 4\n# TYPE held gauge\nheld 3\n"),
            "{metrics}"
        );
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

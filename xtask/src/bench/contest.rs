//! Contenders that take turns: each is a generator against one of a few servers, which all stand on
//! the server's core while one is asked and the others idle. Every round starts new servers, and
//! who comes first changes from round to round.

use super::peers::Said;
use super::report::{Findings, Row, ratios};
use super::runs::{self, Run, Server, column};
use super::{Bench, Result};

/// How a server is started.
pub(super) struct Serving {
    words: Vec<String>,
}

impl Serving {
    /// `ringside serve` with these words.
    pub(super) fn ours(words: &[&str]) -> Serving {
        Serving {
            words: runs::ours(words),
        }
    }

    /// A peer by its command, in which `{port}` is its port.
    pub(super) fn peer(words: &[&str]) -> Serving {
        Serving { words: own(words) }
    }
}

/// Words that are kept.
pub(super) fn own(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

/// Who takes part: a generator's command, in which `{port}` is its server's.
pub(super) struct Contender {
    name: &'static str,
    server: usize,
    words: Vec<String>,
    /// How a peer's output is read; ours has a record.
    read: Option<fn(&str) -> Result<Said>>,
}

impl Contender {
    /// `ringside run` with these words.
    pub(super) fn ringside(name: &'static str, words: Vec<String>) -> Contender {
        Contender {
            name,
            server: 0,
            words,
            read: None,
        }
    }

    /// Another generator.
    pub(super) fn peer(
        name: &'static str,
        words: Vec<String>,
        read: fn(&str) -> Result<Said>,
    ) -> Contender {
        Contender {
            name,
            server: 0,
            words,
            read: Some(read),
        }
    }

    /// Against the `server`-th server and not the first.
    pub(super) fn against(self, server: usize) -> Contender {
        Contender { server, ..self }
    }

    fn run(&self, bench: &mut Bench, servers: &[Server]) -> Result<Run> {
        let server = &servers[self.server];
        let filled = self
            .words
            .iter()
            .map(|word| runs::fill(word, server.port()));
        let words: Vec<String> = filled.collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        match self.read {
            None => Ok(runs::ringside(bench, server, &words)?.0),
            Some(read) => runs::peer(bench, server, &words, read),
        }
    }
}

/// What everybody did, one run in each round.
pub(super) struct Contest {
    runs: Vec<(&'static str, Vec<Run>)>,
    /// What a reader must know.
    pub(super) notes: Vec<String>,
}

impl Contest {
    /// Lets every contender run in every round.
    pub(super) fn hold(
        bench: &mut Bench,
        servers: &[Serving],
        contenders: Vec<Contender>,
    ) -> Result<Contest> {
        let mut runs: Vec<(&'static str, Vec<Run>)> = contenders
            .iter()
            .map(|contender| (contender.name, Vec::new()))
            .collect();
        for round in 0..bench.options.pairs {
            let servers: Vec<Server> = (0..)
                .zip(servers)
                .map(|(at, serving)| Server::launch(bench, at, &serving.words, runs::listens))
                .collect::<Result<_>>()?;
            for turn in 0..contenders.len() {
                let at = (turn + round) % contenders.len();
                let run = contenders[at].run(bench, &servers)?;
                eprintln!(
                    "  round {} of {}: {} {:.0}/s, generator {:.2} µs each, server {:.2}",
                    round + 1,
                    bench.options.pairs,
                    contenders[at].name,
                    run.rate,
                    run.generator_cpu_us_per_request,
                    run.server_cpu_us_per_request,
                );
                runs[at].1.push(run);
                runs::settle(bench)?;
            }
        }
        Ok(Contest {
            runs,
            notes: Vec::new(),
        })
    }

    /// The runs of a contender, in the order of rounds; none if it did not take part.
    pub(super) fn of(&self, name: &str) -> &[Run] {
        self.runs
            .iter()
            .find(|(other, _)| *other == name)
            .map_or(&[], |(_, runs)| runs)
    }

    /// A figure of one contender over that of another, round by round.
    pub(super) fn ratios(&self, one: &str, other: &str, figure: fn(&Run) -> f64) -> Vec<f64> {
        ratios(
            &column(self.of(one), figure),
            &column(self.of(other), figure),
        )
    }

    /// `rows` first, then what everybody did.
    pub(super) fn findings(self, mut rows: Vec<Row>) -> Result<Findings> {
        let mut notes = Vec::new();
        let mut all = Vec::new();
        for (name, runs) in self.runs {
            rows.extend(runs::shown(name, &runs));
            notes.push(runs::limit(name, &runs));
            notes.extend(runs::disturbances(name, &runs));
            all.extend(runs);
        }
        notes.extend(self.notes);
        Ok(Findings {
            rows,
            notes,
            runs: runs::values(&all)?,
        })
    }
}

//! What a host costs a measurement, and the commands that change it.
//!
//! It reads what the host says of itself, tries io_uring, sleeps for a second to see how late it is
//! woken up, and changes nothing. `facts` reads, `rules` makes findings of that and is pure,
//! `drivers` says what the engine finds by trying. It knows no arguments and no terminal.
#![forbid(unsafe_code)]

mod drivers;
mod facts;
mod rules;
mod timers;

use measure::needs::{Connections, Facts as Needs, Need, Over, Spoken};
use schemars::JsonSchema;
use serde::Serialize;

/// One thing about the host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Finding {
    /// What it belongs to: kernel, io_uring, processor, memory, limits, network or connections.
    pub area: &'static str,
    /// What was looked at.
    pub name: String,
    /// Whether it is well.
    pub state: State,
    /// What was found.
    pub value: String,
    /// What that costs; none where all is well and there is nothing to know.
    pub cost: Option<String>,
    /// What changes it; none where nothing has to be changed, or nothing can.
    pub command: Option<String>,
}

/// Whether something is well.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// It is.
    Ok,
    /// It costs something.
    Warn,
    /// This host does not show it.
    Unknown,
}

/// Everything that was found.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Report {
    /// The version of this schema.
    pub schema_version: u32,
    /// How many of the findings are warnings.
    pub warnings: usize,
    /// All that was looked at, in the order of the areas.
    pub findings: Vec<Finding>,
    /// Whether the connections of --connections find what they need.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connections: Option<Room>,
}

/// Whether so many connections can stand here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Room {
    /// How many connections were asked for.
    pub number: u32,
    /// None of what they need is missing altogether.
    pub fit: bool,
    /// How many of the warnings are about them.
    pub to_fix: usize,
}

impl Room {
    fn of(number: u32, needs: &[Need]) -> Room {
        Room {
            number,
            fit: needs.iter().all(|need| need.refusal().is_none()),
            to_fix: needs.iter().filter(|need| need.lacks.is_some()).count(),
        }
    }

    /// It in a sentence.
    pub fn verdict(self) -> String {
        let Room {
            number,
            fit,
            to_fix,
        } = self;
        let things = match to_fix {
            1 => "1 thing".to_owned(),
            _ => format!("{to_fix} things"),
        };
        match (fit, to_fix) {
            (true, 0) => format!("Ready for {number} connections."),
            (true, _) => {
                format!("Ready for {number} connections, with {things} to mind, see above.")
            }
            (false, _) => format!("{number} connections don't fit: {things} to fix, see above."),
        }
    }
}

/// How many connections are to stand here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asked {
    /// So many.
    pub number: u32,
    /// The other ends are elsewhere.
    pub one_end: bool,
}

impl Report {
    /// Looks at everything. `private_network`: whether one can be had, or why not.
    pub fn read(private_network: Result<(), String>, connections: Option<Asked>) -> Report {
        let mut findings = rules::judge(&facts::Facts::read(private_network));
        findings.extend(drivers::judge());
        let mut room = None;
        if let Some(Asked { number, one_end }) = connections {
            let (ends, over) = match one_end {
                true => (1, Over::Network),
                false => (2, Over::Loopback),
            };
            let needs = Needs::read().needs(Connections {
                number: number.into(),
                ends,
                spoken: Spoken::Http1,
                tls: false,
                over,
            });
            room = Some(Room::of(number, &needs));
            findings.extend(needs.into_iter().map(rules::of_need));
        }
        findings.sort_by_key(|finding| rules::AREAS.iter().position(|area| *area == finding.area));
        let warnings = findings
            .iter()
            .filter(|finding| finding.state == State::Warn)
            .count();
        Report {
            schema_version: 1,
            warnings,
            findings,
            connections: room,
        }
    }
}

/// The JSON Schema of a [`Report`].
pub fn schema() -> String {
    measure::record::schema_of::<Report>()
}

#[cfg(test)]
mod tests {
    use measure::needs::Lack;

    use super::*;

    #[test]
    fn it_says_whether_so_many_connections_fit() {
        let need = |hopeless: Option<bool>| Need {
            what: "memory",
            says: String::new(),
            lacks: hopeless.map(|hopeless| Lack {
                cost: String::new(),
                command: None,
                hopeless,
            }),
        };
        for (needs, verdict) in [
            (vec![need(None)], "Ready for 20000 connections."),
            (
                vec![need(None), need(Some(false))],
                "Ready for 20000 connections, with 1 thing to mind, see above.",
            ),
            (
                vec![need(Some(true)), need(Some(false))],
                "20000 connections don't fit: 2 things to fix, see above.",
            ),
        ] {
            assert_eq!(Room::of(20_000, &needs).verdict(), verdict);
        }
    }
}

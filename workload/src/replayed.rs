//! A load out of requests that were made once: what is sent, when, and what of it is told.

use std::path::Path;
use std::sync::Arc;

use measure::foreign::Foreign;
use plan::schedule::{LeftOut, Schedule, Traced};
use plan::{Invalid, Plan, Redaction, Request, Step, Target, Workload};
use replay::{Options, Trace};

/// The word for every method.
const ALL: &str = "all";
/// What changes nothing on a server (RFC 9110 §9.2.1), and is logged by itself.
const METHODS: [&str; 2] = ["GET", "HEAD"];

/// Which requests are sent again, and how.
#[derive(Clone, Copy, Debug)]
pub struct Given<'a> {
    /// Where they were written down.
    pub file: &'a Path,
    /// The methods that are sent, or `all`; empty: GET and HEAD.
    pub methods: &'a [String],
    /// Whether fields that let somebody in are sent, too.
    pub keep_secrets: bool,
    /// How many times as fast.
    pub speed: f64,
    /// How often all of them are sent.
    pub passes: u32,
}

/// Requests that were made once, as a load.
#[derive(Clone, Debug, PartialEq)]
pub struct Replayed {
    /// A step for each method, under which its figures are listed.
    pub workload: Workload,
    /// When which of them is sent.
    pub schedule: Schedule,
    /// What isn't sent, and what a reader has to know.
    pub notes: Vec<String>,
}

impl Replayed {
    /// Reads them, to be sent to `target`. `redaction` says which fields are secrets, and learns
    /// what is in those that are sent.
    ///
    /// # Errors
    /// What can't be read, or sent.
    pub fn read(
        given: &Given<'_>,
        target: &Target,
        redaction: &Redaction,
    ) -> Result<Replayed, String> {
        let is_secret = |name: &str| redaction.is_secret(name);
        let trace = replay::read(
            given.file,
            &Options {
                methods: methods(given.methods),
                is_secret: &is_secret,
                keep_secrets: given.keep_secrets,
            },
        )?;
        for request in &trace.requests {
            let fields = request.fields.iter();
            let fields = fields.map(|(name, value)| (&**name, &**value));
            redaction.learn(fields, &request.target);
        }
        let mut workload = Workload::new(steps(&trace, target));
        workload.file = Some(given.file.to_owned());
        let notes = trace.notes.iter();
        let notes = notes.map(|note| Foreign::new(note).to_string()).collect();
        // Each field by its name: a reason that's new doesn't compile until records have it.
        let replay::LeftOut {
            unreadable,
            by_method,
            elsewhere,
            without_body,
            methods: _,
            first: _,
        } = &trace.left_out;
        let left_out = LeftOut {
            unreadable: *unreadable,
            by_method: *by_method,
            elsewhere: *elsewhere,
            without_body: *without_body,
        };
        let last = trace.sendings.last();
        let schedule = Schedule::Trace {
            file: given.file.to_owned(),
            speed: given.speed,
            passes: given.passes,
            requests: trace.sendings.len() as u64,
            seconds: last.map_or(0.0, |last| last.at_ns as f64 / 1e9),
            left_out,
            trace: Traced(Arc::new(trace)),
        };
        Ok(Replayed {
            workload,
            schedule,
            notes,
        })
    }

    /// Those of a comparison, whose file is beside `folder`, for any server.
    ///
    /// # Errors
    /// See [`Replayed::read`]; with the key that says it.
    pub fn for_any(
        given: &Given<'_>,
        folder: &Path,
        redaction: &Redaction,
    ) -> Result<Replayed, String> {
        let file = folder.join(given.file);
        let given = Given {
            file: &file,
            ..*given
        };
        let any = Plan::new("http://localhost/").map_err(|Invalid(why)| why)?;
        let read = Replayed::read(&given, &any.target, redaction);
        let mut read = read.map_err(|why| format!("`replay`: {why}"))?;
        for note in &mut read.notes {
            *note = format!("{}: {note}", file.display());
        }
        Ok(read)
    }
}

/// What is sent again, in words, and how fast; none of another schedule.
pub fn words(schedule: &Schedule) -> Option<String> {
    let Schedule::Trace {
        file,
        speed,
        requests,
        ..
    } = schedule
    else {
        return None;
    };
    let name = file.file_name().unwrap_or(file.as_os_str());
    let name = name.to_string_lossy();
    Some(format!("{requests} requests of {name}, replayed × {speed}"))
}

fn methods(given: &[String]) -> Option<Vec<String>> {
    match given {
        [] => Some(METHODS.map(str::to_owned).to_vec()),
        given if given.iter().any(|method| method.eq_ignore_ascii_case(ALL)) => None,
        given => Some(
            given
                .iter()
                .map(|method| method.to_ascii_uppercase())
                .collect(),
        ),
    }
}

fn steps(trace: &Trace, target: &Target) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    for request in &trace.requests {
        if steps.iter().any(|step| step.name == request.method) {
            continue;
        }
        steps.push(Step {
            name: request.method.clone(),
            weight: 1,
            target: target.clone(),
            request: Request {
                method: request.method.clone(),
                headers: Vec::new(),
                body: Vec::new(),
            },
            body_is_template: false,
            expect: Vec::new(),
            at: None,
        });
    }
    steps
}

/// What of the words of a comparison has no meaning beside a replay.
#[derive(Clone, Copy, Debug, Default)]
pub struct Beside {
    /// `path`, `method`, `message`, `targets`, `template`, `data`, `pick` or `script` is given.
    pub says_what_is_sent: bool,
    /// Another protocol than HTTP/1.1 and HTTP/2 is.
    pub protocol: bool,
    /// The speed is none.
    pub is_still: bool,
}

impl Beside {
    /// Whether it all goes together.
    ///
    /// # Errors
    /// What doesn't, and what to do.
    pub fn check(&self) -> Result<(), String> {
        let table = [
            (
                self.says_what_is_sent,
                "`replay` says what is sent: drop `path`, `method`, `message`, `targets`, \
                 `template`, `data`, `pick` and `script`",
            ),
            (
                self.protocol,
                "`protocol`: a replay is sent over http1 or http2",
            ),
            (self.is_still, "`speed` has to be above 0"),
        ];
        match table.iter().find(|(is_given, _)| *is_given) {
            Some((_, why)) => Err((*why).to_owned()),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_is_a_load_of_its_requests_with_an_example_of_each_method() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("access.log");
        let line = |second: u32, request: &str| {
            format!("::1 - - [28/Nov/2026:10:00:{second:02} +0000] \"{request} HTTP/1.1\" 200 5\n")
        };
        let text = [
            line(0, "GET /a?b=1"),
            line(1, "HEAD /a"),
            line(2, "GET /c"),
            line(3, "DELETE /c"),
        ];
        std::fs::write(&file, text.concat()).unwrap();
        let mut plan = Plan::new("http://localhost/").unwrap();
        plan.request.headers = vec![("Accept".to_owned(), "x/y".to_owned())];
        let given = Given {
            file: &file,
            methods: &[],
            keep_secrets: false,
            speed: 2.0,
            passes: 1,
        };
        let read = Replayed::read(&given, &plan.target, &plan.redaction).unwrap();
        assert!(
            read.notes[0].starts_with("skipped 1 of 4 lines: 1 use DELETE"),
            "{read:?}"
        );
        plan.schedule = read.schedule.clone();
        plan.workload = Some(read.workload);
        let examples = crate::examples(&plan, 10).unwrap();
        let asked = examples.iter().map(|one| {
            let request = &one.plan.request;
            assert_eq!(request.headers, plan.request.headers);
            (&*request.method, &*one.plan.target.path)
        });
        let asked: Vec<_> = asked.collect();
        assert_eq!(asked, [("GET", "/a?b=1"), ("HEAD", "/a")]);
        // Three requests in two seconds, and a gap more before the next pass.
        assert_eq!(plan.schedule.length_s(), Some(1.5));
        assert_eq!(plan.schedule.mean_rate(1.0), Some(2.0));
        let faster = plan.schedule.in_part(Some(8.0), 1.0);
        assert_eq!(faster.mean_rate(1.0), Some(8.0));
        assert!(faster.length_s().unwrap() >= 1.0, "{faster:?}");
        let same = plan.schedule.in_part(None, 60.0);
        assert_eq!(same.mean_rate(1.0), Some(2.0));
        assert!(same.length_s().unwrap() >= 60.0, "{same:?}");
    }

    #[test]
    fn what_has_no_meaning_beside_a_replay_is_refused() {
        let none = Beside::default();
        assert_eq!(none.check(), Ok(()));
        for (beside, told) in [
            (
                Beside {
                    says_what_is_sent: true,
                    ..none
                },
                "drop `path`",
            ),
            (
                Beside {
                    protocol: true,
                    ..none
                },
                "http1 or http2",
            ),
            (
                Beside {
                    is_still: true,
                    ..none
                },
                "above 0",
            ),
        ] {
            let why = beside.check().unwrap_err();
            assert!(why.contains(told), "{why}");
        }
    }
}

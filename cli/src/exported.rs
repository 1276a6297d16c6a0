//! A run or a hold on its way to an OpenTelemetry receiver: its intervals while it goes on, and a
//! span of it.

use live::Hub;
use measure::record::{Judged, Met};
use otlp::{Attribute, Exporter, Id, Moment, Receiver, Span, Trace};
use output::terminal;

use crate::export::{about, now_unix_ns};
use crate::watching::{Seen, Watchable};
use exit::{Exit, Failure};

/// See the module.
pub(crate) struct Exported {
    exporter: Exporter,
    from_unix_ns: u64,
}

/// What came of it.
pub(crate) struct Outcome {
    /// The verb, such as `run`.
    pub(crate) verb: &'static str,
    /// What was loaded or held.
    pub(crate) origin: String,
    /// The figures of its record.
    pub(crate) figures: Vec<Attribute>,
    pub(crate) warnings: Vec<String>,
    pub(crate) thresholds: Vec<Judged>,
    pub(crate) exit: Exit,
    /// Why it ended otherwise than well, its thresholds apart.
    pub(crate) trouble: Option<String>,
}

impl Exported {
    /// Reads what `hub` gives from now on, if there is a receiver. `run`: what it's called.
    ///
    /// # Errors
    /// No thread can be had.
    pub(crate) fn start<C: Watchable>(
        receiver: Option<Receiver>,
        run: Option<&str>,
        seen: &Seen,
        hub: &mut Hub<C>,
    ) -> Result<Option<Exported>, Failure> {
        let Some(receiver) = receiver else {
            return Ok(None);
        };
        let about = about(run, seen.steps.clone());
        let exporter = C::exporter(receiver, about, hub.reader());
        let exporter = exporter.map_err(|why| Failure::usage(format!("--otlp: {why}")))?;
        let from_unix_ns = now_unix_ns();
        Ok(Some(Exported {
            exporter,
            from_unix_ns,
        }))
    }

    /// It's over: sends the rest, and says what didn't arrive of the `given` intervals. None of
    /// that changes how it ended.
    pub(crate) fn finish(self, given: u64, outcome: Outcome) {
        let mut trace = Trace::new();
        trace.spans.push(outcome.span(self.from_unix_ns));
        for line in self.exporter.finish(given, &trace) {
            terminal::say(&line);
        }
    }
}

impl Outcome {
    /// That `verb` at `origin` failed before it could measure anything.
    pub(crate) fn failed(verb: &'static str, origin: String, why: &Failure) -> Outcome {
        Outcome {
            verb,
            origin,
            figures: Vec::new(),
            warnings: Vec::new(),
            thresholds: Vec::new(),
            exit: why.exit,
            trouble: Some(why.text.clone()),
        }
    }

    /// The span of what began then and is over now.
    fn span(self, from_unix_ns: u64) -> Span {
        let until_unix_ns = now_unix_ns();
        let moment = |name: &str, attributes| Moment {
            at_unix_ns: until_unix_ns,
            name: name.to_owned(),
            attributes,
        };
        let code = u64::from(self.exit.code());
        let mut attributes = vec![
            text("ringside.target", &self.origin),
            ("ringside.exit_code".to_owned(), code.into()),
        ];
        attributes.extend(self.figures);
        let warnings = self.warnings.iter();
        let warnings = warnings.map(|what| moment("warning", vec![text("ringside.what", what)]));
        let thresholds = self.thresholds.iter();
        let thresholds = thresholds.map(|judged| moment("threshold", told(judged)));
        let crossed = self.exit == Exit::Threshold;
        let crossed = crossed.then(|| "a threshold was crossed".to_owned());
        let trouble = self.trouble.or(crossed);
        Span {
            id: Id::new(),
            parent: None,
            name: format!("ringside {}", self.verb),
            from_unix_ns,
            until_unix_ns,
            attributes,
            moments: warnings.chain(thresholds).collect(),
            went: trouble.map_or(Ok(()), |why| Err(terminal::fit(&why))),
        }
    }
}

fn text(name: &str, text: &str) -> Attribute {
    (name.to_owned(), terminal::fit(text).into())
}

/// What came of a threshold.
fn told(judged: &Judged) -> Vec<Attribute> {
    let outcome = match judged.outcome {
        Met::Holds => "holds",
        Met::Crossed => "crossed",
        Met::NotJudged => "not_judged",
    };
    let mut said = vec![
        text("ringside.rule", &judged.rule),
        text("ringside.outcome", outcome),
    ];
    let measured = judged.measured.as_deref();
    said.extend(measured.map(|figure| text("ringside.measured", figure)));
    said
}

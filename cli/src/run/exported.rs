//! A run on its way to an OpenTelemetry receiver: its intervals while it goes on, and a span of it.

use live::Hub;
use load::Record;
use measure::record::Met;
use otlp::{Exporter, Id, Moment, Span, Trace, figures_of_a_run};
use output::terminal;

use crate::args::run::Run;
use crate::exit::{Exit, Failure};
use crate::export::{about, now_unix_ns, receiver};
use crate::watching::Seen;

/// See the module.
pub(super) struct Exported {
    exporter: Exporter,
    from_unix_ns: u64,
}

impl Exported {
    /// Reads what `hub` gives from now on, if a receiver was named.
    pub(super) fn start(
        arguments: &Run,
        seen: &Seen,
        hub: &mut Hub,
    ) -> Result<Option<Exported>, Failure> {
        let Some(receiver) = receiver(&arguments.export)? else {
            return Ok(None);
        };
        let about = about(arguments.watched.run_name.as_deref(), seen.steps.clone());
        let exporter = Exporter::start(receiver, about, hub.reader());
        let exporter = exporter.map_err(|why| Failure::usage(format!("--otlp: {why}")))?;
        let from_unix_ns = now_unix_ns();
        Ok(Some(Exported {
            exporter,
            from_unix_ns,
        }))
    }

    /// The run that loaded `origin` is over: sends the rest, and says what didn't arrive of the
    /// `given` intervals. None of that changes how the run ended.
    pub(super) fn finish(
        self,
        given: u64,
        origin: &str,
        record: &Record,
        (exit, trouble): (Exit, Option<String>),
    ) {
        let until_unix_ns = now_unix_ns();
        let text = |name: &str, text: &str| (name.to_owned(), terminal::fit(text).into());
        let moment = |name: &str, attributes| Moment {
            at_unix_ns: until_unix_ns,
            name: name.to_owned(),
            attributes,
        };
        let mut attributes = vec![
            text("ringside.target", origin),
            (
                "ringside.exit_code".to_owned(),
                u64::from(exit.code()).into(),
            ),
        ];
        attributes.extend(figures_of_a_run(record));
        let warnings = record.warnings.iter();
        let warnings = warnings.map(|what| moment("warning", vec![text("ringside.what", what)]));
        let thresholds = record.thresholds.iter().map(|judged| {
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
            moment("threshold", said)
        });
        let crossed = exit == Exit::Threshold;
        let trouble = trouble.or_else(|| crossed.then(|| "a threshold was crossed".to_owned()));
        let mut trace = Trace::new();
        trace.spans.push(Span {
            id: Id::new(),
            parent: None,
            name: "ringside run".to_owned(),
            from_unix_ns: self.from_unix_ns,
            until_unix_ns,
            attributes,
            moments: warnings.chain(thresholds).collect(),
            went: trouble.map_or(Ok(()), |why| Err(terminal::fit(&why))),
        });
        for line in self.exporter.finish(given, &trace) {
            terminal::say(&line);
        }
    }
}

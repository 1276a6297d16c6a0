//! Spans of what takes several loads: one for all of it, and one for each round or probe in it.

use lab::Event;
use lab::finding::{Severity, first};
use lab::sample::Sample;
use otlp::{Attribute, Id, Moment, Receiver, Span, Trace};
use output::terminal;

use super::{about, now_unix_ns};
use crate::args::export::Export;
use exit::{Exit, Failure};

/// Listens to what happens and makes spans of it; to nothing, where nobody wants them.
pub(crate) struct Spans(Option<Heard>);

struct Heard {
    receiver: Receiver,
    run: Option<String>,
    whole: Span,
    parts: Vec<Span>,
    /// The round or probe that is under way.
    open: Option<Span>,
}

impl Spans {
    /// Of a verb, such as `compare`, that measures `what`.
    ///
    /// # Errors
    /// The arguments name a receiver that is none.
    pub(crate) fn of(
        verb: &str,
        what: Option<String>,
        run: Option<&str>,
        arguments: &Export,
    ) -> Result<Spans, Failure> {
        let receiver = super::receiver(arguments)?;
        Ok(Spans(receiver.map(|receiver| {
            let mut whole = begun(format!("ringside {verb}"), None);
            whole
                .attributes
                .extend(what.map(|what| text("what", &what)));
            Heard {
                receiver,
                run: run.map(str::to_owned),
                whole,
                parts: Vec::new(),
                open: None,
            }
        })))
    }

    /// Something happens.
    pub(crate) fn hear(&mut self, event: &Event<'_>) {
        if let Some(heard) = &mut self.0 {
            heard.hear(event);
        }
    }

    /// What was concluded.
    pub(crate) fn found(&mut self, sentences: &[String]) {
        if let Some(heard) = &mut self.0 {
            let all = sentences.join(" ");
            heard.whole.attributes.push(text("verdict", &all));
        }
    }

    /// All is over, and ended like this: sends the spans, and says what didn't arrive.
    pub(crate) fn send(self, outcome: &Result<Exit, Failure>) {
        let Some(mut heard) = self.0 else { return };
        heard.close(Err("it wasn't finished".to_owned()), Vec::new());
        let code = match outcome {
            Ok(exit) => exit.code(),
            Err(failure) => failure.exit.code(),
        };
        let mut whole = heard.whole;
        whole.until_unix_ns = now_unix_ns();
        let code = ("ringside.exit_code".to_owned(), u64::from(code).into());
        whole.attributes.push(code);
        whole.went = went(outcome);
        let mut trace = Trace::new();
        trace.spans = heard.parts;
        trace.spans.push(whole);
        let about = about(heard.run.as_deref(), Vec::new());
        let message = otlp::sealed(&trace, &about);
        for line in super::outside::send(heard.receiver, message) {
            terminal::say(&line);
        }
    }
}

impl Heard {
    fn hear(&mut self, event: &Event<'_>) {
        match event {
            Event::Begun { folder, .. } | Event::Searching { folder, .. } => {
                let folder = folder.display().to_string();
                // A sweep begins one at each of its points: the first has all others beside it.
                let folder = text("folder", &folder);
                if self
                    .whole
                    .attributes
                    .iter()
                    .all(|(name, _)| *name != folder.0)
                {
                    self.whole.attributes.push(folder);
                }
            }
            Event::Measuring { subject, round, .. } => {
                self.open("ringside round", subject);
                self.say("round", u64::from(*round));
            }
            Event::Measured { sample, .. } => {
                let void = worst(sample);
                self.close(void.map_or(Ok(()), Err), figures(sample));
            }
            Event::Probing {
                subject,
                probe,
                rate,
                ..
            } => {
                self.open("ringside probe", subject);
                self.say("probe", u64::from(*probe));
                self.say("offered_rate", *rate);
            }
            Event::Probed { held, .. } => {
                let held = held.map(|held| ("ringside.held".to_owned(), held.into()));
                self.close(Ok(()), held.into_iter().collect());
            }
            Event::Failed { subject, what } => {
                let why = terminal::fit(&format!("{subject} {what}"));
                let moment = moment("failed", &why);
                match self.open.is_some() {
                    true => self.close(Err(why), Vec::new()),
                    false => self.whole.moments.push(moment),
                }
            }
            Event::Caution { what } => self.whole.moments.push(moment("caution", what)),
            _ => {}
        }
    }

    fn open(&mut self, name: &str, subject: &str) {
        self.close(Ok(()), Vec::new());
        let mut span = begun(name.to_owned(), Some(self.whole.id));
        span.attributes.push(text("subject", subject));
        self.open = Some(span);
    }

    fn say(&mut self, name: &str, value: impl Into<otlp::Value>) {
        if let Some(span) = &mut self.open {
            let name = format!("ringside.{name}");
            span.attributes.push((name, value.into()));
        }
    }

    fn close(&mut self, went: Result<(), String>, attributes: Vec<Attribute>) {
        if let Some(mut span) = self.open.take() {
            span.until_unix_ns = now_unix_ns();
            span.attributes.extend(attributes);
            span.went = went;
            self.parts.push(span);
        }
    }
}

fn begun(name: String, parent: Option<Id>) -> Span {
    let now = now_unix_ns();
    Span {
        id: Id::new(),
        parent,
        name,
        from_unix_ns: now,
        until_unix_ns: now,
        attributes: Vec::new(),
        moments: Vec::new(),
        went: Ok(()),
    }
}

fn text(name: &str, value: &str) -> Attribute {
    (format!("ringside.{name}"), terminal::fit(value).into())
}

fn moment(name: &str, what: &str) -> Moment {
    Moment {
        at_unix_ns: now_unix_ns(),
        name: name.to_owned(),
        attributes: vec![text("what", what)],
    }
}

/// Why all of it isn't what was asked for, if it isn't.
fn went(outcome: &Result<Exit, Failure>) -> Result<(), String> {
    match outcome {
        Ok(Exit::Ok) => Ok(()),
        Ok(Exit::Stopped(signal)) => Err(format!("stopped by {signal}")),
        Ok(Exit::SubjectFailed) => {
            Err("some rows failed, or a file couldn't be written".to_owned())
        }
        Ok(exit) => Err(format!("it ended with {}", exit.code())),
        Err(failure) => Err(terminal::fit(&failure.text)),
    }
}

/// Why the round counts for nothing, if so.
fn worst(sample: &Sample) -> Option<String> {
    first(&sample.findings, Severity::Void).map(terminal::fit)
}

/// The figures of a round, each by its name in the round's file.
fn figures(sample: &Sample) -> Vec<Attribute> {
    let counts = [("completed", sample.completed), ("failed", sample.failed)];
    let counts = counts.map(|(name, count)| (name, Some(count.into())));
    let figures = [
        ("requests_per_second", Some(sample.requests_per_second)),
        ("seconds", sample.seconds),
        ("mean_us", sample.mean_us),
        ("p50_us", sample.p50_us),
        ("p99_us", sample.p99_us),
        (
            "server_cpu_us_per_exchange",
            sample.server_cpu_us_per_exchange,
        ),
    ];
    let figures = figures.map(|(name, figure)| (name, figure.map(otlp::Value::from)));
    let all = counts.into_iter().chain(figures);
    all.filter_map(|(name, value)| Some((format!("ringside.{name}"), value?)))
        .collect()
}

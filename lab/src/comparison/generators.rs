//! What holds where a comparison's rows are load generators.

use supervisor::document::BadFile;
use supervisor::generator::Generator;
use supervisor::subject::Subject;
use supervisor::workload::{Question, Workload};
use toml::Spanned;

use super::{Reader, Wanted};

impl Reader<'_> {
    /// Whether generators are compared; then all rows load one subject, as fast as they can.
    pub(super) fn check_generators(
        &self,
        wanted: &[Wanted],
        common: &Workload,
    ) -> Result<bool, BadFile> {
        let mut written = wanted.iter().filter_map(|row| row.generator.as_ref());
        let Some(first) = written.next() else {
            return Ok(false);
        };
        let fault = |span, what: String| Err(self.document.fault(Some(span), what));
        let subject = wanted[0].subject.get_ref();
        if let Some(other) = wanted.iter().find(|row| row.subject.get_ref() != subject) {
            let what = format!(
                "`{}` beside `{subject}`; generators are compared by how they load one subject: \
                 expected the same in all rows",
                other.subject.get_ref()
            );
            return fault(other.subject.span(), what);
        }
        let what = match () {
            () if !self.phases.is_empty() => "[[phase]] is for servers",
            () if self.written.capacity.is_some() => "[capacity] is for servers",
            () if common.rate.is_some() => {
                "`rate` in [workload] is for servers: write it into the generator's command"
            }
            () => return Ok(true),
        };
        fault(first.span(), format!("generators are compared, and {what}"))
    }

    /// Our own generator, beside others.
    pub(super) fn ours(
        &self,
        row: &Spanned<String>,
        question: &Question,
        workload: &Workload,
        tls: bool,
    ) -> Result<Generator, BadFile> {
        let engine = self.written.engine.as_ref();
        let engine = engine.map_or("auto", |engine| engine.get_ref());
        Generator::ours(question, workload, tls, engine)
            .map_err(|what| self.document.fault(Some(row.span()), what))
    }

    /// What a generator did is what its server counted, so that has to count.
    pub(super) fn check_counter(
        &self,
        subject: &Subject,
        named: &Spanned<String>,
    ) -> Result<(), BadFile> {
        let watch = &subject.watch;
        if watch.metrics.is_some() && !watch.exchanges.is_empty() {
            return Ok(());
        }
        let what = format!(
            "{} doesn't say how many exchanges it has served, and generators are counted by the \
             server that they load: add `metrics` and `exchanges` to [watch] in its subject.toml",
            subject.name
        );
        Err(self.document.fault(Some(named.span()), what))
    }
}

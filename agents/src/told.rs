//! What only an agent has seen, in a few sentences: what answers said where something else was
//! expected, and what else its own record warns of. The figures of all agents are counts, which
//! have no room for that.

use fleet::{Sender, Text};
use load::Record;
use measure::host::Host;
use measure::record::Generator;

/// The most of each kind.
const MOST: usize = 3;

/// The sentences of a record. Secrets are hidden in it already.
pub(crate) fn of_answers(record: &Record) -> Vec<String> {
    let unmet = record.unexpected_answers.iter().map(|unmet| {
        let step = unmet.step.as_deref().map(|step| format!(" ({step})"));
        let came = unmet.came.as_deref().map(|came| format!(": {came}"));
        format!(
            "{} answers weren't {}{}{}",
            unmet.failed,
            unmet.expected,
            step.unwrap_or_default(),
            came.unwrap_or_default()
        )
    });
    let bodies = record.unexpected_bodies.iter();
    let bodies = bodies.map(|(kind, quote)| format!("an answer of {kind} said {quote}"));
    let led = record.unfollowed_redirects.iter();
    let led = led.map(|(status, to)| format!("an answer of {status} led to {to}"));
    // Of a record that isn't valid they are the agent's verdict.
    let warnings = record.warnings.iter().filter(|_| record.valid).cloned();
    let all = unmet.take(MOST).chain(bodies.take(MOST));
    all.chain(led.take(MOST)).chain(warnings).collect()
}

/// What sent a load, and on what machine.
pub(crate) fn sender(generator: &Generator, host: &Host) -> Sender {
    let version = format!("{} ({})", generator.version, cli::BUILT_FROM);
    let own = Sender {
        version: Text::new(&version),
        engine: Text::new(&generator.engine),
        cpu_us: generator.cpu_seconds.map(|seconds| (seconds * 1e6) as u64),
        memory_peak_bytes: generator.memory_peak_bytes,
        ..Sender::default()
    };
    own.on(host)
}

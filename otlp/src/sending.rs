//! Sending messages, and the account of what arrived.

use std::io::Write;
use std::time::Duration;

use flate2::Compression;
use flate2::write::GzEncoder;
use measure::time::{Time, unix_nanoseconds, unix_seconds};

use crate::answer::{Outcome, Partial, judge};
use crate::backoff::BackOff;
use crate::client::Client;
use crate::receiver::Receiver;

/// How long a receiver is waited for once all is over.
pub const PATIENCE: Duration = Duration::from_secs(5);
/// How long one request may take.
const REQUEST: Duration = Duration::from_secs(3);

/// What is sent to a path of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Signal {
    Metrics,
    Traces,
}

impl Signal {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Signal::Metrics => "metrics",
            Signal::Traces => "traces",
        }
    }
}

/// What became of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sent {
    /// It arrived.
    Taken,
    /// It didn't, and may be sent again.
    Later,
    /// It didn't, and won't.
    Refused,
}

/// What is known of one signal.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Account {
    /// What was wrong with the last request.
    pub(crate) trouble: Option<String>,
    /// What of the last one that was taken wasn't.
    pub(crate) partial: Option<Partial>,
}

/// Sends, and knows when it may.
pub(crate) struct Sending {
    client: Client,
    back_off: BackOff,
}

impl Sending {
    /// # Errors
    /// As [`Client::new`].
    pub(crate) fn new(receiver: Receiver) -> Result<Sending, String> {
        Ok(Sending {
            client: Client::new(receiver)?,
            back_off: BackOff::new(unix_nanoseconds() as u64),
        })
    }

    /// From when on something may be sent.
    pub(crate) fn next(&self) -> Time {
        self.back_off.next()
    }

    /// Little time is left.
    pub(crate) fn hurry(&mut self) {
        self.back_off.hurry();
    }

    /// Sends a message, until `deadline` at most, and books what comes of it.
    pub(crate) fn send(
        &mut self,
        signal: Signal,
        message: &[u8],
        deadline: Time,
        account: &mut Account,
    ) -> Sent {
        let limit = deadline.min(Time::now() + REQUEST);
        let answer = self.client.post(signal.name(), &compressed(message), limit);
        let outcome = match answer {
            Ok(answer) => judge(&answer, unix_seconds()),
            Err(why) => Outcome::Later(why, None),
        };
        let scrub = |text: String| self.client.receiver().scrub(&text);
        let (why, told, sent) = match outcome {
            Outcome::Taken(partial) => {
                self.back_off.reset();
                account.trouble = None;
                account.partial = partial.map(|partial| Partial {
                    why: scrub(partial.why),
                    ..partial
                });
                return Sent::Taken;
            }
            Outcome::Later(why, told) => (why, told, Sent::Later),
            Outcome::Refused(why) => (why, None, Sent::Refused),
        };
        account.trouble = Some(match told {
            Some(wait) => format!("{}; it asked for {} s of rest", scrub(why), wait.as_secs()),
            None => scrub(why),
        });
        self.back_off.failed(Time::now(), told);
        sent
    }
}

/// As every receiver reads it. Buckets without counts take next to nothing then.
fn compressed(message: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    let written = encoder.write_all(message);
    written
        .and_then(|()| encoder.finish())
        .expect("writing to memory doesn't fail")
}

//! A reader of a run's or a hold's intervals that sends what they add up to.

use std::sync::mpsc::{Receiver as Words, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use live::Reader;
use measure::hold;
use measure::tally::Counted;
use measure::time::{Time, sleep_until, unix_nanoseconds};
use prost::Message;

use crate::figures::{Exported, Sums};
use crate::messages::{MetricsRequest, Resource, ResourceMetrics, Scope, ScopeMetrics};
use crate::receiver::Receiver;
use crate::resource::About;
use crate::sending::{Account, PATIENCE, Sending, Sent, Signal};
use crate::span::Trace;

/// How much longer than [`PATIENCE`] it may take to notice that it's over.
const NOTICE: Duration = Duration::from_millis(500);

/// Sends a run or a hold while it goes on. See the crate.
pub struct Exporter {
    url: String,
    resource: Resource,
    scope: Scope,
    account: Arc<Mutex<Accounts>>,
    ending: Sender<Ending>,
    over: Words<()>,
}

/// What is known of what arrived.
#[derive(Debug, Default)]
struct Accounts {
    metrics: Account,
    traces: Account,
    /// So many intervals are in what arrived.
    intervals: u64,
    /// The spans have arrived.
    has_spans: bool,
}

/// All is over: the spans, encoded, and until when they may be sent.
struct Ending {
    /// None once there's nothing more to do about them.
    spans: Option<Vec<u8>>,
    deadline: Time,
}

impl Exporter {
    /// Sends what `reader` gets of a run, summed up.
    ///
    /// # Errors
    /// TLS can't be set up, or no thread can be had: why, and what to do.
    pub fn start(receiver: Receiver, about: About, reader: Reader) -> Result<Exporter, String> {
        Exporter::of(receiver, about, reader)
    }

    /// The same of a hold.
    ///
    /// # Errors
    /// Those of [`Exporter::start`].
    pub fn of_hold(
        receiver: Receiver,
        about: About,
        reader: Reader<hold::Counted>,
    ) -> Result<Exporter, String> {
        Exporter::of(receiver, about, reader)
    }

    fn of<C: Exported>(
        receiver: Receiver,
        about: About,
        reader: Reader<C>,
    ) -> Result<Exporter, String> {
        let url = receiver.url();
        let (ending, endings) = channel();
        let (over, ended) = channel();
        let account: Arc<Mutex<Accounts>> = Arc::default();
        let (resource, scope) = (about.resource(), about.scope());
        let courier = Courier {
            sending: Sending::new(receiver)?,
            resource: resource.clone(),
            about,
            sums: Sums::<C>::default(),
            is_pending: false,
            account: Arc::clone(&account),
        };
        let send = move || {
            courier.follow(reader, &endings);
            drop(over);
        };
        let thread = thread::Builder::new().name("otlp".to_owned()).spawn(send);
        thread.map_err(|why| format!("can't start a thread for --otlp: {why}"))?;
        Ok(Exporter {
            url,
            resource,
            scope,
            account,
            ending,
            over: ended,
        })
    }

    /// It's over, and nothing more comes: sends the spans, and waits [`PATIENCE`] at most.
    /// `given`: how many intervals there were. What didn't arrive, in sentences.
    pub fn finish(self, given: u64, spans: &Trace) -> Vec<String> {
        let ending = Ending {
            spans: Some(spans.encoded(&self.resource, &self.scope)),
            deadline: Time::now() + PATIENCE,
        };
        // Where the thread is gone, nothing arrives, which is said below. Nothing is ever sent in
        // the other direction: the other end is gone, or it times out.
        let _ = self.ending.send(ending);
        let _ = self.over.recv_timeout(PATIENCE + NOTICE);
        let accounts = locked(&self.account);
        let missing = given.saturating_sub(accounts.intervals);
        let mut said = Vec::new();
        if missing > 0 {
            let why = because(&accounts.metrics);
            said.push(format!(
                "--otlp: {} of {given} intervals didn't reach {}/v1/metrics: {why}",
                match missing == given {
                    true => "all".to_owned(),
                    false => format!("the last {missing}"),
                },
                self.url
            ));
        }
        said.extend(rejected(&accounts.metrics, &self.url, Signal::Metrics));
        said.extend(of_spans(&accounts, "the span", &self.url));
        said
    }
}

/// The message with spans that [`deliver`] sends.
pub fn sealed(spans: &Trace, about: &About) -> Vec<u8> {
    spans.encoded(&about.resource(), &about.scope())
}

/// Sends a message that was [`sealed`], for [`PATIENCE`] at most. What didn't arrive, in sentences.
pub fn deliver(receiver: Receiver, message: Vec<u8>) -> Vec<String> {
    let url = receiver.url();
    let sending = match Sending::new(receiver) {
        Ok(sending) => sending,
        Err(why) => return vec![format!("--otlp: {why}")],
    };
    let account: Arc<Mutex<Accounts>> = Arc::default();
    let (ending, endings) = channel();
    let _ = ending.send(Ending {
        spans: Some(message),
        deadline: Time::now() + PATIENCE,
    });
    let courier = Courier {
        sending,
        about: About::default(),
        resource: Resource::default(),
        // Nothing is counted.
        sums: Sums::<Counted>::default(),
        is_pending: false,
        account: Arc::clone(&account),
    };
    courier.end(&endings);
    let accounts = locked(&account);
    of_spans(&accounts, "the spans", &url)
}

fn because(account: &Account) -> &str {
    account.trouble.as_deref().unwrap_or("no answer in time")
}

/// What is to be said of `which` spans.
fn of_spans(accounts: &Accounts, which: &str, url: &str) -> Vec<String> {
    let mut said = Vec::new();
    if !accounts.has_spans {
        let why = because(&accounts.traces);
        said.push(format!(
            "--otlp: {which} didn't reach {url}/v1/traces: {why}"
        ));
    }
    said.extend(rejected(&accounts.traces, url, Signal::Traces));
    said
}

/// What the receiver took only in part.
fn rejected(account: &Account, url: &str, signal: Signal) -> Option<String> {
    let partial = account.partial.as_ref()?;
    let (path, why) = (signal.name(), &partial.why);
    let what = match signal {
        Signal::Metrics => "data points",
        Signal::Traces => "spans",
    };
    Some(match partial.rejected {
        0 => format!("--otlp: {url}/v1/{path} says: {why}"),
        count => format!("--otlp: {url}/v1/{path} rejected {count} {what}: {why}"),
    })
}

fn locked(account: &Mutex<Accounts>) -> MutexGuard<'_, Accounts> {
    account.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What goes on in the thread.
struct Courier<C> {
    sending: Sending,
    about: About,
    resource: Resource,
    sums: Sums<C>,
    /// Something was counted that is in no request that was taken or refused for good.
    is_pending: bool,
    account: Arc<Mutex<Accounts>>,
}

impl<C: Exported> Courier<C> {
    /// Sends the sums when an interval has come, unless it has to wait; then with a later one.
    fn follow(mut self, mut reader: Reader<C>, endings: &Words<Ending>) {
        while let Some(interval) = reader.next() {
            let now = unix_nanoseconds() as u64;
            let sums = &mut self.sums;
            sums.add(&interval, now);
            reader.take_waiting(|another| sums.add(another, now));
            self.is_pending = true;
            if Time::now() >= self.sending.next() {
                self.push(Time::NEVER);
            }
        }
        self.end(endings);
    }

    /// Nothing more is counted: sends what hasn't arrived, then the spans, until the deadline.
    fn end(mut self, endings: &Words<Ending>) {
        self.sending.hurry();
        let mut ending: Option<Ending> = None;
        loop {
            ending = ending.or_else(|| endings.try_recv().ok());
            let deadline = ending
                .as_ref()
                .map_or(Time::NEVER, |ending| ending.deadline);
            let now = Time::now();
            if now >= deadline {
                return;
            }
            if now >= self.sending.next() {
                if self.is_pending {
                    self.push(deadline);
                }
                if let Some(ending) = &mut ending {
                    ending.spans = ending
                        .spans
                        .take()
                        .filter(|spans| !self.send_spans(spans, deadline));
                }
            }
            let has_spans = ending.as_ref().is_some_and(|ending| ending.spans.is_some());
            let next = match self.is_pending || has_spans {
                true => self.sending.next(),
                false => Time::NEVER,
            };
            match ending {
                // What was put off beyond the deadline won't be sent.
                Some(_) if next == Time::NEVER || next >= deadline => return,
                Some(_) => sleep_until(next.min(deadline)),
                None => match heard(endings, next) {
                    Ok(heard) => ending = heard,
                    // What is counted broke: nobody waits.
                    Err(()) => return,
                },
            }
        }
    }

    fn push(&mut self, deadline: Time) {
        let request = MetricsRequest {
            resource_metrics: vec![ResourceMetrics {
                resource: Some(self.resource.clone()),
                scope_metrics: vec![ScopeMetrics {
                    scope: Some(self.about.scope()),
                    metrics: self.sums.metrics(&self.about),
                }],
            }],
        };
        let mut account = locked(&self.account).metrics.clone();
        let message = request.encode_to_vec();
        let sent = self
            .sending
            .send(Signal::Metrics, &message, deadline, &mut account);
        self.is_pending = sent == Sent::Later;
        let mut accounts = locked(&self.account);
        accounts.metrics = account;
        if sent == Sent::Taken {
            accounts.intervals = self.sums.intervals;
        }
    }

    /// Whether there's nothing more to do about them.
    fn send_spans(&mut self, spans: &[u8], deadline: Time) -> bool {
        let mut account = Account::default();
        let sent = self
            .sending
            .send(Signal::Traces, spans, deadline, &mut account);
        let mut accounts = locked(&self.account);
        accounts.traces = account;
        accounts.has_spans = sent == Sent::Taken;
        sent != Sent::Later
    }
}

/// What is heard until `next`; an error: nobody will say anything.
fn heard(endings: &Words<Ending>, next: Time) -> Result<Option<Ending>, ()> {
    if next == Time::NEVER {
        return endings.recv().map(Some).map_err(drop);
    }
    match endings.recv_timeout(next - Time::now()) {
        Ok(ending) => Ok(Some(ending)),
        Err(RecvTimeoutError::Timeout) => Ok(None),
        Err(RecvTimeoutError::Disconnected) => Err(()),
    }
}

//! A bus over NATS: plain subjects, whose messages may be lost.
//!
//! There are no acknowledgements and no streams, because nobody here needs them: whoever misses a
//! message asks for it. While the broker is away nothing is published, rather than kept and sent
//! when it's old; the client connects anew by itself, with the same subscriptions.

use std::collections::{BTreeSet, VecDeque};
use std::fmt;
use std::future::poll_fn;
use std::net::IpAddr;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use async_nats::connection::State;
use async_nats::{Client, ConnectOptions, Event, ServerAddr, ServerError, Subscriber};
use bytes::Bytes;
use fleet::bus::{Bus, Refused, Subject};
use fleet::message::MESSAGE_MAX;
use futures_util::StreamExt as _;
use measure::foreign::Foreign;
use measure::time::Time;
use output::terminal::say;
use tokio::runtime::Handle;
use tokio::time::timeout;

/// How long a connection may take.
const CONNECT: Duration = Duration::from_secs(5);
/// How often the broker is asked whether it's there; two silences in a row, and it isn't.
const PING_EVERY: Duration = Duration::from_secs(2);
/// How long the client may take for what it only has to queue.
const QUEUE: Duration = Duration::from_secs(1);
/// The longest wait before the next attempt to connect anew.
const RECONNECT_MAX: Duration = Duration::from_secs(1);

/// A NATS server, and who we are to it.
#[derive(Clone)]
pub struct Broker {
    /// Its URL, which may have a user and a password.
    url: ServerAddr,
    /// The seed of an nkey.
    seed: Option<String>,
}

/// One end of the bus.
#[derive(Debug)]
pub struct End {
    client: Client,
    /// What was asked for and isn't the client's yet, in its order.
    outgoing: VecDeque<Outgoing>,
    /// With where they listen; none where they did, and what came until then isn't read yet.
    subscribers: Vec<(Option<Subject>, Subscriber)>,
    /// What has become of the connection.
    told: Arc<Mutex<Told>>,
    /// Where the client's own task is.
    runtime: Handle,
}

/// What has been told of a connection, once each until it's back.
#[derive(Debug, Default)]
struct Told {
    is_lost: bool,
    said: BTreeSet<String>,
    /// What the broker doesn't let us do.
    forbidden: Option<String>,
}

#[derive(Debug)]
enum Outgoing {
    Subscribe(Subject),
    Unsubscribe(Subject),
    Publish(Subject, Bytes),
}

impl Broker {
    /// A server by its URL, to which an nkey may let us in whose seed stands in a file.
    ///
    /// # Errors
    /// A sentence: it's no URL, or the file has no seed.
    pub fn new(url: &str, nkey: Option<&Path>) -> Result<Broker, String> {
        let seed = nkey.map(seed).transpose()?;
        let url: ServerAddr = url.parse().map_err(|_| {
            "that's no URL of a NATS server: write nats://HOST:4222 or tls://HOST:4222".to_owned()
        })?;
        Ok(Broker { url, seed })
    }

    /// Its URL as it may be shown: without user and password.
    pub fn shown(&self) -> String {
        let (scheme, host) = (self.url.scheme(), Foreign::new(self.url.host()).to_string());
        let host = match host.contains(':') {
            true => format!("[{host}]"),
            false => host,
        };
        format!("{scheme}://{host}:{}", self.url.port())
    }

    /// Where it is. A static program can't have the C library resolve names, as the client would.
    fn place(&self) -> Result<ServerAddr, String> {
        let host = self.url.host();
        let resolves = cfg!(target_feature = "crt-static") && self.url.scheme() == "nats";
        if !resolves || host.parse::<IpAddr>().is_ok() {
            return Ok(self.url.clone());
        }
        let found = load::look_up(host, self.url.port(), None, Time::now() + CONNECT);
        let unknown = |why: String| {
            let shown = self.shown();
            format!("can't reach the NATS server {shown} ({why}): is its name right?")
        };
        let found = found.map_err(|why| unknown(why.to_string()))?;
        let first = found
            .first()
            .ok_or_else(|| unknown("no address".to_owned()))?;
        let url = format!("nats://{first}").parse();
        url.map_err(|_| unknown("an address that can't be used".to_owned()))
    }

    fn options(&self) -> ConnectOptions {
        // The library doesn't look for them in the URL.
        let (user, password) = (self.url.username(), self.url.password());
        match (&self.seed, user.map(decoded), password.map(decoded)) {
            (Some(seed), _, _) => ConnectOptions::with_nkey(seed.clone()),
            (None, Some(user), Some(password)) => {
                ConnectOptions::with_user_and_password(user, password)
            }
            (None, Some(token), None) => ConnectOptions::with_token(token),
            (None, None, _) => ConnectOptions::new(),
        }
    }
}

impl fmt::Debug for Broker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Broker({})", self.shown())
    }
}

/// A part of a URL without percent-encoding (RFC 3986 §2.1); what is no encoding stays.
fn decoded(part: &str) -> String {
    let mut bytes = Vec::with_capacity(part.len());
    let mut rest = part.as_bytes();
    while let Some((first, behind)) = rest.split_first() {
        let digits = behind.get(..2).filter(|_| *first == b'%');
        let digits = digits.and_then(|digits| std::str::from_utf8(digits).ok());
        let byte = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        bytes.push(byte.unwrap_or(*first));
        rest = if byte.is_some() { &behind[2..] } else { behind };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The seed of an nkey, as the tools of NATS write it.
pub(crate) fn seed(path: &Path) -> Result<String, String> {
    let text = std::fs::read_to_string(path)
        .map_err(|why| format!("can't read the nkey {}: {why}", path.display()))?;
    let mut lines = text.lines().map(str::trim);
    let seed = lines.find(|line| line.starts_with("SU"));
    seed.map(str::to_owned).ok_or_else(|| {
        format!(
            "{} has no seed of a user's nkey: a line that begins with SU",
            path.display()
        )
    })
}

impl End {
    /// Connects to a broker. It's then kept connected.
    ///
    /// # Errors
    /// A sentence: it isn't there, doesn't let us in, or takes no messages as long as ours.
    pub async fn connect(broker: &Broker, name: &str) -> Result<End, String> {
        let shown = broker.shown();
        let (place, told) = (shown.clone(), Arc::new(Mutex::new(Told::default())));
        let telling = Arc::clone(&told);
        let options = broker
            .options()
            .name(name)
            .connection_timeout(CONNECT)
            .ping_interval(PING_EVERY)
            .max_reconnects(None)
            .reconnect_delay_callback(|attempts| {
                RECONNECT_MAX.min(Duration::from_millis(50) * attempts.min(100) as u32)
            })
            .event_callback(move |event| {
                let mut told = telling.lock().unwrap_or_else(PoisonError::into_inner);
                told.of(&place, &event).iter().for_each(|what| say(what));
                std::future::ready(())
            });
        let client = options.connect(broker.place()?).await.map_err(|why| {
            format!(
                "can't reach the NATS server {shown} ({}): is it running, and may this machine \
                 connect to it?",
                Foreign::new(why.to_string())
            )
        })?;
        let longest = client.server_info().max_payload;
        if longest < MESSAGE_MAX {
            return Err(format!(
                "the NATS server {shown} takes messages of at most {longest} bytes, and a fleet \
                 sends up to {MESSAGE_MAX}: set max_payload in its configuration"
            ));
        }
        Ok(End {
            client,
            outgoing: VecDeque::new(),
            subscribers: Vec::new(),
            told,
            runtime: Handle::current(),
        })
    }

    /// The client, for whatever is no message.
    pub(crate) fn client(&self) -> Client {
        self.client.clone()
    }

    /// What the broker has said that it doesn't let us do, if anything.
    pub fn forbidden(&self) -> Option<String> {
        let told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        told.forbidden.clone()
    }

    /// Carries out what was asked for since the last time. What a client can't take within a second
    /// is lost, if it's a message, and so are the messages behind it.
    pub async fn flush(&mut self) {
        while let Some(next) = self.outgoing.pop_front() {
            match next {
                Outgoing::Publish(subject, message) => {
                    let sent = self.client.publish(subject.to_string(), message);
                    if timeout(QUEUE, sent).await.is_err() {
                        // Nobody waits a second for each of them.
                        let is_message = |one: &Outgoing| matches!(one, Outgoing::Publish(..));
                        self.outgoing.retain(|one| !is_message(one));
                    }
                }
                Outgoing::Subscribe(subject) => {
                    let made = timeout(QUEUE, self.client.subscribe(subject.to_string())).await;
                    match made {
                        Ok(Ok(subscriber)) => self.subscribers.push((Some(subject), subscriber)),
                        _ => {
                            self.outgoing.push_front(Outgoing::Subscribe(subject));
                            return;
                        }
                    }
                }
                Outgoing::Unsubscribe(subject) => {
                    let is_it = |one: &(Option<_>, _)| one.0.as_ref() == Some(&subject);
                    if let Some(at) = self.subscribers.iter().position(is_it) {
                        let (place, subscriber) = &mut self.subscribers[at];
                        *place = None;
                        let left = timeout(QUEUE, subscriber.unsubscribe()).await;
                        if !matches!(left, Ok(Ok(()))) {
                            self.subscribers.swap_remove(at);
                        }
                    }
                }
            }
        }
    }

    /// Waits for a message. One that isn't waited for to its end loses nothing.
    pub async fn heard(&mut self) -> Bytes {
        poll_fn(|context| self.poll(context)).await
    }

    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Bytes> {
        let mut at = 0;
        while let Some((place, subscriber)) = self.subscribers.get_mut(at) {
            match subscriber.poll_next_unpin(context) {
                Poll::Ready(Some(message)) => return Poll::Ready(message.payload),
                Poll::Ready(None) if place.is_none() => {
                    let _entered = self.runtime.enter();
                    self.subscribers.swap_remove(at);
                }
                _ => at += 1,
            }
        }
        Poll::Pending
    }

    /// Waits until everything that was published before has come back from the broker, for tests.
    ///
    /// # Errors
    /// It didn't, within a second.
    pub async fn round_trip(&mut self) -> Result<(), String> {
        self.flush().await;
        let inbox = self.client.new_inbox();
        let failed = |what: &str| format!("the NATS server doesn't answer: {what}");
        let mut subscriber = self
            .client
            .subscribe(inbox.clone())
            .await
            .map_err(|why| failed(&why.to_string()))?;
        let sent = self.client.publish(inbox, Bytes::new()).await;
        sent.map_err(|why| failed(&why.to_string()))?;
        match timeout(CONNECT, subscriber.next()).await {
            Ok(Some(_)) => Ok(()),
            _ => Err(failed("a message didn't come back")),
        }
    }
}

impl Drop for End {
    fn drop(&mut self) {
        // A subscriber that goes says so, by a task of its own.
        let _entered = self.runtime.enter();
        self.subscribers.clear();
    }
}

impl Bus for End {
    fn subscribe(&mut self, subject: &Subject) {
        self.outgoing
            .push_back(Outgoing::Subscribe(subject.clone()));
    }

    fn unsubscribe(&mut self, subject: &Subject) {
        self.outgoing
            .push_back(Outgoing::Unsubscribe(subject.clone()));
    }

    fn publish(&mut self, subject: &Subject, message: Bytes) -> Result<(), Refused> {
        if message.len() > MESSAGE_MAX {
            return Err(Refused::TooLong);
        }
        if self.client.connection_state() != State::Connected {
            return Err(Refused::Away);
        }
        self.outgoing
            .push_back(Outgoing::Publish(subject.clone(), message));
        Ok(())
    }

    fn next(&mut self) -> Option<Bytes> {
        match self.poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(message) => Some(message),
            Poll::Pending => None,
        }
    }
}

/// How many sentences are remembered, so that none is said again.
const SAID_MAX: usize = 64;

impl Told {
    /// What is to be said to whoever looks after the process, if anything is. Each attempt to
    /// connect anew fails in the same way, and all of them together are one thing that happened.
    fn of(&mut self, place: &str, event: &Event) -> Option<String> {
        match event {
            Event::Disconnected if !self.is_lost => {
                self.is_lost = true;
                Some(format!(
                    "the connection to the NATS server {place} is lost: trying again"
                ))
            }
            Event::Connected => {
                let was_lost = std::mem::take(&mut self.is_lost);
                self.said.clear();
                was_lost.then(|| format!("connected to the NATS server {place} again"))
            }
            Event::SlowConsumer(_) => {
                self.once("messages came faster than they were read, and were dropped")
            }
            Event::ServerError(_) | Event::ClientError(_) => {
                let what = Foreign::new(event.to_string()).to_string();
                if let Event::ServerError(ServerError::Other(why)) = event
                    && why.to_ascii_lowercase().contains("permissions violation")
                {
                    self.forbidden = Some(what.clone());
                }
                self.once(&format!("the NATS server {place}: {what}"))
            }
            _ => None,
        }
    }

    fn once(&mut self, what: &str) -> Option<String> {
        if self.said.len() >= SAID_MAX {
            return None;
        }
        self.said.insert(what.to_owned()).then(|| what.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use async_nats::ClientError;

    use super::*;

    #[test]
    fn a_broker_is_shown_without_who_we_are() {
        for (url, shown) in [
            ("nats://me:canary@h:1", "nats://h:1"),
            ("canary@[::1]", "nats://[::1]:4222"),
            ("tls://h", "tls://h:4222"),
        ] {
            let broker = Broker::new(url, None).unwrap();
            assert_eq!(broker.shown(), shown);
            assert!(!format!("{broker:?}").contains("canary"));
        }
        assert_eq!(decoded("a%40b%2"), "a@b%2");
    }

    #[test]
    fn a_broker_that_is_away_is_told_of_once_until_it_is_back() {
        let mut told = Told::default();
        let refused = |why: &str| Event::ClientError(ClientError::Other(why.to_owned()));
        let mut said = Vec::new();
        for _ in 0..2 {
            let mut events = vec![Event::Disconnected];
            events.extend([refused("refused"), refused("refused"), refused("timed out")]);
            events.extend([refused("refused"), Event::Disconnected, Event::Connected]);
            said.extend(
                events
                    .iter()
                    .filter_map(|event| told.of("nats://h:1", event)),
            );
        }
        let parts = ["is lost", ": nats: refused", ": nats: timed out", "again"];
        let parts = [parts, parts].concat();
        assert_eq!(said.len(), parts.len(), "{said:?}");
        for (said, part) in said.iter().zip(parts) {
            assert!(said.contains(part), "{said}");
        }
        assert_eq!(told.forbidden, None);
        let why = "Permissions Violation for Publish to \"ringside.call\"";
        let event = Event::ServerError(ServerError::Other(why.to_owned()));
        assert!(told.of("nats://h:1", &event).is_some());
        assert_eq!(told.of("nats://h:1", &event), None);
        assert!(told.forbidden.unwrap().contains("ringside.call"));
    }

    #[test]
    fn the_seed_of_an_nkey_is_found_among_other_lines() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key");
        std::fs::write(&path, "# mine\n  SUAMINE  \n").unwrap();
        assert_eq!(seed(&path).unwrap(), "SUAMINE");
        std::fs::write(&path, "nothing").unwrap();
        assert!(seed(&path).unwrap_err().contains("no seed"));
    }
}

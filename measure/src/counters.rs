//! Counters of what went wrong, by kind, and of answers, by status. Adding one is an index into an
//! array: errors on the hot path are numbers, words are made when the record is.

use std::collections::BTreeMap;

/// What can go wrong with an exchange or a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum ErrorKind {
    /// The connection was refused.
    Refused,
    /// The host or network could not be reached.
    Unreachable,
    /// The peer reset the connection.
    Reset,
    /// The peer closed the connection before the answer was complete, or with a redirect that was
    /// to be followed on it.
    EarlyClose,
    /// The peer closed the connection in the middle of a stream of events, behind at least one.
    StreamCut,
    /// No complete answer before the timeout, or of a stream of events no further one.
    Timeout,
    /// No TCP connection before the timeout.
    ConnectTimeout,
    /// The peer violated the protocol.
    ProtocolViolation,
    /// The answer was complete, but its status wasn't an expected one.
    UnexpectedStatus,
    /// The answer was complete, but didn't meet an expectation of the user's.
    UnexpectedAnswer,
    /// A script of wrk failed while the load ran, which ends it; no exchange fails by that.
    ScriptFailed,
    /// A user of a flow couldn't make its next request, which is no exchange.
    RequestUnmade,
    /// A redirect led to another scheme, host or port, and wasn't followed.
    RedirectElsewhere,
    /// A redirect had no `Location`, or none that can be followed.
    RedirectInvalid,
    /// There were more redirects than may be followed.
    TooManyRedirects,
    /// No local port was free for a new connection.
    PortsExhausted,
    /// No file descriptor was free for a new connection.
    DescriptorsExhausted,
    /// The connection was closed while a request was being sent.
    BrokenPipe,
    /// The peer's certificate isn't trusted: its issuer is unknown, it has expired, or it is for
    /// another name.
    TlsCertificate,
    /// The TLS handshake broke, or an alert ended the connection.
    TlsFailed,
    /// The peer doesn't speak the requested protocol.
    NoCommonProtocol,
    /// The peer answered the WebSocket upgrade with a status other than 101.
    UpgradeRefused,
    /// The peer reset a single HTTP/2 stream.
    StreamReset,
    /// The peer refused an HTTP/2 stream without processing it, and the exchange was sent again: it
    /// hasn't failed.
    StreamRefused,
    /// The peer refused an exchange's HTTP/2 stream without processing it, and it ran out of
    /// retries: the exchange has failed.
    StreamGivenUp,
    /// The peer ended an HTTP/2 connection with an error (GOAWAY).
    GoAway,
    /// A gRPC call ended with a status other than OK.
    GrpcStatus,
    /// The peer closed the connection while no answer was pending on it.
    IdleClose,
    /// The TLS handshake didn't finish before the timeout.
    TlsTimeout,
    /// TCP and TLS were connected, but the protocol's first message (the answer to a WebSocket
    /// upgrade, or HTTP/2's settings) didn't arrive before the timeout.
    GreetingTimeout,
    /// The proxy answered CONNECT with a status other than 2xx.
    ProxyRefused,
    /// The proxy closed the connection instead of answering CONNECT, or its answer made no sense.
    ProxyFailed,
    /// The proxy was connected, but didn't answer CONNECT before the timeout.
    ProxyTimeout,
    /// Any other error of the operating system.
    Other,
}

const KINDS: usize = 34;

impl ErrorKind {
    /// All kinds, in the order in which they are reported.
    pub const fn all() -> [ErrorKind; KINDS] {
        [
            ErrorKind::Refused,
            ErrorKind::Unreachable,
            ErrorKind::Reset,
            ErrorKind::EarlyClose,
            ErrorKind::StreamCut,
            ErrorKind::Timeout,
            ErrorKind::ConnectTimeout,
            ErrorKind::ProtocolViolation,
            ErrorKind::UnexpectedStatus,
            ErrorKind::UnexpectedAnswer,
            ErrorKind::ScriptFailed,
            ErrorKind::RequestUnmade,
            ErrorKind::RedirectElsewhere,
            ErrorKind::RedirectInvalid,
            ErrorKind::TooManyRedirects,
            ErrorKind::PortsExhausted,
            ErrorKind::DescriptorsExhausted,
            ErrorKind::BrokenPipe,
            ErrorKind::TlsCertificate,
            ErrorKind::TlsFailed,
            ErrorKind::NoCommonProtocol,
            ErrorKind::UpgradeRefused,
            ErrorKind::StreamReset,
            ErrorKind::StreamRefused,
            ErrorKind::StreamGivenUp,
            ErrorKind::GoAway,
            ErrorKind::GrpcStatus,
            ErrorKind::IdleClose,
            ErrorKind::TlsTimeout,
            ErrorKind::GreetingTimeout,
            ErrorKind::ProxyRefused,
            ErrorKind::ProxyFailed,
            ErrorKind::ProxyTimeout,
            ErrorKind::Other,
        ]
    }

    /// The name in records, in snake case.
    pub const fn name(self) -> &'static str {
        match self {
            ErrorKind::Refused => "refused",
            ErrorKind::Unreachable => "unreachable",
            ErrorKind::Reset => "reset",
            ErrorKind::EarlyClose => "early_close",
            ErrorKind::StreamCut => "stream_cut",
            ErrorKind::Timeout => "timeout",
            ErrorKind::ConnectTimeout => "connect_timeout",
            ErrorKind::ProtocolViolation => "protocol_violation",
            ErrorKind::UnexpectedStatus => "unexpected_status",
            ErrorKind::UnexpectedAnswer => "unexpected_answer",
            ErrorKind::ScriptFailed => "script_failed",
            ErrorKind::RequestUnmade => "request_unmade",
            ErrorKind::RedirectElsewhere => "redirect_elsewhere",
            ErrorKind::RedirectInvalid => "redirect_invalid",
            ErrorKind::TooManyRedirects => "too_many_redirects",
            ErrorKind::PortsExhausted => "ports_exhausted",
            ErrorKind::DescriptorsExhausted => "descriptors_exhausted",
            ErrorKind::BrokenPipe => "broken_pipe",
            ErrorKind::TlsCertificate => "tls_certificate",
            ErrorKind::TlsFailed => "tls_failed",
            ErrorKind::NoCommonProtocol => "no_common_protocol",
            ErrorKind::UpgradeRefused => "upgrade_refused",
            ErrorKind::StreamReset => "stream_reset",
            ErrorKind::StreamRefused => "stream_refused",
            ErrorKind::StreamGivenUp => "stream_given_up",
            ErrorKind::GoAway => "go_away",
            ErrorKind::GrpcStatus => "grpc_status",
            ErrorKind::IdleClose => "idle_close",
            ErrorKind::TlsTimeout => "tls_timeout",
            ErrorKind::GreetingTimeout => "greeting_timeout",
            ErrorKind::ProxyRefused => "proxy_refused",
            ErrorKind::ProxyFailed => "proxy_failed",
            ErrorKind::ProxyTimeout => "proxy_timeout",
            ErrorKind::Other => "other",
        }
    }

    /// Whether something was given up because it took too long.
    pub const fn is_timeout(self) -> bool {
        matches!(
            self,
            ErrorKind::Timeout
                | ErrorKind::ConnectTimeout
                | ErrorKind::TlsTimeout
                | ErrorKind::GreetingTimeout
                | ErrorKind::ProxyTimeout
        )
    }

    /// One sentence: what it means and what to do.
    pub const fn text(self) -> &'static str {
        SENTENCES[self as usize]
    }
}

/// What each kind means and what to do, in the order of the kinds.
const SENTENCES: [&str; KINDS] = [
    // Refused
    "Nothing is listening at this address, or the listener's backlog was full: start the server, \
     or raise its backlog and net.core.somaxconn.",
    // Unreachable
    "The host or its network couldn't be reached: check the address and the route.",
    // Reset
    "The server reset the connection: look for a crash, a limit or a timeout in its log.",
    // EarlyClose
    "The server closed the connection before its answer was complete, or with a redirect that was \
     to be followed on it: look for a crash or a keep-alive limit.",
    // StreamCut
    "The server closed the connection in the middle of a stream of events: look for a crash, a \
     restart, or a limit on how long an answer may take.",
    // Timeout
    "The answer wasn't complete before the timeout, and counts as a censored sample: lower the \
     load, or raise the timeout. With --events it's no further event that came in that time.",
    // ConnectTimeout
    "TCP didn't connect before the timeout: check firewalls and the listener's backlog.",
    // ProtocolViolation
    "The server violated the protocol: inspect its answer with another client.",
    // UnexpectedStatus
    "The answer was complete, but its status wasn't an expected one: check path, method and \
     headers.",
    // UnexpectedAnswer
    "The answer was complete, but not as expected (by --expect, @expect or a line of the flow): \
     compare what was expected with what came.",
    // ScriptFailed
    "The script failed while the load ran, which ended it: mend it where the message says.",
    // RequestUnmade
    "A user couldn't make its next request: a value is missing or doesn't fit, or the URL leads to \
     another server; the line of the flow says which.",
    // RedirectElsewhere
    "A redirect led to another scheme, host or port, where this load doesn't go: load the URL that \
     it leads to.",
    // RedirectInvalid
    "A redirect had no Location, or none that is an http:// or https:// URL: inspect the answer \
     with another client.",
    // TooManyRedirects
    "There were more redirects than --follow allows: look for a cycle, or raise --follow.",
    // PortsExhausted
    "No local port was free for a new connection: add source addresses with --source-ip, widen \
     net.ipv4.ip_local_port_range, or keep connections alive.",
    // DescriptorsExhausted
    "No file descriptors were left: raise the limit with `ulimit -n`.",
    // BrokenPipe
    "The server closed the connection while a request was being sent: it doesn't wait for the \
     whole request.",
    // TlsCertificate
    "The server's certificate isn't trusted: give its issuer with --cacert, use the name it's \
     issued for in the URL, or accept any certificate with --insecure.",
    // TlsFailed
    "The TLS handshake or connection failed: check that the server speaks TLS on this port, and \
     look for an alert in its log.",
    // NoCommonProtocol
    "The server doesn't speak the requested protocol: check the port, or drop --http2.",
    // UpgradeRefused
    "The server didn't answer the WebSocket upgrade with status 101: check the path and the \
     headers.",
    // StreamReset
    "The server reset individual HTTP/2 streams: look for a limit or a failed request in its log.",
    // StreamRefused
    "The server refused an HTTP/2 stream without processing it, so we sent the request again: use \
     fewer streams (-S).",
    // StreamGivenUp
    "The server refused an HTTP/2 stream, and the request failed: it ran out of retries, or the \
     server allows no streams. Use fewer streams (-S).",
    // GoAway
    "The server ended the HTTP/2 connection with an error: look for the reason in its log.",
    // GrpcStatus
    "The gRPC call ended with a status other than OK: the codes are listed separately.",
    // IdleClose
    "The server closed an idle connection: it stopped, or has a keep-alive timeout or a connection \
     limit. Send heartbeats more often than that timeout (--heartbeat), or raise it.",
    // TlsTimeout
    "TCP connected, but the TLS handshake didn't finish before the timeout: the server has no room \
     for more connections, is overloaded, or doesn't speak TLS on this port.",
    // GreetingTimeout
    "TCP (and TLS) connected, but the WebSocket upgrade or the start of HTTP/2 wasn't answered \
     before the timeout: the server has no room for more connections, or is overloaded.",
    // ProxyRefused
    "The proxy (--proxy) answered CONNECT with a status other than 2xx: check the user, whether it \
     allows tunnels to this host and port, and its log.",
    // ProxyFailed
    "The proxy (--proxy) closed the connection instead of answering CONNECT, or its answer wasn't \
     HTTP: check its port, its limits and its log.",
    // ProxyTimeout
    "The proxy (--proxy) was connected, but didn't answer CONNECT before the timeout: it may be \
     overloaded, or wait for a server that doesn't answer.",
    // Other
    "The operating system refused an operation for an unusual reason: try fewer connections, and \
     run `ringside doctor`.",
];

/// Counts of errors by kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Errors {
    counts: [u64; KINDS],
}

impl Default for Errors {
    /// None.
    fn default() -> Errors {
        Errors { counts: [0; KINDS] }
    }
}

impl Errors {
    /// Counts one error.
    #[inline]
    pub fn add(&mut self, kind: ErrorKind) {
        self.counts[kind as usize] += 1;
    }

    /// Counts several of one kind.
    pub fn add_n(&mut self, kind: ErrorKind, n: u64) {
        self.counts[kind as usize] += n;
    }

    /// How many errors of `kind` were counted.
    pub fn count(&self, kind: ErrorKind) -> u64 {
        self.counts[kind as usize]
    }

    /// How many errors of all kinds were counted.
    pub fn total(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// The kinds that occurred, with their counts.
    pub fn iter(&self) -> impl Iterator<Item = (ErrorKind, u64)> + '_ {
        ErrorKind::all()
            .into_iter()
            .map(|kind| (kind, self.count(kind)))
            .filter(|(_, count)| *count > 0)
    }

    /// What was counted since `earlier`, when these counts were those.
    pub(crate) fn since(&self, earlier: &Errors) -> Errors {
        let mut gained = *self;
        for (mine, before) in gained.counts.iter_mut().zip(earlier.counts) {
            debug_assert!(*mine >= before, "what was counted only grows");
            *mine = mine.saturating_sub(before);
        }
        gained
    }

    /// Adds everything that `other` counted.
    pub fn merge(&mut self, other: &Errors) {
        for (mine, theirs) in self.counts.iter_mut().zip(other.counts) {
            *mine += theirs;
        }
    }
}

/// How many statuses are told apart.
pub(crate) const CODES: usize = 1000;

/// Counts of answers by status code. RFC 9110 §15 defines 100 to 599; a peer may send any three
/// digits, and each is counted as it came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statuses {
    counts: Box<[u64]>,
}

impl Default for Statuses {
    fn default() -> Statuses {
        Statuses {
            counts: vec![0; CODES].into_boxed_slice(),
        }
    }
}

impl Statuses {
    /// Counts one answer with `status`; above 999 counts as 999.
    #[inline]
    pub fn add(&mut self, status: u16) {
        if let Some(count) = self.counts.get_mut(usize::from(status).min(CODES - 1)) {
            *count += 1;
        }
    }

    /// Counts several answers with one status.
    pub fn add_n(&mut self, status: u16, n: u64) {
        if let Some(count) = self.counts.get_mut(usize::from(status).min(CODES - 1)) {
            *count += n;
        }
    }

    /// Forgets everything, keeps the memory.
    pub fn clear(&mut self) {
        self.counts.fill(0);
    }

    /// How many answers had `status`.
    pub fn count(&self, status: u16) -> u64 {
        self.counts.get(usize::from(status)).copied().unwrap_or(0)
    }

    /// How many answers were counted.
    pub fn total(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// How many answers had a status outside 200 to 399, which wrk calls "Non-2xx or 3xx".
    pub fn not_2xx_or_3xx(&self) -> u64 {
        self.total() - self.counts[200..400].iter().sum::<u64>()
    }

    /// The codes that occurred, with their counts, ascending.
    pub fn iter(&self) -> impl Iterator<Item = (u16, u64)> + '_ {
        (0u16..)
            .zip(self.counts.iter().copied())
            .filter(|(_, count)| *count > 0)
    }

    /// Adds everything that `other` counted.
    pub fn merge(&mut self, other: &Statuses) {
        for (mine, theirs) in self.counts.iter_mut().zip(&other.counts) {
            *mine += theirs;
        }
    }
}

/// Close frames of WebSocket servers, by their code. They end connections, so that counting one may
/// cost more than an index.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Closes {
    counts: BTreeMap<u16, u64>,
}

impl Closes {
    /// Stands for a close frame without a code; none may carry it (RFC 6455 §7.4.1).
    pub const NO_CODE: u16 = 1005;

    /// Counts a close frame with `code`.
    pub fn add(&mut self, code: Option<u16>) {
        *self
            .counts
            .entry(code.unwrap_or(Self::NO_CODE))
            .or_default() += 1;
    }

    /// The counts by code.
    pub fn counts(&self) -> &BTreeMap<u16, u64> {
        &self.counts
    }

    /// Those with these counts.
    pub fn of(counts: BTreeMap<u16, u64>) -> Closes {
        Closes { counts }
    }

    /// The counts by the code's digits, as a record has them.
    pub fn by_code(&self) -> BTreeMap<String, u64> {
        let counts = self.counts.iter();
        counts.map(|(code, n)| (code.to_string(), *n)).collect()
    }

    /// Adds everything that `other` counted.
    pub fn merge(&mut self, other: &Closes) {
        for (code, count) in &other.counts {
            *self.counts.entry(*code).or_default() += count;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_a_place_a_name_and_a_sentence_of_its_own() {
        let mut names = std::collections::BTreeSet::new();
        for (place, kind) in ErrorKind::all().into_iter().enumerate() {
            assert_eq!(kind as usize, place);
            let name = kind.name();
            assert!(name.bytes().all(|b| b.is_ascii_lowercase() || b == b'_'));
            assert!(names.insert(name), "{name} twice");
            assert!(kind.text().ends_with('.') && !kind.text().contains("  "));
        }
    }

    #[test]
    fn errors_are_counted_by_kind_and_merged() {
        let mut errors = Errors::default();
        errors.add(ErrorKind::Timeout);
        errors.add(ErrorKind::Timeout);
        errors.add(ErrorKind::Other);
        let mut sum = errors;
        sum.merge(&errors);
        assert_eq!(sum.total(), 6);
        let counts: Vec<_> = sum.iter().collect();
        assert_eq!(counts, [(ErrorKind::Timeout, 4), (ErrorKind::Other, 2)]);
    }

    #[test]
    fn statuses_are_counted_as_they_came() {
        let mut statuses = Statuses::default();
        for status in [200, 404, 200, 302, 799, 65535, 100] {
            statuses.add(status);
        }
        let mut sum = Statuses::default();
        sum.merge(&statuses);
        let counts: Vec<_> = sum.iter().collect();
        assert_eq!(
            counts,
            [(100, 1), (200, 2), (302, 1), (404, 1), (799, 1), (999, 1)]
        );
        assert_eq!((sum.total(), sum.not_2xx_or_3xx()), (7, 4));
        assert_eq!((sum.count(200), sum.count(201), sum.count(5000)), (2, 0, 0));
    }

    #[test]
    fn close_frames_are_counted_by_code_and_merged() {
        let mut closes = Closes::default();
        for code in [Some(1001), None, Some(1001)] {
            closes.add(code);
        }
        let mut other = Closes::default();
        for code in [Some(1013), None] {
            other.add(code);
        }
        closes.merge(&other);
        let counts = [("1001", 2), ("1005", 2), ("1013", 1)];
        let counts = counts.map(|(code, n)| (code.to_owned(), n));
        assert_eq!(closes.by_code(), BTreeMap::from(counts));
    }
}

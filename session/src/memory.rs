//! What the owner of many connections remembers for all of them: heads that it has seen before, and
//! how answers began whose status nobody expects.

use std::collections::BTreeMap;
use std::sync::Arc;

use measure::counters::ErrorKind;
use plan::redaction::{guessed, guessed_url};
use plan::{Plan, Redaction};
use proto::http1::HeadMemo;

use super::beginning::{Beginning, shortened};
use super::expect::{Expecting, Look, Rules, Verdict};
use super::heard::Heard;

/// Of so many statuses a body is kept.
const STATUSES_MAX: usize = 4;

/// So many reasons there are not to follow a redirect.
const REASONS: usize = 3;

/// See the module. It allocates nothing once it is there.
#[derive(Debug)]
pub struct Memory {
    /// Heads, each of which is read once.
    pub heads: HeadMemo,
    /// How bodies began, each under another status.
    strange: [Strange; STATUSES_MAX],
    /// Where redirects led that weren't followed, one for each reason.
    astray: [Option<(ErrorKind, Beginning)>; REASONS],
    /// What is expected of answers, if anything beyond a usual status.
    expecting: Option<Box<Expecting>>,
    /// Answers that are kept whole, where somebody asks for them.
    hearing: Option<Box<Heard>>,
    /// Events are looked for in answers.
    listens: bool,
    /// Their owner judges them, and not rules.
    asks: bool,
    /// What answers say may be told.
    quotes: bool,
}

/// How the body of an answer begins that has a strange status.
#[derive(Clone, Copy, Debug)]
struct Strange {
    /// None where this holds nothing.
    status: Option<u16>,
    text: Beginning,
}

/// Whether a status is one that answers of a load should not have.
#[inline]
pub(crate) fn is_strange(status: u16) -> bool {
    !(200..400).contains(&status)
}

/// One that remembers nothing.
impl Default for Memory {
    fn default() -> Memory {
        let nothing = Strange {
            status: None,
            text: Beginning::NOTHING,
        };
        Memory {
            heads: HeadMemo::new(),
            strange: [nothing; STATUSES_MAX],
            astray: [None; REASONS],
            expecting: None,
            hearing: None,
            listens: false,
            asks: false,
            quotes: true,
        }
    }
}

impl Memory {
    /// One for sessions whose answers must meet these rules, if any. Where it `hears`, answers are
    /// kept whole for [`Memory::heard`]; unless it `quotes`, nothing is kept of what they say.
    pub fn new(rules: Option<Arc<Rules>>, hears: bool, quotes: bool) -> Memory {
        Memory {
            expecting: rules.map(|rules| Box::new(Expecting::new(rules, quotes))),
            hearing: hears.then(Box::default),
            quotes,
            ..Memory::default()
        }
    }

    /// The same where events are looked for in answers, or not:
    /// [`Happening::Streamed`](crate::Happening::Streamed) tells of them.
    #[must_use]
    pub fn listening(self, listens: bool) -> Memory {
        Memory { listens, ..self }
    }

    /// Whether events are looked for in answers.
    #[inline]
    pub(crate) fn listens(&self) -> bool {
        self.listens
    }

    /// The same where its owner judges each answer: [`Happening::Whole`](crate::Happening::Whole)
    /// says that there is one, and nothing is kept of what any says.
    pub fn asking() -> Memory {
        Memory {
            asks: true,
            ..Memory::new(None, true, false)
        }
    }

    /// Whether its owner judges answers.
    pub(crate) fn asks(&self) -> bool {
        self.asks
    }

    /// Whether answers are held against rules.
    #[inline]
    pub fn expects(&self) -> bool {
        self.expecting.is_some()
    }

    /// How many of the answers that are kept whole had a longer body than is kept.
    pub fn bodies_cut(&self) -> u64 {
        self.hearing.as_ref().map_or(0, |heard| heard.cut())
    }

    /// The answers that are kept whole; none where nobody asks for them.
    pub fn heard(&mut self) -> Option<&mut Heard> {
        self.hearing.as_deref_mut()
    }

    /// What answers have to meet, and what came instead; none where that is nothing but a usual
    /// status.
    pub fn expected(&self) -> Option<&Expecting> {
        self.expecting.as_deref()
    }

    /// The head came of an answer to a request of `step`.
    pub(crate) fn see_head<'f, F: Iterator<Item = (&'f [u8], &'f [u8])>>(
        &mut self,
        look: &mut Look,
        (step, status): (u16, u16),
        fields: impl Fn() -> F,
    ) {
        look.status = status;
        if self.listens {
            match status {
                // What says that it's an error is none, whatever its type (HTML §9.2.3).
                200..=299 => look.listener.head(fields()),
                _ => look.listener.begin(false),
            }
        }
        if let Some(heard) = &mut self.hearing {
            look.whole = Some(heard.begin(status, fields()));
        }
        if let Some(expecting) = &mut self.expecting {
            look.head(step, expecting, fields);
        }
    }

    /// A piece of its body came.
    #[inline(never)]
    pub(crate) fn see_body(&mut self, look: &mut Look, bytes: &[u8]) {
        if let Some(whole) = &mut look.whole {
            whole.body(bytes);
        }
        if self.listens {
            look.listener.body(bytes);
        }
        let is_about_status = match &self.expecting {
            Some(expecting) => look.body(bytes, expecting),
            None => is_strange(look.status),
        };
        if is_about_status {
            self.keep(look.status, bytes);
        }
    }

    /// It is whole: its status, and what was found of it where there are rules.
    #[inline(never)]
    pub(crate) fn see_end(&mut self, look: &mut Look) -> (u16, Option<Verdict>) {
        if let (Some(whole), Some(heard)) = (look.whole.take(), &mut self.hearing) {
            heard.end(whole);
        }
        if self.listens {
            look.listener.end();
        }
        let expecting = self.expecting.as_deref_mut();
        (look.status, expecting.map(|expecting| look.end(expecting)))
    }

    /// Keeps how a body begins that came with `status`, unless one is known for it. What comes in
    /// a second piece is left out: connections take turns, and a line is mostly in the first.
    #[cold]
    pub(crate) fn keep(&mut self, status: u16, bytes: &[u8]) {
        let known = |kept: &Strange| kept.status == Some(status);
        if !self.quotes || bytes.is_empty() || self.strange.iter().any(known) {
            return;
        }
        if let Some(free) = self.strange.iter_mut().find(|kept| kept.status.is_none()) {
            free.status = Some(status);
            free.text.set(bytes);
        }
    }

    /// Keeps where a redirect leads that isn't followed because of `kind`, unless one is known for
    /// that. `fields`: those of the answer.
    #[cold]
    pub(crate) fn keep_location<'f>(
        &mut self,
        kind: ErrorKind,
        mut fields: impl Iterator<Item = (&'f [u8], &'f [u8])>,
    ) {
        let known = |kept: &Option<(ErrorKind, Beginning)>| {
            kept.as_ref().is_some_and(|(known, _)| *known == kind)
        };
        if !self.quotes || self.astray.iter().any(known) {
            return;
        }
        let location = fields.find(|(name, _)| name.eq_ignore_ascii_case(b"location"));
        let free = self.astray.iter_mut().find(|kept| kept.is_none());
        if let (Some(free), Some((_, value))) = (free, location) {
            let mut text = Beginning::NOTHING;
            text.set(value);
            *free = Some((kind, text));
        }
    }

    /// Where a redirect led, by the reason why it wasn't followed: without secrets, and without the
    /// values of its query, which may be any.
    fn locations(&self, redaction: &Redaction) -> impl Iterator<Item = (ErrorKind, String)> {
        self.astray.iter().flatten().filter_map(|(kind, text)| {
            let line = guessed_url(&redaction.scrub(&text.line()));
            (!line.is_empty()).then(|| (*kind, shortened(&line)))
        })
    }

    /// What is told of each status: the first line of its body without secrets.
    pub fn told(&self, redaction: &Redaction) -> BTreeMap<u16, String> {
        let told = |kept: &Strange| {
            let line = guessed(&redaction.scrub(&kept.text.line())).into_owned();
            Some((kept.status?, shortened(&line))).filter(|(_, line)| !line.is_empty())
        };
        self.strange.iter().filter_map(told).collect()
    }
}

/// What is told of all workers' `memories`.
pub fn told<'a>(
    plan: &Plan,
    memories: impl Iterator<Item = &'a Memory>,
) -> BTreeMap<String, String> {
    let told = memories.flat_map(|memory| memory.told(&plan.redaction));
    told.map(|(status, line)| (status.to_string(), line))
        .collect()
}

/// Where redirects led that weren't followed, of all workers' `memories`: one for each kind of
/// error that this is.
pub fn locations<'a>(
    plan: &Plan,
    memories: impl Iterator<Item = &'a Memory>,
) -> BTreeMap<String, String> {
    let told = memories.flat_map(|memory| memory.locations(&plan.redaction));
    told.map(|(kind, line)| (kind.name().to_owned(), line))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::beginning::CHARACTERS_MAX;
    use super::*;

    fn told(bodies: &[(u16, &[u8])], redaction: &Redaction) -> BTreeMap<u16, String> {
        let mut memory = Memory::default();
        for (status, body) in bodies {
            memory.keep(*status, body);
        }
        memory.told(redaction)
    }

    fn line(body: &[u8]) -> Option<String> {
        told(&[(404, body)], &Redaction::default()).remove(&404)
    }

    #[test]
    fn the_first_line_with_something_in_it_is_told() {
        assert_eq!(line(b"no such path\nmore").as_deref(), Some("no such path"));
        assert_eq!(line(b"\r\n  a  \r\n").as_deref(), Some("a"));
        let page = b"<html>\r\n<head><title>404 Not Found</title></head>\r\n<body>x</body>";
        assert_eq!(line(page).as_deref(), Some("404 Not Found"));
        assert_eq!(line(b"<a>b<c").as_deref(), Some("b"));
        assert_eq!(
            line(b"{\"error\":\"a < b\"}").as_deref(),
            Some("{\"error\":\"a < b\"}")
        );
        for nothing in [&b""[..], b"\n \n", b"<html></html>"] {
            assert_eq!(line(nothing), None);
        }
    }

    #[test]
    fn one_body_of_each_status_is_kept_and_not_of_endlessly_many() {
        let bodies = [
            (404, &b"a"[..]),
            (404, b"b"),
            (500, b""),
            (500, b"c"),
            (503, b"d"),
        ];
        let kept = told(&bodies, &Redaction::default());
        let expected = [(404, "a"), (500, "c"), (503, "d")].map(|(at, line)| (at, line.to_owned()));
        assert_eq!(kept, BTreeMap::from(expected));
        let many: Vec<(u16, &[u8])> = (400..500).map(|status| (status, &b"x"[..])).collect();
        assert_eq!(told(&many, &Redaction::default()).len(), STATUSES_MAX);
    }

    #[test]
    fn nothing_is_kept_where_nothing_may_be_told() {
        let mut memory = Memory::new(None, false, false);
        memory.keep(404, b"your cookie is canary");
        assert_eq!(memory.told(&Redaction::default()), BTreeMap::new());
    }

    #[test]
    fn where_redirects_led_is_told_once_for_each_reason_and_without_secrets() {
        let redaction = Redaction::default();
        redaction.learn([("Authorization", "canary-a")], "/");
        let kinds = [
            (
                ErrorKind::RedirectElsewhere,
                "https://a/b?id=canary-b#t=canary-c",
            ),
            (ErrorKind::RedirectElsewhere, "https://second/"),
            (
                ErrorKind::RedirectInvalid,
                "x://u:canary-d@h/canary-a\x1b[2J",
            ),
            (ErrorKind::TooManyRedirects, "/next?page=canary-e&q"),
        ];
        let told = |quotes: bool| {
            let mut memory = Memory::new(None, false, quotes);
            for (kind, to) in kinds {
                let fields = [(&b"X"[..], &b"y"[..]), (b"LOCATION", to.as_bytes())];
                memory.keep_location(kind, fields.into_iter());
            }
            memory.keep_location(ErrorKind::EarlyClose, std::iter::empty());
            memory.locations(&redaction).collect::<Vec<_>>()
        };
        let found = told(true);
        let expected = [
            (ErrorKind::RedirectElsewhere, "https://a/b?id=…#t=…"),
            (ErrorKind::RedirectInvalid, "x://…@h/"),
            (ErrorKind::TooManyRedirects, "/next?page=…&…"),
        ];
        assert_eq!(found.len(), expected.len(), "{found:?}");
        for ((kind, line), (known, begin)) in found.iter().zip(expected) {
            assert_eq!(*kind, known);
            assert!(line.starts_with(begin), "{line}");
            assert!(!line.contains("canary") && !line.contains('\x1b'), "{line}");
        }
        assert_eq!(told(false), []);
    }

    #[test]
    fn neither_commands_nor_secrets_get_through() {
        let redaction = Redaction::default();
        let secret = "Zk7-Hq2_canary".repeat(40);
        redaction.learn([("Authorization", secret.as_str())], "/");
        let said = |body: String| told(&[(401, body.as_bytes())], &redaction).remove(&401);
        let shown = said(format!("bad token {secret}, sorry\x1b[2J")).expect("a line");
        assert!(
            shown.starts_with("bad token ") && shown.contains("\\u{1b}"),
            "{shown}"
        );
        assert!(!shown.contains("canary"), "{shown}");
        // What is cut may be a part of one.
        let shown = said(format!("{} {secret}", "x".repeat(600))).expect("a line");
        assert!(!shown.contains("canary"), "{shown}");
        assert_eq!(said(secret.repeat(3)), None);
        assert!(shown.ends_with('…') && shown.chars().count() <= CHARACTERS_MAX + 1);
    }
}

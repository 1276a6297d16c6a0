//! What the owner of many connections remembers for all of them: heads that it has seen before, and
//! how answers began whose status nobody expects.

use std::collections::BTreeMap;

use measure::foreign::Foreign;
use plan::redaction::guessed;
use plan::{Plan, Redaction};
use proto::http1::HeadMemo;

/// Of so many statuses a body is kept.
const STATUSES_MAX: usize = 4;
/// So much of a body is kept.
const BYTES_MAX: usize = 1024;
/// So much of its first line is told.
const CHARACTERS_MAX: usize = 160;

/// See the module. It allocates nothing once it is there.
#[derive(Debug)]
pub(crate) struct Memory {
    /// Heads, each of which is read once.
    pub heads: HeadMemo,
    /// How bodies began, each under another status.
    strange: [Beginning; STATUSES_MAX],
}

/// How the body of an answer begins.
#[derive(Clone, Copy, Debug)]
struct Beginning {
    /// None where this holds nothing.
    status: Option<u16>,
    bytes: [u8; BYTES_MAX],
    length: usize,
    /// There is more of it.
    is_cut: bool,
}

/// Whether a status is one that answers of a load should not have.
#[inline]
pub(super) fn is_strange(status: u16) -> bool {
    !(200..400).contains(&status)
}

impl Memory {
    /// One that remembers nothing.
    pub(crate) fn new() -> Memory {
        let nothing = Beginning {
            status: None,
            bytes: [0; BYTES_MAX],
            length: 0,
            is_cut: false,
        };
        Memory {
            heads: HeadMemo::new(),
            strange: [nothing; STATUSES_MAX],
        }
    }

    /// Keeps how a body begins that came with `status`, unless one is known for it. What comes in
    /// a second piece is left out: connections take turns, and a line is mostly in the first.
    #[cold]
    pub(super) fn keep(&mut self, status: u16, bytes: &[u8]) {
        let known = |kept: &Beginning| kept.status == Some(status);
        if bytes.is_empty() || self.strange.iter().any(known) {
            return;
        }
        if let Some(free) = self.strange.iter_mut().find(|kept| kept.status.is_none()) {
            let length = bytes.len().min(BYTES_MAX);
            free.bytes[..length].copy_from_slice(&bytes[..length]);
            (free.status, free.length) = (Some(status), length);
            free.is_cut = bytes.len() > BYTES_MAX;
        }
    }

    /// What is told of each status: the first line of its body without secrets.
    pub(crate) fn told(&self, redaction: &Redaction) -> BTreeMap<u16, String> {
        let told = |kept: &Beginning| {
            let line = first_line(&kept.bytes[..kept.length], kept.is_cut);
            let line = guessed(&redaction.scrub(&line)).into_owned();
            Some((kept.status?, shortened(&line))).filter(|(_, line)| !line.is_empty())
        };
        self.strange.iter().filter_map(told).collect()
    }
}

/// The first line with something to read in it: of a page, what stands outside its tags. The last
/// word of what is cut is left out, since it may be a part of a secret.
fn first_line(bytes: &[u8], is_cut: bool) -> String {
    let text = String::from_utf8_lossy(bytes);
    let text = match is_cut {
        true => text
            .rsplit_once(char::is_whitespace)
            .map_or("", |(whole, _)| whole),
        false => &text,
    };
    let is_page = text.trim_start().starts_with('<');
    let mut lines = text.lines().map(|line| match is_page {
        true => without_tags(line),
        false => line.to_owned(),
    });
    let line = lines.find(|line| !line.trim().is_empty());
    line.unwrap_or_default().trim().to_owned()
}

fn without_tags(line: &str) -> String {
    let mut inside = false;
    let outside = |c: &char| {
        let was_inside = inside;
        inside = (inside || *c == '<') && *c != '>';
        !inside && !was_inside
    };
    line.chars().filter(outside).collect()
}

/// A line as it may be shown.
fn shortened(line: &str) -> String {
    let shown: String = line.chars().take(CHARACTERS_MAX).collect();
    let more = if shown.len() < line.len() { "…" } else { "" };
    format!("{}{more}", Foreign::new(shown))
}

/// What is told of all workers' `memories`.
pub(crate) fn told<'a>(
    plan: &Plan,
    memories: impl Iterator<Item = &'a Memory>,
) -> BTreeMap<String, String> {
    let told = memories.flat_map(|memory| memory.told(&plan.redaction));
    told.map(|(status, line)| (status.to_string(), line))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(bodies: &[(u16, &[u8])], redaction: &Redaction) -> BTreeMap<u16, String> {
        let mut memory = Memory::new();
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

//! What of a file isn't sent again, and how that is told.

/// So many names of methods or fields are told.
const NAMES_MAX: usize = 4;

/// What of a file isn't in a trace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LeftOut {
    /// Lines or entries that are no request.
    pub unreadable: u64,
    /// Where the first of those stands, and why it doesn't fit.
    pub first: Option<String>,
    /// Requests by methods that aren't sent.
    pub by_method: u64,
    /// Which methods those are, the first few of them.
    pub methods: Names,
    /// Requests to hosts other than that to which most went.
    pub elsewhere: u64,
    /// Requests whose content wasn't written down.
    pub without_body: u64,
}

/// A few names, in the order in which they came.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Names {
    names: Vec<String>,
    has_more: bool,
}

impl Names {
    /// One of them, which may be known.
    pub(crate) fn add(&mut self, name: &str) {
        if self
            .names
            .iter()
            .any(|known| known.eq_ignore_ascii_case(name))
        {
            return;
        }
        match self.names.len() < NAMES_MAX {
            true => self.names.push(name.to_owned()),
            false => self.has_more = true,
        }
    }

    /// `Cookie, Authorization`, or with `…` where there are more.
    pub(crate) fn told(&self) -> String {
        let more = if self.has_more { ", …" } else { "" };
        format!("{}{more}", self.names.join(", "))
    }
}

impl LeftOut {
    /// How many there are in all.
    pub fn count(&self) -> u64 {
        self.unreadable + self.by_method + self.elsewhere + self.without_body
    }

    /// In words, such as `3 can't be parsed (first: …)`; empty where nothing was left out. `sent`:
    /// the methods that are.
    pub(crate) fn words(&self, sent: &[String]) -> String {
        let first = self.first.as_deref().unwrap_or_default();
        let methods = self.methods.told();
        let all = match self.methods.has_more {
            true => "all".to_owned(),
            false => [sent, &self.methods.names].concat().join(","),
        };
        let parts = [
            (self.unreadable, format!("can't be parsed (first: {first})")),
            (
                self.by_method,
                format!("use {methods} (send them with --replay-methods {all})"),
            ),
            (self.elsewhere, "go to another host".to_owned()),
            (
                self.without_body,
                "had a body that isn't in the file".to_owned(),
            ),
        ];
        let parts = parts.into_iter().filter(|(count, _)| *count > 0);
        let parts: Vec<String> = parts.map(|(count, why)| format!("{count} {why}")).collect();
        parts.join("; ")
    }
}

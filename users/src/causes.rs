//! Why stores fail, in their own words: each time is counted, and each cause is said once.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use measure::time::Time;

use crate::counts::{CAUSES, Counts};

/// A cause that wasn't met for so long is said again.
const AWAY: Duration = Duration::from_secs(600);

/// So many causes are known at once: codes are a server's to choose.
const CAUSES_MAX: usize = 64;

/// More of a server's words aren't said, in characters.
const WORDS_MAX: usize = 200;

/// A store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Of {
    Redis,
    Database,
}

/// What kind of cause it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// It doesn't let the gateway in.
    Login,
    /// The gateway may not do that.
    Permission,
    /// What it's asked makes no sense to it: an unknown table, another type.
    Question,
    /// It can't serve anybody now.
    Unavailable,
    /// There's no connection.
    Unreachable,
    Other,
}

/// The counters of a store.
const KINDS: usize = CAUSES.len() / 2;

/// A cause that was met.
#[derive(Debug)]
pub(crate) struct Cause<'a> {
    pub(crate) of: Of,
    pub(crate) kind: Kind,
    /// What was refused: `GET`, `the login`.
    pub(crate) what: &'a str,
    /// The server's name for it. Others of this name are the same cause.
    pub(crate) code: &'a str,
    pub(crate) words: &'a str,
    /// Whom it was asked about, which the words must not show: it may be a secret.
    pub(crate) asked: &'a str,
}

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Causes {
    counts: Arc<Counts>,
    met: Mutex<Met>,
}

#[derive(Debug, Default)]
struct Met {
    /// When each cause was last met.
    known: HashMap<String, Time>,
    unsaid: Vec<String>,
}

impl Causes {
    /// None yet, which are counted here.
    pub(crate) fn new(counts: Arc<Counts>) -> Causes {
        Causes {
            counts,
            met: Mutex::default(),
        }
    }

    /// Counts a cause, and has it said if it's news.
    pub(crate) fn note(&self, cause: &Cause<'_>, now: Time) {
        self.counts.causes[cause.of as usize * KINDS + cause.kind as usize].add();
        let (what, code) = (cause.what, cause.code);
        let store = match cause.of {
            Of::Redis => "Redis",
            Of::Database => "the database",
        };
        let hidden = shows(cause.words, cause.asked);
        let words = match hidden {
            true => "its words aren't repeated, since whom it was asked about may be in them",
            false => cause.words,
        };
        let line = || match cause.kind {
            Kind::Unreachable => format!("{store} can't be reached: {}", cleaned(words)),
            _ => format!(
                "{store} refuses {what}: {} {}",
                cleaned(code),
                cleaned(words)
            ),
        };
        // Those that can be repeated are news, though others couldn't be.
        self.say(format!("{store} {what} {code} {hidden}"), line, now);
    }

    /// Has a line said, unless the same cause was met a while ago or less.
    pub(crate) fn say(&self, cause: String, line: impl FnOnce() -> String, now: Time) {
        let mut met = self.met();
        if met.known.len() >= CAUSES_MAX && !met.known.contains_key(&cause) {
            met.known.retain(|_, last| now < *last + AWAY);
            if met.known.len() >= CAUSES_MAX {
                return;
            }
        }
        let last = met.known.insert(cause, now);
        if last.is_none_or(|last| now >= last + AWAY) && met.unsaid.len() < CAUSES_MAX {
            met.unsaid.push(line());
        }
    }

    /// What is to be said, and wasn't.
    pub(crate) fn unsaid(&self) -> Vec<String> {
        std::mem::take(&mut self.met().unsaid)
    }

    fn met(&self) -> MutexGuard<'_, Met> {
        self.met.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether words may show whom a store was asked about. A server may cut names short, and writes
/// what isn't plain in ways of its own.
fn shows(words: &str, asked: &str) -> bool {
    let head: String = asked.chars().take(16).collect();
    let is_plain = asked.bytes().all(|byte| byte.is_ascii_graphic());
    !asked.is_empty() && (!is_plain || words.contains(&head))
}

/// One line of words, and not too long.
fn cleaned(words: &str) -> String {
    let plain = |c: char| if c.is_control() { ' ' } else { c };
    words.chars().take(WORDS_MAX).map(plain).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cause<'a>(code: &'a str, words: &'a str) -> Cause<'a> {
        Cause {
            of: Of::Redis,
            kind: Kind::Permission,
            what: "SET",
            code,
            words,
            asked: "",
        }
    }

    fn at(seconds: u64) -> Time {
        Time(0) + Duration::from_secs(seconds)
    }

    #[test]
    fn a_cause_is_said_once_however_often_others_come_between() {
        let causes = Causes::default();
        for second in 0..1000 {
            causes.note(&cause("NOPERM", "a"), at(second));
            causes.note(&cause("OOM", "b"), at(second));
        }
        let said = causes.unsaid();
        assert_eq!(
            said,
            ["Redis refuses SET: NOPERM a", "Redis refuses SET: OOM b"]
        );
        assert_eq!(causes.counts.read().causes[1], 2000, "{:?}", CAUSES[1]);
        causes.note(&cause("OOM", "b"), at(1598));
        assert!(causes.unsaid().is_empty());
        causes.note(&cause("OOM", "b"), at(2198));
        assert_eq!(causes.unsaid().len(), 1, "it was away for ten minutes");
    }

    #[test]
    fn words_are_one_line_and_show_nobody_who_was_asked_about() {
        let causes = Causes::default();
        let long = format!("a\nb\u{1b}[31m{}", "x".repeat(1000));
        causes.note(&cause("A", &long), at(0));
        let said = causes.unsaid().pop().expect("it's news");
        assert!(
            said.starts_with("Redis refuses SET: A a b [31mxxx"),
            "{said}"
        );
        assert!(
            said.len() < 300 && !said.contains(char::is_control),
            "{said}"
        );
        let secret = "0123456789abcdef0123456789";
        for (code, asked) in [("B", secret), ("C", "k\u{e9}y")] {
            let words = format!("bad value '{}'", &secret[..20]);
            let asked = Cause {
                asked,
                ..cause(code, &words)
            };
            causes.note(&asked, at(0));
            let said = causes.unsaid().pop().expect("it's news");
            assert!(
                !said.contains("0123") && said.contains("aren't repeated"),
                "{said}"
            );
            // The next one has another name, and the reason is told at last.
            let next = Cause {
                asked: "nobody",
                ..cause(code, "no column 'nmae'")
            };
            causes.note(&next, at(0));
            let said = causes.unsaid().pop().expect("it's news");
            assert!(said.ends_with("no column 'nmae'"), "{said}");
            causes.note(&asked, at(1));
            assert!(causes.unsaid().is_empty());
        }
    }

    #[test]
    fn a_server_that_makes_up_codes_fills_no_memory() {
        let causes = Causes::default();
        for code in 0..10_000 {
            causes.note(&cause(&code.to_string(), ""), at(0));
        }
        assert_eq!(causes.unsaid().len(), CAUSES_MAX);
        causes.note(&cause("new", ""), at(600));
        assert_eq!(causes.unsaid().len(), 1);
    }
}

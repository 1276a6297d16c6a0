//! Where a reader of a file stands: its text, what was wrong so far, the variables it has met.

use std::fmt;

use measure::foreign::Foreign;

use crate::model::Slot;

/// The most mistakes that are collected; who has more reads the file again anyway.
pub(super) const MISTAKES_MAX: usize = 20;
/// The most variables of a flow.
const VARIABLES_MAX: usize = 1000;
/// What is less alike isn't suggested.
const LIKENESS_MIN: f64 = 0.8;

/// What is wrong with a file, or isn't supported, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistake {
    /// The file, as it was named.
    pub file: String,
    /// From 1 on; 0: it's about the file as a whole.
    pub line: u32,
    /// From 1 on, in characters; 0 with that line.
    pub column: u32,
    /// A sentence without its full stop: what is wrong, and what to do.
    pub what: String,
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Mistake {
            file,
            line,
            column,
            what,
        } = self;
        let file = Foreign::new(file);
        match line {
            0 => write!(f, "{file}: {what}"),
            _ => write!(f, "{file}:{line}:{column}: {what}"),
        }
    }
}

/// What is wrong at a place in the text.
#[derive(Debug)]
pub(super) struct Wrong {
    pub at: usize,
    pub what: String,
}

/// A variable, as a file meets it.
#[derive(Debug)]
struct Name {
    name: Box<str>,
    is_defined: bool,
    /// Something asks for it that may do without.
    is_mentioned: bool,
    /// Where it's used first.
    used_at: Option<usize>,
}

/// See the module. Lines end with a line feed alone.
pub(super) struct Reader<'a> {
    pub text: &'a str,
    pub at: usize,
    pub depth: u32,
    /// A place, and its line: the next ones are counted from there.
    counted: (usize, u32),
    names: Vec<Name>,
    files: &'a mut dyn FnMut(&str) -> Result<Vec<u8>, String>,
}

impl<'a> Reader<'a> {
    pub(super) fn new(
        text: &'a str,
        files: &'a mut dyn FnMut(&str) -> Result<Vec<u8>, String>,
    ) -> Reader<'a> {
        Reader {
            text,
            at: 0,
            depth: 0,
            counted: (0, 1),
            names: Vec::new(),
            files,
        }
    }

    pub(super) fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    pub(super) fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    /// Steps over a text if it stands here.
    pub(super) fn eat(&mut self, text: &str) -> bool {
        let is_here = self.rest().starts_with(text);
        if is_here {
            self.at += text.len();
        }
        is_here
    }

    /// Steps over characters, and returns them.
    pub(super) fn take(&mut self, is: impl Fn(char) -> bool) -> &'a str {
        let rest = self.rest();
        let taken = &rest[..rest.find(|c| !is(c)).unwrap_or(rest.len())];
        self.at += taken.len();
        taken
    }

    pub(super) fn spaces(&mut self) -> bool {
        !self.take(|c| c == ' ' || c == '\t').is_empty()
    }

    /// What is left of this line.
    pub(super) fn line(&self) -> &'a str {
        let rest = self.rest();
        &rest[..rest.find('\n').unwrap_or(rest.len())]
    }

    /// Steps over the rest of a line that may hold a comment.
    pub(super) fn end_of_line(&mut self) -> Result<(), Wrong> {
        self.spaces();
        if self.peek() == Some('#') {
            self.at += self.line().len();
        }
        if self.at == self.text.len() || self.eat("\n") {
            return Ok(());
        }
        let line = Foreign::new(self.line().trim_end());
        Err(self.wrong(format!("{line} is more than belongs on this line")))
    }

    /// Steps over the rest of a line, whatever it holds.
    pub(super) fn skip_line(&mut self) {
        self.at += self.line().len();
        self.eat("\n");
    }

    /// Steps over lines without anything, and over comments.
    pub(super) fn blank_lines(&mut self) {
        loop {
            let start = self.at;
            self.spaces();
            match self.peek() {
                Some('#') => self.skip_line(),
                Some('\n') => self.at += 1,
                _ => {
                    self.at = start;
                    self.spaces();
                    return;
                }
            }
        }
    }

    pub(super) fn wrong(&self, what: impl Into<String>) -> Wrong {
        wrong_at(self.at, what)
    }

    /// The line of where it stands, from 1 on.
    pub(super) fn line_number(&mut self) -> u32 {
        let (from, line) = match self.counted {
            (at, _) if at > self.at => (0, 1),
            counted => counted,
        };
        let lines = memchr::memchr_iter(b'\n', &self.text.as_bytes()[from..self.at]).count();
        self.counted = (self.at, line + lines as u32);
        self.counted.1
    }

    /// A file that the flow sends or expects.
    pub(super) fn file(&mut self, at: usize, name: &str) -> Result<Box<[u8]>, Wrong> {
        match (self.files)(name) {
            Ok(bytes) => Ok(bytes.into()),
            Err(why) => Err(wrong_at(at, format!("{}: {why}", Foreign::new(name)))),
        }
    }

    /// The variable of a name, which is used at `at`, or defined without it.
    pub(super) fn slot(&mut self, name: &str, at: Option<usize>) -> Result<Slot, Wrong> {
        let slot = self.place_of(name)?;
        let known = &mut self.names[usize::from(slot)];
        match at {
            Some(_) => known.used_at = known.used_at.or(at),
            None => known.is_defined = true,
        }
        Ok(slot)
    }

    /// The same, which needn't have a value.
    pub(super) fn mentioned(&mut self, name: &str) -> Result<Slot, Wrong> {
        let slot = self.place_of(name)?;
        self.names[usize::from(slot)].is_mentioned = true;
        Ok(slot)
    }

    fn place_of(&mut self, name: &str) -> Result<Slot, Wrong> {
        if let Some(slot) = self.names.iter().position(|known| &*known.name == name) {
            return Ok(slot as Slot);
        }
        if self.names.len() == VARIABLES_MAX {
            return Err(self.wrong(format!("more than {VARIABLES_MAX} variables")));
        }
        self.names.push(Name {
            name: name.into(),
            is_defined: false,
            is_mentioned: false,
            used_at: None,
        });
        Ok((self.names.len() - 1) as Slot)
    }

    /// What is used and never defined.
    pub(super) fn undefined(&self) -> Vec<Wrong> {
        let unknown = self.names.iter().filter(|name| !name.is_defined);
        let unknown = unknown.filter_map(|name| Some((name, name.used_at?)));
        let wrong = |(name, at): (&Name, usize)| {
            let defined = self.names.iter().filter(|name| name.is_defined);
            let likeness = |other: &Name| strsim::jaro_winkler(&other.name, &name.name);
            let nearest = defined.max_by(|a, b| likeness(a).total_cmp(&likeness(b)));
            let hint = match nearest.filter(|nearest| likeness(nearest) >= LIKENESS_MIN) {
                Some(nearest) => format!("did you mean {}?", Foreign::new(&*nearest.name)),
                None => {
                    let lower = name.name.to_ascii_lowercase();
                    let is_secret = ["password", "passwd", "secret", "token", "key"]
                        .iter()
                        .any(|ending| lower.ends_with(ending));
                    let option = if is_secret { "--secret" } else { "--variable" };
                    let name = Foreign::new(&*name.name);
                    format!("capture it, or pass {option} {name}=VALUE")
                }
            };
            let name = Foreign::new(&*name.name);
            wrong_at(at, format!("the variable {name} isn't defined: {hint}"))
        };
        unknown.map(wrong).collect()
    }

    /// Whether anything in the file depends on a variable.
    pub(super) fn uses(&self, name: &str) -> bool {
        let mut names = self.names.iter();
        names.any(|one| &*one.name == name && (one.is_mentioned || one.used_at.is_some()))
    }

    /// The variables in the order of their slots.
    pub(super) fn into_names(self) -> Box<[Box<str>]> {
        self.names.into_iter().map(|name| name.name).collect()
    }
}

pub(super) fn wrong_at(at: usize, what: impl Into<String>) -> Wrong {
    let what = what.into();
    Wrong { at, what }
}

/// Line and column of a place, from 1 on.
pub(super) fn place(text: &str, at: usize) -> (u32, u32) {
    let before = &text[..at.min(text.len())];
    let start = before.rfind('\n').map_or(0, |end| end + 1);
    let line = memchr::memchr_iter(b'\n', before.as_bytes()).count() + 1;
    (line as u32, before[start..].chars().count() as u32 + 1)
}

//! What is wrong with a script: a place in it, and a sentence.

use std::borrow::Cow;
use std::fmt;

use measure::foreign::Foreign;
use mlua::Function;

/// The name under which the prelude's own lines appear.
pub(crate) const PRELUDE: &str = "wrk";

/// LuaJIT's words where it was given no memory (lj_errmsg.h, ERRMEM).
const NO_MEMORY: &str = "not enough memory";

/// A script failed: `FILE:LINE: what happened`, on one line and without control characters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken(String);

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Broken {}

/// Where a script is, as its messages say it.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    path: String,
    /// How much memory its state may have.
    memory_bytes: usize,
}

impl Place {
    /// Of the script in this file, whose state may have so many bytes.
    pub(crate) fn new(path: String, memory_bytes: usize) -> Place {
        Place { path, memory_bytes }
    }

    pub(crate) fn path(&self) -> &str {
        &self.path
    }

    /// The script as a whole is at fault.
    pub(crate) fn broken(&self, what: impl fmt::Display) -> Broken {
        at(&self.path, what)
    }

    /// A function of the script is at fault, where it begins.
    pub(crate) fn broken_in(&self, function: Option<&Function>, what: impl fmt::Display) -> Broken {
        at(&self.of_function(function), what)
    }

    /// Lua raised an error; without a place of its own it's that of `function`.
    pub(crate) fn raised(&self, error: &mlua::Error, function: Option<&Function>) -> Broken {
        let (message, trace) = message_and_trace(error);
        let message = match message.starts_with("table: 0x") {
            true => "raised a table as its error; raise a string".into(),
            false => message,
        };
        match self.split(&message) {
            Some((name, line, rest)) if name != PRELUDE => {
                let place = format!("{}:{line}", self.whole(name));
                at(&place, self.advised(rest))
            }
            split => {
                let text = split.map_or(&message[..], |(_, _, rest)| rest);
                let place = self.in_trace(&trace);
                at(
                    &place.unwrap_or_else(|| self.of_function(function)),
                    self.advised(text),
                )
            }
        }
    }

    /// With what to do about it, where Lua's own words leave the reader alone.
    fn advised<'a>(&self, text: &'a str) -> Cow<'a, str> {
        match text == NO_MEMORY {
            true => Cow::Owned(format!(
                "{NO_MEMORY}: the script may take {} MiB in each thread; look for a table or a \
                 string that only grows",
                self.memory_bytes >> 20
            )),
            false => Cow::Borrowed(text),
        }
    }

    /// The innermost line of a script in a traceback.
    fn in_trace(&self, trace: &str) -> Option<String> {
        let mut lines = trace.lines().filter_map(|line| self.split(line.trim()));
        let (name, line, _) = lines.find(|(name, _, _)| *name != PRELUDE)?;
        Some(format!("{}:{line}", self.whole(name)))
    }

    fn of_function(&self, function: Option<&Function>) -> String {
        let info = function.map(Function::info);
        match info.and_then(|info| Some((info.short_src?, info.line_defined?))) {
            Some((name, line)) if name != PRELUDE => format!("{}:{line}", self.whole(&name)),
            _ => self.path.clone(),
        }
    }

    /// Takes `NAME:LINE: ` off, where the name is that of a file with Lua.
    fn split<'a>(&self, text: &'a str) -> Option<(&'a str, u32, &'a str)> {
        text.match_indices(':').find_map(|(colon, _)| {
            let (line, rest) = text[colon + 1..].split_once(": ")?;
            let line = line.parse().ok()?;
            let name = &text[..colon];
            let known = name == PRELUDE || name.ends_with(".lua") || self.whole(name) == self.path;
            known.then_some((name, line, rest))
        })
    }

    /// LuaJIT keeps the last 60 bytes or so of a longer name, behind dots.
    pub(crate) fn whole<'a>(&'a self, name: &'a str) -> &'a str {
        match name.strip_prefix("...") {
            Some(tail) if self.path.ends_with(tail) => &self.path,
            _ => name,
        }
    }
}

fn at(place: &str, what: impl fmt::Display) -> Broken {
    Broken(Foreign::new(format!("{place}: {what}")).to_string())
}

fn message_and_trace(error: &mlua::Error) -> (String, String) {
    match error {
        mlua::Error::RuntimeError(text)
        | mlua::Error::MemoryError(text)
        | mlua::Error::SyntaxError { message: text, .. } => {
            let (message, trace) = text.split_once("\nstack traceback:").unwrap_or((text, ""));
            (message.into(), trace.into())
        }
        mlua::Error::CallbackError { traceback, cause } => {
            let (message, _) = message_and_trace(cause);
            (message, traceback.clone())
        }
        other => (other.to_string(), String::new()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_taken_off_only_where_it_is_one() {
        let place = Place::new(
            "/a very/long/way/to/the/scripts/of/somebody/load".into(),
            1 << 30,
        );
        for (text, expected) in [
            ("x.lua:3: no", "x.lua:3: no"),
            (
                "...the/scripts/of/somebody/load:4: no",
                &format!("{}:4: no", place.path)[..],
            ),
            (
                "wrk:7: bad argument",
                &format!("{}: bad argument", place.path),
            ),
            (
                "10.0.0.1:80: refused",
                &format!("{}: 10.0.0.1:80: refused", place.path),
            ),
            (
                "no\nstack traceback:\n\t[C]: in 'error'\n\tx.lua:9: in f",
                "x.lua:9: no",
            ),
            (
                "a\u{1b}[31m\nb",
                &format!("{}: a\\u{{1b}}[31m\\nb", place.path),
            ),
            (
                "x.lua:3: not enough memory",
                "x.lua:3: not enough memory: the script may take 1024 MiB in each thread; look for \
                 a table or a string that only grows",
            ),
            (
                "table: 0x12",
                &format!(
                    "{}: raised a table as its error; raise a string",
                    place.path
                ),
            ),
        ] {
            let error = mlua::Error::RuntimeError(text.into());
            assert_eq!(place.raised(&error, None).to_string(), expected, "{text:?}");
        }
    }
}

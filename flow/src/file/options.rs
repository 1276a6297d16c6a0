//! Lines of `[Options]`.

use std::time::Duration;

use measure::foreign::Foreign;

use super::lexemes::Until;
use super::reader::{Reader, Wrong, wrong_at};
use crate::model::{Choice, Setting, Template};
use crate::value::Value;

const SUPPORTED: &str = "delay, location, max-redirs, repeat, retry, retry-interval, skip and \
                         variable are";

impl Reader<'_> {
    /// `NAME: VALUE`.
    pub(super) fn option(&mut self) -> Result<(u32, Choice), Wrong> {
        let (line, start) = (self.line_number(), self.at);
        let name = self.take(|c| c.is_ascii_alphanumeric() || "-.".contains(c));
        self.spaces();
        if !self.eat(":") {
            return Err(self.wrong("a colon belongs here: NAME: VALUE"));
        }
        self.spaces();
        let choice = match name {
            "delay" => Choice::Delay(self.setting(pause)?),
            "location" => Choice::Follow(self.setting(yes_or_no)?),
            "max-redirs" => Choice::RedirectsMax(self.setting(count)?),
            "repeat" => Choice::Repeat(self.setting(count)?),
            "retry" => Choice::Retry(self.setting(count_or_ever)?),
            "retry-interval" => Choice::RetryInterval(self.setting(pause)?),
            "skip" => Choice::Skip(self.setting(yes_or_no)?),
            "variable" => self.definition()?,
            "" => return Err(wrong_at(start, "the name of an option belongs here")),
            other => {
                let other = Foreign::new(other);
                let what = format!("the option {other} isn't supported: {SUPPORTED}");
                return Err(wrong_at(start, what));
            }
        };
        self.end_of_line()?;
        Ok((line, choice))
    }

    fn setting(
        &mut self,
        read: fn(&str) -> Result<Setting, &'static str>,
    ) -> Result<Setting, Wrong> {
        let start = self.at;
        let template = self.template(Until::LineEnd)?;
        match template.constant() {
            Some(text) => read(text).map_err(|what| wrong_at(start, what)),
            None => Ok(Setting::Made(template)),
        }
    }

    /// `variable: NAME=VALUE`.
    fn definition(&mut self) -> Result<Choice, Wrong> {
        let name = self.name()?.to_owned();
        self.spaces();
        if !self.eat("=") {
            return Err(self.wrong("= belongs here: variable: NAME=VALUE"));
        }
        self.spaces();
        let setting = match self.peek() {
            Some('"') => text(self.quoted()?),
            _ => {
                let template = self.template(Until::LineEnd)?;
                match template.constant() {
                    Some(written) => Setting::Is(Value::typed(written)),
                    None => Setting::Made(template),
                }
            }
        };
        Ok(Choice::Variable(self.slot(&name, None)?, setting))
    }
}

/// What is between quotes is a text, whatever it looks like.
fn text(template: Template) -> Setting {
    match template.constant() {
        Some(text) => Setting::Is(Value::text(text)),
        None => Setting::Made(template),
    }
}

/// Reads an option that was made of a template.
pub(crate) fn made(choice: &Choice, written: &str) -> Result<Setting, &'static str> {
    match choice {
        Choice::Delay(_) | Choice::RetryInterval(_) => pause(written),
        Choice::Follow(_) | Choice::Skip(_) => yes_or_no(written),
        Choice::RedirectsMax(_) | Choice::Repeat(_) => count(written),
        Choice::Retry(_) => count_or_ever(written),
        Choice::Variable(..) => Ok(Setting::Is(Value::typed(written))),
    }
}

fn yes_or_no(written: &str) -> Result<Setting, &'static str> {
    match written {
        "true" => Ok(Setting::Is(Value::Bool(true))),
        "false" => Ok(Setting::Is(Value::Bool(false))),
        _ => Err("true or false belongs here"),
    }
}

fn count(written: &str) -> Result<Setting, &'static str> {
    match written.parse::<u32>() {
        Ok(count) => Ok(Setting::Is(Value::Integer(count.into()))),
        Err(_) if written == "-1" => Err(
            "-1, for any number of times, isn't supported here: a run that must end needs a \
                 number",
        ),
        Err(_) => Err("a number belongs here"),
    }
}

fn count_or_ever(written: &str) -> Result<Setting, &'static str> {
    match written {
        "-1" => Ok(Setting::Is(Value::Integer(u32::MAX.into()))),
        _ => count(written),
    }
}

/// A time in milliseconds, or with its unit.
fn pause(written: &str) -> Result<Setting, &'static str> {
    let end = written
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(written.len());
    let (digits, unit) = written.split_at(end);
    let unit_ms = match unit {
        "" | "ms" => 1,
        "s" => 1000,
        "m" => 60_000,
        "h" => 3_600_000,
        _ => return Err("a time belongs here: 500ms, 2s, 1m or 1h"),
    };
    match digits.parse::<u32>() {
        Ok(count) => Ok(Setting::Duration(Duration::from_millis(
            u64::from(count) * unit_ms,
        ))),
        Err(_) => Err("a time belongs here: 500ms, 2s, 1m or 1h"),
    }
}

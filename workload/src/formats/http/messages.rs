//! The messages of a `WEBSOCKET` request, as JetBrains' HTTP Client writes them: `===` stands
//! between two messages, and `=== wait-for-server` for each message of the server that is waited
//! for before what follows. `=== wait 100ms` is ringside's own.

use measure::foreign::Foreign;
use measure::units::parse_duration;
use plan::workload::{ANSWERS_MAX, REST_S_MAX};
use plan::{Flow, Invalid, Turn};

use super::super::Line;
use super::super::draft::{Draft, Labels, Message};
use super::{Reader, comment};

/// What a line says that stands between messages.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Mark {
    /// That is all.
    Next,
    /// A message of the server is waited for.
    Answer,
    /// The connection rests so many seconds.
    Rest(f64),
}

/// Whether a line stands between messages.
pub(super) fn is_mark(line: &[u8]) -> bool {
    behind(line).is_some()
}

/// What follows the sign of such a line.
fn behind(line: &[u8]) -> Option<&[u8]> {
    let rest = line.strip_prefix(b"===")?;
    let is_apart = rest.first().is_none_or(u8::is_ascii_whitespace);
    is_apart.then(|| rest.trim_ascii())
}

impl Mark {
    fn of(text: &str) -> Result<Mark, String> {
        let (word, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
        match (word, rest.trim()) {
            ("", _) => Ok(Mark::Next),
            ("wait-for-server", "") => Ok(Mark::Answer),
            ("wait", "for server" | "for-server") => {
                Err("write `=== wait-for-server`, with hyphens".to_owned())
            }
            ("wait", length) if length.ends_with(|last: char| last.is_ascii_digit()) => {
                Err(format!(
                    "`=== wait {0}` has no unit: write `=== wait {0}ms`",
                    Foreign::new(length)
                ))
            }
            ("wait", length) => match parse_duration(length) {
                Ok(length) if length.as_secs_f64() <= REST_S_MAX => {
                    Ok(Mark::Rest(length.as_secs_f64()))
                }
                Ok(_) => Err("a wait between two messages is a day at most".to_owned()),
                Err(why) => Err(format!(
                    "{}: write `=== wait 100ms`",
                    Foreign::new(why.to_string())
                )),
            },
            _ => Err(format!(
                "`=== {}` says nothing between messages: write `===`, `=== wait-for-server` or \
                 `=== wait 100ms`",
                Foreign::new(text)
            )),
        }
    }
}

/// The messages, as they are put together.
#[derive(Default)]
struct Sequence {
    messages: Vec<Message>,
    flow: Flow,
    /// What the connection rests before the next one.
    rest_s: f64,
    /// A line between messages stands behind the last one.
    is_marked: bool,
}

impl Reader<'_> {
    /// Reads what stands below the head of a `WEBSOCKET` request.
    pub(super) fn messages(&mut self, lines: &[Line<'_>], draft: Draft) -> Result<(), Invalid> {
        if let Some((_, line)) = draft.labels.weight {
            let what = "messages are sent in their order, so none has a weight: remove this line";
            return Err(self.source.mistake(line, what));
        }
        if let Some((_, line)) = draft.labels.expect.first() {
            let what = "write what an answer must be right above the message that it answers";
            return Err(self.source.mistake(*line, what));
        }
        let mut sequence = Sequence::default();
        let mut rest = lines;
        loop {
            let end = rest.iter().position(|line| is_mark(line.bytes));
            self.message(&rest[..end.unwrap_or(rest.len())], &draft, &mut sequence)?;
            let Some(end) = end else {
                break;
            };
            self.mark(rest[end], &mut sequence)?;
            rest = &rest[end + 1..];
        }
        let Sequence {
            messages,
            mut flow,
            rest_s,
            is_marked,
        } = sequence;
        let Some(last) = flow.turns.last_mut() else {
            let what = "this WEBSOCKET request has no message: write one below an empty line";
            return Err(self.source.mistake(draft.line, what));
        };
        if !is_marked {
            last.answers = 1;
        }
        flow.rest_s = rest_s;
        self.collector.add_flow(draft, messages, flow)
    }

    /// Reads a message; there's none where nothing stands.
    fn message(
        &mut self,
        mut lines: &[Line<'_>],
        draft: &Draft,
        sequence: &mut Sequence,
    ) -> Result<(), Invalid> {
        let mut labels = Labels::default();
        while let Some((line, rest)) = lines.split_first() {
            let is_blank = line.bytes.trim_ascii().is_empty();
            // Any other line that looks like a comment may be what is said.
            let is_directive = |text: &[u8]| text.trim_ascii_start().starts_with(b"@");
            if !is_blank && !comment(line.bytes).is_some_and(is_directive) {
                break;
            }
            self.is_comment(*line, &mut labels)?;
            lines = rest;
        }
        if let Some((_, line)) = labels.weight {
            let what = "messages are sent in their order, so none has a weight: remove this line";
            return Err(self.source.mistake(line, what));
        }
        let Some(body) = self.body(lines, draft)? else {
            return labels.check_unused(self.source);
        };
        sequence.messages.push(Message {
            line: lines.first().map_or(draft.line, |line| line.number),
            labels,
            body,
        });
        sequence.flow.turns.push(Turn {
            rest_s: std::mem::take(&mut sequence.rest_s),
            answers: 0,
        });
        sequence.is_marked = false;
        Ok(())
    }

    /// Reads a line between messages.
    fn mark(&mut self, line: Line<'_>, sequence: &mut Sequence) -> Result<(), Invalid> {
        let mistake = |what: &str| Err(self.source.mistake(line.number, what));
        let text = self.source.text(Line {
            bytes: behind(line.bytes).unwrap_or_default(),
            ..line
        })?;
        let mark = match Mark::of(text) {
            Ok(mark) => mark,
            Err(what) => return mistake(&what),
        };
        sequence.is_marked = true;
        match (mark, sequence.flow.turns.last_mut()) {
            (Mark::Next, _) => {}
            (Mark::Rest(seconds), _) => sequence.rest_s += seconds,
            (Mark::Answer, None) => {
                return mistake(
                    "nothing was sent yet that the server could answer: write a message above \
                     `=== wait-for-server`",
                );
            }
            (Mark::Answer, Some(_)) if sequence.rest_s > 0.0 => {
                return mistake(
                    "`=== wait-for-server` stands below `=== wait`: put it right below the message \
                     whose answer it waits for",
                );
            }
            (Mark::Answer, Some(turn)) if turn.answers >= ANSWERS_MAX => {
                return mistake("a message waits for too many messages of the server");
            }
            (Mark::Answer, Some(turn)) => turn.answers += 1,
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;

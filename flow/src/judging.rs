//! Whether an answer is what a file expects of it, and what is kept of it.

use std::borrow::Cow;

use measure::random::Random;

use crate::fault::FaultKind;
use crate::model::{Assert, Body, Capture, Pair, Predicate, Response};
use crate::predicates::{Held, holds};
use crate::reading::Reading;
use crate::render::Renderer;
use crate::scope::{CAPTURED_MAX, Scope, Variables};
use crate::showing;
use crate::value::Value;

/// What placeholders draw on, beside the user's values.
pub(crate) struct On<'a> {
    pub known: &'a Variables,
    /// User and password of the request.
    pub basic: Option<&'a str>,
    pub random: &'a mut Random,
    pub unix_ms: u64,
}

impl On<'_> {
    fn with<'s>(&'s mut self, own: &'s [Option<Value>]) -> Renderer<'s> {
        Renderer {
            scope: Scope {
                known: self.known,
                own,
                basic: self.basic,
            },
            random: self.random,
            unix_ms: self.unix_ms,
        }
    }
}

type Wrong = (u32, FaultKind, String);

/// Status, version, headers and body first, then captures, then asserts, as Hurl has it.
///
/// # Errors
/// The first that isn't as expected: its line and what it is.
pub(crate) fn judge(
    expected: &Response,
    reading: &mut Reading<'_>,
    values: &mut [Option<Value>],
    on: &mut On<'_>,
) -> Result<(), Wrong> {
    let assert = |line: u32, why: String| (line, FaultKind::Assert, why);
    head(expected, reading).map_err(|why| assert(expected.line, why))?;
    for pair in &expected.headers {
        let checked = header(pair, reading, &mut on.with(values));
        checked.map_err(|why| assert(pair.line, why))?;
    }
    let checked = body(&expected.body, reading, &mut on.with(values));
    checked.map_err(|why| assert(expected.body_line, why))?;
    for capture in &expected.captures {
        let captured = captured(capture, reading, &mut on.with(values));
        let captured = captured.map_err(|why| (capture.line, FaultKind::Capture, why))?;
        values[usize::from(capture.slot)] = Some(captured);
    }
    for one in &expected.asserts {
        let checked = asserted(one, reading, &mut on.with(values));
        checked.map_err(|why| assert(one.line, why))?;
    }
    Ok(())
}

fn head(expected: &Response, reading: &Reading<'_>) -> Result<(), String> {
    let (version, status) = (reading.answer.version, reading.answer.status);
    if let Some(wanted) = expected.version.filter(|wanted| *wanted != version) {
        return Err(format!(
            "expected {}, and got {}",
            wanted.name(),
            version.name()
        ));
    }
    match expected.status {
        Some(wanted) if wanted != status => {
            Err(format!("expected the status {wanted}, and got {status}"))
        }
        _ => Ok(()),
    }
}

fn header(pair: &Pair, reading: &Reading<'_>, renderer: &mut Renderer<'_>) -> Result<(), String> {
    let (name, wanted) = (renderer.text(&pair.name)?, renderer.text(&pair.value)?);
    let mut last = None;
    for value in reading.answer.values(&name) {
        if value.trim() == wanted {
            return Ok(());
        }
        last = Some(value);
    }
    let scope = &renderer.scope;
    let shown = showing::field(&name, &wanted, scope);
    Err(match last {
        Some(value) => {
            let value = showing::field(&name, &value, scope);
            format!("expected the header {name} to be {shown}, and it's {value}")
        }
        None => format!("expected the header {name} to be {shown}, and there is none"),
    })
}

fn body(
    expected: &Body,
    reading: &mut Reading<'_>,
    renderer: &mut Renderer<'_>,
) -> Result<(), String> {
    if !matches!(expected, Body::None) {
        reading.whole()?;
    }
    let (wanted, came) = match expected {
        Body::Text(template) => {
            let wanted = renderer.text(template)?;
            let came = reading.text()?;
            if wanted == came {
                return Ok(());
            }
            (Value::text(&*wanted), Value::text(came))
        }
        Body::Bytes(bytes) if **bytes != *reading.answer.body => (
            Value::Bytes(bytes.clone()),
            Value::Bytes(reading.answer.body.into()),
        ),
        _ => return Ok(()),
    };
    // An answer may hold what nobody is to read.
    let (wanted, came) = (renderer.scope.shown(&wanted), showing::size(&came));
    Err(format!("expected the body {wanted}, and got {came}"))
}

fn captured<'v>(
    capture: &Capture,
    reading: &'v mut Reading<'_>,
    renderer: &mut Renderer<'v>,
) -> Result<Value, String> {
    let text = &capture.found.text;
    match reading.found(&capture.found, renderer) {
        Ok(Some(value)) if value.held() > CAPTURED_MAX => {
            let held = value.held();
            Err(format!(
                "{text} found {held} bytes: at most {CAPTURED_MAX} can be captured"
            ))
        }
        Ok(Some(value)) => Ok(value.into_owned()),
        Ok(None) => Err(format!("{text} found nothing to capture")),
        Err(why) => Err(format!("{text}: {why}")),
    }
}

fn asserted<'v>(
    one: &Assert,
    reading: &'v mut Reading<'_>,
    renderer: &mut Renderer<'v>,
) -> Result<(), String> {
    let text = &one.found.text;
    let found = reading.found(&one.found, renderer);
    let value = found.map_err(|why| format!("{text}: {why}"))?;
    let pattern;
    let expected;
    let held = match &one.predicate {
        Predicate::Equal(is)
        | Predicate::NotEqual(is)
        | Predicate::Ordered(_, is)
        | Predicate::StartsWith(is)
        | Predicate::EndsWith(is)
        | Predicate::Contains(is)
        | Predicate::Includes(is) => {
            expected = renderer.expected(is)?;
            Held::Value(&expected)
        }
        Predicate::Matches(regex) => {
            pattern = renderer.regex(regex)?;
            Held::Pattern(&pattern)
        }
        Predicate::Exists | Predicate::IsEmpty | Predicate::Is(_) => Held::Nothing,
    };
    if holds(&one.predicate, value.as_deref(), &held) == Some(!one.is_not) {
        return Ok(());
    }
    let is_secret = showing::is_secret(&one.found, renderer);
    let scope = &renderer.scope;
    let wanted = match held {
        Held::Value(value) => Cow::Owned(showing::shown(value, is_secret, scope)),
        Held::Pattern(regex) => {
            let pattern = Value::text(regex.as_str());
            Cow::Owned(showing::shown(&pattern, is_secret, scope))
        }
        Held::Nothing => Cow::Borrowed(""),
    };
    let wanted = words(&one.predicate, one.is_not, &wanted);
    let came = match &value {
        Some(value) => showing::came(&one.found, value, is_secret, scope),
        None => "nothing".to_owned(),
    };
    Err(format!("{text}: expected {wanted}, and got {came}"))
}

/// What a predicate asks for.
fn words(predicate: &Predicate, is_not: bool, wanted: &str) -> String {
    let not = if is_not { "not " } else { "" };
    match predicate {
        Predicate::Equal(_) => format!("{not}{wanted}"),
        Predicate::NotEqual(_) if is_not => wanted.to_owned(),
        Predicate::NotEqual(_) => format!("anything but {wanted}"),
        Predicate::Ordered(right, _) => {
            let order = match right {
                [std::cmp::Ordering::Greater] => ">",
                [std::cmp::Ordering::Less] => "<",
                [std::cmp::Ordering::Greater, _] => ">=",
                _ => "<=",
            };
            format!("{not}{order} {wanted}")
        }
        Predicate::StartsWith(_) => format!("{not}to start with {wanted}"),
        Predicate::EndsWith(_) => format!("{not}to end with {wanted}"),
        Predicate::Contains(_) => format!("{not}to contain {wanted}"),
        Predicate::Includes(_) => format!("{not}to include {wanted}"),
        Predicate::Matches(_) => format!("{not}to match {wanted}"),
        Predicate::Exists if is_not => "nothing".to_owned(),
        Predicate::Exists => "something".to_owned(),
        Predicate::IsEmpty => format!("{not}to be empty"),
        Predicate::Is(kind) => format!("{not}{}", kind.name()),
    }
}

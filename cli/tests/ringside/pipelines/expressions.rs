//! The part of GitHub's expressions that the action is written in: names in contexts, texts,
//! `==`, `!=`, `&&`, `||`, `format('…', …)`. Whatever else stands there is refused, and so is a
//! name that leads nowhere, which GitHub would take for an empty text.

use std::iter::Peekable;
use std::vec::IntoIter;

use serde_json::Value;

/// A text with each `${{ … }}` replaced by what it means.
pub(super) fn filled(text: &str, contexts: &Value) -> String {
    let mut pieces = text.split("${{");
    let first = pieces.next().unwrap_or_default().to_owned();
    pieces.fold(first, |made, piece| {
        let (expression, rest) = piece.split_once("}}").expect("an expression ends");
        made + &shown(&evaluated(expression, contexts)) + rest
    })
}

/// Whether a condition holds.
pub(super) fn holds(condition: &str, contexts: &Value) -> bool {
    is_true(&evaluated(condition, contexts))
}

#[derive(Clone, Debug, PartialEq)]
enum Token {
    Text(String),
    Name(String),
    Sign(&'static str),
}

const SIGNS: [&str; 7] = ["==", "!=", "&&", "||", "(", ")", ","];

fn tokens(expression: &str) -> Vec<Token> {
    let (mut found, mut rest) = (Vec::new(), expression.trim());
    while !rest.is_empty() {
        if let Some(sign) = SIGNS.iter().find(|sign| rest.starts_with(**sign)) {
            found.push(Token::Sign(sign));
            rest = &rest[sign.len()..];
        } else if let Some(text) = rest.strip_prefix('\'') {
            let (text, after) = text.split_once('\'').expect("a text ends");
            found.push(Token::Text(text.to_owned()));
            rest = after;
        } else {
            let of_name = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
            let end = rest.find(|c| !of_name(c)).unwrap_or(rest.len());
            assert!(end > 0, "what is {rest:?} in {expression:?}?");
            found.push(Token::Name(rest[..end].to_owned()));
            rest = &rest[end..];
        }
        rest = rest.trim_start();
    }
    found
}

type Tokens = Peekable<IntoIter<Token>>;

fn evaluated(expression: &str, contexts: &Value) -> Value {
    let mut rest = tokens(expression).into_iter().peekable();
    let value = either(&mut rest, contexts);
    assert_eq!(rest.next(), None, "{expression}");
    value
}

/// `a || b`: the first that is true, or the last.
fn either(rest: &mut Tokens, contexts: &Value) -> Value {
    let mut value = both(rest, contexts);
    while rest.next_if_eq(&Token::Sign("||")).is_some() {
        let other = both(rest, contexts);
        value = if is_true(&value) { value } else { other };
    }
    value
}

/// `a && b`: the first that isn't true, or the last.
fn both(rest: &mut Tokens, contexts: &Value) -> Value {
    let mut value = compared(rest, contexts);
    while rest.next_if_eq(&Token::Sign("&&")).is_some() {
        let other = compared(rest, contexts);
        value = if is_true(&value) { other } else { value };
    }
    value
}

fn compared(rest: &mut Tokens, contexts: &Value) -> Value {
    let value = operand(rest, contexts);
    for (sign, wanted) in [("==", true), ("!=", false)] {
        if rest.next_if_eq(&Token::Sign(sign)).is_some() {
            let other = operand(rest, contexts);
            return Value::from((shown(&value) == shown(&other)) == wanted);
        }
    }
    value
}

fn operand(rest: &mut Tokens, contexts: &Value) -> Value {
    match rest.next().expect("an operand") {
        Token::Text(text) => Value::from(text),
        Token::Name(name) if name == "format" => formatted(rest, contexts),
        Token::Name(name) => {
            let at = |value: Option<&Value>, part: &str| value.and_then(|it| it.get(part)).cloned();
            let mut parts = name.split('.');
            let first = at(Some(contexts), parts.next().unwrap_or_default());
            let found = parts.fold(first, |value, part| at(value.as_ref(), part));
            found.unwrap_or_else(|| panic!("{name} leads nowhere"))
        }
        sign => panic!("{sign:?} is no operand"),
    }
}

/// `format('{0} and {1}', a, b)`.
fn formatted(rest: &mut Tokens, contexts: &Value) -> Value {
    let mut values = Vec::new();
    assert_eq!(rest.next(), Some(Token::Sign("(")));
    while rest.next_if_eq(&Token::Sign(")")).is_none() {
        values.push(shown(&either(rest, contexts)));
        rest.next_if_eq(&Token::Sign(","));
    }
    let mut made = values.remove(0);
    for (nth, value) in values.iter().enumerate() {
        made = made.replace(&format!("{{{nth}}}"), value);
    }
    Value::from(made)
}

fn is_true(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => false,
        Value::String(text) => !text.is_empty(),
        Value::Number(number) => number.as_f64() != Some(0.0),
        _ => true,
    }
}

fn shown(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

#[test]
fn expressions_mean_what_they_mean_at_github() {
    let contexts = serde_json::json!({"inputs": {"a": "", "b": "x"}, "event": {"number": 7}});
    for (text, meaning) in [
        ("${{ inputs.b }}-${{event.number}}", "x-7"),
        ("${{ inputs.a || inputs.b }}", "x"),
        ("${{ inputs.b && inputs.a }}", ""),
        ("${{ inputs.a == '' && event.number }}", "7"),
        ("${{ inputs.a || format('{0}/y', inputs.b) }}", "x/y"),
        ("${{ inputs.b != 'x' }}", "false"),
    ] {
        assert_eq!(filled(text, &contexts), meaning, "{text}");
    }
    assert!(!holds("inputs.a", &contexts) && holds("inputs.b == 'x'", &contexts));
}

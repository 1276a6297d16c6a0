//! What answers must be, as rules: `status=2xx`, `header:content-type~json`, `body~welcome`,
//! `json:$.ok=true`.
//!
//! A plan holds the text of each rule, so that a record of it can be read whatever is hidden in
//! it. [`Expect::rule`] says what the text means.

mod secrets;

use std::fmt;
use std::ops::{Range, RangeInclusive};
use std::str::FromStr;

use measure::foreign::Foreign;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json_path::JsonPath;

use crate::invalid::Invalid;
use crate::redaction::Redaction;
use secrets::Parts;

/// The most rules for all requests, and for one step.
pub const RULES_MAX: usize = 32;

const FORMS: &str = "write status=2xx, header:NAME, header:NAME=VALUE, header:NAME~PART, \
                     body=TEXT, body~PART, json:PATH, json:PATH=VALUE or json:PATH~PART";

/// A rule that answers must meet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Expect(String);

/// A value in a rule.
struct Value<'a> {
    /// What it's held against is one of these.
    names: Vec<&'a str>,
    /// Where it stands.
    text: Range<usize>,
    /// What has to stand around another in its place.
    quote: &'static str,
}

/// What a rule says.
#[derive(Clone, Debug, PartialEq)]
pub enum Rule {
    /// The status is one of these (RFC 9110 §15), of which none is below 200.
    Status(Vec<RangeInclusive<u16>>),
    /// A header of the response, not of its trailers.
    Header {
        /// Its name, in lower case.
        name: String,
        /// What one of the values of that name is, without the white space around it.
        is: Is,
    },
    /// The whole body, with no content coding taken off; never [`Is::There`].
    Body(Is),
    /// The body as JSON.
    Json {
        /// Where in it (RFC 9535).
        path: JsonPath,
        /// What one of the values there is.
        is: Is,
    },
}

/// What is expected of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Is {
    /// That there is one.
    There,
    /// That it is this one.
    Exactly(String),
    /// That this is a part of it; never empty.
    With(String),
}

impl FromStr for Expect {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Expect, Invalid> {
        Rule::of(text)?;
        Ok(Expect(text.to_owned()))
    }
}

impl fmt::Display for Expect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Expect {
    /// What it says.
    ///
    /// # Errors
    /// It is no rule, which only one that was read out of a record can be.
    pub fn rule(&self) -> Result<Rule, Invalid> {
        Rule::of(&self.0)
    }

    /// It without its secrets.
    pub fn shown(&self, redaction: &Redaction) -> Expect {
        let (mut shown, mut at) = (String::new(), 0);
        for value in self.values() {
            let Value { text, quote, .. } = value;
            let Some(name) = value.names.iter().find(|name| redaction.is_secret(name)) else {
                continue;
            };
            if !text.is_empty() {
                let hidden = redaction.value(name, &self.0[text.clone()]);
                shown.push_str(&self.0[at..text.start]);
                shown.extend([quote, &hidden, quote]);
                at = text.end;
            }
        }
        if at == 0 {
            let whole = redaction.scrub(&self.0);
            return Expect(redaction.word(&whole).into_owned());
        }
        shown.push_str(&self.0[at..]);
        Expect(shown)
    }

    /// Has `redaction` know the secrets that it holds.
    pub fn tell_secrets(&self, redaction: &Redaction) {
        for Value { names, text, .. } in self.values() {
            let text = &self.0[text];
            redaction.learn(names.into_iter().map(|name| (name, text)), "");
        }
    }

    /// The values in it, in their order.
    fn values(&self) -> Vec<Value<'_>> {
        let text = &self.0;
        let Some((kind @ ("header" | "json"), rest)) = text.split_once(':') else {
            return Vec::new();
        };
        let start = kind.len() + 1;
        let end = operator(rest).unwrap_or(rest.len());
        let what = &rest[..end];
        let parts = match kind {
            "header" => Parts::header(what),
            _ => Parts::of(what),
        };
        let literals = parts.literals.iter().map(|at| Value {
            // Which of them it is held against is the path's affair.
            names: parts.filtered.clone(),
            text: start + at.start..start + at.end,
            quote: match what[..at.start].ends_with(['\'', '"']) {
                true => "",
                false => "'",
            },
        });
        let expected = (end < rest.len()).then(|| Value {
            names: vec![parts.name],
            text: start + end + 1..text.len(),
            quote: "",
        });
        literals.chain(expected).collect()
    }
}

impl Rule {
    fn of(text: &str) -> Result<Rule, Invalid> {
        if let Some(list) = text.strip_prefix("status=") {
            return statuses(list).map(Rule::Status);
        }
        if let Some(rest) = text.strip_prefix("header:") {
            let (name, is) = split(rest, text)?;
            if !is_token(name) {
                let name = Foreign::new(name);
                return Err(Invalid(format!(
                    "{name:?} isn't the name of a header: {FORMS}"
                )));
            }
            let name = name.to_ascii_lowercase();
            return Ok(Rule::Header { name, is });
        }
        if let Some(rest) = text.strip_prefix("json:") {
            let (path, is) = split(rest, text)?;
            if matches!(&is, Is::Exactly(value) if value.starts_with('=')) {
                return Err(Invalid(
                    "write one = between path and value, not two".into(),
                ));
            }
            let path = JsonPath::parse(path).map_err(|why| {
                let path = Foreign::new(path);
                Invalid(format!(
                    "{path:?} isn't a JSONPath ({why}): write one such as $.items[0].id"
                ))
            })?;
            return Ok(Rule::Json { path, is });
        }
        match text.strip_prefix("body") {
            Some(rest) if rest.starts_with(['=', '~']) => {
                split(rest, text).map(|(_, is)| Rule::Body(is))
            }
            _ => Err(Invalid(format!("this isn't a rule: {FORMS}"))),
        }
    }

    /// The name of the header or JSON member that it looks at, in which a secret may be.
    pub fn name(&self) -> Option<String> {
        match self {
            Rule::Header { name, .. } => Some(name.clone()),
            Rule::Json { path, .. } => Some(Parts::of(&path.to_string()).name.to_owned()),
            Rule::Status(_) | Rule::Body(_) => None,
        }
    }
}

/// Checks rules that apply together; `place` is where they stand, for messages.
pub(crate) fn validate(rules: &[Expect], place: &str) -> Result<(), Invalid> {
    if rules.len() > RULES_MAX {
        return Err(Invalid(format!(
            "{place}{} expectations are too many: use at most {RULES_MAX}",
            rules.len()
        )));
    }
    let mut statuses = 0;
    for expect in rules {
        let rule = expect.rule();
        let rule = rule.map_err(|Invalid(what)| Invalid(format!("{place}{what}")))?;
        statuses += usize::from(matches!(rule, Rule::Status(_)));
    }
    if statuses > 1 {
        return Err(Invalid(format!(
            "{place}the status is expected twice, and an answer has one: write them together, such \
             as status=200,304"
        )));
    }
    Ok(())
}

/// `200`, `2xx`, or several of them.
fn statuses(list: &str) -> Result<Vec<RangeInclusive<u16>>, Invalid> {
    list.split(',').map(|one| status(one.trim())).collect()
}

fn status(text: &str) -> Result<RangeInclusive<u16>, Invalid> {
    let wrong = || {
        Invalid(format!(
            "{:?} isn't a status that ends an exchange: write 200 to 599, 2xx to 5xx, or several \
             with commas, such as status=200,304",
            Foreign::new(text)
        ))
    };
    let class = text.strip_suffix("xx").or_else(|| text.strip_suffix("XX"));
    let digits = class.unwrap_or(text);
    let has_digits = digits.bytes().all(|byte| byte.is_ascii_digit());
    let number: u16 = digits
        .parse()
        .ok()
        .filter(|_| has_digits)
        .ok_or_else(wrong)?;
    match (class, number) {
        (Some(_), 2..=5) => Ok(number * 100..=number * 100 + 99),
        (None, 200..=599) => Ok(number..=number),
        _ => Err(wrong()),
    }
}

/// What stands before the operator of a rule, and what is expected of that.
fn split<'t>(rest: &'t str, whole: &str) -> Result<(&'t str, Is), Invalid> {
    let Some(at) = operator(rest) else {
        return Ok((rest, Is::There));
    };
    let (name, value) = (&rest[..at], rest[at + 1..].to_owned());
    if rest.as_bytes()[at] == b'=' {
        return Ok((name, Is::Exactly(value)));
    }
    if value.is_empty() {
        let head = &whole[..whole.len() - 1];
        return Err(Invalid(format!(
            "{}~ has nothing behind it, which every text has in it: write what is to be there",
            Foreign::new(head)
        )));
    }
    Ok((name, Is::With(value)))
}

/// Where the first `=` or `~` is that stands in no bracket.
fn operator(text: &str) -> Option<usize> {
    let (mut depth, mut quote, mut is_escaped) = (0_usize, None, false);
    for (at, c) in text.char_indices() {
        match (quote, c) {
            (Some(_), _) if is_escaped => is_escaped = false,
            (Some(_), '\\') => is_escaped = true,
            (Some(open), c) if c == open => quote = None,
            (Some(_), _) => {}
            (None, '\'' | '"') if depth > 0 => quote = Some(c),
            (None, '[') => depth += 1,
            (None, ']') => depth = depth.saturating_sub(1),
            (None, '=' | '~') if depth == 0 => return Some(at),
            (None, _) => {}
        }
    }
    None
}

/// Whether a text is a token (RFC 9110 §5.6.2), as methods and the names of headers are.
pub fn is_token(text: &str) -> bool {
    let is_of_it = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !text.is_empty() && text.bytes().all(is_of_it)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(text: &str) -> Rule {
        text.parse::<Expect>().unwrap().rule().unwrap()
    }

    #[test]
    fn rules_are_read() {
        assert_eq!(rule("status=2xx"), Rule::Status(vec![200..=299]));
        let several = Rule::Status(vec![200..=200, 304..=304, 500..=599]);
        assert_eq!(rule("status=200, 304,5XX"), several);
        let header = |name: &str, is: Is| Rule::Header {
            name: name.to_owned(),
            is,
        };
        let exactly = |text: &str| Is::Exactly(text.to_owned());
        let with = |text: &str| Is::With(text.to_owned());
        assert_eq!(rule("header:ETag"), header("etag", Is::There));
        assert_eq!(rule("header:a="), header("a", exactly("")));
        assert_eq!(rule("header:A=b~c=d"), header("a", exactly("b~c=d")));
        let json = header("content-type", with("json"));
        assert_eq!(rule("header:content-type~json"), json);
        assert_eq!(rule("body="), Rule::Body(exactly("")));
        assert_eq!(rule("body=a~b"), Rule::Body(exactly("a~b")));
        assert_eq!(rule("body~=x"), Rule::Body(with("=x")));
        for (text, path, is) in [
            ("json:$", "$", Is::There),
            ("json:$.a[0].b=1", "$.a[0].b", exactly("1")),
            ("json:$.a~b=c", "$.a", with("b=c")),
            (
                "json:$[?@.a == 'x]=~']=y",
                "$[?@.a == 'x]=~']",
                exactly("y"),
            ),
            ("json:$['a=b']~c", "$['a=b']", with("c")),
        ] {
            let path = JsonPath::parse(path).unwrap();
            assert_eq!(rule(text), Rule::Json { path, is }, "{text}");
        }
    }

    #[test]
    fn what_is_no_rule_says_how_to_write_one() {
        let table = [
            ("", "this isn't a rule: write status=2xx,"),
            ("200", "this isn't a rule"),
            ("body", "this isn't a rule"),
            ("Status=200", "this isn't a rule"),
            ("status=", "\"\" isn't a status"),
            ("status=200,", "\"\" isn't a status"),
            ("status=1xx", "\"1xx\" isn't a status that ends an exchange"),
            ("status=600", "\"600\" isn't a status"),
            ("status=+200", "\"+200\" isn't a status"),
            ("status=xx", "\"xx\" isn't a status"),
            ("status=200-299", "write 200 to 599, 2xx to 5xx, or several"),
            ("header:", "\"\" isn't the name of a header"),
            ("header:a b=c", "\"a b\" isn't the name of a header"),
            ("header:a~", "header:a~ has nothing behind it"),
            ("body~", "body~ has nothing behind it"),
            ("json:", "\"\" isn't a JSONPath"),
            ("json:a.b=1", "\"a.b\" isn't a JSONPath"),
            ("json:$.a==1", "write one = between path and value"),
            ("json:$.a~", "json:$.a~ has nothing behind it"),
        ];
        for (text, part) in table {
            let Invalid(why) = text.parse::<Expect>().unwrap_err();
            assert!(why.contains(part), "{text}: {why}");
        }
    }

    #[test]
    fn rules_that_apply_together_are_held_against_each_other() {
        let all = |rules: &[&str]| -> Vec<Expect> {
            rules.iter().map(|rule| rule.parse().unwrap()).collect()
        };
        assert_eq!(validate(&all(&["status=200", "body~a"]), ""), Ok(()));
        let Invalid(why) = validate(&all(&["status=200", "status=304"]), "a:1: ").unwrap_err();
        assert!(
            why.starts_with("a:1: the status is expected twice"),
            "{why}"
        );
        let many = vec!["body~a"; RULES_MAX + 1];
        let Invalid(why) = validate(&all(&many), "").unwrap_err();
        assert!(why.contains("too many"), "{why}");
        let strange = Expect("nothing".to_owned());
        assert!(validate(&[strange], "").is_err());
    }

    #[test]
    fn a_shown_rule_has_no_secret() {
        let redaction = Redaction::default().naming(["x-mine"]);
        for text in [
            "header:set-cookie~canary",
            "header:X-Mine=canary",
            "json:$.user.access_token=canary",
            "json:$['password']=canary",
            "json:$[?@.api_key == 'canary'].id=7",
            "json:$[?'x'==@.a || @.token==\"canary\"]",
            "json:$[?@.password=='canary' && @.token=='canary'].token=canary",
            "body={\"token\":\"canary\"}",
        ] {
            let shown = text.parse::<Expect>().unwrap().shown(&redaction);
            assert!(!shown.to_string().contains("canary"), "{shown}");
            assert_eq!(shown.shown(&redaction), shown);
            shown.rule().unwrap();
        }
        let pin = "json:$[?@.token > 4711].id".parse::<Expect>().unwrap();
        let shown = pin.shown(&redaction).to_string();
        assert!(shown.starts_with("json:$[?@.token > 'redacted:"), "{shown}");
        assert!(shown.ends_with("'].id"), "{shown}");
        for text in [
            "status=200",
            "header:etag",
            "json:$.name=bob",
            "json:$[?@.name == 'bob'].id=7",
            "body~hello",
        ] {
            let expect: Expect = text.parse().unwrap();
            assert_eq!(expect.shown(&redaction), expect);
        }
    }
}

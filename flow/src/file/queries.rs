//! Lines of `[Captures]` and `[Asserts]`.

use std::cmp::Ordering;

use measure::foreign::Foreign;

use super::lexemes::XPATH;
use super::reader::{Reader, Wrong, wrong_at};
use crate::model::{Assert, Attribute, Capture, Expected, Found, Kind, Predicate, Query, Template};

const PREDICATES: &str = "a predicate belongs here: ==, !=, >, >=, <, <=, startsWith, endsWith, \
                          contains, includes, matches, exists, isEmpty, isString, …, or not \
                          before one";

const QUERIES: [&str; 12] = [
    "status", "version", "url", "header", "cookie", "body", "bytes", "jsonpath", "regex",
    "variable", "duration", "sha256",
];
/// From this likeness on (Jaro and Winkler) a query is what was meant.
const QUERY_LIKENESS_MIN: f64 = 0.85;

impl Reader<'_> {
    /// `NAME: QUERY FILTERS`, with `redact` behind it where values are secrets.
    pub(super) fn capture(&mut self) -> Result<Capture, Wrong> {
        let line = self.line_number();
        let name = self.name()?.to_owned();
        self.spaces();
        if !self.eat(":") {
            return Err(self.wrong("a colon belongs here: NAME: QUERY"));
        }
        self.spaces();
        let found = self.found()?;
        let start = self.at;
        self.spaces();
        let is_secret = self.eat("redact");
        if !is_secret {
            self.at = start;
        }
        self.end_of_line()?;
        let slot = self.slot(&name, None)?;
        Ok(Capture {
            line,
            slot,
            is_secret,
            found,
        })
    }

    /// `QUERY FILTERS not PREDICATE`.
    pub(super) fn assert(&mut self) -> Result<Assert, Wrong> {
        let line = self.line_number();
        let found = self.found()?;
        self.spaces();
        let start = self.at;
        let is_not = self.eat("not") && self.spaces();
        if !is_not {
            self.at = start;
        }
        let predicate = self.predicate()?;
        self.end_of_line()?;
        Ok(Assert {
            line,
            found,
            is_not,
            predicate,
        })
    }

    fn found(&mut self) -> Result<Found, Wrong> {
        let start = self.at;
        let query = self.query()?;
        let filters = self.filters()?;
        let text = self.text[start..self.at].trim_end().into();
        Ok(Found {
            text,
            query,
            filters,
        })
    }

    fn query(&mut self) -> Result<Query, Wrong> {
        let start = self.at;
        let word = self.take(|c| c.is_ascii_alphanumeric());
        Ok(match word {
            "status" => Query::Status,
            "version" => Query::Version,
            "url" => Query::Url,
            "header" => Query::Header(self.after_space(Reader::quoted)?),
            "cookie" => self.after_space(Reader::cookie)?,
            "body" => Query::Body,
            "bytes" => Query::Bytes,
            "jsonpath" => Query::JsonPath(self.after_space(Reader::path)?),
            "regex" => Query::Regex(self.after_space(Reader::pattern)?),
            "variable" => self.after_space(Reader::variable)?,
            "duration" => Query::Duration,
            "sha256" => Query::Sha256,
            "xpath" => return Err(wrong_at(start, XPATH)),
            "md5" => return Err(wrong_at(start, "md5 isn't supported: use sha256")),
            "certificate" | "ip" | "redirects" | "rawbytes" => {
                return Err(wrong_at(start, format!("the query {word} isn't supported")));
            }
            other => {
                let near = |query: &&&str| strsim::jaro_winkler(query, other) >= QUERY_LIKENESS_MIN;
                let what = match QUERIES.iter().find(near) {
                    Some(query) => {
                        let other = Foreign::new(other);
                        format!("the query {other} isn't known: did you mean {query}?")
                    }
                    None => format!("a query belongs here: one of {}", QUERIES.join(", ")),
                };
                return Err(wrong_at(start, what));
            }
        })
    }

    fn variable(&mut self) -> Result<Query, Wrong> {
        let start = self.at;
        match self.quoted()?.constant() {
            // It may be there or not: whether it is can be asked.
            Some(name) => Ok(Query::Variable(self.mentioned(name)?)),
            None => Err(wrong_at(
                start,
                "a variable is named without placeholders here",
            )),
        }
    }

    /// `"NAME"` or `"NAME[ATTRIBUTE]"`.
    fn cookie(&mut self) -> Result<Query, Wrong> {
        let start = self.at;
        let template = self.quoted()?;
        let Some(text) = template.constant() else {
            return Ok(Query::Cookie(template, Attribute::Value));
        };
        let named = text.strip_suffix(']').and_then(|text| text.split_once('['));
        let Some((name, attribute)) = named else {
            return Ok(Query::Cookie(template, Attribute::Value));
        };
        let attribute = match &*attribute.to_ascii_lowercase() {
            "value" => Attribute::Value,
            "expires" => Attribute::Expires,
            "max-age" => Attribute::MaxAge,
            "domain" => Attribute::Domain,
            "path" => Attribute::Path,
            "secure" => Attribute::Secure,
            "httponly" => Attribute::HttpOnly,
            "samesite" => Attribute::SameSite,
            _ => {
                let what = format!("cookies have no {}", Foreign::new(attribute));
                return Err(wrong_at(start, what));
            }
        };
        Ok(Query::Cookie(Template::of(name), attribute))
    }

    fn predicate(&mut self) -> Result<Predicate, Wrong> {
        const LESS: Ordering = Ordering::Less;
        const EQUAL: Ordering = Ordering::Equal;
        const GREATER: Ordering = Ordering::Greater;
        let start = self.at;
        let word = self.take(|c| c.is_ascii_alphanumeric() || "=!<>".contains(c));
        let kind = match word {
            "==" | "equals" => return self.held(Predicate::Equal),
            "!=" | "notEquals" => return self.held(Predicate::NotEqual),
            ">" | "greaterThan" => return self.held(|is| Predicate::Ordered(&[GREATER], is)),
            ">=" | "greaterThanOrEquals" => {
                return self.held(|is| Predicate::Ordered(&[GREATER, EQUAL], is));
            }
            "<" | "lessThan" => return self.held(|is| Predicate::Ordered(&[LESS], is)),
            "<=" | "lessThanOrEquals" => {
                return self.held(|is| Predicate::Ordered(&[LESS, EQUAL], is));
            }
            "startsWith" => return self.held(Predicate::StartsWith),
            "endsWith" => return self.held(Predicate::EndsWith),
            "contains" => return self.held(Predicate::Contains),
            "includes" => return self.held(Predicate::Includes),
            "matches" => return Ok(Predicate::Matches(self.after_space(Reader::pattern)?)),
            "exists" => return Ok(Predicate::Exists),
            "isEmpty" => return Ok(Predicate::IsEmpty),
            "isBoolean" => Kind::Boolean,
            "isNumber" => Kind::Number,
            "isInteger" => Kind::Integer,
            "isFloat" => Kind::Float,
            "isString" => Kind::String,
            "isCollection" => Kind::Collection,
            "isList" => Kind::List,
            "isObject" => Kind::Object,
            "isIsoDate" => Kind::IsoDate,
            "isIpv4" => Kind::Ipv4,
            "isIpv6" => Kind::Ipv6,
            "isUuid" => Kind::Uuid,
            "isDate" => {
                let what = "the predicate isDate isn't supported: isIsoDate is, of texts";
                return Err(wrong_at(start, what));
            }
            _ => return Err(wrong_at(start, PREDICATES)),
        };
        Ok(Predicate::Is(kind))
    }

    fn held(&mut self, made: impl Fn(Expected) -> Predicate) -> Result<Predicate, Wrong> {
        self.after_space(Reader::expected).map(made)
    }
}

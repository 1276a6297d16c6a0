//! What a file says, read and checked: entries, templates, queries, filters, predicates.

use std::cmp::Ordering;
use std::time::Duration;

use regex::Regex;
use serde_json_path::JsonPath;

use crate::value::Value;

/// Which variable: its place in every user's row.
pub(crate) type Slot = u16;

/// One request, and what is expected of its answer.
#[derive(Debug)]
pub(crate) struct Entry {
    /// The line of its method.
    pub line: u32,
    pub method: Box<str>,
    pub url: Template,
    pub headers: Box<[Pair]>,
    pub query: Box<[Pair]>,
    pub cookies: Box<[Pair]>,
    pub basic: Option<Pair>,
    pub body: Body,
    /// Of the body, where the file gives none itself.
    pub content_type: Option<&'static str>,
    pub options: Box<[(u32, Choice)]>,
    pub expected: Option<Response>,
}

/// A name with its value.
#[derive(Debug)]
pub(crate) struct Pair {
    pub line: u32,
    pub name: Template,
    pub value: Template,
}

/// What is sent, or expected, behind the head.
#[derive(Debug, Default)]
pub(crate) enum Body {
    #[default]
    None,
    Text(Template),
    Bytes(Box<[u8]>),
    Form(Box<[Pair]>),
    Multipart(Box<[Part]>),
}

/// One part of a body of several.
#[derive(Debug)]
pub(crate) enum Part {
    Value(Pair),
    File {
        name: Template,
        file: Box<str>,
        content_type: Box<str>,
        bytes: Box<[u8]>,
    },
}

/// One of `[Options]`, as far as it isn't decided when the file is read.
#[derive(Debug)]
pub(crate) enum Choice {
    Delay(Setting),
    Follow(Setting),
    RedirectsMax(Setting),
    Repeat(Setting),
    Retry(Setting),
    RetryInterval(Setting),
    Skip(Setting),
    Variable(Slot, Setting),
}

/// What an option is set to.
#[derive(Debug)]
pub(crate) enum Setting {
    Is(Value),
    Duration(Duration),
    Made(Template),
}

/// What is expected of an answer, and what is kept of it.
#[derive(Debug)]
pub(crate) struct Response {
    pub line: u32,
    pub version: Option<Version>,
    pub status: Option<u16>,
    pub headers: Box<[Pair]>,
    pub captures: Box<[Capture]>,
    pub asserts: Box<[Assert]>,
    pub body: Body,
    pub body_line: u32,
}

/// The version of HTTP that an answer came with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// HTTP/1.0.
    Http10,
    /// HTTP/1.1.
    Http11,
    /// HTTP/2.
    Http2,
}

impl Version {
    /// As files write it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Version::Http10 => "HTTP/1.0",
            Version::Http11 => "HTTP/1.1",
            Version::Http2 => "HTTP/2",
        }
    }
}

#[derive(Debug)]
pub(crate) struct Capture {
    pub line: u32,
    pub slot: Slot,
    /// Its values are secrets.
    pub is_secret: bool,
    pub found: Found,
}

#[derive(Debug)]
pub(crate) struct Assert {
    pub line: u32,
    pub found: Found,
    pub is_not: bool,
    pub predicate: Predicate,
}

/// A query with its filters.
#[derive(Debug)]
pub(crate) struct Found {
    /// As the file has it.
    pub text: Box<str>,
    pub query: Query,
    pub filters: Box<[Filter]>,
}

#[derive(Debug)]
pub(crate) enum Query {
    Status,
    Version,
    Url,
    Header(Template),
    Cookie(Template, Attribute),
    Body,
    Bytes,
    JsonPath(Path),
    Regex(Pattern),
    Variable(Slot),
    Duration,
    Sha256,
}

/// What of a cookie that an answer sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Attribute {
    Value,
    Expires,
    MaxAge,
    Domain,
    Path,
    Secure,
    HttpOnly,
    SameSite,
}

#[derive(Debug)]
pub(crate) enum Path {
    Fixed(Box<JsonPath>),
    Made(Template),
}

#[derive(Debug)]
pub(crate) enum Pattern {
    Fixed(Box<Regex>),
    Made(Template),
}

#[derive(Debug)]
pub(crate) enum Filter {
    Count,
    Regex(Pattern),
    JsonPath(Path),
    Nth(i64),
    Split(Template),
    Replace(Template, Template),
    ReplaceRegex(Pattern, Template),
    ToInt,
    ToFloat,
    ToText,
    ToHex,
    UrlEncode,
    UrlDecode,
    UrlQueryParam(Template),
    Base64Encode { url_safe: bool },
    Base64Decode { url_safe: bool },
    Utf8Encode,
    Utf8Decode,
    HtmlEscape,
    HtmlUnescape,
}

#[derive(Debug)]
pub(crate) enum Predicate {
    Equal(Expected),
    NotEqual(Expected),
    /// The orders that are right, and what it's held against.
    Ordered(&'static [Ordering], Expected),
    StartsWith(Expected),
    EndsWith(Expected),
    Contains(Expected),
    Includes(Expected),
    Matches(Pattern),
    Exists,
    IsEmpty,
    Is(Kind),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Boolean,
    Number,
    Integer,
    Float,
    String,
    Collection,
    List,
    Object,
    IsoDate,
    Ipv4,
    Ipv6,
    Uuid,
}

impl Kind {
    /// As a message names it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Kind::Boolean => "a boolean",
            Kind::Number => "a number",
            Kind::Integer => "an integer",
            Kind::Float => "a float",
            Kind::String => "a string",
            Kind::Collection => "a collection",
            Kind::List => "a list",
            Kind::Object => "an object",
            Kind::IsoDate => "a date as RFC 3339 has them",
            Kind::Ipv4 => "an IPv4 address",
            Kind::Ipv6 => "an IPv6 address",
            Kind::Uuid => "a UUID",
        }
    }
}

/// What a value is held against.
#[derive(Debug)]
pub(crate) enum Expected {
    Value(Value),
    Text(Template),
    /// A variable of whatever kind.
    Made(Expression),
}

/// Text with placeholders.
#[derive(Debug, Default)]
pub(crate) struct Template(pub Box<[Piece]>);

#[derive(Debug)]
pub(crate) enum Piece {
    Text(Box<str>),
    Made(Expression),
    /// The same within a string of JSON.
    MadeInJson(Expression),
}

#[derive(Debug)]
pub(crate) struct Expression {
    pub source: Source,
    pub filters: Box<[Filter]>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Source {
    Variable(Slot),
    NewUuid,
    NewDate,
}

impl Template {
    /// A text without placeholders.
    pub(crate) fn of(text: impl Into<Box<str>>) -> Template {
        Template([Piece::Text(text.into())].into())
    }

    /// Its text, if it's always the same.
    pub(crate) fn constant(&self) -> Option<&str> {
        match &*self.0 {
            [] => Some(""),
            [Piece::Text(text)] => Some(text),
            _ => None,
        }
    }
}

//! Strings, templates, filters and values, as they stand in lines.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use measure::foreign::Foreign;
use regex::Regex;

use super::reader::{Reader, Wrong, wrong_at};
use crate::model::{Expected, Expression, Filter, Path, Pattern, Piece, Source, Template};
use crate::paths;
use crate::value::Value;

/// How deep templates may stand within filters of templates.
const DEPTH_MAX: u32 = 8;

/// What text between ticks is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Language {
    #[default]
    Raw,
    Json,
    Xml,
    GraphQl,
    Base64,
    Hex,
}

/// What is said of text between ticks.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Ticks {
    pub language: Language,
    /// A backslash begins an escape.
    pub escapes: bool,
    /// Braces begin no placeholders.
    pub is_plain: bool,
}

/// What has an end of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Until {
    /// A colon or white space.
    Key,
    /// The end of a line, or a comment.
    LineEnd,
    /// A quote, which may not be missing.
    Quote,
    /// One backtick.
    Tick,
    /// Three of them; nothing is escaped unless the file says so.
    Ticks { escapes: bool, templates: bool },
    /// So many bytes before the end of the file.
    Left(usize),
}

impl Until {
    fn is_over(self, rest: &str) -> bool {
        match self {
            Until::Key => rest.starts_with([':', ' ', '\t', '\n', '#']),
            Until::LineEnd => rest.starts_with(['\n', '#']),
            Until::Quote => rest.starts_with('"'),
            Until::Tick => rest.starts_with(['`', '\n']),
            Until::Ticks { .. } => rest.starts_with("```"),
            Until::Left(bytes) => rest.len() <= bytes,
        }
    }

    fn escapes(self) -> bool {
        !matches!(self, Until::Ticks { escapes: false, .. } | Until::Left(_))
    }

    fn templates(self) -> bool {
        !matches!(
            self,
            Until::Ticks {
                templates: false,
                ..
            }
        )
    }
}

impl<'a> Reader<'a> {
    /// A template up to an end, over which it doesn't step.
    pub(super) fn template(&mut self, until: Until) -> Result<Template, Wrong> {
        let mut pieces = Vec::new();
        let mut text = String::new();
        while let Some(c) = self.peek() {
            if until.is_over(self.rest()) {
                break;
            }
            if until.templates() && self.rest().starts_with("{{") {
                if !text.is_empty() {
                    pieces.push(Piece::Text(std::mem::take(&mut text).into()));
                }
                pieces.push(Piece::Made(self.placeholder()?));
                continue;
            }
            if c == '\\' && until.escapes() {
                text.push(self.escaped()?);
                continue;
            }
            text.push(c);
            self.at += c.len_utf8();
        }
        if until == Until::LineEnd {
            text.truncate(text.trim_end().len());
        }
        if !text.is_empty() {
            pieces.push(Piece::Text(text.into()));
        }
        Ok(Template(pieces.into()))
    }

    /// A template in quotes.
    pub(super) fn quoted(&mut self) -> Result<Template, Wrong> {
        let start = self.at;
        if !self.eat("\"") {
            return Err(self.wrong("a text in quotes belongs here"));
        }
        let template = self.template(Until::Quote)?;
        match self.eat("\"") {
            true => Ok(template),
            false => Err(wrong_at(start, "the quote isn't closed")),
        }
    }

    fn escaped(&mut self) -> Result<char, Wrong> {
        let start = self.at;
        self.at += 1;
        let Some(c) = self.peek() else {
            return Err(wrong_at(start, "nothing follows the backslash"));
        };
        self.at += c.len_utf8();
        match c {
            'n' => Ok('\n'),
            'r' => Ok('\r'),
            't' => Ok('\t'),
            'b' => Ok('\u{8}'),
            'f' => Ok('\u{c}'),
            '"' | '\\' | '#' | ':' | '`' | '/' | ' ' | ';' | '{' | '}' | '\'' => Ok(c),
            'u' if self.eat("{") => {
                let digits = self.take(|c| c.is_ascii_hexdigit());
                let code = u32::from_str_radix(digits, 16)
                    .ok()
                    .and_then(char::from_u32);
                match (code, self.eat("}")) {
                    (Some(c), true) => Ok(c),
                    _ => Err(wrong_at(
                        start,
                        "isn't a character: write \\u{e9}, for example",
                    )),
                }
            }
            _ => {
                let shown = Foreign::new(format!("\\{c}"));
                Err(wrong_at(
                    start,
                    format!("{shown} isn't an escape: write \\\\ for a backslash"),
                ))
            }
        }
    }

    /// What stands between two braces and two braces.
    pub(super) fn placeholder(&mut self) -> Result<Expression, Wrong> {
        let start = self.at;
        self.at += 2;
        if self.depth == DEPTH_MAX {
            return Err(wrong_at(
                start,
                "placeholders stand too deep within each other",
            ));
        }
        self.depth += 1;
        let expression = self.expression();
        self.depth -= 1;
        let expression = expression?;
        self.spaces();
        match self.eat("}}") {
            true => Ok(expression),
            false => Err(self.wrong("}} belongs here: a name, and filters behind it, end with it")),
        }
    }

    fn expression(&mut self) -> Result<Expression, Wrong> {
        self.spaces();
        let start = self.at;
        let name = self.name()?;
        let source = match name {
            "newUuid" => Source::NewUuid,
            "newDate" => Source::NewDate,
            "getEnv" => {
                let what = "getEnv isn't supported: pass --variable NAME=\"$NAME\" instead";
                return Err(wrong_at(start, what));
            }
            name => Source::Variable(self.slot(name, Some(start))?),
        };
        let filters = self.filters()?;
        Ok(Expression { source, filters })
    }

    /// The name of a variable.
    pub(super) fn name(&mut self) -> Result<&'a str, Wrong> {
        let start = self.at;
        let name = self.take(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
        match name.starts_with(|c: char| c.is_ascii_alphabetic()) {
            true => Ok(name),
            false => Err(wrong_at(
                start,
                "the name of a variable belongs here: letters, digits, _ and -",
            )),
        }
    }

    /// Filters, as many as there are.
    pub(super) fn filters(&mut self) -> Result<Box<[Filter]>, Wrong> {
        let mut filters = Vec::new();
        loop {
            let start = self.at;
            if !self.spaces() {
                return Ok(filters.into());
            }
            match self.filter()? {
                Some(filter) => filters.push(filter),
                None => {
                    self.at = start;
                    return Ok(filters.into());
                }
            }
        }
    }

    fn filter(&mut self) -> Result<Option<Filter>, Wrong> {
        let start = self.at;
        let word = self.take(|c| c.is_ascii_alphanumeric());
        Ok(Some(match word {
            "count" => Filter::Count,
            "regex" => Filter::Regex(self.after_space(Reader::pattern)?),
            "jsonpath" => Filter::JsonPath(self.after_space(Reader::path)?),
            "nth" => Filter::Nth(self.after_space(Reader::index)?),
            "first" => Filter::Nth(0),
            "last" => Filter::Nth(-1),
            "split" => Filter::Split(self.after_space(Reader::quoted)?),
            "replace" => {
                let old = self.after_space(Reader::quoted)?;
                Filter::Replace(old, self.after_space(Reader::quoted)?)
            }
            "replaceRegex" => {
                let old = self.after_space(Reader::pattern)?;
                Filter::ReplaceRegex(old, self.after_space(Reader::quoted)?)
            }
            "toInt" => Filter::ToInt,
            "toFloat" => Filter::ToFloat,
            "toString" => Filter::ToText,
            "toHex" => Filter::ToHex,
            "urlEncode" => Filter::UrlEncode,
            "urlDecode" => Filter::UrlDecode,
            "urlQueryParam" => Filter::UrlQueryParam(self.after_space(Reader::quoted)?),
            "base64Encode" => Filter::Base64Encode { url_safe: false },
            "base64Decode" => Filter::Base64Decode { url_safe: false },
            "base64UrlSafeEncode" => Filter::Base64Encode { url_safe: true },
            "base64UrlSafeDecode" => Filter::Base64Decode { url_safe: true },
            "utf8Encode" => Filter::Utf8Encode,
            "utf8Decode" => Filter::Utf8Decode,
            "htmlEscape" => Filter::HtmlEscape,
            "htmlUnescape" => Filter::HtmlUnescape,
            "xpath" => return Err(wrong_at(start, XPATH)),
            "decode" | "charsetDecode" => {
                let what = format!("the filter {word} isn't supported: utf8Decode reads UTF-8");
                return Err(wrong_at(start, what));
            }
            "format" | "toDate" | "dateFormat" | "daysAfterNow" | "daysBeforeNow" => {
                return Err(wrong_at(
                    start,
                    format!("the filter {word} isn't supported"),
                ));
            }
            _ => return Ok(None),
        }))
    }

    /// What stands behind white space.
    pub(super) fn after_space<T>(
        &mut self,
        read: impl Fn(&mut Self) -> Result<T, Wrong>,
    ) -> Result<T, Wrong> {
        self.spaces();
        read(self)
    }

    fn index(&mut self) -> Result<i64, Wrong> {
        let start = self.at;
        let written = self.take(|c| c.is_ascii_digit() || c == '-');
        let wrong = |_| wrong_at(start, "nth wants a number, such as nth 0 or nth -1");
        written.parse().map_err(wrong)
    }

    /// A path in quotes.
    pub(super) fn path(&mut self) -> Result<Path, Wrong> {
        let start = self.at;
        let template = self.quoted()?;
        let Some(text) = template.constant() else {
            return Ok(Path::Made(template));
        };
        match paths::read(text) {
            Ok(path) => Ok(Path::Fixed(path.into())),
            Err(why) => Err(wrong_at(start, format!("{} {why}", Foreign::new(text)))),
        }
    }

    /// A regular expression, between slashes or in quotes.
    pub(super) fn pattern(&mut self) -> Result<Pattern, Wrong> {
        let start = self.at;
        let text = match self.eat("/") {
            true => self.between_slashes(start)?,
            false => {
                let template = self.quoted()?;
                match template.constant() {
                    Some(text) => text.to_owned(),
                    None => return Ok(Pattern::Made(template)),
                }
            }
        };
        match Regex::new(&text) {
            Ok(regex) => Ok(Pattern::Fixed(regex.into())),
            Err(why) => {
                let why = why.to_string();
                let why = why.lines().last().unwrap_or_default();
                let what = format!("isn't a regular expression: {}", Foreign::new(why.trim()));
                Err(wrong_at(start, what))
            }
        }
    }

    fn between_slashes(&mut self, start: usize) -> Result<String, Wrong> {
        let mut text = String::new();
        let mut is_escaped = false;
        while let Some(c) = self.peek().filter(|c| *c != '\n') {
            self.at += c.len_utf8();
            match c {
                '/' if !is_escaped => return Ok(text),
                '/' => drop(text.pop()),
                _ => {}
            }
            text.push(c);
            is_escaped = c == '\\' && !is_escaped;
        }
        Err(wrong_at(
            start,
            "the regular expression isn't closed: / belongs at its end",
        ))
    }

    /// What a value is held against.
    pub(super) fn expected(&mut self) -> Result<Expected, Wrong> {
        let rest = self.rest();
        if rest.starts_with('"') {
            return self.quoted().map(Expected::Text);
        }
        if rest.starts_with("{{") {
            return self.placeholder().map(Expected::Made);
        }
        if rest.starts_with("```") {
            let start = self.at;
            self.at += 3;
            let ticks = self.hints(start, false)?;
            let at = self.at;
            let template = self.ticked(start, ticks)?;
            return match ticks.language {
                Language::Base64 | Language::Hex => {
                    let bytes = bytes_of(&template, ticks.language, at)?;
                    Ok(Expected::Value(Value::Bytes(bytes)))
                }
                _ => Ok(Expected::Text(template)),
            };
        }
        if rest.starts_with('`') {
            return self.one_line().map(Expected::Text);
        }
        if let Some(bytes) = self.bytes()? {
            return Ok(Expected::Value(Value::Bytes(bytes)));
        }
        let start = self.at;
        let word = self.take(|c| c.is_ascii_alphanumeric() || "+-._".contains(c));
        let value = match word {
            "null" => Value::Null,
            "true" => Value::Bool(true),
            "false" => Value::Bool(false),
            number => match (number.parse(), decimal(number)) {
                (Ok(whole), _) => Value::Integer(whole),
                (_, Some(number)) => Value::Float(number),
                _ => {
                    let what = "a value belongs here: a text in quotes, a number, true, false, \
                                null, hex,…; base64,…; file,…; or {{a variable}}";
                    return Err(wrong_at(start, what));
                }
            },
        };
        Ok(Expected::Value(value))
    }

    /// Three ticks have been stepped over: what is said of the text behind them, if their line
    /// holds nothing else. Where it isn't known, it's text by itself, or a mistake in a body.
    pub(super) fn hints(&mut self, start: usize, is_body: bool) -> Result<Ticks, Wrong> {
        let line = self.line();
        let words = line.split(',').map(str::trim);
        let is_word = |word: &str| word.chars().all(|c| c.is_ascii_alphanumeric());
        let mut ticks = Ticks::default();
        if !words.clone().all(is_word) {
            return Ok(ticks);
        }
        for word in words.filter(|word| !word.is_empty()) {
            match word {
                "text" => {}
                "raw" => ticks.is_plain = true,
                "json" => ticks.language = Language::Json,
                "xml" => ticks.language = Language::Xml,
                "graphql" => ticks.language = Language::GraphQl,
                "base64" => ticks.language = Language::Base64,
                "hex" => ticks.language = Language::Hex,
                "escape" => ticks.escapes = true,
                "novariable" | "novariables" => ticks.is_plain = true,
                other if is_body => {
                    let what = format!("```{} isn't supported", Foreign::new(other));
                    return Err(wrong_at(start, what));
                }
                _ => return Ok(Ticks::default()),
            }
        }
        self.skip_line();
        Ok(ticks)
    }

    /// What stands before the next three ticks.
    pub(super) fn ticked(&mut self, start: usize, ticks: Ticks) -> Result<Template, Wrong> {
        let template = self.template(Until::Ticks {
            escapes: ticks.escapes,
            templates: !ticks.is_plain,
        })?;
        match self.eat("```") {
            true => Ok(template),
            false => Err(wrong_at(start, "``` isn't closed by another ```")),
        }
    }

    /// A text between two ticks.
    pub(super) fn one_line(&mut self) -> Result<Template, Wrong> {
        let start = self.at;
        self.at += 1;
        let template = self.template(Until::Tick)?;
        match self.eat("`") {
            true => Ok(template),
            false => Err(wrong_at(start, "` isn't closed by another ` on its line")),
        }
    }

    /// `hex,…;`, `base64,…;` or `file,…;`, if one of them stands here.
    pub(super) fn bytes(&mut self) -> Result<Option<Box<[u8]>>, Wrong> {
        let start = self.at;
        let kinds = ["hex,", "base64,", "file,"];
        let Some(kind) = kinds.into_iter().find(|kind| self.eat(kind)) else {
            return Ok(None);
        };
        if kind == "file," {
            let name = self.file_name()?;
            return self.file(start, &name).map(Some);
        }
        let written = self.take(|c| c != ';');
        if !self.eat(";") {
            return Err(wrong_at(
                start,
                format!("{kind}…; isn't closed by its semicolon"),
            ));
        }
        let read = match kind {
            "hex," => of_hex(written),
            _ => of_base64(written),
        };
        read.map(Some).map_err(|what| wrong_at(start, what))
    }

    /// The name of a file, up to its semicolon, over which it steps.
    pub(super) fn file_name(&mut self) -> Result<String, Wrong> {
        self.spaces();
        let start = self.at;
        let mut name = String::new();
        while let Some(c) = self.peek() {
            match c {
                ';' => {
                    self.at += 1;
                    name.truncate(name.trim_end().len());
                    return Ok(name);
                }
                '\n' => break,
                '\\' => name.push(self.escaped()?),
                '{' if self.rest().starts_with("{{") => {
                    let what = "a file's name can't hold placeholders: files are read once, before \
                                the run";
                    return Err(self.wrong(what));
                }
                _ => {
                    name.push(c);
                    self.at += c.len_utf8();
                }
            }
        }
        Err(wrong_at(
            start,
            "a file's name ends with a semicolon: file,NAME;",
        ))
    }
}

/// The bytes that a text between ticks writes down.
pub(super) fn bytes_of(text: &Template, language: Language, at: usize) -> Result<Box<[u8]>, Wrong> {
    let Some(text) = text.constant() else {
        return Err(wrong_at(at, "bytes can't hold placeholders"));
    };
    let read = match language {
        Language::Hex => of_hex(text),
        _ => of_base64(text),
    };
    read.map_err(|what| wrong_at(at, what))
}

/// What is said where XPath is wanted.
pub(super) const XPATH: &str = "xpath isn't supported: use jsonpath or regex";

/// A decimal fraction as files write it: no exponents, no names.
fn decimal(text: &str) -> Option<f64> {
    let is_one = |c: char| c.is_ascii_digit() || c == '.' || c == '-';
    text.parse().ok().filter(|_| text.chars().all(is_one))
}

/// Bytes of hexadecimal digits, between which white space may stand.
fn of_hex(written: &str) -> Result<Box<[u8]>, String> {
    let digits: Vec<u8> = written
        .bytes()
        .filter(|byte| !byte.is_ascii_whitespace())
        .collect();
    let digit = |byte: u8| (byte as char).to_digit(16).map(|digit| digit as u8);
    let byte = |pair: &[u8]| match pair {
        [high, low] => Some(digit(*high)? << 4 | digit(*low)?),
        _ => None,
    };
    let bytes = digits.chunks(2).map(byte).collect::<Option<_>>();
    bytes.ok_or_else(|| "hex has two hexadecimal digits for each byte".to_owned())
}

/// Bytes of base64, between which white space may stand.
fn of_base64(written: &str) -> Result<Box<[u8]>, String> {
    let digits: Vec<u8> = written
        .bytes()
        .filter(|byte| !byte.is_ascii_whitespace())
        .collect();
    match STANDARD.decode(digits) {
        Ok(bytes) => Ok(bytes.into()),
        Err(why) => Err(format!("isn't base64: {why}")),
    }
}

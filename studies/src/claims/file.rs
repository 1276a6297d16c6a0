//! A claim's file: what a post says, how it came to its figures, what is run here and what differs
//! from that, and what is judged. One TOML file in `claims/`, named after the claim.
//!
//! This file reads and validates. It measures and judges nothing.

use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::Duration;

use lab::verdict::Metric;
use load::hold;
use serde::Deserialize;
use serde::de::Deserializer;
use supervisor::document::{self, BadFile, Document};
use toml::Spanned;

use super::little::{PublishedRow, above_zero};
use super::metric::metric;
use super::stated::{Multiple, Share, Stated};
use super::word::{Word, Words};

/// A claim as its file says it, validated.
#[derive(Clone, Debug)]
pub struct Claim {
    /// Its name, such as `E1`; also that of its file, in small letters.
    pub id: Id,
    /// What is claimed, in one sentence.
    pub statement: Words,
    /// Where it was published.
    pub source: Cited,
    /// When this file was last given another meaning, as a day or with hour and minute (UTC): a
    /// measurement from before that answers what the file asked then.
    pub written: String,
    /// The figures that were published, as they were published.
    pub claimed: Words,
    /// How they came about, as far as the post says.
    pub measured_there: Words,
    /// What is run here.
    pub run_here: Words,
    /// What of that differs from the post, and why.
    pub changed: Words,
    /// Why the published figures are what they are.
    pub why: Vec<Why>,
    /// The published rows, which Little's law is held against.
    pub rows: Vec<PublishedRow>,
    /// How it is tested; why not where it isn't.
    pub test: Result<Test, Untested>,
}

/// The place of a claim.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cited {
    /// The post, by its letter.
    pub post: char,
    /// Its sections, at least one.
    pub sections: Vec<String>,
}

/// A sentence about why a published figure is what it is.
#[derive(Clone, Debug)]
pub struct Why {
    /// What it follows from.
    pub from: Ground,
    /// The sentence.
    pub says: Words,
}

/// What a sentence follows from. There is none for what seems likely.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ground {
    /// From the published figures alone.
    Arithmetic,
    /// From what the post shows: its code, its settings, its words.
    Text,
    /// From what was measured here.
    Measurement,
}

/// A claim that nothing is run for.
#[derive(Clone, Debug)]
pub struct Untested {
    /// [`Word::CannotBeTested`], or [`Word::NotRun`] where only something has to be written first.
    pub word: Word,
    /// What is missing.
    pub why: Words,
}

/// How a claim is tested.
#[derive(Clone, Debug)]
pub struct Test {
    /// What is run.
    pub run: Run,
    /// Whether each subject is looked at once more after the rounds, and its system calls counted.
    pub profile: bool,
    /// What is judged of it, at least one thing.
    pub judges: Vec<Judge>,
}

/// What is run for a claim.
#[derive(Clone, Debug)]
pub enum Run {
    /// The comparison of this file.
    Comparison(PathBuf),
    /// Connections that are held.
    Hold(Hold),
    /// Nothing: the published figures are held against each other.
    Nothing,
}

/// Connections that are held on a subject, each with a heartbeat.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hold {
    /// The subject.
    pub subject: String,
    /// The receive buffer of each of the generator's sockets in bytes (SO_RCVBUF), where it isn't
    /// the kernel's choice.
    #[serde(default)]
    pub receive_buffer: Option<usize>,
    /// The path of the heartbeats.
    #[serde(default = "root")]
    pub path: String,
    /// How many connections.
    pub connections: u32,
    /// How many the claim speaks of, where it names a number: fewer can refute it, and never show
    /// it.
    #[serde(default)]
    pub claimed: Option<u32>,
    /// How long they are held once all are open.
    #[serde(rename = "for", deserialize_with = "document::some_duration")]
    pub held: Duration,
    /// Between two heartbeats of a connection.
    #[serde(deserialize_with = "document::some_duration")]
    pub heartbeat: Duration,
    /// After which a connection without an answer to its heartbeat is lost.
    #[serde(deserialize_with = "document::some_duration")]
    pub heartbeat_timeout: Duration,
    /// Attempts again before a connection is given up.
    pub retries: u32,
}

fn root() -> String {
    "/".to_owned()
}

/// What is judged of what was measured.
#[derive(Clone, Debug)]
pub enum Judge {
    /// A figure of one row as a multiple of another's.
    Ratio(Ratio),
    /// The rows from the largest figure to the smallest.
    Order(Order),
    /// A figure itself. It carries from one machine to another only roughly.
    Figure(Figure),
    /// A number that commands write: its ratio.
    Printed(Printed),
    /// Conditions on a row, or on the connections that were held.
    Pass(Pass),
    /// The share of a row's exchanges that fail.
    Errors(Errors),
    /// That a timed command does what it is for, every time.
    Completes(Completes),
    /// That one server makes few system calls and others many.
    SystemCalls(SystemCalls),
    /// A published figure, and what others of the post come to.
    Arithmetic(Arithmetic),
    /// A part of the claim that what is run here doesn't test, and why.
    Cannot(Words),
}

impl Judge {
    /// The rows that it needs.
    pub fn rows(&self) -> Vec<&str> {
        match self {
            Judge::Ratio(Ratio { of, to, .. }) | Judge::Printed(Printed { of, to, .. }) => {
                vec![of, to]
            }
            Judge::Order(order) => order.rows.iter().map(String::as_str).collect(),
            Judge::Figure(figure) => vec![&figure.of],
            Judge::Pass(pass) => pass.of.iter().map(String::as_str).collect(),
            Judge::Errors(errors) => vec![&errors.of],
            Judge::Completes(completes) => vec![&completes.of],
            Judge::SystemCalls(calls) => {
                let many = calls.many.iter().map(String::as_str);
                [calls.few.as_str()].into_iter().chain(many).collect()
            }
            Judge::Arithmetic(_) | Judge::Cannot(_) => Vec::new(),
        }
    }
}

/// A figure of one row as a multiple of another's.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ratio {
    /// Which figure.
    #[serde(deserialize_with = "metric")]
    pub metric: Metric,
    /// Whose.
    pub of: String,
    /// Against whose.
    pub to: String,
    /// The published multiple.
    pub published: Multiple,
    /// Where the claim is that there is no difference: how much is none, as a share.
    #[serde(default, deserialize_with = "some_percent")]
    pub within: Option<f64>,
}

/// Rows from the largest figure to the smallest.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Order {
    /// Which figure.
    #[serde(deserialize_with = "metric")]
    pub metric: Metric,
    /// The rows, the largest first.
    pub rows: Vec<String>,
}

/// A figure of one row.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Figure {
    /// Which figure.
    #[serde(deserialize_with = "metric")]
    pub metric: Metric,
    /// Whose.
    pub of: String,
    /// What was published, for each core where `per` says so.
    pub published: Stated,
    /// Of the whole, or of each core.
    #[serde(default)]
    pub per: Per,
}

/// What a figure is of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Per {
    /// All of the subject's cores together.
    #[default]
    Subject,
    /// Each of its cores.
    Core,
}

/// A number that timed commands write after a word, as a multiple of another's.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Printed {
    /// The word before the number.
    pub word: String,
    /// Whose.
    pub of: String,
    /// Against whose.
    pub to: String,
    /// The published multiple. A single figure was rounded, so what is near it holds, too.
    pub published: Multiple,
}

/// Conditions as `ringside run --threshold` takes them.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pass {
    /// The row; none where connections are held.
    #[serde(default)]
    pub of: Option<String>,
    /// What has to hold; for a row with phases these are their own, and this is empty.
    #[serde(default)]
    pub conditions: Vec<String>,
}

/// The share of a row's exchanges that fail.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Errors {
    /// The row.
    pub of: String,
    /// The published share; zero where none failed.
    pub published: Share,
}

/// A timed command that ends well, with the output that its subject names.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Completes {
    /// The row.
    pub of: String,
}

/// System calls for each exchange, in a round that is never timed: few are less than one, or a
/// published multiple of many.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SystemCalls {
    /// The row that is said to make few or none.
    pub few: String,
    /// The rows that are said to make several.
    pub many: Vec<String>,
    /// The published multiple of few against the one row of many. A single figure was rounded, so
    /// what is near it holds, too.
    #[serde(default)]
    pub published: Option<Multiple>,
}

/// A published figure, and what others of the post come to.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Arithmetic {
    /// What both are.
    pub what: Words,
    /// The figures that it follows from.
    pub from: Stated,
    /// What their units come to.
    #[serde(default = "once", deserialize_with = "above_zero")]
    pub times: f64,
    /// The figure.
    pub published: Stated,
}

fn once() -> f64 {
    1.0
}

/// The file as it stands, before the checks across its fields.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    id: Spanned<String>,
    statement: Words,
    source: Spanned<Cited>,
    written: Spanned<String>,
    claimed: String,
    measured_there: String,
    run_here: Option<String>,
    changed: Option<String>,
    #[serde(default)]
    why: Vec<WrittenWhy>,
    zh: Spanned<Chinese>,
    cannot: Option<Spanned<String>>,
    not_run: Option<Spanned<String>>,
    #[serde(default, rename = "row")]
    rows: Vec<PublishedRow>,
    run: Option<Spanned<WrittenRun>>,
    #[serde(default, rename = "judge")]
    judges: Vec<Spanned<WrittenJudge>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenWhy {
    from: Ground,
    says: String,
}

impl Written {
    /// Why nothing is run, if the file says so; where it says both, the place of the second.
    fn untested(&self) -> Result<Option<(Word, Spanned<String>)>, Range<usize>> {
        match (&self.cannot, &self.not_run) {
            (Some(_), Some(not_run)) => Err(not_run.span()),
            (Some(why), None) => Ok(Some((Word::CannotBeTested, why.clone()))),
            (None, Some(why)) => Ok(Some((Word::NotRun, why.clone()))),
            (None, None) => Ok(None),
        }
    }
}

/// What the file says in Chinese as well, by the names of the English.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Chinese {
    claimed: String,
    measured_there: String,
    run_here: Option<String>,
    changed: Option<String>,
    cannot: Option<String>,
    not_run: Option<String>,
    #[serde(default)]
    why: Vec<String>,
}

impl Chinese {
    /// What is said in one language only, if anything.
    fn is_missing(&self, written: &Written) -> Option<&'static str> {
        let both = |one: &Option<String>, other: &Option<String>| one.is_some() == other.is_some();
        let pairs = [
            ("run_here", both(&self.run_here, &written.run_here)),
            ("changed", both(&self.changed, &written.changed)),
            ("cannot", self.cannot.is_some() == written.cannot.is_some()),
            (
                "not_run",
                self.not_run.is_some() == written.not_run.is_some(),
            ),
            ("why", self.why.len() == written.why.len()),
        ];
        let missing = pairs.into_iter().find(|(_, there)| !there);
        missing.map(|(name, _)| name)
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenRun {
    comparison: Option<PathBuf>,
    #[serde(default)]
    profile: bool,
    hold: Option<Hold>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenJudge {
    ratio: Option<Ratio>,
    order: Option<Order>,
    figure: Option<Figure>,
    printed: Option<Printed>,
    pass: Option<Pass>,
    errors: Option<Errors>,
    completes: Option<Completes>,
    system_calls: Option<SystemCalls>,
    arithmetic: Option<Arithmetic>,
    cannot: Option<Words>,
}

impl Claim {
    /// Reads a claim's file.
    ///
    /// # Errors
    /// What is wrong, with the line and what was expected there.
    pub fn read(file: &Path) -> Result<Claim, BadFile> {
        let (written, document) = Document::read::<Written>(file)?;
        let fault = |span, what: String| Err(document.fault(Some(span), what));
        let id = match Id::parse(written.id.get_ref()) {
            Some(id) => id,
            None => {
                let what = format!(
                    "`{}` isn't the name of a claim; expected a letter and a number such as \"E1\"",
                    written.id.get_ref()
                );
                return fault(written.id.span(), what);
            }
        };
        let stem = file.file_stem().unwrap_or_default().to_string_lossy();
        if stem != id.file_stem() {
            let what = format!("{id} is in {stem}.toml; expected {}.toml", id.file_stem());
            return fault(written.id.span(), what);
        }
        let untested = written
            .untested()
            .map_err(|span| document.fault(Some(span), "expected one of `cannot` and `not_run`"))?;
        if let Some((span, what)) = cited_wrongly(id, &written) {
            return fault(span, what);
        }
        let beside = file.parent().unwrap_or(Path::new(""));
        let test = test(untested, written.run, written.judges, beside, &document)?;
        let runs = test
            .as_ref()
            .is_ok_and(|test| !matches!(test.run, Run::Nothing));
        if runs && (written.run_here.is_none() || written.changed.is_none()) {
            let what = "expected `run_here`, what is run here, and `changed`, what of that differs \
                        from the post and why";
            return Err(document.fault(None, what));
        }
        let zh = written.zh.into_inner();
        let test = test.map_err(|(word, en)| Untested {
            word,
            why: Words::new(en, zh.cannot.or(zh.not_run).unwrap_or_default()),
        });
        let words = |en: Option<String>, zh: Option<String>| Words {
            en: en.unwrap_or_default(),
            zh: zh.unwrap_or_default(),
        };
        let why = written.why.into_iter().zip(zh.why).map(|(why, zh)| Why {
            from: why.from,
            says: Words { en: why.says, zh },
        });
        Ok(Claim {
            id,
            statement: written.statement,
            source: written.source.into_inner(),
            written: written.written.into_inner(),
            claimed: words(Some(written.claimed), Some(zh.claimed)),
            measured_there: words(Some(written.measured_there), Some(zh.measured_there)),
            run_here: words(written.run_here, zh.run_here),
            changed: words(written.changed, zh.changed),
            why: why.collect(),
            rows: written.rows,
            test,
        })
    }
}

/// Where a claim doesn't say properly where it's from, when it was written, or one of its texts in
/// both languages.
fn cited_wrongly(id: Id, written: &Written) -> Option<(Range<usize>, String)> {
    let source = written.source.get_ref();
    if source.post != id.source {
        let what = format!(
            "{id} is from post {}; expected post = \"{}\"",
            source.post, id.source
        );
        return Some((written.source.span(), what));
    }
    if source.sections.is_empty() {
        let what = "expected at least one of the post's `sections`, such as \"2.5\"";
        return Some((written.source.span(), what.into()));
    }
    if let Some(name) = written.zh.get_ref().is_missing(written) {
        let what = format!("expected `{name}` in both languages, and as many sentences");
        return Some((written.zh.span(), what));
    }
    let shape: String = written
        .written
        .get_ref()
        .chars()
        .map(|c| if c.is_ascii_digit() { '0' } else { c })
        .collect();
    let what = "expected when this file was last given another meaning, such as \"2026-11-23\", or \
                \"2026-11-23T14:45\" (UTC)";
    let known = ["0000-00-00", "0000-00-00T00:00"].contains(&shape.as_str());
    (!known).then(|| (written.written.span(), what.into()))
}

fn test(
    untested: Option<(Word, Spanned<String>)>,
    run: Option<Spanned<WrittenRun>>,
    judges: Vec<Spanned<WrittenJudge>>,
    beside: &Path,
    document: &Document,
) -> Result<Result<Test, (Word, String)>, BadFile> {
    let run = match (untested, run) {
        (Some((word, why)), None) if judges.is_empty() => {
            return Ok(Err((word, why.into_inner())));
        }
        (Some((_, why)), _) => {
            let what = "with `cannot` or `not_run`, there can be nothing to run or to judge";
            return Err(document.fault(Some(why.span()), what));
        }
        (None, None) if judges.is_empty() => {
            let what = "expected [run], or `cannot` or `not_run` with the reason";
            return Err(document.fault(None, what));
        }
        (None, run) => run,
    };
    let Some(run) = run else {
        let judges = read_judges(judges, &Run::Nothing, document)?;
        return Ok(Ok(Test {
            run: Run::Nothing,
            profile: false,
            judges,
        }));
    };
    let (place, profile) = (run.span(), run.get_ref().profile);
    let run = match run.into_inner() {
        WrittenRun {
            comparison: Some(file),
            hold: None,
            ..
        } => Run::Comparison(beside.join(file)),
        WrittenRun {
            comparison: None,
            hold: Some(hold),
            profile: false,
        } => Run::Hold(hold),
        _ => {
            let what = "expected `comparison`, with `profile` or without, or `hold`";
            return Err(document.fault(Some(place), what));
        }
    };
    if judges.is_empty() {
        return Err(document.fault(Some(place), "expected at least one [[judge]] of this run"));
    }
    let judges = read_judges(judges, &run, document)?;
    Ok(Ok(Test {
        run,
        profile,
        judges,
    }))
}

fn read_judges(
    judges: Vec<Spanned<WrittenJudge>>,
    run: &Run,
    document: &Document,
) -> Result<Vec<Judge>, BadFile> {
    judges
        .into_iter()
        .map(|written| {
            let span = written.span();
            judge(written.into_inner(), run).map_err(|what| document.fault(Some(span), what))
        })
        .collect()
}

/// The one thing that a [[judge]] asks for, if that goes with what is run.
fn judge(written: WrittenJudge, run: &Run) -> Result<Judge, String> {
    let WrittenJudge {
        ratio,
        order,
        figure,
        printed,
        pass,
        errors,
        completes,
        system_calls,
        arithmetic,
        cannot,
    } = written;
    let asked = [
        ratio.map(Judge::Ratio),
        order.map(Judge::Order),
        figure.map(Judge::Figure),
        printed.map(Judge::Printed),
        pass.map(Judge::Pass),
        errors.map(Judge::Errors),
        completes.map(Judge::Completes),
        system_calls.map(Judge::SystemCalls),
        arithmetic.map(Judge::Arithmetic),
        cannot.map(Judge::Cannot),
    ];
    let mut asked = asked.into_iter().flatten();
    let (Some(judge), None) = (asked.next(), asked.next()) else {
        let all = "`ratio`, `order`, `figure`, `printed`, `pass`, `errors`, `completes`, \
                   `system_calls`, `arithmetic` and `cannot`";
        return Err(format!("expected one of {all}"));
    };
    match (&judge, run) {
        (Judge::Arithmetic(_) | Judge::Cannot(_), _) => Ok(judge),
        (_, Run::Nothing) => Err("without [run], only `arithmetic` can be judged".into()),
        (Judge::Ratio(ratio), _) if ratio.published.is_one() != ratio.within.is_some() => {
            Err("`within` goes with a published ratio of 1, and only with that".into())
        }
        (Judge::Ratio(ratio), _) if ratio.of == ratio.to => {
            Err("expected two rows, and not one as a multiple of itself".into())
        }
        (Judge::SystemCalls(calls), _) if calls.many.is_empty() => {
            Err("expected the rows that make many".into())
        }
        (Judge::SystemCalls(calls), _) if calls.published.is_some() && calls.many.len() > 1 => {
            Err("`published` is a multiple of one row: name one in `many`".into())
        }
        (Judge::Order(order), _) if order.rows.len() < 2 => {
            Err("an order needs at least two rows".into())
        }
        (Judge::Pass(pass), Run::Hold(_)) => {
            let conditions = pass.conditions.iter();
            let mut read = conditions.map(|text| text.parse::<hold::Threshold>());
            match read.find_map(Result::err) {
                Some(invalid) => Err(invalid.to_string()),
                None if pass.conditions.is_empty() || pass.of.is_some() => {
                    Err("for held connections, `pass` takes `conditions` and nothing else".into())
                }
                None => Ok(judge),
            }
        }
        (_, Run::Hold(_)) => Err("held connections are judged by `pass`".into()),
        (Judge::Pass(pass), _) if pass.of.is_none() || !pass.conditions.is_empty() => Err(
            "for a comparison, `pass` takes `of` alone: the row whose phases are judged by their \
             own conditions"
                .into(),
        ),
        _ => Ok(judge),
    }
}

/// The name of a claim: the letter of its source and a number. Ordered as people count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Id {
    source: char,
    number: u32,
}

impl Id {
    /// Reads a name, in capitals or in small letters.
    pub fn parse(text: &str) -> Option<Id> {
        let mut letters = text.chars();
        let source = letters.next()?.to_ascii_uppercase();
        let digits = letters.as_str();
        let plain = source.is_ascii_uppercase()
            && !digits.starts_with('0')
            && digits.bytes().all(|byte| byte.is_ascii_digit());
        let number = digits.parse().ok().filter(|_| plain)?;
        Some(Id { source, number })
    }

    /// The name of its file, without the ending.
    pub fn file_stem(self) -> String {
        self.to_string().to_ascii_lowercase()
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.source, self.number)
    }
}

fn some_percent<'de, D: Deserializer<'de>>(from: D) -> Result<Option<f64>, D::Error> {
    document::percent(from).map(Some)
}

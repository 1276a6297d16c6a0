//! A claim's file: one published sentence with figures, how it was measured then, how it is
//! measured here, and what is judged. One TOML file in `claims/`, named after the claim.
//!
//! This file reads and validates. It measures and judges nothing.

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use lab::verdict::Metric;
use load::hold;
use serde::Deserialize;
use serde::de::Deserializer;
use supervisor::document::{self, BadFile, Document};
use toml::Spanned;

use super::little::{PublishedRow, above_zero};

/// A claim as its file says it, validated.
#[derive(Clone, Debug)]
pub struct Claim {
    /// Its name, such as `E1`; also that of its file, in small letters.
    pub id: Id,
    /// What is claimed, in one sentence.
    pub statement: String,
    /// Where it was published.
    pub source: String,
    /// The figures that were published, in words.
    pub published: String,
    /// The workload that they were measured with, as far as it was told.
    pub as_published: String,
    /// The workload here: how it was scaled, and why.
    pub as_here: String,
    /// Why a published figure is no figure of the servers, if it is none.
    pub artefact: Option<String>,
    /// The published rows, which Little's law is held against.
    pub rows: Vec<PublishedRow>,
    /// How it is tested; the reason where it cannot be.
    pub test: Result<Test, String>,
}

/// How a claim is tested.
#[derive(Clone, Debug)]
pub struct Test {
    /// What is run.
    pub run: Run,
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
}

/// Connections that are held on a subject, each with a heartbeat.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hold {
    /// The subject.
    pub subject: String,
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
        }
    }
}

/// A figure of one row as a multiple of another's.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ratio {
    /// Which figure.
    pub metric: Metric,
    /// Whose.
    pub of: String,
    /// Against whose.
    pub to: String,
    /// The published multiple.
    #[serde(deserialize_with = "above_zero")]
    pub published: f64,
    /// Where the claim is that there is no difference: how much is none, as a share.
    #[serde(default, deserialize_with = "some_percent")]
    pub within: Option<f64>,
}

/// Rows from the largest figure to the smallest.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Order {
    /// Which figure.
    pub metric: Metric,
    /// The rows, the largest first.
    pub rows: Vec<String>,
}

/// A figure of one row.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Figure {
    /// Which figure.
    pub metric: Metric,
    /// Whose.
    pub of: String,
    /// What was published, for each core where `per` says so.
    #[serde(deserialize_with = "above_zero")]
    pub published: f64,
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
    /// The published multiples: the least and the most.
    pub published: [f64; 2],
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

/// The file as it stands, before the checks across its fields.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    id: Spanned<String>,
    statement: String,
    source: String,
    published: String,
    as_published: String,
    as_here: Option<String>,
    artefact: Option<String>,
    cannot: Option<Spanned<String>>,
    #[serde(default, rename = "row")]
    rows: Vec<PublishedRow>,
    run: Option<Spanned<WrittenRun>>,
    #[serde(default, rename = "judge")]
    judges: Vec<Spanned<WrittenJudge>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenRun {
    comparison: Option<PathBuf>,
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
        let beside = file.parent().unwrap_or(Path::new(""));
        let test = test(
            &written.cannot,
            written.run,
            written.judges,
            beside,
            &document,
        )?;
        if test.is_ok() && written.as_here.is_none() {
            let what = "missing field `as_here`: how the workload was scaled, and why";
            return Err(document.fault(None, what));
        }
        Ok(Claim {
            id,
            statement: written.statement,
            source: written.source,
            published: written.published,
            as_published: written.as_published,
            as_here: written.as_here.unwrap_or_default(),
            artefact: written.artefact,
            rows: written.rows,
            test,
        })
    }
}

fn test(
    cannot: &Option<Spanned<String>>,
    run: Option<Spanned<WrittenRun>>,
    judges: Vec<Spanned<WrittenJudge>>,
    beside: &Path,
    document: &Document,
) -> Result<Result<Test, String>, BadFile> {
    let run = match (cannot, run) {
        (Some(why), None) if judges.is_empty() => return Ok(Err(why.get_ref().clone())),
        (Some(why), _) => {
            let what = "with `cannot`, there can be nothing to run and nothing to judge";
            return Err(document.fault(Some(why.span()), what));
        }
        (None, None) => {
            let what = "expected [run], or `cannot` with the reason";
            return Err(document.fault(None, what));
        }
        (None, Some(run)) => run,
    };
    let place = run.span();
    let run = match run.into_inner() {
        WrittenRun {
            comparison: Some(file),
            hold: None,
        } => Run::Comparison(beside.join(file)),
        WrittenRun {
            comparison: None,
            hold: Some(hold),
        } => Run::Hold(hold),
        _ => {
            let what = "expected one of `comparison` and `hold`";
            return Err(document.fault(Some(place), what));
        }
    };
    if judges.is_empty() {
        return Err(document.fault(Some(place), "expected at least one [[judge]] of this run"));
    }
    let judges: Result<Vec<Judge>, BadFile> = judges
        .into_iter()
        .map(|written| {
            let span = written.span();
            judge(written.into_inner(), &run).map_err(|what| document.fault(Some(span), what))
        })
        .collect();
    Ok(Ok(Test {
        judges: judges?,
        run,
    }))
}

/// The one thing that a [[judge]] asks for, if that goes with what is run.
fn judge(written: WrittenJudge, run: &Run) -> Result<Judge, String> {
    let WrittenJudge {
        ratio,
        order,
        figure,
        printed,
        pass,
    } = written;
    let asked = [
        ratio.map(Judge::Ratio),
        order.map(Judge::Order),
        figure.map(Judge::Figure),
        printed.map(Judge::Printed),
        pass.map(Judge::Pass),
    ];
    let mut asked = asked.into_iter().flatten();
    let (Some(judge), None) = (asked.next(), asked.next()) else {
        return Err("expected one of `ratio`, `order`, `figure`, `printed` and `pass`".into());
    };
    match (&judge, run) {
        (Judge::Ratio(ratio), _) if (ratio.published == 1.0) != ratio.within.is_some() => {
            Err("`within` goes with a published ratio of 1, and only with that".into())
        }
        (Judge::Order(order), _) if order.rows.len() < 2 => {
            Err("an order needs at least two rows".into())
        }
        (Judge::Printed(printed), _) if printed.published[0] > printed.published[1] => {
            Err("expected `published = [least, most]`".into())
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
        (Judge::Pass(pass), Run::Comparison(_)) if pass.of.is_none() => {
            Err("`pass` expects `of`, the row whose phases are judged".into())
        }
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

//! `[gate]`: which figures count, by how much, and for how long it may take. It stands in a file of
//! its own, or in a comparison's, whose load is then the gate's.
//!
//! Reads and validates; knows nothing of revisions.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::time::Duration;

use lab::comparison::{Cores, ROUNDS_MAX};
use measure::words::nearest;
use serde::Deserialize;
use serde::de::{Deserializer, Error as _};
use supervisor::document::{self, BadFile, Document};
use supervisor::workload::Workload;
use toml::{Spanned, Table, Value};

use crate::Figure;

/// The name of a gate's own file, which is looked for in the subject's folder.
pub const NAME: &str = "gate.toml";

/// Fewer rounds allow no look before the last that could show anything.
pub(crate) const ROUNDS_MIN: u32 = 4;
/// How long starts, warm-ups and rounds take together, at most.
const BUDGET: Duration = Duration::from_secs(150);
/// The smallest regression that counts.
const SMALLEST: f64 = 0.03;

/// What a comparison's file may say that is as it is here.
const TAKEN: [&str; 6] = [
    "workload",
    "cores",
    "network",
    "engine",
    "redact",
    "record_body",
];
/// What it may say that a gate decides by itself.
const DECIDED: [&str; 16] = [
    "gate",
    "judge",
    "name",
    "question",
    "subjects",
    "rows",
    "baseline",
    "rounds",
    "seed",
    "smallest_difference",
    "rounds_per_start",
    "precision",
    "budget",
    "aa",
    "ceiling",
    "goodput_within",
];
/// What it may say that is not for a gate.
const REFUSED: [(&str, &str); 4] = [
    ("sweep", "a gate is one comparison"),
    ("phase", "a gate measures one steady load"),
    ("faults", "a gate measures servers that nobody disturbs"),
    ("capacity", "`ringside capacity` searches for that"),
];

/// What counts as a regression, and how long it is looked for.
#[derive(Clone, Debug, PartialEq)]
pub struct Gate {
    /// The figures that count, in the order in which they are said.
    pub figures: Vec<Figure>,
    /// The smallest regression of each that counts, as a share.
    pub smallest: BTreeMap<Figure, f64>,
    /// How long starts, warm-ups and rounds may take together.
    pub budget: Duration,
    /// The most rounds; none is as many as the budget has room for.
    pub rounds_max: Option<u32>,
    /// After so many rounds the processes are started anew; none decides it by their warm-up.
    pub rounds_per_start: Option<NonZeroU32>,
    /// Whether the base is measured once more, and what it differs from itself by is held against
    /// every regression.
    pub aa: bool,
}

/// What is read of a file.
#[derive(Clone, Debug)]
pub struct GateFile {
    /// What counts.
    pub gate: Gate,
    /// The keys of a comparison that hold here, too, with paths of files made whole.
    pub(crate) rest: Table,
    /// The load, as far as how long it takes.
    pub(crate) workload: Workload,
    /// Whether most figures are taken at one rate for both; none: if there are such.
    pub(crate) equal_rate: Option<Option<String>>,
}

/// `[gate]` as it stands in the file.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    figures: Option<Spanned<Vec<Figure>>>,
    smallest: Option<Spanned<Share>>,
    #[serde(default)]
    smallest_of: BTreeMap<Figure, Spanned<Share>>,
    #[serde(default, deserialize_with = "budget")]
    budget: Option<Duration>,
    rounds_max: Option<Spanned<u32>>,
    rounds_per_start: Option<NonZeroU32>,
    #[serde(default)]
    aa: bool,
}

/// `"3%"`.
#[derive(Clone, Copy, Debug)]
struct Share(f64);

impl<'de> Deserialize<'de> for Share {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Share, D::Error> {
        let share = document::percent(from)?;
        match share > 0.0 {
            true => Ok(Share(share)),
            false => Err(D::Error::custom(
                "every measurement shows some difference; expected a percentage above zero, such \
                 as \"3%\"",
            )),
        }
    }
}

fn budget<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Duration>, D::Error> {
    document::some_duration(from).map(Some)
}

/// The parts of a file that are checked as they are read, where their lines are known.
#[derive(Deserialize)]
struct Glance {
    gate: Option<Written>,
    judge: Option<Judge>,
    workload: Option<Workload>,
    #[serde(default, rename = "cores")]
    _cores: Cores,
    #[serde(default, rename = "network")]
    _network: netns::Wanted,
}

/// `[judge]` of a comparison.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Judge {
    figures: Option<Vec<Figure>>,
    equal_rate: Option<String>,
}

impl GateFile {
    /// Where the gate of a subject is described: the file that was `asked` for, or `gate.toml` in
    /// its `folder` or in the current one, if there is one.
    pub fn find(asked: Option<&Path>, folder: Option<&Path>) -> Option<PathBuf> {
        let own = folder.map(|folder| folder.join(NAME));
        let places = own.into_iter().chain([PathBuf::from(NAME)]);
        let found = || places.into_iter().find(|place| place.is_file());
        asked.map(Path::to_owned).or_else(found)
    }

    /// Reads a file; none is one that says nothing.
    ///
    /// # Errors
    /// What is wrong with it, and where.
    pub fn read(file: Option<&Path>) -> Result<GateFile, BadFile> {
        let (glance, document) = match file {
            Some(file) => Document::read::<Glance>(file)?,
            None => Document::of::<Glance>(Path::new(NAME), String::new())?,
        };
        let text = String::from_utf8_lossy(&document.bytes()).into_owned();
        let (mut rest, _) = Document::of::<Table>(file.unwrap_or(Path::new(NAME)), text)?;
        known(&rest, &document)?;
        rest.retain(|key, _| TAKEN.contains(&key));
        let beside = file.and_then(Path::parent).unwrap_or(Path::new(""));
        if let Some(Value::Table(workload)) = rest.get_mut("workload") {
            make_whole(workload, beside);
        }
        let workload = glance.workload.clone().unwrap_or_default();
        let gate = Gate::of(&glance, &workload, &document)?;
        Ok(GateFile {
            equal_rate: glance.judge.map(|judge| judge.equal_rate),
            gate,
            rest,
            workload,
        })
    }
}

impl GateFile {
    /// The path that is asked for.
    pub(crate) fn path(&self) -> &str {
        self.workload.path.get_ref().as_str()
    }
}

/// Whether a gate knows what to make of each key.
fn known(table: &Table, document: &Document) -> Result<(), BadFile> {
    for key in table.keys() {
        if let Some((_, why)) = REFUSED.iter().find(|(refused, _)| refused == key) {
            let what = format!("`{key}`: {why}; give a file without it, with --file");
            return Err(document.fault(None, what));
        }
        let known = || TAKEN.into_iter().chain(DECIDED);
        if !known().any(|known| known == key) {
            let hint = nearest(key, known())
                .map_or(String::new(), |near| format!("; did you mean `{near}`?"));
            return Err(document.fault(None, format!("unknown key `{key}`{hint}")));
        }
    }
    Ok(())
}

/// Names the files of a load so that they are found from everywhere.
fn make_whole(workload: &mut Table, beside: &Path) {
    let whole = |file: &str| {
        let path = beside.join(file);
        let path = std::path::absolute(&path).unwrap_or(path);
        path.display().to_string()
    };
    for key in ["targets", "data", "script", "proto", "replay"] {
        if let Some(Value::String(file)) = workload.get_mut(key) {
            *file = whole(file);
        }
    }
    if let Some(Value::String(message)) = workload.get_mut("message")
        && let Some(file) = message.strip_prefix('@')
    {
        *message = format!("@{}", whole(file));
    }
}

impl Gate {
    fn of(glance: &Glance, workload: &Workload, document: &Document) -> Result<Gate, BadFile> {
        let written = glance.gate.clone().unwrap_or_default();
        let figures = figures(&written, glance, workload, document)?;
        let general = written.smallest.map_or(SMALLEST, |share| share.get_ref().0);
        let own = |figure: &Figure| {
            let own = written.smallest_of.get(figure);
            own.map_or(general, |share| share.get_ref().0)
        };
        let stray = written.smallest_of.iter();
        if let Some((figure, share)) = stray.into_iter().find(|(one, _)| !figures.contains(one)) {
            let what = format!("`{}` isn't one of the figures that count", figure.name());
            return Err(document.fault(Some(share.span()), what));
        }
        if let Some(rounds) = &written.rounds_max
            && !(ROUNDS_MIN..=ROUNDS_MAX).contains(rounds.get_ref())
        {
            let what = format!(
                "{} rounds is out of range: use {ROUNDS_MIN} to {ROUNDS_MAX}",
                rounds.get_ref()
            );
            return Err(document.fault(Some(rounds.span()), what));
        }
        Ok(Gate {
            smallest: figures.iter().map(|one| (*one, own(one))).collect(),
            figures,
            budget: written.budget.unwrap_or(BUDGET),
            rounds_max: written.rounds_max.map(Spanned::into_inner),
            rounds_per_start: written.rounds_per_start,
            aa: written.aa,
        })
    }

    /// The smallest regression of any figure that counts.
    pub(crate) fn smallest_of_all(&self) -> f64 {
        self.smallest.values().copied().fold(1.0, f64::min)
    }
}

/// The figures that count, each once.
fn figures(
    written: &Written,
    glance: &Glance,
    workload: &Workload,
    document: &Document,
) -> Result<Vec<Figure>, BadFile> {
    let judged = glance
        .judge
        .as_ref()
        .and_then(|judge| judge.figures.clone());
    let span = written.figures.as_ref().map(Spanned::span);
    let is_open = workload.rate.is_some();
    let usual = match is_open {
        true => vec![Figure::Cpu, Figure::P99],
        false => vec![Figure::Rate, Figure::Cpu],
    };
    let named = written
        .figures
        .as_ref()
        .map(|named| named.get_ref().clone());
    let wanted = named.or(judged).unwrap_or(usual);
    let mut figures = Vec::new();
    for figure in wanted {
        if !figures.contains(&figure) {
            figures.push(figure);
        }
    }
    let what = match figures.as_slice() {
        [] => "no figures; expected some, such as [\"rate\", \"cpu\"]",
        some if is_open && some.contains(&Figure::Rate) => {
            "`rate` is what a closed loop reaches, and [workload] fixes it: remove it here or there"
        }
        some if !workload.events && some.iter().any(|one| matches!(one, Figure::Streamed(_))) => {
            load::check::Streamed::NOT_TIMED
        }
        _ => return Ok(figures),
    };
    Err(document.fault(span, what))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<GateFile, String> {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join(NAME);
        std::fs::write(&file, text).expect("a file");
        GateFile::read(Some(&file)).map_err(|bad| bad.to_string())
    }

    fn gate(text: &str) -> Gate {
        read(text).unwrap_or_else(|bad| panic!("{bad}")).gate
    }

    #[test]
    fn a_file_that_says_nothing_is_about_rate_and_processor_time() {
        let nothing = GateFile::read(None)
            .expect("nothing is wrong with nothing")
            .gate;
        assert_eq!(nothing, gate(""));
        assert_eq!(nothing.figures, [Figure::Rate, Figure::Cpu]);
        assert_eq!(nothing.smallest[&Figure::Rate], 0.03);
        assert_eq!(nothing.budget, Duration::from_secs(150));
        // What is offered is no figure of the server.
        let open = gate("[workload]\nrate = \"1k\"\n");
        assert_eq!(open.figures, [Figure::Cpu, Figure::P99]);
    }

    #[test]
    fn each_figure_has_its_own_smallest_regression_or_that_of_all() {
        let gate = gate(
            "[gate]\nfigures = [\"rate\", \"p99\", \"rate\"]\nsmallest = \"2%\"\nbudget = \"1m\"\n\
             rounds_max = 12\nrounds_per_start = 3\naa = true\nsmallest_of = { p99 = \"10%\" }\n",
        );
        assert_eq!(gate.figures, [Figure::Rate, Figure::P99]);
        assert_eq!(gate.smallest[&Figure::Rate], 0.02);
        assert_eq!(gate.smallest[&Figure::P99], 0.1);
        assert_eq!(gate.smallest_of_all(), 0.02);
        assert_eq!((gate.rounds_max, gate.aa), (Some(12), true));
    }

    #[test]
    fn the_file_of_a_comparison_gives_its_load_and_its_figures() {
        let file = read(
            "subjects = [\"a\", \"b\"]\nrounds = 9\n[judge]\nfigures = [\"cpu\", \"p50\"]\n\
             equal_rate = \"1k\"\n[workload]\npath = \"/x\"\nmessage = \"@body.json\"\n[gate]\n",
        );
        let file = file.expect("a comparison");
        assert_eq!(file.gate.figures, [Figure::Cpu, Figure::P50]);
        assert_eq!(file.equal_rate, Some(Some("1k".to_owned())));
        assert_eq!(file.rest.keys().collect::<Vec<_>>(), ["workload"]);
        let message = file.rest["workload"]["message"]
            .as_str()
            .unwrap_or_default();
        assert!(
            message.starts_with("@/") && message.ends_with("/body.json"),
            "{message}"
        );
    }

    #[test]
    fn the_reference_names_every_key() {
        let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/src/reference/gate.md");
        let page = std::fs::read_to_string(page).expect("a page of the book");
        let bad = read("[gate]\nzzz = 1\n")
            .map(|file| file.gate)
            .expect_err("an unknown key");
        let (_, list) = bad
            .split_once("unknown field `zzz`, expected")
            .expect("a list of keys");
        let keys: Vec<&str> = list.lines().next().unwrap_or_default().split('`').collect();
        let keys: Vec<&str> = keys.into_iter().skip(1).step_by(2).collect();
        assert!(keys.len() > 5, "{keys:?}");
        for key in keys {
            assert!(page.contains(&format!("\n| `{key}` |")), "{key}");
        }
        for key in TAKEN {
            let named = [format!("`{key}`"), format!("`[{key}]`")];
            assert!(named.iter().any(|name| page.contains(name)), "{key}");
        }
        for (key, _) in REFUSED {
            assert!(page.contains(&format!("[{key}]")), "{key}");
        }
        let (_, example) = page.split_once("```toml\n").expect("an example");
        let example = example.split("```").next().unwrap_or_default();
        assert_eq!(gate(example).figures.len(), 3);
    }

    #[test]
    fn a_mistake_is_told_with_what_was_expected() {
        for (text, part) in [
            ("[gate]\nfigures = []\n", "no figures"),
            ("[gate]\nfigures = [\"rat\"]\n", "did you mean `rate`?"),
            ("[gate]\nsmallest = \"0%\"\n", "above zero"),
            ("[gate]\nsmallest = 3\n", "gate.toml:2:"),
            (
                "[gate]\nsmallest_of = { p99 = \"1%\" }\n",
                "isn't one of the figures",
            ),
            ("[gate]\nrounds_max = 3\n", "use 4 to 1000"),
            ("[gate]\nbudgets = \"1m\"\n", "did you mean `budget`?"),
            ("[gates]\n", "did you mean `gate`?"),
            ("[sweep]\nrate = [\"1k\"]\n", "a gate is one comparison"),
            ("[gate]\nfigures = [\"event_gap_p99\"]\n", "events = true"),
            (
                "[workload]\nrate = \"1k\"\n[gate]\nfigures = [\"rate\"]\n",
                "remove it",
            ),
            ("[workload]\npaht = \"/\"\n", "did you mean `path`?"),
        ] {
            let bad = read(text).map(|file| file.gate).expect_err(text);
            assert!(bad.contains(part), "{text}: {bad}");
        }
    }
}

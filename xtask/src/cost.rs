//! What a change costs: an old and a new program as rows of one comparison, by the lab's own rules.
//!
//! *Generator*: `ringside run` with a fixed number of exchanges is a timed command, and its
//! processor time is compared. *Server*: `ringside serve` at a fixed rate, likewise. Every round
//! has new processes and rounds are many and short, as in `comparisons/power.toml`.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use super::workspace;

/// A change that "costs what it did" has an interval, new ÷ old, that ends below this.
const RATIO_MAX: f64 = 1.02;

/// One thing that is compared, and the files that say so.
struct Contest {
    name: &'static str,
    question: &'static str,
    workload: &'static str,
    subject: fn(program: &str, server: &str) -> String,
}

const CONTESTS: [Contest; 2] = [
    Contest {
        name: "generator",
        question: "What does a closed loop of 400,000 exchanges cost the generator?",
        workload: "",
        subject: generator,
    },
    Contest {
        name: "server",
        question: "What does an exchange cost the server at 60,000 a second?",
        workload: "\
[workload]
path = \"/\"
connections = 64
rate = \"60000\"
warm_up = \"100ms\"
settle = \"100ms\"
window = \"500ms\"
",
        subject: server,
    },
];

/// Compares the programs `old` and `new`.
///
/// # Errors
/// Where something cannot be written or measured, or an interval reaches too far.
pub(crate) fn run(old: &str, new: &str) -> Result<(), String> {
    let absolute = |path: &str| fs::canonicalize(path).map_err(|error| format!("{path}: {error}"));
    let (old, new) = (absolute(old)?, absolute(new)?);
    let mut dearer = Vec::new();
    for contest in CONTESTS {
        let [low, centre, high] = contest.measure(&old, &new)?;
        println!(
            "{}: processor time, new ÷ old: {centre:.4} ({low:.4}–{high:.4})",
            contest.name
        );
        if high >= RATIO_MAX {
            dearer.push(contest.name);
        }
    }
    if dearer.is_empty() {
        return Ok(());
    }
    Err(format!(
        "{}: the interval does not end below {RATIO_MAX}",
        dearer.join(", ")
    ))
}

impl Contest {
    /// The interval of new ÷ old.
    fn measure(&self, old: &Path, new: &Path) -> Result<[f64; 3], String> {
        let folder = workspace::root().join("target/cost").join(self.name);
        let output = folder.join("report");
        if output.exists() {
            fs::remove_dir_all(&output).map_err(|error| wrong(&output, &error))?;
        }
        for (row, program) in [("old", old), ("new", new)] {
            let text = (self.subject)(&quoted(program), &quoted(new));
            write(
                &folder.join("subjects").join(row).join("subject.toml"),
                &text,
            )?;
        }
        let file = folder.join("cost.toml");
        write(&file, &self.comparison())?;
        let status = Command::new(new)
            .arg("compare")
            .arg(&file)
            .arg("--output")
            .arg(&output)
            .status()
            .map_err(|error| wrong(new, &error))?;
        if !status.success() {
            return Err(format!("{}: the comparison ended with {status}", self.name));
        }
        interval(&output.join("report.json"))
    }

    fn comparison(&self) -> String {
        let mut text = String::new();
        let _ = write!(
            text,
            "name = \"cost-{}\"\nquestion = \"{}\"\nsubjects = [\"old\", \"new\"]\n\
             baseline = \"old\"\nrounds = 25\nrounds_per_start = 1\nseed = 1\n\n{}",
            self.name, self.question, self.workload
        );
        text
    }
}

/// Processor time of `new` as a multiple of that of `old`, as the report has it.
fn interval(report: &Path) -> Result<[f64; 3], String> {
    let text = fs::read_to_string(report).map_err(|error| wrong(report, &error))?;
    let report: Value = serde_json::from_str(&text).map_err(|error| error.to_string())?;
    let rows = report["subjects"].as_array();
    let row = rows.and_then(|rows| rows.iter().find(|row| row["name"] == "new"));
    let ratio = row.map(|row| &row["further"][0]["ratio"]);
    let end = |name| ratio.and_then(|ratio| ratio[name].as_f64());
    match (end("low"), end("centre"), end("high")) {
        (Some(low), Some(centre), Some(high)) => Ok([low, centre, high]),
        _ => Err("the report has no interval for processor time".to_owned()),
    }
}

fn generator(program: &str, server: &str) -> String {
    format!(
        "description = \"the closed loop\"\nkind = \"command\"\noutput = \"\"\n\n\
         [start]\ncommand = [\n    {program}, \"run\", \"-n\", \"400000\", \"-c\", \"64\",\n    \
         \"--cpus\", \"{{cpus}}\", \"--format\", \"json\", \"-o\", \"{{dir}}/record.json\",\n    \
         \"http://127.0.0.1:{{companion.server.port}}/\",\n]\n\n\
         [[companion]]\nname = \"server\"\ncommand = [\n    {server}, \"serve\", \"--addr\", \
         \"127.0.0.1:{{port}}\", \"--threads\", \"1\", \"--cpus\", \"{{cpus}}\",\n]\n\
         ready = {{ path = \"/health\" }}\n"
    )
}

fn server(program: &str, _: &str) -> String {
    format!(
        "description = \"the server\"\nkind = \"server\"\n\n\
         [start]\ncommand = [\n    {program}, \"serve\", \"--addr\", \"127.0.0.1:{{port}}\",\n    \
         \"--threads\", \"1\", \"--cpus\", \"{{cpus}}\",\n]\n\n\
         [ready]\npath = \"/health\"\n\n\
         [[answer]]\npath = \"/\"\nstatus = 200\ncontent_type = \"text/plain\"\n\
         body = \"Hello, World!\"\n"
    )
}

/// A path as a string of TOML.
fn quoted(path: &Path) -> String {
    toml::Value::String(path.display().to_string()).to_string()
}

fn write(file: &PathBuf, text: &str) -> Result<(), String> {
    if let Some(folder) = file.parent() {
        fs::create_dir_all(folder).map_err(|error| wrong(folder, &error))?;
    }
    fs::write(file, text).map_err(|error| wrong(file, &error))
}

fn wrong(path: &Path, error: &std::io::Error) -> String {
    format!("{}: {error}", path.display())
}

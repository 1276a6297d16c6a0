//! How many instructions an exchange costs the generator: loads on the simulator under callgrind.
//!
//! Virtual time makes the same plan the same work, so that two revisions can be told apart by a
//! tenth of a percent on a machine where times drift by a factor of two. What is counted holds the
//! simulated network and server, too, which no change of the generator touches; the share of our
//! own files stands beside it, by the line of source that each instruction comes from.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use super::workspace;

/// The tests of `load/src/tests/cost.rs`.
const LOADS: [&str; 4] = ["closed_loop", "pipelined", "open_loop", "streams"];
/// Each load runs with both numbers of exchanges: what starting costs cancels in the difference.
const EXCHANGES: [u64; 2] = [20_000, 60_000];
/// Where the code lies whose instructions are the generator's.
const OURS: [&str; 3] = ["load/src/", "proto/src/", "measure/src/"];
/// A change that "costs what it did" ends at or below this, new ÷ old.
const RATIO_MAX: f64 = 1.01;

/// Instructions for each exchange.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Cost {
    all: f64,
    ours: f64,
}

/// Prints what each load costs in this checkout, and in the checkout `old` where there is one.
///
/// # Errors
/// Where something cannot be built or counted, or a load costs more than it did.
pub(crate) fn run(old: Option<&str>) -> Result<(), String> {
    let new = measure(&workspace::root())?;
    let old = old.map(|root| measure(Path::new(root))).transpose()?;
    println!("instructions per exchange (of these the generator's own)");
    let mut dearer = Vec::new();
    for (load, cost) in &new {
        let before = old.as_ref().and_then(|old| old.get(load));
        let Some(before) = before else {
            println!("{load:12} {:7.0} ({:.0})", cost.all, cost.ours);
            continue;
        };
        let ratio = cost.all / before.all;
        println!(
            "{load:12} {:7.0} ({:.0}) before {:7.0} ({:.0})  {ratio:.4} ({:.4})",
            cost.all,
            cost.ours,
            before.all,
            before.ours,
            cost.ours / before.ours
        );
        if ratio > RATIO_MAX {
            dearer.push(format!("{load} costs {ratio:.4} × what it did"));
        }
    }
    if dearer.is_empty() {
        return Ok(());
    }
    Err(format!("{}; allowed: {RATIO_MAX}", dearer.join(", ")))
}

/// What each load costs in the checkout at `root`.
fn measure(root: &Path) -> Result<BTreeMap<&'static str, Cost>, String> {
    let program = build(root)?;
    let folder = root.join("target/callgrind");
    fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut costs = BTreeMap::new();
    for load in LOADS {
        let [few, many] = EXCHANGES;
        let (few_all, few_ours) = count(&program, load, few, &folder)?;
        let (many_all, many_ours) = count(&program, load, many, &folder)?;
        let each = |few: u64, many: u64| {
            many.saturating_sub(few) as f64 / (EXCHANGES[1] - EXCHANGES[0]) as f64
        };
        let cost = Cost {
            all: each(few_all, many_all),
            ours: each(few_ours, many_ours),
        };
        costs.insert(load, cost);
    }
    Ok(costs)
}

/// Builds the tests of `load` as a release and says where they are.
fn build(root: &Path) -> Result<PathBuf, String> {
    let output = Command::new("cargo")
        .args(["test", "--quiet", "--release", "--package", "load", "--lib"])
        .args(["--no-run", "--message-format", "json"])
        .current_dir(root)
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| format!("cargo: {error}"))?;
    if !output.status.success() {
        return Err(format!(
            "{}: the tests of load cannot be built",
            root.display()
        ));
    }
    let text = String::from_utf8_lossy(&output.stdout);
    let messages = text
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok());
    messages
        .filter(|message: &Value| message["target"]["name"] == "load")
        .find_map(|message| message["executable"].as_str().map(PathBuf::from))
        .ok_or_else(|| "cargo named no program for the tests of load".to_owned())
}

/// Instructions of a whole run of `load`: all, and those of our own files.
fn count(program: &Path, load: &str, exchanges: u64, folder: &Path) -> Result<(u64, u64), String> {
    let file = folder.join(format!("{load}-{exchanges}.out"));
    let test = format!("tests::cost::{load}");
    let output = Command::new("valgrind")
        .args(["--quiet", "--tool=callgrind"])
        .arg(format!("--callgrind-out-file={}", file.display()))
        .arg(program)
        .args([test.as_str(), "--exact", "--test-threads=1"])
        .env("RINGSIDE_COST_EXCHANGES", exchanges.to_string())
        .output()
        .map_err(|error| format!("valgrind: {error}; install it (Debian: valgrind)"))?;
    let told = String::from_utf8_lossy(&output.stdout);
    if !output.status.success() || !told.contains("1 passed") {
        let errors = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{test} under callgrind: {told}{errors}"));
    }
    let text = fs::read_to_string(&file).map_err(|error| format!("{}: {error}", file.display()))?;
    Ok(sums(&text))
}

/// Sums a profile in callgrind's format (Valgrind manual, "Callgrind Format Specification"): all
/// instructions, and those of lines in our own files.
fn sums(profile: &str) -> (u64, u64) {
    let mut names: BTreeMap<&str, bool> = BTreeMap::new();
    let (mut all, mut ours, mut in_ours, mut of_a_call) = (0, 0, false, false);
    for line in profile.lines() {
        let file = ["fl=", "fi=", "fe="]
            .iter()
            .find_map(|key| line.strip_prefix(key));
        if let Some(file) = file {
            in_ours = is_ours(file, &mut names);
        } else if let Some(file) = line.strip_prefix("cfi=").or(line.strip_prefix("cfl=")) {
            // A file may be named first as that of a callee.
            is_ours(file, &mut names);
        } else if line.starts_with("calls=") {
            // The next line holds what the callee cost, which is counted there.
            of_a_call = true;
        } else if line.starts_with(|first: char| first.is_ascii_digit() || "+-*".contains(first)) {
            let cost = line.split_ascii_whitespace().nth(1);
            let cost: u64 = cost.and_then(|cost| cost.parse().ok()).unwrap_or(0);
            if !std::mem::take(&mut of_a_call) {
                all += cost;
                ours += if in_ours { cost } else { 0 };
            }
        }
    }
    (all, ours)
}

/// Whether a file is one of ours: `(ID) NAME` where it is named first, `(ID)` from then on.
fn is_ours<'a>(file: &'a str, names: &mut BTreeMap<&'a str, bool>) -> bool {
    let (id, name) = file.split_once(' ').unwrap_or((file, ""));
    if !name.is_empty() {
        let ours = OURS.iter().any(|part| name.contains(part)) && !name.contains("/tests");
        names.insert(id, ours);
    }
    names.get(id).copied().unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use super::sums;

    #[test]
    fn what_a_callee_costs_is_counted_once_and_files_keep_their_numbers() {
        let profile = "\
events: Ir
fl=(1) /x/load/src/worker/mod.rs
fn=(1) run
10 100
+2 7
cfi=(2) /x/engine/src/sim/driver.rs
cfn=(2) wait
calls=3 20
12 5000
fi=(3) /x/core/src/slice.rs
5 11
fe=(1)
* 1

fl=(2)
fn=(2)
20 5000
fl=(4) /x/load/src/tests/cost.rs
fn=(3)
1 9
";
        assert_eq!(sums(profile), (100 + 7 + 11 + 1 + 5000 + 9, 108));
    }
}

//! How many instructions an exchange costs the generator: loads on the simulator under callgrind.
//!
//! Virtual time makes the same plan the same work, so that two revisions can be told apart by a
//! tenth of a percent on a machine where times drift by a factor of two. A turn of the driver is
//! the simulated network and server, which no change of the generator touches, and whose
//! allocations come out a few percent apart from build to build: it is shown, and not judged.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use super::workspace;
use crate::cargo::cargo;

/// The tests of `load/src/tests/cost.rs`.
const LOADS: [&str; 5] = [
    "closed_loop",
    "pipelined",
    "open_loop",
    "watched",
    "streams",
];
/// Each load runs with both numbers of exchanges: what starting costs cancels in the difference.
const EXCHANGES: [u64; 2] = [20_000, 60_000];
/// The function in which the simulated world has its turn.
const WORLD: &str = "*engine::driver::Driver>::wait*";
/// A change that "costs what it did" ends at or below this, new ÷ old of the generator's own.
const RATIO_MAX: f64 = 1.01;

/// Instructions for each exchange.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Cost {
    all: f64,
    /// Without the simulated network and server.
    own: f64,
}

/// By load.
type Costs = BTreeMap<&'static str, Cost>;

/// Prints what each load costs in this checkout, and in the checkout `old` where there is one.
///
/// # Errors
/// Where something cannot be built or counted, a load costs more than it did, or `old` has no load
/// to compare with.
pub(crate) fn run(old: Option<&str>) -> Result<(), String> {
    let new = measure(&workspace::root())?;
    if let Some(load) = LOADS.iter().find(|load| !new.contains_key(**load)) {
        return Err(format!("{} is gone", test(load)));
    }
    let old = old.map(|root| measure(Path::new(root))).transpose()?;
    println!("instructions per exchange (without the simulated network and server)");
    for (load, cost) in &new {
        println!(
            "{}",
            line(load, *cost, old.as_ref().map(|old| old.get(load)))
        );
    }
    old.map_or(Ok(()), |old| judged(&new, &old))
}

/// What a load costs; and what it did `before`, where that was measured and it was there.
fn line(load: &str, cost: Cost, before: Option<Option<&Cost>>) -> String {
    let now = format!("{load:12} {:7.0} ({:.0})", cost.all, cost.own);
    match before {
        None => now,
        Some(None) => format!("{now} before: not there, so not compared"),
        Some(Some(before)) => format!(
            "{now} before {:7.0} ({:.0})  {:.4}",
            before.all,
            before.own,
            ratio(cost, *before)
        ),
    }
}

/// What the generator itself takes, new ÷ old: the simulated world, which is the larger part, would
/// hide a change in the other.
fn ratio(new: Cost, old: Cost) -> f64 {
    new.own / old.own
}

/// Complains where a load costs more than it did, or none was there before.
fn judged(new: &Costs, old: &Costs) -> Result<(), String> {
    let both = || {
        new.iter()
            .filter_map(|(load, cost)| Some((load, *cost, *old.get(load)?)))
    };
    if both().next().is_none() {
        return Err("nothing was compared: the older checkout has none of these loads".to_owned());
    }
    let dearer: Vec<String> = both()
        .map(|(load, cost, before)| (load, ratio(cost, before)))
        .filter(|(_, ratio)| *ratio > RATIO_MAX)
        .map(|(load, ratio)| format!("{load} costs {ratio:.4} × what it did"))
        .collect();
    if dearer.is_empty() {
        return Ok(());
    }
    Err(format!("{}; allowed: {RATIO_MAX}", dearer.join(", ")))
}

/// What each load costs that is there, in the checkout at `root`.
fn measure(root: &Path) -> Result<Costs, String> {
    let program = build(root)?;
    let folder = root.join("target/callgrind");
    fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let there = listed(&program)?;
    let mut costs = Costs::new();
    for load in LOADS.into_iter().filter(|load| is_listed(&there, load)) {
        let [few, many] = EXCHANGES;
        let each = |without: Option<&str>| {
            let few_in_all = count(&program, load, few, without, &folder)?;
            let many_in_all = count(&program, load, many, without, &folder)?;
            let more = many_in_all.saturating_sub(few_in_all);
            Ok::<f64, String>(more as f64 / (many - few) as f64)
        };
        let cost = Cost {
            all: each(None)?,
            own: each(Some(WORLD))?,
        };
        if cost.own >= cost.all {
            return Err(format!("{WORLD} is no function of {load} any more"));
        }
        costs.insert(load, cost);
    }
    Ok(costs)
}

/// Builds the tests of `load` as a release and says where they are.
fn build(root: &Path) -> Result<PathBuf, String> {
    let output = cargo(root)
        .args(["test", "--quiet", "--release", "--package", "load", "--lib"])
        .args(["--no-run", "--message-format", "json"])
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

/// The tests of a program, as its harness lists them.
fn listed(program: &Path) -> Result<String, String> {
    let output = Command::new(program).arg("--list").output();
    let output = output.map_err(|error| format!("{}: {error}", program.display()))?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Whether a load is among the tests that were listed.
fn is_listed(tests: &str, load: &str) -> bool {
    let line = format!("{}: test", test(load));
    tests.lines().any(|listed| listed == line)
}

/// The test that is a load.
fn test(load: &str) -> String {
    format!("tests::cost::{load}")
}

/// Instructions of a whole run of `load`, but for those inside the function `without`.
fn count(
    program: &Path,
    load: &str,
    exchanges: u64,
    without: Option<&str>,
    folder: &Path,
) -> Result<u64, String> {
    let file = folder.join(format!("{load}-{exchanges}.out"));
    let test = test(load);
    let output = Command::new("valgrind")
        .args(["--quiet", "--tool=callgrind"])
        .arg(format!("--callgrind-out-file={}", file.display()))
        // Counting begins switched on, and each entry and each return switches.
        .args(without.map(|function| format!("--toggle-collect={function}")))
        .arg("--collect-atstart=yes")
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
    total(&text).ok_or_else(|| format!("{}: no sum", file.display()))
}

/// What a profile sums up to (Valgrind manual, "Callgrind Format Specification").
fn total(profile: &str) -> Option<u64> {
    let line = profile.lines().find_map(|line| {
        let sum = line.strip_prefix("totals: ");
        sum.or_else(|| line.strip_prefix("summary: "))
    });
    line?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn cost(all: f64, own: f64) -> Cost {
        Cost { all, own }
    }

    #[test]
    fn what_the_simulated_world_takes_hides_no_change_of_the_generator() {
        // A fiftieth more, of a tenth of the whole; and the world as different as it can be.
        let old = Costs::from([("closed_loop", cost(10_000.0, 1_000.0))]);
        for all in [5_000.0, 10_020.0, 20_000.0] {
            let new = Costs::from([("closed_loop", cost(all, 1_020.0))]);
            let what = judged(&new, &old).expect_err("dearer");
            assert!(what.starts_with("closed_loop costs 1.0200 ×"), "{what}");
            let same = Costs::from([("closed_loop", cost(all, 1_009.0))]);
            assert_eq!(judged(&same, &old), Ok(()));
        }
    }

    #[test]
    fn a_load_that_was_not_there_before_is_said_and_allowed_beside_others() {
        let new = Costs::from([("closed_loop", cost(9.0, 5.0)), ("streams", cost(9.0, 5.0))]);
        let old = Costs::from([("closed_loop", cost(9.0, 5.0))]);
        assert_eq!(judged(&new, &old), Ok(()));
        assert!(judged(&new, &Costs::new()).is_err_and(|what| what.contains("nothing was")));
        let said = line("streams", new["streams"], Some(old.get("streams")));
        assert!(
            said.ends_with("before: not there, so not compared"),
            "{said}"
        );
        let said = line(
            "closed_loop",
            new["closed_loop"],
            Some(old.get("closed_loop")),
        );
        assert!(said.ends_with("1.0000"), "{said}");
        let tests = "tests::cost::streams_of_frames: test\ntests::cost::closed_loop: test\n";
        assert!(is_listed(tests, "closed_loop") && !is_listed(tests, "streams"));
    }

    #[test]
    fn the_sum_of_a_profile_is_read() {
        let profile = "events: Ir\nfn=(1) run\n10 100\n+2 7\n\ntotals: 107\n";
        assert_eq!(total(profile), Some(107));
        assert_eq!(total("events: Ir\nsummary: 5\n"), Some(5));
        assert_eq!(total("events: Ir\n"), None);
    }
}

//! How many instructions an exchange costs the generator: loads on the simulator under callgrind.
//!
//! Virtual time makes the same plan the same work, so that two revisions can be told apart by a
//! tenth of a percent on a machine where times drift by a factor of two. A turn of the driver is
//! the simulated network and server, which no change of the generator touches, and whose
//! allocations come out a few percent apart from build to build: it is taken as it was before.

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
/// The function in which the simulated world has its turn.
const WORLD: &str = "*engine::driver::Driver>::wait*";
/// A change that "costs what it did" ends at or below this, new ÷ old.
const RATIO_MAX: f64 = 1.01;

/// Instructions for each exchange.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Cost {
    all: f64,
    /// Without the simulated network and server.
    own: f64,
}

/// Prints what each load costs in this checkout, and in the checkout `old` where there is one.
///
/// # Errors
/// Where something cannot be built or counted, or a load costs more than it did.
pub(crate) fn run(old: Option<&str>) -> Result<(), String> {
    let new = measure(&workspace::root())?;
    let old = old.map(|root| measure(Path::new(root))).transpose()?;
    println!("instructions per exchange (without the simulated network and server)");
    let mut dearer = Vec::new();
    for (load, cost) in &new {
        let before = old.as_ref().and_then(|old| old.get(load));
        let Some(before) = before else {
            println!("{load:12} {:7.0} ({:.0})", cost.all, cost.own);
            continue;
        };
        let ratio = (before.all + cost.own - before.own) / before.all;
        println!(
            "{load:12} {:7.0} ({:.0}) before {:7.0} ({:.0})  {ratio:.4}",
            cost.all, cost.own, before.all, before.own
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

/// Instructions of a whole run of `load`, but for those inside the function `without`.
fn count(
    program: &Path,
    load: &str,
    exchanges: u64,
    without: Option<&str>,
    folder: &Path,
) -> Result<u64, String> {
    let file = folder.join(format!("{load}-{exchanges}.out"));
    let test = format!("tests::cost::{load}");
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
    use super::total;

    #[test]
    fn the_sum_of_a_profile_is_read() {
        let profile = "events: Ir\nfn=(1) run\n10 100\n+2 7\n\ntotals: 107\n";
        assert_eq!(total(profile), Some(107));
        assert_eq!(total("events: Ir\nsummary: 5\n"), Some(5));
        assert_eq!(total("events: Ir\n"), None);
    }
}

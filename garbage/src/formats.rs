//! The lines of each runtime.

use crate::Entry;

/// It is about a collection, and can't be read.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Strange;

/// `[0.956s][info][gc] GC(0) Pause Young (Allocation Failure) 17M->2M(61M) 6.429ms`, and what is
/// done beside the program, such as `GC(1) Concurrent Mark 8.565ms`. Collectors that hardly stop
/// it have their pauses in `gc,phases`, and a line without a pause at the end. Those of ZGC with
/// generations begin with the generation: `GC(3) y: Pause Mark Start 0.002ms`.
pub(crate) fn java(line: &str) -> Result<Option<Entry>, Strange> {
    // Java 8, and newer ones that were asked for its format.
    let old = ["[GC (", "[Full GC (", "[GC pause ", "[GC remark", ": [GC "];
    if old.iter().any(|start| line.contains(start)) {
        return Err(Strange);
    }
    let is_pause = |rest: &str| rest.contains(") Pause ") && rest.ends_with("ms");
    let Some((tags, rest)) = line.split_once("] GC(") else {
        // Without any decoration (`-Xlog:gc::none`).
        return match line.strip_prefix("GC(").is_some_and(is_pause) {
            true => Err(Strange),
            false => Ok(None),
        };
    };
    let tags = tags.rsplit('[').next().unwrap_or_default().trim();
    if !tags.starts_with("gc") && is_pause(rest) {
        // Without its tags (`-Xlog:gc::uptime`).
        return Err(Strange);
    }
    if tags != "gc" && tags != "gc,phases" {
        return Ok(None);
    }
    let (number, what) = rest.split_once(") ").ok_or(Strange)?;
    let number = Some(number.parse().map_err(|_| Strange)?);
    let generations = ["y: ", "Y: ", "O: "];
    let what = generations
        .iter()
        .find_map(|generation| what.strip_prefix(generation))
        .unwrap_or(what);
    if !what.starts_with("Pause ") {
        let whole = ["Garbage Collection", "Minor Collection", "Major Collection"];
        let ends = tags == "gc" && whole.iter().any(|start| what.starts_with(start));
        return Ok(ends.then_some(Entry {
            number,
            paused_ns: 0,
            longest_ns: 0,
        }));
    }
    let time = what.rsplit(' ').next().unwrap_or_default();
    let pause_ns = time.strip_suffix("ms").and_then(milliseconds);
    let pause_ns = pause_ns.ok_or(Strange)?;
    Ok(Some(Entry {
        number,
        paused_ns: pause_ns,
        longest_ns: pause_ns,
    }))
}

/// `gc 1 @0.041s 1%: 0.020+0.53+0.004 ms clock, …`: of the three times the first and the last are
/// those at which everything stands still (package runtime, "gctrace").
pub(crate) fn go(line: &str) -> Result<Option<Entry>, Strange> {
    let Some((number, rest)) = line
        .strip_prefix("gc ")
        .and_then(|all| all.split_once(" @"))
    else {
        return Ok(None);
    };
    if number.parse::<u64>().is_err() {
        return Ok(None);
    }
    let (_, times) = rest.split_once("%: ").ok_or(Strange)?;
    let (times, _) = times.split_once(" ms clock").ok_or(Strange)?;
    let times: Vec<_> = times.split('+').map(milliseconds).collect();
    match times[..] {
        // Each has one line, and several processes that write to one log count alike.
        [Some(first), Some(_), Some(last)] => Ok(Some(Entry {
            number: None,
            paused_ns: first.saturating_add(last),
            longest_ns: first.max(last),
        })),
        _ => Err(Strange),
    }
}

/// `[18:0x5a80]       33 ms: Scavenge 3.9 (4.0) -> 3.5 (5.0) MB, 1.06 / 0.00 ms  (average …`. Of
/// marking that was done in steps before, they are told behind that: `(+ 0.3 ms in 5 steps since
/// start of marking, biggest step 0.1 ms, …`; each of them stopped the program by itself.
pub(crate) fn node(line: &str) -> Result<Option<Entry>, Strange> {
    let kinds = ["Scavenge", "Mark-Compact", "Mark-sweep", "Minor Mark-"];
    let Some((start, what)) = line.split_once(" ms: ") else {
        return Ok(None);
    };
    if !start.starts_with('[') || !kinds.iter().any(|kind| what.starts_with(kind)) {
        return Ok(None);
    }
    let (pause, rest) = what.split_once(" / ").ok_or(Strange)?;
    let pause = pause.rsplit(' ').next().and_then(milliseconds);
    let steps = rest.split_once("(+ ").and_then(|(_, steps)| {
        let (all, steps) = steps.split_once(" ms in ")?;
        let (_, biggest) = steps.split_once("biggest step ")?;
        let (biggest, _) = biggest.split_once(" ms")?;
        Some((milliseconds(all)?, milliseconds(biggest)?))
    });
    let (all_ns, biggest_ns) = steps.unwrap_or_default();
    Ok(Some(Entry {
        number: None,
        paused_ns: all_ns.saturating_add(pause.ok_or(Strange)?),
        longest_ns: biggest_ns.max(pause.ok_or(Strange)?),
    }))
}

/// Nanoseconds in a number of milliseconds, whose point may be a comma.
fn milliseconds(text: &str) -> Option<u64> {
    let number: f64 = text.replace(',', ".").parse().ok()?;
    let nanoseconds = number * 1e6;
    (0.0..1e18)
        .contains(&nanoseconds)
        .then_some(nanoseconds.round() as u64)
}

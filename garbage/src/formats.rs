//! The lines of each runtime.

use crate::Entry;

/// It is about a collection, and can't be read.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Strange;

/// `[0.956s][info][gc] GC(0) Pause Young (Allocation Failure) 17M->2M(61M) 6.429ms`, and what is
/// done beside the program, such as `GC(1) Concurrent Mark 8.565ms`. Collectors that hardly stop
/// it have their pauses in `gc,phases`, and a line without a time at the end.
pub(crate) fn java(line: &str) -> Result<Option<Entry>, Strange> {
    // Java 8, and newer ones that were asked for its format.
    let old = ["[GC (", "[Full GC (", "[GC pause ", "[GC remark", ": [GC "];
    if old.iter().any(|start| line.contains(start)) {
        return Err(Strange);
    }
    let Some((tags, rest)) = line.split_once("] GC(") else {
        return Ok(None);
    };
    let tags = tags.rsplit('[').next().unwrap_or_default().trim();
    if tags != "gc" && tags != "gc,phases" {
        return Ok(None);
    }
    let (number, what) = rest.split_once(") ").ok_or(Strange)?;
    let number = Some(number.parse().map_err(|_| Strange)?);
    let is_pause = what.starts_with("Pause ");
    let ends = tags == "gc" && (is_pause || what.starts_with("Garbage Collection"));
    if !is_pause {
        let nothing = Entry {
            number,
            pauses_ns: [0; 2],
        };
        return Ok(ends.then_some(nothing));
    }
    let time = what.rsplit(' ').next().unwrap_or_default();
    let pause_ns = time.strip_suffix("ms").and_then(milliseconds);
    Ok(Some(Entry {
        number,
        pauses_ns: [pause_ns.ok_or(Strange)?, 0],
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
    let Ok(number) = number.parse() else {
        return Ok(None);
    };
    let (_, times) = rest.split_once("%: ").ok_or(Strange)?;
    let (times, _) = times.split_once(" ms clock").ok_or(Strange)?;
    let times: Vec<_> = times.split('+').map(milliseconds).collect();
    match times[..] {
        [Some(first), Some(_), Some(last)] => Ok(Some(Entry {
            number: Some(number),
            pauses_ns: [first, last],
        })),
        _ => Err(Strange),
    }
}

/// `[18:0x5a80]       33 ms: Scavenge 3.9 (4.0) -> 3.5 (5.0) MB, 1.06 / 0.00 ms  (average …`
pub(crate) fn node(line: &str) -> Result<Option<Entry>, Strange> {
    let kinds = ["Scavenge", "Mark-Compact", "Mark-sweep", "Minor Mark-"];
    let Some((start, what)) = line.split_once(" ms: ") else {
        return Ok(None);
    };
    if !start.starts_with('[') || !kinds.iter().any(|kind| what.starts_with(kind)) {
        return Ok(None);
    }
    let (pause, _) = what.split_once(" / ").ok_or(Strange)?;
    let pause = pause.rsplit(' ').next().and_then(milliseconds);
    Ok(Some(Entry {
        number: None,
        pauses_ns: [pause.ok_or(Strange)?, 0],
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

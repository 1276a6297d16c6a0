//! Which processes serve a comparison that goes on: those of before, whose rounds are of the start
//! that these had, or new ones.

use supervisor::running::Running;

use crate::manifest::{ProcessFacts, Role, RowFacts};
use crate::rounds::Entry;
use crate::store::Kept;

/// What is known of the process of a server that runs already, which may be that of `before`.
pub(crate) fn of_running(
    running: &Running,
    hashed: impl FnOnce(&[u8]) -> String,
    before: Option<&RowFacts>,
) -> Option<ProcessFacts> {
    let root = running.root.as_ref().ok()?;
    let before = before.and_then(|row| row.process.as_ref());
    let mut process = ProcessFacts {
        pid: root.pid,
        started_ticks: root.started,
        command_hash: running.called().map(|called| hashed(&called)),
        start: 0,
    };
    if let Some(before) = before.filter(|before| process.is(before)) {
        process.start = before.start;
    }
    Some(process)
}

/// What became of the processes of a row since its rounds before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Now {
    /// We start them ourselves, and did so again.
    Started,
    /// They ran on.
    Same,
    /// Somebody started others.
    Restarted,
    /// Nobody knows.
    Unknown,
}

fn since(before: &RowFacts, now: &RowFacts) -> Now {
    match (now.ran_before, &before.process, &now.process) {
        (None, _, _) => Now::Started,
        (_, Some(before), Some(now)) if now.is(before) && now.start > 0 => Now::Same,
        (_, Some(_), Some(_)) => Now::Restarted,
        _ => Now::Unknown,
    }
}

/// What a reader has to know of the processes that it goes on with `at` a time, and whether some
/// are new.
pub(crate) fn went_on(kept: &Kept, entries: &[Entry], rows: &[RowFacts], at: &str) -> Told {
    let interrupted = kept.manifest.setup.ended_early.is_some() && !kept.rounds.is_empty();
    let mut groups: Vec<(Now, &str)> = Vec::new();
    for (entry, row) in entries.iter().zip(rows) {
        let was_measured = kept.rounds.iter().any(|round| round.row == row.name);
        let Some(before) = kept.manifest.row(&row.name).filter(|_| was_measured) else {
            continue;
        };
        let now = since(before, row);
        let goes_on = interrupted || now == Now::Restarted && entry.wants_from(1);
        if goes_on && row.role != Role::Ceiling {
            groups.push((now, &row.name));
        }
    }
    told(&groups, at)
}

/// What is said of processes.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Told {
    /// Sentences.
    pub(crate) cautions: Vec<String>,
    /// Whether some may be new.
    pub(crate) are_new: bool,
}

fn told(rows: &[(Now, &str)], at: &str) -> Told {
    let are = |now: Now| {
        let group = rows.iter().filter(|row| row.0 == now).map(|row| row.1);
        Some(group.collect::<Vec<_>>().join(", ")).filter(|names| !names.is_empty())
    };
    let (same, unknown) = (are(Now::Same), are(Now::Unknown));
    let (started, restarted) = (are(Now::Started), are(Now::Restarted));
    let mut cautions = Vec::new();
    let is_all = same.is_none() && unknown.is_none() && restarted.is_none();
    if started.is_some() && is_all {
        cautions.push(format!(
            "The measurement was interrupted and continued at {at} with new processes, which count \
             as a start of their own."
        ));
    } else if let Some(names) = &started {
        cautions.push(format!(
            "The measurement was interrupted and continued at {at} with new processes of {names}, \
             which count as a start of their own."
        ));
    }
    cautions.extend(same.map(|names| {
        format!(
            "The measurement was interrupted and continued at {at} with the same processes of \
             {names}, which count as the same start."
        )
    }));
    cautions.extend(restarted.as_ref().map(|names| {
        format!(
            "The measurement continued at {at} after a restart of {names}: the rounds since then \
             count as a start of their own."
        )
    }));
    cautions.extend(unknown.as_ref().map(|names| {
        format!(
            "The measurement was interrupted and continued at {at}; we can't tell whether {names} \
             ran on as the same processes, so the rounds since then count as a start of their own."
        )
    }));
    Told {
        cautions,
        are_new: started.or(restarted).or(unknown).is_some(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processes_are_called_new_only_if_they_are() {
        let told = |rows: &[(Now, &str)]| {
            let told = told(rows, "noon");
            (told.cautions.join(" "), told.are_new)
        };
        assert_eq!(told(&[]), (String::new(), false));
        let (text, new) = told(&[(Now::Started, "a"), (Now::Started, "b")]);
        assert!(
            text.contains("at noon with new processes, which") && new,
            "{text}"
        );
        let (text, new) = told(&[(Now::Same, "a"), (Now::Same, "b")]);
        assert!(text.contains("the same processes of a, b, which"), "{text}");
        assert!(!new && !text.contains("new"), "{text}");
        let (text, new) = told(&[(Now::Same, "a"), (Now::Started, "b")]);
        assert!(
            text.contains("with new processes of b, which") && new,
            "{text}"
        );
        let (text, new) = told(&[(Now::Restarted, "a"), (Now::Unknown, "b")]);
        assert!(text.contains("after a restart of a: ") && new, "{text}");
        assert!(text.contains("can't tell whether b ran on"), "{text}");
    }
}

//! Going on with a comparison that was begun: only with the same file, the same options, the same
//! machine and the same programs, since rounds of different things must not be put together.

mod processes;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use load::redaction::KEY_FILE;
use measure::host::Host;
use measure::time::{unix_seconds, utc_stamp};
use netns::Network;
use supervisor::binaries::Binary;

use crate::comparison::Comparison;
use crate::manifest::{Manifest, Outcome, RowFacts, Setup};
use crate::rounds::Entry;
use crate::store::{ASKED, Kept, MANIFEST};

pub(crate) use processes::of_running;

/// So many digits of a hash tell two builds apart.
const HASH_SHOWN: usize = 12;

/// Whether what is wanted `now` is what was begun in `folder`. `file` is the comparison's file as
/// it is now.
///
/// # Errors
/// A sentence that says in what they differ.
pub(crate) fn check(
    kept: &Kept,
    folder: &Path,
    file: &[u8],
    comparison: &Comparison,
    now: &Manifest,
) -> Result<(), String> {
    same_file(folder, kept.manifest.file_hash.as_deref(), file, comparison)?;
    let (before, folder) = (&kept.manifest, folder.display());
    let differ = now.asked.differs_from(&before.asked);
    if !differ.is_empty() {
        return Err(format!(
            "{folder} was started with a different {}: use the same one, or start over",
            differ.join(" and a different ")
        ));
    }
    if now.setup.ringside != before.setup.ringside {
        return Err(format!(
            "{folder} was started with ringside {}, but this is {}: start over",
            before.setup.ringside, now.setup.ringside
        ));
    }
    same_generator(&before.setup, &now.setup).map_err(|what| format!("{folder} {what}"))?;
    same_network(before.network.as_ref(), now.network.as_ref())
        .map_err(|what| format!("{folder} {what}"))?;
    let machine = |host: &Host| {
        let (kernel, model) = (host.kernel.clone(), host.cpu_model.clone());
        (kernel, model, host.cpus_online)
    };
    if machine(&now.host) != machine(&before.host) {
        return Err(format!(
            "{folder} was started on another machine or kernel, so it can't be continued here: \
             start over"
        ));
    }
    Ok(())
}

/// Whether what is in `folder` was begun in the host's network: a comparison, or those of a sweep.
/// Those that don't say are from before there were others.
pub fn began_in_host(folder: &Path) -> bool {
    let manifest = |folder: &Path| {
        let text = fs::read_to_string(folder.join(MANIFEST)).ok()?;
        Manifest::from_json(&text).ok()
    };
    let below = || {
        let entries = fs::read_dir(folder).ok()?;
        entries.flatten().find_map(|entry| manifest(&entry.path()))
    };
    manifest(folder)
        .or_else(below)
        .is_some_and(|manifest| !is_private(manifest.network.as_ref()))
}

/// Whether rounds of `before` and of `now` may stand beside each other.
///
/// # Errors
/// The rest of a sentence that begins with what was begun.
fn same_network(before: Option<&Network>, now: Option<&Network>) -> Result<(), String> {
    match (is_private(before), is_private(now)) {
        (false, true) => Err(
            "was started in the host's network, but this is a private one: add --host-network, or \
             start over"
                .to_owned(),
        ),
        (true, false) => Err(match now {
            Some(Network::Refused { why }) => format!(
                "was started in a private network, which can't be had now: start over, or allow \
                 it. {why}"
            ),
            _ => "was started in a private network, but this is the host's: leave out \
                  --host-network, or start over"
                .to_owned(),
        }),
        _ => Ok(()),
    }
}

fn is_private(network: Option<&Network>) -> bool {
    network.is_some_and(Network::is_private)
}

/// Whether the load comes from the program that it came from `before`: a version is built many
/// times, and a generator that is built otherwise is another instrument.
fn same_generator(before: &Setup, now: &Setup) -> Result<(), String> {
    let short = |hash: &String| hash.chars().take(HASH_SHOWN).collect::<String>();
    match (&before.ringside_sha256, &now.ringside_sha256) {
        (Some(before), Some(now)) if before == now => Ok(()),
        (Some(before), Some(now)) => Err(format!(
            "was started with another build of ringside (SHA-256 {}…, this one is {}…), and rounds \
             of two builds can't be combined: resume it with that build, or start over",
            short(before),
            short(now)
        )),
        // Whoever kept no hash is not this program, which does.
        (None, Some(_)) => Err(
            "was started with an older build of ringside, which didn't record its own hash: resume \
             it with that build, or start over"
                .to_owned(),
        ),
        (_, None) => Err(
            "can't be resumed: /proc/self/exe can't be read, so we don't know whether this build \
             of ringside started it; mount /proc, or start over"
                .to_owned(),
        ),
    }
}

/// Whether a comparison's file is still what it was when it was begun in `folder`: byte by byte
/// where it has no secrets, which what is kept of it there hasn't either; else by its keyed hash,
/// as wherever its rows name files, which aren't kept.
///
/// # Errors
/// A sentence that says where to look.
pub fn same_file(
    folder: &Path,
    hash_before: Option<&str>,
    file: &[u8],
    comparison: &Comparison,
) -> Result<(), String> {
    let kept = folder.join(ASKED);
    if hash_before.is_some_and(|before| before == comparison.hash(file)) {
        return Ok(());
    }
    match (is_kept(folder, file)?, comparison.named().is_empty()) {
        (true, true) => Ok(()),
        (true, false) => Err(
            "a file that the comparison names (targets, data, message or proto) has changed since \
             it was started: use what it was, or start over"
                .to_owned(),
        ),
        (false, _) => Err(format!(
            "it was started with a different file, which is kept as {} without its secrets: use \
             that file with the same secrets, or start over",
            kept.display()
        )),
    }
}

/// Whether the file is byte by byte what is kept of it in `folder`, so that it has no secrets.
fn is_kept(folder: &Path, file: &[u8]) -> Result<bool, String> {
    let kept = folder.join(ASKED);
    let bytes = fs::read(&kept).map_err(|error| format!("{}: {error}", kept.display()))?;
    Ok(bytes == file)
}

/// Whether hashes in `folder` can be compared with new ones, if it was begun with them and the file
/// has secrets or names files. A pack holds no key.
///
/// # Errors
/// A sentence that names the key that is missing.
pub fn key_is_there(
    folder: &Path,
    hash_before: Option<&str>,
    file: &[u8],
    comparison: &Comparison,
) -> Result<(), String> {
    let key = folder.join(KEY_FILE);
    let is_whole = || Ok::<bool, String>(comparison.named().is_empty() && is_kept(folder, file)?);
    match hash_before.is_none() || key.is_file() || is_whole()? {
        true => Ok(()),
        false => Err(format!(
            "{} is missing, so we can't tell whether the comparison, its secrets and the files it \
             names are still the same: start over",
            key.display()
        )),
    }
}

/// What is known of a comparison that goes on: what was known, and what is seen `now`.
pub(crate) fn resumed(now: Manifest, kept: &Kept) -> Manifest {
    let mut manifest = kept.manifest.clone();
    manifest.cautions.extend(now.cautions);
    // Of this file under this key, which a pack doesn't hold.
    manifest.file_hash = now.file_hash;
    for row in &manifest.rows {
        if let Outcome::Failed { what, .. } = &row.outcome {
            let what = format!("Before the interruption, {} {what}.", row.name);
            manifest.cautions.push(what);
        }
    }
    let mut seen = BTreeSet::new();
    manifest.cautions.retain(|what| seen.insert(what.clone()));
    manifest.looks = now.looks;
    manifest.setup.ended_early = now.setup.ended_early;
    manifest
}

/// What a reader has to know of the processes that it goes on with.
pub(crate) fn went_on(kept: &Kept, entries: &[Entry], rows: &[RowFacts]) -> Vec<String> {
    let told = processes::went_on(kept, entries, rows, &utc_stamp(unix_seconds()));
    let one_start = told.are_new.then(|| was_one_start(kept)).flatten();
    let cautions = told.cautions.into_iter().chain(one_start);
    let is_new = |what: &String| !kept.manifest.cautions.contains(what);
    cautions.filter(is_new).collect()
}

/// What becomes of intervals where all rounds before an interruption were of one start.
fn was_one_start(kept: &Kept) -> Option<String> {
    let starts: BTreeSet<u32> = kept.rounds.iter().map(|round| round.start).collect();
    let timed = kept.rounds.iter().all(|round| round.record.is_none());
    (starts.len() == 1 && !timed).then(|| {
        "All rounds before the interruption were from one start, so their intervals would have \
         described only that start. With a second start, intervals also cover the variation \
         between starts, and are much wider, because two starts say little about it. Start over \
         for a single start, or set rounds_per_start for several."
            .to_owned()
    })
}

/// Whether what would be started now is what the rounds before were measured on.
///
/// # Errors
/// A sentence that names the row and what has changed.
pub(crate) fn same_programs(kept: &Kept, now: &Manifest) -> Result<(), String> {
    // Under another key the same has another hash.
    let same_key = kept.manifest.file_hash == now.file_hash;
    let was_measured = |row: &&RowFacts| kept.rounds.iter().any(|round| round.row == row.name);
    for before in kept.manifest.rows.iter().filter(was_measured) {
        let Some(now) = now.row(&before.name) else {
            continue;
        };
        if before.command != now.command {
            return Err(format!(
                "{} was started as `{}` before, but its command has changed: start over",
                before.name, before.command
            ));
        }
        let differs = |binary: &&Binary| !now.binaries.contains(binary);
        if let Some(binary) = before.binaries.iter().find(differs) {
            return Err(format!(
                "{} isn't the same program as in its earlier rounds: {} has changed; start over",
                before.name,
                binary.path.display()
            ));
        }
        if let (Some(process), Some(other)) = (&before.process, &now.process)
            && same_key
            && process.command_hash != other.command_hash
            && !other.is(process)
        {
            return Err(format!(
                "{} was restarted with another command line, or in another folder, than in its \
                 earlier rounds: start it as before and try again, or start over",
                before.name
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_of_two_networks_are_not_put_together() {
        let private = Some(Network::Private);
        let host = Some(Network::Host { why: "so".into() });
        let refused = Some(Network::Refused {
            why: "Nobody may.".into(),
        });
        let check = |before: &Option<Network>, now: &Option<Network>| {
            same_network(before.as_ref(), now.as_ref())
        };
        assert_eq!(check(&private, &private), Ok(()));
        for host in [&None, &host, &refused] {
            assert_eq!(check(host, &None), Ok(()));
            assert_eq!(check(host, &refused), Ok(()));
            let why = check(host, &private).expect_err("they differ");
            assert!(why.contains("add --host-network"), "{why}");
        }
        let why = check(&private, &host).expect_err("they differ");
        assert!(why.contains("leave out --host-network"), "{why}");
        let why = check(&private, &refused).expect_err("they differ");
        assert!(why.contains("Nobody may."), "{why}");
    }
}

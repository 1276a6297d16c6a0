//! Whose data have changed, as a stream of Redis says it (XREAD).
//!
//! It's read on a connection of its own. What was said while that was broken is read afterwards:
//! where the last entry that was read is still in the stream, nothing behind it was dropped. If it
//! isn't, or nothing was read before, all that Redis may still have from before is distrusted:
//! everybody is forgotten, and the stream is read again from as long ago as Redis keeps a user.
//! The same is done where a stream is cut (XTRIM, MAXLEN) faster than it's read, which is looked
//! for at each read: Redis says how many entries it has, and how many were ever added.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use measure::time::Time;
use redis::aio::MultiplexedConnection;
use redis::{RedisError, Value, cmd, from_redis_value_ref};
use tokio::time::sleep;

use crate::finder::{DISTRUST, Finder};

/// How long a question waits for an entry.
const BLOCK: Duration = Duration::from_secs(1);

/// An answer that hasn't come so long after that doesn't come.
const LATE: Duration = Duration::from_secs(1);

/// After a failure it's tried again so soon.
const AGAIN: Duration = Duration::from_millis(200);

/// Entries that are read at once.
const COUNT: usize = 1000;

/// What is said of entries that name nobody.
const UNCLEAR: &str = "an entry of the stream of revocations has neither a field `key` with a user \
                       nor `all`, so everybody was forgotten";

/// What is said where entries are lost.
const OVERTAKEN: &str = "the stream of revocations has lost entries that weren't read yet, so all \
                         users are looked up again: let it keep more of them";

/// An entry: its name, and its fields and values in turn. A field may come more than once.
type Entry = (String, Vec<Vec<u8>>);

/// What was read last.
#[derive(Debug, PartialEq, Eq)]
enum Read {
    /// Nothing yet.
    Never,
    /// That there is no entry.
    Empty,
    /// The entry of this name.
    Entry(String),
    /// An entry behind which others are gone that weren't read.
    Lost,
}

/// Where a stream begins and ends.
#[derive(Debug, Default)]
struct Ends {
    first: Option<String>,
    newest: Option<String>,
    length: u64,
    /// How many entries were ever added. Only Redis from 7.0 on says so.
    added: Option<u64>,
}

/// Hears as long as it's polled.
pub(crate) async fn listen(finder: Arc<Finder>) {
    let Some(redis) = &finder.redis else {
        return;
    };
    let Some(stream) = redis.settings().revocations.clone() else {
        return;
    };
    let mut read = Read::Never;
    loop {
        if let Ok(connection) = redis.connect(BLOCK + LATE).await
            && let Err(error) = follow(&finder, &stream, connection, &mut read).await
            && !error.is_timeout()
        {
            redis.note("the stream of revocations", "", &error);
        }
        finder.hears.store(false, Relaxed);
        sleep(AGAIN).await;
    }
}

/// Reads until something fails.
async fn follow(
    finder: &Finder,
    stream: &str,
    mut connection: MultiplexedConnection,
    read: &mut Read,
) -> Result<(), RedisError> {
    // Where to read from, and how many entries were added up to there, where it's known.
    let (mut last, mut so_far) = begin(finder, stream, &mut connection, read).await?;
    finder.hears.store(true, Relaxed);
    loop {
        let mut command = cmd("XREAD");
        command
            .arg("BLOCK")
            .arg(BLOCK.as_millis() as u64)
            .arg("COUNT")
            .arg(COUNT);
        command.arg("STREAMS").arg(stream).arg(&last);
        let reply: Option<Vec<(String, Vec<Entry>)>> = command.query_async(&mut connection).await?;
        let entries = reply.into_iter().flatten();
        let entries: Vec<Entry> = entries.flat_map(|(_, entries)| entries).collect();
        let ends = Ends::of(stream, &mut connection).await?;
        let is_complete = match read {
            Read::Empty if entries.is_empty() && ends.first.is_none() => ends.added == so_far,
            Read::Empty | Read::Entry(_) => ends.have_all_after(&last, so_far),
            // Everybody was just forgotten.
            Read::Never | Read::Lost => true,
        };
        if !is_complete {
            *read = Read::Lost;
            (last, so_far) = begin(finder, stream, &mut connection, read).await?;
            continue;
        }
        if let Some((name, _)) = entries.last() {
            hear(finder, &entries).await;
            last.clone_from(name);
            *read = Read::Entry(name.clone());
        }
        so_far = match ends.newest.as_ref() == Some(&last) {
            true => ends.added,
            false => so_far.map(|count| count + entries.len() as u64),
        };
    }
}

impl Ends {
    async fn of(stream: &str, connection: &mut MultiplexedConnection) -> Result<Ends, RedisError> {
        let mut info = cmd("XINFO");
        info.arg("STREAM").arg(stream);
        let said: Result<HashMap<String, Value>, _> = info.query_async(connection).await;
        let said = match said {
            Ok(said) => said,
            Err(error)
                if error
                    .detail()
                    .is_some_and(|words| words.contains("no such key")) =>
            {
                return Ok(Ends {
                    added: Some(0),
                    ..Ends::default()
                });
            }
            // There's no right to ask that.
            Err(error) if error.code().is_some() => {
                let mut range = cmd("XRANGE");
                range.arg(stream).arg("-").arg("+").arg("COUNT").arg(1);
                let first: Vec<Entry> = range.query_async(connection).await?;
                let first = first.into_iter().next().map(|(name, _)| name);
                return Ok(Ends {
                    first,
                    ..Ends::default()
                });
            }
            Err(error) => return Err(error),
        };
        let number = |name| from_redis_value_ref::<u64>(said.get(name)?).ok();
        let first = said.get("first-entry");
        let first = first.and_then(|one| from_redis_value_ref::<Option<Entry>>(one).ok()?);
        let newest = said.get("last-generated-id");
        Ok(Ends {
            first: first.map(|(name, _)| name),
            newest: newest.and_then(|name| from_redis_value_ref(name).ok()),
            length: number("length").unwrap_or_default(),
            added: number("entries-added"),
        })
    }

    /// Whether all that was added after an entry, the last that was read, is still there. Streams
    /// are cut at their beginnings.
    fn have_all_after(&self, last: &str, so_far: Option<u64>) -> bool {
        if self.newest.as_deref() == Some(last) {
            return true;
        }
        match (self.added, so_far) {
            (Some(added), Some(so_far)) => {
                let unread = added.checked_sub(so_far);
                unread.is_some_and(|unread| unread <= self.length)
            }
            // Of what's older than the first one, all may be gone.
            _ => self
                .first
                .as_ref()
                .is_some_and(|first| place(first) <= place(last)),
        }
    }
}

/// Where an entry of this name stands in its stream: when it was written, in milliseconds, and
/// which of that millisecond it is.
fn place(name: &str) -> (u64, u64) {
    let (written, which) = name.split_once('-').unwrap_or((name, ""));
    let number = |part: &str| part.parse().unwrap_or_default();
    (number(written), number(which))
}

/// From where to read so that nothing is missed, and how many entries were added up to there, if
/// that's known.
async fn begin(
    finder: &Finder,
    stream: &str,
    connection: &mut MultiplexedConnection,
    read: &mut Read,
) -> Result<(String, Option<u64>), RedisError> {
    if let Read::Entry(name) = read {
        let mut range = cmd("XRANGE");
        range.arg(stream).arg(&*name).arg(&*name);
        let found: Vec<Entry> = range.query_async(connection).await?;
        if !found.is_empty() {
            return Ok((name.clone(), None));
        }
    }
    let ends = Ends::of(stream, connection).await?;
    let mut range = cmd("XREVRANGE");
    range.arg(stream).arg("+").arg("-").arg("COUNT").arg(1);
    let newest: Vec<Entry> = range.query_async(connection).await?;
    let kept = kept(finder);
    match (&*read, newest.is_empty()) {
        (Read::Empty, true) => return Ok(("0-0".into(), ends.added)),
        // What Redis has from before is heard of again below.
        (Read::Never, _) => finder.all_revoked(Duration::ZERO, Time::now()),
        // Some may have come and gone meanwhile.
        (Read::Empty, false) => finder.all_revoked(kept, Time::now()),
        // Entries are lost, and what they said may still be in Redis.
        _ => {
            let now = Time::now();
            finder.all_revoked(kept, now);
            finder.counts.overtaken.add();
            finder
                .causes
                .say(OVERTAKEN.into(), || OVERTAKEN.into(), now);
        }
    }
    let Some((name, _)) = newest.first() else {
        *read = Read::Empty;
        return Ok(("0-0".into(), ends.added));
    };
    *read = Read::Never;
    let from = place(name).0.saturating_sub(kept.as_millis() as u64);
    Ok((format!("{from}-0"), None))
}

/// For how long Redis keeps a user, with the tenth that's added for some, and with what may pass
/// until it hears that it's to keep him.
fn kept(finder: &Finder) -> Duration {
    let lifetime = finder.redis.as_ref().map(|redis| redis.settings().lifetime);
    lifetime.unwrap_or_default() * 11 / 10 + DISTRUST
}

/// Does what entries say: everybody is forgotten here at once, and then in Redis, if that has them
/// from the database. What can't be understood is for everybody. Where Redis won't or can't delete
/// somebody, it isn't believed about him for as long as it may have him; others are heard all the
/// same.
async fn hear(finder: &Finder, entries: &[Entry]) {
    let now = Time::now();
    let mut keys = Vec::new();
    for (_, fields) in entries {
        let pairs = fields.chunks_exact(2);
        let named = pairs.clone().filter(|pair| pair[0] == b"key");
        let named = named.map(|pair| std::str::from_utf8(&pair[1]).ok());
        let named: Option<Vec<&str>> = named.collect();
        let for_all = pairs.clone().any(|pair| pair[0] == b"all");
        match named {
            Some(named) if !named.is_empty() && !for_all => keys.extend(named),
            _ => {
                finder.all_revoked(kept(finder), now);
                if !for_all {
                    finder.counts.nonsense.add();
                    finder.causes.say(UNCLEAR.into(), || UNCLEAR.into(), now);
                }
            }
        }
    }
    finder.revoked(&keys, now);
    if let (Some(redis), false) = (&finder.redis, keys.is_empty())
        && finder.settings.database.is_some()
        && !redis.delete(&keys).await
    {
        finder.distrust(&keys, kept(finder), Time::now());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_cut_before_it_was_read_is_missed_and_what_was_cut_after_is_not() {
        let ends = |first: &str, newest: &str, length, added: Option<u64>| Ends {
            first: (!first.is_empty()).then(|| first.into()),
            newest: (!newest.is_empty()).then(|| newest.into()),
            length,
            added,
        };
        let rows = [
            // The last that was read is 9-1, the fifth.
            (ends("9-1", "9-1", 1, Some(5)), true, "nothing is new"),
            (
                ends("", "9-1", 0, Some(5)),
                true,
                "all was cut, and had been read",
            ),
            (ends("9-1", "10-0", 2, Some(6)), true, "one is new"),
            (
                ends("10-0", "10-0", 1, Some(6)),
                true,
                "one is new and alone",
            ),
            (
                ends("11-0", "11-0", 1, Some(7)),
                false,
                "another was before it",
            ),
            (ends("", "11-0", 0, Some(7)), false, "two were"),
            (
                ends("10-0", "12-0", 2, Some(3)),
                false,
                "it's another stream",
            ),
            (ends("", "", 0, None), false, "there's none any more"),
        ];
        for (ends, expected, what) in rows {
            assert_eq!(ends.have_all_after("9-1", Some(5)), expected, "{what}");
        }
        // A Redis that doesn't count, or an entry whose number isn't known.
        let rows = [
            ("9-1", true),
            ("8-20", true),
            ("9-2", false),
            ("10-0", false),
        ];
        for (first, expected) in rows {
            let ends = ends(first, "12-0", 3, None);
            assert_eq!(ends.have_all_after("9-1", None), expected, "{first}");
        }
    }
}

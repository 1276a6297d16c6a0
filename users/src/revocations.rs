//! Whose data have changed, as a stream of Redis says it (XREAD).
//!
//! It's read on a connection of its own. What was said while that was broken is read afterwards:
//! where the last entry that was read is still in the stream, nothing behind it was dropped. If it
//! isn't, or nothing was read before, all that Redis may still have from before is distrusted:
//! everybody is forgotten, and the stream is read again from as long ago as Redis keeps a user.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use measure::time::Time;
use redis::aio::MultiplexedConnection;
use redis::{RedisError, cmd};
use tokio::time::sleep;

use crate::finder::Finder;

/// How long a question waits for an entry.
const BLOCK: Duration = Duration::from_secs(1);

/// An answer that hasn't come so long after that doesn't come.
const LATE: Duration = Duration::from_secs(1);

/// After a failure it's tried again so soon.
const AGAIN: Duration = Duration::from_millis(200);

/// Entries that are read at once.
const COUNT: usize = 1000;

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
        if let Ok(connection) = redis.connect(BLOCK + LATE).await {
            let _ = follow(&finder, &stream, connection, &mut read).await;
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
    let mut last = begin(finder, stream, &mut connection, read).await?;
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
        let Some((name, _)) = entries.last() else {
            continue;
        };
        hear(finder, &entries, &mut connection).await?;
        last.clone_from(name);
        *read = Read::Entry(name.clone());
    }
}

/// From where to read so that nothing is missed.
async fn begin(
    finder: &Finder,
    stream: &str,
    connection: &mut MultiplexedConnection,
    read: &mut Read,
) -> Result<String, RedisError> {
    if let Read::Entry(name) = read {
        let mut range = cmd("XRANGE");
        range.arg(stream).arg(&*name).arg(&*name);
        let found: Vec<Entry> = range.query_async(connection).await?;
        if !found.is_empty() {
            return Ok(name.clone());
        }
    }
    let mut range = cmd("XREVRANGE");
    range.arg(stream).arg("+").arg("-").arg("COUNT").arg(1);
    let newest: Vec<Entry> = range.query_async(connection).await?;
    let kept = kept(finder);
    match (&*read, newest.is_empty()) {
        (Read::Empty, true) => return Ok("0-0".into()),
        // What Redis has from before is heard of again below.
        (Read::Never, _) => finder.all_revoked(Duration::ZERO, Time::now()),
        // Entries are lost, and what they said may still be in Redis.
        _ => finder.all_revoked(kept, Time::now()),
    }
    let Some((name, _)) = newest.first() else {
        *read = Read::Empty;
        return Ok("0-0".into());
    };
    *read = Read::Never;
    // The first part of an entry's name is when it was written, in milliseconds.
    let written = name.split('-').next();
    let written = written.and_then(|part| part.parse::<u64>().ok());
    let from = written.unwrap_or(0).saturating_sub(kept.as_millis() as u64);
    Ok(format!("{from}-0"))
}

/// For how long Redis keeps a user, with the tenth that's added for some.
fn kept(finder: &Finder) -> Duration {
    let lifetime = finder.redis.as_ref().map(|redis| redis.settings().lifetime);
    lifetime.unwrap_or_default() * 11 / 10
}

/// Does what entries say: everybody is forgotten here at once, and then in Redis, if that has them
/// from the database. What can't be understood is for everybody.
async fn hear(
    finder: &Finder,
    entries: &[Entry],
    connection: &mut MultiplexedConnection,
) -> Result<(), RedisError> {
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
            _ => finder.all_revoked(kept(finder), now),
        }
    }
    finder.revoked(&keys, now);
    if let (Some(redis), false) = (&finder.redis, keys.is_empty())
        && finder.settings.database.is_some()
    {
        let mut command = cmd("DEL");
        for key in &keys {
            command.arg(redis.key(key));
        }
        command.query_async::<()>(connection).await?;
    }
    Ok(())
}

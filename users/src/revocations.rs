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
use redis::streams::{StreamId, StreamRangeReply, StreamReadReply};
use redis::{RedisError, cmd, from_redis_value_ref};
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

/// Hears as long as it's polled.
pub(crate) async fn listen(finder: Arc<Finder>) {
    let Some(redis) = &finder.redis else {
        return;
    };
    let Some(stream) = redis.settings().revocations.clone() else {
        return;
    };
    let mut read = None;
    loop {
        if let Ok(connection) = redis.connect(BLOCK + LATE).await {
            let _ = follow(&finder, &stream, connection, &mut read).await;
        }
        finder.hears.store(false, Relaxed);
        sleep(AGAIN).await;
    }
}

/// Reads until something fails. `read` is the last entry that was.
async fn follow(
    finder: &Finder,
    stream: &str,
    mut connection: MultiplexedConnection,
    read: &mut Option<String>,
) -> Result<(), RedisError> {
    let is_there = match read {
        Some(id) => {
            let mut range = cmd("XRANGE");
            range.arg(stream).arg(&*id).arg(&*id);
            let found: StreamRangeReply = range.query_async(&mut connection).await?;
            !found.ids.is_empty()
        }
        None => false,
    };
    let mut last = match read {
        Some(id) if is_there => id.clone(),
        _ => from_before(finder, stream, &mut connection).await?,
    };
    if !is_there {
        *read = None;
    }
    finder.hears.store(true, Relaxed);
    loop {
        let mut command = cmd("XREAD");
        command
            .arg("BLOCK")
            .arg(BLOCK.as_millis() as u64)
            .arg("COUNT")
            .arg(COUNT);
        command.arg("STREAMS").arg(stream).arg(&last);
        let reply: Option<StreamReadReply> = command.query_async(&mut connection).await?;
        let entries = reply
            .into_iter()
            .flat_map(|reply| reply.keys)
            .flat_map(|key| key.ids);
        for entry in entries {
            hear(finder, &entry).await;
            last.clone_from(&entry.id);
            *read = Some(entry.id);
        }
    }
}

/// Forgets everybody, and says from where to read so that nothing is missed that Redis may still
/// have had from before.
async fn from_before(
    finder: &Finder,
    stream: &str,
    connection: &mut MultiplexedConnection,
) -> Result<String, RedisError> {
    let mut range = cmd("XREVRANGE");
    range.arg(stream).arg("+").arg("-").arg("COUNT").arg(1);
    let newest: StreamRangeReply = range.query_async(connection).await?;
    finder.all_revoked(Duration::ZERO, Time::now());
    let Some(newest) = newest.ids.first() else {
        return Ok("0-0".into());
    };
    // The first part of an entry's name is when it was written, in milliseconds.
    let written = newest
        .id
        .split('-')
        .next()
        .and_then(|part| part.parse::<u64>().ok());
    let kept = kept(finder).as_millis() as u64;
    Ok(format!("{}-0", written.unwrap_or(0).saturating_sub(kept)))
}

/// For how long Redis keeps a user, with the tenth that's added for some.
fn kept(finder: &Finder) -> Duration {
    let lifetime = finder.redis.as_ref().map(|redis| redis.settings().lifetime);
    lifetime.unwrap_or_default() * 11 / 10
}

/// Does what an entry says.
async fn hear(finder: &Finder, entry: &StreamId) {
    let now = Time::now();
    if entry.map.contains_key("all") {
        finder.all_revoked(kept(finder), now);
    }
    let key = entry
        .map
        .get("key")
        .and_then(|value| from_redis_value_ref::<String>(value).ok());
    if let Some(key) = key {
        finder.revoked(&key, now);
        finder.forget_in_redis(&key).await;
    }
}

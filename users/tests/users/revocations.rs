//! Revocations that are cut before they're read, that Redis refuses to carry out, and that come
//! while something older is still on its way.

use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::Duration;

use measure::time::Time;
use users::{Answer, settings};

use super::stores::{Database, Redis};
use super::{ask, asked, fill, name, start, until};

fn rename(database: &Database, key: &str, name: &str) {
    database.execute(&format!(
        "UPDATE test.people SET name = '{name}' WHERE id = {key}"
    ));
}

#[test]
fn entries_that_were_cut_before_they_were_read_have_everybody_forgotten() {
    let (Some(redis), Some(database)) = (Redis::start(), Database::start()) else {
        return;
    };
    fill(&database);
    let users = start(asked(Some(&redis), Some(&database)));
    // A stream that never has more than one entry says all it has to.
    for count in 1..=20 {
        redis.say(&["XADD", "revoked", "MAXLEN", "=", "1", "*", "key", "7"]);
        until("it's heard", || users.counts().revoked == count);
    }
    assert_eq!(users.counts().overtaken, 0);
    assert_eq!(name(&ask(&users, "1")), Some("user 1"));
    // None is left to read, …
    rename(&database, "1", "new");
    redis.say_at_once(&["XADD revoked * key 1", "XTRIM revoked MAXLEN 0"]);
    until("what's gone is noticed", || {
        name(&ask(&users, "1")) == Some("new")
    });
    assert_eq!(users.counts().overtaken, 1);
    let said = users.new_causes();
    assert!(
        said.iter().any(|line| line.contains("has lost entries")),
        "{said:?}"
    );
    // … or one, of three.
    redis.say(&["XADD", "revoked", "*", "key", "7"]);
    until("it's heard", || users.counts().revoked >= 21);
    rename(&database, "1", "newer");
    redis.say_at_once(&[
        "XADD revoked * key 1",
        "XADD revoked * key 2",
        "XADD revoked MAXLEN = 1 * key 3",
    ]);
    until("what's gone is noticed", || {
        name(&ask(&users, "1")) == Some("newer")
    });
}

#[test]
fn an_entry_that_names_nobody_is_for_everybody_and_is_said() {
    let (Some(redis), Some(database)) = (Redis::start(), Database::start()) else {
        return;
    };
    fill(&database);
    let users = start(asked(Some(&redis), Some(&database)));
    until("it hears", || users.counts().hears);
    for (entry, unclear) in [("all 1", 0), ("user 1", 1), ("KEY 1", 2)] {
        assert!(name(&ask(&users, "1")).is_some());
        let name_now = format!("behind {entry}");
        rename(&database, "1", &name_now);
        redis.say_at_once(&[&format!("XADD revoked * {entry}")]);
        until("it's heard", || name(&ask(&users, "1")) == Some(&name_now));
        assert_eq!(users.counts().nonsense, unclear, "{entry}");
    }
    let said = users.new_causes();
    let unclear = |line: &&String| line.contains("neither a field `key`");
    assert_eq!(said.iter().filter(unclear).count(), 1, "{said:?}");
}

#[test]
fn entries_that_were_cut_from_a_stream_that_was_empty_are_noticed() {
    let (Some(redis), Some(database)) = (Redis::start(), Database::start()) else {
        return;
    };
    fill(&database);
    let users = start(asked(Some(&redis), Some(&database)));
    until("it hears", || users.counts().hears);
    assert_eq!(name(&ask(&users, "1")), Some("user 1"));
    rename(&database, "1", "new");
    redis.say_at_once(&[
        "XADD revoked MAXLEN = 1 * key 1",
        "XADD revoked MAXLEN = 1 * key 2",
    ]);
    until("what's gone is noticed", || {
        name(&ask(&users, "1")) == Some("new")
    });
    assert_eq!(users.counts().overtaken, 1);
}

#[test]
fn where_redis_refuses_to_delete_later_entries_are_heard_and_it_is_said() {
    let (Some(redis), Some(database)) = (Redis::start(), Database::start()) else {
        return;
    };
    fill(&database);
    // All that the guide names but to delete.
    let acl = "ACL SETUSER gateway on >secret ~user:* ~revoked +get +set +ping +xread +xrange \
               +xrevrange +eval +hmget +hset +pexpire +time";
    redis.say(
        &acl.split(' ')
            .filter(|word| !word.is_empty())
            .collect::<Vec<_>>(),
    );
    let mut settings = asked(Some(&redis), Some(&database));
    if let Some(redis) = &mut settings.redis {
        redis.user = Some("gateway".into());
        redis.password = Some(settings::Password("secret".into()));
    }
    let users = start(settings);
    assert_eq!(name(&ask(&users, "1")), Some("user 1"));
    until("Redis is told", || redis.say(&["EXISTS", "user:1"]) == "1");
    rename(&database, "1", "new");
    // More than are read at once; the one that counts is the last.
    let all = "for key = 3000, 1, -1 do redis.call('XADD', 'revoked', '*', 'key', key) end";
    redis.say(&["EVAL", all, "0"]);
    until("all are heard", || users.counts().revoked >= 3000);
    until("so is the last one", || {
        name(&ask(&users, "1")) == Some("new")
    });
    assert_eq!(redis.say(&["EXISTS", "user:1"]), "1");
    assert_eq!(users.counts().revoked, 3000, "none is heard twice");
    let said = users.new_causes();
    let of_delete: Vec<_> = said
        .iter()
        .filter(|line| line.contains(" DEL: NOPERM "))
        .collect();
    assert_eq!(of_delete.len(), 1, "{said:?}");
    assert!(!said.iter().any(|line| line.contains("secret")), "{said:?}");
    users.take("limit:a", 1.0, 5, Time::now());
    until("a bucket is there", || {
        redis.say(&["EXISTS", "user:limit:a"]) == "1"
    });
    assert!(users.new_causes().is_empty(), "nothing else is refused");
}

/// A way to Redis on which what tells it to keep a user waits until it's let through.
struct Way {
    folder: tempfile::TempDir,
    gate: Arc<(Mutex<bool>, Condvar)>,
    held: Arc<Mutex<bool>>,
}

impl Way {
    fn to(redis: &Redis) -> Way {
        let folder = tempfile::tempdir().expect("a folder");
        let listener = UnixListener::bind(folder.path().join("socket")).expect("a socket");
        let way = Way {
            folder,
            gate: Arc::default(),
            held: Arc::default(),
        };
        let (gate, held) = (Arc::clone(&way.gate), Arc::clone(&way.held));
        let redis = redis.0.socket();
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let (Ok(server), Ok(back)) = (UnixStream::connect(&redis), client.try_clone())
                else {
                    return;
                };
                let from = server.try_clone().expect("a descriptor");
                thread::spawn(move || pass(from, back, |_| {}));
                let (gate, held) = (Arc::clone(&gate), Arc::clone(&held));
                thread::spawn(move || {
                    pass(client, server, |bytes| {
                        if !bytes.windows(9).any(|one| one == b"\r\nSET\r\n$6") {
                            return;
                        }
                        *held.lock().expect("nobody panics") = true;
                        let shut = gate.0.lock().expect("nobody panics");
                        let patience = Duration::from_secs(60);
                        let waited = gate.1.wait_timeout_while(shut, patience, |open| !*open);
                        drop(waited.expect("nobody panics"));
                    });
                });
            }
        });
        way
    }

    fn socket(&self) -> PathBuf {
        self.folder.path().join("socket")
    }

    fn open(&self) {
        *self.gate.0.lock().expect("nobody panics") = true;
        self.gate.1.notify_all();
    }
}

fn pass(mut from: UnixStream, mut to: UnixStream, before: impl Fn(&[u8])) {
    let mut bytes = [0; 4096];
    while let Ok(count @ 1..) = from.read(&mut bytes) {
        before(&bytes[..count]);
        if to.write_all(&bytes[..count]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(std::net::Shutdown::Both);
}

#[test]
fn what_redis_is_late_to_keep_is_deleted_after_that() {
    let (Some(redis), Some(database)) = (Redis::start(), Database::start()) else {
        return;
    };
    fill(&database);
    let way = Way::to(&redis);
    let mut settings = asked(Some(&redis), Some(&database));
    if let Some(redis) = &mut settings.redis {
        redis.place = settings::Place::Unix(way.socket());
        redis.timeout = Duration::from_secs(60);
    }
    let users = start(settings);
    assert_eq!(name(&ask(&users, "1")), Some("user 1"));
    until("Redis is being told", || {
        *way.held.lock().expect("nobody panics")
    });
    redis.say(&["XADD", "revoked", "*", "key", "1"]);
    until("it's heard", || users.counts().revoked == 1);
    // What goes another way has gone it by now.
    (0..20).for_each(|_| drop(redis.say(&["PING"])));
    way.open();
    // This goes the same way, behind both.
    assert_eq!(ask(&users, "2000"), Answer::Nobody);
    assert_eq!(redis.say(&["EXISTS", "user:1"]), "0");
}

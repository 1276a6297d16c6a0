//! Users out of real stores, which are stopped, killed and filled with nonsense on the way.

mod failures;
mod revocations;
#[path = "../../../tests/skip.rs"]
mod skip;
#[path = "../../../tests/stores.rs"]
mod stores;

use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use admission::breaker;
use measure::time::Time;
use stores::{Database, Redis};
use users::{Answer, Lookup, Memory, Settings, Share, Users, settings};

/// Longer than anything takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

const QUERY: &str = "SELECT id, name, disabled FROM test.people WHERE id = ?";

fn fill(database: &Database) {
    database.execute(
        "CREATE DATABASE test;
         CREATE TABLE test.people (id BIGINT UNSIGNED PRIMARY KEY, name VARCHAR(64) NOT NULL,
                                   disabled BOOL NOT NULL DEFAULT 0);
         INSERT INTO test.people (id, name) SELECT seq, CONCAT('user ', seq)
            FROM test.seq_1_to_1000;",
    );
}

/// How the stores are asked. Breakers stay closed, and deadlines are no matter of a busy machine.
fn asked(redis: Option<&Redis>, database: Option<&Database>) -> Settings {
    Settings {
        memory: Memory::default(),
        redis: redis.map(|redis| settings::Redis {
            place: settings::Place::Unix(redis.0.socket()),
            number: 0,
            user: None,
            password: None,
            prefix: "user:".into(),
            lifetime: Duration::from_secs(120),
            timeout: Duration::from_secs(10),
            limit: 1024,
            revocations: Some("revoked".into()),
        }),
        database: database.map(|database| settings::Database {
            place: settings::Place::Unix(database.0.socket()),
            user: "root".into(),
            password: None,
            name: None,
            query: QUERY.into(),
            timeout: Duration::from_secs(20),
            connections: 4,
            waiting: 2000,
        }),
        numeric: true,
        fields: vec!["name".into()],
        breaker: breaker::Settings {
            calls_min: u32::MAX,
            ..breaker::Settings::default()
        },
    }
}

fn start(settings: Settings) -> Users {
    let users = Users::start(settings).expect("a thread");
    if users.settings().redis.is_some() {
        // Until then everybody would be forgotten once more, and Redis not asked.
        until("revocations are heard", || users.counts().hears);
        until("Redis answers", || ask(&users, "1000000") == Answer::Nobody);
    }
    users
}

/// Waits for something, as long as anybody has patience.
fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Time::now() + PATIENCE;
    while !is_so() {
        assert!(Time::now() < deadline, "waited in vain: {what}");
        std::thread::yield_now();
    }
}

fn begin(users: &Users, key: &str) -> Receiver<Answer> {
    let (tell, told) = channel();
    let later = tell.clone();
    let tell_later = Box::new(move |answer| drop(later.send(answer)));
    if let Some(answer) = users.ask(key, Time::now(), tell_later) {
        tell.send(answer).expect("the other end is here");
    }
    told
}

/// What the stores say, or what was remembered of what they said.
fn ask(users: &Users, key: &str) -> Answer {
    match users.find(key, Time::now()) {
        Lookup::Known(record) => Answer::Known(record),
        Lookup::Nobody => Answer::Nobody,
        Lookup::Unknown => {
            let told = begin(users, key);
            told.recv_timeout(PATIENCE).expect("an answer comes")
        }
    }
}

fn name(answer: &Answer) -> Option<&str> {
    match answer {
        Answer::Known(record) => record.field(0),
        _ => None,
    }
}

#[test]
fn memory_comes_before_redis_and_that_before_the_database() {
    let (Some(redis), Some(database)) = (Redis::start(), Database::start()) else {
        return;
    };
    fill(&database);
    redis.say(&["SET", "user:7", r#"{"name":"of redis"}"#]);
    let users = start(asked(Some(&redis), Some(&database)));
    let before = users.counts();
    assert_eq!(name(&ask(&users, "7")), Some("of redis"));
    assert_eq!(name(&ask(&users, "8")), Some("user 8"));
    assert_eq!(name(&ask(&users, "8")), Some("user 8"));
    assert_eq!(ask(&users, "5000"), Answer::Nobody);
    assert_eq!(ask(&users, "5000"), Answer::Nobody);
    for odd in [
        "",
        "8 ",
        "08",
        "8 OR 1=1",
        "18446744073709551616",
        &"9".repeat(2000),
    ] {
        assert_eq!(ask(&users, odd), Answer::Nobody, "{odd:.30}");
    }
    let after = users.counts();
    let grown = |of: fn(&users::counts::Snapshot) -> u64| of(&after) - of(&before);
    assert_eq!((grown(|c| c.redis), grown(|c| c.database)), (1, 1));
    assert_eq!((grown(|c| c.memory), grown(|c| c.nobody)), (2, 1));
    // What the database has said is in Redis, for others, and for a while.
    until("Redis is told", || redis.say(&["EXISTS", "user:8"]) == "1");
    assert!(
        redis
            .say(&["GET", "user:8"])
            .contains("\"name\":\"user 8\"")
    );
    let left: u64 = redis.say(&["TTL", "user:8"]).parse().expect("seconds");
    assert!((60..=132).contains(&left), "{left}");
    let others = start(asked(Some(&redis), Some(&database)));
    assert_eq!(name(&ask(&others, "8")), Some("user 8"));
    assert_eq!(others.counts().redis, 1);
}

#[test]
fn a_thousand_who_ask_for_the_same_user_ask_once() {
    let Some(database) = Database::start() else {
        return;
    };
    fill(&database);
    let users = start(asked(None, Some(&database)));
    assert_eq!(name(&ask(&users, "1")), Some("user 1"));
    database.0.signal("STOP");
    let all: Vec<_> = (0..1000).map(|_| begin(&users, "2")).collect();
    database.0.signal("CONT");
    for told in all {
        let answer = told.recv_timeout(PATIENCE).expect("an answer comes");
        assert_eq!(name(&answer), Some("user 2"));
    }
    assert_eq!(users.counts().database, 2);
}

#[test]
fn nonsense_in_redis_is_passed_by_and_mended_and_in_the_database_it_is_nobodys() {
    let (Some(redis), Some(database)) = (Redis::start(), Database::start()) else {
        return;
    };
    fill(&database);
    redis.say(&["SET", "user:1", "no object"]);
    redis.say(&["RPUSH", "user:2", "a", "list"]);
    redis.say(&["SET", "user:3", "[1]"]);
    let users = start(asked(Some(&redis), Some(&database)));
    for key in ["1", "2", "3"] {
        assert_eq!(name(&ask(&users, key)), Some(&*format!("user {key}")));
        let stored = format!("user:{key}");
        until("it's mended", || redis.say(&["TYPE", &stored]) == "string");
        until("it's mended", || {
            redis.say(&["GET", &stored]).contains("\"name\"")
        });
    }
    assert_eq!(users.counts().nonsense, 3);
    let said = users.new_causes();
    let told = said.iter().filter(|line| line.contains("no JSON object"));
    assert_eq!(told.count(), 1, "{said:?}");
    // A query that finds two, and one that isn't one.
    for query in [
        "SELECT name FROM test.people WHERE id <> ?",
        "SELECT nothing WHERE ?",
        "SELECT 0 AS disabled, 1 AS Disabled FROM test.people WHERE id = ?",
    ] {
        let mut settings = asked(None, Some(&database));
        settings.database.as_mut().expect("it has one").query = query.into();
        let users = start(settings);
        assert_eq!(ask(&users, "1"), Answer::Unavailable, "{query}");
    }
}

#[test]
fn dead_stores_leave_what_is_remembered_and_nobody_waits_for_them() {
    let (Some(mut redis), Some(mut database)) = (Redis::start(), Database::start()) else {
        return;
    };
    fill(&database);
    let mut settings = asked(Some(&redis), Some(&database));
    settings.memory.lifetime = Duration::ZERO;
    settings.breaker = breaker::Settings {
        calls_min: 5,
        ..breaker::Settings::default()
    };
    let users = start(settings);
    assert_eq!(name(&ask(&users, "1")), Some("user 1"));
    // Without Redis the database is asked.
    redis.0.kill();
    assert_eq!(name(&ask(&users, "2")), Some("user 2"));
    // Without either, what is old is the answer, and who isn't remembered has none.
    database.0.kill();
    for _ in 0..100 {
        assert_eq!(name(&ask(&users, "1")), Some("user 1"));
        assert_eq!(name(&ask(&users, "2")), Some("user 2"));
        assert_eq!(ask(&users, "3"), Answer::Unavailable);
    }
    let counts = users.counts();
    assert!(counts.stale >= 1 && counts.unavailable == 100, "{counts:?}");
    assert!(counts.database_open, "{counts:?}");
    assert!(
        counts.database_failed < 100,
        "the breaker has kept most from asking"
    );
    // They come back, and nobody has to do anything.
    database.0.start_again();
    redis.0.start_again();
    until("the database is asked again", || {
        name(&ask(&users, "3")) == Some("user 3")
    });
    until("Redis is told again", || {
        ask(&users, "3");
        redis.say(&["EXISTS", "user:3"]) == "1"
    });
}

#[test]
fn stores_that_hang_are_given_up_and_their_late_answers_are_nobodys() {
    let (Some(redis), Some(database)) = (Redis::start(), Database::start()) else {
        return;
    };
    fill(&database);
    let mut settings = asked(Some(&redis), Some(&database));
    settings.memory.entries = 0;
    if let (Some(redis), Some(database)) = (&mut settings.redis, &mut settings.database) {
        redis.timeout = Duration::from_millis(200);
        database.timeout = Duration::from_millis(300);
        database.connections = 2;
    }
    let users = Users::start(settings).expect("a thread");
    until("the stores answer", || {
        name(&ask(&users, "999")) == Some("user 999")
    });
    for round in 0..3 {
        redis.0.signal("STOP");
        database.0.signal("STOP");
        let ask_many = |from: u32| -> Vec<_> {
            let keys = (from..from + 20).map(|key| key.to_string());
            keys.map(|key| (begin(&users, &key), key)).collect()
        };
        for (told, key) in ask_many(1) {
            let answer = told.recv_timeout(PATIENCE).expect("an answer comes");
            assert_eq!(answer, Answer::Unavailable, "{key}");
        }
        redis.0.signal("CONT");
        database.0.signal("CONT");
        // Whatever comes late now, each gets what he has asked for, or nothing.
        let mut known = 0;
        until("all are known again", || {
            known = 0;
            for (told, key) in ask_many(100 * (round + 1)) {
                let answer = told.recv_timeout(PATIENCE).expect("an answer comes");
                if answer != Answer::Unavailable {
                    assert_eq!(name(&answer), Some(&*format!("user {key}")));
                    known += 1;
                }
            }
            known == 20
        });
    }
    let connections = database.execute("SHOW STATUS LIKE 'Threads_connected'");
    let count: u32 = connections
        .rsplit('\t')
        .next()
        .map_or(0, |one| one.parse().unwrap_or(0));
    until("connections that were given up are closed", || {
        let said = database.execute("SHOW STATUS LIKE 'Threads_connected'");
        said.rsplit('\t')
            .next()
            .is_some_and(|one| one.parse::<u32>().is_ok_and(|n| n <= 3))
    });
    assert!(count > 0, "{connections}");
}

#[test]
fn who_is_revoked_is_looked_up_again_in_the_database() {
    let (Some(redis), Some(database)) = (Redis::start(), Database::start()) else {
        return;
    };
    fill(&database);
    let users = start(asked(Some(&redis), Some(&database)));
    for key in ["1", "2", "3"] {
        assert_eq!(name(&ask(&users, key)), Some(&*format!("user {key}")));
        let stored = format!("user:{key}");
        until("Redis is told", || redis.say(&["EXISTS", &stored]) == "1");
    }
    let rename = |key: &str, name: &str| {
        database.execute(&format!(
            "UPDATE test.people SET name = '{name}' WHERE id = {key}"
        ))
    };
    rename("1", "new");
    assert_eq!(
        name(&ask(&users, "1")),
        Some("user 1"),
        "nobody has said anything"
    );
    redis.say(&["XADD", "revoked", "*", "key", "1"]);
    until("a first revocation is heard", || {
        name(&ask(&users, "1")) == Some("new")
    });
    assert_eq!(name(&ask(&users, "2")), Some("user 2"));
    // Another gateway may have written what it had read just before.
    redis.say(&["SET", "user:1", r#"{"name":"old"}"#]);
    rename("1", "newer");
    redis.say(&["XADD", "revoked", "*", "key", "1"]);
    until("a second one is heard", || {
        name(&ask(&users, "1")) == Some("newer")
    });
    // What was said while nobody listened is heard afterwards.
    rename("2", "new");
    redis.say_at_once(&["CLIENT KILL TYPE normal SKIPME yes", "XADD revoked * key 2"]);
    until("one from before is heard", || {
        name(&ask(&users, "2")) == Some("new")
    });
    // And everybody at once.
    rename("3", "new");
    redis.say(&["XADD", "revoked", "*", "all", "1"]);
    until("one of all is heard", || {
        name(&ask(&users, "3")) == Some("new")
    });
    assert!(users.counts().revoked >= 3);
}

#[test]
fn a_stream_that_was_lost_has_everybody_forgotten() {
    let (Some(mut redis), Some(database)) = (Redis::start(), Database::start()) else {
        return;
    };
    fill(&database);
    let users = start(asked(Some(&redis), Some(&database)));
    redis.say(&["XADD", "revoked", "*", "key", "7"]);
    until("it's heard", || users.counts().revoked == 1);
    assert_eq!(name(&ask(&users, "1")), Some("user 1"));
    database.execute("UPDATE test.people SET name = 'new' WHERE id = 1");
    // It keeps nothing on the disk, so the stream is gone, and with it what it may have said.
    redis.0.kill();
    redis.0.start_again();
    until("it's looked up again", || {
        name(&ask(&users, "1")) == Some("new")
    });
}

#[test]
fn redis_alone_is_the_truth_and_nothing_in_it_is_deleted() {
    let Some(redis) = Redis::start() else {
        return;
    };
    redis.say(&["SET", "user:1", r#"{"name":"one","disabled":true}"#]);
    let users = start(asked(Some(&redis), None));
    let Answer::Known(record) = ask(&users, "1") else {
        panic!("he's in Redis");
    };
    assert!(record.is_disabled());
    redis.say(&["SET", "user:1", r#"{"name":"two"}"#]);
    redis.say(&["XADD", "revoked", "*", "key", "1"]);
    until("it's heard", || name(&ask(&users, "1")) == Some("two"));
    assert_eq!(redis.say(&["EXISTS", "user:1"]), "1");
    assert_eq!(ask(&users, "2"), Answer::Nobody);
}

#[test]
fn those_who_share_a_bucket_get_no_more_than_it_has() {
    let Some(redis) = Redis::start() else {
        return;
    };
    let all = [(); 2].map(|()| start(asked(Some(&redis), None)));
    let (mut taken, mut empty) = (0, [false; 2]);
    until("both have found it empty", || {
        for (users, empty) in all.iter().zip(&mut empty) {
            // A flow that brings nothing while this test lasts.
            match users.take("limit:a", 0.001, 50, Time::now()) {
                Share::Taken => taken += 1,
                Share::Empty(_) => *empty = true,
                Share::Own => {}
            }
        }
        empty == [true; 2]
    });
    assert_eq!(taken, 50);
    // One that is full at first, and nobody else's.
    until("it's another one", || {
        all[0].take("limit:b", 0.001, 1, Time::now()) == Share::Taken
    });
}

#[test]
fn nothing_is_left_of_users_who_are_dropped() {
    let Some(redis) = Redis::start() else {
        return;
    };
    for _ in 0..3 {
        drop(start(asked(Some(&redis), None)));
    }
    // The one that asks is a client, too.
    until("all connections are closed", || {
        redis.say(&["CLIENT", "LIST"]).lines().count() == 1
    });
}

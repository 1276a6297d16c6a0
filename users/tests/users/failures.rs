//! What stores refuse is said and counted, and what's slow gets no more than it may.

use std::sync::mpsc::channel;
use std::time::Duration;

use admission::breaker;
use measure::time::Time;
use users::counts::{CAUSES, Pool};
use users::{Answer, Settings, Users, settings};

use super::stores::{Database, Redis};
use super::{PATIENCE, ask, asked, begin, fill, name, start, until};

fn counted(users: &Users, kind: &str) -> u64 {
    let at = CAUSES.iter().position(|name| *name == kind);
    users.counts().causes[at.expect("there's such a kind")]
}

#[test]
fn whoever_waits_for_stores_finds_redis_and_waits_for_none_that_is_away() {
    let Some(redis) = Redis::start() else {
        return;
    };
    redis.say(&["SET", "user:1", r#"{"name":"one"}"#]);
    for _ in 0..20 {
        let users = Users::start(asked(Some(&redis), None)).expect("a thread");
        users.wait_for_stores(PATIENCE);
        assert_eq!(name(&ask(&users, "1")), Some("one"));
    }
    let mut settings = asked(Some(&redis), None);
    if let Some(redis) = &mut settings.redis {
        redis.place = settings::Place::Unix("/nowhere".into());
    }
    let users = Users::start(settings).expect("a thread");
    let until = Time::now() + PATIENCE;
    users.wait_for_stores(PATIENCE);
    assert!(Time::now() < until);
    assert_eq!(ask(&users, "1"), Answer::Unavailable);
    let said = users.new_causes();
    assert!(
        said.iter()
            .any(|line| line.starts_with("Redis can't be reached: ")),
        "{said:?}"
    );
}

#[test]
fn what_redis_refuses_is_said_once_in_its_words_and_counted() {
    let (Some(redis), Some(database)) = (Redis::start(), Database::start()) else {
        return;
    };
    fill(&database);
    let wrong = Some(settings::Password("hunter2".into()));
    let mut settings = asked(Some(&redis), None);
    if let Some(redis) = &mut settings.redis {
        (redis.user, redis.password) = (Some("nobody".into()), wrong);
    }
    let users = Users::start(settings).expect("a thread");
    until("it's refused often", || counted(&users, "redis_login") > 5);
    let said = users.new_causes();
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(
        said[0].starts_with("Redis refuses the login: WRONGPASS "),
        "{said:?}"
    );
    // A user that may read, and no more.
    redis.say(&[
        "ACL",
        "SETUSER",
        "reader",
        "on",
        "nopass",
        "~*",
        "+get",
        "+xread",
        "+xrevrange",
    ]);
    let mut settings = asked(Some(&redis), Some(&database));
    if let Some(redis) = &mut settings.redis {
        redis.user = Some("reader".into());
        redis.password = None;
        redis.revocations = None;
    }
    let users = Users::start(settings).expect("a thread");
    users.wait_for_stores(PATIENCE);
    for key in 1..=20 {
        assert_eq!(
            name(&ask(&users, &key.to_string())),
            Some(&*format!("user {key}"))
        );
    }
    until("all are refused", || {
        counted(&users, "redis_permission") >= 20
    });
    let said = users.new_causes();
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(
        said[0].starts_with("Redis refuses SET: NOPERM "),
        "{said:?}"
    );
}

#[test]
fn what_the_database_refuses_is_said_once_in_its_words_and_counted() {
    let Some(database) = Database::start() else {
        return;
    };
    fill(&database);
    // Who asks, and what.
    let password = settings::Password("hunter2".into());
    let rows = [
        (
            "nobody",
            "SELECT 1 AS a, ? AS b",
            "database_login",
            "the login: 1",
        ),
        (
            "root",
            "SELECT a FROM test.nothing WHERE id = ?",
            "database_question",
            "query: 1146 ",
        ),
        ("root", "SELEC ?", "database_question", "the query: 1064 "),
    ];
    for (user, query, kind, line) in rows {
        let mut settings = asked(None, Some(&database));
        if let Some(database) = &mut settings.database {
            (database.user, database.password) = (user.into(), Some(password.clone()));
            if user == "root" {
                database.password = None;
            }
            database.query = query.into();
        }
        let users = Users::start(settings).expect("a thread");
        // None of them is in the words, which would hide those.
        for key in 11..=15 {
            assert_eq!(ask(&users, &key.to_string()), Answer::Unavailable);
        }
        assert_eq!(counted(&users, kind), 5, "{query}: {:?}", users.counts());
        let said = users.new_causes();
        assert_eq!(said.len(), 1, "{said:?}");
        assert!(
            said[0].contains(line) && !said[0].contains("hunter2"),
            "{said:?}"
        );
    }
}

fn breaker_of_five(mut settings: Settings) -> Settings {
    settings.breaker = breaker::Settings {
        calls_min: 5,
        open: Duration::from_secs(600),
        open_max: Duration::from_secs(600),
        ..breaker::Settings::default()
    };
    settings
}

#[test]
fn a_redis_that_only_takes_no_writes_is_asked_on() {
    let (Some(redis), Some(database)) = (Redis::start(), Database::start()) else {
        return;
    };
    fill(&database);
    redis.say(&["SET", "user:2000", r#"{"name":"of redis"}"#]);
    let users = start(breaker_of_five(asked(Some(&redis), Some(&database))));
    redis.say(&["CONFIG", "SET", "min-replicas-to-write", "1"]);
    for key in 1..=40 {
        ask(&users, &key.to_string());
    }
    until("it's refused often", || {
        counted(&users, "redis_unavailable") > 30
    });
    assert!(!users.counts().redis_open, "{:?}", users.counts());
    assert_eq!(name(&ask(&users, "2000")), Some("of redis"));
}

#[test]
fn a_redis_that_refuses_whatever_it_is_asked_is_left_alone() {
    let Some(redis) = Redis::start() else {
        return;
    };
    redis.say(&["CONFIG", "SET", "requirepass", "hunter2"]);
    let settings = breaker_of_five(asked(Some(&redis), None));
    let users = Users::start(settings).expect("a thread");
    until("it isn't asked any more", || {
        ask(&users, "1");
        users.counts().redis_open
    });
    assert!(counted(&users, "redis_login") > 0, "{:?}", users.counts());
}

#[test]
fn a_slow_database_gets_no_more_queries_than_it_has_connections() {
    let Some(database) = Database::start() else {
        return;
    };
    fill(&database);
    let mut settings = asked(None, Some(&database));
    settings.memory.entries = 0;
    settings.breaker.calls_min = 1000;
    if let Some(database) = &mut settings.database {
        database.timeout = Duration::from_millis(200);
        database.connections = 2;
        database.query = "SELECT id, SLEEP(600) AS slept FROM test.people WHERE id = ?".into();
    }
    let users = Users::start(settings).expect("a thread");
    let under_way = || -> u32 {
        let query = "SELECT COUNT(*) FROM information_schema.processlist \
                     WHERE info LIKE 'SELECT id, SLEEP%'";
        database.execute(query).parse().expect("a number")
    };
    for key in 1..=10 {
        let both = [key, key + 100].map(|key: u32| begin(&users, &key.to_string()));
        for told in both {
            let answer = told.recv_timeout(PATIENCE).expect("an answer comes");
            assert_eq!(answer, Answer::Unavailable);
        }
        let count = under_way();
        assert!(count <= 2, "{count}");
    }
    // The server gives them up by itself, too.
    until("none is under way", || under_way() == 0);
    assert!(
        counted(&users, "database_unavailable") > 0,
        "{:?}",
        users.counts()
    );
}

#[test]
fn a_database_that_hangs_gets_no_more_connections_than_it_may_have() {
    let Some(database) = Database::start() else {
        return;
    };
    fill(&database);
    let mut settings = asked(None, Some(&database));
    settings.memory.entries = 0;
    if let Some(database) = &mut settings.database {
        database.timeout = Duration::from_millis(200);
        database.connections = 2;
    }
    let users = Users::start(settings).expect("a thread");
    until("it answers", || name(&ask(&users, "1")) == Some("user 1"));
    let tries = || -> u64 {
        let said = database.execute("SHOW STATUS LIKE 'Connections'");
        said.rsplit('\t')
            .next()
            .and_then(|count| count.parse().ok())
            .expect("a number")
    };
    let before = tries();
    database.0.signal("STOP");
    let begun = Time::now();
    for key in 1..=15 {
        let both = [key, key + 100].map(|key: u32| begin(&users, &key.to_string()));
        for told in both {
            // It stops a moment after it was told to.
            told.recv_timeout(PATIENCE).expect("an answer comes");
        }
    }
    // While all connections are waited for in vain, nobody waits for one of them.
    until("nobody waits", || {
        let (tell, told) = channel();
        let tell = Box::new(move |answer| drop(tell.send(answer)));
        let at_once = users.ask("3", Time::now(), tell).is_some();
        at_once || told.recv_timeout(PATIENCE).is_err()
    });
    let in_use = |in_use| users.counts().database_pool == Pool { limit: 2, in_use };
    until("both connections are in use", || {
        let _asked = ["4", "5"].map(|key| begin(&users, key));
        in_use(2)
    });
    // Each lasts for five seconds more than nobody waits for it.
    let most = 2 * (1 + (Time::now() - begun).as_secs() / 5);
    database.0.signal("CONT");
    until("it answers", || name(&ask(&users, "1")) == Some("user 1"));
    until("none is in use", || in_use(0));
    // One of them asks for this, and the last answer may have needed one.
    let more = tries() - before;
    assert!(more <= most + 2, "{more} more, {most} at most");
}

#[test]
fn who_waits_in_vain_for_a_connection_is_no_failure_of_the_database() {
    let Some(database) = Database::start() else {
        return;
    };
    fill(&database);
    let mut settings = asked(None, Some(&database));
    settings.breaker = breaker::Settings {
        calls_min: 10,
        ..breaker::Settings::default()
    };
    if let Some(database) = &mut settings.database {
        database.timeout = Duration::from_millis(200);
        database.connections = 1;
        database.query = "SELECT id, name, IF(id < 500, SLEEP(600), 0) AS slept \
                          FROM test.people WHERE id = ?"
            .into();
    }
    let users = start(settings);
    let all: Vec<_> = (1..=100)
        .map(|key| begin(&users, &key.to_string()))
        .collect();
    for told in all {
        let answer = told.recv_timeout(PATIENCE).expect("an answer comes");
        assert_eq!(answer, Answer::Unavailable);
    }
    let counts = users.counts();
    assert!(
        !counts.database_open && counts.database_failed == 100,
        "{counts:?}"
    );
    until("the one that was late has ended", || {
        name(&ask(&users, "500")) == Some("user 500")
    });
}

#[test]
fn buckets_are_behind_the_prefix_and_nobody_is_called_like_one() {
    let Some(redis) = Redis::start() else {
        return;
    };
    let mut settings = asked(Some(&redis), None);
    settings.numeric = false;
    redis.say(&["SET", "user:limit", "{}"]);
    let users = start(settings);
    users.take("limit:a", 1.0, 5, Time::now());
    until("it's there", || {
        redis.say(&["EXISTS", "user:limit:a"]) == "1"
    });
    assert_eq!(redis.say(&["EXISTS", "limit:a"]), "0");
    assert_eq!(ask(&users, "limit:a"), Answer::Nobody);
    assert!(matches!(ask(&users, "limit"), Answer::Known(_)));
}

use std::path::Path;

use super::*;

#[derive(serde::Deserialize)]
struct File {
    #[serde(default)]
    faults: Vec<Written>,
}

fn faults(text: &str) -> Result<Vec<Fault>, String> {
    let read = Document::of::<File>(Path::new("test.toml"), text.to_owned());
    let (file, document) = read.map_err(|bad| bad.to_string())?;
    let window = Duration::from_secs(10);
    super::read(file.faults, window, &document).map_err(|bad| bad.to_string())
}

fn one(text: &str) -> Fault {
    let mut faults = faults(&format!("[[faults]]\n{text}")).expect("a fault");
    assert_eq!(faults.len(), 1);
    faults.remove(0)
}

#[test]
fn each_kind_says_what_it_does_to_whom_and_for_how_long() {
    for (text, words) in [
        (
            "at = \"5s\"\nfor = \"2s\"\nkind = \"kill\"",
            "SIGKILL to the subject at 5 s, for 2 s",
        ),
        (
            "at = \"500ms\"\nkind = \"kill\"\nof = \"worker\"",
            "SIGKILL to a worker at 0.5 s",
        ),
        (
            "at = \"0s\"\nfor = \"10s\"\nkind = \"stop\"",
            "SIGSTOP to the subject at 0 s, for 10 s",
        ),
        (
            "at = \"1s\"\nfor = \"1s\"\nkind = \"stop\"\ntarget = \"redis\"",
            "SIGSTOP to redis at 1 s, for 1 s",
        ),
        (
            "at = \"1s\"\nkind = \"signal\"\nsignal = \"HUP\"",
            "SIGHUP to the subject at 1 s",
        ),
        (
            "at = \"1s\"\nfor = \"2s\"\nkind = \"signal\"\nsignal = \"TERM\"",
            "SIGTERM to the subject at 1 s, for 2 s",
        ),
        (
            "at = \"1s\"\nfor = \"2s\"\nkind = \"cpu\"",
            "another process computing on the server's cores at 1 s, for 2 s",
        ),
        (
            "at = \"1s\"\nfor = \"2s\"\nkind = \"companion-kill\"\ntarget = \"mysql\"",
            "SIGKILL to mysql at 1 s, for 2 s",
        ),
        (
            "at = \"1s\"\nfor = \"2s\"\nkind = \"companion-kill\"\ntarget = [\"redis\", \"mysql\"]",
            "SIGKILL to redis and mysql at 1 s, for 2 s",
        ),
        (
            "at = \"1s\"\nfor = \"2s\"\nkind = \"delay\"\ntarget = \"redis\"\ndelay = \"10ms\"",
            "10 ms of delay each way to redis at 1 s, for 2 s",
        ),
        (
            "at = \"1s\"\nfor = \"2s\"\nkind = \"delay\"\ndelay = \"10ms\"\njitter = \"2ms\"",
            "10 to 12 ms of delay each way to the subject at 1 s, for 2 s",
        ),
        (
            "at = \"1s\"\nfor = \"2s\"\nkind = \"slow\"\nbandwidth = \"10K\"",
            "10240 bytes/s each way to the subject at 1 s, for 2 s",
        ),
        (
            "at = \"1s\"\nfor = \"2s\"\nkind = \"slow\"\nbandwidth = \"1M/s\"",
            "1048576 bytes/s each way to the subject at 1 s, for 2 s",
        ),
        (
            "at = \"1s\"\nfor = \"2s\"\nkind = \"drop\"\ntarget = \"redis\"",
            "nothing passing to redis or back at 1 s, for 2 s",
        ),
        (
            "at = \"1s\"\nfor = \"2s\"\nkind = \"reset\"",
            "connections to the subject reset at 1 s, for 2 s",
        ),
    ] {
        assert_eq!(one(text).words(), words);
    }
}

#[test]
fn faults_are_done_in_the_order_of_their_times() {
    let text = "[[faults]]\nat = \"5s\"\nfor = \"1s\"\nkind = \"stop\"\n\
                [[faults]]\nat = \"1s\"\nfor = \"4s\"\nkind = \"cpu\"\n";
    let faults = faults(text).expect("they don't overlap");
    let at: Vec<u64> = faults.iter().map(|fault| fault.at.as_secs()).collect();
    assert_eq!(at, [1, 5]);
}

/// What is written, the line of the message, and words in it.
const MISTAKES: &[(&str, usize, &str)] = &[
    (
        "at = \"1s\"\nkind = \"kill\"",
        3,
        "then it is started again",
    ),
    ("at = \"1s\"\nkind = \"stop\"", 3, "then it is undone"),
    ("at = \"1s\"\nkind = \"cpu\"", 3, "then it is undone"),
    (
        "at = \"1s\"\nfor = \"1s\"\nkind = \"kil\"",
        4,
        "did you mean `kill`?",
    ),
    (
        "at = \"1s\"\nfor = \"1s\"\nkind = \"kill\"\nafter = 1",
        5,
        "unknown field `after`",
    ),
    ("for = \"1s\"\nkind = \"kill\"", 1, "missing field `at`"),
    ("at = \"1s\"\nfor = \"1s\"", 1, "missing field `kind`"),
    (
        "at = \"soon\"\nfor = \"1s\"\nkind = \"kill\"",
        2,
        "\"soon\" is not a duration",
    ),
    (
        "at = \"1s\"\nfor = \"0s\"\nkind = \"kill\"",
        3,
        "the time is zero",
    ),
    (
        "at = \"9s\"\nfor = \"2s\"\nkind = \"kill\"",
        2,
        "outside of the measured time: it ends 11 s after",
    ),
    (
        "at = \"10s\"\nkind = \"signal\"\nsignal = \"HUP\"",
        2,
        "outside of the measured time",
    ),
    (
        "at = \"1s\"\nfor = \"1s\"\nkind = \"kill\"\nof = \"worker\"",
        3,
        "by its own master",
    ),
    (
        "at = \"1s\"\nkind = \"kill\"\nof = \"thread\"",
        4,
        "expected `subject` or `worker`",
    ),
    ("at = \"1s\"\nkind = \"signal\"", 3, "expected `signal`"),
    (
        "at = \"1s\"\nfor = \"1s\"\nkind = \"delay\"",
        4,
        "expected `delay`",
    ),
    (
        "at = \"1s\"\nfor = \"1s\"\nkind = \"drop\"\njitter = \"1ms\"",
        5,
        "`jitter` is for `kind = \"delay\"`",
    ),
    (
        "at = \"1s\"\nfor = \"1s\"\nkind = \"slow\"",
        4,
        "expected `bandwidth`",
    ),
    (
        "at = \"1s\"\nfor = \"1s\"\nkind = \"slow\"\nbandwidth = \"0\"",
        5,
        "would pass nothing",
    ),
    (
        "at = \"1s\"\nfor = \"1s\"\nkind = \"slow\"\nbandwidth = \"fast\"",
        5,
        "\"fast\" is not a size",
    ),
    (
        "at = \"1s\"\nfor = \"1s\"\nkind = \"delay\"\ndelay = \"25h\"",
        5,
        "\"25h\" is more than a day",
    ),
    (
        "at = \"1s\"\nfor = \"1s\"\nkind = \"delay\"\njitter = \"25h\"",
        5,
        "\"25h\" is more than a day",
    ),
    (
        "at = \"1s\"\nfor = \"1s\"\nkind = \"delay\"\ndelay = \"5\"",
        5,
        "is 5 5ms or 5s? Write the unit",
    ),
    (
        "at = \"1s\"\nfor = \"1s\"\nkind = \"delay\"\ndelay = 5",
        5,
        "expected a time with a unit",
    ),
    ("at = \"1s\"\nkind = \"reset\"", 3, "then it is undone"),
    (
        "at = \"1s\"\nfor = \"1s\"\nkind = \"reset\"\nof = \"worker\"",
        5,
        "those of the whole subject",
    ),
    (
        "at = \"1s\"\nkind = \"signal\"\nsignal = \"KILL\"",
        4,
        "unknown variant `KILL`",
    ),
    (
        "at = \"1s\"\nfor = \"1s\"\nkind = \"stop\"\nsignal = \"HUP\"",
        5,
        "`signal` is for `kind = \"signal\"`",
    ),
    (
        "at = \"1s\"\nfor = \"1s\"\nkind = \"companion-kill\"",
        4,
        "expected `target`",
    ),
    (
        "at = \"1s\"\nfor = \"1s\"\nkind = \"stop\"\nof = \"worker\"\ntarget = \"redis\"",
        5,
        "expected one of them",
    ),
    (
        "at = \"1s\"\nfor = \"1s\"\nkind = \"stop\"\ntarget = []",
        5,
        "names no companion",
    ),
    (
        "at = \"1s\"\nfor = \"1s\"\nkind = \"stop\"\ntarget = [\"redis\", \"redis\"]",
        5,
        "names a companion twice",
    ),
    (
        "at = \"1s\"\nfor = \"1s\"\nkind = \"stop\"\ntarget = 5",
        5,
        "expected a companion's name, or a list of names",
    ),
    (
        "at = \"1s\"\nfor = \"1s\"\nkind = \"cpu\"\ntarget = \"redis\"",
        5,
        "takes the server's cores",
    ),
    (
        "at = \"1s\"\nfor = \"3s\"\nkind = \"stop\"\n\
         [[faults]]\nat = \"3s\"\nfor = \"1s\"\nkind = \"cpu\"",
        8,
        "begins before the one at 1 s is over, at 4 s",
    ),
    (
        "at = \"1s\"\nkind = \"signal\"\nsignal = \"HUP\"\n\
         [[faults]]\nat = \"1s\"\nkind = \"signal\"\nsignal = \"HUP\"",
        7,
        "nobody could tell what came of which",
    ),
];

#[test]
fn each_mistake_is_answered_with_its_line_and_what_was_expected() {
    for (text, line, words) in MISTAKES {
        let said = faults(&format!("[[faults]]\n{text}")).expect_err(text);
        let place = format!("test.toml:{line}:");
        assert!(said.starts_with(&place), "{text}\n{said}");
        assert!(said.contains(words), "{text}\n{said}");
    }
}

#[test]
fn a_companion_that_a_subject_does_not_have_is_named_beside_those_that_it_has() {
    let text = "at = \"1s\"\nfor = \"1s\"\nkind = \"stop\"\ntarget = \"reddis\"";
    let fault = one(text);
    let document = Document::of::<toml::Value>(Path::new("a.toml"), "a = 1".into());
    let (_, document) = document.expect("a document");
    let subject = |companions: &str| {
        let text = format!("[start]\ncommand = [\"server\"]\n{companions}");
        let mut subject: Subject = toml::from_str(&text).expect("a subject");
        subject.name = "shop".to_owned();
        subject
    };
    let companion = |name: &str| {
        format!(
            "[[companion]]\nname = {name:?}\ncommand = [\"x\"]\n\
             ready = {{ command = [\"true\"] }}\n"
        )
    };
    let said = |subject: Subject| {
        fault
            .check(&subject, &document)
            .map_err(|bad| bad.to_string())
    };
    let none = said(subject("")).expect_err("it has none");
    assert!(
        none.contains("`reddis` isn't a companion of shop: it has none"),
        "{none}"
    );
    let two = companion("redis") + &companion("mysql");
    let other = said(subject(&two)).expect_err("it has others");
    assert!(
        other.contains("it has `redis`, `mysql`; did you mean `redis`?"),
        "{other}"
    );
    assert_eq!(said(subject(&companion("reddis"))), Ok(()));
}

#[test]
fn what_a_drop_has_holed_is_reset_before_anything_passes_again() {
    let (begin, end) = Broken::Drop.orders();
    assert_eq!(begin, ["set stall"]);
    assert_eq!(end, ["set refuse=1", "reset-all", "clear"]);
}

#[test]
fn the_proxy_understands_whatever_it_is_told() {
    let day = Duration::from_secs(86_400);
    for broken in [
        Broken::Delay(day, day),
        Broken::Delay(Duration::from_nanos(1), Duration::ZERO),
        Broken::Drop,
        Broken::Reset,
        Broken::Slow(u64::MAX),
    ] {
        let (begin, end) = broken.orders();
        for order in begin.iter().chain(&end) {
            if let Some(faults) = order.strip_prefix("set ") {
                let read = faultproxy::Faults::parse_line(faults);
                assert!(read.is_ok(), "{order}: {read:?}");
            }
        }
    }
}

//! The comparison that a gate is: base and head under one load, each round on processes of its own.
//!
//! What the lab carries out is the text of a file, as if somebody had written it, so that its
//! records say all that was asked for. Starts nothing.

use std::num::NonZeroU32;
use std::time::Duration;

use lab::Made;
use lab::comparison::ROUNDS_MAX;
use statistics::sequential::Looks;
use supervisor::subject::{Kind, Subject};
use supervisor::workload::Protocol;
use toml::{Table, Value};

use crate::figure::Spoken;
use crate::file::{GateFile, ROUNDS_MIN};
use crate::sides::{BASE, HEAD, Sides};

/// Shorter than in other comparisons, since each process is measured for a moment only.
const SETTLE: Duration = Duration::from_millis(100);
const WINDOW: Duration = Duration::from_millis(500);
const WARM_UP: Duration = Duration::from_millis(500);
/// The fewest starts of each side: the sample is the start, and what one start happens to be like
/// isn't told apart from what a revision is like.
const STARTS_MIN: u32 = ROUNDS_MIN;
/// About how long a server takes to start and to end.
const START: Duration = Duration::from_millis(300);

/// A comparison to be carried out, with when it may end.
#[derive(Debug)]
pub(crate) struct Planned {
    pub(crate) made: Made,
    pub(crate) looks: Looks,
    pub(crate) rounds: u32,
}

/// What may be said besides the file.
#[derive(Clone, Debug, Default)]
pub(crate) struct Besides {
    pub(crate) path: Option<String>,
    pub(crate) connections: Option<u32>,
}

/// The comparison of these sides.
///
/// # Errors
/// A sentence that says what is missing.
pub(crate) fn plan(sides: &Sides, file: &GateFile, besides: &Besides) -> Result<Planned, String> {
    let [base, head] = &sides.subjects;
    for subject in [base, head] {
        if subject.kind == Kind::Command {
            return Err(format!(
                "{} is a timed command, and a gate measures servers: use `ringside compare`",
                subject.folder.display()
            ));
        }
    }
    let mut workload = match file.rest.get("workload") {
        Some(Value::Table(workload)) => workload.clone(),
        _ => Table::new(),
    };
    ask(&mut workload, head, besides)?;
    let equal_rate = equal_rate(file);
    let course = Course::of(file, &workload, equal_rate.is_some(), [base, head])?;
    let short = course.caution(file.gate.budget);
    let table = table(sides, file, workload, equal_rate, &course);
    let text = toml::to_string(&table).map_err(|error| format!("can't write it down: {error}"))?;
    let mut subjects = sides.subjects.to_vec();
    for (subject, name) in subjects.iter_mut().zip([BASE, HEAD]) {
        name.clone_into(&mut subject.name);
    }
    Ok(Planned {
        made: Made {
            text: format!("# Made by ringside gate\n{text}"),
            subjects,
            cautions: [sides.cautions.clone(), short.into_iter().collect()].concat(),
        },
        looks: course.looks(),
        rounds: course.rounds,
    })
}

/// Says what is asked, unless the file does: the first thing that the head declares to answer.
fn ask(workload: &mut Table, head: &Subject, besides: &Besides) -> Result<(), String> {
    if let Some(connections) = besides.connections {
        workload.insert("connections".into(), Value::Integer(connections.into()));
    }
    if let Some(path) = &besides.path {
        workload.insert("path".into(), Value::String(path.clone()));
    }
    if ["path", "targets", "script", "replay"]
        .iter()
        .any(|key| workload.contains_key(*key))
    {
        return Ok(());
    }
    let mut answers = head.answers.iter();
    let plain = answers.find(|answer| {
        let is_get = answer.method.as_ref().is_none_or(|method| method == "GET");
        answer.protocol == Protocol::Http1 && is_get && answer.message.is_none()
    });
    match plain {
        Some(answer) => {
            let path = answer.path.as_str().to_owned();
            workload.insert("path".into(), Value::String(path));
            Ok(())
        }
        None => Err(format!(
            "nothing says what {} is asked: write [workload] into {} beside its subject.toml",
            head.folder.display(),
            crate::file::NAME
        )),
    }
}

/// The rate that both are offered besides the closed loop, if there is one.
fn equal_rate(file: &GateFile) -> Option<String> {
    match &file.equal_rate {
        Some(written) => written.clone(),
        None if file.workload.rate.is_some() || has_flow(file) => None,
        None if file.workload.replay.is_some() => None,
        None => {
            let needed = file
                .gate
                .figures
                .iter()
                .any(|figure| figure.is_at_equal_rate());
            needed.then(|| "auto".to_owned())
        }
    }
}

/// Whether the waits between the messages of a WebSocket say when the next one is sent, or users
/// of a flow do.
fn has_flow(file: &GateFile) -> bool {
    let is_websocket = file.workload.protocol == Protocol::WebSocket;
    let targets = file.workload.targets.as_ref();
    targets.is_some_and(|file| is_websocket || file.extension() == Some("hurl".as_ref()))
}

/// How many rounds there are, and on how many starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Course {
    rounds: u32,
    rounds_per_start: NonZeroU32,
    /// How long they take, about.
    takes: Duration,
}

impl Course {
    /// As many rounds as the budget has room for. Each is a start of its own, so that intervals
    /// hold what starts differ by; of servers that take long to warm up, a start is worth more, as
    /// long as there are enough of them.
    ///
    /// # Errors
    /// There can't be enough starts: what to change.
    fn of(
        file: &GateFile,
        workload: &Table,
        equal: bool,
        subjects: [&Subject; 2],
    ) -> Result<Course, String> {
        let given = |key: &str, ours: Duration, theirs: Duration| match workload.contains_key(key) {
            true => theirs,
            false => ours,
        };
        let window = given("window", WINDOW, file.workload.window);
        let settle = given("settle", SETTLE, file.workload.settle);
        let own = subjects.map(|subject| subject.warm_up);
        let warm_up = given("warm_up", WARM_UP, file.workload.warm_up)
            .max(own[0])
            .max(own[1]);
        let round_s = (window + settle).as_secs_f64() * if equal { 2.0 } else { 1.0 };
        let start_s = (START + warm_up).as_secs_f64();
        let (budget, most) = (file.gate.budget, file.gate.rounds_max.unwrap_or(ROUNDS_MAX));
        let many = (start_s / (2.0 * round_s)).ceil().clamp(1.0, 20.0) as u32;
        let with = |per_start: NonZeroU32| {
            let each_s = 2.0 * (round_s + start_s / f64::from(per_start.get()));
            let fit = (budget.as_secs_f64() / each_s) as u32;
            // A few quick rounds are begun in any case: the budget ends them if it has to.
            let least = if many == 1 { ROUNDS_MIN } else { 0 };
            Course::whole(fit.max(least).min(most), per_start, each_s)
        };
        let is_enough = |course: &Course| course.starts() >= STARTS_MIN;
        if let Some(given) = file.gate.rounds_per_start {
            return Some(with(given)).filter(is_enough).ok_or_else(|| {
                format!(
                    "`rounds_per_start = {given}` leaves room for too few starts of each side: an \
                     interval needs {STARTS_MIN}; lower it, or raise the budget"
                )
            });
        }
        let mut fewer = (1..=many).rev().filter_map(NonZeroU32::new).map(with);
        fewer.find(is_enough).ok_or_else(|| {
            let needed_s = 2.0 * f64::from(STARTS_MIN) * (start_s + round_s);
            format!(
                "a budget of {:.0} s is too short for {STARTS_MIN} starts of each side, which an \
                 interval needs: they take {start_s:.0} s each to start and warm up; use --budget \
                 {:.0}s or more",
                budget.as_secs_f64(),
                needed_s.ceil()
            )
        })
    }

    /// Of at most so many rounds those of whole starts, and an even number of them: every second
    /// round is the one before it backwards.
    fn whole(rounds: u32, rounds_per_start: NonZeroU32, each_s: f64) -> Course {
        let each = rounds_per_start.get();
        let starts = rounds / each;
        let starts = starts - u32::from(starts * each % 2 == 1);
        Course {
            rounds: starts * each,
            rounds_per_start,
            takes: Duration::from_secs_f64(f64::from(starts * each) * each_s),
        }
    }

    /// Says that the budget is over before there are enough rounds for an interval.
    fn caution(&self, budget: Duration) -> Option<String> {
        (self.takes > budget).then(|| {
            let needed_s = self.takes.as_secs_f64().ceil();
            format!(
                "The budget of {:.0} s is probably too short: an interval needs {ROUNDS_MIN} \
                 rounds of each side, which take about {needed_s:.0} s; use --budget \
                 {needed_s:.0}s or more.",
                budget.as_secs_f64()
            )
        })
    }

    /// How many starts of each side there are: the size of the sample.
    fn starts(&self) -> u32 {
        self.rounds / self.rounds_per_start.get()
    }

    /// The rounds after which it may end, each the last of a start. The first look comes when as
    /// many are done as lie between two of them.
    fn looks(&self) -> Looks {
        let starts = self.starts();
        let looks = Looks::plan((starts / 5).max(STARTS_MIN), starts);
        looks.of_rounds_each(self.rounds_per_start.get())
    }
}

fn table(
    sides: &Sides,
    file: &GateFile,
    mut workload: Table,
    equal_rate: Option<String>,
    course: &Course,
) -> Table {
    let text = |text: &str| Value::String(text.to_owned());
    let time = |time: Duration| Value::String(format!("{}ms", time.as_millis()));
    for (key, ours) in [("settle", SETTLE), ("window", WINDOW), ("warm_up", WARM_UP)] {
        workload.entry(key).or_insert(time(ours));
    }
    let mut table = file.rest.clone();
    let names = &sides.labels;
    let question = format!("Is {} slower than {}?", names[1], names[0]);
    let smallest = format!("{:.4}%", 100.0 * file.gate.smallest_of_all());
    let per_start = course.rounds_per_start.get();
    for (key, value) in [
        ("name", text("gate")),
        ("question", Value::String(question)),
        ("baseline", text(BASE)),
        ("rounds", Value::Integer(course.rounds.into())),
        ("rounds_per_start", Value::Integer(per_start.into())),
        ("smallest_difference", Value::String(smallest)),
        ("budget", time(file.gate.budget)),
        ("aa", Value::Boolean(file.gate.aa)),
        // Who comes near to what the generator can do has no ratio.
        (
            "ceiling",
            Value::Boolean(file.gate.figures.contains(&crate::Figure::Rate)),
        ),
        ("workload", Value::Table(workload)),
    ] {
        table.insert(key.to_owned(), value);
    }
    let figures = file.gate.figures.iter().map(|figure| text(figure.name()));
    let mut judge = Table::new();
    judge.insert("figures".into(), Value::Array(figures.collect()));
    judge.extend(equal_rate.map(|rate| ("equal_rate".to_owned(), Value::String(rate))));
    table.insert("judge".into(), Value::Table(judge));
    let row = |name: &&str| {
        let keys = ["name", "subject"].map(|key| (key.to_owned(), text(name)));
        Value::Table(keys.into_iter().collect())
    };
    let rows = [BASE, HEAD].iter().map(row).collect();
    table.insert("rows".into(), Value::Array(rows));
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    fn subject(warm_up: &str) -> Subject {
        let text = format!(
            "warm_up = \"{warm_up}\"\n[start]\ncommand = [\"true\"]\n\
             [[answer]]\npath = \"/post\"\nmessage = \"x\"\nbody = \"x\"\n\
             [[answer]]\npath = \"/x\"\nbody = \"x\"\n"
        );
        let here = std::env::temp_dir();
        Subject::made("some", &here, text).unwrap_or_else(|bad| panic!("{bad}"))
    }

    fn sides(warm_up: &str) -> Sides {
        Sides {
            subjects: [subject(warm_up), subject(warm_up)],
            labels: ["main".to_owned(), "HEAD".to_owned()],
            commits: [None, None],
            cautions: Vec::new(),
        }
    }

    fn file(text: &str) -> GateFile {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("gate.toml");
        std::fs::write(&file, text).expect("a file");
        GateFile::read(Some(&file)).unwrap_or_else(|bad| panic!("{bad}"))
    }

    fn read(text: &str) -> lab::comparison::Comparison {
        let sides = sides("0s");
        let planned = plan(&sides, &file(text), &Besides::default()).expect("a comparison");
        let options = lab::Options {
            made: Some(planned.made),
            ..lab::Options::default()
        };
        let read = lab::compare::read(&options);
        read.unwrap_or_else(|why| panic!("{why}")).0
    }

    #[test]
    fn the_lab_reads_what_is_made_with_every_figure() {
        let all = "[gate]\nfigures = [\"rate\", \"cpu\", \"p50\", \"p95\", \"p99\", \"mean\", \
                   \"memory\"]\nsmallest = \"7%\"\n[workload]\nconnections = 3\n";
        let comparison = read(all);
        assert_eq!(comparison.smallest_difference, 0.07);
        assert_eq!(comparison.workload.path.get_ref().as_str(), "/x");
        assert_eq!(comparison.workload.connections.get(), 3);
        assert_eq!(comparison.workload.window, WINDOW);
        assert_eq!(comparison.rows.len(), 2);
        assert_eq!(comparison.baseline, BASE);
        assert!(comparison.judging.equal_rate.is_some());
        // A closed loop alone is one window for each round.
        let rate = read("[gate]\nfigures = [\"rate\"]\n");
        assert!(rate.judging.equal_rate.is_none() && rate.phases.is_empty());
        assert_eq!(rate.ceiling, Some(true));
        let open = read("[workload]\nrate = \"1k\"\n");
        assert_eq!(open.ceiling, Some(false));
        // Users of a flow have no rate.
        let folder = tempfile::tempdir().expect("a folder");
        let shop = folder.path().join("shop.hurl");
        std::fs::write(&shop, "GET {{base}}/x\n").expect("a file");
        let flow = read(&format!("[workload]\ntargets = \"{}\"\n", shop.display()));
        assert!(flow.judging.equal_rate.is_none() && flow.rows[0].question.has_users());
    }

    #[test]
    fn a_budget_has_room_for_so_many_rounds_of_which_pairs_are_balanced() {
        let course = |text: &str, warm_up: &str| {
            let subject = subject(warm_up);
            let file = file(text);
            Course::of(&file, &Table::new(), true, [&subject, &subject])
        };
        let refused =
            |text: &str, warm_up: &str| course(text, warm_up).expect_err("too few starts");
        let course = |text: &str, warm_up: &str| course(text, warm_up).expect("enough starts");
        let usual = course("", "0s");
        assert_eq!((usual.rounds, usual.rounds_per_start.get()), (36, 1));
        assert_eq!(usual.looks().at, [7, 14, 21, 28, 36]);
        let few = course("[gate]\nrounds_max = 7\n", "0s");
        assert_eq!((few.rounds, few.looks().at), (6, vec![4, 5, 6]));
        // A start that takes ten seconds is worth several rounds.
        let slow = course("", "10s");
        assert!(
            slow.rounds_per_start.get() > 3 && slow.rounds >= 20,
            "{slow:?}"
        );
        let short = course("[gate]\nbudget = \"1s\"\n", "0s");
        assert_eq!(short.rounds, 4);
        let why = short
            .caution(Duration::from_secs(1))
            .expect("it's over before");
        assert!(
            why.contains("The budget of 1 s is probably too short"),
            "{why}"
        );
        assert_eq!(short.caution(short.takes), None);
        // Whatever a start is worth, there are enough of them, and no look comes within one.
        for warm_up in ["1s", "3s", "10s", "15s", "16s"] {
            let course = course("", warm_up);
            let each = course.rounds_per_start.get();
            assert!(course.starts() >= STARTS_MIN, "{warm_up}: {course:?}");
            let looks = course.looks().at;
            assert!(
                looks.iter().all(|at| at % each == 0),
                "{warm_up}: {looks:?}"
            );
            assert!(looks[0] >= STARTS_MIN * each, "{warm_up}: {looks:?}");
        }
        let why = refused("", "60s");
        assert!(why.contains("use --budget 492s or more"), "{why}");
        let why = refused("[gate]\nrounds_per_start = 30\n", "0s");
        assert!(why.contains("lower it, or raise the budget"), "{why}");
        let given = course("[gate]\nrounds_per_start = 3\n", "0s");
        assert_eq!((given.rounds, given.looks().at[0]), (48, 12));
    }

    #[test]
    fn what_is_asked_has_to_be_known() {
        let mut sides = sides("0s");
        sides.subjects[1].answers.truncate(1);
        let refused = plan(&sides, &file(""), &Besides::default()).map(|_| ());
        let refused = refused.expect_err("only a message is answered");
        assert!(refused.contains("[workload]"), "{refused}");
        let besides = Besides {
            path: Some("/y".to_owned()),
            connections: Some(2),
        };
        let planned = plan(&sides, &file(""), &besides).expect("a path");
        let text = &planned.made.text;
        assert!(
            text.contains("path = \"/y\"") && text.contains("connections = 2"),
            "{text}"
        );
    }
}

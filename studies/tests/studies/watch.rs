//! What is found about real processes: who leaves their cores, who is left behind, whose work is
//! done by somebody else.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use lab::Event;
use lab::finding::{Check, Finding, Severity};
use lab::manifest;
use lab::round::Round;
use load::Stop;
use measure::quota::{Place, Quota, UNIFIED};
use studies::Outcome;
use supervisor::watch::subject::SharedPages;

use crate::ports::free_port;
use crate::skip::{not_permitted, skip};
use crate::support::{
    Arena, alone, assert_companions_are_known, beside_others, left_behind, quick, tiny,
};

/// Runs a comparison of these subjects for so many rounds of half a second.
fn compare(arena: &Arena, subjects: &[&str], rounds: u32) -> Outcome {
    let text = quick(subjects, rounds).replace("\"60ms\"", "\"500ms\"");
    arena.compare(&text, &Stop::new())
}

/// What was found about a row in its first round, and about the row as a whole.
fn findings<'a>(outcome: &'a Outcome, name: &str) -> &'a [Finding] {
    let mut rows = outcome.report.subjects.iter();
    let row = rows
        .find(|row| row.facts.name == name)
        .expect("one of the subjects");
    &row.samples.first().expect("it was measured").findings
}

fn found<'a>(outcome: &'a Outcome, name: &str, check: Check) -> Option<&'a Finding> {
    let mut findings = findings(outcome, name).iter();
    findings.find(|finding| finding.check == check)
}

/// The first round of a row, as it was kept.
fn first_round(outcome: &Outcome, name: &str) -> Round {
    let file = outcome.folder.join(format!("rounds/{name}/001.json"));
    let text = std::fs::read_to_string(file).expect("its round");
    Round::from_json(&text).expect("a round")
}

/// The description of the tiny server behind a shell that does something else first.
fn behind(script: &str) -> String {
    let program = std::env::current_exe().expect("this program has a path");
    let whole = format!(
        "{script} exec {} tiny_server --exact --nocapture",
        program.display()
    );
    let plain = tiny("", "");
    let command = format!("[{program:?}, \"tiny_server\", \"--exact\", \"--nocapture\"]");
    assert!(plain.contains(&command), "{plain}");
    plain.replace(&command, &format!("[\"/bin/sh\", \"-c\", {whole:?}]"))
}

#[test]
fn a_busy_child_on_the_generators_core_is_found() {
    let _beside = beside_others();
    if std::thread::available_parallelism().map_or(1, |count| count.get()) < 2 {
        return skip("with one core there is none of the generator's own");
    }
    let arena = Arena::new("leaves");
    // The placement is that of a machine with two cores or more: the server has the first.
    let allowed = allowed_cores();
    let script = format!(
        "taskset -c {} sh -c 'while :; do :; done' & ",
        allowed.last().expect("a process runs somewhere")
    );
    arena.tiny("plain", "").subject("leaves", &behind(&script));
    let outcome = compare(&arena, &["plain", "leaves"], 1);
    let finding = found(&outcome, "leaves", Check::Cores).expect("it left its cores");
    assert!(finding.sentence.contains("of its threads"), "{finding:?}");
    assert_eq!(found(&outcome, "plain", Check::Cores), None);
}

/// The processors that this process may use.
fn allowed_cores() -> Vec<usize> {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux");
    let list = status
        .lines()
        .find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    let parts = list.expect("proc(5)").trim().split(',');
    parts
        .flat_map(|part| {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let number = |text: &str| text.parse::<usize>().expect("a processor");
            number(first)..=number(last)
        })
        .collect()
}

#[test]
fn a_process_that_a_subject_leaves_behind_is_named() {
    let _beside = beside_others();
    let arena = Arena::new("leaks");
    arena
        .tiny("plain", "")
        .subject("leaks", &behind("setsid sleep 1000 & "));
    let outcome = compare(&arena, &["plain", "leaks"], 1);
    let finding = found(&outcome, "leaks", Check::LeftBehind).expect("somebody was left");
    assert!(finding.sentence.ends_with("`sleep`"), "{finding:?}");
    assert_eq!(found(&outcome, "plain", Check::LeftBehind), None);
}

/// A control group of ours with a fifth of a processor; gone with its owner.
struct Limited(PathBuf);

impl Limited {
    fn make() -> Option<Limited> {
        let parent = Place::own("cpu").or_else(|| Place::own(UNIFIED))?;
        let name = format!("ringside-quota-{}", std::process::id());
        let folder = parent.folder.join(name);
        fs::create_dir(&folder).ok()?;
        let group = Limited(folder);
        let write = |name: &str, text| fs::write(group.0.join(name), text);
        let limited = write("cpu.cfs_quota_us", "20000");
        let limited = limited.or_else(|_| write("cpu.max", "20000 100000"));
        limited.is_ok().then_some(group)
    }
}

impl Drop for Limited {
    fn drop(&mut self) {
        // Refused while somebody is in it, who is then found to be left behind.
        let _ = fs::remove_dir(&self.0);
    }
}

#[test]
fn a_subject_that_a_quota_stops_is_said_to_be_throttled() {
    let _beside = beside_others();
    let Some(group) = Limited::make() else {
        return not_permitted("no control group with a quota can be made here");
    };
    let arena = Arena::new("throttled");
    let enter = format!("echo $$ > {}/cgroup.procs && ", group.0.display());
    let burns = behind(&enter).replace("TINY_FAULT = \"\"", "TINY_FAULT = \"burns\"");
    arena.tiny("plain", "").subject("stopped", &burns);
    let outcome = compare(&arena, &["plain", "stopped"], 1);
    let finding = found(&outcome, "stopped", Check::Quota).expect("a fifth is not enough for it");
    assert_eq!(finding.severity, Severity::Void, "{finding:?}");
    let said = "a CPU quota kept processes off their cores for";
    assert!(finding.sentence.starts_with(said), "{finding:?}");
    let host = first_round(&outcome, "stopped").watched.host;
    // The smallest of all: another one may be smaller still on this machine.
    let cpus = host.quota.as_ref().and_then(Quota::cpus);
    assert!(cpus.is_some_and(|cpus| cpus <= 0.2), "{host:?}");
    let text = fs::read_to_string(outcome.folder.join("report.md")).expect("the report");
    assert!(text.contains(said), "{text}");
}

/// The sentences under *Where to look next* in the report's text.
fn look_next(outcome: &Outcome) -> String {
    let text = fs::read_to_string(outcome.folder.join("report.md")).expect("the report");
    let (_, clues) = text.split_once("## Where to look next").unwrap_or_default();
    let clues = clues.split("\n## ").next().unwrap_or_default();
    clues.to_owned()
}

#[test]
fn limits_hold_and_what_they_did_is_told_and_spoils_nothing() {
    let _beside = beside_others();
    let arena = Arena::new("limits");
    let starved = tiny("", "") + "\n[limits]\nmemory = \"256K\"\n";
    arena.tiny("plain", "").tiny("burns", "burns");
    arena.subject("starved", &starved);
    // Long enough that a machine with other work has a fifth of a core for it, too.
    let text = quick(&["plain"], 1).replace("\"60ms\"", "\"2s\"");
    let row = |name: &str, subject: &str, limits: &str| {
        format!("\n[[rows]]\nname = \"{name}\"\nsubject = \"{subject}\"\n{limits}\n")
    };
    arena.tiny("swells", "swells");
    let rows = [
        row("plain", "plain", ""),
        row("swelling", "swells", "limits = { memory = \"64M\" }"),
        row(
            "held",
            "burns",
            "limits = { cpu = \"0.2\", memory = \"256M\" }",
        ),
        row("starved", "starved", ""),
    ];
    let text = text.replace("subjects = [\"plain\"]\n", "") + &rows.concat();
    let outcome = arena.compare(&text, &Stop::new());
    let failed = |name: &str| match &crate::support::row(&outcome, name).facts.outcome {
        manifest::Outcome::Failed { what, .. } => Some(what.clone()),
        _ => None,
    };
    let starved = failed("starved").expect("no server runs in 256 KiB");
    let by_group = "out of memory (OOM): the kernel killed it because it needed more than its \
                    limit of 256 KiB";
    if starved.contains("its address space is limited to 256 KiB") {
        not_permitted("no control group can limit memory here");
    } else {
        assert!(starved.contains(by_group), "{starved}");
    }
    if let Some(why) = failed("held") {
        let said = "can't be limited to 0.2 CPUs (`cpu` in [limits])";
        assert!(
            why.starts_with(said) && why.contains("systemd-run"),
            "{why}"
        );
        return not_permitted(why);
    }
    let described = &crate::support::row(&outcome, "held").facts.description;
    let said = "; limited to 0.2 CPUs and 256 MiB of memory";
    assert!(described.ends_with(said), "{described}");
    assert_eq!(found(&outcome, "held", Check::Quota), None);
    let held = first_round(&outcome, "held").watched.limited;
    let struck = held.and_then(|held| held.throttled);
    assert!(struck.is_some_and(|struck| struck.times > 0), "{held:?}");
    assert_eq!(first_round(&outcome, "plain").watched.limited, None);
    let clues = look_next(&outcome);
    let said = "Held back by the CPU limit: held (0.2 CPUs) for ";
    assert!(clues.contains(said), "{clues}");
    // What fills its memory while it's measured is named with the round.
    let swollen = failed("swelling").expect("it needs more than it may have");
    assert!(
        swollen.contains("round") && swollen.contains("out of memory (OOM)"),
        "{swollen}"
    );
}

#[test]
fn slow_queries_of_a_companion_are_counted_and_told() {
    let _beside = beside_others();
    if let Err(error) = Command::new("redis-server").arg("--version").output() {
        return skip(format!(
            "redis-server ({error}): apt-get install redis-server"
        ));
    }
    let arena = Arena::new("slow");
    let redis = "\n[[companion]]\nname = \"redis\"\n\
                 command = [\"redis-server\", \"--port\", \"{port}\", \"--save\", \"\", \
                 \"--slowlog-log-slower-than\", \"0\"]\n\
                 ready = { command = [\"redis-cli\", \"-p\", \"{port}\", \"ping\"] }\n\
                 slow = [\"redis-cli\", \"-p\", \"{port}\", \"SLOWLOG\", \"LEN\"]\n";
    let silent = redis.replace("\"SLOWLOG\", \"LEN\"", "\"ECHO\", \"none\"");
    arena.subject("counted", &(tiny("", "") + redis));
    arena.subject("silent", &(tiny("", "") + &silent));
    let outcome = compare(&arena, &["counted", "silent"], 1);
    // At least the first question is slow, by what it calls slow.
    let slow = first_round(&outcome, "counted").watched.slow;
    assert!(
        slow.get("redis").is_some_and(|count| *count > 0),
        "{slow:?}"
    );
    let clues = look_next(&outcome);
    assert!(clues.contains("Slow queries: counted ("), "{clues}");
    let seen = first_round(&outcome, "silent").watched;
    assert!(seen.slow.is_empty(), "{:?}", seen.slow);
    let why = "slow queries of redis, because `redis-cli` printed no number";
    assert!(
        seen.missing.iter().any(|what| what.ends_with(why)),
        "{:?}",
        seen.missing
    );
}

#[test]
fn queries_that_take_mariadb_longer_than_it_was_told_are_counted() {
    let _beside = beside_others();
    for program in ["mariadbd", "mariadb", "mariadb-install-db"] {
        if let Err(error) = Command::new(program).arg("--version").output() {
            return skip(format!(
                "{program} ({error}): apt-get install mariadb-server"
            ));
        }
    }
    let arena = Arena::new("slow-mariadb");
    let subjects = Path::new(env!("CARGO_MANIFEST_DIR")).join("../subjects");
    // As a subject of the repository has it, but that a slow query comes before each count.
    let real = fs::read_to_string(subjects.join("swoole-mysql/subject.toml")).expect("the subject");
    let begin = real.find("[[companion]]").expect("its database");
    let end = begin + real[begin..].find("[ready]").expect("the next section");
    let database = real[begin..end].replace("{subject}/..", &subjects.display().to_string());
    let counted = database.replace("\"SHOW GLOBAL", "\"SELECT SLEEP(0.02); SHOW GLOBAL");
    assert_ne!(counted, database, "its slow queries are counted");
    arena.subject("slowed", &(tiny("", "") + "\n" + &counted));
    let outcome = compare(&arena, &["slowed"], 1);
    let seen = first_round(&outcome, "slowed").watched;
    let slow = seen.slow.get("database");
    assert!(slow.is_some_and(|count| *count > 0), "{seen:?}");
    let clues = look_next(&outcome);
    assert!(clues.contains("Slow queries: slowed ("), "{clues}");
}

/// Whether `perf` may sample a process of ours.
fn perf_samples(folder: &Path) -> Result<(), String> {
    let data = folder.join("try.data").display().to_string();
    let words = ["record", "-q", "-e", "cpu-clock", "-o", &data, "--", "true"];
    let tried = Command::new("perf").args(words).output();
    let tried = tried.map_err(|error| format!("perf: {error}"))?;
    match tried.status.success() {
        true => Ok(()),
        false => Err(String::from_utf8_lossy(&tried.stderr).into_owned()),
    }
}

#[test]
fn perf_shows_what_a_subject_does_under_load() {
    let _beside = beside_others();
    let arena = Arena::new("perf");
    if let Err(error) = Command::new("perf").arg("--version").output() {
        return skip(format!("perf ({error}): apt-get install linux-perf"));
    }
    if let Err(why) = perf_samples(&arena.folder) {
        return not_permitted(format!("perf may not look at processes: {why}"));
    }
    arena.tiny("busy", "burns");
    let mut options = arena.comparison(&quick(&["busy"], 1));
    options.profile = true;
    let outcome = studies::compare(&options, &Stop::new(), &mut |event: &Event<'_>| {
        println!("{event}");
    });
    assert_eq!(left_behind(&arena.folder), Vec::<u32>::new());
    let outcome = outcome.expect("it runs");
    let kept = lab::Kept::read(&outcome.folder).expect("it was written down");
    let row = kept.manifest.rows.iter().find(|row| row.name == "busy");
    let profile = row
        .and_then(|row| row.profile.as_ref())
        .expect("it was looked at");
    let picture = profile.flame_graph.as_ref().expect("perf may look at it");
    let read = |path: &Path| fs::read_to_string(outcome.folder.join(path)).expect("written");
    assert!(read(picture).starts_with("<svg "));
    let folded = read(&picture.with_extension("folded"));
    // Of some hundreds of samples, or a few on a machine that has other work, the most are of the
    // loop that keeps the processor busy, which reads the clock again and again.
    let of_the_loop = |line: &&str| {
        let names = ["burn", "::serve", "time::Time::", "clock_gettime"];
        names.iter().any(|name| line.contains(name))
    };
    let samples = |line: &str| {
        line.rsplit_once(' ')
            .and_then(|(_, count)| count.parse::<u64>().ok())
    };
    let all: u64 = folded.lines().filter_map(samples).sum();
    let busy = folded.lines().filter(of_the_loop);
    let busy: u64 = busy.filter_map(samples).sum();
    assert!(all > 0 && 2 * busy > all, "{busy} of {all}: {folded}");
    // System calls are counted, or there is a sentence that says why not.
    let why = |what: &String| what.contains("no count of system calls");
    assert!(
        profile.calls.is_some() != profile.missing.iter().any(why),
        "{profile:?}"
    );
    if let Some(calls) = &profile.calls {
        assert!(calls.per_exchange > 0.5, "{calls:?}");
    }
}

/// A server of nobody's that is ended with its owner.
struct Helper(Child);

impl Helper {
    fn start(port: u16) -> Helper {
        let program = std::env::current_exe().expect("this program has a path");
        let child = Command::new(program)
            .args(["tiny_server", "--exact", "--nocapture"])
            .env("TINY_PORT", port.to_string())
            .env("TINY_FAULT", "burns")
            .stdout(Stdio::null())
            .spawn();
        Helper(child.expect("this program starts"))
    }
}

impl Drop for Helper {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn work_that_is_done_outside_of_the_subjects_processes_is_found() {
    let _alone = alone();
    let arena = Arena::new("elsewhere");
    let port = free_port();
    let _helper = Helper::start(port);
    let leaky = tiny("hands over", "").replace(
        "TINY_FAULT",
        &format!("TINY_HELPER = \"{port}\", TINY_FAULT"),
    );
    arena.tiny("plain", "").subject("leaky", &leaky);
    let outcome = compare(&arena, &["plain", "leaky"], 3);
    let finding = found(&outcome, "leaky", Check::Elsewhere).expect("it has a helper");
    assert!(finding.severity >= Severity::Caution, "{finding:?}");
    assert!(
        finding.sentence.contains("outside its own processes"),
        "{finding:?}"
    );
    assert_eq!(found(&outcome, "plain", Check::Elsewhere), None);
}

#[test]
fn a_subject_that_has_metrics_of_its_own_is_asked_for_them_around_a_round() {
    let _beside = beside_others();
    let arena = Arena::new("metrics");
    let watched = tiny("", "") + "\n[watch]\nmetrics = \"/metrics\"\n";
    let blind = tiny("", "") + "\n[watch]\nmetrics = \"/\"\n";
    arena.subject("watched", &watched).subject("blind", &blind);
    let outcome = compare(&arena, &["watched", "blind"], 1);
    let seen = first_round(&outcome, "watched");
    let change = seen
        .watched
        .scraped
        .get("tiny_requests_total")
        .expect("it moved");
    let completed = seen.sample.completed as f64;
    assert!(
        change.after - change.before >= completed,
        "{change:?}, {completed}"
    );
    let blind = first_round(&outcome, "blind").watched;
    assert!(blind.scraped.is_empty());
    let why = |sentence: &String| sentence.contains("Prometheus");
    assert!(blind.missing.iter().any(why), "{:?}", blind.missing);
    let subject = seen.watched.subject;
    assert!(subject.cpu_ns > 0 && subject.processes == 1, "{subject:?}");
    assert!(subject.memory_peak_bytes.is_some() && subject.descriptors.is_some());
    let host = seen.watched.host;
    assert!(host.wall_ns >= 400_000_000, "{host:?}");
}

#[test]
fn what_companions_use_is_nobody_elses_and_pages_of_several_processes_are_divided() {
    let _beside = beside_others();
    let arena = Arena::new("beside");
    let several = behind("sleep 1000 & ") + &arena.burning_companion();
    arena.subject("several", &several).tiny("plain", "");
    // In the first of two rounds both are alive.
    let outcome = compare(&arena, &["several", "plain"], 2);
    let seen = first_round(&outcome, "several").watched;
    assert_companions_are_known(&seen);
    // While the other was measured, this one's companion should have been idle.
    let idle = found(&outcome, "plain", Check::IdleSubjects).expect("it was not");
    assert!(idle.sentence.contains("of a core"), "{idle:?}");
    assert_eq!(seen.subject.processes, 2, "{:?}", seen.subject);
    if std::path::Path::new("/proc/self/smaps_rollup").exists() {
        assert_eq!(seen.subject.shared_pages, SharedPages::Divided);
        let (mean, peak) = (
            seen.subject.memory_mean_bytes,
            seen.subject.memory_peak_bytes,
        );
        assert!(
            mean < peak,
            "both have the pages of libc: {:?}",
            seen.subject
        );
    }
    let plain = first_round(&outcome, "plain").watched.subject;
    assert_eq!(
        plain.shared_pages,
        SharedPages::Repeated,
        "it is one process"
    );
}

//! What is found about real processes: who leaves their cores, who is left behind, whose work is
//! done by somebody else.

use std::process::{Child, Command, Stdio};

use crate::support::{
    Arena, alone, assert_companions_are_known, free_port, left_behind, quick, tiny,
};
use lab::finding::{Check, Finding, Severity};
use lab::round::Round;
use lab::watch::subject::SharedPages;
use lab::{Event, Outcome};
use load::Stop;

/// Runs a comparison of these subjects for so many rounds of half a second.
fn compare(arena: &Arena, subjects: &[&str], rounds: u32) -> Outcome {
    let text = quick(subjects, rounds).replace("\"60ms\"", "\"500ms\"");
    let options = arena.comparison(&text);
    let outcome = lab::compare(&options, &Stop::new(), &mut |event: &Event<'_>| {
        println!("{event}");
    });
    assert_eq!(
        left_behind(),
        Vec::<u32>::new(),
        "processes were left behind"
    );
    outcome.expect("it runs")
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
    let _alone = alone();
    if std::thread::available_parallelism().map_or(1, |count| count.get()) < 2 {
        println!("skipped: with one core there is none of the generator's own");
        return;
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
    let _alone = alone();
    let arena = Arena::new("leaks");
    arena
        .tiny("plain", "")
        .subject("leaks", &behind("setsid sleep 1000 & "));
    let outcome = compare(&arena, &["plain", "leaks"], 1);
    let finding = found(&outcome, "leaks", Check::LeftBehind).expect("somebody was left");
    assert!(finding.sentence.ends_with("`sleep`"), "{finding:?}");
    assert_eq!(found(&outcome, "plain", Check::LeftBehind), None);
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
        finding.sentence.contains("outside of its own processes"),
        "{finding:?}"
    );
    assert_eq!(found(&outcome, "plain", Check::Elsewhere), None);
}

#[test]
fn a_subject_that_has_metrics_of_its_own_is_asked_for_them_around_a_round() {
    let _alone = alone();
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
    let _alone = alone();
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

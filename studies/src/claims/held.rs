//! Claims about connections that stand for long: a subject is started, the generator holds its
//! connections on it, and conditions on the record pass or fail.

use std::fs;
use std::path::{Path, PathBuf};

use lab::event::{Event, Observer};
use lab::store::{Source, read_with};
use load::check::evaluate;
use load::hold::{self, Plan, Record, Threshold};
use load::{LoadError, Progress, Stop, Unseen};
use measure::record::EndedBy;
use supervisor::build::{self, Unbuilt};
use supervisor::cache::Cache;
use supervisor::cores::{Choice, Placement};
use supervisor::live::Serving;
use supervisor::loads::Loads;
use supervisor::process::GRACE;
use supervisor::setting::{Setting, Trouble};
use supervisor::subject::{Kind, Subject, Values};

use super::file::{Hold, Judge};
use super::judge::{Judgement, arithmetic, words};
use super::little::number;
use super::word::{Word, Words};
use super::{Finding, Options, Test, machine};

/// How one run went.
pub(super) enum Done {
    /// It is in the folder of records already.
    There(PathBuf),
    /// It was carried out, and this could not be written.
    Now(Vec<String>),
}

/// The record, inside its folder.
const RECORD: &str = "hold.json";
/// Why there is no record, inside its folder.
const MISSING: &str = "missing.txt";

/// What a record says; nothing if there is none.
pub(super) fn find(test: &Test, asked: &Hold, records: &Source) -> Result<Option<Finding>, String> {
    if let Ok(missing) = fs::read_to_string(records.join(MISSING).path()) {
        return Ok(Some(Finding::without(
            Word::CannotBeTested,
            Words::new(missing.trim_end(), missing.trim_end()),
        )));
    }
    let file = records.join(RECORD);
    if !file.path().is_file() {
        return Ok(None);
    }
    let Some(record) = whole(&file)? else {
        return Ok(None);
    };
    if !is_of(&record, asked) {
        return Err(format!(
            "{records} was measured with other settings of [run.hold]: use another directory, or \
             remove that one"
        ));
    }
    let judges = test.judges.iter();
    let judgements = judges.map(|one| judge(one, asked, &record)).collect();
    Ok(Some(Finding {
        began: record.host.read_at.clone(),
        machine: Some(machine(&record.host)),
        ..Finding::resting_on(judgements)
    }))
}

/// A record, unless it was stopped before its time.
fn whole(file: &Source) -> Result<Option<Record>, String> {
    let record = read_with(file, Record::from_json)?;
    let stopped = matches!(record.ended_by, EndedBy::Interrupt | EndedBy::Terminate);
    Ok((!stopped).then_some(record))
}

/// Whether a record is of what the claim asks for now. How long it was held is another matter:
/// short runs hold shorter.
fn is_of(record: &Record, asked: &Hold) -> bool {
    let plan = &record.plan;
    let url = plan.url();
    let path = url.splitn(4, '/').nth(3).map(|rest| format!("/{rest}"));
    path.as_deref() == Some(asked.path.as_str())
        && plan.connections == asked.connections
        && plan.heartbeat_s == asked.heartbeat.as_secs_f64()
        && plan.heartbeat_timeout_s == asked.heartbeat_timeout.as_secs_f64()
        && plan.retries == asked.retries
        && plan.receive_buffer_bytes == asked.receive_buffer
}

fn judge(judge: &Judge, asked: &Hold, record: &Record) -> Judgement {
    let pass = match judge {
        Judge::Pass(pass) => pass,
        Judge::Arithmetic(sum) => return arithmetic::judge(sum),
        Judge::Cannot(why) => return Judgement::of(Word::CannotBeTested, why.clone()),
        _ => {
            let (en, zh) = (
                "held connections are judged by `pass`",
                "保持的连接由 `pass` 判定",
            );
            return Judgement::of(Word::Void, Words::new(en, zh));
        }
    };
    let read = pass.conditions.iter().map(|text| text.parse());
    let Ok(conditions) = read.collect::<Result<Vec<Threshold>, _>>() else {
        let (en, zh) = ("one of the conditions can't be read", "有一个条件无法识别");
        return Judgement::of(Word::Void, Words::new(en, zh));
    };
    let outcomes = evaluate(&conditions, record);
    let said: Vec<Words> = outcomes
        .iter()
        .map(|outcome| {
            let (rule, ends) = (&outcome.threshold, words::passes(outcome.ok));
            let measured = match outcome.measured.as_deref() {
                Some(measured) => Words::new(measured, measured),
                None => Words::new("nothing was measured", "没有测到"),
            };
            Words::new(
                format!("{rule} {} ({})", ends.en, measured.en),
                format!("{rule} {}（{}）", ends.zh, measured.zh),
            )
        })
        .collect();
    let said = Words::joined(&said, words::APART);
    let held = record.plan.connections;
    let all = outcomes.iter().all(|outcome| outcome.ok);
    match asked.claimed.filter(|claimed| held < *claimed) {
        _ if !all => Judgement::of(Word::DoesNotHold, said),
        None => Judgement::of(Word::Holds, said),
        Some(claimed) => {
            let (held, claimed) = (number(held.into()), number(claimed.into()));
            let sentence = Words::new(
                format!(
                    "we held {held} of {claimed} connections here, too few to test the claim: {}",
                    said.en
                ),
                format!(
                    "这里保持了 {claimed} 个连接中的 {held} 个，不足以检验这一说法：{}",
                    said.zh
                ),
            );
            Judgement::of(Word::CannotBeTested, sentence)
        }
    }
}

/// Whether it was carried out. A program that was missing then may be there now.
fn is_there(folder: &Path) -> Result<bool, String> {
    let file = Source::of(folder).join(RECORD);
    let there = file.path().is_file() && whole(&file)?.is_some();
    if !there {
        let _ = fs::remove_file(folder.join(MISSING));
    }
    Ok(there)
}

/// Starts the subject, holds the connections on it, and writes the record; none where it is
/// interrupted before anything is held.
pub(super) fn run(
    asked: &Hold,
    folder: &Path,
    options: &Options,
    stop: &Stop,
    begin: &mut dyn FnMut(),
    observer: &mut dyn Observer,
) -> Result<Done, String> {
    if is_there(folder)? {
        return Ok(Done::There(folder.to_owned()));
    }
    begin();
    let failed = |what: &dyn std::fmt::Display| format!("{}: {what}", folder.display());
    let dir = folder.join("subject");
    fs::create_dir_all(&dir).map_err(|error| failed(&error))?;
    let dir = fs::canonicalize(&dir).map_err(|error| failed(&error))?;
    let subjects = options.subjects.as_deref();
    let subject = subjects
        .unwrap_or(Path::new("subjects"))
        .join(&asked.subject);
    let subject = Subject::read(&subject).map_err(|fault| fault.to_string())?;
    if subject.kind != Kind::Server {
        return Err(format!("{} isn't a server", subject.name));
    }
    let placement = Placement::decide(&Choice::Auto, &Choice::Auto)?;
    let setting = Setting {
        placement: &placement,
        engine: "auto",
        seed: 1,
        start: 0,
        ringside: &options.ringside,
        stop,
        loads: Loads::HERE,
    };
    let values = Values {
        dir: dir.clone(),
        ..setting.values(&subject)
    };
    observer.event(&Event::Starting {
        subject: &subject.name,
    });
    let cache = Cache::new(options.cache.as_deref());
    let built = build::build(&subject, &cache, &values, &dir.join("build.log"), stop);
    let build = match built {
        Ok(build) => build,
        Err(Unbuilt::Missing(what)) => {
            let written = fs::write(folder.join(MISSING), what);
            return written
                .map(|()| Done::Now(Vec::new()))
                .map_err(|error| failed(&error));
        }
        Err(Unbuilt::Failed(what, _)) => {
            return Err(format!("{} can't be built: {what}", subject.name));
        }
        Err(Unbuilt::Stopped) => return Ok(Done::Now(Vec::new())),
    };
    let serving = Serving::raise(&subject, &build, &dir, &setting);
    let (mut process, port) = match serving {
        Ok(serving) => (serving.process, serving.port),
        Err(Trouble::Failed(what, _)) => return Err(format!("{} {what}", subject.name)),
        Err(Trouble::Stopped) => return Ok(Done::Now(Vec::new())),
    };
    let record = hold_on(asked, port, &placement, options, stop);
    process.end(GRACE);
    let json = record?.map(|record| record.to_json()).transpose()?;
    match json.map_or(Ok(()), |json| fs::write(folder.join(RECORD), json)) {
        Ok(()) => Ok(Done::Now(Vec::new())),
        Err(error) => Ok(Done::Now(vec![failed(&error)])),
    }
}

fn hold_on(
    asked: &Hold,
    port: u16,
    placement: &Placement,
    options: &Options,
    stop: &Stop,
) -> Result<Option<Record>, String> {
    let url = format!("http://127.0.0.1:{port}{}", asked.path);
    let mut plan = Plan::new(&url).map_err(|invalid| invalid.to_string())?;
    plan.connections = asked.connections;
    plan.duration_s = match options.window {
        // Long enough for each connection to be asked a few times.
        Some(_) => asked.held.min(4 * asked.heartbeat).as_secs_f64(),
        None => asked.held.as_secs_f64(),
    };
    plan.heartbeat_s = asked.heartbeat.as_secs_f64();
    plan.heartbeat_timeout_s = asked.heartbeat_timeout.as_secs_f64();
    plan.retries = asked.retries;
    plan.receive_buffer_bytes = asked.receive_buffer;
    plan.cpus = placement.generator.clone();
    let record = hold::prepare(&plan, stop).and_then(|held| {
        held.carry_out(stop, &mut Unseen(&mut |_: &Progress| ()), |record, _| {
            record
        })
    });
    match record {
        Ok(record) => Ok(Some(record)),
        Err(LoadError::Interrupted(_)) => Ok(None),
        Err(error) => Err(error.to_string()),
    }
}

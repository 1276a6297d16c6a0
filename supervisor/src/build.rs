//! From a subject's folder to something that can be started: are its programs installed, is it
//! built. What was built once is kept, under a hash of everything that went into it.
//!
//! Knows nothing of how a subject is started or measured.

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::io;
use std::iter;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;

use load::Stop;
use measure::foreign::Foreign;

use crate::cache::Cache;
use crate::outside::{self, Ended};
use crate::process::{CHECK_TIME, Launch, Process};
use crate::setting::{environment, find_program, search_path, surroundings};
use crate::subject::{Build, Command, Requirement, Subject, Values};

/// The source of a subject may not be larger: it is read whole to be hashed.
const SOURCE_BYTES_MAX: u64 = 64 << 20;

/// Why a subject cannot be started.
#[derive(Debug, PartialEq, Eq)]
pub enum Unbuilt {
    /// Programs are missing, or not as needed; the text says what to install.
    Missing(String),
    /// The build failed, with the last lines that it wrote.
    Failed(String, Vec<String>),
    /// Somebody asked to stop.
    Stopped,
}

/// Says what to install, if anything is missing. What the checks write goes to `log`.
pub fn missing(subject: &Subject, values: &Values, log: &Path) -> Option<String> {
    let lacks = |needed: &Requirement| {
        let program = &needed.program;
        if find_program(program).is_none() {
            return Some(format!("`{program}` is not installed."));
        }
        let check = needed.check.as_ref()?;
        let what = match asked(check, subject, values, log) {
            Ok(Some(status)) if status.success() => return None,
            Ok(None) => format!(
                "finish the subject's check within {} s",
                CHECK_TIME.as_secs()
            ),
            Ok(Some(_)) if needed.fails.is_some() => return needed.fails.clone(),
            Ok(Some(_)) | Err(_) => "pass the subject's check".to_owned(),
        };
        Some(format!("`{program}` is installed, but doesn't {what}."))
    };
    let sentences: Vec<String> = subject
        .requires
        .iter()
        .filter_map(|needed| {
            let why = lacks(needed)?;
            Some(format!("{why} {}", needed.install).trim_end().to_owned())
        })
        .collect();
    (!sentences.is_empty()).then(|| sentences.join(" "))
}

/// The folder with what the subject's build made, building it if it was not built like this
/// before. Output goes to `log`. A subject without a build gets its own folder.
pub fn build(
    subject: &Subject,
    cache: &Cache,
    values: &Values,
    log: &Path,
    stop: &Stop,
) -> Result<PathBuf, Unbuilt> {
    if let Some(sentence) = missing(subject, values, log) {
        return Err(Unbuilt::Missing(sentence));
    }
    let Some(build) = &subject.build else {
        return Ok(subject.folder.clone());
    };
    if let Some(maker) = &build.maker {
        let values = Values {
            subject: maker.folder.clone(),
            ..values.clone()
        };
        return self::build(maker, cache, &values, log, stop);
    }
    let failed = |what: String| Unbuilt::Failed(what, Vec::new());
    let name = folder_name(subject, build)
        .map_err(|error| failed(format!("can't read its source: {error}")))?;
    let cache = cache.open().map_err(failed)?;
    let done = cache.join(&name);
    if done.is_dir() {
        return Ok(done);
    }
    let unfinished = cache.join(format!(".{name}.{}", std::process::id()));
    let result = build_into(subject, build, &unfinished, values, log, stop).and_then(|()| {
        match fs::rename(&unfinished, &done) {
            // Another ringside may have built the same meanwhile.
            Err(_) if done.is_dir() => Ok(done),
            Err(error) => Err(failed(format!("{}: {error}", done.display()))),
            Ok(()) => Ok(done),
        }
    });
    let _ = fs::remove_dir_all(&unfinished);
    result
}

/// Whether there is nothing to build before this subject can be started: it needs no build, or
/// what its build made is kept in `cache`, where it can be trusted.
pub fn is_built(subject: &Subject, cache: &Cache) -> bool {
    let Some(build) = &subject.build else {
        return true;
    };
    if let Some(maker) = &build.maker {
        return is_built(maker, cache);
    }
    let kept = cache.there().zip(folder_name(subject, build).ok());
    kept.is_some_and(|(cache, name)| cache.join(name).is_dir())
}

/// What the folder of a build is called: the subject, and a hash of everything that goes into it.
fn folder_name(subject: &Subject, build: &Build) -> io::Result<String> {
    let hash = hash(subject, build)?;
    Ok(format!("{}-{hash:016x}", subject.name))
}

fn build_into(
    subject: &Subject,
    build: &Build,
    folder: &Path,
    values: &Values,
    log: &Path,
    stop: &Stop,
) -> Result<(), Unbuilt> {
    fs::create_dir_all(folder)
        .map_err(|error| Unbuilt::Failed(format!("{}: {error}", folder.display()), Vec::new()))?;
    let values = Values {
        build: folder.to_owned(),
        ..values.clone()
    };
    // A build is the user's own toolchain at work, so it sees the user's environment.
    let mut environment: BTreeMap<String, String> = env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .collect();
    environment.insert("PATH".into(), search_path().to_string_lossy().into_owned());
    for (name, value) in &build.environment {
        environment.insert(name.clone(), value.fill(&values));
    }
    for command in &build.commands {
        let (program, arguments) = command.fill(&values);
        let command = outside::Command {
            program,
            arguments,
            environment: environment.clone(),
            folder: subject.folder.clone(),
            log: log.to_owned(),
        };
        match command.run(stop) {
            Ended::Well => {}
            Ended::Badly(what, log) => return Err(Unbuilt::Failed(what, log)),
            Ended::Stopped => return Err(Unbuilt::Stopped),
        }
    }
    Ok(())
}

/// The first line that the subject's version command writes, if it writes one in time. It sees the
/// host's network: what a program complains about in a private one is no version.
pub fn version(subject: &Subject, values: &Values, dir: &Path) -> Option<String> {
    let (program, arguments) = subject.version.as_ref()?.fill(values);
    let command = outside::Command {
        program,
        arguments,
        environment: environment(subject, values),
        folder: dir.to_owned(),
        log: dir.join("version.log"),
    };
    command.answer().into_iter().next()
}

/// The first line that a program writes that is no subject's; none where it writes nothing.
pub fn first_line(program: &str, arguments: &[String], dir: &Path) -> Option<String> {
    let log = dir.join("generator-version.log");
    let process = Process::to_its_end(&Launch {
        program: program.to_owned(),
        arguments: arguments.to_vec(),
        environment: surroundings(),
        folder: dir,
        log: &log,
        cores: &[],
    })?;
    let written = process.output().ok()?;
    let text = String::from_utf8_lossy(&written);
    let first = text.lines().find(|line| !line.trim().is_empty())?;
    Some(Foreign::new(first.trim().replace('\t', " ")).to_string())
}

/// Runs a command that checks what a subject needs; how it ended, if it did in time. It sees what
/// the subject will see.
fn asked(
    command: &Command,
    subject: &Subject,
    values: &Values,
    log: &Path,
) -> io::Result<Option<ExitStatus>> {
    let (program, arguments) = command.fill(values);
    let launch = Launch {
        program,
        arguments,
        environment: environment(subject, values),
        folder: log.parent().unwrap_or(log),
        log,
        cores: &[],
    };
    Process::check(&launch)
}

/// A hash of the source, of how it is built, and of the programs that build it.
fn hash(subject: &Subject, build: &Build) -> io::Result<u64> {
    let mut hash = Fnv::new();
    for command in &build.commands {
        command.words().for_each(|word| hash.part(word.as_bytes()));
        hash.part(b"");
    }
    hash.part(format!("{:?}", build.environment).as_bytes());
    for needed in &subject.requires {
        let path = find_program(&needed.program).unwrap_or_default();
        let facts = fs::metadata(&path)?;
        hash.part(format!("{} {} {}", path.display(), facts.len(), facts.mtime()).as_bytes());
    }
    hash_files(&mut hash, &subject.folder, &build.sources)?;
    Ok(hash.0)
}

/// A hash of what a subject is made of: its folder, with the description in it, all that it is
/// built from, and what it may use of the machine. Unlike the name of its build it does not know
/// the programs that build it, of which the binaries tell. None where something cannot be read.
pub fn source(subject: &Subject) -> Option<String> {
    let mut hash = Fnv::new();
    let mut next = Some(subject);
    while let Some(subject) = next {
        let build = subject.build.as_ref();
        let sources = build.map_or(&[][..], |build| &build.sources);
        hash_files(&mut hash, &subject.folder, sources).ok()?;
        next = build.and_then(|build| build.maker.as_deref());
    }
    hash.part(format!("{:?}", subject.workers).as_bytes());
    if !subject.limits.is_none() {
        hash.part(format!("{:?}", subject.limits).as_bytes());
    }
    Some(format!("{:016x}", hash.0))
}

/// The files of a folder, and of further ones relative to it.
fn hash_files(hash: &mut Fnv, own: &Path, further: &[PathBuf]) -> io::Result<()> {
    let here = PathBuf::new();
    let mut bytes = 0;
    for source in iter::once(&here).chain(further) {
        let folder = own.join(source);
        let mut files = Vec::new();
        list(&folder, &mut files, &mut bytes)?;
        files.sort();
        for file in files {
            // Where the folder lies does not matter: the same source in another place is the same.
            let name = file.strip_prefix(&folder).unwrap_or(&file);
            hash.part(source.join(name).to_string_lossy().as_bytes());
            hash.part(&fs::read(file)?);
        }
    }
    Ok(())
}

fn list(folder: &Path, files: &mut Vec<PathBuf>, bytes: &mut u64) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let facts = fs::symlink_metadata(&path)?;
        *bytes += facts.len();
        if *bytes > SOURCE_BYTES_MAX {
            let what = format!(
                "{} holds more than {SOURCE_BYTES_MAX} bytes",
                folder.display()
            );
            return Err(io::Error::other(what));
        }
        if facts.is_dir() {
            // What Python leaves beside its sources when it runs is none.
            if path.file_name().is_some_and(|name| name != "__pycache__") {
                list(&path, files, bytes)?;
            }
        } else if facts.is_file() && path.file_name().is_some_and(|name| name != "README.md") {
            files.push(path);
        }
    }
    Ok(())
}

/// FNV-1a, 64 bits: tells a changed source from an unchanged one; nobody attacks it here.
struct Fnv(u64);

impl Fnv {
    fn new() -> Fnv {
        Fnv(0xcbf2_9ce4_8422_2325)
    }

    /// Adds a part and its length, so that parts cannot run into one another.
    fn part(&mut self, bytes: &[u8]) {
        for byte in bytes.len().to_le_bytes().iter().chain(bytes) {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
}

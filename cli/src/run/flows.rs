//! A workload whose connections are users, who go through a Hurl file.

use std::path::{Path, PathBuf};

use load::plan::Invalid;
use load::plan::workload::Data;
use load::{Plan, Redaction};
use workload::hurl;
use workload::hurl::pairs::{self, Pairs};

use crate::args::flows::{Flows, Variables};
use crate::args::load::Load;
use crate::args::replay::Replay;
use crate::args::targets::Targets;
use output::terminal;

/// What a load by users is made of.
pub(crate) struct Given<'a> {
    /// What is loaded: a URL, or the file of users.
    pub(crate) url: Option<&'a str>,
    pub(crate) flows: &'a Flows,
    pub(crate) load: &'a Load,
    pub(crate) targets: &'a Targets,
    pub(crate) replay: &'a Replay,
    /// Whether the load is repeated against our own server.
    pub(crate) control: bool,
}

/// The file of users that is loaded, if it's one and no URL.
pub(crate) fn file<'a>(given: &Given<'a>) -> Result<Option<&'a Path>, String> {
    if let Some(file) = given.url.filter(|url| hurl::is_one(url)) {
        return Ok(Some(Path::new(file)));
    }
    match given.flows.given() {
        Some(flag) => Err(format!(
            "{flag} is for a flow of users: give a FILE.hurl in the place of the URL, or drop \
             {flag}"
        )),
        None => Ok(None),
    }
}

/// Refuses a file of users in the place of a URL.
pub(crate) fn is_url(url: &str) -> Result<(), String> {
    match hurl::is_one(url) {
        false => Ok(()),
        true => Err(format!(
            "{url}: a flow of users is loaded by `ringside run` and `ringside capacity`, and by \
             `ringside compare` with --targets; give a URL here"
        )),
    }
}

/// The plan of a load by users. `base` makes one of a URL, and of the flags that say how it is
/// loaded.
pub(crate) fn plan(
    file: &Path,
    given: &Given<'_>,
    base: impl FnOnce(&str, Redaction) -> Result<Plan, String>,
) -> Result<Plan, String> {
    let (load, targets) = (given.load, given.targets);
    let says_what_is_sent = [
        (load.body.is_some(), "-b"),
        (load.method.is_some(), "-m"),
        (load.message.is_some(), "--message"),
        (targets.template, "--template"),
        (targets.script.is_some(), "-s"),
        (given.control, "--control"),
    ];
    if let Some((_, flag)) = says_what_is_sent.iter().find(|(given, _)| *given) {
        let file = file.display();
        return Err(format!("{flag}: {file} says what is sent; drop {flag}"));
    }
    if let Some(replay) = &given.replay.replay {
        let (file, replay) = (file.display(), replay.display());
        return Err(format!(
            "a run has a flow or a replay, not both: drop --replay, or replay {replay} to a URL in \
             the place of {file}"
        ));
    }
    let (variables, secrets) = begun_with(given.flows).map_err(|Invalid(why)| why)?;
    let redaction = load.secrets.hide(Redaction::of_user());
    for (_, value) in &secrets {
        redaction.learn_secret(value);
    }
    terminal::hide(&redaction);
    let order = targets.data_order.unwrap_or_default();
    let read = hurl::read(
        file,
        hurl::Given {
            variables,
            secrets,
            rows: targets.data.clone().map(|file| Data { file, order }),
            file_root: given.flows.file_root.clone(),
            follow: load.follow.unwrap_or(0),
            redaction: redaction.clone(),
        },
    );
    let workload = read.map_err(|invalid| invalid.to_string())?;
    let first = workload.steps.first().map(|step| step.target.origin());
    let mut plan = base(&first.unwrap_or_default(), redaction)?;
    plan.follow = 0;
    plan.workload = Some(workload);
    plan.tell_secrets();
    Ok(plan)
}

/// What users begin with: variables, and those that are secrets.
fn begun_with(given: &Flows) -> Result<(Pairs, Pairs), Invalid> {
    let variables = variables(&given.plain)?;
    let files = ("--secrets-file", &given.secrets_files[..]);
    let flags = ("--secret", &given.secrets[..]);
    Ok((variables, gathered(pairs::SECRETS, files, flags)?))
}

/// The variables alone.
pub(crate) fn variables(given: &Variables) -> Result<Pairs, Invalid> {
    let files = ("--variables-file", &given.variables_files[..]);
    let flags = ("--variable", &given.variables[..]);
    gathered(pairs::VARIABLES, files, flags)
}

/// Those variables whose values are secrets.
pub(super) fn secrets(given: &Flows) -> Result<Pairs, String> {
    let given = begun_with(given).map_err(|Invalid(why)| why)?;
    Ok(given.1)
}

/// As Hurl has it, the environment has the first word, and flags have the last.
fn gathered(
    prefix: &str,
    (file_flag, files): (&str, &[PathBuf]),
    (flag, flags): (&str, &[String]),
) -> Result<Pairs, Invalid> {
    let mut all = pairs::of_environment(prefix, std::env::vars_os())?;
    for file in files {
        all.extend(pairs::of_file(file_flag, file)?);
    }
    all.extend(pairs::of_flag(flag, flags)?);
    Ok(all)
}

//! A workload whose connections are users, who go through a Hurl file.

use std::path::Path;

use load::plan::workload::Data;
use load::{Plan, Redaction};
use workload::hurl::{self, Given};

use crate::args::run::Run;
use output::terminal;

/// The file of users that is loaded, if it's one and no URL.
pub(super) fn file(arguments: &Run) -> Result<Option<&Path>, String> {
    let url = arguments.url.as_deref();
    if let Some(file) = url.filter(|url| hurl::is_one(url)) {
        return Ok(Some(Path::new(file)));
    }
    match arguments.flows.given() {
        Some(flag) => Err(format!(
            "{flag} is for a flow of users: give a FILE.hurl in the place of the URL, or drop \
             {flag}"
        )),
        None => Ok(None),
    }
}

/// The plan of a load by users. `base` makes one of a URL, and of the flags that say how it is
/// loaded.
pub(super) fn plan(
    file: &Path,
    arguments: &Run,
    base: impl FnOnce(&str, Redaction) -> Result<Plan, String>,
) -> Result<Plan, String> {
    let (load, targets) = (&arguments.load, &arguments.targets);
    let says_what_is_sent = [
        (load.body.is_some(), "-b"),
        (load.method.is_some(), "-m"),
        (load.message.is_some(), "--message"),
        (targets.template, "--template"),
        (targets.script.is_some(), "-s"),
        (arguments.control, "--control"),
    ];
    if let Some((_, flag)) = says_what_is_sent.iter().find(|(given, _)| *given) {
        let file = file.display();
        return Err(format!("{flag}: {file} says what is sent; drop {flag}"));
    }
    if let Some(replay) = &arguments.replay.replay {
        let (file, replay) = (file.display(), replay.display());
        return Err(format!(
            "a run has a flow or a replay, not both: drop --replay, or replay {replay} to a URL in \
             the place of {file}"
        ));
    }
    let secrets = pairs("--secret", &arguments.flows.secrets)?;
    let redaction = load.secrets.hide(Redaction::of_user());
    for (_, value) in &secrets {
        redaction.learn_secret(value);
    }
    terminal::hide(&redaction);
    let order = targets.data_order.unwrap_or_default();
    let read = hurl::read(
        file,
        Given {
            variables: pairs("--variable", &arguments.flows.variables)?,
            secrets,
            rows: targets.data.clone().map(|file| Data { file, order }),
            file_root: arguments.flows.file_root.clone(),
            follow: load.follow.unwrap_or(0),
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

/// What a flag gives, by name. Values are in no message.
fn pairs(flag: &str, given: &[String]) -> Result<Vec<(String, String)>, String> {
    let pairs = given.iter().enumerate().map(|(at, pair)| {
        let split = pair.split_once('=').filter(|(name, _)| !name.is_empty());
        let (name, value) =
            split.ok_or_else(|| format!("{flag}, number {}: write NAME=VALUE", at + 1))?;
        Ok((name.to_owned(), value.to_owned()))
    });
    pairs.collect()
}

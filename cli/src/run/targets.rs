//! A workload out of a file of targets.

use std::mem;
use std::path::Path;

use load::plan::{Request, Workload};
use load::{Plan, Redaction};
use workload::formats::{self, Defaults, Format};

use super::plan::base;
use crate::args::run::Run;
use crate::output::terminal;

/// The plan of a run that sends what is in `file`: [`base`] with a workload.
pub(super) fn plan(file: &Path, arguments: &Run) -> Result<Plan, String> {
    let given = &arguments.targets;
    let format = given.targets_format.or_else(|| Format::of_file(file));
    let format = format.ok_or_else(|| {
        format!(
            "--targets {}: its name doesn't say which format it has; add --targets-format http, \
             vegeta or vegeta-json",
            file.display()
        )
    })?;
    let defaults = defaults(arguments)?;
    let read = formats::read(file, format, &defaults).map_err(|mistake| mistake.to_string())?;
    let mut workload = Workload::new(read.steps);
    workload.file = Some(file.to_owned());
    workload.pick = given.pick.map_or(workload.pick, Into::into);
    let Some(first) = workload.steps.first() else {
        return Err(format!("{}: there is no request in it", file.display()));
    };
    let origin = format!("{}://{}/", first.target.scheme, first.target.authority());
    let mut plan = base(&origin, &arguments.load, Redaction::of_user())?;
    plan.request = Request {
        method: "GET".to_owned(),
        headers: Vec::new(),
        body: Vec::new(),
    };
    plan.workload = Some(workload);
    plan.tell_secrets();
    for note in &read.notes {
        terminal::say(&format!("note: {note}"));
    }
    Ok(plan)
}

/// What applies to each request of a file: what a run with a URL says in its only one.
fn defaults(arguments: &Run) -> Result<Defaults, String> {
    // Any URL will do: only the request counts.
    let mut only = base("http://localhost/", &arguments.load, Redaction::of_user())?;
    let body = arguments.load.body.is_some();
    Ok(Defaults {
        headers: mem::take(&mut only.request.headers),
        body: body.then(|| mem::take(&mut only.request.body)),
        method: arguments.load.method.clone(),
    })
}

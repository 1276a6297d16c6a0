//! A workload out of a file of targets, or of a URL with templates.

use std::path::Path;

use load::Plan;
use load::plan::workload::Data;
use load::plan::{Request, Workload};
use measure::foreign::screened;
use workload::data::Kind;
use workload::formats::{self, Defaults, Format};

use super::given::read_body;
use crate::args::run::Run;
use crate::args::values;
use crate::output::terminal;

/// The plan of a run whose requests differ. `base` makes one of a URL, and of the flags that say
/// how it is loaded.
pub(super) fn plan(
    arguments: &Run,
    base: impl FnOnce(&str) -> Result<Plan, String>,
) -> Result<Plan, String> {
    let given = &arguments.targets;
    let defaults = defaults(arguments)?;
    let mut workload = match (&given.targets, &arguments.url) {
        (Some(file), _) => of_file(file, arguments, &defaults)?,
        (None, Some(url)) => of_url(url, &defaults)?,
        (None, None) => return Err("give a URL, or a file of requests (--targets)".to_owned()),
    };
    if let Some(file) = &given.data
        && Kind::of_file(file).is_none()
    {
        return Err(format!(
            "--data {}: expected a file of rows whose name ends in .csv, .tsv, .jsonl or .ndjson; \
             to send a body, use -b",
            file.display()
        ));
    }
    workload.data = given.data.as_ref().map(|file| Data {
        file: file.clone(),
        order: given.data_order.unwrap_or_default(),
    });
    let Some(first) = workload.steps.first() else {
        return Err("there is no request to send".to_owned());
    };
    let origin = format!("{}://{}/", first.target.scheme, first.target.authority());
    let mut plan = base(&origin)?;
    plan.request = Request {
        method: "GET".to_owned(),
        headers: Vec::new(),
        body: Vec::new(),
    };
    plan.workload = Some(workload);
    plan.tell_secrets();
    Ok(plan)
}

fn of_file(file: &Path, arguments: &Run, defaults: &Defaults) -> Result<Workload, String> {
    let given = &arguments.targets;
    let format = given.targets_format.or_else(|| Format::of_file(file));
    let format = format.ok_or_else(|| {
        format!(
            "--targets {}: its name doesn't say which format it has; add --targets-format http, \
             vegeta or vegeta-json",
            file.display()
        )
    })?;
    let read = formats::read(file, format, defaults);
    let read = read.map_err(|mistake| mistake.to_string())?;
    for note in &read.notes {
        terminal::say(&format!("note: {}", screened(note)));
    }
    let mut workload = Workload::new(read.steps);
    workload.file = Some(file.to_owned());
    workload.pick = given.pick.map_or(workload.pick, Into::into);
    Ok(workload)
}

fn of_url(url: &str, defaults: &Defaults) -> Result<Workload, String> {
    let step = formats::of_url(url, defaults);
    let step = step.map_err(|mistake| mistake.to_string())?;
    Ok(Workload::new(vec![step]))
}

/// What the flags say of requests.
fn defaults(arguments: &Run) -> Result<Defaults, String> {
    let body = arguments.load.body.as_deref().map(read_body);
    Ok(Defaults {
        headers: values::fields("-H", &arguments.load.headers)?,
        body: body.transpose()?,
        method: arguments.load.method.clone(),
    })
}

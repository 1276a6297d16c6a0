//! The requests of a comparison without a file, looked through before anything is started or asked.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::path::{Path, PathBuf};

use load::plan::workload::{Data, Order};
use load::plan::{Invalid, Target, Workload};
use load::{Plan, Redaction};
use workload::Source;
use workload::data::Kind;
use workload::formats::{self, Defaults, Format};
use workload::hurl;

use crate::args::flows::Variables;
use crate::args::wrong::needs_file;
use crate::run::flows;
use exit::Failure;

/// A URL that only serves to see what a load would make of the requests.
const ANY: &str = "http://localhost/";

/// The files, from the root: the comparison that is made of them stands nowhere.
pub(super) struct Requests {
    pub(super) targets: String,
    pub(super) data: Option<String>,
    /// What users of a flow have from the beginning.
    pub(super) variables: BTreeMap<String, String>,
}

/// Whether a file of requests is a flow of users.
pub(super) fn is_flow(targets: &Path) -> bool {
    hurl::is_one(&targets.to_string_lossy())
}

/// The requests in `targets`, with rows of `data`, which go to servers that are given `by_url`, at
/// least one of them, or started.
///
/// # Errors
/// What can't be sent, in the words of these flags, and what only a file can say.
pub(super) fn read(
    targets: &Path,
    data: Option<&Path>,
    variables: &Variables,
    by_url: bool,
) -> Result<Requests, Failure> {
    let shown = targets.display();
    if is_flow(targets) {
        return of_users(targets, data, variables);
    }
    let format = Format::of_file(targets).ok_or_else(|| {
        Failure::usage(format!(
            "--targets {shown}: its name doesn't say which format it has; call it .http, .txt for \
             vegeta's targets, or .json for those in JSON"
        ))
    })?;
    let whole_targets = whole("--targets", targets)?;
    let read = formats::read(targets, format, &Defaults::default()).map_err(Failure::usage)?;
    let mut lines = vec![format!("targets = \"{shown}\"")];
    let what = match &read.flow {
        Some(_) => {
            lines.push("protocol = \"websocket\"".to_owned());
            Some("the messages of a WebSocket")
        }
        None if read.steps.iter().any(|step| step.target.is_grpc()) => {
            lines.push("protocol = \"grpc\"".to_owned());
            lines.push("proto = \"FILE.proto\"".to_owned());
            Some("gRPC calls")
        }
        None => None,
    };
    if let Some(what) = what {
        let what = format!("--targets {shown}: {what} need a comparison file");
        return Err(Failure::usage(needs_file(&what, &lines, by_url)));
    }
    let data = data.map(known).transpose()?;
    sendable(read.steps, data.clone()).map_err(Failure::usage)?;
    Ok(Requests {
        targets: whole_targets,
        data: data.map(|file| whole("--data", &file)).transpose()?,
        variables: BTreeMap::new(),
    })
}

/// The same of a flow of users.
fn of_users(flow: &Path, data: Option<&Path>, variables: &Variables) -> Result<Requests, Failure> {
    let redaction = Redaction::of_user();
    let variables = flows::variables(variables).map_err(Failure::usage)?;
    if let Some((name, _)) = variables.iter().find(|(name, _)| redaction.is_secret(name)) {
        return Err(Failure::usage(format!(
            "--variable {name}: a comparison is written down with its variables: set \
             HURL_SECRET_{name} in the environment instead"
        )));
    }
    let variables: BTreeMap<String, String> = variables.into_iter().collect();
    let whole_flow = whole("--targets", flow)?;
    let data = data.map(known).transpose()?;
    let order = Order::default();
    let rows = data.clone().map(|file| Data { file, order });
    let how = (0, &redaction);
    hurl::compared::of_file(flow, &variables, rows, how).map_err(Failure::usage)?;
    Ok(Requests {
        targets: whole_flow,
        data: data.map(|file| whole("--data", &file)).transpose()?,
        variables,
    })
}

/// The file of a replay, from the root.
pub(super) fn replayed(file: &Path) -> Result<String, Failure> {
    whole("--replay", file)
}

/// A file of rows.
fn known(file: &Path) -> Result<PathBuf, Failure> {
    match Kind::of_file(file) {
        Some(_) => Ok(file.to_owned()),
        None => Err(refused(
            "--data",
            file,
            &"expected a file of rows whose name ends in .csv, .tsv, .jsonl or .ndjson",
        )),
    }
}

/// Makes all that is sent once, for nobody.
fn sendable(mut steps: Vec<load::plan::Step>, data: Option<PathBuf>) -> Result<(), Invalid> {
    let mut plan = Plan::new(ANY)?;
    for step in &mut steps {
        let path = std::mem::take(&mut step.target.path);
        step.target = Target {
            path,
            ..plan.target.clone()
        };
    }
    let mut workload = Workload::new(steps);
    workload.data = data.map(|file| Data {
        file,
        order: Order::default(),
    });
    plan.workload = Some(workload);
    plan.validate()?;
    Source::of(&plan).map(drop)
}

fn whole(flag: &str, file: &Path) -> Result<String, Failure> {
    let whole = file.canonicalize();
    let whole = whole.map_err(|error| refused(flag, file, &error))?;
    let text = whole.to_str().map(str::to_owned);
    text.ok_or_else(|| refused(flag, file, &"the path isn't UTF-8; rename it"))
}

fn refused(flag: &str, file: &Path, why: &dyn Display) -> Failure {
    Failure::usage(format!("{flag} {}: {why}", file.display()))
}

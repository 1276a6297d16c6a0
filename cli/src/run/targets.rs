//! A workload out of a file of targets, or of a URL with templates.

use std::io;
use std::path::Path;

use load::check::Threshold;
use load::plan::workload::{Data, PIPED};
use load::plan::{Request, Workload, authenticate};
use load::protocol::{Call, Protocol};
use load::{Plan, Redaction};
use measure::foreign::screened;
use workload::data::Kind;
use workload::formats::{self, Defaults, Format};

use crate::args::load::Load;
use crate::args::targets::Targets;
use crate::args::values;
use output::terminal;
use workload::given::read_body;

/// The plan of a load whose requests differ. `base` makes one of a URL, and of the flags that say
/// how it is loaded.
pub(crate) fn plan(
    url: Option<&str>,
    given: &Targets,
    load: &Load,
    base: impl FnOnce(&str) -> Result<Plan, String>,
) -> Result<Plan, String> {
    let defaults = defaults(load)?;
    let mut workload = match (&given.targets, url) {
        (Some(file), _) => of_file(file, given, &defaults)?,
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
    note_cookies(load, &workload);
    let is_flow = workload.flow.is_some();
    if is_flow {
        refuse_a_message(load)?;
    }
    // What is called is known from the beginning, which a path alone doesn't say; and messages go
    // where their connection was upgraded.
    let path = match is_flow || first.target.is_grpc() {
        true => &first.target.path,
        false => "/",
    };
    let origin = format!(
        "{}://{}{path}",
        first.target.scheme,
        first.target.authority()
    );
    let mut plan = base(&origin)?;
    if let Protocol::Grpc { call, .. } = &mut plan.protocol {
        *call = Call::of_workload(call.deadline_s);
    }
    plan.request = Request {
        method: "GET".to_owned(),
        headers: match is_flow {
            true => first.request.headers.clone(),
            false => Vec::new(),
        },
        body: Vec::new(),
    };
    if let Protocol::WebSocket { message } = &mut plan.protocol {
        message.payload.clear();
    }
    plan.workload = Some(workload);
    plan.ask_for_compressed();
    plan.tell_secrets();
    Ok(plan)
}

/// Refuses flags that say what is sent, where the file of a flow does.
fn refuse_a_message(load: &Load) -> Result<(), String> {
    let about_one = [
        (load.message.is_some(), "--message"),
        (load.body.is_some(), "-b"),
        (load.method.is_some(), "-m"),
    ];
    match about_one.iter().find(|(given, _)| *given) {
        None => Ok(()),
        Some((_, flag)) => Err(format!(
            "{flag}: the messages are those of the --targets file; drop {flag}"
        )),
    }
}

/// Refuses conditions, which `flag` gives, on steps that there aren't.
pub(crate) fn known_steps(flag: &str, rules: &[Threshold], plan: &Plan) -> Result<(), String> {
    let names = plan.workload.as_ref().map(|workload| workload.names().0);
    let names = names.unwrap_or_default();
    let mut steps = rules.iter().filter_map(Threshold::step);
    let Some(unknown) = steps.find(|step| !names.iter().any(|name| name == step)) else {
        return Ok(());
    };
    Err(match names.as_slice() {
        [] => format!("{flag}: there is no step {unknown:?}: every request is the same"),
        names => format!(
            "{flag}: there is no step {unknown:?}; the steps are {}",
            names.join(", ")
        ),
    })
}

/// Says that cookies don't make a journey of several requests.
fn note_cookies(load: &Load, workload: &Workload) {
    if load.cookies && workload.steps.len() > 1 && workload.flow.is_none() {
        terminal::say(
            "note: --cookies: each connection keeps its own, and a request goes to whichever \
             connection is free: one that needs a login may come to a connection that hasn't \
             logged in",
        );
    }
}

fn of_file(file: &Path, given: &Targets, defaults: &Defaults) -> Result<Workload, String> {
    let is_piped = file.as_os_str() == PIPED;
    let format = given.targets_format.or_else(|| Format::of_file(file));
    let format = format.ok_or_else(|| {
        let whose = match is_piped {
            true => "standard input has no name that says",
            false => "its name doesn't say",
        };
        format!(
            "--targets {}: {whose} which format it has; add --targets-format http, vegeta or \
             vegeta-json",
            file.display()
        )
    })?;
    let read = match is_piped {
        true => formats::read_piped(&mut io::stdin().lock(), format, defaults),
        false => formats::read(file, format, defaults),
    };
    let read = read.map_err(|mistake| mistake.to_string())?;
    for note in &read.notes {
        terminal::say(&format!("note: {}", screened(note)));
    }
    let mut workload = Workload::new(read.steps);
    workload.file = Some(file.to_owned());
    workload.flow = read.flow;
    workload.pick = given.pick.map_or(workload.pick, Into::into);
    Ok(workload)
}

fn of_url(url: &str, defaults: &Defaults) -> Result<Workload, String> {
    let step = formats::of_url(url, defaults);
    let step = step.map_err(|mistake| mistake.to_string())?;
    Ok(Workload::new(vec![step]))
}

/// What the flags say of requests.
fn defaults(load: &Load) -> Result<Defaults, String> {
    if load.user.as_ref().is_some_and(|who| who.contains("{{")) {
        return Err(
            "--user: {{variables}} aren't filled in there, because they would be encoded; put \
             `NAME:PASSWORD` in base64 into a column, and use -H 'Authorization: Basic {{column}}'"
                .to_owned(),
        );
    }
    let mut headers = values::fields("-H", &load.headers)?;
    headers.extend(values::fields("--metadata", &load.metadata)?);
    if let Some(who) = &load.user {
        // What is secret of it, the plan learns by itself.
        let added = authenticate(&mut headers, who, &Redaction::default());
        added.map_err(|invalid| invalid.to_string())?;
    }
    let body = load.body.as_deref().map(read_body).transpose()?;
    Ok(Defaults {
        headers,
        body,
        method: load.method.clone(),
    })
}

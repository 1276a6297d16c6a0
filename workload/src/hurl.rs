//! Flows of users, written as Hurl files: from a file to a workload whose connections are users.
//!
//! What is read here is what can be known before a load: the requests as steps, and the one server
//! that they go to. [`pairs`] has what users are given, and [`compared`] flows in a comparison.

pub mod compared;
pub mod pairs;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use flow::{Flow, Url};
use measure::foreign::Foreign;
use plan::workload::{Data as Rows, Journey};
use plan::{Invalid, Redaction, Request, Step, Target, Users, Workload};

use crate::data::Data;

/// What users are given besides the file.
#[derive(Clone, Default)]
pub struct Given {
    /// Variables that all of them have.
    pub variables: Vec<(String, String)>,
    /// The same of variables whose values are secrets.
    pub secrets: Vec<(String, String)>,
    /// A row for each of them.
    pub rows: Option<Rows>,
    /// The folder that files have to be in which the flow names; none for its own.
    pub file_root: Option<PathBuf>,
    /// The most redirects that are followed where a request doesn't say; 0: none.
    pub follow: u32,
    /// What knows by their names which variables hold secrets.
    pub redaction: Redaction,
}

impl std::fmt::Debug for Given {
    /// Without values, of which some are secrets.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Given")
            .field("rows", &self.rows)
            .field("follow", &self.follow)
            .finish_non_exhaustive()
    }
}

/// Whether this is the name of such a file, and no URL.
pub fn is_one(name: &str) -> bool {
    !name.contains("://") && Path::new(name).extension() == Some("hurl".as_ref())
}

/// The workload of a file.
///
/// # Errors
/// What is wrong with the file, or not supported, with file, line and column; that it goes to no
/// server or to several; a data file that can't be read.
pub fn read(file: &Path, given: Given) -> Result<Workload, Invalid> {
    let columns = given.rows.as_ref().map(columns).transpose()?;
    let follows = given.follow > 0;
    let redaction = given.redaction.clone();
    let mut with = flow::Given {
        variables: given.variables.clone(),
        secrets: given.secrets.clone(),
        columns: columns.unwrap_or_default(),
        hides: Some(Arc::new(move |name| redaction.is_secret(name))),
        follow: follows,
        file_root: given.file_root.clone(),
        ..flow::Given::default()
    };
    if follows {
        with.redirects_max = given.follow;
    }
    let flow = Flow::read(file, &with).map_err(|mistakes| {
        let lines: Vec<String> = mistakes.iter().map(ToString::to_string).collect();
        Invalid(lines.join("\n"))
    })?;
    let name = Foreign::new(file.display().to_string()).to_string();
    let redaction = &given.redaction;
    let shown = given.variables.iter();
    let shown: Vec<_> = shown
        .filter(|(name, _)| !redaction.is_secret(name))
        .collect();
    let origin = origin(&flow, &name, &shown)?;
    let mut workload = Workload::new(steps(&flow, &name, &origin)?);
    workload.file = Some(file.to_owned());
    workload.data = given.rows;
    workload.users = Some(Users {
        variables: given.variables.into_iter().collect(),
        secrets: given.secrets.into_iter().map(|(name, _)| name).collect(),
        file_root: given.file_root,
        follow: given.follow,
        journey: Journey(Some(flow)),
    });
    Ok(workload)
}

fn columns(rows: &Rows) -> Result<Vec<String>, Invalid> {
    // Only the header is wanted here: at random, all of the file would be read.
    let order = plan::workload::Order::InTurn;
    let rows = Rows {
        order,
        ..rows.clone()
    };
    Ok(Data::open(&rows, 1, 0)?.columns().to_vec())
}

/// The one server that a flow goes to. `shown`: variables whose values may be.
fn origin(flow: &Flow, file: &str, shown: &[&(String, String)]) -> Result<Url, Invalid> {
    let mut first: Option<(Url, u32)> = None;
    for at in 0..flow.len() {
        let line = flow.entry(at).map_or(0, |(_, line)| line);
        let Some(url) = flow.origin(at) else {
            continue;
        };
        match &first {
            None => first = Some((url, line)),
            Some((known, _)) if known.is_same_origin(&url) => {}
            Some((known, before)) => {
                return Err(Invalid(format!(
                    "{file}:{line}: this request goes to {}, and the one in line {before} to {}: \
                     a run loads one server, so give each server a flow of its own",
                    server(&url),
                    server(known)
                )));
            }
        }
    }
    first.map(|(url, _)| url).ok_or_else(|| {
        let base = flow.base(0).and_then(|base| {
            let (_, is) = shown.iter().rfind(|(name, _)| name == base)?;
            (!is.contains("://")).then_some((base, is))
        });
        if let Some((base, is)) = base {
            let (base, is) = (Foreign::new(base), Foreign::new(is));
            return Invalid(format!(
                "{file}: {base} has no scheme: write --variable {base}=http://{is}"
            ));
        }
        Invalid(format!(
            "{file}: nothing says which server is loaded before its users begin: write a URL as \
             http://HOST:PORT/…, or with a variable as in {{{{base}}}}/… and \
             --variable base=http://HOST:PORT"
        ))
    })
}

fn server(url: &Url) -> String {
    format!("{}://{}", scheme(url), url.authority())
}

fn scheme(url: &Url) -> &'static str {
    if url.is_secure() { "https" } else { "http" }
}

/// The requests as steps, whose names are their methods and paths.
fn steps(flow: &Flow, file: &str, origin: &Url) -> Result<Vec<Step>, Invalid> {
    let target = Target::parse(&format!("{}/", server(origin)))
        .map_err(|Invalid(why)| Invalid(format!("{file}: {why}")))?;
    let mut steps: Vec<Step> = Vec::with_capacity(flow.len());
    for at in 0..flow.len() {
        let (method, line) = flow.entry(at).unwrap_or_default();
        let path = flow.path(at).unwrap_or_default();
        let plain = Foreign::new(format!("{method} {path}")).to_string();
        let is_known = steps.iter().any(|step| step.name == plain);
        steps.push(Step {
            name: match is_known {
                true => format!("{plain} (line {line})"),
                false => plain,
            },
            weight: 1,
            target: Target {
                path,
                ..target.clone()
            },
            request: Request {
                method: method.to_owned(),
                headers: Vec::new(),
                body: Vec::new(),
            },
            body_is_template: false,
            expect: Vec::new(),
            at: Some(format!("{file}:{line}")),
        });
    }
    Ok(steps)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_text(text: &str, variables: &[(&str, &str)]) -> Result<Workload, String> {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.hurl");
        std::fs::write(&file, text).unwrap();
        let pair = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        let given = Given {
            variables: variables.iter().map(pair).collect(),
            ..Given::default()
        };
        let read = read(&file, given).map_err(|Invalid(why)| why);
        let folder = format!("{}/", folder.path().display());
        read.map_err(|why| why.replace(&folder, ""))
    }

    #[test]
    fn requests_are_named_by_method_and_path() {
        let text = "
GET {{base}}/a/{{id}}?token=x
GET {{base}}/a/{{id}}#b
[Options]
variable: id=1
POST http://h:81
GET {{base}}/{{id}}/x?y
GET {{base}}
";
        let workload = read_text(text, &[("base", "http://H:81"), ("id", "7")]).unwrap();
        let steps = workload.steps.iter();
        let steps: Vec<(&str, &str)> = steps
            .map(|step| (&*step.name, step.at.as_deref().unwrap()))
            .map(|(name, at)| (name, at.rsplit('/').next().unwrap()))
            .collect();
        assert_eq!(
            steps,
            [
                ("GET /a/{{id}}", "a.hurl:2"),
                ("GET /a/{{id}} (line 3)", "a.hurl:3"),
                ("POST /", "a.hurl:6"),
                ("GET /{{id}}/x", "a.hurl:7"),
                ("GET {{base}}", "a.hurl:8"),
            ]
        );
        let target = &workload.steps[0].target;
        assert_eq!((&*target.host, target.port), ("H", 81));
        let (names, figures) = workload.names();
        assert_eq!(names.last().map(String::as_str), Some("(flow)"));
        let red = read_text("GET http://h/\u{1b}[31mred\n", &[]).unwrap();
        assert_eq!(red.steps[0].name, "GET /\\u{1b}[31mred");
        assert_eq!(figures, [0, 1, 2, 3, 4, 5]);
    }

    #[test]
    fn a_flow_goes_to_one_server_which_is_known_before_it_runs() {
        let two = "GET http://h/\n\nGET https://h/\n";
        let why = read_text(two, &[]).unwrap_err();
        assert!(
            why.starts_with("a.hurl:3: this request goes to https://h, and the one in line 1 to"),
            "{why}"
        );
        let none = "GET {{base}}/\n[Options]\nvariable: base=http://h\n";
        let why = read_text(none, &[]).unwrap_err();
        assert!(why.contains("--variable base=http://HOST:PORT"), "{why}");
        let why = read_text("GET {{base}}/\n", &[]).unwrap_err();
        assert!(why.starts_with("a.hurl:1:"), "{why}");
        for host in ["127.0.0.1:1", "localhost:8080", "shop.example"] {
            let why = read_text("GET {{base}}/\n", &[("base", host)]).unwrap_err();
            let told = format!("base has no scheme: write --variable base=http://{host}");
            assert!(why.ends_with(&told), "{why}");
        }
        assert!(read_text("GET http://h/\n\nGET http://H:80/b\n", &[]).is_ok());
    }

    #[test]
    fn urls_are_no_files() {
        for (name, expected) in [
            ("shop.hurl", true),
            ("../a b/shop.hurl", true),
            ("http://h/shop.hurl", false),
            ("shop.http", false),
            ("hurl", false),
        ] {
            assert_eq!(is_one(name), expected, "{name}");
        }
    }
}

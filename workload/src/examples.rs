//! One request of each step, to see how it is answered before any load.

use std::sync::Arc;

use measure::time::unix_nanoseconds;
use plan::protocol::{Call, Protocol};
use plan::schedule::Schedule;
use plan::{Invalid, Plan, Request, Step, Target, Workload};
use replay::Trace;

use crate::call;
use crate::data::Data;
use crate::recipe::{Chance, Encoding, Recipe};

/// A request of a step as it might be sent.
#[derive(Clone, Debug, PartialEq)]
pub struct Example {
    /// The step's place in the workload.
    pub step: usize,
    /// A plan without a workload, whose request it is.
    pub plan: Plan,
    /// Whether the step is another request each time.
    pub varies: bool,
}

/// A request of each of the first `most` steps that are ever sent, with templates filled in; none
/// of a plan without a workload. Each that needs a row of the data file has one.
///
/// # Errors
/// A step that cannot be sent, and where it stands; a data file that cannot be read.
pub fn examples(plan: &Plan, most: usize) -> Result<Vec<Example>, Invalid> {
    let Some(workload) = &plan.workload else {
        return Ok(Vec::new());
    };
    if let Schedule::Trace { trace, .. } = &plan.schedule {
        return Ok(of_trace(plan, workload, &trace.0, most));
    }
    let open = |data| Data::open(data, 1, plan.seed).map(Arc::new);
    let data = workload.data.as_ref().map(open).transpose()?;
    let columns = data.as_ref().map_or(&[][..], |data| data.columns());
    let mut rows = data.as_ref().map(|data| data.rows_of(0)).transpose()?;
    let mut chance = Chance::new(plan.seed, 0, 1, unix_nanoseconds);
    let encoding = Encoding::Http1 {
        keep_alive: true,
        absolute: false,
    };
    let steps = workload.steps.iter().enumerate();
    let mut made = Vec::new();
    let sent = steps.filter(|(_, step)| workload.sends(step));
    for (at, step) in sent.take(most) {
        let recipe = Recipe::of(step, encoding, columns)?;
        let varies = recipe.is_some();
        let (path, mut request) = match recipe {
            None => (step.target.path.clone(), step.request.clone()),
            Some(recipe) => {
                recipe.tell_secrets(&plan.redaction);
                let mut bytes = Vec::new();
                match rows.as_mut().filter(|_| recipe.uses_data()) {
                    None => recipe.make(&(), &mut chance, &mut bytes),
                    Some(rows) => match rows.next() {
                        Ok(Some(row)) => recipe.make(&row, &mut chance, &mut bytes),
                        Ok(None) => return Err(no_row(step)),
                        Err(broken) => return Err(Invalid(broken.to_string())),
                    },
                };
                read(&bytes, &step.target).ok_or_else(|| no_row(step))?
            }
        };
        let protocol = match step.target.is_grpc() {
            true => called(plan, step, &mut request, varies)?,
            false => plan.protocol.clone(),
        };
        made.push(Example {
            step: at,
            plan: Plan {
                target: Target {
                    path,
                    ..plan.target.clone()
                },
                request,
                protocol,
                workload: None,
                ..plan.clone()
            },
            varies,
        });
    }
    Ok(made)
}

/// The same of requests that were made once: the first of each step.
fn of_trace(plan: &Plan, workload: &Workload, trace: &Trace, most: usize) -> Vec<Example> {
    let steps = workload.steps.iter().enumerate().take(most);
    let example = |(step, by): (usize, &Step)| {
        let mut all = trace.requests.iter();
        let first = all.find(|request| request.method == by.request.method)?;
        let own = &plan.request.headers;
        let is_own = |name: &str| {
            let mut names = own.iter().map(|(other, _)| other);
            names.any(|other| other.eq_ignore_ascii_case(name))
        };
        let fields = first.fields.iter().filter(|(name, _)| !is_own(name));
        Some(Example {
            step,
            plan: Plan {
                target: Target {
                    path: first.target.clone(),
                    ..plan.target.clone()
                },
                request: Request {
                    method: first.method.clone(),
                    headers: fields.chain(own).cloned().collect(),
                    body: first.body.clone(),
                },
                schedule: Schedule::Closed,
                workload: None,
                ..plan.clone()
            },
            varies: false,
        })
    };
    steps.filter_map(example).collect()
}

/// The call that a request of a step is, whose body becomes its messages.
fn called(
    plan: &Plan,
    step: &Step,
    request: &mut Request,
    varies: bool,
) -> Result<Protocol, Invalid> {
    let method = call::method(plan, step)?;
    let body = std::mem::take(&mut request.body);
    Ok(Protocol::Grpc {
        http2: plan.protocol.http2().copied().unwrap_or_default(),
        call: Call {
            kind: method.kind(),
            messages: call::messages(&**method, &body, step, !varies)?,
            deadline_s: plan.protocol.deadline_s(),
        },
    })
}

fn no_row(step: &Step) -> Invalid {
    let place = step.place();
    Invalid(format!("{place}the data file has no row for this request"))
}

/// Takes a request over HTTP/1.1 apart that a recipe made, so that it can be sent over HTTP/2 too.
fn read(bytes: &[u8], target: &Target) -> Option<(String, Request)> {
    let end = bytes.windows(4).position(|four| four == b"\r\n\r\n")?;
    let head = String::from_utf8_lossy(&bytes[..end]);
    let mut lines = head.split("\r\n");
    let mut words = lines.next()?.split(' ');
    let (method, path) = (words.next()?, words.next()?);
    let fields = lines.filter_map(|line| line.split_once(": "));
    let ours = |(name, value): &(&str, &str)| {
        name.eq_ignore_ascii_case("content-length")
            || name.eq_ignore_ascii_case("host") && *value == target.authority()
    };
    let given = fields.filter(|field| !ours(field));
    Some((
        path.to_owned(),
        Request {
            method: method.to_owned(),
            headers: given
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .collect(),
            body: bytes[end + 4..].to_vec(),
        },
    ))
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use plan::Workload;
    use plan::workload::{Data, Order};

    use super::*;

    fn step(method: &str, path: &str, body: &str) -> Step {
        Step {
            name: path.to_owned(),
            weight: 1,
            target: Target {
                path: path.to_owned(),
                ..Target::parse("http://x:1/").unwrap()
            },
            request: Request {
                method: method.to_owned(),
                headers: vec![("X-Id".to_owned(), "{{id}}".to_owned())],
                body: body.as_bytes().to_vec(),
            },
            body_is_template: true,
            expect: Vec::new(),
            at: Some("a.http:3".to_owned()),
        }
    }

    #[test]
    fn each_step_that_is_sent_has_an_example_of_its_own() {
        let mut file = tempfile::Builder::new().suffix(".csv").tempfile().unwrap();
        file.write_all(b"id\nann\nbo\n").unwrap();
        let mut constant = step("GET", "/c", "");
        constant.request.headers.clear();
        let never = Step {
            weight: 0,
            ..step("GET", "/never", "")
        };
        let posted = Step {
            weight: 3,
            ..step("POST", "/p/{{id}}", "a {{id}}")
        };
        let mut plan = Plan::new("http://server:8080/").unwrap();
        let last = step("GET", "/g", "");
        let mut workload = Workload::new(vec![constant.clone(), never, posted, last]);
        workload.data = Some(Data {
            file: file.path().to_owned(),
            order: Order::InTurn,
        });
        plan.workload = Some(workload);
        let made = examples(&plan, 9).unwrap();
        let places: Vec<(usize, bool)> = made.iter().map(|one| (one.step, one.varies)).collect();
        assert_eq!(places, [(0, false), (2, true), (3, true)]);
        assert_eq!(made[0].plan.request, constant.request);
        let asked = |at: usize| {
            let Plan {
                target, request, ..
            } = &made[at].plan;
            assert_eq!((&*target.host, target.port), ("server", 8080));
            (target.path.clone(), request.clone())
        };
        let request = |method: &str, id: &str, body: &str| Request {
            method: method.to_owned(),
            headers: vec![("X-Id".to_owned(), id.to_owned())],
            body: body.as_bytes().to_vec(),
        };
        assert_eq!(asked(1), ("/p/ann".into(), request("POST", "ann", "a ann")));
        assert_eq!(asked(2), ("/g".into(), request("GET", "bo", "")));
        assert!(made.iter().all(|one| one.plan.workload.is_none()));
        assert_eq!(examples(&plan, 2).unwrap().len(), 2);
        plan.workload = None;
        assert_eq!(examples(&plan, 2).unwrap(), []);
    }

    #[test]
    fn a_template_that_cannot_be_filled_in_says_where_it_stands() {
        let mut plan = Plan::new("http://x:1/").unwrap();
        plan.workload = Some(Workload::new(vec![step("GET", "/", "")]));
        let Invalid(text) = examples(&plan, 1).unwrap_err();
        assert!(text.starts_with("a.http:3: "), "{text}");
    }
}

//! `ringside capacity`: whose capacity out of the arguments, the search, and its report.

use std::path::{Path, PathBuf};
use std::time::Duration;

use capacity::{Elsewhere, Options, Outcome, Reach, Whose};
use engine::signal::Stop;
use lab::Event;
use load::plan::workload::Order;
use load::{Plan, Redaction};
use netns::wants_host;
use supervisor::loads::Loads;
use workload::hurl;

use crate::args::capacity::Capacity;
use crate::compare::{Talk, keep, look};
use crate::export::Spans;
use crate::page;
use crate::run::fleet::{self, Conductor};
use crate::run::sender::Sender;
use crate::run::{flows, plan, replayed, targets};
use crate::this_program;
use exit::{Exit, Failure};
use output::terminal::{self, Paint};

/// A URL that only serves to see what the flags about a load would make of it.
const ANY: &str = "http://localhost/";

/// What a load of a fleet takes besides its window: agents are called, their clocks are compared,
/// and they begin together.
const AROUND: Duration = Duration::from_millis(2500);

/// Searches by the loads of a fleet, and reports.
pub(crate) fn on_fleet(
    arguments: &Capacity,
    no_color: bool,
    conductor: &mut dyn Conductor,
) -> Result<Exit, Failure> {
    // A target is wherever it is; the rows of a comparison are started here.
    let asked = fleet::asked_for_many(&arguments.fleet, !is_target(arguments));
    let sender = Sender::new(conductor, asked.map_err(Failure::usage)?);
    let elsewhere = Elsewhere {
        loads: Loads::by(&sender),
        around: AROUND,
    };
    search_from(arguments, no_color, Some(elsewhere))
}

/// Searches, and reports.
pub(crate) fn run(arguments: &Capacity, no_color: bool) -> Result<Exit, Failure> {
    search_from(arguments, no_color, None)
}

fn search_from(
    arguments: &Capacity,
    no_color: bool,
    elsewhere: Option<Elsewhere<'_>>,
) -> Result<Exit, Failure> {
    let file = (!is_target(arguments)).then(|| whose(arguments).to_owned());
    let mut spans = Spans::of("capacity", file, None, &arguments.export)?;
    // A target is wherever it is; the rows of a comparison are started here.
    if !is_target(arguments)
        && let Some(end) = network::privately(in_host(arguments), page::address(arguments.live))?
    {
        return Ok(end);
    }
    // Targets from standard input are waited for: until then a signal ends the program.
    let mut options = options(arguments)?;
    let stop = Stop::on_signals().map_err(Failure::signals)?;
    if let Whose::Target { plan, .. } = &mut options.whose {
        plan::call(&arguments.load, plan, &stop)?;
    }
    let what = title(&options);
    let mut talk = Talk::live(no_color, arguments.live, ("search", &what), &stop)?;
    let outcome = search(
        arguments,
        &options,
        (&stop, elsewhere),
        (no_color, &mut talk),
        &mut spans,
    );
    talk.leave(&outcome, &stop);
    spans.send(&outcome);
    outcome
}

fn search(
    arguments: &Capacity,
    options: &Options,
    (stop, elsewhere): (&Stop, Option<Elsewhere<'_>>),
    (no_color, talk): (bool, &mut Talk),
    spans: &mut Spans,
) -> Result<Exit, Failure> {
    let mut observer = |event: &Event<'_>| {
        spans.hear(event);
        talk.tell(event);
    };
    let outcome = capacity::capacity_from(options, stop, &mut observer, elsewhere);
    talk.rest();
    let outcome = outcome?;
    let found = outcome.found.conclusions.iter();
    talk.found(&found.map(|one| one.says.clone()).collect::<Vec<_>>());
    let text = capacity::formats::terminal(&outcome.found, look(Paint::for_stdout(no_color)));
    let printed = terminal::print(&text)
        .map_err(|error| Failure::running(format!("can't write to standard output: {error}")));
    let way_out = "free some disk space before the next search; this one's report is on standard \
                   output";
    let json = || outcome.found.json();
    let kept = keep(&outcome.folder, &outcome.unwritten, way_out, json);
    printed.and(kept)?;
    let reached = reached(arguments, &outcome, Paint::for_stderr(no_color));
    Ok(match (outcome.end().into(), reached) {
        (Exit::Ok | Exit::SubjectFailed, Reach::Below) => Exit::Threshold,
        (Exit::Ok, Reach::NotKnown(_)) => Exit::Void,
        (end, _) => end,
    })
}

/// Whether a server is searched that somebody else runs.
fn is_target(arguments: &Capacity) -> bool {
    let whose = whose(arguments);
    arguments.targets.is_given() || whose.contains("://") || hurl::is_one(whose)
}

/// Whose capacity is searched, above what is drawn.
fn title(options: &Options) -> String {
    match &options.whose {
        Whose::Target { plan, .. } => plan.redaction.scrub(&plan.target.origin()).into_owned(),
        Whose::File(file) => file.display().to_string(),
    }
}

/// The URL or the file; nothing where there are only targets.
fn whose(arguments: &Capacity) -> &str {
    arguments.whose.as_deref().unwrap_or_default()
}

/// Why everything has to run in the host's network, if so.
fn in_host(arguments: &Capacity) -> Option<&'static str> {
    match arguments.network.host_network {
        true => Some(network::ASKED),
        false if arguments.fleet.agents.is_some() => Some(network::FLEET),
        false => wants_host(Path::new(whose(arguments))).then_some(network::WRITTEN),
    }
}

fn options(arguments: &Capacity) -> Result<Options, Failure> {
    let whose = match is_target(arguments) {
        true => target(arguments)?,
        false => file(arguments).map_err(Failure::usage)?,
    };
    if let (Some(rate), Some(to)) = (arguments.at_least, arguments.to)
        && rate > to
    {
        return Err(Failure::usage(format!(
            "--at-least {rate}/s is above --to {to}/s, where the search ends: raise --to"
        )));
    }
    let redaction = arguments.load.secrets.hide(Redaction::default());
    terminal::hide(&redaction);
    Ok(Options {
        redaction,
        at_least: arguments.at_least,
        from: arguments.from,
        to: arguments.to,
        window: arguments.duration,
        precision: arguments.precision,
        repeats: arguments.repeats,
        confirmations: arguments.confirmations,
        arrivals: arguments.arrivals.into(),
        scaling: arguments.usl.clone(),
        out: arguments.output.clone(),
        ..Options::new(whose, arguments.slo.clone(), this_program()?)
    })
}

fn target(arguments: &Capacity) -> Result<Whose, Failure> {
    let base = |url: &str| plan::base(url, &arguments.load, Redaction::default());
    arguments.targets.check().map_err(Failure::usage)?;
    let given = flows::Given {
        url: arguments.whose.as_deref(),
        flows: &arguments.flows,
        load: &arguments.load,
        targets: &arguments.targets,
        replay: &arguments.replay,
        control: false,
    };
    once(arguments).map_err(Failure::usage)?;
    let file = flows::file(&given).map_err(Failure::usage)?;
    let plan = match (file, &arguments.whose) {
        (Some(file), _) => flows::plan(file, &given, |origin, redaction| {
            plan::without_request(origin, &arguments.load, redaction)
        }),
        (None, Some(url)) if !arguments.targets.is_given() => base(url),
        (None, url) => of_targets(url.as_deref(), arguments),
    };
    let mut plan = plan.map_err(Failure::usage)?;
    plan.script = arguments.targets.script();
    replayed::apply(&arguments.replay, &mut plan).map_err(Failure::usage)?;
    let known = targets::known_steps("--slo", &arguments.slo, &plan);
    known.map_err(Failure::usage)?;
    plan::needs_events(&arguments.slo, plan.events).map_err(Failure::usage)?;
    plan::check(&plan).map_err(Failure::usage)?;
    Ok(Whose::Target {
        plan: Box::new(plan),
        connections_given: arguments.load.connections.is_some(),
    })
}

/// Refuses an order of rows that ends a load.
fn once(arguments: &Capacity) -> Result<(), String> {
    match arguments.targets.data_order {
        Some(Order::Once) => Err(
            "--data-order once: a search sends requests for as long as it takes, so its rows can't \
             be used up; use in-turn, random or zipf:1.1"
                .to_owned(),
        ),
        _ => Ok(()),
    }
}

/// A load whose requests differ, and that goes on for as long as it is wanted.
fn of_targets(url: Option<&str>, arguments: &Capacity) -> Result<Plan, String> {
    let given = &arguments.targets;
    if let Some(file) = url.filter(|url| !url.contains("://") && url.ends_with(".toml")) {
        return Err(format!(
            "{file} is a comparison file, which sets its own requests: write `targets`, `template` \
             and `data` into its [workload]"
        ));
    }
    let plan = targets::plan(url, given, &arguments.load, |origin| {
        plan::without_request(origin, &arguments.load, Redaction::default())
    })?;
    if plan.has_flow() {
        return Err(
            "--targets: a search sets the rate, and the waits between the messages of a WebSocket \
             set it, too: send them with `ringside run --targets`, on ever more connections"
                .to_owned(),
        );
    }
    Ok(plan)
}

/// A comparison says itself how its rows are loaded.
fn file(arguments: &Capacity) -> Result<Whose, String> {
    let file = whose(arguments);
    let usual = Plan::new(ANY).map_err(|invalid| invalid.to_string())?;
    if let Some(flag) = arguments.flows.given() {
        return Err(format!(
            "{flag}: {file} is a comparison file: put `variables` into its [workload]"
        ));
    }
    match plan::base(ANY, &arguments.load, Redaction::default()) {
        Ok(plan) if plan == usual && arguments.load.connections.is_none() => {
            Ok(Whose::File(PathBuf::from(file)))
        }
        _ => Err(format!(
            "{file} is a comparison file, which sets its own requests and connections: put these \
             options into its [workload], or give a URL instead"
        )),
    }
}

/// Whether what has to be reached is; says so if not.
fn reached(arguments: &Capacity, outcome: &Outcome, paint: Paint) -> Reach {
    let Some(rate) = arguments.at_least else {
        return Reach::Shown;
    };
    let reached = outcome.found.at_least(rate);
    match &reached {
        Reach::Shown => {}
        Reach::Below => {
            let what = format!("--at-least {rate}/s: the search didn't show that this rate holds");
            terminal::say(&paint.error(&what));
        }
        Reach::NotKnown(why) => {
            let word = paint.warning("not judged");
            terminal::say(&format!("--at-least {rate}/s {word}: {why}"));
        }
    }
    reached
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::{self, Parsed, Verb};

    fn asked(words: &str) -> Result<Options, String> {
        let words = ["ringside", "capacity"]
            .into_iter()
            .chain(words.split_whitespace());
        let parsed = match args::parse(words.map(Into::into)) {
            Parsed::Do(parsed) => parsed,
            Parsed::Wrong(text) | Parsed::Answer(text) => return Err(text),
        };
        let Verb::Capacity(arguments) = parsed.verb else {
            return Err("another verb".to_string());
        };
        options(&arguments).map_err(|failure| failure.text)
    }

    #[test]
    fn the_flags_of_a_load_mean_what_they_mean_in_a_run() {
        let words = "-c 50 -t 2 -H X-A:b --from 2k --precision 2% --usl 1,2,4 http://localhost:1/";
        let options = asked(words).unwrap();
        let Whose::Target {
            plan,
            connections_given,
        } = options.whose
        else {
            panic!("not a target");
        };
        assert!(connections_given);
        assert_eq!((plan.connections, plan.threads), (50, 2));
        assert_eq!(plan.request.headers, [("X-A".to_string(), "b".to_string())]);
        assert_eq!(
            (options.from, options.precision),
            (Some(2000.0), Some(0.02))
        );
        assert_eq!(options.scaling, [1, 2, 4]);
        assert_eq!(options.arrivals, load::schedule::Arrivals::Poisson);
    }

    #[test]
    fn connections_that_nobody_gave_may_be_added_to() {
        let whose = asked("http://localhost:1/").unwrap().whose;
        let Whose::Target {
            plan,
            connections_given,
        } = whose
        else {
            panic!("not a target");
        };
        assert_eq!((plan.connections, connections_given), (10, false));
    }

    #[test]
    fn a_comparison_is_not_loaded_otherwise_than_it_says() {
        assert!(matches!(asked("a.toml").unwrap().whose, Whose::File(_)));
        for words in [
            "-c 5 a.toml",
            "-k a.toml",
            "-H X-A:b a.toml",
            "--proto x a.toml",
        ] {
            let refused = asked(words).unwrap_err();
            assert!(refused.contains("[workload]"), "{words}: {refused}");
        }
    }

    #[test]
    fn what_cannot_be_meant_is_refused_with_a_way_out() {
        for (words, part) in [
            ("--slo p99 http://a/", "write it like"),
            ("--slo p99{x}<1s http://a/", "every request is the same"),
            (
                "--slo p99{x}<1s --template http://a/b",
                "the steps are GET /b",
            ),
            ("--data a.csv --data-order once http://a/", "random or zipf"),
            ("--data a.csv a.toml", "into its [workload]"),
            ("--targets a.http http://a/", "cannot be used with"),
            ("--pick random http://a/", "--targets"),
            ("--slo p99<1s", "URL|FILE.hurl|FILE.toml"),
            ("--precision 0 http://a/", "2%"),
            ("--from fast http://a/", "a rate like"),
            ("--usl 1,x http://a/", "whole number"),
            ("--binary http://a/", "WebSocket"),
            ("-c 1 -t 2 http://a/", "at least 2"),
            ("--at-least 5k --to 2k http://a/", "raise --to"),
        ] {
            let refused = asked(words).unwrap_err();
            assert!(refused.contains(part), "{words}: {refused}");
        }
    }
}

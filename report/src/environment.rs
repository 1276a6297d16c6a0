//! What a comparison ran on and how, as names and values for every format.

use lab::manifest::Asked;
use lab::verdict::Metric;
use measure::host::Host;
use netns::Network;
use statistics::format::{bytes, digits};
use supervisor::cores::List;

use super::Setup;

/// The machine, and the network in which everything ran, if that is known.
pub(super) fn machine(host: &Host, network: Option<&Network>) -> Vec<(&'static str, String)> {
    let text = |value: &Option<String>| value.clone().unwrap_or_else(|| "unknown".to_owned());
    let number = |value: Option<u64>| value.map_or("unknown".to_owned(), |value| value.to_string());
    let virtualised = match host.virtualised {
        Some(true) => "yes: other virtual machines share the hardware",
        Some(false) => "no",
        None => "unknown",
    };
    let queueing = host
        .loopback_queueing()
        .map_or("unknown".to_owned(), |kinds| kinds.join(", "));
    let memory = host.memory_bytes.map(|size| bytes(size as f64));
    let mut facts = vec![
        ("kernel", text(&host.kernel)),
        ("processor", text(&host.cpu_model)),
        ("CPUs online", number(host.cpus_online.map(u64::from))),
        ("virtual machine", virtualised.to_owned()),
        ("memory", text(&memory)),
        ("governor", text(&host.governor)),
        ("clock source", text(&host.clocksource)),
        ("mitigations", text(&host.mitigations)),
    ];
    facts.extend(network.map(|network| ("network", network.words())));
    facts.extend([
        ("congestion control", text(&host.congestion_control)),
        ("loopback MTU", number(host.loopback_mtu.map(u64::from))),
        ("queueing on loopback", queueing),
        (
            "listen backlog limit",
            number(host.somaxconn.map(u64::from)),
        ),
        ("descriptor limit", number(host.descriptor_limit)),
    ]);
    facts
}

/// What does it again, where the comparison's file is called `file`.
pub(super) fn command(file: &str, asked: &Asked) -> String {
    let mut words = vec![format!("ringside compare {file}")];
    words.extend(asked.rounds.map(|rounds| format!("--rounds {rounds}")));
    words.extend(
        asked
            .window_s
            .map(|seconds| format!("--duration {seconds}s")),
    );
    let aa = |aa| if aa { "--aa" } else { "--no-aa" };
    words.extend(asked.aa.map(|wanted| aa(wanted).to_owned()));
    let precision = |share: f64| format!("--precision {}%", 100.0 * share);
    words.extend(asked.precision.map(precision));
    words.extend(asked.budget_s.map(|seconds| format!("--budget {seconds}s")));
    words.join(" ")
}

/// How the measuring was done.
pub(super) fn procedure(setup: &Setup) -> Vec<(&'static str, String)> {
    let load = |seconds: f64| format!("{} s of load", digits(seconds));
    let rate = setup
        .rate
        .map_or("closed loop".to_owned(), |rate| format!("{rate}/s"));
    let rounds = match setup.rounds {
        1 => "1 round".to_owned(),
        rounds => format!("{rounds} rounds"),
    };
    let window = match setup.metric {
        Metric::Seconds => format!("one run in each of {rounds}"),
        _ => format!("{} s in each of {rounds}", digits(setup.window_s)),
    };
    let starts = match setup.rounds_per_start {
        Some(each) => each.to_string(),
        None => "all".to_owned(),
    };
    vec![
        ("began", setup.began.clone()),
        ("ringside", setup.ringside.clone()),
        (
            "server cores",
            match setup.server_cores.is_empty() {
                true => {
                    "any core: none were assigned, because servers were running already".to_owned()
                }
                false => List(&setup.server_cores).to_string(),
            },
        ),
        ("generator cores", List(&setup.generator_cores).to_string()),
        ("generator engine", setup.engine.clone()),
        ("asked", setup.asked.clone()),
        ("load", setup.load.clone()),
        ("rate", rate),
        ("window", window),
        ("before each window", load(setup.settle_s)),
        ("on each new process", load(setup.warm_up_s)),
        ("rounds on each start of the processes", starts),
        (
            "smallest difference that counts",
            format!("{} %", digits(100.0 * setup.smallest_difference)),
        ),
        ("seed", setup.seed.to_string()),
    ]
}

//! What was typed. What stands behind `run` is `ringside`'s to read.

use std::ffi::OsString;
use std::path::PathBuf;

use agents::agent::Settings;
use agents::beside::BESIDE;
use agents::manifests::{AGENTS_MAX, Manifests};
use agents::nats::Broker;
use agents::policy::Policy;
use fleet::Name;
use measure::cpu;
use measure::words::nearest;

/// What `--help` says.
pub(crate) const HELP: &str = "\
Load a server from many machines, as one

Usage: ringside fleet agent --policy FILE [--nats URL] [--name NAME] [--threads N] [--cpus LIST]
                            [--nkey FILE] [--keep DIR] [--audit FILE]
       ringside run|hold|capacity|compare|gate --agents N|local:N [--nats URL] [what else it takes]
       ringside fleet status [--nats URL] [--nkey FILE]
       ringside fleet stop [--nats URL] [--nkey FILE]
       ringside fleet keys FILE
       ringside fleet manifests DIR --image IMAGE --agents N [--threads N]

An agent waits for runs at a NATS server, and sends its share of each. It loads only what the
policy on its own machine allows, and stops by itself if it doesn't hear the coordinator for 10 s.
status says which agents are there and what they do; stop ends all load of all of them. keys makes
an nkey, keeps its seed in FILE and prints its public key: for --nkey, and for run --sign.
manifests writes a fleet for Kubernetes into DIR, for kubectl apply --kustomize.
ringside hands all of this over to this program, ringside-fleet, which takes the same words.

Options of an agent:
      --policy FILE    What it may load, and how much (TOML); without one it loads nothing
      --nats URL       The NATS server, such as nats://10.0.0.1:4222 (default: NATS_URL)
      --nkey FILE      The seed of the nkey that lets it in (default: NATS_NKEY; run takes that)
      --name NAME      Its name, which no other agent may have (default: this machine's)
      --threads N      Worker threads, if all agents have as many (default: one for each CPU)
      --cpus LIST      CPUs to pin threads to, such as 0,2-5 (default: as the run says)
      --keep DIR       Keep what it counts in DIR until the coordinator has it
      --audit FILE     Write down what it was asked for and did, a line of JSON each
  -V, --version        Print the version
  -h, --help           Print this help

A policy:
  [[allow]]
  networks = [\"10.0.0.0/8\"]
  ports = [80, \"8000-8999\"]

  [[allow]]
  unix = [\"/run/app.sock\"]   # sockets, or folders of sockets

  [[proxy]]                 # through which what [[allow]] names may be loaded
  networks = [\"10.0.0.7/32\"]
  ports = [3128]

  [limits]
  rate = \"10k\"
  connections = 1000
  duration = \"10m\"

  [signed]                  # only loads that one of these keys has signed
  by = [\"UD...\"]
  audience = \"lab\"
";

/// The flags of an agent.
const FLAGS: [&str; 8] = [
    "--policy",
    "--nats",
    "--nkey",
    "--name",
    "--threads",
    "--cpus",
    "--keep",
    "--audit",
];

/// What is to be done.
#[derive(Debug)]
pub(crate) enum Verb {
    Help,
    Version,
    /// Everything else is in the words.
    Run {
        nkey: Option<PathBuf>,
    },
    /// What `ringside` does by itself.
    Serve,
    Agent(Box<Settings>),
    /// Who is there.
    Status(Broker),
    /// All load is to end.
    Stop(Broker),
    /// Manifests for Kubernetes are to be written.
    Manifests(Manifests),
    /// A key is to be made, with its seed in this file.
    Keys(PathBuf),
    Beside {
        parent: String,
        command: Vec<OsString>,
    },
}

/// Reads the words, the program's name first.
///
/// # Errors
/// A sentence that says what is wrong.
pub(crate) fn parse(words: &[OsString]) -> Result<Verb, String> {
    let verb = words.get(1).map(|word| word.to_string_lossy());
    match verb.as_deref() {
        Some("--help" | "-h" | "help") => Ok(Verb::Help),
        Some("--version" | "-V" | "version") => Ok(Verb::Version),
        Some("run" | "hold" | "capacity" | "compare" | "gate" | "--no-color") => Ok(Verb::Run {
            nkey: variable("NATS_NKEY").map(PathBuf::from),
        }),
        Some("serve") => Ok(Verb::Serve),
        Some("agent") => agent(&words[2..]),
        Some("status") => everyone(&words[2..], Verb::Status),
        Some("stop") => everyone(&words[2..], Verb::Stop),
        Some("manifests") => manifests(&words[2..]),
        Some("keys") => match &words[2..] {
            words if words.iter().any(|word| word == "--help" || word == "-h") => Ok(Verb::Help),
            [file] if !file.to_string_lossy().starts_with('-') => Ok(Verb::Keys(file.into())),
            _ => Err("give the file for the seed of a new key: ringside fleet keys FILE".into()),
        },
        Some(BESIDE) => Ok(Verb::Beside {
            parent: words
                .get(2)
                .map_or(String::new(), |id| id.to_string_lossy().into_owned()),
            command: words.get(3..).unwrap_or_default().to_vec(),
        }),
        Some(other) => Err(format!(
            "{other} is no verb: use agent, run, status, stop, keys or manifests; see --help"
        )),
        None => Err("use agent, run, status, stop, keys or manifests; see --help".to_owned()),
    }
}

/// The values of these flags in their order; none where help is wanted.
fn values<const N: usize>(
    words: &[OsString],
    flags: [&str; N],
) -> Result<Option<[Option<OsString>; N]>, String> {
    let mut given = [const { None }; N];
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let word = word.to_string_lossy();
        if matches!(&*word, "--help" | "-h") {
            return Ok(None);
        }
        let (flag, inline) = match word.split_once('=') {
            Some((flag, value)) => (flag, Some(OsString::from(value))),
            None => (&*word, None),
        };
        let Some(at) = flags.iter().position(|known| *known == flag) else {
            return Err(unknown(flag, &flags));
        };
        let value = inline.or_else(|| words.next().cloned());
        given[at] = Some(value.ok_or_else(|| format!("{flag} takes a value"))?);
    }
    Ok(Some(given))
}

/// The broker of these flags, or of the variables in their place.
fn broker(nats: Option<OsString>, nkey: Option<OsString>) -> Result<Broker, String> {
    let url = nats.map(|url| url.to_string_lossy().into_owned());
    let url = url.or_else(|| variable("NATS_URL"));
    let url = url.ok_or("give the NATS server that agents wait at: --nats URL, or NATS_URL")?;
    let nkey = nkey.map(PathBuf::from);
    let nkey = nkey.or_else(|| variable("NATS_NKEY").map(PathBuf::from));
    Broker::new(&url, nkey.as_deref())
}

/// A verb that needs nothing but a broker.
fn everyone(words: &[OsString], verb: fn(Broker) -> Verb) -> Result<Verb, String> {
    match values(words, ["--nats", "--nkey"])? {
        Some([nats, nkey]) => broker(nats, nkey).map(verb),
        None => Ok(Verb::Help),
    }
}

fn manifests(words: &[OsString]) -> Result<Verb, String> {
    let (folder, words) = apart(words);
    let Some([image, agents, threads]) = values(&words, ["--image", "--agents", "--threads"])?
    else {
        return Ok(Verb::Help);
    };
    let folder =
        folder.ok_or("give the folder to write manifests into: ringside fleet manifests DIR")?;
    let text = |value: OsString| value.to_string_lossy().into_owned();
    let image = image.ok_or("give the image with ringside-fleet in it: --image")?;
    let agents = text(agents.ok_or("say how many agents there are to be: --agents")?);
    let agents = agents
        .parse()
        .map_err(|_| format!("--agents {agents}: use 1 to {AGENTS_MAX}"))?;
    let threads = threads.map_or(Ok(1), |threads| number(&text(threads)))?;
    let folder = PathBuf::from(folder);
    Manifests::new(folder, &text(image), agents, threads).map(Verb::Manifests)
}

/// The first word that is neither a flag nor the value of one, and all others.
fn apart(words: &[OsString]) -> (Option<OsString>, Vec<OsString>) {
    let (mut own, mut others, mut is_value) = (None, Vec::new(), false);
    for word in words {
        let text = word.to_string_lossy();
        let is_flag = text.starts_with('-') && !is_value;
        if own.is_none() && !is_flag && !is_value {
            own = Some(word.clone());
        } else {
            others.push(word.clone());
        }
        is_value = is_flag && !text.contains('=');
    }
    (own, others)
}

fn agent(words: &[OsString]) -> Result<Verb, String> {
    let Some(given) = values(words, FLAGS)? else {
        return Ok(Verb::Help);
    };
    let [policy, nats, nkey, name, threads, cpus, keep, audit] = given;
    let text = |value: OsString| value.to_string_lossy().into_owned();
    let policy = match policy {
        Some(file) => Policy::read(&PathBuf::from(file))?,
        None => Policy::default(),
    };
    let broker = broker(nats, nkey)?;
    let cpus =
        cpus.map(|list| cpu::parse_list(&text(list)).map_err(|why| format!("--cpus: {why}")));
    let workers = match threads {
        Some(count) => number(&text(count))?,
        None => cpu::allowed().len().max(1) as u32,
    };
    Ok(Verb::Agent(Box::new(Settings {
        name: Name::new(&name.map_or_else(of_machine, text)).map_err(|why| why.to_string())?,
        broker,
        policy,
        workers,
        cpus: cpus.transpose()?.unwrap_or_default(),
        keep: keep.map(PathBuf::from),
        audit: audit.map(PathBuf::from),
    })))
}

fn number(text: &str) -> Result<u32, String> {
    match text.parse() {
        Ok(threads @ 1..=load::plan::THREADS_MAX) => Ok(threads),
        _ => Err(format!(
            "--threads {text}: use 1 to {}",
            load::plan::THREADS_MAX
        )),
    }
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// The machine's name, as far as it can be an agent's.
fn of_machine() -> String {
    let name = rustix::system::uname()
        .nodename()
        .to_string_lossy()
        .into_owned();
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    let name: String = name
        .chars()
        .map(|c| if fits(c) { c } else { '-' })
        .take(64)
        .collect();
    match name.is_empty() {
        true => "agent".to_owned(),
        false => name,
    }
}

fn unknown(flag: &str, flags: &[&str]) -> String {
    match nearest(flag, flags.iter().copied()) {
        Some(meant) => format!("there's no {flag}: did you mean {meant}?"),
        None => format!("there's no {flag}: see --help"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(words: &str) -> Result<Verb, String> {
        let words = ["ringside-fleet"]
            .into_iter()
            .chain(words.split_whitespace());
        parse(&words.map(OsString::from).collect::<Vec<_>>())
    }

    #[test]
    fn an_agent_is_what_its_flags_say() {
        let words = "agent --nats nats://h:1 --name=a-1 --threads 3 --cpus 0 --audit log";
        let Ok(Verb::Agent(settings)) = parsed(words) else {
            panic!("{words}");
        };
        assert_eq!(settings.name.to_string(), "a-1");
        assert_eq!((settings.workers, settings.cpus), (3, vec![0]));
        assert_eq!(settings.broker.shown(), "nats://h:1");
        assert_eq!(settings.audit, Some(PathBuf::from("log")));
        // Without a policy it loads nothing.
        assert_eq!(settings.policy, Policy::default());
        assert!(Name::new(&of_machine()).is_ok());
    }

    #[test]
    fn words_that_mean_nothing_are_answered_with_what_to_write() {
        for (words, part) in [
            ("", "use agent, run, status, stop, keys or manifests"),
            ("agents", "agents is no verb"),
            (
                "agent --nats nats://h:1 --thread 3",
                "did you mean --threads?",
            ),
            ("agent --nats nats://h:1 --threads 0", "use 1 to 256"),
            ("agent --nats nats://h:1 --threads", "takes a value"),
            ("agent --nats nats://h:1 --name a.b", "letters, digits"),
            (
                "agent --nats nats://h:1 --policy /nonexistent",
                "can't read the policy",
            ),
            (
                "agent --nats nats://h:1 --nkey /nonexistent",
                "can't read the nkey",
            ),
            ("agent --nats ://", "no URL of a NATS server"),
            ("stop --name a", "there's no --name"),
            ("keys", "give the file"),
            ("manifests", "give the folder"),
            ("manifests --image i --agents 3", "give the folder"),
            ("manifests d e --image i", "there's no e"),
            ("manifests d --agents 3", "give the image"),
            ("manifests d --image i --agents 0", "use 1 to 10000"),
            (
                "manifests d --image i --agents 99999999999999999999",
                "use 1 to 10000",
            ),
            ("keys --nkey", "give the file"),
            ("status --nats ://", "no URL of a NATS server"),
        ] {
            let said = parsed(words).unwrap_err();
            assert!(said.contains(part), "{words}: {said}");
        }
    }

    #[test]
    fn every_verb_of_a_fleet_has_its_help_and_flags_stand_anywhere() {
        for verb in ["agent", "status", "stop", "keys", "manifests"] {
            for words in [format!("{verb} --help"), format!("{verb} -h")] {
                assert!(matches!(parsed(&words), Ok(Verb::Help)), "{words}");
            }
        }
        let [Ok(Verb::Manifests(before)), Ok(Verb::Manifests(behind))] = [
            "manifests --image i --agents=2 d",
            "manifests d --image i --agents 2",
        ]
        .map(parsed) else {
            panic!("both are manifests");
        };
        assert_eq!(before, behind);
    }

    #[test]
    fn every_command_of_the_guide_is_one() {
        let guide = include_str!("../../docs/src/guides/fleet.md");
        let lines = guide.lines().filter_map(|line| {
            let words = line.split("  #").next()?;
            words.strip_prefix("ringside fleet ")
        });
        let mut verbs = Vec::new();
        for words in lines {
            // Files that a reader has.
            let words = words.replace("policy.toml", "/dev/null");
            parsed(&words).unwrap_or_else(|why| panic!("{words}: {why}"));
            verbs.extend(words.split(' ').next().map(str::to_owned));
        }
        assert_eq!(
            verbs,
            ["agent", "keys", "keys", "status", "stop", "manifests"]
        );
    }

    #[test]
    fn the_policy_in_the_help_is_one() {
        let (_, text) = HELP.split_once("A policy:\n").unwrap();
        let text: String = text
            .lines()
            .map(|line| format!("{}\n", line.trim()))
            .collect();
        let key = nkeys::KeyPair::new_user().public_key();
        let text = text.replace("UD...", &key);
        let policy = Policy::of(&text).unwrap();
        policy
            .check_address("10.1.2.3:8080".parse().unwrap())
            .unwrap();
    }
}

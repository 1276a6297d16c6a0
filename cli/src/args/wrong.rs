//! What is said of words that make no sense, where clap's own sentence leaves the reader alone: a
//! verb that is mistyped or missing, and flags of other programs that have another name here.

use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Command, CommandFactory};
use measure::foreign::Foreign;
use measure::words::nearest;

use super::{Arguments, verbs};

/// Flags of curl, ab, hey, oha and k6, and of other verbs, with the flag that means the same here.
const ELSEWHERE: [(&str, &str, &str); 11] = [
    ("-X", "-m", "sets the HTTP method"),
    ("--request", "-m", "sets the HTTP method"),
    ("--vus", "-c", "sets the number of connections"),
    (
        "--users",
        "-c",
        "sets the number of users, each of them a connection",
    ),
    ("-z", "-d", "sets the duration"),
    ("-d", "--for", "sets the length of a soak"),
    ("--duration", "--for", "sets the length of a soak"),
    ("-R", "--open-rate", OPEN_RATE),
    ("--rate", "--open-rate", OPEN_RATE),
    ("-T", "--heartbeat-timeout", HEARTBEAT_TIMEOUT),
    ("--timeout", "--heartbeat-timeout", HEARTBEAT_TIMEOUT),
];

const OPEN_RATE: &str = "sets how many connections are opened per second, and --heartbeat how \
                         often something is sent on each";
const HEARTBEAT_TIMEOUT: &str = "sets how long a heartbeat may go unanswered, and \
                                 --connect-timeout how long an attempt to connect may take";

/// Flags of a load that `ringside compare` doesn't have, with what its file says instead.
const OF_FILE: [(&[&str], &str); 21] = [
    (&["-s", "--script"], "script = \"FILE.lua\""),
    (&["-R", "--rate"], "rate = \"10k\""),
    (&["--expect"], "expect = [\"status=200\"]"),
    (&["--data-order"], "data_order = \"random\""),
    (&["--template"], "template = true"),
    (&["--pick"], "pick = \"random\""),
    (&["-m", "--method"], "method = \"POST\""),
    (&["-H", "--header"], "headers = { Accept = \"text/html\" }"),
    (&["-b", "--body"], "message = \"BODY\""),
    (&["--message"], "message = \"TEXT\""),
    (&["--proto"], "proto = \"FILE.proto\""),
    (&["--http2"], "protocol = \"http2\""),
    (&["--streams"], "streams = 10"),
    (&["--pipeline"], "pipeline = 10"),
    (&["-T", "--timeout"], "timeout = \"2s\""),
    (&["--follow"], "follow = 5"),
    (&["--cookies"], "cookies = true"),
    (&["--compressed"], "compressed = true"),
    (&["--compress"], "compress = \"gzip\""),
    (&["--user"], "user = \"NAME:PASSWORD\""),
    (&["--warmup"], "warm_up = \"1s\""),
];

/// What is wrong with `words`, the program's name first, and what to write.
pub(super) fn told(error: &clap::Error, words: &[OsString]) -> String {
    let given = |kind| match error.get(kind) {
        Some(ContextValue::String(word)) => Some(word.as_str()),
        _ => None,
    };
    let better = match error.kind() {
        ErrorKind::InvalidSubcommand => given(ContextKind::InvalidSubcommand).map(of_verb),
        ErrorKind::UnknownArgument => {
            let given = given(ContextKind::InvalidArg);
            given.and_then(|word| {
                let of_verb = of_flag(word, words).or_else(|| of_script(word, words));
                let of_verb = of_verb.or_else(|| of_flow(word, words));
                of_verb.or_else(|| of_comparison(word, words))
            })
        }
        ErrorKind::MissingRequiredArgument if is_of(words, "compare") => of_servers(error),
        _ => None,
    };
    match better {
        Some(better) => format!("error: {better}\n\nFor more information, try '--help'.\n"),
        None => error.render().to_string(),
    }
}

/// A URL in the place of a verb has its verb missing; another word may be one that is mistyped.
fn of_verb(word: &str) -> String {
    if word.contains("://") {
        return format!("{word} is a URL, and the verb is missing\n\n  tip: ringside run {word}");
    }
    let mut known = verbs();
    known.push("help".to_owned());
    let what = match nearest(word, known.iter().map(String::as_str)) {
        Some(near) => format!("did you mean `ringside {near}`?"),
        None => format!("the verbs are {}", known.join(", ")),
    };
    format!("there's no verb '{word}'\n\n  tip: {what}")
}

/// The flag that means here what `flag` means elsewhere, if the verb has it.
fn of_flag(flag: &str, words: &[OsString]) -> Option<String> {
    let name = flag.split('=').next().unwrap_or(flag);
    let (_, here, does) = ELSEWHERE.iter().find(|(there, ..)| *there == name)?;
    let program = Arguments::command();
    has(verb(&program, words)?, here).then(|| format!("there's no {name}\n\n  tip: {here} {does}"))
}

/// A URL beside a flow, whose server stands in its file.
fn of_flow(word: &str, words: &[OsString]) -> Option<String> {
    let mut given = words.iter().filter_map(|word| word.to_str());
    let flow = given.find(|word| word.ends_with(".hurl") && !word.contains("://"))?;
    word.contains("://").then(|| {
        let (word, flow) = (Foreign::new(word), Foreign::new(flow));
        format!(
            "unexpected argument '{word}': where a flow goes stands in its file\n\n  tip: write \
             {{{{base}}}}/… in {flow}, and give --variable base={word}"
        )
    })
}

/// What a comparison's file says where `ringside run` has this flag.
fn of_comparison(flag: &str, words: &[OsString]) -> Option<String> {
    if !is_of(words, "compare") {
        return None;
    }
    if flag.contains("://") {
        let url = Foreign::new(flag);
        return Some(format!(
            "--url is missing before {url}\n\n  tip: each server has its own"
        ));
    }
    let name = flag.split('=').next().unwrap_or(flag);
    if name == "-d" {
        return Some("compare has no -d\n\n  tip: --duration sets the time of each round".into());
    }
    if ["--secret", "--secrets-file"].contains(&name) {
        let what = format!("compare has no {name}, since a comparison is written down");
        let tip = "a flow finds its secrets in the environment: HURL_SECRET_NAME=VALUE";
        return Some(format!("{what}\n\n  tip: {tip}"));
    }
    let (_, line) = OF_FILE.iter().find(|(names, _)| names.contains(&name))?;
    let given = |flag: &str| {
        let is_it = |word: &str| word.split('=').next() == Some(flag);
        words.iter().filter_map(|word| word.to_str()).any(is_it)
    };
    if !given("--url") && !given("--start") {
        return Some(format!(
            "compare has no {name}\n\n  tip: write `{line}` into the [workload] of the comparison \
             file"
        ));
    }
    let of_each = match name {
        "--expect" => ", or `# @expect` above a request of --targets",
        _ => "",
    };
    let what = format!("compare has no {name}: that stands in a comparison file{of_each}");
    Some(needs_file(&what, &[(*line).to_owned()], given("--url")))
}

/// `what` needs a comparison file, with the lines of its [workload] and how servers get into one.
/// `by_url`: some were given that run already.
pub(crate) fn needs_file(what: &str, lines: &[String], by_url: bool) -> String {
    let lines = lines.join("\n      ");
    let running = match by_url {
        true => {
            "\n  A file can't name servers that run already (--url): ringside starts its subjects."
        }
        false => "",
    };
    format!(
        "{what}\n\n  tip: write this to FILE.toml, and give FILE.toml instead of --start and \
         --url:\n\n      subjects = [\"v1\", \"v2\"]\n\n      [workload]\n      {lines}\n\n  The \
         subjects are made by `ringside subjects new v1 --command './v1 --port {{port}}'`.{running}"
    )
}

/// Where `word` should stand, if it's for a script as likely as not.
fn of_script(word: &str, words: &[OsString]) -> Option<String> {
    let program = Arguments::command();
    let verb = verb(&program, words)?;
    let takes_script = verb.get_arguments().any(|known| known.get_id() == "script");
    let given = words.iter().filter_map(|word| word.to_str());
    let has_script = given.take_while(|word| *word != "--").any(|word| {
        let is_short = word.starts_with("-s");
        is_short || word == "--script" || word.starts_with("--script=")
    });
    let is_flag = word.starts_with('-');
    (takes_script && has_script && !is_flag).then(|| {
        let word = Foreign::new(word);
        format!(
            "unexpected argument '{word}'\n\n  tip: arguments for the script go behind --: \
             ringside {} -s FILE URL -- {word}",
            verb.get_name()
        )
    })
}

/// The verb among `words`.
fn verb<'a>(program: &'a Command, words: &[OsString]) -> Option<&'a Command> {
    let mut words = words.iter().skip(1);
    words.find_map(|word| program.find_subcommand(word))
}

/// Whether the verb is this one.
fn is_of(words: &[OsString], verb: &str) -> bool {
    words.get(1).is_some_and(|word| word == verb)
}

/// That nothing was given to compare.
fn of_servers(error: &clap::Error) -> Option<String> {
    let lacks_file = match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::Strings(missing)) => missing.iter().any(|one| one.contains("FILE")),
        _ => false,
    };
    lacks_file.then(|| {
        "there's nothing to compare\n\n  tip: give each server, the baseline first, with --start \
         './v1 {port}' or --url http://127.0.0.1:8080; or a FILE.toml"
            .to_owned()
    })
}

/// Whether a verb takes a flag that is written as `-x` or `--word`.
fn has(verb: &Command, flag: &str) -> bool {
    let mut known = verb.get_arguments();
    match flag.strip_prefix("--") {
        Some(word) => known.any(|known| known.get_long() == Some(word)),
        None => known.any(|known| known.get_short() == flag.chars().nth(1)),
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Parsed, parse};

    fn wrong(words: &str) -> String {
        let words = ["ringside"].into_iter().chain(words.split_whitespace());
        match parse(words.map(Into::into)) {
            Parsed::Wrong(told) => told,
            _ => panic!("that could be parsed"),
        }
    }

    #[test]
    fn a_url_in_the_place_of_a_verb_is_answered_with_the_verb() {
        let url = "http://127.0.0.1:1/";
        let told = wrong(url);
        assert!(told.contains(&format!("ringside run {url}\n")), "{told}");
    }

    #[test]
    fn a_mistyped_verb_is_answered_with_the_one_that_is_meant() {
        for (word, meant) in [
            ("rnu http://127.0.0.1:1/", "run"),
            ("rn", "run"),
            ("help rnu", "run"),
            ("cmopare", "compare"),
            ("doctr", "doctor"),
            ("hlep", "help"),
        ] {
            let told = wrong(word);
            let tip = format!("did you mean `ringside {meant}`?");
            assert!(told.contains(&tip), "{word}: {told}");
        }
        let told = wrong("weather");
        assert!(told.contains("the verbs are run, hold, serve"), "{told}");
    }

    #[test]
    fn compare_alone_is_answered_with_all_that_it_takes() {
        for words in ["compare", "compare -c 2"] {
            let told = wrong(words);
            for part in ["--start './v1 {port}'", "--url http://", "FILE.toml"] {
                assert!(told.contains(part), "{words}: {told}");
            }
        }
        // What else is missing is told as ever.
        assert!(!wrong("compare --url x --trials").contains("nothing to compare"));
    }

    #[test]
    fn a_flag_that_compare_lacks_is_answered_with_the_lines_of_a_file() {
        let told = wrong("compare --start a --url=http://b -R 10k");
        let expected = "\
error: compare has no -R: that stands in a comparison file

  tip: write this to FILE.toml, and give FILE.toml instead of --start and --url:

      subjects = [\"v1\", \"v2\"]

      [workload]
      rate = \"10k\"

  The subjects are made by `ringside subjects new v1 --command './v1 --port {port}'`.
  A file can't name servers that run already (--url): ringside starts its subjects.

For more information, try '--help'.
";
        assert_eq!(told, expected);
        let started = wrong("compare --start a --start b -sa.lua");
        assert!(
            started.contains("\n      script = \"FILE.lua\"\n"),
            "{started}"
        );
        assert!(!started.contains("--url):"), "{started}");
        let told = wrong("compare --url a --url b --expect=status=404");
        assert!(
            told.contains("or `# @expect` above a request of --targets\n"),
            "{told}"
        );
        let told = wrong("compare a.toml --expect status=404");
        let into = "write `expect = [\"status=200\"]` into the [workload] of the comparison file\n";
        assert!(told.contains(into), "{told}");
        assert!(wrong("compare --url a -d 1s").contains("tip: --duration sets"));
        let told = wrong("compare http://a http://b");
        assert!(told.contains("--url is missing before http://b"), "{told}");
        assert!(wrong("soak http://a -R 9 -d 9s").contains("--for sets the length"));
        // Others are told as ever.
        assert!(wrong("compare --url a --nonsense").contains("'--nonsense'"));
    }

    /// Each line is one of a comparison's file, and each flag one that `run` has.
    #[test]
    fn what_stands_in_a_file_instead_of_a_flag_is_understood_there() {
        let program = <super::Arguments as clap::CommandFactory>::command();
        let run = program.find_subcommand("run").expect("a verb");
        let keys = include_str!("../../../docs/src/reference/comparison.md");
        for (names, line) in super::OF_FILE {
            let key = line.split(' ').next().unwrap_or_default();
            assert!(keys.contains(&format!("\n| `{key}` | ")), "{line}");
            for name in names {
                assert!(super::has(run, name), "{name}");
            }
        }
    }

    #[test]
    fn words_that_are_for_a_script_are_answered_with_where_they_go() {
        for (words, tip) in [
            (
                "run -s a.lua http://a/ alice bob",
                "run -s FILE URL -- alice\n",
            ),
            (
                "run http://a/ alice --script=a.lua -c 2",
                "run -s FILE URL -- alice\n",
            ),
            (
                "run -sa.lua http://a/ alice -- bob",
                "run -s FILE URL -- alice\n",
            ),
            (
                "capacity --script a.lua http://a/ alice",
                "capacity -s FILE URL -- alice\n",
            ),
        ] {
            let told = wrong(words);
            let whole = format!("tip: arguments for the script go behind --: ringside {tip}");
            assert!(told.contains(&whole), "{words}: {told}");
            assert!(
                told.starts_with("error: unexpected argument 'alice'\n"),
                "{told}"
            );
        }
        // Without a script there's nothing behind --, and a flag may well be one of ours.
        for words in [
            "run http://a/ alice",
            "run http://a/ alice -- -s",
            "run -s a.lua http://a/ --durration",
            "serve -s a.lua",
        ] {
            let told = wrong(words);
            assert!(!told.contains("go behind --"), "{words}: {told}");
        }
    }

    #[test]
    fn flags_of_other_programs_are_answered_with_ours() {
        for verb in ["run", "hold", "capacity"] {
            for flag in ["-X POST", "-XPOST", "--request=POST"] {
                let told = wrong(&format!("{verb} {flag} http://127.0.0.1:1/"));
                assert!(told.contains("tip: -m sets the HTTP method"), "{told}");
            }
        }
        for vus in ["--vus 5", "--vus=5"] {
            let told = wrong(&format!("run {vus} http://127.0.0.1:1/"));
            assert!(
                told.contains("tip: -c sets the number of connections"),
                "{told}"
            );
        }
        let told = wrong("run --users 5 shop.hurl");
        assert!(told.contains("tip: -c sets the number of users"), "{told}");
        let told = wrong("run shop.hurl -c 5 http://127.0.0.1:1");
        let tip = "in shop.hurl, and give --variable base=http://127.0.0.1:1\n";
        assert!(told.contains(tip), "{told}");
        let told = wrong("compare --url a --url b --targets shop.hurl --secret a=b");
        assert!(told.contains("HURL_SECRET_NAME=VALUE"), "{told}");
        for z in ["-z 2s", "-z2s"] {
            let told = wrong(&format!("run {z} http://127.0.0.1:1/"));
            assert!(told.contains("tip: -d sets the duration"), "{told}");
        }
        for rate in ["--rate 5k", "--rate=5k", "-R 5k", "-R5k"] {
            let told = wrong(&format!("hold {rate} http://127.0.0.1:1/"));
            let tip = "tip: --open-rate sets how many connections are opened per second";
            assert!(told.contains(tip), "{rate}: {told}");
        }
        let told = wrong("hold --timeout 5s http://127.0.0.1:1/");
        assert!(told.contains("tip: --heartbeat-timeout sets"), "{told}");
        // A verb without a method isn't told of one.
        assert!(!wrong("doctor -X POST").contains("-m"));
        let told = wrong("run --nonsense http://127.0.0.1:1/");
        assert!(told.contains("--nonsense"), "{told}");
    }
}

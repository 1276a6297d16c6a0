//! What is said of words that make no sense, where clap's own sentence leaves the reader alone: a
//! verb that is mistyped or missing, and flags of other programs that have another name here.

use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Command, CommandFactory};
use measure::foreign::Foreign;
use supervisor::document::nearest;

use super::{Arguments, verbs};

/// Flags of curl, ab, hey, oha and k6, with the flag that means the same here.
const ELSEWHERE: [(&str, &str, &str); 4] = [
    ("-X", "-m", "sets the HTTP method"),
    ("--request", "-m", "sets the HTTP method"),
    ("--vus", "-c", "sets the number of connections"),
    ("-z", "-d", "sets the duration"),
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
            given.and_then(|word| of_flag(word, words).or_else(|| of_script(word, words)))
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

/// Whether a verb takes a flag that is written as `-x`.
fn has(verb: &Command, flag: &str) -> bool {
    let letter = flag.chars().nth(1);
    verb.get_arguments()
        .any(|known| known.get_short() == letter)
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
        for z in ["-z 2s", "-z2s"] {
            let told = wrong(&format!("run {z} http://127.0.0.1:1/"));
            assert!(told.contains("tip: -d sets the duration"), "{told}");
        }
        // A verb without a method isn't told of one.
        assert!(!wrong("doctor -X POST").contains("-m"));
        let told = wrong("run --nonsense http://127.0.0.1:1/");
        assert!(told.contains("--nonsense"), "{told}");
    }
}

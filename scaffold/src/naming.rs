//! What rows without a file are called: after what tells their commands apart.

use std::collections::BTreeSet;
use std::path::{Component, Path};

/// So much of a program's name stands in that of its row.
const NAME_CHARACTERS: usize = 24;
/// So much of a URL: the longest address of IPv6 fits, and what tells it from others behind it.
const URL_CHARACTERS: usize = 64;

/// A program that runs another one, which a row is rather named after.
struct Runner {
    programs: &'static [&'static str],
    /// Its options whose value is the next word.
    valued: &'static [&'static str],
    /// So many words stand between its options and what it runs.
    operands: usize,
    /// A word that may do so, too.
    verb: Option<&'static str>,
    /// The option behind which there is code, and no name.
    code: Option<&'static str>,
}

const PLAIN: Runner = Runner {
    programs: &["nohup", "setsid", "exec", "time"],
    valued: &[],
    operands: 0,
    verb: None,
    code: None,
};

/// Shells are among them; they are known by `SHELLS` as well.
const RUNNERS: [Runner; 14] = [
    PLAIN,
    Runner {
        programs: &["env"],
        valued: &["-u", "--unset", "-C", "--chdir"],
        ..PLAIN
    },
    Runner {
        programs: &["nice"],
        valued: &["-n", "--adjustment"],
        ..PLAIN
    },
    Runner {
        programs: &["ionice"],
        valued: &["-c", "-n"],
        ..PLAIN
    },
    Runner {
        programs: &["stdbuf"],
        valued: &["-i", "-o", "-e"],
        ..PLAIN
    },
    Runner {
        programs: &["numactl"],
        valued: &["-C", "-N", "-m", "-i", "-p"],
        ..PLAIN
    },
    Runner {
        programs: &["taskset", "chrt"],
        operands: 1,
        ..PLAIN
    },
    Runner {
        programs: &["node", "nodejs"],
        valued: &["-r", "--require", "--import"],
        code: Some("-e"),
        ..PLAIN
    },
    Runner {
        programs: &["python"],
        valued: &["-X", "-W"],
        code: Some("-c"),
        ..PLAIN
    },
    Runner {
        programs: &["php"],
        valued: &["-S", "-t", "-d", "-c"],
        code: Some("-r"),
        ..PLAIN
    },
    Runner {
        programs: &["ruby", "perl"],
        valued: &["-I", "-r"],
        code: Some("-e"),
        ..PLAIN
    },
    Runner {
        programs: &["java"],
        valued: &["-cp", "-classpath", "--class-path", "-p", "--module-path"],
        ..PLAIN
    },
    Runner {
        programs: &["go", "deno", "bun"],
        verb: Some("run"),
        ..PLAIN
    },
    Runner {
        programs: &SHELLS,
        ..PLAIN
    },
];

const SHELLS: [&str; 4] = ["sh", "bash", "dash", "zsh"];

/// The runner that a word names, with or without a version.
fn runner(word: &str) -> Option<&'static Runner> {
    let name = Path::new(word).file_name()?.to_str()?;
    let bare = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    RUNNERS.iter().find(|one| one.programs.contains(&bare))
}

/// Whether a word is what runs a program, and not of the program.
fn is_of_runner(word: &str) -> bool {
    runner(word).is_some() || RUNNERS.iter().any(|one| one.verb == Some(word))
}

/// A name for each command: its program's; where several have the same, the first word in which
/// they differ; and if that's the same but for the folders that it's in, with the one in which they
/// differ. Several may have the same.
pub(crate) fn names(commands: &[Vec<String>]) -> Vec<String> {
    let by_words = by_words(commands);
    let name_of = |(name, words): (&String, &Vec<String>)| {
        let alike = by_words.iter().zip(commands);
        let alike = alike.filter(|(other, _)| *other == name);
        let alike: Vec<&str> = alike.map(|(_, words)| program(words)).collect();
        in_folder(program(words), &alike).unwrap_or_else(|| name.clone())
    };
    by_words.iter().zip(commands).map(name_of).collect()
}

/// A name for each server that runs, of the three that it may have: the first that tells it from
/// all others. Those that none tells apart have the same.
pub(crate) fn of_running(all: &[[String; 3]]) -> Vec<String> {
    let all: Vec<_> = all.iter().map(|own| own.clone().map(of_url)).collect();
    let name_of = |own: &[String; 3]| {
        let others = || all.iter().filter(|other| *other != own);
        let tells = |at: &usize| others().all(|other| other[*at] != own[*at]);
        let at = (0..own.len()).find(tells).unwrap_or(own.len() - 1);
        own[at].clone()
    };
    all.iter().map(name_of).collect()
}

/// The same names, with a number where several have one.
pub(crate) fn numbered(names: impl Iterator<Item = String>) -> Vec<String> {
    let mut taken = BTreeSet::new();
    let one = |name: String| {
        let numbered = (2..).map(|number| format!("{name}-{number}"));
        let mut free = std::iter::once(name.clone()).chain(numbered);
        let name = free.find(|name| !taken.contains(name)).unwrap_or(name);
        taken.insert(name.clone());
        name
    };
    names.map(one).collect()
}

/// A part of a URL as a name of a row, which may have the dots of an address.
fn of_url(text: String) -> String {
    let fit = |c: char| {
        if c.is_ascii_alphanumeric() || c == '.' {
            c
        } else {
            '-'
        }
    };
    let name: String = text.chars().map(fit).take(URL_CHARACTERS).collect();
    match name.trim_matches(['-', '.']) {
        "" => "server".to_owned(),
        name => name.to_owned(),
    }
}

/// The name of a program with the last folder of its path that's another than that of all others in
/// the same place. None if there is no other path, or no such folder.
fn in_folder(path: &str, alike: &[&str]) -> Option<String> {
    let parts = |path: &str| -> Vec<String> {
        let parts = Path::new(path).components().rev();
        let named = parts.filter(|part| matches!(part, Component::Normal(_)));
        named
            .map(|part| part.as_os_str().to_string_lossy().into_owned())
            .collect()
    };
    let own = parts(path);
    let others = alike.iter().filter(|other| **other != path);
    let others: Vec<Vec<String>> = others.map(|other| parts(other)).collect();
    let differs = |at: &usize| others.iter().all(|other| other.get(*at) != own.get(*at));
    let at = (1..own.len())
        .filter(|_| !others.is_empty())
        .find(differs)?;
    Some(short(&format!("{}-{}", letters(&own[at]), plain(path))))
}

/// A name for each command by its words alone, which several may have.
fn by_words(commands: &[Vec<String>]) -> Vec<String> {
    let of_programs: Vec<String> = commands.iter().map(|words| plain(program(words))).collect();
    let name_of = |(at, name): (usize, &String)| {
        let alike = of_programs.iter().zip(commands);
        let alike = alike.filter(|(other, _)| *other == name);
        let alike: Vec<&Vec<String>> = alike.map(|(_, words)| words).collect();
        match telling(&commands[at], &alike) {
            None => name.clone(),
            // One that has no such word keeps the name, and the others have it, too.
            Some(word) if alike.iter().any(|other| telling(other, &alike).is_none()) => {
                short(&format!("{name}-{word}"))
            }
            Some(word) => word,
        }
    };
    of_programs.iter().enumerate().map(name_of).collect()
}

/// The word of a command that says what serves: behind `env` and what it sets, other programs that
/// only run one, and interpreters.
fn program(words: &[String]) -> &str {
    let mut at = 0;
    loop {
        let word = words.get(at).map_or("", String::as_str);
        let Some(runner) = runner(word) else {
            return word;
        };
        match run_by(runner, &words[at + 1..]) {
            Some(Run::At(next)) => at += 1 + next,
            Some(Run::Script(script)) => return of_script(script).unwrap_or(word),
            None => return word,
        }
    }
}

/// What a runner runs.
enum Run<'a> {
    /// The word at this place.
    At(usize),
    /// What a shell reads.
    Script(&'a str),
}

/// What a runner runs, by the words behind it; none where that has no name.
fn run_by<'a>(runner: &Runner, words: &'a [String]) -> Option<Run<'a>> {
    let is_shell = runner.programs == SHELLS;
    let mut operands = runner.operands;
    let mut at = 0;
    while let Some(word) = words.get(at) {
        let is_option = word.starts_with('-');
        if is_shell && is_option && !word.starts_with("--") && word.ends_with('c') {
            return words.get(at + 1).map(|script| Run::Script(script));
        }
        if runner.code == Some(word) {
            return None;
        }
        let is_set = runner.programs == ["env"] && word.contains('=');
        at += match is_option {
            true if runner.valued.contains(&word.as_str()) => 2,
            true => 1,
            false if is_set || runner.verb == Some(word) => 1,
            false if operands > 0 => {
                operands -= 1;
                1
            }
            false => break,
        };
    }
    let word = words.get(at)?;
    (!word.contains("{port}")).then_some(Run::At(at))
}

/// The program of the last command in a shell's script, if that is a plain one.
fn of_script(script: &str) -> Option<&str> {
    let mut last = script.rsplit(['&', ';', '|', '\n']).map(str::trim);
    let last = last.find(|command| !command.is_empty())?;
    let is_set = |word: &&str| word.contains('=');
    let words = last.split_whitespace().skip_while(is_set);
    let words: Vec<String> = words.map(str::to_owned).collect();
    let found = program(&words).to_owned();
    let start = last.find(&found).filter(|_| !found.is_empty())?;
    Some(&last[start..start + found.len()])
}

/// The first word of a command that no other of those alike has: in its place, or anywhere if they
/// are run differently. None if there is no such word.
fn telling(own: &[String], alike: &[&Vec<String>]) -> Option<String> {
    let others: Vec<&&Vec<String>> = alike.iter().filter(|other| ***other != *own).collect();
    let in_step = alike
        .iter()
        .all(|other| program_at(other) == program_at(own));
    let tells = |(place, word): &(usize, &String)| {
        let has = |other: &&&Vec<String>| match in_step {
            true => other.get(*place) == Some(*word),
            false => other.contains(*word) || is_of_runner(word),
        };
        !others.is_empty() && !others.iter().any(has)
    };
    let (_, word) = own.iter().enumerate().find(tells)?;
    let name = plain(word);
    (!name.is_empty()).then_some(name)
}

fn program_at(words: &[String]) -> Option<usize> {
    let program = program(words);
    words.iter().position(|word| word == program)
}

/// The last part of a path, of ASCII letters, digits and `-` only, without its ending.
fn plain(word: &str) -> String {
    let path = Path::new(word);
    let stem = match path.extension() {
        Some(_) => path.file_stem(),
        None => path.file_name(),
    };
    let stem = stem.map_or_else(|| word.into(), |stem| stem.to_string_lossy());
    short(&letters(&stem))
}

/// A text of ASCII letters, digits and `-` only.
fn letters(text: &str) -> String {
    let fit = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
    text.chars().map(fit).collect()
}

/// A name that is short enough for a row, and begins and ends with a letter or digit.
fn short(name: &str) -> String {
    let cut: String = name.chars().take(NAME_CHARACTERS).collect();
    match cut.trim_matches('-') {
        "" => "server".to_owned(),
        name => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(commands: &[&str]) -> Vec<String> {
        let split = |text: &&str| {
            let words = crate::split(text).expect("words");
            words.into_iter().map(|word| word.text).collect()
        };
        let names = names(&commands.iter().map(split).collect::<Vec<_>>());
        numbered(names.into_iter())
    }

    #[test]
    fn a_row_is_called_by_what_tells_its_command_from_the_others() {
        for (commands, wanted) in [
            (["./v1 {port}", "/a/b/v2.sh {port}"], ["v1", "v2"]),
            (["node a.js {port}", "node b/c.js {port}"], ["a", "c"]),
            (
                ["env P={port} ./v --fast", "env P={port} ./v --slow"],
                ["fast", "slow"],
            ),
            (["./v {port}", "./v {port}"], ["v", "v-2"]),
            (["a/v {port}", "b/v {port}"], ["a-v", "b-v"]),
            (["./v {port}", "/srv/b/v {port}"], ["v", "b-v"]),
            (
                [
                    "old-1.2/target/release/v {port}",
                    "../new/target/release/v {port}",
                ],
                ["old-1-2-v", "new-v"],
            ),
            (["node a/v.js {port}", "node b/v.js {port}"], ["a-v", "b-v"]),
            (["./ä {port}", "./-- {port}"], ["server", "server-2"]),
            (
                ["node v1.js {port}", "env WORK=5000 node v1.js {port}"],
                ["v1", "v1-WORK-5000"],
            ),
            (["./v {port}", "./v {port} --fast"], ["v", "v-fast"]),
            (
                ["node v1.js {port}", "deno run v1.js {port}"],
                ["v1", "v1-2"],
            ),
            (["./v1 {port}", "node v2.js {port}"], ["v1", "v2"]),
        ] {
            assert_eq!(named(&commands), wanted, "{commands:?}");
        }
    }

    #[test]
    fn a_server_that_runs_is_called_by_what_tells_it_from_the_others() {
        let called = |all: &[[&str; 3]]| {
            let all: Vec<_> = all.iter().map(|own| own.map(str::to_owned)).collect();
            numbered(of_running(&all).into_iter())
        };
        let [two, three] = ["127.0.0.2", "127.0.0.3"];
        assert_eq!(called(&[[two; 3], [three; 3]]), [two, three]);
        // Addresses of two paths, and of two names.
        let rows = [
            [two, "127.0.0.2/a", "127.0.0.2-s.test-80/a"],
            [three, "127.0.0.3/a", "127.0.0.3-s.test-80/a"],
            [two, "127.0.0.2/b", "127.0.0.2-s.test-80/b"],
        ];
        assert_eq!(called(&rows), ["127.0.0.2-a", three, "127.0.0.2-b"]);
        let rows = [
            [two, two, "127.0.0.2-a.test-80"],
            [two, two, "127.0.0.2-b.test-80"],
        ];
        assert_eq!(
            called(&rows),
            ["127.0.0.2-a.test-80", "127.0.0.2-b.test-80"]
        );
        // The first 24 letters of these are the same.
        let long = ["ipv6-2001:db8:85a3:8d3:1319:8a2e:370:7348"; 3];
        let other = ["ipv6-2001:db8:85a3:8d3:1319:8a2e:370:7349"; 3];
        let names = called(&[long, other, other]);
        assert_eq!(names[0], "ipv6-2001-db8-85a3-8d3-1319-8a2e-370-7348");
        assert_eq!(names[1], "ipv6-2001-db8-85a3-8d3-1319-8a2e-370-7349");
        assert_eq!(names[2], "ipv6-2001-db8-85a3-8d3-1319-8a2e-370-7349-2");
    }

    #[test]
    fn a_row_is_called_after_what_is_run_and_not_after_what_runs_it() {
        for (command, name) in [
            ("/usr/bin/env -u X A=1 B={port} /usr/bin/node v1.js", "v1"),
            ("python3.12 -u -W ignore app.py {port}", "app"),
            ("python3 -m service {port}", "service"),
            ("php -S 127.0.0.1:{port} router.php", "router"),
            ("php -S 127.0.0.1:{port}", "php"),
            ("java -Xmx1g -cp lib -jar build/app.jar {port}", "app"),
            ("taskset -c 0 nice -n 5 ./v1 {port}", "v1"),
            ("numactl -N 0 --membind=0 ./v1 {port}", "v1"),
            ("nice -5 ./v1 {port}", "v1"),
            ("sh -c 'cd x && exec env A=1 ./v1 {port}'", "v1"),
            ("bash -lc 'PORT={port} node v1.js'", "v1"),
            ("bash run.sh {port}", "run"),
            ("sh -c ';' {port}", "sh"),
            ("python3 -c 'import x' {port}", "python3"),
            ("node -e 'require(1)' {port}", "node"),
            ("node {port}", "node"),
            ("env", "env"),
            ("go run ./cmd/v1 {port}", "v1"),
        ] {
            assert_eq!(named(&[command]), [name], "{command}");
        }
    }
}

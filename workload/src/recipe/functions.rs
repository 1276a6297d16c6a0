//! What may stand between `{{` and `}}`.

use measure::foreign::Foreign;

/// A value that a template holds.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Function {
    /// A random UUID.
    Uuid,
    /// The time.
    Date(Moment),
    /// The count of requests.
    Sequence,
    /// One of so many integers from the lowest on; 0 means all 2^64.
    Integer { lowest: i64, count: u64 },
    /// One of these.
    Pick(Vec<Vec<u8>>),
    /// The number of the worker.
    Worker,
    /// A variable of the environment, as it was when the template was read.
    Constant { name: String, value: Vec<u8> },
    /// A value of the data row.
    Column(usize),
}

/// How a time is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Moment {
    /// `2026-11-21T20:12:54.120Z`.
    Rfc3339,
    /// Seconds since 1970.
    UnixSeconds,
    /// Milliseconds since 1970.
    UnixMilliseconds,
}

/// What names may mean beside the functions.
pub(super) struct Known<'a> {
    /// The columns of the data file.
    pub(super) columns: &'a [String],
    /// Looks a variable of the environment up.
    pub(super) environment: &'a dyn Fn(&str) -> Option<Vec<u8>>,
}

/// The functions, as they may be suggested.
const NAMES: [&str; 15] = [
    "newUuid",
    "newDate",
    "seq",
    "random",
    "pick",
    "worker",
    "env",
    "$uuid",
    "$guid",
    "$random.uuid",
    "$timestamp",
    "$isoTimestamp",
    "$datetime",
    "$randomInt",
    "$random.integer",
];
/// What is less alike is not suggested.
const LIKENESS_MIN: f64 = 0.5;
/// So many columns are named where nothing is alike.
const COLUMNS_SHOWN: usize = 10;

impl Function {
    /// Reads an expression. A column is preferred to a function of its name.
    ///
    /// # Errors
    /// What is wrong, and what to do, beginning with the expression.
    pub(super) fn parse(expression: &str, known: &Known<'_>) -> Result<Function, String> {
        let expression = expression.trim();
        let own = known.columns.iter().position(|name| name == expression);
        if let Some(column) = own {
            return Ok(Function::Column(column));
        }
        let shown = format!("{{{{{}}}}}", Foreign::new(expression));
        let wrong = |what: &str| format!("{shown} {what}");
        let words = words(expression).map_err(&wrong)?;
        let words: Vec<&str> = words.iter().map(|word| &**word).collect();
        let Some((&name, given)) = words.split_first() else {
            return Err("{{}} is empty: name a function or a column of the data file".to_owned());
        };
        let read = match name {
            "newUuid" | "$uuid" | "$guid" | "$random.uuid" => alone(given, Function::Uuid),
            "seq" => alone(given, Function::Sequence),
            "worker" => alone(given, Function::Worker),
            "$isoTimestamp" => alone(given, Function::Date(Moment::Rfc3339)),
            "$timestamp" => alone(given, Function::Date(Moment::UnixSeconds)),
            "newDate" | "$datetime" => date(name, given),
            "random" | "$randomInt" | "$random.integer" => integer(name, given),
            "pick" => match given {
                [] => Err("has nothing to pick from: write {{pick red green}}".to_owned()),
                words => Ok(Function::Pick(
                    words.iter().map(|word| (*word).into()).collect(),
                )),
            },
            "env" | "$processEnv" => environment(given, known),
            "$dotenv" => Err(
                "isn't supported: export the variables of .env before the run, and use \
                 {{env NAME}}"
                    .to_owned(),
            ),
            _ => return Err(unknown(&shown, name, known)),
        };
        read.map_err(|what| wrong(&what))
    }
}

/// A function that takes no arguments.
fn alone(given: &[&str], function: Function) -> Result<Function, String> {
    match given {
        [] => Ok(function),
        _ => Err("has too many words: this function takes no arguments".to_owned()),
    }
}

fn date(name: &str, given: &[&str]) -> Result<Function, String> {
    let moment = match (name, given) {
        ("newDate", []) | ("$datetime", ["iso8601"]) => Moment::Rfc3339,
        ("newDate", ["unix"]) => Moment::UnixSeconds,
        ("newDate", ["unix-ms"]) => Moment::UnixMilliseconds,
        ("newDate", _) => {
            return Err(
                "isn't a format: write {{newDate}}, {{newDate unix}} or {{newDate unix-ms}}"
                    .to_owned(),
            );
        }
        _ => return Err("isn't supported: write {{$datetime iso8601}} or {{newDate}}".to_owned()),
    };
    Ok(Function::Date(moment))
}

/// `random` reaches both of its numbers, those of the editors only the lower one.
fn integer(name: &str, given: &[&str]) -> Result<Function, String> {
    let example = match name {
        "random" => "{{random 1 100}}",
        "$randomInt" => "{{$randomInt 1 101}}",
        _ => "{{$random.integer(1, 101)}}",
    };
    let number = |word: &&str| word.parse::<i64>().ok();
    let [Some(lowest), Some(end)] = [given.first(), given.get(1)].map(|word| word.and_then(number))
    else {
        return Err(format!("needs two whole numbers: write {example}"));
    };
    if given.len() > 2 {
        return Err(format!("has too many words: write {example}"));
    }
    let beyond = i128::from(end) + i128::from(name == "random");
    let count = beyond - i128::from(lowest);
    if count <= 0 {
        return Err(format!("is an empty range: write {example}"));
    }
    // 2^64 is no u64, and means all there are.
    let count = u64::try_from(count).unwrap_or(0);
    Ok(Function::Integer { lowest, count })
}

/// The value itself is in no message: it may be a secret.
fn environment(given: &[&str], known: &Known<'_>) -> Result<Function, String> {
    let name = match given {
        // The editor's own: `%` takes the name from a setting.
        ["%", ..] => return Err("isn't supported: write {{env NAME}}".to_owned()),
        [name] => name,
        _ => return Err("needs the name of one variable: write {{env NAME}}".to_owned()),
    };
    match (known.environment)(name) {
        Some(value) => Ok(Function::Constant {
            name: (*name).to_owned(),
            value,
        }),
        None => Err("isn't in the environment: export it before the run".to_owned()),
    }
}

fn unknown(shown: &str, name: &str, known: &Known<'_>) -> String {
    let names = NAMES
        .into_iter()
        .chain(known.columns.iter().map(|name| &**name));
    let wanted = name.to_ascii_lowercase();
    let likeness =
        |other: &str| strsim::normalized_damerau_levenshtein(&wanted, &other.to_ascii_lowercase());
    let nearest = names.max_by(|a, b| likeness(a).total_cmp(&likeness(b)));
    let nearest = nearest.filter(|nearest| likeness(nearest) >= LIKENESS_MIN);
    let advice = match (nearest, known.columns) {
        (Some(nearest), _) => format!("; did you mean {{{{{}}}}}?", Foreign::new(nearest)),
        (None, []) => "; there is no data file (--data)".to_owned(),
        (None, columns) => {
            let shown = columns.iter().take(COLUMNS_SHOWN);
            let shown = shown.map(|name| Foreign::new(&**name).to_string());
            let more = match columns.len().saturating_sub(COLUMNS_SHOWN) {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            let columns = shown.collect::<Vec<_>>().join(", ");
            format!(", whose columns are {columns}{more}")
        }
    };
    format!("{shown} is neither a function nor a column of the data file{advice}")
}

/// The words of an expression: between white space or in quotes; `f(a, b)` is `f a b`, as some
/// editors write it.
fn words(expression: &str) -> Result<Vec<String>, &'static str> {
    let called = expression
        .strip_suffix(')')
        .and_then(|call| call.split_once('('));
    let spaced = match called {
        Some((name, given)) if name.starts_with("$random.") => {
            format!("{name} {}", given.replace(',', " "))
        }
        _ => expression.to_owned(),
    };
    let mut words = Vec::new();
    let mut rest = spaced.trim_start();
    while let Some(first) = rest.chars().next() {
        let (word, behind) = match first {
            '"' | '\'' => {
                let end = rest[1..].split_once(first);
                end.ok_or("has a quote that isn't closed: close it")?
            }
            _ => rest.split_at(rest.find(char::is_whitespace).unwrap_or(rest.len())),
        };
        words.push(word.to_owned());
        rest = behind.trim_start();
    }
    Ok(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(expression: &str) -> Result<Function, String> {
        let columns = ["user id", "email", "seq"].map(str::to_owned);
        let known = Known {
            columns: &columns,
            environment: &|name| (name == "HOME").then(|| b"/home/me".to_vec()),
        };
        Function::parse(expression, &known)
    }

    fn refused_with(table: &[(&str, &str)]) {
        for (expression, expected) in table {
            let expected = Err((*expected).to_owned());
            assert_eq!(parse(expression), expected, "{expression}");
        }
    }

    #[test]
    fn expressions_are_read() {
        let date = Function::Date;
        let integer = |lowest, count| Function::Integer { lowest, count };
        let pick = |words: &[&str]| Function::Pick(words.iter().map(|w| (*w).into()).collect());
        let home = Function::Constant {
            name: "HOME".to_owned(),
            value: b"/home/me".to_vec(),
        };
        let table = [
            ("newUuid", Function::Uuid),
            (" $uuid ", Function::Uuid),
            ("$guid", Function::Uuid),
            ("$random.uuid", Function::Uuid),
            ("newDate", date(Moment::Rfc3339)),
            ("newDate unix", date(Moment::UnixSeconds)),
            ("newDate  unix-ms", date(Moment::UnixMilliseconds)),
            ("$isoTimestamp", date(Moment::Rfc3339)),
            ("$datetime iso8601", date(Moment::Rfc3339)),
            ("$timestamp", date(Moment::UnixSeconds)),
            ("random 1 100", integer(1, 100)),
            ("random -5 -5", integer(-5, 1)),
            (
                "random -9223372036854775808 9223372036854775807",
                integer(i64::MIN, 0),
            ),
            ("$randomInt 0 10", integer(0, 10)),
            ("$random.integer(0, 10)", integer(0, 10)),
            ("$random.integer( -1,1 )", integer(-1, 2)),
            ("pick a b  c", pick(&["a", "b", "c"])),
            ("pick 'a b' \"c'd\" e", pick(&["a b", "c'd", "e"])),
            ("pick \"\"", pick(&[""])),
            ("worker", Function::Worker),
            ("env HOME", home.clone()),
            ("$processEnv HOME", home),
            ("user id", Function::Column(0)),
            ("email", Function::Column(1)),
            // The user's own name is preferred.
            ("seq", Function::Column(2)),
        ];
        for (expression, expected) in table {
            assert_eq!(parse(expression), Ok(expected), "{expression}");
        }
        let known = Known {
            columns: &[],
            environment: &|_| None,
        };
        assert_eq!(Function::parse("seq", &known), Ok(Function::Sequence));
    }

    #[test]
    fn the_reference_lists_the_functions_that_there_are() {
        let reference = include_str!("../../../docs/src/reference/templates.md");
        let rows = reference.lines().filter(|line| line.starts_with("| `{{"));
        let mut listed = Vec::new();
        for row in rows {
            let cell = row.split('|').nth(1).unwrap_or_default();
            for expression in cell.split("{{").skip(1) {
                let (expression, _) = expression.split_once("}}").expect("closed");
                let known = Known {
                    columns: &["NAME".to_owned()],
                    environment: &|name| (name == "NAME").then(Vec::new),
                };
                let read = Function::parse(expression, &known);
                assert!(read.is_ok(), "{expression}: {read:?}");
                listed.push(expression);
            }
        }
        for name in NAMES {
            assert!(
                listed.iter().any(|listed| listed.starts_with(name)),
                "{name}"
            );
        }
    }

    #[test]
    fn unknown_names_say_what_may_be_meant() {
        let table = [
            (
                "",
                "{{}} is empty: name a function or a column of the data file",
            ),
            (
                "newUuidd",
                "{{newUuidd}} is neither a function nor a column of the data file; did you mean \
                 {{newUuid}}?",
            ),
            (
                "emial",
                "{{emial}} is neither a function nor a column of the data file; did you mean \
                 {{email}}?",
            ),
            (
                "x1\x1b[2J",
                "{{x1\\u{1b}[2J}} is neither a function nor a column of the data file, whose \
                 columns are user id, email, seq",
            ),
        ];
        refused_with(&table);
        let known = Known {
            columns: &[],
            environment: &|_| None,
        };
        let text = Function::parse("zzzzzzzz", &known).unwrap_err();
        assert!(text.ends_with("; there is no data file (--data)"), "{text}");
    }

    #[test]
    fn arguments_that_cannot_be_read_say_why_and_what_to_write() {
        let table = [
            (
                "worker 1",
                "{{worker 1}} has too many words: this function takes no arguments",
            ),
            (
                "random 1",
                "{{random 1}} needs two whole numbers: write {{random 1 100}}",
            ),
            (
                "$randomInt",
                "{{$randomInt}} needs two whole numbers: write {{$randomInt 1 101}}",
            ),
            (
                "random 1 2 3",
                "{{random 1 2 3}} has too many words: write {{random 1 100}}",
            ),
            (
                "random 2 1",
                "{{random 2 1}} is an empty range: write {{random 1 100}}",
            ),
            (
                "$randomInt 5 5",
                "{{$randomInt 5 5}} is an empty range: write {{$randomInt 1 101}}",
            ),
            (
                "random 1 9223372036854775808",
                "{{random 1 9223372036854775808}} needs two whole numbers: write \
                 {{random 1 100}}",
            ),
            (
                "pick",
                "{{pick}} has nothing to pick from: write {{pick red green}}",
            ),
            (
                "pick 'a",
                "{{pick 'a}} has a quote that isn't closed: close it",
            ),
            (
                "newDate rfc1123",
                "{{newDate rfc1123}} isn't a format: write {{newDate}}, {{newDate unix}} or \
                 {{newDate unix-ms}}",
            ),
            (
                "$datetime rfc1123",
                "{{$datetime rfc1123}} isn't supported: write {{$datetime iso8601}} or \
                 {{newDate}}",
            ),
            (
                "$dotenv TOKEN",
                "{{$dotenv TOKEN}} isn't supported: export the variables of .env before the run, \
                 and use {{env NAME}}",
            ),
            (
                "env",
                "{{env}} needs the name of one variable: write {{env NAME}}",
            ),
            (
                "env NOPE",
                "{{env NOPE}} isn't in the environment: export it before the run",
            ),
        ];
        refused_with(&table);
    }
}

//! What users begin with, from wherever it's given: flags, files, the environment. Messages name
//! where something is wrong, and never a value, which may be a secret.

use std::ffi::OsString;
use std::fs;
use std::path::Path;

use plan::Invalid;

/// Variables and their values; of two with one name the later one counts.
pub type Pairs = Vec<(String, String)>;

/// With what names of variables begin in the environment…
pub const VARIABLES: &str = "HURL_VARIABLE_";
/// …and those of secrets.
pub const SECRETS: &str = "HURL_SECRET_";
/// The most bytes of a file of variables.
const BYTES_MAX: u64 = 1 << 20;

/// Those of a flag that is given several times.
///
/// # Errors
/// Which of them isn't a pair.
pub fn of_flag(flag: &str, given: &[String]) -> Result<Pairs, Invalid> {
    let pairs = given.iter().enumerate().map(|(at, pair)| {
        let wrong = || Invalid(format!("{flag}, number {}: write NAME=VALUE", at + 1));
        split(pair).ok_or_else(wrong)
    });
    pairs.collect()
}

/// Those of a file, as Hurl has them: one a line, which may be empty or a comment (`# …`).
///
/// # Errors
/// A file that can't be read, a line that isn't a pair.
pub fn of_file(flag: &str, file: &Path) -> Result<Pairs, Invalid> {
    let name = file.display();
    let wrong = |why: &dyn std::fmt::Display| Invalid(format!("{flag} {name}: {why}"));
    // Before it's read: a device may have no end.
    let length = fs::metadata(file).map_err(|why| wrong(&why))?.len();
    if length > BYTES_MAX {
        return Err(wrong(&format_args!("it's larger than {BYTES_MAX} bytes")));
    }
    let text = fs::read_to_string(file).map_err(|why| wrong(&why))?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    let lines = text.lines().map(str::trim).enumerate();
    let lines = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
    let pairs = lines.map(|(at, line)| {
        let wrong = || Invalid(format!("{flag} {name}:{}: write NAME=VALUE", at + 1));
        split(line).ok_or_else(wrong)
    });
    pairs.collect()
}

/// Those of the environment: `prefix` and a name.
///
/// # Errors
/// One whose value isn't text.
pub fn of_environment(
    prefix: &str,
    environment: impl IntoIterator<Item = (OsString, OsString)>,
) -> Result<Pairs, Invalid> {
    let mut pairs = Pairs::new();
    for (name, value) in environment {
        let Some(short) = name.to_str().and_then(|name| name.strip_prefix(prefix)) else {
            continue;
        };
        if short.is_empty() {
            continue;
        }
        let value = value.into_string().map_err(|_| {
            Invalid(format!(
                "{prefix}{short} in the environment isn't UTF-8: unset it, or encode it"
            ))
        })?;
        pairs.push((short.to_owned(), value));
    }
    // The order of an environment says nothing.
    pairs.sort();
    Ok(pairs)
}

fn split(pair: &str) -> Option<(String, String)> {
    let (name, value) = pair.split_once('=')?;
    let name = name.trim();
    (!name.is_empty()).then(|| (name.to_owned(), value.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(name: &str, value: &str) -> (String, String) {
        (name.to_owned(), value.to_owned())
    }

    #[test]
    fn files_have_a_pair_a_line_and_comments() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("vars.env");
        std::fs::write(&file, "\u{feff}# a comment\n\n a=b=c \r\nn = 12\nempty=\n").unwrap();
        let read = of_file("--variables-file", &file).unwrap();
        assert_eq!(
            read,
            [pair("a", "b=c"), pair("n", " 12"), pair("empty", "")]
        );
        std::fs::write(&file, "a=1\ncanary\n").unwrap();
        let Invalid(why) = of_file("--secrets-file", &file).unwrap_err();
        assert!(why.ends_with("vars.env:2: write NAME=VALUE"), "{why}");
        assert!(!why.contains("canary"), "{why}");
        let Invalid(why) = of_file("--secrets-file", &folder.path().join("none")).unwrap_err();
        assert!(why.contains("No such file"), "{why}");
    }

    #[test]
    fn flags_are_named_by_their_place_when_they_are_wrong() {
        let given = ["a=1", "b==", "a=2"].map(str::to_owned);
        let read = of_flag("--variable", &given).unwrap();
        assert_eq!(read, [pair("a", "1"), pair("b", "="), pair("a", "2")]);
        for wrong in ["canary", "=canary", ""] {
            let given = ["a=1", wrong].map(str::to_owned);
            let Invalid(why) = of_flag("--secret", &given).unwrap_err();
            assert_eq!(why, "--secret, number 2: write NAME=VALUE");
        }
    }

    #[test]
    fn the_environment_gives_what_has_the_prefix() {
        use std::os::unix::ffi::OsStringExt;
        let of = |pairs: Vec<(&str, OsString)>| {
            let pairs = pairs.into_iter();
            let pairs = pairs.map(|(name, value)| (OsString::from(name), value));
            of_environment("HURL_SECRET_", pairs)
        };
        let given = vec![
            ("PATH", "/bin".into()),
            ("HURL_SECRET_b", "2".into()),
            ("HURL_SECRET_", "nameless".into()),
            ("HURL_VARIABLE_c", "3".into()),
            ("HURL_SECRET_a", "1".into()),
        ];
        assert_eq!(of(given).unwrap(), [pair("a", "1"), pair("b", "2")]);
        let broken = OsString::from_vec(b"canary\xff".to_vec());
        let Invalid(why) = of(vec![("HURL_SECRET_a", broken)]).unwrap_err();
        assert!(why.starts_with("HURL_SECRET_a in the environment"), "{why}");
        assert!(!why.contains("canary"), "{why}");
    }
}

//! How wide a text may be, and texts broken at blanks so that they are no wider.

use std::os::fd::AsFd;

use rustix::termios::tcgetwinsize;

/// Columns beyond which sentences are hard to read.
const READABLE: usize = 120;
/// Fewer columns than this are ignored: words would stand one below the other.
const COLUMNS_MIN: usize = 40;
/// What a line that goes on is further to the right than its beginning, unless it has columns.
const INDENT: usize = 2;

/// The columns that a reader of `stream` has: what COLUMNS says, else what the terminal says. None
/// where nobody says it, as in a pipe or a file.
pub fn of(stream: impl AsFd) -> Option<usize> {
    let asked = std::env::var("COLUMNS").ok();
    let asked = asked.and_then(|columns| columns.trim().parse().ok());
    let own = || {
        let size = tcgetwinsize(stream).ok()?;
        Some(usize::from(size.ws_col).min(READABLE))
    };
    let columns = asked.filter(|columns| *columns > 0).or_else(own);
    columns
        .filter(|columns| *columns > 0)
        .map(|columns| columns.max(COLUMNS_MIN))
}

/// A text with each line that is longer than `columns` broken at blanks. A word that is longer,
/// such as a URL, stays whole.
pub fn wrapped(text: &str, columns: Option<usize>) -> String {
    let Some(columns) = columns else {
        return text.to_owned();
    };
    let mut made = String::with_capacity(text.len() + text.len() / 8);
    for line in text.split_inclusive('\n') {
        let (line, end) = match line.strip_suffix('\n') {
            Some(line) => (line, "\n"),
            None => (line, ""),
        };
        made.push_str(&broken(line, columns).join("\n"));
        made.push_str(end);
    }
    made
}

/// A command with each line that is longer than `columns` continued on the next, as a shell reads
/// it. What is quoted stays whole.
pub fn continued(command: &str, columns: Option<usize>) -> Vec<String> {
    let room = columns.unwrap_or(usize::MAX).saturating_sub(2);
    let mut lines = vec![String::new()];
    for word in words(command) {
        let line = lines.last_mut().expect("there is a first line");
        let is_full = seen(line) + 1 + seen(&word) > room && !line.trim().is_empty();
        match is_full {
            true => {
                line.push_str(" \\");
                lines.push(format!("    {word}"));
            }
            false if line.is_empty() => line.push_str(&word),
            false => {
                line.push(' ');
                line.push_str(&word);
            }
        }
    }
    lines
}

/// The words of a command, of which quoted ones may hold blanks.
fn words(command: &str) -> Vec<String> {
    let mut quote = None;
    let parts = command.split(|c: char| {
        match (quote, c) {
            (None, '\'' | '"') => quote = Some(c),
            (Some(open), c) if open == c => quote = None,
            _ => {}
        }
        c == ' ' && quote.is_none()
    });
    let parts: Vec<String> = parts.map(str::to_owned).collect();
    parts.into_iter().filter(|part| !part.is_empty()).collect()
}

fn broken(line: &str, columns: usize) -> Vec<String> {
    if seen(line) <= columns {
        return vec![line.to_owned()];
    }
    let indent = hanging(line, columns);
    let mut lines = Vec::new();
    let mut rest = line.to_owned();
    while seen(&rest) > columns
        && let Some(at) = gap(&rest, columns)
    {
        let (head, tail) = rest.split_at(at);
        let tail = format!("{:indent$}{}", "", tail.trim_start());
        lines.push(head.trim_end().to_owned());
        rest = tail;
    }
    lines.push(rest);
    lines
}

/// How far to the right a line goes on: below its last column, if that leaves room for words.
fn hanging(line: &str, columns: usize) -> usize {
    let start = line.chars().take_while(|c| *c == ' ').count();
    let plain = plain(line);
    let column = plain
        .char_indices()
        .skip(start + 1)
        .filter(|(at, _)| plain[..*at].ends_with("  ") && !plain[*at..].starts_with(' '))
        .map(|(at, _)| plain[..at].chars().count())
        .take_while(|at| *at <= columns / 2)
        .last();
    column.unwrap_or(start + INDENT)
}

/// Where a line is broken: at its last blank within `columns`, else at its first one; none of those
/// before its first word.
fn gap(line: &str, columns: usize) -> Option<usize> {
    let (mut at_column, mut last, mut escaped, mut begun) = (0, None, false, false);
    for (at, c) in line.char_indices() {
        if escaped || c == '\x1b' {
            escaped = c != 'm';
            continue;
        }
        if c == ' ' && begun && !line[at..].trim_start().is_empty() {
            if at_column > columns && last.is_some() {
                break;
            }
            last = Some(at);
            if at_column > columns {
                break;
            }
        }
        begun |= c != ' ';
        at_column += 1;
    }
    last
}

/// How many columns a text takes: colours take none.
pub fn seen(text: &str) -> usize {
    plain(text).chars().count()
}

fn plain(text: &str) -> String {
    let mut escaped = false;
    let is_seen = |c: &char| {
        let was_escaped = escaped;
        escaped = (escaped || *c == '\x1b') && *c != 'm';
        !escaped && !was_escaped
    };
    text.chars().filter(is_seen).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_broken_at_blanks_and_go_on_below_their_last_column() {
        let text = "a bb ccc dddd\n  two words here\n";
        assert_eq!(wrapped(text, None), text);
        assert_eq!(wrapped(text, Some(40)), text);
        assert_eq!(
            wrapped(text, Some(9)),
            "a bb ccc\n  dddd\n  two\n    words\n    here\n"
        );
        let row = "  ab  cd  of all that there are";
        assert_eq!(
            wrapped(row, Some(20)),
            "  ab  cd  of all\n          that there\n          are"
        );
    }

    #[test]
    fn a_word_that_is_too_long_stays_whole_and_colours_take_no_room() {
        let text = "see http://127.0.0.1/a/long/path now";
        assert_eq!(
            wrapped(text, Some(10)),
            "see\n  http://127.0.0.1/a/long/path\n  now"
        );
        let text = "\x1b[1mab cd\x1b[0m ef";
        assert_eq!(wrapped(text, Some(8)), text);
        assert_eq!(wrapped(text, Some(5)), "\x1b[1mab cd\x1b[0m\n  ef");
        for lonely in ["", "    ", "word", "   word   "] {
            assert_eq!(wrapped(lonely, Some(2)), lonely);
        }
    }

    #[test]
    fn a_command_goes_on_as_a_shell_reads_it() {
        let command = "echo 'a b c d' | sudo tee /etc/some.conf";
        assert_eq!(continued(command, None), [command]);
        assert_eq!(
            continued(command, Some(24)),
            ["echo 'a b c d' | sudo \\", "    tee /etc/some.conf"]
        );
    }
}

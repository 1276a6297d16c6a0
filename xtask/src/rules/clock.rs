//! The clock is read in one file, and nobody sleeps: time is an argument everywhere else.

use crate::complaint::Complaint;
use crate::workspace::{File, Workspace};

/// Calls that read a clock or sleep, as runs of tokens.
const CALLS: [(&[&str], &str); 4] = [
    (&["Instant", ":", ":", "now"], "Instant::now"),
    (&["SystemTime", ":", ":", "now"], "SystemTime::now"),
    (&["thread", ":", ":", "sleep"], "thread::sleep"),
    (&["clock_gettime"], "clock_gettime"),
];

/// Looks for the calls in every file but `clock_file`.
pub(super) fn check(workspace: &Workspace, clock_file: &str) -> Vec<Complaint> {
    let files = workspace.rust().filter(|file| file.path != clock_file);
    files.flat_map(|file| in_file(file, clock_file)).collect()
}

fn in_file(file: &File, clock_file: &str) -> Vec<Complaint> {
    let mut complaints = Vec::new();
    for (call, name) in CALLS {
        for window in file.tokens.windows(call.len()) {
            if window
                .iter()
                .zip(call)
                .all(|(token, text)| token.text == *text)
            {
                let text = format!("{name}: take the time as an argument, or ask {clock_file}");
                complaints.push(Complaint::at(&file.path, window[0].line, text));
            }
        }
    }
    complaints
}

#[cfg(test)]
mod tests {
    use super::super::{made_of, texts};
    use super::*;

    #[test]
    fn reading_the_clock_elsewhere_is_caught() {
        let text = "fn f() {\n let a = std::time::Instant::now();\n thread::sleep(b);\n}";
        let workspace = made_of(&[("load/src/a.rs", text), ("measure/src/time.rs", text)]);
        assert_eq!(
            texts(&check(&workspace, "measure/src/time.rs")),
            [
                "load/src/a.rs:2: Instant::now: take the time as an argument, or ask \
                 measure/src/time.rs",
                "load/src/a.rs:3: thread::sleep: take the time as an argument, or ask \
                 measure/src/time.rs"
            ]
        );
    }

    #[test]
    fn asking_the_clock_file_is_fine() {
        let workspace = made_of(&[("load/src/a.rs", "fn f() { measure::time::Time::now(); }")]);
        assert_eq!(check(&workspace, "measure/src/time.rs"), []);
    }
}

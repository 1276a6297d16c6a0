//! What a running proxy may be told, a line at a time, and how it answers.

use serde_json::json;

use crate::faults::Faults;

/// The longest line that is read.
pub const LINE_BYTES_MAX: usize = 4096;

/// One line that was understood.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Order {
    /// From now on these faults.
    Faults(Faults),
    /// Reset every connection.
    ResetAll,
    /// Say what was counted.
    Counters,
    /// Say which faults there are.
    Status,
    /// Say what may be said.
    Help,
}

/// Understands a line, where the faults are `present` ones.
pub(crate) fn read(line: &str, present: Faults) -> Result<Order, String> {
    if line.len() > LINE_BYTES_MAX {
        return Err(format!("a line has at most {LINE_BYTES_MAX} bytes"));
    }
    let line = line.trim();
    let (verb, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let order = match verb {
        "set" => return present.changed(rest).map(Order::Faults),
        "clear" => Order::Faults(Faults::none()),
        "reset-all" => Order::ResetAll,
        "counters" => Order::Counters,
        "status" => Order::Status,
        "help" => Order::Help,
        _ => {
            return Err(format!(
                "{verb:?} isn't a command; the commands are set, clear, reset-all, counters, \
                 status and help"
            ));
        }
    };
    match rest.trim() {
        "" => Ok(order),
        rest => Err(format!(
            "{verb} takes nothing behind it, and there is {rest:?}"
        )),
    }
}

/// The answer to who asks what is broken, in the words of `set`.
pub(crate) fn status(faults: Faults) -> String {
    json!({ "faults": faults.to_string() }).to_string()
}

/// The answer to who asks what may be said.
pub(crate) fn help() -> String {
    let commands = [
        "set delay=10ms jitter=2ms refuse=0.1 cut-after=64K cut=reset bandwidth=1M stall",
        "set direction=up",
        "clear",
        "reset-all",
        "counters",
        "status",
    ];
    json!({ "commands": commands }).to_string()
}

/// The answer to what was done.
pub(crate) fn done() -> String {
    json!({ "ok": true }).to_string()
}

/// The answer to what couldn't be understood.
pub(crate) fn refused(why: &str) -> String {
    json!({ "error": why }).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_understood_whatever_the_blanks() {
        let none = Faults::none();
        assert_eq!(read(" counters\r", none), Ok(Order::Counters));
        assert_eq!(read("reset-all", none), Ok(Order::ResetAll));
        assert_eq!(read("status", none), Ok(Order::Status));
        assert_eq!(read("help", none), Ok(Order::Help));
        let slow = Faults::parse_line("delay=1s").unwrap();
        assert_eq!(read("clear", slow), Ok(Order::Faults(none)));
        assert_eq!(read("set\tdelay=1s ", none), Ok(Order::Faults(slow)));
    }

    #[test]
    fn other_lines_are_refused() {
        let long = "x".repeat(LINE_BYTES_MAX + 1);
        for (line, part) in [
            ("stop", "\"stop\" isn't a command; the commands are set"),
            ("set delay=50", "delay: is 50 50ms or 50s?"),
            ("counters all", "counters takes nothing behind it"),
            ("clear delay", "clear takes nothing behind it"),
            ("set", "no fault is named"),
            ("set delay=?", "delay: "),
            (&long, "a line has at most 4096 bytes"),
        ] {
            let refused = read(line, Faults::none()).expect_err(line);
            assert!(refused.starts_with(part), "{line}: {refused}");
        }
    }

    #[test]
    fn an_answer_is_one_line_of_json_whatever_it_quotes() {
        let why = read("\u{1b}[31m\"\n", Faults::none()).expect_err("no command");
        let answer = refused(&why);
        assert!(answer.chars().all(|c| !c.is_control()), "{answer}");
        let read: serde_json::Value = serde_json::from_str(&answer).expect("JSON");
        assert_eq!(read["error"].as_str(), Some(why.as_str()));
    }
}

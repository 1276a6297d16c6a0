//! Which driver a run uses, and why.

use std::fmt;
use std::str::FromStr;
use std::sync::OnceLock;
use std::thread;

use crate::driver::OpenError;
use crate::probe;

/// What the user asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EngineChoice {
    /// io_uring if it works here, else epoll.
    #[default]
    Auto,
    /// io_uring or nothing.
    Uring,
    /// epoll.
    Epoll,
}

/// A driver for real sockets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// [`crate::uring`]
    Uring,
    /// The driver on epoll(7).
    Epoll,
}

impl Kind {
    /// The name in records: `io_uring` or `epoll`.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Uring => "io_uring",
            Kind::Epoll => "epoll",
        }
    }
}

impl fmt::Display for EngineChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            EngineChoice::Auto => "auto",
            EngineChoice::Uring => "uring",
            EngineChoice::Epoll => "epoll",
        })
    }
}

impl FromStr for EngineChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<EngineChoice, String> {
        match text {
            "auto" => Ok(EngineChoice::Auto),
            "uring" | "io_uring" => Ok(EngineChoice::Uring),
            "epoll" => Ok(EngineChoice::Epoll),
            other => Err(format!(
                "no engine is called `{other}`; choose auto, uring or epoll"
            )),
        }
    }
}

/// Decides on a driver, with the reason as a clause for the record. Tries io_uring once in a
/// process, so that every worker uses the same.
///
/// # Errors
///
/// [`OpenError`] if io_uring was asked for and does not work here.
pub fn decide(choice: EngineChoice) -> Result<(Kind, String), OpenError> {
    static URING: OnceLock<Result<(), OpenError>> = OnceLock::new();
    decide_with(choice, || URING.get_or_init(try_uring).clone())
}

/// On a thread of its own: a while after a ring is closed, the kernel signals the thread that used
/// it (`io_ring_exit_work` in `io_uring.c`), and some system call of it ends with `EINTR`.
fn try_uring() -> Result<(), OpenError> {
    match thread::Builder::new().spawn(probe::uring) {
        Ok(tried) => tried.join().expect("trying doesn't panic"),
        Err(error) => Err(OpenError {
            what: format!("no thread could be started to try it: {error}"),
            remedy: "raise the limit on tasks (`ulimit -u`, TasksMax= of a unit)".into(),
        }),
    }
}

fn decide_with(
    choice: EngineChoice,
    uring: impl FnOnce() -> Result<(), OpenError>,
) -> Result<(Kind, String), OpenError> {
    match choice {
        EngineChoice::Epoll => Ok((Kind::Epoll, "requested".into())),
        EngineChoice::Uring => uring().map(|()| (Kind::Uring, "requested".into())),
        EngineChoice::Auto => Ok(match uring() {
            Ok(()) => (Kind::Uring, "passed its self-test".into()),
            Err(error) => (Kind::Epoll, format!("io_uring doesn't work here: {error}")),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn forbidden() -> Result<(), OpenError> {
        Err(OpenError {
            what: "a rule forbids it".into(),
            remedy: "change the rule".into(),
        })
    }

    #[test]
    fn auto_takes_io_uring_where_it_works() {
        let (kind, reason) = decide_with(EngineChoice::Auto, || Ok(())).expect("a driver");
        assert_eq!(kind, Kind::Uring);
        assert!(reason.contains("self-test"), "{reason}");
    }

    #[test]
    fn auto_falls_back_to_epoll_and_says_why() {
        let (kind, reason) = decide_with(EngineChoice::Auto, forbidden).expect("a driver");
        assert_eq!(kind, Kind::Epoll);
        assert!(
            reason.contains("a rule forbids it; change the rule"),
            "{reason}"
        );
    }

    #[test]
    fn io_uring_that_was_asked_for_is_not_replaced() {
        assert_eq!(
            decide_with(EngineChoice::Uring, forbidden),
            forbidden().map(|()| unreachable!())
        );
        let epoll = decide_with(EngineChoice::Epoll, || panic!("io_uring is not even tried"));
        assert_eq!(epoll.map(|(kind, _)| kind), Ok(Kind::Epoll));
    }

    #[test]
    fn choices_read_back_as_they_are_written() {
        for choice in [EngineChoice::Auto, EngineChoice::Uring, EngineChoice::Epoll] {
            assert_eq!(choice.to_string().parse(), Ok(choice));
        }
        assert!("kqueue".parse::<EngineChoice>().is_err());
    }
}

//! Which driver a run uses, and why.

use std::fmt;
use std::str::FromStr;
use std::sync::OnceLock;
use std::thread;

use crate::driver::OpenError;
use crate::features::Without;
use crate::probe;

/// How a choice begins that leaves features out.
const REDUCED: &str = "uring without ";

/// What the user asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EngineChoice {
    /// io_uring if it works here, else epoll.
    #[default]
    Auto,
    /// io_uring or nothing.
    Uring,
    /// io_uring without some of its features, or nothing.
    UringWithout(Without),
    /// epoll.
    Epoll,
}

/// A driver for real sockets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// [`crate::uring`], and what it isn't to use ([`crate::Config::without`]).
    Uring(Without),
    /// The driver on epoll(7).
    Epoll,
}

impl Kind {
    /// The name in records: `io_uring` or `epoll`.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Uring(_) => "io_uring",
            Kind::Epoll => "epoll",
        }
    }
}

impl EngineChoice {
    /// The same choice, but io_uring leaves `without` out.
    ///
    /// # Errors
    ///
    /// A sentence if epoll was chosen, which has none of these features.
    pub fn leaving_out(self, without: &[Without]) -> Result<EngineChoice, String> {
        let all: Without = without.iter().flat_map(|one| one.features()).collect();
        match self {
            choice if all.is_nothing() => Ok(choice),
            EngineChoice::Epoll => Err(
                "--without leaves features of io_uring out, and --engine epoll has none of them: \
                 give one of the two"
                    .into(),
            ),
            _ => Ok(EngineChoice::UringWithout(all)),
        }
    }
}

impl fmt::Display for EngineChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            EngineChoice::Auto => f.write_str("auto"),
            EngineChoice::Uring => f.write_str("uring"),
            EngineChoice::UringWithout(without) => write!(f, "{REDUCED}{without}"),
            EngineChoice::Epoll => f.write_str("epoll"),
        }
    }
}

impl FromStr for EngineChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<EngineChoice, String> {
        if let Some(without) = text.strip_prefix(REDUCED) {
            return without.parse().map(EngineChoice::UringWithout);
        }
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
    let everything = Kind::Uring(Without::NOTHING);
    match choice {
        EngineChoice::Epoll => Ok((Kind::Epoll, "requested".into())),
        EngineChoice::Uring => uring().map(|()| (everything, "requested".into())),
        EngineChoice::UringWithout(without) => uring().map(|()| {
            (
                Kind::Uring(without),
                format!("without {without}, as requested"),
            )
        }),
        EngineChoice::Auto => Ok(match uring() {
            Ok(()) => (everything, "passed its self-test".into()),
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
        assert_eq!(kind, Kind::Uring(Without::NOTHING));
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
    fn what_was_asked_for_is_what_is_left_out() {
        let without: Without = "multishot".parse().expect("a feature");
        let reduced = decide_with(EngineChoice::UringWithout(without), || Ok(()));
        let said = (
            Kind::Uring(without),
            "without multishot, as requested".into(),
        );
        assert_eq!(reduced, Ok(said));
    }

    #[test]
    fn choices_read_back_as_they_are_written() {
        let without = "multishot,batching".parse().expect("features");
        let reduced = EngineChoice::UringWithout(without);
        let plain = [EngineChoice::Auto, EngineChoice::Uring, EngineChoice::Epoll];
        for choice in plain.into_iter().chain([reduced]) {
            assert_eq!(choice.to_string().parse(), Ok(choice));
        }
        assert!("kqueue".parse::<EngineChoice>().is_err());
    }
}

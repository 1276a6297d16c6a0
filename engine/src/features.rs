//! What io_uring has, what it costs where it isn't there, and what isn't to be used of it.

use std::fmt;
use std::str::FromStr;

use measure::words::nearest;

/// Something that newer kernels have and older ones have not, or that this driver can do without.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Feature {
    /// Completions are worked off in enter, by the thread itself, in batches.
    DeferTaskrun,
    /// The weaker form of the same.
    CoopTaskrun,
    /// A bad submission does not stop the batch.
    SubmitAll,
    /// Submissions are read in place.
    NoSqarray,
    /// The ring is named without a descriptor.
    RegisteredRing,
    /// Sleeps end at a time instead of after a length.
    AbsoluteTimer,
    /// Sleeping in the ring is not accounted as waiting for a disk.
    NoIowait,
    /// A ring of receive buffers that the kernel picks from.
    ProvidedBuffers,
    /// Sockets live in the ring's own table.
    DirectDescriptors,
    /// What a turn has to submit enters the kernel at once, and not each operation by itself.
    Batching,
    /// One accept brings connection after connection, and one receive all that comes.
    Multishot,
    /// What is sent and succeeds completes nothing, where nobody waits for it.
    SkipSuccess,
}

impl Feature {
    /// All of them.
    pub const ALL: [Feature; 12] = [
        Feature::DeferTaskrun,
        Feature::CoopTaskrun,
        Feature::SubmitAll,
        Feature::NoSqarray,
        Feature::RegisteredRing,
        Feature::AbsoluteTimer,
        Feature::NoIowait,
        Feature::ProvidedBuffers,
        Feature::DirectDescriptors,
        Feature::Batching,
        Feature::Multishot,
        Feature::SkipSuccess,
    ];

    /// Those that the driver can do without.
    pub fn optional() -> impl Iterator<Item = Feature> {
        let all = Feature::ALL.into_iter();
        all.filter(|&feature| feature != Feature::ProvidedBuffers)
    }

    /// The name in `linux/io_uring.h`, or of the thing in its manual pages.
    pub fn name(self) -> &'static str {
        match self {
            Feature::DeferTaskrun => "DEFER_TASKRUN",
            Feature::CoopTaskrun => "COOP_TASKRUN",
            Feature::SubmitAll => "SUBMIT_ALL",
            Feature::NoSqarray => "NO_SQARRAY",
            Feature::RegisteredRing => "REGISTERED_RING",
            Feature::AbsoluteTimer => "ABS_TIMER",
            Feature::NoIowait => "NO_IOWAIT",
            Feature::ProvidedBuffers => "provided buffer ring",
            Feature::DirectDescriptors => "direct descriptors",
            Feature::Batching => "batched submission",
            Feature::Multishot => "multishot",
            Feature::SkipSuccess => "CQE_SKIP_SUCCESS",
        }
    }

    /// The name on a command line, such as `defer-taskrun`.
    pub fn word(self) -> &'static str {
        match self {
            Feature::DeferTaskrun => "defer-taskrun",
            Feature::CoopTaskrun => "coop-taskrun",
            Feature::SubmitAll => "submit-all",
            Feature::NoSqarray => "no-sqarray",
            Feature::RegisteredRing => "registered-ring",
            Feature::AbsoluteTimer => "abs-timer",
            Feature::NoIowait => "no-iowait",
            Feature::ProvidedBuffers => "provided-buffers",
            Feature::DirectDescriptors => "direct-descriptors",
            Feature::Batching => "batching",
            Feature::Multishot => "multishot",
            Feature::SkipSuccess => "skip-success",
        }
    }

    /// The first kernel that has it.
    pub fn since(self) -> &'static str {
        match self {
            Feature::Batching => "5.1",
            Feature::SkipSuccess => "5.17",
            Feature::SubmitAll | Feature::RegisteredRing => "5.18",
            Feature::CoopTaskrun | Feature::ProvidedBuffers => "5.19",
            Feature::Multishot => "6.0",
            Feature::DeferTaskrun => "6.1",
            Feature::NoSqarray => "6.6",
            Feature::DirectDescriptors => "6.7",
            Feature::AbsoluteTimer => "6.12",
            Feature::NoIowait => "6.15",
        }
    }

    /// What its absence costs.
    pub fn cost(self) -> &'static str {
        match self {
            Feature::DeferTaskrun => {
                "completions interrupt the thread between its turns, so batches are smaller"
            }
            Feature::CoopTaskrun => "completions interrupt the thread with scheduler signals",
            Feature::SubmitAll => "a failed submission costs an extra system call",
            Feature::NoSqarray => "each submission costs an extra memory access",
            Feature::RegisteredRing => "each system call costs two extra atomic operations",
            Feature::AbsoluteTimer => "each sleep with a deadline costs an extra clock read",
            Feature::NoIowait => "/proc/stat and PSI show sleeping as waiting for disks",
            Feature::ProvidedBuffers => "receiving needs it, so io_uring can't be used",
            Feature::DirectDescriptors => {
                "connections take up file descriptors of the process, and all threads share one \
                 limit"
            }
            Feature::Batching => "each operation costs a system call",
            Feature::Multishot => "each connection and each receive costs a submission",
            Feature::SkipSuccess => "each send costs a completion that nobody reads",
        }
    }

    pub(crate) fn bit(self) -> u16 {
        1 << self as u16
    }
}

impl FromStr for Feature {
    type Err = String;

    fn from_str(text: &str) -> Result<Feature, String> {
        let mut all = Feature::ALL.into_iter();
        all.find(|feature| feature.word() == text).ok_or_else(|| {
            let words: Vec<&str> = Feature::optional().map(Feature::word).collect();
            let near = nearest(text, words.iter().copied())
                .map_or_else(String::new, |near| format!("did you mean `{near}`? "));
            format!(
                "there's no feature `{text}` of io_uring that could be left out; {near}there are \
                 {}, and `all`",
                words.join(", ")
            )
        })
    }
}

/// Features of io_uring that aren't to be used even where they are there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Without(u16);

impl Without {
    /// Everything is used that is there.
    pub const NOTHING: Without = Without(0);

    /// Those that are left out, in the order of [`Feature::ALL`].
    pub fn features(self) -> impl Iterator<Item = Feature> {
        let all = Feature::ALL.into_iter();
        all.filter(move |&feature| self.has(feature))
    }

    /// Whether `feature` is left out.
    pub fn has(self, feature: Feature) -> bool {
        self.0 & feature.bit() != 0
    }

    /// Whether nothing is left out.
    pub fn is_nothing(self) -> bool {
        self == Without::NOTHING
    }
}

impl FromIterator<Feature> for Without {
    fn from_iter<I: IntoIterator<Item = Feature>>(features: I) -> Without {
        Without(features.into_iter().fold(0, |bits, one| bits | one.bit()))
    }
}

/// The words of the features, with commas between them.
impl fmt::Display for Without {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words: Vec<_> = self.features().map(Feature::word).collect();
        f.write_str(&words.join(","))
    }
}

/// Reads what [`Display`](fmt::Display) writes, and `all`.
impl FromStr for Without {
    type Err = String;

    fn from_str(text: &str) -> Result<Without, String> {
        let without: Without = text
            .split(',')
            .map(|word| match word.trim() {
                "all" => Ok(Feature::optional().collect()),
                word => word.parse().map(|feature: Feature| Without(feature.bit())),
            })
            .try_fold(Without::NOTHING, |all, one: Result<Without, String>| {
                one.map(|one| Without(all.0 | one.0))
            })?;
        if without.has(Feature::ProvidedBuffers) {
            return Err(
                "io_uring can't be used without provided-buffers, which all receiving goes \
                 through: what is left is --engine epoll"
                    .into(),
            );
        }
        Ok(without)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_out_is_read_as_it_is_written_and_what_is_needed_is_not_left_out() {
        let without: Without = Feature::optional().collect();
        assert_eq!(without.to_string().parse(), Ok(without));
        assert_eq!("batching,all".parse(), Ok(without));
        let both = "multishot, batching".parse::<Without>();
        let both = both.expect("two features").features().collect::<Vec<_>>();
        assert_eq!(both, [Feature::Batching, Feature::Multishot]);
        let unknown = "multishoot"
            .parse::<Without>()
            .expect_err("no such feature");
        assert!(unknown.contains("did you mean `multishot`?"), "{unknown}");
        let unknown = "sqpoll".parse::<Without>().expect_err("it isn't used");
        assert!(
            unknown.contains("could be left out; there are defer"),
            "{unknown}"
        );
        let needed = "provided-buffers".parse::<Without>().expect_err("needed");
        assert!(needed.contains("--engine epoll"), "{needed}");
    }
}

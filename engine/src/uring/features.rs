//! What a ring can do here, and what it costs where it cannot.

/// Something that newer kernels have and older ones have not.
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
}

impl Feature {
    /// All of them.
    pub const ALL: [Feature; 9] = [
        Feature::DeferTaskrun,
        Feature::CoopTaskrun,
        Feature::SubmitAll,
        Feature::NoSqarray,
        Feature::RegisteredRing,
        Feature::AbsoluteTimer,
        Feature::NoIowait,
        Feature::ProvidedBuffers,
        Feature::DirectDescriptors,
    ];

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
        }
    }

    /// The first kernel that has it.
    pub fn since(self) -> &'static str {
        match self {
            Feature::SubmitAll | Feature::RegisteredRing => "5.18",
            Feature::CoopTaskrun | Feature::ProvidedBuffers => "5.19",
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
        }
    }
}

/// What was found about each [`Feature`]; those that do not matter here are in neither list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Features {
    present: u16,
    absent: u16,
    /// Not to be used even if they are there.
    denied: u16,
}

impl Features {
    /// Nothing is known yet; `denied` shall be taken to be absent.
    pub(crate) fn without(denied: &[Feature]) -> Features {
        let denied = denied
            .iter()
            .fold(0, |bits, &feature| bits | 1 << feature as u16);
        Features {
            denied,
            ..Features::default()
        }
    }

    /// Whether `feature` may be tried.
    pub(crate) fn allows(self, feature: Feature) -> bool {
        self.denied & (1 << feature as u16) == 0
    }

    /// Notes whether `feature` is there, and says whether to use it.
    pub(crate) fn note(&mut self, feature: Feature, present: bool) -> bool {
        let bit = 1 << feature as u16;
        let usable = present && self.allows(feature);
        if usable {
            self.present |= bit;
        } else {
            self.absent |= bit;
        }
        usable
    }

    /// Whether `feature` was found.
    pub(crate) fn has(self, feature: Feature) -> bool {
        self.present & (1 << feature as u16) != 0
    }

    /// Those that are there.
    pub(crate) fn present(self) -> impl Iterator<Item = Feature> {
        Feature::ALL
            .into_iter()
            .filter(move |&feature| self.has(feature))
    }

    /// Those that are not.
    pub(crate) fn absent(self) -> impl Iterator<Item = Feature> {
        Feature::ALL
            .into_iter()
            .filter(move |&feature| self.absent & (1 << feature as u16) != 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_noted_is_in_one_list_and_what_was_denied_is_absent() {
        let mut features = Features::without(&[Feature::NoIowait]);
        assert!(features.note(Feature::DeferTaskrun, true));
        assert!(!features.note(Feature::NoSqarray, false));
        assert!(!features.note(Feature::NoIowait, true));
        assert!(features.present().eq([Feature::DeferTaskrun]));
        assert!(
            features
                .absent()
                .eq([Feature::NoSqarray, Feature::NoIowait])
        );
    }
}

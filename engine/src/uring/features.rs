//! What was found about each feature of a ring here.

use crate::features::{Feature, Without};

/// What was found about each [`Feature`]; those that do not matter here are in neither list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Features {
    present: u16,
    absent: u16,
    denied: Without,
}

impl Features {
    /// Nothing is known yet; what is `denied` shall be taken to be absent.
    pub(crate) fn without(denied: Without) -> Features {
        Features {
            denied,
            ..Features::default()
        }
    }

    /// Whether `feature` may be tried.
    pub(crate) fn allows(self, feature: Feature) -> bool {
        !self.denied.has(feature)
    }

    /// Notes whether `feature` is there, and says whether to use it.
    pub(crate) fn note(&mut self, feature: Feature, present: bool) -> bool {
        let bit = feature.bit();
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
        self.present & feature.bit() != 0
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
            .filter(move |&feature| self.absent & feature.bit() != 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_noted_is_in_one_list_and_what_was_denied_is_absent() {
        let mut features = Features::without([Feature::NoIowait].into_iter().collect());
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

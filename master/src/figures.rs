//! What workers count beside the server: how a worker hands it to its master, and the sum of it.

use exposition::{Family, Total, pack, unpack};

/// How anybody has wanted what is counted so far: more than before, never less.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Wanted {
    /// Nobody has asked for it.
    #[default]
    Nothing,
    /// Somebody has, for the text format.
    Text,
    /// Somebody has, for native histograms: they have what is counted from then on.
    Native,
}

/// The length of the first part, before both.
const HEAD_BYTES: usize = 8;

/// What a worker says.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Said {
    /// For the text format.
    plain: Vec<Family<String>>,
    /// For native histograms; nothing as long as the worker doesn't know that they're wanted.
    native: Vec<Family<String>>,
}

/// What several workers say together.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sums {
    plain: Total,
    native: Total,
}

/// What `figures` says, in the form in which a worker hands it over.
pub(crate) fn handed_over(wanted: Wanted, figures: impl Fn(Wanted) -> Vec<Family>) -> Vec<u8> {
    let plain = pack(&figures(wanted.min(Wanted::Text)));
    let mut bytes = (plain.len() as u64).to_le_bytes().to_vec();
    bytes.extend(plain);
    if wanted == Wanted::Native {
        bytes.extend(pack(&figures(Wanted::Native)));
    }
    bytes
}

impl Said {
    /// What was [`handed_over`]; none where that can't be read.
    pub(crate) fn read(bytes: &[u8]) -> Option<Said> {
        let (head, rest) = bytes.split_first_chunk::<HEAD_BYTES>()?;
        let length = usize::try_from(u64::from_le_bytes(*head)).ok()?;
        let (plain, native) = rest.split_at_checked(length)?;
        Some(Said {
            plain: unpack(plain).ok()?,
            native: unpack(native).ok()?,
        })
    }

    /// What there is of it for native histograms. Until the worker knows that they're wanted, its
    /// others say something else.
    fn native(&self) -> impl Iterator<Item = &Family<String>> {
        let (families, is_told) = match self.native.is_empty() {
            true => (&self.plain, false),
            false => (&self.native, true),
        };
        let families = families.iter();
        families.filter(move |family| is_told || !family.is_classic_alone())
    }
}

impl Sums {
    /// Adds what a worker says. Of one that is gone, what goes up and down says nothing any more.
    pub(crate) fn add(&mut self, said: &Said, is_gone: bool) {
        self.plain.add(&said.plain, is_gone);
        self.native.add(said.native(), is_gone);
    }

    /// All of it, for native histograms or for the text format.
    pub(crate) fn families(&self, native: bool) -> &[Family<String>] {
        let total = if native { &self.native } else { &self.plain };
        total.families()
    }
}

#[cfg(test)]
mod tests {
    use exposition::{Times, text};
    use measure::histogram::Histogram;

    use super::*;

    /// A worker that has counted so much, and times once somebody wants them natively.
    fn worker(hits: u64, lengths_ns: &[u64]) -> impl Fn(Wanted) -> Vec<Family> {
        let mut histogram = Histogram::new();
        lengths_ns.iter().for_each(|ns| histogram.record(*ns));
        let fine = Times::within(&histogram, &[0.5, 1.0]);
        let mut coarse = Times::none(&[0.5, 1.0]);
        (coarse.count, coarse.sum_s) = (hits, 0.25 * hits as f64);
        coarse.classic.iter_mut().for_each(|(_, n)| *n = hits);
        move |wanted| {
            let times = match wanted {
                Wanted::Native => fine.clone(),
                _ => coarse.clone(),
            };
            vec![
                Family::counters("hits_total", "Hits.", [(Vec::new(), hits)]),
                Family::gauges("held", "What is held.", [(Vec::new(), 3)]),
                Family::histograms("c_seconds", "Times.", vec![(Vec::new(), times)]),
            ]
        }
    }

    fn said(wanted: Wanted, figures: impl Fn(Wanted) -> Vec<Family>) -> Said {
        Said::read(&handed_over(wanted, figures)).expect("it was handed over")
    }

    #[test]
    fn texts_and_native_histograms_are_added_up_apart() {
        let mut sums = Sums::default();
        sums.add(&said(Wanted::Native, worker(5, &[1_000, 0])), true);
        sums.add(&said(Wanted::Native, worker(7, &[2_000_000])), false);
        let plain = text(sums.families(false));
        for line in [
            "hits_total 12",
            "held 3",
            "c_seconds_count 12",
            "c_seconds_sum 3",
        ] {
            assert!(plain.lines().any(|one| one == line), "{line} in\n{plain}");
        }
        let native = text(sums.families(true));
        for line in ["hits_total 12", "held 3", "c_seconds_count 3"] {
            assert!(native.lines().any(|one| one == line), "{line} in\n{native}");
        }
    }

    #[test]
    fn who_does_not_know_yet_what_is_wanted_is_missing_in_native_histograms_alone() {
        let mut sums = Sums::default();
        sums.add(&said(Wanted::Text, worker(5, &[1_000])), false);
        sums.add(&said(Wanted::Native, worker(7, &[1_000, 2_000])), false);
        let native = text(sums.families(true));
        for line in ["hits_total 12", "held 6", "c_seconds_count 2"] {
            assert!(native.lines().any(|one| one == line), "{line} in\n{native}");
        }
        let plain = text(sums.families(false));
        assert!(plain.contains("\nc_seconds_count 12\n"), "{plain}");
    }

    #[test]
    fn what_is_cut_off_says_nothing() {
        let whole = handed_over(Wanted::Nothing, worker(5, &[]));
        assert!(Said::read(&whole).is_some());
        for end in 0..whole.len() {
            assert_eq!(Said::read(&whole[..end]), None, "{end}");
        }
        assert_eq!(Said::read(&[0xff; 64]), None);
    }
}

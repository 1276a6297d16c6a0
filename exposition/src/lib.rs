//! Metrics as Prometheus reads them.
//!
//! Whoever counts makes [`Family`]s of it, and [`encode`] writes them in the format that is asked
//! for: text, or protobuf, the only one with native histograms. Where several processes count,
//! each [`pack`]s its families for the one that is asked, which [`unpack`]s them and adds them up
//! in a [`Total`]. It knows nothing of what is counted, of connections and of HTTP.
#![forbid(unsafe_code)]

mod protobuf;
mod text;
mod times;
mod total;

use std::collections::HashSet;

pub use protobuf::{pack, unpack};
pub use times::{BOUNDS_S, SCHEMA, Times};
pub use total::Total;

/// Samples of one name. Those of this process know their names; others' are read.
#[derive(Clone, Debug, PartialEq)]
pub struct Family<N = &'static str> {
    /// Its whole name, which is promised to who asks for it.
    pub name: N,
    /// What it is, in a sentence.
    pub help: N,
    /// All of them; those of a name that isn't known are none.
    pub samples: Samples<N>,
}

/// What kind of samples there are, and their values.
#[derive(Clone, Debug, PartialEq)]
pub enum Samples<N = &'static str> {
    /// What only grows.
    Counters(Vec<(Tags<N>, f64)>),
    /// What goes up and down.
    Gauges(Vec<(Tags<N>, f64)>),
    /// The same; of what several processes say it's the least, rather than the sum.
    LeastGauges(Vec<(Tags<N>, f64)>),
    /// Lengths of time.
    Histograms(Vec<(Tags<N>, Times)>),
}

/// The labels of a sample.
pub type Tags<N = &'static str> = Vec<(N, String)>;

impl Family {
    /// A counter.
    pub fn counters(
        name: &'static str,
        help: &'static str,
        samples: impl IntoIterator<Item = (Tags, u64)>,
    ) -> Family {
        let samples = Samples::Counters(exact(samples));
        Family {
            name,
            help,
            samples,
        }
    }

    /// A gauge.
    pub fn gauges(
        name: &'static str,
        help: &'static str,
        samples: impl IntoIterator<Item = (Tags, u64)>,
    ) -> Family {
        let samples = Samples::Gauges(exact(samples));
        Family {
            name,
            help,
            samples,
        }
    }

    /// A histogram.
    pub fn histograms(
        name: &'static str,
        help: &'static str,
        samples: Vec<(Tags, Times)>,
    ) -> Family {
        let samples = Samples::Histograms(samples);
        Family {
            name,
            help,
            samples,
        }
    }
}

impl<N> Family<N> {
    /// Whether there is no sample.
    pub fn is_empty(&self) -> bool {
        match &self.samples {
            Samples::Counters(samples)
            | Samples::Gauges(samples)
            | Samples::LeastGauges(samples) => samples.is_empty(),
            Samples::Histograms(samples) => samples.is_empty(),
        }
    }

    /// Whether it has histograms of which only classic buckets were counted.
    pub fn is_classic_alone(&self) -> bool {
        match &self.samples {
            Samples::Histograms(samples) => samples.iter().any(|(_, times)| !times.is_native()),
            _ => false,
        }
    }
}

/// Whole numbers as both formats have them.
fn exact(samples: impl IntoIterator<Item = (Tags, u64)>) -> Vec<(Tags, f64)> {
    let samples = samples.into_iter();
    samples.map(|(tags, n)| (tags, n as f64)).collect()
}

/// All families in the format that somebody wants who sends this in `Accept`, one after the other,
/// and its media type.
pub fn encode<N: AsRef<str>>(families: &[Family<N>], accept: &[u8]) -> (&'static str, Vec<u8>) {
    debug_assert_eq!(
        twice(families),
        None,
        "Prometheus refuses a second family of a name"
    );
    match wants_native(accept) {
        true => (protobuf::CONTENT_TYPE, protobuf::encode(families)),
        false => (text::CONTENT_TYPE, text::encode(families).into_bytes()),
    }
}

/// A name that several families have.
fn twice<N: AsRef<str>>(families: &[Family<N>]) -> Option<&str> {
    let mut names = HashSet::new();
    let mut each = families.iter().map(|family| family.name.as_ref());
    each.find(|name| !names.insert(*name))
}

/// All families in the text format.
pub fn text<N: AsRef<str>>(families: &[Family<N>]) -> String {
    text::encode(families)
}

/// Whether somebody who sends this in `Accept` wants native histograms.
pub fn wants_native(accept: &[u8]) -> bool {
    protobuf::is_wanted(accept)
}

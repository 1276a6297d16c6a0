//! Prometheus' text format, version 0.0.4:
//! <https://prometheus.io/docs/instrumenting/exposition_formats/>.

use std::fmt::Write;

use super::families::{Family, Samples, Tags};

pub(super) const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// All families, one after the other.
pub(super) fn encode(families: &[Family]) -> String {
    let mut out = String::new();
    for family in families {
        // Writing into a string doesn't fail.
        let _ = write(&mut out, family);
    }
    out
}

fn write(out: &mut String, family: &Family) -> std::fmt::Result {
    let name = family.name;
    let (kind, singles) = match &family.samples {
        Samples::Counters(samples) => ("counter", &samples[..]),
        Samples::Gauges(samples) => ("gauge", &samples[..]),
        Samples::Histograms(_) => ("histogram", &[][..]),
    };
    writeln!(out, "# HELP {name} {}\n# TYPE {name} {kind}", family.help)?;
    for (tags, value) in singles {
        writeln!(out, "{name}{{{}}} {value}", labels(tags, None))?;
    }
    let Samples::Histograms(histograms) = &family.samples else {
        return Ok(());
    };
    for (tags, times) in histograms {
        for (bound, count) in &times.classic {
            let labels = labels(tags, Some(&bound.to_string()));
            writeln!(out, "{name}_bucket{{{labels}}} {count}")?;
        }
        let (all, plain) = (labels(tags, Some("+Inf")), labels(tags, None));
        writeln!(out, "{name}_bucket{{{all}}} {}", times.count)?;
        writeln!(out, "{name}_sum{{{plain}}} {}", times.sum_s)?;
        writeln!(out, "{name}_count{{{plain}}} {}", times.count)?;
    }
    Ok(())
}

fn labels(tags: &Tags, bound: Option<&str>) -> String {
    let bound = bound.map(|bound| ("le", bound));
    let tags = tags.iter().map(|(name, value)| (*name, &**value));
    let each = tags.chain(bound).map(|(name, value)| {
        let value = value.replace('\\', r"\\").replace('"', "\\\"");
        format!("{name}=\"{}\"", value.replace('\n', "\\n"))
    });
    each.collect::<Vec<_>>().join(",")
}

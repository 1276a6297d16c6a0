//! Prometheus' text format, version 0.0.4:
//! <https://prometheus.io/docs/instrumenting/exposition_formats/>.

use std::fmt::Write;

use crate::{Family, Samples, Tags};

pub(super) const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// All families, one after the other.
pub(super) fn encode<N: AsRef<str>>(families: &[Family<N>]) -> String {
    let mut out = String::new();
    for family in families {
        // Writing into a string doesn't fail.
        let _ = write(&mut out, family);
    }
    out
}

fn write<N: AsRef<str>>(out: &mut String, family: &Family<N>) -> std::fmt::Result {
    let (name, help) = (family.name.as_ref(), family.help.as_ref());
    let help = help.replace('\\', r"\\").replace('\n', r"\n");
    let (kind, singles) = match &family.samples {
        Samples::Counters(samples) => ("counter", &samples[..]),
        Samples::Gauges(samples) | Samples::LeastGauges(samples) => ("gauge", &samples[..]),
        Samples::Histograms(_) => ("histogram", &[][..]),
    };
    writeln!(out, "# HELP {name} {help}\n# TYPE {name} {kind}")?;
    for (tags, value) in singles {
        writeln!(out, "{name}{} {value}", labels(tags, None))?;
    }
    let Samples::Histograms(histograms) = &family.samples else {
        return Ok(());
    };
    for (tags, times) in histograms {
        for (bound, count) in &times.classic {
            let labels = labels(tags, Some(&bound.to_string()));
            writeln!(out, "{name}_bucket{labels} {count}")?;
        }
        let (all, plain) = (labels(tags, Some("+Inf")), labels(tags, None));
        writeln!(out, "{name}_bucket{all} {}", times.count)?;
        writeln!(out, "{name}_sum{plain} {}", times.sum_s)?;
        writeln!(out, "{name}_count{plain} {}", times.count)?;
    }
    Ok(())
}

/// In braces, or nothing where there are none.
fn labels<N: AsRef<str>>(tags: &Tags<N>, bound: Option<&str>) -> String {
    let bound = bound.map(|bound| ("le", bound));
    let tags = tags.iter().map(|(name, value)| (name.as_ref(), &**value));
    let each = tags.chain(bound).map(|(name, value)| {
        let value = value.replace('\\', r"\\").replace('"', "\\\"");
        format!("{name}=\"{}\"", value.replace('\n', "\\n"))
    });
    let all = each.collect::<Vec<_>>().join(",");
    match all.is_empty() {
        true => all,
        false => format!("{{{all}}}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Times;

    #[test]
    fn each_name_has_its_help_and_kind_and_each_value_its_labels() {
        let route = || vec![("route", "a \"b\"\n\\".to_owned())];
        let mut times = Times::none(&[0.5, 1.0]);
        (times.count, times.sum_s, times.classic[1].1) = (3, 4.25, 2);
        let families = [
            Family::counters("a_total", "All.", [(Vec::new(), 7)]),
            Family::gauges("b", "Now.", [(route(), 0)]),
            Family {
                name: "up",
                help: "Up,\nor \\ not.",
                samples: Samples::LeastGauges(vec![(Vec::new(), 1.0)]),
            },
            Family::histograms("c_seconds", "Times.", vec![(route(), times)]),
        ];
        let labels = r#"route="a \"b\"\n\\""#;
        let expected = format!(
            "# HELP a_total All.\n# TYPE a_total counter\na_total 7\n\
             # HELP b Now.\n# TYPE b gauge\nb{{{labels}}} 0\n\
             # HELP up Up,\\nor \\\\ not.\n# TYPE up gauge\nup 1\n\
             # HELP c_seconds Times.\n# TYPE c_seconds histogram\n\
             c_seconds_bucket{{{labels},le=\"0.5\"}} 0\n\
             c_seconds_bucket{{{labels},le=\"1\"}} 2\n\
             c_seconds_bucket{{{labels},le=\"+Inf\"}} 3\n\
             c_seconds_sum{{{labels}}} 4.25\nc_seconds_count{{{labels}}} 3\n"
        );
        assert_eq!(encode(&families), expected);
    }
}

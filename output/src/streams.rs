//! What was seen inside answers, where events were looked for.

use measure::record::{Moved, Streams, Times};

/// Its distributions, as rows of the table of times.
pub(super) fn rows(streams: &Streams) -> [(String, &Times); 4] {
    streams.distributions().map(|of| (of.words(), of.times))
}

/// What the rows mean.
pub(super) const MEANING: &str = "\
First byte and first event count from when a request was due; the gap is from one event of a\n\
stream to the next, and the time per event that of each stream that was over.\n";

/// How many streams and events there were, and how they ended. The events may be those of other
/// streams: a stream is of the window in which it was due, and an event of that in which it came.
pub(super) fn line(streams: &Streams) -> String {
    let Streams {
        events,
        events_per_second,
        ..
    } = streams;
    let mut text = format!(
        "Streams: {} due in the window, in which {events} events came ({events_per_second:.2}/s",
        streams.streams
    );
    // What users of language models call tokens per second.
    let each = streams.time_per_event_us.p50.filter(|us| *us > 0.0);
    if let Some(us) = each {
        text.push_str(&format!(", {:.2}/s in the median stream", 1e6 / us));
    }
    text.push(')');
    let ends = [
        (streams.done, "ended with [DONE]"),
        (streams.empty, "without an event"),
        (streams.torn, "ended in the middle of an event"),
        (streams.cut_off, "still going on at the end of the run"),
    ];
    for (count, what) in ends.into_iter().filter(|(count, _)| *count > 0) {
        text.push_str(&format!("; {count} {what}"));
    }
    if streams.censored > 0 {
        text.push_str(&format!(
            "\nFirst events that never came count with the time we waited for them: {}",
            streams.censored
        ));
    }
    if streams.censored_gaps > 0 {
        text.push_str(&format!(
            "\nEvents that didn't follow count as gaps with the time we waited for them: {}",
            streams.censored_gaps
        ));
    }
    for of in streams.distributions() {
        let moved = of.void.into_iter().flatten();
        let moved = moved.map(|one: &Moved| one.figure.replace('_', "."));
        let moved: Vec<String> = moved.collect();
        if !moved.is_empty() {
            text.push_str(&format!(
                "\nThe generator was late, which could have moved {} of the {}",
                moved.join(", "),
                of.words()
            ));
        }
    }
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_didn_t_happen_is_left_out() {
        let mut streams = Streams {
            streams: 3,
            events: 30,
            events_per_second: 15.0,
            ..Streams::default()
        };
        let begins = "Streams: 3 due in the window, in which 30 events came (15.00/s";
        assert_eq!(line(&streams), format!("{begins})\n"));
        streams.time_per_event_us.p50 = Some(20_000.0);
        (streams.done, streams.cut_off, streams.censored) = (1, 2, 4);
        let expected = ", 50.00/s in the median stream); 1 ended with [DONE]; 2 still going on at \
                        the end of the run\nFirst events that never came count with the time we \
                        waited for them: 4\n";
        assert_eq!(line(&streams), format!("{begins}{expected}"));
        let moved = |figure: &str| Moved {
            figure: figure.to_owned(),
            by_us: 9.0,
            allowed_us: 1.0,
        };
        streams.void_first_byte = vec![moved("p50"), moved("p99")];
        let told = line(&streams);
        let late = "\nThe generator was late, which could have moved p50, p99 of the first byte\n";
        assert!(told.ends_with(late), "{told}");
    }
}

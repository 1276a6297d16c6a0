//! What a window with faults is worth: whether they came when they were to, and whether all was
//! well before the first. Pure functions of what was done and of a record.

use measure::record::Record;

use crate::cost::Injected;
use crate::schedule::Kind;

/// A fault that begins later than this, in seconds, isn't the one that the file asks for.
const LATE_MAX_S: f64 = 0.25;

/// Which fault was not made, or late, and why if that is known, as a sentence without a full stop.
/// None if all were on time. Windows can be compared only where the same happened in each.
pub fn untimely(faults: &[Injected]) -> Option<String> {
    let late_s = |fault: &Injected| fault.began_s - fault.at_s;
    let is_wrong = |fault: &Injected| fault.missed || late_s(fault) > LATE_MAX_S;
    let place = faults.iter().position(is_wrong)?;
    let fault = &faults[place];
    let became = match fault.missed {
        true => "wasn't made".to_owned(),
        false => format!("came {:.2} s late", late_s(fault)),
    };
    let before = place.checked_sub(1).map(|before| &faults[before]);
    let over_s = before.and_then(|before| before.ready_s.or(before.ended_s));
    let why = match over_s.is_some_and(|over_s| over_s > fault.at_s) {
        true => {
            ", because the fault before it wasn't over; leave more time between the two for what \
             has to start again"
        }
        false => "",
    };
    Some(format!("{} at {} s {became}{why}", fault.what, fault.at_s))
}

/// The share of exchanges that failed in the whole rows before the first fault, which is no fault's
/// doing: 0 where there is no such row.
pub fn failed_before<P>(faults: &[Injected], record: &Record<P>) -> f64 {
    let first_s = faults.first().map_or(0.0, |fault| fault.began_s);
    let rows = record.series.iter();
    let before = rows.filter(|row| row.at_s + row.seconds <= first_s);
    let (failed, completed) = before.fold((0, 0), |(failed, completed), row| {
        (failed + row.failed, completed + row.completed)
    });
    failed as f64 / (failed + completed).max(1) as f64
}

/// Whether one of them was that something else computes.
pub fn computes(faults: &[Injected]) -> bool {
    faults.iter().any(|fault| fault.kind == Kind::Cpu.name())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(at_s: f64, began_s: f64) -> Injected {
        Injected {
            what: "SIGKILL to the subject".into(),
            at_s,
            began_s,
            ended_s: Some(began_s + 1.0),
            ..Injected::default()
        }
    }

    #[test]
    fn a_fault_that_comes_late_or_not_at_all_is_named_with_the_reason() {
        assert_eq!(untimely(&[]), None);
        assert_eq!(untimely(&[fault(2.0, 2.24), fault(4.0, 4.0)]), None);
        let late = "SIGKILL to the subject at 2 s came 0.26 s late";
        assert_eq!(untimely(&[fault(2.0, 2.26)]).as_deref(), Some(late));
        // The one before it was over in time: this one is late for another reason.
        let late = untimely(&[fault(0.5, 0.5), fault(2.0, 2.26)]);
        assert_eq!(
            late.as_deref(),
            Some("SIGKILL to the subject at 2 s came 0.26 s late")
        );
        let slow = Injected {
            ready_s: Some(4.5),
            ..fault(2.0, 2.0)
        };
        let missed = Injected {
            missed: true,
            ..fault(4.0, 4.5)
        };
        let expected = "SIGKILL to the subject at 4 s wasn't made, because the fault before it \
                        wasn't over; leave more time between the two for what has to start again";
        assert_eq!(untimely(&[slow, missed]).as_deref(), Some(expected));
    }
}

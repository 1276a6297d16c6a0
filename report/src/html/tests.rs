//! Pages are checked as a browser would read them.

use measure::counters::ErrorKind;
use measure::hold::{Facts, Memory, Tally};
use measure::host::Host;
use measure::record::{EndedBy, Generator};
use measure::time::Time;

use crate::agents::Agents;
use crate::agents::tests::fleet;
use crate::alone::balanced;

#[test]
fn a_hold_is_drawn_over_time_and_what_its_peer_says_stays_text() {
    let mut plan = load::hold::Plan::new("http://127.0.0.1:1/<script>").expect("a plan");
    plan.connections = 1_000;
    let mut tally = Tally::new();
    tally.start(Time(0));
    for second in 1..=4_u64 {
        (0..250).for_each(|_| tally.stands(1_000, None));
        tally.counts.attempts += 250;
        tally.lost(ErrorKind::EarlyClose);
        tally.tick(Time(second * 1_000_000_000));
    }
    tally.stands(1_000, Some(2_000_000));
    (tally.survived, tally.standing) = (996, 997);
    let broadcast = tally.broadcasts.of(0);
    (broadcast.said, broadcast.listeners) = (1, 996);
    (0..995).for_each(|after| tally.broadcasts.heard(0, 1_000_000 + after));
    let facts = Facts {
        asked: 1_000,
        plan: plan.recorded(),
        host: Host::default(),
        generator: Generator {
            engine: "fleet".to_owned(),
            ..Generator::default()
        },
        opening_s: 2.0,
        duration_s: 2.0,
        broadcast_s: 0.0,
        memory: Memory::default(),
        resident: vec![(0.5, 1 << 20), (3.5, 2 << 20)],
        valid: true,
        warnings: vec!["<b>beware</b>".to_owned()],
        ended_by: EndedBy::Duration,
    };
    let agents = Agents::read(&fleet()).expect("agents");
    let record = load::hold::Record::assemble(&tally, facts);
    let page = super::hold(&record, Some(&agents));
    // Who is lost, and on what machine the other was, whose words stay text.
    for said in [
        "lost: b",
        "A &lt;b&gt;CPU&lt;/b&gt;, 4 CPUs",
        "io_uring, ringside 0.1.0",
    ] {
        assert!(page.contains(said), "{said}: {page}");
    }
    assert!(!super::hold(&record, None).contains("id=\"agents\""));
    balanced(page.trim_end());
    for there in [
        "99.6000 % survived 2.00 s: 996 of 1,000",
        "Attempts and openings",
        "Losses by cause",
        "early close",
        "Memory of this process",
        "held from here",
        "1 said, heard by 995 of 996 listeners",
        "heard by the last",
        "last to hear",
        "include the back-off (100.00ms..30.00s) and the wait for a turn",
        "--open-rate (5000 per second)",
        "&lt;b&gt;beware",
        "which sent nothing of the load",
    ] {
        assert!(page.contains(there), "{there} is missing in {page}");
    }
    assert!(!page.contains("<script"), "{page}");
    // Without heartbeats there's nothing to draw of their times.
    assert!(!page.contains("Round trips of heartbeats"), "{page}");
}

//! What coordinators and agents hear: nothing panics, whatever it is, and what is taken for a
//! message means the same when it's said again.
#![no_main]

use fleet::agent::{self, Agent};
use fleet::chain::Digest;
use fleet::coordinator::{self, Coordinator, OnLoss};
use fleet::counted::{Counted, Interval};
use fleet::message::{Report, Said, decode, encode};
use fleet::{Epoch, Name};
use libfuzzer_sys::fuzz_target;
use measure::time::Time;

fuzz_target!(|data: &[u8]| {
    heard(data);
    let Ok(heard) = decode(data) else {
        return;
    };
    let again = encode("0.1.0", &heard.said).expect("it isn't longer than it was");
    assert_eq!(
        decode(&again).map(|again| again.said),
        Ok(heard.said.clone())
    );
    if let Said::Report {
        report: Report::Interval { payload, .. },
        ..
    } = &heard.said
    {
        counted(payload);
    }
});

/// Both machines hear it, more than once.
fn heard(data: &[u8]) {
    let mut actions = Vec::new();
    let settings = agent::Settings {
        name: Name::new("agent-7").expect("a name"),
        epoch: Epoch {
            number: 1_700_000_000_000,
            nonce: 5,
        },
        program: "0.1.0".to_owned(),
        workers: 2,
        room_bytes: 1 << 20,
    };
    let mut agent = Agent::new(settings, &mut actions);
    let mut actions = Vec::new();
    let settings = coordinator::Settings {
        run: Name::new("nightly_1").expect("a name"),
        epoch: Epoch::default(),
        series: Epoch::default(),
        program: "0.1.0".to_owned(),
        agents: 2,
        workers: None,
        plan: Vec::new().into(),
        same: Digest::of(b"something"),
        data: Vec::new(),
        on_loss: OnLoss::Continue,
        gather_ns: 1_000_000_000,
        prepare_ns: 1_000_000_000,
        longest_ns: 1_000_000_000,
        returns: true,
    };
    let mut coordinator =
        Coordinator::new(settings, Time(0), &mut actions).expect("settings that can be done");
    for second in 0..4 {
        let now = Time(second * 1_000_000_000);
        agent.handle(agent::Event::Heard(data), now, &mut Vec::new());
        coordinator.handle(coordinator::Event::Heard(data), now, &mut Vec::new());
    }
}

/// What an agent says that it has counted.
fn counted(payload: &[u8]) {
    let Ok((interval, _)) = postcard::take_from_bytes::<Interval>(payload) else {
        return;
    };
    let mut counted = interval.counted;
    let is_sound = counted.check().is_ok();
    let is_unpacked = match &counted {
        Counted::Run(counted) => counted.unpack().is_ok(),
        Counted::Hold(held) => held.unpack().is_ok(),
    };
    assert_eq!(is_unpacked, is_sound);
    if is_sound {
        let same = counted.clone();
        let _ = counted.merge(&same);
    }
}

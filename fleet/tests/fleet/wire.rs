//! Messages come back as they were said, and nothing else is taken for one.

use bytes::Bytes;
use fleet::agent::{self, Agent};
use fleet::chain::{Chain, Digest};
use fleet::coordinator::{self, Coordinator, OnLoss};
use fleet::division::places;
use fleet::message::{
    Check, CheckOf, DataFile, Ended, LIST_MAX, MAGIC, MESSAGE_MAX, Order, Report, Said, Stop,
    Unread, WIRE, decode, encode,
};
use fleet::{Epoch, Member, Name, Sender, Text, Totals, Verdict};
use measure::host::Host;
use measure::random::Random;
use measure::time::Time;

pub(crate) fn member() -> Member {
    Member {
        agent: Name::new("agent-7").unwrap(),
        epoch: Epoch {
            number: 1_700_000_000_000,
            nonce: 5,
        },
    }
}

/// One of each.
pub(crate) fn all() -> Vec<Said> {
    let run = Name::new("nightly_1").unwrap();
    let orders = orders().into_iter().map(|order| Said::Order {
        run: run.clone(),
        epoch: member().epoch,
        order,
    });
    let reports = reports()
        .into_iter()
        .chain(apart())
        .map(|report| Said::Report {
            run: run.clone(),
            from: member(),
            report,
        });
    orders.chain(reports).collect()
}

fn orders() -> Vec<Order> {
    let (to, digest) = (member(), Digest::of(b"something"));
    let place = places(&[2, 3]).unwrap()[1];
    vec![
        Order::Claim,
        Order::Taken,
        Order::Call {
            agents: 8,
            series: Epoch {
                number: 7,
                nonce: 9,
            },
        },
        Order::Plan {
            to: to.clone(),
            place,
            plan: Bytes::from_static(b"a plan"),
            same: digest,
            data: vec![DataFile {
                name: Text::new("users.csv"),
                digest,
            }],
        },
        Order::Refuse {
            to: to.clone(),
            why: Text::new("its agents were complete"),
        },
        Order::Ping {
            to: to.clone(),
            number: 3,
            sent_ns: u64::MAX,
        },
        Order::Begin {
            to: to.clone(),
            at_ns: 12,
            place,
        },
        Order::Beat,
        Order::Ask {
            to: to.clone(),
            numbers: vec![(0, 5), (7, u64::MAX)],
        },
        Order::Move {
            to: to.clone(),
            places: vec![place],
            turn: 1,
        },
        Order::Stop { why: Stop::Asked },
        Order::Recall,
        Order::Confirm {
            to: to.clone(),
            chain: digest,
        },
        Order::Who,
        Order::Halt,
    ]
}

fn verdict() -> Verdict {
    let sender = Sender {
        version: Text::new("0.1.0"),
        engine: Text::new("io_uring"),
        cpu_us: Some(1_500_000),
        memory_peak_bytes: Some(1 << 20),
        ..Sender::default()
    };
    Verdict {
        limited: true,
        reason: Text::new("CPUs"),
        sender: sender.on(&Host {
            kernel: Some("Linux 6.18".to_owned()),
            ..Host::default()
        }),
    }
}

fn reports() -> Vec<Report> {
    let digest = Digest::of(b"something");
    let place = places(&[2, 3]).unwrap()[1];
    vec![
        Report::Follows {
            epoch: member().epoch,
        },
        Report::Hello { workers: 4 },
        Report::Ready {
            plan: digest,
            checks: [
                CheckOf::Policy,
                CheckOf::Memory,
                CheckOf::Descriptors,
                CheckOf::Data,
                CheckOf::Plan,
            ]
            .map(|of| Check {
                of,
                fault: Some(Text::new("1 GB is too little")),
            })
            .to_vec(),
        },
        Report::Pong {
            number: 3,
            sent_ns: 1,
            heard_ns: 2,
        },
        Report::Begun { at_ns: 3 },
        Report::Missed { late_ns: 4 },
        Report::Alive { count: 5 },
        Report::Interval {
            number: 6,
            chain: digest,
            totals: Totals::default(),
            payload: Bytes::from(vec![7; 3000]),
        },
        Report::Moved { turn: 1 },
        Report::Last {
            count: 9,
            chain: digest,
            totals: Totals::default(),
            ended: Ended::Failed(Text::new("its driver broke")),
            verdict: verdict(),
            troubles: vec![Text::new("the disk is full")],
            silence_ns: 10,
            late_ns: Some(11),
        },
        Report::Standing {
            workers: 4,
            place: Some(place),
            taken: vec![place],
            turn: 2,
            same: Some(digest),
            has_begun: true,
            count: 3,
        },
        Report::Released,
    ]
}

/// What agents say that aren't, or not any more, in the run.
fn apart() -> [Report; 4] {
    [
        Report::Busy {
            run: Name::new("nightly_2").unwrap(),
        },
        Report::Halted,
        Report::Left {
            why: Text::new("it was stopped on its own machine"),
        },
        Report::Here {
            workers: 4,
            run: Some(Name::new("nightly_1").unwrap()),
            is_loading: true,
        },
    ]
}

#[test]
fn a_message_comes_back_as_it_was_said() {
    for said in all() {
        let heard = decode(&encode("0.1.0", &said).unwrap()).unwrap();
        assert_eq!((heard.said, heard.program), (said, Text::new("0.1.0")));
    }
}

#[test]
fn damaged_messages_are_refused_or_make_sense_and_never_panic() {
    let mut random = Random::seeded(11);
    let messages: Vec<Bytes> = all()
        .iter()
        .map(|said| encode("0.1.0", said).unwrap())
        .collect();
    let mut refused = 0;
    for round in 0..60_000 {
        let mut bytes = messages[random.index(messages.len())].to_vec();
        match round % 4 {
            0 => bytes.truncate(random.index(bytes.len())),
            1 => bytes.extend((0..1 + random.index(20)).map(|_| random.next() as u8)),
            _ => {}
        }
        for _ in 0..random.below(4) {
            if !bytes.is_empty() {
                let place = random.index(bytes.len());
                bytes[place] ^= 1 << random.below(8);
            }
        }
        match decode(&bytes) {
            Ok(heard) => {
                let again = decode(&encode("0.1.0", &heard.said).unwrap()).unwrap();
                assert_eq!(again.said, heard.said);
            }
            Err(_) => refused += 1,
        }
    }
    assert!(refused > 20_000, "{refused}");
    for length in 0..200 {
        let noise: Vec<u8> = (0..length).map(|_| random.next() as u8).collect();
        assert!(decode(&noise).is_err());
        let noise = [&encode("0.1.0", &all()[0]).unwrap()[..10], &noise[..]].concat();
        let _ = decode(&noise);
    }
}

/// The coordinator and the agent that the messages here are of.
fn machines() -> (Coordinator, Agent) {
    let agent = agent::Settings {
        name: member().agent,
        epoch: member().epoch,
        program: "0.1.0".to_owned(),
        workers: 2,
        room_bytes: 1 << 20,
    };
    let coordinator = coordinator::Settings {
        run: Name::new("nightly_1").unwrap(),
        epoch: member().epoch,
        series: Epoch::default(),
        program: "0.1.0".to_owned(),
        agents: 1,
        workers: None,
        plan: Bytes::from_static(b"something"),
        same: Digest::of(b"something"),
        data: Vec::new(),
        on_loss: OnLoss::Rebalance,
        gather_ns: u64::MAX,
        prepare_ns: u64::MAX,
        longest_ns: u64::MAX,
        returns: false,
    };
    let coordinator = Coordinator::new(coordinator, Time(0), &mut Vec::new()).unwrap();
    (coordinator, Agent::new(agent, &mut Vec::new()))
}

#[test]
fn machines_survive_whatever_they_hear() {
    let messages: Vec<Bytes> = all()
        .iter()
        .map(|said| encode("0.1.0", said).unwrap())
        .collect();
    let (mut said, mut unread) = (0, 0);
    for seed in 0..300 {
        let mut random = Random::seeded(seed);
        let (mut coordinator, mut agent) = machines();
        let mut now = 0;
        for _ in 0..150 {
            now += random.length(30);
            let mut bytes = messages[random.index(messages.len())].to_vec();
            if random.below(3) == 0 {
                let place = random.index(bytes.len());
                bytes[place] ^= 1 << random.below(8);
            }
            let (mut orders, mut reports) = (Vec::new(), Vec::new());
            coordinator.handle(coordinator::Event::Heard(&bytes), Time(now), &mut orders);
            agent.handle(agent::Event::Heard(&bytes), Time(now), &mut reports);
            said += orders.len() + reports.len();
        }
        unread += coordinator.unread() + agent.unread();
    }
    assert!(
        said > 10_000 && unread > 5_000,
        "they say {said}, and can't read {unread}"
    );
}

#[test]
fn another_version_is_refused_with_both_named() {
    let header = postcard::to_allocvec(&(MAGIC, WIRE + 1, "9.9.9")).unwrap();
    let said = [&header[..], b"whatever it says"].concat();
    let why = decode(&said).unwrap_err();
    let program = Text::new("9.9.9");
    let wire = WIRE + 1;
    assert_eq!(why, Unread::OtherVersion { wire, program });
    let why = why.to_string();
    let versions = [WIRE, wire].map(|version| format!("version {version}"));
    assert!(why.contains("9.9.9") && versions.iter().all(|part| why.contains(part)));
}

#[test]
fn a_list_or_a_message_that_is_too_long_is_no_message() {
    let run = Name::new("run").unwrap();
    let asks = |count| Said::Order {
        run: run.clone(),
        epoch: Epoch::default(),
        order: Order::Ask {
            to: member(),
            numbers: vec![(0, 1); count],
        },
    };
    assert!(decode(&encode("1", &asks(LIST_MAX)).unwrap()).is_ok());
    let long = encode("1", &asks(LIST_MAX + 1)).unwrap();
    assert_eq!(decode(&long), Err(Unread::Damaged));
    let interval = Said::Report {
        run: run.clone(),
        from: member(),
        report: Report::Interval {
            number: 0,
            chain: Digest::of(b""),
            totals: Totals::default(),
            payload: Bytes::from(vec![0; MESSAGE_MAX]),
        },
    };
    assert!(encode("1", &interval).unwrap_err().bytes > MESSAGE_MAX);
    assert_eq!(decode(&vec![0; MESSAGE_MAX + 1]), Err(Unread::TooLong));
}

#[test]
fn names_are_parts_of_subjects_and_texts_command_no_terminal() {
    for name in ["", "a.b", "a*", "a>", "a b", "a/b", "ä", &"a".repeat(65)] {
        assert!(Name::new(name).is_err(), "{name}");
    }
    let name = Name::new(&"a".repeat(64)).unwrap();
    assert_eq!(name.to_string().len(), 64);
    let text = Text::new("\x1b[2J red");
    assert!(!text.to_string().contains('\x1b'));
    assert!(String::from(Text::new(&"ä".repeat(5000))).len() <= 1024);
}

#[test]
fn a_chain_is_of_its_run_its_agent_and_all_before() {
    let run = Name::new("run").unwrap();
    let empty = Chain::new(&run, &member());
    let other = Chain::new(&Name::new("run2").unwrap(), &member());
    let chains = [
        empty,
        other,
        empty.with(b"a"),
        empty.with(b"a").with(b"b"),
        empty.with(b"b").with(b"a"),
        empty.with(b"ab"),
        empty.with(b"").with(b"ab"),
    ];
    for (place, chain) in chains.iter().enumerate() {
        let same = chains.iter().filter(|one| one.digest() == chain.digest());
        assert_eq!(same.count(), 1, "{place}");
    }
    assert_eq!(chains[3].length(), 2);
}

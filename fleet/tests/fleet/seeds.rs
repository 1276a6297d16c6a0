//! The seeds of the fuzz target are the messages that there are: those of an older form would be
//! refused at once, and try nothing. `BLESS=1` writes them again.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use fleet::Totals;
use fleet::chain::Chain;
use fleet::counted::{Counted, Interval};
use fleet::message::{Report, Said, decode, encode};

use crate::wire::{all, member};
use crate::world::counts::{ENDS, HELD, RUN, SECONDS};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/seeds/fleet")
}

/// What says what an agent counted, by the name of its file.
fn of_interval(interval: &Interval, like: &Said) -> Said {
    let Said::Report { run, from, .. } = like.clone() else {
        panic!("agents say what they counted");
    };
    let payload = Bytes::from(postcard::to_allocvec(interval).unwrap());
    let chain = Chain::new(&run, &member()).with(&payload);
    let report = Report::Interval {
        number: 0,
        chain: chain.digest(),
        totals: Totals::of(&interval.counted),
        payload,
    };
    Said::Report { run, from, report }
}

/// All of them by the names of their files.
fn seeds() -> BTreeMap<String, Said> {
    let mut seeds = BTreeMap::new();
    for said in all() {
        let what = match &said {
            Said::Order { order, .. } => format!("{order:?}"),
            Said::Report { report, .. } => format!("{report:?}"),
        };
        let word = what.split(|c: char| !c.is_alphabetic()).next().unwrap();
        if word == "Interval" {
            for (name, at) in [("run", RUN), ("hold", HELD), ("ends", ENDS)] {
                let of_it = of_interval(&SECONDS[at.start], &said);
                seeds.insert(format!("interval-{name}"), of_it);
            }
        } else {
            seeds.insert(word.to_lowercase(), said);
        }
    }
    seeds
}

#[test]
fn every_seed_is_a_message_and_every_message_has_one() {
    let seeds = seeds();
    if std::env::var_os("BLESS").is_some() {
        for file in fs::read_dir(folder()).unwrap() {
            fs::remove_file(file.unwrap().path()).unwrap();
        }
        for (name, said) in &seeds {
            let bytes = encode("0.1.0", said).unwrap();
            fs::write(folder().join(name), bytes).unwrap();
        }
    }
    let files = fs::read_dir(folder()).unwrap();
    let mut kept: BTreeMap<String, Vec<u8>> = files
        .map(|file| {
            let path = file.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            (name, fs::read(path).unwrap())
        })
        .collect();
    for (name, said) in seeds {
        let seed = kept.remove(&name).unwrap_or_default();
        let heard = decode(&seed).map(|heard| heard.said);
        assert_eq!(heard, Ok(said), "{name}: write it again with BLESS=1");
        let Ok(Said::Report {
            report: Report::Interval { payload, .. },
            ..
        }) = heard
        else {
            continue;
        };
        let (interval, rest) = postcard::take_from_bytes::<Interval>(&payload).unwrap();
        interval.counted.check().unwrap();
        assert!(rest.is_empty(), "{name}");
        assert_ne!(interval.counted, Counted::default(), "{name}");
    }
    assert!(kept.is_empty(), "no messages: {:?}", kept.keys());
}

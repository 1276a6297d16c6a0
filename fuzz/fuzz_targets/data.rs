//! Data files: no bytes make a reader panic, rows don't depend on how the file was read, and
//! workers together get the rows that one alone gets.
//!
//! The first byte of an input chooses the format, the order and the number of workers, the second
//! how many bytes are read at once, and the rest is the file.
#![no_main]

use std::io;
use std::sync::Arc;

use libfuzzer_sys::{Corpus, fuzz_target};
use plan::workload::Order;
use workload::data::{BLOCK_BYTES, Data, Dealing, Kind, Store};

/// So many rows of each worker are looked at.
const ROWS_MAX: usize = 64;

fuzz_target!(|input: &[u8]| -> Corpus {
    let &[choice, block, ref file @ ..] = input else {
        return Corpus::Reject;
    };
    let kind = match choice & 3 {
        0 => Kind::JsonLines,
        1 => Kind::Csv(Some(b'\t')),
        _ => Kind::Csv(None),
    };
    let order = match choice >> 2 & 3 {
        0 => Order::InTurn,
        1 => Order::Once,
        2 => Order::Random,
        _ => Order::Zipf(0.5 + f64::from(choice >> 4) / 8.0),
    };
    let dealing = Dealing {
        order,
        workers: u32::from(choice >> 4) + 1,
        seed: 7,
    };
    let whole = dealt(file, kind, dealing, BLOCK_BYTES);
    let pieces = dealt(file, kind, dealing, usize::from(block) + 1);
    assert_eq!(pieces, whole, "blocks of {} bytes", usize::from(block) + 1);

    let is_in_turn = matches!(order, Order::InTurn | Order::Once);
    if let (true, Ok(several)) = (is_in_turn, whole) {
        let alone = Dealing {
            workers: 1,
            ..dealing
        };
        let one = dealt(file, kind, alone, BLOCK_BYTES).unwrap_or_default();
        let one = one.first().map(Vec::as_slice).unwrap_or_default();
        check_turns(&several, one);
    }
    Corpus::Keep
});

/// One row after the other, as the workers take them, is what one worker takes, up to the first
/// that can't be read.
fn check_turns(several: &[Vec<Taken>], one: &[Taken]) {
    for (place, taken) in one.iter().enumerate() {
        if taken.is_err() {
            return;
        }
        let worker = &several[place % several.len()];
        assert_eq!(
            worker.get(place / several.len()),
            Some(taken),
            "row {place}"
        );
    }
}

/// A row's values, or what is wrong with it.
type Taken = Result<Vec<Vec<u8>>, String>;

/// What each worker gets.
fn dealt(
    file: &[u8],
    kind: Kind,
    dealing: Dealing,
    block: usize,
) -> Result<Vec<Vec<Taken>>, String> {
    let store = Box::new(Memory(file.to_owned()));
    let data = Data::read(store, "data", kind, dealing, block).map_err(|no| no.to_string())?;
    let data = Arc::new(data);
    let of = |worker| {
        let mut rows = data.rows_of(worker).map_err(|no| no.to_string())?;
        let mut taken = Vec::new();
        while taken.len() < ROWS_MAX {
            match rows.next() {
                Ok(None) => break,
                Ok(Some(row)) => {
                    let values = (0..data.columns().len()).map(|column| row.value(column).to_vec());
                    taken.push(Ok(values.collect()));
                }
                Err(broken) => {
                    taken.push(Err(broken.to_string()));
                    break;
                }
            }
        }
        Ok(taken)
    };
    (0..dealing.workers).map(of).collect()
}

/// A file that is in memory.
#[derive(Debug)]
struct Memory(Vec<u8>);

impl Store for Memory {
    fn length(&self) -> u64 {
        self.0.len() as u64
    }

    fn read_at(&self, into: &mut [u8], offset: u64) -> io::Result<usize> {
        let rest = self.0.get(offset as usize..).unwrap_or_default();
        let count = rest.len().min(into.len());
        into[..count].copy_from_slice(&rest[..count]);
        Ok(count)
    }

    fn is_unchanged(&self) -> io::Result<bool> {
        Ok(true)
    }
}

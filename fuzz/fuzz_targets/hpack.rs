//! Header compression: no block makes a decoder panic, or allocate more than its table and the
//! block explain; and the fields of every block survive our own encoder.
//!
//! The first byte of an input is the size of the table, in units of 16 bytes. Then come blocks,
//! each behind its length in a byte. A length of 255 stands for a change of the size instead, which
//! the next byte has.
#![no_main]

#[path = "../support/heap.rs"]
mod heap;

use libfuzzer_sys::{Corpus, fuzz_target};
use proto::http2::hpack::{Decoder, Encoder, Error, Field, Indexing, TABLE_BYTES_DEFAULT};

/// Small, so that the fuzzer reaches it.
const LIST_BYTES_MAX: usize = 2048;

/// What the decoder keeps for long literals, whatever its table.
const DRAFT_BYTES: usize = 4096;

type Pairs = Vec<(Vec<u8>, Vec<u8>)>;

fuzz_target!(|data: &[u8]| -> Corpus {
    let Some((&size, mut input)) = data.split_first() else {
        return Corpus::Reject;
    };
    let mut table_bytes_max = usize::from(size) * 16;
    let mut table_bytes_most = table_bytes_max;
    let mut decoder = Decoder::new(table_bytes_max as u32);
    let mut ours = Ours::new();
    while let Some((&length, rest)) = input.split_first() {
        if let (255, &[size, ref rest @ ..]) = (length, rest) {
            table_bytes_max = usize::from(size) * 16;
            table_bytes_most = table_bytes_most.max(table_bytes_max);
            decoder.set_table_max(table_bytes_max as u32);
            input = rest;
            continue;
        }
        let (block, rest) = rest.split_at(rest.len().min(length.into()));
        input = rest;

        let held = decoder.memory_bytes();
        let generation = decoder.generation();
        let mut list_bytes = 0;
        let (decoded, peak) = heap::peak_bytes(|| {
            decoder.decode(block, LIST_BYTES_MAX, &mut |name, value| {
                list_bytes += name.len() + value.len() + 32;
            })
        });
        assert!(list_bytes <= LIST_BYTES_MAX, "the list is longer than its limit");
        let bound = 3 * table_bytes_most + DRAFT_BYTES + block.len() * 8 / 5;
        assert!(held + peak <= bound, "{held} + {peak} bytes, the bound is {bound}");
        match decoded {
            Err(Error::Compression(_)) => {
                let again = decoder.decode(b"\x82", LIST_BYTES_MAX, &mut |_, _| {});
                assert_eq!(again, decoded, "a broken decoder went on");
                return Corpus::Keep;
            }
            Err(Error::ListTooLong) => {}
            // A block that left the table alone means the same once more.
            Ok(()) if decoder.generation() == generation => {
                let fields = fields_of(&mut decoder, block);
                assert_eq!(decoder.generation(), generation, "the same block changed the table");
                ours.carry(&fields);
            }
            Ok(()) => {}
        }
    }
    Corpus::Keep
});

/// A connection of our encoder with our decoder.
struct Ours {
    encoder: Encoder,
    decoder: Decoder,
}

impl Ours {
    fn new() -> Ours {
        Ours {
            encoder: Encoder::new(512),
            decoder: Decoder::new(TABLE_BYTES_DEFAULT),
        }
    }

    fn carry(&mut self, fields: &Pairs) {
        let kinds = [Indexing::Yes, Indexing::Yes, Indexing::No, Indexing::Never];
        let mut block = Vec::new();
        let all = fields.iter().zip(kinds.into_iter().cycle());
        let all = all.map(|((name, value), indexing)| Field {
            name,
            value,
            indexing,
        });
        self.encoder.encode(all, &mut block);
        assert_eq!(fields_of(&mut self.decoder, &block), *fields);
    }
}

fn fields_of(decoder: &mut Decoder, block: &[u8]) -> Pairs {
    let mut fields = Vec::new();
    let decoded = decoder.decode(block, usize::MAX, &mut |name, value| {
        fields.push((name.to_vec(), value.to_vec()));
    });
    assert_eq!(decoded, Ok(()), "a good block");
    fields
}

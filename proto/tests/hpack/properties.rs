//! What holds for all fields, tables and blocks, tried with random ones.

use proto::http2::hpack::{Decoder, Encoder, Error, Field, Indexing, TABLE_BYTES_DEFAULT};

use measure::random::Random;

type Pairs = Vec<(Vec<u8>, Vec<u8>)>;

#[test]
fn what_is_encoded_is_decoded_whatever_the_tables_do() {
    let mut sent_again = 0;
    for seed in 0..200 {
        let mut random = Random::seeded(seed);
        let mut encoder = Encoder::new(random.index(8192) as u32);
        let mut decoder = Decoder::new(TABLE_BYTES_DEFAULT);
        // A block that may be sent again while the generation is this.
        let mut kept: Option<(u64, Vec<u8>, Pairs)> = None;
        for _ in 0..100 {
            for _ in 0..random.index(8).saturating_sub(5) {
                let size = random.index(6000) as u32;
                encoder.set_peer_max(size);
                decoder.set_table_max(size);
            }
            if let Some((generation, block, fields)) = &kept
                && encoder.generation() == *generation
            {
                let before = decoder.generation();
                assert_eq!(
                    decode(&mut decoder, block),
                    Ok(fields.clone()),
                    "seed {seed}"
                );
                assert_eq!(decoder.generation(), before, "seed {seed}");
                sent_again += 1;
            }
            let fields = random_fields(&mut random);
            let before = encoder.generation();
            let mut block = Vec::new();
            let all = fields.iter().map(|(name, value, indexing)| Field {
                name,
                value,
                indexing: *indexing,
            });
            encoder.encode(all, &mut block);
            let pairs: Pairs = fields
                .into_iter()
                .map(|(name, value, _)| (name, value))
                .collect();
            assert_eq!(
                decode(&mut decoder, &block),
                Ok(pairs.clone()),
                "seed {seed}"
            );
            if encoder.generation() == before {
                kept = Some((before, block, pairs));
            }
        }
    }
    assert!(sent_again > 100, "only {sent_again} blocks were sent again");
}

#[test]
fn repeated_fields_cost_a_byte_or_two_each_and_no_memory() {
    let mut random = Random::seeded(1);
    let fields = random_fields(&mut random);
    let mut encoder = Encoder::new(TABLE_BYTES_DEFAULT);
    let mut decoder = Decoder::new(TABLE_BYTES_DEFAULT);
    let all = || {
        fields.iter().map(|(name, value, _)| Field {
            name,
            value,
            indexing: Indexing::Yes,
        })
    };
    let mut block = Vec::new();
    encoder.encode(all(), &mut block);
    decode(&mut decoder, &block).expect("our own block");
    let memory_bytes = decoder.memory_bytes();
    for _ in 0..100 {
        block.clear();
        encoder.encode(all(), &mut block);
        assert!(block.len() <= 2 * fields.len());
        decode(&mut decoder, &block).expect("our own block");
        assert_eq!(decoder.memory_bytes(), memory_bytes);
    }
}

#[test]
fn no_bytes_make_a_decoder_panic_or_grow() {
    for seed in 0..20_000 {
        let mut random = Random::seeded(seed);
        let mut decoder = Decoder::new(256);
        for _ in 0..4 {
            let length = random.index(120);
            let block: Vec<u8> = (0..length).map(|_| random_octet(&mut random)).collect();
            let mut bytes = 0;
            let decoded = decoder.decode(&block, 1000, &mut |name, value| {
                bytes += name.len() + value.len() + 32;
            });
            assert!(bytes <= 1000, "seed {seed}: {bytes} bytes were shown");
            // Three times the table, and what is kept for drafts.
            let memory_bytes = decoder.memory_bytes();
            assert!(
                memory_bytes <= 3 * 256 + 4096,
                "seed {seed}: {memory_bytes}"
            );
            if let Err(error @ Error::Compression(_)) = decoded {
                assert_eq!(decode(&mut decoder, b"\x82"), Err(error), "seed {seed}");
            }
        }
    }
}

/// Few names and values, so that they meet again, of all lengths and of all bytes.
fn random_fields(random: &mut Random) -> Vec<(Vec<u8>, Vec<u8>, Indexing)> {
    const NAMES: [&[u8]; 8] = [
        b":method",
        b":status",
        b"date",
        b"x",
        b"x-long-name-of-a-field",
        b"cookie",
        b"",
        b"accept",
    ];
    const VALUES: [&[u8]; 6] = [b"GET", b"200", b"", b"gzip, deflate", b"a\0b\xff", b"12345"];
    let count = random.index(10) + 1;
    (0..count)
        .map(|_| {
            let name = NAMES[random.index(NAMES.len())].to_vec();
            let value = match random.index(3) {
                0 => (0..random.index(200))
                    .map(|_| random.index(256) as u8)
                    .collect(),
                1 => format!("value-{}", random.index(20)).into_bytes(),
                _ => VALUES[random.index(VALUES.len())].to_vec(),
            };
            let indexing = match random.index(4) {
                0 => Indexing::No,
                1 => Indexing::Never,
                _ => Indexing::Yes,
            };
            (name, value, indexing)
        })
        .collect()
}

/// Often one that starts a field which is possible, else a block would hardly get anywhere.
fn random_octet(random: &mut Random) -> u8 {
    match random.index(5) {
        0 => 0x80 | random.index(64) as u8,
        1 => [0x40, 0x00, 0x10, 0x3e, 0x20, 0x7f, 0xff][random.index(7)],
        2 => random.index(8) as u8,
        3 => 0x80 | random.index(8) as u8,
        _ => random.index(256) as u8,
    }
}

fn decode(decoder: &mut Decoder, block: &[u8]) -> Result<Pairs, Error> {
    let mut pairs = Vec::new();
    decoder.decode(block, usize::MAX, &mut |name, value| {
        pairs.push((name.to_vec(), value.to_vec()));
    })?;
    Ok(pairs)
}

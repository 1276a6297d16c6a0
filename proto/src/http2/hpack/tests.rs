//! The examples of RFC 7541 Appendix C, and what a peer may not do.

use super::primitives::{read_integer, write_integer};
use super::*;

/// A block, its fields, and the dynamic table behind it, newest entry first, with its size.
struct Example {
    block: &'static str,
    fields: &'static str,
    table: &'static str,
    size_bytes: usize,
}

/// Appendix C.3: requests without Huffman coding.
const REQUESTS: [Example; 3] = [
    Example {
        block: "8286 8441 0f77 7777 2e65 7861 6d70 6c65 2e63 6f6d",
        fields: ":method=GET|:scheme=http|:path=/|:authority=www.example.com",
        table: ":authority=www.example.com",
        size_bytes: 57,
    },
    Example {
        block: "8286 84be 5808 6e6f 2d63 6163 6865",
        fields: ":method=GET|:scheme=http|:path=/|:authority=www.example.com\
            |cache-control=no-cache",
        table: "cache-control=no-cache|:authority=www.example.com",
        size_bytes: 110,
    },
    Example {
        block: "8287 85bf 400a 6375 7374 6f6d 2d6b 6579 0c63 7573 746f 6d2d 7661 6c75 65",
        fields: ":method=GET|:scheme=https|:path=/index.html|:authority=www.example.com\
            |custom-key=custom-value",
        table: "custom-key=custom-value|cache-control=no-cache|:authority=www.example.com",
        size_bytes: 164,
    },
];

/// Appendix C.4: the same with Huffman coding.
const REQUESTS_HUFFMAN: [&str; 3] = [
    "8286 8441 8cf1 e3c2 e5f2 3a6b a0ab 90f4 ff",
    "8286 84be 5886 a8eb 1064 9cbf",
    "8287 85bf 4088 25a8 49e9 5ba9 7d7f 8925 a849 e95b b8e8 b4bf",
];

/// Appendix C.5: responses without Huffman coding, in a table of 256 bytes.
const RESPONSES: [Example; 3] = [
    Example {
        block: "4803 3330 3258 0770 7269 7661 7465 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133 \
            2032 303a 3133 3a32 3120 474d 546e 1768 7474 7073 3a2f 2f77 7777 2e65 7861 6d70 6c65 \
            2e63 6f6d",
        fields: ":status=302|cache-control=private|date=Mon, 21 Oct 2013 20:13:21 GMT\
            |location=https://www.example.com",
        table: "location=https://www.example.com|date=Mon, 21 Oct 2013 20:13:21 GMT\
            |cache-control=private|:status=302",
        size_bytes: 222,
    },
    Example {
        block: "4803 3330 37c1 c0bf",
        fields: ":status=307|cache-control=private|date=Mon, 21 Oct 2013 20:13:21 GMT\
            |location=https://www.example.com",
        table: ":status=307|location=https://www.example.com|date=Mon, 21 Oct 2013 20:13:21 GMT\
            |cache-control=private",
        size_bytes: 222,
    },
    Example {
        block: "88c1 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133 2032 303a 3133 3a32 3220 474d \
            54c0 5a04 677a 6970 7738 666f 6f3d 4153 444a 4b48 514b 425a 584f 5157 454f 5049 5541 \
            5851 5745 4f49 553b 206d 6178 2d61 6765 3d33 3630 303b 2076 6572 7369 6f6e 3d31",
        fields: ":status=200|cache-control=private|date=Mon, 21 Oct 2013 20:13:22 GMT\
            |location=https://www.example.com|content-encoding=gzip\
            |set-cookie=foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1",
        table: "set-cookie=foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1\
            |content-encoding=gzip|date=Mon, 21 Oct 2013 20:13:22 GMT",
        size_bytes: 215,
    },
];

/// Appendix C.6: the same with Huffman coding.
const RESPONSES_HUFFMAN: [&str; 3] = [
    "4882 6402 5885 aec3 771a 4b61 96d0 7abe 9410 54d4 44a8 2005 9504 0b81 66e0 82a6 2d1b ff6e \
        919d 29ad 1718 63c7 8f0b 97c8 e9ae 82ae 43d3",
    "4883 640e ffc1 c0bf",
    "88c1 6196 d07a be94 1054 d444 a820 0595 040b 8166 e084 a62d 1bff c05a 839b d9ab 77ad 94e7 \
        821d d7f2 e6c7 b335 dfdf cd5b 3960 d5af 2708 7f36 72c1 ab27 0fb5 291f 9587 3160 65c0 03ed \
        4ee5 b106 3d50 07",
];

#[test]
fn integers_are_those_of_appendix_c_1() {
    for (value, prefix_bits, expected) in [(10, 5, "0a"), (1337, 5, "1f9a0a"), (42, 8, "2a")] {
        let mut out = Vec::new();
        write_integer(&mut out, 0, prefix_bits, value);
        assert_eq!(out, hex(expected));
        let mut input = &out[..];
        assert_eq!(
            read_integer(&mut input, prefix_bits).map(|n| n as usize),
            Ok(value)
        );
        assert!(input.is_empty());
    }
}

#[test]
fn integers_up_to_32_bits_come_back_and_larger_ones_are_refused() {
    for prefix_bits in 4..=8 {
        let edge = (1usize << prefix_bits) - 1;
        for value in [0, edge - 1, edge, edge + 127, edge + 128, u32::MAX as usize] {
            let mut out = Vec::new();
            write_integer(&mut out, 0, prefix_bits, value);
            let read = read_integer(&mut &out[..], prefix_bits);
            assert_eq!(read.map(|n| n as usize), Ok(value), "{prefix_bits} bits");
        }
        let mut out = Vec::new();
        write_integer(&mut out, 0, prefix_bits, u32::MAX as usize + 1);
        assert_eq!(
            read_integer(&mut &out[..], prefix_bits),
            Err(&INTEGER_TOO_LARGE)
        );
    }
    let mut zeros = &hex("ff 80 80 80 80 80 00")[..];
    assert_eq!(read_integer(&mut zeros, 7), Err(&INTEGER_TOO_LONG));
}

#[test]
fn single_fields_are_those_of_appendix_c_2() {
    let cases = [
        (
            "400a 6375 7374 6f6d 2d6b 6579 0d63 7573 746f 6d2d 6865 6164 6572",
            "custom-key=custom-header",
            55,
        ),
        (
            "040c 2f73 616d 706c 652f 7061 7468",
            ":path=/sample/path",
            0,
        ),
        (
            "1008 7061 7373 776f 7264 0673 6563 7265 74",
            "password=secret",
            0,
        ),
        ("82", ":method=GET", 0),
    ];
    for (block, field, size_bytes) in cases {
        let mut decoder = Decoder::new(TABLE_BYTES_DEFAULT);
        assert_eq!(decode(&mut decoder, &hex(block)), Ok(field.to_owned()));
        assert_eq!(table_of(&decoder.table).1, size_bytes);
    }
}

#[test]
fn requests_are_those_of_appendix_c_3_and_c_4() {
    check_decoding(TABLE_BYTES_DEFAULT, &REQUESTS, REQUESTS.map(|e| e.block));
    check_decoding(TABLE_BYTES_DEFAULT, &REQUESTS, REQUESTS_HUFFMAN);
}

#[test]
fn responses_are_those_of_appendix_c_5_and_c_6() {
    check_decoding(256, &RESPONSES, RESPONSES.map(|e| e.block));
    check_decoding(256, &RESPONSES, RESPONSES_HUFFMAN);
}

#[test]
fn the_encoder_writes_appendix_c_4() {
    let mut encoder = Encoder::new(TABLE_BYTES_DEFAULT);
    for (example, expected) in REQUESTS.iter().zip(REQUESTS_HUFFMAN) {
        assert_eq!(encode(&mut encoder, example.fields), hex(expected));
        let table = table_of(&encoder.table);
        assert_eq!(table, (example.table.to_owned(), example.size_bytes));
    }
}

#[test]
fn the_encoder_keeps_the_table_of_appendix_c_5() {
    let mut encoder = Encoder::new(256);
    let mut decoder = Decoder::new(TABLE_BYTES_DEFAULT);
    for example in &RESPONSES {
        let block = encode(&mut encoder, example.fields);
        assert_eq!(decode(&mut decoder, &block), Ok(example.fields.to_owned()));
        for table in [&encoder.table, &decoder.table] {
            let expected = (example.table.to_owned(), example.size_bytes);
            assert_eq!(table_of(table), expected);
        }
    }
}

#[test]
fn what_the_standard_forbids_fails_for_ever() {
    let cases: [(&str, Fault); 16] = [
        ("80", &INDEX_ZERO),
        ("be", &INDEX_BEYOND),
        ("7e 01 61", &INDEX_BEYOND),
        ("0f 2f 01 61", &INDEX_BEYOND),
        ("ff ff ff ff ff 0f", &INTEGER_TOO_LARGE),
        ("ff 80 80 80 80 80 00", &INTEGER_TOO_LONG),
        ("ff 80", &CUT_OFF),
        ("40", &CUT_OFF),
        ("40 01 61", &CUT_OFF),
        ("40 01 61 02 61", &CUT_OFF),
        ("00 82 ff ff 01 61", &HUFFMAN_PADDING),
        ("04 84 ff ff ff ff", &HUFFMAN_EOS),
        ("04 81 1e", &HUFFMAN_PADDING_BITS),
        ("82 20", &UPDATE_LATE),
        ("3f e2 1f", &UPDATE_TOO_LARGE),
        ("3f ff ff ff ff 7f", &INTEGER_TOO_LARGE),
    ];
    for (block, fault) in cases {
        let mut decoder = Decoder::new(TABLE_BYTES_DEFAULT);
        let expected = Err(Error::Compression(fault));
        assert_eq!(decode(&mut decoder, &hex(block)), expected, "{block}");
        assert_eq!(decode(&mut decoder, &hex("82")), expected, "after {block}");
    }
}

#[test]
fn a_smaller_table_must_be_confirmed_by_the_next_block() {
    let smaller = || {
        let mut decoder = Decoder::new(TABLE_BYTES_DEFAULT);
        decode(&mut decoder, &hex("4001 6101 62")).expect("a literal");
        decoder.set_table_max(100);
        decoder.set_table_max(200);
        decoder
    };
    let missing = Err(Error::Compression(&UPDATE_MISSING));
    assert_eq!(decode(&mut smaller(), &hex("82")), missing, "no update");
    assert_eq!(decode(&mut smaller(), &hex("3f a9 01 82")), missing, "200");
    let too_large = Err(Error::Compression(&UPDATE_TOO_LARGE));
    assert_eq!(decode(&mut smaller(), &hex("3f 45 3f aa 01")), too_large);

    let mut decoder = smaller();
    // To 100, which keeps the entry, and up to 200.
    let fields = decode(&mut decoder, &hex("3f 45 3f a9 01 be"));
    assert_eq!(fields, Ok("a=b".to_owned()));
    assert_eq!(decode(&mut decoder, &hex("be")), Ok("a=b".to_owned()));
    // An update to 0 empties it.
    let gone = Err(Error::Compression(&INDEX_BEYOND));
    assert_eq!(decode(&mut decoder, &hex("20 3f a9 01 be")), gone);
}

#[test]
fn a_larger_table_needs_no_confirmation() {
    let mut decoder = Decoder::new(100);
    decoder.set_table_max(1000);
    assert_eq!(
        decode(&mut decoder, &hex("82")),
        Ok(":method=GET".to_owned())
    );
    assert_eq!(decode(&mut decoder, &hex("3f c9 07")), Ok(String::new()));
    assert_eq!(decoder.table.size_bytes_max(), 1000);
}

#[test]
fn a_list_beyond_its_limit_leaves_the_table_in_step() {
    let mut decoder = Decoder::new(TABLE_BYTES_DEFAULT);
    let mut seen = 0;
    // Two entries of 34 bytes each, then `:method`, which alone would fit.
    let decoded = decoder.decode(&hex("4001 6101 62 4001 6301 64 82"), 60, &mut |_, _| {
        seen += 1
    });
    assert_eq!(decoded, Err(Error::ListTooLong));
    assert_eq!(seen, 1, "what comes behind the limit is not shown");
    assert_eq!(
        decode(&mut decoder, &hex("be bf")),
        Ok("c=d|a=b".to_owned())
    );
    let exact = decoder.decode(&hex("be bf"), 68, &mut |_, _| {});
    assert_eq!(exact, Ok(()));
    let below = decoder.decode(&hex("be bf"), 67, &mut |_, _| {});
    assert_eq!(below, Err(Error::ListTooLong));
}

#[test]
fn an_entry_may_take_its_name_from_one_that_it_evicts() {
    // RFC 7541 §4.4. Entries of 64 and then 99 bytes in a table of 100.
    let name = "n".repeat(30);
    let mut decoder = Decoder::new(100);
    let first = [&hex("40 1e")[..], name.as_bytes(), &hex("02 76 76")].concat();
    decode(&mut decoder, &first).expect("a literal");
    let value = "w".repeat(37);
    let second = [&hex("7e 25")[..], value.as_bytes()].concat();
    assert_eq!(decode(&mut decoder, &second), Ok(format!("{name}={value}")));
    assert_eq!(table_of(&decoder.table), (format!("{name}={value}"), 99));
}

#[test]
fn an_entry_larger_than_the_table_empties_it() {
    let mut decoder = Decoder::new(64);
    decode(&mut decoder, &hex("4001 6101 62")).expect("a literal");
    let long = [&hex("7e 20")[..], &[b'x'; 32]].concat();
    let expected = format!("a={}", "x".repeat(32));
    assert_eq!(decode(&mut decoder, &long), Ok(expected));
    assert_eq!(table_of(&decoder.table), (String::new(), 0));
}

#[test]
fn a_field_larger_than_the_table_is_written_without_indexing() {
    let mut encoder = Encoder::new(64);
    let kept = encode(&mut encoder, "a=b");
    let long = format!("a={}", "x".repeat(32));
    let block = encode(&mut encoder, &long);
    assert_eq!(table_of(&encoder.table), ("a=b".to_owned(), 34));
    let mut decoder = Decoder::new(TABLE_BYTES_DEFAULT);
    assert_eq!(decode(&mut decoder, &kept), Ok("a=b".to_owned()));
    assert_eq!(decode(&mut decoder, &block), Ok(long));
}

#[test]
fn a_secret_is_never_indexed_even_if_the_tables_know_it() {
    let mut encoder = Encoder::new(TABLE_BYTES_DEFAULT);
    encode(&mut encoder, "password=x");
    let secret = Field {
        name: b"password",
        value: b"x",
        indexing: Indexing::Never,
    };
    let mut block = Vec::new();
    encoder.encode([secret], &mut block);
    assert_eq!(block, hex("1f 2f 01 78"));
}

#[test]
fn an_encoder_tells_every_change_of_its_table() {
    let mut encoder = Encoder::new(1 << 20);
    let mut decoder = Decoder::new(TABLE_BYTES_DEFAULT);
    let block = encode(&mut encoder, "a=b");
    assert_eq!(block[0], 0x40, "no update without a change");
    assert_eq!(decode(&mut decoder, &block), Ok("a=b".to_owned()));

    for sizes in [&[0, 4096][..], &[64], &[100, 50, 80], &[1 << 16]] {
        for &size in sizes {
            encoder.set_peer_max(size);
            decoder.set_table_max(size);
        }
        let block = encode(&mut encoder, "a=b|c=d");
        assert_eq!(decode(&mut decoder, &block), Ok("a=b|c=d".to_owned()));
        assert_eq!(table_of(&encoder.table), table_of(&decoder.table));
        let last = sizes[sizes.len() - 1] as usize;
        assert_eq!(decoder.table.size_bytes_max(), last);
    }
}

#[test]
fn the_generation_changes_exactly_when_the_table_does() {
    let mut encoder = Encoder::new(TABLE_BYTES_DEFAULT);
    let mut decoder = Decoder::new(TABLE_BYTES_DEFAULT);
    let mut step = |fields: &str, changes: bool| {
        let before = (encoder.generation(), decoder.generation());
        let block = encode(&mut encoder, fields);
        decode(&mut decoder, &block).expect("our own block");
        let after = (encoder.generation(), decoder.generation());
        assert_eq!(before.0 != after.0, changes, "encoding {fields}");
        assert_eq!(before.1 != after.1, changes, "decoding {fields}");
    };
    step("a=b|:method=GET", true);
    step("a=b|:method=GET", false);
    step("a=c", true);
    step("a=b|a=c", false);

    let before = encoder.generation();
    encoder.set_peer_max(100);
    assert_ne!(
        encoder.generation(),
        before,
        "a kept block must not hide the update"
    );
    let before = encoder.generation();
    encode(&mut encoder, "a=b|a=c");
    assert_ne!(
        encoder.generation(),
        before,
        "a block with an update is not for keeping"
    );
}

#[test]
fn a_table_without_entries_holds_no_memory() {
    let mut decoder = Decoder::new(TABLE_BYTES_DEFAULT);
    let mut encoder = Encoder::new(TABLE_BYTES_DEFAULT);
    let block = encode(&mut encoder, ":method=GET|:path=/|:status=200");
    decode(&mut decoder, &block).expect("our own block");
    assert_eq!((decoder.memory_bytes(), encoder.memory_bytes()), (0, 0));
    assert!(size_of::<Decoder>() <= 128 && size_of::<Encoder>() <= 128);
}

#[test]
fn a_table_that_is_full_holds_three_times_its_size_at_most() {
    let mut encoder = Encoder::new(u32::MAX);
    let mut decoder = Decoder::new(TABLE_BYTES_DEFAULT);
    let mut steady = 0;
    for n in 0..10_000 {
        // Names and values of no to 60 bytes: from many small entries to few long ones.
        let field = format!("{}={n:0width$}", "n".repeat(n % 7), width = n / 200);
        let block = encode(&mut encoder, &field);
        decode(&mut decoder, &block).expect("our own block");
        let memory_bytes = decoder.memory_bytes();
        assert!(
            memory_bytes <= 3 * TABLE_BYTES_DEFAULT as usize,
            "{memory_bytes}"
        );
        steady = memory_bytes;
    }
    assert_eq!(table_of(&encoder.table), table_of(&decoder.table));

    // A draft that was long is given back, and so is a table that became small.
    let long = format!("{}={}", "n".repeat(50_000), "v".repeat(50_000));
    let block = encode(&mut encoder, &long);
    assert_eq!(decode(&mut decoder, &block), Ok(long));
    assert!(decoder.memory_bytes() <= steady + 2 * TABLE_BYTES_DEFAULT as usize);
    decode(&mut decoder, &hex("20")).expect("an update to 0");
    assert!(decoder.memory_bytes() <= TABLE_BYTES_DEFAULT as usize);
}

fn check_decoding(table_bytes: u32, examples: &[Example], blocks: [&str; 3]) {
    let mut decoder = Decoder::new(table_bytes);
    for (example, block) in examples.iter().zip(blocks) {
        let fields = decode(&mut decoder, &hex(block));
        assert_eq!(fields, Ok(example.fields.to_owned()), "{block}");
        let table = table_of(&decoder.table);
        assert_eq!(table, (example.table.to_owned(), example.size_bytes));
    }
}

fn table_of(table: &table::Table) -> (String, usize) {
    let mut text = Vec::new();
    let mut size_bytes = 0;
    for (name, value) in table.newest_first() {
        text.push(field_text(name, value));
        size_bytes += name.len() + value.len() + FIELD_OVERHEAD_BYTES;
    }
    (text.join("|"), size_bytes)
}

fn decode(decoder: &mut Decoder, block: &[u8]) -> Result<String, Error> {
    let mut fields = Vec::new();
    decoder.decode(block, usize::MAX, &mut |name, value| {
        fields.push(field_text(name, value));
    })?;
    Ok(fields.join("|"))
}

fn encode(encoder: &mut Encoder, fields: &str) -> Vec<u8> {
    let mut out = Vec::new();
    let fields = fields.split('|').map(|field| {
        let (name, value) = field.split_once('=').expect("a field");
        Field {
            name: name.as_bytes(),
            value: value.as_bytes(),
            indexing: Indexing::Yes,
        }
    });
    encoder.encode(fields, &mut out);
    out
}

fn field_text(name: &[u8], value: &[u8]) -> String {
    format!(
        "{}={}",
        String::from_utf8_lossy(name),
        String::from_utf8_lossy(value)
    )
}

fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text
        .chars()
        .filter(|c| *c != ' ')
        .map(|c| c.to_digit(16).expect("a hexadecimal digit") as u8)
        .collect();
    digits
        .chunks(2)
        .map(|pair| pair[0] << 4 | pair[1])
        .collect()
}

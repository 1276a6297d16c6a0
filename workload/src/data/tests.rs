use std::fs;
use std::sync::Arc;

use plan::workload::Order;

use super::store::Memory;
use super::*;

const ORDERS: [Order; 4] = [Order::InTurn, Order::Once, Order::Random, Order::Zipf(1.1)];

fn read(text: &[u8], kind: Kind, dealing: Dealing, block: usize) -> Result<Arc<Data>, Broken> {
    let name = match kind {
        Kind::Csv(_) => "users.csv",
        Kind::JsonLines => "users.jsonl",
    };
    Data::read(Box::new(Memory::new(text)), name, kind, dealing, block).map(Arc::new)
}

fn dealing(order: Order, workers: u32) -> Dealing {
    let seed = 7;
    Dealing {
        order,
        workers,
        seed,
    }
}

/// The next `count` rows, each with its values in brackets; and the mistake that ends them, if any.
fn rows(rows: &mut Rows, count: usize) -> Vec<String> {
    let columns = rows.columns().len();
    let mut seen = Vec::new();
    while seen.len() < count {
        match rows.next() {
            Ok(Some(row)) => {
                let value = |column| String::from_utf8_lossy(row.value(column)).into_owned();
                seen.push(
                    (0..columns)
                        .map(|column| format!("[{}]", value(column)))
                        .collect(),
                );
            }
            Ok(None) => break,
            Err(broken) => {
                seen.push(broken.to_string());
                break;
            }
        }
    }
    seen
}

/// `count` rows of each worker.
fn dealt(data: &Arc<Data>, workers: u32, count: usize) -> Vec<Vec<String>> {
    let of = |worker| rows(&mut data.rows_of(worker).unwrap(), count);
    (0..workers).map(of).collect()
}

fn numbered(count: usize) -> String {
    let rows = (0..count).map(|row| format!("{row},{}\n", "x".repeat(row * 7 % 40)));
    ["id,pad\n".to_owned()].into_iter().chain(rows).collect()
}

/// Every way to write rows that there is, and what they say.
const CSV: &str = "\u{feff}id, name ,\"no\"\"te\"\r\n1,Ann,\r\n\r\n2,\"B, Bo\",\"a\r\nb\n\"\n\n\n\
                   3,\"\"\"C\"\"\",\"\"\n4, d ,é\n";
const CSV_ROWS: [&str; 4] = [
    "[1][Ann][]",
    "[2][B, Bo][a\r\nb\n]",
    "[3][\"C\"][]",
    "[4][ d ][é]",
];
const JSON: &str = "{\"id\":1,\"name\":\"A\\u006en\"}\r\n\n{\"name\":null,\"x\":[{}],\"id\":2.50}\n\
                    \r\n{\"id\":{\"a\": 1},\"name\":\"\\ud83e\\udd80\\n\"}";
const JSON_ROWS: [&str; 3] = ["[1][Ann]", "[2.50][]", "[{\"a\": 1}][\u{1f980}\n]"];

#[test]
fn rows_are_the_same_wherever_blocks_begin_and_end() {
    let table: [(&str, Kind, &[&str]); 2] = [
        (CSV, Kind::Csv(None), &CSV_ROWS),
        (JSON, Kind::JsonLines, &JSON_ROWS),
    ];
    for (text, kind, expected) in table {
        let once = read(text.as_bytes(), kind, dealing(Order::Once, 1), BLOCK_BYTES).unwrap();
        assert_eq!(dealt(&once, 1, 99), [expected]);
        for order in ORDERS {
            let whole = read(text.as_bytes(), kind, dealing(order, 3), BLOCK_BYTES).unwrap();
            let expected = dealt(&whole, 3, 20);
            for block in 1..=text.len() + 1 {
                let data = read(text.as_bytes(), kind, dealing(order, 3), block).unwrap();
                assert_eq!(data.columns(), whole.columns());
                assert_eq!(
                    dealt(&data, 3, 20),
                    expected,
                    "{order:?}, blocks of {block}"
                );
            }
        }
    }
}

#[test]
fn workers_get_the_rows_in_turn_that_one_would_get() {
    for count in [1, 2, 3, 7, 50] {
        let text = numbered(count);
        let all = rows_of_one(&text, count);
        for workers in [1, 2, 3, 8, 64] {
            for block in [16, 100, BLOCK_BYTES] {
                let data = read(
                    text.as_bytes(),
                    Kind::Csv(None),
                    dealing(Order::InTurn, workers),
                    block,
                );
                let turns = 2 * count + 3;
                let dealt = dealt(&data.unwrap(), workers, turns);
                for (worker, dealt) in dealt.iter().enumerate() {
                    let places = (worker..).step_by(workers as usize).take(turns);
                    let expected = places.map(|place| &all[place % count]);
                    assert!(
                        dealt.iter().eq(expected),
                        "{count} rows, {worker} of {workers}"
                    );
                }
            }
        }
    }
}

fn rows_of_one(text: &str, count: usize) -> Vec<String> {
    let data = read(
        text.as_bytes(),
        Kind::Csv(None),
        dealing(Order::Once, 1),
        BLOCK_BYTES,
    );
    let all = dealt(&data.unwrap(), 1, count + 1).remove(0);
    assert_eq!(all.len(), count);
    all
}

#[test]
fn rows_that_are_used_once_are_all_used_and_none_twice() {
    for (count, workers) in [(1, 1), (1, 5), (10, 3), (1000, 7)] {
        let text = numbered(count);
        let data = read(
            text.as_bytes(),
            Kind::Csv(None),
            dealing(Order::Once, workers),
            64,
        );
        let data = data.unwrap();
        let mut seen = dealt(&data, workers, count + 1).concat();
        seen.sort();
        let mut all = rows_of_one(&text, count);
        all.sort();
        assert_eq!(seen, all);
        let mut last = data.rows_of(workers - 1).unwrap();
        assert!(rows(&mut last, count).len() <= count);
        for _ in 0..3 {
            assert!(last.next().unwrap().is_none());
        }
    }
}

#[test]
fn rows_at_random_follow_their_law_and_their_seed() {
    let (count, draws) = (200_usize, 20_000);
    let text = numbered(count);
    for (order, block) in [
        (Order::Random, 64),
        (Order::Random, BLOCK_BYTES),
        (Order::Zipf(0.8), 64),
    ] {
        let exponent = match order {
            Order::Zipf(exponent) => exponent,
            _ => 0.0,
        };
        let seeded = |seed| {
            let dealing = Dealing {
                seed,
                ..dealing(order, 2)
            };
            let data = read(text.as_bytes(), Kind::Csv(None), dealing, block);
            dealt(&data.unwrap(), 2, draws)
        };
        let dealt = seeded(7);
        assert_eq!(dealt, seeded(7));
        assert!(dealt != seeded(8) && dealt[0] != dealt[1]);
        let mut seen = vec![0.0; count];
        for row in dealt.iter().flatten() {
            let id = row[1..].split(']').next().unwrap();
            seen[id.parse::<usize>().unwrap()] += 1.0;
        }
        let weights: Vec<f64> = (1..=count).map(|n| (n as f64).powf(-exponent)).collect();
        let whole: f64 = weights.iter().sum();
        let parts = seen.iter().zip(&weights).map(|(seen, weight)| {
            let expected = weight / whole * (2 * draws) as f64;
            (seen - expected) * (seen - expected) / expected
        });
        let (sum, freedom): (f64, f64) = (parts.sum(), count as f64 - 1.0);
        let limit = freedom + 4.0 * (2.0 * freedom).sqrt();
        assert!(sum < limit, "{order:?}: {sum} of {freedom}");
    }
}

#[test]
fn what_is_wrong_with_a_file_is_said_with_its_line() {
    let quotes = "a quote opens here and isn't closed, neither within 1 MiB nor by the end of the \
                  file; close it, or double it if it belongs to the value";
    let endless = "the row is longer than 1 MiB, the most that a row may have; is this a file of \
                   rows, one a line?";
    let long = format!("id\n1\n{}\n", "x".repeat((1 << 20) + 1));
    let long_quote = format!("id,b\n1,\"a\nb\"\n5,\n\"{}\n", "2,3\n".repeat(1 << 18));
    let (long, long_quote) = (long.as_bytes(), long_quote.as_bytes());
    let table: Vec<(&[u8], &str, String)> =
        vec![
        (b"", "1", "the file is empty; begin it with a line of column names".into()),
        (b"\n\r\n", "1", "the file is empty; begin it with a line of column names".into()),
        (b"id,name\n", "1", "no row follows the header; add one".into()),
        (b"\n\nid,name\n\n", "3", "no row follows the header; add one".into()),
        (b"id,,x\n1,2,3\n", "1", "column 2 has no name; give it one".into()),
        (b"a,b,a\n1,2,3\n", "1", "columns 1 and 3 are both named \"a\"; rename one".into()),
        (b"\xff\xfei\0d\0\n\0", "1", "the file is UTF-16; save it as UTF-8".into()),
        (b"id\xe9,b\n1,2\n", "1", "the header isn't UTF-8; save the file as UTF-8".into()),
        (
            b"id,b\n1,2\n\n1,2,3\n",
            "4",
            "3 values, but the header has 2; put values that contain ',' in quotes".into(),
        ),
        (
            b"id;b\r\n1;\"x\r\ny\"\r\n1\r\n",
            "4",
            "1 value, but the header has 2; add what's missing, if only the separators".into(),
        ),
        (b"id,b\n1,2\n1,\"x\ny\"\n2,\"x\n2,3\n", "5", quotes.into()),
        (
            b"id,b\n1,5\" pipe\n1,2\n",
            "2",
            "a quote stands inside a value that has none around it; put the value in quotes and \
             double those inside (RFC 4180)"
                .into(),
        ),
        (
            b"id,b\n1,\"x\ny\"\x1bz\n",
            "3",
            "\"\\u{1b}z\" stands behind a closing quote; if the quote belongs to the value, \
             double it (RFC 4180)"
                .into(),
        ),
        (long, "3", endless.into()),
        (long_quote, "5", quotes.into()),
    ];
    for (text, line, what) in table {
        for (order, workers) in [(Order::Once, 1), (Order::Once, 2), (Order::Random, 1)] {
            for block in [1000, BLOCK_BYTES] {
                let said = first_mistake(text, Kind::Csv(None), dealing(order, workers), block);
                assert_eq!(
                    said,
                    format!("users.csv:{line}: {what}"),
                    "{order:?}, {workers}"
                );
            }
        }
    }
}

/// The mistake at opening, or the first that some worker meets.
fn first_mistake(text: &[u8], kind: Kind, dealing: Dealing, block: usize) -> String {
    let data = match read(text, kind, dealing, block) {
        Ok(data) => data,
        Err(broken) => return broken.to_string(),
    };
    let dealt = dealt(&data, dealing.workers, 50).concat();
    let mistake = dealt.iter().find(|row| row.starts_with("users."));
    mistake.cloned().unwrap_or_default()
}

#[test]
fn what_is_wrong_with_json_lines_is_said_with_its_line() {
    let table = [
        ("", "1: the file is empty; write one JSON object a line"),
        ("{}\n", "1: the first line has no column; add one"),
        (
            "{\"a\":1,\"a\":2}\n",
            "1: columns 1 and 2 are both named \"a\"; rename one",
        ),
        (
            "{\"a\":1}\n\n{\"b\":1}\n",
            "3: \"a\" is missing, which the first line has; add it, as null if it has no value",
        ),
        (
            "{\"a\":1}\n{\"a\":\n1}\n",
            "2: EOF while parsing a value, at byte 5 of the line; write one JSON object a line",
        ),
        (
            "{\"a\":1}\n  \n",
            "2: EOF while parsing a value, at byte 2 of the line; write one JSON object a line",
        ),
        (
            "{\"a\":1}\n{\"a\":\"\\ud800\"}\n",
            "2: \\ud800 is half of a character; write the other half behind it",
        ),
        (
            "[1]\n",
            "1: invalid type: sequence, expected an object; write one JSON object a line",
        ),
    ];
    for (text, said) in table {
        let dealing = dealing(Order::Once, 1);
        let got = first_mistake(text.as_bytes(), Kind::JsonLines, dealing, 5);
        assert_eq!(got, format!("users.jsonl:{said}"), "{text:?}");
    }
}

#[test]
fn a_dealing_that_cannot_be_is_refused() {
    for exponent in [0.0, -1.0, 101.0, f64::NAN, f64::INFINITY] {
        let dealing = dealing(Order::Zipf(exponent), 1);
        let said = first_mistake(b"id\n1\n", Kind::Csv(None), dealing, BLOCK_BYTES);
        let start = format!("users.csv: the exponent {exponent} of Zipf's law is out of range");
        assert!(said.starts_with(&start), "{said}");
    }
    let many = vec!["x"; COLUMNS_MAX + 1].join(",");
    let said = first_mistake(many.as_bytes(), Kind::Csv(None), dealing(Order::Once, 1), 9);
    assert!(
        said.starts_with("users.csv:1: 1025 columns are too many: at most 1024"),
        "{said}"
    );
    let data = read(b"id\n1\n", Kind::Csv(None), dealing(Order::Once, 2), 9).unwrap();
    assert!(data.rows_of(2).is_err());
}

/// What is said about a file in a temporary folder, whose own name is cut off.
fn opened(folder: &Path, name: &str) -> Result<Data, String> {
    let data = plan::workload::Data {
        file: folder.join(name),
        order: Order::InTurn,
    };
    Data::open(&data, 1, 7).map_err(|Invalid(text)| {
        let folder = format!("{}/", folder.display());
        text.strip_prefix(&folder).unwrap_or(&text).to_owned()
    })
}

#[test]
fn a_file_that_cannot_be_read_is_named() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("rows.csv")).unwrap();
    fs::write(folder.path().join("rows.TSV"), "a,b\tc\n1\t2\n").unwrap();
    let table = [
        (
            "rows.json",
            "rows.json: the name's ending doesn't say what it holds; name it .csv or .tsv, or \
             .jsonl or .ndjson for JSON lines",
        ),
        (
            "gone.csv",
            "gone.csv: can't read it: No such file or directory (os error 2); give the path of a \
             readable file",
        ),
        (
            "rows.csv",
            "rows.csv: it's a directory; give a file of rows in it",
        ),
    ];
    for (name, said) in table {
        assert_eq!(opened(folder.path(), name).err().as_deref(), Some(said));
    }
    assert_eq!(
        opened(folder.path(), "rows.TSV").unwrap().columns(),
        ["a,b", "c"]
    );
    let said = opened(Path::new("/dev"), "null").err().unwrap();
    assert!(said.starts_with("null: the name's ending"), "{said}");
    let devices = folder.path().join("null.csv");
    std::os::unix::fs::symlink("/dev/null", devices).unwrap();
    let said = opened(folder.path(), "null.csv").err().unwrap();
    assert!(
        said.starts_with("null.csv: it isn't a regular file"),
        "{said}"
    );
}

#[test]
fn a_file_that_changes_in_the_midst_of_it_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rows.csv");
    // Longer than what a worker has in memory.
    let text = numbered(20_000);
    for length in [text.len() / 2, text.len() - 1, text.len() + 1] {
        fs::write(&path, &text).unwrap();
        let mut rows = Arc::new(opened(folder.path(), "rows.csv").unwrap())
            .rows_of(0)
            .unwrap();
        assert!(rows.next().unwrap().is_some());
        let mut changed = text.clone().into_bytes();
        changed.resize(length, b'\n');
        fs::write(&path, changed).unwrap();
        let said = self::rows(&mut rows, 40_000).pop().unwrap();
        assert!(
            said.contains("rows.csv: it changed while rows were being read"),
            "{said}"
        );
    }
}

#[test]
fn the_examples_of_the_reference_say_what_it_says() {
    let reference = include_str!("../../../docs/src/reference/data.md");
    let table: [(&str, Kind, &[&str]); 2] = [
        (
            "```csv\n",
            Kind::Csv(None),
            &["[1][Ann][]", "[2][Bo, Jr.][said \"hello\",\nand left]"],
        ),
        (
            "```json\n",
            Kind::JsonLines,
            &["[1][Ann][[\"a\", \"b\"]]", "[2][Bo][]"],
        ),
    ];
    for (fence, kind, expected) in table {
        let (_, example) = reference.split_once(fence).unwrap();
        let (example, _) = example.split_once("```").unwrap();
        let once = dealing(Order::Once, 1);
        let data = read(example.as_bytes(), kind, once, BLOCK_BYTES).unwrap();
        assert_eq!(dealt(&data, 1, 9), [expected]);
    }
}

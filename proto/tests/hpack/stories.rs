//! The public test cases (see `tests/data/hpack`): what other encoders wrote is read, and what they
//! were given survives ours.

use std::fs;
use std::path::{Path, PathBuf};

use proto::http2::hpack::{Decoder, Encoder, Field, Indexing, TABLE_BYTES_DEFAULT};

/// The fields of a block as `name=value` lines.
type List = String;

/// What one encoder made of a story.
struct Telling {
    encoder: String,
    /// With the size of the table that was announced before the block, if one was.
    blocks: Vec<(Option<u32>, Vec<u8>)>,
}

#[test]
fn the_blocks_of_other_encoders_mean_their_fields() {
    let mut blocks = 0;
    for (story, lists, tellings) in stories() {
        for telling in tellings {
            let mut decoder = Decoder::new(TABLE_BYTES_DEFAULT);
            assert_eq!(telling.blocks.len(), lists.len());
            for ((size, block), list) in telling.blocks.iter().zip(&lists) {
                if let Some(size) = size {
                    decoder.set_table_max(*size);
                }
                let read = decode(&mut decoder, block);
                assert_eq!(read, *list, "{} of {}", story.display(), telling.encoder);
                blocks += 1;
            }
        }
    }
    assert!(blocks >= 280, "only {blocks} blocks were found");
}

#[test]
fn our_blocks_carry_the_fields_of_every_story() {
    for (story, lists, tellings) in stories() {
        // With the sizes that the story is told with elsewhere, and all in one connection.
        let mut encoder = Encoder::new(u32::MAX);
        let mut decoder = Decoder::new(TABLE_BYTES_DEFAULT);
        for telling in tellings {
            for ((size, _), list) in telling.blocks.iter().zip(&lists) {
                if let Some(size) = size {
                    encoder.set_peer_max(*size);
                    decoder.set_table_max(*size);
                }
                let mut block = Vec::new();
                encoder.encode(list.lines().map(field), &mut block);
                assert_eq!(decode(&mut decoder, &block), *list, "{}", story.display());
            }
        }
    }
}

#[test]
fn our_blocks_are_no_longer_than_those_of_others() {
    let mut encoder = Encoder::new(TABLE_BYTES_DEFAULT);
    for (story, lists, tellings) in stories() {
        let mut block = Vec::new();
        for list in &lists {
            encoder.encode(list.lines().map(field), &mut block);
        }
        // One that stores everything too and codes with Huffman.
        let other = tellings.iter().find(|t| t.encoder == "python-hpack");
        let blocks = other.map_or(&[][..], |telling| &telling.blocks);
        let other_bytes: usize = blocks.iter().map(|(_, block)| block.len()).sum();
        let (ours, theirs) = (block.len(), other_bytes);
        assert!(
            ours <= theirs + theirs / 20,
            "{}: {ours}, {theirs}",
            story.display()
        );
    }
}

/// All stories: the folder, the lists of fields, and how encoders told it.
fn stories() -> impl Iterator<Item = (PathBuf, Vec<List>, Vec<Telling>)> {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/hpack");
    let folders = sorted(&data).into_iter().filter(|path| path.is_dir());
    folders.map(|story| {
        let lists = read(&story.join("fields.txt"));
        let lists = lists
            .split("\n\n")
            .map(|list| list.trim_end_matches('\n').to_owned());
        let tellings = sorted(&story)
            .into_iter()
            .filter(|path| !path.ends_with("fields.txt"));
        let tellings = tellings.map(|path| Telling {
            encoder: path
                .file_stem()
                .map_or_else(String::new, |stem| stem.to_string_lossy().into()),
            blocks: blocks(&read(&path)),
        });
        let (lists, tellings) = (lists.collect(), tellings.collect());
        (story, lists, tellings)
    })
}

fn blocks(text: &str) -> Vec<(Option<u32>, Vec<u8>)> {
    let mut size = None;
    let mut blocks = Vec::new();
    for line in text.lines() {
        match line.strip_prefix("size ") {
            Some(bytes) => size = Some(bytes.parse().expect("a size")),
            None => blocks.push((size.take(), hex(line))),
        }
    }
    blocks
}

fn sorted(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("the folder of the test cases");
    let mut paths: Vec<_> = entries
        .map(|entry| entry.expect("an entry").path())
        .collect();
    paths.sort();
    paths
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn field(line: &str) -> Field<'_> {
    let (name, value) = line.split_once('=').expect("a name and a value");
    Field {
        name: name.as_bytes(),
        value: value.as_bytes(),
        indexing: Indexing::Yes,
    }
}

fn decode(decoder: &mut Decoder, block: &[u8]) -> List {
    let mut lines = Vec::new();
    let decoded = decoder.decode(block, usize::MAX, &mut |name, value| {
        let line = [name, b"=", value].concat();
        lines.push(String::from_utf8(line).expect("the stories are text"));
    });
    assert_eq!(decoded, Ok(()));
    lines.join("\n")
}

fn hex(text: &str) -> Vec<u8> {
    let digit = |c: u8| char::from(c).to_digit(16).expect("a hexadecimal digit") as u8;
    let pairs = text.as_bytes().chunks(2);
    pairs
        .map(|pair| digit(pair[0]) << 4 | digit(pair[1]))
        .collect()
}

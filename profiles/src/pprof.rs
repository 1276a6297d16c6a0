//! Reads a profile that a program made of itself in the format of pprof
//! (<https://github.com/google/pprof/blob/main/proto/profile.proto>), as Go's `net/http/pprof`
//! serves it, and folds its stacks.
//!
//! It comes from outside: whatever is in it, the worst that happens is a sentence. Only what a
//! flame graph needs is read: samples, the functions at their locations, and names.

use std::collections::HashMap;
use std::io::Read;

use flate2::read::GzDecoder;
use prost::Message;

use crate::flame::{DEPTH_MAX, Folded, clean};

/// The most bytes of a profile, unpacked. One of some seconds has a few hundred thousand.
const BYTES_MAX: u64 = 8 * 1024 * 1024;
/// The most samples: each is another stack, and a program has some thousand.
const SAMPLES_MAX: usize = 50_000;
/// Letters of a name that are kept.
const NAME_LETTERS_MAX: usize = 160;
/// How data packed by gzip begins (RFC 1952, 2.3.1).
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// A profile; the numbers are those of `profile.proto`, and strings are places in a table.
#[derive(Clone, PartialEq, Message)]
struct Profile {
    /// What each value of a sample is.
    #[prost(message, repeated, tag = "1")]
    sample_type: Vec<ValueType>,
    #[prost(message, repeated, tag = "2")]
    sample: Vec<Sample>,
    #[prost(message, repeated, tag = "3")]
    mapping: Vec<Mapping>,
    #[prost(message, repeated, tag = "4")]
    location: Vec<Location>,
    #[prost(message, repeated, tag = "5")]
    function: Vec<Function>,
    #[prost(string, repeated, tag = "6")]
    string_table: Vec<String>,
}

#[derive(Clone, PartialEq, Message)]
struct ValueType {
    #[prost(int64, tag = "2")]
    unit: i64,
}

#[derive(Clone, PartialEq, Message)]
struct Sample {
    /// From the innermost function on.
    #[prost(uint64, repeated, tag = "1")]
    location_id: Vec<u64>,
    #[prost(int64, repeated, tag = "2")]
    value: Vec<i64>,
}

#[derive(Clone, PartialEq, Message)]
struct Mapping {
    #[prost(uint64, tag = "1")]
    id: u64,
    #[prost(int64, tag = "5")]
    filename: i64,
}

#[derive(Clone, PartialEq, Message)]
struct Location {
    #[prost(uint64, tag = "1")]
    id: u64,
    #[prost(uint64, tag = "2")]
    mapping_id: u64,
    /// More than one where functions were inlined; the innermost first.
    #[prost(message, repeated, tag = "4")]
    line: Vec<Line>,
}

#[derive(Clone, PartialEq, Message)]
struct Line {
    #[prost(uint64, tag = "1")]
    function_id: u64,
}

#[derive(Clone, PartialEq, Message)]
struct Function {
    #[prost(uint64, tag = "1")]
    id: u64,
    #[prost(int64, tag = "2")]
    name: i64,
}

/// The stacks of a profile, packed by gzip or not. The error ends a sentence that begins with who
/// sent it.
pub fn fold(bytes: &[u8]) -> Result<Folded, String> {
    let profile = Profile::decode(unpacked(bytes)?.as_slice())
        .map_err(|error| format!("sent something that isn't a pprof profile ({error})"))?;
    if profile.sample.len() > SAMPLES_MAX {
        let what = format!("sent a profile of more than {SAMPLES_MAX} stacks");
        return Err(what);
    }
    let value = profile.counted();
    let names = profile.names();
    let mut folded = Folded::new();
    let mut total = 0_u64;
    for sample in &profile.sample {
        let count = sample.value.get(value).copied().unwrap_or(0);
        let Some(count) = u64::try_from(count).ok().filter(|count| *count > 0) else {
            continue;
        };
        total = total
            .checked_add(count)
            .ok_or("sent a profile with more samples than we can count")?;
        let functions = sample
            .location_id
            .iter()
            .rev()
            .filter_map(|id| names.get(id));
        let stack: Vec<&str> = functions
            .flatten()
            .map(String::as_str)
            .take(DEPTH_MAX)
            .collect();
        if !stack.is_empty() {
            *folded.entry(stack.join(";")).or_default() += count;
        }
    }
    match folded.is_empty() {
        true => Err("sent a profile without samples".to_owned()),
        false => Ok(folded),
    }
}

fn unpacked(bytes: &[u8]) -> Result<Vec<u8>, String> {
    let mut plain = Vec::new();
    let read = match bytes.starts_with(&GZIP) {
        true => GzDecoder::new(bytes)
            .take(BYTES_MAX + 1)
            .read_to_end(&mut plain),
        false => bytes.take(BYTES_MAX + 1).read_to_end(&mut plain),
    };
    read.map_err(|error| format!("sent a profile that is damaged or truncated ({error})"))?;
    match plain.len() as u64 > BYTES_MAX {
        true => Err(format!("sent a profile of more than {BYTES_MAX} bytes")),
        false => Ok(plain),
    }
}

impl Profile {
    fn text(&self, index: i64) -> &str {
        let index = usize::try_from(index).ok();
        let found = index.and_then(|index| self.string_table.get(index));
        found.map_or("", String::as_str)
    }

    /// Which value of a sample is how often it was seen: the one in counts, or else the first.
    fn counted(&self) -> usize {
        let mut types = self.sample_type.iter();
        let counts = types.position(|one| self.text(one.unit) == "count");
        counts.unwrap_or(0)
    }

    /// The functions at each location, from the outermost on. A location without any is named
    /// after its file.
    fn names(&self) -> HashMap<u64, Vec<String>> {
        let functions = self.function.iter();
        let functions: HashMap<u64, &str> = functions
            .map(|function| (function.id, self.text(function.name)))
            .collect();
        let files = self.mapping.iter();
        let files: HashMap<u64, &str> = files
            .map(|mapping| (mapping.id, self.text(mapping.filename)))
            .collect();
        let named = |location: &Location| {
            let lines = location.line.iter().rev().take(DEPTH_MAX);
            let mut names: Vec<String> = lines
                .filter_map(|line| functions.get(&line.function_id))
                .filter(|name| !name.is_empty())
                .map(|name| short(name))
                .collect();
            if names.is_empty() {
                let file = files.get(&location.mapping_id).copied().unwrap_or("");
                let file = file.rsplit('/').next().filter(|file| !file.is_empty());
                names.push(format!("[{}]", short(file.unwrap_or("unknown"))));
            }
            (location.id, names)
        };
        self.location.iter().map(named).collect()
    }
}

fn short(name: &str) -> String {
    clean(name).chars().take(NAME_LETTERS_MAX).collect()
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    /// As Go writes it: a handler that was inlined, and a system call; counts, then nanoseconds.
    fn example() -> Profile {
        let texts = [
            "",
            "samples",
            "count",
            "cpu",
            "nanoseconds",
            "main.serve",
            "main.hello",
            "write",
            "/usr/lib/libc.so.6",
            "a;b\n",
        ];
        let location = |id, functions: &[u64]| Location {
            id,
            mapping_id: 1,
            line: functions
                .iter()
                .map(|id| Line { function_id: *id })
                .collect(),
        };
        let sample = |locations: &[u64], count| Sample {
            location_id: locations.to_vec(),
            value: vec![count * 10_000_000, count],
        };
        Profile {
            sample_type: vec![ValueType { unit: 4 }, ValueType { unit: 2 }],
            sample: vec![
                sample(&[2, 1], 3),
                sample(&[3, 2, 1], 2),
                sample(&[4, 1], 1),
                sample(&[2, 1], 4),
                sample(&[1], 0),
                sample(&[77], 5),
            ],
            mapping: vec![Mapping { id: 1, filename: 8 }],
            location: vec![
                location(1, &[1]),
                // `hello`, inlined into `a;b`.
                location(2, &[2, 4]),
                location(3, &[3]),
                location(4, &[]),
            ],
            function: (1..)
                .zip([5, 6, 7, 9])
                .map(|(id, name)| Function { id, name })
                .collect(),
            string_table: texts.map(str::to_owned).to_vec(),
        }
    }

    fn packed(profile: &Profile) -> Vec<u8> {
        let mut packer = GzEncoder::new(Vec::new(), Compression::default());
        packer.write_all(&profile.encode_to_vec()).expect("memory");
        packer.finish().expect("memory")
    }

    #[test]
    fn stacks_are_folded_from_the_outermost_function_on_with_what_was_inlined() {
        let expected = [
            ("main.serve;[libc.so.6]", 1),
            ("main.serve;a:b;main.hello", 7),
            ("main.serve;a:b;main.hello;write", 2),
        ];
        let expected = Folded::from(expected.map(|(stack, count)| (stack.to_owned(), count)));
        assert_eq!(fold(&packed(&example())), Ok(expected.clone()));
        // The format allows for both.
        assert_eq!(fold(&example().encode_to_vec()), Ok(expected));
    }

    #[test]
    fn a_profile_that_was_cut_off_anywhere_is_a_sentence() {
        let whole = packed(&example());
        for end in 2..whole.len() {
            let error = fold(&whole[..end]).expect_err("it is not whole");
            assert!(
                error.starts_with("sent a profile that is damaged"),
                "{end}: {error}"
            );
        }
        // Without packing a cut between two fields cannot be seen; none may do harm.
        let plain = example().encode_to_vec();
        (0..plain.len()).for_each(|end| drop(fold(&plain[..end])));
    }

    #[test]
    fn what_is_no_profile_is_a_sentence() {
        for bytes in [
            &b"<html>404</html>"[..],
            b"\x1f\x8b",
            b"\xff\xff\xff\xff",
            b"\x0a\x7f",
        ] {
            assert!(
                fold(bytes).expect_err("no profile").starts_with("sent "),
                "{bytes:?}"
            );
        }
        assert_eq!(fold(b""), Err("sent a profile without samples".to_owned()));
    }

    #[test]
    fn hostile_numbers_do_no_harm() {
        let mut profile = example();
        profile.sample_type[1].unit = i64::MIN;
        profile.function[0].name = i64::MAX;
        profile
            .sample
            .iter_mut()
            .for_each(|sample| sample.value = vec![i64::MAX]);
        let error = fold(&profile.encode_to_vec()).expect_err("they cannot be added up");
        assert!(error.contains("more samples than we can count"), "{error}");
        profile
            .sample
            .iter_mut()
            .for_each(|sample| sample.value = vec![-1]);
        assert!(fold(&profile.encode_to_vec()).is_err());
        let bomb = Profile {
            string_table: vec!["x".repeat(BYTES_MAX as usize)],
            ..Profile::default()
        };
        let error = fold(&packed(&bomb)).expect_err("too long");
        assert!(error.contains("more than 8388608 bytes"), "{error}");
    }
}
